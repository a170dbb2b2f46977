//! Handles and answers agents' `terminal/*` requests.
//!
//! Invariant: a pending request is removed and answered in one step.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lines::{command_line, title};
use super::{CommandState, DEFAULT_LIMIT, MAX_LIMIT, Terminal, Terminals};
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::event::{TerminalExit, TerminalSpec};
use crate::spine::ids::{AgentKey, SessionKey, TerminalKey};
use acp::{RequestId, RpcError, TerminalCall, TerminalId, client, rpc};

/// The size of a terminal not shown in a window: wide, so that output read by agents is not wrapped
/// for a screen.
const COLUMNS: u16 = 120;
const ROWS: u16 = 40;

/// An agent's request about a session's terminals, with the session's state.
#[derive(Debug)]
pub struct Caller<'a> {
    pub agent: AgentKey,
    pub request: &'a RequestId,
    pub session: SessionKey,
    /// Default folder of commands.
    pub folder: &'a Path,
    /// The agent is being stopped and cannot start commands.
    pub is_leaving: bool,
    /// A turn of the session is running.
    pub is_in_turn: bool,
}

impl Caller<'_> {
    /// Returns the folder a command runs in.
    fn place(&self, cwd: Option<PathBuf>) -> Result<PathBuf, RpcError> {
        if self.is_leaving {
            let why = "the agent is being stopped: no command is started for it";
            return Err(RpcError::new(rpc::REQUEST_CANCELLED, why));
        }
        let cwd = cwd.unwrap_or_else(|| self.folder.to_owned());
        if !cwd.is_absolute() {
            let why = format!("params.cwd: \"{}\" is not an absolute path", cwd.display());
            return Err(RpcError::new(rpc::INVALID_PARAMS, why));
        }
        Ok(cwd)
    }
}

impl Terminals {
    /// Handles a request; some are answered only when the command has ended.
    pub(crate) fn request(&mut self, caller: &Caller<'_>, call: TerminalCall, fx: &mut Effects) {
        if let Err(error) = self.call(caller, call, fx) {
            fx.refuse(caller.agent, caller.request, error);
        }
    }

    fn call(
        &mut self,
        caller: &Caller<'_>,
        call: TerminalCall,
        fx: &mut Effects,
    ) -> Result<(), RpcError> {
        let (agent, request) = (caller.agent, caller.request);
        match call {
            TerminalCall::Create {
                command,
                args,
                env,
                cwd,
                limit,
            } => {
                let spec = TerminalSpec {
                    command,
                    args,
                    env,
                    cwd: caller.place(cwd)?,
                    columns: COLUMNS,
                    rows: ROWS,
                };
                self.create(caller, spec, limit, fx);
            }
            TerminalCall::Output(terminal) => {
                let key = self.asked(caller, &terminal)?;
                if let Some(terminal) = self.all.get(&key) {
                    let (text, is_cut) = terminal.plain.text();
                    let output = client::terminal_output(text, is_cut, terminal.state.exit());
                    fx.respond(agent, request, Ok(output));
                }
            }
            TerminalCall::WaitForExit(terminal) => {
                let key = self.asked(caller, &terminal)?;
                if let Some(terminal) = self.all.get_mut(&key) {
                    terminal.waiters.push(request.clone());
                }
                self.answer_waiters(key, fx);
            }
            TerminalCall::Kill(terminal) => {
                let key = self.asked(caller, &terminal)?;
                self.kill(key, fx);
                fx.respond(agent, request, Ok(client::terminal_killed()));
            }
            TerminalCall::Release(terminal) => {
                let key = self.asked(caller, &terminal)?;
                self.kill(key, fx);
                self.release(key);
                fx.respond(agent, request, Ok(client::terminal_released()));
            }
        }
        Ok(())
    }

    /// Starts a command; the request is answered once it runs.
    fn create(
        &mut self,
        caller: &Caller<'_>,
        spec: TerminalSpec,
        limit: Option<u64>,
        fx: &mut Effects,
    ) {
        let session = caller.session;
        let limit = limit.map_or(DEFAULT_LIMIT, |limit| {
            usize::try_from(limit).map_or(MAX_LIMIT, |limit| limit.min(MAX_LIMIT))
        });
        let command = command_line(&spec.command, &spec.args);
        let mut terminal = Terminal::new(session, self.free_id(session), limit, &spec.cwd);
        terminal.has_process = true;
        terminal.agent = Some(caller.agent);
        terminal.title = title(&command).into();
        terminal.command = command;
        terminal.state = CommandState::Starting;
        terminal.created = Some(caller.request.clone());
        terminal.is_of_turn = caller.is_in_turn;
        let terminal = self.insert(terminal);
        fx.push(HostEffect::StartTerminal { terminal, spec });
    }

    /// Returns an unused id for the next terminal: agents can make up ids too.
    fn free_id(&self, session: SessionKey) -> TerminalId {
        let ids = (self.next + 1..).map(|n| TerminalId(format!("term-{n}").into()));
        let mut free = ids.filter(|id| self.find(session, id).is_none());
        free.next().unwrap_or_else(|| TerminalId(Arc::from("term")))
    }

    /// Returns the terminal a request names.
    fn asked(&self, caller: &Caller<'_>, id: &TerminalId) -> Result<TerminalKey, RpcError> {
        let found = self.find(caller.session, id);
        let terminal = found.and_then(|found| self.all.get(&found));
        let wrong = |why: &str| {
            let why = format!("params.terminalId: {why} \"{}\"", id.0);
            RpcError::new(rpc::INVALID_PARAMS, why)
        };
        match (found, terminal) {
            (Some(found), Some(terminal)) if terminal.agent == Some(caller.agent) => {
                match terminal.is_released {
                    true => Err(wrong("released already:")),
                    false => Ok(found),
                }
            }
            _ => Err(wrong("no terminal")),
        }
    }

    /// Marks a terminal as released by the agent; pending requests for its end are still answered.
    fn release(&mut self, key: TerminalKey) {
        if let Some(terminal) = self.all.get_mut(&key) {
            terminal.is_released = true;
            if terminal.state.is_over() {
                terminal.plain.shrink();
                self.tidy();
            }
        }
    }

    pub(super) fn started(&mut self, key: TerminalKey, fx: &mut Effects) {
        let Some(terminal) = self.all.get_mut(&key) else {
            // Its session was closed before the command started.
            fx.push(HostEffect::KillTerminal { terminal: key });
            return;
        };
        if terminal.state == CommandState::Starting {
            terminal.state = CommandState::Running;
        }
        if terminal.is_doomed {
            fx.push(HostEffect::KillTerminal { terminal: key });
        }
        self.answer_created(key, fx);
    }

    pub(super) fn failed(&mut self, key: TerminalKey, why: String, fx: &mut Effects) {
        let Some(terminal) = self.all.get_mut(&key) else {
            return;
        };
        if terminal.state.is_over() {
            return;
        }
        terminal.state = CommandState::Failed(why.clone());
        terminal.is_released = true;
        let (agent, created) = (terminal.agent, terminal.created.take());
        if let (Some(agent), Some(request)) = (agent, created) {
            fx.refuse(agent, &request, RpcError::new(rpc::INTERNAL_ERROR, why));
        }
        self.answer_waiters(key, fx);
        self.tidy();
    }

    pub(super) fn exited(&mut self, key: TerminalKey, exit: TerminalExit, fx: &mut Effects) {
        let Some(terminal) = self.all.get_mut(&key) else {
            return;
        };
        if terminal.state.is_over() {
            return;
        }
        terminal.state = CommandState::Exited(exit);
        terminal.plain.finish();
        let (session, id) = (terminal.session, terminal.id.clone());
        let is_released = terminal.is_released;
        self.mark(session, &id);
        self.answer_created(key, fx);
        self.answer_waiters(key, fx);
        if is_released {
            self.release(key);
        }
    }

    fn answer_created(&mut self, key: TerminalKey, fx: &mut Effects) {
        if let Some(terminal) = self.all.get_mut(&key)
            && let (Some(agent), Some(request)) = (terminal.agent, terminal.created.take())
        {
            let created = client::terminal_created(&terminal.id);
            fx.respond(agent, &request, Ok(created));
        }
    }

    /// Answers the pending requests for a terminal's end, if it has ended.
    fn answer_waiters(&mut self, key: TerminalKey, fx: &mut Effects) {
        let Some(terminal) = self.all.get_mut(&key) else {
            return;
        };
        let (Some(agent), true) = (terminal.agent, terminal.state.is_over()) else {
            return;
        };
        let waiters = std::mem::take(&mut terminal.waiters);
        if let Some(terminal) = self.all.get(&key) {
            let nobody_knows = client::Exit {
                code: None,
                signal: None,
            };
            let exit = terminal.state.exit().unwrap_or(nobody_knows);
            for request in waiters {
                fx.respond(agent, &request, Ok(client::terminal_exited(exit)));
            }
        }
    }

    /// Ends a session's terminals because its agent stops; refuses the pending requests.
    pub(crate) fn end_session(&mut self, session: SessionKey, fx: &mut Effects) {
        for key in self.of(session) {
            self.kill(key, fx);
            self.end_told(key);
            let Some(terminal) = self.all.get_mut(&key) else {
                continue;
            };
            terminal.is_released = true;
            let waiting: Vec<RequestId> = terminal.created.take().into_iter().collect();
            let waiters = std::mem::take(&mut terminal.waiters);
            let Some(agent) = terminal.agent else {
                continue;
            };
            for request in waiting.into_iter().chain(waiters) {
                let why = "the session is over, and its terminals with it";
                let error = RpcError::new(rpc::REQUEST_CANCELLED, why);
                fx.refuse(agent, &request, error);
            }
        }
    }

    /// Answers a cancelled request if it was waiting for a terminal's end.
    pub(crate) fn waiter_cancelled(
        &mut self,
        agent: AgentKey,
        request: &RequestId,
        fx: &mut Effects,
    ) {
        let mut all = self.all.values_mut();
        let waiting = all.find_map(|terminal| {
            let is_it = |waiter: &RequestId| terminal.agent == Some(agent) && waiter == request;
            let at = terminal.waiters.iter().position(is_it)?;
            Some(terminal.waiters.remove(at))
        });
        if let Some(request) = waiting {
            let error = RpcError::new(rpc::REQUEST_CANCELLED, "The request was cancelled");
            fx.refuse(agent, &request, error);
        }
    }
}
