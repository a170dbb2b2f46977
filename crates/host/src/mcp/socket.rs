//! The Unix socket: its folder, admission of clients, and the first line each client must send.
//!
//! Invariants: only the user can access the folder before the socket is created in it. A client of
//! another user, without a token or with a wrong one gets no response. The socket and its folder
//! are removed at the end.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use rustix::process::{Pid, geteuid, test_kill_process};
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep, timeout};

use super::admission::AdmissionPermit;
use super::{Server, connection};
use acp_core::spine::effect::Level;

/// Prefix of each Neovim's folder; a pid and a random part follow.
const FOLDER: &str = "acp.nvim.";

/// Maximum length of a client's first line.
const HELLO_BYTES: usize = 4 << 10;

/// Maximum number of clients that have not shown a token yet.
const STRANGERS: usize = 64;

/// Delay before a connection with a wrong token is closed.
const WRONG: Duration = Duration::from_millis(500);

/// Pause after a failed accept, for example when no descriptor is left.
const NO_ROOM: Duration = Duration::from_millis(100);

/// The socket and its folder, removed when dropped.
#[derive(Debug)]
pub(super) struct SocketFolder {
    socket: PathBuf,
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        remove(&self.socket);
    }
}

/// Creates the folder and the socket, and starts listening.
///
/// # Errors
/// The folder or the socket cannot be created.
pub(super) fn listen(socket: &Path, server: &Arc<Server>) -> io::Result<SocketFolder> {
    let folder = socket.parent().ok_or(io::ErrorKind::InvalidInput)?;
    if let Some(run) = folder.parent() {
        DirBuilder::new().mode(0o700).recursive(true).create(run)?;
    }
    // The name is random, so an existing folder is not ours and must not be used.
    DirBuilder::new().mode(0o700).create(folder)?;
    let place = SocketFolder {
        socket: socket.to_owned(),
    };
    // The umask may have removed bits from the mode.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    let listener = StdListener::bind(socket)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    let runtime = server.kit.runtime.enter();
    let listener = UnixListener::from_std(listener)?;
    drop(runtime);
    let accepting = accept(listener, Arc::clone(server));
    server.kit.spawn("the tools' socket", accepting);
    let (kit, own) = (server.kit.clone(), folder.to_owned());
    server.kit.spawn("old sockets", async move {
        kit.blocking("old sockets", move || sweep(&own)).await;
    });
    Ok(place)
}

/// Removes a socket and its folder, if it is otherwise empty.
fn remove(socket: &Path) {
    // On failure it is gone already, or the next Neovim tries again.
    let _ = fs::remove_file(socket);
    if let Some(folder) = socket.parent() {
        let _ = fs::remove_dir(folder);
    }
}

/// Removes the sockets of Neovims that have died, beside our own folder.
fn sweep(own: &Path) {
    let Some(Ok(entries)) = own.parent().map(fs::read_dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let socket = path.join(SOCKET);
        let is_ours = |meta: fs::Metadata| meta.is_dir() && meta.uid() == geteuid().as_raw();
        if path != own
            && is_dead(&entry.file_name().to_string_lossy())
            && entry.metadata().is_ok_and(is_ours)
            // A live process in another container has a pid that is unknown here.
            && StdStream::connect(&socket).is_err()
        {
            remove(&socket);
        }
    }
}

/// Name of the socket in its folder, as chosen by the editor.
const SOCKET: &str = "mcp.sock";

/// Returns whether a folder belongs to a Neovim that has died.
fn is_dead(folder: &str) -> bool {
    let pid = folder
        .strip_prefix(FOLDER)
        .and_then(|rest| rest.split('.').next())
        .and_then(|pid| pid.parse().ok())
        .and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

async fn accept(listener: UnixListener, server: Arc<Server>) {
    let strangers = Arc::new(AtomicUsize::new(0));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                server.log(Level::Warn, &format!("A client could not connect: {error}"));
                sleep(NO_ROOM).await;
                continue;
            }
        };
        let is_ours = stream
            .peer_cred()
            .is_ok_and(|peer| peer.uid() == geteuid().as_raw());
        if !is_ours {
            server.log(Level::Warn, "A client of another user was sent away.");
            continue;
        }
        let Some(stranger) = AdmissionPermit::take(&strangers, STRANGERS) else {
            server.log(
                Level::Warn,
                "Too many clients connect at once: one was sent away.",
            );
            continue;
        };
        let welcoming = welcome(stream, stranger, Arc::clone(&server));
        server.kit.spawn("a client", welcoming);
    }
}

/// Admits a client that presents a valid token.
async fn welcome(stream: UnixStream, stranger: AdmissionPermit, server: Arc<Server>) {
    let (mut reading, mut writing) = stream.into_split();
    let (token, rest) = match timeout(server.kit.limits.tools_hello, hello(&mut reading)).await {
        Ok(Some(hello)) => hello,
        Ok(None) => {
            server.log(
                Level::Warn,
                "A client has shown no token and was sent away.",
            );
            return;
        }
        Err(_) => {
            server.log(Level::Warn, "A client has said nothing and was sent away.");
            return;
        }
    };
    let Some(admission) = server.who(&token) else {
        server.log(
            Level::Warn,
            "A client has shown a wrong token and was sent away.",
        );
        sleep(WRONG).await;
        return;
    };
    #[cfg(test)]
    let _counted = AdmissionPermit::take(&server.connections, usize::MAX);
    let Some(_connection) = admission.connection() else {
        let text = "A session has too many connections to the tools: one was sent away.";
        server.log(Level::Warn, text);
        return;
    };
    if writing.write_all(b"{\"ok\":true}\n").await.is_ok() {
        drop(stranger);
        connection::serve(server, admission, reading, writing, rest).await;
    }
}

/// Reads a client's first line; returns the token and the bytes after the line.
async fn hello(reading: &mut OwnedReadHalf) -> Option<(String, Vec<u8>)> {
    let mut read = Vec::with_capacity(HELLO_BYTES);
    loop {
        if let Some(end) = memchr::memchr(b'\n', &read) {
            let rest = read.split_off(end + 1);
            let hello: Hello = serde_json::from_slice(&read).ok()?;
            return Some((hello.token, rest));
        }
        let more = HELLO_BYTES.checked_sub(read.len()).filter(|&n| n > 0)?;
        let count = (&mut *reading).take(more as u64).read_buf(&mut read).await;
        if count.ok()? == 0 {
            return None;
        }
    }
}

#[derive(Deserialize)]
struct Hello {
    token: String,
}
