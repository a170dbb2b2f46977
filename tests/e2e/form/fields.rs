//! Filling in a form: by keys, from field to field, with each mistake shown below its field.

use std::path::Path;

use super::*;

#[test]
fn a_form_is_filled_in_by_keys_without_leaving_it() {
    let answer = json!({ "action": "accept", "content": {
        "name": "my-app", "count": 4, "tests": false, "licence": "apache", "extras": ["docs"],
    }});
    let nvim = start(&form(&some_fields(), &["name", "licence"], &answer));
    ask(&nvim);
    go(&nvim);
    nvim.wait_text("scripted asks you");
    insta::assert_snapshot!(on_screen(&nvim));
    // Type into the first field, and go to the next.
    nvim.keys("imy-app<Tab>4<Tab>");
    nvim.wait("normal mode", || nvim.mode() == "n");
    nvim.keys("<Space><Tab>j<CR><Tab><Space>");
    nvim.wait("the ticks", || {
        lines(&nvim).contains(&"  [x] docs".to_owned())
    });
    nvim.wait_text("my-app");
    insta::assert_snapshot!(on_screen(&nvim));
    nvim.keys("<Tab><CR>");
    wait_answered(&nvim);
    wait_said(&nvim, "Licence: Apache 2.0");
    nvim.quit();
}

#[test]
fn the_window_over_a_field_has_no_border() {
    let answer = json!({ "action": "decline" });
    let fields = json!({ "name": { "type": "string", "title": "Name" } });
    let nvim = start(&form(&fields, &[], &answer));
    if nvim.lua("return vim.fn.exists('+winborder')", ()) == 0 {
        return nvim.quit();
    }
    nvim.cmd("set winborder=double");
    ask(&nvim);
    go(&nvim);
    nvim.keys("ixyz");
    nvim.wait_text("xyz");
    assert!(!nvim.screen().has("╔"), "{}", nvim.screen().text());
    nvim.quit();
}

#[test]
fn a_secret_is_on_no_screen_and_in_no_record() {
    let answer = json!({ "action": "accept", "content": { "key": "hush" } });
    let mark = json!({ "codex": { "isSecret": true } });
    let fields = json!({ "key": { "type": "string", "title": "Key", "_meta": mark } });
    let nvim = start(&form(&fields, &["key"], &answer));
    ask(&nvim);
    go(&nvim);
    nvim.keys("ihush");
    nvim.wait_text("••••");
    assert_eq!(nvim.screen().find("hush"), None);
    nvim.keys("<C-s>");
    wait_answered(&nvim);
    wait_said(&nvim, "Key: ••••");
    assert_eq!(nvim.screen().find("hush"), None);
    let project = nvim.project.clone();
    nvim.quit();
    let kept = walk(&project.root().join("state"));
    assert!(kept.iter().any(|text| text.contains("Key: ••••")));
    assert!(!kept.iter().any(|text| text.contains("hush")));
}

/// Returns the contents of all files below a folder.
fn walk(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            folder if folder.is_dir() => texts.extend(walk(&folder)),
            file => texts.extend(std::fs::read(file).map(|it| String::from_utf8_lossy(&it).into())),
        }
    }
    texts
}

#[test]
fn mistakes_are_shown_below_their_fields_until_corrected() {
    let answer =
        json!({ "action": "accept", "content": { "name": "a", "count": 8, "tests": true } });
    let nvim = start(&form(&some_fields(), &["name"], &answer));
    ask(&nvim);
    go(&nvim);
    nvim.keys("jjiMany<Esc><C-s>");
    nvim.wait("the mistakes", || {
        let lines = lines(&nvim);
        let at = |line: &str| lines.iter().position(|known| known == line);
        let name = at("Name *").expect("a field");
        let count = at("Workers").expect("a field");
        lines[name + 2] == "  ! this is required"
            && lines[count + 1] == "  Many"
            && lines[count + 2] == "  ! this is not a whole number"
    });
    assert_eq!(status(&nvim)["phase"], "waiting");
    // The cursor is on the first mistake, whose text can be edited.
    nvim.keys("ia<CR><C-u>9<CR><C-s>");
    nvim.wait("the mistakes", || {
        lines(&nvim).contains(&"  ! at most 8".to_owned())
    });
    assert!(!lines(&nvim).contains(&"  ! this is required".to_owned()));
    nvim.keys("i<BS>8<C-s>");
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn a_text_may_have_several_lines_and_is_kept_when_the_field_is_left() {
    let answer = json!({ "action": "accept", "content": { "why": "one\ntwo" } });
    let properties = json!({ "why": { "type": "string", "title": "Why" } });
    let nvim = start(&form(&properties, &["why"], &answer));
    ask(&nvim);
    go(&nvim);
    nvim.keys("<CR>one<C-j>two");
    nvim.wait_text("two");
    // Leaving a half-typed field keeps its text.
    nvim.cmd("wincmd t");
    nvim.keys("<Esc>");
    nvim.wait("the file", || here(&nvim) == "text" && nvim.mode() == "n");
    assert_eq!(nvim.buf_lines(0), ["one two", "three"]);
    nvim.wait("the text", || {
        lines(&nvim)[2..5] == ["Why *", "  one", "  two"]
    });
    go(&nvim);
    nvim.keys("<C-s>");
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn a_form_without_fields_can_be_accepted() {
    let answer = json!({ "action": "accept" });
    let nvim = start(&form(&json!({}), &[], &answer));
    ask(&nvim);
    go(&nvim);
    nvim.keys("<CR>");
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn a_form_fits_on_a_narrow_screen() {
    let answer = json!({ "action": "accept", "content": { "name": "a", "tests": true } });
    let nvim = start(&form(&some_fields(), &["name"], &answer));
    nvim.resize(40, 14);
    ask(&nvim);
    go(&nvim);
    nvim.keys("ia");
    nvim.wait_text("  a");
    nvim.resize(100, 30);
    nvim.wait_text("Apache 2.0");
    nvim.keys("<C-s>");
    wait_answered(&nvim);
    nvim.quit();
}

/// The Claude adapter's form for a question with choices: a choice, or a text instead.
#[test]
fn a_choice_can_be_selected_or_replaced_by_a_text() {
    let properties = json!({
        "question_0": { "type": "string", "title": "Database", "oneOf": [
            { "const": "SQLite", "title": "SQLite — one file", "_meta": { "x": {} } },
            { "const": "Postgres", "title": "Postgres — a server" },
        ]},
        "question_0_custom": { "type": "string", "title": "Other", "description": "Your own." },
    });
    let answers = [
        ("<CR><C-s>", json!({ "question_0": "SQLite" })),
        ("<Tab>inone<C-s>", json!({ "question_0_custom": "none" })),
    ];
    for (keys, content) in answers {
        let absent = |name: &str| match content.get(name) {
            Some(value) => value.clone(),
            None => json!({ "$absent": true }),
        };
        let want = json!({ "action": "accept", "content": {
            "question_0": absent("question_0"),
            "question_0_custom": absent("question_0_custom"),
        }});
        let nvim = start(&form(&properties, &[], &want));
        ask(&nvim);
        go(&nvim);
        nvim.keys(keys);
        wait_answered(&nvim);
        nvim.quit();
    }
}

#[test]
fn the_line_of_a_form_that_is_one_choice_is_the_answer() {
    let one_of = json!([
        { "const": "SQLite", "title": "SQLite" },
        { "const": "Postgres", "title": "Postgres" },
    ]);
    // Also if it was selected before.
    for (keys, default) in [("j<CR>", json!(null)), ("<CR>", json!("Postgres"))] {
        let mut field = json!({ "type": "string", "title": "Database", "oneOf": one_of });
        if !default.is_null() {
            field["default"] = default;
        }
        let want = json!({ "action": "accept", "content": { "database": "Postgres" } });
        let nvim = start(&form(&json!({ "database": field }), &["database"], &want));
        ask(&nvim);
        go(&nvim);
        nvim.wait_text("<CR> answers");
        nvim.keys(keys);
        wait_answered(&nvim);
        nvim.quit();
    }
}
