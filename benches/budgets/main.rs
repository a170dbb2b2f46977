//! `make bench`: the costs of the plugin, compared to those of a minimal client in Lua.
//!
//! Each row is measured with the same replayed agent in a Neovim with a screen, three times per
//! client, alternating. The median counts, and the spread shows the noise of the machine.
//! Milliseconds are CPU time of Neovim's main thread, except latencies, stalls and "until ready",
//! which are wall time. Nothing fails: these are figures to read.
//!
//! `make bench ARGS='burst read'` measures only some rows; `-n 5` sets the number of runs. The ratios
//! are compared with those that `benches/ratios` keeps; `--keep` keeps the measured ones instead.
//! `make bench ARGS=growth` prints how the plugin's costs grow with the size of the work; words after
//! it choose subjects.

mod client;
mod disk;
mod growth;
#[allow(dead_code, unused_imports)] // The end-to-end tests use the rest of it.
#[path = "../../tests/e2e/harness/mod.rs"]
mod harness;
mod kept;
mod load;
mod probe;
mod rows;
mod table;
mod terminal;

use client::Client;
use kept::Kept;
use rows::{ROWS, Row};
use table::{Runs, Trace};

fn main() {
    let (mut runs, mut is_keeping) = (3, false);
    let mut chosen = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-n" => runs = words.next().and_then(|n| n.parse().ok()).unwrap_or(runs),
            "--keep" => is_keeping = true,
            // Cargo's own argument.
            "--bench" => {}
            _ => chosen.push(word),
        }
    }
    if chosen.first().is_some_and(|name| name == "growth") {
        return growth::print(&chosen[1..]);
    }
    let is_chosen = |row: &&Row| chosen.is_empty() || chosen.iter().any(|name| name == row.name);
    table::head(runs);
    let mut trace = Trace::default();
    let mut kept = Kept::read();
    for row in ROWS.iter().filter(is_chosen) {
        let mut all = [
            (Client::Ours, Runs::default()),
            (Client::Floor, Runs::default()),
        ];
        for _ in 0..runs {
            for (client, runs) in &mut all {
                let measured = (row.measure)(*client);
                trace.add(&measured.trace);
                runs.add(measured.values);
            }
        }
        let [(_, ours), (_, floor)] = &mut all;
        for (at, figure) in row.figures.iter().enumerate() {
            let ratio = table::line(figure, ours.figure(at), floor.figure(at));
            if let Some(ratio) = ratio {
                kept.take(row.name, at + 1, ratio);
            }
        }
    }
    trace.print();
    match is_keeping {
        true => kept.write(),
        false => kept.compare(),
    }
}
