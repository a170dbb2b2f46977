//! Locates diffs of all kinds in a text, and checks the text they produce.

use super::locate::{Diff, Ground, Located, locate};
use crate::text::Text;
use crate::text::format::LineEnd;

pub fn diff(old: Option<&str>, new: &str) -> Diff {
    Diff {
        old: old.map(Into::into),
        new: new.into(),
        everywhere: false,
    }
}

fn find(text: &str, diff: &Diff, known: &[&str], near: Option<usize>) -> Option<Located> {
    let known: Vec<Text> = known.iter().map(|text| Text::from_text(text)).collect();
    let text = Text::from_text(text);
    locate(
        diff,
        Ground {
            text: &text,
            line_end: LineEnd::Lf,
            known: &known,
            near,
        },
    )
}

/// Checks the text that a diff produces, and the row of the diff.
#[track_caller]
fn check(text: &str, old: Option<&str>, new: &str, want: Option<(&str, usize)>) {
    let found = find(text, &diff(old, new), &[], None);
    let found = found.map(|found| (found.after.to_string(), found.row));
    assert_eq!(found, want.map(|(after, row)| (after.to_owned(), row)));
}

const FILE: &str = "one\ntwo\nthree\nfour\n";

#[test]
fn a_whole_file_is_replaced() {
    check(FILE, Some(FILE), "one\n", Some(("one\n", 0)));
    // One side lacks the final newline.
    check(
        FILE,
        Some("one\ntwo\nthree\nfour"),
        "1\n2",
        Some(("1\n2\n", 0)),
    );
    check(FILE, Some(FILE), "", Some(("", 0)));
}

#[test]
fn a_snippet_is_a_part_of_the_file() {
    check(FILE, Some("two"), "2", Some(("one\n2\nthree\nfour\n", 1)));
    check(
        FILE,
        Some("two\nthree\n"),
        "2\n",
        Some(("one\n2\nfour\n", 1)),
    );
    check(
        FILE,
        Some("o\nth"),
        "o th",
        Some(("one\ntwo three\nfour\n", 1)),
    );
    check(FILE, Some("four"), "4\n", Some(("one\ntwo\nthree\n4\n", 3)));
    check(FILE, Some("three\nfour\n"), "", Some(("one\ntwo\n", 2)));
    check(FILE, Some("five"), "5", None);
}

#[test]
fn whole_lines_come_before_parts_of_lines() {
    check("onetwo\ntwo\n", Some("two"), "2", Some(("onetwo\n2\n", 1)));
    check("onetwo\n", Some("two"), "2", Some(("one2\n", 0)));
}

#[test]
fn a_file_without_an_old_text_is_overwritten() {
    check(FILE, None, "1\n", Some(("1\n", 0)));
    check(FILE, Some(""), "1\n", Some(("1\n", 0)));
    check("", None, "1\n", Some(("1\n", 0)));
    check("", Some("a"), "b", None);
}

#[test]
fn a_mark_of_deletion_takes_the_whole_file() {
    check(FILE, Some("[file deleted]"), "", Some(("", 0)));
    // If the file contains this text, the diff is an ordinary snippet.
    check(
        "a\n[file deleted]\n",
        Some("[file deleted]"),
        "",
        Some(("a\n\n", 1)),
    );
}

#[track_caller]
fn check_near(near: Option<usize>, row: usize) {
    let found = find("a\nx\nb\nx\nc\nx\n", &diff(Some("x"), "y"), &[], near);
    let found = found.map(|found| (found.row, found.places));
    assert_eq!(found, Some((row, 3)));
}

#[test]
fn of_several_places_the_nearest_is_meant_and_the_number_is_told() {
    check_near(None, 1);
    check_near(Some(3), 3);
    check_near(Some(9), 5);
}

#[test]
fn every_place_is_meant_where_the_agent_says_so() {
    let all = Diff {
        everywhere: true,
        ..diff(Some("x"), "yy")
    };
    let found = find("a x\nx\nxx\n", &all, &[], None);
    let found = found.map(|found| (found.after.to_string(), found.places));
    assert_eq!(found, Some(("a yy\nyy\nyyyy\n".into(), 1)));
}

/// Checks a diff of the text that the agent read, after the user has edited it.
#[track_caller]
fn check_read(text: &str, read: &str, change: (Option<&str>, &str), want: Option<&str>) {
    let found = find(text, &diff(change.0, change.1), &[read], None);
    let found = found.map(|found| found.after.to_string());
    assert_eq!(found.as_deref(), want);
}

#[test]
fn what_the_agent_has_read_is_merged_with_the_users_changes() {
    let mine = "mine\none\ntwo\nthree\nfour\n";
    let after = Some("mine\none\n2\nthree\nfour\n");
    let whole = (Some(FILE), "one\n2\nthree\nfour\n");
    check_read(mine, FILE, whole, after);
    check_read(mine, FILE, (None, whole.1), after);
    let context = (Some("one\ntwo\nthree\n"), "one\n2\nthree\n");
    check_read(
        "1\ntwo\nthree\nfour\n",
        FILE,
        context,
        Some("1\n2\nthree\nfour\n"),
    );
    check_read("one\nTWO\nthree\nfour\n", FILE, context, None);
}

#[test]
fn the_line_ends_of_the_file_do_not_matter() {
    let text = Text::from_text(FILE);
    let ground = Ground {
        text: &text,
        line_end: LineEnd::CrLf,
        known: &[],
        near: None,
    };
    for (old, new) in [("two\r\nthree", "2\r\n3"), ("two\nthree", "2\n3")] {
        let found = locate(&diff(Some(old), new), ground).map(|found| found.after.to_string());
        assert_eq!(found.as_deref(), Some("one\n2\n3\nfour\n"));
    }
}

#[test]
fn a_snippet_without_its_common_indentation_gets_that_of_the_file() {
    let text = "fn a() {\n    if b {\n        c();\n\n        d();\n    }\n}\n";
    let found = |old: &str, new: &str| {
        let found = find(text, &diff(Some(old), new), &[], None)?;
        Some((found.after.to_string(), found.row))
    };
    let want = "fn a() {\n    if b {\n        c();\n\n        e();\n        f();\n    }\n}\n";
    assert_eq!(
        found(
            "if b {\n    c();\n\n    d();\n",
            "if b {\n    c();\n\n    e();\n    f();\n"
        ),
        Some((want.into(), 1))
    );
    assert_eq!(found("c();\nd();\n", "c();\n"), None);
    assert_eq!(found("if b {\nc();\n", "if b {\n"), None);
}
