//! Attachments of prompts.

use serde_json::{Value, json};

use super::world::{A1, S1, World};
use crate::event::{ConversationEvent, Event, SessionEvent};
use crate::spine::attachment::{Attachment, Content, Image};
use crate::spine::event::{Context, Prompt};
use crate::text::LineEdit;

fn attach(w: &mut World, item: Attachment) {
    w.happens(Event::Session(SessionEvent::Attach {
        session: S1,
        items: vec![item],
    }));
}

fn attach_image(w: &mut World, path: &str) {
    w.happens(Event::Session(SessionEvent::AttachImage {
        session: S1,
        path: Some(path.into()),
    }));
}

/// Answers the pending read of an image with this result.
fn image_comes(w: &mut World, result: Result<&str, &str>) {
    let token = w.images.remove(0);
    let image = |data: &str| Image {
        mime: "image/png",
        data: data.into(),
        bytes: 3,
    };
    w.happens(Event::Conversation(ConversationEvent::ImageRead {
        token,
        result: result.map(image).map_err(str::to_owned),
    }));
}

/// A world whose agent has these prompt capabilities.
fn taking(prompt: &Value) -> World {
    let mut w = World::new();
    w.capabilities = prompt.clone();
    w.opens(1, "bot");
    w.skip();
    w
}

/// Returns the content blocks after the text in the prompt sent last.
fn sent(w: &World) -> Vec<Value> {
    let call = w.agents[&A1].calls.last().expect("a prompt went out");
    let blocks = call.2["prompt"].as_array().expect("blocks");
    blocks[1..].to_vec()
}

fn labels(w: &World) -> Vec<String> {
    w.editor.attached.get(&S1).cloned().unwrap_or_default()
}

#[test]
fn a_file_is_attached_with_its_unsaved_text() {
    let mut w = World::ready();
    w.disk.put("/p/a.rs", "saved\n");
    w.edits(|editor, disk, out| {
        let buf = editor.open("/p/a.rs".as_ref(), disk, out);
        let lines = vec!["not saved".to_owned()];
        let edit = LineEdit {
            start: 0,
            removed: 1,
            lines,
        };
        editor.types(buf, edit, out);
    });
    attach(&mut w, Attachment::file("/p/a.rs"));
    assert_eq!(labels(&w), ["a.rs"]);
    w.prompts("look");
    assert_eq!(labels(&w), [""; 0]);
    let resource = json!({ "uri": "file:///p/a.rs", "text": "not saved\n" });
    assert_eq!(sent(&w)[0]["resource"], resource);
    assert_eq!(w.chat(), "❯ look\n  a.rs");
}

#[test]
fn a_file_without_a_buffer_is_read_when_the_prompt_is_sent() {
    let mut w = World::ready();
    w.disk.put("/p/a.rs", "old\n");
    attach(&mut w, Attachment::file("/p/a.rs"));
    w.prompts("one");
    w.ends_turn("end_turn");
    let mentioned = Prompt {
        text: "look at @a.rs".into(),
        mentioned: vec![Attachment::file("/p/a.rs"), Attachment::file("/p/gone")],
        ..Prompt::default()
    };
    w.disk.put("/p/a.rs", "new\n");
    w.happens(Event::Session(SessionEvent::Prompt {
        session: S1,
        prompt: mentioned,
    }));
    let blocks = sent(&w);
    assert_eq!(blocks[0]["resource"]["text"], "new\n");
    let link = json!({ "type": "resource_link", "uri": "file:///p/gone", "name": "gone" });
    assert_eq!(blocks[1], link);
    // A file that the text names is not listed again below it.
    assert!(w.chat().ends_with("❯ look at @a.rs"), "{}", w.chat());
}

#[test]
fn an_attached_file_that_the_text_names_is_sent_once() {
    let mut w = World::ready();
    w.disk.put("/p/a.rs", "old\n");
    attach(&mut w, Attachment::file("/p/a.rs"));
    w.happens(Event::Session(SessionEvent::Prompt {
        session: S1,
        prompt: Prompt {
            text: "look at @a.rs".into(),
            mentioned: vec![Attachment::file("/p/a.rs")],
            ..Prompt::default()
        },
    }));
    assert_eq!(sent(&w).len(), 1);
}

#[test]
fn an_attached_image_that_the_text_names_is_sent_once() {
    let mut w = taking(&json!({ "image": true }));
    attach_image(&mut w, "/p/shot.png");
    image_comes(&mut w, Ok("YWJj"));
    w.happens(Event::Session(SessionEvent::Prompt {
        session: S1,
        prompt: Prompt {
            text: "look at @shot.png".into(),
            mentioned: vec![Attachment::Image {
                path: Some("/p/shot.png".into()),
                image: Content::Later,
            }],
            ..Prompt::default()
        },
    }));
    assert!(w.images.is_empty());
    assert_eq!(sent(&w).len(), 1);
}

#[test]
fn an_agent_without_embedded_resources_gets_links_and_text() {
    let mut w = taking(&json!({}));
    w.disk.put("/p/a.rs", "x\n");
    attach(&mut w, Attachment::file("/p/a.rs"));
    let lines = Context {
        path: "/p/a.rs".into(),
        rows: 0..1,
        text: "x".into(),
    };
    attach(&mut w, Attachment::Lines(lines));
    w.prompts("look");
    let blocks = sent(&w);
    let link = json!({ "type": "resource_link", "uri": "file:///p/a.rs", "name": "a.rs" });
    assert_eq!(blocks[0], link);
    assert_eq!(blocks[1]["text"], "/p/a.rs:1-1:\n```\nx\n```");
}

#[test]
fn attachments_can_be_removed() {
    let mut w = World::ready();
    for path in ["/p/a", "/p/b", "/p/c", "/p/a"] {
        attach(&mut w, Attachment::file(path));
    }
    assert_eq!(labels(&w), ["a", "b", "c"]);
    let detach = |w: &mut World, which| {
        w.happens(Event::Session(SessionEvent::Detach { session: S1, which }));
    };
    detach(&mut w, Some(1));
    assert_eq!(labels(&w), ["a", "c"]);
    w.skip();
    detach(&mut w, Some(7));
    w.saw(&["Info: There is no attachment 8."]);
    detach(&mut w, None);
    assert_eq!(labels(&w), [""; 0]);
    detach(&mut w, None);
    w.saw(&["Info: Nothing is attached."]);
}

#[test]
fn a_prompt_waits_for_its_image() {
    let mut w = taking(&json!({ "image": true }));
    attach_image(&mut w, "/p/shot.png");
    assert_eq!(labels(&w), ["shot.png …"]);
    w.prompts("look");
    w.saw(&["turn of 1 started"]);
    image_comes(&mut w, Ok("YWJj"));
    w.saw(&["a1 <- session/prompt s1: look + [block]"]);
    let image = json!({
        "type": "image",
        "data": "YWJj",
        "mimeType": "image/png",
        "uri": "file:///p/shot.png",
    });
    assert_eq!(sent(&w), [image]);
}

#[test]
fn an_unreadable_image_is_reported_and_the_prompt_is_sent() {
    let mut w = taking(&json!({ "image": true }));
    attach_image(&mut w, "/p/shot.png");
    image_comes(&mut w, Err("No."));
    assert_eq!(labels(&w), [""; 0]);
    attach_image(&mut w, "/p/shot.png");
    w.prompts("look");
    w.skip();
    image_comes(&mut w, Err("No."));
    w.saw(&["Warn: No.", "a1 <- session/prompt s1: look"]);
}

#[test]
fn an_agent_without_image_support_gets_no_images() {
    let mut w = taking(&json!({}));
    attach_image(&mut w, "/p/shot.png");
    w.saw(&["Warn: The agent \"bot\" accepts no images: nothing was attached."]);
    assert!(w.images.is_empty());
    // An image attached before the agent reported its capabilities.
    let image = Attachment::Image {
        path: None,
        image: Content::Here(Image {
            mime: "image/png",
            data: "YWJj".into(),
            bytes: 3,
        }),
    };
    attach(&mut w, image);
    w.prompts("look");
    assert!(sent(&w).is_empty());
    let told = "The agent accepts no images: 1 image left out.";
    assert!(w.chat().contains(told), "{}", w.chat());
}

#[test]
fn a_diff_is_read_when_the_prompt_is_sent() {
    let mut w = World::ready();
    let diff = Attachment::Diff {
        folder: "/p".into(),
        text: Content::Later,
    };
    for (result, want) in [
        (
            Ok("-a\n+b\n".to_owned()),
            "What has changed since the last commit:\n```diff\n-a\n+b\n```",
        ),
        (
            Ok(String::new()),
            "There is no change since the last commit.",
        ),
    ] {
        attach(&mut w, diff.clone());
        w.prompts("look");
        let token = w.diffs.remove(0);
        w.happens(Event::Conversation(ConversationEvent::DiffRead {
            token,
            result,
        }));
        assert_eq!(sent(&w)[0]["text"], want);
        w.ends_turn("end_turn");
    }
}

#[test]
fn a_cancel_does_not_wait_for_attachments() {
    let mut w = taking(&json!({ "image": true }));
    attach_image(&mut w, "/p/shot.png");
    w.prompts("look");
    w.skip();
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.saw(&["turn of 1 ended: cancelled"]);
    // The image of the next prompt is another one.
    attach_image(&mut w, "/p/other.png");
    w.prompts("again");
    w.saw(&["turn of 1 started"]);
    image_comes(&mut w, Ok("YWJj"));
    w.saw(&[]);
    image_comes(&mut w, Ok("ZGVm"));
    w.saw(&["a1 <- session/prompt s1: again + [block]"]);
    assert_eq!(sent(&w)[0]["data"], "ZGVm");
}
