//! The selection that a rank reads of a dataset: boxes, and where each goes in memory.

use super::AddedRows;
use super::box_buffers::BoxBuffers;
use super::chunk_offsets::ChunkOffsets;
use crate::file::limits::Limits;
use crate::file::reader::Section;
use crate::file::reader::sections::{CurrentSection, exceeds_63_bits};
use crate::items::DataMut;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve, reserve_count};
use scda_codec::chunk::swap_items;
use scda_format::dataset::bools::{find_other_item, has_bools};
use scda_format::dataset::stored_dataset::{ElementKind, StoredDataset};
use scda_format::dataset::{ChunkGrid, CommonRun, Dataset, IndexBox, Runs, does_not_fit};
use scda_format::layout::sum;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A dataset that was found, and where its data are.
pub(in crate::file::reader) struct OpenDataset {
    /// With the shape of all rows, and else what the section of its own data has.
    pub stored: StoredDataset,
    /// The block of its metadata.
    pub metadata: Section,
    /// The section of its own data.
    pub data: Section,
    pub current: CurrentSection,
    /// Where attributes stand that were set later.
    pub later: Option<u64>,
    /// The sections with rows that were added later, in their order.
    pub added: Arc<[RowSection]>,
}

/// A section with rows that were added to a dataset.
pub(in crate::file::reader) struct RowSection {
    /// Of these rows alone.
    pub stored: Box<StoredDataset>,
    pub current: CurrentSection,
    /// Where its metadata begin.
    pub metadata: u64,
    /// Where the section itself begins.
    pub data: u64,
    /// The first of its rows.
    pub first: u64,
}

impl RowSection {
    pub fn described(&self) -> AddedRows {
        let Self { metadata, data, first, ref stored, .. } = *self;
        AddedRows { metadata, data, first, dataset: stored.dataset.clone() }
    }

    /// The memory that it takes, nearly.
    pub fn bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.stored.bytes()
    }

    /// The row after its last one, which has 63 bits.
    pub fn end(&self) -> u64 {
        self.first + self.stored.dataset.shape.first().copied().unwrap_or(0)
    }
}

impl OpenDataset {
    /// Where the section of its own data begins.
    pub fn start(&self) -> u64 {
        self.data.offset
    }

    /// What the sections of its data have, in their order.
    pub fn all_stored(&self) -> impl Iterator<Item = &StoredDataset> {
        let added = self.added.iter().map(|section| &*section.stored);
        std::iter::once(&self.stored).chain(added)
    }
}

/// Where the bytes of the boxes of a dataset begin in memory, each in C order.
pub(super) struct BoxPlaces {
    starts: Vec<u64>,
    /// Of all boxes.
    pub bytes: u64,
}

impl BoxPlaces {
    /// # Errors
    /// `Unsupported`; `Argument` for boxes that do not lie in the array; `Range`; `Memory`.
    fn new(dataset: &Dataset, regions: &[IndexBox]) -> Result<Self> {
        let item_bytes = dataset.data_type.item_bytes();
        let (mut starts, mut bytes) = (Vec::new(), 0);
        reserve(&mut starts, regions.len())?;
        for (number, region) in regions.iter().enumerate() {
            dataset.check_region(number, region)?;
            starts.push(bytes);
            // That of a box is bounded by that of the dataset.
            bytes = sum(bytes, region.items()? * item_bytes).ok_or_else(|| exceeds_63_bits(&[bytes]))?;
        }
        Ok(Self { starts, bytes })
    }
}

/// What a rank reads of a dataset, and the memory for it.
pub(super) struct Destination<'a, 'b> {
    open: &'a OpenDataset,
    regions: &'a [IndexBox],
    places: BoxPlaces,
    pub room: BoxBuffers<'b>,
}

impl<'a, 'b> Destination<'a, 'b> {
    /// Also what is read of each section of the dataset, which is the one of this number among those that are read together.
    ///
    /// # Errors
    /// `Unsupported`; `Argument` for boxes that do not lie in the array, or memory that does not fit them; `Range`; `Memory`.
    pub fn new(
        number: usize,
        open: &'a OpenDataset,
        (regions, memory): (&'a [IndexBox], DataMut<'b>),
        limits: &Limits,
    ) -> Result<(Self, Vec<Selection<'a>>)> {
        let (selections, places) = Selection::of_sections(number, open, regions)?;
        let StoredDataset { dataset, codecs, .. } = &open.stored;
        dataset.require_fixed()?;
        let as_stored = (dataset.data_type, codecs.big_endian != cfg!(target_endian = "big"));
        let room = BoxBuffers::new(memory, regions, &places.starts, places.bytes, as_stored, limits)
            .map_err(|error| error.of(&format!("dataset \"{}\"", dataset.name)))?;
        Ok((Self { open, regions, places, room }, selections))
    }

    /// Turns what was read into numbers of this machine.
    pub fn finish(self) -> Result<()> {
        let Self { open, regions, places, mut room } = self;
        let (StoredDataset { dataset, codecs, .. }, start) = (&open.stored, open.start());
        if let Some((region, item)) = room.misfit() {
            let index = regions[region].index_of(item);
            return Err(does_not_fit(dataset, &index).at(start));
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
                return Err(no_bool(dataset, regions, &places.starts, place, byte).at(start));
            }
            Ok(())
        })
    }
}

/// What a rank reads of a section of a dataset.
pub(super) struct Selection<'a> {
    pub current: CurrentSection,
    pub stored: &'a StoredDataset,
    /// As if the section were all of the dataset.
    pub regions: Cow<'a, [IndexBox]>,
    /// Where each box begins in memory.
    starts: Vec<u64>,
    pub chunks: ChunkOffsets,
    /// Which of the datasets that are read together it is of.
    pub number: usize,
}

impl<'a> Selection<'a> {
    /// What is read of each section of a dataset, which is the one of this number among those that are read together.
    ///
    /// # Errors
    /// `Unsupported`; `Argument` for boxes that do not lie in the array; `Range`; `Memory`.
    pub fn of_sections(
        number: usize,
        open: &'a OpenDataset,
        regions: &'a [IndexBox],
    ) -> Result<(Vec<Self>, BoxPlaces)> {
        let OpenDataset { stored, current, added, .. } = open;
        require_supported(&stored.dataset, open.start())?;
        let places = BoxPlaces::new(&stored.dataset, regions)?;
        let mut all = Vec::new();
        reserve(&mut all, 1 + added.len())?;
        let Some(first) = added.first().map(|section| section.first) else {
            all.push(Self::new(number, (current, stored), regions.into(), places.starts.clone()));
            return Ok((all, places));
        };
        let item_bytes = stored.dataset.data_type.item_bytes();
        let rows_of = |rows: Range<u64>| rows_of(regions, &places.starts, item_bytes, rows);
        let (own, starts) = rows_of(0..first)?;
        all.push(Self::new(number, (current, stored), own.into(), starts));
        for section in &**added {
            let (own, starts) = rows_of(section.first..section.end())?;
            // Chunks of all sections have numbers that the ranks have in common.
            if own.is_empty() && section.stored.elements == ElementKind::Rows {
                continue;
            }
            if !own.is_empty() {
                require_supported(&section.stored.dataset, section.data)?;
            }
            all.push(Self::new(number, (&section.current, &section.stored), own.into(), starts));
        }
        Ok((all, places))
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

    /// The boxes, and where each is in memory.
    pub fn places(&self) -> impl Iterator<Item = (&IndexBox, u64)> {
        self.regions.iter().zip(self.starts.iter().copied())
    }

    /// Whether rows that are plain in the file go to memory where they do not follow one another.
    pub fn is_scattered(&self, room: &BoxBuffers<'_>) -> bool {
        self.stored.elements == ElementKind::Rows && !self.current.decoded && room.is_separate()
    }

    /// The boxes in strips of at most about `most` bytes, each with its place in memory.
    pub fn strips(&self, most: u64) -> Result<impl Iterator<Item = (IndexBox, u64)>> {
        let item_bytes = self.stored.dataset.data_type.item_bytes();
        let grids =
            self.places().map(|place| Ok((ChunkGrid::of_runs(&place.0.count, item_bytes, most)?, place)));
        let grids: Result<Vec<_>> = grids.collect();
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

    /// The runs of bytes that a box has of a chunk: from the chunk to memory.
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

/// The parts of boxes in some rows, as if there were no others, and where each begins in memory: those that have items.
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
            // Rows follow one another in memory.
            places.push(start + (begin - first) * (items / count) * item_bytes);
        }
    }
    Ok((parts, places))
}

/// An error if this library cannot read the data.
fn require_supported(dataset: &Dataset, start: u64) -> Result<()> {
    let Some(why) = &dataset.unsupported else { return Ok(()) };
    let message = format!("dataset \"{}\": found {why}, which this library cannot read", dataset.name);
    Err(Error::new(ErrorKind::Unsupported, message).at(start))
}

/// A byte that is no bool, in the item at this byte of what was read.
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

/// A run of items as one of bytes, which goes to a box that begins there.
pub(super) fn bytes_of(run: CommonRun, item_bytes: u64, start: u64) -> CommonRun {
    CommonRun { from: run.from * item_bytes, to: start + run.to * item_bytes, items: run.items * item_bytes }
}
