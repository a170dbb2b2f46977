//! Languages: each requested one is reported, known or not.

use super::*;

#[test]
fn a_loaded_language_is_reported() {
    let run = Run::new();
    for name in ["toml", "no such language"] {
        let language = name.to_owned();
        run.host.run(HostEffect::Preload { language });
        match run.next() {
            Event::LanguageReady { language, result } => {
                assert_eq!((&*language, result), (name, Ok(())));
            }
            other => panic!("{other:?}"),
        }
    }
}
