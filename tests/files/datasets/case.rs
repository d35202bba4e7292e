//! Arrays that any ranks write in any boxes, and files that are compared with them.

use crate::common::options;
use flate2::read::ZlibDecoder;
use scda::{
    Codec, Communicator, DataType, Dataset, IndexBox, Layout, Reader, Section, SectionType, Sink, Solo,
    WriteOptions, Writer, run_on_threads,
};
use scda_codec::chunk::ChunkDecoder;
use scda_format::dataset::parse;
use std::io::Read;
use std::path::Path;

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n.max(1)
    }
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Cuts a box into boxes without common items.
pub fn cut(random: &mut Random, region: &IndexBox, pieces: &mut Vec<IndexBox>) {
    let longest = (0..region.count.len()).filter(|&d| region.count[d] > 1);
    let dimension = longest.max_by_key(|_| random.below(100));
    match dimension {
        Some(d) if !random.one_in(4) => {
            let at = 1 + random.below(region.count[d] - 1);
            let (mut low, mut high) = (region.clone(), region.clone());
            low.count[d] = at;
            high.start[d] += at;
            high.count[d] -= at;
            cut(random, &low, pieces);
            cut(random, &high, pieces);
        }
        _ => pieces.push(region.clone()),
    }
}

/// The places of a box's items in an array, in C order.
pub fn places(shape: &[u64], region: &IndexBox) -> Vec<usize> {
    let mut places = vec![0_u64];
    for ((&n, &start), &count) in shape.iter().zip(&region.start).zip(&region.count) {
        places = places.iter().flat_map(|at| (start..start + count).map(move |i| at * n + i)).collect();
    }
    places.into_iter().map(|at| at as usize).collect()
}

/// The items of a box of an array.
pub fn items(array: &[u8], item: usize, shape: &[u64], region: &IndexBox) -> Vec<u8> {
    places(shape, region).into_iter().flat_map(|at| array[at * item..(at + 1) * item].to_vec()).collect()
}

/// An array with what each rank passes of it; the rest has the fill value.
pub struct Case {
    pub dataset: Dataset,
    pub array: Vec<u8>,
    pub ranks: Vec<Vec<IndexBox>>,
}

pub fn little_endian(dataset: &Dataset, data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dataset.data_type.number_bytes() as usize).for_each(<[u8]>::reverse);
    }
    bytes
}

impl Case {
    pub fn random(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let types = [
            DataType::Bool,
            DataType::Int16,
            DataType::Float32,
            DataType::Float64,
            DataType::Complex128,
            DataType::Raw(3),
        ];
        let data_type = types[random.below(6) as usize];
        let dimensions = random.below(8) as usize;
        let most = [1, 9000, 100, 25, 9, 6, 5, 4][dimensions];
        let shape: Vec<u64> =
            (0..dimensions).map(|_| if random.one_in(30) { 0 } else { 1 + random.below(most) }).collect();
        let mut dataset = Dataset::new(format!("group/{seed}"), data_type, shape.clone());
        let item = data_type.item_bytes() as usize;
        if random.one_in(2) {
            dataset.fill_value = (0..item).map(|_| random.below(2) as u8).collect();
        }
        dataset.shuffle = !random.one_in(3);
        dataset.codec = Codec::NAMES[random.below(Codec::NAMES.len() as u64) as usize].0;
        dataset.level = (!random.one_in(2)).then(|| random.below(10) as u32);
        dataset.attributes = r#"{"units": "m"}"#.into();
        if !random.one_in(3) {
            let mut chunk = Vec::new();
            for n in &shape {
                let most = if random.one_in(3) { n + 3 } else { n / 2 + 1 };
                chunk.push(1 + random.below(most));
            }
            let shape = (!random.one_in(5)).then_some(chunk);
            dataset.layout = Layout::Chunked { shape, text: random.one_in(3) };
        }
        let count = shape.iter().product::<u64>() as usize;
        let fill = match dataset.fill_value.as_slice() {
            [] => vec![0; item],
            fill => fill.to_vec(),
        };
        let mut array = little_endian(&dataset, &fill).repeat(count);
        let mut pieces = Vec::new();
        cut(&mut random, &IndexBox::all(&shape), &mut pieces);
        let mut ranks = vec![Vec::new(); 1 + random.below(6) as usize];
        let gaps = if random.one_in(2) { 1 } else { 5 };
        for piece in pieces {
            if gaps == 1 || !random.one_in(gaps) {
                let uniform = random.one_in(4);
                for at in places(&shape, &piece) {
                    let value = if uniform { 1 } else { random.below(256) as u8 };
                    array[at * item..(at + 1) * item].fill(if data_type == DataType::Bool {
                        value % 2
                    } else {
                        value
                    });
                }
                let rank = random.below(ranks.len() as u64) as usize;
                ranks[rank].push(piece);
            }
        }
        Self { dataset, array, ranks }
    }

    pub fn item(&self) -> usize {
        self.dataset.data_type.item_bytes() as usize
    }

    pub fn data(&self, regions: &[IndexBox]) -> Vec<u8> {
        regions
            .iter()
            .flat_map(|region| items(&self.array, self.item(), &self.dataset.shape, region))
            .collect()
    }

    /// Writes it by the ranks as they are.
    pub fn write(&self, path: &Path, params: &WriteOptions) {
        run_on_threads(self.ranks.len(), |comm| {
            let regions = &self.ranks[comm.rank()];
            let mut file = Writer::create(comm, path, b"", params).unwrap();
            file.dataset(&self.dataset, regions, &self.data(regions)).unwrap();
            file.close().unwrap();
        });
    }
}

pub fn expect(file: &mut Reader, kind: SectionType, user: &[u8], decode: bool) -> Section {
    let section = file.next_section(decode).unwrap().unwrap();
    assert_eq!((section.section_type, &*section.user), (kind, user));
    section
}

pub fn unshuffled(data: &[u8], item: usize) -> Vec<u8> {
    let count = data.len() / item;
    (0..count).flat_map(|i| (0..item).map(move |byte| data[byte * count + i])).collect()
}

/// The bytes of a chunk, by the codecs in its metadata, as somebody else would decode them.
fn decoded(stream: &[u8], metadata: &[u8], bytes: usize, data_type: DataType) -> Vec<u8> {
    let codecs = &serde_json::from_slice::<serde_json::Value>(metadata).unwrap()["codecs"];
    let last = &codecs.as_array().unwrap().last().unwrap();
    let mut found = Vec::new();
    // Not independent of what is tested: for codecs of which nothing here has another decoder.
    let by_the_library = || {
        let (mut decoder, mut out) = (ChunkDecoder::new(true), vec![0; bytes]);
        decoder.stream(stream.len() as u64).unwrap().copy_from_slice(stream);
        let codecs = parse::dataset("a", metadata).unwrap().codecs;
        decoder.decode(stream.len() as u64, &codecs, &mut out).unwrap();
        out
    };
    match last["name"].as_str().unwrap() {
        "numcodecs.zlib" => _ = ZlibDecoder::new(stream).read_to_end(&mut found).unwrap(),
        "numcodecs.pcodec" => return pcodec(stream, data_type),
        "blosc" => {
            let (flags, size) = (stream[2], usize::from(stream[3]));
            assert_eq!((&stream[..2], flags & 0x14), (&[2, 1][..], 0x10));
            assert_eq!(stream[12..16], (stream.len() as u32).to_le_bytes());
            if flags & 2 != 0 {
                return stream[16..].to_vec();
            }
            assert_eq!(stream[16..24], [20_u32, stream.len() as u32 - 24].map(u32::to_le_bytes).concat());
            found = match flags >> 5 {
                4 => zstd::decode_all(&stream[24..]).unwrap(),
                1 => lz4::block::decompress(&stream[24..], Some(i32::try_from(bytes).unwrap())).unwrap(),
                _ => return by_the_library(),
            };
            return if flags & 1 == 0 { found } else { unshuffled(&found, size) };
        }
        _ => return by_the_library(),
    }
    let shuffle = &codecs[1];
    if shuffle["name"] == "numcodecs.shuffle" {
        let size = shuffle["configuration"]["elementsize"].as_u64().unwrap();
        found = unshuffled(&found, usize::try_from(size).unwrap());
    }
    found
}

/// The numbers of a file of Pcodec as bytes.
fn pcodec(file: &[u8], data_type: DataType) -> Vec<u8> {
    use pco::standalone::simple_decompress;
    match data_type {
        DataType::Int16 => simple_decompress(file).unwrap().into_iter().flat_map(i16::to_le_bytes).collect(),
        DataType::Int32 => simple_decompress(file).unwrap().into_iter().flat_map(i32::to_le_bytes).collect(),
        DataType::Float32 => {
            simple_decompress(file).unwrap().into_iter().flat_map(f32::to_le_bytes).collect()
        }
        DataType::Float64 => {
            simple_decompress(file).unwrap().into_iter().flat_map(f64::to_le_bytes).collect()
        }
        other => panic!("{other}"),
    }
}

/// Reads a file as a stranger would: what it must have is the array in little-endian order.
pub fn check_file(path: &Path, dataset: &Dataset, array: &[u8]) {
    let mut file = Reader::open(Solo, path, &options()).unwrap();
    let block = expect(&mut file, SectionType::Block, b"scda dataset 00", true);
    let mut metadata = vec![0; block.size as usize];
    file.read_block(block.size, 0, Some(&mut metadata)).unwrap();
    let found: serde_json::Value = serde_json::from_slice(&metadata).unwrap();
    assert_eq!(found["shape"], serde_json::json!(dataset.shape));
    let (name, shape) = (dataset.name.as_bytes(), &dataset.shape);
    let item = dataset.data_type.item_bytes() as usize;
    let array = little_endian(dataset, array);
    match &dataset.layout {
        Layout::Chunked { text, .. } => {
            let chunk = dataset.chunk_shape();
            let bytes = item * chunk.iter().product::<u64>() as usize;
            let grid: Vec<u64> = shape.iter().zip(&chunk).map(|(n, c)| n.div_ceil(*c)).collect();
            let count = grid.iter().product::<u64>();
            let section = if *text {
                let section = expect(&mut file, SectionType::Array, name, true);
                assert!(section.decoded && section.size == bytes as u64);
                section
            } else {
                expect(&mut file, SectionType::Varray, name, false)
            };
            assert_eq!(section.count, count);
            let mut sizes = vec![bytes as u64; count as usize];
            if !text {
                file.read_varray_sizes(&[count], Some(&mut sizes)).unwrap();
            }
            let mut data = vec![0; sizes.iter().sum::<u64>() as usize];
            if *text {
                file.read_array(&[count], bytes as u64, Sink::Contiguous(&mut data)).unwrap();
            } else {
                file.read_varray(&[count], Some(&sizes), None, Sink::Contiguous(&mut data)).unwrap();
            }
            let fill = match dataset.fill_value.as_slice() {
                [] => vec![0; item],
                fill => fill.to_vec(),
            };
            let mut rest = &data[..];
            for (number, size) in sizes.iter().enumerate() {
                let (stream, others) = rest.split_at(*size as usize);
                rest = others;
                let mut found = stream.to_vec();
                if !text && *size > 0 {
                    found = decoded(stream, &metadata, bytes, dataset.data_type);
                } else if dataset.shuffle {
                    found = unshuffled(&found, item);
                }
                // The chunk as a box, whole even where it reaches beyond the array.
                let (mut rest, mut start) = (number as u64, vec![0; shape.len()]);
                for d in (0..shape.len()).rev() {
                    start[d] = rest % grid[d] * chunk[d];
                    rest /= grid[d];
                }
                let count = (0..shape.len()).map(|d| chunk[d].min(shape[d] - start[d])).collect::<Vec<_>>();
                let mut expected = fill.repeat(bytes / item);
                let own = IndexBox::new(start, count.clone());
                let inside = IndexBox::new(vec![0; shape.len()], count);
                let values = items(&array, item, shape, &own);
                for (at, value) in places(&chunk, &inside).into_iter().zip(values.chunks_exact(item)) {
                    expected[at * item..(at + 1) * item].copy_from_slice(value);
                }
                let is_fill = expected == fill.repeat(bytes / item);
                assert_eq!(*size == 0, is_fill && !text, "chunk {number} of {dataset:?}");
                if *size > 0 {
                    assert!(found == expected, "chunk {number} of {dataset:?}");
                }
            }
        }
        _ => {
            let section = expect(&mut file, SectionType::Array, name, true);
            let (rows, size) = (section.count, section.size);
            assert_eq!(rows, shape.first().copied().unwrap_or(1));
            assert_eq!(size as usize, item * shape.iter().skip(1).product::<u64>() as usize);
            let mut data = vec![0; array.len()];
            if array.len() >= 65536 {
                assert!((block_end(path) + 128).is_multiple_of(4096), "{dataset:?}");
            }
            file.read_array(&[rows], size, Sink::Contiguous(&mut data)).unwrap();
            assert!(data == array, "{dataset:?}");
        }
    }
    assert!(file.next_section(true).unwrap().is_none());
    file.close().unwrap();
}

/// Reads boxes of it, on each rank others, and compares what the file says of it.
pub fn read_back(path: &Path, dataset: &Dataset, array: &[u8], ranks: usize, seed: u64) {
    let item = dataset.data_type.item_bytes() as usize;
    run_on_threads(ranks, |comm| {
        let mut random = Random(seed + comm.rank() as u64);
        let mut file = Reader::open(comm, path, &options()).unwrap();
        let found = file.dataset_record(&dataset.name, 0).unwrap().unwrap();
        assert_eq!(
            (&found.name, found.data_type, &found.shape),
            (&dataset.name, dataset.data_type, &dataset.shape)
        );
        match (&found.layout, &dataset.layout) {
            (Layout::Chunked { shape, text }, Layout::Chunked { text: expected, .. }) => {
                assert_eq!((shape.as_ref(), text), (Some(&dataset.chunk_shape()), expected));
            }
            (found, expected) => assert_eq!(found, expected),
        }
        let mut regions = Vec::new();
        for _ in 0..random.below(4) {
            let mut region = IndexBox::all(&dataset.shape);
            for d in 0..region.count.len() {
                region.start[d] = random.below(dataset.shape[d] + 1);
                region.count[d] = random.below(dataset.shape[d] - region.start[d] + 1);
            }
            regions.push(region);
        }
        let expected: Vec<u8> = regions.iter().flat_map(|r| items(array, item, &dataset.shape, r)).collect();
        let mut data = vec![9; expected.len()];
        found.read(&mut file, &regions, &mut data).unwrap();
        assert!(data == expected, "{dataset:?} {regions:?}");
        file.close().unwrap();
    });
}

/// Where the first section ends.
pub fn block_end(path: &Path) -> u64 {
    let mut file = Reader::open(Solo, path, &options()).unwrap();
    file.next_section(false).unwrap();
    file.skip().unwrap();
    let end = file.position().unwrap();
    file.close().unwrap();
    end
}
