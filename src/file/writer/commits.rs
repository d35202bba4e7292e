//! Commits of a file, or its close, that have begun but not completed.

use super::streams::OwnStream;
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;

/// A commit that [`Writer::commit_begin`](crate::Writer::commit_begin) has begun, to be completed by
/// [`Self::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a commit is complete only when it was waited for"]
pub struct CommitRequest(pub(super) u64);

/// What is between its two halves: at most one commit, or the close.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PendingRequest {
    /// Nothing.
    #[default]
    Nothing,
    /// A commit.
    Commit,
    /// The close.
    Close,
}

/// The commits of a file that are done in two halves.
#[derive(Default)]
pub(crate) struct Commits {
    pub begun: u64,
    pub pending: PendingRequest,
    /// The numbers of those that were not waited for; each is waited for once.
    not_waited_for: Vec<u64>,
    /// The part of a set of streams that a pending commit has ended.
    pub(super) streams: Option<OwnStream>,
}

impl Commits {
    /// Like [`OwnStream::all_bytes`], for streams that continue when the commit is complete.
    pub fn stream_bytes(&self) -> Option<u64> {
        self.streams.as_ref().map(OwnStream::all_bytes)
    }

    /// Whether a commit or the close has begun and not completed.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.pending != PendingRequest::Nothing
    }

    /// Begins the second half of a close. Returns whether there was a first half.
    pub fn end_closing(&mut self) -> bool {
        let is_closing = self.pending == PendingRequest::Close;
        if is_closing {
            self.pending = PendingRequest::Nothing;
        }
        is_closing
    }

    pub fn begin(&mut self) -> Result<CommitRequest> {
        reserve(&mut self.not_waited_for, 1)?;
        self.begun += 1;
        self.not_waited_for.push(self.begun);
        self.pending = PendingRequest::Commit;
        Ok(CommitRequest(self.begun))
    }

    /// Removes and returns the numbers of those that were not waited for.
    pub fn take_not_waited_for(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.not_waited_for)
    }

    /// Records that nobody will wait for the last one.
    pub fn forgo_wait(&mut self) {
        self.not_waited_for.pop();
    }

    /// Records that this commit is waited for.
    pub fn note_wait(&mut self, CommitRequest(number): CommitRequest) -> Result<()> {
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
    /// Its number among the commits of the file, from 1 on, for languages in which a request is a number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// See [`Self::number`].
    pub fn of(number: u64) -> Self {
        Self(number)
    }
}
