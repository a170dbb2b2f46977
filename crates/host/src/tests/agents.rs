//! Agents: starting, messages both ways, exit.

use super::super::agent::spawn_guarded;
use super::super::command::{Program, command};
use super::ending::only_sigterm;
use super::*;
use acp_core::event::AgentEvent;

const TIMER: Token<reply::Timer> = Token::new(1);

/// Runs a script that ends by itself, and compares its output and exit.
fn check(script: &str, lines: &[&str], status: &str, stderr: &[&str]) {
    let life = Run::new().whole_life(script);
    assert_eq!(life.lines, lines, "{script}");
    assert_eq!(life.status, status, "{script}");
    assert_eq!(life.stderr, stderr, "{script}");
}

/// Compares the reason why an agent could not be started.
fn check_failure(change: impl FnOnce(&mut AgentSpec), expected: &str) {
    let run = Run::new();
    let mut spec = run.script("true");
    change(&mut spec);
    run.spawn(spec);
    match run.next() {
        Event::Agent(AgentEvent::Failed { agent: AGENT, why }) => {
            let why = why.replace(&run.folder.path().display().to_string(), "HERE");
            assert_eq!(why, expected);
        }
        other => panic!("{other:?}"),
    }
    // The host drops it, and no further events follow.
    wait_for("the agent to be forgotten", || {
        run.host.kit.agent(AGENT).is_none()
    });
    assert!(run.outlet.try_recv().is_none());
}

#[test]
fn the_exit_comes_last_with_status_and_stderr() {
    check("echo one; echo two", &["one", "two"], "exit code 0", &[]);
    check("printf half", &["half"], "exit code 0", &[]);
    check("echo why >&2; exit 3", &[], "exit code 3", &["why"]);
    check(
        "printf why >&2; kill -9 $$",
        &[],
        "killed by SIGKILL (9)",
        &["why"],
    );
}

#[test]
fn an_agent_that_cannot_be_started_is_reported_with_the_next_step() {
    check_failure(
        |spec| spec.command = "no-such-agent".to_owned(),
        "The agent \"tester\" could not be started: `no-such-agent` is not on PATH; install it \
         or set agents.tester.command.",
    );
    check_failure(
        |spec| spec.cwd.push("none"),
        "The agent \"tester\" could not be started: its folder `HERE/none` does not exist; \
         create it or open the chat in another one.",
    );
    check_failure(
        |spec| {
            spec.command = "./script".to_owned();
            write_program(&spec.cwd.join("script"), "#!/no/such/shell\n");
        },
        "The agent \"tester\" could not be started: the interpreter that `./script` names in its \
         first line does not exist; install it.",
    );
    check_failure(
        |spec| {
            spec.command = "./script".to_owned();
            write_program(&spec.cwd.join("script"), "echo\n");
        },
        "The agent \"tester\" could not be started: `./script` is not a program for this machine; \
         if it is a script, add a `#!` line.",
    );
}

#[test]
fn path_of_the_agents_own_environment_decides() {
    let run = Run::new();
    let mut spec = run.script("exit 4");
    let shell = command(&Program::of_agent(&spec), &run.host.kit.environment)
        .expect("a shell")
        .get_program()
        .to_owned();
    std::os::unix::fs::symlink(shell, run.path("my-shell")).expect("a link");
    spec.command = "my-shell".to_owned();
    spec.env = vec![("PATH".to_owned(), run.folder.path().display().to_string())];
    run.spawn(spec);
    assert!(matches!(
        run.next(),
        Event::Agent(AgentEvent::Started { .. })
    ));
    assert_eq!(run.life().status, "exit code 4");
}

#[test]
fn the_environment_is_inherited_and_the_specs_variables_win() {
    let run = Run::with(|config| {
        let variables = [("A", "users"), ("B", "users=\n=two")];
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        let all = variables.map(|(name, value)| (name.into(), value.into()));
        config.environment = Environment::from_variables(all.into_iter().chain(path));
    });
    let mut spec = run.script(r#"echo "$A"; echo "$B"; echo "$C"; pwd; env | grep -c HOME="#);
    spec.env = vec![("A".into(), "own".into()), ("C".into(), "own".into())];
    run.spawn(spec);
    assert!(matches!(
        run.next(),
        Event::Agent(AgentEvent::Started { .. })
    ));
    let cwd = run.folder.path().canonicalize().expect("the folder");
    let cwd = cwd.display().to_string();
    assert_eq!(
        run.life().lines,
        ["own", "users=", "=two", "own", &cwd, "0"]
    );
}

#[test]
fn lines_go_in_and_come_out_in_order() {
    let run = Run::new();
    run.spawn(run.script("cat"));
    // Queued before the process exists.
    for n in 0..2000 {
        run.send(&n.to_string());
    }
    assert!(matches!(
        run.next(),
        Event::Agent(AgentEvent::Started { .. })
    ));
    for n in 0..2000 {
        assert_eq!(run.line(), n.to_string());
    }
    // The queued lines still arrive, then `cat` sees the end of its input.
    run.send("last");
    run.shut_down_agent();
    run.send("too late");
    let life = run.life();
    assert_eq!(life.lines, ["last"]);
    assert_eq!(life.status, "exit code 0");
}

#[test]
fn the_last_lines_of_stderr_are_kept_and_all_are_logged() {
    let run = Run::new();
    let life = run.whole_life("i=0; while [ $i -lt 250 ]; do echo line $i >&2; i=$((i+1)); done");
    let expected: Vec<String> = (150..250).map(|n| format!("line {n}")).collect();
    assert_eq!(life.stderr, expected);
    run.host.kit.log.flush(DEADLINE);
    let log = read(&run.path("acp.log"));
    for n in 0..250 {
        assert!(log.contains(&format!(" tester: line {n}\n")), "line {n}");
    }
}

#[test]
fn a_long_line_arrives_complete_and_in_order() {
    let life = Run::new().whole_life(
        "echo a; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo b; \
         head -c 9000 /dev/zero | tr '\\0' y >&2",
    );
    assert_eq!((life.lines.len(), life.lines[0].as_str()), (3, "a"));
    assert!(life.lines[1].starts_with("xxx"));
    assert_eq!(life.lines[2], "b");
    assert_eq!(life.stderr[0].len(), 4096 + "…".len());
}

#[test]
fn an_oversized_line_is_reported_and_the_stream_continues() {
    let run = Run::new();
    run.started("head -c 80000000 /dev/zero | tr '\\0' x; echo; echo after");
    match run.next() {
        Event::Agent(AgentEvent::Message {
            message: Message::TooLong { bytes },
            ..
        }) => assert_eq!(bytes, 80_000_000),
        other => panic!("{other:?}"),
    }
    assert_eq!(run.life().lines, ["after"]);
}

#[test]
fn a_panic_in_a_task_of_an_agent_ends_that_agent_only() {
    let run = Run::with(only_sigterm);
    run.started("echo ready; while :; do sleep 1; done");
    assert_eq!(run.line(), "ready");
    let agent = run.host.kit.agent(AGENT).expect("an agent");
    let work = async { panic!("a test") };
    spawn_guarded::<()>("a task", &agent, &run.host.kit, work);
    match run.next() {
        Event::Panicked { place, message } => {
            assert_eq!((place, message.as_str()), ("a task", "a test"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        run.life().status,
        "killed by SIGTERM (15): an internal error in acp.nvim"
    );
    assert_eq!(run.whole_life("exit 1").status, "exit code 1");
}

#[test]
fn a_core_that_does_not_read_stops_the_agent_and_loses_nothing() {
    const LINES: usize = 200;
    let run = Run::new();
    // Two hundred lines of 1 MiB; the file records the agent's progress.
    run.started(&format!(
        "i=0; while [ $i -lt {LINES} ]; do printf %04d $i; head -c 1048572 /dev/zero | tr '\\0' x; \
         echo; i=$((i+1)); echo $i > written.tmp; mv written.tmp written; done"
    ));
    // At most 64 MiB are in flight while the core reads nothing.
    run.wait_for_full_lane();
    let written = || {
        read(&run.path("written"))
            .trim()
            .parse::<usize>()
            .expect("a number")
    };
    assert!(written() < 70, "{}", written());
    // The editor's lane is free.
    run.host.kit.inbox.send(Event::Timer { token: TIMER });
    assert!(matches!(run.next(), Event::Timer { token: TIMER }));
    for n in 0..LINES {
        assert!(run.outlet.agent_messages() <= 64);
        let line = run.line();
        assert!(line.starts_with(&format!("{n:04}")), "{n}: {}", &line[..4]);
    }
    assert_eq!(run.life().status, "exit code 0");
}

#[test]
fn an_agent_that_does_not_read_is_ended_before_memory_runs_out() {
    let run = Run::with(|config| {
        only_sigterm(config);
        config.limits.stdin_backlog = 8 << 20;
    });
    run.started("trap '' PIPE; while :; do sleep 1; done");
    let line = "x".repeat(1 << 20);
    for _ in 0..9 {
        run.send(&line);
    }
    assert_eq!(
        run.life().status,
        "killed by SIGTERM (15): it did not read its input; more than 8 MiB were pending"
    );
}

#[test]
fn an_agent_that_closes_a_pipe_is_ended() {
    let run = Run::with(only_sigterm);
    let life = run.whole_life("echo hello; exec >&-; while :; do sleep 1; done");
    assert_eq!(life.lines, ["hello"]);
    assert_eq!(
        life.status,
        "killed by SIGTERM (15): it had closed its stdout"
    );
    let run = Run::with(only_sigterm);
    run.started("exec <&-; echo closed; while :; do sleep 1; done");
    assert_eq!(run.line(), "closed");
    run.send("anyone?");
    assert_eq!(
        run.life().status,
        "killed by SIGTERM (15): it had closed its stdin"
    );
}

#[test]
fn two_agents_do_not_mix() {
    let run = Run::new();
    for key in [1, 2] {
        let spec = run.script(&format!(
            "for i in 1 2 3; do echo {key}-$i; done; exit {key}"
        ));
        let agent = AgentKey(key);
        run.host.run(HostEffect::Spawn { agent, spec });
    }
    let mut heard = [vec![], vec![], vec![]];
    let mut gone = 0;
    while gone < 2 {
        match run.next() {
            Event::Agent(AgentEvent::Message {
                agent,
                message: Message::Noise(line),
            }) => heard[agent.0 as usize].push(line),
            Event::Agent(AgentEvent::Exited { agent, status, .. }) => {
                assert_eq!(status, format!("exit code {}", agent.0));
                gone += 1;
            }
            Event::Agent(AgentEvent::Started { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard[1], ["1-1", "1-2", "1-3"]);
    assert_eq!(heard[2], ["2-1", "2-2", "2-3"]);
}
