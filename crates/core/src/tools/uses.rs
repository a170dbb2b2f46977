//! The life of a call: announced, permitted, run, answered.
//!
//! Invariants: a call is removed and answered in one step; it runs only after it was permitted. A
//! call that is incomplete when its turn is cancelled is answered once it is complete, and never
//! runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::ToolSpec;
use super::clock::Clock;
use crate::spine::asker::ToolRequest;
use crate::spine::cx::Effects;
use crate::spine::effect::EditorEffect;
use crate::spine::ids::{SessionKey, ToolUseId};
use crate::spine::tool::ToolResult;
use crate::tools::Tools;
use acp::ToolCallId;

/// A pending call.
#[derive(Debug)]
pub(crate) struct Use {
    pub session: SessionKey,
    pub name: String,
    /// The tool's definition when the call arrived; `None` if undefined.
    pub spec: Option<Arc<ToolSpec>>,
    /// `None` until the call is complete.
    pub arguments: Option<Map<String, Json>>,
    pub(super) stage: UseStage,
    /// The entry of the transcript that shows it.
    pub entry: Option<ToolCallId>,
    /// The id the agent gave the same call.
    pub(super) twin: Option<ToolCallId>,
    /// Its pending requests.
    open: BTreeMap<ToolRequest, Wait>,
    pub(super) clock: Clock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UseStage {
    /// Incomplete.
    Coming,
    /// Incomplete, and cancelled.
    Dropped,
    /// Waiting for a decision whether it runs.
    Asked,
    Running,
}

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    User,
    Files,
}

impl Use {
    fn new(session: SessionKey, name: String, spec: Option<Arc<ToolSpec>>) -> Self {
        Self {
            session,
            clock: Clock::new(spec.as_ref().and_then(|spec| spec.limit_ms)),
            name,
            spec,
            arguments: None,
            stage: UseStage::Coming,
            entry: None,
            twin: None,
            open: BTreeMap::new(),
        }
    }

    /// Returns the tool's title.
    pub fn title(&self) -> &str {
        let title = self.spec.as_ref().and_then(|spec| spec.title.as_deref());
        title.unwrap_or(&self.name)
    }

    pub(super) fn is_running(&self) -> bool {
        self.stage == UseStage::Running
    }

    pub fn is_asking(&self) -> bool {
        self.open.values().any(|wait| *wait == Wait::User)
    }

    /// Returns whether all of the call has arrived; only then it must be answered.
    pub fn is_complete(&self) -> bool {
        matches!(self.stage, UseStage::Asked | UseStage::Running)
    }

    /// Returns whether this definition of its tool is the one the call was made for.
    fn is_for(&self, now: &ToolSpec) -> bool {
        self.spec.as_ref().is_some_and(|asked| now.is_as(asked))
    }
}

impl Tools {
    pub(crate) fn get(&self, id: ToolUseId) -> Option<&Use> {
        self.uses.get(&id)
    }

    /// Returns a call whose handler runs.
    pub(crate) fn running(&self, id: ToolUseId) -> Option<&Use> {
        self.get(id).filter(|of| of.is_running())
    }

    /// Returns the pending calls of a session.
    pub(crate) fn calls_of(&self, key: SessionKey) -> Vec<ToolUseId> {
        let all = self.uses.iter();
        let of_session = all.filter(|(_, of)| of.session == key);
        of_session.map(|(id, _)| *id).collect()
    }

    /// Adds a call that is still incomplete.
    pub(crate) fn begin(&mut self, id: ToolUseId, session: SessionKey, name: String) {
        let spec = self.defined.get(&name).cloned();
        self.uses.insert(id, Use::new(session, name, spec));
    }

    /// Drops a call if it is incomplete; returns whether it was incomplete and not dropped before.
    pub(crate) fn drop_incomplete(&mut self, id: ToolUseId) -> bool {
        let of = self.uses.get_mut(&id);
        let of = of.filter(|of| of.stage == UseStage::Coming);
        of.map(|of| of.stage = UseStage::Dropped).is_some()
    }

    /// Completes a call, or adds a complete one; returns whether it was dropped before.
    pub(crate) fn complete(
        &mut self,
        id: ToolUseId,
        session: SessionKey,
        name: String,
        arguments: Map<String, Json>,
    ) -> bool {
        // The complete call and the tool's present definition are authoritative.
        let spec = self.defined.get(&name).cloned();
        let new = || Use::new(session, name.clone(), None);
        let used = self.uses.entry(id).or_insert_with(new);
        used.clock = Clock::new(spec.as_ref().and_then(|spec| spec.limit_ms));
        used.spec = spec;
        used.name = name;
        used.arguments = Some(arguments);
        std::mem::replace(&mut used.stage, UseStage::Asked) == UseStage::Dropped
    }

    /// Permits a call to run.
    ///
    /// # Errors
    /// The answer to a call of a tool that is no longer the one the call was made for.
    pub(crate) fn start(&mut self, id: ToolUseId) -> Result<(), ToolResult> {
        let Some(of) = self.uses.get_mut(&id) else {
            return Ok(());
        };
        match self.defined.get(&of.name).filter(|tool| tool.is_on) {
            // Switched off while the user was asked.
            None => return Err(not_offered()),
            Some(now) if !of.is_for(now) => {
                let text = "The tool was defined anew while the user was asked: ask for the list \
                            of tools, and call it again.";
                return Err(ToolResult::error(text));
            }
            Some(_) => of.stage = UseStage::Running,
        }
        Ok(())
    }

    /// Returns whether the user always allows a call's tool in its session.
    pub(crate) fn is_always_allowed(&self, of: &Use) -> bool {
        self.always.contains(&(of.session, of.name.clone()))
    }

    /// Always allows a call's tool in its session, unless the tool has changed since the call.
    pub(crate) fn always_allow(&mut self, id: ToolUseId) {
        let Some(of) = self.uses.get(&id) else {
            return;
        };
        if self.defined.get(&of.name).is_some_and(|now| of.is_for(now)) {
            self.always.insert((of.session, of.name.clone()));
        }
    }

    /// Adds a pending request of a call.
    pub(crate) fn ask(&mut self, id: ToolUseId, step: ToolRequest, wait: Wait, fx: &mut Effects) {
        if let Some(of) = self.uses.get_mut(&id) {
            of.open.insert(step, wait);
        }
        self.mind_the_clock(id, fx);
    }

    /// Removes an answered request of a call; returns whether it was pending.
    pub(crate) fn is_answered(&mut self, id: ToolUseId, step: ToolRequest) -> bool {
        let of = self.uses.get_mut(&id);
        of.and_then(|of| of.open.remove(&step)).is_some()
    }

    /// Stops a call's handler, if it runs.
    pub(crate) fn halt(&mut self, id: ToolUseId, fx: &mut Effects) {
        if self.running(id).is_some() {
            fx.push(EditorEffect::StopTool { id });
        }
    }

    /// Removes a call; returns its pending requests.
    pub(crate) fn end(&mut self, id: ToolUseId) -> Vec<ToolRequest> {
        let Some(mut of) = self.uses.remove(&id) else {
            return Vec::new();
        };
        for token in of.clock.stop() {
            self.timers.take(token);
        }
        let open = of.open.keys().copied().collect();
        self.remember_use(of);
        open
    }
}

/// Returns the answer to a call of a tool that is switched off or undefined.
pub(crate) fn not_offered() -> ToolResult {
    ToolResult::error("Neovim does not offer this tool; list the tools again.")
}
