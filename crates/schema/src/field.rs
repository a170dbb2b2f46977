//! One value of a form.

use std::fmt;
use std::sync::{Arc, LazyLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{EmailOptions, PatternOptions, ValidationOptions, Validator};
use serde_json::Value as Json;

/// Maximum size of a compiled pattern, which bounds the time per character of a text.
const COMPILED_BYTES: usize = 2 * 1024 * 1024;

static OPTIONS: LazyLock<ValidationOptions<'static>> = LazyLock::new(|| {
    jsonschema::options()
        .offline()
        .should_validate_formats(true)
        .with_email_options(EmailOptions::default().without_display_text())
        .with_pattern_options(PatternOptions::regex().size_limit(COMPILED_BYTES))
});

/// The compiled schema of a field.
#[derive(Clone)]
pub struct Field(Arc<dyn Check>);

/// Why a field rejects a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Wrong {
    MinLength(u64),
    MaxLength(u64),
    Format(String),
    Pattern(String),
    Minimum(Json),
    Maximum(Json),
    MinItems(u64),
    MaxItems(u64),
    /// The value or the item that is none of the choices.
    Enum(Json),
    /// The value or the item that is wrong for another reason.
    Other(Json),
}

impl Field {
    /// Compiles a schema; `None` if it is not valid.
    pub fn compile(schema: &Json) -> Option<Self> {
        let validator = OPTIONS.build(schema).ok()?;
        Some(Self(Arc::new(validator)))
    }

    /// Returns the first reason to reject a value. A pattern that fails to run is none.
    pub fn wrong(&self, value: &Json) -> Option<Wrong> {
        self.0.wrong(value)
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").finish_non_exhaustive()
    }
}

/// Hides the validator's type from the crates that drop a field.
trait Check: Send + Sync {
    fn wrong(&self, value: &Json) -> Option<Wrong>;
}

impl Check for Validator {
    fn wrong(&self, value: &Json) -> Option<Wrong> {
        self.iter_errors(value).find_map(|error| {
            Some(match error.kind() {
                ValidationErrorKind::RegexEngineFailure { .. } => return None,
                ValidationErrorKind::MinLength { limit } => Wrong::MinLength(*limit),
                ValidationErrorKind::MaxLength { limit } => Wrong::MaxLength(*limit),
                ValidationErrorKind::Format { format } => Wrong::Format(format.clone()),
                ValidationErrorKind::Pattern { pattern } => Wrong::Pattern(pattern.clone()),
                ValidationErrorKind::Minimum { limit } => Wrong::Minimum(limit.clone()),
                ValidationErrorKind::Maximum { limit } => Wrong::Maximum(limit.clone()),
                ValidationErrorKind::MinItems { limit } => Wrong::MinItems(*limit),
                ValidationErrorKind::MaxItems { limit } => Wrong::MaxItems(*limit),
                ValidationErrorKind::Enum { .. } => {
                    Wrong::Enum(error.instance().clone().into_owned())
                }
                _ => Wrong::Other(error.instance().clone().into_owned()),
            })
        })
    }
}
