//! Every exchange between the ranks of a program that uses every function fails, in its turn, on every
//! rank: all get the same error, none waits for another, nothing is left, and not a byte is lost.
//! (`ffi-tests/injected.c` does the same to calls of the system and of MPI.)

#![allow(unsafe_code)] // an allocator that counts
#![allow(clippy::cast_possible_truncation)] // test data

mod common;

use common::watched::Watched;
use common::{Data, Model, ModelSection, Want, options, tuned};
use scda::{
    Communicator, Content, DataType, Dataset, DatasetHandle, Encode, Error, ErrorKind, Faults, Hdf5,
    IndexBox, Layout as DataLayout, ReadOptions, Reader, Request, Result, SectionType, Sink, Solo,
    SuperblockState, WriteOptions, Writer, run_on_threads,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the bytes in use that the threads of a test have allocated, whichever thread frees them. The harness allocates meanwhile in
/// threads of its own, for instance to start the next test.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// The layout of a block with a mark before it that says whether the block is counted; and where the block is in that.
fn marked(layout: Layout) -> Option<(Layout, usize)> {
    Layout::new::<bool>().extend(layout).ok()
}

// SAFETY: the system's allocator does the work. What it returns has room for the mark at its beginning and the block after that, aligned as
// both need it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((whole, offset)) = marked(layout) else { return std::ptr::null_mut() };
        // SAFETY: `whole` has at least the mark, so its size is not 0.
        let start = unsafe { System.alloc(whole) };
        if start.is_null() {
            return start;
        }
        let is_counted = IS_COUNTED.get();
        IN_USE.fetch_add(if is_counted { layout.size() } else { 0 }, Ordering::Relaxed);
        // SAFETY: the first byte is the mark's.
        unsafe { start.cast::<bool>().write(is_counted) };
        // SAFETY: the block begins there in what was allocated.
        unsafe { start.add(offset) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // It was allocated with this layout.
        let Some((whole, offset)) = marked(layout) else { return };
        // SAFETY: `alloc` has returned this pointer for this layout, `offset` after what `System` returned.
        let start = unsafe { pointer.sub(offset) };
        // SAFETY: the mark that `alloc` wrote.
        let is_counted = unsafe { start.cast::<bool>().read() };
        IN_USE.fetch_sub(if is_counted { layout.size() } else { 0 }, Ordering::Relaxed);
        // SAFETY: `System` has returned it for this layout.
        unsafe { System.dealloc(start, whole) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test after the other, because the memory of all their threads is counted together.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every kind of section, small and large, plain and encoded.
fn model() -> Model {
    let mut sections = Vec::new();
    for encode in [Encode::None, Encode::Always] {
        for bytes in [40, 3000, 20_000] {
            let elements: Vec<Vec<u8>> = (0..100).map(|i| vec![b'v'; i % (bytes / 50 + 1)]).collect();
            let all = [
                Data::Inline([b'i'; 32]),
                Data::Block(vec![b'b'; bytes]),
                Data::Array { size: bytes as u64 / 20, elements: vec![vec![b'a'; bytes / 20]; 20] },
                Data::Varray(elements),
            ];
            for data in all {
                let encode = if matches!(data, Data::Inline(_)) { Encode::None } else { encode };
                sections.push(ModelSection { user: b"u".to_vec(), data, encode });
            }
        }
    }
    Model { vendor: Vec::new(), user: b"faults".to_vec(), sections }
}

/// Writes the model, with a commit in the middle if the file is sealed.
fn write(comm: Watched, path: &Path, model: &Model, params: &WriteOptions) -> Result<()> {
    let ranks = (comm.rank(), comm.size());
    let file = Writer::create(comm, path, &model.user, params)?;
    common::write_sections(file, ranks, &model.sections, 1, |file, count| {
        if params.seal && count == model.sections.len() / 2 { file.commit() } else { Ok(()) }
    })
}

/// Writes or reads on `size` ranks while the exchange number `k` of `rank` fails. Returns what all ranks
/// got, and whether there was such an exchange.
fn run(
    model: &Model,
    path: &Path,
    params: &WriteOptions,
    size: usize,
    writing: bool,
    failing: (usize, u64),
) -> (Option<ErrorKind>, bool) {
    run_program(size, failing, |comm| match writing {
        true => write(comm, path, model, params),
        false => common::read(comm, path, model, &tuned(&params.tuning), Want::All, 1),
    })
}

/// As above, for any program.
fn run_program(
    size: usize,
    (rank, k): (usize, u64),
    program: impl Fn(Watched) -> Result<()> + Sync,
) -> (Option<ErrorKind>, bool) {
    let countdowns: Vec<Arc<AtomicU64>> =
        (0..size).map(|r| Arc::new(AtomicU64::new(if r == rank { k } else { u64::MAX / 2 }))).collect();
    let results = run_on_threads(size, |comm| {
        IS_COUNTED.set(true);
        let countdown = Arc::clone(&countdowns[comm.rank()]);
        program(Watched::new(comm, move |_, _| countdown.fetch_sub(1, Ordering::Relaxed) == 0))
    });
    let errors: Vec<Option<String>> =
        results.iter().map(|r| r.as_ref().err().map(Error::to_string)).collect();
    assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "exchange {k} of rank {rank}: {errors:?}");
    let kind = results.into_iter().next().and_then(Result::err).map(|error| error.kind());
    let is_met = countdowns[rank].load(Ordering::Relaxed) > u64::MAX / 2;
    (kind, is_met)
}

/// Appends the sections of the model, with a commit in the middle.
fn append(comm: Watched, path: &Path, model: &Model, params: &WriteOptions) -> Result<()> {
    let ranks = (comm.rank(), comm.size());
    let file = Writer::append(comm, path, params)?;
    common::write_sections(file, ranks, &model.sections, 1, |file, count| {
        if count == model.sections.len() / 2 { file.commit() } else { Ok(()) }
    })
}

#[test]
fn an_exchange_that_fails_while_appending_leaves_what_was_committed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    // Each kind of section, small or large, plain and encoded.
    let mut model = model();
    model.sections = model.sections.into_iter().step_by(3).collect();
    let mut cases = 0;
    for (aggregation, check, atomic, torn) in [
        (64 << 10, false, false, true),
        (0, false, true, false),
        (64 << 10, true, false, false),
        (0, false, false, true),
    ] {
        let mut params: WriteOptions = options();
        (params.tuning.aggregation_bytes, params.tuning.check, params.seal) = (aggregation, check, true);
        run(&model, &path, &params, 1, true, (0, u64::MAX / 2));
        let committed = std::fs::read(&path).unwrap();
        let before = [&committed[..], &b"A torn ---"[..if torn { 10 } else { 0 }]].concat();
        params.atomic = atomic;
        std::fs::write(&path, &before).unwrap();
        run_program(1, (0, u64::MAX / 2), |comm| append(comm, &path, &model, &params));
        let whole = std::fs::read(&path).unwrap();
        assert!(whole.starts_with(&committed) && whole.len() > committed.len());
        for size in [2, 3] {
            for rank in 0..size {
                for k in 0.. {
                    std::fs::write(&path, &before).unwrap();
                    let (kind, is_met) =
                        run_program(size, (rank, k), |comm| append(comm, &path, &model, &params));
                    let left = std::fs::read(&path).unwrap();
                    assert!(kind.is_none_or(|kind| kind == ErrorKind::Mpi), "{kind:?}");
                    if atomic {
                        assert!(
                            left == if kind.is_some() { &before[..] } else { &whole },
                            "exchange {k} of rank {rank}"
                        );
                    } else {
                        // Nothing was changed, or what is not whole is removed.
                        let is_good =
                            left == before || left.len() >= committed.len() && whole.starts_with(&left);
                        assert!(
                            is_good && (kind.is_some() || left == whole),
                            "exchange {k} of rank {rank}: {kind:?}"
                        );
                        if kind.is_some() && k % 8 == 0 {
                            run_program(1, (0, u64::MAX / 2), |comm| append(comm, &path, &model, &params));
                            let next = std::fs::read(&path).unwrap();
                            assert!(next.starts_with(&committed) && next.len() >= whole.len());
                        }
                    }
                    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
                    if !is_met {
                        assert_eq!(kind, None);
                        break;
                    }
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} exchanges failed");
    assert!(cases > 300, "{cases}");
}

/// Looks sections up and reads ranges of them, each rank its own.
fn look_up(comm: Watched, path: &Path, model: &Model, params: &ReadOptions) -> Result<()> {
    let (rank, size) = (comm.rank() as u64, comm.size() as u64);
    let mut file = Reader::open(comm, path, params)?;
    let count = model.sections.len() as u64;
    assert_eq!(file.sections()?, count);
    assert_eq!(file.find(b"u", -1)?, Some(count - 1));
    assert_eq!(file.find(b"absent", 0)?, None);
    for number in [count - 1, 2, 9, 13, 19] {
        file.seek_section(number)?;
        let section = file.next_section(true)?.expect("a section");
        let of = |n: u64| n * rank / size..n * (rank + 1) / size;
        match section.section_type {
            SectionType::Block => {
                let range = of(section.size);
                let mut data = vec![0; (range.end - range.start) as usize];
                file.ranges().read_block(range, &mut data)?;
                assert!(data.iter().all(|&byte| byte == b'b'));
            }
            SectionType::Array => {
                let range = of(section.count);
                let mut data = vec![0; ((range.end - range.start) * section.size) as usize];
                file.ranges().read_array(range, section.size, Sink::Contiguous(&mut data))?;
                assert!(data.iter().all(|&byte| byte == b'a'));
            }
            SectionType::Varray => {
                let range = of(section.count);
                let mut sizes = vec![0; (range.end - range.start) as usize];
                file.ranges().read_varray_sizes(range.clone(), &mut sizes)?;
                let mut data = vec![0; sizes.iter().sum::<u64>() as usize];
                file.ranges().read_varray(range, &sizes, Sink::Contiguous(&mut data))?;
                assert!(data.iter().all(|&byte| byte == b'v'));
            }
            SectionType::Inline => file.skip()?,
        }
    }
    file.close()
}

#[test]
fn an_exchange_that_fails_while_looking_up_is_an_error_of_all() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let model = model();
    let (mut cases, mut silent) = (0, 0);
    for (seal, verify, check) in
        [(true, false, false), (true, true, false), (false, false, false), (true, true, true)]
    {
        let mut params: WriteOptions = options();
        (params.seal, params.tuning.check) = (seal, check);
        run(&model, &path, &params, 1, true, (0, u64::MAX / 2));
        let mut params: ReadOptions = tuned(&params.tuning);
        params.verify = verify;
        for size in [2, 3, 5] {
            for rank in 0..size {
                for k in 0.. {
                    let (kind, is_met) =
                        run_program(size, (rank, k), |comm| look_up(comm, &path, &model, &params));
                    if !is_met {
                        assert_eq!(kind, None);
                        break;
                    }
                    assert!(kind.is_none_or(|kind| kind == ErrorKind::Mpi), "{kind:?}");
                    cases += 1;
                    silent += usize::from(kind.is_none());
                }
            }
        }
    }
    // The last agreement of each rank and program.
    assert_eq!(silent, 4 * (2 + 3 + 5));
    assert!(cases > 500, "{cases}");
}

/// These numbers of programs failed at least, all by an access to the file, or did not.
fn expect_some_io(outcomes: &[Option<ErrorKind>], least_failed: usize, least_fine: usize) {
    assert!(outcomes.iter().flatten().all(|kind| *kind == ErrorKind::Io), "{outcomes:?}");
    let failed = outcomes.iter().flatten().count();
    let fine = outcomes.len() - failed;
    assert!(failed >= least_failed && fine >= least_fine, "{failed} {fine}");
}

/// As above, where accesses of the file fail.
#[test]
fn an_access_that_fails_while_looking_up_is_an_error_of_all() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let model = model();
    let mut outcomes = Vec::new();
    for seed in 0..90 {
        let mut params: WriteOptions = options();
        (params.seal, params.tuning.check) = (seed % 4 > 0, seed % 2 == 0);
        run(&model, &path, &params, 1, true, (0, u64::MAX / 2));
        let mut params: ReadOptions = tuned(&params.tuning);
        params.verify = seed % 4 == 1;
        params.tuning.faults = Some(Faults { every: 1 + seed * 2, seed });
        let size = 1 + seed as usize % 3;
        let (kind, _) = run_program(size, (0, u64::MAX / 2), |comm| look_up(comm, &path, &model, &params));
        outcomes.push(kind);
    }
    expect_some_io(&outcomes, 31, 11);
}

/// Appends two steps to a file that is an HDF5 file as well, each with a view.
fn write_views(comm: Watched, path: &Path, params: &WriteOptions) -> Result<()> {
    let is_first = comm.rank() == 0;
    let mut file = Writer::append(comm, path, params)?;
    for step in 0..2 {
        let own: &[IndexBox] = if is_first { &[IndexBox::all(&[9])] } else { &[] };
        file.dataset(&Dataset::new("u", DataType::Uint8, [9]), own, &[step; 9][..9 * own.len()])?;
        if step == 0 {
            file.commit()?;
        }
    }
    file.close()
}

/// Whatever fails, HDF5 is led to a view of what is sealed, and the next job writes another one.
#[test]
fn what_fails_while_views_are_written_leaves_one_that_is_right() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let mut params: WriteOptions = options();
    (params.seal, params.hdf5, params.sync) = (true, Hdf5::Commits, true);
    Writer::create(Solo, &path, b"", &params).unwrap().close().unwrap();
    let end = u64::MAX / 2;
    assert_eq!(run_program(1, (0, end), |comm| write_views(comm, &path, &params)).0, None);
    let before = std::fs::read(&path).unwrap();
    assert_eq!(run_program(1, (0, end), |comm| write_views(comm, &path, &params)).0, None);
    let whole = std::fs::read(&path).unwrap();
    let superblock_of = |what: &str| {
        let mut reader = Reader::open(Solo, &path, &options()).unwrap();
        let Some(SuperblockState::View(found)) = reader.inspect().superblock().unwrap() else {
            panic!("{what}: no superblock");
        };
        let expected = reader.inspect().superblock_up_to(found.end).unwrap();
        assert_eq!(expected.map(|expected| expected.root), Some(found.root), "{what}");
        found.end
    };
    let (mut failed, mut fine) = (0, 0);
    let mut go_on = |kind: Option<ErrorKind>, what: &str| {
        let left = std::fs::read(&path).unwrap();
        let shown = superblock_of(what);
        match kind {
            None => assert!(left == whole, "{what}"),
            Some(_) => {
                assert!(shown >= before.len() as u64 && shown <= left.len() as u64, "{what}");
                let shown = 560..usize::try_from(shown).unwrap();
                assert!(left[shown.clone()] == whole[shown], "{what}");
            }
        }
        assert_eq!(run_program(1, (0, end), |comm| write_views(comm, &path, &params)).0, None, "{what}");
        assert_eq!(superblock_of(what), std::fs::metadata(&path).unwrap().len(), "{what}");
        failed += usize::from(kind.is_some());
        fine += usize::from(kind.is_none());
        std::fs::write(&path, &before).unwrap();
    };
    std::fs::write(&path, &before).unwrap();
    for (size, rank) in [(2, 0), (2, 1), (3, 2)] {
        for k in 0.. {
            let (kind, is_met) = run_program(size, (rank, k), |comm| write_views(comm, &path, &params));
            go_on(kind, &format!("exchange {k} of rank {rank} of {size}"));
            if !is_met {
                break;
            }
        }
    }
    for seed in 0..200 {
        let mut params = params.clone();
        params.tuning.faults = Some(Faults { every: 5 + seed, seed });
        let size = 1 + seed as usize % 3;
        let (kind, _) = run_program(size, (0, end), |comm| write_views(comm, &path, &params));
        go_on(kind, &format!("accesses of seed {seed}"));
    }
    assert!(failed > 100 && fine > 20, "{failed} {fine}");
}

/// A file with datasets of each layout, and a group.
fn write_datasets(path: &Path, seal: bool) {
    let mut params: WriteOptions = options();
    params.seal = seal;
    let mut file = Writer::create(Solo, path, b"", &params).unwrap();
    file.group("/", "{\"title\": \"faults\"}").unwrap();
    for (name, layout) in [
        ("rows", DataLayout::Contiguous),
        ("binary", DataLayout::Chunked { shape: Some(vec![40, 40]), text: false }),
        ("text", DataLayout::Chunked { shape: Some(vec![40, 40]), text: true }),
    ] {
        let mut dataset = Dataset::new(name, DataType::Uint16, [200, 200]);
        dataset.layout = layout;
        file.dataset(&dataset, &[IndexBox::all(&dataset.shape)], &[b'd'; 80_000]).unwrap();
    }
    file.close().unwrap();
}

/// Reads datasets by name, together and one after the other, each rank boxes of its own.
fn read_datasets(comm: Watched, path: &Path, params: &ReadOptions) -> Result<()> {
    let rank = comm.rank() as u64;
    let mut file = Reader::open(comm, path, params)?;
    let read = |file: &mut Reader, dataset: &DatasetHandle| {
        let regions = [IndexBox::new([30 * rank, 7], [35, 100]), IndexBox::new([3, 3], [rank, 150])];
        let mut data = vec![0; 7000 + 300 * rank as usize];
        dataset.read(file, &regions, &mut data)?;
        assert!(data.iter().all(|&byte| byte == b'd'));
        Ok::<(), Error>(())
    };
    let mut all = Vec::new();
    for name in ["text", "binary", "rows"] {
        let dataset = file.dataset(name)?.expect("a dataset");
        assert_eq!(dataset.shape, [200, 200]);
        read(&mut file, &dataset)?;
        all.push(dataset);
    }
    let (regions, mut data) = ([IndexBox::new([30 * rank, 7], [35, 100])], [[0; 7000]; 3]);
    let requests = all.iter().zip(&mut data);
    let requests = requests.map(|(dataset, data)| Request { dataset, regions: &regions, data: data.into() });
    file.read_datasets(requests.collect())?;
    assert!(data.iter().flatten().all(|&byte| byte == b'd'));
    assert!(file.group("/")?.is_some());
    let mut number = 0;
    while let Some(entry) = file.next_entry(number)? {
        number = entry.end();
        if let Content::Dataset(dataset) = &entry.content {
            read(&mut file, dataset)?;
        }
    }
    file.close()
}

#[test]
fn an_exchange_or_access_that_fails_while_reading_datasets_is_an_error_of_all() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let (mut cases, mut silent) = (0, 0);
    for (seal, check) in [(true, false), (false, false), (true, true)] {
        write_datasets(&path, seal);
        let mut params: ReadOptions = options();
        (params.tuning.check, params.verify) = (check, check);
        for size in [2, 3] {
            for rank in 0..size {
                for k in 0.. {
                    let (kind, is_met) =
                        run_program(size, (rank, k), |comm| read_datasets(comm, &path, &params));
                    if !is_met {
                        assert_eq!(kind, None);
                        break;
                    }
                    assert!(kind.is_none_or(|kind| kind == ErrorKind::Mpi), "{kind:?}");
                    cases += 1;
                    silent += usize::from(kind.is_none());
                }
            }
        }
    }
    // The last agreement of each rank and program.
    assert_eq!(silent, 3 * (2 + 3));
    assert!(cases > 300, "{cases}");
    let mut outcomes = Vec::new();
    for seed in 0..60 {
        write_datasets(&path, seed % 4 > 0);
        let mut params: ReadOptions = options();
        (params.tuning.check, params.verify) = (seed % 2 == 0, seed % 4 == 1);
        params.tuning.faults = Some(Faults { every: 1 + seed * 5, seed });
        let size = 1 + seed as usize % 3;
        let (kind, _) = run_program(size, (0, u64::MAX / 2), |comm| read_datasets(comm, &path, &params));
        outcomes.push(kind);
    }
    expect_some_io(&outcomes, 16, 6);
}

/// The stream of a rank: what it has before the commit, and all of it.
fn stream_of(rank: u64) -> (Vec<u8>, Vec<u8>) {
    let first = vec![b'0' + rank as u8; 20_000 * rank as usize + 10];
    let all = [&first[..], &[b'e'; 5000]].concat();
    (first, all)
}

/// Writes streams, with a commit between their parts if the file is sealed.
fn write_streams(comm: Watched, path: &Path, params: &WriteOptions) -> Result<()> {
    let (first, all) = stream_of(comm.rank() as u64);
    let mut file = Writer::create(comm, path, b"", params)?;
    file.block(b"before", 0, 3, Some(b"abc"), Encode::None)?;
    file.begin_streams(b"log", 4096)?;
    // An error of this rank alone is one of all in the next call.
    let _ = file.write_stream(&first);
    if params.seal {
        file.commit()?
    } else {
        file.flush()?
    }
    let _ = file.write_stream(&all[first.len()..]);
    file.end_streams()?;
    file.block(b"behind", 0, 3, Some(b"abc"), Encode::None)?;
    file.close()
}

/// Reads all streams on each rank; what they are is told if they are there.
fn read_streams(
    comm: impl Communicator + 'static,
    path: &Path,
    params: &ReadOptions,
) -> Result<Vec<Vec<u8>>> {
    let mut file = Reader::open(comm, path, params)?;
    let mut found = Vec::new();
    for record in [-1, 0] {
        let Some(streams) = file.streams_record(b"log", record)? else { break };
        found.clear();
        for task in 0..streams.tasks() {
            let stream = streams.stream(&mut file, task)?;
            let mut data = vec![0; stream.bytes() as usize];
            stream.read(&mut file, 0, &mut data)?;
            found.push(data);
        }
    }
    file.close()?;
    Ok(found)
}

#[test]
fn an_exchange_that_fails_while_streams_are_written_or_read_is_an_error_of_all() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let (mut cases, mut kept) = (0, 0);
    for (seal, check) in [(true, false), (false, false), (true, true)] {
        let mut params: WriteOptions = options();
        (params.tuning.check, params.seal) = (check, seal);
        for size in [2, 3] {
            let none = (0, u64::MAX / 2);
            assert_eq!(run_program(size, none, |comm| write_streams(comm, &path, &params)).0, None);
            let whole = std::fs::read(&path).unwrap();
            let all: Vec<_> = (0..size as u64).map(|rank| stream_of(rank).1).collect();
            assert!(read_streams(Solo, &path, &tuned(&params.tuning)).unwrap() == all);
            for rank in 0..size {
                for k in 0.. {
                    let read = |comm| {
                        read_streams(comm, &path, &tuned(&params.tuning)).map(|found| assert!(found == all))
                    };
                    let (kind, is_met) = run_program(size, (rank, k), read);
                    assert!(kind.is_none_or(|kind| kind == ErrorKind::Mpi), "{kind:?}");
                    if !is_met {
                        break;
                    }
                    cases += 1;
                }
                for k in 0.. {
                    std::fs::remove_file(&path).unwrap();
                    let (kind, is_met) =
                        run_program(size, (rank, k), |comm| write_streams(comm, &path, &params));
                    assert!(kind.is_none_or(|kind| kind == ErrorKind::Mpi), "{kind:?}");
                    match kind {
                        None => {
                            assert!(std::fs::read(&path).unwrap() == whole, "exchange {k} of rank {rank}")
                        }
                        // What was committed is there, and nothing else is taken for streams.
                        Some(_) if Writer::append(Solo, &path, &params).and_then(Writer::close).is_ok() => {
                            let found = read_streams(Solo, &path, &options()).unwrap();
                            let is_right = |(rank, found): (u64, &Vec<u8>)| {
                                let (first, all) = stream_of(rank);
                                *found == first || *found == all
                            };
                            assert!((0..).zip(&found).all(is_right), "exchange {k} of rank {rank}");
                            kept += usize::from(!found.is_empty());
                        }
                        Some(_) => {}
                    }
                    if !is_met {
                        assert_eq!(kind, None);
                        break;
                    }
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} exchanges failed, {kept} times streams were there");
    assert!(cases > 200 && kept > 20, "{cases} {kept}");
}

#[test]
fn only_what_the_threads_of_a_test_allocate_is_counted() {
    let _alone = alone();
    let used = || IN_USE.load(Ordering::Relaxed);
    let before = used();
    let of_others = vec![1_u8; 600];
    assert_eq!(used(), before);
    let of_ranks = run_on_threads(2, |_| {
        IS_COUNTED.set(true);
        let of_rank = vec![1_u64; 100];
        IS_COUNTED.set(false);
        of_rank
    });
    assert_eq!(used(), before + 2 * 800);
    IS_COUNTED.set(true);
    drop(of_others);
    assert_eq!(used(), before + 2 * 800);
    IS_COUNTED.set(false);
    drop(of_ranks);
    assert_eq!(used(), before);
}

#[test]
fn an_exchange_that_fails_on_one_rank_is_an_error_of_all() {
    let _alone = alone();
    IS_COUNTED.set(true);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let model = model();
    let (mut cases, mut silent) = (0, 0);
    let sizes = &[2, 3, 5][..3_usize.div_ceil(common::sampled::one_of(2))];
    for &size in sizes {
        for (aggregation, check, seal) in [(64 << 10, false, true), (0, false, false), (64 << 10, true, true)]
        {
            let mut params: WriteOptions = options();
            params.tuning.aggregation_bytes = aggregation;
            params.tuning.check = check;
            // What a process remembers of files with room for a view would count as a leak.
            (params.atomic, params.seal, params.hdf5) = (true, seal, Hdf5::Never);
            let (result, _) = run(&model, &path, &params, 1, true, (0, u64::MAX / 2));
            assert_eq!(result, None);
            let whole = std::fs::read(&path).unwrap();
            for writing in [true, false] {
                for rank in 0..size {
                    for k in 0.. {
                        let inode = || std::fs::metadata(&path).unwrap().ino();
                        let old = inode();
                        let before = IN_USE.load(Ordering::Relaxed);
                        let (kind, is_met) = run(&model, &path, &params, size, writing, (rank, k));
                        let after = IN_USE.load(Ordering::Relaxed);
                        assert_eq!(after, before, "exchange {k} of rank {rank}: bytes in use");
                        assert!(std::fs::read(&path).unwrap() == whole);
                        // An error means that the old file stands, success that the new one has its name.
                        let is_new = inode() != old;
                        assert_eq!(
                            is_new,
                            writing && kind.is_none(),
                            "exchange {k} of rank {rank}: {kind:?}"
                        );
                        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
                        if !is_met {
                            assert_eq!(kind, None);
                            break;
                        }
                        // Before the new file gets its name the ranks know that all is well, and after it nothing is left
                        // to fail: errors of these two agreements, which have their results, are none of the file.
                        assert!(kind.is_none_or(|kind| kind == ErrorKind::Mpi), "{kind:?}");
                        cases += 1;
                        silent += usize::from(kind.is_none());
                    }
                }
            }
        }
    }
    println!("{cases} exchanges failed");
    // Two for each rank of each program that writes, and one for each that reads.
    let ranks: usize = sizes.iter().sum();
    assert_eq!(silent, 3 * 3 * ranks);
    assert!(cases > 100 * ranks, "{cases}");
}
