//! `scda ls`: what is in a file.

mod index;
mod tree;

use crate::datasets::{Item, StreamBytes, Walk, attribute_lines, chunk_word, shape_word, unsupported};
use crate::fail::{Fail, Result, and_known};
use crate::files::{Input, Resources};
use crate::incomplete_streams::IncompleteStreams;
use crate::manifest;
use crate::output::{Output, complain, quote, visible};
use crate::read_ahead::ReadAhead;
use crate::rows::{Faults, Row, as_f64, head, item_line, kind, line, measure_item, seals};
use crate::select::{self, Selection};
use scda::{Content, DataType, DatasetHandle, Group, Layout, Reader, SectionType, Streams, SuperblockState};
use scda_format::dataset::rounding;
use scda_hdf5::{Previous, Superblock};
use std::path::PathBuf;

/// List the sections and datasets of files
///
/// Prints one line for each section: its number; its kind (I: inline data, B: block, A: array, V: varray,
/// whose elements differ in size); the number of elements N; the bytes E of each element (of V: the minimum,
/// the mean and the maximum); the bytes of data, decompressed; the offset in the file; the compression ratio
/// of a compressed section; the user string. Reads only headers and sizes, or, of a sealed file, only the
/// index, which has only the mean of V, shown as ~E; -l and --json read the sizes.
///
/// A dataset (D), which consists of two sections, has one line: the number of the second section, the shape
/// as N, the shape of the chunks as E, and after the name the type and units. So has a part of a set of
/// streams (S), which consists of three sections: the number of the second one, the number of tasks as N, the
/// bytes of a chunk as E, and the bytes of all streams.
///
/// The first line says whether programs for HDF5 can open the file, and up to which seal; the lines after it
/// say what they do not see, and why.
///
/// A dataset with an unknown codec or invalid metadata has one line for each section; if the metadata are
/// invalid, the exit code is 1. --json prints the sections before any damage, then an error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda ls state.scda
  scda ls -l state.scda                       all details of each section
  scda ls --tree state.scda                   datasets in their groups, with attributes
  scda ls --raw state.scda                    sections as stored
  scda ls --json state.scda | jq '.sections[] | select(.type == \"A\") | .user'")]
pub struct Args {
    /// The files to list; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show all details, on several lines for each section
    #[arg(short, long)]
    long: bool,
    /// Show only datasets, as a tree of their groups, with attributes
    #[arg(long, conflicts_with_all = ["long", "json", "raw", "select"])]
    tree: bool,
    /// Show sections as stored: two for a compressed section or a dataset, three for streams
    #[arg(long)]
    raw: bool,
    /// Select only these sections: numbers, ranges, or a pattern for user strings
    #[arg(short, long, value_name = "SECTIONS")]
    select: Vec<Selection>,
    /// Print JSON
    #[arg(long, conflicts_with = "long")]
    json: bool,
    /// Include the sections after the last seal: a killed job left them, or another program is writing them
    #[arg(long)]
    unsealed: bool,
    #[command(flatten)]
    resources: Resources,
}

/// The most lines about data that HDF5 does not show.
const MOST_HIDDEN: usize = 5;

pub fn run(args: &Args) -> Result<()> {
    let mut out = Output::of_json(args.json)?;
    let mut code = 0;
    for (index, path) in args.files.iter().enumerate() {
        if index > 0 && !args.json {
            out.bytes(b"\n")?;
        }
        let input = Input::new(path, &args.resources).map(|input| input.with_unsealed(args.unsealed));
        let result = input.and_then(|input| match args.json {
            true => manifest::write(&mut out, &input, &args.select, args.raw),
            false => list(&mut out, &input, args),
        });
        out.end_file(result, &mut code)?;
    }
    if code == 0 { Ok(()) } else { Err(Fail::Said(code)) }
}

fn list(out: &mut Output, input: &Input, args: &Args) -> Result<()> {
    let mut reader = input.open_damaged(false)?;
    let size = reader.inspect().file_size().unwrap_or(0);
    let (user, vendor) = (quote(&reader.header().user), quote(&reader.header().vendor));
    let seals = seals(&mut reader)?;
    let sealed = seals.as_ref().map_or(String::new(), |seals| match seals.all.len() {
        1 => ", sealed".to_owned(),
        count => format!(", sealed: {count} seals"),
    });
    let name = visible(input.name());
    let superblock = reader.inspect().superblock()?;
    let hdf5 = match superblock {
        // Programs for HDF5 do not open a file that was truncated.
        Some(SuperblockState::View(view)) if view.end > size => String::new(),
        Some(SuperblockState::View(view)) => match &seals {
            Some(seals) if seals.all.last().is_none_or(|last| last.seal.length != view.end) => {
                let seal = seals.all.iter().take_while(|sealed| sealed.seal.length <= view.end).count();
                format!(", HDF5 as of seal {seal}")
            }
            _ => ", HDF5".to_owned(),
        },
        _ => String::new(),
    };
    out.text(format_args!("{name}: {user}, {size} bytes, by {vendor}{sealed}{hdf5}\n"))?;
    if let Some(SuperblockState::View(view)) = superblock
        && view.end <= size
    {
        list_hidden(out, input, view, args.long)?;
    }
    if args.tree {
        return tree::show(out, &mut reader, input);
    }
    if !args.long {
        let line = head();
        out.text(format_args!("{}\n", out.colour(1, &line)))?;
    }
    let (mut damage, start) = (None, reader.position().unwrap_or(0));
    if let Some(mut seals) = seals.filter(|_| !args.long && !args.raw) {
        damage = index::damage(&mut reader, &mut seals)?;
        // The sections may be intact although the index is damaged.
        if damage.is_none() {
            return index::list(out, &mut reader, input, &seals, &args.select);
        }
    }
    reader.seek(start)?;
    let mut faults = Faults::default();
    let listed = walk_list(out, &mut reader, input, args, &mut faults);
    let listed = and_known(listed, || faults.end());
    and_known(listed, || damage.map_or(Ok(()), |error| Err(error.into())))
}

/// Lists data that HDF5 does not show: all of them, or some.
fn list_hidden(out: &mut Output, input: &Input, view: Superblock, all: bool) -> Result<()> {
    let mut ahead = ReadAhead::new(input, view.end)?;
    let mut read = |offset: u64, to: &mut [u8]| ahead.read(offset, to);
    let previous = Previous { root: view.root, read: &mut read };
    // Errors in a view are reported by scda check.
    let hidden = scda_hdf5::not_shown(previous, view.end).unwrap_or_default();
    let shown = if all { hidden.len() } else { hidden.len().min(MOST_HIDDEN) };
    for line in &hidden[..shown] {
        let line = visible(line);
        match line.split_once(": not in VTKHDF: ") {
            Some((name, why)) => out.text(format_args!("not shown by ParaView: {name}: {why}\n"))?,
            None => out.text(format_args!("not shown by HDF5: {line}\n"))?,
        }
    }
    match hidden.len() - shown {
        0 => Ok(()),
        more => out.text(format_args!("not shown by HDF5: {more} more, which scda ls -l lists\n")),
    }
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
    // What follows the last selected section may be damaged.
    while !select::none_from(&args.select, walk.number + 1) {
        let Some(item) = walk.next(reader)? else { break };
        if !select::any_of(&args.select, &item, walk.finder(reader))? {
            item.skip(reader)?;
            continue;
        }
        selected += 1;
        faults.add(item.fault());
        if item.fault().is_some()
            && let Some(streams) =
                IncompleteStreams::find(&mut input.open_damaged(false)?, input, &item.section)?
        {
            let name = visible(input.name());
            complain(&format!("{name}: section {}: {}", item.number, streams.words()));
        }
        let row = measure_item(reader, &item)?;
        match &item.content {
            _ if !args.long => {
                let text = item_line(&item, row.stored).unwrap_or_else(|| line(&row));
                out.text(format_args!("{text}\n"))?;
            }
            Content::Dataset(dataset) => describe_dataset(out, dataset, &row)?,
            Content::Group(group) => describe_group(out, group, &item, &row)?,
            Content::Streams(streams) => describe_streams(out, streams, &item, &row)?,
            _ => describe(out, &row)?,
        }
    }
    select::check(&args.select, input.name(), walk.number)?;
    select::check_some(&args.select, input.name(), selected)
}

/// Prints all details of a section.
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
            "{} elements of {least} to {most} bytes, {:.3} on average: {} bytes",
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
    format!("ratio {:.3}", as_f64(bytes) / as_f64(stored))
}

/// Prints the place in the file, beginning at this offset.
fn describe_place(out: &mut Output, offset: u64, row: &Row) -> Result<()> {
    let end = row.section.offset + row.stored - row.added;
    let (bytes, data) = (end - offset, row.section.data_offset);
    out.text(format_args!("  in the file {bytes} bytes, from {offset} to {end}; data from {data}\n"))
}

/// Prints all details of a dataset.
fn describe_dataset(out: &mut Output, dataset: &DatasetHandle, row: &Row) -> Result<()> {
    let title = format!("dataset {}: {}", row.number, quote(dataset.name.as_bytes()));
    let items: u64 = dataset.shape.iter().product();
    let bytes = dataset.data_bytes()?;
    let is_variable = dataset.data_type.is_variable();
    let of_bytes = if is_variable { String::new() } else { format!(": {bytes} bytes") };
    out.text(format_args!(
        "{}\n  type        {}\n  shape       {}\n  data        {items} items{of_bytes}\n",
        out.colour(1, &title),
        dataset.data_type,
        shape_word(&dataset.shape),
    ))?;
    let ratio = ratio_words(bytes, row.stored);
    let shuffle = if dataset.shuffle { "shuffled, " } else { "" };
    let layout = match dataset.layout {
        Layout::Chunked { text, .. } => {
            let how = match text {
                true => "as text".to_owned(),
                false if is_variable && dataset.level == Some(0) => "not compressed".to_owned(),
                false => format!("by {}", dataset.codec),
            };
            let ratio = if is_variable { String::new() } else { format!(": {ratio}") };
            format!("in chunks of {}, {shuffle}{how}{ratio}", chunk_word(dataset))
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
    if let Some(why) = unsupported(dataset) {
        out.text(format_args!("  unreadable  {}\n", visible(&why)))?;
    }
    describe_attributes(out, &dataset.attributes, Some(dataset.data_type))?;
    for rows in dataset.added_rows() {
        let (count, data) = (rows.dataset.shape.first().copied().unwrap_or(0), rows.data);
        out.text(format_args!("  rows added  {count} from row {} on, at byte {data}\n", rows.first))?;
    }
    describe_place(out, dataset.metadata_section().offset, row)
}

/// Describes by how much rounding may have changed the numbers, if attributes tell.
fn rounding_words(attributes: &str) -> Option<String> {
    let bounds = [(rounding::RELATIVE, "relative"), (rounding::ABSOLUTE, "absolute")];
    let attributes: serde_json::Value = serde_json::from_str(attributes).ok()?;
    let words = bounds.iter().filter_map(|(key, kind)| {
        let bound = attributes.get(key)?.as_f64()?;
        Some(format!("{kind} error at most {bound}"))
    });
    Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

/// Prints all details of a part of a set of streams.
fn describe_streams(out: &mut Output, streams: &Streams, item: &Item, row: &Row) -> Result<()> {
    let StreamBytes { all: bytes, least, most } = item.stream_bytes;
    let title = format!("streams {}: {}", item.number + 1, quote(streams.name()));
    out.text(format_args!(
        "{}\n  tasks       {}, with {least} to {most} bytes: {bytes} bytes\n  chunks      of {} bytes\n  part        {}\n",
        out.colour(1, &title),
        streams.tasks(),
        streams.chunk_bytes(),
        streams.part(),
    ))?;
    let end = row.section.offset + row.stored;
    let (offset, data) = (item.section.offset, item.others[0].data_offset);
    let length = end - offset;
    out.text(format_args!("  in the file {length} bytes, from {offset} to {end}; chunks from {data}\n"))
}

fn describe_group(out: &mut Output, group: &Group, item: &Item, row: &Row) -> Result<()> {
    let title = format!("group {}: {}", row.number, quote(item.user()));
    out.text(format_args!("{}\n", out.colour(1, &title)))?;
    describe_attributes(out, &group.attributes, None)?;
    describe_place(out, item.section.offset, row)
}

fn describe_attributes(out: &mut Output, attributes: &str, data_type: Option<DataType>) -> Result<()> {
    attribute_lines(attributes, data_type)
        .iter()
        .try_for_each(|line| out.text(format_args!("  attribute   {line}\n")))
}
