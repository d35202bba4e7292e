//! The writes of programs without this library: the same arrays, of which each rank has one part, section by
//! section.

use super::model::{Outcome, Striping, System, Write, run};

/// A program.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub ranks: usize,
    pub node_ranks: usize,
    /// The number of arrays, one after the other.
    pub sections: u64,
    /// The size of each rank's part of an array, in bytes.
    pub part: u64,
    /// The number of objects in a file that all ranks write, if there are as many servers.
    pub stripes: u64,
}

/// The offset after the file header.
const START: u64 = 128;

impl Job {
    pub fn nodes(&self) -> usize {
        self.ranks.div_ceil(self.node_ranks)
    }

    pub fn bytes(&self) -> u64 {
        self.ranks as u64 * self.sections * self.part
    }

    /// A single file.
    pub fn shared(&self, system: &System, stripe: u64, has_group_lock: bool) -> Striping {
        let count = self.stripes.min(system.servers as u64);
        Striping { count, bytes: stripe, has_group_lock }
    }

    /// The writes of one rank; `place` returns the file, and the offset in it.
    fn rank(&self, rank: usize, place: impl Fn(u64) -> (usize, u64)) -> Vec<Write> {
        let write = |section| {
            let (file, offset) = place(section);
            Write { node: rank / self.node_ranks, file, offset, bytes: self.part, pause: 0.0 }
        };
        (0..self.sections).map(write).collect()
    }

    /// Each rank writes its parts to one file.
    pub fn independent(&self, system: &System, stripe: u64) -> Outcome {
        let section = self.ranks as u64 * self.part;
        let place = |rank: usize, number| (0, START + number * section + rank as u64 * self.part);
        let processes: Vec<_> =
            (0..self.ranks).map(|rank| self.rank(rank, |number| place(rank, number))).collect();
        let opened = system.creation + self.ranks as f64 * system.opening;
        run(system, self.shared(system, stripe, false), &processes, (opened, 0.0))
    }

    /// Two-phase collective buffering as in ROMIO's Lustre driver: one aggregator for each node, which has
    /// objects that nobody else writes, and 16 MiB in a round. Almost everything that it writes comes from
    /// other nodes.
    pub fn two_phase(&self, system: &System, stripe: u64) -> Outcome {
        const BUFFER: u64 = 16 << 20;
        let striping = self.shared(system, stripe, false);
        let nodes = self.nodes();
        let mut processes = vec![Vec::new(); nodes];
        let section = self.ranks as u64 * self.part;
        for start in (0..self.sections).map(|number| START + number * section) {
            let mut filled = vec![BUFFER; nodes];
            let mut at = start;
            while at < start + section {
                let to = (start + section).min((at / stripe + 1) * stripe);
                let node = (at / stripe % striping.count) as usize % nodes;
                let mut pause = (to - at) as f64 / system.node_rate;
                if filled[node] >= BUFFER {
                    // A round begins with the sizes of all messages.
                    (filled[node], pause) = (0, pause + system.reduction);
                }
                filled[node] += to - at;
                processes[node].push(Write { node, file: 0, offset: at, bytes: to - at, pause });
                at = to;
            }
        }
        let opened = system.creation + self.ranks as f64 * system.opening;
        run(system, striping, &processes, (opened, 0.0))
    }

    /// Each rank writes a file of its own, with one object.
    pub fn file_per_process(&self, system: &System, stripe: u64) -> Outcome {
        let processes: Vec<_> =
            (0..self.ranks).map(|rank| self.rank(rank, |number| (rank, number * self.part))).collect();
        let striping = Striping { count: 1, bytes: stripe, has_group_lock: false };
        run(system, striping, &processes, (system.creation, system.creation))
    }

    /// The ranks of each node write to one file for the node, with one object.
    pub fn file_per_node(&self, system: &System, stripe: u64) -> Outcome {
        let section = self.node_ranks as u64 * self.part;
        let place = |rank: usize, number| {
            (rank / self.node_ranks, number * section + (rank % self.node_ranks) as u64 * self.part)
        };
        let processes: Vec<_> =
            (0..self.ranks).map(|rank| self.rank(rank, |number| place(rank, number))).collect();
        let striping = Striping { count: 1, bytes: stripe, has_group_lock: false };
        let opened = self.nodes() as f64 * system.creation + self.ranks as f64 * system.opening;
        run(system, striping, &processes, (opened, 0.0))
    }
}
