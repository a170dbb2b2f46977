//! What a session is set to, mode and model among it: as the agent has it, and as the user wants it.
//!
//! Invariants: what is shown is what was asked for last, until the agent has answered; a change
//! that is refused leaves what the agent had. Nothing is asked for of a session whose options are
//! not known yet: it is kept.

#[cfg(test)]
mod props;
mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::spine::pending::Token;
use crate::spine::pending::reply::Timer;
use acp::client::ConfigValue;
use acp::{self, Purpose, SessionOption};

/// What the user wants a session to be set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A mode, by its id or name.
    Mode(String),
    /// The mode behind the one the session is in; behind the last one, the first.
    NextMode,
    /// An option by its id, and a value by its id or name.
    Option { id: String, value: ConfigValue },
}

/// The options of a session.
#[derive(Debug, Default)]
pub struct Options {
    /// As the agent has told of them.
    held: Vec<SessionOption>,
    /// The same, with what is asked for.
    shown: Arc<[SessionOption]>,
    /// The agent has told of those of this session.
    is_known: bool,
    /// What the agent was asked for and has not answered, oldest first.
    asked: Vec<Change>,
    /// What the user is still choosing, and the timer after which it is asked for.
    choosing: Option<(Change, Token<Timer>)>,
    /// What is to be asked for once the session is there.
    wishes: Vec<Setting>,
    /// What the user has set, by id: kept when the agent starts again.
    chosen: BTreeSet<String>,
    /// Their values from the life before.
    carried: Vec<(String, ConfigValue)>,
    /// What was told of `shown`.
    told: Arc<[SessionOption]>,
    /// What the transcript says the session is in, by purpose.
    said: [Option<ConfigValue>; 2],
    /// Set by the user since the transcript said anything.
    by_user: BTreeSet<String>,
    next: u64,
}

/// A change that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    number: u64,
    option: String,
    value: ConfigValue,
}

/// What is new in a session's options.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct News {
    /// The ids of those that are shown otherwise, or are gone.
    pub changed: Vec<String>,
    /// What the transcript says of it.
    pub lines: Vec<Line>,
}

/// A change of mode or model, in words.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub is_users: bool,
}

impl Options {
    /// Returns the options with the values that hold or are asked for.
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

    /// Tells whether the agent can be asked to change something.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Forgets what belonged to the agent's process: the session is to be opened again.
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
        self.by_user.clear();
    }

    /// Takes what the agent says of the session it has opened; an agent that goes on with one may
    /// say nothing of what is as it was.
    pub fn opened(&mut self, options: Vec<SessionOption>) {
        self.is_known = true;
        if !options.is_empty() {
            self.held = options;
        }
        self.refresh();
    }

    /// Takes a mode the agent has gone to.
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

    /// Takes all the config options there are.
    pub fn config_is(&mut self, config: Vec<SessionOption>) {
        self.held = acp::with_config(std::mem::take(&mut self.held), config);
        self.refresh();
    }

    /// Keeps a wish until the session is there.
    pub fn keep(&mut self, wish: Setting) {
        self.wishes.push(wish);
    }

    /// Returns what is to be asked for now that the session is there.
    fn take_wishes(&mut self) -> Vec<(SessionOption, ConfigValue)> {
        let carried = std::mem::take(&mut self.carried).into_iter();
        let found = carried.filter_map(|(id, value)| {
            let option = self.held.iter().find(|option| option.id == id)?;
            let value = fitting(option, value)?;
            (option.value != value).then(|| (option.clone(), value))
        });
        found.collect()
    }

    /// Returns the option and the value that a wish means.
    ///
    /// # Errors
    /// A sentence, when there is no such option or value.
    pub fn meant(&self, wish: &Setting) -> Result<(SessionOption, ConfigValue), String> {
        let no_modes = || "The agent has no modes to choose from.".to_owned();
        let (option, value) = match wish {
            Setting::Mode(mode) => {
                let option = self.of(Purpose::Mode).ok_or_else(no_modes)?;
                (option, ConfigValue::Id(mode.clone()))
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

    /// Notes that a change is asked for; returns its number.
    fn ask(&mut self, option: &str, value: ConfigValue) -> u64 {
        let change = self.change(option, value);
        let number = change.number;
        self.chosen.insert(change.option.clone());
        self.asked.push(change);
        self.refresh();
        number
    }

    /// Notes what the user is choosing.
    fn choose(&mut self, option: &str, value: ConfigValue, token: Token<Timer>) {
        let change = self.change(option, value);
        self.choosing = Some((change, token));
        self.refresh();
    }

    /// Takes what the user has chosen: at this timer, or at once.
    fn take_chosen(&mut self, timer: Option<Token<Timer>>) -> Option<(SessionOption, ConfigValue)> {
        let due = |of: &mut (Change, Token<Timer>)| timer.is_none_or(|timer| of.1 == timer);
        let (change, _) = self.choosing.take_if(due)?;
        self.refresh();
        let option = self.held.iter().find(|option| option.id == change.option)?;
        Some((option.clone(), change.value))
    }

    fn change(&mut self, option: &str, value: ConfigValue) -> Change {
        self.next += 1;
        // Whatever the user was choosing there is past.
        self.choosing.take_if(|of| of.0.option == option);
        Change {
            number: self.next,
            option: option.to_owned(),
            value,
        }
    }

    /// Takes the agent's answer to a change: all config options, where it tells of them, or that
    /// it refuses. Returns the option as it was, unless the change is past.
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
        let option = self.held.iter().find(|option| option.id == change.option);
        let option = option.cloned()?;
        if let Ok(config) = answer {
            self.by_user.insert(change.option.clone());
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

    /// Sets what the agent has taken without a word.
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

    /// Returns what is new since this was asked last.
    fn news(&mut self) -> Option<News> {
        let mut news = News::default();
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
        (news != News::default()).then_some(news)
    }

    /// Returns what the transcript shall say of the mode or the model, which it has not yet.
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
                true => format!("The {name} is \"{value}\" now."),
                false => format!("The agent has changed the {name} to \"{value}\"."),
            },
            is_users,
        })
    }
}

/// Returns a value as the option takes it: by the id or the name of a choice, or on or off.
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
        // Nobody has said what it can be.
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
        "There is no {name} \"{word}\"; there is {}.",
        ids.join(", ")
    )
}
