//! Terminals run by agents themselves, reported in the `_meta` of tool calls.
//!
//! Invariant: reports are removed from `_meta`, so that output is stored once; unreadable ones stay
//! there.

use serde_json::{Map, Value};

use super::message::{TerminalId, ToolCallPatch};
use super::options::said;

/// A tool call's report on a terminal that the agent runs itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalNews {
    pub terminal: TerminalId,
    pub what: News,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// It exists (`terminal_info`).
    Info { cwd: Option<String> },
    /// It has printed this (`terminal_output_delta`), or an MCP tool reports this progress
    /// (`mcp_output_delta` of Codex).
    More(String),
    /// It has printed this, or this is its complete output (`terminal_output`): older versions of
    /// one agent send all of it each time.
    MoreOrAll(String),
    /// Its command has ended (`terminal_exit`).
    Exit {
        code: Option<u32>,
        signal: Option<String>,
    },
}

/// Takes the reports on terminals from a patch, in the order in which they must be applied.
pub fn take_terminal_news(patch: &mut ToolCallPatch) -> Vec<TerminalNews> {
    let Some(Value::Object(meta)) = &mut patch.meta else {
        return Vec::new();
    };
    // Without a terminal id, the tool call has its own terminal.
    let own = TerminalId(patch.id.0.clone());
    let news = [
        take(meta, "terminal_info", |fields| {
            let cwd = fields["cwd"].as_str().filter(|cwd| !cwd.is_empty());
            Some(News::Info {
                cwd: cwd.map(str::to_owned),
            })
        }),
        take(meta, "terminal_output", |fields| {
            Some(News::MoreOrAll(fields["data"].as_str()?.to_owned()))
        }),
        take(meta, "terminal_output_delta", |fields| {
            Some(News::More(fields["data"].as_str()?.to_owned()))
        }),
        take(meta, "mcp_output_delta", |fields| {
            let line = fields["data"].as_str()?.trim_end_matches('\n');
            Some(News::More(format!("{line}\n")))
        }),
        take(meta, "terminal_exit", |fields| {
            let number = |value: &Value| value.as_u64().or(value.as_f64().map(|code| code as u64));
            // A negative code is reported like a shell does: its last eight bits.
            let below = |value: &Value| value.as_i64().map(|code| u64::from(code as u8));
            let code = &fields["exit_code"];
            let code = match code.as_i64() {
                Some(..0) => below(code),
                _ => number(code),
            };
            Some(News::Exit {
                code: code.map(|code| u32::try_from(code).unwrap_or(u32::MAX)),
                signal: said(&fields["signal"]),
            })
        }),
    ];
    let news = news.into_iter().flatten();
    let news = news.map(|(terminal, what)| TerminalNews {
        terminal: terminal.unwrap_or_else(|| own.clone()),
        what,
    });
    let news = news.collect();
    if meta.is_empty() {
        patch.meta = None;
    }
    news
}

/// Takes and reads a key; an unreadable value stays.
fn take(
    meta: &mut Map<String, Value>,
    key: &str,
    read: impl FnOnce(&Value) -> Option<News>,
) -> Option<(Option<TerminalId>, News)> {
    let fields = meta.get(key).filter(|fields| fields.is_object())?;
    let news = read(fields)?;
    let id = said(&fields["terminal_id"]);
    meta.shift_remove(key);
    Some((id.map(|id| TerminalId(id.into())), news))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::message::ToolCallId;
    use super::*;

    fn check(meta: Value, want: &[(&str, News)], left: Option<Value>) {
        let mut patch = ToolCallPatch::new(ToolCallId("call".into()));
        patch.meta = Some(meta);
        let want: Vec<TerminalNews> = want
            .iter()
            .map(|(id, what)| TerminalNews {
                terminal: TerminalId((*id).into()),
                what: what.clone(),
            })
            .collect();
        assert_eq!(take_terminal_news(&mut patch), want);
        assert_eq!(patch.meta, left);
    }

    #[test]
    fn combined_terminal_reports_are_applied_in_order() {
        let exit = |code, signal: Option<&str>| News::Exit {
            code,
            signal: signal.map(str::to_owned),
        };
        check(
            json!({
                "terminal_exit": { "terminal_id": "t", "exit_code": 3, "signal": null },
                "terminal_output": { "terminal_id": "t", "data": "out" },
                "terminal_info": { "terminal_id": "t", "cwd": "/p" },
                "claudeCode": { "toolName": "Bash" },
            }),
            &[
                (
                    "t",
                    News::Info {
                        cwd: Some("/p".into()),
                    },
                ),
                ("t", News::MoreOrAll("out".into())),
                ("t", exit(Some(3), None)),
            ],
            Some(json!({ "claudeCode": { "toolName": "Bash" } })),
        );
        check(
            json!({ "terminal_exit": { "exit_code": null, "signal": "SIGINT" } }),
            &[("call", exit(None, Some("SIGINT")))],
            None,
        );
        check(
            json!({ "terminal_exit": { "exit_code": -1, "signal": 9 } }),
            &[("call", exit(Some(255), Some("9")))],
            None,
        );
    }

    #[test]
    fn output_is_appended_and_unreadable_meta_stays() {
        check(
            json!({ "terminal_output_delta": { "terminal_id": 7, "data": "a" } }),
            &[("7", News::More("a".into()))],
            None,
        );
        for line in ["50 %", "50 %\n"] {
            check(
                json!({ "mcp_output_delta": { "data": line } }),
                &[("call", News::More("50 %\n".into()))],
                None,
            );
        }
        let odd = json!({ "terminal_output": { "terminal_id": "t" }, "terminal_info": true });
        check(odd.clone(), &[], Some(odd));
    }
}
