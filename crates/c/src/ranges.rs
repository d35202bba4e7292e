//! Reads some elements of a section on each rank.

use super::context::{on_reader, scda_fcontext_t};
use super::memory::{Out, Room, Values};
use scda::Reader;
use scda::bindings::{ReaderCalls, Sizes};
use scda_base::error::{Error, Result};
use std::ffi::{c_int, c_void};
use std::ops::Range;

/// The range of elements from `first` on.
fn range(first: u64, count: u64) -> Result<Range<u64>> {
    let end = first.checked_add(count).ok_or_else(|| no_range(first, count))?;
    Ok(first..end)
}

#[cold]
fn no_range(first: u64, count: u64) -> Error {
    Error::range(format!("first, count: the sum of {first} and {count} exceeds 64 bits"))
}

/// Reads some bytes of a block on each rank. Ranks may read any bytes, including the same ones, or none.
///
/// Further ranges of the same section may follow, or `scda_fread_block_data`. The next call of
/// `scda_fread_section_header` or `scda_fseek` leaves the section.
///
/// A compressed block is decompressed completely for each range.
///
/// Collective; all arguments may differ between the ranks.
///
/// @param [in] f        The file, open for reading, after the header of a section 'B'.
/// @param [out] dbytes  Room for `bytes` bytes. NULL skips them on this rank.
/// @param [in] first    The first byte, from 0.
/// @param [in] bytes    The number of bytes; 0 reads nothing. `first` + `bytes` is at most E.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_DECODE`, `SCDA_ERR_MEMORY`, and
/// those of the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_block_range(
    f: *mut scda_fcontext_t,
    dbytes: Room<'_, c_void>,
    first: u64,
    bytes: u64,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let data = (!dbytes.is_null()).then(|| dbytes.bytes(bytes));
        let part = range(first, bytes).and_then(|range| Ok((range, data.transpose()?)));
        reader.read_block_range_if_valid(part)
    };
    on_reader(f, err, body)
}

/// Reads some elements of an array on each rank. Ranks may read any elements, including the same ones, or
/// none.
///
/// Further ranges of the same section may follow, or `scda_fread_array_data`. The next call of
/// `scda_fread_section_header` or `scda_fseek` leaves the section.
///
/// The offset of an element of a compressed array follows from the sizes of those before it. A seal has the
/// offset of each 4096th element, from which sizes are read; without a seal, they are read from the first
/// element on, or from the end of this rank's last range if that is nearer.
///
/// Collective; all arguments except `E` may differ between the ranks.
///
/// @param [in] f         The file, open for reading, after the header of a section 'A'.
/// @param [out] dbytes   Room for the elements, or NULL.
/// @param [in] first     The first element of this rank, from 0.
/// @param [in] count     The number of elements of this rank; 0 reads nothing. `first` + `count` is at most
///                       N.
/// @param [in] E         The size of each element, as in the header.
/// @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each element.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`, `SCDA_ERR_FORMAT`,
/// `SCDA_ERR_DECODE`, `SCDA_ERR_CHECKSUM`, `SCDA_ERR_MEMORY`, and those of the file system.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_array_range(
    f: *mut scda_fcontext_t,
    dbytes: Room<'_, c_void>,
    first: u64,
    count: u64,
    E: u64,
    indirect: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let sizes = Ok(Sizes::Fixed { count, size: E });
        dbytes.with_sink(sizes, indirect != 0, |data| {
            let part = range(first, count).and_then(|range| Ok((range, data?)));
            reader.read_array_range_if_valid(E, part)
        })
    };
    on_reader(f, err, body)
}

/// Reads the sizes of some elements of a varray on each rank. Ranks may read any of them, including the same
/// ones, or none.
///
/// Further ranges of the same section may follow, or `scda_fread_varray_sizes` if no data were read. The next
/// call of `scda_fread_section_header` or `scda_fseek` leaves the section.
///
/// Collective; all arguments may differ between the ranks.
///
/// @param [in] f      The file, open for reading, after the header of a section 'V'.
/// @param [out] Ei    Room for the size of each of these elements. NULL skips them on this rank.
/// @param [in] first  The first element of this rank, from 0.
/// @param [in] count  The number of elements of this rank; 0 reads nothing. `first` + `count` is at most N.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`, `SCDA_ERR_FORMAT`,
/// `SCDA_ERR_DECODE`, and those of the file system.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_varray_sizes_range(
    f: *mut scda_fcontext_t,
    Ei: Room<'_, u64>,
    first: u64,
    count: u64,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let part = range(first, count).and_then(|range| Ok((range, Ei.optional(count, "Ei")?)));
        reader.read_varray_sizes_range_if_valid(part)
    };
    on_reader(f, err, body)
}

/// Reads some elements of a varray on each rank. Ranks may read any elements, including the same ones, or
/// none. Their sizes must be known, for instance from `scda_fread_varray_sizes_range`.
///
/// Further ranges of the same section may follow. The next call of `scda_fread_section_header` or
/// `scda_fseek` leaves the section. Offsets are found as in a compressed array by `scda_fread_array_range`.
///
/// Collective; all arguments may differ between the ranks.
///
/// @param [in] f         The file, open for reading, after the header of a section 'V'.
/// @param [out] dbytes   Room for the elements, or NULL.
/// @param [in] first     The first element of this rank, from 0.
/// @param [in] count     The number of elements of this rank; 0 reads nothing. `first` + `count` is at most
///                       N.
/// @param [in] Ei        The size of each of these elements, as in the file. Ignored if `dbytes` is NULL.
/// @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each element.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`, `SCDA_ERR_FORMAT`,
/// `SCDA_ERR_DECODE`, `SCDA_ERR_CHECKSUM`, `SCDA_ERR_MEMORY`, and those of the file system.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_varray_range(
    f: *mut scda_fcontext_t,
    dbytes: Room<'_, c_void>,
    first: u64,
    count: u64,
    Ei: Values<'_, u64>,
    indirect: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let wanted = if dbytes.is_null() { 0 } else { count };
        let sizes = Ei.get(wanted, "Ei");
        let each = *sizes.as_ref().unwrap_or(&[].as_slice());
        dbytes.with_sink(sizes.map(Sizes::Each), indirect != 0, |data| {
            let part = range(first, count).and_then(|range| Ok((range, data?)));
            reader.read_varray_range_if_valid(each, part)
        })
    };
    on_reader(f, err, body)
}
