//! Fallible allocation, and work that may panic. Neither may end the process or keep the other ranks waiting, so both
//! become errors, on which the ranks agree.
//!
//! Every allocation whose size depends on data goes through this module. Small allocations of a known size do not.

use crate::error::{Error, ErrorKind, Result};
use crate::numbers::to_usize;
use std::alloc::{Layout, alloc_zeroed};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes room for this many further items.
///
/// # Errors
/// `Memory`.
#[inline]
pub fn reserve<T>(items: &mut Vec<T>, more: usize) -> Result<()> {
    items.try_reserve(more).map_err(|_| cannot_allocate::<T>(items.len().saturating_add(more)))
}

/// As [`reserve`], for a count from a file or from the user.
///
/// # Errors
/// `Memory`.
pub fn reserve_count<T>(items: &mut Vec<T>, more: u64) -> Result<()> {
    reserve(items, to_usize(more))
}

/// Sets the length of a buffer whose contents do not matter. New bytes are 0.
///
/// # Errors
/// `Memory`.
pub fn resize<T: Clone + Default>(buffer: &mut Vec<T>, length: u64) -> Result<()> {
    let length = to_usize(length);
    grow(buffer, length)?;
    buffer.truncate(length);
    Ok(())
}

/// Makes a buffer at least this long. New bytes are 0.
///
/// # Errors
/// `Memory`.
#[inline]
pub fn grow<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) -> Result<()> {
    if buffer.len() < length {
        reserve(buffer, length - buffer.len())?;
        buffer.resize(length, T::default());
    }
    Ok(())
}

/// Bytes that are 0. Pages that are never used cost nothing, because the system clears a page when it is first touched; no
/// safe function that can fail has this advantage.
///
/// # Errors
/// `Memory`.
#[allow(unsafe_code)]
pub fn zeroed(bytes: usize) -> Result<Vec<u8>> {
    let layout = Layout::array::<u8>(bytes).map_err(|_| cannot_allocate::<u8>(bytes))?;
    if bytes == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout's size is not 0.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        return Err(cannot_allocate::<u8>(bytes));
    }
    // SAFETY: the global allocator, which is that of vectors, has just given this memory with the layout of `bytes`
    // bytes; all of them are initialised.
    Ok(unsafe { Vec::from_raw_parts(memory, bytes, bytes) })
}

/// An array of zeros.
///
/// # Errors
/// `Memory`.
pub fn zeros<const N: usize>() -> Result<Box<[u32; N]>> {
    let mut items = Vec::new();
    items.try_reserve_exact(N).map_err(|_| cannot_allocate::<u32>(N))?;
    items.resize(N, 0);
    let array = items.into_boxed_slice().try_into();
    array.map_err(|_| Error::new(ErrorKind::Internal, "an array of another length was made"))
}

/// Copies bytes into new memory.
///
/// # Errors
/// `Memory`.
pub fn copy(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    reserve(&mut copy, bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

#[cold]
fn cannot_allocate<T>(items: usize) -> Error {
    Error::memory(items.saturating_mul(size_of::<T>()))
}

/// Makes the state of a compressor or decompressor, less than 1 MiB, by code that panics if it cannot allocate.
///
/// The memory is first allocated and freed again as a trial: a panic calls the panic hook, which prints, and may
/// need memory itself.
///
/// # Errors
/// `Memory`.
pub fn make<T>(what: &str, make: impl FnOnce() -> T) -> Result<T> {
    const STATE_BYTES: usize = 1 << 20;
    reserve(&mut Vec::<u8>::new(), STATE_BYTES)?;
    catch_unwind(AssertUnwindSafe(make))
        .map_err(|_| Error::new(ErrorKind::Memory, format!("cannot allocate {what}")))
}

/// Does work of this rank alone. After an error, what it worked on is not used again.
///
/// # Errors
/// Those of the work; `Internal` if it panics.
pub fn catch<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_allocated_is_an_error() {
        let mut bytes = vec![7_u8; 3];
        assert_eq!(resize(&mut bytes, u64::MAX >> 1).unwrap_err().kind(), ErrorKind::Memory);
        let error = reserve_count(&mut vec![0_u64], u64::MAX >> 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory);
        assert_eq!(bytes, [7; 3]);
        resize(&mut bytes, 5).unwrap();
        assert_eq!(bytes, [7, 7, 7, 0, 0]);
        grow(&mut bytes, 1).unwrap();
        assert_eq!(bytes.len(), 5);
        resize(&mut bytes, 1).unwrap();
        assert_eq!(zeroed(usize::MAX).unwrap_err().kind(), ErrorKind::Memory);
        assert_eq!((zeroed(0).unwrap(), zeroed(3).unwrap()), (vec![], vec![0; 3]));
        assert_eq!((copy(&bytes).unwrap(), *zeros::<2>().unwrap()), (vec![7], [0, 0]));
    }

    #[test]
    fn a_panic_is_an_error() {
        let error = catch(|| -> Result<()> { panic!("deliberately {}", 7) }).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Internal, "panic: deliberately 7".into()));
        assert_eq!(make("much", || panic!("no memory")).map(|()| 7).unwrap_err().kind(), ErrorKind::Memory);
    }
}
