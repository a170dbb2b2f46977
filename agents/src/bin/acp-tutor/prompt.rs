//! The user's prompt: its text and the attached files.

use std::path::PathBuf;

use serde_json::Value;

/// A decoded prompt.
#[derive(Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The first text block, trimmed. Later ones are attachments.
    pub text: String,
    /// The files of all resources and resource links, in order.
    pub files: Vec<PathBuf>,
}

impl Prompt {
    /// Reads the content blocks of a prompt.
    ///
    /// # Errors
    /// Names the missing field.
    pub fn read(blocks: &[Value]) -> Result<Prompt, String> {
        let mut text = None;
        let mut files = Vec::new();
        for (i, block) in blocks.iter().enumerate() {
            let field = |pointer: &str| {
                let missing =
                    || format!("prompt[{i}]{} must be a string", pointer.replace('/', "."));
                block
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .ok_or_else(missing)
            };
            match field("/type")? {
                "text" => drop(text.get_or_insert(field("/text")?)),
                "resource_link" => files.extend(file(field("/uri")?)),
                "resource" => files.extend(file(field("/resource/uri")?)),
                _ => {}
            }
        }
        Ok(Prompt {
            text: text.unwrap_or_default().trim().to_owned(),
            files,
        })
    }

    /// Returns the prompt as a name to look up: lower case, without "lesson" and full stop, and of
    /// a `/command` only its first word.
    pub fn name(&self) -> String {
        let text = self.text.to_lowercase();
        let text = match text.strip_prefix('/') {
            Some(command) => command.split_whitespace().next().unwrap_or_default(),
            None => &text,
        };
        let text = text.trim_matches(|c: char| c.is_whitespace() || "./!?`\"'".contains(c));
        text.strip_prefix("lesson ").unwrap_or(text).to_owned()
    }
}

/// Returns the path of a `file://` URI, or of a bare absolute path.
fn file(uri: &str) -> Option<PathBuf> {
    if uri.starts_with('/') {
        return Some(PathBuf::from(uri));
    }
    let rest = uri.strip_prefix("file://")?;
    let path = rest.get(rest.find('/')?..)?;
    let path = path.split(['#', '?']).next()?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let hex = || Some((rest.clone().next()?, rest.clone().nth(1)?));
        match hex().filter(|_| byte == b'%').and_then(unhex) {
            Some(decoded) => {
                bytes.push(decoded);
                rest.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

fn unhex((high, low): (u8, u8)) -> Option<u8> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(blocks: Value, expected: Result<(&str, &[&str]), &str>) {
        let got = Prompt::read(blocks.as_array().unwrap());
        let expected = expected
            .map(|(text, files)| Prompt {
                text: text.to_owned(),
                files: files.iter().map(PathBuf::from).collect(),
            })
            .map_err(str::to_owned);
        assert_eq!(got, expected);
    }

    #[test]
    fn words_and_files_are_read() {
        check(json!([]), Ok(("", &[])));
        check(
            json!([
                {"type": "text", "text": " read this\n"},
                {"type": "text", "text": "and know that"},
                {"type": "resource_link", "uri": "file:///a/b%20c.lua#L3", "name": "b c"},
                {"type": "resource", "resource": {"uri": "file://host/%C3%BC%zz", "text": ""}},
                {"type": "resource_link", "uri": "https://example.org/x", "name": "x"},
                {"type": "image", "data": "", "mimeType": "image/png"},
            ]),
            Ok(("read this", &["/a/b c.lua", "/ü%zz"])),
        );
        check(
            json!([{"type": "text"}]),
            Err("prompt[0].text must be a string"),
        );
        check(
            json!([{"type": "resource", "resource": {}}]),
            Err("prompt[0].resource.uri must be a string"),
        );
    }

    #[test]
    fn a_name_is_found_however_it_is_typed() {
        for typed in [
            "plan",
            "/plan",
            "/plan it",
            " Plan.",
            "lesson plan",
            "`plan`",
        ] {
            let blocks = [json!({"type": "text", "text": typed})];
            assert_eq!(Prompt::read(&blocks).unwrap().name(), "plan", "{typed}");
        }
    }
}
