//! Highlighting: each request is answered.

use acp_core::code::{Code, Colours, Diff, Row};
use acp_core::event::ViewEvent;

use super::*;

#[test]
fn code_is_highlighted_in_known_and_unknown_languages() {
    let run = Run::new();
    for (number, name, spans) in [(1, "a.toml", 1), (2, "no such language", 0)] {
        let rows = vec![Row::Added("# a comment".to_owned())];
        let name = name.to_owned();
        let code = Code::Diff(Diff { name, rows });
        let token = Token::new(number);
        run.host.run(HostEffect::Highlight { token, code });
        match run.next() {
            Event::View(ViewEvent::Highlighted {
                token: answered,
                result: Some(Colours::Diff(rows)),
            }) => {
                assert_eq!(answered, token);
                assert_eq!(rows.iter().flatten().count(), spans);
            }
            other => panic!("{other:?}"),
        }
    }
}
