//! The functions and constants of the program's MPI library, found by name in the running process. So one
//! build works with every MPI library, and needs none.
//!
//! Three families of binary interfaces are known: Open MPI's; MPICH's, which its relatives share
//! (<https://www.mpich.org/abi/>); and the standard one of MPI 5. They differ in how they represent handles
//! and in the [values](super::numbers) of constants; a test compares these with each `mpi.h` on the machine.

use super::process::{NO_MPI, Process, SUCCESS, version};
use scda_base::error::{Error, Result};
use scda_base::fork;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut, without_provenance_mut};
use std::sync::OnceLock;

/// A family of MPI libraries with a common binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Open MPI: handles are addresses.
    OpenMpi,
    /// MPICH, Intel MPI, MVAPICH, Cray MPICH: handles are ints.
    Mpich,
    /// Any MPI with the ABI of MPI 5, such as `libmpi_abi`: handles are addresses, and those of constants are
    /// small numbers.
    Standard,
}

/// A communicator, info object, datatype, operation, error handler or window of MPI, in C's representation:
/// an address, or an int in the first bytes.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Handle(*mut c_void);

// SAFETY: MPI lets any thread use a handle, within the level of thread support that the program requested,
// and the library uses none from two threads at once.
unsafe impl Send for Handle {}
// SAFETY: as above; a shared reference only copies the handle.
unsafe impl Sync for Handle {}

impl Handle {
    /// Not a handle in any family.
    pub const NONE: Self = Self(null_mut());

    const fn of_int(int: c_int) -> Self {
        // An int is passed with its sign extended, which some machines require.
        Self(without_provenance_mut((int as isize).cast_unsigned()))
    }

    /// The int, if handles are ints.
    pub fn as_int(self) -> c_int {
        let [a, b, c, d, ..] = self.0.addr().to_ne_bytes();
        c_int::from_ne_bytes([a, b, c, d])
    }

    /// The handle as it is passed and compared: of an int, only its own bytes count.
    fn tidy(self) -> Self {
        if handles_are_ints() { Self::of_int(self.as_int()) } else { self }
    }
}

/// The family of the program's MPI, if there is one.
pub fn family() -> Option<Family> {
    mpi().map(|mpi| mpi.family)
}

/// Whether handles are ints in the program's MPI.
pub fn handles_are_ints() -> bool {
    family() == Some(Family::Mpich)
}

impl PartialEq for Handle {
    fn eq(&self, other: &Self) -> bool {
        self.tidy().0 == other.tidy().0
    }
}

impl Eq for Handle {}

impl<T> From<*mut T> for Handle {
    fn from(address: *mut T) -> Self {
        Self(address.cast())
    }
}

impl From<c_int> for Handle {
    fn from(int: c_int) -> Self {
        Self::of_int(int)
    }
}

/// An argument in C's representation.
trait CArgument {
    fn passed(self) -> Self;
}

impl CArgument for Handle {
    fn passed(self) -> Self {
        self.tidy()
    }
}

macro_rules! passed_as_they_are {
    ($($type:ty),*) => {
        $(impl CArgument for $type {
            fn passed(self) -> Self {
                self
            }
        })*
    };
}
passed_as_they_are!(c_int, isize, i64, CopyAttribute, DeleteAttribute);

impl<T> CArgument for *const T {
    fn passed(self) -> Self {
        self
    }
}

impl<T> CArgument for *mut T {
    fn passed(self) -> Self {
        self
    }
}

/// `MPI_Comm_copy_attr_function`.
pub type CopyAttribute =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// `MPI_Comm_delete_attr_function`.
pub type DeleteAttribute = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;
/// A file: an address in all families.
pub type File = *mut c_void;

/// Larger than the status of any family.
#[repr(C)]
pub struct MpiStatus([u64; 16]);

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $symbol:literal, $int:literal, $standard:literal;)*) => {
        struct Handles {
            $($name: Handle,)*
        }
        #[cfg(test)]
        const HANDLES: &[(&str, &CStr, u32, usize)] = &[$((stringify!($name), $symbol, $int, $standard)),*];
        impl Handles {
            fn find(family: Family, find: &impl Fn(&CStr) -> Option<NonNull<c_void>>) -> Option<Self> {
                Some(match family {
                    Family::OpenMpi => Self { $($name: Handle(find($symbol)?.as_ptr()),)* },
                    Family::Mpich => Self { $($name: Handle::of_int(c_int::from_ne_bytes(u32::to_ne_bytes($int))),)* },
                    Family::Standard => Self { $($name: Handle(without_provenance_mut($standard)),)* },
                })
            }
        }
        $($(#[$doc])*
        pub fn $name() -> Handle {
            mpi().map_or(Handle::NONE, |mpi| mpi.handles.$name)
        })*
    };
}

handles! {
    /// `MPI_COMM_WORLD`.
    comm_world: c"ompi_mpi_comm_world", 0x4400_0000, 0x101;
    /// `MPI_COMM_SELF`.
    comm_self: c"ompi_mpi_comm_self", 0x4400_0001, 0x102;
    /// `MPI_COMM_NULL`.
    comm_null: c"ompi_mpi_comm_null", 0x0400_0000, 0x100;
    /// `MPI_INFO_NULL`.
    info_null: c"ompi_mpi_info_null", 0x1c00_0000, 0x130;
    /// `MPI_WIN_NULL`.
    win_null: c"ompi_mpi_win_null", 0x2000_0000, 0x110;
    /// `MPI_UINT8_T`.
    uint8: c"ompi_mpi_uint8_t", 0x4c00_013b, 0x241;
    /// `MPI_INT32_T`.
    int32: c"ompi_mpi_int32_t", 0x4c00_0439, 0x250;
    /// `MPI_UINT64_T`.
    uint64: c"ompi_mpi_uint64_t", 0x4c00_083e, 0x259;
    /// `MPI_MIN`.
    min: c"ompi_mpi_op_min", 0x5800_0002, 0x22;
    /// `MPI_SUM`.
    sum: c"ompi_mpi_op_sum", 0x5800_0003, 0x21;
    /// `MPI_BXOR`.
    bxor: c"ompi_mpi_op_bxor", 0x5800_000a, 0x2a;
    /// `MPI_ERRORS_RETURN`.
    errors_return: c"ompi_mpi_errors_return", 0x5400_0001, 0x143;
}

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        #[allow(non_snake_case)]
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) -> c_int,)*
        }
        impl Functions {
            fn find(find: &impl Fn(&CStr) -> Option<NonNull<c_void>>) -> Option<Self> {
                Some(Self {
                    $($name: {
                        let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()).ok()?;
                        let found = find(name)?;
                        // SAFETY: MPI has a function of this name and type, with handles of the family.
                        unsafe { std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> c_int>(found) }
                    },)*
                })
            }
        }
        $(
            /// The MPI function of this name.
            ///
            /// # Safety
            /// As for the MPI function.
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub unsafe fn $name($($argument: $type),*) -> c_int {
                match mpi() {
                    // SAFETY: the caller's promise.
                    Some(mpi) => unsafe { (mpi.functions.$name)($(CArgument::passed($argument)),*) },
                    None => NO_MPI,
                }
            }
        )*
    };
}

functions! {
    fn MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char);
    fn MPI_Finalize();
    fn MPI_Initialized(flag: *mut c_int);
    fn MPI_Finalized(flag: *mut c_int);
    fn MPI_Error_class(code: c_int, class: *mut c_int);
    fn MPI_Error_string(code: c_int, text: *mut c_char, length: *mut c_int);
    fn MPI_Comm_create_keyval(copy: CopyAttribute, delete: DeleteAttribute, key: *mut c_int, state: *mut c_void);
    fn MPI_Comm_set_attr(comm: Handle, key: c_int, value: *mut c_void);
    fn MPI_Comm_test_inter(comm: Handle, flag: *mut c_int);
    fn MPI_Comm_dup(comm: Handle, new: *mut Handle);
    fn MPI_Comm_split(comm: Handle, color: c_int, key: c_int, new: *mut Handle);
    fn MPI_Comm_split_type(comm: Handle, kind: c_int, key: c_int, info: Handle, new: *mut Handle);
    fn MPI_Comm_free(comm: *mut Handle);
    fn MPI_Comm_rank(comm: Handle, rank: *mut c_int);
    fn MPI_Comm_size(comm: Handle, size: *mut c_int);
    fn MPI_Comm_set_errhandler(comm: Handle, handler: Handle);
    fn MPI_Allreduce(sent: *const c_void, received: *mut c_void, count: c_int, kind: Handle, op: Handle, comm: Handle);
    fn MPI_Reduce(sent: *const c_void, received: *mut c_void, count: c_int, kind: Handle, op: Handle, root: c_int, comm: Handle);
    fn MPI_Exscan(sent: *const c_void, received: *mut c_void, count: c_int, kind: Handle, op: Handle, comm: Handle);
    fn MPI_Allgather(sent: *const c_void, sent_count: c_int, sent_kind: Handle, received: *mut c_void, count: c_int, kind: Handle, comm: Handle);
    fn MPI_Alltoall(sent: *const c_void, sent_count: c_int, sent_kind: Handle, received: *mut c_void, count: c_int, kind: Handle, comm: Handle);
    fn MPI_Bcast(buffer: *mut c_void, count: c_int, kind: Handle, root: c_int, comm: Handle);
    fn MPI_Gather(sent: *const c_void, sent_count: c_int, sent_kind: Handle, received: *mut c_void, count: c_int, kind: Handle, root: c_int, comm: Handle);
    fn MPI_Gatherv(sent: *const c_void, sent_count: c_int, sent_kind: Handle, received: *mut c_void, counts: *const c_int, starts: *const c_int, kind: Handle, root: c_int, comm: Handle);
    fn MPI_Send(buffer: *const c_void, count: c_int, kind: Handle, to: c_int, tag: c_int, comm: Handle);
    fn MPI_Recv(buffer: *mut c_void, count: c_int, kind: Handle, from: c_int, tag: c_int, comm: Handle, status: *mut MpiStatus);
    fn MPI_Sendrecv(sent: *const c_void, sent_count: c_int, sent_kind: Handle, to: c_int, sent_tag: c_int, received: *mut c_void, count: c_int, kind: Handle, from: c_int, tag: c_int, comm: Handle, status: *mut MpiStatus);
    fn MPI_Type_create_resized(old: Handle, lower: isize, extent: isize, new: *mut Handle);
    fn MPI_Type_commit(kind: *mut Handle);
    fn MPI_Type_free(kind: *mut Handle);
    fn MPI_Get_count(status: *const MpiStatus, kind: Handle, count: *mut c_int);
    fn MPI_Info_create(info: *mut Handle);
    fn MPI_Info_dup(info: Handle, new: *mut Handle);
    fn MPI_Info_free(info: *mut Handle);
    fn MPI_Info_get(info: Handle, key: *const c_char, length: c_int, value: *mut c_char, flag: *mut c_int);
    fn MPI_Info_get_nkeys(info: Handle, count: *mut c_int);
    fn MPI_Info_get_nthkey(info: Handle, index: c_int, key: *mut c_char);
    fn MPI_Info_set(info: Handle, key: *const c_char, value: *const c_char);
    fn MPI_Win_allocate_shared(bytes: isize, unit: c_int, info: Handle, comm: Handle, base: *mut c_void, new: *mut Handle);
    fn MPI_Win_shared_query(window: Handle, rank: c_int, bytes: *mut isize, unit: *mut c_int, base: *mut c_void);
    fn MPI_Win_set_errhandler(window: Handle, handler: Handle);
    fn MPI_Win_lock_all(mode: c_int, window: Handle);
    fn MPI_Win_unlock_all(window: Handle);
    fn MPI_Win_sync(window: Handle);
    fn MPI_Win_free(window: *mut Handle);
    fn MPI_File_open(comm: Handle, name: *const c_char, mode: c_int, info: Handle, new: *mut File);
    fn MPI_File_close(file: *mut File);
    fn MPI_File_set_errhandler(file: File, handler: Handle);
    fn MPI_File_get_info(file: File, info: *mut Handle);
    fn MPI_File_read_at(file: File, offset: i64, buffer: *mut c_void, count: c_int, kind: Handle, status: *mut MpiStatus);
    fn MPI_File_write_at(file: File, offset: i64, buffer: *const c_void, count: c_int, kind: Handle, status: *mut MpiStatus);
    fn MPI_File_set_size(file: File, bytes: i64);
    fn MPI_File_sync(file: File);
}

/// Converts the number of a handle in Fortran to the handle.
type FromFortran = unsafe extern "C" fn(c_int) -> Handle;

/// `MPI_Session_init`.
type SessionInit = unsafe extern "C" fn(Handle, Handle, *mut Handle) -> c_int;
/// `MPI_Session_finalize`.
type SessionFinalize = unsafe extern "C" fn(*mut Handle) -> c_int;

/// Begins a session.
///
/// # Safety
/// As for the MPI function.
pub unsafe fn session_init(new: *mut Handle) -> c_int {
    match mpi().and_then(|mpi| mpi.sessions) {
        // SAFETY: the caller's promise.
        Some((init, _)) => unsafe { init(info_null().passed(), errors_return().passed(), new) },
        None => NO_MPI,
    }
}

/// Ends a session.
///
/// # Safety
/// As for the MPI function.
pub unsafe fn session_finalize(session: *mut Handle) -> c_int {
    match mpi().and_then(|mpi| mpi.sessions) {
        // SAFETY: the caller's promise.
        Some((_, finalize)) => unsafe { finalize(session) },
        None => NO_MPI,
    }
}

/// The MPI that the program runs with.
struct RunningMpi {
    family: Family,
    handles: Handles,
    functions: Functions,
    /// `MPI_FILE_NULL`.
    file_null: File,
    /// The functions that convert Fortran's numbers to a communicator and an info object; if none, the
    /// numbers are the handles.
    from_fortran: Option<[FromFortran; 2]>,
    /// The functions that begin and end a session, since MPI 4.
    sessions: Option<(SessionInit, SessionFinalize)>,
}

// SAFETY: it holds only addresses of functions and constants.
unsafe impl Send for RunningMpi {}
// SAFETY: as above.
unsafe impl Sync for RunningMpi {}

/// `MPI_FILE_NULL`.
pub fn file_null() -> File {
    mpi().map_or(null_mut(), |mpi| mpi.file_null)
}

/// The communicator with this number in Fortran.
///
/// # Safety
/// MPI is running, and has a communicator of this number.
pub unsafe fn comm_of_fortran(number: c_int) -> Handle {
    match mpi().and_then(|mpi| mpi.from_fortran) {
        // SAFETY: the caller's promise.
        Some([comm, _]) => unsafe { comm(number) },
        None => Handle::of_int(number),
    }
}

/// The info object with this number in Fortran.
///
/// # Safety
/// MPI is running, and has an info object of this number.
pub unsafe fn info_of_fortran(number: c_int) -> Handle {
    match mpi().and_then(|mpi| mpi.from_fortran) {
        // SAFETY: the caller's promise.
        Some([_, info]) => unsafe { info(number) },
        None => Handle::of_int(number),
    }
}

static FOUND: OnceLock<RunningMpi> = OnceLock::new();

/// The program's MPI, once there is one; it may be loaded later.
///
/// A forked process does not look for it here, but only when it passes a communicator ([`check`]): another
/// thread may have held the lock of the dynamic linker.
fn mpi() -> Option<&'static RunningMpi> {
    if FOUND.get().is_none() && fork::is_in_first_process() {
        let _ = check();
    }
    FOUND.get()
}

/// Returns an error with the reason if the program has no known MPI.
///
/// # Errors
/// `Mpi`.
pub fn check() -> Result<()> {
    if FOUND.get().is_some() {
        return Ok(());
    }
    let process = Process::of(c"MPI_Initialized").ok_or_else(|| {
        Error::usage("communicator: found no MPI in the program; link it to one, or load one")
    })?;
    let found = find(&process)?;
    FOUND.get_or_init(|| found);
    Ok(())
}

fn find(process: &Process) -> Result<RunningMpi> {
    let symbol = |name: &CStr| process.find(name);
    let missing = || Error::usage("communicator: this MPI lacks functions of MPI 3");
    let family = if symbol(c"ompi_mpi_comm_null").is_some() {
        Family::OpenMpi
    } else if has_standard_abi(process) {
        Family::Standard
    } else {
        // MPICH's relatives use its handles, but have version texts of their own. An MPI without version text
        // is taken for MPICH, because an error on one rank alone would leave the others waiting.
        let version = version(process).unwrap_or_else(|| "MPICH".to_owned());
        if !["MPICH", "MVAPICH", "Intel", "CRAY"].iter().any(|name| version.contains(name)) {
            let version = version.lines().next().unwrap_or_default();
            let words = format!(
                "communicator: found {version}, expected Open MPI, or an MPI with the binary interface of MPICH or of MPI 5"
            );
            return Err(Error::usage(words));
        }
        Family::Mpich
    };
    let (file_null, from_fortran) = match family {
        Family::Mpich => (null_mut(), None),
        Family::OpenMpi => {
            let null = symbol(c"ompi_mpi_file_null").ok_or_else(missing)?.as_ptr();
            (null, Some([c"MPI_Comm_f2c", c"MPI_Info_f2c"]))
        }
        Family::Standard => {
            (without_provenance_mut(FILE_NULL), Some([c"MPI_Comm_fromint", c"MPI_Info_fromint"]))
        }
    };
    let from_fortran = match from_fortran.map(|names| names.map(symbol)) {
        None => None,
        Some([Some(comm), Some(info)]) => {
            // SAFETY: these MPIs have functions of these names that take a number and return an address.
            Some([comm, info].map(|f| unsafe { std::mem::transmute::<NonNull<c_void>, FromFortran>(f) }))
        }
        Some(_) => return Err(missing()),
    };
    let sessions =
        symbol(c"MPI_Session_init").zip(symbol(c"MPI_Session_finalize")).map(|(init, finalize)| {
            // SAFETY: MPI has a function of this name and type, with handles of the family.
            let init = unsafe { std::mem::transmute::<NonNull<c_void>, SessionInit>(init) };
            // SAFETY: as above.
            (init, unsafe { std::mem::transmute::<NonNull<c_void>, SessionFinalize>(finalize) })
        });
    Ok(RunningMpi {
        family,
        sessions,
        handles: Handles::find(family, &symbol).ok_or_else(missing)?,
        functions: Functions::find(&symbol).ok_or_else(missing)?,
        file_null,
        from_fortran,
    })
}

/// `MPI_FILE_NULL` of the standard ABI.
const FILE_NULL: usize = 0x118;

/// Whether the functions have MPI 5's ABI. An MPI 5 may have two libraries; the one with an interface of its
/// own reports -1 as its ABI version.
fn has_standard_abi(process: &Process) -> bool {
    let Some(found) = process.find(c"MPI_Abi_get_version") else { return false };
    // SAFETY: MPI has a function of this name and type.
    let get = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>(found)
    };
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: writes two ints; may be called at any time.
    let status = unsafe { get(&raw mut major, &raw mut minor) };
    status == SUCCESS && major >= 1
}

#[cfg(test)]
mod tests {
    use super::super::numbers::{CLASSES, NAMED, STATUS_IGNORE, UNDEFINED};
    use super::*;
    use scda_base::error::ErrorKind;
    use std::process::Command;

    /// The name of a class in `mpi.h`.
    fn name(kind: ErrorKind) -> &'static str {
        match kind {
            ErrorKind::NoSuchFile => "MPI_ERR_NO_SUCH_FILE",
            ErrorKind::Access => "MPI_ERR_ACCESS",
            ErrorKind::NoSpace => "MPI_ERR_NO_SPACE",
            ErrorKind::Quota => "MPI_ERR_QUOTA",
            ErrorKind::ReadOnly => "MPI_ERR_READ_ONLY",
            ErrorKind::FileExists => "MPI_ERR_FILE_EXISTS",
            ErrorKind::BadFile => "MPI_ERR_BAD_FILE",
            ErrorKind::FileInUse => "MPI_ERR_FILE_IN_USE",
            ErrorKind::Unsupported => "MPI_ERR_UNSUPPORTED_OPERATION",
            ErrorKind::Io => "MPI_ERR_IO",
            ErrorKind::Memory => "MPI_ERR_NO_MEM",
            _ => "MPI_ERR_OTHER",
        }
    }

    /// Whether a compiler wrapper compiles a program; `None` if there is no such wrapper of this family.
    fn compiles(wrapper: &str, family: &str, text: &str) -> Option<bool> {
        let folder = tempfile::tempdir().unwrap();
        let check = |text: String| {
            let path = folder.path().join("numbers.c");
            std::fs::write(&path, text).unwrap();
            let output =
                Command::new(wrapper).args(["-std=c11", "-fsyntax-only"]).arg(&path).output().ok()?;
            if !output.status.success() {
                eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            }
            Some(output.status.success())
        };
        let of_family = format!("#include <mpi.h>\n#ifndef {family}\n#error another MPI\n#endif\n");
        if check(of_family) != Some(true) {
            return None;
        }
        check(format!("#include <mpi.h>\n{text}"))
    }

    #[test]
    fn the_numbers_are_those_of_the_headers() {
        let mut tried = 0;
        for (wrappers, macro_name, family) in [
            (["mpicc.openmpi", "mpicc"], "OPEN_MPI", Family::OpenMpi),
            (["mpicc.mpich", "mpicc"], "MPICH_NAME", Family::Mpich),
            (["mpicc_abi", "mpicc"], "MPI_H_ABI", Family::Standard),
        ] {
            let numbers = CLASSES.iter().map(|(kind, numbers)| (name(*kind), numbers.of(family)));
            let numbers = numbers.chain(NAMED.iter().map(|(name, numbers)| (*name, numbers.of(family))));
            let same = [("MPI_SUCCESS", SUCCESS), ("MPI_UNDEFINED", UNDEFINED)];
            let mut text: String = numbers
                .chain(same)
                .map(|(name, number)| format!("_Static_assert({name} == {number}, \"{name}\");\n"))
                .collect();
            for &(name, symbol, int, standard) in HANDLES {
                let (kind, value) = match family {
                    // Each handle is the address of an object of this name.
                    Family::OpenMpi => ("void *", format!("&{}", symbol.to_str().unwrap())),
                    Family::Mpich => ("unsigned", int.to_string()),
                    Family::Standard => ("void *", standard.to_string()),
                };
                let of_mpi = c_name(name);
                text += &format!("_Static_assert(({kind}) {of_mpi} == ({kind}) {value}, \"{name}\");\n");
            }
            if family == Family::Standard {
                text += &format!(
                    "_Static_assert((void *) MPI_FILE_NULL == (void *) {FILE_NULL}, \"MPI_FILE_NULL\");\n"
                );
            }
            text += &format!(
                "_Static_assert((void *) MPI_STATUS_IGNORE == (void *) {}, \"MPI_STATUS_IGNORE\");\n",
                STATUS_IGNORE.of(family)
            );
            text += "_Static_assert(sizeof(MPI_Status) <= 128 && sizeof(MPI_Offset) == 8, \"sizes\");\n";
            for wrapper in wrappers {
                let found = compiles(wrapper, macro_name, &text);
                assert_ne!(found, Some(false), "{wrapper}, {macro_name}");
                tried += usize::from(found.is_some());
            }
        }
        if tried == 0 {
            eprintln!("skipped: there is no mpi.h");
        }
    }

    /// The name in C of the value that a function of this module returns.
    fn c_name(name: &str) -> String {
        let name = match name {
            "uint8" | "int32" | "uint64" => format!("{name}_T"),
            _ => name.to_owned(),
        };
        format!("MPI_{}", name.to_uppercase())
    }
}
