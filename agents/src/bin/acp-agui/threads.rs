//! Threads and where they are kept: one file for each, below the user's state folder.
//!
//! Invariant: a file is replaced as a whole, so a killed bridge leaves the last complete one.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::messages::Body;

/// A conversation with an AG-UI agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    pub head: Head,
    pub body: Body,
}

/// The part of a thread that lists show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    #[serde(rename = "sessionId")]
    pub id: String,
    pub cwd: String,
    pub title: Option<String>,
    pub updated_at: String,
}

impl Thread {
    pub fn new(cwd: &str) -> Self {
        Self {
            head: Head {
                id: uuid(),
                cwd: cwd.to_owned(),
                title: None,
                updated_at: now(),
            },
            body: Body {
                state: json!({}),
                ..Body::default()
            },
        }
    }
}

/// The folder of an endpoint's threads.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Returns the store of an endpoint, below `$XDG_STATE_HOME` or its default.
    pub fn of(endpoint: &str) -> Option<Self> {
        let set = |name| std::env::var_os(name).map(PathBuf::from);
        let state = set("XDG_STATE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| Some(set("HOME")?.join(".local/state")))?;
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-.".contains(*c);
        let name = endpoint
            .chars()
            .fold(String::new(), |name, c| match is_plain(&c) {
                true => format!("{name}{c}"),
                false => format!("{name}%{:02x}", u32::from(c)),
            });
        Some(Self {
            folder: state.join("acp.nvim/agui").join(name),
        })
    }

    pub fn save(&self, thread: &Thread) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        // Only the user may read it.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        serde_json::to_writer(&mut file, &thread.head)?;
        file.write_all(b"\n")?;
        serde_json::to_writer(&mut file, &thread.body)?;
        file.flush()?;
        file.persist(self.path(&thread.head.id)?)?;
        Ok(())
    }

    pub fn load(&self, id: &str) -> io::Result<Thread> {
        let mut file = BufReader::new(File::open(self.path(id)?)?);
        let head = read_head(&mut file)?;
        let body = serde_json::from_reader(file)?;
        Ok(Thread { head, body })
    }

    pub fn delete(&self, id: &str) -> io::Result<()> {
        match fs::remove_file(self.path(id)?) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Returns the threads of a folder, or of all, the latest first.
    pub fn list(&self, cwd: Option<&str>) -> Vec<Head> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = files.map(|file| file.path());
        let threads = paths.filter(|path| path.extension().is_some_and(|is| is == "json"));
        let heads =
            threads.filter_map(|path| read_head(&mut BufReader::new(File::open(path).ok()?)).ok());
        let mut heads: Vec<Head> = heads
            .filter(|head| cwd.is_none_or(|cwd| Path::new(&head.cwd) == Path::new(cwd)))
            .collect();
        heads.sort_by(|a, b| b.updated_at.cmp(&a.updated_at));
        heads
    }

    fn path(&self, id: &str) -> io::Result<PathBuf> {
        // Ids come from the client: one that is not the name of a file is unknown.
        let is_name = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        match is_name {
            true => Ok(self.folder.join(format!("{id}.json"))),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn read_head(file: &mut impl BufRead) -> io::Result<Head> {
    let mut line = String::new();
    file.read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Returns a random id.
pub fn uuid() -> String {
    let mut bytes = [0; 16];
    // Without randomness the clock has to do: ids of one process differ in it.
    if getrandom::fill(&mut bytes).is_err() {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        bytes = since.as_nanos().to_be_bytes();
    }
    let number = u128::from_be_bytes(bytes) & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{number:032x}");
    let part = |range| hex.get(range).unwrap_or_default();
    let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(part);
    format!("{a}-{b}-{c}-{d}-{e}")
}

/// Returns the time, as lists have it.
pub fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store {
            folder: folder.path().join("deep/er"),
        };
        (folder, store)
    }

    #[test]
    fn a_kept_thread_is_listed_loaded_and_deleted() {
        let (_folder, store) = store();
        assert_eq!(store.list(None), []);
        let mut thread = Thread::new("/x/");
        thread.body.messages = vec![json!({"id": "1", "role": "user", "content": "a\nb"})];
        store.save(&thread).unwrap();
        let mut other = Thread::new("/y");
        other.head.updated_at = "9999".to_owned();
        store.save(&other).unwrap();
        assert_eq!(store.list(None), [other.head.clone(), thread.head.clone()]);
        assert_eq!(store.list(Some("/x")), [thread.head.clone()]);
        assert_eq!(store.load(&thread.head.id).unwrap(), thread);
        store.delete(&thread.head.id).unwrap();
        store.delete(&thread.head.id).unwrap();
        assert_eq!(store.list(Some("/x")), []);
        assert!(store.load(&thread.head.id).is_err());
    }

    #[test]
    fn an_id_never_leaves_the_folder() {
        let (_folder, store) = store();
        for id in ["", "..", "../x", "a/b", "/etc/passwd"] {
            assert!(store.load(id).is_err(), "{id}");
            assert!(store.delete(id).is_err(), "{id}");
        }
    }

    #[test]
    fn ids_are_of_version_4() {
        let id = uuid();
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
        assert_ne!(id, uuid());
    }
}
