//! Commands against rules: a line is allowed only if a shell would run nothing but what the rules
//! name, by another reading of it than the program's; and no longer with another command behind it.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use acp::{AgentRequest, Message, rpc};
use acp_core::questions::rules::{Action, Asked, RuleSpec, Rules, Verdict};
use acp_core::render::toolcall::ToolCall;
use libfuzzer_sys::fuzz_target;

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let spec = RuleSpec {
        agent: None,
        kinds: None,
        paths: Vec::new(),
        commands: vec!["git status".into(), "ls *".into(), "echo *".into()],
        action: Action::Allow,
    };
    Rules::new(&[spec], Path::new("/home/u")).expect("valid rules")
});

fn is_allowed(command: &str) -> bool {
    let request = serde_json::json!({
        "jsonrpc": "2.0", "id": 0, "method": "session/request_permission",
        "params": { "sessionId": "s", "options": [], "toolCall": {
            "toolCallId": "t", "kind": "execute", "rawInput": { "command": command },
        } },
    });
    let mut messages = rpc::decode(request.to_string().as_bytes()).into_iter();
    let Some(Message::Request {
        call: AgentRequest::Permission { tool_call, .. },
        ..
    }) = messages.next()
    else {
        panic!("it is a permission request");
    };
    let asked = Asked::of(&ToolCall::of(tool_call), "agent", Path::new("/p"));
    matches!(RULES.decide(&asked, &["/p".into()]), Verdict::Allow(_))
}

/// How a shell reads a character.
#[derive(Clone, Copy, PartialEq)]
enum Read {
    /// As it is: it can be an operator, or expand to something.
    Bare,
    /// In double quotes: it can still expand.
    Half,
    /// As a character and nothing else.
    Quoted,
}

/// The characters of a line as a shell reads them, without the quotes; `None` if one has no end.
fn read(line: &str) -> Option<Vec<(char, Read)>> {
    let mut all = Vec::new();
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => {
                quote = None;
                // An empty word is a word.
                all.push(('\u{1}', Read::Quoted));
            }
            (Some('\''), c) => all.push((c, Read::Quoted)),
            (Some(_), '\\') => match chars.next()? {
                '\n' => {}
                c @ ('$' | '`' | '"' | '\\') => all.push((c, Read::Quoted)),
                c => all.extend([('\\', Read::Quoted), (c, Read::Half)]),
            },
            (Some(_), c) => all.push((c, Read::Half)),
            (None, '\'' | '"') => quote = Some(c),
            (None, '\\') => match chars.next()? {
                '\n' => {}
                c => all.push((c, Read::Quoted)),
            },
            (None, c) => all.push((c, Read::Bare)),
        }
    }
    quote.is_none().then_some(all)
}

/// Returns whether a shell runs only the commands of the rules.
fn is_safe(line: &str, depth: usize) -> bool {
    let Some(chars) = read(line) else {
        return false;
    };
    let expands = |(c, read): &(char, Read)| match read {
        Read::Bare => "$`<>(){}*?[#\r\0".contains(*c),
        Read::Half => "$`".contains(*c),
        Read::Quoted => false,
    };
    // A `#` inside a word is a character.
    let mut before = (' ', Read::Bare);
    for at in &chars {
        let is_start = before.1 == Read::Bare && " \t\n;|&".contains(before.0);
        if expands(at) && (at.0 != '#' || is_start) {
            return false;
        }
        before = *at;
    }
    let text: String = chars.iter().map(|at| at.0).collect();
    let runs_behind = chars.iter().enumerate().any(|(at, (c, read))| {
        let is_and = |at: usize| chars.get(at) == Some(&('&', Read::Bare));
        *c == '&' && *read == Read::Bare && !is_and(at + 1) && !(at > 0 && is_and(at - 1))
    });
    let ends = |(c, read): &(char, Read)| *read == Read::Bare && ";|&\n".contains(*c);
    !runs_behind
        && chars.split(ends).all(|command| {
            let words = command.split(|(c, read)| *read == Read::Bare && " \t".contains(*c));
            let words = words.filter(|word| !word.is_empty());
            let mut words: Vec<String> = words
                .map(|word| {
                    word.iter()
                        .map(|at| at.0)
                        .filter(|c| *c != '\u{1}')
                        .collect()
                })
                .collect();
            let script = (words.len() == 3).then(|| words.pop()).flatten();
            let names: Vec<&str> = words.iter().map(String::as_str).collect();
            match (&names[..], script) {
                ([], _) | (["git", "status"], None) | (["ls" | "echo", ..], _) => true,
                ([shell, "-c" | "-lc"], Some(script)) => {
                    let name = shell.rsplit('/').next().unwrap_or(shell);
                    let is_shell = ["sh", "bash", "dash", "zsh"].contains(&name);
                    is_shell && depth > 0 && !text.is_empty() && is_safe(&script, depth - 1)
                }
                _ => false,
            }
        })
}

fuzz_target!(|command: &str| {
    if command.contains('\u{1}') || !is_allowed(command) {
        return;
    }
    assert!(is_safe(command, 4), "{command:?} is allowed");
    for end in [
        " && rm x",
        "\nrm x",
        "; rm x",
        " | rm x",
        " > /etc/x",
        " $(rm x)",
    ] {
        let more = format!("{command}{end}");
        assert!(!is_allowed(&more), "{more:?} is allowed");
    }
});
