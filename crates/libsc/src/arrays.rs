//! Converts libsc's arrays to the slices, sources and sinks that the library takes.

use scda::bindings::Sizes;
use scda::{Elements, ElementsMut, Sink, Source};
use scda_base::error::{Error, Result};
use scda_c::memory::{slice, slice_mut};
use std::ffi::c_char;
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

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

/// An array whose elements may be read, as many as it says, and so may be those of arrays that are its elements; or NULL.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct ArrayIn<'a>(*const sc_array, PhantomData<&'a sc_array>);

/// An array whose elements may be written, likewise, and are used by nobody else; or NULL.
#[repr(transparent)]
pub struct ArrayOut<'a>(*const sc_array, PhantomData<&'a mut sc_array>);

/// Where data are.
enum ArrayData<'a> {
    /// In one piece: its address, and its bytes.
    Piece(*mut u8, u64),
    /// Each element in an array of its own.
    Arrays(&'a [sc_array]),
}

impl<'a> ArrayIn<'a> {
    pub const NULL: Self = Self(null(), PhantomData);

    /// # Safety
    /// There is such an array for the lifetime, unless it is NULL.
    pub unsafe fn at(pointer: *const sc_array) -> Self {
        Self(pointer, PhantomData)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The array, which must not be NULL.
    pub fn get(self, name: &str) -> Result<&'a sc_array> {
        if self.is_null() {
            return Err(Error::argument(format!("{name} is NULL")));
        }
        if !self.0.is_aligned() {
            return Err(Error::argument(format!("{name}: found a pointer that is not aligned")));
        }
        // SAFETY: not NULL and aligned.
        Ok(unsafe { &*self.0 })
    }

    /// The numbers of an array that has `count`; NULL is allowed if that is 0.
    pub fn numbers(self, count: u64, name: &str) -> Result<&'a [u64]> {
        if self.is_null() && count == 0 {
            return Ok(&[]);
        }
        let array = self.get(name)?;
        array.check(name, count, size_of::<u64>() as u64)?;
        // SAFETY: the array has these elements.
        unsafe { slice(array.array.cast(), count, name) }
    }

    /// The bytes of an array of one element of `size` bytes; any array, and none, if `size` is 0.
    pub fn one(self, size: u64, name: &str) -> Result<&'a [u8]> {
        if size == 0 {
            return Ok(&[]);
        }
        let array = self.get(name)?;
        array.check(name, 1, size)?;
        // SAFETY: the array has this element.
        unsafe { slice(array.array.cast(), size, name) }
    }

    /// Where the data of these sizes are: with `indirect` in an array of arrays, else in an array of the
    /// elements, or for a varray of their bytes. That the bytes of these arrays are those of the elements is
    /// left to be compared.
    fn data(self, sizes: Sizes<'_>, indirect: bool) -> Result<ArrayData<'a>> {
        let (total, count) = (sizes.total()?, sizes.count() as u64);
        if self.is_null() {
            return Ok(ArrayData::Piece(null_mut(), total));
        }
        let array = self.get("array_data")?;
        if indirect {
            array.check("array_data", count, size_of::<sc_array>() as u64)?;
            // SAFETY: the array has these elements.
            return unsafe { slice(array.array.cast(), count, "array_data") }.map(ArrayData::Arrays);
        }
        if let Sizes::Fixed { size, .. } = sizes {
            array.check("array_data", count, size)?;
        }
        // Elements of no bytes lie in no memory, whatever the array says.
        let bytes = if total == 0 { 0 } else { array.bytes()? };
        Ok(ArrayData::Piece(array.array.cast(), bytes))
    }

    /// Calls `with` with the data to write. NULL is an error unless they have no bytes.
    pub fn with_source<T>(
        self,
        sizes: Result<Sizes<'_>>,
        indirect: bool,
        with: impl FnOnce(Result<Source<'_>>) -> T,
    ) -> T {
        match sizes.and_then(|sizes| self.data(sizes, indirect)) {
            Ok(ArrayData::Piece(start, bytes)) => {
                // SAFETY: the array has `bytes` bytes; `slice` refuses NULL.
                with(unsafe { slice(start.cast_const(), bytes, "array_data") }.map(Source::Contiguous))
            }
            Ok(ArrayData::Arrays(arrays)) => with(Ok(Source::Indirect(&Arrays(arrays)))),
            Err(error) => with(Err(error)),
        }
    }
}

impl<'a> ArrayOut<'a> {
    /// # Safety
    /// There is such an array for the lifetime, unless it is NULL.
    pub unsafe fn at(pointer: *const sc_array) -> Self {
        Self(pointer, PhantomData)
    }

    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The array, to be read.
    fn given(&self) -> ArrayIn<'a> {
        ArrayIn(self.0, PhantomData)
    }

    /// As [`ArrayIn::numbers`], to be written. NULL is an error.
    pub fn numbers(self, count: u64, name: &str) -> Result<&'a mut [u64]> {
        let array = self.given().get(name)?;
        array.check(name, count, size_of::<u64>() as u64)?;
        // SAFETY: the array has these elements.
        unsafe { slice_mut(array.array.cast(), count, name) }
    }

    /// The memory of an array of one element of `size` bytes.
    pub fn one(self, size: u64, name: &str) -> Result<&'a mut [u8]> {
        let array = self.given().get(name)?;
        array.check(name, 1, size)?;
        // SAFETY: the array has this element.
        unsafe { slice_mut(array.array.cast(), size, name) }
    }

    /// Calls `with` with the memory for data to read. NULL skips all of this rank's elements.
    pub fn with_sink<T>(
        self,
        sizes: Result<Sizes<'_>>,
        indirect: bool,
        with: impl FnOnce(Result<Sink<'_>>) -> T,
    ) -> T {
        match sizes.and_then(|sizes| self.given().data(sizes, indirect)) {
            Ok(_) if self.is_null() => with(Ok(Sink::Skip)),
            Ok(ArrayData::Piece(start, bytes)) => {
                // SAFETY: the array has `bytes` bytes; `slice_mut` refuses NULL.
                with(unsafe { slice_mut(start, bytes, "array_data") }.map(Sink::Contiguous))
            }
            Ok(ArrayData::Arrays(arrays)) => with(Ok(Sink::Indirect(&mut Arrays(arrays)))),
            Err(error) => with(Err(error)),
        }
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
            // SAFETY: not NULL; these are arrays of libsc, which have the bytes that they say.
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
            // SAFETY: not NULL; these are arrays of libsc, which have the bytes that they say, and none overlap.
            (start, bytes) => unsafe { std::slice::from_raw_parts_mut(start, bytes) },
        })
    }
}
