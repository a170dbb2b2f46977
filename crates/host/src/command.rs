//! Turns the spec of an agent or a terminal into a command that can be started, or into one
//! sentence that says why it cannot.
//!
//! Invariant: a started program sees the captured environment of the user and no other.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::Access;
use rustix::io::Errno;

use super::environment::Environment;
use acp_core::spine::event::{AgentSpec, TerminalSpec};
use acp_core::text::cut::head;

/// A program to start, and its purpose, which decides the wording of a failure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program<'a> {
    purpose: Purpose<'a>,
    command: &'a str,
    args: &'a [String],
    env: &'a [(String, String)],
    cwd: &'a Path,
}

#[derive(Debug, Clone, Copy)]
enum Purpose<'a> {
    /// The agent with this name in the config.
    Agent(&'a str),
    Terminal,
}

impl<'a> Program<'a> {
    pub(super) fn of_agent(spec: &'a AgentSpec) -> Self {
        Self {
            purpose: Purpose::Agent(&spec.name),
            command: &spec.command,
            args: &spec.args,
            env: &spec.env,
            cwd: &spec.cwd,
        }
    }

    pub(super) fn of_terminal(spec: &'a TerminalSpec) -> Self {
        Self {
            purpose: Purpose::Terminal,
            command: &spec.command,
            args: &spec.args,
            env: &spec.env,
            cwd: &spec.cwd,
        }
    }

    /// Returns the value that a variable will have in the program's environment.
    fn variable(&self, user: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
        let own = self.env.iter().rev().find(|(n, _)| n == name);
        let own = own.map(|(_, value)| OsStr::new(value));
        own.or_else(|| {
            let users = user.iter().rev().find(|(n, _)| n == name);
            users.map(|(_, value)| value.as_os_str())
        })
    }

    /// Returns whether `command` needs a shell: it has several words or shell syntax.
    fn is_command_line(&self) -> bool {
        let signs = |c: char| c.is_whitespace() || "|&;<>()$`\\\"'*?[]{}~#=!".contains(c);
        self.args.is_empty() && self.command.contains(signs)
    }

    fn failure(&self, why: &str) -> String {
        match self.purpose {
            Purpose::Agent(name) => format!("The agent \"{name}\" could not be started: {why}."),
            Purpose::Terminal => {
                let line = self.command.lines().next().unwrap_or_default();
                let shown = head(line, SHOWN_BYTES);
                let rest = if shown == self.command { "" } else { "…" };
                format!("The command `{shown}{rest}` could not be run: {why}.")
            }
        }
    }

    /// Checks the working directory.
    ///
    /// # Errors
    /// It does not exist, is not a folder, or is relative.
    fn check_folder(&self) -> Result<(), String> {
        let folder = self.cwd.display();
        match self.purpose {
            _ if self.cwd.is_absolute() && self.cwd.is_dir() => Ok(()),
            Purpose::Agent(_) if self.cwd.is_dir() => Ok(()),
            Purpose::Agent(_) => Err(format!(
                "its folder `{folder}` does not exist; create it or open the chat in another one"
            )),
            Purpose::Terminal if !self.cwd.is_absolute() => Err(format!(
                "the folder `{folder}` is relative; use an absolute path"
            )),
            Purpose::Terminal if self.cwd.exists() => Err(format!(
                "`{folder}` is not a folder; choose a folder to run the command in"
            )),
            Purpose::Terminal => Err(format!(
                "the folder `{folder}` does not exist; create it or choose another one"
            )),
        }
    }
}

/// Maximum length of the command line shown in an error.
const SHOWN_BYTES: usize = 120;

/// Environment defaults for terminal commands, which the agent may override: no pager waits for a
/// key, and the editor's terminals understand this `TERM`.
const TERMINAL_VARIABLES: [(&str, &str); 3] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("TERM", "xterm-256color"),
];

/// Variables that would describe Neovim's own terminal instead of the command's.
const OTHER_TERMINALS_VARIABLES: [&str; 3] = ["COLUMNS", "LINES", "TERMCAP"];

/// Returns the command for `program`, with its executable resolved, its folder and its environment.
///
/// A terminal's command line runs in `sh -c` rather than the user's shell, so it means the same on
/// every machine.
///
/// # Errors
/// A sentence that names the next step.
pub(super) fn command(program: &Program<'_>, environment: &Environment) -> Result<Command, String> {
    let user = environment.variables();
    program
        .check_folder()
        .map_err(|why| program.failure(&why))?;
    let path = program.variable(&user, "PATH");
    let found = find(program.command, path, program.cwd);
    let is_terminal = matches!(program.purpose, Purpose::Terminal);
    let mut command = match found {
        Ok(file) => Command::new(file),
        Err(Missing::NotOnPath | Missing::NoFile(_))
            if is_terminal && program.is_command_line() =>
        {
            let shell = find("sh", path, Path::new("/"));
            let mut command = Command::new(shell.unwrap_or_else(|_| "/bin/sh".into()));
            command.args(["-c", program.command]);
            command
        }
        Err(why) => return Err(program.failure(&why.words(program))),
    };
    command
        .args(program.args)
        .env_clear()
        .envs(user.iter().map(|(name, value)| (name, value)))
        .current_dir(program.cwd);
    if is_terminal {
        for name in OTHER_TERMINALS_VARIABLES {
            command.env_remove(name);
        }
        command.envs(TERMINAL_VARIABLES);
    }
    command.envs(program.env.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Returns a command for a program on the user's PATH, to run in `folder` with the user's
/// environment; `None` if there is no such program.
pub(super) fn tool(name: &str, folder: &Path, environment: &Environment) -> Option<Command> {
    let user = environment.variables();
    let path = environment.value("PATH");
    // Resolve from `/`, so that a relative PATH entry cannot pick a program inside the project.
    let nowhere = Path::new("/");
    let mut command = Command::new(find(name, path.as_deref(), nowhere).ok()?);
    command
        .env_clear()
        .envs(user.iter().map(|(name, value)| (name, value)))
        .current_dir(folder);
    Some(command)
}

/// Returns the message for a program that was found but could not be started.
pub(super) fn start_failure(program: &Program<'_>, error: &io::Error) -> String {
    let file = program.command;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    let why = match errno {
        // The file itself exists (it was looked up), so its interpreter is missing.
        Some(Errno::NOENT) => {
            format!(
                "the interpreter that `{file}` names in its first line does not exist; install it"
            )
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            format!("`{file}` cannot be executed ({error}); check its permissions")
        }
        Some(Errno::NOEXEC) => {
            format!(
                "`{file}` is not a program for this machine; if it is a script, add a `#!` line"
            )
        }
        Some(Errno::TOOBIG) => {
            format!("its arguments and environment are too long ({error}); shorten them")
        }
        Some(Errno::MFILE | Errno::NFILE) => format!(
            "too many files are open ({error}); end other commands or raise the limit (`ulimit -n`)"
        ),
        // Linux reports this when no pseudo-terminal is left.
        Some(Errno::NOSPC) => {
            format!("the system is out of terminals ({error}); end other commands")
        }
        Some(Errno::AGAIN) => format!(
            "the system is out of processes ({error}); end others or raise the limit (`ulimit -u`)"
        ),
        _ => format!("{error}; see the log (:Acp log)"),
    };
    program.failure(&why)
}

/// Why a program was not found.
#[derive(Debug, PartialEq, Eq)]
enum Missing {
    Empty,
    NotOnPath,
    NoFile(PathBuf),
    Folder(PathBuf),
    NotExecutable(PathBuf),
}

impl Missing {
    fn words(&self, program: &Program<'_>) -> String {
        let (key, other) = match program.purpose {
            Purpose::Agent(name) => {
                let key = format!("agents.{name}.command");
                let other = format!("set {key}");
                (key, other)
            }
            Purpose::Terminal => ("it".to_owned(), "name another program".to_owned()),
        };
        match self {
            Missing::Empty => format!("{key} is empty; set it to a program"),
            Missing::NotOnPath => {
                format!(
                    "`{}` is not on PATH; install it or {other}",
                    program.command
                )
            }
            Missing::NoFile(path) => {
                format!("`{}` does not exist; install it or {other}", path.display())
            }
            Missing::Folder(path) => format!("`{}` is a folder; {other}", path.display()),
            Missing::NotExecutable(path) => format!(
                "`{0}` is not executable; run `chmod +x {0}` or {other}",
                path.display()
            ),
        }
    }
}

/// Resolves a program as a shell in `cwd` would: a bare name along `path`, anything with a `/` as a
/// path.
fn find(command: &str, path: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, Missing> {
    if command.is_empty() {
        return Err(Missing::Empty);
    }
    if command.contains('/') {
        return executable(cwd.join(command));
    }
    // The C library's default when PATH is unset.
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let mut refused = None;
    for folder in path.as_bytes().split(|&b| b == b':') {
        // An empty entry means the current folder; a relative entry is relative to it.
        let file = cwd.join(OsStr::from_bytes(folder)).join(command);
        match executable(file) {
            Ok(file) => return Ok(file),
            Err(why @ Missing::NotExecutable(_)) => refused = refused.or(Some(why)),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or(Missing::NotOnPath))
}

fn executable(file: PathBuf) -> Result<PathBuf, Missing> {
    let Ok(meta) = std::fs::metadata(&file) else {
        return Err(Missing::NoFile(file));
    };
    if meta.is_dir() {
        return Err(Missing::Folder(file));
    }
    match rustix::fs::access(&file, Access::EXEC_OK) {
        Ok(()) => Ok(file),
        Err(_) => Err(Missing::NotExecutable(file)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Resolves `command` in a folder with `bin/tool` (executable), `bin/text` (not executable) and
    /// `late/text` (executable), and compares the path or the error.
    fn check(command: &str, path: Option<&str>, expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cwd = folder.path();
        for (file, mode) in [
            ("bin/tool", 0o755),
            ("bin/text", 0o644),
            ("late/text", 0o755),
        ] {
            let file = cwd.join(file);
            fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
            fs::write(&file, "").expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        let spec = AgentSpec {
            name: "x".to_owned(),
            command: command.to_owned(),
            args: vec![],
            env: vec![],
            cwd: cwd.to_owned(),
            missing_is_empty: false,
            defaults: Default::default(),
            awaits_remembered: false,
        };
        let found = find(command, path.map(OsStr::new), cwd);
        let shown = match &found {
            Ok(path) => Ok(path.display().to_string()),
            Err(why) => Err(why.words(&Program::of_agent(&spec))),
        };
        let root = format!("{}/", cwd.display());
        let shown = shown
            .map(|s| s.replace(&root, ""))
            .map_err(|s| s.replace(&root, ""));
        assert_eq!(
            shown.as_deref().map_err(String::as_str),
            expected,
            "{command} on {path:?}"
        );
    }

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        check("tool", Some("/nowhere:bin"), Ok("bin/tool"));
        check("bin/tool", None, Ok("bin/tool"));
        check("./bin/tool", None, Ok("./bin/tool"));
        assert!(find("sh", None, Path::new("/")).is_ok());
        // A file without execute permission does not hide an executable one further along PATH.
        check("text", Some("bin:late"), Ok("late/text"));
    }

    #[test]
    fn a_missing_program_is_reported_with_the_next_step() {
        check(
            "",
            None,
            Err("agents.x.command is empty; set it to a program"),
        );
        check(
            "tool",
            Some("/nowhere"),
            Err("`tool` is not on PATH; install it or set agents.x.command"),
        );
        check(
            "text",
            Some("bin"),
            Err("`bin/text` is not executable; run `chmod +x bin/text` or set agents.x.command"),
        );
        check(
            "bin/none",
            None,
            Err("`bin/none` does not exist; install it or set agents.x.command"),
        );
        check(
            "./bin",
            None,
            Err("`./bin` is a folder; set agents.x.command"),
        );
    }

    #[test]
    fn a_system_error_is_reported_with_the_next_step() {
        let spec = TerminalSpec {
            command: "make \nall".to_owned(),
            args: vec![],
            env: vec![],
            cwd: "/".into(),
            columns: 80,
            rows: 24,
        };
        let check = |errno: Errno, expected: &str| {
            let why = start_failure(&Program::of_terminal(&spec), &errno.into());
            let shown = why.strip_prefix("The command `make …` could not be run: ");
            let number = errno.raw_os_error();
            let expected = expected.replace("ERROR", &format!("os error {number}"));
            assert_eq!(shown, Some(expected.as_str()), "{why}");
        };
        check(
            Errno::MFILE,
            "too many files are open (Too many open files (ERROR)); end other commands or raise \
             the limit (`ulimit -n`).",
        );
        check(
            Errno::NOSPC,
            "the system is out of terminals (No space left on device (ERROR)); end other commands.",
        );
        check(
            Errno::AGAIN,
            "the system is out of processes (Resource temporarily unavailable (ERROR)); end \
             others or raise the limit (`ulimit -u`).",
        );
        check(
            Errno::IO,
            "Input/output error (ERROR); see the log (:Acp log).",
        );
    }
}
