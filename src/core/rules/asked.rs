//! What a permission request shows of itself, in the words that rules are made of.
//!
//! Invariant: nothing that is shown is left out of `paths`, `changes` or `all_text`; where that
//! cannot be told, the request is unclear.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::acp::{Content, ToolContent, ToolKind};
use crate::core::files::normalized;
use crate::core::rawview;
use crate::core::transcript::ToolCall;

/// A request, as far as rules look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The agent's name in the config.
    pub agent: String,
    /// What the agent calls it.
    pub kind: ToolKind,
    /// What it does to files by what it shows, whatever it is called.
    pub changes: Vec<ToolKind>,
    /// All the paths it names, absolute and clean.
    pub paths: Vec<PathBuf>,
    /// The command line it would run.
    pub command: Option<String>,
    /// Where it would run it.
    pub cwd: PathBuf,
    /// All that may be a command, for those who look for one that must not be.
    pub all_text: String,
    /// There is something in it that nobody here understands.
    pub is_unclear: bool,
}

/// Fields of an input that name files and folders; lower case, letters and digits alone.
const PATHS: [&str; 30] = [
    "path",
    "paths",
    "file",
    "files",
    "filepath",
    "filepaths",
    "filename",
    "notebookpath",
    "absolutepath",
    "relativepath",
    "dirpath",
    "directory",
    "dir",
    "folder",
    "root",
    "from",
    "to",
    "source",
    "destination",
    "src",
    "dst",
    "dest",
    "oldpath",
    "newpath",
    "movepath",
    "target",
    "targetfile",
    "uri",
    "frompath",
    "topath",
];

/// Those that say where a command runs.
const FOLDERS: [&str; 7] = [
    "cwd",
    "workdir",
    "workingdir",
    "workingdirectory",
    "directory",
    "dirpath",
    "dir",
];

/// Those that hold text: what looks like a path there is none.
const TEXTS: [&str; 30] = [
    "command",
    "cmd",
    "commands",
    "args",
    "arguments",
    "content",
    "contents",
    "text",
    "oldstring",
    "newstring",
    "oldstr",
    "newstr",
    "oldtext",
    "newtext",
    "old",
    "new",
    "diff",
    "unifieddiff",
    "description",
    "title",
    "prompt",
    "query",
    "pattern",
    "regex",
    "explanation",
    "justification",
    "reason",
    "message",
    "parsedcmd",
    "proposedexecpolicyamendment",
];

/// Those that change how a command is run, beyond what its words say.
const POWERS: [&str; 8] = [
    "env",
    "environment",
    "stdin",
    "shell",
    "dangerouslydisablesandbox",
    "sandboxpermissions",
    "withescalatedpermissions",
    "sudo",
];

/// How an older version of an agent marks a file that goes.
const DELETED: &str = "[file deleted]";

impl Asked {
    /// Reads what a tool call shows; relative paths are in `cwd`.
    pub fn of(tool: &ToolCall, agent: &str, cwd: &Path) -> Self {
        let mut asked = Self {
            agent: agent.to_owned(),
            kind: tool.kind.clone(),
            changes: Vec::new(),
            paths: Vec::new(),
            command: rawview::command(tool),
            cwd: cwd.to_owned(),
            all_text: String::new(),
            is_unclear: false,
        };
        for location in &tool.locations {
            asked.add_path(cwd, &location.path.to_string_lossy());
        }
        for item in &tool.content {
            if let ToolContent::Diff { path, old, .. } = item {
                asked.add_path(cwd, &path.to_string_lossy());
                asked.changes.push(match old.as_deref() {
                    Some(DELETED) => ToolKind::Delete,
                    _ => ToolKind::Edit,
                });
            }
        }
        match &tool.raw_input {
            Some(Value::Object(_)) => {}
            Some(Value::Null) | None => asked.read_words(tool),
            Some(_) => asked.is_unclear = true,
        }
        if let Some(input) = &tool.raw_input {
            asked.read_command(input);
            asked.read(cwd, "", input);
        }
        asked
    }

    /// Returns what it is called and what it does.
    pub fn kinds(&self) -> impl Iterator<Item = &ToolKind> {
        let runs = self.command.is_some().then_some(&ToolKind::Execute);
        std::iter::once(&self.kind).chain(&self.changes).chain(runs)
    }

    /// Without an input, a command may still be said in words, to people.
    fn read_words(&mut self, tool: &ToolCall) {
        if !matches!(
            self.kind,
            ToolKind::Execute | ToolKind::Other | ToolKind::Unknown(_)
        ) {
            return;
        }
        self.all_text.push_str(&tool.title);
        for item in &tool.content {
            if let ToolContent::Content(Content::Text(text)) = item {
                self.all_text.push('\n');
                self.all_text.push_str(text);
            }
        }
    }

    /// Notes all that may be a command, and whether it is told in one way only.
    fn read_command(&mut self, input: &Value) {
        let ways = ["command", "cmd", "commands"];
        let said = |name: &&&str| input.get(**name).is_some_and(|value| !is_nothing(value));
        let count = ways.iter().filter(said).count();
        self.is_unclear |= count > 1 || (count == 1 && self.command.is_none());
        let args = input.get("args").or_else(|| input.get("arguments"));
        let is_list = |value: &Value| {
            let items = value.as_array();
            items.is_some_and(|items| items.iter().all(Value::is_string))
        };
        if count == 1 && args.is_some_and(|args| !is_nothing(args) && !is_list(args)) {
            self.is_unclear = true;
        }
        self.all_text.extend(self.command.clone());
        for name in ways.iter().chain(&["args", "arguments"]) {
            self.all_text.push('\n');
            push_texts(input.get(*name), &mut self.all_text);
        }
    }

    /// Goes through an input, field by field.
    fn read(&mut self, cwd: &Path, field: &str, value: &Value) {
        let name: String = field.chars().filter(|c| c.is_alphanumeric()).collect();
        let name = name.to_lowercase();
        let name = name.as_str();
        if POWERS.contains(&name) {
            self.is_unclear |= !is_nothing(value) && value.as_str() != Some("use_default");
        }
        match value {
            Value::String(text) => self.read_text(cwd, name, text),
            Value::Array(items) => items.iter().for_each(|item| self.read(cwd, field, item)),
            Value::Object(fields) => {
                for (field, value) in fields {
                    if name == "changes" {
                        self.add_path(cwd, field);
                        self.changes.push(match value["type"].as_str() {
                            Some("delete") => ToolKind::Delete,
                            _ => ToolKind::Edit,
                        });
                    }
                    self.read(cwd, field, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn read_text(&mut self, cwd: &Path, name: &str, text: &str) {
        if self.command.is_some() && FOLDERS.contains(&name) {
            self.cwd = normalized(&cwd.join(text));
            self.is_unclear |= text.starts_with('~');
        } else if text.contains("*** Begin Patch") {
            self.read_patch(cwd, text);
        } else if PATHS.contains(&name) {
            if name == "movepath" {
                self.changes.push(ToolKind::Move);
            }
            self.add_path(cwd, text);
        } else if !TEXTS.contains(&name) && looks_like_a_path(text) {
            self.add_path(cwd, text);
        }
    }

    /// Reads which files a patch is for.
    fn read_patch(&mut self, cwd: &Path, patch: &str) {
        for line in patch.lines() {
            let Some((verb, path)) = line
                .strip_prefix("*** ")
                .and_then(|line| line.split_once(": "))
            else {
                continue;
            };
            self.changes.push(match verb {
                "Add File" | "Update File" => ToolKind::Edit,
                "Delete File" => ToolKind::Delete,
                "Move to" => ToolKind::Move,
                _ => {
                    self.is_unclear = true;
                    continue;
                }
            });
            self.add_path(cwd, path.trim());
        }
    }

    fn add_path(&mut self, cwd: &Path, text: &str) {
        let path = text.strip_prefix("file://").unwrap_or(text);
        if path.is_empty() {
            return;
        }
        // Whoever opens it may take such a name for another one.
        let is_escaped = path.len() < text.len() && path.contains('%');
        self.is_unclear |=
            path.starts_with('~') || path.contains('$') || path.contains(char::is_control);
        self.is_unclear |= is_escaped || text.contains("://") && path.len() == text.len();
        let path = normalized(&cwd.join(path));
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }
}

fn push_texts(value: Option<&Value>, texts: &mut String) {
    match value {
        Some(Value::String(text)) => {
            texts.push_str(text);
            texts.push(' ');
        }
        Some(Value::Array(items)) => items.iter().for_each(|item| push_texts(Some(item), texts)),
        _ => {}
    }
}

fn looks_like_a_path(text: &str) -> bool {
    let begins = ["/", "~", "file:", "../", "./"];
    !text.contains('\n') && begins.iter().any(|begin| text.starts_with(begin))
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}
