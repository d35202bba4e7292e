//! How many lines of an example are about libscda, as the pages say.

use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The lines of code that name libscda: without comments, and without the line that includes its header.
fn lines(example: &str) -> usize {
    let text = read(&format!("examples/c/{example}"));
    let code = text.lines().map(str::trim_start);
    let code = code.filter(|line| !["/*", "*", "//", "#include"].iter().any(|begin| line.starts_with(begin)));
    code.filter(|line| ["scda_", "SCDA_", "scda::"].iter().any(|name| line.contains(name))).count()
}

#[test]
fn the_lines_of_the_users_code_are_as_many_as_the_pages_say() {
    for (page, example) in [
        ("patches", "patches.c"),
        ("particles", "particles.c"),
        ("t8code", "t8code_restart.cxx"),
        ("dealii", "dealii_restart.cc"),
        ("amrex", "amrex_restart.cpp"),
    ] {
        let text = read(&format!("docs/{page}.md")).replace('\n', " ");
        let link = format!("](../examples/c/{example})");
        let (_, rest) = text.split_once(&link).unwrap_or_else(|| panic!("{page}: no {link}"));
        let (before, _) = rest.split_once(" lines of its code name libscda").unwrap();
        let said: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
        assert_eq!(said, lines(example), "docs/{page}.md, examples/c/{example}");
    }
    // The goals: patches and AMReX in 25 lines; save and load of t8code and deal.II in the four that the pages show.
    assert!(lines("patches.c") <= 25 && lines("amrex_restart.cpp") <= 25);
    for (page, calls) in [
        ("t8code", ["scda_t8code_save (", "scda_t8code_load ("]),
        ("dealii", ["scda_dealii_save (", "scda_dealii_load ("]),
    ] {
        let text = read(&format!("docs/{page}.md"));
        let program = text.split("```cpp\n").nth(1).unwrap().split("```").next().unwrap();
        assert!(calls.iter().all(|call| program.matches(call).count() == 1), "docs/{page}.md");
        assert!(program.lines().filter(|line| line.contains("scda_")).count() <= 4, "docs/{page}.md");
    }
}
