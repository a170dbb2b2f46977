//! Requests highlights for the code on the screen, and applies them.
//!
//! Invariant: code that was not near the screen is never requested.

use std::ops::Range;

use crate::code::Colours;
use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::ids::SessionKey;
use crate::spine::pending::{Token, reply};
use crate::view::Shown;

impl Model {
    /// Handles a window that shows other rows of a transcript.
    pub(crate) fn chat_seen(&mut self, session: SessionKey, rows: Range<usize>) {
        if self.conversation.session(session).is_some() {
            self.view.chat_seen(session, rows);
        }
    }

    /// Requests the next highlights, if there is code without.
    pub(crate) fn request_colours(&mut self, fx: &mut Effects) {
        let Some(number) = self.view.next_highlight() else {
            return;
        };
        let asked = self.questions.front().and_then(|open| {
            let session = self.conversation.session_mut(open.session)?;
            let (entry, tool) = session.transcript_mut().tool_mut(open.tool.as_ref()?)?;
            Some((open.session, entry, tool.texts.next_code(number)?))
        });
        let found = asked.or_else(|| {
            self.view.chats().find_map(|(key, chat)| {
                let session = self.conversation.session_mut(key)?;
                let (entry, code) = chat.next_code(session.transcript_mut(), number)?;
                Some((key, entry, code))
            })
        });
        let Some((session, entry, code)) = found else {
            return self.view.all_highlighted();
        };
        let token = self.view.highlight(Shown {
            session,
            entry,
            number,
        });
        fx.push(HostEffect::Highlight { token, code });
    }

    /// Applies highlights: they are on the screen with the next frame.
    pub(crate) fn highlighted(
        &mut self,
        token: Token<reply::Highlighted>,
        colours: Option<Colours>,
    ) {
        let Some(shown) = self.view.take_highlighted(token) else {
            return;
        };
        if let Some(session) = self.conversation.session_mut(shown.session) {
            let (entry, number) = (shown.entry, shown.number);
            session.transcript_mut().set_colours(entry, number, colours);
            let front = self.questions.front();
            let is_asked = front.is_some_and(|open| {
                let tool = open.tool.as_ref();
                open.session == shown.session
                    && tool.is_some_and(|tool| session.transcript().is_tool(entry, tool))
            });
            if is_asked {
                self.view.question_has_colours();
            }
        }
    }
}
