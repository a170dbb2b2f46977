//! Applies the rules to a question when it arrives, and again when an update adds to it.
//!
//! Invariants: a question is shown only if no rule answers it; a rule that allows paths must also
//! allow the targets of their links; a question the user has begun to answer is left to them.

use std::path::PathBuf;

use super::asked::Asked;
use super::{Rules, Verdict};
use crate::questions::permission::{Permission, PermissionStage};
use crate::questions::{End, Outcome, Outcomes, Question, Questions};
use crate::spine::cx::{emit, log};
use crate::spine::effect::{Announcement, Level};
use crate::spine::event::ReviewAction;
use crate::spine::ids::{QuestionId, SessionKey};
use acp::{OptionKind, PermissionOption, ToolCallId};

/// Paths to resolve before a rule may allow a request.
#[derive(Debug)]
pub struct Check {
    pub question: QuestionId,
    /// As the request names them.
    pub paths: Vec<PathBuf>,
}

/// The facts about a question that rules need.
#[derive(Debug)]
pub struct Facts {
    pub asked: Asked,
    /// The folders the session may work in.
    pub roots: Vec<PathBuf>,
    /// A short description of the call.
    pub title: String,
    /// The user has already decided about one of its hunks.
    pub has_begun: bool,
}

impl Questions {
    /// Lets the rules answer a question, or else asks the user.
    pub fn consult(&mut self, id: QuestionId, facts: &Facts, out: &mut Outcomes) {
        let Some(permission) = self.permission_mut(id) else {
            return;
        };
        let has_shown_something = permission.has_shown_something;
        if facts.has_begun {
            return self.ask_user(id, facts, out);
        }
        match self.rules.decide(&facts.asked, &facts.roots) {
            Verdict::Reject(rule) => self.rule(id, ReviewAction::Reject, &[rule], facts, out),
            // Only the user may allow a call they have read: it may show something else now.
            Verdict::Allow(_) if has_shown_something => {}
            Verdict::Allow(by) => {
                let paths = facts.asked.to_resolve(&self.rules, &by);
                if paths.is_empty() {
                    return self.rule(id, ReviewAction::Accept, &by, facts, out);
                }
                if let Some(permission) = self.permission_mut(id) {
                    let is_asked = permission.is_asked();
                    permission.stage = PermissionStage::Resolving { is_asked };
                }
                out.push(Outcome::Resolve(Check {
                    question: id,
                    paths,
                }));
            }
            Verdict::Ask => self.ask_user(id, facts, out),
        }
    }

    /// Continues with the paths the host has resolved.
    pub fn resolved(
        &mut self,
        check: &Check,
        real: Vec<PathBuf>,
        mut facts: Facts,
        out: &mut Outcomes,
    ) {
        let id = check.question;
        let Some(permission) = self.permission_mut(id) else {
            return;
        };
        permission.stage = match permission.stage {
            PermissionStage::Resolving { is_asked: true } => PermissionStage::Asked,
            PermissionStage::Resolving { is_asked: false } => PermissionStage::New,
            PermissionStage::New | PermissionStage::Asked => return,
        };
        let rules = &self.rules;
        let is_same = |by: &[usize]| facts.asked.to_resolve(rules, by) == check.paths;
        match rules.decide(&facts.asked, &facts.roots) {
            Verdict::Allow(by) if is_same(&by) && !facts.has_begun => {}
            // The agent has added to the request since, or the user has decided something.
            _ => return self.consult(id, &facts, out),
        }
        let asked = &mut facts.asked;
        for folder in &mut asked.folders {
            let at = check.paths.iter().position(|path| path == folder);
            if let Some(real) = at.and_then(|at| real.get(at)) {
                folder.clone_from(real);
            }
        }
        // The folders come after the paths.
        let paths = real.len().saturating_sub(asked.folders.len());
        asked.paths.extend(real.into_iter().take(paths));
        match rules.decide(asked, &facts.roots) {
            Verdict::Allow(by) => self.rule(id, ReviewAction::Accept, &by, &facts, out),
            Verdict::Reject(rule) => self.rule(id, ReviewAction::Reject, &[rule], &facts, out),
            Verdict::Ask => self.ask_user(id, &facts, out),
        }
    }

    /// Returns the questions whose rules must be consulted again after a tool call changed.
    pub fn to_consult_again(&self, session: SessionKey, tool: &ToolCallId) -> Vec<QuestionId> {
        let is_still = |permission: &Permission| permission.stage == PermissionStage::Asked;
        let is_meant = |question: &&Question| {
            !question.is_apart() && question.permission().is_some_and(is_still)
        };
        let meant = self.about(session, tool).filter(is_meant);
        let meant = meant.map(|question| question.id);
        match self.rules.is_empty() {
            true => Vec::new(),
            false => meant.collect(),
        }
    }

    fn permission_mut(&mut self, id: QuestionId) -> Option<&mut Permission> {
        self.get_mut(id)?.permission_mut()
    }

    /// Answers a question as the rules decided; without a matching option the user is asked.
    fn rule(
        &mut self,
        id: QuestionId,
        action: ReviewAction,
        rules: &[usize],
        facts: &Facts,
        out: &mut Outcomes,
    ) {
        let permission = self.get(id).and_then(Question::permission);
        let option = permission.and_then(|open| option_for(action, &open.options));
        let (Some(option), Some(&rule)) = (option.map(str::to_owned), rules.first()) else {
            return self.ask_user(id, facts, out);
        };
        let Some(question) = self.take(id) else {
            return;
        };
        let verb = match action {
            ReviewAction::Accept => "Allowed",
            ReviewAction::Reject => "Rejected",
        };
        let text = format!("{verb} by {}: {}", named(rules), facts.title);
        let line = format!("permission {}: {text}", id.0);
        out.push(Outcome::Effect(log(Level::Info, line)));
        out.push(Outcome::Notice(question.session, Level::Info, text));
        self.end(question, End::Rule(option, rule), out);
    }

    /// Asks the user, unless they are already being asked.
    fn ask_user(&mut self, id: QuestionId, facts: &Facts, out: &mut Outcomes) {
        let Some(question) = self.get_mut(id) else {
            return;
        };
        let (session, tool) = (question.session, question.tool.clone());
        let Some(permission) = question.permission_mut() else {
            return;
        };
        permission.has_shown_something |= facts.asked.names_something();
        if permission.is_asked() {
            return;
        }
        permission.stage = PermissionStage::Asked;
        self.touch();
        out.extend(tool.map(|tool| Outcome::Asked(session, tool)));
        let announcement = Announcement::PermissionRequested { session, id: id.0 };
        out.push(Outcome::Effect(emit(announcement)));
    }
}

impl Asked {
    /// Returns the paths to resolve before these rules may allow the request.
    fn to_resolve(&self, rules: &Rules, by: &[usize]) -> Vec<PathBuf> {
        let paths = rules.look_at_paths(by).then_some(&self.paths);
        let paths = paths.into_iter().flatten();
        paths.chain(&self.folders).cloned().collect()
    }
}

/// Returns the option for this action, once; for a rejection also the one that rejects always.
///
/// If several options allow, only the user knows which one is right.
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
    // An id shared by several options is ambiguous.
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
