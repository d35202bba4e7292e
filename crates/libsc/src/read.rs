//! Reads sections. A call out of order is reported before its arguments are checked.

use super::arrays::{ArrayIn, ArrayOut};
use super::errors::{on_reader, sc_scda_ferror};
use super::files::not_null;
use scda::Reader;
use scda::bindings::{BindingCalls, ReaderCalls, Sizes, ThisRank};
use scda_base::error::{Error, ErrorKind, Result};
use scda_c::arguments::Arguments;
use scda_c::context::scda_fcontext_t;
use scda_c::memory::{Out, put};
use scda_c::pointers::UserTextOut;
use scda_format::INLINE_BYTES;
use std::ffi::{c_char, c_int};

/// Reports counts in the file that exceed 63 bits as an error of the format, as libsc does.
fn range_is_format(error: Error) -> Error {
    if error.kind() == ErrorKind::Range { error.with_kind(ErrorKind::Format) } else { error }
}

/// The counts of all ranks, and the data for them. If the counts are an error, it becomes the error of the
/// data.
fn counts_or<'a, T>(
    counts: Result<&'a [u64]>,
    data: impl FnOnce(&'a [u64]) -> Result<T>,
) -> (&'a [u64], Result<T>) {
    match counts {
        Ok(counts) => (counts, data(counts)),
        Err(error) => (&[], Err(error)),
    }
}

/// Like [`scda_c::scda_fread_section_header`]. No pointer may be NULL. `*decode` is taken from rank 0. The
/// end of the file is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fread_section_header(
    fc: *mut scda_fcontext_t,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    r#type: Out<'_, c_char>,
    elem_count: Out<'_, usize>,
    elem_size: Out<'_, usize>,
    decode: Option<&mut c_int>,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let are_null = [
            userstr.is_null(),
            len.is_none(),
            r#type.is_none(),
            elem_count.is_none(),
            elem_size.is_none(),
            decode.is_none(),
        ];
        let wanted = not_null("user_string, len, type, elem_count, elem_size or decode", &are_null);
        let wanted = wanted.map(|()| u64::from(decode.as_ref().is_some_and(|decode| **decode != 0)));
        let wanted = reader.of_first_rank(wanted)? != 0;
        let Some(section) = reader.next_section(wanted).map_err(range_is_format)? else {
            let end = Error::new(ErrorKind::EndOfFile, "found the end of the file, expected a section");
            return Err(reader.fail(end));
        };
        let narrow = |number: u64| {
            usize::try_from(number).map_err(|_| {
                Error::range(format!("section: found {number} in its header, more than a size_t can hold"))
            })
        };
        let (count, size) = (narrow(section.count), narrow(section.size));
        let count = reader.require(count)?;
        let size = reader.require(size)?;
        let letter = c_char::from_ne_bytes([section.section_type.letter()]);
        put(r#type, letter);
        put(elem_count, count);
        put(elem_size, size);
        userstr.put(&section.user, len);
        if let Some(decode) = decode {
            *decode = c_int::from(section.decoded);
        }
        Ok(())
    };
    on_reader(fc, errcode, body)
}

/// Like [`scda_c::scda_fread_inline_data`]: on `root`, an array with one element of 32 bytes, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fread_inline_data(
    fc: *mut scda_fcontext_t,
    data: ArrayOut<'_>,
    root: c_int,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let root = reader.root(root)?;
        let wanted = root.is_here && !data.is_null();
        let data = wanted.then(|| data.one(INLINE_BYTES as u64, "data")).transpose();
        let data = reader.require(data)?;
        reader.read_inline(root.rank, data.and_then(<[u8]>::first_chunk_mut))
    };
    on_reader(fc, errcode, body)
}

/// Like [`scda_c::scda_fread_block_data`]: on `root`, an array with one element of `block_size` bytes, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fread_block_data(
    fc: *mut scda_fcontext_t,
    block_data: ArrayOut<'_>,
    block_size: usize,
    root: c_int,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let root = reader.root(root)?;
        let size = block_size as u64;
        let wanted = root.is_here && !block_data.is_null();
        let data = wanted.then(|| block_data.one(size, "block_data")).transpose();
        reader.read_block_if_valid(size, root.rank, data)
    };
    on_reader(fc, errcode, body)
}

/// Like [`scda_c::scda_fread_array_data`], with the arrays of [`super::write::sc_scda_fwrite_array`], or NULL
/// for `array_data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fread_array_data(
    fc: *mut scda_fcontext_t,
    array_data: ArrayOut<'_>,
    elem_counts: ArrayIn<'_>,
    elem_size: usize,
    indirect: c_int,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let ThisRank { rank, size: ranks } = reader.ranks();
        let size = elem_size as u64;
        let counts = elem_counts.numbers(ranks as u64, "elem_counts");
        let (counts, count) = counts_or(counts, |counts| Ok(counts[rank]));
        array_data.with_sink(count.map(|count| Sizes::Fixed { count, size }), indirect != 0, |data| {
            reader.read_array_if_valid(counts, size, data)
        })
    };
    on_reader(fc, errcode, body)
}

/// Like [`scda_c::scda_fread_varray_sizes`]: `elem_counts` has a number for each rank, `elem_sizes` room for
/// one for each element of this rank, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fread_varray_sizes(
    fc: *mut scda_fcontext_t,
    elem_sizes: ArrayOut<'_>,
    elem_counts: ArrayIn<'_>,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let ThisRank { rank, size: ranks } = reader.ranks();
        let counts = elem_counts.numbers(ranks as u64, "elem_counts");
        let (counts, sizes) = counts_or(counts, |counts| {
            let wanted = !elem_sizes.is_null();
            wanted.then(|| elem_sizes.numbers(counts[rank], "elem_sizes")).transpose()
        });
        reader.read_varray_sizes_if_valid(counts, sizes).map_err(range_is_format)
    };
    on_reader(fc, errcode, body)
}

/// Like [`scda_c::scda_fread_varray_data`], with the arrays of [`super::write::sc_scda_fwrite_varray`], or NULL
/// for `array_data`, in which case `elem_sizes` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fread_varray_data(
    fc: *mut scda_fcontext_t,
    array_data: ArrayOut<'_>,
    elem_counts: ArrayIn<'_>,
    elem_sizes: ArrayIn<'_>,
    proc_sizes: ArrayIn<'_>,
    indirect: c_int,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let ThisRank { rank, size: ranks } = reader.ranks();
        let sums = proc_sizes.numbers(ranks as u64, "proc_sizes");
        let counts = elem_counts.numbers(ranks as u64, "elem_counts");
        let (counts, sizes) = counts_or(counts, |counts| {
            let count = if array_data.is_null() { 0 } else { counts[rank] };
            let elem_sizes = if count == 0 { ArrayIn::NULL } else { elem_sizes };
            elem_sizes.numbers(count, "elem_sizes")
        });
        let (sums, sizes) = match sums {
            Ok(sums) => (Some(sums), sizes),
            Err(error) => (None, Err(error)),
        };
        let each = *sizes.as_ref().unwrap_or(&[].as_slice());
        array_data.with_sink(sizes.map(Sizes::Each), indirect != 0, |data| {
            reader.read_varray_if_valid(counts, sums, data.map(|data| (each, data)))
        })
    };
    on_reader(fc, errcode, body)
}
