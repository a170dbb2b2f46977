//! Plain data for the screen: what the core renders and the editor applies.
//!
//! Nothing here knows Neovim or the model; rows are 0-based and half-open, columns are bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::questions::elicitation::Ask;
use crate::spine::event::ReviewAction;
use crate::spine::ids::{
    BufId, ElicitationId, ItemKey, PermissionId, QueueId, SessionKey, TerminalKey,
};
use crate::view::follow::Follow;

/// A highlight group's name; groups are `default` links, so any colour scheme may redefine them.
pub type Group = &'static str;

/// A highlighted range of bytes in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub end: u32,
    pub group: Group,
}

/// A line with its highlights, sorted by start; an inner span follows the one around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub spans: Vec<Span>,
    /// Where it leads to; only a transcript's lines have one.
    pub link: Option<Link>,
}

impl Line {
    /// Returns a line without a link.
    pub fn new(text: impl Into<String>, spans: Vec<Span>) -> Self {
        Self {
            text: text.into(),
            spans,
            link: None,
        }
    }

    /// Returns a line without highlights.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Vec::new())
    }

    /// Makes what is to be one line one line.
    pub fn flatten(&mut self) {
        if self.text.contains('\n') {
            self.text = self.text.replace('\n', " ");
        }
    }

    /// Returns the line as one that leads somewhere.
    #[must_use]
    pub fn linked(mut self, link: Link) -> Self {
        self.link = Some(link);
        self
    }
}

/// Where a line of a transcript leads to. Lines are cloned and compared often: so is this.
///
/// Every line of a tool call has one, and its first line has [`Link::Call`]: going up from line
/// to line, one comes to the call a line belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// The first line of a tool call, and the first place the call names.
    Call {
        /// The number of the entry in its transcript.
        entry: u32,
        path: Option<Arc<Path>>,
        row: Option<u32>,
    },
    /// A line of this tool call that leads nowhere by itself.
    Part {
        entry: u32,
    },
    File {
        path: Arc<Path>,
        row: Option<u32>,
    },
    /// What is not a file: the system knows who opens it.
    Url(Arc<str>),
    Terminal(TerminalKey),
    /// Something that is cut in the transcript, in full.
    Whole(Whole),
}

/// Something of an entry that can be opened in full, in a buffer of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// The number of the entry in its transcript.
    pub entry: u32,
    pub piece: Piece,
}

/// What of an entry is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// All that is known of it, as JSON.
    Raw,
    /// What a tool call was given.
    Input,
    /// What it gave back.
    Output,
    /// The item of a tool call's content at this place.
    Content(u32),
}

/// All that changed on the screen since the last frame: one patch per dirty view.
#[derive(Debug, Default)]
pub struct Frame {
    pub patches: Vec<Patch>,
}

#[derive(Debug)]
pub enum Patch {
    /// Changes of a transcript, to be made in this order.
    Chat {
        session: SessionKey,
        ops: Vec<ChatOp>,
    },
    /// What the chat's window bar says.
    ChatTitle {
        session: SessionKey,
        title: Vec<(String, Group)>,
    },
    /// What goes along with the session's next prompt, by name.
    Attached {
        session: SessionKey,
        labels: Vec<String>,
    },
    /// The plan an agent works off, or none: the one before is finished, or its turn has ended.
    Plan {
        session: SessionKey,
        view: Option<PlanView>,
    },
    /// The prompts that wait, or none.
    Queue {
        session: SessionKey,
        view: QueueView,
    },
    /// The permission at the head of the queue, or none.
    Permission(Option<PermissionView>),
    /// The form or page at the head of the queue, or none.
    Elicitation(Option<ElicitationView>),
    /// All hunks of one buffer.
    Review {
        buf: BufId,
        tick: u64,
        hunks: Vec<HunkView>,
    },
    /// Where a session's agent is.
    Follow {
        session: SessionKey,
        view: FollowView,
    },
    /// More output of a terminal that is shown.
    Terminal {
        terminal: TerminalKey,
        /// What was shown before is over: this is all there is.
        is_anew: bool,
        /// As the command has printed it, escape codes and all.
        bytes: Vec<u8>,
    },
    /// All lines of the review list.
    ReviewList(ListView),
    /// What the item under the cursor of the review list changes.
    ReviewPreview(PreviewView),
}

/// A change of a transcript's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatOp {
    /// Replaces `removed` lines from row `start` by `lines`.
    Splice {
        start: usize,
        removed: usize,
        lines: Vec<Line>,
    },
    /// Lets rows `start..end` be a fold; its first row stays visible. Folds lie in folds.
    Fold {
        start: usize,
        end: usize,
        state: FoldState,
    },
    /// Opens or closes the fold of rows `start..end`; none is closed that the user is reading in.
    TurnFold {
        start: usize,
        end: usize,
        state: FoldState,
    },
}

/// How a fold is from the start; from then on it is the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoldState {
    Closed,
    Open,
}

/// A plan under way: a line for each entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanView {
    pub lines: Vec<Line>,
    /// The row of what is in progress, or next.
    pub current: usize,
}

/// The prompts that wait: a line for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueView {
    pub lines: Vec<Line>,
    /// By row.
    pub ids: Vec<QueueId>,
}

/// A permission request, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionView {
    pub id: PermissionId,
    pub session: SessionKey,
    pub title: String,
    /// The kind, the command or the diff in full.
    pub lines: Vec<Line>,
    pub options: Vec<OptionView>,
    /// Where it would change files, in the order of its diffs.
    pub places: Vec<PlaceView>,
    /// How many more wait behind this one.
    pub waiting: usize,
}

/// What an agent asks the user for, ready to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationView {
    pub id: ElicitationId,
    pub session: SessionKey,
    pub title: String,
    /// What it is for, and the agent's words.
    pub head: Vec<Line>,
    pub ask: Ask,
    /// How many more questions wait behind this one.
    pub waiting: usize,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceView {
    pub path: PathBuf,
    pub row: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionView {
    pub option: String,
    pub name: String,
    /// The mnemonic key, next to the option's number; unique within the request.
    pub key: Option<char>,
    pub group: Group,
}

/// A hunk of a review as it lies in a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkView {
    pub row: usize,
    /// Lines of the buffer in the hunk; 0 for a pure deletion, which lies above `row`.
    pub count: usize,
    /// The removed lines with their changed words marked.
    pub removed: Vec<Line>,
    /// The changed words of the added lines: row, bytes.
    pub words: Vec<(usize, std::ops::Range<u32>)>,
    /// The user's text and the agent's clash here; the agent's text is offered in `removed`'s place.
    pub conflict: bool,
    /// Nothing is written yet: the buffer's lines would go, those in `removed` would come, and
    /// `words` are those that would change.
    pub proposed: Option<ProposedView>,
}

/// What is shown of a proposal beside its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedView {
    /// `proposed 1/3`
    pub label: String,
    /// What the user has chosen; the question waits for the others.
    pub choice: Option<ReviewAction>,
    /// Another proposal stands at the same row, and is what the keys mean.
    pub is_second: bool,
}

/// The review list: its lines, and what each of them is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListView {
    /// What the window bar says.
    pub title: Vec<(String, Group)>,
    pub lines: Vec<Line>,
    /// One for each line; `None` for a line that stands for nothing.
    pub items: Vec<Option<ListItem>>,
    /// The files there are, those that have no line among them.
    pub files: usize,
    /// There are more of them than lines.
    pub is_cut: bool,
}

/// A file or a hunk in the review list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListItem {
    pub key: ItemKey,
    pub path: PathBuf,
    /// The hunk's first row; `None` for a file.
    pub row: Option<usize>,
    /// There is no such file any more.
    pub is_gone: bool,
}

/// Something of a transcript in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeView {
    /// What its buffer is called.
    pub name: String,
    pub language: WholeLanguage,
    pub text: String,
}

/// What a text is written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WholeLanguage {
    /// A filetype.
    Named(&'static str),
    /// That of the file with this name.
    OfFile(String),
}

/// The preview beside the review list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreviewView {
    pub title: String,
    pub lines: Vec<Line>,
}

/// Where a session's agent is, and where the editor shall go along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowView {
    pub mode: Follow,
    /// `None` while the agent does nothing, and where no buffer has the file.
    pub mark: Option<AgentMark>,
    /// `None` while the agent is not followed.
    pub target: Option<FollowTarget>,
}

/// The place in a buffer at which an agent works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMark {
    /// Tells a new place from one that is only told again, and has moved with the text since.
    pub number: u64,
    pub buf: BufId,
    pub row: usize,
    /// `claude edits`
    pub label: String,
}

/// A place that the editor shall go to once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowTarget {
    /// Higher than those of all places before.
    pub number: u64,
    pub path: PathBuf,
    /// `None` where nobody knows: the file is shown as the user has left it.
    pub row: Option<usize>,
    /// The buffer that has the file.
    pub buf: Option<BufId>,
    /// The folders in which the file has to lie, links resolved.
    pub roots: Vec<PathBuf>,
    /// The turn is over: it is now or never.
    pub is_over: bool,
}

/// What undoing a turn comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoView {
    pub title: String,
    pub lines: Vec<Line>,
}
