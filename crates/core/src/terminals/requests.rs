//! What agents ask of terminals: `terminal/*`, and the answers.
//!
//! Invariant: a request is taken out of where it waits and answered in one step.

use std::path::PathBuf;
use std::sync::Arc;

use super::lines::{command_line, title};
use super::{DEFAULT_LIMIT, MAX_LIMIT, State, Terminal};
use crate::model::Model;
use crate::questions::permission::unknown_session;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::event::{TerminalExit, TerminalSpec};
use crate::spine::ids::{AgentKey, SessionKey, TerminalKey};
use acp::{AgentRequest, RequestId, RpcError, SessionId, TerminalId, client, rpc};

/// The size of a terminal that no window shows: wide, since what is read by agents should not be
/// cut into lines for a screen.
const COLUMNS: u16 = 120;
const ROWS: u16 = 40;

impl Model {
    /// An agent asks something of a terminal.
    pub(crate) fn terminal_request(
        &mut self,
        agent: AgentKey,
        request: RequestId,
        call: AgentRequest,
        fx: &mut Effects,
    ) {
        let done = match call {
            AgentRequest::CreateTerminal {
                session,
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
                    cwd: PathBuf::new(),
                    columns: COLUMNS,
                    rows: ROWS,
                };
                let made = self.terminal_spec(agent, &session, spec, cwd);
                made.map(|(key, spec)| self.create(agent, key, &request, spec, limit, fx))
            }
            AgentRequest::TerminalOutput { session, terminal } => {
                let found = self.asked(agent, &session, &terminal);
                found.map(|key| self.tell_output(agent, &request, key, fx))
            }
            AgentRequest::WaitForTerminalExit { session, terminal } => {
                let found = self.asked(agent, &session, &terminal);
                found.map(|key| {
                    if let Some(terminal) = self.terminals.all.get_mut(&key) {
                        terminal.waiters.push(request.clone());
                    }
                    self.answer_waiters(key, fx);
                })
            }
            AgentRequest::KillTerminal { session, terminal } => {
                let found = self.asked(agent, &session, &terminal);
                found.map(|key| {
                    self.kill_terminal(key, fx);
                    fx.respond(agent, &request, Ok(client::terminal_killed()));
                })
            }
            AgentRequest::ReleaseTerminal { session, terminal } => {
                let found = self.asked(agent, &session, &terminal);
                found.map(|key| {
                    self.kill_terminal(key, fx);
                    self.release(key);
                    fx.respond(agent, &request, Ok(client::terminal_released()));
                })
            }
            _ => Err(RpcError::new(rpc::METHOD_NOT_FOUND, "Method not found")),
        };
        if let Err(error) = done {
            fx.refuse(agent, &request, error);
        }
    }

    /// Finds the session a command is for, and the folder it runs in.
    fn terminal_spec(
        &self,
        agent: AgentKey,
        session: &SessionId,
        spec: TerminalSpec,
        cwd: Option<PathBuf>,
    ) -> Result<(SessionKey, TerminalSpec), RpcError> {
        let key = self.session_of(agent, session);
        let key = key.ok_or_else(|| unknown_session(session))?;
        if !self.is_staying(agent) {
            let why = "the agent is being stopped: nothing is started for it any more";
            return Err(RpcError::new(rpc::REQUEST_CANCELLED, why));
        }
        let own = self.sessions.get(&key).map(|session| &session.spec.cwd);
        let cwd = cwd.or_else(|| own.cloned()).unwrap_or_default();
        if !cwd.is_absolute() {
            let why = format!("params.cwd: \"{}\" is not an absolute path", cwd.display());
            return Err(RpcError::new(rpc::INVALID_PARAMS, why));
        }
        Ok((key, TerminalSpec { cwd, ..spec }))
    }

    /// Starts a command; the request is answered when it runs.
    fn create(
        &mut self,
        agent: AgentKey,
        session: SessionKey,
        request: &RequestId,
        spec: TerminalSpec,
        limit: Option<u64>,
        fx: &mut Effects,
    ) {
        let limit = limit.map_or(DEFAULT_LIMIT, |limit| {
            usize::try_from(limit).map_or(MAX_LIMIT, |limit| limit.min(MAX_LIMIT))
        });
        let command = command_line(&spec.command, &spec.args);
        let mut terminal = Terminal::new(session, self.free_id(session), limit, &spec.cwd);
        terminal.has_process = true;
        terminal.agent = Some(agent);
        terminal.title = title(&command).into();
        terminal.command = command;
        terminal.state = State::Starting;
        terminal.created = Some(request.clone());
        let turn = self.sessions.get(&session).map(|session| &session.turn);
        terminal.is_of_turn = turn.is_some_and(Option::is_some);
        let terminal = self.terminals.insert(terminal);
        fx.push(Effect::Host(HostEffect::StartTerminal { terminal, spec }));
    }

    /// Returns an id for the next terminal that no agent has made up for one of its own.
    fn free_id(&self, session: SessionKey) -> TerminalId {
        let ids = (self.terminals.next + 1..).map(|n| TerminalId(format!("term-{n}").into()));
        let mut free = ids.filter(|id| self.terminals.find(session, id).is_none());
        free.next().unwrap_or_else(|| TerminalId(Arc::from("term")))
    }

    /// Finds the terminal a request is about.
    fn asked(
        &self,
        agent: AgentKey,
        session: &SessionId,
        id: &TerminalId,
    ) -> Result<TerminalKey, RpcError> {
        let key = self.session_of(agent, session);
        let key = key.ok_or_else(|| unknown_session(session))?;
        let found = self.terminals.find(key, id);
        let terminal = found.and_then(|found| self.terminals.all.get(&found));
        let wrong = |why: &str| {
            let why = format!("params.terminalId: {why} \"{}\"", id.0);
            RpcError::new(rpc::INVALID_PARAMS, why)
        };
        match (found, terminal) {
            (Some(found), Some(terminal)) if terminal.agent == Some(agent) => {
                match terminal.is_released {
                    true => Err(wrong("released already:")),
                    false => Ok(found),
                }
            }
            _ => Err(wrong("no terminal")),
        }
    }

    fn tell_output(
        &self,
        agent: AgentKey,
        request: &RequestId,
        key: TerminalKey,
        fx: &mut Effects,
    ) {
        if let Some(terminal) = self.terminals.all.get(&key) {
            let (text, is_cut) = terminal.plain.text();
            let output = client::terminal_output(text, is_cut, terminal.state.exit());
            fx.respond(agent, request, Ok(output));
        }
    }

    /// The agent needs a terminal no more; who waits for its end still hears of it.
    fn release(&mut self, key: TerminalKey) {
        if let Some(terminal) = self.terminals.all.get_mut(&key) {
            terminal.is_released = true;
            if terminal.state.is_over() {
                terminal.plain.shrink();
                self.terminals.tidy();
            }
        }
    }

    pub(super) fn terminal_started(&mut self, key: TerminalKey, fx: &mut Effects) {
        let Some(terminal) = self.terminals.all.get_mut(&key) else {
            // Its session was closed meanwhile.
            fx.push(Effect::Host(HostEffect::KillTerminal { terminal: key }));
            return;
        };
        if terminal.state == State::Starting {
            terminal.state = State::Running;
        }
        if terminal.is_doomed {
            fx.push(Effect::Host(HostEffect::KillTerminal { terminal: key }));
        }
        self.answer_created(key, fx);
    }

    pub(super) fn terminal_failed(&mut self, key: TerminalKey, why: String, fx: &mut Effects) {
        let Some(terminal) = self.terminals.all.get_mut(&key) else {
            return;
        };
        if terminal.state.is_over() {
            return;
        }
        terminal.state = State::Failed(why.clone());
        terminal.is_released = true;
        let (agent, created) = (terminal.agent, terminal.created.take());
        if let (Some(agent), Some(request)) = (agent, created) {
            fx.refuse(agent, &request, RpcError::new(rpc::INTERNAL_ERROR, why));
        }
        self.answer_waiters(key, fx);
        self.terminals.tidy();
    }

    pub(super) fn terminal_exited(
        &mut self,
        key: TerminalKey,
        exit: TerminalExit,
        fx: &mut Effects,
    ) {
        let Some(terminal) = self.terminals.all.get_mut(&key) else {
            return;
        };
        if terminal.state.is_over() {
            return;
        }
        terminal.state = State::Exited(exit);
        terminal.plain.finish();
        let (session, id) = (terminal.session, terminal.id.clone());
        let is_released = terminal.is_released;
        self.terminals.mark(session, &id);
        self.answer_created(key, fx);
        self.answer_waiters(key, fx);
        if is_released {
            self.release(key);
        }
    }

    fn answer_created(&mut self, key: TerminalKey, fx: &mut Effects) {
        if let Some(terminal) = self.terminals.all.get_mut(&key)
            && let (Some(agent), Some(request)) = (terminal.agent, terminal.created.take())
        {
            let created = client::terminal_created(&terminal.id);
            fx.respond(agent, &request, Ok(created));
        }
    }

    /// Answers those who wait for a terminal's end, if it has come.
    fn answer_waiters(&mut self, key: TerminalKey, fx: &mut Effects) {
        let Some(terminal) = self.terminals.all.get_mut(&key) else {
            return;
        };
        let (Some(agent), true) = (terminal.agent, terminal.state.is_over()) else {
            return;
        };
        let waiters = std::mem::take(&mut terminal.waiters);
        if let Some(terminal) = self.terminals.all.get(&key) {
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

    /// Ends a session's terminals, for its agent goes: who waits is answered at once.
    pub(crate) fn end_terminals(&mut self, session: SessionKey, fx: &mut Effects) {
        for key in self.terminals.of(session) {
            self.kill_terminal(key, fx);
            self.terminals.end_told(key);
            let Some(terminal) = self.terminals.all.get_mut(&key) else {
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

    /// An agent takes back a request; if it waits for a terminal's end, it waits no more.
    pub(crate) fn waiter_cancelled(
        &mut self,
        agent: AgentKey,
        request: &RequestId,
        fx: &mut Effects,
    ) {
        let mut all = self.terminals.all.values_mut();
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
