//! Many simulated ranks in one process: a communicator that counts their exchanges.
//!
//! Each rank runs its whole program before the next one begins, from the highest rank down to rank 0, so that
//! rank 0 and the leader of each node find the messages that were sent to them. A reduction needs no other
//! ranks if all pass the same value. What the ranks of a node write to shared memory stays there, so in a
//! second run each of them sees what the others wrote in the first.

use super::shared::Allocation;
use super::{Communicator, Nodes, SharedMemory};
use scda_base::error::Result;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// The levels of communicators: all ranks, the ranks of a node, and the leaders of nodes.
pub const LEVELS: usize = 3;

/// The exchanges of one rank on one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeCounts {
    /// Reductions that the rank took part in.
    pub reductions: u64,
    /// Messages that it sent in gathers.
    pub sent: u64,
    /// The bytes of these messages.
    pub sent_bytes: u64,
    /// Messages that it received in gathers.
    pub received: u64,
    /// The bytes of these messages.
    pub received_bytes: u64,
}

/// The messages to the first rank of a communicator, by sender.
type Mailbox = HashMap<(usize, usize), VecDeque<Vec<u8>>>;

/// A machine whose nodes have the same number of ranks, except that the last one may have fewer.
pub struct Machine {
    ranks: usize,
    node_ranks: usize,
    /// By the first rank of the communicator and its level, and by the sender's rank in it.
    mail: Mutex<Mailbox>,
    /// The memory of the node whose ranks are running.
    memory: Mutex<Option<Arc<Allocation>>>,
}

impl Machine {
    /// A machine with this many ranks, `node_ranks` on each node.
    pub fn new(ranks: usize, node_ranks: usize) -> Arc<Self> {
        Arc::new(Self { ranks, node_ranks, mail: Mutex::default(), memory: Mutex::default() })
    }

    /// Runs a program `times` times on each rank, and returns each rank's exchanges of the last run.
    pub fn run(
        self: &Arc<Self>,
        times: usize,
        mut program: impl FnMut(SimulatedRank, bool),
    ) -> Vec<[ExchangeCounts; LEVELS]> {
        let mut all = vec![[ExchangeCounts::default(); LEVELS]; self.ranks];
        for node in (0..self.ranks.div_ceil(self.node_ranks)).rev() {
            let first = node * self.node_ranks;
            *self.memory.lock().unwrap() = None;
            for time in 1..=times {
                for rank in (first..self.ranks.min(first + self.node_ranks)).rev() {
                    let counts = Arc::default();
                    let comm = SimulatedRank {
                        machine: Arc::clone(self),
                        counts: Arc::clone(&counts),
                        level: 0,
                        rank,
                        size: self.ranks,
                        first: 0,
                    };
                    program(comm, time == times);
                    all[rank] = *counts.lock().unwrap();
                }
            }
        }
        assert!(self.mail.lock().unwrap().values().all(VecDeque::is_empty), "messages that nobody received");
        all
    }
}

/// One of the ranks.
pub struct SimulatedRank {
    machine: Arc<Machine>,
    counts: Arc<Mutex<[ExchangeCounts; LEVELS]>>,
    level: usize,
    rank: usize,
    size: usize,
    /// The machine's rank that is the first of this communicator.
    first: usize,
}

impl SimulatedRank {
    fn count(&self, change: impl FnOnce(&mut ExchangeCounts)) {
        change(&mut self.counts.lock().unwrap()[self.level]);
    }

    fn on_level(&self, level: usize, rank: usize, size: usize, first: usize) -> Box<dyn Communicator> {
        let (machine, counts) = (Arc::clone(&self.machine), Arc::clone(&self.counts));
        Box::new(Self { machine, counts, level, rank, size, first })
    }
}

impl Communicator for SimulatedRank {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.size
    }
    fn allreduce_min(&self, _: &mut [u64]) -> Result<()> {
        self.count(|counts| counts.reductions += 1);
        Ok(())
    }
    fn allreduce_sum(&self, _: &mut [u64]) -> Result<()> {
        unreachable!("what is simulated needs no sums")
    }
    fn exscan_sum(&self, _: &mut [u64]) -> Result<()> {
        unreachable!("what is simulated needs no sums")
    }
    fn allgather(&self, _: u64) -> Result<Vec<u64>> {
        unreachable!("what is simulated gathers on one rank")
    }
    fn broadcast(&self, _: &mut [u8], _: usize) -> Result<()> {
        unreachable!("what is simulated only writes")
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        let mut mail = self.machine.mail.lock().unwrap();
        let address = LEVELS * self.first + self.level;
        all.clear();
        if self.rank > 0 {
            mail.entry((address, self.rank)).or_default().push_back(bytes.to_vec());
            self.count(|counts| {
                counts.sent += 1;
                counts.sent_bytes += bytes.len() as u64;
            });
            return Ok(());
        }
        all.extend_from_slice(bytes);
        for rank in 1..self.size {
            let message = mail.get_mut(&(address, rank)).and_then(VecDeque::pop_front);
            let message = message.expect("a message of each rank");
            all.extend_from_slice(&message);
            self.count(|counts| {
                counts.received += 1;
                counts.received_bytes += message.len() as u64;
            });
        }
        Ok(())
    }
    #[allow(unsafe_code)] // a promise of the caller
    unsafe fn share_memory(&self, bytes: usize) -> Result<Option<SharedMemory>> {
        if self.level != 1 {
            return Ok(None);
        }
        let mut memory = self.machine.memory.lock().unwrap();
        if memory.is_none() {
            *memory = Allocation::new(bytes);
        }
        Ok(memory.as_ref().map(SharedMemory::from_allocation))
    }
    fn nodes(&self) -> Result<Option<Nodes>> {
        let Machine { ranks, node_ranks, .. } = *self.machine;
        if node_ranks == 1 || node_ranks >= ranks {
            return Ok(None);
        }
        let (node, own) = (self.rank / node_ranks, self.rank % node_ranks);
        let first = node * node_ranks;
        let members = self.on_level(1, own, node_ranks.min(ranks - first), first);
        let leaders = (own == 0).then(|| self.on_level(2, node, ranks.div_ceil(node_ranks), 0));
        Ok(Some(Nodes::new(members, leaders)))
    }
}
