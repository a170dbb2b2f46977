//! Why an operation on a file was refused, in words for the user and the agent.
//!
//! Invariant: a sentence names the file, the failed operation, the reason and the next step.

use std::fs;
use std::io;
use std::path::Path;

/// Why an operation was refused or failed.
#[derive(Debug)]
pub(super) enum Refusal {
    Io(io::Error),
    Folder,
    /// A folder with files, in the place of a file that would be restored.
    FullFolder,
    /// A pipe, a socket or a device.
    Special,
    TooLarge(u64),
    /// The file's mode has no write permission.
    ReadOnly,
    /// The encoding cannot represent this character.
    Unencodable(char, &'static str),
    /// Only Neovim can convert this encoding.
    ForeignEncoding,
    /// A link leads out of the folders that may be changed.
    Outside,
    /// A link is where the file was.
    Link,
    /// A folder above it was replaced by a link, again and again.
    Swapped,
    /// This client panicked.
    Panic,
}

impl Refusal {
    /// Refuses everything that is not a regular file.
    pub(super) fn check(meta: &fs::Metadata) -> Result<(), Self> {
        match meta.file_type() {
            kind if kind.is_file() => Ok(()),
            kind if kind.is_dir() => Err(Refusal::Folder),
            _ => Err(Refusal::Special),
        }
    }

    /// Returns the sentence for the user and the agent; `done` is a participle such as "read" or
    /// "written".
    pub(super) fn words(&self, path: &Path, done: &str) -> String {
        let why = match self {
            Refusal::Io(error) => match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "permission denied; check the permissions of the file and its folder".into()
                }
                io::ErrorKind::ReadOnlyFilesystem => {
                    "its file system is read-only; choose a file elsewhere".into()
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    format!("{error}; free some space and try again")
                }
                io::ErrorKind::NotADirectory if done == "restored" => {
                    "a file is where its folder was; reject or move that file first".into()
                }
                io::ErrorKind::NotADirectory => {
                    "a part of its path is a file, not a folder; choose another path".into()
                }
                _ => format!("{error}; check the path and try again"),
            },
            Refusal::Folder => "it is a folder; choose a file in it".into(),
            Refusal::FullFolder => {
                "a folder with files is in its place; reject or move those files first".into()
            }
            Refusal::Special => "it is not a regular file; choose one that is".into(),
            Refusal::TooLarge(cap) => {
                format!(
                    "it is larger than {} MiB; read a part of it with a command",
                    cap >> 20
                )
            }
            Refusal::ReadOnly => "it is read-only; run `chmod u+w` on it to allow changes".into(),
            Refusal::Unencodable(c, encoding) => format!(
                "{encoding}, the file's encoding, cannot represent {c:?} (U+{:04X}); \
                 leave it out, or convert the file to UTF-8 first",
                u32::from(*c)
            ),
            Refusal::ForeignEncoding => {
                "only Neovim can write its encoding; open it in a buffer first".into()
            }
            Refusal::Outside => "a link leads out of the session's folders; check that link".into(),
            Refusal::Link => "a link has taken its place; look at it again".into(),
            Refusal::Swapped => {
                "a folder above it is replaced all the time; try again when that has ended".into()
            }
            Refusal::Panic => "an internal error in acp.nvim; see the log (:Acp log)".into(),
        };
        format!("{} was not {done}: {why}.", path.display())
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::Io(error)
    }
}
