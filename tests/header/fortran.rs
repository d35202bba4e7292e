//! What the Fortran module takes from the headers: constants, structs, and the interfaces of the functions.

use std::fmt::Write as _;

/// The code of the header, without comments and directives, and its `#define`s with numbers.
pub fn code_and_constants(header: &str) -> (String, Vec<(String, String)>) {
    let (mut code, mut rest) = (String::new(), header);
    while let Some(start) = rest.find("/*") {
        code.push_str(&rest[..start]);
        rest = &rest[start + rest[start..].find("*/").unwrap() + 2..];
    }
    code.push_str(rest);
    let mut constants = Vec::new();
    for line in code.lines() {
        let definition = line.strip_prefix("#define ").and_then(|line| line.split_once(' '));
        let is_number = |(name, value): &(&str, &str)| {
            name.starts_with("SCDA_") && *name != "SCDA_COMM_SELF" && !value.starts_with('"')
        };
        let constant = definition.filter(is_number);
        constants.extend(constant.map(|(name, value)| (name.to_owned(), value.trim().to_owned())));
    }
    let lines: Vec<&str> = code.lines().filter(|line| !line.starts_with('#')).collect();
    (lines.join("\n"), constants)
}

/// A type of C: what it is, how many pointers lead to it, and whether what they point to is constant.
pub struct Kind<'a> {
    pub base: &'a str,
    pointers: usize,
    is_const: bool,
}

/// A declaration such as `const uint64_t *Nq`, or `char name[N]`: its type, name and dimension.
pub fn declaration(text: &str) -> (Kind<'_>, &str, Option<&str>) {
    let (text, dimension) = match text.trim().split_once('[') {
        Some((before, after)) => (before, Some(after.trim_end_matches(']'))),
        None => (text.trim(), None),
    };
    let name = text.rsplit([' ', '*']).next().unwrap();
    let before = text.strip_suffix(name).unwrap();
    let mut words = before.split([' ', '*']).filter(|word| !["", "const", "struct"].contains(word));
    let kind = Kind {
        base: words.next_back().unwrap(),
        pointers: before.matches('*').count(),
        is_const: before.trim_start().starts_with("const"),
    };
    (kind, name, dimension)
}

/// The name of a struct in Fortran. Programs see four of them; of a dataset, a member and a box the module has other forms.
fn derived_type(c: &str) -> String {
    match c.trim_end_matches("_t") {
        "scda_params" => "scda_params_t".to_owned(),
        "scda_statistics" => "scda_statistics_t".to_owned(),
        "scda_info" => "scda_info_t".to_owned(),
        "scda_request" => "scda_pending_t".to_owned(),
        other => format!("c_{}_t", other.strip_prefix("scda_").unwrap()),
    }
}

/// The Fortran type for one of C, and the value that a component has before anything is stored.
fn fortran_type(base: &str) -> (String, &'static str) {
    let (name, value) = match base {
        "int" => ("integer(c_int)", "0"),
        "size_t" => ("integer(c_size_t)", "0"),
        "uint64_t" | "int64_t" => ("integer(c_int64_t)", "0"),
        "int32_t" => ("integer(c_int32_t)", "0"),
        "uint8_t" | "int8_t" => ("integer(c_int8_t)", "0"),
        "double" => ("real(c_double)", "0"),
        "char" => ("character(kind=c_char)", "c_null_char"),
        "void" | "scda_fcontext_t" => ("type(c_ptr)", "c_null_ptr"), // only pointers to them
        "MPI_Info" => ("integer(c_intptr_t)", "0"),                  // room for an int or a pointer
        other => return (format!("type({})", derived_type(other)), ""),
    };
    (name.to_owned(), value)
}

/// The dummy argument for an argument of C. `next` is the name of the one after.
fn argument(kind: &Kind, name: &str, next: &str) -> String {
    let (fortran, _) = fortran_type(kind.base);
    let intent = if kind.is_const { "in" } else { "inout" };
    match (kind.base, kind.pointers) {
        (_, 0) => return format!("{fortran}, value :: {name}"),
        ("char", 1) if !(kind.is_const && next == "len") => {
            return format!("{fortran}, intent({intent}) :: {name}(*)");
        }
        ("void" | "scda_fcontext_t" | "char", 1) => {}
        (_, 1 | 2) if ["items", "lengths"].contains(&name) => {} // arrays
        (_, 2) => return format!("type(c_ptr), intent({}) :: {name}", "inout"),
        _ if name == "len" => return format!("{fortran}, intent({intent}) :: {name}"),
        _ if name.ends_with("boxes") || (["Nq", "types"].contains(&name) && !kind.is_const) => {
            return format!("{fortran}, intent({intent}) :: {name}(*)");
        }
        // An array, or something that may be NULL.
        _ if kind.is_const || ["Sq", "Ei"].contains(&name) => {}
        _ => return format!("{fortran}, intent({intent}) :: {name}"),
    }
    format!("type(c_ptr), value :: {name}")
}

/// `text` in lines of at most 110 characters: what the line of `pieces` exceeds that, goes on in the next one.
fn wrapped(pieces: &[String]) -> String {
    let (mut text, mut length) = (String::new(), 0);
    for piece in pieces {
        if length + piece.len() > 110 {
            text.push_str(" &\n      & ");
            length = 8;
        }
        text.push_str(piece);
        length += piece.len();
    }
    text
}

fn structs(code: &str) -> String {
    let mut out = String::new();
    for part in code.split("\nstruct ").skip(1) {
        let Some((name, rest)) = part.split_once(" {\n").filter(|(name, _)| !name.contains(';')) else {
            continue;
        };
        let name = derived_type(name);
        let is_public = if name.starts_with("scda_") { ", public" } else { "" };
        writeln!(out, "\n  type, bind(C){is_public} :: {name}").unwrap();
        for member in rest[..rest.find('}').unwrap()].split(';').filter(|member| !member.trim().is_empty()) {
            let (kind, member, dimension) = declaration(member);
            let (fortran, value) = match (kind.base, kind.pointers) {
                (base, 0) => fortran_type(base),
                _ => ("type(c_ptr)".to_owned(), "c_null_ptr"),
            };
            let is_hidden = ["size", "info", "file", "number"].contains(&member) && !is_public.is_empty();
            let private = if is_hidden { ", private" } else { "" };
            let dimension = dimension.map_or(String::new(), |dimension| format!("({dimension})"));
            let value = if value.is_empty() { String::new() } else { format!(" = {value}") };
            writeln!(out, "    {fortran}{private} :: {member}{dimension}{value}").unwrap();
        }
        writeln!(out, "  end type {name}").unwrap();
    }
    out
}

fn functions(code: &str) -> String {
    let mut out = String::new();
    for statement in code.split(';') {
        let Some((before, arguments)) = statement.trim().split_once('(') else { continue };
        let before = before.rsplit("extern \"C\" {").next().unwrap_or(before).trim();
        if !arguments.ends_with(')')
            || before.contains(['{', '}', '='])
            || arguments.contains(['{', '(', '&'])
        {
            continue;
        }
        let arguments: Vec<&str> = arguments.trim_end_matches(')').split(',').collect();
        let arguments: Vec<_> =
            arguments.iter().filter(|text| **text != "void").map(|text| declaration(text)).collect();
        // With communicators of C: Fortran's are numbers.
        if arguments.iter().any(|(kind, ..)| kind.base == "MPI_Comm") {
            continue;
        }
        let (answer, function, _) = declaration(before);
        let names: Vec<&str> = arguments.iter().map(|(_, name, _)| *name).collect();
        let name = function.replacen("scda_", "c_", 1);
        let mut head = vec![format!("    function {name}(")];
        head.extend(
            names
                .iter()
                .enumerate()
                .map(|(index, name)| format!("{}{name}", if index > 0 { ", " } else { "" })),
        );
        head.push(format!(") bind(C, name=\"{function}\") result(answer)"));
        writeln!(out, "\n{}\n      import", wrapped(&head)).unwrap();
        for (index, (kind, name, _)) in arguments.iter().enumerate() {
            writeln!(out, "      {}", argument(kind, name, names.get(index + 1).unwrap_or(&""))).unwrap();
        }
        let answer = if answer.pointers > 0 { "type(c_ptr)".to_owned() } else { fortran_type(answer.base).0 };
        writeln!(out, "      {answer} :: answer\n    end function {name}").unwrap();
    }
    out
}

/// The file that the module includes.
pub fn include(header: &str) -> String {
    let (code, constants) = code_and_constants(header);
    let mut out = String::from(
        "! Generated from include/scda.h and scda_bind.h by tests/header: do not edit. SPDX-License-Identifier: MIT OR Apache-2.0\n!\n\
         ! Constants, structs and functions as C has them: scda.h says what they mean. What may be NULL is a c_ptr.\n",
    );
    let mut group = "";
    for (name, value) in &constants {
        let words = name.match_indices('_').nth(1).map_or(name.len(), |(at, _)| at);
        if name[..words] != *group {
            group = &name[..words];
            out.push('\n');
        }
        writeln!(out, "  integer, parameter, public :: {name} = {value}").unwrap();
    }
    out + &structs(&code) + "\n  interface" + &functions(&code) + "  end interface\n"
}
