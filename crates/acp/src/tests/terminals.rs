//! `terminal/*`.

use super::*;

type Created<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);

/// Checks the command, its arguments and its variables.
fn check_create(fields: &str, want: Result<Created<'_>, &str>) {
    let params = format!(r#"{{"sessionId":"s"{fields}}}"#);
    let got = match request("terminal/create", &params) {
        AgentRequest::Terminal {
            session,
            call: TerminalCall::Create {
                command, args, env, ..
            },
        } => {
            assert_eq!(session, self::session());
            Ok((command, args, env))
        }
        AgentRequest::Invalid { why, .. } => Err(why),
        other => panic!("{params}: {other:?}"),
    };
    let want = match want {
        Ok((command, args, env)) => Ok((
            command.to_owned(),
            args.iter().map(|arg| (*arg).to_owned()).collect(),
            env.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )),
        Err(why) => Err(why.to_owned()),
    };
    assert_eq!(got, want, "{params}");
}

/// Checks the folder and the limit.
fn check_place(fields: &str, want: (Option<&str>, Option<u64>)) {
    let params = format!(r#"{{"sessionId":"s","command":"x"{fields}}}"#);
    match request("terminal/create", &params) {
        AgentRequest::Terminal {
            call: TerminalCall::Create { cwd, limit, .. },
            ..
        } => {
            assert_eq!((cwd, limit), (want.0.map(Into::into), want.1), "{params}");
        }
        other => panic!("{params}: {other:?}"),
    }
}

#[test]
fn a_command_with_an_invalid_part_is_refused() {
    let none: &[(&str, &str)] = &[];
    check_create(r#","command":"ls -l | wc""#, Ok(("ls -l | wc", &[], none)));
    check_create(
        r#","command":"git","args":["log","-3"],"env":[{"name":"A","value":"b"}]"#,
        Ok(("git", &["log", "-3"], &[("A", "b")])),
    );
    check_create(
        r#","command":"x","args":["-n",3],"env":{"A":"b","N":1},"cwd":null"#,
        Ok(("x", &["-n", "3"], &[("A", "b"), ("N", "1")])),
    );
    check_create(
        r#","command":"x","args":null,"env":[{"name":"A"}]"#,
        Ok(("x", &[], &[("A", "")])),
    );
    check_create(r#","command":"x","args":"-n""#, Ok(("x", &["-n"], none)));
    check_create("", Err("params.command: missing"));
    check_create(r#","command":["x"]"#, Err("params.command: not a string"));
    check_create(r#","command":"  ""#, Err("params.command: empty"));
    check_create(
        r#","command":"x","args":["a",{}]"#,
        Err("params.args: not a list of strings"),
    );
    check_create(
        r#","command":"x","env":[{"value":"b"}]"#,
        Err("params.env: not a list of names and values"),
    );
    check_create(
        r#","command":"x","env":[{"name":"A=B","value":"b"}]"#,
        Err("params.env: \"A=B\" is not the name of a variable"),
    );
    check_create(
        r#","command":"x","args":["a\u0000b"]"#,
        Err("params: a command can hold no NUL character"),
    );
    check_create(r#","command":"x","cwd":3"#, Err("params.cwd: not a string"));
}

#[test]
fn an_odd_folder_or_limit_is_accepted() {
    check_place("", (None, None));
    check_place(
        r#","cwd":"/p","outputByteLimit":10"#,
        (Some("/p"), Some(10)),
    );
    check_place(r#","cwd":"","outputByteLimit":10.0"#, (None, Some(10)));
    check_place(r#","outputByteLimit":-1"#, (None, None));
    check_place(r#","outputByteLimit":"20""#, (None, Some(20)));
}

#[test]
fn every_other_request_names_its_terminal() {
    let session = session();
    let terminal = TerminalId("term-1".into());
    let both = || (session.clone(), terminal.clone());
    let check = |method: &str, want: AgentRequest| {
        let params = r#"{"sessionId":"s","terminalId":"term-1"}"#;
        assert_eq!(request(method, params), want);
        let params = r#"{"sessionId":"s"}"#;
        let why = "params.terminalId: missing";
        assert_eq!(request(method, params), invalid(method, why));
    };
    let (session, terminal) = both();
    check(
        "terminal/output",
        AgentRequest::Terminal {
            session,
            call: TerminalCall::Output(terminal),
        },
    );
    let (session, terminal) = both();
    check(
        "terminal/wait_for_exit",
        AgentRequest::Terminal {
            session,
            call: TerminalCall::WaitForExit(terminal),
        },
    );
    let (session, terminal) = both();
    check(
        "terminal/kill",
        AgentRequest::Terminal {
            session,
            call: TerminalCall::Kill(terminal),
        },
    );
    let (session, terminal) = both();
    check(
        "terminal/release",
        AgentRequest::Terminal {
            session,
            call: TerminalCall::Release(terminal),
        },
    );
}
