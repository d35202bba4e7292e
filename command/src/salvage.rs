//! `scda salvage`: what is whole of a damaged file.

use crate::check::{Finding, Part, check_datasets, scan, words};
use crate::datasets::{Addition, Pair, Pairs, added_to, announced, begins_streams, is_first};
use crate::fail::{Fail, NO, Result};
use crate::files::{Input, Output as NewFile, Resources, Seal, check_free, check_replaceable};
use crate::output::{Output, complain, quote, visible};
use crate::progress::Progress;
use crate::storing::How;
use crate::transfer::{as_it_is, leading, read_metadata, with_attributes};
use crate::unfinished::{Ended, NAME, Unfinished};
use scda::internals::{DATASET_CONVENTION, GROUP_CONVENTION};
use scda::{Encode, Reader, Section, SectionType, UserString, Writer};
use std::collections::HashMap;
use std::path::PathBuf;

/// The name of chunks without the metadata that say which streams they are of.
const CHUNKS: &[u8] = b"salvaged chunks";

/// Save what is whole of a damaged file
///
/// Saves the whole sections, also those behind a damaged section if a seal, or headers and sizes, tell where that ends. Of
/// a damaged array or varray, saves the elements before the first damaged one, as a shorter section, where it is known
/// which one that is. The metadata of a dataset or of streams whose data are not whole are left out. Reports what is left out. IN stays as it is.
///
/// Chunks of streams whose other sections are damaged are saved as "salvaged chunks": with their own name no reader would find the whole
/// streams of that name. Streams of tasks that a job had not ended when it was killed become a set with the name "salvaged streams": of each task the
/// bytes up to the last one that is not 0, or all if their number is in the file.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda salvage state.scda saved.scda
  scda check state.scda                       only says what is wrong")]
pub struct Args {
    /// The damaged file; - is standard input
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    to: PathBuf,
    #[command(flatten)]
    seal: Seal,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    resources: Resources,
}

pub fn run(args: &Args) -> Result<()> {
    check_free(&args.to, args.force)?;
    let input = Input::new(&args.from, &args.resources)?.with_unsealed(true);
    check_replaceable(&args.to, "is the damaged file itself", input.path().metadata().ok())?;
    let mut scan = scan(&input, "check", false, false)?;
    check_datasets(&input, &mut scan, false, false)?;
    scan.findings.iter().for_each(|finding| complain(&format!("{}: {}", input.name(), words(finding))));
    if scan.first_start == 0 {
        complain(&format!("{}: nothing can be saved", input.name()));
        return Err(Fail::Said(NO));
    }
    let mut reader = input.open_damaged(false)?;
    let user = *reader.user();
    let mut params = How::default().params(reader.line_break(), &args.resources);
    // Metadata without anything behind them are left out. All else of a dataset that is wrong is saved: it is no worse
    // than it was, but a seal would say that it is right.
    let is_kept = |finding: &&Finding| {
        let others = finding.section.map_or(0, |section| others_of(&section));
        finding.of_dataset && finding.number + others <= scan.sections
    };
    let kept: Vec<_> = scan.findings.iter().filter(is_kept).collect();
    let wants_seal = args.seal.wanted(scan.sealed.is_some());
    let is_sealed = wants_seal && kept.is_empty();
    params.seal = is_sealed;
    let mut file = NewFile::create(&args.to, args.force, &user, params, std::slice::from_ref(&input))?;
    let bytes = scan.first_start + scan.parts.iter().map(Part::bytes).sum::<u64>();
    let mut progress = Progress::new("salvage", bytes);
    let mut left = Left::default();
    for block in scan.findings.iter().filter_map(|finding| finding.section) {
        if begins_streams(block.section_type, &block.user) && reader.seek(block.offset).is_ok() {
            let end = reader.next_section(true).and_then(|_| reader.skip());
            left.begun.extend(reader.position().filter(|_| end.is_ok()));
        }
    }
    scan.parts
        .iter()
        .try_for_each(|part| save(&mut reader, &input, file.writer()?, part, &mut progress, &mut left))?;
    file.finish()?;
    drop(progress);
    let to = visible(&args.to.display().to_string());
    let mut out = Output::new()?;
    out.text(format_args!(
        "{to}: {} of {} sections, {bytes} of {} bytes\n",
        scan.whole, scan.sections, scan.size
    ))?;
    for finding in &scan.findings {
        let is_theirs = finding.section.is_some_and(|section| left.saved.contains(&section.offset));
        if let Some(rest) = finding.rest().filter(|_| !is_theirs) {
            out.text(format_args!("{to}: of section {}, a shorter section: {rest}\n", finding.number))?;
        }
    }
    for (offset, Ended { tasks, bytes, known }) in left.unfinished {
        let what = match tasks - known {
            0 => "all that were written".to_owned(),
            _ if known == 0 => "of each task those up to its last one that is not 0".to_owned(),
            others => format!("of {others} tasks those up to the last one that is not 0"),
        };
        out.text(format_args!(
            "{to}: streams of {tasks} tasks that were not ended, at byte {offset}: {bytes} bytes, {what}, as \"{NAME}\"\n"
        ))?;
    }
    for offset in left.torn {
        let what = "the metadata of a dataset, group or streams";
        out.text(format_args!(
            "{to}: left out: {what} at byte {offset}, as what follows them is not whole\n"
        ))?;
    }
    for (offset, name) in left.chunks {
        let name = quote(&name);
        out.text(format_args!(
            "{to}: the chunks of the streams {name} at byte {offset} are saved as {}\n",
            quote(CHUNKS)
        ))?;
    }
    for finding in &scan.findings {
        if !finding.of_dataset
            && finding.user.is_some_and(|user| &*user == DATASET_CONVENTION || &*user == GROUP_CONVENTION)
        {
            let number = finding.number;
            out.text(format_args!(
                "{to}: what follows the metadata of section {number} is saved without them\n"
            ))?;
        }
    }
    if left.has_additions && !is_sealed {
        out.text(format_args!(
            "{to}: what was added to datasets later counts when the file is sealed: scda seal\n"
        ))?;
    }
    for finding in &kept {
        out.text(format_args!("{to}: section {} is saved as it is\n", finding.number))?;
    }
    if wants_seal && !kept.is_empty() {
        complain(&format!("{}: is not sealed, because of datasets that are not valid", args.to.display()));
    }
    out.finish()
}

/// What is not saved as it is.
#[derive(Default)]
struct Left {
    /// Where metadata begin that are left out.
    torn: Vec<u64>,
    /// Where streams begin that were not ended.
    unfinished: Vec<(u64, Ended)>,
    /// Where other sections of these begin.
    saved: Vec<u64>,
    /// Where the chunks of streams begin whose metadata are not saved.
    begun: Vec<u64>,
    /// Such chunks that were saved: where they begin, and the name of the streams.
    chunks: Vec<(u64, UserString)>,
    /// Whether the last section that was saved is the metadata of a dataset.
    is_described: bool,
    /// Where the data of datasets began, where they do now, and their user strings.
    moved: HashMap<u64, (u64, UserString)>,
    /// Whether attributes or rows were saved that had been added to datasets.
    has_additions: bool,
}

impl Left {
    /// A section as it is saved at this position.
    fn named(&mut self, mut section: Section, position: u64) -> Result<Section> {
        let is_metadata = section.section_type == SectionType::Block && *section.user == *DATASET_CONVENTION;
        if std::mem::replace(&mut self.is_described, is_metadata) {
            self.moved.insert(section.offset, (position, section.user));
        }
        // What was added to a dataset names it by the place of its data.
        if let Some((data, addition)) = added_to(section.section_type, &section.user)
            && let Some((now, name)) = self.moved.get(&data)
            && let Ok(name) = std::str::from_utf8(name)
        {
            section.user = UserString::new(addition.user(*now, name).as_bytes())?;
            self.has_additions = true;
        }
        if self.begun.contains(&section.offset)
            && section.section_type == SectionType::Array
            && !section.decoded
        {
            self.chunks.push((section.offset, section.user));
            section.user = UserString::new(CHUNKS)?;
        }
        Ok(section)
    }
}

/// Copies whole sections, and the whole elements of damaged ones.
///
/// Metadata at the end of a part would be those of another section than theirs; they are left out. Streams that they begin are
/// saved if they were only not ended.
fn save(
    reader: &mut Reader,
    input: &Input,
    writer: &mut Writer,
    part: &Part,
    progress: &mut Progress,
    left: &mut Left,
) -> Result<()> {
    match part {
        Part::Leading(section, _) if left.saved.contains(&section.offset) => Ok(()),
        Part::Leading(section, count) => {
            let position = writer.position().unwrap_or(0);
            leading(reader, writer, &left.named(*section, position)?, *count, progress)
        }
        Part::Sections(_, range) => {
            reader.seek(range.start)?;
            let mut pairs = Pairs::new(input);
            while reader.position().is_some_and(|position| position < range.end) {
                let Some(section) = reader.next_section(true)? else { break };
                if left.saved.contains(&section.offset) {
                    reader.skip()?;
                    continue;
                }
                // Attributes that were set later become a part of the metadata of their dataset, if a seal says that they count.
                if reader.is_sealed() && is_of_attributes(&section) {
                    reader.skip()?;
                    continue;
                }
                let others = others_of(&section);
                if others > 0 {
                    let is_whole = have_followed(reader, others, range.end);
                    reader.seek(section.offset)?;
                    reader.next_section(true)?;
                    if !is_whole {
                        let offset = section.offset;
                        match Unfinished::find(reader, input, &section)? {
                            Some(streams) => {
                                left.saved.extend(streams.others());
                                left.unfinished.push((offset, streams.save(writer)?));
                            }
                            None => left.torn.push(offset),
                        }
                        reader.seek(offset)?;
                        reader.next_section(true)?;
                        reader.skip()?;
                        if others > 1 {
                            left.begun.extend(reader.position());
                        }
                        continue;
                    }
                }
                if let (Some(Pair::Dataset(found)), _) = pairs.look(&section)?
                    && found.later.is_some()
                {
                    let text = with_attributes(&read_metadata(reader, &section)?, &found.dataset.attributes)?;
                    let (user, bytes) = (&section.user, text.len() as u64);
                    writer.block_from(user, bytes, &mut text.as_bytes(), Encode::None)?;
                    left.is_described = true;
                    reader.skip()?;
                    continue;
                }
                let position = writer.position().unwrap_or(0);
                as_it_is(reader, writer, &left.named(section, position)?, progress)?;
            }
            Ok(())
        }
    }
}

/// Whether a section announces attributes that were set later, or has them.
fn is_of_attributes(Section { section_type, user, .. }: &Section) -> bool {
    let addition = added_to(*section_type, user).map(|(_, addition)| addition);
    announced(*section_type, user).or(addition) == Some(Addition::Attributes)
}

/// How many sections belong to one of metadata.
fn others_of(section: &Section) -> u64 {
    let Section { section_type, user, .. } = section;
    if begins_streams(*section_type, user) { 2 } else { u64::from(is_first(*section_type, user)) }
}

/// Whether so many sections follow the reader's current one before this offset.
fn have_followed(reader: &mut Reader, others: u64, end: u64) -> bool {
    (0..others).all(|_| {
        let is_passed = reader.skip().is_ok() && reader.position().is_some_and(|position| position < end);
        is_passed && matches!(reader.next_section(true), Ok(Some(_)))
    })
}
