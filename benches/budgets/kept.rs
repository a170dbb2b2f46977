//! The ratios to the floor that `benches/ratios` keeps, to compare with.
//!
//! A ratio depends less on the machine than a time does: both clients are measured in one run.

use std::collections::BTreeMap;
use std::fs;

/// A ratio is worse if it is more than this much higher than the kept one.
const WORSE: f64 = 1.2;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ratios");

const HEAD: &str = "\
# The plugin's figures as multiples of the floor's: row, number of the figure in it, ratio.
# `make bench` compares with these; `make bench ARGS=--keep` keeps what it measures.
";

/// The ratios by row and number of the figure.
pub struct Kept {
    old: BTreeMap<(String, usize), f64>,
    new: BTreeMap<(String, usize), f64>,
}

impl Kept {
    /// Reads the kept ratios; there are none before the first are kept.
    pub fn read() -> Self {
        let text = fs::read_to_string(PATH).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let ratio = |line: &str| {
            let mut words = line.split_whitespace();
            let key = (words.next()?.to_owned(), words.next()?.parse().ok()?);
            Some((key, words.next()?.parse().ok()?))
        };
        Self {
            old: lines.filter_map(ratio).collect(),
            new: BTreeMap::new(),
        }
    }

    /// Takes the ratio of a figure.
    pub fn take(&mut self, row: &str, figure: usize, ratio: f64) {
        self.new.insert((row.to_owned(), figure), ratio);
    }

    /// Prints which ratios are worse than the kept ones by more than a fifth.
    pub fn compare(&self) {
        println!();
        let mut worse = 0;
        for ((row, figure), ratio) in &self.new {
            let old = self.old.get(&(row.clone(), *figure));
            if let Some(old) = old.filter(|old| *ratio > **old * WORSE) {
                println!("worse: {row} {figure}: {ratio:.2} times the floor, kept is {old:.2}");
                worse += 1;
            }
        }
        let known = self.new.keys().filter(|key| self.old.contains_key(*key));
        println!(
            "{worse} of {} ratios are worse by more than a fifth.",
            known.count()
        );
    }

    /// Writes the ratios that were measured, in place of those of the same figures.
    pub fn write(mut self) {
        self.old.append(&mut self.new);
        let line = |((row, figure), ratio): (&(String, usize), &f64)| {
            format!("{row} {figure} {ratio:.2}\n")
        };
        let lines: String = self.old.iter().map(line).collect();
        fs::write(PATH, HEAD.to_owned() + &lines).expect("the checkout can be written");
    }
}
