//! The facts of a permission request that rules match.
//!
//! Invariant: everything the request shows is in `paths`, `changes` or `all_text`. If that is
//! uncertain, or too much, the request is unclear.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::shell::{self, Words};
use crate::render::rawview::{self, ARGS, COMMANDS, words};
use crate::render::toolcall::ToolCall;
use crate::text::paths::normalized;
use acp::{Content, ToolContent, ToolKind};

/// A request, reduced to the facts that rules match.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The agent's name in the config.
    pub agent: String,
    /// The kind the agent declares.
    pub kind: ToolKind,
    /// Its visible effects on files, regardless of its declared kind.
    pub changes: Vec<ToolKind>,
    /// All the paths it names, absolute and clean.
    pub paths: BTreeSet<PathBuf>,
    /// The command line to run.
    pub command: Option<String>,
    /// The commands in it; `None` if it cannot be parsed.
    pub parts: Option<Vec<Words>>,
    /// The folder in which the command line runs.
    pub cwd: PathBuf,
    /// All folders its commands may run in, after any `cd`.
    pub folders: Vec<PathBuf>,
    /// All text that may contain a command; rules that reject or ask search it.
    pub all_text: String,
    /// All its strings; each may be a path.
    pub strings: Vec<String>,
    /// Its descriptions for people.
    pub said: String,
    /// It contains something that cannot be understood.
    pub is_unclear: bool,
    /// The bytes of text that may still be gathered; none once the request is too large.
    pub(super) room: usize,
}

/// Maximum bytes of text and number of paths to gather. A larger request goes to the user, unless a
/// rule rejects what was gathered of it.
const MAX_TEXT: usize = 256 * 1024;
const MAX_PATHS: usize = 1000;

/// Maximum bytes of a path: twice the longest that a system opens, since it may be relative to a folder
/// as long.
pub(super) const MAX_PATH: usize = 8 * 1024;

/// The mark for a deleted file in an older version of an agent.
const DELETED: &str = "[file deleted]";

impl Asked {
    /// Reads the facts of a tool call; relative paths are in `cwd`.
    pub fn of(tool: &ToolCall, agent: &str, cwd: &Path) -> Self {
        let mut asked = Self {
            agent: agent.to_owned(),
            kind: tool.kind.clone(),
            changes: Vec::new(),
            paths: BTreeSet::new(),
            command: rawview::command(tool),
            parts: None,
            cwd: cwd.to_owned(),
            folders: Vec::new(),
            all_text: String::new(),
            strings: Vec::new(),
            said: String::new(),
            is_unclear: false,
            room: MAX_TEXT,
        };
        // First what rules that reject search, the command before all: the rest may be too much.
        if let Some(command) = asked.command.clone() {
            asked.add_text(&command);
        }
        asked.read_words(tool);
        if let Some(input) = &tool.raw_input {
            asked.note_texts(input);
        }
        for location in &tool.locations {
            asked.add_path(cwd, &location.path.to_string_lossy());
        }
        for item in &tool.content {
            match item {
                ToolContent::Diff { path, old, .. } => {
                    asked.add_path(cwd, &path.to_string_lossy());
                    asked.changes.push(match old.as_deref() {
                        Some(DELETED) => ToolKind::Delete,
                        _ => ToolKind::Edit,
                    });
                }
                ToolContent::Unknown { .. } => asked.is_unclear = true,
                _ => {}
            }
        }
        match &tool.raw_input {
            Some(Value::Object(fields)) => {
                asked.read_command(fields);
                asked.read_input(cwd, fields);
            }
            Some(Value::Null) | None => {}
            Some(_) => asked.is_unclear = true,
        }
        asked.find_folders();
        asked
    }

    /// Returns its declared kind and the kinds of its effects.
    pub fn kinds(&self) -> impl Iterator<Item = &ToolKind> {
        let runs = self.command.is_some().then_some(&ToolKind::Execute);
        std::iter::once(&self.kind).chain(&self.changes).chain(runs)
    }

    /// Returns whether all its commands run within these folders.
    pub fn is_within(&self, roots: &[PathBuf]) -> bool {
        let is_in = |folder: &PathBuf| roots.iter().any(|root| folder.starts_with(root));
        self.folders.iter().all(is_in)
    }

    /// Returns whether it names a command or a path, even if only in a description; so does what is
    /// too large.
    pub fn names_something(&self) -> bool {
        let has_words = |text: &str| text.split_whitespace().nth(1).is_some();
        has_words(&self.all_text)
            || has_words(&self.said)
            || self.command.is_some()
            || !self.paths.is_empty()
            || self.room == 0
    }

    /// Returns the request with its descriptions in the place of its text.
    pub fn as_said(&self) -> Self {
        Self {
            all_text: self.said.clone(),
            paths: BTreeSet::new(),
            strings: Vec::new(),
            ..self.clone()
        }
    }

    /// Reads the title and the content: a command may be there alone, or differ from the input's.
    fn read_words(&mut self, tool: &ToolCall) {
        let may_run = matches!(
            self.kind,
            ToolKind::Execute | ToolKind::Other | ToolKind::Unknown(_)
        );
        if !may_run && self.command.is_none() {
            return;
        }
        // Here the title describes the input, which may contain patches.
        if may_run && self.kind != ToolKind::Execute && is_some(tool.raw_input.as_ref()) {
            if self.has_room(&tool.title) {
                self.said.push_str(&tool.title);
            }
            return;
        }
        self.add_text(&tool.title);
        for item in &tool.content {
            if let ToolContent::Content(Content::Text(text)) = item {
                self.add_text(text);
            }
        }
    }

    /// Parses the command; the request is unclear if that fails or if it names more than one.
    fn read_command(&mut self, input: &Map<String, Value>) {
        let given = |name: &str| input.get(name).filter(|value| !is_nothing(value));
        let told: Vec<&Value> = COMMANDS.into_iter().filter_map(given).collect();
        let args: Vec<&Value> = ARGS.into_iter().filter_map(given).collect();
        let (told, args) = match (told.as_slice(), args.as_slice()) {
            ([], []) => return,
            ([told], []) => (*told, None),
            ([told], [args]) => (*told, Some(*args)),
            _ => {
                self.is_unclear = true;
                return;
            }
        };
        let is_lines = given("commands").is_some();
        let args = args.map(words);
        self.parts = match (told, words(told), args) {
            // Each item is a separate line, with its own quotes.
            (_, Some(lines), None) if is_lines => lines
                .iter()
                .map(|line| shell::commands(line))
                .collect::<Option<Vec<_>>>()
                .map(|parts| parts.concat()),
            (Value::String(line), _, None) if !is_lines => shell::commands(line),
            (Value::String(program), _, Some(Some(args))) if !is_lines => {
                shell::program(&[vec![program.clone()], args].concat())
            }
            (_, Some(words), None) => shell::program(&words),
            (_, Some(words), Some(Some(args))) if !is_lines => {
                shell::program(&[words, args].concat())
            }
            _ => None,
        };
        self.is_unclear |= self.command.is_none() || self.parts.is_none();
    }

    /// Finds the folders in which the commands run.
    fn find_folders(&mut self) {
        if self.command.is_none() {
            return;
        }
        self.folders.push(self.cwd.clone());
        for words in self.parts.iter().flatten() {
            match shell::moves_to(words) {
                shell::Move::Nowhere => {}
                shell::Move::To(folder)
                    if !is_odd(folder)
                        && folder.len() <= MAX_PATH
                        && self.folders.len() < MAX_FOLDERS =>
                {
                    // The earlier commands may fail, so the old folders stay possible.
                    let to = |from: &PathBuf| normalized(&from.join(folder));
                    let all: Vec<PathBuf> = self.folders.iter().map(to).collect();
                    self.folders.extend(all);
                }
                shell::Move::To(folder) => {
                    if self.folders.len() < 2 * MAX_FOLDERS && folder.len() <= MAX_PATH {
                        self.folders.push(normalized(&self.cwd.join(folder)));
                    }
                    self.is_unclear = true;
                }
                shell::Move::Anywhere => self.is_unclear = true,
            }
        }
    }

    pub(super) fn add_path(&mut self, cwd: &Path, text: &str) {
        let path = text.strip_prefix("file://").unwrap_or(text);
        if path.is_empty() {
            return;
        }
        // The program that opens it may read such a name differently.
        let is_escaped = path.len() < text.len() && path.contains('%');
        self.is_unclear |= is_escaped || is_odd(path);
        let path = normalized(&cwd.join(path));
        if path.as_os_str().len() > MAX_PATH {
            return self.give_up();
        }
        if self.paths.len() < MAX_PATHS || self.paths.contains(&path) {
            self.paths.insert(path);
        } else {
            self.give_up();
        }
    }

    /// Returns whether a text may be gathered; if not, nothing more is.
    pub(super) fn has_room(&mut self, text: &str) -> bool {
        let left = self.room.checked_sub(text.len() + 1);
        match left {
            Some(left) => self.room = left,
            None => self.give_up(),
        }
        left.is_some()
    }

    /// Marks the request as too large.
    fn give_up(&mut self) {
        self.room = 0;
        self.is_unclear = true;
    }
}

/// Maximum number of folders to track for one line.
const MAX_FOLDERS: usize = 8;

/// Returns whether a path may lead elsewhere than its components say: after a symbolic link, `..`
/// is not the parent of the link's name.
pub(super) fn is_odd(path: &str) -> bool {
    path.starts_with('~')
        || path.starts_with("file:")
        || path.trim() != path
        || path.contains('$')
        || path.contains("://")
        || path.contains(char::is_control)
        || path.split('/').any(|part| part == "..")
}

fn is_some(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !is_nothing(value))
}

pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}
