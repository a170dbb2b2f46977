//! The choice of the window that follows.

use super::*;

/// Returns a script that names three places in turn.
fn three() -> Script {
    Script::new()
        .step(at("t", "read", "b.txt", 40))
        .pause("one")
        .step(at("u", "read", "c.txt", 20))
        .pause("two")
        .step(at("v", "read", "b.txt", 30))
        .pause("three")
}

#[test]
fn the_window_the_user_is_in_is_never_taken() {
    let nvim = start(project(three()));
    nvim.cmd("wincmd t");
    nvim.keys("5G");
    follow(&nvim, "on");
    files::prompt(&nvim);
    wait_shown(&nvim, &["a.txt:5", "b.txt:40"]);
    // The same window is used again.
    pass(&nvim, "one");
    wait_shown(&nvim, &["a.txt:5", "c.txt:20"]);
    assert_eq!(nvim.lua("return vim.fn.expand('%')", ()), "a.txt");
    nvim.quit();
}

#[test]
fn a_window_in_which_the_user_opens_a_file_stops_following() {
    let nvim = followed(three());
    wait_shown(&nvim, &["b.txt:40"]);
    nvim.cmd("wincmd t");
    nvim.cmd("edit d.txt");
    nvim.cmd("wincmd p");
    pass(&nvim, "one");
    wait_shown(&nvim, &["c.txt:20", "d.txt:1"]);
    // After the user closes it, no other window is opened.
    nvim.lua("vim.api.nvim_win_close(vim.fn.bufwinid('c.txt'), true)", ());
    pass(&nvim, "two");
    nvim.wait("following to end", || {
        talk::status(&nvim)["follow"] == false
    });
    wait_shown(&nvim, &["d.txt:1"]);
    nvim.wait("the message", || {
        nvim.messages().contains("No window follows")
    });
    nvim.quit();
}

#[test]
fn following_ends_when_the_window_is_closed_and_can_be_turned_on_again() {
    let nvim = followed(three());
    wait_shown(&nvim, &["b.txt:40"]);
    nvim.lua("vim.api.nvim_win_close(vim.fn.bufwinid('b.txt'), true)", ());
    // The agent has named no other place.
    nvim.wait("following to end", || {
        talk::status(&nvim)["follow"] == false
    });
    nvim.cmd("Acp follow");
    nvim.wait("following to begin", || {
        talk::status(&nvim)["follow"] == true
    });
    pass(&nvim, "one");
    wait_shown(&nvim, &["c.txt:20"]);
    nvim.quit();
}

#[test]
fn a_buffer_with_unsaved_changes_is_not_left_without_hidden() {
    let nvim = start(project(three()).before("set nohidden"));
    nvim.cmd("wincmd t");
    nvim.keys("xj");
    nvim.cmd("wincmd p");
    follow(&nvim, "on");
    files::prompt(&nvim);
    wait_shown(&nvim, &["a.txt:2", "b.txt:40"]);
    assert_eq!(nvim.messages(), "acp.nvim: A window now follows the agent.");
    nvim.quit();
}

#[test]
fn special_windows_are_left_alone() {
    let nvim = start(project(three()));
    nvim.cmd("wincmd t");
    nvim.cmd("set winfixbuf");
    nvim.cmd("help");
    nvim.cmd("copen");
    nvim.cmd("botright pedit a.txt");
    nvim.cmd("botright split | terminal");
    talk::go(&nvim, "acp-input");
    nvim.resize(120, 60);
    let buffers = "return vim.fn.sort(vim.fn.tabpagebuflist())";
    let before = nvim.lua(buffers, ());
    follow(&nvim, "on");
    files::prompt(&nvim);
    nvim.wait("the file to be shown", || {
        shown(&nvim).contains(&"b.txt:40".to_owned())
    });
    let after = nvim.lua(buffers, ());
    for buf in before.as_array().unwrap() {
        assert!(after.as_array().unwrap().contains(buf), "{before} {after}");
    }
    nvim.quit();
}

#[test]
fn a_window_is_opened_beside_a_chat_without_other_windows() {
    let nvim = start(project(three()));
    nvim.cmd("wincmd t | close");
    talk::go(&nvim, "acp-input");
    assert_eq!(shown(&nvim), [""; 0]);
    follow(&nvim, "on");
    files::prompt(&nvim);
    wait_shown(&nvim, &["b.txt:40"]);
    assert_eq!(talk::here(&nvim), "acp-input");
    assert_eq!(talk::windows(&nvim).len(), 3);
    let number = "return vim.wo[vim.fn.bufwinid('b.txt')].winfixheight";
    assert_eq!(nvim.lua(number, ()), false);
    nvim.quit();
}

#[test]
fn without_room_nothing_moves() {
    let nvim = start(project(three()));
    nvim.resize(40, 12);
    nvim.cmd("wincmd t | close");
    follow(&nvim, "on");
    files::prompt(&nvim);
    wait_pause(&nvim, "one");
    nvim.cmd("belowright new");
    talk::go(&nvim, "acp-input");
    pass(&nvim, "one");
    wait_shown(&nvim, &["c.txt:20"]);
    nvim.quit();
}

#[test]
fn two_sessions_are_followed_in_two_tab_pages() {
    let other = Script::new()
        .step(at("t", "read", "c.txt", 70))
        .pause("other");
    let nvim = start(project(three()).agent("other", &other.done()));
    follow(&nvim, "on");
    let first = nvim.lua("return vim.api.nvim_get_current_tabpage()", ());
    nvim.cmd("tabnew a.txt");
    nvim.cmd("AcpChat other");
    follow(&nvim, "on");
    nvim.keys("<Esc>");
    files::prompt(&nvim);
    wait_shown(&nvim, &["c.txt:70"]);
    // The first session's agent works in a tab page that is not visible.
    nvim.lua("require('acp').prompt('go', { session = 1 })", ());
    let there = || {
        nvim.lua(
            "local win = vim.api.nvim_tabpage_list_wins(...)[1]
            return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))",
            (&first,),
        )
    };
    nvim.wait("the other tab page to follow", || there() == "b.txt");
    assert_eq!(shown(&nvim), ["c.txt:70"]);
    nvim.quit();
}
