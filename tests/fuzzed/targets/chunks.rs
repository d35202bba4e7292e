//! Chunks as others may have compressed them.

use super::input::Input;
use crate::memory;
use scda::{Codec, DataType, Dataset, Encoder, ErrorKind, Layout, LineBreak};
use scda_codec::chunk::{ChunkCodec, ChunkDecoder, ChunkEncoder};
use scda_codec::texts;
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::parse;
use std::sync::LazyLock;

/// What a decoder needs whatever the chunk: tables of Pcodec, the state of the inflater.
const MEMORY_OF_A_DECODER: usize = 2 << 20;

const BLOSC: &str = r#"{"name":"blosc","configuration":{"cname":"zstd","clevel":1,"shuffle":"shuffle","typesize":4,"blocksize":0}}"#;

/// Codecs after the step to bytes, or in its place.
const SOME: [&str; 8] = [
    BLOSC,
    r#"{"name":"zstd","configuration":{"level":1,"checksum":false}}"#,
    r#"{"name":"gzip","configuration":{"level":1}}"#,
    r#"{"name":"numcodecs.zlib","configuration":{"level":1}}"#,
    r#"{"name":"crc32c"}"#,
    r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":3}},{"name":"zstd","configuration":{"level":1}}"#,
    r#"{"name":"zstd","configuration":{"level":1}},{"name":"crc32c"}"#,
    r#"{"name":"numcodecs.pcodec","configuration":{"level":8}}"#,
];

/// These, and those that the library writes and that are not among them.
static CODECS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut all: Vec<String> = SOME.map(String::from).into();
    for (codec, _) in Codec::NAMES {
        let mut dataset = Dataset::new("a", DataType::Float64, [1]);
        (dataset.codec, dataset.layout) = (codec, Layout::Chunked { shape: None, text: false });
        let list = Codecs::of(&dataset, 1).to_json(dataset.data_type);
        let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
        let name = list.last().unwrap()["name"].to_string();
        if !all.iter().any(|known| known.contains(&name)) {
            let steps = list.iter().filter(|step| step["name"] != "bytes");
            all.push(steps.map(ToString::to_string).collect::<Vec<_>>().join(","));
        }
    }
    all
});

const TYPES: [(DataType, &str); 5] = [
    (DataType::Uint8, "uint8"),
    (DataType::Int16, "int16"),
    (DataType::Float32, "float32"),
    (DataType::Float64, "float64"),
    (DataType::Uint64, "uint64"),
];

/// Three bytes say the codec, type, and how many items the chunk should have; the rest is the chunk.
pub fn chunks(input: &[u8]) {
    let mut rest = Input(input);
    let codec = &CODECS[rest.below(CODECS.len())];
    let is_pcodec = codec.contains("pcodec");
    let (data_type, type_name) = TYPES[if is_pcodec { 1 + rest.below(4) } else { rest.below(5) }];
    let count = rest.below(20_000);
    let bytes = if is_pcodec { "" } else { r#"{"name":"bytes","configuration":{"endian":"little"}},"# };
    let text = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{count}],"data_type":"{type_name}","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{count}]}}}},"chunk_key_encoding":{{"name":"default"}},"codecs":[{bytes}{codec}],"fill_value":0,"attributes":{{}}}}"#,
        count = count + 1,
    );
    let codecs = parse::dataset("a", text.as_bytes()).unwrap().codecs;

    let mut out = vec![0xee; (count + 1) * data_type.item_bytes() as usize];
    let mut decoder = ChunkDecoder::new(false);
    let mut decode = |stream: &[u8], codecs: &Codecs, out: &mut [u8]| {
        let bytes = stream.len() as u64;
        decoder.stream(bytes)?.copy_from_slice(stream);
        decoder.decode(bytes, codecs, out)
    };
    let (peak, result) = memory::peak(|| decode(rest.0, &codecs, &mut out));
    let limit = MEMORY_OF_A_DECODER + 3 * out.len() + 2 * rest.0.len();
    assert!(peak <= limit, "{peak} bytes of memory for a chunk of {}, {codec}", out.len());
    if let Err(error) = result {
        assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
    }

    // The same bytes as a chunk of texts, of which nobody knows how many bytes it has.
    if !is_pcodec {
        let mut decoder = ChunkDecoder::new(false);
        decoder.stream(rest.0.len() as u64).unwrap().copy_from_slice(rest.0);
        let found = decoder.decode_any(rest.0.len() as u64, &codecs).and_then(|chunk| {
            let of = if rest.0.len() % 2 == 0 { DataType::String } else { DataType::VariableBytes };
            Ok(texts::parse(&chunk, count as u64 % 8, of)?.map(|places| (chunk, places)))
        });
        match found {
            Ok(Ok((chunk, places))) => {
                let mut again = Vec::new();
                texts::put_count(&mut again, places.len() as u64).unwrap();
                places.into_iter().for_each(|place| texts::put(&mut again, &chunk[place]).unwrap());
                assert!(again == chunk);
            }
            Ok(Err(what)) => assert!(what.contains("found"), "{what}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Decode, "{error}"),
        }
    }

    // An error leaves no trace in the decoder.
    let mut dataset = Dataset::new("a", data_type, [1]);
    dataset.layout = Layout::Chunked { shape: Some(vec![1]), text: false };
    dataset.codec = if is_pcodec { Codec::Pcodec } else { Codec::Zstd };
    let made = ChunkCodec::of(&dataset, Encoder::Fast, 1, LineBreak::Unix);
    let (data, mut good) = ([7; 4096], Vec::new());
    ChunkEncoder::new(made).unwrap().encode(&data, &mut good).unwrap();
    let mut found = [0; 4096];
    decode(&good, &Codecs::of(&dataset, 1), &mut found).unwrap();
    assert!(found == data);
}
