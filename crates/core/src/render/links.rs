//! The links of a transcript's rows, stored compactly: a long chat has many rows, most of them
//! without a link or with that of the row above.
//!
//! Invariant: each row has the index of its link; unused links are removed before they outnumber
//! the used ones.

use crate::spine::view::{Line, Link};

/// Below this number of links, unused ones are not removed.
const FEW: usize = 1024;

/// The index of a row without a link.
const NONE: u32 = u32::MAX;

/// The links of all rows.
#[derive(Debug, Default)]
pub struct Links {
    rows: Vec<u32>,
    /// One for consecutive rows with equal links.
    links: Vec<Link>,
    /// Number of links after unused ones were last removed.
    before: usize,
}

impl Links {
    /// Returns the link of a row.
    pub fn of(&self, row: usize) -> Option<&Link> {
        self.links.get(*self.rows.get(row)? as usize)
    }

    /// Returns the entry of the tool call that a row belongs to, and the link of the call's first
    /// line.
    pub fn call(&self, row: usize) -> Option<(u32, &Link)> {
        let mut of = None;
        for row in (0..=row).rev() {
            match (self.of(row)?, of) {
                (Link::Part { entry }, None) => of = Some(*entry),
                (link @ Link::Call { entry, .. }, _) if of.is_none_or(|of| of == *entry) => {
                    return Some((*entry, link));
                }
                _ => {}
            }
        }
        None
    }

    /// Replaces the links of `removed` rows from `start` with those of `lines`.
    pub fn splice(&mut self, start: usize, removed: usize, lines: &[Line]) {
        let from = start.min(self.rows.len());
        let to = (start + removed).clamp(from, self.rows.len());
        let links = &mut self.links;
        let rows = lines.iter().map(|line| add(links, line.link.as_ref()));
        self.rows.splice(from..to, rows);
        if self.links.len() > FEW.max(2 * self.before) {
            self.compact();
        }
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn compact(&mut self) {
        let mut links = Vec::new();
        for row in &mut self.rows {
            *row = add(&mut links, self.links.get(*row as usize));
        }
        self.before = links.len();
        self.links = links;
    }
}

/// Returns the index of a link in a list, appending it unless it equals the last one.
fn add(links: &mut Vec<Link>, link: Option<&Link>) -> u32 {
    let Some(link) = link else {
        return NONE;
    };
    if links.last() != Some(link) {
        links.push(link.clone());
    }
    u32::try_from(links.len() - 1).unwrap_or(NONE)
}

/// Returns the row in a line number after a file's name: `name:12`.
pub fn row_behind(line: &str, name: &str) -> Option<u32> {
    let (_, rest) = line.split_once(name)?;
    let digits = rest.strip_prefix(':')?;
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let line: u32 = digits.get(..end.unwrap_or(digits.len()))?.parse().ok()?;
    Some(line.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part(entry: u32) -> Option<Link> {
        Some(Link::Part { entry })
    }

    fn call(entry: u32) -> Option<Link> {
        Some(Link::Call {
            entry,
            path: None,
            row: None,
        })
    }

    fn url(to: &str) -> Option<Link> {
        Some(Link::Url(to.into()))
    }

    fn lines(links: &[Option<Link>]) -> Vec<Line> {
        let line = |link: &Option<Link>| Line {
            link: link.clone(),
            ..Line::default()
        };
        links.iter().map(line).collect()
    }

    fn any_link() -> impl Strategy<Value = Option<Link>> {
        prop_oneof![
            Just(None),
            Just(part(1)),
            Just(url("a")),
            (0..1000_u32).prop_map(|n| url(&n.to_string())),
        ]
    }

    proptest! {
        #[test]
        fn a_link_stays_with_its_row(
            splices in prop::collection::vec(
                (any::<prop::sample::Index>(), 0..40_usize, prop::collection::vec(any_link(), 0..60)),
                0..150,
            ),
        ) {
            let mut links = Links::default();
            let mut model: Vec<Option<Link>> = Vec::new();
            for (at, removed, new) in splices {
                let start = at.index(model.len() + 1);
                let removed = removed.min(model.len() - start);
                links.splice(start, removed, &lines(&new));
                model.splice(start..start + removed, new);
            }
            for (row, link) in model.iter().enumerate() {
                prop_assert_eq!(links.of(row), link.as_ref());
            }
        }
    }

    #[test]
    fn links_that_are_gone_cost_nothing() {
        let mut links = Links::default();
        for n in 0..50_000 {
            links.splice(0, 1, &lines(&[url(&n.to_string())]));
        }
        assert!(links.links.len() <= FEW, "{}", links.links.len());
    }

    #[test]
    fn a_row_belongs_to_the_call_above_it() {
        let mut links = Links::default();
        let rows = [
            url("a message's"),
            None,
            call(1),
            url("one"),
            part(1),
            call(2),
            part(2),
            part(1),
            call(3),
            None,
        ];
        links.splice(0, 0, &lines(&rows));
        let of = |row| links.call(row).map(|(entry, _)| entry);
        let entries: Vec<Option<u32>> = (0..rows.len()).map(of).collect();
        let want = [0, 0, 1, 1, 1, 2, 2, 1, 3, 0].map(|entry| (entry > 0).then_some(entry));
        assert_eq!(entries, want);
    }

    #[test]
    fn the_line_stands_behind_the_name() {
        let check = |line: &str, row: Option<u32>| assert_eq!(row_behind(line, "a.rs"), row);
        check("see a.rs:12 there", Some(11));
        check("a.rs:1:5", Some(0));
        check("a.rs:0", Some(0));
        check("a.rs: no", None);
        check("a.rs", None);
    }
}
