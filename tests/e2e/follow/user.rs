//! Following never disturbs the user.

use std::time::{Duration, Instant};

use super::*;

/// The least time between two moves of a window.
const GAP: Duration = Duration::from_millis(350);
/// The time for which a window does not follow after the user has moved in it.
const REST: Duration = Duration::from_secs(3);

/// Returns a script whose agent names a place each time the test lets it continue.
fn waiting() -> Script {
    Script::new()
        .pause("ready")
        .step(at("t", "read", "b.txt", 40))
        .pause("named")
        .step(at("u", "read", "c.txt", 20))
        .pause("again")
}

/// Checks that no window follows between `before` and `after`.
#[track_caller]
fn check_mode(before: &str, after: &str, text: &str) {
    let nvim = start(project(waiting()));
    nvim.cmd("new x.txt");
    nvim.cmd("call setline(1, 'one two three')");
    follow(&nvim, "on");
    files::prompt(&nvim);
    nvim.keys(before);
    pass(&nvim, "ready");
    pass(&nvim, "named");
    wait_pause(&nvim, "again");
    let start = Instant::now();
    nvim.wait("the time in which a window could follow", || {
        let screen = nvim.screen();
        assert!(!screen.has("b 40") && !screen.has("c 20"), "{before}");
        start.elapsed() > Duration::from_millis(500)
    });
    nvim.keys(after);
    nvim.wait_text("c 20");
    assert_eq!(nvim.lua("return vim.fn.getline(1)", ()), text, "{before}");
    assert_eq!(nvim.lua("return vim.fn.expand('%')", ()), "x.txt");
    nvim.quit();
}

#[test]
fn insert_mode_is_left_alone() {
    check_mode("i", "zero <Esc>", "zero one two three");
}

#[test]
fn replace_mode_is_left_alone() {
    check_mode("R", "ONE<Esc>", "ONE two three");
}

#[test]
fn visual_mode_is_left_alone() {
    check_mode("v", "ed", " two three");
    check_mode("V", "rx", "xxxxxxxxxxxxx");
}

#[test]
fn select_mode_is_left_alone() {
    check_mode("gh", "X<Esc>", "Xne two three");
}

#[test]
fn a_pending_operator_is_left_alone() {
    check_mode("d", "w", "two three");
    check_mode("\"ad", "w", "two three");
    check_mode("f", "t", "one two three");
}

#[test]
fn a_count_is_left_alone() {
    check_mode("2", "x", "e two three");
}

#[test]
fn the_command_line_is_left_alone() {
    check_mode(":s/one/", "1/<CR>", "1 two three");
}

#[test]
fn the_command_line_window_is_left_alone() {
    check_mode("q:", ":q<CR>", "one two three");
}

#[test]
fn a_macro_is_left_alone() {
    check_mode("qqx", "q", "ne two three");
}

#[test]
fn a_typing_user_is_never_disturbed() {
    let each = json!({
        "repeat": 100, "every_us": 20_000, "do": [
            { "tool": {
                "id": "t${i}", "title": "Read", "kind": "read",
                "locations": [{ "path": "${cwd}/b${i}.txt", "line": 30 }],
            } },
        ],
    });
    let script = Script::new().pause("ready").step(each);
    let mut project = project(script);
    for n in 0..100 {
        project = project.file(&format!("b{n}.txt"), hundred("b"));
    }
    let nvim = start(project);
    nvim.cmd("wincmd t");
    nvim.cmd("edit mine.txt");
    let mine = nvim.lua("return vim.api.nvim_get_current_win()", ());
    follow(&nvim, "on");
    nvim.lua(
        "entered = 0
        vim.api.nvim_create_autocmd('WinEnter', { callback = function() entered = entered + 1 end })",
        (),
    );
    files::prompt(&nvim);
    wait_pause(&nvim, "ready");
    // The agent may begin before the test goes on.
    let begun = Instant::now();
    go_on(&nvim, "ready");
    // Type lines, some in insert mode, some with commands in normal mode.
    let mut lines = Vec::new();
    let mut files = std::collections::BTreeSet::new();
    nvim.wait("the end of the turn", || {
        let n = lines.len();
        let line = match n % 3 {
            0 => {
                nvim.keys(&format!("oline {n}<Esc>"));
                format!("line {n}")
            }
            1 => {
                nvim.keys("yyp");
                lines.last().cloned().unwrap_or_default()
            }
            _ => {
                nvim.keys(&format!("oword word{n}<Esc>0dw"));
                format!("word{n}")
            }
        };
        lines.push(line);
        let here = nvim.lua(
            "return { vim.api.nvim_get_current_win(), vim.fn.expand('%'), vim.fn.line('.'),
                vim.fn.mode() }",
            (),
        );
        assert_eq!(here, json!([mine, "mine.txt", lines.len() + 1, "n"]));
        files.extend(shown(&nvim));
        !talk::ended(&nvim).is_empty()
    });
    let mut want = vec![String::new()];
    want.append(&mut lines);
    assert_eq!(nvim.buf_lines(0), want);
    assert_eq!(nvim.lua("return entered", ()), 0);
    // The window still followed, at most a few times a second.
    let moves = files.iter().filter(|name| name.starts_with('b')).count();
    assert!((1..=most_moves(begun)).contains(&moves), "{files:?}");
    nvim.quit();
}

#[test]
fn a_window_is_left_alone_while_the_user_is_in_it_and_for_a_while_after() {
    let nvim = followed(waiting());
    pass(&nvim, "ready");
    wait_shown(&nvim, &["b.txt:40"]);
    nvim.cmd("wincmd t");
    pass(&nvim, "named");
    wait_pause(&nvim, "again");
    let left = Instant::now();
    nvim.keys("gg");
    nvim.cmd("wincmd p");
    check_rest(&nvim, left, "b.txt:1", "c.txt:20");
    nvim.quit();
}

#[test]
fn a_window_the_user_moved_in_shortly_before_is_left_alone() {
    let nvim = followed(waiting());
    nvim.wait_text("following");
    nvim.cmd("wincmd t");
    wait_pause(&nvim, "ready");
    let left = Instant::now();
    nvim.keys("3j");
    nvim.cmd("wincmd p");
    go_on(&nvim, "ready");
    check_rest(&nvim, left, "a.txt:4", "b.txt:40");
    nvim.quit();
}

#[test]
fn a_window_in_which_the_user_has_only_read_is_left_alone_for_a_while_after() {
    let nvim = followed(waiting());
    nvim.wait_text("following");
    nvim.cmd("wincmd t");
    nvim.keys("3j");
    wait_pause(&nvim, "ready");
    std::thread::sleep(REST);
    let left = Instant::now();
    nvim.cmd("wincmd p");
    go_on(&nvim, "ready");
    check_rest(&nvim, left, "a.txt:4", "b.txt:40");
    nvim.quit();
}

/// Checks that the window the user has left changes from `before` to `after` only after its rest.
#[track_caller]
fn check_rest(nvim: &Nvim, left: Instant, before: &str, after: &str) {
    nvim.wait("the window to follow", || {
        let shown = shown(nvim);
        assert!(shown == [before] || shown == [after], "{shown:?}");
        shown == [after]
    });
    let stayed = left.elapsed();
    assert!(stayed >= REST, "{stayed:?}");
}

/// Returns how often a window may have moved since then.
fn most_moves(begun: Instant) -> usize {
    // The first move waits for none.
    1 + (begun.elapsed().as_millis() / GAP.as_millis()) as usize
}

#[test]
fn keys_typed_without_a_pause_all_arrive() {
    let each = json!({
        "repeat": 100, "every_us": 5_000, "do": [
            { "tool": {
                "id": "t${i}", "title": "Edit", "kind": "edit",
                "locations": [{ "path": "${cwd}/b.txt", "line": "${i}" }],
            } },
        ],
    });
    let nvim = start(project(Script::new().pause("ready").step(each)));
    nvim.cmd("wincmd t");
    nvim.cmd("edit mine.txt");
    follow(&nvim, "on");
    files::prompt(&nvim);
    pass(&nvim, "ready");
    let mut count = 0;
    nvim.wait("the end of the turn", || {
        // Add a line, and change its word from normal mode.
        if count < 500 {
            nvim.keys(&format!("obad {count}<Esc>0cwgood<Esc>"));
            count += 1;
        }
        !talk::ended(&nvim).is_empty()
    });
    let lines: Vec<String> = (0..count).map(|n| format!("good {n}")).collect();
    assert_eq!(nvim.buf_lines(0)[1..], lines);
    nvim.quit();
}

#[test]
fn the_input_says_why_nothing_moves() {
    let nvim = followed(waiting());
    nvim.wait_text("following");
    nvim.keys("i");
    nvim.wait_text("<Esc> lets the window follow");
    follow(&nvim, "off");
    nvim.wait("the window bar to say so", || {
        !nvim.screen().has("following")
    });
    // The hint in the present insert mode changes.
    nvim.wait("the usual hint", || {
        let screen = nvim.screen();
        screen.has("<CR> sends") && !screen.has("lets the window follow")
    });
    nvim.quit();
}

#[test]
fn a_burst_of_places_moves_the_window_seldom() {
    let mut script = Script::new().pause("ready");
    for line in 2..60 {
        script = script.step(at(&format!("t{line}"), "read", "b.txt", line));
    }
    let nvim = start(project(script.pause("named")));
    follow(&nvim, "on");
    nvim.lua(
        "moves = 0
        vim.api.nvim_create_autocmd('WinScrolled', { callback = function()
          local win = vim.fn.bufwinid('b.txt')
          if vim.v.event[tostring(win)] then moves = moves + 1 end
        end })",
        (),
    );
    files::prompt(&nvim);
    let begun = Instant::now();
    pass(&nvim, "ready");
    wait_shown(&nvim, &["b.txt:59"]);
    let moves = nvim.lua("return moves", ()).as_u64().unwrap() as usize;
    assert!(moves <= most_moves(begun), "{moves}");
    nvim.quit();
}
