//! How often the ranks meet: a constant number of times for a section, whatever their number, and
//! not at all for small plain ones.

use scda::{
    Communicator, Encode, Params, Reader, Result, Sink, Source, ThreadComm, Writer, run_on_threads,
    uniform_partition,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the collectives of a rank.
struct Counting {
    comm: ThreadComm,
    calls: Arc<AtomicU64>,
}

impl Counting {
    fn count(&self) -> &ThreadComm {
        self.calls.fetch_add(1, Ordering::Relaxed);
        &self.comm
    }
}

impl Communicator for Counting {
    fn rank(&self) -> usize {
        self.comm.rank()
    }
    fn size(&self) -> usize {
        self.comm.size()
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.count().allreduce_min(values)
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.count().allreduce_sum(values)
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        self.count().exscan_sum(values)
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        self.count().allgather(value)
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        self.count().broadcast(bytes, root)
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        self.count().gather(bytes, all)
    }
}

/// Elements of a section.
#[derive(Clone, Copy)]
struct Case {
    varray: bool,
    elements: u64,
    size: u64,
    encode: Encode,
}

fn params() -> Params {
    let mut params = Params::default();
    params.check = false;
    params
}

fn write(comm: Counting, path: &Path, sections: usize, case: Case) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let counts = uniform_partition(case.elements, ranks);
    let sizes = vec![case.size; usize::try_from(counts[rank]).unwrap()];
    let data = vec![7; usize::try_from(counts[rank] * case.size).unwrap()];
    let sums: Vec<u64> = counts.iter().map(|n| n * case.size).collect();
    let mut file = Writer::create(comm, path, b"", &params())?;
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

fn read(comm: Counting, path: &Path, case: Case) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let counts = uniform_partition(case.elements, ranks);
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

/// The collectives of writing and of reading a file of so many sections.
fn collectives(ranks: usize, sections: usize, case: Case) -> [u64; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let counts = run_on_threads(ranks, |comm| {
        let calls = [0, 1].map(|_| Arc::new(AtomicU64::new(0)));
        let counting = |i: usize| Counting { comm: comm.clone(), calls: Arc::clone(&calls[i]) };
        write(counting(0), &path, sections, case).unwrap();
        read(counting(1), &path, case).unwrap();
        calls.map(|calls| calls.load(Ordering::Relaxed))
    });
    assert!(counts.iter().all(|c| *c == counts[0]));
    counts[0]
}

/// The collectives that each further section costs.
fn per_section(ranks: usize, case: Case) -> [u64; 2] {
    let (few, many) = (collectives(ranks, 10, case), collectives(ranks, 110, case));
    // The windows of reading ahead and the flushes of the buffer are few.
    [0, 1].map(|i| (many[i] - few[i] + 20) / 100)
}

#[test]
fn small_sections_cost_few_collectives_or_none() {
    for ranks in [2, 5] {
        let small = |varray, encode| Case { varray, elements: 20, size: 30, encode };
        assert_eq!(per_section(ranks, small(false, Encode::None)), [0, 0]);
        // The sizes that a rank passes for reading may be wrong on it alone.
        assert_eq!(per_section(ranks, small(true, Encode::None)), [0, 1]);
        // Where compressed bytes lie depends on all ranks; decoding may fail on one.
        assert_eq!(per_section(ranks, small(false, Encode::Always)), [3, 1]);
        assert_eq!(per_section(ranks, small(true, Encode::Always)), [3, 1]);
    }
}

#[test]
fn large_sections_cost_as_many_collectives_for_any_number_of_ranks() {
    for (varray, encode, most) in [
        (false, Encode::None, [1, 3]),
        (true, Encode::None, [1, 6]),
        (false, Encode::Always, [3, 6]),
        (true, Encode::Always, [3, 9]),
    ] {
        let large = Case { varray, elements: 500, size: 2000, encode };
        let few = collectives(2, 6, large);
        for ranks in [3, 8] {
            assert_eq!(collectives(ranks, 6, large), few, "{ranks} ranks");
        }
        let one = collectives(2, 5, large);
        assert!((0..2).all(|i| few[i] - one[i] <= most[i]), "{:?}", [few[0] - one[0], few[1] - one[1]]);
    }
}
