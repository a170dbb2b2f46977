//! What the configured keys do in the windows of a chat.

use nvim_oxi::mlua::{self};

use super::keys::{again, bind, feed, map_to, of, pass};
use super::kit::user;
use super::nvim::api;
use super::recall::{self, Way};
use super::state::send;
use super::{chat, complete, input, layout, links};
use acp_core::conversation::options::Setting;
use acp_core::conversation::queue::When;
use acp_core::event::{Event, SessionEvent};
use acp_core::spine::ids::SessionKey;

/// Maps the keys of a transcript.
pub fn of_chat(buf: i32, key: SessionKey) -> mlua::Result<()> {
    let bind = |name, desc, run: fn(SessionKey) -> mlua::Result<()>| {
        bind(buf, &["n"], ("chat", name), desc, move |_| run(key))
    };
    bind("input", "Goes to the input", |key| {
        layout::show(key)?;
        api("nvim_command", "startinsert!")
    })?;
    let open = "Goes where the line leads, or opens or closes the fold";
    bind("open", open, links::open)?;
    bind("file", "Goes to the file", links::file)?;
    bind("raw", "Shows the whole tool call", links::raw)?;
    bind("toggle", "Opens or closes the fold", |_| links::toggle())?;
    common(buf, "chat", &["n"], key)
}

/// Maps the keys of an input window.
pub fn of_input(buf: i32, key: SessionKey) -> mlua::Result<()> {
    let (normal, insert, both): (&[_], &[_], &[_]) = (&["n"], &["i"], &["n", "i"]);
    let send = "Sends the prompt";
    bind(buf, normal, ("input", "send"), send, move |_| {
        input::submit(key, When::Steer)
    })?;
    let desc = "Sends the prompt after the turn";
    bind(buf, both, ("input", "queue"), desc, move |_| {
        input::submit(key, When::InTurn)
    })?;
    bind(buf, insert, ("input", "send_insert"), send, move |lhs| {
        match complete::choosing()? {
            Some(true) => feed("<C-y>"),
            // The menu closes, and the key is typed again.
            Some(false) => {
                again(lhs)?;
                feed("<C-e>")
            }
            None => input::submit(key, When::Steer),
        }
    })?;
    let desc = "Takes the selected completion, or the first";
    bind(
        buf,
        insert,
        ("input", "complete"),
        desc,
        move |lhs| match complete::take(key)? {
            true => Ok(()),
            false => pass(lhs),
        },
    )?;
    let desc = "Sends the prompt at once and cancels what the agent does";
    bind(buf, both, ("input", "interrupt"), desc, move |_| {
        input::submit(key, When::AtOnce)
    })?;
    for lhs in of("input", "newline") {
        map_to(buf, "i", &lhs, "Starts a new line", "<CR>")?;
    }
    let desc = "Goes to the previous prompt";
    bind(buf, both, ("input", "older"), desc, move |lhs| {
        recall::go(key, Way::Older, lhs)
    })?;
    let desc = "Goes to the next prompt, or back to the draft";
    bind(buf, both, ("input", "newer"), desc, move |lhs| {
        recall::go(key, Way::Newer, lhs)
    })?;
    for (name, desc, keys) in [
        ("scroll_up", "Scrolls the transcript up", "\u{15}"),
        ("scroll_down", "Scrolls the transcript down", "\u{4}"),
    ] {
        bind(
            buf,
            both,
            ("input", name),
            desc,
            move |lhs| match user::is_in_menu()? {
                true => feed(lhs),
                false => chat::scroll(key, keys, user::count()?),
            },
        )?;
    }
    let desc = "Detaches the last attachment";
    bind(buf, normal, ("input", "detach"), desc, move |_| {
        input::detach_last(key)
    })?;
    common(buf, "input", both, key)
}

fn common(buf: i32, group: &str, modes: &[&str], key: SessionKey) -> mlua::Result<()> {
    let mode = "Goes to the agent's next mode";
    bind(buf, modes, (group, "mode"), mode, move |_| {
        if user::is_in_menu()? {
            return feed("<C-p>");
        }
        let wish = Setting::NextMode;
        send(Event::Session(SessionEvent::SetOption {
            session: key,
            wish,
        }));
        Ok(())
    })?;
    bind(
        buf,
        modes,
        (group, "cancel"),
        "Cancels the turn",
        move |_| {
            send(Event::Session(SessionEvent::Cancel { session: key }));
            Ok(())
        },
    )?;
    let close = "Closes the chat's windows";
    bind(buf, &["n"], (group, "close"), close, move |_| {
        layout::hide(key)
    })
}
