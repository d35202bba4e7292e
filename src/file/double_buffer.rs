//! Memory in two halves that the ranks of a node share: while one rank still writes one half, all ranks fill
//! the other. So each round needs only one agreement.

use super::options::Tuning;
use super::team::{Agreed, Failure, NodeTeam, Team};
use scda_base::error::Result;
use scda_ranks::{Communicator, SharedMemory, share_memory};
use std::ops::Range;

/// Less memory than this is not worth sharing.
const LEAST_BYTES: usize = 4096;

/// Memory in two halves that all ranks see. A rank that is alone has only one half.
pub struct DoubleBuffer {
    memory: SharedMemory,
    /// The size of a half in bytes.
    pub half: usize,
    /// The offset of the current half.
    start: usize,
}

impl DoubleBuffer {
    /// Memory that all ranks share, if they can.
    pub fn share(agreed: &Agreed<'_>, params: &Tuning) -> Result<Option<Self>> {
        Self::share_among(agreed.comm(), agreed.comm().size(), params)
    }

    /// Memory that the ranks of this node share, of the same size on all nodes, if they can.
    pub fn share_on_node(agreed: &Agreed<'_>, nodes: &NodeTeam, params: &Tuning) -> Result<Option<Self>> {
        Self::share_among(nodes.comm(agreed), agreed.comm().size(), params)
    }

    /// Memory that the ranks of `comm` share, of the size that `ranks` ranks need.
    fn share_among(comm: &dyn Communicator, ranks: usize, params: &Tuning) -> Result<Option<Self>> {
        let half = params.half_bytes(ranks);
        if half < LEAST_BYTES {
            return Ok(None);
        }
        let memory = share_memory(comm, if ranks == 1 { half } else { 2 * half })?;
        Ok(memory.map(|memory| Self { memory, half, start: 0 }))
    }

    /// Bytes of the current half.
    #[inline]
    pub fn current(&self, range: Range<usize>) -> &[u8] {
        self.memory.get(self.start + range.start..self.start + range.end.min(self.half))
    }

    /// Bytes of the other half, valid until the ranks next agree.
    pub fn previous(&self, range: Range<usize>) -> &[u8] {
        let start = self.next();
        self.memory.get(start + range.start..start + range.end.min(self.half))
    }

    /// Bytes of the current half, for this rank to fill.
    #[inline]
    pub fn own(&mut self, range: Range<usize>) -> &mut [u8] {
        self.memory.get_mut(self.start + range.start..self.start + range.end.min(self.half))
    }

    /// Bytes of the other half, for this rank to fill once no rank needs its old contents.
    pub fn own_next(&mut self, range: Range<usize>) -> &mut [u8] {
        let start = self.next();
        self.memory.get_mut(start + range.start..start + range.end.min(self.half))
    }

    /// The offset of the other half.
    fn next(&self) -> usize {
        self.memory.bytes() - self.half - self.start
    }

    /// Agrees on `mine`, after which all ranks see what each has written.
    pub fn meet(&self, team: &mut Team, mine: Result<()>) -> Result<(), Failure> {
        self.memory.sync();
        let agreed = team.agree(mine).map(drop);
        self.memory.sync();
        agreed
    }

    /// Like [`Self::meet`], after an error that all ranks know. Returns whether it succeeded on all.
    pub fn meet_after_error(&self, team: &mut Team) -> bool {
        self.memory.sync();
        let met = team.after_error().all(true);
        self.memory.sync();
        met
    }

    /// Makes the other half the current one.
    pub fn turn(&mut self) {
        self.start = self.next();
    }
}
