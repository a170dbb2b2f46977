//! Starts Neovim in an environment isolated from the user's.
//!
//! Only `PATH` is inherited. The home and XDG folders are the test's; no config and no other plugin
//! is loaded.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fmt};

use super::procs;
use super::project::Project;

const CHECKOUT: &str = env!("CARGO_MANIFEST_DIR");
const PROXY: &str = env!("CARGO_BIN_EXE_acp-mcp");

/// Starts the Neovim under test in `project`, its processes marked with `mark`.
pub fn spawn(project: &Project, mark: &str) -> Child {
    let nvim = binary();
    match command(&nvim, project, mark).spawn() {
        Ok(child) => child,
        Err(error) => panic!(
            "{} does not start ({error}): run `make nvim`, or set ACP_TEST_NVIM to a Neovim",
            nvim.display()
        ),
    }
}

fn command(nvim: &Path, project: &Project, mark: &str) -> Command {
    let root = project.root();
    let stderr = File::create(root.join("nvim.stderr")).expect("the file can be made");
    let mut command = match &project.shell {
        None => Command::new(nvim),
        Some(line) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{line}; exec \"$0\" \"$@\"")]);
            shell.arg(nvim);
            shell
        }
    };
    command
        .arg("--embed")
        .arg("--clean")
        .args([
            "--cmd",
            &format!("set shortmess+=I rtp^={}", escape(CHECKOUT)),
        ])
        .args(["--cmd", &format!("lua {}", set_config(project))])
        .args(["--cmd", &format!("lua {REPORT_EVENTS}")])
        .args(project.commands.iter().flat_map(|line| ["--cmd", line]))
        .current_dir(root.join("project"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr);
    set_environment(&mut command, project, mark);
    command
}

/// The plugin's switch that slows its threads down; `make soak` asks for it.
const SLOW: &str = "ACP_TEST_SLOW";

/// In an embedded Neovim, the embedding client's channel is always 1.
const REPORT_EVENTS: &str = "vim.api.nvim_create_autocmd('User', { pattern = 'Acp*', \
    callback = function(event) vim.rpcnotify(1, 'user_event', event.match, event.data) end })";

/// Returns Lua that sets `vim.g.acp`; the config comes from a file, so nothing needs quoting.
fn set_config(project: &Project) -> String {
    let mut config = project.config.clone();
    if config["library"].is_null() {
        config["library"] = library(project).to_string_lossy().into();
    }
    let path = project.root().join("config.json");
    fs::write(&path, config.to_string()).expect("the config can be written");
    format!("vim.g.acp = vim.json.decode(table.concat(vim.fn.readfile({path:?})))")
}

fn set_environment(command: &mut Command, project: &Project, mark: &str) {
    let root = project.root();
    command
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("tmp"))
        .env("XDG_CONFIG_HOME", root.join("config"))
        .env("XDG_DATA_HOME", root.join("data"))
        .env("XDG_STATE_HOME", root.join("state"))
        .env("XDG_CACHE_HOME", root.join("cache"))
        .env("XDG_RUNTIME_DIR", root.join("run"))
        .env("NVIM_LOG_FILE", root.join("nvim.log"))
        .env("LANG", "C.UTF-8")
        .env("TERM", "xterm-256color")
        .env("SHELL", "/bin/sh")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("RUST_BACKTRACE", "1")
        .env(procs::MARK, mark)
        .envs(env::var_os(SLOW).map(|place| (SLOW, place)))
        .envs(project.env.iter().map(|(name, value)| (name, value)));
}

/// Returns the Neovim under test: `ACP_TEST_NVIM`, else the one `make nvim` unpacks.
pub fn binary() -> PathBuf {
    match env::var_os("ACP_TEST_NVIM") {
        Some(path) if !path.is_empty() => path.into(),
        _ => unpacked(),
    }
}

/// Returns the Neovim to start in a terminal: the one under test, unless that is behind a script,
/// where it cannot start itself again as it does there.
pub fn terminal_binary() -> PathBuf {
    let nvim = binary();
    let is_script = fs::read(&nvim).is_ok_and(|bytes| bytes.starts_with(b"#!"));
    if is_script { unpacked() } else { nvim }
}

/// Returns the Neovim that `make nvim` unpacks.
fn unpacked() -> PathBuf {
    built().join("../nvim/bin/nvim")
}

/// Returns a link to the library that Cargo built with this test, with its programs beside it.
///
/// The link points into `deps`: the copy beside that folder is updated only by `cargo build`, so it
/// may be older than the test.
fn library(project: &Project) -> PathBuf {
    let folder = project.root().join("lib");
    let name = format!("libacp_nvim{}", env::consts::DLL_SUFFIX);
    let library = folder.join(&name);
    if !folder.exists() {
        fs::create_dir(&folder).expect("the folder can be made");
        symlink(built().join("deps").join(&name), &library).expect("the link is new");
        for name in ["acp-tutor", "acp-agui"] {
            symlink(agent(name), folder.join(name)).expect("the link is new");
        }
        symlink(PROXY, folder.join("acp-mcp")).expect("the link is new");
    }
    library
}

/// Returns the path of a program of the package `acp-agents`.
///
/// # Panics
/// When it has not been built: for a test, Cargo builds only the programs of the test's package.
pub fn agent(name: &str) -> PathBuf {
    let program = built().join(name);
    assert!(
        program.exists(),
        "{} is missing: run `cargo build` (with `--release` for the benchmark)",
        program.display()
    );
    program
}

/// Returns the folder Cargo builds into, `target/debug` or the like.
fn built() -> &'static Path {
    Path::new(PROXY).parent().expect("a program is in a folder")
}

/// Escapes a path for use in `:set`.
fn escape(path: impl fmt::Display) -> String {
    let path = path.to_string();
    path.replace('\\', r"\\")
        .replace(',', r"\,")
        .replace(' ', r"\ ")
}

/// Returns the folder of this package.
pub fn checkout() -> &'static Path {
    Path::new(CHECKOUT)
}

/// Runs a script of `tools` that installs something, and returns the path it prints.
pub fn installed(script: &str) -> String {
    let output = Command::new("sh")
        .arg(checkout().join("tools").join(script))
        .output()
        .expect("sh runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let path = String::from_utf8(output.stdout).expect("a path in UTF-8");
    path.trim().to_owned()
}
