//! Attached files, lines and images: shown above the input, removed, sent.

use serde_json::json;

use super::{agent, expecting, resource, text};
use crate::harness::Nvim;
use crate::talk::{self, open, said, wait_said};

/// The first bytes of a PNG; the rest is never read.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

#[track_caller]
fn wait_attached(nvim: &Nvim, want: &[&str]) {
    nvim.wait(&format!("{want:?} to be attached"), || {
        talk::status(nvim)["attached"] == json!(want)
    });
}

/// Returns the bar above the input.
#[track_caller]
fn bar(nvim: &Nvim) -> String {
    let bar = nvim.lua(
        "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-input' then
            return vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win }).str
          end
        end
        return ''",
        (),
    );
    bar.as_str().unwrap_or_default().trim().to_owned()
}

#[test]
fn attachments_are_shown_above_the_input_until_sent() {
    let blocks = json!([
        text("look"),
        resource("/a.txt#L2:3", "two\nthree"),
        resource("/b.txt", "not saved\n"),
    ]);
    let project = expecting(&[blocks]).file("a.txt", "one\ntwo\nthree\n");
    let nvim = project.file("b.txt", "saved\n").start();
    nvim.cmd("edit b.txt");
    nvim.keys("ccnot saved<Esc>");
    nvim.cmd("edit a.txt");
    nvim.cmd("2,3AcpChat");
    nvim.cmd("Acp attach b.txt");
    nvim.wait("the bar", || bar(&nvim) == "1 a.txt:2-3 2 b.txt");
    nvim.wait_text("1 a.txt:2-3 2 b.txt");
    nvim.wait_text("scripted · idle");
    if nvim.is_pictured() {
        insta::assert_snapshot!(nvim.drawn().rows().join("\n"));
    }
    // The bar returns with the window.
    nvim.keys("q");
    nvim.cmd("AcpChat");
    assert_eq!(bar(&nvim), "1 a.txt:2-3 2 b.txt");
    nvim.keys("ilook<CR>");
    nvim.wait_script("scripted");
    wait_said(&nvim, "answer 1");
    for line in ["❯ look", "  a.txt:2-3", "  b.txt"] {
        assert!(said(&nvim, line), "{line}");
    }
    nvim.wait("an empty bar", || bar(&nvim).is_empty());
    nvim.quit();
}

#[test]
fn attachments_without_room_keep_their_numbers_and_the_ends_of_their_names() {
    let mut project = expecting(&[]).size(80, 24);
    let names = ["one", "two", "three"].map(|name| format!("src/a/long/folder/{name}.txt"));
    for name in &names {
        project = project.file(name, "text\n");
    }
    let nvim = project.start();
    nvim.cmd("AcpChat");
    for name in &names {
        nvim.cmd(&format!("Acp attach {name}"));
    }
    nvim.wait_text("1 …/a/long/folder/one.txt 2 …/a/long/folder/two.txt 3 …/long/folder/three.txt");
    nvim.resize(240, 24);
    nvim.wait_text(&format!("2 {}", names[1]));
    nvim.quit();
}

#[test]
fn attachments_are_removed_by_key_and_command() {
    let blocks = json!([text("go"), resource("/b", "b\n")]);
    let project = expecting(&[blocks]).file("a", "a\n").file("b", "b\n");
    let nvim = project.file("c", "c\n").start();
    open(&nvim);
    for file in ["a", "b", "c"] {
        nvim.cmd(&format!("Acp attach {file}"));
    }
    // The key removes the last one that is shown.
    nvim.wait("the bar", || bar(&nvim) == "1 a 2 b 3 c");
    nvim.keys("<BS>");
    wait_attached(&nvim, &["a", "b"]);
    nvim.cmd("Acp detach 1");
    wait_attached(&nvim, &["b"]);
    nvim.keys("igo<CR>");
    nvim.wait_script("scripted");
    nvim.cmd("Acp attach a");
    wait_attached(&nvim, &["a"]);
    nvim.cmd("Acp detach");
    wait_attached(&nvim, &[]);
    nvim.quit();
}

#[test]
fn an_image_can_be_sent_without_text() {
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" });
    let project = expecting(&[json!([image])]).file("shot.png", PNG);
    let nvim = project.start();
    open(&nvim);
    nvim.cmd("Acp attach shot.png");
    wait_attached(&nvim, &["shot.png (8 bytes)"]);
    nvim.keys("<CR>");
    nvim.wait_script("scripted");
    wait_said(&nvim, "❯ shot.png (8 bytes)");
    nvim.quit();
}

#[test]
fn the_clipboards_image_is_attached() {
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw==" });
    let project = expecting(&[json!([text("look"), image])]);
    let script = "#!/bin/sh\nprintf '\\211PNG'\n";
    let project = project.file("bin/wl-paste", script);
    let program = project.path("bin/wl-paste");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let folder = program.parent().unwrap().display().to_string();
    let nvim = project.env("WAYLAND_DISPLAY", "wayland-0").start();
    nvim.lua("vim.env.PATH = ... .. ':' .. vim.env.PATH", (folder,));
    open(&nvim);
    nvim.cmd("Acp attach clipboard");
    wait_attached(&nvim, &["image (4 bytes)"]);
    nvim.cmd("Acp detach");
    wait_attached(&nvim, &[]);
    // What a terminal sends for an image is a paste without text.
    nvim.keys("i");
    nvim.lua("vim.api.nvim_paste('', true, -1)", ());
    wait_attached(&nvim, &["image (4 bytes)"]);
    nvim.keys("look<CR>");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_failed_attachment_is_reported() {
    let project = agent(&json!({ "image": false }), &[]).file("shot.png", PNG);
    let nvim = project.start();
    open(&nvim);
    nvim.cmd("Acp attach shot.png");
    nvim.wait("the message", || {
        nvim.messages().contains("accepts no images")
    });
    nvim.keys(":Acp attach nothing<CR>");
    nvim.wait("the message", || {
        nvim.messages().contains("there is no file")
    });
    wait_attached(&nvim, &[]);
    nvim.quit();
}

#[test]
fn an_image_dropped_on_the_input_is_attached() {
    let project = expecting(&[]).file("my shot.png", PNG);
    let nvim = project.start();
    open(&nvim);
    let path = nvim.project.path("my shot.png").display().to_string();
    nvim.keys("i");
    let paste = "vim.api.nvim_paste(..., true, -1)";
    nvim.lua(paste, (path.replace(' ', "\\ "),));
    wait_attached(&nvim, &["my shot.png (8 bytes)"]);
    assert_eq!(nvim.buf_lines(0), [""]);
    nvim.lua(paste, ("/no/shot.png",));
    assert_eq!(nvim.buf_lines(0), ["/no/shot.png"]);
    // The command line gets its text.
    nvim.keys("<Esc>:edit ");
    nvim.lua(paste, (path.as_str(),));
    nvim.wait("the path", || {
        nvim.lua("return vim.fn.getcmdline()", ()) == format!("edit {path}")
    });
    nvim.keys("<C-c>");
    wait_attached(&nvim, &["my shot.png (8 bytes)"]);
    nvim.quit();
}

#[test]
fn an_images_path_stays_text_if_the_agent_takes_no_images() {
    let project = agent(&json!({ "image": false }), &[]).file("shot.png", PNG);
    let nvim = project.start();
    open(&nvim);
    let path = nvim.project.path("shot.png").display().to_string();
    nvim.keys("i");
    nvim.lua("vim.api.nvim_paste(..., true, -1)", (path.as_str(),));
    assert_eq!(nvim.buf_lines(0), [path]);
    wait_attached(&nvim, &[]);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}
