//! The manual pages of the C functions, made from the headers: one for each function, and scda(3) for all that they share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Result;

/// A comment of the header, and what it is about.
struct Item<'a> {
    paragraphs: Vec<String>,
    /// Direction, name, text.
    params: Vec<(String, String, String)>,
    returns: String,
    errors: String,
    spec: String,
    /// The declaration that follows, up to the next comment.
    code: &'a str,
}

/// The comments of a piece of C, with what follows each.
fn items(code: &str) -> impl Iterator<Item = Item<'_>> {
    code.split("/**\n").skip(1).map(|part| {
        let (comment, code) = part.split_once("*/").unwrap();
        let mut item = Item {
            paragraphs: vec![String::new()],
            params: Vec::new(),
            returns: String::new(),
            errors: String::new(),
            spec: String::new(),
            code: code.trim(),
        };
        let mut mark = "";
        for line in comment.lines() {
            let line = line.trim_start().trim_start_matches('*').trim();
            let mut text = line;
            for candidate in ["@file", "@param", "@return", "Errors:", "Spec:"] {
                if let Some(rest) = line.strip_prefix(candidate) {
                    (mark, text) = (candidate, rest.trim_start());
                    if mark == "@param" {
                        let (direction, rest) = text[1..].split_once("] ").unwrap();
                        let (name, rest) = rest.split_once(' ').unwrap();
                        item.params.push((direction.to_owned(), name.to_owned(), String::new()));
                        text = rest.trim_start();
                    }
                }
            }
            let to = match mark {
                "@file" => {
                    mark = "";
                    continue;
                }
                "@param" => &mut item.params.last_mut().unwrap().2,
                "@return" => &mut item.returns,
                "Errors:" => &mut item.errors,
                "Spec:" => &mut item.spec,
                _ => {
                    if text.is_empty() {
                        item.paragraphs.push(String::new());
                    }
                    item.paragraphs.last_mut().unwrap()
                }
            };
            if !to.is_empty() && !text.is_empty() {
                to.push(' ');
            }
            to.push_str(text);
        }
        item.paragraphs.retain(|text| !text.is_empty());
        item
    })
}

impl Item<'_> {
    /// The function that is declared, if any, and its prototype.
    fn function(&self) -> Option<(&str, &str)> {
        // What is inline is declared, or defined at once.
        let end = [");", ") {\n"].iter().filter_map(|end| self.code.find(end)).min()?;
        let prototype = self.code[..end].trim_start_matches("static inline ");
        let (before, _) = prototype.split_once('(')?;
        let name = before.trim_end().rsplit([' ', '*']).next()?;
        (name.starts_with("scda_") && !before.contains('#')).then_some((name, prototype))
    }

    /// The constant that is defined, if any, and its value.
    fn constant(&self) -> Option<(&str, &str)> {
        self.code.strip_prefix("#define ")?.lines().next()?.split_once(' ')
    }

    /// The first sentence, for lists.
    fn brief(&self) -> &str {
        let text = &self.paragraphs[0];
        text.split_once(". ").map_or(text.trim_end_matches('.'), |(first, _)| first)
    }
}

/// Prose as roff: what stands in backticks is bold, or italic if it is one of `variables`.
fn prose(text: &str, variables: &[&str]) -> String {
    let mut out = String::new();
    for (index, piece) in text.split('`').enumerate() {
        let mut escaped = piece.replace('\\', "\\e");
        if index % 2 == 1 {
            escaped = escaped.replace('-', "\\-");
            let font = if variables.contains(&piece.trim_start_matches('*')) { 'I' } else { 'B' };
            write!(out, "\\f{font}{escaped}\\fP").unwrap();
        } else {
            out.push_str(&escaped);
        }
    }
    // One line for each sentence, as roff likes it; none that could be taken for a request.
    let lines = out.replace(". ", ".\n").replace(['\u{2018}', '\u{2019}'], "'");
    lines
        .lines()
        .map(|line| if line.starts_with(['.', '\'']) { format!("\\&{line}\n") } else { format!("{line}\n") })
        .collect()
}

fn page(header: &str, name: &str, brief: &str, body: &str) -> String {
    let brief = brief[..1].to_lowercase() + &brief[1..].replace('`', "");
    let title = name.to_uppercase();
    let version = env!("CARGO_PKG_VERSION");
    format!(
        ".\\\" Generated from include/{header} by tools/manual: do not edit. SPDX-License-Identifier: MIT OR Apache-2.0\n\
         .TH {title} 3 \"\" \"libscda {version}\" \"libscda\"\n.SH NAME\n{name} \\- {brief}\n{body}"
    )
}

/// The prototype, its arguments in italics.
fn synopsis(header: &str, prototype: &str) -> String {
    let mut out = format!(".SH SYNOPSIS\n.nf\n.B #include <{header}>\n.PP\n");
    let (before, arguments) = prototype.split_once('(').unwrap();
    let before = before.trim_end();
    let name = before.rsplit([' ', '*']).next().unwrap();
    let mut start = format!("{before}(");
    let indent = " ".repeat(start.len());
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    for (index, argument) in arguments.iter().enumerate() {
        let end = if index + 1 == arguments.len() { ");" } else { "," };
        let variable = argument.rsplit([' ', '*']).next().unwrap();
        let kind = argument.strip_suffix(variable).unwrap();
        if kind.is_empty() {
            writeln!(out, ".B {start}{argument}{end}").unwrap();
        } else {
            writeln!(out, ".BI \"{start}{kind}\" {variable} {end}").unwrap();
        }
        start.clone_from(&indent);
    }
    assert!(out.contains(name));
    out + ".fi\n"
}

/// `.TP` with a head in bold or italics.
fn entry(font: char, head: &str, more: &str, text: &str, variables: &[&str]) -> String {
    let text = prose(text, variables);
    format!(".TP\n\\f{font}{head}\\fP{more}\n{text}")
}

/// The functions that a text speaks of.
fn mentioned<'a>(text: &str, names: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    names.iter().copied().filter(|name| text.contains(&format!("`{name}`"))).collect()
}

fn see_also(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!(".BR {} (3)", name.as_ref())).collect();
    format!(".SH SEE ALSO\n{}\n", names.join(",\n"))
}

/// The page of a function. `overview` is that of its header.
fn function_page(
    header: &str,
    overview: &str,
    item: &Item,
    all: &BTreeSet<&str>,
    structs: &[Struct],
) -> String {
    let (name, prototype) = item.function().unwrap();
    let variables: Vec<&str> = item.params.iter().map(|(_, name, _)| name.as_str()).collect();
    let prose = |text: &str| prose(text, &variables);
    let mut body = synopsis(header, prototype);
    body += ".SH DESCRIPTION\n";
    body += &item.paragraphs.iter().map(|text| prose(text)).collect::<Vec<_>>().join(".PP\n");
    if !item.params.is_empty() {
        body += ".SS Arguments\n";
        if variables.iter().any(|name| ["f", "comm"].contains(name)) {
            writeln!(
                body,
                ".BR {overview} (3)\ndescribes under \"Parameters\" what holds for all functions."
            )
            .unwrap();
        }
        for (direction, name, text) in &item.params {
            body += &entry('I', name, &format!(" [{direction}]"), text, &variables);
        }
    }
    for filled in structs.iter().filter(|filled| name == format!("{}_init", filled.name)) {
        body += &filled.section;
    }
    write!(body, ".SH RETURN VALUE\n{}", prose(&item.returns)).unwrap();
    if !item.errors.is_empty() {
        write!(body, ".SH ERRORS\n{}", prose(&item.errors)).unwrap();
        body += "The codes are explained in\n.BR scda (3).\n";
    }
    if !item.spec.is_empty() {
        writeln!(body, ".SH STANDARDS\nThe paper of the scda format: {}", item.spec).unwrap();
    }
    let text = [&item.paragraphs[..], &item.params.iter().map(|param| param.2.clone()).collect::<Vec<_>>()]
        .concat()
        .join(" ");
    let mut others = mentioned(&text, all);
    others.remove(name);
    page(header, name, item.brief(), &(body + &see_also([overview].into_iter().chain(others))))
}

/// The page of all that the functions share.
fn overview(file: &Item, functions: &[&Item], constants: &[(&str, &str, String)]) -> String {
    let mut body = String::from(
        ".SH SYNOPSIS\n.nf\n.B #include <scda.h>\n.PP\n\
         .B mpicc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs scda)\n.fi\n.SH DESCRIPTION\n",
    );
    // "Memory. All memory passed ...": the first words are a heading.
    let headings = [
        "Order of calls",
        "Collective",
        "Parameters",
        "Errors",
        "Buffered sections",
        "Sealed files",
        "Datasets",
        "Streams",
        "Environment",
        "Memory",
        "Threads",
    ];
    let mut found = 0;
    for (index, text) in file.paragraphs.iter().enumerate().skip(1) {
        let heading = text.split_once(". ").filter(|(first, _)| headings.contains(first));
        if let Some((heading, rest)) = heading {
            found += 1;
            write!(body, ".SS {heading}\n{}", prose(rest, &[])).unwrap();
        } else {
            body += if index > 1 { ".PP\n" } else { "" };
            body += &prose(text, &[]);
        }
    }
    assert_eq!(found, headings.len());
    body += ".SS Functions\n";
    for item in functions {
        body += &entry('B', item.function().unwrap().0, "(3)", &format!("{}.", item.brief()), &[]);
    }
    for (title, errors) in [(".SS Constants\n", false), (".SH ERRORS\n", true)] {
        body += title;
        for (name, value, text) in constants {
            if (name.starts_with("SCDA_ERR") || *name == "SCDA_SUCCESS") == errors {
                body += &entry('B', name, &format!(" ({value})"), text, &[]);
            }
        }
    }
    let brief = file.paragraphs[0].trim_end_matches('.');
    let names = functions.iter().map(|item| item.function().unwrap().0);
    page("scda.h", "scda", brief, &(body + &see_also(names.chain(["scda_p4est"]))))
}

/// A struct, and what the page of the function that fills it says of its fields.
struct Struct {
    name: &'static str,
    section: String,
}

/// Takes a struct out of the header: its fields have comments of their own.
fn take_struct(header: &mut String, name: &'static str, title: &str) -> Struct {
    let (before, rest) = header.split_once(&format!("struct {name} {{")).unwrap();
    let (fields, after) = rest.split_once("\n};").unwrap();
    let mut section = format!(".SS {title}\n");
    section += &prose(&items(before).last().unwrap().paragraphs.join(" "), &[]);
    for field in items(fields) {
        let declaration = field.code.split_once(';').unwrap().0;
        section += &entry('B', declaration, "", &field.paragraphs.join(" "), &[]);
    }
    *header = format!("{before}{after}");
    Struct { name, section }
}

/// The pages by the names of their files.
fn pages(header: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut header = header.to_owned();
    let structs = [("scda_params", "The parameters"), ("scda_dataset", "The dataset")];
    let structs = structs.map(|(name, title)| take_struct(&mut header, name, title));
    let outer: Vec<Item> = items(&header).collect();

    let functions: Vec<&Item> = outer.iter().filter(|item| item.function().is_some()).collect();
    let names: BTreeSet<&str> = functions.iter().map(|item| item.function().unwrap().0).collect();
    for item in &functions {
        let text = function_page("scda.h", "scda", item, &names, &structs);
        all.insert(format!("{}.3", item.function().unwrap().0), text);
    }
    let constants: Vec<(&str, &str, String)> = outer
        .iter()
        .filter_map(|item| item.constant().map(|(name, value)| (name, value, item.paragraphs.join(" "))))
        .collect();
    all.insert("scda.3".to_owned(), overview(&outer[0], &functions, &constants));
    all.insert("scda.h.3".to_owned(), ".so man3/scda.3\n".to_owned());
    for Struct { name, .. } in structs {
        all.insert(format!("{name}_t.3"), format!(".so man3/{name}_init.3\n"));
    }
    all
}

/// The overview of scda_p4est.h: the comment at its beginning.
fn forest_overview(header: &str, functions: &[Item]) -> String {
    let comment = header.strip_prefix("/* ").unwrap().split_once(" */").unwrap().0;
    let lines: Vec<&str> = comment.lines().map(|line| line.strip_prefix(" *").unwrap_or(line)).collect();
    let mut paragraphs = lines.split(|line| line.is_empty());
    let title = paragraphs.next().unwrap().join("");
    let mut body = String::from(
        ".SH SYNOPSIS\n.nf\n.B #include <scda_p4est.h>\n.B #include <scda_p8est.h>\n.PP\n\
         .B mpicc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs scda) \\-lp4est \\-lsc\n.fi\n.SH DESCRIPTION\n",
    );
    let (_, more) = title.split_once(". ").unwrap();
    body += &prose(&format!("{}.", more.trim_end_matches('.')), &[]);
    for paragraph in paragraphs.filter(|paragraph| !paragraph.concat().contains("SPDX")) {
        if paragraph[0].starts_with("   ") {
            write!(body, ".PP\n.nf\n{}\n.fi\n", paragraph.join("\n")).unwrap();
        } else {
            let heading = if paragraph[0].starts_with(" `group`") { ".SS Parameters" } else { ".PP" };
            write!(body, "{heading}\n{}", prose(paragraph.concat().trim(), &["group", "step"])).unwrap();
        }
    }
    body += ".SS Functions\n";
    for item in functions {
        body += &entry('B', item.function().unwrap().0, "(3)", &format!("{}.", item.brief()), &[]);
    }
    assert!(body.contains(".SS Parameters"));
    let names = functions.iter().map(|item| item.function().unwrap().0);
    page(
        "scda_p4est.h",
        "scda_p4est",
        "forests of p4est in scda files",
        &(body + &see_also(["scda"].into_iter().chain(names))),
    )
}

/// The pages of the functions for forests, by the names of their files. In 3D they are those of 2D.
fn forest_pages(p4est: &str) -> BTreeMap<String, String> {
    let functions: Vec<Item> = items(p4est).filter(|item| item.function().is_some()).collect();
    let names: BTreeSet<&str> = functions.iter().map(|item| item.function().unwrap().0).collect();
    let mut all = BTreeMap::new();
    for item in &functions {
        let name = item.function().unwrap().0;
        all.insert(format!("{name}.3"), function_page("scda_p4est.h", "scda_p4est", item, &names, &[]));
        if let Some(rest) = name.strip_prefix("scda_p4est_") {
            all.insert(format!("scda_p8est_{rest}.3"), format!(".so man3/{name}.3\n"));
        }
    }
    all.insert("scda_p4est.3".to_owned(), forest_overview(p4est, &functions));
    for link in ["scda_p4est.h", "scda_p8est", "scda_p8est.h"] {
        all.insert(format!("{link}.3"), ".so man3/scda_p4est.3\n".to_owned());
    }
    all
}

/// The pages of the inline functions of another header, by the names of their files.
fn inline_pages(header: &str, text: &str) -> BTreeMap<String, String> {
    let functions: Vec<Item> = items(text).filter(|item| item.function().is_some()).collect();
    let names: BTreeSet<&str> = functions.iter().map(|item| item.function().unwrap().0).collect();
    let page = |item: &Item| {
        let name = item.function().unwrap().0;
        (format!("{name}.3"), function_page(header, "scda", item, &names, &[]))
    };
    functions.iter().map(page).collect()
}

/// All pages, by the names of their files, from the texts of the headers, which `read` gives.
///
/// # Errors
/// Those of `read`.
pub fn all(read: impl Fn(&str) -> Result<String>) -> Result<BTreeMap<String, String>> {
    let mut all = pages(&read("scda.h")?);
    all.extend(forest_pages(&read("scda_p4est.h")?));
    for header in ["scda_bind.h", "scda_meshes.h"] {
        all.extend(inline_pages(header, &read(header)?));
    }
    Ok(all)
}
