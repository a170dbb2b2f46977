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
use crate::spine::effect::{EditorEffect, Effect};
use crate::spine::ids::{SessionKey, ToolUseId};
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
    pub(crate) stage: UseStage,
    /// The entry of the transcript that shows it.
    pub entry: Option<ToolCallId>,
    /// The id the agent gave the same call.
    pub twin: Option<ToolCallId>,
    /// Its pending requests.
    pub open: BTreeMap<ToolRequest, Wait>,
    pub clock: Clock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UseStage {
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
    pub(crate) fn new(session: SessionKey, name: String, spec: Option<Arc<ToolSpec>>) -> Self {
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

    pub fn is_running(&self) -> bool {
        self.stage == UseStage::Running
    }

    pub fn is_asking(&self) -> bool {
        self.open.values().any(|wait| *wait == Wait::User)
    }

    /// Returns whether all of the call has arrived; only then it must be answered.
    pub fn is_complete(&self) -> bool {
        matches!(self.stage, UseStage::Asked | UseStage::Running)
    }
}

impl Tools {
    /// Returns whether the tool's definition is the one the call was made for.
    pub(crate) fn is_as_asked(&self, id: ToolUseId) -> bool {
        let of = self.uses.get(&id);
        let both = of.and_then(|of| Some((self.defined.get(&of.name)?, of.spec.as_ref()?)));
        both.is_some_and(|(now, asked)| now.is_as(asked))
    }

    /// Stops a call's handler, if it runs.
    pub(crate) fn halt(&mut self, id: ToolUseId, fx: &mut Effects) {
        if self.uses.get(&id).is_some_and(Use::is_running) {
            fx.push(Effect::Editor(EditorEffect::StopTool { id }));
        }
    }
}
