//! Fuzzy search of paths.
//!
//! Invariant: each path is examined once, and the number of results is bounded.

/// Returns at most `max` names that contain the letters of `lead` in order, best first; without a
/// lead, the first names.
///
/// Case matters only if the lead contains capitals.
pub fn best<'a>(names: impl Iterator<Item = &'a str>, lead: &str, max: usize) -> Vec<&'a str> {
    if lead.is_empty() {
        return names.take(max).collect();
    }
    let exact = lead.bytes().any(|byte| byte.is_ascii_uppercase());
    let scored = names.filter_map(|name| Some((score(name, lead.as_bytes(), exact)?, name)));
    let mut scored: Vec<(i64, &str)> = scored.collect();
    let order = |a: &(i64, &str), b: &(i64, &str)| {
        let by_length = a.1.len().cmp(&b.1.len());
        b.0.cmp(&a.0).then(by_length).then(a.1.cmp(b.1))
    };
    if scored.len() > max {
        scored.select_nth_unstable_by(max, order);
        scored.truncate(max);
    }
    scored.sort_unstable_by(order);
    scored.into_iter().map(|(_, name)| name).collect()
}

/// Scores a path: matches in the file name, at its start and in one piece rank highest.
fn score(path: &str, lead: &[u8], exact: bool) -> Option<i64> {
    let path = path.as_bytes();
    let whole = run(path, lead, exact)?;
    let base = path.iter().rposition(|byte| *byte == b'/');
    let name = base.and_then(|base| path.get(base + 1..)).unwrap_or(path);
    let in_name = run(name, lead, exact).map(|score| score + 40);
    let is_start = in_name.is_some()
        && name.len() >= lead.len()
        && name.iter().zip(lead).all(|(a, b)| is_same(*a, *b, exact));
    let start = if is_start { 40 } else { 0 };
    Some(whole.max(in_name.unwrap_or(whole)) + start)
}

/// Scores the leftmost match.
fn run(text: &[u8], lead: &[u8], exact: bool) -> Option<i64> {
    let mut wanted = lead.iter();
    let mut next = wanted.next();
    let (mut score, mut last) = (0, None);
    for (at, byte) in text.iter().enumerate() {
        let Some(want) = next else {
            break;
        };
        if !is_same(*byte, *want, exact) {
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let begins = before.is_none_or(|before| {
            b"/_-. ".contains(before) || before.is_ascii_lowercase() && byte.is_ascii_uppercase()
        });
        score += 1;
        if begins {
            score += 6;
        }
        if last.is_some_and(|last| last + 1 == at) {
            score += 8;
        }
        last = Some(at);
        next = wanted.next();
    }
    next.is_none().then_some(score)
}

fn is_same(a: u8, b: u8, exact: bool) -> bool {
    match exact {
        true => a == b,
        false => a.eq_ignore_ascii_case(&b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 7] = [
        "README.md",
        "src/core/main_loop.rs",
        "src/domain.rs",
        "src/main.rs",
        "src/map_in.rs",
        "tests/Maker.rs",
        "tests/main/a.rs",
    ];

    #[track_caller]
    fn check(lead: &str, want: &[&str]) {
        assert_eq!(best(NAMES.into_iter(), lead, 4), want);
    }

    #[test]
    fn the_best_come_first() {
        check("", &NAMES[..4]);
        check(
            "main",
            &[
                "src/main.rs",
                "src/core/main_loop.rs",
                "src/map_in.rs",
                "src/domain.rs",
            ],
        );
        check("tests/ma", &["tests/Maker.rs", "tests/main/a.rs"]);
        check("Mak", &["tests/Maker.rs"]);
        check("rdm", &["README.md", "src/domain.rs"]);
        check("zz", &[]);
    }
}
