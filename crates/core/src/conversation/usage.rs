//! A session's use of its context window, and its cost.

use crate::spine::view::Group;

/// Usage as an agent reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Tokens in the context.
    pub used: u64,
    /// The size of the context window in tokens; 0 if the agent does not report it.
    pub size: u64,
    /// As text: `0.12 USD`.
    pub cost: Option<String>,
}

/// The percentages from which the context window counts as nearly full, and as full.
const HIGH: u64 = 80;
const FULL: u64 = 95;

impl Usage {
    /// Returns the used percentage of the context window.
    pub fn percent(&self) -> Option<u64> {
        let used = u128::from(self.used) * 100;
        let percent = used.checked_div(u128::from(self.size))?;
        Some(u64::try_from(percent).unwrap_or(u64::MAX))
    }

    /// Returns the gauge: `12k/200k 6%`.
    pub fn gauge(&self) -> String {
        match self.percent() {
            Some(percent) => format!("{}/{} {percent}%", short(self.used), short(self.size)),
            None => format!("{} tokens", short(self.used)),
        }
    }

    /// Returns the highlight group of the gauge.
    pub fn group(&self) -> Group {
        match self.percent() {
            Some(FULL..) => "AcpUsageFull",
            Some(HIGH..) => "AcpUsageHigh",
            _ => "AcpUsage",
        }
    }

    /// Returns the usage part of a window bar: the gauge, and the cost if there is one.
    pub(crate) fn title(&self) -> Vec<(String, Group)> {
        let is_free = |cost: &str| !cost.contains(|c: char| matches!(c, '1'..='9'));
        let cost = self.cost.as_deref().filter(|cost| !is_free(cost));
        let mut title = Vec::new();
        if self.used > 0 {
            title.push((self.gauge(), self.group()));
        }
        title.extend(cost.map(|cost| (cost.to_owned(), "AcpDim")));
        title
    }
}

/// Returns a count in short form: `950`, `1.5k`, `12k`, `1.2M`.
fn short(count: u64) -> String {
    let (unit, letter) = match count {
        0..1_000 => return count.to_string(),
        1_000..1_000_000 => (1_000, 'k'),
        _ => (1_000_000, 'M'),
    };
    let (whole, tenth) = (count / unit, count % unit * 10 / unit);
    match (whole, tenth) {
        (10.., _) | (_, 0) => format!("{whole}{letter}"),
        _ => format!("{whole}.{tenth}{letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(used: u64, size: u64, cost: Option<&str>, want: &[(&str, &str)]) {
        let cost = cost.map(str::to_owned);
        let title = Usage { used, size, cost }.title();
        let title: Vec<_> = title
            .iter()
            .map(|(text, group)| (&**text, *group))
            .collect();
        assert_eq!(title, want);
    }

    #[test]
    fn a_gauge_says_how_full_the_context_is() {
        check(12_345, 200_000, None, &[("12k/200k 6%", "AcpUsage")]);
        check(950, 1_000_000, None, &[("950/1M 0%", "AcpUsage")]);
        check(158_000, 200_000, None, &[("158k/200k 79%", "AcpUsage")]);
        check(160_000, 200_000, None, &[("160k/200k 80%", "AcpUsageHigh")]);
        check(1_520, 1_600, None, &[("1.5k/1.6k 95%", "AcpUsageFull")]);
        check(300, 200, None, &[("300/200 150%", "AcpUsageFull")]);
        check(1_999, 0, None, &[("1.9k tokens", "AcpUsage")]);
        check(
            u64::MAX,
            1,
            None,
            &[("18446744073709M/1 18446744073709551615%", "AcpUsageFull")],
        );
    }

    #[test]
    fn a_cost_of_nothing_is_not_worth_a_word() {
        let gauge = ("100/200 50%", "AcpUsage");
        check(100, 200, Some("0.12 USD"), &[gauge, ("0.12 USD", "AcpDim")]);
        check(100, 200, Some("0.00 USD"), &[gauge]);
        check(0, 200, Some("0.00 USD"), &[]);
    }
}
