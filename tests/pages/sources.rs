//! What the sources must not have.

use scda_base::environment::NAMES;
use std::path::{Path, PathBuf};

/// The Rust files below a folder of the repository, without those of tests.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend(Some(path).filter(|path| !path.ends_with("tests")));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// Tests run the code that ships: apart from `debug_assert!`, nothing depends on debug assertions.
#[test]
fn no_source_depends_on_assertions() {
    let word = concat!("debug_", "assertions");
    let all: Vec<PathBuf> = ["src", "crates", "tools", "python/rust"].into_iter().flat_map(sources).collect();
    assert!(all.len() > 200);
    let found: Vec<&PathBuf> =
        all.iter().filter(|path| std::fs::read_to_string(path).unwrap().contains(word)).collect();
    assert!(found.is_empty(), "{found:?}: found {word}, expected values that tests pass, as in scda::Limits");
}

/// One module reads the environment, so that no variable is unknown to the table in the documentation.
#[test]
fn one_module_reads_the_environment() {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/base/src/environment.rs");
    // Variables that unit tests read.
    let of_tests = ["SCDA_EACH", "SCDA_FRAMES", "SCDA_NUMBER", "SCDA_RANKS"];
    let reads = |line: &str| line.contains("env::var") && !of_tests.iter().any(|name| line.contains(name));
    for path in ["src", "crates"].into_iter().flat_map(sources).filter(|path| *path != module) {
        let text = std::fs::read_to_string(&path).unwrap();
        let found: Vec<&str> = text.lines().filter(|line| reads(line)).collect();
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/administrators.md");
    let page = std::fs::read_to_string(page).unwrap();
    for name in NAMES {
        assert!(page.contains(&format!("\n| `{name}` | ")), "{name} is not in the table of the page");
    }
}
