//! Buffers small sections until they are written together with those of other ranks, and stages the parts of
//! large ones.

use super::deferred_headers::DeferredHeaders;
use super::double_buffer::DoubleBuffer;
use super::options::Tuning;
use super::source::Source;
use super::team::{Agreed, Failure, NodeTeam, Team, on_rank_0, split};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve, resize};
use scda_storage::ParallelFile;
use std::ops::Range;

/// Receives the bytes of a section that this rank has, in the order of their offsets.
pub enum Outlet<'a> {
    /// Buffers the bytes. The region of the file in the buffer begins at this offset.
    Buffer(&'a mut SectionBuffer, u64),
    /// Writes the bytes.
    Stage(Stage<'a>),
}

impl Outlet<'_> {
    /// Takes the runs in `runs`, which are consecutive in the file from `offset` on.
    #[inline]
    pub fn put(&mut self, offset: u64, runs: &[&[u8]]) -> Result<()> {
        match self {
            Self::Buffer(buffer, start) => buffer.put(*start, offset, runs),
            Self::Stage(stage) => stage.put(offset, runs),
        }
    }

    /// Like [`Self::put`], for this rank's elements, wherever they are in memory.
    pub fn put_data(&mut self, mut offset: u64, data: &Source<'_>) -> Result<()> {
        data.for_each_run(|run| {
            self.put(offset, &[run])?;
            offset += run.len() as u64;
            Ok(())
        })
    }

    /// Writes what is still staged, after the last `put`.
    #[inline]
    pub fn finish(&mut self) -> Result<()> {
        match self {
            Self::Buffer(..) => Ok(()),
            Self::Stage(stage) => stage.finish(),
        }
    }
}

/// After the first, small buffer was full this many times, the ranks look for shared memory. Before, finding
/// it costs more than it saves. Measured with `benches`.
const FILLINGS: u32 = 8;
/// More ranks than this look for shared memory after the first time: as each rank sends rank 0 a message,
/// another round of messages costs more than finding the nodes. An estimate; no such machine was available.
const MANY_RANKS: usize = 128;

/// Small sections that are not in the file yet, which together form a region of it.
pub struct SectionBuffer {
    store: Store,
    /// How many more times the buffer must be full before the ranks look for shared memory.
    fillings_left: u32,
    /// The size of the region that it can hold.
    pub room: u64,
    /// Whether this rank has failed to write its part.
    pub has_failed: bool,
}

enum Store {
    /// In the memory of each rank, until it is sent to rank 0. Used for the first sections, because it costs
    /// little, and for all if the ranks share no memory.
    Messages(Messages),
    /// In memory that all ranks share, as the bytes of the region.
    Shared(DoubleBuffer, Option<PendingTail>),
}

/// The second part of a region, in the half that was filled before. The last rank must still write it.
struct PendingTail {
    offset: u64,
    range: Range<usize>,
}

/// Buffered bytes of the ranks, until rank 0 gathers them.
#[derive(Default)]
struct Messages {
    pending: BufferedRuns,
    /// On rank 0: the messages of the other ranks, and the region that is assembled from all. The memory is
    /// kept between flushes.
    gathered: Vec<u8>,
    region: Vec<u8>,
    /// If the ranks are on several nodes: the messages of a node go through its leader.
    nodes: Option<NodeTeam>,
}

impl SectionBuffer {
    pub fn new(team: &mut Team, params: &Tuning) -> Self {
        let room = params.small_bytes(team.size()) as u64;
        let store = Store::Messages(Messages::default());
        let fillings_left = if team.size() > MANY_RANKS { 1 } else { FILLINGS };
        let mut this = Self { store, fillings_left, room, has_failed: false };
        if team.is_alone() {
            // A single rank shares memory with nobody, so it need not wait. Without memory it uses messages.
            this.fillings_left = 0;
            if let Ok(agreed) = team.agree(Ok(())) {
                let _ = this.share(&agreed, params);
            }
        }
        this
    }

    /// Called when the buffer was full and has been written. After a number of times, looks for shared
    /// memory. Collective.
    pub fn grow(&mut self, team: &mut Team, params: &Tuning) -> Result<(), Failure> {
        if self.fillings_left == 0 {
            return Ok(());
        }
        self.fillings_left -= 1;
        if self.fillings_left == 0 {
            self.room = params.half_bytes(team.size()) as u64;
            let shared = self.share(&team.agree(Ok(()))?, params);
            // A rank with an error must report it now: it may be long until the buffer is full again.
            let agreed = team.agree(shared)?;
            if let Store::Messages(messages) = &mut self.store {
                let (nodes, mine) = split(agreed.nodes());
                messages.nodes = nodes;
                team.agree(mine)?;
            }
        }
        Ok(())
    }

    /// Looks for memory that all ranks share. Collective.
    fn share(&mut self, agreed: &Agreed<'_>, params: &Tuning) -> Result<()> {
        if let Some(turns) = DoubleBuffer::share(agreed, None, params)? {
            self.room = turns.half as u64;
            self.store = Store::Shared(turns, None);
        }
        Ok(())
    }

    /// Buffers this rank's bytes for offset `offset` of the file. The buffered region begins at `start`.
    #[inline(always)]
    pub fn put(&mut self, start: u64, offset: u64, runs: &[&[u8]]) -> Result<()> {
        match &mut self.store {
            Store::Shared(turns, _) => {
                let at = usize::try_from(offset - start).map_err(|_| broken())?;
                let length: usize = runs.iter().map(|run| run.len()).sum();
                let mut room = turns.own(at..at + length);
                for run in runs {
                    let (now, later) = room.split_at_mut(run.len());
                    now.copy_from_slice(run);
                    room = later;
                }
            }
            Store::Messages(messages) => messages.pending.append(offset, runs)?,
        }
        Ok(())
    }

    /// Whether rank 0 writes the whole region. The same on all ranks.
    pub fn is_of_messages(&self) -> bool {
        matches!(self.store, Store::Messages(_))
    }

    /// Records the result of writing; an error is deferred to the next agreement.
    fn note(&mut self, team: &mut Team, written: Result<()>) {
        self.has_failed |= written.is_err();
        team.defer(written);
    }

    /// Writes the part that this rank must still write. Called before the ranks agree that everything is
    /// written.
    pub fn write_owed(&mut self, team: &mut Team, file: &mut dyn ParallelFile) {
        if let Store::Shared(turns, owed) = &mut self.store
            && let Some(PendingTail { offset, range }) = owed.take()
        {
            let written = file.write_at(offset, &[turns.previous(range)]);
            self.note(team, written);
        }
    }

    /// Writes the buffered region of the file, and empties the buffer. An error of writing is deferred to the
    /// next agreement. Collective.
    pub fn write(
        &mut self,
        team: &mut Team,
        file: &mut dyn ParallelFile,
        held: &mut DeferredHeaders,
        region: Range<u64>,
    ) -> Result<(), Failure> {
        self.write_owed(team, file);
        let written = match &mut self.store {
            Store::Shared(turns, owed) => {
                turns.meet(team, Ok(()))?;
                // The previous regions are in the file.
                held.release(team, file);
                write_shared(turns, owed, team, file, held, region)
            }
            Store::Messages(messages) => {
                let gathered = messages.gather(&team.agree(Ok(()))?);
                held.release(team, file);
                let written = gathered.and_then(|()| messages.write(team, file, held, region));
                messages.pending.clear();
                written
            }
        };
        self.note(team, written);
        Ok(())
    }

    /// Like [`Self::write`], and writes everything, after an error that all ranks know. Returns whether all
    /// ranks succeeded.
    pub fn write_after_error(
        &mut self,
        team: &mut Team,
        file: &mut dyn ParallelFile,
        held: &mut DeferredHeaders,
        region: Range<u64>,
    ) -> bool {
        let written = match &mut self.store {
            Store::Shared(turns, owed) => {
                turns.meet_after_error(team) && write_shared(turns, owed, team, file, held, region).is_ok()
            }
            Store::Messages(messages) => {
                let gathered = messages.gather(&team.after_error().agreed());
                gathered.and_then(|()| messages.write(team, file, held, region)).is_ok()
            }
        };
        self.write_owed(team, file);
        written && !self.has_failed
    }
}

/// Writes a region of the file from shared memory, by two ranks.
///
/// The first rank writes its part at once, and then fills the next half; the last rank fills the next half
/// first, and writes its part then. So they alternate, because a file system lets only one rank at a time
/// write to a file.
fn write_shared(
    turns: &mut DoubleBuffer,
    owed: &mut Option<PendingTail>,
    team: &Team,
    file: &mut dyn ParallelFile,
    held: &mut DeferredHeaders,
    region: Range<u64>,
) -> Result<()> {
    let Range { start, end } = region;
    let cut = if team.is_alone() { end } else { part_end(start, end) };
    // The region fits one half.
    let length = |end| usize::try_from(end - start).map_err(|_| broken());
    let (first, all) = (length(cut)?, length(end)?);
    let written =
        on_rank_0(team.rank(), || held.write_but_the_first(team, file, start, turns.current(0..first)));
    turns.turn();
    let is_last = team.rank() + 1 == team.size();
    *owed = (is_last && cut < end).then_some(PendingTail { offset: cut, range: first..all });
    written
}

impl Messages {
    /// Sends what is buffered to rank 0, which keeps its own bytes where they are.
    fn gather(&mut self, agreed: &Agreed<'_>) -> Result<()> {
        let own = if agreed.comm().rank() == 0 { &[] } else { self.pending.message() };
        match &mut self.nodes {
            Some(nodes) => nodes.gather(agreed, own, &LOST, &mut self.gathered),
            None => agreed.comm().gather(own, &mut self.gathered),
        }
    }

    /// Writes a gathered region of the file, on rank 0.
    fn write(
        &mut self,
        team: &Team,
        file: &mut dyn ParallelFile,
        held: &mut DeferredHeaders,
        region: Range<u64>,
    ) -> Result<()> {
        if team.rank() > 0 {
            return Ok(());
        }
        let messages = [self.pending.message(), self.gathered.as_slice()];
        match assemble(messages, region.start, region.end, &mut self.region)? {
            Some(bytes) => held.write_but_the_first(team, file, region.start, bytes),
            // The leader that could not pass on its node's messages reports the error at the next agreement.
            None => Ok(()),
        }
    }
}

/// Where the first rank's part of a region ends: near the middle, between two pages.
fn part_end(start: u64, end: u64) -> u64 {
    (start + (end - start) / 2).next_multiple_of(PAGE_BYTES).min(end)
}

/// The page size of a file system's cache.
const PAGE_BYTES: u64 = 4096;
/// The size of an extent's offset and length in a message.
const MARK_BYTES: usize = 16;
/// The message of a leader that cannot pass on those of its node: an empty extent at an impossible offset.
const LOST: [u8; MARK_BYTES] = (LOST_OFFSET as u128).to_le_bytes();
/// The offset of this extent.
const LOST_OFFSET: u64 = u64::MAX;

/// The buffered bytes of this rank, as a message of extents: each consists of its offset in the file, its
/// length, and its bytes.
#[derive(Default)]
struct BufferedRuns {
    message: Vec<u8>,
    /// Where the last extent begins in the message, and where it ends in the file.
    last: Option<(usize, u64)>,
}

impl BufferedRuns {
    /// Appends runs, which are consecutive in the file from `offset` on.
    fn append(&mut self, offset: u64, runs: &[&[u8]]) -> Result<()> {
        let length: usize = runs.iter().map(|run| run.len()).sum();
        if length == 0 {
            return Ok(());
        }
        reserve(&mut self.message, MARK_BYTES + length)?;
        let mark = match self.last {
            Some((mark, end)) if end == offset => mark,
            _ => {
                let mark = self.message.len();
                self.message.extend_from_slice(&offset.to_le_bytes());
                self.message.extend_from_slice(&[0; 8]);
                mark
            }
        };
        for run in runs {
            self.message.extend_from_slice(run);
        }
        let bytes = (self.message.len() - mark - MARK_BYTES) as u64;
        self.message[mark + 8..mark + MARK_BYTES].copy_from_slice(&bytes.to_le_bytes());
        self.last = Some((mark, offset + length as u64));
        Ok(())
    }

    /// Removes all extents, and keeps the memory.
    fn clear(&mut self) {
        self.message.clear();
        self.last = None;
    }

    /// All extents as one message.
    fn message(&self) -> &[u8] {
        &self.message
    }
}

/// Iterates over the extents of a message: offsets in the file, and bytes.
struct Extents<'a>(&'a [u8]);

impl<'a> Iterator for Extents<'a> {
    type Item = Result<(u64, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        let (offset, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = &[];
        let extent = rest.split_first_chunk::<8>().and_then(|(length, rest)| {
            let (bytes, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            self.0 = rest;
            Some((u64::from_le_bytes(*offset), bytes))
        });
        Some(extent.ok_or_else(broken))
    }
}

/// The error for a message that no rank can have sent.
fn broken() -> Error {
    Error::new(ErrorKind::Internal, "the ranks' runs do not make up the file")
}

/// The bytes of the file from `start` to `end`, from the messages of all ranks; copied to `region` unless
/// they are contiguous in one message. `None` if a leader has lost some.
fn assemble<'a>(
    messages: [&'a [u8]; 2],
    start: u64,
    end: u64,
    region: &'a mut Vec<u8>,
) -> Result<Option<&'a [u8]>> {
    let extents = || messages.into_iter().flat_map(Extents);
    let length = usize::try_from(end - start).map_err(|_| broken())?;
    if let Some(Ok((offset, bytes))) = extents().next()
        && (offset, bytes.len()) == (start, length)
        && extents().nth(1).is_none()
    {
        return Ok(Some(bytes));
    }
    resize(region, length as u64)?;
    let mut filled = 0;
    for extent in extents() {
        let (offset, bytes) = extent?;
        if offset == LOST_OFFSET {
            return Ok(None);
        }
        let at = offset.checked_sub(start).and_then(|at| usize::try_from(at).ok()).ok_or_else(broken)?;
        // After an error, some ranks may have written more than others.
        let bytes = &bytes[..bytes.len().min(length.saturating_sub(at))];
        if let Some(room) = region.get_mut(at..at + bytes.len()) {
            room.copy_from_slice(bytes);
            filled += bytes.len();
        }
    }
    if filled == region.len() { Ok(Some(region)) } else { Err(broken()) }
}

/// The size of the staging buffer.
const STAGE_BYTES: usize = 1 << 20;

/// Writes to the file. Small runs are staged; a large one is written from its own memory, by one call with
/// the bytes staged before it.
pub struct Stage<'a> {
    file: &'a mut dyn ParallelFile,
    offset: u64,
    buffer: Vec<u8>,
}

impl<'a> Stage<'a> {
    pub fn new(file: &'a mut dyn ParallelFile) -> Self {
        Self { file, offset: 0, buffer: Vec::new() }
    }

    /// Writes the staged bytes.
    fn finish(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.file.write_at(self.offset, &[&self.buffer])?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// See [`Outlet::put`].
    fn put(&mut self, offset: u64, runs: &[&[u8]]) -> Result<()> {
        if self.offset + self.buffer.len() as u64 != offset {
            self.finish()?;
        }
        if self.buffer.is_empty() {
            self.offset = offset;
        }
        let length: usize = runs.iter().map(|run| run.len()).sum();
        if self.buffer.len() + length > STAGE_BYTES {
            let staged = [self.buffer.as_slice()];
            let all: Vec<&[u8]> = staged.iter().chain(runs).copied().collect();
            self.file.write_at(self.offset, &all)?;
            self.buffer.clear();
            self.offset = offset + length as u64;
        } else {
            reserve(&mut self.buffer, length)?;
            for run in runs {
                self.buffer.extend_from_slice(run);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_ranks::run_on_threads;
    use scda_storage::double::Double;
    use std::sync::{Arc, Mutex};

    type Writes = Arc<Mutex<Vec<(u64, Vec<u8>)>>>;

    /// A file that records its contents and the calls that wrote them.
    fn logged() -> (Double, Writes) {
        let writes = Writes::default();
        let log = Arc::clone(&writes);
        let file = Double::written(move |offset, runs| log.lock().unwrap().push((offset, runs.concat())));
        (file, writes)
    }

    #[test]
    fn runs_of_several_ranks_make_up_the_file() {
        let (mut a, mut b) = (BufferedRuns::default(), BufferedRuns::default());
        a.append(10, &[b"ab", b"c"]).unwrap();
        a.append(13, &[b"d"]).unwrap();
        a.append(14, &[]).unwrap();
        b.append(14, &[b"ef"]).unwrap();
        a.append(16, &[b"g"]).unwrap();
        assert_eq!(Extents(a.message()).count(), 2);
        let all = [a.message(), b.message()].concat();
        let assemble = |messages: &[u8], start, end| {
            let mut region = vec![7; 3];
            let cut = a.message().len().min(messages.len());
            super::assemble([&messages[..cut], &messages[cut..]], start, end, &mut region)
                .map(|bytes| bytes.map(<[u8]>::to_vec))
        };
        assert_eq!(assemble(&all, 10, 17).unwrap().unwrap(), b"abcdefg");
        assert!(assemble(&all, 10, 18).is_err());
        assert!(assemble(&all, 11, 17).is_err());
        assert_eq!(assemble(&all, 10, 15).unwrap().unwrap(), b"abcde");
        assert!(assemble(&all[..all.len() - 1], 10, 17).is_err());
        // A contiguous region needs no copy.
        let mut region = Vec::new();
        assert_eq!(super::assemble([&[], b.message()], 14, 16, &mut region).unwrap(), Some(b"ef".as_slice()));
        assert!(region.is_empty());
        assert!(super::assemble([&[], b.message()], 14, 17, &mut region).is_err());
    }

    /// Each rank has a file of its own, so that nothing but the meetings synchronizes the ranks: Miri and the
    /// thread sanitizer show whether that suffices.
    #[test]
    fn ranks_that_share_memory_take_turns() {
        const ROUNDS: u64 = 6;
        const BYTES: u64 = 300; // of a rank and round; rank 0 and the last one write all
        let params = Tuning { aggregation_bytes: 9000, ..Tuning::default() };
        for ranks in [1, 2, 3] {
            let round_bytes = BYTES * ranks as u64 * 4;
            let writes = run_on_threads(ranks, |comm| {
                let mut team = Team::new(Box::new(comm), "f");
                let mut buffer = SectionBuffer::new(&mut team, &params);
                let (mut file, writes) = logged();
                let mut held = DeferredHeaders::default();
                buffer.share(&team.agree(Ok(())).ok().unwrap(), &params).unwrap();
                assert!(matches!(buffer.store, Store::Shared(..)) && buffer.room >= round_bytes);
                for round in 0..ROUNDS {
                    let start = round * round_bytes;
                    for run in 0..4 {
                        let at = start + (run * team.size() as u64 + team.rank() as u64) * BYTES;
                        let bytes = [(at / BYTES) as u8; BYTES as usize];
                        buffer.put(start, at, &[&bytes]).unwrap();
                    }
                    let region = start..start + round_bytes;
                    assert!(buffer.write(&mut team, &mut file, &mut held, region).is_ok());
                }
                buffer.write_owed(&mut team, &mut file);
                assert!(team.agree(Ok(())).is_ok());
                held.release(&mut team, &mut file);
                writes.lock().unwrap().clone()
            });
            let mut file = vec![0xff; (ROUNDS * round_bytes) as usize];
            for (offset, bytes) in writes.concat() {
                file[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
            }
            assert!(
                file.chunks(BYTES as usize).enumerate().all(|(i, chunk)| chunk == [i as u8; BYTES as usize])
            );
        }
    }

    #[test]
    fn large_runs_leave_with_what_is_staged_before_them() {
        let (mut file, writes) = logged();
        let large = vec![7; STAGE_BYTES];
        let mut stage = Stage::new(&mut file);
        stage.put(0, &[b"head"]).unwrap();
        stage.put(4, &[&large, b"tail"]).unwrap();
        stage.put(8 + STAGE_BYTES as u64, &[b"more"]).unwrap();
        stage.put(5_000_000, &[b"elsewhere"]).unwrap();
        stage.finish().unwrap();
        let writes: Vec<(u64, usize)> =
            writes.lock().unwrap().iter().map(|(offset, bytes)| (*offset, bytes.len())).collect();
        let end = 8 + STAGE_BYTES;
        assert_eq!(writes, [(0, end), (end as u64, 4), (5_000_000, 9)]);
    }
}
