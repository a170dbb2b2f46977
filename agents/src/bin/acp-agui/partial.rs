//! Arguments of a tool call that have arrived in part: the JSON value that they begin.

use serde_json::Value;

/// Returns the value that a beginning of a JSON text stands for: strings are closed where they end,
/// and a name without a value is left out. `None` if there is nothing to show yet.
pub fn value(text: &str) -> Option<Value> {
    if let Ok(whole) = serde_json::from_str(text) {
        return Some(whole);
    }
    let open = Open::of(text);
    // Texts that can be complete, the longest first: the last string closed, the text itself, and
    // all before its last comma or after its last bracket.
    let closed = open.in_string.then(|| {
        let end = text.len() - open.escape;
        format!("{}\"", text.get(..end).unwrap_or(text))
    });
    let before = text.get(..open.last).unwrap_or_default();
    let candidates = [closed.as_deref(), Some(text), Some(before)];
    candidates.into_iter().flatten().find_map(|start| {
        let mut whole = start.trim_end().trim_end_matches(',').to_owned();
        whole.extend(open.brackets.iter().rev());
        serde_json::from_str(&whole).ok()
    })
}

/// The brackets and the string that a beginning of a JSON text leaves open.
struct Open {
    brackets: Vec<char>,
    in_string: bool,
    /// Bytes of an unfinished escape at the end.
    escape: usize,
    /// The place after the last bracket or before the last comma outside of strings.
    last: usize,
}

impl Open {
    fn of(text: &str) -> Self {
        let mut open = Self {
            brackets: Vec::new(),
            in_string: false,
            escape: 0,
            last: 0,
        };
        // The start of an escape, and the bytes that it has to have.
        let mut escape: Option<(usize, usize)> = None;
        for (at, c) in text.char_indices() {
            if let Some((start, length)) = &mut escape {
                if at == *start + 1 && c == 'u' {
                    *length = 6;
                }
                if at + 1 >= *start + *length {
                    escape = None;
                }
                continue;
            }
            match c {
                '\\' if open.in_string => escape = Some((at, 2)),
                '"' => open.in_string = !open.in_string,
                _ if open.in_string => {}
                '{' | '[' => {
                    open.brackets.push(if c == '{' { '}' } else { ']' });
                    open.last = at + 1;
                }
                '}' | ']' => {
                    open.brackets.pop();
                    open.last = at + 1;
                }
                ',' => open.last = at,
                _ => {}
            }
        }
        open.escape = escape.map_or(0, |(start, _)| text.len() - start);
        open
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, want: Option<Value>) {
        assert_eq!(value(text), want, "{text}");
    }

    #[test]
    fn a_beginning_is_shown_as_far_as_it_goes() {
        check("", None);
        check(r#"{"#, Some(json!({})));
        check(r#"{"act"#, Some(json!({})));
        check(r#"{"action":"#, Some(json!({})));
        check(r#"{"action":"Depl"#, Some(json!({"action": "Depl"})));
        check(r#"{"a":"x\"#, Some(json!({"a": "x"})));
        check(r#"{"a":"x\u00e"#, Some(json!({"a": "x"})));
        check(r#"{"a":"x\n"#, Some(json!({"a": "x\n"})));
        check(r#"{"a":1,"b":[1,2"#, Some(json!({"a": 1, "b": [1, 2]})));
        check(
            r#"{"a":[{"b":"c"},{"d":tr"#,
            Some(json!({"a": [{"b": "c"}, {}]})),
        );
        check(r#"{"a":"b","#, Some(json!({"a": "b"})));
        check(r#"{"a":"[{,"#, Some(json!({"a": "[{,"})));
        check(r#"{"a":1}"#, Some(json!({"a": 1})));
    }

    proptest::proptest! {
        #[test]
        fn every_beginning_of_an_object_can_be_shown(
            text in "[a-z\"\\\\\n,{}é\u{1F600}]{0,12}", number in 0..100, cut in 1..200_usize,
        ) {
            let whole = json!({"t": text, "n": [number, {"d": text}], "e": null}).to_string();
            let cut = (0..=cut.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at));
            let start = whole.get(..cut.unwrap_or(0).max(1)).unwrap();
            let is_shown = value(start).is_some_and(|value| value.is_object());
            proptest::prop_assert!(is_shown, "{}", start);
        }
    }
}
