//! Collects the changes of a transcript's buffer for one frame.
//!
//! Invariants: the operations, applied in order, give the same lines as the single changes;
//! consecutive changes are merged, because each operation costs the editor a call; folds are in
//! rows of the final text, because they are created last.

use crate::spine::view::{ChatOp, FoldState, Line, Span};

/// Changes of one transcript.
#[derive(Debug, Default)]
pub struct Ops {
    changes: Vec<Change>,
    /// Created or toggled in this order.
    folds: Vec<Fold>,
    /// All folds, if a new window wants them.
    all_folds: Option<Vec<(usize, usize, FoldState)>>,
}

/// The creation or toggle of a fold.
#[derive(Debug)]
struct Fold {
    start: usize,
    end: usize,
    state: FoldState,
    /// The fold exists.
    is_known: bool,
}

#[derive(Debug)]
enum Change {
    Splice(Splice),
    /// Other highlights of the lines from `start`.
    Colours {
        start: usize,
        lines: Vec<Vec<Span>>,
    },
}

#[derive(Debug)]
struct Splice {
    start: usize,
    removed: usize,
    lines: Vec<Line>,
}

impl Ops {
    /// Replaces `removed` lines from row `start` with `lines`.
    pub fn splice(&mut self, start: usize, removed: usize, lines: Vec<Line>) {
        self.move_folds(start, removed, lines.len());
        let new = Splice {
            start,
            removed,
            lines,
        };
        let rest = match self.changes.last_mut() {
            Some(Change::Splice(last)) => last.take_in(new),
            _ => Some(new),
        };
        self.changes.extend(rest.map(Change::Splice));
    }

    /// Replaces the highlights of the lines from row `start`.
    pub fn colour(&mut self, start: usize, lines: Vec<Vec<Span>>) {
        self.changes.push(Change::Colours { start, lines });
    }

    /// Creates a fold of rows `start..end`.
    pub fn fold(&mut self, start: usize, end: usize, state: FoldState) {
        self.folds.push(Fold {
            start,
            end,
            state,
            is_known: false,
        });
    }

    /// Opens or closes the fold of rows `start..end`.
    pub fn turn_fold(&mut self, start: usize, end: usize, state: FoldState) {
        self.folds.push(Fold {
            start,
            end,
            state,
            is_known: true,
        });
    }

    /// Gives a new window all folds, in rows of the final text.
    pub fn set_folds(&mut self, folds: Vec<(usize, usize, FoldState)>) {
        self.all_folds = Some(folds);
    }

    pub fn into_ops(self) -> Vec<ChatOp> {
        let changes = self.changes.into_iter().map(|change| match change {
            Change::Splice(splice) => ChatOp::Splice {
                start: splice.start,
                removed: splice.removed,
                lines: splice.lines,
            },
            Change::Colours { start, lines } => ChatOp::Colours { start, lines },
        });
        let folds = self.folds.into_iter();
        let folds = folds.map(|fold| {
            let Fold {
                start, end, state, ..
            } = fold;
            match fold.is_known {
                false => ChatOp::Fold { start, end, state },
                true => ChatOp::TurnFold { start, end, state },
            }
        });
        let all = self.all_folds.map(ChatOp::AllFolds);
        changes.chain(folds).chain(all).collect()
    }

    fn move_folds(&mut self, start: usize, removed: usize, added: usize) {
        let moved = |row: usize| row + added - removed;
        for fold in &mut self.folds {
            if start + removed <= fold.start {
                fold.start = moved(fold.start);
            }
            if start + removed <= fold.end && start < fold.end {
                fold.end = moved(fold.end);
            }
        }
    }
}

impl Splice {
    /// Merges `next` into this splice if it changes or extends the lines added here; otherwise
    /// returns it.
    ///
    /// Neovim keeps replaced lines in their fold. A deletion is therefore not merged with lines
    /// added in the same place: they would join the deleted lines' fold.
    fn take_in(&mut self, next: Splice) -> Option<Splice> {
        let Some(from) = next.start.checked_sub(self.start) else {
            return Some(next);
        };
        let to = from + next.removed;
        if to > self.lines.len() || self.removed > self.lines.len() {
            return Some(next);
        }
        self.lines.splice(from..to, next.lines);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change<'a> = (usize, usize, &'a [&'a str]);

    fn check(changes: &[Change<'_>], want: &[Change<'_>]) {
        let mut ops = Ops::default();
        for (start, removed, lines) in changes {
            ops.splice(
                *start,
                *removed,
                lines.iter().map(|text| line(text)).collect(),
            );
        }
        let want: Vec<ChatOp> = want
            .iter()
            .map(|(start, removed, lines)| ChatOp::Splice {
                start: *start,
                removed: *removed,
                lines: lines.iter().map(|text| line(text)).collect(),
            })
            .collect();
        assert_eq!(ops.into_ops(), want, "{changes:?}");
    }

    fn line(text: &str) -> Line {
        Line::plain(text)
    }

    #[test]
    fn what_follows_is_one_change() {
        check(
            &[(5, 0, &["a", "b"]), (7, 0, &["c"])],
            &[(5, 0, &["a", "b", "c"])],
        );
        check(
            &[(5, 1, &["a", "b"]), (6, 1, &["c", "d"])],
            &[(5, 1, &["a", "c", "d"])],
        );
    }

    #[test]
    fn what_is_deleted_is_not_replaced_by_what_comes_there() {
        let changes: [&[Change<'_>]; 3] = [
            &[(5, 0, &["a", "b"]), (6, 3, &["c"])],
            &[(5, 2, &["a"]), (6, 0, &["b"])],
            &[(5, 3, &[]), (5, 0, &["a", "b", "c"])],
        ];
        for changes in changes {
            check(changes, changes);
        }
    }

    #[test]
    fn what_lies_elsewhere_is_a_change_of_its_own() {
        check(
            &[(5, 0, &["a"]), (4, 0, &["b"])],
            &[(5, 0, &["a"]), (4, 0, &["b"])],
        );
        check(
            &[(5, 0, &["a"]), (7, 1, &["b"])],
            &[(5, 0, &["a"]), (7, 1, &["b"])],
        );
    }

    #[test]
    fn folds_move_with_the_lines_that_come_later() {
        let mut ops = Ops::default();
        ops.splice(0, 0, vec![line("head"), line("body"), line("")]);
        ops.fold(0, 3, FoldState::Closed);
        ops.splice(2, 0, vec![line("more")]);
        ops.fold(4, 6, FoldState::Open);
        ops.turn_fold(0, 4, FoldState::Open);
        ops.splice(0, 0, vec![line("above")]);
        ops.splice(7, 0, vec![line("below")]);
        let folds: Vec<ChatOp> = ops.into_ops().split_off(2);
        let fold = |start, end, state| ChatOp::Fold { start, end, state };
        let turn = ChatOp::TurnFold {
            start: 1,
            end: 5,
            state: FoldState::Open,
        };
        let want = [
            fold(1, 5, FoldState::Closed),
            fold(5, 7, FoldState::Open),
            turn,
        ];
        assert_eq!(folds, want);
    }
}
