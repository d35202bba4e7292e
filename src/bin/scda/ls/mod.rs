//! `scda ls`: what is in a file.

mod index;

use crate::fail::{Fail, Result};
use crate::files::{Input, Threads};
use crate::manifest;
use crate::output::{Output, quote, visible};
use crate::pieces::{for_each_sizes, units};
use crate::select::{self, Selection};
use scda::internals::Seals;
use scda::{Reader, Section, SectionType};
use std::path::PathBuf;

/// List the sections of files
///
/// One line for each section: its number; its kind (I: inline data, B: a block, A: an array, V: an array of elements
/// of different sizes); the number of elements N; the bytes E of each element (of V: the least, the mean, and the most); the
/// bytes of data, decompressed; the offset in the file; for compressed sections the ratio of the data to their bytes in the
/// file; the user string. Only headers and sizes are read. Of a sealed file, only the index is: of V it has the mean alone,
/// shown as ~E; -l and --json read the sizes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda ls state.scda
  scda ls -l state.scda                       all details of each section
  scda ls --raw state.scda                    a compressed section as the two that the file has
  scda ls --json state.scda | jq '.sections[] | select(.type == \"A\") | .user'
  scda ls --json --data state.scda > all.json; scda make all.json again.scda")]
pub struct Args {
    /// The files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show all details, several lines for each section
    #[arg(short, long)]
    long: bool,
    /// Show a compressed section as the two sections that the file has
    #[arg(long)]
    raw: bool,
    /// Only these sections: numbers, ranges, or a pattern for user strings
    #[arg(short, long, value_name = "SECTIONS")]
    select: Vec<Selection>,
    /// Print JSON, which scda make reads
    #[arg(long, conflicts_with = "long")]
    json: bool,
    /// With --json: print the data, too
    #[arg(long, requires = "json")]
    data: bool,
    #[command(flatten)]
    threads: Threads,
}

/// What the list tells of a section.
pub struct Row {
    pub number: u64,
    pub section: Section,
    /// The bytes of data, decompressed.
    pub bytes: u64,
    /// The bytes of the whole section in the file.
    pub stored: u64,
    /// Of a varray with elements: the least and the largest size.
    pub extremes: Option<(u64, u64)>,
}

impl Row {
    pub fn mean(&self) -> f64 {
        as_f64(self.bytes) / as_f64(self.section.count)
    }
}

/// For ratios, which need not be exact.
#[allow(clippy::cast_precision_loss)]
pub fn as_f64(n: u64) -> f64 {
    n as f64
}

/// Reads what there is to know of the current section, and ends it.
pub fn measure(reader: &mut Reader, number: u64, section: Section) -> scda::Result<Row> {
    let (mut bytes, mut extremes) = (section.count * section.size, None);
    match section.section_type {
        SectionType::Inline | SectionType::Block => bytes = units(&section),
        SectionType::Array => {}
        SectionType::Varray => {
            for_each_sizes(reader, section.count, |sizes| {
                for &size in sizes {
                    // A sum that exceeds 63 bits is an error of the section's end below.
                    bytes = bytes.saturating_add(size);
                    let (least, most) = extremes.unwrap_or((size, size));
                    extremes = Some((size.min(least), size.max(most)));
                }
                Ok::<_, scda::Error>(())
            })?;
        }
    }
    reader.skip()?;
    let end = reader.position().unwrap_or(section.offset);
    Ok(Row { number, section, bytes, stored: end - section.offset, extremes })
}

/// The seals of a file that ends with one.
pub fn seals(reader: &Reader, input: &Input) -> Result<Option<Seals>> {
    if !reader.is_sealed() {
        return Ok(None);
    }
    // Whatever is wrong with them, the sections can be read.
    Ok(Some(input.open_damaged(false)?.seals()?))
}

pub fn run(args: &Args) -> Result<()> {
    let mut out = Output::new()?;
    let mut code = 0;
    for (index, path) in args.files.iter().enumerate() {
        if index > 0 && !args.json {
            out.bytes(b"\n")?;
        }
        let result = Input::new(path, &args.threads).and_then(|input| match args.json {
            true => manifest::write(&mut out, &input, args.raw, args.data, &args.select),
            false => list(&mut out, &input, args),
        });
        out.finish()?;
        match result {
            Err(Fail::Quiet) => return Err(Fail::Quiet),
            Err(fail) => {
                code = code.max(fail.code());
                fail.report();
            }
            Ok(()) => {}
        }
    }
    if code == 0 { Ok(()) } else { Err(Fail::Said(code)) }
}

fn list(out: &mut Output, input: &Input, args: &Args) -> Result<()> {
    let mut reader = input.open()?;
    let size = reader.file_size().unwrap_or(0);
    let (user, vendor) = (quote(reader.user()), quote(reader.vendor()));
    let seals = seals(&reader, input)?;
    let sealed = seals.as_ref().map_or(String::new(), |seals| match seals.all.len() {
        1 => ", sealed".to_owned(),
        count => format!(", sealed: {count} seals"),
    });
    let name = visible(input.name());
    out.text(format_args!("{name}: {user}, {size} bytes, by {vendor}{sealed}\n"))?;
    if !args.long {
        let line = head();
        out.text(format_args!("{}\n", out.colour(1, &line)))?;
    }
    let mut damage = None;
    if let Some(mut seals) = seals.filter(|_| !args.long && !args.raw) {
        let mut reader = input.open_damaged(false)?;
        damage = index::damage(&mut reader, &mut seals)?;
        // If it is damaged, the sections themselves may be whole.
        if damage.is_none() {
            return index::list(out, &mut reader, input.name(), &seals, &args.select);
        }
    }
    let (mut number, mut selected) = (0, 0);
    // What is behind the last one that is meant may be damaged.
    while !select::none_from(&args.select, number + 1) {
        let Some(section) = reader.next_section(!args.raw)? else { break };
        number += 1;
        if !select::any(&args.select, number, &section.user) {
            reader.skip()?;
            continue;
        }
        selected += 1;
        let row = measure(&mut reader, number, section)?;
        if args.long { describe(out, &row)? } else { out.text(format_args!("{}\n", line(&row)))? }
    }
    select::check(&args.select, input.name(), number)?;
    select::check_some(&args.select, input.name(), selected)?;
    damage.map_or(Ok(()), |error| Err(error.into()))
}

/// What stands over the lines.
pub fn head() -> String {
    format!(
        "{:>5} {:4} {:>12} {:>18} {:>14} {:>14} {:>6}  user string",
        "", "kind", "N", "E", "bytes", "offset", "ratio"
    )
}

/// One line for a section.
pub fn line(row: &Row) -> String {
    let section = &row.section;
    let e = match (section.section_type, row.extremes) {
        (SectionType::Block | SectionType::Array, _) => section.size.to_string(),
        (SectionType::Varray, Some((least, most))) if least == most => least.to_string(),
        (SectionType::Varray, Some((least, most))) => format!("{least}/{:.1}/{most}", row.mean()),
        (SectionType::Inline | SectionType::Varray, _) => "-".to_owned(),
    };
    Line {
        number: row.number,
        section_type: section.section_type,
        count: section.count,
        e: &e,
        bytes: row.bytes,
        offset: section.offset,
        stored: section.decoded.then_some(row.stored),
        user: &section.user,
    }
    .text()
}

/// What stands in a line.
pub struct Line<'a> {
    pub number: u64,
    pub section_type: SectionType,
    pub count: u64,
    /// The sizes of the elements.
    pub e: &'a str,
    pub bytes: u64,
    pub offset: u64,
    /// Of a compressed section, its bytes in the file.
    pub stored: Option<u64>,
    pub user: &'a [u8],
}

impl Line<'_> {
    pub fn text(&self) -> String {
        let Self { number, count, e, bytes, offset, .. } = self;
        let kind = char::from(self.section_type.letter());
        let n = match self.section_type {
            SectionType::Inline | SectionType::Block => "-".to_owned(),
            SectionType::Array | SectionType::Varray => count.to_string(),
        };
        let ratio = match self.stored {
            Some(stored) => format!("{:.2}", as_f64(*bytes) / as_f64(stored)),
            None => "-".to_owned(),
        };
        let user = quote(self.user);
        format!("{number:5} {kind:4} {n:>12} {e:>18} {bytes:14} {offset:14} {ratio:>6}  {user}")
    }
}

/// What a kind is called.
pub fn kind(section: &Section) -> &'static str {
    match section.section_type {
        SectionType::Inline => "inline",
        SectionType::Block => "block",
        SectionType::Array => "array",
        SectionType::Varray => "varray",
    }
}

/// All that is known of a section, in words.
fn describe(out: &mut Output, row: &Row) -> Result<()> {
    let section = &row.section;
    let title = format!("section {}: {} {}", row.number, kind(section), quote(&section.user));
    let count = match (section.section_type, row.extremes) {
        (SectionType::Inline | SectionType::Block, _) => format!("{} bytes", row.bytes),
        (SectionType::Array, _) => {
            format!("{} elements of {} bytes: {} bytes", section.count, section.size, row.bytes)
        }
        (SectionType::Varray, None) => "0 elements".to_owned(),
        (SectionType::Varray, Some((least, most))) => format!(
            "{} elements of {least} to {most} bytes, {:.3} in the mean: {} bytes",
            section.count,
            row.mean(),
            row.bytes
        ),
    };
    let (offset, end) = (section.offset, section.offset + row.stored);
    let compressed = match section.decoded {
        true => format!("yes, {:.3} of the data for 1 of the file", as_f64(row.bytes) / as_f64(row.stored)),
        false => "no".to_owned(),
    };
    out.text(format_args!(
        "{}\n  data        {count}\n  compressed  {compressed}\n  in the file {} bytes, from {offset} to {end}; data from {}\n",
        out.colour(1, &title),
        row.stored,
        section.data_offset,
    ))
}
