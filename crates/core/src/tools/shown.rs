//! Shows calls in the transcript.
//!
//! Invariant: a call has one entry, its own or the one its agent announced. The first line shows
//! the arguments, the rest the progress or result.

use std::path::Path;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value as Json};

use super::uses::Use;
use crate::spine::ids::ToolUseId;
use crate::spine::tool::{Progress, ToolResult};
use crate::text::cut::shortened;
use crate::tools::Tools;
use acp::{self, Content, Location, ToolCallId, ToolCallPatch, ToolContent, ToolStatus};

/// Maximum characters shown of one argument, and of all; the raw input contains them in full.
const ARGUMENT: usize = 80;
const ARGUMENTS: usize = 240;

/// Prefix of the ids of calls' entries.
const ENTRY: &str = "neovim/";

/// Returns whether an id is that of a call of Neovim's tools.
pub(crate) fn is_own(id: &ToolCallId) -> bool {
    id.0.starts_with(ENTRY)
}

/// Renames an agent's tool call if its id has our prefix.
pub(crate) fn keep_apart(patch: &mut ToolCallPatch) {
    if is_own(&patch.id) {
        patch.id = ToolCallId(format!("agent:{}", patch.id.0).into());
    }
}

impl Use {
    /// Returns the entry's content: the arguments, then `of`.
    fn content(&self, of: impl Iterator<Item = ToolContent>) -> Vec<ToolContent> {
        let line = self.arguments.as_ref().and_then(line);
        let line = line.map(|line| ToolContent::Content(Content::Text(line)));
        line.into_iter().chain(of).collect()
    }

    /// Returns a patch that shows progress.
    pub fn progressed(&self, progress: &Progress) -> Option<ToolCallPatch> {
        let words = ToolContent::Content(Content::Text(words(progress)));
        Some(ToolCallPatch {
            content: Some(self.content(std::iter::once(words))),
            ..ToolCallPatch::new(self.entry.clone()?)
        })
    }

    /// Returns a patch with the call's title, kind, location and arguments.
    pub fn patch(&self, cwd: &Path) -> Option<ToolCallPatch> {
        let arguments = self.arguments.as_ref();
        let kind = self.spec.as_ref().map(|spec| spec.kind.clone());
        let path = arguments.and_then(|all| all.get("path")?.as_str());
        let row = arguments.and_then(|all| all.get("line")?.as_u64());
        let row = row.and_then(|line| u32::try_from(line.saturating_sub(1)).ok());
        let location = path.filter(|path| !path.is_empty()).map(|path| Location {
            path: cwd.join(path),
            row,
        });
        let input = arguments.filter(|all| !all.is_empty());
        Some(ToolCallPatch {
            title: Some(self.headline()),
            kind: kind.map(acp::tool_kind),
            locations: location.map(|location| vec![location]),
            raw_input: input.map(|all| Json::Object(all.clone())),
            ..ToolCallPatch::new(self.entry.clone()?)
        })
    }
}

impl Use {
    /// Returns the entry's title: the tool, and its first required text argument other than the
    /// path, which is shown anyway.
    pub fn headline(&self) -> String {
        let title = self.title();
        let required = self.spec.as_ref().map(|spec| &spec.parameters["required"]);
        let names = required.and_then(Json::as_array).into_iter().flatten();
        let text = names
            .filter_map(Json::as_str)
            .filter(|name| *name != "path")
            .find_map(|name| self.arguments.as_ref()?.get(name)?.as_str());
        let line = text.and_then(|text| text.trim().lines().next());
        match line.filter(|line| !line.is_empty()) {
            Some(line) => format!("{title}: {}", shortened(line, HEADLINE)),
            None => title.to_owned(),
        }
    }
}

/// Maximum characters of an argument in the title.
const HEADLINE: usize = 60;

impl Tools {
    /// Returns the title of a call's tool.
    pub(crate) fn tool_title(&self, id: ToolUseId) -> Option<&str> {
        self.uses.get(&id).map(Use::title)
    }

    /// Gives a call an entry if it has none; returns the entry with a status and result.
    pub(crate) fn show(
        &mut self,
        id: ToolUseId,
        cwd: &Path,
        status: ToolStatus,
        result: Option<&ToolResult>,
    ) -> Option<ToolCallPatch> {
        let of = self.uses.get_mut(&id)?;
        let own = || ToolCallId(format!("{ENTRY}{}", id.0).into());
        let entry = of.entry.get_or_insert_with(own).clone();
        self.taken.insert((of.session, entry));
        let blocks = result.into_iter().flat_map(|result| result.content.iter());
        let content = of.content(blocks.map(content));
        Some(ToolCallPatch {
            status: Some(status),
            content: Some(content).filter(|all| !all.is_empty()),
            ..of.patch(cwd)?
        })
    }
}

/// Converts a result's content block to one of the transcript.
fn content(block: &Json) -> ToolContent {
    match to_raw_value(block) {
        Ok(raw) => ToolContent::Content(acp::content_block(&raw)),
        // Cannot fail for a JSON value.
        Err(_) => ToolContent::Content(Content::Text(block.to_string())),
    }
}

/// Returns arguments on one line: `action: Tidy up, details: …`. A path is shown beside the title.
fn line(arguments: &Map<String, Json>) -> Option<String> {
    let mut line = String::new();
    for (name, value) in arguments.iter().filter(|(name, _)| *name != "path") {
        let value = match value {
            Json::String(text) => short(text, ARGUMENT),
            other => short(&other.to_string(), ARGUMENT),
        };
        let comma = if line.is_empty() { "" } else { ", " };
        line.push_str(&format!("{comma}{name}: {value}"));
    }
    (!line.is_empty()).then(|| short(&line, ARGUMENTS))
}

/// Returns the beginning of a text, with line breaks and tabs as spaces.
fn short(text: &str, most: usize) -> String {
    let mut chars = text.chars().map(|char| match char {
        '\n' | '\r' | '\t' => ' ',
        char => char,
    });
    let mut short: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

fn words(progress: &Progress) -> String {
    let mut words = progress.done.to_string();
    if let Some(total) = progress.total {
        words.push_str(&format!(" of {total}"));
    }
    if let Some(message) = &progress.message {
        words.push_str(&format!(": {message}"));
    }
    words
}
