//! Streams of tasks: any part of any of them, on any rank, without the others.

use super::data::{check_room, other_sizes};
use super::{Current, Expect, Reader, ReaderState};
use crate::error::{Error, ErrorKind, Result, quote};
use crate::file::source::{Sink, Sizes};
use crate::file::team::{Failure, Function, Topic};
use crate::format::COUNT_BYTES;
use crate::format::dataset::stored::is_metadata;
use crate::format::header::{SectionType, UserString};
use crate::format::layout::{Layout, sum};
use crate::format::streams::{
    BYTES_LETTER, ENTRIES_BYTES, MAX_BLOCK_BYTES, MAX_CHUNK_BYTES, STREAM_BYTES, STREAMS, StreamPart,
};
use crate::memory::{reserve, reserve_count};
use crate::numbers::to_usize;
use crate::parallel::Partition;
use std::io::{self, Read, Seek, SeekFrom};

/// A set of streams in a file that is open for reading.
#[derive(Clone, Debug)]
pub struct Streams {
    user: UserString,
    parts: Vec<Part>,
    packed: Option<Packed>,
}

/// A varray whose elements are the streams, as `scda copy --pack-streams` and `scda import` write it.
#[derive(Clone, Copy, Debug)]
struct Packed {
    varray: Current,
    /// Where the next section begins.
    end: u64,
}

/// What a section with the name of streams has of them.
enum Piece {
    Part(Part),
    Packed(Packed),
}

/// A part of a set of streams, and where its sections have their data.
#[derive(Clone, Copy, Debug)]
struct Part {
    part: StreamPart,
    chunks: u64,
    rounds: u64,
    bytes: u64,
    /// Where the next section begins.
    end: u64,
}

impl Part {
    /// Where the entry with the bytes of a task's stream is in the file.
    fn entry(&self, task: u64) -> u64 {
        // Bounded by the layout of the array.
        self.bytes + task * COUNT_BYTES as u64
    }

    /// An error if there are too few chunks for so many bytes of a task's stream.
    fn check_bytes(&self, task: u64, bytes: u64) -> Result<()> {
        let most = self.rounds * self.part.chunk_bytes;
        if bytes <= most {
            return Ok(());
        }
        let message = format!("streams: found {bytes} bytes, expected at most {most}, as there are chunks");
        Err(Error::new(ErrorKind::Format, message).at(self.entry(task)))
    }
}

impl Streams {
    /// The name of the set.
    #[must_use]
    pub fn name(&self) -> &UserString {
        &self.user
    }

    /// The number of its first part: 0, but for what [`Reader::stream_part`] finds.
    #[must_use]
    pub fn part(&self) -> u64 {
        self.parts.first().map_or(0, |first| first.part.part)
    }

    /// Adds the part that follows in the file.
    ///
    /// # Errors
    /// `Format` if it is none that could, by number, tasks, or chunks.
    pub fn extend(&mut self, next: &Self) -> Result<()> {
        let before = self.parts.len();
        reserve(&mut self.parts, next.parts.len())?;
        self.parts.extend(&next.parts);
        self.check(self.part(), before).inspect_err(|_| self.parts.truncate(before))
    }

    /// Whether readers accept this part behind `before`, the one before it in the file of its name, if there is one.
    ///
    /// # Errors
    /// `Format` if neither this part begins a set nor continues that of `before`, by number, tasks and chunks.
    pub fn check_follows(&self, before: Option<&Self>) -> Result<()> {
        match before {
            Some(before) if self.part() > 0 => before.clone().extend(self),
            _ => self.check(0, 0),
        }
    }

    /// The number of streams: that of the ranks that wrote them.
    #[must_use]
    pub fn tasks(&self) -> u64 {
        let packed = self.packed.map_or(0, |packed| packed.varray.count);
        self.parts.first().map_or(packed, |first| first.part.tasks)
    }

    /// The bytes of a chunk; 0 if the streams are the elements of a varray.
    #[must_use]
    pub fn chunk_bytes(&self) -> u64 {
        self.parts.first().map_or(0, |first| first.part.chunk_bytes)
    }

    /// Where the section behind the set begins.
    fn end(&self) -> u64 {
        let packed = self.packed.map_or(0, |packed| packed.end);
        self.parts.last().map_or(packed, |last| last.end)
    }

    /// An error unless the parts behind the first `checked` ones continue these, one after the other. The first part has the
    /// number `begin`.
    fn check(&self, begin: u64, checked: usize) -> Result<()> {
        let Some(first) = self.parts.first() else { return Ok(()) };
        let unchecked = self.parts.get(checked..).unwrap_or_default();
        for (number, part) in (begin.saturating_add(checked as u64)..).zip(unchecked) {
            let expected = StreamPart { part: number, ..first.part };
            if part.part == expected {
                continue;
            }
            let words = |StreamPart { tasks, chunk_bytes, part }| {
                format!("part {part} of {tasks} tasks with chunks of {chunk_bytes} bytes")
            };
            let message = format!("streams: found {}, expected {}", words(part.part), words(expected));
            return Err(Error::new(ErrorKind::Format, message).at(part.chunks));
        }
        Ok(())
    }
}

/// A stream of a task: where its bytes are.
#[derive(Clone, Debug)]
pub struct Stream {
    task: u64,
    /// The parts, with the bytes that the stream has in each.
    parts: Vec<(Part, u64)>,
    bytes: u64,
}

impl Stream {
    /// The bytes of the stream.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An error unless the stream has these bytes.
    pub(crate) fn check_range(&self, offset: u64, bytes: u64) -> Result<()> {
        if sum(offset, bytes).is_some_and(|end| end <= self.bytes) {
            return Ok(());
        }
        let most = self.bytes;
        let words = format!(
            "stream: found {bytes} bytes from byte {offset} on, expected no more than the stream has, {most}"
        );
        Err(Error::argument(words))
    }
}

impl Reader {
    /// The set of streams of this name. The `record` is 0 for the first set of the name in the file, −1 for the last. `None` if
    /// there are not so many. A varray is a set, too, unless it is compressed or has the chunks of a dataset: each element is the
    /// stream of a task.
    ///
    /// # Errors
    /// `Format` if another section or a dataset has this user string; those of [`Self::find`], [`Self::seek_section`] and
    /// [`Self::next_section`].
    pub fn find_streams(&mut self, name: &[u8], record: i64) -> Result<Option<Streams>> {
        self.session.operate(|state| {
            let before = (state.position, state.expect, state.header, state.known_offset);
            let found = state.find_streams(name, record);
            match &found {
                Ok(Some(streams)) => state.advance(streams.end()),
                _ => (state.position, state.expect, state.header, state.known_offset) = before,
            }
            found
        })
    }

    /// If the section whose header was just read begins a part of a set of streams, that part alone, as a set. The next section is
    /// then the one behind it; if there is none, the reader is where it was.
    ///
    /// # Errors
    /// `Format` if what follows the section is no such part; those of [`Self::next_section`].
    pub fn stream_part(&mut self) -> Result<Option<Streams>> {
        self.session.operate(|state| {
            let found = state.going_back(ReaderState::read_stream_part)?;
            let found = found.map(|(part, user)| Streams { user, parts: vec![part], packed: None });
            if let Some(streams) = &found {
                state.advance(streams.end());
            }
            Ok(found)
        })
    }

    /// If the section whose header was just read is a varray, and not compressed: its elements as streams. The next section is
    /// then the one behind it; if it is none, the reader is where it was.
    ///
    /// # Errors
    /// Those of [`Self::skip`].
    pub fn packed_streams(&mut self) -> Result<Option<Streams>> {
        self.session.operate(|state| {
            let Some(packed) = state.going_back(ReaderState::read_packed)? else { return Ok(None) };
            let user = state
                .header
                .map_or(Err(Error::usage("streams: found no header")), |header| Ok(header.user))?;
            Ok(Some(Streams { user, parts: Vec::new(), packed: Some(packed) }))
        })
    }

    /// The stream of a task. Not collective: each rank may have any streams.
    ///
    /// # Errors
    /// `Argument` if there is no such task, `Format` for what no stream can have, and the errors of the file system. The file
    /// stays open.
    pub fn stream(&mut self, streams: &Streams, task: u64) -> Result<Stream> {
        self.session.locally(|state| state.own_stream(streams, task))
    }

    /// Reads bytes of a stream from its byte `offset` on. Not collective: each rank may read any bytes of any streams.
    ///
    /// # Errors
    /// `Argument` if the stream has not so many bytes, and the errors of the file system. The file stays open.
    pub fn read_stream(&mut self, stream: &Stream, offset: u64, data: &mut [u8]) -> Result<()> {
        self.session.locally(|state| state.read_own_stream(stream, offset, data))
    }

    /// Reads how many bytes streams have: rank p those of `counts[p]` of them, in the order of the tasks; `None` skips them on
    /// this rank. The sum of the counts is the number of tasks. The position in the file does not change.
    ///
    /// # Errors
    /// `Argument` also if the ranks pass different sets, `Format` for what no stream can have, and the errors of the file system.
    pub fn read_streams_sizes(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        sizes: Option<&mut [u64]>,
    ) -> Result<()> {
        self.read(|state| state.read_streams_sizes(streams, counts, Ok(sizes)))
    }

    /// Reads whole streams: rank p `counts[p]` of them, in the order of the tasks. `sizes` are the bytes of those of this rank,
    /// as read; they are ignored where the data are skipped.
    ///
    /// # Errors
    /// Those of [`Self::read_streams_sizes`]; `Argument` also if the sizes are not those in the file; `Memory`.
    ///
    /// ```
    /// use scda::{Params, Reader, Sink, Solo, uniform_partition};
    /// # use scda::{Writer, run_on_threads};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.scda");
    /// # run_on_threads(3, |comm| {
    /// #     let rank = scda::Communicator::rank(&comm);
    /// #     let mut file = Writer::create(comm, &path, b"", &Params::default())?;
    /// #     file.begin_streams(b"log", 0)?;
    /// #     file.write_stream(&b"abc"[..rank])?;
    /// #     file.end_streams()?;
    /// #     file.close()
    /// # }).into_iter().collect::<scda::Result<Vec<()>>>()?;
    /// let mut file = Reader::open(Solo, &path, &Params::default())?;
    /// let streams = file.find_streams(b"log", 0)?.expect("the set of streams");
    /// let counts = uniform_partition(streams.tasks(), 1); // one rank has all
    /// let mut sizes = vec![0; counts[0] as usize];
    /// file.read_streams_sizes(&streams, &counts, Some(&mut sizes))?;
    /// let mut data = vec![0; sizes.iter().sum::<u64>() as usize];
    /// file.read_streams(&streams, &counts, &sizes, Sink::Contiguous(&mut data))?;
    /// assert_eq!((&sizes[..], &data[..]), (&[0, 1, 2][..], &b"aab"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_streams(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        sizes: &[u64],
        data: Sink<'_>,
    ) -> Result<()> {
        self.read(|state| state.read_streams(streams, counts, Ok((sizes, data))))
    }

    /// A stream as a reader, from its first byte on.
    pub fn stream_reader(&mut self, stream: Stream) -> StreamReader<'_> {
        StreamReader { reader: self, stream, position: 0 }
    }
}

/// Reads a stream of a task in sequence, or from any byte on.
pub struct StreamReader<'a> {
    reader: &'a mut Reader,
    stream: Stream,
    position: u64,
}

impl std::fmt::Debug for StreamReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamReader")
            .field("stream", &self.stream)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Read for StreamReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = to_usize(self.stream.bytes.saturating_sub(self.position));
        let count = buffer.len().min(left);
        if count == 0 {
            return Ok(0);
        }
        let read = self.reader.read_stream(&self.stream, self.position, &mut buffer[..count]);
        read.map_err(io::Error::other)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for StreamReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(step) => self.stream.bytes.checked_add_signed(step),
            SeekFrom::Current(step) => self.position.checked_add_signed(step),
        };
        self.position = position.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

impl ReaderState {
    fn find_streams(&mut self, name: &[u8], record: i64) -> Result<Option<Streams>, Failure> {
        let mut numbers = self.find_all(name)?;
        if record < 0 {
            numbers.reverse();
        }
        let wanted = if record < 0 { record.unsigned_abs() } else { record.unsigned_abs() + 1 };
        let (mut parts, mut packed, mut sets) = (Vec::new(), None, 0);
        for number in numbers {
            let piece = self.piece(number, name)?;
            let begins = u64::from(match &piece {
                Piece::Part(part) => part.part.part == 0,
                Piece::Packed(_) => true,
            });
            // From the front a part that begins a set is its first, from the back its last.
            sets += if record < 0 { 0 } else { begins };
            if sets > wanted {
                break;
            }
            // A part before all sets is none of any: as the first part of the first, it is an error.
            if sets + u64::from(record <= 0) >= wanted {
                match piece {
                    Piece::Part(part) => {
                        reserve(&mut parts, 1)?;
                        parts.push(part);
                    }
                    Piece::Packed(found) => packed = Some(found),
                }
            }
            sets += if record < 0 { begins } else { 0 };
            if record < 0 && sets == wanted {
                break;
            }
        }
        if record < 0 {
            parts.reverse();
        }
        // Beside a varray, which is a whole set, there can only be parts without their first one.
        let streams = Streams { user: UserString::new(name)?, parts, packed };
        streams.check(0, 0)?;
        Ok((packed.is_some() || !streams.parts.is_empty()).then_some(streams))
    }

    /// The part of a set of streams whose chunks are the section of this number, or the streams of the varray that it is.
    fn piece(&mut self, number: u64, name: &[u8]) -> Result<Piece, Failure> {
        self.seek_section(number.saturating_sub(1))?;
        let at = self.position;
        let follows = self.next_section(true)?;
        let before = self.header.filter(|_| number > 0 && follows);
        if before.is_some_and(|before| is_metadata(before.section_type, &before.user)) {
            let what = format!("section {}: found a dataset, expected streams", quote(name));
            return Err(Error::new(ErrorKind::Format, what).at(at).into());
        }
        let part = if number > 0 && follows { self.read_stream_part()? } else { None };
        if let Some((part, _)) = part.filter(|(_, user)| **user == *name) {
            return Ok(Piece::Part(part));
        }
        self.seek_section(number)?;
        self.next_section(true)?;
        self.read_packed()?.map(Piece::Packed).ok_or_else(|| {
            let name = quote(name);
            let what = format!(
                "section {name}: found no streams, expected a block \"scda streams 00\" before it, or a varray that is not compressed"
            );
            Error::new(ErrorKind::Format, what).at(at).into()
        })
    }

    /// If the section whose header was just read is a varray, and not compressed: where its elements are.
    fn read_packed(&mut self) -> Result<Option<Packed>, Failure> {
        let varray = match self.expect {
            Expect::VarraySizes(varray) if !varray.decoded => varray,
            _ => return Ok(None),
        };
        self.skip()?;
        Ok(Some(Packed { varray, end: self.position }))
    }

    /// If the section whose header was just read begins a part of a set of streams: where that lies, and the name of the set.
    fn read_stream_part(&mut self) -> Result<Option<(Part, UserString)>, Failure> {
        self.team.note_call(Function::Streams);
        let (Some(header), Expect::Data(block)) = (self.header, self.expect) else { return Ok(None) };
        if header.section_type != SectionType::Block || header.decoded || *header.user != *STREAMS {
            return Ok(None);
        }
        if block.size > MAX_BLOCK_BYTES {
            let message =
                format!("streams: found a block of {} bytes, expected at most {MAX_BLOCK_BYTES}", block.size);
            return Err(Error::new(ErrorKind::Format, message).at(block.layout.data).into());
        }
        // What is behind the entries only takes room. All ranks have the same bytes, most often behind the header already.
        let text = self.look(block.layout.data, block.size.min(ENTRIES_BYTES as u64))?;
        let part = StreamPart::parse(text, block.layout.data)?;
        self.advance(block.layout.end);
        let (user, count, Layout { data: chunks, .. }) =
            self.next_array("the chunks", None, part.chunk_bytes)?;
        if count % part.tasks != 0 {
            let message =
                format!("streams: found {count} chunks, expected a multiple of the {} tasks", part.tasks);
            return Err(Error::new(ErrorKind::Format, message).at(chunks).into());
        }
        let (_, tasks, Layout { data: bytes, end, .. }) =
            self.next_array("their bytes", Some(STREAM_BYTES), COUNT_BYTES as u64)?;
        if tasks != part.tasks {
            let message = format!("streams: found the bytes of {tasks}, expected those of {}", part.tasks);
            return Err(Error::new(ErrorKind::Format, message).at(bytes).into());
        }
        Ok(Some((Part { part, chunks, rounds: count / part.tasks, bytes, end }, user)))
    }

    /// The next section, which is a plain array of elements of this size: its user string, count, and layout.
    fn next_array(
        &mut self,
        what: &str,
        user: Option<&[u8]>,
        size: u64,
    ) -> Result<(UserString, u64, Layout), Failure> {
        let at = self.position;
        let wrong = || {
            let name = user.map_or(String::new(), |user| format!(" {}", quote(user)));
            let message =
                format!("streams: found no array{name} of elements of {size} bytes, expected {what}");
            Error::new(ErrorKind::Format, message).at(at)
        };
        if !self.next_section(true)? {
            return Err(wrong().into());
        }
        let (Some(header), Some(current)) = (self.header, self.expect.current_mut()) else {
            return Err(wrong().into());
        };
        // Nobody has to read or skip the data.
        current.in_ranges = true;
        let is_plain = header.section_type == SectionType::Array && !header.decoded && header.size == size;
        if !is_plain || user.is_some_and(|user| *user != *header.user) {
            return Err(wrong().into());
        }
        Ok((header.user, header.count, current.layout))
    }

    fn own_stream(&mut self, streams: &Streams, task: u64) -> Result<Stream> {
        if task >= streams.tasks() {
            let tasks = streams.tasks();
            return Err(Error::argument(format!("stream: found {task}, expected one of {tasks}, from 0")));
        }
        if let Some(packed) = &streams.packed {
            return self.alone(|this| Ok(this.own_element(&packed.varray, task)?));
        }
        let mut found = self.own_streams(streams, task, 1)?;
        found.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "a stream was lost"))
    }

    /// So many streams from that of the task `first` on, of a set in parts.
    fn own_streams(&mut self, streams: &Streams, first: u64, count: u64) -> Result<Vec<Stream>> {
        let mut found = Vec::new();
        reserve_count(&mut found, count)?;
        for task in first..first + count {
            let mut parts = Vec::new();
            reserve(&mut parts, streams.parts.len())?;
            found.push(Stream { task, parts, bytes: 0 });
        }
        for part in &streams.parts {
            self.read_own_entries(part.entry(first), count, BYTES_LETTER, |index, bytes| {
                let stream = &mut found[index];
                part.check_bytes(stream.task, bytes)?;
                stream.bytes = sum(stream.bytes, bytes).ok_or_else(too_long)?;
                stream.parts.push((*part, bytes));
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// An element of a varray as a stream.
    fn own_element(&mut self, varray: &Current, task: u64) -> Result<Stream> {
        let mut bytes = 0;
        let element = Partition { offset: task, count: 1, total: varray.count };
        self.read_own_sizes(varray, element, |_, size| bytes = size)?;
        let chunks = self.element_offset(varray, task)?;
        let end = sum(chunks, bytes).ok_or_else(too_long)?;
        self.check_end("varray", varray.layout.start, end)?;
        self.went_to(task + 1, end);
        // The only stream of a part that has nothing else.
        let part = StreamPart { tasks: 1, chunk_bytes: MAX_CHUNK_BYTES, part: 0 };
        let entry = varray.layout.entries + task * COUNT_BYTES as u64;
        let part = Part { part, chunks, rounds: part.rounds(bytes), bytes: entry, end: 0 };
        let mut parts = Vec::new();
        reserve(&mut parts, 1)?;
        parts.push((part, bytes));
        Ok(Stream { task: 0, parts, bytes })
    }

    fn read_own_stream(&mut self, stream: &Stream, mut offset: u64, data: &mut [u8]) -> Result<()> {
        stream.check_range(offset, data.len() as u64)?;
        let mut rest = data;
        for (part, bytes) in &stream.parts {
            while offset < *bytes && !rest.is_empty() {
                let (at, left) = part.part.place(stream.task, offset).ok_or_else(too_long)?;
                let step = left.min(bytes - offset).min(rest.len() as u64);
                let (now, later) = rest.split_at_mut(to_usize(step));
                // Bounded by the layout of the array.
                self.file.read_at(part.chunks + at, now)?;
                offset += step;
                rest = later;
            }
            offset = offset.saturating_sub(*bytes);
        }
        Ok(())
    }

    /// The streams of this rank, of which all read theirs.
    fn share(&mut self, function: Function, streams: &Streams, counts: &[u64]) -> Result<Partition> {
        self.team.note_call(function);
        self.team.note_bytes(Topic::UserString, &streams.user);
        self.team.note(Topic::ReadAhead, streams.end());
        self.check_counts(counts, streams.tasks())
    }

    pub(crate) fn read_streams_sizes(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<(), Failure> {
        let share = self.share(Function::ReadStreamsSizes, streams, counts)?;
        let mine = sizes.and_then(|sizes| {
            let Some(sizes) = sizes else { return Ok(()) };
            check_room(sizes, share.count)?;
            if let Some(packed) = &streams.packed {
                return self.read_own_sizes(&packed.varray, share, |index, size| sizes[index] = size);
            }
            let found = self.own_streams(streams, share.offset, share.count)?;
            sizes.iter_mut().zip(&found).for_each(|(size, stream)| *size = stream.bytes);
            Ok(())
        });
        self.team.agree(mine)?;
        Ok(())
    }

    pub(crate) fn read_streams(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        data: Result<(&[u64], Sink<'_>)>,
    ) -> Result<(), Failure> {
        let share = self.share(Function::ReadStreams, streams, counts)?;
        let mine = data.and_then(|(sizes, data)| match data.is_skip() {
            true => Ok(()),
            false => self.read_own_share(streams, share, sizes, data),
        });
        self.team.agree(mine)?;
        Ok(())
    }

    fn read_own_share(
        &mut self,
        streams: &Streams,
        share: Partition,
        sizes: &[u64],
        mut data: Sink<'_>,
    ) -> Result<()> {
        if let Some(packed) = &streams.packed {
            return self.alone(|this| Ok(this.read_own_varray(&packed.varray, share, sizes, data)?));
        }
        let found = self.own_streams(streams, share.offset, share.count)?;
        if !found.iter().map(|stream| stream.bytes).eq(sizes.iter().copied()) {
            return Err(other_sizes());
        }
        data.check(Sizes::Each(sizes))?;
        let mut start = 0;
        for (index, stream) in found.iter().enumerate() {
            if let Some(memory) = data.element(index, start, stream.bytes) {
                self.read_own_stream(stream, 0, memory)?;
            }
            start += stream.bytes;
        }
        Ok(())
    }
}

fn too_long() -> Error {
    Error::range("stream: its length exceeds 63 bits")
}
