//! Shares chunks that several ranks of a node want: one of them reads and decompresses each into shared
//! memory.
//!
//! Each rank announces the chunks that it needs, by numbers that span all datasets of a call, in a reduction
//! among the ranks of the node. From the result, all ranks compute who reads each chunk that several need, in
//! which round, and where it is then in the shared memory. In a round, each rank fills its part of one half
//! of that memory, the ranks meet, and all copy what they need while the other half is filled. A rank that
//! fails takes part until the next agreement.

use super::BoxReader;
use super::chunks::{ChunkRequest, ChunkRequests};
use super::selection::{Destination, OpenDataset, Selection};
use crate::file::limits::Limits;
use crate::file::node_memory::NodeMemory;
use crate::file::options::Tuning;
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::team::{Agreed, FINE, Failure, Team, split};
use scda_base::error::Result;
use scda_base::memory::{push, resize};
use scda_base::numbers::to_usize;
use scda_format::dataset::stored_dataset::{ElementKind, StoredDataset};
use scda_format::layout::sum;
use scda_ranks::Communicator;
use std::ops::Range;

/// Larger chunks are not shared, because that would take much memory.
const MOST_BYTES: u64 = 1 << 20;
/// Whether the ranks of a node read chunks for one another.
pub(super) enum Sharing {
    /// The ranks have not tried to share memory yet. Sharing would have saved a rank from decompressing this
    /// many bytes.
    Unknown(u64),
    /// The ranks share no memory.
    Never,
    Found(Box<NodeDoubleBuffer>),
}

impl Default for Sharing {
    fn default() -> Self {
        Self::Unknown(0)
    }
}

/// The ranks of this node, and shared memory in two halves, of which each rank has a part.
pub(super) struct NodeDoubleBuffer {
    node: NodeMemory,
    place_bytes: usize,
    /// The half to be filled next.
    half: usize,
}

impl NodeDoubleBuffer {
    /// Collective; `None` on all ranks unless each node has memory.
    fn find(team: &mut Team, most_bytes: u64) -> Result<Option<Box<Self>>, Failure> {
        let place_bytes = to_usize(MOST_BYTES.max(most_bytes));
        let bytes = |_, ranks: usize| (ranks.checked_mul(2 * place_bytes), Ok(()));
        let node = NodeMemory::find(team, bytes)?;
        Ok(node.map(|node| Box::new(Self { node, place_bytes, half: 0 })))
    }

    /// The bytes of a chunk in the half that is being filled.
    fn range(&self, ranks: usize, place: &ReadTurn) -> Range<usize> {
        let start = (self.half * ranks + place.rank) * self.place_bytes + to_usize(place.start);
        start..start + to_usize(place.bytes)
    }
}

/// The number of chunks of a dataset and their size, if ranks may share them.
fn shared_chunks(stored: &StoredDataset) -> Option<(u64, u64)> {
    let (chunks, bytes) = (stored.grid.chunks(), stored.grid.chunk_bytes());
    (stored.elements != ElementKind::Rows && bytes <= MOST_BYTES).then_some((chunks, bytes))
}

/// Numbers the shareable chunks of all datasets of a call.
#[derive(Default)]
struct ChunkNumbers {
    datasets: Vec<ChunkedDataset>,
    /// The number of chunks.
    total: u64,
    /// The most chunks that one vote covers.
    most: u64,
}

/// A dataset of a call, with the numbers of its chunks.
struct ChunkedDataset {
    part: usize,
    first: u64,
    chunk_bytes: u64,
    /// The chunks that this rank still wants.
    wants: ChunkRequests,
}

/// A chunk that this rank wants.
struct SharedChunk {
    number: u64,
    part: usize,
    want: ChunkRequest,
    /// True once a rank has read it for several.
    is_read: bool,
}

impl ChunkNumbers {
    fn new(parts: &[Selection<'_>], limits: &Limits) -> Result<Self> {
        let mut all = Self { most: limits.round_chunks.max(1), ..Self::default() };
        for (part, one) in parts.iter().enumerate() {
            let Some((chunks, chunk_bytes)) = shared_chunks(one.stored) else { continue };
            all.datasets.push(ChunkedDataset {
                part,
                first: all.total,
                chunk_bytes,
                wants: ChunkRequests::new(one)?,
            });
            // `may_share` has checked the sum.
            all.total += chunks;
        }
        Ok(all)
    }

    /// The dataset of the chunk with this number.
    fn dataset(&self, number: u64) -> &ChunkedDataset {
        &self.datasets[self.datasets.partition_point(|one| one.first <= number) - 1]
    }

    /// The number of the next chunk that this rank wants, or [`FINE`] if there is none.
    fn next(&self) -> u64 {
        let next = self.datasets.iter().find_map(|one| Some(one.first + one.wants.peek()?));
        next.unwrap_or(FINE)
    }

    /// The numbers that one vote covers, from `first` on.
    fn batch(&self, first: u64) -> Range<u64> {
        first..self.total.min(first.saturating_add(self.most))
    }

    /// Removes and returns the chunks in this range that this rank wants.
    fn take(&mut self, numbers: &Range<u64>) -> Result<Vec<SharedChunk>> {
        let mut taken = Vec::new();
        for one in &mut self.datasets {
            while let Some(chunk) = one.wants.peek()
                && one.first + chunk < numbers.end
                && let Some(want) = one.wants.next()
            {
                push(
                    &mut taken,
                    SharedChunk { number: one.first + chunk, part: one.part, want, is_read: false },
                )?;
            }
        }
        Ok(taken)
    }
}

/// The votes of the ranks on a range of chunks. The words for a chunk tell the lowest and the highest rank
/// that want it, counted from a rank that differs from chunk to chunk.
#[derive(Default)]
struct Votes {
    first: u64,
    words: Vec<u64>,
}

impl Votes {
    /// For at most `most` chunks.
    fn new(most: u64) -> Result<Self> {
        let mut words = Vec::new();
        resize(&mut words, most.saturating_mul(2).saturating_add(1))?;
        Ok(Self { first: 0, words })
    }

    /// Collective among the ranks of `comm`. A rank on which it fails alone continues to its next agreement.
    fn vote(&mut self, comm: &dyn Communicator, numbers: &Range<u64>, wanted: &[SharedChunk]) -> Result<()> {
        self.first = numbers.start;
        self.words.clear();
        // The memory is reserved. The last word keeps the buffer from being all 0.
        self.words.resize(2 * to_usize(numbers.end - numbers.start) + 1, FINE);
        let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
        for &SharedChunk { number, .. } in wanted {
            let turned = (rank + ranks - number % ranks) % ranks;
            let place = 2 * to_usize(number - self.first);
            (self.words[place], self.words[place + 1]) = (turned, FINE - 1 - turned);
        }
        comm.allreduce_min(&mut self.words)
    }

    /// The chunks that several of `ranks` ranks want, each with two of these ranks.
    fn shared(&self, ranks: usize) -> impl Iterator<Item = (u64, [usize; 2])> {
        let pairs = self.words.as_chunks::<2>().0.iter().zip(self.first..);
        pairs.filter_map(move |(&[least, greatest], number)| {
            let ranks = ranks as u64;
            let are_several = least < ranks && least + greatest + 1 != FINE;
            let rank = |turned: u64| to_usize((turned + number) % ranks);
            // Both are 0 if the vote failed.
            are_several.then(|| (number, [rank(least), rank((FINE - 1 - greatest) % ranks)]))
        })
    }
}

/// Which rank reads a chunk for others, in which round, and where it puts it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ReadTurn {
    round: u64,
    number: u64,
    rank: usize,
    start: u64,
    bytes: u64,
}

/// Assigns each shared chunk to one of its two candidates, the one with fewer bytes to read so far, and to a
/// round, in which each rank reads as many chunks as fit `most` bytes. Ordered by rounds.
fn schedule(
    shared: impl Iterator<Item = (u64, [usize; 2])>,
    ranks: usize,
    most: u64,
    bytes_of: impl Fn(u64) -> u64,
) -> Result<Vec<ReadTurn>> {
    #[derive(Clone, Default)]
    struct Load {
        bytes: u64,
        round: u64,
        /// Bytes filled in the current round.
        filled: u64,
    }
    let (mut places, mut loads) = (Vec::new(), Vec::<Load>::new());
    resize(&mut loads, ranks as u64)?;
    for (number, [one, other]) in shared {
        let rank = if loads[other].bytes < loads[one].bytes { other } else { one };
        let (load, bytes) = (&mut loads[rank], bytes_of(number));
        if load.filled > 0 && load.filled + bytes > most {
            (load.round, load.filled) = (load.round + 1, 0);
        }
        push(&mut places, ReadTurn { round: load.round, number, rank, start: load.filled, bytes })?;
        load.filled += bytes;
        load.bytes += bytes;
    }
    places.sort_unstable_by_key(|place| (place.round, place.number));
    Ok(places)
}

impl BoxReader<'_> {
    /// Whether ranks may share chunks of these datasets. The answer is the same on all ranks.
    pub(super) fn may_share(&mut self, open: &[&OpenDataset]) -> bool {
        if self.team().is_alone() || matches!(*self.sharing, Sharing::Never) {
            return false;
        }
        let mut chunks = Some(0);
        let mut bytes = 0_u64;
        for (count, chunk_bytes) in open.iter().flat_map(|open| open.all_stored()).filter_map(shared_chunks) {
            chunks = chunks.and_then(|chunks| sum(chunks, count));
            bytes = bytes.saturating_add(count.saturating_mul(chunk_bytes));
        }
        chunks.is_some() && bytes >= self.sections.params().tuning.limits.shared_bytes
    }

    /// Reads the selections of all ranks; one rank of a node reads what several of them want. This rank does
    /// so within [`Self::apart`]. Collective: returns this rank's own error, unless the ranks have agreed on
    /// one.
    pub(super) fn read_with_others(
        &mut self,
        team: &mut Team,
        (parts, targets): (&mut [Selection<'_>], &mut [Destination<'_, '_>]),
        mine: Result<()>,
    ) -> Result<Result<()>, Failure> {
        let mut sharing = std::mem::take(&mut *self.sharing);
        let read = self.read_ahead_all(team, (parts, targets), mine, &mut sharing);
        *self.sharing = sharing;
        let own = read?;
        // Brings errors that this rank deferred into the agreement.
        let kept = self.team().agree(Ok(())).map(drop).map_err(|failure| self.team().settle(failure));
        Ok(own.and(kept))
    }

    fn read_ahead_all(
        &mut self,
        team: &mut Team,
        (parts, targets): (&mut [Selection<'_>], &mut [Destination<'_, '_>]),
        mine: Result<()>,
        sharing: &mut Sharing,
    ) -> Result<Result<()>, Failure> {
        let Tuning { limits, most_threads, .. } = &self.sections.params().tuning;
        let (limits, round_bytes) = (*limits, limits.round_bytes.saturating_mul(most_threads.0));
        let prepare = || {
            let mut numbered = ChunkNumbers::new(parts, &limits)?;
            let wanted = numbered.take(&numbered.batch(0))?;
            let votes = Votes::new(numbered.most)?;
            Ok((numbered, wanted, votes))
        };
        // After an error, the ranks only continue to the next agreement.
        let ((mut numbered, mut wanted, mut votes), mut mine) = split(mine.and_then(|()| prepare()));
        let mut numbers = numbered.batch(0);
        if let Sharing::Unknown(saved) = sharing {
            let agreed = team.agree(mine)?;
            mine = votes.vote(agreed.comm(), &numbers, &wanted);
            let ranks = team.size();
            let shared: u64 =
                votes.shared(ranks).map(|(number, _)| numbered.dataset(number).chunk_bytes).sum();
            // As if each rank wanted all of them.
            *saved += shared - shared / ranks as u64;
            if *saved >= limits.saved_bytes {
                team.defer(mine);
                mine = Ok(());
                *sharing = NodeDoubleBuffer::find(team, round_bytes)?.map_or(Sharing::Never, Sharing::Found);
            }
        }
        let Sharing::Found(memory) = sharing else {
            return Ok(mine.and_then(|()| self.read_parts(parts, targets)));
        };
        loop {
            let agreed = team.agree(mine)?;
            let comm = memory.node.comm(&agreed);
            let voted = votes.vote(comm, &numbers, &wanted);
            let bytes_of = |number| numbered.dataset(number).chunk_bytes;
            let places = schedule(votes.shared(comm.size()), comm.size(), round_bytes, bytes_of);
            let (places, scheduled) = split(places);
            let mut next = [numbered.next()];
            let agreed = team.agree_with(voted.and(scheduled), &mut next)?;
            mine = self.read_voted(&agreed, (parts, targets), (&numbered, wanted, &places), memory);
            if next == [FINE] {
                break;
            }
            numbers = numbered.batch(next[0]);
            let (taken, took) = split(numbered.take(&numbers));
            (wanted, mine) = (taken, mine.and(took));
        }
        let mut others = parts.iter_mut().filter(|part| shared_chunks(part.stored).is_none());
        Ok(mine.and_then(|()| others.try_for_each(|part| self.read_part(part, targets))))
    }

    /// Reads the wanted chunks of one vote. All ranks of the node call it with the same places; one with an
    /// error takes part with the others.
    fn read_voted(
        &mut self,
        agreed: &Agreed<'_>,
        (parts, targets): (&mut [Selection<'_>], &mut [Destination<'_, '_>]),
        (numbered, mut wanted, places): (&ChunkNumbers, Vec<SharedChunk>, &[ReadTurn]),
        memory: &mut NodeDoubleBuffer,
    ) -> Result<()> {
        let comm = memory.node.comm(agreed);
        let (rank, ranks) = (comm.rank(), comm.size());
        let mut result = Ok(());
        for round in places.chunk_by(|one, other| one.round == other.round) {
            let own: Vec<_> = round.iter().filter(|place| place.rank == rank).collect();
            if let ([first, ..], Ok(())) = (&*own, &result) {
                let start = memory.range(ranks, first).start;
                let room = memory.node.memory.get_mut(start..start + memory.place_bytes);
                result = self.fill_place(parts, numbered, &own, room);
            }
            result = result.and(memory.node.meet(agreed));
            for place in round {
                let index = wanted.binary_search_by_key(&place.number, |one| one.number);
                if let (Ok(index), Ok(())) = (index, &result) {
                    let one = &mut wanted[index];
                    let chunk = memory.node.memory.get(memory.range(ranks, place));
                    let part = &parts[one.part];
                    part.copy(&one.want, chunk, &mut targets[part.number].room);
                    one.is_read = true;
                }
            }
            memory.half ^= 1;
        }
        result?;
        let mut alone = wanted.into_iter().filter(|one| !one.is_read).peekable();
        while let Some(number) = alone.peek().map(|one| one.part) {
            let wants = std::iter::from_fn(|| alone.next_if(|one| one.part == number)).map(|one| one.want);
            let part = &mut parts[number];
            self.read_chunks(part, wants, &mut targets[part.number].room)?;
        }
        Ok(())
    }

    /// Reads the chunks of a round that this rank reads for others into its part of the memory.
    fn fill_place(
        &mut self,
        parts: &mut [Selection<'_>],
        numbered: &ChunkNumbers,
        own: &[&ReadTurn],
        mut room: &mut [u8],
    ) -> Result<()> {
        let mut rest = own;
        while let [first, ..] = rest {
            let part = numbered.dataset(first.number).part;
            let threads = self.chunk_threads(parts[part].stored);
            let is_same = |place: &&&ReadTurn| numbered.dataset(place.number).part == part;
            let (now, later) = rest.split_at(rest.iter().take(threads).take_while(is_same).count());
            rest = later;
            let mut batch = Vec::new();
            for place in now {
                let chunk = place.number - numbered.dataset(place.number).first;
                let (out, free) = room.split_at_mut(to_usize(place.bytes));
                room = free;
                match self.locate(&mut parts[part], chunk)? {
                    Some(present) => batch.push((present, out)),
                    None => parts[part].fill(out),
                }
            }
            let part = &parts[part];
            self.decode_batch(batch.into_iter().map(|(present, out)| (part, present, out)).collect())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::open::Ends;
    use crate::file::reader::{Reader, ReaderState, Request};
    use crate::file::session::Session;
    use crate::file::{ReadOptions, WriteOptions, Writer};
    use scda_format::dataset::Codec;
    use scda_format::dataset::{DataType, Dataset, IndexBox, Layout};
    use scda_format::header::parse_file_header;
    use scda_ranks::{Solo, ThreadComm, run_on, run_on_threads};
    use scda_storage::double::Double;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The size of a chunk, longer than the read-ahead buffer. Its stream is a little longer, because it
    /// cannot be compressed.
    const CHUNK: usize = 20_000;

    /// A file of arrays with a row for each chunk.
    fn file_of(arrays: &[Dataset]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default()).unwrap();
        for array in arrays {
            let data: Vec<u8> = (0..array.data_bytes().unwrap()).map(|byte| byte as u8).collect();
            file.dataset(array, &[IndexBox::all(&array.shape)], &data).unwrap();
        }
        file.close().unwrap();
        std::fs::read(&path).unwrap()
    }

    fn array(name: &str, chunks: u64) -> Dataset {
        let mut array = Dataset::new(name, DataType::Uint64, [chunks, 2500]);
        array.layout = Layout::Chunked { shape: Some(vec![1, 2500]), text: false };
        (array.codec, array.level, array.shuffle) = (Codec::Zlib, Some(0), false);
        array
    }

    /// A reader of these bytes that counts how often chunks are read.
    fn reader(comm: impl Communicator + 'static, bytes: &Arc<Vec<u8>>, reads: &Arc<AtomicUsize>) -> Reader {
        let (size, header) = (bytes.len() as u64, parse_file_header(&bytes[..128]).unwrap());
        let (bytes, reads) = (Arc::clone(bytes), Arc::clone(reads));
        let file = Double::read(move |offset, buffer| {
            let start = to_usize(offset);
            buffer.copy_from_slice(&bytes[start..start + buffer.len()]);
            reads.fetch_add(usize::from((CHUNK..CHUNK + 20).contains(&buffer.len())), Ordering::Relaxed);
        });
        let team = Team::new(Box::new(comm), "f");
        let limits = Limits {
            shared_bytes: 1,
            saved_bytes: 1,
            round_bytes: 50_000,
            round_chunks: 64,
            ..Limits::default()
        };
        let params = ReadOptions { tuning: Tuning { limits, ..Tuning::default() }, ..ReadOptions::default() };
        let state = ReaderState::new(team, Box::new(file), Ends::all(size), params);
        Reader {
            header: Box::new(header),
            path: std::path::PathBuf::new(),
            age: 0,
            session: Session::new(state),
        }
    }

    #[test]
    fn a_node_reads_each_chunk_once() {
        let arrays = [array("a", 5), array("b", 1), array("c", 200)];
        let chunks: u64 = arrays.iter().map(|array| array.shape[0]).sum();
        let bytes = Arc::new(file_of(&arrays));
        for (nodes, times) in [(vec![0; 4], 1), (vec![0, 0, 1, 1, 1], 2), (vec![0, 1, 2], 3)] {
            let reads = Arc::<AtomicUsize>::default();
            run_on(ThreadComm::on_nodes(&nodes), |comm| {
                let mut file = reader(comm, &bytes, &reads);
                let mut data = arrays.each_ref().map(|array| vec![0; CHUNK * to_usize(array.shape[0])]);
                let regions = arrays.each_ref().map(|array| [IndexBox::all(&array.shape)]);
                let handles = arrays.each_ref().map(|array| file.dataset(&array.name).unwrap().unwrap());
                let requests = handles.iter().zip(&regions).zip(&mut data);
                let requests = requests.map(|((dataset, regions), data)| Request {
                    dataset,
                    regions,
                    data: data.into(),
                });
                file.read_datasets(requests.collect()).unwrap();
                for data in data {
                    assert!(data.iter().enumerate().all(|(place, &byte)| byte == place as u8));
                }
                file.close().unwrap();
            });
            assert_eq!(reads.load(Ordering::Relaxed) as u64, times * chunks, "{nodes:?}");
        }
    }

    #[test]
    fn what_one_rank_wants_it_reads_itself() {
        let arrays = [array("a", 40)];
        let bytes = Arc::new(file_of(&arrays));
        let reads = Arc::<AtomicUsize>::default();
        run_on_threads(3, |comm| {
            // Chunks 0 to 19, 10 to 29, and 20 to 39: half of them are wanted by two ranks.
            let first = 10 * comm.rank();
            let mut file = reader(comm, &bytes, &reads);
            let found = file.dataset("a").unwrap().unwrap();
            let mut data = vec![0; 20 * CHUNK];
            found.read(&mut file, &[IndexBox::new([first as u64, 0], [20, 2500])], &mut data).unwrap();
            assert!(data.iter().zip(first * CHUNK..).all(|(&byte, place)| byte == place as u8));
            file.close().unwrap();
        });
        assert_eq!(reads.load(Ordering::Relaxed), 40);
    }

    #[test]
    fn the_error_of_a_rank_that_reads_for_others_is_everybodys() {
        let arrays = [array("a", 6)];
        let mut bytes = file_of(&arrays);
        // The first block of a stream gives its length and the complement of that, because it is stored.
        let stream = bytes.windows(4).position(|four| four == [0x20, 0x4E, 0xDF, 0xB1]).unwrap();
        bytes[stream + 2] ^= 1;
        let (bytes, reads) = (Arc::new(bytes), Arc::<AtomicUsize>::default());
        let texts = run_on_threads(4, |comm| {
            let mut file = reader(comm, &bytes, &reads);
            let found = file.dataset("a").unwrap().unwrap();
            let mut data = vec![0; 6 * CHUNK];
            found.read(&mut file, &[IndexBox::all(&[6, 2500])], &mut data).unwrap_err().to_string()
        });
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
        assert!(texts[0].contains("dataset \"a\": chunk 0: zlib stream"), "{}", texts[0]);
    }

    #[test]
    fn chunks_fill_rounds_in_order() {
        // Chunk 4 alone is longer than a round.
        let bytes = [40, 60, 10, 50, 200, 30];
        let shared = [(0, [0, 0]), (1, [0, 0]), (2, [0, 0]), (3, [1, 1]), (4, [0, 0]), (5, [0, 0])];
        let places = schedule(shared.into_iter(), 2, 100, |number| bytes[to_usize(number)]).unwrap();
        let found: Vec<_> = places.iter().map(|place| (place.round, place.number, place.start)).collect();
        assert_eq!(found, [(0, 0, 0), (0, 1, 40), (0, 3, 0), (1, 2, 0), (2, 4, 0), (3, 5, 0)]);
    }

    #[test]
    fn ranks_have_as_much_to_read() {
        let bytes = |number: u64| 1 + number * number % 97;
        let shared = (0..1000).map(|number| (number, [(number % 4) as usize, (number + 3) as usize % 4]));
        let places = schedule(shared, 4, 200, bytes).unwrap();
        let of =
            |rank| places.iter().filter(|place| place.rank == rank).map(|place| place.bytes).sum::<u64>();
        let all: u64 = (0..1000).map(bytes).sum();
        assert!((0..4).all(|rank| of(rank).abs_diff(all / 4) <= 200), "{:?}", [0, 1, 2, 3].map(of));
    }

    #[test]
    fn chunks_that_several_want_are_dealt_out() {
        let seen = run_on_threads(3, |comm| {
            // No rank wants chunk 12, one wants 13, two want 20, all want the others.
            let rank = comm.rank();
            let is_wanted = |number: &u64| match number {
                12 => false,
                13 => rank == 2,
                20 => rank != 1,
                _ => true,
            };
            let want =
                |number| SharedChunk { number, part: 0, want: ChunkRequest::default(), is_read: false };
            let wanted: Vec<_> = (10..22).filter(is_wanted).map(want).collect();
            let mut votes = Votes::new(12).unwrap();
            votes.vote(&comm, &(10..22), &wanted).unwrap();
            votes.shared(3).collect::<Vec<_>>()
        });
        assert!(seen.iter().all(|one| *one == seen[0]));
        let numbers: Vec<_> = seen[0].iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [10, 11, 14, 15, 16, 17, 18, 19, 20, 21]);
        for (number, ranks) in &seen[0] {
            assert!(ranks[0] != ranks[1] && (*number != 20 || !ranks.contains(&1)), "{number}: {ranks:?}");
        }
        for rank in 0..3 {
            assert!((3..=4).contains(&seen[0].iter().filter(|(_, ranks)| ranks[0] == rank).count()));
        }
    }
}
