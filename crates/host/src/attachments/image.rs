//! Images for prompts: type detection, size limit, encoding.

use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{PATIENCE, tool};
use crate::held::open_file;
use crate::{Environment, command};
use acp_core::spine::attachment::Image;

/// Models accept no larger images.
const MAX_BYTES: usize = 5 << 20;

/// Programs that print the image in the clipboard: the variable that must be set for each, its
/// name, its arguments.
const CLIPBOARD: [(&str, &str, &[&str]); 3] = [
    (
        "WAYLAND_DISPLAY",
        "wl-paste",
        &["--no-newline", "--type", "image/png"],
    ),
    (
        "DISPLAY",
        "xclip",
        &["-selection", "clipboard", "-t", "image/png", "-o"],
    ),
    ("", "pngpaste", &["-"]),
];

/// Reads the image in a file.
///
/// # Errors
/// The file cannot be read, is not an image, or is too large; a sentence.
pub(super) fn in_file(path: &Path) -> Result<Image, String> {
    let shown = path.display();
    let failed = |why: std::io::Error| format!("{shown} cannot be read: {why}.");
    // A device or a pipe may never end, or block.
    let (file, _) = open_file(path).map_err(|refusal| refusal.words(path, "read"))?;
    let mut bytes = Vec::new();
    let cap = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX);
    file.take(cap + 1).read_to_end(&mut bytes).map_err(failed)?;
    image(&bytes, &shown.to_string())
}

/// Reads the image in the clipboard.
///
/// # Errors
/// There is no image, or no program to read it; a sentence.
pub(super) fn in_clipboard(environment: &Environment) -> Result<Image, String> {
    let is_set = |name: &str| name.is_empty() || environment.value(name).is_some();
    let kit = CLIPBOARD.iter().filter(|(display, ..)| is_set(display));
    let mut is_found = false;
    for (_, name, args) in kit {
        let Some(mut program) = command::tool(name, Path::new("/"), environment) else {
            continue;
        };
        is_found = true;
        program.args(*args);
        let output = tool::run(program, MAX_BYTES + 1, PATIENCE);
        let output = output.map_err(|why| format!("`{name}` failed: {why}."))?;
        if output.is_success && !output.bytes.is_empty() {
            return image(&output.bytes, "The image in the clipboard");
        }
    }
    Err(match is_found {
        true => "There is no image in the clipboard.".into(),
        false => "The clipboard's image cannot be read: install wl-paste (Wayland), \
                  xclip (X11) or pngpaste (macOS)."
            .into(),
    })
}

fn image(bytes: &[u8], whose: &str) -> Result<Image, String> {
    if bytes.len() > MAX_BYTES {
        let max = MAX_BYTES >> 20;
        return Err(format!(
            "{whose} is larger than {max} MiB: make it smaller to attach it."
        ));
    }
    let mime = mime(bytes).ok_or_else(|| {
        format!("{whose} is not an image that agents accept: use PNG, JPEG, GIF or WebP.")
    })?;
    Ok(Image {
        mime,
        data: STANDARD.encode(bytes).into(),
        bytes: bytes.len(),
    })
}

/// Returns an image's type by its first bytes, because the file name may be wrong.
fn mime(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::write_program;

    #[track_caller]
    fn check(bytes: &[u8], want: Result<(&str, &str), &str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shot");
        std::fs::write(&path, bytes).unwrap();
        let read = in_file(&path);
        let place = format!("{} ", path.display());
        let read = read.map_err(|why| why.replace(&place, ""));
        let read = read.as_ref().map(|image| (image.mime, &*image.data));
        assert_eq!(read.map_err(String::as_str), want);
    }

    #[test]
    fn an_images_type_is_detected_from_its_bytes() {
        check(b"\x89PNG\r\n", Ok(("image/png", "iVBORw0K")));
        check(b"\xff\xd8\xff\xe0", Ok(("image/jpeg", "/9j/4A==")));
        check(b"GIF89a", Ok(("image/gif", "R0lGODlh")));
        let none = "is not an image that agents accept: use PNG, JPEG, GIF or WebP.";
        check(b"<svg/>", Err(none));
        check(b"", Err(none));
    }

    #[test]
    fn a_pipe_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shot.png");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        assert!(in_file(&path).unwrap_err().contains("not a regular file"));
    }

    #[test]
    fn an_image_larger_than_models_accept_is_refused() {
        let mut large = b"\x89PNG".to_vec();
        large.resize(MAX_BYTES + 1, 0);
        check(
            &large,
            Err("is larger than 5 MiB: make it smaller to attach it."),
        );
    }

    /// Checks the result with a clipboard program that runs this script.
    #[track_caller]
    fn check_clipboard(script: Option<&str>, want: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        if let Some(script) = script {
            let program = folder.path().join("wl-paste");
            write_program(&program, &format!("#!/bin/sh\n{script}\n"));
        }
        let path = folder.path().as_os_str().to_owned();
        let environment = Environment::from_variables([
            ("PATH".into(), path),
            ("WAYLAND_DISPLAY".into(), "wayland-0".into()),
        ]);
        let read = in_clipboard(&environment);
        let read = read.as_ref().map(|image| &*image.data);
        assert_eq!(read.map_err(String::as_str), want);
    }

    #[test]
    fn the_clipboard_is_read_with_an_installed_program() {
        check_clipboard(Some(r"printf '\211PNG'"), Ok("iVBORw=="));
        let none = Err("There is no image in the clipboard.");
        check_clipboard(Some("exit 1"), none);
        let missing = "The clipboard's image cannot be read: install wl-paste (Wayland), \
                       xclip (X11) or pngpaste (macOS).";
        check_clipboard(None, Err(missing));
    }
}
