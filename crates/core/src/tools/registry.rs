//! Which tools there are, and which of them agents are offered.
//!
//! Invariant: agents are told of a change, and of nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ToolSpec;
use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};

impl Model {
    /// These are the tools from now on; of several with one name it is the last.
    pub(crate) fn tools_defined(&mut self, tools: Vec<ToolSpec>, fx: &mut Effects) {
        let named = tools.into_iter();
        let defined: BTreeMap<_, _> = named
            .map(|tool| (tool.name.clone(), Arc::new(tool)))
            .collect();
        let before = std::mem::replace(&mut self.tools.defined, defined);
        // What was allowed of a tool was not allowed of another one of its name.
        let defined = &self.tools.defined;
        self.tools.always.retain(|(_, name)| {
            let both = before.get(name).zip(defined.get(name));
            both.is_some_and(|(before, now)| now.is_as(before))
        });
        self.offer_tools(fx);
    }

    pub(crate) fn tool_switched(&mut self, name: &str, on: bool, fx: &mut Effects) {
        if let Some(tool) = self.tools.defined.get_mut(name) {
            Arc::make_mut(tool).is_on = on;
        }
        self.offer_tools(fx);
    }

    fn offer_tools(&mut self, fx: &mut Effects) {
        let all = self.tools.defined.values();
        let offered = all.filter(|tool| tool.is_on);
        let offered: Arc<[ToolSpec]> = offered.map(|tool| (**tool).clone()).collect();
        if offered != self.tools.offered {
            self.tools.offered = offered.clone();
            fx.push(Effect::Host(HostEffect::OfferTools(offered)));
        }
    }
}
