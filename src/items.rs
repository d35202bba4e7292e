//! The items of a box as they lie in the user's memory: each dimension has a stride of its own.
//!
//! Codes with ghost layers, interleaved variables or structs need no copy for it: what is written is gathered, and what is read
//! is scattered, a part at a time, between this memory and a buffer in which the items lie in C order.

mod convert;

use crate::codec::chunk::swap_items;
use crate::error::{Error, Result};
use crate::format::dataset::{DataType, MAX_DIMENSIONS, items, too_many};
use crate::numbers::to_usize;
use convert::Conversion;
use std::marker::PhantomData;
use std::slice;

/// Where the items of a box lie in memory, to be written: in C order, or with a stride of its own for each dimension, in the machine's byte
/// order, as items of the dataset's type or of [another](Self::of_type).
///
/// ```
/// use scda::{Data, DataType, Dataset, Memory, Params, Region, Solo, Writer};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("block.scda");
/// // 2 × 3 cells with a layer of ghost cells around them: 4 × 5 numbers of 8 bytes.
/// let block = vec![0; 4 * 5 * 8];
/// let interior = Memory::strided(&block, (5 + 1) * 8, &[5 * 8, 8]);
///
/// let mut file = Writer::create(Solo, &path, b"", &Params::default())?;
/// let density = Dataset::new("density", DataType::Float64, [2, 3]);
/// file.dataset(&density, &[Region::all(&[2, 3])], Data::Boxes(&[interior]))?;
/// file.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    first: *const u8,
    room: Room,
    strides: Option<&'a [i64]>,
    shape: Option<&'a [u64]>,
    /// That of the items in memory; `None`: that of the dataset.
    data_type: Option<DataType>,
    memory: PhantomData<&'a [u8]>,
}

/// Where the items of a box go to that is read: as [`Memory`].
#[derive(Debug)]
pub struct MemoryMut<'a> {
    first: *mut u8,
    room: Room,
    strides: Option<&'a [i64]>,
    shape: Option<&'a [u64]>,
    /// That of the items in memory; `None`: that of the dataset.
    data_type: Option<DataType>,
    memory: PhantomData<&'a mut [u8]>,
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

/// Which items lie in the memory.
#[derive(Clone, Copy, Debug)]
enum Room {
    /// Those in so many bytes, of which so many are before the first item.
    Bytes { before: usize, all: usize },
    /// All: whoever gave the address promises it.
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
    first: *mut u8,
    places: Places,
    in_file: InFile,
    /// The first item that was scattered and has no number of the type in memory.
    misfit: Option<u64>,
    memory: PhantomData<&'a mut [u8]>,
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
// SAFETY: one has it, as `&mut [u8]`, for which it stands.
#[allow(unsafe_code)]
unsafe impl Send for MemoryMut<'_> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Send for ItemsMut<'_> {}

/// Where the items of a box are, counted from the first one.
#[derive(Clone, Debug)]
struct Places {
    /// Of the items in memory.
    count: Vec<u64>,
    item_bytes: usize,
    /// Dimensions in which more than one index is left after joining those that one stride can describe: number of indices, and the
    /// bytes from one to the next. The last one varies fastest.
    steps: Vec<(usize, isize)>,
}

/// So many bytes of items that are converted are swapped at once.
const SWAPPED_BYTES: usize = 4096;

/// Items that follow one another in C order and lie at one stride: where the first is, and how many.
struct Row {
    place: isize,
    items: usize,
}

/// The numbers of indices in memory of the items of a box.
fn in_memory<'a>(shape: Option<&'a [u64]>, count: &'a [u64]) -> Result<&'a [u64]> {
    let Some(shape) = shape else { return Ok(count) };
    if shape.len() > MAX_DIMENSIONS || items(shape) != items(count) {
        let words = format!("shape in memory: found {shape:?}, expected as many items as a box of {count:?}");
        return Err(Error::argument(words));
    }
    Ok(shape)
}

impl Places {
    fn new(count: &[u64], strides: Option<&[i64]>, item_bytes: u64) -> Result<Self> {
        let all = items(count).ok_or_else(|| too_many("box", count))?;
        if let Some(strides) = strides.filter(|strides| strides.len() != count.len()) {
            let words = format!("strides: found {}, expected {}", strides.len(), count.len());
            return Err(Error::argument(words));
        }
        let far =
            || Error::range(format!("strides: found {strides:?}, with which the box exceeds the memory"));
        let mut steps: Vec<(usize, isize)> = Vec::new();
        let (mut packed, mut extent) = (item_bytes.cast_signed(), item_bytes.cast_signed());
        for dimension in (0..count.len()).rev().filter(|_| all > 0) {
            let n = i64::try_from(count[dimension]).map_err(|_| far())?;
            let stride = strides.map_or(packed, |strides| strides[dimension]);
            let length = (n - 1).checked_mul(stride).and_then(i64::checked_abs).ok_or_else(far)?;
            extent = extent.checked_add(length).ok_or_else(far)?;
            packed = packed.checked_mul(n).ok_or_else(far)?;
            let step = isize::try_from(stride).map_err(|_| far())?;
            let n = usize::try_from(n).map_err(|_| far())?;
            match steps.last_mut() {
                _ if n == 1 => {}
                Some((inner, inner_step)) if inner_step.checked_mul((*inner).cast_signed()) == Some(step) => {
                    *inner *= n
                }
                _ => steps.push((n, step)),
            }
        }
        isize::try_from(extent).map_err(|_| far())?;
        steps.reverse();
        Ok(Self { count: count.to_vec(), item_bytes: to_usize(item_bytes), steps })
    }

    /// The number of items.
    fn items(&self) -> u64 {
        self.count.iter().product()
    }

    fn bytes(&self) -> u64 {
        self.items() * self.item_bytes as u64
    }

    /// Whether the items lie one after the other.
    fn is_packed(&self) -> bool {
        match &*self.steps {
            [] => true,
            [(_, step)] => *step == self.item_bytes.cast_signed(),
            _ => false,
        }
    }

    /// The first and the last byte that belong to items, counted from the first item; the last one is not included.
    fn extent(&self) -> (isize, isize) {
        let (mut least, mut most) = (0, 0);
        for &(n, step) in &self.steps {
            let length = (n.cast_signed() - 1) * step;
            if length < 0 { least += length } else { most += length }
        }
        (least, most + self.item_bytes.cast_signed())
    }

    /// An error unless all items lie in memory of so many bytes, in which the first one is at an offset.
    fn check(&self, first: usize, room: usize) -> Result<()> {
        if self.items() == 0 {
            return Ok(());
        }
        let (least, most) = self.extent();
        let fits = first.checked_add_signed(least).is_some()
            && first.checked_add_signed(most).is_some_and(|end| end <= room);
        if fits {
            return Ok(());
        }
        Err(Error::argument(format!(
            "box: found items from byte {} to byte {}, expected them in memory of {room} bytes",
            first as i128 + least as i128,
            first as i128 + most as i128
        )))
    }

    /// An error for a stride of less than an item, as 0: not all items could be read there.
    fn check_distinct(&self) -> Result<()> {
        if self.steps.iter().all(|&(_, step)| step.unsigned_abs() >= self.item_bytes) || self.items() < 2 {
            return Ok(());
        }
        let words = format!(
            "strides: found one of less than the {} bytes of an item, expected a place of its own for each item that is read",
            self.item_bytes
        );
        Err(Error::argument(words))
    }

    /// Hands out items from one on, in C order, as rows of one stride: with each the number of items before it.
    #[inline]
    fn rows(&self, number: u64, items: usize, mut each: impl FnMut(Row, usize)) {
        let Some((&(inner, step), outer)) = self.steps.split_last() else {
            return each(Row { place: 0, items }, 0);
        };
        let number = to_usize(number);
        let (mut column, mut rest) = (number % inner, number / inner);
        let mut index = [0; MAX_DIMENSIONS];
        let mut place = 0;
        for (index, &(n, step)) in index.iter_mut().zip(outer).rev() {
            (*index, rest) = (rest % n, rest / n);
            place += index.cast_signed() * step;
        }
        let mut done = 0;
        while done < items {
            let now = (inner - column).min(items - done);
            each(Row { place: place + column.cast_signed() * step, items: now }, done);
            done += now;
            column = 0;
            for (index, &(n, step)) in index.iter_mut().zip(outer).rev() {
                *index += 1;
                place += step;
                if *index < n {
                    break;
                }
                *index = 0;
                place -= n.cast_signed() * step;
            }
        }
    }

    /// The bytes from one item of a row to the next.
    fn step(&self) -> isize {
        self.steps.last().map_or(self.item_bytes.cast_signed(), |&(_, step)| step)
    }
}

impl<'a> Memory<'a> {
    /// The items lie in C order, and are all of `data`.
    #[must_use]
    pub fn packed(data: &'a [u8]) -> Self {
        Self::within(data, 0, None)
    }

    /// The first item lies at byte `first` of `data`, and the next one of each dimension so many bytes further, which may be
    /// negative or 0.
    #[must_use]
    pub fn strided(data: &'a [u8], first: usize, strides: &'a [i64]) -> Self {
        Self::within(data, first, Some(strides))
    }

    fn within(data: &'a [u8], before: usize, strides: Option<&'a [i64]>) -> Self {
        let room = Room::Bytes { before, all: data.len() };
        Self {
            first: data.as_ptr().wrapping_add(before),
            room,
            strides,
            shape: None,
            data_type: None,
            memory: PhantomData,
        }
    }

    /// The first item lies at an address. Without strides they lie in C order.
    ///
    /// # Safety
    /// All items of the box for which this is used may be read for the lifetime, and nobody changes them.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn at(first: *const u8, strides: Option<&'a [i64]>) -> Self {
        Self { first, room: Room::Promised, strides, shape: None, data_type: None, memory: PhantomData }
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
    /// # use scda::{Data, DataType, Dataset, Memory, Params, Region, Solo, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("single.scda");
    /// # let mut file = Writer::create(Solo, &path, b"", &Params::default())?;
    /// let computed: Vec<u8> = [0.1_f64, 0.2].iter().flat_map(|number| number.to_ne_bytes()).collect();
    /// let memory = Memory::packed(&computed).of_type(DataType::Float64);
    /// let stored = Dataset::new("single", DataType::Float32, [2]);
    /// file.dataset(&stored, &[Region::all(&[2])], Data::Boxes(&[memory]))?;
    /// # file.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_type(self, data_type: DataType) -> Self {
        Self { data_type: Some(data_type), ..self }
    }

    /// The items of a box of so many indices, which have this type in the file.
    ///
    /// # Errors
    /// `Argument` for NULL, strides of another number, items outside of the memory, and types that cannot be converted; `Range` for what no
    /// memory holds.
    pub(crate) fn items(&self, count: &[u64], in_file: DataType) -> Result<Items<'a>> {
        let data_type = self.data_type.unwrap_or(in_file);
        let places = Places::new(in_memory(self.shape, count)?, self.strides, data_type.item_bytes())?;
        self.room.check(&places, self.first as usize, self.strides.is_some())?;
        let in_file = InFile::new(in_file, Conversion::new(data_type, in_file)?);
        Ok(Items { first: self.first, places, in_file, memory: PhantomData })
    }
}

impl<'a> MemoryMut<'a> {
    /// The items go to all of `data`, in C order.
    #[must_use]
    pub fn packed(data: &'a mut [u8]) -> Self {
        Self::within(data, 0, None)
    }

    /// The first item goes to byte `first` of `data`, and the next one of each dimension so many bytes further, which may be
    /// negative.
    #[must_use]
    pub fn strided(data: &'a mut [u8], first: usize, strides: &'a [i64]) -> Self {
        Self::within(data, first, Some(strides))
    }

    fn within(data: &'a mut [u8], before: usize, strides: Option<&'a [i64]>) -> Self {
        let room = Room::Bytes { before, all: data.len() };
        Self {
            first: data.as_mut_ptr().wrapping_add(before),
            room,
            strides,
            shape: None,
            data_type: None,
            memory: PhantomData,
        }
    }

    /// The first item goes to an address. Without strides they lie in C order.
    ///
    /// # Safety
    /// All items of the box for which this is used may be written for the lifetime, and nobody else reads or writes them.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn at(first: *mut u8, strides: Option<&'a [i64]>) -> Self {
        Self { first, room: Room::Promised, strides, shape: None, data_type: None, memory: PhantomData }
    }

    /// As [`Memory::shaped`].
    #[must_use]
    pub fn shaped(self, shape: &'a [u64]) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// In memory, the items get this type, to which they are converted from that of the dataset, as by [`Memory::of_type`].
    #[must_use]
    pub fn of_type(self, data_type: DataType) -> Self {
        Self { data_type: Some(data_type), ..self }
    }

    /// As [`Memory::items`].
    ///
    /// # Errors
    /// Also `Argument` for items that lie on one another.
    pub(crate) fn items(self, count: &[u64], in_file: DataType) -> Result<ItemsMut<'a>> {
        let data_type = self.data_type.unwrap_or(in_file);
        let places = Places::new(in_memory(self.shape, count)?, self.strides, data_type.item_bytes())?;
        self.room.check(&places, self.first as usize, self.strides.is_some())?;
        places.check_distinct()?;
        let in_file = InFile::new(in_file, Conversion::new(in_file, data_type)?);
        Ok(ItemsMut { first: self.first, places, in_file, misfit: None, memory: PhantomData })
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

impl Room {
    fn check(self, places: &Places, address: usize, is_strided: bool) -> Result<()> {
        match self {
            Self::Promised if address == 0 && places.items() > 0 => {
                Err(Error::argument(format!("data of a box: found NULL, expected {} items", places.items())))
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
    #[allow(unsafe_code)]
    pub fn gather(&self, number: u64, out: &mut [u8]) -> Option<u64> {
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
    pub fn as_items(&self) -> Items<'_> {
        Items {
            first: self.first,
            places: self.places.clone(),
            in_file: self.in_file.clone(),
            memory: PhantomData,
        }
    }

    /// Their bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.places.items() * self.in_file.item_bytes as u64
    }

    /// Whether they have another type in memory. Then they have the byte order of the machine as soon as they are scattered.
    pub fn are_converted(&self) -> bool {
        self.in_file.conversion.is_some()
    }

    /// The first item that was scattered, of those that have no number of the type in memory.
    pub fn misfit(&self) -> Option<u64> {
        self.misfit
    }

    /// The memory of all items, if they lie one after the other as they are in the file.
    #[allow(unsafe_code)]
    pub fn packed(&mut self) -> Option<&mut [u8]> {
        if self.bytes() == 0 {
            return Some(&mut []);
        }
        let bytes = to_usize(self.bytes());
        // SAFETY: all items were checked to lie in memory that may be written, or this was promised; they follow one another.
        self.in_file
            .is_in_memory(&self.places)
            .then(|| unsafe { slice::from_raw_parts_mut(self.first, bytes) })
    }

    /// Copies items to their places, from one on, in C order, as many as `data` has. The box has them. Items that are converted may be
    /// swapped: their numbers in `data` have the byte order of another machine.
    #[allow(unsafe_code)]
    pub fn scatter(&mut self, number: u64, data: &[u8], is_swapped: bool) {
        let item = self.in_file.item_bytes;
        if is_swapped && self.are_converted() {
            let most = (SWAPPED_BYTES / item).max(1) * item;
            for (n, data) in data.chunks(most).enumerate() {
                let mut piece = data.to_vec();
                swap_items(&mut piece, self.in_file.data_type);
                self.scatter(number + (n * most / item) as u64, &piece, false);
            }
            return;
        }
        let items = data.len() / item;
        debug_assert!(number + items as u64 <= self.places.items());
        let (first, step, conversion) = (self.first, self.places.step(), &self.in_file.conversion);
        let mut misfit = self.misfit;
        self.places.rows(number, items, |row, before| {
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

/// Copies items of so many bytes from one stride to another.
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

#[cfg(test)]
#[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)] // test data
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The places of items, in C order, one by one.
    fn naive(count: &[u64], strides: &[i64]) -> Vec<i64> {
        let all: u64 = count.iter().product();
        let place = |n: u64| {
            let (mut rest, mut place) = (n, 0);
            for (&n, &stride) in count.iter().zip(strides).rev() {
                place += (rest % n) as i64 * stride;
                rest /= n;
            }
            place
        };
        (0..all).map(place).collect()
    }

    /// A box in memory: counts, strides in items, which may be negative, and the bytes of an item.
    fn boxes() -> impl Strategy<Value = (Vec<u64>, Vec<i64>, usize)> {
        let dimensions = prop::collection::vec((0_u64..5, 0_i64..4, any::<bool>()), 0..5);
        (dimensions, prop::sample::select(vec![1_usize, 2, 3, 4, 8, 16, 24])).prop_map(
            |(dimensions, item)| {
                let (mut strides, mut packed) = (Vec::new(), item as i64);
                for &(n, gap, is_back) in dimensions.iter().rev() {
                    strides.push(if is_back { -packed } else { packed });
                    packed *= n.max(1) as i64 + gap;
                }
                strides.reverse();
                (dimensions.iter().map(|d| d.0).collect(), strides, item)
            },
        )
    }

    proptest! {
        #[test]
        fn any_items_are_gathered_and_scattered((count, strides, item) in boxes(), start in 0_u64..9) {
            let places = naive(&count, &strides);
            let least = places.iter().copied().min().unwrap_or(0);
            let most = places.iter().copied().max().unwrap_or(0) + item as i64;
            let bytes: Vec<u8> = (0..most - least).map(|n| (n * 7 + n / 251) as u8).collect();
            let first = -least as usize;
            let memory = Memory::strided(&bytes, first, &strides);
            // As one dimension of all of them, or of a dataset of as many dimensions.
            let data_type = DataType::Raw(item as u32);
            let items = if start % 2 == 0 {
                memory.items(&count, data_type).unwrap()
            } else {
                memory.shaped(&count).items(&[places.len() as u64], data_type).unwrap()
            };
            prop_assert_eq!(items.bytes(), (places.len() * item) as u64);
            let start = start.min(places.len() as u64);
            let expected: Vec<u8> = places[start as usize..].iter()
                .flat_map(|place| { let at = (first as i64 + place) as usize; bytes[at..at + item].to_vec() })
                .collect();
            let mut found = vec![0; expected.len()];
            prop_assert_eq!(items.gather(start, &mut found), None);
            prop_assert_eq!(&found, &expected);
            if let Some(packed) = items.packed() {
                prop_assert_eq!(&packed[start as usize * item..], &expected[..]);
            }
            // Back, and nothing else is touched.
            let mut back = vec![0xEE; bytes.len()];
            MemoryMut::strided(&mut back, first, &strides).items(&count, DataType::Raw(item as u32)).unwrap().scatter(start, &found, false);
            let mut should = vec![0xEE; bytes.len()];
            for place in &places[start as usize..] {
                let at = (first as i64 + place) as usize;
                should[at..at + item].copy_from_slice(&bytes[at..at + item]);
            }
            prop_assert_eq!(back, should);
        }
    }

    #[test]
    fn memory_that_a_box_does_not_fit_is_refused() {
        let bytes = [0; 64];
        let text = |memory: Memory<'_>, count: &[u64]| {
            memory.items(count, DataType::Raw(8)).unwrap_err().to_string()
        };
        assert_eq!(text(Memory::packed(&bytes), &[9]), "data: found 64 bytes, expected 72");
        assert_eq!(
            text(Memory::strided(&bytes, 0, &[16]), &[5]),
            "box: found items from byte 0 to byte 72, expected them in memory of 64 bytes"
        );
        assert_eq!(
            text(Memory::strided(&bytes, 8, &[-8]), &[3]),
            "box: found items from byte -8 to byte 16, expected them in memory of 64 bytes"
        );
        assert_eq!(text(Memory::strided(&bytes, 0, &[8, 8]), &[3]), "strides: found 2, expected 1");
        assert_eq!(
            text(Memory::strided(&bytes, 0, &[8, 8]).shaped(&[2, 2]), &[3]),
            "shape in memory: found [2, 2], expected as many items as a box of [3]"
        );
        assert!(text(Memory::strided(&bytes, 0, &[i64::MAX]), &[3]).contains("exceeds the memory"));
        assert!(text(Memory::strided(&bytes, 0, &[i64::MIN, 8]), &[2, 2]).contains("exceeds the memory"));
        assert!(text(Memory::strided(&bytes, 0, &[i64::MAX]), &[2]).contains("exceeds the memory"));
        Memory::strided(&bytes, 60, &[i64::MAX, 4]).items(&[0, 7], DataType::Raw(8)).unwrap();
        let mut bytes = [0; 64];
        let error = MemoryMut::strided(&mut bytes, 0, &[4]).items(&[3], DataType::Raw(8)).unwrap_err();
        assert!(error.to_string().starts_with("strides: found one of less than the 8 bytes"), "{error}");
    }
}
