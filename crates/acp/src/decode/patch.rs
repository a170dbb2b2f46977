//! Patches in the input of a tool call: some agents send a change in no other form.
//!
//! Invariant: a text is a patch as a whole or not a patch: no hunk is shown without the others.

use std::path::PathBuf;

use super::super::message::{Location, ToolContent};

/// Reads a patch in the unified format: a diff for each hunk, and the place where each begins.
///
/// The lines may have lost their common indentation. `path` names the file of a patch without names.
pub fn diffs(patch: &str, path: Option<&str>) -> Option<Vec<(ToolContent, Location)>> {
    let mut lines = patch.lines().peekable();
    let mut file: Option<PathBuf> = path.map(PathBuf::from);
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ") {
            let new = lines.next()?.strip_prefix("+++ ")?;
            let name = |name: &str| name.split('\t').next().unwrap_or_default().to_owned();
            let name = match name(new) {
                gone if gone == "/dev/null" => name(old),
                new => new,
            };
            // A name in the patch may be shortened; the call's own one is not.
            file = Some(path.map_or(PathBuf::from(name), PathBuf::from));
        } else if let Some(counts) = line.strip_prefix("@@ ") {
            let (mut removed, mut added, row) = counts_of(counts)?;
            let is_new = removed == 0 && counts.starts_with("-0,0");
            let (mut old, mut new) = (String::new(), String::new());
            while removed > 0 || added > 0 {
                let line = lines.next()?;
                let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
                match sign {
                    "-" => put(&mut old, text, &mut removed)?,
                    "+" => put(&mut new, text, &mut added)?,
                    " " => {
                        put(&mut old, text, &mut removed)?;
                        put(&mut new, text, &mut added)?;
                    }
                    "\\" => {}
                    _ => return None,
                }
            }
            lines.next_if(|line| line.starts_with('\\'));
            let path = file.clone()?;
            let diff = ToolContent::Diff {
                path: path.clone(),
                old: (!is_new).then_some(old),
                new,
            };
            let row = Some(row.saturating_sub(1));
            found.push((diff, Location { path, row }));
        } else if line.starts_with(['+', '-']) {
            return None;
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Appends a line, which the hunk's header must have counted.
fn put(text: &mut String, line: &str, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1)?;
    text.push_str(line);
    text.push('\n');
    Some(())
}

/// Reads `-1,3 +1,4 @@ …`: the lines removed and added, context included, and the new file's first.
fn counts_of(header: &str) -> Option<(usize, usize, u32)> {
    let mut words = header.split(' ');
    let (old, new) = (words.next()?, words.next()?);
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    let first = |range: &str| range.split(',').next().and_then(|row| row.parse().ok());
    let (old, new) = (old.strip_prefix('-')?, new.strip_prefix('+')?);
    Some((count(old)?, count(new)?, first(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the diffs in a patch, as `path:row old>new` with `|` for line ends; `None` for none.
    #[track_caller]
    fn check(patch: &str, want: Option<&[&str]>) {
        let shown = diffs(patch, None).map(|all| {
            let all = all.into_iter().map(|(diff, place)| match diff {
                ToolContent::Diff { path, old, new } => {
                    let old = old.map_or("none".to_owned(), |old| old.replace('\n', "|"));
                    let row = place.row.unwrap_or_default();
                    format!("{}:{row} {old}>{}", path.display(), new.replace('\n', "|"))
                }
                other => format!("{other:?}"),
            });
            all.collect::<Vec<_>>()
        });
        let want = want.map(|want| want.iter().map(|diff| (*diff).to_owned()).collect());
        assert_eq!(shown, want, "{patch}");
    }

    #[test]
    fn each_hunk_is_a_diff_with_its_place() {
        let index = "Index: /p/a\n==========\n--- /p/a\n+++ /p/a\n";
        check(
            &format!("{index}@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n@@ -9 +9,2 @@\n x\n+y\n"),
            Some(&["/p/a:0 one|two|three|>one|TWO|three|", "/p/a:8 x|>x|y|"]),
        );
        check(
            &format!("{index}@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"),
            Some(&["/p/a:0 none>a|b|"]),
        );
        // A removed line that looks like a name, and a blank line of context without its blank.
        check(
            "--- a\tyesterday\n+++ a\ttoday\n@@ -1,3 +1,2 @@\n--- gone\n\n z\n",
            Some(&["a:0 -- gone||z|>|z|"]),
        );
        check(
            "--- a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            Some(&["a:0 a|>"]),
        );
    }

    #[test]
    fn what_is_not_a_whole_patch_is_none() {
        for text in [
            "",
            "no patch",
            "+ more\n- less",
            "--- a\n+++ a\n@@ -1,3 +1,3 @@\n one\n",
            "--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n+c\n",
            "@@ -1 +1 @@\n-a\n+b\n",
        ] {
            check(text, None);
        }
    }
}
