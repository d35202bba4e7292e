//! The functions and constants of the MPI that the program runs with, found by name in the running process: so one build
//! serves every MPI, and needs none.
//!
//! Two families of binary interfaces are known: that of Open MPI, and that of MPICH, which its relatives share
//! (<https://www.mpich.org/abi/>). They differ in how they represent handles and in the numbers of constants;
//! a test compares these with each `mpi.h` that is there.

use crate::error::{Error, ErrorKind, Result};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

/// A family of MPI libraries with one binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Open MPI: handles are addresses.
    OpenMpi,
    /// MPICH, Intel MPI, MVAPICH, Cray MPICH: handles are ints.
    Mpich,
}

/// A communicator, info object, datatype, operation, error handler or window of MPI, as C has it: an address, or an int in the
/// first bytes.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Handle(*mut c_void);

// SAFETY: MPI lets any thread use a handle, at the level of thread support that the program asked for, and the
// library uses none from two threads at once.
unsafe impl Send for Handle {}
// SAFETY: as above; a shared reference only copies the handle.
unsafe impl Sync for Handle {}

impl Handle {
    /// No handle of either family.
    pub const NONE: Self = Self(null_mut());

    const fn of_int(int: c_int) -> Self {
        // An int is passed with its sign extended, which some machines ask for.
        Self(std::ptr::without_provenance_mut((int as isize).cast_unsigned()))
    }

    /// The int that it is, if handles are ints.
    pub fn as_int(self) -> c_int {
        let [a, b, c, d, ..] = self.0.addr().to_ne_bytes();
        c_int::from_ne_bytes([a, b, c, d])
    }

    /// As it is passed and compared: of an int, no more than its bytes count.
    fn tidy(self) -> Self {
        if handles_are_ints() { Self::of_int(self.as_int()) } else { self }
    }
}

/// Whether the program's MPI has ints for handles.
pub fn handles_are_ints() -> bool {
    matches!(mpi(), Some(Mpi { family: Family::Mpich, .. }))
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

/// An argument as C gets it.
trait Passed {
    fn passed(self) -> Self;
}

impl Passed for Handle {
    fn passed(self) -> Self {
        self.tidy()
    }
}

macro_rules! passed_as_they_are {
    ($($type:ty),*) => {
        $(impl Passed for $type {
            fn passed(self) -> Self {
                self
            }
        })*
    };
}
passed_as_they_are!(c_int, isize, i64, CopyAttribute, DeleteAttribute);

impl<T> Passed for *const T {
    fn passed(self) -> Self {
        self
    }
}

impl<T> Passed for *mut T {
    fn passed(self) -> Self {
        self
    }
}

/// `MPI_Comm_copy_attr_function`.
pub type CopyAttribute =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// `MPI_Comm_delete_attr_function`.
pub type DeleteAttribute = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;
/// A file: an address in both families.
pub type File = *mut c_void;

/// Larger than the status of either family.
#[repr(C)]
pub struct Status([u64; 16]);

/// `MPI_SUCCESS`.
pub const SUCCESS: c_int = 0;
/// What the functions return where there is no MPI.
const NO_MPI: c_int = -1;

// The same in both families.
pub const MODE_CREATE: c_int = 1;
pub const MODE_RDONLY: c_int = 2;
pub const MODE_RDWR: c_int = 8;
pub const MODE_EXCL: c_int = 64;
pub const UNDEFINED: c_int = -32766;

/// A number of each family.
#[derive(Clone, Copy)]
struct Numbers {
    open_mpi: c_int,
    mpich: c_int,
}

const fn numbers(open_mpi: c_int, mpich: c_int) -> Numbers {
    Numbers { open_mpi, mpich }
}

impl Numbers {
    fn get(&self) -> c_int {
        if handles_are_ints() { self.mpich } else { self.open_mpi }
    }
}

const COMM_TYPE_SHARED: Numbers = numbers(0, 1);
const MODE_NOCHECK: Numbers = numbers(1, 1024);
const ERR_LASTCODE: Numbers = numbers(92, 0x3fff_ffff);
const ERR_INTERN: Numbers = numbers(17, 16);

/// `MPI_COMM_TYPE_SHARED`.
pub fn comm_type_shared() -> c_int {
    COMM_TYPE_SHARED.get()
}

/// `MPI_MODE_NOCHECK`.
pub fn mode_nocheck() -> c_int {
    MODE_NOCHECK.get()
}

/// `MPI_ERR_LASTCODE`.
pub fn err_lastcode() -> c_int {
    ERR_LASTCODE.get()
}

/// `MPI_ERR_INTERN`.
pub fn err_intern() -> c_int {
    ERR_INTERN.get()
}

/// `MPI_STATUS_IGNORE`.
pub fn status_ignore() -> *mut Status {
    std::ptr::without_provenance_mut(numbers(0, 1).get().unsigned_abs() as usize)
}

/// The error classes of MPI: of access to files, of memory, and `MPI_ERR_OTHER`.
const CLASSES: [(ErrorKind, Numbers); 12] = [
    (ErrorKind::NoSuchFile, numbers(42, 37)),
    (ErrorKind::Access, numbers(20, 20)),
    (ErrorKind::NoSpace, numbers(41, 36)),
    (ErrorKind::Quota, numbers(44, 39)),
    (ErrorKind::ReadOnly, numbers(45, 40)),
    (ErrorKind::FileExists, numbers(28, 25)),
    (ErrorKind::BadFile, numbers(23, 22)),
    (ErrorKind::FileInUse, numbers(29, 26)),
    (ErrorKind::Unsupported, numbers(52, 44)),
    (ErrorKind::Io, numbers(35, 32)),
    (ErrorKind::Memory, numbers(39, 34)),
    (ErrorKind::Mpi, numbers(16, 15)),
];

/// The error class of a kind of errors, if MPI has one.
pub fn class_of(kind: ErrorKind) -> Option<c_int> {
    CLASSES.iter().find(|(known, _)| *known == kind).map(|(_, numbers)| numbers.get())
}

/// The kind of errors of a class, if it is known.
pub fn kind_of(class: c_int) -> Option<ErrorKind> {
    CLASSES.iter().find(|(_, numbers)| numbers.get() == class).map(|(kind, _)| *kind)
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $symbol:literal, $int:literal;)*) => {
        struct Handles {
            $($name: Handle,)*
        }
        #[cfg(test)]
        const HANDLES: &[(&str, u32)] = &[$((stringify!($name), $int)),*];
        #[cfg(test)]
        const SYMBOLS: &[(&str, &CStr)] = &[$((stringify!($name), $symbol)),*];
        impl Handles {
            fn find(family: Family, find: &impl Fn(&CStr) -> Option<NonNull<c_void>>) -> Option<Self> {
                Some(match family {
                    Family::OpenMpi => Self { $($name: Handle(find($symbol)?.as_ptr()),)* },
                    Family::Mpich => Self { $($name: Handle::of_int(c_int::from_ne_bytes(u32::to_ne_bytes($int))),)* },
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
    comm_world: c"ompi_mpi_comm_world", 0x4400_0000;
    /// `MPI_COMM_SELF`.
    comm_self: c"ompi_mpi_comm_self", 0x4400_0001;
    /// `MPI_COMM_NULL`.
    comm_null: c"ompi_mpi_comm_null", 0x0400_0000;
    /// `MPI_INFO_NULL`.
    info_null: c"ompi_mpi_info_null", 0x1c00_0000;
    /// `MPI_WIN_NULL`.
    win_null: c"ompi_mpi_win_null", 0x2000_0000;
    /// `MPI_UINT8_T`.
    uint8: c"ompi_mpi_uint8_t", 0x4c00_013b;
    /// `MPI_INT32_T`.
    int32: c"ompi_mpi_int32_t", 0x4c00_0439;
    /// `MPI_UINT64_T`.
    uint64: c"ompi_mpi_uint64_t", 0x4c00_083e;
    /// `MPI_MIN`.
    min: c"ompi_mpi_op_min", 0x5800_0002;
    /// `MPI_SUM`.
    sum: c"ompi_mpi_op_sum", 0x5800_0003;
    /// `MPI_BXOR`.
    bxor: c"ompi_mpi_op_bxor", 0x5800_000a;
    /// `MPI_ERRORS_RETURN`.
    errors_return: c"ompi_mpi_errors_return", 0x5400_0001;
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
            /// The function of MPI.
            ///
            /// # Safety
            /// As in MPI.
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub unsafe fn $name($($argument: $type),*) -> c_int {
                match mpi() {
                    // SAFETY: the caller's promise.
                    Some(mpi) => unsafe { (mpi.functions.$name)($(Passed::passed($argument)),*) },
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
    fn MPI_Recv(buffer: *mut c_void, count: c_int, kind: Handle, from: c_int, tag: c_int, comm: Handle, status: *mut Status);
    fn MPI_Sendrecv(sent: *const c_void, sent_count: c_int, sent_kind: Handle, to: c_int, sent_tag: c_int, received: *mut c_void, count: c_int, kind: Handle, from: c_int, tag: c_int, comm: Handle, status: *mut Status);
    fn MPI_Type_create_resized(old: Handle, lower: isize, extent: isize, new: *mut Handle);
    fn MPI_Type_commit(kind: *mut Handle);
    fn MPI_Type_free(kind: *mut Handle);
    fn MPI_Get_count(status: *const Status, kind: Handle, count: *mut c_int);
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
    fn MPI_File_read_at(file: File, offset: i64, buffer: *mut c_void, count: c_int, kind: Handle, status: *mut Status);
    fn MPI_File_write_at(file: File, offset: i64, buffer: *const c_void, count: c_int, kind: Handle, status: *mut Status);
    fn MPI_File_set_size(file: File, bytes: i64);
    fn MPI_File_sync(file: File);
}

/// Makes a handle of Fortran's number for it.
type FromFortran = unsafe extern "C" fn(c_int) -> Handle;

/// The MPI that the program runs with.
struct Mpi {
    family: Family,
    handles: Handles,
    functions: Functions,
    /// `MPI_FILE_NULL`.
    file_null: File,
    /// `MPI_Comm_f2c` and `MPI_Info_f2c`, where they are functions; elsewhere the numbers are the handles.
    from_fortran: Option<[FromFortran; 2]>,
}

// SAFETY: it has addresses of functions and constants only.
unsafe impl Send for Mpi {}
// SAFETY: as above.
unsafe impl Sync for Mpi {}

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

/// The MPI of the program, as soon as there is one: it may be loaded later.
fn mpi() -> Option<&'static Mpi> {
    static FOUND: OnceLock<Mpi> = OnceLock::new();
    if let Some(mpi) = FOUND.get() {
        return Some(mpi);
    }
    let found = find(&Process::of(c"MPI_Initialized")?).ok()?;
    Some(FOUND.get_or_init(|| found))
}

/// An error that says why, if the program has no MPI that is known.
pub fn check() -> Result<()> {
    if mpi().is_some() {
        return Ok(());
    }
    let process = Process::of(c"MPI_Initialized")
        .ok_or_else(|| Error::usage("communicator: the program has no MPI: link it with one, or load one"))?;
    find(&process).map(drop)
}

fn find(process: &Process) -> Result<Mpi> {
    let symbol = |name: &CStr| process.find(name);
    let missing = || Error::usage("communicator: this MPI lacks functions of MPI 3");
    let family = match symbol(c"ompi_mpi_comm_null") {
        Some(_) => Family::OpenMpi,
        None => {
            // MPICH's relatives share its handles, and say so in their own words.
            // One that does not tell is taken for MPICH: an error of one rank alone would leave the others waiting.
            let version = version(process).unwrap_or_else(|| "MPICH".to_owned());
            if !["MPICH", "MVAPICH", "Intel", "CRAY"].iter().any(|name| version.contains(name)) {
                let version = version.lines().next().unwrap_or_default();
                let words = format!(
                    "communicator: found {version}, expected Open MPI, MPICH or an MPI with MPICH's binary interface"
                );
                return Err(Error::usage(words));
            }
            Family::Mpich
        }
    };
    let (file_null, from_fortran) = match family {
        Family::Mpich => (null_mut(), None),
        Family::OpenMpi => {
            let found = [c"MPI_Comm_f2c", c"MPI_Info_f2c"].map(symbol);
            let [Some(comm), Some(info)] = found else { return Err(missing()) };
            // SAFETY: Open MPI has functions of these names that take a number and return an address.
            let functions =
                [comm, info].map(|f| unsafe { std::mem::transmute::<NonNull<c_void>, FromFortran>(f) });
            (symbol(c"ompi_mpi_file_null").ok_or_else(missing)?.as_ptr(), Some(functions))
        }
    };
    Ok(Mpi {
        family,
        handles: Handles::find(family, &symbol).ok_or_else(missing)?,
        functions: Functions::find(&symbol).ok_or_else(missing)?,
        file_null,
        from_fortran,
    })
}

/// What an MPI says of itself, at any time.
fn version(process: &Process) -> Option<String> {
    let found = process.find(c"MPI_Get_library_version")?;
    // SAFETY: MPI has a function of this name and type.
    let get = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int>(found)
    };
    let mut text = [0_u8; VERSION_BYTES];
    let mut length: c_int = 0;
    // SAFETY: the buffer is large enough for any version text; takes no handle.
    let status = unsafe { get(text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    let text = text.get(..usize::try_from(length).ok()?)?;
    (status == SUCCESS).then(|| String::from_utf8_lossy(text).trim_end_matches('\0').to_owned())
}

/// `MPI_MAX_LIBRARY_VERSION_STRING` of MPICH, the longest.
const VERSION_BYTES: usize = 8192;

/// What the MPI library that the program runs with says of itself, if it does.
pub fn library_version() -> Option<String> {
    version(&Process::of(c"MPI_Initialized")?)
}

/// Where in the process MPI's functions are: a handle of the dynamic linker.
struct Process(*mut c_void);

impl Process {
    /// Where a symbol is: wherever the program finds it, so that what stands before MPI (a profiler) stands before it here;
    /// or in a library that was loaded for others alone, as Python does it with mpi4py.
    fn of(name: &CStr) -> Option<Self> {
        let default = Self(libc::RTLD_DEFAULT);
        if default.find(name).is_some() {
            return Some(default);
        }
        let mut loaded: Vec<std::ffi::CString> = Vec::new();
        // SAFETY: the function has the type that is called, and gets the list, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loaded).cast::<c_void>()) };
        loaded.iter().find_map(|path| {
            // SAFETY: a C string. What is loaded already is not loaded, and nothing of it is run; it stays loaded.
            let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            let library = Self(NonNull::new(handle)?.as_ptr());
            library.find(name).map(|_| library)
        })
    }

    fn find(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: a handle of the dynamic linker, and a C string.
        NonNull::new(unsafe { libc::dlsym(self.0, name.as_ptr()) })
    }
}

/// Notes the name of a loaded library that may be, or bring, an MPI.
unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes what it is called for.
    let name = unsafe { (*info).dlpi_name };
    // SAFETY: and the list that it was given, which nothing else uses meanwhile.
    let loaded = unsafe { &mut *loaded.cast::<Vec<std::ffi::CString>>() };
    if !name.is_null() {
        // SAFETY: not NULL, so the name of a library is a C string.
        let name = unsafe { CStr::from_ptr(name) };
        let file = name.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        if file.to_ascii_lowercase().windows(3).any(|part| part == b"mpi") {
            loaded.push(name.to_owned());
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// Whether a compiler wrapper takes a program; `None` if there is no such wrapper of this family.
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
        let same = [
            ("MPI_SUCCESS", SUCCESS),
            ("MPI_MODE_CREATE", MODE_CREATE),
            ("MPI_MODE_RDONLY", MODE_RDONLY),
            ("MPI_MODE_RDWR", MODE_RDWR),
            ("MPI_MODE_EXCL", MODE_EXCL),
            ("MPI_UNDEFINED", UNDEFINED),
        ];
        let other = [
            ("MPI_COMM_TYPE_SHARED", COMM_TYPE_SHARED),
            ("MPI_MODE_NOCHECK", MODE_NOCHECK),
            ("MPI_ERR_LASTCODE", ERR_LASTCODE),
            ("MPI_ERR_INTERN", ERR_INTERN),
        ];
        let mut tried = 0;
        for (wrappers, family, of) in [
            (["mpicc.openmpi", "mpicc"], "OPEN_MPI", (|numbers| numbers.open_mpi) as fn(Numbers) -> c_int),
            (["mpicc.mpich", "mpicc"], "MPICH_NAME", |numbers| numbers.mpich),
        ] {
            let numbers = CLASSES.iter().map(|(kind, numbers)| (name(*kind), of(*numbers)));
            let numbers = numbers.chain(same).chain(other.map(|(name, numbers)| (name, of(numbers))));
            let mut text: String = numbers
                .map(|(name, number)| format!("_Static_assert({name} == {number}, \"{name}\");\n"))
                .collect();
            if family == "MPICH_NAME" {
                for (name, int) in HANDLES {
                    text += &format!("_Static_assert((unsigned) {} == {int}u, \"{name}\");\n", c_name(name));
                }
            } else {
                // Each handle is the address of an object of this name.
                for (name, symbol) in SYMBOLS {
                    let symbol = symbol.to_str().unwrap();
                    text += &format!(
                        "_Static_assert((void *) {} == (void *) &{symbol}, \"{name}\");\n",
                        c_name(name)
                    );
                }
            }
            text += "_Static_assert(sizeof(MPI_Status) <= 128 && sizeof(MPI_Offset) == 8, \"sizes\");\n";
            let found = wrappers.iter().find_map(|wrapper| compiles(wrapper, family, &text));
            assert_ne!(found, Some(false), "{family}");
            tried += usize::from(found.is_some());
        }
        if tried == 0 {
            eprintln!("skipped: there is no mpi.h");
        }
    }

    /// The name in C of what a function of this module returns.
    fn c_name(name: &str) -> String {
        let name = match name {
            "uint8" | "int32" | "uint64" => format!("{name}_T"),
            _ => name.to_owned(),
        };
        format!("MPI_{}", name.to_uppercase())
    }
}
