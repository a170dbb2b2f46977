//! All that is outside the editor, on tokio.
