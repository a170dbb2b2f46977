//! The files that a patch names, in either of the formats agents write.
//!
//! Invariant: outside the lines counted by a hunk header, anything that may be a file name is
//! treated as one.

use acp::ToolKind;

/// A patch's effect on a file.
pub type Change = (ToolKind, String);

/// Returns the effects of a `*** Begin Patch` or a unified diff; `None` if any part of it is not
/// understood. A diff may name no file; then another field of the request does.
pub fn changes(patch: &str) -> Option<Vec<Change>> {
    if is_envelope(patch) {
        return envelope(patch);
    }
    unified(patch)
}

pub fn is_envelope(text: &str) -> bool {
    text.contains("*** Begin Patch")
}

fn envelope(patch: &str) -> Option<Vec<Change>> {
    let mut all = Vec::new();
    for line in patch.lines() {
        // Programs that apply patches ignore blanks around a line.
        let verb = line.trim().strip_prefix("*** ");
        let Some((verb, path)) = verb.and_then(|line| line.split_once(": ")) else {
            continue;
        };
        let kind = match verb {
            "Add File" | "Update File" => ToolKind::Edit,
            "Delete File" => ToolKind::Delete,
            "Move to" => ToolKind::Move,
            _ => return None,
        };
        all.push((kind, path.trim().to_owned()));
    }
    (!all.is_empty()).then_some(all)
}

fn unified(patch: &str) -> Option<Vec<Change>> {
    let mut all = Vec::new();
    let mut lines = patch.lines();
    let mut has_hunk = false;
    // The number of old and new lines that remain in the hunk.
    let (mut old, mut new) = (0_usize, 0_usize);
    for line in lines.by_ref() {
        if old > 0 || new > 0 {
            let (is_old, is_new) = match line.chars().next() {
                Some(' ') | None => (1, 1),
                Some('-') => (1, 0),
                Some('+') => (0, 1),
                Some('\\') => (0, 0),
                Some(_) => return None,
            };
            old = old.checked_sub(is_old)?;
            new = new.checked_sub(is_new)?;
        } else if let Some(counts) = line.strip_prefix("@@ ") {
            (old, new) = hunk(counts)?;
            has_hunk = true;
        } else {
            header(line, &mut all)?;
        }
    }
    (has_hunk || !all.is_empty()).then_some(all)
}

/// Reads a line outside hunks.
fn header(line: &str, all: &mut Vec<Change>) -> Option<()> {
    let (name, is_new) = match line.split_once(' ') {
        Some(("---" | "Index:", name)) => (name, false),
        Some(("+++", name)) => (name, true),
        _ if line.is_empty() || line.starts_with("\\ ") => return Some(()),
        _ if line.chars().all(|c| c == '=') => return Some(()),
        // Modes, renames, binary files: effects beyond lines.
        _ => return None,
    };
    let name = name.split('\t').next().unwrap_or(name).trim();
    if name == "/dev/null" {
        all.extend(is_new.then(|| (ToolKind::Delete, String::new())));
        return Some(());
    }
    // `a/` may be a folder, so both names count.
    let side = name.strip_prefix(if is_new { "b/" } else { "a/" });
    let names = side.into_iter().chain([name]);
    all.extend(names.map(|name| (ToolKind::Edit, name.to_owned())));
    Some(())
}

/// Reads the line counts of a hunk header: `-1,3 +1,4 @@`.
fn hunk(text: &str) -> Option<(usize, usize)> {
    let mut words = text.split(' ');
    let mut count = |sign| -> Option<usize> {
        let range = words.next()?.strip_prefix(sign)?;
        match range.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        }
    };
    Some((count('-')?, count('+')?))
}
