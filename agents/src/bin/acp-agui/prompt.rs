//! A prompt's blocks as the content of a user's message.

use serde_json::{Value, json};

/// Converts the blocks; the result is a text unless a part is none.
pub fn content(blocks: &[Value]) -> Value {
    let parts: Vec<Value> = blocks.iter().map(part).collect();
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    texts.map_or_else(|| json!(parts), |texts| json!(texts.join("\n\n")))
}

/// Returns the first line of a prompt, for lists.
pub fn title(blocks: &[Value]) -> Option<String> {
    let text = blocks.iter().find_map(|block| block["text"].as_str())?;
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(80).collect())
}

fn part(block: &Value) -> Value {
    let data =
        |value: &Value, kind: &Value| json!({"type": "data", "value": value, "mimeType": kind});
    match block["type"].as_str() {
        Some("text") => json!({"type": "text", "text": block["text"]}),
        Some(kind @ ("image" | "audio")) => {
            json!({"type": kind, "source": data(&block["data"], &block["mimeType"])})
        }
        Some("resource") => {
            let resource = &block["resource"];
            let uri = resource["uri"].as_str().unwrap_or_default();
            match resource["text"].as_str() {
                Some(text) => json!({"type": "text", "text": fenced(uri, text)}),
                None => {
                    let kind = resource["mimeType"].as_str();
                    let kind = json!(kind.unwrap_or("application/octet-stream"));
                    json!({"type": "document", "source": data(&resource["blob"], &kind)})
                }
            }
        }
        Some("resource_link") => {
            let uri = block["uri"].as_str().unwrap_or_default();
            let name = block["name"].as_str().unwrap_or(uri);
            json!({"type": "text", "text": format!("[{name}]({uri})")})
        }
        _ => json!({"type": "text", "text": block.to_string()}),
    }
}

/// Returns a file's text in a fence that it does not contain.
fn fenced(uri: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let text = text.strip_suffix('\n').unwrap_or(text);
    format!("{uri}\n{fence}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_text_unless_it_has_pictures() {
        let text = json!({"type": "text", "text": "a"});
        assert_eq!(content(std::slice::from_ref(&text)), "a");
        let link = json!({"type": "resource_link", "name": "x", "uri": "file:///x"});
        assert_eq!(content(&[text.clone(), link]), "a\n\n[x](file:///x)");
        let file = json!({"type": "resource", "resource": {"uri": "file:///x", "text": "```\n"}});
        assert_eq!(content(&[file]), "file:///x\n````\n```\n````");
        let image = json!({"type": "image", "data": "aa", "mimeType": "image/png"});
        let source = json!({"type": "data", "value": "aa", "mimeType": "image/png"});
        let want = json!([text, {"type": "image", "source": source}]);
        assert_eq!(content(&[text, image]), want);
        let blob = json!({"type": "resource", "resource": {"uri": "file:///x", "blob": "aa"}});
        assert_eq!(
            content(&[blob])[0]["source"]["mimeType"],
            "application/octet-stream"
        );
    }

    #[test]
    fn a_title_is_the_first_line_that_says_something() {
        let text = |text: &str| [json!({"type": "text", "text": text})];
        assert_eq!(title(&text("\n  a b \nc")).as_deref(), Some("a b"));
        assert_eq!(title(&text(" \n")), None);
        assert_eq!(title(&[]), None);
    }
}
