//! The sections of a file in their order: how their bytes get there, and how far the file has come.

mod combined_sections;
mod flush;
mod output;
mod progress;
mod streamed_section;

pub(super) use combined_sections::{Block, Elements, Gather, Pair};
pub(super) use output::{LONGEST_HEAD, LocalElements, head};
pub(super) use progress::Progress;
pub(super) use scda_format::layout::too_large;
pub(super) use streamed_section::Tail;

use super::sealing::Sealer;
use crate::file::aggregators::Route;
use crate::file::buffer::SectionBuffer;
use crate::file::deferred_headers::DeferredHeaders;
use crate::file::options::WriteOptions;
use crate::file::reader::{NewView, OwnReader, new_view};
use crate::file::sums::{RunningSum, SummedFile, UnsummedFile, end_section};
use crate::file::team::{Failure, Team, split};
use scda_base::error::Result;
use scda_format::dataset::additions::title_of_first;
use scda_format::hdf5::SUPERBLOCK_OFFSET;
use scda_format::header::SectionType;
use scda_format::layout::SectionLayout;
use scda_hdf5::Superblock;
use scda_ranks::Partition;
use scda_storage::ParallelFile;
use scda_storage::lent_memory::LentMemory;
use scda_storage::queue::{Queue, Times};

/// The file and the ranks that write it, section by section.
///
/// A call describes a section ([`Self::describe`]), writes it, and ends with [`Self::end_call`]; [`Self::end_section`] is between the sections
/// of one call.
pub(super) struct Sections {
    pub team: Team,
    pub params: WriteOptions,
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
    /// The contents of the next seal, if the file is sealed.
    sealer: Option<Sealer>,
    /// What this rank has read of the file for [`Self::read_own`].
    own: Option<Box<OwnReader>>,
    /// Whether each rank can read what another one has written, at once.
    pub is_coherent: bool,
}

impl Sections {
    /// A file of which so much is there.
    pub fn new(
        mut team: Team,
        params: WriteOptions,
        file: SummedFile,
        sealer: Option<Sealer>,
        progress: Progress,
    ) -> Self {
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
            sealer,
            own: None,
            is_coherent: true,
        }
    }

    /// Offset of the next section.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.progress.end()
    }

    /// Whether the file gets a seal.
    #[inline]
    pub fn is_sealed(&self) -> bool {
        self.sealer.is_some()
    }

    /// Whether nothing was done since [`Self::begin_call`] but to note arguments. For a rank that is alone.
    pub fn is_as_before(&self) -> bool {
        self.progress.is_between_calls()
            && self.file.changes() == self.changes
            && (self.small_bytes == 0 || !self.buffer.is_of_messages())
    }

    /// A call begins.
    #[inline]
    pub fn begin_call(&mut self) {
        self.changes = self.file.changes();
    }

    /// Whether a part of the file ends here after an error, whatever was written after it.
    pub fn is_kept(&self) -> bool {
        self.progress.kept().is_some()
    }

    /// The value, if this rank has no error; else `instead`, and the error is kept for the next
    /// agreement. A rank that is alone returns it at once.
    #[inline(always)]
    pub fn tolerate<T>(&mut self, result: Result<T>, instead: T) -> Result<T, Failure> {
        match result {
            Ok(value) => Ok(value),
            Err(error) if self.team.is_alone() => Err(Failure::Mine(error)),
            Err(error) => {
                self.team.defer(Err(error));
                Ok(instead)
            }
        }
    }

    /// One rank alone may fail from now on: this call ends with an agreement, even of a small section.
    pub fn must_agree(&mut self) {
        self.must_agree = true;
    }

    /// Notes what the section is that is written now, if there will be a seal.
    #[inline(always)]
    pub fn describe(&mut self, section: SectionType, user: &[u8], count: u64, size: u64) -> Result<()> {
        if self.file.is_background() {
            self.file.label(self.progress.end(), user);
        }
        self.sealer.as_mut().map_or(Ok(()), |sealer| sealer.note_section(section, user, count, size))
    }

    /// Notes the entries that are data of the section that is written now, if that is the first of a compressed pair.
    #[inline(always)]
    pub fn note_first_half(&mut self, data: &[u8]) -> Result<()> {
        self.sealer.as_mut().map_or(Ok(()), |sealer| sealer.note_first_half(data))
    }

    /// The section that is written now is a compressed pair.
    pub fn describe_as_compressed(&mut self) {
        if let Some(sealer) = &mut self.sealer {
            sealer.note_compressed();
        }
    }

    /// Notes the sizes of elements of this rank, the first of which is at this offset of the file.
    #[inline]
    pub fn note_elements(&mut self, elements: Partition, offset: u64, sizes: &[u64]) -> Result<()> {
        self.sealer.as_mut().map_or(Ok(()), |sealer| sealer.note_elements(elements, offset, sizes))
    }

    /// The bytes of all elements of the varray that is written now, before compression.
    pub fn note_size(&mut self, bytes: u64) {
        if let Some(sealer) = &mut self.sealer {
            sealer.note_size(bytes);
        }
    }

    /// As [`Self::note_size`], of a varray that is not compressed now: as the second section of a pair it may be so already.
    pub fn note_plain_size(&mut self, bytes: u64) {
        if let Some(sealer) = &mut self.sealer {
            sealer.note_plain_size(bytes);
        }
    }

    /// A section of the user is complete. An error of this rank alone waits for the next agreement.
    #[inline(always)]
    pub fn end_call(&mut self) -> Result<(), Failure> {
        if let Some(sealer) = &mut self.sealer {
            if sealer.end_half() {
                return Ok(());
            }
            let noted = self.note_row();
            self.tolerate(noted, ())?;
        }
        self.progress.end_call();
        self.team.mark(self.progress.end());
        Ok(())
    }

    /// As [`Self::end_call`], if the call has added something.
    #[inline(always)]
    pub fn end_call_if_any(&mut self) -> Result<(), Failure> {
        if self.progress.is_between_calls() { Ok(()) } else { self.end_call() }
    }

    /// Writes the block that says what a dataset is; the section with its data follows, in the same call.
    pub fn write_metadata(&mut self, convention: &[u8], text: &str) -> Result<(), Failure> {
        let bytes = text.len() as u64;
        self.describe(SectionType::Block, convention, 0, bytes)?;
        let layout = SectionLayout::block(self.end(), bytes).ok_or_else(too_large)?;
        self.write_block(convention, self.team.rank() == 0, layout, &[text.as_bytes()])?;
        self.end_section()
    }

    /// A section is complete, but another one of the same call belongs to it: after an error neither stays.
    pub fn end_section(&mut self) -> Result<(), Failure> {
        if self.sealer.is_some() {
            let noted = self.note_row();
            self.tolerate(noted, ())?;
        }
        self.progress.end_section();
        Ok(())
    }

    /// Notes the section that was written last.
    #[inline(never)]
    fn note_row(&mut self) -> Result<()> {
        let Some(sealer) = &mut self.sealer else { return Ok(()) };
        sealer.end_section(self.progress.section(), self.team.rank() == 0)?;
        end_section(&mut self.file, self.progress.end())
    }

    /// Writes everything, and a seal of it if there is none yet, with a view of HDF5 if that is wanted. With `sync` it is then in stable
    /// storage.
    pub fn seal(&mut self, sync: bool, with_view: bool) -> Result<(), Failure> {
        if let Some(sealer) = &self.sealer {
            sealer.check_whole()?;
        }
        self.flush()?;
        // After the flush, all is written.
        let with_view = with_view && self.sealer.is_some() && self.params.hdf5;
        if with_view {
            self.let_rank_0_read()?;
        }
        let view = if with_view { self.view()? } else { None };
        let (view, bytes, root) = view.unwrap_or_default();
        let mut seal = None;
        let file = self.file.now()?;
        if let Some(sealer) = &mut self.sealer
            && (bytes > 0 || file.sums().is_some_and(|sums| sums.count() > 0))
        {
            let (start, style) = (self.progress.end(), self.params.line_break);
            self.own = None;
            let (end, crc) = sealer.seal(&mut self.team, file, start, (&view.section, bytes), style, sync)?;
            self.progress.seal(end);
            seal = Some((end, crc));
        }
        if sync {
            self.sync()?;
        }
        if root > 0 {
            self.write_superblock(root)?;
            if sync {
                self.sync()?;
            }
            if self.team.rank() == 0 {
                view.remember(self.progress.end(), seal);
            }
        }
        Ok(())
    }

    /// The view of HDF5 that the next seal gets, if it gets one: on rank 0 the view, on all ranks how many bytes its section has, and the
    /// offset of its root group. Collective.
    fn view(&mut self) -> Result<Option<(NewView, u64, u64)>, Failure> {
        let Some(sealer) = &self.sealer else { return Ok(None) };
        let found = match self.team.rank() {
            0 => {
                let (sealed, rows) = sealer.noted();
                let (end, style) = (self.progress.end(), self.params.line_break);
                self.file.now().and_then(|file| new_view(file.unsummed(), end, sealed, rows, style))
            }
            _ => Ok(None),
        };
        let (found, mine) = split(found);
        let found = found.unwrap_or_default();
        let words = mine.map(|()| [found.section.len() as u64, found.root]);
        let [bytes, root] = self.team.share(0, words)?;
        Ok((root > 0).then_some((found, bytes, root)))
    }

    /// Makes HDF5 find the view of the last seal: one write, so that a superblock is the one before or this one. Collective.
    fn write_superblock(&mut self, root: u64) -> Result<(), Failure> {
        let superblock = Superblock { root, end: self.progress.end() };
        let mine = match self.team.rank() {
            0 => superblock.to_bytes().and_then(|bytes| {
                let file = self.file.now()?.unsummed();
                file.write_at(SUPERBLOCK_OFFSET, &[&bytes])
            }),
            _ => Ok(()),
        };
        self.team.agree(mine)?;
        Ok(())
    }

    /// Reads on rank 0, after a flush, what is in the file: see [`OwnReader`].
    pub fn read_own<T>(&mut self, read: impl FnOnce(&mut OwnReader) -> Result<T>) -> Result<T> {
        let (sealed, rows) = self.sealer.as_ref().map_or((0, &[][..]), Sealer::noted);
        let file = self.file.now()?.inner();
        let own = match self.own.take().filter(|own| own.is_of(sealed)) {
            Some(own) => Ok(own),
            None => OwnReader::new(self.team.alone(), &mut **file, sealed, &self.params.tuning).map(Box::new),
        };
        let result = own.and_then(|mut own| {
            let result = own.read_file(file, self.progress.end(), rows, read)?;
            // After an error it begins anew.
            self.own = Some(own);
            Ok(result)
        });
        // Nothing has changed.
        self.begin_call();
        result
    }

    /// After a flush: rank 0 can read what the others have written, which may still be in the caches of their nodes. Collective.
    pub fn let_rank_0_read(&mut self) -> Result<(), Failure> {
        if self.is_coherent || self.team.is_alone() { Ok(()) } else { self.sync() }
    }

    /// Brings what was written to stable storage.
    pub fn sync(&mut self) -> Result<(), Failure> {
        let synced = self.file.sync();
        self.team.agree(synced)?;
        Ok(())
    }

    /// As [`Self::sync`], but the thread does it, if there is one: the error is one of a later call.
    pub fn sync_ahead(&mut self) {
        let ahead = self.file.sync_ahead();
        self.team.defer(ahead);
    }

    /// Whether this rank has written all that was passed.
    pub fn is_settled(&self) -> bool {
        self.file.is_settled()
    }

    /// What the writes of this rank took.
    pub fn times(&self) -> Times {
        self.file.times()
    }

    /// Lends memory to the thread, if that is wanted, until nothing is lent.
    pub fn lend(&mut self, lent: Option<LentMemory>) {
        self.file.lend(lent.filter(|_| self.params.lend));
    }

    /// The file, for what does not write sections: memory, and work of the thread.
    pub fn queue(&mut self) -> &mut Queue<SummedFile> {
        &mut self.file
    }

    /// The file past its sections, for bytes that are summed up elsewhere.
    pub fn ahead(&mut self) -> UnsummedFile<'_> {
        UnsummedFile(&mut self.file)
    }

    /// Adds the checksum of bytes that were written [ahead](Self::ahead). An error is kept for the next agreement.
    pub fn add_run(&mut self, run: RunningSum) {
        let added = self.file.run(move |file| {
            file.sums().into_iter().for_each(|sums| sums.add_run(run));
            Ok(())
        });
        self.team.defer(added);
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
