//! What the pages of the documentation point to is there.

use std::path::{Path, PathBuf};

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !name.starts_with('.') && !["target", "vendor"].contains(&name) {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The headings of a page, as their links name them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut found = Vec::new();
    pages(Path::new(env!("CARGO_MANIFEST_DIR")), &mut found);
    let mut links = 0;
    let packaged = !Path::new(env!("CARGO_MANIFEST_DIR")).join("python").exists();
    for page in &found {
        let text = std::fs::read_to_string(page).unwrap();
        // Programs may have the same brackets in them.
        let prose = text.split("```").step_by(2).collect::<String>();
        for rest in prose.split("](").skip(1) {
            let link = rest.split(')').next().unwrap();
            if link.contains("://") {
                continue;
            }
            links += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            // The packaged crate is without the Python package, which is one of its own.
            if packaged && file.trim_start_matches("../").starts_with("python/") {
                continue;
            }
            assert!(target.exists(), "{}: {link}", page.display());
            let there = || anchors(&std::fs::read_to_string(&target).unwrap()).iter().any(|a| a == anchor);
            assert!(anchor.is_empty() || there(), "{}: {link}", page.display());
        }
    }
    assert!(links > 30, "{links} links on {} pages", found.len());
}

/// Replaces `{a,b}` in a path by each of its parts.
fn alternatives(path: &str) -> Vec<String> {
    let Some((before, (parts, after))) =
        path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return vec![path.to_owned()];
    };
    parts.split(',').flat_map(|part| alternatives(&format!("{before}{}{after}", part.trim()))).collect()
}

#[test]
fn every_path_of_a_source_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    pages(&root.join("docs"), &mut found);
    found.extend(["CONTRIBUTING.md", "tests/README.md", "benches/README.md"].map(|page| root.join(page)));
    let folders = ["crates/", "src/", "tools/", "tests/", "ffi-tests/", "scripts/", "include/", "benches/"];
    let mut paths = 0;
    for page in found.iter().filter(|page| page.exists()) {
        let text = std::fs::read_to_string(page).unwrap();
        let prose = text.split("```").step_by(2).collect::<String>();
        for quoted in prose.split('`').skip(1).step_by(2).filter(|q| folders.iter().any(|f| q.starts_with(f)))
        {
            for path in alternatives(&quoted.replace('\n', " ")) {
                let path = path.split([' ', '*', ':']).next().unwrap();
                let there = ["", ".rs", ".c", ".cxx"].map(|extension| format!("{path}{extension}"));
                // What a developer adds; what the packaged crate leaves out.
                let is_expected =
                    !path.contains("NAME") && root.join(path.split('/').next().unwrap()).exists();
                paths += 1;
                assert!(
                    !is_expected || there.iter().any(|p| root.join(p).exists()),
                    "{}: {path}",
                    page.display()
                );
            }
        }
    }
    assert!(paths > 50, "{paths} paths");
}

/// Prose wraps; tables, code, headings, pictures and what cannot break do not.
#[test]
fn lines_of_prose_have_at_most_100_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.to_owned(), root.join("docs")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let markdown =
        files.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "md"));
    let (mut lines, mut long) = (0, Vec::new());
    for page in markdown {
        let mut in_code = false;
        for (number, line) in std::fs::read_to_string(&page).unwrap().lines().enumerate() {
            in_code ^= line.starts_with("```");
            let wraps =
                !in_code && !["|", "    ", "#", "![", "```"].iter().any(|start| line.starts_with(start));
            lines += usize::from(wraps);
            if wraps && line.chars().count() > 100 && line.trim().contains(' ') {
                long.push(format!("{}:{}", page.display(), number + 1));
            }
        }
    }
    assert!(lines > 300, "{lines} lines");
    assert!(long.is_empty(), "more than 100 columns: {}", long.join(", "));
}
