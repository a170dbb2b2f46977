//! Files that the watcher must report even if `.gitignore` excludes them.

use serde_json::json;

use super::world::{S1, World};
use crate::event::{Event, SessionEvent};

fn opens(w: &mut World, path: &str) {
    w.disk.put(path, "a\n");
    w.opens_file(path);
    w.goes_on();
}

/// Returns the files newly registered with the host's watcher.
fn told(w: &mut World) -> Vec<String> {
    let told = std::mem::take(&mut w.tracked).into_iter();
    told.map(|path| path.display().to_string()).collect()
}

#[test]
fn open_files_are_watched_whenever_opened() {
    let mut w = World::new();
    opens(&mut w, "/p/before");
    opens(&mut w, "/elsewhere");
    w.opens(1, "bot");
    assert_eq!(told(&mut w), ["/p/before"]);
    opens(&mut w, "/p/after");
    assert_eq!(told(&mut w), ["/p/after"]);
    w.opens(2, "bot");
    assert_eq!(told(&mut w), [""; 0]);
}

#[test]
fn files_named_by_an_agent_are_registered_once() {
    let mut w = World::ready();
    let names = |w: &mut World, at: &str, diff: &str| {
        w.updates(json!({
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "t",
            "locations": [{ "path": at }],
            "content": [{ "type": "diff", "path": diff, "newText": "" }],
        }));
    };
    names(&mut w, "/p/a", "/p/b");
    assert_eq!(told(&mut w), ["/p/a", "/p/b"]);
    names(&mut w, "/p/a", "/q/b");
    assert_eq!(told(&mut w), [""; 0]);
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    w.goes_on();
    w.opens(2, "bot");
    assert_eq!(told(&mut w), [""; 0]);
}
