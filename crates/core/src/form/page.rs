//! Web pages that an agent asks the user to open, with the facts to read first.
//!
//! Invariant: the displayed address is exactly the one opened, and the host is the one the browser
//! connects to; an address no browser opens is never opened.

use std::fmt::Write;

/// A page, identified by its address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The whole address, in printable ASCII.
    pub url: String,
    /// The host it leads to; empty if the address has none.
    pub host: String,
    /// Whether a browser can open it.
    pub is_web: bool,
    /// Warnings to show with it.
    pub warnings: Vec<&'static str>,
}

impl Page {
    /// Parses an address; ambiguous and invisible characters are percent-encoded.
    pub fn new(url: &str) -> Self {
        let url = plain(url.trim());
        let mut page = Self {
            url,
            ..Self::default()
        };
        let Some((scheme, rest)) = page.url.split_once(':') else {
            page.warnings.push(NO_PAGE);
            return page;
        };
        let is_secure = scheme.eq_ignore_ascii_case("https");
        let is_web = is_secure || scheme.eq_ignore_ascii_case("http");
        let authority = rest.strip_prefix("//").unwrap_or_default();
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let host = host.to_ascii_lowercase();
        page.is_web = is_web && !name_of(&host).is_empty();
        if !page.is_web {
            page.warnings.push(NO_PAGE);
        } else if !is_secure && !is_local(name_of(&host)) {
            page.warnings
                .push("The connection to it is not encrypted: others can read what is sent.");
        }
        if user.is_some() {
            page.warnings
                .push("The text before the @ is a user name, not the host.");
        }
        if host.contains('%') || host.split('.').any(|label| label.starts_with("xn--")) {
            page.warnings
                .push("The host has letters of other scripts, which can look like those you know.");
        }
        page.host = host;
        page
    }
}

const NO_PAGE: &str = "This is not a web address: it is not opened.";

/// Returns the host without its port.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

fn is_local(name: &str) -> bool {
    name == "localhost" || name == "::1" || name.starts_with("127.")
}

/// Percent-encodes every character that is not plain ASCII, and backslashes, which browsers read as
/// slashes.
fn plain(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    let mut bytes = [0; 4];
    for c in url.chars() {
        if c.is_ascii_graphic() && c != '\\' {
            out.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut bytes).bytes() {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the host, whether it can be opened, and the number of warnings.
    #[track_caller]
    fn check(url: &str, host: &str, is_web: bool, warnings: usize) {
        let page = Page::new(url);
        assert_eq!((page.host.as_str(), page.is_web), (host, is_web), "{url}");
        assert_eq!(page.warnings.len(), warnings, "{url}: {page:?}");
    }

    #[test]
    fn the_host_is_where_it_leads() {
        check("https://example.org", "example.org", true, 0);
        check(
            "HTTPS://Example.org:8443/a?b@c#d",
            "example.org:8443",
            true,
            0,
        );
        check("https://good.org@evil.example/", "evil.example", true, 1);
        check("https://good.org\\@evil.example/", "evil.example", true, 1);
        check("https://evil.example/?@good.org", "evil.example", true, 0);
        check("https://evil.example#@good.org", "evil.example", true, 0);
        check("http://localhost:3000/cb", "localhost:3000", true, 0);
        check("http://127.0.0.1/", "127.0.0.1", true, 0);
        check("http://[::1]:80/", "[::1]:80", true, 0);
        check("http://example.org/", "example.org", true, 1);
    }

    #[test]
    fn letters_that_look_like_others_are_seen() {
        check("https://exаmple.org/", "ex%d0%b0mple.org", true, 1);
        check("https://xn--exmple-4uf.org/", "xn--exmple-4uf.org", true, 1);
        assert_eq!(
            Page::new(" https://x.org/a b\u{202e}\n ").url,
            "https://x.org/a%20b%E2%80%AE"
        );
        assert_eq!(
            Page::new("https://x.org/ü\t1").url,
            "https://x.org/%C3%BC%091"
        );
    }

    #[test]
    fn what_no_browser_opens_is_not_opened() {
        for url in [
            "",
            "example.org",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "vscode://x",
            "https:example.org",
            "https:///example.org",
            "https://:80/",
        ] {
            assert!(!Page::new(url).is_web, "{url}");
            assert!(!Page::new(url).warnings.is_empty(), "{url}");
        }
    }
}
