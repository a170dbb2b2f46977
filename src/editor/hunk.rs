//! One hunk on the screen: drawn, kept or erased.
//!
//! Invariant: a hunk is drawn again only if one of its extmarks is not at its position.

use std::collections::HashMap;

use nvim_oxi::mlua;

use super::nvim::api;
use super::pen::{self, Canvas, Mark, Style};
use acp_core::spine::view::HunkView;

/// A hunk that is drawn.
#[derive(Debug)]
pub struct Drawn {
    pub hunk: HunkView,
    place: String,
    /// The last one is the label.
    marks: Vec<Mark>,
    /// It lies below the last line.
    is_below: bool,
    /// The number of rows that the removed lines take.
    rows: usize,
}

/// The position of a hunk: its row, whether it lies below all lines, whether it is proposed.
type Key = (usize, bool, bool);

/// The hunks that are drawn, by their present position.
#[derive(Debug, Default)]
pub struct Stock {
    hunks: HashMap<Key, Drawn>,
    /// Hunks that have lost an extmark.
    broken: Vec<Drawn>,
    /// The row and the column of each extmark.
    places: HashMap<i64, (usize, usize)>,
}

impl Stock {
    /// Collects the hunks that are drawn.
    pub fn of(drawn: Vec<Drawn>, canvas: &Canvas) -> mlua::Result<Self> {
        let mut stock = Self::default();
        if !drawn.is_empty() {
            stock.places = canvas.places()?;
        }
        for hunk in drawn {
            let label = hunk.marks.last();
            let place = label.and_then(|label| stock.places.get(&label.id));
            let key = place.map(|place| (place.0, hunk.is_below, hunk.hunk.proposed.is_some()));
            let other = match key {
                Some(key) => stock.hunks.insert(key, hunk),
                None => Some(hunk),
            };
            stock.broken.extend(other);
        }
        Ok(stock)
    }

    /// Removes and returns a hunk that is drawn at its position.
    pub fn take(&mut self, hunk: &HunkView, canvas: &Canvas) -> Option<Drawn> {
        let (row, is_below) = canvas.place(hunk);
        let key = (row, is_below, hunk.proposed.is_some());
        let stands = self
            .hunks
            .get(&key)
            .is_some_and(|drawn| drawn.stands_as(hunk, &self.places));
        match stands {
            true => self.hunks.remove(&key),
            false => None,
        }
    }

    /// Erases the other hunks.
    pub fn erase(self, canvas: &Canvas) -> mlua::Result<()> {
        let rest = self.hunks.into_values().chain(self.broken);
        for mark in rest.flat_map(|drawn| drawn.marks) {
            let at = (canvas.buf, canvas.namespace, mark.id);
            api::<bool>("nvim_buf_del_extmark", at)?;
        }
        Ok(())
    }
}

impl Drawn {
    /// Draws a hunk.
    pub fn draw(
        canvas: &Canvas,
        hunk: &HunkView,
        place: String,
        style: &Style,
    ) -> mlua::Result<Self> {
        let ink = pen::draw(canvas, hunk, &place, style)?;
        Ok(Self {
            hunk: hunk.clone(),
            place,
            is_below: canvas.place(hunk).1,
            marks: ink.marks,
            rows: ink.rows,
        })
    }

    /// Becomes `hunk`, which looks the same except for its number.
    pub fn become_hunk(
        mut self,
        canvas: &Canvas,
        hunk: &HunkView,
        place: String,
        style: &Style,
    ) -> mlua::Result<Self> {
        for mark in &mut self.marks {
            mark.row = (mark.row + hunk.row).saturating_sub(self.hunk.row);
        }
        // The label is drawn last.
        if place != self.place
            && let Some(label) = self.marks.last()
        {
            pen::relabel(canvas, hunk, &place, style, label)?;
        }
        self.hunk.words.clone_from(&hunk.words);
        self.hunk.row = hunk.row;
        self.place = place;
        Ok(self)
    }

    /// Returns whether this looks like `new` and its extmarks are at their positions.
    fn stands_as(&self, new: &HunkView, places: &HashMap<i64, (usize, usize)>) -> bool {
        let old = &self.hunk;
        let moved = |row: usize| (row + new.row).saturating_sub(old.row);
        let mut words = old.words.iter().zip(&new.words);
        old.count == new.count
            && old.conflict == new.conflict
            && old.proposed == new.proposed
            && old.removed == new.removed
            && old.words.len() == new.words.len()
            && words.all(|(a, b)| moved(a.0) == b.0 && a.1 == b.1)
            && self.marks.iter().all(|mark| {
                let place = (moved(mark.row), mark.column);
                places.get(&mark.id) == Some(&place)
            })
    }

    /// Returns the number of its virtual lines above the buffer's first line, if it has any there.
    pub fn rows_above_first(&self) -> Option<usize> {
        (self.hunk.row == 0 && !self.is_below && self.rows > 0).then_some(self.rows)
    }
}
