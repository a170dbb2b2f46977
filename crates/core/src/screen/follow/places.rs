//! The events that move the agent's place: tool calls, reads and writes through the client, and
//! changes of files on disk.
//!
//! Invariant: a change on disk counts unless a tool call has announced it: the first of the two
//! moves the editor, and the other at most adds the row.

use std::path::{Path, PathBuf};

use crate::conversation::transcript::Entry;
use crate::model::Model;
use crate::render::toolcall::ToolCall;
use crate::render::{rawview, toolview};
use crate::spine::ids::SessionKey;
use crate::text::Text;
use crate::text::cut::shortened;
use crate::text::paths::normalized;
use crate::view::follow::{Named, TrailPoint, Visit};
use crate::workspace::FileEdit;
use acp::{ToolCallId, ToolContent, ToolKind};

impl Model {
    /// Moves the agent to the place that a tool call names for the first time.
    pub(crate) fn follow_tool(&mut self, key: SessionKey, id: &ToolCallId) {
        let Some(session) = self.conversation.session(key) else {
            return;
        };
        let Some(tool) = session.transcript().find_tool(id) else {
            return;
        };
        let (deed, is_edit) = (deed_of(tool), is_edit(tool));
        let place = match self.view.first_named(key, tool) {
            Some(Named::Location(path, row)) => {
                let row = row.map(|row| row as usize);
                let found = row.or_else(|| self.diff_row(key, tool, &path));
                Some((path, found))
            }
            Some(Named::Diff(path, ..)) => {
                let row = self.diff_row(key, tool, &path);
                Some((path, row))
            }
            None => None,
        };
        let found = place.and_then(|(path, row)| Some((self.place_of(key, &path)?, row)));
        let Some((path, row)) = found else {
            return self.view.renames(key, id, &deed);
        };
        if is_edit {
            self.view.announce(key, &path);
        }
        let step = Visit {
            path,
            row,
            deed,
            is_edit,
            tool: Some(id.clone()),
            is_new_file: false,
        };
        self.comes(key, step);
    }

    /// Moves the agent to a file that it reads through the client; `line` is 1-based.
    pub(crate) fn follow_read(&mut self, key: SessionKey, path: &Path, line: Option<u32>) {
        let row = line.map(|line| line.saturating_sub(1) as usize);
        let step = Visit {
            path: path.to_owned(),
            row: row.filter(|row| *row > 0),
            deed: "reads".to_owned(),
            is_edit: false,
            tool: None,
            is_new_file: false,
        };
        self.comes(key, step);
    }

    /// Moves the agent to a file that it has written through the client; without `before` it is
    /// new.
    pub(crate) fn follow_write(&mut self, edit: &FileEdit) {
        let FileEdit {
            session: key,
            path,
            before,
            after,
        } = edit;
        let (key, before) = (*key, before.as_ref());
        let step = Visit {
            path: path.to_owned(),
            row: first_row(before, after),
            deed: "edits".to_owned(),
            is_edit: true,
            tool: None,
            is_new_file: before.is_none(),
        };
        self.comes(key, step);
    }

    /// Moves the agent to a file that it has changed on disk; without `before` the file is new.
    pub(crate) fn follow_change(&mut self, edit: &FileEdit) {
        let FileEdit {
            session: key,
            path,
            before,
            after,
        } = edit;
        let (key, before) = (*key, before.as_ref());
        let (Some(path), Some(session)) =
            (self.place_of(key, path), self.conversation.session(key))
        else {
            return;
        };
        let mut tools = session.transcript().entries().iter().rev();
        let tool = tools.find_map(|entry| match entry {
            Entry::Tool(tool) => Some(tool),
            _ => None,
        });
        let command = tool.filter(|tool| tool.kind == ToolKind::Execute);
        let deed = command.map_or_else(|| "edits".to_owned(), |tool| deed_of(tool));
        let is_announced = self.view.take_announced(key, &path);
        let is_there = |last: &TrailPoint| last.path == path;
        let wants_row = |last: &TrailPoint| is_there(last) && last.row.is_none();
        let last = self.view.trail(key).and_then(|trail| trail.last.as_ref());
        let is_new_file = before.is_none() && (!is_announced || last.is_some_and(is_there));
        if is_announced && !is_new_file && !last.is_some_and(wants_row) {
            return;
        }
        let step = Visit {
            path,
            row: first_row(before, after),
            deed,
            is_edit: true,
            tool: None,
            is_new_file,
        };
        self.comes(key, step);
    }

    /// Moves the agent, unless the report is about a turn that has ended.
    fn comes(&mut self, key: SessionKey, step: Visit) {
        if self.is_at_work(key) || self.workspace.is_in_turn(key) {
            self.view.comes(key, step);
        }
    }

    /// Returns the absolute path of a file that an agent has named, if the session may access it.
    fn place_of(&self, key: SessionKey, path: &Path) -> Option<PathBuf> {
        let cwd = self.conversation.session(key)?.cwd();
        let path = normalized(&cwd.join(path));
        self.workspace
            .check_root(key, &path)
            .is_ok()
            .then_some(path)
    }

    /// Returns the first row that the last diff of a file changes, if it can be located.
    fn diff_row(&self, key: SessionKey, tool: &ToolCall, path: &Path) -> Option<usize> {
        let diffs = tool.content.iter().rev().filter_map(|item| match item {
            ToolContent::Diff { path, old, new } => Some((path, old, new)),
            _ => None,
        });
        let mut diffs = diffs.filter(|diff| diff.0 == path);
        let (_, old, new) = diffs.next()?;
        let old = old.as_deref().unwrap_or_default();
        if old.is_empty() {
            return Some(0);
        }
        let same = old.lines().zip(new.lines());
        let same = same.take_while(|(old, new)| old == new).count();
        let document = self
            .workspace
            .documents()
            .find(path)
            .map(|(_, document)| &document.text);
        let text = document
            .or_else(|| self.workspace.seen(key, path))?
            .to_string();
        // The file may have its text from before the edit, or from after it.
        let at = [old, new].into_iter().filter(|part| !part.is_empty());
        let at = at.filter_map(|part| text.find(part)).next()?;
        let above = text.get(..at)?.matches('\n').count();
        Some(above + same)
    }
}

/// Returns a short description of a tool call.
fn deed_of(tool: &ToolCall) -> String {
    let words = match tool.kind {
        ToolKind::Read => return "reads".to_owned(),
        ToolKind::Edit => return "edits".to_owned(),
        ToolKind::Delete => return "deletes".to_owned(),
        ToolKind::Move => return "moves".to_owned(),
        ToolKind::Search => return "searches".to_owned(),
        ToolKind::Execute => {
            let command = rawview::command(tool);
            let command = command.unwrap_or_else(|| toolview::title(tool));
            format!("runs: {}", command.lines().next().unwrap_or_default())
        }
        _ => format!("is here: {}", toolview::title(tool)),
    };
    shortened(&words, MAX_DEED)
}

/// Maximum length of the description of an action, in characters.
const MAX_DEED: usize = 50;

fn is_edit(tool: &ToolCall) -> bool {
    let is_diff = |item: &ToolContent| matches!(item, ToolContent::Diff { .. });
    matches!(
        tool.kind,
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move
    ) || tool.content.iter().any(is_diff)
}

/// Returns the first row in which two texts differ; `None` if they are equal.
fn first_row(before: Option<&Text>, after: &Text) -> Option<usize> {
    let Some(before) = before else {
        return Some(0);
    };
    (before != after).then(|| {
        before
            .common_prefix(after)
            .min(after.len().saturating_sub(1))
    })
}
