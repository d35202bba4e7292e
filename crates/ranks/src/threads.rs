//! Ranks as threads of one process: for tests, and for programs without MPI.

use super::hash::mix;
use super::shared::Allocation;
use super::{Communicator, Nodes, SharedMemory, machine};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{copy, reserve};
use scda_base::numbers::to_usize;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A rank that does not arrive within this time is lost, and the others get an error.
const PATIENCE: Duration = Duration::from_secs(60);

/// A communicator whose ranks are threads of one process.
#[derive(Clone)]
pub struct ThreadComm {
    rank: usize,
    meeting: Arc<Meeting>,
    /// The number of the rank's node.
    node: usize,
    /// The ranks of its node and, on the lowest of them, the lowest ranks of all nodes.
    nodes: Option<(Box<Self>, Option<Box<Self>>)>,
}

impl std::fmt::Debug for ThreadComm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadComm").field("rank", &self.rank).field("size", &self.meeting.size).finish()
    }
}

/// Where the ranks exchange messages: each leaves one, and the last one to arrive delivers them.
struct Meeting {
    size: usize,
    state: Mutex<Arrivals>,
    all_arrived: Condvar,
    /// Memory that rank 0 hands to the others.
    handed_over: Mutex<Option<Arc<Allocation>>>,
}

/// The messages of all ranks, by rank, each with the name of its collective.
type Delivery = Arc<Vec<(&'static str, Vec<u8>)>>;
/// Replaces the name of the collective if a rank has no memory for its message.
const NO_MEMORY: &str = "no memory";

#[derive(Debug, Default)]
struct Arrivals {
    round: u64,
    arrived: usize,
    messages: Vec<(&'static str, Vec<u8>)>,
    delivered: Delivery,
}

impl ThreadComm {
    /// The communicators of `size` ranks, by rank.
    #[must_use]
    pub fn new(size: usize) -> Vec<Self> {
        let meeting = Arc::new(Meeting {
            size,
            state: Mutex::new(Arrivals { messages: vec![("", Vec::new()); size], ..Arrivals::default() }),
            all_arrived: Condvar::new(),
            handed_over: Mutex::default(),
        });
        (0..size).map(|rank| Self { rank, meeting: Arc::clone(&meeting), node: 0, nodes: None }).collect()
    }

    /// The communicators of ranks on several nodes, like those of a cluster. `nodes` has the node number of
    /// each rank. Only the ranks of a node share memory.
    #[must_use]
    pub fn on_nodes(nodes: &[usize]) -> Vec<Self> {
        let leader = |&node: &usize| nodes.iter().position(|&other| other == node);
        let leaders = nodes.iter().enumerate().filter(|(rank, node)| leader(node) == Some(*rank));
        let mut leaders = Self::new(leaders.count()).into_iter();
        let mut members: Vec<_> = nodes
            .iter()
            .enumerate()
            .map(|(rank, node)| {
                let size = nodes.iter().filter(|&other| other == node).count();
                if leader(node) == Some(rank) { Self::new(size) } else { Vec::new() }.into_iter()
            })
            .collect();
        let mut ranks = Self::new(nodes.len());
        for (rank, node) in nodes.iter().enumerate() {
            let first = leader(node).unwrap_or(rank);
            ranks[rank].node = *node;
            ranks[rank].nodes = members[first].next().map(|member| {
                let leader = if first == rank { leaders.next() } else { None };
                (Box::new(member), leader.map(Box::new))
            });
        }
        ranks
    }

    /// Leaves `message` and returns those of all ranks.
    ///
    /// Ranks that call different collectives, which would hang or corrupt data in MPI, get an error. All
    /// ranks get one if a rank has no memory for its message.
    fn exchange(&self, what: &'static str, message: Result<Vec<u8>>) -> Result<Delivery> {
        let meeting = &*self.meeting;
        let (what_is_left, message) = message.map_or((NO_MEMORY, Vec::new()), |message| (what, message));
        let mut state = meeting.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.messages[self.rank] = (what_is_left, message);
        state.arrived += 1;
        if state.arrived == meeting.size {
            let messages = std::mem::replace(&mut state.messages, vec![("", Vec::new()); meeting.size]);
            state.delivered = Arc::new(messages);
            state.arrived = 0;
            state.round += 1;
            meeting.all_arrived.notify_all();
        } else {
            let round = state.round;
            let (guard, timeout) = meeting
                .all_arrived
                .wait_timeout_while(state, PATIENCE, |state| state.round == round)
                .unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return Err(Error::new(ErrorKind::Mpi, format!("{what}: a rank did not arrive")));
            }
            state = guard;
        }
        let delivered = Arc::clone(&state.delivered);
        if let Some(rank) = delivered.iter().position(|(other, _)| *other == NO_MEMORY) {
            let words = format!("{what}: rank {rank} cannot allocate its message");
            return Err(Error::new(ErrorKind::Memory, words));
        }
        if let Some((other, _)) = delivered.iter().find(|(other, _)| *other != what) {
            return Err(Error::new(ErrorKind::Internal, format!("ranks met in {what} and {other}")));
        }
        Ok(delivered)
    }

    fn reduce(
        &self,
        what: &'static str,
        values: &mut [u64],
        ranks: std::ops::Range<usize>,
        start: u64,
        combine: fn(u64, u64) -> u64,
    ) -> Result<()> {
        let message = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
        values.fill(0);
        let all = self.exchange(what, Ok(message))?;
        if all.iter().any(|(_, message)| message.len() != size_of_val(values)) {
            return Err(Error::new(ErrorKind::Internal, format!("{what}: ranks met with different lengths")));
        }
        values.fill(start);
        for (_, message) in &all[ranks] {
            for (value, bytes) in values.iter_mut().zip(message.as_chunks().0) {
                *value = combine(*value, u64::from_ne_bytes(*bytes));
            }
        }
        Ok(())
    }
}

impl Communicator for ThreadComm {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.meeting.size
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.reduce("allreduce_min", values, 0..self.meeting.size, u64::MAX, u64::min)
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.reduce("allreduce_sum", values, 0..self.meeting.size, 0, u64::wrapping_add)
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        self.reduce("exscan_sum", values, 0..self.rank, 0, u64::wrapping_add)
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        let all = self.exchange("allgather", Ok(value.to_ne_bytes().to_vec()))?;
        Ok(all.iter().flat_map(|(_, m)| m.as_chunks().0).map(|b| u64::from_ne_bytes(*b)).collect())
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        let message = if self.rank == root { copy(bytes) } else { Ok(Vec::new()) };
        let all = self.exchange("broadcast", message)?;
        if all[root].1.len() != bytes.len() {
            return Err(Error::new(ErrorKind::Internal, "broadcast: the ranks disagree on the length"));
        }
        bytes.copy_from_slice(&all[root].1);
        Ok(())
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        let messages = self.exchange("gather", copy(bytes))?;
        all.clear();
        if self.rank == 0 {
            reserve(all, messages.iter().map(|(_, message)| message.len()).sum())?;
            messages.iter().for_each(|(_, message)| all.extend_from_slice(message));
        }
        Ok(())
    }
    fn alltoallv(
        &self,
        sent: &[u8],
        sent_bytes: &[usize],
        received: &mut [u8],
        received_bytes: &[usize],
    ) -> Result<()> {
        // The lengths come first, so that each rank can find its part.
        let mut message = Vec::new();
        let room = reserve(&mut message, size_of_val(sent_bytes) + sent.len());
        let message = room.map(|()| {
            message.extend(sent_bytes.iter().flat_map(|&length| (length as u64).to_ne_bytes()));
            message.extend_from_slice(sent);
            message
        });
        let all = self.exchange("alltoallv", message)?;
        let wrong = || Error::new(ErrorKind::Internal, "alltoallv: the ranks disagree on a length");
        let mut rest = received;
        for ((_, message), &expected) in all.iter().zip(received_bytes) {
            let (lengths, parts) = message.split_at_checked(8 * self.size()).ok_or_else(wrong)?;
            let lengths: Vec<usize> =
                lengths.as_chunks().0.iter().map(|bytes| to_usize(u64::from_ne_bytes(*bytes))).collect();
            let start = lengths[..self.rank].iter().sum::<usize>();
            let part = parts.get(start..start + lengths[self.rank]).ok_or_else(wrong)?;
            let (own, others) = rest.split_at_mut_checked(expected).ok_or_else(wrong)?;
            if part.len() != expected {
                return Err(wrong());
            }
            own.copy_from_slice(part);
            rest = others;
        }
        Ok(())
    }
    #[allow(unsafe_code)] // a promise of the caller
    unsafe fn share_memory(&self, bytes: usize) -> Result<Option<SharedMemory>> {
        if self.nodes.as_ref().is_some_and(|(node, _)| node.size() < self.size()) {
            return Ok(None);
        }
        let slot = || self.meeting.handed_over.lock().unwrap_or_else(PoisonError::into_inner);
        if self.rank == 0 {
            *slot() = Allocation::new(bytes);
        }
        self.exchange("share_memory", Ok(Vec::new()))?;
        let memory = slot().as_ref().map(SharedMemory::from_allocation);
        // When the slot is next filled, no rank uses it any more.
        self.exchange("share_memory", Ok(Vec::new()))?;
        Ok(memory)
    }
    fn node(&self) -> u64 {
        mix(machine(), self.node as u64)
    }
    fn nodes(&self) -> Result<Option<Nodes>> {
        let Some((node, leader)) = &self.nodes else { return Ok(None) };
        let mut count = [u64::from(leader.is_some()), 1];
        self.allreduce_sum(&mut count)?;
        let [nodes, ranks] = count;
        let leaders = leader.clone().map(|leader| leader as Box<dyn Communicator>);
        Ok((1 < nodes && nodes < ranks).then(|| Nodes::new(node.clone(), leaders)))
    }
}

/// Runs `program` on `size` ranks, each a thread, and returns the result of each rank.
///
/// ```
/// use scda::Communicator;
/// let sums = scda::run_on_threads(3, |comm| {
///     let mut value = [comm.rank() as u64];
///     comm.allreduce_sum(&mut value).map(|()| value[0])
/// });
/// assert!(sums.into_iter().all(|sum| sum.unwrap() == 3));
/// ```
///
/// # Panics
/// If `program` panics on a rank.
pub fn run_on_threads<T: Send>(size: usize, program: impl Fn(ThreadComm) -> T + Sync) -> Vec<T> {
    run_on(ThreadComm::new(size), program)
}

/// Runs `program` on these ranks, each a thread, and returns the result of each rank.
///
/// # Panics
/// If `program` panics on a rank.
pub fn run_on<T: Send>(ranks: Vec<ThreadComm>, program: impl Fn(ThreadComm) -> T + Sync) -> Vec<T> {
    let program = &program;
    std::thread::scope(|scope| {
        let ranks: Vec<_> = ranks.into_iter().map(|comm| scope.spawn(move || program(comm))).collect();
        ranks
            .into_iter()
            .map(|rank| rank.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_combine_in_the_order_of_ranks() {
        for size in [1, 2, 5] {
            run_on_threads(size, |comm| {
                let (rank, n) = (comm.rank() as u64, size as u64);
                let mut values = [rank, 10 + rank];
                comm.exscan_sum(&mut values).unwrap();
                assert_eq!(
                    values,
                    [rank * rank.saturating_sub(1) / 2, 10 * rank + rank * rank.saturating_sub(1) / 2]
                );
                let mut values = [rank + 1];
                comm.allreduce_min(&mut values).unwrap();
                assert_eq!(values, [1]);
                let mut values = [1];
                comm.allreduce_sum(&mut values).unwrap();
                assert_eq!(values, [n]);
                assert_eq!(comm.allgather(rank).unwrap(), (0..n).collect::<Vec<_>>());
                let mut text = [comm.rank() as u8; 2];
                comm.broadcast(&mut text, size - 1).unwrap();
                assert_eq!(text, [size as u8 - 1; 2]);
                let mut all = vec![9];
                comm.gather(&vec![comm.rank() as u8; comm.rank()], &mut all).unwrap();
                let expected: Vec<u8> = (0..size).flat_map(|rank| vec![rank as u8; rank]).collect();
                assert_eq!(all, if comm.rank() == 0 { expected } else { vec![] });
            });
        }
    }

    /// A communicator with only the required functions.
    struct Least(ThreadComm);

    impl Communicator for Least {
        fn rank(&self) -> usize {
            self.0.rank()
        }
        fn size(&self) -> usize {
            self.0.size()
        }
        fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
            self.0.allreduce_min(values)
        }
        fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
            self.0.allreduce_sum(values)
        }
        fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
            self.0.exscan_sum(values)
        }
        fn allgather(&self, value: u64) -> Result<Vec<u64>> {
            self.0.allgather(value)
        }
        fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
            self.0.broadcast(bytes, root)
        }
        fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
            self.0.gather(bytes, all)
        }
    }

    #[test]
    fn each_rank_gets_its_part() {
        // The bytes that rank `from` sends to rank `to`: sometimes none, and sometimes more than fit one
        // message.
        let part = |from: usize, to: usize| {
            let length = [0, 1, 40_000, 7][(from * 3 + to) % 4];
            (0..length).map(|i| (i * 7 + from * 16 + to) as u8).collect::<Vec<u8>>()
        };
        for size in [1, 2, 5] {
            run_on_threads(size, |comm| {
                let rank = comm.rank();
                let sent: Vec<Vec<u8>> = (0..size).map(|to| part(rank, to)).collect();
                let expected: Vec<Vec<u8>> = (0..size).map(|from| part(from, rank)).collect();
                let lengths = |parts: &[Vec<u8>]| parts.iter().map(Vec::len).collect::<Vec<_>>();
                let exchange = |comm: &dyn Communicator| {
                    let mut received = vec![9; expected.concat().len()];
                    let (sent_bytes, received_bytes) = (lengths(&sent), lengths(&expected));
                    comm.alltoallv(&sent.concat(), &sent_bytes, &mut received, &received_bytes).unwrap();
                    assert!(received == expected.concat(), "rank {rank} of {size}");
                };
                let equal = |comm: &dyn Communicator| {
                    let sent: Vec<u8> = (0..size).flat_map(|to| [rank as u8, to as u8]).collect();
                    let expected: Vec<u8> = (0..size).flat_map(|from| [from as u8, rank as u8]).collect();
                    let mut received = vec![9; 2 * size];
                    comm.alltoall(&sent, &mut received).unwrap();
                    assert_eq!(received, expected);
                };
                exchange(&comm);
                equal(&comm);
                let comm = Least(comm);
                exchange(&comm);
                equal(&comm);
            });
        }
    }

    #[test]
    fn lengths_that_differ_are_errors() {
        let results = run_on_threads(2, |comm| {
            let rank = comm.rank();
            comm.alltoallv(&[1; 3], &[1, 2], &mut [0; 4], &[1, 3]).map_err(|e| (rank, e.kind()))
        });
        assert_eq!(results, [Err((0, ErrorKind::Internal)), Err((1, ErrorKind::Internal))]);
    }

    #[test]
    fn ranks_in_different_collectives_get_errors() {
        let results = run_on_threads(2, |comm| match comm.rank() {
            0 => comm.allreduce_min(&mut [0]).is_err(),
            _ => comm.gather(&[], &mut Vec::new()).is_err(),
        });
        assert_eq!(results, [true, true]);
    }
}
