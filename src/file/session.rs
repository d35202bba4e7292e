//! An open file: runs operations on all ranks, and closes the file when one fails.

use super::team::{Failure, Team};
use scda_base::error::{Error, Result};
use scda_base::fork::Process;
use scda_base::memory::AllowanceGuard;

/// The state of a file that is open for writing or reading.
///
/// It ends with closing, which is a collective of its own; with [`Self::abandon`] after an error that all
/// ranks know; or with [`Self::drop_alone`] if this rank leaves without the others.
/// ([`Writer::forget`](crate::Writer::forget) only drops it: nothing more is written.)
pub trait SessionState {
    /// The ranks of the file.
    fn team(&mut self) -> &mut Team;
    /// Whether a forked process may use a copy of it.
    fn works_after_fork(&mut self) -> bool;
    /// Whether the ranks agree in every call.
    fn checks_every_call(&self) -> bool;
    /// Begins an operation by completing what an earlier one has begun. Collective.
    fn begin(&mut self) -> Result<(), Failure> {
        Ok(())
    }
    /// Limits the memory of the operation that begins: see [`Tuning::max_memory`](crate::Tuning::max_memory).
    fn limit_memory(&self) -> Option<AllowanceGuard> {
        None
    }
    /// Whether the file stays open after an error; then the state is as before the failed operation.
    fn survives(&mut self, failure: &Failure) -> bool;
    /// Closes the file after an error that all ranks know.
    fn abandon(self, error: &Error);
    /// Leaves the file without the other ranks, because its owner was dropped without closing it.
    fn drop_alone(self);
}

/// A file that a program has opened.
pub trait OpenFile {
    /// Its state.
    type State: SessionState;
    /// The operations on it.
    fn session(&mut self) -> &mut Session<Self::State>;
}

/// An operation, until [`Session::end`].
#[must_use]
pub struct Call {
    /// Limits the memory of the operation.
    _limited: Option<AllowanceGuard>,
    is_alone: bool,
}

/// A file that is open until it is closed, or until an operation fails.
pub struct Session<S: SessionState> {
    state: Option<S>,
    /// The error that closed the file.
    closed_by: Option<Error>,
    /// The process that opened the file.
    process: Process,
}

impl<S: SessionState> Drop for Session<S> {
    fn drop(&mut self) {
        if let Some(mut state) = self.state.take() {
            if self.process.is_this() || state.works_after_fork() {
                state.drop_alone();
            } else {
                // This process must not release what its parent has, such as locks and threads.
                std::mem::forget(state);
            }
        }
    }
}

impl<S: SessionState> Session<S> {
    pub fn new(state: S) -> Self {
        Self { state: Some(state), closed_by: None, process: Process::this() }
    }

    /// The state, if the file is open, and was not opened by a process from which this one was forked.
    #[inline(always)]
    fn usable(&mut self) -> Result<&mut S> {
        let state = self.state.as_mut().ok_or_else(closed)?;
        if let Err(error) = self.process.check()
            && !state.works_after_fork()
        {
            return Err(error.in_file(state.team().file_name()));
        }
        Ok(state)
    }

    /// The state, if the file is open.
    pub fn state(&self) -> Option<&S> {
        self.state.as_ref()
    }

    /// Like [`Self::state`], for changes that concern this rank alone.
    pub fn state_mut(&mut self) -> Option<&mut S> {
        self.state.as_mut()
    }

    /// The error that closed the file.
    pub fn closed_by(&self) -> Option<&Error> {
        self.closed_by.as_ref()
    }

    /// Runs an operation on this rank alone. If it fails, the file stays open.
    pub fn locally<T>(&mut self, operation: impl FnOnce(&mut S) -> Result<T>) -> Result<T> {
        let state = self.usable()?;
        let _limited = state.limit_memory();
        let result = operation(state);
        result.map_err(|error| error.in_file(state.team().file_name()))
    }

    /// Runs an operation, as [`Self::begin`] and [`Self::end`] do around it.
    #[inline]
    pub fn operate<T>(&mut self, operation: impl FnOnce(&mut S) -> Result<T, Failure>) -> Result<T> {
        let (state, call) = self.begin()?;
        let result = operation(state);
        self.end(&call, result)
    }

    /// Begins an operation. The caller may use the state until [`Self::end`].
    ///
    /// # Errors
    /// If the file is closed, or if what an earlier call has begun fails now.
    #[inline(always)]
    pub fn begin(&mut self) -> Result<(&mut S, Call)> {
        let state = self.usable()?;
        // A rank that is alone need not wait to report its own error, even an earlier one.
        let is_alone = state.team().is_alone();
        if is_alone && let Err(failure) = state.team().agree(Ok(())).map(drop) {
            return Err(self.failed(failure));
        }
        let call = Call { _limited: state.limit_memory(), is_alone };
        if let Err(failure) = state.begin() {
            return Err(self.failed(failure));
        }
        // `usable` has checked that it is there.
        Ok((self.state.as_mut().ok_or_else(closed)?, call))
    }

    /// Ends an operation. If it failed, all ranks close the file, unless the file survives errors.
    #[inline(always)]
    pub fn end<T>(&mut self, call: &Call, result: Result<T, Failure>) -> Result<T> {
        let Some(state) = &mut self.state else { return Err(closed()) };
        let result = match result {
            Ok(value) if call.is_alone || state.checks_every_call() => {
                state.team().agree(Ok(())).map(|_| value)
            }
            other => other,
        };
        result.map_err(|failure| self.failed(failure))
    }

    #[cold]
    fn failed(&mut self, failure: Failure) -> Error {
        let survivor = self.state.as_mut().and_then(|state| state.survives(&failure).then_some(state));
        match survivor {
            Some(state) => state.team().settle(failure),
            None => self.abandon(failure),
        }
    }

    /// Closes the file on all ranks after a failure.
    #[cold]
    fn abandon(&mut self, failure: Failure) -> Error {
        let Some(mut state) = self.state.take() else { return closed() };
        let error = state.team().settle(failure);
        state.abandon(&error);
        self.closed_by = Some(error.again());
        error
    }

    /// Closes the file on all ranks, because of an error that this rank found in an argument.
    pub fn fail(&mut self, error: Error) -> Error {
        match self.usable() {
            Ok(_) => self.abandon(Failure::Mine(error)),
            Err(unusable) => unusable,
        }
    }

    /// Records an error of this rank, which all ranks return when they next agree. A rank that is alone
    /// returns it from its next operation.
    pub fn refuse(&mut self, error: Error) {
        if let Some(state) = &mut self.state {
            state.team().defer(Err(error));
        }
    }

    /// Takes the state, to close the file.
    pub fn take(&mut self) -> Result<S> {
        self.usable()?;
        self.state.take().ok_or_else(closed)
    }

    pub fn ranks(&mut self) -> ThisRank {
        let of = |team: &Team| ThisRank { rank: team.rank(), size: team.size() };
        self.state.as_mut().map_or(ThisRank { rank: 0, size: 1 }, |state| of(state.team()))
    }
}

/// The number of this rank, and the number of ranks.
#[derive(Clone, Copy, Debug)]
pub struct ThisRank {
    /// This rank.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
}

fn closed() -> Error {
    Error::usage("the file is closed")
}
