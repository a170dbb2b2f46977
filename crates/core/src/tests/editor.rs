//! A fake editor: buffers with undo history, the contents of the screen, the user's messages.
//!
//! Invariant: every change of a buffer is reported as `src/editor` does, in the same order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::screen::Chat;
use crate::event::{BufferEvent, Event, ViewEvent};
use crate::spine::effect::Save;
use crate::spine::event::{BufState, EditDone, EditError, Overwritten, Prompt, SaveError, Stamp};
use crate::spine::ids::{BufId, SessionKey, TerminalKey, TurnKey};
use crate::spine::pending::Token;
use crate::spine::pending::reply::Edited;
use crate::spine::view::{
    ElicitationView, FollowView, Frame, HunkView, ListView, Patch, PermissionView, PlanView,
    PreviewView, QuestionView, QueueView, UndoView, WholeView,
};
use crate::text::format::Format;
use crate::text::{LineEdit, Text};

#[derive(Debug, Default)]
pub struct Editor {
    pub buffers: BTreeMap<BufId, Buffer>,
    pub chats: BTreeMap<SessionKey, Chat>,
    pub titles: BTreeMap<SessionKey, String>,
    pub plans: BTreeMap<SessionKey, PlanView>,
    pub queues: BTreeMap<SessionKey, QueueView>,
    /// The prompts that were put back into inputs.
    pub put: Vec<(SessionKey, Prompt)>,
    pub permission: Option<PermissionView>,
    pub elicitation: Option<ElicitationView>,
    pub hunks: BTreeMap<BufId, Vec<HunkView>>,
    /// The review list, the number of its updates, and its preview.
    pub list: ListView,
    pub lists: usize,
    pub preview: PreviewView,
    /// Output in the windows of terminals.
    pub terminals: BTreeMap<TerminalKey, Vec<u8>>,
    /// Each agent's positions, one per frame.
    pub follows: BTreeMap<SessionKey, Vec<FollowView>>,
    /// The content shown in full last.
    pub whole: Option<WholeView>,
    /// Labels of the next prompts' attachments.
    pub attached: BTreeMap<SessionKey, Vec<String>>,
    /// The turn whose undo the user was asked about, and the question.
    pub asked: Option<(TurnKey, UndoView)>,
    /// The rows of each chat that a window shows, if not all.
    pub sees: Option<Range<usize>>,
    /// The rows that were reported.
    seen: BTreeMap<SessionKey, Range<usize>>,
    /// How often each chat was emptied.
    lives: BTreeMap<SessionKey, u32>,
    /// A frame was requested and has not arrived.
    pub is_asking: bool,
    /// A line that the user's save hook appends to a file, once.
    pub save_hook: Option<String>,
    next: i32,
}

/// A file's buffer.
#[derive(Debug)]
pub struct Buffer {
    pub path: PathBuf,
    /// The file that it has the text of.
    pub real: PathBuf,
    /// Its name leads to another file than that.
    elsewhere: bool,
    pub text: Text,
    pub tick: u64,
    pub modified: bool,
    pub readonly: bool,
    pub format: Format,
    saved: Text,
    /// The file that the text was read from, saved to or merged with.
    known: Option<Stamp>,
    /// Blocks of edits and their inverses.
    undo: Vec<Vec<(LineEdit, LineEdit)>>,
    /// Number of blocks that are not undone.
    done: usize,
}

/// A step of the user in the undo tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Travel {
    Undo,
    Redo,
}

impl Buffer {
    fn state(&self) -> BufState {
        BufState {
            tick: self.tick,
            modified: self.modified,
            readonly: self.readonly,
            format: self.format,
        }
    }

    /// Makes an edit and returns it with its inverse.
    fn edit(
        &mut self,
        buf: BufId,
        edit: &LineEdit,
        made_for: Option<Token<Edited>>,
        out: &mut Vec<Event>,
    ) -> (LineEdit, LineEdit) {
        let rows = edit.start..edit.start + edit.removed;
        assert!(rows.end <= self.text.len(), "{edit:?} in {:?}", self.text);
        let mut made = edit.clone();
        if edit.lines.is_empty() && rows == (0..self.text.len()) {
            // A buffer always has a line; Neovim does not report the empty one that remains.
            made.lines.push(String::new());
        }
        let back = LineEdit {
            start: edit.start,
            removed: made.lines.len(),
            lines: self.text.to_lines(rows),
        };
        self.text.apply(&made);
        self.tick += 1;
        self.modified = true;
        out.push(Event::Buffer(BufferEvent::Lines {
            buf,
            tick: self.tick,
            edit: edit.clone(),
            made_for,
        }));
        (made, back)
    }

    /// Makes edits, from the bottom up, as one step of the undo tree.
    fn edit_block(
        &mut self,
        buf: BufId,
        edits: &[LineEdit],
        made_for: Option<Token<Edited>>,
        out: &mut Vec<Event>,
    ) {
        let edits = edits.iter().rev();
        let block: Vec<_> = edits
            .map(|edit| self.edit(buf, edit, made_for, out))
            .collect();
        if !block.is_empty() {
            self.undo.truncate(self.done);
            self.undo.push(block);
            self.done += 1;
        }
    }

    /// Saves the buffer, over a file that was not merged if `over` has that.
    fn save(
        &mut self,
        buf: BufId,
        (over, made_for): (Option<Overwritten>, Option<Token<Edited>>),
        disk: &mut Disk,
        out: &mut Vec<Event>,
    ) -> Result<(), String> {
        let is_blank = self.text == Text::from_lines([""]);
        let text = if is_blank {
            Text::default()
        } else {
            self.text.clone()
        };
        disk.write(&self.path, &text, self.format)?;
        self.saved = self.text.clone();
        self.modified = false;
        out.push(Event::Buffer(BufferEvent::Changed {
            buf,
            state: self.state(),
        }));
        let stamp = disk.stamp(&self.path);
        self.known = stamp;
        self.real = disk.real(&self.path);
        out.push(Event::Buffer(BufferEvent::Saved {
            buf,
            real: self.real.clone(),
            stamp,
            over,
            made_for,
        }));
        Ok(())
    }
}

impl Editor {
    /// Loads a file into a buffer, unless it is in one.
    pub fn open(&mut self, path: &Path, disk: &Disk, out: &mut Vec<Event>) -> BufId {
        if let Some(buf) = self.find(path) {
            return buf;
        }
        self.next += 1;
        let buf = BufId(self.next);
        let content = disk.read(path).ok().and_then(|file| file.content);
        let (text, format) = match content {
            Some(content) => (content.text, content.format),
            None => (Text::default(), Format::default()),
        };
        let text = if text.is_empty() {
            Text::from_lines([""])
        } else {
            text
        };
        let mut buffer = Buffer {
            path: path.to_owned(),
            real: PathBuf::new(),
            elsewhere: false,
            saved: text.clone(),
            known: disk.stamp(path),
            text,
            tick: 2,
            modified: false,
            readonly: false,
            format,
            undo: Vec::new(),
            done: 0,
        };
        out.push(attached(buf, &mut buffer, disk));
        self.buffers.insert(buf, buffer);
        buf
    }

    pub fn find(&self, path: &Path) -> Option<BufId> {
        let mut all = self.buffers.iter();
        all.find(|(_, buffer)| buffer.path == path)
            .map(|(buf, _)| *buf)
    }

    /// The user edits a buffer; the edit is cut to its lines.
    pub fn types(&mut self, buf: BufId, edit: LineEdit, out: &mut Vec<Event>) {
        let Some(buffer) = self.buffers.get_mut(&buf) else {
            return;
        };
        let start = edit.start.min(buffer.text.len());
        let edit = LineEdit {
            start,
            removed: edit.removed.min(buffer.text.len() - start),
            lines: edit.lines,
        };
        buffer.edit_block(buf, &[edit], None, out);
    }

    /// The user undoes or redoes.
    pub fn travels(&mut self, buf: BufId, travel: Travel, out: &mut Vec<Event>) {
        let Some(buffer) = self.buffers.get_mut(&buf) else {
            return;
        };
        let at = match travel {
            Travel::Undo => buffer.done.checked_sub(1),
            Travel::Redo => Some(buffer.done),
        };
        let Some(block) = at.and_then(|at| buffer.undo.get(at).cloned()) else {
            return;
        };
        match travel {
            Travel::Undo => {
                for (_, back) in block.iter().rev() {
                    buffer.edit(buf, back, None, out);
                }
                buffer.done -= 1;
            }
            Travel::Redo => {
                for (there, _) in &block {
                    buffer.edit(buf, there, None, out);
                }
                buffer.done += 1;
            }
        }
        buffer.modified = buffer.text != buffer.saved;
        let state = buffer.state();
        out.push(Event::Buffer(BufferEvent::Changed { buf, state }));
    }

    /// The user saves a buffer over the file on disk, which is reported to the core.
    pub fn saves(&mut self, buf: BufId, disk: &mut Disk, out: &mut Vec<Event>) {
        if let Some(buffer) = self.buffers.get_mut(&buf) {
            let known = buffer.known;
            let there = disk.stamp(&buffer.path);
            let there = there.filter(|there| known.is_some_and(|known| known != *there));
            let over = there.and_then(|stamp| {
                let bytes = disk.files.get(&disk.real(&buffer.path))?.clone();
                let is_text = !bytes.is_empty() && !bytes.contains(&0);
                is_text.then_some(Overwritten { stamp, bytes })
            });
            // The user sees the error; nothing else comes of it.
            let _ = buffer.save(buf, (over, None), disk, out);
        }
    }

    /// Wipes out a buffer with its unsaved lines.
    pub fn wipes(&mut self, buf: BufId, out: &mut Vec<Event>) {
        if self.buffers.remove(&buf).is_some() {
            self.hunks.remove(&buf);
            out.push(Event::Buffer(BufferEvent::Detached { buf }));
        }
    }

    /// Reloads a buffer from disk.
    pub fn reloads(&mut self, buf: BufId, disk: &Disk, out: &mut Vec<Event>) {
        let Some(buffer) = self.buffers.get_mut(&buf) else {
            return;
        };
        let Some(content) = disk.read(&buffer.path).ok().and_then(|file| file.content) else {
            return;
        };
        let text = content.text;
        buffer.text = if text.is_empty() {
            Text::from_lines([""])
        } else {
            text
        };
        buffer.saved = buffer.text.clone();
        buffer.format = content.format;
        buffer.known = disk.stamp(&buffer.path);
        buffer.tick += 1;
        buffer.modified = false;
        buffer.undo.clear();
        buffer.done = 0;
        out.push(attached(buf, buffer, disk));
    }

    /// Increments the changedtick without changing a line.
    pub fn ticks(&mut self, buf: BufId, out: &mut Vec<Event>) {
        if let Some(buffer) = self.buffers.get_mut(&buf) {
            buffer.tick += 1;
            let state = buffer.state();
            out.push(Event::Buffer(BufferEvent::Changed { buf, state }));
        }
    }

    /// Gives a buffer the new name of its file, which was moved there.
    pub fn renames(&mut self, buf: BufId, path: &str, disk: &Disk, out: &mut Vec<Event>) {
        if let Some(buffer) = self.buffers.get_mut(&buf) {
            buffer.path = path.into();
            out.push(attached(buf, buffer, disk));
        }
    }

    /// Carries out `EditorEffect::Moved`.
    pub fn moved(&mut self, buf: BufId, path: PathBuf) {
        if let Some(buffer) = self.buffers.get_mut(&buf) {
            buffer.real.clone_from(&path);
            buffer.path = path;
        }
    }

    /// Carries out `EditorEffect::Relinked`.
    pub fn relinked(&mut self, buf: BufId, disk: &Disk, out: &mut Vec<Event>) {
        let Some(buffer) = self.buffers.get_mut(&buf) else {
            return;
        };
        buffer.tick += 1;
        let real = disk.real(&buffer.path);
        buffer.elsewhere = real != buffer.real && buffer.modified;
        if buffer.elsewhere {
            return;
        }
        let is_there = disk.get(&buffer.path.to_string_lossy()).is_some();
        let is_other = real != buffer.real || buffer.known != disk.stamp(&buffer.path);
        if is_there && is_other && !buffer.modified {
            return self.reloads(buf, disk, out);
        }
        let is_saved = !buffer.modified && !is_other;
        let mut event = attached(buf, buffer, disk);
        if let Event::Buffer(BufferEvent::Attached { stamp, .. }) = &mut event {
            *stamp = stamp.filter(|_| is_saved);
        }
        out.push(event);
    }

    /// Carries out `EditorEffect::Edit`.
    pub fn edit(
        &mut self,
        job: (Token<Edited>, BufId, u64),
        edits: &[LineEdit],
        save: Save,
        disk: &mut Disk,
        out: &mut Vec<Event>,
    ) {
        let (token, buf, _) = job;
        let result = self.try_edit(job, edits, save, disk, out);
        out.push(Event::Buffer(BufferEvent::Edited { token, buf, result }));
    }

    fn try_edit(
        &mut self,
        (token, buf, tick): (Token<Edited>, BufId, u64),
        edits: &[LineEdit],
        save: Save,
        disk: &mut Disk,
        out: &mut Vec<Event>,
    ) -> Result<EditDone, EditError> {
        let buffer = self.buffers.get_mut(&buf).ok_or(EditError::Gone)?;
        if buffer.tick != tick {
            return Err(EditError::Stale { tick: buffer.tick });
        }
        if let Save::Over(stamp) = save
            && disk.stamp(&buffer.path) != stamp
        {
            return Err(EditError::Stale { tick });
        }
        for pair in edits.windows(2) {
            assert!(
                pair[0].start + pair[0].removed <= pair[1].start,
                "{edits:?}"
            );
        }
        if buffer.readonly {
            return Err(EditError::Refused("it is read-only in the editor".into()));
        }
        let made_for = Some(token);
        let was_modified = buffer.modified;
        buffer.edit_block(buf, edits, made_for, out);
        let over = match save {
            Save::Over(stamp) => Some(stamp),
            Save::OverIfClean(stamp) | Save::AsItEnds(stamp) => (!was_modified).then_some(stamp),
            Save::No | Save::Deleted | Save::Merged { .. } => None,
        };
        if let Save::Merged {
            stamp,
            is_clean,
            format,
        } = save
        {
            if disk.stamp(&buffer.path) != stamp {
                let saved = Some(Err(SaveError::Stale));
                let tick = buffer.tick;
                return Ok(EditDone { tick, saved });
            }
            buffer.known = stamp;
            buffer.modified = !is_clean;
            buffer.format = format;
            if is_clean {
                buffer.saved = buffer.text.clone();
            }
            let state = buffer.state();
            out.push(Event::Buffer(BufferEvent::Changed { buf, state }));
        }
        if save == Save::Deleted {
            buffer.modified = false;
            let state = buffer.state();
            out.push(Event::Buffer(BufferEvent::Changed { buf, state }));
        }
        let saved = over.map(|stamp| {
            if disk.stamp(&buffer.path) != stamp {
                return Err(SaveError::Stale);
            }
            if let Some(line) = self.save_hook.take() {
                let end = LineEdit {
                    start: buffer.text.len(),
                    removed: 0,
                    lines: vec![line],
                };
                // What a hook changes after a decision is the user's.
                let is_agents = matches!(save, Save::Over(_));
                buffer.edit_block(buf, &[end], made_for.filter(|_| is_agents), out);
            }
            buffer
                .save(buf, (None, made_for), disk, out)
                .map_err(SaveError::Refused)
        });
        Ok(EditDone {
            tick: buffer.tick,
            saved,
        })
    }

    /// Empties a transcript; returns the old one.
    pub fn empties(&mut self, session: SessionKey, out: &mut Vec<Event>) -> Option<Chat> {
        *self.lives.entry(session).or_default() += 1;
        out.push(Event::View(ViewEvent::ChatEmpty { session }));
        self.chats.remove(&session)
    }

    /// Applies a frame, as `src/editor` does.
    pub fn shows(&mut self, frame: Frame, out: &mut Vec<Event>) {
        self.is_asking = false;
        for patch in frame.patches {
            match patch {
                Patch::Chat { session, life, .. }
                    if life != self.lives.get(&session).copied().unwrap_or_default() => {}
                Patch::Chat { session, ops, .. } => {
                    let chat = self.chats.entry(session).or_default();
                    chat.apply(ops);
                    let rows = self.sees.clone().unwrap_or(0..chat.lines.len());
                    if self.seen.insert(session, rows.clone()) != Some(rows.clone()) {
                        out.push(Event::View(ViewEvent::ChatSeen { session, rows }));
                    }
                }
                Patch::ChatTitle { session, title } => {
                    let parts: Vec<String> =
                        title.into_iter().map(|(text, _)| text.into()).collect();
                    self.titles.insert(session, parts.join(" · "));
                }
                Patch::Attached { session, labels } => {
                    let labels = labels.into_iter().map(String::from);
                    self.attached.insert(session, labels.collect());
                }
                Patch::Plan { session, view } => {
                    self.plans.remove(&session);
                    self.plans.extend(view.map(|view| (session, view)));
                }
                Patch::Queue { session, view } => {
                    self.queues.insert(session, view);
                }
                Patch::Question(view) => {
                    (self.permission, self.elicitation) = match view {
                        Some(QuestionView::Permission(view)) => (Some(view), None),
                        Some(QuestionView::Form(view)) => (None, Some(view)),
                        None => (None, None),
                    };
                }
                Patch::Terminal {
                    terminal,
                    is_anew,
                    bytes,
                } => {
                    let shown = self.terminals.entry(terminal).or_default();
                    if is_anew {
                        shown.clear();
                    }
                    shown.extend(bytes);
                }
                Patch::Follow { session, view } => {
                    self.follows.entry(session).or_default().push(view);
                }
                Patch::ReviewList(view) => {
                    self.list = view;
                    self.lists += 1;
                }
                Patch::ReviewPreview(view) => self.preview = view,
                Patch::Review { buf, tick, hunks } => {
                    if self
                        .buffers
                        .get(&buf)
                        .is_some_and(|buffer| buffer.tick == tick)
                    {
                        self.hunks.insert(buf, hunks);
                    }
                }
            }
        }
    }
}

fn attached(buf: BufId, buffer: &mut Buffer, disk: &Disk) -> Event {
    buffer.real = disk.real(&buffer.path);
    buffer.elsewhere = false;
    Event::Buffer(BufferEvent::Attached {
        buf,
        path: buffer.path.clone(),
        real: disk.real(&buffer.path),
        row: 0,
        text: buffer.text.to_string(),
        state: buffer.state(),
        stamp: disk.stamp(&buffer.path),
    })
}
