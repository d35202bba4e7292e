//! The MPI-IO driver: independent accesses with explicit offsets.
//!
//! Peculiarities (measured with Open MPI 4.1 and MPICH): counts have 32 bits, so long accesses are divided;
//! Open MPI reports success for accesses that a full device or a signal cut short, so the count decides;
//! opening for writing does not truncate; Open MPI makes `MPI_File_get_size` collective, so the size comes
//! from `stat`.

use super::calls::{read_all, write_all};
use super::descriptors::DescriptorGuard;
use super::{ParallelFile, file_system};
use scda_base::error::{Error, ErrorKind, Result};
use scda_ranks::Communicator as _;
use scda_ranks::mpi::{Mpi, MpiHandle, from_mpi, is_running, mpi_message, numbers, succeeded, sys};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Runs that together have at most this many bytes are copied to be written by one call.
const COPY_BYTES: usize = 1 << 20;

/// Hints for MPI-IO; by default there are none.
#[derive(Clone, Copy, Debug)]
pub struct Hints(sys::Handle);

// SAFETY: MPI lets any thread use a handle, within the level of thread support that the program requested,
// and the library uses none from two threads at once.
unsafe impl Send for Hints {}
// SAFETY: as above; a shared reference only copies the handle.
unsafe impl Sync for Hints {}

impl Default for Hints {
    fn default() -> Self {
        Self(sys::info_null())
    }
}

impl Hints {
    /// The hints of an info object.
    ///
    /// # Safety
    /// `info` is `MPI_INFO_NULL`, or valid until every file opened with these hints is open.
    #[must_use]
    pub unsafe fn from_raw(info: impl Into<MpiHandle>) -> Self {
        Self(info.into())
    }

    /// Whether there are no hints.
    #[must_use]
    pub fn is_none(&self) -> bool {
        [MpiHandle::NONE, sys::info_null()].contains(&self.0)
    }
}

impl Hints {
    /// The hints that MPI-IO reports as in effect, by name, when this library opens an existing file without
    /// other hints. Collective over `comm`.
    ///
    /// # Errors
    /// Those of the file system and of MPI.
    pub fn in_effect(comm: &Mpi, path: &Path) -> Result<Vec<(String, String)>> {
        let name = MpiName::new(path, OsStr::new(""), comm.size())?;
        let (file, opened) = MpiFile::open(Some(comm), &name, Access::Read, &complete(Self::default())?);
        let Some(file) = file else {
            return opened.map(|()| Vec::new());
        };
        let hints = file.hints();
        Box::new(file).close()?;
        opened.and(hints)
    }
}

/// Hints that are set unless the user sets them. Every access is contiguous, so ROMIO's data sieving gains
/// nothing, and it locks the file, which some file systems refuse.
const DEFAULT_HINTS: [(&CStr, &CStr); 2] = [(c"romio_ds_write", c"disable"), (c"romio_ds_read", c"disable")];
/// Hints with the same meaning: the name in ROMIO and the standard, and that in Open MPI up to 4.
const ALIASES: [[&CStr; 2]; 2] = [[c"striping_unit", c"stripe_size"], [c"striping_factor", c"stripe_width"]];
/// More than the longest value of a hint.
const VALUE_BYTES: usize = 4096;

/// The user's hints, completed by the defaults.
pub struct CompleteHints(sys::Handle);

impl Drop for CompleteHints {
    fn drop(&mut self) {
        // SAFETY: MPI created this handle for `complete` or `MpiFile::hints`; nothing uses it after this.
        let _ = unsafe { sys::MPI_Info_free(&raw mut self.0) };
    }
}

/// Completes the user's hints.
///
/// # Errors
/// Those of MPI.
pub fn complete(hints: Hints) -> Result<CompleteHints> {
    let mut info = hints.0;
    if hints.is_none() {
        // SAFETY: writes one handle.
        check("MPI_Info_create", unsafe { sys::MPI_Info_create(&raw mut info) })?;
    } else {
        // SAFETY: the creator of these hints promised a valid handle (`Hints::from_raw`); writes one handle.
        check("MPI_Info_dup", unsafe { sys::MPI_Info_dup(hints.0, &raw mut info) })?;
    }
    let info = CompleteHints(info);
    for (key, value) in DEFAULT_HINTS {
        if get(info.0, key)?.is_none() {
            set(info.0, key, value)?;
        }
    }
    for names in ALIASES {
        match [get(info.0, names[0])?, get(info.0, names[1])?] {
            [Some(value), None] => set(info.0, names[1], &value)?,
            [None, Some(value)] => set(info.0, names[0], &value)?,
            _ => {}
        }
    }
    Ok(info)
}

/// The value of a hint, if it is set.
fn get(info: sys::Handle, key: &CStr) -> Result<Option<CString>> {
    let mut value = [0_u8; VALUE_BYTES];
    let mut is_set = 0;
    // SAFETY: the handle belongs to a `CompleteHints`, which MPI created and only its drop frees; the key is
    // a C string, and the value has room for the given length and a NUL.
    let status = unsafe {
        sys::MPI_Info_get(
            info,
            key.as_ptr(),
            int(VALUE_BYTES - 1),
            value.as_mut_ptr().cast::<c_char>(),
            &raw mut is_set,
        )
    };
    check("MPI_Info_get", status)?;
    let value = CStr::from_bytes_until_nul(&value).ok().filter(|_| is_set != 0);
    Ok(value.map(CStr::to_owned))
}

fn set(info: sys::Handle, key: &CStr, value: &CStr) -> Result<()> {
    // SAFETY: the handle belongs to a `CompleteHints`, which MPI created and only its drop frees; both are C
    // strings.
    check("MPI_Info_set", unsafe { sys::MPI_Info_set(info, key.as_ptr(), value.as_ptr()) })
}

/// The purpose of opening a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading an existing file.
    Read,
    /// Reading and writing an existing file.
    ReadWrite,
    /// Creating a file that must not exist.
    Create,
}

/// The name of a file in the form with which MPI-IO opens this file and no other.
pub struct MpiName {
    name: CString,
    /// The path of the file in the file system.
    real: PathBuf,
}

impl MpiName {
    /// `real` is the path in the file system, `prefix` what the program has put before it to choose a driver
    /// of ROMIO, and `ranks` the number of ranks that open it together.
    ///
    /// # Errors
    /// `Argument` for a name that would overflow the buffers of Open MPI's own MPI-IO.
    pub fn new(real: &Path, prefix: &OsStr, ranks: usize) -> Result<Self> {
        let has_colon = real.as_os_str().as_bytes().contains(&b':');
        let prefix = match prefix.as_bytes() {
            // ROMIO takes what precedes the first colon of any name for one of its drivers. This prefix
            // stands for the plain name.
            b"" if has_colon && is_romio() => match file_system::FileSystem::of(real) {
                Ok(system) if system.name == Some("nfs") => b"nfs:".to_vec(),
                _ => b"ufs:".to_vec(),
            },
            given => given.to_ascii_lowercase(), // ROMIO of MPICH 5 knows its prefixes in lower case only
        };
        let name = [&prefix, real.as_os_str().as_bytes()].concat();
        let last = real.file_name().unwrap_or_default().len();
        let most = MOST_PATH_BYTES.saturating_sub(ranks.to_string().len());
        if (name.len() > most || last > MOST_NAME_BYTES) && !is_romio() {
            return Err(Error::argument(format!(
                "MPI-IO: found a path of {} bytes that ends in a name of {last}, expected at most {most} and \
                 {MOST_NAME_BYTES}: Open MPI would abort; use the POSIX driver or a shorter path",
                name.len()
            )));
        }
        let name = CString::new(name).map_err(|_| Error::argument("file name: found a NUL byte"))?;
        Ok(Self { name, real: real.to_owned() })
    }
}

/// Open MPI's own MPI-IO (OMPIO) writes the path, ".locktest.", the number of the rank and NUL into a buffer of 256 bytes.
const MOST_PATH_BYTES: usize = 256 - 11;
/// It creates files of its own, with this name and up to 24 more bytes.
const MOST_NAME_BYTES: usize = 231;

/// Whether MPI-IO is ROMIO, which removes prefixes from names. Open MPI does not report which one it uses, so
/// this is tested. Not collective.
pub fn is_romio() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let mut file = sys::file_null();
        let mode = numbers::MODE_RDONLY.get();
        let _occupied = DescriptorGuard::take();
        // SAFETY: every MPI has this communicator and this info object; the path is a C string; writes one
        // handle.
        let status = unsafe {
            sys::MPI_File_open(
                sys::comm_self(),
                c"ufs:/dev/null".as_ptr(),
                mode,
                sys::info_null(),
                &raw mut file,
            )
        };
        let is_open = succeeded(status) && file != sys::file_null() && !file.is_null();
        if is_open {
            // SAFETY: MPI has just opened it.
            let _ = unsafe { sys::MPI_File_close(&raw mut file) };
        }
        is_open
    })
}

/// An MPI file handle of this rank.
pub struct MpiFile {
    file: sys::File,
    /// The path of the file in the file system.
    path: PathBuf,
}

// SAFETY: MPI lets any thread use a handle, within the level of thread support that the program requested,
// and the library uses none from two threads at once.
unsafe impl Send for MpiFile {}

/// The kind of an MPI error of file access.
fn kind(code: c_int) -> ErrorKind {
    let mut class = 0;
    // SAFETY: takes any code and writes one int.
    let status = unsafe { sys::MPI_Error_class(code, &raw mut class) };
    let known = numbers::kind_of(class).filter(|&kind| succeeded(status) && kind != ErrorKind::Mpi);
    known.unwrap_or(ErrorKind::Io)
}

/// Returns an error if MPI is finalised: a call would then end the program.
fn check_running(what: &str) -> Result<()> {
    if is_running() { Ok(()) } else { Err(Error::usage(format!("{what}: MPI has been finalised"))) }
}

fn check(call: &str, code: c_int) -> Result<()> {
    if succeeded(code) {
        return Ok(());
    }
    let message = mpi_message(code);
    // ROMIO uses one class for most failures, but its text includes the system's message.
    let kind = match kind(code) {
        ErrorKind::Io => ErrorKind::of_text(&message),
        kind => kind,
    };
    Err(Error::new(kind, format!("{call}: {message}")))
}

/// A file offset of at most 63 bits as MPI's type.
fn mpi_offset(offset: u64) -> Result<i64> {
    i64::try_from(offset).map_err(|_| Error::range(format!("offset {offset} exceeds 63 bits")))
}

impl MpiFile {
    /// Opens a file. Collective over `comm`; `name` and `access` are the same on all ranks.
    ///
    /// If MPI opens the file and yet reports an error, both are returned.
    pub fn open(
        comm: Option<&Mpi>,
        name: &MpiName,
        access: Access,
        hints: &CompleteHints,
    ) -> (Option<Self>, Result<()>) {
        let Some(comm) = comm else {
            return (None, Err(Error::argument("driver: found MPI-IO in a program without MPI")));
        };
        // `Mpi` holds a handle that MPI created and only its drop frees.
        Self::open_over(comm.handle(), name, access, hints)
    }

    /// Creates a file, with hints that only MPI-IO understands. Not collective.
    ///
    /// # Errors
    /// `FileExists` if there is one with this name; others of the file system and of MPI.
    pub fn create(name: &MpiName, hints: &CompleteHints) -> Result<()> {
        let (file, created) = Self::open_over(sys::comm_self(), name, Access::Create, hints);
        let created = created.and(file.map_or(Ok(()), |file| Box::new(file).close()));
        // ROMIO may create the file and then fail to open it. Any other file there gives `FileExists`, or is
        // not empty.
        if created.as_ref().is_err_and(|error| error.kind() != ErrorKind::FileExists)
            && file_system::link_status(&name.real).is_ok_and(|status| status.is_some_and(|s| s.size == 0))
        {
            let _ = file_system::remove(&name.real);
        }
        created
    }

    fn open_over(
        comm: sys::Handle,
        name: &MpiName,
        access: Access,
        hints: &CompleteHints,
    ) -> (Option<Self>, Result<()>) {
        let mode = match access {
            Access::Read => numbers::MODE_RDONLY.get(),
            Access::ReadWrite => numbers::MODE_RDWR.get(),
            Access::Create => {
                numbers::MODE_RDWR.get() | numbers::MODE_CREATE.get() | numbers::MODE_EXCL.get()
            }
        };
        let mut file = sys::file_null();
        let _occupied = DescriptorGuard::take();
        // SAFETY: the callers' communicator is valid, and `CompleteHints` holds a handle that MPI created and
        // only its drop frees; the name is a C string; writes one handle.
        let status = unsafe { sys::MPI_File_open(comm, name.name.as_ptr(), mode, hints.0, &raw mut file) };
        let opened = check("MPI_File_open", status);
        // MPICH 5.0.2 leaves NULL with the ABI of MPI 5, which is not a handle.
        if file == sys::file_null() || file.is_null() {
            return (None, opened);
        }
        // SAFETY: MPI has just opened the file. Failure does no harm: this is the default for files, unless
        // the program has changed it.
        let _ = unsafe { sys::MPI_File_set_errhandler(file, sys::errors_return()) };
        (Some(Self { file, path: name.real.clone() }), opened)
    }

    /// The hints in effect, by name.
    fn hints(&self) -> Result<Vec<(String, String)>> {
        let mut info = sys::info_null();
        // SAFETY: an `MpiFile` is open until `close` consumes it; writes one handle, which this function
        // owns.
        check("MPI_File_get_info", unsafe { sys::MPI_File_get_info(self.file, &raw mut info) })?;
        let info = CompleteHints(info);
        let mut count = 0;
        // SAFETY: MPI has just created this handle; writes one int.
        check("MPI_Info_get_nkeys", unsafe { sys::MPI_Info_get_nkeys(info.0, &raw mut count) })?;
        let mut hints = Vec::new();
        for index in 0..count {
            let mut key = [0_u8; 256]; // MPI_MAX_INFO_KEY is 255 at most, without the NUL of MPICH
            // SAFETY: MPI created the handle, the index is below the number of keys, and the buffer has room
            // for any key.
            let status =
                unsafe { sys::MPI_Info_get_nthkey(info.0, index, key.as_mut_ptr().cast::<c_char>()) };
            check("MPI_Info_get_nthkey", status)?;
            let Ok(key) = CStr::from_bytes_until_nul(&key) else { continue };
            if let Some(value) = get(info.0, key)? {
                hints.push((key.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
            }
        }
        hints.sort();
        Ok(hints)
    }

    fn write_run(&self, offset: u64, run: &[u8]) -> Result<()> {
        let write = |offset, step: &[u8]| {
            let mut status = MaybeUninit::<sys::MpiStatus>::zeroed();
            // SAFETY: an `MpiFile` is open until `close` consumes it; the buffer has `step.len()` bytes, at most 2^30;
            // MPI writes the status.
            let code = unsafe {
                sys::MPI_File_write_at(
                    self.file,
                    mpi_offset(offset)?,
                    step.as_ptr().cast::<c_void>(),
                    int(step.len()),
                    sys::uint8(),
                    status.as_mut_ptr(),
                )
            };
            check("MPI_File_write_at", code).and_then(|()| moved(&status))
        };
        write_all("MPI_File_write_at", offset, run, write, |left| file_system::is_full(&self.path, left))
    }
}

/// The number of bytes that an access transferred.
fn moved(status: &MaybeUninit<sys::MpiStatus>) -> Result<usize> {
    let mut count: c_int = 0;
    // SAFETY: the status was zeroed, and then written by MPI; writes one int.
    let code = unsafe { sys::MPI_Get_count(status.as_ptr(), sys::uint8(), &raw mut count) };
    check("MPI_Get_count", code)?;
    // MPI_UNDEFINED, which is negative, means that nothing was transferred.
    Ok(from_mpi(count))
}

/// A length of at most 2^30 as MPI's type. A greater one would be cut, and so never exceed the buffer.
fn int(length: usize) -> c_int {
    c_int::try_from(length).unwrap_or(c_int::MAX)
}

impl ParallelFile for MpiFile {
    fn write_at(&mut self, mut offset: u64, runs: &[&[u8]]) -> Result<()> {
        check_running("write")?;
        if runs.len() > 1 && runs.iter().map(|run| run.len()).sum::<usize>() <= COPY_BYTES {
            return self.write_run(offset, &runs.concat());
        }
        for run in runs {
            self.write_run(offset, run)?;
            offset += run.len() as u64;
        }
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_running("read")?;
        let read = |offset, step: &mut [u8]| {
            let mut status = MaybeUninit::<sys::MpiStatus>::zeroed();
            // SAFETY: an `MpiFile` is open until `close` consumes it; the buffer has `step.len()` bytes, at most 2^30;
            // MPI writes the status.
            let code = unsafe {
                sys::MPI_File_read_at(
                    self.file,
                    mpi_offset(offset)?,
                    step.as_mut_ptr().cast::<c_void>(),
                    int(step.len()),
                    sys::uint8(),
                    status.as_mut_ptr(),
                )
            };
            check("MPI_File_read_at", code).and_then(|()| moved(&status))
        };
        read_all("MPI_File_read_at", offset, buffer, read, || {
            let gone =
                || Error::new(ErrorKind::Io, "MPI_File_read_at: the file was removed while it was read");
            file_system::fresh_status(&self.path)?.map(|status| status.size).ok_or_else(gone)
        })
    }

    fn size(&mut self) -> Result<u64> {
        let gone = || Error::new(ErrorKind::Io, "fstat: the file was removed while it was read");
        file_system::fresh_status(&self.path)?.map(|status| status.size).ok_or_else(gone)
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        check_running("truncate")?;
        let length = mpi_offset(length)?;
        // SAFETY: an `MpiFile` is open until `close` consumes it.
        check("MPI_File_set_size", unsafe { sys::MPI_File_set_size(self.file, length) })
    }

    fn sync(&mut self) -> Result<()> {
        check_running("sync")?;
        // SAFETY: an `MpiFile` is open until `close` consumes it.
        check("MPI_File_sync", unsafe { sys::MPI_File_sync(self.file) })
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        check_running("close")?;
        // SAFETY: an `MpiFile` is open until it is consumed here.
        check("MPI_File_close", unsafe { sys::MPI_File_close(&raw mut self.file) })
    }
}
