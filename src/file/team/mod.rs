//! The ranks of one file, and how they agree on errors and on arguments.
//!
//! Every exchange in the library begins with [`Team::agree`], one small reduction that has the same form
//! everywhere. So a rank that fails early, or calls another function, meets the others in a reduction that
//! all of them understand, and no rank hangs: all return the same error and close the file. [`Team::note`]
//! records the arguments that must be the same on all ranks; the same reduction compares them at no extra
//! cost.
//!
//! Only [`Agreed`], which an agreement returns, gives access to the collectives, including those of a node
//! ([`NodeTeam`]); so all ranks are at the same point of the program when they call one. The collective
//! functions of a [`ParallelFile`](scda_storage::ParallelFile) (`truncate`, `sync`, `close`) do not require
//! it: that they are called only after an agreement is a convention.

mod agreed;
mod recent;
#[cfg(test)]
mod tests;
mod topics;
mod watch;

pub use agreed::{Agreed, NodeTeam, sum_of_sizes};
pub use topics::{Function, Topic};

use recent::{Recent, SENT_BYTES};
use scda_base::calls;
use scda_base::error::{Error, ErrorKind, Result, quote_path};
use scda_base::numbers::to_usize;
use scda_ranks::hash::{first_term, mix, mix_all, mix_and_sum, mix_bytes, term_of_count};
use scda_ranks::partition::{is_known, known_hash};
use scda_ranks::{Communicator, FEW, Partition, PartitionTable, Solo};
use std::path::Path;
use std::time::{Duration, Instant};
use watch::{PATIENCE, Watch};

/// Why an operation failed: before or after the ranks agreed on it.
pub enum Failure {
    /// This rank has an error that the others may not know.
    Mine(Error),
    /// All ranks have this error.
    Agreed(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Mine(error)
    }
}

/// The longest error message that is sent between ranks, in bytes.
const MESSAGE_BYTES: usize = 1024;
/// The bytes before it, which hold the offset of the error, if it has one.
const OFFSET_BYTES: usize = size_of::<u64>();
const NO_OFFSET: u64 = u64::MAX;
/// The word for no error. It must be the largest one, and MPICH 4.0 compares words as signed numbers.
pub const FINE: u64 = u64::MAX >> 1;
/// The words of each reduction: the error, and for each topic and the number of calls, the minimum and the
/// maximum.
const OWN_WORDS: usize = 1 + 2 * Topic::COUNT + 2;
/// The most words of the caller. All are always sent, so that a rank with an error can meet the others
/// wherever they are.
pub const MOST_WORDS: usize = 8;

/// The ranks of one file.
pub struct Team {
    comm: Box<dyn Communicator>,
    rank: usize,
    size: usize,
    file_name: String,
    /// For each topic, a running hash of this rank's arguments.
    trace: [u64; Topic::COUNT],
    /// The number of functions that this rank has called.
    calls: u64,
    /// The arguments since the ranks last agreed; `None` for a rank that is alone.
    recent: Option<Recent>,
    /// The first error that only this rank knows, kept for the next agreement.
    deferred: Option<Error>,
    /// What this rank has completed since the ranks last agreed.
    journal: Journal,
    /// Whether a collective has failed without a result, so that this rank no longer knows where the others
    /// are.
    is_lost: bool,
    /// How long this rank has taken part in agreements.
    agreeing: Duration,
    /// The last function called.
    called: Option<Function>,
    /// Reports when this rank waits long for the others.
    watch: Option<Watch>,
}

/// What this rank has completed since the ranks last agreed. How much of it all ranks have in common is
/// determined only after an error.
#[derive(Default)]
struct Journal {
    /// The offset up to which all ranks had the same when they last agreed.
    agreed: u64,
    /// For each completion since then: a hash of all calls before it, and the offset at which it ends.
    marks: Vec<(u64, u64)>,
}

impl Team {
    pub fn new(comm: Box<dyn Communicator>, file_name: &str) -> Self {
        Self {
            rank: comm.rank(),
            size: comm.size(),
            recent: (comm.size() > 1).then(Recent::new),
            comm,
            file_name: file_name.to_owned(),
            trace: [0; Topic::COUNT],
            calls: 0,
            deferred: None,
            journal: Journal::default(),
            is_lost: false,
            agreeing: Duration::ZERO,
            called: None,
            watch: None,
        }
    }

    /// Reports long waits for other ranks through `tell` from now on.
    pub fn tell_waits(&mut self, tell: fn(&str)) {
        if !self.is_alone() {
            self.watch = Watch::start(tell);
        }
    }

    /// The name of the file.
    pub fn file_name(&self) -> &str {
        &self.file_name
    }

    /// Changes the name of the file.
    pub fn rename(&mut self, path: &Path) {
        self.file_name = quote_path(path);
    }

    /// A team of this rank alone, for work without the others.
    pub fn alone(&self) -> Self {
        Self::new(Box::new(Solo), &self.file_name)
    }

    /// How long this rank has taken part in agreements.
    pub fn agreeing(&self) -> Duration {
        self.agreeing
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// The number of this rank's node: see [`Communicator::node`].
    pub fn node(&self) -> u64 {
        self.comm.node()
    }

    /// The MPI communicator of the ranks, for MPI-IO, whose calls have their own agreements.
    #[cfg(feature = "mpi")]
    pub fn as_mpi(&self) -> Option<&scda_ranks::mpi::Mpi> {
        self.comm.as_mpi()
    }

    /// Records that this rank called a function.
    pub fn note_call(&mut self, function: Function) {
        self.called = Some(function);
        self.note(Topic::Function, function as u64);
        self.calls += 1;
    }

    /// Records a value that must be the same on all ranks.
    #[inline]
    pub fn note(&mut self, topic: Topic, value: u64) {
        self.note_named(topic, &[], &[value]);
    }

    /// Like [`Self::note`], for numbers with names for messages.
    #[inline]
    pub fn note_named(&mut self, topic: Topic, names: &'static [&'static str], values: &[u64]) {
        if let Some(recent) = &mut self.recent {
            let hash = &mut self.trace[topic as usize];
            *hash = values.iter().fold(*hash, |hash, &value| mix(hash, value));
            recent.numbers(topic, self.called, names, values);
        }
    }

    /// Records bytes that must be the same on all ranks.
    #[inline]
    pub fn note_bytes(&mut self, topic: Topic, name: &'static [&'static str], bytes: &[u8]) {
        if let Some(recent) = &mut self.recent {
            let hash = &mut self.trace[topic as usize];
            *hash = mix_bytes(*hash, bytes);
            recent.text(topic, self.called, name, bytes);
        }
    }

    /// Records the counts of all ranks, which must be the same on all ranks, and returns the partition that
    /// they describe.
    #[inline(always)]
    pub fn note_partition(&mut self, topic: Topic, counts: &[u64]) -> Result<Partition> {
        if self.is_alone() {
            Partition::new(counts, self.rank, self.size)
        } else {
            self.note_partition_of_several(topic, counts)
        }
    }

    /// Like [`Self::note_partition`], for more than one rank. Hashes and adds up the counts in one pass.
    #[inline(never)]
    fn note_partition_of_several(&mut self, topic: Topic, counts: &[u64]) -> Result<Partition> {
        // The hash of `hash_of_counts`, computed in the same loop as the sum.
        let mut hash = known_hash(counts).unwrap_or(counts.len() as u64);
        if counts.len() <= FEW && !is_known(counts) {
            hash = mix_all(hash, counts);
        }
        let known = is_known(counts);
        let part = Partition::summed(counts, self.rank, self.size, |counts| {
            let (mixed, sums) = mix_and_sum(hash, counts);
            hash = mixed;
            sums
        });
        // Either all ranks pass counts, or all pass a partition; the hashes of the two differ.
        let hash = if known { !hash } else { hash };
        self.trace[topic as usize] = mix(self.trace[topic as usize], hash);
        if let Some(recent) = &mut self.recent {
            match counts {
                _ if known || counts.len() > FEW => recent.hash(topic, self.called, hash),
                _ => recent.numbers(topic, self.called, &[], counts),
            }
        }
        part
    }

    /// Records the rank that has the data of a section without partition, and returns whether it is this one.
    /// Returns an error if there is no such rank.
    #[inline]
    pub fn check_root(&mut self, root: usize) -> Result<bool> {
        self.note(Topic::Root, root as u64);
        if root >= self.size() {
            return Err(no_rank(root, self.size()));
        }
        Ok(self.rank() == root)
    }

    /// Keeps an error of this rank until the ranks next agree.
    #[inline]
    pub fn defer(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.keep(error);
        }
    }

    #[cold]
    fn keep(&mut self, error: Error) {
        self.deferred.get_or_insert(error);
    }

    /// The value, if this rank has no error; otherwise `instead`, and the error is deferred to the next
    /// agreement. A rank that is alone returns the error at once.
    #[inline(always)]
    pub fn tolerate<T>(&mut self, result: Result<T>, instead: T) -> Result<T, Failure> {
        match result {
            Ok(value) => Ok(value),
            Err(error) if self.is_alone() => Err(Failure::Mine(error)),
            Err(error) => {
                self.keep(error);
                Ok(instead)
            }
        }
    }

    /// Whether this rank has deferred an error.
    #[inline]
    pub fn has_deferred(&self) -> bool {
        self.deferred.is_some()
    }

    /// Tells all ranks whether any of them has an error, by one small reduction. If one has, or if the ranks
    /// disagree on what they recorded, all get the same error.
    #[inline]
    pub fn agree(&mut self, mine: Result<()>) -> Result<Agreed<'_>, Failure> {
        self.agree_with(mine, &mut [])
    }

    /// Like [`Self::agree`]; in addition, each of these numbers, at most [`FINE`], is replaced by its minimum
    /// over all ranks.
    #[inline]
    pub fn agree_with(&mut self, mine: Result<()>, least: &mut [u64]) -> Result<Agreed<'_>, Failure> {
        self.defer(mine);
        if !self.is_alone() || self.deferred.is_some() {
            self.reduce(least)?;
        }
        Ok(Agreed(self))
    }

    /// Like [`Self::agree_with`], with the maximum of each number, also at most [`FINE`].
    pub fn agree_on_maximum(&mut self, mine: Result<()>, most: &mut [u64]) -> Result<Agreed<'_>, Failure> {
        let complement = |numbers: &mut [u64]| numbers.iter_mut().for_each(|number| *number = FINE - *number);
        complement(most);
        let agreed = self.agree_with(mine, most)?;
        complement(most);
        Ok(agreed)
    }

    /// Like [`Self::agree`], before a step that cannot be undone. The result tells all ranks that no rank has
    /// an error, so an error that MPI reports along with it must not make this rank fail after the step.
    pub fn agree_finally(&mut self, mine: Result<()>) -> Result<(), Failure> {
        self.agree(mine)?;
        self.deferred = None;
        Ok(())
    }

    /// The reduction of an agreement.
    #[cold]
    fn reduce(&mut self, least: &mut [u64]) -> Result<(), Failure> {
        let mine = self.deferred.take().map(|error| error.in_file(&self.file_name));
        if self.is_alone() {
            return mine.map_or(Ok(()), |error| Err(Failure::Agreed(error)));
        }
        let mut words = [FINE; OWN_WORDS + MOST_WORDS];
        let (own, more) = words.split_at_mut(OWN_WORDS);
        if let Some(error) = &mine {
            own[0] = ((self.rank() as u64) << 32) | u64::from(error.code().unsigned_abs());
        }
        for (pair, value) in own[1..].chunks_exact_mut(2).zip(self.trace.into_iter().chain([self.calls])) {
            pair.copy_from_slice(&[value, !value]);
        }
        more[..least.len()].copy_from_slice(least);
        let waiting = self.watch.as_ref().map(|watch| watch.begin(words_of_wait(self)));
        let began = Instant::now();
        let reduced = self.comm.allreduce_min(&mut words);
        self.agreeing += began.elapsed();
        drop(waiting);
        if let Err(error) = reduced {
            if words[0] == 0 {
                // Without a result, this rank cannot continue, and cannot tell the others.
                self.is_lost = true;
                return Err(Failure::Agreed(error));
            }
            // This rank has the same result as the others: it continues with them, and reports its error at
            // the next agreement.
            self.defer(Err(error));
        }
        let (words, more) = words.split_at(OWN_WORDS);
        least.copy_from_slice(&more[..least.len()]);
        if words[0] != FINE {
            let winner = to_usize(words[0] >> 32);
            let code = i32::try_from(words[0] & u64::from(u32::MAX)).unwrap_or(0);
            let kind = ErrorKind::from_code(code).unwrap_or(ErrorKind::Internal);
            let error = mine.unwrap_or_else(|| Error::new(kind, "")).on_rank(winner).with_kind(kind);
            return Err(Failure::Agreed(share_error(&*self.comm, winner, &error)));
        }
        // If all values are the same, the minimum and that of the complements are complements of each other.
        let differs: Vec<bool> = words[1..].chunks_exact(2).map(|pair| pair[0] != !pair[1]).collect();
        // Ranks with different numbers of calls have diverged earlier, over something else.
        let parted = differs[Topic::COUNT];
        let named = (usize::from(parted)..Topic::COUNT).find(|&topic| differs[topic]);
        let named = named.or(differs.contains(&true).then_some(Topic::Function as usize));
        match named {
            None => {
                self.journal.clear();
                if let Some(recent) = &mut self.recent {
                    recent.clear();
                }
                Ok(())
            }
            Some(topic) => Err(Failure::Agreed(disagreement(self, Topic::ALL[topic].0))),
        }
    }

    /// Makes a failure that perhaps only this rank knows known to all ranks.
    pub fn settle(&mut self, failure: Failure) -> Error {
        match failure {
            Failure::Agreed(error) => error,
            Failure::Mine(error) => match self.agree(Err(error)) {
                Err(Failure::Agreed(error) | Failure::Mine(error)) => error,
                // The agreement should have returned an error.
                Ok(_) => Error::new(ErrorKind::Internal, "an error was lost"),
            },
        }
    }

    /// The values that rank `root` passes, on all ranks, unless a rank has an error. Those of other ranks are
    /// ignored.
    pub fn share<const N: usize>(
        &mut self,
        root: usize,
        values: Result<[u64; N]>,
    ) -> Result<[u64; N], Failure> {
        self.share_agreed(root, values).map(|(_, values)| values)
    }

    /// Like [`Self::share`], before another collective.
    pub fn share_agreed<const N: usize>(
        &mut self,
        root: usize,
        values: Result<[u64; N]>,
    ) -> Result<(Agreed<'_>, [u64; N]), Failure> {
        let mut words = [[FINE; 2]; N];
        if let (true, Ok(values)) = (self.rank() == root, &values) {
            words = values.map(halves);
        }
        let agreed = self.agree_with(values.map(drop), words.as_flattened_mut())?;
        Ok((agreed, words.map(|[high, low]| high << 32 | low)))
    }

    /// The numbers of all ranks, by rank, unless a rank has an error.
    pub fn gather(&mut self, number: Result<u64>) -> Result<Vec<u64>, Failure> {
        let (number, mine) = split(number);
        let (all, mine) = split(self.agree(mine)?.comm().allgather(number));
        // Makes an error of one rank an error of all within this call.
        self.agree(mine)?;
        Ok(all)
    }

    /// The value of this rank, if every rank has one; otherwise `None` on all ranks. A value that is not
    /// returned is dropped after the agreement, because all ranks together free shared memory.
    pub fn if_all_have<T>(&mut self, found: Option<T>, mine: Result<()>) -> Result<Option<T>, Failure> {
        let mut least = [u64::from(found.is_some())];
        self.agree_with(mine, &mut least)?;
        Ok(found.filter(|_| least == [1]))
    }

    /// Records that this rank has completed something that ends at this offset of the file. The calls that
    /// led to it are compared only if an error occurs before the ranks next agree.
    #[inline]
    pub fn mark(&mut self, end: u64) {
        if !self.is_alone() {
            self.journal.marks.push((whole_trace(self), end));
        }
    }

    /// The ranks, after an error that all of them know.
    pub fn after_error(&mut self) -> AfterError<'_> {
        AfterError(self)
    }

    /// Whether this rank no longer knows where the others are, so that it cannot take part in any collective.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }
}

/// The ranks after an error that all of them know, wherever in the program each rank is.
pub struct AfterError<'a>(&'a mut Team);

impl<'a> AfterError<'a> {
    /// Lets the ranks agree again, as if they had made the same calls. Returns false on all ranks if one no
    /// longer knows where the others are.
    pub fn begin(&mut self) -> bool {
        (self.0.trace, self.0.calls) = ([0; Topic::COUNT], 0);
        if let Some(recent) = &mut self.0.recent {
            recent.clear();
        }
        self.all(true)
    }

    /// Gives access to the collectives for steps before the file is closed. All ranks must reach them.
    pub fn agreed(self) -> Agreed<'a> {
        Agreed(self.0)
    }

    /// Whether `mine` is true on all ranks.
    pub fn all(&mut self, mine: bool) -> bool {
        let mut words = [1 + u64::from(mine)];
        self.least(&mut words).is_some() && words[0] == 2
    }

    /// Replaces each of these numbers by its minimum over all ranks. Not all may be 0. `None` if this rank no
    /// longer knows where the others are.
    fn least(&mut self, words: &mut [u64]) -> Option<()> {
        if self.0.is_lost || self.0.is_alone() {
            return (!self.0.is_lost).then_some(());
        }
        // If there is a result, the other ranks have it, too, and continue.
        self.0.is_lost = self.0.comm.allreduce_min(words).is_err() && words.iter().all(|&word| word == 0);
        (!self.0.is_lost).then_some(())
    }

    /// The end of what all ranks have completed in the same way, as an offset in the file. `None` if the
    /// ranks cannot determine it.
    pub fn common_end(&mut self) -> Option<u64> {
        let mut common = [1 + self.0.journal.marks.len() as u64];
        self.least(&mut common)?;
        let (mut same, mut more) = (0, usize::try_from(common[0]).ok()?);
        // Ranks that have diverged stay so, so the marks that all have in common come first.
        while more - same > 1 {
            let middle = usize::midpoint(same, more);
            let hash = self.0.journal.marks[middle - 1].0;
            let mut words = [hash, !hash, 1];
            self.least(&mut words)?;
            if words[0] == !words[1] { same = middle } else { more = middle }
        }
        Some(if same == 0 { self.0.journal.agreed } else { self.0.journal.marks[same - 1].1 })
    }
}

impl Journal {
    /// Called when all ranks agree: what they completed is the same.
    fn clear(&mut self) {
        if let Some(&(_, end)) = self.marks.last() {
            self.agreed = end;
            self.marks.clear();
        }
    }
}

/// The partition in which this rank has `count` elements. Collective.
pub fn partition_of(team: &mut Team, count: u64) -> Result<PartitionTable, Failure> {
    let (rank, size) = (team.rank, team.size);
    let agreed = team.agree(Ok(()))?;
    // Both sums are computed even if the first one fails, because the other ranks go on to the second. Halves
    // are summed separately, so that no sum wraps.
    let part = agreed.spread(count);
    let term = term_of_count(count, rank, size);
    let mut terms = [term & 0xffff_ffff, term >> 32];
    let sum = agreed.comm().allreduce_sum(&mut terms);
    let hash = first_term(size).wrapping_add(terms[0]).wrapping_add(terms[1] << 32);
    let known = part.and_then(|part| sum.map(|()| PartitionTable::from_part(part, hash, rank, size)));
    team.agree(known.as_ref().map(|_| ()).map_err(Error::again))?;
    Ok(known?)
}

/// One hash of everything that this rank has called.
fn whole_trace(team: &Team) -> u64 {
    if team.deferred.is_some() {
        // A rank that has failed has nothing in common with the others.
        return mix(u64::MAX, team.rank as u64);
    }
    let turned = |(turn, &hash): (u32, &u64)| hash.rotate_left(5 * turn);
    (0..).zip(&team.trace).map(turned).fold(team.calls, u64::wrapping_add)
}

/// The error of all ranks if they disagree on a topic. Rank 0 speaks for all, because the ranks may even
/// disagree on the file name.
#[cold]
fn disagreement(team: &Team, topic: Topic) -> Error {
    // If one of these collectives fails, the ranks still have the name of the topic.
    let mine = team.trace[topic as usize].to_le_bytes();
    let mut first = mine;
    let _ = team.comm.broadcast(&mut first, 0);
    let mut other = [if first == mine { FINE } else { team.rank() as u64 }];
    let _ = team.comm.allreduce_min(&mut other);
    let other = to_usize(other[0].min(team.size() as u64 - 1));
    let mut sent = match &team.recent {
        Some(recent) if team.rank() == other => recent.to_bytes(topic),
        _ => [0; SENT_BYTES],
    };
    let _ = team.comm.broadcast(&mut sent, other);
    let found = team.recent.as_ref().and_then(|recent| recent.compare(topic, other, &sent));
    let words = match found {
        Some((topic, words)) => format!("{}: {words}", Topic::ALL[topic as usize].1),
        None => Topic::ALL[topic as usize].1.to_owned(),
    };
    let error = Error::argument(format!("the ranks disagree on {words}"));
    share_error(&*team.comm, 0, &error.in_file(&team.file_name))
}

/// The message for a long wait for the others.
fn words_of_wait(team: &Team) -> String {
    let function = || team.called.map_or("open".into(), |function| function.to_string());
    let call = calls::called().map_or_else(function, str::to_owned);
    format!(
        "libscda: {}: rank {} of {} has waited {} s for the others in the call {call}: have all called it, and used their files in the \
         same order?",
        team.file_name,
        team.rank,
        team.size,
        PATIENCE.as_secs()
    )
}

/// Sends the error of one rank, with its message and offset, to all ranks.
fn share_error(comm: &dyn Communicator, from: usize, error: &Error) -> Error {
    let mut bytes = [0; OFFSET_BYTES + MESSAGE_BYTES];
    let (offset, message) = bytes.split_at_mut(OFFSET_BYTES);
    offset.copy_from_slice(&error.offset().unwrap_or(NO_OFFSET).to_le_bytes());
    let text = error.to_string();
    let n = text.len().min(MESSAGE_BYTES);
    message[..n].copy_from_slice(&text.as_bytes()[..n]);
    // If even this fails, the ranks still have the error code.
    let _ = comm.broadcast(&mut bytes, from);
    let (offset, message) = bytes.split_first_chunk().unwrap_or((&[0xff; OFFSET_BYTES], &[]));
    let offset = Some(u64::from_le_bytes(*offset)).filter(|&offset| offset != NO_OFFSET);
    let n = message.iter().position(|&b| b == 0).unwrap_or(message.len());
    let words = String::from_utf8_lossy(&message[..n]).into_owned();
    Error::shared(error.kind(), words, error.rank(), offset)
}

/// The error for a rank number that does not exist.
#[cold]
fn no_rank(root: usize, size: usize) -> Error {
    Error::argument(format!("root: found {root}, expected a rank below {size}"))
}

/// The high and the low 32 bits.
fn halves(value: u64) -> [u64; 2] {
    [value >> 32, value & u64::from(u32::MAX)]
}

/// The result of `work` on rank 0, and the default on other ranks: `rank` is the caller's.
#[inline]
pub fn on_rank_0<T: Default>(rank: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
    only_if(rank == 0, work)
}

/// The result of `work` if the condition holds, and otherwise the default.
#[inline]
pub fn only_if<T: Default>(condition: bool, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if condition { work() } else { Ok(T::default()) }
}

/// Splits a result into a value with which this rank can continue, and its error for the next agreement.
pub fn split<T: Default>(result: Result<T>) -> (T, Result<()>) {
    match result {
        Ok(value) => (value, Ok(())),
        Err(error) => (T::default(), Err(error)),
    }
}
