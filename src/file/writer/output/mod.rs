//! The file that the ranks write together: which rank writes which bytes, when, and how far the file has come.

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

/// The file that is being written, and the ranks that write it. It knows where sections lie, and not what they are.
///
/// What a rank owns of a section is [buffered](Self::is_small) with other small ones, or written at once. The section ends with
/// one of the `end_...` functions, in each of which the ranks agree, unless it is buffered.
pub struct Output {
    team: Team,
    params: WriteOptions,
    file: Queue<SummedFile>,
    progress: Progress,
    /// The most bytes of a section that is buffered.
    small_bytes: u64,
    /// Whether one rank alone may have failed since the last agreement: the call must end with one.
    must_agree: bool,
    buffer: SectionBuffer,
    route: Route,
    held: DeferredHeaders,
    /// The number of changes of the file before the current call.
    changes: u64,
}

impl Output {
    /// A file of which so much is there.
    pub fn new(mut team: Team, params: WriteOptions, file: SummedFile, progress: Progress) -> Self {
        let file = Queue::new(file, params.background_bytes, title_of_first);
        let mut held = DeferredHeaders::default();
        held.wait(file.is_background());
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

    /// The ranks.
    #[inline(always)]
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// The ranks, for an agreement.
    #[inline(always)]
    pub fn team_mut(&mut self) -> &mut Team {
        &mut self.team
    }

    #[inline(always)]
    pub fn params(&self) -> &WriteOptions {
        &self.params
    }

    /// The file and the thread that writes it, if there is one.
    #[inline(always)]
    pub fn file(&self) -> &Queue<SummedFile> {
        &self.file
    }

    /// As [`Self::file`], for what does not write sections: memory, and work of the thread.
    #[inline(always)]
    pub fn file_mut(&mut self) -> &mut Queue<SummedFile> {
        &mut self.file
    }

    /// The ranks, the file and the options, for what writes through them.
    pub fn parts(&mut self) -> (&mut Team, &mut Queue<SummedFile>, &WriteOptions) {
        (&mut self.team, &mut self.file, &self.params)
    }

    /// How far the file has come.
    #[inline(always)]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// As [`Self::progress`], to go on.
    #[inline(always)]
    pub fn progress_mut(&mut self) -> &mut Progress {
        &mut self.progress
    }

    /// A call begins.
    #[inline]
    pub fn begin_call(&mut self) {
        self.changes = self.file.changes();
    }

    /// Whether nothing was done since [`Self::begin_call`] but to note arguments. For a rank that is alone.
    pub fn is_as_before(&self) -> bool {
        self.progress.is_between_calls()
            && self.file.changes() == self.changes
            && (self.small_bytes == 0 || !self.buffer.is_of_messages())
    }

    /// One rank alone may fail from now on: this call ends with an agreement, even of a small section.
    pub fn must_agree(&mut self) {
        self.must_agree = true;
    }

    /// The ranks and the file, of which nothing more is written, and where it ends.
    pub fn into_parts(self) -> (Team, Box<dyn ParallelFile>, WriteOptions, u64) {
        (self.team, Box::new(self.file), self.params, self.progress.end())
    }

    /// Leaves what the ranks share as it is: giving it back takes all of them.
    pub fn leak_shared(self) {
        let Self { team, buffer, route, .. } = self;
        if !team.is_alone() {
            std::mem::forget((team, buffer, route));
        }
    }
}
