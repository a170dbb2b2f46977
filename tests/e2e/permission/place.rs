//! Where the window is: all options and the agent's last words are visible, and neither the input
//! nor the cursor's line is covered.

use super::*;

const OPTIONS: [&str; 4] = ["Allow once", "Always allow", "Reject", "Always reject"];

const WORDS: &str = "That is why I ask.";

/// Returns a Neovim of this size with a long file, a draft in the chat and a question about a command
/// of so many lines.
fn asked_in(size: (usize, usize), layout: &str, lines: usize) -> Nvim {
    let command: Vec<String> = (0..lines).map(|n| format!("echo {n}")).collect();
    let step = json!({ "permission": {
        "toolCallId": "t", "title": "Run", "kind": "execute",
        "rawInput": { "command": command.join("\n") },
    }, "as": "q" });
    let script = format!(
        "{{\"expect\":\"session/prompt\",\"as\":\"p\"}}\n{}\n{step}\n{{\"await\":\"q\"}}\n{{\"end\":\"p\"}}",
        json!({ "say": format!("{}{WORDS}", "Some words.\n\n".repeat(lines % 9)) }),
    );
    let text: Vec<String> = (0..90).map(|n| format!("row {n} of the file\n")).collect();
    let nvim = Project::new()
        .size(size.0, size.1)
        .file("a.txt", text.concat())
        .config("chat", json!({ "layout": layout }))
        .agent("scripted", &script)
        .start();
    nvim.cmd("edit a.txt");
    open(&nvim);
    nvim.keys("imy draft<Esc>");
    nvim
}

/// Checks that the screen shows the options, this text and, unless the chat is closed, the draft.
#[track_caller]
fn check_screen(nvim: &Nvim, text: &str, draft: &str) {
    nvim.wait(&format!("all options and {text:?}"), || {
        let screen = nvim.screen();
        OPTIONS.iter().all(|option| screen.has(option)) && screen.has(text) && screen.has(draft)
    });
}

/// Types keys, and returns once the screen shows their effect: what it showed before must not pass
/// the next check.
#[track_caller]
fn type_keys(nvim: &Nvim, keys: &str) {
    nvim.keys(keys);
    nvim.drawn();
}

#[track_caller]
fn check_place(size: (usize, usize), layout: &str, lines: usize) {
    let nvim = asked_in(size, layout, lines);
    nvim.lua("require('acp').prompt('go')", ());
    nvim.wait("the window", || is_open(&nvim));
    check_screen(&nvim, WORDS, "my draft");
    let cursor = |keys: &str| {
        type_keys(&nvim, keys);
        let line = nvim.lua("return vim.fn.getline('.')", ());
        format!("{} ", line.as_str().unwrap_or_default())
    };
    nvim.cmd("wincmd t");
    for keys in ["gg", "M", "L", "Lkkk", "8j", "5k", "H", "G"] {
        let line = cursor(keys);
        check_screen(&nvim, line.trim_end(), "my draft");
    }
    nvim.cmd("wincmd b");
    type_keys(&nvim, ":wincmd k<CR>");
    type_keys(&nvim, "gg");
    check_screen(&nvim, "my draft", "my draft");
    // In the window the options stay, however far it is scrolled.
    nvim.cmd("Acp permission");
    for keys in ["<C-f>", "G", "gg", "99j"] {
        type_keys(&nvim, keys);
        check_screen(&nvim, "my draft", "my draft");
    }
    nvim.quit();
}

#[test]
fn beside_the_text_all_options_are_visible_and_nothing_is_covered() {
    for size in [(60, 20), (80, 24), (140, 45), (200, 50)] {
        check_place(size, "right", 80);
    }
}

#[test]
fn below_the_text_all_options_are_visible_and_nothing_is_covered() {
    for size in [(60, 20), (80, 24), (140, 45), (200, 50)] {
        check_place(size, "bottom", 80);
    }
    for lines in [1, 4, 7] {
        check_place((60, 20), "bottom", lines);
    }
}

#[test]
fn without_the_chat_all_options_and_the_cursors_line_are_visible() {
    for size in [(60, 20), (80, 24), (140, 45), (200, 50)] {
        let nvim = asked_in(size, "right", 80);
        nvim.keys("q");
        nvim.lua("require('acp').prompt('go')", ());
        nvim.wait("the window", || is_open(&nvim));
        for keys in ["gg", "M", "L", "Lkkk", "8j", "5k", "H", "G", "zt", "zb"] {
            type_keys(&nvim, keys);
            let line = nvim.lua("return vim.fn.getline('.')", ());
            check_screen(&nvim, line.as_str().unwrap_or_default(), "");
        }
        nvim.quit();
    }
}

#[test]
fn a_question_outlives_the_transcripts_buffer() {
    let nvim = asked_in((120, 40), "right", 3);
    nvim.lua("require('acp').prompt('go')", ());
    nvim.wait("the window", || is_open(&nvim));
    check_screen(&nvim, WORDS, "my draft");
    nvim.keys("<C-w>k:bwipeout<CR>");
    nvim.wait("the transcript is gone", || !nvim.screen().has(WORDS));
    // Another mode and another size: each has the question placed anew.
    nvim.keys(":echo 'still ' .. 'here'<CR>");
    check_screen(&nvim, "still here", "");
    nvim.resize(100, 40);
    check_screen(&nvim, "Allow once", "");
    nvim.keys(":AcpChat<CR>");
    check_screen(&nvim, WORDS, "my draft");
    let messages = nvim.messages();
    assert!(!messages.contains("internal error"), "{messages}");
    nvim.quit();
}

#[test]
fn a_closed_question_is_back_with_the_chat_from_its_top() {
    let nvim = asked_in((120, 40), "right", 80);
    nvim.lua("require('acp').prompt('go')", ());
    nvim.wait("the window", || is_open(&nvim));
    check_screen(&nvim, "$ echo 0", "my draft");
    nvim.cmd("Acp permission");
    nvim.keys("99j");
    nvim.wait("the end", || !nvim.screen().has("$ echo 0"));
    nvim.keys("<C-w>c");
    nvim.wait("no question", || !is_open(&nvim));
    nvim.cmd("AcpChat");
    nvim.keys("q");
    nvim.wait("no chat", || !nvim.screen().has("my draft"));
    nvim.cmd("AcpChat");
    check_screen(&nvim, "$ echo 0", "my draft");
    nvim.quit();
}

#[test]
fn queued_prompts_stay_visible() {
    for (size, layout) in [
        ((80, 24), "right"),
        ((110, 34), "right"),
        ((140, 45), "bottom"),
    ] {
        let nvim = asked_in(size, layout, 3);
        nvim.lua("require('acp').prompt('go')", ());
        nvim.wait("the window", || is_open(&nvim));
        nvim.lua("require('acp').prompt('one for later')", ());
        check_screen(&nvim, "1 one for later", "my draft");
        nvim.quit();
    }
}

#[test]
fn the_agents_last_words_stay_visible() {
    let words: Vec<String> = (0..60).map(|n| format!("word {n}\n\n")).collect();
    let script = format!(
        "{}\n{}\n{RUN}\n{}",
        json!({ "expect": "session/prompt", "as": "p" }),
        json!({ "say": words.concat() + "That is why I ask." }),
        json!({ "end": "p" }),
    );
    let nvim = Project::new().agent("scripted", &script).start();
    open(&nvim);
    talk::prompt(&nvim, "hi");
    nvim.wait("the window", || is_open(&nvim));
    nvim.wait_text("That is why I ask.");
    nvim.wait_text("$ cargo test --all");
    press(&nvim, "y");
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    wait_filled(&nvim);
    nvim.quit();
}

/// Waits until the transcript fills its window, with its end in the last row.
#[track_caller]
fn wait_filled(nvim: &Nvim) {
    nvim.wait("the end in the last row", || {
        nvim.lua(
            "local win = vim.fn.bufwinid(vim.fn.bufnr('acp://scripted/1$'))
            local last = vim.fn.line('$', win)
            return vim.fn.screenpos(win, last, 1).row == vim.fn.win_screenpos(win)[1]
              + vim.api.nvim_win_get_height(win) - 1",
            (),
        ) == true
    });
}

#[test]
fn the_transcript_ends_in_its_last_row_after_a_cancel() {
    let words: Vec<String> = (0..60).map(|n| format!("word {n}\n\n")).collect();
    let step = json!({ "permission": {
        "toolCallId": "t", "title": "Run", "kind": "execute",
        "rawInput": { "command": "true\n".repeat(6) },
    }, "as": "q" });
    let script = [
        json!({ "ignore": ["session/cancel"] }),
        json!({ "expect": "session/prompt", "as": "p" }),
        json!({ "say": words.concat() }),
        step,
        json!({ "await": "q", "choice": "cancelled" }),
        json!({ "say": "I stop here." }),
        json!({ "end": "p", "reason": "cancelled" }),
    ];
    let script = script.map(|step| step.to_string()).join("\n");
    for size in [(80, 24), (140, 45)] {
        let nvim = Project::new()
            .size(size.0, size.1)
            .agent("scripted", &script)
            .start();
        open(&nvim);
        talk::prompt(&nvim, "hi");
        nvim.wait("the window", || is_open(&nvim));
        nvim.cmd("Acp cancel");
        nvim.wait_text("Cancelled.");
        wait_filled(&nvim);
        nvim.wait_script("scripted");
        nvim.quit();
    }
}
