//! Commits and closes in two halves: the first returns when the bytes are copied, the second waits until they are in the file,
//! agrees on that, and writes what says so: headers, seal, name.

use super::streams::OwnStream;
use super::{Writer, WriterState};
use crate::file::params::Params;
use crate::file::session::SessionState as _;
use crate::file::statistics::Statistics;
use crate::file::team::{Failure, Function};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;

/// A commit that [`Writer::commit_begin`] has begun: to be completed by [`Writer::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a commit is complete only when it was waited for"]
pub struct CommitRequest(u64);

/// A file that is being closed, since [`Writer::close_begin`]. Dropping it is dropping the [`Writer`].
#[must_use = "a file is complete only when its close was waited for"]
pub struct Closing(Writer);

/// What is between its two halves: at most one commit, or the close.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pending {
    /// All that was begun is complete.
    #[default]
    Nothing,
    /// A commit.
    Commit,
    /// The close.
    Close,
}

/// The commits in two halves of a file.
#[derive(Default)]
pub(super) struct Commits {
    begun: u64,
    pending: Pending,
    /// The numbers of those that were not waited for, which is done once for each.
    not_waited_for: Vec<u64>,
    /// The part of a set of streams that was ended by a commit that is pending.
    streams: Option<OwnStream>,
}

impl Commits {
    /// As [`OwnStream::all_bytes`], of streams that go on when the commit is complete.
    pub fn stream_bytes(&self) -> Option<u64> {
        self.streams.as_ref().map(OwnStream::all_bytes)
    }
}

impl Commits {
    fn begin(&mut self) -> Result<CommitRequest> {
        reserve(&mut self.not_waited_for, 1)?;
        self.begun += 1;
        self.not_waited_for.push(self.begun);
        self.pending = Pending::Commit;
        Ok(CommitRequest(self.begun))
    }

    /// This one is waited for.
    fn note_wait(&mut self, CommitRequest(number): CommitRequest) -> Result<()> {
        match self.not_waited_for.binary_search(&number) {
            Ok(place) => {
                self.not_waited_for.remove(place);
                Ok(())
            }
            Err(_) if number > self.begun => Err(Error::usage("wait: this request is one of another file")),
            Err(_) => Err(Error::usage("wait: this request was waited for already")),
        }
    }
}

impl CommitRequest {
    /// Its number among those of the file, from 1 on: for languages in which a request is a number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// See [`Self::number`].
    pub fn of(number: u64) -> Self {
        Self(number)
    }
}

impl Writer {
    /// The first half of [`Self::commit`]: returns when all that was written is copied, or written by the calls if
    /// [`Params::background_bytes`](crate::Params::background_bytes) is 0. Then the program may go on computing. The second half,
    /// [`Self::wait`], writes headers and seal; only its success says that anything is in stable storage.
    ///
    /// The next collective call on this file completes the commit first, and returns its error if it failed. Streams that are open go on
    /// when the commit is complete: until then [`Self::write_stream`] is an error.
    ///
    /// # Errors
    /// `Usage` for a file without seals; those of all calls until now.
    pub fn commit_begin(&mut self) -> Result<CommitRequest> {
        self.session.operate_ahead(|state| {
            state.sections.team.note_call(Function::CommitBegin);
            state.check_sealed()?;
            state.commits.streams = state.streams().end_part()?;
            state.sections.write_all()?;
            state.sections.sync_ahead();
            Ok(state.commits.begin()?)
        })
    }

    /// Whether this rank has written what it has to before `request` can be completed: then [`Self::wait`] waits only for the other
    /// ranks. Not collective: no message is sent. Also true after an error, which [`Self::wait`] returns.
    #[must_use]
    pub fn test(&self, request: CommitRequest) -> bool {
        self.session.state().is_none_or(|state| request.0 < state.commits.begun) || self.is_settled()
    }

    /// Completes a commit: when this returns, all that was written before [`Self::commit_begin`] is sealed and in stable storage, as
    /// after [`Self::commit`].
    ///
    /// # Errors
    /// Those of [`Self::commit`], on all ranks; also if another call has returned it before. `Usage` if the request was waited for
    /// already.
    pub fn wait(&mut self, request: CommitRequest) -> Result<()> {
        if let Some(error) = self.session.closed_by() {
            return Err(error.again());
        }
        self.session.operate_ahead(|state| {
            state.sections.team.note_call(Function::Wait);
            Ok(state.commits.note_wait(request)?)
        })
    }

    /// The first half of [`Self::close`]: returns when all that was written is copied, or written by the calls if
    /// [`Params::background_bytes`](crate::Params::background_bytes) is 0. The second half is [`Closing::wait`].
    ///
    /// # Errors
    /// Those of all calls until now. The file is closed.
    pub fn close_begin(mut self) -> Result<Closing> {
        self.begin_close()?;
        Ok(Closing(self))
    }

    /// As [`Self::close_begin`]; after it, only [`Self::close`] may be called. For who cannot give the writer away.
    ///
    /// # Errors
    /// Those of [`Self::close_begin`].
    #[doc(hidden)]
    pub fn begin_close(&mut self) -> Result<()> {
        self.session.operate_ahead(|state| {
            state.sections.team.note_call(Function::CloseBegin);
            state.check_no_streams()?;
            state.sections.write_all()?;
            let Params { sync, atomic, later, .. } = state.sections.params;
            if sync || atomic && !later {
                state.sections.sync_ahead();
            }
            // An error of this rank alone is one of this call: a rank that has no request cannot wait for it.
            state.sections.team.agree(Ok(()))?;
            state.commits.pending = Pending::Close;
            Ok(())
        })
    }

    /// What was begun and not completed.
    pub(crate) fn pending(&self) -> Pending {
        self.session.state().map_or(Pending::Nothing, |state| state.commits.pending)
    }

    /// Whether this rank has written all that was passed: see [`Self::test`].
    #[doc(hidden)]
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.session.state().is_none_or(|state| state.sections.is_settled())
    }

    /// Where the time of this rank went, since the file was opened. Not collective. `None` after an error.
    #[must_use]
    pub fn statistics(&self) -> Option<Statistics> {
        self.session.state().map(WriterState::statistics)
    }
}

impl Closing {
    /// As [`Writer::test`].
    #[must_use]
    pub fn test(&self) -> bool {
        self.0.is_settled()
    }

    /// Completes closing: as [`Writer::close`]. Collective.
    ///
    /// # Errors
    /// Those of [`Writer::close`].
    pub fn wait(self) -> Result<()> {
        self.0.close()
    }
}

impl WriterState {
    /// An error if there are no seals.
    pub(super) fn check_sealed(&self) -> Result<()> {
        match self.sections.is_sealed() {
            true => Ok(()),
            false => Err(Error::usage("commit needs a file that was opened with params.seal")),
        }
    }

    /// Completes a commit that was begun.
    #[cold]
    pub(super) fn complete(&mut self) -> Result<(), Failure> {
        if self.commits.pending == Pending::Close {
            return Err(Error::usage("the file is being closed; wait for that").into());
        }
        self.commits.pending = Pending::Nothing;
        let request = format!("commit request {}", self.commits.begun);
        self.catch_up().and_then(|()| self.commit()).map_err(|failure| match failure {
            Failure::Mine(error) => Failure::Mine(error.of_request(&request)),
            Failure::Agreed(error) => Failure::Agreed(error.of_request(&request)),
        })?;
        self.commits.streams.take().map_or(Ok(()), |ended| self.streams().begin_next_part(ended))
    }

    /// Whether a commit was begun and not completed.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.commits.pending != Pending::Nothing
    }

    /// The second half of a close begins. Tells whether there was a first one.
    pub(super) fn end_closing(&mut self) -> bool {
        let is_closing = self.commits.pending == Pending::Close;
        if is_closing {
            self.commits.pending = Pending::Nothing;
        }
        is_closing
    }

    pub(super) fn statistics(&self) -> Statistics {
        let times = self.sections.times();
        Statistics {
            agreeing: self.sections.team.agreeing(),
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
