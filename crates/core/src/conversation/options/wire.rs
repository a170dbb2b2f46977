//! Options between the user and the agent: asked for, answered, told of.
//!
//! Invariant: a mode that the user only passes on the way to another is never asked for, and what
//! was chosen before a prompt is asked for before it.

use serde_json::Value;

use super::Setting;
use crate::model::{Call, Model};
use crate::spine::cx::{Effects, emit, notify};
use crate::spine::effect::{Announcement, Effect, HostEffect, Level};
use crate::spine::ids::{AgentKey, SessionKey};
use crate::spine::jobs::TimerJob;
use crate::spine::pending::Token;
use crate::spine::pending::reply::Timer;
use acp::client::{self, ConfigValue};
use acp::{SessionOption, Way};

/// How long the user may take to go on to the mode after the next, in milliseconds.
const CHOOSING_MS: u64 = 500;

impl Model {
    /// Sets what the user wants, now or as soon as the session is there.
    pub(crate) fn set_option(&mut self, key: SessionKey, wish: Setting, fx: &mut Effects) {
        let agent = self.sessions.get(&key).and_then(|session| session.agent);
        let is_served = agent.is_some_and(|agent| self.is_staying(agent));
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        if !is_served || session.id.is_none() || !session.options.is_known() {
            let text = match wish {
                Setting::NextMode => "The session is not there yet: its modes are not known.",
                wish => {
                    session.options.keep(wish);
                    "It is set as soon as the session is there."
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
                fx.push(Effect::Host(HostEffect::Timer { token, ms }));
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.options.choose(&option.id, value, token);
                }
            }
            Ok((option, value)) if option.value == value => {}
            Ok((option, value)) => self.ask_option(key, &option, value, fx),
        }
    }

    /// Asks for what the user has chosen: at this timer, or at once.
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

    /// Takes what the agent says of the session it has opened, and asks for what was wanted of it
    /// before.
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
    }

    fn ask_option(
        &mut self,
        key: SessionKey,
        option: &SessionOption,
        value: ConfigValue,
        fx: &mut Effects,
    ) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        let (Some(agent), Some(id)) = (session.agent, session.id.clone()) else {
            return;
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
    }

    /// Takes the answer to a change: what the agent says it has now, or that it has what was asked
    /// for; what it refuses stays as it was.
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
            let text = format!("The agent \"{agent}\" keeps the {name} \"{value}\": {why}.");
            fx.push(notify(Level::Warn, text));
        }
    }

    /// Announces what is new in the sessions' options.
    pub(crate) fn tell_options(&mut self, fx: &mut Effects) {
        for (key, session) in &mut self.sessions {
            let Some(news) = session.options.news() else {
                continue;
            };
            for line in news.lines {
                // The user's own doing is no reason to tear a sentence of the agent's apart.
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
