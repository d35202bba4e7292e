//! Reads streams of tasks: each rank reads any range of any stream, independently of the others.

mod set;
mod stream_reader;

pub use self::set::{Stream, Streams};
pub use self::stream_reader::StreamReader;

pub(super) use self::set::StreamSets;
use self::set::{PartPlace, StreamSection, too_long};
use super::Reader;
use super::Section;
use super::local_reader::ReadsLocally;
use super::lookup::{Lookup, LookupCache};
use super::sections::{CurrentSection, SectionReader, check_room, other_sizes};
use crate::file::source::{Sink, Sizes};
use crate::file::team::{Failure, Function, Topic};
use scda_base::error::{Error, ErrorKind, Result, quote};
use scda_base::memory::{push, reserve, reserve_count};
use scda_base::numbers::to_usize;
use scda_format::COUNT_BYTES;
use scda_format::dataset::stored_dataset::is_metadata;
use scda_format::header::{SectionType, UserString};
use scda_format::layout::sum;
use scda_format::streams::{
    BYTES_LETTER, ENTRIES_BYTES, InChunk, MAX_BLOCK_BYTES, MAX_CHUNK_BYTES, STREAM_BYTES, STREAMS, StreamPart,
};
use scda_ranks::Partition;

impl Reader {
    /// The last set of streams of this name; `None` if there is none. The position in the file does not
    /// change.
    ///
    /// # Errors
    /// The errors of [`Self::streams_record`].
    pub fn streams(&mut self, name: &[u8]) -> Result<Option<Streams>> {
        self.streams_record(name, -1)
    }

    /// The set of streams of this name and record: 0 is the first set of the name in the file, −1 the last.
    /// `None` if there is no such record. A varray is also a set, with one stream for each element, unless it
    /// is compressed or holds the chunks of a dataset. The position in the file does not change.
    ///
    /// # Errors
    /// `Format` if another section or a dataset has this user string; those of [`Self::find`], [`Self::seek_section`] and
    /// [`Self::next_section`].
    pub fn streams_record(&mut self, name: &[u8], record: i64) -> Result<Option<Streams>> {
        self.session.operate(|state| state.streams().aside(|this| this.find_streams(name, record)))
    }
}

impl Streams {
    /// The stream of a task. Not collective: each rank may open any streams.
    ///
    /// # Errors
    /// `Argument` if there is no such task, `Format` for an impossible stream, and the errors of the file
    /// system. The file stays open.
    pub fn stream(&self, file: &mut Reader, task: u64) -> Result<Stream> {
        file.session.locally(|state| state.streams().own_stream(self, task))
    }

    /// Reads the sizes of streams in bytes. Rank p gets those of `counts[p]` streams, in the order of the
    /// tasks; `None` skips them on this rank. The sum of the counts is the number of tasks. The position in
    /// the file does not change.
    ///
    /// # Errors
    /// `Argument` also if the ranks pass different sets, `Format` for impossible streams, and the errors of
    /// the file system.
    pub fn read_sizes(&self, file: &mut Reader, counts: &[u64], sizes: Option<&mut [u64]>) -> Result<()> {
        file.session.operate(|state| state.streams().read_streams_sizes(self, counts, Ok(sizes)))
    }

    /// Reads whole streams. Rank p gets `counts[p]` of them, in the order of the tasks. `sizes` holds the
    /// sizes of this rank's streams, as read; it is ignored where the data are skipped.
    ///
    /// # Errors
    /// Those of [`Self::read_sizes`]; `Argument` also if the sizes differ from those in the file; `Memory`.
    ///
    /// ```
    /// use scda::{ReadOptions, Reader, Sink, Solo, uniform_partition};
    /// # use scda::{WriteOptions, Writer, run_on_threads};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.scda");
    /// # run_on_threads(3, |comm| {
    /// #     let rank = scda::Communicator::rank(&comm);
    /// #     let mut file = Writer::create(comm, &path, b"", &WriteOptions::default())?;
    /// #     file.begin_streams(b"log", 0)?;
    /// #     file.write_stream(&b"abc"[..rank])?;
    /// #     file.end_streams()?;
    /// #     file.close()
    /// # }).into_iter().collect::<scda::Result<Vec<()>>>()?;
    /// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
    /// let streams = file.streams(b"log")?.expect("the set of streams");
    /// let counts = uniform_partition(streams.tasks(), 1); // one rank has all
    /// let mut sizes = vec![0; counts[0] as usize];
    /// streams.read_sizes(&mut file, &counts, Some(&mut sizes))?;
    /// let mut data = vec![0; sizes.iter().sum::<u64>() as usize];
    /// streams.read(&mut file, &counts, &sizes, Sink::Contiguous(&mut data))?;
    /// assert_eq!((&sizes[..], &data[..]), (&[0, 1, 2][..], &b"aab"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, file: &mut Reader, counts: &[u64], sizes: &[u64], data: Sink<'_>) -> Result<()> {
        file.session.operate(|state| state.streams().read_streams(self, counts, Ok((sizes, data))))
    }
}

impl Stream {
    /// Reads bytes of the stream, from byte `offset` on. Not collective: each rank may read any bytes of any
    /// streams.
    ///
    /// # Errors
    /// `Argument` if the stream has fewer bytes, and the errors of the file system. The file stays open.
    pub fn read(&self, file: &mut Reader, offset: u64, data: &mut [u8]) -> Result<()> {
        file.session.locally(|state| state.streams().read_own_stream(self, offset, data))
    }

    /// The stream as [`std::io::Read`] and `Seek`, from its first byte on.
    pub fn reader(self, file: &mut Reader) -> StreamReader<'_> {
        StreamReader { reader: file, stream: self, position: 0 }
    }
}

/// Finds and reads streams of tasks.
pub(crate) struct TaskReader<'a> {
    pub(super) sections: &'a mut SectionReader,
    pub(super) lookup: &'a mut LookupCache,
    /// The sets of the name that was listed last.
    pub(super) listed: &'a mut Option<StreamSets>,
}

impl ReadsLocally for TaskReader<'_> {
    fn sections(&mut self) -> &mut SectionReader {
        self.sections
    }
}

impl<'a> TaskReader<'a> {
    fn lookup(&mut self) -> Lookup<'_> {
        Lookup { sections: self.sections, cache: self.lookup }
    }
}

impl TaskReader<'_> {
    fn find_streams(&mut self, name: &[u8], record: i64) -> Result<Option<Streams>, Failure> {
        let mut numbers = self.lookup().find_all(name)?;
        if record < 0 {
            numbers.reverse();
        }
        let wanted = if record < 0 { record.unsigned_abs() } else { record.unsigned_abs() + 1 };
        let (mut parts, mut packed, mut sets) = (Vec::new(), None, 0);
        for number in numbers {
            let section = self.stream_section(number, name)?;
            let begins = u64::from(match &section {
                StreamSection::Part(part) => part.part.part == 0,
                StreamSection::PackedStreams(_) => true,
            });
            // Searched forward, a set begins with its first part; backward, it ends there.
            sets += if record < 0 { 0 } else { begins };
            if sets > wanted {
                break;
            }
            // A part before all sets belongs to none. As the first part of the first set, it is reported as
            // an error.
            if sets + u64::from(record <= 0) >= wanted {
                match section {
                    StreamSection::Part(part) => {
                        push(&mut parts, part)?;
                    }
                    StreamSection::PackedStreams(found) => packed = Some(found),
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
        // A varray is a whole set, so beside it there can only be parts whose first part is missing.
        let streams = Streams { user: UserString::new(name)?, parts, packed };
        streams.check(0, 0)?;
        Ok((packed.is_some() || !streams.parts.is_empty()).then_some(streams))
    }

    /// The part of a set whose chunks are in the section of this number, or the varray of streams that it is.
    fn stream_section(&mut self, number: u64, name: &[u8]) -> Result<StreamSection, Failure> {
        self.lookup().seek_section(number.saturating_sub(1))?;
        let at = self.sections.position();
        let follows = self.lookup().next_section(true)?;
        let before = self.sections.header().filter(|_| number > 0 && follows);
        if before.is_some_and(|before| is_metadata(before.section_type, &before.user)) {
            let what = format!("section {} is a dataset, not a set of streams", quote(name));
            return Err(Error::new(ErrorKind::Format, what).at(at).into());
        }
        let part = if number > 0 && follows { self.read_stream_part()? } else { None };
        if let Some((part, _)) = part.filter(|(_, [_, array, _])| *array.user == *name) {
            return Ok(StreamSection::Part(part));
        }
        self.lookup().seek_section(number)?;
        self.lookup().next_section(true)?;
        self.packed().map(StreamSection::PackedStreams).ok_or_else(|| {
            let name = quote(name);
            let what = format!(
                "section {name} is not a set of streams: no block \"scda streams 00\" precedes it, and it is no uncompressed varray"
            );
            Error::new(ErrorKind::Format, what).at(at).into()
        })
    }

    /// The section whose header was just read, if it is an uncompressed varray.
    fn packed(&self) -> Option<CurrentSection> {
        self.sections.cursor.current_varray().filter(|varray| !varray.decoded)
    }

    /// The set that begins with the section of this number, which is a varray or has the chunks of a first
    /// part; its record number, and the number of sets of this name.
    pub(super) fn set_that_begins(
        &mut self,
        number: u64,
        name: &UserString,
    ) -> Result<(Streams, u64, u64), Failure> {
        let sets = match self.listed.take_if(|sets| sets.user == *name) {
            Some(sets) => sets,
            None => self.read_sets(name)?,
        };
        let record = sets.begins.partition_point(|&begin| begin < number);
        let end = sets.begins.get(record + 1).copied().unwrap_or(u64::MAX);
        let parts: Vec<u64> =
            sets.sections.iter().copied().filter(|part| (number..end).contains(part)).collect();
        let records = sets.begins.len() as u64;
        *self.listed = Some(sets);
        let mut streams = Streams { user: *name, parts: Vec::new(), packed: None };
        for part in parts {
            match self.stream_section(part, name)? {
                StreamSection::Part(part) => {
                    push(&mut streams.parts, part)?;
                }
                StreamSection::PackedStreams(varray) => streams.packed = Some(varray),
            }
        }
        streams.check(0, 0)?;
        Ok((streams, record as u64, records))
    }

    /// Finds the sections at which the sets of this name begin.
    fn read_sets(&mut self, name: &UserString) -> Result<StreamSets, Failure> {
        let mut sets = StreamSets { user: *name, begins: Vec::new(), sections: Vec::new() };
        for number in self.lookup().find_all(name)? {
            let begins = match self.stream_section(number, name) {
                Ok(StreamSection::Part(part)) => part.part.part == 0,
                Ok(StreamSection::PackedStreams(_)) => true,
                // Another section of this name is an entry of its own.
                Err(Failure::Mine(error)) if error.kind() == ErrorKind::Format => continue,
                Err(failure) => return Err(failure),
            };
            push(&mut sets.sections, number)?;
            if begins {
                push(&mut sets.begins, number)?;
            }
        }
        Ok(sets)
    }

    /// The part of a set that begins with the section whose header was just read, as a set of its own, and
    /// its sections; `None` if none does.
    pub(super) fn read_part(&mut self) -> Result<Option<(Streams, [Section; 3])>, Failure> {
        let found = self.read_stream_part()?;
        Ok(found.map(|(part, sections)| {
            (Streams { user: sections[1].user, parts: vec![part], packed: None }, sections)
        }))
    }

    /// The part of a set that begins with the section whose header was just read, and its sections; `None` if
    /// none does.
    fn read_stream_part(&mut self) -> Result<Option<(PartPlace, [Section; 3])>, Failure> {
        self.team().note_call(Function::Streams);
        let (Some(&header), Some(block)) = (self.sections.header(), self.sections.cursor.current_data())
        else {
            return Ok(None);
        };
        if header.section_type != SectionType::Block || header.decoded || *header.user != *STREAMS {
            return Ok(None);
        }
        if block.size > MAX_BLOCK_BYTES {
            let message =
                format!("streams: found a block of {} bytes, expected at most {MAX_BLOCK_BYTES}", block.size);
            return Err(Error::new(ErrorKind::Format, message).at(block.layout.data).into());
        }
        // The rest of the block is only reserved space. All ranks read the same bytes, which in most cases
        // were read with the header.
        let text = self.input().look(block.layout.data, block.size.min(ENTRIES_BYTES as u64))?;
        let part = StreamPart::parse(text, block.layout.data)?;
        self.sections.advance(block.layout.end);
        let array = self.next_array("the chunks", None, part.chunk_bytes)?;
        let Section { count, data_offset: chunks, .. } = array;
        if count % part.tasks != 0 {
            let message =
                format!("streams: found {count} chunks, expected a multiple of the {} tasks", part.tasks);
            return Err(Error::new(ErrorKind::Format, message).at(chunks).into());
        }
        let lengths = self.next_array("their bytes", Some(STREAM_BYTES), COUNT_BYTES as u64)?;
        let Section { count: tasks, data_offset: bytes, .. } = lengths;
        if tasks != part.tasks {
            let message = format!("streams: found the bytes of {tasks}, expected those of {}", part.tasks);
            return Err(Error::new(ErrorKind::Format, message).at(bytes).into());
        }
        let place = PartPlace { part, chunks, rounds: count / part.tasks, bytes };
        Ok(Some((place, [header, array, lengths])))
    }

    /// Reads the header of the next section, which must be an uncompressed array with elements of this size.
    fn next_array(&mut self, what: &str, user: Option<&[u8]>, size: u64) -> Result<Section, Failure> {
        let at = self.sections.position();
        let wrong = || {
            let name = user.map_or(String::new(), |user| format!(" {}", quote(user)));
            let message =
                format!("streams: {what} are missing: no array{name} of elements of {size} bytes follows");
            Error::new(ErrorKind::Format, message).at(at)
        };
        if !self.lookup().next_section(true)? {
            return Err(wrong().into());
        }
        let Some(&header) = self.sections.header() else { return Err(wrong().into()) };
        // The data need not be read or skipped.
        self.sections.cursor.may_go_on = true;
        let is_plain = header.section_type == SectionType::Array && !header.decoded && header.size == size;
        if !is_plain || user.is_some_and(|user| *user != *header.user) {
            return Err(wrong().into());
        }
        Ok(header)
    }

    fn own_stream(&mut self, streams: &Streams, task: u64) -> Result<Stream> {
        if task >= streams.tasks() {
            let tasks = streams.tasks();
            return Err(Error::argument(format!("stream: found {task}, expected one of {tasks}, from 0")));
        }
        if let Some(packed) = &streams.packed {
            return self.alone(|this| Ok(this.own_element(packed, task)?));
        }
        let mut found = self.own_streams(streams, task, 1)?;
        found.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "a stream was lost"))
    }

    /// The streams of `count` tasks from `first` on, in a set of parts.
    fn own_streams(&mut self, streams: &Streams, first: u64, count: u64) -> Result<Vec<Stream>> {
        let mut found = Vec::new();
        reserve_count(&mut found, count)?;
        for task in first..first + count {
            let mut parts = Vec::new();
            reserve(&mut parts, streams.parts.len())?;
            found.push(Stream { task, parts, bytes: 0 });
        }
        for part in &streams.parts {
            self.input().read_own_entries(part.entry(first), count, BYTES_LETTER, |index, bytes| {
                let stream = &mut found[index];
                part.check_bytes(stream.task, bytes)?;
                stream.bytes = sum(stream.bytes, bytes).ok_or_else(too_long)?;
                stream.parts.push((*part, bytes));
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// The stream that is an element of a varray.
    fn own_element(&mut self, varray: &CurrentSection, task: u64) -> Result<Stream> {
        let mut bytes = 0;
        let element = Partition { offset: task, count: 1, total: varray.count };
        self.sections.ranges().read_own_sizes(varray, element, |_, size| bytes = size)?;
        let chunks = self.sections.ranges().element_offset(varray, task)?;
        let end = sum(chunks, bytes).ok_or_else(too_long)?;
        self.input().ends.check("varray", varray.layout.start, end)?;
        self.sections.ranges().went_to(task + 1, end);
        // A part whose only stream is this one.
        let part = StreamPart { tasks: 1, chunk_bytes: MAX_CHUNK_BYTES, part: 0 };
        let entry = varray.layout.entries + task * COUNT_BYTES as u64;
        let part = PartPlace { part, chunks, rounds: part.rounds(bytes), bytes: entry };
        let mut parts = Vec::new();
        push(&mut parts, (part, bytes))?;
        Ok(Stream { task: 0, parts, bytes })
    }

    fn read_own_stream(&mut self, stream: &Stream, mut offset: u64, data: &mut [u8]) -> Result<()> {
        stream.check_range(offset, data.len() as u64)?;
        let mut rest = data;
        for (part, bytes) in &stream.parts {
            while offset < *bytes && !rest.is_empty() {
                let InChunk { at, left } = part.part.place(stream.task, offset).ok_or_else(too_long)?;
                let step = left.min(bytes - offset).min(rest.len() as u64);
                let (now, later) = rest.split_at_mut(to_usize(step));
                // The layout of the array bounds the sum.
                self.file().read_at(part.chunks + at, now)?;
                offset += step;
                rest = later;
            }
            offset = offset.saturating_sub(*bytes);
        }
        Ok(())
    }

    /// Checks the arguments on all ranks, and returns the streams of this rank.
    fn share(&mut self, function: Function, streams: &Streams, counts: &[u64]) -> Result<Partition> {
        self.team().note_call(function);
        self.team().note_bytes(Topic::UserString, &[], &streams.user);
        self.team().note(Topic::ReadAhead, streams.place());
        self.sections.check_counts(counts, streams.tasks())
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
                return self
                    .sections
                    .ranges()
                    .read_own_sizes(packed, share, |index, size| sizes[index] = size);
            }
            let found = self.own_streams(streams, share.offset, share.count)?;
            sizes.iter_mut().zip(&found).for_each(|(size, stream)| *size = stream.bytes);
            Ok(())
        });
        self.team().agree(mine)?;
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
        self.team().agree(mine)?;
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
            return self
                .alone(|this| Ok(this.sections.ranges().read_own_varray(packed, share, sizes, data)?));
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
