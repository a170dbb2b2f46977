//! Files that change behind the editor's back, under buffers that have them.

mod buffers;
mod look;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value as Json, json};

use super::files::{Script, last_turn, start, touch};
use super::harness::{Nvim, Project};

/// A Neovim on `a.txt`, with an agent that will find other contents there.
struct Door {
    nvim: Nvim,
}

impl Door {
    /// Starts on a file with the content `before`; `merge` puts `after` there.
    #[track_caller]
    fn new(project: Project, before: impl AsRef<[u8]>, after: &str) -> Self {
        // What the agent writes is there already and cannot be written: so all that is left of it
        // is that others' text is merged.
        let script = Script::new().writes_in_vain("a.txt", after, -32603, "");
        let project = project.file("a.txt", before);
        let nvim = start(project.agent("agent", &script.done()), "a.txt");
        nvim.cmd("set nomore");
        Self { nvim }
    }

    /// Has the file changed by somebody else, and the change merged.
    #[track_caller]
    fn merge(&self, after: impl AsRef<[u8]>) {
        touch(&self.nvim.project.path("a.txt"), after);
        set_mode(&self.nvim, 0o444);
        last_turn(&self.nvim);
    }
}

fn set_mode(nvim: &Nvim, mode: u32) {
    let path = nvim.project.path("a.txt");
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("the mode can be set");
}

/// Returns the options that say how a buffer is written, and whether it has unsaved changes.
fn options(nvim: &Nvim) -> Json {
    nvim.lua(
        "return { vim.bo.modified, vim.bo.fileformat, vim.bo.endofline, vim.bo.bomb, \
         vim.bo.fileencoding }",
        (),
    )
}

/// Checks that Neovim neither asks nor complains, whatever makes it look at the files.
#[track_caller]
fn check_silent(nvim: &Nvim) {
    nvim.cmd("messages clear");
    nvim.lua("vim.v.errmsg = ''", ());
    for command in [
        "checktime",
        "doautocmd FocusGained",
        "silent !true",
        "keepalt new",
        "keepalt close",
    ] {
        nvim.input(&format!(":{command}<CR>"));
        nvim.wait(command, || !nvim.blocked() && nvim.mode() == "n");
    }
    assert_eq!(nvim.messages(), "");
    assert_eq!(nvim.lua("return vim.v.errmsg", ()), json!(""));
}

/// Saves as a user does, and checks that no question is asked.
#[track_caller]
fn save(nvim: &Nvim, command: &str) {
    set_mode(nvim, 0o644);
    nvim.cmd("messages clear");
    nvim.input(&format!(":{command}<CR>"));
    nvim.wait("the file to be saved", || {
        assert!(!nvim.blocked(), "{:?}", nvim.snapshot());
        nvim.lua("return vim.bo.modified", ()) == false
    });
    assert!(!nvim.messages().contains("WARNING"), "{}", nvim.messages());
}
