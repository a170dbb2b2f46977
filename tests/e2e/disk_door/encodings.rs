//! Open buffers whose files are neither UTF-8 nor latin-1.

use std::rc::Rc;

use serde_json::{Value as Json, json};

use super::super::files::{Script, check_bytes, hunks, open, turn, wait_hunks, wait_lines};
use super::{Door, check_silent, options, save};
use crate::harness::{Nvim, Project};
use crate::review::wait_files;

/// 'fileencodings' under which a file of these bytes is read in their encoding, and its first line.
const ENCODINGS: [(&str, &[u8], &str); 4] = [
    ("gbk", b"\xc4\xe3\xba\xc3", "你好"),
    ("cp932", b"\x93\xfa\x96\x7b", "日本"),
    ("cp1251", b"\xe4\xe0", "да"),
    ("koi8-r", b"\xc4\xc1", "да"),
];

/// Replaces the second line, and adds the first one at the end.
const CHANGE: &str =
    "sed -n 1p a.txt > first; sed -i s/two/TWO/ a.txt; cat first >> a.txt; rm first";

fn content(first: &[u8], rest: &str) -> Vec<u8> {
    [first, b"\n", rest.as_bytes()].concat()
}

fn read_as(nvim: &Nvim, encoding: &str) {
    nvim.cmd(&format!("set fileencodings=utf-8,{encoding} | edit"));
}

fn changed(first: &str) -> Json {
    json!([
        [1, ["two"], ["TWO"], "pending"],
        [3, [], [first], "pending"]
    ])
}

#[track_caller]
fn wait_bytes(nvim: &Nvim, bytes: &[u8]) {
    let path = nvim.project.path("a.txt");
    nvim.wait("these bytes", || {
        std::fs::read(&path).is_ok_and(|there| there == bytes)
    });
}

#[test]
fn a_change_is_reviewed_in_the_encoding_of_its_buffer() {
    for (encoding, first, line) in ENCODINGS {
        let before = content(first, "two\n3\n");
        let door = Door::of(Project::new(), &before, CHANGE);
        let nvim = &door.nvim;
        read_as(nvim, encoding);
        let name = options(nvim)[4].clone();
        turn(nvim);
        wait_lines(nvim, &[line, "TWO", "3", line]);
        wait_hunks(nvim, changed(line));
        nvim.cmd("2 | Acp accept hunk");
        wait_hunks(nvim, json!([[3, [], [line], "pending"]]));
        nvim.cmd("Acp reject all");
        wait_lines(nvim, &[line, "TWO", "3"]);
        wait_bytes(nvim, &content(first, "TWO\n3\n"));
        wait_hunks(nvim, json!([]));
        nvim.cmd("Acp undo");
        wait_lines(nvim, &[line, "TWO", "3", line]);
        wait_hunks(nvim, json!([[3, [], [line], "pending"]]));
        nvim.keys("Gox<Esc>");
        save(nvim, "write");
        check_bytes(
            nvim,
            "a.txt",
            [&content(first, "TWO\n3\n")[..], first, b"\nx\n"].concat(),
        );
        assert_eq!(options(nvim), json!([false, "unix", true, false, name]));
        check_silent(nvim);
        door.nvim.quit();
    }
}

#[test]
fn unsaved_lines_and_the_agents_are_merged_in_any_encoding() {
    let first = b"\xc4\xe3\xba\xc3";
    let door = Door::of(Project::new(), content(first, "two\n3\n"), CHANGE);
    let nvim = &door.nvim;
    read_as(nvim, "gbk");
    nvim.keys("ggO世界<Esc>");
    turn(nvim);
    wait_lines(nvim, &["世界", "你好", "TWO", "3", "你好"]);
    assert_eq!(options(nvim)[0], true);
    save(nvim, "write");
    let own = b"\xca\xc0\xbd\xe7\n".as_slice();
    check_bytes(
        nvim,
        "a.txt",
        [own, &content(first, "TWO\n3\n"), first, b"\n"].concat(),
    );
    nvim.cmd("Acp reject all");
    wait_bytes(nvim, &[own, &content(first, "two\n3\n")].concat());
    door.nvim.quit();
}

#[test]
fn a_review_keeps_its_encoding_without_its_buffer() {
    for (encoding, first, line) in ENCODINGS {
        for is_next in [false, true] {
            let before = content(first, "two\n3\n");
            let door = Door::of(Project::new(), &before, CHANGE);
            let mut nvim = door.nvim;
            read_as(&nvim, encoding);
            turn(&nvim);
            wait_hunks(&nvim, changed(line));
            if is_next {
                let project = Rc::clone(&nvim.project);
                nvim.quit();
                nvim = Nvim::start(project);
                open(&nvim);
            } else {
                nvim.cmd("bwipeout a.txt");
            }
            wait_hunks(&nvim, changed(line));
            nvim.cmd("Acp reject all");
            wait_bytes(&nvim, &before);
            wait_hunks(&nvim, json!([]));
            nvim.quit();
        }
    }
}

#[test]
fn a_review_takes_the_encoding_of_a_buffer_that_is_loaded_later() {
    for (encoding, first, line) in ENCODINGS {
        let before = content(first, "two\n3\n");
        let door = Door::of(Project::new(), &before, CHANGE);
        let nvim = &door.nvim;
        nvim.cmd("bwipeout a.txt");
        turn(nvim);
        nvim.wait("the change", || hunks(nvim) != json!([]));
        nvim.cmd(&format!("set fileencodings=utf-8,{encoding} | edit a.txt"));
        wait_lines(nvim, &[line, "TWO", "3", line]);
        wait_hunks(nvim, changed(line));
        nvim.cmd("4 | Acp reject hunk");
        wait_bytes(nvim, &content(first, "TWO\n3\n"));
        nvim.lua("require('acp').review.undo_turn({ confirm = false })", ());
        wait_bytes(nvim, &before);
        door.nvim.quit();
    }
}

#[test]
fn a_new_files_review_keeps_its_encoding_for_the_next_neovim() {
    let new = b"\xc4\xe3\xba\xc3\ntwo\n";
    let command = r"printf '\304\343\272\303\ntwo\n' > new.txt";
    let door = Door::of(Project::new(), "one\n", command);
    turn(&door.nvim);
    door.nvim.cmd("set fileencodings=utf-8,gbk | edit new.txt");
    wait_lines(&door.nvim, &["你好", "two"]);
    let all = json!([[0, [], ["你好", "two"], "pending"]]);
    wait_hunks(&door.nvim, all.clone());
    let project = Rc::clone(&door.nvim.project);
    door.nvim.quit();
    let nvim = Nvim::start(project);
    open(&nvim);
    wait_hunks(&nvim, all);
    check_bytes(&nvim, "new.txt", new);
    nvim.cmd("Acp reject all");
    wait_hunks(&nvim, json!([]));
    let path = nvim.project.path("new.txt");
    nvim.wait("the file to be gone", || !path.exists());
    nvim.quit();
}

#[test]
fn a_review_goes_on_in_a_next_neovim_whose_buffer_reads_the_file_in_another_encoding() {
    let encodings = ENCODINGS.map(|(encoding, first, _)| (encoding, content(first, "two\n")));
    let latin = ("latin1", b"\xe9\ntwo\n".to_vec());
    for (encoding, before) in encodings.into_iter().chain([latin]) {
        for command in ["sed -i s/two/TWO/ a.txt", "echo ASCII > a.txt"] {
            let project = Project::new();
            let is_latin = encoding == "latin1";
            // Only the next one is told the encoding.
            let door = Door::of(project, &before, command);
            if !is_latin {
                door.nvim.cmd("bwipeout a.txt");
            }
            turn(&door.nvim);
            door.nvim
                .wait("the change", || hunks(&door.nvim) != json!([]));
            let project = Rc::clone(&door.nvim.project);
            door.nvim.quit();
            let nvim = Nvim::start(project);
            nvim.cmd(&format!("set fileencodings=utf-8,{encoding} | edit a.txt"));
            open(&nvim);
            nvim.wait("the change again", || hunks(&nvim) != json!([]));
            nvim.cmd("Acp reject all");
            wait_bytes(&nvim, &before);
            wait_files(&nvim, 0);
            check_silent(&nvim);
            nvim.quit();
        }
    }
}

#[test]
fn a_review_in_an_encoding_that_only_neovim_reads_goes_on_in_the_next_one() {
    let before = content(b"\xc6\xfc\xcb\xdc", "two\n");
    let script = Script::new().writes("a.txt", "日本\nTWO\n");
    let encodings = "set fileencodings=utf-8,euc-jp";
    let project = Project::new().file("a.txt", &before).before(encodings);
    let nvim = project.agent("agent", &script.done()).start();
    nvim.cmd("edit a.txt");
    open(&nvim);
    turn(&nvim);
    let hunk = json!([[1, ["two"], ["TWO"], "pending"]]);
    wait_hunks(&nvim, hunk.clone());
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    let nvim = Nvim::start(project);
    nvim.cmd("edit a.txt");
    open(&nvim);
    wait_hunks(&nvim, hunk);
    nvim.cmd("Acp reject all");
    wait_bytes(&nvim, &before);
    wait_hunks(&nvim, json!([]));
    check_silent(&nvim);
    nvim.quit();
}

#[test]
fn a_file_that_the_agent_converts_to_utf_8_is_brought_back_in_its_encoding() {
    let before = content(b"\xc4\xe3\xba\xc3", "two\n");
    let command = "printf '你好\\nTWO\\n' > a.txt";
    let door = Door::of(Project::new(), &before, command);
    let nvim = &door.nvim;
    read_as(nvim, "gbk");
    turn(nvim);
    wait_lines(nvim, &["你好", "TWO"]);
    wait_hunks(nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
    assert_eq!(options(nvim)[4], "utf-8");
    nvim.cmd("Acp reject all");
    wait_bytes(nvim, &before);
    wait_lines(nvim, &["你好", "two"]);
    nvim.wait("the encoding", || options(nvim)[4] == "cp936");
    check_silent(nvim);
    door.nvim.quit();
}

#[test]
fn bytes_that_are_not_in_the_encoding_of_the_buffer_are_told_and_rejected() {
    // UTF-8 in GBK, and a character that only a wider encoding has.
    for command in ["sed -i s/two/二/ a.txt", r"printf '\250\277\n' >> a.txt"] {
        for is_early in [false, true] {
            let before = content(b"\xc4\xe3\xba\xc3", "two\n");
            let mut project = Project::new();
            if is_early {
                // The buffer is loaded before the chat.
                project = project.before("set fileencodings=utf-8,gbk,latin1");
            }
            let door = Door::of(project, &before, command);
            let nvim = &door.nvim;
            if !is_early {
                read_as(nvim, "gbk");
            }
            turn(nvim);
            nvim.wait_text("The agent changed a.txt: no review in its encoding");
            wait_lines(nvim, &["你好", "two"]);
            assert_eq!(options(nvim)[4], "cp936");
            nvim.cmd("Acp reject all");
            wait_bytes(nvim, &before);
            wait_lines(nvim, &["你好", "two"]);
            assert_eq!(options(nvim), json!([false, "unix", true, false, "cp936"]));
            door.nvim.quit();
        }
    }
}

#[test]
fn a_change_in_an_encoding_without_review_is_told() {
    for (encoding, first, line) in [
        ("cp437", b"\x81\x82".as_slice(), "üé"),
        ("euc-jp", b"\xc6\xfc\xcb\xdc", "日本"),
        ("big5", b"\xa4\xa4\xa4\xe5", "中文"),
    ] {
        let before = content(first, "two\n");
        let door = Door::of(Project::new(), before, "sed -i s/two/TWO/ a.txt");
        let nvim = &door.nvim;
        nvim.cmd("set noautoread");
        read_as(nvim, encoding);
        turn(nvim);
        nvim.wait_text("The agent changed a.txt: no review in its encoding; `:edit` shows it.");
        wait_lines(nvim, &[line, "two"]);
        wait_hunks(nvim, json!([]));
        nvim.cmd("edit");
        wait_lines(nvim, &[line, "TWO"]);
        nvim.keys("Gox<Esc>");
        save(nvim, "write");
        check_bytes(nvim, "a.txt", content(first, "TWO\nx\n"));
        door.nvim.quit();
    }
}

#[test]
fn a_file_in_utf_16_is_reviewed_as_a_whole() {
    let before = b"\xff\xfea\0\n\0";
    let command = r"printf '\377\376b\000\n\000' > a.txt";
    let door = Door::of(Project::new(), before, command);
    let nvim = &door.nvim;
    assert_eq!(options(nvim)[4], "utf-16le");
    turn(nvim);
    wait_files(nvim, 1);
    check_bytes(nvim, "a.txt", b"\xff\xfeb\0\n\0");
    nvim.cmd("Acp reject all");
    wait_bytes(nvim, before);
    door.nvim.quit();
}

#[cfg(target_os = "linux")]
#[test]
fn a_buffer_whose_name_is_not_utf_8_is_left_alone() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let script = Script::new().writes("a.txt", "TWO\n");
    let project = Project::new().file("a.txt", "two\n");
    let nvim = project.agent("agent", &script.done()).start();
    let odd = OsStr::from_bytes(b"../home/caf\xe9.txt");
    std::fs::write(nvim.project.path("").join(odd), "odd\n").expect("the file can be written");
    let edit = "vim.cmd.edit('../home/caf\\xe9.txt')";
    nvim.lua(edit, ());
    nvim.cmd("split a.txt");
    open(&nvim);
    turn(&nvim);
    wait_lines(&nvim, &["TWO"]);
    check_bytes(&nvim, "a.txt", "TWO\n");
    // The buffer is also read, changed and written while the plugin runs.
    nvim.cmd("new");
    nvim.lua(edit, ());
    nvim.cmd("silent edit!");
    nvim.keys("Ax<Esc>");
    wait_lines(&nvim, &["oddx"]);
    nvim.cmd("silent write");
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_read_of_an_encoding_is_what_neovim_reads() {
    use acp_core::text::format::{Encoding, Format};

    const ONE: [&str; 22] = [
        "koi8-r",
        "cp866",
        "cp874",
        "cp1250",
        "cp1251",
        "cp1252",
        "cp1253",
        "cp1254",
        "cp1256",
        "cp1257",
        "iso-8859-2",
        "iso-8859-3",
        "iso-8859-4",
        "iso-8859-5",
        "iso-8859-6",
        "iso-8859-7",
        "iso-8859-8",
        "iso-8859-10",
        "iso-8859-13",
        "iso-8859-14",
        "iso-8859-15",
        "iso-8859-16",
    ];
    const TWO: [&str; 4] = ["cp936", "gb18030", "cp932", "cp949"];
    let door = Door::of(Project::new(), "one\n", "true");
    for name in ONE.into_iter().chain(TWO) {
        let encoding = Encoding::of_neovim(name);
        let rows = if TWO.contains(&name) {
            0x30..=0xff_u8
        } else {
            0..=0
        };
        let bytes = (0x80..=0xff_u8).flat_map(|lead| {
            let second = rows.clone();
            second.map(move |second| match second {
                0 => vec![lead],
                second => vec![lead, second],
            })
        });
        // The basic plane, as far as it takes four bytes.
        let four = (name == "gb18030").then(|| {
            let ends = (0x81..=0xfe_u8).flat_map(|c| (0x30..=0x39_u8).map(move |d| (c, d)));
            let all = (0x81..=0x84_u8).flat_map(|a| (0x30..=0x39_u8).map(move |b| (a, b)));
            all.flat_map(move |(a, b)| ends.clone().map(move |(c, d)| vec![a, b, c, d]))
        });
        let bytes = bytes.chain(four.into_iter().flatten());
        let mut count = 0;
        let mut ours: Vec<(String, String)> = Vec::new();
        for bytes in bytes {
            let (raw, text) = Format::decode(&bytes);
            if let Some((_, text)) = raw.reread(&text, encoding) {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                ours.push((hex, text.to_string().trim_end_matches('\n').to_owned()));
                count += 1;
            }
        }
        assert!(count > 40, "{name}: {count}");
        let other = door.nvim.lua(
            "local name, all = ...
             for _, one in ipairs(all) do
               local bytes = one[1]:gsub('..', function(hex) return string.char(tonumber(hex, 16)) end)
               if vim.iconv(bytes, name, 'utf-8') ~= one[2]
                 or vim.iconv(one[2], 'utf-8', name) ~= bytes then
                 return one
               end
             end",
            (name, ours),
        );
        assert_eq!(other, Json::Null, "{name}");
    }
    door.nvim.quit();
}
