//! Messages about events the user cannot see: a turn that ends, a question that waits.

use serde_json::json;

use super::harness::{Nvim, Project, terminal_binary};
use super::talk;

const QUESTION: &str = r#"{"permission":{"toolCallId":"t","title":"rm -r"},"as":"q"}
{"await":"q"}"#;
const CANCEL: &str = r#"{"expect":"session/cancel"}"#;

/// Starts a chat whose agent asks a question in its second turn and then continues with `rest`.
fn start(notify: serde_json::Value, rest: &str) -> Nvim {
    let second = format!("{QUESTION}\n{rest}");
    let project: Project = talk::project(&[r#"{"say":"One."}"#, &second]);
    let nvim = project.size(120, 24).config("notify", notify).start();
    talk::open(&nvim);
    nvim
}

#[track_caller]
fn check(nvim: &Nvim, want: &str) {
    nvim.wait(&format!("the message {want:?}"), || {
        nvim.messages().contains(want)
    });
    nvim.cmd("messages clear");
}

/// Waits for the event of the second turn's end: a message would come with it, before the next answer.
#[track_caller]
fn wait_cancelled(nvim: &Nvim) {
    nvim.wait("the end of the turn", || talk::ended(nvim).len() == 2);
}

#[test]
fn the_end_of_a_turn_is_announced_unless_its_chat_is_visible() {
    let nvim = start(json!({}), r#"{"say":"Two."}"#);
    talk::talk(&nvim, "one");
    assert_eq!(nvim.messages(), "");
    nvim.cmd("tabnew");
    talk::prompt(&nvim, "two");
    nvim.wait("the event", || {
        talk::count(&nvim, "AcpPermissionRequested") == 1
    });
    // The question is on the screen, so there is no message.
    nvim.wait_text("rm -r");
    assert_eq!(nvim.messages(), "");
    let answer = "local acp = require('acp')
        acp.permission.answer(acp.permission.list()[1].id, 'allow_once')";
    nvim.lua(answer, ());
    check(&nvim, "acp.nvim: scripted (one) is done.");
    nvim.cmd("tabclose");
    nvim.quit();
}

#[test]
fn everything_is_announced_while_neovim_has_no_focus() {
    let nvim = start(json!({}), CANCEL);
    nvim.cmd("doautocmd FocusLost");
    talk::talk(&nvim, "one");
    check(&nvim, "acp.nvim: scripted (one) is done.");
    talk::prompt(&nvim, "two");
    check(&nvim, "acp.nvim: scripted (one) waits for your answer.");
    nvim.cmd("doautocmd FocusGained");
    // The user cancelled the turn, so its end needs no message.
    nvim.cmd("Acp cancel");
    wait_cancelled(&nvim);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_pending_form_is_announced() {
    let form = r#"{"request":"elicitation/create","as":"q","params":{"sessionId":"${sid}","mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}
{"await":"q"}
{"expect":"session/cancel"}"#;
    let project: Project = talk::project(&[form]);
    let nvim = project.size(120, 24).start();
    talk::open(&nvim);
    nvim.cmd("doautocmd FocusLost");
    talk::prompt(&nvim, "one");
    check(&nvim, "acp.nvim: scripted (one) waits for your answer.");
    nvim.cmd("doautocmd FocusGained");
    nvim.cmd("Acp cancel");
    talk::wait_phase(&nvim, "idle");
    nvim.quit();
}

#[test]
fn messages_can_be_switched_off() {
    let nvim = start(json!(false), CANCEL);
    nvim.cmd("doautocmd FocusLost");
    talk::talk(&nvim, "one");
    talk::prompt(&nvim, "two");
    talk::wait_phase(&nvim, "waiting");
    nvim.cmd("Acp cancel");
    wait_cancelled(&nvim);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

/// Starts a second Neovim in a terminal of the first one, which collects its output.
fn start_in_terminal(nvim: &Nvim, env: serde_json::Value) {
    nvim.lua(
        "local program, env = ...
        local argv, collected = { program }, {}
        for i, word in ipairs(vim.v.argv) do
          local next_word = vim.v.argv[i + 1] or ''
          -- Its terminal is no client that wants events.
          local is_report = (word .. next_word):find('rpcnotify', 1, true)
          if i > 1 and word ~= '--embed' and not is_report then
            table.insert(argv, word)
          end
        end
        _G.job = vim.fn.jobstart(argv, {
          pty = true, width = 120, height = 24,
          env = vim.tbl_extend('error', { TERM = 'xterm-256color' }, env),
          on_stdout = function(_, data)
            table.insert(collected, table.concat(data, '\\n'))
            _G.written = table.concat(collected)
          end,
        })
        _G.written = ''",
        (terminal_binary(), env),
    );
}

/// Types keys in the second Neovim, as its terminal sends them.
fn type_there(nvim: &Nvim, keys: &str) {
    nvim.lua("vim.fn.chansend(_G.job, ...)", (keys,));
}

fn prompt_there(nvim: &Nvim, text: &str) {
    type_there(nvim, &format!(":lua require('acp').prompt('{text}')\r"));
}

/// Returns how often these bytes were written to the second Neovim's terminal.
fn written(nvim: &Nvim, bytes: &str) -> serde_json::Value {
    let count = "return select(2, _G.written:gsub(vim.pesc(...), ''))";
    nvim.lua(count, (bytes,))
}

fn end_in_terminal(nvim: Nvim) {
    nvim.lua("vim.fn.jobstop(_G.job); vim.fn.jobwait({ _G.job })", ());
    nvim.quit();
}

/// What a terminal sends when it gets or loses the focus.
const FOCUS: [&str; 2] = ["\x1b[I", "\x1b[O"];

#[test]
fn the_terminal_rings_and_shows_a_message_while_neovim_has_no_focus() {
    let turns = [
        r#"{"say":"One."}"#,
        r#"{"say":"Two."}"#,
        r#"{"say":"Three."}"#,
    ];
    // The text of a turn is on the screen before its end is announced.
    let count = "autocmd User AcpTurnEnded call writefile(['.'], 'ended', 'a')";
    let nvim = talk::project(&turns).before(count).start();
    let wait_ended = |turns: usize| {
        nvim.wait("the end of a turn", || {
            let ended = std::fs::read_to_string(nvim.project.path("ended"));
            ended.is_ok_and(|ended| ended.lines().count() == turns)
        });
    };
    start_in_terminal(&nvim, json!({}));
    prompt_there(&nvim, "one");
    wait_ended(1);
    type_there(&nvim, FOCUS[1]);
    prompt_there(&nvim, "two");
    let signal = "\x1b]9;Neovim: scripted (one) is done.\x1b\\\x07";
    nvim.wait("the signal", || written(&nvim, signal) == 1);
    type_there(&nvim, FOCUS[0]);
    prompt_there(&nvim, "three");
    wait_ended(3);
    nvim.wait("the third turn", || written(&nvim, "Three.") != 0);
    // A signal would come right after the turn's end, and so before the answer to a key.
    type_there(&nvim, ":echo 'all ' .. 'told'\r");
    nvim.wait("the answer", || written(&nvim, "all told") != 0);
    assert_eq!(written(&nvim, "\x1b]9;"), 1);
    end_in_terminal(nvim);
}

#[test]
fn in_tmux_a_desktop_message_goes_to_the_terminal_around_it() {
    let project = talk::project(&[r#"{"say":"One."}"#]);
    let notify = json!({ "bell": false, "desktop": "osc777", "focused": true });
    let nvim = project.config("notify", notify).start();
    start_in_terminal(&nvim, json!({ "TMUX": "/tmp/tmux-0/default,1,0" }));
    prompt_there(&nvim, "one");
    let message = "\x1b\x1b]777;notify;Neovim;scripted (one) is done.\x1b\x1b\\";
    nvim.wait("the message", || {
        written(&nvim, &format!("\x1bPtmux;{message}\x1b\\")) == 1
    });
    end_in_terminal(nvim);
}

#[test]
fn the_terminals_title_says_who_works_and_waits_if_configured() {
    let steps = format!("{{\"wait_file\":\"${{cwd}}/../on\"}}\n{QUESTION}");
    let project = talk::project(&[&steps]).config("notify", json!({ "title": true }));
    let nvim = project.before("set titlestring=mine").size(120, 24).start();
    let title = "return vim.o.titlestring";
    talk::open(&nvim);
    assert_eq!(nvim.lua(title, ()), "mine");
    talk::prompt(&nvim, "one");
    nvim.wait("the title of a running turn", || {
        nvim.lua(title, ()) == "scripted works - mine"
    });
    std::fs::write(nvim.project.root().join("on"), "").unwrap();
    nvim.wait("the title of a question", || {
        nvim.lua(title, ()) == "scripted waits for you - mine"
    });
    let answer = "local acp = require('acp')
        acp.permission.answer(acp.permission.list()[1].id, 'allow_once')";
    nvim.lua(answer, ());
    nvim.wait("the user's title", || nvim.lua(title, ()) == "mine");
    nvim.quit();
}
