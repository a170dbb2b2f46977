//! Maps the scopes of syntax definitions to highlight groups.
//!
//! Invariant: a scope that is not in the table keeps the group of the enclosing scope.

use std::sync::OnceLock;

use syntect::parsing::Scope;

use super::groups as g;
use crate::spine::view::Group;

/// The effect of a scope on the group of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Set(Group),
    /// Plain again, for example code inside a string.
    Clear,
}

/// Returns the group of text in `scope`, inside text of group `outer`.
pub(super) fn group(scope: Scope, outer: Option<Group>) -> Option<Group> {
    match rule(scope) {
        None => outer,
        Some(Rule::Clear) => None,
        // A mapping's key is a property, even if written as a string.
        Some(Rule::Set(g::SYN_STRING)) if outer == Some(g::SYN_PROPERTY) => outer,
        Some(Rule::Set(group)) => Some(group),
    }
}

/// Returns the rule with the longest prefix of `scope`.
fn rule(scope: Scope) -> Option<Rule> {
    table()
        .iter()
        .find(|(prefix, _)| prefix.is_prefix_of(scope))
        .map(|&(_, rule)| rule)
}

/// Returns the rules, those of long scopes first.
fn table() -> &'static [(Scope, Rule)] {
    static TABLE: OnceLock<Vec<(Scope, Rule)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: Vec<_> = RULES
            .iter()
            .filter_map(|&(name, rule)| Some((Scope::new(name).ok()?, rule)))
            .collect();
        table.sort_by_key(|(scope, _)| std::cmp::Reverse(scope.len()));
        table
    })
}

/// Brackets and separators have no group on purpose: they are a third of all tokens, most colour
/// schemes show them as plain text, and each span costs the main thread an extmark.
const RULES: &[(&str, Rule)] = &[
    ("comment", Rule::Set(g::SYN_COMMENT)),
    ("constant", Rule::Set(g::SYN_CONSTANT)),
    ("constant.character.escape", Rule::Set(g::SYN_ESCAPE)),
    ("constant.numeric", Rule::Set(g::SYN_NUMBER)),
    ("constant.other.placeholder", Rule::Set(g::SYN_ESCAPE)),
    ("entity.name", Rule::Set(g::SYN_TYPE)),
    ("entity.name.constant", Rule::Set(g::SYN_CONSTANT)),
    ("entity.name.function", Rule::Set(g::SYN_FUNCTION)),
    ("entity.name.label", Rule::Set(g::SYN_VARIABLE)),
    ("entity.name.macro", Rule::Set(g::SYN_FUNCTION)),
    ("entity.name.section", Rule::Clear),
    ("entity.name.section.markdown", Rule::Set(g::HEADING)),
    ("entity.name.tag", Rule::Set(g::SYN_TAG)),
    ("entity.name.tag.toml", Rule::Set(g::SYN_PROPERTY)),
    ("entity.name.tag.yaml", Rule::Set(g::SYN_PROPERTY)),
    ("entity.name.variable", Rule::Set(g::SYN_VARIABLE)),
    ("entity.other.attribute-name", Rule::Set(g::SYN_ATTRIBUTE)),
    (
        "entity.other.attribute-name.multipart.nix",
        Rule::Set(g::SYN_PROPERTY),
    ),
    ("entity.other.inherited-class", Rule::Set(g::SYN_TYPE)),
    ("entity.type.function", Rule::Set(g::SYN_FUNCTION)),
    ("keyword", Rule::Set(g::SYN_KEYWORD)),
    ("keyword.operator", Rule::Set(g::SYN_OPERATOR)),
    ("keyword.operator.expression", Rule::Set(g::SYN_KEYWORD)),
    ("keyword.operator.logical.python", Rule::Set(g::SYN_KEYWORD)),
    ("keyword.operator.new", Rule::Set(g::SYN_KEYWORD)),
    ("keyword.operator.word", Rule::Set(g::SYN_KEYWORD)),
    ("keyword.other.unit", Rule::Set(g::SYN_NUMBER)),
    ("markup.bold", Rule::Set(g::BOLD)),
    ("markup.deleted", Rule::Set(g::SYN_REMOVED)),
    ("markup.heading", Rule::Set(g::HEADING)),
    ("markup.inserted", Rule::Set(g::SYN_ADDED)),
    ("markup.italic", Rule::Set(g::ITALIC)),
    ("markup.quote", Rule::Set(g::QUOTE)),
    ("markup.raw", Rule::Set(g::CODE)),
    ("markup.underline.link", Rule::Set(g::URL)),
    ("meta.annotation", Rule::Set(g::SYN_ATTRIBUTE)),
    ("meta.attribute.rust", Rule::Set(g::SYN_ATTRIBUTE)),
    ("meta.diff.header", Rule::Set(g::SYN_KEYWORD)),
    ("meta.diff.range", Rule::Set(g::SYN_ATTRIBUTE)),
    ("meta.embedded", Rule::Clear),
    ("meta.group.expansion", Rule::Set(g::SYN_VARIABLE)),
    ("meta.interpolation", Rule::Clear),
    ("meta.mapping.key", Rule::Set(g::SYN_PROPERTY)),
    ("meta.object-literal.key", Rule::Set(g::SYN_PROPERTY)),
    ("meta.property", Rule::Set(g::SYN_PROPERTY)),
    ("meta.structure.dictionary.key", Rule::Set(g::SYN_PROPERTY)),
    ("meta.template.expression", Rule::Clear),
    (
        "punctuation.definition.template-expression",
        Rule::Set(g::SYN_PUNCTUATION),
    ),
    (
        "punctuation.section.interpolation",
        Rule::Set(g::SYN_PUNCTUATION),
    ),
    ("source", Rule::Clear),
    ("storage", Rule::Set(g::SYN_KEYWORD)),
    ("storage.modifier.lifetime", Rule::Set(g::SYN_ATTRIBUTE)),
    ("storage.type.annotation", Rule::Set(g::SYN_ATTRIBUTE)),
    ("storage.type.boolean", Rule::Set(g::SYN_TYPE)),
    ("storage.type.buildin", Rule::Set(g::SYN_TYPE)),
    ("storage.type.built-in", Rule::Set(g::SYN_TYPE)),
    ("storage.type.c", Rule::Set(g::SYN_TYPE)),
    ("storage.type.go", Rule::Set(g::SYN_TYPE)),
    ("storage.type.keyword", Rule::Set(g::SYN_KEYWORD)),
    ("storage.type.numeric", Rule::Set(g::SYN_TYPE)),
    ("storage.type.primitive", Rule::Set(g::SYN_TYPE)),
    ("storage.type.string", Rule::Set(g::SYN_STRING)),
    ("storage.type.zig", Rule::Set(g::SYN_TYPE)),
    ("string", Rule::Set(g::SYN_STRING)),
    ("support.class", Rule::Set(g::SYN_TYPE)),
    ("support.constant", Rule::Set(g::SYN_CONSTANT)),
    ("support.function", Rule::Set(g::SYN_FUNCTION)),
    ("support.function.viml", Rule::Set(g::SYN_KEYWORD)),
    ("support.macro", Rule::Set(g::SYN_FUNCTION)),
    ("support.type", Rule::Set(g::SYN_TYPE)),
    ("support.type.property-name", Rule::Set(g::SYN_PROPERTY)),
    ("support.variable.property", Rule::Set(g::SYN_PROPERTY)),
    ("variable.annotation", Rule::Set(g::SYN_ATTRIBUTE)),
    ("variable.function", Rule::Set(g::SYN_FUNCTION)),
    ("variable.language", Rule::Set(g::SYN_BUILTIN)),
    ("variable.object.property", Rule::Set(g::SYN_PROPERTY)),
    ("variable.other.member", Rule::Set(g::SYN_PROPERTY)),
    ("variable.other.object.property", Rule::Set(g::SYN_PROPERTY)),
    ("variable.other.property", Rule::Set(g::SYN_PROPERTY)),
    (
        "variable.other.readwrite.instance",
        Rule::Set(g::SYN_PROPERTY),
    ),
    ("variable.parameter", Rule::Set(g::SYN_PARAMETER)),
    ("variable.parameter.name.nix", Rule::Clear),
    ("variable.type", Rule::Set(g::SYN_TYPE)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_rule_wins_and_unknown_scopes_inherit() {
        let check = |scope: &str, outer, want| {
            let scope = Scope::new(scope).expect("a valid scope");
            assert_eq!(group(scope, outer), want, "{scope}");
        };
        let string = Some(g::SYN_STRING);
        check("keyword.control.rust", None, Some(g::SYN_KEYWORD));
        check("keyword.operator.rust", None, Some(g::SYN_OPERATOR));
        check("punctuation.definition.string.begin.rust", string, string);
        check("meta.interpolation.python", string, None);
        let key = Some(g::SYN_PROPERTY);
        check("string.quoted.double.json", key, key);
    }

    #[test]
    fn every_rule_is_a_scope_and_names_a_known_group() {
        for (name, rule) in RULES {
            assert!(Scope::new(name).is_ok(), "{name}");
            if let Rule::Set(group) = rule {
                assert!(g::GROUPS.iter().any(|(known, _)| known == group), "{name}");
            }
        }
    }
}
