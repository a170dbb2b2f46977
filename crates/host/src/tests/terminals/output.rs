//! Large output and many commands: everything arrives, and memory stays bounded.

use std::fs::File;
use std::io::Write;

use super::*;
use acp_core::terminals::TerminalEvent;

/// Prints this many numbered lines, each 100 bytes long on the terminal.
const LINES: usize = 100_000;
const COUNT: &str =
    "awk 'BEGIN { for (i = 0; i < 100000; i++) printf \"\\033[32m%08d\\033[0m%081d\\n\", i, 0 }'";

/// Compares the output of `COUNT`.
fn check_lines(bytes: &[u8]) {
    assert_eq!(bytes.len(), LINES * 100);
    for (n, line) in bytes.chunks(100).enumerate() {
        assert!(
            line.starts_with(format!("\x1b[32m{n:08}\x1b[0m").as_bytes()),
            "{n}"
        );
        assert!(line.ends_with(b"0\r\n"), "{n}");
    }
}

#[test]
fn ten_megabytes_arrive_complete_and_in_order_in_large_pieces() {
    let (run, begun) = (Run::new(), Instant::now());
    run.terminal(COUNT);
    let (mut bytes, mut pieces) = (Vec::new(), 0);
    loop {
        match run.next() {
            Event::Terminal(TerminalEvent::Output { bytes: piece, .. }) => {
                bytes.extend(piece);
                pieces += 1;
            }
            Event::Terminal(TerminalEvent::Exited { exit, .. }) => break assert_eq!(exit, code(0)),
            other => panic!("{other:?}"),
        }
    }
    check_lines(&bytes);
    // Each is full, or comes 4 ms after the one before; at most 163 can be full.
    let most = 170 + begun.elapsed().as_millis() / 4;
    assert!(pieces <= most, "{pieces}");
}

#[test]
fn a_core_that_does_not_read_stops_the_command_and_loses_nothing() {
    let run = Run::new();
    run.terminal(&format!("{COUNT}; : > done"));
    let inbox = &run.host.kit.inbox;
    let is_full = |permit: std::pin::Pin<&mut dyn Future<Output = _>>| {
        permit
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    };
    wait_for("the terminals' share to be full", || {
        is_full(std::pin::pin!(inbox.terminal_permit(1)))
    });
    // At most 8 of the 10 MiB are in flight while the core reads nothing; agents have their own
    // lane.
    assert!(!run.path("done").exists());
    assert!(run.outlet.agent_messages() <= 512);
    assert!(!is_full(std::pin::pin!(inbox.permit(64 << 20))));
    let printed = run.printed();
    check_lines(&printed.bytes);
    assert!(run.path("done").exists());
}

#[test]
fn two_hundred_commands_run_at_once() {
    // Those of other tests would wait for them: a terminal is opened while nothing forks.
    #[cfg(target_os = "linux")]
    if !exhausted::is_alone("tests::terminals::output::two_hundred_commands_run_at_once") {
        return;
    }
    const COMMANDS: u32 = 200;
    let run = Run::new();
    // Each command waits for a line of its own in this pipe. It costs no time until then, which other
    // tests need.
    let path = run.path("go");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    let mut go = File::options()
        .read(true)
        .write(true)
        .open(path)
        .expect("a pipe");
    for key in 0..COMMANDS {
        let terminal = TerminalKey(key);
        let spec = run.command(&format!(
            "echo {key}; read line < go; echo end of {key}; exit {}",
            key % 7
        ));
        run.host.run(HostEffect::StartTerminal { terminal, spec });
    }
    let mut printed = vec![String::new(); COMMANDS as usize];
    let (mut running, mut gone) = (0, 0);
    while gone < COMMANDS {
        match run.next() {
            Event::Terminal(TerminalEvent::Started { .. }) => {
                running += 1;
                if running == COMMANDS {
                    // All of them are running.
                    let lines = "\n".repeat(COMMANDS as usize);
                    go.write_all(lines.as_bytes()).expect("space in the pipe");
                }
            }
            Event::Terminal(TerminalEvent::Output { terminal, bytes }) => {
                printed[terminal.0 as usize].push_str(&String::from_utf8_lossy(&bytes));
            }
            Event::Terminal(TerminalEvent::Exited { terminal, exit }) => {
                assert_eq!(exit, code(terminal.0 % 7));
                gone += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    for (key, text) in printed.iter().enumerate() {
        assert_eq!(text, &format!("{key}\r\nend of {key}\r\n"));
    }
}
