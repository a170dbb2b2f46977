//! One Neovim process: starts it, drives it, waits for it and ends it.

use std::cell::{Cell, RefCell};
use std::process::{Child, ExitStatus};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rmpv::Value;
use serde::Serialize;
use serde_json::Value as Json;

use super::launch;
use super::procs::{self, Process};
use super::project::Project;
use super::rpc::{Client, Flush, RpcError, from_json};
use super::screen::Screen;

/// Default timeout of a request or a wait; far longer than a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(15);
/// Minimum timeout of a request, however late in a wait it is sent.
const LAST: Duration = Duration::from_secs(1);
/// How often a condition is polled when no message arrives.
const POLL: Duration = Duration::from_millis(5);

/// A running Neovim; dropping it ends the process.
pub struct Nvim {
    pub project: Rc<Project>,
    child: Child,
    pub(super) client: Client,
    mark: String,
    /// Deadline of the running wait; requests sent during it share it.
    deadline: Cell<Option<Instant>>,
    /// The scripted agents that have completed their scripts.
    completed: RefCell<Vec<String>>,
    ended: bool,
}

/// A `User Acp*` autocommand that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct UserEvent {
    pub name: String,
    pub data: Json,
}

// Starting.
impl Nvim {
    /// Starts Neovim and waits until it accepts keys.
    #[track_caller]
    pub fn start(project: impl Into<Rc<Project>>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let project = project.into();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{count}", std::process::id());
        let mut child = launch::spawn(&project, &mark);
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = child.stdout.take().expect("it is piped");
        let nvim = Self {
            project,
            child,
            client: Client::new(stdin, stdout),
            mark,
            deadline: Cell::new(None),
            completed: RefCell::default(),
            ended: false,
        };
        nvim.attach();
        nvim
    }

    #[track_caller]
    fn attach(&self) {
        let (columns, rows) = self.project.size;
        let options = ["rgb", "ext_linegrid", "ext_hlstate"].map(|name| (name.into(), true.into()));
        let options = Value::Map(options.into());
        self.request("nvim_ui_attach", vec![columns.into(), rows.into(), options]);
        self.wait("Neovim to be ready", || {
            !self.blocked() && self.lua("return vim.v.vim_did_enter", ()) == 1
        });
    }
}

// Driving.
impl Nvim {
    /// Runs Lua with `args` (a tuple) as its `...`, and returns its result.
    ///
    /// # Panics
    /// When the Lua raises an error, or when Neovim does not answer, for example at a prompt.
    #[track_caller]
    pub fn lua(&self, code: &str, args: impl Serialize) -> Json {
        match self.try_lua(code, args) {
            Ok(result) => result,
            Err(error) => self.fail(&format!("{code}\n{error}")),
        }
    }

    /// Runs Lua as [`Nvim::lua`] does, and returns the error it raises.
    #[track_caller]
    pub fn try_lua(&self, code: &str, args: impl Serialize) -> Result<Json, String> {
        let args = match serde_json::to_value(args).expect("the arguments are plain data") {
            Json::Null => Value::Array(Vec::new()),
            args => from_json(&args),
        };
        self.try_request("nvim_exec_lua", vec![code.into(), args])
    }

    /// Runs an Ex command.
    ///
    /// # Panics
    /// When the command fails.
    #[track_caller]
    pub fn cmd(&self, command: &str) {
        self.request("nvim_command", vec![command.into()]);
    }

    /// Types keys, in the notation of mappings: `ihello<Esc>`.
    ///
    /// Returns once Neovim has queued them; every later request except `screen` is answered after
    /// the keys are processed.
    #[track_caller]
    pub fn keys(&self, keys: &str) {
        let mut rest = keys;
        while !rest.is_empty() {
            let taken = self.request("nvim_input", vec![rest.into()]);
            rest = &rest[taken.as_u64().unwrap_or(0) as usize..];
        }
    }

    /// Types a few keys as [`Nvim::keys`] does, without waiting until Neovim has queued them.
    pub fn input(&self, keys: &str) {
        self.client.notify("nvim_input", vec![keys.into()]);
    }

    /// Presses Ctrl-C as a mapped key: as input it interrupts a Neovim that is not waiting for a
    /// key, which runs no mapping and drops earlier keys.
    #[track_caller]
    pub fn ctrl_c(&self) {
        self.lua(
            "vim.api.nvim_feedkeys(vim.keycode('<C-c>'), 'mt', true)",
            (),
        );
    }

    /// Types text literally: `<` starts no key name.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        self.keys(&text.replace('<', "<lt>").replace('\n', "<CR>"));
    }

    /// Changes the size of the screen.
    #[track_caller]
    pub fn resize(&self, columns: usize, rows: usize) {
        self.request("nvim_ui_try_resize", vec![columns.into(), rows.into()]);
    }
}

// Looking.
impl Nvim {
    /// Returns the screen as of its last flush.
    pub fn screen(&self) -> Screen {
        self.client.screen()
    }

    /// Redraws, and returns the screen.
    #[track_caller]
    pub fn drawn(&self) -> Screen {
        self.lua("vim.cmd.redraw()", ());
        // What a request draws has arrived once the next request is answered.
        self.mode();
        self.screen()
    }

    /// Returns the flushes of the screen, oldest first, without the first `from`.
    pub fn flushes(&self, from: usize) -> Vec<Flush> {
        self.client.flushes(from)
    }

    /// Returns the screen in the form of a snapshot, with the random parts of paths masked.
    pub fn snapshot(&self) -> String {
        let screen = self.screen();
        self.mask(&screen.dump(0..screen.height))
    }

    /// Masks the random part of the temporary folder's name in `text`.
    pub fn mask(&self, text: &str) -> String {
        let name = self.project.root().file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        text.replace(&*name, &format!("acp-{}", "X".repeat(name.len() - 4)))
    }

    /// Returns the lines of a buffer; 0 is the current one.
    #[track_caller]
    pub fn buf_lines(&self, buf: i64) -> Vec<String> {
        let lines = self.lua(
            "return vim.api.nvim_buf_get_lines(..., 0, -1, true)",
            (buf,),
        );
        serde_json::from_value(lines).expect("lines are strings")
    }

    /// Returns the mode, as `nvim_get_mode` names it.
    #[track_caller]
    pub fn mode(&self) -> String {
        let mode = self.request("nvim_get_mode", vec![]);
        mode["mode"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns whether Neovim is blocked at a prompt, where it runs nothing else.
    #[track_caller]
    pub fn blocked(&self) -> bool {
        self.request("nvim_get_mode", vec![])["blocking"] == true
    }

    /// Returns what `:messages` shows.
    #[track_caller]
    pub fn messages(&self) -> String {
        let output = self.lua(
            "return vim.api.nvim_exec2('messages', { output = true }).output",
            (),
        );
        output.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the `User Acp*` autocommands that ran, oldest first.
    pub fn user_events(&self) -> Vec<UserEvent> {
        let events = self.client.notifications("user_event").into_iter();
        events
            .map(|params| UserEvent {
                name: params[0].as_str().unwrap_or_default().to_owned(),
                data: params.get(1).cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// Returns whether this is the version of Neovim that the snapshots of the screen were taken
    /// with: other versions show other marks in their status lines and combine highlights
    /// differently.
    pub fn is_pictured(&self) -> bool {
        self.version() == (0, 11)
    }

    /// Returns Neovim's major and minor version.
    #[track_caller]
    pub fn version(&self) -> (u64, u64) {
        let version = self.lua("return vim.version()", ());
        let part = |name: &str| version[name].as_u64().unwrap_or(0);
        (part("major"), part("minor"))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processes Neovim has started but the watchdog over them, zombies included.
    pub fn children(&self) -> Vec<Process> {
        let mut children = procs::children_of(self.pid());
        children.retain(|child| !child.command.contains("acp-watchdog"));
        children
    }
}

// Waiting.
impl Nvim {
    /// Waits until `condition` holds; a failure names `what` as the thing awaited.
    #[track_caller]
    pub fn wait(&self, what: &str, condition: impl FnMut() -> bool) {
        self.wait_within(PATIENCE, what, condition);
    }

    /// Waits as [`Nvim::wait`] does, with `patience` as the timeout.
    #[track_caller]
    pub fn wait_within(&self, patience: Duration, what: &str, mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + patience;
        let outer = self.deadline.replace(Some(deadline));
        while !condition() {
            if Instant::now() >= deadline {
                self.fail(&format!("timed out after {patience:?} waiting for {what}"));
            }
            self.client.pause(POLL);
        }
        self.deadline.set(outer);
    }

    /// Waits until `text` is on the screen.
    #[track_caller]
    pub fn wait_text(&self, text: &str) {
        self.wait(&format!("{text:?} on the screen"), || {
            self.screen().has(text)
        });
    }

    /// Waits until a scripted agent has completed its script; [`Nvim::quit`] checks that the client
    /// has sent nothing more.
    ///
    /// # Panics
    /// When the client deviates from the script.
    #[track_caller]
    pub fn wait_script(&self, agent: &str) {
        let mut verdict = None;
        self.wait(&format!("the end of the script of {agent}"), || {
            verdict = self.project.verdict(agent);
            verdict.is_some()
        });
        if let Some(verdict) = verdict.filter(|verdict| verdict != "ok") {
            self.fail(&format!("{agent}: {verdict}"));
        }
        self.completed.borrow_mut().push(agent.to_owned());
    }
}

// Ending.
impl Nvim {
    /// Quits, and checks that no process of the test is left, and that no agent got a message after
    /// its script.
    #[track_caller]
    pub fn quit(mut self) {
        let status = self.end();
        if !status.is_some_and(|status| status.success()) {
            self.fail(&format!("Neovim did not quit as it should: {status:?}"));
        }
        self.wait("all processes to end", || {
            procs::marked(&self.mark).is_empty()
        });
        for agent in self.completed.take() {
            if let Some(late) = self.project.late_mismatch(&agent) {
                self.fail(&format!("{agent}: {late}"));
            }
        }
    }

    /// Waits until Neovim has quit by itself, and checks that no process of the test is left.
    #[track_caller]
    pub fn wait_gone(mut self) {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && !self.ended {
            self.ended = matches!(self.child.try_wait(), Ok(Some(_)));
            thread::sleep(POLL);
        }
        assert!(self.ended, "Neovim did not quit\n{}", self.screen().text());
        while Instant::now() < deadline && !procs::marked(&self.mark).is_empty() {
            thread::sleep(POLL);
        }
        assert!(
            procs::marked(&self.mark).is_empty(),
            "a process outlived Neovim"
        );
    }

    /// Kills Neovim's process, as in a crash.
    pub fn kill(&mut self) {
        self.ended = true;
        // The process may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns the living processes of this test, Neovim among them.
    pub fn processes(&self) -> Vec<Process> {
        procs::marked(&self.mark)
    }

    /// Asks Neovim to quit; kills it if it does not.
    fn end(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        if self.is_stuck_at_prompt() {
            self.client
                .notify("nvim_input", vec!["<C-c><C-\\><C-n>".into()]);
        }
        self.client.notify("nvim_command", vec!["qall!".into()]);
        // On a busy machine the kernel may take long to remove its watches, before and after Neovim is
        // a zombie, which has quit.
        while Instant::now() < deadline || !procs::alive(self.pid()) {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.ended = true;
                return Some(status);
            }
            self.client.pause(POLL);
        }
        eprintln!("Neovim does not end:\n{}", procs::threads_of(self.pid()));
        self.kill();
        None
    }

    fn is_stuck_at_prompt(&self) -> bool {
        let mode = self.client.request("nvim_get_mode", vec![], PATIENCE);
        mode.is_ok_and(|mode| mode["blocking"] == true)
    }
}

impl Drop for Nvim {
    fn drop(&mut self) {
        if thread::panicking() {
            self.kill();
        }
        let status = (!self.ended).then(|| self.end());
        for process in self.processes() {
            procs::kill(process.pid);
        }
        if status == Some(None) {
            panic!("Neovim did not quit within {PATIENCE:?} and was killed");
        }
    }
}

// Requests and failures.
impl Nvim {
    #[track_caller]
    fn request(&self, method: &str, params: Vec<Value>) -> Json {
        match self.try_request(method, params) {
            Ok(result) => result,
            Err(error) => self.fail(&format!("{method}: {error}")),
        }
    }

    #[track_caller]
    fn try_request(&self, method: &str, params: Vec<Value>) -> Result<Json, String> {
        let patience = match self.deadline.get() {
            Some(deadline) => deadline.saturating_duration_since(Instant::now()).max(LAST),
            None => PATIENCE,
        };
        match self.client.request(method, params, patience) {
            Ok(result) => Ok(result),
            Err(RpcError::Refused(error)) => Err(error),
            Err(RpcError::Timeout) => {
                self.fail(&format!("{method}: no answer within {patience:?}"))
            }
            Err(RpcError::Closed) => self.fail(&format!("{method}: Neovim has exited")),
        }
    }

    /// Fails the test with a dump of Neovim's state.
    #[track_caller]
    pub fn fail(&self, why: &str) -> ! {
        self.deadline.set(None);
        panic!("{why}\n{}", super::dump::of(self));
    }
}
