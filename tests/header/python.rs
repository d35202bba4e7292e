//! The signatures of Python's extension module, `_core.pyi`, as its Rust sources have them.

use std::fmt::Write as _;

const HEAD: &str = "\
# Generated from python/rust by SCDA_UPDATE=1 cargo test -p scda-header: do not edit.
from typing import Any, Optional, Sequence, overload

import numpy as np
from numpy.typing import NDArray

from ._common import Memory
from ._description import Description
from ._arguments import ReadSettings, WriteSettings

# Of each dimension the first index, and the number of indices.
_Box = tuple[list[int], list[int]]
";

/// What stands between an opening bracket, which `text` begins after, and the closing one.
fn bracketed(text: &str, open: char, close: char) -> &str {
    let mut depth = 1;
    let is_end = |(_, c): &(usize, char)| {
        depth += i32::from(*c == open);
        depth -= i32::from(*c == close);
        depth == 0
    };
    &text[..text.char_indices().find(is_end).unwrap().0]
}

/// The parts of a list, between commas that stand in no brackets.
fn parts(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        depth += i32::from("(<[".contains(c)) - i32::from(")>]".contains(c));
        if c == ',' && depth == 0 {
            parts.push(&list[start..at]);
            start = at + 1;
        }
    }
    parts.push(&list[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// The type of Python for one of Rust; `sources` have its aliases. A list that Python passes may be
/// any sequence; a description that it gets is a dict.
fn python_type(rust: &str, sources: &str, is_result: bool) -> String {
    let rust = rust.trim().trim_start_matches('&').trim_start_matches("'static ").trim();
    let inner = |rust: &str| python_type(rust, sources, is_result);
    let list = if is_result { "list" } else { "Sequence" };
    if let Some(list) = rust.strip_prefix('(') {
        let list = parts(bracketed(list, '(', ')')).into_iter().map(inner).collect::<Vec<_>>();
        return if list.is_empty() { "None".to_owned() } else { format!("tuple[{}]", list.join(", ")) };
    }
    let (name, arguments) = match rust.split_once('<') {
        Some((name, arguments)) => (name, bracketed(arguments, '<', '>')),
        None => (rust, ""),
    };
    let arguments: Vec<&str> = parts(arguments).into_iter().filter(|one| !one.starts_with('\'')).collect();
    match (name, &arguments[..]) {
        ("u8" | "i32" | "u32" | "i64" | "u64" | "usize", _) => "int".to_owned(),
        ("f64", _) => "float".to_owned(),
        ("bool", _) => "bool".to_owned(),
        ("str" | "String" | "char" | "PathBuf" | "std::path::PathBuf" | "std::ffi::OsString", _) => {
            "str".to_owned()
        }
        ("[u8]" | "PyBytes", _) | ("Vec", ["u8"]) => "bytes".to_owned(),
        ("PyAny", _) => "Any".to_owned(),
        ("PyList", _) => "list[Any]".to_owned(),
        ("Bytes" | "BytesMut", _) => "NDArray[np.uint8]".to_owned(),
        ("PyReadonlyArray1" | "PyReadwriteArray1", ["u64"]) => "NDArray[np.uint64]".to_owned(),
        ("PyReadonlyArray1" | "PyArray1", ["i64"]) => "NDArray[np.int64]".to_owned(),
        ("PyReadonlyArray1" | "PyReadonlyArray2", ["i32"]) => "NDArray[np.int32]".to_owned(),
        ("PyReadonlyArray1" | "PyArray2", ["f64"]) => "NDArray[np.float64]".to_owned(),
        ("PyArray1", ["u8"]) => "NDArray[np.uint8]".to_owned(),
        ("PyResult" | "Bound", [one]) | ("PyRef", [.., one]) => inner(one),
        ("Option", [one]) => format!("Optional[{}]", inner(one)),
        ("Vec", [one]) => format!("{list}[{}]", inner(one)),
        ("Box", []) => "_Box".to_owned(),
        ("Items", _) => "Memory".to_owned(),
        ("Description", _) if is_result => "dict[str, Any]".to_owned(),
        (
            "Description" | "ReadSettings" | "WriteSettings" | "DatasetHandle" | "Streams" | "Stream"
            | "Reader" | "Writer" | "CommitRequest" | "ForestCheck",
            [],
        ) => name.to_owned(),
        _ => {
            let alias = ["<'py>", ""]
                .into_iter()
                .find_map(|life| sources.split_once(&format!("type {name}{life} = ")));
            let (_, meaning) =
                alias.unwrap_or_else(|| panic!("python/rust: tests/header knows no type {rust}"));
            inner(meaning.split_once(';').unwrap().0)
        }
    }
}

/// A function as Python calls it: its lines in the file, with `indent` before each; `text` begins with its name in Rust.
fn function(text: &str, signature: &str, sources: &str, (indent, class): (&str, &str)) -> String {
    let (name, rest) = text.split_once('(').unwrap();
    let list = bracketed(rest, '(', ')');
    let result = rest[list.len() + 1..].split_once('{').unwrap().0.trim().trim_start_matches("->");
    let mut arguments = Vec::new();
    for argument in parts(list) {
        let Some((name, kind)) = argument.split_once(": ").filter(|(name, _)| *name != "py") else {
            continue;
        };
        let name = name.trim_start_matches("mut ").trim_start_matches("r#");
        let default = parts(signature).into_iter().find_map(|one| {
            one.strip_prefix(name).or_else(|| one.strip_prefix(&format!("r#{name}")))?.strip_prefix('=')
        });
        let default = default.map_or(String::new(), |value| format!(" = {value}"));
        arguments.push(format!("{name}: {}{default}", python_type(kind, sources, false)));
    }
    let name = name.split('<').next().unwrap();
    let result = match name {
        "new" => class.to_owned(),
        _ if result.is_empty() => "None".to_owned(),
        _ => python_type(result, sources, true),
    };
    let name = if name == "new" { "__new__" } else { name };
    let first = match (class, name) {
        ("", _) => Vec::new(),
        (_, "__new__") => vec!["cls".to_owned()],
        _ => vec!["self".to_owned()],
    };
    let written = |arguments: &[String], result: &str| {
        let all = [&first[..], arguments].concat();
        let line = format!("{indent}def {name}({}) -> {result}: ...\n", all.join(", "));
        if line.len() <= 120 {
            return line;
        }
        let lines: Vec<String> = all.iter().map(|one| format!("{indent}    {one},\n")).collect();
        format!("{indent}def {name}(\n{}{indent}) -> {result}: ...\n", lines.concat())
    };
    // Bytes, or None where memory for them is passed.
    let room = arguments.iter().position(|one| one.starts_with("out: Optional["));
    match (room, result.strip_prefix("Optional[")) {
        (Some(room), Some(bytes)) => {
            let without = written(&arguments[..room], bytes.trim_end_matches(']'));
            arguments[room] = "out: NDArray[np.uint8]".to_owned();
            format!("{indent}@overload\n{without}{indent}@overload\n{}", written(&arguments, "None"))
        }
        _ => written(&arguments, &result),
    }
}

/// The file, from the sources of the module.
pub fn stub(sources: &str) -> String {
    let mut out = HEAD.to_owned();
    for constant in sources.split("#[pymodule_export]\n    const ").skip(1) {
        let (name, rest) = constant.split_once(": ").unwrap();
        let kind = python_type(rest.split_once(" =").unwrap().0, sources, true);
        writeln!(out, "{name}: {kind}").unwrap();
    }
    out.push('\n');
    for text in sources.split("#[pyfunction]\n").skip(1) {
        let text = text.trim_start_matches("pub ").trim_start_matches("fn ");
        out += &function(text, "", sources, ("", ""));
    }
    for class in sources.split("#[pyclass(").skip(1) {
        let (_, class) = class.split_once("pub struct ").unwrap();
        let class = class.split(['(', ' ']).next().unwrap();
        let Some((_, text)) = sources.split_once(&format!("#[pymethods]\nimpl {class} {{\n")) else {
            writeln!(out, "\nclass {class}: ...").unwrap();
            continue;
        };
        writeln!(out, "\nclass {class}:").unwrap();
        let text = &text[..text.find("\n}\n").unwrap()];
        let mut before = 0;
        for (at, _) in text.match_indices("\n    fn ").chain(text.strip_prefix("    fn ").map(|_| (0, ""))) {
            let attributes = &text[before..at];
            before = at + 1;
            if attributes.ends_with("#[getter]") {
                out += "    @property\n";
            }
            let signature = attributes.rsplit_once("#[pyo3(signature = (");
            let signature = signature.map_or("", |(_, list)| bracketed(list, '(', ')'));
            out += &function(
                text[at..].trim_start().trim_start_matches("fn "),
                signature,
                sources,
                ("    ", class),
            );
        }
    }
    out
}
