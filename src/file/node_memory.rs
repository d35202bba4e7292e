//! Shared memory of the ranks of a node, and barriers between them.

use super::team::{Agreed, Failure, NodeTeam, Team, split};
use scda_base::error::Result;
use scda_ranks::{Communicator, SharedMemory, share_memory};

/// The ranks of this rank's node, and memory that they share.
pub struct NodeMemory {
    pub memory: SharedMemory,
    /// The ranks of the node; `None` if there are no others.
    nodes: Option<NodeTeam>,
}

impl NodeMemory {
    /// Finds the ranks of each node, and shared memory for them. `bytes` returns the size, from whether there
    /// are several nodes and the number of ranks on this one, together with the result of other preparations
    /// of this rank; without a size, which must be so on all ranks or none, no memory is shared. `None` on
    /// all ranks unless each node has memory. Collective.
    pub fn find(
        team: &mut Team,
        bytes: impl FnOnce(bool, usize) -> (Option<usize>, Result<()>),
    ) -> Result<Option<Self>, Failure> {
        let (nodes, mine) = split(team.agree(Ok(()))?.nodes());
        let agreed = team.agree(mine)?;
        let comm = ranks_of(nodes.as_ref(), &agreed);
        let (bytes, also) = bytes(nodes.is_some(), comm.size());
        let Some(bytes) = bytes else { return Ok(None) };
        let (memory, mine) = split(share_memory(comm, bytes));
        let memory = team.if_all_have(memory, mine.and(also))?;
        Ok(memory.map(|memory| Self { memory, nodes }))
    }

    /// The ranks of the node.
    pub fn comm<'a>(&'a self, agreed: &'a Agreed<'_>) -> &'a dyn Communicator {
        ranks_of(self.nodes.as_ref(), agreed)
    }

    /// Synchronizes the ranks of the node: each sees what the others have put into the memory.
    pub fn meet(&self, agreed: &Agreed<'_>) -> Result<()> {
        self.memory.sync();
        let met = self.comm(agreed).allreduce_min(&mut [1]);
        self.memory.sync();
        met
    }
}

/// The ranks of this rank's node, or all ranks if there is only one node.
pub fn ranks_of<'a>(nodes: Option<&'a NodeTeam>, agreed: &'a Agreed<'_>) -> &'a dyn Communicator {
    nodes.map_or(agreed.comm(), |nodes| nodes.comm(agreed))
}
