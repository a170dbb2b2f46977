//! Many calls and large ones must not leak.

use super::*;

#[cfg(target_os = "linux")]
const CALLS: u64 = 2_000;
#[cfg(target_os = "linux")]
const PART: u64 = 100;

#[cfg(target_os = "linux")]
fn descriptors(nvim: &Nvim) -> usize {
    let folder = format!("/proc/{}/fd", nvim.pid());
    fs::read_dir(folder).expect("Linux has /proc").count()
}

/// Returns Neovim's resident memory, in KiB.
#[cfg(target_os = "linux")]
fn memory(nvim: &Nvim) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", nvim.pid()));
    let status = status.expect("Linux has /proc");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

#[cfg(target_os = "linux")]
#[test]
fn two_thousand_calls_leave_nothing_open_and_little_in_memory() {
    let nvim = start(project());
    define(
        &nvim,
        "name = 'echo', description = 'x', read_only = true,
        parameters = { type = 'object', properties = { text = { type = 'string' } } },
        handler = function(args) return args.text end",
    );
    let client = Client::start(&nvim, &server(&nvim));
    // Part by part, so that a slow machine is no failure.
    let ask = |calls: u64| {
        for _ in 0..calls / PART {
            let answer = client.ask(&nvim, &format!("many {PART} echo {{\"text\":\"hello\"}}"));
            assert_eq!(answer["good"], PART, "{answer}");
            assert_eq!(text(&answer["last"]), "hello");
        }
    };
    // These calls create everything that is created once.
    ask(500);
    let before = (descriptors(&nvim), memory(&nvim));
    ask(CALLS);
    // Neovim may have a file open at this moment.
    nvim.wait("no more open files than before", || {
        descriptors(&nvim) <= before.0
    });
    // Each call adds some 5 KiB to the transcript, which is no leak.
    let grown = memory(&nvim).saturating_sub(before.1);
    println!("{CALLS} calls: {before:?}, then {grown} KiB more");
    assert!(grown < 20 * 1024, "{grown} KiB");
    nvim.quit();
}

#[test]
fn an_argument_that_is_too_large_is_refused_and_the_connection_stays_open() {
    let nvim = start(project());
    define(
        &nvim,
        "name = 'size', description = 'x', read_only = true,
        parameters = { type = 'object', properties = { text = { type = 'string' } } },
        handler = function(args) return { bytes = #args.text } end",
    );
    let client = Client::start(&nvim, &server(&nvim));
    let large = client.ask(&nvim, "big 8000000 size text");
    assert_eq!(large["structuredContent"]["bytes"], 8_000_000, "{large}");
    client.send("big 80000000 size text");
    nvim.keys("ggOtyped<Esc>");
    assert_eq!(nvim.buf_lines(0)[0], "typed");
    let refused = client.answer(&nvim);
    let words = refused.to_string();
    assert!(
        refused["isError"] == true || refused["failed"].is_string(),
        "{words}"
    );
    assert!(words.contains("16 MiB"), "{words}");
    let again = client.call(&nvim, "size", &json!({ "text": "four" }));
    assert_eq!(again["structuredContent"]["bytes"], 4, "{again}");
    nvim.quit();
}
