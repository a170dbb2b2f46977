//! The system's data on a process: time, memory, wake-ups.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval of a thread's time, and the number of unchanged polls that mean idle.
const LOOK: Duration = Duration::from_millis(20);
const QUIET_LOOKS: u32 = 6;

/// Time limit for a process to become idle.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the milliseconds of CPU the main thread of a process has used.
pub fn main_thread_ms(pid: u32) -> f64 {
    // The first field is in nanoseconds; `/proc/PID/schedstat` describes the first thread.
    let text = read(&format!("/proc/{pid}/schedstat"));
    let field = text.split_whitespace().next();
    let nanoseconds: u64 = field.and_then(|n| n.parse().ok()).unwrap_or_else(|| {
        panic!("this system does not tell a thread's time: the benchmark needs Linux")
    });
    nanoseconds as f64 / 1e6
}

/// Returns the milliseconds of CPU all threads of a process have used; those of threads that have
/// ended are missing.
pub fn all_threads_ms(pid: u32) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the process lives");
    let times = tasks.flatten().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    times.sum::<f64>() / 1e6
}

/// Waits until the main thread is idle, and returns its time.
pub fn rest(pid: u32) -> f64 {
    let deadline = Instant::now() + PATIENCE;
    let (mut last, mut quiet) = (main_thread_ms(pid), 0);
    while quiet < QUIET_LOOKS {
        assert!(Instant::now() < deadline, "Neovim does not come to rest");
        thread::sleep(LOOK);
        let now = main_thread_ms(pid);
        quiet = if now == last { quiet + 1 } else { 0 };
        last = now;
    }
    last
}

/// Returns the peak memory of a process in MB.
pub fn peak_memory_mb(pid: u32) -> f64 {
    field(&format!("/proc/{pid}/status"), "VmHWM:") as f64 * 1024.0 / 1e6
}

/// Returns the present memory of a process in MB.
pub fn memory_mb(pid: u32) -> f64 {
    field(&format!("/proc/{pid}/status"), "VmRSS:") as f64 * 1024.0 / 1e6
}

/// Returns the number of voluntary context switches of a process (each follows a wake-up) and of
/// its threads.
pub fn wakeups(pid: u32) -> (u64, usize) {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the process lives");
    // A thread may end during the loop.
    let each = tasks.flatten().filter_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        value(&status, "voluntary_ctxt_switches:")
    });
    let each: Vec<u64> = each.collect();
    (each.iter().sum(), each.len())
}

/// Waits until no thread of a process is woken for a while, so that the work after a turn is done.
pub fn all_rest(pid: u32) {
    let deadline = Instant::now() + PATIENCE;
    let mut last = wakeups(pid).0;
    loop {
        assert!(
            Instant::now() < deadline,
            "Neovim's threads do not come to rest"
        );
        thread::sleep(LOOK * QUIET_LOOKS * 3);
        let now = wakeups(pid).0;
        if now == last {
            return;
        }
        last = now;
    }
}

/// Returns the machine's load over the last minute and its number of processors.
pub fn load() -> (String, usize) {
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("?").to_owned();
    (load, thread::available_parallelism().map_or(1, Into::into))
}

fn field(path: &str, name: &str) -> u64 {
    value(&read(path), name).unwrap_or_else(|| panic!("{path} has no {name}"))
}

fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
