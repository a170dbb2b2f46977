//! acp.nvim: a client of the Agent Client Protocol inside Neovim.

pub mod acp;
pub mod core;
pub mod host;
