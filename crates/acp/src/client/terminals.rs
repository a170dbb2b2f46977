//! The answers to an agent's terminal requests.
//!
//! Invariant: they have the form of the official types. Output, which may be megabytes and is
//! requested several times a second, is serialized without a copy.

use agent_client_protocol_schema::v1;
use serde::Serialize;

use super::super::message::TerminalId;

/// The exit of a command, in the protocol's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit<'a> {
    pub code: Option<u32>,
    pub signal: Option<&'a str>,
}

impl Exit<'_> {
    fn status(self) -> v1::TerminalExitStatus {
        v1::TerminalExitStatus::new()
            .exit_code(self.code)
            .signal(self.signal.map(str::to_owned))
    }
}

/// Returns the answer to `terminal/create`.
pub fn terminal_created(terminal: &TerminalId) -> impl Serialize + use<> {
    v1::CreateTerminalResponse::new(terminal.0.clone())
}

/// Returns the answer to `terminal/output`; `exit` is `None` while the command runs.
pub fn terminal_output<'a>(
    output: &'a str,
    truncated: bool,
    exit: Option<Exit<'_>>,
) -> impl Serialize + use<'a> {
    Output {
        output,
        truncated,
        exit_status: exit.map(Exit::status),
    }
}

/// A [`v1::TerminalOutputResponse`] that borrows its text.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    output: &'a str,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<v1::TerminalExitStatus>,
}

/// Returns the answer to `terminal/wait_for_exit`.
pub fn terminal_exited(exit: Exit<'_>) -> impl Serialize + use<> {
    v1::WaitForTerminalExitResponse::new(exit.status())
}

/// Returns the answer to `terminal/kill`.
pub fn terminal_killed() -> impl Serialize {
    v1::KillTerminalResponse::new()
}

/// Returns the answer to `terminal/release`.
pub fn terminal_released() -> impl Serialize {
    v1::ReleaseTerminalResponse::new()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(sent: impl Serialize, want: Value) {
        assert_eq!(serde_json::to_value(sent).unwrap(), want);
    }

    #[test]
    fn answers_match_the_protocol() {
        let code = |code| Exit {
            code: Some(code),
            signal: None,
        };
        let killed = Exit {
            code: None,
            signal: Some("SIGKILL"),
        };
        let id = TerminalId("term-1".into());
        check(terminal_created(&id), json!({"terminalId": "term-1"}));
        check(terminal_exited(code(3)), json!({"exitCode": 3}));
        check(terminal_exited(killed), json!({"signal": "SIGKILL"}));
        check(terminal_killed(), json!({}));
        check(terminal_released(), json!({}));
    }

    #[test]
    fn the_output_answer_matches_the_official_type() {
        for (output, exit) in [("", None), ("a\n\u{1f600}\"", Some(3))] {
            let exit = exit.map(|code| Exit {
                code: Some(code),
                signal: None,
            });
            let official =
                v1::TerminalOutputResponse::new(output, true).exit_status(exit.map(Exit::status));
            let official = serde_json::to_value(official).unwrap();
            check(terminal_output(output, true, exit), official);
        }
    }
}
