//! The symbol Lua loads. The only unsafe code of the library but for a limit of the
//! highlighter's engine.

use std::ffi::c_int;

use nvim_oxi::mlua::{Lua, lua_State};

/// Opens the native module.
///
/// # Safety
/// Called by Lua alone, with the state of Neovim's main thread.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn luaopen_acp_nvim(state: *mut lua_State) -> c_int {
    // SAFETY: the state is Neovim's, alive for as long as the library is; nvim-oxi only keeps it
    // and the loop that belongs to it, and pushes one nil, which stays below the result.
    unsafe { nvim_oxi::entrypoint::entrypoint(state.cast(), || ()) };
    // SAFETY: the same state; mlua turns errors and panics of the closure into Lua errors.
    unsafe { Lua::entrypoint1(state, |_| crate::editor::module(crate::threads::start)) }
}
