//! Recordings of widely used agents, replayed through the whole plugin.
//!
//! Each must end in a chat without an unknown entry, with every diff, and with every request
//! answered as in the recording. Review the snapshots when they change.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project, agent};
use super::talk::{self, ended, open, said, transcript, wait_phase};

/// A recorded conversation.
pub struct Recording {
    path: PathBuf,
    /// The session that was loaded.
    pub session: Option<String>,
    pub prompts: Vec<String>,
    /// The options the user chose, in order.
    answers: Vec<String>,
}

impl Recording {
    pub fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/fixtures/transcripts/{name}.jsonl"));
        let text = fs::read_to_string(&path).expect("the recording is there");
        let records = text.lines().filter(|line| line.starts_with('{'));
        let records: Vec<Json> = records
            .map(|line| serde_json::from_str(line).expect("a record is JSON"))
            .collect();
        let of_client = records.iter().filter(|record| record["dir"] == "c>a");
        let messages: Vec<&Json> = of_client.map(|record| &record["msg"]).collect();
        let text = |value: &Json| value.as_str().map(str::to_owned);
        Self {
            path,
            session: messages
                .iter()
                .find(|message| message["method"] == "session/load")
                .and_then(|message| text(&message["params"]["sessionId"])),
            prompts: messages
                .iter()
                .filter(|message| message["method"] == "session/prompt")
                .filter_map(|message| text(&message["params"]["prompt"][0]["text"]))
                .collect(),
            answers: messages
                .iter()
                .filter_map(|message| text(&message["result"]["outcome"]["optionId"]))
                .collect(),
        }
    }
}

/// Replays a recording through the plugin, answering as the user did, and returns the chat.
#[track_caller]
fn replay(name: &str) -> String {
    let recording = Recording::read(name);
    let (nvim, report) = start(&recording, &[]);
    let mut answers = recording.answers.iter();
    for (turn, text) in recording.prompts.iter().enumerate() {
        talk::prompt(&nvim, text);
        nvim.wait("the end of the turn", || {
            answer(&nvim, &mut answers);
            ended(&nvim).len() > turn
        });
    }
    assert_eq!(answers.count(), 0, "all questions were asked");
    check_answered(&nvim, &report);
    nvim.wait("the last line of the recording", || {
        transcript(&nvim).last().is_some_and(|line| line == "```")
    });
    // It has a line number once the file has been read.
    nvim.wait("the diff's place", || {
        let transcript = transcript(&nvim);
        !transcript.iter().any(|line| line == "  + TWO (edited)")
    });
    let chat = chat(&nvim);
    let files = ["hello.txt", "new.txt"];
    let review = reviewed(&nvim, recording.prompts.len(), &files);
    nvim.quit();
    format!("{chat}\n\n==== to be reviewed\n{review}")
}

/// Replays a recording of a turn that was cancelled while `shown` was in the chat.
#[track_caller]
fn replay_cancel(name: &str, shown: &str) -> String {
    let recording = Recording::read(name);
    let (nvim, report) = start(&recording, &["--gate", "session/cancel"]);
    talk::prompt(&nvim, &recording.prompts[0]);
    let mut answers = recording.answers.iter();
    nvim.wait("the command to run", || {
        answer(&nvim, &mut answers);
        answers.len() == 0 && said(&nvim, shown)
    });
    nvim.cmd("Acp cancel");
    nvim.wait("the end of the turn", || ended(&nvim) == ["cancelled"]);
    check_answered(&nvim, &report);
    nvim.wait("the last line of each", || {
        transcript(&nvim)
            .last()
            .is_some_and(|line| line == "Cancelled.")
    });
    let is_open = |line: &String| line.contains("in progress") || line.contains("pending");
    nvim.wait("all tool calls to end", || {
        !transcript(&nvim).iter().any(is_open)
    });
    let chat = chat(&nvim);
    nvim.quit();
    chat
}

/// Replays a recording of a turn without questions; it ends with `last` in the chat.
#[track_caller]
fn replay_plan(name: &str, last: &str) -> String {
    let recording = Recording::read(name);
    let (nvim, report) = start(&recording, &[]);
    talk::talk(&nvim, &recording.prompts[0]);
    check_answered(&nvim, &report);
    talk::wait_said(&nvim, last);
    let chat = chat(&nvim);
    nvim.quit();
    chat
}

/// Replays a recording of a turn whose sub-agent writes a file.
#[track_caller]
fn replay_subagent(name: &str) -> String {
    let recording = Recording::read(name);
    let (nvim, report) = start(&recording, &[]);
    let mut answers = recording.answers.iter();
    talk::prompt(&nvim, &recording.prompts[0]);
    nvim.wait("the end of the turn", || {
        answer(&nvim, &mut answers);
        !ended(&nvim).is_empty()
    });
    assert_eq!(answers.count(), 0, "all questions were asked");
    check_answered(&nvim, &report);
    talk::wait_said(&nvim, "All done by the helper.");
    let chat = chat(&nvim);
    let review = reviewed(&nvim, 1, &["new.txt"]);
    nvim.quit();
    format!("{chat}\n\n==== to be reviewed\n{review}")
}

/// Opens a chat with an agent that replays a recording; also returns the path of its report.
#[track_caller]
fn start(recording: &Recording, more: &[&str]) -> (Nvim, PathBuf) {
    let (nvim, report) = launch(recording, more);
    open(&nvim);
    (nvim, report)
}

/// Starts a Neovim whose agent replays a recording.
#[track_caller]
pub fn launch(recording: &Recording, more: &[&str]) -> (Nvim, PathBuf) {
    let project = Project::new().file("hello.txt", "one\ntwo\nthree\n");
    let report = project.root().join("agents/recorded.report");
    let path = recording.path.to_string_lossy();
    let args: Vec<&str> = ["--replay", &path]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    let spec = json!({
        "command": agent("acp-scripted"),
        "args": args,
        // Gemini was recorded with this setting of its preset.
        "missing_file": if recording.path.ends_with("gemini.jsonl") { "empty" } else { "error" },
        "env": { "ACP_SCRIPT_REPORT": report },
    });
    let nvim = project
        .agent_command("recorded", spec)
        .config("log_level", json!("debug"))
        .size(100, 60)
        .start();
    (nvim, report)
}

/// Checks that the agent has replayed the whole recording, and that the client answered each of its
/// requests as recorded.
#[track_caller]
pub fn check_answered(nvim: &Nvim, report: &Path) {
    nvim.wait_script("recorded");
    let report = fs::read_to_string(report).unwrap_or_default();
    let differing = report.lines().filter(|line| line.contains("\"differs\""));
    assert_eq!(differing.count(), 0, "{report}");
    wait_phase(nvim, "idle");
}

/// Returns the chat, after checking that every entry was understood.
#[track_caller]
pub fn chat(nvim: &Nvim) -> String {
    assert!(!said(nvim, "? update of an unknown kind"));
    assert_eq!(nvim.messages(), "");
    nvim.mask(&transcript(nvim).join("\n"))
}

/// Returns the hunks under review, which are in these files, once changes on disk are no longer
/// attributed to the agent after `turns` turns.
#[track_caller]
fn reviewed(nvim: &Nvim, turns: usize, files: &[&str]) -> String {
    let log = nvim.project.root().join("state/nvim/acp.log");
    nvim.wait("the checkpoints after the turns", || {
        let log = fs::read_to_string(&log).unwrap_or_default();
        log.matches("is not the agent's").count() == turns
    });
    let hunks = "local lines = {}
        for _, hunk in ipairs(require('acp').review.hunks()) do
            local name = vim.fn.fnamemodify(hunk.path, ':t')
            table.insert(lines, ('%s:%d -[%s] +[%s]'):format(name, hunk.row + 1,
                table.concat(hunk.old, '|'), table.concat(hunk.new, '|')))
        end
        return table.concat(lines, '\\n')";
    // The files reported with the last checkpoint may still be being read.
    nvim.wait("the files", || {
        let all = nvim.lua(hunks, ());
        let all = all.as_str().unwrap_or_default();
        files.iter().all(|file| all.contains(file))
    });
    let hunks = nvim.lua(hunks, ());
    hunks.as_str().unwrap_or_default().to_owned()
}

/// Answers the open question, if any, with the recorded option.
#[track_caller]
fn answer<'a>(nvim: &Nvim, answers: &mut impl Iterator<Item = &'a String>) {
    let open = nvim.lua("return require('acp').permission.list()[1]", ());
    let Some(id) = open["id"].as_u64() else {
        return;
    };
    let option = answers.next().expect("no more questions than recorded");
    let answered = talk::count(nvim, "AcpPermissionAnswered");
    nvim.lua("require('acp').permission.answer(...)", (id, option));
    nvim.wait("the answer to be accepted", || {
        talk::count(nvim, "AcpPermissionAnswered") > answered
    });
}

#[test]
fn a_recording_of_claude() {
    insta::assert_snapshot!(replay("claude"));
}

#[test]
fn a_recording_of_codex() {
    insta::assert_snapshot!(replay("codex"));
}

#[test]
fn a_recording_of_codex_2() {
    insta::assert_snapshot!(replay("codex2"));
}

#[test]
fn a_recording_of_codex_2_that_asks() {
    insta::assert_snapshot!(replay("codex2.ask"));
}

#[test]
fn a_recording_of_claude_with_a_sub_agent() {
    insta::assert_snapshot!(replay_subagent("claude.subagent"));
}

#[test]
fn a_recording_of_codex_2_with_a_sub_agent() {
    insta::assert_snapshot!(replay_subagent("codex2.subagent"));
}

#[test]
fn a_recording_of_gemini() {
    insta::assert_snapshot!(replay("gemini"));
}

#[test]
fn a_recording_of_opencode() {
    insta::assert_snapshot!(replay("opencode"));
}

#[test]
fn a_recording_of_kimi() {
    insta::assert_snapshot!(replay("kimicode"));
}

#[test]
fn a_recording_of_cline() {
    insta::assert_snapshot!(replay("cline"));
}

#[test]
fn a_recording_of_claude_with_terminal_output() {
    insta::assert_snapshot!(replay("claude.metaterm"));
}

#[test]
fn a_recording_of_codex_with_terminal_output() {
    insta::assert_snapshot!(replay("codex.metaterm"));
}

#[test]
fn a_recording_of_codex_2_with_terminal_output() {
    insta::assert_snapshot!(replay("codex2.metaterm"));
}

#[test]
fn a_recording_of_codex_with_a_plan() {
    insta::assert_snapshot!(replay_plan("codex.plan", "Second thing"));
}

#[test]
fn a_recording_of_kimi_with_a_plan() {
    insta::assert_snapshot!(replay_plan("kimicode.plan", "○ Second thing"));
}

#[test]
fn a_recording_of_opencode_with_a_plan() {
    insta::assert_snapshot!(replay_plan("opencode.plan", "That is it."));
}

#[test]
fn a_recording_of_claude_that_is_cancelled() {
    insta::assert_snapshot!(replay_cancel("claude.cancel", "sleep 30"));
}

#[test]
fn a_recording_of_codex_that_is_cancelled() {
    insta::assert_snapshot!(replay_cancel("codex.cancel", "sleep 30"));
}

#[test]
fn a_recording_of_codex_2_that_is_cancelled() {
    insta::assert_snapshot!(replay_cancel("codex2.cancel", "sleep 30"));
}

#[test]
fn a_recording_of_gemini_that_is_cancelled() {
    insta::assert_snapshot!(replay_cancel("gemini.cancel", "sleep 30"));
}

#[test]
fn a_recording_of_kimi_that_is_cancelled() {
    insta::assert_snapshot!(replay_cancel("kimicode.cancel", "  started"));
}

#[test]
fn a_recording_of_opencode_that_is_cancelled() {
    insta::assert_snapshot!(replay_cancel("opencode.cancel", "sleep 30"));
}

#[test]
fn a_recording_of_cline_that_is_cancelled() {
    insta::assert_snapshot!(replay_cancel("cline.cancel", "sleep 30"));
}
