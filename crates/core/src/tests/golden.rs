//! Snapshots of the screen: each line followed by its spans, and the folds at the end.

use serde_json::json;

use super::world::{A1, S1, World};
use crate::event::{AgentEvent, Event, SessionEvent};
use crate::questions::Answer;
use crate::spine::attachment::Attachment;
use crate::spine::event::{Context, Prompt};
use crate::spine::ids::QuestionId;
use crate::spine::view::{FoldState, Line, Link, PermissionView};
use crate::text::LineEdit;
use acp::Message;

/// Compares a picture with the snapshot of this name.
fn check(name: &str, picture: &str) {
    insta::with_settings!({
        prepend_module_to_snapshot => false,
        snapshot_path => "snapshots",
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, picture);
    });
}

fn drawn(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        out.push_str(&format!("|{}\n", line.text));
        for span in &line.spans {
            let (start, end) = (span.start as usize, span.end as usize);
            let indent = line.text[..start].chars().count();
            let marks = "^".repeat(line.text[start..end].chars().count());
            out.push_str(&format!(" {:indent$}{marks} {}\n", "", span.group));
        }
    }
    out
}

/// Returns the first session's title, transcript and folds, and its plan in the panel.
fn chat(w: &World) -> String {
    let chat = &w.editor.chats[&S1];
    let folds: Vec<String> = chat
        .folds
        .iter()
        .map(|(start, end, state)| match state {
            FoldState::Closed => format!("{}-{}", start + 1, end),
            FoldState::Open => format!("{}-{} (open)", start + 1, end),
        })
        .collect();
    let plan = w.editor.plans.get(&S1).map_or_else(String::new, |view| {
        format!("\nplan, at {}:\n{}", view.current, drawn(&view.lines))
    });
    format!(
        "{}\n\n{}\nfolds: {}\n{plan}",
        w.editor.titles[&S1],
        drawn(&chat.lines),
        folds.join(", ")
    )
}

fn permission(view: &PermissionView) -> String {
    let mut out = format!(
        "{} (+{})\n\n{}\n",
        view.title,
        view.waiting,
        drawn(&view.lines)
    );
    for option in &view.options {
        let key = option.key.unwrap_or('-');
        let (name, id) = (&option.name, &option.option);
        out.push_str(&format!("[{key}] {name} = {id} ({})\n", option.group));
    }
    out
}

fn chunk(w: &mut World, role: &str, content: &serde_json::Value) {
    w.updates(json!({ "sessionUpdate": role, "content": content }));
}

fn says(w: &mut World, role: &str, text: &str) {
    chunk(w, role, &json!({ "type": "text", "text": text }));
}

#[test]
fn messages_of_every_role() {
    let mut w = World::ready();
    let prompt = Prompt {
        text: "Look at **this**\nand `that`".into(),
        attached: vec![Attachment::Lines(Context {
            path: "/p/f.rs".into(),
            rows: 0..3,
            text: "x".into(),
        })],
        ..Prompt::default()
    };
    w.happens(Event::Session(SessionEvent::Prompt {
        session: S1,
        prompt,
    }));
    says(&mut w, "agent_thought_chunk", "Where is *it*?\n\nThere.");
    says(
        &mut w,
        "agent_message_chunk",
        "It is **here**:\n\n```rust\nlet a = 1;\n```\n",
    );
    for content in [
        json!({ "type": "image", "mimeType": "image/png", "data": "YWJj" }),
        json!({ "type": "resource_link", "uri": "file:///p/f", "name": "f" }),
        json!({ "type": "hologram", "x": 1 }),
    ] {
        chunk(&mut w, "agent_message_chunk", &content);
    }
    says(&mut w, "user_message_chunk", "A word in between.");
    w.updates(json!({ "sessionUpdate": "unheard_of", "x": [1] }));
    w.prompts("and then?");
    w.happens(Event::Agent(AgentEvent::Message {
        agent: A1,
        message: Message::TooLong { bytes: 65 << 20 },
    }));
    w.ends_turn("max_tokens");
    w.updates(json!({ "sessionUpdate": "session_info_update", "title": "On f" }));
    check("said", &chat(&w));
}

#[test]
fn a_plan_and_tool_calls_of_every_kind() {
    let mut w = World::ready();
    w.prompts("go");
    let plan = [
        ("high", "completed"),
        ("medium", "in_progress"),
        ("low", "pending"),
    ];
    let entries = plan.map(|(priority, status)| {
        json!({ "content": format!("do {priority}"), "priority": priority, "status": status })
    });
    w.updates(json!({ "sessionUpdate": "plan", "entries": entries }));
    let tools = [
        ("read", "completed", json!({}), json!([])),
        (
            "execute",
            "failed",
            json!({ "command": "make \\\n  test" }),
            json!([
                { "type": "content", "content": { "type": "text", "text": "```\nno rule\n```" } },
            ]),
        ),
        (
            "edit",
            "in_progress",
            json!({ "file_path": "/p/f" }),
            json!([{
                "type": "diff", "path": "/p/f",
                "oldText": "a\nb\nc\nd\ne\nlet x = 1;\ng\n",
                "newText": "a\nb\nc\nd\ne\nlet y = 1;\ng\nh\n",
            }]),
        ),
        (
            "fetch",
            "pending",
            json!({}),
            json!([{ "type": "terminal", "terminalId": "t7" }]),
        ),
        (
            "juggle",
            "pending",
            json!({}),
            json!([{ "type": "balls", "n": 3 }]),
        ),
    ];
    for (at, (kind, status, input, content)) in tools.into_iter().enumerate() {
        w.updates(json!({
            "sessionUpdate": "tool_call", "toolCallId": format!("call {at}"),
            "title": format!("To {kind}"), "kind": kind, "status": status,
            "rawInput": input, "content": content,
            "locations": [{ "path": "/p/f", "line": 3 }],
        }));
    }
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    check("done", &chat(&w));
}

#[test]
fn content_of_every_kind() {
    let mut w = World::ready();
    w.disk
        .put("/p/src/a.rs", "// A\n\nfn a() {\n    b(1);\n}\n");
    w.opens_file("/p/src/a.rs");
    let block = |block: serde_json::Value| json!({ "type": "content", "content": block });
    let calls = [
        json!({
            "title": "Edit\n  a.rs and another", "kind": "edit",
            "content": [
                {
                    "type": "diff", "path": "/p/src/a.rs",
                    "oldText": "fn a() {\n    b(1);\n", "newText": "fn a() {\n    b(2);\n    c();\n",
                },
                { "type": "diff", "path": "/q/new.lua", "oldText": null, "newText": "local a = 1\n" },
                { "type": "diff", "path": "/p/old", "oldText": "[file deleted]", "newText": "" },
            ],
        }),
        json!({
            "title": "Look around", "kind": "search",
            "locations": [{ "path": "/p/src/a.rs", "line": 3 }, { "path": "/q/b", "line": 1 }, { "path": "/p/c" }],
            "content": [
                block(json!({ "type": "text", "text": "**Three** places" })),
                block(json!({ "type": "resource_link", "name": "a.rs", "uri": "file:///p/src/a.rs#L3" })),
                block(json!({ "type": "resource_link", "name": "a page", "uri": "https://x/y" })),
                block(json!({ "type": "resource", "resource": {
                    "uri": "file:///p/notes", "text": (0..12).map(|n| format!("note {n}\n")).collect::<String>(),
                } })),
                block(json!({ "type": "resource", "resource": { "uri": "mem:1", "blob": "AAAA" } })),
            ],
        }),
        json!({
            "title": "Take a picture", "kind": "other",
            "content": [
                block(json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(4000) })),
                block(json!({ "type": "image", "mimeType": "image/png", "data": "", "uri": "file:///p/a%20b.png" })),
                block(json!({ "type": "audio", "mimeType": "audio/wav", "data": "A".repeat(4_000_000) })),
                block(json!({ "type": "smell", "of": "rain" })),
            ],
        }),
        json!({
            "kind": "execute", "rawInput": { "command": (0..203).map(|n| format!("echo {n}\n")).collect::<String>() },
            "rawOutput": (0..203).map(|n| format!("{n}\n")).collect::<String>(),
        }),
        json!({ "title": "Nothing to see", "kind": "think" }),
    ];
    for (at, mut call) in calls.into_iter().enumerate() {
        call["sessionUpdate"] = json!("tool_call");
        call["toolCallId"] = json!(format!("call {at}"));
        call["status"] = json!("completed");
        w.updates(call);
    }
    let picture = chat(&w);
    let is_many = |line: &&str| {
        let text = line
            .trim_start_matches(['|', ' ', '$'])
            .trim_start_matches("echo ");
        text.parse::<u32>().is_ok_and(|n| (3..199).contains(&n))
    };
    let mut lines = picture.lines().peekable();
    let mut short = String::new();
    while let Some(line) = lines.next() {
        if is_many(&line) {
            lines.next_if(|line| line.contains("AcpCommand"));
        } else {
            short.push_str(&format!("{line}\n"));
        }
    }
    let links = w.editor.chats[&S1]
        .lines
        .iter()
        .filter_map(|line| match line.link.as_ref()? {
            Link::Part { .. } => None,
            Link::File { path, row } => {
                Some(format!("{} -> {} {row:?}", line.text, path.display()))
            }
            link => Some(format!("{} -> {link:?}", line.text)),
        });
    short.push_str(&format!("\n{}\n", links.collect::<Vec<_>>().join("\n")));
    check("content", &short);
}

#[test]
fn a_permission_for_an_edit_and_one_for_a_command() {
    let mut w = World::ready();
    w.disk.put("/p/f", "one\ntwo words\n");
    let options = json!([
        { "optionId": "all", "name": "Always", "kind": "allow_always" },
        { "optionId": "one", "name": "Yes", "kind": "allow_once" },
        { "optionId": "no", "name": "No, and say why", "kind": "reject_once" },
        { "optionId": "plan", "name": "Keep planning", "kind": "plan" },
    ]);
    let edit = json!({
        "toolCallId": "e", "title": "Edit f", "kind": "edit",
        "content": [{
            "type": "diff", "path": "/p/f", "oldText": "one\ntwo words\n",
            "newText": "one\ntwo wards\nthree\n",
        }],
    });
    let command = json!({
        "toolCallId": "c", "title": "Run it\nin two lines", "kind": "execute",
        "rawInput": { "command": ["rm", "-rf", "target"], "cwd": "/p" },
        "locations": [{ "path": "/p" }],
    });
    let fetch = json!({ "toolCallId": "f", "kind": "fetch", "rawInput": { "url": "http://x" } });
    let mut pictures = Vec::new();
    for (id, tool) in [edit, command, fetch].into_iter().enumerate() {
        let params = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
        w.asks(&id.to_string(), "session/request_permission", &params);
    }
    for id in 1..4 {
        pictures.push(permission(w.editor.permission.as_ref().unwrap()));
        let option = "no".to_owned();
        let id = QuestionId(id);
        w.happens(Event::Answer {
            id,
            answer: Answer::Option(option),
        });
    }
    check("permissions", &pictures.join("\n---\n\n"));
}

#[test]
fn hunks_of_every_shape() {
    let mut w = World::ready();
    let lines: Vec<String> = (0..14).map(|n| format!("line {n} is here")).collect();
    w.disk.put("/p/f", &format!("{}\n", lines.join("\n")));
    let buf = w.opens_file("/p/f");
    w.asks(
        "1",
        "fs/read_text_file",
        &json!({ "sessionId": "s1", "path": "/p/f" }),
    );
    let mine = LineEdit {
        start: 12,
        removed: 1,
        lines: vec!["the user's own".into()],
    };
    w.edits(|editor, _, out| editor.types(buf, mine, out));
    let mut theirs = lines;
    theirs[12] = "line 12 is theirs".into();
    theirs[9] = "line 9 was here, twice".into();
    theirs.drain(6..8);
    theirs.insert(3, "new\tand long".into());
    theirs[0] = String::new();
    let content = format!("{}\n", theirs.join("\n"));
    let params = json!({ "sessionId": "s1", "path": "/p/f", "content": content });
    w.asks("2", "fs/write_text_file", &params);
    let text = &w.editor.buffers[&buf].text;
    let mut out = String::new();
    for hunk in &w.editor.hunks[&buf] {
        let state = if hunk.conflict { ", conflict" } else { "" };
        out.push_str(&format!("row {}, {} lines{state}\n", hunk.row, hunk.count));
        out.push_str(&drawn(&hunk.removed));
        for row in hunk.row..hunk.row + hunk.count {
            let line = text.line(row).unwrap();
            out.push_str(&format!("+{line}\n"));
            for (_, range) in hunk.words.iter().filter(|word| word.0 == row) {
                let word = &line[range.start as usize..range.end as usize];
                out.push_str(&format!("  changed: {word:?}\n"));
            }
        }
        out.push('\n');
    }
    out.push_str(&format!("title: {}\n", w.editor.titles[&S1]));
    check("hunks", &out);
}
