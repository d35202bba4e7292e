//! Gives access to the collectives of the ranks, only after an agreement.

use super::{Team, halves};
use scda_base::error::{Error, Result};
use scda_ranks::{Communicator, Nodes, Partition};

/// The most numbers that [`Agreed::spread_all`] sums at once.
const MOST_SPREAD: usize = 64;

/// Returned by an agreement: all ranks are at the same point of the program, without an error or with the
/// same one. It is the only access to the collectives. Nothing that can fail on one rank alone may come
/// between the agreement and the collective.
pub struct Agreed<'a>(pub(super) &'a Team);

/// The ranks of this rank's node, and the leaders of all nodes. Their collectives require an agreement of all
/// ranks.
pub struct NodeTeam(pub(super) Nodes);

impl NodeTeam {
    /// The collectives of this node, which all its ranks must reach.
    pub fn comm(&self, _: &Agreed<'_>) -> &dyn Communicator {
        self.0.node()
    }

    /// See [`Nodes::gather`].
    pub fn gather(&mut self, _: &Agreed<'_>, bytes: &[u8], lost: &[u8], all: &mut Vec<u8>) -> Result<()> {
        self.0.gather(bytes, lost, all)
    }

    /// See [`Nodes::broadcast_to_leaders`].
    pub fn broadcast_to_leaders(&self, _: &Agreed<'_>, bytes: &mut [u8]) -> Result<()> {
        self.0.broadcast_to_leaders(bytes)
    }

    /// Whether this rank leads its node.
    pub fn is_leader(&self) -> bool {
        self.0.is_leader()
    }
}

impl Agreed<'_> {
    /// The collectives, which all ranks must reach.
    pub fn comm(&self) -> &dyn Communicator {
        &*self.0.comm
    }

    /// The nodes of the ranks, as found by [`Communicator::nodes`]. Collective.
    pub fn nodes(&self) -> Result<Option<NodeTeam>> {
        Ok(self.comm().nodes()?.map(NodeTeam))
    }

    /// Where this rank's bytes are among those of all ranks.
    ///
    /// If this fails on one rank alone, that rank continues to its next agreement. The caller must agree once
    /// more before it returns.
    pub fn spread(&self, mine: u64) -> Result<Partition> {
        let mut part = [Partition { count: mine, ..Partition::default() }];
        self.spread_all(&mut part)?;
        Ok(part[0])
    }

    /// Like [`Self::spread`], for the count of each of these partitions. Their number is the same on all
    /// ranks.
    pub fn spread_all(&self, parts: &mut [Partition]) -> Result<()> {
        if self.0.is_alone() {
            parts.iter_mut().for_each(|part| (part.offset, part.total) = (0, part.count));
            return Ok(());
        }
        // On the stack: a rank without memory would leave the others waiting.
        let mut words = [[0; 2 * MOST_SPREAD + 1]; 2];
        let mut result = Ok(());
        for parts in parts.chunks_mut(MOST_SPREAD) {
            let [below, all] = words.each_mut().map(|words| &mut words[..=2 * parts.len()]);
            // The upper and lower halves are summed separately, so that no sum over ranks wraps.
            for (pair, part) in below.as_chunks_mut().0.iter_mut().zip(&*parts) {
                *pair = halves(part.count);
            }
            all.copy_from_slice(below);
            all[2 * parts.len()] = 1;
            // All sums are computed even if one fails, because the other ranks go on to the next.
            let first = self.comm().exscan_sum(&mut below[..2 * parts.len()]);
            let second = self.comm().allreduce_sum(all);
            result = result.and(first).and(second);
            for ((part, below), all) in parts.iter_mut().zip(below.as_chunks().0).zip(all.as_chunks().0) {
                match (join(*below), join(*all)) {
                    (Some(offset), Some(total)) => (part.offset, part.total) = (offset, total),
                    _ => result = result.and(Err(sum_of_sizes())),
                }
            }
        }
        result
    }
}

/// The error for sizes whose sum is too large.
#[cold]
pub fn sum_of_sizes() -> Error {
    Error::range("the sum of all sizes exceeds 63 bits")
}

/// The number with these sums of upper and lower halves, if it fits 63 bits.
fn join([high, low]: [u64; 2]) -> Option<u64> {
    let sum = (u128::from(high) << 32) + u128::from(low);
    u64::try_from(sum).ok().filter(|&sum| sum <= scda_format::layout::MAX_OFFSET)
}
