//! View models: plain data the core renders and the editor applies.
//!
//! Invariant: nothing here depends on Neovim or the model; rows are 0-based and half-open, columns
//! are bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::form::Ask;
use crate::spine::event::ReviewAction;
use crate::spine::ids::{BufId, ItemKey, QuestionId, QueueId, SessionKey, TerminalKey};
use crate::spine::oneline::OneLine;

/// A highlight group's name; groups are `default` links, which colour schemes can override.
pub type Group = &'static str;

/// A highlighted range of bytes in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub end: u32,
    pub group: Group,
}

/// A line with its highlights, sorted by start; a nested span follows the outer one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pub text: OneLine,
    pub spans: Vec<Span>,
    /// The target of the line; only lines of transcripts have one.
    pub link: Option<Link>,
}

impl Line {
    /// Returns a line without a link; `spans` are ranges of `text`.
    pub fn new(text: impl Into<String>, mut spans: Vec<Span>) -> Self {
        Self {
            text: OneLine::with_spans(text, &mut spans),
            spans,
            link: None,
        }
    }

    /// Returns a line without highlights.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Vec::new())
    }

    /// Appends highlighted text.
    pub fn push(&mut self, text: &str, group: Group) {
        let start = self.end();
        self.text.push_str(text);
        let end = self.end();
        if !text.trim().is_empty() {
            self.spans.push(Span { start, end, group });
        }
    }

    /// Indents the line, unless it is empty.
    pub fn indent(&mut self, by: &str) {
        if !self.text.is_empty() {
            self.prepend(by);
        }
    }

    /// Puts text without highlights before the line.
    pub fn prepend(&mut self, text: &str) {
        let before = self.end();
        self.text.prepend(text);
        let by = self.end() - before;
        for span in &mut self.spans {
            span.start += by;
            span.end += by;
        }
    }

    fn end(&self) -> u32 {
        u32::try_from(self.text.len()).unwrap_or(u32::MAX)
    }

    /// Returns the line with this link.
    #[must_use]
    pub fn linked(mut self, link: Link) -> Self {
        self.link = Some(link);
        self
    }
}

/// The target of a transcript's line. Cheap to clone and compare, because lines are cloned and
/// compared often.
///
/// Every line of a tool call has a link, and its first line has [`Link::Call`]; to find a line's
/// call, search upwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// The first line of a tool call, with the first location the call names.
    Call {
        /// The index of the entry in its transcript.
        entry: u32,
        path: Option<Arc<Path>>,
        row: Option<u32>,
    },
    /// A line of a tool call without a target.
    Part {
        entry: u32,
    },
    File {
        path: Arc<Path>,
        row: Option<u32>,
    },
    /// Not a file; opened by the system's handler.
    Url(Arc<str>),
    Terminal(TerminalKey),
    /// The full version of something truncated in the transcript.
    Whole(Whole),
}

/// A part of an entry that can be opened in full, in its own buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// The index of the entry in its transcript.
    pub entry: u32,
    pub piece: Piece,
}

/// A part of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// The whole entry, as JSON.
    Raw,
    /// The input of a tool call.
    Input,
    /// The output of a tool call.
    Output,
    /// The item of a tool call's content with this index.
    Content(u32),
}

/// All changes of the screen since the last frame: one patch per dirty view.
#[derive(Debug, Default)]
pub struct Frame {
    pub patches: Vec<Patch>,
    /// More text of transcripts waits for the next frame.
    pub is_behind: bool,
}

impl Frame {
    /// Returns the bytes of transcripts' text.
    pub fn bytes(&self) -> usize {
        let ops = self.patches.iter().flat_map(|patch| match patch {
            Patch::Chat { ops, .. } => ops.as_slice(),
            _ => &[],
        });
        let lines = ops.flat_map(|op| match op {
            ChatOp::Splice { lines, .. } => lines.as_slice(),
            _ => &[],
        });
        lines.map(|line| line.text.len() + 1).sum()
    }
}

/// The text of transcripts that a frame may contain, in bytes: as much as the main thread applies
/// in about [`FrameSize::TARGET`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSize(pub usize);

impl Default for FrameSize {
    fn default() -> Self {
        Self(64 * 1024)
    }
}

impl FrameSize {
    const TARGET: Duration = Duration::from_micros(2500);
    const LEAST: usize = 16 * 1024;
    const MOST: usize = 512 * 1024;

    /// Returns the size for the next frame, after one with this much text took this time. One
    /// frame changes it by a factor of two at most; a small one that was quick does not.
    #[must_use]
    pub fn after(self, bytes: usize, took: Duration) -> Self {
        if took <= Self::TARGET && bytes < self.0 / 2 {
            return self;
        }
        let target = Self::TARGET.as_micros() * bytes as u128 / took.as_micros().max(1);
        let target = usize::try_from(target).unwrap_or(Self::MOST);
        let near = target.clamp(self.0 / 2, self.0 * 2);
        Self(near.clamp(Self::LEAST, Self::MOST))
    }
}

#[derive(Debug)]
pub enum Patch {
    /// Changes of a transcript, to be applied in this order.
    Chat {
        session: SessionKey,
        /// How often its buffer had been emptied: changes of an earlier one are void.
        life: u32,
        ops: Vec<ChatOp>,
    },
    /// The text of the chat's window bar.
    ChatTitle {
        session: SessionKey,
        title: Vec<(OneLine, Group)>,
    },
    /// The labels of the attachments of the session's next prompt.
    Attached {
        session: SessionKey,
        labels: Vec<OneLine>,
    },
    /// The agent's current plan; `None` once it is finished or its turn has ended.
    Plan {
        session: SessionKey,
        view: Option<PlanView>,
    },
    /// The queued prompts, if any.
    Queue {
        session: SessionKey,
        view: QueueView,
    },
    /// The question to show, or none.
    Question(Option<QuestionView>),
    /// All hunks of one buffer.
    Review {
        buf: BufId,
        tick: u64,
        hunks: Vec<HunkView>,
    },
    /// The place of a session's agent.
    Follow {
        session: SessionKey,
        view: FollowView,
    },
    /// More output of a terminal shown in a window.
    Terminal {
        terminal: TerminalKey,
        /// Clears the window first.
        is_anew: bool,
        /// Raw output of the command, with escape codes.
        bytes: Vec<u8>,
    },
    /// All lines of the review list.
    ReviewList(ListView),
    /// The preview of the item under the cursor of the review list.
    ReviewPreview(PreviewView),
}

/// A change of a transcript's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatOp {
    /// Replaces `removed` lines from row `start` with `lines`.
    Splice {
        start: usize,
        removed: usize,
        lines: Vec<Line>,
    },
    /// Replaces the highlights of the lines from row `start`.
    Colours { start: usize, lines: Vec<Vec<Span>> },
    /// Creates a fold of rows `start..end`; its first row stays visible. Folds can be nested.
    Fold {
        start: usize,
        end: usize,
        state: FoldState,
    },
    /// Opens or closes the fold of rows `start..end`; does not close a fold the user is reading.
    TurnFold {
        start: usize,
        end: usize,
        state: FoldState,
    },
    /// All folds, for the windows that have asked for them; the others have them.
    AllFolds(Vec<(usize, usize, FoldState)>),
}

/// The initial state of a fold; later the user controls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoldState {
    Closed,
    Open,
}

/// The current plan: a line for each entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanView {
    pub lines: Vec<Line>,
    /// The row of the entry in progress, or the next one.
    pub current: usize,
}

/// The queued prompts: a line for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueView {
    pub lines: Vec<Line>,
    /// The prompts' ids, by row.
    pub ids: Vec<QueueId>,
    /// The first row whose prompt waits for the user to send it.
    pub held: Option<usize>,
}

/// A question, ready to be shown.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionView {
    Permission(PermissionView),
    /// A form or a page.
    Form(ElicitationView),
}

impl QuestionView {
    pub fn id(&self) -> QuestionId {
        match self {
            QuestionView::Permission(view) => view.id,
            QuestionView::Form(view) => view.id,
        }
    }

    pub fn session(&self) -> SessionKey {
        match self {
            QuestionView::Permission(view) => view.session,
            QuestionView::Form(view) => view.session,
        }
    }
}

/// A permission request, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionView {
    pub id: QuestionId,
    pub session: SessionKey,
    pub title: OneLine,
    /// The kind, and the command or diff in full.
    pub lines: Vec<Line>,
    pub options: Vec<OptionView>,
    /// The places in files it would change, in the order of its diffs.
    pub places: Vec<PlaceView>,
    /// Number of requests queued behind this one.
    pub waiting: usize,
}

/// An agent's question to the user, ready for display.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationView {
    pub id: QuestionId,
    pub session: SessionKey,
    pub title: OneLine,
    /// The reason for the question, and the agent's message.
    pub head: Vec<Line>,
    pub ask: Ask,
    /// Number of questions queued behind this one.
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
    pub name: OneLine,
    /// The mnemonic key, besides the option's number; unique within the request.
    pub key: Option<char>,
    pub group: Group,
    /// It decides about later calls as well.
    pub is_lasting: bool,
}

/// A hunk of a review in a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkView {
    pub row: usize,
    /// Number of the buffer's lines in the hunk; 0 for a pure deletion, which is above `row`.
    pub count: usize,
    /// The removed lines with their changed words marked.
    pub removed: Vec<Line>,
    /// The changed words of the added lines: row and bytes.
    pub words: Vec<(usize, std::ops::Range<u32>)>,
    /// The user's and the agent's edits conflict; `removed` contains the agent's text.
    pub conflict: bool,
    /// Set if nothing is written yet: the buffer's lines would be replaced with those in `removed`,
    /// and `words` would change.
    pub proposed: Option<ProposedView>,
}

/// A proposal's label and state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedView {
    /// `proposed 1/3`
    pub label: OneLine,
    /// The user's choice; the request waits for the other proposals.
    pub choice: Option<ReviewAction>,
    /// Another proposal at the same row comes first, and gets the keys.
    pub is_second: bool,
}

/// The review list: its lines and their items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListView {
    /// The text of the window bar.
    pub title: Vec<(OneLine, Group)>,
    pub lines: Vec<Line>,
    /// The item of each line, or `None`.
    pub items: Vec<Option<ListItem>>,
    /// Number of files, including those without a line.
    pub files: usize,
    /// Some files are not listed.
    pub is_cut: bool,
}

/// A file or a hunk in the review list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListItem {
    pub key: ItemKey,
    pub path: PathBuf,
    /// The hunk's first row; `None` for a file.
    pub row: Option<usize>,
    /// The file no longer exists.
    pub is_gone: bool,
}

/// A part of a transcript in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeView {
    /// The name of its buffer.
    pub name: OneLine,
    pub language: WholeLanguage,
    pub text: String,
}

/// The language of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WholeLanguage {
    /// A filetype.
    Named(&'static str),
    /// The filetype of a file with this name.
    OfFile(String),
}

/// The preview beside the review list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreviewView {
    pub title: OneLine,
    pub lines: Vec<Line>,
}

/// The place of a session's agent, and the place to follow it to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowView {
    pub mode: Follow,
    /// `None` while the agent is idle, or if the file is not in a buffer.
    pub mark: Option<AgentMark>,
    /// `None` while the agent is not followed.
    pub target: Option<FollowTarget>,
}

/// The agent's place in a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMark {
    /// Distinguishes a new place from an old one that is sent again, and has moved with the text
    /// since.
    pub number: u64,
    pub buf: BufId,
    pub row: usize,
    /// `claude edits`
    pub label: OneLine,
}

/// A place the editor jumps to once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowTarget {
    /// Greater than the numbers of all earlier places.
    pub number: u64,
    pub path: PathBuf,
    /// `None` if unknown: the cursor keeps its last position in the file.
    pub row: Option<usize>,
    /// The buffer with the file.
    pub buf: Option<BufId>,
    /// The folders that must contain the file, with symbolic links resolved.
    pub roots: Vec<PathBuf>,
    /// The turn has ended: jump now or never.
    pub is_over: bool,
}

/// The effects of undoing a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoView {
    pub title: OneLine,
    pub lines: Vec<Line>,
}

/// Whether the editor follows an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Follow {
    #[default]
    Off,
    On,
    /// Only to files it changes, not to files it reads.
    Edits,
}

impl Follow {
    /// Returns the message for a switch to this mode.
    pub(crate) fn told(self) -> &'static str {
        match self {
            Follow::Off => "No window follows the agent anymore.",
            Follow::On => "A window now follows the agent.",
            Follow::Edits => "A window now follows the agent's edits.",
        }
    }

    /// Returns its text in the chat's window bar.
    pub(crate) fn title(self) -> Option<&'static str> {
        match self {
            Follow::Off => None,
            Follow::On => Some("following"),
            Follow::Edits => Some("following edits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_large_as_the_main_thread_is_fast() {
        let check = |size: usize, bytes: usize, us: u64, want: usize| {
            let after = FrameSize(size).after(bytes, Duration::from_micros(us));
            assert_eq!(after, FrameSize(want), "{size} {bytes} {us}");
        };
        check(100_000, 100_000, 2500, 100_000);
        check(100_000, 100_000, 2000, 125_000);
        check(100_000, 100_000, 100, 200_000);
        check(100_000, 100_000, 5000, 50_000);
        check(100_000, 100_000, 50_000, 50_000);
        // A small frame says little about a large one, unless it is slow.
        check(100_000, 1000, 100, 100_000);
        check(100_000, 1000, 3000, 50_000);
        check(20_000, 1000, 3000, FrameSize::LEAST);
        check(500_000, 500_000, 100, FrameSize::MOST);
        check(100_000, 0, 0, 100_000);
    }
}
