//! `scda copy`, and the copying of sections that append and join share with it.

use crate::check::VerifyingReader;
use crate::datasets::Walk;
use crate::fail::{Fail, Result};
use crate::files::{Input, LockedInput, OutputFile, Resources};
use crate::progress::{self, Progress};
use crate::section_choice::{CopyTotals, SectionChoice};
use crate::select::{self, Selection};
use crate::storage_options::StorageOptions;
use crate::transfer::TransferOptions;
use scda::LineBreak;
use std::path::PathBuf;

/// Copy a file or some of its sections, and change how they are compressed
///
/// Without options, the copy has the same sections, compressed data are copied byte for byte, and OUT gets
/// one seal if IN is sealed. OUT appears when it is complete. Memory use does not grow with the file, but one
/// element or compressed block must fit into memory.
///
/// All sections of a dataset are copied or none, including those of attributes and rows that were added to it
/// later: the number of any of them selects the dataset. --encode stores datasets in compressed chunks,
/// --decode contiguously; --chunk chooses the shape of the chunks. With --force, OUT may be IN, which stays
/// unchanged until OUT is complete. If metadata are rewritten, unknown keys are dropped and reported. Streams
/// are not compressed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda copy --encode auto state.scda small.scda      compress sections that get smaller
  scda copy --encode 6 state.scda small.scda         compress everything, with level 6
  scda copy --codec pcodec state.scda archive.scda   compress the chunks again
  scda copy --max-relative-error 1e-4 state.scda small.scda   round and compress
  scda copy --decode small.scda plain.scda           decompress everything
  scda copy --select 1-3 --select 'field*' state.scda part.scda
  scda copy --chunk 64,64 --encode 6 state.scda small.scda   for datasets of two dimensions
  scda copy --force --delete 'tmp/*' state.scda state.scda    remove these datasets
  scda copy --style mime state.scda mail.scda        end lines with \\r\\n")]
pub struct Args {
    /// The file to read; - is standard input
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write; - is standard output
    #[arg(value_name = "OUT")]
    to: PathBuf,
    #[command(flatten)]
    storage: StorageOptions,
    /// Select only these sections: numbers, ranges, or a pattern for user strings
    #[arg(short, long, value_name = "SECTIONS")]
    select: Vec<Selection>,
    /// Leave out these sections, datasets and groups, given as for --select
    #[arg(long, value_name = "SECTIONS")]
    delete: Vec<Selection>,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    /// Include the sections after the last seal: a killed job left them, or another program is writing them
    #[arg(long)]
    unsealed: bool,
    #[command(flatten)]
    resources: Resources,
}

/// Copies sections of a file. Before that, compares sealed sections with their checksums, and decodes
/// unsealed ones if the output is sealed.
pub fn sections(
    input: &Input,
    from: &mut VerifyingReader,
    output: &mut OutputFile,
    storage: &StorageOptions,
    pick: &mut SectionChoice<'_>,
    style: LineBreak,
) -> Result<CopyTotals> {
    let total = from.reader.inspect().file_size().unwrap_or(0);
    let _progress = Progress::new(&format!("copy {}", input.name()), total);
    let mut walk = Walk::with_streams(input);
    let mut copied = CopyTotals::default();
    while let Some(item) = from.next(&mut walk)? {
        if output.is_sealed()
            && let Some(error) = item.section.broken_seal()
        {
            return Err(Fail::Invalid(format!("{}: {error}", input.name())));
        }
        if !pick.wants(&item, &mut from.reader)? {
            walk.goes_to(item.last_offset(), None);
            from.skip(&item)?;
            continue;
        }
        from.check(input, &item, output.is_sealed())?;
        TransferOptions { storage, style }.item(&mut from.reader, &mut walk, &item, output)?;
        let end = from.reader.position().unwrap_or(0);
        let sections = item.last() + 1 - item.number;
        copied += CopyTotals { sections, bytes: end - item.section.offset };
        progress::set(end);
    }
    select::check(pick.select, input.name(), walk.number)?;
    pick.check(input.name())?;
    Ok(copied)
}

pub fn run(args: &Args) -> Result<()> {
    args.storage.check()?;
    let locked = LockedInput::among(&args.to, args.force, [args.from.as_path()])?;
    let input = Input::new(&args.from, &args.resources)?.with_unsealed(args.unsealed);
    let mut from = VerifyingReader::new(&input)?;
    let user = from.reader.header().user;
    let params = args.storage.params_like(&mut from.reader, &args.resources);
    let style = params.line_break;
    let mut pick = SectionChoice::new(&args.select, &args.delete);
    let inputs = std::slice::from_ref(&input);
    let mut output = OutputFile::create(&args.to, args.force, &user, params, inputs)?;
    let copied = sections(&input, &mut from, &mut output, &args.storage, &mut pick, style)?;
    select::check_some(&args.select, input.name(), copied.sections)?;
    args.storage.check_names()?;
    locked.as_ref().map_or(Ok(()), LockedInput::check)?;
    let end = output.writer()?.position().unwrap_or(0);
    output.finish()?;
    args.storage.report_growth(&args.to, end, copied.bytes);
    Ok(())
}
