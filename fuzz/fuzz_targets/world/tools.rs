//! Neovim's own tools: none is offered here.

use acp_core::event::Event;
use acp_core::model::Model;
use acp_core::spine::effect::{EditorEffect, Effect, HostEffect};
use acp_core::spine::ids::SessionKey;

#[derive(Debug, Default)]
pub struct Calls {
    pub tokens: Vec<(SessionKey, String)>,
}

impl Calls {
    pub fn happens(&mut self, _: &Model, _: &Event) {}

    pub fn comes_of_it(&mut self, _: &[Effect]) {}
}

pub fn editor_in_short(_: &EditorEffect) -> Option<String> {
    None
}

pub fn host_in_short(effect: &HostEffect) -> String {
    format!("{effect:?}")
}
