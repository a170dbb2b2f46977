//! The steps outside the protocol: raw bytes, files, processes, time.
//!
//! Invariant: a step that cannot be carried out is a mismatch; none is skipped.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use serde_json::{Value, json};

use crate::pattern::matches;
use crate::report::clamp;
use crate::runner::{Runner, Stop};
use crate::script::{BigSay, Disk, Flood, Kind, Measure, Verb};
use crate::wire::Out;

/// Carries out one step outside the protocol.
pub fn run(runner: &mut Runner<'_>, verb: &Verb) -> Result<(), Stop> {
    match verb {
        Verb::Raw { it, newline } => {
            let text = runner.vars.text(it)?;
            bytes(runner, text.as_bytes(), *newline)
        }
        Verb::RawB64 { it, newline } => bytes(runner, &decoded(it)?, *newline),
        Verb::Flood { it } => flood(runner, it),
        Verb::BigSay { it } => big_say(runner, it),
        Verb::Stderr { it } => {
            eprintln!("{}", runner.vars.text(it)?);
            Ok(())
        }
        Verb::Delay { it } => runner.sleep(Duration::from_millis(*it)),
        Verb::Abort { it } => abort(it),
        Verb::Hang { it } => hang(runner, it),
        Verb::SpawnChild {
            it,
            pid_file,
            holds_stdout,
        } => spawn_child(runner, it, pid_file.as_deref(), *holds_stdout),
        Verb::Touch { it } => {
            let path = runner.vars.text(&it.path)?;
            write(&path, &runner.vars.text(&it.content)?)
        }
        Verb::Disk { it } => disk(runner, it),
        Verb::Shell { it } => shell(runner, it),
        Verb::SignalFile { it } => write(&runner.vars.text(it)?, ""),
        Verb::WaitFile { it, within } => wait_file(runner, it, *within),
        Verb::Mark { it } => {
            runner.report.mark(it);
            Ok(())
        }
        Verb::Measure { it } => measure(runner, it),
        other => Err(format!("{other:?} is not carried out here").into()),
    }
}

fn bytes(runner: &Runner<'_>, bytes: &[u8], newline: bool) -> Result<(), Stop> {
    let end: &[u8] = if newline { b"\n" } else { b"" };
    Out.bytes(&[bytes, end].concat())
        .map_err(|ended| runner.ended(ended, "the client to read"))
}

fn flood(runner: &Runner<'_>, it: &Flood) -> Result<(), Stop> {
    let [byte] = it.byte.as_bytes() else {
        return Err("flood: \"byte\" must be one byte".to_owned().into());
    };
    let block = [*byte; 65_536];
    let mut left = it.bytes;
    while left > 0 {
        let part = block.get(..left).unwrap_or(&block);
        bytes(runner, part, false)?;
        left -= part.len();
    }
    bytes(runner, b"", it.newline)
}

const PROSE: &str = "## A heading\n\nThe agent reads the file, **changes** what it must, and says `so`.\n\n- one thing\n- another thing\n\n";
const CODE: &str = "```rust\nfn add(a: u32, b: u32) -> u32 {\n    // Numbers wrap where they must.\n    a.wrapping_add(b)\n}\n```\n\n";

fn big_say(runner: &mut Runner<'_>, it: &BigSay) -> Result<(), Stop> {
    let pattern = match it.kind {
        Kind::Prose => PROSE.to_owned(),
        Kind::Code => CODE.to_owned(),
        Kind::Mixed => [PROSE, CODE].concat(),
    };
    // The patterns are ASCII, so every byte ends a character, and have no `$`, so no placeholder.
    let text: Vec<u8> = pattern.bytes().cycle().take(it.bytes).collect();
    let start = Instant::now();
    for (i, part) in (0..).zip(text.chunks(it.chunk.unwrap_or(it.bytes).max(1))) {
        runner.pace(start, it.every_us, i)?;
        runner.chunk("agent_message_chunk", &String::from_utf8_lossy(part), None)?;
    }
    Ok(())
}

fn abort(signal: &str) -> Result<(), Stop> {
    let name = signal.strip_prefix("SIG").unwrap_or(signal);
    let pid = std::process::id().to_string();
    // The shell's builtin: some machines lack the program `kill`.
    Command::new("sh")
        .args(["-c", "kill -s \"$1\" \"$2\"", "sh", name, &pid])
        .status()
        .map_err(|why| format!("abort {signal}: {why}"))?;
    // After a signal that does not end the process, waits for one that does.
    loop {
        std::thread::park();
    }
}

fn hang(runner: &mut Runner<'_>, how: &Value) -> Result<(), Stop> {
    if how.as_str() == Some("deaf") {
        runner.inbox.deafen();
    }
    runner.report.line("ok");
    loop {
        std::thread::park();
    }
}

fn spawn_child(
    runner: &Runner<'_>,
    argv: &[String],
    pid_file: Option<&str>,
    holds_stdout: bool,
) -> Result<(), Stop> {
    let (program, args) = argv
        .split_first()
        .ok_or_else(|| "spawn_child: no command".to_owned())?;
    let stdout = if holds_stdout {
        Stdio::inherit()
    } else {
        Stdio::null()
    };
    let args = args
        .iter()
        .map(|arg| runner.vars.text(arg))
        .collect::<Result<Vec<_>, _>>()?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::null());
    let child = command
        .spawn()
        .map_err(|why| format!("spawn_child {program}: {why}"))?;
    // Not waited for: the child ends with the process group.
    runner.vars.set("child_pid", json!(child.id().to_string()));
    match pid_file {
        Some(file) => write(&runner.vars.text(file)?, &child.id().to_string()),
        None => Ok(()),
    }
}

/// Writes a temporary file and renames it to `path`, so that readers never see half of it.
fn write(path: &str, content: &str) -> Result<(), Stop> {
    let path = Path::new(path);
    let part = path.with_extension("part-of-script");
    let done = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&part, content))
        .and_then(|()| fs::rename(&part, path));
    done.map_err(|why| format!("writing {}: {why}", path.display()).into())
}

fn disk(runner: &Runner<'_>, it: &Disk) -> Result<(), Stop> {
    let path = runner.vars.text(&it.path)?;
    match (&it.content, fs::read(&path)) {
        (None, Err(_)) => Ok(()),
        (None, Ok(_)) => Err(format!("{path} exists").into()),
        (Some(_), Err(why)) => Err(format!("reading {path}: {why}").into()),
        (Some(pattern), Ok(bytes)) => {
            let text = Value::String(String::from_utf8_lossy(&bytes).into_owned());
            matches(&runner.vars.fill(pattern)?, &text)
                .map_err(|why| format!("{path} on disk: {why}").into())
        }
    }
}

fn shell(runner: &Runner<'_>, text: &str) -> Result<(), Stop> {
    let text = runner.vars.text(text)?;
    let mut command = Command::new("sh");
    command
        .args(["-c", &text])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if let Some(Value::String(cwd)) = runner.vars.get("cwd") {
        command.current_dir(cwd);
    }
    let status = command.status().map_err(|why| format!("shell: {why}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("shell: {text}: {status}").into())
}

fn wait_file(runner: &Runner<'_>, path: &str, within: Option<u64>) -> Result<(), Stop> {
    let path = runner.vars.text(path)?;
    let deadline = Instant::now() + runner.within(within);
    while !Path::new(&path).exists() {
        if Instant::now() > deadline {
            return Err(format!("waited too long for the file {path}").into());
        }
        runner.sleep(Duration::from_millis(2))?;
    }
    Ok(())
}

fn measure(runner: &mut Runner<'_>, it: &Measure) -> Result<(), Stop> {
    let mut params = runner
        .vars
        .fill(&json!({"sessionId": "${sid}", "path": it.path}))?;
    let method = match it.write {
        Some(_) => "fs/write_text_file",
        None => "fs/read_text_file",
    };
    let mut times = Vec::with_capacity(it.count);
    let start = Instant::now();
    for (i, _) in (0..).zip(0..it.count) {
        runner.pace(start, it.every_us, i)?;
        let id = json!(format!("measure-{i}"));
        if let Some(text) = &it.write {
            params["content"] = format!("{text}{i}\n").into();
        }
        runner.inbox.ask(&id);
        let sent = Instant::now();
        runner.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let answer = runner
            .inbox
            .answer(runner.within(None), &id)
            .map_err(|ended| runner.ended(ended, method))?;
        times.push(clamp(sent.elapsed().as_micros()));
        if answer.get("result").is_none() {
            return Err(format!("measure: {answer}").into());
        }
    }
    times.sort_unstable();
    let at = |percent: usize| {
        let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(index).copied()
    };
    let name = it.name.as_deref().unwrap_or(&it.path);
    runner.report.value(&json!({
        "measure": name,
        "count": times.len(),
        "p50_us": at(50),
        "p99_us": at(99),
        "max_us": times.last(),
    }));
    Ok(())
}

fn decoded(base64: &str) -> Result<Vec<u8>, String> {
    let decoded = STANDARD_PAD_INDIFFERENT.decode(base64);
    decoded.map_err(|error| format!("raw_b64: {error}"))
}
