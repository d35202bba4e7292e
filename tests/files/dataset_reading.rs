//! Datasets that are put together section by section, from the convention alone, and read in any boxes on any ranks.

#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::{Rng, options};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use scda::{
    Communicator, Content, DataMut, DataType, Dataset, DatasetHandle, Encode, Entry, ErrorKind, IndexBox,
    Layout, ReadOptions, Reader, Request, Sink, Solo, Source, WriteOptions, Writer, run_on_threads,
};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// An array as numpy would have it, and how it is stored.
#[derive(Clone, Debug)]
struct Array {
    name: String,
    data_type: &'static str,
    item: usize,
    /// The bytes of each number.
    number: usize,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    kind: Kind,
    is_big: bool,
    shuffle: bool,
    zlib: bool,
    /// An item, in the byte order of the machine.
    fill: Vec<u8>,
    data: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Contiguous,
    Text,
    Binary,
}

const TYPES: [(&str, usize, usize); 6] =
    [("uint8", 1, 1), ("int16", 2, 2), ("uint32", 4, 4), ("int64", 8, 8), ("r24", 3, 1), ("uint64", 8, 8)];

fn product(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}

/// The index of the item with this number in C order.
fn index(shape: &[u64], mut n: u64) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for d in (0..shape.len()).rev() {
        index[d] = n % shape[d];
        n /= shape[d];
    }
    index
}

/// All indices in C order.
fn indices(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let shape = shape.to_vec();
    (0..product(&shape) as u64).map(move |n| index(&shape, n))
}

impl Array {
    fn random(rng: &mut Rng, name: &str) -> Self {
        let (data_type, item, number) = TYPES[rng.below(6) as usize];
        let dimensions = [0, 1, 1, 2, 2, 3, 3, 4, 7][rng.below(9) as usize];
        let most = [1, 200, 24, 12, 6, 5, 4, 3][dimensions];
        let shape: Vec<u64> =
            (0..dimensions).map(|_| rng.below(most) + u64::from(rng.below(12) > 0)).collect();
        let kind = [Kind::Contiguous, Kind::Text, Kind::Binary, Kind::Binary][rng.below(4) as usize];
        let chunk: Vec<u64> = match kind {
            Kind::Contiguous => shape.iter().map(|&n| n.max(1)).collect(),
            _ => shape.iter().map(|&n| 1 + rng.below(n + 2)).collect(),
        };
        let mut array = Self {
            name: name.into(),
            data_type,
            item,
            number,
            fill: rng.bytes(item),
            data: rng.bytes(product(&shape) * item),
            shape,
            chunk,
            kind,
            is_big: rng.below(3) == 0,
            shuffle: kind != Kind::Contiguous && rng.below(3) > 0,
            zlib: kind == Kind::Binary && rng.below(4) > 0,
        };
        if rng.below(2) == 0 {
            // Some chunks of the fill value.
            for chunk in 0..array.chunks() {
                if rng.below(2) == 0 {
                    let fill = array.fill.clone();
                    for place in array.places(chunk).into_iter().flatten() {
                        array.data[place..place + fill.len()].copy_from_slice(&fill);
                    }
                }
            }
        }
        array
    }

    fn counts(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.chunk).map(|(n, chunk)| n.div_ceil(*chunk)).collect()
    }

    fn chunks(&self) -> usize {
        product(&self.counts())
    }

    /// Where each item of a chunk is in the data; nowhere beyond the array.
    fn places(&self, chunk: usize) -> Vec<Option<usize>> {
        let at = index(&self.counts(), chunk as u64);
        let place = |inner: Vec<u64>| {
            let index: Vec<u64> = (0..at.len()).map(|d| at[d] * self.chunk[d] + inner[d]).collect();
            let is_inside = index.iter().zip(&self.shape).all(|(i, n)| i < n);
            let offset = index.iter().zip(&self.shape).fold(0, |offset, (i, n)| offset * n + i);
            is_inside.then_some(offset as usize * self.item)
        };
        indices(&self.chunk).map(place).collect()
    }

    /// Bytes in the order of the file.
    fn in_file(&self, data: &[u8]) -> Vec<u8> {
        let mut data = data.to_vec();
        if self.is_big != cfg!(target_endian = "big") {
            data.chunks_mut(self.number).for_each(<[u8]>::reverse);
        }
        data
    }

    fn chunk_bytes(&self) -> usize {
        product(&self.chunk) * self.item
    }

    /// A chunk as the file has it; none if it has but the fill value.
    fn encoded(&self, chunk: usize) -> Vec<u8> {
        let places = self.places(chunk);
        let item = |place: &Option<usize>| place.map_or(&*self.fill, |at| &self.data[at..at + self.item]);
        let data: Vec<u8> = places.iter().flat_map(item).copied().collect();
        if self.kind == Kind::Binary && data.chunks(self.item).all(|item| item == self.fill) {
            return Vec::new();
        }
        let mut data = self.in_file(&data);
        if self.shuffle {
            let n = places.len();
            data = (0..data.len()).map(|i| data[i % n * self.item + i / n]).collect();
        }
        if self.zlib {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(4));
            encoder.write_all(&data).unwrap();
            data = encoder.finish().unwrap();
        }
        data
    }

    fn metadata(&self) -> Value {
        let endian = if self.is_big { "big" } else { "little" };
        let mut codecs = vec![json!({"name": "bytes", "configuration": {"endian": endian}})];
        if self.shuffle {
            codecs.push(json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": self.item}}));
        }
        if self.zlib {
            codecs.push(json!({"name": "numcodecs.zlib", "configuration": {"level": 4}}));
        }
        let mut number = self.fill.clone();
        if cfg!(target_endian = "big") {
            number.reverse();
        }
        number.resize(8, 0);
        let bits = u64::from_le_bytes(number.try_into().unwrap());
        let fill = match self.data_type {
            "r24" => json!(self.fill),
            "int16" => json!((bits as u16).cast_signed()),
            "int64" => json!(bits.cast_signed()),
            _ => json!(bits),
        };
        json!({
            "zarr_format": 3, "node_type": "array", "shape": self.shape, "data_type": self.data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.chunk}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": codecs, "fill_value": fill, "attributes": {"units": "m"},
        })
    }

    /// With `encode`, sections that need not be compressed are as it says.
    fn write(&self, file: &mut Writer, encode: Encode) {
        let text = self.metadata().to_string() + "\n";
        put_block(file, b"scda dataset 00", text.as_bytes(), encode);
        let name = self.name.as_bytes();
        match self.kind {
            Kind::Contiguous => {
                let rows = self.shape.first().copied().unwrap_or(1);
                let row = product(self.shape.get(1..).unwrap_or_default()) * self.item;
                let data = self.in_file(&self.data);
                file.array(name, &[rows], row as u64, Source::Contiguous(&data), encode).unwrap();
            }
            Kind::Text => {
                let data: Vec<u8> = (0..self.chunks()).flat_map(|chunk| self.encoded(chunk)).collect();
                let encode = if encode == Encode::None { Encode::Auto } else { encode };
                let (n, size) = (self.chunks() as u64, self.chunk_bytes() as u64);
                file.array(name, &[n], size, Source::Contiguous(&data), encode).unwrap();
            }
            Kind::Binary => {
                let chunks: Vec<Vec<u8>> = (0..self.chunks()).map(|chunk| self.encoded(chunk)).collect();
                let sizes: Vec<u64> = chunks.iter().map(|chunk| chunk.len() as u64).collect();
                let counts = [chunks.len() as u64];
                file.varray(name, &counts, &sizes, None, Source::Indirect(&chunks), encode).unwrap();
            }
        }
    }

    /// A box of the data, one item after the other.
    fn slice(&self, region: &IndexBox) -> Vec<u8> {
        let item = |inner: Vec<u64>| {
            let offset = (0..inner.len()).fold(0, |at, d| at * self.shape[d] + region.start[d] + inner[d]);
            self.data[offset as usize * self.item..][..self.item].to_vec()
        };
        indices(&region.count).flat_map(item).collect()
    }

    fn random_region(&self, rng: &mut Rng) -> IndexBox {
        if rng.below(5) == 0 {
            return IndexBox::all(&self.shape);
        }
        let start: Vec<u64> = self.shape.iter().map(|&n| rng.below(n + 1)).collect();
        let count: Vec<u64> = self
            .shape
            .iter()
            .zip(&start)
            .map(|(n, start)| (rng.below(n - start + 1) + 1).min(n - start))
            .collect();
        IndexBox::new(start, count)
    }
}

fn put_block(file: &mut Writer, user: &[u8], data: &[u8], encode: Encode) {
    file.block(user, 0, data.len() as u64, Some(data), encode).unwrap();
}

/// Reads random boxes of a dataset and compares them.
fn read_regions(file: &mut Reader, handle: &DatasetHandle, array: &Array, rng: &mut Rng) {
    for _ in 0..3 {
        let regions: Vec<IndexBox> = (0..rng.below(4)).map(|_| array.random_region(rng)).collect();
        let expected: Vec<u8> = regions.iter().flat_map(|region| array.slice(region)).collect();
        let mut found = vec![0xaa; expected.len()];
        handle.read(file, &regions, &mut found).unwrap();
        assert!(found == expected, "{regions:?} of {array:?}");
    }
}

/// Reads random boxes of several arrays in one call, of each as often as it is drawn, and compares them. All ranks
/// draw the same arrays, with the records that they are, each its own boxes.
fn read_together(file: &mut Reader, arrays: &[(i64, &Array)], own: &mut Rng) {
    let found = arrays.iter().map(|(record, array)| file.dataset_record(&array.name, *record));
    let handles: Vec<DatasetHandle> = found.map(|found| found.unwrap().unwrap()).collect();
    let regions: Vec<Vec<IndexBox>> = arrays
        .iter()
        .map(|(_, array)| (0..own.below(4)).map(|_| array.random_region(own)).collect())
        .collect();
    let expected: Vec<Vec<u8>> = arrays
        .iter()
        .zip(&regions)
        .map(|((_, array), regions)| regions.iter().flat_map(|region| array.slice(region)).collect())
        .collect();
    let mut found: Vec<Vec<u8>> = expected.iter().map(|data| vec![0xaa; data.len()]).collect();
    let requests = handles.iter().zip(&regions).zip(&mut found);
    let requests =
        requests.map(|((dataset, regions), data)| Request { dataset, regions, data: data.into() }).collect();
    file.read_datasets(requests).unwrap();
    for (((_, array), regions), (found, expected)) in
        arrays.iter().zip(&regions).zip(found.iter().zip(&expected))
    {
        assert!(found == expected, "{regions:?} of {array:?}");
    }
}

fn check(dataset: &scda::Dataset, array: &Array) {
    assert_eq!((&*dataset.name, dataset.data_type.to_string()), (&*array.name, array.data_type.into()));
    assert_eq!(dataset.shape, array.shape);
    assert_eq!(dataset.attributes, "{\"units\":\"m\"}");
    assert_eq!(dataset.unsupported, None);
    assert_eq!(dataset.chunk_shape(), array.chunk);
    match &dataset.layout {
        Layout::Contiguous => assert_ne!(array.kind, Kind::Binary),
        Layout::Chunked { text, .. } => assert_eq!(*text, array.kind != Kind::Binary),
        _ => panic!("another layout"),
    }
}

#[test]
fn any_region_of_any_array_on_any_ranks_is_the_slice_of_it() {
    let scratch = tempfile::tempdir().unwrap();
    for seed in 0..40 {
        let path = scratch.path().join("datasets.scda");
        let mut rng = Rng(seed);
        let arrays: Vec<Array> =
            (0..6).map(|k| Array::random(&mut rng, &format!("group/a{}", k % 4))).collect();
        let mut params: WriteOptions = options();
        params.seal = seed % 2 == 0;
        let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
        for array in &arrays {
            array.write(&mut file, [Encode::None, Encode::Always][rng.below(8) as usize / 7]);
            if rng.below(3) == 0 {
                put_block(&mut file, b"between", b"datasets", Encode::None);
            }
        }
        file.close().unwrap();
        run_on_threads(seed as usize % 4 + 1, |comm| {
            let mut own = Rng(seed ^ (comm.rank() as u64 + 1) << 32);
            let mut common = Rng(seed);
            let mut params: ReadOptions = options();
            params.verify = seed % 4 == 0;
            params.strict = seed % 3 == 0;
            let mut file = Reader::open(comm, &path, &params).unwrap();
            // From the front.
            let (mut left, mut number) = (arrays.iter(), 0);
            while let Some(entry) = file.next_entry(number).unwrap() {
                number = entry.end();
                let Content::Dataset(dataset) = &entry.content else {
                    assert_eq!(entry.name(), b"between");
                    continue;
                };
                let array = left.next().unwrap();
                check(dataset, array);
                assert_eq!(
                    entry.records,
                    if ["group/a0", "group/a1"].contains(&&*array.name) { 2 } else { 1 }
                );
                assert_eq!(entry.record, u64::from(left.len() < 2));
                if common.below(3) > 0 {
                    read_regions(&mut file, dataset, array, &mut own);
                }
            }
            assert!(left.next().is_none());
            // Sections one after the other, whatever else is read between them.
            file.next_section(true).unwrap();
            // By name and record.
            for (index, array) in arrays.iter().enumerate() {
                let record = if index < 4 { 0 } else { -1 };
                let dataset = file.dataset_record(&array.name, record).unwrap().unwrap();
                check(&dataset, array);
                read_regions(&mut file, &dataset, array, &mut own);
            }
            // Several in one call, or none.
            for n in [0, 1, 3, 10] {
                let chosen: Vec<usize> = (0..n).map(|_| common.below(6) as usize).collect();
                let several: Vec<(i64, &Array)> =
                    chosen.iter().map(|&k| (if k < 4 { 0 } else { -1 }, &arrays[k])).collect();
                read_together(&mut file, &several, &mut own);
            }
            file.skip().unwrap();
            assert_eq!(file.next_section(true).unwrap().unwrap().user[..], *arrays[0].name.as_bytes());
            assert!(file.dataset_record("group/a0", 2).unwrap().is_none());
            assert!(file.dataset("other").unwrap().is_none());
            file.close().unwrap();
        });
    }
}

/// A file with one dataset, and whatever the test makes of its sections.
fn one(path: &Path, array: &Array, seal: bool) {
    let mut params: WriteOptions = options();
    params.seal = seal;
    let mut file = Writer::create(Solo, path, b"", &params).unwrap();
    array.write(&mut file, Encode::None);
    file.close().unwrap();
}

fn simple(kind: Kind) -> Array {
    let data = (0..60_u32).flat_map(u32::to_ne_bytes).collect();
    Array {
        name: "a".into(),
        data_type: "uint32",
        item: 4,
        number: 4,
        shape: vec![10, 6],
        chunk: if kind == Kind::Contiguous { vec![10, 6] } else { vec![4, 4] },
        kind,
        is_big: false,
        shuffle: kind != Kind::Contiguous,
        zlib: kind == Kind::Binary,
        fill: 7_u32.to_ne_bytes().to_vec(),
        data,
    }
}

#[test]
fn many_chunks_and_long_rows_are_read_in_batches() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("many.scda");
    let mut rng = Rng(1);
    let mut array = simple(Kind::Binary);
    // More chunks than sizes are read at once, and more than an anchor stands for.
    (array.shape, array.chunk) = (vec![9000, 2], vec![1, 1]);
    array.data = rng.bytes(9000 * 8);
    for seal in [false, true] {
        one(&path, &array, seal);
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        let handle = file.dataset_record("a", 0).unwrap().unwrap();
        for start in [0, 8000, 4500, 2] {
            let regions = [IndexBox::new([start, 0], [1000, 1]), IndexBox::new([start + 500, 1], [400, 1])];
            let expected: Vec<u8> = regions.iter().flat_map(|region| array.slice(region)).collect();
            let mut found = vec![0; expected.len()];
            handle.read(&mut file, &regions, &mut found).unwrap();
            assert!(found == expected, "{start}");
        }
    }
    // Chunks that are decompressed on threads; one is missing.
    (array.shape, array.chunk) = (vec![700, 300], vec![250, 170]);
    array.data = (0..210_000_u32).flat_map(|n| (n / 7).to_ne_bytes()).collect();
    for place in array.places(3).into_iter().flatten() {
        array.data[place..place + 4].copy_from_slice(&array.fill);
    }
    one(&path, &array, false);
    for threads in [1, 2, 3, 8] {
        let mut params: ReadOptions = options();
        params.tuning.threads = threads;
        let mut file = Reader::open(Solo, &path, &params).unwrap();
        let handle = file.dataset_record("a", 0).unwrap().unwrap();
        let regions =
            [IndexBox::all(&[700, 300]), IndexBox::new([100, 10], [500, 200]), IndexBox::new([1, 1], [9, 9])];
        let expected: Vec<u8> = regions.iter().flat_map(|region| array.slice(region)).collect();
        let mut found = vec![0; expected.len()];
        handle.read(&mut file, &regions, &mut found).unwrap();
        assert!(found == expected, "{threads} threads");
    }
    // Rows that are read with what lies between them, and rows that are not.
    let mut array = simple(Kind::Contiguous);
    for (shape, start, count) in
        [([9000, 5], [0, 1], [9000, 2]), ([300, 2000], [1, 3], [200, 10]), ([300, 2000], [1, 3], [200, 1500])]
    {
        (array.shape, array.chunk) = (shape.to_vec(), shape.to_vec());
        array.data = rng.bytes(product(&shape) * 4);
        // Compressed rows are decoded some at a time.
        for encode in [Encode::None, Encode::Always] {
            let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
            array.write(&mut file, encode);
            file.close().unwrap();
            let mut file = Reader::open(Solo, &path, &options()).unwrap();
            let handle = file.dataset_record("a", 0).unwrap().unwrap();
            let region = IndexBox::new(start, count);
            let mut found = vec![0; region.items().unwrap() as usize * 4];
            handle.read(&mut file, std::slice::from_ref(&region), &mut found).unwrap();
            assert!(found == array.slice(&region));
        }
    }
}

/// Requests two datasets, of which the second may be wrong.
fn request(file: &mut Reader, dataset: &DatasetHandle, count: [u64; 2], bytes: usize) -> scda::Result<()> {
    let right = file.dataset("a")?.unwrap();
    let (one, mut items) = ([IndexBox::new([9, 5], [1, 1])], [0; 4]);
    let (regions, mut data) = ([IndexBox::new([0, 0], count)], vec![0; bytes]);
    file.read_datasets(vec![
        Request { dataset: &right, regions: &one, data: (&mut items).into() },
        Request { dataset, regions: &regions, data: (&mut data).into() },
    ])
}

#[test]
fn ranks_that_request_other_datasets_disagree() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("disagree.scda");
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    for name in ["a", "b", "a"] {
        Array { name: name.into(), ..simple(Kind::Binary) }.write(&mut file, Encode::None);
    }
    file.close().unwrap();
    let lists: [&[(&str, i64)]; 5] =
        [&[("a", 0), ("b", 0)], &[("a", 0), ("a", 0)], &[("a", 1), ("b", 0)], &[("a", 0)], &[]];
    for (number, other) in lists.iter().enumerate() {
        for rank in 0..3 {
            let results = run_on_threads(3, |comm| {
                let own = if comm.rank() == rank { other } else { lists[0] };
                let mut file = Reader::open(comm, &path, &options()).unwrap();
                let all = [("a", 0), ("a", 1), ("b", 0)];
                let handles = all.map(|(name, record)| file.dataset_record(name, record).unwrap().unwrap());
                let handle = |one| &handles[all.iter().position(|other| other == one).unwrap()];
                let requests = own.iter().map(|one| Request {
                    dataset: handle(one),
                    regions: &[],
                    data: DataMut::Packed(&mut []),
                });
                let requests = requests.collect();
                // A rank that requests nothing meets the others in its next call.
                file.read_datasets(requests).and_then(|()| file.close()).map_err(|error| error.to_string())
            });
            for result in &results {
                match result {
                    Ok(()) => assert_eq!(number, 0),
                    Err(error) => assert!(number > 0 && error.contains("the ranks disagree on"), "{error}"),
                }
            }
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
        }
    }
}

#[test]
fn what_is_asked_for_must_be_there() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("arguments.scda");
    let array = simple(Kind::Binary);
    one(&path, &array, false);
    type Case = (&'static str, ErrorKind, fn(&mut Reader, &DatasetHandle, u64) -> scda::Result<()>);
    let cases: [Case; 8] = [
        (
            "\": box 1: found start 5 and count 6 in dimension 0",
            ErrorKind::Argument,
            |file, dataset, rank| {
                let regions = [IndexBox::new([0, 0], [0, 0]), IndexBox::new([5 * rank, 0], [6, 0])];
                dataset.read(file, &regions, &mut [])
            },
        ),
        ("\": box 0: found 1 starts and 1 counts, expected 2", ErrorKind::Argument, |file, dataset, _| {
            dataset.read(file, &[IndexBox::new([0], [1])], &mut [0; 4])
        }),
        ("data: found 3 bytes, expected 4", ErrorKind::Argument, |file, dataset, rank| {
            dataset.read(file, &[IndexBox::new([0, 0], [1, 1])], &mut vec![0; 4 - rank as usize])
        }),
        ("path of a group", ErrorKind::Argument, |file, _, _| file.group("a//").map(drop)),
        ("no metadata precede it", ErrorKind::Format, |file, _, _| file.dataset("between").map(drop)),
        ("is not a group", ErrorKind::Format, |file, _, _| file.group("z").map(drop)),
        (
            "\": box 0: found start 0 and count 11 in dimension 0",
            ErrorKind::Argument,
            |file, dataset, rank| request(file, dataset, [10 + rank, 0], 0),
        ),
        ("data: found 239 bytes, expected 240", ErrorKind::Argument, |file, dataset, rank| {
            request(file, dataset, [10, 6], 240 - rank as usize)
        }),
    ];
    let mut file = Writer::append(Solo, &path, &options()).unwrap();
    put_block(&mut file, b"between", b"", Encode::None);
    put_block(&mut file, b"z/", b"", Encode::None);
    file.close().unwrap();
    for size in [1, 2, 3] {
        for (what, kind, call) in &cases {
            let errors = run_on_threads(size, |comm| {
                // With one rank, the only one is in error.
                let rank = if size == 1 { 1 } else { comm.rank().min(1) as u64 };
                let mut file = Reader::open(comm, &path, &options()).unwrap();
                let handle = file.dataset_record("a", 0).unwrap().unwrap();
                let error = call(&mut file, &handle, rank).unwrap_err();
                assert_eq!(handle.read(&mut file, &[], &mut []).unwrap_err().kind(), ErrorKind::Usage);
                error
            });
            for error in errors {
                assert_eq!(error.kind(), *kind, "{error}");
                assert!(error.to_string().contains(what), "{error}");
            }
        }
    }
}

#[test]
fn a_dataset_of_another_file_is_an_error_of_all_ranks() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("other.scda");
    one(&path, &simple(Kind::Binary), false);
    for size in [1, 3] {
        let errors = run_on_threads(size, |comm| {
            let mut file = Reader::open(comm.clone(), &path, &options()).unwrap();
            let mut other = Reader::open(comm.clone(), &path, &options()).unwrap();
            let (own, foreign) = (file.dataset("a").unwrap().unwrap(), other.dataset("a").unwrap().unwrap());
            // The last rank takes the wrong one.
            let handle = if comm.rank() + 1 == size { foreign } else { own };
            let error = handle.read(&mut file, &[], &mut []).unwrap_err();
            (error.kind(), error.to_string())
        });
        for error in &errors {
            assert_eq!((error, error.0), (&errors[0], ErrorKind::Argument));
            assert!(error.1.contains("dataset \"a\": it was opened in another file"), "{}", error.1);
        }
    }
}

/// Several datasets, groups and streams in turns, while the sections are read one after the other.
#[test]
fn nothing_that_is_opened_moves_the_position() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("turns.scda");
    let named = |name: &str, kind| Array { name: name.into(), ..simple(kind) };
    let arrays = [named("a", Kind::Contiguous), named("b", Kind::Binary), named("c", Kind::Text)];
    for seal in [false, true] {
        let mut params: WriteOptions = options();
        params.seal = seal;
        let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
        file.group("g", "{}").unwrap();
        file.varray(b"v", &[3], &[1, 2, 3], None, Source::Contiguous(b"abbccc"), Encode::Always).unwrap();
        file.varray(b"w", &[3], &[1, 2, 3], None, Source::Contiguous(b"abbccc"), Encode::None).unwrap();
        arrays.iter().for_each(|array| array.write(&mut file, Encode::None));
        file.close().unwrap();
        run_on_threads(2, |comm| {
            let (mut rng, mine) = (Rng(7), u64::from(comm.rank() == 0));
            let mut file = Reader::open(comm, &path, &options()).unwrap();
            let handles = arrays.each_ref().map(|array| file.dataset(&array.name).unwrap().unwrap());
            let mut turn = 0;
            let mut others = |file: &mut Reader| {
                let before = file.position();
                for n in [turn % 3, 2, (turn + 1) % 3] {
                    read_regions(file, &handles[n], &arrays[n], &mut rng);
                }
                turn += 1;
                assert!(file.dataset("nowhere").unwrap().is_none() && file.group("g").unwrap().is_some());
                assert_eq!(file.streams(b"w").unwrap().unwrap().tasks(), 3);
                let names: Vec<_> = file.entries().map(|entry| entry.unwrap().name().to_vec()).collect();
                assert_eq!(names, [b"g", b"v", b"w", b"a", b"b", b"c"]);
                assert_eq!(file.position(), before);
            };
            while let Some(section) = file.next_section(true).unwrap() {
                others(&mut file);
                if section.decoded {
                    let all = [3, 0];
                    let mut sizes = vec![0; 3 * mine as usize];
                    file.read_varray_sizes(&all, Some(&mut sizes)).unwrap();
                    others(&mut file);
                    let mut data = vec![0; 6 * mine as usize];
                    file.read_varray(&all, Some(&sizes), None, Sink::Contiguous(&mut data)).unwrap();
                    assert_eq!(data, if mine == 1 { &b"abbccc"[..] } else { b"" });
                } else {
                    file.skip().unwrap();
                }
                others(&mut file);
            }
            file.close().unwrap();
        });
    }
}

#[test]
fn a_damaged_chunk_is_an_error_and_the_others_are_read() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("damaged.scda");
    let array = simple(Kind::Binary);
    one(&path, &array, false);
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    file.next_section(true).unwrap();
    file.skip().unwrap();
    let data = file.next_section(true).unwrap().unwrap();
    let mut sizes = vec![0; 6];
    file.read_varray_sizes(&[6], Some(&mut sizes)).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // The last byte of the second chunk.
    bytes[(data.data_offset + sizes[0] + sizes[1] - 1) as usize] ^= 1;
    let damaged = scratch.path().join("other.scda");
    std::fs::write(&damaged, &bytes).unwrap();
    let mut file = Reader::open(Solo, &damaged, &options()).unwrap();
    file.inspect().tolerate_damage().unwrap();
    let handle = file.dataset_record("a", 0).unwrap().unwrap();
    let mut found = vec![0; 240];
    let error = handle.read(&mut file, &[IndexBox::all(&[10, 6])], &mut found).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert_eq!(error.offset(), Some(data.data_offset + sizes[0]), "{error} {sizes:?}");
    assert!(error.to_string().contains("dataset \"a\": chunk 1: zlib stream: "), "{error}");
    let left = IndexBox::new([0, 0], [10, 4]);
    let mut found = vec![0; 160];
    handle.read(&mut file, std::slice::from_ref(&left), &mut found).unwrap();
    assert!(found == array.slice(&left));
    // On several ranks, of which one meets it.
    let errors = run_on_threads(3, |comm| {
        let mut file = Reader::open(comm, &damaged, &options()).unwrap();
        let handle = file.dataset("a").unwrap().unwrap();
        handle.read(&mut file, &[IndexBox::new([0, 4], [1, 1])], &mut [0; 4]).unwrap_err().to_string()
    });
    assert!(errors.iter().all(|error| error.contains("chunk 1") && *error == errors[0]), "{errors:?}");
    // Requested by one rank, while the others read what is right, or by all.
    for who in [0, 1, 2, 3] {
        let errors = run_on_threads(3, |comm| {
            let is_wrong = who == comm.rank() || who == 3;
            let mut file = Reader::open(comm, &damaged, &options()).unwrap();
            let (dataset, mut data) = (file.dataset("a").unwrap().unwrap(), [vec![0; 160], vec![0; 200]]);
            let [left, both] = &mut data;
            let regions = [IndexBox::new([0, 0], [10, 4]), IndexBox::new([0, 0], [10, 5])];
            let mut requests = vec![Request { dataset: &dataset, regions: &regions[..1], data: left.into() }];
            if is_wrong {
                let (regions, data) = (&regions[1..], both.into());
                requests.push(Request { dataset: &dataset, regions, data });
            } else {
                requests.push(Request { dataset: &dataset, regions: &[], data: DataMut::Packed(&mut []) });
            }
            let error = file.read_datasets(requests).unwrap_err();
            (error.kind(), error.to_string())
        });
        let place = format!("byte {}: ", data.data_offset + sizes[0]);
        for error in &errors {
            assert_eq!((error, error.0), (&errors[0], ErrorKind::Decode));
            assert!(error.1.contains(&place) && error.1.contains("dataset \"a\": chunk 1: "), "{errors:?}");
        }
    }
    // A size that no chunk can have.
    let entry = (data.data_offset - 6 * 32) as usize;
    for size in ["1 ----", "99999 "] {
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[entry + 2..entry + 8].copy_from_slice(size.as_bytes());
        std::fs::write(&damaged, &bytes).unwrap();
        let mut file = Reader::open(Solo, &damaged, &options()).unwrap();
        let begin = file.position().unwrap();
        let Some((Content::Dataset(handle), _)) = file.inspect().content_at(begin).unwrap() else {
            panic!("no dataset")
        };
        let error = handle.read(&mut file, &[IndexBox::new([0, 0], [1, 1])], &mut [0; 4]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Decode | ErrorKind::ShortFile), "{error}");
    }
}

/// A byte of another value is no bool: an error of all ranks, if one of them meets it.
#[test]
fn bytes_that_are_no_bools_are_errors_of_all_ranks() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("bools.scda");
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    let dataset = Dataset::new("mask", DataType::Bool, [3, 4]);
    file.dataset(&dataset, &[IndexBox::all(&[3, 4])], &[1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1]).unwrap();
    file.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let data = bytes.windows(12).rposition(|found| found == [1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1]).unwrap();
    bytes[data + 6] = 3;
    std::fs::write(&path, &bytes).unwrap();
    let errors = run_on_threads(3, |comm| {
        let rank = comm.rank() as u64;
        let mut file = Reader::open(comm, &path, &options()).unwrap();
        let handle = file.dataset("mask").unwrap().unwrap();
        // Two boxes, the other way round, one without items between them.
        let regions = [
            IndexBox::new([rank, 3], [1, 1]),
            IndexBox::new([0, 0], [0, 4]),
            IndexBox::new([rank, 1], [1, 2]),
        ];
        handle.read(&mut file, &regions, &mut [0; 3]).unwrap_err()
    });
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Decode);
        let words = "dataset \"mask\": item [1, 2]: found the bool 3, expected 0 or 1";
        assert!(error.to_string().contains(words), "{error}");
    }
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let handle = file.dataset("mask").unwrap().unwrap();
    let mut row = [0; 4];
    handle.read(&mut file, &[IndexBox::new([2, 0], [1, 4])], &mut row).unwrap();
    assert_eq!(row, [0, 0, 1, 1]);
}

#[test]
fn codecs_that_are_not_there_are_shown_and_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("blosc.scda");
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    let text = simple(Kind::Binary).metadata().to_string().replace("numcodecs.zlib", "blosc2");
    put_block(&mut file, b"scda dataset 00", text.as_bytes(), Encode::None);
    file.varray(b"a", &[6], &[1; 6], None, Source::Contiguous(b"abcdef"), Encode::None).unwrap();
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let dataset = file.dataset_record("a", 0).unwrap().unwrap();
    assert_eq!((&dataset.shape[..], dataset.data_type), (&[10, 6][..], DataType::Uint32));
    assert!(dataset.unsupported.as_ref().unwrap().contains("\"blosc2\""));
    let error = dataset.read(&mut file, &[], &mut []).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("dataset \"a\": found the codec \"blosc2\" at place 2"), "{error}");
}

#[test]
fn metadata_that_lie_are_refused_on_all_ranks() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("lies.scda");
    let good = simple(Kind::Binary).metadata().to_string();
    let long = format!("{good}{}", " ".repeat(4 << 20));
    let texts = [
        (good.replace("[10,6]", "[10,6,1]"), ErrorKind::Format),
        (good.replace("[10,6]", "[100,6]"), ErrorKind::Format),
        (good.replace("[10,6]", "[9223372036854775807,9]"), ErrorKind::Range),
        (good.replace("[4,4]", "[4,0]"), ErrorKind::Format),
        (good.replace("[4,4]", "[4000000,4000000]"), ErrorKind::Format),
        (good.replace("\"uint32\"", "\"int128\""), ErrorKind::Unsupported),
        (good.replace('{', "[").replace('}', "]"), ErrorKind::Format),
        (long, ErrorKind::Format),
        (String::new(), ErrorKind::Format),
    ];
    let name = path.display().to_string();
    for (text, kind) in &texts {
        let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
        put_block(&mut file, b"scda dataset 00", text.as_bytes(), Encode::None);
        file.varray(b"a", &[6], &[1; 6], None, Source::Contiguous(b"abcdef"), Encode::None).unwrap();
        let sound = Dataset::new("sound", DataType::Uint8, [3]);
        file.dataset(&sound, &[IndexBox::all(&[3])], &[1, 2, 3]).unwrap();
        file.close().unwrap();
        for size in [1, 3] {
            let errors = run_on_threads(size, |comm| {
                let mut file = Reader::open(comm, &path, &options()).unwrap();
                // It keeps no one from the others.
                let listed: Vec<_> = file.entries().map(Result::unwrap).collect();
                assert_eq!(listed.iter().map(Entry::name).collect::<Vec<_>>(), [&b"a"[..], b"sound"]);
                assert!(matches!(&listed[0].content, Content::Unknown(error)
                    if error.kind() == *kind && error.to_string().starts_with(&name)));
                let Content::Dataset(dataset) = &listed[1].content else { panic!("the sound one") };
                let mut items = [0; 3];
                dataset.read(&mut file, &[IndexBox::all(&[3])], &mut items).unwrap();
                assert_eq!(items, [1, 2, 3]);
                file.dataset("a").unwrap_err()
            });
            for error in errors {
                assert_eq!(error.kind(), *kind, "{}: {error}", &text[..text.len().min(100)]);
                assert!(error.to_string().contains("byte "), "{error}");
            }
        }
    }
    // Metadata without data.
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    put_block(&mut file, b"scda dataset 00", good.as_bytes(), Encode::None);
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let Content::Unknown(error) = file.next_entry(0).unwrap().unwrap().content else { panic!("no data") };
    assert!(error.to_string().contains("the file ends after its metadata, without its data"), "{error}");
    assert!(file.next_entry(1).unwrap().is_none());
}

#[allow(dead_code)] // its main
#[path = "../../examples/rust/datasets.rs"]
mod example;

#[test]
fn the_example_lists_the_datasets_of_a_stranger_and_reads_them_in_any_order() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("strangers.scda");
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    let put = |file: &mut Writer, name: &str, data_type, shape: &[u64], items: &[u8]| {
        file.dataset(&Dataset::new(name, data_type, shape), &[IndexBox::all(shape)], items).unwrap();
    };
    let words: Vec<u8> = (1..5_i32).flat_map(i32::to_ne_bytes).collect();
    put(&mut file, "a", DataType::Uint8, &[2, 3], &[0, 1, 2, 3, 4, 5]);
    put_block(&mut file, b"scda dataset 00", b"{\"zarr_format\": 3, \"shape\": [4, ", Encode::None);
    file.array(b"broken", &[4], 4, Source::Contiguous(&words), Encode::None).unwrap();
    put(&mut file, "flow/c", DataType::Int32, &[4], &words);
    for time in [0.25_f64, 0.5] {
        put(&mut file, "time", DataType::Float64, &[], &time.to_ne_bytes());
    }
    file.close().unwrap();
    let mut out = Vec::new();
    example::run(&path, &["flow/c", "a", "time"], &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let (broken, others): (Vec<_>, Vec<_>) = out.lines().partition(|line| line.starts_with("broken"));
    assert!(broken.len() == 1 && broken[0].starts_with("broken: cannot be read: "), "{out}");
    let expected = [
        "a, record 0 of 1: uint8 [2, 3]",
        "flow/c, record 0 of 1: int32 [4]",
        "time, record 0 of 2: float64 []",
        "time, record 1 of 2: float64 []",
        "flow/c: sum 10.0",
        "a: sum 15.0",
        "time: sum 0.5",
    ];
    assert_eq!(others, expected);
}

#[test]
fn groups_have_attributes_and_the_last_ones_count() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("groups.scda");
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    for (path, attributes) in
        [("/", "{\"title\":\"a\"}"), ("flow/", "{}"), ("/", "{\"title\": \"b\", \"n\": 1.0}")]
    {
        file.inline(b"scda group 00", 0, Some(b"Below: attributes of this group\n")).unwrap();
        let text = format!("{{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{attributes}}}\n");
        put_block(&mut file, path.as_bytes(), text.as_bytes(), Encode::None);
    }
    put_block(&mut file, b"last", b"", Encode::None);
    file.close().unwrap();
    run_on_threads(2, |comm| {
        let mut file = Reader::open(comm, &path, &options()).unwrap();
        assert_eq!(
            file.group("/").unwrap().map(|group| group.attributes).as_deref(),
            Some("{\"title\":\"b\",\"n\":1.0}")
        );
        let listed: Vec<_> = file.entries().map(Result::unwrap).collect();
        let paths: Vec<_> = listed.iter().map(|entry| (entry.name(), entry.record, entry.records)).collect();
        assert_eq!(paths, [(&b"flow"[..], 0, 1), (b"/", 1, 2), (b"last", 0, 1)]);
        assert_eq!(file.group("flow").unwrap().map(|group| group.attributes).as_deref(), Some("{}"));
        assert_eq!(file.group("other").unwrap(), None);
        let group = file.group("flow").unwrap().unwrap();
        assert_eq!((&*group.path, &*group.attributes), ("flow", "{}"));
        file.close().unwrap();
    });
}

/// What numpy saved: the shape, and the items in the byte order of the machine.
fn npy(path: &Path, number: usize) -> (Vec<u64>, Vec<u8>) {
    let bytes = std::fs::read(path).unwrap();
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..end]).unwrap();
    assert!(header.contains("'fortran_order': False"), "{header}");
    let shape = header.split("'shape': (").nth(1).unwrap().split(')').next().unwrap();
    let shape = shape.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    let mut data = bytes[end..].to_vec();
    if header.contains("'descr': '>") != cfg!(target_endian = "big") {
        data.chunks_mut(number).for_each(<[u8]>::reverse);
    }
    (shape, data)
}

#[test]
fn arrays_by_zarr_python_are_read_from_their_own_metadata_and_chunks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/zarr");
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("zarr.scda");
    let mut missing = 0;
    for (name, item, number) in [
        ("big_endian", 8, 8),
        ("fields/level", 4, 4),
        ("fields/mostly_fill", 4, 4),
        ("mask", 1, 1),
        ("plain", 8, 8),
        ("scalar", 2, 2),
        ("state", 8, 8),
        ("wave", 16, 8),
    ] {
        let (shape, data) = npy(&root.join(name.replace('/', "-") + ".npy"), number);
        let folder = root.join("store.zarr").join(name);
        let text = std::fs::read(folder.join("zarr.json")).unwrap();
        let metadata: Value = serde_json::from_slice(&text).unwrap();
        let chunk: Vec<u64> =
            serde_json::from_value(metadata["chunk_grid"]["configuration"]["chunk_shape"].clone()).unwrap();
        let array = Array { name: name.into(), shape, chunk, item, data, ..simple(Kind::Binary) };
        let file_of =
            |at: Vec<u64>| at.iter().fold(folder.join("c"), |path, index| path.join(index.to_string()));
        let chunks: Vec<Vec<u8>> =
            indices(&array.counts()).map(|at| std::fs::read(file_of(at)).unwrap_or_default()).collect();
        missing += chunks.iter().filter(|chunk| chunk.is_empty()).count();
        let sizes: Vec<u64> = chunks.iter().map(|chunk| chunk.len() as u64).collect();
        let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
        put_block(&mut file, b"scda dataset 00", &text, Encode::None);
        let counts = [chunks.len() as u64];
        file.varray(name.as_bytes(), &counts, &sizes, None, Source::Indirect(&chunks), Encode::None).unwrap();
        file.close().unwrap();
        run_on_threads(2, |comm| {
            let mut rng = Rng(comm.rank() as u64);
            let mut file = Reader::open(comm, &path, &options()).unwrap();
            let dataset = file.dataset_record(name, 0).unwrap().unwrap();
            assert_eq!((&dataset.shape, dataset.data_type.item_bytes()), (&array.shape, item as u64));
            let mut found = vec![0; array.data.len()];
            dataset.read(&mut file, &[IndexBox::all(&array.shape)], &mut found).unwrap();
            assert!(found == array.data, "{name}");
            read_regions(&mut file, &dataset, &array, &mut rng);
        });
    }
    assert!(missing > 0);
}
