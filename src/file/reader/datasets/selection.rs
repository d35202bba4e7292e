//! What a rank reads of a dataset: regions, and where each goes in memory.

use super::chunks::Chunks;
use super::room::Room;
use crate::codec::chunk::swap_items;
use crate::error::{Error, ErrorKind, Result};
use crate::file::reader::sections::{Current, exceeds_63_bits};
use crate::format::dataset::bools::{find_other_item, has_bools};
use crate::format::dataset::stored::{Elements, Stored};
use crate::format::dataset::{ChunkGrid, Dataset, Region, Run, Runs, does_not_fit};
use crate::format::layout::sum;
use crate::items::DataMut;
use crate::memory::reserve;

/// The dataset whose data can be read.
pub(super) struct CurrentDataset {
    pub stored: Box<Stored>,
    /// Where the section of its data begins.
    pub start: u64,
    /// Where attributes stand that were set later.
    pub later: Option<u64>,
}

/// A dataset that was found, and the section of its data.
pub(super) struct FoundDataset {
    pub dataset: CurrentDataset,
    pub current: Current,
}

/// A dataset of which this rank reads regions.
pub(super) struct Selection<'a> {
    pub current: Current,
    pub stored: &'a Stored,
    pub regions: &'a [Region],
    /// Where the section of the data begins in the file.
    start: u64,
    /// Where each region begins in memory.
    starts: Vec<u64>,
    pub chunks: Chunks,
}

impl<'a> Selection<'a> {
    /// With the memory for the regions.
    ///
    /// # Errors
    /// `Unsupported`; `Argument` for regions that do not lie in the array, or memory that does not fit them; `Range`; `Memory`.
    pub(super) fn new<'b>(
        found: &'a FoundDataset,
        regions: &'a [Region],
        memory: DataMut<'b>,
    ) -> Result<(Self, Room<'b>)> {
        let (part, bytes) = Self::of_bytes(found, regions)?;
        part.stored.dataset.require_fixed()?;
        let Stored { dataset, codecs, .. } = part.stored;
        let as_stored = (dataset.data_type, codecs.big_endian != cfg!(target_endian = "big"));
        let room = Room::new(memory, regions, &part.starts, bytes, as_stored)?;
        Ok((part, room))
    }

    /// Without memory; the bytes of all regions.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub(super) fn of_bytes(found: &'a FoundDataset, regions: &'a [Region]) -> Result<(Self, u64)> {
        let FoundDataset { dataset: CurrentDataset { stored, start, .. }, current } = found;
        let dataset = &stored.dataset;
        if let Some(why) = &dataset.unsupported {
            let message =
                format!("dataset \"{}\": found {why}, which this library cannot read", dataset.name);
            return Err(Error::new(ErrorKind::Unsupported, message).at(*start));
        }
        let item_bytes = dataset.data_type.item_bytes();
        let mut starts = Vec::new();
        reserve(&mut starts, regions.len())?;
        let mut bytes = 0;
        for (number, region) in regions.iter().enumerate() {
            dataset.check_region(number, region)?;
            starts.push(bytes);
            // That of a region is bounded by that of the dataset.
            bytes = sum(bytes, region.items()? * item_bytes).ok_or_else(|| exceeds_63_bits(&[bytes]))?;
        }
        let chunks = Chunks::new(stored, regions);
        Ok((Self { current: *current, stored, regions, start: *start, starts, chunks }, bytes))
    }

    /// The regions, and where each is in memory.
    pub fn places(&self) -> impl Iterator<Item = (&'a Region, u64)> {
        self.regions.iter().zip(self.starts.clone())
    }

    /// Whether rows that are plain in the file go to memory where they do not follow one another.
    pub fn is_scattered(&self, room: &Room<'_>) -> bool {
        self.stored.elements == Elements::Rows && !self.current.decoded && room.is_apart()
    }

    /// The regions in strips of at most about so many bytes, each with its place in memory.
    pub fn strips(&self, most: u64) -> Result<impl Iterator<Item = (Region, u64)>> {
        let item_bytes = self.stored.dataset.data_type.item_bytes();
        let grid =
            |place: (&'a Region, u64)| Ok((ChunkGrid::of_strips(&place.0.count, item_bytes, most)?, place));
        let grids: Result<Vec<_>> = self.places().map(grid).collect();
        Ok(grids?.into_iter().flat_map(move |(grid, (region, mut to))| {
            (0..grid.chunks()).map(move |number| {
                let mut strip = grid.region_of(number);
                let (place, items) = (to, strip.count.iter().product::<u64>());
                to += items * item_bytes;
                strip.start.iter_mut().zip(&region.start).for_each(|(start, first)| *start += first);
                (strip, place)
            })
        }))
    }

    /// The runs of bytes that a region has of a chunk: from the chunk to memory.
    pub fn runs(&self, chunk: u64, index: usize) -> impl Iterator<Item = Run> + use<> {
        let Stored { dataset, grid, .. } = self.stored;
        let (region, start) = (&self.regions[index], self.starts[index]);
        let item_bytes = dataset.data_type.item_bytes();
        let own = grid.region_of(chunk);
        let both = own.intersection(region).unwrap_or_default();
        let within = |region: &Region| -> Vec<u64> {
            both.start.iter().zip(&region.start).map(|(inner, outer)| inner - outer).collect()
        };
        let from = (grid.chunk_shape(), &*within(&own));
        let runs = Runs::new(&both.count, from, (&region.count, &within(region)));
        runs.map(move |run| bytes_of(run, item_bytes, start))
    }

    /// Turns what was read into numbers of this machine.
    pub(super) fn finish(&self, mut room: Room<'_>) -> Result<()> {
        let Stored { dataset, codecs, .. } = self.stored;
        if let Some((region, item)) = room.misfit() {
            let index = self.regions[region].index_of(item);
            return Err(does_not_fit(dataset, &index).at(self.start));
        }
        let is_swapped =
            dataset.data_type.has_byte_order() && codecs.big_endian != cfg!(target_endian = "big");
        let is_bool = has_bools(dataset.data_type);
        if !is_swapped && !is_bool {
            return Ok(());
        }
        room.change(|before, data| {
            if is_swapped {
                swap_items(data, dataset.data_type);
            }
            // In memory, a bool of another value would be undefined in C++.
            if is_bool && let Some((place, byte)) = find_other_item(dataset.data_type, data) {
                let place = before + place as u64 * dataset.data_type.item_bytes();
                return Err(no_bool(dataset, self.regions, &self.starts, place, byte).at(self.start));
            }
            Ok(())
        })
    }
}

/// A byte that is no bool, in the item at this byte of what was read.
#[cold]
fn no_bool(dataset: &Dataset, regions: &[Region], starts: &[u64], place: u64, byte: u8) -> Error {
    let region = starts.partition_point(|&start| start <= place).saturating_sub(1);
    let index = regions[region].index_of((place - starts[region]) / dataset.data_type.item_bytes());
    let name = &dataset.name;
    Error::new(
        ErrorKind::Decode,
        format!("dataset \"{name}\": item {index:?}: found the bool {byte}, expected 0 or 1"),
    )
}

/// A run of items as one of bytes, which goes to a region that begins there.
pub(super) fn bytes_of(run: Run, item_bytes: u64, start: u64) -> Run {
    Run { from: run.from * item_bytes, to: start + run.to * item_bytes, items: run.items * item_bytes }
}
