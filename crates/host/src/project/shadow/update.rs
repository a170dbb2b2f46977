//! Applies the result of a scan: reads files that differ, compares, reports.
//!
//! Invariant: an entry is replaced only after reading the file; postponed files keep their
//! known entry.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Looked, Reporting, Shadow};
use crate::project::compare::{differences, is_same};
use crate::project::gaps::UnseenBefore;
use crate::project::manifest::{Entries, Entry, Stat, What};
use crate::project::reading::{Need, Wanted, read_all};
use crate::project::rules::{Rules, Sources};
use crate::project::scan::{Access, FoundFile, PathKind, RealFolders, Scan, path_kind};

impl Shadow {
    /// Applies the result of a scan; known paths inside `scopes` that were not found are checked.
    pub(super) fn update(
        &mut self,
        scan: Scan,
        scopes: &[PathBuf],
        rules: &mut Rules,
        mut real: RealFolders,
        reporting: Reporting,
    ) -> Looked {
        let mut looked = Looked::default();
        self.update_folders(&scan, scopes, rules, &mut looked);
        let was_there = self.unseen_before(&scan, scopes, rules);
        self.update_rules(&scan, scopes);
        let mut shared = std::mem::take(&mut self.shared);
        if scopes.iter().any(|scope| is_everything(scope)) {
            shared.clear();
        }
        let shared_here = scan.found.iter().filter(|seen| seen.is_shared);
        shared.extend(shared_here.map(|seen| seen.path.clone()));
        let (mut found, mut unfound) = self.compare(scopes, scan.found);
        unfound.extend(self.old_paths(&found));
        let mut notice = |seen: FoundFile| {
            if seen.is_shared {
                shared.insert(seen.path.clone());
            }
            if differs(self.entries.get(&seen.path), &seen) {
                found.insert(seen.path.clone(), seen);
            }
        };
        let (mut gone, mut hidden, mut unlisted) = (Vec::new(), Vec::new(), Vec::new());
        for path in unfound {
            let folder = path.parent().unwrap_or(Path::new(""));
            let path_kind = match real.access(self.root.path(), folder) {
                Access::Open => path_kind(self.root.path(), path.clone()),
                Access::None => PathKind::Nothing,
                Access::Shut => PathKind::Hidden,
            };
            match path_kind {
                PathKind::File(_)
                    if reporting == Reporting::Off
                        && !self.included.contains(&path)
                        && rules.hides(&path, false) =>
                {
                    // A rule that hides it was added after the checkpoint.
                    hidden.push(path);
                }
                PathKind::File(seen) => {
                    unlisted.push((path, seen.stat.inode));
                    notice(seen);
                }
                PathKind::Nothing | PathKind::Folder => gone.push(path),
                PathKind::Hidden => {}
            }
        }
        self.shared = shared;
        let (root, mut listings) = (self.root.path(), Listings::new());
        let is_listed = |path: &Path| is_listed(root, path, &mut listings);
        for path in take_respelled(&self.entries, &mut found, unlisted, is_listed) {
            self.included.remove(&path);
            if self.entries.contains_key(&path) {
                gone.push(path);
            }
        }
        for path in hidden {
            self.entries.remove(&path);
            self.kept = None;
        }
        if reporting == Reporting::On {
            self.note_unseen(&found, &gone, &was_there);
            self.set_aside(&mut found, &mut gone, &was_there);
        }
        let mut read = self.read(found, reporting, &mut gone);
        if reporting == Reporting::On {
            self.take_uncopied(&read, &gone);
            let unknown = self.take_from_git(read.iter().map(|(path, _)| path).chain(&gone));
            read.retain(|(path, _)| !unknown.contains(path));
            gone.retain(|path| !unknown.contains(path));
            let mut changes = differences(&self.entries, read.clone(), &gone, &self.store);
            changes.retain(|change| {
                let after = change.after.as_ref().filter(|_| change.before.is_none());
                !after.is_some_and(|after| was_there.holds(&change.path, &after.stat))
            });
            looked.changes = changes;
            looked.held = self.held();
        }
        for path in &gone {
            self.kept = self
                .kept
                .take()
                .filter(|_| !self.entries.contains_key(path));
            self.entries.remove(path);
        }
        self.take_over(read);
        looked
    }

    /// Returns where new files may have existed before: where a rule hid them, a folder could not
    /// be listed, or the last look stopped early.
    fn unseen_before(&self, scan: &Scan, scopes: &[PathBuf], rules: &Rules) -> UnseenBefore {
        let walked: BTreeMap<&PathBuf, &Sources> = scan
            .rules
            .iter()
            .map(|(folder, from)| (folder, from))
            .collect();
        let known = self.known_rules(scopes);
        let known = known.map(|(folder, from)| (folder, walked.get(folder).copied(), Some(from)));
        let found = walked.iter().map(|(folder, from)| (*folder, Some(*from)));
        let needed = rules.needed();
        let needed = needed.map(|(folder, from)| (folder, Some(from).filter(|f| !f.is_empty())));
        let now = found.chain(needed);
        let now = now.map(|(folder, from)| (folder, from, self.rules_of.get(folder)));
        let changed = known.chain(now).filter(|(_, now, before)| now != before);
        let mut folders: Vec<PathBuf> = changed.map(|(folder, ..)| folder.clone()).collect();
        folders.extend(self.gaps.unseen.iter().cloned());
        if self.gaps.is_cut {
            folders.push(PathBuf::new());
        }
        folders.sort_unstable();
        // In path order, a folder comes right before its contents.
        folders.dedup_by(|folder, above| folder.starts_with(above));
        UnseenBefore {
            folders,
            last_look: self.last_look,
        }
    }

    fn known_rules(&self, scopes: &[PathBuf]) -> impl Iterator<Item = (&PathBuf, &Sources)> {
        scopes.iter().flat_map(|scope| {
            let known = self.rules_of.range(scope.clone()..);
            known.take_while(move |(folder, _)| folder.starts_with(scope))
        })
    }

    /// Notes the rules with which everything inside `scopes` was examined.
    fn update_rules(&mut self, scan: &Scan, scopes: &[PathBuf]) {
        let gone: Vec<PathBuf> = self.known_rules(scopes).map(|(at, _)| at.clone()).collect();
        for folder in gone {
            self.rules_of.remove(&folder);
        }
        self.rules_of.extend(scan.rules.iter().cloned());
    }

    /// Reads files that may differ from their entry; adds files that no longer exist to `gone`.
    fn read(
        &mut self,
        found: BTreeMap<PathBuf, FoundFile>,
        reporting: Reporting,
        gone: &mut Vec<PathBuf>,
    ) -> Vec<(PathBuf, Entry)> {
        let need = match reporting {
            Reporting::On => Need::Content,
            Reporting::Off => Need::Stat,
        };
        let wanted = found.into_values().map(|seen| Wanted { seen, need });
        let wanted: Vec<Wanted> = wanted.collect();
        if wanted.is_empty() {
            return vec![];
        }
        let reads = read_all(self.root.path(), wanted, &self.store);
        self.gaps.trouble = reads.trouble;
        let mut read = Vec::new();
        for (seen, entry) in reads.entries {
            match entry {
                Some(_)
                    if reporting == Reporting::On
                        && (reads.torn.contains(&seen.path) && self.hold.hold(&seen.path)
                            || reads.unknown.contains(&seen.path)
                                && self.hold.hold_unknown(&seen.path)) => {}
                // Its content is copied once the system can read it.
                Some(entry) if reads.unknown.contains(&seen.path) => {
                    let what = match reporting {
                        Reporting::On => entry.what.clone(),
                        Reporting::Off => What::Later,
                    };
                    read.push((seen.path, Entry { what, ..entry }));
                }
                Some(entry) => read.push((seen.path, entry)),
                None if !self.entries.contains_key(&seen.path) => {}
                // It may have been moved since it was found.
                None if reporting == Reporting::On && self.hold.hold(&seen.path) => {}
                None => gone.push(seen.path),
            }
        }
        read
    }

    /// Removes the files that must be postponed.
    fn set_aside(
        &mut self,
        found: &mut BTreeMap<PathBuf, FoundFile>,
        gone: &mut Vec<PathBuf>,
        was_there: &UnseenBefore,
    ) {
        // Known files among the found ones have changed.
        let is_news = |path: &Path, seen: &FoundFile| {
            self.entries.contains_key(path) || !was_there.holds(path, &seen.stat)
        };
        let spelled = |path: &Path| self.root.spelled(path);
        self.hold
            .set_aside(&self.entries, found, gone, is_news, spelled);
    }

    /// Takes earlier contents that were not copied from files that still have them, perhaps under
    /// another name.
    fn take_uncopied(&mut self, read: &[(PathBuf, Entry)], gone: &[PathBuf]) {
        let by_inode: HashMap<u64, &Entry> = read
            .iter()
            .map(|(_, entry)| (entry.stat.inode, entry))
            .collect();
        for path in read.iter().map(|(path, _)| path).chain(gone) {
            if let Some(known) = self.entries.get_mut(path)
                && known.what == What::Later
                && let Some(now) = by_inode.get(&known.stat.inode)
                && known.stat.same_content(&now.stat)
            {
                known.what = now.what.clone();
            }
        }
    }

    /// Notes, without their content, the files that existed unseen and have changed since: they are
    /// not new, and a reject must not delete them.
    fn note_unseen(
        &mut self,
        found: &BTreeMap<PathBuf, FoundFile>,
        gone: &[PathBuf],
        was_there: &UnseenBefore,
    ) {
        let gone = gone.iter().filter_map(|path| self.entries.get(path));
        let gone: HashMap<u64, Stat> = gone.map(|entry| (entry.stat.inode, entry.stat)).collect();
        for (path, seen) in found {
            let from = gone.get(&seen.stat.inode);
            let is_moved = from.is_some_and(|from| from.same_file(&seen.stat));
            let is_unseen = !self.entries.contains_key(path)
                && was_there.held_earlier(path, &seen.stat)
                && !is_moved;
            if is_unseen {
                let known = Entry {
                    stat: seen.stat,
                    what: What::Unreadable("a rule hid it".to_owned()),
                    settled: false,
                };
                self.entries.insert(path.clone(), known);
            }
        }
    }

    fn take_over(&mut self, read: Vec<(PathBuf, Entry)>) {
        if self.entries.is_empty() {
            // Sorted and built at once, the map takes half the memory.
            self.kept = self.kept.take().filter(|_| read.is_empty());
            self.entries = read.into_iter().collect();
            return;
        }
        for (path, mut entry) in read {
            if let Some(known) = self.entries.get(&path) {
                if entry.what == What::Later && is_same(known, &entry) {
                    entry.what = known.what.clone();
                }
                if *known == entry {
                    continue;
                }
            }
            self.kept = None;
            self.entries.insert(path, entry);
        }
    }

    /// Compares the files that were found with the known ones: returns those that differ from their
    /// entry, and the known paths inside `scopes` that were not found.
    ///
    /// `scopes` are sorted and disjoint, and all that was found lies in them. Both sides are walked
    /// once, in the same order: there may be a hundred thousand files.
    fn compare(
        &self,
        scopes: &[PathBuf],
        mut found: Vec<FoundFile>,
    ) -> (BTreeMap<PathBuf, FoundFile>, BTreeSet<PathBuf>) {
        found.sort_unstable_by(|a, b| order(&a.path, &b.path));
        let (mut differing, mut unfound) = (Vec::new(), BTreeSet::new());
        let mut found = found.into_iter().peekable();
        for scope in scopes {
            let here = |path: &Path| is_everything(scope) || path.starts_with(scope);
            let included = self.included.range(scope.clone()..);
            unfound.extend(included.take_while(|path| here(path)).cloned());
            let known = self.entries.range(scope.clone()..);
            let mut known = known.take_while(|(path, _)| here(path)).peekable();
            while let Some(seen) = found.next_if(|seen| here(&seen.path)) {
                let is_above = |entry: &(&PathBuf, _)| order(entry.0, &seen.path) == Ordering::Less;
                while let Some((path, _)) = known.next_if(is_above) {
                    unfound.insert(path.clone());
                }
                let entry = known.next_if(|(path, _)| **path == seen.path);
                unfound.remove(&seen.path);
                if differs(entry.map(|(_, entry)| entry), &seen) {
                    differing.push((seen.path.clone(), seen));
                }
            }
            unfound.extend(known.map(|(path, _)| path.clone()));
        }
        debug_assert!(found.peek().is_none(), "outside of {scopes:?}");
        (differing.into_iter().collect(), unfound)
    }

    /// Returns the known paths of files that were found at new ones: the notification that a file has
    /// left its folder may come after a look that finds it in a new folder.
    fn old_paths(&self, found: &BTreeMap<PathBuf, FoundFile>) -> Vec<PathBuf> {
        let found = found.values();
        let new = found.filter(|seen| !self.entries.contains_key(&seen.path));
        let new: HashSet<u64> = new.map(|seen| seen.stat.inode).collect();
        if new.is_empty() {
            return vec![];
        }
        let known = self.entries.iter();
        let old = known.filter(|(_, entry)| new.contains(&entry.stat.inode));
        old.map(|(path, _)| path.clone()).collect()
    }

    fn update_folders(
        &mut self,
        scan: &Scan,
        scopes: &[PathBuf],
        rules: &mut Rules,
        looked: &mut Looked,
    ) {
        let walked: HashSet<&PathBuf> = scan.folders.iter().collect();
        for scope in scopes {
            let here = |folder: &&PathBuf| folder.starts_with(scope);
            let known = self.folders.range(scope.clone()..).take_while(here);
            let left = known.filter(|folder| !walked.contains(folder));
            // The others were not reached or could not be listed.
            let gone: Vec<PathBuf> = left
                .filter(|folder| {
                    let path_kind = path_kind(self.root.path(), folder.to_path_buf());
                    !matches!(path_kind, PathKind::Folder | PathKind::Hidden)
                        || rules.hides(folder, true)
                })
                .cloned()
                .collect();
            for folder in gone {
                self.folders.remove(&folder);
                looked.gone_folders.push(self.root.spelled(&folder));
            }
        }
        for folder in &scan.folders {
            if self.folders.insert(folder.clone()) {
                looked.new_folders.push(self.root.spelled(folder));
            }
        }
    }
}

fn is_everything(scope: &Path) -> bool {
    scope.as_os_str().is_empty()
}

/// Returns the paths at which a file only exists because the disk ignores case: it has a name that is
/// spelled otherwise. Removes them from the found ones.
///
/// `unlisted` are files, with their inodes, that exist and that no walk has found, or whose inode is
/// that of a new file; mostly, there are none.
fn take_respelled(
    known: &Entries,
    found: &mut BTreeMap<PathBuf, FoundFile>,
    unlisted: Vec<(PathBuf, u64)>,
    mut is_listed: impl FnMut(&Path) -> bool,
) -> BTreeSet<PathBuf> {
    let mut inodes = HashSet::new();
    let seen = found.values().map(|seen| seen.stat.inode);
    let mut twice: HashSet<u64> = seen.filter(|inode| !inodes.insert(*inode)).collect();
    twice.extend(unlisted.iter().map(|(_, inode)| *inode));
    let seen = found.values().map(|seen| (&seen.path, seen.stat.inode));
    let seen = seen.filter(|(_, inode)| twice.contains(inode));
    let mut suspects = unlisted;
    suspects.extend(seen.map(|(path, inode)| (path.clone(), inode)));
    if suspects.is_empty() {
        return BTreeSet::new();
    }
    let inodes: HashSet<u64> = suspects.iter().map(|(_, inode)| *inode).collect();
    let spelling = |path: &Path, inode: u64| (inode, path.to_string_lossy().to_lowercase());
    let mut spellings: HashMap<(u64, String), HashSet<PathBuf>> = HashMap::new();
    let files = known.iter().map(|(path, entry)| (path, entry.stat.inode));
    let files = files.chain(found.values().map(|seen| (&seen.path, seen.stat.inode)));
    for (path, inode) in files.filter(|(_, inode)| inodes.contains(inode)) {
        let all = spellings.entry(spelling(path, inode)).or_default();
        all.insert(path.clone());
    }
    suspects.retain(|(path, inode)| {
        let all = spellings.get(&spelling(path, *inode));
        all.is_some_and(|all| all.iter().any(|other| other != path)) && !is_listed(path)
    });
    let respelled: BTreeSet<PathBuf> = suspects.into_iter().map(|(path, _)| path).collect();
    found.retain(|path, _| !respelled.contains(path));
    respelled
}

/// The names in folders; `None` if one cannot be listed.
pub(super) type Listings = HashMap<PathBuf, Option<HashSet<OsString>>>;

/// Returns whether a path is spelled as its folders list it, or that is unknown.
pub(super) fn is_listed(root: &Path, path: &Path, listings: &mut Listings) -> bool {
    path.ancestors().all(|path| {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return true;
        };
        let names = listings.entry(folder.to_owned()).or_insert_with(|| {
            let entries = fs::read_dir(root.join(folder)).ok()?;
            let names = entries.map(|entry| Some(entry.ok()?.file_name()));
            names.collect()
        });
        names.as_ref().is_none_or(|names| names.contains(name))
    })
}

/// Returns the order of two paths below the root as [`Path`] has it, in a tenth of the time: such a
/// path has no part that does not count, so the first different byte decides.
fn order(a: &Path, b: &Path) -> Ordering {
    let (a, b) = (a.as_os_str().as_bytes(), b.as_os_str().as_bytes());
    let same = common(a, b);
    // A separator comes before all that a name may contain.
    let next = |path: &[u8]| path.get(same).map(|&byte| (byte != b'/', byte));
    next(a).cmp(&next(b))
}

/// Returns the length of the common beginning of two paths: most are long, as they are sorted.
fn common(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 16;
    let (blocks, _) = a.as_chunks::<STEP>();
    let others = b.as_chunks::<STEP>().0;
    let same = blocks.iter().zip(others).take_while(|(a, b)| a == b);
    let start = same.count() * STEP;
    let rest = a.iter().zip(b).skip(start);
    start + rest.take_while(|(a, b)| a == b).count()
}

/// Returns whether a file must be read.
fn differs(known: Option<&Entry>, seen: &FoundFile) -> bool {
    known.is_none_or(|known| known.stat != seen.stat || !known.settled)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::project::git::no_git;
    use crate::project::limits::Limits;
    use crate::project::store::Store;

    /// Gives a file's entry another content with an unchanged stat, and checks whether a look
    /// notices.
    #[track_caller]
    fn check(settled: bool, noticed: bool) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("p");
        fs::create_dir(&root).expect("a folder");
        fs::write(root.join("a"), "new").expect("a file");
        let file = fs::File::options().write(true).open(root.join("a"));
        let file = file.expect("a file");
        file.set_modified(std::time::UNIX_EPOCH)
            .expect("long still");
        let store = Arc::new(Store::new(&folder.path().join("s"), Limits::default()));
        let mut shadow = Shadow::new(root, Arc::clone(&store), None, Arc::default(), no_git());
        shadow.open(None, None, true);
        let entry = shadow.entries.get_mut(Path::new("a")).expect("known");
        entry.what = What::Text(store.put(b"old").expect("kept"));
        entry.settled = settled;
        assert_eq!(shadow.look_all().changes.len(), usize::from(noticed));
    }

    proptest::proptest! {
        #[test]
        fn the_order_of_paths_is_that_of_the_known_ones(
            above in proptest::collection::vec("[a-c]{1,9}", 0..6),
            a in proptest::collection::vec("[a-c.!~\u{e9}]{1,3}", 1..4),
            b in proptest::collection::vec("[a-c.!~\u{e9}]{1,3}", 1..4),
        ) {
            let path = |names: Vec<String>| {
                let names = above.iter().cloned().chain(names);
                names.filter(|name| name != "." && name != "..").collect::<PathBuf>()
            };
            let (a, b) = (path(a), path(b));
            proptest::prop_assert_eq!(order(&a, &b), a.cmp(&b));
        }
    }

    /// Renames the only known file on a disk that finds it by both names, of which it lists these. A
    /// hard link stands for that. Returns the paths that count as gone, whether or not the rename shows
    /// in the file's stat and an earlier look has seen the new name.
    #[cfg(target_os = "linux")]
    #[track_caller]
    fn respelled(old: &str, new: &str, listed: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for name in [old, new] {
            let above = root.join(name).parent().expect("a folder").to_owned();
            fs::create_dir_all(above).expect("folders");
        }
        fs::write(root.join(old), "1").expect("a file");
        fs::hard_link(root.join(old), root.join(new)).expect("a link");
        let seen = |name: &str| match path_kind(root, name.into()) {
            PathKind::File(seen) => (PathBuf::from(name), seen),
            other => panic!("{other:?}"),
        };
        let stat = seen(old).1.stat;
        let entry = |path: &str| {
            let entry = Entry {
                stat,
                what: What::Later,
                settled: true,
            };
            (PathBuf::from(path), entry)
        };
        let is_listed = |path: &Path| listed.iter().any(|name| path == Path::new(name));
        let both = BTreeMap::from([seen(old), seen(new)]);
        let new_only = BTreeMap::from([seen(new)]);
        let unlisted = || vec![(PathBuf::from(old), stat.inode)];
        let cases = [
            (vec![entry(old)], both, vec![]),
            (vec![entry(old)], new_only, unlisted()),
            (vec![entry(old), entry(new)], BTreeMap::new(), unlisted()),
        ];
        let gone = cases.map(|(known, mut found, unlisted)| {
            let known = Entries::from_iter(known);
            let gone = take_respelled(&known, &mut found, unlisted, is_listed);
            assert!(gone.iter().all(|path| !found.contains_key(path)));
            gone
        });
        let [first, others @ ..] = gone;
        assert!(others.iter().all(|gone| *gone == first), "{others:?}");
        let gone = first.iter().map(|path| path.display().to_string());
        gone.collect()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_whose_name_has_another_case_now_is_not_at_its_old_path() {
        assert_eq!(respelled("Foo.txt", "foo.txt", &["foo.txt"]), ["Foo.txt"]);
        assert_eq!(respelled("D/a", "d/a", &["d/a"]), ["D/a"]);
        // Two files, where case counts.
        let both = ["Foo.txt", "foo.txt"];
        assert_eq!(respelled("Foo.txt", "foo.txt", &both), [""; 0]);
        assert_eq!(respelled("Foo.txt", "bar.txt", &["bar.txt"]), [""; 0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_path_is_listed_as_its_folders_spell_it() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("D")).expect("a folder");
        fs::write(folder.path().join("D/a"), "1").expect("a file");
        let mut listings = Listings::new();
        let mut check = |path: &str| is_listed(folder.path(), Path::new(path), &mut listings);
        assert!(check("D/a"));
        assert!(!check("D/A"));
        assert!(!check("d/a"));
    }

    #[test]
    fn files_with_an_ambiguous_stat_are_read_again() {
        check(true, false);
        check(false, true);
    }
}
