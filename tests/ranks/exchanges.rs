//! How often the ranks meet: a constant number of times for a section, whatever their number, and
//! not at all for small plain ones.

use crate::common::{Options, first::First, options};
use scda::{
    Communicator, DataType, Dataset, Encode, IndexBox, Layout, ReadOptions, Reader, Result, SharedMemory,
    Sink, Solo, Source, WriteOptions, Writer, run_on_threads, uniform_partition,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a rank exchanges.
#[derive(Default)]
struct Counts {
    collectives: AtomicU64,
    /// What it passes to them, but for its own part.
    bytes: AtomicU64,
    /// Those to single ranks.
    messages: AtomicU64,
}

impl Counts {
    fn collectives(&self) -> u64 {
        self.collectives.load(Ordering::Relaxed)
    }
    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
    fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }
}

/// Counts what a rank exchanges.
struct Counting<C> {
    comm: C,
    /// Whether the ranks share memory, as on one node.
    shares: bool,
    counts: Arc<Counts>,
}

impl<C> Counting<C> {
    fn new(comm: C, shares: bool) -> (Self, Arc<Counts>) {
        let counts = Arc::<Counts>::default();
        (Self { comm, shares, counts: Arc::clone(&counts) }, counts)
    }

    fn count(&self, bytes: usize) -> &C {
        self.counts.collectives.fetch_add(1, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        &self.comm
    }
}

impl<C: Communicator> Communicator for Counting<C> {
    fn rank(&self) -> usize {
        self.comm.rank()
    }
    fn size(&self) -> usize {
        self.comm.size()
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.count(8 * values.len()).allreduce_min(values)
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.count(8 * values.len()).allreduce_sum(values)
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        self.count(8 * values.len()).exscan_sum(values)
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        self.count(8).allgather(value)
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        self.count(bytes.len()).broadcast(bytes, root)
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        self.count(bytes.len()).gather(bytes, all)
    }
    fn alltoall(&self, sent: &[u8], received: &mut [u8]) -> Result<()> {
        self.count(sent.len() - sent.len() / self.size()).alltoall(sent, received)
    }
    fn alltoallv(
        &self,
        sent: &[u8],
        sent_bytes: &[usize],
        received: &mut [u8],
        received_bytes: &[usize],
    ) -> Result<()> {
        let others = (0..self.size()).filter(|&rank| rank != self.rank()).map(|rank| sent_bytes[rank]);
        let messages = others.filter(|&bytes| bytes > 0).count();
        self.counts.messages.fetch_add(messages as u64, Ordering::Relaxed);
        self.count(sent.len() - sent_bytes[self.rank()]).alltoallv(sent, sent_bytes, received, received_bytes)
    }
    #[allow(unsafe_code)]
    unsafe fn share_memory(&self, bytes: usize) -> Result<Option<SharedMemory>> {
        // SAFETY: handed on for the same ranks.
        if self.shares { unsafe { self.count(0).share_memory(bytes) } } else { Ok(None) }
    }
}

/// Elements of a section.
#[derive(Clone, Copy, Debug)]
struct Case {
    varray: bool,
    elements: u64,
    size: u64,
    encode: Encode,
    /// Whether the ranks share memory, as on one node.
    shares: bool,
    /// Whether all elements are rank 0's.
    first_has_all: bool,
    /// Whether the file is sealed.
    seal: bool,
}

impl Case {
    fn counts(&self, ranks: usize) -> Vec<u64> {
        if !self.first_has_all {
            return uniform_partition(self.elements, ranks);
        }
        let mut counts = vec![0; ranks];
        counts[0] = self.elements;
        counts
    }
}

fn params<T: Options>() -> T {
    let mut params: T = options();
    params.tuning().check = false;
    params
}

fn write(comm: impl Communicator + 'static, path: &Path, sections: usize, case: Case) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let counts = case.counts(ranks);
    let sizes = vec![case.size; usize::try_from(counts[rank]).unwrap()];
    let data = vec![7; usize::try_from(counts[rank] * case.size).unwrap()];
    let sums: Vec<u64> = counts.iter().map(|n| n * case.size).collect();
    let mut params: WriteOptions = params();
    params.seal = case.seal;
    let mut file = Writer::create(comm, path, b"", &params)?;
    for _ in 0..sections {
        let source = Source::Contiguous(&data);
        if case.varray {
            file.varray(b"", &counts, &sizes, Some(&sums), source, case.encode)?;
        } else {
            file.array(b"", &counts, case.size, source, case.encode)?;
        }
    }
    file.close()
}

fn read(comm: impl Communicator + 'static, path: &Path, case: Case) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let counts = case.counts(ranks);
    let mut sizes = vec![0; usize::try_from(counts[rank]).unwrap()];
    let mut data = vec![0; usize::try_from(counts[rank] * case.size).unwrap()];
    let mut file = Reader::open(comm, path, &params())?;
    while file.next_section(true)?.is_some() {
        if case.varray {
            file.read_varray_sizes(&counts, Some(&mut sizes))?;
            file.read_varray(&counts, Some(&sizes), None, Sink::Contiguous(&mut data))?;
        } else {
            file.read_array(&counts, case.size, Sink::Contiguous(&mut data))?;
        }
    }
    assert!(data.iter().all(|&byte| byte == 7));
    file.close()
}

/// Calls of collectives and bytes passed to them by one rank, of writing and of reading.
type Exchanged = [[u64; 2]; 2];

/// Writes and reads a file of `sections` sections as one rank, and counts.
fn run<C: Communicator + 'static>(
    comm: impl Fn() -> C,
    path: &Path,
    sections: usize,
    case: Case,
) -> Exchanged {
    let counting = || Counting::new(comm(), case.shares);
    let (writing, written) = counting();
    write(writing, path, sections, case).unwrap();
    let (reading, read) = counting();
    self::read(reading, path, case).unwrap();
    [written, read].map(|counts| [counts.collectives(), counts.bytes()])
}

/// The collectives of writing and of reading a file of `sections` sections.
fn collectives(ranks: usize, sections: usize, case: Case) -> [u64; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let counts = run_on_threads(ranks, |comm| run(|| comm.clone(), &path, sections, case));
    let calls = counts[0].map(|[calls, _]| calls);
    assert!(counts.iter().all(|count| count.map(|[calls, _]| calls) == calls));
    calls
}

/// The collectives that each further section costs.
fn per_section(ranks: usize, case: Case) -> [u64; 2] {
    let (few, many) = (collectives(ranks, 10, case), collectives(ranks, 210, case));
    // The windows of reading ahead and the flushes of the buffer are few.
    [0, 1].map(|i| (many[i] - few[i] + 60) / 200)
}

const CASE: Case = Case {
    varray: false,
    elements: 20,
    size: 30,
    encode: Encode::None,
    shares: false,
    first_has_all: false,
    seal: false,
};

#[test]
fn small_sections_cost_few_collectives_or_none() {
    for (ranks, shares) in [(2, false), (2, true), (5, false), (5, true)] {
        let small = |varray, encode| Case { varray, encode, shares, ..CASE };
        assert_eq!(per_section(ranks, small(false, Encode::None)), [0, 0]);
        // Elements of 30 bytes can only grow: nothing is tried.
        assert_eq!(per_section(ranks, small(false, Encode::Auto)), [0, 0]);
        // The sizes that a rank passes for reading may be wrong on it alone.
        assert_eq!(per_section(ranks, small(true, Encode::None)), [0, 1]);
        // Where compressed bytes lie depends on all ranks, and finding out may fail on one; so may decoding.
        assert_eq!(per_section(ranks, small(false, Encode::Always)), [4, 1]);
        assert_eq!(per_section(ranks, small(true, Encode::Always)), [4, 1]);
    }
}

/// Emptying a file that is there already costs one agreement more.
fn new_file(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// What `docs/performance.md` says.
#[test]
fn opening_and_closing_cost_seven_collectives() {
    let case = Case { elements: 0, ..CASE };
    for ranks in [2, 4] {
        assert_eq!(collectives(ranks, 0, case), [7, 7]);
    }
    // The header of the file, which few ranks read each for itself, is sent to all.
    assert_eq!(collectives(5, 0, case), [7, 8]);
}

#[test]
fn large_sections_cost_as_many_collectives_for_any_number_of_ranks() {
    for (varray, encode, most) in [
        (false, Encode::None, [1, 3]),
        (true, Encode::None, [1, 6]),
        // Compressed they are small, and the buffer may have to be gathered: an agreement and a gather.
        (false, Encode::Always, [6, 6]),
        (true, Encode::Always, [6, 9]),
        // A sample is tried before: one agreement, and one sum.
        (false, Encode::Auto, [8, 6]),
        (true, Encode::Auto, [8, 9]),
    ] {
        let large = Case { varray, elements: 500, size: 2000, encode, ..CASE };
        let few = collectives(5, 6, large);
        assert_eq!(collectives(8, 6, large), few);
        // Some ranks read headers each for itself.
        for ranks in [2, 4] {
            let fewer = collectives(ranks, 6, large);
            assert!(fewer[0] == few[0] && fewer[1] < few[1], "{ranks} ranks: {fewer:?}, {few:?}");
        }
        let one = collectives(5, 5, large);
        assert!((0..2).all(|i| few[i] - one[i] <= most[i]), "{:?}", [few[0] - one[0], few[1] - one[1]]);
    }
}

#[test]
fn neither_collectives_nor_their_bytes_grow_with_the_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for varray in [false, true] {
        for encode in [Encode::None, Encode::Always, Encode::Auto] {
            for (elements, size) in [(20, 30), (500, 2000)] {
                let case =
                    Case { varray, elements, size, encode, shares: false, first_has_all: true, seal: false };
                let exchanged = |ranks| {
                    new_file(&path);
                    run(|| First { size: ranks }, &path, 6, case)
                };
                assert_eq!(exchanged(10_000), exchanged(100), "{case:?}");
            }
        }
    }
}

#[test]
fn a_sealed_section_costs_no_more_collectives() {
    for (varray, encode, size) in [
        (false, Encode::None, 30),
        (true, Encode::None, 30),
        (false, Encode::Always, 30),
        (true, Encode::Always, 30),
        (false, Encode::None, 9000),
        (true, Encode::Auto, 9000),
    ] {
        for (ranks, shares) in [(2, true), (5, false)] {
            let case = Case { varray, encode, size, shares, ..CASE };
            let sealed = Case { seal: true, ..case };
            let difference = |sections| {
                let (plain, sealed) =
                    (collectives(ranks, sections, case), collectives(ranks, sections, sealed));
                assert_eq!(sealed[1] - plain[1], 0, "reading {case:?}");
                sealed[0] - plain[0]
            };
            // What rank 0 has to show HDF5, an agreement before the sums of the checksums, those, and one after tables and seal; the default
            // `Communicator::reduce_xor` gathers once for 2^20 values of all ranks.
            assert_eq!((difference(6), difference(36)), (4, 4), "{ranks} ranks, {case:?}");
        }
    }
}

/// The collectives of an action on a file that is open for reading, the same on all ranks.
fn of_reading(ranks: usize, path: &Path, params: &ReadOptions, action: impl Fn(&mut Reader) + Sync) -> u64 {
    let counts = run_on_threads(ranks, |comm| {
        let (counting, counts) = Counting::new(comm, false);
        let mut reader = Reader::open(counting, path, params).unwrap();
        let before = counts.collectives();
        action(&mut reader);
        counts.collectives() - before
    });
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    counts[0]
}

#[test]
fn writing_to_a_stream_sends_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let exchanged = run_on_threads(3, |comm| {
        let rank = comm.rank();
        let (counting, counts) = Counting::new(comm, false);
        let mut file = Writer::create(counting, &path, b"", &params()).unwrap();
        let count = || counts.collectives();
        let begin = count();
        file.begin_streams(b"log", 4096).unwrap();
        let begun = count();
        for bytes in [10, 100_000, 3_000_000] {
            file.write_stream(&vec![7; bytes * rank]).unwrap();
        }
        let written = count();
        file.end_streams().unwrap();
        let ended = count();
        file.close().unwrap();
        [begun - begin, written - begun, ended - written]
    });
    // Buffered sections leave, which is an agreement and a gather, and one more agreement flushes them; one says that all is
    // written, and the most chunks.
    assert_eq!(exchanged, [[3, 0, 1]; 3]);
}

/// What `docs/performance.md` says, and `benches/peers/streams.c` compares with.
#[test]
fn a_file_of_streams_costs_few_collectives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for ranks in [5, 8] {
        new_file(&path);
        let counted = run_on_threads(ranks, |comm| {
            let counting = || Counting::new(comm.clone(), true);
            let (comm, written) = counting();
            let mut file = Writer::create(comm, &path, b"", &params()).unwrap();
            file.begin_streams(b"log", 0).unwrap();
            file.write_stream(&[7; 100]).unwrap();
            file.end_streams().unwrap();
            file.close().unwrap();
            let (comm, read) = counting();
            let mut file = Reader::open(comm, &path, &params()).unwrap();
            let streams = file.streams_record(b"log", 0).unwrap().unwrap();
            assert_eq!(streams.stream(&mut file, 2).unwrap().bytes(), 100);
            file.close().unwrap();
            [written, read].map(|counts| counts.collectives())
        });
        assert_eq!(counted, vec![[12, 17]; ranks]);
    }
}

#[test]
fn looking_up_costs_one_collective_and_so_does_a_range() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for (sections, size, seal) in [(20, 30, true), (200, 30, true), (20, 9000, true), (20, 30, false)] {
        let case = Case { varray: true, size, seal, ..CASE };
        run_on_threads(3, |comm| write(comm, &path, sections, case).unwrap());
        for ranks in [2, 5] {
            let count = |action: &(dyn Fn(&mut Reader) + Sync)| of_reading(ranks, &path, &params(), action);
            assert_eq!(count(&|reader| assert_eq!(reader.sections().unwrap(), sections as u64)), 1);
            assert_eq!(
                count(&|reader| assert_eq!(reader.find(b"", -1).unwrap(), Some(sections as u64 - 1))),
                1
            );
            assert_eq!(count(&|reader| assert_eq!(reader.find(b"absent", 0).unwrap(), None)), 1);
            assert_eq!(count(&|reader| reader.seek_section(7).unwrap()), 1);
            // The header is read by each rank and agreed on; with five ranks, one reads and sends it. Then one for each range.
            let ranges = |times: u64| {
                count(&|reader| {
                    reader.seek_section(7).unwrap();
                    reader.next_section(true).unwrap().unwrap();
                    for i in 0..times {
                        let mut found = vec![0; usize::try_from(i % 3 * size).unwrap()];
                        let sizes = vec![size; usize::try_from(i % 3).unwrap()];
                        reader
                            .ranges()
                            .read_varray(i..i + i % 3, &sizes, Sink::Contiguous(&mut found))
                            .unwrap();
                    }
                })
            };
            assert_eq!(ranges(10) - ranges(2), 8);
        }
    }
}

/// What `docs/performance.md` says.
#[test]
fn finding_a_dataset_costs_an_exchange_and_a_broadcast_and_reading_it_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let shape = [100, 100];
    for (seal, layout) in [
        (false, Layout::Contiguous),
        (true, Layout::Contiguous),
        (false, Layout::Chunked { shape: None, text: false }),
    ] {
        let mut params: WriteOptions = params();
        params.seal = seal;
        let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
        for name in ["a", "b", "c", "d"] {
            let mut dataset = Dataset::new(name, DataType::Float64, shape);
            dataset.layout = layout.clone();
            file.dataset(&dataset, &[IndexBox::all(&shape)], &[1; 80_000]).unwrap();
        }
        file.close().unwrap();
        for ranks in [2, 5] {
            let of = |names: &[&str]| {
                of_reading(ranks, &path, &self::params(), |reader| {
                    for name in names {
                        let found = reader.dataset(name).unwrap().unwrap();
                        assert_eq!(found.shape, shape);
                        // Chunks may be shared.
                        if layout == Layout::Contiguous {
                            let mut row = [0; 800];
                            found.read(reader, &[IndexBox::new([7, 0], [1, 100])], &mut row).unwrap();
                            assert_eq!(row, [1; 800]);
                        }
                    }
                })
            };
            let each = if layout == Layout::Contiguous { 3 } else { 2 };
            for names in [&["c"][..], &["a", "b", "c", "d"], &["d", "b", "d", "a"]] {
                assert_eq!(of(names), each * names.len() as u64, "{ranks} ranks: {names:?}, {layout:?}");
            }
        }
    }
}

#[test]
fn verifying_costs_as_many_collectives_for_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    // A small section is verified by one rank; of a large one each verifies a part, and the sums are added up.
    for (size, most) in [(30, 1), (9000, 4)] {
        let per_section = |ranks: usize| {
            let of = |sections: usize| {
                let case = Case { size, seal: true, ..CASE };
                run_on_threads(3, |comm| write(comm, &path, sections, case).unwrap());
                let reading = |verify: bool| {
                    let mut params: ReadOptions = params();
                    params.verify = verify;
                    of_reading(ranks, &path, &params, |reader| {
                        while reader.next_section(true).unwrap().is_some() {
                            reader.skip().unwrap();
                        }
                    })
                };
                reading(true) - reading(false)
            };
            let (few, many) = (of(10), of(30));
            assert_eq!((many - few) % 20, 0);
            (many - few) / 20
        };
        assert_eq!([2, 3, 5, 8].map(per_section), [most; 4]);
    }
}

/// What each rank exchanges to write a dataset in chunks of this shape, of which each passes boxes.
fn exchanged_for_dataset(
    ranks: usize,
    (shape, chunk): ([u64; 2], [u64; 2]),
    regions: &(dyn Fn(usize) -> Vec<IndexBox> + Sync),
) -> Vec<Arc<Counts>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut dataset = Dataset::new("rho", DataType::Float64, shape);
    dataset.layout = Layout::Chunked { shape: Some(chunk.to_vec()), text: false };
    run_on_threads(ranks, |comm| {
        let regions = regions(comm.rank());
        let items: u64 = regions.iter().map(|region| region.items().unwrap()).sum();
        let (counting, counts) = Counting::new(comm, false);
        let mut file = Writer::create(counting, &path, b"", &params()).unwrap();
        file.dataset(&dataset, &regions, &vec![1; usize::try_from(8 * items).unwrap()]).unwrap();
        file.close().unwrap();
        counts
    })
}

#[test]
fn chunks_of_few_ranks_are_compressed_by_all() {
    // 64 chunks of 8 KiB.
    let exchanged = |regions: &(dyn Fn(usize) -> IndexBox + Sync)| -> u64 {
        let each = exchanged_for_dataset(4, ([256, 256], [32, 32]), &|rank| vec![regions(rank)]);
        each.iter().map(|counts| counts.bytes()).sum()
    };
    let none = exchanged(&|_| IndexBox::new([0, 0], [0, 0]));
    // Each rank passes its own chunks: nothing is sent.
    let own = exchanged(&|rank| IndexBox::new([64 * rank as u64, 0], [64, 256]));
    assert!(own < none + 5000, "{own} {none}");
    // All is one rank's, or the first quarter: three quarters of it are sent, and what each round costs.
    for rows in [256, 64] {
        for giver in [0, 3] {
            let given =
                exchanged(&|rank| IndexBox::new([0, 0], if rank == giver { [rows, 256] } else { [0, 0] }));
            let bytes = 8 * rows * 256;
            assert!(given - none > bytes * 7 / 10, "{rows} rows of {giver}: {given} {none}");
            assert!(given - none < bytes + 100_000, "{rows} rows of {giver}: {given} {none}");
        }
    }
}

/// What `docs/performance.md` says: in a round there is one collective in which each rank sends something to each, and no message but
/// where there are data.
#[test]
fn chunks_are_sent_only_to_those_who_own_them() {
    // A chunk of 8 KiB for each rank, who passes three quarters of it, and the first quarter of the next one.
    let neighbours = |ranks: usize| {
        let rows = 16 * ranks as u64;
        exchanged_for_dataset(ranks, ([rows, 64], [16, 64]), &|rank| {
            let first = 16 * rank as u64 + 4;
            let begin = IndexBox::new([0, 0], [4, if rank == 0 { 64 } else { 0 }]);
            vec![begin, IndexBox::new([first, 0], [16.min(rows - first), 64])]
        })
    };
    let (few, many) = (neighbours(5), neighbours(12));
    for all in [&few, &many] {
        let messages: Vec<u64> = all.iter().map(|counts| counts.messages()).collect();
        let expected: Vec<u64> = (1..=all.len()).map(|rank| u64::from(rank < all.len())).collect();
        assert_eq!(messages, expected);
    }
    assert_eq!(few[1].collectives(), many[1].collectives());
    // All that grows are the lengths, 16 bytes for each rank, and the bytes that are passed of each chunk, 8 for up to 1024 of them.
    assert_eq!(many[1].bytes() - few[1].bytes(), 7 * (16 + 8));
}

/// Beside the messages with the data, which go from rank to rank, but are counted as a collective here.
#[test]
fn a_compressed_field_costs_five_collectives_and_no_message_but_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    // In tests, a round takes one chunk of this size from each rank.
    let written = |ranks: usize, chunk: u64, rows: &(dyn Fn(usize) -> u64 + Sync)| {
        let counts: Vec<u64> = (0..ranks).map(rows).collect();
        let mut dataset = Dataset::new("rho", DataType::Float64, [counts.iter().sum::<u64>(), 16]);
        dataset.layout = Layout::Chunked { shape: Some(vec![chunk, 16]), text: false };
        let of = |datasets: u64| -> Vec<[u64; 3]> {
            new_file(&path);
            run_on_threads(ranks, |comm| {
                // Noise, so that sections are large.
                let mut state = comm.rank() as u64 + 1;
                let mut random = || {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 33).to_ne_bytes()[0]
                };
                let data: Vec<u8> = (0..8 * 16 * counts[comm.rank()]).map(|_| random()).collect();
                let (counting, exchanged) = Counting::new(comm, false);
                let mut file = Writer::create(counting, &path, b"", &params()).unwrap();
                for _ in 0..datasets {
                    file.field(&dataset, &counts, &data).unwrap();
                }
                file.close().unwrap();
                [exchanged.collectives(), exchanged.messages(), exchanged.bytes()]
            })
        };
        let (few, more) = (of(2), of(3));
        (0..ranks).map(|rank| [0, 1, 2].map(|i| more[rank][i] - few[rank][i])).collect::<Vec<_>>()
    };
    for ranks in [2, 5, 12] {
        // Each has its own.
        let own = written(ranks, 1024, &|_| 1024);
        assert!(own.iter().all(|[collectives, messages, _]| (*collectives, *messages) == (4, 0)), "{own:?}");
        // Of a chunk, the last row is that of the next rank.
        let neighbours = written(ranks, 1024, &|rank| 1024 - u64::from(rank == 0));
        assert!(neighbours.iter().all(|[collectives, ..]| *collectives == 5 + 1), "{neighbours:?}");
        let messages: Vec<u64> = neighbours.iter().map(|[_, messages, _]| *messages).collect();
        assert!(messages[0] == 0 && messages[1..].iter().all(|&messages| messages == 1), "{messages:?}");
        // One has all: a round more, which costs another one.
        let from_one = written(ranks, 1024, &|rank| if rank == 1 { 2 * 1024 * ranks as u64 } else { 0 });
        assert!(from_one.iter().all(|[collectives, ..]| *collectives == 5 + 1 + 2), "{from_one:?}");
    }
}

/// What `docs/performance.md` says of contiguous datasets in rows.
#[test]
fn one_agreement_finds_out_who_has_the_rows_of_datasets_of_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    // Rows that rank 0 has, and rows that all have; all are so small that they are buffered.
    let on_first = |rows: u64, rank: u64| IndexBox::new([0], [if rank == 0 { rows } else { 0 }]);
    let shared = |rows: u64, rank: u64| IndexBox::new([rank * rows], [rows]);
    let collectives = |ranks: usize, calls: &(dyn Fn(u64) -> Vec<Vec<(u64, IndexBox)>> + Sync)| {
        let counts = run_on_threads(ranks, |comm| {
            let (rank, (counting, counts)) = (comm.rank() as u64, Counting::new(comm, false));
            let mut file = Writer::create(counting, &path, b"", &params()).unwrap();
            for call in calls(rank) {
                let datasets = call.iter().map(|(rows, _)| Dataset::new("a", DataType::Uint8, [*rows]));
                let datasets: Vec<Dataset> = datasets.collect();
                let (data, bytes) =
                    (vec![7; 40], |region: &IndexBox| usize::try_from(region.items().unwrap()).unwrap());
                let boxes: Vec<[IndexBox; 1]> = call.into_iter().map(|(_, region)| [region]).collect();
                let all = datasets
                    .iter()
                    .zip(&boxes)
                    .map(|(dataset, boxes)| (dataset, &boxes[..], &data[..bytes(&boxes[0])]));
                file.datasets(&all.collect::<Vec<_>>()).unwrap();
            }
            file.close().unwrap();
            counts.collectives()
        });
        assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
        counts[0]
    };
    for ranks in [2, 5] {
        let all = ranks as u64;
        let none = collectives(ranks, &|_| Vec::new());
        // The gather of the small sections when the file is closed, too.
        let first = collectives(ranks, &|rank| vec![vec![(9, on_first(9, rank))]]) - none;
        let of = |calls: &(dyn Fn(u64) -> Vec<Vec<(u64, IndexBox)>> + Sync)| {
            collectives(ranks, calls) - none - first
        };
        let several =
            |rank| vec![vec![(9, on_first(9, rank)), (8, on_first(8, rank)), (7, on_first(7, rank))]];
        assert_eq!(of(&several), 0, "{ranks} ranks");
        let a_call_each = |rank| several(rank)[0].iter().map(|one| vec![one.clone()]).collect();
        assert_eq!(of(&a_call_each), 2, "{ranks} ranks");
        // A new distribution takes a gather and an agreement; that of others of the call is found by the same agreement.
        let new =
            |rank| vec![vec![(9, on_first(9, rank)), (4 * all, shared(4, rank)), (4 * all, shared(4, rank))]];
        assert_eq!(of(&new), 2, "{ranks} ranks");
        let known = |rank| [new(rank), new(rank)].concat();
        assert_eq!(of(&known), 3, "{ranks} ranks");
    }
}
