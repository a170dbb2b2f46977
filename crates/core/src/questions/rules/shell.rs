//! Parses command lines into their commands.
//!
//! Invariant: a line is understood as a whole, or it is rejected. Words are the arguments the shell
//! would pass to a program. Any syntax that makes the shell run, read or write more than these
//! words (a substitution, a redirection, a background job) is rejected.

use crate::render::rawview::quoted;

/// The words of a simple command, without quotes.
pub type Words = Vec<String>;

/// Maximum length of a line, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// Maximum nesting of shells (`bash -c "sh -c …"`).
const MAX_SHELLS: usize = 3;

/// Splits a command line at `&&`, `||`, `;`, `|` and line ends, also inside `bash -c '…'`. Returns
/// `None` if any part of it is not understood, or if it has no command.
pub fn commands(line: &str) -> Option<Vec<Words>> {
    if line.len() > MAX_BYTES {
        return None;
    }
    let mut all = Vec::new();
    take_apart(line, MAX_SHELLS, &mut all)?;
    (!all.is_empty()).then_some(all)
}

/// Splits the words of a program; `None` if a shell would read them differently, since they may be
/// passed to one.
pub fn program(words: &[String]) -> Option<Vec<Words>> {
    if let Some(script) = script(words) {
        return commands(script);
    }
    let is_plain = |word: &String| quoted(word) == *word;
    words
        .iter()
        .all(is_plain)
        .then(|| vec![words.to_vec()])
        .filter(|_| !words.is_empty())
}

/// The working folder after a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Move<'a> {
    Nowhere,
    To(&'a str),
    /// Unknown.
    Anywhere,
}

/// Returns the effect of a command on the folder of those after it.
pub fn moves_to(words: &[String]) -> Move<'_> {
    let moves = |word: &String| ["cd", "pushd", "popd", "chdir"].contains(&word.as_str());
    match words {
        [command, folder] if (command == "cd" || command == "pushd") && is_folder(folder) => {
            Move::To(folder)
        }
        [command, ..] if moves(command) => Move::Anywhere,
        [first, rest @ ..] if is_before(first) && rest.iter().any(moves) => Move::Anywhere,
        _ => Move::Nowhere,
    }
}

/// Returns whether this is a folder, rather than `-` or a position in the stack of folders.
fn is_folder(word: &str) -> bool {
    !word.is_empty() && !word.starts_with(['-', '+'])
}

/// Returns whether the shell may itself run a command after this word.
fn is_before(word: &str) -> bool {
    let words = [
        "builtin", "command", "eval", "exec", "time", "!", "if", "then", "else", "elif", "while",
        "until", "do",
    ];
    words.contains(&word) || word.contains('=')
}

fn take_apart(line: &str, shells: usize, all: &mut Vec<Words>) -> Option<()> {
    for words in parts(line)? {
        match script(&words) {
            Some(inner) => take_apart(inner, shells.checked_sub(1)?, all)?,
            None => all.push(words),
        }
    }
    Some(())
}

/// Returns the script a shell is started with: `bash -c '…'`.
fn script(words: &[String]) -> Option<&str> {
    let [shell, flag, script] = words else {
        return None;
    };
    let name = ["/usr/bin/", "/bin/"];
    let name = name.iter().find_map(|folder| shell.strip_prefix(folder));
    let is_shell = ["sh", "bash", "dash", "zsh"].contains(&name.unwrap_or(shell));
    let is_script = ["-c", "-lc"].contains(&flag.as_str());
    (is_shell && is_script).then_some(script)
}

/// Splits a line as a shell would.
fn parts(line: &str) -> Option<Vec<Words>> {
    let mut reader = Reader::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => reader.end_word(),
            '\n' => reader.end_line(),
            ';' => reader.end_part()?,
            '|' => {
                if chars.next_if_eq(&'|').is_none() && chars.peek() == Some(&'&') {
                    return None;
                }
                reader.end_part()?;
            }
            '&' => {
                chars.next_if_eq(&'&')?;
                reader.end_part()?;
            }
            '\'' => reader.quoted(&mut chars)?,
            '"' => reader.double_quoted(&mut chars)?,
            '\\' => reader.push(chars.next().filter(|c| !c.is_control())?),
            '#' if reader.word.is_none() => return None,
            '$' | '`' | '<' | '>' | '(' | ')' | '{' | '}' => return None,
            // The files these match are unknown here.
            '*' | '?' | '[' => return None,
            c if c.is_control() => return None,
            c => reader.push(c),
        }
    }
    reader.end_line();
    Some(reader.parts)
}

#[derive(Default)]
struct Reader {
    parts: Vec<Words>,
    words: Words,
    word: Option<String>,
}

impl Reader {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    /// Ends a command, which may be empty.
    fn end_line(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.parts.push(std::mem::take(&mut self.words));
        }
    }

    /// Ends a command at an operator; an empty command is an error.
    fn end_part(&mut self) -> Option<()> {
        self.end_word();
        if self.words.is_empty() {
            return None;
        }
        self.end_line();
        Some(())
    }

    fn quoted(&mut self, chars: &mut impl Iterator<Item = char>) -> Option<()> {
        let word = self.word.get_or_insert_default();
        loop {
            match chars.next()? {
                '\'' => return Some(()),
                '\0' => return None,
                c => word.push(c),
            }
        }
    }

    fn double_quoted(&mut self, chars: &mut impl Iterator<Item = char>) -> Option<()> {
        let word = self.word.get_or_insert_default();
        loop {
            match chars.next()? {
                '"' => return Some(()),
                '$' | '`' | '\0' => return None,
                '\\' => match chars.next()? {
                    '\n' => return None,
                    c @ ('$' | '`' | '"' | '\\') => word.push(c),
                    c => word.extend(['\\', c]),
                },
                c => word.push(c),
            }
        }
    }
}

/// Returns everything in a command line that looks like a word, in any syntax, with [`BREAK`]
/// between different commands.
///
/// For rules that reject or ask: quotes and backslashes are dropped.
pub fn loose_words(line: &str) -> Words {
    let mut words = Words::new();
    let mut word = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // The command goes on in the next line.
            '\\' if chars.next_if_eq(&'\n').is_some() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            }
            '\'' | '"' | '\\' => continue,
            ';' | '|' | '&' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '\n' => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
                words.push(BREAK.to_owned());
            }
            c if c.is_whitespace() || c.is_control() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            }
            c => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Separates commands among loose words; no word of a pattern equals it.
pub const BREAK: &str = "\n";

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the commands of a line, words joined by `+`; "?" is a line that is not understood.
    #[track_caller]
    fn check(line: &str, want: &[&str]) {
        let got = commands(line).map_or_else(
            || vec!["?".to_owned()],
            |all| all.iter().map(|words| words.join("+")).collect(),
        );
        assert_eq!(got, want, "{line}");
    }

    #[test]
    fn each_command_of_a_line_is_found() {
        check("git status", &["git+status"]);
        check("  a\t b  ", &["a+b"]);
        check(
            "a && b c || d ; e | f\ng",
            &["a", "b+c", "d", "e", "f", "g"],
        );
        check("a;", &["a"]);
        check("a &&\n\n b", &["a", "b"]);
        check("a&&b;c|d", &["a", "b", "c", "d"]);
        check("FOO=1 a", &["FOO=1+a"]);
        check("ls '*.rs' \"[ab]?\" \\* ~/x", &["ls+*.rs+[ab]?+*+~/x"]);
    }

    #[test]
    fn quotes_hide_operators_and_are_no_part_of_the_word() {
        check("echo 'a; b && c' d", &["echo+a; b && c+d"]);
        check(r#"echo "a | b""c" ''"#, &["echo+a | bc+"]);
        check(r#"echo "\$x \" \\ \n""#, &[r#"echo+$x " \ \n"#]);
        check(r#"echo "\$(x)""#, &["echo+$(x)"]);
        check(r"echo a\ b \; c", &["echo+a b+;+c"]);
        check("r'm' -r\"f\"", &["rm+-rf"]);
    }

    #[test]
    fn what_a_shell_is_started_for_is_taken_apart_too() {
        check("/bin/bash -lc 'a && b'", &["a", "b"]);
        check("x; sh -c \"y; bash -c 'z'\"", &["x", "y", "z"]);
        check("sh -c 'a > b'", &["?"]);
        check("sh -c ''", &["?"]);
        check("bash run.sh", &["bash+run.sh"]);
        check("/tmp/bash -c a", &["/tmp/bash+-c+a"]);
        let deep = (0..5).fold("a".to_owned(), |inner, _| {
            format!("sh -c '{}'", inner.replace('\'', r"'\''"))
        });
        check(&deep, &["?"]);
    }

    #[test]
    fn what_runs_reads_or_writes_more_is_not_understood() {
        for line in [
            "",
            " ",
            "\n",
            "a $(b)",
            "a `b`",
            "a $B",
            "a \"$(b)\"",
            "a \"`b`\"",
            "a > f",
            "a 2>&1",
            "a < f",
            "a <<E\nE",
            "a & b",
            "a &",
            "a |& b",
            "(a)",
            "{ a; }",
            "a {b,c}",
            "a # b",
            "a *.rs",
            "a .?",
            "a [ab]",
            "a 'b",
            "a \"b",
            "a \\",
            "a \\\nb",
            "a;; b",
            "&& a",
            "| a",
            "a && | b",
            "a\rb",
            "a\0b",
            "f() a",
            "a \"b\\\nc\"",
        ] {
            check(line, &["?"]);
        }
        check(&"a ".repeat(MAX_BYTES), &["?"]);
    }

    #[test]
    fn loose_words_are_found_in_anything() {
        let got = loose_words("a 'b c'; x=$(r\\m -f) >o").join(" ");
        assert_eq!(got, "a b c \n x= \n \n rm -f \n \n o");
        let got = loose_words("git \\\n  push\\\n-f").join(" ");
        assert_eq!(got, "git push -f");
    }
}
