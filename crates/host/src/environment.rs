//! The user's environment, as agents and commands receive it.
//!
//! Invariant: only [`Environment::capture`] and [`Environment::refresh`] read the process
//! environment, because reading it while Neovim's main thread changes it is a data race in the C
//! library.

use std::ffi::OsString;
use std::sync::{Arc, Mutex};

use acp_edge::panics::lock;

/// The user's environment at the time of the last capture, shared by all clones.
///
/// Call [`Environment::capture`] and [`Environment::refresh`] on Neovim's main thread, which is the
/// one that changes variables (`vim.env`, `:let $X`, direnv plugins). Refreshing before an agent
/// starts gives it the variables as they are now.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: Arc<Mutex<Variables>>,
}

pub(super) type Variables = Arc<Vec<(OsString, OsString)>>;

impl Environment {
    /// Captures the environment of this process.
    pub fn capture() -> Self {
        Self::from_variables(std::env::vars_os())
    }

    /// Returns an environment with these variables.
    pub fn from_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = Arc::new(variables.into_iter().collect());
        Self {
            variables: Arc::new(Mutex::new(variables)),
        }
    }

    /// Captures the environment again, for this clone and all others.
    pub fn refresh(&self) {
        let fresh = Arc::new(std::env::vars_os().collect());
        *lock(&self.variables) = fresh;
    }

    /// Returns whether a variable has this value.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.value(name).is_some_and(|v| v == value)
    }

    /// Returns the value of a variable.
    pub(super) fn value(&self, name: &str) -> Option<OsString> {
        let variables = self.variables();
        let found = variables.iter().rev().find(|(n, _)| n == name);
        found.map(|(_, value)| value.clone())
    }

    /// Returns the value of a numeric variable.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.value(name)?.to_str()?.parse().ok()
    }

    /// Returns the names of all variables.
    pub(super) fn names(&self) -> Vec<OsString> {
        self.variables()
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    }

    pub(super) fn variables(&self) -> Variables {
        Arc::clone(&lock(&self.variables))
    }
}
