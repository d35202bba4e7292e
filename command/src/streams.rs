//! Sets of streams of tasks as a whole (docs/streams.md): found, printed, packed, split into files, and joined from files.

use crate::datasets::{FoundStreams, Item, Pair, Walk, begins_streams};
use crate::fail::{Fail, NO, Result};
use crate::files::{Input, OutputFile, Resources, check_free, check_not_left, check_replaceable, status};
use crate::formats::{DataFormat, Show};
use crate::output::{self, complain, escape};
use crate::pieces::{Pieces, as_io_error};
use crate::progress::Progress;
use crate::select::Selection;
use crate::signals;
use scda::internals::to_usize;
use scda::internals::{DATASET_CONVENTION, WholeFile};
use scda::{DataStream, ElementStream, Params, Reader, Section, SectionType, Stream, Streams, UserString};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;
/// Digits of the number in the names of files, at least.
const DIGITS: usize = 6;
/// Chunks of streams whose size is chosen: whole blocks of usual file systems, and no more than the library's choice.
const LEAST_CHUNK_BYTES: u64 = 4096;
const MOST_CHUNK_BYTES: u64 = 1 << 20;

/// Split a set of streams into files, one of each task
///
/// The file of task 3 of the streams "log" is DIR/log.000003. Of a varray, such as the one that scda import makes of the streams of a
/// SIONlib file, each element becomes a file. DIR is made if it is not there.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda split run.scda log logs
  scda import restart.sion restart.scda; scda split restart.scda sion/streams tasks")]
pub struct SplitArgs {
    /// The file; - is standard input
    file: PathBuf,
    /// The name of the streams or the varray, in which * and ? stand for any text and any character; or the number of a section
    name: Selection,
    /// The folder that gets the files
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Of several of this name: the one with this number, from 0 on, or from -1, the last one, back
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    record: Option<i64>,
    /// Replace files that exist
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    resources: Resources,
}

/// Join files into a set of streams, one file a task
///
/// The inverse of scda split: task 0 is the first file. The files of a folder are taken in the order of their names, in which numbers
/// count as such. What is a hole or zeros at the end of a chunk takes no room where the file system has holes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda join-streams logs -o all.scda --name log
  scda join-streams out.0 out.1 out.2 -o all.scda --name output")]
pub struct JoinStreamsArgs {
    /// The files, in the order of the tasks; or a folder with nothing but them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The file to write
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    to: PathBuf,
    /// The name of the set of streams
    #[arg(long)]
    name: String,
    /// The bytes of a chunk, 1 to 2^30 [default: 1 MiB, or less if all files are shorter]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    chunk_bytes: Option<u64>,
    /// Do not seal the new file
    #[arg(long)]
    no_seal: bool,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
}

/// What `--stream` and `split` apply to.
pub enum MeantStreams {
    Streams(FoundSet),
    /// A section, and whether it is a set of streams of which each is an element.
    Section(Section, bool),
}

/// A set of streams.
pub struct FoundSet {
    pub streams: Streams,
    /// The sections from its first one up to the first one of the next set of its name.
    sections: Range<u64>,
    /// If something is wrong among them, which may hide a part of the set: the exit code.
    fault: Option<u8>,
}

impl FoundSet {
    /// Trouble if the streams may have more bytes than were found. Call it at the end.
    pub fn check_whole(&self, input: &Input) -> Result<()> {
        let Some(code) = self.fault else { return Ok(()) };
        let name = escape(self.streams.name());
        let words = "may be incomplete: what is wrong behind them may hide more of them";
        complain(&format!("{}: the streams \"{name}\" {words}", input.name()));
        Err(Fail::Said(code))
    }
}

/// A candidate.
struct Candidate {
    is_exact: bool,
    is_meant: bool,
    what: MeantStreams,
}

/// What was found in a file.
#[derive(Default)]
struct Candidates {
    all: Vec<Candidate>,
    /// Where the last set of streams of each name is among all.
    last_sets: HashMap<Vec<u8>, usize>,
    /// A dataset, or the attributes of a group, that the argument means: what it is.
    other: Option<String>,
    /// The sections in which something is wrong that may hide a part of any set, each with its exit code.
    faults: Vec<(u64, u8)>,
}

impl Candidates {
    /// The last set of streams of this name.
    fn last_set(&mut self, name: &UserString) -> Option<(&mut FoundSet, &mut bool)> {
        let Candidate { what, is_meant, .. } = &mut self.all[*self.last_sets.get(&**name)?];
        match what {
            MeantStreams::Streams(found) => Some((found, is_meant)),
            MeantStreams::Section(..) => None,
        }
    }
}

/// Finds the streams, or the section, of the argument.
pub fn find(
    reader: &mut Reader,
    input: &Input,
    selection: &Selection,
    record: Option<i64>,
) -> Result<MeantStreams> {
    let mut found = Candidates::default();
    let mut walk = Walk::with_streams(input);
    if let Err(fail) = collect(reader, &mut walk, selection, &mut found) {
        // Damage behind a section can only hide other matches; of streams also more of them.
        found.faults.push((walk.number + 1, fail.code()));
        match (fail, found.all.iter().any(|one| one.is_meant)) {
            (Fail::Scda(error), true) => complain(&error.to_string()),
            (Fail::Invalid(words), true) => complain(&words),
            (fail, _) => return Err(fail),
        }
    }
    let Candidates { all, faults, other, .. } = found;
    let has_exact = all.iter().any(|one| one.is_exact);
    let mut meant: Vec<_> =
        all.into_iter().filter(|one| if has_exact { one.is_exact } else { one.is_meant }).collect();
    let count = meant.len();
    let trouble = |words: String| Err(Fail::file(input.name(), words));
    let place = match (record, count) {
        (_, 0) => {
            let none = || format!("no such section among its {} sections", walk.number);
            return trouble(other.unwrap_or_else(none));
        }
        (None, 1) => Some(0),
        (None, _) => return trouble(format!("found {count} of that name; --record says which")),
        (Some(record), _) => match u64::try_from(record) {
            Ok(place) => Some(place),
            Err(_) => (count as u64).checked_sub(record.unsigned_abs()),
        },
    };
    match place.filter(|&place| place < count as u64) {
        Some(place) => Ok(match meant.swap_remove(to_usize(place)).what {
            MeantStreams::Streams(mut found) => {
                let among = faults.iter().filter(|(number, _)| found.sections.contains(number));
                found.fault = among.map(|&(_, code)| code).max().max(found.fault);
                MeantStreams::Streams(found)
            }
            section => section,
        }),
        None => trouble(format!("--record {}: found {count} of that name", record.unwrap_or(0))),
    }
}

fn collect(
    reader: &mut Reader,
    walk: &mut Walk<'_>,
    selection: &Selection,
    found: &mut Candidates,
) -> Result<()> {
    let mut before = None;
    while let Some(item) = walk.next(reader)? {
        let is_packed = is_packed(before.as_ref(), &item.section);
        before = Some(item.section).filter(|_| item.pair.is_none());
        if let Some(fault) = &item.fault {
            complain(&fault.to_string());
            if begins_streams(item.section.section_type, &item.section.user) {
                found.faults.push((item.number, NO));
            }
        }
        let user = *item.user();
        let is_exact = selection.is_name(&user);
        let is_meant = is_exact || crate::select::any_of(std::slice::from_ref(selection), &item);
        match &item.streams {
            Some(part) if part.streams.part() > 0 => {
                if let Some((set, is_set_meant)) = found.last_set(&user) {
                    extend(&mut set.streams, &part.streams, walk.file_name())?;
                    *is_set_meant |= is_meant;
                } else {
                    complain(&format!("{}: {}", walk.file_name(), lost(part)));
                    found.faults.push((item.number, NO));
                }
            }
            Some(part) => {
                if let Some((before, _)) = found.last_set(&user) {
                    before.sections.end = item.number;
                }
                let (streams, sections) = (part.streams.clone(), item.number..u64::MAX);
                let what = MeantStreams::Streams(FoundSet { streams, sections, fault: None });
                found.last_sets.insert(user.to_vec(), found.all.len());
                found.all.push(Candidate { is_exact, is_meant, what });
            }
            None => {
                if is_packed {
                    // A set by itself.
                    if let Some((before, _)) = found.last_set(&user) {
                        before.sections.end = item.number;
                    }
                    found.last_sets.remove(&**item.user());
                } else if let Some((set, _)) = found.last_set(&user) {
                    // As the chunks of a part whose block is damaged.
                    let (number, words) = (item.last(), no_part(&user));
                    complain(&format!("{}: section {number}: {words}", walk.file_name()));
                    set.fault = Some(NO);
                }
                if let (true, Some(pair)) = (is_meant, &item.pair) {
                    let what = match pair {
                        Pair::Dataset(_) => "a dataset",
                        Pair::Group(_) => "the attributes of a group",
                    };
                    let words =
                        format!("\"{}\" is {what}, neither a set of streams nor a varray", escape(&user));
                    found.other.get_or_insert(words);
                } else if is_meant {
                    found.all.push(Candidate {
                        is_exact,
                        is_meant,
                        what: MeantStreams::Section(item.section, is_packed),
                    });
                }
            }
        }
        item.skip(reader)?;
    }
    Ok(())
}

/// Whether a section, behind this one, is a set of streams of which each is an element. The chunks of a dataset are none, also if its
/// metadata are damaged.
fn is_packed(before: Option<&Section>, section: &Section) -> bool {
    let is_of_dataset = before.is_some_and(|before| {
        *before.user == *DATASET_CONVENTION && before.section_type == SectionType::Block
    });
    section.section_type == SectionType::Varray && !section.decoded && !is_of_dataset
}

/// As [`is_packed`], of the section with this number, from 0 on.
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

/// A part without the ones before it, in words.
fn lost(found: &FoundStreams) -> String {
    let (name, part) = (escape(found.streams.name()), found.streams.part());
    format!("streams \"{name}\": the parts before part {part} are missing")
}

/// A part that is not copied although the set is packed, in words.
pub fn left_out(item: &Item) -> String {
    let (name, number) = (escape(item.user()), item.number);
    let words = "is skipped: packing needs all parts of the set";
    format!("--pack-streams: part of the streams \"{name}\" from section {number} on {words}")
}

/// A section with the name of streams before it that is none of their parts, in words.
fn no_part(name: &UserString) -> String {
    format!("not a part of the streams \"{}\", whose name it has", escape(name))
}

/// The streams of a whole set, one after the other, as elements of a varray.
pub struct StreamElements<'a> {
    reader: &'a mut Reader,
    streams: &'a Streams,
    progress: &'a mut Progress,
    /// The stream that is read, and how far.
    now: Option<(Stream, u64)>,
    next: u64,
    next_size: u64,
}

impl<'a> StreamElements<'a> {
    pub fn new(reader: &'a mut Reader, streams: &'a Streams, progress: &'a mut Progress) -> Self {
        Self { reader, streams, progress, now: None, next: 0, next_size: 0 }
    }
}

impl Read for StreamElements<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some((stream, position)) = &mut self.now {
                let left = stream.bytes() - *position;
                if left > 0 {
                    let count = left.min(buffer.len() as u64);
                    let read = self.reader.read_stream(stream, *position, &mut buffer[..to_usize(count)]);
                    read.map_err(io::Error::other)?;
                    *position += count;
                    self.progress.add(count);
                    return Ok(to_usize(count));
                }
            }
            if self.next == self.streams.tasks() {
                return Ok(0);
            }
            let stream = self.reader.stream(self.streams, self.next).map_err(io::Error::other)?;
            self.now = Some((stream, 0));
            self.next += 1;
        }
    }
}

impl DataStream for StreamElements<'_> {
    fn rewind(&mut self) -> io::Result<()> {
        (self.now, self.next, self.next_size) = (None, 0, 0);
        Ok(())
    }
}

impl ElementStream for StreamElements<'_> {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        for size in sizes {
            *size = self.reader.stream(self.streams, self.next_size).map_err(io::Error::other)?.bytes();
            self.next_size += 1;
        }
        Ok(())
    }
}

/// The whole set of the file `input` that begins with this part. The reader is one beside that which goes through the file.
pub fn whole(reader: &mut Reader, input: &str, first: &FoundStreams, number: u64) -> Result<Streams> {
    let mut set = first.streams.clone();
    if set.part() > 0 {
        return Err(Fail::file(input, lost(first)));
    }
    let name = *set.name();
    // The numbers count from 0 here: the chunks are behind the block.
    for chunks in reader.find_all(&name)? {
        if chunks <= number {
            continue;
        }
        reader.seek_section(chunks - 1)?;
        reader.next_section(true)?;
        match reader.stream_part()? {
            Some(part) if part.part() > 0 => extend(&mut set, &part, input)?,
            Some(_) => break,
            None => {
                reader.seek_section(chunks)?;
                let (number, at) = (chunks + 1, reader.position().unwrap_or(0));
                if is_packed_at(reader, chunks)? {
                    break;
                }
                let words = no_part(&name);
                return Err(Fail::Invalid(format!("{input}: section {number}, byte {at}: {words}")));
            }
        }
    }
    Ok(set)
}

/// Hands out bytes of a stream in pieces.
pub fn each_piece(
    reader: &mut Reader,
    stream: &Stream,
    range: Range<u64>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let (mut data, mut from) = (Vec::new(), range.start);
    while from < range.end {
        data.resize(to_usize((range.end - from).min(PIECE_BYTES)), 0);
        reader.read_stream(stream, from, &mut data)?;
        each(&data)?;
        from += data.len() as u64;
    }
    Ok(())
}

/// Prints bytes of the stream of a task.
pub fn print(
    reader: &mut Reader,
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
        return Err(Fail::Trouble(format!("--stream {task}: found {found}")));
    }
    let stream = reader.stream(streams, task)?;
    let range = range(stream.bytes())?;
    let mut out = output::Output::new()?;
    let (start, mut show) = (range.start, None);
    let result = each_piece(reader, &stream, range, |data| {
        let format = DataFormat::usual(data, out.is_terminal());
        show.get_or_insert_with(|| Show::of_bytes(format, start)).bytes(&mut out, data)
    });
    show.map_or(Ok(()), |show| show.finish(&mut out))?;
    out.finish()?;
    result
}

/// A file of a task.
struct TaskFile {
    /// Until it is complete.
    file: Option<WholeFile>,
}

impl TaskFile {
    fn new(path: &Path, force: bool, input: &Input) -> Result<Self> {
        check_free(path, force)?;
        check_replaceable(path, "is the file to split", input.path().metadata())?;
        input.check_not_left(path)?;
        // A link is replaced, not followed: what it names may be anywhere.
        if path.is_symlink() {
            std::fs::remove_file(path).map_err(|error| Fail::file(&path.display().to_string(), error))?;
        }
        signals::begin(path);
        let file = WholeFile::create(path).inspect_err(|_| signals::end())?;
        Ok(Self { file: Some(file) })
    }

    fn put(&mut self, data: &[u8]) -> Result<()> {
        Ok(self.file.as_mut().map_or(Ok(()), |file| file.write(data))?)
    }

    fn finish(mut self) -> Result<()> {
        Ok(self.file.take().map_or(Ok(()), WholeFile::finish)?)
    }
}

impl Drop for TaskFile {
    fn drop(&mut self) {
        // Before a signal would find nothing to remove.
        self.file = None;
        signals::end();
    }
}

/// The path of the file of a task, of `tasks` tasks.
fn path_of(folder: &Path, user: &UserString, task: u64, tasks: u64) -> PathBuf {
    let stem: String = escape(user).chars().map(|c| if "/\\".contains(c) { '_' } else { c }).collect();
    let digits = tasks.saturating_sub(1).to_string().len().max(DIGITS);
    folder.join(format!("{stem}.{task:0digits$}"))
}

pub fn run_split(args: &SplitArgs) -> Result<()> {
    let input = Input::new(&args.file, &args.resources)?;
    let mut reader = input.open_damaged(false)?;
    let meant = find(&mut reader, &input, &args.name, args.record)?;
    let made = || {
        let made = std::fs::create_dir_all(&args.to);
        made.map_err(|error| Fail::file(&args.to.display().to_string(), error))
    };
    let mut progress = Progress::new(&format!("split {}", input.name()), 0);
    let section = match meant {
        MeantStreams::Streams(found) => {
            made()?;
            let streams = &found.streams;
            for task in 0..streams.tasks() {
                let stream = reader.stream(streams, task)?;
                let path = path_of(&args.to, streams.name(), task, streams.tasks());
                let mut file = TaskFile::new(&path, args.force, &input)?;
                each_piece(&mut reader, &stream, 0..stream.bytes(), |data| {
                    progress.add(data.len() as u64);
                    file.put(data)
                })?;
                file.finish()?;
            }
            return found.check_whole(&input);
        }
        MeantStreams::Section(section, _) => section,
    };
    if section.section_type != SectionType::Varray {
        let (name, kind) = (escape(&section.user), crate::rows::kind(&section));
        let words = format!("\"{name}\" is of the kind {kind}, neither a set of streams nor a varray");
        return Err(Fail::file(input.name(), words));
    }
    made()?;
    reader.seek(section.offset)?;
    reader.next_section(true)?;
    for element in 0..section.count {
        let path = path_of(&args.to, &section.user, element, section.count);
        let mut file = TaskFile::new(&path, args.force, &input)?;
        let mut pieces = Pieces::new(&section, element..element + 1);
        while pieces.next(&mut reader)? {
            progress.add(pieces.data().len() as u64);
            file.put(pieces.data())?;
        }
        file.finish()?;
    }
    Ok(())
}

/// The order of names in which numbers count as such.
fn natural(a: &[u8], b: &[u8]) -> Ordering {
    let (mut x, mut y) = (a, b);
    loop {
        let number = |text: &[u8]| text.iter().take_while(|c| c.is_ascii_digit()).count();
        let order = match (number(x), number(y)) {
            (0, _) | (_, 0) => match (x.split_first(), y.split_first()) {
                (Some((c, rest)), Some((d, other))) => {
                    (x, y) = (rest, other);
                    c.cmp(d)
                }
                // What is left over; else the same but for zeros before numbers.
                _ => return x.len().cmp(&y.len()).then_with(|| a.cmp(b)),
            },
            (n, m) => {
                let ((first, rest), (second, other)) = (x.split_at(n), y.split_at(m));
                (x, y) = (rest, other);
                let value = |digits: &[u8]| digits.iter().position(|&c| c != b'0').unwrap_or(digits.len());
                let (first, second) = (&first[value(first)..], &second[value(second)..]);
                first.len().cmp(&second.len()).then_with(|| first.cmp(second))
            }
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// The files of a folder, in the order of their names.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let trouble = |error: io::Error| Fail::file(&folder.display().to_string(), error);
    let mut files = Vec::new();
    for entry in folder.read_dir().map_err(trouble)? {
        files.push(entry.map_err(trouble)?.path());
    }
    let name =
        |path: &PathBuf| path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
    files.sort_by(|a, b| natural(&name(a), &name(b)));
    Ok(files)
}

/// A file whose errors have its name.
struct Named {
    file: File,
    name: String,
}

impl Read for Named {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => named(&self.name, error),
        })
    }
}

fn named(name: &str, error: io::Error) -> io::Error {
    as_io_error(Fail::file(name, error))
}

pub fn run_join(args: &JoinStreamsArgs) -> Result<()> {
    let to = &args.to;
    check_free(to, args.force)?;
    let files = match args.files.as_slice() {
        [folder] if folder.is_dir() => files_of(folder)?,
        files => files.to_vec(),
    };
    let all = files.iter().map(|path| status(path)).collect::<Result<Vec<_>>>()?;
    if let Some(place) = all.iter().position(|status| !status.is_file()) {
        let name = files[place].display().to_string();
        return Err(Fail::file(&name, "a folder, pipe or device, not a file"));
    }
    if files.is_empty() {
        let folder = args.files.first().map(|folder| folder.display().to_string()).unwrap_or_default();
        return Err(Fail::file(&folder, "no file of a task is in it"));
    }
    let longest = all.iter().map(std::fs::Metadata::len).max().unwrap_or(0);
    check_replaceable(to, "is one of the files to join", all)?;
    files.iter().try_for_each(|path| check_not_left(to, path, &path.display().to_string()))?;
    let chosen = longest.next_multiple_of(LEAST_CHUNK_BYTES).clamp(LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES);
    let mut params = Params::default();
    params.seal = !args.no_seal;
    let name = args.name.as_bytes();
    let mut out = OutputFile::create(to, args.force, name, params, &[])?;
    let mut open = |task: u64| -> io::Result<Box<dyn Read>> {
        let path = &files[to_usize(task)];
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| named(&name, error))?;
        Ok(Box::new(Named { file, name }))
    };
    let chunk_bytes = args.chunk_bytes.unwrap_or(chosen);
    out.writer()?.streams_from(name, chunk_bytes, files.len() as u64, &mut open)?;
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_such() {
        let sorted = ["a", "a.1", "a.02", "a.2", "a.10", "a.10.9", "a.10.10", "b"];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(natural(a.as_bytes(), b.as_bytes()), i.cmp(&j), "{a} {b}");
            }
        }
    }
}
