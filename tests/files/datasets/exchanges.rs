//! How many exchanges datasets cost, and that each of them may fail.

use super::{chunked, walk, with};
use crate::common::watched::Watched;
use scda::{
    Communicator, DataType, Dataset, Encode, ErrorKind, Faults, IndexBox, Layout, Result, Source, ThreadComm,
    WriteOptions, Writer, run_on_threads, uniform_partition,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A communicator that fails the exchange of its rank that comes after `left` others.
fn failing(comm: ThreadComm, left: Arc<AtomicU64>) -> Watched {
    Watched::new(comm, move |_, _| left.fetch_sub(1, Ordering::Relaxed) == 0)
}

/// Writes datasets in all ways.
fn program(comm: impl Communicator + 'static, path: &Path, params: &WriteOptions) -> Result<()> {
    let (rank, size) = (comm.rank() as u64, comm.size() as u64);
    let mut file = Writer::create(comm, path, b"", params)?;
    for layout in [Layout::Contiguous, chunked(&[100, 3])] {
        let mut dataset = Dataset::new("rho", DataType::Int32, [900, 6]);
        dataset.layout = layout;
        let columns = uniform_partition(6, size as usize);
        let region = IndexBox::new([0, columns[..rank as usize].iter().sum()], [900, columns[rank as usize]]);
        let data: Vec<u8> = (0..900 * columns[rank as usize] as u32).flat_map(u32::to_ne_bytes).collect();
        file.dataset(&dataset, std::slice::from_ref(&region), &data)?;
        let counts = uniform_partition(900, size as usize);
        let bytes = counts[rank as usize] as usize * 24;
        file.field(&dataset, &counts, &vec![1; bytes])?;
        let other = Dataset::new("p", DataType::Int32, [900, 6]);
        let region = [region];
        file.datasets(&[(&dataset, &region, &data), (&dataset, &region, &data), (&other, &region, &data)])?;
    }
    // Large rows, whose metadata leave with them.
    let dataset = Dataset::new("q", DataType::Int32, [9000, 2]);
    let counts = uniform_partition(9000, size as usize);
    let own = IndexBox::new([counts[..rank as usize].iter().sum(), 0], [counts[rank as usize], 2]);
    let data = vec![1; 8 * counts[rank as usize] as usize];
    for _ in 0..2 {
        file.dataset(&dataset, std::slice::from_ref(&own), &data)?;
    }
    // The same of chunks: noise, of which others own a part.
    let mut noise = dataset;
    noise.layout = chunked(&[500, 2]);
    let data: Vec<u8> = (0..data.len() as u64 / 8)
        .flat_map(|i| (i + (rank << 40) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_ne_bytes())
        .collect();
    file.field(&noise, &counts, &data)?;
    file.close()
}

#[test]
fn each_exchange_may_fail_on_each_rank() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for check in [false, true] {
        let params = with(|params: &mut WriteOptions| params.tuning.check = check);
        for rank in 0..3 {
            for countdown in (0..).step_by(if check { 3 } else { 1 }) {
                let _ = std::fs::remove_file(&path);
                let results = run_on_threads(3, |comm| {
                    let left = if comm.rank() == rank { countdown } else { u64::MAX };
                    program(failing(comm, Arc::new(AtomicU64::new(left))), &path, &params)
                        .map_err(|error| error.kind())
                });
                assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{rank} {countdown}: {results:?}");
                if results[0].is_ok() {
                    // What failed was the last exchange, if any.
                    assert_eq!(walk(&path), 26);
                    break;
                }
                assert_eq!(results[0], Err(ErrorKind::Mpi));
                if path.exists() && std::fs::metadata(&path).unwrap().len() > 0 {
                    assert!(walk(&path).is_multiple_of(2), "{rank} {countdown}: metadata without data");
                }
            }
        }
    }
}

#[test]
fn accesses_may_fail() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for seed in 0..60 {
        let faults = Some(Faults { every: 6, seed });
        let params = with(|params: &mut WriteOptions| {
            params.tuning.faults = faults;
            params.tuning.aggregation_bytes =
                if seed % 2 == 0 { 4096 } else { params.tuning.aggregation_bytes };
        });
        let results = run_on_threads(3, |comm| program(comm, &path, &params).map_err(|error| error.kind()));
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{seed}: {results:?}");
    }
}

/// The exchanges that each further call costs, among `ranks` ranks; the same on all of them.
fn exchanges(ranks: usize, call: impl Fn(&mut Writer, usize) -> Result<()> + Sync) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let count = |calls| {
        // A file that holds something costs an agreement more: it is emptied when all ranks have found it.
        let _ = std::fs::remove_file(&path);
        let counts = run_on_threads(ranks, |comm| {
            let rank = comm.rank();
            let left = Arc::new(AtomicU64::new(u64::MAX));
            let params = with(|params: &mut WriteOptions| params.tuning.check = false);
            let mut file = Writer::create(failing(comm, Arc::clone(&left)), &path, b"", &params).unwrap();
            (0..calls).for_each(|_| call(&mut file, rank).unwrap());
            file.close().unwrap();
            u64::MAX - left.load(Ordering::Relaxed)
        });
        assert!(counts.windows(2).all(|pair| pair[0] == pair[1]));
        counts[0]
    };
    (count(14) - count(4)) / 10
}

/// What `docs/performance.md` says.
#[test]
fn large_datasets_in_rows_cost_an_agreement_more_than_array_sections() {
    for ranks in [2, 5] {
        let dataset = Dataset::new("rho", DataType::Float64, [10 * ranks as u64, 2000]);
        let (counts, data) = (vec![10; ranks], [1; 160_000]);
        let own = |rank: usize| [IndexBox::new([10 * rank as u64, 0], [10, 2000])];
        let source = Source::Contiguous(&data);
        let array = |file: &mut Writer, _| file.array(b"rho", &counts, 16_000, source, Encode::None);
        assert_eq!(exchanges(ranks, array), 1);
        assert_eq!(exchanges(ranks, |file, _| file.field(&dataset, &counts, &data)), 1);
        assert_eq!(exchanges(ranks, |file, rank| file.dataset(&dataset, &own(rank), &data)), 2);
    }
}

#[test]
fn datasets_cost_few_exchanges() {
    for ranks in [2, 5] {
        let mut dataset = Dataset::new("rho", DataType::Float64, [10 * ranks as u64]);
        let counts = vec![10; ranks];
        let own = |rank: usize| [IndexBox::new([10 * rank as u64], [10])];
        // The short way: nothing but what buffered sections cost.
        assert_eq!(exchanges(ranks, |file, _| file.field(&dataset, &counts, &[1; 80])), 0);
        // An agreement that the ranks have the rows that they had before.
        assert_eq!(exchanges(ranks, |file, rank| file.dataset(&dataset, &own(rank), &[1; 80])), 1);
        // Else an agreement and the counts, and an agreement that they are those of rows: twice for two calls.
        let other = |rank: usize| [IndexBox::new([0], [if rank == 0 { 10 * ranks as u64 } else { 0 }])];
        let in_turn = |file: &mut Writer, rank| {
            file.dataset(&dataset, &own(rank), &[1; 80])?;
            let other = other(rank);
            file.dataset(&dataset, &other, &vec![1; 8 * other[0].count[0] as usize])
        };
        assert_eq!(exchanges(ranks, in_turn), 6);
        // Whether all have their own chunks; two and a sum twice where compressed chunks lie.
        dataset.layout = chunked(&[10]);
        assert_eq!(exchanges(ranks, |file, rank| file.dataset(&dataset, &own(rank), &[1; 80])), 5);
        // Two agreements, lengths and parts in each round.
        dataset.layout = chunked(&[15]);
        assert_eq!(exchanges(ranks, |file, rank| file.dataset(&dataset, &own(rank), &[1; 80])), 9);
        // Once for many datasets.
        let many = |file: &mut Writer, rank| {
            let own = own(rank);
            file.datasets(&[(&dataset, &own[..], &[1; 80][..]); 30])
        };
        // And what buffered sections cost.
        let exchanges = exchanges(ranks, many);
        assert!((9..13).contains(&exchanges), "{exchanges}");
    }
}
