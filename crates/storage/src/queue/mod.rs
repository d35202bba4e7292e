//! A queue of writes: the one place that decides when a write happens.
//!
//! Without memory for the queue, the call that makes a write executes it. With memory, the bytes are copied,
//! and a thread writes them in the order of the calls. The thread uses only the file, and no MPI. After the
//! first error it writes nothing more; the next call reports the error, and so does [`Queue::settle`].

mod thread;

#[cfg(test)]
mod tests;

use self::thread::{Background, Job};
use super::ParallelFile;
use super::lent_memory::LentMemory;
use super::timed::Stopwatch;
use scda_base::error::{Error, Result};
use std::time::{Duration, Instant};

/// Shorter runs are copied, even from lent memory.
const LEAST_LENT_BYTES: usize = 64 << 10;

/// The function with which a job writes its bytes.
pub type Write<F> = fn(&mut F, u64, &[&[u8]]) -> Result<()>;

/// Makes a name for messages about data at an offset, from the labels of what begins at or after it.
pub type Title = fn(&mut dyn Iterator<Item = &[u8]>) -> Option<String>;

/// The times that the writes of this rank have taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// The number of bytes copied for the thread.
    pub copied_bytes: u64,
    /// The time to copy them.
    pub copying: Duration,
    /// The time waited for the thread: for memory, or until it has written everything.
    pub waiting: Duration,
    /// The number of bytes written, by calls or by the thread.
    pub written_bytes: u64,
    /// The time to write them.
    pub writing: Duration,
    /// The time to bring them to stable storage.
    pub syncing: Duration,
}

/// A file whose writes are executed in order: at once, or by a thread.
pub struct Queue<F: ParallelFile + 'static> {
    /// The file, unless the thread has it.
    here: Option<F>,
    thread: Option<Background<F>>,
    /// Memory that the program lends for the current call.
    lent: Option<LentMemory>,
    changes: u64,
    times: Times,
    watch: Stopwatch,
}

impl<F: ParallelFile + 'static> Queue<F> {
    /// The file, with this much memory for writing it by a thread; 0: without a thread. If the thread cannot
    /// be started, the first write returns the error.
    pub fn new(file: F, background_bytes: u64, title: Title) -> Self {
        let thread = (background_bytes > 0).then(|| Background::start(background_bytes, title));
        Self {
            here: Some(file),
            thread,
            lent: None,
            changes: 0,
            times: Times::default(),
            watch: Stopwatch::default(),
        }
    }

    /// Whether a thread writes.
    #[inline]
    pub fn is_background(&self) -> bool {
        self.thread.is_some()
    }

    /// Sets the lent memory: what is written from it is not copied.
    pub fn lend(&mut self, lent: Option<LentMemory>) {
        self.lent = lent;
    }

    /// A number that grows with every change of the file.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The times of all calls so far. Not collective.
    pub fn times(&self) -> Times {
        let mut times = self.times;
        if let Some(by_thread) = self.thread.as_ref().and_then(Background::times) {
            times.written_bytes += by_thread.written_bytes;
            times.writing += by_thread.writing;
            times.syncing += by_thread.syncing;
        }
        times
    }

    /// Sets the user string of what is written from this offset on, for errors of the thread.
    #[cold]
    pub fn label(&mut self, offset: u64, label: &[u8]) {
        if let Some(thread) = &mut self.thread {
            thread.label(offset, label);
        }
    }

    /// Whether everything is written, or never will be, as far as this rank knows without waiting.
    pub fn is_settled(&self) -> bool {
        let Some(thread) = &self.thread else { return true };
        self.here.is_some() || thread.is_idle()
    }

    /// Waits until everything is written, and the thread has returned the file.
    ///
    /// # Errors
    /// The first error of the thread, each time.
    pub fn settle(&mut self) -> Result<()> {
        let Some(thread) = &mut self.thread else { return Ok(()) };
        if self.here.is_none() {
            let began = Instant::now();
            self.here = thread.wait()?;
            self.times.waiting += began.elapsed();
        }
        thread.check()
    }

    /// The file itself, once everything is written.
    ///
    /// # Errors
    /// As [`Self::settle`].
    pub fn now(&mut self) -> Result<&mut F> {
        self.settle()?;
        self.changes += 1;
        self.here.as_mut().ok_or_else(gone)
    }

    /// Like [`Self::now`], even if the thread failed to write something. `None` in a forked process.
    fn after_all(&mut self) -> Option<&mut F> {
        let _ = self.settle();
        self.here.as_mut()
    }

    /// Runs `job` with the file, after all earlier writes.
    ///
    /// # Errors
    /// Those of `job`, and of the thread so far. The error of a job that runs later is reported later.
    pub fn run(&mut self, job: impl FnOnce(&mut F) -> Result<()> + Send + 'static) -> Result<()> {
        self.changes += 1;
        if self.is_settled() {
            return job(self.now()?);
        }
        match &mut self.thread {
            Some(thread) => thread.push(&mut self.here, Job::Run(Box::new(job))),
            None => Err(gone()),
        }
    }

    /// The most memory that may be [reserved](Self::reserve) in all, so that writes still have memory left.
    /// The same on all ranks.
    pub fn most_reserved(&self) -> u64 {
        self.thread.as_ref().map_or(0, |thread| thread.most() / 2)
    }

    /// Waits until there is memory for `bytes` bytes besides those of all jobs, and takes it until
    /// [`Self::release`].
    ///
    /// # Errors
    /// Those of the thread so far.
    pub fn reserve(&mut self, bytes: u64) -> Result<()> {
        let Some(thread) = &self.thread else { return Ok(()) };
        thread.reserve(bytes, &mut self.times.waiting)
    }

    /// Keeps the thread from beginning a job until [`Self::go_on`], or until something waits for it, so that
    /// a thread without a core of its own takes no time from a call that copies.
    pub fn hold(&mut self) {
        if let Some(thread) = &self.thread {
            thread.hold();
        }
    }

    /// Ends [`Self::hold`].
    pub fn go_on(&mut self) {
        if let Some(thread) = &self.thread {
            thread.go_on();
        }
    }

    /// Releases `bytes` bytes of [reserved](Self::reserve) memory.
    pub fn release(&mut self, bytes: u64) {
        if let Some(thread) = &self.thread {
            thread.release(bytes);
        }
    }

    /// Runs `work` on the thread, after all earlier jobs, in [reserved](Self::reserve) memory. It does not
    /// use the file.
    ///
    /// # Errors
    /// Those of the thread so far.
    pub fn work(&mut self, work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
        match &mut self.thread {
            Some(thread) => thread.push(&mut self.here, Job::Run(Box::new(|_| work()))),
            None => work(),
        }
    }

    /// Counts `bytes` bytes that were copied for the thread elsewhere, since `began`.
    pub fn note_copied(&mut self, bytes: u64, began: Instant) {
        self.times.copied_bytes += bytes;
        self.times.copying += began.elapsed();
    }

    /// The part of the lent memory that this run is, if it is one and is not short.
    pub fn lent(&self, run: &[u8]) -> Option<LentMemory> {
        part_of(self.lent, run)
    }

    /// With a thread, brings what was written so far to stable storage, so that the sync for which the
    /// program waits has less to do.
    ///
    /// # Errors
    /// Those of the thread so far.
    pub fn sync_ahead(&mut self) -> Result<()> {
        match &mut self.thread {
            Some(thread) => thread.push(&mut self.here, Job::Sync),
            None => Ok(()),
        }
    }

    /// Writes with `write`: now, or a copy of the runs later.
    ///
    /// # Errors
    /// Those of `write`, `Memory`, and those of the thread so far.
    pub fn write_by(&mut self, offset: u64, runs: &[&[u8]], write: Write<F>) -> Result<()> {
        self.changes += 1;
        let bytes = runs.iter().map(|run| run.len()).sum::<usize>() as u64;
        let Some(thread) = &mut self.thread else {
            let file = self.here.as_mut().ok_or_else(gone)?;
            let (written, time) = self.watch.time(bytes, || write(file, offset, runs));
            self.times.writing += time;
            self.times.written_bytes += bytes;
            return written;
        };
        let began = Instant::now();
        thread.check()?;
        let (mut at, mut rest, mut waited) = (offset, runs, Duration::ZERO);
        let mut copied = bytes;
        while let Some((&first, others)) = rest.split_first() {
            if let Some(lent) = part_of(self.lent, first) {
                thread.push(&mut self.here, Job::WriteLent(at, lent, write))?;
                (at, rest, copied) = (at + first.len() as u64, others, copied - first.len() as u64);
                continue;
            }
            let own = rest.iter().position(|&run| part_of(self.lent, run).is_some()).unwrap_or(rest.len());
            let (now, later) = rest.split_at(own);
            let bytes = now.iter().map(|run| run.len()).sum::<usize>() as u64;
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
    fn write_at(&mut self, offset: u64, runs: &[&[u8]]) -> Result<()> {
        self.write_by(offset, runs, F::write_at)
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
        // Sync is collective: a rank whose thread has failed takes part.
        let settled = self.settle();
        let began = Instant::now();
        let synced = self.here.as_mut().map_or(Ok(()), ParallelFile::sync);
        self.times.syncing += began.elapsed();
        settled.and(synced)
    }

    fn has_written(&mut self) -> bool {
        self.after_all().is_none_or(ParallelFile::has_written)
    }

    fn look_again(&mut self) {
        if let Some(file) = self.after_all() {
            file.look_again();
        }
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        let settled = self.settle();
        let closed = self.here.take().map_or(Ok(()), |file| Box::new(file).close());
        settled.and(closed)
    }
}

/// The part of lent memory that a run is, if it is one and is not short.
fn part_of(lent: Option<LentMemory>, run: &[u8]) -> Option<LentMemory> {
    lent.filter(|_| run.len() >= LEAST_LENT_BYTES)?.part(run)
}

#[cold]
fn gone() -> Error {
    Error::usage("the file is closed")
}
