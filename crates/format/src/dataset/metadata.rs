//! Writes the metadata of datasets and groups, in the form of a Zarr v3 array or group.

use super::codecs::Codecs;
use super::json::{MAX_METADATA_BYTES, check, compact, in_lines};
use super::{Dataset, fill, rounding, type_json};
use crate::layout;
use crate::padding::DATA_DIVISOR;
use crate::{COUNT_BYTES, SECTION_HEADER_BYTES};
use scda_base::error::{Error, Result, quote};
use scda_base::floats::in_default;
use scda_base::numbers::to_usize;
use serde_json::json;

/// Contiguous data of at least this number of bytes are aligned to [`ALIGNMENT`] bytes in the file.
pub const ALIGNED_FROM: u64 = 64 << 10;
/// The alignment of contiguous data: a page of memory.
pub const ALIGNMENT: u64 = 4096;

/// The metadata of a dataset, without the spaces that align its data.
///
/// # Errors
/// `Argument` and `Range` if the dataset is invalid; `Argument` for attributes that are no JSON object, or too long.
pub fn of_dataset(dataset: &Dataset, codecs: &Codecs) -> Result<String> {
    // Computes with bounds of errors and the fill value.
    in_default(|| text_of_dataset(dataset, codecs))
}

fn text_of_dataset(dataset: &Dataset, codecs: &Codecs) -> Result<String> {
    dataset.validate()?;
    let attributes = match rounding::record(dataset, attributes(&dataset.attributes)?)? {
        none if none == "{}" => String::new(),
        attributes => format!(r#","attributes":{attributes}"#),
    };
    let names = match &dataset.dimension_names {
        names if names.is_empty() => String::new(),
        names => format!(r#","dimension_names":{}"#, json!(names)),
    };
    let data_type = dataset.data_type;
    let text = format!(
        concat!(
            r#"{{"zarr_format":3,"node_type":"array","shape":{},"data_type":{},"#,
            r#""chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{}}}}},"#,
            r#""codecs":{},"fill_value":{}{}{}}}"#
        ),
        json!(dataset.shape),
        type_json::to_json(data_type),
        json!(dataset.chunk_shape()),
        codecs.to_json(data_type),
        fill::to_json(data_type, &dataset.fill_item()),
        attributes,
        names,
    );
    lines(&text)
}

/// The metadata of a group with these attributes.
///
/// # Errors
/// `Argument`, like [`of_dataset`].
pub fn of_group(group_attributes: &str) -> Result<String> {
    let attributes = attributes(group_attributes)?;
    lines(&format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{attributes}}}"#))
}

/// Attributes without white space; they must be a JSON object.
///
/// # Errors
/// `Argument`.
pub fn attributes(text: &str) -> Result<String> {
    let invalid = |what: &str| Error::argument(format!("attributes: {what}"));
    if text.len() as u64 > MAX_METADATA_BYTES {
        return Err(invalid(&format!("found {} bytes, expected at most {MAX_METADATA_BYTES}", text.len())));
    }
    if !text.trim_start().starts_with('{') {
        return Err(invalid(&format!("found {}, expected a JSON object", quote(text.as_bytes()))));
    }
    check(text, 1).map_err(|error| invalid(&error.to_string()))?;
    Ok(compact(text))
}

/// Lays metadata out for the file.
fn lines(text: &str) -> Result<String> {
    let lines = in_lines(text) + "\n";
    // Leaves room for alignment.
    let bytes = lines.len() as u64 + ALIGNMENT;
    if bytes > MAX_METADATA_BYTES {
        return Err(Error::argument(format!(
            "metadata: found {bytes} bytes, expected at most {MAX_METADATA_BYTES}"
        )));
    }
    Ok(lines)
}

/// Inserts spaces before the last line feed of the metadata of a contiguous dataset of `data_bytes` bytes, whose block
/// begins at this offset of the file, so that its data begin at a multiple of [`ALIGNMENT`]. Uses as few as possible.
pub fn align(metadata: &mut String, data_bytes: u64, block: u64) {
    if data_bytes < ALIGNED_FROM {
        return;
    }
    let data = |spaces: u64| {
        let block = layout::SectionLayout::block(block, metadata.len() as u64 + spaces)?;
        Some(block.end + (SECTION_HEADER_BYTES + 2 * COUNT_BYTES) as u64)
    };
    // Blocks are padded to multiples of a few bytes, so slightly fewer spaces than the distance may suffice. Trying all
    // numbers would take longer than the rest of the metadata.
    let distance = data(0).map_or(0, |data| data.next_multiple_of(ALIGNMENT) - data);
    let mut spaces = distance.saturating_sub(DATA_DIVISOR)..=ALIGNMENT;
    let spaces = spaces.find(|&spaces| data(spaces).is_some_and(|data| data % ALIGNMENT == 0));
    let spaces = to_usize(spaces.unwrap_or(0));
    metadata.insert_str(metadata.len() - 1, &" ".repeat(spaces));
}

#[cfg(test)]
mod tests {
    use super::super::codecs::{Codec, Compressor, Zlib};
    use super::super::{DataType, Layout, parse};
    use super::*;
    use proptest::prelude::*;
    use scda_base::error::ErrorKind;

    #[test]
    fn the_text_of_a_dataset() {
        let mut dataset = Dataset::new("a/b", DataType::Float32, [5, 0]);
        dataset.attributes = r#"{ "units":"m" ,"list":[1.50, {}] }"#.into();
        dataset.dimension_names = vec![None, Some("x\"é".into())];
        dataset.fill_value = f32::NAN.to_le_bytes().to_vec();
        dataset.layout = Layout::Chunked { shape: Some(vec![2, 3]), text: false };
        dataset.codec = Codec::Zlib;
        let text = of_dataset(&dataset, &Codecs::of(&dataset, 2)).unwrap();
        assert_eq!(
            text,
            r#"{
"zarr_format":3,
"node_type":"array",
"shape":[5,0],
"data_type":"float32",
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,3]}},
"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib","configuration":{"level":2}}],
"fill_value":"NaN",
"attributes":{"units":"m","list":[1.50,{}]},
"dimension_names":[null,"x\"é"]
}
"#
        );
    }

    #[test]
    fn codecs_follow_the_layout_and_the_type() {
        let mut dataset = Dataset::new("a", DataType::Complex128, [4]);
        assert_eq!(Codecs::of(&dataset, 6), Codecs::default());
        let found = |dataset: &Dataset| {
            let Codecs { big_endian, shuffle, compressor, crc32c } = Codecs::of(dataset, 6);
            assert!(!big_endian && !crc32c);
            (shuffle, compressor)
        };
        let zlib = |level| Some(Compressor::Zlib(Zlib { level }));
        dataset.layout = Layout::Chunked { shape: None, text: true };
        assert_eq!(found(&dataset), (Some(16), None));
        dataset.layout = Layout::Chunked { shape: None, text: false };
        dataset.codec = Codec::Zlib;
        assert_eq!(found(&dataset), (Some(16), zlib(6)));
        (dataset.level, dataset.data_type) = (Some(0), DataType::Bool);
        assert_eq!(found(&dataset), (None, zlib(0)));
        let text = Codecs::of(&dataset, 6).to_json(DataType::Bool);
        assert_eq!(text, r#"[{"name":"bytes"},{"name":"numcodecs.zlib","configuration":{"level":0}}]"#);
        let texts = [
            (Codec::Zstd, DataType::Float32, None, BLOSC.replace("lz4", "zstd")),
            (Codec::Lz4, DataType::Float32, None, BLOSC.into()),
            (
                Codec::Lz4,
                DataType::Raw(255),
                Some(3),
                BLOSC.replace("clevel\":1", "clevel\":3").replace('4', "255").replace("lz255", "lz4"),
            ),
            (
                Codec::Lz4,
                DataType::Raw(256),
                None,
                BLOSC.replace("typesize\":4", "typesize\":1").replace("shuffle\":\"", "shuffle\":\"no"),
            ),
            (
                Codec::Pcodec,
                DataType::Float32,
                None,
                r#"{"name":"numcodecs.pcodec","configuration":{"level":8}}"#.into(),
            ),
            (
                Codec::Pcodec,
                DataType::Bool,
                Some(1),
                BLOSC.replace("lz4", "zstd").replace('4', "1").replace("\"shuffle\",", "\"noshuffle\","),
            ),
        ];
        for (codec, data_type, level, expected) in texts {
            (dataset.codec, dataset.data_type, dataset.level) = (codec, data_type, level);
            let text = Codecs::of(&dataset, 6).to_json(data_type);
            assert!(text.ends_with(&format!("{expected}]")), "{text} {expected}");
        }
    }

    const BLOSC: &str = r#"{"name":"blosc","configuration":{"typesize":4,"cname":"lz4","clevel":1,"shuffle":"shuffle","blocksize":0}}"#;

    #[test]
    fn the_text_of_a_group() {
        let text = of_group("{\"time\":0.250}").unwrap();
        let lines = "{\n\"zarr_format\":3,\n\"node_type\":\"group\",\n\"attributes\":{\"time\":0.250}\n}\n";
        assert_eq!(text, lines);
    }

    #[test]
    fn attributes_are_a_json_object() {
        for text in ["", "[]", "3", "{\"a\":1,\"a\":2}", "{\"a\":NaN}", "{} {}", "{\"a\"", "\"{\""] {
            let error = of_group(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{text}");
        }
        assert_eq!(attributes(" { } ").unwrap(), "{}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "many minutes")]
    fn attributes_have_at_most_4_mib() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(4 << 20));
        assert_eq!(of_group(&long).unwrap_err().kind(), ErrorKind::Argument);
        let nearly = format!("{{\"a\":\"{}\"}}", "x".repeat((4 << 20) - 100));
        assert_eq!(of_group(&nearly).unwrap_err().kind(), ErrorKind::Argument);
    }

    proptest! {
        #[test]
        fn large_data_begin_at_a_page(blocks in 4..1000_u64, length in 1..9000_usize, bytes in ALIGNED_FROM..1 << 40) {
            let mut text = "x".repeat(length) + "\n";
            align(&mut text, bytes, 32 * blocks);
            let end = layout::SectionLayout::block(32 * blocks, text.len() as u64).unwrap().end;
            let data = layout::SectionLayout::array(end, 1, bytes).unwrap().data;
            prop_assert_eq!(data % ALIGNMENT, 0);
            let spaces = text.len() - length - 1;
            let data_offset = |spaces: u64| {
                let end = layout::SectionLayout::block(32 * blocks, length as u64 + 1 + spaces).unwrap().end;
                layout::SectionLayout::array(end, 1, bytes).unwrap().data
            };
            let fewest = (0..=4096).find(|&spaces| data_offset(spaces) % ALIGNMENT == 0);
            prop_assert_eq!(Some(spaces as u64), fewest);
            prop_assert_eq!(&text[length..], " ".repeat(spaces) + "\n");
            let mut small = "x\n".to_string();
            align(&mut small, ALIGNED_FROM - 1, 32 * blocks);
            prop_assert_eq!(small, "x\n");
        }

        #[test]
        fn what_is_written_is_read(
            kind in 0..15_usize, shape in prop::collection::vec(0..100_u64, 0..5), layout in 0..4, level in 0..10_u32,
            shuffle: bool, codec in 0..Codec::NAMES.len(), fill in prop::option::of(prop::array::uniform16(any::<u8>())),
            names in prop::option::of(prop::array::uniform5(prop::option::of(".{0,3}"))), attribute in ".{0,9}",
        ) {
            let types = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                "float32", "float64", "complex64", "complex128", "r40"];
            let data_type = DataType::from_name(types[kind]).unwrap();
            let mut dataset = Dataset::new("a", data_type, shape.clone());
            dataset.layout = match layout {
                0 => Layout::Contiguous,
                1 => Layout::Chunked { shape: None, text: false },
                text => Layout::Chunked { shape: Some(shape.iter().map(|n| n / 3 + 1).collect()), text: text == 2 },
            };
            let item = to_usize(data_type.item_bytes());
            dataset.fill_value = fill.map_or(vec![], |fill| fill[..item].to_vec());
            if kind == 0 {
                dataset.fill_value.iter_mut().for_each(|byte| *byte &= 1);
            }
            dataset.dimension_names = names.map_or(vec![], |names| names[..shape.len()].to_vec());
            dataset.attributes = json!({"key": attribute, "n": [1, 2]}).to_string();
            (dataset.level, dataset.shuffle) = (Some(level), shuffle);
            dataset.codec = Codec::NAMES[codec].0;

            let codecs = Codecs::of(&dataset, 0);
            let text = of_dataset(&dataset, &codecs).unwrap();
            let found = parse::dataset("a", text.as_bytes()).unwrap();
            prop_assert_eq!(&found.codecs, &codecs);
            prop_assert_eq!(found.chunk_shape, dataset.chunk_shape());
            let expected = Dataset { layout: found.dataset.layout.clone(), ..dataset };
            let mut described = found.dataset.clone();
            codecs.describe(&mut described);
            prop_assert_eq!(&found.dataset, &described);
            if codecs.changes_length() {
                let is_pcodec = matches!(codecs.compressor, Some(Compressor::Pcodec(_)));
                prop_assert_eq!(found.dataset.level, Some(if is_pcodec { level.max(4) } else { level }));
            }
            let fill = expected.fill_item().into_owned();
            prop_assert_eq!(found.dataset.fill_item().into_owned(), fill);
            let found = Dataset { level: expected.level, codec: expected.codec, shuffle, fill_value: expected.fill_value.clone(), ..found.dataset };
            prop_assert_eq!(found, expected);
        }
    }
}
