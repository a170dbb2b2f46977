//! The window's content and position.

use super::*;

#[test]
fn a_command_is_shown_in_full_with_its_options() {
    let nvim = start(RUN);
    ask(&nvim);
    assert_eq!(
        asked(&nvim),
        [
            "execute  Run the tests",
            "$ cargo test --all",
            "",
            " 1 y  Allow once",
            " 2 a  Always allow",
            " 3 n  Reject",
            " 4 s  Always reject",
        ]
    );
    nvim.wait_text("scripted asks for permission");
    nvim.wait_text("press <Esc> and a key to answer");
    insta::assert_snapshot!(nvim.drawn().rows()[10..25].join("\n"));
    let groups = |text: &str| nvim.screen().groups_of(text);
    assert_eq!(groups("$ cargo test --all"), ["NormalFloat+String"]);
    assert_eq!(groups("1 y  Allow once"), ["NormalFloat+Added"]);
    assert_eq!(groups("3 n  Reject"), ["NormalFloat+DiagnosticError"]);
    press(&nvim, "y");
    wait_closed(&nvim);
    wait_said(&nvim, "answered");
    assert_eq!(here(&nvim), "acp-input");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn no_fold_hides_a_part_of_a_command() {
    let command = "true # {{{\\nrm -rf x\\n  two\\n  three";
    for method in ["marker", "indent"] {
        let nvim = start(&RUN.replace("cargo test --all", command));
        nvim.cmd(&format!("windo set foldmethod={method} shiftwidth=2"));
        ask(&nvim);
        nvim.wait_text("rm -rf x");
        nvim.wait_text("three");
        nvim.wait_text("1 y  Allow once");
        assert!(!nvim.screen().has("+--"), "{}", nvim.screen().text());
        press(&nvim, "y");
        wait_closed(&nvim);
        nvim.wait_script("scripted");
        nvim.quit();
    }
}

/// Checks that `keys` chooses `option`.
#[track_caller]
fn check_answer(keys: &str, option: &str) {
    let nvim = start(&RUN.replace(
        "\"choice\":\"allow_once\"",
        &format!("\"choice\":\"{option}\""),
    ));
    ask(&nvim);
    press(&nvim, keys);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn options_are_chosen_by_number_letter_and_cursor() {
    check_answer("1", "allow_once");
    check_answer("4", "reject_always");
    check_answer("ay", "allow_always");
    check_answer("2y", "allow_always");
    check_answer("n", "reject_once");
    check_answer("Gk<CR>", "reject_once");
    check_answer("Gkk<CR>y", "allow_always");
}

#[test]
fn each_of_several_diffs_is_shown() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"t","title":"Edit both","kind":"edit","content":[{"type":"diff","path":"${cwd}/a.txt","oldText":"one two\nthree\n","newText":"one 2\nthree\n"},{"type":"diff","path":"${cwd}/b.txt","oldText":null,"newText":"new\n"}]},"as":"q"}
{"await":"q","choice":"allow_once"}"#,
    );
    ask(&nvim);
    let lines = asked(&nvim);
    let lines: Vec<String> = lines
        .iter()
        .map(|line| line.rsplit('/').next().unwrap_or(line).to_owned())
        .collect();
    assert_eq!(
        lines[..9],
        [
            "edit  Edit both",
            "a.txt",
            "- one two",
            "+ one 2",
            "  three",
            "b.txt",
            "+ new",
            "",
            " 1 y  Allow once",
        ]
    );
    assert_eq!(nvim.drawn().groups_of("+ new"), ["NormalFloat+DiffAdd"]);
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_diff_of_five_thousand_lines_can_be_read_and_answered() {
    let old: String = (0..5000).map(|n| format!("line {n}\n")).collect();
    let new: String = (0..5000)
        .map(|n| {
            if n % 100 == 0 {
                format!("changed {n}\n")
            } else {
                format!("line {n}\n")
            }
        })
        .collect();
    let step = json!({ "permission": {
        "toolCallId": "t", "title": "Big", "kind": "edit",
        "content": [{ "type": "diff", "path": "/p/a", "oldText": old, "newText": new }],
    }, "as": "q" });
    let nvim = start(&format!(
        "{step}\n{{\"await\":\"q\",\"choice\":\"allow_once\"}}"
    ));
    ask(&nvim);
    nvim.wait_text("+ changed 0");
    // The options are in front of the window's last rows.
    nvim.wait_text(" 4 s  Always reject");
    press(&nvim, "G");
    nvim.wait("the mark to go", || !nvim.screen().has("more below"));
    nvim.wait_text(" 4 s  Always reject");
    nvim.keys("gg");
    nvim.wait_text("+ changed 0");
    nvim.wait_text(" 4 s  Always reject");
    nvim.wait("the answer", || {
        nvim.keys("y");
        !is_open(&nvim)
    });
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_input_that_arrives_later_is_shown() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"t","title":"bash","kind":"execute","rawInput":{}},"as":"q"}
{"wait_file":"${cwd}/../more"}
{"tool_update":{"id":"t","title":"Remove it all","rawInput":{"command":"rm -r build"}}}
{"await":"q","choice":"allow_once"}"#,
    );
    ask(&nvim);
    assert_eq!(asked(&nvim)[0], "execute  bash");
    std::fs::write(nvim.project.root().join("more"), "").unwrap();
    nvim.wait_text("$ rm -r build");
    nvim.wait_text("Remove it all");
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn options_of_any_kind_and_number_can_be_chosen() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"t","title":"Choose"},"options":[{"optionId":"x","name":"Explode","kind":"explode"},{"optionId":"a","name":"Yes","kind":"allow_once"},{"optionId":"b","name":"Yes, here","kind":"allow_once"},{"optionId":"c","name":"??","kind":"reject_always"}],"as":"q"}
{"await":"q","choice":"x"}"#,
    );
    ask(&nvim);
    assert_eq!(
        asked(&nvim)[2..],
        [" 1 y  Yes", " 2 e  Yes, here", " 3    ??", " 4 x  Explode"]
    );
    press(&nvim, "x");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_window_follows_the_user_into_another_tab_page() {
    let nvim = start(RUN);
    ask(&nvim);
    press(&nvim, "q");
    nvim.cmd("tabnew");
    nvim.wait("the window", || is_open(&nvim));
    nvim.cmd("tabprevious");
    nvim.wait("the window", || is_open(&nvim));
    nvim.cmd("tabonly | Acp permission");
    nvim.keys("1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_closed_window_can_be_opened_again() {
    let nvim = start(RUN);
    ask(&nvim);
    press(&nvim, ":q<CR>");
    wait_closed(&nvim);
    assert_eq!(status(&nvim)["phase"], "waiting");
    nvim.cmd("Acp permission");
    nvim.keys("1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_question_fits_on_a_narrow_screen() {
    let nvim = start(RUN);
    nvim.resize(40, 14);
    ask(&nvim);
    nvim.wait_text("$ cargo test --all");
    nvim.wait_text(" 4 s  Always reject");
    nvim.resize(100, 30);
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

/// Returns a Neovim whose agent asks to run this command.
#[track_caller]
fn start_command(command: &str) -> Nvim {
    let step = json!({ "permission": {
        "toolCallId": "t", "title": "Run", "kind": "execute", "rawInput": { "command": command },
    }, "as": "q" });
    let nvim = start(&format!(
        "{step}\n{{\"await\":\"q\",\"choice\":\"allow_once\"}}"
    ));
    ask(&nvim);
    nvim
}

#[test]
fn what_goes_on_below_is_marked_and_allowed_only_after_its_end_was_shown() {
    let nvim = start_command(&format!("git status{}rm -rf ~", "\n".repeat(200)));
    nvim.wait_text("$ git status");
    nvim.wait_text("⋯ more below");
    press(&nvim, "y");
    nvim.wait("the next part", || {
        !nvim.screen().text().contains("$ git status")
    });
    assert!(is_open(&nvim));
    nvim.keys("G");
    nvim.wait_text("  rm -rf ~");
    nvim.wait("the mark to go", || {
        !nvim.screen().text().contains("more below")
    });
    nvim.keys("gg");
    nvim.wait_text("$ git status");
    nvim.wait("the answer", || {
        nvim.keys("y");
        !is_open(&nvim)
    });
    wait_said(&nvim, "answered");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_end_of_what_goes_on_below_is_right_above_the_options() {
    let nvim = start_command(&(0..22).map(|n| format!("echo {n}\n")).collect::<String>());
    nvim.wait_text("⋯ more below");
    for keys in ["y", "<C-f>"] {
        press(&nvim, keys);
        nvim.wait_text("echo 21");
        nvim.wait("the options once", || {
            nvim.screen().text().matches("1 y").count() == 1
        });
        nvim.keys("gg");
        nvim.wait_text("echo 0");
    }
    nvim.quit();
}

#[test]
fn a_line_higher_than_the_window_is_shown_part_by_part() {
    let nvim = start_command(&format!("echo {} | sh -c evil", "x ".repeat(4000)));
    nvim.wait_text("$ echo x x");
    nvim.wait_text("⋯ more below");
    press(&nvim, "y");
    let more = "local buf = vim.fn.bufnr(vim.g.options_buf)
        return vim.api.nvim_buf_get_lines(buf, 0, 1, true)[1]";
    let find = "for _, win in ipairs(vim.api.nvim_list_wins()) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].filetype == 'acp-options' then vim.g.options_buf = buf end
        end";
    nvim.lua(find, ());
    while nvim.lua(more, ()).to_string().contains("more below") {
        nvim.keys("y");
    }
    nvim.wait_text("evil");
    assert!(is_open(&nvim));
    nvim.wait("the answer", || {
        nvim.keys("y");
        !is_open(&nvim)
    });
    wait_said(&nvim, "answered");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn what_goes_on_below_can_be_rejected_at_once() {
    let nvim = start(&format!(
        "{}\n{{\"await\":\"q\",\"choice\":\"reject_once\"}}",
        json!({ "permission": {
            "toolCallId": "t", "title": "Run", "kind": "execute",
            "rawInput": { "command": "a\n".repeat(300) },
        }, "as": "q" })
    ));
    ask(&nvim);
    nvim.wait_text("⋯ more below");
    press(&nvim, "n");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_window_that_edit_has_emptied_is_drawn_again() {
    let nvim = start(RUN);
    ask(&nvim);
    go(&nvim);
    let before = nvim.buf_lines(0);
    assert!(
        before.iter().any(|line| line.contains("1 y ")),
        "{before:?}"
    );
    for _ in 0..2 {
        nvim.cmd("edit");
        nvim.wait("the question", || nvim.buf_lines(0) == before);
    }
    nvim.keys("1");
    wait_said(&nvim, "answered");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}
