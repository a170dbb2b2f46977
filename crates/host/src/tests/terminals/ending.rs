//! Ending commands: no process of theirs is left, and no other process is touched.

use super::super::super::terminal::spawn_guarded;
use super::*;
use acp_core::terminals::TerminalEvent;

/// Kills a command that has printed its children's pids and "ready", and compares its exit.
fn check_kill(script: &str, exit: TerminalExit) {
    check_kill_within(Duration::from_millis(200), script, exit);
}

/// Like [`check_kill`], with SIGKILL after this time.
fn check_kill_within(kill_after: Duration, script: &str, exit: TerminalExit) {
    let run = Run::with(|config| config.limits.kill_after = kill_after);
    let pid = run.terminal(script);
    let text = run.printed_until("ready");
    let children = text.lines().filter_map(|line| line.parse().ok());
    let all: Vec<u32> = children.chain([pid]).collect();
    run.kill();
    assert_eq!(run.printed().exit, exit, "{script}");
    for pid in all {
        wait_for("the group to be gone", || !runs(pid));
    }
    // It is reaped, so not even a zombie is left of the command itself.
    assert_eq!(state(pid), None, "{script}");
    run.wait_until_forgotten();
}

#[test]
fn a_kill_reaches_the_whole_group() {
    check_kill(&format!("echo ready; {WAIT}"), hung_up());
    // These have all the time they need for that.
    check_kill_within(
        DEADLINE,
        &format!("trap '' HUP; echo ready; {FOR_EVER}"),
        signal("SIGTERM"),
    );
    check_kill_within(
        DEADLINE,
        &format!("trap 'exit 7' HUP TERM; echo ready; {FOR_EVER}"),
        code(7),
    );
    check_kill(
        &format!("trap '' HUP TERM; echo ready; {FOR_EVER}"),
        signal("SIGKILL"),
    );
    // The command handles the signal, its child does not.
    check_kill(
        &format!("(trap '' HUP TERM; {FOR_EVER}) & echo $!; echo ready; {WAIT}"),
        hung_up(),
    );
    // The process is stopped.
    check_kill(
        &format!("(echo; {FOR_EVER}) & echo $!; kill -STOP $!; echo ready; {WAIT}"),
        hung_up(),
    );
}

/// As an interactive shell starts them.
#[cfg(target_os = "linux")]
#[test]
fn a_kill_reaches_jobs_in_groups_of_their_own() {
    let own_group = |job: &str| {
        format!(
            "set -m; ({job}) & echo $!; test \"$(ps -o pgid= -p $! | tr -d ' ')\" = $! || exit 1; \
             echo ready; {WAIT}"
        )
    };
    check_kill(&own_group(FOR_EVER), hung_up());
    check_kill(
        &own_group(&format!("trap '' HUP TERM; {FOR_EVER}")),
        hung_up(),
    );
    // The process is stopped.
    check_kill(
        &own_group("exec sh -c 'kill -STOP $$; sleep 100'"),
        hung_up(),
    );
}

#[test]
fn killing_an_ended_or_unknown_command_does_nothing() {
    let run = Run::new();
    run.kill();
    run.terminal("exit 1");
    assert_eq!(run.printed().exit, code(1));
    run.kill();
    run.wait_until_forgotten();
    run.kill();
    // The next event is of the next command.
    run.terminal("exit 2");
    assert_eq!(run.printed().exit, code(2));
}

#[test]
fn an_exit_waits_a_bounded_time_for_a_child_that_holds_the_terminal() {
    // It prints its last words and exits.
    let run = Run::with(|config| config.limits.exit_grace = DEADLINE);
    run.terminal("trap '' HUP; (while [ ! -e go ]; do sleep 0.01; done; echo late) & echo first");
    run.printed_until("first\r\n");
    std::fs::write(run.path("go"), "").expect("a file");
    let printed = run.printed();
    assert_eq!(
        (printed.text().as_str(), printed.exit),
        ("late\r\n", code(0))
    );

    // The child and its terminal live on, but no output is reported after the exit.
    let run = Run::with(|config| config.limits.exit_grace = Duration::from_millis(50));
    run.terminal(&format!(
        "trap '' HUP; sh -c 'echo $$; while :; do echo noise; echo >>beats; sleep 0.01; done' & {}",
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
    // A kill concerns the running command, not processes it has left behind.
    run.kill();
    let beats = || std::fs::metadata(run.path("beats")).map_or(0, |file| file.len());
    let before = beats();
    wait_for("the child to go on", || beats() > before + 2);
    assert!(run.outlet.try_recv().is_none());
    // They are ended with Neovim.
    run.host.shutdown(Duration::from_millis(500));
    wait_for("the child to be gone", || !runs(child));
}

#[test]
fn shutdown_ends_all_commands_together() {
    let run = Run::with(|config| config.limits.kill_after = DEADLINE);
    let mut pids = Vec::new();
    for key in 0..20 {
        let terminal = TerminalKey(key);
        // One ignores SIGTERM, the other does not.
        let trap = if key == 0 { "" } else { "trap '' HUP TERM" };
        let spec = run.command(&format!("{trap}\necho ready; {FOR_EVER}"));
        run.host.run(HostEffect::StartTerminal { terminal, spec });
    }
    let mut ready = 0;
    while ready < 20 || pids.len() < 20 {
        match run.next() {
            Event::Terminal(TerminalEvent::Started { pid, .. }) => pids.push(pid),
            Event::Terminal(TerminalEvent::Output { .. }) => ready += 1,
            other => panic!("{other:?}"),
        }
    }
    let begin = Instant::now();
    run.host.shutdown(Duration::from_millis(800));
    assert!(begin.elapsed() < DEADLINE);
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
fn terminals_do_not_reap_children_of_other_parents() {
    let run = Run::new();
    // Stands for one of Neovim's own jobs: it ends while commands come and go, and its owner reaps
    // it.
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
    run.terminal(&format!("echo ready; {WAIT}"));
    run.printed_until("ready");
    let terminal = run.host.terminals.get(TERMINAL).expect("a terminal");
    let work = async { panic!("a test") };
    spawn_guarded("a task", &terminal, &run.host.kit, work);
    match run.next() {
        Event::Panicked { place, message } => {
            assert_eq!((place, message.as_str()), ("a task", "a test"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(run.printed().exit, hung_up());
    run.terminal("exit 1");
    assert_eq!(run.printed().exit, code(1));
}
