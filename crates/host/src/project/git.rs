//! The user's repository, read by the `git` binary and never written to.
//!
//! Asked for: what it tracks although `.gitignore` hides it, and which versions the index and HEAD
//! have of the files under review.
//!
//! Contents are the blobs' own bytes: no filter, no `autocrlf`, no `working-tree-encoding`. They
//! are told as lines ([`DiskText`]), which have no line ends: compare their `text`, and a file that
//! `autocrlf` checks out with CRLF has the text of its blob. A file that is something else in the
//! working tree than in its blob (a mixture of line ends, an LFS pointer, UTF-16) never equals it,
//! and stays under review until the user says so.
//!
//! Invariant: nothing in the repository changes, nothing is fetched, and no program runs but git:
//! no optional lock, no hook, no monitor, no pager, no filter, no protocol. (In a repository with a
//! split index, git itself renews the date of the shared part with each reading.)

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::Environment;
use crate::command::tool;
use acp_core::spine::event::DiskText;
use acp_core::text::format::Format;

/// What is set for every call.
const CONFIG: [&str; 4] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Runs git. Every call waits for a process: not for a thread that must not wait.
#[derive(Debug, Clone)]
pub(super) struct Git {
    environment: Environment,
    /// Contents that are larger are not read.
    cap: u64,
}

/// A repository by its working tree: the folder with `.git` in it, symbolic links resolved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Repository {
    folder: PathBuf,
}

/// The name of a content, as git has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Oid(String);

/// Which contents a repository has of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) index: Option<Oid>,
    pub(super) head: Option<Oid>,
}

impl Repository {
    /// Returns the repository whose working tree a file lies in, and the file's path in there.
    ///
    /// Nothing runs for that: it is the nearest folder above that has a `.git`, as for git itself.
    pub(super) fn of(path: &Path) -> Option<(Self, PathBuf)> {
        let (parent, name) = (path.parent()?, path.file_name()?);
        // The file itself may be a link: what the repository has at its path is the link.
        let real = acp_edge::paths::resolved(parent);
        let repository = Self::above(&real)?;
        let inside = real.strip_prefix(&repository.folder).ok()?.join(name);
        Some((repository, inside))
    }

    /// Returns the repository whose working tree a folder, links resolved, lies in.
    fn above(folder: &Path) -> Option<Self> {
        let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let folder = folder.ancestors().find(has_git)?.to_owned();
        Some(Self { folder })
    }
}

impl Git {
    pub(super) fn new(environment: Environment, cap: u64) -> Self {
        Self { environment, cap }
    }

    /// Returns the files below `root` that the repository tracks although they are ignored;
    /// absolute, spelt as `root` is. Without git or a repository there are none.
    pub(super) fn tracked_although_ignored(&self, root: &Path) -> Vec<PathBuf> {
        if Repository::above(&acp_edge::paths::resolved(root)).is_none() {
            return vec![];
        }
        let args = [
            "ls-files",
            "-z",
            "--cached",
            "--ignored",
            "--exclude-standard",
        ];
        let listed = self.ask(root, &args).unwrap_or_default();
        let names = listed.split(|&b| b == 0).filter(|name| !name.is_empty());
        names
            .map(|name| root.join(OsStr::from_bytes(name)))
            .collect()
    }

    /// Returns the files of git's own that change when the index, HEAD or the branch do.
    pub(super) fn signals(&self, repository: &Repository) -> BTreeSet<PathBuf> {
        let mut names = vec!["index".to_owned(), "HEAD".to_owned()];
        // Where branches are kept that have no file of their own.
        names.extend(["packed-refs".to_owned(), "reftable/tables.list".to_owned()]);
        let folder = &repository.folder;
        // There is none while HEAD is detached.
        if let Some(branch) = self.ask(folder, &["symbolic-ref", "--quiet", "HEAD"])
            && let Ok(branch) = String::from_utf8(branch)
        {
            names.push(branch.trim_end_matches('\n').to_owned());
        }
        let mut args = vec!["rev-parse"];
        args.extend(names.iter().flat_map(|name| ["--git-path", name]));
        let told = self.ask(folder, &args).unwrap_or_default();
        let paths = told.split(|&b| b == b'\n').filter(|path| !path.is_empty());
        paths
            .map(|path| folder.join(OsStr::from_bytes(path)))
            .collect()
    }

    /// Returns which versions the index and HEAD have of files of a repository, by their paths in
    /// there; nothing for those that git gave no answer about.
    pub(super) fn versions(
        &self,
        repository: &Repository,
        files: &BTreeSet<PathBuf>,
    ) -> BTreeMap<PathBuf, Versions> {
        // A line feed would end the question.
        let files = files
            .iter()
            .filter(|file| !file.as_os_str().as_bytes().contains(&b'\n'));
        let files: Vec<&PathBuf> = files.collect();
        let question = |start: &str, file: &PathBuf| {
            let mut question = OsString::from(start);
            question.push(file);
            question.into_vec()
        };
        let both = |file: &&PathBuf| [question(":0:./", file), question("HEAD:./", file)];
        let questions: Vec<Vec<u8>> = files.iter().flat_map(both).collect();
        let Some(mut talk) = self.talk(repository, "--batch-check", questions) else {
            return BTreeMap::new();
        };
        let mut versions = BTreeMap::new();
        for file in files {
            let (Ok(index), Ok(head)) = (talk.answer(), talk.answer()) else {
                break;
            };
            let [index, head] = [index, head].map(|blob| blob.map(|blob| blob.oid));
            versions.insert(file.clone(), Versions { index, head });
        }
        versions
    }

    /// Returns contents of a repository; the ones that are too large are left out.
    pub(super) fn contents(
        &self,
        repository: &Repository,
        oids: &BTreeSet<Oid>,
    ) -> HashMap<Oid, DiskText> {
        let questions = oids.iter().map(|oid| oid.0.clone().into_bytes()).collect();
        let Some(mut talk) = self.talk(repository, "--batch", questions) else {
            return HashMap::new();
        };
        let mut contents = HashMap::new();
        for _ in oids {
            let Ok(blob) = talk.answer() else { break };
            let Some(blob) = blob else { continue };
            let Ok(bytes) = talk.content(blob.bytes, self.cap) else {
                break;
            };
            if let Some(bytes) = bytes {
                let (format, text) = Format::decode(&bytes);
                contents.insert(blob.oid, DiskText { text, format });
            }
        }
        contents
    }

    /// Returns what git answers; `None` when it is not there, or has refused.
    fn ask(&self, folder: &Path, args: &[&str]) -> Option<Vec<u8>> {
        let mut command = self.command(folder)?;
        command.args(args).stdin(Stdio::null());
        let output = command.output().ok()?;
        output.status.success().then_some(output.stdout)
    }

    fn talk(&self, repository: &Repository, mode: &str, questions: Vec<Vec<u8>>) -> Option<Talk> {
        let mut command = self.command(&repository.folder)?;
        command.args(["cat-file", mode]).stdin(Stdio::piped());
        Talk::start(command, questions).ok()
    }

    fn command(&self, folder: &Path) -> Option<Command> {
        let mut command = tool("git", folder, &self.environment)?;
        // What a `git commit` that Neovim was started by has set is about that commit.
        for name in self.environment.names() {
            if name.as_bytes().starts_with(b"GIT_") && !is_kept(&name) {
                command.env_remove(name);
            }
        }
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .arg("--no-pager")
            .args(CONFIG.iter().flat_map(|setting| ["-c", setting]))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        Some(command)
    }
}

/// Returns whether a variable of git's says where repositories are looked for, or configures.
fn is_kept(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b"GIT_CONFIG")
        || name == b"GIT_CEILING_DIRECTORIES"
        || name == b"GIT_DISCOVERY_ACROSS_FILESYSTEM"
}

/// A `git cat-file` that answers questions, in their order.
struct Talk {
    child: Child,
    answers: BufReader<ChildStdout>,
}

struct Blob {
    oid: Oid,
    bytes: u64,
}

impl Talk {
    fn start(mut command: Command, questions: Vec<Vec<u8>>) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let talk = Self {
            child,
            answers: BufReader::new(stdout),
        };
        // On a thread of its own: git answers before it has read everything.
        std::thread::Builder::new()
            .name("acp-git".to_owned())
            .spawn(move || put(stdin, &questions))?;
        Ok(talk)
    }

    /// Reads the line that tells of the next object; `None` when there is none, or it is no file.
    fn answer(&mut self) -> io::Result<Option<Blob>> {
        let mut line = Vec::new();
        self.answers.read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // "<oid> <type> <size>", or the question and " missing".
        let line = String::from_utf8_lossy(&line);
        let mut words = line.rsplitn(3, ' ');
        let (Some(size), Some(kind), Some(oid)) = (words.next(), words.next(), words.next()) else {
            return Ok(None);
        };
        match (kind, size.parse()) {
            ("blob", Ok(bytes)) => Ok(Some(Blob {
                oid: Oid(oid.to_owned()),
                bytes,
            })),
            _ => Ok(None),
        }
    }

    /// Reads the content that follows the line; `None` when it is larger than `cap`.
    fn content(&mut self, bytes: u64, cap: u64) -> io::Result<Option<Vec<u8>>> {
        let mut content = Vec::new();
        let mut rest = (&mut self.answers).take(bytes);
        if bytes > cap {
            io::copy(&mut rest, &mut io::sink())?;
        } else {
            rest.read_to_end(&mut content)?;
            if content.len() as u64 != bytes {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.answers.read_exact(&mut [0])?;
        Ok((bytes <= cap).then_some(content))
    }
}

fn put(mut stdin: ChildStdin, questions: &[Vec<u8>]) {
    let mut all = Vec::new();
    for question in questions {
        all.extend_from_slice(question);
        all.push(b'\n');
    }
    // It has ended: its answers end as well.
    let _ = stdin.write_all(&all);
}

impl Drop for Talk {
    fn drop(&mut self) {
        // It has ended by itself, unless its answers were not all read.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
