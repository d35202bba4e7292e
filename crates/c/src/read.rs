//! Reading sections.

use super::Outcome;
use super::arguments::Arguments;
use super::context::{on_reader, scda_fcontext_t};
use super::memory::{Out, Room, Values, put};
use super::pointers::{PerRank, UserTextOut};
use scda::Reader;
use scda::bindings::{ReaderCalls, Sizes};
use scda_format::INLINE_BYTES;
use std::ffi::{c_char, c_int, c_void};

/// Reads the header of the next section. The function for the type of the section must then read or
/// skip its data.
///
/// Collective. All ranks receive the same values.
///
/// At the end of the file `*err` is `SCDA_ERR_EOF`, nothing else is written, and `f` is returned: the
/// file stays open.
///
/// @param [in] f           The file, open for reading.
/// @param [out] type       The type: 'I', 'B', 'A' or 'V'. May be NULL.
/// @param [out] N          The number of elements of an array ('A') or varray ('V'), otherwise 0. May be
///                         NULL.
/// @param [out] E          The size in bytes of a block ('B') or of each element of an array ('A'),
///                         otherwise 0. May be NULL.
/// @param [out] userstr    The user string.
/// @param [out] len        Its length.
/// @param [in,out] decode  In: nonzero to decompress the section if it is compressed. Out: nonzero if it
///                         is decompressed; type, N, E and user string are then those of the data before
///                         compression. NULL: nothing is decompressed.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_FORMAT`, `SCDA_ERR_COUNT`, `SCDA_ERR_RANGE`,
/// `SCDA_ERR_DECODE`, and those of the file system.
/// Spec: A.5.1.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_section_header(
    f: *mut scda_fcontext_t,
    r#type: Out<'_, c_char>,
    N: Out<'_, u64>,
    E: Out<'_, u64>,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    decode: Option<&mut c_int>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let wanted = decode.as_ref().is_some_and(|decode| **decode != 0);
        let Some(section) = reader.next_header(wanted)? else {
            return Ok(Outcome::EndOfFile);
        };
        let letter = c_char::from_ne_bytes([section.section_type.letter()]);
        put(r#type, letter);
        put(N, section.count);
        put(E, section.size);
        userstr.put(&section.user, len);
        if let Some(decode) = decode {
            *decode = c_int::from(section.decoded);
        }
        Ok(Outcome::Success)
    };
    on_reader(f, err, body)
}

/// Reads or skips the data of an inline section.
///
/// Collective; `dbytes` may differ between the ranks.
///
/// @param [in] f        The file, open for reading, after the header of a section 'I'.
/// @param [out] dbytes  On `root` room for 32 bytes; NULL there skips them.
/// @param [in] root     The rank that receives the data.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, and those of the file system.
/// Spec: A.5.2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_inline_data(
    f: *mut scda_fcontext_t,
    dbytes: Room<'_, c_void>,
    root: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let root = reader.root(root)?;
        let bytes = if dbytes.is_null() { 0 } else { root.own_bytes(INLINE_BYTES as u64) };
        let data = reader.require(dbytes.bytes(bytes))?;
        reader.read_inline(root.rank, data.first_chunk_mut())
    };
    on_reader(f, err, body)
}

/// Reads or skips the data of a block.
///
/// Collective; `dbytes` may differ between the ranks.
///
/// @param [in] f        The file, open for reading, after the header of a section 'B'.
/// @param [out] dbytes  On `root` room for `E` bytes; NULL there skips them.
/// @param [in] E        The size of the block, as in the header.
/// @param [in] root     The rank that receives the data.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_DECODE`, `SCDA_ERR_MEMORY`, and those of the
/// file system.
/// Spec: A.5.3.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_block_data(
    f: *mut scda_fcontext_t,
    dbytes: Room<'_, c_void>,
    E: u64,
    root: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let root = reader.root(root)?;
        let wanted = root.is_here && !dbytes.is_null();
        let data = wanted.then(|| dbytes.bytes(E)).transpose();
        reader.read_block_if_valid(E, root.rank, data)
    };
    on_reader(f, err, body)
}

/// Reads or skips the data of an array.
///
/// Collective; `dbytes` may differ between the ranks.
///
/// @param [in] f         The file, open for reading, after the header of a section 'A'.
/// @param [out] dbytes   Room for the elements of this rank, or NULL.
/// @param [in] Nq        The number of elements on each rank. The sum is N.
/// @param [in] E         The size of each element, as in the header.
/// @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each element.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`,
/// `SCDA_ERR_FORMAT`, `SCDA_ERR_DECODE`, `SCDA_ERR_MEMORY`, and those of the file system.
/// Spec: A.5.4.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_array_data(
    f: *mut scda_fcontext_t,
    dbytes: Room<'_, c_void>,
    Nq: PerRank<'_>,
    E: u64,
    indirect: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (counts, count) = reader.counts(Nq)?;
        let sizes = Sizes::Fixed { count, size: E };
        dbytes.with_sink(Ok(sizes), indirect != 0, |data| reader.read_array_if_valid(counts, E, data))
    };
    on_reader(f, err, body)
}

/// Reads or skips the sizes of the elements of a varray. Required before `scda_fread_varray_data`.
///
/// Collective; `Ei` may differ between the ranks.
///
/// @param [in] f     The file, open for reading, after the header of a section 'V'.
/// @param [out] Ei   Room for the size of each element of this rank. NULL skips them on this rank.
/// @param [in] Nq    The number of elements on each rank. The sum is N.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`,
/// `SCDA_ERR_FORMAT`, `SCDA_ERR_DECODE`, and those of the file system.
/// Spec: A.5.5.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_varray_sizes(
    f: *mut scda_fcontext_t,
    Ei: Room<'_, u64>,
    Nq: PerRank<'_>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (counts, count) = reader.counts(Nq)?;
        let sizes = Ei.optional(count, "Ei");
        reader.read_varray_sizes_if_valid(counts, sizes)
    };
    on_reader(f, err, body)
}

/// Reads or skips the data of a varray, after `scda_fread_varray_sizes`.
///
/// Collective; `dbytes` and `Ei` may differ between the ranks. `Nq` may differ from the one with which
/// the sizes were read.
///
/// @param [in] f         The file, open for reading, after the sizes of a section 'V'.
/// @param [out] dbytes   Room for the elements of this rank, or NULL.
/// @param [in] Nq        The number of elements on each rank. The sum is N.
/// @param [in] Ei        The size of each element of this rank, as in the file. Ignored if `dbytes` is
///                       NULL.
/// @param [in] Sq        The number of bytes on each rank, or NULL.
/// @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each element.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`,
/// `SCDA_ERR_FORMAT`, `SCDA_ERR_DECODE`, `SCDA_ERR_MEMORY`, and those of the file system.
/// Spec: A.5.6.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_varray_data(
    f: *mut scda_fcontext_t,
    dbytes: Room<'_, c_void>,
    Nq: PerRank<'_>,
    Ei: Values<'_, u64>,
    Sq: PerRank<'_>,
    indirect: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (counts, count) = reader.counts(Nq)?;
        let sums = reader.sums(Sq)?;
        let count = if dbytes.is_null() { 0 } else { count };
        let sizes = Ei.get(count, "Ei");
        let each = *sizes.as_ref().unwrap_or(&[].as_slice());
        dbytes.with_sink(sizes.map(Sizes::Each), indirect != 0, |data| {
            reader.read_varray_if_valid(counts, sums, data.map(|data| (each, data)))
        })
    };
    on_reader(f, err, body)
}
