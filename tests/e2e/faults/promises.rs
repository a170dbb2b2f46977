//! The promises checked after each cell, for any work and any fault.

use super::*;

/// Returns a text without the user's and the other program's lines, of which there is at most one.
fn without_additions(text: &str) -> String {
    let text = text.replacen(&format!("{MINE}\n"), "", 1);
    text.replacen(&format!("{THEIRS}\n"), "", 1)
}

/// Returns whether a text is one complete version.
fn is_whole(text: &str) -> bool {
    let text = without_additions(text);
    let number = text.split(" of version ").nth(1);
    let number = number.and_then(|rest| rest.lines().next());
    number.is_some_and(|number| version(number) == text)
}

fn is_old(text: &str) -> bool {
    without_additions(text) == version(OLD)
}

/// Returns the text of the open file's buffer.
#[track_caller]
fn buffer(nvim: &Nvim) -> String {
    // A file that took the place of a folder of this name counts as moved there.
    let names = [format!("{OPEN}$"), format!("{OPEN}/part$")];
    let find = "local file, moved = ...
        local buf = vim.fn.bufnr(file)
        return buf ~= -1 and buf or vim.fn.bufnr(moved)";
    let number = nvim.lua(find, names);
    let lines = nvim.buf_lines(number.as_i64().expect("a buffer"));
    lines.join("\n") + "\n"
}

fn on_disk(nvim: &Nvim, path: &str) -> String {
    let path = nvim.project.path(path);
    // A pipe without a writer would block.
    let bytes = path.is_file().then(|| std::fs::read(path).ok()).flatten();
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// Returns whether these files, the open one and the closed one are as before the turn.
#[track_caller]
pub fn are_restored(nvim: &Nvim, more: &[String]) -> bool {
    let is_old_on_disk = |path: &str| is_old(&on_disk(nvim, path));
    is_old(&buffer(nvim)) && is_old_on_disk(CLOSED) && more.iter().all(|path| is_old_on_disk(path))
}

/// Returns all that Neovim has said: in the messages and in the chat.
#[track_caller]
fn said(nvim: &Nvim) -> String {
    nvim.messages() + "\n" + &talk::transcript(nvim).join("\n")
}

/// The user's line is in the buffer once, and Neovim works.
#[track_caller]
fn of_the_user(nvim: &Nvim, cell: Cell) {
    dismiss(nvim);
    let said = said(nvim);
    for bad in ["internal error", "panicked", "stack traceback"] {
        if said.contains(bad) {
            nvim.fail(&format!("{bad:?} was said"));
        }
    }
    nvim.input("<C-\\><C-n>:let g:alive = get(g:, 'alive', 0) + 1<CR>");
    nvim.wait("Neovim to answer a key", || {
        !nvim.blocked() && nvim.lua("return vim.g.alive or 0", ()) != 0
    });
    nvim.lua("vim.g.alive = 0", ());
    let text = buffer(nvim);
    let count = text.matches(MINE).count();
    // What the agent takes away is the old side of a hunk.
    let is_there = count == 1 || count == 0 && hunks(nvim).to_string().contains(MINE);
    if is_there != cell.work.has_typed() {
        nvim.fail(&format!("the user's line is in the buffer {count} times"));
    }
    if !is_whole(&text) {
        nvim.fail(&format!("the buffer is no version: {text}"));
    }
}

/// The other program's line is in the file, the buffer or a hunk, unless the agent, or a reject at
/// the same moment, has written the file after it.
#[track_caller]
fn of_the_other_program(nvim: &Nvim, cell: Cell) {
    let Cell { work, moment, .. } = cell;
    let is_last = match moment {
        Moment::Before => work == Work::Read || work.is_users(),
        Moment::During => work == Work::Read,
        Moment::After => true,
    };
    if cell.fault != Fault::OtherWriter || !is_last {
        return;
    }
    let places = [on_disk(nvim, OPEN), buffer(nvim), hunks(nvim).to_string()];
    if !places.iter().any(|text| text.contains(THEIRS)) {
        nvim.fail("the other program's line is lost");
    }
}

/// What holds while the fault stands.
#[track_caller]
pub fn of_the_living(run: &Run) {
    let Run { nvim, cell, .. } = run;
    of_the_user(nvim, *cell);
    // A file that something else has replaced is what that is.
    if cell.fault != Fault::FileReplaced {
        of_the_files(nvim, *cell);
    }
}

/// Each file on disk is whole.
#[track_caller]
fn of_the_files(nvim: &Nvim, cell: Cell) {
    let more = cell.work.more_files();
    let closed = more.iter().map(|path| &**path).chain([CLOSED]);
    // Where the disk is full, `:write` leaves a part of the file, and the text is in the buffer.
    let open = (cell.fault != Fault::DiskFull).then_some(OPEN);
    for path in closed.chain(open) {
        check_whole(nvim, path);
    }
}

#[track_caller]
fn check_whole(nvim: &Nvim, path: &str) {
    let text = on_disk(nvim, path);
    if !is_whole(&text) {
        nvim.fail(&format!("{path} is no version: {text}"));
    }
}

/// The files and the user's line have outlived a killed Neovim.
#[track_caller]
pub fn recovered(nvim: &Nvim, cell: Cell) {
    let there = on_disk(nvim, OPEN);
    if is_whole(&there) && there.contains(MINE) == cell.work.has_typed() {
        nvim.cmd(&format!("edit {OPEN}"));
    } else {
        nvim.cmd(&format!("silent! recover {OPEN}"));
    }
    of_the_user(nvim, cell);
    check_whole(nvim, CLOSED);
    for path in cell.work.more_files() {
        check_whole(nvim, &path);
    }
}

/// What holds when the fault is over: the agent's changes are under review, and a reject of all of
/// them gives back the text before the turn.
#[track_caller]
pub fn of_the_end(run: Run) {
    let Run { nvim, cell, .. } = run;
    of_the_user(&nvim, cell);
    of_the_other_program(&nvim, cell);
    of_the_files(&nvim, cell);
    let mut next = Instant::now();
    let more = cell.work.more_files();
    nvim.wait("a reject of all, once saved, to restore all files", || {
        dismiss(&nvim);
        if next <= Instant::now() {
            nvim.lua("require('acp').review.reject('all')", ());
            next = Instant::now() + Duration::from_millis(500);
        }
        // What the lost state folder held cannot be brought back, and this is said.
        if cell.fault == Fault::StateGone && nvim.messages().contains("could not be read before") {
            return true;
        }
        if are_restored(&nvim, &more) {
            // A change that is not merged yet comes back after the save.
            nvim.cmd(&format!("silent buffer {OPEN} | silent write!"));
        }
        are_restored(&nvim, &more) && on_disk(&nvim, OPEN) == buffer(&nvim)
    });
    of_the_user(&nvim, cell);
    of_the_files(&nvim, cell);
    let answers = std::fs::read_to_string(nvim.project.root().join("answers")).unwrap_or_default();
    let count = answers.matches("\"id\":2").count();
    let must_be = cell.work == Work::Tool && cell.fault == Fault::StateGone;
    if count > 1 || count == 0 && must_be {
        nvim.fail(&format!("the call is answered {count} times: {answers}"));
    }
    // The agent notices a second answer to a request, and waits for the first one in its script.
    let report = nvim.project.report("agent").join("\n");
    if report.contains("the client sent") {
        nvim.fail(&report);
    }
    nvim.quit();
}
