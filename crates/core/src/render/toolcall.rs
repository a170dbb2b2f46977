//! The state of a tool call, merged from all its updates.
//!
//! Invariants: a status never goes back; missing or empty fields of an update keep the known
//! values.

use serde_json::Value;

use crate::render::contents::Contents;
use crate::render::plain::without_codes;
use crate::render::terminals::ShownTerminals;
use acp::{Content, Location, ToolCallId, ToolCallPatch, ToolContent, ToolKind, ToolStatus};

/// The merged state of a tool call.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub id: ToolCallId,
    pub title: String,
    pub kind: ToolKind,
    pub status: ToolStatus,
    pub content: Vec<ToolContent>,
    /// The content as displayed.
    pub texts: Contents,
    /// The terminals it names, as displayed.
    pub terminals: ShownTerminals,
    pub locations: Vec<Location>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
    pub meta: Option<Value>,
}

impl ToolCall {
    pub(crate) fn new(id: ToolCallId) -> Self {
        Self {
            id,
            title: String::new(),
            kind: ToolKind::Other,
            status: ToolStatus::Pending,
            content: Vec::new(),
            texts: Contents::default(),
            terminals: ShownTerminals::default(),
            locations: Vec::new(),
            raw_input: None,
            raw_output: None,
            meta: None,
        }
    }

    /// Returns the tool call described by one update.
    pub fn of(patch: ToolCallPatch) -> Self {
        let mut tool = Self::new(patch.id.clone());
        tool.merge(patch);
        tool
    }

    /// Returns whether it is pending or in progress.
    pub fn is_open(&self) -> bool {
        matches!(self.status, ToolStatus::Pending | ToolStatus::InProgress)
    }

    /// Merges the fields of an update.
    ///
    /// A status never goes back: agents announce a call as `pending` after it was `in_progress`, or
    /// again with the same id. A late `completed` or `failed` replaces `cancelled`; of a rejected
    /// call only `completed` counts, since some agents report it as failed, others never. New content
    /// replaces the old, but keeps known diffs if it has none itself. `_meta` is merged by key.
    pub fn merge(&mut self, patch: ToolCallPatch) {
        if let Some(title) = patch.title {
            self.title = title;
        }
        if let Some(kind) = patch.kind {
            self.kind = kind;
        }
        if let Some(status) = patch.status
            && rank(status) >= rank(self.status)
            && (self.status != ToolStatus::Rejected || status == ToolStatus::Completed)
        {
            self.status = status;
        }
        let locations = patch.locations.filter(|all| !all.is_empty());
        let is_elsewhere = patch.content.is_some() || locations.is_some();
        if let Some(mut content) = patch.content {
            // A question may be asked about an open call.
            match self.is_open() {
                true => spell_codes(&mut content),
                false => content.iter_mut().for_each(read_as_text),
            }
            replace_content(&mut self.content, content);
            self.texts.set(&self.content);
        }
        self.locations = locations.unwrap_or(std::mem::take(&mut self.locations));
        if is_elsewhere {
            self.texts.set_places(&self.content, &self.locations);
        }
        self.raw_input = patch.raw_input.or(self.raw_input.take());
        self.raw_output = patch.raw_output.or(self.raw_output.take());
        match (&mut self.meta, patch.meta) {
            (Some(known), Some(meta)) => merge_json(known, meta),
            (known, meta) => *known = known.take().or(meta),
        }
    }

    /// Clears the content, because the agent asks about something else.
    pub(crate) fn forget_content(&mut self) {
        self.content.clear();
        self.texts.set(&[]);
        self.terminals = ShownTerminals::default();
        self.raw_input = None;
        self.raw_output = None;
        self.locations.clear();
    }
}

/// Merges an update into an earlier one by the rules of [`ToolCall::merge`]: merging the result has
/// the same effect as merging both.
pub(crate) fn fold(known: &mut ToolCallPatch, patch: ToolCallPatch) {
    let ToolCallPatch {
        id: _,
        parent,
        title,
        kind,
        status,
        content,
        locations,
        raw_input,
        raw_output,
        meta,
    } = patch;
    known.parent = parent.or(known.parent.take());
    known.title = title.or(known.title.take());
    known.kind = kind.or(known.kind.take());
    known.status = match (known.status, status) {
        (Some(known), Some(status)) if rank(status) < rank(known) => Some(known),
        (known, status) => status.or(known),
    };
    if let Some(content) = content {
        match &mut known.content {
            Some(known) => replace_content(known, content),
            known => *known = Some(content),
        }
    }
    let locations = locations.filter(|all| !all.is_empty());
    known.locations = locations.or(known.locations.take());
    known.raw_input = raw_input.or(known.raw_input.take());
    known.raw_output = raw_output.or(known.raw_output.take());
    match (&mut known.meta, meta) {
        (Some(known), Some(meta)) => merge_json(known, meta),
        (known, meta) => *known = known.take().or(meta),
    }
}

/// Replaces content, but keeps known diffs if the new content has none.
fn replace_content(known: &mut Vec<ToolContent>, content: Vec<ToolContent>) {
    let is_diff = |item: &ToolContent| matches!(item, ToolContent::Diff { .. });
    if content.iter().any(is_diff) || !known.iter().any(is_diff) {
        *known = content;
        return;
    }
    known.retain(is_diff);
    known.extend(content);
}

/// Takes colours out of what a call asks for and spells other escape codes: none may hide a part of
/// it.
pub(crate) fn spell_codes(content: &mut [ToolContent]) {
    for item in content {
        if let ToolContent::Content(Content::Text(text)) = item
            && text.contains('\x1b')
        {
            *text = spelled(text);
        }
    }
}

fn spelled(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\x1b') {
        spelled.push_str(before);
        let numbers = |c: char| c.is_ascii_digit() || c == ';';
        let codes = after
            .strip_prefix('[')
            .map(|codes| codes.trim_start_matches(numbers));
        rest = match codes.and_then(|codes| codes.strip_prefix('m')) {
            Some(behind) => behind,
            None => {
                spelled.push_str("^[");
                after
            }
        };
    }
    spelled.push_str(rest);
    spelled
}

/// Removes escape codes from a program's output.
fn read_as_text(item: &mut ToolContent) {
    if let ToolContent::Content(Content::Text(text)) = item
        && let Some(plain) = without_codes(text)
    {
        *text = plain;
    }
}

fn rank(status: ToolStatus) -> u8 {
    match status {
        ToolStatus::Pending => 0,
        ToolStatus::InProgress => 1,
        ToolStatus::Cancelled | ToolStatus::Rejected => 2,
        ToolStatus::Completed | ToolStatus::Failed => 3,
    }
}

/// Merges a value into another: objects by key, all else is replaced.
fn merge_json(known: &mut Value, new: Value) {
    match (known, new) {
        (Value::Object(known), Value::Object(new)) => {
            for (key, value) in new {
                merge_json(known.entry(key).or_insert(Value::Null), value);
            }
        }
        (known, new) => *known = new,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn patch() -> ToolCallPatch {
        ToolCallPatch::new(ToolCallId("a".into()))
    }

    /// Merges patches in sequence into a new call.
    fn merged(patches: impl IntoIterator<Item = ToolCallPatch>) -> ToolCall {
        let mut tool = ToolCall::new(patch().id);
        for patch in patches {
            tool.merge(patch);
        }
        tool
    }

    fn text(text: &str) -> ToolContent {
        ToolContent::Content(Content::Text(text.into()))
    }

    fn diff(new: &str) -> ToolContent {
        ToolContent::Diff {
            path: "/p/a".into(),
            old: None,
            new: new.into(),
        }
    }

    #[test]
    fn a_status_never_goes_back() {
        use ToolStatus::*;
        let check = |steps: &[ToolStatus], want| {
            let patches = steps.iter().map(|&status| ToolCallPatch {
                status: Some(status),
                ..patch()
            });
            assert_eq!(merged(patches).status, want, "{steps:?}");
        };
        check(&[InProgress, Pending], InProgress);
        check(&[Completed, InProgress], Completed);
        check(&[InProgress, Cancelled, Completed], Completed);
        check(&[Cancelled, InProgress], Cancelled);
        check(&[Rejected, InProgress], Rejected);
        check(&[InProgress, Rejected, Failed], Rejected);
        check(&[Rejected, Cancelled], Rejected);
        check(&[Rejected, Completed], Completed);
        check(&[Completed, Failed], Failed);
    }

    #[test]
    fn content_replaces_content_but_for_a_diff_that_only_a_reason_would_replace() {
        let check = |steps: &[&[ToolContent]], want: &[ToolContent]| {
            let patches = steps.iter().map(|content| ToolCallPatch {
                content: Some(content.to_vec()),
                ..patch()
            });
            assert_eq!(merged(patches).content, want, "{steps:?}");
        };
        check(
            &[&[text("a")], &[text("b"), text("c")]],
            &[text("b"), text("c")],
        );
        check(&[&[text("a")], &[]], &[]);
        check(&[&[text("a")], &[diff("x")]], &[diff("x")]);
        check(&[&[diff("x")], &[diff("y")]], &[diff("y")]);
        check(&[&[diff("x")], &[text("why")]], &[diff("x"), text("why")]);
        check(
            &[&[diff("x")], &[text("why")], &[text("done")]],
            &[diff("x"), text("done")],
        );
        check(&[&[diff("x")], &[]], &[diff("x")]);
    }

    #[test]
    fn what_was_printed_for_a_terminal_is_read_as_text() {
        let printed = text("\x1b[31mred\x1b[0m\rRED\nand [on]\n");
        let content = Some(vec![printed, text("a\r\nb [1m")]);
        let status = Some(ToolStatus::Completed);
        let tool = merged([ToolCallPatch {
            content,
            status,
            ..patch()
        }]);
        assert_eq!(tool.content, [text("RED\nand [on]\n"), text("a\r\nb [1m")]);
    }

    #[test]
    fn a_code_in_what_is_asked_for_is_spelled() {
        for status in [ToolStatus::Pending, ToolStatus::InProgress] {
            let content = Some(vec![text("\x1b[1;31mrm\x1b[0m -rf ~\x1b[2K\rls\x1b[\x1b")]);
            let status = Some(status);
            let tool = merged([ToolCallPatch {
                content,
                status,
                ..patch()
            }]);
            assert_eq!(tool.content, [text("rm -rf ~^[[2K\rls^[[^[")]);
        }
    }

    #[test]
    fn locations_are_replaced_by_others_and_not_by_none() {
        let at = |path: &str| Location {
            path: path.into(),
            row: None,
        };
        let check = |steps: &[&[&str]], want: &[&str]| {
            let patches = steps.iter().map(|paths| ToolCallPatch {
                locations: Some(paths.iter().map(|path| at(path)).collect()),
                ..patch()
            });
            let want: Vec<Location> = want.iter().map(|path| at(path)).collect();
            assert_eq!(merged(patches).locations, want, "{steps:?}");
        };
        check(&[&["a"], &["b", "c"]], &["b", "c"]);
        check(&[&["a"], &[]], &["a"]);
    }

    #[test]
    fn what_is_known_of_meta_stays_key_by_key() {
        let check = |steps: &[Value], want: Value| {
            let patches = steps.iter().map(|meta| ToolCallPatch {
                meta: Some(meta.clone()),
                ..patch()
            });
            assert_eq!(merged(patches).meta, Some(want), "{steps:?}");
        };
        check(
            &[
                json!({ "a": 1, "b": { "c": 2 } }),
                json!({ "b": { "d": [3] } }),
            ],
            json!({ "a": 1, "b": { "c": 2, "d": [3] } }),
        );
        check(
            &[json!({ "a": [1] }), json!({ "a": [] })],
            json!({ "a": [] }),
        );
        check(&[json!(7), json!({ "a": 1 })], json!({ "a": 1 }));
    }

    #[test]
    fn what_is_not_said_stays() {
        let full = ToolCallPatch {
            title: Some("T".into()),
            kind: Some(ToolKind::Edit),
            raw_input: Some(json!({ "a": 1 })),
            raw_output: Some(json!("out")),
            meta: Some(json!({ "m": 1 })),
            ..patch()
        };
        let tool = merged([full, patch()]);
        assert_eq!((&*tool.title, tool.kind), ("T", ToolKind::Edit));
        assert_eq!(tool.raw_input, Some(json!({ "a": 1 })));
        assert_eq!(tool.raw_output, Some(json!("out")));
        assert_eq!(tool.meta, Some(json!({ "m": 1 })));
    }

    fn any_patch() -> impl Strategy<Value = ToolCallPatch> {
        let content =
            prop::sample::subsequence(vec![text("a"), diff("x"), text("b"), diff("y")], 0..=3);
        let status = prop::sample::select(vec![
            ToolStatus::Pending,
            ToolStatus::InProgress,
            ToolStatus::Completed,
            ToolStatus::Failed,
        ]);
        let meta = prop::sample::select(vec![
            json!({ "a": 1 }),
            json!({ "a": { "b": 2 } }),
            json!(3),
        ]);
        let paths = prop::collection::vec("[ab]", 0..3);
        let word = || prop::option::of("[ab]");
        let said = (word(), prop::option::of(status), prop::option::of(content));
        let more = (
            prop::option::of(paths),
            word(),
            word(),
            prop::option::of(meta),
        );
        (said, more).prop_map(|((title, status, content), (paths, input, output, meta))| {
            let at = |path: String| Location {
                path: path.into(),
                row: None,
            };
            ToolCallPatch {
                title,
                status,
                content,
                locations: paths.map(|paths| paths.into_iter().map(at).collect()),
                raw_input: input.map(|word| json!({ "in": word })),
                raw_output: output.map(|word| json!(word)),
                meta,
                ..patch()
            }
        })
    }

    proptest! {
        #[test]
        fn what_is_folded_says_what_all_of_it_says(all in prop::collection::vec(any_patch(), 0..8)) {
            let mut folded = patch();
            for one in all.clone() {
                fold(&mut folded, one);
            }
            let said = |tool: ToolCall| (
                (tool.title, tool.kind, tool.status, tool.content),
                (tool.locations, tool.raw_input, tool.raw_output, tool.meta),
            );
            prop_assert_eq!(said(merged([folded])), said(merged(all)));
        }
    }
}
