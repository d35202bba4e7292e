//! Datasets of items of variable length: the same bytes for any ranks and partition, read in any boxes; damaged ones are errors.

#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::{Rng, options};
use scda::{
    Codec, Communicator, DataType, Dataset, Encode, ErrorKind, IndexBox, Layout, Reader, Solo, Source, Texts,
    Writer, run_on_threads,
};
use std::path::Path;

/// A dataset and its items.
struct Case {
    dataset: Dataset,
    items: Vec<Vec<u8>>,
}

impl Case {
    fn random(rng: &mut Rng) -> Self {
        let is_text = rng.below(2) == 0;
        let data_type = if is_text { DataType::String } else { DataType::VariableBytes };
        let rows = [0, 1, 7, 40, 300][rng.below(5) as usize];
        let inner: &[u64] = [&[][..], &[1], &[3], &[2, 2], &[0]][rng.below(5) as usize];
        let mut dataset = Dataset::new("some/names", data_type, [&[rows], inner].concat());
        let shape = (rng.below(2) == 0).then(|| {
            let inner = inner.iter().map(|&n| n.max(1));
            std::iter::once(1 + rng.below(rows + 9)).chain(inner).collect::<Vec<u64>>()
        });
        dataset.layout = match rng.below(3) {
            0 => Layout::Contiguous,
            1 => Layout::Auto { shape },
            _ => Layout::Chunked { shape, text: false },
        };
        dataset.codec = Codec::NAMES[rng.below(Codec::NAMES.len() as u64) as usize].0;
        if rng.below(3) == 0 {
            dataset.fill_value = b"none".into();
        }
        let longest = [1, 5, 60][rng.below(3) as usize];
        let fills = rng.below(4) == 0;
        let item = |rng: &mut Rng| match rng.below(longest) as usize {
            _ if fills => dataset.fill_value.clone(),
            n if is_text => {
                (0..n).map(|_| ['a', 'é', '語', '\0'][rng.below(4) as usize]).collect::<String>().into()
            }
            n => rng.bytes(n),
        };
        let items = (0..rows * inner.iter().product::<u64>()).map(|_| item(rng)).collect();
        Self { dataset, items }
    }

    fn row(&self) -> usize {
        self.dataset.shape[1..].iter().product::<u64>() as usize
    }

    fn write(&self, path: &Path, counts: &[u64]) {
        let params = options();
        run_on_threads(counts.len(), |comm| {
            let rank = comm.rank();
            let first = counts[..rank].iter().sum::<u64>() as usize * self.row();
            let own = &self.items[first..][..counts[rank] as usize * self.row()];
            let mut file = Writer::create(comm, path, b"", &params).unwrap();
            file.texts(&self.dataset, counts[rank], &own.iter().collect()).unwrap();
            file.block(b"behind", 0, 2, Some(b"ab"), Encode::None).unwrap();
            file.close().unwrap();
        });
    }

    fn read(&self, path: &Path, ranks: usize, seed: u64) {
        run_on_threads(ranks, |comm| {
            let mut rng = Rng(seed + comm.rank() as u64);
            let mut file = Reader::open(comm, path, &options()).unwrap();
            let found = file.dataset_record("some/names", 0).unwrap().unwrap();
            assert_eq!((found.data_type, &found.shape), (self.dataset.data_type, &self.dataset.shape));
            assert_eq!(found.fill_value, self.dataset.fill_value);
            let region = |rng: &mut Rng| {
                let start: Vec<u64> = found.shape.iter().map(|&n| rng.below(n + 1)).collect();
                let count = found.shape.iter().zip(&start).map(|(n, start)| rng.below(n - start + 1));
                IndexBox::new(start.clone(), count.collect::<Vec<u64>>())
            };
            for _ in 0..3 {
                let regions: Vec<IndexBox> = (0..rng.below(3)).map(|_| region(&mut rng)).collect();
                let texts = found.read_texts(&mut file, &regions).unwrap();
                let expected: Vec<&[u8]> = regions.iter().flat_map(|region| self.items_of(region)).collect();
                assert_eq!(texts.iter().collect::<Vec<_>>(), expected);
            }
            let all = found.read_texts(&mut file, &[IndexBox::all(&found.shape)]).unwrap();
            assert_eq!(all, self.items.iter().collect());
        });
    }

    /// The items of a box in C order.
    fn items_of(&self, region: &IndexBox) -> Vec<&[u8]> {
        let n = region.count.iter().product::<u64>();
        let index = |mut n: u64| {
            let (mut place, mut step) = (0, 1);
            for d in (0..region.count.len()).rev() {
                place += (region.start[d] + n % region.count[d]) * step;
                n /= region.count[d];
                step *= self.dataset.shape[d];
            }
            place as usize
        };
        (0..n).map(|n| &*self.items[index(n)]).collect()
    }
}

#[test]
fn any_ranks_write_the_same_bytes_and_read_any_regions() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("a"), folder.path().join("b"));
    for seed in 0..60 {
        println!("seed {seed}");
        let mut rng = Rng(seed);
        let case = Case::random(&mut rng);
        let rows = case.dataset.shape[0];
        case.write(&path, &[rows]);
        let expected = std::fs::read(&path).unwrap();
        for ranks in [2, 3, 5] {
            case.write(&other, &rng.partition(rows, ranks));
            assert!(std::fs::read(&other).unwrap() == expected, "{ranks} ranks");
        }
        case.read(&path, [1, 2, 3][rng.below(3) as usize], seed);
    }
}

/// The shape in the file is a matter of the texts alone: not of how the library was compiled, nor of the ranks.
#[test]
fn chunks_have_half_a_mebibyte_unless_the_user_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let dataset = Dataset::new("some/names", DataType::String, [3000, 1]);
    let items = (0..3000).map(|i| format!("{i:0600}").into_bytes()).collect();
    let case = Case { dataset, items };
    for counts in [&[3000][..], &[1, 1999, 0, 1000]] {
        case.write(&path, counts);
        case.read(&path, 2, 7);
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        let found = file.dataset_record("some/names", 0).unwrap().unwrap();
        // 512 KiB by what an item takes: its text and its length.
        let rows = (512 << 10) / (600 + 4);
        assert_eq!(found.layout, Layout::Chunked { shape: Some(vec![rows, 1]), text: false });
    }
}

#[test]
fn a_single_text_has_no_dimensions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let title = Dataset::new("title", DataType::String, []);
    let write = |counts: [u64; 2]| {
        run_on_threads(2, |comm| {
            let own = counts[comm.rank()];
            let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
            let written = file.texts(&title, own, &(0..own).map(|_| "Über allem").collect());
            written.and_then(|()| file.close()).map_err(|error| error.kind())
        })
    };
    assert_eq!(write([1, 1]), [Err(ErrorKind::Argument), Err(ErrorKind::Argument)]);
    assert_eq!(write([0, 1]), [Ok(()), Ok(())]);
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let found = file.dataset_record("title", 0).unwrap().unwrap();
    let texts = found.read_texts(&mut file, &[IndexBox::all(&[])]).unwrap();
    assert_eq!(texts.strs().collect::<Vec<_>>(), ["Über allem"]);
}

#[test]
fn what_cannot_be_written_is_an_error_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let names = Dataset::new("names", DataType::String, [0]);
    let write = |dataset: &Dataset, count: u64, item: &[u8]| {
        let results = run_on_threads(3, |comm| {
            let rank = comm.rank();
            let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
            let item = if rank == 1 { item } else { b"good" };
            let count = if rank == 1 { count } else { 1 };
            file.texts(dataset, count, &[item].into_iter().collect()).unwrap_err().to_string()
        });
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
        results[0].clone()
    };
    assert!(write(&names, 1, b"\xff").ends_with("item 0 of this rank: found bytes that are not UTF-8"));
    assert!(write(&names, 2, b"a").ends_with("found 1 items, expected 1 for each of 2 first indices"));
    let mut other = names.clone();
    other.data_type = DataType::Uint8;
    assert!(write(&other, 1, b"a").ends_with("found uint8, expected items of variable length"));
    other = Dataset::new("names", DataType::String, [0, 1]);
    other.layout = Layout::Chunked { shape: Some(vec![1, 2]), text: false };
    assert!(write(&other, 1, b"a").ends_with("expected whole indices of the first dimension"));
    other.layout = Layout::Chunked { shape: None, text: true };
    assert!(write(&other, 1, b"a").ends_with("cannot be in chunks as text"));

    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    let names = Dataset::new("names", DataType::String, [1]);
    let error = file.dataset(&names, &[IndexBox::all(&[1])], &[0; 4]).unwrap_err();
    assert!(error.to_string().contains(" are written and read as texts: by "), "{error}");
}

/// A dataset of two chunks of two texts each, whose chunks these are.
fn put_together(path: &Path, codecs: &str, chunks: &[&[u8]]) {
    let text = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"string","fill_value":"x","codecs":{codecs},
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2]}}}}}}"#
    );
    let sizes: Vec<u64> = chunks.iter().map(|chunk| chunk.len() as u64).collect();
    let mut file = Writer::create(Solo, path, b"", &options()).unwrap();
    file.block(b"scda dataset 00", 0, text.len() as u64, Some(text.as_bytes()), Encode::None).unwrap();
    let data = chunks.concat();
    file.varray(b"names", &[chunks.len() as u64], &sizes, None, Source::Contiguous(&data), Encode::None)
        .unwrap();
    file.close().unwrap();
}

fn read_all(path: &Path) -> scda::Result<Vec<String>> {
    let mut file = Reader::open(Solo, path, &options())?;
    let found = file.dataset_record("names", 0)?.unwrap();
    let texts: Texts = found.read_texts(&mut file, &[IndexBox::all(&[3])])?;
    Ok(texts.strs().map(str::to_owned).collect())
}

#[test]
fn chunks_of_others_are_read_and_damaged_ones_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let plain = r#"["vlen-utf8"]"#;
    let good: &[u8] = b"\x02\0\0\0\x01\0\0\0a\x02\0\0\0\xc3\xa9";
    put_together(&path, plain, &[good, b""]);
    assert_eq!(read_all(&path).unwrap(), ["a", "é", "x"]);
    let zlib = {
        use std::io::Write;
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(good).unwrap();
        encoder.finish().unwrap()
    };
    let zlib_codecs =
        r#"[{"name":"vlen-utf8","configuration":{}},{"name":"numcodecs.zlib","configuration":{"level":1}}]"#;
    put_together(&path, zlib_codecs, &[&zlib, b""]);
    assert_eq!(read_all(&path).unwrap(), ["a", "é", "x"]);
    let frame = |data_bytes: u32, rest: &[u8]| {
        let mut frame = vec![2, 1, 2, 1];
        frame.extend([data_bytes, data_bytes, 16 + rest.len() as u32].map(u32::to_le_bytes).concat());
        frame.extend_from_slice(rest);
        frame
    };
    let blosc = r#"["vlen-utf8",{"name":"blosc","configuration":{"typesize":1,"cname":"zstd","clevel":1,"shuffle":"noshuffle","blocksize":0}}]"#;
    put_together(&path, blosc, &[&frame(good.len() as u32, good), b""]);
    assert_eq!(read_all(&path).unwrap(), ["a", "é", "x"]);
    for (codecs, chunk, expected) in [
        (plain, &b"\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"[..], "found 3 items, expected 2"),
        (plain, b"\x02\0\0\0\x01\0\0\0a\xff\xff\xff\xff\xc3\xa9", "item 1: found its end after the 15 bytes"),
        (plain, b"\x02\0\0\0\x01\0\0\0\xff\0\0\0\0", "item 0: found bytes that are not UTF-8"),
        (plain, b"\x02\0\0\0\0\0\0\0\0\0\0\0!", "found 1 bytes after the last item"),
        (zlib_codecs, &zlib[..zlib.len() - 1], "zlib stream: "),
        (zlib_codecs, &[&zlib[..], b"!"].concat(), "found 1 bytes after the stream"),
        (blosc, &frame(u32::MAX >> 1, good), "found 2147483647 bytes of data in a frame of 31"),
    ] {
        put_together(&path, codecs, &[chunk, b""]);
        let error = read_all(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode);
        assert!(error.to_string().contains("dataset \"names\": chunk 0: "), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    put_together(&path, r#"["bytes"]"#, &[good, b""]);
    assert_eq!(read_all(&path).unwrap_err().kind(), ErrorKind::Unsupported);
    // Items of one length are not read as texts, nor texts as these.
    put_together(&path, plain, &[good, b""]);
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let found = file.dataset_record("names", 0).unwrap().unwrap();
    assert_eq!(
        found.read(&mut file, &[IndexBox::all(&[3])], &mut [0; 12]).unwrap_err().kind(),
        ErrorKind::Argument
    );
}
