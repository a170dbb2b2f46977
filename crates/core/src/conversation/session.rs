//! A session, its turn, and its phase.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::conversation::clock::Clock;
use crate::conversation::compaction::Compactions;
use crate::conversation::composer::Attached;
use crate::conversation::history::state::Keeping;
use crate::conversation::login::Login;
use crate::conversation::opening::Opening;
use crate::conversation::options::Options;
use crate::conversation::outside::Outside;
use crate::conversation::queue::Queue;
use crate::conversation::reach::Reach;
use crate::conversation::transcript::{Entry, Transcript};
use crate::conversation::usage::Usage;
use crate::questions::permission::Decision;
use crate::spine::effect::Level;
use crate::spine::event::{AgentSpec, Origin, Prompt};
use crate::spine::ids::{AgentKey, QuestionId};
use crate::workspace::Folders;
use acp::{self, CompactionPatch, Role, SessionId, Severity, ToolCallId, ToolStatus, Update};

/// The maximum length of a session's title, in characters: it is published with each snapshot.
const TITLE: usize = 500;

#[derive(Debug)]
pub struct Session {
    pub(super) spec: AgentSpec,
    pub(super) roots: Vec<PathBuf>,
    /// The root of its project.
    pub(super) project: PathBuf,
    /// The process that serves it; `None` if that has ended.
    pub(super) agent: Option<AgentKey>,
    /// The agent's id for it, kept while no process serves it.
    pub(super) id: Option<SessionId>,
    /// It has a separate process.
    pub(super) is_alone: bool,
    pub(super) login: Login,
    pub(super) reach: Reach,
    pub(super) opening: Opening,
    pub(super) transcript: Transcript,
    /// The entries of open questions about calls whose id names another call by now.
    pub(super) apart: BTreeMap<QuestionId, usize>,
    pub(super) history: Keeping,
    pub(super) turn: Option<Turn>,
    pub(super) outside: Outside,
    /// Prompts that wait for the session to be ready or for the turn to end.
    pub(super) queue: Queue,
    /// The transcript entry that shows the rejections to report with the next prompt.
    pub(super) along: Option<usize>,
    /// The attachments of the next prompt.
    pub(super) attached: Attached,
    pub(super) stop_reason: Option<String>,
    pub(super) options: Options,
    pub(super) title: Option<String>,
    pub(super) compactions: Compactions,
    pub(super) usage: Option<Usage>,
    pub(super) commands: Arc<[acp::Command]>,
}

/// A prompt and the agent's answer.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) stage: TurnStage,
    pub(super) cancelled: bool,
    /// The agent has sent output: a chunk, a tool call or a plan.
    pub(super) spoke: bool,
    pub(super) clock: Clock,
    /// The expected echo of the prompt; `None` once other text in the user's name has arrived.
    pub(super) echo: Option<Echo>,
    /// It has taken words, and the agent has sent no output after them.
    pub(super) is_unheeded: bool,
    /// The message that the agent was writing when the turn took the last words.
    pub(super) begun: Option<String>,
}

/// The event a turn waits for.
#[derive(Debug)]
pub(super) enum TurnStage {
    /// A checkpoint; then the prompt is sent.
    Checkpoint(Box<Prompt>),
    /// The answer to this request.
    Answer(u64),
}

/// A prompt that the agent may echo: the part still expected, and the part removed so far.
#[derive(Debug)]
pub(super) struct Echo {
    pub rest: String,
    pub taken: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Starting,
    Idle,
    Running,
    /// A question or a log-in waits for the user.
    Waiting,
    Dead,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Starting => "starting",
            Phase::Idle => "idle",
            Phase::Running => "running",
            Phase::Waiting => "waiting",
            Phase::Dead => "dead",
        }
    }
}

impl Session {
    pub fn new(
        spec: AgentSpec,
        roots: Vec<PathBuf>,
        project: PathBuf,
        origin: Origin,
        reach: Reach,
    ) -> Self {
        let options = Options::with(&spec.defaults, spec.awaits_remembered);
        Self {
            spec,
            roots,
            project,
            agent: None,
            is_alone: false,
            opening: Opening::of(&origin),
            id: match origin {
                Origin::New => None,
                Origin::Past { id } => Some(id),
            },
            login: Login::default(),
            reach,
            transcript: Transcript::default(),
            apart: BTreeMap::new(),
            history: Keeping::default(),
            turn: None,
            outside: Outside::default(),
            queue: Queue::default(),
            along: None,
            attached: Attached::default(),
            stop_reason: None,
            options,
            title: None,
            compactions: Compactions::default(),
            usage: None,
            commands: Arc::default(),
        }
    }

    /// Returns its agent's name in the configuration.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    #[cfg(test)]
    pub(crate) fn spec(&self) -> &AgentSpec {
        &self.spec
    }

    /// Returns the folder its agent works in.
    pub fn cwd(&self) -> &Path {
        &self.spec.cwd
    }

    pub fn agent(&self) -> Option<AgentKey> {
        self.agent
    }

    pub fn is_served_by(&self, agent: AgentKey) -> bool {
        self.agent == Some(agent)
    }

    pub fn id(&self) -> Option<&SessionId> {
        self.id.as_ref()
    }

    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the agent's title, or the beginning of the first prompt.
    pub fn topic(&self) -> Option<&str> {
        let first = || {
            let mut entries = self.transcript.entries().iter();
            entries
                .find_map(|entry| match entry {
                    Entry::User(message) => message.markdown.text().lines().next(),
                    _ => None,
                })
                .map(|line| {
                    line.char_indices()
                        .nth(TITLE)
                        .map_or(line, |(end, _)| &line[..end])
                })
        };
        self.title().or_else(first)
    }

    pub fn stop_reason(&self) -> Option<&str> {
        self.stop_reason.as_deref()
    }

    pub fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    pub fn commands(&self) -> &Arc<[acp::Command]> {
        &self.commands
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) fn queue_mut(&mut self) -> &mut Queue {
        &mut self.queue
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub(crate) fn transcript_mut(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// Returns the transcript with the folder from which it shows paths.
    pub(crate) fn transcript_in_cwd(&mut self) -> (&mut Transcript, &Path) {
        (&mut self.transcript, &self.spec.cwd)
    }

    pub fn needs_login(&self) -> bool {
        self.login.is_needed
    }

    pub(crate) fn notice(&mut self, level: Level, text: impl Into<String>) {
        self.transcript.notice(level, text);
    }

    /// Returns the session's phase; `is_asked` says whether a question of it waits for the user.
    pub fn phase(&self, is_asked: bool) -> Phase {
        if self.history.is_looked_for {
            Phase::Starting
        } else if self.agent.is_none() {
            Phase::Dead
        } else if is_asked || self.login.is_needed {
            Phase::Waiting
        } else if self.is_in_turn() {
            Phase::Running
        } else if !self.opening.is_open() {
            Phase::Starting
        } else {
            Phase::Idle
        }
    }

    /// Applies the part of an update that concerns nothing but the session.
    pub(crate) fn apply(&mut self, update: Update) {
        match update {
            Update::Chunk {
                role,
                message,
                parent,
                content,
            } => {
                let content = match role {
                    Role::User if parent.is_none() => self.not_echoed(content),
                    _ => Some(content),
                };
                if let Some(content) = content {
                    self.transcript.chunk(role, message, parent, &content);
                }
            }
            Update::Mode(mode) => self.options.mode_is(mode),
            Update::ConfigOptions(options) => self.options.config_is(options),
            Update::Info { title } => {
                if let Some(title) = title {
                    let title: String = title.chars().take(TITLE).collect();
                    self.title = (!title.is_empty()).then_some(title);
                }
            }
            Update::Active(is_active) => self.outside.is_active = is_active,
            Update::Usage { used, size, cost } => {
                // It is the whole session's: a report without it leaves it as it is.
                let cost = cost.or_else(|| self.usage.take()?.cost);
                self.usage = Some(Usage { used, size, cost });
            }
            Update::Notice { severity, text } => {
                let level = match severity {
                    Severity::Info => Level::Info,
                    Severity::Warning => Level::Warn,
                    Severity::Error => Level::Error,
                };
                self.transcript.notice(level, text);
            }
            Update::Compaction(patch) => self.compact(patch),
            Update::Unknown { kind, raw } => {
                self.transcript.push(Entry::Unknown { kind, raw });
            }
            Update::Commands(commands) => self.commands = commands.into(),
            // These concern other rooms, or were translated when they arrived.
            Update::ToolCall(_)
            | Update::Plan(_)
            | Update::SubAgent(_)
            | Update::SessionMessage(_)
            | Update::SessionMessageChunk { .. } => {}
        }
    }

    /// Records that the agent compacted its context.
    pub(crate) fn compact(&mut self, patch: CompactionPatch) {
        self.compactions.merge(patch, &mut self.transcript);
    }

    /// Drops what the session expects from a process that has stopped serving it. A prompt that was
    /// not sent returns to the queue.
    pub(crate) fn leave_agent(&mut self) {
        self.agent = None;
        self.outside.is_active = false;
        self.forget_outside_calls();
        self.queue.keep_sent(None);
        self.opening.close();
        self.replay_was_cut();
        self.login.reset();
        self.transcript.cancel_tools();
        self.compactions.end(&mut self.transcript);
        if let Some(prompt) = self.outgoing_mut() {
            let prompt = std::mem::take(prompt);
            self.queue.push_front(prompt);
        }
    }

    /// Lets the next message about a tool call begin a new entry, because its agent reuses the id.
    /// The open question about the call so far, if any, stays with its entry.
    pub(crate) fn begin_anew(&mut self, tool: &ToolCallId, open: Option<QuestionId>) {
        let entry = self.transcript.begin_anew(tool);
        self.apart.extend(open.zip(entry));
    }

    /// Shows and records the decision about a permission.
    pub(crate) fn decided(&mut self, decision: Decision) {
        let apart = self.apart.remove(&decision.id);
        let entry = match decision.is_apart {
            true => apart,
            false => self.transcript.entry_of(&decision.tool),
        };
        let known = self.transcript.find_tool(&decision.tool);
        let tool = known.map_or(decision.tool, |known| known.id.clone());
        if let Some(told) = decision.told {
            let text = told.text(known);
            self.transcript.notice(Level::Info, text);
        }
        let to = decision.is_allowed.map(|is_allowed| match is_allowed {
            true => ToolStatus::InProgress,
            false => ToolStatus::Rejected,
        });
        if let Some((entry, to)) = entry.zip(to) {
            self.transcript.decide_tool(entry, to);
        }
        if let (Some(true), Some(mode)) = (decision.is_allowed, &decision.option) {
            self.options.allowed(mode);
        }
        self.history
            .answered(&tool.0, decision.option, decision.rule);
    }

    /// Returns the folders its agent works in.
    pub fn folders(&self) -> Folders {
        Folders {
            cwd: self.spec.cwd.clone(),
            roots: self.roots.clone(),
            project: self.project.clone(),
            missing_is_empty: self.spec.missing_is_empty,
        }
    }

    /// Returns whether a prompt is a command of the agent.
    pub fn is_command(&self, prompt: &Prompt) -> bool {
        let name = prompt.text.strip_prefix('/');
        let name = name.and_then(|text| text.split_whitespace().next());
        name.is_some_and(|name| self.commands.iter().any(|command| command.name == name))
    }
}
