//! Operations on files as a sequence: an agent reads, writes and runs commands, the user types,
//! saves and decides, and Neovim ends. Each request is answered once, no line that the user typed
//! is lost, rejecting all gives the texts that were accepted, and the next Neovim shows the same
//! review.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use acp_core::{code, conversation, event, model, spine, terminals, text, update};
use event::{Event, ProjectEvent, ReviewEvent};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use spine::event::{ReviewAction, Scope, UndoStep};
use spine::ids::BufId;
use text::{LineEdit, Text};
use world::editor::Travel;
use world::world::{A1, Part, World};

mod world;

/// The last one does not exist at first.
const FILES: [&str; 3] = ["/p/f", "/p/dos", "/p/new"];

/// Start, lines removed, lines added.
type Place = (u8, u8, u8);

#[derive(Debug, Arbitrary)]
enum Step {
    Read(u8),
    Write(u8, Vec<Place>),
    /// A command of the agent writes to disk.
    Shell(u8, Vec<Place>),
    Prompt,
    EndTurn,
    Open(u8),
    Type(u8, Place),
    Undo(u8),
    Redo(u8),
    Save(u8),
    /// Saves and wipes out a buffer.
    Wipe(u8),
    Accept(Chosen),
    Reject(Chosen),
    UndoTurn,
    RedoTurn,
    Editor,
    Disk(u8),
    Check,
    Tell,
}

#[derive(Debug, Arbitrary)]
enum Chosen {
    At(u8, u8),
    Rows(u8, u8, u8),
    File(u8),
    All,
}

fn file(number: u8) -> usize {
    usize::from(number) % FILES.len()
}

fn path(file: usize) -> PathBuf {
    FILES[file].into()
}

struct Story {
    w: World,
    /// The text that the agent last read or wrote.
    seen: BTreeMap<usize, Vec<String>>,
    /// Pending reads, by request.
    reading: BTreeMap<String, usize>,
    /// The lines that the user typed and has not deleted.
    typed: BTreeMap<usize, BTreeSet<String>>,
    asked: u32,
    lines: u32,
}

impl Story {
    fn new() -> Self {
        let mut w = World::new();
        w.opens(1, "bot");
        w.disk.put(FILES[0], "a\nb\nc\nd\ne\nf\n");
        w.disk.put(FILES[1], "one\r\ntwo\r\nthree");
        w.settle();
        Self {
            w,
            seen: BTreeMap::new(),
            reading: BTreeMap::new(),
            typed: BTreeMap::new(),
            asked: 100,
            lines: 0,
        }
    }

    /// From now on, each part of the world moves when a step says so.
    fn holds(&mut self) {
        for part in [Part::Disk, Part::Editor, Part::Shadow, Part::Watcher] {
            self.w.holds(part);
        }
    }

    fn comes_to_rest(&mut self) {
        self.w.goes_on();
        self.note_reads();
        self.holds();
    }

    fn buf(&self, file: usize) -> Option<BufId> {
        self.w.editor.find(&path(file))
    }

    /// The texts in which a line of the user may be: the buffer and the disk, and the base.
    fn texts(&self, file: usize) -> (BTreeSet<String>, BTreeSet<String>) {
        let all = |text: &Text| text.to_lines(0..text.len()).into_iter();
        let disk = self.w.disk.get(FILES[file]).unwrap_or_default();
        let mut now: BTreeSet<String> = match self.buf(file) {
            Some(buf) => all(&self.w.editor.buffers[&buf].text).collect(),
            None => BTreeSet::new(),
        };
        if now.is_empty() {
            now.extend(disk.lines().map(str::to_owned));
        }
        let review = self.w.model.workspace.reviews().get(&path(file));
        let base = review.map(|review| all(review.ledger.base()).collect());
        (now, base.unwrap_or_default())
    }

    /// Does what the user wants: what disappears by it is not lost.
    fn willed(&mut self, act: impl FnOnce(&mut Self)) {
        let before: Vec<_> = (0..FILES.len()).map(|file| self.texts(file)).collect();
        act(self);
        for (file, before) in before.into_iter().enumerate() {
            let after = self.texts(file);
            let typed = self.typed.entry(file).or_default();
            typed.retain(|line| {
                (after.0.contains(line) || !before.0.contains(line))
                    && (after.1.contains(line) || !before.1.contains(line))
            });
            let new = after.0.difference(&before.0);
            typed.extend(new.filter(|line| line.starts_with('u')).cloned());
        }
    }

    /// A decision, with all that follows from it.
    fn decides(&mut self, event: ReviewEvent) {
        self.comes_to_rest();
        self.willed(|life| {
            life.w.happens(Event::Review(event));
            life.comes_to_rest();
        });
    }

    fn scope(&self, chosen: &Chosen) -> Scope {
        match *chosen {
            Chosen::At(number, row) => match self.buf(file(number)) {
                Some(buf) => Scope::Hunk {
                    buf,
                    row: row.into(),
                },
                None => Scope::At {
                    path: path(file(number)),
                    row: row.into(),
                },
            },
            Chosen::Rows(number, start, count) => Scope::Span {
                path: path(file(number)),
                rows: start.into()..usize::from(start) + usize::from(count),
            },
            Chosen::File(number) => Scope::File {
                path: path(file(number)),
            },
            Chosen::All => Scope::All,
        }
    }

    fn is_in_turn(&self) -> bool {
        let calls = &self.w.agents[&A1].calls;
        calls.iter().any(|call| call.1 == "session/prompt")
    }

    fn asks(&mut self, method: &str, params: serde_json::Value) -> String {
        self.asked += 1;
        let id = self.asked.to_string();
        self.w.asks(&id, method, &params);
        id
    }

    fn note_reads(&mut self) {
        for (id, answer) in &self.w.agents[&A1].answers {
            if let Some(file) = self.reading.remove(id)
                && let Ok(value) = answer
            {
                let text = value["content"].as_str().unwrap_or_default();
                self.seen
                    .insert(file, text.lines().map(str::to_owned).collect());
            }
        }
    }

    /// Makes the agent's edits of these lines.
    fn change(&mut self, lines: &mut Vec<String>, places: &[Place]) {
        for (start, removed, added) in places.iter().take(4) {
            let start = usize::from(*start) % (lines.len() + 1);
            let end = (start + usize::from(removed % 4)).min(lines.len());
            let new: Vec<String> = (0..added % 4).map(|_| self.line("a")).collect();
            lines.splice(start..end, new);
        }
    }

    fn line(&mut self, who: &str) -> String {
        self.lines += 1;
        format!("{who}{}", self.lines)
    }

    /// The agent writes a file as it has seen it, with edits; none that it has not read.
    fn writes(&mut self, file: usize, places: &[Place]) {
        let is_reading = self.reading.values().any(|reading| *reading == file);
        let is_there = self.w.disk.get(FILES[file]).is_some() || self.buf(file).is_some();
        if is_reading || is_there && !self.seen.contains_key(&file) {
            return;
        }
        let mut lines = self.seen.get(&file).cloned().unwrap_or_default();
        self.change(&mut lines, places);
        let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let params = json!({ "sessionId": "s1", "path": FILES[file], "content": content });
        self.asks("fs/write_text_file", params);
        self.seen.insert(file, lines);
    }

    /// A command of the agent edits a file as it is on disk.
    fn shell(&mut self, file: usize, places: &[Place]) {
        if !self.is_in_turn() {
            return;
        }
        while self.w.disk.next(&path(file)).is_some() {
            self.disk_moves(file);
        }
        let text = self.w.disk.get(FILES[file]).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        self.change(&mut lines, places);
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let content: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        self.w.disk.put(FILES[file], &content);
    }

    fn disk_moves(&mut self, file: usize) {
        let event = self.w.disk.work(&path(file));
        event.into_iter().for_each(|event| self.w.happens(event));
    }

    fn travels(&mut self, file: usize, travel: Travel) {
        if let Some(buf) = self.buf(file) {
            self.willed(|life| {
                life.w
                    .edits(|editor, _, out| editor.travels(buf, travel, out));
            });
        }
    }

    fn live(&mut self, step: &Step) {
        match step {
            Step::Read(number) => {
                let path = FILES[file(*number)];
                let params = json!({ "sessionId": "s1", "path": path });
                let id = self.asks("fs/read_text_file", params);
                self.reading.insert(id, file(*number));
            }
            Step::Write(number, places) => self.writes(file(*number), places),
            Step::Shell(number, places) => self.shell(file(*number), places),
            Step::Prompt => self.w.prompts("do it"),
            Step::EndTurn if self.is_in_turn() => self.w.ends_turn("end_turn"),
            Step::EndTurn => {}
            Step::Open(number) => {
                let path = path(file(*number));
                self.w
                    .edits(|editor, disk, out| editor.open(&path, disk, out));
            }
            Step::Type(number, (start, removed, added)) => {
                let Some(buf) = self.buf(file(*number)) else {
                    return;
                };
                let len = self.w.editor.buffers[&buf].text.len();
                let edit = LineEdit {
                    start: usize::from(*start) % (len + 1),
                    removed: usize::from(removed % 4),
                    lines: (0..added % 4).map(|_| self.line("u")).collect(),
                };
                self.willed(|life| {
                    life.w.edits(|editor, _, out| editor.types(buf, edit, out));
                });
            }
            Step::Undo(number) => self.travels(file(*number), Travel::Undo),
            Step::Redo(number) => self.travels(file(*number), Travel::Redo),
            Step::Save(number) | Step::Wipe(number) => {
                if let Some(buf) = self.buf(file(*number)) {
                    self.w
                        .edits(|editor, disk, out| editor.saves(buf, disk, out));
                    if matches!(step, Step::Wipe(_)) {
                        self.w.edits(|editor, _, out| editor.wipes(buf, out));
                    }
                }
            }
            Step::Accept(chosen) => self.decides(ReviewEvent::Decide {
                action: ReviewAction::Accept,
                scope: self.scope(chosen),
            }),
            Step::Reject(chosen) => self.decides(ReviewEvent::Decide {
                action: ReviewAction::Reject,
                scope: self.scope(chosen),
            }),
            Step::UndoTurn => self.decides(ReviewEvent::UndoTurn {
                session: None,
                step: UndoStep::Undo(None),
            }),
            Step::RedoTurn => self.decides(ReviewEvent::UndoTurn {
                session: None,
                step: UndoStep::Back,
            }),
            Step::Editor => {
                self.w.editor_moves();
                self.w.settle();
            }
            Step::Disk(number) => self.disk_moves(file(*number)),
            Step::Check => {
                self.w.shadow.checks(&mut self.w.disk);
            }
            Step::Tell => {
                let event = self.w.shadow.tells();
                event.into_iter().for_each(|event| self.w.happens(event));
            }
        }
        self.note_reads();
    }

    /// Checks that no line of the user is lost.
    fn check_typed(&self) {
        for (file, typed) in &self.typed {
            let (mut kept, base) = self.texts(*file);
            kept.extend(base);
            let disk = self.w.disk.get(FILES[*file]).unwrap_or_default();
            kept.extend(disk.lines().map(str::to_owned));
            let review = self.w.model.workspace.reviews().get(&path(*file));
            let hunks = review.into_iter().flat_map(|review| review.ledger.hunks());
            kept.extend(hunks.filter_map(|hunk| hunk.conflict.clone()).flatten());
            let lost: Vec<&String> = typed.difference(&kept).collect();
            assert!(lost.is_empty(), "lost in {}: {lost:?}", FILES[*file]);
        }
    }

    /// Returns the accepted texts of the files under review.
    fn bases(&self) -> BTreeMap<PathBuf, Text> {
        let all = self.w.model.workspace.reviews().iter();
        let pending = all.filter(|(_, review)| review.is_pending());
        pending
            .map(|(path, review)| (path.clone(), review.ledger.base().clone()))
            .collect()
    }

    /// Rejects all, and checks that buffers and files have the accepted texts.
    fn rejects_all(&mut self) {
        let bases = self.bases();
        // The first decides a conflict inside a hunk, the second the hunk.
        for _ in 0..2 {
            self.decides(ReviewEvent::Decide {
                action: ReviewAction::Reject,
                scope: Scope::All,
            });
        }
        for (path, review) in self.w.model.workspace.reviews().iter() {
            assert!(
                !review.is_pending(),
                "{path:?}: {:?}",
                review.ledger.hunks()
            );
        }
        for (path, base) in bases {
            let text = match self.w.editor.find(&path) {
                Some(buf) => self.w.editor.buffers[&buf].text.clone(),
                None => {
                    let disk = self.w.disk.read(&path).expect("it can be read");
                    disk.content.map(|content| content.text).unwrap_or_default()
                }
            };
            // A buffer always has a line.
            let is_blank = base.is_empty() && text == Text::from_lines([""]);
            assert!(
                is_blank || text == base,
                "{path:?}: {text:?} is not {base:?}"
            );
        }
    }

    /// The next Neovim, which has the files and the reviews that were kept.
    fn next(&self) -> Self {
        let mut next = Self::new();
        next.w.disk.files.clear();
        for (path, bytes) in &self.w.disk.files {
            next.w.disk.set(path.clone(), bytes.clone());
        }
        next.w.disk.modes = self.w.disk.modes.clone();
        next.w.shadow.looks(&mut next.w.disk);
        while next.w.shadow.tells().is_some() {}
        next.w.kept = self.w.kept.clone();
        let mut files = self.w.kept.clone();
        next.w.disk.recognise(&mut files);
        let root = "/p".into();
        next.w
            .happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
        next
    }
}

fuzz_target!(|steps: Vec<Step>| {
    let mut life = Story::new();
    life.holds();
    for step in steps.iter().take(60) {
        life.live(step);
    }
    life.comes_to_rest();
    life.check_typed();
    world::laws::check_kept(&life.w);
    let is_saved = life
        .w
        .editor
        .buffers
        .values()
        .all(|buffer| !buffer.modified);
    let has_conflict = life.w.model.workspace.reviews().iter().any(|(_, review)| {
        let mut hunks = review.ledger.hunks().iter();
        hunks.any(|hunk| hunk.conflict.is_some())
    });
    if is_saved && !has_conflict {
        let mut next = life.next();
        assert_eq!(next.bases(), life.bases(), "in the next Neovim");
        next.rejects_all();
    }
    life.rejects_all();
});
