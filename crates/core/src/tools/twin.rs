//! Matches calls that arrive here with the agent's own announcements of them, so that both share
//! one entry.
//!
//! Invariants: a call matches at most one announcement and the reverse; an announcement that
//! contradicts its call stays visible.

use serde_json::{Map, Value as Json};

use super::uses::Use;
use crate::render::toolcall::ToolCall;
use crate::spine::ids::{SessionKey, ToolUseId};
use crate::spine::tool::SERVER;
use crate::tools::Tools;
use acp::{Content, ToolCallId, ToolCallPatch, ToolContent};

/// Maximum number of finished calls kept for a later announcement.
const OVER: usize = 100;

/// A finished call, kept until its turn ends.
#[derive(Debug)]
pub(crate) struct Over {
    pub session: SessionKey,
    name: String,
    arguments: Option<Map<String, Json>>,
    entry: ToolCallId,
}

/// How well two inputs match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// One of them is unknown.
    Unknown,
    Same,
}

impl Tools {
    /// Finds the call an agent announces, marks it as announced, and returns its entry.
    pub(crate) fn take_twin(
        &mut self,
        key: SessionKey,
        patch: &ToolCallPatch,
    ) -> Option<ToolCallId> {
        let input = patch.raw_input.as_ref();
        let says = (patch.title.as_deref(), patch.meta.as_ref(), input);
        let tools = &self;
        let of = tools.uses.iter().filter_map(|(id, of)| {
            let is_meant = of.session == key && of.twin.is_none() && names(says, &of.name);
            of.entry.as_ref().filter(|_| is_meant)?;
            Some((likeness(input, of.arguments.as_ref())?, *id))
        });
        let twin = (key, patch.id.clone());
        if let Some(id) = best(of) {
            let of = self.uses.get_mut(&id)?;
            of.twin = Some(patch.id.clone());
            self.twins.insert(twin, of.name.clone());
            return of.entry.clone();
        }
        let over = tools.over.iter().enumerate().filter_map(|(at, over)| {
            let is_meant = over.session == key && names(says, &over.name);
            let like = likeness(input, over.arguments.as_ref()).filter(|_| is_meant)?;
            Some((like, at))
        });
        let at = best(over)?;
        let over = self.over.remove(at);
        self.twins.insert(twin, over.name);
        Some(over.entry)
    }

    /// Returns the agent's entry for a call: the oldest with the same input, else the oldest with
    /// an unknown input.
    pub(crate) fn find_announced<'a>(
        &self,
        of: &Use,
        calls: impl Iterator<Item = &'a ToolCall>,
    ) -> Option<ToolCallId> {
        let is_free = |tool: &&ToolCall| {
            let name = (of.session, tool.id.clone());
            tool.is_open() && !self.taken.contains(&name)
        };
        let named = calls.filter(is_free).filter(|tool| {
            let says = (
                Some(&*tool.title),
                tool.meta.as_ref(),
                tool.raw_input.as_ref(),
            );
            names(says, &of.name)
        });
        let like = named.filter_map(|tool| {
            let like = likeness(tool.raw_input.as_ref(), of.arguments.as_ref())?;
            Some((like, tool.id.clone()))
        });
        best(like)
    }

    /// Gives a call the entry its agent announced.
    pub(crate) fn share_entry(&mut self, id: ToolUseId, entry: ToolCallId) {
        if let Some(of) = self.uses.get_mut(&id) {
            let name = (of.session, entry.clone());
            self.taken.insert(name.clone());
            self.twins.insert(name, of.name.clone());
            of.entry = Some(entry.clone());
            of.twin = Some(entry);
        }
    }

    /// Removes from an agent's description of a matched call the fields known better here, unless it
    /// describes something else.
    pub(crate) fn leave_ours(
        &self,
        key: SessionKey,
        patch: &mut ToolCallPatch,
        shown: Option<&Json>,
    ) {
        let Some(name) = self.twins.get(&(key, patch.id.clone())) else {
            return;
        };
        let title = patch.title.as_deref();
        let is_other = title.is_some_and(|title| !names((Some(title), None, None), name));
        let empty = Map::new();
        let arguments = shown.and_then(Json::as_object).unwrap_or(&empty);
        let is_told = patch.raw_input.is_some();
        if is_other || is_told && likeness(patch.raw_input.as_ref(), Some(arguments)).is_none() {
            return;
        }
        patch.title = None;
        patch.kind = None;
        patch.raw_input = None;
        patch.raw_output = None;
        let is_text = |item: &ToolContent| matches!(item, ToolContent::Content(Content::Text(_)));
        if patch
            .content
            .as_ref()
            .is_some_and(|all| all.iter().all(is_text))
        {
            patch.content = None;
        }
    }

    /// Keeps a finished call that may still be announced.
    pub(super) fn remember_use(&mut self, of: Use) {
        if of.twin.is_none() && self.over.len() < OVER {
            let over = Over {
                session: of.session,
                name: of.name,
                arguments: of.arguments,
                entry: match of.entry {
                    Some(entry) => entry,
                    None => return,
                },
            };
            self.over.push(over);
        }
    }

    /// Drops a session's finished calls at the end of its turn.
    pub(crate) fn tools_turn_ends(&mut self, key: SessionKey) {
        self.over.retain(|over| over.session != key);
    }
}

/// An agent's description of a call: its title, `_meta` and `rawInput`.
type Says<'a> = (Option<&'a str>, Option<&'a Json>, Option<&'a Json>);

/// Returns whether an agent's description names this tool.
///
/// Agents write `mcp__neovim__buffers`, `neovim_buffers`, `neovim/buffers`, `buffers (neovim MCP
/// Server)` or only the name; some use a field of `_meta` or `rawInput`.
fn names((title, meta, input): Says<'_>, name: &str) -> bool {
    let field = |value: Option<&Json>, field: &str| {
        let text = value.and_then(|value| value.get(field)?.as_str());
        text.map(str::to_owned)
    };
    let server = field(input, "server");
    if field(input, "tool").is_some_and(|tool| is_name(&tool, name, server.as_deref())) {
        return true;
    }
    let claude = meta.and_then(|meta| meta.get("claudeCode"));
    if field(claude, "toolName").is_some_and(|tool| is_name(&tool, name, None)) {
        return true;
    }
    let title = title.unwrap_or_default().trim();
    let mut words = words(title);
    title == name || words.any(|word| is_name(word, name, title.contains(SERVER).then_some(SERVER)))
}

fn words(title: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| c.is_whitespace() || "()[]`'\",".contains(c);
    title.split(is_end).map(|word| word.trim_end_matches(':'))
}

/// Returns whether a word is a tool's name, with its server's name as a prefix or in `server`.
fn is_name(word: &str, name: &str, server: Option<&str>) -> bool {
    let Some(before) = word.strip_suffix(name) else {
        return false;
    };
    match before.is_empty() {
        true => server == Some(SERVER),
        false => {
            let before = before.trim_end_matches(['_', '/', '.', ':', '-']);
            let is_cut = before.len() < word.len() - name.len();
            is_cut
                && matches!(
                    before.strip_suffix(SERVER),
                    Some("" | "mcp_" | "mcp__" | "mcp.")
                )
        }
    }
}

/// Returns whether an agent's input equals these arguments.
fn is_same(input: Option<&Json>, arguments: &Map<String, Json>) -> bool {
    match input {
        None | Some(Json::Null) => arguments.is_empty(),
        Some(Json::String(text)) => {
            let read: Result<Map<String, Json>, _> = serde_json::from_str(text);
            read.is_ok_and(|read| read == *arguments)
        }
        Some(Json::Object(fields)) if fields == arguments => true,
        // Some agents wrap the arguments with the tool's name.
        Some(Json::Object(fields)) if fields.contains_key("tool") => {
            is_same(fields.get("arguments"), arguments)
        }
        Some(_) => false,
    }
}

/// Returns how well an agent's input matches a call's arguments; `None`: they differ.
fn likeness(input: Option<&Json>, arguments: Option<&Map<String, Json>>) -> Option<Likeness> {
    let Some(arguments) = arguments else {
        return Some(Likeness::Unknown);
    };
    if is_same(input, arguments) {
        return Some(Likeness::Same);
    }
    is_same(input, &Map::new()).then_some(Likeness::Unknown)
}

/// Returns the first of the best matches.
fn best<T>(all: impl Iterator<Item = (Likeness, T)>) -> Option<T> {
    let mut best: Option<(Likeness, T)> = None;
    for one in all {
        if best.as_ref().is_none_or(|best| best.0 < one.0) {
            best = Some(one);
        }
    }
    best.map(|best| best.1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_known_by_the_names_agents_give_it() {
        let check = |title: &str, meta: Json, input: Json, want: bool| {
            let says = (Some(title), Some(&meta), Some(&input));
            assert_eq!(names(says, "buffers"), want, "{title} {meta} {input}");
        };
        let none = Json::Null;
        for title in [
            "mcp__neovim__buffers",
            "neovim_buffers",
            "neovim__buffers",
            "neovim/buffers",
            "neovim.buffers",
            "mcp_neovim_buffers",
            "mcp.neovim.buffers",
            "buffers (neovim MCP Server)",
            "Tool: neovim/buffers",
            "`neovim_buffers`",
            "neovim: buffers",
            "buffers",
        ] {
            check(title, none.clone(), none.clone(), true);
        }
        for title in [
            "",
            "mcp__neovim__read_buffers",
            "mcp__other__buffers",
            "notneovim_buffers",
            "buffers of vim",
            "neovimbuffers",
            "mcp__neovim__buffers2",
            "list the buffers",
        ] {
            check(title, none.clone(), none.clone(), false);
        }
        let meta = json!({ "claudeCode": { "toolName": "mcp__neovim__buffers" } });
        check("Read", meta, none.clone(), true);
        let meta = json!({ "claudeCode": { "toolName": "Read" } });
        check("Read", meta, none.clone(), false);
        check(
            "x",
            none.clone(),
            json!({ "server": "neovim", "tool": "buffers" }),
            true,
        );
        check(
            "x",
            none.clone(),
            json!({ "server": "other", "tool": "buffers" }),
            false,
        );
    }

    #[test]
    fn inputs_are_the_same_however_they_are_wrapped() {
        let arguments = json!({ "path": "a" });
        let arguments = arguments.as_object().unwrap();
        let check = |input: Json, want| assert_eq!(likeness(Some(&input), Some(arguments)), want);
        check(json!({ "path": "a" }), Some(Likeness::Same));
        check(json!("{\"path\":\"a\"}"), Some(Likeness::Same));
        let wrapped = |all: Json| json!({ "server": "neovim", "tool": "t", "arguments": all });
        check(wrapped(json!({ "path": "a" })), Some(Likeness::Same));
        check(wrapped(json!({})), Some(Likeness::Unknown));
        check(json!({}), Some(Likeness::Unknown));
        check(json!({ "path": "b" }), None);
        check(wrapped(json!({ "path": "b" })), None);
        check(json!([1]), None);
    }
}
