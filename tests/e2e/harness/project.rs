//! The starting point of a test: a folder of files, agents with their scripts, a config.
//!
//! Everything is in one temporary folder: `project/` is the working directory; beside it are the
//! home and XDG folders of Neovim and the agents.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::launch::agent;
use super::nvim::Nvim;

/// Builds the files, agents and settings that a test's Neovim starts with.
pub struct Project {
    root: TempDir,
    pub(super) config: Json,
    pub(super) env: Vec<(String, String)>,
    pub(super) commands: Vec<String>,
    pub(super) size: (usize, usize),
    pub(super) shell: Option<String>,
}

impl Project {
    /// Returns an empty project without agents, for a screen of 100 by 30 cells.
    pub fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("acp-")
            .tempdir()
            .expect("a temporary folder can be made");
        let project = Self {
            root,
            config: json!({}),
            env: Vec::new(),
            commands: Vec::new(),
            size: (100, 30),
            shell: None,
        };
        for folder in [
            "project", "home", "tmp", "config", "data", "state", "cache", "run", "agents",
        ] {
            fs::create_dir(project.root().join(folder)).expect("the folder is new");
        }
        project
    }

    /// Adds a file to the working directory, creating its folders as needed.
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        let folder = path.parent().expect("the path is inside the project");
        fs::create_dir_all(folder).expect("the folder can be made");
        fs::write(path, content).expect("the file can be written");
        self
    }

    /// Adds an agent that follows `script`; the first one added is the default agent.
    pub fn agent(self, name: &str, script: &str) -> Self {
        let path = self.root().join("agents").join(format!("{name}.jsonl"));
        fs::write(&path, script).expect("the script can be written");
        let spec = json!({
            "command": agent("acp-scripted"),
            "args": [path],
            "env": { "ACP_SCRIPT_REPORT": self.report_path(name) },
        });
        self.agent_command(name, spec)
    }

    /// Adds an agent with the given entry in the config's `agents`.
    pub fn agent_command(mut self, name: &str, spec: Json) -> Self {
        if self.config["default_agent"].is_null() {
            self.config["default_agent"] = name.into();
        }
        self.config["agents"][name] = spec;
        self
    }

    /// Sets a key of an agent in the config.
    pub fn agent_key(mut self, name: &str, key: &str, value: Json) -> Self {
        self.config["agents"][name][key] = value;
        self
    }

    /// Sets a key of `vim.g.acp`.
    pub fn config(mut self, key: &str, value: Json) -> Self {
        self.config[key] = value;
        self
    }

    /// Sets a variable in Neovim's environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds an Ex command that runs before plugins are loaded, as a user's `init.lua` does.
    pub fn before(mut self, command: &str) -> Self {
        self.commands.push(command.to_owned());
        self
    }

    /// Runs a shell command in the process that becomes Neovim.
    pub fn shell(mut self, command: &str) -> Self {
        self.shell = Some(command.to_owned());
        self
    }

    /// Sets the screen's columns and rows.
    pub fn size(mut self, columns: usize, rows: usize) -> Self {
        self.size = (columns, rows);
        self
    }

    /// Starts Neovim in this project.
    #[track_caller]
    pub fn start(self) -> Nvim {
        Nvim::start(self)
    }

    /// Returns the absolute path of a file of the project.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join("project").join(path)
    }

    /// Returns the content of a file of the project.
    ///
    /// # Panics
    /// When it cannot be read, or is not UTF-8.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        match fs::read_to_string(self.path(path)) {
            Ok(content) => content,
            Err(error) => panic!("{path} cannot be read: {error}"),
        }
    }

    /// Returns the lines a scripted agent has reported so far.
    pub fn report(&self, agent: &str) -> Vec<String> {
        let report = fs::read_to_string(self.report_path(agent)).unwrap_or_default();
        report.lines().map(str::to_owned).collect()
    }

    /// Returns a scripted agent's verdict, once it has one: `ok`, or where its script and the
    /// client differ.
    pub fn verdict(&self, agent: &str) -> Option<String> {
        let verdicts = ["ok", "mismatch:", "script:"];
        let last = self.report(agent).pop()?;
        verdicts
            .iter()
            .any(|verdict| last.starts_with(verdict))
            .then_some(last)
    }

    /// Returns a scripted agent's report of a message after its last step, if there was one.
    pub fn late_mismatch(&self, agent: &str) -> Option<String> {
        let mut lines = self.report(agent).into_iter();
        lines.find(|line| line.starts_with("mismatch: after the last step"))
    }

    /// Returns the folder that holds the project and everything beside it.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    fn report_path(&self, agent: &str) -> PathBuf {
        self.root().join("agents").join(format!("{agent}.report"))
    }
}
