//! Reads the input of a request: the fields with known meanings, and all text.
//!
//! Invariant: a field with an unknown name makes the request unclear, regardless of its value.

use std::path::Path;

use serde_json::{Map, Value};

use super::asked::MAX_PATH;
use super::asked::{Asked, is_nothing, is_odd};
use super::fields::Meaning;
use super::patch;
use crate::text::paths::normalized;
use acp::ToolKind;

/// The position of a field in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Top,
    Below,
}

/// Maximum nesting depth of an input; a deeper one is unclear.
const MAX_DEPTH: usize = 32;

impl Asked {
    /// Reads the fields of an input, each by the meaning of its name.
    pub(super) fn read_input(&mut self, cwd: &Path, fields: &Map<String, Value>) {
        for (field, value) in fields {
            self.read(cwd, field, value, Depth::Top);
        }
    }

    /// Collects all text of an input for the rules that reject or ask.
    pub(super) fn note_texts(&mut self, input: &Value) {
        self.gather("", input, MAX_DEPTH);
    }

    /// Reads a field and its nested fields.
    fn read(&mut self, cwd: &Path, field: &str, value: &Value, depth: Depth) {
        let (meaning, runs) = (Meaning::of(field), self.command.is_some());
        let is_clear = match (meaning, value) {
            (Meaning::Command, _) => depth == Depth::Top && (runs || is_nothing(value)),
            (Meaning::Power, _) => is_nothing(value) || value.as_str() == Some("use_default"),
            (Meaning::Told, _) | (_, Value::Null) => true,
            (_, Value::Array(items)) => {
                for item in items {
                    self.read(cwd, field, item, depth);
                }
                true
            }
            (_, Value::Object(fields)) => {
                self.read_fields(cwd, field, fields);
                !runs && ["changes", "edits", "files", "paths"].contains(&field)
            }
            // For other kinds, this may name the action.
            (Meaning::Plain, Value::String(_)) if field == "type" && depth == Depth::Top => {
                matches!(self.kind, ToolKind::Read | ToolKind::Search)
            }
            (Meaning::Plain, Value::String(text)) => text.chars().all(is_plain),
            (Meaning::Plain, _) | (Meaning::Said, Value::String(_)) => true,
            (Meaning::Folder, Value::String(text)) if runs && depth == Depth::Top => {
                let is_long = text.len() > MAX_PATH;
                self.is_unclear |= self.cwd != *cwd || is_odd(text) || is_long;
                if !is_long {
                    self.cwd = normalized(&cwd.join(text));
                }
                true
            }
            (meaning, Value::String(text)) => {
                let is_read = self.read_text(cwd, field, meaning, text);
                !runs && is_read
            }
            _ => false,
        };
        self.is_unclear |= !is_clear;
    }

    fn read_fields(&mut self, cwd: &Path, field: &str, fields: &Map<String, Value>) {
        for (name, value) in fields {
            match value {
                // The keys are file names.
                Value::Object(change) if field == "changes" => {
                    self.add_path(cwd, name);
                    self.changes.push(match value["type"].as_str() {
                        Some("delete") => ToolKind::Delete,
                        _ => ToolKind::Edit,
                    });
                    self.read_fields(cwd, "", change);
                }
                value => self.read(cwd, name, value, Depth::Below),
            }
        }
    }

    /// Reads the text of a field; returns whether it is understood.
    fn read_text(&mut self, cwd: &Path, field: &str, meaning: Meaning, text: &str) -> bool {
        match meaning {
            Meaning::Path => self.add_path(cwd, text),
            // The folder of a search; for another request it may be the base of all its paths.
            Meaning::Folder => {
                self.add_path(cwd, text);
                return field.starts_with("dir");
            }
            Meaning::MovePath => {
                self.changes.push(ToolKind::Move);
                self.add_path(cwd, text);
            }
            Meaning::Pattern => return !is_odd_pattern(text),
            Meaning::Data if patch::is_envelope(text) => return self.read_patch(cwd, text),
            Meaning::Data => self.changes.push(ToolKind::Edit),
            Meaning::Patch => return self.read_patch(cwd, text),
            _ => {
                if looks_like_a_path(text) {
                    self.add_path(cwd, text);
                }
                return false;
            }
        }
        true
    }

    /// Reads the files a patch changes; returns whether the patch is understood.
    fn read_patch(&mut self, cwd: &Path, text: &str) -> bool {
        let Some(changes) = patch::changes(text) else {
            return false;
        };
        self.changes
            .extend(changes.is_empty().then_some(ToolKind::Edit));
        for (kind, path) in changes {
            self.changes.push(kind);
            self.add_path(cwd, &path);
        }
        true
    }

    /// Collects all text for the rules that reject or ask, except the contents of files.
    fn gather(&mut self, field: &str, value: &Value, depth: usize) {
        let Some(depth) = depth.checked_sub(1).filter(|_| self.room > 0) else {
            self.is_unclear = true;
            return;
        };
        match value {
            Value::String(text) => {
                let is_held = match Meaning::of(field) {
                    Meaning::Said => {
                        if self.has_room(text) {
                            self.said.extend(["\n", text]);
                        }
                        return;
                    }
                    Meaning::Data => self.kind != ToolKind::Execute,
                    Meaning::Patch => patch::changes(text).is_some(),
                    _ => false,
                };
                if is_held && self.command.is_none() {
                    return;
                }
                self.add_text(text);
                if text.starts_with(['{', '['])
                    && let Ok(value) = serde_json::from_str(text)
                {
                    self.gather("", &value, depth);
                }
            }
            Value::Array(items) => {
                self.add_text(&texts(value));
                items
                    .iter()
                    .for_each(|item| self.gather(field, item, depth));
            }
            Value::Object(fields) => {
                // A program, and its arguments.
                let lists = fields.values().filter(|value| value.is_array());
                let lists: Vec<String> = lists.map(texts).collect();
                for (name, value) in fields {
                    if let (Value::String(text), false) = (value, lists.is_empty())
                        && matches!(Meaning::of(name), Meaning::Command | Meaning::Unknown)
                    {
                        for list in &lists {
                            if self.room == 0 {
                                break;
                            }
                            self.add_text(&format!("{text} {list}"));
                        }
                    }
                    // Keys may be paths.
                    if name.contains(['/', '.']) && self.has_room(name) {
                        self.strings.push(name.clone());
                    }
                    self.gather(name, value, depth);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn add_text(&mut self, text: &str) {
        if self.has_room(text) {
            self.all_text.extend(["\n", text]);
            self.strings.push(text.to_owned());
        }
    }
}

/// Returns whether a pattern may match outside the folder of the search.
fn is_odd_pattern(text: &str) -> bool {
    let mut parts = text.split(['/', '{', ',', '}']);
    text.starts_with(['/', '~']) || parts.any(|part| part == "..") || text.contains("{/")
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// Joins all strings of a list into one line.
fn texts(list: &Value) -> String {
    let items = list.as_array().into_iter().flatten();
    let texts: Vec<&str> = items.filter_map(Value::as_str).collect();
    texts.join(" ")
}

fn looks_like_a_path(text: &str) -> bool {
    let begins = ["/", "~", "file:", "../", "./"];
    !text.contains('\n') && begins.iter().any(|begin| text.starts_with(begin))
}
