//! Assembles the chunks of a round from their parts.

use super::parts::{Chunk, first_overlap};
use super::wire::torn;
use super::{ChunkPart, Place, Plan, PlannedArray, Round};
use crate::file::writer::datasets::selection::Origin;
use scda_base::error::Result;
use scda_base::memory::{grow, reserve};
use scda_base::numbers::to_usize;
use scda_format::dataset::IndexBox;

impl Plan<'_> {
    /// The parts of a chunk.
    fn parts_at<'b>(
        &'b self,
        window: &'b Round,
        array: &'b PlannedArray<'_>,
        chunk: &IndexBox,
        places: &[(u64, Place)],
    ) -> Result<Vec<ChunkPart<'b>>> {
        let mut parts = Vec::new();
        reserve(&mut parts, places.len())?;
        for &(_, place) in places {
            parts.push(match place {
                Place::RankData(number) => array.own_part(chunk, number).ok_or_else(torn)?,
                Place::Received { header, data } => {
                    let (_, region) = self.header(&mut &window.received[header..], &window.chunks)?;
                    let items = region.items()?;
                    let from = Origin::Bytes(window.received.get(data..).unwrap_or_default());
                    ChunkPart { region, items, from, within: None }
                }
            });
        }
        Ok(parts)
    }

    /// A chunk of the window, put together in `buffer` if need be.
    pub fn assemble<'b>(
        &'b self,
        window: &'b Round,
        chunk: u64,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Chunk<'b>> {
        let start = window.places.partition_point(|(other, _)| *other < chunk);
        let count = window.places[start..].partition_point(|(other, _)| *other == chunk);
        let places = &window.places[start..start + count];
        let array = &self.arrays[self.array_of(chunk)];
        let (origin, shape) = (array.grid.region_of(chunk - array.first), array.grid.chunk_shape());
        let chunk_bytes = array.grid.chunk_bytes();
        let bytes = to_usize(chunk_bytes);
        let item_bytes = array.item_bytes;
        let parts = self.parts_at(window, array, &origin, places)?;
        if let [part] = &parts[..]
            && part.items * item_bytes as u64 == chunk_bytes
            && let Origin::Bytes(from) = part.from
            && let mut runs = part.runs((shape, &part.region.start))
            && let (Some(run), None) = (runs.next(), runs.next())
            && let Some(bytes) =
                from.get(to_usize(run.from) * item_bytes..).and_then(|from| from.get(..bytes))
        {
            return Ok(if array.is_fill(bytes) { Chunk::Fill } else { Chunk::Bytes(bytes) });
        }
        let overlap = |items: u64| {
            let mut index = origin.start.clone();
            let mut rest = items;
            for (index, &n) in index.iter_mut().zip(shape).rev() {
                *index += rest % n;
                rest /= n;
            }
            Ok(Chunk::Overlap(index))
        };
        if let Some(items) = first_overlap(shape, &parts)? {
            return overlap(items);
        }
        if !window.has_data {
            return Ok(Chunk::Unknown);
        }
        if places.is_empty() {
            return Ok(Chunk::Fill);
        }
        grow(buffer, bytes)?;
        let buffer = &mut buffer[..bytes];
        let items: u64 = parts.iter().map(|part| part.items).sum();
        if items * (item_bytes as u64) < chunk_bytes {
            array.put_fill(buffer);
        }
        for part in &parts {
            for run in part.runs((shape, &part.region.start)) {
                let (to, length) = (to_usize(run.to) * item_bytes, to_usize(run.items) * item_bytes);
                part.from.copy(run.from, item_bytes, &mut buffer[to..to + length]);
            }
        }
        Ok(if array.is_fill(buffer) { Chunk::Fill } else { Chunk::Bytes(buffer) })
    }
}
