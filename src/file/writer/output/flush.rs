//! Flushes buffered sections and deferred headers, and decides where the file ends after an error.

use super::{Output, enclose};
use crate::file::team::Failure;
use scda_base::error::{Error, Result};
use scda_format::layout::SectionLayout;
use scda_storage::ParallelFile;

impl Output {
    /// Ends a small section, which is buffered on this rank.
    #[inline(always)]
    pub fn end_small(&mut self, layout: SectionLayout) -> Result<(), Failure> {
        self.progress.extend(layout.end);
        if std::mem::take(&mut self.must_agree) {
            self.agree(Ok(()))?;
        }
        Ok(())
    }

    /// Ends a large section. This rank has written its bytes except for the header, which follows when those
    /// of all ranks are written.
    pub fn end_large(&mut self, layout: SectionLayout, mine: Result<()>, head: &[u8]) -> Result<(), Failure> {
        self.must_agree = false;
        self.agree(mine)?;
        self.end_agreed(layout, head);
        Ok(())
    }

    /// Like [`Self::end_large`], for a section whose header was not written before its data: a rank that is
    /// alone writes it now.
    pub fn end_in_parts(
        &mut self,
        layout: SectionLayout,
        mine: Result<()>,
        head: &[u8],
    ) -> Result<(), Failure> {
        if !self.team.is_alone() {
            return self.end_large(layout, mine, head);
        }
        let is_well = !self.team.has_deferred();
        let mine =
            mine.and_then(|()| if is_well { self.file.write_at(layout.start, &[head]) } else { Ok(()) });
        self.end_large(layout, mine, &[])
    }

    /// Ends a section whose data were written before, past the end of the sections, after an agreement that
    /// they are in the file.
    pub fn end_ahead(&mut self, layout: SectionLayout, head: &[u8], padding: &[u8]) -> Result<(), Failure> {
        if self.team.rank() > 0 {
            self.end_agreed(layout, &[]);
            return Ok(());
        }
        let mine = self.file.write_at(layout.padding(), &[padding]);
        if self.team.is_alone() {
            return self.end_in_parts(layout, mine, head);
        }
        // The header only has to wait for the padding. An error is reported at the next agreement.
        self.end_agreed(layout, if mine.is_ok() { head } else { &[] });
        self.team.defer(mine);
        Ok(())
    }

    /// Like [`Self::end_large`], after an agreement that all bytes of the section are in the file, except for
    /// those that this rank writes with its header.
    pub fn end_agreed(&mut self, layout: SectionLayout, head: &[u8]) {
        self.progress.extend(layout.end);
        self.progress.write_rest();
        self.held.hold(layout.start, head);
        self.release();
    }

    /// Ends a section of a rank that is alone, whose data are in the file and end with this byte: writes the
    /// padding, and then the header.
    pub fn finish(&mut self, layout: SectionLayout, head: &[u8], last: Option<u8>) -> Result<()> {
        enclose(&mut self.file, layout, head, last, self.params.line_break)?;
        self.progress.extend(layout.end);
        self.progress.write_rest();
        if !self.held.is_waiting {
            self.progress.release();
        }
        Ok(())
    }

    /// Agrees that there is no error. Everything released before is then known to be in the file.
    #[inline(never)]
    fn agree(&mut self, mine: Result<()>) -> Result<(), Failure> {
        self.team.agree(mine)?;
        self.progress.know();
        Ok(())
    }

    /// Writes deferred headers, because the ranks have agreed that everything after them is in the file.
    fn release(&mut self) {
        if self.held.is_waiting {
            return;
        }
        self.held.release(&mut self.team, &mut self.file);
        self.progress.release();
    }

    /// Writes the buffered sections. An error is deferred to the next agreement.
    pub fn write_buffered(&mut self) -> Result<(), Failure> {
        let region = self.progress.buffered();
        if !region.is_empty() {
            self.buffer.write(&mut self.team, &mut self.file, &mut self.held, region)?;
            self.progress.know();
            if !self.held.is_waiting {
                self.progress.release();
            }
            self.progress.write_rest();
            if self.team.is_alone() && !self.buffer.has_failed && !self.held.is_waiting {
                self.progress.release();
                self.progress.know();
            }
        }
        Ok(())
    }

    /// Writes everything that is buffered on this rank, before an agreement that confirms it.
    pub fn write_all(&mut self) -> Result<(), Failure> {
        self.write_buffered()?;
        self.buffer.write_owed(&mut self.team, &mut self.file);
        Ok(())
    }

    /// Writes everything, and agrees that it is in the file.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.flush_and_ask().map(drop)
    }

    /// Like [`Self::flush`]; returns whether only rank 0 has written to the file.
    pub fn flush_and_ask(&mut self) -> Result<bool, Failure> {
        self.write_all()?;
        let is_background = self.file.is_background();
        if is_background {
            self.catch_up();
        } else if self.progress.has_held() && self.buffer.is_of_messages() && !self.team.has_deferred() {
            // Only rank 0 has written what follows the text that it defers, so it needs no agreement.
            self.release();
        }
        let mut is_of_rank_0 = self.agree_on_writer()?;
        if self.progress.has_held() && (is_background || !self.team.is_alone()) {
            self.release();
            self.catch_up();
            is_of_rank_0 = self.agree_on_writer()?;
        }
        self.held.is_waiting = is_background;
        Ok(is_of_rank_0)
    }

    /// Like [`Self::agree`]; returns whether only rank 0 has written to the file.
    fn agree_on_writer(&mut self) -> Result<bool, Failure> {
        let mut is_of_rank_0 = [u64::from(self.team.rank() == 0 || !self.file.has_written())];
        self.team.agree_with(Ok(()), &mut is_of_rank_0)?;
        self.progress.know();
        Ok(is_of_rank_0 == [1])
    }

    /// Waits until the thread, if there is one, has written everything. An error is deferred to the next
    /// agreement, after which the headers may follow.
    fn catch_up(&mut self) {
        let settled = self.file.settle();
        self.team.defer(settled);
        self.held.is_waiting = false;
    }

    /// Called after an error that all ranks know. The buffered sections that were reported as written, on all
    /// ranks, are written nevertheless, unless the error is one of storage or communication. The file then
    /// ends after the last complete section.
    pub fn end_after_error(&mut self, error: &Error) {
        let end = if self.team.is_alone() {
            let start = self.progress.give_up_call();
            let had_failed = self.buffer.has_failed;
            let is_written = !had_failed && self.write_all().is_ok() && !self.buffer.has_failed;
            let is_written = is_written && self.file.settle().is_ok();
            if is_written { start } else { self.progress.known() }
        } else {
            self.common_end(error).unwrap_or(self.progress.known())
        };
        let kept = if self.params.mark_incomplete { self.progress.kept() } else { None };
        let end = kept.unwrap_or(end);
        // What cannot be removed has no header.
        if !self.team.is_lost() {
            let _ = self.file.truncate(end);
        }
    }

    /// Writes the sections that all ranks have completed, and returns where they end; `None` if they could
    /// not be written.
    fn common_end(&mut self, error: &Error) -> Option<u64> {
        self.buffer.write_owed(&mut self.team, &mut self.file);
        let is_fine = !error.kind().is_of_system() && !self.buffer.has_failed && !self.held.has_failed;
        // No rank's thread may still write where the file is truncated.
        let is_fine = self.file.settle().is_ok() && is_fine;
        self.held.is_waiting = false;
        if !self.team.after_error().all(is_fine) {
            return None;
        }
        let end = self.team.after_error().common_end()?.max(self.progress.known());
        let mut is_written = true;
        if self.progress.written() < end {
            let region = self.progress.written()..end;
            let Self { buffer, team, file, held, .. } = self;
            is_written = buffer.write_after_error(team, file, held, region);
            is_written = file.settle().is_ok() && is_written;
        }
        if !self.team.after_error().all(is_written) {
            return None;
        }
        self.release();
        let is_released = self.file.settle().is_ok() && !self.held.has_failed;
        self.team.after_error().all(is_released).then_some(end)
    }
}
