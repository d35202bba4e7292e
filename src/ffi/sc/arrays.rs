//! libsc's arrays, as what the library takes: slices, sources, sinks.

use crate::error::{Error, Result};
use crate::ffi::memory::{slice, slice_mut};
use crate::file::{Elements, ElementsMut, Sink, Sizes, Source};
use std::ffi::c_char;
use std::ptr::null_mut;

/// `sc_array_t`.
#[repr(C)]
pub struct sc_array {
    /// The bytes of one element.
    pub elem_size: usize,
    /// The elements.
    pub elem_count: usize,
    /// The bytes allocated; of a view on other memory, -(its bytes + 1).
    pub byte_alloc: isize,
    /// The elements, one after the other.
    pub array: *mut c_char,
}

impl sc_array {
    /// The bytes of all elements.
    fn bytes(&self) -> Result<u64> {
        let bytes = self.elem_size.checked_mul(self.elem_count);
        bytes
            .map(|bytes| bytes as u64)
            .ok_or_else(|| Error::range("sc_array: found a size beyond all memory"))
    }

    /// An error unless there are `count` elements of `size` bytes. Without bytes either number is free: no
    /// sc_array has elements of 0 bytes.
    fn check(&self, name: &str, count: u64, size: u64) -> Result<()> {
        let (found, found_size) = (self.elem_count as u64, self.elem_size as u64);
        if (found, found_size) == (count, size) || count == found && count == 0 || size == 0 {
            return Ok(());
        }
        Err(Error::argument(format!(
            "{name}: found {found} elements of {found_size} bytes, expected {count} of {size}"
        )))
    }
}

/// The array at a pointer.
///
/// # Safety
/// `array` is NULL or may be read for the lifetime.
pub unsafe fn array<'a>(array: *const sc_array, name: &str) -> Result<&'a sc_array> {
    if array.is_null() {
        return Err(Error::argument(format!("{name}: found NULL")));
    }
    if !array.is_aligned() {
        return Err(Error::argument(format!("{name}: found a pointer that is not aligned")));
    }
    // SAFETY: not NULL and aligned; the caller lets it be read.
    Ok(unsafe { &*array })
}

/// The numbers of an array that has `count`; NULL is allowed if that is 0.
///
/// # Safety
/// `numbers` is NULL, or it and its elements may be read for the lifetime.
pub unsafe fn numbers<'a>(numbers: *const sc_array, count: u64, name: &str) -> Result<&'a [u64]> {
    if numbers.is_null() && count == 0 {
        return Ok(&[]);
    }
    // SAFETY: the caller's array is NULL or may be read.
    let numbers = unsafe { array(numbers, name) }?;
    numbers.check(name, count, size_of::<u64>() as u64)?;
    // SAFETY: the caller passes an array of libsc, which has the elements that it says.
    unsafe { slice(numbers.array.cast(), count, name) }
}

/// As [`numbers`], to be written.
///
/// # Safety
/// As [`numbers`], and nobody else uses the elements during the lifetime.
pub unsafe fn numbers_mut<'a>(numbers: *const sc_array, count: u64, name: &str) -> Result<&'a mut [u64]> {
    // SAFETY: the caller's array is NULL or may be read.
    let numbers = unsafe { array(numbers, name) }?;
    numbers.check(name, count, size_of::<u64>() as u64)?;
    // SAFETY: the caller passes an array of libsc, which has the elements that it says.
    unsafe { slice_mut(numbers.array.cast(), count, name) }
}

/// The memory of an array of one element of `size` bytes.
///
/// # Safety
/// As [`numbers_mut`].
pub unsafe fn one_mut<'a>(data: *const sc_array, size: u64, name: &str) -> Result<&'a mut [u8]> {
    // SAFETY: the caller's array is NULL or may be read.
    let data = unsafe { array(data, name) }?;
    data.check(name, 1, size)?;
    // SAFETY: the caller passes an array of libsc, which has the elements that it says.
    unsafe { slice_mut(data.array.cast(), size, name) }
}

/// The bytes of an array of one element of `size` bytes; any array, and none, if `size` is 0.
///
/// # Safety
/// As [`numbers`].
pub unsafe fn one<'a>(data: *const sc_array, size: u64, name: &str) -> Result<&'a [u8]> {
    if size == 0 {
        return Ok(&[]);
    }
    // SAFETY: the caller's array is NULL or may be read.
    let data = unsafe { array(data, name) }?;
    data.check(name, 1, size)?;
    // SAFETY: the caller passes an array of libsc, which has the elements that it says.
    unsafe { slice(data.array.cast(), size, name) }
}

/// Where data are.
enum ArrayData<'a> {
    /// In one piece: its address, and its bytes.
    Piece(*mut u8, u64),
    /// Each element in an array of its own.
    Arrays(&'a [sc_array]),
}

/// Where the data of these sizes are: with `indirect` in an array of arrays, else in an array of the
/// elements, or for a varray of their bytes. That the bytes of these arrays are those of the elements is
/// left to be compared.
///
/// # Safety
/// `data` is NULL, or it and what it refers to may be read for the lifetime.
unsafe fn memory_of<'a>(data: *const sc_array, sizes: Sizes<'_>, indirect: bool) -> Result<ArrayData<'a>> {
    let (total, count) = (sizes.total()?, sizes.count() as u64);
    if data.is_null() {
        return Ok(ArrayData::Piece(null_mut(), total));
    }
    // SAFETY: the caller's array is NULL or may be read.
    let data = unsafe { array(data, "array_data") }?;
    if indirect {
        data.check("array_data", count, size_of::<sc_array>() as u64)?;
        // SAFETY: the caller passes an array of libsc, which has the elements that it says.
        return unsafe { slice(data.array.cast(), count, "array_data") }.map(ArrayData::Arrays);
    }
    if let Sizes::Fixed { size, .. } = sizes {
        data.check("array_data", count, size)?;
    }
    // Elements of no bytes lie in no memory, whatever the array says.
    let bytes = if total == 0 { 0 } else { data.bytes()? };
    Ok(ArrayData::Piece(data.array.cast(), bytes))
}

/// Calls `with` with the data to write. NULL is an error unless they have no bytes.
///
/// # Safety
/// `data` is NULL, or it and what it refers to may be read during the call.
pub unsafe fn with_source<T>(
    data: *const sc_array,
    sizes: Result<Sizes<'_>>,
    indirect: bool,
    with: impl FnOnce(Result<Source<'_>>) -> T,
) -> T {
    // SAFETY: the caller's array is NULL, or it and what it refers to may be read.
    match sizes.and_then(|sizes| unsafe { memory_of(data, sizes, indirect) }) {
        Ok(ArrayData::Piece(start, bytes)) => {
            // SAFETY: the caller passes an array of libsc of `bytes` bytes; `slice` refuses NULL.
            with(unsafe { slice(start.cast_const(), bytes, "array_data") }.map(Source::Contiguous))
        }
        Ok(ArrayData::Arrays(arrays)) => with(Ok(Source::Indirect(&Arrays(arrays)))),
        Err(error) => with(Err(error)),
    }
}

/// Calls `with` with the memory for data to read. NULL skips all of this rank's elements.
///
/// # Safety
/// `data` is NULL, or it and what it refers to may be written during the call, and no elements overlap.
pub unsafe fn with_sink<T>(
    data: *const sc_array,
    sizes: Result<Sizes<'_>>,
    indirect: bool,
    with: impl FnOnce(Result<Sink<'_>>) -> T,
) -> T {
    // SAFETY: the caller's array is NULL, or it and what it refers to may be read.
    match sizes.and_then(|sizes| unsafe { memory_of(data, sizes, indirect) }) {
        Ok(_) if data.is_null() => with(Ok(Sink::Skip)),
        Ok(ArrayData::Piece(start, bytes)) => {
            // SAFETY: the caller passes an array of libsc of `bytes` bytes; `slice_mut` refuses NULL.
            with(unsafe { slice_mut(start, bytes, "array_data") }.map(Sink::Contiguous))
        }
        Ok(ArrayData::Arrays(arrays)) => with(Ok(Sink::Indirect(&mut Arrays(arrays)))),
        Err(error) => with(Err(error)),
    }
}

/// Elements, each in an array of its own.
struct Arrays<'a>(&'a [sc_array]);

impl Arrays<'_> {
    /// Where an element lies, and its bytes: none if there is no memory.
    fn memory(&self, index: usize) -> (*mut u8, usize) {
        let array = &self.0[index];
        let bytes = if array.array.is_null() { 0 } else { array.bytes().unwrap_or(0) };
        let bytes = usize::try_from(bytes).ok().filter(|&bytes| isize::try_from(bytes).is_ok());
        (array.array.cast(), bytes.unwrap_or(0))
    }
}

// SAFETY: the elements are only read, and the caller lets nobody write them during the call.
unsafe impl Sync for Arrays<'_> {}

impl Elements for Arrays<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }
    fn element(&self, index: usize) -> &[u8] {
        match self.memory(index) {
            (_, 0) => &[],
            // SAFETY: not NULL; the caller of `with_source` passes arrays of libsc, which have the bytes
            // that they say.
            (start, bytes) => unsafe { std::slice::from_raw_parts(start, bytes) },
        }
    }
}

impl ElementsMut for Arrays<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }
    fn element_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        Some(match self.memory(index) {
            (_, 0) => &mut [],
            // SAFETY: not NULL; the caller of `with_sink` passes arrays of libsc, which have the bytes that
            // they say, and none overlap.
            (start, bytes) => unsafe { std::slice::from_raw_parts_mut(start, bytes) },
        })
    }
}
