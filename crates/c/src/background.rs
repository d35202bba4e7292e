//! Commits and closes that a program begins and waits for later, and the statistics of a file.

use super::context::{Context, locally, run, run_close, scda_fcontext_t, was_closed_with, with};
use super::memory::{Out, put};
use super::versioned::{StructInOut, versioned};
use super::{Outcome, guard, has_error};
use scda::bindings::{BindingCalls, WriterCalls};
use scda::{CommitRequest, Reader, Statistics, Writer};
use scda_base::error::{Error, Result};
use scda_base::floats::in_default;
use std::ffi::c_int;
use std::ptr::null_mut;

/// A commit or close that has begun, to be completed by `scda_wait`. Its members belong to the library. A
/// request is waited for once; a copy of it is the same request.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_request {
    /// The file. NULL: no request.
    pub file: *mut scda_fcontext_t,
    /// The number of the commit of the file; 0: its close.
    pub number: u64,
}

/// A commit or close that has begun.
pub type scda_request_t = scda_request;

/// How this rank has spent its time, in seconds, since a file was opened, and its bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_statistics {
    /// The size of this struct in bytes, which the program sets before the call.
    pub size: usize,
    /// Time to agree with the other ranks, including the wait for the slowest one.
    pub agree_seconds: f64,
    /// Bytes that were copied for the background thread.
    pub copied_bytes: u64,
    /// Time to copy them.
    pub copy_seconds: f64,
    /// Time to wait for that thread: for memory, because `params.background_bytes` was not enough, or until
    /// everything was written.
    pub wait_seconds: f64,
    /// Bytes that compression has produced.
    pub encoded_bytes: u64,
    /// Time to compress, within calls.
    pub encode_seconds: f64,
    /// Bytes that this rank has written.
    pub written_bytes: u64,
    /// Time to write and compute checksums, by calls or by the background thread. After an access of up to 4 KiB
    /// that took less than 5 us, 15 more are taken for equal, as in `read_seconds`.
    pub write_seconds: f64,
    /// Time to bring the file to stable storage, by calls or by the background thread.
    pub sync_seconds: f64,
    /// Bytes that this rank has read.
    pub read_bytes: u64,
    /// Time to read them.
    pub read_seconds: f64,
    /// Bytes that decompression has produced.
    pub decoded_bytes: u64,
    /// Time to decompress.
    pub decode_seconds: f64,
}

/// How this rank has spent its time.
pub type scda_statistics_t = scda_statistics;

versioned!(scda_statistics_t, "statistics", "the program", of_statistics(&Statistics::default()), decode_seconds: f64);

/// No request.
const NONE: scda_request_t = scda_request_t { file: null_mut(), number: 0 };
/// The request of a call that failed to begin one; waiting for it fails, too.
const FAILED: scda_request_t = scda_request_t { file: null_mut(), number: u64::MAX };

/// The first half of `scda_fcommit`: returns once everything written before is copied. The background thread
/// writes it while the program computes; if `params.background_bytes` is 0, the calls have written it. The
/// second half, `scda_wait`, writes headers and the seal: only its success means that the data are on stable
/// storage.
///
/// The program may write the next sections before it waits. The next collective call on this file then
/// completes the commit first, and returns its error if it failed.
///
/// Collective.
///
/// @param [in] f         The file, open for writing with `params.seal`, or opened to append to a file with a seal.
/// @param [out] request  The request, for `scda_wait`. NULL: the next call completes it.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` for any other file; those of all calls so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fcommit_begin(
    f: *mut scda_fcontext_t,
    request: Out<'_, scda_request_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let mut begun = FAILED;
    let is_wanted = request.is_some();
    let body = |context: &mut Context| {
        let writer = context.writer()?;
        let number = writer.commit_begin()?.number();
        if !is_wanted {
            writer.forgo_wait();
        }
        begun = scda_request_t { file: f, number };
        #[cfg(feature = "mpi")]
        super::requests::note(f);
        Ok(())
    };
    let f = with(f, err, body);
    put(request, begun);
    f
}

/// The first half of `scda_fclose`, which also ends the use of `f`: returns once everything written before is
/// copied. The second half, `scda_wait`, closes the file: only its success means that every byte is in it.
///
/// Collective.
///
/// @param [in] f         The file. If it is open for reading, the ranks only agree.
/// @param [out] request  The request, for `scda_wait`. Must not be NULL.
/// @param [out] err      The error code.
/// @return               0 on success. On error the file is closed.
/// Errors: `SCDA_ERR_USAGE` while streams are open; `SCDA_ERR_ARG` if `request` is NULL on any rank; those of
/// all calls so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fclose_begin(
    f: *mut scda_fcontext_t,
    request: Out<'_, scda_request_t>,
    err: Out<'_, c_int>,
) -> c_int {
    let is_wanted = request.is_some();
    let mut begun = FAILED;
    let body = |context: &mut Context| {
        if !is_wanted {
            context.refuse(Error::argument("request is NULL"));
        }
        context.begin_close()?;
        #[cfg(feature = "mpi")]
        super::requests::note(f);
        begun = scda_request_t { file: f, number: 0 };
        Ok(())
    };
    let closed = with(f, err, body);
    put(request, begun);
    if closed.is_null() { -1 } else { 0 }
}

/// Whether this rank has written everything that it must write before `request` can be completed: then
/// `scda_wait` waits only for the other ranks and for the disk.
///
/// Not collective: no message is sent.
///
/// @param [in] request  The request. NULL and a completed one count as written.
/// @return              1 if it has, or after an error, which `scda_wait` returns; 0 otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_test(request: Option<&scda_request_t>) -> c_int {
    let request = request.copied().unwrap_or(NONE);
    guard(None, 1, || Ok((c_int::from(is_written(request)), Outcome::Success)))
}

/// Whether this rank has nothing left to write before a request can be completed.
fn is_written(request: scda_request_t) -> bool {
    let mut is_written = true;
    if !request.file.is_null() {
        locally(request.file, None, |context| {
            if let Context::Writing(writer) = context {
                is_written = match request.number {
                    0 => writer.is_settled(),
                    number => CommitRequest::of(number).test(writer),
                };
            }
            Ok(())
        });
    }
    is_written
}

/// Completes a commit or close that has begun. If this returns without an error, everything that was written
/// before it began is as safe as after `scda_fcommit` or `scda_fclose`. `scda_fclose_begin`, and a call that has
/// closed the file with success, have completed its commits: waiting for them then succeeds at once.
///
/// Collective over the ranks of the file, unless it is closed.
///
/// @param [in,out] request  The request, which is then no request. Must not be NULL. A struct that is no
///                          request, because all its members are 0 or because it was waited for, counts as
///                          complete, so a loop may wait before it begins its first commit.
/// @param [in,out] err      The error code. After an error the file is closed: its next call returns
///                          `SCDA_ERR_USAGE`. If there is no request because the call that should have begun
///                          it failed, the error in `*err` is not changed, or becomes `SCDA_ERR_ARG` if it is
///                          0.
/// @return                  0 on success.
/// Errors: those of `scda_fcommit` or `scda_fclose`; `SCDA_ERR_USAGE` if an earlier call on the file has
/// returned the error that closed it, and for a copy of a request that was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_wait(request: Option<&mut scda_request_t>, err: Out<'_, c_int>) -> c_int {
    let taken = request.map(|request| std::mem::replace(request, NONE));
    if taken.is_some_and(|request| request.file.is_null()) && has_error(&err) {
        return -1;
    }
    guard(err, -1, || taken.map_or_else(without_request, wait))
}

fn wait(scda_request_t { file, number }: scda_request_t) -> Result<(c_int, Outcome)> {
    if file.is_null() {
        return match number {
            0 => Ok((0, Outcome::Success)),
            _ => Err(Error::argument("request: the call that should have started it failed")),
        };
    }
    #[cfg(feature = "mpi")]
    if number == 0 || !super::requests::is_closing(file) {
        super::context::forget_begun(file);
    }
    match number {
        0 => run_close(file),
        number if was_closed_with(file, number) => Ok((0, Outcome::Success)),
        number => {
            run(file, |context| CommitRequest::of(number).wait(context.writer()?))?;
            Ok((0, Outcome::Success))
        }
    }
}

/// Fails because there is no request; on all ranks, if only one file can be meant.
fn without_request() -> Result<(c_int, Outcome)> {
    let why = || Error::argument("request is NULL");
    #[cfg(feature = "mpi")]
    if let Some(file) = super::requests::only() {
        super::context::forget_begun(file);
        run(file, |context| Err::<(), _>(context.fail(why())))?;
    }
    Err(why())
}

/// How this rank has spent its time since the file was opened. With the environment variable
/// `SCDA_STATISTICS=1`, rank 0 prints a line with the maximum over all ranks when a file is closed.
///
/// Not collective: no message is sent.
///
/// @param [in] f            The file.
/// @param [in,out] statistics  The times and bytes; the program sets `size` before. Must not be NULL.
/// @param [out] err         The error code. After an error the file stays open.
/// @return                  0 on success.
/// Errors: `SCDA_ERR_USAGE` for a file that is closed, `SCDA_ERR_ARG`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_get_statistics(
    f: *mut scda_fcontext_t,
    statistics: StructInOut<'_, scda_statistics_t>,
    err: Out<'_, c_int>,
) -> c_int {
    let body = |context: &mut Context| -> Result<()> {
        let found = match context {
            Context::Writing(writer) => Writer::statistics(writer),
            Context::Reading(reader, ..) => Reader::statistics(reader),
        };
        let found = found.ok_or_else(|| Error::usage("the file is closed"))?;
        statistics.write(in_default(|| of_statistics(&found)))
    };
    locally(f, err, body)
}

fn of_statistics(found: &Statistics) -> scda_statistics_t {
    scda_statistics_t {
        size: size_of::<scda_statistics_t>(),
        agree_seconds: found.agreeing.as_secs_f64(),
        copied_bytes: found.copied_bytes,
        copy_seconds: found.copying.as_secs_f64(),
        wait_seconds: found.waiting.as_secs_f64(),
        encoded_bytes: found.encoded_bytes,
        encode_seconds: found.encoding.as_secs_f64(),
        written_bytes: found.written_bytes,
        write_seconds: found.writing.as_secs_f64(),
        sync_seconds: found.syncing.as_secs_f64(),
        read_bytes: found.read_bytes,
        read_seconds: found.reading.as_secs_f64(),
        decoded_bytes: found.decoded_bytes,
        decode_seconds: found.decoding.as_secs_f64(),
    }
}
