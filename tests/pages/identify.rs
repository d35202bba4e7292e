//! The entries by which other programs name a file.

use crate::common::skipped::skipped;
use std::process::Command;

/// `file`(1) names every file of the vectors, and nothing else.
#[test]
fn file_knows_scda_files() {
    let root = env!("CARGO_MANIFEST_DIR");
    let of = |path: &std::path::Path| {
        let magic = format!("{root}/packaging/identify/scda.magic");
        let found =
            Command::new("file").args(["-m", &magic, "--brief", "--mime-type"]).arg(path).output().ok()?;
        Some(String::from_utf8(found.stdout).unwrap().trim_end().to_owned())
    };
    let mut files = 0;
    for entry in std::fs::read_dir(format!("{root}/tests/vectors")).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_file() {
            continue;
        }
        let Some(found) = of(&path) else {
            skipped("there is no program `file`");
            return;
        };
        let is_scda = path.extension().is_some_and(|extension| extension == "scda");
        assert_eq!(found == "application/vnd.scda", is_scda, "{}: {found}", path.display());
        files += usize::from(is_scda);
    }
    assert!(files > 10);
}
