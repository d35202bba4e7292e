//! The Fortran module and the C++ header have all that the C header has.

use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Whether a name stands in a text, not as a part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + word.len()..].chars().next())
    })
}

/// A text without the comments that begin with `line` and go to the end of the line, or with `/*` if that is C's; `quotes` begin and end
/// strings, which stay, without what is in them if `empties`.
fn without_comments(text: &str, line: &str, quotes: &[char], empties: bool) -> String {
    let (mut code, mut rest, mut quote) = (String::new(), text, None);
    while let Some(c) = rest.chars().next() {
        let mut after = &rest[c.len_utf8()..];
        if let Some(end) = quote {
            match c {
                '\\' if line == "//" => after = &after[after.chars().next().map_or(0, char::len_utf8)..],
                // No string goes on in the next line: it was an apostrophe.
                _ if c == end || c == '\n' => (quote, code) = (None, code + &c.to_string()),
                _ if !empties => code.push(c),
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

/// The Fortran module without its comments.
fn module() -> String {
    without_comments(&read("include/scda.F90"), "!", &['"', '\''], false)
}

/// The C++ header without its comments, and what is in its strings.
fn hpp() -> String {
    without_comments(&read("include/scda.hpp"), "//", &['"'], true)
}

#[test]
fn a_name_in_a_comment_is_none() {
    let fortran = "call a ! call b\n bind(C, name=\"c!d\") ! \"e\n'f!''g' & ! h";
    let code = without_comments(fortran, "!", &['"', '\''], false);
    assert_eq!(code, "call a \n bind(C, name=\"c!d\") \n'f!''g' & ");
    let cpp = "a (); // b ();\n/* c ();\n d (); */ e (\"f (); \\\" // g\", h); // \"i";
    assert_eq!(without_comments(cpp, "//", &['"'], true), "a (); \n  e (\"\", h); ");
    // All of the text is gone through.
    assert!(module().trim_end().ends_with("end module scda"));
    assert!(hpp().trim_end().ends_with("#endif"));
}

fn functions() -> BTreeSet<String> {
    read("abi/scda.symbols").lines().map(str::to_owned).collect()
}

/// The members of a struct, in their order.
fn members(text: &str, from: &str, to: &str) -> Vec<String> {
    let text = &text[text.find(from).unwrap()..];
    let code = text[..text.find(to).unwrap()].lines().map(str::trim);
    let declarations = code.filter(|line| line.ends_with(';') && !line.starts_with('*')); // a comment
    declarations
        .map(|line| line.trim_end_matches(';').rsplit([' ', '*']).next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_module_has_the_communicator_of_the_header() {
    let module = module();
    let (_, rest) = module.split_once("SCDA_COMM_SELF = ").unwrap();
    let value: u32 = rest.lines().next().unwrap().parse().unwrap();
    assert!(read("include/scda.h").contains(&format!("(size_t) {value:#x}u")));
}

#[test]
fn the_module_has_every_function() {
    let module = module();
    let public: String = module.lines().filter(|line| line.trim().starts_with("public ::")).collect();
    for function in functions() {
        let called = module.contains(&format!("{}(", function.replacen("scda_", "c_", 1)));
        let opens = ["scda_fopen", "scda_fopen_write", "scda_fopen_read", "scda_fopen_append"]
            .contains(&function.as_str());
        // Of scda_write and scda_read, which call those for several datasets.
        let is_a_form =
            ["scda_fwrite_field", "scda_fwrite_field_parts", "scda_fwrite_dataset", "scda_fread_dataset"]
                .contains(&function.as_str());
        if function == "scda_note" {
            continue; // for headers of C
        }
        let for_bindings = [
            "scda_fopen_f",
            "scda_refuse",
            "scda_check_lengths",
            "scda_dataset_init_size",
            "scda_box_init_size",
            "scda_current_dataset",
        ]
        .contains(&function.as_str());
        assert!(
            called != (opens || is_a_form),
            "{function}: those that open are calls of scda_fopen_f, all others of themselves"
        );
        let name = match function.as_str() {
            // For every type and rank.
            "scda_fwrite_dataset" | "scda_fwrite_field" | "scda_fwrite_field_parts" => "scda_write",
            "scda_fwrite_datasets" => "scda_fwrite_datasets_begin",
            "scda_fread_dataset" => "scda_read",
            "scda_params_init_size" => "scda_params_init",
            name => name,
        };
        assert!(has_word(&public, name) != for_bindings, "{function}");
    }
}

#[test]
fn the_cpp_header_has_every_function() {
    let hpp = hpp();
    for function in functions() {
        // Its writer and reader take no mode, and its communicators are those of C; a dataset is written and read as one of several.
        let expected =
            !["scda_fopen", "scda_fopen_f", "scda_note", "scda_fwrite_dataset", "scda_fread_dataset"]
                .contains(&function.as_str());
        // It calls it, or passes it on to be called; what fills a struct is inline in the header of C.
        let function = &*function.replace("_init_size", "_init");
        let has = hpp.contains(&format!("{function} (")) || hpp.contains(&format!("({function}, "));
        assert_eq!(has, expected, "{function}");
    }
}

#[test]
fn the_documentation_names_every_function_and_constant() {
    let fortran = read("docs/fortran.md");
    let cpp = read("docs/cxx.md");
    for function in functions().iter().filter(|name| {
        !["scda_fopen_f", "scda_refuse", "scda_check_lengths", "scda_note"].contains(&name.as_str())
    }) {
        let function = &*function.replace("_init_size", "_init");
        if !["scda_dataset_init", "scda_box_init"].contains(&function) {
            assert!(has_word(&fortran, function), "docs/fortran.md: {function}");
        }
        if function != "scda_fopen" {
            assert!(has_word(&cpp, function), "docs/cxx.md: {function}");
        }
    }
    let components = members(&read("include/scda.h"), "struct scda_params {", "\n};");
    for component in components.iter().filter(|name| !["size", "reserved"].contains(&name.as_str())) {
        assert!(has_word(&fortran, component), "docs/fortran.md: {component}");
        assert!(has_word(&cpp, component), "docs/cxx.md: {component}");
    }
}
