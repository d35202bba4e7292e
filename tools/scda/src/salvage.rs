//! `scda salvage`: saves the intact parts of a damaged file.

use crate::check::{Finding, Part, Rigour, check_datasets, find_names, scan, words};
use crate::datasets::{
    Addition, AdditionName, MovedData, added_to, announced, begins_streams, content_of, is_first,
};
use crate::fail::{Fail, NO, Result};
use crate::files::{Input, OutputFile, Resources, Seal, check_free, check_replaceable};
use crate::incomplete_streams::{CompletedStreams, IncompleteStreams, NAME};
use crate::output::{Output, complain, quote, visible};
use crate::progress::Progress;
use crate::storage_options::{StorageOptions, hdf5_as};
use crate::transfer::{as_it_is, leading, read_metadata, with_attributes};
use scda::{Content, Encode, Reader, Section, SectionType, UserString, Writer};
use scda_format::dataset::additions::first_row;
use scda_format::dataset::json::MAX_METADATA_BYTES;
use scda_format::dataset::{DATASET_CONVENTION, GROUP_CONVENTION, parse};
use scda_format::streams::STREAMS;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;

/// The name of data of a dataset that are saved without its metadata. Under their own, they would be a record of the
/// dataset that cannot be read.
const DATA: &[u8] = b"salvaged data";
/// The name of chunks whose metadata, which say to which streams they belong, are lost.
const CHUNKS: &[u8] = b"salvaged chunks";
/// The name of rows that were added to a dataset, and of their metadata, if these rows, or rows before them, are
/// damaged.
const ROWS: &[u8] = b"salvaged rows";
/// The name of attributes of a group without the section before them, and of those that were set later, if their
/// dataset is not saved with its metadata.
const ATTRIBUTES: &[u8] = b"salvaged attributes";

/// Save what is intact in a damaged file
///
/// Copies the whole sections to OUT, also those after a damaged section if a seal, or headers and sizes, tell
/// where that section ends. Of a damaged array or varray, saves the elements before the first damaged one as
/// a shorter section, if it is known which one that is. Leaves out the metadata of datasets and streams whose
/// data are damaged. Reports everything that it leaves out. IN stays unchanged.
///
/// If more than one byte of uncompressed sealed data has changed, nothing of that section is saved, because
/// the damage cannot be located. A dataset whose sections are whole but do not match is saved unchanged; OUT
/// is then not sealed, even with --seal.
///
/// Some sections are saved under another name, because readers would take them for whole under their own.
/// "salvaged data" are data of a dataset, or their first elements, if its metadata or the rest of its data
/// are damaged; "salvaged chunks" are chunks of streams whose other sections are damaged; "salvaged rows" are
/// rows that were added to a dataset, with their metadata, if they or rows before them are damaged; "salvaged
/// attributes" are attributes of a damaged group, or attributes that were set later, of a damaged dataset;
/// "salvaged streams" are the streams that a job had not ended when it was killed: the bytes of each task up
/// to the last one that is not 0, or all if the file has their number.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda salvage state.scda saved.scda
  scda check state.scda                       only report the damage")]
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
    let mut scan = scan(&input, "check", Rigour::Lenient)?;
    check_datasets(&input, &mut scan, Rigour::Lenient)?;
    find_names(&input, &mut scan)?;
    scan.findings.iter().for_each(|finding| complain(&format!("{}: {}", input.name(), words(finding))));
    if scan.first_start == 0 {
        complain(&format!("{}: nothing can be saved", input.name()));
        return Err(Fail::Said(NO));
    }
    let mut reader = input.open_damaged(false)?;
    let user = reader.header().user;
    let mut params = StorageOptions::default().params(reader.header().line_break, &args.resources);
    // Metadata without anything after them are left out. All else of a dataset that is wrong is saved: it is no worse
    // than it was, but a seal would say that it is right.
    let is_kept = |finding: &&Finding| {
        let others = finding.section.map_or(0, |section| others_of(&section));
        finding.of_dataset && finding.number + others <= scan.sections
    };
    let kept: Vec<_> = scan.findings.iter().filter(is_kept).collect();
    let wants_seal = args.seal.wanted(scan.sealed.is_some());
    let is_sealed = wants_seal && kept.is_empty();
    params.seal = is_sealed;
    params.hdf5 = args.seal.wants_hdf5(hdf5_as(&mut reader));
    let mut file = OutputFile::create(&args.to, args.force, &user, params, std::slice::from_ref(&input))?;
    let bytes = scan.first_start + scan.parts.iter().map(Part::bytes).sum::<u64>();
    let progress = Progress::new("salvage", bytes);
    let mut salvager = Salvager { input: &input, reader, writer: file.writer()?, left: Remainder::default() };
    for finding in &scan.findings {
        salvager.note_begun(finding, &scan.parts);
    }
    scan.parts.iter().try_for_each(|part| salvager.save(part))?;
    let left = salvager.left;
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
            out.text(format_args!("{to}: of section {}, only {rest}\n", finding.number))?;
        }
    }
    left.report(&mut out, &to)?;
    if left.has_additions && !is_sealed {
        out.text(format_args!(
            "{to}: additions to datasets take effect once the file is sealed: scda seal\n"
        ))?;
    }
    let is_renamed = |finding: &&&Finding| {
        let offset = finding.section.map(|section| section.offset);
        offset.is_some_and(|offset| left.attributes.contains(&offset) || left.rows.contains(&offset))
    };
    for finding in kept.iter().filter(|finding| !is_renamed(finding)) {
        out.text(format_args!(
            "{to}: section {} is saved unchanged, although it is not valid\n",
            finding.number
        ))?;
    }
    if wants_seal && !kept.is_empty() {
        complain(&format!("{}: is not sealed, because it has invalid datasets", args.to.display()));
    }
    out.finish()
}

/// Sections that are not saved unchanged.
#[derive(Default)]
struct Remainder {
    /// The offsets of metadata that are left out, and what they belong to.
    torn: Vec<(u64, String)>,
    /// The offsets of streams that were not ended.
    unfinished: Vec<(u64, CompletedStreams)>,
    /// The offsets of their other sections.
    saved: Vec<u64>,
    /// Where sections begin whose metadata are not saved, and the names under which they are saved.
    begun: HashMap<u64, &'static [u8]>,
    /// Such sections that were saved: their offsets, their names, and the names under which they were saved.
    orphans: Vec<(u64, UserString, UserString)>,
    /// Set if the section saved last is the metadata of a dataset: its number of rows, if it has any.
    described: Option<Option<u64>>,
    /// True if the section saved last is the metadata of rows that follow those of their dataset.
    are_rows_next: bool,
    /// The saved datasets, by the original offset of their data.
    moved: HashMap<u64, SavedDataset>,
    /// The original offsets of the data of rows that were saved under another name.
    rows: Vec<u64>,
    /// The datasets that were saved with attributes that had been set later, by the original offset of their data.
    joined: HashSet<u64>,
    /// The offset of the last block with attributes that continue to belong to their dataset.
    announced: Option<u64>,
    /// The original offsets of the blocks of attributes that were saved under another name.
    attributes: Vec<u64>,
    /// True if additions to datasets were saved.
    has_additions: bool,
}

/// A dataset that was saved.
struct SavedDataset {
    data: MovedData,
    /// The number of rows saved so far.
    rows: Option<u64>,
}

impl Remainder {
    /// Examines a section whose header was read, and which `next` follows: returns true if it is the metadata of a
    /// dataset, or of rows that were added to one. These are saved under another name unless all rows before them are
    /// saved.
    fn look(&mut self, reader: &mut Reader, section: &mut Section, next: Option<Section>) -> Result<bool> {
        let is_of_rows = announced(section.section_type, &section.user) == Some(Addition::Rows);
        let is_metadata = section.section_type == SectionType::Block && *section.user == *DATASET_CONVENTION;
        if !is_of_rows && !is_metadata {
            return Ok(false);
        }
        let text =
            if section.size > MAX_METADATA_BYTES { String::new() } else { read_metadata(reader, section)? };
        reader.seek(section.offset)?;
        reader.next_section(true)?;
        let described = parse::dataset("salvaged", text.as_bytes()).ok().map(|metadata| metadata.dataset);
        let rows = described.as_ref().and_then(|dataset| dataset.shape.first().copied());
        if is_metadata {
            self.described = Some(rows);
            return Ok(true);
        }
        let first = described.and_then(|dataset| first_row(&dataset.attributes));
        let added = next.and_then(|next| added_to(next.section_type, &next.user));
        let moved = added.and_then(|added| self.moved.get_mut(&added.data));
        let moved = moved.filter(|moved| first.is_some() && moved.rows == first);
        match (moved, rows) {
            (Some(moved), Some(rows)) => {
                moved.rows = first.and_then(|first| first.checked_add(rows));
                self.are_rows_next = true;
            }
            _ => section.user = UserString::new(ROWS)?,
        }
        Ok(true)
    }

    /// A section as it is saved at this position.
    fn named(&mut self, mut section: Section, position: u64) -> Result<Section> {
        if let Some(rows) = self.described.take() {
            let data = MovedData { position, user: section.user };
            self.moved.insert(section.offset, SavedDataset { data, rows });
        }
        // An addition to a dataset refers to it by the offset of its data.
        let are_rows_next = std::mem::take(&mut self.are_rows_next);
        if let Some(AdditionName { addition, data }) = added_to(section.section_type, &section.user) {
            let is_right = match addition {
                Addition::Attributes => self.announced == Some(section.offset),
                Addition::Rows => are_rows_next,
            };
            let moved = self.moved.get(&data).filter(|_| is_right);
            let user = moved.map_or(Ok(None), |saved| saved.data.user_of(addition))?;
            if let Some(user) = user {
                section.user = user;
                self.has_additions = true;
            } else if addition == Addition::Rows {
                self.rows.push(section.offset);
                section.user = UserString::new(ROWS)?;
            }
        }
        let is_of = |name: &[u8]| match section.section_type {
            SectionType::Inline => false,
            SectionType::Block => name == ATTRIBUTES,
            SectionType::Array => name == DATA || name == CHUNKS && !section.decoded,
            SectionType::Varray => name == DATA,
        };
        if let Some(name) = self.begun.get(&section.offset).filter(|name| is_of(name)) {
            let saved_as = UserString::new(name)?;
            self.orphans.push((section.offset, section.user, saved_as));
            section.user = saved_as;
        }
        Ok(section)
    }

    /// Reports what is not saved unchanged.
    fn report(&self, out: &mut Output, to: &str) -> Result<()> {
        for (offset, CompletedStreams { tasks, bytes, known }) in &self.unfinished {
            let what = match tasks - known {
                0 => "all that were written".to_owned(),
                _ if *known == 0 => "for each task, those up to the last nonzero one".to_owned(),
                others => format!("for {others} tasks, those up to the last nonzero one"),
            };
            out.text(format_args!(
                "{to}: streams of {tasks} tasks that were not ended, at byte {offset}: {bytes} bytes, {what}, as \"{NAME}\"\n"
            ))?;
        }
        for (offset, owner) in &self.torn {
            out.text(format_args!(
                "{to}: left out: the metadata of {owner} at byte {offset}, because what follows them is incomplete\n"
            ))?;
        }
        for (offset, name, saved_as) in &self.orphans {
            let what = match &**saved_as {
                CHUNKS => "the chunks of the streams",
                DATA => "data of the dataset",
                _ => "the attributes of the group",
            };
            let (name, saved_as) = (quote(name), quote(saved_as));
            out.text(format_args!("{to}: {what} {name} at byte {offset} are saved as {saved_as}\n"))?;
        }
        for offset in &self.rows {
            let name = quote(ROWS);
            out.text(format_args!(
                "{to}: the rows at byte {offset} are saved as {name}: they, or rows before them, are incomplete\n"
            ))?;
        }
        for offset in &self.attributes {
            let name = quote(ATTRIBUTES);
            out.text(format_args!(
                "{to}: the attributes at byte {offset} are saved as {name}: the dataset they belong to is not saved\n"
            ))?;
        }
        Ok(())
    }
}

/// Copies the intact parts.
struct Salvager<'a> {
    input: &'a Input,
    reader: Reader,
    writer: &'a mut Writer,
    left: Remainder,
}

impl Salvager<'_> {
    /// If a section that is damaged describes the next one, notes the offset of that.
    fn note_begun(&mut self, finding: &Finding, parts: &[Part]) {
        let Some(name) = finding.user.and_then(|user| name_without(&user)) else { return };
        if finding.of_dataset && name != CHUNKS {
            return;
        }
        let next = parts.iter().find_map(|part| match part {
            Part::Sections(number, range) if *number == finding.number + 1 => Some(range.start),
            _ => None,
        });
        let next = next.or_else(|| finding.go_to_end(&mut self.reader));
        self.left.begun.extend(next.map(|offset| (offset, name)));
    }

    /// Copies intact sections, and the intact elements of damaged ones.
    fn save(&mut self, part: &Part) -> Result<()> {
        match part {
            Part::Leading(section, _) if self.left.saved.contains(&section.offset) => Ok(()),
            Part::Leading(section, count) => {
                let section = self.left.named(*section, self.writer.position().unwrap_or(0))?;
                leading(&mut self.reader, self.writer, &section, *count)
            }
            Part::Sections(_, range) => self.save_sections(range),
        }
    }

    fn save_sections(&mut self, range: &Range<u64>) -> Result<()> {
        self.reader.seek(range.start)?;
        while self.reader.position().is_some_and(|position| position < range.end) {
            let Some(section) = self.reader.next_section(true)? else { break };
            if self.left.saved.contains(&section.offset) {
                self.reader.skip()?;
            } else if self.stays(&section, range.end)? {
                self.save_section(section, range.end)?;
            }
        }
        Ok(())
    }

    /// Reads the header of the section at this offset.
    fn go_to(&mut self, offset: u64) -> Result<()> {
        self.reader.seek(offset)?;
        self.reader.next_section(true)?;
        Ok(())
    }

    /// True if a section whose header was read is saved. A section that announces later attributes is not if these are
    /// damaged, or if a seal makes them valid: they become a part of the metadata of their dataset.
    fn stays(&mut self, section: &Section, end: u64) -> Result<bool> {
        if announced(section.section_type, &section.user) != Some(Addition::Attributes) {
            return Ok(true);
        }
        let Some(block) = last_of(&mut self.reader, 1, end) else {
            self.left.torn.push((section.offset, "attributes that were set later".to_owned()));
            self.go_to(section.offset)?;
            self.reader.skip()?;
            return Ok(false);
        };
        // Another section does not belong to it.
        let stays = !has_attributes(&block) || self.save_attributes(block)?;
        if stays {
            self.go_to(section.offset)?;
        }
        Ok(stays)
    }

    /// Saves attributes that were set later; `block` has them and follows the reader's current section. Does not save
    /// them if they are in the metadata of their dataset. Returns true if they continue to belong to it.
    fn save_attributes(&mut self, mut block: Section) -> Result<bool> {
        let Self { left, reader, .. } = self;
        let data = added_to(block.section_type, &block.user).map_or(0, |added| added.data);
        let saved = left.moved.get(&data).map(|saved| MovedData { position: data, ..saved.data });
        let user = saved.map_or(Ok(None), |moved| moved.user_of(Addition::Attributes))?;
        let is_saved = user.is_some_and(|user| *user == *block.user);
        if !is_saved {
            left.attributes.push(block.offset);
            block.user = UserString::new(ATTRIBUTES)?;
            as_it_is(reader, self.writer, &block)?;
        } else if left.joined.contains(&data) {
            reader.skip()?;
        } else {
            left.announced = Some(block.offset);
        }
        Ok(left.announced == Some(block.offset))
    }

    /// Saves a section whose header was read, in a part that ends at this offset.
    fn save_section(&mut self, mut section: Section, end: u64) -> Result<()> {
        let others = others_of(&section);
        let mut last = None;
        if others > 0 {
            last = last_of(&mut self.reader, others, end);
            self.go_to(section.offset)?;
            if last.is_none() {
                return self.leave_out(&section);
            }
        }
        let is_metadata = self.left.look(&mut self.reader, &mut section, last)?;
        if let (Content::Dataset(dataset), _) = content_of(&mut self.reader, &section)?
            && dataset.later_attributes().is_some()
        {
            self.left.joined.insert(dataset.data_section().offset);
            let text = read_metadata(&mut self.reader, &section)?;
            let text = with_attributes(&text, &dataset.attributes)?;
            let bytes = text.len() as u64;
            self.writer.incremental().block(&section.user, bytes, &mut text.as_bytes(), Encode::None)?;
            return Ok(self.reader.skip()?);
        }
        if !is_metadata {
            section = self.left.named(section, self.writer.position().unwrap_or(0))?;
        }
        as_it_is(&mut self.reader, self.writer, &section)
    }

    /// What such metadata belong to, in words.
    fn owner(&mut self, metadata: &Section) -> Result<String> {
        let what = match name_without(&metadata.user) {
            Some(DATA) => "dataset",
            Some(ATTRIBUTES) => "group",
            Some(_) => return Ok("streams".to_owned()),
            None => return Ok("rows that were added to a dataset".to_owned()),
        };
        self.go_to(metadata.offset)?;
        self.reader.skip()?;
        // Its header may be damaged.
        let next = self.reader.next_section(true).ok().flatten();
        Ok(next.map_or(format!("a {what}"), |next| format!("{what} {}", quote(&next.user))))
    }

    /// Leaves out metadata whose other sections are damaged, because they would apply to another section. Saves streams
    /// if they merely were not ended.
    fn leave_out(&mut self, metadata: &Section) -> Result<()> {
        match IncompleteStreams::find(&mut self.reader, self.input, metadata)? {
            Some(streams) => {
                self.left.saved.extend(streams.others());
                self.left.unfinished.push((metadata.offset, streams.save(self.writer)?));
            }
            None => {
                let owner = self.owner(metadata)?;
                self.left.torn.push((metadata.offset, owner));
            }
        }
        self.go_to(metadata.offset)?;
        self.reader.skip()?;
        let position = self.reader.position();
        self.left.begun.extend(position.zip(name_without(&metadata.user)));
        Ok(())
    }
}

/// The name under which the section after these metadata is saved without them.
fn name_without(metadata: &UserString) -> Option<&'static [u8]> {
    match &**metadata {
        DATASET_CONVENTION => Some(DATA),
        GROUP_CONVENTION => Some(ATTRIBUTES),
        STREAMS => Some(CHUNKS),
        _ => None,
    }
}

/// True if a section has later attributes of a dataset, provided that the section before announces them.
fn has_attributes(Section { section_type, user, .. }: &Section) -> bool {
    added_to(*section_type, user).is_some_and(|added| added.addition == Addition::Attributes)
}

/// The number of sections that belong to these metadata.
fn others_of(section: &Section) -> u64 {
    let Section { section_type, user, .. } = section;
    let is_first = is_first(*section_type, user) || announced(*section_type, user) == Some(Addition::Rows);
    if begins_streams(*section_type, user) { 2 } else { u64::from(is_first) }
}

/// The last of the `others` sections after the reader's current one, if all of them end before this offset.
fn last_of(reader: &mut Reader, others: u64, end: u64) -> Option<Section> {
    let mut last = None;
    for _ in 0..others {
        reader.skip().ok()?;
        reader.position().filter(|position| *position < end)?;
        last = reader.next_section(true).ok()?;
        last?;
    }
    last
}
