//! Shared memory of the ranks of a node, in two halves: while the ranks fill one half, one of them may still
//! write the other. So each round needs only one agreement.

use super::options::Tuning;
use super::team::{Agreed, Failure, NodeTeam, Team};
use scda_base::error::Result;
use scda_ranks::{Communicator, SharedMemory, share_memory};
use std::ops::Range;

/// Less memory than this is not worth sharing.
const LEAST_BYTES: usize = 4096;

/// Two halves of memory that all ranks see. A rank that is alone has only one.
pub struct DoubleBuffer {
    memory: SharedMemory,
    half: usize,
    /// Where the half begins whose turn it is.
    start: usize,
}

impl DoubleBuffer {
    /// Memory of the ranks, if they can share it.
    pub fn share(agreed: &Agreed<'_>, params: &Tuning) -> Result<Option<Self>> {
        Self::share_among(agreed.comm(), agreed.comm().size(), params)
    }

    /// Memory of the ranks of this node, of the same size on all nodes, if they can share it.
    pub fn share_on_node(agreed: &Agreed<'_>, nodes: &NodeTeam, params: &Tuning) -> Result<Option<Self>> {
        Self::share_among(nodes.comm(agreed), agreed.comm().size(), params)
    }

    /// Memory that these ranks share, as much as `ranks` ranks need.
    fn share_among(comm: &dyn Communicator, ranks: usize, params: &Tuning) -> Result<Option<Self>> {
        let half = params.half_bytes(ranks);
        if half < LEAST_BYTES {
            return Ok(None);
        }
        let memory = share_memory(comm, if ranks == 1 { half } else { 2 * half })?;
        Ok(memory.map(|memory| Self { memory, half, start: 0 }))
    }

    /// The bytes of a half.
    pub fn half(&self) -> usize {
        self.half
    }

    /// Bytes of the half whose turn it is.
    #[inline]
    pub fn current(&self, range: Range<usize>) -> &[u8] {
        self.memory.get(self.start + range.start..self.start + range.end.min(self.half))
    }

    /// Bytes in the other half, until the ranks next agree.
    pub fn previous(&self, range: Range<usize>) -> &[u8] {
        let start = self.next();
        self.memory.get(start + range.start..start + range.end.min(self.half))
    }

    /// Bytes of this rank in the half whose turn it is.
    #[inline]
    pub fn own(&mut self, range: Range<usize>) -> &mut [u8] {
        self.memory.get_mut(self.start + range.start..self.start + range.end.min(self.half))
    }

    /// Bytes of this rank in the other half, whose old contents no rank needs any more.
    pub fn own_next(&mut self, range: Range<usize>) -> &mut [u8] {
        let start = self.next();
        self.memory.get_mut(start + range.start..start + range.end.min(self.half))
    }

    /// Where the other half begins.
    fn next(&self) -> usize {
        self.memory.bytes() - self.half - self.start
    }

    /// Agrees on `mine`; after it, all ranks see what each wrote.
    pub fn meet(&self, team: &mut Team, mine: Result<()>) -> Result<(), Failure> {
        self.memory.sync();
        let agreed = team.agree(mine).map(drop);
        self.memory.sync();
        agreed
    }

    /// As [`Self::meet`], after an error that all ranks know. Tells whether all ranks did.
    pub fn meet_after_error(&self, team: &mut Team) -> bool {
        self.memory.sync();
        let met = team.after_error().all(true);
        self.memory.sync();
        met
    }

    /// Now it is the turn of the other half.
    pub fn turn(&mut self) {
        self.start = self.next();
    }
}
