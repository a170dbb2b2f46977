//! Rules that answer permission requests in the user's place.
//!
//! Invariants: the strictest rule that matches wins (reject, then ask, then allow), in whatever
//! order they stand; nothing is allowed but what a request shows, all of it; what is not
//! understood is asked.

mod apply;
mod asked;
mod fields;
mod input;
mod patch;
mod pattern;
#[cfg(test)]
mod props;
#[cfg(test)]
mod recorded;
mod shell;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tricks;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use apply::{Check, Facts};
pub use asked::Asked;
use pattern::{CommandPattern, PathGlob, Wildcard};

use crate::text::paths::normalized;
use acp::ToolKind;

/// A rule as the user wrote it.
#[derive(Debug, Clone)]
pub struct RuleSpec {
    pub agent: Option<String>,
    /// The wire's names; `None` for any, or for what a rule without them may allow.
    pub kinds: Option<Vec<String>>,
    /// Globs; none says nothing of paths.
    pub paths: Vec<String>,
    /// Patterns; none says nothing of commands.
    pub commands: Vec<String>,
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Allow,
    Reject,
    Ask,
}

/// The user's rules, in their order.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    all: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    /// Counted from 1, as the user does.
    number: usize,
    agent: Option<Wildcard>,
    kinds: Option<Vec<String>>,
    paths: Vec<PathGlob>,
    commands: Vec<CommandPattern>,
    action: Action,
    /// The user's home folder, which commands call `~`.
    home: PathBuf,
}

/// What the rules say to a request; rules are named by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All of it is allowed, by these rules together.
    Allow(Vec<usize>),
    Reject(usize),
    Ask,
}

/// What a rule allows that has a `path`, and no `kind`.
const BY_PATH: [&str; 3] = ["read", "search", "edit"];

impl Rules {
    /// Takes over the user's rules; `home` is the user's home folder.
    ///
    /// # Errors
    /// A sentence for each that cannot be; then none may hold: the one that is wrong may be the
    /// one that rejects.
    pub fn new(specs: &[RuleSpec], home: &Path) -> Result<Self, Vec<String>> {
        let mut rules = Self::default();
        let mut problems = Vec::new();
        for (number, spec) in (1..).zip(specs) {
            let mut wrong = |field: &str, text: &str, why: String| {
                problems.push(format!(
                    "permissions.rules[{number}].{field}: {text:?}: {why}"
                ));
            };
            let mut rule = Rule {
                number,
                agent: spec.agent.as_deref().map(Wildcard::new),
                kinds: spec.kinds.clone(),
                paths: Vec::new(),
                commands: Vec::new(),
                action: spec.action,
                home: home.to_owned(),
            };
            for text in &spec.paths {
                match PathGlob::new(text) {
                    Ok(glob) => rule.paths.push(glob),
                    Err(why) => wrong("path", text, why),
                }
            }
            for text in &spec.commands {
                match CommandPattern::new(text) {
                    Ok(pattern) => rule.commands.push(pattern),
                    Err(why) => wrong("command", text, why),
                }
            }
            // What a command does to paths nobody can see.
            if spec.action == Action::Allow
                && let ([path, ..], [_, ..]) = (&spec.paths[..], &spec.commands[..])
            {
                let why = "a rule that allows has a path or a command: make it two rules";
                wrong("path", path, why.into());
            }
            rules.all.push(rule);
        }
        match problems.is_empty() {
            true => Ok(rules),
            false => Err(problems),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Decides about a request; `roots` are the session's folders.
    fn decide(&self, asked: &Asked, roots: &[PathBuf]) -> Verdict {
        let hits = |action| {
            let mut rules = self.all.iter().filter(move |rule| rule.action == action);
            rules.find(|rule| rule.hits(asked, roots))
        };
        if let Some(rule) = hits(Action::Reject) {
            return Verdict::Reject(rule.number);
        }
        let is_unclear = asked.is_unclear || !asked.is_within(roots);
        if is_unclear || hits(Action::Ask).is_some() || self.is_told_of(asked, roots) {
            return Verdict::Ask;
        }
        match self.allow(asked, roots) {
            Some(by) if !self.may_be_of_another_kind(asked, &by, roots) => {
                Verdict::Allow(by.into_iter().collect())
            }
            _ => Verdict::Ask,
        }
    }

    /// Tells whether what the agent says to people speaks of what a rule is against.
    fn is_told_of(&self, asked: &Asked, roots: &[PathBuf]) -> bool {
        let said = asked.as_said();
        let mut against = self.all.iter().filter(|rule| rule.action != Action::Allow);
        against.any(|rule| rule.hits(&said, roots))
    }

    /// Tells whether a rule against some kind would match, had the agent told what kind it is;
    /// rules that allow "other" by name have taken that into account.
    fn may_be_of_another_kind(
        &self,
        asked: &Asked,
        by: &BTreeSet<usize>,
        roots: &[PathBuf],
    ) -> bool {
        let is_told = wire_name(&asked.kind) != "other";
        let names_it = |rule: &Rule| rule.names(&asked.kind) == Some(true);
        let allowing = || self.all.iter().filter(|rule| by.contains(&rule.number));
        let against = || self.all.iter().filter(|rule| rule.action != Action::Allow);
        !is_told
            && !allowing().all(names_it)
            && against().any(|rule| rule.hits_but_for_its_kind(asked, roots))
    }

    /// Returns the rules that together allow all that is asked.
    fn allow(&self, asked: &Asked, roots: &[PathBuf]) -> Option<BTreeSet<usize>> {
        let allowing = || {
            let allows = |rule: &&Rule| rule.action == Action::Allow && rule.is_for(&asked.agent);
            self.all.iter().filter(allows)
        };
        let mut by = BTreeSet::new();
        if asked.command.is_some() {
            for words in asked.parts.as_ref()? {
                let mut rules = allowing();
                let rule = rules.find(|rule| rule.covers_command(asked, words))?;
                by.insert(rule.number);
            }
        }
        if asked.command.is_none() || !asked.changes.is_empty() {
            let rule = allowing().find(|rule| rule.covers_paths(asked, roots))?;
            by.insert(rule.number);
        }
        Some(by)
    }

    /// Returns whether any of these rules has decided by paths.
    fn look_at_paths(&self, numbers: &[usize]) -> bool {
        let mut rules = self.all.iter();
        rules.any(|rule| numbers.contains(&rule.number) && !rule.paths.is_empty())
    }
}

impl Rule {
    fn is_for(&self, agent: &str) -> bool {
        self.agent.as_ref().is_none_or(|name| name.matches(agent))
    }

    fn names(&self, kind: &ToolKind) -> Option<bool> {
        let kinds = self.kinds.as_ref()?;
        Some(kinds.iter().any(|name| name == wire_name(kind)))
    }

    /// Tells whether the rule may be about the request: by any of its kinds, paths and commands.
    fn hits(&self, asked: &Asked, roots: &[PathBuf]) -> bool {
        let mut kinds = asked.kinds();
        kinds.any(|kind| self.names(kind) != Some(false))
            && self.hits_but_for_its_kind(asked, roots)
    }

    fn hits_but_for_its_kind(&self, asked: &Asked, roots: &[PathBuf]) -> bool {
        if !self.is_for(&asked.agent) {
            return false;
        }
        let loose = shell::loose_words(&asked.all_text);
        let hits_command = |pattern: &CommandPattern| pattern.hits(&loose);
        if !self.commands.is_empty() && !self.commands.iter().any(hits_command) {
            return false;
        }
        if self.paths.is_empty() {
            return true;
        }
        let is_hit = |path: &Path| {
            let at_home = self.at_home(path);
            let hits = |path: &Path| self.paths.iter().any(|glob| glob.hits(path, roots));
            hits(path) || at_home.is_some_and(|path| hits(&path))
        };
        let in_command = loose.iter().flat_map(|word| word.rsplit('='));
        let is_word_hit = |word: &str| {
            let word = word.strip_prefix("file://").unwrap_or(word);
            if let Some(rest) = word.strip_prefix("HOME/") {
                return is_hit(&normalized(&self.home.join(rest)));
            }
            let mut folders = asked.folders.iter().chain([&asked.cwd]);
            folders.any(|folder| is_hit(&normalized(&folder.join(word))))
        };
        let may_be_path = |text: &&String| !text.contains('\n');
        let mut strings = asked.strings.iter();
        asked.paths.iter().any(|path| is_hit(path))
            || in_command.into_iter().any(is_word_hit)
            || strings.any(|text| may_be_path(&text) && is_word_hit(text))
    }

    /// Returns the path that one with a `~` in it stands for.
    fn at_home(&self, path: &Path) -> Option<PathBuf> {
        let mut parts = path.iter();
        parts.find(|part| *part == "~")?;
        Some(self.home.join(parts.as_path()))
    }

    fn covers_all_paths(&self, asked: &Asked, roots: &[PathBuf]) -> bool {
        let covers = |path: &PathBuf| self.paths.iter().any(|glob| glob.covers(path, roots));
        !asked.paths.is_empty() && asked.paths.iter().all(covers)
    }

    /// Tells whether the rule allows one of the request's commands.
    fn covers_command(&self, asked: &Asked, words: &[String]) -> bool {
        self.commands.iter().any(|pattern| pattern.covers(words))
            && self.names(&asked.kind) != Some(false)
    }

    /// Tells whether the rule allows what the request does to the paths it names.
    fn covers_paths(&self, asked: &Asked, roots: &[PathBuf]) -> bool {
        // What a command does, its own rule allows.
        let claimed = asked.command.is_none().then_some(&asked.kind);
        let mut kinds = claimed.into_iter().chain(&asked.changes);
        let covers = |kind: &ToolKind| match self.names(kind) {
            Some(is_named) => is_named,
            None => BY_PATH.contains(&wire_name(kind)),
        };
        let is_path = |kind: &ToolKind| !NO_PATHS.contains(&wire_name(kind));
        // The session's folder itself is looked at, and no more.
        let looks = |kind: &ToolKind| ["read", "search"].contains(&wire_name(kind));
        let has_root = asked.paths.iter().any(|path| roots.contains(path));
        let is_fine = |kind| covers(kind) && is_path(kind) && (!has_root || looks(kind));
        self.commands.is_empty() && kinds.all(is_fine) && self.covers_all_paths(asked, roots)
    }
}

/// What is more than it does to paths: no `path` ever allows it.
const NO_PATHS: [&str; 4] = ["execute", "fetch", "think", "switch_mode"];

/// Returns the name that rules call a kind by; kinds that nobody knows are `other`.
fn wire_name(kind: &ToolKind) -> &str {
    match kind {
        ToolKind::Unknown(_) => ToolKind::Other.name(),
        known => known.name(),
    }
}
