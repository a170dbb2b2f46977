//! Input from agents: noise, unknown requests, messages of any size.

use super::*;

#[test]
fn noise_is_skipped_and_logged() {
    let nvim = start(&[r#"{"raw":"Loading model ..."}
{"raw_b64":"/////w=="}
{"raw":"{\"jsonrpc\":\"2.0\""}
{"raw":"[1,2,3]"}
{"raw":"null"}
{"say":"clean"}"#]);
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "clean");
    assert!(!said(&nvim, "Loading"));
    assert_eq!(nvim.messages(), "");
    let log = nvim.project.root().join("state/nvim/acp.log");
    nvim.wait("the log", || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("Loading model"))
    });
    nvim.quit();
}

#[test]
fn unknown_requests_are_refused() {
    let nvim = start(&[r#"{"request":"fs/teleport","params":{},"as":"r1"}
{"await":"r1","error":{"code":-32601}}
{"request":"_acme/ask","params":{"anything":[1]},"as":"r4"}
{"await":"r4","error":{"code":-32601}}
{"notify":"_acme/told","params":{"anything":[1]}}
{"request":"fs/read_text_file","params":{"path":7},"as":"r2"}
{"await":"r2","error":{"code":-32602}}
{"request":"session/request_permission","params":{"sessionId":"${sid}","options":[]},"id":"x","as":"r3"}
{"await":"r3","error":{"code":-32602}}
{"notify":"acme/hello","params":{}}
{"say":"done"}"#]);
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "done");
    nvim.wait_script("scripted");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

/// Types while `busy` holds, and returns the time the slowest key took to appear.
#[track_caller]
fn slowest_key(nvim: &Nvim, mut busy: impl FnMut() -> bool) -> Duration {
    let mut slowest = Duration::ZERO;
    let mut typed = 0;
    while typed == 0 || busy() {
        let begin = Instant::now();
        nvim.keys("x");
        typed += 1;
        let text = "x".repeat(typed % 60);
        nvim.wait("the key on the screen", || {
            nvim.screen().row(0).starts_with(&text)
        });
        slowest = slowest.max(begin.elapsed());
        if typed % 60 == 0 {
            nvim.keys("<Esc>cc");
        }
    }
    slowest
}

#[test]
fn eighty_megabytes_in_one_line_are_dropped_and_reported() {
    let nvim = start(&[r#"{"wait_file":"${cwd}/../go"}
{"flood":{"bytes":83886080}}
{"say":"and on it goes"}"#]);
    prompt(&nvim, "hi");
    wait_phase(&nvim, "running");
    go(&nvim, "");
    nvim.keys("i");
    std::fs::write(nvim.project.root().join("go"), "").unwrap();
    let slowest = slowest_key(&nvim, || ended(&nvim).is_empty());
    wait_said(
        &nvim,
        "The agent sent a message of 80 MiB, which was dropped",
    );
    wait_said(&nvim, "and on it goes");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    nvim.quit();
}

#[test]
fn a_megabyte_in_one_message_is_shown() {
    let nvim = start(&[r#"{"wait_file":"${cwd}/../go"}
{"big_say":{"bytes":1048576}}
{"say":"\n\nthe end"}"#]);
    prompt(&nvim, "hi");
    wait_phase(&nvim, "running");
    go(&nvim, "");
    nvim.keys("i");
    std::fs::write(nvim.project.root().join("go"), "").unwrap();
    let slowest = slowest_key(&nvim, || !said(&nvim, "the end"));
    let bytes: usize = transcript(&nvim).iter().map(|line| line.len() + 1).sum();
    assert!(bytes > 1_000_000, "{bytes}");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    nvim.quit();
}
