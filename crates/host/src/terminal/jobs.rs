//! The jobs of a command: processes of its session that a shell has put into process groups of
//! their own.
//!
//! A signal to the command's group does not reach them. Where the system lists a session's
//! processes (Linux, in `/proc`), they are ended with the command; elsewhere, their shell or the
//! terminal's hang-up ends them.
//!
//! Invariant: a signal reaches only processes of the command's own session. The session is looked
//! up before its leader is reaped, so its id cannot have been reused; and signals go through a
//! handle (pidfd) of a process that was seen in the session after the handle was opened.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use tokio::time::Instant;

use super::super::Kit;
use super::super::process::Group;
use acp_edge::panics::lock;

/// The sessions of all processes, shared by concurrent lookups of several terminals.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionTables {
    seen: Arc<tokio::sync::Mutex<Option<Lookup>>>,
}

/// The last lookup and its start time.
#[derive(Debug)]
struct Lookup {
    begun: Instant,
    table: Arc<Table>,
}

/// Per session id: its processes outside the leader's group.
type Table = HashMap<u32, Vec<u32>>;

impl SessionTables {
    /// Returns a table that is no older than the call.
    async fn look(&self, kit: &Kit) -> Arc<Table> {
        let asked = Instant::now();
        let mut seen = self.seen.lock().await;
        match seen.as_ref() {
            // Another terminal started a lookup during the wait.
            Some(seen) if seen.begun >= asked => Arc::clone(&seen.table),
            _ => {
                let begun = Instant::now();
                let table = kit.blocking("looking for jobs", system::table).await;
                let table = Arc::new(table.unwrap_or_default());
                let now = Arc::clone(&table);
                *seen = Some(Lookup { begun, table });
                now
            }
        }
    }
}

/// The jobs of one command.
#[derive(Debug)]
pub(super) struct Jobs {
    session: u32,
    pids: Mutex<HashSet<u32>>,
}

impl Jobs {
    /// Returns the jobs of the command that leads `group`; none are known yet.
    pub(super) fn of(group: &Group) -> Self {
        Self {
            session: group.pid(),
            pids: Mutex::default(),
        }
    }

    /// Looks for jobs; ignores the result if `group` has lost its leader.
    pub(super) async fn look(&self, group: &Group, sessions: &SessionTables, kit: &Kit) {
        let table = sessions.look(kit).await;
        // Checked after the lookup, so the session id was valid throughout.
        if group.is_led()
            && let Some(found) = table.get(&self.session)
        {
            lock(&self.pids).extend(found);
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        for &pid in lock(&self.pids).iter() {
            system::signal(pid, self.session, signal);
        }
    }

    /// Returns whether all known jobs have ended.
    pub(super) fn are_gone(&self) -> bool {
        let mut pids = lock(&self.pids);
        pids.retain(|&pid| system::is_alive(pid, self.session));
        pids.is_empty()
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::Table;

    pub(super) fn table() -> Table {
        let mut table = Table::new();
        let Ok(folder) = fs::read_dir("/proc") else {
            return table;
        };
        for entry in folder.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(process) = look(pid)
                && process.group != process.session
            {
                table.entry(process.session).or_default().push(pid);
            }
        }
        table
    }

    pub(super) fn signal(pid: u32, session: u32, signal: Signal) {
        let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
        // Linux before 5.3 has no pidfd; then only the hang-up ends jobs.
        if let Some(Ok(handle)) = id.map(|id| pidfd_open(id, PidfdFlags::empty()))
            && is_alive(pid, session)
        {
            // An error means that the process has just died.
            let _ = pidfd_send_signal(handle, signal);
        }
    }

    pub(super) fn is_alive(pid: u32, session: u32) -> bool {
        look(pid).is_some_and(|process| process.session == session && process.is_alive)
    }

    pub(super) struct Process {
        pub(super) is_alive: bool,
        pub(super) group: u32,
        pub(super) session: u32,
    }

    fn look(pid: u32) -> Option<Process> {
        parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses "pid (name) state parent group session …"; the name may contain any character.
    pub(super) fn parse(stat: &str) -> Option<Process> {
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let _parent = fields.next()?;
        Some(Process {
            is_alive: !matches!(state, "Z" | "X"),
            group: fields.next()?.parse().ok()?,
            session: fields.next()?.parse().ok()?,
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use rustix::process::Signal;

    use super::Table;

    pub(super) fn table() -> Table {
        Table::new()
    }

    pub(super) fn signal(_pid: u32, _session: u32, _signal: Signal) {}

    pub(super) fn is_alive(_pid: u32, _session: u32) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::system::parse;

    #[test]
    fn a_process_is_parsed_whatever_its_name() {
        let check = |stat: &str, expected: Option<(bool, u32, u32)>| {
            let read = parse(stat).map(|p| (p.is_alive, p.group, p.session));
            assert_eq!(read, expected, "{stat}");
        };
        check("12 (sh) S 1 10 9 34816", Some((true, 10, 9)));
        check("12 (a) Z (b)) Z 1 10 9 34816", Some((false, 10, 9)));
        check("12 (sh) S 1", None);
        check("", None);
    }
}
