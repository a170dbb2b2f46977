//! A random life: what each step does, and what of the user's must be found at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::agent::Life;
use super::editor::Travel;
use super::steps::Step;
use super::world::{Part, S1, World};
use crate::core::effect::EditorEffect;
use crate::core::event::{Event, ListEvent, ReviewAction, Scope, UndoStep};
use crate::core::ids::{AgentKey, BufId, PermissionId, SessionKey, Token};
use crate::core::model::Job;
use crate::core::text::LineEdit;

/// The files of a random life; the last one does not exist at first.
const FILES: [&str; 3] = ["/p/f", "/p/dos", "/p/new"];

/// What an agent had seen of a file, and what it wants to write.
type Proposal = (Option<Vec<String>>, Vec<String>);

/// A world in which steps happen.
pub struct Story {
    pub w: World,
    /// What the agent last read or wrote in a session.
    seen: BTreeMap<(String, usize), Vec<String>>,
    /// Reads of whole files that wait for an answer.
    reading: BTreeMap<String, (String, usize)>,
    /// Lines the user has typed and not taken away again, by file.
    typed: BTreeMap<usize, BTreeSet<String>>,
    /// What the agent has asked for last, by session and file.
    proposed: BTreeMap<(String, usize), Proposal>,
    ids: u32,
    lines: u32,
    sessions: u32,
}

impl Story {
    pub fn new(journal: bool) -> Self {
        let mut w = World::ready();
        w.journal = journal.then(Vec::new);
        w.disk.put(FILES[0], "a\nb\nc\nd\ne\nf\n");
        w.disk.put(FILES[1], "one\r\ntwo\r\nthree");
        w.settle();
        for part in [
            Part::Agents,
            Part::Disk,
            Part::Editor,
            Part::Languages,
            Part::Shadow,
            Part::Watcher,
        ] {
            w.holds(part);
        }
        Self {
            w,
            seen: BTreeMap::new(),
            reading: BTreeMap::new(),
            typed: BTreeMap::new(),
            proposed: BTreeMap::new(),
            ids: 100,
            lines: 0,
            sessions: 1,
        }
    }

    /// Returns the session that is used, its agent and its id.
    fn session(&self) -> (SessionKey, AgentKey, String) {
        let key = self.w.model.sessions.keys().next_back().copied();
        let key = key.unwrap_or(S1);
        let session = self.w.model.sessions.get(&key);
        let last = self.w.agents.keys().next_back().copied();
        let agent = session.and_then(|session| session.agent).or(last);
        let id = session.and_then(|session| session.id.as_ref());
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
        let review = self.w.model.reviews.get(FILES[file].as_ref());
        let base = review.map(|review| review.ledger.base().clone());
        let base = base.unwrap_or_default();
        base.to_lines(0..base.len()).into_iter().collect()
    }

    /// Does something by the user's will: lines that are gone then are no loss.
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
        // What an agent has deleted is in the base until the user accepts that.
        typed.retain(|line| after.0.contains(line) || !before.0.contains(line));
        typed.retain(|line| after.1.contains(line) || !before.1.contains(line));
        let (before, after) = (before.0, after.0);
        let is_users = |line: &&String| line.starts_with(['u', 'x']);
        typed.extend(after.difference(&before).filter(is_users).cloned());
    }

    fn is_review(&self, token: Token) -> bool {
        let job = self.w.model.jobs.get(token);
        matches!(job, Some(Job::Review(_) | Job::Proposal(_)))
    }

    pub fn editor_moves(&mut self) {
        let next = match self.w.to_editor.front() {
            Some(EditorEffect::Edit { token, buf, .. }) if self.is_review(*token) => Some(*buf),
            _ => None,
        };
        let path = next.and_then(|buf| self.w.editor.buffers.get(&buf));
        let path = path.map(|buffer| buffer.path.clone());
        match path.and_then(|path| FILES.iter().position(|file| path == PathBuf::from(file))) {
            Some(file) => self.willed(file, Self::buffer_lines, |life| {
                life.w.editor_moves();
            }),
            None => {
                self.w.editor_moves();
            }
        }
        self.w.settle();
    }

    pub fn disk_moves(&mut self, file: usize) {
        let path = PathBuf::from(FILES[file]);
        let work = |life: &mut Self| {
            let event = life.w.disk.work(&path);
            event.into_iter().for_each(|event| life.w.happens(event));
        };
        match self
            .w
            .disk
            .next(&path)
            .is_some_and(|token| self.is_review(token))
        {
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
            Step::TakeBack(id) => {
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
                // Only what it had seen then: else it would delete knowingly what has come since.
                if let Some((seen, lines)) = self.proposed.remove(&key)
                    && seen.as_ref() == self.seen.get(&key)
                {
                    self.write_lines(key, lines);
                }
            }
            Step::Answer(at, kind) => self.answer(*at, *kind),
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
    }

    fn note_reads(&mut self) {
        let agent = self.session().1;
        for (id, answer) in &self.w.agents[&agent].answers {
            if let (Some(key), Ok(value)) = (self.reading.remove(id), answer) {
                let text = value["content"].as_str().unwrap();
                let lines = text.lines().map(str::to_owned);
                self.seen.insert(key, lines.collect());
            }
        }
    }

    /// The agent writes what it has seen, with changes at some places.
    ///
    /// It leaves the user's lines alone: what it deletes knowingly is the user's to bring back.
    /// Nor does it overwrite what is there unseen, or before it has the answer to a read.
    fn write(&mut self, file: usize, places: &[(usize, usize, usize)]) {
        let key = (self.session().2, file);
        if let Some(lines) = self.changed(&key, places) {
            self.write_lines(key, lines);
        }
    }

    /// The agent asks to write what it has seen, with changes at some places.
    fn propose(&mut self, file: usize, places: &[(usize, usize, usize)]) {
        let key = (self.session().2, file);
        let Some(lines) = self.changed(&key, places) else {
            return;
        };
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect();
        let old: Option<String> = self.seen.get(&key).map(|lines| text(lines));
        let new: String = text(&lines);
        let diff = json!({ "type": "diff", "path": FILES[file], "oldText": old, "newText": new });
        let tool = json!({ "toolCallId": "p", "content": [diff] });
        let options = json!([
            { "optionId": "y", "name": "Yes", "kind": "allow_once" },
            { "optionId": "n", "name": "No", "kind": "reject_once" },
        ]);
        self.ids += 1;
        let params = json!({ "toolCall": tool, "options": options });
        self.ask(self.ids, "session/request_permission", params);
        let seen = self.seen.get(&key).cloned();
        self.proposed.insert(key, (seen, lines));
    }

    /// Returns what the agent has seen of a file, with changes at some places.
    fn changed(
        &mut self,
        key: &(String, usize),
        places: &[(usize, usize, usize)],
    ) -> Option<Vec<String>> {
        let is_reading = self.reading.values().any(|reading| reading == key);
        let is_there = self.w.disk.get(FILES[key.1]).is_some() || self.buf(key.1).is_some();
        if is_reading || !self.seen.contains_key(key) && is_there {
            return None;
        }
        let mut lines = self.seen.get(key).cloned().unwrap_or_default();
        self.change(&mut lines, places);
        Some(lines)
    }

    fn write_lines(&mut self, key: (String, usize), lines: Vec<String>) {
        if self
            .w
            .disk
            .get(FILES[key.1])
            .is_some_and(|text| text.contains('\0'))
        {
            // Nobody merges text with what is none.
            return;
        }
        let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let params = json!({ "path": FILES[key.1], "content": content });
        self.ids += 1;
        if self.ask(self.ids, "fs/write_text_file", params).is_some() {
            self.seen.insert(key, lines);
        }
    }

    /// The agent writes to disk itself, with changes at some places; it leaves the user's lines
    /// alone, and does nothing between its turns.
    fn shell(&mut self, file: usize, places: &[(usize, usize, usize)]) {
        let Some(text) = self.shell_may(file) else {
            return;
        };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        self.change(&mut lines, places);
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let content: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        self.w.disk.put(FILES[file], &content);
    }

    /// The agent changes a file as a whole.
    fn whole(&mut self, file: usize, what: &str) {
        let Some(text) = self.shell_may(file) else {
            return;
        };
        let has_users = text.lines().any(|line| line.starts_with(['u', 'x']));
        let path = FILES[file];
        if !self.w.disk.files.contains_key(&PathBuf::from(path)) {
            return;
        }
        // What comes and goes between two looks nobody can tell of.
        let is_known = self.w.shadow.knows(path.as_ref());
        match what {
            "delete" if !has_users && is_known => self.w.disk.removes(path),
            "bytes" if !has_users => self.w.disk.set(path.into(), b"\0bytes".to_vec()),
            "mode" => {
                let mode = self.w.disk.modes.get(&PathBuf::from(path)).copied();
                let mode = if mode == Some(0o755) { 0o644 } else { 0o755 };
                self.w.disk.chmods(path, mode);
            }
            "crlf" if !text.contains(['\r', '\0']) => {
                self.w.disk.put(path, &text.replace('\n', "\r\n"));
            }
            _ => {}
        }
    }

    /// Returns what is on disk, if the agent is at work and nothing of ours is under way there.
    fn shell_may(&mut self, file: usize) -> Option<String> {
        let path = PathBuf::from(FILES[file]);
        while self.w.disk.next(&path).is_some() {
            self.disk_moves(file);
        }
        self.w.model.agent_at(&path)?;
        let text = self.w.disk.get(FILES[file]);
        text.or_else(|| (FILES[file] == "/p/new").then(String::new))
    }

    /// Changes lines at some places, but for those of the user's.
    fn change(&mut self, lines: &mut Vec<String>, places: &[(usize, usize, usize)]) {
        for (start, removed, added) in places {
            let start = start % (lines.len() + 1);
            let end = (start + removed).min(lines.len());
            let mut new: Vec<String> = (0..*added).map(|_| self.new_line("a")).collect();
            let users = lines[start..end].iter();
            let users = users.filter(|line| line.starts_with(['u', 'x']));
            new.extend(users.cloned());
            lines.splice(start..end, new);
        }
    }

    /// Another program puts a line into a file.
    fn foreign(&mut self, file: usize, start: usize) {
        let path = PathBuf::from(FILES[file]);
        while self.w.disk.next(&path).is_some() {
            self.disk_moves(file);
        }
        let Some(text) = self.w.disk.get(FILES[file]) else {
            return;
        };
        // In a turn nobody can tell it from the agent.
        let is_agents = self.w.model.agent_at(&path).is_some() || self.w.shadow.has_checked();
        let line = self.new_line(if is_agents { "a" } else { "x" });
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let new = format!("{line}{end}");
        lines.insert(start % (lines.len().max(1)), &new);
        self.w.disk.put(FILES[file], &lines.concat());
        if !is_agents {
            self.typed.entry(file).or_default().insert(line);
        }
    }

    /// The agent answers a call of the client's, or gives an answer nobody waits for.
    fn answer(&mut self, at: usize, kind: u8) {
        let agent = self.session().1;
        if self.is_dead(agent) {
            return;
        }
        let calls = &self.w.agents[&agent].calls;
        if calls.is_empty() || kind == 9 {
            let line = r#"{"jsonrpc":"2.0","id":77,"result":{}}"#;
            return self.w.prints(agent, line);
        }
        let method = calls[at % calls.len()].1.clone();
        let result = match (kind, method.as_str()) {
            (0, _) => Err(json!({ "code": -32000, "message": "log in" })),
            (1, _) => Ok(json!({ "odd": true })),
            (_, "session/prompt") => Ok(json!({ "stopReason": "end_turn" })),
            (_, method) => Ok(self.w.usual_answer(method)),
        };
        self.w.answers(agent, &method, result);
    }

    fn user(&mut self, what: &str) {
        let session = self.session().0;
        let open = self.w.model.permissions.iter().next().map(|open| open.id);
        let id = open.unwrap_or(PermissionId(0));
        let option = |option: &str| Event::PermissionAnswer {
            id,
            option: option.into(),
        };
        let event = match what {
            "cancel" => Event::Cancel { session },
            "stop" => Event::Stop { session },
            "restart" => Event::Restart { session },
            "yes" => option("y"),
            "odd" => option("?"),
            "frame" => Event::FrameWanted,
            "folds" => Event::FoldsWanted { session },
            "open" => {
                self.sessions += 1;
                return self.w.opens(self.sessions, "bot");
            }
            "close" => Event::Close { session },
            "prompt" => return self.w.prompts_in(session, "do **it**"),
            "accept" | "reject" | "accept row" | "reject row" => return self.review(what),
            "accept turn" | "reject turn" | "undo turn" | "turn back" | "list undo" => {
                return self.turns(what);
            }
            other => panic!("the user does not {other}"),
        };
        self.w.happens(event);
    }

    fn turns(&mut self, what: &str) {
        let session = None;
        let turn = |action| Event::Review {
            action,
            scope: Scope::Turn { session },
        };
        let undo = |step| Event::UndoTurn { session, step };
        let event = match what {
            "accept turn" => turn(ReviewAction::Accept),
            "reject turn" => turn(ReviewAction::Reject),
            "undo turn" => undo(UndoStep::Undo(None)),
            "turn back" => undo(UndoStep::Back),
            _ => Event::List(ListEvent::Undo),
        };
        self.decided(event);
    }

    fn review(&mut self, what: &str) {
        let action = match what.starts_with("accept") {
            true => ReviewAction::Accept,
            false => ReviewAction::Reject,
        };
        let scope = match (self.buf(0), what.ends_with("row")) {
            (Some(buf), true) => Scope::Hunk { buf, row: 2 },
            _ => Scope::All,
        };
        self.decided(Event::Review { action, scope });
    }

    /// The user decides about what agents have changed, in any file.
    fn decided(&mut self, event: Event) {
        let lines = Self::base_lines;
        self.willed(0, lines, |life| {
            life.willed(1, lines, |life| {
                life.willed(2, lines, |life| {
                    life.w.happens(event);
                })
            })
        });
    }

    fn buffer(&mut self, file: usize, what: &str) {
        let path = PathBuf::from(FILES[file]);
        if what == "open" {
            if self.w.disk.broken.contains(&path) {
                return;
            }
            self.w
                .edits(|editor, disk, out| editor.open(&path, disk, out));
            return;
        }
        let Some(buf) = self.buf(file) else { return };
        let act = |life: &mut Self| {
            life.w.edits(|editor, disk, out| match what {
                "undo" => editor.travels(buf, Travel::Undo, out),
                "redo" => editor.travels(buf, Travel::Redo, out),
                "save" => editor.saves(buf, disk, out),
                "reload" => editor.reloads(buf, disk, out),
                "tick" => editor.ticks(buf, out),
                "wipe" => {
                    editor.saves(buf, disk, out);
                    if !editor.buffers[&buf].modified {
                        editor.wipes(buf, out);
                    }
                }
                other => panic!("a buffer has no {other}"),
            });
        };
        // The host is done with a file long before a user can open, change and save it.
        while matches!(what, "save" | "wipe") && self.w.disk.next(&path).is_some() {
            self.disk_moves(file);
        }
        match what {
            // What others wrote is overwritten by the user's will.
            "save" | "wipe" => self.willed(file, Self::disk_lines, act),
            _ => self.willed(file, Self::buffer_lines, act),
        }
    }

    /// Lets everything come to its end, and looks for what the user has typed.
    pub fn rests(mut self) -> World {
        self.w.disk.broken.clear();
        self.comes_to_rest();
        for (file, typed) in &self.typed {
            let mut kept = self.base_lines(*file);
            let review = self.w.model.reviews.get(FILES[*file].as_ref());
            let hunks = review.into_iter().flat_map(|review| review.ledger.hunks());
            kept.extend(hunks.filter_map(|hunk| hunk.conflict.clone()).flatten());
            match self.buf(*file) {
                Some(_) => {
                    kept.extend(self.buffer_lines(*file));
                    kept.extend(self.disk_lines(*file));
                }
                None => kept.extend(self.disk_lines(*file)),
            }
            // What others wrote may give way to what the user typed there, but not in silence.
            let warning = format!("{} was changed on disk where", FILES[*file]);
            let is_told = self.w.was_told(&warning);
            let lost = typed.difference(&kept);
            let lost: Vec<&String> = lost
                .filter(|line| !is_told || line.starts_with('u'))
                .collect();
            assert!(lost.is_empty(), "lost in {}: {lost:?}", FILES[*file]);
        }
        self.check_agreed();
        // Where a conflict lies in a hunk, it is decided first.
        for _ in 0..2 {
            self.user("reject");
            self.comes_to_rest();
        }
        self.check_agreed();
        self.check_rejected();
        self.w
    }

    fn comes_to_rest(&mut self) {
        self.w.shadow.looks(&mut self.w.disk);
        while self.w.shadow.is_busy()
            || !self.w.to_editor.is_empty()
            || !self.w.disk.busy().is_empty()
        {
            self.live(&Step::Check);
            self.live(&Step::Tell);
            self.editor_moves();
            (0..FILES.len()).for_each(|file| self.disk_moves(file));
        }
    }

    /// Buffers that are not modified have what the disk has, and so have the ledgers of files in no
    /// buffer.
    fn check_agreed(&self) {
        if self.w.shadow.has_slept {
            return;
        }
        for (file, path) in FILES.iter().enumerate() {
            let path = PathBuf::from(path);
            let state = self.w.disk.read(&path).unwrap();
            let bytes = self.w.disk.files.get(&path);
            if bytes.is_some_and(|bytes| bytes.contains(&0)) {
                continue;
            }
            let disk = state.content.map(|content| content.text);
            let disk = disk.unwrap_or_default();
            match self.buf(file) {
                Some(buf) => {
                    let buffer = &self.w.editor.buffers[&buf];
                    let document = &self.w.model.documents.get(buf).unwrap().text;
                    // A buffer keeps what somebody else has deleted.
                    let review = self.w.model.reviews.get(&path);
                    let is_agents = review.is_some_and(|review| review.now.is_missing());
                    let is_kept = bytes.is_none() && !is_agents;
                    assert!(
                        buffer.modified || is_kept || *document == disk,
                        "{path:?} {buffer:?} {disk:?}"
                    );
                }
                None => {
                    let review = self.w.model.reviews.get(&path);
                    let current = review.map(|review| review.ledger.current());
                    assert!(
                        current.is_none_or(|current| *current == disk),
                        "{path:?} {current:?} {disk:?}"
                    );
                }
            }
        }
    }

    /// When all is rejected, nothing is left to decide.
    fn check_rejected(&self) {
        for (path, review) in self.w.model.reviews.iter() {
            let left = (review.whole(), review.ledger.hunks());
            assert!(!review.is_pending(), "{path:?}: {left:?}");
        }
    }
}
