//! Writes this rank's part of a section: at once, buffered with other small sections, or through aggregators.

use super::Output;
use crate::file::aggregators::RankData;
use crate::file::buffer::{Outlet, Stage};
use crate::file::sums::SummedFile;
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_base::memory::{reserve, resize};
use scda_format::entry::CountFormat;
use scda_format::layout::SectionLayout;
use scda_format::padding::{LineBreak, MAX_DATA_PADDING, data_padding};
use scda_format::{COUNT_BYTES, SECTION_HEADER_BYTES};
use scda_storage::ParallelFile;
use scda_storage::queue::Queue;

/// The longest text before the entries or data of a section.
pub const LONGEST_HEAD: usize = SECTION_HEADER_BYTES + 2 * COUNT_BYTES;

/// The number of size entries that are formatted at a time.
const ENTRIES_PER_CHUNK: usize = 1024;

impl Output {
    /// Writes a section, or buffers it if it is small. This rank's part of it consists of these runs,
    /// consecutive from `offset` on; the first one is the header, or empty.
    #[inline(always)]
    pub fn write_run(&mut self, layout: SectionLayout, offset: u64, runs: &[&[u8]]) -> Result<(), Failure> {
        if !self.is_small(layout) {
            return self.write_large_run(layout, offset, runs);
        }
        self.make_room(layout)?;
        if !self.team.has_deferred() {
            let put = self.buffer.put(self.progress.written(), offset, runs);
            self.team.tolerate(put, ())?;
        }
        self.end_small(layout)
    }

    #[cold] // for the callers
    #[inline(never)]
    fn write_large_run(&mut self, layout: SectionLayout, offset: u64, runs: &[&[u8]]) -> Result<(), Failure> {
        // A block has one count before its data, and is written by one rank.
        let is_array = layout.data - layout.start == LONGEST_HEAD as u64;
        if is_array && self.is_aggregated(layout)? {
            let after = offset + runs[0].len() as u64;
            return self.write_aggregated(layout, runs[0], &[(after, RankData::Runs(&runs[1..]))]);
        }
        self.write_all()?;
        if self.team.has_deferred() || runs.iter().all(|run| run.is_empty()) {
            return self.end_large(layout, Ok(()), &[]);
        }
        if self.team.is_alone() {
            let mine = self.file.write_at(offset, runs);
            return self.end_large(layout, mine, &[]);
        }
        let (head, rest) = (runs[0], &runs[1..]);
        let mine = self.file.write_at(offset + head.len() as u64, rest);
        self.end_large(layout, mine, head)
    }

    /// Whether a section is written by the aggregators of each node. The same on all ranks.
    #[inline(never)]
    pub fn is_aggregated(&mut self, layout: SectionLayout) -> Result<bool, Failure> {
        if self.is_small(layout) {
            return Ok(false);
        }
        Ok(self.route.aggregators(&mut self.team, &self.params.tuning, layout.bytes())?.is_some())
    }

    /// Writes a large section through aggregators: this rank's part except for the header, as runs with their
    /// offsets. The number of runs is the same on all ranks.
    #[cold]
    pub fn write_aggregated(
        &mut self,
        layout: SectionLayout,
        head: &[u8],
        runs: &[(u64, RankData<'_>)],
    ) -> Result<(), Failure> {
        self.write_all()?;
        let mut mine = Ok(());
        if let Some(aggregators) =
            self.route.aggregators(&mut self.team, &self.params.tuning, layout.bytes())?
        {
            // From here on, all ranks take part, because those of a node exchange data.
            let agreed = self.team.agree(Ok(()))?;
            for (offset, own) in runs {
                mine = mine.and(aggregators.write(&agreed, &mut self.file, *offset, own));
            }
        }
        self.progress.know();
        self.end_large(layout, mine, head)
    }

    /// Like [`Self::write_run`]. `put` provides this rank's part except for the header.
    #[inline(never)]
    pub fn write(
        &mut self,
        layout: SectionLayout,
        head: &[u8],
        put: impl FnOnce(&mut Outlet<'_>, SectionLayout) -> Result<()>,
    ) -> Result<(), Failure> {
        let small = self.is_small(layout);
        if small {
            self.make_room(layout)?
        } else {
            self.write_all()?
        }
        let mut mine = Ok(());
        if !self.team.has_deferred() {
            let mut out = match small {
                true => Outlet::Buffer(&mut self.buffer, self.progress.written()),
                false => Outlet::Stage(Stage::new(&mut self.file)),
            };
            if small || self.team.is_alone() {
                mine = out.put(layout.start, &[head]);
            }
            mine = mine.and_then(|()| put(&mut out, layout)).and_then(|()| out.finish());
        }
        if !small {
            let head = if self.team.is_alone() { &[] } else { head };
            return self.end_large(layout, mine, head);
        }
        self.team.tolerate(mine, ())?;
        self.end_small(layout)
    }

    /// Whether a section is so small that it is buffered. The same on all ranks.
    #[inline(always)]
    pub fn is_small(&self, layout: SectionLayout) -> bool {
        layout.bytes() <= self.small_bytes
    }

    /// Writes the buffered sections if a small one does not fit after them.
    #[inline(always)]
    fn make_room(&mut self, layout: SectionLayout) -> Result<(), Failure> {
        if layout.end - self.progress.written() > self.buffer.room {
            self.write_buffered()?;
            self.buffer.grow(&mut self.team, &self.params.tuning)?;
        }
        Ok(())
    }
}

/// Writes size entries from `offset` on, a bounded number at a time.
pub fn put_entries(out: &mut Outlet<'_>, mut offset: u64, format: &CountFormat, sizes: &[u64]) -> Result<()> {
    let mut text = Vec::with_capacity(sizes.len().min(ENTRIES_PER_CHUNK) * COUNT_BYTES);
    for chunk in sizes.chunks(ENTRIES_PER_CHUNK) {
        text.clear();
        format.append(chunk, &mut text);
        out.put(offset, &[&text])?;
        offset += text.len() as u64;
    }
    Ok(())
}

/// On a parallel file system, holes consist of whole pages of this size: a client might have to read a page
/// before it could write a part of it. Elsewhere, only what somebody wrote is written.
const PAGE_BYTES: u64 = 4 << 10;
/// At least this many zeros leave a hole. Writing fewer takes no longer than the system call that skipping them
/// costs.
pub const HOLE_BYTES: u64 = 2 * PAGE_BYTES;
/// A section that comes in batches is compared with zeros in blocks of this size, each of which may be a hole.
const BLOCK_BYTES: usize = 64 << 10;
/// The bytes that are compared with zeros at once.
const ZERO_BYTES: usize = 64;

/// Whether all bytes are 0.
fn are_zeros(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<ZERO_BYTES>();
    blocks.iter().all(|block| *block == [0; ZERO_BYTES]) && rest.iter().all(|&byte| byte == 0)
}

/// Writes a run of a section past the end of the file. Zeros become holes, but for short runs. A hole at the
/// end does not make the file longer; what follows in the section does.
pub fn put_with_holes(file: &mut Queue<SummedFile>, mut at: u64, mut run: &[u8]) -> Result<()> {
    if (1..HOLE_BYTES).contains(&(run.len() as u64)) {
        return file.write_at(at, &[run]);
    }
    while !run.is_empty() {
        let mut blocks = run.chunks(BLOCK_BYTES);
        let is_hole = blocks.next().is_some_and(are_zeros);
        let more = blocks.take_while(|block| are_zeros(block) == is_hole).map(<[u8]>::len).sum::<usize>();
        let (now, later) = run.split_at(run.len().min(BLOCK_BYTES) + more);
        if is_hole {
            put_hole(file, at, now.len() as u64)?
        } else {
            file.write_at(at, &[now])?
        }
        at += now.len() as u64;
        run = later;
    }
    Ok(())
}

/// Leaves zeros of a section, past the end of the file, as a hole. The rest of the section follows.
fn put_hole(file: &mut Queue<SummedFile>, at: u64, bytes: u64) -> Result<()> {
    file.run(move |file| {
        file.sums().into_iter().for_each(|sums| sums.add_zeros(at, bytes));
        Ok(())
    })
}

/// Collects the bytes of this rank's part of a section.
pub struct Parts {
    /// Where in the file they go, past its end; `None`: they stay in memory, because the section is small.
    at: Option<u64>,
    /// Holes begin and end at multiples of this.
    page_bytes: u64,
    /// Short runs that are still to be written.
    bytes: Vec<u8>,
    last: Option<u8>,
}

impl Parts {
    /// Shorter runs are written together: a system call costs as much as copying them.
    const SHORT_BYTES: usize = 64 << 10;

    /// `stripe_bytes` is not 0 on a parallel file system.
    pub fn new(at: Option<u64>, stripe_bytes: u64) -> Self {
        let page_bytes = if stripe_bytes > 0 { PAGE_BYTES } else { 1 };
        Self { at, page_bytes, bytes: Vec::new(), last: None }
    }

    /// Whether a system call goes to the page cache of this machine, rather than to a server.
    pub fn has_cheap_accesses(&self) -> bool {
        self.page_bytes == 1
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// `Memory`, and those of the file.
    pub fn put(&mut self, file: &mut Queue<SummedFile>, bytes: &[u8]) -> Result<()> {
        self.last = bytes.last().copied().or(self.last);
        if self.at.is_some() && self.bytes.len() + bytes.len() > Self::SHORT_BYTES {
            self.flush(file)?;
        }
        match &mut self.at {
            Some(at) if bytes.len() > Self::SHORT_BYTES => {
                put_with_holes(file, *at, bytes)?;
                *at += bytes.len() as u64;
            }
            _ => {
                reserve(&mut self.bytes, bytes.len())?;
                self.bytes.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// Appends zeros. [`HOLE_BYTES`] or more of them, or the whole pages among these, become a hole.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn put_zeros(&mut self, file: &mut Queue<SummedFile>, count: u64) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.last = Some(0);
        let mut length = self.bytes.len() as u64 + count;
        if let Some(at) = self.at.filter(|_| count >= HOLE_BYTES) {
            let end = at + length;
            let page = self.page_bytes;
            let hole = (end - count).next_multiple_of(page)..end / page * page;
            resize(&mut self.bytes, hole.start - at)?;
            self.flush(file)?;
            put_hole(file, hole.start, hole.end - hole.start)?;
            self.at = Some(hole.end);
            length = end - hole.end;
        }
        resize(&mut self.bytes, length)
    }

    /// Writes what is still in memory; returns the last byte of all.
    ///
    /// # Errors
    /// Those of the file.
    pub fn flush(&mut self, file: &mut Queue<SummedFile>) -> Result<Option<u8>> {
        if let Some(at) = &mut self.at {
            put_with_holes(file, *at, &self.bytes)?;
            *at += self.bytes.len() as u64;
            self.bytes.clear();
        }
        Ok(self.last)
    }

    /// The bytes in memory.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Writes the padding of a section whose data are in the file and end with this byte, and then its header,
/// which an incomplete section must not have.
pub fn enclose(
    file: &mut Queue<SummedFile>,
    layout: SectionLayout,
    head: &[u8],
    last: Option<u8>,
    style: LineBreak,
) -> Result<()> {
    let mut padding = [0; MAX_DATA_PADDING];
    let padding = data_padding(&mut padding, layout.data_bytes, last, style);
    file.write_at(layout.padding(), &[padding])?;
    file.write_at(layout.start, &[head])
}
