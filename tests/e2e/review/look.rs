//! The look of hunks: snapshots of text and highlights, and the lines that stay visible.

use serde_json::json;

use super::{NEW, OLD, reviewed_in, row, wait_shown};
use crate::files::{Script, go_on, last_turn, prompt, start, wait_lines, wait_pause};
use crate::harness::{Nvim, Project};

/// Has the agent change `a.txt` from `old` to `new`, in the only window of a small screen.
#[track_caller]
fn alone(init: &str, old: &str, new: &str) -> Nvim {
    let project = Project::new().size(46, 14).before(init);
    let nvim = reviewed_in(project, old, new);
    only(&nvim);
    nvim
}

/// Closes all other windows, then waits until the screen shows the current one's hunks and, since
/// the turn is over, no mark of the agent.
#[track_caller]
fn only(nvim: &Nvim) {
    wait_shown(nvim);
    // The mark may come later than the hunks, but no later than this; the next frame takes it away.
    nvim.wait("the end of the turn", || {
        let mut events = nvim.user_events().into_iter();
        events.any(|event| event.name == "AcpTurnEnded")
    });
    nvim.cmd("only | redraw");
    // After this request the screen shows only this window; a lower one could hide the mark's line.
    nvim.mode();
    nvim.wait("the end of the turn on the screen", || {
        let screen = nvim.screen();
        screen.has("1/") && !screen.has("▶")
    });
    // Clears a message that an earlier redraw left on the screen.
    nvim.keys("<C-l>");
    nvim.mode();
}

/// Compares the screen with the test's snapshot.
macro_rules! check {
    ($nvim:expr) => {
        // Leave out the status line, which is not part of the review.
        let screen = $nvim.drawn();
        // Before 0.11 Neovim showed only a sign's own group.
        let shown = screen.dump(0..screen.height - 2).replace("SignColumn+", "");
        insta::assert_snapshot!(shown);
    };
}

#[test]
fn changed_deleted_and_added_lines() {
    let nvim = alone("set nomore", OLD, NEW);
    check!(nvim);
    nvim.quit();
}

#[test]
fn removed_lines_above_the_first_and_below_the_last() {
    let nvim = alone("set nomore", OLD, "three\nfour\nfive\n");
    check!(nvim);
    nvim.quit();
}

#[test]
fn changed_words_are_marked() {
    let old = "let total = count + 1;\nlet name = \"漢字\";\nlet last = 3;\n";
    let new = "let total = count + 2;\nlet name = \"漢語\";\nlet last = 3;\n";
    let nvim = alone("set nomore", old, new);
    check!(nvim);
    nvim.quit();
}

#[test]
fn keys_that_do_not_fit_behind_a_line_are_left_out() {
    let nvim = alone("set nomore", "a\n", &format!("{}\n", "x".repeat(36)));
    let screen = nvim.drawn();
    assert!(screen.has("x 1/1"), "{}", screen.text());
    assert!(!screen.has("\\a"), "{}", screen.text());
    nvim.quit();
}

#[test]
fn long_removed_lines_wrap_as_the_others_do() {
    let old = format!("first\n{}end\nlast\n", "word 漢字 ".repeat(8));
    let nvim = alone("set number", &old, "first\nshort\nlast\n");
    check!(nvim);
    nvim.quit();
}

#[test]
fn long_removed_lines_wrap_anew_when_another_window_takes_some_of_their_columns() {
    let old = format!("first\n{}tail\nlast\n", "word ".repeat(16));
    let nvim = alone("set nomore", &old, "first\nshort\nlast\n");
    nvim.wait_text("tail");
    nvim.cmd("topleft vnew");
    nvim.wait("the end of the removed line", || nvim.drawn().has("tail"));
    nvim.quit();
}

#[test]
fn without_wrap_long_removed_lines_end_at_the_window() {
    let old = format!("first\n{}end\nlast\n", "word 漢字 ".repeat(8));
    let nvim = alone("set nowrap number", &old, "first\nshort\nlast\n");
    check!(nvim);
    nvim.quit();
}

#[test]
fn tabs_align_in_removed_lines() {
    let old = "\tif (x)\n\t\treturn\t1;\n漢\tx\n";
    let new = "\tif (y)\n\t\treturn\t2;\n漢\ty\n";
    let nvim = alone("set tabstop=4", old, new);
    check!(nvim);
    nvim.quit();
}

#[test]
fn a_closed_fold_over_a_hunk_stays_closed() {
    let nvim = alone("set foldcolumn=1", OLD, NEW);
    nvim.keys(":1,5fold<CR>gg");
    check!(nvim);
    nvim.quit();
}

#[test]
fn a_new_file_is_all_added() {
    let script = Script::new().writes("b.txt", "one\n\ntwo\n").done();
    let project = Project::new().size(46, 10).agent("agent", &script);
    let nvim = start(project, "");
    last_turn(&nvim);
    nvim.cmd("edit b.txt");
    only(&nvim);
    check!(nvim);
    nvim.quit();
}

#[test]
fn an_emptied_file_is_all_removed() {
    let nvim = alone("set nomore", "one\n\ntwo\n", "");
    check!(nvim);
    nvim.quit();
}

#[test]
fn a_conflict_offers_the_agents_lines() {
    let script = Script::new()
        .reads("a.txt", "one\ntwo\nthree\n")
        .pause("p")
        .writes_in_vain("a.txt", "one\nagent\nthree\n", -32603, "line 2");
    let project = Project::new().file("a.txt", "one\ntwo\nthree\n");
    let project = project.size(46, 10).agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("jccuser<Esc>");
    wait_lines(&nvim, &["one", "user", "three"]);
    // Beside the chat, the window is too low for the offered line, and would scroll.
    nvim.cmd("only");
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    only(&nvim);
    check!(nvim);
    nvim.quit();
}

#[test]
fn control_characters_are_shown_not_sent_to_the_terminal() {
    let nvim = alone("set nomore", "a\u{1b}[31mb\0c\n", "plain\n");
    check!(nvim);
    nvim.quit();
}

#[test]
fn removed_lines_above_the_first_scroll_back_into_view() {
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let nvim = alone("set nomore", &format!("gone 1\ngone 2\n{lines}"), &lines);
    assert!(nvim.screen().has("gone 1"));
    nvim.keys("G");
    nvim.wait("the end", || !nvim.screen().has("gone 1"));
    nvim.keys("gg");
    nvim.wait_text("gone 1");
    // The user can still scroll past them.
    nvim.keys("<C-e><C-e><C-e>");
    nvim.wait("the removed lines to scroll out of view", || {
        !nvim.screen().has("gone 2")
    });
    nvim.keys("G");
    nvim.cmd("split");
    nvim.keys("gg");
    nvim.wait_text("gone 1");
    nvim.quit();
}

#[test]
fn the_removed_lines_of_a_hunk_are_in_view_after_a_jump_to_it() {
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let middle = lines.replace("line 30\n", "gone 1\ngone 2\nline 30\n");
    let nvim = alone(
        "set nomore",
        &format!("first\n{middle}gone 3\ngone 4\n"),
        &lines,
    );
    nvim.keys("33Gzt:Acp prev<CR>");
    nvim.wait_text("gone 1");
    nvim.keys("gg:Acp prev<CR>");
    nvim.wait_text("gone 4");
    nvim.quit();
}

#[test]
fn a_hunk_is_in_view_as_a_whole_after_a_jump_to_it() {
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let old = |n: usize| format!("line {n}\nline {}\n", n + 1);
    let new = [1, 11, 31].iter().fold(lines.clone(), |text, n| {
        text.replace(&old(*n), &old(*n).replace("line", "LINE"))
    });
    let nvim = alone("set nomore", &lines, &new);
    // Both begin in the last row of the window or close to it.
    for (keys, text) in [
        ("gg:Acp next<CR>", "LINE 12"),
        ("20Gzt:Acp next<CR>", "LINE 32"),
    ] {
        nvim.keys(keys);
        nvim.wait_text(text);
    }
    nvim.quit();
}

#[test]
fn the_removed_lines_of_a_hunk_are_in_view_after_a_jump_to_it_opens_its_file() {
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let gone = "gone\n".repeat(4);
    let old = [
        format!("{gone}{lines}"),
        lines.replace("line 2\n", &format!("{gone}line 2\n")),
        lines.replace("line 30\n", &format!("{gone}line 30\n")),
        format!("{lines}{gone}"),
    ];
    let mut script = Script::new().writes("a.txt", "b\n");
    let mut project = Project::new().size(46, 14).file("a.txt", "a\n");
    for (n, old) in old.iter().enumerate() {
        let name = format!("b{n}.txt");
        script = script.writes(&name, &lines);
        project = project.file(&name, old);
    }
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    last_turn(&nvim);
    only(&nvim);
    for n in 0..old.len() {
        nvim.keys(":Acp next<CR>");
        nvim.wait("the file", || {
            nvim.lua("return vim.fn.expand('%:t')", ()) == format!("b{n}.txt")
        });
        nvim.wait(&format!("all removed lines of file {n}"), || {
            let screen = nvim.screen();
            screen.text().matches("gone").count() == 4
        });
    }
    nvim.quit();
}

#[test]
fn all_rows_of_a_long_removed_line_above_the_first_scroll_back_into_view() {
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let long = format!("begin {}end\n", "gone ".repeat(16));
    let nvim = alone("set nomore", &format!("{long}{lines}"), &lines);
    nvim.wait_text("begin");
    nvim.keys("G");
    nvim.wait("the end", || !nvim.screen().has("gone"));
    nvim.keys("gg");
    nvim.wait_text("begin");
    nvim.quit();
}

#[test]
fn decided_hunks_leave_no_empty_rows_above_their_lines() {
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    for keys in ["gg", "20Gzt"] {
        let old = lines.replace("line 20\n", "gone 20\nline 20\n");
        let nvim = alone("set nomore", &format!("gone 1\n{old}"), &lines);
        nvim.keys(keys);
        // The removed lines are scrolled into view, and another window is current.
        nvim.keys("<C-y>");
        nvim.wait_text("gone");
        nvim.cmd("botright 3new");
        nvim.cmd("Acp accept all");
        nvim.wait("the removed lines to go", || !nvim.screen().has("gone"));
        let fill = "local win = vim.fn.win_getid(1)
            return vim.api.nvim_win_call(win, vim.fn.winsaveview).topfill";
        nvim.wait("the window to show lines only", || nvim.lua(fill, ()) == 0);
        assert!(nvim.drawn().row(0).starts_with("line "));
        nvim.quit();
    }
}

#[test]
fn signs_are_on_their_hunks_after_every_edit() {
    let nvim = alone("set nomore", OLD, NEW);
    // Each sign, in screen order, is on its hunk's row.
    let expected = || {
        nvim.lua(
            "local seen = {}
            for _, hunk in ipairs(require('acp').review.hunks({ buf = 0 })) do
                for row = hunk.row, hunk.row + math.max(hunk.count, 1) - 1 do
                    table.insert(seen, math.min(row, vim.fn.line('$') - 1))
                end
            end
            return seen",
            (),
        )
    };
    let signs = || {
        nvim.lua(
            "local space = vim.api.nvim_create_namespace('acp_review')
            local rows = {}
            for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
                if mark[4].sign_text then
                    table.insert(rows, mark[2])
                end
            end
            return rows",
            (),
        )
    };
    for keys in [
        "ggOtop<Esc>",
        "u",
        "<C-r>",
        "ggdd",
        "Gobottom<Esc>",
        "3GA!<Esc>",
        "ggyyP",
        "5Gdd",
        "u",
        ":2,3move $<CR>",
        "u",
        ":%s/e/E/<CR>",
        "u",
        "ggdG",
        "u",
        "\\r",
        "u",
        ":4join<CR>",
        "u",
        ":%!cat<CR>",
        "ggO<Esc>jp",
        "G\\r",
        "3Gcc<Esc>",
    ] {
        nvim.keys(keys);
        nvim.wait(&format!("the signs to be right after {keys}"), || {
            signs() == expected()
        });
    }
    nvim.quit();
}

#[test]
fn showing_hunks_never_changes_the_buffers_text() {
    let nvim = alone("set nomore", OLD, NEW);
    let tick = nvim.lua("return vim.b.changedtick", ());
    assert_eq!(nvim.buf_lines(0), NEW.lines().collect::<Vec<_>>());
    nvim.keys("2G\\a");
    nvim.wait("the hunk to go", || !nvim.screen().has("4/4"));
    assert_eq!(nvim.lua("return vim.b.changedtick", ()), tick);
    assert_eq!(row(&nvim), 1);
    assert_eq!(nvim.lua("return vim.bo.modified", ()), json!(false));
    nvim.quit();
}

#[test]
fn parts_of_the_look_can_be_switched_off() {
    let look = json!({ "signs": false, "virtual_lines": false, "word_diff": false });
    let project = Project::new().size(46, 12).config("review", look);
    let nvim = reviewed_in(project, OLD, NEW);
    only(&nvim);
    check!(nvim);
    nvim.quit();
}

#[test]
fn removed_lines_do_not_shift_a_window_in_diff_mode() {
    let nvim = alone("set nomore", OLD, NEW);
    let virtual_lines = || {
        nvim.lua(
            "local space = vim.api.nvim_create_namespace('acp_review')
            return #vim.tbl_filter(function(mark)
                return mark[4].virt_lines ~= nil
            end, vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true }))",
            (),
        )
    };
    nvim.wait("removed lines", || virtual_lines() != 0);
    nvim.cmd("diffthis");
    nvim.wait("no removed lines", || virtual_lines() == 0);
    nvim.cmd("diffoff");
    nvim.wait("removed lines again", || virtual_lines() != 0);
    nvim.quit();
}

#[test]
fn what_is_decided_about_has_colours_without_termguicolors() {
    let nvim = reviewed_in(Project::new(), OLD, NEW);
    let plain = nvim.lua(
        "vim.o.termguicolors = false
        local plain = {}
        for _, name in ipairs({ 'Add', 'AddWord', 'Delete', 'DeleteWord', 'Conflict', 'Proposed',
          'ProposedAdd', 'ProposedDelete', 'Sign', 'SignDelete', 'Hint', 'AgentMark', 'Allow',
          'Reject', 'FormField', 'FormMistake', 'Warning', 'Error' }) do
          local group = vim.api.nvim_get_hl(0, { name = 'Acp' .. name, link = false })
          if not (group.ctermfg or group.ctermbg or group.cterm) then
            table.insert(plain, name)
          end
        end
        return plain",
        (),
    );
    assert_eq!(plain, json!([]));
    nvim.quit();
}

#[test]
fn with_few_or_reversed_colours_an_added_line_has_its_own_also_in_its_code() {
    // There, the code's colours would be backgrounds.
    let reversed = "highlight clear
        highlight DiffAdd gui=reverse guifg=#5faf5f
        highlight DiffText gui=reverse guifg=#af87af\n";
    let project = Project::new().file("colors/reversed.vim", reversed);
    let nvim = reviewed_in(project, OLD, NEW);
    nvim.cmd("set runtimepath+=.");
    let code = "local space = vim.api.nvim_create_namespace('code')
        vim.api.nvim_buf_set_extmark(0, space, 1, 0,
          { end_col = 3, hl_group = 'String', priority = 125 })";
    nvim.lua(code, ());
    for (command, group) in [
        ("set termguicolors", "String"),
        ("set notermguicolors", "Diff"),
        ("set termguicolors", "String"),
        ("colorscheme reversed", "Diff"),
        ("colorscheme default", "String"),
    ] {
        nvim.keys(&format!(":{command}<CR>"));
        nvim.wait(group, || {
            let groups = nvim.drawn().groups_of("TWO");
            let is_last = |all: &String| {
                all.rsplit('+')
                    .next()
                    .is_some_and(|last| last.starts_with(group))
            };
            !groups.is_empty() && groups.iter().all(is_last)
        });
    }
    nvim.quit();
}
