//! Steps of a random story.

use proptest::prelude::*;
use serde_json::{Value, json};

/// An agent's ability with sessions of the past.
#[derive(Debug, Clone, Copy)]
pub enum Can {
    Forget,
    Load,
    Resume,
}

pub fn can() -> impl Strategy<Value = Can> {
    prop_oneof![Just(Can::Forget), Just(Can::Load), Just(Can::Resume)]
}

/// One random step.
#[derive(Debug, Clone)]
pub enum Step {
    // The agent.
    Chunk(&'static str, String),
    Update(Value),
    Print(String),
    Ask(u32, &'static str),
    Elicit(u32, &'static str),
    TakeBack(u32),
    Read(usize, Option<u32>, Option<u32>),
    /// A file, and edits of it: start, lines removed, lines added.
    Write(usize, Vec<(usize, usize, usize)>),
    /// The agent asks for permission to write a file with these edits.
    Propose(usize, Vec<(usize, usize, usize)>),
    /// The agent makes the proposed write, allowed or not.
    Carry(usize),
    Answer(usize, u8),
    /// The agent makes a request about a terminal, given by number.
    Terminal(&'static str, u32),
    Crash,
    /// An event about one of the calls of Neovim's tools.
    Tool(&'static str, u64),
    /// A tool's handler writes: as `Write`, for one of the calls.
    ToolWrite(u64, usize, Vec<(usize, usize, usize)>),
    // The editor and the host.
    Editor(usize),
    Disk(usize),
    Agents,
    /// A command starts, or a killed one ends.
    Pty,
    /// A running command prints, or ends.
    Prints(usize, &'static str),
    Ends(usize),
    /// The shadow looks at the disk.
    Look,
    /// The shadow takes a checkpoint.
    Check,
    /// The shadow reports its next event.
    Tell,
    Time,
    Broken(usize, bool),
    Foreign(usize, usize),
    /// The agent or one of its commands writes to disk: as `Write`.
    Shell(usize, Vec<(usize, usize, usize)>),
    /// The agent deletes a file, or changes its mode, its bytes or its line ends.
    Whole(usize, &'static str),
    // The user.
    User(&'static str),
    Type(usize, usize, usize, usize),
    Buffer(usize, &'static str),
}

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => agent(),
        3 => terminals(),
        3 => tools(),
        4 => files(),
        4 => goes_on(),
        5 => user(),
    ]
}

/// Steps on one file, several at the same time: `Step::Disk(1)` is the file by its other name.
/// Turns in which the user types into an agent's pending hunks, and the agent changes them again.
pub fn step_of_turns() -> impl Strategy<Value = Step> {
    let at = || (0..9usize, 0..3usize, 1..4usize);
    let many = || proptest::collection::vec(at(), 1..3);
    prop_oneof![
        6 => at().prop_map(|(start, removed, added)| Step::Type(0, start, removed, added)),
        5 => Just(Step::Read(0, None, None)),
        5 => many().prop_map(|places| Step::Write(0, places)),
        5 => many().prop_map(|places| Step::Shell(0, places)),
        1 => Just(Step::Buffer(0, "undo")),
        2 => Just(Step::User("prompt")),
        2 => Just(Step::Answer(0, 3)),
        4 => (1..5usize).prop_map(Step::Editor),
        4 => Just(Step::Disk(0)),
        4 => Just(Step::Agents),
        4 => Just(Step::Check),
        4 => Just(Step::Tell),
    ]
}

pub fn step_of_one_file() -> impl Strategy<Value = Step> {
    let places = || (0..9usize, 0..3usize, 0..3usize);
    let many = || proptest::collection::vec(places(), 1..3);
    let decision = prop_oneof![
        2 => Just("accept"),
        2 => Just("reject"),
        1 => Just("accept row"),
        1 => Just("reject row"),
        1 => Just("accept turn"),
        1 => Just("reject turn"),
        1 => Just("undo turn"),
        1 => Just("turn back"),
        1 => Just("list undo"),
        1 => Just("prompt"),
        1 => Just("yes"),
    ];
    let buffer = prop_oneof![
        3 => Just("open"),
        1 => Just("undo"),
        1 => Just("save"),
        1 => Just("wipe"),
        1 => Just("reload"),
        2 => Just("tick"),
    ];
    prop_oneof![
        3 => Just(Step::Read(0, None, None)),
        4 => many().prop_map(|places| Step::Write(0, places)),
        1 => many().prop_map(|places| Step::Propose(0, places)),
        1 => Just(Step::Carry(0)),
        2 => many().prop_map(|places| Step::Shell(0, places)),
        2 => (0..9usize).prop_map(|start| Step::Foreign(0, start)),
        1 => any::<bool>().prop_map(|broken| Step::Broken(0, broken)),
        1 => Just(Step::TakeBack(3)),
        3 => places().prop_map(|(start, removed, added)| Step::Type(0, start, removed, added)),
        2 => buffer.prop_map(|what| Step::Buffer(0, what)),
        4 => decision.prop_map(Step::User),
        4 => (1..3usize).prop_map(Step::Editor),
        5 => (0..2usize).prop_map(Step::Disk),
        1 => Just(Step::Agents),
        1 => Just(Step::Answer(0, 3)),
        2 => Just(Step::Check),
        2 => Just(Step::Tell),
    ]
}

fn file() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(0usize), 1 => 1..3usize]
}

fn agent() -> impl Strategy<Value = Step> {
    let role = prop_oneof![
        2 => Just("agent_message_chunk"),
        1 => Just("agent_thought_chunk"),
        1 => Just("user_message_chunk"),
    ];
    let text = prop_oneof![
        "[ab*`\n]{0,6}",
        Just("```rust\nfn a() {}\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("do **it".to_owned()),
    ];
    prop_oneof![
        4 => (role, text).prop_map(|(role, text)| Step::Chunk(role, text)),
        3 => update().prop_map(Step::Update),
        1 => odd_line().prop_map(Step::Print),
        2 => (0..3u32, tool()).prop_map(|(id, tool)| Step::Ask(id, tool)),
        1 => (0..3u32, prop_oneof![Just("form"), Just("url")])
            .prop_map(|(id, mode)| Step::Elicit(id, mode)),
        1 => (0..4u32).prop_map(Step::TakeBack),
        3 => (0..4usize, 0..10u8).prop_map(|(at, kind)| Step::Answer(at, kind)),
        1 => Just(Step::Crash),
    ]
}

fn tool() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("t1"), Just("t2"), Just("t3")]
}

fn update() -> impl Strategy<Value = Value> {
    let status = prop_oneof![
        Just("pending"),
        Just("in_progress"),
        Just("completed"),
        Just("failed"),
        Just("odd"),
    ];
    let content = prop_oneof![
        Just(json!([])),
        Just(json!([{ "type": "content", "content": { "type": "text", "text": "out\nput" } }])),
        Just(json!([{ "type": "diff", "path": "/p/f", "oldText": "a\n", "newText": "b\n" }])),
        Just(json!([{ "type": "terminal", "terminalId": "x" }])),
        Just(json!([{ "type": "terminal", "terminalId": "term-1" }])),
    ];
    let meta = prop_oneof![
        Just(json!({ "terminal_info": { "terminal_id": "x" } })),
        Just(json!({ "terminal_output": { "terminal_id": "x", "data": "a\n" } })),
        Just(json!({ "terminal_output_delta": { "terminal_id": "term-1", "data": "b" } })),
        Just(json!({ "terminal_exit": { "exit_code": 1 } })),
        Just(json!({ "else": [1] })),
    ];
    prop_oneof![
        3 => (tool(), status, content).prop_map(|(id, status, content)| json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": id,
            "status": status,
            "content": content,
        })),
        1 => (tool(), meta).prop_map(|(id, meta)| json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": id,
            "_meta": meta,
        })),
        1 => (0..3usize).prop_map(|n| json!({
            "sessionUpdate": "plan",
            "entries": vec![json!({ "content": "x", "status": "completed" }); n],
        })),
        1 => Just(json!({ "sessionUpdate": "session_info_update", "title": "T" })),
        1 => Just(json!({ "sessionUpdate": "unheard_of", "x": [1] })),
    ]
}

fn terminals() -> impl Strategy<Value = Step> {
    let what = prop_oneof![
        4 => Just("create"),
        1 => Just("nowhere"),
        2 => Just("output"),
        3 => Just("wait_for_exit"),
        2 => Just("kill"),
        2 => Just("release"),
    ];
    let text = prop_oneof![Just("one\r\n"), Just("10%\r"), Just("\x1b[1m"), Just("two")];
    prop_oneof![
        8 => (what, 1..3u32).prop_map(|(what, n)| Step::Terminal(what, n)),
        4 => Just(Step::Pty),
        2 => (0..3usize, text).prop_map(|(at, text)| Step::Prints(at, text)),
        1 => (0..3usize).prop_map(Step::Ends),
    ]
}

fn tools() -> impl Strategy<Value = Step> {
    let what = prop_oneof![
        2 => Just("begin look"),
        1 => Just("begin change"),
        3 => Just("use look"),
        4 => Just("use change"),
        1 => Just("use never"),
        1 => Just("use nothing"),
        1 => Just("use wrongly"),
        2 => Just("give up"),
        1 => Just("progress"),
        1 => Just("read"),
        2 => Just("form"),
        3 => Just("done"),
        1 => Just("announce"),
        1 => Just("ask"),
        1 => Just("off"),
        1 => Just("on"),
    ];
    prop_oneof![
        6 => (what, 0..3u64).prop_map(|(what, n)| Step::Tool(what, n)),
        1 => (0..3u64, file(), places()).prop_map(|(n, f, places)| Step::ToolWrite(n, f, places)),
    ]
}

fn odd_line() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,20}",
        Just(r#"{"jsonrpc":"2.0","id":900,"method":"no/such","params":[]}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","id":"901","method":"fs/read_text_file"}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","id":null,"method":"terminal/create","params":{}}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","id":1.5,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":7},"options":[]}}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"x","update":{"sessionUpdate":"plan","entries":[]}}}"#.to_owned()),
    ]
}

fn files() -> impl Strategy<Value = Step> {
    // A limit comes with a start past the first line; otherwise the read might cover the whole
    // file.
    let part = prop_oneof![
        4 => Just((None, None)),
        1 => (0..6u32).prop_map(|line| (Some(line), None)),
        1 => (2..6u32, 0..5u32).prop_map(|(line, limit)| (Some(line), Some(limit))),
    ];
    prop_oneof![
        2 => (file(), places()).prop_map(|(f, places)| Step::Propose(f, places)),
        2 => file().prop_map(Step::Carry),
        2 => (file(), part).prop_map(|(f, (line, limit))| Step::Read(f, line, limit)),
        3 => (file(), places()).prop_map(|(f, places)| Step::Write(f, places)),
        3 => (file(), places()).prop_map(|(f, places)| Step::Shell(f, places)),
        1 => (file(), whole()).prop_map(|(f, what)| Step::Whole(f, what)),
        1 => (file(), any::<bool>()).prop_map(|(f, broken)| Step::Broken(f, broken)),
        1 => (file(), 0..9usize).prop_map(|(f, start)| Step::Foreign(f, start)),
    ]
}

/// Edits of a file: start, lines removed, lines added.
fn places() -> impl Strategy<Value = Vec<(usize, usize, usize)>> {
    let place = (0..9usize, 0..3usize, 0..3usize);
    proptest::collection::vec(place, 0..3)
}

fn whole() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        2 => Just("delete"),
        2 => Just("mode"),
        1 => Just("crlf"),
        1 => Just("bytes"),
    ]
}

fn goes_on() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..5usize).prop_map(Step::Editor),
        6 => file().prop_map(Step::Disk),
        6 => Just(Step::Agents),
        3 => Just(Step::Look),
        6 => Just(Step::Check),
        8 => Just(Step::Tell),
        1 => Just(Step::Time),
    ]
}

fn user() -> impl Strategy<Value = Step> {
    let place = (file(), 0..9usize, 0..3usize, 0..3usize);
    let buffer = prop_oneof![
        3 => Just("open"),
        3 => Just("undo"),
        2 => Just("redo"),
        1 => Just("save"),
        1 => Just("wipe"),
        1 => Just("reload"),
        1 => Just("tick"),
    ];
    let event = prop_oneof![
        4 => Just("prompt"),
        2 => Just("accept"),
        2 => Just("reject"),
        1 => Just("accept row"),
        1 => Just("reject row"),
        1 => Just("accept turn"),
        1 => Just("reject turn"),
        1 => Just("undo turn"),
        1 => Just("turn back"),
        1 => Just("list undo"),
        2 => Just("yes"),
        1 => Just("always"),
        1 => Just("odd"),
        1 => Just("tell"),
        1 => Just("decline"),
        1 => Just("frame"),
        1 => Just("folds"),
        1 => Just("go"),
        1 => Just("watch"),
        1 => Just("unwatch"),
        1 => Just("kill"),
        1 => Just("cancel"),
        1 => Just("interrupt"),
        1 => Just("edit queued"),
        1 => Just("remove queued"),
        1 => Just("move queued"),
        1 => Just("send queued"),
        1 => Just("stop"),
        1 => Just("restart"),
        1 => Just("open"),
        1 => Just("open old"),
        1 => Just("open first"),
        1 => Just("close"),
        1 => Just("rules"),
        1 => Just("no rules"),
    ];
    prop_oneof![
        4 => place.prop_map(|(f, start, removed, added)| Step::Type(f, start, removed, added)),
        3 => (file(), buffer).prop_map(|(f, what)| Step::Buffer(f, what)),
        3 => event.prop_map(Step::User),
    ]
}
