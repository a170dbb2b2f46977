//! Options, from the user's request to the agent's answer.

use serde_json::{Value, json};

use super::agent::Life;
use super::world::{A1, Part, S1, World, spec};
use crate::conversation::options::Setting;
use crate::conversation::session::Phase;
use crate::event::{AgentEvent, Event, SessionEvent};
use crate::questions::Answer;
use crate::spine::event::{AgentSpec, Defaults};
use crate::spine::ids::{AgentKey, QuestionId};
use acp::Purpose;
use acp::client::ConfigValue;

/// Modes in the answer to `session/new`, for agents with `session/set_mode`.
fn modes() -> Value {
    json!({ "sessionId": "s1", "modes": {
        "currentModeId": "ask",
        "availableModes": [
            { "id": "ask", "name": "Ask first" }, { "id": "plan", "name": "Plan" },
            { "id": "yolo", "name": "YOLO" },
        ],
    } })
}

fn option(id: &str, category: &str, value: &str, values: &[&str]) -> Value {
    let values: Vec<Value> = values.iter().map(|id| json!({ "value": id })).collect();
    json!({ "id": id, "category": category, "type": "select", "currentValue": value,
            "options": values })
}

fn config(model: &str, effort: &str) -> Value {
    json!([
        option("model", "model", model, &["big", "small"]),
        option("effort", "thought_level", effort, &["low", "high"]),
        { "id": "web", "type": "boolean", "currentValue": false },
    ])
}

/// A world whose session was opened with this answer; the test answers for the agent.
fn ready(answer: Value) -> World {
    let mut w = starting();
    w.answers(A1, "session/new", Ok(answer));
    w.skip();
    w
}

/// A world whose session waits for the answer to `session/new`.
fn starting() -> World {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    initializes(&mut w, A1);
    w.skip();
    w
}

fn initializes(w: &mut World, agent: AgentKey) {
    w.agents.get_mut(&agent).unwrap().life = Life::Alive;
    w.happens(Event::Agent(AgentEvent::Started { agent, pid: 1 }));
    w.answers(agent, "initialize", Ok(json!({ "protocolVersion": 1 })));
}

fn wishes(w: &mut World, wish: Setting) {
    w.happens(Event::Session(SessionEvent::SetOption {
        session: S1,
        wish,
    }));
}

fn wants_mode(w: &mut World, mode: &str) {
    wishes(w, Setting::Mode(mode.into()));
}

fn wants(w: &mut World, id: &str, value: ConfigValue) {
    let id = id.to_owned();
    wishes(w, Setting::Option { id, value });
}

fn id(value: &str) -> ConfigValue {
    ConfigValue::Id(value.into())
}

/// Returns the values that are shown.
fn shown(w: &World) -> String {
    let snapshot = w.model.snapshot();
    let options = snapshot.sessions[0].options.iter();
    let shown = options.map(|option| format!("{}={}", option.id, option.shown()));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_mode_is_shown_at_once_and_confirmed_by_the_agent() {
    let mut w = ready(modes());
    assert_eq!(w.editor.titles[&S1], "bot · idle · Ask first");
    wants_mode(&mut w, "plan");
    assert_eq!(w.editor.titles[&S1], "bot · idle · Plan");
    assert_eq!(w.chat(), "");
    w.answers(A1, "session/set_mode", Ok(json!({})));
    w.saw(&["a1 <- session/set_mode \"plan\"", "options of 1: mode"]);
    assert_eq!(w.chat(), "The mode is now \"Plan\".");
    // Some agents also send an update; it changes nothing.
    w.updates(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }));
    w.saw(&[]);
    wants_mode(&mut w, "plan");
    w.saw(&[]);
    assert_eq!(w.chat(), "The mode is now \"Plan\".");
}

#[test]
fn a_permission_with_a_modes_name_leads_to_that_mode() {
    let mut w = ready(modes());
    w.prompts("hi");
    for (id, option) in [(1, "no"), (2, "plan")] {
        w.asks(
            &id.to_string(),
            "session/request_permission",
            &json!({
                "sessionId": "s1", "toolCall": { "toolCallId": id.to_string() }, "options": [
                    { "optionId": "plan", "name": "Yes", "kind": "allow_always" },
                    { "optionId": "no", "name": "No", "kind": "reject_once" },
                ],
            }),
        );
        w.happens(Event::Answer {
            id: QuestionId(id),
            answer: Answer::Option(option.into()),
        });
        let mode = if option == "plan" {
            "Plan"
        } else {
            "Ask first"
        };
        let title = &w.editor.titles[&S1];
        assert!(title.ends_with(mode), "{title}");
    }
}

#[test]
fn a_refused_change_is_reverted_with_the_reason() {
    let mut w = ready(modes());
    wants_mode(&mut w, "YOLO");
    let error = json!({ "code": -32603, "message": "not as root" });
    w.answers(A1, "session/set_mode", Err(error));
    w.saw(&[
        "a1 <- session/set_mode \"yolo\"",
        "options of 1: mode",
        "Warn: The agent \"bot\" did not change the mode, which stays \"Ask first\": not as root (-32603).",
        "options of 1: mode",
    ]);
    assert_eq!(shown(&w), "mode=Ask first");
    assert_eq!(w.chat(), "");
}

#[test]
fn an_unanswered_change_affects_only_itself() {
    let mut w = ready(modes());
    wants_mode(&mut w, "plan");
    w.skip();
    w.time_passes();
    w.saw(&[
        "a1 <- $/cancel_request",
        "Warn: The agent \"bot\" did not change the mode, which stays \"Ask first\": no answer for 90 seconds.",
        "options of 1: mode",
    ]);
    assert_eq!(w.model.phase(S1), Phase::Idle);
    w.agents.get_mut(&A1).unwrap().calls.clear();
}

#[test]
fn unknown_modes_and_options_are_not_requested() {
    let mut w = ready(modes());
    wants_mode(&mut w, "code");
    wants(&mut w, "effort", id("high"));
    w.saw(&[
        "Warn: There is no mode \"code\"; use one of ask, plan, yolo.",
        "Warn: The agent has no option \"effort\"; it has mode.",
    ]);
    let mut w = ready(json!({ "sessionId": "s1" }));
    wants_mode(&mut w, "code");
    wishes(&mut w, Setting::NextMode);
    wants(&mut w, "effort", id("high"));
    w.saw(&[
        "Warn: The agent has no modes to choose from.",
        "Warn: The agent has no modes to choose from.",
        "Warn: The agent has no options to set.",
    ]);
}

#[test]
fn cycling_past_a_mode_does_not_request_it() {
    let mut w = ready(modes());
    wishes(&mut w, Setting::NextMode);
    wishes(&mut w, Setting::NextMode);
    assert_eq!(shown(&w), "mode=YOLO");
    wishes(&mut w, Setting::NextMode);
    w.time_passes();
    w.saw(&[
        "options of 1: mode",
        "options of 1: mode",
        "options of 1: mode",
    ]);
    wishes(&mut w, Setting::NextMode);
    w.time_passes();
    w.saw(&["options of 1: mode", "a1 <- session/set_mode \"plan\""]);
    w.answers(A1, "session/set_mode", Ok(json!(null)));
    assert_eq!(w.chat(), "The mode is now \"Plan\".");
}

#[test]
fn a_mode_chosen_before_a_prompt_is_set_before_it() {
    let mut w = ready(modes());
    wishes(&mut w, Setting::NextMode);
    w.prompts("hi");
    w.saw(&[
        "options of 1: mode",
        "turn of 1 started",
        "a1 <- session/set_mode \"plan\"",
        "a1 <- session/prompt s1: hi",
    ]);
    w.says("Hel");
    w.answers(A1, "session/set_mode", Ok(json!({})));
    w.says("lo");
    assert_eq!(w.chat(), "❯ hi\n\nHello");
    w.time_passes();
    assert_eq!(shown(&w), "mode=Plan");
    w.ends_turn("end_turn");
}

#[test]
fn the_agents_changes_are_shown_and_announced() {
    let mut w = ready(
        json!({ "sessionId": "s1", "modes": modes()["modes"], "configOptions": config("big", "low") }),
    );
    assert_eq!(shown(&w), "mode=Ask first model=big effort=low web=off");
    w.prompts("hi");
    w.says("I go.");
    w.skip();
    w.updates(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "yolo" }));
    w.updates(
        json!({ "sessionUpdate": "config_option_update", "configOptions": config("small", "low") }),
    );
    w.saw(&["options of 1: mode", "options of 1: model"]);
    assert_eq!(
        w.chat(),
        "❯ hi\n\nI go.\n\nThe agent has changed the mode to \"YOLO\".\n\n\
         The agent has changed the model to \"small\"."
    );
    assert_eq!(w.editor.titles[&S1], "bot · working · YOLO · small");
    w.ends_turn("end_turn");
}

#[test]
fn a_notice_of_a_changed_option_stays_between_chunks_that_stream_in() {
    let chunk = |text: &str| {
        let content = json!({ "type": "text", "text": text });
        json!({ "sessionUpdate": "agent_message_chunk", "content": content })
    };
    let mode = json!({ "sessionUpdate": "current_mode_update", "currentModeId": "yolo" });
    for mode in [mode, chunk("[MODE_UPDATE] yolo")] {
        let mut w = ready(modes());
        w.prompts("hi");
        w.tells_again(
            A1,
            "s1",
            &[chunk("One."), mode, chunk("Two."), chunk(" Three.")],
        );
        w.settle();
        let changed = "The agent has changed the mode to \"YOLO\".";
        assert_eq!(
            w.chat(),
            format!("❯ hi\n\nOne.\n\n{changed}\n\nTwo. Three.")
        );
        w.ends_turn("end_turn");
    }
    // Such a text about a mode that the session does not have is a message.
    let mut w = ready(modes());
    w.prompts("hi");
    w.tells_again(A1, "s1", &[chunk("[MODE_UPDATE] none")]);
    w.settle();
    assert_eq!(w.chat(), "❯ hi\n\n[MODE_UPDATE] none");
    w.ends_turn("end_turn");
}

#[test]
fn an_option_takes_the_answers_value_or_the_requested_one() {
    let mut w = ready(json!({ "sessionId": "s1", "configOptions": config("big", "low") }));
    wants(&mut w, "effort", id("high"));
    w.answers(A1, "session/set_config_option", Ok(json!({})));
    assert_eq!(shown(&w), "model=big effort=high web=off");
    wants(&mut w, "web", id("on"));
    w.answers(A1, "session/set_config_option", Ok(json!(null)));
    assert_eq!(shown(&w), "model=big effort=high web=on");
    w.skip();
    wants(&mut w, "model", id("small"));
    // Another model has other options.
    let rest = json!({ "configOptions": [option("model", "model", "small", &["big", "small"])] });
    w.answers(A1, "session/set_config_option", Ok(rest));
    w.saw(&[
        "a1 <- session/set_config_option \"model\" \"small\"",
        "options of 1: model",
        "options of 1: effort web",
    ]);
    assert_eq!(shown(&w), "model=small");
    assert_eq!(w.chat(), "The model is now \"small\".");
}

#[test]
fn the_last_of_several_requests_is_shown() {
    let mut w = ready(json!({ "sessionId": "s1", "configOptions": config("big", "low") }));
    wants(&mut w, "effort", id("high"));
    wants(&mut w, "model", id("small"));
    wants(&mut w, "effort", id("low"));
    let answer = json!({ "configOptions": config("big", "high") });
    w.answers(A1, "session/set_config_option", Ok(answer));
    assert_eq!(shown(&w), "model=small effort=low web=off");
    let error = json!({ "code": 1, "message": "no" });
    w.answers(A1, "session/set_config_option", Err(error));
    assert_eq!(shown(&w), "model=big effort=low web=off");
    w.answers(A1, "session/set_config_option", Ok(json!({})));
    assert_eq!(shown(&w), "model=big effort=low web=off");
}

#[test]
fn a_mode_in_the_config_options_is_set_as_an_option() {
    let mut options = config("big", "low");
    options[1] = option("how", "mode", "ask", &["ask", "plan"]);
    let mut w =
        ready(json!({ "sessionId": "s1", "modes": modes()["modes"], "configOptions": options }));
    wants_mode(&mut w, "plan");
    w.answers(A1, "session/set_config_option", Ok(json!({})));
    w.saw(&[
        "a1 <- session/set_config_option \"how\" \"plan\"",
        "options of 1: how",
    ]);
    // An agent may report it by the update for the older modes.
    w.updates(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "ask" }));
    assert_eq!(w.session(S1).options().id_of(Purpose::Mode), Some("ask"));
}

#[test]
fn legacy_models_are_set_by_session_set_model() {
    let mut w = ready(json!({ "sessionId": "s1", "models": {
        "currentModelId": "a", "availableModels": [{ "modelId": "a" }, { "modelId": "b", "name": "B" }],
    } }));
    wants(&mut w, "model", id("b"));
    let error = json!({ "code": -32601, "message": "no such method" });
    w.answers(A1, "session/set_model", Err(error));
    assert!(w.was_told("a1 <- session/set_model \"b\""));
    assert!(w.was_told("did not change the model, which stays \"a\": no such method"));
    assert_eq!(shown(&w), "model=a");
}

#[test]
fn a_mode_requested_before_the_session_is_set_before_the_first_prompt() {
    let mut w = starting();
    wants_mode(&mut w, "plan");
    wishes(&mut w, Setting::NextMode);
    w.prompts("hi");
    w.answers(A1, "session/new", Ok(modes()));
    w.saw(&[
        "Info: The option will be set once the session is open.",
        "Info: The session is still opening: its modes are not known yet.",
        "session 1 started",
        "a1 <- session/set_mode \"plan\"",
        "turn of 1 started",
        "options of 1: mode",
        "a1 <- session/prompt s1: hi",
    ]);
    w.answers(A1, "session/set_mode", Ok(json!({})));
    w.ends_turn("end_turn");
}

#[test]
fn the_users_settings_are_restored_after_a_restart() {
    let mut w = ready(modes());
    wants_mode(&mut w, "plan");
    w.answers(A1, "session/set_mode", Ok(json!({})));
    w.exits(A1, "signal 9", &[]);
    assert_eq!(shown(&w), "mode=Plan");
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    let agent = AgentKey(2);
    initializes(&mut w, agent);
    w.skip();
    w.answers(agent, "session/new", Ok(modes()));
    w.saw(&["session 1 started", "a2 <- session/set_mode \"plan\""]);
    assert_eq!(shown(&w), "mode=Plan");
    w.answers(agent, "session/set_mode", Ok(json!({})));
    assert_eq!(w.chat().matches("mode").count(), 1, "{}", w.chat());
    // If the new session already has the value, nothing is set.
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    let agent = AgentKey(3);
    initializes(&mut w, agent);
    w.skip();
    let mut answer = modes();
    answer["modes"]["currentModeId"] = json!("plan");
    w.answers(agent, "session/new", Ok(answer));
    w.saw(&["session 1 started"]);
}

/// A world whose session's config has these values; it waits for the answer to `session/new`.
fn starting_with(defaults: Defaults) -> World {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens_as(
        1,
        AgentSpec {
            defaults,
            ..spec("bot")
        },
    );
    initializes(&mut w, A1);
    w.skip();
    w
}

fn effort_of(model: &str) -> Defaults {
    Defaults {
        model: Some(model.into()),
        options: vec![("effort".into(), id("high")), ("web".into(), id("on"))],
        ..Defaults::default()
    }
}

#[test]
fn the_configs_values_are_set_one_by_one_before_the_first_prompt() {
    let mut w = starting_with(effort_of("small"));
    w.prompts("hi");
    w.answers(A1, "session/new", Ok(json!({
        "sessionId": "s1", "configOptions": [option("model", "model", "big", &["big", "small"])],
    })));
    // The other model has more options.
    w.saw(&[
        "session 1 started",
        "a1 <- session/set_config_option \"model\" \"small\"",
        "options of 1: model",
    ]);
    let answer = json!({ "configOptions": config("small", "low") });
    w.answers(A1, "session/set_config_option", Ok(answer));
    w.saw(&[
        "a1 <- session/set_config_option \"effort\" \"high\"",
        "options of 1: effort web",
    ]);
    let refusal = json!({ "code": -32603, "message": "too dear" });
    w.answers(A1, "session/set_config_option", Err(refusal));
    w.skip();
    w.answers(A1, "session/set_config_option", Ok(json!({})));
    assert_eq!(shown(&w), "model=small effort=low web=on");
    w.saw(&["turn of 1 started", "a1 <- session/prompt s1: hi"]);
    w.ends_turn("end_turn");
    // The window bar shows them; the transcript has nothing to add.
    assert!(!w.chat().contains(" is now "), "{}", w.chat());
}

#[test]
fn remembered_values_are_set_where_the_config_has_none() {
    let mut w = World::new();
    w.holds(Part::Agents);
    let remembered = Defaults {
        mode: Some("none".into()),
        // The config names the same option by its purpose.
        options: vec![("model".into(), id("big")), ("web".into(), id("on"))],
        ..Defaults::default()
    };
    let defaults = Defaults {
        model: Some("small".into()),
        ..Defaults::default()
    };
    w.opens_as(
        1,
        AgentSpec {
            defaults,
            awaits_remembered: true,
            ..spec("bot")
        },
    );
    initializes(&mut w, A1);
    w.prompts("hi");
    w.skip();
    let answer = json!({ "sessionId": "s1", "configOptions": config("small", "low") });
    w.answers(A1, "session/new", Ok(answer));
    // The prompt waits until they are read.
    w.saw(&["session 1 started", "options of 1: model effort web"]);
    let remembers = |w: &mut World, values: &Defaults| {
        w.happens(Event::Session(SessionEvent::Remembered {
            session: S1,
            values: Box::new(values.clone()),
        }));
    };
    remembers(&mut w, &remembered);
    w.saw(&[
        "a1 <- session/set_config_option \"web\" true",
        "options of 1: web",
    ]);
    remembers(&mut w, &remembered);
    w.saw(&[""; 0]);
    w.answers(A1, "session/set_config_option", Ok(json!({})));
    assert_eq!(shown(&w), "model=small effort=low web=on");
    w.saw(&["turn of 1 started", "a1 <- session/prompt s1: hi"]);
    let text = "`mode` as remembered for the agent \"bot\": The agent has no modes";
    assert_eq!(w.chat().matches(text).count(), 1, "{}", w.chat());
}

#[test]
fn a_configured_value_that_the_agent_lacks_is_one_notice_with_those_it_has() {
    let mut w = starting_with(Defaults {
        mode: Some("yes".into()),
        model: Some("big".into()),
        options: vec![("effort".into(), id("high"))],
    });
    w.prompts("hi");
    w.answers(A1, "session/new", Ok(modes()));
    w.saw(&[
        "session 1 started",
        "turn of 1 started",
        "options of 1: mode",
        "a1 <- session/prompt s1: hi",
    ]);
    w.ends_turn("end_turn");
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    initializes(&mut w, AgentKey(2));
    w.answers(AgentKey(2), "session/new", Ok(modes()));
    let chat = w.chat();
    for (key, why) in [
        (
            "mode",
            "There is no mode \"yes\"; use one of ask, plan, yolo.",
        ),
        ("model", "The agent has no models to choose from."),
        (
            "options.effort",
            "The agent has no option \"effort\"; it has mode.",
        ),
    ] {
        let text = format!("`agents.bot.{key}` in the configuration: {why}");
        assert_eq!(chat.matches(&text).count(), 1, "{text}\n{chat}");
    }
}

#[test]
fn what_the_user_chooses_is_above_the_config_and_outlives_a_restart() {
    let plan = || Defaults {
        mode: Some("Plan".into()),
        ..Defaults::default()
    };
    let mut w = starting_with(plan());
    wants_mode(&mut w, "yolo");
    w.answers(A1, "session/new", Ok(modes()));
    w.answers(A1, "session/set_mode", Ok(json!({})));
    assert_eq!(shown(&w), "mode=YOLO");
    assert_eq!(w.agents[&A1].calls, []);
    // A session that has lost the config's value gets it again.
    let mut w = starting_with(plan());
    w.answers(A1, "session/new", Ok(modes()));
    w.answers(A1, "session/set_mode", Ok(json!({})));
    w.exits(A1, "signal 9", &[]);
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    initializes(&mut w, AgentKey(2));
    w.skip();
    w.answers(AgentKey(2), "session/new", Ok(modes()));
    w.saw(&["session 1 started", "a2 <- session/set_mode \"plan\""]);
}

#[test]
fn a_prompt_waits_for_a_configured_value_as_long_as_for_any_answer() {
    let mut w = starting_with(effort_of("small"));
    w.prompts("hi");
    w.answers(
        A1,
        "session/new",
        Ok(json!({ "sessionId": "s1", "configOptions": config("big", "high") })),
    );
    w.exits(A1, "signal 9", &[]);
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    initializes(&mut w, AgentKey(2));
    w.answers(
        AgentKey(2),
        "session/new",
        Ok(json!({ "sessionId": "s1", "configOptions": config("small", "high") })),
    );
    w.skip();
    w.answers(AgentKey(2), "session/set_config_option", Ok(json!({})));
    w.saw(&["turn of 1 started", "a2 <- session/prompt s1: hi"]);
}
