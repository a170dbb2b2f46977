//! The patterns of rules: words with `*` and `?` for commands and names, globs for paths.
//!
//! Invariant: `covers` serves rules that allow and is true only for exact matches; `hits` serves
//! the other rules and is true in case of doubt.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::shell::BREAK;

/// A text with `*` for any characters and `?` for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wildcard(Vec<char>);

impl Wildcard {
    pub fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let matches = |pattern: &char, c: &char| *pattern == '?' || pattern == c;
        sequence(&self.0, &text, |pattern| *pattern == '*', matches)
    }

    fn climbs(&self) -> usize {
        climbs(&self.0.iter().collect::<String>())
    }
}

/// Counts the parent folders (`..`) in a word (`--file=../../x`, `-I..`).
fn climbs(word: &str) -> usize {
    let parts = word.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_'));
    let climbs = |part: &&str| part.ends_with("..") && !part.ends_with("...");
    parts.filter(climbs).count()
}

/// The first words of a command; further words match only if the pattern ends in `*`.
#[derive(Debug, Clone)]
pub struct CommandPattern {
    pieces: Vec<Piece>,
    /// The pattern allows variables to be set for the command (`FOO=1 make`).
    sets_variables: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Word(Wildcard),
    /// Any number of words.
    Any,
}

impl CommandPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// A sentence that says why the pattern is invalid.
    pub fn new(text: &str) -> Result<Self, String> {
        if let Some(c) = text.chars().find(|c| NEVER.contains(*c) || c.is_control()) {
            return Err(format!(
                "{c:?} matches nothing: a pattern is for one command, word by word, without quotes"
            ));
        }
        let mut pieces: Vec<Piece> = text
            .split_ascii_whitespace()
            .map(|word| match word {
                "*" => Piece::Any,
                word => Piece::Word(Wildcard::new(word)),
            })
            .collect();
        if pieces.is_empty() {
            return Err("the pattern is empty".into());
        }
        if text.trim_ascii_end().ends_with('*') && pieces.last() != Some(&Piece::Any) {
            pieces.push(Piece::Any);
        }
        let first = text.split_ascii_whitespace().next().unwrap_or_default();
        Ok(Self {
            pieces,
            sets_variables: first.contains('='),
        })
    }

    /// Returns whether the pattern matches the command, word by word.
    pub fn covers(&self, words: &[String]) -> bool {
        let sets_variables = words.first().is_some_and(|word| is_assignment(word));
        let matches = |piece: &Piece, word: &String| match piece {
            Piece::Word(wildcard) => wildcard.matches(word),
            Piece::Any => false,
        };
        // A word with `..` is matched only by a piece with as many.
        let is_meant = |word: &String| {
            let says = |piece: &Piece| match piece {
                Piece::Word(wildcard) => wildcard.climbs() == climbs(word),
                Piece::Any => false,
            };
            let mut pieces = self.pieces.iter();
            climbs(word) == 0 || pieces.any(|piece| says(piece) && matches(piece, word))
        };
        words.iter().all(is_meant)
            && (self.sets_variables || !sets_variables)
            && sequence(&self.pieces, words, |piece| *piece == Piece::Any, matches)
    }

    /// Returns whether the command may occur among these words, with any path to it.
    pub fn hits(&self, loose: &[String]) -> bool {
        let mut pieces = vec![Piece::Any];
        pieces.extend(self.pieces.iter().cloned());
        pieces.push(Piece::Any);
        let matches = |piece: &Piece, word: &String| match piece {
            Piece::Word(wildcard) if word != BREAK => {
                let name = word.rsplit('/').next().unwrap_or(word);
                wildcard.matches(word) || wildcard.matches(name)
            }
            _ => false,
        };
        sequence(&pieces, loose, |piece| *piece == Piece::Any, matches)
    }
}

/// Characters that a parsed command never contains, and quotes.
const NEVER: &str = ";|&<>(){}$`'\"\\";

/// Returns whether a word sets a variable for the command after it.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    let name = name.trim_end_matches('+');
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// A path with `*`, `**`, `?`, `[…]` and `{…}`, absolute or below a session's folders.
#[derive(Debug, Clone)]
pub struct PathGlob {
    is_absolute: bool,
    /// It also matches a session's folder itself.
    is_root: bool,
    /// The folders of repositories that it names.
    git_names: Vec<String>,
    exact: GlobMatcher,
    /// Ignore case, as some file systems do: for the path, and for what is below it.
    loose: [GlobMatcher; 2],
}

impl PathGlob {
    /// Reads a glob.
    ///
    /// # Errors
    /// A sentence that says why the glob is invalid.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the glob is empty".into());
        }
        if text.starts_with('~') {
            return Err("only \"~/\" at the beginning stands for a home folder, your own".into());
        }
        if text.contains('$') {
            return Err(
                "a glob has no variables: write the path itself, or begin with \"~/\"".into(),
            );
        }
        let short = match text.strip_prefix("./").unwrap_or(text) {
            "" => "**",
            short => short,
        };
        if short.split('/').any(|part| part == "..") {
            return Err("\"..\" matches nothing: write the path without it".into());
        }
        let mut full = short.to_owned();
        if full.ends_with('/') {
            full.push_str("**");
        }
        let build = |glob: &str, is_loose| {
            let mut builder = GlobBuilder::new(glob);
            builder.literal_separator(true).case_insensitive(is_loose);
            let glob = builder.build();
            glob.map(|glob| glob.compile_matcher())
                .map_err(|error| error.kind().to_string())
        };
        Ok(Self {
            is_absolute: full.starts_with('/'),
            is_root: ["**", "**/**", "."].contains(&full.as_str()),
            git_names: full
                .split('/')
                .filter(|part| is_git(part))
                .map(str::to_owned)
                .collect(),
            exact: build(&full, false)?,
            loose: [build(&full, true)?, build(&format!("{full}/**"), true)?],
        })
    }

    /// Returns whether the glob matches the path; a repository's own files match only if the glob
    /// names them.
    ///
    /// The path is absolute and normalized; a relative glob matches below any of the roots.
    pub fn covers(&self, path: &Path, roots: &[PathBuf]) -> bool {
        self.names_each_git(path, roots) && self.finds(&self.exact, path, roots)
    }

    /// Returns whether the glob matches the path or one of its parent folders.
    pub fn hits(&self, path: &Path, roots: &[PathBuf]) -> bool {
        let is_below = self.is_root && roots.iter().any(|root| path.starts_with(root));
        let mut globs = self.loose.iter();
        is_below || globs.any(|glob| self.finds(glob, path, roots))
    }

    /// Returns whether the glob names all folders of repositories in the path. A session's folder may
    /// lie in a bare one, as a working tree.
    fn names_each_git(&self, path: &Path, roots: &[PathBuf]) -> bool {
        let above = roots.iter().filter(|root| path.starts_with(root));
        let above = above.map(|root| root.iter().skip(1).count()).max();
        let above = above.unwrap_or(0);
        let mut parts = path.iter().map(OsStr::to_string_lossy).enumerate();
        parts.all(|(at, part)| {
            let is_own = part.eq_ignore_ascii_case(".git") || (at >= above && is_git(&part));
            !is_own || self.git_names.iter().any(|name| **name == *part)
        })
    }

    fn finds(&self, glob: &GlobMatcher, path: &Path, roots: &[PathBuf]) -> bool {
        if self.is_absolute {
            return glob.is_match(path);
        }
        let mut below = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        below.any(|path| match path.as_os_str().is_empty() {
            true => self.is_root,
            false => glob.is_match(path),
        })
    }
}

/// Returns whether a folder with this name holds a repository's own files: a bare repository is
/// called `.bare` or `NAME.git`.
fn is_git(part: &str) -> bool {
    let part = part.to_ascii_lowercase();
    part == ".bare" || part.ends_with(".git")
}

/// Matches items against a pattern in which some pieces match any number of items.
fn sequence<P, T>(
    pattern: &[P],
    items: &[T],
    is_star: impl Fn(&P) -> bool,
    matches: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut item) = (0, 0);
    // The last star, and the end of the items it matches so far.
    let mut star: Option<(usize, usize)> = None;
    while item < items.len() {
        let next = pattern.get(at);
        if next.is_some_and(&is_star) {
            star = Some((at, item));
            at += 1;
        } else if let (Some(next), Some(this)) = (next, items.get(item))
            && matches(next, this)
        {
            at += 1;
            item += 1;
        } else if let Some((from, upto)) = star {
            star = Some((from, upto + 1));
            at = from + 1;
            item = upto + 1;
        } else {
            return false;
        }
    }
    pattern
        .get(at..)
        .is_none_or(|rest| rest.iter().all(is_star))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::rules::shell::{commands, loose_words};

    #[track_caller]
    fn check_covers(pattern: &str, line: &str, want: bool) {
        let pattern = CommandPattern::new(pattern).expect("a pattern");
        let all = commands(line).expect("a line");
        let got = all.iter().all(|words| pattern.covers(words));
        assert_eq!(got, want, "{pattern:?} {line}");
    }

    #[test]
    fn a_command_is_covered_word_by_word() {
        check_covers("git status", "git status", true);
        check_covers("git status", "git  'status'", true);
        check_covers("git status", "git status --short", false);
        check_covers("git status", "git", false);
        check_covers("git status *", "git status", true);
        check_covers("git status *", "git status -s a", true);
        check_covers("git status *", "git statusx", false);
        check_covers("git status*", "git status -s a", true);
        check_covers("git status*", "git statusx", true);
        check_covers("git * main", "git push origin main", true);
        check_covers("git * main", "git main", true);
        check_covers("git * main", "git push main x", false);
        check_covers("cat src/*.rs", "cat src/a.rs", true);
        check_covers("cat src/*.rs", "cat src/a.rs /etc/passwd.rs", false);
        check_covers("cat src/*.rs", "cat 'src/a b.rs'", true);
        check_covers("cat src/*", "cat src/../../x", false);
        check_covers("cat *", "cat ../x", false);
        check_covers("cat *", "cat --file=a/..", false);
        check_covers("cc *", "cc -I..", false);
        check_covers("cat ../*", "cat ../x", true);
        check_covers("cat ../*", "cat ../../x", false);
        check_covers("cat ../a *", "cat ../a ../b", false);
        check_covers("git log *", "git log main..HEAD", true);
        check_covers("go test *", "go test ./...", true);
        check_covers("ls -?", "ls -l", true);
        check_covers("git status", "'git status'", false);
        check_covers("git status", "/tmp/git status", false);
        check_covers("*", "anything at all", true);
    }

    #[test]
    fn variables_are_set_only_where_the_pattern_does() {
        check_covers("*", "LD_PRELOAD=x ls", false);
        check_covers("* ls", "LD_PRELOAD=x ls", false);
        check_covers("RUST_LOG=* cargo test", "RUST_LOG=debug cargo test", true);
        check_covers("cargo test *", "cargo test --features=x", true);
    }

    #[track_caller]
    fn check_hits(pattern: &str, line: &str, want: bool) {
        let pattern = CommandPattern::new(pattern).expect("a pattern");
        assert_eq!(pattern.hits(&loose_words(line)), want, "{pattern:?} {line}");
    }

    #[test]
    fn a_command_is_hit_wherever_it_is() {
        for line in [
            "rm x",
            "cd a && rm -rf x",
            "sudo /bin/rm x",
            "bash -c 'rm x'",
            "echo $(rm x)",
            "r'm' x",
            "find . | xargs rm",
            "a & rm",
        ] {
            check_hits("rm *", line, true);
        }
        check_hits("rm *", "rmdir x", false);
        check_hits("rm *", "echo format", false);
        check_hits("git push", "git push origin main", true);
        check_hits("git push", "git \\\n    push", true);
        check_hits("git push", "echo git; push", false);
        check_hits("git push --force", "git push", false);
    }

    #[test]
    fn a_pattern_that_can_match_nothing_is_an_error() {
        for text in ["", "  ", "a && b", "a; b", "a 'b'", "a > b", "$(a)", "a\nb"] {
            assert!(CommandPattern::new(text).is_err(), "{text}");
        }
    }

    #[track_caller]
    fn check_path(glob: &str, path: &str, covers: bool, hits: bool) {
        let roots = ["/p", "/real/p"].map(PathBuf::from);
        let glob = PathGlob::new(glob).expect("a glob");
        let path = Path::new(path);
        assert_eq!(glob.covers(path, &roots), covers, "{glob:?} {path:?}");
        assert_eq!(glob.hits(path, &roots), hits, "{glob:?} {path:?}");
    }

    #[test]
    fn a_relative_glob_is_for_what_is_below_the_roots() {
        check_path("src/**", "/p/src/a.rs", true, true);
        check_path("src/**", "/real/p/src/a/b.rs", true, true);
        check_path("src/**", "/q/src/a.rs", false, false);
        check_path("src/**", "/p/srcs/a.rs", false, false);
        check_path("**", "/p/a", true, true);
        check_path("**", "/etc/passwd", false, false);
        check_path("**", "/p", true, true);
        check_path("./", "/p", true, true);
        check_path("./", "/p/a/b", true, true);
        check_path(".", "/p", true, true);
        check_path(".", "/p/a", false, true);
        check_path("*", "/p", false, false);
        check_path("src/**", "/p", false, false);
        check_path("*.md", "/p/a.md", true, true);
        check_path("*.md", "/p/a/b.md", false, false);
        check_path("./docs/", "/p/docs/a/b", true, true);
        check_path("{a,b}.rs", "/p/b.rs", true, true);
        check_path("**/.env*", "/p/x/.env.local", true, true);
        check_path("**/.env*", "/p/.ENV", false, true);
        check_path("secrets", "/p/secrets/key", false, true);
    }

    #[test]
    fn an_absolute_glob_is_for_what_it_says() {
        check_path("/etc/*", "/etc/hosts", true, true);
        check_path("/etc/*", "/etc/x/y", false, true);
        check_path("/p/**", "/p/a", true, true);
    }

    #[test]
    fn a_repositorys_own_files_are_covered_by_name_alone() {
        check_path("**", "/p/.git/hooks/pre-commit", false, true);
        check_path("**", "/p/sub/.GIT/config", false, true);
        check_path("**", "/p/.gitignore", true, true);
        check_path(".git/COMMIT_EDITMSG", "/p/.git/COMMIT_EDITMSG", true, true);
        check_path("/p/**", "/p/.git", false, true);
        check_path("**", "/p/.bare/hooks/pre-commit", false, true);
        check_path("**", "/p/fixtures/x.Git/config", false, true);
        check_path(".bare/*", "/p/.bare/config", true, true);
        check_path("a/x.git/**", "/p/a/x.git/config", true, true);
        check_path("a/x.git/**", "/p/a/x.git/b/.git/config", false, true);
        check_path("**", "/p/x.github", true, true);
    }

    #[test]
    fn a_working_tree_may_lie_in_a_bare_repository() {
        let glob = PathGlob::new("**").expect("a glob");
        let covers = |path: &str, root: &str| {
            let roots = [root, "/p/x.git/main/y.git"].map(PathBuf::from);
            glob.covers(Path::new(path), &roots)
        };
        assert!(covers("/p/x.git/main/a", "/p/x.git/main"));
        assert!(!covers("/p/x.git/main/y.git/config", "/p/x.git/main"));
        assert!(!covers("/p/x.git/main/.bare/config", "/p/x.git/main"));
        assert!(!covers("/p/x.git/hooks/pre-commit", "/p/x.git"));
        // In one of several folders.
        let roots = ["/p", "/p/x.git/main"].map(PathBuf::from);
        assert!(glob.covers(Path::new("/p/x.git/main/a"), &roots));
    }

    #[test]
    fn a_path_that_no_system_opens_takes_no_time() {
        let path = format!("/p/secrets/{}", "a/".repeat(500_000));
        check_path("secrets", &path, false, true);
        check_path("**/none", &path, false, false);
    }

    #[test]
    fn a_glob_that_is_none_is_an_error() {
        for text in ["", "$HOME/x", "~bob/x", "~", "a[", "a{b", "../x", "a/../b"] {
            assert!(PathGlob::new(text).is_err(), "{text}");
        }
    }
}
