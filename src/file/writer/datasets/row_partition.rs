//! Determines which rows of contiguous datasets each rank has. A single agreement shows whether they are
//! distributed like those of an earlier dataset, or are all on rank 0.

use super::MOST_IN_TURNS;
use super::selection::Selection;
use crate::file::team::{FINE, Failure, Team, split};
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_format::dataset::Dataset;
use scda_format::layout;
use scda_ranks::Partition;
use std::ops::Range;

/// The most row partitions that are cached.
const MOST_KNOWN: usize = 16;

/// Cached row partitions of earlier datasets, one per number of rows: the same on all ranks.
#[derive(Default)]
pub(in crate::file::writer) struct RowPartitionCache(Vec<Partition>);

impl RowPartitionCache {
    fn of(&self, rows: u64) -> Option<Partition> {
        self.0.iter().find(|known| known.total == rows).copied()
    }

    /// Reserves memory for everything that an agreement may find.
    fn make_room(&mut self) -> Result<()> {
        reserve(&mut self.0, MOST_IN_TURNS)
    }

    /// Caches a partition in reserved memory: nothing may fail on one rank alone between two exchanges.
    fn keep(&mut self, found: Partition) {
        self.0.retain(|known| known.total != found.total);
        if self.0.len() == MOST_KNOWN {
            self.0.remove(0);
        }
        self.0.push(found);
    }

    /// The rows of each dataset that this rank has, if each rank passes whole rows, and these form the array
    /// in the order of the ranks. At most [`MOST_IN_TURNS`] datasets.
    ///
    /// In each round, the ranks agree whether the assumed partitions are right on all ranks. For the first
    /// wrong one, they exchange their counts, from which they derive the assumption of the next round.
    pub(super) fn find<'p>(
        &mut self,
        team: &mut Team,
        all: impl Iterator<Item = (&'p Dataset, &'p Selection<'p>)>,
    ) -> Result<Vec<Option<Partition>>, Failure> {
        let (rank, mut questions) = (team.rank(), Vec::new());
        reserve(&mut questions, MOST_IN_TURNS)?;
        self.make_room()?;
        for (dataset, selection) in all {
            let (rows, own) = (dataset.rows()?.0, selection.rows(&dataset.shape));
            let guess = self.of(rows).unwrap_or_else(|| at_root(rows, rank));
            questions.push(PartitionQuery { rows, own, guess: Some(guess), is_open: true });
        }
        let mut exchanged: Option<usize> = None;
        let mut mine = Ok(());
        loop {
            let mut least = [FINE; MOST_IN_TURNS];
            for (least, question) in least.iter_mut().zip(&questions) {
                *least = u64::from(question.is_as_guessed());
            }
            let agreed = team.agree_with(mine, &mut least[..questions.len()])?;
            for (i, question) in questions.iter_mut().enumerate().filter(|(_, question)| question.is_open) {
                let holds = least[i] != 0;
                question.is_open = !holds && exchanged != Some(i);
                if !holds && exchanged == Some(i) {
                    question.guess = None;
                }
            }
            if let Some(found) = exchanged.and_then(|i| questions[i].guess) {
                self.keep(found);
            }
            exchanged = questions.iter().position(|question| question.is_open);
            let Some(i) = exchanged else {
                return Ok(questions.into_iter().map(|question| question.guess).collect());
            };
            let counts;
            (counts, mine) = split(agreed.comm().allgather(questions[i].count()));
            let (rows, guess) = (questions[i].rows, in_order(&counts, questions[i].rows, rank));
            let alike = questions.iter_mut().filter(|other| other.is_open && other.rows == rows);
            alike.for_each(|other| other.guess = guess);
        }
    }
}

/// The rows of a dataset, on whose partition the ranks must agree.
struct PartitionQuery {
    rows: u64,
    /// The rows that this rank passes, if they are whole and consecutive.
    own: Option<Range<u64>>,
    /// The part of this rank in the partition that all ranks assume; at the end, in the actual one, or `None`
    /// if there is none.
    guess: Option<Partition>,
    is_open: bool,
}

impl PartitionQuery {
    fn count(&self) -> u64 {
        self.own.as_ref().map_or(FINE, |own| own.end - own.start)
    }

    /// Whether this rank passes the rows that are assumed.
    fn is_as_guessed(&self) -> bool {
        self.own.as_ref().zip(self.guess).is_some_and(|(own, guess)| {
            own.end - own.start == guess.count && (own.is_empty() || own.start == guess.offset)
        })
    }
}

/// The partition with all rows on rank 0.
fn at_root(rows: u64, rank: usize) -> Partition {
    let (offset, count) = if rank == 0 { (0, rows) } else { (rows, 0) };
    Partition { offset, count, total: rows }
}

/// The rows of a rank, if the counts of all ranks add up to all rows.
fn in_order(counts: &[u64], rows: u64, rank: usize) -> Option<Partition> {
    let sum = |counts: &[u64]| counts.iter().try_fold(0, |sum, &count| layout::sum(sum, count));
    let (below, count) = (counts.get(..rank).and_then(sum)?, *counts.get(rank)?);
    (sum(counts) == Some(rows)).then_some(Partition { offset: below, count, total: rows })
}
