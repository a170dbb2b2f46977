//! Decides whether a call may run: earlier permissions, the rules, the user.
//!
//! Invariant: the question shows the tool and all its arguments, regardless of how the agent
//! describes the call and of the user's answers to the agent's own questions.

use serde_json::{Map, Value as Json};

use crate::model::Model;
use crate::questions::permission::Permission;
use crate::render::toolcall::ToolCall;
use crate::spine::asker::{Asker, ToolRequest};
use crate::spine::cx::Effects;
use crate::spine::ids::ToolUseId;
use crate::spine::tool::ToolResult;
use crate::tools::{Use, Wait};
use acp::{OptionKind, PermissionOption, RpcError, ToolCallId, ToolContent};

impl Model {
    /// Runs a call if the user always allows its tool, or asks.
    pub(super) fn ask_for_use(&mut self, id: ToolUseId, fx: &mut Effects) {
        let Some(of) = self.tools.get(id) else {
            return;
        };
        if self.tools.is_always_allowed(of) {
            return self.run_use(id, fx);
        }
        let Some((call, entry)) = self.question_of(of) else {
            return;
        };
        let always = format!("Always allow {} in this session", of.title());
        let session = of.session;
        let option = |id: &str, name: &str, kind| PermissionOption {
            id: id.into(),
            name: name.into(),
            kind,
        };
        let options = vec![
            option(ALLOW, "Allow", OptionKind::AllowOnce),
            option(ALWAYS, &always, OptionKind::AllowAlways),
            option(REJECT, "Reject", OptionKind::RejectOnce),
        ];
        self.tools.ask(id, ToolRequest::Call, Wait::User, fx);
        let asker = Asker::Tool(id, ToolRequest::Call);
        let permission = Permission::of_tool(options, call);
        self.ask_permission(session, asker, entry, permission, fx);
    }

    /// Returns the call to show in the question, and its entry.
    fn question_of(&self, of: &Use) -> Option<(ToolCall, ToolCallId)> {
        let entry = of.entry.clone()?;
        let cwd = self.conversation.session(of.session)?.cwd();
        let arguments = of.arguments.clone().unwrap_or_default();
        let mut patch = of.patch(cwd)?;
        // A user's tool with this name may have other arguments.
        if of.name == "edit" && of.spec.as_ref().is_some_and(|spec| spec.is_builtin) {
            patch.content = edits(&arguments, patch.locations.as_deref());
        }
        Some((ToolCall::of(patch), entry))
    }

    /// Applies the user's or a rule's decision about a call.
    pub(super) fn use_is_decided(
        &mut self,
        id: ToolUseId,
        result: Result<Json, RpcError>,
        fx: &mut Effects,
    ) {
        let Some(of) = self.tools.get(id) else {
            return;
        };
        let chosen = result.ok();
        let chosen = chosen
            .as_ref()
            .and_then(|result| result["outcome"]["optionId"].as_str());
        match chosen {
            Some(ALLOW) => self.run_use(id, fx),
            Some(ALWAYS) => {
                self.tools.always_allow(id);
                self.run_use(id, fx);
            }
            _ => {
                let text = format!(
                    "The user has rejected this call of {}: ask them what to do instead, or go \
                     on without it.",
                    of.name
                );
                self.stop_use(id, ToolResult::error(text), fx);
            }
        }
    }
}

/// The ids of the options.
const ALLOW: &str = "allow";

const ALWAYS: &str = "always";

const REJECT: &str = "reject";

/// Returns the `edits` in the arguments as diffs.
fn edits(
    arguments: &Map<String, Json>,
    places: Option<&[acp::Location]>,
) -> Option<Vec<ToolContent>> {
    let path = &places?.first()?.path;
    let edits = arguments.get("edits")?.as_array()?;
    let diff = |edit: &Json| {
        Some(ToolContent::Diff {
            path: path.clone(),
            old: Some(edit.get("old_text")?.as_str()?.to_owned()),
            new: edit.get("new_text")?.as_str()?.to_owned(),
        })
    };
    edits.iter().map(diff).collect()
}
