//! Ending agents and the host: no process of theirs is left, and no other process is touched.

use super::*;
use acp_core::event::AgentEvent;

/// Keeps a shell running. It handles a signal at once that ends its `sleep`, too.
const FOR_EVER: &str = "while :; do sleep 1; done";

/// Leaves an agent all the time it needs for its last step, however slow the machine is.
fn no_signal(config: &mut HostConfig) {
    config.limits.term_after = DEADLINE;
    config.limits.kill_after = DEADLINE;
}

pub(super) fn only_sigterm(config: &mut HostConfig) {
    config.limits.term_after = Duration::from_millis(50);
    config.limits.kill_after = DEADLINE;
}

/// For scripts that ignore SIGTERM.
fn short(config: &mut HostConfig) {
    config.limits.term_after = Duration::from_millis(50);
    config.limits.kill_after = Duration::from_millis(200);
}

/// Ends an agent that has printed its children's pids, and compares its exit.
fn check(limits: fn(&mut HostConfig), script: &str, status: &str) {
    let run = Run::with(limits);
    let pid = run.started(script);
    let mut all = vec![pid];
    loop {
        match run.line().as_str() {
            "ready" => break,
            child => all.push(child.parse().expect("a pid")),
        }
    }
    run.shut_down_agent();
    assert_eq!(run.life().status, status, "{script}");
    // A child that no limit ends is ended with the host.
    run.host.shutdown(Duration::from_millis(600));
    for pid in all {
        wait_for("the group to be gone", || !runs(pid));
    }
    // It is reaped, so not even a zombie is left of the agent itself.
    assert_eq!(state(pid), None, "{script}");
}

#[test]
fn agents_get_sigterm_before_sigkill() {
    // Reaches the end of its input.
    check(no_signal, "echo ready; cat; exit 5", "exit code 5");
    // Needs SIGTERM.
    check(
        only_sigterm,
        &format!("trap 'exit 6' TERM; echo ready; {FOR_EVER}"),
        "exit code 6",
    );
    let script = format!("echo ready; {FOR_EVER}");
    check(only_sigterm, &script, "killed by SIGTERM (15)");
    // Ignores SIGTERM.
    check(
        short,
        &format!("trap '' TERM; echo ready; {FOR_EVER}"),
        "killed by SIGKILL (9)",
    );
}

#[test]
fn the_whole_group_ends_with_the_agent() {
    // A launcher: the signal reaches the child as well.
    check(
        only_sigterm,
        "sleep 100 & echo $!; echo ready; wait",
        "killed by SIGTERM (15)",
    );
    // The launcher exits with its input; the child lives on and ignores SIGTERM.
    check(
        no_signal,
        &format!("(trap '' TERM; {FOR_EVER}) <&- >&- 2>&- & echo $!; echo ready; cat"),
        "exit code 0",
    );
}

#[test]
fn the_group_of_a_dying_agent_is_ended_too() {
    let run = Run::with(short);
    run.started("sleep 100 & echo $!; exit 7");
    let child = run.line().parse().expect("a pid");
    assert_eq!(run.life().status, "exit code 7");
    wait_for("the child to be gone", || !runs(child));
}

#[test]
fn an_exit_does_not_wait_for_a_child_that_holds_the_pipes() {
    let run = Run::with(|config| {
        config.limits.exit_grace = Duration::from_millis(50);
        config.limits.term_after = DEADLINE;
    });
    // The child keeps writing into the same pipe.
    run.started("(while :; do echo noise; done) & echo last; kill -9 $$");
    let life = run.life();
    assert_eq!(life.status, "killed by SIGKILL (9)");
    assert!(life.lines.contains(&"last".to_owned()));
    // Shutdown ends that child before its time.
    let begin = Instant::now();
    run.host.shutdown(Duration::from_millis(500));
    assert!(begin.elapsed() < DEADLINE);
}

#[test]
fn output_written_before_an_agents_death_arrives() {
    let run = Run::with(|config| {
        config.limits.exit_grace = Duration::ZERO;
        config.limits.term_after = DEADLINE;
    });
    // One message more than there is capacity for, so that the rest stays in the pipe; then the
    // agent dies while its child holds the other end.
    let pid = run.started(
        "i=0; while [ $i -lt 65 ]; do head -c 1048576 /dev/zero | tr '\\0' x; echo; i=$((i+1)); \
         done; while [ ! -e go ]; do sleep 0.01; done; sleep 100 & echo last; kill -9 $$",
    );
    run.wait_for_full_lane();
    std::fs::write(run.path("go"), "").expect("a file");
    wait_for("the agent's death", || state(pid).is_none());
    for _ in 0..65 {
        assert!(run.line().starts_with("xxx"));
    }
    assert_eq!(run.line(), "last");
    assert_eq!(run.life().status, "killed by SIGKILL (9)");
}

#[test]
fn a_well_behaved_agent_makes_shutdown_quick() {
    let run = Run::with(|config| config.limits.term_after = 20 * DEADLINE);
    let pid = run.started("echo ready; cat");
    assert_eq!(run.line(), "ready");
    let begin = Instant::now();
    // SIGTERM would be sent after a quarter of that.
    run.host.shutdown(20 * DEADLINE);
    assert!(begin.elapsed() < DEADLINE, "{:?}", begin.elapsed());
    assert_eq!(state(pid), None);
}

#[test]
fn shutdown_kills_remaining_processes_at_the_deadline() {
    let run = Run::with(|config| config.limits.kill_after = DEADLINE);
    let mut pids = Vec::new();
    for key in 1..=3 {
        let spec = run.script(&format!("trap '' TERM; echo ready; {FOR_EVER}"));
        let agent = AgentKey(key);
        run.host.run(HostEffect::Spawn { agent, spec });
    }
    let mut ready = 0;
    while ready < 3 || pids.len() < 3 {
        match run.next() {
            Event::Agent(AgentEvent::Started { pid, .. }) => pids.push(pid),
            Event::Agent(AgentEvent::Message { .. }) => ready += 1,
            other => panic!("{other:?}"),
        }
    }
    let begin = Instant::now();
    // A core that has stopped reading does not matter.
    run.host.shutdown(Duration::from_millis(600));
    assert!(begin.elapsed() < DEADLINE);
    for pid in pids {
        wait_for("the agent to be gone", || !runs(pid));
    }
}

#[test]
fn a_host_that_is_dropped_leaves_no_agent_behind() {
    let run = Run::new();
    let pid = run.started(&format!("trap '' TERM; echo ready; {FOR_EVER}"));
    assert_eq!(run.line(), "ready");
    drop(run);
    wait_for("the agent to be gone", || !runs(pid));
}

#[test]
fn children_of_other_parents_are_not_reaped() {
    let run = Run::new();
    // Stands for one of Neovim's own jobs: it ends while agents come and go, and its owner reaps
    // it.
    let mut job = std::process::Command::new("sh")
        .args(["-c", "exit 9"])
        .spawn()
        .expect("a job");
    wait_for("the job's end", || state(job.id()) == Some('Z'));
    assert_eq!(run.whole_life("exit 1").status, "exit code 1");
    assert_eq!(state(job.id()), Some('Z'));
    assert_eq!(job.wait().expect("the job's status").code(), Some(9));
}
