//! Every allocation above 64 KiB fails in its turn, on each rank and on the library's own threads: all ranks
//! get `Memory`, or all succeed; none waits for another, nothing aborts, nothing is left in memory.
//! One test, because the heap is that of the whole process.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::cast_possible_truncation)] // test data

mod memory;
#[path = "../common/options.rs"]
mod options;
#[path = "../common/sampled.rs"]
mod sampled;

use memory::{Who, become_};
use options::{options, tuned};
use sampled::one_of;
use scda::{
    Codec, Communicator, DataStream, DataType, Dataset, ElementStream, Encode, Encoder, ErrorKind, IndexBox,
    Layout, ReadOptions, Reader, Request, Result, SectionType, Sink, Solo, Source, ThreadComm, WriteOptions,
    Writer, run_on_threads, uniform_partition,
};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};

/// A section, and the memory that one rank reads its part into.
struct Section {
    section_type: SectionType,
    encode: Encode,
    indirect: bool,
    /// The elements of all ranks; a block is one.
    elements: Vec<Vec<u8>>,
}

/// The part of a rank: its elements, in both ways, and memory to read them into.
struct Part {
    counts: Vec<u64>,
    elements: Vec<Vec<u8>>,
    flat: Vec<u8>,
    sizes: Vec<u64>,
    found: Vec<Vec<u8>>,
    found_flat: Vec<u8>,
    found_sizes: Vec<u64>,
}

impl Section {
    fn new(section_type: SectionType, encode: Encode, count: usize, bytes: usize, indirect: bool) -> Self {
        // Something to compress, and for some bytes nothing.
        let element = |i: usize| -> Vec<u8> {
            let length = if section_type == SectionType::Varray { bytes / 2 + i % bytes } else { bytes };
            (0..length).map(|k| (k * k / 32 + ((i * 2_654_435_761) >> (k % 9)) % 7) as u8).collect()
        };
        Self { section_type, encode, indirect, elements: (0..count).map(element).collect() }
    }

    fn size(&self) -> u64 {
        self.elements[0].len() as u64
    }

    fn part(&self, ranks: usize, rank: usize) -> Part {
        let mut counts = uniform_partition(self.elements.len() as u64, ranks);
        if self.section_type == SectionType::Block {
            counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        }
        let start = counts[..rank].iter().sum::<u64>() as usize;
        let elements = self.elements[start..start + counts[rank] as usize].to_vec();
        let (flat, sizes): (Vec<u8>, Vec<u64>) =
            (elements.concat(), elements.iter().map(|element| element.len() as u64).collect());
        Part {
            found: elements.iter().map(|element| vec![0; element.len()]).collect(),
            found_flat: vec![0; flat.len()],
            found_sizes: vec![0; sizes.len()],
            counts,
            elements,
            flat,
            sizes,
        }
    }
}

/// Every kind of section; large ones, ones that wait to be written together, and ones for several threads of each
/// of three ranks.
fn sections(threads: usize) -> Vec<Section> {
    use SectionType::{Array, Block, Varray};
    let mut sections = Vec::new();
    for encode in [Encode::None, Encode::Always] {
        for indirect in [false, true] {
            sections.push(Section::new(Varray, encode, 80, 3000, indirect));
            sections.push(Section::new(Array, encode, 3000, 80, indirect));
        }
        sections.push(Section::new(Array, encode, 3, 70_000, false));
        sections.push(Section::new(Block, encode, 1, 100_000, false));
    }
    sections.push(Section::new(Varray, Encode::Auto, 80, 3000, false));
    for indirect in [false, true] {
        let count = if threads > 1 { 18 } else { 3 };
        sections.push(Section::new(Array, Encode::Always, count, 100_000, indirect));
    }
    sections.extend((0..700).map(|_| Section::new(Array, Encode::None, 9, 100, false)));
    // More than one anchor.
    sections.push(Section::new(Varray, Encode::None, 9000, 3, false));
    sections
}

/// `meet` is what a program may do after each call that succeeded: wait for its other ranks.
fn write(
    comm: ThreadComm,
    path: &Path,
    params: &WriteOptions,
    all: &[Section],
    parts: &[Part],
    meet: &Barrier,
) -> Result<()> {
    let rank = comm.rank();
    let mut file = Writer::create(comm, path, b"memory", params)?;
    for (section, part) in all.iter().zip(parts) {
        let encode = section.encode;
        let data = match section.indirect {
            true => Source::Indirect(&part.elements),
            false => Source::Contiguous(&part.flat),
        };
        match section.section_type {
            SectionType::Array => file.array(b"a", &part.counts, section.size(), data, encode)?,
            SectionType::Varray => file.varray(b"v", &part.counts, &part.sizes, None, data, encode)?,
            _ => {
                let own = (rank == 0).then_some(part.flat.as_slice());
                file.block(b"b", 0, section.size(), own, encode)?;
            }
        }
        meet.wait();
    }
    file.close()
}

fn read(
    comm: ThreadComm,
    path: &Path,
    params: &ReadOptions,
    all: &[Section],
    parts: &mut [Part],
) -> Result<()> {
    let rank = comm.rank();
    let mut file = Reader::open(comm, path, params)?;
    for (section, part) in all.iter().zip(parts) {
        file.next_section(true)?;
        let Part { counts, sizes, found, found_flat, found_sizes, .. } = part;
        let sink = match section.indirect {
            true => Sink::Indirect(found),
            false => Sink::Contiguous(found_flat),
        };
        match section.section_type {
            SectionType::Array => file.read_array(counts, section.size(), sink)?,
            SectionType::Varray => {
                file.read_varray_sizes(counts, Some(found_sizes))?;
                file.read_varray(counts, Some(sizes), None, sink)?;
            }
            _ => {
                let own = (rank == 0).then_some(found_flat.as_mut_slice());
                file.read_block(section.size(), 0, own)?;
            }
        }
    }
    file.close()
}

fn check(all: &[Section], parts: &[Part], rank: usize) {
    for (section, part) in all.iter().zip(parts) {
        let whole = match (section.indirect, section.section_type) {
            (_, SectionType::Block) if rank > 0 => true,
            (true, _) => part.found == part.elements,
            (false, _) => part.found_flat == part.flat,
        };
        assert!(whole && (section.section_type != SectionType::Varray || part.found_sizes == part.sizes));
    }
}

/// What a process alone can do besides: elements as a stream, and ranges of them.
struct Elements<'a> {
    sizes: &'a [u64],
    data: &'a [u8],
}

impl Read for Elements<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.data.read(buffer)
    }
}

impl DataStream for Elements<'_> {}

impl ElementStream for Elements<'_> {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        let (now, later) = self.sizes.split_at(sizes.len());
        sizes.copy_from_slice(now);
        self.sizes = later;
        Ok(())
    }
}

fn write_streams(path: &Path, params: &WriteOptions, sizes: &[u64], data: &[u8]) -> Result<()> {
    let mut file = Writer::create(Solo, path, b"streams", params)?;
    for encode in [Encode::None, Encode::Always] {
        file.incremental().varray(b"v", sizes.len() as u64, &mut Elements { sizes, data }, encode)?;
        let size = (data.len() / sizes.len()) as u64;
        file.incremental().array(b"a", sizes.len() as u64, size, &mut &data[..], encode)?;
        file.incremental().block(b"b", data.len() as u64, &mut &data[..], encode)?;
    }
    file.close()
}

fn read_ranges(path: &Path, params: &ReadOptions, sizes: &mut [u64], data: &mut [u8]) -> Result<()> {
    let mut file = Reader::open(Solo, path, params)?;
    let style = file.header().line_break;
    while let Some(section) = file.next_section(true)? {
        file.inspect().check_canonical(style)?;
        let (first, last) = (section.count / 3, section.count / 2);
        match section.section_type {
            SectionType::Array => {
                let data = &mut data[..((last - first) * section.size) as usize];
                file.ranges().read_array(first..last, section.size, Sink::Contiguous(data))?;
            }
            SectionType::Varray => {
                let sizes = &mut sizes[..(last - first) as usize];
                file.ranges().read_varray_sizes(first..last, sizes)?;
                let data = &mut data[..sizes.iter().sum::<u64>() as usize];
                file.ranges().read_varray(first..last, sizes, Sink::Contiguous(data))?;
            }
            _ => file.ranges().read_block(1..section.size - 1, &mut data[..section.size as usize - 2])?,
        }
        file.skip()?;
    }
    file.close()
}

/// Runs a program again and again, while each large allocation in its turn fails. Returns how many there were.
fn exhaust(what: &str, who: Who, run: impl Fn() -> Vec<Option<ErrorKind>>) -> i64 {
    // A few bytes that the C library and Rust's keep come and go with threads.
    const FEW: i64 = 1000;
    // A process remembers what it has shown of the last four files that it has closed.
    for _ in 0..5 {
        run();
    }
    let before = memory::in_use();
    for after in 0.. {
        memory::fail_one(who, after);
        let errors = run();
        let has_failed = memory::fail_none();
        let left = memory::in_use() - before;
        assert!(left < FEW, "{what}, {who:?}, {after}: {left} bytes are left");
        let is_one = errors.iter().all(|error| *error == errors[0]);
        assert!(is_one, "{what}, {who:?}, {after}: {errors:?}");
        assert!(
            errors[0].is_none_or(|kind| has_failed && kind == ErrorKind::Memory),
            "{what}, {who:?}, {after}: {errors:?}"
        );
        if !has_failed {
            println!("{what}, {who:?}: {after}");
            return after;
        }
    }
    unreachable!()
}

/// The program of a rank: only what the library allocates can fail.
fn as_rank(rank: usize, program: impl FnOnce() -> Result<()>) -> Option<ErrorKind> {
    become_(Who::Rank(rank));
    let result = program();
    become_(Who::Nobody);
    result.err().map(|error| error.kind())
}

/// Streams and ranges, on a process alone. Returns how many allocations failed.
fn exhaust_alone(what: &str, path: &Path, params: &WriteOptions, reading: &ReadOptions) -> i64 {
    let sizes = vec![90; 5000];
    let data: Vec<u8> = (0..450_000_u64).map(|i| (i * i / 64) as u8).collect();
    let write = exhaust(&format!("{what}, writing streams"), Who::Rank(0), || {
        vec![as_rank(0, || write_streams(path, params, &sizes, &data))]
    });
    let memory = Mutex::new((sizes.clone(), data.clone()));
    let read = exhaust(&format!("{what}, reading ranges"), Who::Rank(0), || {
        let mut memory = memory.lock().unwrap();
        let (sizes, data) = &mut *memory;
        vec![as_rank(0, || read_ranges(path, reading, sizes, data))]
    });
    assert!(write > 5 && read > 5, "{what}: {write} {read}");
    write + read
}

/// Datasets in all layouts, with chunks that no two ranks have for themselves.
fn datasets() -> Vec<Dataset> {
    let shape = Some(vec![170, 100]);
    let chunked = |text| Layout::Chunked { shape: shape.clone(), text };
    let layouts = [
        (Layout::Contiguous, Codec::Zstd),
        (chunked(false), Codec::Zstd),
        (chunked(false), Codec::Lz4),
        (chunked(false), Codec::Zlib),
        (chunked(true), Codec::Zlib),
        (Layout::Auto { shape: shape.clone() }, Codec::Zstd),
    ];
    let with = |(number, (layout, codec))| {
        let mut dataset = Dataset::new(format!("group/{number}"), DataType::Uint64, [340, 100]);
        (dataset.layout, dataset.codec) = (layout, codec);
        dataset
    };
    layouts.into_iter().enumerate().map(with).collect()
}

/// The columns that a rank has of each dataset, their items, and memory to read them into.
type Columns = (Vec<IndexBox>, Vec<u8>, Vec<u8>);

fn columns(ranks: usize, rank: usize) -> Columns {
    let counts = uniform_partition(100, ranks);
    let first: u64 = counts[..rank].iter().sum();
    let items =
        (0..340).flat_map(|row| (first..first + counts[rank]).map(move |column| row * row * 7 + column));
    let data: Vec<u8> = items.flat_map(u64::to_ne_bytes).collect();
    (vec![IndexBox::new([0, first], [340, counts[rank]])], data.clone(), data)
}

fn write_datasets(
    comm: ThreadComm,
    path: &Path,
    params: &WriteOptions,
    all: &[Dataset],
    own: &Columns,
) -> Result<()> {
    let mut file = Writer::create(comm, path, b"datasets", params)?;
    for dataset in all {
        file.dataset(dataset, &own.0, &own.1)?;
    }
    let (regions, data) = (own.0.as_slice(), own.1.as_slice());
    file.datasets(&[(&all[1], regions, data), (&all[2], regions, data)])?;
    // Rows are added only to a sealed file.
    for dataset in &all[..if params.seal { 2 } else { 0 }] {
        let mut rows = dataset.clone();
        rows.extends = true;
        file.dataset(&rows, regions, data)?;
    }
    file.close()
}

fn read_datasets(
    comm: ThreadComm,
    path: &Path,
    params: &ReadOptions,
    all: &[Dataset],
    own: &mut Columns,
) -> Result<()> {
    let mut file = Reader::open(comm, path, params)?;
    for dataset in all {
        let found = file.dataset_record(&dataset.name, -1)?.unwrap();
        // Its own rows, and those that were added.
        for first in (0..found.shape[0]).step_by(340) {
            let mut regions = own.0.clone();
            regions[0].start[0] = first;
            own.2.fill(0);
            found.read(&mut file, &regions, &mut own.2)?;
            assert!(own.1 == own.2, "{}", dataset.name);
        }
    }
    own.2.fill(0);
    let dataset = file.dataset(&all[1].name)?.unwrap();
    let request = Request { dataset: &dataset, regions: &own.0, data: (&mut own.2).into() };
    file.read_datasets(vec![request])?;
    assert!(own.1 == own.2);
    file.close()
}

/// Datasets, on ranks that have columns. Returns how many allocations failed.
fn exhaust_datasets(ranks: usize, path: &Path, params: &WriteOptions, reading: &ReadOptions) -> i64 {
    let all = datasets();
    let parts: Vec<Mutex<Columns>> = (0..ranks).map(|rank| Mutex::new(columns(ranks, rank))).collect();
    let run = |program: &(dyn Fn(ThreadComm, &mut Columns) -> Result<()> + Sync)| {
        run_on_threads(ranks, |comm| {
            let rank = comm.rank();
            let mut own = parts[rank].lock().unwrap();
            as_rank(rank, || program(comm, &mut own))
        })
    };
    let write_all = || run(&|comm, own| write_datasets(comm, path, params, &all, own));
    assert!(write_all().iter().all(Option::is_none));
    let whole = std::fs::read(path).unwrap();
    let threads = params.tuning.threads;
    let whos = (0..ranks).map(Who::Rank).chain((threads > 1).then_some(Who::Workers));
    let mut total = 0;
    for who in whos {
        let what = format!("datasets, {ranks} ranks, {threads} threads");
        let write = exhaust(&format!("{what}, writing"), who, || {
            let errors = write_all();
            assert!(std::fs::read(path).unwrap() == whole);
            errors
        });
        let read = exhaust(&format!("{what}, reading"), who, || {
            run(&|comm, own| read_datasets(comm, path, reading, &all, own))
        });
        // Chunks that others decompress for this rank cost it no memory.
        assert!(write > 5 && read > 0 || who == Who::Workers, "{what}, {who:?}: {write} {read}");
        total += write + read;
    }
    total
}

/// How many panics the hook of this program has seen.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Panics of libdeflate's and zlib's wrappers become errors of the library, so no hook may see them; it sees those of others.
fn count_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Relaxed);
        print(panic);
    }));
}

#[test]
fn an_allocation_that_fails_is_an_error_of_all_ranks() {
    become_(Who::Nobody);
    count_panics();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let (mut total, mut of_workers) = (0, 0);
    let all = [
        (1, 1, Encoder::Fast),
        (1, 1, Encoder::Zlib),
        (3, 3, Encoder::Fast),
        (1, 3, Encoder::Fast),
        (3, 1, Encoder::Fast),
    ];
    for &(ranks, threads, encoder) in &all[..all.len().div_ceil(one_of(2))] {
        let mut params: WriteOptions = options();
        (params.tuning.threads, params.encoder, params.atomic) = (threads, encoder, true);
        // Where there is much, no time for compressing it.
        params.level = if threads > 1 { 0 } else { 1 };
        let all = sections(threads);
        params.tuning.check = false;
        params.seal = threads == 1;
        let mut reading: ReadOptions = tuned(&params.tuning);
        reading.strict = encoder == Encoder::Zlib;
        let part = |rank| Mutex::new(all.iter().map(|section| section.part(ranks, rank)).collect());
        let parts: Vec<Mutex<Vec<Part>>> = (0..ranks).map(part).collect();
        let write_all = || {
            let meet = Barrier::new(ranks);
            run_on_threads(ranks, |comm| {
                let rank = comm.rank();
                let parts = parts[rank].lock().unwrap();
                as_rank(rank, || write(comm, &path, &params, &all, &parts, &meet))
            })
        };
        let read_all = || {
            run_on_threads(ranks, |comm| {
                let rank = comm.rank();
                let mut parts = parts[rank].lock().unwrap();
                let error = as_rank(rank, || read(comm, &path, &reading, &all, &mut parts));
                error.is_none().then(|| check(&all, &parts, rank));
                error
            })
        };
        assert!(write_all().iter().all(Option::is_none));
        let whole = std::fs::read(&path).unwrap();
        let whos = (0..ranks).map(Who::Rank).chain((threads > 1).then_some(Who::Workers));
        for who in whos {
            let what = format!("{ranks} ranks, {threads} threads, {encoder:?}");
            let count = exhaust(&format!("{what}, writing"), who, || {
                let errors = write_all();
                assert!(std::fs::read(&path).unwrap() == whole);
                errors
            });
            total += count;
            let count_read = exhaust(&format!("{what}, reading"), who, read_all);
            if who == Who::Workers {
                // How much of the work they get before this thread has done it is different each time. On a busy machine it may be none.
                of_workers += count + count_read;
                for _ in 0..20 {
                    if of_workers > 0 {
                        break;
                    }
                    of_workers += exhaust(&format!("{what}, reading again"), who, read_all);
                }
            } else {
                assert!(count > 5 && count_read > 2, "{what}: {count} {count_read}");
            }
            total += count_read;
        }
        if encoder == Encoder::Fast {
            total += exhaust_datasets(ranks, &path, &params, &reading);
        }
        if ranks == 1 {
            total += exhaust_alone(&format!("{threads} threads, {encoder:?}"), &path, &params, &reading);
        }
    }
    println!("{total} allocations failed, {of_workers} of other threads than those of the ranks");
    assert!(of_workers > 0);
    assert_eq!(PANICS.load(Relaxed), 0);
    std::thread::spawn(|| panic!("deliberately, of the program")).join().unwrap_err();
    assert_eq!(PANICS.load(Relaxed), 1);
}
