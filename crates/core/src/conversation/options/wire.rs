//! Exchange of options with the user and the agent: requests, answers, announcements.
//!
//! Invariants: a mode that the user only cycles past is not requested; a change chosen before a
//! prompt is requested before the prompt is sent.

use serde_json::Value;

use super::{Setting, Source};
use crate::conversation::Conversation;
use crate::conversation::agent::Call;
use crate::conversation::jobs::TimerJob;
use crate::spine::cx::{Effects, emit, notify};
use crate::spine::effect::{Announcement, HostEffect, Level};
use crate::spine::event::Defaults;
use crate::spine::ids::{AgentKey, SessionKey};
use crate::spine::pending::Token;
use crate::spine::pending::reply::Timer;
use acp::client::{self, ConfigValue};
use acp::{SessionOption, Way};

/// Time in which the user may cycle on to the next mode, in milliseconds.
const CHOOSING_MS: u64 = 500;

impl Conversation {
    /// Sets an option, now or once the session is open.
    pub(crate) fn set_option(&mut self, key: SessionKey, wish: Setting, fx: &mut Effects) {
        let agent = self.sessions.get(&key).and_then(|session| session.agent);
        let is_served = agent.is_some_and(|agent| self.is_staying(agent));
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        if !is_served || session.id.is_none() || !session.options.is_known() {
            let text = match wish {
                Setting::NextMode => "The session is still opening: its modes are not known yet.",
                wish => {
                    session.options.keep(wish);
                    "The option will be set once the session is open."
                }
            };
            fx.push(notify(Level::Info, text));
            return;
        }
        match session.options.meant(&wish) {
            Err(why) => fx.push(notify(Level::Warn, why)),
            Ok((option, value)) if wish == Setting::NextMode => {
                let token = self.jobs.timers.add(TimerJob::OptionChosen(key));
                let ms = CHOOSING_MS;
                fx.push(HostEffect::Timer { token, ms });
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.options.choose(&option.id, value, token);
                }
            }
            Ok((option, value)) if option.value == value => {}
            Ok((option, value)) => {
                self.ask_option(key, &option, value, fx);
            }
        }
    }

    /// Requests the chosen change: when this timer fires, or at once if `timer` is `None`.
    pub(crate) fn ask_chosen_option(
        &mut self,
        key: SessionKey,
        timer: Option<Token<Timer>>,
        fx: &mut Effects,
    ) {
        let session = self.sessions.get_mut(&key);
        let chosen = session.and_then(|session| session.options.take_chosen(timer));
        if let Some((option, value)) = chosen
            && option.value != value
        {
            self.ask_option(key, &option, value, fx);
        }
    }

    /// Handles the options of a session the agent has opened, and requests the changes that waited.
    pub(crate) fn options_came(
        &mut self,
        key: SessionKey,
        options: Vec<SessionOption>,
        fx: &mut Effects,
    ) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        session.options.opened(options);
        let wishes = std::mem::take(&mut session.options.wishes);
        for (option, value) in session.options.take_wishes() {
            self.ask_option(key, &option, value, fx);
        }
        for wish in wishes {
            self.set_option(key, wish, fx);
        }
        self.ask_default_option(key, fx);
    }

    /// Handles the values that the user told the list of options to remember.
    pub(crate) fn remembered(&mut self, key: SessionKey, values: &Defaults, fx: &mut Effects) {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.options.remember(values);
        }
        self.ask_default_option(key, fx);
    }

    /// Requests the next value of the config or a remembered one, unless the agent has not answered
    /// the last one.
    pub(crate) fn ask_default_option(&mut self, key: SessionKey, fx: &mut Effects) {
        while let Some(session) = self.sessions.get_mut(&key) {
            let options = &mut session.options;
            if !options.is_known() || options.asked_default.is_some() {
                return;
            }
            match options.take_default() {
                None => return,
                Some(Ok((option, value))) => {
                    let number = self.ask_option(key, &option, value, fx);
                    if let Some(session) = self.sessions.get_mut(&key) {
                        session.options.asked_default = number;
                    }
                }
                Some(Err((source, why))) => {
                    let agent = &session.spec.name;
                    let text = match source {
                        Source::Config(key) => {
                            format!("`agents.{agent}.{key}` in the configuration: {why}")
                        }
                        Source::Remembered(key) => {
                            format!("`{key}` as remembered for the agent \"{agent}\": {why}")
                        }
                    };
                    session.transcript.notice(Level::Warn, text);
                }
            }
        }
    }

    /// Requests a change; returns its number.
    fn ask_option(
        &mut self,
        key: SessionKey,
        option: &SessionOption,
        value: ConfigValue,
        fx: &mut Effects,
    ) -> Option<u64> {
        let session = self.sessions.get_mut(&key)?;
        let (Some(agent), Some(id)) = (session.agent, session.id.clone()) else {
            return None;
        };
        let change = session.options.ask(&option.id, value.clone());
        let call = Call::SetOption {
            session: key,
            change,
            way: option.way,
        };
        match (option.way, value) {
            (Way::Mode, ConfigValue::Id(mode)) => {
                self.request(agent, call, client::set_mode(&id, &mode), fx)
            }
            (Way::Model, ConfigValue::Id(model)) => {
                self.request(agent, call, client::set_model(&id, &model), fx)
            }
            (_, value) => {
                let params = client::set_config_option(&id, &option.id, value);
                self.request(agent, call, params, fx)
            }
        };
        Some(change)
    }

    /// Handles the answer to a change: the agent's options, a bare confirmation, or a refusal.
    pub(crate) fn option_answered(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        change: u64,
        result: Result<Value, String>,
        fx: &mut Effects,
    ) {
        let served = self.sessions.get_mut(&key);
        let Some(session) = served.filter(|session| session.agent == Some(agent)) else {
            return;
        };
        let (answer, why) = match &result {
            Ok(value) => (Ok(client::option_set(value)), None),
            Err(why) => (Err(()), Some(why)),
        };
        let asked = session.options.answered(change, answer);
        if let (Some(option), Some(why)) = (asked, why) {
            let (agent, name) = (&session.spec.name, option.name.to_lowercase());
            let value = option.shown();
            let text = format!(
                "The agent \"{agent}\" did not change the {name}, which stays \"{value}\": {why}."
            );
            fx.push(notify(Level::Warn, text));
        }
        self.ask_default_option(key, fx);
    }

    /// Announces changes of the sessions' options.
    pub(crate) fn tell_options(&mut self, fx: &mut Effects) {
        for (key, session) in &mut self.sessions {
            let Some(news) = session.options.news() else {
                continue;
            };
            for line in news.lines {
                // A change by the user must not interrupt the agent's message.
                if !line.is_users || session.turn.is_none() {
                    session.transcript.notice(Level::Info, line.text);
                }
            }
            if !news.changed.is_empty() {
                fx.push(emit(Announcement::OptionsChanged {
                    session: *key,
                    changed: news.changed,
                }));
            }
        }
    }
}
