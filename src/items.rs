//! The items of a box as they lie in the user's memory: each dimension has a stride of its own.
//!
//! Codes with ghost layers, interleaved variables or structs need no copy for it: what is written is gathered, and what is read
//! is scattered, a part at a time, between this memory and a buffer in which the items lie in C order.

use crate::error::{Error, Result};
use crate::format::dataset::{MAX_DIMENSIONS, items, too_many};
use crate::numbers::to_usize;
use std::marker::PhantomData;
use std::slice;

/// Where the items of a box lie in memory, to be written: in C order, or with a stride of its own for each dimension, in the machine's byte
/// order.
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
    memory: PhantomData<&'a [u8]>,
}

/// Where the items of a box go to that is read: as [`Memory`].
#[derive(Debug)]
pub struct MemoryMut<'a> {
    first: *mut u8,
    room: Room,
    strides: Option<&'a [i64]>,
    shape: Option<&'a [u64]>,
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
    memory: PhantomData<&'a [u8]>,
}

/// Memory for the items of a box.
#[derive(Debug)]
pub(crate) struct ItemsMut<'a> {
    first: *mut u8,
    places: Places,
    memory: PhantomData<&'a mut [u8]>,
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

    /// Hands out items from one on, in C order, as rows of one stride: with each the number of bytes before it.
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
            each(Row { place: place + column.cast_signed() * step, items: now }, done * self.item_bytes);
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
        Self { first: data.as_ptr().wrapping_add(before), room, strides, shape: None, memory: PhantomData }
    }

    /// The first item lies at an address. Without strides they lie in C order.
    ///
    /// # Safety
    /// All items of the box for which this is used may be read for the lifetime, and nobody changes them.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn at(first: *const u8, strides: Option<&'a [i64]>) -> Self {
        Self { first, room: Room::Promised, strides, shape: None, memory: PhantomData }
    }

    /// The items lie as those of an array of this shape, which has as many, and a stride for each of its dimensions: such as the
    /// cells of a patch, which are one dimension of a dataset with all cells.
    #[must_use]
    pub fn shaped(self, shape: &'a [u64]) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// The items of a box of so many indices.
    ///
    /// # Errors
    /// `Argument` for NULL, strides of another number, and items outside of the memory; `Range` for what no memory holds.
    pub(crate) fn items(&self, count: &[u64], item_bytes: u64) -> Result<Items<'a>> {
        let places = Places::new(in_memory(self.shape, count)?, self.strides, item_bytes)?;
        self.room.check(&places, self.first as usize, self.strides.is_some())?;
        Ok(Items { first: self.first, places, memory: PhantomData })
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
            memory: PhantomData,
        }
    }

    /// The first item goes to an address. Without strides they lie in C order.
    ///
    /// # Safety
    /// All items of the box for which this is used may be written for the lifetime, and nobody else reads or writes them.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn at(first: *mut u8, strides: Option<&'a [i64]>) -> Self {
        Self { first, room: Room::Promised, strides, shape: None, memory: PhantomData }
    }

    /// As [`Memory::shaped`].
    #[must_use]
    pub fn shaped(self, shape: &'a [u64]) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// As [`Memory::items`].
    ///
    /// # Errors
    /// Also `Argument` for items that lie on one another.
    pub(crate) fn items(self, count: &[u64], item_bytes: u64) -> Result<ItemsMut<'a>> {
        let places = Places::new(in_memory(self.shape, count)?, self.strides, item_bytes)?;
        self.room.check(&places, self.first as usize, self.strides.is_some())?;
        places.check_distinct()?;
        Ok(ItemsMut { first: self.first, places, memory: PhantomData })
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
    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.places.bytes()
    }

    /// The items, if they lie one after the other.
    #[allow(unsafe_code)]
    pub fn packed(&self) -> Option<&'a [u8]> {
        if self.bytes() == 0 {
            return Some(&[]);
        }
        // SAFETY: all items were checked to lie in memory that may be read for the lifetime, or this was promised; they follow one
        // another.
        self.places.is_packed().then(|| unsafe { slice::from_raw_parts(self.first, to_usize(self.bytes())) })
    }

    /// As [`Self::gather`], from a byte of them on.
    pub fn gather_bytes(&self, start: u64, out: &mut [u8]) {
        self.gather(start / self.places.item_bytes as u64, out);
    }

    /// Copies items from one on, in C order, as many as `out` has room for. The box has them.
    #[allow(unsafe_code)]
    pub fn gather(&self, number: u64, out: &mut [u8]) {
        let item = self.places.item_bytes;
        let items = out.len() / item;
        debug_assert!(number + items as u64 <= self.places.items());
        let step = self.places.step();
        self.places.rows(number, items, |row, at| {
            let from = self.first.wrapping_offset(row.place);
            let to = out[at..at + row.items * item].as_mut_ptr();
            // SAFETY: the items of the box may be read, and `out` has room for the row.
            unsafe { copy_row((from, step), (to, item.cast_signed()), row.items, item) }
        });
    }
}

impl ItemsMut<'_> {
    /// The items, to be read. All of them were written.
    pub fn as_items(&self) -> Items<'_> {
        Items { first: self.first, places: self.places.clone(), memory: PhantomData }
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.places.bytes()
    }

    /// The memory of all items, if they lie one after the other.
    #[allow(unsafe_code)]
    pub fn packed(&mut self) -> Option<&mut [u8]> {
        if self.bytes() == 0 {
            return Some(&mut []);
        }
        let bytes = to_usize(self.bytes());
        // SAFETY: all items were checked to lie in memory that may be written, or this was promised; they follow one another.
        self.places.is_packed().then(|| unsafe { slice::from_raw_parts_mut(self.first, bytes) })
    }

    /// Copies items to their places, from one on, in C order, as many as `data` has. The box has them.
    #[allow(unsafe_code)]
    pub fn scatter(&mut self, number: u64, data: &[u8]) {
        let item = self.places.item_bytes;
        let items = data.len() / item;
        debug_assert!(number + items as u64 <= self.places.items());
        let (first, step) = (self.first, self.places.step());
        self.places.rows(number, items, |row, at| {
            let from = data[at..at + row.items * item].as_ptr();
            let to = first.wrapping_offset(row.place);
            // SAFETY: the items of the box may be written, and `data` has the row.
            unsafe { copy_row((from, item.cast_signed()), (to, step), row.items, item) }
        });
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
            let items = if start % 2 == 0 {
                memory.items(&count, item as u64).unwrap()
            } else {
                memory.shaped(&count).items(&[places.len() as u64], item as u64).unwrap()
            };
            prop_assert_eq!(items.bytes(), (places.len() * item) as u64);
            let start = start.min(places.len() as u64);
            let expected: Vec<u8> = places[start as usize..].iter()
                .flat_map(|place| { let at = (first as i64 + place) as usize; bytes[at..at + item].to_vec() })
                .collect();
            let mut found = vec![0; expected.len()];
            items.gather(start, &mut found);
            prop_assert_eq!(&found, &expected);
            if let Some(packed) = items.packed() {
                prop_assert_eq!(&packed[start as usize * item..], &expected[..]);
            }
            // Back, and nothing else is touched.
            let mut back = vec![0xEE; bytes.len()];
            MemoryMut::strided(&mut back, first, &strides).items(&count, item as u64).unwrap().scatter(start, &found);
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
        let text = |memory: Memory<'_>, count: &[u64]| memory.items(count, 8).unwrap_err().to_string();
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
        Memory::strided(&bytes, 60, &[i64::MAX, 4]).items(&[0, 7], 8).unwrap();
        let mut bytes = [0; 64];
        let error = MemoryMut::strided(&mut bytes, 0, &[4]).items(&[3], 8).unwrap_err();
        assert!(error.to_string().starts_with("strides: found one of less than the 8 bytes"), "{error}");
    }
}
