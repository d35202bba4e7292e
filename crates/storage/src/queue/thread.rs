//! The background thread: its jobs, and the memory that they may take.

use super::{Times, Title, Write};
use crate::ParallelFile;
use crate::lent_memory::LentMemory;
use scda_base::error::{Error, Result};
use scda_base::floats::in_default;
use scda_base::fork::Process;
use scda_base::memory::reserve;
use scda_base::panics::catch;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most bytes that are copied before they are written, so that the thread begins after the first of several
/// buffers.
const MOST_BUFFER_BYTES: u64 = 1 << 20;
/// The memory that a job takes besides its bytes.
const JOB_BYTES: u64 = 128;
/// The most labels kept, those of the last sections. A deferred header may be written after many later
/// sections.
const MOST_LABELS: usize = 4096;
/// The size of a label, which is a user string.
const LABEL_BYTES: usize = 58;

/// Something to do with the file, after all earlier jobs.
type Task<F> = Box<dyn FnOnce(&mut F) -> Result<()> + Send>;

/// The thread, and what it shares with the callers.
pub(super) struct Background<F> {
    shared: Arc<Shared<F>>,
    handle: Option<JoinHandle<()>>,
    /// The process that started it: a forked process has no such thread.
    process: Process,
    /// The most bytes of memory, and the bytes of a full buffer.
    most: u64,
    buffer_bytes: usize,
    /// The error if the thread could not be started.
    failed: Option<Error>,
    /// The user strings of what is written from these offsets on.
    labels: Vec<(u64, [u8; LABEL_BYTES], usize)>,
    title: Title,
}

struct Shared<F> {
    state: Mutex<Jobs<F>>,
    /// Signals a job, or the end.
    wake: Condvar,
    /// Signals that a job is done.
    done: Condvar,
}

struct Jobs<F> {
    /// The file, while the thread may use it and executes no job.
    file: Option<F>,
    jobs: VecDeque<Job<F>>,
    /// The bytes of all jobs, including the one being executed, and of free buffers.
    bytes: u64,
    /// Free buffers of `buffer_bytes` each.
    free: Vec<Vec<u8>>,
    buffer_bytes: usize,
    failed: Option<Error>,
    /// Whether the thread must not begin a job until the current call has copied its data, or waits.
    is_held: bool,
    is_over: bool,
    times: Times,
}

pub(super) enum Job<F> {
    Write(u64, Vec<u8>, Write<F>),
    WriteLent(u64, LentMemory, Write<F>),
    Sync,
    Run(Task<F>),
}

impl<F> Job<F> {
    /// The memory that the job takes.
    fn bytes(&self) -> u64 {
        match self {
            Self::Write(_, buffer, _) => cost(buffer),
            Self::WriteLent(..) | Self::Sync | Self::Run(_) => JOB_BYTES,
        }
    }
}

impl<F: ParallelFile + 'static> Background<F> {
    pub fn start(most: u64, title: Title) -> Self {
        let buffer_bytes = usize::try_from((most / 4).min(MOST_BUFFER_BYTES)).unwrap_or(1);
        let state = Jobs {
            file: None,
            jobs: VecDeque::new(),
            bytes: 0,
            free: Vec::new(),
            buffer_bytes,
            failed: None,
            is_held: false,
            is_over: false,
            times: Times::default(),
        };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new(), done: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let started =
            std::thread::Builder::new().name("scda".into()).spawn(move || in_default(|| theirs.work()));
        let (handle, failed) = match started {
            Ok(handle) => (Some(handle), None),
            Err(error) => (None, Some(Error::io("starting the thread that writes", error))),
        };
        Self {
            shared,
            handle,
            process: Process::this(),
            most,
            buffer_bytes,
            failed,
            labels: Vec::new(),
            title,
        }
    }

    /// The times of the thread so far; `None` in a forked process.
    pub fn times(&self) -> Option<Times> {
        self.is_mine().then(|| self.shared.lock().times)
    }

    /// Sets the user string of what is written from this offset on.
    pub fn label(&mut self, offset: u64, label: &[u8]) {
        // After a refused call, the next one begins at the same offset.
        self.labels.truncate(self.labels.partition_point(|&(start, ..)| start < offset));
        if self.labels.len() == MOST_LABELS {
            self.labels.drain(..MOST_LABELS / 2);
        }
        if reserve(&mut self.labels, 1).is_ok() {
            let (length, mut text) = (label.len().min(LABEL_BYTES), [0; LABEL_BYTES]);
            text[..length].copy_from_slice(&label[..length]);
            self.labels.push((offset, text, length));
        }
    }

    /// Whether the thread has nothing to do, or does not exist in this process.
    pub fn is_idle(&self) -> bool {
        !self.is_mine() || self.shared.lock().is_idle()
    }

    /// Waits until the thread has nothing to do, and takes the file from it.
    ///
    /// # Errors
    /// `Usage` in a forked process.
    pub fn wait(&self) -> Result<Option<F>> {
        self.process.check()?;
        let mut state = self.shared.lock();
        self.shared.go_on(&mut state);
        while !state.is_idle() {
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(state.file.take())
    }

    /// The most bytes of memory.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// See [`Queue::reserve`](super::Queue::reserve). Adds the time it waited to `waited`.
    pub fn reserve(&self, bytes: u64, waited: &mut Duration) -> Result<()> {
        self.check()?;
        self.when(waited, |state| state.has_room(bytes, self.most).then(|| state.bytes += bytes));
        Ok(())
    }

    /// See [`Queue::release`](super::Queue::release).
    pub fn release(&self, bytes: u64) {
        if self.is_mine() {
            self.shared.lock().bytes -= bytes;
        }
    }

    /// See [`Queue::hold`](super::Queue::hold).
    pub fn hold(&self) {
        if self.is_mine() {
            self.shared.lock().is_held = true;
        }
    }

    /// See [`Queue::go_on`](super::Queue::go_on).
    pub fn go_on(&self) {
        if self.is_mine() {
            self.shared.go_on(&mut self.shared.lock());
        }
    }

    /// The bytes of memory in use.
    #[cfg(test)]
    pub fn held_bytes(&self) -> u64 {
        self.shared.lock().bytes
    }

    fn is_mine(&self) -> bool {
        self.process.is_this()
    }

    /// Returns the error of the thread, with the name of what it was writing.
    pub fn check(&self) -> Result<()> {
        self.process.check()?;
        if let Some(error) = &self.failed {
            return Err(error.again());
        }
        let failed = self.shared.lock().failed.as_ref().map(Error::again);
        failed.map_or(Ok(()), |error| Err(self.named(error)))
    }

    fn named(&self, error: Error) -> Error {
        let Some(offset) = error.offset() else { return error };
        let next = self.labels.partition_point(|&(start, ..)| start <= offset);
        let Some(here) = next.checked_sub(1) else { return error };
        let mut from_here = self.labels[here..].iter().map(|(_, label, length)| &label[..*length]);
        match (self.title)(&mut from_here) {
            Some(title) => error.of(&title),
            None => error,
        }
    }

    /// Passes a job and the file to the thread.
    pub fn push(&self, here: &mut Option<F>, job: Job<F>) -> Result<()> {
        self.check()?;
        let mut state = self.shared.lock();
        if here.is_some() {
            state.file = here.take();
        }
        state.jobs.try_reserve(1).map_err(|_| Error::memory(size_of::<Job<F>>()))?;
        state.bytes += job.bytes();
        state.jobs.push_back(job);
        let is_held = state.is_held;
        drop(state);
        if !is_held {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// Copies the runs into jobs as memory becomes available. Returns the time that it waited.
    pub fn copy(
        &self,
        here: &mut Option<F>,
        mut offset: u64,
        runs: &[&[u8]],
        mut left: u64,
        write: Write<F>,
    ) -> Result<Duration> {
        let (mut waited, mut runs) = (Duration::ZERO, runs.iter().copied());
        let mut run: &[u8] = &[];
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer_bytes);
            let mut buffer = self.buffer(length, &mut waited)?;
            while buffer.len() < length {
                if run.is_empty() {
                    run = runs.next().unwrap_or_default();
                    continue;
                }
                let (now, later) = run.split_at(run.len().min(length - buffer.len()));
                buffer.extend_from_slice(now);
                run = later;
            }
            self.push(here, Job::Write(offset, buffer, write))?;
            offset += length as u64;
            left -= length as u64;
        }
        Ok(waited)
    }

    /// An empty buffer with room for `length` bytes, once there is enough memory.
    fn buffer(&self, length: usize, waited: &mut Duration) -> Result<Vec<u8>> {
        // A buffer that is nearly full gets the size of a full buffer, so that it can be reused.
        let room = if length > self.buffer_bytes / 2 { self.buffer_bytes } else { length };
        let free = self.when(waited, |state| {
            let free = if room == self.buffer_bytes { state.take_free() } else { None };
            (free.is_some() || state.has_room(room as u64 + JOB_BYTES, self.most)).then_some(free)
        });
        if let Some(buffer) = free {
            return Ok(buffer);
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(room).map_err(|_| Error::memory(room))?;
        Ok(buffer)
    }

    /// Calls `ready` now and after each job, until it returns a value. Adds the time it waited to `waited`.
    fn when<T>(&self, waited: &mut Duration, mut ready: impl FnMut(&mut Jobs<F>) -> Option<T>) -> T {
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

/// The memory of a job with this buffer.
fn cost(buffer: &Vec<u8>) -> u64 {
    buffer.capacity() as u64 + JOB_BYTES
}

impl<F> Background<F> {
    /// Ends the thread after the job that it is executing.
    pub fn end(&self) {
        self.shared.lock().is_over = true;
        self.shared.wake.notify_one();
    }
}

impl<F> Drop for Background<F> {
    fn drop(&mut self) {
        if !self.process.is_this() {
            // The thread, which this process does not have, may have held the lock.
            std::mem::forget((Arc::clone(&self.shared), self.handle.take()));
            return;
        }
        self.end();
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

impl<F> Jobs<F> {
    /// Whether the thread has nothing to do; it then has the file.
    fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.file.is_some()
    }

    /// Removes and returns a free buffer.
    fn take_free(&mut self) -> Option<Vec<u8>> {
        let buffer = self.free.pop()?;
        self.bytes -= cost(&buffer);
        Some(buffer)
    }

    /// Whether `more` bytes fit within `most` bytes, perhaps after freeing unused buffers.
    fn has_room(&mut self, more: u64, most: u64) -> bool {
        while self.bytes + more > most && self.take_free().is_some() {}
        self.bytes == 0 || self.bytes + more <= most
    }
}

impl<F> Shared<F> {
    fn lock(&self) -> MutexGuard<'_, Jobs<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the thread begin jobs again.
    fn go_on(&self, state: &mut Jobs<F>) {
        if std::mem::take(&mut state.is_held) {
            self.wake.notify_one();
        }
    }
}

impl<F: ParallelFile> Shared<F> {
    /// The thread's loop: executes one job after the other until the end. The remaining jobs are not
    /// executed.
    fn work(&self) {
        let mut state = self.lock();
        while !state.is_over {
            // A job comes together with the file.
            let Jobs { jobs, file, is_held, .. } = &mut *state;
            let next = if *is_held { None } else { jobs.pop_front() };
            let next = next.and_then(|job| Some((job, file.take()?)));
            let Some((job, mut file)) = next else {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let is_well = state.failed.is_none();
            drop(state);
            let mut times = Times::default();
            let (bytes, began) = (job.bytes(), Instant::now());
            let (buffer, result) = match job {
                Job::Write(offset, buffer, write) => {
                    let written =
                        if is_well { catch(|| write(&mut file, offset, &[&buffer])) } else { Ok(()) };
                    (times.writing, times.written_bytes) = (began.elapsed(), buffer.len() as u64);
                    (Some(buffer), written.map_err(|error| error.at(offset)))
                }
                Job::WriteLent(offset, lent, write) => {
                    let written =
                        if is_well { catch(|| write(&mut file, offset, &[lent.bytes()])) } else { Ok(()) };
                    (times.writing, times.written_bytes) = (began.elapsed(), lent.bytes().len() as u64);
                    (None, written.map_err(|error| error.at(offset)))
                }
                Job::Sync => {
                    let synced = if is_well { catch(|| file.sync()) } else { Ok(()) };
                    times.syncing = began.elapsed();
                    (None, synced)
                }
                Job::Run(job) => (None, if is_well { catch(|| job(&mut file)) } else { Ok(()) }),
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
                && buffer.capacity() >= state.buffer_bytes
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
