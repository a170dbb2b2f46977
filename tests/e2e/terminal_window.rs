//! Windows that show agents' terminals and pass typed keys to them.

use std::fs;

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::talk::{self, go, go_on, here, windows};

/// Returns the steps in which an agent runs a command line in a terminal it names `t1`.
fn runs(command: &str) -> Json {
    json!({
        "request": "terminal/create",
        "params": { "sessionId": "${sid}", "command": "sh", "args": ["-c", command] },
        "as": "t1",
    })
}

fn made() -> Json {
    json!({ "await": "t1", "save": { "term": "/result/terminalId" } })
}

/// Returns the steps that wait for the command's end.
fn ended() -> [Json; 2] {
    let params = json!({ "sessionId": "${sid}", "terminalId": "${term}" });
    [
        json!({ "request": "terminal/wait_for_exit", "params": params, "as": "w1" }),
        json!({ "await": "w1" }),
    ]
}

fn script(steps: &[Json]) -> String {
    let lines: Vec<String> = steps.iter().map(Json::to_string).collect();
    lines.join("\n")
}

fn project(steps: &[Json]) -> Project {
    talk::project(&[&script(steps)])
}

/// Opens a chat and starts a turn in which a command runs until its end, in the project's folder,
/// where a test creates the files it waits for.
#[track_caller]
fn running(change: impl FnOnce(Project) -> Project, command: &str) -> Nvim {
    let [wait, awaited] = ended();
    let nvim = change(project(&[runs(command), made(), wait, awaited])).start();
    talk::open(&nvim);
    talk::prompt(&nvim, "go");
    nvim.wait("the terminal", || terminals(&nvim) == 1);
    talk::wait_queue_closed(&nvim);
    nvim
}

#[track_caller]
fn terminals(nvim: &Nvim) -> u64 {
    let all = nvim.lua("return #require('acp.native').load().terminals()", ());
    all.as_u64().unwrap_or(0)
}

/// Returns a command line that waits until the test has called [`go_on`] for it.
fn gate(name: &str) -> String {
    format!("until [ -e ../agents/{name} ]; do sleep 0.01; done")
}

/// Returns the lines of the visible terminal, without trailing blank ones.
#[track_caller]
fn shown(nvim: &Nvim) -> Vec<String> {
    let mut lines = talk::lines_in(nvim, "acp-terminal");
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

#[track_caller]
fn wait_shown(nvim: &Nvim, text: &str) {
    nvim.wait(&format!("{text:?} in the terminal"), || {
        shown(nvim).iter().any(|line| line.contains(text))
    });
}

#[track_caller]
fn wait_bar(nvim: &Nvim, text: &str) {
    nvim.wait(&format!("{text:?} in the bar"), || {
        let rows = nvim.screen().rows();
        rows.iter()
            .any(|row| row.starts_with(" $ ") && row.contains(text))
    });
}

#[test]
fn output_is_shown_in_colour_while_the_command_runs() {
    let command = format!(
        "printf '\\033[31mred\\033[0m plain\\n'; {}; printf '\\033[1;32mgreen\\033[0m\\nend\\n'; exit 3",
        gate("more")
    );
    let nvim = running(|project| project.size(100, 24), &command);
    nvim.cmd("Acp terminal");
    assert_eq!(here(&nvim), "acp-terminal");
    nvim.wait_text("red plain");
    wait_bar(&nvim, "running");
    go_on(&nvim, "more");
    nvim.wait_text("green");
    wait_bar(&nvim, "exit code 3");
    let screen = nvim.drawn();
    if nvim.is_pictured() {
        let row = screen.find("red plain").expect("it is there").0;
        insta::assert_snapshot!(screen.dump(row - 1..screen.height - 2));
    }
    let (red, _) = screen.find("red plain").expect("it is there");
    assert!(screen.style(red, 0).fg.is_some(), "{}", screen.text());
    assert_ne!(screen.style(red, 0).fg, screen.style(red, 5).fg);
    assert_eq!(shown(&nvim), ["red plain", "green", "end"]);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_repetition_of_no_character_does_not_hang_neovim() {
    let nvim = running(|project| project, "printf '\\033[5b\\033[31mend\\n'");
    nvim.cmd("Acp terminal");
    wait_shown(&nvim, "end");
    nvim.quit();
}

#[test]
fn without_a_terminal_there_is_a_message_and_several_are_a_list() {
    let second = runs("echo two; sleep 1000");
    let [wait, awaited] = ended();
    let nvim = project(&[
        runs("echo one; exit 3"),
        made(),
        wait,
        awaited,
        second,
        made(),
        json!({ "wait_file": "${script_dir}/over" }),
    ])
    .before("set nomore")
    .start();
    nvim.cmd("Acp terminal");
    nvim.wait_text("No terminal yet");
    talk::open(&nvim);
    talk::prompt(&nvim, "go");
    nvim.wait("both terminals", || terminals(&nvim) == 2);
    nvim.lua(
        "vim.ui.select = function(items, opts, choose)
          _G.offered = vim.tbl_map(opts.format_item, items)
          choose(items[#items])
        end",
        (),
    );
    let running = || {
        nvim.lua(
            "return require('acp.native').load().terminals()[1].label",
            (),
        )
    };
    nvim.wait("the second terminal to run", || {
        running()
            .as_str()
            .is_some_and(|label| label.contains("running"))
    });
    nvim.cmd("Acp terminal");
    let offered = nvim.lua("return _G.offered", ());
    assert_eq!(
        offered,
        json!([
            "#2 running      echo two; sleep 1000 (scripted 1)",
            "#1 exit code 3  echo one; exit 3 (scripted 1)",
        ])
    );
    wait_shown(&nvim, "one");
    let ids = nvim.lua(
        "return vim.fn.getcompletion('Acp terminal ', 'cmdline')",
        (),
    );
    let ids: Vec<String> = serde_json::from_value(ids).expect("words");
    assert_eq!(ids.len(), 2);
    // The other terminal replaces it in its window.
    let count = windows(&nvim).len();
    nvim.cmd(&format!("Acp terminal {}", ids[0]));
    wait_shown(&nvim, "two");
    assert_eq!(windows(&nvim).len(), count);
    nvim.keys(":Acp terminal 99<CR>");
    nvim.wait("the message", || {
        nvim.messages().contains("there is no terminal 99")
    });
    go_on(&nvim, "over");
    nvim.quit();
}

#[test]
fn the_window_follows_the_end_unless_the_user_reads_elsewhere() {
    let command = format!(
        "seq -f n%g 1 300; {}; seq -f n%g 301 600; {}; echo l''ast",
        gate("more"),
        gate("end")
    );
    let nvim = running(|project| project, &command);
    nvim.cmd("Acp terminal");
    nvim.wait_text("n300");
    // The window follows its end while another window is current, too.
    go(&nvim, "acp-input");
    nvim.keys("ihello");
    go_on(&nvim, "more");
    nvim.wait_text("n600");
    assert_eq!(
        (nvim.mode().as_str(), here(&nvim).as_str()),
        ("i", "acp-input")
    );
    assert_eq!(nvim.buf_lines(0), ["hello"]);
    nvim.keys("<Esc>");
    go(&nvim, "acp-terminal");
    nvim.keys("100Gzt");
    nvim.wait_text("n100");
    let top = || nvim.lua("return { vim.fn.line('w0'), vim.fn.line('.') }", ());
    assert_eq!(top(), json!([100, 100]));
    go_on(&nvim, "end");
    wait_shown(&nvim, "last");
    assert_eq!(top(), json!([100, 100]));
    nvim.keys("G");
    nvim.wait_text("last");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_flood_waits_for_the_reader_and_is_shown_in_full_at_the_end() {
    let command = format!(
        "seq -f n%g 1 50; {}; yes 'a line of many that nobody can read' | head -n 120000; echo l''ast",
        gate("more")
    );
    let nvim = running(|project| project, &command);
    nvim.cmd("Acp terminal");
    nvim.wait_text("n50");
    nvim.keys("gg10Gzt");
    let top = || nvim.lua("return { vim.fn.line('w0'), vim.fn.getline(10) }", ());
    assert_eq!(top(), json!([10, "n10"]));
    go_on(&nvim, "more");
    talk::wait_phase(&nvim, "idle");
    nvim.wait_text("more below");
    assert_eq!(top(), json!([10, "n10"]));
    nvim.keys("G");
    nvim.wait_text("last");
    nvim.wait("the bar", || !nvim.screen().has("more below"));
    // All retained lines are shown, without a gap; they are inserted between the user's keys.
    nvim.wait("all retained lines", || shown(&nvim).len() > 9000);
    let lines = shown(&nvim);
    assert!(
        lines[..lines.len() - 1]
            .iter()
            .all(|line| line.starts_with("a line of"))
    );
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_hidden_terminal_is_shown_in_full_again() {
    let command = format!(
        "seq -f n%g 1 200; {}; seq -f n%g 201 400; touch ../agents/printed; {}",
        gate("more"),
        gate("end")
    );
    let nvim = running(|project| project, &command);
    nvim.cmd("Acp terminal");
    nvim.wait_text("n200");
    nvim.keys("q");
    let buffers = || {
        nvim.lua(
            "return #vim.tbl_filter(function(buf) return vim.bo[buf].filetype == 'acp-terminal' end, vim.api.nvim_list_bufs())",
            (),
        )
    };
    nvim.wait("the buffer to go", || buffers() == 0);
    go_on(&nvim, "more");
    nvim.wait("the whole output", || {
        nvim.project.root().join("agents/printed").exists()
    });
    nvim.cmd("Acp terminal");
    nvim.wait_text("n400");
    assert_eq!(shown(&nvim).len(), 400);
    // Show it in two windows, close one, and do the same with another tab page.
    nvim.cmd("split");
    nvim.keys("q");
    assert_eq!(buffers(), 1);
    nvim.cmd("tab split");
    nvim.keys("q");
    assert_eq!(buffers(), 1);
    nvim.cmd("edit other.txt");
    nvim.wait("the buffer to go", || buffers() == 0);
    go_on(&nvim, "end");
    nvim.quit();
}

#[test]
fn typed_keys_reach_the_command() {
    let nvim = running(
        |project| project,
        "printf 'name? '; read name; echo \"hello $name\"; exit 3",
    );
    nvim.cmd("Acp terminal");
    nvim.wait_text("name?");
    nvim.keys("iyou<CR>");
    nvim.wait_text("hello you");
    wait_bar(&nvim, "exit code 3");
    // After the command's end nothing hangs, keys are ignored, and a message says why.
    nvim.wait("the end of typing", || nvim.mode() == "nt");
    nvim.keys("i");
    nvim.wait("the message", || {
        nvim.messages()
            .contains("The command has ended (exit code 3).")
    });
    nvim.wait("normal mode", || nvim.mode() == "nt");
    nvim.cmd("messages clear");
    nvim.keys("i");
    nvim.wait("the message again", || {
        nvim.messages().contains("The command has ended")
    });
    nvim.wait("normal mode again", || nvim.mode() == "nt");
    nvim.quit();
}

#[test]
fn a_key_ends_the_command() {
    let nvim = running(|project| project, "echo begin; exec sleep 1000");
    nvim.cmd("Acp terminal");
    nvim.wait_text("begin");
    nvim.ctrl_c();
    wait_bar(&nvim, "killed by");
    talk::wait_phase(&nvim, "idle");
    nvim.ctrl_c();
    nvim.wait("the message", || {
        nvim.messages().contains("The command has ended")
    });
    nvim.quit();
}

#[test]
fn the_command_is_as_large_as_its_window() {
    // The command has the window's size a moment after the window.
    let sized = |name: &str| {
        format!(
            "until [ -e ../agents/{name} ] && [ \"$(stty size)\" = \"$(cat ../agents/{name})\" ]; \
             do sleep 0.01; done; echo {name} it is"
        )
    };
    let command = format!("{}; {}; exec sleep 1000", sized("one"), sized("two"));
    let expect = |nvim: &Nvim, name: &str, size: &str| {
        fs::write(nvim.project.root().join("agents").join(name), size).expect("a file");
        wait_shown(nvim, &format!("{name} it is"));
    };
    let nvim = running(|project| project.size(100, 30), &command);
    nvim.cmd("Acp terminal");
    let size = || {
        let info = nvim.lua(
            "local info = vim.fn.getwininfo(vim.api.nvim_get_current_win())[1]
            return info.height .. ' ' .. info.width - info.textoff",
            (),
        );
        info.as_str().unwrap_or_default().to_owned()
    };
    wait_bar(&nvim, "running");
    let first = size();
    expect(&nvim, "one", &first);
    nvim.keys("<C-w>+<C-w>+");
    assert_ne!(size(), first);
    expect(&nvim, "two", &size());
    nvim.quit();
}

#[test]
fn looking_at_a_terminal_does_not_change_it() {
    // The command asks for the cursor's position; an answer from the window would be echoed.
    let command = format!(
        "{}; printf 'before\\033[6n\\033[c'; {}; echo after",
        gate("ask"),
        gate("end")
    );
    let nvim = running(|project| project, &command);
    nvim.cmd("Acp terminal");
    wait_bar(&nvim, "running");
    go_on(&nvim, "ask");
    nvim.wait_text("before");
    nvim.keys("q");
    nvim.cmd("Acp terminal");
    nvim.wait_text("before");
    go_on(&nvim, "end");
    wait_bar(&nvim, "exit code 0");
    wait_shown(&nvim, "after");
    assert_eq!(shown(&nvim), ["beforeafter"]);
    nvim.quit();
}

#[test]
fn quitting_asks_nothing() {
    let nvim = running(
        |project| project.before("set confirm"),
        "echo begin; exec sleep 1000",
    );
    nvim.cmd("Acp terminal");
    nvim.wait_text("begin");
    nvim.cmd("mksession! session.vim");
    nvim.cmd("bwipeout!");
    assert_eq!(nvim.messages(), "");
    nvim.cmd("Acp terminal");
    nvim.wait_text("begin");
    nvim.input(":qa<CR>");
    nvim.wait_gone();
}

#[test]
fn a_restored_vim_session_can_open_the_terminal_again() {
    let nvim = running(|project| project, "echo begin; exec sleep 1000");
    nvim.cmd("Acp terminal");
    nvim.wait_text("begin");
    nvim.cmd("mksession! session.vim");
    nvim.keys("q");
    nvim.cmd("silent! source session.vim");
    nvim.cmd("only | enew");
    nvim.cmd("messages clear");
    nvim.cmd("Acp terminal");
    nvim.wait_text("begin");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn closing_the_terminal_restores_the_sizes_of_the_windows() {
    let nvim = running(|project| project, "echo begin; exec sleep 1000");
    let sizes = || nvim.lua("return vim.fn.winrestcmd()", ());
    let before = sizes();
    for close in ["q", ":q<CR>", ":bwipeout!<CR>"] {
        nvim.cmd("Acp terminal");
        nvim.wait_text("begin");
        nvim.keys(close);
        nvim.wait("the old sizes", || sizes() == before);
    }
    nvim.quit();
}

#[test]
fn a_terminal_closes_with_its_session() {
    let nvim = running(|project| project, "echo begin; exec sleep 1000");
    nvim.cmd("Acp terminal");
    nvim.wait_text("begin");
    nvim.lua("require('acp').close()", ());
    nvim.wait("its window to go", || {
        !windows(&nvim).contains(&"acp-terminal".to_owned())
    });
    nvim.cmd("Acp terminal");
    nvim.wait_text("No terminal yet");
    nvim.quit();
}
