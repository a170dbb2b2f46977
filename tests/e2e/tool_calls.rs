//! Tool calls in the transcript: their look, and the places their lines link to.

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::talk::{self, go, here, open, said, transcript, wait_said};

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// Returns a project with a file and an agent that answers a prompt with these steps.
fn project(steps: &[Json]) -> Project {
    let lines: Vec<String> = steps.iter().map(Json::to_string).collect();
    talk::project(&[&lines.join("\n")]).file("src/a.txt", FILE)
}

/// Opens the file and the chat beside it, runs one turn, and puts the cursor into the transcript.
#[track_caller]
fn told(steps: &[Json]) -> Nvim {
    let nvim = project(steps).start();
    nvim.cmd("edit src/a.txt");
    open(&nvim);
    talk::talk(&nvim, "hi");
    go(&nvim, "acp-chat");
    nvim
}

/// Returns a step that reports a tool call.
fn tool(mut fields: Json) -> Json {
    fields["sessionUpdate"] = json!("tool_call");
    json!({ "update": fields })
}

fn edit() -> Json {
    tool(json!({
        "toolCallId": "e", "title": "Change a number", "kind": "edit", "status": "completed",
        "locations": [{ "path": "${cwd}/src/a.txt", "line": 1 }],
        "content": [{
            "type": "diff", "path": "${cwd}/src/a.txt", "oldText": "seven\neight\nnine\n",
            "newText": "seven\nEIGHT\nnine\n",
        }],
    }))
}

fn text(text: &str) -> Json {
    json!([{ "type": "content", "content": { "type": "text", "text": text } }])
}

/// Puts the cursor on the line of the transcript that contains `text`.
#[track_caller]
fn on(nvim: &Nvim, text: &str) {
    wait_said(nvim, text);
    let row = transcript(nvim).iter().position(|line| line.contains(text));
    nvim.cmd(
        &row.expect("the line is in the transcript")
            .saturating_add(1)
            .to_string(),
    );
    nvim.cmd("normal! zv");
}

/// Waits until the cursor is on a line of a file.
#[track_caller]
fn wait_at(nvim: &Nvim, name: &str, line: usize) {
    nvim.wait(&format!("the cursor on line {line} of {name}"), || {
        let at = nvim.lua("return { vim.fn.expand('%:.'), vim.fn.line('.') }", ());
        at == json!([name, line])
    });
}

/// Waits until the current buffer has this filetype.
#[track_caller]
fn wait_here(nvim: &Nvim, filetype: &str) {
    nvim.wait(&format!("a buffer of {filetype}"), || {
        here(nvim) == filetype
    });
}

/// Returns the lines of the current buffer.
fn lines(nvim: &Nvim) -> Vec<String> {
    nvim.buf_lines(0)
}

/// Returns whether a closed fold hides the line that contains this text.
#[track_caller]
fn is_hidden(nvim: &Nvim, text: &str) -> bool {
    let row = transcript(nvim).iter().position(|line| line.contains(text));
    let line = row.expect("the line is in the transcript") + 1;
    let first = nvim.lua(
        "local row = ...
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-chat' then
            return vim.api.nvim_win_call(win, function() return vim.fn.foldclosed(row) end)
          end
        end",
        (line,),
    );
    first != -1 && first != json!(line)
}

#[test]
fn enter_on_a_line_of_a_diff_goes_to_that_line_of_the_file() {
    let nvim = told(&[edit()]);
    on(&nvim, "+ EIGHT");
    nvim.keys("<CR>");
    wait_at(&nvim, "src/a.txt", 8);
    assert_eq!(talk::windows(&nvim), ["text", "acp-chat", "acp-input"]);
    nvim.quit();
}

#[test]
fn gf_goes_to_the_first_place_of_a_call_from_any_of_its_lines() {
    let nvim = told(&[tool(json!({
        "toolCallId": "r", "title": "Look", "kind": "read", "status": "completed",
        "locations": [{ "path": "${cwd}/src/a.txt", "line": 4 }],
        "content": text("some\n\nwords"),
    }))]);
    for (from, key) in [("Look", "gf"), ("words", "gf"), ("some", "gF")] {
        go(&nvim, "acp-chat");
        on(&nvim, from);
        nvim.keys(key);
        wait_at(&nvim, "src/a.txt", 4);
        nvim.cmd("1");
    }
    nvim.quit();
}

#[test]
fn a_file_opens_in_a_new_window_beside_a_chat_without_other_windows() {
    let nvim = told(&[edit()]);
    go(&nvim, "text");
    nvim.cmd("only");
    nvim.cmd("AcpChat");
    go(&nvim, "text");
    nvim.cmd("quit");
    go(&nvim, "acp-chat");
    on(&nvim, "+ EIGHT");
    nvim.keys("<CR>");
    wait_at(&nvim, "src/a.txt", 8);
    let mut windows = talk::windows(&nvim);
    windows.sort();
    assert_eq!(windows, ["acp-chat", "acp-input", "text"]);
    nvim.quit();
}

#[test]
fn enter_goes_to_resources_and_other_locations() {
    let nvim = told(&[tool(json!({
        "toolCallId": "s", "title": "Search", "kind": "search", "status": "completed",
        "locations": [
            { "path": "${cwd}/src/a.txt", "line": 2 }, { "path": "${cwd}/src/a.txt", "line": 9 },
        ],
        "content": [{ "type": "content", "content": {
            "type": "resource_link", "name": "a text", "uri": "file://${cwd}/src/a.txt#L6",
        } }],
    }))]);
    on(&nvim, "a text");
    nvim.keys("<CR>");
    wait_at(&nvim, "src/a.txt", 6);
    go(&nvim, "acp-chat");
    on(&nvim, "src/a.txt:9");
    nvim.keys("<CR>");
    wait_at(&nvim, "src/a.txt", 9);
    nvim.quit();
}

#[test]
fn a_url_is_opened_by_the_system() {
    let nvim = told(&[tool(json!({
        "toolCallId": "f", "title": "Fetch", "kind": "fetch", "status": "completed",
        "content": [{ "type": "content", "content": {
            "type": "resource_link", "name": "a page", "uri": "https://example.org/a",
        } }],
    }))]);
    nvim.lua("vim.ui.open = function(url) opened = url end", ());
    on(&nvim, "a page");
    nvim.keys("<CR>");
    nvim.wait("the url", || {
        nvim.lua("return opened", ()) == "https://example.org/a"
    });
    nvim.quit();
}

#[test]
fn a_link_for_another_program_than_the_browser_is_asked_about() {
    let nvim = told(&[tool(json!({
        "toolCallId": "f", "title": "Fetch", "kind": "fetch", "status": "completed",
        "content": [{ "type": "content", "content": {
            "type": "resource_link", "name": "a page", "uri": "ssh://host/\u{202e}x",
        } }],
    }))]);
    nvim.lua(
        "opened, asked = 0, {}
        vim.ui.open = function() opened = opened + 1 end
        vim.ui.select = function(items, opts, done)
          table.insert(asked, opts.prompt)
          done(items[#asked == 1 and 2 or 1], #asked == 1 and 2 or 1)
        end",
        (),
    );
    on(&nvim, "a page");
    for opened in 0..2 {
        nvim.keys("<CR>");
        nvim.wait("the question", || {
            nvim.lua("return { #asked, opened }", ()) == json!([opened + 1, opened])
        });
    }
    let asked = "Open this link of the agent with the system's program? ssh://host/<202e>x";
    assert_eq!(nvim.lua("return asked[1]", ()), asked);
    nvim.quit();
}

#[test]
fn a_whole_call_can_be_shown_as_json() {
    let nvim = told(&[
        tool(json!({
            "toolCallId": "x", "title": "Do it", "kind": "execute", "status": "pending",
            "rawInput": { "command": "make" }, "content": text("done"), "_meta": { "a": { "b": 1 } },
        })),
        json!({ "update": {
            "sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "completed",
            "rawOutput": { "code": 0 }, "_meta": { "a": { "c": 2 } },
        } }),
    ]);
    on(&nvim, "done");
    nvim.keys("gr");
    wait_here(&nvim, "json");
    let shown: Json = serde_json::from_str(&lines(&nvim).join("\n")).expect("it is JSON");
    let want = json!({
        "toolCallId": "x", "title": "Do it", "kind": "execute", "status": "completed",
        "locations": [], "rawInput": { "command": "make" }, "rawOutput": { "code": 0 },
        "content": [{ "type": "text", "text": "done" }], "_meta": { "a": { "b": 1, "c": 2 } },
    });
    assert_eq!(shown, want);
    nvim.keys("q");
    nvim.wait("the way back to the chat", || here(&nvim) == "acp-chat");
    assert_eq!(talk::windows(&nvim), ["text", "acp-chat", "acp-input"]);
    nvim.quit();
}

#[test]
fn ten_megabytes_of_content_are_cut_and_open_in_full_without_a_stall() {
    let line = "a line of output, forty bytes long, yes\n";
    let nvim = told(&[tool(json!({
        "toolCallId": "b", "title": "Print", "kind": "execute", "status": "completed",
        "content": text(&line.repeat(10_000_000 / line.len())),
    }))]);
    on(&nvim, "249800 more lines");
    assert!(transcript(&nvim).len() < 300);
    // A timer runs between any two slices, so it sees the text grow many times.
    nvim.lua(
        "seen, turns = 0, 0
        local timer = vim.uv.new_timer()
        timer:start(0, 1, vim.schedule_wrap(function()
          local count = vim.api.nvim_buf_line_count(0)
          if count > seen then seen, turns = count, turns + 1 end
        end))",
        (),
    );
    nvim.keys("<CR>");
    nvim.wait("all lines", || nvim.lua("return seen", ()) == 250_000);
    let turns = nvim.lua("return turns", ()).as_u64();
    assert!(turns > Some(20), "{turns:?} turns");
    assert_eq!(
        lines(&nvim).last().map(String::as_str),
        Some(line.trim_end())
    );
    nvim.quit();
}

#[test]
fn a_command_is_open_while_it_runs_and_closed_when_it_has_ended() {
    let update = |id: &str, fields: Json| {
        let mut update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": id });
        let all = update.as_object_mut().expect("it is an object");
        all.extend(fields.as_object().expect("it is an object").clone());
        json!({ "update": update })
    };
    let run = |id: &str| {
        tool(json!({
            "toolCallId": id, "title": format!("Run {id}"), "kind": "execute",
            "status": "in_progress", "content": text(&format!("{id} says so")),
        }))
    };
    let wait = json!({ "wait_file": "${cwd}/../go" });
    let nvim = project(&[
        run("one"),
        run("two"),
        wait,
        update("one", json!({ "status": "completed" })),
        update(
            "two",
            json!({ "status": "completed", "content": text("two says so\nand more") }),
        ),
        run("three"),
        update("three", json!({ "status": "failed" })),
    ])
    .start();
    open(&nvim);
    talk::prompt(&nvim, "hi");
    wait_said(&nvim, "two says so");
    nvim.wait("both calls to be open", || {
        !is_hidden(&nvim, "one says") && !is_hidden(&nvim, "two says")
    });
    // The user reads in the second call's output.
    go(&nvim, "acp-chat");
    on(&nvim, "two says so");
    std::fs::write(nvim.project.root().join("go"), "").unwrap();
    wait_said(&nvim, "Run three  failed");
    nvim.wait("the first call to be closed", || {
        is_hidden(&nvim, "one says")
    });
    assert!(!is_hidden(&nvim, "and more"));
    assert!(!is_hidden(&nvim, "three says"));
    nvim.quit();
}

#[test]
fn a_sub_agents_calls_are_folded_inside_its_own() {
    let below = |id: &str, status: &str, text: &Json| {
        tool(json!({
            "toolCallId": id, "title": format!("Read {id}"), "kind": "read", "status": status,
            "content": text, "_meta": { "claudeCode": { "parentToolUseId": "task" } },
        }))
    };
    let task = |status: &str| {
        tool(json!({
            "toolCallId": "task", "title": "Explore", "kind": "think", "status": status,
        }))
    };
    let nvim = project(&[
        task("in_progress"),
        below("a", "completed", &text("text of a")),
        below("b", "in_progress", &text("text of b")),
        json!({ "wait_file": "${cwd}/../go" }),
        below("b", "completed", &text("text of b")),
        task("completed"),
    ])
    .size(110, 30)
    .start();
    open(&nvim);
    talk::prompt(&nvim, "hi");
    wait_said(&nvim, "text of b");
    nvim.wait("the running call to be open", || {
        !is_hidden(&nvim, "Read b") && is_hidden(&nvim, "text of b")
    });
    wait_said(&nvim, "Explore  in progress · 2 calls, 1 running");
    nvim.wait_text("Read b");
    if nvim.is_pictured() {
        insta::assert_snapshot!(nvim.drawn().rows()[1..10].join("\n"));
    }
    std::fs::write(nvim.project.root().join("go"), "").unwrap();
    wait_said(&nvim, "Explore  completed · 2 calls");
    nvim.wait("the inner call to be closed", || is_hidden(&nvim, "Read b"));
    go(&nvim, "acp-chat");
    let row = transcript(&nvim)
        .iter()
        .position(|line| line.contains("Explore"));
    nvim.keys(&format!(
        "{}G<CR>",
        row.expect("the line is in the transcript") + 1
    ));
    nvim.wait("the inner call to be open", || !is_hidden(&nvim, "Read b"));
    assert!(is_hidden(&nvim, "text of b"));
    nvim.quit();
}

#[test]
fn a_diff_looks_like_a_diff() {
    let new = "fn main() {\n    let b = 2;\n    run(b);\n}\n";
    let steps = [tool(json!({
        "toolCallId": "e", "title": "Edit m.rs", "kind": "edit", "status": "completed",
        "locations": [{ "path": "${cwd}/m.rs", "line": 40 }],
        "content": [{
            "type": "diff", "path": "${cwd}/m.rs",
            "oldText": "fn main() {\n    let a = 1;\n    run(b);\n}\n", "newText": new,
        }],
    }))];
    let nvim = project(&steps).size(60, 20).start();
    nvim.cmd("set termguicolors");
    open(&nvim);
    nvim.keys("<C-w>t:q<CR>");
    talk::talk(&nvim, "hi");
    nvim.wait_text("let b = 2;");
    nvim.wait("the language", || {
        let groups = nvim.screen().groups_of("fn main");
        groups.first().is_some_and(|group| !group.is_empty())
    });
    assert!(
        said(&nvim, "41 +     let b = 2;"),
        "{:#?}",
        transcript(&nvim)
    );
    if nvim.is_pictured() {
        insta::assert_snapshot!(nvim.drawn().dump(0..10));
    }
    // With few colours, one of the code's may be the background of the line.
    let is_over = |group: &String| group.ends_with("DiffAdd") || group.ends_with("DiffText");
    let groups = || nvim.drawn().groups_of("let b = 2;");
    assert!(!groups().iter().all(is_over));
    nvim.cmd("set notermguicolors | redraw!");
    assert!(groups().iter().all(is_over), "{:?}", groups());
    // Reversed, the code's colours would be backgrounds.
    nvim.cmd("set termguicolors | highlight DiffAdd gui=reverse guifg=Green guibg=NONE | redraw!");
    assert!(groups().iter().all(is_over), "{:?}", groups());
    nvim.quit();
}

#[test]
fn withdrawn_content_leaves_no_line() {
    let nvim = project(&[
        tool(json!({ "toolCallId": "x", "title": "Run", "content": text("a reason") })),
        json!({ "wait_file": "${cwd}/../go" }),
        json!({ "update": {
            "sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "completed",
            "content": [],
        } }),
        json!({ "wait_file": "${cwd}/../on" }),
        json!({ "say": "Done." }),
    ])
    .start();
    open(&nvim);
    talk::prompt(&nvim, "hi");
    wait_said(&nvim, "a reason");
    std::fs::write(nvim.project.root().join("go"), "").unwrap();
    wait_said(&nvim, "Run  completed");
    std::fs::write(nvim.project.root().join("on"), "").unwrap();
    wait_said(&nvim, "Done.");
    assert_eq!(
        transcript(&nvim),
        ["❯ hi", "", "✓ ◦ Run  completed", "", "Done."]
    );
    nvim.quit();
}

#[test]
fn another_file_opens_in_the_window_used_last() {
    let nvim = project(&[tool(json!({
        "toolCallId": "r", "title": "Look", "kind": "read", "status": "completed",
        "locations": [{ "path": "${cwd}/src/b.txt", "line": 2 }],
    }))])
    .file("src/b.txt", FILE)
    .start();
    nvim.cmd("edit src/a.txt");
    nvim.cmd("split other.txt");
    nvim.cmd("wincmd j");
    open(&nvim);
    talk::talk(&nvim, "hi");
    nvim.cmd("stopinsert");
    go(&nvim, "acp-input");
    go(&nvim, "acp-chat");
    on(&nvim, "Look");
    nvim.keys("gf");
    wait_at(&nvim, "src/b.txt", 2);
    let names = nvim.lua(
        "return vim.tbl_map(function(win)
          return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)), ':t')
        end, vim.api.nvim_tabpage_list_wins(0))",
        (),
    );
    assert_eq!(names, json!(["other.txt", "b.txt", "1", "input"]));
    nvim.quit();
}

#[test]
fn a_line_feed_in_a_name_breaks_nothing() {
    let steps = r#"{"tool":{"id":"a","title":"odd","kind":"read","status":"in_progress","locations":[{"path":"${cwd}/src/a\nb","line":3}]}}
{"say":"and on"}"#;
    let nvim = talk::start(&[steps]);
    talk::talk(&nvim, "hi");
    talk::wait_said(&nvim, "and on");
    assert!(talk::said(&nvim, "src/a^Jb:3"));
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_call_that_folds_when_it_ends_leaves_no_empty_window() {
    let lines: String = (1..=60).map(|n| format!("line {n}\\n")).collect();
    let steps = format!(
        r#"{{"say":"before"}}
{{"tool":{{"id":"a","title":"run","kind":"execute","status":"in_progress","content":[{{"type":"content","content":{{"type":"text","text":"{lines}"}}}}]}}}}
{{"wait_file":"${{cwd}}/../on"}}
{{"tool_update":{{"id":"a","status":"completed"}}}}"#
    );
    let nvim = talk::start(&[&steps]);
    talk::prompt(&nvim, "hi");
    nvim.wait_text("line 60");
    assert!(!nvim.screen().has("before"));
    std::fs::write(nvim.project.root().join("on"), "").expect("a file");
    nvim.wait_text("completed");
    nvim.wait_text("before");
    nvim.quit();
}

#[test]
fn a_folded_line_is_cut_visibly_and_keeps_its_highlights() {
    let long = format!("Réad {}", "a long name ".repeat(12));
    let calls = [("l", long.as_str()), ("s", "Run short")].map(|(id, title)| {
        tool(json!({
            "toolCallId": id, "title": title, "kind": "execute", "status": "completed",
            "content": text("one\ntwo\nthree"),
        }))
    });
    let nvim = project(&calls).size(100, 24).start();
    open(&nvim);
    talk::talk(&nvim, "hi");
    nvim.wait_text("Run short  completed");
    nvim.wait("the cut", || {
        let screen = nvim.screen().text();
        let line = screen.lines().find(|line| line.contains("Réad"));
        line.is_some_and(|line| line.trim_end().ends_with('…'))
    });
    let screen = nvim.drawn();
    let status = screen.groups_of("completed");
    assert_eq!(status.len(), 1, "{status:?}");
    assert_ne!(status, screen.groups_of("Run short"));
    nvim.quit();
}
