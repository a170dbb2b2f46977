//! The review list: every file and hunk to be reviewed as lines of a window, and a preview of the
//! one under the cursor.
//!
//! Invariants: nothing is rendered while no window shows it. An item is known by what it changes,
//! not by where it stands: a decision meets what the user has seen, or nothing.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use super::diffview;
use super::effect::Level;
use super::event::{ListEvent, ReviewAction, Scope};
use super::ids::{ItemKey, SessionKey};
use super::ledger::Hunk;
use super::model::{Effects, Model, notify};
use super::project::Whole;
use super::reviews::FileReview;
use super::snapshot::HunkInfo;
use super::view::{Frame, Group, Line, ListItem, ListView, Patch, PreviewView, Span};

/// Text of a hunk's line longer than this is cut: it is there to tell one from another.
const MAX_TEXT: usize = 120;

/// Lines of a preview: a longer diff is for its own buffer.
const MAX_PREVIEW: usize = 1000;

/// The window of the review list, as far as the core knows of it.
#[derive(Debug, Default)]
pub struct ReviewList {
    /// The folder to which paths are relative; `None` while no window shows the list.
    cwd: Option<PathBuf>,
    is_dirty: bool,
    /// What a preview is wanted of.
    at: Option<ItemKey>,
    preview_is_dirty: bool,
    /// What was sent last, so that the same is not sent again.
    sent: Option<ListView>,
    previewed: Option<PreviewView>,
}

/// What a line of the list is for.
struct Item<'a> {
    key: ItemKey,
    path: &'a Path,
    file: &'a FileReview,
    /// Which of the file's hunks; `None` for the file itself.
    hunk: Option<usize>,
}

impl ReviewList {
    /// Tells whether a frame has something to bring.
    pub(super) fn is_dirty(&self) -> bool {
        self.cwd.is_some() && (self.is_dirty || self.preview_is_dirty)
    }

    /// Notes that a review has changed.
    pub(super) fn touch(&mut self) {
        self.is_dirty = true;
        self.preview_is_dirty = true;
    }
}

impl Model {
    /// Something has happened in the list's window.
    pub(super) fn list(&mut self, event: ListEvent, fx: &mut Effects) {
        match event {
            ListEvent::Opened { cwd } => {
                self.list = ReviewList {
                    cwd: Some(cwd),
                    is_dirty: true,
                    ..ReviewList::default()
                };
            }
            ListEvent::Closed => self.list = ReviewList::default(),
            ListEvent::At { item } => {
                self.list.at = item;
                self.list.preview_is_dirty = true;
            }
            ListEvent::Decide { action, items } => self.decide_items(action, &items, fx),
            ListEvent::Undo => self.undo_decision(fx),
        }
    }

    /// Accepts or rejects what stands in lines of the list.
    fn decide_items(&mut self, action: ReviewAction, keys: &[ItemKey], fx: &mut Effects) {
        let scopes = self.scopes_of(keys);
        if scopes.is_empty() && !keys.is_empty() {
            let text = "That has changed meanwhile: the list shows what is there now.";
            fx.push(notify(Level::Info, text));
        }
        self.reviews.begin_decision();
        for scope in scopes {
            self.review(action, scope, fx);
        }
    }

    /// Returns what is meant by lines of the list: whole files, or hunks that follow each other.
    fn scopes_of(&self, keys: &[ItemKey]) -> Vec<Scope> {
        let mut scopes: Vec<Scope> = Vec::new();
        for item in self.items() {
            if !keys.contains(&item.key) {
                continue;
            }
            let hunk = item.hunk.and_then(|at| item.file.info.get(at));
            let path = item.path.to_owned();
            let Some(hunk) = hunk else {
                scopes.push(Scope::File { path });
                continue;
            };
            let end = hunk.row + hunk.count;
            match scopes.last_mut() {
                // All of it is meant already.
                Some(Scope::File { path: last }) if *last == path => {}
                Some(Scope::Span { path: last, rows }) if *last == path => rows.end = end,
                _ => scopes.push(Scope::Span {
                    path,
                    rows: hunk.row..end,
                }),
            }
        }
        scopes
    }

    /// Returns the lines of the list that stand for something, from the top down.
    fn items(&self) -> Vec<Item<'_>> {
        let mut items = Vec::new();
        for (_, files) in self.by_session() {
            for (path, file) in files {
                items.push(Item {
                    key: key_of(path, None, 0),
                    path,
                    file,
                    hunk: None,
                });
                let mut alike: HashMap<u64, usize> = HashMap::new();
                for (at, hunk) in file.info.iter().enumerate() {
                    let nth = alike.entry(key_of(path, Some(hunk), 0).0).or_default();
                    items.push(Item {
                        key: key_of(path, Some(hunk), *nth),
                        path,
                        file,
                        hunk: Some(at),
                    });
                    *nth += 1;
                }
            }
        }
        items
    }

    /// Returns the files to be reviewed, by their sessions.
    fn by_session(&self) -> Vec<(SessionKey, Vec<(&Path, &FileReview)>)> {
        let mut groups: Vec<(SessionKey, Vec<(&Path, &FileReview)>)> = Vec::new();
        for (path, file) in self.reviews.iter() {
            if file.info.is_empty() && file.whole().is_empty() {
                continue;
            }
            let group = groups.iter_mut().find(|(key, _)| *key == file.session);
            match group {
                Some((_, files)) => files.push((path, file)),
                None => groups.push((file.session, vec![(path, file)])),
            }
        }
        groups.sort_by_key(|(key, _)| *key);
        groups
    }

    /// Brings the list and the preview up to date, if a window shows them.
    pub(super) fn list_patches(&mut self, frame: &mut Frame) {
        if self.list.cwd.is_none() {
            return;
        }
        if std::mem::take(&mut self.list.is_dirty) {
            let view = self.list_view();
            if self.list.sent.as_ref() != Some(&view) {
                self.list.sent = Some(view.clone());
                frame.patches.push(Patch::ReviewList(view));
            }
        }
        if std::mem::take(&mut self.list.preview_is_dirty) {
            let view = self.preview();
            if self.list.previewed.as_ref() != Some(&view) {
                self.list.previewed = Some(view.clone());
                frame.patches.push(Patch::ReviewPreview(view));
            }
        }
    }

    fn list_view(&self) -> ListView {
        let groups = self.by_session();
        let mut view = ListView::default();
        if groups.is_empty() {
            return empty_view();
        }
        let several = groups.len() > 1;
        let mut session = None;
        let (mut files, mut hunks) = (0, 0);
        for item in self.items() {
            if several && session != Some(item.file.session) {
                session = Some(item.file.session);
                if !view.lines.is_empty() {
                    view.push(Line::default(), None);
                }
                view.push(self.session_line(item.file.session), None);
            }
            let hunk = item.hunk.and_then(|at| item.file.info.get(at));
            let line = match hunk {
                Some(hunk) => {
                    hunks += 1;
                    hunk_line(hunk)
                }
                None => {
                    files += 1;
                    file_line(&self.relative(item.path), item.file)
                }
            };
            let is_gone = item.file.whole().contains(&Whole::Deleted);
            let shown = ListItem {
                key: item.key,
                path: item.path.to_owned(),
                row: hunk.map(|hunk| hunk.row),
                is_gone,
            };
            view.push(line, Some(shown));
        }
        view.title = vec![
            ("Review".into(), "AcpTitle"),
            (super::frame::plural(files, "file"), "AcpDim"),
            (super::frame::plural(hunks, "hunk"), "AcpSign"),
        ];
        view
    }

    fn session_line(&self, key: SessionKey) -> Line {
        let mut line = LineOf::default();
        match self.sessions.get(&key) {
            Some(session) => {
                line.put(&session.spec.name, "AcpTitle");
                if let Some(title) = &session.title {
                    line.put(" · ", "AcpDim");
                    line.put(title, "AcpDim");
                }
            }
            None => line.put("closed session", "AcpDim"),
        }
        line.0
    }

    fn relative(&self, path: &Path) -> String {
        let cwd = self.list.cwd.as_deref();
        let short = cwd.and_then(|cwd| path.strip_prefix(cwd).ok());
        short.unwrap_or(path).display().to_string()
    }

    fn preview(&self) -> PreviewView {
        let items = self.items();
        let found = items.iter().find(|item| Some(item.key) == self.list.at);
        let Some(item) = found else {
            return PreviewView::default();
        };
        let ledger = &item.file.ledger;
        let hunks: &[Hunk] = match item.hunk {
            Some(at) => ledger.hunks().get(at..at + 1).unwrap_or_default(),
            None => ledger.hunks(),
        };
        let mut lines = Vec::new();
        if item.hunk.is_none() {
            for whole in item.file.whole() {
                lines.push(diffview::whole(in_full(&whole), "AcpNotice"));
            }
        }
        let diff = diffview::hunks_lines(ledger.base(), ledger.current(), hunks, MAX_PREVIEW);
        lines.extend(diff);
        let mut title = self.relative(item.path);
        if let Some(hunk) = hunks.first().filter(|_| item.hunk.is_some()) {
            title.push_str(&format!(":{}", hunk.new.start + 1));
        }
        PreviewView { title, lines }
    }
}

impl ListView {
    fn push(&mut self, line: Line, item: Option<ListItem>) {
        self.lines.push(line);
        self.items.push(item);
    }
}

/// Returns what tells an item from all others, also when others above it come and go.
fn key_of(path: &Path, hunk: Option<&HunkInfo>, nth: usize) -> ItemKey {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    if let Some(hunk) = hunk {
        (&hunk.old, &hunk.new, hunk.state, nth).hash(&mut hasher);
    }
    ItemKey(hasher.finish())
}

fn empty_view() -> ListView {
    let mut view = ListView {
        title: vec![("Review".into(), "AcpTitle")],
        ..ListView::default()
    };
    for text in [
        "No change of the agent's to review.",
        "",
        "What it changes from now on",
        "appears here by itself.",
    ] {
        view.push(diffview::whole(text.into(), "AcpDim"), None);
    }
    view
}

/// A line that is put together piece by piece.
#[derive(Default)]
struct LineOf(Line);

impl LineOf {
    fn put(&mut self, text: &str, group: Group) {
        let at = |line: &Line| u32::try_from(line.text.len()).unwrap_or(u32::MAX);
        let start = at(&self.0);
        self.0.text.push_str(text);
        let end = at(&self.0);
        self.0.spans.push(Span { start, end, group });
    }
}

fn file_line(name: &str, file: &FileReview) -> Line {
    let mut line = LineOf::default();
    line.put(name, "AcpPath");
    let added: usize = file.info.iter().map(|hunk| hunk.new.len()).sum();
    let removed: usize = file.info.iter().map(|hunk| hunk.old.len()).sum();
    if added > 0 {
        line.put(&format!(" +{added}"), "AcpSign");
    }
    if removed > 0 {
        line.put(&format!(" -{removed}"), "AcpSignDelete");
    }
    for whole in file.whole() {
        line.put("  ", "AcpDim");
        line.put(&in_short(&whole), "AcpNotice");
    }
    line.0
}

fn hunk_line(hunk: &HunkInfo) -> Line {
    let mut line = LineOf::default();
    line.put(&format!("  {:>5} ", hunk.row + 1), "AcpDim");
    let (sign, group) = match (hunk.state, hunk.old.is_empty(), hunk.new.is_empty()) {
        ("pending", true, _) => ("+", "AcpSign"),
        ("pending", _, true) => ("-", "AcpSignDelete"),
        ("pending", ..) => ("~", "AcpSign"),
        _ => ("!", "AcpWarning"),
    };
    line.put(sign, group);
    let changed = hunk.new.iter().chain(&hunk.old);
    let first = changed
        .map(|text| text.trim())
        .find(|text| !text.is_empty());
    line.put(" ", "AcpDim");
    let text = cut(first.unwrap_or_default());
    line.0.text.push_str(&text);
    if hunk.state != "pending" {
        line.put(&format!("  {}", hunk.state), "AcpWarning");
    }
    line.0
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns what happened to a file as a whole, beside its name.
fn in_short(whole: &Whole) -> String {
    match whole {
        Whole::Created => "created".into(),
        Whole::Deleted => "deleted".into(),
        Whole::Moved(from) => format!("moved from {}", from.display()),
        Whole::Mode(before, after) => format!("mode {:o} → {:o}", before & 0o7777, after & 0o7777),
        Whole::Format(what) => what.clone(),
        Whole::Binary { .. } => "binary".into(),
        Whole::Link => "symbolic link".into(),
    }
}

/// Returns what happened to a file as a whole, in a sentence.
fn in_full(whole: &Whole) -> String {
    match whole {
        Whole::Created => "The agent has made this file: rejecting all of it deletes it.".into(),
        Whole::Deleted => "The agent has deleted this file: rejecting that brings it back.".into(),
        Whole::Moved(from) => format!("The agent has moved this file from {}.", from.display()),
        Whole::Mode(..) => format!(
            "The agent has changed its permissions: {}.",
            in_short(whole)
        ),
        Whole::Format(what) => format!("The agent has changed how it is written: {what}."),
        Whole::Binary { kept: true } => {
            "The agent has changed this file, which is no text; rejecting brings the old content \
             back."
                .into()
        }
        Whole::Binary { kept: false } => {
            "The agent has changed this file, which is no text; its old content was not kept."
                .into()
        }
        Whole::Link => "A symbolic link was made, changed or replaced here.".into(),
    }
}
