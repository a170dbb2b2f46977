//! Long calls: what runs during them, and how they end.

use super::*;

/// A tool that takes a minute; it sets `vim.g.stopped` when it is cancelled.
const MINUTE: &str = "name = 'minute', title = 'Take a minute', description = 'x',
    read_only = true, time_limit = false,
    handler = function(_, ctx)
      ctx.on_cancel(function() vim.g.stopped = true end)
      ctx.await(function(resume) vim.defer_fn(resume, 60000) end)
      vim.g.ended = ctx.is_cancelled() and 'cancelled' or 'in time'
      return 'a minute later'
    end";

#[test]
fn a_call_that_takes_a_minute_blocks_nothing_and_can_be_cancelled() {
    let nvim = start(project());
    define(&nvim, MINUTE);
    define(
        &nvim,
        "name = 'quick', description = 'x', read_only = true, handler = function() return 'q' end",
    );
    talk::prompt(&nvim, "call minute {}\ncall quick {}");
    wait_said(&nvim, "Take a minute");
    // Keys are processed.
    nvim.keys("ggOtyped<Esc>");
    assert_eq!(nvim.buf_lines(0), ["typed", "one", "two", "three"]);
    // Another call of the same session runs, and one that asks the user.
    let client = Client::start(&nvim, &server(&nvim));
    assert_eq!(text(&client.call(&nvim, "quick", &json!({}))), "q");
    let read = client.call(&nvim, "read_buffer", &json!({ "path": "a.txt" }));
    assert!(read.to_string().contains("typed"), "{read}");
    client.send("call confirm {\"action\":\"go on\"}");
    nvim.wait("the question", || questions(&nvim).len() == 1);
    nvim.lua(
        "require('acp').elicitation.answer(require('acp').elicitation.list()[1].id, 'decline')",
        (),
    );
    client.answer(&nvim);
    // Another session of the same agent runs a turn.
    nvim.cmd("tabnew | AcpChat! user");
    wait_phase(&nvim, "idle");
    talk::talk(&nvim, "call quick {}\nsay from another session");
    wait_said(&nvim, "from another session");
    nvim.cmd("tabclose");
    // All of that was done during the call.
    assert!(nvim.lua("return vim.g.ended", ()).is_null());
    assert_eq!(results(&nvim, "call minute").len(), 0);
    let quick = results(&nvim, "call quick").len();
    // The chat can cancel the turn.
    nvim.lua("require('acp').cancel({ session = 1 })", ());
    nvim.wait("the end of the turn", || {
        ended(&nvim).contains(&"cancelled".to_owned())
    });
    nvim.wait("the handler to be cancelled", || {
        nvim.lua("return vim.g.stopped", ()) == true
    });
    wait_said(&nvim, "cancelled");
    // The agent's next call was not made.
    assert_eq!(results(&nvim, "call quick").len(), quick);
    nvim.quit();
}

#[test]
fn a_call_beyond_its_time_limit_is_answered_with_an_error() {
    let nvim = start(project().config("tools", json!({ "time_limit": 1 })));
    define(&nvim, &MINUTE.replace("time_limit = false,", ""));
    let client = Client::start(&nvim, &server(&nvim));
    let began = Instant::now();
    let answer = client.call(&nvim, "minute", &json!({}));
    assert!(began.elapsed() >= Duration::from_millis(900));
    assert_eq!(answer["isError"], true, "{answer}");
    assert!(text(&answer).contains("1 s"), "{answer}");
    nvim.wait("the handler to be cancelled", || {
        nvim.lua("return vim.g.stopped", ()) == true
    });
    nvim.quit();
}

#[test]
fn a_call_whose_client_is_gone_is_stopped() {
    let nvim = start(project());
    define(&nvim, MINUTE);
    let mut client = Client::start(&nvim, &server(&nvim));
    client.send("call minute {}");
    wait_said(&nvim, "Take a minute");
    client.child.kill().expect("it runs");
    nvim.wait("the handler to be cancelled", || {
        nvim.lua("return vim.g.stopped", ()) == true
    });
    wait_said(&nvim, "cancelled");
    nvim.quit();
}
