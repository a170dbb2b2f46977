//! The regular expression engine of the syntax definitions: its limits, and compilation in advance.
//!
//! Invariants: the limits are set before any definition is used; all patterns a language can reach
//! are compiled by [`compile`], never during highlighting (except patterns that quote the text
//! itself, such as the end of a here-document).

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::json;
use syntect::parsing::syntax_definition::{
    ContextReference, MatchOperation, MatchPattern, Pattern,
};
use syntect::parsing::{SyntaxReference, SyntaxSet};

/// Maximum number of times a search may backtrack; beyond, it counts as no match.
///
/// Ordinary code stays far below. Without a limit a line of 500 braces takes minutes in some
/// definitions; with it the worst lines take a few milliseconds.
const RETRIES: u32 = 10_000;

/// Returns all syntax definitions; the first call loads them, which takes milliseconds.
pub(super) fn syntaxes() -> &'static SyntaxSet {
    static SET: OnceLock<SyntaxSet> = OnceLock::new();
    SET.get_or_init(|| {
        limit(RETRIES);
        two_face::syntax::extra_newlines()
    })
}

/// Compiles every pattern that highlighting `syntax` can reach, including those of embedded
/// languages.
///
/// It takes up to 30 ms, or 150 ms for markdown with all the languages of its fences.
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
    // A context's id has no constructor, but can be deserialized like the rest of a stored set.
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
    // A pattern that quotes another match is incomplete until then.
    if !pattern.has_captures {
        // The first use compiles it.
        pattern.regex().search("", 0, 0, None);
    }
}

fn limit(retries: u32) {
    let retries = retries.into();
    // SAFETY: each call stores a number that later searches start with; the engine is linked only
    // into this library, and no search is running yet.
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

    /// The second alternative would match, but the first one exceeds the number of tries.
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

    /// Languages are identified by their names.
    #[test]
    fn no_two_languages_have_one_name() {
        let mut names = HashSet::new();
        for syntax in syntaxes().syntaxes() {
            assert!(names.insert(&syntax.name), "{}", syntax.name);
        }
    }
}
