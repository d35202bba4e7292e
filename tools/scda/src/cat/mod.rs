//! `scda cat`: the data of a section.

mod find;
mod values;

use crate::data_batches::{DataBatches, first_unreadable, units};
use crate::fail::{Fail, Result};
use crate::files::{Input, Resources};
use crate::formats::{DataFormat, DataPrinter, check_terminal};
use crate::output::{Output, escape};
use crate::progress::{self, Progress};
use crate::ranges::{Bounds, Ends, parse_range, part};
use crate::select::Selection;
use crate::streams;
use find::{Choice, find};
use scda::{Reader, Section};
use std::ops::Range;
use std::path::PathBuf;

/// Print the data of a section or dataset
///
/// Writes the exact bytes of a section, decompressed, to a pipe or file; on a terminal, prints text. Prints
/// the values of a dataset, or with --as bytes writes the exact bytes of its items, little-endian; complex
/// numbers are printed as (1.0,-2.0), raw items as hexadecimal digits.
///
/// Of damaged data, prints what precedes the damage; --range reads elements after it. Of streams in a damaged
/// file, scda salvage saves what is intact.
///
/// Chunks of the fill value take no space in a file. A dataset of more than 16 MiB and more than 1000 times
/// the size of its file is therefore printed only with --box, such as --box : for all of it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda cat state.scda 3 > field.bin           the exact bytes
  scda cat state.scda parameters              the section with this user string
  scda cat state.scda 'field*' | od -An -v -t f8 -w24   as numbers, three in a line
  scda cat state.scda 4 --range -1: | hexdump -C        the last element
  scda cat state.scda rho                     the values of a dataset, one line for each row
  scda cat state.scda rho --box 0:4,2:8       some of them
  scda cat state.scda rho --record 0          the first one of several of this name
  scda cat run.scda log --stream 3            the stream of task 3, of a set of streams")]
pub struct Args {
    /// The file to read; - is standard input
    file: PathBuf,
    /// The number of the section, or its user string, in which * matches any text and ? any character
    section: Selection,
    /// If several sections or datasets have this name, print number K: 0 is the first one, -1 the last one
    /// [default: -1]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    record: Option<i64>,
    /// Print only the items of a dataset whose indices in each dimension are from A up to, but not including,
    /// B, as in --range; A alone means A:A+1. Dimensions that are not given are printed whole
    #[arg(long = "box", value_name = "A:B,A:B,...", allow_hyphen_values = true)]
    region: Option<Bounds>,
    /// Print the stream of this task, from 0, of the streams of this name; --range selects bytes of it. The
    /// elements of a varray that is not compressed count as streams
    #[arg(long, value_name = "TASK", conflicts_with_all = ["region", "format", "raw"])]
    stream: Option<u64>,
    /// Print only the elements (of a block: bytes) from A up to, but not including, B; negative numbers count
    /// from the end [default: all]
    #[arg(long, value_name = "A:B", allow_hyphen_values = true, value_parser = parse_range)]
    range: Option<Ends>,
    /// How to print bytes [default: unchanged; on a terminal as text]
    #[arg(long = "as", value_name = "FORMAT")]
    format: Option<DataFormat>,
    /// Print the data as stored: of a compressed section, one of its two sections, by the number in scda ls
    /// --raw; of a dataset, the section of its data
    #[arg(long, conflicts_with = "region")]
    raw: bool,
    /// Include the sections after the last seal: a killed job left them, or another program is writing them
    #[arg(long)]
    unsealed: bool,
    #[command(flatten)]
    resources: Resources,
}

/// The units of a section with this name that --range selects, out of `all`.
fn range(input: &Input, args: &Args, user: &[u8], all: u64) -> Result<Range<u64>> {
    part(args.range.unwrap_or_default(), all).map_err(|words| {
        let name = escape(user);
        Fail::file(input.name(), format_args!("\"{name}\": --range: {words}"))
    })
}

/// Prints the stream of a task.
fn stream(input: &Input, args: &Args, task: u64) -> Result<()> {
    let name = args.section.user_string().ok_or_else(|| {
        Fail::file(
            input.name(),
            format_args!("--stream: found {}, expected the name of streams", args.section),
        )
    })?;
    let mut reader = input.open()?;
    let found = streams::find(&mut reader, input, &name, args.record)?;
    streams::print(&mut reader, input, &found, task, |bytes| range(input, args, found.name(), bytes))
}

/// Prints a section.
fn section(
    out: &mut Output,
    reader: &mut Reader,
    input: &Input,
    args: &Args,
    section: &Section,
) -> Result<()> {
    if args.region.is_some() {
        let words = format!("\"{}\": --box applies to datasets; use --range", escape(&section.user));
        return Err(Fail::file(input.name(), words));
    }
    reader.seek(section.offset)?;
    reader.next_section(!args.raw)?;
    let all = units(section);
    let range = range(input, args, &section.user, all)?;
    let mut batches = DataBatches::new(section, range.clone());
    // A line of progress would appear in the middle of the data.
    let _progress = (!out.is_terminal()).then(|| Progress::new(input.name(), 0));
    let mut show: Option<DataPrinter> = None;
    check_terminal(out, args.format == Some(DataFormat::Bytes), &section.user, "--as text shows them")?;
    let mut each = |batches: &DataBatches| {
        progress::add(batches.data().len() as u64);
        let show = match (&mut show, args.format) {
            (Some(show), _) => show,
            (none, Some(format)) => none.insert(DataPrinter::new(format, section)),
            (none, None) => {
                let format = DataFormat::usual(out, &section.user, batches.data())?;
                none.insert(DataPrinter::new(format, section))
            }
        };
        show.batch(out, batches)
    };
    let result = loop {
        match batches.next(reader) {
            Ok(true) => each(&batches)?,
            Ok(false) => break Ok(()),
            Err(fail) => break Err(fail),
        }
    };
    if result.is_err() {
        // The data before the damage are shown, too.
        let unread = batches.range();
        let end = first_unreadable(reader, section, unread.clone()).unwrap_or(unread.end);
        let mut before = DataBatches::new(section, unread.start..end);
        while let Ok(true) = before.next(reader) {
            each(&before)?;
        }
    }
    if let Some(show) = show {
        show.finish(out)?;
    }
    result
}

pub fn run(args: &Args) -> Result<()> {
    let input = Input::new(&args.file, &args.resources)?.with_unsealed(args.unsealed);
    if let Some(task) = args.stream {
        return stream(&input, args, task);
    }
    let mut reader = input.open_damaged(false)?;
    let mut out = Output::new()?;
    let Choice { section: found, block, .. } = find(&mut reader, &input, args)?;
    let result = match block.filter(|_| !args.raw) {
        Some(block) => values::print(&mut out, (&mut reader, &input), args, &block),
        None => section(&mut out, &mut reader, &input, args, &found),
    };
    out.finish()?;
    result
}
