//! Compares files with their known state: unchanged, changed, created, removed or moved.
//!
//! Invariant: applying [`differences`] to the known state gives the state that was read.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::{Path, PathBuf};

use super::manifest::{Entries, Entry, What};
use super::similarity;
use super::store::Store;
use acp_core::spine::project::Blob;

/// The weight of a change without text.
const LEAST_WEIGHT: usize = 1 << 10;

/// A file that differs from its known state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: PathBuf,
    /// Its previous path, if it was moved.
    pub(super) from: Option<PathBuf>,
    pub(super) before: Option<Entry>,
    pub(super) after: Option<Entry>,
}

impl Difference {
    /// Estimates the size of the texts before and after, in bytes.
    pub(super) fn weight(&self) -> usize {
        let states = [&self.before, &self.after];
        let texts = states.into_iter().flatten().filter_map(|entry| {
            let is_text = matches!(entry.what, What::Text(_));
            usize::try_from(entry.stat.bytes).ok().filter(|_| is_text)
        });
        texts.fold(LEAST_WEIGHT, usize::saturating_add)
    }
}

/// Returns whether a file is unchanged for the user.
pub(super) fn is_same(before: &Entry, after: &Entry) -> bool {
    let (old, new) = (&before.stat, &after.stat);
    old.permissions() == new.permissions()
        && match (&before.what, &after.what) {
            (What::Unreadable(_), What::Unreadable(_)) => true,
            // Without the content, the stats decide.
            (What::Large, What::Large)
            | (What::Later | What::Git(_), What::Later | What::Text(_) | What::Bytes(_))
            | (What::Text(_) | What::Bytes(_), What::Later) => old.same_content(new),
            (before, after) => before == after,
        }
}

/// Returns the differences between the known and the read state, sorted by path; new and
/// removed files are paired as moves where possible.
///
/// `gone` lists known paths that no longer exist.
pub(super) fn differences(
    known: &Entries,
    read: Vec<(PathBuf, Entry)>,
    gone: &[PathBuf],
    store: &Store,
) -> Vec<Difference> {
    let mut out = Vec::new();
    let mut new = Vec::new();
    for (path, after) in read {
        match known.get(&path) {
            Some(before) if is_same(before, &after) => {}
            Some(before) => out.push(Difference {
                path,
                from: None,
                before: Some(before.clone()),
                after: Some(after),
            }),
            None => new.push((path, after)),
        }
    }
    let gone: Vec<(&Path, &Entry)> = gone
        .iter()
        .filter_map(|path| Some((path.as_path(), known.get(path)?)))
        .collect();
    let moves = moves(&gone, &new, store);
    for (path, after) in new {
        let from = moves.get(path.as_path()).copied();
        out.push(Difference {
            before: from.and_then(|from| known.get(from)).cloned(),
            from: from.map(Path::to_owned),
            path: path.clone(),
            after: Some(after),
        });
    }
    let left: Vec<PathBuf> = out.iter().filter_map(|done| done.from.clone()).collect();
    let left: HashSet<&Path> = left.iter().map(PathBuf::as_path).collect();
    for (path, before) in gone {
        if !left.contains(path) {
            out.push(Difference {
                path: path.to_owned(),
                from: None,
                before: Some(before.clone()),
                after: None,
            });
        }
    }
    out.sort_by(|a, b| a.path.cmp(&b.path));
    out
}

pub(super) type Named<'a> = (&'a Path, &'a Entry);

/// Finds where new files came from: first the same inode, then the same content, each only if
/// unique on both sides, then the most similar text.
///
/// A file where a folder was is not looked for, nor one where a folder is now: neither could be
/// moved back before other files are.
fn moves<'a>(
    gone: &[Named<'a>],
    new: &[(PathBuf, Entry)],
    store: &Store,
) -> HashMap<PathBuf, &'a Path> {
    let mut gone = gone.to_vec();
    let new = new.iter().map(|(path, entry)| (path.as_path(), entry));
    let mut new: Vec<Named> = new.collect();
    let (were, are) = (folders(&gone), folders(&new));
    gone.retain(|(path, _)| !are.contains(path));
    new.retain(|(path, _)| !were.contains(path));
    let same_file = pairs(&gone, &new, |entry| Some(entry.stat.inode))
        .into_iter()
        .filter(|(old, now)| is_link(old.1) == is_link(now.1) && old.1.stat.same_file(&now.1.stat))
        .map(|(old, now)| (now.0.to_owned(), old.0))
        .collect();
    let mut moves = HashMap::new();
    take(same_file, &mut gone, &mut new, &mut moves);
    let same_content = pairs(&gone, &new, content).into_iter();
    let same_content = same_content.map(|(old, now)| (now.0.to_owned(), old.0));
    take(same_content.collect(), &mut gone, &mut new, &mut moves);
    moves.extend(similarity::pairs(&gone, &new, store));
    moves
}

/// Returns the folders above some files.
fn folders<'a>(files: &[Named<'a>]) -> HashSet<&'a Path> {
    let above = files.iter().flat_map(|(path, _)| path.ancestors().skip(1));
    above.collect()
}

/// Records moves and removes their files from the candidates.
fn take<'a>(
    found: Vec<(PathBuf, &'a Path)>,
    gone: &mut Vec<Named<'a>>,
    new: &mut Vec<Named>,
    moves: &mut HashMap<PathBuf, &'a Path>,
) {
    let from: HashSet<&Path> = found.iter().map(|(_, from)| *from).collect();
    moves.extend(found);
    gone.retain(|old| !from.contains(old.0));
    new.retain(|now| !moves.contains_key(now.0));
}

/// Returns the pairs that share a key no other candidate has.
fn pairs<'a, 'b, K: Hash + Eq>(
    gone: &[Named<'a>],
    new: &[Named<'b>],
    key: impl Fn(&Entry) -> Option<K>,
) -> Vec<(Named<'a>, Named<'b>)> {
    let mut sides: HashMap<K, (Vec<Named>, Vec<Named>)> = HashMap::new();
    for old in gone {
        if let Some(key) = key(old.1) {
            sides.entry(key).or_default().0.push(*old);
        }
    }
    for now in new {
        if let Some(key) = key(now.1) {
            sides.entry(key).or_default().1.push(*now);
        }
    }
    let pairs = sides
        .into_values()
        .filter_map(|(old, now)| match (&old[..], &now[..]) {
            ([old], [now]) => Some((*old, *now)),
            _ => None,
        });
    pairs.collect()
}

fn is_link(entry: &Entry) -> bool {
    matches!(entry.what, What::Link(_))
}

/// Returns the key that identifies a content; empty files have none.
fn content(entry: &Entry) -> Option<Blob> {
    entry.blob().filter(|_| entry.stat.bytes > 0)
}
