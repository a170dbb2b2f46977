//! Times as agents write them.

/// Returns the seconds since 1970 of a time in the form of ISO 8601: `2026-01-02T03:04:05.678Z`,
/// `2026-01-02T03:04:05+01:00`; without a zone it is UTC.
pub fn seconds(text: &str) -> Option<u64> {
    let (date, time) = text.trim().split_once(['T', 't', ' '])?;
    let mut date = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone_at);
    let (clock, _) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let clock = clock_seconds(clock)?;
    let zone = match zone.split_at_checked(1) {
        Some(("+", zone)) => clock_seconds(zone)?,
        Some(("-", zone)) => -clock_seconds(zone)?,
        _ => 0,
    };
    let seconds = days(year, month, day) * 86_400 + clock - zone;
    u64::try_from(seconds).ok()
}

/// Returns the seconds of `03:04:05`, `03:04` or `0304`.
fn clock_seconds(text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let part = |at: usize| match digits.get(at..at + 2) {
        Some(digits) => digits.parse::<i64>().ok(),
        None => Some(0),
    };
    Some(part(0)? * 3600 + part(2)? * 60 + part(4)?)
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar.
///
/// Years begin in March here, so that the leap day is a year's last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_each_form_that_agents_use() {
        let check = |text: &str, want: Option<u64>| assert_eq!(seconds(text), want, "{text}");
        check("1970-01-01T00:00:00Z", Some(0));
        check("2000-02-29T00:00:00.123Z", Some(951_782_400));
        check("2024-03-01T00:59:59+01:00", Some(1_709_251_199));
        check("2024-02-29T18:29:59-05:30", Some(1_709_251_199));
        check("2024-02-29 23:59:59", Some(1_709_251_199));
        check("2024-02-29T23:59", Some(1_709_251_140));
        for odd in [
            "",
            "yesterday",
            "2024-13-01T00:00:00Z",
            "1969-01-01T00:00:00Z",
            "T",
            "-T-",
        ] {
            check(odd, None);
        }
    }
}
