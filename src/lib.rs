//! acp.nvim: a client of the Agent Client Protocol inside Neovim.
//!
//! Three threads: Neovim's main thread ([`editor`]), the core thread that owns the model
//! ([`acp_core`]), and tokio's workers ([`acp_host`]). They are started in `threads` and meet only
//! in [`acp_core::event::Event`] and [`acp_core::spine::effect::Effect`].

#[cfg(not(test))]
pub mod editor;
#[cfg(not(test))]
mod entry;
#[cfg(not(test))]
mod threads;
