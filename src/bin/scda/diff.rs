//! `scda diff`: where two files differ.

use crate::fail::{Fail, NO, Result, TROUBLE};
use crate::files::{Input, Threads};
use crate::ls::kind;
use crate::manifest::{facts, put_bytes};
use crate::numbers::to_usize;
use crate::output::{Output, quote};
use crate::pieces::{Pieces, units};
use crate::progress::Progress;
use scda::{Reader, Section, SectionType};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Compare the sections and data of two files
///
/// Compares section by section, in order, decompressed: compression, line breaks, and the program that wrote the file are
/// no differences. Reports the first difference of each section. With --quiet, nothing behind the first difference is
/// read.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 no difference; 1 a difference; 2 a file could not be read, or is not valid.

Examples:
  scda diff old.scda new.scda
  scda diff --quiet old.scda new.scda && echo the same
  scda diff --raw old.scda new.scda           the compressed bytes, too")]
pub struct Args {
    /// A file; - is standard input
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Another one
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Compare compressed sections as the two sections that the files have
    #[arg(long)]
    raw: bool,
    /// Print nothing, and stop at the first difference
    #[arg(short, long)]
    quiet: bool,
    /// Print JSON, an object with a list of differences
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// One difference, in words and as an object.
struct Difference {
    text: String,
    json: Value,
}

fn in_words(section: &Section) -> String {
    let size = match section.section_type {
        SectionType::Inline => String::new(),
        SectionType::Block => format!(" of {} bytes", section.size),
        SectionType::Array => format!(" of {} elements of {} bytes", section.count, section.size),
        SectionType::Varray => format!(" of {} elements", section.count),
    };
    format!("{}{size}, {}", kind(section), quote(&section.user))
}

fn of_headers(number: u64, a: Option<&Section>, b: Option<&Section>) -> Difference {
    let text = |section: Option<&Section>| section.map_or("none".to_owned(), in_words);
    let json = |section: Option<&Section>| section.map(|section| Value::Object(facts(number, section)));
    Difference {
        text: format!("section {number}: {} | {}", text(a), text(b)),
        json: json!({ "section": number, "what": "header", "a": json(a), "b": json(b) }),
    }
}

/// Compares the data of the sections, whose headers are the same.
fn of_data(
    number: u64,
    section: &Section,
    other: &Section,
    a: &mut Reader,
    b: &mut Reader,
    progress: &mut Progress,
) -> Result<Option<Difference>> {
    let (mut in_a, mut in_b) = (Pieces::all(section), Pieces::all(other));
    if section.section_type == SectionType::Varray
        && let Some(difference) = of_sizes(number, section, a, b)?
    {
        return Ok(Some(difference));
    }
    // Pieces of compressed and of plain data may have other lengths.
    let (mut at, mut used_a, mut used_b) = (0, 0, 0);
    loop {
        if used_a == in_a.data().len() && in_a.next(a)? {
            used_a = 0;
            progress.add(in_a.data().len() as u64);
        }
        if used_b == in_b.data().len() && in_b.next(b)? {
            used_b = 0;
        }
        let (rest_a, rest_b) = (&in_a.data()[used_a..], &in_b.data()[used_b..]);
        let length = rest_a.len().min(rest_b.len());
        if length == 0 {
            if in_a.is_done() && in_b.is_done() {
                return Ok(None);
            }
            continue;
        }
        if rest_a[..length] == rest_b[..length] {
            used_a += length;
            used_b += length;
            at += length as u64;
            continue;
        }
        let place = rest_a.iter().zip(rest_b).position(|(a, b)| a != b).unwrap_or(0);
        let byte = at + place as u64;
        let (byte, element) = match section.section_type {
            SectionType::Inline | SectionType::Block => (byte, None),
            SectionType::Array => (byte % section.size, Some(byte / section.size)),
            SectionType::Varray => {
                // The sizes are the same, and so are the pieces.
                let (element, byte) = in_a.varray_element(used_a + place);
                (byte, Some(element))
            }
        };
        let (x, y) = (rest_a[place], rest_b[place]);
        let name = quote(&section.user);
        let element_words = element.map(|element| format!("element {element}, ")).unwrap_or_default();
        return Ok(Some(Difference {
            text: format!(
                "section {number} ({} {name}): {element_words}byte {byte}: 0x{x:02x} | 0x{y:02x}",
                kind(section)
            ),
            json: json!({ "section": number, "what": "data", "element": element, "byte": byte, "a": x, "b": y }),
        }));
    }
}

fn of_sizes(number: u64, section: &Section, a: &mut Reader, b: &mut Reader) -> Result<Option<Difference>> {
    let (mut sizes_a, mut sizes_b) = (vec![0; 1 << 14], vec![0; 1 << 14]);
    let mut done = 0;
    while done < section.count {
        let step = (section.count - done).min(sizes_a.len() as u64);
        sizes_a.truncate(to_usize(step));
        sizes_b.truncate(sizes_a.len());
        a.read_varray_sizes_range(done..done + step, &mut sizes_a)?;
        b.read_varray_sizes_range(done..done + step, &mut sizes_b)?;
        if let Some(index) = sizes_a.iter().zip(&sizes_b).position(|(a, b)| a != b) {
            let (element, x, y) = (done + index as u64, sizes_a[index], sizes_b[index]);
            let name = quote(&section.user);
            return Ok(Some(Difference {
                text: format!("section {number} (varray {name}): element {element}: {x} bytes | {y} bytes"),
                json: json!({ "section": number, "what": "size", "element": element, "a": x, "b": y }),
            }));
        }
        done += step;
    }
    Ok(None)
}

/// Ends the current section, if there is one. One that differs is read, too: data that are damaged are no difference but
/// trouble.
fn end(
    reader: &mut Reader,
    section: Option<&Section>,
    args: &Args,
    difference: Option<&Difference>,
) -> Result<()> {
    let Some(section) = section else { return Ok(()) };
    if difference.is_some() && !args.quiet {
        reader.seek(section.offset)?;
        reader.next_section(!args.raw)?;
        let mut pieces = Pieces::all(section);
        while pieces.next(reader)? {}
    }
    Ok(reader.skip()?)
}

fn compare(
    args: &Args,
    a: &Input,
    b: &Input,
    mut each: impl FnMut(Difference) -> Result<bool>,
) -> Result<()> {
    let (mut in_a, mut in_b) = (a.open()?, b.open()?);
    let mut progress = Progress::new("diff", in_a.file_size().unwrap_or(0));
    if in_a.user() != in_b.user() {
        let (mut x, mut y) = (Map::new(), Map::new());
        put_bytes(&mut x, "user", in_a.user());
        put_bytes(&mut y, "user", in_b.user());
        let text = format!("user string of the file: {} | {}", quote(in_a.user()), quote(in_b.user()));
        if !each(Difference { text, json: json!({ "section": 0, "what": "user", "a": x, "b": y }) })? {
            return Ok(());
        }
    }
    let mut number = 0;
    loop {
        number += 1;
        let difference = match (in_a.next_section(!args.raw)?, in_b.next_section(!args.raw)?) {
            (None, None) => return Ok(()),
            (Some(x), Some(y)) => {
                let is_same = x.section_type == y.section_type
                    && x.user == y.user
                    && (x.count, x.size) == (y.count, y.size)
                    && units(&x) == units(&y);
                let difference = match is_same {
                    true => of_data(number, &x, &y, &mut in_a, &mut in_b, &mut progress)?,
                    false => Some(of_headers(number, Some(&x), Some(&y))),
                };
                end(&mut in_a, Some(&x), args, difference.as_ref())?;
                end(&mut in_b, Some(&y), args, difference.as_ref())?;
                difference
            }
            (x, y) => {
                let difference = of_headers(number, x.as_ref(), y.as_ref());
                end(&mut in_a, x.as_ref(), args, Some(&difference))?;
                end(&mut in_b, y.as_ref(), args, Some(&difference))?;
                Some(difference)
            }
        };
        progress.set(in_a.position().unwrap_or(0));
        if let Some(difference) = difference
            && !each(difference)?
        {
            return Ok(());
        }
    }
}

pub fn run(args: &Args) -> Result<()> {
    let trouble = |fail: Fail| match fail {
        // A file that is not valid cannot be compared.
        Fail::Scda(error) => {
            Fail::Scda(error).report();
            Fail::Said(TROUBLE)
        }
        other => other,
    };
    let (a, b) = (Input::new(&args.a, &args.threads)?, Input::new(&args.b, &args.threads)?);
    let mut out = Output::new()?;
    let mut list = Vec::new();
    let mut found = false;
    let result = compare(args, &a, &b, |difference| {
        found = true;
        if args.json {
            list.push(difference.json);
        } else if !args.quiet {
            out.text(format_args!("{}\n", difference.text))?;
        }
        Ok(!args.quiet)
    });
    let written = match args.json && result.is_ok() {
        true => {
            let object = json!({ "a": a.name(), "b": b.name(), "same": !found, "differences": list });
            out.text(format_args!("{object}\n"))
        }
        false => Ok(()),
    };
    match result.and(written).and(out.finish()) {
        // Whoever reads no more has the answer.
        Ok(()) | Err(Fail::Quiet) if found => Err(Fail::Said(NO)),
        other => other.map_err(trouble),
    }
}
