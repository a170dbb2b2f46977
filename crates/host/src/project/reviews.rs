//! Stores the reviews of a Neovim for the next one.
//!
//! A turn that ran when its Neovim ended may have changed more than its reviews hold: files that
//! differ from the turn's beginning get a review, and those that differ from their review get that
//! as well. The user's saves are recognised by their stamps, and changes after the agents' end
//! by their time.
//!
//! Invariant: a review is taken over once. The new owner writes it to disk before it removes the
//! old file, so a crash in between loses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::checkpoints;
use super::codec::{seal, unseal};
use super::lease::{Ended, Lease, ended};
use super::manifest::{Entries, decode as decode_manifest};
use super::reading::{Exhausted, nanoseconds};
use super::store::{Loss, Store, Sync, write_private};
use acp_core::spine::event::Stamp;
use acp_core::spine::project::{Blob, Body, FileChange, FileState, KeptReview};
use acp_core::text::diff::{diff, merge};
use acp_core::text::format::Format;
use acp_core::text::{Text, moved};
use acp_edge::panics::lock;
use acp_edge::paths::is_exhausted;

/// The first bytes of a file of reviews; the last one is the version.
const MAGIC: &[u8; 8] = b"acprevw6";

/// The same of the version before, which is still read.
const BEFORE: &[u8; 8] = b"acprevw5";

/// Stores this Neovim's reviews of one project.
#[derive(Debug)]
pub(super) struct Keeper {
    root: PathBuf,
    store: Arc<Store>,
    /// Held during a write.
    own: Mutex<Own>,
    /// Changes to write next.
    waiting: Mutex<Waiting>,
    /// The time of the last write.
    written: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Reviews by path, `None` for one that has ended.
    reviews: BTreeMap<PathBuf, Option<KeptReview>>,
    /// What the user saved while turns ran.
    saved: Vec<Stamp>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.reviews.is_empty() && self.saved.is_empty()
    }
}

/// This Neovim's stored reviews.
#[derive(Debug, Default)]
struct Own {
    /// Set on first use.
    lease: Option<Arc<Lease>>,
    /// All reviews to store, by path, including those taken over.
    reviews: BTreeMap<PathBuf, Record>,
    /// What the user saved while turns ran.
    saved: Vec<Stamp>,
    /// The file lacks some of it, because it could not be written.
    is_unwritten: bool,
}

/// The reviews of Neovims that have ended; other Neovims cannot take them over at the same time.
#[derive(Debug, Default)]
pub(super) struct Left {
    ended: Vec<(Ended, Stored)>,
}

impl Left {
    /// Returns the state of the files at the beginning of the first turn that was cut.
    ///
    /// # Errors
    /// The system is exhausted.
    pub(super) fn cut_turn(&self) -> Result<Option<Entries>, Exhausted> {
        for turn in self.ended.iter().filter_map(|(ended, _)| ended.cut_turn()) {
            let bytes = Exhausted::check(fs::read(turn.checkpoint))?;
            if let Some(entries) = bytes.and_then(|bytes| decode_manifest(&bytes)) {
                return Ok(Some(entries));
            }
        }
        Ok(None)
    }
}

impl Keeper {
    /// Returns the keeper of a root; it does nothing yet.
    pub(super) fn new(root: &Path, store: Arc<Store>) -> Self {
        Self {
            root: root.to_owned(),
            store,
            own: Mutex::default(),
            waiting: Mutex::default(),
            written: Mutex::default(),
        }
    }

    /// Queues reviews to store, each replacing the earlier one of its file, and reviews that have
    /// ended. Returns whether the caller must schedule a write; otherwise one is scheduled already.
    pub(super) fn note(
        &self,
        files: Vec<KeptReview>,
        over: Vec<PathBuf>,
        saved: Option<Stamp>,
    ) -> bool {
        let mut waiting = lock(&self.waiting);
        let is_first = waiting.is_empty();
        let over = over.into_iter().map(|path| (path, None));
        waiting.reviews.extend(over);
        let files = files.into_iter();
        let files = files.map(|file| (file.path.clone(), Some(file)));
        waiting.reviews.extend(files);
        waiting.saved.extend(saved);
        is_first && !waiting.is_empty()
    }

    /// Returns the time to wait for further changes: none, unless the last write was recent.
    pub(super) fn pause(&self) -> Duration {
        let written = *lock(&self.written);
        let past = written.map_or(Duration::MAX, |written| written.elapsed());
        self.store.limits.keep_after.saturating_sub(past)
    }

    /// Writes the queued changes, and those that could not be written before.
    ///
    /// # Errors
    /// A sentence; the earlier file is unchanged in that case.
    pub(super) fn flush(&self) -> Result<(), String> {
        let mut own = lock(&self.own);
        match self.take_noted(&mut own) || own.is_unwritten {
            true => self.write(&mut own),
            false => Ok(()),
        }
    }

    /// Applies the queued changes; returns whether there were any.
    fn take_noted(&self, own: &mut Own) -> bool {
        // Taken under the lock, so that the last writer writes the latest changes.
        let noted = std::mem::take(&mut *lock(&self.waiting));
        // Without a turn there is nothing to tell them from.
        let has_turn = own.lease.as_ref().is_some_and(|lease| lease.has_turn());
        let saved = noted.saved.into_iter().filter(|_| has_turn);
        let before = own.saved.len();
        own.saved.extend(saved);
        let any = !noted.reviews.is_empty() || own.saved.len() > before;
        for (path, review) in noted.reviews {
            match review {
                Some(review) => drop(own.reviews.insert(path, Record::new(review))),
                None => drop(own.reviews.remove(&path)),
            }
        }
        any
    }

    /// States that turns run from now on, and the checkpoint at their beginning.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn turns_run(&self, checkpoint: &Path) -> Result<(), String> {
        let lease = self.lease()?;
        lease
            .turns_run(checkpoint)
            .map_err(|error| self.words(&error))
    }

    /// States that all that the last turns changed is under review; the reviews are written first.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn turns_are_over(&self) -> Result<(), String> {
        self.flush()?;
        let mut own = lock(&self.own);
        let lease = self.begun(&mut own)?;
        lease.turns_are_over().map_err(|error| self.words(&error))?;
        match std::mem::take(&mut own.saved).is_empty() {
            true => Ok(()),
            false => self.write(&mut own),
        }
    }

    /// States that no agent runs from now on, and writes the queued changes.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn agents_have_ended(&self) -> Result<(), String> {
        // To write may take long, and what changes meanwhile is not the agents'.
        let stated = match &lock(&self.own).lease {
            Some(lease) => lease.agents_have_ended(),
            None => Ok(()),
        };
        self.flush()?;
        stated.map_err(|error| self.words(&error))
    }

    /// Returns what Neovims that have ended have left here.
    ///
    /// # Errors
    /// The system is exhausted; all stays where it is.
    pub(super) fn left(&self) -> Result<Left, Exhausted> {
        let mut left = Left::default();
        for ended in ended(&self.folder())? {
            // An unknown format may belong to a newer version, so it is left alone.
            if let Some(stored) = self.read(&ended.reviews())? {
                left.ended.push((ended, stored));
            }
        }
        Ok(left)
    }

    /// Takes over what other Neovims have left, and returns all stored reviews; `changes` are the
    /// differences between the cut turn's beginning and now.
    ///
    /// # Errors
    /// The system is exhausted, or a sentence; the reviews stay where they are in both cases.
    pub(super) fn take_over(
        &self,
        left: &Left,
        changes: Vec<FileChange>,
    ) -> Result<Result<Vec<KeptReview>, String>, Exhausted> {
        let mut own = lock(&self.own);
        self.take_noted(&mut own);
        if let Err(why) = self.begun(&mut own) {
            return Ok(Err(why));
        }
        let mut taken: BTreeMap<PathBuf, Record> = BTreeMap::new();
        let mut cut = Cut::default();
        for (one, stored) in &left.ended {
            let turn = one.cut_turn();
            // A killed Neovim's agents may have gone on for any time.
            let end = turn.map(|turn| turn.ended.unwrap_or(i128::MAX));
            cut.ended = cut.ended.max(end);
            cut.saved.extend(&stored.saved);
            for record in &stored.records {
                self.add(&mut taken, record)?;
            }
        }
        let moved = taken.values().filter_map(|taken| taken.review.from.clone());
        cut.moved = moved.collect();
        for change in changes {
            self.add_change(&mut taken, change, &cut)?;
        }
        let is_any_taken = !taken.is_empty();
        for record in own.reviews.values() {
            self.add(&mut taken, record)?;
        }
        let mut all = Vec::new();
        for record in taken.values() {
            let mut review = record.review(&self.store)?;
            if let Some(blob) = blob_of(&review.now)
                && let Some(stamp) = self.store.stamp_of(&review.path, blob)?
            {
                review.now.stamp = Some(stamp);
            }
            all.push(review);
        }
        own.reviews = taken;
        if is_any_taken && let Err(why) = self.write(&mut own) {
            return Ok(Err(why));
        }
        for (ended, _) in &left.ended {
            ended.forget();
        }
        Ok(Ok(all))
    }

    /// Adds a review; one file's reviews by several Neovims become one.
    fn add(&self, taken: &mut BTreeMap<PathBuf, Record>, record: &Record) -> Result<(), Exhausted> {
        let path = &record.review.path;
        let record = match taken.get(path) {
            Some(older) => {
                let (older, newer) = (older.review(&self.store)?, record.review(&self.store)?);
                Record::new(both(older, newer))
            }
            None => record.clone(),
        };
        taken.insert(path.clone(), record);
        Ok(())
    }

    /// Adds a change since the cut turn's beginning, unless it is not the agent's.
    fn add_change(
        &self,
        taken: &mut BTreeMap<PathBuf, Record>,
        change: FileChange,
        cut: &Cut,
    ) -> Result<(), Exhausted> {
        let from = change.from.clone().filter(|from| taken.contains_key(from));
        let name = from.as_ref().unwrap_or(&change.path);
        let Some(record) = taken.remove(name) else {
            let is_moved = change.after.is_missing() && cut.moved.contains(&change.path);
            if cut.is_agents(&change.after) && !is_moved {
                let review = KeptReview {
                    current: change.after.text(),
                    alone: None,
                    now: change.after.with_text(&Text::default()),
                    path: change.path.clone(),
                    from: change.from,
                    accepted: None,
                    base: change.before,
                    offers: Vec::new(),
                    is_uncommitted: false,
                };
                taken.insert(change.path, Record::new(review));
            }
            return Ok(());
        };
        let mut review = record.review(&self.store)?;
        let is_known = review.now.stamp == change.after.stamp && from.is_none();
        if is_known || !cut.is_agents(&change.after) {
            taken.insert(review.path.clone(), record);
            return Ok(());
        }
        review.path = change.path.clone();
        review.from = review.from.or(change.from);
        if let (Some(old), Some(new)) = (&review.current, change.after.text()) {
            let since = diff(old, &new);
            if let Some(alone) = &mut review.alone {
                *alone = merge(old, alone, &new).with_theirs(alone);
            }
            for offer in &mut review.offers {
                let Range { start, end } = offer.rows;
                offer.rows = moved(start, &since)..moved(end, &since);
            }
        }
        review.current = change.after.text().or(review.current);
        review.now = change.after.with_text(&Text::default());
        taken.insert(change.path, Record::new(review));
        Ok(())
    }

    /// Returns this Neovim's lease on the project.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn lease(&self) -> Result<Arc<Lease>, String> {
        self.begun(&mut lock(&self.own))
    }

    fn begun(&self, own: &mut Own) -> Result<Arc<Lease>, String> {
        if let Some(lease) = &own.lease {
            return Ok(Arc::clone(lease));
        }
        let begun = Lease::begin(&self.folder()).map_err(|error| self.words(&error))?;
        Ok(Arc::clone(own.lease.insert(Arc::new(begun))))
    }

    /// Writes this Neovim's reviews, replacing the earlier file; removes the file if there are
    /// none.
    fn write(&self, own: &mut Own) -> Result<(), String> {
        own.is_unwritten = true;
        let path = self.begun(own)?.reviews();
        let written = match own.reviews.is_empty() && own.saved.is_empty() {
            true => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            false => {
                let reviews = own.reviews.values_mut();
                let mut kept = reviews.map(|record| record.put(&self.store));
                let kept = kept.try_for_each(|kept| kept);
                let encoded = kept.and_then(|()| encode(&self.root, own));
                encoded.and_then(|bytes| write_private(&path, &bytes, Sync::Now))
            }
        };
        *lock(&self.written) = Some(Instant::now());
        own.is_unwritten = written.is_err();
        written.map_err(|error| self.words(&error))
    }

    /// Returns what a file holds, with paths below this root; `None` if it cannot be read or
    /// decoded.
    fn read(&self, path: &Path) -> Result<Option<Stored>, Exhausted> {
        let read = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(Stored::default()));
            }
            read => Exhausted::check(read)?,
        };
        let Some(mut stored) = read.and_then(|bytes| decode(&bytes)) else {
            return Ok(None);
        };
        let here = |path: &Path| match path.strip_prefix(&stored.root) {
            Ok(below) => self.root.join(below),
            Err(_) => path.to_owned(),
        };
        for record in &mut stored.records {
            let review = &mut record.review;
            review.path = here(&review.path);
            review.from = review.from.as_deref().map(here);
        }
        Ok(Some(stored))
    }

    fn folder(&self) -> PathBuf {
        checkpoints::folder(&self.store, &acp_edge::paths::resolved(&self.root))
    }

    fn words(&self, error: &io::Error) -> String {
        format!(
            "The reviews in {} are not saved for the next Neovim: {error}; check {}.",
            self.root.display(),
            self.store.folder().display()
        )
    }
}

/// Returns the contents that stored reviews refer to.
///
/// # Errors
/// The file cannot be read or decoded, so its contents are unknown.
pub(super) fn needs(path: &Path) -> io::Result<Vec<Blob>> {
    let bytes = fs::read(path)?;
    let stored = decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    let blobs = |record: Record| {
        let now = blob_of(&record.review.now);
        [
            record.blob,
            record.accepted,
            record.current,
            record.alone,
            now,
        ]
        .into_iter()
        .flatten()
    };
    let blobs = stored.records.into_iter().flat_map(blobs);
    Ok(blobs.collect())
}

/// A review as stored: its texts are in the store, named by the blobs.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    review: KeptReview,
    blob: Option<Blob>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted: Option<Blob>,
    current: Option<Blob>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alone: Option<Blob>,
}

impl Record {
    fn new(review: KeptReview) -> Self {
        Self {
            blob: blob_of(&review.base),
            review,
            accepted: None,
            current: None,
            alone: None,
        }
    }

    /// Stores the texts, unless that has been done.
    fn put(&mut self, store: &Store) -> io::Result<()> {
        // Stored as plain lines, so the format need not be detected again.
        let put = |text: &Text| store.put(text.to_string().as_bytes());
        if let (Body::Text(text), None) = (&mut self.review.base.body, self.blob) {
            self.blob = Some(put(&text.text)?);
            text.text = Text::default();
        }
        let texts = [
            (&mut self.review.accepted, &mut self.accepted),
            (&mut self.review.current, &mut self.current),
            (&mut self.review.alone, &mut self.alone),
        ];
        for (text, blob) in texts {
            if let Some(there) = text {
                *blob = Some(put(there)?);
                *text = None;
            }
        }
        Ok(())
    }

    /// Returns the review with its texts, as far as they can be read.
    ///
    /// # Errors
    /// The system is exhausted: an unreadable part of a review would be lost once the core has it.
    fn review(&self, store: &Store) -> Result<KeptReview, Exhausted> {
        let mut review = self.review.clone();
        let get = |blob| match store.get(blob) {
            Err(Loss::Io(error)) if is_exhausted(&error) => Err(Exhausted),
            content => Ok(content),
        };
        if let (Body::Text(text), Some(blob)) = (&mut review.base.body, self.blob) {
            match get(blob)? {
                Ok(bytes) => text.text = text_of(&bytes),
                Err(loss) => review.base.body = Body::Unreadable(loss.words()),
            }
        }
        if let Some(blob) = self.accepted {
            match get(blob)? {
                Ok(bytes) => review.accepted = Some(text_of(&bytes)),
                Err(loss) => review.base.body = Body::Unreadable(loss.words()),
            }
        }
        if let Some(blob) = self.current {
            // Without it, the review restarts from the current content.
            review.current = get(blob)?.ok().map(|bytes| text_of(&bytes));
        }
        if let Some(blob) = self.alone {
            // Without it, all changes are the agent's.
            review.alone = get(blob)?.ok().map(|bytes| text_of(&bytes));
        }
        Ok(review)
    }
}

/// Returns the name of a binary file's content, if it is stored.
fn blob_of(state: &FileState) -> Option<Blob> {
    match state.body {
        Body::Bytes { blob, .. } => blob,
        _ => None,
    }
}

fn text_of(bytes: &[u8]) -> Text {
    Text::from_text(&String::from_utf8_lossy(bytes))
}

/// What a file of reviews holds.
#[derive(Debug, Default)]
struct Stored {
    /// The root of the paths.
    root: PathBuf,
    records: Vec<Record>,
    saved: Vec<Stamp>,
}

/// What tells the agent's changes from others, after a turn was cut.
#[derive(Debug, Default)]
struct Cut {
    /// What the user saved while the turn ran.
    saved: Vec<Stamp>,
    /// When the last agent had ended.
    ended: Option<i128>,
    /// Where files were before a move that is under review.
    moved: BTreeSet<PathBuf>,
}

impl Cut {
    fn is_agents(&self, after: &FileState) -> bool {
        let Some(stamp) = after.stamp else {
            return true;
        };
        let is_later = |ended| nanoseconds(stamp.modified) > ended;
        !self.saved.contains(&stamp) && !self.ended.is_some_and(is_later)
    }
}

/// Returns the one review of a file that has two, each with the other's hunks as accepted text.
fn both(older: KeptReview, newer: KeptReview) -> KeptReview {
    let time = |review: &KeptReview| review.now.stamp.map(|stamp| stamp.modified);
    let last = match time(&older) > time(&newer) {
        true => older.clone(),
        false => newer.clone(),
    };
    let is_lost = |review: &KeptReview| {
        review.current.is_none() || matches!(review.base.body, Body::Unreadable(_))
    };
    if is_lost(&older) || is_lost(&newer) {
        // Their hunks cannot be told from other changes, so all since the older one is under review.
        return KeptReview {
            from: older.from.or(last.from),
            base: older.base,
            ..last
        };
    }
    let mut one = older.clone();
    let (Some(now), Body::Text(base)) = (&last.current, &mut one.base.body) else {
        return one;
    };
    let as_of_now = |review: &KeptReview| {
        let mut base = review.base.text()?;
        base.apply_all(&merge(review.current.as_ref()?, &base, now).edits);
        Some(base)
    };
    let (Some(mine), Some(other)) = (as_of_now(&older), as_of_now(&newer)) else {
        return one;
    };
    base.text = mine;
    base.text.apply_all(&merge(now, &base.text, &other).edits);
    KeptReview {
        from: one.from.or(last.from),
        base: one.base,
        ..last
    }
}

/// Encodes reviews whose texts are in the store.
fn encode(root: &Path, own: &Own) -> io::Result<Vec<u8>> {
    let records: Vec<&Record> = own.reviews.values().collect();
    let json = serde_json::to_vec(&(root.as_os_str(), records, &own.saved))?;
    Ok(seal(MAGIC, &json))
}

/// Returns what a file holds; nothing for one of an older version.
fn decode(bytes: &[u8]) -> Option<Stored> {
    if is_older(bytes) {
        return Some(Stored::default());
    }
    let json = match bytes.starts_with(BEFORE) {
        true => upgraded(&unseal(BEFORE, bytes)?)?,
        false => unseal(MAGIC, bytes)?,
    };
    let (root, records, saved): (OsString, _, _) = serde_json::from_slice(&json).ok()?;
    Some(Stored {
        root: root.into(),
        records,
        saved,
    })
}

/// Returns the reviews of the version before, which had the state `now` in four fields.
fn upgraded(json: &[u8]) -> Option<Vec<u8>> {
    let mut all: Value = serde_json::from_slice(json).ok()?;
    for record in all.get_mut(1)?.as_array_mut()? {
        let review = record.get_mut("review")?.as_object_mut()?;
        let format = review.get("base")?.pointer("/body/Text/format").cloned();
        let mut format = format.unwrap_or(json!(Format::default()));
        if let Some(encoding) = review.remove("encoding") {
            format["encoding"] = encoding;
        }
        let body = match review.remove("now")? {
            kind if kind == "File" => json!({ "Text": { "format": format } }),
            body => body,
        };
        let (mode, stamp) = (review.remove("mode")?, review.remove("stamp")?);
        let now = json!({ "body": body, "mode": mode, "stamp": stamp });
        review.insert("now".to_owned(), now);
    }
    serde_json::to_vec(&all).ok()
}

fn is_older(bytes: &[u8]) -> bool {
    let [name @ .., version] = BEFORE;
    let found = bytes.strip_prefix(name).and_then(<[u8]>::first);
    found.is_some_and(|found| found < version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::manifest::encode as encode_manifest;
    use acp_core::spine::event::DiskText;
    use acp_core::text::format::Encoding;

    #[test]
    fn reviews_of_the_version_before_are_read() {
        let path = |path: &str| json!({ "Unix": path.as_bytes() });
        let base = json!({ "body": "Missing", "mode": null, "stamp": null });
        let record = |name: &str, now: Value, encoding: Option<Encoding>| {
            let mut review = json!({
                "path": path(name),
                "from": null,
                "base": base,
                "stamp": null,
                "mode": 420,
                "now": now,
            });
            if let Some(encoding) = encoding {
                review["encoding"] = json!(encoding);
            }
            json!({ "review": review, "blob": null, "current": null })
        };
        let encoding = Encoding::of_neovim("cp932");
        let records = [
            record("/p/a", json!("File"), Some(encoding)),
            record("/p/b", json!("Missing"), None),
            record("/p/c", json!({ "Link": path("a") }), None),
        ];
        let all = json!([path("/p"), records, []]);
        let stored = decode(&seal(BEFORE, all.to_string().as_bytes())).expect("readable");
        let now = stored.records.into_iter().map(|record| record.review.now);
        let format = Format {
            encoding,
            ..Format::default()
        };
        let text = FileState::of_text(Text::default(), format);
        let want = [text.body, Body::Missing, Body::Link("a".into())].map(|body| FileState {
            body,
            mode: Some(0o644),
            stamp: None,
        });
        assert_eq!(now.collect::<Vec<_>>(), want);
        assert_eq!(stored.root, Path::new("/p"));
    }

    fn review(base: Body, current: Option<&str>) -> KeptReview {
        KeptReview {
            path: "/p/a".into(),
            from: None,
            accepted: None,
            base: FileState {
                body: base,
                mode: None,
                stamp: None,
            },
            current: current.map(Text::from_text),
            alone: None,
            now: FileState::of_text(Text::default(), Format::default()),
            offers: Vec::new(),
            is_uncommitted: false,
        }
    }

    fn text(text: &str) -> Body {
        let (format, text) = Format::decode(text.as_bytes());
        Body::Text(DiskText { text, format })
    }

    #[test]
    fn of_two_reviews_none_is_dropped_because_a_text_is_lost() {
        let lost = || Body::Unreadable("lost".to_owned());
        let check = |older: KeptReview, newer: KeptReview, base: Body, current: Option<&str>| {
            assert_eq!(both(older, newer), review(base, current));
        };
        let (ab, bc) = (
            || review(text("a\n"), Some("b\n")),
            || review(text("b\n"), Some("c\n")),
        );
        // All that has changed since the older one is under review.
        check(ab(), review(lost(), Some("c\n")), text("a\n"), Some("c\n"));
        check(ab(), review(text("b\n"), None), text("a\n"), None);
        check(review(text("a\n"), None), bc(), text("a\n"), Some("c\n"));
        check(review(lost(), Some("b\n")), bc(), lost(), Some("c\n"));
    }

    #[test]
    fn a_review_that_could_not_be_written_is_written_before_the_turn_is_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = || {
            Arc::new(Store::new(
                folder.path(),
                crate::project::limits::Limits::default(),
            ))
        };
        let keeper = Keeper::new(Path::new("/p"), store());
        keeper
            .turns_run(&folder.path().join("0.manifest"))
            .expect("a turn");
        let path = keeper.lease().expect("a lease").reviews();
        fs::create_dir(&path).expect("a folder in its place");
        keeper.note(vec![review(text("a\n"), Some("b\n"))], vec![], None);
        keeper.flush().expect_err("it cannot be written");
        keeper.turns_are_over().expect_err("it cannot be written");
        fs::remove_dir(&path).expect("it is empty");
        keeper.turns_are_over().expect("it can be written");
        drop(keeper);
        let left = Keeper::new(Path::new("/p"), store())
            .left()
            .expect("it can be read");
        let records = left.ended.iter().map(|(_, stored)| stored.records.len());
        assert_eq!(records.sum::<usize>(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn reviews_that_an_exhausted_system_cannot_read_stay() {
        use crate::project::limits::Limits;
        use crate::tests::exhausted::{is_alone, with_descriptors};

        let name = "project::reviews::tests::reviews_that_an_exhausted_system_cannot_read_stay";
        if !is_alone(name) {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let keeper = || {
            let store = Arc::new(Store::new(folder.path(), Limits::default()));
            Keeper::new(Path::new("/p"), store)
        };
        let kept = || review(text("a\n"), Some("b\n"));
        let first = keeper();
        let turn = folder.path().join("0.manifest");
        first.turns_run(&turn).expect("a turn");
        first.note(vec![kept()], vec![], None);
        first.flush().expect("kept");
        let checkpoint = first.folder().join("0.manifest");
        fs::write(checkpoint, encode_manifest(&Entries::new())).expect("a file");
        drop(first);
        // With few descriptors, each of the steps fails in turn.
        for count in 0..8 {
            let next = keeper();
            let lease = next.lease().expect("a lease");
            let left = with_descriptors(count, || {
                let left = next.left()?;
                Ok::<_, Exhausted>((left.cut_turn()?, left))
            });
            if let Ok((cut, left)) = left {
                assert_eq!((cut, left.ended.len()), (Some(Entries::new()), 1));
            } else {
                assert!(count < 4, "{count} are enough");
            }
            drop((next, lease));
        }
        let last = keeper();
        let left = last.left().expect("it can be read");
        last.lease().expect("a lease");
        let taken = with_descriptors(0, || last.take_over(&left, vec![]));
        assert!(taken.is_err(), "{taken:?}");
        let taken = last.take_over(&left, vec![]).expect("it can be read");
        assert_eq!(taken, Ok(vec![kept()]));
    }
}
