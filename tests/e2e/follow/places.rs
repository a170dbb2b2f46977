//! The position that the following window shows.

use super::*;

#[test]
fn the_file_is_opened_at_the_line_in_another_window_and_ctrl_o_goes_back() {
    let script = Script::new()
        .step(at("t", "read", "b.txt", 40))
        .pause("b")
        .step(at("u", "edit", "c.txt", 70))
        .pause("c");
    let nvim = followed(script);
    wait_shown(&nvim, &["b.txt:40"]);
    assert_eq!(talk::here(&nvim), "acp-input");
    nvim.wait_text("▶");
    nvim.wait_text("agent reads");
    pass(&nvim, "b");
    wait_shown(&nvim, &["c.txt:70"]);
    // The line was out of sight, so the window is scrolled to centre it.
    let line = nvim.lua("return vim.fn.line('w0', vim.fn.bufwinid('c.txt'))", ());
    assert!((50..70).contains(&line.as_i64().unwrap()), "{line}");
    wait_pause(&nvim, "c");
    // Files the user has not opened stay out of the buffer list.
    let listed = || {
        nvim.lua("return { vim.bo[vim.fn.bufnr('b.txt')].buflisted, vim.bo[vim.fn.bufnr('c.txt')].buflisted }", ())
    };
    assert_eq!(listed(), json!([false, false]));
    nvim.cmd("wincmd t");
    nvim.wait("the visited buffer to be listed", || {
        listed() == json!([false, true])
    });
    nvim.keys("<C-o>");
    wait_shown(&nvim, &["b.txt:40"]);
    nvim.keys("<C-o>");
    wait_shown(&nvim, &["a.txt:1"]);
    go_on(&nvim, "c");
    nvim.wait_script("agent");
    nvim.quit();
}

#[test]
fn within_a_file_ctrl_o_goes_back_and_a_visible_line_is_not_scrolled() {
    let script = Script::new()
        .step(at("t", "read", "a.txt", 40))
        .pause("far")
        .step(at("u", "read", "a.txt", 44))
        .pause("near");
    let nvim = followed(script);
    wait_shown(&nvim, &["a.txt:40"]);
    let top = || nvim.lua("return vim.fn.line('w0', vim.fn.bufwinid('a.txt'))", ());
    let before = top();
    pass(&nvim, "far");
    wait_shown(&nvim, &["a.txt:44"]);
    assert_eq!(top(), before);
    nvim.cmd("wincmd t");
    nvim.keys("<C-o>");
    wait_shown(&nvim, &["a.txt:40"]);
    nvim.keys("<C-o>");
    wait_shown(&nvim, &["a.txt:1"]);
    nvim.keys("2<C-i>");
    wait_shown(&nvim, &["a.txt:44"]);
    nvim.quit();
}

#[test]
fn a_fold_is_opened_at_the_line() {
    let script = Script::new().step(at("t", "read", "a.txt", 40)).pause("p");
    let nvim = start(project(script));
    nvim.cmd("wincmd t");
    nvim.cmd("30,50fold");
    nvim.cmd("wincmd p");
    follow(&nvim, "on");
    files::prompt(&nvim);
    wait_shown(&nvim, &["a.txt:40"]);
    let closed = "return vim.api.nvim_win_call(vim.fn.bufwinid('a.txt'), function()
        return vim.fn.foldclosed(40)
    end)";
    nvim.wait("the fold to be open", || nvim.lua(closed, ()) == -1);
    nvim.quit();
}

#[test]
fn locations_in_an_update_are_followed() {
    let script = Script::new()
        .step(json!({ "tool": { "id": "t", "title": "Read", "kind": "read" } }))
        .pause("announced")
        .step(json!({ "tool_update": {
            "id": "t", "locations": [place("c.txt", 3), place("b.txt", 9)],
        } }))
        .pause("named");
    let nvim = followed(script);
    wait_pause(&nvim, "announced");
    assert_eq!(shown(&nvim), ["a.txt:1"]);
    pass(&nvim, "announced");
    wait_shown(&nvim, &["b.txt:9"]);
    nvim.quit();
}

#[test]
fn reads_and_writes_through_the_client_are_followed() {
    let script = Script::new()
        .reads_some("b.txt", json!({ "line": 60, "limit": 1 }), "b 60\n")
        .pause("read")
        .writes("c.txt", &hundred("c").replace("c 80\n", "C\n"))
        .pause("written")
        .writes("new/d.txt", "new\n")
        .pause("made");
    let nvim = followed(script);
    wait_shown(&nvim, &["b.txt:60"]);
    pass(&nvim, "read");
    wait_shown(&nvim, &["c.txt:80"]);
    pass(&nvim, "written");
    wait_shown(&nvim, &["d.txt:1"]);
    wait_marks(&nvim, "d.txt", json!([[0, " agent edits"]]));
    nvim.quit();
}

#[test]
fn files_changed_by_a_shell_command_are_followed() {
    let script = Script::new()
        .step(json!({ "tool": {
            "id": "t", "title": "Run", "kind": "execute", "rawInput": { "command": "sed b.txt" },
        } }))
        .pause("told")
        .step(json!({ "shell": "sed -i 's/^b 50$/B/' b.txt" }))
        .pause("changed")
        .step(json!({ "shell": "printf 'made\\n' >d.txt" }))
        .pause("made");
    let nvim = followed(script);
    talk::wait_said(&nvim, "$ Run");
    pass(&nvim, "told");
    wait_shown(&nvim, &["b.txt:50"]);
    wait_marks(&nvim, "b.txt", json!([[49, " agent runs: sed b.txt"]]));
    pass(&nvim, "changed");
    wait_shown(&nvim, &["d.txt:1"]);
    nvim.quit();
}

#[test]
fn following_can_be_limited_to_edits() {
    let script = Script::new()
        .step(at("t", "read", "b.txt", 40))
        .step(at("u", "edit", "b.txt", 20))
        .step(at("v", "read", "c.txt", 5))
        .pause("p");
    let nvim = start(project(script));
    follow(&nvim, "edits");
    nvim.wait_text("following edits");
    files::prompt(&nvim);
    wait_shown(&nvim, &["b.txt:20"]);
    follow(&nvim, "on");
    wait_shown(&nvim, &["c.txt:5"]);
    nvim.quit();
}

#[test]
fn the_configuration_sets_the_first_mode_and_a_toggle_switches_it() {
    let nvim = start(project(Script::new()).config("follow", json!("edits")));
    nvim.wait("the mode", || status(&nvim)["follow"] == "edits");
    nvim.cmd("Acp follow");
    nvim.wait("following to be off", || status(&nvim)["follow"] == false);
    nvim.cmd("execute \"normal \\<Plug>(acp-follow)\"");
    nvim.wait("following to be on", || status(&nvim)["follow"] == "edits");
    nvim.lua("require('acp').follow(true)", ());
    nvim.wait("following of everything", || {
        status(&nvim)["follow"] == true
    });
    nvim.quit();
}

#[test]
fn files_that_cannot_be_shown_are_not_opened() {
    // Of the places of one frame only the last counts, so each has a frame of its own.
    let bad = [
        "none.txt",
        "folder",
        "blob",
        "link",
        "../home/out.txt",
        // A plugin would unpack it.
        "packed.gz",
    ];
    let mut script = Script::new();
    for (n, file) in (1..).zip(bad) {
        script = script
            .step(at(file, "read", file, 3))
            .step(json!({ "say": format!("place {n}") }))
            .pause(&format!("place{n}"));
    }
    let script = script.step(at("b", "read", "b.txt", 7)).pause("b");
    let project = project(script)
        .file("folder/x", "")
        .file("blob", b"\0\0\0")
        .file("packed.gz", "without a NUL\n")
        .file("../home/out.txt", "out\n");
    std::os::unix::fs::symlink("../home/out.txt", project.path("link")).expect("a link");
    let nvim = start(project);
    follow(&nvim, "on");
    files::prompt(&nvim);
    for (n, file) in (1..).zip(bad) {
        talk::wait_said(&nvim, &format!("place {n}"));
        assert_eq!(shown(&nvim), ["a.txt:1"], "{file}");
        pass(&nvim, &format!("place{n}"));
    }
    wait_shown(&nvim, &["b.txt:7"]);
    let names = nvim.lua(
        "local bufs = vim.tbl_filter(function(buf) return vim.bo[buf].buftype == '' end,
            vim.api.nvim_list_bufs())
        return vim.tbl_map(function(buf)
            return vim.fs.basename(vim.api.nvim_buf_get_name(buf))
        end, bufs)",
        (),
    );
    assert_eq!(names, json!(["a.txt", "b.txt"]));
    nvim.quit();
}

#[test]
fn a_file_with_a_swap_file_is_not_opened_and_causes_no_prompt() {
    let script = Script::new()
        .step(at("t", "read", "b.txt", 40))
        .pause("swap")
        .step(at("u", "read", "c.txt", 5))
        .pause("c");
    let nvim = start(project(script));
    nvim.lua(
        "local name = vim.fn.fnamemodify('b.txt', ':p'):gsub('/', '%%')
        local folder = vim.o.directory:gsub('//$', '')
        vim.fn.mkdir(folder, 'p')
        vim.fn.writefile({ 'b0nVIM' }, folder .. '/' .. name .. '.swp')",
        (),
    );
    follow(&nvim, "on");
    files::prompt(&nvim);
    nvim.wait("the message", || {
        nvim.messages()
            .contains("b.txt: not shown while following the agent")
    });
    assert!(!nvim.blocked());
    assert_eq!(shown(&nvim), ["a.txt:1"]);
    pass(&nvim, "swap");
    wait_shown(&nvim, &["c.txt:5"]);
    nvim.quit();
}
