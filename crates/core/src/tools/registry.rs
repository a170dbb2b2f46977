//! The defined tools, and those offered to agents.
//!
//! Invariant: agents are notified only if the offered tools changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ToolSpec;
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::tools::Tools;

impl Tools {
    /// Replaces the tools; of several with one name, the last wins.
    pub(crate) fn tools_defined(&mut self, tools: Vec<ToolSpec>, fx: &mut Effects) {
        let named = tools.into_iter();
        let defined: BTreeMap<_, _> = named
            .map(|tool| (tool.name.clone(), Arc::new(tool)))
            .collect();
        let before = std::mem::replace(&mut self.defined, defined);
        // A permission does not carry over to a different tool with the same name.
        let defined = &self.defined;
        self.always.retain(|(_, name)| {
            let both = before.get(name).zip(defined.get(name));
            both.is_some_and(|(before, now)| now.is_as(before))
        });
        self.offer_tools(fx);
    }

    pub(crate) fn tool_switched(&mut self, name: &str, on: bool, fx: &mut Effects) {
        if let Some(tool) = self.defined.get_mut(name) {
            Arc::make_mut(tool).is_on = on;
        }
        self.offer_tools(fx);
    }

    fn offer_tools(&mut self, fx: &mut Effects) {
        let all = self.defined.values();
        let offered = all.filter(|tool| tool.is_on);
        let offered: Arc<[ToolSpec]> = offered.map(|tool| (**tool).clone()).collect();
        if offered != self.offered {
            self.offered = offered.clone();
            fx.push(HostEffect::OfferTools(offered));
        }
    }
}
