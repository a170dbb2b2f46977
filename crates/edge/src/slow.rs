//! The switch by which tests slow threads down.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// The pause where one is asked for each time, and the longest one at random.
const PAUSE: Duration = Duration::from_millis(100);

/// How seldom there is a pause at random.
const SELDOM: u64 = 16;

/// Pauses the thread, as if it had to wait for a processor: each time if the environment variable
/// `ACP_TEST_SLOW` names this place, and now and then in all places if it is `random`.
pub fn pause(place: &str) {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    let Some(wanted) = WANTED.get_or_init(|| std::env::var("ACP_TEST_SLOW").ok()) else {
        return;
    };
    if wanted == place {
        thread::sleep(PAUSE);
    } else if wanted == "random" {
        let random = RandomState::new().hash_one(0);
        let percent = u32::try_from(random / SELDOM % 100).unwrap_or_default();
        if random.is_multiple_of(SELDOM) {
            thread::sleep(PAUSE * percent / 100);
        }
    }
}
