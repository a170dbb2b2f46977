//! Questions of agents to the user; each is answered exactly once.

use serde_json::{Value, json};

use super::world::{A1, Part, S1, World};
use crate::conversation::session::Phase;
use crate::event::{Event, SessionEvent};
use crate::form::Ask;
use crate::questions::Answer;
use crate::questions::elicitation::ElicitationAnswer;
use crate::spine::ids::QuestionId;

fn form(message: &str) -> Value {
    json!({
        "sessionId": "s1", "mode": "form", "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "title": "Name", "minLength": 2 },
                "colour": { "oneOf": [
                    { "const": "r", "title": "Red" }, { "const": "g", "title": "Green" },
                ]},
            },
            "required": ["name"],
        },
    })
}

fn page() -> Value {
    json!({
        "sessionId": "s1", "mode": "url", "message": "Log in",
        "url": "https://example.org/login", "elicitationId": "e1",
    })
}

fn permission() -> Value {
    json!({
        "sessionId": "s1", "toolCall": { "toolCallId": "t", "title": "Run" },
        "options": [{ "optionId": "yes", "name": "Allow", "kind": "allow_once" }],
    })
}

/// Begins a turn in which the agent asks these questions; the ids count from 0.
fn asked(questions: &[Value]) -> World {
    let mut w = World::ready();
    w.prompts("hi");
    for (id, params) in questions.iter().enumerate() {
        let method = match params.get("toolCall") {
            Some(_) => "session/request_permission",
            None => "elicitation/create",
        };
        w.asks(&id.to_string(), method, params);
    }
    w.skip();
    w
}

fn accept(content: Value) -> ElicitationAnswer {
    ElicitationAnswer::Accept(content.as_object().cloned().unwrap_or_default())
}

fn answer(w: &mut World, id: u64, answer: ElicitationAnswer) {
    let id = QuestionId(id);
    w.happens(Event::Answer {
        id,
        answer: Answer::Elicitation(answer),
    });
}

/// Returns the text of the shown question (a form, a page or a permission), and the number of
/// questions behind it.
fn shown(w: &World) -> Option<(String, usize)> {
    let elicitation = w.editor.elicitation.as_ref();
    let elicitation = elicitation.map(|view| (&view.head, view.waiting));
    let permission = w.editor.permission.as_ref();
    let permission = permission.map(|view| (&view.lines, view.waiting));
    let (lines, waiting) = elicitation.or(permission)?;
    let lines: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    Some((lines.join("|"), waiting))
}

const CANCELLED: &str = r#"{"action":"cancel"}"#;

#[test]
fn a_form_is_shown_and_its_content_is_sent() {
    let mut w = asked(&[form("Who are you?")]);
    assert_eq!(shown(&w), Some(("Who are you?".to_owned(), 0)));
    assert_eq!(w.model.phase(S1), Phase::Waiting);
    answer(&mut w, 1, accept(json!({ "name": "Ada", "colour": "g" })));
    w.saw(&[
        r#"a1 <- answer 0 {"action":"accept","content":{"colour":"g","name":"Ada"}}"#,
        "question 1 of 1 answered: accept",
    ]);
    assert_eq!(shown(&w), None);
    assert_eq!(w.model.phase(S1), Phase::Running);
    let told = "Answered: Who are you?\n  Name: Ada\n  colour: Green";
    assert!(w.chat().ends_with(told), "{}", w.chat());
    answer(&mut w, 1, ElicitationAnswer::Decline);
    w.saw(&["Info: That question is no longer open."]);
}

#[test]
fn a_secret_reaches_the_agent_alone() {
    for mark in [
        json!({ "_meta": { "codex": { "isSecret": true } } }),
        json!({ "format": "password" }),
        json!({ "writeOnly": true }),
    ] {
        let mut params = form("Which key?");
        let key = &mut params["requestedSchema"]["properties"]["name"];
        let key = key.as_object_mut().expect("a property");
        key.extend(mark.as_object().cloned().unwrap_or_default());
        let mut w = asked(&[params]);
        answer(&mut w, 1, accept(json!({ "name": "hush" })));
        w.saw(&[
            r#"a1 <- answer 0 {"action":"accept","content":{"name":"hush"}}"#,
            "question 1 of 1 answered: accept",
        ]);
        let told = "Answered: Which key?\n  Name: ••••";
        assert!(w.chat().ends_with(told), "{}", w.chat());
    }
}

#[test]
fn invalid_content_leaves_the_question_open() {
    let mut w = asked(&[form("Who?")]);
    answer(&mut w, 1, accept(json!({ "name": "A", "age": 3 })));
    w.saw(&[
        "Error: This does not answer the question: name: at least 2 characters; age: there is no \
         such field.",
    ]);
    assert_eq!(shown(&w), Some(("Who?".to_owned(), 0)));
}

#[test]
fn a_question_is_declined_or_dismissed() {
    for (said, action, chat) in [
        (ElicitationAnswer::Decline, "decline", "Declined: Who?"),
        (ElicitationAnswer::Cancel, "cancel", "Dismissed: Who?"),
    ] {
        let mut w = asked(&[form("Who?\nSay it.")]);
        answer(&mut w, 1, said);
        w.saw(&[
            &format!(r#"a1 <- answer 0 {{"action":"{action}"}}"#),
            &format!("question 1 of 1 answered: {action}"),
        ]);
        assert!(w.chat().ends_with(chat), "{}", w.chat());
    }
}

#[test]
fn an_opened_page_stays_pending_until_it_is_completed() {
    let mut w = asked(&[page()]);
    let Some(view) = &w.editor.elicitation else {
        panic!("no page is shown");
    };
    assert!(matches!(&view.ask, Ask::Page { page, .. } if page.host == "example.org"));
    answer(&mut w, 1, accept(json!({})));
    w.saw(&[
        r#"a1 <- answer 0 {"action":"accept"}"#,
        "question 1 of 1 answered: accept",
    ]);
    assert!(
        w.chat()
            .ends_with("Opened: https://example.org/login\n  Log in"),
        "{}",
        w.chat()
    );
    let complete = json!({ "elicitationId": "e1" });
    w.notifies(
        A1,
        "elicitation/complete",
        &json!({ "elicitationId": "e2" }),
    );
    w.notifies(A1, "elicitation/complete", &complete);
    assert!(
        w.chat().ends_with("example.org is done, the agent says."),
        "{}",
        w.chat()
    );
    let chat = w.chat();
    w.notifies(A1, "elicitation/complete", &complete);
    assert_eq!(w.chat(), chat);
}

#[test]
fn a_page_completed_elsewhere_closes_its_question() {
    let mut w = asked(&[page()]);
    w.notifies(
        A1,
        "elicitation/complete",
        &json!({ "elicitationId": "e1" }),
    );
    w.saw(&[
        r#"a1 <- answer 0 {"action":"accept"}"#,
        "question 1 of 1 answered: accept",
    ]);
    assert_eq!(shown(&w), None);
}

#[test]
fn questions_are_shown_one_at_a_time_oldest_first() {
    let mut w = asked(&[permission(), form("One?"), form("Two?")]);
    assert_eq!(shown(&w), Some(("tool  Run".to_owned(), 2)));
    w.happens(Event::Answer {
        id: QuestionId(1),
        answer: Answer::Option("yes".into()),
    });
    assert_eq!(shown(&w), Some(("One?".to_owned(), 1)));
    w.asks("7", "session/request_permission", &permission());
    assert_eq!(shown(&w), Some(("One?".to_owned(), 2)));
    answer(&mut w, 3, ElicitationAnswer::Decline);
    assert_eq!(shown(&w), Some(("One?".to_owned(), 1)));
    answer(&mut w, 2, ElicitationAnswer::Decline);
    assert_eq!(shown(&w), Some(("tool  Run".to_owned(), 0)));
    w.happens(Event::Answer {
        id: QuestionId(4),
        answer: Answer::Option("yes".into()),
    });
    assert_eq!(shown(&w), None);
}

#[test]
fn a_cancel_answers_open_and_later_questions() {
    let mut w = asked(&[form("One?"), page()]);
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.asks("7", "elicitation/create", &form("Three?"));
    for id in ["0", "1", "7"] {
        assert_eq!(w.answer(id), &Ok(serde_json::from_str(CANCELLED).unwrap()));
    }
    assert_eq!(shown(&w), None);
    w.ends_turn("cancelled");
    w.asks("8", "elicitation/create", &form("Four?"));
    assert_eq!(shown(&w), Some(("Four?".to_owned(), 0)));
}

#[test]
fn questions_are_answered_when_their_session_ends() {
    let ends: [fn() -> Event; 4] = [
        || Event::Session(SessionEvent::Stop { session: S1 }),
        || Event::Session(SessionEvent::Restart { session: S1 }),
        || Event::Session(SessionEvent::Close { session: S1 }),
        || Event::Quit,
    ];
    for end in ends {
        let mut w = asked(&[form("Who?")]);
        w.holds(Part::Agents);
        w.happens(end());
        assert_eq!(w.answer("0"), &Ok(serde_json::from_str(CANCELLED).unwrap()));
        if w.model.conversation.session(S1).is_some() && w.model.conversation.agent(A1).is_some() {
            w.asks("1", "elicitation/create", &form("Still?"));
            assert_eq!(w.answer("1"), &Ok(serde_json::from_str(CANCELLED).unwrap()));
        }
        assert_eq!(shown(&w), None);
        w.goes_on();
    }
    let mut w = asked(&[form("Who?")]);
    w.exits(A1, "signal 9", &[]);
    assert!(w.was_told("question 1 of 1 answered: cancel"));
    assert_eq!(shown(&w), None);
}

#[test]
fn an_agent_withdraws_its_question() {
    let mut w = asked(&[form("One?"), form("Two?")]);
    w.notifies(A1, "$/cancel_request", &json!({ "requestId": 0 }));
    w.saw(&[
        "a1 <- answer 0 error -32800: \"The request was cancelled\"",
        "question 1 of 1 answered: -",
    ]);
    assert_eq!(shown(&w), Some(("Two?".to_owned(), 0)));
    w.notifies(A1, "$/cancel_request", &json!({ "requestId": 0 }));
    w.saw(&[]);
}

#[test]
fn a_question_is_assigned_to_its_session_or_refused() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    w.agents_move();
    w.settle();
    let initialized = w.usual_answer("initialize");
    w.answers(A1, "initialize", Ok(initialized));
    let id = w.agents[&A1].calls[0].0;
    // One for the request that opens the session, one for a session whose id is not known yet.
    let mut params = form("For the request?");
    params["sessionId"] = Value::Null;
    params["requestId"] = json!(id);
    w.asks("1", "elicitation/create", &params);
    w.asks("2", "elicitation/create", &form("For the session?"));
    params["requestId"] = json!(99);
    w.asks("3", "elicitation/create", &params);
    assert_eq!(shown(&w), Some(("For the request?".to_owned(), 2)));
    w.answers(A1, "session/new", Ok(json!({ "sessionId": "s1" })));
    params = form("For whom?");
    params["sessionId"] = json!("other");
    w.asks("4", "elicitation/create", &params);
    assert!(w.answer("4").is_err());
    for id in 1..=3 {
        answer(&mut w, id, ElicitationAnswer::Decline);
    }
    assert_eq!(shown(&w), None);
}

#[test]
fn the_tool_call_of_a_question_is_shown_and_updated() {
    let mut params = form("Which?");
    params["toolCallId"] = json!("t");
    let mut w = asked(&[params]);
    assert_eq!(shown(&w).unwrap().0, "Which?");
    w.updates(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Deploy", "kind": "execute",
    }));
    assert_eq!(shown(&w).unwrap().0, "execute  Deploy|Which?");
}
