//! Changes of every kind, to files of every format, outlive Neovim: the next one lists and rejects them,
//! whichever of the two has the file open.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;

use serde_json::json;

use super::{git, list};
use crate::files::{Script, open, turn};
use crate::harness::{Nvim, Project};
use crate::review::wait_files;

const FORMATS: [(&str, &[u8]); 7] = [
    ("unix", b"one\ntwo\nthree\n"),
    ("dos", b"one\r\ntwo\r\nthree\r\n"),
    ("noeol", b"one\ntwo\nthree"),
    ("dosnoeol", b"one\r\ntwo\r\nthree"),
    ("bom", b"\xef\xbb\xbfone\ntwo\nthree\n"),
    ("latin1", b"\xe9\ntwo\nthree\n"),
    ("cp932", b"\x93\xfa\x96\x7b\ntwo\nthree\n"),
];

/// What the agent does to a file.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Replaces,
    Inserts,
    Removes,
    Appends,
    Rewrites,
    Empties,
    ChangesLineEnds,
    TogglesFinalNewline,
    MakesBinary,
    Deletes,
    Moves,
    MakesExecutable,
    /// Replaces it by a link to nowhere.
    Links,
}

use Change::*;

const CHANGES: [Change; 13] = [
    Replaces,
    Inserts,
    Removes,
    Appends,
    Rewrites,
    Empties,
    ChangesLineEnds,
    TogglesFinalNewline,
    MakesBinary,
    Deletes,
    Moves,
    MakesExecutable,
    Links,
];

impl Change {
    /// Returns the content that the agent leaves; `None` if it changes no content.
    fn content(self, before: &[u8]) -> Option<Vec<u8>> {
        let end: &[u8] = match before.windows(2).any(|two| two == b"\r\n") {
            true => b"\r\n",
            false => b"\n",
        };
        let bare: Vec<u8> = before
            .iter()
            .copied()
            .filter(|byte| *byte != b'\r')
            .collect();
        let has_end = bare.ends_with(b"\n");
        let mut lines: Vec<&[u8]> = bare.split(|byte| *byte == b'\n').collect();
        lines.truncate(3);
        let mut has_end_now = has_end;
        let mut end_now = end;
        match self {
            Replaces => lines[1] = b"TWO",
            Inserts => lines.insert(1, b"new"),
            Removes => drop(lines.remove(1)),
            Appends => lines.push(b"four"),
            Rewrites => lines = vec![b"agent"],
            ChangesLineEnds if end == b"\n" => end_now = b"\r\n",
            ChangesLineEnds => end_now = b"\n",
            TogglesFinalNewline => has_end_now = !has_end,
            Empties => return Some(Vec::new()),
            MakesBinary => return Some(b"\0agent".to_vec()),
            Deletes | Moves | MakesExecutable | Links => return None,
        }
        let mut content = lines.join(end_now);
        if has_end_now {
            content.extend_from_slice(end_now);
        }
        Some(content)
    }

    /// Returns the command that makes it to a file, whose new content is in `../after`.
    fn command(self, file: &str) -> String {
        match self {
            Deletes => format!("rm {file}"),
            Moves => format!("mv {file} {file}.moved"),
            MakesExecutable => format!("chmod 755 {file}"),
            Links => format!("ln -sf nowhere {file}"),
            _ => format!("cat ../after/{file} > {file}"),
        }
    }
}

/// Opens files, each in a buffer of its own, with this argument of `:edit`.
fn edit(nvim: &Nvim, files: &[&str], how: &str) {
    let code = "local files, how = ...
        for _, file in ipairs(files) do
            vim.cmd('silent edit ' .. how .. ' ' .. file)
        end";
    nvim.lua(code, (files, how));
}

/// The state of a file: its mode and content.
fn state(path: &Path) -> Option<(u32, Vec<u8>)> {
    let meta = path.symlink_metadata().ok().filter(|meta| meta.is_file())?;
    Some((meta.permissions().mode() & 0o777, std::fs::read(path).ok()?))
}

/// Waits until these files, and no others, are under review.
#[track_caller]
fn wait_listed(nvim: &Nvim, files: &[&str]) {
    wait_files(nvim, files.len());
    let list = list(nvim);
    let is_listed = |file: &&&str| list.iter().any(|line| line.starts_with(**file));
    let missing: Vec<&&str> = files.iter().filter(|file| !is_listed(file)).collect();
    assert!(
        missing.is_empty(),
        "missing: {missing:#?}, listed: {list:#?}"
    );
}

/// When a buffer has the files.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Opened {
    Both,
    First,
    Never,
    /// In the next Neovim, before and after the reviews are back.
    Next,
    Later,
    /// In the first, with the line ends in the lines.
    AsUnix,
}

#[track_caller]
fn check(opened: Opened, is_other_stamp: bool) {
    let encodings = "set fileencodings=ucs-bom,utf-8,cp932,latin1";
    let options = "set noswapfile nofixendofline";
    let mut project = Project::new().before(encodings).before(options);
    let mut files = Vec::new();
    let mut commands = Vec::new();
    for (format, before) in FORMATS {
        if opened == Opened::AsUnix && !format.starts_with("dos") {
            continue;
        }
        for change in CHANGES {
            let file = format!("{change:?}_{format}.txt");
            let after = change.content(before);
            if let Some(after) = &after {
                project = project.file(&format!("../after/{file}"), after);
            }
            commands.push(change.command(&file));
            project = project.file(&file, before);
            files.push((file, change, before));
        }
    }
    let script = Script::new().step(json!({ "shell": commands.join("; ") }));
    let project = project.file("other.txt", "other\n");
    git(&project, &["init", "--quiet"]);
    let nvim = project.agent("agent", &script.done()).start();
    let names: Vec<&str> = files.iter().map(|(file, ..)| file.as_str()).collect();
    match opened {
        Opened::Both | Opened::First => edit(&nvim, &names, ""),
        Opened::AsUnix => edit(&nvim, &names, "++ff=unix"),
        Opened::Never | Opened::Next | Opened::Later => {}
    }
    nvim.cmd("edit other.txt");
    open(&nvim);
    turn(&nvim);
    let there: Vec<String> = files
        .iter()
        .map(|(file, change, _)| match change {
            Moves => format!("{file}.moved"),
            _ => file.clone(),
        })
        .collect();
    let there: Vec<&str> = there.iter().map(String::as_str).collect();
    wait_listed(&nvim, &there);
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    if is_other_stamp {
        let root = project.path("");
        for entry in std::fs::read_dir(root).expect("the project").flatten() {
            if entry.metadata().is_ok_and(|meta| meta.is_file()) {
                let file = std::fs::File::options().append(true).open(entry.path());
                let now = std::time::SystemTime::now();
                file.and_then(|file| file.set_modified(now))
                    .expect("a time");
            }
        }
    }
    let nvim = Nvim::start(project);
    if let Opened::Both | Opened::Next | Opened::AsUnix = opened {
        edit(&nvim, &there, "");
    }
    nvim.cmd("edit other.txt");
    open(&nvim);
    wait_listed(&nvim, &there);
    if opened == Opened::Later {
        edit(&nvim, &there, "");
    }
    nvim.cmd("Acp reject all");
    wait_listed(&nvim, &[]);
    for (file, _, before) in &files {
        nvim.wait(&format!("{opened:?}: {file} as it was"), || {
            state(&nvim.project.path(file)) == Some((0o644, before.to_vec()))
        });
    }
    assert!(
        !nvim.messages().contains("internal error"),
        "{}",
        nvim.messages()
    );
    nvim.quit();
}

#[test]
fn changes_to_open_files_outlive_neovim_in_every_format() {
    check(Opened::Both, false);
    check(Opened::Both, true);
}

#[test]
fn changes_to_files_that_are_closed_later_outlive_neovim_in_every_format() {
    check(Opened::First, false);
    check(Opened::First, true);
}

#[test]
fn changes_to_closed_files_outlive_neovim_in_every_format() {
    check(Opened::Never, false);
    check(Opened::Never, true);
}

#[test]
fn changes_to_files_that_the_next_neovim_opens_outlive_the_first_one_in_every_format() {
    check(Opened::Next, false);
    check(Opened::Later, false);
}

#[test]
fn changes_to_files_whose_line_ends_a_buffer_shows_outlive_neovim() {
    check(Opened::AsUnix, false);
}
