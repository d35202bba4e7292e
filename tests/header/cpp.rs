//! What `scda.hpp` takes from the headers: the enumerations of constants, and the parameters of opening a file.

use crate::fortran::{code_and_constants, declaration};
use std::fmt::Write as _;

/// The lines of `scda.hpp` between which what is made from `scda.h` stands.
const BEGIN: &str = "/* From scda.h, by SCDA_UPDATE=1 cargo test -p scda-header: do not edit. */\n";
const END: &str = "/* End of what is from scda.h. */\n";

/// The constants whose names begin with `prefix`, as an enumeration.
fn enumeration(constants: &[(String, String)], name: &str, prefix: &str) -> String {
    let entries = constants.iter().filter(|(constant, _)| constant.starts_with(prefix));
    let entries: Vec<String> = entries
        .map(|(constant, _)| {
            format!("{} = {constant}", constant.trim_start_matches("SCDA_").to_ascii_lowercase())
        })
        .collect();
    assert!(entries.len() > 1, "{prefix}");
    format!("enum {name} {{\n  {}\n}};\n", entries.join(",\n  "))
}

/// The functions that set a member of the parameters. Of those that may be 1, that is the default.
fn setters(header: &str) -> String {
    let (_, members) = header.split_once("struct scda_params {\n").unwrap();
    let mut out = String::new();
    for member in members[..members.find("\n};").unwrap()].split("/**").skip(1) {
        let (comment, code) = member.split_once("*/").unwrap();
        let (kind, name, _) = declaration(code.trim().trim_end_matches(';'));
        if name == "size" {
            continue;
        }
        let kind = match code.contains('*') {
            true => format!("const {} *", kind.base),
            false if kind.base.ends_with("int64_t") => format!("std::{} ", kind.base),
            false => format!("{} ", kind.base),
        };
        let is_switch = ["1: ", "1 (default): "].iter().any(|words| comment.contains(words));
        assert!(!is_switch || !name.ends_with("_bytes"), "{name}: its comment reads like that of a switch");
        let default = if is_switch { " = 1" } else { "" };
        writeln!(
            out,
            "  params &{name} ({kind}value{default}) noexcept {{ return p_.{name} = value, *this; }}"
        )
        .unwrap();
    }
    out
}

/// `scda.hpp` with what is made from the header in its place.
pub fn with_tables(hpp: &str, header: &str) -> String {
    let (_, constants) = code_and_constants(header);
    let (before, rest) = hpp.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    format!(
        "{before}{BEGIN}\n\
         /** Whether a section or dataset is compressed: the constants of scda.h, which the functions that take `E` accept, too. */\n\
         {}\n\
         /** What may be chosen when a file is opened: `scda::params ().level (9).atomic ()`. See `scda_params` for each. */\n\
         class params {{\n\
         public:\n\
         \x20 params () noexcept {{ scda_params_init (&p_); }}\n\
         {}\
         \x20 /** For the functions of C. */\n\
         \x20 const scda_params_t *get () const noexcept {{ return &p_; }}\n\
         \n\
         private:\n\
         \x20 scda_params_t p_;\n\
         }};\n\
         \n\
         {END}{after}",
        enumeration(&constants, "encoding", "SCDA_ENCODE_"),
        setters(header)
    )
}
