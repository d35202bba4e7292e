//! What the sources must not have.

use std::path::{Path, PathBuf};

/// The Rust files below a folder of the repository.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// The library that is tested is the one that ships: `debug_assert!` checks, but nothing is another value, or another way, with assertions.
#[test]
fn no_source_depends_on_assertions() {
    let word = concat!("debug_", "assertions");
    let all: Vec<PathBuf> =
        ["src", "crates", "command", "tools", "python/rust"].into_iter().flat_map(sources).collect();
    assert!(all.len() > 200);
    let found: Vec<&PathBuf> =
        all.iter().filter(|path| std::fs::read_to_string(path).unwrap().contains(word)).collect();
    assert!(found.is_empty(), "{found:?}: found {word}, expected values that tests pass, as in scda::Limits");
}
