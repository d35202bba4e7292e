//! What the library needs besides the user's own memory: little, whatever the number of elements.
//! One test, because the peak is that of the whole process.
#![cfg(target_os = "linux")]
#![allow(clippy::cast_possible_truncation)] // test data

#[path = "common/options.rs"]
mod options;

use options::options;
use scda::{
    Communicator, DataType, Dataset, Encode, ErrorKind, Hdf5, IndexBox, Layout, ReadOptions, Reader, Sink,
    Solo, Source, SuperblockState, WriteOptions, Writer, run_on_threads,
};
use std::path::Path;

/// Bytes that the process had at most, beyond those it had before, while `run` ran.
fn growth(run: impl FnOnce()) -> usize {
    let field = |name: &str| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    };
    std::fs::write("/proc/self/clear_refs", "5").unwrap(); // the peak begins anew
    let before = field("VmRSS:");
    run();
    field("VmHWM:").saturating_sub(before)
}

fn write(path: &Path, sizes: &[u64], data: &[u8], encode: Encode, threads: usize) {
    let mut params = WriteOptions::default();
    (params.tuning.threads, params.level) = (threads, 0); // no time for more
    let mut file = Writer::create(Solo, path, b"", &params).unwrap();
    file.varray(b"", &[sizes.len() as u64], sizes, None, Source::Contiguous(data), encode).unwrap();
    file.close().unwrap();
}

fn read(path: &Path, sizes: &mut [u64], data: &mut [u8], threads: usize) {
    let mut params = ReadOptions::default();
    params.tuning.threads = threads;
    let counts = [sizes.len() as u64];
    let mut file = Reader::open(Solo, path, &params).unwrap();
    file.next_section(true).unwrap();
    file.read_varray_sizes(&counts, Some(sizes)).unwrap();
    file.read_varray(&counts, Some(sizes), None, Sink::Contiguous(data)).unwrap();
    file.close().unwrap();
}

/// Two ranks have the columns of an array in turns, so that each has parts of every chunk.
/// The memory is that of `Limits::exchange_bytes` for each rank, which is small here.
fn boxes_pass_through_bounded_memory(path: &Path) {
    const SIDE: u64 = 2048;
    const LITTLE: usize = 8 << 20;
    let regions = |rank: u64| -> Vec<IndexBox> {
        (0..8).map(|i| IndexBox::new([0, (2 * i + rank) * SIDE / 16], [SIDE, SIDE / 16])).collect()
    };
    let data = vec![7; (SIDE * SIDE * 8 / 2) as usize];
    for layout in [Layout::Contiguous, Layout::Chunked { shape: None, text: false }] {
        let mut dataset = Dataset::new("rho", DataType::Float64, [SIDE, SIDE]);
        dataset.layout = layout;
        let grown = growth(|| {
            run_on_threads(2, |comm| {
                let regions = regions(comm.rank() as u64);
                let mut file = Writer::create(comm, path, b"", &options()).unwrap();
                file.dataset(&dataset, &regions, &data).unwrap();
                file.close().unwrap();
            });
        });
        assert!(grown < LITTLE, "{grown} bytes for {:?}", dataset.layout);
    }
}

/// A file of many records, to which one was appended: the outline of its view says so of all.
fn outlines_are_compared_in_little_memory(path: &Path) {
    const LITTLE: usize = 8 << 20;
    let mut params = options::<WriteOptions>();
    (params.seal, params.hdf5) = (true, Hdf5::Close);
    let write = |mut file: Writer, count: u64| {
        let dataset = Dataset::new("time", DataType::Float64, []);
        for time in 0..count {
            file.dataset(&dataset, &[IndexBox::all(&[])], &time.to_le_bytes()).unwrap();
        }
        file.close().unwrap();
    };
    // What this thread would have taken and given back, it would not take again.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            write(Writer::create(Solo, path, b"", &params).unwrap(), 50_000);
            write(Writer::append(Solo, path, &params).unwrap(), 1);
        });
    });
    let mut reader = Reader::open(Solo, path, &options()).unwrap();
    let seals = reader.inspect().seals().unwrap().all;
    let Some(SuperblockState::View(view)) = reader.inspect().superblock().unwrap() else { panic!("no view") };
    let grown = growth(|| reader.inspect().check_outline(view.root, &seals).unwrap());
    assert!(grown < LITTLE, "{grown} bytes to compare the outline");
}

/// A dataset of one chunk of 2 GiB, for which the file has few bytes that are no stream, or one that breaks off.
fn chunks_without_data_take_little(path: &Path) {
    const LITTLE: usize = 8 << 20;
    const CHUNK: u64 = (1 << 31) - 8;
    let gzip = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0; 3 << 20]].concat();
    let zstd = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0][..], &(CHUNK as u32).to_le_bytes(), &[7; 70_000]].concat();
    let size = |size: u64| (size as u32).to_le_bytes();
    let blosc =
        [&[2, 1, 4 << 5 | 1, 8][..], &size(CHUNK), &size(CHUNK), &size(70_016), &size(20), &[7; 69_996]]
            .concat();
    let shuffle = r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},"#;
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}},"#;
    let blosc_codec = r#"{"name":"blosc","configuration":{"typesize":8,"cname":"zstd","clevel":1,"shuffle":"shuffle","blocksize":0}}"#;
    for (data_type, item_bytes, codecs, stream) in [
        ("uint8", 1, format!(r#"{bytes}{shuffle}{{"name":"gzip"}}"#), gzip),
        ("uint8", 1, format!(r#"{bytes}{shuffle}{{"name":"zstd"}}"#), zstd),
        ("uint8", 1, format!("{bytes}{blosc_codec}"), blosc),
        ("int64", 8, r#"{"name":"numcodecs.pcodec","configuration":{"level":8}}"#.into(), b"pco!".to_vec()),
    ] {
        let items = CHUNK / item_bytes;
        let metadata = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[{items}],"data_type":"{data_type}","#
        ) + &format!(
            r#""chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{items}]}}}},"codecs":[{codecs}],"#
        ) + "\"fill_value\":0,\"attributes\":{}}\n";
        for stream in [&stream[..1], &stream] {
            let mut file = Writer::create(Solo, path, b"", &WriteOptions::default()).unwrap();
            let block = metadata.as_bytes();
            file.block(b"scda dataset 00", 0, block.len() as u64, Some(block), Encode::None).unwrap();
            let sizes = [stream.len() as u64];
            file.varray(b"x", &[1], &sizes, None, Source::Contiguous(stream), Encode::None).unwrap();
            file.close().unwrap();
            let grown = growth(|| {
                let mut file = Reader::open(Solo, path, &ReadOptions::default()).unwrap();
                let found = file.dataset_record("x", 0).unwrap().unwrap();
                let mut item = vec![0; item_bytes as usize];
                let error = found.read(&mut file, &[IndexBox::new([1], [1])], &mut item).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
                eprintln!("{codecs}, {} bytes: {error}", stream.len());
            });
            assert!(grown < LITTLE + 2 * stream.len(), "{codecs}, {} bytes: {grown}", stream.len());
        }
    }
}

#[test]
fn entries_and_elements_pass_through_bounded_memory() {
    const LITTLE: usize = 16 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    // First, as the process keeps memory that others give back.
    outlines_are_compared_in_little_memory(&path);
    for (count, size, encode, threads) in
        [(4_000_000, 1, Encode::None, 1), (60_000, 300, Encode::Always, 1), (60_000, 300, Encode::Always, 3)]
    {
        let sizes = vec![size as u64; count];
        let data: Vec<u8> = (0..count * size).map(|i| (i % 250) as u8).collect();
        let (mut found_sizes, mut found) = (vec![1; count], vec![1; count * size]);
        let writing = growth(|| write(&path, &sizes, &data, encode, threads));
        let file_bytes = usize::try_from(std::fs::metadata(&path).unwrap().len()).unwrap();
        let entry_bytes = 32 * count;
        assert!(entry_bytes + data.len() < file_bytes);
        // What is compressed is kept until its size is known, and the sizes of its elements with it.
        let kept = match encode {
            Encode::None => 0,
            _ => file_bytes - 2 * entry_bytes + 2 * 8 * count,
        };
        assert!(
            writing < LITTLE + kept,
            "{count} x {size}, {threads} threads: {writing} {kept} {file_bytes}"
        );
        let reading = growth(|| read(&path, &mut found_sizes, &mut found, threads));
        let kept = if encode == Encode::None { 0 } else { 8 * count };
        assert!(
            reading < LITTLE + kept,
            "{count} x {size}, {threads} threads: {reading} {kept} {file_bytes}"
        );
        assert!(found_sizes == sizes && found == data);
        eprintln!("{count} elements of {size}, {threads} threads: writing {writing}, reading {reading}");
    }
    boxes_pass_through_bounded_memory(&path);
    chunks_without_data_take_little(&path);
}
