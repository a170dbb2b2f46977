//! Files that change on disk while buffers have them loaded.

mod branches;
mod buffers;
mod deeds;
mod encodings;
mod hidden;
mod links;
mod look;
mod saves;
mod slow;

use serde_json::{Value as Json, json};

use super::files::{Script, start, touch, turn};
use super::harness::{Nvim, Project};

/// A Neovim on `a.txt`, with an agent whose command changes that file on disk.
struct Door {
    nvim: Nvim,
}

impl Door {
    /// Starts on a file with the content `before`.
    #[track_caller]
    fn new(project: Project, before: impl AsRef<[u8]>) -> Self {
        Self::of(project, before, "cp ../after a.txt")
    }

    /// Starts on a file with the content `before`; the agent runs `command`.
    #[track_caller]
    fn of(project: Project, before: impl AsRef<[u8]>, command: &str) -> Self {
        let script = Script::new().step(json!({ "shell": command }));
        let project = project.file("a.txt", before);
        let nvim = start(project.agent("agent", &script.done()), "a.txt");
        nvim.cmd("set nomore");
        Self { nvim }
    }

    /// Has the agent write `after`, and waits for the end of its turn.
    #[track_caller]
    fn merge(&self, after: impl AsRef<[u8]>) {
        touch(&self.nvim.project.root().join("after"), after);
        turn(&self.nvim);
        self.nvim.wait_script("agent");
    }
}

/// Returns whether the buffer has unsaved changes, and the options that control how it is written.
fn options(nvim: &Nvim) -> Json {
    nvim.lua(
        "return { vim.bo.modified, vim.bo.fileformat, vim.bo.endofline, vim.bo.bomb, \
         vim.bo.fileencoding }",
        (),
    )
}

/// Checks that Neovim shows no prompt and no error when commands make it check its files.
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

/// Saves as a user does, and checks that Neovim shows no prompt or warning.
#[track_caller]
fn save(nvim: &Nvim, command: &str) {
    nvim.cmd("messages clear");
    nvim.input(&format!(":{command}<CR>"));
    nvim.wait("the file to be saved", || {
        assert!(!nvim.blocked(), "{:?}", nvim.snapshot());
        nvim.lua("return vim.bo.modified", ()) == false
    });
    assert!(!nvim.messages().contains("WARNING"), "{}", nvim.messages());
}
