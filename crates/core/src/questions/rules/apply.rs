//! Rules answer questions: when one comes, and again when an update shows more of it.
//!
//! Invariants: a question is shown once no rule answers it, and not before; what is allowed by
//! its paths is allowed where their links lead, too; a question the user has begun to answer is
//! left to them.

use std::path::PathBuf;

use super::asked::Asked;
use super::{Rules, Verdict};
use crate::model::Model;
use crate::render::toolview;
use crate::spine::cx::{Effects, emit, log};
use crate::spine::effect::{Announcement, Effect, HostEffect, Level};
use crate::spine::event::ReviewAction;
use crate::spine::ids::{PermissionId, SessionKey};
use crate::spine::pending::Token;
use crate::spine::pending::reply::Resolved;
use acp::{OptionKind, PermissionOption, ToolCallId};

/// A look at where paths lead that a rule waits for.
#[derive(Debug)]
pub struct Check {
    permission: PermissionId,
    /// The paths as the request has them.
    paths: Vec<PathBuf>,
}

impl Model {
    /// Has the rules answer a question, or the user.
    pub(crate) fn consult_rules(&mut self, id: PermissionId, fx: &mut Effects) {
        let Some((asked, roots)) = self.what_is_asked(id) else {
            return;
        };
        if self.has_begun_to_answer(id) {
            return self.ask_user(id, fx);
        }
        let rules = &self.permissions.rules;
        let is_settled = self.permissions.has_shown_something(id);
        match rules.decide(&asked, &roots) {
            Verdict::Reject(rule) => self.rule_answers(id, ReviewAction::Reject, &[rule], fx),
            // What the user has read is for them to allow, and not something else in its place.
            Verdict::Allow(_) if is_settled => {}
            Verdict::Allow(by) => {
                let paths = asked.to_resolve(rules, &by);
                if paths.is_empty() {
                    return self.rule_answers(id, ReviewAction::Accept, &by, fx);
                }
                let check = Check {
                    permission: id,
                    paths: paths.clone(),
                };
                let token = self.jobs.rules.add(check);
                self.permissions.is_checked(id, Some(token));
                fx.push(Effect::Host(HostEffect::Resolve { token, paths }));
            }
            Verdict::Ask => self.ask_user(id, fx),
        }
    }

    /// Goes on when it is known where paths lead.
    pub(crate) fn rules_checked(
        &mut self,
        token: Token<Resolved>,
        check: Check,
        real: Vec<PathBuf>,
        fx: &mut Effects,
    ) {
        let id = check.permission;
        if !self.permissions.is_checked_by(id, token) {
            return;
        }
        self.permissions.is_checked(id, None);
        let Some((mut asked, roots)) = self.what_is_asked(id) else {
            return;
        };
        let rules = &self.permissions.rules;
        let is_same = |by: &[usize]| asked.to_resolve(rules, by) == check.paths;
        match rules.decide(&asked, &roots) {
            Verdict::Allow(by) if is_same(&by) && !self.has_begun_to_answer(id) => {}
            // More has been shown meanwhile, or done.
            _ => return self.consult_rules(id, fx),
        }
        for folder in &mut asked.folders {
            let at = check.paths.iter().position(|path| path == folder);
            if let Some(real) = at.and_then(|at| real.get(at)) {
                folder.clone_from(real);
            }
        }
        asked.paths.extend(real);
        match rules.decide(&asked, &roots) {
            Verdict::Allow(by) => self.rule_answers(id, ReviewAction::Accept, &by, fx),
            Verdict::Reject(rule) => self.rule_answers(id, ReviewAction::Reject, &[rule], fx),
            Verdict::Ask => self.ask_user(id, fx),
        }
    }

    /// Has the rules look again at what is asked about a tool call that an update has changed.
    pub(crate) fn consult_again(&mut self, key: SessionKey, tool: &ToolCallId, fx: &mut Effects) {
        if self.permissions.rules.is_empty() {
            return;
        }
        let open = self.permissions.iter();
        let open = open.filter(|open| open.is_about(key, tool) && open.is_still());
        let open: Vec<PermissionId> = open.map(|open| open.id).collect();
        for id in open {
            self.consult_rules(id, fx);
        }
    }

    /// Returns what a question shows, and the folders its session may work in.
    fn what_is_asked(&self, id: PermissionId) -> Option<(Asked, Vec<PathBuf>)> {
        let open = self.permissions.iter().find(|open| open.id == id)?;
        let session = self.sessions.get(&open.session)?;
        let tool = self.permission_for_rules(open)?;
        let asked = Asked::of(tool, &session.spec.name, &session.spec.cwd);
        Some((asked, session.roots.clone()))
    }

    /// Tells whether the user has decided about a hunk of what is asked for.
    fn has_begun_to_answer(&self, id: PermissionId) -> bool {
        let open = self.permissions.iter().find(|open| open.id == id);
        open.is_some_and(|open| self.proposals.has_choice(open.session, &open.tool))
    }

    /// Answers a question as rules say; without a fitting option the user is asked.
    fn rule_answers(
        &mut self,
        id: PermissionId,
        action: ReviewAction,
        rules: &[usize],
        fx: &mut Effects,
    ) {
        let open = self.permissions.iter().find(|open| open.id == id);
        let (Some(open), Some(&rule)) = (open, rules.first()) else {
            return;
        };
        let Some(option) = option_for(action, &open.options) else {
            return self.ask_user(id, fx);
        };
        let what = self.permission_tool(open).map(toolview::in_short);
        let verb = match action {
            ReviewAction::Accept => "Allowed",
            ReviewAction::Reject => "Rejected",
        };
        let text = format!("{verb} by {}: {}", named(rules), what.unwrap_or_default());
        let (session, tool, option) = (open.session, open.tool.clone(), option.to_owned());
        fx.push(log(Level::Info, format!("permission {}: {text}", id.0)));
        if let Some(session) = self.sessions.get_mut(&session) {
            session.transcript.notice(Level::Info, text);
        }
        // It is decided about, and no longer merely proposed.
        self.proposals.was_asked(session, tool);
        self.answer(id, &option, Some(rule), fx);
    }

    /// Shows a question to the user, if it is not there already.
    fn ask_user(&mut self, id: PermissionId, fx: &mut Effects) {
        let shown = self.what_is_asked(id);
        if shown.is_some_and(|(asked, _)| asked.names_something()) {
            self.permissions.shows_something(id);
        }
        let Some((session, tool)) = self.permissions.begin_asking(id) else {
            return;
        };
        self.tool_proposes(session, &tool);
        self.frame.permission_dirty = true;
        fx.push(emit(Announcement::PermissionRequested {
            session,
            id: id.0,
        }));
    }
}

impl Asked {
    /// Returns the paths that must be known to lead nowhere else before these rules may allow it.
    fn to_resolve(&self, rules: &Rules, by: &[usize]) -> Vec<PathBuf> {
        let paths = rules.look_at_paths(by).then_some(&self.paths);
        let paths = paths.into_iter().flatten();
        paths.chain(&self.folders).cloned().collect()
    }
}

/// Returns the option that does this once; for a rejection also the one that does it always.
///
/// Of several that allow, nobody but the user can tell which is meant.
fn option_for(action: ReviewAction, options: &[PermissionOption]) -> Option<&str> {
    let of_kind = |kind: OptionKind| {
        let fitting = options.iter().filter(move |option| option.kind == kind);
        fitting.map(|option| option.id.as_str())
    };
    let chosen = match action {
        ReviewAction::Accept => {
            let mut once = of_kind(OptionKind::AllowOnce);
            once.next().filter(|_| once.next().is_none())
        }
        ReviewAction::Reject => {
            let mut always = of_kind(OptionKind::RejectAlways);
            of_kind(OptionKind::RejectOnce)
                .next()
                .or_else(|| always.next())
        }
    };
    // An id that several have does not say which of them is meant.
    let has = |id: &&str| options.iter().filter(|option| option.id == *id).count();
    chosen.filter(|id| has(id) == 1)
}

/// Returns the names of rules: `rule 2`, `rules 1 and 3`, `rules 1, 2 and 3`.
fn named(rules: &[usize]) -> String {
    let names: Vec<String> = rules.iter().map(usize::to_string).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("rules {} and {last}", rest.join(", ")),
        Some((only, _)) => format!("rule {only}"),
        None => "no rule".into(),
    }
}
