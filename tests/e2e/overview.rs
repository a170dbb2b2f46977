//! The list of open and past sessions, and the chat's command as a toggle.

use serde_json::{Value as Json, json};

use super::harness::Nvim;
use super::talk;

/// Opens the list of sessions and waits until a line contains `text`.
#[track_caller]
pub fn list(nvim: &Nvim, text: &str) -> Vec<String> {
    nvim.cmd("Acp sessions");
    wait_listed(nvim, text)
}

/// Waits until a line of the list contains `text`; returns all lines.
#[track_caller]
pub fn wait_listed(nvim: &Nvim, text: &str) -> Vec<String> {
    let listed = || talk::lines_in(nvim, "acp-sessions");
    nvim.wait(&format!("{text:?} in the list"), || {
        listed().iter().any(|line| line.contains(text))
    });
    listed()
}

/// Opens the list, and the session whose line contains `text`.
#[track_caller]
pub fn choose(nvim: &Nvim, text: &str) {
    list(nvim, text);
    nvim.lua("assert(vim.fn.search(..., 'cw') > 0)", (text,));
    nvim.keys("<CR>");
}

/// Returns the words of the first line without the time in it.
fn first(lines: &[String]) -> String {
    let words = lines[0].split_whitespace();
    let is_time = |word: &&str| word.trim_end_matches('s').parse::<u32>().is_ok();
    let words: Vec<&str> = words
        .filter(|word| !word.ends_with('s') || !is_time(word))
        .collect();
    words.join(" ")
}

#[test]
fn closing_the_list_restores_the_sizes_of_the_other_windows() {
    let project = talk::project(&[]).config("chat", json!({ "layout": "bottom" }));
    let nvim = project.size(80, 24).start();
    talk::open(&nvim);
    let sizes = || nvim.lua("return vim.fn.winrestcmd()", ());
    let before = sizes();
    for close in ["q", ":q<CR>"] {
        list(&nvim, "idle");
        nvim.keys(close);
        nvim.wait("the old sizes", || sizes() == before);
    }
    nvim.quit();
}

#[test]
fn the_list_shows_what_each_session_does_while_it_is_open() {
    let steps = r#"{"wait_file":"${cwd}/../on"}
{"write":"${cwd}/a.txt","content":"two\n","as":"w"}
{"await":"w"}
{"update":{"sessionUpdate":"usage_update","used":1,"size":10,"cost":{"amount":0.12,"currency":"USD"}}}
{"permission":{"toolCallId":"t","title":"rm -r"},"as":"q"}
{"await":"q","choice":"allow_once"}"#;
    let project = talk::project(&[steps]).file("a.txt", "one\n");
    let nvim = project.size(120, 40).start();
    talk::open(&nvim);
    let lines = list(&nvim, "idle");
    assert_eq!(first(&lines), "scripted idle session 1");
    talk::prompt(&nvim, "go");
    wait_listed(&nvim, "working");
    std::fs::write(nvim.project.root().join("on"), "").unwrap();
    wait_listed(&nvim, "waiting for you");
    let lines = wait_listed(&nvim, "1 hunk");
    assert_eq!(first(&lines), "scripted waiting for you 1 hunk 0.12 USD go");
    assert_eq!(talk::here(&nvim), "acp-sessions");
    nvim.wait_text("scripted asks for permission");
    nvim.keys("a");
    nvim.wait("the question", || talk::here(&nvim) == "acp-permission");
    nvim.keys("1");
    wait_listed(&nvim, "done");
    nvim.wait_script("scripted");
    nvim.cmd("Acp stop");
    wait_listed(&nvim, "died");
    nvim.quit();
}

#[test]
fn a_session_that_waits_comes_before_one_that_works() {
    let works = r#"{"expect":"session/prompt","as":"p"}
{"hang":true}"#;
    let asks = r#"{"expect":"session/prompt","as":"p"}
{"permission":{"toolCallId":"t","title":"rm -r"},"as":"q"}
{"await":"q"}"#;
    let project = super::harness::Project::new()
        .agent("busy", works)
        .agent("curious", asks);
    let nvim = project.size(120, 40).start();
    for agent in ["busy", "curious"] {
        nvim.cmd(&format!("AcpChat {agent}"));
        talk::prompt(&nvim, "go");
    }
    list(&nvim, "busy     working");
    let lines = wait_listed(&nvim, "waiting for you");
    assert!(
        lines[0].starts_with(" curious  waiting for you  "),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with(" busy     working          "),
        "{lines:?}"
    );
    nvim.keys("j<CR>");
    nvim.wait("the chat", || talk::status(&nvim)["agent"] == "busy");
    assert_eq!(talk::here(&nvim), "acp-input");
}

/// Starts two sessions that both ask, and waits until the first one's question is shown.
fn two_questions() -> Nvim {
    let asks = |what: &str| {
        format!(
            r#"{{"expect":"session/prompt","as":"p"}}
{{"permission":{{"toolCallId":"t","title":"{what}"}},"as":"q"}}
{{"await":"q","choice":"allow_once"}}
{{"end":"p"}}"#
        )
    };
    let project = super::harness::Project::new()
        .agent("first", &asks("rm one"))
        .agent("second", &asks("rm two"));
    let nvim = project.size(120, 40).start();
    for (agent, prompt) in [("first", "tidy up"), ("second", "start anew\nwith all")] {
        nvim.cmd(&format!("AcpChat {agent}"));
        talk::prompt(&nvim, prompt);
        nvim.wait("the question", || talk::status(&nvim)["phase"] == "waiting");
    }
    nvim.wait_text("first asks for permission");
    let lines = list(&nvim, "second  waiting for you");
    assert!(lines[0].ends_with("  tidy up"), "{lines:?}");
    assert!(lines[1].ends_with("  start anew"), "{lines:?}");
    nvim
}

#[test]
fn the_key_goes_to_the_question_of_the_session_under_the_cursor() {
    let nvim = two_questions();
    nvim.keys("ja");
    nvim.wait("the question", || talk::here(&nvim) == "acp-permission");
    nvim.wait_text("second asks for permission");
    nvim.keys("1");
    wait_listed(&nvim, "second  done");
    nvim.wait_text("first asks for permission");
    assert_eq!(talk::here(&nvim), "acp-sessions");
    // The other session has no question: the key goes to the one on the screen.
    nvim.keys("a");
    nvim.wait("the question", || talk::here(&nvim) == "acp-permission");
    nvim.keys("1");
    wait_listed(&nvim, "first   done");
    nvim.quit();
}

#[test]
fn a_session_that_is_opened_shows_its_question_first() {
    let nvim = two_questions();
    nvim.keys("j<CR>");
    nvim.wait_text("second asks for permission");
    assert_eq!(talk::here(&nvim), "acp-input");
    nvim.cmd("Acp permission");
    nvim.keys("1");
    nvim.wait_text("first asks for permission");
    nvim.quit();
}

#[test]
fn the_chats_command_closes_a_current_chat_if_configured() {
    let project = talk::project(&[]).config("chat", json!({ "toggle": true }));
    let nvim = project.start();
    talk::open(&nvim);
    let shown = |nvim: &Nvim| -> Json { talk::windows(nvim).contains(&"acp-input".into()).into() };
    nvim.cmd("wincmd p");
    nvim.cmd("AcpChat");
    assert_eq!(
        (shown(&nvim), talk::here(&nvim)),
        (true.into(), "acp-input".into())
    );
    nvim.cmd("AcpChat");
    assert_eq!(talk::windows(&nvim), [""]);
    nvim.cmd("AcpChat");
    assert_eq!(talk::here(&nvim), "acp-input");
    nvim.quit();
}
