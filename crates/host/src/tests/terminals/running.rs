//! What a command finds on its terminal, and why a command cannot be run.

use super::*;
use acp_core::terminals::TerminalEvent;

/// Runs a script that ends by itself, and compares its output and exit.
fn check(script: &str, text: &str, exit: TerminalExit) {
    let run = Run::new();
    run.terminal(script);
    let printed = run.printed();
    assert_eq!(printed.text(), text, "{script}");
    assert_eq!(printed.exit, exit, "{script}");
    // The host drops it, and no further events follow.
    run.wait_until_forgotten();
    assert!(run.outlet.try_recv().is_none(), "{script}");
}

/// Compares the reason why a command could not be run.
fn check_failure(change: impl FnOnce(&mut TerminalSpec), expected: &str) {
    let run = Run::new();
    let mut spec = run.command("true");
    spec.args.clear();
    change(&mut spec);
    run.start(spec);
    match run.next() {
        Event::Terminal(TerminalEvent::Failed { terminal, why }) => {
            assert_eq!(terminal, TERMINAL);
            let why = why.replace(&run.folder.path().display().to_string(), "HERE");
            assert_eq!(why, expected);
        }
        other => panic!("{other:?}"),
    }
    run.wait_until_forgotten();
    assert!(run.outlet.try_recv().is_none());
}

#[test]
fn the_exit_status_follows_all_output() {
    check("echo one; echo two", "one\r\ntwo\r\n", code(0));
    check("printf half; exit 3", "half", code(3));
    check("echo to stderr >&2; exit 255", "to stderr\r\n", code(255));
    check("printf x; kill -9 $$", "x", signal("SIGKILL"));
    check("kill -TERM $$", "", signal("SIGTERM"));
}

#[test]
fn a_command_gets_a_terminal_of_the_requested_size() {
    check(
        "test -t 0 && test -t 1 && test -t 2 && stty size && echo $TERM $PAGER $GIT_PAGER",
        "17 91\r\nxterm-256color cat cat\r\n",
        code(0),
    );
    // It is the controlling terminal.
    check("echo mine > /dev/tty", "mine\r\n", code(0));
}

#[test]
fn a_command_line_is_run_by_a_shell() {
    let run = Run::new();
    let mut spec = run.command("");
    spec.command = "echo \"$A\" | tr a-z A-Z && exit 4".to_owned();
    spec.args.clear();
    spec.env = vec![("A".to_owned(), "one  two".to_owned())];
    run.start(spec);
    run.terminal_started();
    let printed = run.printed();
    assert_eq!(printed.text(), "ONE  TWO\r\n");
    assert_eq!(printed.exit, code(4));
    // A program may have blanks in its name.
    let run = Run::new();
    let script = run.path("my tool");
    write_program(&script, "#!/bin/sh\necho found\n");
    let mut spec = run.command("");
    spec.command = script.display().to_string();
    spec.args.clear();
    run.start(spec);
    run.terminal_started();
    assert_eq!(run.printed().text(), "found\r\n");
}

#[test]
fn a_command_that_cannot_be_run_is_reported_with_the_next_step() {
    check_failure(
        |spec| spec.command = "no-such-program".to_owned(),
        "The command `no-such-program` could not be run: `no-such-program` is not on PATH; \
         install it or name another program.",
    );
    check_failure(
        |spec| spec.command = "./none".to_owned(),
        "The command `./none` could not be run: `HERE/./none` does not exist; install it or name \
         another program.",
    );
    check_failure(
        |spec| spec.command.clear(),
        "The command `` could not be run: it is empty; set it to a program.",
    );
    check_failure(
        |spec| spec.cwd.push("none"),
        "The command `sh` could not be run: the folder `HERE/none` does not exist; create it or \
         choose another one.",
    );
    check_failure(
        |spec| {
            spec.cwd.push("file");
            std::fs::write(&spec.cwd, "").expect("a file");
        },
        "The command `sh` could not be run: `HERE/file` is not a folder; choose a folder to run the \
         command in.",
    );
    check_failure(
        |spec| spec.cwd = "src".into(),
        "The command `sh` could not be run: the folder `src` is relative; use an absolute path.",
    );
    check_failure(
        |spec| {
            spec.command = "./script".to_owned();
            std::fs::write(spec.cwd.join("script"), "#!/bin/sh\n").expect("a script");
        },
        "The command `./script` could not be run: `HERE/./script` is not executable; run `chmod \
         +x HERE/./script` or name another program.",
    );
    check_failure(
        |spec| {
            spec.command = "./script".to_owned();
            write_program(&spec.cwd.join("script"), "#!/no/such/shell\n");
        },
        "The command `./script` could not be run: the interpreter that `./script` names in its \
         first line does not exist; install it.",
    );
    check_failure(
        |spec| {
            spec.args = vec!["x".repeat(8 << 20)];
        },
        "The command `sh` could not be run: its arguments and environment are too long (Argument \
         list too long (os error 7)); shorten them.",
    );
}

#[test]
fn a_terminal_inherits_the_environment_and_the_specs_variables_win() {
    let run = Run::with(|config| {
        let variables = [
            ("A", "users"),
            ("B", "users"),
            ("COLORTERM", "truecolor"),
            ("TERM", "tmux"),
            ("COLUMNS", "3"),
            ("PAGER", "less"),
        ];
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        let all = variables.map(|(name, value)| (name.into(), value.into()));
        config.environment = Environment::from_variables(all.into_iter().chain(path));
    });
    let mut spec = run.command("echo $A $B $COLORTERM $TERM $PAGER $GIT_PAGER [$COLUMNS]");
    spec.env = vec![
        ("A".to_owned(), "own".to_owned()),
        ("GIT_PAGER".to_owned(), "more".to_owned()),
    ];
    run.start(spec);
    run.terminal_started();
    assert_eq!(
        run.printed().text(),
        "own users truecolor xterm-256color cat more []\r\n"
    );
}

#[test]
fn colours_and_binary_output_pass_unchanged() {
    let run = Run::new();
    run.terminal(r"stty -opost; printf '\033[1;31mred\033[0m\n'; printf '\000\001\377\200\n'");
    let printed = run.printed();
    assert_eq!(
        printed.bytes,
        b"\x1b[1;31mred\x1b[0m\n\x00\x01\xff\x80\n",
        "{:?}",
        printed.text()
    );
}

#[test]
fn input_is_echoed_and_reaches_the_command() {
    let run = Run::new();
    // Typed before the process exists.
    run.terminal("read name; echo \"hello $name\"; read _; exit 5");
    run.type_in("agent\r");
    let text = run.printed_until("hello agent\r\n");
    assert_eq!(text, "agent\r\nhello agent\r\n");
    run.type_in("\r");
    let printed = run.printed();
    assert_eq!((printed.text().as_str(), printed.exit), ("\r\n", code(5)));
    // CTRL-C is a signal, unless a shell ignores it for its background jobs.
    if !is_ignored(2) {
        let run = Run::new();
        run.terminal("trap 'exit 6' INT; echo ready; while :; do sleep 0.05; done");
        run.printed_until("ready");
        run.type_in("\x03");
        assert_eq!(run.printed().exit, code(6));
    }
    // The terminal has ended.
    run.type_in("late");
}

#[test]
fn a_command_is_notified_of_a_new_terminal_size() {
    let run = Run::new();
    run.terminal("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done");
    run.printed_until("ready");
    let (terminal, columns, rows) = (TERMINAL, 120, 0);
    run.host.run(HostEffect::ResizeTerminal {
        terminal,
        columns,
        rows,
    });
    assert_eq!(run.printed().text(), "1 120\r\n");
}

#[test]
fn a_terminal_that_is_closed_by_its_command_can_be_opened_again() {
    check(
        "exec 3>&1 <&- >&- 2>&- 3>&-; sleep 0.05; echo back > /dev/tty; sleep 0.05; \
         echo again > /dev/tty; exit 2",
        "back\r\nagain\r\n",
        code(2),
    );
}
