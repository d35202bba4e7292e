//! The Fortran module and the C++ header have all that the C header has, and explain it.

use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// True if the text contains the word itself, not just a longer word with it.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + word.len()..].chars().next())
    })
}

/// The lines of headers without comments, which in C++ fill whole lines, or end one.
fn code(paths: [&str; 2], comments: &[&str]) -> String {
    let texts = paths.map(read).concat();
    let lines = texts.lines().filter(|line| !line.trim_start().starts_with('*'));
    lines
        .map(|line| comments.iter().fold(line, |line, mark| line.split(mark).next().unwrap()))
        .collect::<Vec<_>>()
        .join("\n")
}

fn fortran_modules() -> String {
    code(["include/scda.F90", "include/scda_meshes.F90"], &["!"])
}

fn cpp_headers() -> String {
    code(["include/scda.hpp", "include/scda_meshes.hpp"], &["//", "/*"])
}

fn functions() -> BTreeSet<String> {
    read("crates/c/scda.symbols").lines().map(str::to_owned).collect()
}

/// How C++ and Fortran offer a function.
#[derive(PartialEq)]
enum Offer {
    /// Under its own name.
    Same,
    /// Fortran under this name, C++ under its own: generic procedures, and forms for one or several datasets.
    Named(&'static str),
    /// Not to the user, although the languages call it.
    Internal,
    /// As [`Self::Named`]; the module calls another function instead, with a Fortran communicator or for several
    /// datasets.
    Replaced(&'static str),
    /// Not at all: needed only by C programs, and by headers of C for p4est and t8code.
    None,
}

/// The functions that are not offered under their own name by both languages.
fn offer(function: &str) -> Offer {
    use Offer::{Internal, Named, Replaced, Same};
    match function {
        "scda_fwrite_datasets" => Named("scda_fwrite_datasets_begin"),
        "scda_fread_boxes" => Named("scda_read"),
        "scda_params_init_size" => Named("scda_params_init"),
        "scda_set_attribute" => Named("scda_json"),
        "scda_particles_write_field" => Named("scda_particles_write_fields"),
        "scda_particles_read_field" => Named("scda_particles_read_fields"),
        "scda_fopen"
        | "scda_fopen_write"
        | "scda_fopen_read"
        | "scda_fopen_append"
        | "scda_fopen_append_or_create"
        | "scda_stop_requested" => Replaced(""),
        "scda_fwrite_dataset" | "scda_fwrite_field" | "scda_fwrite_field_parts" => Replaced("scda_write"),
        "scda_fread_dataset" => Replaced("scda_read"),
        "scda_fset_attribute" => Replaced("scda_fset_attributes"),
        "scda_get_attribute" => Replaced("scda_fread_attribute"),
        "scda_fopen_f"
        | "scda_refuse"
        | "scda_check_lengths"
        | "scda_dataset_init_size"
        | "scda_box_init_size"
        | "scda_entry_init_size"
        | "scda_stop_requested_f"
        | "scda_patches_init_size"
        | "scda_patch_field_init_size"
        | "scda_particles_init_size" => Internal,
        "scda_note" | "scda_fagree" | "scda_fleave" => Offer::None,
        "scda_forest_write_time"
        | "scda_forest_steps"
        | "scda_forest_read_time"
        | "scda_forest_find_field" => Same,
        forest if forest.starts_with("scda_forest_") => Offer::None,
        _ => Same,
    }
}

#[test]
fn the_module_has_the_communicator_of_the_header() {
    let module = fortran_modules();
    let (_, rest) = module.split_once("SCDA_COMM_SELF = ").unwrap();
    let value: u32 = rest.lines().next().unwrap().parse().unwrap();
    assert!(read("include/scda.h").contains(&format!("(size_t) {value:#x}u")));
}

#[test]
fn the_module_has_every_function() {
    let module = fortran_modules();
    let public: String = module.lines().filter(|line| line.trim().starts_with("public ::")).collect();
    for function in functions() {
        let offer = offer(&function);
        if offer == Offer::None {
            continue;
        }
        let is_called = module.contains(&format!("{}(", function.replacen("scda_", "c_", 1)));
        assert_eq!(is_called, !matches!(offer, Offer::Replaced(_)), "{function}: is called by the module");
        let name = match offer {
            Offer::Named(name) | Offer::Replaced(name) if !name.is_empty() => name,
            _ => &function,
        };
        assert_eq!(has_word(&public, name), offer != Offer::Internal, "{function}: {name} is public");
    }
}

#[test]
fn the_cpp_header_has_every_function() {
    /// Readers and writers are separate classes; one dataset is written like several; and the class `attributes` writes
    /// the JSON of attributes.
    const REPLACED: [&str; 7] = [
        "scda_fopen",
        "scda_fopen_f",
        "scda_stop_requested_f",
        "scda_set_attribute",
        "scda_fset_attribute",
        "scda_fwrite_dataset",
        "scda_fread_dataset",
    ];
    let headers = cpp_headers();
    for function in functions() {
        // These are called for exceptions, which the other languages do not have.
        let is_for_exceptions = ["scda_fagree", "scda_fleave"].contains(&&*function);
        let is_wrapped =
            !REPLACED.contains(&&*function) && (is_for_exceptions || offer(&function) != Offer::None);
        // Called directly, or passed to a helper that calls it. The `_init` functions are inline in the C header.
        let function = &*function.replace("_init_size", "_init");
        let has = headers.contains(&format!("{function} (")) || headers.contains(&format!("({function}, "));
        assert_eq!(has, is_wrapped, "{function}");
    }
}

/// Every public procedure of the Fortran modules has a comment.
#[test]
fn the_module_explains_every_procedure() {
    for path in ["include/scda.F90", "include/scda_meshes.F90"] {
        let text = read(path);
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        let calls: String = lines.iter().filter(|line| line.starts_with("!>")).copied().collect();
        // The comment is directly above the procedure, or shows its call, with optional arguments in brackets.
        let begins = |line: &str, name: &str| {
            let end = line.find('(').unwrap_or(line.len());
            ["subroutine", "function"].contains(&line.split(' ').next().unwrap())
                && line[..end].split(' ').nth(1) == Some(name)
        };
        let mut named = 0;
        // Names in lines with a trailing comment are internal to the modules.
        for name in
            lines.iter().filter_map(|line| line.strip_prefix("public :: ")).filter(|line| !line.contains('!'))
        {
            for name in name.split(',').map(str::trim).filter(|name| name.starts_with("scda_")) {
                let is_above = |line: usize| lines[line].starts_with("!>") && begins(lines[line + 1], name);
                assert!(
                    calls.contains(&format!("{name}(")) || (0..lines.len() - 1).any(is_above),
                    "{path}: {name}"
                );
                named += 1;
            }
        }
        assert!(named >= 12, "{path}: {named} procedures");
    }
}

/// Every public member of these classes has a comment on at least one of its overloads.
#[test]
fn the_cpp_headers_explain_every_member() {
    let mut members = 0;
    for (path, classes) in [
        ("include/scda.hpp", &["file", "writer", "reader", "request", "dataset", "partition"][..]),
        ("include/scda_meshes.hpp", &["patches", "particles"][..]),
    ] {
        let text = read(path);
        for class in classes {
            let begin = text.find(&format!("\nclass {class} ")).unwrap_or_else(|| panic!("{path}: {class}"));
            let (body, _) = text[begin..].split_once("\n};").unwrap();
            let (mut is_public, mut is_explained) = (false, false);
            let (mut all, mut with_comment) = (BTreeSet::new(), BTreeSet::new());
            for line in body.lines() {
                is_public = line == "public:" || (is_public && !["private:", "protected:"].contains(&line));
                let is_declaration =
                    line.starts_with("  ") && !line.starts_with("   ") && line.contains(" (");
                if is_public && is_declaration && !line.trim_start().starts_with(['/', '*', ':']) {
                    let before = line.split(" (").next().unwrap();
                    let name = before.rsplit([' ', '*', '&']).next().unwrap();
                    if !line.contains("= default")
                        && !line.contains("= delete")
                        && name.trim_start_matches('~') != *class
                    {
                        all.insert(name);
                        if is_explained || line.contains("/**<") {
                            with_comment.insert(name);
                        }
                    }
                }
                // A comment covers the declaration below it, past a line with its template, and further one-line declarations.
                let continues =
                    line.trim().starts_with("template") || (is_declaration && line.ends_with('}'));
                is_explained = line.trim_end().ends_with("*/") || (is_explained && continues);
            }
            let without: Vec<_> = all.difference(&with_comment).collect();
            assert!(without.is_empty(), "{path}: {class}: {without:?}");
            members += all.len();
        }
    }
    assert!(members > 90, "{members} members");
}
