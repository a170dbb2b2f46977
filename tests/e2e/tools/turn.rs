//! Calls during a turn: their look, the effect of the user's answer on the agent, and of a cancel.

use super::super::permission::press;
use super::*;

fn is_form_open(nvim: &Nvim) -> bool {
    windows(nvim).contains(&"acp-form".to_owned())
}

/// Lets the agent ask, and waits until the window accepts keys.
#[track_caller]
fn ask(nvim: &Nvim) {
    talk::prompt(nvim, "confirm delete the branch");
    nvim.wait("the window", || is_form_open(nvim));
    nvim.cmd("Acp permission");
    nvim.wait_text("q leaves it open");
}

#[test]
fn the_users_answer_decides_what_the_agent_does_next() {
    let nvim = start(project());
    for (keys, confirmed, said) in [
        ("<C-s>", json!(true), "doing it: delete the branch"),
        ("D", json!(false), "left alone: delete the branch"),
        ("X", json!(false), "left alone: delete the branch"),
    ] {
        let before = ended(&nvim).len();
        ask(&nvim);
        assert_eq!(status(&nvim)["phase"], "waiting");
        nvim.keys(keys);
        nvim.wait("the end of the turn", || ended(&nvim).len() > before);
        let answer = result(&nvim, "confirm");
        assert_eq!(
            answer["structuredContent"]["confirmed"], confirmed,
            "{answer}"
        );
        wait_said(&nvim, said);
        nvim.wait("the window to close", || !is_form_open(&nvim));
    }
    assert_eq!(ended(&nvim), ["end_turn"; 3]);
    nvim.quit();
}

#[test]
fn a_confirmation_is_a_window_over_the_file() {
    let nvim = start(project());
    ask(&nvim);
    if nvim.is_pictured() {
        nvim.drawn();
        insta::assert_snapshot!(nvim.snapshot());
    }
    nvim.keys("X");
    wait_phase(&nvim, "idle");
    nvim.quit();
}

#[test]
fn a_cancel_closes_the_question_and_the_call_and_the_agent_lives_on() {
    let nvim = start(project());
    ask(&nvim);
    nvim.cmd("Acp cancel");
    nvim.wait("the end of the turn", || ended(&nvim) == ["cancelled"]);
    nvim.wait("the window to close", || !is_form_open(&nvim));
    assert_eq!(questions(&nvim).len(), 0);
    nvim.wait("the call to end", || results(&nvim, "confirm").len() == 1);
    assert!(!said(&nvim, "doing it:"));
    assert!(!said(&nvim, "left alone:"));
    talk::talk(&nvim, "names\nsay alive");
    wait_said(&nvim, "alive");
    assert!(
        result(&nvim, "names")
            .as_array()
            .is_some_and(|names| names.contains(&json!("confirm")))
    );
    nvim.quit();
}

#[test]
fn a_call_the_agent_also_announces_is_shown_once() {
    let nvim = start(project());
    define(
        &nvim,
        "name = 'weigh', title = 'Weigh the word', description = 'x', kind = 'execute',
        parameters = { type = 'object', properties = { word = { type = 'string' } } },
        handler = function(args) return ('%s weighs %d'):format(args.word, #args.word) end",
    );
    talk::prompt(&nvim, "announce call weigh {\"word\":\"feather\"}");
    press(&nvim, "1");
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    wait_said(&nvim, "call weigh = ");
    let shown = talk::transcript(&nvim).join("\n");
    let calls = shown.replace("You allowed: Weigh the word", "");
    let entries = calls.matches("Weigh the word").count() + calls.matches("mcp__neovim").count();
    assert_eq!(entries, 1, "{shown}");
    insta::assert_snapshot!(shown);
    nvim.quit();
}

#[test]
fn a_call_is_shown_with_its_arguments_its_state_and_its_result() {
    let nvim = start(project());
    define(
        &nvim,
        "name = 'wait', title = 'Wait for the word', description = 'x', read_only = true,
        parameters = { type = 'object', properties = { word = { type = 'string' } } },
        handler = function(args, ctx)
          ctx.progress(1, 2, 'half of it')
          ctx.await(function(resume) _G.go_on = resume end)
          return 'the word was ' .. args.word
        end",
    );
    talk::prompt(&nvim, "progress call wait {\"word\":\"please\"}");
    wait_said(&nvim, "progress 1/2 half of it");
    wait_said(&nvim, "Wait for the word");
    let running = talk::transcript(&nvim).join("\n");
    nvim.lua("_G.go_on()", ());
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    wait_said(&nvim, "call wait = ");
    let done = talk::transcript(&nvim).join("\n");
    insta::assert_snapshot!(format!("{running}\n\n== done ==\n\n{done}"));
    nvim.quit();
}

#[test]
fn concurrent_calls_are_each_answered() {
    let nvim = start(project());
    define(
        &nvim,
        "name = 'pair', description = 'x', read_only = true,
        parameters = { type = 'object', properties = { n = { type = 'integer' } } },
        handler = function(args, ctx)
          _G.waiting = _G.waiting or {}
          if #_G.waiting < 2 then
            ctx.await(function(resume) table.insert(_G.waiting, resume) end)
          else
            -- The last one lets the others go on, the youngest first.
            for i = 2, 1, -1 do vim.schedule(_G.waiting[i]) end
          end
          return { n = args.n }
        end",
    );
    talk::talk(
        &nvim,
        "& call pair {\"n\":1}\n& call pair {\"n\":2}\n& call pair {\"n\":3}",
    );
    let mut answers: Vec<i64> = results(&nvim, "call pair")
        .iter()
        .filter_map(|answer| answer["structuredContent"]["n"].as_i64())
        .collect();
    answers.sort_unstable();
    assert_eq!(answers, [1, 2, 3]);
    nvim.quit();
}
