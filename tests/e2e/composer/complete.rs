//! Completion in the input: Neovim's own menu, the omnifunc, the attachments of mentions.

use serde_json::{Value as Json, json};

use super::{expecting, resource, text};
use crate::harness::{Nvim, Project};
use crate::talk::{self, open};

const COMMANDS: &str = r#"{"update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"Makes it shorter"},{"name":"review","description":"Looks at it","input":{"hint":"what to look at"}}]}}"#;

/// Returns the words of the menu, in order.
#[track_caller]
fn menu(nvim: &Nvim) -> Vec<String> {
    let words = nvim.lua(
        "if vim.fn.pumvisible() == 0 then return {} end
        return vim.tbl_map(function(item) return item.word end,
          vim.fn.complete_info({ 'items' }).items)",
        (),
    );
    serde_json::from_value(words).unwrap_or_default()
}

#[track_caller]
fn wait_menu(nvim: &Nvim, want: &[&str]) {
    nvim.wait(&format!("the menu {want:?}"), || menu(nvim) == want);
}

#[track_caller]
fn check_line(nvim: &Nvim, want: &str) {
    assert_eq!(nvim.lua("return vim.api.nvim_get_current_line()", ()), want);
}

/// Returns a project with some files, whose agent expects a prompt of these blocks.
fn files(blocks: Json) -> Project {
    expecting(&[blocks])
        .file(".gitignore", "out\n")
        .file("out", "")
        .file("src/main.rs", "fn main() {}\n")
        .file("src/map.rs", "")
}

#[test]
fn files_are_completed_by_some_of_their_letters_and_attached() {
    let blocks = json!([
        text("see @src/main.rs"),
        resource("/src/main.rs", "fn main() {}\n")
    ]);
    let nvim = files(blocks).start();
    open(&nvim);
    nvim.keys("isee @");
    nvim.wait("the files", || menu(&nvim).contains(&"@src/map.rs".into()));
    assert!(!menu(&nvim).contains(&"@out".into()));
    // The chat has 40 columns.
    nvim.wait_text("@diagnostics:all in all buffers");
    nvim.wait_text("a function or type");
    nvim.keys("smai");
    wait_menu(&nvim, &["@src/main.rs"]);
    nvim.keys("<Tab>");
    nvim.wait("the end of the menu", || menu(&nvim).is_empty());
    check_line(&nvim, "see @src/main.rs");
    // The complete word is highlighted as a mention and not completed again.
    nvim.wait("the look of a mention", || {
        nvim.screen().groups_of("@src/main.rs") == ["Special"]
    });
    nvim.keys("<CR>");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_item_that_is_not_selected_is_not_inserted() {
    let nvim = files(json!([text("see @ma")])).start();
    open(&nvim);
    nvim.keys("isee @ma");
    wait_menu(&nvim, &["@src/map.rs", "@src/main.rs"]);
    nvim.keys("<CR>");
    nvim.wait_script("scripted");
    assert_eq!(nvim.mode(), "i");
    nvim.quit();
}

#[test]
fn the_send_key_inserts_the_selected_item() {
    let blocks = json!([text("@src/main.rs"), resource("/main.rs", "fn main() {}\n")]);
    let nvim = files(blocks).start();
    open(&nvim);
    nvim.keys("i@ma");
    wait_menu(&nvim, &["@src/map.rs", "@src/main.rs"]);
    nvim.keys("<C-n><C-n><CR>");
    nvim.wait("the end of the menu", || menu(&nvim).is_empty());
    check_line(&nvim, "@src/main.rs");
    nvim.keys("<CR>");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn commands_are_completed_and_show_their_argument() {
    let nvim = talk::start(&[COMMANDS, ""]);
    talk::talk(&nvim, "hi");
    nvim.keys("i/");
    wait_menu(&nvim, &["/compact", "/review"]);
    nvim.wait_text("Makes it shorter");
    nvim.keys("rv<Tab>");
    check_line(&nvim, "/review");
    nvim.wait_text("/review what to look at");
    nvim.keys(" it");
    nvim.wait_text("/review it");
    nvim.wait("the hint to go", || !nvim.screen().has("what to look at"));
    nvim.quit();
}

#[test]
fn the_omnifunc_completes_where_the_menu_does_not_open_by_itself() {
    let project = files(json!([])).config("chat", json!({ "completion": "manual" }));
    let nvim = project.start();
    open(&nvim);
    nvim.keys("i@");
    nvim.keys("<C-e><BS>@smai<C-x><C-o>");
    nvim.wait("the menu", || {
        let is_open = !menu(&nvim).is_empty();
        if !is_open {
            nvim.keys("<C-x><C-o>");
        }
        is_open
    });
    wait_menu(&nvim, &["@src/main.rs"]);
    nvim.keys("<C-n><C-y>");
    check_line(&nvim, "@src/main.rs");
    nvim.quit();
}

#[test]
fn the_users_completeopt_is_left_alone() {
    let nvim = files(json!([]))
        .before("set completeopt=menu,preview")
        .start();
    open(&nvim);
    nvim.keys("i@");
    nvim.wait("the menu", || !menu(&nvim).is_empty());
    nvim.keys("<C-e><Esc>");
    nvim.wait("the user's own", || {
        nvim.lua("return vim.go.completeopt", ()) == "menu,preview"
    });
    nvim.quit();
}

#[test]
fn mention_words_attach_buffers_selections_and_diagnostics() {
    let text = text("@buffer @selection @diagnostics @https://x.org @nothing me@here");
    let blocks = json!([
        text,
        resource("/a.txt", "one\ntwo\nthree\n"),
        resource("/a.txt#L2:3", "two\nthree"),
        { "text": { "$contains": "a.txt:2:1: error: It is wrong. (me)" } },
        { "type": "resource_link", "uri": "https://x.org" },
    ]);
    let nvim = expecting(&[blocks])
        .file("a.txt", "one\ntwo\nthree\n")
        .start();
    nvim.cmd("edit a.txt");
    nvim.keys("jVj<Esc>");
    nvim.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('me'), 0, {
          { lnum = 1, col = 0, message = 'It is wrong.', source = 'me' },
        })",
        (),
    );
    open(&nvim);
    nvim.type_text("i@buffer @selection @diagnostics @https://x.org @nothing me@here");
    nvim.keys("<Esc><CR>");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_symbol_is_attached_with_its_lines() {
    let code =
        "local function other()\n  return 1\nend\n\nlocal function wanted()\n  return 2\nend\n";
    let lines = "local function wanted()\n  return 2\nend";
    let blocks = json!([text("@symbol:wanted"), resource("/a.lua#L5:7", lines)]);
    let nvim = expecting(&[blocks]).file("a.lua", code).start();
    nvim.cmd("edit a.lua");
    nvim.lua("vim.treesitter.start(0, 'lua')", ());
    open(&nvim);
    nvim.keys("i@symbol:w");
    wait_menu(&nvim, &["@symbol:wanted"]);
    nvim.keys("<Tab><CR>");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_changes_since_the_commit_are_attached() {
    let blocks = json!([text("@diff"), { "text": { "$contains": "-old\n+new" } }]);
    let nvim = expecting(&[blocks]).file("a.txt", "old\n").start();
    let run = "vim.fn.system({ 'sh', '-c', 'git init -q && git add . && git -c user.name=x -c user.email=x@example.org commit -qm x && echo new > a.txt' }) return vim.v.shell_error";
    assert_eq!(nvim.lua(run, ()), 0);
    open(&nvim);
    nvim.keys("i@diff<Esc><CR>");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn without_a_completion_the_key_is_the_users() {
    for (map, want) in [
        ("inoremap <expr> <Tab> 'mine'", "a mine"),
        ("imap <silent> <Tab> <C-e>yours", "a yours"),
        ("inoremap x y", "a \t"),
    ] {
        let nvim = talk::start(&[]);
        nvim.cmd("set noexpandtab");
        nvim.cmd(map);
        nvim.keys("ia <Tab>");
        nvim.wait("the text", || nvim.buf_lines(0) == [want]);
        nvim.keys("!<Tab>");
        let twice = format!("{want}!{}", &want[2..]);
        nvim.wait("the text again", || nvim.buf_lines(0) == [twice.as_str()]);
        nvim.quit();
    }
}
