//! acp.nvim: a client of the Agent Client Protocol inside Neovim.
//!
//! Three threads: Neovim's main thread ([`editor`]), the core thread that owns the model
//! ([`core`]), and tokio's workers ([`host`]). They are started in `threads` and meet only in
//! [`core::event::Event`] and [`core::effect::Effect`].

pub mod acp;
pub mod core;
#[cfg(not(test))]
pub mod editor;
#[cfg(not(test))]
mod entry;
pub mod host;
pub mod inbox;
pub mod panics;
pub mod paths;
#[cfg(not(test))]
mod threads;
