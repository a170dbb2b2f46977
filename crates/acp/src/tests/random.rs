//! Decoding neither fails nor panics on any bytes, and every answerable request is answered.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Messages to be damaged, one of each shape.
const SEEDS: [&str; 8] = [
    r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","title":"Edit","kind":"edit","status":"pending","rawInput":{"a":[1]},"content":[{"type":"diff","path":"/a","oldText":"x","newText":"y"}],"locations":[{"path":"/a","line":3}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[{"type":"content","content":{"type":"text","text":"a\u00e4\ud83d\ude00"}},{"type":"terminal","terminalId":"x"}],"_meta":{"a":null}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"YWJj","mimeType":"image/png"},"messageId":"m"}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"pending"}]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.5,"currency":"USD"}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"terminal/create","params":{"sessionId":"s","command":"a","args":["b"],"env":[{"name":"A","value":"b"}],"cwd":"/a","outputByteLimit":9}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"fs/read_text_file","params":{"sessionId":"s","path":"/a","line":3,"limit":1}}"#,
    r#"[{"jsonrpc":"2.0","id":3.0,"result":null},{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"m"}}]"#,
];

/// Values to put where another type is expected.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(serde_json::json!([])),
        Just(serde_json::json!({})),
        Just(serde_json::json!([{"type": "x"}, 1, null])),
    ]
}

/// Returns the number of values in `value`, including itself.
fn count(value: &Value) -> usize {
    let below: usize = match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    };
    1 + below
}

/// Replaces the value at position `at`, counted from the top; returns the remaining count.
fn put(value: &mut Value, at: usize, odd: &Value) -> Option<usize> {
    let Some(mut at) = at.checked_sub(1) else {
        *value = odd.clone();
        return None;
    };
    let below: Box<dyn Iterator<Item = &mut Value>> = match value {
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Object(fields) => Box::new(fields.values_mut()),
        _ => return Some(at),
    };
    for value in below {
        at = put(value, at, odd)?;
    }
    Some(at)
}

proptest! {
    #[test]
    fn any_bytes_are_decoded(line in proptest::collection::vec(any::<u8>(), 0..300)) {
        let blank = String::from_utf8_lossy(&line).trim().is_empty();
        prop_assert_eq!(rpc::decode(&line).is_empty(), blank);
    }

    #[test]
    fn damaged_lines_are_decoded(
        seed in 0..SEEDS.len(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<Option<proptest::sample::Index>>(),
    ) {
        let mut line = SEEDS[seed].as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(line.len());
            line[at] = byte;
        }
        if let Some(cut) = cut {
            line.truncate(cut.index(line.len()) + 1);
        }
        prop_assert!(!rpc::decode(&line).is_empty());
    }

    #[test]
    fn a_question_survives_any_odd_value_except_its_session(
        at in any::<proptest::sample::Index>(),
        odd in odd(),
    ) {
        let whole: Value = serde_json::from_str(SEEDS[0]).unwrap();
        let mut damaged = whole.clone();
        put(&mut damaged["params"]["toolCall"], at.index(count(&whole["params"]["toolCall"])), &odd);
        let message = one(&damaged.to_string());
        let asked = matches!(
            &message,
            Message::Request { call: AgentRequest::Permission { options, .. }, .. }
                if options.len() == 2
        );
        prop_assert!(asked, "{:?}", message);
    }

    #[test]
    fn every_request_is_answerable_whatever_its_parameters(
        seed in prop_oneof![Just(0usize), Just(5usize)],
        at in any::<proptest::sample::Index>(),
        odd in odd(),
    ) {
        let mut damaged: Value = serde_json::from_str(SEEDS[seed]).unwrap();
        let params = &mut damaged["params"];
        let at = at.index(count(params));
        put(params, at, &odd);
        let message = one(&damaged.to_string());
        let asked = matches!(message, Message::Request { .. });
        prop_assert!(asked, "{:?}", message);
    }

    #[test]
    fn every_update_arrives_whatever_its_content(
        seed in 1usize..5,
        at in any::<proptest::sample::Index>(),
        odd in odd(),
    ) {
        let mut damaged: Value = serde_json::from_str(SEEDS[seed]).unwrap();
        let update = &mut damaged["params"]["update"];
        // A null update counts as missing.
        let at = at.index(count(update) - 1) + 1;
        put(update, at, &odd);
        let message = one(&damaged.to_string());
        let arrived = matches!(
            message,
            Message::Notification(AgentNotification::Update { .. })
        );
        prop_assert!(arrived, "{:?}", message);
    }
}
