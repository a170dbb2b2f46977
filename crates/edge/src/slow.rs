//! The switch by which tests slow threads down.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The pause where one is asked for each time, and the longest one at random.
const PAUSE: Duration = Duration::from_millis(100);

/// How seldom there is a pause at random.
const SELDOM: u64 = 16;

thread_local! {
    /// No pause at random comes before this time.
    static AWAKE_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Pauses the thread, as if it had to wait for a processor: each time if the environment variable
/// `ACP_TEST_SLOW` names this place, and now and then in all places if it is `random`: at most half
/// of the time, or what comes faster than that would only wait longer and longer.
pub fn pause(place: &str) {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    let Some(wanted) = WANTED.get_or_init(|| std::env::var("ACP_TEST_SLOW").ok()) else {
        return;
    };
    if wanted == place {
        thread::sleep(PAUSE);
    } else if wanted == "random" {
        if AWAKE_UNTIL.get().is_some_and(|time| Instant::now() < time) {
            return;
        }
        let random = RandomState::new().hash_one(0);
        let percent = u32::try_from(random / SELDOM % 100).unwrap_or_default();
        if random.is_multiple_of(SELDOM) {
            let pause = PAUSE * percent / 100;
            thread::sleep(pause);
            AWAKE_UNTIL.set(Some(Instant::now() + pause));
        }
    }
}
