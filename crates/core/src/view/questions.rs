//! The question on the screen: a permission with its options, a form, or a page.

use crate::spine::view::{Group, OptionView};
use acp::{OptionKind, PermissionOption};

/// Gives each option its mnemonic: `y`, `a` or `n` by kind, else a letter of its name.
pub(crate) fn option_views(options: &[PermissionOption]) -> Vec<OptionView> {
    let mut used = Vec::new();
    let mut views = Vec::new();
    for option in options {
        let (first, group): (&str, Group) = match option.kind {
            OptionKind::AllowOnce => ("y", "AcpAllow"),
            OptionKind::AllowAlways => ("a", "AcpAllow"),
            OptionKind::RejectOnce => ("n", "AcpReject"),
            OptionKind::RejectAlways => ("", "AcpReject"),
            OptionKind::Unknown(_) => ("", "AcpOption"),
        };
        let letters = option.name.to_lowercase();
        let letters = letters.chars().filter(char::is_ascii_lowercase);
        let taken = |key: &char| used.contains(key) || RESERVED.contains(*key);
        let key = first.chars().chain(letters).find(|key| !taken(key));
        used.extend(key);
        views.push(OptionView {
            option: option.id.clone(),
            name: option.name.as_str().into(),
            key,
            group,
        });
    }
    views
}

/// Keys that move in the window or leave it: never a mnemonic.
const RESERVED: &str = "bdfghijkloquvwz";

#[cfg(test)]
mod tests {
    use super::*;

    fn check_keys(kinds: &[(&str, OptionKind)], want: &[Option<char>]) {
        let options: Vec<PermissionOption> = kinds
            .iter()
            .map(|(name, kind)| PermissionOption {
                id: (*name).into(),
                name: (*name).into(),
                kind: kind.clone(),
            })
            .collect();
        let keys: Vec<Option<char>> = option_views(&options).iter().map(|view| view.key).collect();
        assert_eq!(keys, want);
    }

    #[test]
    fn each_option_has_a_key_of_its_own() {
        check_keys(
            &[
                ("Allow", OptionKind::AllowOnce),
                ("Always", OptionKind::AllowAlways),
                ("Always here", OptionKind::AllowAlways),
                ("Reject", OptionKind::RejectOnce),
                ("Never", OptionKind::RejectAlways),
                ("??", OptionKind::Unknown("x".into())),
            ],
            &[Some('y'), Some('a'), Some('s'), Some('n'), Some('e'), None],
        );
    }
}
