//! The transcript: its entries, their look, and that the window follows its end.

use serde_json::json;

use super::harness::Nvim;
use super::talk::{self, ended, go, open, said, transcript, wait_phase, wait_said};

/// Returns a small Neovim that shows only a chat after one turn.
#[track_caller]
fn alone(steps: &str) -> Nvim {
    let nvim = talk::project(&[steps]).size(48, 24).start();
    open(&nvim);
    nvim.keys("<C-w>t:q<CR>");
    talk::talk(&nvim, "hi");
    nvim
}

#[test]
fn a_status_line_of_all_windows_follows_the_session_without_a_key() {
    let line = "set laststatus=3 statusline=%{v:lua.require('acp').statusline()}|";
    let steps = r#"{"say":"I begin."}
{"signal_file":"${cwd}/../p"}
{"wait_file":"${cwd}/../p.go"}"#;
    let nvim = talk::project(&[steps]).before(line).start();
    open(&nvim);
    nvim.keys("<C-w>t");
    nvim.lua("require('acp').prompt('go')", ());
    crate::files::wait_pause(&nvim, "p");
    nvim.wait("the turn in the status line", || {
        nvim.screen().has("scripted running")
    });
    crate::files::go_on(&nvim, "p");
    // No request reaches Neovim, so only the plugin can redraw it.
    nvim.wait("the end in the status line", || {
        !nvim.screen().has("scripted running")
    });
    nvim.quit();
}

/// Checks the first group of a text on the screen; code is coloured a frame late.
#[track_caller]
fn check_group(nvim: &Nvim, text: &str, group: &str) {
    nvim.wait(&format!("{group:?} on {text:?}"), || {
        nvim.screen().groups_of(text).first().map(String::as_str) == Some(group)
    });
}

/// Checks the whole transcript.
#[track_caller]
fn check_lines(nvim: &Nvim, want: &[&str]) {
    nvim.wait(&format!("the transcript {want:#?}"), || {
        transcript(nvim) == want
    });
}

/// Returns the 1-based rows of the transcript hidden by closed folds, without each fold's first
/// row.
#[track_caller]
fn hidden(nvim: &Nvim) -> Vec<usize> {
    let rows = nvim.lua(
        "local rows = {}
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].filetype == 'acp-chat' then
            vim.api.nvim_win_call(win, function()
              for row = 1, vim.api.nvim_buf_line_count(buf) do
                local first = vim.fn.foldclosed(row)
                if first ~= -1 and first ~= row then rows[#rows + 1] = row end
              end
            end)
          end
        end
        return #rows > 0 and rows or vim.NIL",
        (),
    );
    serde_json::from_value(rows).unwrap_or_default()
}

#[test]
fn every_kind_of_update_is_shown() {
    let nvim = alone(
        r#"{"think":"Let me see.\nTwo lines."}
{"say":"Hello "}
{"say":"there."}
{"tool":{"id":"t1","title":"cargo test","kind":"execute","status":"in_progress","rawInput":{"command":"cargo test"}}}
{"tool_update":{"id":"t1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"ok"}}]}}
{"update":{"sessionUpdate":"plan","entries":[{"content":"First","priority":"high","status":"completed"},{"content":"Second","priority":"medium","status":"pending"}]}}
{"say":"Done."}"#,
    );
    check_lines(
        &nvim,
        &[
            "❯ hi",
            "",
            "∴ Thought",
            "  Let me see.",
            "  Two lines.",
            "",
            "",
            "Hello there.",
            "",
            "✓ $ cargo test  completed",
            "  ok",
            "",
            "",
            "Done.",
            "",
            "Plan 1/2",
            "  ✓ ! First",
            "  ○   Second",
        ],
    );
    nvim.wait("the folds", || hidden(&nvim) == [4, 5, 6, 11, 12]);
    nvim.wait_text("○   Second");
    insta::assert_snapshot!(nvim.drawn().rows()[..16].join("\n"));
    check_group(&nvim, "❯", "Special");
    check_group(&nvim, "hi", "Title");
    check_group(&nvim, "∴ Thought", "Folded+Comment");
    check_group(&nvim, "✓ $", "Folded+Added");
    check_group(&nvim, "$", "Folded+Identifier");
    check_group(&nvim, "Plan 1/2", "Title");
    check_group(&nvim, "! First", "DiagnosticWarn");
    nvim.quit();
}

#[test]
fn markdown_and_fences_are_highlighted() {
    let nvim = alone(
        r##"{"say":"# Title\n\nSome *emphasis*, **strength** and `code`.\n\n```lua\nlocal x = 'text'\n```\n"}"##,
    );
    nvim.wait_text("local x");
    // The text is shown before its fences' languages are highlighted.
    let is_coloured = || {
        !nvim
            .screen()
            .groups_of("local")
            .iter()
            .all(String::is_empty)
    };
    nvim.wait("the colours of the code", is_coloured);
    for (text, group) in [
        ("# Title", "Title"),
        ("Some", ""),
        ("*emphasis*", "@markup.italic"),
        ("**strength**", "@markup.strong"),
        ("`code`", "Special"),
        ("```lua", "NonText"),
        ("local", "Statement"),
        ("x", ""),
        ("'text'", "String"),
    ] {
        check_group(&nvim, text, group);
    }
    nvim.quit();
}

#[test]
fn the_end_is_followed_while_the_cursor_is_there() {
    let nvim = talk::start(&[
        r#"{"repeat":60,"do":[{"say":"line ${i}\n\n"}]}"#,
        r#"{"repeat":60,"do":[{"say":"more ${i}\n\n"}]}"#,
        r#"{"repeat":60,"do":[{"say":"again ${i}\n\n"}]}"#,
    ]);
    talk::talk(&nvim, "one");
    nvim.wait_text("line 59");
    // The end is also followed from inside the transcript.
    go(&nvim, "acp-chat");
    talk::prompt(&nvim, "two");
    nvim.wait_text("more 59");
    // It is not followed while the user reads above it.
    nvim.keys("gg");
    nvim.wait_text("line 0");
    talk::prompt(&nvim, "three");
    wait_said(&nvim, "again 59");
    nvim.wait("the end of the turn", || ended(&nvim).len() == 3);
    nvim.wait_text("line 0");
    assert!(!nvim.screen().has("again 59"));
    // It is followed again once the user is back at the end.
    nvim.keys("G");
    nvim.wait_text("again 59");
    nvim.quit();
}

#[test]
fn the_end_of_a_line_higher_than_the_window_is_visible() {
    let nvim = talk::start(&[r#"{"repeat":400,"do":[{"say":"word${i} "}]}"#]);
    talk::talk(&nvim, "hi");
    nvim.wait_text("word399");
    nvim.quit();
}

#[test]
fn a_selection_is_not_moved_by_streamed_text() {
    let nvim = talk::start(&[
        r#"{"say":"first"}"#,
        r#"{"repeat":30,"do":[{"say":"more ${i}\n\n"}]}"#,
    ]);
    talk::talk(&nvim, "one");
    wait_said(&nvim, "first");
    go(&nvim, "acp-chat");
    nvim.keys("GV");
    talk::prompt(&nvim, "two");
    wait_said(&nvim, "more 29");
    nvim.keys("y");
    assert_eq!(nvim.lua("return vim.fn.getreg('\"')", ()), json!("first\n"));
    nvim.quit();
}

const THOUGHT: &str = r#"{"think":"a\nb\nc"}
{"say":"done"}"#;

#[test]
fn thoughts_are_folded_while_the_user_types() {
    let nvim = talk::start(&[THOUGHT]);
    nvim.keys("ihi<CR>and then");
    wait_said(&nvim, "done");
    nvim.wait("the fold", || hidden(&nvim) == [4, 5, 6, 7]);
    assert_eq!(nvim.mode(), "i");
    assert_eq!(nvim.buf_lines(0), ["and then"]);
    nvim.quit();
}

#[test]
fn thoughts_are_folded_in_a_window_that_is_opened_again() {
    let nvim = talk::start(&[THOUGHT]);
    talk::talk(&nvim, "hi");
    nvim.keys("q");
    nvim.cmd("AcpChat");
    nvim.wait("the fold", || hidden(&nvim) == [4, 5, 6, 7]);
    nvim.cmd("tabnew | AcpChat");
    nvim.wait("the fold", || hidden(&nvim) == [4, 5, 6, 7]);
    // The other window has it once.
    nvim.cmd("tabprevious");
    go(&nvim, "acp-chat");
    nvim.keys("3G<CR>");
    nvim.wait("no fold", || hidden(&nvim).is_empty());
    nvim.quit();
}

#[test]
fn folds_of_an_earlier_window_hide_nothing_that_came_since() {
    let nvim = talk::start(&[
        r#"{"tool":{"id":"t1","title":"build","kind":"search","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"one\ntwo\nthree\nfour\nfive\nsix"}}]}}
{"wait_file":"${cwd}/../go"}
{"tool_update":{"id":"t1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"one"}}]}}
{"say":"This must be seen."}"#,
    ]);
    talk::prompt(&nvim, "hi");
    nvim.wait("the fold", || hidden(&nvim).len() == 7);
    go(&nvim, "acp-input");
    nvim.keys("q");
    std::fs::write(nvim.project.root().join("go"), "").unwrap();
    wait_said(&nvim, "This must be seen.");
    nvim.cmd("AcpChat");
    nvim.wait_text("This must be seen.");
    nvim.wait("the fold", || hidden(&nvim) == [4, 5]);
    nvim.quit();
}

#[test]
fn a_deleted_transcript_is_restored_in_full() {
    let nvim = talk::start(&[THOUGHT, r#"{"say":"more"}"#]);
    talk::talk(&nvim, "hi");
    go(&nvim, "acp-chat");
    nvim.cmd("bwipeout");
    talk::talk(&nvim, "again");
    nvim.cmd("AcpChat");
    wait_said(&nvim, "more");
    wait_said(&nvim, "❯ hi");
    nvim.wait("the fold", || hidden(&nvim) == [4, 5, 6, 7]);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn an_entry_the_user_unfolds_stays_open_when_it_changes() {
    let nvim = talk::start(&[
        r#"{"tool":{"id":"t1","title":"build","kind":"search","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"one"}}]}}
{"tool":{"id":"t2","title":"other","kind":"read","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"other"}}]}}
{"wait_file":"${cwd}/../go"}
{"tool_update":{"id":"t1","content":[{"type":"content","content":{"type":"text","text":"one\ntwo\nthree"}}]}}
{"tool_update":{"id":"t2","status":"completed","content":[{"type":"content","content":{"type":"text","text":"other\nmore"}}]}}
{"tool_update":{"id":"t1","status":"completed"}}"#,
    ]);
    talk::prompt(&nvim, "hi");
    nvim.wait("both folds", || hidden(&nvim).len() == 4);
    go(&nvim, "acp-chat");
    nvim.keys("3G<CR>");
    nvim.wait("one fold", || hidden(&nvim) == [7, 8]);
    std::fs::write(nvim.project.root().join("go"), "").unwrap();
    wait_said(&nvim, "✓ ⌕ build  completed");
    wait_said(&nvim, "✓ ≡ other  completed");
    check_lines(
        &nvim,
        &[
            "❯ hi",
            "",
            "✓ ⌕ build  completed",
            "  one",
            "  two",
            "  three",
            "",
            "✓ ≡ other  completed",
            "  other",
            "  more",
            "",
        ],
    );
    assert_eq!(hidden(&nvim), [9, 10, 11]);
    // The same key closes the folds it opened.
    nvim.keys("<CR>");
    nvim.wait("both folds", || hidden(&nvim) == [4, 5, 6, 7, 9, 10, 11]);
    nvim.quit();
}

#[test]
fn what_is_done_or_allowed_is_dark_on_a_light_background() {
    let nvim = talk::start(&[]);
    // `DiagnosticOk` is a light green in all of Vim's own colour schemes.
    nvim.cmd("set background=light | colorscheme morning");
    for group in ["AcpToolDone", "AcpPlanDone", "AcpAllow"] {
        let green = "return bit.band(bit.rshift(vim.api.nvim_get_hl(0, { name = ..., link = false }).fg, 8), 255)";
        let green = nvim.lua(green, (group,));
        assert!(
            green.as_u64().is_some_and(|green| green < 160),
            "{group}: {green}"
        );
    }
    nvim.quit();
}

#[test]
fn an_unknown_update_is_shown_in_full() {
    let nvim = talk::start(&[r#"{"update":{"sessionUpdate":"hologram","colour":"blue"}}"#]);
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "? update of an unknown kind: hologram");
    assert!(said(&nvim, r#""colour": "blue""#));
    nvim.quit();
}

#[test]
fn updates_before_the_sessions_id_are_kept() {
    let script = r#"{"expect":"session/new","as":"n"}
{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Welcome!"}},"session":"early"}
{"reply":"n","result":{"sessionId":"early"}}"#;
    let nvim = super::harness::Project::new()
        .agent("greeter", script)
        .start();
    open(&nvim);
    check_lines(&nvim, &["Welcome!"]);
    nvim.quit();
}

#[test]
fn updates_after_the_end_of_a_turn_are_shown() {
    let nvim = talk::project(&["{\"say\":\"before\"}"]).start();
    let script = nvim.project.root().join("agents/scripted.jsonl");
    let mut text = std::fs::read_to_string(&script).unwrap();
    text.push_str("\n{\"say\":\" and after\"}\n");
    std::fs::write(&script, text).unwrap();
    open(&nvim);
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "and after");
    wait_phase(&nvim, "idle");
    nvim.quit();
}

#[test]
fn an_echoed_prompt_is_not_shown_twice() {
    let nvim = talk::start(&[r#"{"echo":"tell me "}
{"echo":"a story"}
{"say":"Once."}"#]);
    talk::talk(&nvim, "tell me a story");
    check_lines(&nvim, &["❯ tell me a story", "", "Once."]);
    nvim.quit();
}

#[test]
fn the_last_word_of_a_line_growing_at_the_bottom_is_visible() {
    const TURN: &str = r#"{"tool":{"id":"tN","title":"Write","kind":"edit","status":"completed","content":[{"type":"diff","path":"${cwd}/a","newText":"1\n2\n3\n4\n5\n6\n7\n8\n9\n"}]}}
{"repeat":COUNT,"every_us":17000,"do":[{"say":"word${i} "}]}
{"say":"endN"}"#;
    let turn = |n: usize| {
        TURN.replace("COUNT", &(n + 3).to_string())
            .replace('N', &n.to_string())
    };
    let turns: Vec<String> = (0..20).map(turn).collect();
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    let nvim = talk::start(&turns);
    for number in 0..20 {
        talk::talk(&nvim, "go");
        nvim.wait_text(&format!("end{number}"));
    }
    nvim.quit();
}
