//! Dependencies run one way: root -> host, editor -> edge -> core -> acp. Cargo checks them between
//! crates; this test checks what Cargo cannot: which parts of the standard library the core uses,
//! and the rooms inside the core.
//!
//! The source is tokenised, not compiled: every path counts, in `use` and elsewhere, and in tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of the core, lowest first: a room may name rooms in its own row and below.
const LAYERS: [&[&str]; 10] = [
    &["text", "form"],
    &["spine", "code"],
    &["render"],
    &["questions", "workspace", "terminals"],
    &["tools", "conversation"],
    &["view"],
    &["model"],
    &["flow", "screen"],
    &["event"],
    &["update"],
];

/// Which parts of the standard library a file may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// No clock, no I/O, no threads.
    Pure,
    Outer,
}

/// Returns whether `room` may name `path`, which starts at the root of a crate.
fn may_name(room: Room, path: &[String]) -> bool {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    if room == Room::Outer {
        return true;
    }
    match words.as_slice() {
        // A test may check whether it is already failing.
        ["std", "thread", "panicking"] => true,
        ["tokio", ..] | ["std", "fs" | "net" | "process" | "env" | "thread", ..] => false,
        // `std::time::Duration` is only a number.
        ["std", "time"] | ["std", "time", "Instant" | "SystemTime" | "*", ..] => false,
        _ => true,
    }
}

fn source_of(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

/// Returns the Rust files below a folder with their modules and texts; fails if it finds almost
/// none.
fn sources(folder: &str) -> Vec<(PathBuf, Vec<String>, String)> {
    let root = source_of(folder);
    let files = rust_files(&root);
    assert!(files.len() > 5, "the source of {folder} is read: {files:?}");
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("the source can be read");
        let module = module_of(file.strip_prefix(&root).expect("it was found there"));
        (file, module, text)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn no_test_stands_where_it_never_runs() {
    // The editor is built without tests: Neovim's functions exist only inside Neovim.
    let found: Vec<PathBuf> = sources("src/editor")
        .into_iter()
        .filter(|(_, _, text)| text.contains("#[test]"))
        .map(|(file, ..)| file)
        .collect();
    assert!(found.is_empty(), "tests that never run: {found:?}");
}

#[test]
fn the_core_has_no_clock_and_no_io() {
    let mut wrong = Vec::new();
    for (file, module, text) in sources("crates/core/src") {
        for path in wrong_paths(Room::Pure, &module, &text) {
            wrong.push(format!("{}: {path}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_arrow_points_the_wrong_way() {
    let level = |room: &str| LAYERS.iter().position(|row| row.contains(&room));
    let mut upward: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (file, module, text) in sources("crates/core/src") {
        let Some(from) = module.first().filter(|name| *name != "tests") else {
            continue;
        };
        let here = level(from).unwrap_or_else(|| panic!("{from} has no place in LAYERS"));
        for path in Reader::new(&module, &text).paths() {
            if let [first, to, ..] = path.as_slice()
                && first == "crate"
                && level(to).is_some_and(|there| there > here)
            {
                let arrows = upward.entry((from.clone(), to.clone())).or_default();
                arrows.insert(format!("{}: {}", file.display(), path.join("::")));
            }
        }
    }
    assert!(upward.is_empty(), "arrows that point up: {upward:#?}");
}

/// How many files may import one another in a circle.
const CYCLE: usize = 12;

const FOLDERS: [&str; 6] = [
    "crates/acp/src",
    "crates/core/src",
    "crates/edge/src",
    "crates/host/src",
    "crates/schema/src",
    "src",
];

#[test]
fn no_cycle_of_files_is_larger_than_a_dozen() {
    for folder in FOLDERS {
        let root = source_of(folder);
        let files = rust_files(&root).into_iter();
        let files: Vec<(Vec<String>, String)> = files
            .map(|file| {
                let text = fs::read_to_string(&file).expect("the source can be read");
                let file = file.strip_prefix(&root).expect("it was found there");
                (module_of(file), without_tests(&text).to_owned())
            })
            .collect();
        let known: BTreeSet<&[String]> = files.iter().map(|file| file.0.as_slice()).collect();
        let mut arrows: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
        for (module, text) in files.iter().filter(|file| !is_test(&file.0)) {
            let paths = Reader::new(module, text).paths();
            let named = paths.iter().filter_map(|path| {
                let path = path.strip_prefix(&["crate".to_owned()])?;
                let ends = (1..=path.len()).rev();
                ends.map(|end| &path[..end])
                    .find_map(|path| known.get(path))
            });
            let named = named.copied().filter(|to| *to != module.as_slice());
            arrows.insert(module, named.collect());
        }
        let cycle = largest_cycle(&arrows);
        assert!(
            cycle.len() <= CYCLE,
            "{folder}: {} files: {cycle:#?}",
            cycle.len()
        );
    }
}

/// Returns the text before a file's tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text)
}

/// Returns whether a module is one of tests.
fn is_test(module: &[String]) -> bool {
    let is_test = |name: &String| ["tests", "props", "life"].contains(&name.as_str());
    module.iter().any(is_test)
}

/// Returns the largest set of files that can all be reached from one another.
fn largest_cycle<'a>(
    arrows: &BTreeMap<&'a [String], BTreeSet<&'a [String]>>,
) -> BTreeSet<&'a [String]> {
    let reached = |from: &'a [String]| {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&[String]> = vec![from];
        while let Some(here) = next.pop() {
            let new = arrows.get(here).into_iter().flatten();
            next.extend(new.filter(|to| reached.insert(**to)));
        }
        reached
    };
    let all: BTreeMap<_, _> = arrows.keys().map(|from| (*from, reached(from))).collect();
    let cycles = all.iter().map(|(from, to)| {
        let back = to
            .iter()
            .filter(|to| all.get(*to).is_some_and(|its| its.contains(from)));
        back.copied().collect::<BTreeSet<_>>()
    });
    cycles.max_by_key(BTreeSet::len).unwrap_or_default()
}

#[test]
fn a_cycle_is_found() {
    let name = |name: &str| vec![name.to_owned()];
    let [a, b, c, d] = ["a", "b", "c", "d"].map(name);
    let arrows = BTreeMap::from([
        (a.as_slice(), BTreeSet::from([b.as_slice()])),
        (&b, BTreeSet::from([c.as_slice(), &d])),
        (&c, BTreeSet::from([a.as_slice()])),
    ]);
    let cycle: BTreeSet<&[String]> = BTreeSet::from([a.as_slice(), &b, &c]);
    assert_eq!(largest_cycle(&arrows), cycle);
}

/// Checks which paths in a core module's source are rejected.
#[track_caller]
fn check(source: &str, expected: &[&str]) {
    let module = vec!["text".to_owned()];
    assert_eq!(
        wrong_paths(Room::Pure, &module, source),
        expected,
        "{source}"
    );
}

#[test]
fn clocks_and_io_are_seen_however_they_are_written() {
    check("use crate::text; use acp::Message;", &[]);
    check("use std::{fmt, fs, path::PathBuf};", &["std::fs"]);
    check(
        "use std::time::{Duration, Instant};",
        &["std::time::Instant"],
    );
    check(
        "let now = std::time::SystemTime::now();",
        &["std::time::SystemTime::now"],
    );
    check("use std::time;", &["std::time"]);
    check("#[tokio::test] fn f() {}", &["tokio::test"]);
}

/// Checks the paths a module names, starting at the root of its crate.
#[track_caller]
fn check_paths(module: &str, source: &str, expected: &[&str]) {
    let module: Vec<String> = module.split("::").map(str::to_owned).collect();
    let paths = Reader::new(&module, source).paths();
    let paths: Vec<String> = paths.into_iter().map(|path| path.join("::")).collect();
    for path in expected {
        assert!(
            paths.iter().any(|found| found == path),
            "{path} in {paths:?}"
        );
    }
}

#[test]
fn relative_paths_are_resolved() {
    check_paths("a", "use super::b::C;", &["crate::b::C"]);
    check_paths("a::d", "use super::super::b;", &["crate::b"]);
    check_paths(
        "a::d",
        "mod tests { use super::super::e; } use super::super::b;",
        &["crate::a::e", "crate::b"],
    );
    check_paths(
        "a",
        "use crate::{b, c::{d, e::F}};",
        &["crate::b", "crate::c::d", "crate::c::e::F"],
    );
}

#[test]
fn comments_and_strings_are_no_arrows() {
    check("/// As [`std::fs`] does.\n/* std::fs */", &[]);
    check(r##"const A: &str = "std::fs \" tokio::io";"##, &[]);
    check(
        "const A: &str = r#\"std::fs \"# ; use tokio::io;",
        &["tokio::io"],
    );
    check("let quote = '\"'; use tokio::io;", &["tokio::io"]);
    check(
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

/// Returns the module of a file below a crate's `src/`: `text/mod.rs` is `text`.
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

fn wrong_paths(room: Room, module: &[String], source: &str) -> Vec<String> {
    let mut paths = Reader::new(module, source).paths();
    paths.retain(|path| !may_name(room, path));
    paths.into_iter().map(|path| path.join("::")).collect()
}

/// Extracts the paths from a file's tokens.
struct Reader {
    words: Vec<String>,
    at: usize,
    /// The current module, and the depth of braces at which each inline part of it began.
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

    /// Returns all paths, starting at the root of their crate where that can be resolved.
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
                // The extent of a visibility is no arrow.
                "pub" if self.word(1) == "(" => {
                    while !matches!(self.word(0), ")" | "") {
                        self.at += 1;
                    }
                }
                word if is_name(word) => self.tree(Vec::new(), &mut found),
                _ => self.at += 1,
            }
        }
        let module = self.module;
        debug_assert!(self.inline.is_empty(), "unequal braces in {module:?}");
        found
    }

    /// Reads one path, or all paths of a `use` tree, each with `prefix` prepended.
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
            // The `::<T>` of an expression ends the path.
            if !(is_name(self.word(0)) || matches!(self.word(0), "{" | "*")) {
                break;
            }
        }
        found.push(self.rooted(prefix));
    }

    /// Resolves `super` and `self` in a path.
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

/// Splits Rust source into tokens: names, `::` and single characters; comments and literals are
/// skipped.
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

/// Returns the length of the string or character literal that `text` starts with.
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
