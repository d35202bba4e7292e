//! The calls of the system that change the files of one folder, in their order. This test program has functions of the names that the
//! library calls in libc, so all its calls come by here.

use crate::disks::{Event, Write};
use crate::schedule::{Call, next_call};
use libc::{c_char, c_int, c_uint, c_ulong, c_void, off64_t, size_t, ssize_t};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// What was recorded.
pub struct Record {
    pub events: Vec<Event>,
    /// How many of them make the files that were there before.
    pub initial: usize,
    /// After how many events the program was told that something is durable, and what.
    durable: Vec<(usize, usize)>,
}

impl Record {
    /// Whether the program had opened the file before the next event.
    pub fn is_open_after(&self, events: usize) -> bool {
        self.durable.iter().any(|(at, _)| *at <= events)
    }

    /// What the program was told to be durable before the next event.
    pub fn durable_after(&self, events: usize) -> usize {
        self.durable.iter().filter(|(at, _)| *at <= events).map(|(_, what)| *what).max().unwrap_or(0)
    }
}

struct Recorder {
    folder: PathBuf,
    record: Record,
    /// The numbers of files, by inode.
    files: BTreeMap<u64, u64>,
    next: u64,
}

static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

/// Other tests make calls at the same time, which are of no schedule: a thread that is waits for them without telling it.
fn recorder() -> MutexGuard<'static, Option<Recorder>> {
    loop {
        match RECORDER.try_lock() {
            Ok(recorder) => return recorder,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
}

/// A record that is being made. One at a time: tests may run on threads of one process.
pub struct Log {
    _one: MutexGuard<'static, ()>,
}

static ONE: Mutex<()> = Mutex::new(());

impl Log {
    /// Begins to record what happens in a folder.
    pub fn of(folder: &Path) -> Self {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let record = Record { events: Vec::new(), initial: 0, durable: Vec::new() };
        let mut this = Recorder { folder: folder.to_owned(), record, files: BTreeMap::new(), next: 0 };
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            let file = this.add(entry.metadata().unwrap().ino());
            this.record.events.push(Event::Old(file, std::fs::read(entry.path()).unwrap()));
            let name = entry.file_name().into_string().unwrap();
            this.record.events.push(Event::Name(name, Some(file)));
        }
        this.record.events.push(Event::SyncFolder);
        this.record.initial = this.record.events.len();
        *recorder() = Some(this);
        Self { _one: one }
    }

    /// The names of the files that were there before are not on the disk for certain.
    pub fn forget_names(&self) {
        let mut recorder = recorder();
        let record = &mut recorder.as_mut().unwrap().record;
        assert!(matches!(record.events.pop(), Some(Event::SyncFolder)));
        record.initial -= 1;
    }

    /// The program was told that something is durable.
    pub fn note_durable(&self, what: usize) {
        let mut recorder = recorder();
        let record = &mut recorder.as_mut().unwrap().record;
        record.durable.push((record.events.len(), what));
    }

    pub fn end(self) -> Record {
        recorder().take().unwrap().record
    }
}

impl Recorder {
    fn add(&mut self, inode: u64) -> u64 {
        self.files.insert(inode, self.next);
        self.next += 1;
        self.next - 1
    }

    /// The name in the folder, if this is a path of a file there.
    fn name(&self, path: *const c_char) -> Option<String> {
        // SAFETY: whoever calls the system passes a string.
        let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        let is_here = path.parent() == Some(&self.folder);
        is_here.then(|| path.file_name().unwrap().to_str().unwrap().to_owned())
    }

    /// The file that has this name.
    fn named(&self, name: &str) -> Option<u64> {
        let found = std::fs::metadata(self.folder.join(name)).ok()?;
        self.files.get(&found.ino()).copied()
    }

    /// The file of a descriptor.
    fn file(&self, fd: c_int) -> Option<u64> {
        let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: fills the structure, or fails.
        let status = (unsafe { libc::fstat(fd, status.as_mut_ptr()) } == 0)
            .then(|| unsafe { status.assume_init() })?;
        self.files.get(&status.st_ino).copied()
    }

    fn push(&mut self, event: Event) {
        self.record.events.push(event);
    }
}

thread_local! {
    /// The recorder itself reads files.
    static RECORDS: Cell<bool> = const { Cell::new(false) };
    /// The last write has written fewer bytes than it should.
    static HAS_REST: Cell<bool> = const { Cell::new(false) };
    /// The call moves half of its bytes.
    static IS_SHORT: Cell<bool> = const { Cell::new(false) };
}

/// Makes a call, if the schedule does not have it fail; then, if it did what it should, records it.
fn call<T: Copy + PartialOrd + From<i8>>(
    call: impl FnOnce(Option<&Recorder>) -> T,
    note: impl FnOnce(&mut Recorder, T),
) -> T {
    if RECORDS.replace(true) {
        return call(None);
    }
    let next = next_call();
    IS_SHORT.set(matches!(next, Call::Short));
    if let Call::Fails(errno) = next {
        RECORDS.set(false);
        // SAFETY: the place of this thread.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: it may be written to.
        unsafe { *place = errno };
        return T::from(-1);
    }
    let mut recorder = recorder();
    let result = call(recorder.as_ref());
    if let Some(recorder) = recorder.as_mut().filter(|_| result >= T::from(0)) {
        note(recorder, result);
    }
    RECORDS.set(false);
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    let was_there = Cell::new(None);
    call(
        |recorder| {
            was_there
                .set(recorder.and_then(|recorder| Some(recorder.named(&recorder.name(path)?).is_some())));
            // SAFETY: as the caller promises.
            unsafe {
                libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags | libc::O_LARGEFILE, mode)
                    as c_int
            }
        },
        |recorder, fd| {
            let is_new = was_there.get() == Some(false) && flags & libc::O_CREAT != 0;
            let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
            // SAFETY: fills the structure, or fails.
            if is_new && unsafe { libc::fstat(fd, status.as_mut_ptr()) } == 0 {
                // SAFETY: it was filled.
                let file = recorder.add(unsafe { status.assume_init() }.st_ino);
                if let Some(name) = recorder.name(path) {
                    recorder.push(Event::Name(name, Some(file)));
                }
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(fd: c_int, data: *const c_void, count: size_t, offset: off64_t) -> ssize_t {
    call(
        // SAFETY: as the caller promises.
        |_| unsafe { libc::syscall(libc::SYS_pwrite64, fd, data, moved(count), offset) as ssize_t },
        |recorder, done| {
            if let Some(file) = recorder.file(fd) {
                // SAFETY: `done` bytes were written from there.
                let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), done as usize) };
                let is_rest = HAS_REST.replace(bytes.len() < count);
                let (offset, bytes) = (offset as usize, bytes.to_vec());
                recorder.push(Event::Write(Write { file, fd, offset, bytes, is_rest }));
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(fd: c_int, data: *mut c_void, count: size_t, offset: off64_t) -> ssize_t {
    call(
        // SAFETY: as the caller promises.
        |_| unsafe { libc::syscall(libc::SYS_pread64, fd, data, moved(count), offset) as ssize_t },
        |_, _| {},
    )
}

/// How many bytes this call moves.
fn moved(count: size_t) -> size_t {
    if IS_SHORT.take() { count.div_ceil(2) } else { count }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwritev64(
    fd: c_int,
    pieces: *const libc::iovec,
    count: c_int,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: as the caller promises.
    let pieces = unsafe { std::slice::from_raw_parts(pieces, count as usize) };
    // SAFETY: likewise.
    let slice = |piece: &libc::iovec| unsafe {
        std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len)
    };
    let bytes = pieces.iter().map(slice).collect::<Vec<_>>().concat();
    // SAFETY: these bytes are ours.
    unsafe { pwrite64(fd, bytes.as_ptr().cast(), bytes.len(), offset) }
}

/// The files of the folder are in a file system that clones: a clone is a write of all bytes. It never fails, so nothing else copies
/// them, which nothing would record.
#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, from: c_int) -> c_int {
    if request == FICLONE && !RECORDS.replace(true) {
        let mut recorder = recorder();
        let file = recorder.as_ref().and_then(|recorder| recorder.file(fd));
        let bytes = std::fs::read(format!("/proc/self/fd/{from}"));
        let cloned = file.zip(bytes.ok()).map(|(file, bytes)| {
            // SAFETY: writes these bytes.
            let done = unsafe { libc::syscall(libc::SYS_pwrite64, fd, bytes.as_ptr(), bytes.len(), 0) };
            assert_eq!(done, bytes.len() as i64);
            Event::Write(Write { file, fd, offset: 0, bytes, is_rest: false })
        });
        RECORDS.set(false);
        if let (Some(recorder), Some(event)) = (recorder.as_mut(), cloned) {
            recorder.push(event);
            return 0;
        }
    }
    // SAFETY: as the caller promises.
    unsafe { libc::syscall(libc::SYS_ioctl, fd, request, from) as c_int }
}

/// The request to let two files share their blocks.
const FICLONE: c_ulong = 0x4004_9409;

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(fd: c_int, length: off64_t) -> c_int {
    call(
        // SAFETY: as the caller promises.
        |_| unsafe { libc::syscall(libc::SYS_ftruncate, fd, length) as c_int },
        |recorder, _| {
            if let Some(file) = recorder.file(fd) {
                recorder.push(Event::Truncate(file, length as usize));
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    call(
        // SAFETY: as the caller promises.
        |_| unsafe { libc::syscall(libc::SYS_fsync, fd) as c_int },
        |recorder, _| {
            let path = PathBuf::from(format!("/proc/self/fd/{fd}"));
            match recorder.file(fd) {
                Some(file) => recorder.push(Event::Sync(file, fd, std::fs::read(path).unwrap())),
                None if std::fs::read_link(path).is_ok_and(|path| path == recorder.folder) => {
                    recorder.push(Event::SyncFolder);
                }
                None => {}
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    call(
        // SAFETY: as the caller promises.
        |_| unsafe {
            libc::syscall(libc::SYS_renameat2, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0) as c_int
        },
        |recorder, _| {
            if let (Some(from), Some(to)) = (recorder.name(from), recorder.name(to)) {
                // A rename is one change: the old name goes with it.
                let file = recorder.named(&to);
                recorder.push(Event::Name(to, file));
                recorder.push(Event::Name(from, None));
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn link(from: *const c_char, to: *const c_char) -> c_int {
    call(
        // SAFETY: as the caller promises.
        |_| unsafe { libc::syscall(libc::SYS_linkat, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0) as c_int },
        |recorder, _| {
            if let Some(to) = recorder.name(to) {
                let file = recorder.named(&to);
                recorder.push(Event::Name(to, file));
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    call(
        // SAFETY: as the caller promises.
        |_| unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0) as c_int },
        |recorder, _| {
            if let Some(name) = recorder.name(path) {
                recorder.push(Event::Name(name, None));
            }
        },
    )
}
