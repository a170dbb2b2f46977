//! Tokens of effects that an event answers, and the work its reply resumes.
//!
//! Invariant: a token's type names its kind of reply, so a reply of one kind never resumes work
//! that waits for another.

use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Correlates an effect with the event that reports its result, a reply of kind `R`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token<R> {
    number: u64,
    reply: PhantomData<fn() -> R>,
}

/// The kinds of replies.
pub mod reply {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Edited {}
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DiskRead {}
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DiskWritten {}
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Resolved {}
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CheckpointTaken {}
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ImageRead {}
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DiffRead {}
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Highlighted {}
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum History {}
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Timer {}
}

impl<R> Token<R> {
    pub const fn new(number: u64) -> Self {
        Self {
            number,
            reply: PhantomData,
        }
    }
}

/// The pending work of one kind of reply.
#[derive(Debug)]
pub struct Pending<R, J> {
    /// In the order of their effects.
    all: BTreeMap<Token<R>, J>,
    next: u64,
}

impl<R, J> Default for Pending<R, J> {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<R: Copy + Ord, J> Pending<R, J> {
    /// Creates one of several owners that wait for the same kind of reply: the tokens of one are
    /// not those of another.
    pub fn of_owner(owner: u8) -> Self {
        Self {
            all: BTreeMap::new(),
            next: u64::from(owner) << 56,
        }
    }

    /// Returns the token for an effect whose reply resumes `job`.
    pub fn add(&mut self, job: J) -> Token<R> {
        self.next += 1;
        let token = Token::new(self.next);
        self.all.insert(token, job);
        token
    }

    /// Removes the work a reply resumes; `None` if it was dropped.
    pub fn take(&mut self, token: Token<R>) -> Option<J> {
        self.all.remove(&token)
    }

    pub fn get(&self, token: Token<R>) -> Option<&J> {
        self.all.get(&token)
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn values(&self) -> impl Iterator<Item = &J> {
        self.all.values()
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut J> {
        self.all.values_mut()
    }

    /// Drops the work that is not to be resumed.
    pub fn retain(&mut self, is_kept: impl Fn(&J) -> bool) {
        self.all.retain(|_, job| is_kept(job));
    }
}
