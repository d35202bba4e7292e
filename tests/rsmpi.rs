//! Programs on the crate `mpi` (rsmpi), run under mpiexec: each test starts this file again, for its part on every rank.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // test data

#[allow(dead_code)] // its main
#[path = "../examples/rust/checkpoint.rs"]
mod checkpoint;
#[path = "common/options.rs"]
mod options;

use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use options::{Options, options};
use scda::{
    DataType, Dataset, Driver, Encode, ErrorKind, IndexBox, Mpi, ReadOptions, Reader, Sink, Source,
    WriteOptions, Writer,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The file that a rank works on; the variable is set for those under mpiexec.
const FILE: &str = "SCDA_TEST_FILE";

fn file() -> PathBuf {
    std::env::var_os(FILE).expect("run by another test, under mpiexec").into()
}

/// mpiexec of the MPI that this was built with: beside mpicc, of the same name.
fn mpiexec() -> PathBuf {
    let mpicc = PathBuf::from(std::env::var_os("MPICC").unwrap_or_else(|| "mpicc".into()));
    mpicc.with_file_name(mpicc.file_name().unwrap().to_str().unwrap().replace("mpicc", "mpiexec"))
}

/// Runs a test of this file on `ranks` ranks, and returns what it printed.
fn run(part: &str, ranks: usize, path: &Path) -> String {
    run_with(part, ranks, path, &[])
}

/// As above, with these environment variables.
fn run_with(part: &str, ranks: usize, path: &Path, variables: &[(&str, &str)]) -> String {
    // One at a time, also of other processes: an MPI job takes all cores.
    // On NFS, a file that is open for reading only cannot be locked so.
    let turn = std::fs::File::create(concat!(env!("CARGO_TARGET_TMPDIR"), "/turn")).unwrap();
    rustix::fs::flock(&turn, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let mut child = Command::new(mpiexec());
    child.args(["-n", &ranks.to_string()]).arg(std::env::current_exe().unwrap());
    child.args(["--exact", part, "--ignored", "--nocapture", "--test-threads=1"]).env(FILE, path);
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ] {
        child.env(name, value);
    }
    child.envs(variables.iter().copied());
    let output = path.with_extension("output");
    let log = std::fs::File::create(&output).unwrap();
    child.stdout(log.try_clone().unwrap()).stderr(log);
    let mut child = child.spawn().unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if start.elapsed() > Duration::from_secs(300) {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = String::from_utf8_lossy(&std::fs::read(output).unwrap()).into_owned();
    assert!(status.is_some_and(|status| status.success()), "{part} on {ranks} ranks: {status:?}\n{text}");
    // The ranks write over one another's lines, but all have found the test if one has.
    assert!(text.contains("running 1 test") && !text.contains("running 0 tests"), "{text}");
    text
}

#[test]
fn each_rank_gets_its_part() {
    let folder = tempfile::tempdir().unwrap();
    for ranks in [1, 2, 5] {
        run("part_exchange", ranks, &folder.path().join("none"));
    }
}

#[test]
#[ignore = "run by the test above"]
fn part_exchange() {
    use scda::Communicator as _;
    let universe = mpi::initialize().unwrap();
    let comm = Mpi::new(&universe.world()).unwrap().with_longest_message(10_000);
    let (rank, size) = (comm.rank(), comm.size());
    // What rank `from` sends to rank `to`; some send nothing, and some more than one message of 10000 bytes.
    let part = |from: usize, to: usize| {
        let length = [0, 1, 40_000, 7][(from * 3 + to) % 4];
        (0..length).map(|i| (i * 7 + from * 16 + to) as u8).collect::<Vec<u8>>()
    };
    let lengths = |parts: &[Vec<u8>]| parts.iter().map(Vec::len).collect::<Vec<_>>();
    let sent: Vec<Vec<u8>> = (0..size).map(|to| part(rank, to)).collect();
    let expected: Vec<Vec<u8>> = (0..size).map(|from| part(from, rank)).collect();
    let mut received = vec![9; expected.concat().len()];
    comm.alltoallv(&sent.concat(), &lengths(&sent), &mut received, &lengths(&expected)).unwrap();
    assert!(received == expected.concat(), "rank {rank} of {size}");
    // Parts of one length.
    let part = |from: usize, to: usize| [from as u8, to as u8, 7];
    let sent: Vec<u8> = (0..size).flat_map(|to| part(rank, to)).collect();
    let mut received = vec![9; 3 * size];
    comm.alltoall(&sent, &mut received).unwrap();
    assert_eq!(received, (0..size).flat_map(|from| part(from, rank)).collect::<Vec<u8>>());
    comm.alltoall(&[], &mut []).unwrap();
    assert!(comm.alltoall(&sent, &mut received[1..]).is_err());
}

/// So many small sections that the ranks look for their nodes, and read ahead by them.
fn write_many(comm: impl scda::Communicator + 'static, path: &Path) {
    let counts = scda::uniform_partition(1000, comm.size());
    let first: u64 = counts[..comm.rank()].iter().sum();
    let own = first..first + counts[comm.rank()];
    let mut file = Writer::create(comm, path, b"", &small_buffers()).unwrap();
    for section in 0..100 {
        let data: Vec<u8> = own.clone().map(|i| (i * 7 + section) as u8).collect();
        file.array(b"small", &counts, 1, Source::Contiguous(&data), Encode::None).unwrap();
    }
    file.close().unwrap();
}

fn small_buffers<T: Options>() -> T {
    let mut params: T = options();
    params.tuning().aggregation_bytes = 16 << 10;
    params
}

#[test]
fn nodes_change_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("alone");
    write_many(scda::Solo, &alone);
    for ranks in ["2", "0"] {
        let path = folder.path().join(ranks);
        run_with("part_nodes", 5, &path, &[("SCDA_NODE_RANKS", ranks)]);
        assert!(std::fs::read(path).unwrap() == std::fs::read(&alone).unwrap(), "{ranks} ranks a node");
    }
}

#[test]
#[ignore = "run by the test above"]
fn part_nodes() {
    use scda::Communicator as _;
    let universe = mpi::initialize().unwrap();
    let comm = || Mpi::new(&universe.world()).unwrap();
    let nodes = comm().nodes().unwrap();
    match std::env::var("SCDA_NODE_RANKS").unwrap().parse::<usize>().unwrap() {
        0 => assert!(nodes.is_none()),
        ranks => {
            let (rank, size) = (comm().rank(), comm().size());
            let (node, leaders) = nodes.unwrap().into_parts();
            assert_eq!((node.rank(), node.size()), (rank % ranks, ranks.min(size - rank / ranks * ranks)));
            let leaders = leaders.map(|leaders| (leaders.rank(), leaders.size()));
            assert_eq!(leaders, (rank % ranks == 0).then_some((rank / ranks, size.div_ceil(ranks))));
        }
    }
    write_many(comm(), &file());
    let (rank, counts) = (comm().rank(), scda::uniform_partition(1000, comm().size()));
    let first: u64 = counts[..rank].iter().sum();
    let mut data = vec![0; counts[rank] as usize];
    let mut reader = Reader::open(comm(), file(), &small_buffers()).unwrap();
    for section in 0..100 {
        reader.next_section(true).unwrap().unwrap();
        reader.read_array(&counts, 1, Sink::Contiguous(&mut data)).unwrap();
        assert!((first..).zip(&data).all(|(i, &byte)| byte == (i * 7 + section) as u8));
    }
    reader.close().unwrap();
}

/// Arrays and a varray of small pieces, which writers of each node write if the parameters say so.
fn write_pieces(comm: impl scda::Communicator + 'static, path: &Path, params: &WriteOptions) {
    let counts = scda::uniform_partition(1000, comm.size());
    let first: u64 = counts[..comm.rank()].iter().sum();
    let own = first..first + counts[comm.rank()];
    let data: Vec<u8> = own.clone().flat_map(|i| [i as u8; 90]).collect();
    let sizes = vec![90; (own.end - own.start) as usize];
    let mut file = Writer::create(comm, path, b"", params).unwrap();
    for encode in [Encode::None, Encode::Always] {
        file.array(b"pieces", &counts, 90, Source::Contiguous(&data), encode).unwrap();
        file.varray(b"pieces", &counts, &sizes, None, Source::Contiguous(&data), encode).unwrap();
    }
    file.close().unwrap();
}

fn relaying<T: Options>() -> T {
    let mut params: T = small_buffers();
    let tuning = params.tuning();
    (tuning.writers_per_node, tuning.stripe_bytes) = (1, 30_000);
    params
}

#[test]
fn writers_of_a_node_change_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("alone");
    write_pieces(scda::Solo, &alone, &small_buffers());
    for ranks in ["1", "2", "3", "0"] {
        let path = folder.path().join(ranks);
        run_with("part_writers", 5, &path, &[("SCDA_NODE_RANKS", ranks)]);
        assert!(std::fs::read(path).unwrap() == std::fs::read(&alone).unwrap(), "{ranks} ranks a node");
    }
}

#[test]
#[ignore = "run by the test above"]
fn part_writers() {
    use scda::Communicator as _;
    let universe = mpi::initialize().unwrap();
    let comm = || Mpi::new(&universe.world()).unwrap();
    write_pieces(comm(), &file(), &relaying());
    let (rank, counts) = (comm().rank(), scda::uniform_partition(1000, comm().size()));
    let first: u64 = counts[..rank].iter().sum();
    let expected: Vec<u8> = (first..first + counts[rank]).flat_map(|i| [i as u8; 90]).collect();
    let mut data = vec![0; expected.len()];
    let mut reader = Reader::open(comm(), file(), &relaying()).unwrap();
    let mut sizes = vec![0; counts[rank] as usize];
    while let Some(section) = reader.next_section(true).unwrap() {
        data.fill(0);
        if section.size == 90 {
            reader.read_array(&counts, 90, Sink::Contiguous(&mut data)).unwrap();
        } else {
            reader.read_varray_sizes(&counts, Some(&mut sizes)).unwrap();
            reader.read_varray(&counts, Some(&sizes), None, Sink::Contiguous(&mut data)).unwrap();
        }
        assert!(data == expected);
    }
    reader.close().unwrap();
}

/// A dataset in chunks and a contiguous one, of which each rank passes every n-th column.
fn write_datasets(comm: impl scda::Communicator + 'static, path: &Path) {
    let (rank, size) = (comm.rank() as u64, comm.size() as u64);
    let mut file = Writer::create(comm, path, b"", &options()).unwrap();
    for layout in [scda::Layout::Contiguous, scda::Layout::Chunked { shape: Some(vec![70, 20]), text: false }]
    {
        let mut dataset = Dataset::new("rho", DataType::Float64, [1000, 60]);
        dataset.layout = layout;
        let regions: Vec<IndexBox> =
            (0..60).filter(|i| i % size == rank).map(|i| IndexBox::new([0, i], [1000, 1])).collect();
        let values = regions.iter().flat_map(|r| (0..1000).map(move |i| (1000 * r.start[1] + i) as f64));
        let data: Vec<u8> = values.flat_map(f64::to_ne_bytes).collect();
        file.dataset(&dataset, &regions, &data).unwrap();
    }
    file.close().unwrap();
}

#[test]
fn datasets_are_the_same_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("alone");
    write_datasets(scda::Solo, &alone);
    for ranks in [2, 5] {
        let path = folder.path().join(ranks.to_string());
        run("part_datasets", ranks, &path);
        assert!(std::fs::read(path).unwrap() == std::fs::read(&alone).unwrap(), "{ranks} ranks");
    }
}

#[test]
#[ignore = "run by the test above"]
fn part_datasets() {
    let universe = mpi::initialize().unwrap();
    write_datasets(Mpi::new(&universe.world()).unwrap(), &file());
}

#[test]
fn the_example_writes_one_file_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    for (ranks, cells) in [(1, 1000), (3, 6000)] {
        let path = folder.path().join(format!("{ranks}.scda"));
        let text = run("part_example", ranks, &path);
        assert!(text.contains(&format!("{ranks} ranks: {cells} cells written and read")), "{text}");
        let mut file = Reader::open(scda::Solo, &path, &options()).unwrap();
        assert!(file.is_sealed() && &*file.header().user == b"checkpoint.rs");
        assert_eq!(file.next_section(true).unwrap().unwrap().section_type, scda::SectionType::Inline);
        file.skip().unwrap();
        assert_eq!(file.next_section(true).unwrap().unwrap().count, cells);
        file.skip().unwrap();
        file.close().unwrap();
    }
}

#[test]
#[ignore = "a part of another test"]
fn part_example() {
    checkpoint::run(&file()).unwrap();
}

#[test]
fn communicators_of_all_kinds_are_taken_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    for ranks in [1, 3] {
        run("part_kinds", ranks, &folder.path().join("kinds.scda"));
    }
}

#[test]
#[ignore = "a part of another test"]
fn part_kinds() {
    let refused = |result: scda::Result<Mpi>| result.err().map(|error| error.kind());
    // No `Universe` is there yet, nor any more.
    assert_eq!(refused(Mpi::new(&SimpleCommunicator::world())), Some(ErrorKind::Usage));
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let own = SimpleCommunicator::self_comm();
    let path = |comm: &dyn Communicator| file().with_extension(format!("{}of{}", world.rank(), comm.size()));
    // The file of a rank alone, and of all in the other order, on a duplicate that outlives its original.
    for backwards in [false, true] {
        let split =
            world.split_by_color_with_key(mpi::topology::Color::with_value(0), -world.rank()).unwrap();
        let ranks = if backwards { Mpi::new(&split) } else { Mpi::new(&own) }.unwrap();
        let path = if backwards { file() } else { path(&own) };
        drop(split);
        let count = if backwards { world.size() } else { 1 };
        let mut writer = Writer::create(ranks, &path, b"", &options()).unwrap();
        let data = [world.rank() as u8];
        writer.array(b"ranks", &vec![1; count as usize], 1, Source::Contiguous(&data), Encode::None).unwrap();
        writer.close().unwrap();
        let mut reader = Reader::open(Mpi::new(&own).unwrap(), &path, &options()).unwrap();
        let section = reader.next_section(true).unwrap().unwrap();
        let mut read = vec![0; count as usize];
        reader.read_array(&[section.count], 1, Sink::Contiguous(&mut read)).unwrap();
        let expected: Vec<u8> = if backwards { (0..count as u8).rev().collect() } else { data.to_vec() };
        assert_eq!(read, expected);
    }
    drop(universe);
    assert_eq!(refused(Mpi::new(&world)), Some(ErrorKind::Usage));
}

#[test]
fn files_that_are_open_when_mpi_is_finalized_return_errors() {
    let folder = tempfile::tempdir().unwrap();
    for ranks in [1, 3] {
        run("part_finalized", ranks, &folder.path().join("finalized.scda"));
    }
}

#[test]
#[ignore = "a part of another test"]
fn part_finalized() {
    const LARGE: u64 = 8 << 20;
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let ranks = world.size() as usize;
    let counts = |each: u64| vec![each; ranks];
    let create = |name: &str, driver| {
        let mut params: WriteOptions = options();
        params.tuning.driver = driver;
        Writer::create(Mpi::new(&world).unwrap(), file().with_extension(name), b"", &params).unwrap()
    };
    let small =
        |writer: &mut Writer| writer.array(b"small", &counts(1), 1, Source::Contiguous(b"a"), Encode::None);
    let mut whole = create("whole", Driver::Posix);
    small(&mut whole).unwrap();
    whole.close().unwrap();

    let drivers = [Driver::Posix, Driver::MpiIo];
    let mut writers = Vec::new();
    for (i, driver) in drivers.into_iter().enumerate() {
        writers.push((driver, create(&format!("untouched{i}"), driver)));
        let mut waiting = create(&format!("waiting{i}"), driver);
        small(&mut waiting).unwrap();
        writers.push((driver, waiting));
    }
    let readers = drivers.map(|driver| {
        let mut params: ReadOptions = options();
        params.tuning.driver = driver;
        (driver, Reader::open(Mpi::new(&world).unwrap(), file().with_extension("whole"), &params).unwrap())
    });
    let dropped = drivers.map(|driver| create(&format!("dropped{driver:?}"), driver));

    drop(universe);
    drop(dropped);
    // A rank alone with the POSIX driver needs no MPI any more.
    let check = |driver, result: scda::Result<()>| match result {
        Ok(()) => assert!(ranks == 1 && driver == Driver::Posix),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
            assert!(error.to_string().contains("MPI has been finalised"), "{error}");
        }
    };
    for (driver, reader) in readers {
        check(driver, reader.close());
    }
    for (driver, mut writer) in writers {
        // It waits in memory, which may be shared.
        small(&mut writer).unwrap();
        let data = vec![0; LARGE as usize];
        check(driver, writer.array(b"large", &counts(LARGE), 1, Source::Contiguous(&data), Encode::None));
    }
}
