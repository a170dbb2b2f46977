//! Measures the time that callbacks hold the main thread, if `ACP_TRACE` names a file.
//!
//! Invariant: otherwise a callback costs one comparison. Times are CPU time of the main thread, so
//! other processes do not affect them. When Neovim quits, the file gets a line of JSON for each
//! place: the number of calls, and the time they took.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// A callback that is being timed, or would be.
pub struct Timed {
    place: &'static str,
    start: Option<Duration>,
}

#[derive(Default)]
struct Times {
    calls: u64,
    total: Duration,
    longest: Duration,
    over_2ms: u64,
    over_16ms: u64,
}

thread_local! {
    static TIMES: RefCell<BTreeMap<&'static str, Times>> = RefCell::default();
}

/// Times a callback until the value is dropped.
pub fn time(place: &'static str) -> Timed {
    let start = file().map(|_| now());
    Timed { place, start }
}

impl Drop for Timed {
    fn drop(&mut self) {
        let Some(took) = self.start.map(|start| now().saturating_sub(start)) else {
            return;
        };
        TIMES.with_borrow_mut(|times| {
            let times = times.entry(self.place).or_default();
            times.calls += 1;
            times.total += took;
            times.longest = times.longest.max(took);
            times.over_2ms += u64::from(took > Duration::from_millis(2));
            times.over_16ms += u64::from(took > Duration::from_millis(16));
        });
    }
}

/// Writes the measurements.
pub fn write() {
    let Some(path) = file() else {
        return;
    };
    let mut text = String::new();
    TIMES.with_borrow(|all| {
        for (place, times) in all {
            let line = json!({
                "place": place,
                "calls": times.calls,
                "total_us": micros(times.total),
                "longest_us": micros(times.longest),
                "over_2ms": times.over_2ms,
                "over_16ms": times.over_16ms,
            });
            text.push_str(&format!("{line}\n"));
        }
    });
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path);
    // The missing file tells the user.
    let _ = file.and_then(|mut file| file.write_all(text.as_bytes()));
}

fn file() -> Option<&'static str> {
    static FILE: OnceLock<Option<String>> = OnceLock::new();
    let wanted = || {
        std::env::var("ACP_TRACE")
            .ok()
            .filter(|path| !path.is_empty())
    };
    FILE.get_or_init(wanted).as_deref()
}

/// Returns the CPU time of this thread.
fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
