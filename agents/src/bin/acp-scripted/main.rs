//! An agent for tests: it follows a script and fails on messages that the script does not expect.
//!
//! ```text
//! acp-scripted SCRIPT.jsonl [--report FILE]
//! acp-scripted --replay TRANSCRIPT.jsonl [--gate METHOD]... [--report FILE]
//! ```
//!
//! Without `--report`, `ACP_SCRIPT_REPORT` names the report. The agent appends to it while it runs;
//! the last line is `ok` after the last step, `mismatch: line 4: …`, or `script: …` for a script
//! that cannot be read. A mismatch is also written to stderr and exits with code 3; a bad script
//! exits with code 2.
//! After the last step the agent waits until stdin ends; a message that arrives in that time is a
//! mismatch (its line follows the `ok`).
//!
//! # A script
//!
//! Each line is one step, a JSON object; empty lines and lines that begin with `#` are skipped.
//! **The first key names the step.** Strings may contain placeholders: `${sid}` (the session of the
//! client's last message, or the newest session), `${sid1}`, `${sid2}` (the sessions created by
//! default answers, in order), `${cwd}`, `${i}` (in a `repeat`), `${pid}`, `${script_dir}`,
//! `${child_pid}`, `${env:NAME}`, and saved values. A string that is a single placeholder becomes
//! the value itself, of any type. `$${` stands for `${`.
//!
//! ## Listening
//!
//! | step | effect |
//! |---|---|
//! | `{"expect":"session/prompt"}` | waits for the client's next request or notification, which must have this method |
//! | … `"params":PATTERN` | and these parameters |
//! | … `"as":"p1"` | names the request, for `reply` |
//! | … `"save":{"sid":"/params/sessionId"}` | saves values by JSON pointer into the whole message |
//! | … `"any_order":true` | takes the first message that matches, and leaves the others in the queue |
//! | … `"optional":true` | goes on if the next message does not match, or none arrives in time |
//! | … `"within":MS` | waits this long instead of `timeout_ms` |
//! | `{"await":"r1"}` | waits for the answer to the agent's request `r1`; answers may arrive in any order |
//! | … `"result":PATTERN`, `"error":PATTERN` | which must match; without either, any answer does |
//! | … `"choice":"allow_once"` | short for the chosen option of a permission, or for the outcome `"cancelled"` |
//! | … `"save"`, `"within"` | as above |
//! | `{"expect_eof":true}` | waits until the client closes stdin; `delay` and `exit` may follow |
//! | `{"ignore":["session/cancel"]}` | from here on drops these methods (a request gets -32601) |
//!
//! A PATTERN names a part of the value: the actual object may have more fields, while a list must
//! have the same length. Conditions ask for less: `{"$any":true}`, `{"$absent":true}`,
//! `{"$contains":"text"}`, `{"$lacks":"text"}`, `{"$has":PATTERN}` (one item of a list),
//! `{"$len":2}` and `{"$not":PATTERN}`.
//!
//! These are always a mismatch: a line that is not JSON-RPC 2.0 (a batch, too), an answer to no
//! open request, a second answer to one request.
//!
//! ## Talking
//!
//! | step | effect |
//! |---|---|
//! | `{"reply":"p1","result":{…}}`, `"error":{…}` | answers; with neither: the default answer |
//! | `{"end":"p1"}`, `"reason":"cancelled"` | answers a prompt with a stop reason (`end_turn`) |
//! | `{"request":"fs/read_text_file","params":{…},"as":"r1"}` | sends a request; `"id"` sets the id, any JSON (default: 0, 1, …) |
//! | `{"read":"${cwd}/a","line":2,"limit":1,"as":"r1"}` | requests `fs/read_text_file` |
//! | `{"write":"${cwd}/a","content":"…","as":"w1"}` | requests `fs/write_text_file` |
//! | `{"permission":{"toolCallId":"t1",…},"as":"q1"}` | requests `session/request_permission`; `"options"` defaults to `allow_once`, `allow_always`, `reject_once`, `reject_always` |
//! | `{"notify":"method","params":{…}}` | sends a notification |
//! | `{"update":{"sessionUpdate":…}}` | sends a `session/update` for `${sid}`, or for `"session"` |
//! | `{"say":"text"}`, `{"think":…}`, `{"echo":…}` | sends a chunk of the agent's message, the agent's thought or the user's message; `"message"` sets the message id |
//! | `{"tool":{"id":"t1",…}}`, `{"tool_update":{"id":"t1",…}}` | sends a `tool_call` or a `tool_call_update`; `id` becomes `toolCallId` |
//! | `{"big_say":{"bytes":1048576,"kind":"prose"}}` | sends a long text (`prose`, `code` or `mixed`) in chunks of `"chunk"` bytes, one every `"every_us"` |
//! | `{"raw":"text"}`, `{"raw_b64":"/w=="}` | writes these bytes and a line feed (`"newline":false` omits it) |
//! | `{"flood":{"bytes":83886080,"byte":"x","newline":true}}` | writes one long line |
//! | `{"stderr":"text"}` | writes a line to stderr |
//!
//! ## Doing
//!
//! | step | effect |
//! |---|---|
//! | `{"repeat":5000,"every_us":5000,"do":[…]}` | repeats the steps, one round every `every_us`; `${i}` counts from 0 |
//! | `{"delay":MS}` | waits; if stdin ends before, that is a mismatch |
//! | `{"set":{"name":VALUE}}` | saves values |
//! | `{"exit":CODE}` | exits at once |
//! | `{"abort":"SIGKILL"}` | dies of a signal |
//! | `{"hang":true}` | stops reacting, to the end of stdin too; `"deaf"` also stops reading |
//! | `{"spawn_child":["sleep","1000"],"pid_file":PATH}` | starts a child process and leaves it; with `"holds_stdout":true` it inherits stdout |
//! | `{"touch":{"path":…,"content":…}}` | writes a file without telling the client |
//! | `{"disk":{"path":…,"content":PATTERN}}` | checks a file's text; without `content`, checks that the file does not exist |
//! | `{"shell":"sed -i …"}` | runs a shell command in `${cwd}`, which must succeed |
//! | `{"signal_file":PATH}`, `{"wait_file":PATH}` | creates a file for the test, or waits for one from the test |
//! | `{"mark":"name"}` | reports `{"mark":"name","us":…,"unix_us":…}` |
//! | `{"measure":{"path":…,"count":1000}}` | sends reads, or writes with `"write":"text"`, one after another and reports `{"measure":…,"count":…,"p50_us":…,"p99_us":…,"max_us":…}`; `"every_us"`, `"name"` |
//!
//! ## Default answers
//!
//! `initialize` and `session/new` are answered at once, at any point of the script (and checked:
//! `protocolVersion`, an absolute `cwd`, a list of `mcpServers`). A method that an `expect` names is
//! left to the script, even before that step; `{"reply":"n"}` then sends the default answer.
//! `{"defaults":{"initialize":{"protocolVersion":99},"session/new":false,"session/set_mode":{}}}`
//! changes fields of these answers (`null` removes one), adds default answers for more methods, or,
//! with `false`, drops the request; `{"$error":{"code":-32000,"message":"…"}}` refuses it.
//!
//! `{"options":{"timeout_ms":60000,"ignore_sigterm":false}}` applies to the whole script.
//!
//! `{"life":1}`, `{"life":2}` divide a script for an agent that is restarted: the first process runs
//! the first part, the second process the second one; later processes run the last part. This needs
//! a report: files beside it count the processes (`REPORT.life-1`).
//!
//! # A replay
//!
//! A transcript consists of records, `{"t":…,"dir":…,"msg":…}`. `a>c` messages are sent in order,
//! without delays. At a `c>a` request, the replay waits for the client's request of that method and
//! uses its id for the answer; at a `c>a` answer, it waits for the client's answer; at a `c>a`
//! notification, it waits only with `--gate METHOD`. Requests of other methods get -32601. `stderr`
//! and `noise` records are printed, `note` records skipped, and `disk` records
//! (`{"path":…,"content":…}`) written to disk, as the recorded agent did.
//! In all strings, the recorded folder, session and terminals are replaced by the client's. When the
//! client answers with a result and the recorded one with an error, or the reverse, the report gets
//! `{"differs":…}`, and the replay goes on.

mod actions;
mod defaults;
mod pattern;
mod replay;
mod report;
mod requests;
mod runner;
mod script;
mod vars;
mod wire;

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde_json::json;

use crate::defaults::Defaults;
use crate::replay::Replay;
use crate::report::Report;
use crate::runner::{Runner, Stop};
use crate::script::{Options, Script};
use crate::vars::Vars;
use crate::wire::Inbox;

const USAGE: &str = "usage: acp-scripted (SCRIPT.jsonl | --replay TRANSCRIPT.jsonl [--gate METHOD]...) [--report FILE]";

/// The command line.
#[derive(Default)]
struct Args {
    script: Option<PathBuf>,
    replay: Option<PathBuf>,
    gates: Vec<String>,
    report: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(why) => {
            eprintln!("acp-scripted: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut report = match Report::open(args.report.as_deref()) {
        Ok(report) => report,
        Err(why) => {
            eprintln!("acp-scripted: the report cannot be opened: {why}");
            return ExitCode::from(2);
        }
    };
    let run = match &args.replay {
        Some(path) => replay(path, &args, &mut report),
        None => script(&args, &mut report),
    };
    match run {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(Stop::Exit(code))) => std::process::exit(code),
        Ok(Err(Stop::Mismatch(why))) => {
            eprintln!("acp-scripted: mismatch: {why}");
            report.line(&format!("mismatch: {why}"));
            ExitCode::from(3)
        }
        Err(why) => {
            eprintln!("acp-scripted: {why}");
            report.line(&format!("script: {why}"));
            ExitCode::from(2)
        }
    }
}

fn args() -> Result<Args, String> {
    let mut args = Args {
        report: std::env::var_os("ACP_SCRIPT_REPORT").map(PathBuf::from),
        ..Args::default()
    };
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let mut value = || words.next().ok_or_else(|| format!("{text} needs a value"));
        match text.as_str() {
            "--replay" => args.replay = Some(value()?.into()),
            "--gate" => args.gates.push(value()?.to_string_lossy().into_owned()),
            "--report" => args.report = Some(value()?.into()),
            _ if args.script.is_none() && !text.starts_with('-') => args.script = Some(word.into()),
            _ => return Err(format!("unknown argument {text}")),
        }
    }
    if args.script.is_some() == args.replay.is_some() {
        return Err("give one script or one transcript".to_owned());
    }
    Ok(args)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|why| format!("{} cannot be read: {why}", path.display()))
}

fn replay(path: &Path, args: &Args, report: &mut Report) -> Result<Result<(), Stop>, String> {
    let records = replay::parse(&read(path)?)?;
    let timeout = Duration::from_millis(Options::default().timeout_ms);
    let inbox = Inbox::start(|message| Ok(Some(message)));
    Ok(Replay::new(&inbox, report, timeout, args.gates.clone()).run(&records))
}

fn script(args: &Args, report: &mut Report) -> Result<Result<(), Stop>, String> {
    let path = args.script.as_deref().unwrap_or(Path::new(""));
    let script = Script::parse(&read(path)?)?;
    if script.options.ignore_sigterm {
        ignore_sigterm()?;
    }
    let steps = match script.lives.as_slice() {
        [only] => only,
        lives => life(lives, args.report.as_deref())?,
    };
    let vars = Vars::default();
    vars.set("pid", json!(std::process::id()));
    if let Some(dir) = path.canonicalize().ok().as_deref().and_then(Path::parent) {
        vars.set("script_dir", json!(dir.to_string_lossy()));
    }
    let defaults = Defaults::new(script.defaults, script.owned, vars.clone());
    let answers = defaults.clone();
    let inbox = Inbox::start(move |message| answers.take(message));
    let timeout = Duration::from_millis(script.options.timeout_ms);
    Ok(Runner::new(&inbox, vars, defaults, report, timeout).run(steps))
}

/// Returns the steps for this process: the first part without a mark, which is then created.
fn life<'a, T>(lives: &'a [Vec<T>], report: Option<&Path>) -> Result<&'a [T], String> {
    let report = report.ok_or("a script with several lives needs a report")?;
    for (i, life) in lives.iter().enumerate() {
        let mut mark = report.as_os_str().to_owned();
        mark.push(format!(".life-{}", i + 1));
        let made = OpenOptions::new().write(true).create_new(true).open(mark);
        if made.is_ok() || i + 1 == lives.len() {
            return Ok(life);
        }
    }
    Ok(&[])
}

/// Replaces this process with a new run of the program that ignores SIGTERM: ignored signals are
/// inherited across `exec`.
fn ignore_sigterm() -> Result<(), String> {
    const DONE: &str = "ACP_SCRIPT_SIGTERM_IGNORED";
    if std::env::var_os(DONE).is_some() {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|why| why.to_string())?;
    let why = Command::new("sh")
        .args(["-c", "trap '' TERM; exec \"$0\" \"$@\""])
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(DONE, "1")
        .exec();
    Err(format!("ignore_sigterm: {why}"))
}
