//! Finds and prints sets of streams of tasks as a whole (docs/streams.md).

use crate::datasets::{Item, LAST_RECORD, Walk, begins_streams};
use crate::fail::{Fail, NO, Result};
use crate::files::Input;
use crate::formats::{DataFormat, DataPrinter};
use crate::output::{self, complain, escape};
use crate::select::Selection;
use scda::{Content, Reader, Section, SectionType, Stream, Streams, UserString};
use scda_base::numbers::to_usize;
use scda_format::dataset::DATASET_CONVENTION;
use std::collections::HashMap;
use std::ops::Range;

/// The bytes that are read at once.
const BATCH_BYTES: u64 = 1 << 20;

/// What `cat --stream` and `split` read.
pub enum StreamTarget {
    Streams(StreamSet),
    /// A section, and true if it is a set of streams whose elements are the streams.
    Section(Section, bool),
}

/// A set of streams.
pub struct StreamSet {
    pub streams: Streams,
    /// The sections from the first one of the set up to the first one of the next set with its name.
    sections: Range<u64>,
    /// The exit code for an error among them, which may hide a part of the set.
    fault: Option<u8>,
}

impl StreamSet {
    /// Fails if the streams may have more bytes than were found. Call it at the end.
    pub fn check_whole(&self, input: &Input) -> Result<()> {
        let Some(code) = self.fault else { return Ok(()) };
        let name = escape(self.streams.name());
        let words = "may be incomplete: damage after them may hide more of them";
        complain(&format!("{}: the streams \"{name}\" {words}", input.name()));
        Err(Fail::Said(code))
    }
}

/// How a set or section matches the selection.
#[derive(Clone, Copy)]
struct Match {
    /// By its whole name.
    is_exact: bool,
    is_meant: bool,
}

/// A candidate.
struct Candidate {
    how: Match,
    what: StreamTarget,
}

/// The candidates in a file.
#[derive(Default)]
struct Candidates {
    all: Vec<Candidate>,
    /// The index of the last set of streams with each name.
    last_sets: HashMap<Vec<u8>, usize>,
    /// A description of a dataset, or of the attributes of a group, that the argument selects.
    other: Option<String>,
    /// The sections with errors that may hide a part of any set, each with its exit code.
    faults: Vec<(u64, u8)>,
}

impl Candidates {
    /// The last set of streams with this name.
    fn last_set(&mut self, name: &UserString) -> Option<(&mut StreamSet, &mut bool)> {
        let Candidate { what, how } = &mut self.all[*self.last_sets.get(&**name)?];
        match what {
            StreamTarget::Streams(found) => Some((found, &mut how.is_meant)),
            StreamTarget::Section(..) => None,
        }
    }

    /// Notes that another set with this name begins at the section with this number.
    fn end_last_set(&mut self, name: &UserString, number: u64) {
        if let Some((before, _)) = self.last_set(name) {
            before.sections.end = number;
        }
    }

    /// Adds the first part of a set.
    fn begin_set(&mut self, part: &Streams, number: u64, how: Match) {
        let name = *part.name();
        self.end_last_set(&name, number);
        self.last_sets.insert(name.to_vec(), self.all.len());
        let set = StreamSet { streams: part.clone(), sections: number..u64::MAX, fault: None };
        self.all.push(Candidate { how, what: StreamTarget::Streams(set) });
    }

    /// Adds a later part to the last set of its name.
    fn add_part(&mut self, part: &Streams, number: u64, is_meant: bool, file: &str) -> Result<()> {
        if let Some((set, is_set_meant)) = self.last_set(part.name()) {
            extend(&mut set.streams, part, file)?;
            *is_set_meant |= is_meant;
        } else {
            complain(&format!("{file}: {}", lost(part)));
            self.faults.push((number, NO));
        }
        Ok(())
    }

    /// Adds a section that belongs to no set; `is_packed` if it is a set by itself.
    fn add_section(&mut self, item: &Item, is_packed: bool, how: Match, file: &str) {
        let user = *item.user();
        if is_packed {
            self.end_last_set(&user, item.number);
            self.last_sets.remove(&*user);
        } else if let Some((set, _)) = self.last_set(&user) {
            // For example the chunks of a part whose block is damaged.
            let (number, words) = (item.last(), no_part(&user));
            complain(&format!("{file}: section {number}: {words}"));
            set.fault = Some(NO);
        }
        if !how.is_meant {
            return;
        }
        let what = match &item.content {
            Content::Dataset(_) => "a dataset",
            Content::Group(_) => "the attributes of a group",
            _ => {
                let what = StreamTarget::Section(item.section, is_packed);
                self.all.push(Candidate { how, what });
                return;
            }
        };
        let words = format!("\"{}\" is {what}, expected a set of streams or a varray", escape(&user));
        self.other.get_or_insert(words);
    }
}

/// Finds the streams, or the section, that the argument selects.
pub fn find(
    reader: &mut Reader,
    input: &Input,
    selection: &Selection,
    record: Option<i64>,
) -> Result<StreamTarget> {
    let mut found = Candidates::default();
    let mut walk = Walk::with_streams(input);
    if let Err(fail) = collect(reader, &mut walk, selection, &mut found) {
        // Damage after a section can only hide other matches; for streams, it may also hide more of them.
        found.faults.push((walk.number + 1, fail.code()));
        match (fail, found.all.iter().any(|one| one.how.is_meant)) {
            (Fail::Scda(error), true) => complain(&error.to_string()),
            (Fail::Invalid(words), true) => complain(&words),
            (fail, _) => return Err(fail),
        }
    }
    let Candidates { all, faults, other, .. } = found;
    let has_exact = all.iter().any(|one| one.how.is_exact);
    let mut meant: Vec<_> =
        all.into_iter().filter(|one| if has_exact { one.how.is_exact } else { one.how.is_meant }).collect();
    let count = meant.len();
    let trouble = |words: String| Err(Fail::file(input.name(), words));
    if count == 0 {
        let none = || format!("{selection}: no such section; it has {} sections", walk.number);
        return trouble(other.unwrap_or_else(none));
    }
    if record.is_none() && count > 1 && !has_exact {
        return trouble(format!("found {count} of that name; choose one with --record"));
    }
    let record = record.unwrap_or(LAST_RECORD);
    let back = (count as u64).checked_sub(record.unsigned_abs());
    let place = u64::try_from(record).ok().or(back);
    match place.filter(|&place| place < count as u64) {
        Some(place) => Ok(match meant.swap_remove(to_usize(place)).what {
            StreamTarget::Streams(mut found) => {
                let among = faults.iter().filter(|(number, _)| found.sections.contains(number));
                found.fault = among.map(|&(_, code)| code).max().max(found.fault);
                StreamTarget::Streams(found)
            }
            section => section,
        }),
        None => trouble(format!("--record {record}: found {count} of that name")),
    }
}

/// Walks the file and collects candidates for the selection.
fn collect(
    reader: &mut Reader,
    walk: &mut Walk<'_>,
    selection: &Selection,
    found: &mut Candidates,
) -> Result<()> {
    let mut before = None;
    while let Some(item) = walk.next(reader)? {
        let is_packed = is_packed(before.as_ref(), &item.section);
        before = Some(item.section).filter(|_| item.others.is_empty());
        if let Some(fault) = item.fault() {
            complain(&fault.to_string());
            if begins_streams(item.section.section_type, &item.section.user) {
                found.faults.push((item.number, NO));
            }
        }
        let is_exact = selection.is_name(item.user());
        let is_meant =
            is_exact || crate::select::any_of(std::slice::from_ref(selection), &item, walk.finder(reader))?;
        let how = Match { is_exact, is_meant };
        match &item.content {
            Content::Streams(part) if part.part() > 0 => {
                found.add_part(part, item.number, is_meant, walk.file_name())?;
            }
            Content::Streams(part) => found.begin_set(part, item.number, how),
            _ => found.add_section(&item, is_packed, how, walk.file_name()),
        }
        item.skip(reader)?;
    }
    Ok(())
}

/// True if a section, which follows `before`, is a set of streams whose elements are the streams. The chunks of a
/// dataset are not, even if its metadata are damaged.
fn is_packed(before: Option<&Section>, section: &Section) -> bool {
    let is_of_dataset = before.is_some_and(|before| {
        *before.user == *DATASET_CONVENTION && before.section_type == SectionType::Block
    });
    section.section_type == SectionType::Varray && !section.decoded && !is_of_dataset
}

/// Like [`is_packed`], for the section with this number, from 0.
pub fn is_packed_at(reader: &mut Reader, number: u64) -> Result<bool> {
    reader.seek_section(number.saturating_sub(1))?;
    let before = reader.next_section(true)?.filter(|_| number > 0);
    reader.seek_section(number)?;
    Ok(reader.next_section(true)?.is_some_and(|section| is_packed(before.as_ref(), &section)))
}

/// Adds the next part of a set of this file.
fn extend(set: &mut Streams, next: &Streams, file: &str) -> Result<()> {
    set.extend(next).map_err(|error| Fail::Invalid(format!("{file}: {error}")))
}

/// Describes a part without the parts before it.
fn lost(streams: &Streams) -> String {
    let (name, part) = (escape(streams.name()), streams.part());
    format!("streams \"{name}\": the parts before part {part} are missing")
}

/// Describes a section with the name of earlier streams that is not one of their parts.
fn no_part(name: &UserString) -> String {
    format!("not a part of the streams \"{}\", although it has their name", escape(name))
}

/// Calls a function with bytes of a stream, batch by batch.
pub fn each_batch(
    reader: &mut Reader,
    stream: &Stream,
    range: Range<u64>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let (mut data, mut from) = (Vec::new(), range.start);
    while from < range.end {
        data.resize(to_usize((range.end - from).min(BATCH_BYTES)), 0);
        stream.read(reader, from, &mut data)?;
        each(&data)?;
        from += data.len() as u64;
    }
    Ok(())
}

/// Prints bytes of the stream of a task.
pub fn print(
    reader: &mut Reader,
    input: &Input,
    streams: &Streams,
    task: u64,
    range: impl FnOnce(u64) -> Result<Range<u64>>,
) -> Result<()> {
    let tasks = streams.tasks();
    if task >= tasks {
        let found = match tasks.checked_sub(1) {
            Some(last) => format!("{tasks} streams, from 0 to {last}"),
            None => "no streams".to_owned(),
        };
        return Err(Fail::file(input.name(), format_args!("--stream {task}: there are {found}")));
    }
    let stream = streams.stream(reader, task)?;
    let range = range(stream.bytes())?;
    let mut out = output::Output::new()?;
    let mut show = None;
    let result = each_batch(reader, &stream, range, |data| {
        let show = match &mut show {
            Some(show) => show,
            none => none.insert(DataPrinter::of_bytes(DataFormat::usual(&out, streams.name(), data)?)),
        };
        show.bytes(&mut out, data)
    });
    show.map_or(Ok(()), |show| show.finish(&mut out))?;
    out.finish()?;
    result
}
