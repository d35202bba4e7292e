//! The commands that the documentation shows do what it shows.
//!
//! In a block that begins with ```` ```console ````, lines that begin with `$ ` are run by `sh`, with those that follow
//! and begin with `> `; the others are what this prints, on standard output or standard error. In it, a line `...`
//! stands for any lines, and `...` in a line for any text. The blocks of a page are run in order, in a folder that has
//! the files of its examples.

use crate::run::Place;

/// The pages, and whether they must have commands.
const PAGES: [&str; 1] = ["docs/tools.md"];

/// A section of each type.
const STATE: &str = r#"{"user": "a simulation", "sections": [
  {"type": "I", "user": "step", "data_text": "step 42 of 1000, time 0.25      "},
  {"type": "B", "user": "parameters", "data_text": "dt = 0.1\ncells = 2000\n"},
  {"type": "A", "user": "field: density", "N": 2000, "E": 8, "generate": "counter"},
  {"type": "V", "user": "coefficients", "N": 200, "generate_size_min": 800, "generate_size_max": 6400, "encoded": true,
   "generate": "counter"}
]}"#;

/// Datasets.
const RUN: &str = r#"{"user": "a run", "sections": [
  {"type": "G", "user": "/", "attributes": {"title": "a run", "time": 0.25}},
  {"type": "D", "user": "step", "data_type": "int32", "shape": [], "values": [42]},
  {"type": "G", "user": "flow", "attributes": {"scheme": "hydro"}},
  {"type": "D", "user": "flow/density", "data_type": "float64", "shape": [4, 3], "attributes": {"units": "kg m-3"},
   "dimension_names": ["y", "x"], "values": [[1, 2, 3], [1.5, 2.5, 3.5], [1, 2, 3], ["NaN", 0, 0]]},
  {"type": "D", "user": "flow/cells", "data_type": "uint64", "shape": [4000], "chunk": [1000], "generate": "counter"}
]}"#;

/// A block of a page: where it begins, the words after the fence, its lines.
struct Block<'a> {
    line: usize,
    info: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (number, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some(Block { line: number + 1, info, lines: Vec::new() }),
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => block.lines.push(line),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// Whether a line is as the documentation has it.
fn is_like(found: &str, expected: &str) -> bool {
    let mut parts = expected.split("...");
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = found.strip_prefix(first) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn are_like(found: &[&str], expected: &[&str]) -> bool {
    match (found, expected) {
        (_, ["..."]) => true,
        (_, ["...", after @ ..]) => (0..=found.len()).any(|skipped| are_like(&found[skipped..], after)),
        ([line, found @ ..], [like, expected @ ..]) => is_like(line, like) && are_like(found, expected),
        (found, expected) => found.is_empty() && expected.is_empty(),
    }
}

fn run(place: &Place, page: &str, block: &Block<'_>) -> usize {
    let mut commands = 0;
    let mut lines = block.lines.iter().peekable();
    while let Some(line) = lines.next() {
        let command =
            line.strip_prefix("$ ").unwrap_or_else(|| panic!("{page}:{}: found {line}", block.line));
        let mut command = command.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
            command = format!("{command}\n{}", &more[2..]);
        }
        let mut expected = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            expected.push(*line);
        }
        let run = place.shell(&format!("exec 2>&1\n{command}"));
        let found: Vec<_> = run.text().lines().collect();
        assert!(
            are_like(&found, &expected),
            "{page}:{}: {command}\nprints\n{}\nand not\n{}\n",
            block.line,
            found.join("\n"),
            expected.join("\n")
        );
        commands += 1;
    }
    commands
}

#[test]
fn commands_print_what_the_pages_show() {
    for page in PAGES {
        let text = std::fs::read_to_string(format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let place = Place::new();
        place.make("state.scda", STATE);
        place.make("run.scda", RUN);
        let other = RUN.replace("2.5, 3.5", "2.75, 3.5").replace("\"NaN\"", "4").replace("m-3", "cm-3");
        place.make("other.scda", other);
        let mut commands = 0;
        for block in blocks(&text) {
            if block.info == "console" {
                commands += run(&place, page, &block);
            }
        }
        assert!(commands > 0, "{page} shows no command");
    }
}

#[test]
fn lines_and_what_stands_for_them() {
    let like = |found: &str, expected: &str| {
        are_like(&found.lines().collect::<Vec<_>>(), &expected.lines().collect::<Vec<_>>())
    };
    assert!(like("a\nb", "a\nb") && like("a\nb\nc", "a\n...\nc") && like("a", "...") && like("", ""));
    assert!(like("took 5 s of 7", "took ... s of ...") && like("a\nb\nc", "...\nc"));
    assert!(!like("a\nb", "a") && !like("a", "a\nb") && !like("a\nb", "...\na") && !like("ab", "a...c"));
    assert!(!like("", "a") && !like("took 5 s", "took ... min"));
}
