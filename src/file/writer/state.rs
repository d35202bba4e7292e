//! An open file that is written: its parts, and how it ends.

use super::WriterState;
use super::datasets::DatasetWriter;
use super::streams::{OwnStream, StreamWriter};
use crate::file::session::SessionState;
use crate::file::team::{Failure, Team};
use scda_base::error::{Error, ErrorKind, Result};
use scda_storage::lent::Lent;

impl WriterState {
    #[inline(always)]
    pub(super) fn datasets(&mut self) -> DatasetWriter<'_> {
        let Self { sections, compression, datasets: cache, unplaced, .. } = self;
        DatasetWriter::new(sections, compression, cache, unplaced)
    }

    pub(super) fn streams(&mut self) -> StreamWriter<'_> {
        let Self { sections, compression, stream: own, .. } = self;
        StreamWriter::new(sections, compression, own)
    }

    /// Writes with this memory lent, if [`Params::lend`](crate::Params::lend) says so.
    pub(super) fn lending(
        &mut self,
        lent: Option<Lent>,
        write: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.sections.lend(lent);
        let written = write(self);
        self.sections.lend(None);
        written
    }

    /// Writes bytes to the stream of this rank, without the others.
    pub(super) fn write_stream(&mut self, data: &[u8]) -> Result<()> {
        if self.stream.is_none() && self.commits.stream_bytes().is_some() {
            let words = "stream: a commit was begun; wait for it before writing";
            self.sections.team.defer(Err(Error::usage(words)));
            return Err(Error::usage(words));
        }
        self.streams().write(data)
    }

    /// The bytes that this rank has written to its stream.
    pub(super) fn stream_bytes(&self) -> Option<u64> {
        self.stream.as_ref().map(OwnStream::all_bytes).or_else(|| self.commits.stream_bytes())
    }

    /// An error if streams are not ended.
    #[inline]
    pub(super) fn check_no_streams(&self) -> Result<()> {
        match self.stream {
            None => Ok(()),
            Some(_) => Err(Error::usage("streams are open; end them before writing other sections")),
        }
    }

    /// Commits, between two parts of the streams that are open, if there are some.
    pub(super) fn commit_between_parts(&mut self) -> Result<(), Failure> {
        let ended = self.streams().end_part()?;
        self.commit()?;
        ended.map_or(Ok(()), |ended| self.streams().begin_next_part(ended))
    }

    /// Seals what was written, in stable storage, under the name of the file.
    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        self.sections.seal(true)?;
        let team = &mut self.sections.team;
        let named = if team.rank() == 0 { self.target.commit() } else { Ok(()) };
        team.agree(named)?;
        Ok(())
    }
}

impl SessionState for WriterState {
    fn team(&mut self) -> &mut Team {
        &mut self.sections.team
    }

    fn works_after_fork(&mut self) -> bool {
        false
    }

    fn checks_every_call(&self) -> bool {
        self.sections.params.check
    }

    #[inline]
    fn begin(&mut self) -> Result<(), Failure> {
        if self.is_pending() {
            self.complete()?;
        }
        self.sections.begin_call();
        Ok(())
    }

    #[inline]
    fn catch_up(&mut self) -> Result<(), Failure> {
        if self.unplaced.is_empty() { Ok(()) } else { self.datasets().place() }
    }

    fn survives(&mut self, failure: &Failure) -> bool {
        let is_of_arguments = |error: &Error| matches!(error.kind(), ErrorKind::Argument | ErrorKind::Range);
        let survives = self.tolerant
            && matches!(failure, Failure::Mine(error) if is_of_arguments(error))
            && self.stream.is_none()
            && self.sections.is_as_before();
        self.datasets().forget_failed();
        survives
    }

    fn drop_alone(mut self) {
        if self.sections.team.is_alone() {
            return self.abandon(&Error::usage("the file was not closed"));
        }
        if self.sections.team.rank() == 0 {
            self.target.discard();
        }
        self.sections.leak_shared();
    }

    fn abandon(mut self, error: &Error) {
        let another = if self.sections.params.atomic { None } else { self.place_after_error(error) };
        let error = another.as_ref().unwrap_or(error);
        let Self { mut sections, mut target, .. } = self;
        // An incomplete atomic write is removed.
        if !sections.params.atomic {
            sections.end_after_error(error);
        }
        let is_kept = sections.is_kept();
        let (mut team, file, params, _) = sections.into_parts();
        let _ = file.close();
        // No rank still cuts the file when it is marked.
        if params.mark_incomplete {
            team.all_after_error(true);
        }
        if team.rank() == 0 {
            target.give_up(params.mark_incomplete && !is_kept);
        }
    }
}
