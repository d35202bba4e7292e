//! The open files, by the handles that C has.

use super::memory::Out;
use super::returned_values::ReturnedValues;
use super::{NO_FILE, Outcome, guard, on_null};
use scda::bindings::{BindingCalls, ReaderCalls, WriterCalls};
use scda::{Collective, Reader, Stream, Writer};
use scda_base::error::{Error, Result};
use scda_base::fork::Global;
use scda_meshes::MeshNotes;
use scda_ranks::PartitionTable;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// A file that is open for writing or reading. Opaque.
pub struct scda_fcontext {
    _private: [u8; 0],
}

/// A file that is open for writing or reading. Opaque.
pub type scda_fcontext_t = scda_fcontext;

/// An open file.
#[allow(clippy::large_enum_variant)] // it is kept in a box
pub enum Context {
    /// For writing.
    Writing(Writer),
    /// For reading, with the values returned to C that are valid while the file is open.
    Reading(Reader, ReturnedValues),
}

/// A slot for an open file, which one file uses after the other; locked while a function works on it.
#[derive(Default)]
struct Slot {
    /// The handle of the current or last file.
    handle: usize,
    context: Option<Box<Context>>,
    /// The caller's notes on the file.
    notes: Notes,
    /// The notes on its meshes.
    meshes: MeshNotes,
    /// The error with which a function closed the file without returning NULL; the next call returns it, too.
    failure: Option<Error>,
}

/// Memory that does not move while a file is open, by keys.
pub type Notes = BTreeMap<Vec<u8>, Box<[u64]>>;

/// The slots, in blocks of which each is twice as large as the previous one. They do not move, so that a file
/// can be found without a lock that all files share.
static SLOTS: [OnceLock<Box<[Mutex<Slot>]>>; 32] = [const { OnceLock::new() }; 32];
/// The number of slots in the first block.
const FIRST_BLOCK: usize = 16;
/// A handle has the number of its slot in these low bits, and the number of its uses above them.
const SLOT_BITS: u32 = 24;

/// The slots that no file uses.
struct FreeSlots {
    numbers: Vec<usize>,
    /// The number of the next slot that was never used.
    next: usize,
}

static FREE: Global<FreeSlots> = Global::new(FreeSlots { numbers: Vec::new(), next: 0 });

/// The commits that were completed because their file was closed, and for which the program may still wait:
/// the handle of the file, and the number of the commit. At most [`MOST_CLOSED`], since a program need not
/// wait for any.
static CLOSED: Global<BTreeSet<(usize, u64)>> = Global::new(BTreeSet::new());

/// The most commits that are remembered after their files are closed.
const MOST_CLOSED: usize = 1 << 14;

/// Whether this commit was completed when its file was closed. It is then waited for.
pub fn was_closed_with(f: *const scda_fcontext_t, number: u64) -> bool {
    CLOSED.with(|commits| commits.remove(&(f.addr(), number)))
}

/// The handles of the files on which a commit or close has begun, in the order in which that last happened.
/// It is the same on all ranks that have the files.
#[cfg(feature = "mpi")]
pub static BEGUN: Global<Vec<usize>> = Global::new(Vec::new());

/// Called when everything begun on this file was waited for, or when the file is closed.
#[cfg(feature = "mpi")]
pub fn forget_begun(f: *const scda_fcontext_t) {
    BEGUN.with(|files| files.retain(|&file| file != f.addr()));
}

/// The block and the index there of a slot with this number.
fn location(number: usize) -> (usize, usize) {
    let block = (number / FIRST_BLOCK + 1).ilog2() as usize;
    (block, number - FIRST_BLOCK * ((1 << block) - 1))
}

/// The slot of a handle, if there is one.
fn slot(handle: usize) -> Option<&'static Mutex<Slot>> {
    let (block, index) = location(handle & ((1 << SLOT_BITS) - 1));
    SLOTS.get(block)?.get()?.get(index)
}

/// Gives a file a handle, which is never used again.
pub fn register(mut context: Context) -> Result<*mut scda_fcontext_t> {
    let (number, slots, index) = FREE.with(|free| {
        let number = free.numbers.pop().unwrap_or_else(|| {
            free.next += 1;
            free.next - 1
        });
        let (block, index) = location(number);
        let blocks = SLOTS.get(block).filter(|_| number < 1 << SLOT_BITS);
        let blocks = blocks.ok_or_else(|| Error::memory(number))?;
        let slots = blocks.get_or_init(|| (0..FIRST_BLOCK << block).map(|_| Mutex::default()).collect());
        Ok::<_, Error>((number, slots, index))
    })?;
    let mut slot = slots[index].lock().unwrap_or_else(PoisonError::into_inner);
    let uses = (slot.handle >> SLOT_BITS) + 1;
    slot.handle = uses << SLOT_BITS | number;
    if let Context::Reading(_, given) = &mut context {
        given.belong_to(slot.handle);
    }
    (slot.context, slot.failure) = (Some(Box::new(context)), None);
    Ok(without_provenance_mut(slot.handle))
}

/// A file on which a function works. If it is dropped without success, the file is closed and its handle
/// becomes invalid.
struct Lease {
    slot: MutexGuard<'static, Slot>,
    keep: bool,
}

impl Lease {
    /// The file with this handle.
    #[inline(always)]
    fn new(f: *const scda_fcontext_t) -> Result<Self> {
        let slot = match slot(f.addr()).ok_or_else(|| not_open(f))?.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::Poisoned(slot)) => slot.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(in_use()),
        };
        // No handle is 0.
        if slot.handle != f.addr() || slot.context.is_none() {
            let failure = slot.failure.as_ref().filter(|_| slot.handle == f.addr());
            return Err(failure.map_or_else(|| not_open(f), Error::again));
        }
        Ok(Self { slot, keep: false })
    }

    /// The file.
    #[inline]
    fn context(&mut self) -> Result<&mut Context> {
        self.slot.context.as_deref_mut().ok_or_else(|| Error::usage("file context: it is closed"))
    }

    /// Closes the file.
    #[cold]
    fn give_up(&mut self) {
        #[cfg(feature = "mpi")]
        forget_begun(without_provenance_mut(self.slot.handle));
        self.slot.context = None;
        self.slot.notes.clear();
        self.slot.meshes.clear();
        let number = self.slot.handle & ((1 << SLOT_BITS) - 1);
        FREE.with(|free| free.numbers.push(number));
    }
}

impl Drop for Lease {
    #[inline]
    fn drop(&mut self) {
        if !self.keep {
            self.give_up();
        }
    }
}

#[cold]
fn not_open(f: *const scda_fcontext_t) -> Error {
    if f.is_null() {
        return Error::argument(NO_FILE);
    }
    Error::usage("file context: it was closed already, or was never open")
}

#[cold]
fn in_use() -> Error {
    Error::usage("file context: another thread is using it")
}

/// Calls `body` with each file that is open for writing.
#[cfg(feature = "mpi")]
pub fn for_each_writer(mut body: impl FnMut(&mut Writer)) {
    for slot in SLOTS.iter().filter_map(OnceLock::get).flatten() {
        if let Ok(mut slot) = slot.try_lock()
            && let Some(Context::Writing(writer)) = slot.context.as_deref_mut()
        {
            body(writer);
        }
    }
}

/// Calls `body` with a file, to inspect it; `None` if it is not open.
pub fn look<R>(f: *const scda_fcontext_t, body: impl FnOnce(&mut Context) -> R) -> Option<R> {
    let mut lease = Lease::new(f).ok()?;
    lease.keep = true;
    lease.context().ok().map(body)
}

/// Calls `body` with the notes of a file; `None` if it is not open.
pub fn with_notes<R>(f: *const scda_fcontext_t, body: impl FnOnce(&mut Notes) -> R) -> Option<R> {
    let mut lease = Lease::new(f).ok()?;
    lease.keep = true;
    Some(body(&mut lease.slot.notes))
}

/// Runs a function on this rank alone. The file stays open, whatever happens. 0 on success.
pub fn locally(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
    body: impl FnOnce(&mut Context) -> Result<()>,
) -> c_int {
    if f.is_null() {
        return on_null(err, -1);
    }
    let run = || {
        let mut lease = Lease::new(f)?;
        lease.keep = true;
        body(lease.context()?)?;
        Ok((0, Outcome::Success))
    };
    guard(err, -1, run)
}

/// The file, if it is open for reading, and a stream of a set that was found.
pub fn read_locally(context: &mut Context, set: u64, task: u64) -> Result<(&mut Reader, &Stream)> {
    let (reader, given) = context.reader_locally()?;
    let stream = given.stream(reader, set, task)?;
    Ok((reader, stream))
}

/// Runs a function on an open file. On error the file is closed and its handle becomes invalid.
#[inline]
pub fn with<R: Into<Outcome>>(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
    body: impl FnOnce(&mut Context) -> Result<R>,
) -> *mut scda_fcontext_t {
    if f.is_null() {
        return on_null(err, null_mut());
    }
    guard(err, null_mut(), || run(f, body))
}

/// Runs a function on an open file, without catching panics. On error the file is closed and its handle
/// becomes invalid.
#[inline]
pub fn run<R: Into<Outcome>>(
    f: *mut scda_fcontext_t,
    body: impl FnOnce(&mut Context) -> Result<R>,
) -> Result<(*mut scda_fcontext_t, Outcome)> {
    let mut lease = Lease::new(f)?;
    let outcome = body(lease.context()?)?;
    lease.keep = true;
    Ok((f, outcome.into()))
}

/// Like [`with`], for a function that returns a value instead of the file. After an error, the next call
/// returns the same error.
pub fn with_value<T>(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
    on_error: T,
    body: impl FnOnce(&mut Context) -> Result<T>,
) -> T {
    if f.is_null() {
        return on_null(err, on_error);
    }
    let run = || {
        let mut lease = Lease::new(f)?;
        let value = lease.context().and_then(body);
        lease.slot.failure = value.as_ref().err().map(Error::again);
        lease.keep = value.is_ok();
        Ok((value?, Outcome::Success))
    };
    guard(err, on_error, run)
}

/// Like [`with`], for a file that is open for writing.
#[inline]
pub fn on_writer(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
    body: impl FnOnce(&mut Writer) -> Result<()>,
) -> *mut scda_fcontext_t {
    with(f, err, |context| body(context.writer()?))
}

/// Like [`on_writer`], with the notes on the meshes of the file.
pub fn on_meshes(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
    body: impl FnOnce(&mut Writer, &mut MeshNotes) -> Result<()>,
) -> *mut scda_fcontext_t {
    if f.is_null() {
        return on_null(err, null_mut());
    }
    let run = || {
        let mut lease = Lease::new(f)?;
        let mut meshes = std::mem::take(&mut lease.slot.meshes);
        body(lease.context()?.writer()?, &mut meshes)?;
        lease.slot.meshes = meshes;
        lease.keep = true;
        Ok((f, Outcome::Success))
    };
    guard(err, null_mut(), run)
}

/// Like [`with`], for a file that is open for reading.
#[inline]
pub fn on_reader<R: Into<Outcome>>(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
    body: impl FnOnce(&mut Reader) -> Result<R>,
) -> *mut scda_fcontext_t {
    with(f, err, |context| body(context.reader()?))
}

/// Runs `body`, which is [`run_close`], in a function that closes a file. Messages name the function of C in which
/// `body` is a closure. 0 on success.
pub fn close(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
    body: impl FnOnce() -> Result<(c_int, Outcome)>,
) -> c_int {
    if f.is_null() {
        return on_null(err, -1);
    }
    guard(err, -1, body)
}

/// Closes a file and makes its handle invalid.
pub fn run_close(f: *mut scda_fcontext_t) -> Result<(c_int, Outcome)> {
    let context = Lease::new(f)?.slot.context.take();
    match context.map(|context| *context) {
        Some(Context::Writing(mut writer)) => {
            let commits = writer.not_waited_for();
            writer.close()?;
            CLOSED.with(|closed| {
                closed.extend(commits.into_iter().map(|number| (f.addr(), number)));
                while closed.len() > MOST_CLOSED {
                    closed.pop_first();
                }
            });
        }
        Some(Context::Reading(reader, _)) => reader.close()?,
        None => {}
    }
    Ok((0, Outcome::Success))
}

/// The error of a function that reads.
pub const FOR_WRITING: &str = "this function reads, but the file is open for writing; to read what is committed, also open it with scda_fopen_read";

impl Context {
    /// For a file that was opened for reading.
    pub fn reading(reader: Reader) -> Self {
        Self::Reading(reader, ReturnedValues::default())
    }

    /// The sums of the sizes of each rank's elements, by rank.
    pub fn proc_sizes(&mut self, sizes: Result<&[u64]>) -> Result<Vec<u64>> {
        // All ranks agree before the sums are used.
        let sizes = sizes.unwrap_or_else(|error| {
            self.refuse(error);
            &[]
        });
        match self {
            Self::Writing(writer) => writer.proc_sizes(sizes),
            Self::Reading(reader, _) => reader.proc_sizes(sizes),
        }
    }

    /// The file, if it is open for reading, for work of this rank alone.
    pub fn reader_locally(&mut self) -> Result<(&mut Reader, &mut ReturnedValues)> {
        match self {
            Self::Reading(reader, given) => reader.check_not_closing().map(|()| (reader, given)),
            Self::Writing(_) => Err(Error::usage(FOR_WRITING)),
        }
    }

    /// The numbers of all ranks, by rank.
    pub fn proc_counts(&mut self, count: u64) -> Result<Vec<u64>> {
        match self {
            Self::Writing(writer) => writer.proc_counts(count),
            Self::Reading(reader, _) => reader.proc_counts(count),
        }
    }

    /// The partition in which this rank has `count` elements.
    pub fn partition(&mut self, count: u64) -> Result<PartitionTable> {
        match self {
            Self::Writing(writer) => writer.partition(count),
            Self::Reading(reader, _) => reader.partition(count),
        }
    }

    /// The first half of closing, after which the file can only be closed.
    pub fn begin_close(&mut self) -> Result<()> {
        match self {
            Self::Writing(writer) => writer.begin_close(),
            Self::Reading(reader, _) => reader.begin_close(),
        }
    }

    /// The file, if it is open for writing.
    #[inline]
    pub fn writer(&mut self) -> Result<&mut Writer> {
        match self {
            Self::Writing(writer) => Ok(writer),
            Self::Reading(reader, _) => {
                Err(reader.fail(Error::usage("this function writes, but the file is open for reading; to add to it, open it with scda_fopen_append")))
            }
        }
    }

    /// The file, if it is open for reading.
    #[inline]
    pub fn reader(&mut self) -> Result<&mut Reader> {
        self.reader_and_given().map(|(reader, _)| reader)
    }

    /// Like [`Self::reader`], with the values returned to C.
    #[inline]
    pub fn reader_and_given(&mut self) -> Result<(&mut Reader, &mut ReturnedValues)> {
        match self {
            Self::Reading(reader, given) => Ok((reader, given)),
            Self::Writing(writer) => Err(writer.fail(Error::usage(FOR_WRITING))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_location_of_its_own() {
        let locations: Vec<_> = (0..10 * FIRST_BLOCK).map(location).collect();
        let expected = (0..10).flat_map(|block| (0..FIRST_BLOCK << block).map(move |index| (block, index)));
        assert_eq!(locations, expected.take(10 * FIRST_BLOCK).collect::<Vec<_>>());
    }

    #[test]
    fn a_handle_that_was_given_up_is_never_given_again() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name| {
            let path = folder.path().join(name);
            let writer = Writer::create(scda::Solo, &path, b"", &scda::WriteOptions::default()).unwrap();
            register(Context::Writing(writer)).unwrap()
        };
        let mut seen = Vec::new();
        for _ in 0..40 {
            let pair = [open("f"), open("g")];
            for f in pair {
                assert!(!f.is_null() && !seen.contains(&f));
                assert_eq!(close(f, None, || run_close(f)), 0);
                assert!(run_close(f).is_err());
                seen.push(f);
            }
        }
    }
}
