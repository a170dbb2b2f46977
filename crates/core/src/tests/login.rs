//! Logging in and out; queued prompts survive both.

use serde_json::{Value, json};

use super::world::{A1, Part, S1, World};
use crate::conversation::history::state::{Query, Wish};
use crate::conversation::login::{LoginStep, Secrets};
use crate::conversation::session::Phase;
use crate::event::{ConversationEvent, Event, SessionEvent};
use crate::spine::ids::{AgentKey, SessionKey};

const S2: SessionKey = SessionKey(2);
const A2: AgentKey = AgentKey(2);

fn refused() -> Result<Value, Value> {
    Err(json!({ "code": -32000, "message": "Authentication required" }))
}

/// Starts an agent's process; it reports its log-in methods.
fn initializes(w: &mut World, agent: AgentKey) {
    initializes_with(w, agent, json!({ "auth": { "logout": {} } }));
}

fn initializes_with(w: &mut World, agent: AgentKey, capabilities: Value) {
    w.agents_move();
    w.settle();
    let answer = json!({
        "protocolVersion": 1,
        "agentCapabilities": capabilities,
        "authMethods": [
            { "id": "web", "name": "Browser", "description": "opens one" },
            { "id": "key", "name": "API key", "type": "env_var", "vars": [{ "name": "BOT_KEY" }] },
            { "id": "tty", "name": "Terminal", "type": "terminal", "args": ["login"] },
        ],
    });
    w.answers(agent, "initialize", Ok(answer));
}

/// A world whose one session waits for a log-in; the test answers for the agent.
fn waiting() -> World {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    initializes(&mut w, A1);
    w.answers(A1, "session/new", refused());
    w.skip();
    w
}

impl World {
    fn logs_in(&mut self, method: &str, step: LoginStep) {
        self.happens(Event::Session(SessionEvent::Login {
            session: S1,
            method: method.into(),
            step,
        }));
    }

    /// The agent opens the session.
    fn opens_it(&mut self, agent: AgentKey, id: &str) {
        self.answers(agent, "session/new", Ok(json!({ "sessionId": id })));
    }
}

#[test]
fn an_unspecific_refusal_keeps_the_agent_for_a_log_in() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    initializes(&mut w, A1);
    let error = json!({ "code": -32603, "message": "no network" });
    w.answers(A1, "session/new", Err(error));
    assert_eq!(w.model.phase(S1), Phase::Waiting);
    let log = w.log.join("\n");
    let told = "could not open a session: no network (-32603). It may want you to log in first.";
    assert!(log.contains(told), "{log}");
    w.skip();
    w.logs_in("web", LoginStep::Ask);
    w.answers(A1, "authenticate", Ok(json!({})));
    w.opens_it(A1, "one");
    assert_eq!(w.model.phase(S1), Phase::Idle);
}

#[test]
fn the_log_in_notice_lists_methods_and_the_command() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    initializes(&mut w, A1);
    w.skip();
    w.answers(A1, "session/new", refused());
    let first = "The agent \"bot\" asks you to log in first (Authentication required).";
    w.saw(&[&format!("Warn: {first}"), "session 1 needs a log-in"]);
    let chat = format!(
        "{first}\n  Browser: opens one\n  API key (BOT_KEY)\n  Terminal\n\
         `:Acp login` does that. What you have written is sent afterwards."
    );
    assert_eq!(w.chat(), chat);
    assert_eq!(w.model.phase(S1), Phase::Waiting);
}

#[test]
fn prompts_are_queued_until_the_log_in() {
    let mut w = waiting();
    w.logs_in("web", LoginStep::Ask);
    w.saw(&["a1 <- authenticate web"]);
    w.prompts("hi");
    w.prompts("and then?");
    let queued = "Info: Queued: the prompt goes out after the log-in.";
    w.saw(&[queued, queued]);
    // The log-in has no time limit.
    w.time_passes();
    w.saw(&[]);
    w.answers(A1, "authenticate", Ok(json!({})));
    w.saw(&["a1 <- session/new /p"]);
    w.opens_it(A1, "s1");
    w.saw(&[
        "session 1 started",
        "turn of 1 started",
        "a1 <- session/prompt s1: hi",
    ]);
    w.ends_turn("end_turn");
    assert!(w.was_told("a1 <- session/prompt s1: and then?"));
}

#[test]
fn a_failed_log_in_shows_the_reason_and_keeps_prompts() {
    let mut w = waiting();
    w.logs_in("web", LoginStep::Ask);
    w.prompts("hi");
    w.skip();
    let error = json!({ "code": -32603, "message": "no browser" });
    w.answers(A1, "authenticate", Err(error));
    w.saw(&["Error: The log-in by \"Browser\" has failed: no browser (-32603)."]);
    assert!(
        w.chat()
            .ends_with("`:Acp login` tries again, or with another method.")
    );
    w.logs_in("web", LoginStep::Ask);
    w.answers(A1, "authenticate", Ok(json!(null)));
    w.opens_it(A1, "s1");
    assert!(w.was_told("a1 <- session/prompt s1: hi"));
}

#[test]
fn a_log_in_can_be_cancelled() {
    let mut w = waiting();
    w.logs_in("web", LoginStep::Ask);
    w.logs_in("web", LoginStep::Ask);
    w.saw(&[
        "a1 <- authenticate web",
        "Warn: A log-in is under way; `:Acp cancel` aborts it.",
    ]);
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.saw(&["a1 <- $/cancel_request"]);
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.saw(&["Info: Nothing is running in this chat."]);
    // The agent's late answer has no effect.
    w.answers(A1, "authenticate", Ok(json!({})));
    w.saw(&[]);
    w.logs_in("web", LoginStep::Ask);
    w.saw(&["a1 <- authenticate web"]);
}

#[test]
fn a_log_in_starts_an_agent_that_is_not_running() {
    let mut w = waiting();
    w.prompts("hi");
    w.happens(Event::Session(SessionEvent::Stop { session: S1 }));
    w.agents_move();
    w.settle();
    w.skip();
    w.logs_in("web", LoginStep::Ask);
    assert!(w.was_told(
        "Warn: The agent \"bot\" was not running and is starting: repeat `:Acp login` once it runs."
    ));
    w.logs_in("web", LoginStep::Ask);
    assert!(w.was_told("Warn: The agent \"bot\" is still starting: repeat"));
    initializes(&mut w, A2);
    w.answers(A2, "session/new", refused());
    w.skip();
    w.logs_in("web", LoginStep::Ask);
    w.saw(&["a2 <- authenticate web"]);
}

#[test]
fn the_notice_mentions_a_browser_only_for_the_agents_own_log_in() {
    let mut w = waiting();
    w.logs_in("web", LoginStep::Ask);
    let web = "Logging in by \"Browser\": the agent may open a browser. `:Acp cancel` aborts it.";
    assert!(w.chat().ends_with(web));
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.logs_in("key", LoginStep::Ask);
    assert!(w.chat().ends_with("Logging in by \"API key\"."));
}

#[test]
fn after_a_log_in_elsewhere_a_prompt_opens_the_session() {
    let mut w = waiting();
    w.prompts("hi");
    w.saw(&["a1 <- session/new /p"]);
    w.answers(A1, "session/new", refused());
    assert_eq!(w.model.phase(S1), Phase::Waiting);
    w.skip();
    w.prompts("again");
    w.saw(&["a1 <- session/new /p"]);
    w.opens_it(A1, "s1");
    assert!(w.was_told("a1 <- session/prompt s1: hi"));
}

#[test]
fn one_log_in_continues_all_sessions_of_a_process() {
    let mut w = waiting();
    w.opens(2, "bot");
    w.answers(A1, "session/new", refused());
    assert_eq!(w.model.phase(S2), Phase::Waiting);
    w.logs_in("web", LoginStep::Ask);
    w.skip();
    w.answers(A1, "authenticate", Ok(json!({})));
    w.opens_it(A1, "s1");
    w.opens_it(A1, "s2");
    w.saw(&[
        "a1 <- session/new /p",
        "a1 <- session/new /p",
        "session 1 started",
        "session 2 started",
    ]);
}

#[test]
fn a_log_in_by_command_sends_no_authenticate() {
    let mut w = waiting();
    w.prompts("hi");
    w.answers(A1, "session/new", refused());
    w.logs_in("tty", LoginStep::Ask);
    assert!(w.was_told("Error: The log-in \"Terminal\" needs a terminal."));
    w.skip();
    w.logs_in("tty", LoginStep::Done);
    w.saw(&["a1 <- session/new /p"]);
    w.opens_it(A1, "s1");
    assert!(w.was_told("a1 <- session/prompt s1: hi"));
}

#[test]
fn an_agent_that_checks_only_at_start_is_restarted_once() {
    let mut w = waiting();
    w.logs_in("tty", LoginStep::Done);
    w.skip();
    w.answers(A1, "session/new", refused());
    w.saw(&["shutdown a1", "spawn bot as a2"]);
    w.agents_move();
    w.settle();
    initializes(&mut w, A2);
    w.answers(A2, "session/new", refused());
    assert!(w.was_told("session 1 needs a log-in"));
    assert_eq!(w.model.phase(S1), Phase::Waiting);
}

/// A world in which the user has entered the bot's key.
fn given() -> World {
    let mut w = waiting();
    w.prompts("hi");
    w.answers(A1, "session/new", refused());
    w.skip();
    let vars = Secrets(vec![("BOT_KEY".into(), "hush".into())]);
    w.logs_in("key", LoginStep::Given(vars));
    w.saw(&["shutdown a1", "spawn bot as a2"]);
    w
}

#[test]
fn a_key_is_passed_to_new_and_later_processes() {
    let mut w = given();
    let key = ("BOT_KEY".to_owned(), "hush".to_owned());
    assert!(
        w.model
            .conversation
            .agent(A2)
            .unwrap()
            .spec()
            .env
            .contains(&key)
    );
    w.goes_on();
    w.saw(&[
        "a2 <- initialize",
        "a2 <- session/new /p",
        "session 1 started",
        "turn of 1 started",
        "a2 <- session/prompt s1: hi",
    ]);
    w.opens(2, "bot");
    w.saw(&["a2 <- session/new /p", "session 2 started"]);
    assert!(!format!("{:?}", w.model.conversation.logins()).contains("hush"));
}

#[test]
fn an_insufficient_key_is_reported_once() {
    let mut w = given();
    w.agents_move();
    w.settle();
    initializes(&mut w, A2);
    w.answers(A2, "session/new", refused());
    w.saw(&[
        "a2 <- initialize",
        "a2 <- session/new /p",
        "a2 <- authenticate key",
    ]);
    w.answers(A2, "authenticate", Ok(json!({})));
    w.answers(A2, "session/new", refused());
    w.saw(&[
        "a2 <- session/new /p",
        "Warn: The agent \"bot\" asks you to log in first (Authentication required).",
        "session 1 needs a log-in",
    ]);
}

#[test]
fn a_refused_prompt_is_sent_again_after_the_log_in() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    initializes(&mut w, A1);
    w.opens_it(A1, "s1");
    w.prompts("hi");
    w.skip();
    w.answers(A1, "session/prompt", refused());
    w.saw(&[
        "turn of 1 ended: error",
        "Warn: The agent \"bot\" asks you to log in first (Authentication required).",
        "session 1 needs a log-in",
    ]);
    assert_eq!(w.model.phase(S1), Phase::Waiting);
    w.logs_in("web", LoginStep::Ask);
    w.skip();
    w.answers(A1, "authenticate", Ok(json!({})));
    w.saw(&["turn of 1 started", "a1 <- session/prompt s1: hi"]);
}

#[test]
fn logging_out_calls_the_agent_and_drops_typed_keys() {
    let mut w = given();
    w.goes_on();
    w.holds(Part::Agents);
    let answer = json!({ "stopReason": "end_turn" });
    w.answers(A2, "session/prompt", Ok(answer));
    w.skip();
    w.happens(Event::Session(SessionEvent::Logout { session: S1 }));
    w.saw(&[]);
    assert!(
        w.chat()
            .contains("The keys you have typed to log in are forgotten.")
    );
    assert!(w.session(S1).spec().env.is_empty());
    w.happens(Event::Session(SessionEvent::Logout { session: S1 }));
    w.saw(&["Warn: The agent \"bot\" has no log-out: use its own command in a terminal."]);
    let mut w = waiting();
    w.happens(Event::Session(SessionEvent::Logout { session: S1 }));
    w.saw(&["a1 <- logout"]);
    w.answers(A1, "logout", Ok(json!({})));
    assert!(
        w.chat()
            .ends_with("Logged out. `:Acp login` logs in again.")
    );
    w.happens(Event::Session(SessionEvent::Logout { session: S1 }));
    let error = json!({ "code": -32603, "message": "no" });
    w.answers(A1, "logout", Err(error));
    assert!(w.was_told("Error: The log-out has failed: no (-32603)."));
}

#[test]
fn an_agent_without_log_in_methods_gets_a_notice_with_next_steps() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    w.agents_move();
    w.settle();
    w.answers(A1, "initialize", Ok(json!({ "protocolVersion": 1 })));
    w.answers(A1, "session/new", refused());
    assert!(w.chat().ends_with(
        "It offers no log-in here: log in with its own command in a terminal, then send your \
         next prompt. What you have written is kept."
    ));
    w.skip();
    w.logs_in("web", LoginStep::Ask);
    w.saw(&["Error: The agent \"bot\" has no log-in \"web\"; `:Acp login` lists them."]);
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    w.saw(&["shutdown a1"]);
}

#[test]
fn a_session_whose_only_prompt_was_refused_is_new_in_the_next_process() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    initializes_with(&mut w, A1, json!({ "loadSession": true }));
    w.opens_it(A1, "s1");
    w.prompts("hi");
    w.answers(A1, "session/prompt", refused());
    let vars = Secrets(vec![("BOT_KEY".into(), "hush".into())]);
    w.logs_in("key", LoginStep::Given(vars));
    w.agents_move();
    w.settle();
    w.skip();
    initializes_with(&mut w, A2, json!({ "loadSession": true }));
    w.saw(&["a2 <- initialize", "a2 <- session/new /p"]);
}

#[test]
fn a_list_that_an_unused_agent_owes_is_answered_when_it_is_renewed() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    initializes_with(&mut w, A1, json!({ "sessionCapabilities": { "list": {} } }));
    w.answers(A1, "session/new", refused());
    let wish = Wish::List(Query::default());
    w.happens(Event::Conversation(ConversationEvent::Wish {
        number: 1,
        wish,
    }));
    assert!(w.was_told("session/list"));
    assert!(!w.granted.contains_key(&1));
    let vars = Secrets(vec![("BOT_KEY".into(), "hush".into())]);
    w.logs_in("key", LoginStep::Given(vars));
    assert!(w.granted.contains_key(&1));
    w.time_passes();
    w.skip();
}
