//! What the linker must know of Neovim, which loads the library.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Neovim's and Lua's functions stay open: they are in the Neovim. Other linkers do so by
    // themselves.
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("macos") {
        println!("cargo::rustc-link-arg=-undefined");
        println!("cargo::rustc-link-arg=dynamic_lookup");
        // Else its name is the path at which it was built.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libacp_nvim.dylib");
    }
    // So does the unwinder, which other linkers take from the system by themselves; see
    // tools/gcc_s.c.
    println!("cargo::rerun-if-env-changed=ACP_UNWINDER");
    if let Ok(path) = env::var("ACP_UNWINDER") {
        println!("cargo::rustc-cdylib-link-arg={path}");
    }
}
