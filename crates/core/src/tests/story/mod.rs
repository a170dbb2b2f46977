//! A random story: carries out its steps, and tracks the user's lines that must survive it.

mod agent;
mod rest;
mod tools;
mod user;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::conversation::session::Session;
use crate::event::Event;
use crate::spine::effect::{EditorEffect, HostEffect};
use crate::spine::event::{ListEvent, ReviewAction, Scope, UndoStep};
use crate::spine::ids::{AgentKey, BufId, SessionKey, TerminalKey};
use crate::spine::project::FileState;
use crate::tests::agent::Life;
use crate::tests::editor::Travel;
use crate::tests::steps::{Can, Step};
use crate::tests::world::{FRAME, Part, S1, World};
use crate::text::LineEdit;
use crate::workspace::fileops::{Author, LaneId};
use crate::workspace::jobs::ReadJob;
use crate::workspace::reviews::FileReview;

/// The files of a story; the last one does not exist at first.
const FILES: [&str; 3] = ["/p/f", "/p/dos", "/p/new"];

/// A link to the first file, which agents may use.
const LINK: &str = "/p/link";

/// A file as an agent had seen it, and the text it wants to write.
type Proposal = (Option<Vec<String>>, Vec<String>);

/// A world and the state of its random story.
pub struct Story {
    pub w: World,
    /// Agents also use the link to the first file.
    has_link: bool,
    /// The text that an agent last read or wrote, by session and file.
    seen: BTreeMap<(String, usize), Vec<String>>,
    /// Pending reads of whole files, by request id.
    reading: BTreeMap<String, (String, usize)>,
    /// Lines the user typed and has not deleted, by file.
    typed: BTreeMap<usize, BTreeSet<String>>,
    /// Other programs' lines, and those of accepted offers, that count as the agent's, wherever they
    /// appear later.
    late: BTreeSet<String>,
    /// Other programs' lines that a message to the user has covered, by file.
    told: BTreeMap<usize, BTreeSet<String>>,
    /// The number of lines of the log that were searched for warnings.
    searched: usize,
    /// The agent's last proposals, by session and file.
    proposed: BTreeMap<(String, usize), Proposal>,
    /// The user has accepted something.
    has_accepted: bool,
    /// Changes on disk are an agent's.
    has_window: bool,
    ids: u32,
    lines: u32,
    sessions: u32,
    /// The last tool call of each slot.
    tools: [u64; 3],
    /// The sessions of the calls in the slots that have begun.
    tools_of: [SessionKey; 3],
    uses: u64,
}

impl Story {
    /// A story with an agent that has this ability.
    pub fn new(can: Can, journal: bool) -> Self {
        let mut w = World::new();
        w.abilities = match can {
            Can::Forget => json!({}),
            Can::Load => json!({ "loadSession": true, "sessionCapabilities": { "close": {} } }),
            Can::Resume => json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } }),
        };
        w.has_tools();
        w.opens(1, "bot");
        w.skip();
        w.journal = journal.then(Vec::new);
        w.disk.put(FILES[0], "a\nb\nc\nd\ne\nf\n");
        w.disk.put(FILES[1], "one\r\ntwo\r\nthree");
        w.settle();
        for part in [
            Part::Agents,
            Part::Disk,
            Part::Editor,
            Part::Colours,
            Part::Shadow,
            Part::Terminals,
            Part::Watcher,
        ] {
            w.holds(part);
        }
        Self {
            w,
            has_link: false,
            seen: BTreeMap::new(),
            reading: BTreeMap::new(),
            typed: BTreeMap::new(),
            late: BTreeSet::new(),
            told: BTreeMap::new(),
            searched: 0,
            proposed: BTreeMap::new(),
            has_accepted: false,
            has_window: false,
            ids: 100,
            lines: 0,
            sessions: 1,
            tools: [0; 3],
            tools_of: [S1; 3],
            uses: 0,
        }
    }

    /// Lets agents also use the link to the first file.
    pub fn links(&mut self) {
        self.has_link = true;
        self.w.disk.link(LINK, FILES[0]);
    }

    /// Returns the review of a file.
    fn review_of(&self, file: usize) -> Option<&FileReview> {
        let reviews = self.w.model.workspace.reviews();
        reviews.get(Path::new(FILES[file]))
    }

    /// Returns the current session, its agent and its id.
    fn session(&self) -> (SessionKey, AgentKey, String) {
        let last = self.w.model.conversation.sessions().last();
        let key = last.map_or(S1, |(key, _)| key);
        let session = self.w.model.conversation.session(key);
        let last = self.w.agents.keys().next_back().copied();
        let agent = session.and_then(Session::agent).or(last);
        let id = session.and_then(Session::id);
        let id = id.map_or("s1".to_owned(), |id| id.0.to_string());
        (key, agent.unwrap_or(AgentKey(1)), id)
    }

    fn is_dead(&self, agent: AgentKey) -> bool {
        let life = self.w.agents[&agent].life;
        life == Life::Gone || life == Life::Starting
    }

    fn update(&mut self, update: Value) {
        let (_, agent, id) = self.session();
        if !self.is_dead(agent) {
            let params = json!({ "sessionId": id, "update": update });
            self.w.notifies(agent, "session/update", &params);
        }
    }

    /// The agent makes a request; returns its raw id.
    fn ask(&mut self, id: u32, method: &str, mut params: Value) -> Option<String> {
        let (_, agent, session) = self.session();
        if self.is_dead(agent) {
            return None;
        }
        params["sessionId"] = json!(session);
        if self.has_link && id.is_multiple_of(2) && params["path"] == FILES[0] {
            params["path"] = json!(LINK);
        }
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.w.prints(agent, &line.to_string());
        Some(id.to_string())
    }

    fn new_line(&mut self, who: &str) -> String {
        self.lines += 1;
        format!("{who}{}", self.lines)
    }

    fn buf(&self, file: usize) -> Option<BufId> {
        self.w.editor.find(&PathBuf::from(FILES[file]))
    }

    fn buffer_lines(&self, file: usize) -> BTreeSet<String> {
        let buf = self.buf(file);
        let text = buf.map(|buf| self.w.editor.buffers[&buf].text.clone());
        let text = text.unwrap_or_default();
        text.to_lines(0..text.len()).into_iter().collect()
    }

    fn disk_lines(&self, file: usize) -> BTreeSet<String> {
        let text = self.w.disk.get(FILES[file]).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn base_lines(&self, file: usize) -> BTreeSet<String> {
        let review = self.review_of(file);
        let base = review.map(|review| review.ledger.base().clone());
        let base = base.unwrap_or_default();
        base.to_lines(0..base.len()).into_iter().collect()
    }

    /// Runs an action of the user; lines it deletes are not lost, lines it restores must survive.
    fn willed(
        &mut self,
        file: usize,
        lines: fn(&Self, usize) -> BTreeSet<String>,
        act: impl FnOnce(&mut Self),
    ) {
        let before = (lines(self, file), self.base_lines(file));
        act(self);
        let after = (lines(self, file), self.base_lines(file));
        let typed = self.typed.entry(file).or_default();
        // A line that an agent deleted stays in the base until the user accepts the deletion.
        typed.retain(|line| after.0.contains(line) || !before.0.contains(line));
        typed.retain(|line| after.1.contains(line) || !before.1.contains(line));
        let (before, after) = (before.0, after.0);
        let is_users = |line: &&String| line.starts_with(['u', 'x']) && !self.late.contains(*line);
        typed.extend(after.difference(&before).filter(is_users).cloned());
    }

    fn is_review(&self, lane: Option<LaneId>) -> bool {
        lane.is_some_and(|lane| self.w.model.workspace.fileops().is_review(lane))
    }

    /// Returns the lane of an operation on disk.
    fn lane_of(&self, operation: &HostEffect) -> Option<LaneId> {
        let jobs = self.w.model.workspace.jobs();
        match operation {
            HostEffect::ReadDisk { token, .. } => match jobs.reads.get(*token)? {
                ReadJob::Operation(lane) => Some(*lane),
                _ => None,
            },
            HostEffect::WriteDisk { token, .. }
            | HostEffect::DeleteDisk { token, .. }
            | HostEffect::Restore { token, .. }
            | HostEffect::MoveDisk { token, .. } => jobs.writes.get(*token).copied(),
            _ => None,
        }
    }

    /// Counts as the agent's the lines of an accepted offer that the next edit brings into a buffer,
    /// also those that the user had typed and deleted before: an undo of the turn takes them away.
    fn note_taken(&mut self, file: usize) {
        if let Some(EditorEffect::Edit { token, edits, .. }) = self.w.to_editor.front()
            && self.w.model.workspace.author_of(*token) == Author::Taken
        {
            let there = self.buffer_lines(file);
            let taken = edits.iter().flat_map(|edit| edit.lines.clone());
            let taken: Vec<String> = taken.filter(|line| !there.contains(line)).collect();
            let typed = self.typed.entry(file).or_default();
            typed.retain(|line| !taken.contains(line));
            self.late.extend(taken);
        }
    }

    pub fn editor_moves(&mut self) {
        let next = match self.w.to_editor.front() {
            Some(EditorEffect::Edit { token, buf, .. }) => {
                let lane = self.w.model.workspace.jobs().edits.get(*token).copied();
                self.is_review(lane).then_some(*buf)
            }
            _ => None,
        };
        let path = next.and_then(|buf| self.w.editor.buffers.get(&buf));
        let path = path.map(|buffer| buffer.path.clone());
        match path.and_then(|path| FILES.iter().position(|file| path == PathBuf::from(file))) {
            Some(file) => {
                self.note_taken(file);
                self.willed(file, Self::buffer_lines, |life| {
                    life.w.editor_moves();
                });
            }
            None => {
                self.w.editor_moves();
            }
        }
        self.w.settle();
    }

    pub fn disk_moves(&mut self, file: usize) {
        if self.w.resolves() {
            return self.w.settle();
        }
        let path = match self.has_link && file == 1 {
            true => PathBuf::from(LINK),
            false => PathBuf::from(FILES[file]),
        };
        let file = if self.has_link { 0 } else { file };
        let work = |life: &mut Self| {
            let event = life.w.disk.work(&path);
            event.into_iter().for_each(|event| life.w.happens(event));
        };
        let next = self.w.disk.next(&path);
        match self.is_review(next.and_then(|next| self.lane_of(next))) {
            true => self.willed(file, Self::disk_lines, work),
            false => work(self),
        }
    }

    pub fn live(&mut self, step: &Step) {
        match step {
            Step::Chunk(role, text) => self.update(json!({
                "sessionUpdate": role,
                "content": { "type": "text", "text": text },
            })),
            Step::Update(update) => self.update(update.clone()),
            Step::Print(line) => {
                let agent = self.session().1;
                if !self.is_dead(agent) {
                    self.w.prints(agent, line);
                }
            }
            Step::Ask(id, tool) => {
                let options = json!([
                    { "optionId": "y", "name": "Yes", "kind": "allow_once" },
                    { "optionId": "n", "name": "No", "kind": "reject_once" },
                ]);
                let params = json!({ "toolCall": { "toolCallId": tool }, "options": options });
                self.ask(*id, "session/request_permission", params);
            }
            Step::Elicit(id, mode) => {
                let properties = json!({ "a": { "type": "string" } });
                let params = json!({
                    "mode": mode, "message": "?", "url": "https://x/", "elicitationId": "e",
                    "requestedSchema": { "properties": properties },
                });
                self.ask(*id, "elicitation/create", params);
            }
            Step::TakeBack(id) => {
                // A question or a read; the agent would believe that a cancelled write took effect.
                let read = self.reading.keys().next_back();
                let read = read.and_then(|id| id.parse().ok());
                let id = read.filter(|_| *id == 3).unwrap_or(*id);
                let agent = self.session().1;
                if !self.is_dead(agent) {
                    let params = json!({ "requestId": id });
                    self.w.notifies(agent, "$/cancel_request", &params);
                }
            }
            Step::Read(file, line, limit) => {
                self.ids += 1;
                let params = json!({ "path": FILES[*file], "line": line, "limit": limit });
                let id = self.ask(self.ids, "fs/read_text_file", params);
                if let (Some(id), None | Some(0..=1), None) = (id, line, limit) {
                    let session = self.session().2;
                    self.reading.insert(id, (session, *file));
                }
            }
            Step::Write(file, places) => self.write(*file, places),
            Step::Propose(file, places) => self.propose(*file, places),
            Step::Carry(file) => {
                let key = (self.session().2, *file);
                // Only if it has seen nothing since; otherwise the write would delete lines it has
                // seen later.
                if let Some((seen, lines)) = self.proposed.remove(&key)
                    && seen.as_ref() == self.seen.get(&key)
                {
                    self.write_lines(key, lines);
                }
            }
            Step::Tool(what, at) => self.tool(what, *at),
            Step::ToolWrite(at, file, places) => self.tool_writes(*at, *file, places),
            Step::Answer(at, kind) => self.answer(*at, *kind),
            Step::Terminal(what, number) => self.asks_of_terminal(what, *number),
            Step::Pty => {
                self.w.pty_moves();
                self.w.settle();
            }
            Step::Prints(at, text) => {
                if let Some(terminal) = self.running(*at) {
                    let event = self.w.pty.prints(terminal, text.as_bytes());
                    event.into_iter().for_each(|event| self.w.happens(event));
                }
            }
            Step::Ends(at) => {
                if let Some(terminal) = self.running(*at) {
                    let event = self.w.pty.ends(terminal, 0);
                    event.into_iter().for_each(|event| self.w.happens(event));
                }
            }
            Step::Editor(moves) => (0..*moves).for_each(|_| self.editor_moves()),
            Step::Disk(file) => self.disk_moves(*file),
            Step::Agents => {
                self.w.agents_move();
                self.w.settle();
            }
            Step::Look => self.w.shadow.looks(&mut self.w.disk),
            Step::Check => {
                self.w.shadow.checks(&mut self.w.disk);
            }
            Step::Tell => {
                let event = self.w.shadow.tells();
                event.into_iter().for_each(|event| self.w.happens(event));
            }
            Step::Time => self.w.time_passes(),
            Step::Crash => {
                let agent = self.session().1;
                if self.w.agents[&agent].life != Life::Gone {
                    self.w.exits(agent, "signal 9", &["oops"]);
                }
            }
            Step::Broken(file, true) => {
                self.w.disk.broken.insert(FILES[*file].into());
            }
            Step::Broken(file, false) => {
                self.w.disk.broken.remove(&PathBuf::from(FILES[*file]));
            }
            Step::User(event) => self.user(event),
            Step::Type(file, start, removed, added) => {
                let lines = (0..*added).map(|_| self.new_line("u")).collect();
                let Some(buf) = self.buf(*file) else { return };
                let len = self.w.editor.buffers[&buf].text.len();
                let edit = LineEdit {
                    start: start % (len + 1),
                    removed: *removed,
                    lines,
                };
                self.willed(*file, Self::buffer_lines, |life| {
                    life.w.edits(|editor, _, out| editor.types(buf, edit, out));
                });
            }
            Step::Foreign(file, start) => self.foreign(*file, *start),
            Step::Shell(file, places) => self.shell(*file, places),
            Step::Whole(file, what) => self.whole(*file, what),
            Step::Buffer(file, what) => self.buffer(*file, what),
        }
        self.note_reads();
        self.note_window();
        self.note_told();
    }
}
