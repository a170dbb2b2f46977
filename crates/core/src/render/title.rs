//! Titles of window bars: parts in the order of their importance.
//!
//! Invariant: the first parts are always shown; parts without room are dropped whole, from the end.

use crate::spine::oneline::OneLine;
use crate::spine::view::Group;

/// Minimum width of a truncated part.
const LEAST: usize = 8;

/// Maximum width of all parts but the last, so that a long name does not push out the parts after
/// it.
const MOST: usize = 24;

/// The parts that are never dropped: the agent and its state.
const ALWAYS: usize = 2;

/// Returns the parts of a title that fit into `columns`, for `'winbar'`.
pub fn fitted(title: &[(OneLine, Group)], columns: usize, width: impl Fn(&str) -> usize) -> String {
    let mut bar = String::new();
    let mut left = columns;
    for (index, (text, group)) in title.iter().enumerate() {
        let mut text = text.to_string();
        let dot = if index == 0 { " " } else { " · " };
        left = left.saturating_sub(width(dot));
        if index >= ALWAYS && index + 1 < title.len() {
            text = cut(text, MOST, &width);
        }
        if width(&text) > left && index >= ALWAYS {
            let is_last = index + 1 == title.len();
            if !is_last || left < LEAST {
                break;
            }
            text = cut(text, left, &width);
        }
        left = left.saturating_sub(width(&text));
        let text = text.replace('%', "%%");
        bar.push_str(&format!("%#AcpDim#{dot}%#{group}#{text}"));
    }
    bar.push_str("%*");
    bar
}

/// Truncates a text to at most `most` columns.
fn cut(text: String, most: usize, width: impl Fn(&str) -> usize) -> String {
    if width(&text) <= most {
        return text;
    }
    format!("{}…", narrower(&text, most, width).trim_end())
}

/// Returns the longest beginning of a text that has fewer than `most` columns. It is measured a few
/// times, and the rest of the text never.
pub fn narrower(text: &str, most: usize, width: impl Fn(&str) -> usize) -> &str {
    let start = |end: usize| text.get(..end).unwrap_or_default();
    let mut count = most.max(1);
    loop {
        let ends = text.char_indices().map(|(end, c)| end + c.len_utf8());
        let ends: Vec<usize> = ends.take(count).collect();
        let fitting = ends.partition_point(|end| width(start(*end)) < most);
        if fitting < ends.len() || ends.len() < count {
            let last = fitting.checked_sub(1).and_then(|last| ends.get(last));
            return start(last.copied().unwrap_or(0));
        }
        // Some characters have no width.
        count = count.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the visible text of a bar with `columns` columns.
    #[track_caller]
    fn check(title: &[&str], columns: usize, want: &str) {
        let title: Vec<_> = title.iter().map(|text| ((*text).into(), "G")).collect();
        let bar = fitted(&title, columns, |text| text.chars().count());
        let seen = bar.replace("%#AcpDim#", "").replace("%#G#", "");
        let seen = seen.trim_end_matches("%*").replace("%%", "%");
        assert_eq!(seen, want);
        let is_whole = seen.chars().count() <= columns;
        assert!(is_whole || title.len() <= ALWAYS, "{seen}");
    }

    #[test]
    fn a_long_title_is_measured_a_few_times() {
        let measured = std::cell::Cell::new(0);
        let width = |text: &str| {
            measured.set(measured.get() + 1);
            text.chars().count()
        };
        let long = "x".repeat(1 << 20);
        assert_eq!(cut(long, 10, width), "xxxxxxxxx…");
        assert!(measured.get() < 10, "{}", measured.get());
        // Characters without a width: the whole text is narrow.
        let marks = "\u{301}".repeat(100);
        assert_eq!(narrower(&marks, 10, |_| 0), marks);
        assert_eq!(narrower("äöü", 3, |text| text.chars().count()), "äö");
        assert_eq!(narrower("äöü", 0, |text| text.chars().count()), "");
    }

    #[test]
    fn what_has_no_room_is_left_out_from_the_end() {
        let title = ["bot", "idle", "Plan", "12k/200k 6%", "A long title"];
        check(
            &title,
            60,
            " bot · idle · Plan · 12k/200k 6% · A long title",
        );
        check(&title, 46, " bot · idle · Plan · 12k/200k 6% · A long tit…");
        check(&title, 42, " bot · idle · Plan · 12k/200k 6%");
        check(&title, 32, " bot · idle · Plan · 12k/200k 6%");
        check(&title, 31, " bot · idle · Plan");
        check(&title, 17, " bot · idle");
        check(&["a long name", "idle"], 5, " a long name · idle");
        check(&["bot", "idle", "100%"], 40, " bot · idle · 100%");
        let long = ["bot", "idle", "A mode with a name that is long", "12k"];
        check(&long, 50, " bot · idle · A mode with a name that… · 12k");
    }
}
