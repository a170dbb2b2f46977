//! Session options: mode, model, and any others that the agent offers.
//!
//! The wire has three forms: `configOptions`, the older `modes`, and `models`, which was never
//! stable but is all that some agents have. Here they are one list. Invariant: ids in a list are
//! unique, and each option has a value.

use serde_json::Value;

use super::client::ConfigValue;

/// The ids given to `modes` and `models`, which have none.
const MODE: &str = "mode";
const MODEL: &str = "model";

/// An option of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOption {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// `mode`, `model`, `model_config`, `thought_level`, or an agent's own category.
    pub category: Option<String>,
    pub way: Way,
    pub value: ConfigValue,
    /// The other possible values; empty for a boolean.
    pub choices: Vec<Choice>,
}

/// One of the values of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// The name of its group.
    pub group: Option<String>,
}

/// The method that sets an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `session/set_config_option`.
    Config,
    /// `session/set_mode`.
    Mode,
    /// `session/set_model`, which is not part of the protocol.
    Model,
}

/// The purposes of options that the client handles specially.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Mode,
    Model,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Purpose::Mode => MODE,
            Purpose::Model => MODEL,
        }
    }

    /// Returns the option for this purpose: the one with this id, else the first in this category.
    ///
    /// An agent may have several in a category, such as a provider and a model.
    pub fn find(self, options: &[SessionOption]) -> Option<&SessionOption> {
        self.position(options).and_then(|at| options.get(at))
    }

    pub fn position(self, options: &[SessionOption]) -> Option<usize> {
        let by_id = options.iter().position(|option| option.id == self.name());
        let is_in = |option: &SessionOption| option.category.as_deref() == Some(self.name());
        by_id.or_else(|| options.iter().position(is_in))
    }
}

impl SessionOption {
    /// Returns a mode of which only the id is known.
    pub fn bare_mode(id: String) -> Self {
        older(Purpose::Mode, id, Vec::new())
    }

    /// Returns the current choice.
    pub fn choice(&self) -> Option<&Choice> {
        let ConfigValue::Id(id) = &self.value else {
            return None;
        };
        self.choices.iter().find(|choice| choice.id == *id)
    }

    /// Returns the value as shown to the user.
    pub fn shown(&self) -> &str {
        match &self.value {
            ConfigValue::Boolean(true) => "on",
            ConfigValue::Boolean(false) => "off",
            ConfigValue::Id(id) => self.choice().map_or(id, |choice| &choice.name),
        }
    }
}

/// Reads the options from an answer to `session/new`, `session/load` or `session/resume`.
pub fn session_options(result: &Value) -> Vec<SessionOption> {
    let config = config_options(&result["configOptions"]).unwrap_or_default();
    let modes = &result["modes"];
    let mode = said(&modes["currentModeId"]).map(|id| {
        let choices = list(&modes["availableModes"]).filter_map(|mode| choice(mode, "id", None));
        older(Purpose::Mode, id, choices.collect())
    });
    let models = &result["models"];
    let model = said(&models["currentModelId"]).map(|id| {
        let available = list(&models["availableModels"]);
        let choices = available.filter_map(|model| choice(model, "modelId", None));
        older(Purpose::Model, id, choices.collect())
    });
    with_config(mode.into_iter().chain(model).collect(), config)
}

/// Replaces the config options of a list.
///
/// They take precedence over `modes` and `models`.
pub fn with_config(options: Vec<SessionOption>, config: Vec<SessionOption>) -> Vec<SessionOption> {
    let mut all: Vec<SessionOption> = options
        .into_iter()
        .filter(|option| match option.way {
            Way::Config => false,
            Way::Mode => Purpose::Mode.find(&config).is_none(),
            Way::Model => Purpose::Model.find(&config).is_none(),
        })
        .collect();
    all.extend(config);
    all
}

/// Reads a list of config options; one without an id or a value cannot be set and is left out.
///
/// Returns `None` if `value` is not a list.
pub fn config_options(value: &Value) -> Option<Vec<SessionOption>> {
    let mut options: Vec<SessionOption> = Vec::new();
    for option in value.as_array()?.iter().filter_map(config_option) {
        if options.iter().all(|known| known.id != option.id) {
            options.push(option);
        }
    }
    Some(options)
}

fn config_option(option: &Value) -> Option<SessionOption> {
    let id = said(&option["id"])?;
    let mut choices = Vec::new();
    for item in list(&option["options"]) {
        if item["options"].is_array() {
            let group = said(&item["name"]).or_else(|| said(&item["group"]));
            let of_group = list(&item["options"]);
            choices.extend(of_group.filter_map(|value| choice(value, "value", group.as_deref())));
        } else {
            choices.extend(choice(item, "value", None));
        }
    }
    let value = match &option["currentValue"] {
        Value::Bool(value) if choices.is_empty() => ConfigValue::Boolean(*value),
        Value::Bool(value) => ConfigValue::Id(value.to_string()),
        value => ConfigValue::Id(said(value)?),
    };
    Some(SessionOption {
        name: said(&option["name"]).unwrap_or_else(|| id.clone()),
        description: said(&option["description"]),
        category: said(&option["category"]),
        way: Way::Config,
        value,
        choices,
        id,
    })
}

/// Reads a choice; a bare string is both id and name.
fn choice(value: &Value, key: &str, group: Option<&str>) -> Option<Choice> {
    let id = said(value).or_else(|| said(&value[key]))?;
    Some(Choice {
        name: said(&value["name"]).unwrap_or_else(|| id.clone()),
        description: said(&value["description"]),
        group: group.map(str::to_owned),
        id,
    })
}

fn older(purpose: Purpose, id: String, choices: Vec<Choice>) -> SessionOption {
    let (name, way) = match purpose {
        Purpose::Mode => ("Mode", Way::Mode),
        Purpose::Model => ("Model", Way::Model),
    };
    SessionOption {
        id: purpose.name().to_owned(),
        name: name.to_owned(),
        description: None,
        category: Some(purpose.name().to_owned()),
        way,
        value: ConfigValue::Id(id),
        choices,
    }
}

pub(crate) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a non-empty string, or a number as written.
pub(crate) fn said(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Compares the options of an answer, formatted as `id=value (choices)` after the way they are
    /// set.
    #[track_caller]
    fn check(answer: Value, want: &[&str]) {
        let options = session_options(&answer);
        let shown = options.iter().map(|option| {
            let choices = option.choices.iter().map(|choice| match &choice.group {
                Some(group) => format!("{group}/{}", choice.id),
                None => choice.id.clone(),
            });
            let choices: Vec<String> = choices.collect();
            let (id, value) = (&option.id, option.shown());
            format!("{:?} {id}={value} ({})", option.way, choices.join(" "))
        });
        assert_eq!(shown.collect::<Vec<_>>(), want, "{answer}");
    }

    #[test]
    fn modes_and_models_apply_without_a_config_option_for_them() {
        let modes = json!({
            "currentModeId": "ask",
            "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code"}, {}],
        });
        let models = json!({
            "currentModelId": "m",
            "availableModels": [{"modelId": "m"}, {"modelId": "n", "name": "N"}],
        });
        let config = |id: &str, category: &str| {
            json!([{"id": id, "category": category, "currentValue": "x",
                    "options": [{"value": "x"}]}])
        };
        check(
            json!({"modes": modes, "models": models}),
            &["Mode mode=Ask (ask code)", "Model model=m (m n)"],
        );
        check(
            json!({"modes": modes, "models": models, "configOptions": config("how", "mode")}),
            &["Model model=m (m n)", "Config how=x (x)"],
        );
        check(
            json!({"modes": modes, "models": models, "configOptions": config("model", "other")}),
            &["Mode mode=Ask (ask code)", "Config model=x (x)"],
        );
        check(json!({"modes": null, "configOptions": 3}), &[]);
    }

    #[test]
    fn config_options_that_can_be_set_are_read() {
        let options = json!([
            {"id": "a", "type": "select", "currentValue": "x", "options": ["x", "y"]},
            {"id": "b", "type": "boolean", "currentValue": true},
            {"id": "c", "currentValue": "q", "options": [
                {"group": "g", "name": "G", "options": [{"value": "q", "name": "Q"}]},
                {"group": "h", "options": [{"value": "r"}, {"name": "none"}]},
            ]},
            {"id": "d", "type": "select", "currentValue": false, "options": [{"value": "false"}]},
            {"id": "e", "type": "slider", "currentValue": 3},
            {"id": "a", "currentValue": "again"},
            {"id": "f", "currentValue": null},
            {"name": "no id", "currentValue": "x"},
        ]);
        check(
            json!({"configOptions": options}),
            &[
                "Config a=x (x y)",
                "Config b=on ()",
                "Config c=Q (G/q h/r)",
                "Config d=false (false)",
                "Config e=3 ()",
            ],
        );
    }
}
