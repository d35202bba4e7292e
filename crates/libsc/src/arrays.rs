//! Converts arrays of libsc to the slices, sources and sinks that the library takes.

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
    /// The size of an element in bytes.
    pub elem_size: usize,
    /// The number of elements.
    pub elem_count: usize,
    /// The number of bytes allocated; for a view of other memory, -(its bytes + 1).
    pub byte_alloc: isize,
    /// The elements, contiguous.
    pub array: *mut c_char,
}

impl sc_array {
    /// The size of all elements in bytes.
    fn bytes(&self) -> Result<u64> {
        let bytes = self.elem_size.checked_mul(self.elem_count);
        bytes
            .map(|bytes| bytes as u64)
            .ok_or_else(|| Error::range("sc_array: found a size beyond all memory"))
    }

    /// Fails unless there are `count` elements of `size` bytes. If that is no bytes, either number may differ,
    /// because no sc_array has elements of 0 bytes.
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

/// An array, or NULL. As many elements as it says may be read; if they are arrays, likewise their elements.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct ArrayIn<'a>(*const sc_array, PhantomData<&'a sc_array>);

/// An array, or NULL. As many elements as it says may be written, and nobody else uses them.
#[repr(transparent)]
pub struct ArrayOut<'a>(*const sc_array, PhantomData<&'a mut sc_array>);

/// The place of data in memory.
enum ArrayData<'a> {
    /// Contiguous: the address, and the size in bytes.
    Run(*mut u8, u64),
    /// Each element in an array of its own.
    Arrays(&'a [sc_array]),
}

impl<'a> ArrayIn<'a> {
    pub const NULL: Self = Self(null(), PhantomData);

    /// # Safety
    /// For the lifetime, the pointer is NULL or points to such an array.
    pub unsafe fn at(pointer: *const sc_array) -> Self {
        Self(pointer, PhantomData)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The array; NULL is an error.
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

    /// The numbers of an array, which must have `count` of them; NULL is allowed if `count` is 0.
    pub fn numbers(self, count: u64, name: &str) -> Result<&'a [u64]> {
        if self.is_null() && count == 0 {
            return Ok(&[]);
        }
        let array = self.get(name)?;
        array.check(name, count, size_of::<u64>() as u64)?;
        // SAFETY: the array has these elements.
        unsafe { slice(array.array.cast(), count, name) }
    }

    /// The bytes of an array with one element of `size` bytes; if `size` is 0, any array, or NULL.
    pub fn one(self, size: u64, name: &str) -> Result<&'a [u8]> {
        if size == 0 {
            return Ok(&[]);
        }
        let array = self.get(name)?;
        array.check(name, 1, size)?;
        // SAFETY: the array has this element.
        unsafe { slice(array.array.cast(), size, name) }
    }

    /// The place of data with these sizes: with `indirect`, an array of arrays; otherwise an array of the
    /// elements, or for a varray an array of their bytes. The caller compares the bytes of these arrays with
    /// those of the elements.
    fn data(self, sizes: Sizes<'_>, indirect: bool) -> Result<ArrayData<'a>> {
        let (total, count) = (sizes.total()?, sizes.count() as u64);
        if self.is_null() {
            return Ok(ArrayData::Run(null_mut(), total));
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
        // Elements without bytes take no memory, whatever the array says.
        let bytes = if total == 0 { 0 } else { array.bytes()? };
        Ok(ArrayData::Run(array.array.cast(), bytes))
    }

    /// Calls `with` with the data to write. NULL is an error unless there are no bytes.
    pub fn with_source<T>(
        self,
        sizes: Result<Sizes<'_>>,
        indirect: bool,
        with: impl FnOnce(Result<Source<'_>>) -> T,
    ) -> T {
        match sizes.and_then(|sizes| self.data(sizes, indirect)) {
            Ok(ArrayData::Run(start, bytes)) => {
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
    /// For the lifetime, the pointer is NULL or points to such an array.
    pub unsafe fn at(pointer: *const sc_array) -> Self {
        Self(pointer, PhantomData)
    }

    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The array, for reading.
    fn given(&self) -> ArrayIn<'a> {
        ArrayIn(self.0, PhantomData)
    }

    /// Like [`ArrayIn::numbers`], for writing. NULL is an error.
    pub fn numbers(self, count: u64, name: &str) -> Result<&'a mut [u64]> {
        let array = self.given().get(name)?;
        array.check(name, count, size_of::<u64>() as u64)?;
        // SAFETY: the array has these elements.
        unsafe { slice_mut(array.array.cast(), count, name) }
    }

    /// The memory of an array with one element of `size` bytes.
    pub fn one(self, size: u64, name: &str) -> Result<&'a mut [u8]> {
        let array = self.given().get(name)?;
        array.check(name, 1, size)?;
        // SAFETY: the array has this element.
        unsafe { slice_mut(array.array.cast(), size, name) }
    }

    /// Calls `with` with the memory for the data to read. NULL skips all of this rank's elements.
    pub fn with_sink<T>(
        self,
        sizes: Result<Sizes<'_>>,
        indirect: bool,
        with: impl FnOnce(Result<Sink<'_>>) -> T,
    ) -> T {
        match sizes.and_then(|sizes| self.given().data(sizes, indirect)) {
            Ok(_) if self.is_null() => with(Ok(Sink::Skip)),
            Ok(ArrayData::Run(start, bytes)) => {
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
    /// The address of an element and its size in bytes, which is 0 if there is no memory.
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
