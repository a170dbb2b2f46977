//! The highlight groups of rendered markdown and code.
//!
//! Invariant: every group used in spans here is in [`GROUPS`], with its default link.

use crate::spine::view::Group;

pub(crate) const HEADING: Group = "AcpHeading";
pub(crate) const BOLD: Group = "AcpBold";
pub(crate) const ITALIC: Group = "AcpItalic";
pub(crate) const STRIKE: Group = "AcpStrike";
pub(crate) const CODE: Group = "AcpCode";
pub(crate) const CODE_BLOCK: Group = "AcpCodeBlock";
pub(crate) const FENCE: Group = "AcpFence";
pub(crate) const LINK: Group = "AcpLink";
pub(crate) const URL: Group = "AcpUrl";
pub(crate) const QUOTE: Group = "AcpQuote";
pub(crate) const LIST: Group = "AcpList";
pub(crate) const TASK_DONE: Group = "AcpTaskDone";
pub(crate) const TASK_OPEN: Group = "AcpTaskOpen";
pub(crate) const RULE: Group = "AcpRule";
pub(crate) const TABLE: Group = "AcpTable";
pub(crate) const TABLE_HEAD: Group = "AcpTableHead";

pub(crate) const SYN_ADDED: Group = "AcpSynAdded";
pub(crate) const SYN_ATTRIBUTE: Group = "AcpSynAttribute";
pub(crate) const SYN_BUILTIN: Group = "AcpSynBuiltin";
pub(crate) const SYN_COMMENT: Group = "AcpSynComment";
pub(crate) const SYN_CONSTANT: Group = "AcpSynConstant";
pub(crate) const SYN_ESCAPE: Group = "AcpSynEscape";
pub(crate) const SYN_FUNCTION: Group = "AcpSynFunction";
pub(crate) const SYN_KEYWORD: Group = "AcpSynKeyword";
pub(crate) const SYN_NUMBER: Group = "AcpSynNumber";
pub(crate) const SYN_OPERATOR: Group = "AcpSynOperator";
pub(crate) const SYN_PARAMETER: Group = "AcpSynParameter";
pub(crate) const SYN_PROPERTY: Group = "AcpSynProperty";
pub(crate) const SYN_PUNCTUATION: Group = "AcpSynPunctuation";
pub(crate) const SYN_REMOVED: Group = "AcpSynRemoved";
pub(crate) const SYN_STRING: Group = "AcpSynString";
pub(crate) const SYN_TAG: Group = "AcpSynTag";
pub(crate) const SYN_TYPE: Group = "AcpSynType";
pub(crate) const SYN_VARIABLE: Group = "AcpSynVariable";

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
