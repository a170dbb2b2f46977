//! URIs of resources as links.

use std::path::Path;
use std::sync::Arc;

use crate::spine::view::Link;

/// Returns the link for a URI: a file, with the line it names (`#L12`), or a URL.
pub fn link(uri: &str) -> Link {
    let Some(rest) = uri.strip_prefix("file://") else {
        return match uri.starts_with('/') {
            true => file(uri, None),
            false => Link::Url(uri.into()),
        };
    };
    // The path may follow a host, such as "localhost".
    let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(rest);
    let (path, fragment) = path.split_once('#').unwrap_or((path, ""));
    let digits = fragment.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let line = digits.get(..end.unwrap_or(digits.len()));
    let line: Option<u32> = line.and_then(|line| line.parse().ok());
    file(&decoded(path), line.map(|line| line.saturating_sub(1)))
}

fn file(path: &str, row: Option<u32>) -> Link {
    Link::File {
        path: Arc::from(Path::new(path)),
        row,
    }
}

/// Decodes percent escapes such as `%20`; keeps invalid ones.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        let taken = if byte.is_some() { 2 } else { 0 };
        rest = behind.get(taken..).unwrap_or_default();
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_of_a_file_leads_to_the_file() {
        let check = |uri: &str, path: &str, row: Option<u32>| {
            assert_eq!(link(uri), file(path, row), "{uri}");
        };
        check("file:///p/a.rs", "/p/a.rs", None);
        check("file://localhost/p/a.rs", "/p/a.rs", None);
        check("file:///p/a%20b%C3%A4%zz.rs", "/p/a bä%zz.rs", None);
        check("file:///p/a.rs#L12", "/p/a.rs", Some(11));
        check("file:///p/a.rs#L12:20", "/p/a.rs", Some(11));
        check("file:///p/a.rs#12-20", "/p/a.rs", Some(11));
        check("file:///p/a.rs#top", "/p/a.rs", None);
        check("/p/a.rs", "/p/a.rs", None);
        assert_eq!(link("https://x/a.rs"), Link::Url("https://x/a.rs".into()));
        assert_eq!(link("mem:1"), Link::Url("mem:1".into()));
    }
}
