//! Communicators of MPI. Every return code becomes a `Result`.

mod finalizing;
pub mod numbers;
pub mod process;
mod session;
mod sharing;
pub mod sys;

pub use finalizing::at_finalize;
pub use process::load_library;
pub use sys::Handle as MpiHandle;

use super::shared::SharedMemory;
use super::{Communicator, Nodes};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::fork::Process;
use scda_base::memory::resize;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// A private duplicate of the user's communicator, with errors returned.
///
/// It must be created, used and dropped while MPI is initialised.
#[derive(Debug)]
pub struct Mpi {
    comm: sys::Handle,
    rank: usize,
    size: usize,
    /// Whether it is freed when it is dropped.
    is_own: bool,
    longest_message: usize,
    /// The process that created it: a forked process makes no MPI calls.
    process: Process,
    /// The session that keeps MPI running, if there is one. It ends after the communicator is freed.
    #[allow(dead_code)] // it is dropped
    session: Option<session::Session>,
}

// SAFETY: MPI lets any thread use a handle, within the level of thread support that the program requested,
// and the library uses none from two threads at once.
unsafe impl Send for Mpi {}

/// MPI's text for an error code.
pub fn mpi_message(code: c_int) -> String {
    let mut text = [0_u8; 4096]; // larger than any MPI_MAX_ERROR_STRING
    let mut length: c_int = 0;
    // SAFETY: the buffer is large enough for any text; MPI accepts any code, known or not.
    let status = unsafe { sys::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    match usize::try_from(length) {
        Ok(length) if succeeded(status) && length <= text.len() => {
            // Joins the lines.
            String::from_utf8_lossy(&text[..length]).replace('\n', " ")
        }
        _ => format!("MPI error {code}"),
    }
}

/// Whether an MPI function returned `MPI_SUCCESS`.
pub fn succeeded(code: c_int) -> bool {
    code == process::SUCCESS
}

/// Returns an error if an MPI function, other than one of file access, failed.
fn check(call: &str, code: c_int) -> Result<()> {
    if succeeded(code) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Mpi, format!("{call}: {}", mpi_message(code))))
}

/// The most values that are reduced at a time, from a copy on the stack.
const REDUCED_VALUES: usize = 1 << 12;

/// A length as MPI's type. The library sends nothing longer than its bounded buffers.
fn count(length: usize) -> Result<c_int> {
    c_int::try_from(length).map_err(|_| {
        Error::new(ErrorKind::Internal, format!("message of {length} items is too long for MPI"))
    })
}

/// A length or rank returned by MPI. Only an undefined value can be negative; it becomes 0.
pub fn from_mpi(number: c_int) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// Whether MPI is running: otherwise nothing else may be called.
pub fn is_running() -> bool {
    session::is_open() || state() == State::Initialized
}

/// Calls `make` while MPI is running, to convert one of Fortran's handles; `None` if MPI cannot run.
pub fn of_fortran<T>(make: impl FnOnce() -> T) -> Option<T> {
    // Numbers that are handles need no conversion. Open MPI ends a program that calls it while it is not
    // running.
    let session =
        if is_running() || sys::handles_are_ints() { None } else { Some(session::Session::open()?) };
    let made = make();
    drop(session);
    Some(made)
}

/// Whether the program has initialised MPI.
#[derive(PartialEq)]
enum State {
    /// Not at all, or only by sessions.
    Untouched,
    Initialized,
    Finalized,
}

fn state() -> State {
    let (mut initialized, mut finalized) = (0, 0);
    // SAFETY: both functions may be called at any time, and write one int.
    let status = unsafe { sys::MPI_Initialized(&raw mut initialized) };
    // SAFETY: as above.
    let status = status | unsafe { sys::MPI_Finalized(&raw mut finalized) };
    match (initialized, finalized) {
        _ if !succeeded(status) => State::Finalized,
        (0, 0) => State::Untouched,
        (_, 0) => State::Initialized,
        _ => State::Finalized,
    }
}

/// Makes sure that the MPI of this communicator keeps running as long as the result exists: opens a session
/// if the program has not initialised MPI.
///
/// # Errors
/// `Usage` if MPI does not run.
fn keep_running(comm: sys::Handle) -> Result<Option<session::Session>> {
    let is_of_world = [sys::comm_world(), sys::comm_self(), sys::comm_null()].contains(&comm);
    let session = match state() {
        State::Initialized => return Ok(None),
        State::Untouched if !is_of_world => session::Session::open(),
        State::Untouched | State::Finalized => None,
    };
    let missing = || Error::usage("communicator: MPI has not been initialised, or has been finalised");
    session.map(Some).ok_or_else(missing)
}

/// Returns an error if MPI is finalised: a call would then end the program.
fn check_running() -> Result<()> {
    if is_running() { Ok(()) } else { Err(Error::usage("MPI has been finalised")) }
}

impl Mpi {
    /// The version text of the program's MPI library; `None` if it has none. Not collective.
    #[must_use]
    pub fn library_version() -> Option<String> {
        process::library_version()
    }

    /// A duplicate of `MPI_COMM_WORLD`. Collective over all ranks of the program.
    ///
    /// # Errors
    /// `Usage` if MPI is not running, `Mpi`.
    pub fn world() -> Result<Self> {
        // SAFETY: every MPI has this communicator while it is running, which is checked there.
        unsafe { Self::duplicate(sys::comm_world()) }
    }

    /// Duplicates a communicator. Collective over it.
    ///
    /// # Errors
    /// `Usage` if MPI is not running, `Argument` for `MPI_COMM_NULL` and intercommunicators, `Mpi`.
    ///
    /// # Safety
    /// `comm` is a valid handle of the MPI library that the program runs with.
    pub unsafe fn duplicate(comm: impl Into<MpiHandle>) -> Result<Self> {
        sys::check()?;
        let comm = comm.into();
        let session = keep_running(comm)?;
        if comm == sys::comm_null() {
            return Err(Error::argument("the communicator is MPI_COMM_NULL"));
        }
        let mut inter = 0;
        // SAFETY: the caller of this function promised that `comm` is valid; writes one int.
        let status = unsafe { sys::MPI_Comm_test_inter(comm, &raw mut inter) };
        if succeeded(status) && inter != 0 {
            return Err(Error::argument("the communicator is an intercommunicator"));
        }
        let mut copy = comm;
        // SAFETY: the caller of this function promised that `comm` is valid; writes one handle.
        let status = unsafe { sys::MPI_Comm_dup(comm, &raw mut copy) };
        if copy == comm || copy == sys::comm_null() {
            check("MPI_Comm_dup", status)?;
        }
        // From here on, the other ranks have their duplicates and wait for this one, so an error that this
        // rank can ignore must not keep it away.
        let this = Self::unknown(copy, true, session);
        // SAFETY: MPI has just made this duplicate, and the caller of this function promised that `comm` is valid.
        unsafe { this.known(comm) }
    }

    /// The communicator with this number in Fortran, as `MPI_Comm_c2f` returns it: not a duplicate. For a
    /// caller that duplicates and frees communicators itself. From now on its errors are returned, rather
    /// than fatal.
    ///
    /// # Errors
    /// `Usage` if MPI is not running, `Mpi`.
    ///
    /// # Safety
    /// The program's MPI has a communicator with this number, and keeps it until this is dropped. Nobody else
    /// sends anything in it while this is used.
    pub unsafe fn of_fortran(number: c_int) -> Result<Self> {
        sys::check()?;
        // SAFETY: MPI is running; the rest is the caller's promise.
        let comm = of_fortran(|| unsafe { sys::comm_of_fortran(number) }).unwrap_or(sys::comm_null());
        let session = keep_running(comm)?;
        let this = Self::unknown(comm, false, session);
        // SAFETY: the caller promised that the communicator is valid; it is passed twice.
        unsafe { this.known(comm) }
    }

    /// Sets the most bytes of one message to another rank: from 1 to 2³⁰, the default. All ranks pass the
    /// same.
    #[must_use]
    pub fn with_longest_message(mut self, bytes: usize) -> Self {
        self.longest_message = bytes.clamp(1, LONGEST_MESSAGE);
        self
    }

    /// Without its rank and the number of ranks.
    fn unknown(comm: sys::Handle, is_own: bool, session: Option<session::Session>) -> Self {
        let longest_message = LONGEST_MESSAGE;
        Self { comm, rank: 0, size: 1, is_own, longest_message, process: Process::this(), session }
    }

    /// Determines its rank and the number of ranks, which are those of `other`, too, and makes its errors
    /// return.
    ///
    /// # Safety
    /// Both are valid.
    unsafe fn known(mut self, other: sys::Handle) -> Result<Self> {
        // SAFETY: the caller's promise.
        let _ = unsafe { sys::MPI_Comm_set_errhandler(self.comm, sys::errors_return()) };
        let (mut rank, mut size) = (0, 1);
        // SAFETY: the caller's promise; writes one int.
        check("MPI_Comm_rank", unsafe { sys::MPI_Comm_rank(self.comm, &raw mut rank) })
            // SAFETY: the caller's promise; writes one int.
            .or_else(|_| check("MPI_Comm_rank", unsafe { sys::MPI_Comm_rank(other, &raw mut rank) }))?;
        // SAFETY: the caller's promise; writes one int.
        check("MPI_Comm_size", unsafe { sys::MPI_Comm_size(self.comm, &raw mut size) })
            // SAFETY: the caller's promise; writes one int.
            .or_else(|_| check("MPI_Comm_size", unsafe { sys::MPI_Comm_size(other, &raw mut size) }))?;
        (self.rank, self.size) = (from_mpi(rank), from_mpi(size));
        Ok(self)
    }

    /// The handle of the communicator, for MPI-IO.
    pub fn handle(&self) -> sys::Handle {
        self.comm
    }

    /// Reduces the values of all ranks. They are zero after an error if MPI left no result.
    fn allreduce(&self, values: &mut [u64], op: sys::Handle) -> Result<()> {
        let sent = values.to_vec();
        let first = allreduce_once(self.comm, &sent, values, op);
        if first.is_err() && is_running() && values.iter().all(|&value| value == 0) {
            // MPI refused this rank's call, and the others are still waiting for it.
            let _ = allreduce_once(self.comm, &sent, values, op);
        }
        first
    }
}

fn allreduce_once(comm: sys::Handle, sent: &[u64], values: &mut [u64], op: sys::Handle) -> Result<()> {
    check_running()?;
    values.fill(0);
    // SAFETY: `comm` is the duplicate that only `drop` frees; both buffers have
    // `values.len()` items of 64 bits and do not overlap.
    let status = unsafe {
        sys::MPI_Allreduce(
            sent.as_ptr().cast::<c_void>(),
            values.as_mut_ptr().cast::<c_void>(),
            count(sent.len().min(values.len()))?,
            sys::uint64(),
            op,
            comm,
        )
    };
    check("MPI_Allreduce", status)
}

/// The most bytes of a message between two ranks: MPI counts them in 31 bits.
const LONGEST_MESSAGE: usize = 1 << 30;

fn no_parts() -> Error {
    Error::new(ErrorKind::Internal, "alltoallv: the lengths are not those of the data")
}

/// Sends to one rank while receiving from another; either may be left out.
fn exchange(
    comm: sys::Handle,
    to: usize,
    sent: Option<&[u8]>,
    from: usize,
    received: Option<&mut [u8]>,
) -> Result<()> {
    let sent_bytes = count(sent.map_or(0, <[u8]>::len))?;
    let received_bytes = count(received.as_ref().map_or(0, |bytes| bytes.len()))?;
    let (to, from) = (count(to)?, count(from)?);
    let status = match (sent, received) {
        (Some(sent), Some(received)) => {
            // SAFETY: `comm` is the duplicate that only `drop` frees; both buffers have the lengths that are
            // passed, and do not overlap.
            unsafe {
                sys::MPI_Sendrecv(
                    sent.as_ptr().cast::<c_void>(),
                    sent_bytes,
                    sys::uint8(),
                    to,
                    0,
                    received.as_mut_ptr().cast::<c_void>(),
                    received_bytes,
                    sys::uint8(),
                    from,
                    0,
                    comm,
                    numbers::status_ignore(),
                )
            }
        }
        (Some(sent), None) => {
            // SAFETY: as above.
            unsafe { sys::MPI_Send(sent.as_ptr().cast::<c_void>(), sent_bytes, sys::uint8(), to, 0, comm) }
        }
        (None, Some(received)) => {
            // SAFETY: as above.
            unsafe {
                sys::MPI_Recv(
                    received.as_mut_ptr().cast::<c_void>(),
                    received_bytes,
                    sys::uint8(),
                    from,
                    0,
                    comm,
                    numbers::status_ignore(),
                )
            }
        }
        (None, None) => return Ok(()),
    };
    check("exchanging data between two ranks", status)
}

/// Initialises MPI, for programs that belong to this library.
///
/// # Errors
/// The program has no known MPI, or MPI does not start.
pub fn initialize() -> Result<()> {
    sys::check()?;
    let (mut argc, mut argv) = (0, null_mut());
    // SAFETY: no arguments are given.
    check("starting MPI", unsafe { sys::MPI_Init(&raw mut argc, &raw mut argv) })
}

/// Finalises what [`initialize`] has initialised, unless it is still in use.
pub fn finalize() {
    if is_running() {
        // SAFETY: MPI is running; every owner of a communicator checks whether it still is.
        let _ = unsafe { sys::MPI_Finalize() };
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // Freeing is collective, which a panicking rank cannot rely on.
        if self.is_own && self.process.is_this() && is_running() && !std::thread::panicking() {
            // SAFETY: MPI created this communicator for the library, and nothing uses it after this.
            let _ = unsafe { sys::MPI_Comm_free(&raw mut self.comm) };
        }
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.allreduce(values, sys::min())
    }

    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.allreduce(values, sys::sum())
    }

    fn reduce_xor(&self, values: &mut [u64]) -> Result<()> {
        check_running()?;
        let mut result = Ok(());
        // On the stack: a rank without memory would leave the others waiting.
        let mut sent = [0; REDUCED_VALUES];
        for part in values.chunks_mut(REDUCED_VALUES) {
            sent[..part.len()].copy_from_slice(part);
            // SAFETY: `self.comm` is the duplicate that only `drop` frees; both buffers have `part.len()` items of
            // 64 bits and do not overlap.
            let status = unsafe {
                sys::MPI_Reduce(
                    sent.as_ptr().cast::<c_void>(),
                    part.as_mut_ptr().cast::<c_void>(),
                    count(part.len())?,
                    sys::uint64(),
                    sys::bxor(),
                    0,
                    self.comm,
                )
            };
            // The other ranks continue with the next step.
            result = result.and(check("MPI_Reduce", status));
        }
        result
    }

    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        check_running()?;
        let sent = values.to_vec();
        values.fill(0); // MPI leaves the result of rank 0 undefined
        // SAFETY: `self.comm` is the duplicate that only `drop` frees; both buffers have
        // `values.len()` items of 64 bits and do not overlap.
        let status = unsafe {
            sys::MPI_Exscan(
                sent.as_ptr().cast::<c_void>(),
                values.as_mut_ptr().cast::<c_void>(),
                count(values.len())?,
                sys::uint64(),
                sys::sum(),
                self.comm,
            )
        };
        if self.rank == 0 {
            values.fill(0);
        }
        check("MPI_Exscan", status)
    }

    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        check_running()?;
        let mut all = vec![0_u64; self.size];
        // SAFETY: `self.comm` is the duplicate that only `drop` frees; one item is sent, and there is room
        // for one of each rank.
        let status = unsafe {
            sys::MPI_Allgather(
                (&raw const value).cast::<c_void>(),
                1,
                sys::uint64(),
                all.as_mut_ptr().cast::<c_void>(),
                1,
                sys::uint64(),
                self.comm,
            )
        };
        check("MPI_Allgather", status).map(|()| all)
    }

    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        check_running()?;
        // The pointer of an empty slice may equal MPI_IN_PLACE. All ranks pass the same length.
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: `self.comm` is the duplicate that only `drop` frees; the buffer has the length that is
        // passed.
        let status = unsafe {
            sys::MPI_Bcast(
                bytes.as_mut_ptr().cast::<c_void>(),
                count(bytes.len())?,
                sys::uint8(),
                count(root)?,
                self.comm,
            )
        };
        check("MPI_Bcast", status)
    }

    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        check_running()?;
        let own = count(bytes.len())?;
        let mut lengths: Vec<c_int> = vec![0; if self.rank == 0 { self.size } else { 0 }];
        // SAFETY: `self.comm` is the duplicate that only `drop` frees; one int is sent, and on rank 0 there is
        // room for one of each rank.
        let status = unsafe {
            sys::MPI_Gather(
                (&raw const own).cast::<c_void>(),
                1,
                sys::int32(),
                lengths.as_mut_ptr().cast::<c_void>(),
                1,
                sys::int32(),
                0,
                self.comm,
            )
        };
        // Called even after an error, because the other ranks continue with the second half.
        let lengths_known = check("MPI_Gather", status);
        let mut starts: Vec<c_int> = Vec::with_capacity(lengths.len());
        let mut end: c_int = 0;
        for length in &mut lengths {
            *length = (*length).max(0);
            starts.push(end);
            end = end.saturating_add(*length); // bounded by the aggregation buffer, far below
        }
        // The other ranks send in any case: without memory, their bytes go to a single byte that nobody
        // reads.
        let allocated = resize(all, from_mpi(end) as u64);
        let mut sink = [0_u8];
        let mut overlapping = None;
        let room = if allocated.is_ok() { all.as_mut_slice() } else { &mut sink };
        if allocated.is_err() {
            starts.fill(0);
            overlapping = OverlappingType::new();
            if overlapping.is_none() {
                lengths.fill(0);
            }
        }
        // Nothing is sent from NULL: the pointer of an empty slice may equal MPI_IN_PLACE.
        // SAFETY: `self.comm` is the duplicate that only `drop` frees. `own` bytes are sent. On rank 0 there is a
        // length and a start for each rank, whose ranges lie side by side in `all`, or all in the one byte of `sink`,
        // because the type has no extent; other ranks receive nothing.
        let status = unsafe {
            sys::MPI_Gatherv(
                if bytes.is_empty() { null() } else { bytes.as_ptr().cast::<c_void>() },
                own,
                sys::uint8(),
                if room.is_empty() { null_mut() } else { room.as_mut_ptr().cast::<c_void>() },
                lengths.as_ptr(),
                starts.as_ptr(),
                overlapping.as_ref().map_or(sys::uint8(), |bytes| bytes.0),
                0,
                self.comm,
            )
        };
        allocated.inspect_err(|_| all.clear())?;
        lengths_known.and(check("MPI_Gatherv", status))
    }

    /// Each rank exchanges with one other rank after the next, and only if there is something to send,
    /// because the processes of a simulation mostly exchange with neighbours. `MPI_Alltoallv` limits lengths
    /// and offsets to 31 bits.
    fn alltoallv(
        &self,
        sent: &[u8],
        sent_bytes: &[usize],
        received: &mut [u8],
        received_bytes: &[usize],
    ) -> Result<()> {
        check_running()?;
        let own = |lengths: &[usize]| {
            let start = lengths.get(..self.rank)?.iter().sum::<usize>();
            Some(start..start + lengths.get(self.rank)?)
        };
        // Nothing is allocated from here on: a rank that leaves would keep the others waiting.
        let fits = |lengths: &[usize], bytes: &[u8]| {
            lengths.len() == self.size && lengths.iter().sum::<usize>() == bytes.len()
        };
        let (Some(from_here), Some(to_here)) = (own(sent_bytes), own(received_bytes)) else {
            return Err(no_parts());
        };
        if !fits(sent_bytes, sent) || !fits(received_bytes, received) || from_here.len() != to_here.len() {
            return Err(no_parts());
        }
        received[to_here.clone()].copy_from_slice(&sent[from_here.clone()]);
        let mut result = Ok(());
        let (mut sent_end, mut received_start) = (from_here.end, to_here.start);
        for distance in 1..self.size {
            let to = (self.rank + distance) % self.size;
            let from = (self.rank + self.size - distance) % self.size;
            // The parts before and after belong to the ranks before and after.
            let start = if to == 0 { 0 } else { sent_end };
            sent_end = start + sent_bytes[to];
            let end = if from + 1 == self.size { received.len() } else { received_start };
            received_start = end - received_bytes[from];
            let mut there = sent[start..sent_end].chunks(self.longest_message);
            let mut back = received[received_start..end].chunks_mut(self.longest_message);
            loop {
                let (sending, receiving) = (there.next(), back.next());
                if sending.is_none() && receiving.is_none() {
                    break;
                }
                // The other ranks continue with the next one.
                result = result.and(exchange(self.comm, to, sending, from, receiving));
            }
        }
        result
    }

    /// MPI sends short parts in about log P messages per rank.
    fn alltoall(&self, sent: &[u8], received: &mut [u8]) -> Result<()> {
        check_running()?;
        if !sent.len().is_multiple_of(self.size) || received.len() != sent.len() {
            return Err(no_parts());
        }
        let bytes = count(sent.len() / self.size)?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: `self.comm` is the duplicate that only `drop` frees; both buffers have this many bytes for
        // each of its ranks, and do not overlap.
        let status = unsafe {
            sys::MPI_Alltoall(
                sent.as_ptr().cast::<c_void>(),
                bytes,
                sys::uint8(),
                received.as_mut_ptr().cast::<c_void>(),
                bytes,
                sys::uint8(),
                self.comm,
            )
        };
        check("MPI_Alltoall", status)
    }

    unsafe fn share_memory(&self, bytes: usize) -> Result<Option<SharedMemory>> {
        // SAFETY: the caller's promise.
        unsafe { self.share(bytes) }
    }

    fn nodes(&self) -> Result<Option<Nodes>> {
        self.find_nodes()
    }

    fn node(&self) -> u64 {
        self.number_of_node()
    }

    fn as_mpi(&self) -> Option<&Mpi> {
        Some(self)
    }
}

/// A type of bytes that all have the same address: any number of them can be received into one byte.
struct OverlappingType(sys::Handle);

impl OverlappingType {
    fn new() -> Option<Self> {
        let byte = sys::uint8();
        let mut new = byte;
        // SAFETY: derives a type from one of MPI's own, and writes one handle.
        let status = unsafe { sys::MPI_Type_create_resized(byte, 0, 0, &raw mut new) };
        if !succeeded(status) {
            return None;
        }
        let mut this = Self(new);
        // SAFETY: the new type is valid.
        let status = unsafe { sys::MPI_Type_commit(&raw mut this.0) };
        succeeded(status).then_some(this)
    }
}

impl Drop for OverlappingType {
    fn drop(&mut self) {
        // SAFETY: this object owns the type, which is not used after this.
        let _ = unsafe { sys::MPI_Type_free(&raw mut self.0) };
    }
}
