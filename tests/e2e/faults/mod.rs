//! A matrix of faults: kinds of work crossed with faults, at several moments. After each cell the
//! same promises are checked.
//!
//! Without `ACP_FAULTS`, each test runs two cells from fixed seeds. `ACP_FAULTS=3` (`make faults`)
//! runs all cells three times, with other delays each time, and prints a table. `ACP_CELL`, which a
//! failure prints, runs one cell alone.

mod promises;
mod strikes;
mod works;

use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;
use strikes::{FAULTS, Fault};
use works::Work;

use super::files::{go_on, hunks, open, prompt, wait_pause};
use super::harness::{Nvim, Project, procs};
use super::killed::{Random, type_and_rest};
use super::review::wait_window_closed;
use super::talk;

/// The file in the user's window, and one that no buffer has.
const OPEN: &str = "src/a.txt";
const CLOSED: &str = "src/b.txt";

/// Number of files that a turn changes before it is rejected or undone.
const MANY: usize = 60;

/// Number of versions the agent writes.
const VERSIONS: usize = 10;

/// The user's unsaved line, and one that another program appends.
const MINE: &str = "what the user has typed";
const THEIRS: &str = "what another program has written";

/// The version of each file before the turn.
const OLD: &str = "old";

#[derive(Clone, Copy, PartialEq, Debug)]
enum Moment {
    Before,
    During,
    After,
}

const MOMENTS: [Moment; 3] = [Moment::Before, Moment::During, Moment::After];

/// One cell of the matrix. The seed gives the delay, and which form of the fault it is.
#[derive(Clone, Copy)]
struct Cell {
    work: Work,
    fault: Fault,
    moment: Moment,
    seed: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            work,
            fault,
            moment,
            seed,
        } = self;
        write!(out, "{work:?},{fault:?},{moment:?},{seed}")
    }
}

/// Returns a version of a file; some of its lines contain the version.
fn version(version: &str) -> String {
    let line = |row: usize| match row % 12 {
        7 => format!("line {row} of version {version}\n"),
        _ => format!("line {row} is the same in all versions\n"),
    };
    (0..40).map(line).collect()
}

/// Answers Neovim's prompt after several messages.
#[track_caller]
fn dismiss(nvim: &Nvim) {
    if nvim.blocked() {
        nvim.input("<CR>");
        nvim.wait("Neovim to go on", || !nvim.blocked());
    }
}

/// A cell that runs.
struct Run {
    cell: Cell,
    random: Random,
    nvim: Nvim,
    agent: u32,
}

impl Run {
    #[track_caller]
    fn start(cell: Cell) -> Self {
        let Cell { work, fault, .. } = cell;
        let mut project = Project::new()
            .config("log_level", json!("debug"))
            .file(OPEN, version(OLD))
            .file(CLOSED, version(OLD))
            // No question about the swap file of a killed Neovim.
            .before("set nomore hidden shortmess+=A cmdheight=6")
            .before(works::TOOL);
        for name in work.more_files() {
            project = project.file(&name, version(OLD));
        }
        let versions = project.root().join("versions");
        std::fs::create_dir(&versions).expect("the folder is new");
        for number in 0..VERSIONS {
            let text = version(&number.to_string());
            std::fs::write(versions.join(number.to_string()), text).expect("it can be written");
        }
        let project = fault.prepare(project.agent("agent", &work.script()));
        let nvim = project.start();
        nvim.cmd(&format!("edit {OPEN}"));
        open(&nvim);
        talk::wait_phase(&nvim, "idle");
        if work.has_typed() {
            nvim.keys("3G");
            type_and_rest(&nvim, MINE);
        }
        // Lua reads a module when it is first used, which needs a descriptor.
        hunks(&nvim);
        nvim.lua("require('acp').permission.list()", ());
        let mut agents = nvim.children();
        agents.retain(|child| child.command.contains("acp-scripted"));
        let agent = agents.first().expect("the agent").pid;
        Self {
            cell,
            random: Random::seeded(cell.seed),
            nvim,
            agent,
        }
    }

    /// Lets the work and the fault meet, and returns once both are over.
    #[track_caller]
    fn play(&mut self) {
        let Cell {
            work,
            fault,
            moment,
            ..
        } = self.cell;
        work.lead_up(&self.nvim);
        match moment {
            Moment::Before => {}
            Moment::During => {
                work.begin(&self.nvim);
                // The moment is a random one, so there is no condition to wait for.
                let span = work.span().as_micros() as u64;
                let end = Instant::now() + Duration::from_micros(self.random.below(span));
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
            }
            Moment::After => {
                work.begin(&self.nvim);
                work.wait_end(&self.nvim);
            }
        }
        let lift = fault.strike(self);
        if fault == Fault::NeovimKilled {
            return;
        }
        let can_go_on = fault.spares_agent() || work.is_users();
        if can_go_on && moment == Moment::Before {
            work.begin(&self.nvim);
        }
        if can_go_on && moment != Moment::After {
            self.wait_end_or_message();
        }
        promises::of_the_living(self);
        lift(self);
        if fault.spares_agent() {
            go_on(&self.nvim, "after");
            self.nvim.wait_script("agent");
        }
        if !work.is_users() {
            self.nvim.wait("the end of the turn", || {
                !talk::ended(&self.nvim).is_empty()
            });
        }
        if fault == Fault::FileReplaced {
            // A file that has come back, and is rejected before this is reported, counts as new.
            wait_window_closed(&self.nvim);
        }
    }

    /// Waits for the end of the work; what the user asked for may fail, with a message.
    #[track_caller]
    fn wait_end_or_message(&self) {
        let Self { nvim, cell, .. } = self;
        if cell.work.is_users() {
            nvim.wait("the files as before the turn, or a message", || {
                dismiss(nvim);
                let said = nvim.messages();
                let is_named = said.contains("src") || said.contains(".txt");
                // Files rejected before the fault count as done, although they may be gone now.
                let left = talk::status(nvim)["review"]["files"].as_u64();
                is_named
                    || left.unwrap_or(0) == 0
                    || promises::are_restored(nvim, &cell.work.more_files())
            });
        } else {
            cell.work.wait_end(nvim);
        }
    }

    /// Starts another Neovim after a kill, in which the user recovers the open file.
    #[track_caller]
    fn restart(&mut self) {
        self.nvim
            .wait("all processes to end", || self.nvim.processes().is_empty());
        let project = Rc::clone(&self.nvim.project);
        let old = std::mem::replace(&mut self.nvim, Nvim::start(project));
        drop(old);
        promises::recovered(&self.nvim, self.cell);
        open(&self.nvim);
        talk::wait_phase(&self.nvim, "idle");
    }
}

/// Runs a cell; fails when a promise is broken.
#[track_caller]
fn run(cell: Cell) {
    let mut run = Run::start(cell);
    run.play();
    if cell.fault == Fault::NeovimKilled {
        run.restart();
    }
    promises::of_the_end(run);
}

/// Runs the cells of one work, and prints their table.
#[track_caller]
fn check(work: Work) {
    let cells = match (std::env::var("ACP_CELL"), std::env::var("ACP_FAULTS")) {
        (Ok(cell), _) => named(work, &cell),
        (_, Ok(rounds)) => all(work, rounds.parse().expect("ACP_FAULTS is a number")),
        _ => sample(work),
    };
    let mut failed = Vec::new();
    for &cell in &cells {
        if catch_unwind(AssertUnwindSafe(|| run(cell))).is_err() {
            eprintln!("FAILED: ACP_CELL={cell}");
            failed.push(cell);
        }
    }
    print!("{}", table(work, &cells, &failed));
    let failed: Vec<_> = failed.iter().map(Cell::to_string).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Returns a row for each fault: how many cells have run and failed at each moment.
fn table(work: Work, cells: &[Cell], failed: &[Cell]) -> String {
    let mut table = String::new();
    for fault in FAULTS {
        let count = |cells: &[Cell], moment| {
            let here = |cell: &&Cell| cell.fault == fault && cell.moment == moment;
            cells.iter().filter(here).count()
        };
        let moments = MOMENTS.map(|moment| (moment, count(cells, moment), count(failed, moment)));
        if moments.iter().all(|(_, run, _)| *run == 0) {
            continue;
        }
        let _ = write!(table, "{:<28}", format!("{work:?}, {fault:?}"));
        for (moment, run, failed) in moments {
            let _ = write!(
                table,
                "{:>8}: {run} run, {failed} failed",
                format!("{moment:?}")
            );
        }
        table.push('\n');
    }
    table
}

/// Returns every cell of one work that means something.
fn all(work: Work, rounds: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for seed in 1..=rounds {
        for fault in FAULTS {
            let moments = MOMENTS.into_iter();
            cells.extend(moments.map(|moment| Cell {
                work,
                fault,
                moment,
                seed,
            }));
        }
    }
    cells.retain(|cell| cell.fault.is_apt(cell.work, cell.moment));
    cells
}

/// Returns two cells of one work; those of all works together have each fault twice. A moment in
/// the midst is another one in each run, so those are left to `make faults`.
fn sample(work: Work) -> Vec<Cell> {
    let first = 2 * work as usize;
    let mut cells = Vec::new();
    for at in [first, first + 1] {
        let mut apt = all(work, 1);
        apt.retain(|cell| cell.moment != Moment::During);
        let wanted = (0..FAULTS.len()).map(|more| FAULTS[(at + more) % FAULTS.len()]);
        let fault = wanted.into_iter().find(|&fault| {
            apt.iter().any(|cell| cell.fault == fault)
                && cells.iter().all(|cell: &Cell| cell.fault != fault)
        });
        apt.retain(|cell| Some(cell.fault) == fault);
        cells.push(apt[at % apt.len()]);
    }
    cells
}

/// Returns the cell that a failure has printed, if it is one of this work.
fn named(work: Work, name: &str) -> Vec<Cell> {
    let seed = name.rsplit(',').next().and_then(|seed| seed.parse().ok());
    let mut cells = all(work, seed.expect("ACP_CELL is a cell"));
    cells.retain(|cell| cell.to_string() == name);
    cells
}

#[test]
fn an_edit_is_made_whole_while_the_swap_file_cannot_be_written() {
    let cells = all(Work::Disk, 1).into_iter();
    let is_it = |cell: &Cell| cell.fault == Fault::DiskFull && cell.moment == Moment::Before;
    cells.filter(is_it).for_each(run);
}

#[test]
fn while_the_agent_talks() {
    check(Work::Stream);
}

#[test]
fn while_the_agent_reads() {
    check(Work::Read);
}

#[test]
fn while_the_agent_writes_through_the_client() {
    check(Work::Write);
}

#[test]
fn while_the_agent_writes_to_disk() {
    check(Work::Disk);
}

#[test]
fn while_changes_are_merged_with_unsaved_text() {
    check(Work::Merge);
}

#[test]
fn while_many_files_are_rejected() {
    check(Work::Reject);
}

#[test]
fn while_a_turn_is_undone() {
    check(Work::Undo);
}

#[test]
fn while_a_permission_is_asked_for() {
    check(Work::Permission);
}

#[test]
fn while_a_tool_of_neovims_runs() {
    check(Work::Tool);
}

#[test]
fn while_a_command_prints() {
    check(Work::Terminal);
}
