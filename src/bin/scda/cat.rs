//! `scda cat`: the data of a section.

use crate::datasets::slabs::{self, Slabs};
use crate::datasets::{Pairs, by_index, is_first, number_of, to_little, values};
use crate::fail::{Fail, Result, and_known};
use crate::files::{Input, Threads};
use crate::formats::{Format, Show};
use crate::ls::{head, line, measure, pair_line};
use crate::numbers::to_usize;
use crate::output::{Output, complain, escape};
use crate::pieces::{Pieces, first_unreadable, units};
use crate::progress::Progress;
use crate::select::Selection;
use crate::streams::{self, Meant};
use scda::{Dataset, Reader, Region, Section, SectionType};
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

/// Print the data of a section or dataset
///
/// Of a section, writes the exact bytes, decompressed, to a pipe or file. To a terminal it writes text, or hexadecimal if the
/// data are not text. Of a dataset, writes the values, or with --as bytes the exact bytes of the items, the least
/// significant byte of a number first. Of what is damaged, it prints what comes before the damage.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda cat state.scda 3 > field.bin           the exact bytes
  scda cat state.scda parameters              the section with this user string
  scda cat state.scda 'field*' --as f64le     as numbers, one element in a line
  scda cat state.scda 4 --as 3f64le,i32le,u32le --range 0:10
  scda cat state.scda 4 --range -1: --as hex  the last element
  scda cat state.scda rho                     the values of a dataset, a row of its last dimension in a line
  scda cat state.scda rho --box 0:4,2:8       some of them
  scda cat state.scda rho --record -1         the last one of several of this name
  scda cat run.scda log --stream 3            the stream of task 3, of a set of streams")]
pub struct Args {
    /// The file; - is standard input
    file: PathBuf,
    /// The number of the section, or its user string, in which * and ? stand for any text and any character
    section: Selection,
    /// Of several sections or datasets of this name: the one with this number, from 0 on, or from -1, the last one, back
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    record: Option<i64>,
    /// Of a dataset: in each dimension the indices from A up to, but without, B; as in --range. A is A:A+1
    #[arg(long = "box", value_name = "A:B,A:B,...", allow_hyphen_values = true)]
    region: Option<Bounds>,
    /// Of a set of streams, or a varray of them: the bytes of the stream of this task, from 0 on; --range picks some of them
    #[arg(long, value_name = "TASK", conflicts_with_all = ["region", "format", "cols", "raw"])]
    stream: Option<u64>,
    /// The elements (of a block: the bytes) from A up to, but without, B; the defaults are the first and the last one, and
    /// negative numbers count from the end
    #[arg(long, value_name = "A:B", allow_hyphen_values = true, value_parser = parse_range)]
    range: Option<(Option<i64>, Option<i64>)>,
    /// bytes, hex, text, or numbers: i, u or f, the bits (8, 16, 32, 64), and le or be for the order of bytes; a list with
    /// commas describes a record, and a number before a format repeats it
    #[arg(long = "as", value_name = "FORMAT")]
    format: Option<Format>,
    /// Numbers in a line, or bytes with --as hex [default: an element; of blocks 8; hex: 16; of a dataset of two dimensions
    /// and more a row of the last dimension, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    cols: Option<u16>,
    /// Show a compressed section as the two sections that the file has, with their numbers in scda ls --raw; of a dataset,
    /// show the section of its data as it is stored
    #[arg(long, conflicts_with = "region")]
    raw: bool,
    /// Also what is behind the last seal of a sealed file: what a killed job has left, or another one writes now
    #[arg(long)]
    unsealed: bool,
    #[command(flatten)]
    threads: Threads,
}

/// The argument of --box: the range of indices in each dimension.
#[derive(Clone)]
struct Bounds(Vec<(Option<i64>, Option<i64>)>);

impl FromStr for Bounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = |text: &str| match text.contains(':') {
            true => parse_range(text),
            false => {
                let index: i64 =
                    text.parse().map_err(|_| format!("expected A:B or an index, found \"{text}\""))?;
                // Up to the end of the dimension.
                Ok((Some(index), index.checked_add(1).filter(|&end| end != 0)))
            }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }
}

impl Bounds {
    /// The box in a dataset of this shape.
    fn region(&self, shape: &[u64]) -> Result<Region> {
        if self.0.len() != shape.len() {
            let (found, expected) = (self.0.len(), shape.len());
            return Err(Fail::Trouble(format!(
                "--box: found {found} ranges, expected one for each of the {expected} dimensions"
            )));
        }
        let mut region = Region::all(shape);
        for (dimension, (&range, &n)) in self.0.iter().zip(shape).enumerate() {
            let range = within(Some(range), n).ok_or_else(|| {
                Fail::Trouble(format!("--box: dimension {dimension}: expected a range within 0:{n}"))
            })?;
            (region.start[dimension], region.count[dimension]) = (range.start, range.end - range.start);
        }
        Ok(region)
    }
}

fn parse_range(text: &str) -> Result<(Option<i64>, Option<i64>), String> {
    let end = |text: &str| match text {
        "" => Ok(None),
        number => number.parse().map(Some).map_err(|_| format!("\"{number}\" is not a whole number")),
    };
    let (from, to) = text.split_once(':').ok_or("expected A:B, such as 0:10, 5: or :-1")?;
    Ok((end(from)?, end(to)?))
}

/// The units from A up to B of `all`, with the defaults put in; `None` if there are not all of them.
fn within(range: Option<(Option<i64>, Option<i64>)>, all: u64) -> Option<Range<u64>> {
    let place = |end: i64| match u64::try_from(end) {
        Ok(end) => Some(end),
        Err(_) => all.checked_sub(end.unsigned_abs()),
    };
    let (from, to) = range.unwrap_or_default();
    let from = from.map_or(Some(0), place);
    let to = to.map_or(Some(all), place);
    match (from, to) {
        (Some(from), Some(to)) if from <= to && to <= all => Some(from..to),
        _ => None,
    }
}

/// The section to print, and the block of metadata if that precedes it.
#[derive(Clone, Copy)]
struct Choice {
    number: u64,
    section: Section,
    block: Option<Section>,
}

/// Finds the section to print by the index of the file.
fn find_by_index(reader: &mut Reader, args: &Args) -> scda::Result<Option<Choice>> {
    let index = match (args.section.number(), args.section.user_string()) {
        (Some(number), _) => number.checked_sub(1).filter(|_| args.record.is_none()),
        (None, Some(user)) => number_of(reader, user.as_bytes(), args.record)?,
        (None, None) => None,
    };
    let sections = reader.sections()?;
    let Some(index) = index.filter(|&index| index < sections) else { return Ok(None) };
    let mut header = |index| {
        reader.seek_section(index)?;
        reader.next_section(true)
    };
    let before = index.checked_sub(1).map(&mut header).transpose()?.flatten();
    let section = header(index)?;
    Ok(section.map(|section| Choice { number: index + 1, section, block: before.filter(is_metadata) }))
}

/// Whether a section is the metadata of a dataset.
fn is_metadata(section: &Section) -> bool {
    section.section_type == SectionType::Block && is_first(section.section_type, &section.user)
}

/// Reads the header of the section to print.
fn find(reader: &mut Reader, input: &Input, args: &Args) -> Result<Choice> {
    let start = reader.position().unwrap_or(0);
    // Without decoding, sections have other numbers than in the index.
    if !args.raw
        && let Some(choice) = by_index(reader, |reader| find_by_index(reader, args))?
    {
        return Ok(choice);
    }
    reader.seek(start)?;
    let mut found: Vec<Choice> = Vec::new();
    let (mut number, mut passed, mut is_exact) = (0, 0, false);
    let mut before = None;
    let mut search = || -> scda::Result<()> {
        while let Some(section) = reader.next_section(!args.raw)? {
            number += 1;
            let block = std::mem::replace(&mut before, Some(section).filter(is_metadata));
            // A user string that equals the argument is preferred to one that the pattern matches.
            let is_this = args.section.is_user_string(&section);
            if is_this && !is_exact {
                found.clear();
                is_exact = true;
            }
            if is_this || !is_exact && args.section.has(number, &section.user) {
                found.push(Choice { number, section, block });
            }
            if !found.is_empty() && args.section.ends_before(number + 1) {
                break;
            }
            reader.skip()?;
            passed = number;
        }
        Ok(())
    };
    if let Err(error) = search() {
        // Damage behind the section can only hide other matches. Damage of the section itself is found when it is read.
        match found.last() {
            None => return Err(error.into()),
            Some(last) if last.number <= passed => complain(&error.to_string()),
            Some(_) => {}
        }
    }
    let choice = match (&found[..], args.record) {
        ([], _) => {
            let last = if number == 1 { "1 section".to_owned() } else { format!("{number} sections") };
            return Err(Fail::file(input.name(), format_args!("no such section among its {last}")));
        }
        (all, Some(record)) => {
            let end = record.checked_add(1).filter(|&end| end != 0);
            let place = within(Some((Some(record), end)), all.len() as u64);
            let chosen = place.and_then(|place| all.get(to_usize(place.start))).copied();
            chosen.ok_or_else(|| {
                let count = all.len();
                Fail::file(
                    input.name(),
                    format_args!("--record {record}: found {count} sections of that name"),
                )
            })?
        }
        (&[one], None) => one,
        (_, None) => {
            let (name, count, last) = (input.name(), found.len(), found.len() - 1);
            let words = "expected one: choose it by its number in this list, or by --record";
            complain(&format!("{name}: found {count} sections of that name, {words} 0 to {last}:"));
            list(reader, input, args, &found)?;
            return Err(Fail::Said(crate::fail::TROUBLE));
        }
    };
    reader.seek(choice.section.offset)?;
    reader.next_section(!args.raw)?;
    Ok(choice)
}

/// Prints items of a dataset.
struct Values<'a> {
    out: &'a mut Output,
    dataset: &'a Dataset,
    as_bytes: bool,
    columns: usize,
    in_line: usize,
    text: String,
}

impl Values<'_> {
    fn print(&mut self, data: &mut [u8]) -> Result<()> {
        let data_type = self.dataset.data_type;
        if self.as_bytes {
            to_little(data_type, data);
            return self.out.bytes(data);
        }
        for item in data.chunks_exact(to_usize(data_type.item_bytes())) {
            self.text.push_str(if self.in_line == 0 { "" } else { " " });
            values::show(data_type, item, &mut self.text);
            self.in_line += 1;
            if self.in_line == self.columns {
                self.end_line();
            }
            if self.text.len() > 1 << 14 {
                self.write()?;
            }
        }
        self.write()
    }

    fn end_line(&mut self) {
        self.text.push_str(if self.in_line == 0 { "" } else { "\n" });
        self.in_line = 0;
    }

    fn write(&mut self) -> Result<()> {
        self.out.bytes(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    /// Prints a box up to the first item that cannot be read.
    fn print_readable(&mut self, reader: &mut Reader, region: &Region, data: &mut Vec<u8>) -> Result<()> {
        let Err(fail) = slabs::read(reader, self.dataset, region, data) else { return self.print(data) };
        let Some((first, second)) = slabs::halves(region) else { return Err(fail) };
        self.print_readable(reader, &first, data)?;
        self.print_readable(reader, &second, data)
    }
}

/// Prints a dataset, of which the header of the block of metadata is to be read.
fn dataset(reader: &mut Reader, args: &Args, block: &Section) -> Result<()> {
    if args.range.is_some() {
        return Err(Fail::Trouble(
            "--range is for sections: expected --box, or --raw to show the section".to_owned(),
        ));
    }
    let as_bytes = match args.format {
        None => false,
        Some(Format::Bytes) => true,
        Some(_) => {
            return Err(Fail::Trouble(
                "a dataset is shown by its type: expected --as bytes, or --raw to show the section"
                    .to_owned(),
            ));
        }
    };
    reader.seek(block.offset)?;
    reader.next_section(true)?;
    let Some(dataset) = reader.dataset()? else { return Ok(()) };
    let all = Region::all(&dataset.shape);
    let region = args.region.as_ref().map_or(Ok(all), |bounds| bounds.region(&dataset.shape))?;
    let mut out = Output::new()?;
    check_columns(args, as_bytes)?;
    check_terminal(&out, as_bytes, dataset.name.as_bytes(), "without --as the values are shown")?;
    let row = if region.count.len() > 1 { region.count.last().map_or(1, |&n| to_usize(n)) } else { 1 };
    let columns = args.cols.map_or(row, usize::from);
    let mut values =
        Values { out: &mut out, dataset: &dataset, as_bytes, columns, in_line: 0, text: String::new() };
    let mut data = Vec::new();
    let mut result = Ok(());
    for slab in Slabs::new(&dataset, region) {
        result = slabs::read(reader, &dataset, &slab, &mut data).and_then(|()| values.print(&mut data));
        if let Err(Fail::Scda(_)) = result {
            result = values.print_readable(reader, &slab, &mut data);
        }
        if result.is_err() {
            break;
        }
    }
    values.end_line();
    values.write()?;
    out.finish()?;
    result
}

/// Trouble if --cols does not apply.
fn check_columns(args: &Args, are_bytes: bool) -> Result<()> {
    match args.cols.is_some() && are_bytes {
        true => Err(Fail::Trouble("--cols is for values, and for --as with numbers or hex".to_owned())),
        false => Ok(()),
    }
}

/// Trouble if bytes as they are would be written to a terminal.
fn check_terminal(out: &Output, as_bytes: bool, name: &[u8], instead: &str) -> Result<()> {
    if as_bytes && out.is_terminal() {
        let name = escape(name);
        return Err(Fail::Trouble(format!("the bytes of \"{name}\" are not for a terminal: {instead}")));
    }
    Ok(())
}

/// Lists sections, as `scda ls` does, on standard error.
fn list(reader: &mut Reader, input: &Input, args: &Args, found: &[Choice]) -> Result<()> {
    use std::io::Write;
    const MOST: usize = 20;
    let (mut text, mut pairs) = (head(), Pairs::new(input));
    for Choice { number, section, block } in found.iter().take(MOST) {
        reader.seek(section.offset)?;
        let Some(section) = reader.next_section(!args.raw)? else { continue };
        let row = measure(reader, *number, section)?;
        let pair = match block.filter(|_| !args.raw) {
            Some(block) => pairs.look(&block)?.0,
            None => None,
        };
        text = format!(
            "{text}\n{}",
            pair.map_or_else(|| line(&row), |pair| pair_line(&pair, *number, row.stored))
        );
    }
    let more = if found.len() > MOST { "\n  ..." } else { "" };
    let _ = writeln!(std::io::stderr(), "{text}{more}");
    Ok(())
}

/// Prints the stream of a task.
fn stream(reader: &mut Reader, input: &Input, args: &Args, task: u64) -> Result<()> {
    let range = |bytes| {
        let range = within(args.range, bytes);
        range.ok_or_else(|| Fail::Trouble(format!("--range: expected a range within 0:{bytes}")))
    };
    match streams::find(reader, input, &args.section, args.record)? {
        Meant::Streams(found) => {
            let printed = streams::print(reader, &found.streams, task, range);
            and_known(printed, || found.check_whole(input))
        }
        Meant::Section(section, is_packed) => {
            reader.seek(section.offset)?;
            reader.next_section(true)?;
            if let Some(streams) = reader.packed_streams()?.filter(|_| is_packed) {
                return streams::print(reader, &streams, task, range);
            }
            let name = escape(&section.user);
            let words = format!(
                "--stream: \"{name}\" is a section, expected a set of streams, or a varray that is not compressed"
            );
            Err(Fail::file(input.name(), words))
        }
    }
}

pub fn run(args: &Args) -> Result<()> {
    let input = Input::new(&args.file, &args.threads)?.with_unsealed(args.unsealed);
    let mut reader = input.open_damaged(false)?;
    if let Some(task) = args.stream {
        return stream(&mut reader, &input, args, task);
    }
    let Choice { section, block, .. } = find(&mut reader, &input, args)?;
    if let Some(block) = block.filter(|_| !args.raw) {
        return dataset(&mut reader, args, &block);
    }
    if args.region.is_some() {
        return Err(Fail::Trouble("--box is for datasets: expected --range".to_owned()));
    }
    let all = units(&section);
    let range = within(args.range, all)
        .ok_or_else(|| Fail::Trouble(format!("--range: expected a range within 0:{all}")))?;
    let mut out = Output::new()?;
    let mut pieces = Pieces::new(&section, range.clone());
    // The line of progress would stand in the middle of the data.
    let mut progress = (!out.is_terminal()).then(|| Progress::new(input.name(), 0));
    let mut show: Option<Show> = None;
    let columns = args.cols.map(usize::from);
    check_columns(args, matches!(args.format, None | Some(Format::Bytes | Format::Text)))?;
    check_terminal(&out, args.format == Some(Format::Bytes), &section.user, "--as hex shows them")?;
    let mut each = |pieces: &Pieces| {
        if let Some(progress) = &mut progress {
            progress.add(pieces.data().len() as u64);
        }
        let usual = || Format::usual(pieces.data(), out.is_terminal());
        let format = || args.format.clone().unwrap_or_else(usual);
        let show = match &mut show {
            Some(show) => show,
            None => show.insert(Show::new(format(), columns, &section, range.start)),
        };
        show.piece(&mut out, pieces)
    };
    let result = loop {
        match pieces.next(&mut reader) {
            Ok(true) => each(&pieces)?,
            Ok(false) => break Ok(()),
            Err(fail) => break Err(fail),
        }
    };
    if result.is_err() {
        // The data before the damage are shown, too.
        let unread = pieces.range();
        let end = first_unreadable(&mut reader, &section, unread.clone()).unwrap_or(unread.end);
        let mut before = Pieces::new(&section, unread.start..end);
        while let Ok(true) = before.next(&mut reader) {
            each(&before)?;
        }
    }
    if let Some(show) = show {
        show.finish(&mut out)?;
    }
    out.finish()?;
    result
}
