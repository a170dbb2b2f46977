//! Finds the language of a fence's info string, a file name or a path.
//!
//! Invariant: an unknown name has no language; languages are not guessed.

use syntect::parsing::SyntaxReference;

use super::engine::syntaxes;

/// A language that can be highlighted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Language {
    Syntax(&'static SyntaxReference),
    /// A shell session: prompts with commands, and their output.
    Console(&'static SyntaxReference),
}

/// Returns the language of an info string as written by agents.
///
/// Known forms: `rust`, `rust,ignore`, `{.python .numbers}`, `python:src/a.py`, `12:15:src/a.rs`,
/// `src/main.rs`, `Dockerfile`, `ts title="src/a.ts"`, and a `title`, `file` or `filename` alone. A
/// language's own name is accepted, too.
pub(super) fn find(info: &str) -> Option<Language> {
    if let Some(syntax) = syntaxes().find_syntax_by_name(info)
        && !is_plain(syntax)
    {
        return Some(Language::Syntax(syntax));
    }
    let info = info.trim().trim_start_matches('{').trim_end_matches('}');
    let mut words = info.split([' ', '\t', ',', ';', '{']);
    let first = words.next().unwrap_or_default().trim_start_matches('.');
    if !first.contains('=')
        && let Some(language) = word(first)
    {
        return Some(language);
    }
    info.split_whitespace().find_map(|attribute| {
        let (name, value) = attribute.split_once('=')?;
        let value = value.trim_matches(['"', '\'']);
        matches!(
            name,
            "title" | "file" | "filename" | "path" | "lang" | "language"
        )
        .then(|| word(value))
        .flatten()
    })
}

/// Returns the language of a word: a name, a path, or several of them separated by colons.
fn word(word: &str) -> Option<Language> {
    named(word).or_else(|| word.split(':').find_map(named))
}

fn named(name: &str) -> Option<Language> {
    // Manual pages have sections as extensions, but a number in an info string is a line.
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let lower = name.to_lowercase();
    let set = syntaxes();
    if let Some(token) = alias(&lower) {
        return Some(Language::Syntax(set.find_syntax_by_token(token)?));
    }
    match lower.as_str() {
        "console" | "shell-session" | "shellsession" | "sh-session" | "terminal" => {
            return Some(Language::Console(set.find_syntax_by_token("bash")?));
        }
        "text" | "txt" | "plain" | "plaintext" | "output" | "none" => return None,
        _ => {}
    }
    // A known file name precedes its extension: `CMakeLists.txt` is not plain text.
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let known = |extension: &str| set.find_syntax_by_extension(extension);
    let by_path = file.rsplit_once('.').and_then(|(_, extension)| {
        let lower = extension.to_lowercase();
        let token = alias(&lower).unwrap_or(&lower);
        known(file).or_else(|| set.find_syntax_by_token(token))
    });
    let syntax = by_path.or_else(|| set.find_syntax_by_token(file))?;
    (!is_plain(syntax)).then_some(Language::Syntax(syntax))
}

fn is_plain(syntax: &SyntaxReference) -> bool {
    syntax.name == "Plain Text"
}

/// Returns the syntaxes' token for a name they do not have.
fn alias(name: &str) -> Option<&'static str> {
    Some(match name {
        "javascript" | "jsx" | "mjs" | "cjs" | "node" => "js",
        "typescript" => "ts",
        "typescriptreact" => "tsx",
        "python3" | "python2" | "ipython" | "pycon" => "py",
        "shell" | "zsh" | "ksh" | "dash" | "posix" => "bash",
        "jsonc" | "json5" | "jsonl" | "ndjson" | "geojson" => "json",
        "c++" | "cxx" | "h" | "hpp" | "cuda" | "cu" | "arduino" | "ino" => "cpp",
        "csharp" | "c#" => "cs",
        "fsharp" | "f#" | "fs" | "fsx" => "F#",
        "golang" => "go",
        "luau" => "lua",
        "viml" | "vimscript" | "nvim" => "vim",
        "objc" | "objective-c" | "objectivec" => "m",
        "patch" | "udiff" => "diff",
        "docker" | "containerfile" => "dockerfile",
        "make" => "makefile",
        "tf" => "terraform",
        "ps" | "postgres" | "postgresql" | "mysql" | "sqlite" | "plsql" | "tsql" => "sql",
        "htm" | "xhtml" => "html",
        "svg" | "plist" => "xml",
        "emacs-lisp" | "elisp" => "el",
        "common-lisp" => "lisp",
        "scheme" => "scm",
        "protobuf" => "proto",
        "mdx" => "md",
        "dosbatch" => "bat",
        "gitcommit" => "COMMIT_EDITMSG",
        "env" | "dotenv" => ".env",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(info: &str, want: Option<&str>) {
        let name = find(info).map(|language| match language {
            Language::Syntax(syntax) => syntax.name.as_str(),
            Language::Console(_) => "console",
        });
        assert_eq!(name, want, "{info:?}");
    }

    #[test]
    fn info_strings_name_languages() {
        check("rust", Some("Rust"));
        check("rs", Some("Rust"));
        check("Rust", Some("Rust"));
        check("rust,ignore", Some("Rust"));
        check("rust{1,3}", Some("Rust"));
        check("{.python .numbers}", Some("Python"));
        check("{r, echo=FALSE}", Some("R"));
        check("ts", Some("TypeScript"));
        check("typescript", Some("TypeScript"));
        check("tsx", Some("TypeScriptReact"));
        check("js", Some("JavaScript (Babel)"));
        check("jsx", Some("JavaScript (Babel)"));
        check("py", Some("Python"));
        check("sh", Some("Bourne Again Shell (bash)"));
        check("zsh", Some("Bourne Again Shell (bash)"));
        check("console", Some("console"));
        check("jsonc", Some("JSON"));
        check("c", Some("C"));
        check("h", Some("C++"));
        check("c++", Some("C++"));
        check("c#", Some("C#"));
        check("go", Some("Go"));
        check("lua", Some("Lua"));
        check("vim", Some("VimL"));
        check("diff", Some("Diff"));
        check("toml", Some("TOML"));
        check("yaml", Some("YAML"));
        check("dockerfile", Some("Dockerfile"));
        check("make", Some("Makefile"));
        check("elisp", Some("Lisp"));
        check("gitcommit", Some("Git Commit"));
        check("objc", Some("Objective-C"));
        check("f#", Some("F#"));
        check("sql", Some("SQL"));
    }

    #[test]
    fn names_of_languages_name_them() {
        for syntax in syntaxes().syntaxes() {
            let want = (!is_plain(syntax)).then_some(syntax.name.as_str());
            check(&syntax.name, want);
        }
    }

    #[test]
    fn paths_and_attributes_name_languages() {
        check("src/main.rs", Some("Rust"));
        check("1:15:src/main.rs", Some("Rust"));
        check("python:src/a.py", Some("Python"));
        check("C:\\a\\b.TS", Some("TypeScript"));
        check("src/index.mjs", Some("JavaScript (Babel)"));
        check("Dockerfile", Some("Dockerfile"));
        check("sub/Makefile", Some("Makefile"));
        check("CMakeLists.txt", Some("CMake"));
        check("ts title=\"x\"", Some("TypeScript"));
        check("title=\"src/a.rs\"", Some("Rust"));
    }

    #[test]
    fn unknown_names_are_no_language() {
        check("", None);
        check("   ", None);
        check("text", None);
        check("notes.txt", None);
        check("mermaid", None);
        check("no such thing", None);
        check("{}", None);
        check(":::", None);
    }
}
