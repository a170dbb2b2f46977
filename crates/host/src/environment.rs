//! The user's environment, as agents and commands get it.
//!
//! Invariant: nothing reads the process's own environment except [`Environment::capture`] and
//! [`Environment::refresh`], because reading it while Neovim's main thread changes it is a data
//! race in the C library.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

/// The user's environment as it was when it was last captured; clones share it.
///
/// [`Environment::capture`] and [`Environment::refresh`] belong on Neovim's main thread, which is
/// the one that changes variables (`vim.env`, `:let $X`, direnv plugins): call `refresh` there
/// before an agent is started, so that it sees what the user sees now.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: Arc<Mutex<Variables>>,
}

pub(super) type Variables = Arc<Vec<(OsString, OsString)>>;

impl Environment {
    /// Returns a copy of the whole environment of this process.
    pub fn capture() -> Self {
        Self::from_variables(std::env::vars_os())
    }

    /// Returns an environment of these variables.
    pub fn from_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = Arc::new(variables.into_iter().collect());
        Self {
            variables: Arc::new(Mutex::new(variables)),
        }
    }

    /// Copies the environment of this process again, for this and every clone.
    pub fn refresh(&self) {
        let fresh = Arc::new(std::env::vars_os().collect());
        *self.lock() = fresh;
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

    /// Returns the value of a variable that is a number.
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
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Variables> {
        self.variables
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
