//! Functions that only bindings of other languages and our own C headers call: `include/scda_bind.h`.

use super::context::{Context, scda_fcontext_t, with};
use super::memory::{Out, put};
use super::mpi_types::{comm_of_fortran, hints_of_fortran};
use super::open::{hand_out, open_in_mode};
use super::params::{OpenParams, scda_params_t};
use super::pointers::{Text, UserTextOut};
use super::versioned::StructIn;
use super::{Outcome, guard};
use scda::Collective;
use scda::bindings::BindingCalls;
use scda::stop;
use scda_base::error::{Error, ErrorKind, Result};
use std::ffi::c_int;
use std::ptr::null_mut;

/// Opens a file with the handles of MPI's Fortran interface, for languages that have the number of a
/// communicator.
///
/// Collective, like `scda_fopen_write`, `scda_fopen_read` and `scda_fopen_append`.
///
/// @param [in] comm          The communicator, as `MPI_Comm_c2f` returns it. 0x5cda5e1f (1557814815)
///                           is `SCDA_COMM_SELF`, also in the build without MPI.
/// @param [in] info          Hints, as `MPI_Info_c2f` returns them, instead of `params->info`. NULL: those of
///                           `params`.
/// @param [in] filename      The path of the file.
/// @param [in] mode          "w": as `scda_fopen_write`. "r": as `scda_fopen_read`. "a": as
///                           `scda_fopen_append`. "c": as `scda_fopen_append_or_create`.
/// @param [in,out] userstr   The user string of the file: input for "w" and "c", output for "r" and "a".
/// @param [in,out] len       Its length: input for "w" and "c", output for "r" and "a".
/// @param [in] params        The parameters. NULL: the defaults.
/// @param [out] rank         This rank in `comm`, also after an error of opening the file. May be NULL.
/// @param [out] size         The number of ranks of `comm`, likewise. May be NULL.
/// @param [out] is_new       1 if the file was created, otherwise 0. May be NULL.
/// @param [out] err          The error code.
/// @return                   The file, to be closed by `scda_fclose`, or NULL on error.
/// Errors: those of `scda_fopen`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fopen_f(
    comm: c_int,
    info: Option<&c_int>,
    filename: Text<'_>,
    mode: Text<'_>,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    params: StructIn<'_, scda_params_t<'_>>,
    rank: Out<'_, c_int>,
    size: Out<'_, c_int>,
    is_new: Out<'_, c_int>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = || {
        let mut chosen = OpenParams::of(params);
        if let (Ok(chosen), Some(info)) = (&mut chosen, info) {
            // SAFETY: C passes valid hints of Fortran.
            unsafe { hints_of_fortran(*info, &mut chosen.tuning) };
        }
        // SAFETY: C passes a valid communicator of Fortran.
        let comm = unsafe { comm_of_fortran(comm) }.duplicate()?;
        put(rank, c_int::try_from(comm.rank()).unwrap_or(c_int::MAX));
        put(size, c_int::try_from(comm.size()).unwrap_or(c_int::MAX));
        let context = open_in_mode(comm, filename, mode, userstr, len, chosen)?;
        let created = matches!(&context, Context::Writing(writer) if writer.is_new());
        put(is_new, c_int::from(created));
        hand_out(context)
    };
    guard(err, null_mut(), body)
}

/// Like `scda_stop_requested`, with the handle of MPI's Fortran interface.
///
/// Collective.
///
/// @param [in] comm  The communicator, as for `scda_fopen_f`.
/// @param [out] err  The error code. May be NULL.
/// @return           1 if a stop was requested, 0 if not, -1 on error.
/// Errors: those of `scda_stop_requested`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_stop_requested_f(comm: c_int, err: Out<'_, c_int>) -> c_int {
    let body = || {
        // SAFETY: C passes a valid communicator of Fortran, or `SCDA_COMM_SELF`.
        let comm = unsafe { comm_of_fortran(comm) };
        Ok((c_int::from(stop::requested(&*comm.duplicate()?)?), Outcome::Success))
    };
    guard(err, -1, body)
}

/// Makes all ranks fail with an error that the caller has found on this rank.
///
/// A binding can check more than C, such as the length of an array. On the rank with the error, it calls this
/// function, and then the function that it was about to call, with NULL instead of the wrong argument. All
/// ranks then get the error, with this message, like any error that only one rank can detect: from that call
/// or a later one, at the latest from `scda_fflush` or `scda_fclose`. If there are several errors, the first
/// one counts.
///
/// Not collective.
///
/// @param [in] f     The file, open for writing or reading.
/// @param [in] why   The message, a C string: what was found, and what was expected.
/// @param [out] err  The error code: 0 if the file is open.
/// @return           `f`, or NULL if it is not an open file.
/// Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_refuse(
    f: *mut scda_fcontext_t,
    why: Text<'_>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let why = why.get("why");
        context.refuse(why.map_or_else(|error| error, |why| Error::argument(why.to_string_lossy())));
        Ok(())
    };
    with(f, err, body)
}

/// Lets the ranks agree on errors: if any rank has one, all fail with that of the lowest one. For headers,
/// before an exchange of their own, and for errors that all ranks have found.
///
/// Collective. All arguments except `f` may differ between the ranks.
///
/// @param [in] f     The file, open for writing or reading.
/// @param [in] code  The error code of this rank, or `SCDA_SUCCESS`.
/// @param [in] why   Its message, a C string: what was found, and what was expected. Not read for `SCDA_SUCCESS`.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: the error of a rank; `SCDA_ERR_ARG` for an unknown code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fagree(
    f: *mut scda_fcontext_t,
    code: c_int,
    why: Text<'_>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let mine = match (code, ErrorKind::from_code(code)) {
            (0, _) => Ok(()),
            (_, Some(kind)) => why.get("why").and_then(|why| Err(Error::new(kind, why.to_string_lossy()))),
            _ => Err(Error::argument(format!("error code: found {code}, which is not an error code"))),
        };
        match context {
            Context::Writing(writer) => writer.agree_on(mine),
            Context::Reading(reader, _) => reader.agree_on(mine),
        }
    };
    with(f, err, body)
}

/// Closes a file with which this rank cannot continue, and tells the other ranks: they get this error from
/// their current call, or from their next one that synchronizes. What is written is incomplete, as after any
/// error; an atomic write leaves the old file.
///
/// Collective, but the other ranks need not call it.
///
/// @param [in] f     The file, open for writing or reading, which is closed.
/// @param [out] err  The error code, with which the other ranks fail as well. Never 0.
/// @return           NULL, as after any error.
/// Errors: `SCDA_ERR_USAGE`, and any that another rank has at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fleave(f: *mut scda_fcontext_t, err: Out<'_, c_int>) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| -> Result<()> {
        Err(context.fail(Error::usage("left the file without closing it")))
    };
    with(f, err, body)
}
