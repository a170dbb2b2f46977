//! A system without descriptors. The limit is the whole process's, so such a test runs in one of its
//! own.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Returns whether this process runs only the test of this name; runs it in such a process
/// otherwise.
#[track_caller]
pub(crate) fn is_alone(test: &str) -> bool {
    if std::env::var_os("ACP_TEST_ALONE").is_some() {
        return true;
    }
    let mut alone = Command::new(std::env::current_exe().expect("this test"));
    alone.args(["--exact", test]).env("ACP_TEST_ALONE", "1");
    let output = alone.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    false
}

/// Runs `work` while only so many files can be opened at once.
pub(crate) fn with_descriptors<T>(count: usize, work: impl FnOnce() -> T) -> T {
    let limit = getrlimit(Resource::Nofile);
    let free: Vec<File> = (0..=count)
        .map(|_| File::open("/dev/null").expect("a file"))
        .collect();
    let next = free
        .last()
        .and_then(|file| file.as_raw_fd().try_into().ok());
    drop(free);
    let few = Rlimit {
        // Other threads may close files meanwhile, whose numbers are free then.
        current: if count == 0 { Some(0) } else { next },
        ..limit
    };
    setrlimit(Resource::Nofile, few).expect("a limit");
    let result = work();
    setrlimit(Resource::Nofile, limit).expect("a limit");
    result
}
