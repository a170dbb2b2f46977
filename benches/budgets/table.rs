//! The printed table.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::probe;
use crate::rows::Figure;

/// The runs of one row by one client.
#[derive(Default)]
pub struct Runs(Vec<Vec<f64>>);

/// One figure over several runs.
#[derive(Clone, Copy)]
pub struct Spread {
    pub least: f64,
    pub middle: f64,
    pub most: f64,
}

impl Runs {
    pub fn add(&mut self, values: Vec<f64>) {
        self.0.push(values);
    }

    pub fn figure(&self, at: usize) -> Spread {
        let values = self.0.iter().filter_map(|run| run.get(at).copied());
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let nth = |n: usize| values.get(n).copied().unwrap_or(f64::NAN);
        Spread {
            least: nth(0),
            middle: nth(values.len() / 2),
            most: nth(values.len().saturating_sub(1)),
        }
    }
}

pub fn head(runs: usize) {
    let (load, processors) = probe::load();
    println!("Middle of {runs} runs (least to most); {processors} processors, load {load}.");
    println!(
        "{:<40} {:>26} {:>26} {:>7} {:>8}",
        "", "ours", "floor", "ratio", "budget"
    );
}

/// Prints a figure; returns its ratio to the floor's, if that has one.
pub fn line(figure: &Figure, ours: Spread, floor: Spread) -> Option<f64> {
    let ratio = (floor.middle > 0.0).then_some(ours.middle / floor.middle);
    let shown = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let is_over = match figure.label.contains("1: yes") {
        true => ours.middle < figure.budget,
        false => ours.middle > figure.budget,
    };
    let mark = if is_over { "  over" } else { "" };
    println!(
        "{:<40} {:>26} {:>26} {shown:>7} {:>8}{mark}",
        format!("{} {}", figure.label, unit(figure)),
        ours.show(),
        floor.show(),
        number(figure.budget),
    );
    ratio
}

fn unit(figure: &Figure) -> String {
    match figure.unit {
        "" => String::new(),
        unit => format!("[{unit}]"),
    }
}

impl Spread {
    fn show(self) -> String {
        let [least, middle, most] = [self.least, self.middle, self.most].map(number);
        format!("{middle} ({least} to {most})")
    }
}

fn number(value: f64) -> String {
    match value {
        value if value == 0.0 || value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Durations of the plugin's callbacks over all runs.
#[derive(Default)]
pub struct Trace(BTreeMap<String, Place>);

#[derive(Default, Clone)]
struct Place {
    calls: u64,
    over_2ms: u64,
    over_16ms: u64,
    longest_us: u64,
    total_us: u64,
}

impl Trace {
    pub fn add(&mut self, lines: &[Json]) {
        for line in lines {
            let field = |name: &str| line[name].as_u64().unwrap_or(0);
            let name = line["place"].as_str().unwrap_or("?");
            let place = self.0.entry(name.to_owned()).or_default();
            place.calls += field("calls");
            place.over_2ms += field("over_2ms");
            place.over_16ms += field("over_16ms");
            place.total_us += field("total_us");
            place.longest_us = place.longest_us.max(field("longest_us"));
        }
    }

    pub fn print(&self) {
        let mut all = Place::default();
        println!();
        println!(
            "{:<24} {:>9} {:>11} {:>9} {:>9} {:>11}",
            "our callbacks (CPU)", "calls", "mean [us]", "> 2 ms", "> 16 ms", "most [ms]"
        );
        for (name, place) in &self.0 {
            place.print(name);
            all.calls += place.calls;
            all.over_2ms += place.over_2ms;
            all.over_16ms += place.over_16ms;
            all.total_us += place.total_us;
            all.longest_us = all.longest_us.max(place.longest_us);
        }
        all.print("all");
    }
}

impl Place {
    fn print(&self, name: &str) {
        let mean = self.total_us as f64 / self.calls.max(1) as f64;
        let most = self.longest_us as f64 / 1000.0;
        println!(
            "{name:<24} {:>9} {mean:>11.1} {:>9} {:>9} {most:>11.2}",
            self.calls, self.over_2ms, self.over_16ms,
        );
    }
}
