//! `scda ls`: what is in a file.

mod index;
mod tree;

use crate::datasets::{
    Found, FoundGroup, FoundStreams, Item, Pair, Walk, attribute_line, attributes_of, chunk_word, remarks,
    shape_word,
};
use crate::fail::{Fail, NO, Result, and_known, is_invalid};
use crate::files::{Input, Threads};
use crate::manifest;
use crate::output::{Output, complain, quote, visible};
use crate::pieces::{for_each_sizes, units};
use crate::select::{self, Selection};
use crate::unfinished::Unfinished;
use scda::internals::{Seals, rounding};
use scda::{Layout, Reader, Section, SectionType};
use std::path::PathBuf;

/// List the sections and datasets of files
///
/// One line for each section: its number; its kind (I: inline data, B: a block, A: an array, V: an array of elements
/// of different sizes); the number of elements N; the bytes E of each element (of V: the least, the mean, and the most); the
/// bytes of data, decompressed; the offset in the file; for compressed sections the ratio of the data to their bytes in the
/// file; the user string. Only headers and sizes are read. Of a sealed file, only the index is: of V it has the mean alone,
/// shown as ~E; -l and --json read the sizes.
///
/// A dataset, which is two sections, has one line: the number of the second section; D; the shape; the shape of the chunks;
/// behind the name its type and units. So has a part of a set of streams, which is three: the number of the second section; S; the
/// number of tasks; the bytes of a chunk; the bytes of all its streams.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda ls state.scda
  scda ls -l state.scda                       all details of each section
  scda ls --tree state.scda                   datasets in their groups, with attributes
  scda ls --raw state.scda                    sections as the file has them: of compressed ones and of datasets both
  scda ls --json state.scda | jq '.sections[] | select(.type == \"A\") | .user'
  scda ls --json --data state.scda > all.json; scda make all.json again.scda")]
pub struct Args {
    /// The files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show all details, several lines for each section
    #[arg(short, long)]
    long: bool,
    /// Show datasets in the tree of their groups, with attributes, and no other sections
    #[arg(long, conflicts_with_all = ["long", "json", "raw", "select"])]
    tree: bool,
    /// Show a compressed section and a dataset as the two sections that the file has, and streams as three
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
    /// Also what is behind the last seal of a sealed file: what a killed job has left, or another one writes now
    #[arg(long)]
    unsealed: bool,
    #[command(flatten)]
    threads: Threads,
}

/// What a line of the list shows of a section.
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
    // The sections can be read although the seals are damaged.
    Ok(Some(input.open_damaged(false)?.seals()?))
}

pub fn run(args: &Args) -> Result<()> {
    let mut out = Output::new()?;
    let mut code = 0;
    for (index, path) in args.files.iter().enumerate() {
        if index > 0 && !args.json {
            out.bytes(b"\n")?;
        }
        let input = Input::new(path, &args.threads).map(|input| input.with_unsealed(args.unsealed));
        let result = input.and_then(|input| match args.json {
            true => manifest::write(&mut out, &input, args.raw, args.data, &args.select),
            false => list(&mut out, &input, args),
        });
        out.end_file(result, &mut code)?;
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
    if args.tree {
        return tree::show(out, &mut reader, input);
    }
    if !args.long {
        let line = head();
        out.text(format_args!("{}\n", out.colour(1, &line)))?;
    }
    let mut damage = None;
    if let Some(mut seals) = seals.filter(|_| !args.long && !args.raw) {
        let mut reader = input.open_damaged(false)?;
        damage = index::damage(&mut reader, &mut seals)?;
        // The sections may be whole although the index is damaged.
        if damage.is_none() {
            return index::list(out, &mut reader, input, &seals, &args.select);
        }
    }
    let mut faults = Faults::default();
    let listed = walk_list(out, &mut reader, input, args, &mut faults);
    let listed = and_known(listed, || faults.end());
    and_known(listed, || damage.map_or(Ok(()), |error| Err(error.into())))
}

/// Lists the selected sections by their headers.
fn walk_list(
    out: &mut Output,
    reader: &mut Reader,
    input: &Input,
    args: &Args,
    faults: &mut Faults,
) -> Result<()> {
    let mut selected = 0;
    let mut walk = if args.raw { Walk::new(input, true) } else { Walk::with_streams(input) };
    // What is behind the last one that is meant may be damaged.
    while !select::none_from(&args.select, walk.number + 1) {
        let Some(item) = walk.next(reader)? else { break };
        if !select::any_of(&args.select, &item) {
            item.skip(reader)?;
            continue;
        }
        selected += 1;
        faults.add(item.fault.as_ref());
        if item.fault.is_some()
            && let Some(streams) = Unfinished::find(&mut input.open_damaged(false)?, input, &item.section)?
        {
            let name = visible(input.name());
            complain(&format!("{name}: section {}: {}", item.number, streams.words()));
        }
        let row = measure_item(reader, &item)?;
        if let Some(found) = &item.streams {
            match args.long {
                true => describe_streams(out, found, &item, &row)?,
                false => out.text(format_args!("{}\n", streams_line(found, &item)))?,
            }
            continue;
        }
        match (&item.pair, args.long) {
            (Some(pair), false) => out.text(format_args!("{}\n", pair_line(pair, row.number, row.stored)))?,
            (Some(Pair::Dataset(found)), true) => describe_dataset(out, found, &row)?,
            (Some(Pair::Group(found)), true) => describe_group(out, found, &row)?,
            (None, true) => describe(out, &row)?,
            (None, false) => out.text(format_args!("{}\n", line(&row)))?,
        }
    }
    select::check(&args.select, input.name(), walk.number)?;
    select::check_some(&args.select, input.name(), selected)
}

/// Sections that look like datasets, but are none.
#[derive(Default)]
pub struct Faults {
    is_invalid: bool,
}

impl Faults {
    /// Reports an error, if there is one.
    pub fn add(&mut self, fault: Option<&scda::Error>) {
        let Some(fault) = fault else { return };
        self.is_invalid |= is_invalid(fault);
        complain(&fault.to_string());
    }

    pub fn end(&self) -> Result<()> {
        if self.is_invalid { Err(Fail::Said(NO)) } else { Ok(()) }
    }
}

/// [`measure`] of a section, or of the last one of those that belong together.
pub fn measure_item(reader: &mut Reader, item: &Item) -> Result<Row> {
    let mut last = item.section;
    for _ in item.number..item.last() {
        reader.skip()?;
        last = reader.next_section(true)?.ok_or_else(|| Fail::Trouble("the file has changed".to_owned()))?;
    }
    Ok(measure(reader, item.last(), last)?)
}

/// One line for a part of a set of streams.
fn streams_line(found: &FoundStreams, item: &Item) -> String {
    let FoundStreams { streams, bytes, .. } = found;
    let line = Line {
        number: item.number + 1,
        kind: 'S',
        n: streams.tasks().to_string(),
        e: &streams.chunk_bytes().to_string(),
        bytes: *bytes,
        offset: item.section.offset,
        stored: None,
        user: streams.name(),
    };
    let part = match streams.part() {
        0 => String::new(),
        part => format!(", part {part}"),
    };
    format!("{}  streams{part}", line.text())
}

/// One line for a dataset or group, whose second section has this number, and so many bytes in the file.
pub fn pair_line(pair: &Pair, number: u64, stored: u64) -> String {
    let (offset, stored) = (pair.first().offset, Some(stored));
    match pair {
        Pair::Dataset(found) => {
            let Found { dataset, data, .. } = &**found;
            let is_plain = dataset.layout == Layout::Contiguous && !data.decoded;
            let line = Line {
                number,
                kind: 'D',
                n: shape_word(&dataset.shape),
                e: &chunk_word(dataset),
                bytes: dataset.data_bytes().unwrap_or(0),
                offset,
                stored: stored.filter(|_| !is_plain),
                user: &data.user,
            };
            format!("{}  {}", line.text(), remarks(dataset))
        }
        Pair::Group(found) => {
            let block = &found.block;
            let stored = stored.filter(|_| block.decoded);
            let n = "-".to_owned();
            Line { number, kind: 'G', n, e: "-", bytes: block.size, offset, stored, user: &block.user }.text()
        }
    }
}

/// The heading of the columns.
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
        kind: char::from(section.section_type.letter()),
        n: count_word(section.section_type, section.count),
        e: &e,
        bytes: row.bytes,
        offset: section.offset,
        stored: section.decoded.then_some(row.stored),
        user: &section.user,
    }
    .text()
}

/// The columns of a line.
pub struct Line<'a> {
    pub number: u64,
    pub kind: char,
    /// The number of elements, or the shape.
    pub n: String,
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
        let Self { number, kind, n, e, bytes, offset, .. } = self;
        let ratio = match self.stored {
            Some(stored) if *bytes > 0 => format!("{:.2}", as_f64(*bytes) / as_f64(stored)),
            // Nothing was compressed.
            _ => "-".to_owned(),
        };
        let user = quote(self.user);
        format!("{number:5} {kind:4} {n:>12} {e:>18} {bytes:14} {offset:14} {ratio:>6}  {user}")
    }
}

/// The number of elements, of what has some.
pub fn count_word(section_type: SectionType, count: u64) -> String {
    match section_type {
        SectionType::Inline | SectionType::Block => "-".to_owned(),
        SectionType::Array | SectionType::Varray => count.to_string(),
    }
}

/// The name of a kind.
pub fn kind(section: &Section) -> &'static str {
    match section.section_type {
        SectionType::Inline => "inline",
        SectionType::Block => "block",
        SectionType::Array => "array",
        SectionType::Varray => "varray",
    }
}

/// All details of a section, as text.
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
    let compressed = match section.decoded {
        true => format!("yes, {}", ratio_words(row.bytes, row.stored)),
        false => "no".to_owned(),
    };
    out.text(
        format_args!("{}\n  data        {count}\n  compressed  {compressed}\n", out.colour(1, &title),),
    )?;
    describe_place(out, section.offset, row)
}

fn ratio_words(bytes: u64, stored: u64) -> String {
    if bytes == 0 {
        return "no data".to_owned();
    }
    format!("{:.3} of the data for 1 of the file", as_f64(bytes) / as_f64(stored))
}

/// Where in the file it is, from this offset on.
fn describe_place(out: &mut Output, offset: u64, row: &Row) -> Result<()> {
    let end = row.section.offset + row.stored;
    let (bytes, data) = (end - offset, row.section.data_offset);
    out.text(format_args!("  in the file {bytes} bytes, from {offset} to {end}; data from {data}\n"))
}

/// All details of a dataset.
fn describe_dataset(out: &mut Output, found: &Found, row: &Row) -> Result<()> {
    let Found { dataset, block, .. } = found;
    let title = format!("dataset {}: {}", row.number, quote(dataset.name.as_bytes()));
    let items: u64 = dataset.shape.iter().product();
    let bytes = dataset.data_bytes()?;
    out.text(format_args!(
        "{}\n  type        {}\n  shape       {}\n  data        {items} items: {bytes} bytes\n",
        out.colour(1, &title),
        dataset.data_type,
        shape_word(&dataset.shape),
    ))?;
    let ratio = ratio_words(bytes, row.stored);
    let shuffle = if dataset.shuffle { "shuffled, " } else { "" };
    let layout = match dataset.layout {
        Layout::Chunked { text, .. } => {
            let how = if text { "as text".to_owned() } else { format!("by {}", dataset.codec) };
            format!("in chunks of {}, {shuffle}{how}: {ratio}", chunk_word(dataset))
        }
        _ if row.section.decoded => format!("contiguous, compressed: {ratio}"),
        _ => "contiguous".to_owned(),
    };
    out.text(format_args!("  layout      {layout}\n"))?;
    if let Some(words) = rounding_words(&dataset.attributes) {
        out.text(format_args!("  rounded     {words}\n"))?;
    }
    if !dataset.dimension_names.is_empty() {
        let name =
            |name: &Option<String>| name.as_ref().map_or("-".to_owned(), |name| quote(name.as_bytes()));
        let names: Vec<_> = dataset.dimension_names.iter().map(name).collect();
        out.text(format_args!("  dimensions  {}\n", names.join(", ")))?;
    }
    if let Some(why) = &dataset.unsupported {
        out.text(format_args!("  unreadable  {}\n", visible(why)))?;
    }
    describe_attributes(out, &dataset.attributes)?;
    describe_place(out, block.offset, row)
}

/// How far the numbers may be from those that were written, if attributes say so.
fn rounding_words(attributes: &str) -> Option<String> {
    let bounds = [(rounding::RELATIVE, "relative"), (rounding::ABSOLUTE, "absolute")];
    let attributes: serde_json::Value = serde_json::from_str(attributes).ok()?;
    let words = bounds.iter().filter_map(|(key, kind)| {
        let bound = attributes.get(key)?.as_f64()?;
        Some(format!("{kind} error at most {bound}"))
    });
    Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

/// All details of a part of a set of streams.
fn describe_streams(out: &mut Output, found: &FoundStreams, item: &Item, row: &Row) -> Result<()> {
    let FoundStreams { streams, chunks, bytes, extremes: (least, most), .. } = found;
    let title = format!("streams {}: {}", item.number + 1, quote(streams.name()));
    out.text(format_args!(
        "{}\n  tasks       {}, with {least} to {most} bytes: {bytes} bytes\n  chunks      of {} bytes\n  part        {}\n",
        out.colour(1, &title),
        streams.tasks(),
        streams.chunk_bytes(),
        streams.part(),
    ))?;
    let end = row.section.offset + row.stored;
    let (offset, data) = (item.section.offset, chunks.data_offset);
    let length = end - offset;
    out.text(format_args!("  in the file {length} bytes, from {offset} to {end}; chunks from {data}\n"))
}

fn describe_group(out: &mut Output, found: &FoundGroup, row: &Row) -> Result<()> {
    let title = format!("group {}: {}", row.number, quote(&found.block.user));
    out.text(format_args!("{}\n", out.colour(1, &title)))?;
    describe_attributes(out, &found.group.attributes)?;
    describe_place(out, found.first.offset, row)
}

fn describe_attributes(out: &mut Output, attributes: &str) -> Result<()> {
    attributes_of(attributes)
        .iter()
        .try_for_each(|attribute| out.text(format_args!("  attribute   {}\n", attribute_line(attribute))))
}
