//! From an agent's spec to a command that can be started, or one sentence why not.
//!
//! Invariant: nothing here reads the process's own environment except [`Environment::capture`],
//! because reading it while Neovim's main thread changes it is a data race in the C library.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::Access;

use crate::core::event::AgentSpec;

/// The user's environment as it was when it was last captured; clones share it.
///
/// [`Environment::capture`] and [`Environment::refresh`] belong on Neovim's main thread, which is
/// the one that changes variables (`vim.env`, `:let $X`, direnv plugins): call `refresh` there
/// before an agent is started, so that it sees what the user sees now.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: Arc<Mutex<Variables>>,
}

type Variables = Arc<Vec<(OsString, OsString)>>;

impl Environment {
    /// Returns a copy of the whole environment of this process.
    pub fn capture() -> Self {
        Self::from_variables(std::env::vars_os())
    }

    /// Returns an environment of these variables.
    pub fn from_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = Arc::new(variables.into_iter().collect());
        Self {
            variables: Arc::new(Mutex::new(variables)),
        }
    }

    /// Copies the environment of this process again, for this and every clone.
    pub fn refresh(&self) {
        let fresh = Arc::new(std::env::vars_os().collect());
        *self.lock() = fresh;
    }

    /// Returns whether a variable has this value.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.value(name).is_some_and(|v| v == value)
    }

    /// Returns the value of a variable.
    pub(super) fn value(&self, name: &str) -> Option<OsString> {
        let variables = self.variables();
        let found = variables.iter().rev().find(|(n, _)| n == name);
        found.map(|(_, value)| value.clone())
    }

    /// Returns the value of a variable that is a number.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.value(name)?.to_str()?.parse().ok()
    }

    /// Returns the names of all variables.
    pub(super) fn names(&self) -> Vec<OsString> {
        self.variables()
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn variables(&self) -> Variables {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Variables> {
        self.variables
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the command of `spec`: its program looked up, its own process group, three pipes.
///
/// # Errors
/// A sentence with the next step.
pub(super) fn command(spec: &AgentSpec, environment: &Environment) -> Result<Command, String> {
    let user = environment.variables();
    if !spec.cwd.is_dir() {
        return Err(failure(
            spec,
            &format!(
                "its folder `{}` does not exist; create it or open the chat in another one",
                spec.cwd.display()
            ),
        ));
    }
    let path = variable(spec, &user, "PATH");
    let program =
        find(&spec.command, path, &spec.cwd).map_err(|why| failure(spec, &why.words(spec)))?;
    let mut command = Command::new(program);
    command
        .args(&spec.args)
        .env_clear()
        .envs(user.iter().map(|(name, value)| (name, value)))
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    Ok(command)
}

/// Returns a command of a program on the user's PATH, to be run in `folder` with the user's
/// environment; `None` when there is no such program.
pub(super) fn tool(name: &str, folder: &Path, environment: &Environment) -> Option<Command> {
    let user = environment.variables();
    let path = environment.value("PATH");
    // A relative entry would find a program that the project brings along.
    let nowhere = Path::new("/");
    let mut command = Command::new(find(name, path.as_deref(), nowhere).ok()?);
    command
        .env_clear()
        .envs(user.iter().map(|(name, value)| (name, value)))
        .current_dir(folder);
    Some(command)
}

/// Returns why a command that was found could not be started.
pub(super) fn start_failure(spec: &AgentSpec, error: &io::Error) -> String {
    let program = &spec.command;
    let why = match error.kind() {
        // The file is there (it was looked up), so it is its interpreter that is not.
        io::ErrorKind::NotFound => {
            format!(
                "the interpreter that `{program}` names in its first line does not exist; install it"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!("`{program}` may not be executed ({error}); check its permissions")
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            format!(
                "`{program}` is no program for this machine; if it is a script, give it a `#!` line"
            )
        }
        _ => format!("{error}; see the log (:Acp log)"),
    };
    failure(spec, &why)
}

fn failure(spec: &AgentSpec, why: &str) -> String {
    format!("The agent \"{}\" could not be started: {why}.", spec.name)
}

/// Returns the value of a variable in the environment the agent will have.
fn variable<'a>(
    spec: &'a AgentSpec,
    user: &'a [(OsString, OsString)],
    name: &str,
) -> Option<&'a OsStr> {
    let own = spec.env.iter().rev().find(|(n, _)| n == name);
    let own = own.map(|(_, value)| OsStr::new(value));
    own.or_else(|| {
        let users = user.iter().rev().find(|(n, _)| n == name);
        users.map(|(_, value)| value.as_os_str())
    })
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
    fn words(&self, spec: &AgentSpec) -> String {
        let key = format!("agents.{}.command", spec.name);
        match self {
            Missing::Empty => format!("{key} is empty; set it to a program"),
            Missing::NotOnPath => {
                format!("`{}` is not on PATH; install it or set {key}", spec.command)
            }
            Missing::NoFile(path) => {
                format!(
                    "`{}` does not exist; install it or set {key}",
                    path.display()
                )
            }
            Missing::Folder(path) => {
                format!("`{}` is a folder; set {key} to a program", path.display())
            }
            Missing::NotExecutable(path) => format!(
                "`{0}` is not executable; run `chmod +x {0}` or set {key}",
                path.display()
            ),
        }
    }
}

/// Looks a program up as a shell in `cwd` would: a name along `path`, anything with a `/` as it is.
fn find(command: &str, path: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, Missing> {
    if command.is_empty() {
        return Err(Missing::Empty);
    }
    if command.contains('/') {
        return executable(cwd.join(command));
    }
    // What a C library searches when there is no PATH at all.
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let mut refused = None;
    for folder in path.as_bytes().split(|&b| b == b':') {
        // An empty entry means the current folder, a relative one lies in it.
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

    /// Looks `command` up in a folder that holds `bin/tool` (executable), `bin/text` (not) and
    /// `late/text` (executable), and compares the path in it, or the reason.
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
        };
        let found = find(command, path.map(OsStr::new), cwd);
        let shown = match &found {
            Ok(path) => Ok(path.display().to_string()),
            Err(why) => Err(why.words(&spec)),
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
        // One that may not be executed does not hide a later one that may.
        check("text", Some("bin:late"), Ok("late/text"));
    }

    #[test]
    fn what_is_missing_is_said_with_the_next_step() {
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
            Err("`./bin` is a folder; set agents.x.command to a program"),
        );
    }
}
