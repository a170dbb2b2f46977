//! The end of a random story: no line of the user is lost, and buffers, disk and ledgers agree.

use super::*;
use crate::render::toolcall::ToolCall;
use crate::spine::project::{Body, Whole};
use crate::text::Text;
use crate::text::diff::{Conflict, diff};
use crate::workspace::reviews::CHANGED;

/// The state of a file that a reject brings back.
struct Accepted {
    file: usize,
    text: Text,
    origin: FileState,
    has_conflict: bool,
}

/// Returns the text of a buffer's file: a buffer always has a line.
fn without_blank(text: &Text) -> Text {
    match text.len_bytes() <= 1 {
        true => Text::default(),
        false => text.clone(),
    }
}

/// The accepted and the present text of a file, and that of the agent alone.
#[derive(Debug, PartialEq, Eq)]
struct Texts {
    base: Text,
    now: Text,
    alone: Text,
}

impl Texts {
    /// Returns the present lines that are not the agent's.
    fn others_lines(&self) -> Text {
        let others = diff(&self.now, &self.alone);
        let others = others
            .iter()
            .flat_map(|edit| self.now.lines(edit.start..edit.start + edit.removed));
        Text::from_lines(others)
    }
}

/// The texts of a file, its conflicts, and its changes as a whole.
type Pending = (Option<Texts>, Vec<Conflict>, Vec<Whole>);

/// Returns what is pending in each file if Neovim ends now: its unsaved lines end with it. What a
/// buffer has shown of bytes, or has kept beside a link, is not stored, nor where a conflict was in it.
fn pending(w: &World) -> BTreeMap<PathBuf, Pending> {
    let as_left = |(path, review): (&PathBuf, &FileReview)| {
        let saved = w.model.workspace.documents().find(path);
        let saved = saved.and_then(|(_, file)| file.saved.as_ref());
        let (ledger, whole) = (review.ledger.left(saved), review.whole());
        let is_pending = !ledger.hunks().is_empty() || !whole.is_empty();
        let texts = Texts {
            base: ledger.base().clone(),
            now: ledger.current().clone(),
            alone: ledger.alone().clone(),
        };
        let mut states = [&review.origin, &review.now].into_iter();
        let is_text = !states.any(|state| matches!(state.body, Body::Bytes { .. } | Body::Link(_)));
        let mut offered = ledger.offered();
        if !is_text {
            offered.iter_mut().for_each(|conflict| conflict.rows = 0..0);
        }
        let pending = (is_text.then_some(texts), offered, whole);
        is_pending.then(|| (path.clone(), pending))
    };
    let all = w.model.workspace.reviews().iter();
    all.filter_map(as_left).collect()
}

impl Story {
    /// Runs until no work is pending, and checks that the user's lines survived.
    pub fn rests(mut self) -> World {
        self.w.disk.broken.clear();
        self.comes_to_rest();
        self.turns_end();
        for (file, typed) in &self.typed {
            let mut kept = self.base_lines(*file);
            let review = self.review_of(*file);
            let hunks = review.into_iter().flat_map(|review| review.ledger.hunks());
            kept.extend(hunks.filter_map(|hunk| hunk.conflict.clone()).flatten());
            match self.buf(*file) {
                Some(_) => {
                    kept.extend(self.buffer_lines(*file));
                    kept.extend(self.disk_lines(*file));
                }
                None => kept.extend(self.disk_lines(*file)),
            }
            // The user's lines may replace another program's, but not without a message.
            kept.extend(self.told.get(file).cloned().unwrap_or_default());
            let lost: Vec<&String> = typed.difference(&kept).collect();
            assert!(lost.is_empty(), "lost in {}: {lost:?}", FILES[*file]);
        }
        self.check_agreed();
        let accepted = self.accepted();
        self.check_next_neovim();
        self.rejects_all();
        self.check_agreed();
        self.check_rejected();
        self.check_accepted(&accepted);
        self.check_all_was_listed();
        self.check_windows();
        self.w
    }

    /// Notes the lines of other programs that the user has seen: all so far when a warning names the
    /// file, by any of its names, and those that its review offers.
    pub(super) fn note_told(&mut self) {
        let mut told = std::mem::take(&mut self.told);
        let news = self.w.log.get(self.searched..).unwrap_or_default();
        let is_in_news = |name: &str| {
            let warning = format!("{name} was changed on disk in lines");
            news.iter().any(|line| line.contains(&warning))
        };
        for (file, typed) in &self.typed {
            let link = (*file == 0 && self.has_link).then_some(LINK);
            let is_warned = link.into_iter().chain([FILES[*file]]).any(is_in_news);
            let warned = typed.iter().filter(|_| is_warned).cloned();
            let review = self.review_of(*file);
            let hunks = review.into_iter().flat_map(|review| review.ledger.hunks());
            let offered = hunks.filter_map(|hunk| hunk.conflict.clone()).flatten();
            let others = warned.chain(offered).filter(|line| line.starts_with('x'));
            told.entry(*file).or_default().extend(others);
        }
        self.told = told;
        self.searched = self.w.log.len();
    }

    /// The user rejects everything. What no report tells, because the session is closed, is found by
    /// the first reject, which changes nothing and asks the user to look again.
    fn rejects_all(&mut self) {
        let searched = self.w.log.len();
        self.user("reject");
        self.comes_to_rest();
        let mut news = self.w.log[searched..].iter();
        let is_closed = self
            .w
            .model
            .workspace
            .session_at(Path::new(FILES[0]))
            .is_none();
        if is_closed && news.any(|line| line.contains(CHANGED)) {
            self.user("reject");
            self.comes_to_rest();
        }
    }

    /// Checks that windows show the output of their commands.
    fn check_windows(&self) {
        for (terminal, text) in self.w.model.terminals.windows() {
            let shown = self.w.editor.terminals.get(&terminal);
            assert_eq!(shown, Some(&text), "the window of {terminal:?}");
        }
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
            self.note_told();
            for file in 0..FILES.len() {
                self.disk_moves(file);
                self.note_told();
            }
        }
        self.note_told();
    }

    /// Lets every turn, and what goes on outside of turns, end, so that the last changes of agents are
    /// known.
    fn turns_end(&mut self) {
        let agents: Vec<AgentKey> = self.w.agents.keys().copied().collect();
        for agent in agents {
            while self.w.agents[&agent].life != Life::Gone
                && self.w.agents[&agent]
                    .calls
                    .iter()
                    .any(|call| call.1 == "session/prompt")
            {
                let result = Ok(json!({ "stopReason": "end_turn" }));
                self.w.answers(agent, "session/prompt", result);
            }
        }
        self.calls_end();
        self.w.rests();
        self.comes_to_rest();
    }

    /// Agents report that their calls are over.
    fn calls_end(&mut self) {
        let mut open = Vec::new();
        for (_, session) in self.w.model.conversation.sessions() {
            let ids = (0..5).map(|n| format!("t{n}")).chain(["p".to_owned()]);
            let found = ids.filter(|id| {
                let id = acp::ToolCallId(id.as_str().into());
                let call = session.transcript().find_tool(&id);
                call.is_some_and(ToolCall::is_open)
            });
            let (agent, session) = (session.agent(), session.id().cloned());
            open.extend(found.filter_map(|id| Some((agent?, session.clone()?, id))));
        }
        for (agent, session, id) in open {
            if !self.is_dead(agent) {
                let update = json!({
                    "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed",
                });
                let params = json!({ "sessionId": &*session.0, "update": update });
                self.w.notifies(agent, "session/update", &params);
            }
        }
    }

    /// Checks that unmodified buffers equal the disk, and so do the ledgers of files without a
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
                // A buffer keeps its text. What Neovim has saved is a text.
                let review = self.review_of(file).filter(|_| self.buf(file).is_none());
                let text = review.filter(|review| review.now.is_text());
                let text = text.map(|review| review.ledger.current());
                let disk = state.content.map(|content| content.text);
                assert!(
                    text.is_none_or(|text| Some(text) == disk.as_ref()),
                    "{path:?} is binary"
                );
                continue;
            }
            let disk = state.content.map(|content| content.text);
            let disk = disk.unwrap_or_default();
            match self.buf(file) {
                Some(buf) => {
                    let buffer = &self.w.editor.buffers[&buf];
                    let document = &self.w.model.workspace.documents().get(buf).unwrap().text;
                    // A buffer keeps the text of a file that another program deleted.
                    let review = self.review_of(file);
                    let is_agents = review.is_some_and(|review| review.now.is_missing());
                    let is_kept = bytes.is_none() && !is_agents;
                    assert!(
                        buffer.modified || is_kept || *document == disk,
                        "{path:?} {buffer:?} {disk:?}"
                    );
                }
                None => {
                    let review = self.review_of(file);
                    let current = review.map(|review| review.ledger.current());
                    assert!(
                        current.is_none_or(|current| *current == disk),
                        "{path:?} {current:?} {disk:?}"
                    );
                }
            }
        }
    }

    /// Checks that no line from an agent is left after everything was rejected, if the user has
    /// accepted nothing: each was listed.
    fn check_all_was_listed(&self) {
        if self.w.shadow.has_slept || self.has_accepted {
            return;
        }
        for (file, path) in FILES.iter().enumerate() {
            let buffer = self.buf(file).map(|buf| &self.w.editor.buffers[&buf]);
            // The user has yet to save what the reject has left.
            let lines = match buffer.is_some_and(|buffer| buffer.modified) {
                true => self.buffer_lines(file),
                false => self.disk_lines(file),
            };
            let is_agents = |line: &&String| {
                let number = line.strip_prefix('a');
                number.is_some_and(|number| number.parse::<u32>().is_ok())
            };
            let left: Vec<&String> = lines.iter().filter(is_agents).collect();
            assert!(left.is_empty(), "not listed in {path}: {left:?}");
        }
    }

    /// Returns the accepted states of all files with a pending decision.
    fn accepted(&self) -> Vec<Accepted> {
        let all = (0..FILES.len()).filter_map(|file| {
            let review = self.review_of(file).filter(|review| review.is_pending())?;
            let mut hunks = review.ledger.hunks().iter();
            Some(Accepted {
                file,
                text: review.ledger.base().clone(),
                origin: review.origin.clone(),
                has_conflict: hunks.any(|hunk| hunk.conflict.is_some()),
            })
        });
        all.collect()
    }

    /// Checks that files have their accepted states after everything was rejected. A conflict leaves
    /// the user's text, and so does a file that the agent has created.
    fn check_accepted(&mut self, accepted: &[Accepted]) {
        if self.w.shadow.has_slept {
            return;
        }
        let states = self.w.disk.states();
        for Accepted {
            file,
            text,
            origin,
            has_conflict,
        } in accepted
        {
            let path = FILES[*file];
            let buffer = self.buf(*file).map(|buf| &self.w.editor.buffers[&buf]);
            let there = states.get(Path::new(path));
            if *has_conflict || origin.is_missing() {
                continue;
            }
            if let Some(buffer) = buffer.filter(|_| origin.is_text()) {
                assert_eq!(without_blank(&buffer.text), *text, "the buffer of {path}");
                if buffer.modified {
                    continue;
                }
            }
            let there = there.unwrap_or_else(|| panic!("{path} is not restored"));
            // A buffer showed bytes as lines, which were accepted.
            let read = self.w.disk.read(Path::new(path)).unwrap().content;
            if text.has_nul() && read.is_some_and(|content| content.text == *text) {
                continue;
            }
            assert!(there.is_like(origin), "{path}: {there:?} is not {origin:?}");
            if origin.is_text() {
                assert_eq!(there.text().as_ref(), Some(text), "{path}");
            }
        }
    }

    /// Checks that the next Neovim has the same reviews, and that a reject of all of them gives the
    /// accepted states. Unsaved lines end with this one, unless they are offered others.
    fn check_next_neovim(&self) {
        let is_mixed = |file: &usize| {
            let review = self.review_of(*file);
            let has_offers = review.is_some_and(|review| !review.ledger.offered().is_empty());
            let has_bytes = review.is_some_and(|review| review.ledger.current().has_nul());
            let buffer = self.buf(*file).map(|buf| &self.w.editor.buffers[&buf]);
            buffer.is_some_and(|buffer| buffer.modified) && (has_offers || has_bytes)
        };
        if self.w.shadow.has_slept || (0..FILES.len()).any(|file| is_mixed(&file)) {
            return;
        }
        for (path, review) in self.w.model.workspace.reviews().iter() {
            let document = self.w.model.workspace.documents().find(path);
            let now = review.kept(path, document.map(|(_, document)| document));
            let stored = self.w.kept.iter().find(|kept| kept.path == *path);
            assert_eq!(now.as_ref(), stored, "what is stored of {path:?}");
        }
        let mut next = self.w.next_neovim();
        let left = pending(&self.w);
        assert_eq!(pending(&next), left, "in the next Neovim");
        assert_eq!(
            pending(&next.next_neovim()),
            left,
            "in the Neovim after that"
        );
        next.decides(ReviewAction::Reject, Scope::All);
        assert_eq!(
            pending(&next),
            BTreeMap::new(),
            "after a reject in the next Neovim"
        );
        let states = next.disk.states();
        for (path, (texts, _, _)) in left {
            let review = self.w.model.workspace.reviews().get(&path).unwrap();
            let origin = &review.origin;
            let place = review.place_of(origin).unwrap_or(&path);
            let there = states.get(place);
            let read = next.disk.read(place).unwrap();
            let text = read.content.map(|content| content.text).unwrap_or_default();
            // Bytes that a buffer shows may have become part of the accepted text.
            let texts_before = [Some(review.ledger.base().clone()), origin.text()];
            let is_mixed = texts_before.iter().flatten().any(Text::has_nul);
            if !review.ledger.offered().is_empty() || is_mixed {
                continue;
            }
            if let Some(texts) = texts {
                let want = match origin.is_missing() && texts.base.is_empty() {
                    true => texts.others_lines(),
                    false => texts.base,
                };
                assert_eq!(text, want, "{path:?} in the next Neovim");
            }
            let is_restored = there.is_some_and(|there| there.is_like(origin));
            assert!(
                is_restored || origin.is_missing(),
                "{path:?}: {there:?} is not {origin:?}"
            );
        }
    }

    /// Checks that no decision is pending after everything was rejected.
    fn check_rejected(&self) {
        for (path, review) in self.w.model.workspace.reviews().iter() {
            let left = (review.whole(), review.ledger.hunks());
            assert!(!review.is_pending(), "{path:?}: {left:?}");
        }
    }
}
