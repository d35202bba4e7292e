//! Ranks on several nodes: the same bytes, the same errors, and few messages that leave a node.

use crate::common::watched::Watched;
use crate::common::{
    self, Data, Model, ModelSection, Options, Want, model, options, read_on_ranks, tuned, write_on,
};
use scda::{
    Communicator, DataType, Dataset, Elements, Encode, Error, ErrorKind, Faults, IndexBox, Layout,
    ReadOptions, Reader, Request, Result, SectionType, Sink, Source, ThreadComm, WriteOptions, Writer,
    run_on, uniform_partition,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// For each rank the number of its node: nodes of different size, whose ranks are consecutive or not; one of one rank.
const MAPS: [&[usize]; 4] = [&[0, 0, 1, 1, 1], &[0, 1, 0, 1, 0, 1, 2], &[1, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 1]];

fn params<T: Options>() -> T {
    let mut params: T = options();
    let tuning = params.tuning();
    (tuning.check, tuning.aggregation_bytes) = (false, 9000);
    params
}

/// So many small sections that the ranks look for their nodes when they write, and read ahead by them.
fn many() -> Model {
    let mut all = model(1, 3000);
    for seed in 2..30 {
        all.sections.extend(model(seed, if seed % 10 == 0 { 300_000 } else { 1000 }).sections);
    }
    all
}

#[test]
fn nodes_change_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let model = many();
    for seal in [false, true] {
        let mut params: WriteOptions = params();
        params.seal = seal;
        let first = write_on(1, &path, &model, &params, 0);
        for (map, seed) in MAPS.into_iter().zip(1..) {
            let ranks = || ThreadComm::on_nodes(map);
            assert!(common::write_on_ranks(ranks(), &path, &model, &params, seed) == first, "{map:?}");
            for want in [Want::All, Want::Some, Want::Nothing] {
                read_on_ranks(ranks(), &path, &model, &tuned(&params.tuning), want, seed);
            }
            let mut larger = params.clone();
            larger.tuning.aggregation_bytes = 1 << 20;
            assert!(common::write_on_ranks(ranks(), &path, &model, &larger, seed) == first, "{map:?}");
            read_on_ranks(ranks(), &path, &model, &tuned(&larger.tuning), Want::All, seed);
        }
    }
}

/// Parameters with which some ranks of each node write and read.
fn relaying(writers_per_node: u64, stripe_bytes: u64) -> WriteOptions {
    let mut params: WriteOptions = params();
    (params.tuning.writers_per_node, params.tuning.stripe_bytes) = (writers_per_node, stripe_bytes);
    params
}

#[test]
fn writers_of_a_node_change_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let mut model = model(1, 200_000);
    model.sections.extend(common::model(2, 30_000).sections);
    let all: Vec<&[usize]> = MAPS.into_iter().chain([&[0; 3][..], &[0, 1, 2]]).collect();
    for (seal, maps) in [(false, &all[..]), (true, &all[1..2])] {
        let sealed = |mut params: WriteOptions| {
            params.seal = seal;
            params
        };
        let first = write_on(1, &path, &model, &sealed(params()), 0);
        for (map, seed) in maps.iter().zip(1..) {
            // Stripes of which each rank has several, that all ranks have parts of, and that end anywhere.
            for (writers, stripe) in [(0, 1 << 16), (1, 1 << 32), (2, 5003), (7, 70_001)] {
                let params = sealed(relaying(writers, stripe));
                let ranks = || ThreadComm::on_nodes(map);
                let written = common::write_on_ranks(ranks(), &path, &model, &params, seed);
                assert!(written == first, "{map:?}, {writers} writers, stripes of {stripe}");
                for want in [Want::All, Want::Some, Want::Nothing] {
                    let mut reading: ReadOptions = tuned(&params.tuning);
                    reading.verify = seal;
                    read_on_ranks(ranks(), &path, &model, &reading, want, seed);
                }
            }
        }
    }
}

#[test]
fn an_access_that_fails_on_a_writer_is_an_error_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let model = model(1, 60_000);
    let whole = write_on(1, &path, &model, &params(), 0);
    let (mut failed, mut fine) = (0, 0);
    for map in MAPS {
        for seed in 0..60 {
            let mut params = relaying(1 + seed % 3, 3000 + 1000 * (seed % 7));
            params.tuning.faults = Some(Faults { every: 1 + seed * seed / 2, seed });
            let writing = seed % 2 == 0;
            if !writing {
                std::fs::write(&path, &whole).unwrap();
            }
            let results = run_on(ThreadComm::on_nodes(map), |comm| match writing {
                true => common::write(comm, &path, &model, &params, seed),
                false => common::read(comm, &path, &model, &tuned(&params.tuning), Want::All, seed),
            });
            let errors: Vec<_> =
                results.iter().map(|result| result.as_ref().err().map(Error::to_string)).collect();
            assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{map:?}, seed {seed}: {errors:?}");
            match &results[0] {
                Ok(()) => fine += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                    failed += 1;
                }
            }
            let left = std::fs::read(&path).unwrap();
            assert!(results[0].is_err() || left == whole);
        }
    }
    println!("{failed} failed, {fine} went well");
    assert!(failed > 60 && fine > 60, "{failed} failed, {fine} went well");
}

/// Elements in memory of their own that count how often one is asked for.
struct Asked<'a>(&'a [u8], AtomicU64);

impl Elements for Asked<'_> {
    fn count(&self) -> usize {
        self.0.len() / 10
    }
    fn element(&self, index: usize) -> &[u8] {
        self.1.fetch_add(1, Relaxed);
        &self.0[10 * index..10 * index + 10]
    }
}

/// One rank has all elements, and sends them in many parts to all writers of its node.
#[test]
fn parts_for_writers_cost_one_pass_over_the_elements() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    // Stripes are fewer than ranks, but not much.
    let mut counts = vec![0; 40];
    counts[1] = 3000;
    let mut map = vec![0; 40];
    map[39] = 1;
    let data: Vec<u8> = (0..30_000).map(|i| u8::try_from(i / 7 % 251).unwrap()).collect();
    for writers in [1, 2, 5] {
        let asked = run_on(ThreadComm::on_nodes(&map), |comm| {
            let own = 10 * usize::try_from(counts[comm.rank()]).unwrap();
            let elements = Asked(&data[..own], AtomicU64::new(0));
            let mut params = relaying(writers, 800);
            params.tuning.aggregation_bytes = 0;
            let mut file = Writer::create(comm, &path, b"", &params).unwrap();
            file.array(b"", &counts, 10, Source::Indirect(&elements), Encode::None).unwrap();
            file.close().unwrap();
            elements.1.into_inner()
        });
        // Their lengths are compared and added up; then they are copied. A writer also passes over its own.
        assert!(asked[1] < 6 * 3000, "{writers} writers: {asked:?}");
        let written = std::fs::read(&path).unwrap();
        assert!(written.windows(data.len()).any(|part| part == data));
    }
}

/// What the ranks exchange: all of them, those of a node, and the leaders of the nodes.
#[derive(Default)]
struct Log {
    /// Gathers and broadcasts of each level.
    messages: [AtomicU64; 3],
    /// How many exchanges are still to go well; the one after them fails.
    countdown: AtomicU64,
}

/// Runs a program on the nodes of a map while the exchange number `k` of `rank` fails. Returns what each rank got, and the logs.
fn run(
    map: &[usize],
    (rank, k): (usize, u64),
    program: impl Fn(Watched) -> Result<()> + Sync,
) -> (Vec<Result<()>>, Vec<Arc<Log>>) {
    let logs: Vec<Arc<Log>> = (0..map.len()).map(|_| Arc::default()).collect();
    for (number, log) in logs.iter().enumerate() {
        log.countdown.store(if number == rank { k } else { u64::MAX / 2 }, Relaxed);
    }
    let results = run_on(ThreadComm::on_nodes(map), |comm| {
        let log = Arc::clone(&logs[comm.rank()]);
        program(Watched::new(comm, move |level, what| {
            if ["broadcast", "gather"].contains(&what) {
                log.messages[level].fetch_add(1, Relaxed);
            }
            log.countdown.fetch_sub(1, Relaxed) == 0
        }))
    });
    (results, logs)
}

/// Small arrays whose elements all ranks have.
fn small(sections: usize) -> Model {
    let data = Data::Array { size: 90, elements: vec![vec![b'a'; 90]; 10] };
    let section = ModelSection { user: b"small".to_vec(), data, encode: Encode::None };
    Model { vendor: Vec::new(), user: b"nodes".to_vec(), sections: vec![section; sections] }
}

fn write(comm: Watched, path: &Path, model: &Model, params: &WriteOptions) -> Result<()> {
    common::write(comm, path, model, params, 1)
}

fn read(comm: Watched, path: &Path, model: &Model, params: &ReadOptions) -> Result<()> {
    common::read(comm, path, model, params, Want::All, 1)
}

#[test]
fn what_leaves_a_node_is_sent_by_its_leader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    for map in MAPS {
        let messages = |sections: usize, writing: bool| {
            let model = small(sections);
            let none = (0, u64::MAX / 2);
            let (results, logs) = run(map, none, |comm| match writing {
                true => write(comm, &path, &model, &params()),
                false => read(comm, &path, &model, &params()),
            });
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            logs.iter()
                .map(|log| [0, 1, 2].map(|level| log.messages[level].load(Relaxed)))
                .collect::<Vec<_>>()
        };
        for writing in [true, false] {
            // A file is written before it is read.
            let written = messages(100, true);
            let few = if writing { written } else { messages(100, false) };
            let written = messages(300, true);
            let many = if writing { written } else { messages(300, false) };
            for (rank, (few, many)) in few.iter().zip(&many).enumerate() {
                let is_leader = map.iter().position(|&node| node == map[rank]) == Some(rank);
                let [all, node, leaders] = [0, 1, 2].map(|level| many[level] - few[level]);
                assert_eq!(all, 0, "{map:?}: rank {rank} takes part in an exchange of all ranks");
                assert_eq!(leaders > 0, is_leader, "{map:?}: rank {rank}");
                assert_eq!(node > 0, writing, "{map:?}: rank {rank}");
            }
        }
    }
}

#[test]
fn an_exchange_that_fails_on_a_node_is_an_error_of_all() {
    let cases = fail_each_exchange(&small(40), &params());
    println!("{cases} exchanges failed");
    assert!(cases > 400, "{cases}");
}

#[test]
fn an_exchange_that_fails_among_writers_is_an_error_of_all() {
    let array = Data::Array { size: 900, elements: vec![vec![b'a'; 900]; 20] };
    let varray = Data::Varray(vec![vec![b'v'; 700]; 20]);
    let section = |data, encode| ModelSection { user: b"large".to_vec(), data, encode };
    let sections = vec![
        section(array.clone(), Encode::None),
        section(varray.clone(), Encode::None),
        section(varray, Encode::Always),
        section(array, Encode::None),
    ];
    let model = Model { vendor: Vec::new(), user: b"nodes".to_vec(), sections };
    let cases = fail_each_exchange(&model, &relaying(2, 5000));
    println!("{cases} exchanges failed");
    assert!(cases > 700, "{cases}");
}

/// Writes and reads on two maps of nodes while each exchange of each rank fails in turn. Returns how many these are.
fn fail_each_exchange(model: &Model, params: &WriteOptions) -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let whole = write_on(1, &path, model, params, 0);
    let mut cases = 0;
    for map in [&[0, 0, 1, 1, 1][..], &[0, 1, 0, 1, 0]] {
        for writing in [true, false] {
            for rank in 0..map.len() {
                for k in 0.. {
                    if !writing {
                        std::fs::write(&path, &whole).unwrap();
                    }
                    let (results, logs) = run(map, (rank, k), |comm| match writing {
                        true => write(comm, &path, model, params),
                        false => read(comm, &path, model, &tuned(&params.tuning)),
                    });
                    let errors: Vec<Option<String>> =
                        results.iter().map(|result| result.as_ref().err().map(Error::to_string)).collect();
                    assert!(
                        errors.windows(2).all(|pair| pair[0] == pair[1]),
                        "{map:?}, exchange {k} of rank {rank}: {errors:?}"
                    );
                    let kind = results[0].as_ref().err().map(Error::kind);
                    assert!(
                        kind.is_none_or(|kind| kind == ErrorKind::Mpi),
                        "exchange {k} of rank {rank}: {errors:?}"
                    );
                    let left = std::fs::read(&path).unwrap();
                    assert!(whole.starts_with(&left) && (kind.is_some() || left == whole));
                    if logs[rank].countdown.load(Relaxed) <= u64::MAX / 2 {
                        assert_eq!(kind, None);
                        break;
                    }
                    cases += 1;
                }
            }
        }
    }
    cases
}

/// Nodes of 8 ranks, three a node and in turn, and of 12, five a node.
const LARGER: [&[usize]; 3] =
    [&[0, 0, 0, 1, 1, 1, 2, 2], &[0, 1, 2, 0, 1, 2, 0, 1], &[0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]];

const SHAPE: [u64; 2] = [90, 60];

/// The columns of a rank.
fn columns(rank: usize, ranks: usize) -> IndexBox {
    let counts = uniform_partition(SHAPE[1], ranks);
    IndexBox::new([0, counts[..rank].iter().sum()], [SHAPE[0], counts[rank]])
}

/// The items of a box, which say where they are.
fn items(region: &IndexBox, step: u64) -> Vec<u8> {
    let [rows, columns] = [0, 1].map(|d| region.start[d]..region.start[d] + region.count[d]);
    let all = rows.flat_map(|i| columns.clone().map(move |j| 1000 * step + i * SHAPE[1] + j));
    all.flat_map(|item| u32::try_from(item).unwrap().to_ne_bytes()).collect()
}

/// The datasets of a step: in chunks, and in strips.
fn datasets() -> [Dataset; 3] {
    let layouts = [("chunks", Some(vec![7, 11])), ("large", Some(vec![45, 30])), ("strips", None)];
    layouts.map(|(name, chunk)| {
        let mut dataset = Dataset::new(name, DataType::Uint32, SHAPE);
        dataset.layout =
            chunk.map_or(Layout::Contiguous, |shape| Layout::Chunked { shape: Some(shape), text: false });
        dataset
    })
}

/// Writes a step: sections, datasets and streams.
fn write_step(file: &mut Writer, (rank, ranks): (usize, usize), step: u64) -> Result<()> {
    let counts = uniform_partition(1000, ranks);
    let (own, bytes) = (usize::try_from(counts[rank]).unwrap(), [u8::try_from(rank).unwrap(); 20_000]);
    for _ in 0..30 {
        file.array(b"small", &counts, 3, Source::Contiguous(&vec![b's'; 3 * own]), Encode::None)?;
    }
    let elements: Vec<&[u8]> = (0..own).map(|i| &bytes[..i % 90]).collect();
    let sizes: Vec<u64> = elements.iter().map(|element| element.len() as u64).collect();
    for encode in [Encode::None, Encode::Always] {
        file.varray(b"varray", &counts, &sizes, None, Source::Indirect(&elements), encode)?;
    }
    let region = [columns(rank, ranks)];
    let (data, all) = (items(&region[0], step), datasets());
    for dataset in &all {
        file.dataset(dataset, &region, &data)?;
    }
    let together = all.each_ref().map(|dataset| (dataset, &region[..], &data[..]));
    file.datasets(&together)?;
    file.begin_streams(b"log", 1000)?;
    for _ in 0..3 {
        file.write_stream(&bytes[..600 * rank])?;
    }
    file.commit()?;
    file.end_streams()
}

/// Writes a sealed file in two jobs, the second of which appends. The first error.
fn write_and_append(ranks: &dyn Fn() -> Vec<ThreadComm>, path: &Path, params: &WriteOptions) -> Vec<u8> {
    for step in 0..2 {
        let results = run_on(ranks(), |comm| {
            let who = (comm.rank(), comm.size());
            let mut file = match step {
                0 => Writer::create(comm, path, b"steps", params)?,
                _ => Writer::append(comm, path, params)?,
            };
            write_step(&mut file, who, step)?;
            file.close()
        });
        results.into_iter().for_each(Result::unwrap);
    }
    std::fs::read(path).unwrap()
}

/// Finds by name what was written, in any order, and then reads from the beginning, all of it compared with the checksums.
fn find_and_verify(comm: ThreadComm, path: &Path, params: &WriteOptions) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let mut params: ReadOptions = tuned(&params.tuning);
    params.verify = true;
    let mut file = Reader::open(comm, path, &params)?;
    for step in [1, 0] {
        for dataset in datasets() {
            // Each was written twice in a step.
            let record = 2 * i64::try_from(step).unwrap() + 1;
            let found = file.dataset_record(&dataset.name, record)?.unwrap();
            assert_eq!(found.shape, SHAPE);
            let first = rank as u64;
            let regions = [columns(ranks - 1 - rank, ranks), IndexBox::new([first, 3], [5 * first, 40])];
            let expected = regions.each_ref().map(|region| items(region, step)).concat();
            let mut data = vec![0; expected.len()];
            found.read(&mut file, &regions, &mut data)?;
            assert!(data == expected, "{} of step {step}", dataset.name);
        }
        // The columns of another rank, and some of all, of each of these in one call.
        let all = datasets();
        let regions = [columns((rank + 1) % ranks, ranks), IndexBox::new([2, 3], [45, 50])];
        let expected = regions.each_ref().map(|region| items(region, step)).concat();
        let mut data = vec![vec![0; expected.len()]; all.len()];
        let record = 2 * i64::try_from(step).unwrap();
        let handles: Result<Vec<_>> =
            all.iter().map(|one| Ok(file.dataset_record(&one.name, record)?.unwrap())).collect();
        let handles = handles?;
        let requests = handles.iter().zip(&mut data);
        let requests =
            requests.map(|(dataset, data)| Request { dataset, regions: &regions, data: data.into() });
        file.read_datasets(requests.collect())?;
        assert!(data.iter().all(|data| *data == expected), "step {step}");
        let task = (rank + 1) % ranks;
        let streams = file.streams_record(b"log", i64::try_from(step).unwrap())?.unwrap();
        assert_eq!(streams.tasks(), ranks as u64);
        let stream = streams.stream(&mut file, task as u64)?;
        let mut data = vec![0; 1800 * task];
        stream.read(&mut file, 0, &mut data)?;
        assert!(stream.bytes() == data.len() as u64 && data.iter().all(|&byte| usize::from(byte) == task));
        let number = file.find(b"small", -1)?.unwrap();
        file.seek_section(number)?;
        assert_eq!(file.next_section(true)?.unwrap().count, 1000);
        let mut data = vec![0; 3 * (rank + 1)];
        file.ranges().read_array(7..8 + rank as u64, 3, Sink::Contiguous(&mut data))?;
        assert!(data.iter().all(|&byte| byte == b's'));
    }
    file.seek_section(0)?;
    while let Some(section) = file.next_section(true)? {
        if section.section_type == SectionType::Array && section.size > 0 {
            let counts = uniform_partition(section.count, ranks);
            let mut data = vec![0; usize::try_from(counts[rank] * section.size).unwrap()];
            file.read_array(&counts, section.size, Sink::Contiguous(&mut data))?;
        }
        file.skip()?;
    }
    file.close()
}

#[test]
fn larger_jobs_on_nodes_write_the_same_datasets_and_streams() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    for map in LARGER {
        let sealed = |writers, stripe| {
            let mut params = relaying(writers, stripe);
            params.seal = true;
            params
        };
        let first = write_and_append(&|| ThreadComm::new(map.len()), &path, &sealed(0, 0));
        for params in [sealed(0, 0), sealed(0, 1 << 16), sealed(2, 5003)] {
            let stripes = (params.tuning.writers_per_node, params.tuning.stripe_bytes);
            let written = write_and_append(&|| ThreadComm::on_nodes(map), &path, &params);
            assert!(written == first, "{map:?}, writers and stripes {stripes:?}");
            let results = run_on(ThreadComm::on_nodes(map), |comm| find_and_verify(comm, &path, &params));
            results.into_iter().for_each(Result::unwrap);
        }
    }
}

/// Whether one of a job's ranks fails as a leader, as a follower, or as the last of all: each gets the same error.
#[test]
fn an_access_that_fails_in_a_larger_job_is_an_error_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let mut failed = 0;
    for map in LARGER {
        for seed in 0..8 {
            let mut params = relaying(seed % 3, 20_000);
            (params.seal, params.tuning.faults) = (true, Some(Faults { every: 100, seed }));
            let results = run_on(ThreadComm::on_nodes(map), |comm| {
                let who = (comm.rank(), comm.size());
                let mut file = Writer::create(comm, &path, b"steps", &params)?;
                write_step(&mut file, who, 0)?;
                file.close()
            });
            let errors: Vec<_> =
                results.iter().map(|result| result.as_ref().err().map(Error::to_string)).collect();
            assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{map:?}, seed {seed}: {errors:?}");
            failed += u32::from(results[0].is_err());
        }
    }
    assert!(failed > 5, "{failed}");
}
