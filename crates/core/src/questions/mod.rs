//! Questions that wait for the user: permissions, forms and pages, and the rules that answer some.

pub mod elicitation;
pub mod form;
pub mod formview;
pub mod page;
pub mod permission;
pub mod rules;
