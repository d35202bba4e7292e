//! Writes streams of tasks: each rank writes as many bytes as it likes, independently of the others.
//!
//! The chunks of all streams form an array section whose length is known only at the end, so its header is
//! written last. Until then the ranks synchronize only where the program requests it.

use super::output::LONGEST_HEAD;
use super::section_encoder::check_alone;
use super::section_encoder::{Compression, SectionEncoder};
use super::sections::{SectionWriter, head, too_large};
use crate::file::options::Encode;
use crate::file::source::Source;
use crate::file::stripes;
use crate::file::sums::{RunningSum, add_run, unsummed};
use crate::file::team::{FINE, Failure, Function, Topic, on_rank_0};
use scda_base::error::{Error, Result, quote};
use scda_base::memory::{push, reserve};
use scda_base::numbers::to_usize;
use scda_format::COUNT_BYTES;
use scda_format::crc;
use scda_format::header::{SectionType, UserString};
use scda_format::layout::{MAX_OFFSET, sum};
use scda_format::padding::{MAX_DATA_PADDING, data_padding};
use scda_format::streams::{HEADER_BYTES, InChunk, STREAM_BYTES, STREAMS, StreamPart, bytes_entry};
use std::io::{self, Read};

/// The bytes of a stream that are collected before they are written.
const BUFFER_BYTES: usize = 256 << 10;
/// Data of at least this length are written without being copied, unless bytes were collected before them:
/// the copy would cost more than the calls that it saves.
const DIRECT_BYTES: usize = 64 << 10;
/// The bytes that are read at a time from another source.
const BATCH_BYTES: usize = 1 << 20;

/// The stream of this rank in the open set.
pub(super) struct OwnStream {
    user: UserString,
    part: StreamPart,
    task: u64,
    /// The offset of the chunks' data in the file.
    data: u64,
    /// The bytes of the earlier parts of the set.
    before: u64,
    /// The bytes of this part that were written to the file. The others are in the buffer.
    written: u64,
    buffer: Vec<u8>,
    last: u8,
    /// The checksum of what was written, if the file gets checksums.
    sum: Option<RunningSum>,
    /// The error that keeps this rank from writing more.
    failed: Option<Error>,
}

impl OwnStream {
    /// A part of which nothing is written yet.
    fn new(
        user: UserString,
        part: StreamPart,
        task: u64,
        data: u64,
        before: u64,
        sum: Option<RunningSum>,
    ) -> Self {
        let buffer = Vec::new();
        Self { user, part, task, data, before, written: 0, buffer, last: 0, sum, failed: None }
    }

    /// The size of this part.
    fn bytes(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// The size of all parts.
    pub(super) fn all_bytes(&self) -> u64 {
        self.before + self.bytes()
    }

    /// Takes bytes, and writes if there are enough.
    fn take(&mut self, file: &mut impl FnMut(u64, &[u8]) -> Result<()>, data: &[u8]) -> Result<()> {
        sum(self.all_bytes(), data.len() as u64).ok_or_else(too_large)?;
        let is_direct = self.buffer.is_empty() && data.len() >= DIRECT_BYTES;
        if !is_direct && self.buffer.len() + data.len() <= BUFFER_BYTES {
            reserve(&mut self.buffer, data.len())?;
            self.buffer.extend_from_slice(data);
            return Ok(());
        }
        self.flush(file)?;
        self.write(file, data)
    }

    /// Writes the collected bytes.
    fn flush(&mut self, file: &mut impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let written = self.write(file, &buffer);
        self.buffer = buffer;
        self.buffer.clear();
        written
    }

    /// Writes bytes to the next places of this stream, with one call for each chunk.
    fn write(&mut self, file: &mut impl FnMut(u64, &[u8]) -> Result<()>, mut data: &[u8]) -> Result<()> {
        while let Some(&last) = data.last() {
            let InChunk { at, left } = self.part.place(self.task, self.written).ok_or_else(too_large)?;
            let (now, later) = data.split_at(data.len().min(to_usize(left)));
            let at = sum(self.data, at).ok_or_else(too_large)?;
            let end = sum(at, now.len() as u64).ok_or_else(too_large)?;
            file(at, now)?;
            if let Some(sum) = &mut self.sum {
                *sum = RunningSum { end, crc: crc::extend(crc::shift(sum.crc, at - sum.end), now) };
            }
            self.last = last;
            self.written += now.len() as u64;
            data = later;
        }
        Ok(())
    }

    /// The last byte of `rounds` chunks: the part of them that the stream does not fill is 0.
    fn filled_by(&self, rounds: u64) -> u8 {
        if self.written == rounds * self.part.chunk_bytes { self.last } else { 0 }
    }

    /// The checksum of `rounds` chunks of this stream, with zeros for the part that it does not fill. `sum`
    /// is the checksum of what was written.
    fn sum_up(&self, sum: &RunningSum, rounds: u64) -> RunningSum {
        let StreamPart { tasks, chunk_bytes, .. } = self.part;
        let used = self.part.rounds(self.written);
        let rest = used * chunk_bytes - self.written;
        let crc = crc::extend_by_zeros(sum.crc, rest);
        // At most the size of the array.
        let (round_bytes, empty) = (tasks * chunk_bytes, rounds - used);
        let end = self.data + (rounds - 1) * round_bytes + (self.task + 1) * chunk_bytes;
        let after = end - (sum.end + rest);
        let crc = crc::shift(crc, after) ^ crc::of_many(crc::of_zeros(chunk_bytes), round_bytes, empty);
        RunningSum { end, crc }
    }
}

/// Writes sets of streams.
pub(super) struct StreamWriter<'a> {
    pub(super) sections: &'a mut SectionWriter,
    pub(super) compression: &'a mut Compression,
    /// The stream of this rank, while a set is open.
    pub(super) own: &'a mut Option<OwnStream>,
}

impl StreamWriter<'_> {
    /// The writer of the sections around the chunks.
    fn plain(&mut self) -> SectionEncoder<'_> {
        SectionEncoder { sections: self.sections, compression: self.compression }
    }

    /// Begins a set of streams, one for each rank.
    pub(super) fn begin(&mut self, user: &[u8], chunk_bytes: u64) -> Result<(), Failure> {
        self.begin_set(user, chunk_bytes, self.sections.team().size() as u64)
    }

    fn begin_set(&mut self, user: &[u8], chunk_bytes: u64, tasks: u64) -> Result<(), Failure> {
        self.sections.team_mut().note_call(Function::BeginStreams);
        self.sections.team_mut().note_bytes(Topic::UserString, &[], user);
        self.sections.team_mut().note_named(Topic::Number, &["chunk_bytes"], &[chunk_bytes]);
        let user = UserString::new(user)?;
        self.plain().check_free(SectionType::Array, &user)?;
        if [STREAMS, STREAM_BYTES].contains(&&*user) {
            let name = quote(&user);
            return Err(
                Error::argument(format!("streams: the name {name} is reserved for their metadata")).into()
            );
        }
        // The ranks have agreed on the stripe size when they opened the file.
        let chosen = stripes::stream_chunk_bytes(self.sections.params().tuning.stripe_bytes);
        let chunk_bytes = if chunk_bytes == 0 { chosen } else { chunk_bytes };
        StreamPart::check_chunk_bytes(chunk_bytes)?;
        self.begin_part(user, StreamPart { tasks, chunk_bytes, part: 0 }, 0)
    }

    fn begin_part(&mut self, user: UserString, part: StreamPart, before: u64) -> Result<(), Failure> {
        // Only rank 0 makes and writes the block, of up to 1 MiB: on a node of many ranks, it would take
        // longer if all of them made it.
        let bytes = part.text_bytes(self.sections.end());
        let text = on_rank_0(self.sections.team().rank(), || {
            part.text(self.sections.end(), self.sections.params().line_break)
        })?;
        let mut plain = self.plain();
        let block = plain.prepare_block(STREAMS, 0, bytes, Ok(&text), Encode::None)?;
        plain.write(block)?;
        self.sections.end_section()?;
        // What precedes the streams is then in the file, however long they take.
        self.sections.output.flush()?;
        let data = sum(self.sections.end(), HEADER_BYTES).ok_or_else(too_large)?;
        let task = self.sections.team().rank() as u64;
        let sum = self.sections.is_sealed().then_some(RunningSum { end: data, crc: 0 });
        *self.own = Some(OwnStream::new(user, part, task, data, before, sum));
        Ok(())
    }

    /// Writes bytes to the stream of this rank, independently of the others. An error is also deferred to the
    /// next agreement.
    pub(super) fn write(&mut self, data: &[u8]) -> Result<()> {
        let Some(own) = &mut self.own else {
            let error = || Error::usage("stream: no streams are open; begin them first");
            self.sections.team_mut().defer(Err(error()));
            return Err(error());
        };
        if let Some(error) = &own.failed {
            return Err(error.again());
        }
        let taken = own.take(&mut unsummed(&mut self.sections.output.file), data);
        taken.inspect_err(|error| {
            own.failed = Some(error.again());
            self.sections.team_mut().defer(Err(error.again()));
        })
    }

    /// Writes the collected bytes of this rank's stream. An error is deferred to the next agreement.
    pub(super) fn flush(&mut self) {
        if let Some(own) = &mut self.own
            && own.failed.is_none()
        {
            let flushed = own.flush(&mut unsummed(&mut self.sections.output.file));
            own.failed = flushed.as_ref().err().map(Error::again);
            self.sections.team_mut().defer(flushed);
        }
    }

    /// Ends the set of streams.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        self.sections.team_mut().note_call(Function::EndStreams);
        let ended = self.end_part()?;
        ended.map(drop).ok_or_else(|| Error::usage("end of streams: no streams are open").into())
    }

    /// Begins the part that follows the one that was ended.
    pub(super) fn begin_next_part(&mut self, ended: OwnStream) -> Result<(), Failure> {
        let part = StreamPart { part: ended.part.part + 1, ..ended.part };
        self.begin_part(ended.user, part, ended.before + ended.written)
    }

    /// Completes the open part, if there is one: writes the rest of the streams, the padding, the header, and
    /// the sizes of the streams. Ends a call there.
    pub(super) fn end_part(&mut self) -> Result<Option<OwnStream>, Failure> {
        self.flush();
        let Some(own) = self.own.take() else { return Ok(None) };
        // The largest number of chunks of any stream, and the last byte of the last stream's chunks.
        let rounds = own.part.rounds(own.written);
        let is_last = own.task + 1 == own.part.tasks;
        let end = if is_last { [rounds, own.filled_by(rounds).into()] } else { [FINE; 2] };
        let mut least = [FINE - rounds, end[0], end[1]];
        self.sections.team_mut().agree_with(Ok(()), &mut least)?;
        self.sections.output.progress.know();
        let rounds = FINE - least[0];
        let last = if least[1] == rounds { u8::try_from(least[2]).unwrap_or(0) } else { 0 };
        self.end_arrays(std::slice::from_ref(&own), rounds, last)?;
        self.sections.end_call()?;
        Ok(Some(own))
    }

    /// Ends the array of chunks, `rounds` for each stream, and writes the sizes of the streams. `streams` are
    /// those of this rank, `last` is the last byte of the chunks. The ranks have agreed that the chunks are
    /// in the file.
    fn end_arrays(&mut self, streams: &[OwnStream], rounds: u64, last: u8) -> Result<(), Failure> {
        let Some(OwnStream { user, part, .. }) = streams.first() else { return Ok(()) };
        let layout = part.layout(self.sections.end(), rounds).ok_or_else(too_large)?;
        let count = rounds * part.tasks;
        self.sections.describe(SectionType::Array, user, count, part.chunk_bytes)?;
        if rounds > 0 {
            for own in streams {
                let Some(run) = own.sum.map(|sum| own.sum_up(&sum, rounds)) else { continue };
                let added = add_run(&mut self.sections.output.file, run);
                self.sections.team_mut().defer(added);
            }
        }
        let style = self.sections.params().line_break;
        let counts = [(b'N', count), (b'E', part.chunk_bytes)];
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Array, user, &counts, style);
        let mut padding = [0; MAX_DATA_PADDING];
        let last = (layout.data_bytes > 0).then_some(last);
        let padding = data_padding(&mut padding, layout.data_bytes, last, style);
        self.sections.output.end_ahead(layout, head, padding)?;
        self.sections.end_section()?;
        let mut each = Vec::new();
        reserve(&mut each, self.sections.team().size())?;
        each.resize(self.sections.team().size(), streams.len() as u64);
        let mut entries = Vec::new();
        reserve(&mut entries, streams.len() * COUNT_BYTES)?;
        streams.iter().for_each(|own| entries.extend(bytes_entry(own.written, style)));
        let (size, data) = (COUNT_BYTES as u64, Ok(Source::Contiguous(&entries)));
        let mut plain = self.plain();
        let array = plain.prepare_array(STREAM_BYTES, &each, size, data, Encode::None)?;
        plain.write(array)
    }

    /// Writes the streams of `tasks` tasks, which are read one after the other.
    pub(super) fn write_from(
        &mut self,
        user: &[u8],
        chunk_bytes: u64,
        tasks: u64,
        open: &mut dyn FnMut(u64) -> io::Result<Box<dyn Read>>,
    ) -> Result<(), Failure> {
        check_alone(self.sections.team())?;
        if tasks == 0 {
            return Err(Error::argument("streams: found 0 tasks, expected at least 1").into());
        }
        self.begin_set(user, chunk_bytes, tasks)?;
        let Some(OwnStream { user, part, data, sum, .. }) = self.own.take() else { return Ok(()) };
        let (mut streams, mut rounds, mut batch) = (Vec::new(), 0, Vec::new());
        reserve(&mut batch, BATCH_BYTES)?;
        for task in 0..tasks {
            let failed = |error| Error::io("reading the data to write", error);
            let mut from = open(task).map_err(failed)?;
            let mut own = OwnStream::new(user, part, task, data, 0, sum);
            loop {
                batch.clear();
                from.by_ref().take(BATCH_BYTES as u64).read_to_end(&mut batch).map_err(failed)?;
                if batch.is_empty() {
                    break;
                }
                own.write(&mut unsummed(&mut self.sections.output.file), &batch)?;
            }
            rounds = rounds.max(part.rounds(own.written));
            push(&mut streams, own)?;
        }
        let last = streams.last().map_or(0, |last| last.filled_by(rounds));
        self.end_arrays(&streams, rounds, last)
    }
}

// The number of chunks of a stream, which is at most its size, fits an agreement.
const _: () = assert!(FINE >= MAX_OFFSET);

#[cfg(test)]
mod tests {
    use super::*;
    use scda_base::memory::zeroed;

    const DATA: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    fn own(tasks: u64, chunk_bytes: u64, task: u64) -> OwnStream {
        let part = StreamPart { tasks, chunk_bytes, part: 0 };
        OwnStream::new(UserString::new(b"s").unwrap(), part, task, DATA, 0, None)
    }

    /// Writes the runs to a stream. Returns, for each write to the file, its offset, the address of the
    /// bytes, and their number.
    fn writes<'a>(own: &mut OwnStream, runs: impl Iterator<Item = &'a [u8]>) -> Vec<(u64, usize, usize)> {
        let mut all = Vec::new();
        let mut file = |offset, run: &[u8]| {
            all.push((offset, run.as_ptr().addr(), run.len()));
            Ok(())
        };
        runs.for_each(|run| own.take(&mut file, run).unwrap());
        own.flush(&mut file).unwrap();
        all
    }

    #[test]
    fn long_runs_are_written_once_from_the_memory_of_the_user() {
        const RUN_BYTES: usize = 64 << 10;
        let memory = vec![7; RUN_BYTES];
        let mut own = own(3, 1 << 20, 1);
        let found = writes(&mut own, (0..40).map(|_| memory.as_slice()));
        let expected: Vec<_> = (0..40)
            .map(|i: u64| {
                (
                    DATA + ((i / 16 * 3 + 1) << 20) + i % 16 * RUN_BYTES as u64,
                    memory.as_ptr().addr(),
                    RUN_BYTES,
                )
            })
            .collect();
        assert_eq!(found, expected);
        assert_eq!(own.bytes(), 40 * RUN_BYTES as u64);
        // One call for each chunk of which a run has a part, from the middle of the third chunk on.
        let long = vec![7; (3 << 20) + 5];
        let found = writes(&mut own, std::iter::once(long.as_slice()));
        let place = |chunk: u64, byte: u64| DATA + ((chunk * 3 + 1) << 20) + byte;
        let from = |byte: usize| long.as_ptr().addr() + byte;
        let half = 1 << 19;
        let expected = [
            (place(2, half as u64), from(0), half),
            (place(3, 0), from(half), 1 << 20),
            (place(4, 0), from(3 * half), 1 << 20),
            (place(5, 0), from(5 * half), half + 5),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn short_runs_are_collected() {
        let memory = vec![7; 1000];
        let mut own = own(2, 1 << 20, 0);
        let found = writes(&mut own, (0..1000).map(|_| memory.as_slice()));
        let bytes: Vec<_> = found.iter().map(|(_, _, bytes)| *bytes).collect();
        // 262 of them fit the buffer; the next one is written after it.
        assert_eq!(bytes, [262_000, 1000, 262_000, 1000, 262_000, 1000, 211_000]);
        assert_eq!(own.bytes(), 1_000_000);
    }

    /// A size that no test writes to a disk.
    #[test]
    fn a_stream_can_have_ten_gib_in_chunks_of_one() {
        // Of these pages, only the last one of each run is read.
        let run = zeroed(to_usize(GIB)).unwrap();
        let runs = || (0..10).map(|_| run.as_slice());
        let mut whole = own(3, GIB, 2);
        let expected: Vec<_> =
            (0..10).map(|round| (DATA + (3 * round + 2) * GIB, run.as_ptr().addr(), run.len())).collect();
        assert_eq!(writes(&mut whole, runs()), expected);
        assert_eq!((whole.bytes(), whole.part.rounds(whole.written)), (10 * GIB, 10));
        // Not at the ends of chunks: two calls for each run.
        let mut odd = own(3, GIB, 2);
        let begin = &run[..DIRECT_BYTES];
        let found = writes(&mut odd, std::iter::once(begin).chain(runs()));
        assert_eq!(found.len(), 1 + 2 * 10);
        assert_eq!(found[20].0, DATA + (3 * 10 + 2) * GIB);
        assert_eq!(found.iter().map(|(_, _, bytes)| *bytes as u64).sum::<u64>(), odd.bytes());
        assert_eq!((odd.bytes(), odd.part.rounds(odd.written)), (10 * GIB + DIRECT_BYTES as u64, 11));
    }
}
