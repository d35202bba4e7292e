//! Writes sections.

use super::arrays::ArrayIn;
use super::errors::{on_writer, sc_scda_ferror};
use super::files::written_user_string;
use scda::bindings::{BindingCalls, Operation, Sizes, ThisRank, WriterCalls};
use scda::{Encode, Writer};
use scda_c::arguments::Arguments;
use scda_c::context::scda_fcontext_t;
use scda_c::memory::Out;
use scda_c::pointers::UserText;
use scda_format::INLINE_BYTES;
use std::ffi::c_int;

/// Converts a truth value of libsc.
fn encoding(encode: c_int) -> Encode {
    if encode == 0 { Encode::None } else { Encode::Always }
}

/// Like [`scda_c::scda_fwrite_inline`]: on `root`, an array with one element of 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fwrite_inline(
    fc: *mut scda_fcontext_t,
    userstr: UserText<'_>,
    len: Option<&usize>,
    inline_data: ArrayIn<'_>,
    root: c_int,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let root = writer.root(root)?;
        let user = writer.require(written_user_string(userstr, len))?;
        let data = inline_data.one(root.own_bytes(INLINE_BYTES as u64), "inline_data");
        let data = data.map(|data| data.first_chunk().unwrap_or(&[0; INLINE_BYTES]));
        writer.write(None, Operation::Inline { user, root: root.rank, data: data.as_ref().copied() })
    };
    on_writer(fc, errcode, body)
}

/// Like [`scda_c::scda_fwrite_block`]: on `root`, an array with one element of `block_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fwrite_block(
    fc: *mut scda_fcontext_t,
    userstr: UserText<'_>,
    len: Option<&usize>,
    block_data: ArrayIn<'_>,
    block_size: usize,
    root: c_int,
    encode: c_int,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let root = writer.root(root)?;
        let user = writer.require(written_user_string(userstr, len))?;
        let size = block_size as u64;
        let data = block_data.one(root.own_bytes(size), "block_data");
        let (data, encode) = (data.as_ref().copied(), encoding(encode));
        writer.write(None, Operation::Block { user, root: root.rank, size, data, encode })
    };
    on_writer(fc, errcode, body)
}

/// Like [`scda_c::scda_fwrite_array`]: `elem_counts` has a number for each rank; `array_data` has this rank's
/// elements, or with `indirect` an array of one element for each of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fwrite_array(
    fc: *mut scda_fcontext_t,
    userstr: UserText<'_>,
    len: Option<&usize>,
    array_data: ArrayIn<'_>,
    elem_counts: ArrayIn<'_>,
    elem_size: usize,
    indirect: c_int,
    encode: c_int,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let user = writer.require(written_user_string(userstr, len))?;
        let ThisRank { rank, size: ranks } = writer.ranks();
        let counts = writer.require(elem_counts.numbers(ranks as u64, "elem_counts"))?;
        let (count, size) = (counts[rank], elem_size as u64);
        array_data.with_source(Ok(Sizes::Fixed { count, size }), indirect != 0, |data| {
            let (data, encode) = (data.as_ref().copied(), encoding(encode));
            writer.write(None, Operation::Array { user, counts, size, data, encode })
        })
    };
    on_writer(fc, errcode, body)
}

/// Like [`scda_c::scda_fwrite_varray`]: `elem_counts` and `proc_sizes` have a number for each rank,
/// `elem_sizes` one for each element of this rank; `array_data` has its bytes, or with `indirect` an array
/// of one element for each of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fwrite_varray(
    fc: *mut scda_fcontext_t,
    userstr: UserText<'_>,
    len: Option<&usize>,
    array_data: ArrayIn<'_>,
    elem_counts: ArrayIn<'_>,
    elem_sizes: ArrayIn<'_>,
    proc_sizes: ArrayIn<'_>,
    indirect: c_int,
    encode: c_int,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let user = writer.require(written_user_string(userstr, len))?;
        let ThisRank { rank, size: ranks } = writer.ranks();
        let counts = writer.require(elem_counts.numbers(ranks as u64, "elem_counts"))?;
        let sums = writer.require(proc_sizes.numbers(ranks as u64, "proc_sizes"))?;
        let sizes = elem_sizes.numbers(counts[rank], "elem_sizes");
        let each = *sizes.as_ref().unwrap_or(&[].as_slice());
        array_data.with_source(sizes.map(Sizes::Each), indirect != 0, |data| {
            let data = data.as_ref().map(|data| (each, *data));
            let (proc_sizes, encode) = (Some(sums), encoding(encode));
            writer.write(None, Operation::Varray { user, counts, proc_sizes, data, encode })
        })
    };
    on_writer(fc, errcode, body)
}
