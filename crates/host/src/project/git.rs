//! Reads the user's repository with the `git` binary and never writes to it.
//!
//! It answers which files are tracked although `.gitignore` hides them, and which versions of the
//! files under review the index and HEAD have; `git_index` asks which contents git holds.
//!
//! Contents are the blobs' raw bytes: no filter, no `autocrlf`, no `working-tree-encoding`. They
//! are returned as lines ([`DiskText`]) without line ends, so compare their `text`: a file that
//! `autocrlf` checks out with CRLF has the same text as its blob. A file whose working copy differs
//! from its blob in another way (mixed line ends, an LFS pointer, UTF-16) never equals it, and
//! stays under review until the user decides.
//!
//! Invariant: the repository does not change, nothing is fetched, and no program runs except git:
//! no optional lock, hook, monitor, pager, filter or protocol. (With a split index, git itself
//! updates the date of the shared part at each read.)

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::gitrun::{Output, Run};
use super::reading::Exhausted;
use crate::Environment;
use crate::command::tool;
use acp_core::spine::event::DiskText;
use acp_core::text::format::Format;

/// Settings for every call.
const CONFIG: [&str; 4] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Runs git. Every call blocks until the process answers, or has been silent for too long.
#[derive(Debug, Clone)]
pub(super) struct Git {
    environment: Environment,
    /// Maximum size of a content that is read.
    pub(super) cap: u64,
}

/// A repository, identified by its working tree: the folder that contains `.git`, with links
/// resolved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Repository {
    folder: PathBuf,
}

/// Git's object id of a content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Oid(String);

/// The versions of a file in a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) index: Option<Oid>,
    pub(super) head: Option<Oid>,
    /// Whether the index has it as executable; `None` if it is not in there.
    pub(super) is_executable: Option<bool>,
}

/// The number of files that one `git ls-files` is asked about.
const LISTED: usize = 500;

impl Repository {
    /// Returns the repository whose working tree contains a file, and the file's path inside it.
    ///
    /// It starts no process: like git, it takes the nearest parent folder with a `.git`.
    pub(super) fn of(path: &Path) -> Option<(Self, PathBuf)> {
        let (parent, name) = (path.parent()?, path.file_name()?);
        // The file itself may be a link; the repository stores the link.
        let real = acp_edge::paths::resolved(parent);
        let repository = Self::above(&real)?;
        let inside = real.strip_prefix(&repository.folder).ok()?.join(name);
        Some((repository, inside))
    }

    /// Returns the repository that contains a folder (with links resolved).
    pub(super) fn above(folder: &Path) -> Option<Self> {
        let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let folder = folder.ancestors().find(has_git)?.to_owned();
        Some(Self { folder })
    }
}

impl Git {
    pub(super) fn new(environment: Environment, cap: u64) -> Self {
        Self { environment, cap }
    }

    /// Returns the ignored files below `root` that the repository tracks, as absolute paths spelled
    /// like `root`; empty without git or a repository.
    ///
    /// # Errors
    /// Git cannot be started now.
    pub(super) fn tracked_although_ignored(&self, root: &Path) -> Result<Vec<PathBuf>, Exhausted> {
        if Repository::above(&acp_edge::paths::resolved(root)).is_none() {
            return Ok(vec![]);
        }
        let args = [
            "ls-files",
            "-z",
            "--cached",
            "--ignored",
            "--exclude-standard",
        ];
        let listed = Exhausted::check(self.ask(root, &args))?.unwrap_or_default();
        let names = listed.split(|&b| b == 0).filter(|name| !name.is_empty());
        let paths = names.map(|name| root.join(OsStr::from_bytes(name)));
        Ok(paths.collect())
    }

    /// Returns git's own files that change with the index, HEAD or the branch.
    ///
    /// # Errors
    /// Git cannot be started now.
    pub(super) fn signals(&self, repository: &Repository) -> Result<BTreeSet<PathBuf>, Exhausted> {
        let mut names = vec!["index".to_owned(), "HEAD".to_owned()];
        // With these, a branch has no separate file.
        names.extend(["packed-refs".to_owned(), "reftable/tables.list".to_owned()]);
        let folder = &repository.folder;
        // A detached HEAD has no branch.
        let branch = self.ask(folder, &["symbolic-ref", "--quiet", "HEAD"]);
        if let Some(branch) = Exhausted::check(branch)?
            && let Ok(branch) = String::from_utf8(branch)
        {
            names.push(branch.trim_end_matches('\n').to_owned());
        }
        let mut args = vec!["rev-parse"];
        args.extend(names.iter().flat_map(|name| ["--git-path", name]));
        let printed = Exhausted::check(self.ask(folder, &args))?.unwrap_or_default();
        let paths = printed
            .split(|&b| b == b'\n')
            .filter(|path| !path.is_empty());
        let paths = paths.map(|path| folder.join(OsStr::from_bytes(path)));
        Ok(paths.collect())
    }

    /// Returns the versions of files in the index and HEAD, by path inside the repository; files
    /// without an answer are missing.
    ///
    /// # Errors
    /// Git cannot be started now.
    pub(super) fn versions(
        &self,
        repository: &Repository,
        files: &BTreeSet<PathBuf>,
    ) -> Result<BTreeMap<PathBuf, Versions>, Exhausted> {
        // A line feed would end the query.
        let files = files
            .iter()
            .filter(|file| !file.as_os_str().as_bytes().contains(&b'\n'));
        let files: Vec<&PathBuf> = files.collect();
        let mut versions = BTreeMap::new();
        for files in files.chunks(LISTED) {
            let mut args = ["ls-files", "--stage", "-z", "--"].map(OsStr::new).to_vec();
            args.extend(files.iter().map(|file| file.as_os_str()));
            let Some(listed) = Exhausted::check(self.ask(&repository.folder, &args))? else {
                continue;
            };
            let unknown = files
                .iter()
                .map(|&file| (file.clone(), Versions::default()));
            versions.extend(unknown);
            for (path, blob, is_executable) in listed.split(|&byte| byte == 0).filter_map(staged) {
                if let Some(version) = versions.get_mut(path) {
                    version.index = Some(blob);
                    version.is_executable = Some(is_executable);
                }
            }
        }
        let question = |file: &PathBuf| {
            let mut question = OsString::from("HEAD:./");
            question.push(file);
            question.into_vec()
        };
        let questions = versions.keys().map(question).collect();
        let cat_file = self.cat_file(repository, "--batch-check", questions);
        let Some(mut cat_file) = Exhausted::check(cat_file)? else {
            return Ok(BTreeMap::new());
        };
        let mut answered = BTreeMap::new();
        for (file, version) in versions {
            let Ok(head) = cat_file.answer() else { break };
            let head = head.map(|blob| blob.oid);
            answered.insert(file, Versions { head, ..version });
        }
        Ok(answered)
    }

    /// Returns contents of a repository, `None` for those above the size limit; those without an
    /// answer are missing.
    ///
    /// # Errors
    /// Git cannot be started now.
    pub(super) fn contents(
        &self,
        repository: &Repository,
        oids: &BTreeSet<Oid>,
    ) -> Result<HashMap<Oid, Option<DiskText>>, Exhausted> {
        let questions = oids.iter().map(|oid| oid.0.clone().into_bytes()).collect();
        let cat_file = self.cat_file(repository, "--batch", questions);
        let Some(mut cat_file) = Exhausted::check(cat_file)? else {
            return Ok(HashMap::new());
        };
        let mut contents = HashMap::new();
        for oid in oids {
            let Ok(blob) = cat_file.answer() else { break };
            let Some(blob) = blob else {
                contents.insert(oid.clone(), None);
                continue;
            };
            let Ok(bytes) = cat_file.content(blob.bytes, self.cap) else {
                break;
            };
            let content = bytes.map(|bytes| {
                let (format, text) = Format::decode(&bytes);
                DiskText { text, format }
            });
            contents.insert(blob.oid, content);
        }
        Ok(contents)
    }

    /// Returns git's output.
    ///
    /// # Errors
    /// Git is missing, cannot be started, or failed.
    pub(super) fn ask(&self, folder: &Path, args: &[impl AsRef<OsStr>]) -> io::Result<Vec<u8>> {
        let mut answer = Vec::new();
        self.stream(folder, args, None, |output| {
            output.read_to_end(&mut answer).map(drop)
        })?;
        Ok(answer)
    }

    /// Passes git's output on while it runs.
    ///
    /// # Errors
    /// As [`Git::ask`], or the error of `read`.
    pub(super) fn stream(
        &self,
        folder: &Path,
        args: &[impl AsRef<OsStr>],
        input: Option<Vec<u8>>,
        read: impl FnOnce(&mut BufReader<Output>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut command = self.command(folder).ok_or(io::ErrorKind::NotFound)?;
        command.args(args);
        let mut run = Run::start(command, input)?;
        read(run.output())?;
        run.end()
    }

    fn cat_file(
        &self,
        repository: &Repository,
        mode: &str,
        questions: Vec<Vec<u8>>,
    ) -> io::Result<CatFile> {
        self.cat_file_in(&repository.folder, mode, questions)
    }

    pub(super) fn cat_file_in(
        &self,
        folder: &Path,
        mode: &str,
        questions: Vec<Vec<u8>>,
    ) -> io::Result<CatFile> {
        let mut command = self.command(folder).ok_or(io::ErrorKind::NotFound)?;
        command.args(["cat-file", mode]);
        let mut input = Vec::new();
        for question in questions {
            input.extend(question);
            input.push(b'\n');
        }
        Run::start(command, Some(input)).map(CatFile)
    }

    pub(super) fn command(&self, folder: &Path) -> Option<Command> {
        let mut command = tool("git", folder, &self.environment)?;
        // If Neovim was started by `git commit`, the GIT_* variables refer to that commit.
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
            .stderr(Stdio::null())
            .process_group(0);
        Some(command)
    }
}

/// Reads a file's line of `git ls-files --stage`: its path, content, and whether it is executable.
/// `None` for what is no file, such as a submodule, or in conflict.
fn staged(line: &[u8]) -> Option<(&Path, Oid, bool)> {
    let at = line.iter().position(|&byte| byte == b'\t')?;
    // A mode, the name of a content, and the number of a version in conflict.
    let entry = std::str::from_utf8(&line[..at]).ok()?;
    let mut parts = entry.split(' ');
    let (mode, oid, stage) = (parts.next()?, parts.next()?, parts.next()?);
    let path = Path::new(OsStr::from_bytes(&line[at + 1..]));
    let is_file = mode != "160000" && stage == "0";
    is_file.then(|| (path, Oid(oid.to_owned()), mode == "100755"))
}

/// Returns whether a git variable concerns repository discovery or configuration.
fn is_kept(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b"GIT_CONFIG")
        || name == b"GIT_CEILING_DIRECTORIES"
        || name == b"GIT_DISCOVERY_ACROSS_FILESYSTEM"
}

/// A `git cat-file` that answers queries in order; those that are not read are given up with it.
pub(super) struct CatFile(Run);

pub(super) struct Blob {
    oid: Oid,
    pub(super) bytes: u64,
}

impl CatFile {
    /// Reads the header of the next object; `None` if it is missing or not a blob.
    pub(super) fn answer(&mut self) -> io::Result<Option<Blob>> {
        let mut line = Vec::new();
        self.0.output().read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // "<oid> <type> <size>", or the query and " missing".
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

    /// Reads the content after a header; `None` if it is larger than `cap`.
    pub(super) fn content(&mut self, bytes: u64, cap: u64) -> io::Result<Option<Vec<u8>>> {
        let mut content = Vec::new();
        let mut rest = self.0.output().take(bytes);
        if bytes > cap {
            io::copy(&mut rest, &mut io::sink())?;
        } else {
            rest.read_to_end(&mut content)?;
            if content.len() as u64 != bytes {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.0.output().read_exact(&mut [0])?;
        Ok((bytes <= cap).then_some(content))
    }
}

/// Returns a git that is not there.
#[cfg(test)]
pub(super) fn no_git() -> Git {
    Git::new(Environment::from_variables([]), 0)
}
