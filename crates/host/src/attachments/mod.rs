//! Attachments that are not the text of a file: images, the clipboard, `git diff`. Also the
//! project's prompt history (see [`prompts`]) and file list.
//!
//! Invariant: every request gets one answer; tools run with a time limit, and their output is
//! bounded.

mod files;
mod image;
pub(super) mod prompts;
mod tool;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Environment, Kit, command};
use acp_core::event::{ConversationEvent, Event};
use acp_core::spine::pending::{Token, reply};

/// Time limit for a tool.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum size of the diff attached to a prompt.
const MAX_DIFF: usize = 512 << 10;

/// Maximum size of the names of the filters that git knows.
const MAX_CONFIG: usize = 64 << 10;

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
/// conversion, file monitor, and the filters of the configuration.
fn git_diff(folder: &Path, environment: &Environment) -> Result<String, String> {
    let git = || {
        let mut git = command::tool("git", folder, environment)?;
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
            git.env_remove(name);
        }
        git.args([
            "--no-optional-locks",
            "--no-pager",
            "-c",
            "core.fsmonitor=false",
        ]);
        Some(git)
    };
    let (Some(mut config), Some(mut diff)) = (git(), git()) else {
        return Err("`git` was not found: `@diff` needs it on your PATH.".into());
    };
    let failed = |why: String| format!("`git diff` failed: {why}.");
    config.args(["config", "-z", "--name-only", "--get-regexp", r"^filter\."]);
    let filters = tool::run(config, MAX_CONFIG, PATIENCE).map_err(failed)?;
    let filters = match filters.is_cut {
        true => return Err(failed("the repository configures too many filters".into())),
        false => String::from_utf8_lossy(&filters.bytes).into_owned(),
    };
    diff.args(without_filters(&filters).map_err(failed)?)
        // It would write to the index.
        .args(["-c", "diff.autoRefreshIndex=false"])
        .args(["diff", "--no-color", "--no-ext-diff", "--no-textconv"])
        .args(["--relative", "HEAD"]);
    let output = tool::run(diff, MAX_DIFF, PATIENCE).map_err(failed)?;
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
    Ok(without_touched(&text))
}

/// Leaves out the files of a diff of which only the times have changed: they have a head alone.
fn without_touched(diff: &str) -> String {
    let is_head = |line: &&str| line.starts_with("diff --git ");
    let mut lines = diff.split_inclusive('\n').peekable();
    let mut kept = String::with_capacity(diff.len());
    while let Some(line) = lines.next() {
        let is_alone = is_head(&line) && lines.peek().is_none_or(is_head);
        if !is_alone {
            kept.push_str(line);
        }
    }
    kept
}

/// Returns git's options that disable filters, given by the names of their settings, each with a NUL.
///
/// # Errors
/// A filter cannot be disabled; a clause to complete a sentence.
fn without_filters(settings: &str) -> Result<Vec<String>, String> {
    let drivers = settings.split('\0').filter_map(|setting| {
        let (driver, _) = setting.rsplit_once('.')?;
        driver.strip_prefix("filter.")
    });
    let drivers: BTreeSet<&str> = drivers.collect();
    let mut options = Vec::new();
    for driver in drivers {
        // The first one ends the name of a setting on the command line.
        if driver.contains('=') {
            return Err(format!("the filter `{driver}` cannot be left out"));
        }
        for setting in ["clean=", "process=", "required=false"] {
            options.extend(["-c".to_owned(), format!("filter.{driver}.{setting}")]);
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_only_touched_are_left_out() {
        let check = |diff: &str, want: &str| assert_eq!(without_touched(diff), want);
        let changed = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+diff --git \n";
        let mode = "diff --git a/m b/m\nold mode 100644\nnew mode 100755\n";
        let touched = "diff --git a/t b/t\n";
        check(touched, "");
        check(
            &[touched, changed, touched, touched, mode].concat(),
            &[changed, mode].concat(),
        );
        check(&[changed, touched].concat(), changed);
    }

    #[test]
    fn filters_are_disabled_by_name() {
        let options = without_filters("filter.lfs.clean\0filter.lfs.smudge\0filter.a.b.clean\0");
        let want = [
            "filter.a.b.clean=",
            "filter.a.b.process=",
            "filter.a.b.required=false",
            "filter.lfs.clean=",
            "filter.lfs.process=",
            "filter.lfs.required=false",
        ];
        let options = options.expect("they can be");
        let given: Vec<&String> = options.iter().filter(|option| *option != "-c").collect();
        assert_eq!(given, want);
        assert_eq!(without_filters(""), Ok(vec![]));
        assert!(without_filters("filter.a=b.clean\0").is_err());
    }
}
