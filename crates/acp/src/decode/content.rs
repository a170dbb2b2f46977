//! Content blocks: text, images, audio, resources.
//!
//! Invariant: every block becomes content; the data of images and audio is measured and dropped.

use agent_client_protocol_schema::v1;
use serde_json::value::RawValue;

use super::super::message::Content;
use super::super::raw;

/// The MIME type of data that came without one.
const BINARY: &str = "application/octet-stream";

/// Reads a content block.
pub fn block(raw: &RawValue) -> Content {
    match raw::typed::<v1::ContentBlock>(raw) {
        Some(block) => block.into(),
        None => mended(raw).unwrap_or_else(|| unknown(raw)),
    }
}

impl From<v1::ContentBlock> for Content {
    fn from(block: v1::ContentBlock) -> Self {
        match block {
            v1::ContentBlock::Text(text) => Content::Text(text.text),
            v1::ContentBlock::Image(image) => Content::Image {
                bytes: decoded_size(&image.data),
                mime: image.mime_type,
                uri: image.uri,
            },
            v1::ContentBlock::Audio(audio) => Content::Audio {
                bytes: decoded_size(&audio.data),
                mime: audio.mime_type,
            },
            v1::ContentBlock::ResourceLink(link) => Content::ResourceLink {
                uri: link.uri,
                name: link.name,
            },
            v1::ContentBlock::Resource(embedded) => match embedded.resource {
                v1::EmbeddedResourceResource::TextResourceContents(text) => Content::Resource {
                    uri: text.uri,
                    text: Some(text.text),
                },
                v1::EmbeddedResourceResource::BlobResourceContents(blob) => Content::Resource {
                    uri: blob.uri,
                    text: None,
                },
                // The enums are non-exhaustive; new variants must be handled here.
                _ => Content::Unknown {
                    kind: "resource".to_owned(),
                    raw: serde_json::to_value(&embedded.resource).unwrap_or_default(),
                },
            },
            block => Content::Unknown {
                kind: "unknown".to_owned(),
                raw: serde_json::to_value(&block).unwrap_or_default(),
            },
        }
    }
}

/// Reads a block that does not match the official type.
fn mended(raw: &RawValue) -> Option<Content> {
    if let Some(items) = raw::list(raw) {
        return joined(&items);
    }
    if let Some(text) = raw::text(raw) {
        return Some(Content::Text(text));
    }
    let names = [
        "type", "text", "data", "mimeType", "uri", "name", "resource",
    ];
    let [kind, text, data, mime, uri, name, resource] = raw::fields(raw.get(), names)?;
    let mime = || {
        mime.and_then(raw::text)
            .unwrap_or_else(|| BINARY.to_owned())
    };
    let bytes = || data.and_then(raw::word).map_or(0, |d| decoded_size(&d));
    let uri = || uri.and_then(raw::text);
    match &*kind.and_then(raw::word).unwrap_or_default() {
        "text" if text.is_none() => Some(Content::Text(String::new())),
        "text" | "" => Some(Content::Text(raw::text(text?)?)),
        "image" => Some(Content::Image {
            mime: mime(),
            uri: uri(),
            bytes: bytes(),
        }),
        "audio" => Some(Content::Audio {
            mime: mime(),
            bytes: bytes(),
        }),
        "resource_link" => {
            let uri = uri()?;
            let name = name.and_then(raw::text).unwrap_or_else(|| uri.clone());
            Some(Content::ResourceLink { uri, name })
        }
        "resource" => {
            let [uri, text] = raw::fields(resource?.get(), ["uri", "text"])?;
            Some(Content::Resource {
                uri: uri.and_then(raw::text).unwrap_or_default(),
                text: text.and_then(raw::text),
            })
        }
        _ => None,
    }
}

/// Joins a list of text blocks into one text.
fn joined(items: &[&RawValue]) -> Option<Content> {
    let mut all = String::new();
    for item in items {
        // No nested lists: the agent controls their depth, and recursion would use our stack.
        if item.get().starts_with('[') {
            return None;
        }
        match block(item) {
            Content::Text(text) => all.push_str(&text),
            _ => return None,
        }
    }
    Some(Content::Text(all))
}

fn unknown(raw: &RawValue) -> Content {
    let kind = raw::fields(raw.get(), ["type"]).and_then(|[kind]| raw::text(kind?));
    Content::Unknown {
        kind: kind.unwrap_or_else(|| "unknown".to_owned()),
        raw: raw::value(raw),
    }
}

/// Returns the size of base64 data when decoded.
fn decoded_size(base64: &str) -> usize {
    let digits = base64.trim_end_matches('=').len();
    digits / 4 * 3 + digits % 4 * 3 / 4
}
