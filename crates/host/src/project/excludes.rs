//! Locates the user's global excludes file, like git's `core.excludesFile`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Environment;

/// Returns its path, even if the file does not exist; `None` without a home folder.
pub(super) fn excludes_file(environment: &Environment) -> Option<PathBuf> {
    let folder = |name: &str| {
        let value = environment.value(name)?;
        (!value.is_empty()).then(|| PathBuf::from(value))
    };
    let home = folder("HOME");
    let config = folder("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let config = config.map(|config| config.join("git"));
    // The one in the home folder wins, because git reads it last.
    let files = [
        home.as_ref().map(|home| home.join(".gitconfig")),
        config.as_ref().map(|config| config.join("config")),
    ];
    let named = files.into_iter().flatten().find_map(|file| {
        let text = fs::read(file).ok()?;
        named_in(&String::from_utf8_lossy(&text), home.as_deref())
    });
    named.or_else(|| Some(config?.join("ignore")))
}

/// Returns the last `excludesFile` of the `[core]` sections of a config.
fn named_in(config: &str, home: Option<&Path>) -> Option<PathBuf> {
    let mut is_core = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.split([']', ' ', '"']).next().unwrap_or_default();
            is_core = name.eq_ignore_ascii_case("core") && !section.contains('"');
        } else if is_core
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    let path = found.filter(|path| !path.is_empty())?;
    match path.strip_prefix("~/") {
        Some(below) => Some(home?.join(below)),
        None => Some(PathBuf::from(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(config: &str, file: Option<&str>) {
        let found = named_in(config, Some(Path::new("/home/u")));
        assert_eq!(found.as_deref(), file.map(Path::new), "{config:?}");
    }

    #[test]
    fn the_last_file_of_a_core_section_wins() {
        check("", None);
        check(
            "[core]\n\texcludesFile = ~/.ignore",
            Some("/home/u/.ignore"),
        );
        check("[Core]\nexcludesfile=\"/a b\"\n", Some("/a b"));
        check("[core]\nexcludesFile = /a\nexcludesFile = /b", Some("/b"));
        check("[other]\nexcludesFile = /a", None);
        check("[core \"x\"]\nexcludesFile = /a", None);
        check("[core]\nexcludesFile =", None);
    }
}
