//! Which tools there are, and which of them agents are offered.
//!
//! Invariant: agents are told of a change, and of nothing else.

use std::sync::Arc;

use super::ToolSpec;
use crate::core::effect::{Effect, HostEffect};
use crate::core::model::{Effects, Model};

impl Model {
    /// These are the tools from now on; of several with one name it is the last.
    pub(in crate::core) fn tools_defined(&mut self, tools: Vec<ToolSpec>, fx: &mut Effects) {
        let named = tools.into_iter();
        self.tools.defined = named
            .map(|tool| (tool.name.clone(), Arc::new(tool)))
            .collect();
        self.offer_tools(fx);
    }

    pub(in crate::core) fn tool_switched(&mut self, name: &str, on: bool, fx: &mut Effects) {
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
