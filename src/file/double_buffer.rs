//! Memory in two halves that the ranks of a node share: while one rank still writes one half, all ranks fill
//! the other. So each round needs only one agreement.

use super::node_memory::ranks_of;
use super::options::Tuning;
use super::team::{Agreed, Failure, NodeTeam, Team};
use scda_base::error::Result;
use scda_ranks::{SharedMemory, share_memory};
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
    /// Memory that all ranks share, or with `nodes` the ranks of each node, of the same size on all nodes;
    /// `None` if they cannot.
    pub fn share(agreed: &Agreed<'_>, nodes: Option<&NodeTeam>, params: &Tuning) -> Result<Option<Self>> {
        let ranks = agreed.comm().size();
        let half = params.half_bytes(ranks);
        if half < LEAST_BYTES {
            return Ok(None);
        }
        let memory = share_memory(ranks_of(nodes, agreed), if ranks == 1 { half } else { 2 * half })?;
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
