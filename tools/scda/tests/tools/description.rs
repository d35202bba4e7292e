//! Makes the files of the tests from descriptions in JSON: an object with `user`, `sealed`, and a list of `sections`. Each has
//! a `type` (I, B, A, V; D, a dataset; G, a group), `user`, and its data: `data_text`, `data_hex`, `data_base64`, a list
//! `elements_text`, `generate` (`zeros`, `counter` or `random`), or for D `values`. The other members are those of
//! `scda ls --json`. Mistakes in a description end the test.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scda::{
    Codec, DataStream, DataType, Dataset, ElementStream, Encode, Encoder, Hdf5, Layout, LineBreak, Solo,
    Texts, WriteOptions, Writer,
};
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::{DATASET_CONVENTION, fill, metadata, type_of_json};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::io::{self, Cursor, Read};
use std::path::Path;

/// The members of an object, in their original text: attributes keep the digits of numbers.
struct Members<'a>(HashMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    fn new(text: &'a str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")))
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.get())
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.raw(name)
            .map(|text| serde_json::from_str(text).unwrap())
            .filter(|value: &Value| !value.is_null())
    }

    fn text(&self, name: &str) -> Option<String> {
        self.value(name).map(|value| value.as_str().unwrap().to_owned())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.value(name).map(|value| value.as_u64().unwrap())
    }

    fn is(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value.as_bool().unwrap())
    }

    fn list(&self, name: &str) -> Option<Vec<Value>> {
        self.value(name).map(|value| value.as_array().unwrap().clone())
    }

    fn numbers(&self, name: &str) -> Option<Vec<u64>> {
        self.list(name).map(|list| list.iter().map(|value| value.as_u64().unwrap()).collect())
    }

    /// Bytes under the name of their form.
    fn bytes(&self, of: &str) -> Option<Vec<u8>> {
        let plain = if of == "user" { self.text(of) } else { self.text(&format!("{of}_text")) };
        let hex = |text: String| {
            let digit = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
            (0..text.len()).step_by(2).map(digit).collect()
        };
        plain
            .map(String::into_bytes)
            .or_else(|| self.text(&format!("{of}_hex")).map(hex))
            .or_else(|| self.text(&format!("{of}_base64")).map(|text| STANDARD.decode(text).unwrap()))
    }
}

/// The n-th number of SplitMix64.
fn random(seed: u64, n: u64) -> u64 {
    let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(n.wrapping_add(1)));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Computed words of 8 bytes, of which any number can be read.
struct Generated {
    word: fn(u64) -> u64,
    next: u64,
}

impl Read for Generated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = (self.next / 8..).flat_map(|n| (self.word)(n).to_le_bytes());
        let bytes = bytes.skip(usize::try_from(self.next % 8).unwrap());
        buffer.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        self.next += buffer.len() as u64;
        Ok(buffer.len())
    }
}

/// The data of a section, and the sizes of its elements if it is a varray.
struct Elements {
    data: Box<dyn Read>,
    /// The number of bytes, if it is known.
    bytes: Option<u64>,
    sizes: Vec<u64>,
    next: usize,
}

impl Elements {
    fn new(of: &Members<'_>) -> Self {
        let (mut sizes, mut bytes) = (of.numbers("sizes").unwrap_or_default(), of.bytes("data"));
        if let Some(list) = of.list("elements_text") {
            sizes = list.iter().map(|one| one.as_str().unwrap().len() as u64).collect();
            bytes = Some(list.iter().flat_map(|one| one.as_str().unwrap().bytes()).collect());
        }
        if let (Some(least), Some(most)) = (of.number("generate_size_min"), of.number("generate_size_max")) {
            let seed = of.number("generate_size_seed").unwrap_or(0);
            let size = |n| (u128::from(random(seed, n)) * u128::from(most - least + 1)) >> 64;
            let size = |n| least + u64::try_from(size(n)).unwrap();
            sizes = (0..of.number("N").unwrap()).map(size).collect();
        }
        let word = match of.text("generate").as_deref() {
            Some("counter") => |n| n,
            Some("random") => |n| random(0, n),
            Some(other) => {
                assert_eq!(other, "zeros");
                |_| 0
            }
            None => {
                let bytes = bytes.unwrap_or_default();
                return Self {
                    bytes: Some(bytes.len() as u64),
                    data: Box::new(Cursor::new(bytes)),
                    sizes,
                    next: 0,
                };
            }
        };
        Self { data: Box::new(Generated { word, next: 0 }), bytes: None, sizes, next: 0 }
    }
}

impl Read for Elements {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.data.read(buffer)
    }
}

impl DataStream for Elements {}

impl ElementStream for Elements {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        sizes.copy_from_slice(&self.sizes[self.next..self.next + sizes.len()]);
        self.next += sizes.len();
        Ok(())
    }
}

/// Writes a section.
fn section(file: &mut Writer, of: &Members<'_>, level: u32) -> scda::Result<()> {
    let kind = of.text("type").unwrap();
    if kind == "D" {
        return dataset(file, of, level);
    }
    let user = of.bytes("user").unwrap_or_default();
    if kind == "G" {
        return file.group(std::str::from_utf8(&user).unwrap(), of.raw("attributes").unwrap_or("{}"));
    }
    let encode = if of.is("encoded") { Encode::Always } else { Encode::None };
    let (n, e, mut data) = (of.number("N"), of.number("E"), Elements::new(of));
    match &*kind {
        "I" => {
            let mut bytes = [0; 32];
            data.read_exact(&mut bytes).unwrap();
            file.inline(&user, 0, Some(&bytes))
        }
        "B" => {
            let size = e.or(data.bytes).unwrap();
            file.incremental().block(&user, size, &mut data, encode)
        }
        "A" => {
            let e = e.or_else(|| data.sizes.first().copied()).unwrap();
            let n = n.unwrap_or_else(|| data.bytes.unwrap() / e);
            file.incremental().array(&user, n, e, &mut data, encode)
        }
        "V" => {
            let n = data.sizes.len() as u64;
            file.incremental().varray(&user, n, &mut data, encode)
        }
        other => panic!("type {other}"),
    }
}

/// Calls a function with the items of nested lists.
fn for_each_item(data_type: DataType, values: &[Value], each: &mut impl FnMut(Vec<u8>)) {
    for value in values {
        match (fill::of_json(data_type, value), value) {
            (Some(item), _) => each(item),
            (None, Value::Array(inner)) => for_each_item(data_type, inner, each),
            _ => panic!("{value} is no item of {data_type}"),
        }
    }
}

fn dataset(file: &mut Writer, of: &Members<'_>, level: u32) -> scda::Result<()> {
    let data_type = of.value("data_type").unwrap();
    let by_name = data_type.as_str().and_then(DataType::from_name);
    let data_type = by_name.map_or_else(|| type_of_json(&data_type), |found| Ok(Some(found)))?.unwrap();
    let mut dataset = Dataset::new(of.text("user").unwrap(), data_type, of.numbers("shape").unwrap());
    let (shape, text) = (of.numbers("chunk"), of.text("layout").as_deref() == Some("text"));
    if shape.is_some() || text {
        dataset.layout = Layout::Chunked { shape, text };
    }
    dataset.codec = of.text("codec").map_or_else(Codec::default, |name| Codec::from_name(&name).unwrap());
    dataset.level = of.number("level").map(|level| u32::try_from(level).unwrap());
    dataset.shuffle = of.value("shuffle").is_none_or(|value| value.as_bool().unwrap());
    if let Some(value) = of.value("fill_value") {
        dataset.fill_value = fill::of_json(data_type, &value).unwrap();
    }
    for name in of.list("dimension_names").unwrap_or_default() {
        dataset.dimension_names.push(name.as_str().map(str::to_owned));
    }
    of.raw("attributes").unwrap_or("{}").clone_into(&mut dataset.attributes);
    let (mut texts, mut bytes) = (Texts::new(), Vec::new());
    let values = of.list("values").unwrap_or_default();
    for_each_item(data_type, &values, &mut |item| match data_type.is_variable() {
        true => texts.push(&item).unwrap(),
        false => bytes.extend(item),
    });
    if data_type.is_variable() {
        return file.texts(&dataset, dataset.shape.first().copied().unwrap_or(1), &texts);
    }
    let mut data = Elements::new(of);
    if of.value("values").is_some() {
        data.data = Box::new(Cursor::new(bytes));
    }
    if !of.is("encoded") {
        return file.incremental().dataset(&dataset, &mut data);
    }
    // Its rows are compressed by the convention of the format.
    let mut text = metadata::of_dataset(&dataset, &Codecs::of(&dataset, level))?;
    if file.position().is_none() {
        file.flush()?;
    }
    metadata::align(&mut text, 0, file.position().unwrap());
    file.incremental().block(DATASET_CONVENTION, text.len() as u64, &mut text.as_bytes(), Encode::None)?;
    let row_bytes = dataset.shape.iter().skip(1).product::<u64>() * data_type.item_bytes();
    let rows = dataset.shape.first().copied().unwrap_or(1);
    file.incremental().array(dataset.name.as_bytes(), rows, row_bytes, &mut data, Encode::Always)
}

/// Makes a file, or replaces it, with these options: `--seal`, `--no-hdf5`, `--level N`, `--zlib`, `--mime`.
pub fn make(path: &Path, options: &str, text: &str) {
    let mut params = WriteOptions::default();
    let description = Members::new(text);
    // Whatever the description has, the sections of compressed datasets can be written.
    (params.raw, params.seal) = (true, description.is("sealed"));
    let mut words = options.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "--seal" => params.seal = true,
            "--no-seal" => params.seal = false,
            "--no-hdf5" => params.hdf5 = Hdf5::Never,
            "--level" => params.level = words.next().unwrap().parse().unwrap(),
            "--zlib" => params.encoder = Encoder::Zlib,
            "--mime" => params.line_break = LineBreak::Mime,
            other => panic!("option {other}"),
        }
    }
    let (level, user) = (params.level, description.bytes("user").unwrap_or_default());
    let mut file = Writer::create(Solo, path, &user, &params).unwrap();
    let sections: Vec<&RawValue> = serde_json::from_str(description.raw("sections").unwrap()).unwrap();
    for one in sections {
        section(&mut file, &Members::new(one.get()), level)
            .unwrap_or_else(|error| panic!("{error}: {}", one.get()));
    }
    file.close().unwrap();
}
