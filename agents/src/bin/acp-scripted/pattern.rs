//! Matches messages against the patterns of a script.
//!
//! Invariant: a failed match names the place.

use serde_json::Value;

/// Matches `actual` against `pattern`.
///
/// An object matches an object with at least its fields, a list matches a list of the same length,
/// any other value matches an equal one. An object whose only key begins with `$` is a condition:
/// `{"$any":true}`, `{"$absent":true}` (or null), `{"$contains":"text"}`, `{"$lacks":"text"}`,
/// `{"$has":pattern}` (one item of a list), `{"$len":3}`, `{"$not":pattern}`.
///
/// # Errors
/// Names the place (a JSON pointer), the expected and the actual value.
pub fn matches(pattern: &Value, actual: &Value) -> Result<(), String> {
    at(pattern, Some(actual), "")
}

fn at(pattern: &Value, actual: Option<&Value>, place: &str) -> Result<(), String> {
    if let Some((name, argument)) = condition(pattern) {
        return test(name, argument, actual, place);
    }
    let Some(actual) = actual else {
        return Err(format!("{}: expected {pattern}, got nothing", name(place)));
    };
    match (pattern, actual) {
        (Value::Object(fields), Value::Object(there)) => fields
            .iter()
            .try_for_each(|(key, field)| at(field, there.get(key), &format!("{place}/{key}"))),
        (Value::Array(items), Value::Array(there)) if items.len() == there.len() => items
            .iter()
            .zip(there)
            .enumerate()
            .try_for_each(|(i, (item, there))| at(item, Some(there), &format!("{place}/{i}"))),
        _ if pattern == actual => Ok(()),
        _ => Err(differs(place, &pattern.to_string(), Some(actual))),
    }
}

fn condition(pattern: &Value) -> Option<(&str, &Value)> {
    let fields = pattern.as_object().filter(|fields| fields.len() == 1)?;
    let (key, argument) = fields.iter().next()?;
    Some((key.strip_prefix('$')?, argument))
}

fn test(
    condition: &str,
    argument: &Value,
    actual: Option<&Value>,
    place: &str,
) -> Result<(), String> {
    let text = actual.and_then(Value::as_str);
    let holds = match condition {
        "any" => actual.is_some(),
        "absent" => actual.is_none_or(Value::is_null),
        "contains" => text
            .zip(argument.as_str())
            .is_some_and(|(t, a)| t.contains(a)),
        "lacks" => text
            .zip(argument.as_str())
            .is_some_and(|(t, a)| !t.contains(a)),
        "has" => actual
            .and_then(Value::as_array)
            .is_some_and(|items| items.iter().any(|item| matches(argument, item).is_ok())),
        "len" => {
            let length = actual
                .and_then(Value::as_array)
                .map(Vec::len)
                .or(text.map(str::len));
            length.is_some() && length.and_then(|l| u64::try_from(l).ok()) == argument.as_u64()
        }
        "not" => at(argument, actual, place).is_err(),
        _ => return Err(format!("the condition ${condition} is unknown")),
    };
    if holds {
        return Ok(());
    }
    Err(differs(place, &format!("${condition} {argument}"), actual))
}

fn differs(place: &str, expected: &str, actual: Option<&Value>) -> String {
    let actual = actual.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let shown: String = actual.chars().take(600).collect();
    format!("{}: expected {expected}, got {shown}", name(place))
}

fn name(place: &str) -> &str {
    if place.is_empty() { "/" } else { place }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(pattern: Value, actual: Value, expected: Result<(), &str>) {
        assert_eq!(
            matches(&pattern, &actual).as_ref().map_err(String::as_str),
            expected.as_ref().map_err(|e| *e)
        );
    }

    #[test]
    fn a_pattern_names_a_part_of_the_message() {
        check(json!({"a": 1}), json!({"a": 1, "b": 2}), Ok(()));
        check(
            json!({"a": {"b": [1, {"c": 2}]}}),
            json!({"a": {"b": [1, {"c": 2, "d": 3}]}}),
            Ok(()),
        );
        check(
            json!({"a": 1}),
            json!({"b": 2}),
            Err("/a: expected 1, got nothing"),
        );
        check(json!([1]), json!([1, 2]), Err("/: expected [1], got [1,2]"));
        check(
            json!({"a": [1, 2]}),
            json!({"a": [1, 3]}),
            Err("/a/1: expected 2, got 3"),
        );
    }

    #[test]
    fn conditions_ask_for_less_than_equality() {
        check(json!({"a": {"$absent": true}}), json!({}), Ok(()));
        check(
            json!({"a": {"$absent": true}}),
            json!({"a": 1}),
            Err("/a: expected $absent true, got 1"),
        );
        check(json!({"$contains": "b"}), json!("abc"), Ok(()));
        check(
            json!({"$lacks": "b"}),
            json!("abc"),
            Err("/: expected $lacks \"b\", got \"abc\""),
        );
        check(
            json!({"$has": {"id": 2}}),
            json!([{"id": 1}, {"id": 2, "x": 0}]),
            Ok(()),
        );
        check(json!({"$len": 2}), json!([1, 2]), Ok(()));
        check(
            json!({"$not": 1}),
            json!(1),
            Err("/: expected $not 1, got 1"),
        );
        check(
            json!({"$what": 1}),
            json!(1),
            Err("the condition $what is unknown"),
        );
    }
}
