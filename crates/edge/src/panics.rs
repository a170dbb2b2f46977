//! Messages of caught panics, locks that a panic has poisoned, and the switch by which tests cause a
//! panic.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Returns the message of a caught panic.
pub fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

/// Locks a mutex, even if a thread has panicked while it held the lock: what is locked is consistent
/// at each point where code can panic.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

static INJECTED: AtomicUsize = AtomicUsize::new(0);

/// Panics once if the environment variable `ACP_TEST_PANIC` names this place; `place=2`: twice.
///
/// # Panics
/// On purpose, so that tests can show that a panic there is survived.
pub fn inject(place: &str) {
    static WANTED: OnceLock<Option<(String, usize)>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        let wanted = std::env::var("ACP_TEST_PANIC").ok()?;
        let (place, times) = wanted.split_once('=').unwrap_or((&wanted, "1"));
        Some((place.to_owned(), times.parse().ok()?))
    });
    if let Some((wanted, times)) = wanted
        && wanted == place
        && INJECTED.fetch_add(1, Ordering::Relaxed) < *times
    {
        panic!("injected into {place}");
    }
}
