//! An agent's plan: shown in a panel while it is in progress, in the transcript afterwards.
//!
//! Invariants: a plan is shown in one of the two places, never in both; the transcript gets it
//! once, in the state in which it was finished or its turn ended.

use std::collections::HashSet;

use crate::conversation::transcript::{Entry, Transcript};
use crate::render::toolview::whole_line;
use crate::spine::view::{Group, Line, PlanView, Span};
use acp::{PlanEntry, PlanStatus, Priority};

/// The place where a plan is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlanPlace {
    /// In a panel beside the transcript, while it is in progress.
    #[default]
    Panel,
    /// In the transcript, at the point where the agent made it.
    Transcript,
}

/// The plans of a session.
#[derive(Debug, Default)]
pub struct Plans {
    /// The plan in the panel: neither the plan nor its turn is finished.
    open: Option<Vec<PlanEntry>>,
    /// The index of the entry with the turn's plan.
    entry: Option<usize>,
    /// The turn has ended.
    is_over: bool,
    /// The panel does not show the current state.
    is_dirty: bool,
    /// The numbers of finished entries and of all entries of the current plan.
    counts: Option<(usize, usize)>,
}

/// The maximum number of a plan's entries in the panel; the transcript shows all.
const SHOWN: usize = 200;

impl Plans {
    /// Returns whether the panel must be updated.
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Returns the panel's new content if it has changed.
    pub fn take_view(&mut self) -> Option<Option<PlanView>> {
        let is_dirty = std::mem::take(&mut self.is_dirty);
        is_dirty.then(|| self.open.as_deref().map(view))
    }

    /// Begins a turn: the next plan is a new one.
    pub(crate) fn begin_turn(&mut self) {
        self.entry = None;
        self.is_over = false;
        self.counts = self.open.as_deref().map(counts);
    }

    fn set_open(&mut self, plan: Option<Vec<PlanEntry>>) {
        self.is_dirty |= self.open != plan;
        self.open = plan;
    }
}

impl Transcript {
    /// Applies the agent's plan.
    ///
    /// `place` is where the plan is shown until it is finished.
    pub fn plan(&mut self, plan: Vec<PlanEntry>, place: PlanPlace) {
        self.end_message();
        let before = self.current_plan().map(<[PlanEntry]>::to_vec);
        let is_finished = plan.iter().all(is_done);
        match place {
            // The agent has withdrawn the plan, or clears a finished one.
            PlanPlace::Panel if plan.is_empty() => self.plans.set_open(None),
            PlanPlace::Panel if !is_finished => self.plans.set_open(Some(plan)),
            PlanPlace::Panel | PlanPlace::Transcript => {
                self.plans.set_open(None);
                self.keep_plan(plan);
            }
        }
        self.plans.counts = self.current_plan().map(counts);
        if self.current_plan() != before.as_deref() {
            self.progress.plan();
        }
    }

    /// Moves an unfinished plan into the transcript, because its turn ends.
    pub(crate) fn settle_plan(&mut self) {
        if let Some(plan) = self.plans.open.clone() {
            self.plans.set_open(None);
            self.keep_plan(plan);
            self.plans.counts = self.current_plan().map(counts);
        }
    }

    pub(crate) fn end_plan(&mut self) {
        self.settle_plan();
        self.plans.is_over = true;
    }

    /// Puts a plan into the transcript, replacing its earlier state.
    fn keep_plan(&mut self, plan: Vec<PlanEntry>) {
        let is_it = |before: &[PlanEntry]| {
            // A plan in progress may change in any way.
            let is_under_way = !self.plans.is_over && !before.iter().all(is_done);
            is_under_way || !plan.is_empty() && goes_on(before, &plan)
        };
        match self
            .plans
            .entry
            .filter(|_| self.kept_plan().is_some_and(is_it))
        {
            Some(index) => self.replace(index, Entry::Plan(plan)),
            None if plan.is_empty() => {}
            None => self.plans.entry = Some(self.push(Entry::Plan(plan))),
        }
    }

    fn current_plan(&self) -> Option<&[PlanEntry]> {
        self.plans.open.as_deref().or(self.kept_plan())
    }

    /// Returns the last turn's plan if it is in the transcript.
    fn kept_plan(&self) -> Option<&[PlanEntry]> {
        match self.entries().get(self.plans.entry?)? {
            Entry::Plan(plan) => Some(plan),
            _ => None,
        }
    }

    /// Returns the numbers of finished entries and of all entries of the current plan; `None` if it
    /// was finished and its turn has ended.
    pub fn plan_progress(&self) -> Option<(usize, usize)> {
        let (done, all) = self.plans.counts?;
        let is_news = !self.plans.is_over || done < all;
        (is_news && all > 0).then_some((done, all))
    }
}

fn is_done(entry: &PlanEntry) -> bool {
    entry.status == PlanStatus::Completed
}

fn counts(plan: &[PlanEntry]) -> (usize, usize) {
    let done = plan.iter().filter(|entry| is_done(entry)).count();
    (done, plan.len())
}

/// Returns whether a plan continues an earlier one: it contains all of its entries.
fn goes_on(before: &[PlanEntry], plan: &[PlanEntry]) -> bool {
    let wanted: HashSet<&str> = plan.iter().map(|entry| entry.text.as_str()).collect();
    before
        .iter()
        .all(|entry| wanted.contains(entry.text.as_str()))
}

/// Returns a plan as the transcript shows it.
pub(crate) fn lines(plan: &[PlanEntry]) -> Vec<Line> {
    let (done, all) = counts(plan);
    let mut lines = vec![match all {
        0 => whole_line("The plan was taken back.".into(), "AcpNotice"),
        all => whole_line(format!("Plan {done}/{all}"), "AcpTitle"),
    }];
    lines.extend(entries(plan, "  "));
    lines
}

/// Returns a plan as the panel shows it: the entries around the current one.
fn view(plan: &[PlanEntry]) -> PlanView {
    let first = |status| plan.iter().position(|entry| entry.status == status);
    let current = first(PlanStatus::InProgress).or(first(PlanStatus::Pending));
    let current = current.unwrap_or(0);
    let above = current.saturating_sub(SHOWN / 2);
    let above = above.min(plan.len().saturating_sub(SHOWN));
    let (_, rest) = plan.split_at(above); // It is at most the length.
    let below = rest.len().saturating_sub(SHOWN);
    let (shown, _) = rest.split_at(rest.len() - below);
    let more = |count: usize| (count > 0).then(|| whole_line(format!(" … {count} more"), "AcpDim"));
    let lines = more(above).into_iter().chain(entries(shown, " "));
    PlanView {
        lines: lines.chain(more(below)).collect(),
        current: current - above + usize::from(above > 0),
    }
}

/// Returns a line for each entry: its status, priority and text.
fn entries(plan: &[PlanEntry], indent: &'static str) -> impl Iterator<Item = Line> {
    let is_plain = |entry: &PlanEntry| entry.priority == Priority::Medium;
    let are_plain = plan.iter().all(is_plain);
    plan.iter().map(move |entry| {
        let (mark, group) = match entry.status {
            PlanStatus::Pending => ("○", "AcpPlanPending"),
            PlanStatus::InProgress => ("◐", "AcpPlanRunning"),
            PlanStatus::Completed => ("✓", "AcpPlanDone"),
        };
        let (weight, weight_group) = match entry.priority {
            Priority::High => ("! ", "AcpPlanHigh"),
            Priority::Medium if are_plain => ("", "AcpPlanPending"),
            Priority::Medium => ("  ", "AcpPlanPending"),
            Priority::Low => ("↓ ", "AcpPlanLow"),
        };
        let mut line = Line::default();
        let mut write = |text: &str, group: Option<Group>| {
            let start = bytes(&line.text);
            line.text.push_str(text);
            let end = bytes(line.text.trim_end());
            if start < end {
                line.spans
                    .extend(group.map(|group| Span { start, end, group }));
            }
        };
        write(indent, None);
        write(mark, Some(group));
        write(" ", None);
        write(weight, Some(weight_group));
        let text = entry.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_pending = entry.status == PlanStatus::Pending;
        write(&text, is_pending.then_some(group));
        line
    })
}

fn bytes(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp::{Content, Role};

    /// Returns a plan by its entries: `x` done, `>` in progress, `-` pending; then `!` high or
    /// `v` low; then the text.
    fn plan(entries: &[&str]) -> Vec<PlanEntry> {
        let read = |entry: &&str| {
            let status = match entry.get(0..1) {
                Some("x") => PlanStatus::Completed,
                Some(">") => PlanStatus::InProgress,
                _ => PlanStatus::Pending,
            };
            let priority = match entry.get(1..2) {
                Some("!") => Priority::High,
                Some("v") => Priority::Low,
                _ => Priority::Medium,
            };
            PlanEntry {
                text: entry[2..].to_owned(),
                priority,
                status,
            }
        };
        entries.iter().map(read).collect()
    }

    /// Applies plans in one turn, then compares the panel, and the transcript after the turn.
    fn check(plans: &[&[&str]], panel: Option<&str>, transcript: &[&str]) {
        let mut all = Transcript::default();
        for entries in plans {
            all.plan(plan(entries), PlanPlace::Panel);
        }
        let shown = all.plans.take_view().flatten();
        let text = |lines: &[Line]| {
            let texts: Vec<&str> = lines.iter().map(|line| line.text.trim_start()).collect();
            texts.join("|")
        };
        assert_eq!(shown.map(|view| text(&view.lines)).as_deref(), panel);
        all.end_plan();
        let kept: Vec<String> = all
            .entries()
            .iter()
            .map(|entry| match entry {
                Entry::Plan(plan) => text(&lines(plan)),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(kept, transcript);
        assert_eq!(all.plans.open, None);
    }

    #[test]
    fn a_plan_under_way_is_in_the_panel_and_what_is_left_of_it_stays() {
        check(&[], None, &[]);
        check(&[&["> a", "- b"]], Some("◐ a|○ b"), &["Plan 0/2|◐ a|○ b"]);
        check(
            &[&["> a", "- b"], &["x a", "> b"]],
            Some("✓ a|◐ b"),
            &["Plan 1/2|✓ a|◐ b"],
        );
    }

    #[test]
    fn the_panel_shows_the_entries_around_the_current_one() {
        let pending = PlanEntry {
            text: "a".into(),
            priority: Priority::Medium,
            status: PlanStatus::Pending,
        };
        let check = |current: usize, above: &str, below: &str| {
            let mut plan = vec![pending.clone(); 100_000];
            plan[current].status = PlanStatus::InProgress;
            let view = view(&plan);
            assert!(view.lines.len() <= SHOWN + 2, "{}", view.lines.len());
            assert_eq!(&*view.lines[view.current].text, " ◐ a");
            let text = |line: Option<&Line>| line.map(|line| line.text.to_string());
            assert_eq!(text(view.lines.first()).as_deref(), Some(above));
            assert_eq!(text(view.lines.last()).as_deref(), Some(below));
        };
        check(0, " ◐ a", " … 99800 more");
        check(50_000, " … 49900 more", " … 49900 more");
        check(99_999, " … 99800 more", " ◐ a");
    }

    #[test]
    fn a_finished_plan_is_in_the_transcript_once() {
        let done: &[&str] = &["x a", "x b"];
        check(&[&["> a", "- b"], done], None, &["Plan 2/2|✓ a|✓ b"]);
        check(&[done, done], None, &["Plan 2/2|✓ a|✓ b"]);
        // The plan is extended.
        check(
            &[done, &["x a", "x b", "> c"]],
            Some("✓ a|✓ b|◐ c"),
            &["Plan 2/3|✓ a|✓ b|◐ c"],
        );
        // The agent clears the finished plan.
        check(&[done, &[]], None, &["Plan 2/2|✓ a|✓ b"]);
    }

    #[test]
    fn each_plan_of_a_turn_stays() {
        check(
            &[&["x a"], &["> b"], &["x b"], &["> c"]],
            Some("◐ c"),
            &["Plan 1/1|✓ a", "Plan 1/1|✓ b", "Plan 0/1|◐ c"],
        );
        // The agent withdraws the plan.
        check(&[&["> a"], &[]], None, &[]);
        // The agent replaces the plan.
        check(&[&["> a"], &["> b"]], Some("◐ b"), &["Plan 0/1|◐ b"]);
    }

    #[test]
    fn what_matters_more_or_less_is_marked() {
        check(
            &[&[">!a", "- b", "-vc"]],
            Some("◐ ! a|○   b|○ ↓ c"),
            &["Plan 0/3|◐ ! a|○   b|○ ↓ c"],
        );
        check(&[&["> a\nb\t c"]], Some("◐ a b c"), &["Plan 0/1|◐ a b c"]);
    }

    #[test]
    fn a_plan_outside_of_a_turn_is_in_the_transcript_at_once() {
        let mut all = Transcript::default();
        all.plan(plan(&["> a", "- b"]), PlanPlace::Panel);
        all.end_plan();
        assert_eq!(all.plan_progress(), Some((0, 2)));
        // A late update of the same plan.
        all.plan(plan(&["x a", "x b"]), PlanPlace::Transcript);
        assert_eq!(all.entries().len(), 1);
        assert_eq!(all.plan_progress(), None);
        all.plan(Vec::new(), PlanPlace::Transcript);
        all.plan(plan(&["> c"]), PlanPlace::Transcript);
        assert_eq!(all.entries().len(), 2);
        assert_eq!(all.plan_progress(), Some((0, 1)));
    }

    #[test]
    fn without_a_panel_a_plan_changes_where_it_was_made() {
        let check = |plans: &[&[&str]], kept: &[&[&str]]| {
            let mut all = Transcript::default();
            for entries in plans {
                all.plan(plan(entries), PlanPlace::Transcript);
            }
            let kept: Vec<Entry> = kept.iter().map(|one| Entry::Plan(plan(one))).collect();
            assert_eq!(format!("{:?}", all.entries()), format!("{kept:?}"));
            assert_eq!(all.plans.take_view(), None);
        };
        check(&[&["> a"], &["> b", "- c"]], &[&["> b", "- c"]]);
        check(&[&["> a"], &["x a"], &["> b"]], &[&["x a"], &["> b"]]);
        check(&[&["> a"], &[]], &[&[]]);
        check(&[&["> a"], &[], &["> b"]], &[&["> b"]]);
        check(&[&["x a"], &[]], &[&["x a"]]);
        check(&[&[]], &[]);
    }

    #[test]
    fn what_is_said_before_a_plan_and_behind_it_is_not_one_message() {
        let said = |id: Option<&str>| {
            let mut all = Transcript::default();
            for text in ["One.", "Two."] {
                let id = id.map(str::to_owned);
                all.chunk(Role::Agent, id, None, &Content::Text(text.into()));
                all.plan(plan(&["> a"]), PlanPlace::Panel);
            }
            all.entries().len()
        };
        assert_eq!(said(None), 2);
        assert_eq!(said(Some("m")), 1);
    }

    #[test]
    fn the_panel_shows_what_is_in_progress_or_next() {
        let current = |entries: &[&str]| view(&plan(entries)).current;
        assert_eq!(current(&["x a", "- b", "> c"]), 2);
        assert_eq!(current(&["x a", "- b", "- c"]), 1);
    }
}
