//! The highlights of a transcript's rows, stored compactly: a long chat has very many rows.
//!
//! Invariant: the marks of a row start at its `start`; unused marks are removed before they
//! outnumber the others.

use std::cell::RefCell;

use nvim_oxi::mlua;

use super::nvim::api;
use acp_core::spine::view::{Group, Span};

/// The highlights of all rows.
#[derive(Debug, Default)]
pub struct Spans {
    rows: Vec<Row>,
    marks: Vec<Highlight>,
    /// The number of marks that belong to no row.
    unused: usize,
}

/// A highlighted range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Highlight {
    pub start: u16,
    pub end: u16,
    /// Neovim's id of the group.
    pub group: u16,
}

/// The highlights of some lines, in order, and their number for each line.
#[derive(Debug, Default)]
pub struct LineHighlights {
    counts: Vec<u32>,
    marks: Vec<Highlight>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    start: u32,
    count: u32,
}

thread_local! {
    /// Neovim's ids of the groups, which never change. The few dozen names are found by address:
    /// comparing their text would dominate the cost.
    static NUMBERS: RefCell<Vec<(Group, u16)>> = RefCell::default();
}

impl LineHighlights {
    /// Returns the highlights of this many lines without any.
    pub fn none(lines: usize) -> Self {
        Self {
            counts: vec![0; lines],
            marks: Vec::new(),
        }
    }

    /// Returns the highlights of lines with these spans; the part of a line beyond 64 KiB has none.
    pub fn of<'a>(lines: impl Iterator<Item = &'a Vec<Span>>) -> mlua::Result<Self> {
        let mut all = Self::default();
        for spans in lines {
            let before = all.marks.len();
            for span in spans {
                let Ok(start) = u16::try_from(span.start) else {
                    break;
                };
                all.marks.push(Highlight {
                    start,
                    end: u16::try_from(span.end).unwrap_or(u16::MAX),
                    group: number(span.group)?,
                });
            }
            all.counts.push(narrow(all.marks.len() - before));
        }
        Ok(all)
    }
}

/// Returns Neovim's id of a group.
pub fn number(group: Group) -> mlua::Result<u16> {
    let is_this = |known: &&(Group, u16)| std::ptr::eq(known.0, group);
    let known = NUMBERS.with_borrow(|all| all.iter().find(is_this).map(|known| known.1));
    if let Some(number) = known {
        return Ok(number);
    }
    let number = api("nvim_get_hl_id_by_name", group)?;
    NUMBERS.with_borrow_mut(|all| all.push((group, number)));
    Ok(number)
}

impl Spans {
    /// Returns the highlights of a row.
    pub fn of(&self, row: usize) -> &[Highlight] {
        let row = self.rows.get(row);
        row.map(|row| self.marks_of(*row)).unwrap_or_default()
    }

    /// Replaces the highlights of `removed` rows from `start`.
    pub fn splice(&mut self, start: usize, removed: usize, new: LineHighlights) {
        let mut at = self.marks.len();
        let rows = new.counts.iter().map(|&count| {
            let start = narrow(at);
            at += count as usize;
            Row { start, count }
        });
        let from = start.min(self.rows.len());
        let to = (start + removed).clamp(from, self.rows.len());
        let gone = self.rows.splice(from..to, rows);
        self.unused += gone.map(|row| row.count as usize).sum::<usize>();
        self.marks.extend_from_slice(&new.marks);
        if self.unused > self.marks.len() / 2 {
            self.compact();
        }
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn marks_of(&self, row: Row) -> &[Highlight] {
        let start = row.start as usize;
        let marks = self.marks.get(start..start + row.count as usize);
        marks.unwrap_or_default()
    }

    fn compact(&mut self) {
        let mut marks = Vec::with_capacity(self.marks.len() - self.unused);
        let mut rows = std::mem::take(&mut self.rows);
        for row in &mut rows {
            let start = narrow(marks.len());
            marks.extend_from_slice(self.marks_of(*row));
            row.start = start;
        }
        (self.rows, self.marks, self.unused) = (rows, marks, 0);
    }
}

/// Saturates: that many marks would take tens of gigabytes.
fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
