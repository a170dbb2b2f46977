//! Lets the linker of macOS leave Neovim's and Lua's functions open: they are in the Neovim
//! that loads the library. Other linkers do so by themselves.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("macos") {
        println!("cargo::rustc-link-arg=-undefined");
        println!("cargo::rustc-link-arg=dynamic_lookup");
    }
}
