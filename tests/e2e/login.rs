//! Logging in: through the agent, with a typed key, or with the agent's command in a terminal.

use serde_json::json;

use super::harness::{Nvim, Project, agent};
use super::talk::{self, count, prompt, said, status, wait_phase, wait_said};

const METHODS: &str = r#"{"defaults":{"initialize":{"agentCapabilities":{"auth":{"logout":{}}},"authMethods":[
{"id":"web","name":"Browser","description":"Opens one"},
{"id":"key","name":"API key","type":"env_var","vars":[{"name":"BOT_KEY","label":"Key"},{"name":"BOT_URL","secret":false,"optional":true}]},
{"id":"tty","name":"Terminal","type":"terminal","args":["login"],"env":{"WORD":"sesame"}},
{"id":"cli","name":"Command","_meta":{"terminal-auth":{"command":"/bin/sh","args":["-c","echo over there; read -r word"]}}},
{"id":"typed","name":"Typed","_meta":{"api-key":{"provider":"p"}}}]}}}"#;

const REFUSED: &str = r#"{"expect":"session/new","as":"n"}
{"reply":"n","error":{"code":-32000,"message":"Authentication required"}}"#;

/// An agent that is also its own log-in command: it checks that the word typed is `$WORD`.
const AGENT: &str = r#"#!/bin/sh
if [ "$2" = login ]; then
  printf 'the word? '
  read -r word
  [ "$word" = "$WORD" ] || { echo "wrong: $word"; read -r _; exit 3; }
  exit 0
fi
exec "$SCRIPTED" "$@"
"#;

fn project(script: &str) -> Project {
    let script = format!("{}\n{script}", METHODS.replace('\n', ""));
    let project = Project::new().agent("scripted", &script);
    let project = project.file("bin/agent", AGENT);
    let program = project.path("bin/agent");
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let agents = project.root().join("agents");
    let spec = json!({
        "command": program,
        "args": [agents.join("scripted.jsonl")],
        "env": {
            "ACP_SCRIPT_REPORT": agents.join("scripted.report"),
            "SCRIPTED": agent("acp-scripted"),
        },
    });
    project.agent_command("scripted", spec)
}

/// Waits until a former question is gone, so that the next one is not taken for it.
#[track_caller]
fn wait_no_text(nvim: &Nvim, text: &str) {
    nvim.wait("the question to go", || !nvim.screen().has(text));
}

/// Opens a chat whose agent requires a log-in.
#[track_caller]
fn start(script: &str) -> Nvim {
    let nvim = project(script).start();
    nvim.cmd("AcpChat");
    wait_phase(&nvim, "waiting");
    nvim
}

#[test]
fn a_prompt_written_before_the_log_in_is_sent_after_it() {
    let script = format!(
        r#"{REFUSED}
{REFUSED}
{{"expect":"authenticate","params":{{"methodId":"web"}},"as":"a"}}
{{"reply":"a","result":{{}}}}
{{"expect":"session/new","as":"n"}}
{{"reply":"n"}}
{{"expect":"session/prompt","as":"p","params":{{"prompt":[{{"type":"text","text":"hello"}}]}}}}
{{"say":"welcome"}}
{{"end":"p"}}"#
    );
    let nvim = start(&script);
    assert_eq!(status(&nvim)["login"], true);
    nvim.wait("the event", || count(&nvim, "AcpLoginNeeded") == 1);
    wait_said(&nvim, "asks you to log in first (Authentication required).");
    wait_said(&nvim, "  API key (BOT_KEY, BOT_URL)");
    wait_said(&nvim, "`:Acp login` does that.");
    nvim.wait_text("log in");
    // A prompt is tried again, in case the user has logged in elsewhere.
    prompt(&nvim, "hello");
    nvim.wait("the second refusal", || count(&nvim, "AcpLoginNeeded") == 2);
    nvim.cmd("messages clear");
    nvim.keys("<Esc>:Acp login<CR>");
    nvim.wait_text("1: Browser: Opens one");
    nvim.keys("1<CR>");
    wait_said(&nvim, "welcome");
    wait_said(&nvim, "Logged in.");
    assert!(!said(&nvim, "Not sent"));
    wait_phase(&nvim, "idle");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_agents_own_command_logs_in_in_a_terminal() {
    let script = format!(
        r#"{REFUSED}
{{"expect":"session/new","as":"n"}}
{{"reply":"n"}}"#
    );
    let nvim = start(&script);
    talk::go(&nvim, "");
    let windows = talk::windows(&nvim);
    // Neovim reads the command's output while this runs.
    nvim.cmd("autocmd BufFilePre,BufFilePost * lua vim.wait(100)");
    nvim.keys(":Acp login tty<CR>");
    nvim.wait_text("the word?");
    nvim.keys("open<CR>");
    // Neovim may lose the last output of a process that ends at once.
    nvim.wait_text("wrong: open");
    nvim.keys("<CR>");
    nvim.wait("the message", || {
        nvim.messages().contains("log-in failed (exit code 3)")
    });
    assert_eq!(status(&nvim)["phase"], "waiting");
    nvim.wait("normal mode", || {
        nvim.lua("return vim.fn.mode()", ()) == "n"
    });
    nvim.keys("q");
    assert_eq!(talk::windows(&nvim), windows);
    wait_no_text(&nvim, "the word?");
    nvim.keys(":Acp login tty<CR>");
    nvim.wait_text("the word?");
    nvim.keys("sesame<CR>");
    wait_phase(&nvim, "idle");
    assert_eq!(talk::windows(&nvim), windows);
    assert_eq!(talk::here(&nvim), "");
    assert_eq!(nvim.lua("return vim.fn.mode()", ()), "n");
    wait_said(&nvim, "Logged in.");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_typed_key_reaches_only_the_agent() {
    let script = format!(
        r#"{{"life":1}}
{REFUSED}
{{"expect_eof":true}}
{{"exit":0}}
{{"life":2}}
{{"expect":"session/new","as":"n"}}
{{"reply":"n"}}
{{"expect":"session/prompt","as":"p"}}
{{"say":"the key has ${{env:BOT_KEY}}"}}
{{"end":"p"}}
{{"expect":"logout","as":"l"}}
{{"reply":"l","result":{{}}}}"#
    );
    let nvim = start(&script);
    // Cancelling the first question changes nothing.
    nvim.keys("<Esc>:Acp login key<CR>");
    nvim.wait_text("Key (BOT_KEY): ");
    nvim.keys("<Esc>");
    nvim.wait("the message", || {
        nvim.messages()
            .contains("The log-in was cancelled: BOT_KEY is required.")
    });
    assert_eq!(status(&nvim)["phase"], "waiting");
    wait_no_text(&nvim, "Key (BOT_KEY): ");
    nvim.keys(":Acp login key<CR>");
    nvim.wait_text("Key (BOT_KEY): ");
    nvim.keys("swordfish");
    nvim.wait_text("*********");
    nvim.keys("<CR>");
    nvim.wait_text("BOT_URL, optional: ");
    nvim.keys("<CR>");
    wait_phase(&nvim, "idle");
    let log = nvim.project.root().join("state/nvim/acp.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("swordfish"));
    assert!(!said(&nvim, "swordfish"));
    assert!(!nvim.messages().contains("swordfish"));
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "the key has swordfish");
    // The script fails if the agent is logged out without a yes.
    nvim.keys(":Acp logout<CR>");
    nvim.wait_text("Log out of Scripted?");
    nvim.keys("<C-c>");
    // An interrupt discards the keys that were typed before Neovim noticed it.
    nvim.wait("the end of the question", || nvim.mode() == "n");
    wait_no_text(&nvim, "Stay logged in");
    nvim.keys(":Acp logout<CR>");
    nvim.wait_text("2: Stay logged in");
    nvim.keys("2<CR>");
    wait_no_text(&nvim, "1: Log out");
    nvim.keys(":Acp logout<CR>");
    nvim.wait_text("1: Log out");
    nvim.keys("1<CR>");
    wait_said(&nvim, "Logged out.");
    nvim.wait_script("scripted");
    let lines = talk::transcript(&nvim);
    let times = lines.iter().filter(|line| line.contains("Logged out."));
    assert_eq!(times.count(), 1, "{lines:?}");
    nvim.quit();
}

#[test]
fn a_log_in_command_in_the_metadata_is_run_unchanged() {
    let script = format!(
        r#"{REFUSED}
{{"expect":"session/new","as":"n"}}
{{"reply":"n"}}"#
    );
    let nvim = start(&script);
    nvim.keys("<Esc>:Acp login cli<CR>");
    nvim.wait_text("over there");
    nvim.wait_text(" Log in to Scripted");
    nvim.keys("yes<CR>");
    wait_phase(&nvim, "idle");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_key_for_the_agent_to_keep_is_in_no_log() {
    let script = format!(
        r#"{REFUSED}
{{"expect":"authenticate","params":{{"methodId":"typed","_meta":{{"api-key":{{"apiKey":"swordfish"}}}}}},"as":"a"}}
{{"reply":"a","result":{{}}}}
{{"expect":"session/new","as":"n"}}
{{"reply":"n"}}"#
    );
    let nvim = project(&script).config("log_level", json!("debug")).start();
    nvim.cmd("AcpChat");
    wait_phase(&nvim, "waiting");
    nvim.keys("<Esc>:Acp login typed<CR>");
    nvim.wait_text("Typed, optional: ");
    nvim.keys("swordfish<CR>");
    wait_phase(&nvim, "idle");
    nvim.wait_script("scripted");
    let log = nvim.project.root().join("state/nvim/acp.log");
    nvim.wait("the log", || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("<- (a log-in)"))
    });
    assert!(!std::fs::read_to_string(&log).unwrap().contains("swordfish"));
    nvim.quit();
}

#[test]
fn an_unknown_log_in_method_is_answered_with_the_known_ones() {
    let nvim = start(REFUSED);
    nvim.keys("<Esc>:Acp login fax<CR>");
    nvim.wait("the message", || {
        nvim.messages()
            .contains("has no log-in method \"fax\"; use web, key, tty, cli, typed.")
    });
    assert_eq!(
        nvim.lua("return vim.fn.getcompletion('Acp login ', 'cmdline')", ()),
        json!(["web", "key", "tty", "cli", "typed"])
    );
    nvim.quit();
}
