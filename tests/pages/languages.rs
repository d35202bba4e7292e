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

/// The text without its comments: those from `line` to the end of the line, and `/* ... */` if `line` is `//`. Strings, delimited by
/// `quotes`, are kept, but emptied if `empties_strings`.
fn without_comments(text: &str, line: &str, quotes: &[char], empties_strings: bool) -> String {
    let (mut code, mut rest, mut quote) = (String::new(), text, None);
    while let Some(c) = rest.chars().next() {
        let mut after = &rest[c.len_utf8()..];
        if let Some(end) = quote {
            match c {
                '\\' if line == "//" => after = &after[after.chars().next().map_or(0, char::len_utf8)..],
                // Strings end on their line: an unclosed quote was an apostrophe.
                _ if c == end || c == '\n' => (quote, code) = (None, code + &c.to_string()),
                _ if !empties_strings => code.push(c),
                _ => {}
            }
        } else if rest.starts_with(line) {
            after = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if line == "//" && rest.starts_with("/*") {
            after = &rest[rest.find("*/").map_or(rest.len(), |end| end + 2)..];
            code.push(' ');
        } else {
            quote = Some(c).filter(|c| quotes.contains(c));
            code.push(c);
        }
        rest = after;
    }
    code
}

/// The Fortran modules without their comments.
fn fortran_modules() -> String {
    let modules = ["include/scda.F90", "include/scda_meshes.F90"];
    modules.map(|path| without_comments(&read(path), "!", &['"', '\''], false)).concat()
}

/// The C++ headers without their comments and the contents of their strings.
fn cpp_headers() -> String {
    let headers = ["include/scda.hpp", "include/scda_meshes.hpp"];
    headers.map(|path| without_comments(&read(path), "//", &['"'], true)).concat()
}

#[test]
fn comments_are_removed() {
    let fortran = "call a ! call b\n bind(C, name=\"c!d\") ! \"e\n'f!''g' & ! h";
    let code = without_comments(fortran, "!", &['"', '\''], false);
    assert_eq!(code, "call a \n bind(C, name=\"c!d\") \n'f!''g' & ");
    let cpp = "a (); // b ();\n/* c ();\n d (); */ e (\"f (); \\\" // g\", h); // \"i";
    assert_eq!(without_comments(cpp, "//", &['"'], true), "a (); \n  e (\"\", h); ");
    // The files are kept to their ends.
    assert!(fortran_modules().trim_end().ends_with("end module scda_meshes"));
    assert!(cpp_headers().trim_end().ends_with("#endif"));
}

fn functions() -> BTreeSet<String> {
    read("crates/c/scda.symbols").lines().map(str::to_owned).collect()
}

/// True for functions on forests, which C++ and Fortran do not wrap: the headers for p4est and t8code call them.
fn is_for_forest_headers(function: &str) -> bool {
    let wrapped =
        ["scda_forest_write_time", "scda_forest_steps", "scda_forest_read_time", "scda_forest_find_field"];
    function.starts_with("scda_forest_") && !wrapped.contains(&function)
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
        let called = module.contains(&format!("{}(", function.replacen("scda_", "c_", 1)));
        // These take a C communicator; the module calls their `_f` forms.
        let takes_c_communicator = [
            "scda_fopen",
            "scda_fopen_write",
            "scda_fopen_read",
            "scda_fopen_append",
            "scda_fopen_append_or_create",
            "scda_stop_requested",
        ]
        .contains(&function.as_str());
        // The module calls the functions for several datasets or attributes instead.
        let is_convenience = [
            "scda_fwrite_field",
            "scda_fwrite_field_parts",
            "scda_fwrite_dataset",
            "scda_fread_dataset",
            "scda_fset_attribute",
            "scda_get_attribute",
        ]
        .contains(&function.as_str());
        if ["scda_note", "scda_fagree", "scda_fleave"].contains(&&*function)
            || is_for_forest_headers(&function)
        {
            continue; // needed only by C headers and by languages with exceptions
        }
        let is_internal = [
            "scda_fopen_f",
            "scda_refuse",
            "scda_check_lengths",
            "scda_dataset_init_size",
            "scda_box_init_size",
            "scda_entry_init_size",
            "scda_stop_requested_f",
            "scda_patches_init_size",
            "scda_patch_field_init_size",
            "scda_particles_init_size",
        ]
        .contains(&function.as_str());
        assert!(
            called != (takes_c_communicator || is_convenience),
            "{function}: found called = {called}; the module must call every function, or its form scda_..._f if it takes a communicator"
        );
        let name = match function.as_str() {
            // Generic over types and ranks.
            "scda_fwrite_dataset" | "scda_fwrite_field" | "scda_fwrite_field_parts" => "scda_write",
            "scda_fwrite_datasets" => "scda_fwrite_datasets_begin",
            "scda_fread_dataset" | "scda_fread_boxes" => "scda_read",
            "scda_params_init_size" => "scda_params_init",
            "scda_fset_attribute" => "scda_fset_attributes",
            "scda_get_attribute" => "scda_fread_attribute",
            "scda_set_attribute" => "scda_json",
            "scda_particles_write_field" => "scda_particles_write_fields",
            "scda_particles_read_field" => "scda_particles_read_fields",
            name => name,
        };
        assert!(has_word(&public, name) != is_internal, "{function}");
    }
}

#[test]
fn the_cpp_header_has_every_function() {
    let headers = cpp_headers();
    for function in functions() {
        // Left out: `scda_fopen`, since readers and writers are separate classes; forms with a Fortran communicator; functions for one
        // dataset, which call those for several; and attributes, whose JSON the class `attributes` writes.
        let is_wrapped = ![
            "scda_fopen",
            "scda_fopen_f",
            "scda_stop_requested_f",
            "scda_set_attribute",
            "scda_fset_attribute",
            "scda_note",
            "scda_fwrite_dataset",
            "scda_fread_dataset",
        ]
        .contains(&function.as_str())
            && !is_for_forest_headers(&function);
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
