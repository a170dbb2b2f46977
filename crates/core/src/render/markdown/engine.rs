//! The engine of regular expressions behind the syntax definitions: its limits, and what it
//! compiles ahead of time.
//!
//! Invariants: no definition is used before the limits are set; what a language can reach is
//! compiled by [`compile`] alone, wherever that is called, and never while code is highlighted
//! (but for patterns that quote the text itself, such as the end of a here-document).

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::json;
use syntect::parsing::syntax_definition::{
    ContextReference, MatchOperation, MatchPattern, Pattern,
};
use syntect::parsing::{SyntaxReference, SyntaxSet};

/// How often one search may go back and try another way, after which it counts as no match.
///
/// Ordinary code stays far below. Without a limit a line of 500 braces takes minutes in some
/// definitions; with it the worst lines take a few milliseconds.
const RETRIES: u32 = 10_000;

/// Returns all syntax definitions, loaded when first asked for: that takes milliseconds.
pub(super) fn syntaxes() -> &'static SyntaxSet {
    static SET: OnceLock<SyntaxSet> = OnceLock::new();
    SET.get_or_init(|| {
        limit(RETRIES);
        two_face::syntax::extra_newlines()
    })
}

/// Compiles every pattern that highlighting `syntax` can reach, those of languages in it too.
///
/// It takes up to 30 ms, 150 ms for markdown with all the languages of its fences.
pub(super) fn compile(syntax: &SyntaxReference) {
    let set = syntaxes();
    let mut seen = HashSet::new();
    let mut open = contexts(set, syntax);
    while let Some(reference) = open.pop() {
        let Ok(id) = reference.id() else { continue };
        if !seen.insert(id) {
            continue;
        }
        let Ok(context) = reference.resolve(set) else {
            continue;
        };
        for pattern in &context.patterns {
            match pattern {
                Pattern::Include(reference) => open.push(reference.clone()),
                Pattern::Match(pattern) => {
                    compile_pattern(pattern);
                    open.extend(targets(pattern).cloned());
                }
            }
        }
    }
}

/// Returns all contexts of a definition.
fn contexts(set: &SyntaxSet, syntax: &SyntaxReference) -> Vec<ContextReference> {
    let is_it = |other: &SyntaxReference| other.name == syntax.name;
    let Some(index) = set.syntaxes().iter().position(is_it) else {
        return Vec::new();
    };
    // A context's id has no constructor, but it can be read like the rest of a stored set.
    let id = |context| json!({ "Direct": { "syntax_index": index, "context_index": context } });
    (0..)
        .map_while(|context: usize| serde_json::from_value(id(context)).ok())
        .take_while(|reference: &ContextReference| reference.resolve(set).is_ok())
        .collect()
}

/// Returns the contexts a match leads to.
fn targets(pattern: &MatchPattern) -> impl Iterator<Item = &ContextReference> {
    let next = match &pattern.operation {
        MatchOperation::Push(next) | MatchOperation::Set(next) => next.as_slice(),
        MatchOperation::Pop | MatchOperation::None => &[],
    };
    next.iter().chain(&pattern.with_prototype)
}

fn compile_pattern(pattern: &MatchPattern) {
    // One that quotes what another matched is none yet.
    if !pattern.has_captures {
        // The first use compiles it.
        pattern.regex().search("", 0, 0, None);
    }
}

fn limit(retries: u32) {
    let retries = retries.into();
    // SAFETY: each call stores a number that searches begin with; the engine is linked into this
    // library alone, and nothing searches yet.
    unsafe {
        onig_sys::onig_set_retry_limit_in_match(retries);
        onig_sys::onig_set_retry_limit_in_search(retries);
    }
}

#[cfg(test)]
mod tests {
    use syntect::parsing::Regex;

    use super::*;

    #[test]
    fn all_patterns_of_a_language_are_found() {
        let check = |name: &str, least: usize| {
            let set = syntaxes();
            let syntax = set.find_syntax_by_name(name).expect("a language");
            let contexts = contexts(set, syntax);
            assert!(contexts.len() >= least, "{name}: {}", contexts.len());
        };
        check("Rust", 100);
        check("TypeScript", 300);
        check("JSON", 20);
    }

    /// The second way would match, but the first one takes more tries than there are.
    #[test]
    fn a_search_that_tries_too_often_is_no_match() {
        syntaxes();
        let pattern = Regex::new("(?:a|a)*c|a+b".to_owned());
        let matches = |count: usize| {
            let text = format!("{}b", "a".repeat(count));
            pattern.search(&text, 0, text.len(), None)
        };
        assert!(matches(5));
        assert!(!matches(18));
    }

    /// The names are what languages are told apart by.
    #[test]
    fn no_two_languages_have_one_name() {
        let mut names = HashSet::new();
        for syntax in syntaxes().syntaxes() {
            assert!(names.insert(&syntax.name), "{}", syntax.name);
        }
    }
}
