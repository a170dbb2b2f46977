//! Attachments of a prompt, and the content blocks a prompt is sent as.
//!
//! Invariant: a file's text is read when the prompt is sent, so that the agent gets the current
//! text; every other attachment is a snapshot from when it was attached.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::spine::attachment::{Attachment, Content, Image};
use crate::spine::event::{Context, Prompt};
use crate::spine::ids::ContentId;
use crate::spine::oneline::OneLine;
use crate::text::Text;
use crate::text::format::Format;
use acp::client::{self, Initialized, PromptBlock};

/// A file with more text than this is sent as a link: it would fill the agent's context.
const MAX_TEXT: usize = 1 << 20;

/// The fetch that an attachment still needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetch {
    File(PathBuf),
    Diff(PathBuf),
    Image(PathBuf),
}

impl<T> Content<T> {
    fn here(&self) -> Option<&T> {
        match self {
            Content::Here(content) => Some(content),
            _ => None,
        }
    }

    fn asked(&self) -> Option<ContentId> {
        match self {
            Content::Asked(id) => Some(*id),
            _ => None,
        }
    }
}

impl Attachment {
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Attachment::File {
            path: path.into(),
            text: Content::Later,
        }
    }

    /// Returns whether both stand for the same; an image is the one in its file, fetched or not.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let file = |item: &Self| match item {
            Attachment::Image { path, .. } => path.clone(),
            _ => None,
        };
        self == other || file(self).is_some_and(|path| file(other) == Some(path))
    }

    /// Returns the attachment's name on one line; paths below the folder `cwd` are relative to it.
    pub fn label(&self, cwd: &Path) -> OneLine {
        let label = match self {
            Attachment::Lines(lines) => place(lines, cwd),
            Attachment::File { path, .. } => shown(path, cwd),
            Attachment::Text { name, .. } => name.clone(),
            Attachment::Diff { .. } => "diff".to_owned(),
            Attachment::Image { path, image } => {
                let name = path.as_ref().map(|path| shown(path, cwd));
                let name = name.unwrap_or_else(|| "image".to_owned());
                match image {
                    Content::Here(image) => format!("{name} ({})", size(image.bytes)),
                    Content::Asked(_) => format!("{name} …"),
                    Content::Later | Content::Nothing => name,
                }
            }
            Attachment::Link { uri } => uri.clone(),
            Attachment::Block(block) => block_label(block).to_owned(),
        };
        OneLine::new(label)
    }

    /// Returns the id of the pending fetch.
    pub fn asked(&self) -> Option<ContentId> {
        match self {
            Attachment::File { text, .. } | Attachment::Diff { text, .. } => text.asked(),
            Attachment::Image { image, .. } => image.asked(),
            Attachment::Lines(_)
            | Attachment::Text { .. }
            | Attachment::Link { .. }
            | Attachment::Block(_) => None,
        }
    }

    /// Returns the fetch that is needed before the attachment can be sent to an agent.
    pub fn wants(&self, agent: Takes) -> Option<Fetch> {
        match self {
            Attachment::File { path, text } if *text == Content::Later && agent.embedded => {
                Some(Fetch::File(path.clone()))
            }
            Attachment::Diff { folder, text } if *text == Content::Later => {
                Some(Fetch::Diff(folder.clone()))
            }
            Attachment::Image {
                path: Some(path),
                image: Content::Later,
            } if agent.images => Some(Fetch::Image(path.clone())),
            _ => None,
        }
    }

    /// Marks the fetch as pending.
    pub fn ask(&mut self, id: ContentId) {
        match self {
            Attachment::File { text, .. } | Attachment::Diff { text, .. } => {
                *text = Content::Asked(id);
            }
            Attachment::Image { image, .. } => *image = Content::Asked(id),
            Attachment::Lines(_)
            | Attachment::Text { .. }
            | Attachment::Link { .. }
            | Attachment::Block(_) => {}
        }
    }

    /// Stores the fetched text; a file without text, or with too much, is sent as a link.
    pub fn set_text(&mut self, fetched: Option<String>) {
        if let Attachment::File { text, .. } | Attachment::Diff { text, .. } = self {
            let fetched = fetched.filter(|text| text.len() <= MAX_TEXT);
            *text = fetched.map_or(Content::Nothing, Content::Here);
        }
    }

    pub fn set_image(&mut self, fetched: Image) {
        if let Attachment::Image { image, .. } = self {
            *image = Content::Here(fetched);
        }
    }

    /// Gives up the pending fetch.
    pub fn give_up(&mut self) {
        match self {
            Attachment::Image { image, .. } => *image = Content::Nothing,
            _ => self.set_text(None),
        }
    }

    /// Drops content fetched for a prompt that was not sent, so that it is fetched again.
    pub fn renew(&mut self) {
        if let Attachment::File { text, .. } | Attachment::Diff { text, .. } = self {
            *text = Content::Later;
        }
    }

    /// Returns the content block; `None` if the agent does not accept its kind or the content is
    /// missing.
    fn block(self, agent: Takes) -> Option<PromptBlock> {
        Some(match self {
            Attachment::Lines(lines) => lines_block(lines, agent),
            Attachment::File { path, text } => match text {
                Content::Here(text) if agent.embedded => PromptBlock::Resource {
                    uri: client::file_uri(&path),
                    text,
                    mime: None,
                },
                _ => link(&client::file_uri(&path), &name(&path)),
            },
            Attachment::Text { name, text } => fenced(&name, "", &text),
            Attachment::Diff { text, .. } => match text.here().map(|text| text.trim_end()) {
                Some("") => PromptBlock::Text("There is no change since the last commit.".into()),
                Some(text) => fenced("What has changed since the last commit", "diff", text),
                None => return None,
            },
            Attachment::Image { path, image } => {
                let image = image.here().filter(|_| agent.images)?;
                let mut block =
                    json!({ "type": "image", "mimeType": image.mime, "data": &*image.data });
                if let Some(path) = path {
                    block["uri"] = json!(client::file_uri(&path));
                }
                PromptBlock::Raw(block)
            }
            Attachment::Link { uri } => link(&uri, &uri),
            Attachment::Block(block) => PromptBlock::Raw(block),
        })
    }
}

/// The content kinds an agent accepts in prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Takes {
    pub embedded: bool,
    pub images: bool,
}

impl Takes {
    pub fn of(info: Option<&Initialized>) -> Self {
        Self {
            embedded: info.is_some_and(|info| info.embedded_context),
            images: info.is_some_and(|info| info.image),
        }
    }
}

impl Prompt {
    /// Returns the attachments.
    pub fn along(&self) -> impl Iterator<Item = &Attachment> {
        self.attached.iter().chain(&self.mentioned)
    }

    pub fn along_mut(&mut self) -> impl Iterator<Item = &mut Attachment> {
        self.attached.iter_mut().chain(&mut self.mentioned)
    }

    /// Returns whether the prompt has neither text nor attachments.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attached.is_empty() && self.blocks.is_empty()
    }

    /// Returns the prompt as the transcript shows it, with the attachments its text does not name
    /// below.
    pub fn shown(&self, cwd: &Path) -> String {
        let mut shown = self.text.clone();
        for block in &self.blocks {
            shown.push_str(block_label(block));
            shown.push('\n');
        }
        for item in &self.attached {
            shown.push_str(&format!("\n{}", item.label(cwd)));
        }
        shown.trim_end().to_owned()
    }

    /// Returns its blocks. The user's words come first: agents look there for a command and for a
    /// title.
    pub fn into_blocks(self, agent: Takes) -> Vec<PromptBlock> {
        let text = (!self.text.is_empty()).then_some(PromptBlock::Text(self.text));
        let raw = self.blocks.into_iter().map(PromptBlock::Raw);
        let along = self.attached.into_iter().chain(self.mentioned);
        let along = along.filter_map(|item| item.block(agent));
        text.into_iter().chain(raw).chain(along).collect()
    }
}

/// Returns the label of a block: its text, its URI or its type.
fn block_label(block: &Value) -> &str {
    let text = block["text"].as_str().or(block["uri"].as_str());
    text.or(block["type"].as_str()).unwrap_or("?")
}

fn lines_block(lines: Context, agent: Takes) -> PromptBlock {
    if agent.embedded && lines.path.is_absolute() {
        let uri = client::file_uri(&lines.path);
        return PromptBlock::Resource {
            uri: format!("{uri}#L{}:{}", lines.rows.start + 1, lines.rows.end),
            text: lines.text,
            mime: None,
        };
    }
    fenced(&place(&lines, Path::new("")), "", &lines.text)
}

fn link(uri: &str, name: &str) -> PromptBlock {
    PromptBlock::Raw(json!({ "type": "resource_link", "uri": uri, "name": name }))
}

/// Returns a text in a fence that no line of the text closes.
fn fenced(title: &str, language: &str, text: &str) -> PromptBlock {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    PromptBlock::Text(format!("{title}:\n{fence}{language}\n{text}\n{fence}"))
}

fn place(lines: &Context, cwd: &Path) -> String {
    let (first, last) = (lines.rows.start + 1, lines.rows.end);
    let name = match lines.path.as_os_str().is_empty() {
        true => "a buffer".to_owned(),
        false => shown(&lines.path, cwd),
    };
    format!("{name}:{first}-{last}")
}

fn shown(path: &Path, cwd: &Path) -> String {
    let inside = path.strip_prefix(cwd).ok();
    let inside = inside.filter(|inside| !inside.as_os_str().is_empty());
    inside.unwrap_or(path).display().to_string()
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// Returns a file's whole text as an agent reads it.
pub fn whole(text: &Text, format: Format) -> String {
    format.to_wire(text, 0..text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Takes = Takes {
        embedded: true,
        images: true,
    };
    const NONE: Takes = Takes {
        embedded: false,
        images: false,
    };

    #[track_caller]
    fn check(item: Attachment, agent: Takes, want: Option<PromptBlock>) {
        assert_eq!(item.block(agent), want);
    }

    #[test]
    fn a_file_is_embedded_where_that_can_be_and_else_linked() {
        let path = PathBuf::from("/p/a b.rs");
        let here = Attachment::File {
            path: path.clone(),
            text: Content::Here("x\n".into()),
        };
        let embedded = PromptBlock::Resource {
            uri: "file:///p/a%20b.rs".into(),
            text: "x\n".into(),
            mime: None,
        };
        let link = link("file:///p/a%20b.rs", "a b.rs");
        check(here.clone(), ALL, Some(embedded));
        check(here, NONE, Some(link.clone()));
        let mut large = Attachment::file(&path);
        large.set_text(Some("x".repeat(MAX_TEXT + 1)));
        check(large, ALL, Some(link));
    }

    #[test]
    fn an_image_goes_to_agents_that_take_images_alone() {
        let image = Attachment::Image {
            path: None,
            image: Content::Here(Image {
                mime: "image/png",
                data: "YWJj".into(),
                bytes: 3,
            }),
        };
        let block = json!({ "type": "image", "mimeType": "image/png", "data": "YWJj" });
        check(image.clone(), ALL, Some(PromptBlock::Raw(block)));
        check(image, NONE, None);
    }

    #[test]
    fn no_text_ends_its_fence() {
        let text = Attachment::Text {
            name: "notes".into(),
            text: "```\nx\n```".into(),
        };
        let want = "notes:\n````\n```\nx\n```\n````";
        check(text, ALL, Some(PromptBlock::Text(want.into())));
    }

    #[test]
    fn labels_are_short() {
        let label = |item: Attachment, want: &str| assert_eq!(item.label("/p".as_ref()), want);
        label(Attachment::file("/p/src/a.rs"), "src/a.rs");
        label(Attachment::file("/q/a.rs"), "/q/a.rs");
        label(Attachment::file("/p"), "/p");
        let image = |bytes| Attachment::Image {
            path: Some("/p/s.png".into()),
            image: Content::Here(Image {
                mime: "image/png",
                data: "".into(),
                bytes,
            }),
        };
        label(image(34_000), "s.png (34 KiB)");
        label(image(2_500_000), "s.png (2.4 MiB)");
    }
}
