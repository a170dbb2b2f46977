//! Terminals in windows and in the list: updated frame by frame, with bounded memory.

use serde_json::json;

use super::super::world::{Part, World};
use super::{T1, running};
use crate::event::{Event, ViewEvent};
use crate::spine::effect::EditorEffect;
use crate::spine::ids::TerminalKey;
use crate::spine::view::{FrameSize, Patch};
use crate::terminals::{CommandState, Output, TerminalEvent};

#[test]
fn a_terminal_is_listed_with_its_state() {
    let mut world = running();
    world.creates(
        "2",
        json!({ "command": "/bin/bash", "args": ["-lc", "cd /p\nls -l"], "cwd": "/q" }),
    );
    world.creates("3", json!({ "command": "a b", "args": ["it's"] }));
    world.prints_in(T1, "12345\r\n");
    world.ends(T1, 0);
    let snapshot = world.model.snapshot();
    let of = |terminal: usize| {
        let info = &snapshot.terminals[terminal];
        (
            &*info.title,
            info.cwd.to_str(),
            info.state.word(),
            info.bytes,
        )
    };
    assert_eq!(of(0), ("make", Some("/p"), "exited", 7));
    assert_eq!(of(1), ("cd /p …", Some("/q"), "running", 0));
    assert_eq!(of(2), (r"'a b' 'it'\''s'", Some("/p"), "running", 0));
    assert_eq!(snapshot.sessions[0].terminals, 2);
}

#[test]
fn a_window_follows_the_output_frame_by_frame() {
    let mut world = running();
    world.prints_in(T1, "before\r\n");
    let shown = |is_shown| {
        Event::Terminal(TerminalEvent::Shown {
            terminal: T1,
            is_shown,
        })
    };
    world.happens(shown(true));
    world.prints_in(T1, "\x1b[31mred\r\n");
    let text = |world: &World| String::from_utf8(world.editor.terminals[&T1].clone());
    assert_eq!(text(&world).as_deref(), Ok("before\r\n\x1b[31mred\r\n"));
    world.happens(shown(false));
    world.prints_in(T1, "unseen\r\n");
    assert!(text(&world).is_ok_and(|text| !text.contains("unseen")));
    world.happens(shown(true));
    assert!(text(&world).is_ok_and(|text| text.ends_with("red\r\nunseen\r\n")));
}

#[test]
fn reported_lines_get_terminal_line_endings() {
    let mut world = World::ready();
    world.shows("x");
    for data in ["one\ntw", "o\r\n\n"] {
        world.tells(
            "t",
            json!({ "terminal_output": { "terminal_id": "x", "data": data } }),
        );
    }
    world.happens(Event::Terminal(TerminalEvent::Shown {
        terminal: T1,
        is_shown: true,
    }));
    assert_eq!(world.editor.terminals[&T1], b"one\r\ntwo\r\n\r\n");
}

/// Composes a frame; returns each terminal's patch: its number, whether it replaces all, its bytes.
fn frame(world: &mut World) -> Vec<(u32, bool, usize)> {
    frame_of(world, Output::Much)
}

/// As [`frame`], with this budget for output.
fn frame_of(world: &mut World, output: Output) -> Vec<(u32, bool, usize)> {
    world.apply(Event::View(ViewEvent::FrameWanted {
        output,
        size: FrameSize::default(),
    }));
    let effects = std::mem::take(&mut world.to_editor).into_iter();
    let frames = effects.filter_map(|effect| match effect {
        EditorEffect::Frame(frame) => Some(frame),
        _ => None,
    });
    let patches = frames.flat_map(|frame| frame.patches);
    let sizes = patches.filter_map(|patch| match patch {
        Patch::Terminal {
            terminal,
            is_anew,
            bytes,
        } => Some((terminal.0, is_anew, bytes.len())),
        _ => None,
    });
    sizes.collect()
}

#[test]
fn starts_and_ends_of_unshown_terminals_wake_the_editor() {
    let mut world = World::ready();
    world.holds(Part::Editor);
    let wakes = |world: &mut World| {
        let is_woken = world
            .to_editor
            .iter()
            .any(|effect| matches!(effect, EditorEffect::Wake));
        frame(world);
        is_woken
    };
    frame(&mut world);
    world.creates("1", json!({ "command": "make" }));
    assert!(wakes(&mut world), "it runs");
    world.prints_in(T1, "one\n");
    assert!(!wakes(&mut world), "nobody looks");
    world.ends(T1, 0);
    assert!(wakes(&mut world), "it has ended");
}

#[test]
fn a_frame_has_bounded_output_shared_fairly() {
    let mut world = running();
    for id in ["2", "3"] {
        world.creates(id, json!({ "command": "make" }));
    }
    world.holds(Part::Editor);
    for key in 1..=3 {
        let terminal = TerminalKey(key);
        let is_shown = true;
        world.happens(Event::Terminal(TerminalEvent::Shown { terminal, is_shown }));
        let text = "x".repeat(if key == 2 { 1000 } else { 20_000 });
        world.prints_in(terminal, &text);
    }
    let half = (24 * 1024 - 1000) / 2;
    let first = frame(&mut world);
    assert_eq!(first, [(2, true, 1000), (1, true, half), (3, true, half)]);
    let rest = 20_000 - half;
    assert_eq!(frame(&mut world), [(1, false, rest), (3, false, rest)]);
    assert_eq!(frame(&mut world), []);
}

#[test]
fn a_window_that_falls_behind_shows_the_end_then_all_kept_output() {
    let mut world = running();
    world.holds(Part::Editor);
    world.happens(Event::Terminal(TerminalEvent::Shown {
        terminal: T1,
        is_shown: true,
    }));
    assert_eq!(frame(&mut world), [(1, true, 0)]);
    let line = "0123456789abcde\n".repeat(4096);
    for _ in 0..40 {
        world.prints_in(T1, &line);
    }
    let skipped = frame(&mut world);
    // The shown output stays, and a mark follows it.
    assert!(
        matches!(skipped[..], [(1, false, 1..=0x8000)]),
        "{skipped:?}"
    );
    assert_eq!(frame(&mut world), []);
    world.ends(T1, 0);
    let mut all = 0;
    for count in 0.. {
        let patches = frame(&mut world);
        let [(1, is_anew, bytes)] = patches[..] else {
            assert_eq!(patches, []);
            break;
        };
        assert_eq!(is_anew, count == 0);
        all += bytes;
    }
    assert!(((1 << 20) - 16..=1 << 20).contains(&all), "{all}");
}

#[test]
fn while_typing_only_the_end_of_output_is_shown() {
    let mut world = running();
    world.holds(Part::Editor);
    world.happens(Event::Terminal(TerminalEvent::Shown {
        terminal: T1,
        is_shown: true,
    }));
    frame(&mut world);
    world.prints_in(T1, "one\n");
    assert_eq!(frame_of(&mut world, Output::Held), []);
    world.to_editor.clear();
    world.prints_in(T1, "two\n");
    let asks = |world: &World| {
        let mut effects = world.to_editor.iter();
        effects.any(|effect| matches!(effect, EditorEffect::Wake))
    };
    assert!(!asks(&world), "a key is on its way");
    assert_eq!(frame_of(&mut world, Output::Little), [(1, false, 8)]);
    world.prints_in(T1, &"0123456789abcde\n".repeat(1000));
    let [(1, false, bytes)] = frame_of(&mut world, Output::Little)[..] else {
        panic!("the end is shown");
    };
    assert!((1024..4096).contains(&bytes), "{bytes}");
    world.ends(T1, 0);
    assert_eq!(frame_of(&mut world, Output::Little), []);
    // All of it, once a frame has a full budget.
    assert_eq!(frame(&mut world), [(1, true, 16_008)]);
    assert_eq!(frame(&mut world), []);
}

#[test]
fn input_reaches_only_running_commands() {
    let mut world = running();
    let types = |world: &mut World| {
        world.happens(Event::Terminal(TerminalEvent::Input {
            terminal: T1,
            bytes: b"q".to_vec(),
        }));
        world.happens(Event::Terminal(TerminalEvent::Resized {
            terminal: T1,
            columns: 80,
            rows: 24,
        }));
        (world.pty.typed.len(), world.pty.sizes.len())
    };
    assert_eq!(types(&mut world), (1, 1));
    world.happens(Event::Terminal(TerminalEvent::Kill { terminal: T1 }));
    let snapshot = world.model.snapshot();
    assert!(matches!(
        snapshot.terminals[0].state,
        CommandState::Exited(_)
    ));
    assert_eq!(types(&mut world), (1, 1));
}

#[test]
fn hundreds_of_ended_terminals_use_little_memory() {
    let mut world = World::ready();
    let text = "x\n".repeat(50_000);
    for index in 1..=600u32 {
        let id = format!("{index}");
        world.creates(&id, json!({ "command": "make" }));
        let is_looked_at = matches!(index, 101 | 600);
        let printed = if is_looked_at { &text } else { "x\n" };
        world.prints_in(TerminalKey(index), printed);
        world.ends(TerminalKey(index), 0);
        world.asks_of(&format!("1{id}"), "release", &format!("term-{index}"));
    }
    let snapshot = world.model.snapshot();
    assert_eq!(snapshot.terminals.len(), 500);
    assert_eq!(snapshot.terminals[0].key, TerminalKey(101));
    for (key, kept) in [(101, 64 * 1024 - 2), (600, text.len())] {
        let terminal = TerminalKey(key);
        let is_shown = true;
        world.happens(Event::Terminal(TerminalEvent::Shown { terminal, is_shown }));
        assert_eq!(world.editor.terminals[&terminal].len(), kept);
    }
}
