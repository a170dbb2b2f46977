//! The configuration from the Lua side, which has validated it.

use std::cell::RefCell;
use std::time::Duration;

use nvim_oxi::mlua::{FromLua, Table, Value};

use acp_core::conversation::agent::Limits;
use acp_core::conversation::plan::PlanPlace;
use acp_core::questions::rules::{Action, RuleSpec, Rules};
use acp_core::render::osc::Osc;
use acp_core::spine::effect::Level;
use acp_core::spine::history::Bounds;
use acp_core::spine::view::Follow;
use acp_core::view::statusline::Part;
use acp_core::workspace::proposals::Preview;

/// When the completion menu of an input opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Completion {
    /// While the user writes.
    #[default]
    Auto,
    /// By CTRL-X CTRL-O.
    Manual,
    Off,
}

/// The code of desktop messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Desktop {
    /// The one that the terminal knows, by its environment.
    Known,
    /// The one that the user has chosen.
    Chosen(Osc),
}

#[derive(Debug, Clone)]
pub struct Config {
    pub layout: String,
    pub width: f64,
    pub input_height: f64,
    /// Where a plan is shown while its turn runs.
    pub plan: PlanPlace,
    /// When the input's completion opens.
    pub completion: Completion,
    pub signs: bool,
    pub virtual_lines: bool,
    pub word_diff: bool,
    pub preview: Preview,
    /// Whether a key that decides about a hunk goes on to the next one.
    pub advance: bool,
    /// Whether an edit that the user allows counts as accepted.
    pub accept_allowed: bool,
    /// Whether a file with a proposal is opened in a window at once.
    pub opens_previews: bool,
    /// Whether rejected hunks are reported to the agent.
    pub feedback: bool,
    /// Whether new sessions' agents are followed.
    pub follow: Follow,
    /// Parts of the statusline.
    pub statusline: Vec<Part>,
    /// Notifications about sessions out of view.
    pub notify_turn_end: bool,
    pub notify_question: bool,
    /// Whether the terminal rings, and shows desktop messages, by this code or the one it knows.
    pub notify_bell: bool,
    pub notify_desktop: Option<Desktop>,
    /// Whether both happen while Neovim has the focus, too.
    pub notify_focused: bool,
    /// Whether the terminal's title shows which agent works or waits.
    pub notify_title: bool,
    pub allowed_dirs: Vec<String>,
    /// Rules that answer permissions.
    pub rules: Rules,
    /// Mistakes in the configuration that the Lua side cannot detect.
    pub problems: Vec<String>,
    /// Bounds of the session records; `None` keeps no records.
    pub history: Option<Bounds>,
    /// Time limit for an agent's answer to a control request.
    pub request_timeout: Duration,
    pub log_level: Level,
    /// Group, name, keys.
    pub keymaps: Vec<(String, String, Vec<String>)>,
}

thread_local! {
    static CONFIG: RefCell<Config> = RefCell::default();
}

/// Runs `body` with the configuration.
pub fn with<R>(body: impl FnOnce(&Config) -> R) -> R {
    CONFIG.with_borrow(body)
}

/// Replaces the configuration.
pub fn set(config: Config) {
    CONFIG.set(config);
}

impl Default for Config {
    fn default() -> Self {
        Self {
            layout: "right".into(),
            width: 0.4,
            input_height: 6.0,
            plan: PlanPlace::Panel,
            completion: Completion::Auto,
            signs: true,
            virtual_lines: true,
            word_diff: true,
            preview: Preview::On,
            advance: false,
            accept_allowed: false,
            opens_previews: false,
            feedback: true,
            follow: Follow::Off,
            statusline: Part::USUAL.to_vec(),
            notify_turn_end: true,
            notify_question: true,
            notify_bell: true,
            notify_desktop: Some(Desktop::Known),
            notify_focused: false,
            notify_title: false,
            allowed_dirs: Vec::new(),
            rules: Rules::default(),
            problems: Vec::new(),
            history: Some(Bounds { days: 90 }),
            request_timeout: Duration::from_secs(90),
            log_level: Level::Info,
            keymaps: Vec::new(),
        }
    }
}

impl Config {
    /// Reads the table; missing values keep their defaults.
    pub fn read(table: &Table) -> Self {
        let mut config = Self::default();
        config.read_chat(&sub(table, "chat"));
        config.read_review(&sub(table, "review"));
        config.read_notify(&sub(table, "notify"));
        config.follow = table.get("follow").map_or(config.follow, |to| follow(&to));
        if let Some(names) = get(&sub(table, "statusline"), "parts").and_then(strings) {
            config.statusline = names.iter().filter_map(|name| Part::named(name)).collect();
        }
        let permissions = sub(table, "permissions");
        config.allowed_dirs = get(&permissions, "allowed_dirs").unwrap_or_default();
        let rules: Vec<Table> = get(&permissions, "rules").unwrap_or_default();
        config.read_rules(&rules);
        config.history = history(&sub(table, "history"));
        let timeout: Option<f64> = table.get("request_timeout").ok();
        config.request_timeout = timeout
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(config.request_timeout);
        let level: Option<String> = table.get("log_level").ok();
        config.log_level = match level.as_deref() {
            Some("debug") => Level::Debug,
            Some("warn") => Level::Warn,
            Some("error") => Level::Error,
            _ => Level::Info,
        };
        if let Some(groups) = sub(table, "keymaps") {
            for (group, maps) in groups.pairs::<String, Value>().flatten() {
                config.read_group(&group, &maps);
            }
        }
        config
    }

    fn read_chat(&mut self, chat: &Option<Table>) {
        set_from(chat, "layout", &mut self.layout);
        set_from(chat, "width", &mut self.width);
        set_from(chat, "input_height", &mut self.input_height);
        if get::<String>(chat, "plan").as_deref() == Some("transcript") {
            self.plan = PlanPlace::Transcript;
        }
        match get::<Value>(chat, "completion") {
            Some(Value::Boolean(false)) => self.completion = Completion::Off,
            Some(Value::String(how)) if how.to_string_lossy() == "manual" => {
                self.completion = Completion::Manual;
            }
            _ => {}
        }
    }

    fn read_review(&mut self, review: &Option<Table>) {
        set_from(review, "signs", &mut self.signs);
        set_from(review, "virtual_lines", &mut self.virtual_lines);
        set_from(review, "word_diff", &mut self.word_diff);
        match get::<Value>(review, "preview") {
            Some(Value::Boolean(false)) => self.preview = Preview::Off,
            Some(Value::String(how)) => self.opens_previews = how.to_string_lossy() == "open",
            _ => {}
        }
        set_from(review, "advance", &mut self.advance);
        set_from(review, "accept_allowed", &mut self.accept_allowed);
        set_from(review, "feedback", &mut self.feedback);
    }

    fn read_notify(&mut self, notify: &Option<Table>) {
        set_from(notify, "turn_end", &mut self.notify_turn_end);
        set_from(notify, "question", &mut self.notify_question);
        set_from(notify, "bell", &mut self.notify_bell);
        match get::<Value>(notify, "desktop") {
            Some(Value::Boolean(false)) => self.notify_desktop = None,
            Some(Value::String(code)) => {
                let osc = match code.to_string_lossy() == "osc9" {
                    true => Osc::Nine,
                    false => Osc::SevenSevenSeven,
                };
                self.notify_desktop = Some(Desktop::Chosen(osc));
            }
            _ => {}
        }
        set_from(notify, "focused", &mut self.notify_focused);
        set_from(notify, "title", &mut self.notify_title);
    }

    /// Reads the rules for permissions; one invalid rule disables all of them.
    fn read_rules(&mut self, tables: &[Table]) {
        let specs: Vec<RuleSpec> = tables.iter().map(rule).collect();
        let home = std::env::home_dir().unwrap_or_default();
        match Rules::new(&specs, &home) {
            Ok(rules) => self.rules = rules,
            Err(problems) => {
                self.problems.extend(problems);
                let text = "permissions.rules: no rule applies until this is corrected";
                self.problems.push(text.into());
            }
        }
    }

    fn read_group(&mut self, group: &str, maps: &Value) {
        let Value::Table(maps) = maps else {
            return;
        };
        for (name, keys) in maps.pairs::<String, Value>().flatten() {
            let keys = strings(keys).unwrap_or_default();
            self.keymaps.push((group.to_owned(), name, keys));
        }
    }

    /// Returns the time limits for the core.
    pub fn limits(&self) -> Limits {
        let ms = self.request_timeout.as_millis();
        Limits {
            control_ms: u64::try_from(ms).unwrap_or(u64::MAX),
        }
    }

    /// Returns the keys of a mapping; none when it is switched off.
    pub fn keys(&self, group: &str, name: &str) -> Vec<String> {
        let mut maps = self.keymaps.iter();
        let found = maps.find(|(in_group, is, _)| in_group == group && is == name);
        found.map(|(_, _, keys)| keys.clone()).unwrap_or_default()
    }
}

/// Reads a rule that the Lua side has checked; an unreadable action means to ask.
fn rule(table: &Table) -> RuleSpec {
    let list = |name: &str| -> Option<Vec<String>> {
        match table.get::<Value>(name).ok()? {
            Value::String(text) => Some(vec![text.to_string_lossy()]),
            Value::Table(texts) => Some(texts.sequence_values().flatten().collect()),
            _ => None,
        }
    };
    let action: Option<String> = table.get("action").ok();
    let mut paths = list("path").unwrap_or_default();
    let real: Vec<String> = paths.iter().filter_map(|glob| resolved(glob)).collect();
    paths.extend(real);
    RuleSpec {
        agent: table.get("agent").ok().flatten(),
        kinds: list("kind"),
        paths,
        commands: list("command").unwrap_or_default(),
        action: match action.as_deref() {
            Some("allow") => Action::Allow,
            Some("reject") => Action::Reject,
            _ => Action::Ask,
        },
    }
}

/// Returns an absolute glob with its folder's links resolved, if that changes it.
fn resolved(glob: &str) -> Option<String> {
    let magic = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
    let (literal, _) = glob.split_at_checked(magic)?;
    let (folder, _) = literal.rsplit_once('/')?;
    if !folder.starts_with('/') {
        return None;
    }
    let real = acp_edge::paths::resolved(std::path::Path::new(folder));
    let real = real.to_str().filter(|real| *real != folder)?;
    let rest = glob.get(folder.len()..)?;
    // A special character of globs in the folder's name would change the pattern.
    let is_plain = !real.contains(['*', '?', '[', '{', '\\']);
    is_plain.then(|| format!("{real}{rest}"))
}

/// Reads whether agents are followed: `true`, `"edits"`, or any other value for off.
pub fn follow(value: &Value) -> Follow {
    match value {
        Value::Boolean(true) => Follow::On,
        Value::String(how) if how.to_string_lossy() == "edits" => Follow::Edits,
        _ => Follow::Off,
    }
}

/// Reads the bounds of the session records.
fn history(table: &Option<Table>) -> Option<Bounds> {
    let days: f64 = get(table, "days").unwrap_or(90.0);
    let is_on = get::<bool>(table, "enabled").unwrap_or(true);
    is_on.then_some(Bounds {
        // The cast saturates.
        days: days.ceil() as u32,
    })
}

/// Returns the strings of a value that is one or a list; `None` if it is neither.
fn strings(value: Value) -> Option<Vec<String>> {
    match value {
        Value::String(one) => Some(vec![one.to_string_lossy()]),
        Value::Table(all) => Some(all.sequence_values::<String>().flatten().collect()),
        _ => None,
    }
}

fn sub(table: &Table, name: &str) -> Option<Table> {
    table.get(name).ok()
}

fn get<T: FromLua>(table: &Option<Table>, name: &str) -> Option<T> {
    table.as_ref()?.get::<Option<T>>(name).ok().flatten()
}

/// Sets a value from a table that has it.
fn set_from<T: FromLua>(table: &Option<Table>, name: &str, value: &mut T) {
    if let Some(given) = get(table, name) {
        *value = given;
    }
}
