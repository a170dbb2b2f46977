//! The engine of the syntax definitions, and its limits.
//!
//! Invariant: the limits are set before any definition is used.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use syntect::parsing::{ParseState, ScopeStackOp, SyntaxReference, SyntaxSet};

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

/// The state of a syntax definition between two lines.
#[derive(Debug, Clone)]
pub(super) struct Parser(ParseState);

// SAFETY: the state is not `Send` only because of the offsets of captured text, which the engine
// keeps behind raw pointers. A state owns its offsets, nothing else points to them, and the engine
// reads and frees them on any thread.
unsafe impl Send for Parser {}

impl Parser {
    pub fn new(syntax: &SyntaxReference) -> Self {
        Self(ParseState::new(syntax))
    }

    /// Returns a line's scope operations by offset; `None` if the definition fails.
    pub fn parse(&mut self, line: &str) -> Option<Vec<(usize, ScopeStackOp)>> {
        // Patterns that quote the text are compiled only now, and the parser panics if one is
        // invalid. Its state is still consistent: that match was not applied.
        let parse = || self.0.parse_line(line, syntaxes());
        catch_unwind(AssertUnwindSafe(parse)).ok()?.ok()
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
}
