//! The sections of a file in their order: where the next one goes, and how their bytes are written.

mod combined_sections;
mod streamed_section;
mod types;

pub(super) use combined_sections::{Block, Elements, Gather, Pair};
pub(super) use scda_format::layout::too_large;
pub(super) use streamed_section::Tail;
pub(super) use types::{LocalElements, head};

use super::output::Output;
use super::sealing::Sealer;
use crate::file::options::{Hdf5, WriteOptions};
use crate::file::reader::{NewView, OwnReader, new_view};
use crate::file::sums::{Sums, end_section};
use crate::file::team::{Failure, Team, on_rank_0, split};
use scda_base::error::Result;
use scda_format::hdf5::SUPERBLOCK_OFFSET;
use scda_format::header::SectionType;
use scda_format::layout::SectionLayout;
use scda_hdf5::Superblock;
use scda_storage::ParallelFile;

/// The file and the ranks that write it, section by section.
///
/// A call describes a section ([`Self::describe`]), writes it, and ends with [`Self::end_call`];
/// [`Self::end_section`] separates the sections of one call.
pub(super) struct SectionWriter {
    pub output: Output,
    /// The contents of the next seal, if there will be one.
    pub sealer: Option<Sealer>,
    /// The reader of this rank for [`Self::read_own`].
    own: Option<Box<OwnReader>>,
    /// Whether each rank can read at once what another one has written.
    is_coherent: bool,
}

impl SectionWriter {
    /// For a file with these contents.
    pub fn new(output: Output, sealer: Option<Sealer>, is_coherent: bool) -> Self {
        Self { output, sealer, own: None, is_coherent }
    }

    /// The ranks.
    #[inline(always)]
    pub fn team(&self) -> &Team {
        &self.output.team
    }

    /// The ranks, for an agreement.
    #[inline(always)]
    pub fn team_mut(&mut self) -> &mut Team {
        &mut self.output.team
    }

    #[inline(always)]
    pub fn params(&self) -> &WriteOptions {
        &self.output.params
    }

    /// Offset of the next section.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.output.progress.end()
    }

    /// Whether the file gets a seal.
    #[inline]
    pub fn is_sealed(&self) -> bool {
        self.sealer.is_some()
    }

    /// Records a description of the section that is written next, if there will be a seal.
    #[inline(always)]
    pub fn describe(&mut self, section: SectionType, user: &[u8], count: u64, size: u64) -> Result<()> {
        if self.output.file.is_background() {
            let end = self.end();
            self.output.file.label(end, user);
        }
        // Not a closure, which would take its arguments by reference, out of registers.
        match &mut self.sealer {
            Some(sealer) => sealer.note_section(section, user, count, size),
            None => Ok(()),
        }
    }

    /// Ends a call after a complete section of the user. An error of this rank alone waits for the next
    /// agreement.
    #[inline(always)]
    pub fn end_call(&mut self) -> Result<(), Failure> {
        if let Some(sealer) = &mut self.sealer {
            if sealer.end_half() {
                return Ok(());
            }
            let noted = self.note_row();
            self.team_mut().tolerate(noted, ())?;
        }
        self.output.progress.end_call();
        let end = self.end();
        self.team_mut().mark(end);
        Ok(())
    }

    /// Like [`Self::end_call`], if the call has added something.
    #[inline(always)]
    pub fn end_call_if_any(&mut self) -> Result<(), Failure> {
        if self.output.progress.is_between_calls() { Ok(()) } else { self.end_call() }
    }

    /// Writes the block with the description of a dataset; the section with its data follows in the same
    /// call.
    pub fn write_metadata(&mut self, convention: &[u8], text: &str) -> Result<(), Failure> {
        let bytes = text.len() as u64;
        self.describe(SectionType::Block, convention, 0, bytes)?;
        let layout = SectionLayout::block(self.end(), bytes).ok_or_else(too_large)?;
        self.write_block(convention, self.team().rank() == 0, layout, &[text.as_bytes()])?;
        self.end_section()
    }

    /// Ends a section to which another one of the same call belongs: after an error neither remains.
    pub fn end_section(&mut self) -> Result<(), Failure> {
        if self.sealer.is_some() {
            let noted = self.note_row();
            self.team_mut().tolerate(noted, ())?;
        }
        self.output.progress.end_section();
        Ok(())
    }

    /// Records the row of the last section.
    #[inline(never)]
    fn note_row(&mut self) -> Result<()> {
        let Some(sealer) = &mut self.sealer else { return Ok(()) };
        let section = self.output.progress.section();
        sealer.end_section(section.clone(), self.output.team.rank() == 0)?;
        end_section(&mut self.output.file, section.end)
    }

    /// Writes everything, and a seal of it if there is none yet, with an HDF5 view if that is wanted. With
    /// `sync`, it is then on stable storage.
    pub fn seal(&mut self, sync: bool, with_view: bool) -> Result<(), Failure> {
        if let Some(sealer) = &self.sealer {
            sealer.check_whole()?;
        }
        let with_view = with_view && self.sealer.is_some() && self.params().hdf5 != Hdf5::Never;
        if with_view { self.flush_for_rank_0() } else { self.output.flush() }?;
        let (view, bytes, root) = if with_view { self.view()? } else { Default::default() };
        let (mut seal, start) = (None, self.end());
        let Output { team, file, params, .. } = &mut self.output;
        let file = file.now()?;
        if let Some(sealer) = &mut self.sealer
            && (bytes > 0 || file.sums().is_some_and(|sums| sums.count() > 0))
        {
            self.own = None;
            if let Some(seals) = view.as_ref().and_then(NewView::seals) {
                sealer.names.note_count(seals);
            }
            let sums = file.sums().map(Sums::take).unwrap_or_default();
            let shown = view.as_ref().map_or(&[][..], |view| &view.section);
            let (file, shown) = (file.unsummed(), (shown, bytes));
            let (end, crc) = sealer.seal(team, file, (start, sums), shown, params.line_break, sync)?;
            self.output.progress.seal(end);
            seal = Some((end, crc));
        }
        if sync {
            self.sync()?;
        }
        if root > 0 {
            let end = self.end();
            write_superblock(&mut self.output, Superblock { root, end })?;
            if sync {
                self.sync()?;
            }
        }
        if let Some(view) = view {
            view.remember(self.end(), seal);
        }
        Ok(())
    }

    /// The HDF5 view for the next seal: the view on rank 0, and on all ranks the size of its section and the
    /// offset of its root group, or 0 if there is nothing to show. Collective.
    fn view(&mut self) -> Result<(Option<NewView>, u64, u64), Failure> {
        let (sealed, rows) = self.sealer.as_ref().map_or((0, &[][..]), Sealer::noted);
        let end = self.end();
        let Output { team, file, params, .. } = &mut self.output;
        let found = on_rank_0(team.rank(), || {
            let reader =
                |file: &mut dyn ParallelFile| OwnReader::new(team.alone(), file, sealed, &params.tuning);
            new_view(file.now()?.inner(), (sealed, end), rows, params.line_break, reader)
        });
        let (found, mine) = split(found);
        let words =
            mine.map(|()| found.as_ref().map_or([0; 2], |view| [view.section.len() as u64, view.root]));
        let [bytes, root] = self.team_mut().share(0, words)?;
        Ok((found, bytes, root))
    }

    /// Reads the contents of the file on rank 0, after a flush: see [`OwnReader`].
    pub fn read_own<T>(&mut self, read: impl FnOnce(&mut OwnReader) -> Result<T>) -> Result<T> {
        let (sealed, rows) = self.sealer.as_ref().map_or((0, &[][..]), Sealer::noted);
        let end = self.end();
        let Output { team, file, params, .. } = &mut self.output;
        let file = file.now()?.inner();
        let own = match self.own.take().filter(|own| own.is_of(sealed)) {
            Some(own) => Ok(own),
            None => OwnReader::new(team.alone(), &mut **file, sealed, &params.tuning).map(Box::new),
        };
        let result = own.and_then(|mut own| {
            let result = own.read_file(file, end, rows, read)?;
            // After an error, a new reader is made.
            self.own = Some(own);
            Ok(result)
        });
        // The file has not changed.
        self.output.begin_call();
        result
    }

    /// Flushes, so that rank 0 can read what the others have written, even if it is still in the caches of
    /// their nodes. Collective.
    pub fn flush_for_rank_0(&mut self) -> Result<(), Failure> {
        // What rank 0 has written itself, it sees in any case.
        let is_of_rank_0 = self.output.flush_and_ask()?;
        if !self.is_coherent && !is_of_rank_0 {
            self.sync()?;
            if self.team().rank() == 0 {
                self.output.file.look_again();
            }
        }
        Ok(())
    }

    /// Brings written data to stable storage.
    pub fn sync(&mut self) -> Result<(), Failure> {
        let Output { team, file, .. } = &mut self.output;
        team.agree(file.sync())?;
        Ok(())
    }
}

/// Makes HDF5 find the view of the last seal, by a single write, so that the superblock is either the old or
/// the new one. Collective.
fn write_superblock(output: &mut Output, superblock: Superblock) -> Result<(), Failure> {
    let Output { team, file, .. } = output;
    let mine = on_rank_0(team.rank(), || {
        file.now()?.unsummed().write_at(SUPERBLOCK_OFFSET, &[&superblock.to_bytes()?])
    });
    team.agree(mine)?;
    Ok(())
}
