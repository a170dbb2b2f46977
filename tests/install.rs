//! `install.sh`, from the outside: the files it puts in `lib/`, and its messages when it cannot,
//! which leave the old files in place.
//!
//! The archives hold little scripts in place of the programs; a server on the loopback sends them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Barrier};
use std::thread;

use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const PROGRAMS: [&str; 3] = ["acp-mcp", "acp-tutor", "acp-agui"];

/// The plugin as `git clone` leaves it, reduced to what the script reads.
struct Plugin {
    folder: TempDir,
}

impl Plugin {
    fn new() -> Self {
        let folder = TempDir::with_prefix("acp install ").expect("a folder can be made");
        let plugin = Self { folder };
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        fs::create_dir_all(plugin.path("lua/acp")).expect("a folder can be made");
        copy(&source.join("install.sh"), &plugin.path("install.sh"));
        let version = "lua/acp/version.lua";
        fs::copy(source.join(version), plugin.path(version)).expect("it can be copied");
        plugin.pin(&[]);
        plugin
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the sums as `make dist` does.
    fn pin(&self, sums: &[(String, String)]) {
        let mut text = "return {\n".to_owned();
        for (name, sum) in sums {
            text += &format!("  [\"{name}\"] = \"{sum}\",\n");
        }
        fs::write(self.path("lua/acp/checksums.lua"), text + "}\n").expect("it can be written");
    }

    /// Pins the sum of `archive`, which then is the one of this version and system.
    fn with(self, archive: &[u8]) -> Self {
        self.pin(&[(archive_name(), sum(archive))]);
        self
    }

    /// Puts a library of an earlier version in `lib/`.
    fn with_old(self) -> Self {
        fs::create_dir(self.path("lib")).expect("a folder can be made");
        for file in files() {
            fs::write(self.path("lib").join(file), "old").expect("it can be written");
        }
        self
    }

    fn command(&self, url: &str) -> Command {
        let mut command = Command::new(self.path("install.sh"));
        command
            .env("ACP_RELEASE_URL", url)
            .env("no_proxy", "127.0.0.1")
            .stdin(Stdio::null());
        command
    }

    fn install(&self, url: &str) -> Output {
        self.command(url).output().expect("the script starts")
    }

    /// Returns the files in `lib/`, by name.
    fn lib(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.path("lib")).expect("lib is there");
        let entry = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.expect("it can be listed");
            let name = entry.file_name().into_string().expect("a plain name");
            let text = fs::read_to_string(entry.path()).unwrap_or_else(|_| "a folder".to_owned());
            (name, text)
        };
        entries.map(entry).collect()
    }

    /// Fails unless the install failed with one sentence that has each of `parts`, and left `lib/`.
    #[track_caller]
    fn refuses(&self, output: &Output, parts: &[&str]) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.starts_with("acp.nvim: ") && said.ends_with(".\n") && said.lines().count() == 1,
            "not one sentence: {said}"
        );
        for part in parts {
            assert!(said.contains(part), "no {part:?} in {said}");
        }
        let old: BTreeMap<_, _> = files().map(|file| (file, "old".to_owned())).into();
        assert_eq!(self.lib(), old, "the old library is as it was: {said}");
    }

    /// Fails unless the install succeeded and all is from `archive`.
    #[track_caller]
    fn has(&self, output: &Output, archive: &[u8]) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let mut lib = self.lib();
        let record = lib.remove("installed").expect("a record");
        let triple = triple();
        let expected = format!(
            "version {VERSION}\ntriple {triple}\nfrom {}\n",
            sum(archive)
        );
        assert_eq!(record, expected);
        let new: BTreeMap<_, _> = files().map(|file| (file, script(0))).into();
        assert_eq!(lib, new);
    }
}

fn triple() -> String {
    let vendor = match std::env::consts::OS {
        "macos" => "apple-darwin",
        _ => "unknown-linux-gnu",
    };
    format!("{}-{vendor}", std::env::consts::ARCH)
}

fn files() -> [String; 4] {
    let library = format!("libacp_nvim{}", std::env::consts::DLL_SUFFIX);
    let [mcp, tutor, agui] = PROGRAMS.map(str::to_owned);
    [library, mcp, tutor, agui]
}

fn folder_name() -> String {
    format!("acp-nvim-{VERSION}-{}", triple())
}

fn archive_name() -> String {
    format!("{}.tar.gz", folder_name())
}

/// A program that ends with `status`.
fn script(status: u8) -> String {
    format!("#!/bin/sh\nexit {status}\n")
}

/// Packs programs that end with `status` as `folder`.
fn pack(folder: &str, status: u8) -> Vec<u8> {
    let temp = TempDir::new().expect("a folder can be made");
    fs::create_dir(temp.path().join(folder)).expect("a folder can be made");
    for file in files() {
        let path = temp.path().join(folder).join(file);
        fs::write(&path, script(status)).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    let packed = Command::new("tar")
        .args(["-czf", "-", folder])
        .current_dir(temp.path())
        .output()
        .expect("tar starts");
    assert!(packed.status.success());
    packed.stdout
}

fn archive() -> Vec<u8> {
    pack(&folder_name(), 0)
}

/// Writes `bytes` to a file under the archive's name; returns the folder's address and the folder.
fn release(bytes: &[u8]) -> (String, TempDir) {
    let folder = TempDir::new().expect("a folder can be made");
    fs::write(folder.path().join(archive_name()), bytes).expect("it can be written");
    (format!("file://{}", folder.path().display()), folder)
}

fn sum(bytes: &[u8]) -> String {
    let mut child = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sha256sum starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(bytes).expect("it is read");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stdout)[..64].to_owned()
}

/// Serves `answers` connections with `answer`; returns the address of the folder.
fn serve(answers: usize, answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().take(answers) {
            let mut stream = stream.expect("a connection");
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
                let mut request = String::new();
                reader.read_line(&mut request).expect("a request");
                let mut line = String::new();
                while reader.read_line(&mut line).expect("a header") > 2 {
                    line.clear();
                }
                answer(&request, &mut stream);
            });
        }
    });
    format!("http://{address}/v{VERSION}")
}

/// Sends a response of `length` bytes that ends after `body`.
fn send(stream: &mut TcpStream, length: usize, body: &[u8]) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    // A client that has seen enough may be gone.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

#[test]
fn the_archive_of_this_version_is_installed() {
    let bytes = archive();
    let body = bytes.clone();
    let url = serve(1, move |request, stream| {
        let path = format!("GET /v{VERSION}/{} ", archive_name());
        assert!(request.starts_with(&path), "{request}");
        send(stream, body.len(), &body);
    });
    let plugin = Plugin::new().with(&bytes).with_old();
    plugin.has(&plugin.install(&url), &bytes);
}

#[test]
fn the_address_is_that_of_the_clones_origin() {
    let bytes = archive();
    let plugin = Plugin::new().with(&bytes);
    let origin = TempDir::new().expect("a folder can be made");
    let releases = origin
        .path()
        .join(format!("acp.nvim/releases/download/v{VERSION}"));
    fs::create_dir_all(&releases).expect("a folder can be made");
    fs::write(releases.join(archive_name()), &bytes).expect("it can be written");
    let url = format!("file://{}/acp.nvim.git", origin.path().display());
    for args in [vec!["init", "-q"], vec!["remote", "add", "origin", &url]] {
        let git = Command::new("git")
            .args(args)
            .current_dir(plugin.folder.path())
            .status();
        assert!(git.expect("git starts").success());
    }
    plugin.has(&plugin.install(""), &bytes);
}

#[test]
fn without_an_address_the_library_stays() {
    let plugin = Plugin::new().with(&archive()).with_old();
    let output = plugin
        .command("")
        .env("GIT_CEILING_DIRECTORIES", plugin.folder.path())
        .output();
    let output = output.expect("the script starts");
    plugin.refuses(&output, &["set ACP_RELEASE_URL", &archive_name()]);
}

#[test]
fn without_a_network_the_library_stays() {
    // Another test may get a port that was free a moment ago; nobody gets this one.
    let url = "http://127.0.0.1:9";
    let plugin = Plugin::new().with(&archive()).with_old();
    plugin.refuses(
        &plugin.install(url),
        &[url, "could not be downloaded", "the connection"],
    );
}

#[test]
fn a_missing_archive_is_named() {
    let url = serve(1, |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    });
    let plugin = Plugin::new().with(&archive()).with_old();
    plugin.refuses(
        &plugin.install(&url),
        &[&url, "could not be downloaded", "404"],
    );
}

#[test]
fn a_proxys_page_is_not_an_archive() {
    let page = "<!DOCTYPE html><html><title>Please log in</title></html>";
    let url = serve(1, move |_, stream| {
        send(stream, page.len(), page.as_bytes())
    });
    let plugin = Plugin::new().with(&archive()).with_old();
    plugin.refuses(&plugin.install(&url), &[&url, "is a web page"]);
}

#[test]
fn a_truncated_archive_is_refused() {
    let bytes = archive();
    let half = bytes[..bytes.len() / 2].to_vec();
    let (url, _folder) = release(&half);
    let plugin = Plugin::new().with(&bytes).with_old();
    plugin.refuses(&plugin.install(&url), &["is incomplete or damaged"]);
    // A connection that ends too early.
    let url = serve(1, move |_, stream| send(stream, bytes.len(), &half));
    plugin.refuses(&plugin.install(&url), &["could not be downloaded"]);
}

#[test]
fn an_archive_with_another_sum_is_refused() {
    let (good, evil) = (archive(), pack(&folder_name(), 1));
    let (url, _folder) = release(&evil);
    let plugin = Plugin::new().with(&good).with_old();
    let output = plugin.install(&url);
    plugin.refuses(&output, &["is not the archive", &sum(&good), &sum(&evil)]);
}

#[test]
fn an_archive_of_another_version_or_system_is_refused() {
    for folder in [
        format!("acp-nvim-9.9.9-{}", triple()),
        format!("acp-nvim-{VERSION}-s390x-unknown-linux-gnu"),
    ] {
        let bytes = pack(&folder, 0);
        let (url, _folder) = release(&bytes);
        let plugin = Plugin::new().with(&bytes).with_old();
        let wanted = format!("is not for version {VERSION} and {}", triple());
        plugin.refuses(&plugin.install(&url), &[&wanted]);
    }
}

#[test]
fn programs_that_do_not_run_here_are_not_installed() {
    let bytes = pack(&folder_name(), 126);
    let (url, _folder) = release(&bytes);
    let plugin = Plugin::new().with(&bytes).with_old();
    plugin.refuses(
        &plugin.install(&url),
        &["do not run on this system", "./install.sh source"],
    );
}

#[test]
fn a_full_disk_leaves_the_library() {
    // Files of more than one block cannot be written, as on a disk that is nearly full.
    let limited = |plugin: &Plugin, url: &str| {
        let mut command = plugin.command(url);
        let script = plugin.path("install.sh");
        let limit = "trap '' XFSZ; ulimit -f 1; exec \"$0\"";
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(limit).arg(script);
        for (key, value) in command.get_envs() {
            shell.env(key, value.unwrap_or_default());
        }
        command = shell;
        command.stdin(Stdio::null());
        command.output().expect("the script starts")
    };
    // Noise, so that the download is too large; then zeroes, so that only the unpacked archive is.
    let mut noise = archive();
    noise.extend((0..1 << 16).map(|byte: u32| (byte.wrapping_mul(2_654_435_761) >> 24) as u8));
    let (url, _folder) = release(&noise);
    let plugin = Plugin::new().with(&noise).with_old();
    plugin.refuses(&limited(&plugin, &url), &["cannot be written", "free some"]);
    let body = noise.clone();
    let url = serve(1, move |_, stream| send(stream, body.len(), &body));
    plugin.refuses(&limited(&plugin, &url), &["cannot be written", "free some"]);

    let temp = TempDir::new().expect("a folder can be made");
    let folder = temp.path().join(folder_name());
    fs::create_dir(&folder).expect("a folder can be made");
    for file in files() {
        fs::write(folder.join(file), vec![0; 1 << 16]).expect("it can be written");
    }
    let packed = Command::new("tar")
        .args(["-czf", "-", &folder_name()])
        .current_dir(temp.path())
        .output()
        .expect("tar starts")
        .stdout;
    let (url, _folder) = release(&packed);
    let plugin = Plugin::new().with(&packed).with_old();
    plugin.refuses(&limited(&plugin, &url), &["cannot be written", "free some"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let bytes = archive();
    let (url, _folder) = release(&bytes);
    let plugin = Plugin::new().with(&bytes);
    // Even root cannot create a file there.
    symlink("/proc", plugin.path("lib")).expect("a link can be made");
    let output = plugin.install(&url);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("nothing can be written to "), "{said}");
    assert!(said.contains("make the plugin's folder writable"), "{said}");
}

#[test]
fn two_installs_at_once_both_succeed() {
    let bytes = archive();
    let body = bytes.clone();
    // Each gets its answer when both have asked.
    let both = Barrier::new(2);
    let url = serve(2, move |_, stream| {
        both.wait();
        send(stream, body.len(), &body);
    });
    let plugin = Plugin::new().with(&bytes).with_old();
    let start = || {
        let mut command = plugin.command(&url);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the script starts")
    };
    // The second may still have its temporary folder when the first ends.
    let outputs = [start(), start()].map(|child| child.wait_with_output().expect("it ends"));
    for output in outputs {
        plugin.has(&output, &bytes);
    }
}

#[test]
fn a_running_neovim_keeps_the_library_it_has_loaded() {
    let bytes = archive();
    let (url, _folder) = release(&bytes);
    let plugin = Plugin::new().with(&bytes).with_old();
    let [library, ..] = files();
    let mut loaded = File::open(plugin.path("lib").join(library)).expect("it is there");
    plugin.has(&plugin.install(&url), &bytes);
    let mut text = String::new();
    loaded.read_to_string(&mut text).expect("it can be read");
    assert_eq!(text, "old");
}

/// Copies a program by another process: while a process that this one forks still has the file open
/// for writing, it cannot be executed.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-p").args([from, to]).status();
    assert!(status.expect("cp starts").success());
}

/// Puts a program that runs `body` on a PATH; returns that PATH.
fn program(name: &str, body: &str) -> (TempDir, String) {
    let folder = TempDir::new().expect("a folder can be made");
    let path = folder.path().join(name);
    let text = folder.path().join("text");
    fs::write(&text, format!("#!/bin/sh\n{body}\n")).expect("it can be written");
    fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).expect("it is ours");
    copy(&text, &path);
    let rest = std::env::var("PATH").expect("there is a PATH");
    let path = format!("{}:{rest}", folder.path().display());
    (folder, path)
}

/// A Cargo that creates the requested files.
fn cargo() -> (TempDir, String) {
    let makes = files().map(|file| {
        format!(
            "printf '#!/bin/sh\\nexit 0\\n' >target/release/{file}; chmod +x target/release/{file}"
        )
    });
    program(
        "cargo",
        &format!(
            "echo \"$@\" >asked; mkdir -p target/release; {}",
            makes.join("; ")
        ),
    )
}

#[test]
fn a_build_from_source_is_installed() {
    let (_cargo, path) = cargo();
    // On request, and where there is no archive.
    for (sums, args) in [(Some(archive()), &["source"][..]), (None, &[])] {
        let mut plugin = Plugin::new();
        if let Some(archive) = &sums {
            plugin = plugin.with(archive);
        }
        let output = plugin
            .command("http://127.0.0.1:9")
            .args(args)
            .env("PATH", &path)
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .expect("the script starts");
        assert!(output.status.success(), "{output:?}");
        let asked = fs::read_to_string(plugin.path("asked")).expect("Cargo was asked");
        assert!(
            asked.starts_with("build --release --locked --target-dir target "),
            "{asked}"
        );
        for program in PROGRAMS {
            assert!(asked.contains(&format!("--bin {program}")), "{asked}");
        }
        let lib = plugin.lib();
        let triple = triple();
        let record = format!("version {VERSION}\ntriple {triple}\nfrom source\n");
        assert_eq!(lib["installed"], record);
        assert_eq!(lib.len(), 5, "{lib:?}");
    }
}

#[test]
fn a_build_that_fails_leaves_the_library() {
    let (_cargo, path) = program("cargo", "exit 101");
    let plugin = Plugin::new().with_old();
    let output = plugin.command("").env("PATH", &path).output();
    let output = output.expect("the script starts");
    plugin.refuses(&output, &["the build has failed", "./install.sh source"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_system_without_an_archive_needs_rust() {
    // A PATH without Cargo, and an `ldd` as musl has it.
    let (tools, _) = program("ldd", "echo 'musl libc (x86_64)' >&2; exit 1");
    for tool in ["sh", "dirname", "uname", "sed"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").expect("there is a PATH"))
            .map(|folder| folder.join(tool))
            .find(|path| path.exists())
            .expect("each system has it");
        symlink(found, tools.path().join(tool)).expect("a link can be made");
    }
    let plugin = Plugin::new().with(&archive()).with_old();
    let output = plugin.command("").env("PATH", tools.path()).output();
    let output = output.expect("the script starts");
    let machine = std::env::consts::ARCH;
    let triple = format!("{machine}-unknown-linux-musl");
    plugin.refuses(&output, &[&triple, "needs Rust 1.88 or newer"]);
}

#[test]
fn each_pinned_sum_is_of_this_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua/acp/checksums.lua");
    let text = fs::read_to_string(path).expect("it is there");
    for line in text.lines().filter(|line| line.contains("[\"")) {
        let start = format!("  [\"acp-nvim-{VERSION}-");
        assert!(line.starts_with(&start), "make dist writes it: {line}");
    }
}
