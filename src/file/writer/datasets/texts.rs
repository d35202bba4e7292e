//! Writes datasets of items of variable length in chunks of whole rows; each chunk is written by the rank
//! that has its first row.
//!
//! A rank whose rows begin within a chunk sends them, up to the end of the chunk, to the rank that has its
//! first row, encoded as in the chunk. They follow that rank's own rows of the chunk, in the order of the
//! ranks.

use super::DatasetWriter;
use super::chunked::{ChunkWriter, EncodedChunks};
use crate::file::encoding::{CHUNK_BYTES, EncodedElements};
use crate::file::team::{Failure, Function, Topic, only_if, split};
use crate::texts::Texts;
use scda_base::error::{Error, Result};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_codec::chunk::{ChunkCodec, ChunkEncoder};
use scda_codec::texts::{is_all, put, put_count};
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::metadata;
use scda_format::dataset::{ChunkGrid, DataType, Dataset, Layout, MAX_CHUNK_BYTES, items};
use scda_format::layout::product;
use scda_ranks::Partition;
use std::ops::Range;

/// The average size of a chunk if the user gives no shape. The same in tests, because the bytes of the file
/// depend on it.
const DEFAULT_CHUNK_BYTES: u64 = 512 << 10;

/// The rows of this rank, and how they are divided into chunks.
struct TextRows<'a> {
    items: &'a Texts,
    /// The number of items in a row.
    row: u64,
    own: Partition,
    /// The number of rows in a chunk.
    chunk: u64,
    fill: &'a [u8],
}

impl TextRows<'_> {
    /// The chunks whose first row this rank has, of `total`.
    fn chunks(&self, total: u64) -> Partition {
        let Partition { offset, count, .. } = self.own;
        let [start, end] = [offset, offset + count].map(|row| row.div_ceil(self.chunk).min(total));
        Partition { offset: start, count: end - start, total }
    }

    /// The rows before this rank's first chunk, which belong to a chunk of another rank.
    fn head(&self) -> Range<u64> {
        let Partition { offset, count, .. } = self.own;
        let end = offset.checked_next_multiple_of(self.chunk).unwrap_or(u64::MAX).min(offset + count);
        offset..end
    }

    /// Appends rows of this rank.
    fn put(&self, rows: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        let [start, end] = [rows.start, rows.end].map(|row| to_usize((row - self.own.offset) * self.row));
        (start..end).try_for_each(|item| put(out, self.items.get(item).unwrap_or_default()))
    }

    /// Assembles a chunk: the rows of this rank, followed by those that others have sent.
    fn assemble(&self, chunk: u64, received: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Partition { offset, count, total } = self.own;
        let (start, end) = (chunk * self.chunk, (chunk * self.chunk).saturating_add(self.chunk));
        out.clear();
        put_count(out, self.chunk * self.row)?;
        self.put(start..end.min(offset + count), out)?;
        if end > offset + count {
            reserve(out, received.len())?;
            out.extend_from_slice(received);
        }
        let missing = end.saturating_sub(total.max(start)) * self.row;
        (0..missing).try_for_each(|_| put(out, self.fill))?;
        if out.len() as u64 <= MAX_CHUNK_BYTES {
            return Ok(());
        }
        Err(Error::range(format!(
            "chunk {chunk}: found {} bytes, expected at most {MAX_CHUNK_BYTES}: give chunks of fewer rows",
            out.len()
        )))
    }
}

impl DatasetWriter<'_> {
    /// Writes a dataset of items of variable length, of which this rank has `count` rows.
    pub(in crate::file::writer) fn texts(
        &mut self,
        dataset: &Dataset,
        count: u64,
        mine: Result<&Texts>,
    ) -> Result<(), Failure> {
        self.sections.team_mut().note_call(Function::WriteTexts);
        self.scheduler().place()?;
        self.sections.team_mut().note_bytes(Topic::Dataset, &["the name"], dataset.name.as_bytes());
        let row = check(dataset)?;
        let mine = mine.and_then(|items| check_items(dataset, count, row, items).map(|()| items));
        let none = Texts::new();
        // A rank with an error takes part with an empty contribution.
        let (items, mine) = match mine {
            Ok(items) => (items, Ok(())),
            Err(error) => (&none, Err(error)),
        };
        let bytes = Partition { count: items.bytes().len() as u64, ..Partition::default() };
        let mut parts = [Partition { count, ..Partition::default() }, bytes];
        self.sections.output.must_agree();
        self.sections.team_mut().agree(mine)?.spread_all(&mut parts)?;
        let [own, bytes] = parts;
        let (written, codecs) =
            described(dataset, own.total, row, bytes.total, self.sections.params().level)?;
        let written = self.as_written(&written)?;
        let grid = written.grid()?;
        let text = metadata::of_dataset(&written, &codecs)?;
        self.note_metadata(&text, dataset.level);
        let chunk = grid.chunk_shape().first().copied().unwrap_or(1);
        let rows = TextRows { items, row, own, chunk, fill: &dataset.fill_value };
        let mut chunks = self.chunks();
        let received = chunks.bring_heads(&rows)?;
        let encoded = only_if(!chunks.sections.team().has_deferred(), || {
            chunks.encode_texts(&written, &codecs, &rows, &grid, &received)
        });
        let (encoded, bytes) = chunks.sections.spread(encoded)?;
        let own = (rows.chunks(grid.chunks()), grid.chunk_bytes());
        chunks.write(&written, &text, own, &EncodedChunks { encoded, bytes })
    }
}

impl ChunkWriter<'_> {
    /// Sends the rows before the first chunk of each rank to the rank that has the first row of their chunk;
    /// returns what this rank receives.
    fn bring_heads(&mut self, rows: &TextRows<'_>) -> Result<Vec<u8>, Failure> {
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        if self.sections.team().is_alone() {
            return Ok(received);
        }
        let packed = rows.put(rows.head(), &mut sent);
        let agreed = self.sections.team_mut().agree(packed)?;
        // Called even if the first exchange fails, because the other ranks go on to the second.
        let starts = agreed.comm().allgather(rows.own.offset);
        let heads = agreed.comm().allgather(sent.len() as u64);
        let (size, rank) = (self.sections.team().size(), self.sections.team().rank());
        let mine = starts.and_then(|starts| Ok((starts, heads?))).and_then(|(starts, heads)| {
            let mut sent_bytes = Vec::new();
            resize(&mut sent_bytes, size as u64)?;
            let mut received_bytes = sent_bytes.clone();
            // If several ranks begin at the same row, the last one has it.
            let owner = |row: u64| starts.partition_point(|&start| start <= row).saturating_sub(1);
            for (from, (&start, &bytes)) in
                starts.iter().zip(&heads).enumerate().filter(|(_, (_, bytes))| **bytes > 0)
            {
                let to = owner(start - start % rows.chunk);
                if from == rank {
                    sent_bytes[to] = to_usize(bytes);
                }
                if to == rank {
                    received_bytes[from] = to_usize(bytes);
                }
            }
            let total: usize = received_bytes.iter().sum();
            resize(&mut received, total as u64)?;
            Ok(((sent_bytes, received_bytes), heads.iter().any(|&bytes| bytes > 0)))
        });
        let (((sent_bytes, received_bytes), is_needed), mine) = split(mine);
        let agreed = self.sections.team_mut().agree(mine)?;
        if is_needed {
            let brought = agreed.comm().alltoallv(&sent, &sent_bytes, &mut received, &received_bytes);
            // The next agreement reports it.
            self.sections.team_mut().defer(brought);
        }
        Ok(received)
    }

    /// Encodes the chunks of this rank.
    fn encode_texts(
        &self,
        dataset: &Dataset,
        codecs: &Codecs,
        rows: &TextRows<'_>,
        grid: &ChunkGrid,
        received: &[u8],
    ) -> Result<EncodedElements> {
        let params = self.sections.params();
        let codec = ChunkCodec::of(dataset, params.encoder, params.level, params.line_break);
        let mut encoder = if codecs.are_plain() { None } else { Some(ChunkEncoder::new(codec)?) };
        let own = rows.chunks(grid.chunks());
        let (mut encoded, mut chunk_data, mut out) = (EncodedElements::default(), Vec::new(), Vec::new());
        reserve(&mut encoded.sizes, to_usize(own.count))?;
        for chunk in own.offset..own.offset + own.count {
            params.interrupt.check()?;
            rows.assemble(chunk, received, &mut chunk_data)?;
            let size = match &mut encoder {
                _ if is_all(&chunk_data, rows.chunk * rows.row, rows.fill) => 0,
                Some(encoder) => encoder.encode(&chunk_data, &mut out)?,
                None => {
                    reserve(&mut out, chunk_data.len())?;
                    out.extend_from_slice(&chunk_data);
                    chunk_data.len()
                }
            };
            encoded.sizes.push(size as u64);
            if out.len() >= CHUNK_BYTES {
                encoded.chunks.push(std::mem::take(&mut out).into());
            }
        }
        encoded.chunks.push(out.into());
        Ok(encoded)
    }
}

/// The number of items in a row, after checking that such a dataset can be written.
fn check(dataset: &Dataset) -> Result<u64> {
    let refuse = |what: String| Err(Error::argument(format!("{}: {what}", dataset.title())));
    if !dataset.data_type.is_variable() {
        return refuse(format!("found {}, expected items of variable length", dataset.data_type));
    }
    if matches!(dataset.layout, Layout::Chunked { text: true, .. }) {
        return refuse("items of variable length cannot be in chunks as text".into());
    }
    let inner = dataset.shape.get(1..).unwrap_or_default();
    items(inner)
        .filter(|&row| row <= MAX_CHUNK_BYTES)
        .ok_or_else(|| Error::range(format!("{}: one first index has too many items", dataset.title())))
}

/// Returns an error unless these can be the items of this rank.
fn check_items(dataset: &Dataset, count: u64, row: u64, items: &Texts) -> Result<()> {
    let refuse = |what: String| Err(Error::argument(format!("{}: {what}", dataset.title())));
    if product(count, row) != Some(items.len() as u64) {
        return refuse(format!(
            "found {} items, expected {row} for each of {count} first indices",
            items.len()
        ));
    }
    for (place, item) in items.iter().enumerate() {
        if dataset.data_type == DataType::String && std::str::from_utf8(item).is_err() {
            return refuse(format!("item {place} of this rank: found bytes that are not UTF-8"));
        }
        if item.len() as u64 > MAX_CHUNK_BYTES {
            return Err(Error::range(format!(
                "{}: item {place} of this rank: found {} bytes, expected at most {MAX_CHUNK_BYTES}",
                dataset.title(),
                item.len()
            )));
        }
    }
    Ok(())
}

/// The dataset as it is in the file, whose items have `bytes` bytes, and its codecs.
fn described(dataset: &Dataset, rows: u64, row: u64, bytes: u64, level: u32) -> Result<(Dataset, Codecs)> {
    let codecs = Codecs::of(dataset, level);
    let mut written = dataset.clone();
    match written.shape.first_mut() {
        Some(first) => *first = rows,
        None if rows == 1 => {}
        None => {
            let words = format!("found {rows} items on all ranks, expected 1 without dimensions");
            return Err(Error::argument(format!("{}: {words}", dataset.title())));
        }
    }
    let whole: Vec<u64> = written.shape.iter().map(|&n| n.max(1)).collect();
    let shape = match &dataset.layout {
        Layout::Chunked { shape: Some(shape), .. } | Layout::Auto { shape: Some(shape) } => {
            if shape.len() != whole.len() || shape.get(1..) != whole.get(1..) {
                let words =
                    format!("chunk shape: found {shape:?}, expected whole indices of the first dimension");
                return Err(Error::argument(format!("{}: {words}", dataset.title())));
            }
            shape.clone()
        }
        _ => {
            let all =
                u128::from(bytes) + u128::from(rows) * u128::from(row) * u128::from(DataType::LENGTH_BYTES);
            let fitting = u128::from(rows) * u128::from(DEFAULT_CHUNK_BYTES) / all.max(1);
            let mut shape = whole;
            if let Some(first) = shape.first_mut() {
                *first = u64::try_from(fitting).unwrap_or(u64::MAX).clamp(1, *first);
            }
            shape
        }
    };
    written.layout = Layout::Chunked { shape: Some(shape), text: false };
    Ok((written, codecs))
}
