//! Options of a session, such as mode and model: as the agent reports them, and as the user wants
//! them.
//!
//! Invariants: until the agent has answered, the value requested last is shown; a refused change
//! leaves the agent's value. While a session's options are unknown no change is requested: it is
//! kept. The config's values, then the remembered ones, are requested in sequence, because a
//! model may change which values other options have; no prompt is sent before.

#[cfg(test)]
mod props;
mod wire;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::spine::event::Defaults;
use crate::spine::pending::Token;
use crate::spine::pending::reply::Timer;
use acp::client::ConfigValue;
use acp::{self, Purpose, SessionOption};

/// A change of an option that the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A mode, by its id or name.
    Mode(String),
    /// A model, by its id or name.
    Model(String),
    /// The mode after the session's current one; after the last one, the first.
    NextMode,
    /// An option by its id, and a value by its id or name.
    Option { id: String, value: ConfigValue },
}

/// Where a value comes from that is requested without the user's doing, with its key there.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Config(String),
    Remembered(String),
}

/// The options of a session.
#[derive(Debug, Default)]
pub struct Options {
    /// The options as the agent reported them.
    held: Vec<SessionOption>,
    /// The same, with the requested values.
    shown: Arc<[SessionOption]>,
    /// The agent has reported the options of this session.
    is_known: bool,
    /// Changes the agent has not answered, oldest first.
    asked: Vec<Change>,
    /// The change the user is still choosing, and the timer after which it is requested.
    choosing: Option<(Change, Token<Timer>)>,
    /// Changes to request once the session is open.
    wishes: Vec<Setting>,
    /// The config's values that have not been requested, then the remembered ones.
    defaults: VecDeque<(Source, Setting)>,
    /// The remembered values have not been read.
    awaits_remembered: bool,
    /// The change to one of them that the agent has not answered.
    asked_default: Option<u64>,
    /// Ids of the options the user has set: kept when the agent is restarted.
    chosen: BTreeSet<String>,
    /// Their values before the restart.
    carried: Vec<(String, ConfigValue)>,
    /// The options that were announced last.
    told: Arc<[SessionOption]>,
    /// The mode and the model according to the transcript.
    said: [Option<ConfigValue>; 2],
    /// Options the user has set since the transcript last mentioned them.
    by_user: BTreeSet<String>,
    next: u64,
}

/// A requested change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    number: u64,
    option: String,
    value: ConfigValue,
}

/// Changes of a session's options since the last report.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OptionChanges {
    /// The ids of options whose shown value changed, or that were removed.
    pub changed: Vec<String>,
    /// Lines for the transcript.
    pub lines: Vec<Line>,
}

/// A sentence about a change of mode or model.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub is_users: bool,
}

impl Options {
    /// Returns the options of a session with values of the config, and remembered ones for the
    /// other options if these follow.
    pub fn with(config: &Defaults, awaits_remembered: bool) -> Self {
        let config = wishes(config).map(|(key, wish)| (Source::Config(key), wish));
        Self {
            defaults: config.collect(),
            awaits_remembered,
            ..Self::default()
        }
    }

    /// Adds the remembered values, once.
    fn remember(&mut self, values: &Defaults) {
        if std::mem::take(&mut self.awaits_remembered) {
            let values = wishes(values).map(|(key, wish)| (Source::Remembered(key), wish));
            self.defaults.extend(values);
        }
    }

    /// Returns whether values are still to be set before a prompt is sent.
    pub fn is_setting_up(&self) -> bool {
        let is_asking = self.asked_default.is_some() || !self.defaults.is_empty();
        self.is_known && (self.awaits_remembered || is_asking)
    }

    /// Takes the next value, first of the config, that the option does not have; what the user has
    /// chosen stays, and the value that the option got before.
    ///
    /// # Errors
    /// The source, and a sentence, if the agent has no such option or value.
    fn take_default(&mut self) -> Option<Result<(SessionOption, ConfigValue), (Source, String)>> {
        while let Some((key, wish)) = self.defaults.pop_front() {
            match self.meant(&wish) {
                Err(why) => return Some(Err((key, why))),
                Ok((option, _)) if self.chosen.contains(&option.id) => {}
                Ok((option, value)) if option.value == value => {
                    // A session that is continued without this value gets it again.
                    self.chosen.insert(option.id);
                }
                Ok(found) => return Some(Ok(found)),
            }
        }
        None
    }

    /// Returns the options with their current or requested values.
    pub fn shown(&self) -> &Arc<[SessionOption]> {
        &self.shown
    }

    /// Returns the option for the mode or the model.
    pub fn of(&self, purpose: Purpose) -> Option<&SessionOption> {
        purpose.find(&self.shown)
    }

    /// Returns the id of the mode or the model.
    pub fn id_of(&self, purpose: Purpose) -> Option<&str> {
        match &self.of(purpose)?.value {
            ConfigValue::Id(id) => Some(id),
            ConfigValue::Boolean(_) => None,
        }
    }

    /// Returns whether the agent can be asked for changes.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Resets the state that belongs to the agent's process: the session will be reopened.
    pub fn begin(&mut self) {
        let lost = self
            .asked
            .drain(..)
            .chain(self.choosing.take().map(|of| of.0));
        self.chosen.extend(lost.map(|change| change.option));
        let kept = self
            .shown
            .iter()
            .filter(|option| self.chosen.contains(&option.id));
        let kept: Vec<_> = kept
            .map(|option| (option.id.clone(), option.value.clone()))
            .collect();
        if !kept.is_empty() {
            self.carried = kept;
        }
        self.is_known = false;
        self.asked_default = None;
        self.by_user.clear();
    }

    /// Applies the options of a session the agent has opened; an agent that resumes a session may
    /// omit unchanged options.
    pub fn opened(&mut self, options: Vec<SessionOption>) {
        self.is_known = true;
        if !options.is_empty() {
            self.held = options;
        }
        self.refresh();
    }

    /// Applies the agent's change of mode.
    pub fn mode_is(&mut self, mode: String) {
        match Purpose::Mode
            .position(&self.held)
            .and_then(|at| self.held.get_mut(at))
        {
            Some(option) => option.value = ConfigValue::Id(mode),
            None => self.held.push(SessionOption::bare_mode(mode)),
        }
        self.refresh();
    }

    /// Applies a permission that the user gave: some agents name an option after the mode that it
    /// leads to, and do not report the change.
    pub fn allowed(&mut self, option: &str) {
        if self.has_mode(option) {
            self.mode_is(option.to_owned());
        }
    }

    /// Returns whether the session has the mode with this id.
    pub fn has_mode(&self, id: &str) -> bool {
        let modes = Purpose::Mode.find(&self.held).into_iter();
        let mut modes = modes.flat_map(|known| &known.choices);
        modes.any(|mode| mode.id == id)
    }

    /// Applies the complete list of config options.
    pub fn config_is(&mut self, config: Vec<SessionOption>) {
        self.held = acp::with_config(std::mem::take(&mut self.held), config);
        self.refresh();
    }

    /// Keeps a change until the session is open.
    pub fn keep(&mut self, wish: Setting) {
        self.wishes.push(wish);
    }

    /// Returns the user's values from before a restart that must be requested again.
    fn take_wishes(&mut self) -> Vec<(SessionOption, ConfigValue)> {
        let carried = std::mem::take(&mut self.carried).into_iter();
        let found = carried.filter_map(|(id, value)| {
            let option = self.held.iter().find(|option| option.id == id)?;
            let value = fitting(option, value)?;
            (option.value != value).then(|| (option.clone(), value))
        });
        found.collect()
    }

    /// Returns the option and the value that a setting names.
    ///
    /// # Errors
    /// A sentence, if there is no such option or value.
    pub fn meant(&self, wish: &Setting) -> Result<(SessionOption, ConfigValue), String> {
        let no_modes = || "The agent has no modes to choose from.".to_owned();
        let (option, value) = match wish {
            Setting::Mode(mode) => {
                let option = self.of(Purpose::Mode).ok_or_else(no_modes)?;
                (option, ConfigValue::Id(mode.clone()))
            }
            Setting::Model(model) => {
                let option = self.of(Purpose::Model);
                let option = option.ok_or("The agent has no models to choose from.")?;
                (option, ConfigValue::Id(model.clone()))
            }
            Setting::NextMode => {
                let option = self.of(Purpose::Mode).ok_or_else(no_modes)?;
                let at = option.choices.iter().position(
                    |choice| matches!(&option.value, ConfigValue::Id(id) if *id == choice.id),
                );
                let next = at.map_or(0, |at| (at + 1) % option.choices.len().max(1));
                let next = option.choices.get(next).ok_or_else(no_modes)?;
                (option, ConfigValue::Id(next.id.clone()))
            }
            Setting::Option { id, value } => {
                let option = self.shown.iter().find(|option| option.id == *id);
                let option = option.ok_or_else(|| no_option(id, &self.shown))?;
                (option, value.clone())
            }
        };
        match fitting(option, value.clone()) {
            Some(value) => Ok((option.clone(), value)),
            None => Err(no_value(option, &value)),
        }
    }

    /// Records a requested change; returns its number.
    fn ask(&mut self, option: &str, value: ConfigValue) -> u64 {
        let change = self.change(option, value);
        let number = change.number;
        self.chosen.insert(change.option.clone());
        self.asked.push(change);
        self.refresh();
        number
    }

    /// Records the change that the user is choosing.
    fn choose(&mut self, option: &str, value: ConfigValue, token: Token<Timer>) {
        let change = self.change(option, value);
        self.choosing = Some((change, token));
        self.refresh();
    }

    /// Takes the chosen change: if this is its timer, or always if `timer` is `None`.
    fn take_chosen(&mut self, timer: Option<Token<Timer>>) -> Option<(SessionOption, ConfigValue)> {
        let due = |of: &mut (Change, Token<Timer>)| timer.is_none_or(|timer| of.1 == timer);
        let (change, _) = self.choosing.take_if(due)?;
        self.refresh();
        let option = self.held.iter().find(|option| option.id == change.option)?;
        Some((option.clone(), change.value))
    }

    fn change(&mut self, option: &str, value: ConfigValue) -> Change {
        self.next += 1;
        // This supersedes a choice in progress for the same option.
        self.choosing.take_if(|of| of.0.option == option);
        Change {
            number: self.next,
            option: option.to_owned(),
            value,
        }
    }

    /// Applies the agent's answer to a change: a refusal, or its config options if it sends them.
    /// Returns the option's previous state, unless the change is no longer pending.
    fn answered(
        &mut self,
        number: u64,
        answer: Result<Option<Vec<SessionOption>>, ()>,
    ) -> Option<SessionOption> {
        let at = self
            .asked
            .iter()
            .position(|change| change.number == number)?;
        let change = self.asked.remove(at);
        let is_default = self.asked_default.take_if(|asked| *asked == number);
        let is_default = is_default.is_some();
        let option = self.held.iter().find(|option| option.id == change.option);
        let option = option.cloned()?;
        if let Ok(config) = answer {
            if !is_default {
                self.by_user.insert(change.option.clone());
            }
            match config {
                Some(config) => {
                    self.held = acp::with_config(std::mem::take(&mut self.held), config)
                }
                None => self.set(&change),
            }
        }
        self.refresh();
        Some(option)
    }

    /// Applies a change that the agent has confirmed without a list of options.
    fn set(&mut self, change: &Change) {
        let mut held = self.held.iter_mut();
        if let Some(option) = held.find(|option| option.id == change.option) {
            option.value = change.value.clone();
        }
    }

    fn refresh(&mut self) {
        let mut shown = self.held.clone();
        let wanted = self
            .asked
            .iter()
            .chain(self.choosing.as_ref().map(|of| &of.0));
        for change in wanted {
            if let Some(option) = shown.iter_mut().find(|option| option.id == change.option) {
                option.value = change.value.clone();
            }
        }
        if *self.shown != *shown {
            self.shown = shown.into();
        }
    }

    /// Returns the changes since the last call.
    fn news(&mut self) -> Option<OptionChanges> {
        let mut news = OptionChanges::default();
        if !Arc::ptr_eq(&self.told, &self.shown) {
            let is_in = |list: &[SessionOption], option: &SessionOption| list.contains(option);
            let came = self
                .shown
                .iter()
                .filter(|option| !is_in(&self.told, option));
            let mut changed: Vec<String> = came.map(|option| option.id.clone()).collect();
            for gone in self.told.iter() {
                if self.shown.iter().all(|option| option.id != gone.id) {
                    changed.push(gone.id.clone());
                }
            }
            news.changed = changed;
            self.told = Arc::clone(&self.shown);
        }
        if self.is_known {
            for (at, purpose) in [Purpose::Mode, Purpose::Model].into_iter().enumerate() {
                let line = self.line(at, purpose);
                news.lines.extend(line);
            }
        }
        (news != OptionChanges::default()).then_some(news)
    }

    /// Returns a line for the transcript about a change of mode or model that it does not yet
    /// mention.
    fn line(&mut self, at: usize, purpose: Purpose) -> Option<Line> {
        let option = purpose.find(&self.held)?;
        let is_asked = self.asked.iter().any(|change| change.option == option.id);
        let said = self.said.get_mut(at)?;
        if is_asked || said.as_ref() == Some(&option.value) {
            return None;
        }
        let is_users = self.by_user.remove(&option.id);
        let is_first = said.replace(option.value.clone()).is_none();
        let (name, value) = (option.name.to_lowercase(), option.shown());
        (!is_first || is_users).then(|| Line {
            text: match is_users {
                true => format!("The {name} is now \"{value}\"."),
                false => format!("The agent has changed the {name} to \"{value}\"."),
            },
            is_users,
        })
    }
}

/// Returns the values as changes, with their keys.
fn wishes(defaults: &Defaults) -> impl Iterator<Item = (String, Setting)> {
    let mode = defaults.mode.clone().map(Setting::Mode);
    let model = defaults.model.clone().map(Setting::Model);
    // The model comes first: it may decide what else there is.
    let named = [("model", model), ("mode", mode)].into_iter();
    let named = named.filter_map(|(key, wish)| Some((key.to_owned(), wish?)));
    let others = defaults.options.iter().map(|(id, value)| {
        let (id, value) = (id.clone(), value.clone());
        (format!("options.{id}"), Setting::Option { id, value })
    });
    named.chain(others)
}

/// Returns the value in the option's form: the id of a choice that is given by id or name, or a
/// boolean.
fn fitting(option: &SessionOption, value: ConfigValue) -> Option<ConfigValue> {
    if let ConfigValue::Boolean(_) = option.value {
        return match &value {
            ConfigValue::Boolean(_) => Some(value),
            ConfigValue::Id(word) => match word.to_lowercase().as_str() {
                "on" | "true" => Some(ConfigValue::Boolean(true)),
                "off" | "false" => Some(ConfigValue::Boolean(false)),
                _ => None,
            },
        };
    }
    let words: &[&str] = match &value {
        ConfigValue::Id(word) => &[word],
        ConfigValue::Boolean(true) => &["true", "on"],
        ConfigValue::Boolean(false) => &["false", "off"],
    };
    let by_id = |word: &&str| option.choices.iter().find(|choice| choice.id == **word);
    let by_name = |word: &&str| {
        let is_it = |name: &str| name.to_lowercase() == word.to_lowercase();
        let mut choices = option.choices.iter();
        choices.find(|choice| is_it(&choice.name) || is_it(&choice.id))
    };
    let found = words.iter().find_map(by_id);
    let found = found.or_else(|| words.iter().find_map(by_name));
    match found {
        Some(choice) => Some(ConfigValue::Id(choice.id.clone())),
        // The option has no list of choices, so any value is allowed.
        None if option.choices.is_empty() => Some(value),
        None => None,
    }
}

fn no_option(id: &str, options: &[SessionOption]) -> String {
    let ids: Vec<&str> = options.iter().map(|option| option.id.as_str()).collect();
    match ids.as_slice() {
        [] => "The agent has no options to set.".to_owned(),
        ids => format!(
            "The agent has no option \"{id}\"; it has {}.",
            ids.join(", ")
        ),
    }
}

fn no_value(option: &SessionOption, value: &ConfigValue) -> String {
    let word = match value {
        ConfigValue::Id(id) => id.as_str(),
        ConfigValue::Boolean(true) => "on",
        ConfigValue::Boolean(false) => "off",
    };
    let ids: Vec<&str> = match option.value {
        ConfigValue::Boolean(_) => vec!["on", "off"],
        ConfigValue::Id(_) => option
            .choices
            .iter()
            .map(|choice| choice.id.as_str())
            .collect(),
    };
    let name = option.name.to_lowercase();
    format!(
        "There is no {name} \"{word}\"; use one of {}.",
        ids.join(", ")
    )
}
