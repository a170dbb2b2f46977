//! What a prompt carries along: files, images and other context.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::spine::event::Context;
use crate::spine::ids::ContentId;

/// An attachment of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// Lines of a file, or of a buffer without one, as they were when attached.
    Lines(Context),
    /// A whole file, or a folder.
    File {
        path: PathBuf,
        text: Content<String>,
    },
    /// Text that Neovim provides, such as diagnostics.
    Text { name: String, text: String },
    /// Changes in a folder since the last commit.
    Diff {
        folder: PathBuf,
        text: Content<String>,
    },
    Image {
        /// `None` for an image from the clipboard.
        path: Option<PathBuf>,
        image: Content<Image>,
    },
    /// A resource that the agent fetches itself.
    Link { uri: String },
    /// A content block in the protocol's form.
    Block(Value),
}

/// Content that must be fetched before the prompt is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<T> {
    /// Fetched when the prompt is sent.
    Later,
    /// The fetch is pending.
    Asked(ContentId),
    Here(T),
    /// Could not be fetched, or must not be.
    Nothing,
}

/// An image as it is sent to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub mime: &'static str,
    /// Base64.
    pub data: Arc<str>,
    /// Size before encoding.
    pub bytes: usize,
}
