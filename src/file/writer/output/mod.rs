//! The file that the ranks write together: which rank writes which bytes, when, and how much is complete.

mod flush;
mod progress;
mod runs;

pub use progress::Progress;
pub use runs::{HOLE_BYTES, LONGEST_HEAD, Parts, enclose, put_entries, put_with_holes};

use crate::file::aggregators::Route;
use crate::file::buffer::SectionBuffer;
use crate::file::deferred_headers::DeferredHeaders;
use crate::file::options::WriteOptions;
use crate::file::sums::SummedFile;
use crate::file::team::Team;
use scda_format::dataset::additions::title_of_first;
use scda_storage::ParallelFile;
use scda_storage::queue::Queue;

/// The file that is being written, and the ranks that write it. It knows the places of sections, but not
/// their contents.
///
/// A rank's part of a section is [buffered](Self::is_small) with other small ones, or written at once. The
/// section ends with one of the `end_...` functions, in each of which the ranks agree, unless it is buffered.
pub struct Output {
    pub team: Team,
    pub params: WriteOptions,
    /// The file, and the thread that writes it, if there is one.
    pub file: Queue<SummedFile>,
    pub progress: Progress,
    /// The largest section that is buffered.
    small_bytes: u64,
    /// Whether one rank alone may have failed since the last agreement, so that the call must end with one.
    must_agree: bool,
    buffer: SectionBuffer,
    route: Route,
    held: DeferredHeaders,
    /// The number of changes of the file before the current call.
    changes: u64,
}

impl Output {
    /// For a file with these contents.
    pub fn new(mut team: Team, params: WriteOptions, file: SummedFile, progress: Progress) -> Self {
        let file = Queue::new(file, params.background_bytes, title_of_first);
        let mut held = DeferredHeaders::default();
        held.is_waiting = file.is_background();
        Self {
            buffer: SectionBuffer::new(&mut team, &params.tuning),
            route: Route::default(),
            held,
            changes: 0,
            small_bytes: params.tuning.small_bytes(team.size()) as u64,
            progress,
            must_agree: false,
            team,
            params,
            file,
        }
    }

    /// Begins a call.
    #[inline]
    pub fn begin_call(&mut self) {
        self.changes = self.file.changes();
    }

    /// Whether nothing has happened since [`Self::begin_call`] except for recording arguments. For a rank
    /// that is alone.
    pub fn is_as_before(&self) -> bool {
        self.progress.is_between_calls()
            && self.file.changes() == self.changes
            && (self.small_bytes == 0 || !self.buffer.is_of_messages())
    }

    /// Records that one rank alone may fail from now on, so that this call ends with an agreement even if its
    /// section is small.
    pub fn must_agree(&mut self) {
        self.must_agree = true;
    }

    /// The ranks, and the file to which nothing more is written, with its end.
    pub fn into_parts(self) -> (Team, Box<dyn ParallelFile>, WriteOptions, u64) {
        (self.team, Box::new(self.file), self.params, self.progress.end())
    }

    /// Leaks the memory that ranks share: freeing it would be collective.
    pub fn leak_shared(self) {
        let Self { team, buffer, route, .. } = self;
        if !team.is_alone() {
            std::mem::forget((team, buffer, route));
        }
    }
}
