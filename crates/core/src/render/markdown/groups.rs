//! The highlight groups of rendered markdown and code.
//!
//! Invariant: every group used in spans here is in [`GROUPS`], with its default link.

use crate::spine::view::Group;

pub(super) const HEADING: Group = "AcpHeading";
pub(super) const BOLD: Group = "AcpBold";
pub(super) const ITALIC: Group = "AcpItalic";
pub(super) const STRIKE: Group = "AcpStrike";
pub(super) const CODE: Group = "AcpCode";
pub(super) const CODE_BLOCK: Group = "AcpCodeBlock";
pub(super) const FENCE: Group = "AcpFence";
pub(super) const LINK: Group = "AcpLink";
pub(super) const URL: Group = "AcpUrl";
pub(super) const QUOTE: Group = "AcpQuote";
pub(super) const LIST: Group = "AcpList";
pub(super) const TASK_DONE: Group = "AcpTaskDone";
pub(super) const TASK_OPEN: Group = "AcpTaskOpen";
pub(super) const RULE: Group = "AcpRule";
pub(super) const TABLE: Group = "AcpTable";
pub(super) const TABLE_HEAD: Group = "AcpTableHead";

pub(super) const SYN_ADDED: Group = "AcpSynAdded";
pub(super) const SYN_ATTRIBUTE: Group = "AcpSynAttribute";
pub(super) const SYN_BUILTIN: Group = "AcpSynBuiltin";
pub(super) const SYN_COMMENT: Group = "AcpSynComment";
pub(super) const SYN_CONSTANT: Group = "AcpSynConstant";
pub(super) const SYN_ESCAPE: Group = "AcpSynEscape";
pub(super) const SYN_FUNCTION: Group = "AcpSynFunction";
pub(super) const SYN_KEYWORD: Group = "AcpSynKeyword";
pub(super) const SYN_NUMBER: Group = "AcpSynNumber";
pub(super) const SYN_OPERATOR: Group = "AcpSynOperator";
pub(super) const SYN_PARAMETER: Group = "AcpSynParameter";
pub(super) const SYN_PROPERTY: Group = "AcpSynProperty";
pub(super) const SYN_PUNCTUATION: Group = "AcpSynPunctuation";
pub(super) const SYN_REMOVED: Group = "AcpSynRemoved";
pub(super) const SYN_STRING: Group = "AcpSynString";
pub(super) const SYN_TAG: Group = "AcpSynTag";
pub(super) const SYN_TYPE: Group = "AcpSynType";
pub(super) const SYN_VARIABLE: Group = "AcpSynVariable";

/// All groups and their default links.
///
/// The links are tree-sitter captures, which colour schemes define. For an undefined one, Neovim
/// falls back along the dots (`@markup.link.url` to `@markup.link`) and to its own defaults.
pub const GROUPS: &[(Group, &str)] = &[
    (HEADING, "@markup.heading"),
    (BOLD, "@markup.strong"),
    (ITALIC, "@markup.italic"),
    (STRIKE, "@markup.strikethrough"),
    (CODE, "@markup.raw"),
    (CODE_BLOCK, "@markup.raw.block"),
    (FENCE, "NonText"),
    (LINK, "@markup.link"),
    (URL, "@markup.link.url"),
    (QUOTE, "@markup.quote"),
    (LIST, "@markup.list"),
    (TASK_DONE, "@markup.list.checked"),
    (TASK_OPEN, "@markup.list.unchecked"),
    (RULE, "NonText"),
    (TABLE, "NonText"),
    (TABLE_HEAD, "@markup.strong"),
    (SYN_ADDED, "Added"),
    (SYN_ATTRIBUTE, "@attribute"),
    (SYN_BUILTIN, "@variable.builtin"),
    (SYN_COMMENT, "@comment"),
    (SYN_CONSTANT, "@constant"),
    (SYN_ESCAPE, "@string.escape"),
    (SYN_FUNCTION, "@function"),
    (SYN_KEYWORD, "@keyword"),
    (SYN_NUMBER, "@number"),
    (SYN_OPERATOR, "@operator"),
    (SYN_PARAMETER, "@variable.parameter"),
    (SYN_PROPERTY, "@property"),
    (SYN_PUNCTUATION, "@punctuation.special"),
    (SYN_REMOVED, "Removed"),
    (SYN_STRING, "@string"),
    (SYN_TAG, "@tag"),
    (SYN_TYPE, "@type"),
    (SYN_VARIABLE, "@variable"),
];
