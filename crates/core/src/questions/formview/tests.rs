//! Renders questions and drafts of their answers.

use serde_json::{Value as Json, json};

use super::*;
use crate::spine::ids::{QuestionId, SessionKey};

fn view(ask: Ask) -> ElicitationView {
    ElicitationView {
        id: QuestionId(1),
        session: SessionKey(1),
        title: "bot asks you".into(),
        head: vec![Line::plain("Who?")],
        ask,
        waiting: 0,
    }
}

fn form(properties: Json) -> Ask {
    let schema = json!({ "properties": properties, "required": ["name"] });
    Ask::Form(Form::of_schema(&schema))
}

fn texts(ask: &Ask, draft: &Draft) -> Vec<String> {
    let (lines, rows) = render(&view(ask.clone()), draft, |act| act.name()[..1].to_owned());
    assert_eq!(lines.len(), rows.len());
    lines.into_iter().map(|line| line.text.into()).collect()
}

fn some_fields() -> Ask {
    form(json!({
        "name": { "type": "string", "title": "Name", "description": "as on the door" },
        "tests": { "type": "boolean", "title": "With tests" },
        "colour": { "enum": ["red", "green"], "default": "green" },
        "more": { "type": "array", "items": { "enum": ["a", "b"] } },
        "odd": { "type": "object" },
    }))
}

#[test]
fn a_secret_has_dots_and_a_choice_its_preview() {
    let preview = json!({ "_claude/askUserQuestionOption": { "preview": "  ++\n |  |\n" } });
    let ask = form(json!({
        "name": { "type": "string", "writeOnly": true, "default": "hush" },
        "look": { "oneOf": [{ "const": "a", "_meta": preview }, { "const": "b" }] },
    }));
    let lines = texts(&ask, &Draft::of(&ask));
    let fields = [
        "name *",
        "  ••••",
        "",
        "look",
        "  ( ) a",
        "        ++",
        "       |  |",
        "  ( ) b",
        "",
    ];
    assert_eq!(lines[2..11], fields);
}

#[test]
fn every_field_has_its_lines() {
    let ask = some_fields();
    let mut draft = Draft::of(&ask);
    let Ask::Form(form) = &ask else { panic!() };
    draft.mistakes = form.take(&draft.entries).unwrap_err();
    let want = [
        "Who?",
        "",
        "Name *  as on the door",
        "  …",
        "  ! this is required",
        "",
        "[ ] With tests",
        "",
        "colour",
        "  ( ) red",
        "  (•) green",
        "",
        "more",
        "  [ ] a",
        "  [ ] b",
        "",
        "odd",
        "  (a value of the type \"object\" cannot be entered here)",
        "",
        " s      Submit",
        " d      Decline: the agent is told no",
        " d      Dismiss: neither yes nor no",
    ];
    assert_eq!(texts(&ask, &draft), want);
    draft.write(0, "Ada\nLovelace".into());
    draft.toggle(form, Row::Flag(1));
    draft.toggle(form, Row::Choice(2, 0));
    draft.toggle(form, Row::Choice(3, 0));
    draft.toggle(form, Row::Choice(3, 1));
    let text = texts(&ask, &draft).join("\n");
    assert!(
        text.contains("door\n  Ada\n  Lovelace\n\n[x] With tests"),
        "{text}"
    );
    assert!(text.contains("  (•) red\n  ( ) green"), "{text}");
    assert!(text.contains("  [x] a\n  [x] b"), "{text}");
    draft.toggle(form, Row::Choice(2, 0));
    draft.toggle(form, Row::Choice(3, 0));
    let text = texts(&ask, &draft).join("\n");
    assert!(text.contains("  ( ) red\n  ( ) green"), "{text}");
    assert!(text.contains("  [ ] a\n  [x] b"), "{text}");
}

#[test]
fn a_tab_goes_to_each_field_once_and_to_the_acts() {
    let ask = some_fields();
    let mut draft = Draft::of(&ask);
    draft.write(0, "Ada\nLovelace".into());
    let (_, rows) = render(&view(ask), &draft, |_| String::new());
    let stops: Vec<Row> = stops(&rows, &draft)
        .into_iter()
        .map(|at| rows[at])
        .collect();
    let want = [
        Row::Value(0),
        Row::Flag(1),
        Row::Choice(2, 1),
        Row::Choice(3, 0),
        Row::Value(4),
        Row::Act(Act::Submit),
        Row::Act(Act::Decline),
        Row::Act(Act::Dismiss),
    ];
    assert_eq!(stops, want);
}

#[test]
fn a_question_without_fields_is_answered_yes_or_no() {
    let ask = Ask::Form(Form::default());
    let want = [
        "Who?",
        "",
        " y      Yes",
        " n      No",
        " d      Dismiss: neither yes nor no",
    ];
    assert_eq!(texts(&ask, &Draft::of(&ask)), want);
}

#[test]
fn a_page_shows_where_it_leads_before_it_can_be_opened() {
    let page = |url: &str| Ask::Page {
        page: Page::new(url),
        id: String::new(),
    };
    let ask = page("http://bank.example@evil.example/x");
    let want = [
        "Who?",
        "",
        "http://bank.example@evil.example/x",
        "",
        "It leads to evil.example",
        "The connection to it is not encrypted: others can read what is sent.",
        "The text before the @ is a user name, not the host.",
        "",
        " o      Open it in the browser",
        " c      Copy the address",
        " d      Decline: the agent is told no",
        " d      Dismiss: neither yes nor no",
    ];
    assert_eq!(texts(&ask, &Draft::of(&ask)), want);
    let ask = page("file:///etc/passwd");
    let text = texts(&ask, &Draft::of(&ask)).join("\n");
    assert!(!text.contains("Open it"), "{text}");
}
