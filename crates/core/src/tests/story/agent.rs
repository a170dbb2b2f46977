//! Steps of the agent in a random story, and changes of its files by other programs.

use super::*;

impl Story {
    pub(super) fn note_reads(&mut self) {
        let agent = self.session().1;
        for (id, answer) in &self.w.agents[&agent].answers {
            if let (Some(key), Ok(value)) = (self.reading.remove(id), answer) {
                let text = value["content"].as_str().unwrap();
                let lines = text.lines().map(str::to_owned);
                self.seen.insert(key, lines.collect());
            }
        }
    }

    /// Counts as the agent's what other programs have changed and no report has when a window opens for
    /// work outside a turn: no checkpoint is before that.
    pub(super) fn note_window(&mut self) {
        let workspace = &self.w.model.workspace;
        let agent = workspace.agent_at(Path::new(FILES[0]));
        if !self.has_window && agent.is_some_and(|agent| workspace.works_outside(agent)) {
            for (file, typed) in &mut self.typed {
                let known = self.w.shadow.reported(Path::new(FILES[*file]));
                let text = known.and_then(FileState::text).unwrap_or_default();
                let text = text.to_string();
                let is_known = |line: &String| text.lines().any(|known| known == line);
                let is_late = |line: &String| line.starts_with('x') && !is_known(line);
                self.late
                    .extend(typed.iter().filter(|line| is_late(line)).cloned());
                typed.retain(|line| !self.late.contains(line));
            }
        }
        self.has_window = agent.is_some();
    }

    /// The agent makes a request about a terminal, which may not exist.
    pub(super) fn asks_of_terminal(&mut self, what: &str, number: u32) {
        self.ids += 1;
        let params = match what {
            "create" => json!({ "command": "make" }),
            "nowhere" => json!({ "command": "nowhere" }),
            _ => json!({ "terminalId": format!("term-{number}") }),
        };
        let what = if what == "nowhere" { "create" } else { what };
        self.ask(self.ids, &format!("terminal/{what}"), params);
    }

    /// Returns one of the running commands.
    pub(super) fn running(&self, at: usize) -> Option<TerminalKey> {
        self.w.pty.running().get(at).copied()
    }

    /// The agent writes a file as it has seen it, with edits.
    ///
    /// It never overwrites a file it has not read, nor while a read is pending.
    pub(super) fn write(&mut self, file: usize, places: &[(usize, usize, usize)]) {
        let key = (self.session().2, file);
        if let Some(lines) = self.changed(&key, places) {
            self.write_lines(key, lines);
        }
    }

    /// The agent asks for permission to write a file as it has seen it, with edits.
    pub(super) fn propose(&mut self, file: usize, places: &[(usize, usize, usize)]) {
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

    /// Returns the file as the agent has seen it, with edits.
    pub(super) fn changed(
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
        self.change("a", &mut lines, places);
        Some(lines)
    }

    pub(super) fn write_lines(&mut self, key: (String, usize), lines: Vec<String>) {
        if self
            .w
            .disk
            .get(FILES[key.1])
            .is_some_and(|text| text.contains('\0'))
        {
            // Text cannot be merged with a binary file.
            return;
        }
        let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let params = json!({ "path": FILES[key.1], "content": content });
        self.ids += 1;
        if self.ask(self.ids, "fs/write_text_file", params).is_some() {
            self.seen.insert(key, lines);
        }
    }

    /// The agent writes to disk itself, with edits. It does nothing between turns.
    pub(super) fn shell(&mut self, file: usize, places: &[(usize, usize, usize)]) {
        let Some(text) = self.shell_may(file) else {
            return;
        };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let own = if self.is_in_turn() { "a" } else { "o" };
        self.change(own, &mut lines, places);
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let content: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        self.w.disk.put(FILES[file], &content);
    }

    /// Returns whether a turn runs, or the agent works outside of one. What it does afterwards, before
    /// the checkpoint is reported, may come too late.
    fn is_in_turn(&self) -> bool {
        let session = self.w.model.conversation.session(self.session().0);
        session.is_some_and(|session| session.awaited().is_some())
            || self.w.model.workspace.works_outside(self.session().0)
    }

    /// The agent changes a file as a whole.
    pub(super) fn whole(&mut self, file: usize, what: &str) {
        let Some(text) = self.shell_may(file).filter(|_| self.is_in_turn()) else {
            return;
        };
        let has_users = text.lines().any(|line| line.starts_with(['u', 'x']));
        let path = FILES[file];
        if !self.w.disk.files.contains_key(&PathBuf::from(path)) {
            return;
        }
        // The shadow cannot see a file that is created and deleted between two looks.
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

    /// Returns the file's text on disk if the agent may change it, after the client's operations on
    /// it.
    fn shell_may(&mut self, file: usize) -> Option<String> {
        let path = PathBuf::from(FILES[file]);
        while self.w.disk.next(&path).is_some() {
            self.disk_moves(file);
        }
        self.w.model.workspace.agent_at(&path)?;
        let text = self.w.disk.get(FILES[file]);
        text.or_else(|| (FILES[file] == "/p/new").then(String::new))
    }

    /// Edits lines, the user's, too; but keeps those of another program, which the client may not
    /// have seen. What comes too late to be the agent's keeps the user's as well.
    fn change(&mut self, who: &str, lines: &mut Vec<String>, places: &[(usize, usize, usize)]) {
        for (start, removed, added) in places {
            let start = start % (lines.len() + 1);
            let end = (start + removed).min(lines.len());
            let mut new: Vec<String> = (0..*added).map(|_| self.new_line(who)).collect();
            let kept: &[char] = if who == "o" { &['x', 'u'] } else { &['x'] };
            let others = lines[start..end].iter();
            new.extend(others.filter(|line| line.starts_with(kept)).cloned());
            lines.splice(start..end, new);
        }
    }

    /// Another program inserts a line into a file.
    pub(super) fn foreign(&mut self, file: usize, start: usize) {
        let path = PathBuf::from(FILES[file]);
        while self.w.disk.next(&path).is_some() {
            self.disk_moves(file);
        }
        let Some(text) = self.w.disk.get(FILES[file]) else {
            return;
        };
        // During a turn, the change is attributed to the agent.
        let is_agents =
            self.w.model.workspace.agent_at(&path).is_some() || self.w.shadow.has_checked();
        let line = self.new_line(if is_agents { "o" } else { "x" });
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let new = format!("{line}{end}");
        lines.insert(start % (lines.len().max(1)), &new);
        self.w.disk.put(FILES[file], &lines.concat());
        if !is_agents {
            self.typed.entry(file).or_default().insert(line);
        }
    }
}
