//! The agents, driven over stdio without Neovim.

mod agui;
mod client;
mod replay;
mod scripted;
mod tutor;
mod user;

const BRIDGE: &str = env!("CARGO_BIN_EXE_acp-agui");
const SCRIPTED: &str = env!("CARGO_BIN_EXE_acp-scripted");
const TUTOR: &str = env!("CARGO_BIN_EXE_acp-tutor");
