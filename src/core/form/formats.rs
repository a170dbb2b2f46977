//! The formats of texts: addresses, pages, days and moments.
//!
//! Invariant: what is let through is of the format; of addresses, what can be known of one
//! without writing to it.

/// What a text is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Email,
    Uri,
    Date,
    DateTime,
}

impl Format {
    /// Returns the format with this name in a JSON schema.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "email" => Format::Email,
            "uri" => Format::Uri,
            "date" => Format::Date,
            "date-time" => Format::DateTime,
            _ => return None,
        })
    }

    /// Returns what the user is told of a text that is not of the format.
    pub fn advice(self) -> &'static str {
        match self {
            Format::Email => "this is not an address: name@example.org",
            Format::Uri => "this is not a URI: https://example.org/",
            Format::Date => "this is not a date: 2026-01-31",
            Format::DateTime => "this is not a date with its time: 2026-01-31T12:00:00Z",
        }
    }

    /// Tells whether a text is of the format.
    pub fn fits(self, text: &str) -> bool {
        match self {
            Format::Email => is_email(text),
            Format::Uri => is_uri(text),
            Format::Date => is_date(text),
            Format::DateTime => is_date_time(text),
        }
    }
}

/// A local part, and a host of labels; of quoted local parts none.
fn is_email(text: &str) -> bool {
    let Some((local, host)) = text.rsplit_once('@') else {
        return false;
    };
    let is_atom = |atom: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(c);
        !atom.is_empty() && atom.chars().all(is_allowed)
    };
    let is_label = |label: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty()
            && label.chars().all(is_allowed)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    local.split('.').all(is_atom) && host.split('.').all(is_label)
}

/// A scheme and something behind it, all of characters that may stand in a URI (RFC 3986).
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let mut escapes = rest.split('%').skip(1);
    let is_escape = |escape: &str| {
        let digits = escape.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    is_scheme && !rest.is_empty() && rest.chars().all(is_allowed) && escapes.all(is_escape)
}

/// `2026-01-31`, a day there is.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `2026-01-31T12:00:00.5+01:00` (RFC 3339).
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let (time, is_offset) = match time.strip_suffix(['Z', 'z']) {
        Some(time) => (time, true),
        None => {
            let Some((at, _)) = time.char_indices().rev().find(|(_, c)| "+-".contains(*c)) else {
                return false;
            };
            let (time, offset) = time.split_at(at);
            (time, is_clock(offset.get(1..).unwrap_or_default(), 23))
        }
    };
    let (clock, fraction) = match time.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (time, None),
    };
    let is_fraction =
        |text: &str| !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit());
    let Some((minutes, seconds)) = clock.rsplit_once(':') else {
        return false;
    };
    // 60 is a leap second.
    let is_second = digits(seconds, 2).is_some_and(|second| second <= 60);
    is_date(date)
        && is_clock(minutes, 23)
        && is_second
        && is_offset
        && fraction.is_none_or(is_fraction)
}

/// `12:00`
fn is_clock(text: &str, last_hour: u32) -> bool {
    let Some((hour, minute)) = text.split_once(':') else {
        return false;
    };
    digits(hour, 2).is_some_and(|hour| hour <= last_hour)
        && digits(minute, 2).is_some_and(|minute| minute <= 59)
}

/// Reads exactly so many digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: Format, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(format.fits(text), "{format:?}: {text}");
        }
        for text in bad {
            assert!(!format.fits(text), "{format:?}: {text}");
        }
    }

    #[test]
    fn addresses() {
        check(
            Format::Email,
            &["a@b", "a.b+c@example.org"],
            &[
                "",
                "a",
                "@b",
                "a@",
                "a@b..c",
                "a b@c",
                "a@-b",
                "a@b\n",
                ".a@b",
                "jürgen@köln.example",
            ],
        );
    }

    #[test]
    fn uris() {
        check(
            Format::Uri,
            &[
                "https://x.org/a?b=c#d",
                "mailto:a@b",
                "urn:x:y",
                "file:///a%20b",
            ],
            &[
                "",
                "x",
                "/a",
                ":a",
                "1a:b",
                "https://x y",
                "a:",
                "a:%2",
                "a:ü",
                "a:b\n",
            ],
        );
    }

    #[test]
    fn days() {
        check(
            Format::Date,
            &["2026-01-31", "2024-02-29", "2000-02-29"],
            &[
                "2026-02-29",
                "1900-02-29",
                "2026-13-01",
                "2026-1-1",
                "2026-04-31",
                "2026-01-00",
                "26-01-01",
                "2026-01-31 ",
            ],
        );
    }

    #[test]
    fn moments() {
        check(
            Format::DateTime,
            &[
                "2026-01-31T12:00:00Z",
                "2026-01-31t23:59:60.123+01:30",
                "2026-01-31T00:00:00-00:00",
            ],
            &[
                "2026-01-31",
                "2026-01-31T12:00Z",
                "2026-01-31T12:00:00",
                "2026-01-31T24:00:00Z",
                "2026-01-31T12:00:00+1:00",
                "2026-01-31T12:00:00.Z",
            ],
        );
    }
}
