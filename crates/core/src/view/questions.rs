//! The question on the screen: a permission with its options, a form, or a page.

use crate::spine::view::{Group, OptionView};
use acp::{OptionKind, PermissionOption};

/// Returns the options in the order of their kinds, which is the same for all agents: allow once,
/// allow always, reject once, reject always, others. Each has a mnemonic: `y`, `a` or `n` by kind,
/// else a letter of its name.
pub(crate) fn option_views(options: &[PermissionOption]) -> Vec<OptionView> {
    let mut options: Vec<_> = options
        .iter()
        .map(|option| (look(&option.kind), option))
        .collect();
    options.sort_by_key(|(look, _)| look.rank);
    let mut used = Vec::new();
    let mut views = Vec::new();
    for (look, option) in options {
        let letters = option.name.to_lowercase();
        let letters = letters.chars().filter(char::is_ascii_lowercase);
        let taken = |key: &char| used.contains(key) || RESERVED.contains(*key);
        let key = look.key.into_iter().chain(letters).find(|key| !taken(key));
        used.extend(key);
        views.push(OptionView {
            option: option.id.clone(),
            name: option.name.as_str().into(),
            key,
            group: look.group,
            is_lasting: look.is_lasting,
        });
    }
    views
}

/// How an option of a kind is shown.
struct Look {
    rank: u8,
    key: Option<char>,
    group: Group,
    is_lasting: bool,
}

fn look(kind: &OptionKind) -> Look {
    let (rank, key, group, is_lasting) = match kind {
        OptionKind::AllowOnce => (0, Some('y'), "AcpAllow", false),
        OptionKind::AllowAlways => (1, Some('a'), "AcpAllow", true),
        OptionKind::RejectOnce => (2, Some('n'), "AcpReject", false),
        OptionKind::RejectAlways => (3, None, "AcpReject", true),
        OptionKind::Unknown(_) => (4, None, "AcpOption", false),
    };
    Look {
        rank,
        key,
        group,
        is_lasting,
    }
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
    fn options_have_one_order_for_all_agents() {
        let option = |name: &str, kind| PermissionOption {
            id: name.into(),
            name: name.into(),
            kind,
        };
        let options = [
            option("later", OptionKind::Unknown("postpone".into())),
            option("never", OptionKind::RejectAlways),
            option("no", OptionKind::RejectOnce),
            option("always", OptionKind::AllowAlways),
            option("all", OptionKind::AllowAlways),
            option("yes", OptionKind::AllowOnce),
        ];
        let views = option_views(&options);
        let order: Vec<&str> = views.iter().map(|view| view.option.as_str()).collect();
        assert_eq!(order, ["yes", "always", "all", "no", "never", "later"]);
        let lasting = views.iter().filter(|view| view.is_lasting);
        let lasting: Vec<&str> = lasting.map(|view| view.option.as_str()).collect();
        assert_eq!(lasting, ["always", "all", "never"]);
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
