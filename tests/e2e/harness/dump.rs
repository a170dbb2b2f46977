//! What a failure prints: the screen, the messages, the events, the logs.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::nvim::Nvim;

/// Timeout of each request to Neovim, short because Neovim may be what hangs.
const PATIENCE: Duration = Duration::from_millis(300);
/// How many lines are shown from the end of a log.
const TAIL: usize = 60;
/// How many lines of the current buffer are shown.
const ROWS: i64 = 60;

/// Returns a report of this Neovim's state.
pub fn of(nvim: &Nvim) -> String {
    let mut out = String::new();
    let screen = nvim.screen();
    let (row, column) = screen.cursor;
    let title = format!("screen, {}, cursor at {row}:{column}", screen.mode);
    section(&mut out, &title, &screen.text());
    section(&mut out, "mode", &ask(nvim, "nvim_get_mode", vec![]));
    let output = rmpv::Value::Map(vec![("output".into(), true.into())]);
    let messages = ask(nvim, "nvim_exec2", vec!["messages".into(), output]);
    section(&mut out, "messages", &messages);
    let lines = [0.into(), 0.into(), ROWS.into(), false.into()];
    section(
        &mut out,
        "buffer",
        &ask(nvim, "nvim_buf_get_lines", lines.to_vec()),
    );
    for event in nvim.user_events() {
        let _ = writeln!(out, "event {} {}", event.name, event.data);
    }
    for process in nvim.processes() {
        let _ = writeln!(out, "process {} {}", process.pid, process.command);
        out.push_str(&super::procs::threads_of(process.pid));
    }
    for path in logs(nvim.project.root()) {
        let bytes = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n");
        section(&mut out, &path.display().to_string(), &tail);
    }
    out
}

fn section(out: &mut String, title: &str, text: &str) {
    if !text.trim().is_empty() {
        let _ = writeln!(out, "---- {title}\n{}", text.trim_end());
    }
}

fn ask(nvim: &Nvim, method: &str, params: Vec<rmpv::Value>) -> String {
    match nvim.client.request(method, params, PATIENCE) {
        Ok(answer) => match answer["output"].as_str() {
            Some(output) => output.to_owned(),
            None => answer.to_string(),
        },
        Err(error) => format!("{error:?}"),
    }
}

/// Returns the files that may explain the failure: logs, error output, reports of agents.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = path.extension().unwrap_or_default();
            if path.is_dir() && path.file_name().is_none_or(|name| name != "project") {
                folders.push(path);
            } else if kind == "log" || kind == "stderr" || kind == "report" {
                found.push(path);
            }
        }
    }
    found
}
