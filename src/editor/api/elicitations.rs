//! API functions for questions by forms and pages.

use nvim_oxi::mlua::{self, LuaSerdeExt, Table, Value};
use serde_json::{Map, Value as Json, json};

use super::provide;
use crate::editor::nvim;
use crate::editor::state::{send, snapshot};
use acp_core::event::Event;
use acp_core::form::{Ask, Choice, Field, Kind};
use acp_core::questions::Answer;
use acp_core::questions::elicitation::ElicitationAnswer;
use acp_core::spine::ids::QuestionId;
use acp_core::view::snapshot::{QuestionContent, QuestionInfo};

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let list = |()| nvim::list(snapshot().questions.iter().filter_map(elicitation));
    provide(module, "elicitation_list", list)?;
    let answer = |(id, action, content): (u64, String, Value)| {
        let answer = match action.as_str() {
            "accept" => ElicitationAnswer::Accept(read_content(content)?),
            "decline" => ElicitationAnswer::Decline,
            _ => ElicitationAnswer::Cancel,
        };
        let id = QuestionId(id);
        let answer = Answer::Elicitation(answer);
        send(Event::Answer { id, answer });
        Ok(())
    };
    provide(module, "elicitation_answer", answer)
}

/// Reads the content of a form; an empty table is an object at the top, and a list in a field.
fn read_content(content: Value) -> mlua::Result<Map<String, Json>> {
    match nvim::lua().from_value(content)? {
        Json::Object(mut content) => {
            for value in content.values_mut() {
                if value.as_object().is_some_and(Map::is_empty) {
                    *value = Json::Array(Vec::new());
                }
            }
            Ok(content)
        }
        _ => Ok(Map::new()),
    }
}

fn elicitation(open: &QuestionInfo) -> Option<Json> {
    let QuestionContent::Elicitation { message, ask } = &open.content else {
        return None;
    };
    let (mode, fields, url) = match ask {
        Ask::Form(form) => ("form", Some(form.fields.iter().map(field).collect()), None),
        Ask::Page { page, .. } => ("url", None, Some(&page.url)),
    };
    Some(json!({
        "id": open.id,
        "session": open.session.0,
        "message": message,
        "mode": mode,
        "fields": fields.map(Json::Array),
        "url": url,
    }))
}

fn field(field: &Field) -> Json {
    let (kind, choices): (&str, &[Choice]) = match &field.kind {
        Kind::Text => ("string", &[]),
        Kind::Integer => ("integer", &[]),
        Kind::Number => ("number", &[]),
        Kind::Flag => ("boolean", &[]),
        Kind::One(choices) => ("one", choices),
        Kind::Many(choices) => ("many", choices),
        Kind::Unknown(_) => ("unknown", &[]),
    };
    let choice = |choice: &Choice| json!({ "value": choice.value, "title": choice.title });
    let choices: Vec<Json> = choices.iter().map(choice).collect();
    json!({
        "name": field.name,
        "title": field.title,
        "description": field.description,
        "required": field.is_required,
        "type": kind,
        "default": field.default,
        "choices": (!choices.is_empty()).then_some(choices),
    })
}
