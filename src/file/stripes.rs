//! Assigns stripes to aggregators: pure arithmetic.
//!
//! A parallel file system such as Lustre or GPFS grants locks on whole stripes of a file. If every rank wrote
//! a part smaller than a stripe, several ranks would compete for the lock of each stripe. So some ranks of
//! each node, its aggregators, write for all its ranks, each of them whole stripes. Only a stripe that
//! contains parts of two nodes has two writers.

use scda_base::numbers::to_usize;
use std::ops::Range;

/// The most aggregators of a node that the library chooses: a few are enough for a node's network, and each
/// needs a buffer.
const MOST_WRITERS: u64 = 8;
/// The most bytes in an aggregator's buffer. Longer stripes are written in several steps.
const MOST_STEP_BYTES: u64 = 4 << 20;
/// The most bytes in the buffers of all aggregators of a node.
const MOST_BYTES: u64 = 32 << 20;
/// The least and the most bytes of a chunk of streams; the least is a usual stripe of parallel file systems.
const LEAST_CHUNK_BYTES: u64 = 1 << 20;
const MOST_CHUNK_BYTES: u64 = 64 << 20;
/// A step is a multiple of this size, unless a stripe is shorter.
const PAGE_BYTES: u64 = 4096;

/// The size that the library chooses for chunks of streams: a stripe, but at least a usual one, because small
/// chunks mean many calls and many places on a disk, and at most 64 MiB, because readers of the sections must
/// skip unused bytes.
///
/// It does not depend on the number of nodes: the bytes in the file must not depend on where ranks run.
pub fn stream_chunk_bytes(stripe: u64) -> u64 {
    stripe.clamp(LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES)
}

/// Shorter blocks are those of local file systems. This is the shortest stripe of Lustre.
const LEAST_STRIPE_BYTES: u64 = 64 << 10;

/// The stripe size if a file has this block size; 0 if these are blocks of a local file system.
pub fn of_block(block_bytes: u64) -> u64 {
    if block_bytes < LEAST_STRIPE_BYTES { 0 } else { block_bytes }
}

/// The number of aggregators of a node with `ranks` ranks, whose parts have `part_bytes` bytes each; `None` if
/// each rank writes its own.
pub fn aggregators_of_node(wanted: u64, ranks: usize, part_bytes: u64, stripe: u64) -> Option<usize> {
    let stripes = (ranks as u64).saturating_mul(part_bytes).div_ceil(stripe.max(1));
    are_small(stripe, part_bytes, 1).then(|| writers(wanted, ranks, stripes))
}

/// Whether the parts that `ranks` ranks have of a section are so small, on average, that aggregation pays.
pub fn are_small(stripe: u64, section_bytes: u64, ranks: usize) -> bool {
    section_bytes / (ranks as u64) < stripe
}

/// The most aggregators of a node with `ranks` ranks. `wanted` is the number that the user requests, or 0.
pub fn most_writers(wanted: u64, ranks: usize) -> usize {
    let most = if wanted == 0 { MOST_WRITERS } else { wanted };
    ranks.min(to_usize(most))
}

/// The number of aggregators of a node with `ranks` ranks that together have `stripes` stripes of a section:
/// unless the user requests another number, one for each stripe, up to 8.
pub fn writers(wanted: u64, ranks: usize, stripes: u64) -> usize {
    let needed = if wanted == 0 { stripes } else { wanted };
    most_writers(wanted, ranks).min(to_usize(needed)).max(1)
}

/// How many bytes an aggregator writes in one step, a stripe or a part of one, if a node has at most
/// `most_writers`.
pub fn step_bytes(stripe: u64, most_writers: usize) -> u64 {
    let most = MOST_STEP_BYTES.min(MOST_BYTES / most_writers.max(1) as u64);
    stripe.min((most / PAGE_BYTES * PAGE_BYTES).max(PAGE_BYTES))
}

/// The runs of a section that the ranks of one node have: their places in the file, in order.
pub struct NodeRuns<'a> {
    pub ranges: &'a [Range<u64>],
    /// The bytes of a stripe.
    pub stripe: u64,
    /// The size of a step, which an aggregator writes at a time.
    pub step: u64,
}

impl NodeRuns<'_> {
    /// The stripes in which the node has bytes, as ranges of their numbers.
    fn runs(&self) -> impl Iterator<Item = Range<u64>> {
        let mut next = 0;
        self.ranges.iter().filter(|range| range.start < range.end).filter_map(move |range| {
            let first = (range.start / self.stripe).max(next);
            next = next.max(range.end.div_ceil(self.stripe));
            (first < next).then_some(first..next)
        })
    }

    /// The number of stripes in which the node has bytes.
    pub fn stripes(&self) -> u64 {
        self.runs().map(|run| run.end - run.start).sum()
    }

    /// The number of the stripe with this index among those in which the node has bytes.
    fn stripe(&self, mut index: u64) -> Option<u64> {
        for run in self.runs() {
            let length = run.end - run.start;
            if index < length {
                return Some(run.start + index);
            }
            index -= length;
        }
        None
    }

    /// The number of steps in which a stripe is written.
    fn steps(&self) -> u64 {
        self.stripe.div_ceil(self.step)
    }

    /// The number of rounds that `writers` aggregators take if each writes one step a round.
    pub fn rounds(&self, writers: usize) -> u64 {
        self.stripes().div_ceil(writers as u64) * self.steps()
    }

    /// The range of the file that an aggregator writes in a round. It may include bytes of other nodes.
    pub fn part(&self, round: u64, writer: usize, writers: usize) -> Range<u64> {
        let (all, steps) = (self.stripes(), self.steps());
        let most = all.div_ceil(writers as u64);
        // Each aggregator has consecutive stripes.
        let (first, end) = (most * writer as u64, (most * (writer as u64 + 1)).min(all));
        let index = first.saturating_add(round / steps);
        let stripe = if index < end { self.stripe(index) } else { None };
        let Some(stripe) = stripe else { return 0..0 };
        let start = stripe * self.stripe + round % steps * self.step;
        start..(start + self.step).min((stripe + 1) * self.stripe)
    }
}

/// The rank of an aggregator on a node with `ranks` ranks: aggregators are spread over the node.
pub fn writer_rank(writer: usize, writers: usize, ranks: usize) -> usize {
    writer * ranks / writers
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// As docs/administrators.md says.
    #[test]
    fn writers_follow_from_part_stripe_and_node() {
        for (part_bytes, stripe, ranks, expected) in [
            (4 << 10, MIB, 64, Some(1)),
            (64 << 10, MIB, 64, Some(4)),
            (256 << 10, MIB, 64, Some(8)),
            (256 << 10, 4 * MIB, 64, Some(4)),
            (MIB, MIB, 64, None),
            (MIB, 4 * MIB, 64, Some(8)),
            (MIB, 4 * MIB, 4, Some(1)),
            (MIB, 4 * MIB, 1, Some(1)),
            (10 * MIB, 4 * MIB, 64, None),
            // A local file system: a block is not longer than the parts of a large section.
            (4096, 4096, 4, None),
        ] {
            let found = aggregators_of_node(0, ranks, part_bytes, stripe);
            assert_eq!(found, expected, "parts of {part_bytes} bytes, stripes of {stripe}, {ranks} ranks");
        }
        assert_eq!((writers(3, 64, 1), writers(100, 64, 1), writers(0, 64, 0)), (3, 64, 1));
        // Blocks of a local file system are not stripes.
        assert_eq!([4096, 65_535, 65_536, 4 * MIB].map(of_block), [0, 0, 65_536, 4 * MIB]);
        assert_eq!(aggregators_of_node(0, 64, 1, of_block(4096)), None);
    }

    /// As docs/streams.md says.
    #[test]
    fn a_chunk_of_streams_is_a_stripe() {
        for (stripe, expected) in [
            (0, MIB),    // none was found: a local file system
            (4096, MIB), // the user wants writers there
            (512 << 10, MIB),
            (MIB, MIB),
            (4 * MIB, 4 * MIB),
            (3 * MIB / 2, 3 * MIB / 2),
            (64 * MIB, 64 * MIB),
            (4 << 30, 64 * MIB),
        ] {
            assert_eq!(stream_chunk_bytes(stripe), expected, "stripes of {stripe} bytes");
            assert!(scda_format::streams::StreamPart::check_chunk_bytes(expected).is_ok());
        }
    }

    #[test]
    fn buffers_are_bounded() {
        for stripe in [1, 4096, MIB, 4 * MIB, 1 << 30] {
            for ranks in [1, 2, 7, 64, 1024, 100_000] {
                for wanted in [0, 1, 5, 1024] {
                    let most = most_writers(wanted, ranks);
                    let step = step_bytes(stripe, most);
                    assert!(step > 0 && step <= stripe && step * most as u64 <= MOST_BYTES);
                }
            }
        }
    }

    #[test]
    fn each_byte_has_one_writer_and_each_stripe_one_of_a_node() {
        let range = |start: u64, bytes: u64| start..start + bytes;
        let consecutive: Vec<_> = (0..13).map(|i| range(100 + i * 77, 77)).collect();
        let scattered: Vec<_> = (0..9).map(|i| range(5 + i * 1000, i * 70)).collect();
        let empty = [range(7, 0), range(9, 0)];
        for ranges in [&consecutive[..], &scattered, &empty] {
            for (stripe, step) in [(64, 64), (64, 20), (1000, 256), (10_000, 4096), (1, 1)] {
                let plan = NodeRuns { ranges, stripe, step };
                for count in 1..6 {
                    let mut owner = std::collections::HashMap::new();
                    for round in 0..plan.rounds(count) {
                        for writer in 0..count {
                            let part = plan.part(round, writer, count);
                            assert!(part.end - part.start <= step);
                            for byte in part.clone() {
                                assert!(owner.insert(byte, writer).is_none(), "byte {byte} twice");
                            }
                            for other in part {
                                assert_eq!(owner.get(&(other / stripe * stripe)), Some(&writer));
                            }
                        }
                    }
                    assert!(plan.ranges.iter().cloned().flatten().all(|byte| owner.contains_key(&byte)));
                }
            }
        }
    }

    #[test]
    fn writers_are_different_ranks() {
        for ranks in 1..20 {
            for count in 1..=ranks {
                let all: Vec<_> = (0..count).map(|writer| writer_rank(writer, count, ranks)).collect();
                assert!(all.windows(2).all(|pair| pair[0] < pair[1]) && all[count - 1] < ranks);
            }
        }
    }
}
