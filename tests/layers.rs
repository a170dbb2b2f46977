//! Imports run one way: `lib -> editor -> core -> acp` and `lib -> host -> core -> acp`.
//!
//! The source is read as words, not compiled: every path in it counts, in `use` and elsewhere,
//! in tests as well. What a room may name is in [`may_name`], and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of the house; `Lib` is what lies in `src/` itself, `Hall` what lies there too and
/// lies between the core and the rooms around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Acp,
    Core,
    Host,
    Editor,
    Hall,
    Lib,
}

impl Room {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "acp" => Self::Acp,
            "core" => Self::Core,
            "host" => Self::Host,
            "editor" => Self::Editor,
            "inbox" | "panics" | "paths" => Self::Hall,
            _ => return None,
        })
    }

    /// Returns whether this room may name the other one.
    fn sees(self, other: Room) -> bool {
        use Room::{Acp, Core, Editor, Hall, Host, Lib};
        match self {
            Acp => other == Acp,
            Core => matches!(other, Core | Acp),
            Hall => matches!(other, Hall | Core | Acp),
            Host => matches!(other, Host | Hall | Core | Acp),
            Editor => matches!(other, Editor | Hall | Core | Acp),
            Lib => true,
        }
    }
}

/// Returns whether `room` may name `path`, which starts at the root of a crate.
fn may_name(room: Room, path: &[String]) -> bool {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["crate", name, ..] => room.sees(Room::named(name).unwrap_or(Room::Lib)),
        ["nvim_oxi" | "mlua", ..] => matches!(room, Room::Editor | Room::Lib),
        // Its tests may ask whether they have failed already.
        ["std", "thread", "panicking"] => true,
        // The core has no clock and no I/O; `std::time::Duration` is but a number.
        ["tokio", ..] | ["std", "fs" | "net" | "process" | "env" | "thread", ..] => {
            room != Room::Core
        }
        ["std", "time"] | ["std", "time", "Instant" | "SystemTime" | "*", ..] => room != Room::Core,
        _ => true,
    }
}

#[test]
fn no_test_stands_where_it_never_runs() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = rust_files(&src.join("editor"));
    assert!(files.len() > 5, "the source is read: {files:?}");
    // Tests are built without Neovim, so without this room.
    let has_tests = |file: &&PathBuf| {
        let text = fs::read_to_string(file).expect("the source can be read");
        text.contains("#[test]")
    };
    let found: Vec<&PathBuf> = files.iter().filter(has_tests).collect();
    assert!(found.is_empty(), "tests that never run: {found:?}");
}

#[test]
fn no_arrow_points_the_wrong_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = rust_files(&src);
    assert!(files.len() > 5, "the source is read: {files:?}");
    let mut wrong = Vec::new();
    for file in files {
        let module = module_of(file.strip_prefix(&src).expect("it was found there"));
        // Programs of their own: they stand beside the house.
        if module.first().is_some_and(|name| name == "bin") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("the source can be read");
        for path in wrong_paths(&module, &text) {
            wrong.push(format!("{}: {path}", file.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "not to be named there:\n{}",
        wrong.join("\n")
    );
}

/// Checks which paths in the source of `module` are not to be there.
#[track_caller]
fn check(module: &str, source: &str, expected: &[&str]) {
    let module: Vec<String> = module.split("::").map(str::to_owned).collect();
    assert_eq!(wrong_paths(&module, source), expected, "{source}");
}

#[test]
fn wrong_arrows_are_seen_however_they_are_written() {
    check(
        "core",
        "use crate::acp::Message; use crate::core::text;",
        &[],
    );
    check("core", "use crate::host;", &["crate::host"]);
    check(
        "acp::decode",
        "use crate::{acp, core::{ids, text::Text}};",
        &["crate::core::ids", "crate::core::text::Text"],
    );
    check(
        "editor",
        "fn f() { crate::host::start() }",
        &["crate::host::start"],
    );
    check(
        "host",
        "use super::editor::Window;",
        &["crate::editor::Window"],
    );
    check("host::agent", "use super::editor::Window;", &[]);
    check(
        "host::agent",
        "use super::super::editor;",
        &["crate::editor"],
    );
    check(
        "host::agent",
        "mod tests { use super::super::process; } use super::super::editor;",
        &["crate::editor"],
    );
    check("host", "use mlua::Lua; // mlua", &["mlua::Lua"]);
    check(
        "editor::chat",
        "use mlua::{Lua, Table}; use nvim_oxi as oxi;",
        &[],
    );
    check("core", "use std::{fmt, fs, path::PathBuf};", &["std::fs"]);
    check(
        "core",
        "use std::time::{Duration, Instant};",
        &["std::time::Instant"],
    );
    check(
        "core",
        "let now = std::time::SystemTime::now();",
        &["std::time::SystemTime::now"],
    );
    check("core", "use std::time;", &["std::time"]);
    check("core", "#[tokio::test] fn f() {}", &["tokio::test"]);
    check("acp", "use tokio::io; use std::time::Instant;", &[]);
    check("core", "use crate::Inbox;", &["crate::Inbox"]);
    check("core", "use crate::inbox::Inbox;", &["crate::inbox::Inbox"]);
    check("inbox", "use crate::host::Host;", &["crate::host::Host"]);
    check("host", "use crate::inbox::Inbox;", &[]);
}

#[test]
fn comments_and_strings_are_no_arrows() {
    check(
        "core",
        "/// As [`crate::host`] does.\n/* crate::host */",
        &[],
    );
    check(
        "core",
        r##"const A: &str = "crate::host \" tokio::io";"##,
        &[],
    );
    check(
        "core",
        "const A: &str = r#\"crate::host \"# ; use tokio::io;",
        &["tokio::io"],
    );
    check("core", "let quote = '\"'; use tokio::io;", &["tokio::io"]);
    check(
        "core",
        "fn f<'a>(a: &'a str) { tokio::spawn(a) }",
        &["tokio::spawn"],
    );
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Returns the module a file of `src/` holds: `core/ledger/mod.rs` is `core::ledger`.
fn module_of(file: &Path) -> Vec<String> {
    let file = file.with_extension("");
    let mut names: Vec<String> = file
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    if names
        .last()
        .is_some_and(|name| name == "mod" || name == "lib")
    {
        names.pop();
    }
    names
}

fn wrong_paths(module: &[String], source: &str) -> Vec<String> {
    let room = module.first().and_then(|name| Room::named(name));
    let room = room.unwrap_or(Room::Lib);
    let mut paths = Reader::new(module, source).paths();
    paths.retain(|path| !may_name(room, path));
    paths.into_iter().map(|path| path.join("::")).collect()
}

/// Reads the paths out of a file's words.
struct Reader {
    words: Vec<String>,
    at: usize,
    /// The module the words are in, and at which depth of braces each inline part began.
    module: Vec<String>,
    inline: Vec<usize>,
    depth: usize,
}

impl Reader {
    fn new(module: &[String], source: &str) -> Self {
        Self {
            words: words(source),
            at: 0,
            module: module.to_vec(),
            inline: Vec::new(),
            depth: 0,
        }
    }

    /// Returns all paths, from the root of their crate where that can be known.
    fn paths(mut self) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        while let Some(word) = self.words.get(self.at) {
            match word.as_str() {
                "mod" if self.word(2) == "{" => {
                    self.module.push(self.word(1).to_owned());
                    self.inline.push(self.depth);
                    self.at += 2;
                }
                "{" => {
                    self.depth += 1;
                    self.at += 1;
                }
                "}" => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.inline.last() == Some(&self.depth) {
                        self.inline.pop();
                        self.module.pop();
                    }
                    self.at += 1;
                }
                word if is_name(word) => self.tree(Vec::new(), &mut found),
                _ => self.at += 1,
            }
        }
        let module = self.module;
        debug_assert!(self.inline.is_empty(), "unequal braces in {module:?}");
        found
    }

    /// Reads one path, or all paths of a `use` tree, each with `prefix` before it.
    fn tree(&mut self, mut prefix: Vec<String>, found: &mut Vec<Vec<String>>) {
        loop {
            match self.word(0) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.word(0), "}" | "") {
                        if is_name(self.word(0)) || self.word(0) == "*" {
                            self.tree(prefix.clone(), found);
                        } else {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                word => prefix.push(word.to_owned()),
            }
            self.at += 1;
            if self.word(0) != "::" {
                break;
            }
            self.at += 1;
            // `::<T>` of an expression ends the path.
            if !(is_name(self.word(0)) || matches!(self.word(0), "{" | "*")) {
                break;
            }
        }
        found.push(self.rooted(prefix));
    }

    /// Returns the path with its `super`s and `self` resolved.
    fn rooted(&self, path: Vec<String>) -> Vec<String> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let rest = &path[ups..];
        let (base, rest) = match rest.split_first() {
            Some((first, rest)) if first == "self" && ups == 0 && !rest.is_empty() => {
                (self.module.len(), rest)
            }
            _ if ups > 0 => (self.module.len().saturating_sub(ups), rest),
            _ => return path,
        };
        let mut full = vec!["crate".to_owned()];
        full.extend_from_slice(&self.module[..base]);
        full.extend_from_slice(rest);
        full
    }

    fn word(&self, ahead: usize) -> &str {
        self.words.get(self.at + ahead).map_or("", String::as_str)
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns the words of Rust source: names, `::` and single signs; no comments, no literals.
fn words(source: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = literal(rest) {
            length
        } else if is_name(rest) {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let end = end.unwrap_or(rest.len());
            words.push(rest[..end].to_owned());
            end
        } else if rest.starts_with("::") {
            words.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                words.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    words
}

/// Returns the length of the string or character that `text` starts with.
fn literal(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c']);
    let before = text.len() - body.len();
    if before > 1 {
        return None;
    }
    if let Some(raw) = body.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inside = raw[hashes..].strip_prefix('"')?;
        let end = inside.find(&format!("\"{}", "#".repeat(hashes)))?;
        return Some(before + 1 + hashes + 1 + end + 1 + hashes);
    }
    let quote = body.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    for (at, c) in body.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return Some(before + at + 1);
        } else if quote == '\'' && at > 1 && !body[1..].starts_with('\\') {
            // A lifetime, not a character.
            return Some(before + 1);
        }
    }
    None
}
