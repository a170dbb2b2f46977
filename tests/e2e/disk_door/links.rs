//! Links: buffers that have a symbolic link as their name, and agents that make, change or replace links.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use super::{Door, check_silent, save};
use crate::files::{Script, check_bytes, hunks, start, turn, wait_hunks, wait_lines};
use crate::harness::{Nvim, Project};
use crate::review::{wait_file, wait_files, wait_shown};

#[test]
fn a_rejected_mode_of_a_linked_file_leaves_the_link() {
    let project = Project::new().file("real.txt", "one\n");
    symlink("real.txt", project.path("link.txt")).expect("the link can be made");
    let door = Door::of(project, "", "chmod 755 real.txt");
    let nvim = &door.nvim;
    let mode = || {
        let meta = std::fs::metadata(nvim.project.path("real.txt")).expect("it is there");
        meta.permissions().mode() & 0o777
    };
    let before = mode();
    nvim.cmd("edit link.txt");
    turn(nvim);
    wait_files(nvim, 1);
    nvim.cmd("Acp reject all");
    nvim.wait("the old mode", || mode() == before);
    assert!(nvim.project.path("link.txt").is_symlink());
    check_bytes(nvim, "real.txt", "one\n");
    door.nvim.quit();
}

#[test]
fn a_buffer_of_a_symbolic_link_follows_the_target() {
    let project = Project::new().file("real.txt", "one\ntwo\n");
    symlink("real.txt", project.path("link.txt")).expect("the link can be made");
    let door = Door::of(project, "", "sed -i 's/two/2/' real.txt");
    let nvim = &door.nvim;
    nvim.cmd("edit link.txt");
    turn(nvim);
    wait_lines(nvim, &["one", "2"]);
    check_silent(nvim);
    nvim.keys("Ax<Esc>");
    save(nvim, "write");
    check_bytes(nvim, "real.txt", "onex\n2\n");
    assert!(nvim.project.path("link.txt").is_symlink());
    door.nvim.quit();
}

#[test]
fn a_save_to_another_file_than_a_links_needs_a_bang() {
    let is_own = "is a file of its own now";
    for (name, deed, what) in [
        (
            "link.txt",
            "ln -sf e/x.txt link.txt",
            "leads to e/x.txt now",
        ),
        (
            "link.txt",
            "cp --remove-destination -p e/x.txt link.txt",
            is_own,
        ),
        ("d/x.txt", "rm -r d; ln -s e d", "leads to e/x.txt now"),
    ] {
        let project = Project::new()
            .file("d/x.txt", "one\n")
            .file("e/x.txt", "two\n");
        // As after a checkout: Neovim compares only times.
        let time = std::time::SystemTime::now();
        for name in ["d/x.txt", "e/x.txt"] {
            let file = std::fs::File::options()
                .append(true)
                .open(project.path(name));
            file.and_then(|file| file.set_modified(time))
                .expect("a time");
        }
        symlink("d/x.txt", project.path("link.txt")).expect("the link can be made");
        let door = Door::of(project, "", deed);
        let nvim = &door.nvim;
        nvim.cmd(&format!("edit {name}"));
        nvim.keys("omine<Esc>");
        turn(nvim);
        for command in ["write", "wall", "wq"] {
            nvim.cmd("messages clear");
            nvim.input(&format!(":{command}<CR>"));
            let why = format!("{name} {what}: `:write!` overwrites it, `:edit!` reads it");
            nvim.wait(command, || {
                nvim.messages().contains(&why) && !nvim.blocked()
            });
        }
        wait_lines(nvim, &["one", "mine"]);
        check_bytes(nvim, name, "two\n");
        save(nvim, "write!");
        check_bytes(nvim, name, "one\nmine\n");
        door.nvim.quit();
    }
}

/// A link to a file of three lines, in a buffer.
#[track_caller]
fn opened(deed: &str) -> Door {
    let project = Project::new().file("real.txt", "one\ntwo\nthree\n");
    symlink("real.txt", project.path("link.txt")).expect("the link can be made");
    let door = Door::of(project, "", deed);
    door.nvim.cmd("edit link.txt");
    door.nvim.keys("3G");
    door
}

#[track_caller]
fn wait_link(nvim: &Nvim, link: &str, to: Option<&str>) {
    nvim.wait(&format!("{link} -> {to:?}"), || {
        let there = nvim.project.path(link).read_link().ok();
        there.as_deref() == to.map(Path::new)
    });
}

#[test]
fn hunks_in_the_buffer_of_a_link_are_found_and_decided_there() {
    let door = opened("sed -i 's/two/2/' real.txt");
    let nvim = &door.nvim;
    turn(nvim);
    wait_lines(nvim, &["one", "2", "three"]);
    wait_shown(nvim);
    let here = "return { #require('acp').review.hunks({ buf = 0 }), vim.fn.line('.'), vim.fn.expand('%:t') }";
    assert_eq!(nvim.lua(here, ()), json!([1, 3, "link.txt"]));
    nvim.keys("[a");
    nvim.wait("the hunk", || {
        nvim.lua(here, ()) == json!([1, 2, "link.txt"])
    });
    nvim.cmd("edit a.txt");
    nvim.cmd("Acp next");
    nvim.wait("the hunk", || {
        nvim.lua(here, ()) == json!([1, 2, "link.txt"])
    });
    nvim.cmd("Acp reject file");
    wait_files(nvim, 0);
    wait_file(nvim, "real.txt", "one\ntwo\nthree\n");
    door.nvim.quit();
}

#[test]
fn a_link_that_a_command_has_replaced_by_a_file_is_restored() {
    let door = opened("sed -i 's/two/2/' link.txt");
    let nvim = &door.nvim;
    turn(nvim);
    wait_lines(nvim, &["one", "2", "three"]);
    wait_hunks(nvim, json!([[0, [], ["one", "2", "three"], "pending"]]));
    assert_eq!(nvim.lua("return vim.fn.line('.')", ()), 3);
    nvim.cmd("Acp reject all");
    wait_link(nvim, "link.txt", Some("real.txt"));
    wait_lines(nvim, &["one", "two", "three"]);
    wait_files(nvim, 0);
    nvim.keys("Ax<Esc>");
    save(nvim, "write");
    check_bytes(nvim, "real.txt", "one\ntwo\nthreex\n");
    check_silent(nvim);
    door.nvim.quit();
}

#[test]
fn the_buffer_of_a_link_that_leads_to_another_file_shows_that_file() {
    for is_hidden in [false, true] {
        let door = opened("mkdir q; mv real.txt q/real.txt; ln -sf q/real.txt link.txt");
        let nvim = &door.nvim;
        if is_hidden {
            nvim.cmd("set hidden | edit a.txt");
        }
        turn(nvim);
        wait_link(nvim, "link.txt", Some("q/real.txt"));
        wait_files(nvim, 2);
        if is_hidden {
            nvim.cmd("buffer link.txt");
        }
        wait_lines(nvim, &["one", "two", "three"]);
        nvim.cmd("Acp reject all");
        wait_link(nvim, "link.txt", Some("real.txt"));
        wait_file(nvim, "real.txt", "one\ntwo\nthree\n");
        wait_files(nvim, 0);
        wait_lines(nvim, &["one", "two", "three"]);
        nvim.keys("ggAx<Esc>");
        save(nvim, "write");
        check_bytes(nvim, "real.txt", "onex\ntwo\nthree\n");
        check_silent(nvim);
        door.nvim.quit();
    }
}

#[test]
fn what_the_user_writes_through_an_agents_link_stays_when_the_link_is_rejected() {
    // A look sees both changes or neither.
    let deed = "mkdir q && ln -s q/a.txt ../link && ln a.txt q/a.txt && mv -f ../link a.txt";
    let door = Door::of(Project::new(), "one\n", deed);
    let nvim = &door.nvim;
    turn(nvim);
    let (one, nothing) = (json!(["one"]), json!([]));
    wait_hunks(
        nvim,
        json!([[0, one, nothing, "pending"], [0, nothing, one, "pending"]]),
    );
    nvim.keys("omine<Esc>");
    save(nvim, "write");
    check_bytes(nvim, "q/a.txt", "one\nmine\n");
    nvim.cmd("Acp reject all");
    wait_link(nvim, "a.txt", None);
    wait_file(nvim, "a.txt", "one\n");
    wait_file(nvim, "q/a.txt", "mine\n");
    wait_files(nvim, 0);
    wait_lines(nvim, &["one"]);
    door.nvim.quit();
}

#[test]
fn what_is_saved_through_a_link_before_any_report_of_it_stays() {
    let deed = "mkdir q && ln -s q/a.txt ../link && ln a.txt q/a.txt && mv -f ../link a.txt";
    // What the disk shows is known long before Neovim tells that it has saved.
    let project = Project::new().env("ACP_TEST_SLOW", "saved");
    let door = Door::of(project, "one\n", deed);
    let nvim = &door.nvim;
    nvim.lua(
        "local function saves()
            repeat
                local here = vim.uv.fs_lstat('a.txt')
            until here and here.type == 'link'
            vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'mine' })
            vim.cmd('silent write')
        end
        local when = { pattern = 'AcpTurnStarted', nested = true, callback = saves }
        vim.api.nvim_create_autocmd('User', when)",
        (),
    );
    turn(nvim);
    let link = json!([0, ["one"], [], "pending"]);
    nvim.wait("the link in the review", || {
        let hunks = hunks(nvim);
        hunks.as_array().is_some_and(|hunks| hunks.contains(&link))
    });
    nvim.cmd("Acp reject all");
    wait_link(nvim, "a.txt", None);
    wait_file(nvim, "a.txt", "one\n");
    wait_files(nvim, 0);
    wait_lines(nvim, &["one"]);
    // Whose the first line is depends on whether a report of the file came before the save.
    let left = std::fs::read_to_string(nvim.project.path("q/a.txt"));
    let left = left.expect("the file is there");
    assert!(left.ends_with("mine\n"), "{left:?}");
    door.nvim.quit();
}

#[test]
fn a_created_file_that_is_open_by_a_created_link_can_be_rejected() {
    let door = Door::of(
        Project::new(),
        "",
        "echo one > real.txt; ln -s real.txt link.txt",
    );
    let nvim = &door.nvim;
    turn(nvim);
    wait_files(nvim, 2);
    nvim.cmd("edit link.txt");
    wait_lines(nvim, &["one"]);
    wait_hunks(nvim, json!([[0, [], ["one"], "pending"]]));
    nvim.cmd("Acp reject all");
    wait_files(nvim, 0);
    for name in ["real.txt", "link.txt"] {
        let path = nvim.project.path(name);
        assert!(path.symlink_metadata().is_err(), "{name}");
    }
    door.nvim.quit();
}

#[test]
fn unsaved_lines_stay_in_the_buffer_of_a_link_that_leads_to_another_file() {
    let door = opened("sed -i 's/two/2/' link.txt");
    let nvim = &door.nvim;
    nvim.keys("omine<Esc>");
    turn(nvim);
    wait_files(nvim, 1);
    wait_lines(nvim, &["one", "two", "three", "mine"]);
    nvim.cmd("Acp reject all");
    wait_link(nvim, "link.txt", Some("real.txt"));
    wait_files(nvim, 0);
    wait_lines(nvim, &["one", "two", "three", "mine"]);
    check_bytes(nvim, "real.txt", "one\ntwo\nthree\n");
    door.nvim.quit();
}

#[test]
fn the_buffer_below_a_folder_that_a_link_has_replaced_is_not_that_of_the_file_there() {
    let project = Project::new()
        .file("d/x.txt", "one\n")
        .file("e/x.txt", "another text\n");
    let door = Door::of(project, "", "rm -r d; ln -s e d");
    let nvim = &door.nvim;
    nvim.cmd("edit d/x.txt");
    turn(nvim);
    wait_files(nvim, 2);
    wait_lines(nvim, &["one"]);
    nvim.cmd("Acp reject all");
    wait_files(nvim, 0);
    wait_lines(nvim, &["one"]);
    check_bytes(nvim, "d/x.txt", "one\n");
    check_bytes(nvim, "e/x.txt", "another text\n");
    door.nvim.quit();
}

#[test]
fn an_agents_write_through_a_link_leaves_unsaved_lines_of_its_former_file() {
    let script = Script::new()
        .step(json!({ "shell": "ln -sf two.txt link.txt" }))
        .writes("link.txt", "two\n2\n");
    let project = Project::new()
        .file("one.txt", "one\n")
        .file("two.txt", "two\n");
    symlink("one.txt", project.path("link.txt")).expect("the link can be made");
    let nvim = start(project.agent("agent", &script.done()), "link.txt");
    nvim.keys("omine<Esc>");
    turn(&nvim);
    wait_file(&nvim, "two.txt", "two\n2\n");
    wait_files(&nvim, 2);
    wait_lines(&nvim, &["one", "mine"]);
    nvim.cmd("Acp reject all");
    wait_files(&nvim, 0);
    wait_file(&nvim, "two.txt", "two\n");
    wait_link(&nvim, "link.txt", Some("one.txt"));
    wait_lines(&nvim, &["one", "mine"]);
    save(&nvim, "write");
    wait_file(&nvim, "one.txt", "one\nmine\n");
    nvim.quit();
}

#[test]
fn a_rejected_hard_link_leaves_the_other_names() {
    for is_open in [false, true] {
        let project = Project::new()
            .file("one.txt", "one\n")
            .file("two.txt", "two\n");
        let door = Door::of(project, "", "ln -f one.txt two.txt; ln one.txt three.txt");
        let nvim = &door.nvim;
        nvim.cmd("set nowritebackup backupdir=/proc/none backupcopy=yes");
        if is_open {
            nvim.cmd("edit two.txt");
        }
        turn(nvim);
        wait_files(nvim, 2);
        nvim.cmd("Acp reject all");
        wait_file(nvim, "two.txt", "two\n");
        wait_files(nvim, 0);
        check_bytes(nvim, "one.txt", "one\n");
        assert!(!nvim.project.path("three.txt").exists());
        if is_open {
            wait_lines(nvim, &["two"]);
            check_silent(nvim);
        }
        let options = "return { vim.o.backupdir, vim.o.writebackup, vim.bo.backupcopy }";
        assert_eq!(nvim.lua(options, ()), json!(["/proc/none", false, ""]));
        door.nvim.quit();
    }
}

#[test]
fn the_users_lines_in_a_rejected_hard_link_become_a_file_of_their_own() {
    for name in ["a.txt", "b.txt"] {
        let door = Door::of(Project::new(), "one\ntwo\n", "ln a.txt b.txt");
        let nvim = &door.nvim;
        turn(nvim);
        wait_hunks(nvim, json!([[0, [], ["one", "two"], "pending"]]));
        nvim.cmd(&format!("edit {name}"));
        nvim.keys("ggomine<Esc>");
        save(nvim, "write");
        check_bytes(nvim, "b.txt", "one\nmine\ntwo\n");
        nvim.cmd("Acp reject all");
        wait_file(nvim, "b.txt", "mine\n");
        wait_files(nvim, 0);
        check_bytes(nvim, "a.txt", "one\nmine\ntwo\n");
        door.nvim.quit();
    }
}
