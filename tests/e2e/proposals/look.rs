//! How proposals look in a buffer: snapshots of text and highlights.

use super::*;

/// Opens the question about changes to `a.txt`, which has this text and fills the screen.
#[track_caller]
fn alone(text: &str, diffs: &[Json]) -> Nvim {
    let script = Script::new()
        .step(permission("t", diffs))
        .step(json!({ "await": "t" }))
        .done();
    let project = Project::new()
        .size(60, 22)
        .file("a.txt", text)
        .agent("agent", &script);
    let nvim = start(project, "a.txt");
    talk::prompt(&nvim, "go");
    to_file(&nvim);
    // A question that was left shows little.
    press(&nvim, "q");
    nvim.cmd("only");
    nvim.wait("the screen to be drawn", || {
        let screen = nvim.screen();
        screen.has("proposed 1/") && !screen.has("working")
    });
    nvim.keys("<C-l>");
    nvim.mode();
    nvim
}

/// Compares the upper rows of the screen with the test's snapshot.
macro_rules! check {
    ($nvim:expr, $rows:expr) => {
        let shown = $nvim.drawn().dump($rows).replace("SignColumn+", "");
        if $nvim.is_pictured() {
            insta::assert_snapshot!(shown);
        }
    };
}

#[test]
fn removed_and_added_lines_are_shown_below_each_other() {
    let nvim = alone(OLD, &[diff("a.txt", Some(OLD), NEW)]);
    check!(nvim, 0..10);
    nvim.quit();
}

#[test]
fn the_question_makes_room_for_the_file() {
    let script = Script::new()
        .step(permission("t", &[diff("a.txt", Some("two"), "TWO")]))
        .step(json!({ "await": "t" }));
    let nvim = asked_in(Project::new().size(100, 24), script);
    to_file(&nvim);
    nvim.wait_text("proposed 1/1");
    nvim.wait_text("+ TWO");
    press(&nvim, "q");
    nvim.wait("the smaller window", || !nvim.screen().has("+ TWO"));
    insta::assert_snapshot!(nvim.drawn().rows()[..22].join("\n"));
    // The command shows the full question.
    nvim.cmd("Acp permission");
    nvim.wait_text("+ TWO");
    nvim.wait_text("gf shows it in the file");
    nvim.quit();
}

#[test]
fn on_a_low_screen_the_question_leaves_the_whole_file_visible() {
    let script = Script::new()
        .step(permission("t", &[diff("a.txt", Some("two"), "TWO")]))
        .step(json!({ "await": "t" }));
    let nvim = asked_in(Project::new().size(80, 24), script);
    wait_asked(&nvim);
    press(&nvim, "gf");
    nvim.wait("the file and the options", || {
        let screen = nvim.screen();
        let file = ["one", "two", "TWO", "three", "four", "five", "six"];
        let mut rows = file.iter().enumerate();
        rows.all(|(row, text)| screen.row(row).contains(text)) && screen.has("Always reject")
    });
    // In the chat, the agent's last words are visible.
    nvim.cmd("wincmd b");
    nvim.wait("the agent's words and the options", || {
        let screen = nvim.screen();
        screen.has("pending") && screen.has("Always reject")
    });
    nvim.quit();
}

#[test]
fn changed_words_are_marked_on_both_sides() {
    let text = "let one = 1;\nlet two = 2;\n";
    let nvim = alone(text, &[diff("a.txt", Some("two = 2"), "two = 22")]);
    check!(nvim, 0..4);
    nvim.quit();
}

#[test]
fn lines_to_be_removed_have_their_colour_also_in_their_code() {
    let nvim = alone(OLD, &[diff("a.txt", Some("two\n"), "TWO\n")]);
    let code = "local space = vim.api.nvim_create_namespace('code')
        vim.api.nvim_buf_set_extmark(0, space, 1, 0,
          { end_col = 3, hl_group = 'String', priority = 125 })";
    nvim.lua(code, ());
    // The default colours give removed lines no background.
    nvim.keys(":set termguicolors<CR>");
    nvim.wait("the colour of the removal", || {
        let groups = nvim.drawn().groups_of("two");
        let is_last = |all: &String| {
            let last = all.rsplit('+').next();
            last.is_some_and(|last| last.starts_with("Diff"))
        };
        !groups.is_empty() && groups.iter().all(is_last)
    });
    nvim.quit();
}

#[test]
fn lines_added_at_the_start_and_at_the_end_are_visible() {
    let nvim = alone(
        OLD,
        &[
            diff("a.txt", Some("one\n"), "zero\none\n"),
            diff("a.txt", Some("six\n"), "six\nseven\n"),
        ],
    );
    check!(nvim, 0..9);
    nvim.quit();
}

#[test]
fn a_deletion_of_the_file_is_named() {
    let nvim = alone("one\ntwo\n", &[diff("a.txt", Some("[file deleted]"), "")]);
    check!(nvim, 0..3);
    nvim.quit();
}

#[test]
fn decided_hunks_show_the_decision() {
    let nvim = alone(OLD, &[diff("a.txt", Some(OLD), NEW)]);
    nvim.keys("2G\\a4G\\r");
    nvim.wait_text("accepted 1/3");
    nvim.wait_text("rejected 2/3");
    check!(nvim, 0..9);
    nvim.quit();
}

#[test]
fn the_preview_follows_what_the_user_types() {
    let nvim = alone(OLD, &[diff("a.txt", Some("two\nthree"), "TWO\nthree")]);
    nvim.keys("ggOmine<Esc>");
    nvim.wait_text("mine");
    let rows = || nvim.screen().rows()[..5].to_vec();
    let place = || {
        rows()
            .iter()
            .position(|row| row.contains("two proposed 1/1"))
    };
    nvim.wait("the hunk in the third row", || place() == Some(2));
    nvim.keys("3GA, mine<Esc>");
    nvim.wait("the hunk to be gone", || !nvim.screen().has("proposed"));
    nvim.keys("u");
    nvim.wait("the hunk to be back", || place() == Some(2));
    nvim.keys("u");
    nvim.wait("the hunk in the second row", || place() == Some(1));
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    nvim.quit();
}

#[test]
fn nothing_is_previewed_if_switched_off() {
    let script = Script::new()
        .step(permission("t", &[diff("a.txt", Some(OLD), NEW)]))
        .step(json!({ "await": "t" }));
    let project = Project::new().config("review", json!({ "preview": false }));
    let nvim = asked_in(project, script);
    wait_asked(&nvim);
    nvim.wait_text("+ TWO");
    check_nothing_proposed(&nvim);
    assert!(!nvim.screen().has("proposed"));
    nvim.quit();
}

#[test]
fn the_question_does_not_cover_the_hunk_at_the_cursor() {
    let lines: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let change = lines.replace("line 4\n", "LINE 4\nLINE 5\nLINE 6\nLINE 7\n");
    let change = change
        .replace("line 20\n", "LINE 20\n")
        .replace("line 39\n", "LINE 39\n");
    let script = Script::new()
        .step(json!({ "say": "Some words.\n\n".repeat(9) }))
        .step(permission("t", &[diff("b.txt", Some(&lines), &change)]))
        .step(json!({ "await": "t" }));
    let project = Project::new().size(80, 24).file("b.txt", &lines);
    let nvim = asked_in(project, script);
    wait_asked(&nvim);
    let proposed = "return #require('acp').review.hunks()";
    nvim.wait("the proposals", || nvim.lua(proposed, ()) == 3);
    nvim.cmd("wincmd t");
    for text in ["LINE 7", "LINE 20", "LINE 39", "LINE 7"] {
        nvim.keys(":Acp next<CR>");
        nvim.wait_text(text);
        nvim.wait_text("Always reject");
    }
    nvim.quit();
}
