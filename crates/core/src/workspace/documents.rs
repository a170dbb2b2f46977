//! Mirrors of the file buffers Neovim has loaded, so that agents read without the main thread.
//!
//! Invariant: a document's text is the buffer's text at `state.tick`; `on_lines` keeps it so. A
//! buffer with a single empty line is an empty file, and its text has no lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::spine::event::{BufState, DiskFile, DiskText, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::text::format::{Encoding, Format, LineEnd};
use crate::text::{LineEdit, Text};

/// Above this number, edits are joined into one: each edit costs Neovim and the ledger a separate
/// step.
const MAX_EDITS: usize = 500;

/// A loaded file buffer.
#[derive(Debug, Clone)]
pub struct Document {
    /// The buffer's name, which may be a symbolic link to the file.
    pub name: PathBuf,
    /// The file's path with symbolic links resolved.
    pub path: PathBuf,
    pub text: Text,
    /// The text as Neovim last read or wrote it; `None` when the buffer was already modified when
    /// it was first reported, or has been renamed since.
    pub saved: Option<Text>,
    /// The file on disk that has the text `saved`, if that is certain.
    pub stamp: Option<Stamp>,
    /// The file that the last save has replaced without a merge.
    overwritten: Option<Stamp>,
    /// The text that a session has written in the running turn, if it was the last to be saved, beside
    /// lines of the user that it did not have.
    beside: Option<(SessionKey, Text)>,
    pub state: BufState,
}

impl Document {
    /// Returns whether the buffer had another name `before`, and the file that it has the text of was
    /// moved to the new one.
    pub fn is_moved_from(&self, before: &Document) -> bool {
        let is_its = before.stamp.is_none() || before.stamp == self.stamp;
        let is_other = before.name != self.name && before.path != self.path;
        is_other && self.stamp.is_some() && is_its
    }

    /// Returns whether an agent has written to the disk what this client has just saved for it, beside
    /// lines of the user: some agents write in both ways. It did not remove those lines.
    pub fn is_written_again(&self, by: Option<SessionKey>, there: &Text) -> bool {
        let beside = self.beside.as_ref();
        beside.is_some_and(|(key, text)| by == Some(*key) && text == there)
    }

    fn was_saved(&mut self, stamp: Option<Stamp>, overwritten: Option<Stamp>) {
        self.saved = Some(self.text.clone());
        self.stamp = stamp;
        self.overwritten = overwritten;
        self.beside = None;
        self.state.modified = false;
    }

    /// Returns `rows` of the text as it would be written.
    pub fn to_wire(&self, rows: Range<usize>) -> String {
        self.state.format.to_wire(&self.text, rows)
    }

    /// Returns edits of the text as edits of the buffer.
    ///
    /// They differ only where the text is empty or becomes empty: a buffer from which all lines are
    /// deleted is saved as a file of zero bytes, one with an empty line is not.
    pub fn to_buffer(&self, edits: Vec<LineEdit>) -> Vec<LineEdit> {
        if edits.is_empty() {
            return edits;
        }
        let mut after = self.text.clone();
        after.apply_all(&edits);
        let whole = |removed, lines| LineEdit {
            start: 0,
            removed,
            lines,
        };
        if after.is_empty() {
            vec![whole(self.text.len().max(1), Vec::new())]
        } else if self.text.is_empty() {
            vec![whole(1, after.to_lines(0..after.len()))]
        } else if edits.len() > MAX_EDITS {
            vec![in_one(&edits, self.text.len(), &after)]
        } else {
            edits
        }
    }

    /// Returns the buffer's encoding, if it reads files as Neovim does.
    pub fn encoding(&self) -> Encoding {
        let format = self.state.format;
        let text = self.saved.as_ref().unwrap_or(&self.text);
        match format.encoding {
            Encoding::Named(_) if format.encode(text).is_err() => Encoding::Other,
            encoding => encoding,
        }
    }

    /// Decodes the content of a file in the encoding of the buffer.
    pub fn decode(&self, bytes: &[u8]) -> DiskText {
        let (format, text) = Format::decode(bytes);
        let mut there = DiskText { text, format };
        there.read_in(self.encoding());
        there
    }

    /// Returns a file on disk as a buffer like this one reads it. The buffer's format settles what
    /// the file leaves open.
    ///
    /// ASCII is the same in every encoding here, and only the buffer knows about lines that end
    /// with CR.
    pub fn reads(&self, disk: &DiskText) -> DiskText {
        let mut read = disk.clone();
        if disk.text.is_ascii() {
            read.format.encoding = self.state.format.encoding;
        }
        let own = self.state.format.line_end;
        if disk.text.len() <= usize::from(!disk.format.final_newline) {
            // It has no line end.
            read.format.line_end = own;
        }
        let is_own = match (own, disk.format.line_end) {
            (LineEnd::Cr, _) => disk.text.len() <= 1,
            (LineEnd::Lf, LineEnd::CrLf) => self.shows_line_ends(),
            _ => false,
        };
        if is_own {
            let wire = disk.format.to_wire(&disk.text, 0..disk.text.len());
            read.format.line_end = own;
            (read.text, read.format.final_newline) = read.format.from_wire(&wire);
        }
        read
    }

    /// Returns whether every line of the file has a CR at its end in the buffer: the user has opened
    /// it with `++ff=unix`.
    fn shows_line_ends(&self) -> bool {
        let format = self.state.format;
        let saved = self.saved.as_ref();
        saved.is_some_and(|text| format.shows_line_ends(text))
    }

    /// Applies an edit of the buffer, and returns the matching edit of the text.
    fn edit(&mut self, edit: LineEdit) -> LineEdit {
        let removed = self.text.len();
        let was_empty = self.text.is_empty();
        if was_empty {
            self.text = Text::from_lines([""]);
        }
        self.text.apply(&edit);
        let is_empty = is_blank(&self.text);
        if is_empty {
            self.text = Text::default();
        }
        match was_empty || is_empty {
            true => LineEdit {
                start: 0,
                removed,
                lines: self.text.to_lines(0..self.text.len()),
            },
            false => edit,
        }
    }
}

/// Returns whether a buffer with this text is an empty file; a buffer always has a line.
fn is_blank(text: &Text) -> bool {
    text.len_bytes() <= 1
}

/// All documents, by buffer.
#[derive(Debug, Default)]
pub struct Documents {
    by_buf: BTreeMap<BufId, Document>,
    /// The buffers of a file, by its path.
    by_path: HashMap<PathBuf, BTreeSet<BufId>>,
    /// The buffers that have a link as their name.
    by_link: HashMap<PathBuf, BufId>,
    loading: BTreeMap<BufId, Loading>,
    /// The buffers that are let go until they are attached again: their names lead to other files.
    relinked: BTreeMap<BufId, Document>,
}

/// A buffer whose text arrives in slices, and the lines received so far.
#[derive(Debug)]
struct Loading {
    name: PathBuf,
    path: PathBuf,
    text: Text,
}

impl Documents {
    /// Adds a slice of a large buffer, from `row` on.
    pub fn load(&mut self, buf: BufId, name: PathBuf, path: PathBuf, row: usize, text: Text) {
        match self.loading.get_mut(&buf).filter(|_| row > 0) {
            Some(loading) => loading.text.append(text),
            None => {
                let loading = Loading { name, path, text };
                self.loading.insert(buf, loading);
            }
        }
    }

    /// Returns whether slices of a file's buffer are still missing.
    pub fn is_loading(&self, path: &Path) -> bool {
        let mut all = self.loading.values();
        all.any(|loading| loading.name == path || loading.path == path)
    }

    /// Adds a buffer; `text` begins at `row`, the lines above have been loaded. Returns it as it was
    /// let go, if it has unsaved lines and leads to the same file again.
    pub fn attach(
        &mut self,
        buf: BufId,
        name: PathBuf,
        path: PathBuf,
        (row, text): (usize, Text),
        state: BufState,
        stamp: Option<Stamp>,
    ) -> Option<Document> {
        let above = self.loading.remove(&buf).filter(|_| row > 0);
        let text = match above {
            Some(mut above) => {
                above.text.append(text);
                above.text
            }
            None => text,
        };
        let text = if is_blank(&text) {
            Text::default()
        } else {
            text
        };
        let mut document = Document {
            name,
            path,
            text,
            saved: None,
            stamp,
            overwritten: None,
            beside: None,
            state,
        };
        let gone = self.relinked.remove(&buf);
        let gone = gone.filter(|gone| state.modified && gone.path == document.path);
        document.saved = match self.by_buf.get(&buf).or(gone.as_ref()) {
            // The buffer was never read or written under this name.
            Some(known) if known.name != document.name && !document.is_moved_from(known) => None,
            // Nor was it read again.
            Some(known) if state.modified || stamp.is_none() => known.saved.clone(),
            None if state.modified => None,
            _ => Some(document.text.clone()),
        };
        self.put(buf, document);
        gone
    }

    pub fn detach(&mut self, buf: BufId) -> Option<Document> {
        self.loading.remove(&buf);
        self.relinked.remove(&buf);
        self.take(buf)
    }

    fn put(&mut self, buf: BufId, document: Document) {
        self.take(buf);
        self.relinked.remove(&buf);
        let bufs = self.by_path.entry(document.path.clone());
        bufs.or_default().insert(buf);
        if document.name != document.path {
            self.by_link.insert(document.name.clone(), buf);
        }
        self.by_buf.insert(buf, document);
    }

    fn take(&mut self, buf: BufId) -> Option<Document> {
        let document = self.by_buf.remove(&buf)?;
        if let Some(bufs) = self.by_path.get_mut(&document.path) {
            bufs.remove(&buf);
            if bufs.is_empty() {
                self.by_path.remove(&document.path);
            }
        }
        if self.by_link.get(&document.name) == Some(&buf) {
            self.by_link.remove(&document.name);
        }
        Some(document)
    }

    /// Applies an edit reported by Neovim, and returns the matching edit of the document's text;
    /// `None` if the document is not loaded yet.
    pub fn edit(&mut self, buf: BufId, tick: u64, edit: LineEdit) -> Option<LineEdit> {
        if let Some(loading) = self.loading.get_mut(&buf) {
            loading.text.apply(&edit);
            return None;
        }
        let is_gone = self.relinked.contains_key(&buf);
        let document = self.known_mut(buf)?;
        document.state.tick = tick;
        document.state.modified = true;
        Some(document.edit(edit)).filter(|_| !is_gone)
    }

    pub fn set_state(&mut self, buf: BufId, state: BufState) {
        if let Some(document) = self.known_mut(buf) {
            document.state = state;
        }
    }

    fn known_mut(&mut self, buf: BufId) -> Option<&mut Document> {
        let open = self.by_buf.get_mut(&buf);
        open.or_else(|| self.relinked.get_mut(&buf))
    }

    /// Notes that Neovim has saved a buffer, and the file that this has replaced without a merge.
    pub fn set_saved(&mut self, buf: BufId, stamp: Option<Stamp>, overwritten: Option<Stamp>) {
        if let Some(document) = self.by_buf.get_mut(&buf) {
            document.was_saved(stamp, overwritten);
        }
    }

    /// Returns whether a buffer was let go, or its name leads to a file with another path.
    pub fn is_elsewhere(&self, buf: BufId, real: &Path) -> bool {
        let open = self.by_buf.get(&buf);
        open.is_some_and(|open| open.path != real) || self.relinked.contains_key(&buf)
    }

    /// Notes that Neovim has saved a buffer that was let go to the file that its name leads to now, and
    /// returns it.
    pub fn saved_elsewhere(
        &mut self,
        buf: BufId,
        real: PathBuf,
        stamp: Option<Stamp>,
    ) -> Option<Document> {
        let gone = self.relinked.get_mut(&buf)?;
        gone.path = real;
        gone.was_saved(stamp, None);
        Some(gone.clone())
    }

    /// Returns whether a file was read before a save replaced it.
    pub fn is_overwritten(&self, disk: &DiskFile) -> bool {
        self.find(&disk.real).is_some_and(|(_, document)| {
            disk.stamp.is_some()
                && disk.stamp == document.overwritten
                && disk.stamp != document.stamp
        })
    }

    /// Records the buffer's tick after all changes up to it have been reported.
    pub fn catch_up(&mut self, buf: BufId, tick: u64) {
        if let Some(document) = self.by_buf.get_mut(&buf) {
            document.state.tick = tick;
        }
    }

    /// Renames a document after its file was moved.
    pub fn rename(&mut self, buf: BufId, path: &Path) {
        if let Some(document) = self.take(buf) {
            let (name, path) = (path.to_owned(), path.to_owned());
            let document = Document {
                name,
                path,
                ..document
            };
            self.put(buf, document);
        }
    }

    /// Records the text that another program has written to the file.
    pub fn set_disk(&mut self, buf: BufId, text: Text, stamp: Option<Stamp>) {
        if let Some(document) = self.by_buf.get_mut(&buf) {
            document.saved = Some(text);
            document.stamp = stamp;
            document.beside = None;
        }
    }

    /// Notes that the text a session has written was saved beside lines of the user that it did not have.
    pub fn set_beside(&mut self, path: &Path, session: SessionKey, text: Text) {
        let found = self.find(path).map(|(buf, _)| buf);
        if let Some(document) = found.and_then(|buf| self.by_buf.get_mut(&buf)) {
            document.beside = Some((session, text));
        }
    }

    /// Notes that another turn of a session begins: what its agent writes from now on may be about
    /// these lines.
    pub fn forget_beside(&mut self, session: SessionKey) {
        for document in self.by_buf.values_mut() {
            document.beside.take_if(|(key, _)| *key == session);
        }
    }

    /// Records the file that a buffer was read from before it was attached, if the file's present
    /// text is the text that was read.
    pub fn recognise(&mut self, buf: BufId, content: &DiskText, stamp: Option<Stamp>) {
        if let Some(document) = self.by_buf.get_mut(&buf)
            && document.stamp.is_none()
            && document.saved.as_ref() == Some(&document.reads(content).text)
        {
            document.stamp = stamp;
        }
    }

    pub fn get(&self, buf: BufId) -> Option<&Document> {
        self.by_buf.get(&buf)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Document> {
        self.by_buf.values()
    }

    /// Returns the buffers with such a name and such a path of their file; those that are let go have
    /// none.
    pub fn left(&self, is_left: impl Fn(&Path, Option<&Path>) -> bool) -> Vec<BufId> {
        let open = self.by_buf.iter();
        let open = open.filter(|(_, open)| is_left(&open.name, Some(&open.path)));
        let gone = self.relinked.iter();
        let gone = gone.filter(|(_, gone)| is_left(&gone.name, None));
        let gone = gone.map(|(buf, _)| *buf);
        open.map(|(buf, _)| *buf).chain(gone).collect()
    }

    /// Lets go of a buffer whose name leads to another file, until it is attached again.
    pub fn let_go(&mut self, buf: BufId) -> Option<Document> {
        let earlier = self.relinked.remove(&buf);
        let document = self.detach(buf);
        let gone = document.clone().or(earlier);
        self.relinked.extend(gone.map(|gone| (buf, gone)));
        document
    }

    /// Returns the document of a file, by the file's path.
    pub fn find(&self, path: &Path) -> Option<(BufId, &Document)> {
        let buf = *self.by_path.get(path)?.first()?;
        Some((buf, self.by_buf.get(&buf)?))
    }

    /// Returns the document that has a link as its name.
    pub fn of_link(&self, link: &Path) -> Option<(BufId, &Document)> {
        let buf = *self.by_link.get(link)?;
        Some((buf, self.by_buf.get(&buf)?))
    }

    /// Returns the document of a file, by the file's path or by a link to it.
    pub fn named(&self, name: &Path) -> Option<(BufId, &Document)> {
        self.find(name).or_else(|| self.of_link(name))
    }
}

/// Joins edits of a text of `len` lines into one; `after` is the result.
fn in_one(edits: &[LineEdit], len: usize, after: &Text) -> LineEdit {
    let start = edits.first().map_or(0, |edit| edit.start);
    let end = edits.last().map_or(len, |edit| edit.start + edit.removed);
    // Below the last edit both texts are the same.
    let below = len.saturating_sub(end);
    LineEdit {
        start,
        removed: end - start,
        lines: after.to_lines(start..after.len().saturating_sub(below)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUF: BufId = BufId(1);

    fn document(lines: &[&str]) -> Documents {
        let state = BufState {
            tick: 1,
            modified: false,
            readonly: false,
            format: Default::default(),
        };
        let mut documents = Documents::default();
        let path = PathBuf::from("/a");
        let text = Text::from_lines(lines);
        documents.attach(BUF, path.clone(), path, (0, text), state, None);
        documents
    }

    fn edit(start: usize, removed: usize, lines: &[&str]) -> LineEdit {
        LineEdit {
            start,
            removed,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    /// Checks the result of a buffer's edit, and that the edit of the text gives the same result.
    #[track_caller]
    fn check_edit(before: &[&str], made: LineEdit, after: &[&str]) {
        let mut documents = document(before);
        let text = |documents: &Documents| documents.get(BUF).expect("it is there").text.clone();
        let mut follower = text(&documents);
        let effective = documents.edit(BUF, 2, made).expect("it is there");
        assert_eq!(text(&documents), Text::from_lines(after));
        follower.apply(&effective);
        assert_eq!(follower, text(&documents));
    }

    #[test]
    fn a_file_is_found_by_its_path_and_by_the_link_that_its_buffer_has_as_a_name() {
        let mut documents = document(&["a"]);
        let found = |documents: &Documents, name: &str| {
            let found = documents.find(Path::new(name));
            found.map(|(buf, _)| buf.0)
        };
        let named = |documents: &Documents, name: &str| {
            let found = documents.named(Path::new(name));
            found.map(|(buf, _)| buf.0)
        };
        let state = documents.get(BUF).expect("it is there").state;
        let (link, real) = (PathBuf::from("/link"), PathBuf::from("/a"));
        documents.attach(BufId(2), link, real, (0, Text::default()), state, None);
        assert_eq!(found(&documents, "/a"), Some(1));
        assert_eq!(found(&documents, "/link"), None);
        assert_eq!(named(&documents, "/link"), Some(2));
        assert_eq!(named(&documents, "/a"), Some(1));
        documents.rename(BUF, Path::new("/b"));
        assert_eq!(found(&documents, "/b"), Some(1));
        assert_eq!(found(&documents, "/a"), Some(2));
        documents.detach(BufId(2));
        assert_eq!(found(&documents, "/a"), None);
        assert_eq!(named(&documents, "/link"), None);
    }

    #[test]
    fn edits_are_followed() {
        check_edit(&["a", "b"], edit(1, 1, &["c"]), &["a", "c"]);
        check_edit(&["a", "b"], edit(0, 1, &[""]), &["", "b"]);
        check_edit(&["a"], edit(1, 0, &[""]), &["a", ""]);
    }

    #[test]
    fn a_buffer_with_an_empty_line_alone_is_an_empty_text() {
        check_edit(&["a", "b"], edit(0, 2, &[]), &[]);
        check_edit(&["a"], edit(0, 1, &[""]), &[]);
        check_edit(&[""], edit(0, 1, &["a"]), &["a"]);
        check_edit(&[""], edit(1, 0, &["a"]), &["", "a"]);
        check_edit(&["", "a"], edit(1, 1, &[]), &[]);
        check_edit(&[""], edit(0, 1, &["a", "b"]), &["a", "b"]);
    }

    #[test]
    fn a_large_buffer_comes_in_slices_while_it_is_edited() {
        let mut documents = Documents::default();
        let path = || PathBuf::from("/a");
        let state = document(&[]).get(BUF).expect("it is there").state;
        let text = |lines: &[&str]| Text::from_lines(lines);
        documents.load(BUF, path(), path(), 0, text(&["old"]));
        documents.load(BUF, path(), path(), 0, text(&["a", "b"]));
        assert!(documents.is_loading(Path::new("/a")));
        assert!(documents.edit(BUF, 2, edit(1, 0, &["new"])).is_none());
        documents.load(BUF, path(), path(), 3, text(&["c"]));
        documents.attach(BUF, path(), path(), (4, text(&["d"])), state, None);
        assert!(!documents.is_loading(Path::new("/a")));
        let there = &documents.get(BUF).expect("it is there").text;
        assert_eq!(*there, text(&["a", "new", "b", "c", "d"]));
        // A new text without slices replaces the loaded lines.
        documents.load(BUF, path(), path(), 0, text(&["x"]));
        documents.attach(BUF, path(), path(), (0, text(&["y"])), state, None);
        assert_eq!(documents.get(BUF).expect("it is there").text, text(&["y"]));
    }

    #[test]
    fn very_many_edits_are_made_as_one() {
        let lines: Vec<String> = (0..3 * MAX_EDITS).map(|n| format!("line {n}")).collect();
        let documents = document(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let document = documents.get(BUF).expect("it is there");
        let edits: Vec<LineEdit> = (1..=MAX_EDITS + 1)
            .map(|n| edit(2 * n, 1, &["changed", "twice"]))
            .collect();
        let mut want = document.text.clone();
        want.apply_all(&edits);
        let made = document.to_buffer(edits);
        let [one] = made.as_slice() else {
            panic!("{} edits", made.len());
        };
        assert_eq!((one.start, one.start + one.removed), (2, 2 * MAX_EDITS + 3));
        let mut text = document.text.clone();
        text.apply(one);
        assert_eq!(text, want);
    }

    #[track_caller]
    fn check_to_buffer(text: &[&str], made: LineEdit, want: LineEdit) {
        let documents = document(text);
        let document = documents.get(BUF).expect("it is there");
        assert_eq!(document.to_buffer(vec![made]), [want]);
    }

    #[test]
    fn edits_of_a_text_are_edits_of_its_buffer() {
        check_to_buffer(&["a", "b"], edit(1, 1, &["c"]), edit(1, 1, &["c"]));
        check_to_buffer(&["a", "b"], edit(0, 2, &[]), edit(0, 2, &[]));
        check_to_buffer(&[""], edit(0, 0, &["a"]), edit(0, 1, &["a"]));
        check_to_buffer(&["a"], edit(0, 1, &[""]), edit(0, 1, &[""]));
        assert!(
            document(&["a"])
                .get(BUF)
                .expect("it is there")
                .to_buffer(vec![])
                .is_empty()
        );
    }
}
