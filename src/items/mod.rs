//! The items of a box in the user's memory: each dimension has its own stride.
//!
//! Codes with ghost layers, interleaved variables or structs need no copy for it: what is written is gathered, and what is read
//! is scattered, a part at a time, between this memory and a buffer in which the items lie in C order.

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
use scda_format::dataset::DataType;
use std::marker::PhantomData;
use std::slice;

/// Where the items of a box lie in memory, to be written: in C order, or with a stride of its own for each dimension, in the machine's byte
/// order, as items of the dataset's type or of [another](Self::of_type).
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
    /// That of the items in memory; `None`: that of the dataset.
    data_type: Option<DataType>,
    memory: PhantomData<&'a [u8]>,
}

/// Where the items of a box go to that is read: as [`Memory`].
#[derive(Debug)]
pub struct MemoryMut<'a> {
    /// Its pointer was made of one that may write.
    memory: Memory<'a>,
    alone: PhantomData<&'a mut [u8]>,
}

/// The items of boxes, to be written.
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

/// The bytes of items to convert that are swapped at once.
const SWAPPED_BYTES: usize = 4096;

/// Which items lie in the memory.
#[derive(Clone, Copy, Debug)]
enum MemoryBounds {
    /// Those in `all` bytes, of which `before` are before the first item.
    Bytes { before: usize, all: usize },
    /// All: the caller that gave the address promises it.
    Promised,
}

/// The items of a box in memory.
#[derive(Clone, Debug)]
pub(crate) struct Items<'a> {
    first: *const u8,
    places: Places,
    in_file: InFile,
    memory: PhantomData<&'a [u8]>,
}

/// Memory for the items of a box.
#[derive(Debug)]
pub(crate) struct ItemsMut<'a> {
    items: Items<'a>,
    /// The first item that was scattered and has no number of the type in memory.
    misfit: Option<u64>,
    alone: PhantomData<&'a mut [u8]>,
}

/// The items of a box as they are in the file.
#[derive(Clone, Debug)]
struct InFile {
    item_bytes: usize,
    data_type: DataType,
    /// Between the types in memory and in the file, if they are not the same.
    conversion: Option<Conversion>,
}

// SAFETY: Memory reads only, as `&[u8]`, for which it stands.
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
    /// The items lie in C order, and are all of `data`.
    #[must_use]
    pub fn packed(data: &'a [u8]) -> Self {
        Self::within(data, 0, None)
    }

    /// The first item lies at byte `first` of `data`, and the next one of each dimension its stride in bytes further, which may be
    /// negative or 0.
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

    /// The first item lies at an address. Without strides they lie in C order.
    ///
    /// # Safety
    /// All items of the box for which this is used may be read for the lifetime, and nobody changes them.
    #[allow(unsafe_code)]
    pub unsafe fn at(first: *const u8, strides: Option<&'a [i64]>) -> Self {
        Self::new(first, MemoryBounds::Promised, strides)
    }

    /// The items lie as those of an array of this shape, which has as many, and a stride for each of its dimensions: such as the
    /// cells of a patch, which are one dimension of a dataset with all cells.
    #[must_use]
    pub fn shaped(self, shape: &'a [u64]) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// In memory, the items have this type, and are converted to that of the dataset when they are written: integers and floating-point
    /// numbers to one another, or complex numbers. Floating-point numbers become the nearest one, integers stay, and of floating-point numbers that
    /// become integers the integer part is taken. `Range` is the error for a number that does not fit.
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

    /// The items of a box with this number of indices in each dimension, which have this type in the file.
    ///
    /// # Errors
    /// `Argument` for NULL, strides of another number, items outside of the memory, and types that cannot be converted; `Range` for what no
    /// memory holds.
    pub(crate) fn items(&self, count: &[u64], in_file: DataType) -> Result<Items<'a>> {
        self.items_by(count, in_file, Conversion::new)
    }

    /// The items, with what converts between the types in memory and in the file.
    fn items_by(
        &self,
        count: &[u64],
        in_file: DataType,
        conversion: impl FnOnce(DataType, DataType) -> Result<Option<Conversion>>,
    ) -> Result<Items<'a>> {
        let data_type = self.data_type.unwrap_or(in_file);
        let places = Places::new(in_memory(self.shape, count)?, self.strides, data_type.item_bytes())?;
        self.room.check(&places, self.first as usize, self.strides.is_some())?;
        let in_file = InFile::new(in_file, conversion(data_type, in_file)?);
        Ok(Items { first: self.first, places, in_file, memory: PhantomData })
    }
}

impl<'a> MemoryMut<'a> {
    /// The items go to all of `data`, in C order.
    #[must_use]
    pub fn packed(data: &'a mut [u8]) -> Self {
        Self::within(data, 0, None)
    }

    /// The first item goes to byte `first` of `data`, and the next one of each dimension its stride in bytes further, which may be
    /// negative.
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

    /// The first item goes to an address. Without strides they lie in C order.
    ///
    /// # Safety
    /// All items of the box for which this is used may be written for the lifetime, and nobody else reads or writes them.
    #[allow(unsafe_code)]
    pub unsafe fn at(first: *mut u8, strides: Option<&'a [i64]>) -> Self {
        Self::of(Memory::new(first, MemoryBounds::Promised, strides))
    }

    /// As [`Memory::shaped`].
    #[must_use]
    pub fn shaped(self, shape: &'a [u64]) -> Self {
        Self::of(self.memory.shaped(shape))
    }

    /// In memory, the items get this type, to which they are converted from that of the dataset, as by [`Memory::of_type`].
    #[must_use]
    pub fn of_type(self, data_type: DataType) -> Self {
        Self::of(self.memory.of_type(data_type))
    }

    /// As [`Memory::items`].
    ///
    /// # Errors
    /// Also `Argument` for items that lie on one another.
    pub(crate) fn items(self, count: &[u64], in_file: DataType) -> Result<ItemsMut<'a>> {
        let items = self.memory.items_by(count, in_file, |memory, file| Conversion::new(file, memory))?;
        items.places.check_distinct()?;
        Ok(ItemsMut { items, misfit: None, alone: PhantomData })
    }
}

impl InFile {
    fn new(data_type: DataType, conversion: Option<Conversion>) -> Self {
        Self { item_bytes: to_usize(data_type.item_bytes()), data_type, conversion }
    }

    /// Whether the items are the same bytes in memory and in the file.
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
            // No memory is larger than the addresses.
            Self::Promised => places.check(address, usize::MAX),
            Self::Bytes { all, .. } if !is_strided && all as u64 != places.bytes() => {
                Err(Error::argument(format!("data: found {all} bytes, expected {}", places.bytes())))
            }
            Self::Bytes { before, all } => places.check(before, all),
        }
    }
}

impl<'a> Items<'a> {
    /// Their bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.places.items() * self.in_file.item_bytes as u64
    }

    /// Whether there may be a number that none of the type in the file is for: [`Self::gather`] tells.
    pub fn may_misfit(&self) -> bool {
        self.in_file.conversion.as_ref().is_some_and(|conversion| !conversion.always_fits())
    }

    /// The items, if they lie one after the other as they are in the file.
    #[allow(unsafe_code)]
    pub fn packed(&self) -> Option<&'a [u8]> {
        if self.bytes() == 0 {
            return Some(&[]);
        }
        // SAFETY: all items were checked to lie in memory that may be read for the lifetime, or this was promised; they follow one
        // another.
        self.in_file
            .is_in_memory(&self.places)
            .then(|| unsafe { slice::from_raw_parts(self.first, to_usize(self.bytes())) })
    }

    /// As [`Self::gather`], from a byte of the file on.
    pub fn gather_bytes(&self, start: u64, out: &mut [u8]) -> Option<u64> {
        self.gather(start / self.in_file.item_bytes as u64, out)
    }

    /// Copies items from one on, in C order, as many as `out` has room for, in the type of the file. The box has them. Returns the first one
    /// that has no number of this type.
    pub fn gather(&self, number: u64, out: &mut [u8]) -> Option<u64> {
        match &self.in_file.conversion {
            Some(conversion) if conversion.has_floats() => in_default(|| self.gather_rows(number, out)),
            _ => self.gather_rows(number, out),
        }
    }

    #[allow(unsafe_code)]
    fn gather_rows(&self, number: u64, out: &mut [u8]) -> Option<u64> {
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
                    misfit.get_or_insert(number + (before + place) as u64);
                }),
            }
        });
        misfit
    }
}

impl ItemsMut<'_> {
    /// The items, to be read. All of them were written.
    pub fn as_items(&self) -> &Items<'_> {
        &self.items
    }

    /// Their bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.items.bytes()
    }

    /// Whether they have another type in memory. Then they have the byte order of the machine as soon as they are scattered.
    pub fn are_converted(&self) -> bool {
        self.items.in_file.conversion.is_some()
    }

    /// The first item that was scattered, of those that have no number of the type in memory.
    pub fn misfit(&self) -> Option<u64> {
        self.misfit
    }

    /// Whether they lie one after the other as they are in the file.
    pub fn are_packed(&self) -> bool {
        self.items.in_file.is_in_memory(&self.items.places)
    }

    /// The memory of all items, if they lie one after the other as they are in the file.
    #[allow(unsafe_code)]
    pub fn packed(&mut self) -> Option<&mut [u8]> {
        if self.bytes() == 0 {
            return Some(&mut []);
        }
        let bytes = to_usize(self.bytes());
        // SAFETY: all items were checked to lie in memory that may be written, or this was promised; they follow one another.
        self.are_packed().then(|| unsafe { slice::from_raw_parts_mut(self.items.first.cast_mut(), bytes) })
    }

    /// Copies items to their places, from one on, in C order, as many as `data` has. The box has them. Items that are converted may be
    /// swapped: their numbers in `data` have the byte order of another machine.
    pub fn scatter(&mut self, number: u64, data: &[u8], is_swapped: bool) {
        let item = self.items.in_file.item_bytes;
        if is_swapped && self.are_converted() {
            let most = (SWAPPED_BYTES / item).max(1) * item;
            for (n, data) in data.chunks(most).enumerate() {
                let mut piece = data.to_vec();
                swap_items(&mut piece, self.items.in_file.data_type);
                self.scatter(number + (n * most / item) as u64, &piece, false);
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
        let mut misfit = self.misfit;
        self.items.places.rows(number, items, |row, before| {
            let from = (data[before * item..(before + row.items) * item].as_ptr(), item.cast_signed());
            let to = (first.wrapping_offset(row.place), step);
            match conversion {
                // SAFETY: the items of the box may be written, and `data` has the row.
                None => unsafe { copy_row(from, to, row.items, item) },
                // SAFETY: as above.
                Some(conversion) => unsafe { conversion.row(from, to, row.items) }.map_or((), |place| {
                    let place = number + (before + place) as u64;
                    misfit = Some(misfit.map_or(place, |least| least.min(place)));
                }),
            }
        });
        self.misfit = misfit;
    }
}

/// Copies items of `item_bytes` bytes from one stride to another.
///
/// # Safety
/// All of them may be read and written there, and none that is read is written.
#[allow(unsafe_code)]
unsafe fn copy_row(from: (*const u8, isize), to: (*mut u8, isize), items: usize, item_bytes: usize) {
    if (from.1, to.1) == (item_bytes.cast_signed(), item_bytes.cast_signed()) {
        // SAFETY: the items lie one after the other on both sides.
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

/// As [`copy_row`], for items of the size of T, which has no alignment.
///
/// # Safety
/// As of [`copy_row`].
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
