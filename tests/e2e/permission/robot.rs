//! A robot edits while questions come and go, or while the agent writes to the same file: each key
//! has the same effect as without them, and no question is answered.
//!
//! Without `ACP_ROBOT` it plays a few sessions from a fixed seed, as fast as Neovim takes the keys.
//! `ACP_ROBOT=500` plays as many, with 30 to 300 ms between two keys, as a user types;
//! `ACP_ROBOT=500..900` plays the sessions with these numbers.

use std::env;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use serde_json::to_string;

use super::*;

/// The user's part of the file, below the agent's, whose lines begin with `#`.
const TEXT: &str = "alpha beta gamma\nfor foo in forest\n  indented (one, two)\nlast line here\n";

/// What happens between two keys.
#[derive(Clone, Copy, PartialEq)]
enum Arrivals {
    Questions,
    Edits,
}

/// What a user does, in a file, in the chat's input and in a terminal; each ends in normal mode.
const DEEDS: [&str; 30] = [
    "ihello y1a n<Esc>",
    "A, y and 1<Esc>",
    "ofoo bar<Esc>",
    "Oaya<C-o>0z<Esc>",
    "yyp",
    "dw",
    "d2w",
    "2yyP",
    "\"ayy\"ap",
    "vey$p",
    "VjyGp",
    "<C-v>jIx1y<Esc>",
    "cwya1<Esc>",
    "rn",
    "RAYN1<Esc>",
    "qaA # y<Esc>q@a",
    "qbxq3@b",
    "ofo<C-n><C-n><C-y> 1<Esc>",
    "ofo<C-n><C-e>y<Esc>",
    "oal<C-p><C-y>a<Esc>",
    ":s/e/y1/e<CR>",
    ":normal! Ayan<CR>",
    "/o<CR>ny$P",
    "q:ioy<Esc>:q<CR>",
    "ma10jx'aiy<Esc>",
    "u<C-r>",
    "ggjf1;,",
    "diwPa1<Esc>",
    ":Term<CR>iy1a n<CR><C-\\><C-n>:bd!<CR>",
    "<C-w>lia y1 prompt<Esc>yyp<C-w>t",
];

/// A reproducible sequence of numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
}

/// Cuts deeds into single keys.
fn keys_of(deeds: &[&str]) -> Vec<String> {
    let mut keys = Vec::new();
    for deed in deeds {
        let mut rest = *deed;
        while let Some(first) = rest.chars().next() {
            let len = match rest.find('>') {
                Some(end) if first == '<' => end + 1,
                _ => first.len_utf8(),
            };
            keys.push(rest[..len].to_owned());
            rest = &rest[len..];
        }
    }
    keys
}

/// Returns the deeds that an edit above them does not change: the first line of the file is another
/// one then, and `u` undoes what came last.
fn deeds(arrivals: Arrivals) -> Vec<&'static str> {
    let is_apt =
        |deed: &&str| arrivals == Arrivals::Questions || !["u<C-r>", "ggjf1;,"].contains(deed);
    DEEDS.into_iter().filter(is_apt).collect()
}

/// Returns the file after the agent's `n`th edit.
fn edited(n: usize) -> String {
    let lines: String = (0..=n).map(|n| format!("# {n}\n")).collect();
    format!("{lines}#\n#\n{TEXT}")
}

/// Returns a script that writes to the file when `n` exists, as an agent that has not read it since
/// its last edit.
fn edits(count: usize) -> String {
    let mut script = vec![
        json!({ "options": { "timeout_ms": 600_000 } }).to_string(),
        json!({ "expect": "session/prompt", "as": "p" }).to_string(),
    ];
    for n in 0..count {
        script.push(to_string(&json!({ "wait_file": format!("${{cwd}}/../{n}") })).unwrap());
        let content = edited(n + 1);
        let path = "${cwd}/a.txt";
        script.push(format!(
            r#"{{"write":"{path}","content":{},"as":"w{n}"}}"#,
            json!(content)
        ));
        script.push(format!(r#"{{"await":"w{n}","result":{{"$any":true}}}}"#));
    }
    script.push(to_string(&json!({ "wait_file": "${cwd}/../end" })).unwrap());
    script.push(json!({ "end": "p" }).to_string());
    script.join("\n")
}

/// Returns a script that asks when `n` exists, and withdraws the question when `n-back` does.
fn questions(count: usize) -> String {
    // A session at a user's pace takes a while.
    let mut script = vec![
        json!({ "options": { "timeout_ms": 600_000 } }).to_string(),
        json!({ "expect": "session/prompt", "as": "p" }).to_string(),
    ];
    for n in 0..count {
        let step = json!({ "permission": {
            "toolCallId": format!("t{n}"), "title": format!("Run {n}"), "kind": "execute",
            "rawInput": { "command": "true\n".repeat(1 + n * 7 % 30) },
        }, "id": format!("q{n}"), "as": format!("q{n}") });
        script.push(to_string(&json!({ "wait_file": format!("${{cwd}}/../{n}") })).unwrap());
        script.push(step.to_string());
        script.push(to_string(&json!({ "wait_file": format!("${{cwd}}/../{n}-back") })).unwrap());
        script.push(
            json!({ "notify": "$/cancel_request", "params": { "requestId": format!("q{n}") } })
                .to_string(),
        );
        // Any answer of the user fails here.
        script.push(json!({ "await": format!("q{n}"), "error": { "code": -32800 } }).to_string());
    }
    script.push(to_string(&json!({ "wait_file": "${cwd}/../end" })).unwrap());
    script.push(json!({ "end": "p" }).to_string());
    script.join("\n")
}

/// Returns the sessions to play at a user's pace.
fn by_hand() -> Option<Range<u64>> {
    let wanted = env::var("ACP_ROBOT").ok()?;
    let (first, end) = wanted.split_once("..").unwrap_or(("0", &wanted));
    let number = |text: &str| text.parse().expect("ACP_ROBOT is a number or a range");
    Some(number(first)..number(end))
}

/// What the session leaves behind.
#[track_caller]
fn left(nvim: &Nvim) -> Json {
    nvim.lua(
        "local texts = {}
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          local name = vim.fs.basename(vim.api.nvim_buf_get_name(buf))
          if name == 'a.txt' or name == 'input' then
            local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
            texts[name] = vim.tbl_filter(function(line) return line:sub(1, 1) ~= '#' end, lines)
          end
        end
        local row, column = unpack(vim.api.nvim_win_get_cursor(0))
        local from_end = vim.api.nvim_buf_line_count(0) - row
        return { texts, vim.fn.getreg('\"'), vim.fn.getreg('a'), { from_end, column },
          vim.bo.filetype, vim.fn.histget(':'), vim.fn.histget('/'), _G.typed or '' }",
        (),
    )
}

/// Types the keys; a question comes or goes, or an edit comes, before each key in `moments`.
#[track_caller]
fn play(arrivals: Arrivals, keys: &[String], moments: &[usize], dice: &mut Dice) -> Json {
    let (count, script) = match arrivals {
        Arrivals::Questions => {
            let count = moments.len().div_ceil(2);
            (count, questions(count))
        }
        Arrivals::Edits => (moments.len(), edits(moments.len())),
    };
    let nvim = Project::new()
        .file("a.txt", edited(0))
        .agent("scripted", &script)
        .start();
    nvim.cmd("edit a.txt");
    open(&nvim);
    talk::prompt(&nvim, "hi");
    wait_phase(&nvim, "running");
    // Neovim completes words of other windows too, and those of a question are some.
    nvim.cmd("stopinsert | wincmd t | 4 | set complete=.");
    // A terminal without a process: closing one's pseudoterminal may end a Neovim without a screen.
    nvim.lua(
        "vim.api.nvim_create_user_command('Term', function()
          local buf = vim.api.nvim_create_buf(false, true)
          vim.cmd('split')
          vim.api.nvim_win_set_buf(0, buf)
          vim.api.nvim_open_term(buf, { on_input = function(_, _, _, data)
            _G.typed = (_G.typed or '') .. data
          end })
        end, {})",
        (),
    );
    let mut pace = by_hand().map(|_| Dice(moments.len() as u64));
    let mut done = 0;
    for (at, key) in keys.iter().enumerate() {
        if moments.contains(&at) && arrivals == Arrivals::Edits {
            std::fs::write(nvim.project.root().join(done.to_string()), "").unwrap();
            done += 1;
        } else if moments.contains(&at) {
            let file = if done % 2 == 0 {
                format!("{}", done / 2)
            } else {
                format!("{}-back", done / 2)
            };
            std::fs::write(nvim.project.root().join(file), "").unwrap();
            done += 1;
            // Sometimes the key comes at the same moment, sometimes after it.
            if dice.roll(2) == 0 && !nvim.blocked() {
                let is_asked = done % 2 == 1;
                nvim.wait("the question to come or go", || {
                    list(&nvim).as_array().is_some_and(|open| !open.is_empty()) == is_asked
                });
            }
        }
        if let Some(pace) = &mut pace {
            thread::sleep(Duration::from_millis(30 + pace.roll(270) as u64));
        }
        nvim.keys(key);
        if nvim.blocked() {
            // Neovim answers nothing in the middle of a command.
            continue;
        }
        assert_ne!(here(&nvim), "acp-permission", "after {key:?} of {keys:?}");
    }
    nvim.keys("<C-\\><C-n>");
    let before = left(&nvim);
    assert_ne!(here(&nvim), "acp-permission");
    for n in 0..count {
        for file in [format!("{n}"), format!("{n}-back")] {
            std::fs::write(nvim.project.root().join(file), "").unwrap();
        }
    }
    std::fs::write(nvim.project.root().join("end"), "").unwrap();
    nvim.wait_script("scripted");
    if arrivals == Arrivals::Edits {
        // What waited for the end of a command has come since, and has changed nothing else.
        assert_eq!(left(&nvim), before, "after {keys:?}");
        let text = nvim.lua(
            "return table.concat(vim.fn.getbufline('a.txt', 1, '$'), '\\n')",
            (),
        );
        let text = text.as_str().unwrap_or_default();
        let all = (0..=count).all(|n| text.contains(&format!("# {n}\n")));
        assert!(all, "{text}\nafter {keys:?}");
    }
    nvim.quit();
    before
}

#[test]
fn random_editing_is_the_same_while_questions_come_and_go() {
    check(Arrivals::Questions);
}

#[test]
fn random_editing_is_the_same_while_the_agent_edits_above_it() {
    check(Arrivals::Edits);
}

#[track_caller]
fn check(arrivals: Arrivals) {
    let possible = deeds(arrivals);
    for round in by_hand().unwrap_or(0..6) {
        let mut dice = Dice(round);
        let deeds: Vec<&str> = (0..12)
            .map(|_| possible[dice.roll(possible.len())])
            .collect();
        let keys = keys_of(&deeds);
        let mut moments: Vec<usize> = (0..8).map(|_| dice.roll(keys.len())).collect();
        moments.sort_unstable();
        moments.dedup();
        let alone = play(arrivals, &keys, &[], &mut dice);
        let disturbed = play(arrivals, &keys, &moments, &mut dice);
        assert_eq!(disturbed, alone, "round {round}: {deeds:?} at {moments:?}");
        println!("round {round} is the same");
    }
}
