//! Validates values against JSON Schema.
//!
//! Invariants: no schema is fetched, and patterns run in linear time. No type of the validator's is
//! public, and values of them are dropped here: its generic code is compiled once, with this
//! crate's own optimization.

mod arguments;
mod field;

pub use arguments::{Schema, check_schema};
pub use field::{Field, Wrong};
