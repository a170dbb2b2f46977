//! Attachments that are not the text of a file: images, the clipboard, `git diff`. Also the
//! project's prompt history (see [`prompts`]) and file list.
//!
//! Invariant: every request gets one answer; tools run with a time limit, and their output is
//! bounded.

mod files;
mod image;
pub(super) mod prompts;
mod tool;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Environment, Kit, command};
use acp_core::event::{ConversationEvent, Event};
use acp_core::spine::pending::{Token, reply};

/// Time limit for a tool.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum size of the diff attached to a prompt.
const MAX_DIFF: usize = 512 << 10;

/// Reads an image from a file, or from the clipboard.
pub(super) fn image(token: Token<reply::ImageRead>, path: Option<PathBuf>, kit: &Kit) {
    let (kit, environment) = (kit.clone(), kit.environment.clone());
    kit.clone().spawn("an image", async move {
        let work = move || match path {
            Some(path) => image::in_file(&path),
            None => image::in_clipboard(&environment),
        };
        let done = kit.blocking("an image", work).await;
        let result = done.unwrap_or_else(|| Err("The image could not be read.".into()));
        kit.inbox
            .send(Event::Conversation(ConversationEvent::ImageRead {
                token,
                result,
            }));
    });
}

/// Lists the files of a folder that a prompt can mention.
pub(super) fn list(folder: PathBuf, kit: &Kit) {
    let kit = kit.clone();
    kit.clone().spawn("a list of files", async move {
        let place = folder.clone();
        let done = kit.blocking("a list of files", move || files::list(&place));
        let paths = done.await.unwrap_or_default();
        kit.inbox
            .send(Event::Conversation(ConversationEvent::FilesListed {
                folder,
                paths,
            }));
    });
}

/// Runs `git diff` against the last commit of a folder.
pub(super) fn diff(token: Token<reply::DiffRead>, folder: PathBuf, kit: &Kit) {
    let (kit, environment) = (kit.clone(), kit.environment.clone());
    kit.clone().spawn("a diff", async move {
        let done = kit.blocking("a diff", move || git_diff(&folder, &environment));
        let failed = || Err("`git diff` could not be run.".into());
        let result = done.await.unwrap_or_else(failed);
        kit.inbox
            .send(Event::Conversation(ConversationEvent::DiffRead {
                token,
                result,
            }));
    });
}

/// Disables everything that git would run on the user's behalf: pager, external diff, text
/// conversion, file monitor.
fn git_diff(folder: &Path, environment: &Environment) -> Result<String, String> {
    let Some(mut git) = command::tool("git", folder, environment) else {
        return Err("`git` was not found: `@diff` needs it on your PATH.".into());
    };
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(name);
    }
    git.args(["--no-optional-locks", "--no-pager"])
        .args(["-c", "core.fsmonitor=false", "diff", "--no-color"])
        .args(["--no-ext-diff", "--no-textconv", "--relative", "HEAD"]);
    let run = tool::run(git, MAX_DIFF, PATIENCE);
    let output = run.map_err(|why| format!("`git diff` failed: {why}."))?;
    if !output.is_success {
        let folder = folder.display();
        return Err(format!(
            "`git diff HEAD` failed in {folder}: is that a repository with a commit?"
        ));
    }
    let mut text = String::from_utf8_lossy(&output.bytes).into_owned();
    if output.is_cut {
        text.truncate(text.rfind('\n').map_or(0, |at| at + 1));
        text.push_str("… (the rest was cut)\n");
    }
    Ok(text)
}
