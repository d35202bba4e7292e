//! Streams of tasks: bytes that each rank writes and reads independently of the others.

use super::arguments::Arguments;
use super::context::{Context, locally, on_writer, read_locally, scda_fcontext_t, with};
use super::memory::{Out, Room, Values, put};
use super::pointers::{PerRank, UserText};
use scda::Writer;
use scda::bindings::{BindingCalls, ReaderCalls, Sizes};
use scda_base::error::{Error, Result};
use std::ffi::{c_int, c_void};

/// Begins a set of streams, one for each rank (task). From now on each rank writes bytes to its own stream,
/// as many and as often as it likes, by `scda_stream_write`, until all ranks end the streams by
/// `scda_fwrite_streams_end`. In between, only `scda_fflush` and `scda_fcommit` may be called.
///
/// The file stores the streams in chunks: an array whose elements belong to the tasks in turn, with a block
/// before it and another array after it (docs/streams.md). The unused rest of a task's chunks takes no space
/// on disk if the file system supports holes.
///
/// Collective.
///
/// @param [in] f            The file, open for writing.
/// @param [in] userstr      The user string of the set, with which `scda_ffind_streams` finds it.
/// @param [in] len          Its length, or NULL.
/// @param [in] chunk_bytes  The size of a chunk, 1 to 2^30 bytes. It should be a multiple of the file
///                          system's block size, so that no two ranks write the same block. 0: a stripe of
///                          the file system, at least 1 MiB and at most 64 MiB.
/// @param [out] err         The error code.
/// @return                  `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE` if streams were begun and not ended, `SCDA_ERR_MEMORY`, and those of the
/// file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fwrite_streams_begin(
    f: *mut scda_fcontext_t,
    userstr: UserText<'_>,
    len: Option<&usize>,
    chunk_bytes: u64,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let user = writer.user_string(userstr, len)?;
        writer.begin_streams(user, chunk_bytes)
    };
    on_writer(f, err, body)
}

/// Appends bytes to this rank's stream. No message is sent. Long data are written directly from `data`, short
/// ones are collected.
///
/// Not collective. An error is returned on this rank at once, and on all ranks by the next call in which they
/// agree, that is, `scda_fflush`, `scda_fcommit` or `scda_fwrite_streams_end`. Until then `f` stays open.
///
/// @param [in] f      The file, open for writing, between `scda_fwrite_streams_begin` and
///                    `scda_fwrite_streams_end`.
/// @param [in] data   The bytes. May be NULL if there are none.
/// @param [in] bytes  The number of bytes.
/// @param [out] err   The error code.
/// @return            0, or -1 on error.
/// Errors: `SCDA_ERR_USAGE` if there are no streams, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those of
/// the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_stream_write(
    f: *mut scda_fcontext_t,
    data: Values<'_, c_void>,
    bytes: u64,
    err: Out<'_, c_int>,
) -> c_int {
    let body = |context: &mut Context| {
        let Context::Writing(writer) = context else {
            return Err(Error::usage("this function writes, but the file is open for reading"));
        };
        match data.bytes(bytes) {
            Ok(data) => writer.write_stream(data),
            Err(error) => {
                writer.refuse(error.again());
                Err(error)
            }
        }
    };
    locally(f, err, body)
}

/// Ends the streams that `scda_fwrite_streams_begin` has begun.
///
/// Collective.
///
/// @param [in] f     The file, open for writing.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` if there are no streams, those that `scda_stream_write` returned on any rank,
/// `SCDA_ERR_RANGE`, and those of the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fwrite_streams_end(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    on_writer(f, err, |writer: &mut Writer| writer.end_streams())
}

/// Finds a set of streams by its user string. `scda_stream_read` then reads any part of any of its streams,
/// and `scda_fread_streams_data` all streams of this rank's share. An uncompressed varray is also a set, with
/// one stream for each element, unless it has the chunks of a dataset. Any number of sets may be found and
/// read in any order. Each is known by its number until the file is closed.
///
/// Collective. All ranks receive the same values.
///
/// @param [in] f             The file, open for reading. Its position does not change.
/// @param [in] userstr       The user string.
/// @param [in] len           Its length, or NULL.
/// @param [in] record        Which of the sets with this user string: `SCDA_LAST` is the last, -2 the one
///                           before it; 0 is the first in the file, 1 the next.
/// @param [out] streams      The number of the set, for the functions that read it; 0 if there is no such set. May be
///                           NULL.
/// @param [out] tasks        The number of streams, which is that of the ranks that wrote them. Not written
///                           if there is no such set. May be NULL.
/// @param [out] chunk_bytes  The size of a chunk in bytes; 0 if the streams are the elements of a varray. Not
///                           written if there is no such set. May be NULL.
/// @param [out] err          The error code: 0 also if there is no such set.
/// @return                   `f`, or NULL on error.
/// Errors: `SCDA_ERR_FORMAT` also if another section or a dataset has this user string; `SCDA_ERR_ARG`, and those of
/// `scda_ffind`, `scda_fseek` and `scda_fread_section_header`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_ffind_streams(
    f: *mut scda_fcontext_t,
    userstr: UserText<'_>,
    len: Option<&usize>,
    record: i64,
    streams: Out<'_, u64>,
    tasks: Out<'_, u64>,
    chunk_bytes: Out<'_, u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let user = reader.user_string(userstr, len)?;
        let found = reader.streams_record(user, record)?;
        if let Some(set) = &found {
            put(tasks, set.tasks());
            put(chunk_bytes, set.chunk_bytes());
        }
        put(streams, found.map_or(0, |set| given.keep_streams(set)));
        Ok(())
    };
    with(f, err, body)
}

/// Returns the size of a stream.
///
/// Not collective: each rank may ask for any streams. After an error `f` stays open.
///
/// @param [in] f        The file, open for reading.
/// @param [in] streams  The set, as found by `scda_ffind_streams`.
/// @param [in] task     The number of the stream, from 0 to the number of tasks minus 1.
/// @param [out] bytes   Its size in bytes. Must not be NULL.
/// @param [out] err     The error code.
/// @return              0, or -1 on error.
/// Errors: `SCDA_ERR_ARG` also if there is no such set or stream, `SCDA_ERR_FORMAT`,
/// `SCDA_ERR_MEMORY`, and those of the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_stream_size(
    f: *mut scda_fcontext_t,
    streams: u64,
    task: u64,
    bytes: Out<'_, u64>,
    err: Out<'_, c_int>,
) -> c_int {
    let body = |context: &mut Context| {
        let bytes = bytes.ok_or_else(|| Error::argument("bytes is NULL"))?;
        let (_, stream) = read_locally(context, streams, task)?;
        bytes.write(stream.bytes());
        Ok(())
    };
    locally(f, err, body)
}

/// Reads bytes of a stream.
///
/// Not collective: each rank may read any bytes of any streams, including those that other ranks read. After
/// an error `f` stays open.
///
/// @param [in] f        The file, open for reading.
/// @param [in] streams  The set, as found by `scda_ffind_streams`.
/// @param [in] task     The number of the stream, from 0 to the number of tasks minus 1.
/// @param [in] offset   The first byte to read, from 0.
/// @param [out] data    Room for the bytes. May be NULL if there are none.
/// @param [in] bytes    The number of bytes, at most as many as the stream has from `offset` on.
/// @param [out] err     The error code.
/// @return              0, or -1 on error.
/// Errors: those of `scda_stream_size`; `SCDA_ERR_ARG` also if the stream has fewer bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_stream_read(
    f: *mut scda_fcontext_t,
    streams: u64,
    task: u64,
    offset: u64,
    data: Room<'_, c_void>,
    bytes: u64,
    err: Out<'_, c_int>,
) -> c_int {
    let body = |context: &mut Context| -> Result<()> {
        let (reader, stream) = read_locally(context, streams, task)?;
        stream.check_range(offset, bytes)?;
        stream.read(reader, offset, data.bytes(bytes)?)
    };
    locally(f, err, body)
}

/// Reads the size of each stream in this rank's share, for `scda_fread_streams_data`.
///
/// The streams are distributed over the ranks like the elements of an array, in the order of the tasks: if
/// there are fewer ranks than tasks, a rank has several. To read streams independently of such a partition,
/// use `scda_stream_read`.
///
/// Collective; `Ei` may differ between the ranks.
///
/// @param [in] f        The file, open for reading. Its position does not change.
/// @param [in] streams  The set, as found by `scda_ffind_streams`. The same on all ranks.
/// @param [out] Ei      Room for the size of each stream of this rank. NULL skips them on this rank.
/// @param [in] Nq       The number of streams on each rank. The sum is the number of tasks.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` also if there is no such set, `SCDA_ERR_RANGE`, `SCDA_ERR_FORMAT`, `SCDA_ERR_MEMORY`, and
/// those of the file system.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_streams_sizes(
    f: *mut scda_fcontext_t,
    streams: u64,
    Ei: Room<'_, u64>,
    Nq: PerRank<'_>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let streams = reader.require(given.streams(streams))?;
        let (counts, count) = reader.counts(Nq)?;
        let sizes = Ei.optional(count, "Ei");
        reader.read_streams_sizes_if_valid(streams, counts, sizes)
    };
    with(f, err, body)
}

/// Reads all streams in this rank's share, in the order of the tasks.
///
/// Collective; `dbytes`, `Ei` and `indirect` may differ between the ranks. `Nq` may differ from that with
/// which the sizes were read.
///
/// @param [in] f         The file, open for reading. Its position does not change.
/// @param [in] streams   The set, as found by `scda_ffind_streams`. The same on all ranks.
/// @param [out] dbytes   Room for the streams of this rank, without gaps, or NULL.
/// @param [in] Nq        The number of streams on each rank. The sum is the number of tasks.
/// @param [in] Ei        The size of each stream of this rank, as returned by `scda_fread_streams_sizes`.
///                       Ignored if `dbytes` is NULL.
/// @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each stream; NULL skips one.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: those of `scda_fread_streams_sizes`; `SCDA_ERR_ARG` also if `Ei` differs from the sizes in the
/// file.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fread_streams_data(
    f: *mut scda_fcontext_t,
    streams: u64,
    dbytes: Room<'_, c_void>,
    Nq: PerRank<'_>,
    Ei: Values<'_, u64>,
    indirect: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let streams = reader.require(given.streams(streams))?;
        let (counts, count) = reader.counts(Nq)?;
        let count = if dbytes.is_null() { 0 } else { count };
        let sizes = Ei.get(count, "Ei");
        let each = *sizes.as_ref().unwrap_or(&[].as_slice());
        dbytes.with_sink(sizes.map(Sizes::Each), indirect != 0, |data| {
            reader.read_streams_if_valid(streams, counts, data.map(|data| (each, data)))
        })
    };
    with(f, err, body)
}
