//! HTML blocks: their start and end conditions.
//!
//! Invariant: only the seven kinds of CommonMark, section 4.6.

/// The end of an HTML block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The end tag of an element with raw text.
    Raw,
    /// This text.
    Text(&'static str),
    /// A blank line.
    Blank,
    /// A blank line; such a block does not interrupt a paragraph.
    Tag,
}

impl End {
    /// Returns whether the block ends with this line, which is not blank.
    pub fn is_in(self, line: &str) -> bool {
        match self {
            End::Raw => {
                let line = line.to_ascii_lowercase();
                RAW.iter().any(|name| line.contains(&format!("</{name}>")))
            }
            End::Text(text) => line.contains(text),
            End::Blank | End::Tag => false,
        }
    }
}

/// Returns the end condition of the HTML block that starts with `line`, if one does.
pub(super) fn start(line: &str) -> Option<End> {
    let tag = line.strip_prefix('<')?;
    if tag.starts_with("!--") {
        return Some(End::Text("-->"));
    }
    if tag.starts_with('?') {
        return Some(End::Text("?>"));
    }
    if tag.starts_with("![CDATA[") {
        return Some(End::Text("]]>"));
    }
    if let Some(name) = tag.strip_prefix('!') {
        return name
            .starts_with(|c: char| c.is_ascii_alphabetic())
            .then_some(End::Text(">"));
    }
    let name = tag.strip_prefix('/').unwrap_or(tag);
    let len = name
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'-')
        .count();
    let (name, rest) = name.split_at(len);
    let ends = rest.is_empty() || rest.starts_with([' ', '\t', '>']);
    let name = name.to_ascii_lowercase();
    if ends && !tag.starts_with('/') && RAW.contains(&name.as_str()) {
        return Some(End::Raw);
    }
    if (ends || rest.starts_with("/>")) && BLOCKS.split(' ').any(|block| block == name) {
        return Some(End::Blank);
    }
    is_whole_tag(&name, rest, tag.starts_with('/')).then_some(End::Tag)
}

/// Returns whether a tag, whose name `rest` follows, is alone on its line.
fn is_whole_tag(name: &str, rest: &str, closing: bool) -> bool {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return false;
    }
    let Some(attributes) = rest.trim_end_matches([' ', '\t']).strip_suffix('>') else {
        return false;
    };
    let attributes = attributes.strip_suffix('/').unwrap_or(attributes);
    if closing {
        return attributes.trim().is_empty();
    }
    // Inside quotes all characters are valid; outside, a `<` or `>` means more than one tag.
    let mut quote = None;
    for c in attributes.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if matches!(c, '<' | '>' | '`') => return false,
            None => {}
        }
    }
    quote.is_none() && (attributes.is_empty() || attributes.starts_with([' ', '\t']))
}

const RAW: [&str; 4] = ["pre", "script", "style", "textarea"];

const BLOCKS: &str = "address article aside base basefont blockquote body caption center col colgroup dd \
    details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 \
    h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem nav noframes ol \
    optgroup option p param search section summary table tbody td tfoot th thead title tr \
    track ul";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_kinds_start_a_block() {
        let check = |line: &str, want: Option<End>| assert_eq!(start(line), want, "{line}");
        check("<pre>", Some(End::Raw));
        check("<!-- a", Some(End::Text("-->")));
        check("<?php", Some(End::Text("?>")));
        check("<!DOCTYPE html>", Some(End::Text(">")));
        check("<![CDATA[", Some(End::Text("]]>")));
        check("<details open>", Some(End::Blank));
        check("</div>", Some(End::Blank));
        check("<br/>", Some(End::Tag));
        check("<a href=\">\">", Some(End::Tag));
        check("<a>text", None);
        check("<https://a.b>", None);
        check("< a", None);
        check("a", None);
    }

    #[test]
    fn the_end_is_found_in_a_line() {
        assert!(End::Raw.is_in("a</PRE> b"));
        assert!(!End::Raw.is_in("a</p>"));
        assert!(End::Text("-->").is_in("a -->"));
        assert!(!End::Blank.is_in("a"));
    }
}
