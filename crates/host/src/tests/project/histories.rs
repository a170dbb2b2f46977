//! Random histories: applying the reported changes gives the state on disk.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};

use proptest::prelude::*;

use super::*;

/// An operation on the files of a project.
#[derive(Debug, Clone)]
enum Operation {
    Write(usize, u8),
    /// Writes a new file and renames it over the old one.
    Replace(usize, u8),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Mode(usize, bool),
    Look(usize),
    Checkpoint,
}

/// Few names, for both files and folders, so that operations collide.
const NAMES: [&str; 8] = ["a", "b", "d", "d/a", "d/e", "d/e/a", "f/a", "f"];

fn deeds() -> impl Strategy<Value = Vec<Operation>> {
    let name = || 0..NAMES.len();
    let operation = prop_oneof![
        4 => (name(), 0..4u8).prop_map(|(name, content)| Operation::Write(name, content)),
        2 => (name(), 0..4u8).prop_map(|(name, content)| Operation::Replace(name, content)),
        3 => name().prop_map(Operation::Remove),
        4 => (name(), name()).prop_map(|(from, to)| Operation::Rename(from, to)),
        1 => (name(), name()).prop_map(|(name, to)| Operation::Link(name, to)),
        1 => (name(), any::<bool>()).prop_map(|(name, runs)| Operation::Mode(name, runs)),
        2 => name().prop_map(Operation::Look),
        2 => Just(Operation::Checkpoint),
    ];
    proptest::collection::vec(operation, 1..40)
}

/// The state known to the core: a line per name.
type Known = BTreeMap<String, String>;

/// Runs an operation; an impossible one has no effect.
fn act(work: &Work, operation: &Operation) -> std::io::Result<()> {
    let path = |name: &usize| work.path(NAMES[*name]);
    let content = |content: &u8| match content {
        0 => Vec::new(),
        3 => vec![0; 3],
        other => vec![b'0' + other; 2],
    };
    let folder = |name: &usize| fs::create_dir_all(path(name).parent().expect("a folder"));
    match operation {
        Operation::Write(name, with) => {
            folder(name)?;
            if !path(name).is_symlink() {
                fs::write(path(name), content(with))?;
            }
        }
        Operation::Replace(name, with) => {
            folder(name)?;
            fs::write(work.path("new"), content(with))?;
            if fs::rename(work.path("new"), path(name)).is_err() {
                fs::remove_file(work.path("new"))?;
            }
        }
        Operation::Remove(name) if path(name).is_symlink() || path(name).is_file() => {
            fs::remove_file(path(name))?;
        }
        Operation::Remove(name) => fs::remove_dir_all(path(name))?,
        Operation::Rename(from, to) => {
            folder(to)?;
            fs::rename(path(from), path(to))?;
        }
        Operation::Link(name, to) => {
            folder(name)?;
            symlink(path(to), path(name))?;
        }
        Operation::Mode(name, runs) if !path(name).is_dir() && !path(name).is_symlink() => {
            if path(name).exists() {
                set_mode(&path(name), if *runs { 0o755 } else { 0o644 });
            }
        }
        Operation::Mode(..) | Operation::Look(_) | Operation::Checkpoint => {}
    }
    Ok(())
}

/// Applies reported changes; each must start from the last known state.
fn apply(work: &Work, known: &mut Known, changes: &[FileChange]) {
    let name = |path: &Path| {
        let below = path.strip_prefix(&work.root).expect("below");
        below.to_str().expect("a name").to_owned()
    };
    let missing = state(&FileState::missing(), true);
    let mut next = known.clone();
    for change in changes {
        let from = change.from.as_deref().unwrap_or(&change.path);
        let before = known.get(&name(from)).unwrap_or(&missing);
        assert_eq!(*before, state(&change.before, true), "{change:?}");
        if change.from.is_some() {
            assert_eq!(known.get(&name(&change.path)), None, "{change:?}");
            next.remove(&name(from));
        }
    }
    for change in changes {
        match change.after.body {
            Body::Missing => next.remove(&name(&change.path)),
            _ => next.insert(name(&change.path), state(&change.after, true)),
        };
    }
    *known = next;
}

/// Returns the state on disk.
fn disk(work: &Work) -> Known {
    let mut known = Known::new();
    let mut folders = vec![work.root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = fs::symlink_metadata(&path).expect("there");
            if meta.is_dir() {
                folders.push(path);
                continue;
            }
            let body = match meta.is_symlink() {
                true => Body::Link(fs::read_link(&path).expect("a link")),
                false => body(&fs::read(&path).expect("a file")),
            };
            let name = path.strip_prefix(&work.root).expect("below");
            let mode = (!meta.is_symlink()).then(|| meta.mode() & 0o7777);
            let line = FileState {
                body,
                mode,
                stamp: None,
            };
            known.insert(
                name.to_str().expect("a name").to_owned(),
                state(&line, true),
            );
        }
    }
    known
}

fn body(bytes: &[u8]) -> Body {
    if bytes.contains(&0) {
        return Body::Bytes {
            bytes: bytes.len() as u64,
            blob: Some(acp_core::spine::project::Blob([0; 32])),
        };
    }
    let (format, text) = Format::decode(bytes);
    Body::Text(DiskText { text, format })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn reported_changes_give_the_state_on_disk(deeds in deeds(), after in 0_u64..5) {
        let work = Work::with(&[("a", "11"), ("d/a", "22")], |config| {
            config.limits.quiescence.after = Duration::from_millis(after);
        });
        work.opened();
        let mut known = disk(&work);
        for operation in &deeds {
            // Some operations are impossible.
            let _ = act(&work, operation);
            let looks = match operation {
                Operation::Look(name) => {
                    let project = work.run.host.projects.project(&work.root);
                    project.expect("open").look(vec![work.path(NAMES[*name])]);
                    continue;
                }
                Operation::Checkpoint => work.looks().0,
                _ => continue,
            };
            for changes in looks {
                apply(&work, &mut known, &changes);
            }
            prop_assert_eq!(&known, &disk(&work));
        }
        for changes in work.looks().0 {
            apply(&work, &mut known, &changes);
        }
        prop_assert_eq!(&known, &disk(&work));
    }
}
