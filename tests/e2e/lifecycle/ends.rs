//! Agents end at the right time, with every process they started, and no other process ends.

use super::*;

#[test]
fn quitting_in_the_middle_of_a_turn_leaves_nothing_behind() {
    let nvim = start(&[r#"{"say":"busy"}
{"delay":60000}"#]);
    prompt(&nvim, "hi");
    wait_said(&nvim, "busy");
    nvim.quit();
}

#[test]
fn quitting_ends_an_agent_that_ignores_every_signal() {
    let script = r#"{"options":{"ignore_sigterm":true}}
{"expect":"session/prompt"}
{"say":"deaf"}
{"hang":"deaf"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    prompt(&nvim, "hi");
    wait_said(&nvim, "deaf");
    nvim.quit();
}

#[test]
fn an_agent_is_usable_after_a_quit_that_was_refused() {
    let nvim = start(&["", r#"{"say":"still here"}"#]);
    talk::talk(&nvim, "hi");
    go(&nvim, "");
    nvim.keys("ichanged<Esc>");
    nvim.keys(":qa<CR>");
    nvim.wait("E37 or E162", || {
        nvim.screen().has("E37") || nvim.screen().has("E162")
    });
    nvim.keys("<CR>");
    nvim.wait("the prompt to end", || !nvim.blocked());
    talk::talk(&nvim, "hello?");
    wait_said(&nvim, "still here");
    nvim.quit();
}

#[test]
fn agents_end_with_a_killed_neovim() {
    let mut nvim = start(&[r#"{"say":"busy"}
{"delay":60000}"#]);
    prompt(&nvim, "hi");
    wait_said(&nvim, "busy");
    let agent = agent(&nvim);
    nvim.kill();
    wait_gone(&nvim, agent);
}

#[test]
fn what_ignores_signals_and_the_end_of_its_input_ends_with_a_killed_neovim() {
    let script = r#"{"options":{"ignore_sigterm":true}}
{"expect":"session/prompt","as":"p"}
{"spawn_child":["sh","-c","trap '' TERM HUP; while :; do sleep 0.1; done"],"pid_file":"${cwd}/pid"}
{"request":"terminal/create","params":{"sessionId":"${sid}","command":"sh","args":["-c","trap '' TERM HUP; echo $$ >job.new; mv job.new job; while :; do sleep 0.1; done"]},"as":"c"}
{"wait_file":"${cwd}/job"}
{"say":"busy"}
{"delay":60000}"#;
    let mut nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    prompt(&nvim, "hi");
    wait_said(&nvim, "busy");
    for file in ["pid", "job"] {
        let child: u32 = nvim.project.read(file).trim().parse().unwrap();
        assert!(procs::alive(child));
    }
    nvim.kill();
    nvim.wait("all processes to end", || nvim.processes().is_empty());
}

#[test]
fn grandchildren_end_with_their_agent() {
    let script = r#"{"expect":"session/prompt","as":"p"}
{"spawn_child":["sleep","1000"],"pid_file":"${cwd}/pid"}
{"spawn_child":["sleep","1000"],"holds_stdout":true}
{"say":"spawned"}
{"end":"p"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "spawned");
    let child: u32 = nvim.project.read("pid").trim().parse().unwrap();
    assert!(procs::alive(child));
    nvim.cmd("Acp stop");
    wait_gone(&nvim, child);
    nvim.wait("no child and no zombie", || nvim.children().is_empty());
    nvim.quit();
}

#[test]
fn stop_ends_the_agent_and_the_next_prompt_starts_it_again() {
    let nvim = start(&[r#"{"say":"one"}"#]);
    talk::talk(&nvim, "hi");
    let first = agent(&nvim);
    nvim.cmd("Acp stop");
    wait_phase(&nvim, "dead");
    wait_said(&nvim, "The agent \"scripted\" has ended");
    wait_gone(&nvim, first);
    nvim.wait("no zombie", || nvim.children().is_empty());
    talk::talk(&nvim, "again");
    assert_ne!(agent(&nvim), first);
    nvim.wait("the second answer", || {
        transcript(&nvim)
            .iter()
            .filter(|line| *line == "one")
            .count()
            == 2
    });
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn stop_in_the_middle_of_a_turn_ends_it() {
    let nvim = start(
        &[r#"{"tool":{"id":"t","title":"work","status":"in_progress"}}
{"permission":{"toolCallId":"t"},"as":"q"}
{"hang":true}"#],
    );
    prompt(&nvim, "hi");
    wait_phase(&nvim, "waiting");
    nvim.cmd("Acp stop");
    wait_phase(&nvim, "dead");
    nvim.wait("the end", || ended(&nvim).len() == 1);
    wait_said(&nvim, "⊘ ◦ work  cancelled");
    assert_eq!(nvim.lua("return #require('acp').permission.list()", ()), 0);
    nvim.wait("no zombie", || nvim.children().is_empty());
    nvim.quit();
}

#[test]
fn restart_gives_the_session_a_new_process() {
    let nvim = start(&[r#"{"say":"one"}"#]);
    talk::talk(&nvim, "hi");
    let first = agent(&nvim);
    nvim.cmd("Acp restart");
    nvim.wait("the new session", || count(&nvim, "AcpSessionStarted") == 2);
    wait_gone(&nvim, first);
    assert_ne!(agent(&nvim), first);
    talk::talk(&nvim, "again");
    assert_eq!(status(&nvim)["session"], 1);
    nvim.quit();
}

#[test]
fn a_second_stop_shows_a_message() {
    let nvim = start(&[]);
    nvim.cmd("Acp stop");
    wait_phase(&nvim, "dead");
    nvim.cmd("Acp stop");
    nvim.wait("the message", || {
        nvim.messages() == "acp.nvim: This chat's agent is not running; a prompt starts it."
    });
    nvim.quit();
}

#[test]
fn neovims_own_jobs_keep_their_exit_codes() {
    let nvim = start(&[r#"{"wait_file":"${cwd}/../die"}
{"exit":0}"#]);
    prompt(&nvim, "hi");
    wait_phase(&nvim, "running");
    nvim.lua(
        "_G.codes = {}
        for code = 1, 20 do
          vim.system({ 'sh', '-c', 'exit ' .. code }, {}, function(done)
            table.insert(_G.codes, done.code)
          end)
        end
        vim.fn.jobstart({ 'sh', '-c', 'exit 42' }, { on_exit = function(_, code)
          table.insert(_G.codes, code)
        end })",
        (),
    );
    nvim.cmd("tabnew | terminal exit 5");
    std::fs::write(nvim.project.root().join("die"), "").unwrap();
    nvim.wait_text("[Process exited 5]");
    nvim.wait("all exit codes", || {
        let codes = nvim.lua("table.sort(_G.codes) return _G.codes", ());
        let want: Vec<u32> = (1..=20).chain([42]).collect();
        codes == json!(want)
    });
    nvim.wait("no zombie", || nvim.children().is_empty());
    nvim.quit();
}

#[test]
fn two_neovims_have_separate_agents() {
    let first = start(&[r#"{"say":"one"}"#]);
    talk::talk(&first, "hi");
    let second = Nvim::start(std::rc::Rc::clone(&first.project));
    open(&second);
    talk::talk(&second, "hi");
    wait_said(&second, "one");
    let left = agent(&second);
    first.quit();
    assert!(procs::alive(left));
    second.quit();
}
