//! The picture in the README: the screen in the middle of a turn.
//!
//! `make picture` writes it, to the file named in `ACP_PICTURE`. Without that variable this is an
//! ordinary test: it checks that the turn reaches the state in the picture.

use serde_json::json;

use super::harness::Project;

const TEXT: &str = r#"local M = {}

--- Greets somebody.
function M.greet(name)
  return "Hello " .. name
end

--- Adds up a list of numbers.
function M.sum(numbers)
  local total = 0
  for _, number in pairs(numbers) do
    total = total + number
  end
  return total
end

--- Counts the words of a text.
function M.count_words(text)
  local count = 0
  for _ in text:gmatch("%S+") do
    count = count + 1
  end
  return count
end

return M
"#;

/// The agent's changes: a title, the old lines, the new lines.
const CHANGES: [(&str, &str, &str); 3] = [
    (
        "Greet with a format",
        "return \"Hello \" .. name",
        "return (\"Hello, %s!\"):format(name)",
    ),
    ("Sum up lists alone", "in pairs", "in ipairs"),
    (
        "Count in one go",
        "  local count = 0
  for _ in text:gmatch(\"%S+\") do
    count = count + 1
  end
",
        "  local _, count = text:gsub(\"%S+\", \"\")
",
    ),
];

#[test]
fn the_picture_shows_a_turn_with_hunks_and_a_question() {
    let nvim = Project::new()
        .file("text.lua", TEXT)
        .agent("agent", &script())
        .size(114, 32)
        .config("chat", json!({ "width": 0.38, "input_height": 2 }))
        .before("set noruler noshowcmd")
        .start();
    nvim.cmd("edit text.lua");
    nvim.cmd("AcpChat");
    nvim.keys("iTidy up text.lua, then run the tests.<Esc><CR>");
    for text in [
        "1/3",
        "2/3",
        "3/3",
        "waiting for you",
        "3 hunks",
        "$ busted",
        "press <Esc> and a key to answer",
    ] {
        nvim.wait_text(text);
    }
    if let Some(path) = std::env::var_os("ACP_PICTURE") {
        let picture = nvim.screen().to_svg(
            "Neovim: on the left a Lua file in which an agent has changed three places, each with \
             the lines from before above it and the keys to accept or reject it; on the right the \
             chat; in front a window in which the agent asks whether it may run the tests",
        );
        std::fs::write(path, picture).expect("the picture can be written");
    }
    nvim.keys("<Esc>n");
    nvim.quit();
}

/// Returns the turn as steps of a script.
fn script() -> String {
    let plan = |done: usize| {
        let entries = [
            "Read the module",
            "Tidy up three functions",
            "Run the tests",
        ];
        let entries: Vec<_> = (0..)
            .zip(entries)
            .map(|(at, entry)| {
                let status = match at {
                    at if at < done => "completed",
                    at if at == done => "in_progress",
                    _ => "pending",
                };
                json!({ "content": entry, "priority": "medium", "status": status })
            })
            .collect();
        json!({ "update": { "sessionUpdate": "plan", "entries": entries } })
    };
    let path = "${cwd}/text.lua";
    let tool = |id: &str, title: &str, kind: &str| json!({ "tool": { "id": id, "title": title, "kind": kind, "status": "completed" } });
    let mut steps = vec![
        json!({ "expect": "session/prompt", "as": "p1" }),
        json!({ "think": "Small file. Read it, change it, test it." }),
        json!({ "say": "I read `text.lua` first.\n" }),
        plan(0),
        json!({ "read": path, "as": "r1" }),
        json!({ "await": "r1" }),
        tool("r1", "Read text.lua", "read"),
        plan(1),
    ];
    let mut text = TEXT.to_owned();
    for (title, old, new) in CHANGES {
        text = text.replace(old, new);
        steps.extend([
            json!({ "write": path, "content": text, "as": title }),
            json!({ "await": title, "result": {} }),
            tool(title, title, "edit"),
        ]);
    }
    let options = ["Run it", "Run it, always", "Do not run it"];
    let kinds = ["allow_once", "allow_always", "reject_once"];
    let options: Vec<_> = options
        .iter()
        .zip(kinds)
        .map(|(name, kind)| json!({ "optionId": kind, "name": name, "kind": kind }))
        .collect();
    let call = json!({
        "toolCallId": "t1",
        "title": "Run the tests",
        "kind": "execute",
        "rawInput": { "command": "busted --verbose spec/text_spec.lua" },
    });
    steps.extend([
        plan(2),
        json!({
            "say": "Three changes are in your buffer:\n\n\
                    - **greet** uses `format`\n\
                    - **sum** takes lists alone\n\
                    - **count_words** needs no loop\n\nNow the tests."
        }),
        json!({ "permission": call, "options": options, "as": "q1" }),
        json!({ "await": "q1" }),
        json!({ "end": "p1" }),
    ]);
    steps.iter().map(|step| format!("{step}\n")).collect()
}
