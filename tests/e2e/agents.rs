//! Agents nobody here wrote: the example agent of the official SDK, live, and recordings of the
//! agents people use, replayed through the whole plugin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::talk::{self, ended, open, said, status, transcript, wait_phase, wait_said};

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Starts Neovim with a chat with the SDK's example agent, which takes its time to think: here a
/// twentieth of it.
#[track_caller]
fn start_example() -> Nvim {
    let output = Command::new("sh")
        .arg(checkout().join("tools/sdk-agent.sh"))
        .output()
        .expect("sh runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let path = String::from_utf8(output.stdout).expect("a path in UTF-8");
    let hurry = "data:text/javascript,const wait = globalThis.setTimeout; \
                 globalThis.setTimeout = (done, ms) => wait(done, ms / 20)";
    let spec = json!({ "command": "node", "args": ["--import", hurry, path.trim()] });
    let nvim = Project::new()
        .agent_command("example", spec)
        .size(100, 40)
        .start();
    open(&nvim);
    nvim
}

#[test]
fn a_turn_of_the_sdks_example_agent_with_its_permission_allowed() {
    let nvim = start_example();
    talk::prompt(&nvim, "Improve the project.");
    wait_phase(&nvim, "waiting");
    let open = nvim.lua("return require('acp').permission.list()[1]", ());
    assert_eq!(open["title"], "Modifying critical configuration file");
    assert_eq!(
        open["options"],
        json!([
            { "optionId": "allow", "name": "Allow this change", "kind": "allow_once" },
            { "optionId": "reject", "name": "Skip this change", "kind": "reject_once" },
        ])
    );
    nvim.wait_text("new-host");
    nvim.lua(
        "require('acp').permission.answer(...)",
        (&open["id"], "allow"),
    );
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    wait_said(&nvim, "The changes have been applied.");
    insta::assert_snapshot!(transcript(&nvim).join("\n"));
    nvim.quit();
}

#[test]
fn a_turn_of_the_sdks_example_agent_with_its_permission_rejected() {
    let nvim = start_example();
    talk::prompt(&nvim, "Improve the project.");
    wait_phase(&nvim, "waiting");
    nvim.lua(
        "local acp = require('acp')
        acp.permission.answer(acp.permission.list()[1].id, 'reject')",
        (),
    );
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    wait_said(&nvim, "I'll skip the configuration update.");
    nvim.quit();
}

#[test]
fn a_turn_of_the_sdks_example_agent_can_be_cancelled_anywhere() {
    let nvim = start_example();
    talk::prompt(&nvim, "Improve the project.");
    wait_said(&nvim, "Reading project files");
    nvim.cmd("Acp cancel");
    nvim.wait("the end of the turn", || ended(&nvim) == ["cancelled"]);
    talk::prompt(&nvim, "And again.");
    wait_phase(&nvim, "waiting");
    nvim.cmd("Acp cancel");
    nvim.wait("the end of the turn", || ended(&nvim).len() == 2);
    wait_said(
        &nvim,
        "⊘ ✎ Modifying critical configuration file  cancelled",
    );
    assert_eq!(status(&nvim)["permissions"], 0);
    nvim.quit();
}

/// A recorded conversation.
struct Recording {
    path: PathBuf,
    prompts: Vec<String>,
    /// The options the user chose, in order.
    answers: Vec<String>,
}

impl Recording {
    fn read(name: &str) -> Self {
        let path = checkout().join(format!("tests/fixtures/transcripts/{name}.jsonl"));
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

/// Replays a recording through the plugin, answers as the user did then, and returns the chat.
///
/// `differ` is how many requests are answered by an error where the recording has a result: Gemini's
/// reads of a file that is not there yet, which were answered by an empty text.
#[track_caller]
fn replay(name: &str, differ: usize) -> String {
    let recording = Recording::read(name);
    let project = Project::new().file("hello.txt", "one\ntwo\nthree\n");
    let report = project.root().join("agents/recorded.report");
    let spec = json!({
        "command": env!("CARGO_BIN_EXE_acp-scripted"),
        "args": ["--replay", recording.path],
        "env": { "ACP_SCRIPT_REPORT": report },
    });
    let nvim = project
        .agent_command("recorded", spec)
        .config("log_level", json!("debug"))
        .size(100, 60)
        .start();
    open(&nvim);
    let mut answers = recording.answers.iter();
    for (turn, text) in recording.prompts.iter().enumerate() {
        talk::prompt(&nvim, text);
        nvim.wait("the end of the turn", || {
            answer(&nvim, &mut answers);
            ended(&nvim).len() > turn
        });
    }
    assert_eq!(answers.count(), 0, "all questions were asked");
    nvim.wait_script("recorded");
    let report = fs::read_to_string(report).unwrap_or_default();
    let differing = report.lines().filter(|line| line.contains("\"differs\""));
    assert_eq!(differing.count(), differ, "{report}");
    wait_phase(&nvim, "idle");
    nvim.wait("the last line, with which all recordings end", || {
        transcript(&nvim).last().is_some_and(|line| line == "```")
    });
    assert!(!said(&nvim, "? update of an unknown kind"));
    assert_eq!(nvim.messages(), "");
    let chat = nvim.mask(&transcript(&nvim).join("\n"));
    let review = reviewed(&nvim, recording.prompts.len());
    nvim.quit();
    format!("{chat}\n\n==== to be reviewed\n{review}")
}

/// Returns what there is to review, once the disk is others' again after so many turns.
#[track_caller]
fn reviewed(nvim: &Nvim, turns: usize) -> String {
    let log = nvim.project.root().join("state/nvim/acp.log");
    nvim.wait("the checkpoints behind the turns", || {
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
    // What was told with the last checkpoint may still be read.
    nvim.wait("both files", || {
        let both = nvim.lua(hunks, ());
        both.as_str()
            .is_some_and(|both| both.contains("hello.txt") && both.contains("new.txt"))
    });
    let hunks = nvim.lua(hunks, ());
    hunks.as_str().unwrap_or_default().to_owned()
}

/// Answers the question that is open, if there is one, as the user did then.
#[track_caller]
fn answer<'a>(nvim: &Nvim, answers: &mut impl Iterator<Item = &'a String>) {
    let open = nvim.lua("return require('acp').permission.list()[1]", ());
    let Some(id) = open["id"].as_u64() else {
        return;
    };
    let option = answers.next().expect("no more questions than then");
    let answered = talk::count(nvim, "AcpPermissionAnswered");
    nvim.lua("require('acp').permission.answer(...)", (id, option));
    nvim.wait("the answer to be taken", || {
        talk::count(nvim, "AcpPermissionAnswered") > answered
    });
}

#[test]
fn a_recording_of_claude() {
    insta::assert_snapshot!(replay("claude", 0));
}

#[test]
fn a_recording_of_codex() {
    insta::assert_snapshot!(replay("codex", 0));
}

#[test]
fn a_recording_of_gemini() {
    insta::assert_snapshot!(replay("gemini", 2));
}

#[test]
fn a_recording_of_opencode() {
    insta::assert_snapshot!(replay("opencode", 0));
}

#[test]
fn a_recording_of_kimi() {
    insta::assert_snapshot!(replay("kimicode", 0));
}

#[test]
fn a_recording_of_cline() {
    insta::assert_snapshot!(replay("cline", 0));
}
