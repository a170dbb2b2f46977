//! What of a tool call's input a question still has to show, beside its command and its content.
//!
//! Invariant: in doubt a field is shown: what is approved must have been visible.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::render::rawview::{ARGS, COMMANDS, command, field_lines, value_lines, words};
use crate::render::toolcall::ToolCall;
use crate::spine::view::Line;
use acp::{Content, ToolContent};

/// Fields in which Codex numbers its requests, and repeats what else it tells.
const BOOKKEEPING: [&str; 6] = [
    "available_decisions",
    "call_id",
    "parsed_cmd",
    "proposed_execpolicy_amendment",
    "started_at_ms",
    "turn_id",
];

/// Returns the fields of a tool call's input that neither its command nor its content shows, where
/// [`crate::render::rawview::input_lines`] returns none; not that it is about the session's folder.
pub fn rest_lines(tool: &ToolCall, cwd: &Path) -> Vec<Line> {
    let mut lines = Vec::new();
    let has_command = command(tool).is_some();
    let input = match &tool.raw_input {
        Some(input) if has_command || !tool.content.is_empty() => input,
        _ => return lines,
    };
    let shown = Shown::new(tool, cwd);
    let fields = match input {
        Value::Object(fields) => fields,
        input if !shown.has_value(input) => return value_lines(input, None),
        _ => return lines,
    };
    let told = COMMANDS.into_iter().find(|name| fields.contains_key(*name));
    let args = ARGS.into_iter().find(|name| fields.contains_key(*name));
    let is_of_codex = fields.get("call_id").is_some_and(Value::is_string);
    for (name, value) in fields {
        let name = name.as_str();
        let is_of_command = has_command
            && (Some(name) == told
                || Some(name) == args && words(value).is_some() && told != Some("commands"));
        let is_here = value.as_str().is_some_and(|text| Path::new(text) == cwd);
        let is_in_content = match name {
            "changes" | "diff" | "patch" => shown.has_patch(value),
            _ => shown.has_value(value),
        };
        let is_bookkeeping = is_of_codex && BOOKKEEPING.contains(&name);
        if !(is_of_command || is_here || is_in_content || is_bookkeeping) {
            field_lines(name, value, None, &mut lines);
        }
    }
    lines
}

/// What a call's content shows.
struct Shown<'a> {
    cwd: &'a Path,
    /// The files of its diffs.
    files: HashSet<PathBuf>,
    /// Its texts without surrounding blanks: whole, and each line; of a diff, the changed ones.
    texts: HashSet<&'a str>,
    /// All lines of both sides of its diffs.
    lines: HashSet<&'a str>,
}

impl<'a> Shown<'a> {
    fn new(tool: &'a ToolCall, cwd: &'a Path) -> Self {
        let mut files = HashSet::new();
        let (mut texts, mut lines) = (HashSet::new(), HashSet::new());
        for item in &tool.content {
            match item {
                ToolContent::Diff { path, old, new } => {
                    files.insert(cwd.join(path));
                    let (old, new) = (old.as_deref().unwrap_or_default(), new.as_str());
                    if old != new {
                        texts.extend([old.trim(), new.trim()]);
                    }
                    // A diff shows few of the lines that both have.
                    let all = |side: &'a str| side.lines().map(str::trim).collect();
                    let (old, new): (HashSet<&str>, HashSet<&str>) = (all(old), all(new));
                    texts.extend(old.symmetric_difference(&new));
                    lines.extend(old.union(&new));
                }
                ToolContent::Content(Content::Text(text)) => {
                    texts.insert(text.trim());
                    texts.extend(text.lines().map(str::trim));
                }
                _ => {}
            }
        }
        Self {
            cwd,
            files,
            texts,
            lines,
        }
    }

    /// Returns whether a value says nothing, or the content shows all its texts.
    fn has_value(&self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            // Beside a diff it says that nothing more is changed.
            Value::Bool(false) => !self.files.is_empty(),
            Value::Bool(true) | Value::Number(_) => false,
            Value::String(text) => self.has_text(text),
            Value::Array(all) => all.iter().all(|value| self.has_value(value)),
            Value::Object(all) => all
                .iter()
                .all(|(name, value)| !name.contains(['/', '.']) && self.has_value(value)),
        }
    }

    fn has_text(&self, text: &str) -> bool {
        let text = text.trim();
        text.is_empty() || self.texts.contains(text) || self.has_file(text)
    }

    fn has_file(&self, name: &str) -> bool {
        self.files.contains(&self.cwd.join(name))
    }

    /// Returns whether the diffs show all that a patch does, in a text or as Codex's fields.
    fn has_patch(&self, patch: &Value) -> bool {
        match patch {
            Value::Object(changes) => changes
                .iter()
                .all(|(name, change)| self.has_file(name) && self.has_change(change)),
            Value::String(text) if !self.files.is_empty() => {
                self.has_text(text) || self.has_all_of(text)
            }
            other => self.has_value(other),
        }
    }

    /// Returns whether a diff shows all of a change of its file: a move is not shown.
    fn has_change(&self, change: &Value) -> bool {
        let Value::Object(fields) = change else {
            return false;
        };
        fields
            .iter()
            .all(|(name, value)| match (name.as_str(), value) {
                (_, Value::Null) => true,
                ("type" | "kind", Value::String(kind)) => {
                    ["add", "delete", "update"].contains(&kind.as_str())
                }
                ("diff" | "unified_diff", Value::String(text)) => self.has_all_of(text),
                ("content", Value::String(text)) => self.has_text(text),
                _ => false,
            })
    }

    /// Returns whether a patch names only files of the diffs, and adds and removes only their lines. A
    /// line counts as a name if a program may read it so.
    fn has_all_of(&self, patch: &str) -> bool {
        let has_file = |name: &str| {
            let name = name.split('\t').next().unwrap_or(name).trim();
            name == "/dev/null" || self.has_file(name)
        };
        let next = patch.lines().skip(1).chain([""]);
        let mut lines = patch.lines().zip(next);
        lines.all(|(line, next)| match line.trim().split_once([' ', '\t']) {
            Some(("+++" | "Index:", name)) => has_file(name),
            // Otherwise a removed line.
            Some(("---", name)) if next.trim().starts_with("+++") => has_file(name),
            Some(("***", head)) => match head.split_once(": ") {
                Some(("Add File" | "Delete File" | "Move to" | "Update File", name)) => {
                    has_file(name)
                }
                _ => ["Begin Patch", "End Patch", "End of File"].contains(&head.trim()),
            },
            _ => match line.strip_prefix(['+', '-']) {
                Some(text) => self.lines.contains(text.trim()),
                None => {
                    line.starts_with([' ', '\\'])
                        || line.starts_with("@@")
                        || line.chars().all(|c| c == '=')
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use acp::{ToolCallId, ToolCallPatch};

    fn diff(path: &str, old: &str, new: &str) -> ToolContent {
        ToolContent::Diff {
            path: path.into(),
            old: Some(old.to_owned()),
            new: new.to_owned(),
        }
    }

    /// Checks what is shown of an input beside this content, in the folder `/p`.
    #[track_caller]
    fn check(input: Value, content: &ToolContent, want: &[&str]) {
        let tool = ToolCall::of(ToolCallPatch {
            raw_input: Some(input),
            content: Some(vec![content.clone()]),
            ..ToolCallPatch::new(ToolCallId("t".into()))
        });
        let lines = rest_lines(&tool, Path::new("/p")).into_iter();
        let lines: Vec<String> = lines.map(|line| line.text.into()).collect();
        assert_eq!(lines, want);
    }

    /// Checks whether a field is shown beside a diff of `/p/f`.
    #[track_caller]
    fn check_patch(field: &str, value: Value, is_shown: bool) {
        let tool = ToolCall::of(ToolCallPatch {
            raw_input: Some(json!({ field: value })),
            content: Some(vec![diff("/p/f", "a\n", "b\n")]),
            ..ToolCallPatch::new(ToolCallId("t".into()))
        });
        let lines = rest_lines(&tool, Path::new("/p"));
        assert_eq!(!lines.is_empty(), is_shown, "{field}: {value}");
    }

    #[test]
    fn changes_that_do_more_than_the_diffs_are_shown() {
        let hunk = "@@ -1 +1 @@\n-a\n+b\n";
        let changes = |change: Value| json!({ "/p/f": change });
        for (change, is_shown) in [
            (
                json!({ "type": "update", "unified_diff": hunk, "move_path": null }),
                false,
            ),
            (json!({ "type": "add", "content": "b\n" }), false),
            (json!({ "kind": "delete", "content": "a\n" }), false),
            (
                json!({ "type": "update", "unified_diff": hunk, "move_path": "/p/g" }),
                true,
            ),
            (
                json!({ "type": "update", "unified_diff": hunk, "mode": "755" }),
                true,
            ),
            (json!({ "type": "rm -rf /" }), true),
            (json!({ "type": "add", "content": "c\n" }), true),
            (json!({ "unified_diff": hunk.replace("+b", "+c") }), true),
            (
                json!({ "unified_diff": format!("--- /p/g\n+++ /p/g\n{hunk}") }),
                true,
            ),
            (json!("deleted"), true),
        ] {
            check_patch("changes", changes(change), is_shown);
        }
        check_patch("changes", json!({ "f": { "type": "update" } }), false);
        check_patch("changes", json!({ "g": {} }), true);
        check_patch("changes", json!({ "Makefile": null }), true);
        check_patch("edits", json!([{ "/p/g": null }]), true);
    }

    #[test]
    fn a_patch_that_does_more_than_the_diffs_is_shown() {
        let hunk = "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
        let head = "*** Begin Patch\n*** Update File: /p/f";
        for (patch, is_shown) in [
            (hunk.to_owned(), false),
            (
                format!("Index: /p/f\n=====\n--- /p/f\t1\n+++ /p/f\t2\n{hunk}"),
                false,
            ),
            (format!("--- f\n+++ /dev/null\n{hunk}"), false),
            ("@@ -1 +1 @@\n--- a comment\n+b\n".to_owned(), true),
            (
                format!("{head}\n@@ fn a\n-a\n+b\n*** End of File\n*** End Patch\n"),
                false,
            ),
            (format!("--- /p/g\n+++ /p/g\n{hunk}"), true),
            (format!("--- /p/g\n+++ /p/f\n{hunk}"), true),
            (
                format!("--- /p/f\n+++ /p/f\n{hunk}--- /p/g\n+++ /dev/null\n{hunk}"),
                true,
            ),
            (
                format!("diff --git a/f b/f\nrename from f\nrename to g\n{hunk}"),
                true,
            ),
            (
                format!("{head}\n*** Move to: /p/g\n-a\n+b\n*** End Patch\n"),
                true,
            ),
            (
                format!("{head}\n-a\n+b\n  *** Delete File: /p/g\n*** End Patch\n"),
                true,
            ),
            (
                "*** Begin Patch\n*** Add File: sub/f\n+b\n*** End Patch\n".to_owned(),
                true,
            ),
            ("rm -rf /".to_owned(), true),
        ] {
            check_patch("patch", json!(patch), is_shown);
            check_patch("diff", json!(patch), is_shown);
        }
        // Without a diff, no patch is shown elsewhere.
        let careful = ToolContent::Content(Content::Text("Careful".to_owned()));
        check(json!({ "diff": "+a" }), &careful, &["diff: +a"]);
    }

    #[test]
    fn a_text_is_hidden_only_by_a_whole_line_or_text() {
        let text = ToolContent::Content(Content::Text("Run it as root\n on host \n".to_owned()));
        check(
            json!({ "user": "root", "where": "on host", "all": "Run it as root\n on host" }),
            &text,
            &["user: root"],
        );
        // Three lines around a change are shown, and no others.
        let lines: String = (0..9).map(|n| format!("line {n}\n")).collect();
        let edit = diff("/p/sub/f", &lines, &format!("{lines}new\n"));
        check(
            json!({ "path": "sub/f", "new": "new", "other": "f", "run": "line 0" }),
            &edit,
            &["other: f", "run: line 0"],
        );
        let same = diff("/p/f", "rm x\n", "rm x\n");
        check(json!({ "run": "rm x" }), &same, &["run: rm x"]);
    }

    #[test]
    fn only_codex_has_bookkeeping() {
        let text = ToolContent::Content(Content::Text("Careful".to_owned()));
        let more = json!({ "turn_id": "/etc", "parsed_cmd": ["rm"] });
        check(
            more.clone(),
            &text,
            &["turn_id: /etc", "parsed_cmd:", "  [", "    \"rm\"", "  ]"],
        );
        let mut codex = more;
        codex["call_id"] = json!("c");
        check(codex, &text, &[]);
    }

    #[test]
    fn an_input_of_many_texts_takes_no_time() {
        let many = || (0..200_000).map(|n| format!("line {n}"));
        let text = many().collect::<Vec<_>>().join("\n");
        let input = json!({ "all": many().collect::<Vec<_>>() });
        check(input, &ToolContent::Content(Content::Text(text)), &[]);
    }
}
