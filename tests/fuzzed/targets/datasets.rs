//! What metadata of datasets say, and what is read with them.

use super::Scratch;
use super::input::{Input, hash};
use crate::common::{Rng, options};
use crate::memory;
use scda::{
    Communicator, Encode, ErrorKind, IndexBox, Layout, ReadOptions, Reader, Request, Solo, Source,
    WriteOptions, Writer, run_on_threads,
};
use scda_format::dataset::{metadata, parse};
use std::path::Path;

/// What a reader of datasets may need beside memory for what it reads, for each rank.
const MEMORY_OF_A_RANK: usize = 8 << 20;

/// The input up to its first byte of 0 as metadata, the rest as a section of data after them; what is left then likewise as rows that
/// were added, if the file is sealed.
pub fn datasets(input: &[u8]) {
    let end = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
    let (text, rest) = input.split_at(end);
    check_metadata(text);

    let scratch = Scratch::new();
    write(&scratch.0, text, Input(rest));
    let seed = hash(input);
    let file_bytes = std::fs::metadata(&scratch.0).unwrap().len() as usize;
    // A chunk has at most 1032 times the bytes of its stream; two of them, and the boxes, are in memory.
    // That of texts may have 2^16 times as many, as zstd makes them.
    let most = if text.windows(4).any(|word| word == b"vlen") { 1 << 16 } else { 1032 };
    let limit = MEMORY_OF_A_RANK + 4 * most * file_bytes;
    let (peak, alone) = memory::peak(|| read(Solo, &scratch.0, seed, 0));
    assert!(peak <= limit, "{peak} bytes of memory for a file of {file_bytes}");
    let most = 1 << (12 + seed % 12);
    let (peak, limited) = memory::peak(|| read(Solo, &scratch.0, seed, most));
    assert!(peak <= MEMORY_OF_A_RANK + most as usize, "{peak} bytes of memory with max_memory = {most}");
    assert!(limited == alone || limited == Err(ErrorKind::Memory), "{:?}", limited.err());
    let (peak, ranks) = memory::peak(|| run_on_threads(2, |comm| read(comm, &scratch.0, seed, 0)));
    assert!(peak <= 2 * limit, "{peak} bytes of memory on 2 ranks for a file of {file_bytes}");
    // Rank 0 reads the same; an error of rank 1 is one of both.
    if let (Ok(alone), Ok(first)) = (&alone, &ranks[0]) {
        assert!(alone == first);
    }
    assert_eq!(ranks[0].as_ref().err(), ranks[1].as_ref().err());
    assert!(alone.is_ok() || ranks[0].is_err());
}

/// Metadata that are valid are the same when they are written and read again.
fn check_metadata(text: &[u8]) {
    let found = match parse::dataset("a", text) {
        Ok(found) => found,
        Err(error) => {
            assert!(error.offset().is_some_and(|at| at <= text.len() as u64), "{error}");
            let kinds = [ErrorKind::Format, ErrorKind::Range, ErrorKind::Unsupported];
            return assert!(kinds.contains(&error.kind()), "{error}");
        }
    };
    let mut dataset = found.dataset.clone();
    dataset.layout = Layout::Chunked { shape: Some(found.chunk_shape.clone()), text: false };
    let written = match metadata::of_dataset(&dataset, &found.codecs) {
        Ok(written) => written,
        // Chunks that are too large to be written.
        Err(error) => return assert_eq!(error.kind(), ErrorKind::Range, "{error}"),
    };
    let again = parse::dataset("a", written.as_bytes()).unwrap();
    let expected = found.dataset;
    assert_eq!((again.codecs, &again.chunk_shape), (found.codecs, &found.chunk_shape));
    assert_eq!(again.dataset.attributes, expected.attributes);
    assert_eq!((again.dataset.shape, again.dataset.data_type), (expected.shape, expected.data_type));
    assert_eq!(again.dataset.fill_value, expected.fill_value);
    assert_eq!(again.dataset.dimension_names, expected.dimension_names);
}

/// Writes a block of metadata, and a section as the input says; and again, as rows.
fn write(path: &Path, text: &[u8], mut input: Input<'_>) {
    input.byte();
    let mut params: WriteOptions = options();
    params.seal = input.below(2) == 1;
    let encode = [Encode::None, Encode::Always][input.below(2)];
    let mut file = Writer::create(Solo, path, b"", &params).unwrap();
    file.block(b"scda dataset 00", 0, text.len() as u64, Some(text), Encode::None).unwrap();
    let data = file.position().unwrap();
    put_data(&mut file, b"a", encode, &mut input);
    let rest = input.0;
    if params.seal && !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        let (text, rest) = rest.split_at(end);
        file.block(b"scda added rows 00", 0, text.len() as u64, Some(text), Encode::None).unwrap();
        let mut input = Input(rest);
        input.byte();
        put_data(&mut file, format!("/+{data}/a").as_bytes(), encode, &mut input);
    }
    file.close().unwrap();
}

/// A section as the input says.
fn put_data(file: &mut Writer, user: &[u8], encode: Encode, input: &mut Input<'_>) {
    let is_array = input.below(2) == 1;
    let count = input.below(256);
    if is_array {
        let size = input.below(256);
        let mut data = input.take(count * size).to_vec();
        data.resize(count * size, b'x');
        file.array(user, &[count as u64], size as u64, Source::Contiguous(&data), encode).unwrap();
    } else {
        let sizes: Vec<u64> = (0..count).map(|_| input.below(256) as u64).collect();
        let total = sizes.iter().sum::<u64>() as usize;
        let mut data = input.take(total).to_vec();
        data.resize(total, b'x');
        let counts = [count as u64];
        file.varray(user, &counts, &sizes, None, Source::Contiguous(&data), encode).unwrap();
    }
}

/// Reads some boxes; those of rank 0 do not depend on the number of ranks.
fn read(
    comm: impl Communicator + 'static,
    path: &Path,
    seed: u64,
    max_memory: u64,
) -> Result<Vec<u8>, ErrorKind> {
    let mut params: ReadOptions = options();
    params.tuning.max_memory = max_memory;
    let mut rng = Rng(seed ^ comm.rank() as u64);
    let kind = |error: scda::Error| error.kind();
    let mut file = Reader::open(comm, path, &params).map_err(kind)?;
    let dataset = file.dataset_record("a", 0).map_err(kind)?.expect("its name");
    let mut all = Vec::new();
    for turn in 0..2 {
        let mut left = 4096 / dataset.data_type.item_bytes().min(4096);
        let mut region = IndexBox::all(&dataset.shape);
        for (start, count) in region.start.iter_mut().zip(&mut region.count) {
            let n = *count;
            *start = rng.below(n + 1);
            *count = rng.below(n - *start + 1).min(left.max(1));
            left /= (*count).max(1);
        }
        if dataset.data_type.is_variable() {
            let texts = dataset.read_texts(&mut file, &[region.clone(), region]).map_err(kind)?;
            let (once, again) = (0..texts.len() / 2, texts.len() / 2..texts.len());
            assert!(once.map(|n| texts.get(n)).eq(again.map(|n| texts.get(n))));
            all.extend(texts.bytes());
            continue;
        }
        let bytes = region.items().unwrap() * dataset.data_type.item_bytes();
        let mut data = vec![0; 2 * bytes as usize];
        let regions = [region.clone(), region];
        if turn == 0 {
            dataset.read(&mut file, &regions, &mut data).map_err(kind)?;
        } else {
            let (data, again) = data.split_at_mut(bytes as usize);
            let (dataset, [first, second]) = (&dataset, [&regions[..1], &regions[1..]]);
            let requests = vec![
                Request { dataset, regions: first, data: data.into() },
                Request { dataset, regions: second, data: again.into() },
            ];
            file.read_datasets(requests).map_err(kind)?;
        }
        let (once, again) = data.split_at(bytes as usize);
        assert!(once == again);
        all.extend(data);
    }
    file.close().map_err(kind)?;
    Ok(all)
}
