//! Thousands of files that change at once.

use std::time::{Duration, Instant};

use serde_json::json;

use super::super::files::{Script, start, turn};
use crate::harness::{Nvim, Project};

/// How many files the other branch has others of.
fn count() -> usize {
    let count = std::env::var("ACP_TEST_BRANCH").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(600)
}

fn text(n: usize, branch: &str) -> String {
    let lines = (0..40).map(|row| match row {
        7 | 30 => format!("line {row} of {n} on {branch}\n"),
        _ => format!("line {row} of {n}\n"),
    });
    lines.collect()
}

/// A project with many files, and beside it what another branch has of them.
fn project(trace: &str) -> Project {
    let mut project = Project::new().size(100, 30).before("set nomore");
    for n in 0..count() {
        project = project.file(&format!("src/{}/{n}.txt", n % 50), text(n, "main"));
        let other = project.root().join(format!("other/{}/{n}.txt", n % 50));
        std::fs::create_dir_all(other.parent().unwrap()).unwrap();
        std::fs::write(other, text(n, "other")).unwrap();
    }
    let trace = project.root().join(trace).display().to_string();
    project.env("ACP_TRACE", &trace).file("own.txt", "own\n")
}

/// Notes the longest time for which Neovim does not come to its timers.
#[track_caller]
fn watch_stalls(nvim: &Nvim) {
    nvim.lua(
        "local last, worst = vim.uv.hrtime(), 0
        local timer = vim.uv.new_timer()
        _G.stalls = function() return worst / 1e6 end
        timer:start(0, 1, function()
            local now = vim.uv.hrtime()
            worst, last = math.max(worst, now - last), now
        end)",
        (),
    );
}

fn stalls(nvim: &Nvim) -> f64 {
    nvim.lua("return stalls()", ()).as_f64().unwrap()
}

#[track_caller]
fn type_a_key(nvim: &Nvim) -> Duration {
    let start = Instant::now();
    nvim.lua("return vim.api.nvim_get_mode()", ());
    start.elapsed()
}

#[test]
fn a_branch_switch_inside_a_turn_is_reviewed_and_neovim_stays_quick() {
    let script = Script::new().step(json!({ "shell": "cp -r ../other/. src/" }));
    let project = project("trace").agent("agent", &script.done());
    let nvim = start(project, "own.txt");
    watch_stalls(&nvim);
    let begun = Instant::now();
    turn(&nvim);
    let turned = begun.elapsed();
    let files = "return require('acp').status().review.files";
    let want = count();
    let patience = Duration::from_secs(120);
    let mut worst = Duration::ZERO;
    nvim.wait_within(patience, "the review of it", || {
        worst = worst.max(type_a_key(&nvim));
        nvim.lua(files, ()) == want
    });
    eprintln!(
        "turn {turned:?}, all {:?}, rpc {worst:?}, stall {}",
        begun.elapsed(),
        stalls(&nvim)
    );
    let listed = Instant::now();
    nvim.cmd("Acp review");
    nvim.wait_text(&format!("Review · {want} files"));
    eprintln!("list {:?}, stall {}", listed.elapsed(), stalls(&nvim));
    nvim.keys("gg");
    let decided = Instant::now();
    nvim.keys("a");
    nvim.wait_text(&format!("{} files", want - 1));
    eprintln!(
        "accept one {:?}, stall {}",
        decided.elapsed(),
        stalls(&nvim)
    );
    let decided = Instant::now();
    nvim.keys("Ay");
    nvim.wait_within(patience, "nothing to review", || nvim.lua(files, ()) == 0);
    eprintln!(
        "accept all {:?}, stall {}",
        decided.elapsed(),
        stalls(&nvim)
    );
    nvim.cmd("Acp undo-turn");
    nvim.wait_text("Undo the turn");
    eprintln!("question, stall {}", stalls(&nvim));
    nvim.keys("y");
    let undone = Instant::now();
    nvim.wait_within(patience, "all to be undone", || {
        (0..want).all(|n| nvim.project.read(&format!("src/{}/{n}.txt", n % 50)) == text(n, "main"))
    });
    eprintln!("undo {:?}, stall {}", undone.elapsed(), stalls(&nvim));

    let log = std::fs::read_to_string(format!("/proc/{}/status", nvim.pid())).unwrap();
    eprintln!(
        "{:?}",
        log.lines()
            .filter(|line| line.starts_with("VmHWM") || line.starts_with("VmRSS"))
            .collect::<Vec<_>>()
    );

    let root = nvim.project.clone();
    nvim.quit();

    eprintln!(
        "{}",
        std::fs::read_to_string(root.root().join("trace")).unwrap_or_default()
    );
}
