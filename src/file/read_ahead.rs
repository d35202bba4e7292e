//! The read-ahead buffer: the next bytes of the file, the same on all ranks, whether they read them together
//! or separately.

use super::double_buffer::DoubleBuffer;
use super::options::Tuning;
use super::team::{Agreed, Failure, NodeTeam, Team, Topic, split};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{grow, resize, zeroed};
use scda_base::numbers::to_usize;
use scda_storage::ParallelFile;
use std::ops::Range;

/// The size of the first read, when nothing is known of what follows. It is extended to the end of a page.
const FIRST_BYTES: u64 = 4096;
/// The most bytes of its buffer that rank 0 sends to all.
const MOST_SENT: u64 = 2 * FIRST_BYTES;
/// Up to this number of ranks, each reads everything itself, which takes less time than sending the bytes.
/// Measured with `benches`.
const NEVER_SHARING: usize = 2;
/// Up to this number of ranks, each reads everything itself until `LONG_WALK` bytes were read: before that,
/// finding shared memory costs more than it saves.
const SHARING_LATE: usize = 4;
/// From this number of bytes on, finding shared memory pays for up to `SHARING_LATE` ranks. Measured with
/// `benches`.
const LONG_WALK: u64 = 1 << 20;
/// When ranks read into shared memory, each reads at least this many bytes.
const LEAST_BYTES_PER_RANK: u64 = 32 << 10;

/// A range of the file that all ranks have in memory.
pub struct ReadAheadBuffer {
    /// Offset in the file.
    start: u64,
    length: u64,
    memory: ReadAheadBytes,
    /// Whether each rank reads for itself if there is no shared memory; otherwise rank 0 reads, and sends the
    /// bytes to all.
    reads_alone: bool,
    /// Whether the ranks may still look for shared memory: not if they have tried, or are few.
    may_share: bool,
    /// The number of bytes read so far.
    walked: u64,
    /// The most bytes to read ahead.
    limit: u64,
}

/// Where the bytes are kept.
enum ReadAheadBytes {
    /// On every rank, in its own memory.
    Own(Vec<u8>),
    /// In memory that all ranks share; if there are several nodes, that the ranks of each node share.
    Shared(DoubleBuffer, Option<NodeTeam>),
}

impl ReadAheadBuffer {
    pub fn new(team: &Team, params: &Tuning) -> Self {
        let ranks = team.size();
        Self {
            start: 0,
            length: 0,
            memory: ReadAheadBytes::Own(Vec::new()),
            reads_alone: ranks <= SHARING_LATE,
            may_share: ranks > NEVER_SHARING,
            walked: 0,
            limit: params.half_bytes(ranks) as u64,
        }
    }

    fn end(&self) -> u64 {
        self.start + self.length
    }

    /// Where these bytes of the file are in the buffer, if it has all of them.
    #[inline]
    fn find(&self, offset: u64, length: u64) -> Option<Range<usize>> {
        let start = offset.checked_sub(self.start)?;
        let end = start.checked_add(length).filter(|&end| end <= self.length)?;
        Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// These bytes of the file, if the buffer has all of them.
    #[inline]
    pub fn get(&self, offset: u64, length: u64) -> Option<&[u8]> {
        self.find(offset, length).map(|range| self.bytes(range))
    }

    /// Bytes of the buffer.
    #[inline]
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        match &self.memory {
            ReadAheadBytes::Own(bytes) => &bytes[range],
            ReadAheadBytes::Shared(turns, _) => turns.current(range),
        }
    }

    /// These bytes of the file, which the file must have. If the buffer does not have all of them, it is
    /// filled again, beginning with them. Collective.
    ///
    /// As long as each range follows the previous one, the file is being walked, and the ranges double in
    /// size. With more than a few ranks, long ones are read into shared memory, if there is any. After a jump
    /// over data, the size starts small again.
    #[inline(always)]
    pub fn cover(
        &mut self,
        team: &mut Team,
        file: &mut dyn ParallelFile,
        params: &Tuning,
        file_size: u64,
        offset: u64,
        length: u64,
    ) -> Result<&[u8], Failure> {
        let range = match self.find(offset, length) {
            Some(range) => range,
            None => {
                self.advance(team, file, params, file_size, offset, length)?;
                self.find(offset, length).ok_or_else(missed)?
            }
        };
        Ok(self.bytes(range))
    }

    /// Reads what the buffer does not have.
    #[cold]
    fn advance(
        &mut self,
        team: &mut Team,
        file: &mut dyn ParallelFile,
        params: &Tuning,
        file_size: u64,
        offset: u64,
        length: u64,
    ) -> Result<(), Failure> {
        // Skipping a padding, or no more bytes than the buffer has, is not a jump.
        let near = self.end() + self.length;
        let follows = self.length > 0 && (self.start..=near).contains(&offset);
        let ahead = if follows { 2 * self.length } else { first_bytes(offset) };
        let bytes = ahead.min(self.limit).max(length);
        let is_long = ahead > self.limit / 4;
        let is_worth_it = is_long && (!self.reads_alone || self.walked >= LONG_WALK);
        if self.may_share && is_worth_it {
            self.may_share = false;
            self.share(team, params)?;
        }
        self.length = 0;
        self.start = offset;
        let room = match &self.memory {
            ReadAheadBytes::Shared(turns, _) => turns.half as u64,
            ReadAheadBytes::Own(_) => u64::MAX,
        };
        let bytes = bytes.min(room).min(file_size - offset);
        // If ranks see different files, or the file changes, they notice it here at the latest.
        team.note_named(Topic::ReadAhead, &["offset", "bytes"], &[offset, bytes]);
        match &mut self.memory {
            ReadAheadBytes::Shared(turns, None) => read_together(turns, team, file, offset, bytes)?,
            ReadAheadBytes::Shared(turns, Some(nodes)) => {
                read_on_nodes(turns, nodes, team, file, offset, bytes)?
            }
            ReadAheadBytes::Own(own) if self.reads_alone => {
                let walk = if follows { self.limit } else { 0 };
                let read = make_room(own, bytes, walk).and_then(|bytes| file.read_at(offset, bytes));
                team.agree(read)?;
            }
            ReadAheadBytes::Own(own) => broadcast(own, team, file, offset, bytes)?,
        }
        self.length = bytes;
        self.walked += bytes;
        Ok(())
    }

    /// Prepares for [`Self::receive`]. Returns whether bytes can be received, which is the same on all ranks:
    /// not into shared memory.
    pub fn expect(&mut self) -> Result<bool> {
        let ReadAheadBytes::Own(own) = &mut self.memory else { return Ok(false) };
        grow(own, to_usize(MOST_SENT))?;
        Ok(true)
    }

    /// The bytes of the buffer from this offset on, if they are to be sent.
    pub fn to_send(&self, offset: u64) -> &[u8] {
        let length = self.end().saturating_sub(offset).min(MOST_SENT);
        self.get(offset, length).unwrap_or_default()
    }

    /// Fills the buffer with `length` bytes from this offset on, which rank 0 has and sends. Collective,
    /// after [`Self::expect`].
    pub fn receive(&mut self, agreed: &Agreed<'_>, offset: u64, length: u64, sent: &[u8]) -> Result<()> {
        self.length = 0;
        let ReadAheadBytes::Own(own) = &mut self.memory else { return Err(missed()) };
        let room = own.get_mut(..to_usize(length)).ok_or_else(missed)?;
        if agreed.comm().rank() == 0 {
            room.copy_from_slice(sent);
        }
        agreed.comm().broadcast(room, 0)?;
        (self.start, self.length) = (offset, length);
        self.walked += length;
        Ok(())
    }

    /// Looks for memory that all ranks share, or that the ranks of each node share. Collective.
    fn share(&mut self, team: &mut Team, params: &Tuning) -> Result<(), Failure> {
        let (turns, mine) = split(DoubleBuffer::share(&team.agree(Ok(()))?, None, params));
        let agreed = team.agree(mine)?;
        if let Some(turns) = turns {
            self.memory = ReadAheadBytes::Shared(turns, None);
            return Ok(());
        }
        let (nodes, mine) = split(agreed.nodes());
        let agreed = team.agree(mine)?;
        if let Some(nodes) = nodes {
            let (turns, mine) = split(DoubleBuffer::share(&agreed, Some(&nodes), params));
            if let Some(turns) = team.if_all_have(turns, mine)? {
                self.memory = ReadAheadBytes::Shared(turns, Some(nodes));
            }
        }
        Ok(())
    }
}

/// The size of the first read: up to the end of a page. Metadata that align the data of their dataset to a
/// page are then read together with the next header, which ends there.
fn first_bytes(offset: u64) -> u64 {
    (offset + FIRST_BYTES).next_multiple_of(FIRST_BYTES) - offset
}

/// The error if the buffer lacks bytes that it should have.
#[cold]
pub fn missed() -> Error {
    Error::new(ErrorKind::Internal, "the read-ahead buffer misses what it covers")
}

/// Reads bytes of the file into the next half of the shared memory; each rank reads a range of them.
fn read_together(
    turns: &mut DoubleBuffer,
    team: &mut Team,
    file: &mut dyn ParallelFile,
    offset: u64,
    bytes: u64,
) -> Result<(), Failure> {
    let step = bytes.div_ceil(team.size() as u64).max(LEAST_BYTES_PER_RANK);
    let from = (team.rank() as u64).saturating_mul(step).min(bytes);
    let to = from.saturating_add(step).min(bytes);
    // These fit one half.
    let range = to_usize(from)..to_usize(to);
    let read = if from < to { file.read_at(offset + from, turns.own_next(range)) } else { Ok(()) };
    turns.meet(team, read)?;
    turns.turn();
    Ok(())
}

/// Reads bytes of the file on rank 0 and sends them to the leaders of all nodes, into the next half of their nodes'
/// memory.
fn read_on_nodes(
    turns: &mut DoubleBuffer,
    nodes: &NodeTeam,
    team: &mut Team,
    file: &mut dyn ParallelFile,
    offset: u64,
    bytes: u64,
) -> Result<(), Failure> {
    let agreed = team.agree(Ok(()))?;
    let mut mine = Ok(());
    if nodes.is_leader() {
        let text = turns.own_next(0..to_usize(bytes));
        if agreed.comm().rank() == 0 {
            mine = file.read_at(offset, text);
        }
        // Called after an error as well, because the other ranks wait for it.
        mine = mine.and(nodes.broadcast_to_leaders(&agreed, text));
    }
    turns.meet(team, mine)?;
    turns.turn();
    Ok(())
}

/// Memory for `bytes` bytes, when the buffer is to grow to `walk` bytes.
fn make_room(own: &mut Vec<u8>, bytes: u64, walk: u64) -> Result<&mut [u8]> {
    let bytes = to_usize(bytes);
    if own.len() < bytes {
        // Allocates all memory of the walk at once: the system clears it, and no old contents are copied.
        *own = zeroed(bytes.max(to_usize(walk)))?;
    }
    Ok(&mut own[..bytes])
}

/// Reads bytes of the file on rank 0 and sends them to all.
fn broadcast(
    own: &mut Vec<u8>,
    team: &mut Team,
    file: &mut dyn ParallelFile,
    offset: u64,
    bytes: u64,
) -> Result<(), Failure> {
    // The additional byte tells the other ranks whether rank 0 could read.
    let made = resize(own, bytes.saturating_add(1));
    let agreed = team.agree(made)?;
    let Some((failed, text)) = own.split_last_mut() else { return Err(missed().into()) };
    let read = if agreed.comm().rank() == 0 { file.read_at(offset, text) } else { Ok(()) };
    *failed = u8::from(read.is_err());
    agreed.comm().broadcast(own, 0)?;
    if own.pop() == Some(0) {
        return Ok(());
    }
    team.agree(read)?;
    // Rank 0 should have had an error to agree on.
    Err(Error::new(ErrorKind::Internal, "an error of reading was lost").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_ranks::run_on_threads;
    use scda_storage::double::Double;

    /// Run by Miri and the thread sanitizer, it also shows that the ranks are properly synchronized.
    #[test]
    fn all_ranks_see_what_each_has_read() {
        let params = Tuning::default();
        let length = if cfg!(miri) { 140_000_u32 } else { 2_000_000 };
        let bytes: Vec<u8> = (0..length).map(|i| (i / 7) as u8).collect();
        for ranks in if cfg!(miri) { [1, 3, 5].as_slice() } else { &[1, 2, 3, 5] } {
            run_on_threads(*ranks, |comm| {
                let mut team = Team::new(Box::new(comm), "f");
                let mut buffer = ReadAheadBuffer::new(&team, &params);
                let held = bytes.clone();
                let mut file = Double::read(move |offset, buffer| {
                    buffer.copy_from_slice(&held[offset as usize..][..buffer.len()]);
                });
                let mut shared = false;
                let mut at = 0;
                while at < bytes.len() {
                    let length = [5001, 60_000][at % 2].min(bytes.len() - at);
                    let (offset, size) = (at as u64, bytes.len() as u64);
                    let covered = buffer.cover(&mut team, &mut file, &params, size, offset, length as u64);
                    assert!(covered.is_ok_and(|covered| covered == &bytes[at..at + length]));
                    assert!(buffer.get(offset, length as u64) == Some(&bytes[at..at + length]));
                    shared |= matches!(buffer.memory, ReadAheadBytes::Shared(_, None));
                    at += length;
                }
                let walks_far = *ranks > SHARING_LATE || !cfg!(miri);
                assert_eq!(shared, *ranks > NEVER_SHARING && walks_far);
            });
        }
    }
}
