//! `scda ls`: what is in a file.

mod index;
mod tree;

use crate::datasets::Walk;
use crate::fail::{Fail, Result, and_known};
use crate::files::{Input, Resources};
use crate::hidden;
use crate::incomplete_streams::IncompleteStreams;
use crate::manifest;
use crate::output::{Output, complain, quote, visible};
use crate::read_ahead::ReadAhead;
use crate::rows::{Faults, head, item_line, line, measure_item, seals};
use crate::select::{self, Selection};
use scda::{Reader, SuperblockState};
use std::path::PathBuf;

/// List the sections and datasets of files
///
/// Prints one line for each section: its number; its kind (I: inline data, B: block, A: array, V: varray,
/// whose elements differ in size); the number of elements N; the bytes E of each element (of V: the minimum,
/// the mean and the maximum); the bytes of data, decompressed; the offset in the file; the compression ratio
/// of a compressed section; the user string. Reads only headers and sizes, or, of a sealed file, only the
/// index, which has only the mean of V, shown as ~E; --json reads the sizes.
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
  scda ls --tree state.scda                   datasets in their groups, with attributes
  scda ls --raw state.scda                    sections as stored
  scda ls --json state.scda | jq '.sections[] | select(.type == \"A\") | .user'")]
pub struct Args {
    /// The files to list; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show only datasets, as a tree of their groups, with attributes
    #[arg(long, conflicts_with_all = ["json", "raw", "select"])]
    tree: bool,
    /// Show sections as stored: two for a compressed section or a dataset, three for streams
    #[arg(long)]
    raw: bool,
    /// Select only these sections: numbers, ranges, or a pattern for user strings
    #[arg(short, long, value_name = "SECTIONS")]
    select: Vec<Selection>,
    /// Print all details as JSON
    #[arg(long)]
    json: bool,
    /// Include the sections after the last seal: a killed job left them, or another program is writing them
    #[arg(long)]
    unsealed: bool,
    #[command(flatten)]
    resources: Resources,
}

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
        // Errors in a view are reported by scda check.
        for line in hidden::lines(&mut ReadAhead::new(input, view.end)?, view).unwrap_or_default() {
            out.text(format_args!("{line}\n"))?;
        }
    }
    if args.tree {
        return tree::show(out, &mut reader, input);
    }
    out.text(format_args!("{}\n", out.colour(1, &head())))?;
    let (mut damage, start) = (None, reader.position().unwrap_or(0));
    if let Some(mut seals) = seals.filter(|_| !args.raw) {
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
        let text = item_line(&item, row.stored).unwrap_or_else(|| line(&row));
        out.text(format_args!("{text}\n"))?;
    }
    select::check(&args.select, input.name(), walk.number)?;
    select::check_some(&args.select, input.name(), selected)
}
