//! Messages of caught panics, and the switch by which tests cause a panic.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the message of a caught panic.
pub fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

static INJECTED: AtomicBool = AtomicBool::new(false);

/// Panics once if the environment variable `ACP_TEST_PANIC` names this place.
///
/// # Panics
/// On purpose, so that tests can show that a panic there is survived.
pub fn inject(place: &str) {
    static WANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let wanted = WANTED.get_or_init(|| std::env::var("ACP_TEST_PANIC").ok());
    if wanted.as_deref() == Some(place) && !INJECTED.swap(true, Ordering::Relaxed) {
        panic!("injected into {place}");
    }
}
