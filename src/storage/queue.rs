//! A queue of writes: the one place that decides when a write happens.
//!
//! Without memory for it, every write is executed by the call that makes it. With memory, the bytes are copied, and a thread of
//! the file writes them, in the order of the calls. The thread calls nothing but the file: no MPI. After the first error
//! it executes nothing more; the error is told by whatever is called next, and by [`Queue::settle`].

use super::ParallelFile;
use super::lent::Lent;
use crate::error::{Error, Result, quote};
use crate::memory::{catch, reserve};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The least memory for a queue.
pub const LEAST_BYTES: u64 = 1 << 20;
/// The bytes of the pieces that are copied and written one by one: the thread begins when the first one is there.
const MOST_PIECE_BYTES: u64 = 1 << 20;
/// What a job takes beside its bytes.
const JOB_BYTES: u64 = 128;
/// What is shorter is copied, even from memory that is lent.
const LEAST_LENT_BYTES: usize = 64 << 10;
/// The most labels that are kept between two times that all is written.
const MOST_LABELS: usize = 4096;
/// The bytes of a label, those of a user string.
const LABEL_BYTES: usize = 58;

/// How a job writes its bytes.
pub type Write<F> = fn(&mut F, u64, &[&[u8]]) -> Result<()>;

/// Something that is done with the file in its turn.
type Task<F> = Box<dyn FnOnce(&mut F) -> Result<()> + Send>;

/// What the writes of this rank took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Copying for the thread.
    pub copied_bytes: u64,
    pub copying: Duration,
    /// Waiting for the thread: for room, or until it has written everything.
    pub waiting: Duration,
    /// Writing, by the calls or by the thread.
    pub written_bytes: u64,
    pub writing: Duration,
    /// Bringing what was written to stable storage.
    pub syncing: Duration,
}

/// A file whose writes are executed in their order: at once, or by a thread.
pub struct Queue<F: ParallelFile + 'static> {
    /// The file, unless the thread has it.
    here: Option<F>,
    thread: Option<Background<F>>,
    /// What the program lends for the call that is running.
    lent: Option<Lent>,
    changes: u64,
    times: Times,
}

/// The thread, and what it shares with the calls.
struct Background<F> {
    shared: Arc<Shared<F>>,
    handle: Option<JoinHandle<()>>,
    /// A process that was forked off has no such thread.
    process: u32,
    /// The most bytes of memory, and those of a piece.
    most: u64,
    piece: usize,
    /// Why there is no thread.
    failed: Option<Error>,
    /// What is written from these offsets on.
    labels: Vec<(u64, [u8; LABEL_BYTES], usize)>,
}

struct Shared<F> {
    state: Mutex<State<F>>,
    /// There is a job, or the end.
    wake: Condvar,
    /// A job is done.
    done: Condvar,
}

struct State<F> {
    /// The file, while the thread may use it and executes no job.
    file: Option<F>,
    jobs: VecDeque<Job<F>>,
    /// The bytes of all jobs, also of the one that is executed, and of the buffers that are free.
    bytes: u64,
    /// Buffers for pieces of this length.
    free: Vec<Vec<u8>>,
    piece: usize,
    failed: Option<Error>,
    /// The thread begins no job before the call that is running has copied its data, or waits.
    is_held: bool,
    is_over: bool,
    times: Times,
}

enum Job<F> {
    Write(u64, Vec<u8>, Write<F>),
    WriteLent(u64, Lent, Write<F>),
    Sync,
    Run(Task<F>),
}

impl<F: ParallelFile + 'static> Queue<F> {
    /// The file, with so many bytes of memory for writing it by a thread; with 0 there is none. A thread that cannot be had is an
    /// error of the first write.
    pub fn new(file: F, background_bytes: u64) -> Self {
        let thread = (background_bytes > 0).then(|| Background::start(background_bytes));
        Self { here: Some(file), thread, lent: None, changes: 0, times: Times::default() }
    }

    /// Whether a thread writes.
    #[inline]
    pub fn is_background(&self) -> bool {
        self.thread.is_some()
    }

    /// What is written from this memory is not copied, until another one or none is lent.
    pub fn lend(&mut self, lent: Option<Lent>) {
        self.lent = lent;
    }

    /// A number that grows with whatever is changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// What was called until now took so long. Not collective.
    pub fn times(&self) -> Times {
        let mut times = self.times;
        if let Some(thread) = self.thread.as_ref().filter(|thread| thread.is_mine()) {
            let by_thread = thread.shared.lock().times;
            times.written_bytes += by_thread.written_bytes;
            times.writing += by_thread.writing;
            times.syncing += by_thread.syncing;
        }
        times
    }

    /// What is written from this offset on has this label, for errors of the thread.
    #[cold]
    pub fn label(&mut self, offset: u64, label: &[u8]) {
        let Some(thread) = &mut self.thread else { return };
        if thread.labels.len() < MOST_LABELS && reserve(&mut thread.labels, 1).is_ok() {
            let (length, mut text) = (label.len().min(LABEL_BYTES), [0; LABEL_BYTES]);
            text[..length].copy_from_slice(&label[..length]);
            thread.labels.push((offset, text, length));
        }
    }

    /// Whether all is written, or never will be, as far as this rank knows without waiting.
    pub fn is_settled(&self) -> bool {
        let Some(thread) = &self.thread else { return true };
        self.here.is_some() || !thread.is_mine() || thread.shared.lock().is_idle()
    }

    /// Waits until all is written. The file is back then.
    ///
    /// # Errors
    /// The first one of the thread, each time.
    pub fn settle(&mut self) -> Result<()> {
        let Some(thread) = &mut self.thread else { return Ok(()) };
        if self.here.is_none() {
            thread.check_process()?;
            let began = Instant::now();
            let mut state = thread.shared.lock();
            thread.shared.go_on(&mut state);
            while !state.is_idle() {
                state = thread.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            self.here = state.file.take();
            drop(state);
            self.times.waiting += began.elapsed();
        }
        thread.check()?;
        thread.labels.clear();
        Ok(())
    }

    /// The file itself, when all is written.
    ///
    /// # Errors
    /// As [`Self::settle`].
    pub fn now(&mut self) -> Result<&mut F> {
        self.settle()?;
        self.changes += 1;
        self.here.as_mut().ok_or_else(gone)
    }

    /// As [`Self::now`], whatever the thread could not write. `None` in a process that was forked off.
    fn after_all(&mut self) -> Option<&mut F> {
        let _ = self.settle();
        self.here.as_mut()
    }

    /// Does something with the file, in its turn.
    ///
    /// # Errors
    /// Those of `job`, or of the thread until now: the error of a job that is executed later is told later.
    pub fn run(&mut self, job: impl FnOnce(&mut F) -> Result<()> + Send + 'static) -> Result<()> {
        self.changes += 1;
        if self.is_settled() {
            return job(self.now()?);
        }
        match &mut self.thread {
            Some(thread) => thread.push(&mut self.here, Job::Run(Box::new(job)), JOB_BYTES),
            None => Err(gone()),
        }
    }

    /// Memory that may be [reserved](Self::reserve) in all, so that writing still finds room beside it. The same on all ranks.
    pub fn most_reserved(&self) -> u64 {
        self.thread.as_ref().map_or(0, |thread| thread.most / 2)
    }

    /// Waits until there is room for so many bytes beside those of all jobs, and takes it until [`Self::release`].
    ///
    /// # Errors
    /// Those of the thread until now.
    pub fn reserve(&mut self, bytes: u64) -> Result<()> {
        let Some(thread) = &self.thread else { return Ok(()) };
        thread.check()?;
        let (most, waited) = (thread.most, &mut self.times.waiting);
        thread.when(waited, |state| state.has_room(bytes, most).then(|| state.bytes += bytes));
        Ok(())
    }

    /// Lets the thread begin no job until [`Self::go_on`], or until something waits for it: so that a thread without a core of its
    /// own takes no time from a call that copies.
    pub fn hold(&mut self) {
        if let Some(thread) = self.thread.as_ref().filter(|thread| thread.is_mine()) {
            thread.shared.lock().is_held = true;
        }
    }

    /// Ends [`Self::hold`].
    pub fn go_on(&mut self) {
        if let Some(thread) = self.thread.as_ref().filter(|thread| thread.is_mine()) {
            thread.shared.go_on(&mut thread.shared.lock());
        }
    }

    /// So many bytes are no longer [reserved](Self::reserve).
    pub fn release(&mut self, bytes: u64) {
        if let Some(thread) = self.thread.as_ref().filter(|thread| thread.is_mine()) {
            thread.shared.lock().bytes -= bytes;
        }
    }

    /// Something that the thread does in its turn, in memory that was [reserved](Self::reserve): nothing of the file changes.
    ///
    /// # Errors
    /// Those of the thread until now.
    pub fn behind(&mut self, work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
        match &mut self.thread {
            Some(thread) => thread.push(&mut self.here, Job::Run(Box::new(|_| work())), JOB_BYTES),
            None => work(),
        }
    }

    /// So many bytes were copied since then for the thread, elsewhere.
    pub fn note_copied(&mut self, bytes: u64, began: Instant) {
        self.times.copied_bytes += bytes;
        self.times.copying += began.elapsed();
    }

    /// This piece as a part of the memory that is lent, if it is one and is not short.
    pub fn lent(&self, piece: &[u8]) -> Option<Lent> {
        part_of(self.lent, piece)
    }

    /// Brings what is written until then to stable storage, if a thread does it: so that the sync that is waited for has
    /// less to do.
    ///
    /// # Errors
    /// Those of the thread until now.
    pub fn sync_ahead(&mut self) -> Result<()> {
        match &mut self.thread {
            Some(thread) => thread.push(&mut self.here, Job::Sync, JOB_BYTES),
            None => Ok(()),
        }
    }

    /// Writes as `write` does: now, or a copy of the pieces later.
    ///
    /// # Errors
    /// Those of `write`, `Memory`, and those of the thread until now.
    pub fn write_by(&mut self, offset: u64, pieces: &[&[u8]], write: Write<F>) -> Result<()> {
        self.changes += 1;
        let bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>() as u64;
        let began = Instant::now();
        let Some(thread) = &mut self.thread else {
            let written = write(self.here.as_mut().ok_or_else(gone)?, offset, pieces);
            self.times.writing += began.elapsed();
            self.times.written_bytes += bytes;
            return written;
        };
        thread.check()?;
        let (mut at, mut rest, mut waited) = (offset, pieces, Duration::ZERO);
        let mut copied = bytes;
        while let Some((&first, others)) = rest.split_first() {
            if let Some(lent) = part_of(self.lent, first) {
                thread.push(&mut self.here, Job::WriteLent(at, lent, write), JOB_BYTES)?;
                (at, rest, copied) = (at + first.len() as u64, others, copied - first.len() as u64);
                continue;
            }
            let own =
                rest.iter().position(|&piece| part_of(self.lent, piece).is_some()).unwrap_or(rest.len());
            let (now, later) = rest.split_at(own);
            let bytes = now.iter().map(|piece| piece.len()).sum::<usize>() as u64;
            waited += thread.copy(&mut self.here, at, now, bytes, write)?;
            (at, rest) = (at + bytes, later);
        }
        self.times.waiting += waited;
        self.times.copying += began.elapsed().saturating_sub(waited);
        self.times.copied_bytes += copied;
        Ok(())
    }
}

impl<F: ParallelFile + 'static> ParallelFile for Queue<F> {
    fn write_at(&mut self, offset: u64, pieces: &[&[u8]]) -> Result<()> {
        self.write_by(offset, pieces, F::write_at)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.now()?.read_at(offset, buffer)
    }

    fn size(&mut self) -> Result<u64> {
        self.now()?.size()
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        self.changes += 1;
        self.after_all().ok_or_else(gone)?.truncate(length)
    }

    fn sync(&mut self) -> Result<()> {
        // Collective: a rank whose thread has failed takes part.
        let settled = self.settle();
        let began = Instant::now();
        let synced = self.here.as_mut().map_or(Ok(()), ParallelFile::sync);
        self.times.syncing += began.elapsed();
        settled.and(synced)
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        let settled = self.settle();
        let closed = self.here.take().map_or(Ok(()), |file| Box::new(file).close());
        settled.and(closed)
    }
}

impl<F: ParallelFile + 'static> Background<F> {
    fn start(most: u64) -> Self {
        let piece = usize::try_from((most / 4).min(MOST_PIECE_BYTES)).unwrap_or(1);
        let state = State {
            file: None,
            jobs: VecDeque::new(),
            bytes: 0,
            free: Vec::new(),
            piece,
            failed: None,
            is_held: false,
            is_over: false,
            times: Times::default(),
        };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new(), done: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let started = std::thread::Builder::new().name("scda".into()).spawn(move || theirs.work());
        let (handle, failed) = match started {
            Ok(handle) => (Some(handle), None),
            Err(error) => (None, Some(Error::io("starting the thread that writes", error))),
        };
        Self { shared, handle, process: std::process::id(), most, piece, failed, labels: Vec::new() }
    }

    fn is_mine(&self) -> bool {
        self.process == std::process::id()
    }

    fn check_process(&self) -> Result<()> {
        match self.is_mine() {
            true => Ok(()),
            false => Err(Error::usage(
                "found a process that was forked off, expected the one that opened the file",
            )),
        }
    }

    /// The error of the thread, with what was written where it failed.
    fn check(&self) -> Result<()> {
        self.check_process()?;
        if let Some(error) = &self.failed {
            return Err(error.again());
        }
        let failed = self.shared.lock().failed.as_ref().map(Error::again);
        failed.map_or(Ok(()), |error| Err(self.named(error)))
    }

    fn named(&self, error: Error) -> Error {
        let Some(offset) = error.offset() else { return error };
        let next = self.labels.partition_point(|&(start, ..)| start <= offset);
        match next.checked_sub(1).map(|index| &self.labels[index]) {
            Some((_, label, length)) => error.in_section(&quote(&label[..*length])),
            None => error,
        }
    }

    /// Gives a job to the thread, and the file.
    fn push(&self, here: &mut Option<F>, job: Job<F>, bytes: u64) -> Result<()> {
        self.check()?;
        let mut state = self.shared.lock();
        if here.is_some() {
            state.file = here.take();
        }
        state.jobs.try_reserve(1).map_err(|_| Error::memory(size_of::<Job<F>>()))?;
        state.jobs.push_back(job);
        state.bytes += bytes;
        let is_held = state.is_held;
        drop(state);
        if !is_held {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// Copies the pieces into jobs, as there is room. Returns how long that was waited for.
    fn copy(
        &self,
        here: &mut Option<F>,
        mut offset: u64,
        pieces: &[&[u8]],
        mut left: u64,
        write: Write<F>,
    ) -> Result<Duration> {
        let (mut waited, mut pieces) = (Duration::ZERO, pieces.iter().copied());
        let mut piece: &[u8] = &[];
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.piece);
            let mut buffer = self.buffer(length, &mut waited)?;
            while buffer.len() < length {
                if piece.is_empty() {
                    piece = pieces.next().unwrap_or_default();
                    continue;
                }
                let (now, later) = piece.split_at(piece.len().min(length - buffer.len()));
                buffer.extend_from_slice(now);
                piece = later;
            }
            let bytes = cost(&buffer);
            self.push(here, Job::Write(offset, buffer, write), bytes)?;
            offset += length as u64;
            left -= length as u64;
        }
        Ok(waited)
    }

    /// An empty buffer with room for so many bytes, when the memory suffices for it.
    fn buffer(&self, length: usize, waited: &mut Duration) -> Result<Vec<u8>> {
        // What is nearly a piece gets the memory of one, which serves again.
        let room = if length > self.piece / 2 { self.piece } else { length };
        let free = self.when(waited, |state| {
            let free = if room == self.piece { state.take_free() } else { None };
            (free.is_some() || state.has_room(room as u64 + JOB_BYTES, self.most)).then_some(free)
        });
        if let Some(buffer) = free {
            return Ok(buffer);
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(room).map_err(|_| Error::memory(room))?;
        Ok(buffer)
    }

    /// What `ready` returns, as soon as it returns something: now, or after a job. Adds how long that was waited for.
    fn when<T>(&self, waited: &mut Duration, mut ready: impl FnMut(&mut State<F>) -> Option<T>) -> T {
        let (mut state, mut began) = (self.shared.lock(), None);
        loop {
            if let Some(value) = ready(&mut state) {
                *waited += began.map_or(Duration::ZERO, |began: Instant| began.elapsed());
                return value;
            }
            began.get_or_insert_with(Instant::now);
            self.shared.go_on(&mut state);
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A piece as a part of memory that is lent, if it is one and is not short.
fn part_of(lent: Option<Lent>, piece: &[u8]) -> Option<Lent> {
    lent.filter(|_| piece.len() >= LEAST_LENT_BYTES)?.part(piece)
}

/// The memory that a job with this buffer takes.
fn cost(buffer: &Vec<u8>) -> u64 {
    buffer.capacity() as u64 + JOB_BYTES
}

#[cold]
fn gone() -> Error {
    Error::usage("the file is closed")
}

impl<F> Drop for Background<F> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The lock may be that of the thread, which this process does not have.
            std::mem::forget((Arc::clone(&self.shared), self.handle.take()));
            return;
        }
        self.shared.lock().is_over = true;
        self.shared.wake.notify_one();
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

impl<F> State<F> {
    /// Whether the thread has nothing to do. It has the file then.
    fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.file.is_some()
    }

    /// A buffer that is free.
    fn take_free(&mut self) -> Option<Vec<u8>> {
        let buffer = self.free.pop()?;
        self.bytes -= cost(&buffer);
        Some(buffer)
    }

    /// Whether there is room for so many more bytes of at most so many, perhaps without the buffers that are free.
    fn has_room(&mut self, more: u64, most: u64) -> bool {
        while self.bytes + more > most && self.take_free().is_some() {}
        self.bytes == 0 || self.bytes + more <= most
    }
}

impl<F> Shared<F> {
    fn lock(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread is not held from now on.
    fn go_on(&self, state: &mut State<F>) {
        if std::mem::take(&mut state.is_held) {
            self.wake.notify_one();
        }
    }
}

impl<F: ParallelFile> Shared<F> {
    /// The thread: executes one job after the other, until the end. What is left then is not written.
    fn work(&self) {
        let mut state = self.lock();
        while !state.is_over {
            // A job comes with the file.
            let State { jobs, file, is_held, .. } = &mut *state;
            let next = if *is_held { None } else { jobs.pop_front() };
            let next = next.and_then(|job| Some((job, file.take()?)));
            let Some((job, mut file)) = next else {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let is_well = state.failed.is_none();
            drop(state);
            let mut times = Times::default();
            let began = Instant::now();
            let (buffer, bytes, result) = match job {
                Job::Write(offset, buffer, write) => {
                    let written =
                        if is_well { catch(|| write(&mut file, offset, &[&buffer])) } else { Ok(()) };
                    (times.writing, times.written_bytes) = (began.elapsed(), buffer.len() as u64);
                    let bytes = cost(&buffer);
                    (Some(buffer), bytes, written.map_err(|error| error.at(offset)))
                }
                Job::WriteLent(offset, lent, write) => {
                    let written =
                        if is_well { catch(|| write(&mut file, offset, &[lent.bytes()])) } else { Ok(()) };
                    (times.writing, times.written_bytes) = (began.elapsed(), lent.bytes().len() as u64);
                    (None, JOB_BYTES, written.map_err(|error| error.at(offset)))
                }
                Job::Sync => {
                    let synced = if is_well { catch(|| file.sync()) } else { Ok(()) };
                    times.syncing = began.elapsed();
                    (None, JOB_BYTES, synced)
                }
                Job::Run(job) => (None, JOB_BYTES, if is_well { catch(|| job(&mut file)) } else { Ok(()) }),
            };
            state = self.lock();
            state.file = Some(file);
            state.bytes -= bytes;
            if let Err(error) = result {
                state.failed.get_or_insert(error);
            }
            if is_well {
                state.times.writing += times.writing;
                state.times.written_bytes += times.written_bytes;
                state.times.syncing += times.syncing;
            }
            if let Some(mut buffer) = buffer
                && buffer.capacity() >= state.piece
                && reserve(&mut state.free, 1).is_ok()
            {
                buffer.clear();
                state.bytes += cost(&buffer);
                state.free.push(buffer);
            }
            self.done.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::storage::double::Double;
    use std::sync::mpsc::channel;

    /// A file that fails at this offset.
    struct Failing(u64);

    impl ParallelFile for Failing {
        fn write_at(&mut self, offset: u64, _: &[&[u8]]) -> Result<()> {
            assert_ne!(offset, 99, "deliberately");
            if offset == self.0 { Err(Error::new(ErrorKind::NoSpace, "full")) } else { Ok(()) }
        }
        fn read_at(&mut self, _: u64, _: &mut [u8]) -> Result<()> {
            Ok(())
        }
        fn size(&mut self) -> Result<u64> {
            Ok(0)
        }
        fn truncate(&mut self, _: u64) -> Result<()> {
            Ok(())
        }
        fn sync(&mut self) -> Result<()> {
            Ok(())
        }
        fn close(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bytes_are_written_in_the_order_of_the_calls_and_the_memory_is_bounded() {
        let (go, wait) = channel::<()>();
        let written = Arc::<Mutex<Vec<u8>>>::default();
        let all = Arc::clone(&written);
        let file = Double::written(move |offset, pieces| {
            wait.recv().unwrap();
            let mut all = all.lock().unwrap();
            let end = usize::try_from(offset).unwrap() + pieces.concat().len();
            let length = all.len().max(end);
            all.resize(length, 0);
            all[usize::try_from(offset).unwrap()..end].copy_from_slice(&pieces.concat());
        });
        let mut queue = Queue::new(file, LEAST_BYTES);
        let (small, large) = (vec![1; 3], vec![2; 600 << 10]);
        queue.write_at(0, &[&small, &large]).unwrap();
        assert!(!queue.is_settled());
        // The thread has written nothing yet, and a second copy finds no room.
        let most = queue.thread.as_ref().unwrap().shared.lock().bytes;
        assert!((large.len() as u64..=LEAST_BYTES).contains(&most), "{most}");
        for _ in 0..10 {
            go.send(()).unwrap();
        }
        queue.write_at(1, &[&large, &small]).unwrap();
        queue.settle().unwrap();
        assert!(queue.is_settled());
        let expected = [&[1], large.as_slice(), &small].concat();
        assert!(*written.lock().unwrap() == expected);
        let times = queue.times();
        let bytes = 2 * (small.len() + large.len()) as u64;
        assert_eq!((times.copied_bytes, times.written_bytes), (bytes, bytes));
        Box::new(queue).close().unwrap();
    }

    #[test]
    fn the_first_error_is_told_until_the_end_with_its_section_and_nothing_more_is_written() {
        let mut queue = Queue::new(Failing(7), LEAST_BYTES);
        queue.label(0, b"a");
        queue.label(5, b"b");
        queue.write_at(0, &[b"1"]).unwrap();
        queue.write_at(7, &[b"1"]).unwrap();
        for _ in 0..2 {
            let error = queue.settle().unwrap_err();
            assert_eq!(
                (error.kind(), error.to_string()),
                (ErrorKind::NoSpace, "byte 7: section \"b\": full".into())
            );
        }
        assert_eq!(queue.write_at(0, &[b"1"]).unwrap_err().kind(), ErrorKind::NoSpace);
        assert_eq!(queue.run(|_| Ok(())).unwrap_err().kind(), ErrorKind::NoSpace);
        queue.truncate(0).unwrap();
        assert_eq!(Box::new(queue).close().unwrap_err().kind(), ErrorKind::NoSpace);
    }

    #[test]
    #[allow(unsafe_code)]
    fn memory_that_is_lent_is_not_copied() {
        let written = Arc::<Mutex<Vec<(u64, usize, Vec<u8>)>>>::default();
        let all = Arc::clone(&written);
        let file = Double::written(move |offset, pieces| {
            let piece = pieces.concat();
            all.lock().unwrap().push((offset, pieces[0].as_ptr().addr(), piece));
        });
        let mut queue = Queue::new(file, LEAST_BYTES);
        let (lent, other) = (vec![1; 3 << 20], vec![2; 2 * LEAST_LENT_BYTES]);
        let (first, rest) = lent.split_at(LEAST_LENT_BYTES - 1);
        // SAFETY: it lives longer than the queue.
        queue.lend(Some(unsafe { Lent::new(&lent) }));
        queue.write_at(3, &[b"head", rest, first, &other, b"tail"]).unwrap();
        queue.lend(None);
        queue.write_at(9 << 20, &[rest]).unwrap();
        queue.settle().unwrap();
        let copied = (rest.len() + first.len() + other.len() + 8) as u64;
        assert_eq!(
            (queue.times().copied_bytes, queue.times().written_bytes),
            (copied, copied + rest.len() as u64)
        );
        let written = written.lock().unwrap();
        let (start, own) = (rest.as_ptr().addr(), lent.as_ptr_range());
        assert_eq!((written[0].0, written[0].2.as_slice()), (3, b"head".as_slice()));
        assert_eq!((written[1].0, written[1].1, written[1].2.len()), (7, start, rest.len()));
        let mut end = 7;
        for (offset, address, bytes) in &written[1..] {
            assert_eq!(*address == start, end == 7);
            assert!(end == 7 || !(own.start.addr()..own.end.addr()).contains(address));
            end = if *offset == 9 << 20 { *offset } else { end };
            assert_eq!(*offset, end);
            end += bytes.len() as u64;
        }
        Box::new(queue).close().unwrap();
    }

    #[test]
    fn memory_that_is_reserved_is_not_given_to_jobs_and_waits_for_them() {
        let (go, wait) = channel::<()>();
        let mut queue = Queue::new(Double::written(move |_, _| wait.recv().unwrap()), LEAST_BYTES);
        let half = queue.most_reserved();
        queue.reserve(half).unwrap();
        let piece = vec![1; 200 << 10];
        queue.write_at(0, &[&piece]).unwrap();
        let bytes = |queue: &Queue<_>| queue.thread.as_ref().unwrap().shared.lock().bytes;
        assert!((half + (200 << 10)..=LEAST_BYTES).contains(&bytes(&queue)));
        (0..2).for_each(|_| go.send(()).unwrap());
        // There is no room for both until the first is written.
        queue.write_at(0, &[&piece, &piece]).unwrap();
        (0..2).for_each(|_| go.send(()).unwrap());
        let (done, is_done) = channel();
        queue.behind(move || done.send(()).map_err(|_| gone())).unwrap();
        queue.settle().unwrap();
        is_done.recv().unwrap();
        queue.release(half);
        assert!(bytes(&queue) < half);
        queue.reserve(LEAST_BYTES).unwrap();
        queue.behind(|| Err(Error::usage("deliberately"))).unwrap();
        assert_eq!(queue.settle().unwrap_err().to_string(), "deliberately");
    }

    #[test]
    fn a_thread_that_is_held_begins_nothing_until_something_waits_for_it() {
        let go_on: [fn(&mut Queue<Double>); 3] = [
            Queue::go_on,
            |queue| queue.settle().unwrap(),
            |queue| {
                // There is no room before the job is done.
                queue.reserve(LEAST_BYTES).unwrap();
                queue.release(LEAST_BYTES);
            },
        ];
        for go_on in go_on {
            let (done, is_done) = channel();
            let mut queue = Queue::new(Double::written(|_, _| {}), LEAST_BYTES);
            queue.hold();
            queue.behind(move || done.send(()).map_err(|_| gone())).unwrap();
            (0..1000).for_each(|_| std::thread::yield_now());
            is_done.try_recv().unwrap_err();
            go_on(&mut queue);
            is_done.recv().unwrap();
        }
    }

    #[test]
    fn a_panic_of_the_thread_is_an_error_and_the_file_is_back() {
        let mut queue = Queue::new(Failing(7), LEAST_BYTES);
        queue.write_at(99, &[b"1"]).unwrap();
        assert_eq!(queue.settle().unwrap_err().kind(), ErrorKind::Internal);
        queue.truncate(0).unwrap();
    }

    #[test]
    fn what_was_not_written_when_the_queue_is_dropped_never_is() {
        let (go, wait) = channel::<()>();
        let file = Double::written(move |offset, _| {
            assert_eq!(offset, 0);
            wait.recv().unwrap();
        });
        let mut queue = Queue::new(file, LEAST_BYTES);
        queue.write_at(0, &[b"1"]).unwrap();
        queue.write_at(1, &[b"1"]).unwrap();
        queue.thread.as_ref().unwrap().shared.lock().is_over = true;
        go.send(()).unwrap();
        drop(queue);
    }
}
