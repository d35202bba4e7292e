//! The items of a box in the user's memory, with a stride for each dimension.
//!
//! Codes with ghost layers, interleaved variables or structs need not copy their data first: items are
//! gathered for writing, and scattered after reading, some at a time, through a buffer in which they are in C
//! order.

mod convert;
mod places;
#[cfg(test)]
mod tests;

use self::convert::Conversion;
use self::places::Places;
pub(crate) use self::places::in_memory;
use scda_base::error::{Error, Result};
use scda_base::floats::in_default;
use scda_base::numbers::to_usize;
use scda_codec::chunk::swap_items;
use scda_format::dataset::{DataType, Dataset, IndexBox, fill};
use std::marker::PhantomData;
use std::slice;

/// Returns an error unless there is memory for each box.
pub(crate) fn check_memories(found: usize, regions: &[IndexBox]) -> Result<()> {
    let expected = regions.len();
    if found == expected {
        return Ok(());
    }
    Err(Error::argument(format!("data: found memory for {found} boxes, expected {expected}")))
}

/// Where the items of a box that is written are in memory: in C order, or with a stride for each dimension.
/// They have the machine's byte order, and the type of the dataset or [another one](Self::of_type).
///
/// ```
/// use scda::{Data, DataType, Dataset, Memory, WriteOptions, IndexBox, Solo, Writer};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("block.scda");
/// // 2 × 3 cells with a layer of ghost cells around them: 4 × 5 numbers of 8 bytes.
/// let block = vec![0; 4 * 5 * 8];
/// let interior = Memory::strided(&block, (5 + 1) * 8, &[5 * 8, 8]);
///
/// let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default())?;
/// let density = Dataset::new("density", DataType::Float64, [2, 3]);
/// file.dataset(&density, &[IndexBox::all(&[2, 3])], Data::Boxes(&[interior]))?;
/// file.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    first: *const u8,
    room: MemoryBounds,
    strides: Option<&'a [i64]>,
    shape: Option<&'a [u64]>,
    /// The type of the items in memory; `None` if it is that of the dataset.
    data_type: Option<DataType>,
    memory: PhantomData<&'a [u8]>,
}

/// Where the items of a box that is read go: like [`Memory`].
#[derive(Debug)]
pub struct MemoryMut<'a> {
    /// Made from a pointer through which memory may be written.
    memory: Memory<'a>,
    alone: PhantomData<&'a mut [u8]>,
}

/// The items of boxes to be written.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// One box after the other, each in C order.
    Packed(&'a [u8]),
    /// Each box in memory of its own.
    Boxes(&'a [Memory<'a>]),
}

/// Memory for the items of boxes that are read.
#[derive(Debug)]
pub enum DataMut<'a> {
    /// One box after the other, each in C order.
    Packed(&'a mut [u8]),
    /// Each box in memory of its own.
    Boxes(Vec<MemoryMut<'a>>),
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Data<'a> {
    fn from(data: &'a T) -> Self {
        Self::Packed(data.as_ref())
    }
}

impl<'a, T: AsMut<[u8]> + ?Sized> From<&'a mut T> for DataMut<'a> {
    fn from(data: &'a mut T) -> Self {
        Self::Packed(data.as_mut())
    }
}

/// The number of bytes that are swapped at a time before conversion.
const SWAPPED_BYTES: usize = 4096;

/// The bytes of the largest number, which is complex.
const MOST_NUMBER_BYTES: usize = 16;

/// Which memory the items may use.
#[derive(Clone, Copy, Debug)]
enum MemoryBounds {
    /// `all` bytes, of which `before` precede the first item.
    Bytes { before: usize, all: usize },
    /// Any: the caller that passed the address guarantees it.
    Promised,
}

/// The items of a box in memory, to be read from there.
#[derive(Clone, Debug)]
pub(crate) struct Items<'a> {
    first: *const u8,
    places: Places,
    in_file: InFile,
    memory: PhantomData<&'a [u8]>,
}

/// Memory for the items of a box, to be written there.
#[derive(Debug)]
pub(crate) struct ItemsMut<'a> {
    items: Items<'a>,
    /// The first item scattered so far whose value does not fit the type in memory.
    misfit: Option<Misfit>,
    alone: PhantomData<&'a mut [u8]>,
}

/// An item whose value the type on the other side, memory or file, cannot represent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// Its number in the box.
    pub item: u64,
    /// The value, and the other type.
    words: String,
}

impl Misfit {
    /// The error for the item, which has this index in the dataset.
    #[cold]
    pub fn error(&self, dataset: &Dataset, index: &[u64]) -> Error {
        let (title, data_type, words) = (dataset.title(), dataset.data_type, &self.words);
        Error::range(format!("{title} of {data_type}: item {index:?}: {words}"))
    }
}

/// The items of a box as stored in the file.
#[derive(Clone, Debug)]
struct InFile {
    item_bytes: usize,
    data_type: DataType,
    in_memory: DataType,
    /// The conversion between the types in memory and in the file, if they differ.
    conversion: Option<Conversion>,
}

// SAFETY: `Memory` is only read through, like the `&[u8]` that it represents.
#[allow(unsafe_code)]
unsafe impl Send for Memory<'_> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Memory<'_> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Send for Items<'_> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Items<'_> {}

impl<'a> Memory<'a> {
    /// Items in C order that fill `data`.
    #[must_use]
    pub fn packed(data: &'a [u8]) -> Self {
        Self::within(data, 0, None)
    }

    /// Items of which the first is at byte `first` of `data`. In each dimension, the next item is the stride
    /// further, in bytes; it may be negative or 0.
    #[must_use]
    pub fn strided(data: &'a [u8], first: usize, strides: &'a [i64]) -> Self {
        Self::within(data, first, Some(strides))
    }

    fn within(data: &'a [u8], before: usize, strides: Option<&'a [i64]>) -> Self {
        let room = MemoryBounds::Bytes { before, all: data.len() };
        Self::new(data.as_ptr().wrapping_add(before), room, strides)
    }

    fn new(first: *const u8, room: MemoryBounds, strides: Option<&'a [i64]>) -> Self {
        Self { first, room, strides, shape: None, data_type: None, memory: PhantomData }
    }

    /// Items of which the first is at an address. Without strides they are in C order.
    ///
    /// # Safety
    /// All items of the box for which this is used may be read during the lifetime, and nobody changes them.
    #[allow(unsafe_code)]
    pub unsafe fn at(first: *const u8, strides: Option<&'a [i64]>) -> Self {
        Self::new(first, MemoryBounds::Promised, strides)
    }

    /// The items of the box are those of an array with this shape, which has as many items and a stride for
    /// each of its dimensions. An example is a patch whose cells are part of the only dimension of a dataset
    /// of all cells.
    #[must_use]
    pub fn shaped(self, shape: &'a [u64]) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// The items have this type in memory, and are converted to that of the dataset when they are written:
    /// integers and floating-point numbers to one another, or complex numbers to one another. Conversion to
    /// floating-point numbers rounds to the nearest one; conversion of these to integers truncates. A number
    /// that does not fit is the error `Range`.
    ///
    /// ```
    /// # use scda::{Data, DataType, Dataset, Memory, WriteOptions, IndexBox, Solo, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("single.scda");
    /// # let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default())?;
    /// let computed: Vec<u8> = [0.1_f64, 0.2].iter().flat_map(|number| number.to_ne_bytes()).collect();
    /// let memory = Memory::packed(&computed).of_type(DataType::Float64);
    /// let stored = Dataset::new("single", DataType::Float32, [2]);
    /// file.dataset(&stored, &[IndexBox::all(&[2])], Data::Boxes(&[memory]))?;
    /// # file.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_type(self, data_type: DataType) -> Self {
        Self { data_type: Some(data_type), ..self }
    }

    /// The items of a box with these counts, which have this type in the file.
    ///
    /// # Errors
    /// `Argument` for NULL, a wrong number of strides, items outside the memory, and types that cannot be
    /// converted; `Range` for sizes that no memory has.
    pub(crate) fn items(&self, count: &[u64], in_file: DataType) -> Result<Items<'a>> {
        self.items_by(count, in_file, Conversion::new)
    }

    /// The items, and the conversion between the types in memory and in the file.
    fn items_by(
        &self,
        count: &[u64],
        in_file: DataType,
        conversion: impl FnOnce(DataType, DataType) -> Result<Option<Conversion>>,
    ) -> Result<Items<'a>> {
        let data_type = self.data_type.unwrap_or(in_file);
        let places = Places::new(in_memory(self.shape, count)?, self.strides, data_type.item_bytes())?;
        self.room.check(&places, self.first as usize, self.strides.is_some())?;
        let in_file = InFile::new(in_file, data_type, conversion(data_type, in_file)?);
        Ok(Items { first: self.first, places, in_file, memory: PhantomData })
    }
}

impl<'a> MemoryMut<'a> {
    /// Items in C order that will fill `data`.
    #[must_use]
    pub fn packed(data: &'a mut [u8]) -> Self {
        Self::within(data, 0, None)
    }

    /// Items of which the first goes to byte `first` of `data`. In each dimension, the next item is the
    /// stride further, in bytes; it may be negative.
    #[must_use]
    pub fn strided(data: &'a mut [u8], first: usize, strides: &'a [i64]) -> Self {
        Self::within(data, first, Some(strides))
    }

    fn within(data: &'a mut [u8], before: usize, strides: Option<&'a [i64]>) -> Self {
        let room = MemoryBounds::Bytes { before, all: data.len() };
        Self::of(Memory::new(data.as_mut_ptr().wrapping_add(before), room, strides))
    }

    fn of(memory: Memory<'a>) -> Self {
        Self { memory, alone: PhantomData }
    }

    /// Items of which the first goes to an address. Without strides they are in C order.
    ///
    /// # Safety
    /// All items of the box for which this is used may be written during the lifetime, and nobody else reads
    /// or writes them.
    #[allow(unsafe_code)]
    pub unsafe fn at(first: *mut u8, strides: Option<&'a [i64]>) -> Self {
        Self::of(Memory::new(first, MemoryBounds::Promised, strides))
    }

    /// Like [`Memory::shaped`].
    #[must_use]
    pub fn shaped(self, shape: &'a [u64]) -> Self {
        Self::of(self.memory.shaped(shape))
    }

    /// The items have this type in memory, to which they are converted from that of the dataset, as by
    /// [`Memory::of_type`].
    #[must_use]
    pub fn of_type(self, data_type: DataType) -> Self {
        Self::of(self.memory.of_type(data_type))
    }

    /// Like [`Memory::items`].
    ///
    /// # Errors
    /// Also `Argument` for items that overlap.
    pub(crate) fn items(self, count: &[u64], in_file: DataType) -> Result<ItemsMut<'a>> {
        let items = self.memory.items_by(count, in_file, |memory, file| Conversion::new(file, memory))?;
        items.places.check_distinct()?;
        Ok(ItemsMut { items, misfit: None, alone: PhantomData })
    }
}

impl InFile {
    fn new(data_type: DataType, in_memory: DataType, conversion: Option<Conversion>) -> Self {
        Self { item_bytes: to_usize(data_type.item_bytes()), data_type, in_memory, conversion }
    }

    /// The misfit for this item of a box, of type `from`.
    ///
    /// # Safety
    /// The item may be read at this place.
    #[cold]
    #[allow(unsafe_code)]
    unsafe fn misfit(item: u64, place: *const u8, from: DataType, to: DataType) -> Misfit {
        let mut bytes = [0; MOST_NUMBER_BYTES];
        let Some(bytes) =
            bytes.get_mut(..to_usize(from.item_bytes())).filter(|_| !matches!(from, DataType::Struct(_)))
        else {
            return Misfit {
                item,
                words: "a member does not fit the type that it is converted to".to_owned(),
            };
        };
        // SAFETY: as the caller promises.
        unsafe { place.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        if cfg!(target_endian = "big") {
            swap_items(bytes, from);
        }
        Misfit { item, words: format!("found {}, which does not fit {to}", fill::to_json(from, bytes)) }
    }

    /// Whether the items have the same bytes in memory as in the file.
    fn is_in_memory(&self, places: &Places) -> bool {
        self.conversion.is_none() && places.is_packed()
    }
}

impl MemoryBounds {
    fn check(self, places: &Places, address: usize, is_strided: bool) -> Result<()> {
        match self {
            Self::Promised if address == 0 && places.items() > 0 => {
                Err(Error::argument(format!("data of a box: NULL for {} items", places.items())))
            }
            // No memory is larger than the address space.
            Self::Promised => places.check(address, usize::MAX),
            Self::Bytes { all, .. } if !is_strided && all as u64 != places.bytes() => {
                Err(Error::argument(format!("data: found {all} bytes, expected {}", places.bytes())))
            }
            Self::Bytes { before, all } => places.check(before, all),
        }
    }
}

impl<'a> Items<'a> {
    /// Their size in the file, in bytes.
    pub fn bytes(&self) -> u64 {
        self.places.items() * self.in_file.item_bytes as u64
    }

    /// Whether some value may not fit the type in the file; [`Self::gather`] finds out.
    pub fn may_misfit(&self) -> bool {
        self.in_file.conversion.as_ref().is_some_and(|conversion| !conversion.always_fits())
    }

    /// The memory of the items, if it has the same bytes as the file.
    #[allow(unsafe_code)]
    pub fn packed(&self) -> Option<&'a [u8]> {
        if self.bytes() == 0 {
            return Some(&[]);
        }
        // SAFETY: all items were checked to be in memory that may be read during the lifetime, or this was
        // promised; they are consecutive.
        self.in_file
            .is_in_memory(&self.places)
            .then(|| unsafe { slice::from_raw_parts(self.first, to_usize(self.bytes())) })
    }

    /// Like [`Self::gather`], beginning at a byte of the file.
    pub fn gather_bytes(&self, start: u64, out: &mut [u8]) -> Option<Misfit> {
        self.gather(start / self.in_file.item_bytes as u64, out)
    }

    /// Copies items in C order from item `number` on, as many as fit `out`, in the type of the file. The box
    /// must have them. Returns the first one that does not fit this type.
    pub fn gather(&self, number: u64, out: &mut [u8]) -> Option<Misfit> {
        match &self.in_file.conversion {
            Some(conversion) if conversion.has_floats() => in_default(|| self.gather_rows(number, out)),
            _ => self.gather_rows(number, out),
        }
    }

    #[allow(unsafe_code)]
    fn gather_rows(&self, number: u64, out: &mut [u8]) -> Option<Misfit> {
        let item = self.in_file.item_bytes;
        let items = out.len() / item;
        debug_assert!(number + items as u64 <= self.places.items());
        let (step, mut misfit) = (self.places.step(), None);
        self.places.rows(number, items, |row, before| {
            let from = (self.first.wrapping_offset(row.place), step);
            let to = (out[before * item..(before + row.items) * item].as_mut_ptr(), item.cast_signed());
            match &self.in_file.conversion {
                // SAFETY: the items of the box may be read, and `out` has room for the row.
                None => unsafe { copy_row(from, to, row.items, item) },
                // SAFETY: as above.
                Some(conversion) => unsafe { conversion.row(from, to, row.items) }.map_or((), |place| {
                    let (item, types) = (number + (before + place) as u64, &self.in_file);
                    let place = from.0.wrapping_offset(place.cast_signed() * from.1);
                    // SAFETY: as above.
                    misfit.get_or_insert_with(|| unsafe {
                        InFile::misfit(item, place, types.in_memory, types.data_type)
                    });
                }),
            }
        });
        misfit
    }
}

impl ItemsMut<'_> {
    /// The items, for reading. All of them must have been written.
    pub fn as_items(&self) -> &Items<'_> {
        &self.items
    }

    /// Their size in the file, in bytes.
    pub fn bytes(&self) -> u64 {
        self.items.bytes()
    }

    /// Whether they have another type in memory. They then have the machine's byte order once they are
    /// scattered.
    pub fn are_converted(&self) -> bool {
        self.items.in_file.conversion.is_some()
    }

    /// The first item scattered so far whose value does not fit the type in memory.
    pub fn misfit(&self) -> Option<&Misfit> {
        self.misfit.as_ref()
    }

    /// Whether they have the same bytes in memory as in the file.
    pub fn are_packed(&self) -> bool {
        self.items.in_file.is_in_memory(&self.items.places)
    }

    /// The memory of all items, if it has the same bytes as the file.
    #[allow(unsafe_code)]
    pub fn packed(&mut self) -> Option<&mut [u8]> {
        if self.bytes() == 0 {
            return Some(&mut []);
        }
        let bytes = to_usize(self.bytes());
        // SAFETY: all items were checked to be in memory that may be written, or this was promised; they are
        // consecutive.
        self.are_packed().then(|| unsafe { slice::from_raw_parts_mut(self.items.first.cast_mut(), bytes) })
    }

    /// Copies the items in `data` to their places, in C order from item `number` on. The box must have them.
    /// With `is_swapped`, the numbers in `data` have the byte order of another machine; only items that are
    /// converted may have it.
    pub fn scatter(&mut self, number: u64, data: &[u8], is_swapped: bool) {
        let item = self.items.in_file.item_bytes;
        if is_swapped && self.are_converted() {
            let most = (SWAPPED_BYTES / item).max(1) * item;
            for (n, data) in data.chunks(most).enumerate() {
                let mut batch = data.to_vec();
                swap_items(&mut batch, self.items.in_file.data_type);
                self.scatter(number + (n * most / item) as u64, &batch, false);
            }
            return;
        }
        match &self.items.in_file.conversion {
            Some(conversion) if conversion.has_floats() => in_default(|| self.scatter_rows(number, data)),
            _ => self.scatter_rows(number, data),
        }
    }

    #[allow(unsafe_code)]
    fn scatter_rows(&mut self, number: u64, data: &[u8]) {
        let item = self.items.in_file.item_bytes;
        let items = data.len() / item;
        debug_assert!(number + items as u64 <= self.items.places.items());
        let (first, step, conversion) =
            (self.items.first.cast_mut(), self.items.places.step(), &self.items.in_file.conversion);
        let (types, mut misfit) = (&self.items.in_file, self.misfit.take());
        self.items.places.rows(number, items, |row, before| {
            let from = (data[before * item..(before + row.items) * item].as_ptr(), item.cast_signed());
            let to = (first.wrapping_offset(row.place), step);
            match conversion {
                // SAFETY: the items of the box may be written, and `data` has the row.
                None => unsafe { copy_row(from, to, row.items, item) },
                // SAFETY: as above.
                Some(conversion) => unsafe { conversion.row(from, to, row.items) }.map_or((), |place| {
                    let item = number + (before + place) as u64;
                    if misfit.as_ref().is_none_or(|least: &Misfit| item < least.item) {
                        let place = from.0.wrapping_offset(place.cast_signed() * from.1);
                        // SAFETY: as above.
                        misfit =
                            Some(unsafe { InFile::misfit(item, place, types.data_type, types.in_memory) });
                    }
                }),
            }
        });
        self.misfit = misfit;
    }
}

/// Copies items of `item_bytes` bytes from one stride to another.
///
/// # Safety
/// All items may be read and written there, and none that is read is written.
#[allow(unsafe_code)]
unsafe fn copy_row(from: (*const u8, isize), to: (*mut u8, isize), items: usize, item_bytes: usize) {
    if (from.1, to.1) == (item_bytes.cast_signed(), item_bytes.cast_signed()) {
        // SAFETY: the items are consecutive on both sides.
        return unsafe { from.0.copy_to_nonoverlapping(to.0, items * item_bytes) };
    }
    match item_bytes {
        // SAFETY: as the caller promises.
        1 => unsafe { copy_each::<[u8; 1]>(from, to, items) },
        // SAFETY: as the caller promises.
        2 => unsafe { copy_each::<[u8; 2]>(from, to, items) },
        // SAFETY: as the caller promises.
        4 => unsafe { copy_each::<[u8; 4]>(from, to, items) },
        // SAFETY: as the caller promises.
        8 => unsafe { copy_each::<[u8; 8]>(from, to, items) },
        // SAFETY: as the caller promises.
        16 => unsafe { copy_each::<[u8; 16]>(from, to, items) },
        _ => {
            for n in 0..items.cast_signed() {
                let (from, to) = (from.0.wrapping_offset(n * from.1), to.0.wrapping_offset(n * to.1));
                // SAFETY: as the caller promises.
                unsafe { from.copy_to_nonoverlapping(to, item_bytes) };
            }
        }
    }
}

/// Like [`copy_row`], for items of the size of T, which has no alignment.
///
/// # Safety
/// That of [`copy_row`].
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn copy_each<T: Copy>(from: (*const u8, isize), to: (*mut u8, isize), items: usize) {
    for n in 0..items.cast_signed() {
        let (from, to) = (from.0.wrapping_offset(n * from.1), to.0.wrapping_offset(n * to.1));
        // SAFETY: as the caller promises.
        let item = unsafe { from.cast::<T>().read_unaligned() };
        // SAFETY: as the caller promises.
        unsafe { to.cast::<T>().write_unaligned(item) };
    }
}
