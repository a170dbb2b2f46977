//! Rules that answer permission requests in the user's place.
//!
//! Invariants: the strictest matching rule wins (reject, then ask, then allow), in any order; a
//! request is allowed only if everything it shows is allowed; a request that is not understood goes
//! to the user.

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
    /// Kinds by their names on the wire; `None` for any kind, or for those in `BY_PATH` if the rule
    /// allows paths.
    pub kinds: Option<Vec<String>>,
    /// Globs; if empty, paths do not matter.
    pub paths: Vec<String>,
    /// Patterns; if empty, commands do not matter.
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
    /// Counted from 1, as in the user's list.
    number: usize,
    agent: Option<Wildcard>,
    kinds: Option<Vec<String>>,
    paths: Vec<PathGlob>,
    commands: Vec<CommandPattern>,
    action: Action,
    /// The user's home folder, `~` in commands.
    home: PathBuf,
}

/// The rules' decision about a request; rules are identified by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// These rules together allow everything in it.
    Allow(Vec<usize>),
    Reject(usize),
    Ask,
}

/// The kinds allowed by a rule that has a `path` and no `kind`.
const BY_PATH: [&str; 3] = ["read", "search", "edit"];

impl Rules {
    /// Compiles the user's rules; `home` is the user's home folder.
    ///
    /// # Errors
    /// Returns a sentence for each mistake. The caller must then use none of the rules, since the
    /// invalid one may be the one that rejects.
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
            // A command may affect paths that its text does not name.
            if spec.action == Action::Allow
                && let ([path, ..], [_, ..]) = (&spec.paths[..], &spec.commands[..])
            {
                let why = "an \"allow\" rule has either a path or a command: make it two rules";
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
    pub fn decide(&self, asked: &Asked, roots: &[PathBuf]) -> Verdict {
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

    /// Returns whether a rule that rejects or asks matches the request's descriptions.
    fn is_told_of(&self, asked: &Asked, roots: &[PathBuf]) -> bool {
        let said = asked.as_said();
        let mut against = self.all.iter().filter(|rule| rule.action != Action::Allow);
        against.any(|rule| rule.hits(&said, roots))
    }

    /// Returns whether a rule that rejects or asks would match if the agent had declared another
    /// kind. Rules that allow "other" by name accept that risk.
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

    /// Returns the rules that together allow the whole request.
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

    /// Returns whether any of these rules decides by paths.
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

    /// Returns whether the rule may concern the request: any of its kinds, paths and commands.
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

    /// Expands `~` in a path.
    fn at_home(&self, path: &Path) -> Option<PathBuf> {
        let mut parts = path.iter();
        parts.find(|part| *part == "~")?;
        Some(self.home.join(parts.as_path()))
    }

    fn covers_all_paths(&self, asked: &Asked, roots: &[PathBuf]) -> bool {
        let covers = |path: &PathBuf| self.paths.iter().any(|glob| glob.covers(path, roots));
        !asked.paths.is_empty() && asked.paths.iter().all(covers)
    }

    /// Returns whether the rule allows this command of the request.
    fn covers_command(&self, asked: &Asked, words: &[String]) -> bool {
        self.commands.iter().any(|pattern| pattern.covers(words))
            && self.names(&asked.kind) != Some(false)
    }

    /// Returns whether the rule allows the request's effects on the paths it names.
    fn covers_paths(&self, asked: &Asked, roots: &[PathBuf]) -> bool {
        // The command itself is allowed by a rule for commands.
        let claimed = asked.command.is_none().then_some(&asked.kind);
        let mut kinds = claimed.into_iter().chain(&asked.changes);
        let covers = |kind: &ToolKind| match self.names(kind) {
            Some(is_named) => is_named,
            None => BY_PATH.contains(&wire_name(kind)),
        };
        let is_path = |kind: &ToolKind| !NO_PATHS.contains(&wire_name(kind));
        // The session's folder itself may only be read or searched.
        let looks = |kind: &ToolKind| ["read", "search"].contains(&wire_name(kind));
        let has_root = asked.paths.iter().any(|path| roots.contains(path));
        let is_fine = |kind| covers(kind) && is_path(kind) && (!has_root || looks(kind));
        self.commands.is_empty() && kinds.all(is_fine) && self.covers_all_paths(asked, roots)
    }
}

/// Kinds with effects beyond paths: no `path` ever allows them.
const NO_PATHS: [&str; 4] = ["execute", "fetch", "think", "switch_mode"];

/// Returns a kind's name in rules; unknown kinds are `other`.
fn wire_name(kind: &ToolKind) -> &str {
    match kind {
        ToolKind::Unknown(_) => ToolKind::Other.name(),
        known => known.name(),
    }
}
