//! The nodes of a machine: exchanges in two levels, so that few messages are sent between nodes.

use super::Communicator;
use scda_base::error::Result;

/// The ranks of several nodes, as seen by one of them. The leader of a node is its lowest rank, so rank 0 is
/// a leader.
pub struct Nodes {
    /// The ranks of this rank's node, in their order.
    node: Box<dyn Communicator>,
    /// The leaders of all nodes, in their order; present only on leaders.
    leaders: Option<Box<dyn Communicator>>,
    /// On a leader: the bytes received from its node.
    relayed: Vec<u8>,
}

impl std::fmt::Debug for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let leaders = self.leaders.as_ref().map(|leaders| leaders.size());
        f.debug_struct("Nodes")
            .field("ranks", &self.node.size())
            .field("leaders", &leaders)
            .finish_non_exhaustive()
    }
}

impl Nodes {
    /// From the ranks of this rank's node and, on its lowest rank, the leaders of all nodes, both in the
    /// order of all ranks.
    #[must_use]
    pub fn new(node: Box<dyn Communicator>, leaders: Option<Box<dyn Communicator>>) -> Self {
        Self { node, leaders, relayed: Vec::new() }
    }

    /// The communicators that it was made from.
    #[must_use]
    pub fn into_parts(self) -> (Box<dyn Communicator>, Option<Box<dyn Communicator>>) {
        (self.node, self.leaders)
    }

    /// The ranks of this node.
    pub fn node(&self) -> &dyn Communicator {
        &*self.node
    }

    /// Like [`Communicator::gather`] of all ranks, but in another order: the bytes of each node follow those
    /// of the previous one, in the order of their leaders. A leader that cannot pass on the bytes of its node
    /// sends `lost`.
    ///
    /// # Errors
    /// Those of [`Communicator::gather`].
    pub fn gather(&mut self, bytes: &[u8], lost: &[u8], all: &mut Vec<u8>) -> Result<()> {
        let relayed = self.node.gather(bytes, &mut self.relayed);
        let Some(leaders) = &self.leaders else {
            all.clear();
            return relayed;
        };
        // The other leaders continue in any case.
        leaders.gather(if relayed.is_ok() { &self.relayed } else { lost }, all).and(relayed)
    }

    /// Sends `bytes` from rank 0 to all leaders. Other ranks do nothing.
    ///
    /// # Errors
    /// Those of [`Communicator::broadcast`].
    pub fn broadcast_to_leaders(&self, bytes: &mut [u8]) -> Result<()> {
        self.leaders.as_ref().map_or(Ok(()), |leaders| leaders.broadcast(bytes, 0))
    }

    /// Whether this rank leads its node.
    pub fn is_leader(&self) -> bool {
        self.leaders.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ThreadComm, run_on};

    #[test]
    fn what_ranks_send_goes_through_their_leaders() {
        for map in [[0, 0, 1, 1, 1], [0, 1, 0, 1, 2], [4, 4, 4, 4, 0]] {
            run_on(ThreadComm::on_nodes(&map), |comm| {
                let rank = comm.rank();
                let mut nodes = comm.nodes().unwrap().unwrap();
                let first = map.iter().position(|&node| node == map[rank]);
                assert_eq!(nodes.is_leader(), first == Some(rank));
                assert_eq!(nodes.node().size(), map.iter().filter(|&&node| node == map[rank]).count());
                let mut all = vec![9];
                nodes.gather(&vec![rank as u8; rank], b"lost", &mut all).unwrap();
                let mut expected: Vec<usize> = (0..map.len()).collect();
                expected.sort_by_key(|&rank| map.iter().position(|&node| node == map[rank]));
                let expected: Vec<u8> =
                    expected.into_iter().flat_map(|rank| vec![rank as u8; rank]).collect();
                assert_eq!(all, if rank == 0 { expected } else { vec![] });
                let mut text = [rank as u8 + 7; 3];
                nodes.broadcast_to_leaders(&mut text).unwrap();
                assert_eq!(text, if nodes.is_leader() { [7; 3] } else { [rank as u8 + 7; 3] });
            });
        }
    }

    #[test]
    fn one_node_and_nodes_of_one_rank_need_no_leaders() {
        for map in [[0, 0, 0], [2, 1, 0]] {
            run_on(ThreadComm::on_nodes(&map), |comm| assert!(comm.nodes().unwrap().is_none()));
        }
        run_on(ThreadComm::new(3), |comm| assert!(comm.nodes().unwrap().is_none()));
    }

    #[test]
    fn a_leader_that_loses_messages_says_so() {
        let all = run_on(ThreadComm::on_nodes(&[0, 1, 1]), |comm| {
            let mut nodes = comm.nodes().unwrap().unwrap();
            if comm.rank() == 2 {
                // The rank is elsewhere, so its leader cannot gather.
                assert!(nodes.node().allreduce_sum(&mut [1]).is_err());
                return Vec::new();
            }
            let mut all = Vec::new();
            assert_eq!(nodes.gather(b"abc", b"lost", &mut all).is_ok(), comm.rank() == 0);
            all
        });
        assert_eq!(all, [b"abclost".to_vec(), Vec::new(), Vec::new()]);
    }
}
