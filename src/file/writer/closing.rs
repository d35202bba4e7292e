//! Commits and closes a file: each is one function, which does everything in the order in which it is
//! written.
//!
//! Either may be done in two halves: the first returns when the bytes are copied; the second waits until they
//! are in the file, agrees on that, and writes what declares them complete: headers, seal, name.

use super::commits::{CommitRequest, PendingRequest};
use super::{Writer, WriterState};
use crate::file::options::{Hdf5, WriteOptions};
use crate::file::reader::is_kept;
use crate::file::statistics::{self, Statistics};
use crate::file::target::Target;
use crate::file::team::{Failure, Function, Team, on_rank_0};
use scda_base::error::{Error, Result};

/// A file that is being closed, since [`Writer::close_begin`]. Dropping it drops the [`Writer`].
#[must_use = "a file is complete only when its close was waited for"]
pub struct Closing(Writer);

impl Writer {
    /// Writes all buffered sections, and returns the errors of all ranks so far.
    ///
    /// # Errors
    /// Those of all sections since the last flush.
    pub fn flush(&mut self) -> Result<()> {
        self.session.operate(WriterState::flush)
    }

    /// Writes everything, and a seal: a record of all sections with their checksums, by which a reader knows
    /// that the file is complete up to here (docs/format.md, "Sealed files"). On success everything is on
    /// stable storage, and a job that is killed later loses nothing of it; but with [`WriteOptions::atomic`],
    /// the file gets its name only when it is closed.
    ///
    /// # Errors
    /// `Usage` without [`WriteOptions::seal`]; those of all sections since the last flush.
    pub fn commit(&mut self) -> Result<()> {
        self.session.operate(|state| {
            state.sections.team_mut().note_call(Function::Commit);
            state.commit()
        })
    }

    /// The first half of [`Self::commit`]: returns once everything written is copied, or, if
    /// [`WriteOptions::background_bytes`](crate::WriteOptions::background_bytes) is 0, written by the calls.
    /// The program can then continue computing. The second half, [`CommitRequest::wait`], writes headers and
    /// the seal; only its success means that the data are on stable storage.
    ///
    /// The next collective call on this file completes the commit first, and returns its error if it failed.
    /// Open streams continue when the commit is complete: until then [`Self::write_stream`] is an error.
    ///
    /// # Errors
    /// `Usage` for a file without seals; those of all calls so far.
    pub fn commit_begin(&mut self) -> Result<CommitRequest> {
        self.session.operate(WriterState::begin_commit)
    }

    /// The first half of [`Self::close`]: returns once everything written is copied, or, if
    /// [`WriteOptions::background_bytes`](crate::WriteOptions::background_bytes) is 0, written by the calls.
    /// The second half is [`Closing::wait`].
    ///
    /// # Errors
    /// Those of all calls so far. The file is then closed.
    pub fn close_begin(mut self) -> Result<Closing> {
        self.session.operate(WriterState::begin_close)?;
        Ok(Closing(self))
    }

    /// How this rank has spent its time since the file was opened. `None` after an error. Not collective.
    #[must_use]
    pub fn statistics(&self) -> Option<Statistics> {
        self.session.state().map(WriterState::statistics)
    }

    /// Writes the buffered sections and closes the file. Only success means that every byte is in it: the
    /// errors of all ranks, and the size of the file, are checked. Call it on every file.
    ///
    /// # Errors
    /// Those of all sections since the last flush, and the errors of the file system. The file is closed in
    /// any case.
    pub fn close(mut self) -> Result<()> {
        let was_begun = self.session.state_mut().is_some_and(|state| state.commits.end_closing());
        let sealed = self.session.operate(WriterState::seal_to_close);
        let closed = sealed.and_then(|()| self.session.take()?.close());
        if was_begun { closed.map_err(|error| error.of_request("close request")) } else { closed }
    }
}

impl CommitRequest {
    /// Whether this rank has written everything that it must write before `request` can be completed: then
    /// [`Self::wait`] waits only for the other ranks. Also true after an error, which [`Self::wait`] returns.
    /// Not collective: no message is sent.
    #[must_use]
    pub fn test(self, file: &Writer) -> bool {
        file.session.state().is_none_or(|state| self.0 < state.commits.begun || state.is_settled())
    }

    /// Completes a commit: when this returns, everything that was written before [`Writer::commit_begin`] is
    /// sealed and on stable storage, as after [`Writer::commit`].
    ///
    /// # Errors
    /// Those of [`Writer::commit`], on all ranks, even if another call has returned them before. `Usage` if
    /// the request was already waited for.
    pub fn wait(self, file: &mut Writer) -> Result<()> {
        if let Some(error) = file.session.closed_by() {
            return Err(error.again());
        }
        if let Some(state) = file.session.state_mut()
            && state.commits.pending == PendingRequest::Close
        {
            // The close that has begun has completed all commits. The other ranks get an error from their close.
            let noted = state.commits.note_wait(self);
            return noted.map_err(|error| file.session.fail(error));
        }
        // `begin` completes what has begun.
        file.session.operate(|state| {
            state.sections.team_mut().note_call(Function::Wait);
            Ok(state.commits.note_wait(self)?)
        })
    }
}

impl Closing {
    /// Like [`CommitRequest::test`].
    #[must_use]
    pub fn test(&self) -> bool {
        self.0.session.state().is_none_or(WriterState::is_settled)
    }

    /// Completes closing, like [`Writer::close`]. Collective.
    ///
    /// # Errors
    /// The errors of [`Writer::close`].
    pub fn wait(self) -> Result<()> {
        self.0.close()
    }
}

impl WriterState {
    /// Ensures that everything written is in the file, or that all ranks have the error.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.sections.team_mut().note_call(Function::Flush);
        self.scheduler().place()?;
        self.streams().flush();
        self.sections.output.flush()
    }

    /// Ensures that everything written is sealed, and on stable storage under the file's name. Open streams
    /// are committed in part.
    fn commit(&mut self) -> Result<(), Failure> {
        self.check_sealed()?;
        self.scheduler().place()?;
        if let Some(ended) = self.streams().end_part()? {
            self.commits.streams = Some(ended);
        }
        let with_view = self.sections.params().hdf5 == Hdf5::Commits;
        self.sections.seal(true, with_view)?;
        let team = self.sections.team_mut();
        let named = on_rank_0(team.rank(), || self.target.commit());
        team.agree(named)?;
        self.commits.streams.take().map_or(Ok(()), |ended| self.streams().begin_next_part(ended))
    }

    /// The first half of a commit.
    fn begin_commit(&mut self) -> Result<CommitRequest, Failure> {
        self.sections.team_mut().note_call(Function::CommitBegin);
        self.check_sealed()?;
        self.commits.streams = self.streams().end_part()?;
        self.sections.output.write_all()?;
        self.sync_ahead();
        Ok(self.commits.begin()?)
    }

    /// Completes a commit that has begun.
    #[cold]
    pub(super) fn complete(&mut self) -> Result<(), Failure> {
        if self.commits.pending == PendingRequest::Close {
            return Err(Error::usage("the file is being closed; wait for that").into());
        }
        self.commits.pending = PendingRequest::Nothing;
        let request = format!("commit request {}", self.commits.begun);
        self.commit().map_err(|failure| match failure {
            Failure::Mine(error) => Failure::Mine(error.of_request(&request)),
            Failure::Agreed(error) => Failure::Agreed(error.of_request(&request)),
        })
    }

    /// Makes the thread, if there is one, bring what was written so far to stable storage. An error is
    /// deferred to the next agreement.
    fn sync_ahead(&mut self) {
        let ahead = self.sections.output.file.sync_ahead();
        self.sections.team_mut().defer(ahead);
    }

    /// The first half of closing. Only [`Writer::close`] may follow.
    pub(crate) fn begin_close(&mut self) -> Result<(), Failure> {
        self.sections.team_mut().note_call(Function::CloseBegin);
        self.check_no_streams()?;
        self.sections.output.write_all()?;
        let &WriteOptions { sync, atomic, later, .. } = self.sections.params();
        if sync || atomic && !later {
            self.sync_ahead();
        }
        // An error of this rank alone must be returned by this call: a rank without a request cannot wait for
        // it.
        self.sections.team_mut().agree(Ok(()))?;
        self.commits.pending = PendingRequest::Close;
        Ok(())
    }

    /// Writes and seals everything, before [`Self::close`].
    fn seal_to_close(&mut self) -> Result<(), Failure> {
        self.sections.team_mut().note_call(Function::Close);
        self.scheduler().place()?;
        self.check_no_streams()?;
        let &WriteOptions { sync, atomic, later, .. } = self.sections.params();
        // An atomic write gets its name later, so its seal may be synced together with what it seals.
        self.sections.sealer.iter_mut().for_each(|sealer| sealer.names.is_last = true);
        self.sections.seal(sync && !atomic, true)?;
        if atomic && (sync || !later) { self.sections.sync() } else { Ok(()) }
    }

    /// Closes the file on all ranks, and then gives it its name.
    fn close(self) -> Result<()> {
        let statistics = Statistics::are_wanted().then(|| self.statistics());
        let Self { sections, mut target, .. } = self;
        let (mut team, file, params, end) = sections.output.into_parts();
        let finish = |team: &mut Team, target: &mut Target| -> Result<(), Failure> {
            team.agree_finally(file.close())?;
            let complete = on_rank_0(team.rank(), || target.complete(end, is_kept));
            let times = statistics.map(|statistics| statistics.of_writing());
            statistics::close(team, complete, &format!("{end} bytes"), times)
        };
        finish(&mut team, &mut target).map_err(|failure| {
            if team.rank() == 0 {
                target.give_up(params.mark_incomplete);
            }
            team.settle(failure)
        })
    }

    /// Whether this rank has written everything that was passed: see [`CommitRequest::test`].
    pub(crate) fn is_settled(&self) -> bool {
        self.sections.output.file.is_settled()
    }

    /// See [`WriterCalls`](crate::bindings::WriterCalls).
    pub(crate) fn loss(&mut self) -> Option<String> {
        let (is_atomic, is_sealed) = (self.sections.params().atomic, self.sections.is_sealed());
        let progress = &self.sections.output.progress;
        let (kept, end) = (progress.kept(), progress.end());
        let is_flushed = progress.buffered().is_empty() && !progress.has_held();
        let is_whole = match is_sealed {
            true => kept == Some(end),
            false => is_flushed,
        };
        let words = match kept {
            _ if is_atomic => "what was written does not appear under this name",
            _ if is_whole && self.pending.is_empty() && self.stream.is_none() => return None,
            _ if !is_sealed => "what was written after the last flush may be missing",
            Some(_) => "what was written after the last commit is lost",
            None => "it is incomplete",
        };
        let team = self.sections.team();
        (team.rank() == 0).then(|| format!("{}: not closed: {words}", team.file_name()))
    }

    /// Returns an error if the file has no seals.
    fn check_sealed(&self) -> Result<()> {
        match self.sections.is_sealed() {
            true => Ok(()),
            false => Err(Error::usage("commit needs a file that was opened with params.seal")),
        }
    }
}
