//! An agent for tests: it says what a script says, and fails on what the script does not expect.
//!
//! ```text
//! acp-scripted SCRIPT.jsonl [--report FILE]
//! acp-scripted --replay TRANSCRIPT.jsonl [--gate METHOD]... [--report FILE]
//! ```
//!
//! `ACP_SCRIPT_REPORT` names the report where `--report` does not. The report is appended to
//! while the agent runs; its last line is `ok` once the last step is done, or
//! `mismatch: line 4: …`, or `script: …` for a script that cannot be read. A mismatch is also
//! written to stderr, and the exit code is 3; a bad script exits with 2.
//! After the last step the agent stays until stdin ends; any message that still comes is a
//! mismatch (its line follows the `ok`).
//!
//! # A script
//!
//! One JSON object a line is one step; empty lines and lines that begin with `#` are passed over.
//! **The first key names the step.** Strings may hold placeholders: `${sid}` (the session of the
//! client's last message, or the one last made), `${sid1}`, `${sid2}` (sessions made by default
//! answers, in order), `${cwd}`, `${i}` (in a `repeat`), `${pid}`, `${script_dir}`, `${child_pid}`,
//! `${env:NAME}`, and what was saved. A string that is one placeholder alone becomes the value,
//! whatever its type. `$${` stands for `${`.
//!
//! ## Listening
//!
//! | step | what it does |
//! |---|---|
//! | `{"expect":"session/prompt"}` | waits for the client's next request or notification, which must have this method |
//! | … `"params":PATTERN` | and these parameters |
//! | … `"as":"p1"` | names it, for `reply` |
//! | … `"save":{"sid":"/params/sessionId"}` | saves values by JSON pointer into the whole message |
//! | … `"any_order":true` | takes the first that fits and leaves the others waiting |
//! | … `"optional":true` | goes on if the next message is another one, or none comes in time |
//! | … `"within":MS` | waits this long, not `timeout_ms` |
//! | `{"await":"r1"}` | waits for the answer to our request `r1`; answers may come in any order |
//! | … `"result":PATTERN`, `"error":PATTERN` | which must be this; without both any answer will do |
//! | … `"choice":"allow_once"` | short for the outcome of a permission; `"cancelled"` for that outcome |
//! | … `"save"`, `"within"` | as above |
//! | `{"expect_eof":true}` | waits until the client closes stdin; `delay` and `exit` may follow |
//! | `{"ignore":["session/cancel"]}` | from here on these are dropped (a request gets -32601) |
//!
//! A PATTERN is a part of what must be there: an object may have more fields, a list has the same
//! length. `{"$any":true}`, `{"$absent":true}`, `{"$contains":"text"}`, `{"$lacks":"text"}`,
//! `{"$has":PATTERN}` (one item of a list), `{"$len":2}` and `{"$not":PATTERN}` ask for less.
//!
//! Always a mismatch: a line that is no JSON-RPC 2.0 (batches included), an answer to no open
//! request, a second answer to one request.
//!
//! ## Talking
//!
//! | step | what it does |
//! |---|---|
//! | `{"reply":"p1","result":{…}}`, `"error":{…}` | answers; with neither: the default answer |
//! | `{"end":"p1"}`, `"reason":"cancelled"` | answers a prompt with a stop reason (`end_turn`) |
//! | `{"request":"fs/read_text_file","params":{…},"as":"r1"}` | asks; `"id"` gives any JSON as the id (0, 1, … without) |
//! | `{"read":"${cwd}/a","line":2,"limit":1,"as":"r1"}` | asks `fs/read_text_file` |
//! | `{"write":"${cwd}/a","content":"…","as":"w1"}` | asks `fs/write_text_file` |
//! | `{"permission":{"toolCallId":"t1",…},"as":"q1"}` | asks `session/request_permission`; the options, without `"options"`, are `allow_once`, `allow_always`, `reject_once`, `reject_always` |
//! | `{"notify":"method","params":{…}}` | a notification |
//! | `{"update":{"sessionUpdate":…}}` | a `session/update` of `${sid}`, or of `"session"` |
//! | `{"say":"text"}`, `{"think":…}`, `{"echo":…}` | a chunk of the agent's message, its thought, the user's message; `"message"` is its id |
//! | `{"tool":{"id":"t1",…}}`, `{"tool_update":{"id":"t1",…}}` | a `tool_call`, a `tool_call_update`; `id` becomes `toolCallId` |
//! | `{"big_say":{"bytes":1048576,"kind":"prose"}}` | a long text (`prose`, `code` or `mixed`), in chunks of `"chunk"` bytes, one every `"every_us"` |
//! | `{"raw":"text"}`, `{"raw_b64":"/w=="}` | bytes and a line feed; `"newline":false` without it |
//! | `{"flood":{"bytes":83886080,"byte":"x","newline":true}}` | one long line |
//! | `{"stderr":"text"}` | a line on stderr |
//!
//! ## Doing
//!
//! | step | what it does |
//! |---|---|
//! | `{"repeat":5000,"every_us":5000,"do":[…]}` | steps again and again, `${i}` from 0, by the clock |
//! | `{"delay":MS}` | waits; the end of stdin is a mismatch meanwhile |
//! | `{"set":{"name":VALUE}}` | saves values |
//! | `{"exit":CODE}` | ends at once |
//! | `{"abort":"SIGKILL"}` | ends by a signal |
//! | `{"hang":true}` | never does anything again, the end of stdin included; `"deaf"` also stops reading |
//! | `{"spawn_child":["sleep","1000"],"pid_file":PATH}` | a child that is left alone; `"holds_stdout":true` lets it keep the pipe |
//! | `{"touch":{"path":…,"content":…}}` | writes a file behind the client's back |
//! | `{"disk":{"path":…,"content":PATTERN}}` | a file's text must be this; without `content` it must not exist |
//! | `{"shell":"sed -i …"}` | runs in `${cwd}`, must succeed |
//! | `{"signal_file":PATH}`, `{"wait_file":PATH}` | makes a file for the test to see; waits for one of the test's |
//! | `{"mark":"name"}` | reports `{"mark":"name","us":…,"unix_us":…}` |
//! | `{"measure_read":{"path":…,"count":1000}}` | reads one after another; reports `{"measure_read":…,"count":…,"p50_us":…,"p99_us":…,"max_us":…}`; `"every_us"`, `"name"` |
//!
//! ## What goes without saying
//!
//! `initialize` and `session/new` are answered at once, whatever the script is doing (and checked:
//! `protocolVersion`, an absolute `cwd`, `mcpServers` a list). A method that some `expect` names is
//! the script's, from the first line on; `{"reply":"n"}` then gives the default answer.
//! `{"defaults":{"initialize":{"protocolVersion":99},"session/new":false,"session/set_mode":{}}}`
//! changes fields of these answers (`null` takes one away), gives answers to more methods, or, with
//! `false`, takes the request and never answers; `{"$error":{"code":-32000,"message":"…"}}` refuses.
//!
//! `{"options":{"timeout_ms":60000,"ignore_sigterm":false}}` holds for the whole script.
//!
//! `{"life":1}`, `{"life":2}` part a script for an agent that is started again: the first process
//! runs the first part, and so on; the last part serves all later ones. This needs a report, beside
//! which the lives are counted (`REPORT.life-1`).
//!
//! # A replay
//!
//! The records of a transcript, `{"t":…,"dir":…,"msg":…}`: `a>c` messages go out in their order,
//! without delays. A `c>a` request waits for the client's request of that method, whose id the
//! answer gets; a `c>a` answer waits for the client's answer to our request; a `c>a` notification
//! is waited for only with `--gate METHOD`. Requests that the recording does not know get -32601.
//! `stderr` and `noise` records are printed, `note` records passed over, `disk` records
//! (`{"path":…,"content":…}`) written to disk, as the recorded agent did.
//! The recorded folder, session and terminals are renamed to the client's wherever they stand in a
//! string. An answer that is a result where the recording has an error, or the reverse, is reported
//! as `{"differs":…}`, and the replay goes on.

mod deeds;
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
            _ => return Err(format!("{text} is not understood")),
        }
    }
    if args.script.is_some() == args.replay.is_some() {
        return Err("one script or one transcript is needed".to_owned());
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

/// Returns the steps of this life: the first whose mark nobody has made yet.
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

/// Starts this program again in the same process, with SIGTERM ignored: what a shell ignores, the
/// program it becomes ignores too.
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
