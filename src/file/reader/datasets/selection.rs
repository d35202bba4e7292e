//! A rank's selection of a dataset: boxes, and where each goes in memory.

use super::AddedRows;
use super::box_buffers::BoxBuffers;
use super::chunk_offsets::ChunkOffsets;
use crate::file::limits::Limits;
use crate::file::reader::Section;
use crate::file::reader::sections::CurrentSection;
use crate::items::DataMut;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve, reserve_count};
use scda_codec::chunk::swap_items;
use scda_format::dataset::bools::{find_other_item, has_bools};
use scda_format::dataset::stored_dataset::{ElementKind, StoredDataset};
use scda_format::dataset::{ChunkGrid, CommonRun, Dataset, IndexBox, Runs};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A dataset that was opened, and where its data are.
pub(in crate::file::reader) struct OpenDataset {
    /// The shape counts all rows; the rest describes the section of the dataset's own data.
    pub stored: StoredDataset,
    /// The block of its metadata.
    pub metadata: Section,
    /// The section of its own data.
    pub data: Section,
    pub current: CurrentSection,
    /// The offset of attributes that were set later.
    pub later: Option<u64>,
    /// The sections with rows that were added later, in their order.
    pub added: Arc<[RowSection]>,
}

/// A section with rows that were added to a dataset.
pub(in crate::file::reader) struct RowSection {
    /// The description of these rows alone.
    pub stored: Box<StoredDataset>,
    pub current: CurrentSection,
    /// The offset of the metadata.
    pub metadata: u64,
    /// The offset of the section.
    pub data: u64,
    /// The number of its first row in the dataset.
    pub first: u64,
}

impl RowSection {
    pub fn described(&self) -> AddedRows {
        let Self { metadata, data, first, ref stored, .. } = *self;
        AddedRows { metadata, data, first, dataset: stored.dataset.clone() }
    }

    /// Its approximate memory.
    pub fn bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.stored.bytes()
    }

    /// The row after its last one, which has at most 63 bits.
    pub fn end(&self) -> u64 {
        self.first + self.stored.dataset.shape.first().copied().unwrap_or(0)
    }
}

impl OpenDataset {
    /// The offset of the section of its own data.
    pub fn start(&self) -> u64 {
        self.data.offset
    }

    /// The descriptions of its data sections, in their order.
    pub fn all_stored(&self) -> impl Iterator<Item = &StoredDataset> {
        let added = self.added.iter().map(|section| &*section.stored);
        std::iter::once(&self.stored).chain(added)
    }
}

/// The boxes that a rank reads of a dataset, and the memory for them.
pub(super) struct Destination<'a, 'b> {
    open: &'a OpenDataset,
    regions: &'a [IndexBox],
    /// Where each box begins in memory, each in C order.
    starts: Vec<u64>,
    pub room: BoxBuffers<'b>,
}

impl<'a, 'b> Destination<'a, 'b> {
    /// Also returns the selection of each section of the dataset, which has this number among those that are
    /// read together.
    ///
    /// # Errors
    /// `Unsupported`; `Argument` for boxes outside the array, or memory that does not fit them; `Range`;
    /// `Memory`.
    pub fn new(
        number: usize,
        open: &'a OpenDataset,
        (regions, memory): (&'a [IndexBox], DataMut<'b>),
        limits: &Limits,
    ) -> Result<(Self, Vec<Selection<'a>>)> {
        let (selections, starts) = Selection::of_sections(number, open, regions)?;
        let StoredDataset { dataset, codecs, .. } = &open.stored;
        dataset.require_fixed()?;
        let as_stored = (dataset.data_type, codecs.big_endian != cfg!(target_endian = "big"));
        let room = BoxBuffers::new(memory, regions, &starts, as_stored, limits)
            .map_err(|error| error.of(&format!("dataset \"{}\"", dataset.name)))?;
        Ok((Self { open, regions, starts, room }, selections))
    }

    /// Converts the data to numbers of this machine.
    pub fn finish(self) -> Result<()> {
        let Self { open, regions, starts, mut room } = self;
        let (StoredDataset { dataset, codecs, .. }, start) = (&open.stored, open.start());
        if let Some((region, misfit)) = room.misfit() {
            let index = regions[region].index_of(misfit.item);
            return Err(misfit.error(dataset, &index).at(start));
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
            // A bool with another value would be undefined behaviour in C++.
            if is_bool && let Some((place, byte)) = find_other_item(dataset.data_type, data) {
                let place = before + place as u64 * dataset.data_type.item_bytes();
                return Err(no_bool(dataset, regions, &starts, place, byte).at(start));
            }
            Ok(())
        })
    }
}

/// What a rank reads of one section of a dataset.
pub(super) struct Selection<'a> {
    pub current: CurrentSection,
    pub stored: &'a StoredDataset,
    /// The boxes, relative to the section.
    pub regions: Cow<'a, [IndexBox]>,
    /// Where each box begins in memory.
    starts: Vec<u64>,
    pub chunks: ChunkOffsets,
    /// The number of its dataset among those that are read together.
    pub number: usize,
}

impl<'a> Selection<'a> {
    /// The selection of each section of a dataset, which has this number among those that are read together.
    /// Also returns where each box begins in memory, and where all end.
    ///
    /// # Errors
    /// `Unsupported`; `Argument` for boxes outside the array; `Range`; `Memory`.
    pub fn of_sections(
        number: usize,
        open: &'a OpenDataset,
        regions: &'a [IndexBox],
    ) -> Result<(Vec<Self>, Vec<u64>)> {
        let OpenDataset { stored, current, added, .. } = open;
        require_supported(&stored.dataset, open.start())?;
        let starts = stored.dataset.starts_of(regions)?;
        let mut all = Vec::new();
        reserve(&mut all, 1 + added.len())?;
        let Some(first) = added.first().map(|section| section.first) else {
            all.push(Self::new(number, (current, stored), regions.into(), starts.clone()));
            return Ok((all, starts));
        };
        let item_bytes = stored.dataset.data_type.item_bytes();
        let rows_of = |rows: Range<u64>| rows_of(regions, &starts, item_bytes, rows);
        let (own, places) = rows_of(0..first)?;
        all.push(Self::new(number, (current, stored), own.into(), places));
        for section in &**added {
            let (own, places) = rows_of(section.first..section.end())?;
            // Sections of chunks stay, because all ranks number the chunks of all sections alike.
            if own.is_empty() && section.stored.elements == ElementKind::Rows {
                continue;
            }
            if !own.is_empty() {
                require_supported(&section.stored.dataset, section.data)?;
            }
            all.push(Self::new(number, (&section.current, &section.stored), own.into(), places));
        }
        Ok((all, starts))
    }

    fn new(
        number: usize,
        (current, stored): (&CurrentSection, &'a StoredDataset),
        regions: Cow<'a, [IndexBox]>,
        starts: Vec<u64>,
    ) -> Self {
        let chunks = ChunkOffsets::new(stored, &regions);
        Self { current: *current, stored, regions, starts, chunks, number }
    }

    /// The boxes, and where each begins in memory.
    pub fn places(&self) -> impl Iterator<Item = (&IndexBox, u64)> {
        self.regions.iter().zip(self.starts.iter().copied())
    }

    /// Whether uncompressed rows go to memory that is not contiguous.
    pub fn is_scattered(&self, room: &BoxBuffers<'_>) -> bool {
        self.stored.elements == ElementKind::Rows && !self.current.decoded && room.is_separate()
    }

    /// The boxes in parts of at most about `most` bytes, each with its place in memory.
    pub fn batches(&self, most: u64) -> Result<impl Iterator<Item = (IndexBox, u64)>> {
        let item_bytes = self.stored.dataset.data_type.item_bytes();
        let grids =
            self.places().map(|place| Ok((ChunkGrid::of_runs(&place.0.count, item_bytes, most)?, place)));
        let grids: Result<Vec<_>> = grids.collect();
        Ok(grids?.into_iter().flat_map(move |(grid, (region, mut to))| {
            (0..grid.chunks()).map(move |number| {
                let mut batch = grid.region_of(number);
                let (place, items) = (to, batch.count.iter().product::<u64>());
                to += items * item_bytes;
                batch.start.iter_mut().zip(&region.start).for_each(|(start, first)| *start += first);
                (batch, place)
            })
        }))
    }

    /// The runs of bytes to copy from a chunk for one box.
    pub fn runs(&self, chunk: u64, index: usize) -> impl Iterator<Item = CommonRun> + use<> {
        let StoredDataset { dataset, grid, .. } = self.stored;
        let (region, start) = (&self.regions[index], self.starts[index]);
        let item_bytes = dataset.data_type.item_bytes();
        let own = grid.region_of(chunk);
        let both = own.intersection(region).unwrap_or_default();
        let within = |region: &IndexBox| -> Vec<u64> {
            both.start.iter().zip(&region.start).map(|(inner, outer)| inner - outer).collect()
        };
        let from = (grid.chunk_shape(), &*within(&own));
        let runs = Runs::new(&both.count, from, (&region.count, &within(region)));
        runs.map(move |run| bytes_of(run, item_bytes, start))
    }
}

/// The parts of boxes within some rows, relative to the first of them, and where each part begins in memory.
/// Empty parts are left out.
fn rows_of(
    regions: &[IndexBox],
    starts: &[u64],
    item_bytes: u64,
    rows: Range<u64>,
) -> Result<(Vec<IndexBox>, Vec<u64>)> {
    let (mut parts, mut places) = (Vec::new(), Vec::new());
    for (region, &start) in regions.iter().zip(starts) {
        let (Some(&first), Some(&count)) = (region.start.first(), region.count.first()) else { continue };
        let (begin, end) = (first.max(rows.start), (first + count).min(rows.end));
        let items = region.items()?;
        if begin < end && items > 0 {
            let mut part = region.clone();
            (part.start[0], part.count[0]) = (begin - rows.start, end - begin);
            reserve_count(&mut parts, 1)?;
            reserve_count(&mut places, 1)?;
            parts.push(part);
            // Rows are contiguous in memory.
            places.push(start + (begin - first) * (items / count) * item_bytes);
        }
    }
    Ok((parts, places))
}

/// Returns an error if this library cannot read the data.
fn require_supported(dataset: &Dataset, start: u64) -> Result<()> {
    let Some(why) = &dataset.unsupported else { return Ok(()) };
    let message = format!("dataset \"{}\": found {why}, which this library cannot read", dataset.name);
    Err(Error::new(ErrorKind::Unsupported, message).at(start))
}

/// The error for a byte that is not a bool, at byte `place` of the data read.
#[cold]
fn no_bool(dataset: &Dataset, regions: &[IndexBox], starts: &[u64], place: u64, byte: u8) -> Error {
    let region = starts.partition_point(|&start| start <= place).saturating_sub(1);
    let index = regions[region].index_of((place - starts[region]) / dataset.data_type.item_bytes());
    let name = &dataset.name;
    Error::new(
        ErrorKind::Decode,
        format!("dataset \"{name}\": item {index:?}: found the bool {byte}, expected 0 or 1"),
    )
}

/// Converts a run of items to a run of bytes, for a box that begins at `start`.
pub(super) fn bytes_of(run: CommonRun, item_bytes: u64, start: u64) -> CommonRun {
    CommonRun { from: run.from * item_bytes, to: start + run.to * item_bytes, items: run.items * item_bytes }
}
