//! The state of a file that is open for writing, and how it is closed.

use super::commits::Commits;
use super::datasets::{DatasetCache, DatasetWriter, PendingWrites, RowPartitionCache, Scheduler};
use super::section_encoder::{Compression, SectionEncoder};
use super::sections::SectionWriter;
use super::streams::{OwnStream, StreamWriter};
use crate::file::session::SessionState;
use crate::file::statistics::Statistics;
use crate::file::target::Target;
use crate::file::team::{Failure, Team};
use scda_base::error::{Error, ErrorKind, Result};
use scda_storage::lent_memory::LentMemory;
#[cfg(feature = "mpi")]
use std::io::Write as _;

/// The state of a [`Writer`](super::Writer) whose file is open.
pub struct WriterState {
    pub(super) sections: SectionWriter,
    pub(super) compression: Compression,
    pub(super) rows: RowPartitionCache,
    pub(super) cache: DatasetCache,
    pub(super) pending: PendingWrites,
    /// The stream of this rank, while a set of streams is open.
    pub(super) stream: Option<OwnStream>,
    pub(super) target: Target,
    pub(crate) commits: Commits,
    /// Whether arguments that are refused before anything is written leave the file open.
    pub(super) tolerant: bool,
}

impl WriterState {
    /// For a file to which `sections` are written.
    pub(super) fn new(sections: SectionWriter, target: Target) -> Self {
        Self {
            sections,
            compression: Compression::default(),
            rows: RowPartitionCache::default(),
            cache: DatasetCache::default(),
            pending: PendingWrites::default(),
            stream: None,
            target,
            commits: Commits::default(),
            tolerant: false,
        }
    }

    #[inline(always)]
    pub(super) fn plain(&mut self) -> SectionEncoder<'_> {
        SectionEncoder { sections: &mut self.sections, compression: &mut self.compression }
    }

    #[inline(always)]
    pub(super) fn scheduler(&mut self) -> Scheduler<'_> {
        let Self { sections, compression, rows, pending, .. } = self;
        Scheduler { sections, compression, rows, pending }
    }

    pub(super) fn datasets(&mut self) -> DatasetWriter<'_> {
        let Self { sections, compression, rows, pending, cache, .. } = self;
        DatasetWriter { sections, compression, rows, pending, cache }
    }

    pub(super) fn streams(&mut self) -> StreamWriter<'_> {
        let Self { sections, compression, stream: own, .. } = self;
        StreamWriter { sections, compression, own }
    }

    /// Lends memory to the thread, if that is wanted; `None` ends it.
    pub(super) fn lend(&mut self, lent: Option<LentMemory>) {
        let lent = lent.filter(|_| self.sections.params().lend);
        self.sections.output.file.lend(lent);
    }

    pub(super) fn begin_streams(&mut self, user: &[u8], chunk_bytes: u64) -> Result<(), Failure> {
        self.scheduler().place()?;
        self.check_no_streams()?;
        self.streams().begin(user, chunk_bytes)
    }

    pub(super) fn end_streams(&mut self) -> Result<(), Failure> {
        self.scheduler().place()?;
        self.streams().end()
    }

    /// Writes bytes to the stream of this rank, independently of the others.
    pub(super) fn write_stream(&mut self, data: &[u8]) -> Result<()> {
        if self.stream.is_none() && self.commits.stream_bytes().is_some() {
            let words = "stream: a commit was begun; wait for it before writing";
            self.sections.team_mut().defer(Err(Error::usage(words)));
            return Err(Error::usage(words));
        }
        self.streams().write(data)
    }

    /// The number of bytes that this rank has written to its stream.
    pub(super) fn stream_bytes(&self) -> Option<u64> {
        self.stream.as_ref().map(OwnStream::all_bytes).or_else(|| self.commits.stream_bytes())
    }

    /// Returns an error if streams have not ended.
    #[inline]
    pub(super) fn check_no_streams(&self) -> Result<()> {
        match self.stream {
            None => Ok(()),
            Some(_) => Err(Error::usage("streams are open; end them before writing other sections")),
        }
    }

    pub(super) fn statistics(&self) -> Statistics {
        let times = self.sections.output.file.times();
        Statistics {
            agreeing: self.sections.team().agreeing(),
            copied_bytes: times.copied_bytes,
            copying: times.copying,
            waiting: times.waiting,
            encoded_bytes: self.compression.spent.bytes,
            encoding: self.compression.spent.time,
            written_bytes: times.written_bytes,
            writing: times.writing,
            syncing: times.syncing,
            ..Statistics::default()
        }
    }
}

impl SessionState for WriterState {
    fn team(&mut self) -> &mut Team {
        self.sections.team_mut()
    }

    fn works_after_fork(&mut self) -> bool {
        false
    }

    fn checks_every_call(&self) -> bool {
        self.sections.params().tuning.check
    }

    #[inline]
    fn begin(&mut self) -> Result<(), Failure> {
        if self.commits.is_pending() {
            self.complete()?;
        }
        self.sections.output.begin_call();
        Ok(())
    }

    fn survives(&mut self, failure: &Failure) -> bool {
        let is_of_arguments = |error: &Error| {
            matches!(error.kind(), ErrorKind::Argument | ErrorKind::Range | ErrorKind::NotFound)
        };
        let survives = self.tolerant
            && matches!(failure, Failure::Mine(error) if is_of_arguments(error))
            && self.stream.is_none()
            && self.sections.output.is_as_before();
        self.cache.extended.forget_all();
        survives
    }

    fn drop_alone(mut self) {
        #[cfg(feature = "mpi")]
        if self.sections.team().as_mpi().is_some()
            && let Some(loss) = self.loss()
        {
            // A macro would panic if standard error is closed.
            let _ = writeln!(std::io::stderr(), "libscda: {loss}");
        }
        if self.sections.team().is_alone() {
            return self.abandon(&Error::usage("the file was not closed"));
        }
        if self.sections.team().rank() == 0 {
            self.target.discard();
        }
        self.sections.output.leak_shared();
    }

    fn abandon(mut self, error: &Error) {
        let is_atomic = self.sections.params().atomic;
        let another = if is_atomic { None } else { self.scheduler().place_after_error(error) };
        let error = another.as_ref().unwrap_or(error);
        let Self { mut sections, mut target, .. } = self;
        // An incomplete atomic write is removed.
        if !is_atomic {
            sections.output.end_after_error(error);
        }
        let is_kept = sections.output.progress.kept().is_some();
        let (mut team, file, params, _) = sections.output.into_parts();
        let _ = file.close();
        // By now no rank is still truncating the file, so it can be marked.
        if params.mark_incomplete {
            team.after_error().all(true);
        }
        if team.rank() == 0 {
            target.give_up(params.mark_incomplete && !is_kept);
        }
    }
}
