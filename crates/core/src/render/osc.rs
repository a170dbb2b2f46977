//! Desktop messages as the escape codes that terminals show.
//!
//! Invariant: a code has no control character but its own, so a message cannot end it or add another
//! code.

use crate::spine::oneline::OneLine;

/// The name that the desktop shows beside a message.
const TITLE: &str = "Neovim";

/// A terminal's code for a desktop message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Osc {
    /// iTerm2's, which most terminals know.
    Nine,
    /// rxvt-unicode's, for those that give the first one another meaning, or none.
    SevenSevenSeven,
}

/// The programs that `TERM`, or another variable, names for terminals without OSC 9.
const RXVT_LIKE: [&str; 2] = ["rxvt", "foot"];

impl Osc {
    /// Returns the code for the terminal that these variables describe.
    pub fn of(var: impl Fn(&str) -> Option<String>) -> Self {
        let is_set = |name| var(name).is_some_and(|value| !value.is_empty());
        let is_named = |name| {
            let value = var(name).unwrap_or_default();
            RXVT_LIKE.iter().any(|known| value.starts_with(known))
        };
        let is_rxvt_like = is_named("TERM")
            || is_named("COLORTERM")
            || is_set("VTE_VERSION")
            || is_set("KONSOLE_VERSION");
        match is_rxvt_like {
            true => Self::SevenSevenSeven,
            false => Self::Nine,
        }
    }

    /// Returns the code that shows a message.
    pub fn message(self, text: &str) -> String {
        let text = OneLine::from_words(text);
        match self {
            // A text that began with a digit and a semicolon would be another request.
            Self::Nine => format!("\x1b]9;{TITLE}: {text}\x1b\\"),
            Self::SevenSevenSeven => format!("\x1b]777;notify;{TITLE};{text}\x1b\\"),
        }
    }
}

/// Returns a code that tmux passes on to its own terminal.
pub fn through_tmux(code: &str) -> String {
    format!("\x1bPtmux;{}\x1b\\", code.replace('\x1b', "\x1b\x1b"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(vars: &[(&str, &str)]) -> Osc {
        Osc::of(|name| {
            let known = vars.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_code_is_one_that_the_terminal_knows() {
        assert_eq!(of(&[]), Osc::Nine);
        assert_eq!(of(&[("TERM", "xterm-kitty")]), Osc::Nine);
        assert_eq!(of(&[("VTE_VERSION", "")]), Osc::Nine);
        assert_eq!(of(&[("VTE_VERSION", "7600")]), Osc::SevenSevenSeven);
        let rxvt = [("TERM", "rxvt-unicode-256color")];
        assert_eq!(of(&rxvt), Osc::SevenSevenSeven);
        let in_tmux = [("TERM", "tmux-256color"), ("COLORTERM", "rxvt")];
        assert_eq!(of(&in_tmux), Osc::SevenSevenSeven);
    }

    #[test]
    fn tmux_gets_each_escape_twice() {
        let code = through_tmux(&Osc::Nine.message("done"));
        assert_eq!(code, "\x1bPtmux;\x1b\x1b]9;Neovim: done\x1b\x1b\\\x1b\\");
    }

    proptest! {
        #[test]
        fn no_message_ends_its_code(text in any::<String>()) {
            for osc in [Osc::Nine, Osc::SevenSevenSeven] {
                let code = osc.message(&text);
                let inner = code.strip_prefix("\x1b]").and_then(|code| code.strip_suffix("\x1b\\"));
                let inner = inner.expect("it is one code");
                prop_assert!(!inner.contains(char::is_control), "{inner:?}");
            }
        }
    }
}
