//! Schemas in, fields out; entries in, content or mistakes out.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::*;

/// Reads a schema with one property, `x`, and returns the value of a text entered there.
fn typed(property: Json, text: &str) -> Result<Json, String> {
    entered(property, &[], Entry::Text(text.to_owned()))
}

fn entered(property: Json, required: &[&str], entry: Entry) -> Result<Json, String> {
    let schema = json!({ "properties": { "x": property }, "required": required });
    let form = Form::of_schema(&schema);
    let taken = form.take(&[entry]);
    taken
        .map(|content| content.get("x").cloned().unwrap_or_default())
        .map_err(|mistakes| mistakes[0].1.clone())
}

fn chosen(numbers: &[usize]) -> Entry {
    Entry::Chosen(numbers.iter().copied().collect::<BTreeSet<_>>())
}

#[track_caller]
fn check(property: Json, text: &str, want: Result<Json, &str>) {
    assert_eq!(typed(property, text), want.map_err(str::to_owned), "{text}");
}

#[test]
fn texts_have_a_length_a_format_and_a_pattern() {
    check(json!({ "type": "string" }), " a ", Ok(json!(" a ")));
    check(json!({}), "a", Ok(json!("a")));
    let length = json!({ "type": "string", "minLength": 2, "maxLength": 3 });
    check(length.clone(), "ä", Err("at least 2 characters"));
    check(length.clone(), "äöü", Ok(json!("äöü")));
    check(length, "abcd", Err("at most 3 characters, these are 4"));
    let mail = json!({ "type": "string", "format": "email" });
    check(mail, "a", Err("this is not an address: name@example.org"));
    check(
        json!({ "type": "string", "format": "phone" }),
        "a",
        Ok(json!("a")),
    );
    let pattern = json!({ "type": "string", "pattern": "^[a-z]+$" });
    check(pattern.clone(), "a1", Err("this does not match ^[a-z]+$"));
    check(pattern, "ab", Ok(json!("ab")));
}

#[test]
fn numbers_are_read_as_people_write_them() {
    let integer = json!({ "type": "integer", "minimum": 1, "maximum": 9.5 });
    check(integer.clone(), " 7 ", Ok(json!(7)));
    check(integer.clone(), "+7", Ok(json!(7)));
    check(integer.clone(), "7.5", Err("this is not a whole number"));
    check(integer.clone(), "0", Err("at least 1"));
    check(integer, "10", Err("at most 9.5"));
    let number = json!({ "type": "number", "minimum": -0.5 });
    check(number.clone(), "1e3", Ok(json!(1000)));
    check(number.clone(), ".25", Ok(json!(0.25)));
    check(number.clone(), "-1", Err("at least -0.5"));
    for text in ["inf", "NaN", "1e999", "one"] {
        check(number.clone(), text, Err("this is not a number"));
    }
}

#[test]
fn what_is_empty_is_left_out_unless_it_is_required() {
    let types = ["string", "integer", "number"];
    for kind in types {
        let property = json!({ "type": kind });
        check(property.clone(), "", Ok(Json::Null));
        let required = entered(property, &["x"], Entry::Text(String::new()));
        assert_eq!(required, Err("this is required".to_owned()), "{kind}");
    }
    let one = json!({ "type": "string", "enum": ["a", "b"] });
    assert_eq!(entered(one.clone(), &[], chosen(&[])), Ok(Json::Null));
    let required = entered(one, &["x"], chosen(&[]));
    assert_eq!(required, Err("choose one of these".to_owned()));
    let flag = entered(json!({ "type": "boolean" }), &["x"], Entry::Flag(false));
    assert_eq!(flag, Ok(json!(false)));
}

#[test]
fn choices_are_told_by_their_values() {
    let titled = json!({ "type": "string", "oneOf": [
        { "const": "r", "title": "Red", "description": "as blood" },
        { "const": "g", "title": "Green" },
        { "const": "r", "title": "again" },
    ]});
    assert_eq!(entered(titled.clone(), &[], chosen(&[1])), Ok(json!("g")));
    let form = Form::of_schema(&json!({ "properties": { "x": titled } }));
    let Kind::One(choices) = &form.fields[0].kind else {
        panic!("{form:?}");
    };
    let shown: Vec<_> = choices.iter().map(|choice| choice.title.as_str()).collect();
    assert_eq!(shown, ["Red", "Green"]);
    assert_eq!(choices[0].description.as_deref(), Some("as blood"));
    let named = json!({ "enum": ["r"], "enumNames": ["Red"] });
    let form = Form::of_schema(&json!({ "properties": { "x": named } }));
    assert!(matches!(&form.fields[0].kind, Kind::One(choices) if choices[0].title == "Red"));
}

#[test]
fn several_may_be_chosen_within_bounds() {
    let many = json!({
        "type": "array", "minItems": 1, "maxItems": 2,
        "items": { "anyOf": [
            { "const": "a", "title": "A" }, { "const": "b", "title": "B" }, { "const": "c" },
        ]},
    });
    let check = |numbers: &[usize], want: Result<Json, &str>| {
        let got = entered(many.clone(), &["x"], chosen(numbers));
        assert_eq!(got, want.map_err(str::to_owned));
    };
    check(&[2, 0], Ok(json!(["a", "c"])));
    check(&[], Err("choose at least 1"));
    check(&[0, 1, 2], Err("choose at most 2"));
    assert_eq!(entered(many, &[], chosen(&[])), Ok(Json::Null));
}

#[test]
fn defaults_stand_there_from_the_start() {
    let form = Form::of_schema(&json!({ "properties": {
        "text": { "type": "string", "default": "a" },
        "count": { "type": "integer", "default": 3.0 },
        "flag": { "type": "boolean", "default": true },
        "one": { "enum": ["a", "b"], "default": "b" },
        "gone": { "enum": ["a", "b"], "default": "c" },
        "many": { "type": "array", "items": { "enum": ["a", "b"] }, "default": ["b", "x"] },
        "odd": { "type": "integer", "default": "three" },
    }}));
    assert_eq!(
        form.entries(),
        [
            Entry::Text("a".into()),
            Entry::Text("3".into()),
            Entry::Flag(true),
            chosen(&[1]),
            chosen(&[]),
            chosen(&[1]),
            Entry::Text(String::new()),
        ]
    );
    assert_eq!(
        Json::Object(form.take(&form.entries()).unwrap()),
        json!({ "text": "a", "count": 3, "flag": true, "one": "b", "many": ["b"] })
    );
}

#[test]
fn what_nobody_can_ask_for_is_there_and_says_so() {
    let odd = json!({ "properties": {
        "a": { "type": "object" },
        "b": { "type": "array", "items": { "type": "integer" } },
        "c": { "type": "integer", "enum": [1, 2] },
        "d": { "type": ["null", "string"], "title": " " },
    }, "required": ["a"] });
    let form = Form::of_schema(&odd);
    let kinds: Vec<_> = form.fields.iter().map(|field| &field.kind).collect();
    assert!(matches!(kinds[0], Kind::Unknown(kind) if kind == "object"));
    assert!(matches!(kinds[1], Kind::Unknown(kind) if kind == "array"));
    assert!(matches!(kinds[2], Kind::Unknown(kind) if kind == "integer of some"));
    assert!(matches!(kinds[3], Kind::Text));
    assert_eq!(form.fields[3].title, "d");
    assert_eq!(
        form.take(&form.entries()),
        Err(vec![(0, "this cannot be filled in here".to_owned())])
    );
    for odd in [json!(null), json!([]), json!({ "properties": 3 })] {
        assert_eq!(Form::of_schema(&odd), Form::default());
    }
}

#[test]
fn an_answer_from_elsewhere_is_checked_by_name() {
    let form = Form::of_schema(&json!({ "properties": {
        "name": { "type": "string", "minLength": 2 },
        "age": { "type": "integer" },
        "many": { "type": "array", "items": { "enum": ["a"] } },
    }, "required": ["name", "age"] }));
    let check = |content: Json, want: &[&str]| {
        let got = form.check(content.as_object().unwrap());
        let got = got.err().unwrap_or_default();
        assert_eq!(got, want, "{content}");
    };
    check(json!({ "name": "ab", "age": 3.0 }), &[]);
    check(
        json!({ "name": "a", "many": ["a", "b"], "x": 1 }),
        &[
            "name: at least 2 characters",
            "age: this is required",
            "many: \"b\" is none of the choices",
            "x: there is no such field",
        ],
    );
    check(
        json!({ "name": 3, "age": "3", "many": [1] }),
        &[
            "name: expected a text, got 3",
            "age: expected a whole number, got \"3\"",
            "many: 1 is none of the choices",
        ],
    );
}

#[track_caller]
fn check_rule(rule: Json, good: &[&str], bad: &[&str]) {
    let form = Form::of_schema(&json!({ "properties": { "x": rule } }));
    for (texts, is_good) in [(good, true), (bad, false)] {
        for text in texts {
            let content = json!({ "x": text });
            let checked = form.check(content.as_object().unwrap());
            assert_eq!(checked.is_ok(), is_good, "{rule}: {text:?}");
        }
    }
}

#[test]
fn formats_are_checked() {
    check_rule(
        json!({ "format": "email" }),
        &["a@b", "a.b+c@example.org"],
        &[
            "", "a", "@b", "a@", "a@b..c", "a b@c", "a@-b", "a@b\n", ".a@b", "A <a@b>",
        ],
    );
    check_rule(
        json!({ "format": "uri" }),
        &[
            "https://x.org/a?b=c#d",
            "mailto:a@b",
            "urn:x:y",
            "file:///a%20b",
        ],
        &[
            "",
            "x",
            "/a",
            ":a",
            "1a:b",
            "https://x y",
            "a:%2",
            "a:ü",
            "a:b\n",
        ],
    );
    check_rule(
        json!({ "format": "date" }),
        &["2026-01-31", "2024-02-29", "2000-02-29"],
        &[
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-1-1",
            "26-01-01",
            "2026-01-31 ",
        ],
    );
    check_rule(
        json!({ "format": "date-time" }),
        &["2026-01-31T12:00:00Z", "2026-01-31t22:29:60.123-01:30"],
        &[
            "2026-01-31",
            "2026-01-31T12:00Z",
            "2026-01-31T12:00:00",
            "2026-01-31T12:00:00.Z",
        ],
    );
}

#[test]
fn patterns_mean_what_they_mean_in_a_schema() {
    let check = |pattern: &str, good: &[&str], bad: &[&str]| {
        check_rule(json!({ "pattern": pattern }), good, bad);
    };
    check("b", &["abc"], &["ac"]);
    check("^[a-z]+$", &["abc"], &["ab\n", "ab\ncd", "Ab", ""]);
    check(r"^\d{4}$", &["2026"], &["٢٠٢٦", "20260"]);
    check(r"^[\w.-]+$", &["a_1.b-c"], &["ä", "a b"]);
    check(r"^\S+\s\S+$", &["a b", "a\u{a0}b"], &["ab"]);
    check(r"^[[\]&~/]+$", &["[]", "&&", "~/"], &["a"]);
    check(r"^https?:\/\/", &["http://x"], &["ftp://x"]);
    check(r"\bcat\b", &["a cat."], &["cats"]);
    check("^.$", &["ä", "👍"], &["\n", "ab"]);
    check(r"^\u00e4$", &["ä"], &["a"]);
    check("^(?:a|b){2,3}$", &["ab"], &["a", "abab"]);
}

#[test]
fn a_rule_that_cannot_be_checked_leaves_the_others() {
    let (long, slow) = ("a".repeat(10_000), r"\s".repeat(100));
    for pattern in [
        r"^(?=.*\d)",
        r"(a)\1",
        "(",
        "*",
        r"(\pL{99}){99}",
        &long,
        &slow,
    ] {
        let rule = json!({ "pattern": pattern, "maxLength": 3 });
        check_rule(rule, &["any"], &["four"]);
    }
    let odd = json!({ "minLength": "1", "maxLength": 2, "pattern": 3, "format": [] });
    check_rule(odd, &["", "ab"], &["abc"]);
    let remote = json!({ "$ref": "https://example.com/a.json", "maxLength": 1 });
    check_rule(remote, &["a"], &["ab"]);
}

#[test]
fn so_many_patterns_of_a_form_are_checked() {
    let field = |number| (format!("f{number}"), json!({ "pattern": "^a$" }));
    let fields: Map<String, Json> = (0..=rules::PATTERNS).map(field).collect();
    let form = Form::of_schema(&json!({ "properties": fields }));
    let wrong = vec![Entry::Text("b".to_owned()); fields.len()];
    assert_eq!(form.take(&wrong).unwrap_err().len(), rules::PATTERNS);
}
