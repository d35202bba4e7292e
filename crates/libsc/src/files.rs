//! Opens and closes files.

use super::errors::{sc_scda_ferror, tell};
use super::libsc::{LEVEL_DEFAULT, is_logged};
use super::open_files::{OpenFile, closed, opened};
use scda::bindings::{create_if_valid, open_if_valid};
use scda::{ReadOptions, Tuning, WriteOptions};
use scda_base::error::{Error, Result};
use scda_c::context::{Context, register, run_close, scda_fcontext_t};
use scda_c::memory::{Out, put};
use scda_c::pointers::{Text, UserText, UserTextOut};
use scda_c::{Outcome, caught, guard};
#[cfg(feature = "mpi")]
use scda_c::{mpi_types::Comm, params::no_info};
use scda_format::header::UserString;
use scda_ranks::Communicator;
#[cfg(feature = "mpi")]
use scda_ranks::mpi::{is_running, succeeded, sys};
use scda_storage::faults::Faults;
use std::ffi::{c_int, c_uint};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

#[cfg(feature = "mpi")]
pub use scda_c::{MPI_Info as sc_info, mpi_types::Comm as sc_comm};
/// `sc_MPI_Comm` in a libsc without MPI.
#[cfg(not(feature = "mpi"))]
pub type sc_comm<'a> = c_int;
/// `sc_MPI_Info` in a libsc without MPI.
#[cfg(not(feature = "mpi"))]
pub type sc_info = c_int;

/// `sc_scda_params_t`, in the layout for the program's MPI: see [`ScParams`].
pub type sc_scda_params = ScParams<sc_info>;

/// `sc_scda_params_t` with hints of this type: a pointer or an int, which determines the offset of the next member.
#[repr(C)]
pub struct ScParams<Info> {
    /// Hints for MPI-IO.
    pub info: Info,
    /// On average, one in this many accesses to the file fails; 0: none.
    pub fuzzy_everyn: c_uint,
    /// The seed that determines which accesses fail.
    pub fuzzy_seed: u64,
    /// The level of libsc's log above which errors are not logged.
    pub log_level: c_int,
}

/// The ranks that open a file.
#[cfg(feature = "mpi")]
fn ranks(comm: sc_comm<'_>) -> Result<Box<dyn Communicator>> {
    comm.duplicate()
}

/// The ranks that open a file: this process, whatever number libsc uses for it.
#[cfg(not(feature = "mpi"))]
fn ranks(comm: sc_comm<'_>) -> Result<Box<dyn Communicator>> {
    /// `sc_MPI_COMM_NULL`.
    const COMM_NULL: c_int = 0x0400_0000;
    if comm == COMM_NULL {
        return Err(Error::argument("communicator: found sc_MPI_COMM_NULL"));
    }
    Ok(Box::new(scda_ranks::Solo))
}

/// The ranks for a function without a file: `MPI_COMM_WORLD`, or just this process for one rank. Another
/// number than the world has is an error of this rank alone, which does not wait for the others.
pub fn world(ranks: Option<u64>) -> Result<Box<dyn Communicator>> {
    if ranks == Some(1) || cfg!(not(feature = "mpi")) {
        return Ok(Box::new(scda_ranks::Solo));
    }
    #[cfg(feature = "mpi")]
    if is_running() {
        let world = sys::comm_world();
        let mut size = 0;
        // SAFETY: valid, since MPI is running; writes one int.
        let status = unsafe { sys::MPI_Comm_size(world, &raw mut size) };
        if succeeded(status) && ranks.is_none_or(|ranks| u64::try_from(size) == Ok(ranks)) {
            // SAFETY: valid, since MPI is running.
            return unsafe { Comm::of(world) }.duplicate();
        }
    }
    Err(Error::argument("elem_counts: it needs a number for each rank of an open file, or of MPI"))
}

/// Parameters in the layout for the program's MPI, with valid hints; or NULL.
#[repr(transparent)]
pub struct ParamsIn<'a>(*const sc_scda_params, PhantomData<&'a sc_scda_params>);

impl ParamsIn<'_> {
    /// The parameters; `None` for NULL.
    fn read(self) -> Option<sc_scda_params> {
        if self.0.is_null() {
            return None;
        }
        #[cfg(feature = "mpi")]
        if sys::handles_are_ints() {
            // SAFETY: not NULL; with this MPI, C has this layout.
            let ScParams { info, fuzzy_everyn, fuzzy_seed, log_level } =
                unsafe { self.0.cast::<ScParams<c_int>>().read_unaligned() };
            return Some(ScParams { info: info.into(), fuzzy_everyn, fuzzy_seed, log_level });
        }
        // SAFETY: not NULL.
        Some(unsafe { self.0.read_unaligned() })
    }
}

/// libsc's parameters, with defaults for NULL, and whether errors are logged.
fn read_params(params: ParamsIn<'_>) -> (Tuning, bool) {
    // libsc returns an error from the call in which it occurs.
    let mut all = Tuning::default();
    all.check = true;
    let Some(params) = params.read() else {
        return (all, true);
    };
    if params.fuzzy_everyn > 0 {
        all.faults = Some(Faults { every: params.fuzzy_everyn.into(), seed: params.fuzzy_seed });
        // Every function that moves data must access the file, so that the access can fail.
        all.aggregation_bytes = 0;
    }
    #[cfg(feature = "mpi")]
    {
        // SAFETY: C passes a valid handle, which is used only while the file is opened.
        all.hints = unsafe { scda_storage::mpi_io::Hints::from_raw(params.info) };
    }
    (all, is_logged(params.log_level))
}

/// Opens a file by `body`, which gets the ranks and the parameters.
fn open(
    comm: sc_comm<'_>,
    params: ParamsIn<'_>,
    errcode: Out<'_, sc_scda_ferror>,
    body: impl FnOnce(Box<dyn Communicator>, Tuning) -> Result<Context>,
) -> *mut scda_fcontext_t {
    let (mut rank, mut logged) = (0, true);
    let run = || {
        let (tuning, is_logged) = read_params(params);
        logged = is_logged;
        let comm = ranks(comm)?;
        let size = comm.size() as u64;
        rank = comm.rank();
        let fc = register(body(comm, tuning)?)?;
        opened(fc, size, rank, logged);
        Ok((fc, Outcome::Success))
    };
    let (fc, code) = caught(null_mut(), run);
    tell(code, errcode, logged && rank == 0);
    fc
}

/// Fills the parameters with the defaults. Not collective. Ignores NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_params_init(params: *mut sc_scda_params) {
    let body = || {
        #[cfg(feature = "mpi")]
        if sys::handles_are_ints() {
            let info = sys::info_null().as_int();
            let defaults = ScParams { info, fuzzy_everyn: 0, fuzzy_seed: 0, log_level: LEVEL_DEFAULT };
            // SAFETY: C passes `params` that are NULL or may be written; with this MPI, they have this layout.
            put(unsafe { params.cast::<MaybeUninit<ScParams<c_int>>>().as_mut() }, defaults);
            return Ok(((), Outcome::Success));
        }
        let defaults = ScParams { info: no_info(), fuzzy_everyn: 0, fuzzy_seed: 0, log_level: LEVEL_DEFAULT };
        // SAFETY: C passes `params` that are NULL or may be written.
        put(unsafe { params.cast::<MaybeUninit<sc_scda_params>>().as_mut() }, defaults);
        Ok(((), Outcome::Success))
    };
    guard(None, (), body)
}

/// `sc_MPI_INFO_NULL` in a libsc without MPI.
#[cfg(not(feature = "mpi"))]
fn no_info() -> sc_info {
    0x1c00_0000
}

/// Like [`scda_c::scda_fopen_write`]. `params` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fopen_write(
    comm: sc_comm<'_>,
    filename: Text<'_>,
    userstr: UserText<'_>,
    len: Option<&usize>,
    params: ParamsIn<'_>,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |comm, tuning| {
        let user = written_user_string(userstr, len).and_then(UserString::new);
        let mut options = WriteOptions::default();
        options.tuning = tuning;
        create_if_valid(comm, filename.path(), user, Ok(options)).map(Context::Writing)
    };
    open(comm, params, errcode, body)
}

/// Like [`scda_c::scda_fopen_read`]. `params` may be NULL, `userstr` and `len` must not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fopen_read(
    comm: sc_comm<'_>,
    filename: Text<'_>,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    params: ParamsIn<'_>,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    let body = |comm, tuning| {
        let mut options = ReadOptions::default();
        options.tuning = tuning;
        let options = not_null("user_string or len", &[userstr.is_null(), len.is_none()]).map(|()| options);
        let reader = open_if_valid(comm, filename.path(), options)?;
        userstr.put(&reader.header().user, len);
        Ok(Context::reading(reader))
    };
    open(comm, params, errcode, body)
}

/// A user string to write, never NULL: `*len` bytes, or a C string if `len` is NULL.
pub fn written_user_string<'a>(userstr: UserText<'a>, len: Option<&usize>) -> Result<&'a [u8]> {
    not_null("user_string", &[userstr.is_null()])?;
    userstr.bytes(len)
}

/// Fails if a pointer that libsc requires is NULL.
pub fn not_null(names: &str, are_null: &[bool]) -> Result<()> {
    if are_null.contains(&true) { Err(Error::argument(format!("{names}: NULL"))) } else { Ok(()) }
}

/// Like [`scda_c::scda_fclose`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fclose(fc: *mut scda_fcontext_t, errcode: Out<'_, sc_scda_ferror>) -> c_int {
    let (status, code) = caught(-1, || run_close(fc));
    let is_logged = closed(fc).as_ref().is_none_or(OpenFile::is_logged_here);
    tell(code, errcode, is_logged);
    status
}
