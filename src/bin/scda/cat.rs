//! `scda cat`: the data of a section.

use crate::fail::{Fail, Result};
use crate::files::{Input, Threads};
use crate::formats::{Format, Show, is_text};
use crate::ls::{head, line, measure};
use crate::output::{Output, complain, escape};
use crate::pieces::{Pieces, first_unreadable, units};
use crate::progress::Progress;
use crate::select::Selection;
use scda::{Reader, Section};
use std::ops::Range;
use std::path::PathBuf;

/// Print the data of a section
///
/// Writes the exact bytes, decompressed, to a pipe or file. To a terminal it writes text, or hexadecimal if the data are not
/// text. Of a damaged section, it prints what comes before the damage.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda cat state.scda 3 > field.bin           the exact bytes
  scda cat state.scda parameters              the section with this user string
  scda cat state.scda 'field*' --as f64le     as numbers, one element in a line
  scda cat state.scda 4 --as 3f64le,i32le,u32le --range 0:10
  scda cat state.scda 4 --range -1: --as hex  the last element")]
pub struct Args {
    /// The file; - is standard input
    file: PathBuf,
    /// The number of the section, or its user string, in which * and ? stand for any text and any character
    section: Selection,
    /// The elements (of a block: the bytes) from A up to, but without, B; the defaults are the first and the last one, and
    /// negative numbers count from the end
    #[arg(long, value_name = "A:B", allow_hyphen_values = true, value_parser = parse_range)]
    range: Option<(Option<i64>, Option<i64>)>,
    /// bytes, hex, text, or numbers: i, u or f, the bits (8, 16, 32, 64), and le or be for the order of bytes; a list with
    /// commas describes a record, and a number before a format repeats it
    #[arg(long = "as", value_name = "FORMAT")]
    format: Option<Format>,
    /// Numbers in a line, or bytes with --as hex [default: an element; of blocks 8; hex: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    cols: Option<u16>,
    /// Show a compressed section as the two sections that the file has, with their numbers in scda ls --raw
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    threads: Threads,
}

fn parse_range(text: &str) -> Result<(Option<i64>, Option<i64>), String> {
    let end = |text: &str| match text {
        "" => Ok(None),
        number => number.parse().map(Some).map_err(|_| format!("\"{number}\" is not a whole number")),
    };
    let (from, to) = text.split_once(':').ok_or("expected A:B, such as 0:10, 5: or :-1")?;
    Ok((end(from)?, end(to)?))
}

/// The units that are meant, of so many.
fn resolve(range: Option<(Option<i64>, Option<i64>)>, all: u64) -> Result<Range<u64>> {
    let place = |end: i64| match u64::try_from(end) {
        Ok(end) => Some(end),
        Err(_) => all.checked_sub(end.unsigned_abs()),
    };
    let (from, to) = range.unwrap_or_default();
    let from = from.map_or(Some(0), place);
    let to = to.map_or(Some(all), place);
    match (from, to) {
        (Some(from), Some(to)) if from <= to && to <= all => Ok(from..to),
        _ => Err(Fail::Trouble(format!("--range: expected a range within 0:{all}"))),
    }
}

/// Reads the header of the section that is meant.
fn find(reader: &mut Reader, input: &Input, args: &Args) -> Result<Section> {
    let mut found: Vec<(u64, Section)> = Vec::new();
    let (mut number, mut passed, mut is_exact) = (0, 0, false);
    let mut search = || -> scda::Result<()> {
        while let Some(section) = reader.next_section(!args.raw)? {
            number += 1;
            // A user string that is just so comes before what a pattern stands for.
            let is_this = args.section.is_user_string(&section);
            if is_this && !is_exact {
                found.clear();
                is_exact = true;
            }
            if is_this || !is_exact && args.section.has(number, &section.user) {
                found.push((number, section));
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
        // Damage behind what is meant hides only others that may be meant, too. Its own is found again.
        match found.last() {
            None => return Err(error.into()),
            Some((last, _)) if *last <= passed => complain(&error.to_string()),
            Some(_) => {}
        }
    }
    let (_, section) = match found[..] {
        [one] => one,
        [] => {
            let last = if number == 1 { "1 section".to_owned() } else { format!("{number} sections") };
            return Err(Fail::file(input.name(), format_args!("no such section among its {last}")));
        }
        _ => {
            complain(&format!(
                "{}: found {} sections of that name, expected one:",
                input.name(),
                found.len()
            ));
            let mut text = head();
            for (number, section) in found.iter().take(20) {
                reader.seek(section.offset)?;
                if let Some(section) = reader.next_section(!args.raw)? {
                    text = format!("{text}\n{}", line(&measure(reader, *number, section)?));
                }
            }
            eprint_lines(&text, found.len() > 20);
            return Err(Fail::Said(crate::fail::TROUBLE));
        }
    };
    reader.seek(section.offset)?;
    reader.next_section(!args.raw)?;
    Ok(section)
}

fn eprint_lines(text: &str, more: bool) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}{}", if more { "\n  ..." } else { "" });
}

pub fn run(args: &Args) -> Result<()> {
    let input = Input::new(&args.file, &args.threads)?;
    let mut reader = input.open_damaged(false)?;
    let section = find(&mut reader, &input, args)?;
    let range = resolve(args.range, units(&section))?;
    let mut out = Output::new()?;
    let mut pieces = Pieces::new(&section, range.clone());
    // It would be written into the data.
    let mut progress = (!out.is_terminal()).then(|| Progress::new(input.name(), 0));
    let mut show: Option<Show> = None;
    let columns = args.cols.map(usize::from);
    if columns.is_some() && matches!(args.format, None | Some(Format::Bytes | Format::Text)) {
        return Err(Fail::Trouble("--cols is for --as with numbers or hex".to_owned()));
    }
    if args.format == Some(Format::Bytes) && out.is_terminal() {
        let name = escape(&section.user);
        return Err(Fail::Trouble(format!(
            "the bytes of \"{name}\" are not for a terminal: --as hex shows them"
        )));
    }
    let mut each = |pieces: &Pieces| {
        if let Some(progress) = &mut progress {
            progress.add(pieces.data().len() as u64);
        }
        let format = || match (&args.format, out.is_terminal()) {
            (Some(format), _) => format.clone(),
            (None, true) if is_text(&pieces.data()[..pieces.data().len().min(4096)]) => Format::Text,
            (None, true) => Format::Hex,
            (None, false) => Format::Bytes,
        };
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
        // What is before the damage is shown, too.
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
