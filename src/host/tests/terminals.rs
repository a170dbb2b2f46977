//! Terminals: commands run on them, are heard, typed into, ended, gone.

use super::super::terminal::spawn_guarded;
use super::*;
use crate::core::event::{TerminalExit, TerminalSpec};
use crate::core::ids::TerminalKey;

const TERMINAL: TerminalKey = TerminalKey(1);

/// How a command's life went: what it printed until it was gone.
#[derive(Debug)]
struct Printed {
    bytes: Vec<u8>,
    exit: TerminalExit,
}

impl Printed {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Run {
    /// Returns a spec of a script that is run in the folder.
    fn command(&self, script: &str) -> TerminalSpec {
        TerminalSpec {
            command: "sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![],
            cwd: self.folder.path().to_owned(),
            columns: 91,
            rows: 17,
        }
    }

    fn start(&self, spec: TerminalSpec) {
        let terminal = TERMINAL;
        self.host.run(HostEffect::StartTerminal { terminal, spec });
    }

    /// Starts a script that must start, and returns its pid.
    fn terminal(&self, script: &str) -> u32 {
        self.start(self.command(script));
        self.terminal_started()
    }

    fn terminal_started(&self) -> u32 {
        match self.next() {
            Event::TerminalStarted { terminal, pid } => {
                assert_eq!(terminal, TERMINAL);
                pid
            }
            other => panic!("{other:?}"),
        }
    }

    /// Takes output until there is `text` in it, and returns all of it.
    fn printed_until(&self, text: &str) -> String {
        let mut all = String::new();
        while !all.contains(text) {
            match self.next() {
                Event::TerminalOutput { bytes, .. } => {
                    all.push_str(&String::from_utf8_lossy(&bytes));
                }
                other => panic!("{other:?} after {all:?}"),
            }
        }
        all
    }

    /// Takes events up to the terminal's exit.
    fn printed(&self) -> Printed {
        let mut all = Vec::new();
        loop {
            match self.next() {
                Event::TerminalOutput { terminal, bytes } => {
                    assert_eq!(terminal, TERMINAL);
                    assert!(!bytes.is_empty() && bytes.len() <= 64 << 10);
                    all.extend(bytes);
                }
                Event::TerminalExited { terminal, exit } => {
                    assert_eq!(terminal, TERMINAL);
                    return Printed { bytes: all, exit };
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn type_in(&self, text: &str) {
        let bytes = text.as_bytes().to_vec();
        let terminal = TERMINAL;
        self.host.run(HostEffect::TerminalInput { terminal, bytes });
    }

    fn kill(&self) {
        let terminal = TERMINAL;
        self.host.run(HostEffect::KillTerminal { terminal });
    }

    fn wait_until_forgotten(&self) {
        wait_for("the terminal to be forgotten", || {
            self.host.terminals.get(TERMINAL).is_none()
        });
    }
}

fn code(code: u32) -> TerminalExit {
    let (code, signal) = (Some(code), None);
    TerminalExit { code, signal }
}

fn signal(name: &str) -> TerminalExit {
    let (code, signal) = (None, Some(name.to_owned()));
    TerminalExit { code, signal }
}

/// Runs a script that ends by itself, and compares what it printed and how it ended.
fn check(script: &str, text: &str, exit: TerminalExit) {
    let run = Run::new();
    run.terminal(script);
    let printed = run.printed();
    assert_eq!(printed.text(), text, "{script}");
    assert_eq!(printed.exit, exit, "{script}");
    // It is forgotten, and nothing more is heard of it.
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
        Event::TerminalFailed { terminal, why } => {
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
fn the_exit_comes_after_all_output_and_says_how() {
    check("echo one; echo two", "one\r\ntwo\r\n", code(0));
    check("printf half; exit 3", "half", code(3));
    check("echo to stderr >&2; exit 255", "to stderr\r\n", code(255));
    check("printf x; kill -9 $$", "x", signal("SIGKILL"));
    check("kill -TERM $$", "", signal("SIGTERM"));
}

#[test]
fn a_command_sees_a_terminal_of_the_size_that_was_asked_for() {
    check(
        "test -t 0 && test -t 1 && test -t 2 && stty size && echo $TERM $PAGER $GIT_PAGER",
        "17 91\r\nxterm-256color cat cat\r\n",
        code(0),
    );
    // It is the controlling one.
    check("echo mine > /dev/tty", "mine\r\n", code(0));
}

#[test]
fn a_whole_command_line_is_taken_apart_by_a_shell() {
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
    // A program whose name has blanks is that program.
    let run = Run::new();
    let script = run.path("my tool");
    std::fs::write(&script, "#!/bin/sh\necho found\n").expect("a script");
    set_mode(&script, 0o755);
    let mut spec = run.command("");
    spec.command = script.display().to_string();
    spec.args.clear();
    run.start(spec);
    run.terminal_started();
    assert_eq!(run.printed().text(), "found\r\n");
}

#[test]
fn what_cannot_be_run_is_said_with_the_next_step() {
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
         name another one.",
    );
    check_failure(
        |spec| {
            spec.cwd.push("file");
            std::fs::write(&spec.cwd, "").expect("a file");
        },
        "The command `sh` could not be run: `HERE/file` is no folder; name one to run the command \
         in.",
    );
    check_failure(
        |spec| spec.cwd = "src".into(),
        "The command `sh` could not be run: the folder `src` is relative; name it by its absolute \
         path.",
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
            std::fs::write(spec.cwd.join("script"), "#!/no/such/shell\n").expect("a script");
            set_mode(&spec.cwd.join("script"), 0o755);
        },
        "The command `./script` could not be run: the interpreter that `./script` names in its \
         first line does not exist; install it.",
    );
    check_failure(
        |spec| {
            spec.args = vec!["x".repeat(8 << 20)];
        },
        "The command `sh` could not be run: its arguments and environment are too long (Argument \
         list too long (os error 7)); pass less.",
    );
}

#[test]
fn the_whole_environment_goes_along_and_the_specs_wins_in_a_terminal_too() {
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
fn colours_and_bytes_that_are_no_text_pass_as_they_are() {
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
fn what_is_typed_is_echoed_and_reaches_the_command() {
    let run = Run::new();
    // Typed before there is a process.
    run.terminal("read name; echo \"hello $name\"; read _; exit 5");
    run.type_in("agent\r");
    let text = run.printed_until("hello agent\r\n");
    assert_eq!(text, "agent\r\nhello agent\r\n");
    run.type_in("\r");
    let printed = run.printed();
    assert_eq!((printed.text().as_str(), printed.exit), ("\r\n", code(5)));
    // CTRL-C is a signal.
    let run = Run::new();
    run.terminal("trap 'exit 6' INT; echo ready; while :; do sleep 0.05; done");
    run.printed_until("ready");
    run.type_in("\x03");
    assert_eq!(run.printed().exit, code(6));
    // Nobody is there any more.
    run.type_in("late");
}

#[test]
fn a_command_learns_that_its_terminal_has_another_size() {
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

/// Kills a command once it has said the pids of its children and that it is ready, and compares
/// how it ended.
fn check_kill(script: &str, exit: TerminalExit) {
    let run = Run::with(|config| config.limits.kill_after = Duration::from_millis(200));
    let pid = run.terminal(script);
    let text = run.printed_until("ready");
    let children = text.lines().filter_map(|line| line.parse().ok());
    let all: Vec<u32> = children.chain([pid]).collect();
    run.kill();
    assert_eq!(run.printed().exit, exit, "{script}");
    for pid in all {
        wait_for("the group to be gone", || !runs(pid));
    }
    // Reaped: not even a zombie is left of the command itself.
    assert_eq!(state(pid), None, "{script}");
    run.wait_until_forgotten();
}

const FOR_EVER: &str = "while :; do sleep 0.05; done";

#[test]
fn a_kill_reaches_the_whole_group() {
    check_kill(&format!("echo ready; {FOR_EVER}"), signal("SIGHUP"));
    check_kill(
        &format!("trap '' HUP; echo ready; {FOR_EVER}"),
        signal("SIGTERM"),
    );
    check_kill(
        &format!("trap 'exit 7' HUP TERM; echo ready; {FOR_EVER}"),
        code(7),
    );
    check_kill(
        &format!("trap '' HUP TERM; echo ready; {FOR_EVER}"),
        signal("SIGKILL"),
    );
    // The command listens, its child does not.
    check_kill(
        &format!("(trap '' HUP TERM; {FOR_EVER}) & echo $!; echo ready; {FOR_EVER}"),
        signal("SIGHUP"),
    );
    // Stopped.
    check_kill(
        &format!("(echo; {FOR_EVER}) & echo $!; kill -STOP $!; echo ready; {FOR_EVER}"),
        signal("SIGHUP"),
    );
}

#[test]
fn a_kill_of_what_has_ended_or_never_was_does_nothing() {
    let run = Run::new();
    run.kill();
    run.terminal("exit 1");
    assert_eq!(run.printed().exit, code(1));
    run.kill();
    run.wait_until_forgotten();
    run.kill();
    assert!(run.outlet.try_recv().is_none());
}

#[test]
fn an_exit_waits_for_a_child_that_holds_the_terminal_and_not_for_ever() {
    // It says what it has to say, and ends.
    let run = Run::with(|config| config.limits.exit_grace = DEADLINE);
    run.terminal("trap '' HUP; (while [ ! -e go ]; do sleep 0.01; done; echo late) & echo first");
    run.printed_until("first\r\n");
    std::fs::write(run.path("go"), "").expect("a file");
    let printed = run.printed();
    assert_eq!(
        (printed.text().as_str(), printed.exit),
        ("late\r\n", code(0))
    );

    // It goes on for ever, and so does its terminal; but nothing is told of it after the exit.
    let run = Run::with(|config| config.limits.exit_grace = Duration::from_millis(50));
    run.terminal(&format!(
        "trap '' HUP; (while :; do echo noise; sleep 0.01; done) & echo $!; {}",
        "while [ ! -e go ]; do sleep 0.01; done"
    ));
    let text = run.printed_until("noise");
    let child: u32 = text
        .lines()
        .next()
        .and_then(|pid| pid.parse().ok())
        .expect("a pid");
    std::fs::write(run.path("go"), "").expect("a file");
    assert_eq!(run.printed().exit, code(0));
    // A kill is for what runs there, not for what was left behind to go on.
    run.kill();
    assert!(runs(child));
    assert!(run.outlet.try_recv().is_none());
    // The end of Neovim is its end, too.
    run.host.shutdown(Duration::from_millis(500));
    wait_for("the child to be gone", || !runs(child));
}

/// Prints this many lines, each with its number and 100 bytes long as a terminal prints it.
const LINES: usize = 100_000;
const COUNT: &str =
    "awk 'BEGIN { for (i = 0; i < 100000; i++) printf \"\\033[32m%08d\\033[0m%081d\\n\", i, 0 }'";

/// Compares what `COUNT` has printed.
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
    let run = Run::new();
    run.terminal(COUNT);
    let (mut bytes, mut pieces) = (Vec::new(), 0);
    loop {
        match run.next() {
            Event::TerminalOutput { bytes: piece, .. } => {
                bytes.extend(piece);
                pieces += 1;
            }
            Event::TerminalExited { exit, .. } => break assert_eq!(exit, code(0)),
            other => panic!("{other:?}"),
        }
    }
    check_lines(&bytes);
    // 160 would be full.
    assert!(pieces < 1000, "{pieces}");
}

#[test]
fn a_core_that_does_not_read_stops_the_command_and_loses_nothing() {
    let run = Run::new();
    run.terminal(&format!("{COUNT}; : > done"));
    let inbox = &run.host.tools.inbox;
    let is_full = |room: std::pin::Pin<&mut dyn Future<Output = _>>| {
        room.poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    };
    wait_for("the terminals' share to be full", || {
        is_full(std::pin::pin!(inbox.terminal_room(1)))
    });
    // 8 MiB of 10 and no more are in flight, though nobody takes anything; agents have room.
    assert!(!run.path("done").exists());
    assert!(run.outlet.agent_messages() <= 512);
    assert!(!is_full(std::pin::pin!(inbox.room(64 << 20))));
    let printed = run.printed();
    check_lines(&printed.bytes);
    assert!(run.path("done").exists());
}

#[test]
fn two_hundred_commands_run_at_once() {
    const COMMANDS: u32 = 200;
    let run = Run::new();
    for key in 0..COMMANDS {
        let terminal = TerminalKey(key);
        let spec = run.command(&format!(
            "echo {key}; while [ ! -e go ]; do sleep 0.2; done; echo end of {key}; exit {}",
            key % 7
        ));
        run.host.run(HostEffect::StartTerminal { terminal, spec });
    }
    let mut printed = vec![String::new(); COMMANDS as usize];
    let (mut running, mut gone) = (0, 0);
    while gone < COMMANDS {
        match run.next() {
            Event::TerminalStarted { .. } => {
                running += 1;
                if running == COMMANDS {
                    // All of them are there.
                    std::fs::write(run.path("go"), "").expect("a file");
                }
            }
            Event::TerminalOutput { terminal, bytes } => {
                printed[terminal.0 as usize].push_str(&String::from_utf8_lossy(&bytes));
            }
            Event::TerminalExited { terminal, exit } => {
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

#[test]
fn the_end_of_the_host_ends_all_commands_at_once() {
    let run = Run::new();
    let mut pids = Vec::new();
    for key in 0..20 {
        let terminal = TerminalKey(key);
        // Deaf, and one that is not.
        let trap = if key == 0 { "" } else { "trap '' HUP TERM" };
        let spec = run.command(&format!("{trap}\necho ready; {FOR_EVER}"));
        run.host.run(HostEffect::StartTerminal { terminal, spec });
    }
    let mut ready = 0;
    while ready < 20 || pids.len() < 20 {
        match run.next() {
            Event::TerminalStarted { pid, .. } => pids.push(pid),
            Event::TerminalOutput { .. } => ready += 1,
            other => panic!("{other:?}"),
        }
    }
    let begin = Instant::now();
    run.host.shutdown(Duration::from_millis(800));
    assert!(begin.elapsed() < Duration::from_secs(5));
    for pid in pids {
        wait_for("the command to be gone", || !runs(pid));
    }
}

#[test]
fn a_host_that_is_dropped_leaves_no_command_behind() {
    let run = Run::new();
    let pid = run.terminal(&format!("trap '' HUP TERM; echo ready; {FOR_EVER}"));
    run.printed_until("ready");
    drop(run);
    wait_for("the command to be gone", || !runs(pid));
}

#[test]
fn children_of_others_are_left_to_them_by_terminals_too() {
    let run = Run::new();
    // As Neovim's own job: it ends while commands come and go, and is reaped by its owner.
    let mut job = std::process::Command::new("sh")
        .args(["-c", "exit 9"])
        .spawn()
        .expect("a job");
    wait_for("the job's end", || state(job.id()) == Some('Z'));
    run.terminal("exit 1");
    assert_eq!(run.printed().exit, code(1));
    assert_eq!(state(job.id()), Some('Z'));
    assert_eq!(job.wait().expect("the job's status").code(), Some(9));
}

#[test]
fn a_panic_in_a_task_of_a_terminal_ends_that_command_only() {
    let run = Run::new();
    run.terminal(&format!("echo ready; {FOR_EVER}"));
    run.printed_until("ready");
    let terminal = run.host.terminals.get(TERMINAL).expect("a terminal");
    let work = async { panic!("a test") };
    spawn_guarded("a task", &terminal, &run.host.tools, work);
    match run.next() {
        Event::Panicked { place, message } => {
            assert_eq!((place, message.as_str()), ("a task", "a test"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(run.printed().exit, signal("SIGHUP"));
    run.terminal("exit 1");
    assert_eq!(run.printed().exit, code(1));
}
