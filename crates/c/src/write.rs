//! Writing sections.

use super::arguments::Arguments;
use super::context::{on_writer, scda_fcontext_t};
use super::encode::encoding;
use super::memory::{Out, Values};
use super::pointers::{PerRank, UserText};
use scda::bindings::{Operation, Sizes, WriterCalls};
use scda::{Source, Writer};
use scda_base::error::Result;
use scda_format::INLINE_BYTES;
use scda_storage::lent_memory::LentMemory;
use std::ffi::{c_int, c_void};

/// The data of a call as lent memory, which is used only with `params.lend`.
pub(super) fn lent<E>(data: &Result<&[u8], E>) -> Option<LentMemory> {
    // SAFETY: with `params.lend`, C promises not to change or free the memory; otherwise it is not used.
    data.as_ref().ok().map(|data| unsafe { LentMemory::new(data) })
}

/// Writes an inline section: 32 bytes of one rank.
///
/// Collective; `dbytes` may differ between the ranks.
///
/// @param [in] f        The file, open for writing.
/// @param [in] dbytes   On `root` 32 bytes.
/// @param [in] userstr  The user string.
/// @param [in] len      Its length, or NULL.
/// @param [in] root     The rank that has the data.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, and those of the file system.
/// Spec: 2.3, A.4.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fwrite_inline(
    f: *mut scda_fcontext_t,
    dbytes: Values<'_, c_void>,
    userstr: UserText<'_>,
    len: Option<&usize>,
    root: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let root = writer.root(root)?;
        let user = writer.user_string(userstr, len)?;
        let data = dbytes.bytes(root.own_bytes(INLINE_BYTES as u64));
        let data = data.map(|data| data.first_chunk().unwrap_or(&[0; INLINE_BYTES]));
        writer.write(None, Operation::Inline { user, root: root.rank, data: data.as_ref().copied() })
    };
    on_writer(f, err, body)
}

/// Writes a block: `E` bytes of one rank.
///
/// Collective; `dbytes` may differ between the ranks.
///
/// @param [in] f        The file, open for writing.
/// @param [in] dbytes   On `root` `E` bytes.
/// @param [in] E        The size of the block in bytes.
/// @param [in] userstr  The user string.
/// @param [in] len      Its length, or NULL.
/// @param [in] root     The rank that has the data.
/// @param [in] encode   Whether to compress.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those of the
/// file system.
/// Spec: 2.4, 3.2, A.4.2.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fwrite_block(
    f: *mut scda_fcontext_t,
    dbytes: Values<'_, c_void>,
    E: u64,
    userstr: UserText<'_>,
    len: Option<&usize>,
    root: c_int,
    encode: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let root = writer.root(root)?;
        let encode = writer.require(encoding(encode))?;
        let user = writer.user_string(userstr, len)?;
        let data = dbytes.bytes(root.own_bytes(E));
        let (memory, data) = (lent(&data), data.as_ref().copied());
        writer.write(memory, Operation::Block { user, root: root.rank, size: E, data, encode })
    };
    on_writer(f, err, body)
}

/// Writes an array: elements of equal size, distributed over the ranks in their order.
///
/// Collective; `dbytes` may differ between the ranks.
///
/// @param [in] f         The file, open for writing.
/// @param [in] dbytes    The elements of this rank.
/// @param [in] Nq        The number of elements on each rank.
/// @param [in] E         The size of each element in bytes.
/// @param [in] indirect  0: `dbytes` are the data. Otherwise: pointers to them.
/// @param [in] userstr   The user string.
/// @param [in] len       Its length, or NULL.
/// @param [in] encode    Whether to compress.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those of the
/// file system.
/// Spec: 2.5, 3.3, A.4.3.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fwrite_array(
    f: *mut scda_fcontext_t,
    dbytes: Values<'_, c_void>,
    Nq: PerRank<'_>,
    E: u64,
    indirect: c_int,
    userstr: UserText<'_>,
    len: Option<&usize>,
    encode: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let encode = writer.require(encoding(encode))?;
        let user = writer.user_string(userstr, len)?;
        let (counts, count) = writer.counts(Nq)?;
        let sizes = Ok(Sizes::Fixed { count, size: E });
        dbytes.with_source(sizes, indirect != 0, |data| {
            let memory = lent(&data.as_ref().map(Source::contiguous));
            let data = data.as_ref().copied();
            writer.write(memory, Operation::Array { user, counts, size: E, data, encode })
        })
    };
    on_writer(f, err, body)
}

/// Writes a varray: elements with individual sizes, distributed over the ranks in their order.
///
/// Collective; `dbytes` and `Ei` may differ between the ranks.
///
/// @param [in] f         The file, open for writing.
/// @param [in] dbytes    The elements of this rank.
/// @param [in] Nq        The number of elements on each rank.
/// @param [in] Ei        The size of each element of this rank.
/// @param [in] Sq        The number of bytes on each rank, or NULL.
/// @param [in] indirect  0: `dbytes` are the data. Otherwise: pointers to them.
/// @param [in] userstr   The user string.
/// @param [in] len       Its length, or NULL.
/// @param [in] encode    Whether to compress.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those of the
/// file system.
/// Spec: 2.6, 3.4, A.4.4.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fwrite_varray(
    f: *mut scda_fcontext_t,
    dbytes: Values<'_, c_void>,
    Nq: PerRank<'_>,
    Ei: Values<'_, u64>,
    Sq: PerRank<'_>,
    indirect: c_int,
    userstr: UserText<'_>,
    len: Option<&usize>,
    encode: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let encode = writer.require(encoding(encode))?;
        let user = writer.user_string(userstr, len)?;
        let (counts, count) = writer.counts(Nq)?;
        let sums = writer.sums(Sq)?;
        let sizes = Ei.get(count, "Ei");
        let each = *sizes.as_ref().unwrap_or(&[].as_slice());
        dbytes.with_source(sizes.map(Sizes::Each), indirect != 0, |data| {
            let memory = lent(&data.as_ref().map(Source::contiguous));
            let data = data.as_ref().map(|data| (each, *data));
            writer.write(memory, Operation::Varray { user, counts, proc_sizes: sums, data, encode })
        })
    };
    on_writer(f, err, body)
}
