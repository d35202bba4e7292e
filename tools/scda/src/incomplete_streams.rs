//! Streams of tasks that a killed job has begun but not ended: the block of the part, and the bytes of the streams.

use crate::datasets::begins_streams;
use crate::fail::{Fail, Result};
use crate::files::Input;
use scda::{LineBreak, Reader, Section, SectionType, Writer};
use scda_base::numbers::to_usize;
use scda_format::entry::parse_counts;
use scda_format::padding::{MAX_DATA_PADDING, data_padding, data_padding_bytes};
use scda_format::streams::{
    BYTES_LETTER as STREAM_BYTES_LETTER, ENTRIES_BYTES as STREAMS_ENTRIES_BYTES,
    HEADER_BYTES as STREAMS_HEADER_BYTES, InChunk, STREAM_BYTES as STREAM_BYTES_CONVENTION, StreamPart,
};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The name under which the streams are saved, because their own was to be in the header.
pub const NAME: &str = "salvaged streams";
/// The bytes that are read at once.
const BATCH_BYTES: u64 = 1 << 20;
/// More tasks than any job has.
const MOST_TASKS: u64 = 1 << 24;
/// The search for the lengths of ended streams assumes at most this many chunks for each task.
const MOST_ROUNDS: u64 = 1 << 24;

/// The bytes of an entry with the length of a stream.
const ENTRY_BYTES: usize = 32;
/// Fewer bytes of padding are not recognized.
const LEAST_PADDING: usize = 4;

/// Streams without an end.
pub struct IncompleteStreams {
    file: Arc<File>,
    part: StreamPart,
    /// The offset of the chunks' data, and the end of the data or of the file.
    data: u64,
    end: u64,
    /// The offset at which the array with the lengths was to begin, if the header of the chunks is in the file.
    lengths: Option<u64>,
}

/// Streams that the job had not ended, after they were completed.
pub struct CompletedStreams {
    /// The number of streams, their total size in bytes, and the number of those with a length that the job wrote.
    pub tasks: u64,
    pub bytes: u64,
    pub known: u64,
}

impl IncompleteStreams {
    /// The streams that begin with a section, if they were not ended: at the place for the header of their chunks,
    /// there is nothing, or the beginning of a header, and nothing known follows; or the chunks are complete, but the
    /// array after them is not. Changes the reader's position.
    pub fn find(reader: &mut Reader, input: &Input, section: &Section) -> Result<Option<Self>> {
        if !begins_streams(section.section_type, &section.user) || section.decoded {
            return Ok(None);
        }
        reader.seek(section.offset)?;
        reader.next_section(true)?;
        let mut entries = [0; STREAMS_ENTRIES_BYTES];
        if section.size < entries.len() as u64 {
            return Ok(None);
        }
        reader.ranges().read_block(0..entries.len() as u64, &mut entries)?;
        reader.skip()?;
        let part =
            StreamPart::parse(&entries, section.data_offset).ok().filter(|part| part.tasks <= MOST_TASKS);
        let (Some(part), Some(start)) = (part, reader.position()) else { return Ok(None) };
        let trouble = |error| Fail::file(input.name(), error);
        let file = Arc::new(input.file().map_err(trouble)?);
        let end = file.metadata().map_err(trouble)?.len();
        let data = start + STREAMS_HEADER_BYTES;
        // Ended streams that have lost a part are sealed, or have an array after them.
        if reader.inspect().seals()?.all.last().is_some_and(|last| last.seal.length > section.offset) {
            return Ok(None);
        }
        let mut found = Self { file, part, data, end, lengths: None };
        let mut head = vec![0; to_usize(data.min(end).saturating_sub(start))];
        found.file.read_exact_at(&mut head, start).map_err(trouble)?;
        if is_torn(&head, b"A ") {
            if found.may_be_ended().map_err(trouble)? {
                return Ok(None);
            }
            found.cut_padding().map_err(trouble)?;
            return Ok(Some(found));
        }
        let Some((data_end, after)) = found.whole_chunks(reader) else { return Ok(None) };
        if !found.lengths_are_torn(after).map_err(trouble)? {
            return Ok(None);
        }
        (found.end, found.lengths) = (data_end, Some(after));
        Ok(Some(found))
    }

    /// The ends of the chunks' data and of their padding, if the chunks are the next section and complete.
    fn whole_chunks(&self, reader: &mut Reader) -> Option<(u64, u64)> {
        let StreamPart { tasks, chunk_bytes, .. } = self.part;
        reader.seek(self.header()).ok()?;
        let chunks = reader.next_section(true).ok()??;
        let is_array = chunks.section_type == SectionType::Array && !chunks.decoded;
        let is_theirs = is_array && chunks.size == chunk_bytes && chunks.count.is_multiple_of(tasks);
        if !is_theirs || chunks.data_offset != self.data {
            return None;
        }
        reader.skip().ok()?;
        let after = reader.position().filter(|&after| after <= self.end)?;
        Some((self.data + chunks.count * chunk_bytes, after))
    }

    /// The place for the header of the chunks.
    fn header(&self) -> u64 {
        self.data - STREAMS_HEADER_BYTES
    }

    /// True if the file has nothing, or only a part, of the array with the lengths from this byte on. While several
    /// ranks write it, the beginning of its header is zero, and is written last; if one rank writes it alone, the end
    /// is missing.
    fn lengths_are_torn(&self, start: u64) -> io::Result<bool> {
        let mut head = [0; 32];
        let there = to_usize((self.end - start).min(head.len() as u64));
        self.file.read_exact_at(&mut head[..there], start)?;
        let expected = [b"A ", STREAM_BYTES_CONVENTION, b" "].concat();
        if is_torn(&head, &expected) {
            return Ok(true);
        }
        let bytes = ENTRY_BYTES as u64 * self.part.tasks;
        let is_cut = start + STREAMS_HEADER_BYTES + bytes + data_padding_bytes(bytes) > self.end;
        Ok(is_cut && head.starts_with(&expected))
    }

    /// If the file ends with the padding after some number of chunks of each task, or with its beginning, removes that
    /// from the data.
    fn cut_padding(&mut self) -> io::Result<()> {
        let all = self.end.saturating_sub(self.data);
        let round_bytes = self.part.tasks * self.part.chunk_bytes;
        let least = all.saturating_sub(MAX_DATA_PADDING as u64).div_ceil(round_bytes);
        for rounds in (least..=all / round_bytes).rev() {
            let bytes = rounds * round_bytes;
            let mut tail = vec![0; to_usize(all - bytes)];
            self.file.read_exact_at(&mut tail, self.data + bytes)?;
            let mut last = [0];
            if rounds > 0 {
                self.file.read_exact_at(&mut last, self.data + bytes - 1)?;
            }
            let last = (rounds > 0).then_some(last[0]);
            let begins =
                |style| data_padding(&mut [0; MAX_DATA_PADDING], bytes, last, style).starts_with(&tail);
            if tail.len() >= LEAST_PADDING && [LineBreak::Unix, LineBreak::Mime].into_iter().any(begins) {
                self.end = self.data + bytes;
                break;
            }
        }
        Ok(())
    }

    /// True if the array with the sizes of the streams follows some number of chunks, or if there is room for too
    /// many chunks to find out.
    fn may_be_ended(&self) -> io::Result<bool> {
        let StreamPart { tasks, chunk_bytes, .. } = self.part;
        let user = String::from_utf8_lossy(STREAM_BYTES_CONVENTION);
        let (header, entry) = (format!("A {user} "), format!("N {tasks} "));
        // The header and the number of elements.
        let mut found = [0; 64 + 32];
        for rounds in 0..=MOST_ROUNDS {
            // Bounded by the length of the file and one more round.
            let bytes = rounds * tasks * chunk_bytes;
            let at = self.data + bytes + data_padding_bytes(bytes);
            if at + found.len() as u64 > self.end {
                return Ok(false);
            }
            self.file.read_exact_at(&mut found, at)?;
            if found.starts_with(header.as_bytes()) && found[64..].starts_with(entry.as_bytes()) {
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// A description of the streams.
    pub fn words(&self) -> String {
        let StreamPart { tasks, part, .. } = self.part;
        format!(
            "begins part {part} of streams of {tasks} tasks that were not ended: scda salvage saves their bytes"
        )
    }

    /// The offsets of the other sections of the streams, after the first one. The last of them is incomplete.
    pub fn others(&self) -> impl Iterator<Item = u64> + use<> {
        let header = self.header();
        self.lengths.into_iter().flat_map(move |lengths| [header, lengths])
    }

    /// The size of a stream in bytes, and true if the job wrote it. Otherwise, it extends to the last byte that is not
    /// 0.
    fn bytes(&self, task: u64) -> io::Result<(u64, bool)> {
        let least = self.least_bytes(task)?;
        let Some(start) = self.lengths else { return Ok((least, false)) };
        let (mut entry, at) = ([0; ENTRY_BYTES], start + STREAMS_HEADER_BYTES + ENTRY_BYTES as u64 * task);
        match self.file.read_exact_at(&mut entry, at) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok((least, false)),
            read => read?,
        }
        let mut found = None;
        let most = (self.end - self.data) / (self.part.tasks * self.part.chunk_bytes) * self.part.chunk_bytes;
        // Where nothing was written, there are zeros.
        let _ = parse_counts(&entry, STREAM_BYTES_LETTER, 0, |_, bytes| {
            found = Some(bytes).filter(|bytes| (least..=most).contains(bytes));
            Ok(())
        });
        Ok(found.map_or((least, false), |bytes| (bytes, true)))
    }

    /// The size of a stream up to the last byte that is not 0.
    fn least_bytes(&self, task: u64) -> io::Result<u64> {
        let StreamPart { tasks, chunk_bytes, .. } = self.part;
        let mut round = self.end.saturating_sub(self.data).div_ceil(tasks * chunk_bytes);
        let mut batch = Vec::new();
        while round > 0 {
            round -= 1;
            let first = round * chunk_bytes;
            let InChunk { at: start, left } = self.place(task, first)?;
            let mut end = self.end.min(start + left);
            while end > start {
                batch.resize(to_usize((end - start).min(BATCH_BYTES)), 0);
                end -= batch.len() as u64;
                self.file.read_exact_at(&mut batch, end)?;
                if let Some(last) = batch.iter().rposition(|&byte| byte != 0) {
                    return Ok(first + (end - start) + last as u64 + 1);
                }
            }
        }
        Ok(0)
    }

    /// The place of a byte of a stream in the file.
    fn place(&self, task: u64, byte: u64) -> io::Result<InChunk> {
        let InChunk { at, left } = self.part.place(task, byte).ok_or(io::ErrorKind::InvalidData)?;
        Ok(InChunk { at: self.data + at, left })
    }

    /// Writes the streams as a set of their own.
    pub fn save(self, writer: &mut Writer) -> Result<CompletedStreams> {
        let (tasks, chunk_bytes) = (self.part.tasks, self.part.chunk_bytes);
        let (this, mut ended) = (Arc::new(self), CompletedStreams { tasks, bytes: 0, known: 0 });
        let mut open = |task| -> io::Result<Box<dyn Read>> {
            let (bytes, is_known) = this.bytes(task)?;
            ended.bytes += bytes;
            ended.known += u64::from(is_known);
            Ok(Box::new(IncompleteStream { of: Arc::clone(&this), task, at: 0, bytes }))
        };
        writer.incremental().streams(NAME.as_bytes(), chunk_bytes, tasks, &mut open)?;
        Ok(ended)
    }
}

/// True if nothing, or only the beginning, of a text was written to these bytes. The expected text has no zeros.
fn is_torn(found: &[u8], expected: &[u8]) -> bool {
    let written = found.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let known = written.min(expected.len());
    found[..known] == expected[..known] && (written < found.len() || found.is_empty())
}

/// Reads a stream.
struct IncompleteStream {
    of: Arc<IncompleteStreams>,
    task: u64,
    at: u64,
    bytes: u64,
}

impl Read for IncompleteStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let InChunk { at: start, left } = self.of.place(self.task, self.at)?;
        let most = to_usize(left.min(self.bytes - self.at)).min(buffer.len());
        let count = self.of.file.read_at(&mut buffer[..most], start)?;
        self.at += count as u64;
        Ok(count)
    }
}
