//! The data that a description in JSON names.

use scda::{DataStream, ElementStream};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

/// A message about a mistake in a description.
pub type Message<T> = Result<T, String>;

/// Why a section cannot be written.
pub enum DescriptionError {
    /// A mistake in the description, as a message.
    Message(String),
    /// An error of the file.
    Writing(scda::Error),
}

impl From<String> for DescriptionError {
    fn from(words: String) -> Self {
        Self::Message(words)
    }
}

impl From<&str> for DescriptionError {
    fn from(words: &str) -> Self {
        Self::Message(words.to_owned())
    }
}

impl From<scda::Error> for DescriptionError {
    fn from(error: scda::Error) -> Self {
        Self::Writing(error)
    }
}

/// An object of the description. A name that nothing looks at is an error.
pub struct Object<'a> {
    map: &'a Map<String, Value>,
    seen: Vec<&'static str>,
}

impl<'a> Object<'a> {
    pub fn new(value: &'a Value) -> Message<Self> {
        let map = value.as_object().ok_or_else(|| format!("found {}, expected an object", brief(value)))?;
        Ok(Self { map, seen: Vec::new() })
    }

    fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.seen.push(name);
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub fn typed<T>(
        &mut self,
        name: &'static str,
        what: &str,
        get: impl Fn(&'a Value) -> Option<T>,
    ) -> Message<Option<T>> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => {
                get(value).map(Some).ok_or_else(|| format!("{name}: found {}, expected {what}", brief(value)))
            }
        }
    }

    pub fn number(&mut self, name: &'static str) -> Message<Option<u64>> {
        self.typed(name, "a whole number", Value::as_u64)
    }

    pub fn text(&mut self, name: &'static str) -> Message<Option<&'a str>> {
        self.typed(name, "a string", Value::as_str)
    }

    /// A list of whole numbers.
    pub fn numbers(&mut self, name: &'static str) -> Message<Option<Vec<u64>>> {
        let numbers = |value: &Value| value.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<_>>>();
        self.typed(name, "a list of whole numbers", numbers)
    }

    pub fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.get(name)
    }

    pub fn list(&mut self, name: &'static str) -> Message<Option<&'a Vec<Value>>> {
        self.typed(name, "a list", Value::as_array)
    }

    /// Bytes under one of these names.
    fn bytes(&mut self, names: [&'static str; 3]) -> Message<Option<Vec<u8>>> {
        let [text, hex, base64] = names;
        let found = [
            self.text(text)?.map(|text| Ok(text.as_bytes().to_vec())),
            self.text(hex)?.map(|digits| unhex(digits).map_err(|e| format!("{hex}: {e}"))),
            self.text(base64)?.map(|digits| unbase64(digits).map_err(|e| format!("{base64}: {e}"))),
        ];
        one(found, &names)?.transpose()
    }

    /// The user string.
    pub fn user(&mut self) -> Message<Vec<u8>> {
        let bytes = self.bytes(["user", "user_hex", "user_base64"])?.unwrap_or_default();
        if bytes.len() > scda::USER_STRING_BYTES {
            return Err(format!(
                "user: found {} bytes, expected at most {}",
                bytes.len(),
                scda::USER_STRING_BYTES
            ));
        }
        Ok(bytes)
    }

    /// An error for unknown names. Some names only tell what `scda ls` found, and are ignored here.
    pub fn finish(self, facts: &[&str]) -> Message<()> {
        let is_unknown =
            |name: &&String| !self.seen.contains(&name.as_str()) && !facts.contains(&name.as_str());
        self.map.keys().find(is_unknown).map_or(Ok(()), |name| Err(format!("unknown name \"{name}\"")))
    }
}

/// The name that is present, of several that exclude each other.
pub fn one<T>(found: impl IntoIterator<Item = Option<T>>, names: &[&str]) -> Message<Option<T>> {
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(format!("only one of {} may be given", names.join(", "))),
        (one, None) => Ok(one),
    }
}

/// The beginning of a value.
pub fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 40 { text.chars().take(40).chain("...".chars()).collect() } else { text }
}

fn unhex(text: &str) -> Message<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect::<Option<_>>();
    bytes.filter(|_| rest.is_empty()).ok_or_else(|| "expected pairs of hexadecimal digits".to_owned())
}

fn unbase64(text: &str) -> Message<Vec<u8>> {
    base64_simd::STANDARD.decode_to_vec(text).map_err(|_| "expected base64 without line breaks".to_owned())
}

/// Numbers that look like chance: the n-th of SplitMix64 from a seed.
fn random(seed: u64, n: u64) -> u64 {
    let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(n.wrapping_add(1)));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Bytes that are computed: those of words of 8 bytes, the least first.
struct GeneratedData {
    word: Box<dyn Fn(u64) -> u64>,
    next: u64,
    /// The last word, and how many of its bytes are left.
    last: [u8; 8],
    left: usize,
}

impl GeneratedData {
    fn new(word: Box<dyn Fn(u64) -> u64>) -> Self {
        Self { word, next: 0, last: [0; 8], left: 0 }
    }
}

impl Read for GeneratedData {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (begin, rest) = buffer.split_at_mut(self.left.min(buffer.len()));
        begin.copy_from_slice(&self.last[8 - self.left..][..begin.len()]);
        self.left -= begin.len();
        for chunk in rest.chunks_mut(8) {
            self.last = (self.word)(self.next).to_le_bytes();
            self.next += 1;
            chunk.copy_from_slice(&self.last[..chunk.len()]);
            self.left = 8 - chunk.len();
        }
        Ok(buffer.len())
    }
}

/// Where the sizes of a varray come from.
pub enum Sizes {
    List(Vec<u64>),
    /// The least, the largest, and a seed.
    GeneratedData(u64, u64, u64),
}

impl Sizes {
    /// The sizes that a description has.
    pub fn new(object: &mut Object<'_>, n: Option<u64>) -> Message<Option<Self>> {
        let list = object.list("sizes")?.map(|list| {
            let sizes = list.iter().map(Value::as_u64).collect::<Option<Vec<_>>>();
            sizes.map(Sizes::List).ok_or_else(|| "sizes: expected whole numbers".to_owned())
        });
        let (least, most) = (object.number("generate_size_min")?, object.number("generate_size_max")?);
        let seed = object.number("generate_size_seed")?;
        let generated = match (least, most) {
            (None, None) if seed.is_none() => None,
            (Some(least), Some(most)) if least <= most && n.is_some() => {
                Some(Sizes::GeneratedData(least, most, seed.unwrap_or(0)))
            }
            _ => {
                return Err("generate_size_min, generate_size_max: expected both, in order, and N".to_owned());
            }
        };
        one([list.transpose()?, generated], &["sizes", "generate_size_min"])
    }

    pub fn get(&self, index: u64) -> u64 {
        match self {
            Self::List(sizes) => {
                usize::try_from(index).ok().and_then(|index| sizes.get(index)).copied().unwrap_or(0)
            }
            Self::GeneratedData(least, most, seed) => {
                let values = u128::from(most - least) + 1;
                least + u64::try_from((u128::from(random(*seed, index)) * values) >> 64).unwrap_or(0)
            }
        }
    }
}

/// The data of a section.
pub struct Data {
    pub from: Box<dyn Read>,
    /// How many bytes there are, if that is known.
    pub bytes: Option<u64>,
    /// The sizes, if elements were given one by one.
    pub elements: Option<Vec<u64>>,
}

/// The elements of a varray.
pub struct Elements {
    pub data: Box<dyn Read>,
    pub sizes: Sizes,
    pub next: u64,
}

impl Read for Elements {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.data.read(buffer)
    }
}

impl DataStream for Elements {}

impl ElementStream for Elements {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        for size in sizes {
            *size = self.sizes.get(self.next);
            self.next += 1;
        }
        Ok(())
    }
}

const DATA: [&str; 3] = ["data_text", "data_hex", "data_base64"];

impl Data {
    pub fn none() -> Self {
        Self { from: Box::new(io::empty()), bytes: Some(0), elements: None }
    }

    /// The data that a description has. Names of files are relative to the folder.
    pub fn new(object: &mut Object<'_>, folder: &Path) -> Message<Option<Self>> {
        let inline = object.bytes(DATA)?.map(|bytes| Data {
            bytes: Some(bytes.len() as u64),
            from: Box::new(Cursor::new(bytes)),
            elements: None,
        });
        let lists = [
            object.list("elements_text")?.map(|list| elements(list, |text| Ok(text.as_bytes().to_vec()))),
            object.list("elements_hex")?.map(|list| elements(list, unhex)),
            object.list("elements_base64")?.map(|list| elements(list, unbase64)),
        ];
        let list = one(lists, &["elements_text", "elements_hex", "elements_base64"])?.transpose()?;
        let file = match object.text("data_file")? {
            None => None,
            Some(name) => {
                let open = || {
                    let file = File::open(folder.join(name))?;
                    let bytes = file.metadata()?.len();
                    Ok::<_, io::Error>(Data { from: Box::new(file), bytes: Some(bytes), elements: None })
                };
                Some(open().map_err(|e| format!("data_file: {name}: {e}"))?)
            }
        };
        let seed = object.number("seed")?;
        let generated = object.text("generate")?.map(|how| {
            let word: Box<dyn Fn(u64) -> u64> = match (how, seed) {
                ("random", seed) => Box::new(move |n| random(seed.unwrap_or(0), n)),
                (_, Some(_)) => return Err("seed: it is for \"generate\": \"random\"".to_owned()),
                ("zeros", None) => Box::new(|_| 0),
                ("counter", None) => Box::new(|n| n),
                _ => return Err(format!("generate: found \"{how}\", expected zeros, counter or random")),
            };
            Ok(Data { from: Box::new(GeneratedData::new(word)), bytes: None, elements: None })
        });
        let generated = generated.transpose()?;
        if generated.is_none() && seed.is_some() {
            return Err("seed: it is for \"generate\": \"random\"".to_owned());
        }
        one([inline, list, file, generated], &["data_...", "elements_...", "data_file", "generate"])
    }
}

/// Elements as a list of strings.
fn elements(list: &[Value], decode: impl Fn(&str) -> Message<Vec<u8>>) -> Message<Data> {
    let (mut all, mut sizes) = (Vec::new(), Vec::new());
    for (index, value) in list.iter().enumerate() {
        let wrong = |e: &str| format!("element {index}: {e}");
        let text =
            value.as_str().ok_or_else(|| wrong(&format!("found {}, expected a string", brief(value))))?;
        let bytes = decode(text).map_err(|e| wrong(&e))?;
        sizes.push(bytes.len() as u64);
        all.extend(bytes);
    }
    Ok(Data { bytes: Some(all.len() as u64), from: Box::new(Cursor::new(all)), elements: Some(sizes) })
}
