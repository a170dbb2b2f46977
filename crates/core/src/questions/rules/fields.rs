//! What the fields of an input mean, by their names.
//!
//! Invariant: a name is known only if what it holds is known, too; of all others nobody can say
//! what an agent does with them.

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// What is run.
    Command,
    /// Where it is run.
    Folder,
    /// Files and folders.
    Path,
    /// Where something is moved to.
    MovePath,
    /// What is looked for, names of files among it.
    Pattern,
    /// What a file holds, or is to hold.
    Data,
    /// Changes to files that are named in it.
    Patch,
    /// Words for people.
    Said,
    /// A number, a switch or a name that does no harm.
    Plain,
    /// What the agent offers its user, and how it understands its own command.
    Told,
    /// What harms unless it is off.
    Power,
    Unknown,
}

impl Meaning {
    /// Returns what a field means, by its letters and digits alone.
    pub fn of(field: &str) -> Self {
        // A program finds a command by its exact name.
        if COMMANDS.contains(&field) {
            return Self::Command;
        }
        let name: String = field.chars().filter(|c| c.is_alphanumeric()).collect();
        let name = name.to_lowercase();
        let known = KNOWN
            .iter()
            .find(|(_, names)| names.contains(&name.as_str()));
        known.map_or(Self::Unknown, |(meaning, _)| *meaning)
    }
}

/// The fields that [`crate::render::rawview::command`] reads.
const COMMANDS: [&str; 5] = ["command", "cmd", "commands", "args", "arguments"];

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
