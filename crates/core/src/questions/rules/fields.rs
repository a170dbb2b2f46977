//! The meaning of an input's fields, by their names.
//!
//! Invariant: a name is listed only if the meaning of its value is certain; any other field may
//! have any effect.

use crate::render::rawview::{ARGS, COMMANDS};

/// The meaning of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A command, or its arguments.
    Command,
    /// The folder to run it in.
    Folder,
    /// Files and folders.
    Path,
    /// The destination of a move.
    MovePath,
    /// A search pattern, which may contain file names.
    Pattern,
    /// The content of a file, old or new.
    Data,
    /// Changes to files, with the files' names.
    Patch,
    /// A description for people.
    Said,
    /// A number, a switch or a name without risk.
    Plain,
    /// Suggestions to the user, and the agent's own analysis of its command.
    Told,
    /// Dangerous unless it is off.
    Power,
    Unknown,
}

impl Meaning {
    /// Returns the meaning of a field; only letters and digits of its name count.
    pub fn of(field: &str) -> Self {
        // A command is recognized only by its exact name.
        if COMMANDS.contains(&field) || ARGS.contains(&field) {
            return Self::Command;
        }
        if field.len() > MAX_NAME {
            return Self::Unknown;
        }
        let name: String = field.chars().filter(|c| c.is_alphanumeric()).collect();
        let name = name.to_lowercase();
        let known = KNOWN
            .iter()
            .find(|(_, names)| names.contains(&name.as_str()));
        known.map_or(Self::Unknown, |(meaning, _)| *meaning)
    }
}

/// Maximum bytes of a known name.
const MAX_NAME: usize = 64;

const KNOWN: [(Meaning, &[&str]); 10] = [
    (
        Meaning::Folder,
        &[
            "cwd",
            "workdir",
            "workingdir",
            "workingdirectory",
            "directory",
            "dir",
            "dirpath",
        ],
    ),
    (
        Meaning::Path,
        &[
            "path",
            "paths",
            "file",
            "files",
            "filepath",
            "filepaths",
            "filename",
            "notebookpath",
            "absolutepath",
            "relativepath",
            "targetfile",
            "uri",
            "changes",
            "edits",
        ],
    ),
    (
        Meaning::MovePath,
        &[
            "movepath",
            "from",
            "to",
            "source",
            "destination",
            "src",
            "dst",
            "dest",
            "frompath",
            "oldpath",
            "newpath",
            "topath",
        ],
    ),
    (
        Meaning::Pattern,
        &["pattern", "glob", "include", "exclude", "query", "regex"],
    ),
    (
        Meaning::Data,
        &[
            "content",
            "contents",
            "oldstring",
            "newstring",
            "oldstr",
            "newstr",
            "oldtext",
            "newtext",
        ],
    ),
    (Meaning::Patch, &["patch", "diff", "unifieddiff", "input"]),
    (
        Meaning::Said,
        &["description", "explanation", "justification", "reason"],
    ),
    (
        Meaning::Plain,
        &[
            "timeout",
            "timeoutms",
            "yieldtimems",
            "maxoutputtokens",
            "callid",
            "toolcallid",
            "turnid",
            "startedatms",
            "replaceall",
            "expectedreplacements",
            "limit",
            "offset",
            "line",
            "startline",
            "endline",
            "viewrange",
            "headlimit",
            "outputmode",
            "type",
            "multiline",
            "n",
            "a",
            "b",
            "c",
            "i",
            "casesensitive",
            "ignorecase",
            "recursive",
            "maxresults",
        ],
    ),
    (
        Meaning::Told,
        &[
            "availabledecisions",
            "proposedexecpolicyamendment",
            "parsedcmd",
        ],
    ),
    (
        Meaning::Power,
        &[
            "env",
            "environment",
            "stdin",
            "dangerouslydisablesandbox",
            "sandboxpermissions",
            "withescalatedpermissions",
            "runinbackground",
        ],
    ),
];
