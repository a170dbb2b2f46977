//! Runs the Lua files' own tests (tests/lua) in the Neovim of the end-to-end tests.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn lua_specs_pass() {
    let nvim = nvim();
    let output = Command::new(&nvim)
        .args(["--clean", "--headless", "-l", "tests/lua/run.lua"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("ACP_TEST_NVIM", &nvim)
        .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap_or_else(|error| {
            panic!(
                "{} does not start ({error}): run `make nvim`, or set ACP_TEST_NVIM to a Neovim",
                nvim.display()
            )
        });
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns the Neovim under test: `ACP_TEST_NVIM`, else the one `make nvim` unpacks.
fn nvim() -> PathBuf {
    match env::var_os("ACP_TEST_NVIM") {
        Some(path) if !path.is_empty() => path.into(),
        _ => Path::new(env!("CARGO_BIN_EXE_acp-mcp")).with_file_name("../nvim/bin/nvim"),
    }
}
