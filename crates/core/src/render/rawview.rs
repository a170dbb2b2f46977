//! A tool call's `rawInput` and `rawOutput`, as lines.
//!
//! Invariant: nothing is guessed: a value that is not a known form of command or output is shown
//! completely, as it is.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Map, Value};

use crate::render::contents::content_markdown;
use crate::render::diffview::whole;
use crate::render::plain::without_codes;
use crate::render::toolcall::ToolCall;
use crate::spine::view::{Group, Line, Link};
use crate::text::plural;
use acp::{Content, ToolContent};

/// The fields with a command; the first one present is shown.
pub const COMMANDS: [&str; 3] = ["command", "cmd", "commands"];

/// The fields with further words of the command; the first one present is shown.
pub const ARGS: [&str; 2] = ["args", "arguments"];

/// The fields with a tool's output, the best first.
const OUTPUTS: [&str; 6] = [
    "formatted_output",
    "aggregated_output",
    "output",
    "result",
    "stdout",
    "message",
];

/// A longer text without blanks may be the data of a file.
const DATA: usize = 200;

/// Returns the command in a tool call's input, if any; several on one line each.
pub fn command(tool: &ToolCall) -> Option<String> {
    let input = tool.raw_input.as_ref()?;
    let joined = |words: &[String]| -> String {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    };
    let given = |name: &'static str| Some((name, input.get(name)?));
    let args = ARGS.into_iter().find_map(given);
    let args = args.and_then(|(_, args)| words(args)).unwrap_or_default();
    let command = match COMMANDS.into_iter().find_map(given)? {
        ("commands", lines) => words(lines)?.join("\n"),
        (_, Value::String(command)) if args.is_empty() => command.clone(),
        (_, Value::String(program)) => format!("{} {}", quoted(program), joined(&args)),
        (_, list) => joined(&[words(list)?, args].concat()),
    };
    (!command.trim().is_empty()).then_some(command)
}

/// Returns the texts of a list, if it holds nothing else.
pub fn words(list: &Value) -> Option<Vec<String>> {
    let words = list.as_array()?.iter();
    words.map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Returns a word quoted for a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a tool call's input, if neither a command nor its content shows it.
///
/// A patch's file names are shown relative to `cwd`, if it is given.
pub fn input_lines(tool: &ToolCall, cwd: Option<&Path>) -> Vec<Line> {
    let is_shown = command(tool).is_some() || !tool.content.is_empty();
    match &tool.raw_input {
        Some(input) if !is_shown => value_lines(input, cwd),
        _ => Vec::new(),
    }
}

/// Returns a tool call's output, unless its content shows it: agents repeat it there, or send only
/// the output. Returns at most `most` lines, and the number of further lines.
pub fn output_lines(tool: &ToolCall, most: usize) -> (Vec<Line>, usize) {
    let nothing = (Vec::new(), 0);
    let Some(raw) = &tool.raw_output else {
        return nothing;
    };
    let is_diff = |item: &ToolContent| matches!(item, ToolContent::Diff { .. });
    let is_media = |item: &ToolContent| {
        use Content::{Audio, Image};
        matches!(item, ToolContent::Content(Image { .. } | Audio { .. }))
    };
    match output(raw) {
        _ if tool.content.iter().any(is_diff) => nothing,
        Some(text) if is_in_content(tool, &text) || is_preview_in_content(tool, raw) => nothing,
        Some(text) if is_data(&text) && tool.content.iter().any(is_media) => nothing,
        Some(text) => {
            let plain_text = without_codes(&text);
            let text = plain_text.as_deref().unwrap_or(&text);
            let mut lines = text.trim_end().lines();
            let shown = lines.by_ref().take(most).map(plain).collect();
            (shown, lines.count())
        }
        // Beside a command's output, agents send its exit code.
        None if tool.content.is_empty() && !tool.terminals.has_output() => {
            let mut lines = value_lines(raw, None);
            let left = lines.len().saturating_sub(most);
            lines.truncate(most);
            (lines, left)
        }
        None => nothing,
    }
}

/// Returns whether the content contains the output's first line: agents number, truncate and fence
/// it.
fn is_in_content(tool: &ToolCall, text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let Some(first) = lines.find(|line| !line.is_empty()) else {
        return true;
    };
    let is_in = |text: &str| text.lines().any(|line| line.trim() == first);
    tool.content.iter().any(|item| match item {
        ToolContent::Content(Content::Text(text)) => is_in(text),
        ToolContent::Content(content) => is_in(&content_markdown(content)),
        ToolContent::Terminal { id } => tool.terminals.has(id),
        _ => false,
    })
}

/// Returns whether the content contains the text that OpenCode sends beside the output of a read,
/// which frames and numbers its lines.
fn is_preview_in_content(tool: &ToolCall, raw: &Value) -> bool {
    let metadata = &raw["metadata"];
    let previews = [&metadata["display"]["text"], &metadata["preview"]];
    let preview = previews.into_iter().find_map(Value::as_str);
    let preview = preview.unwrap_or_default().trim();
    let is_in = |item: &ToolContent| match item {
        ToolContent::Content(Content::Text(text)) => text.contains(preview),
        _ => false,
    };
    !preview.is_empty() && tool.content.iter().any(is_in)
}

/// Returns the line with the exit code of a failed command that OpenCode reports as completed.
pub fn exit_line(tool: &ToolCall) -> Option<Line> {
    let code = tool.raw_output.as_ref()?["metadata"]["exit"].as_i64()?;
    (code != 0).then(|| whole(format!("exit code {code}"), "AcpToolFailed"))
}

/// Returns the text of a tool's output, from the shapes used by known agents.
pub fn output(raw: &Value) -> Option<Cow<'_, str>> {
    match raw {
        Value::String(text) => Some(of_json(text).map_or(text.into(), Cow::Owned)),
        Value::Object(fields) => OUTPUTS
            .iter()
            .filter_map(|name| fields.get(*name)?.as_str())
            .find(|text| !text.is_empty())
            .map(Cow::from)
            .or_else(|| of_error(fields))
            .or_else(|| of_mcp(fields)),
        Value::Array(items) if !items.is_empty() => {
            let texts: Option<Vec<_>> = items.iter().map(output).collect();
            texts.map(|texts| texts.join("\n").into())
        }
        _ => None,
    }
}

/// Returns the output in a text that is the JSON of a result, as Cline replays it.
fn of_json(text: &str) -> Option<String> {
    if !(text.starts_with('{') && text.ends_with('}')) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let is_result = value.get("query").is_some() && value.get("result").is_some();
    let text = output(&value).filter(|_| is_result);
    text.map(Cow::into_owned)
}

/// Returns the error that Cline sends beside an empty result.
fn of_error(fields: &Map<String, Value>) -> Option<Cow<'_, str>> {
    let error = fields.get("error")?.as_str()?;
    (!error.is_empty()).then(|| error.into())
}

/// Returns the text of an MCP server's answer as Codex reports it: `{ result: { content }, error }`.
fn of_mcp(fields: &Map<String, Value>) -> Option<Cow<'_, str>> {
    if let Some(error) = fields
        .get("error")
        .and_then(|error| error["message"].as_str())
    {
        return Some(error.into());
    }
    let blocks = fields.get("result")?.get("content")?.as_array()?;
    let text = |block: &Value| match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", block["type"].as_str().unwrap_or("unknown")),
    };
    let texts: Vec<String> = blocks.iter().map(text).collect();
    (!texts.is_empty()).then(|| texts.join("\n").into())
}

/// Returns whether a text is the data of an image or a sound.
fn is_data(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() > DATA && bytes.all(|b| b.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(&b))
}

/// Returns a value for display: one field per line, texts of several lines unchanged.
pub(super) fn value_lines(value: &Value, cwd: Option<&Path>) -> Vec<Line> {
    let mut lines = Vec::new();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                field_lines(name, value, cwd, &mut lines);
            }
        }
        Value::String(text) => lines.extend(text.lines().map(plain)),
        other => lines.extend(json_lines(other)),
    }
    lines
}

pub(super) fn field_lines(name: &str, value: &Value, cwd: Option<&Path>, lines: &mut Vec<Line>) {
    match value {
        Value::String(text) if text.trim_end().contains('\n') => {
            lines.push(whole(format!("{name}:"), "AcpDim"));
            let is_patch = is_patch(text);
            lines.extend(text.trim_end().lines().map(|line| {
                if !is_patch {
                    return plain(&format!("  {line}"));
                }
                let text = format!("  {}", relative(line, cwd));
                match patch_group(line) {
                    Some(group) => whole(text, group),
                    None => plain(&text),
                }
            }));
        }
        Value::String(text) => lines.push(labelled(name, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            lines.push(labelled(name, &value.to_string()));
        }
        Value::Array(_) | Value::Object(_) => {
            lines.push(whole(format!("{name}:"), "AcpDim"));
            lines.extend(json_lines(value));
        }
    }
}

/// Returns whether a text is a patch, also one that cannot be read as diffs.
fn is_patch(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| line.starts_with("@@") || line.starts_with("*** Begin"))
}

/// Returns a line of a patch; if it names a file, relative to the folder.
fn relative<'a>(line: &'a str, cwd: Option<&Path>) -> Cow<'a, str> {
    let names_file = ["--- ", "+++ ", "*** ", "Index: ", "diff "];
    match cwd {
        Some(cwd) if names_file.iter().any(|mark| line.starts_with(mark)) => {
            line.replace(&format!(" {}/", cwd.display()), " ").into()
        }
        _ => line.into(),
    }
}

/// Returns the highlight of a changed line of a patch.
fn patch_group(line: &str) -> Option<Group> {
    match line.chars().next()? {
        '+' if !line.starts_with("+++ ") => Some("AcpAdd"),
        '-' if !line.starts_with("--- ") => Some("AcpDelete"),
        '@' | '*' => Some("AcpDim"),
        _ => None,
    }
}

fn labelled(name: &str, text: &str) -> Line {
    let mut line = whole(format!("{name}:"), "AcpDim");
    line.text.push_str(" ");
    line.text.push_str(text.trim_end());
    line
}

fn plain(text: &str) -> Line {
    Line::plain(text.to_owned())
}

/// Maximum lines of a value or an output.
pub const MAX_LINES: usize = 200;

/// Truncates lines to [`MAX_LINES`]; an added last line links to `more`.
pub fn cut(mut lines: Vec<Line>, more: Link) -> Vec<Line> {
    let left = lines.len().saturating_sub(MAX_LINES);
    if left > 0 {
        lines.truncate(MAX_LINES);
        lines.push(more_line(left, more));
    }
    lines
}

/// Returns the line that replaces hidden lines and links to all of them.
pub fn more_line(left: usize, more: Link) -> Line {
    whole(format!("… {}", plural(left, "more line")), "AcpDim").linked(more)
}

/// Returns a value as lines of indented JSON.
pub fn json_lines(value: &Value) -> Vec<Line> {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    text.lines()
        .map(|line| whole(format!("  {line}"), "AcpDim"))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::render::terminals::ShownTerminal;
    use acp::{TerminalId, ToolCallId, ToolCallPatch};

    /// Checks the lines of a tool call's input and output; `content` is its one text, if any.
    fn check(input: Value, output: Value, content: Option<&str>, want: &[&str]) {
        let text = |text: &str| ToolContent::Content(Content::Text(text.into()));
        let tool = &ToolCall::of(ToolCallPatch {
            raw_input: (!input.is_null()).then_some(input),
            raw_output: (!output.is_null()).then_some(output),
            content: content.map(|content| vec![text(content)]),
            ..ToolCallPatch::new(ToolCallId("t".into()))
        });
        let command = command(tool).map(|command| format!("$ {command}"));
        let lines = [input_lines(tool, None), output_lines(tool, 100).0].concat();
        let lines = lines.into_iter().chain(exit_line(tool));
        let lines = lines.map(|line| line.text.into());
        let shown: Vec<String> = command.into_iter().chain(lines).collect();
        assert_eq!(shown, want);
    }

    #[test]
    fn commands_are_shown_as_a_shell_takes_them() {
        check(
            json!({ "command": "ls -l" }),
            Value::Null,
            None,
            &["$ ls -l"],
        );
        check(
            json!({ "command": ["bash", "-lc", "echo it's; ls"] }),
            Value::Null,
            None,
            &[r"$ bash -lc 'echo it'\''s; ls'"],
        );
        check(
            json!({ "command": "my tool", "args": ["-f", "a b"] }),
            Value::Null,
            None,
            &["$ 'my tool' -f 'a b'"],
        );
        check(json!({ "cmd": ["a", ""] }), Value::Null, None, &["$ a ''"]);
        check(
            json!({ "commands": ["a b", "c"] }),
            Value::Null,
            None,
            &["$ a b\nc"],
        );
        check(
            json!({ "command": [] }),
            Value::Null,
            None,
            &["command:", "  []"],
        );
    }

    #[test]
    fn inputs_of_any_shape_can_be_read() {
        check(
            json!({ "input": "*** Begin\n+x\n", "dry": true, "in": { "a": 1 } }),
            Value::Null,
            None,
            &[
                "input:",
                "  *** Begin",
                "  +x",
                "dry: true",
                "in:",
                "  {",
                "    \"a\": 1",
                "  }",
            ],
        );
        check(json!({ "path": "/a" }), Value::Null, Some("why"), &[]);
    }

    #[test]
    fn a_patch_that_is_no_diff_has_colours() {
        let tool = |text: &str| {
            ToolCall::of(ToolCallPatch {
                raw_input: Some(json!({ "patch": text })),
                ..ToolCallPatch::new(ToolCallId("t".into()))
            })
        };
        let groups = |text: &str| {
            let lines = input_lines(&tool(text), None);
            let groups = lines.iter().skip(1).map(|line| line.spans.first());
            groups
                .map(|span| span.map_or("", |span| span.group))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            groups("--- a\n+++ a\n@@ -1,9 +1,9 @@\n one\n-two\n+TWO\n"),
            ["", "", "AcpDim", "", "AcpDelete", "AcpAdd"]
        );
        assert_eq!(
            groups("*** Begin Patch\n+x\n*** End Patch"),
            ["AcpDim", "AcpAdd", "AcpDim"]
        );
        assert_eq!(groups("- one\n- two"), ["", ""]);
        let texts = |text: &str| {
            let lines = input_lines(&tool(text), Some(Path::new("/p")));
            let texts = lines.iter().skip(1).map(|line| line.text.trim().to_owned());
            texts.collect::<Vec<_>>()
        };
        assert_eq!(
            texts("--- /p/a\n+++ /p/a\n@@ -1 +1 @@\n- /p/b\n+ /p/c"),
            ["--- a", "+++ a", "@@ -1 +1 @@", "- /p/b", "+ /p/c"]
        );
        assert_eq!(
            texts("*** Begin Patch\n*** Update File: /p/a/b\n*** Add File: /q/c"),
            [
                "*** Begin Patch",
                "*** Update File: a/b",
                "*** Add File: /q/c"
            ]
        );
    }

    #[test]
    fn the_fields_of_an_output_are_not_shown_below_a_terminals() {
        let mut tool = ToolCall::of(ToolCallPatch {
            raw_output: Some(json!({ "exit_code": 0 })),
            ..ToolCallPatch::new(ToolCallId("t".into()))
        });
        assert_eq!(output_lines(&tool, 100).0.len(), 1);
        tool.terminals.restore(ShownTerminal {
            id: TerminalId("t".into()),
            lines: None,
            has_output: true,
            command: None,
        });
        assert_eq!(output_lines(&tool, 100), (Vec::new(), 0));
    }

    #[test]
    fn the_data_of_an_image_is_not_shown() {
        let of = |content: Content, result: &str| {
            let tool = ToolCall::of(ToolCallPatch {
                raw_output: Some(json!({ "status": "completed", "result": result })),
                content: Some(vec![ToolContent::Content(content)]),
                ..ToolCallPatch::new(ToolCallId("t".into()))
            });
            output_lines(&tool, 100).0.len()
        };
        let image = || Content::Image {
            mime: "image/png".into(),
            bytes: 3,
            uri: None,
        };
        let data = "iVBORw0KGgo".repeat(40);
        assert_eq!(of(image(), &data), 0);
        assert_eq!(of(image(), "a picture of a cat"), 1);
        assert_eq!(of(Content::Text("a picture".into()), &data), 1);
    }

    #[test]
    fn an_output_is_shown_once() {
        check(Value::Null, json!("text\n"), None, &["text"]);
        check(Value::Null, json!("text\n"), Some("```\ntext\n```"), &[]);
        check(Value::Null, json!("1 a\n2 b\n3"), Some("1 a\n2 b"), &[]);
        check(Value::Null, json!("\n"), None, &[]);
        check(
            Value::Null,
            json!({ "stdout": "", "formatted_output": "a\nb\n", "exit_code": 3 }),
            Some("a reason"),
            &["a", "b"],
        );
        check(
            Value::Null,
            json!([{ "query": "x", "result": "1" }, { "query": "y", "result": "2" }]),
            None,
            &["1", "2"],
        );
        check(
            Value::Null,
            json!({ "success": true }),
            None,
            &["success: true"],
        );
        check(Value::Null, json!({ "success": true }), Some("done"), &[]);
        let content = json!([{ "type": "text", "text": "a\nb" }, { "type": "image", "data": "x" }]);
        check(
            Value::Null,
            json!({ "result": { "content": content, "structuredContent": null }, "error": null }),
            None,
            &["a", "b", "[image]"],
        );
        check(
            Value::Null,
            json!({ "result": null, "error": { "message": "no such thing" } }),
            None,
            &["no such thing"],
        );
    }

    #[test]
    fn a_read_of_opencode_is_shown_once() {
        let output = |text: &str| {
            json!({
                "output": "<path>/p/a</path>\n<content>\n1: one\n2: two\n</content>",
                "metadata": { "preview": "one", "display": { "text": text } },
            })
        };
        let framed = [
            "<path>/p/a</path>",
            "<content>",
            "1: one",
            "2: two",
            "</content>",
        ];
        check(Value::Null, output("one\ntwo"), Some("one\ntwo"), &[]);
        check(Value::Null, output("one\ntwo"), Some("one"), &framed);
        check(Value::Null, output(""), Some("one"), &framed);
        let short = json!({ "output": "<path>", "metadata": { "preview": "one" } });
        check(Value::Null, short.clone(), Some("one\ntwo"), &[]);
        check(Value::Null, short, None, &["<path>"]);
    }

    #[test]
    fn a_failed_command_that_is_completed_has_its_exit_code() {
        let output = |exit: Value| json!({ "output": "ran\n", "metadata": { "exit": exit } });
        check(Value::Null, output(json!(3)), Some("ran"), &["exit code 3"]);
        check(Value::Null, output(json!(1)), None, &["ran", "exit code 1"]);
        for fine in [json!(0), Value::Null] {
            check(Value::Null, output(fine), None, &["ran"]);
        }
    }

    #[test]
    fn results_of_cline_are_read_in_any_wrapping() {
        let failed = json!({ "query": "ls", "result": "", "error": "aborted", "success": false });
        check(Value::Null, json!([failed]), None, &["aborted"]);
        check(Value::Null, json!(failed.to_string()), None, &["aborted"]);
        let done = json!({ "query": "a", "result": "1 | one\n2 | two", "success": true });
        check(
            Value::Null,
            json!(done.to_string()),
            None,
            &["1 | one", "2 | two"],
        );
        let printed = r#"{"result":"x","more":1}"#;
        check(Value::Null, json!(printed), None, &[printed]);
    }
}
