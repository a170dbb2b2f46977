//! Calls of Neovim's tools, from the agent's request to the result.

mod asks;
mod clock;
mod permit;
mod shown;
mod twin;
mod uses;
