//! Texts that are cut to a length, always between two characters.

/// Returns the longest beginning of a text that has at most `bytes` bytes.
pub fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Returns a text; of one with more than `most` characters, that many and `…`.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_two_characters() {
        assert_eq!(head("äöü", 3), "ä");
        assert_eq!(head("äöü", 9), "äöü");
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("äöü", 3), "äöü");
    }
}
