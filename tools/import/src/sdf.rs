//! Simple Data Format (G. H. Fisher): labelled arrays, one after the other.
//!
//! All numbers are big-endian. The file begins with 11 bytes `SDF format` and NUL, then `hdrpos` (8 bytes: where the texts
//! end), `datapos` (8: where the data end, with the file), the number of arrays (4), and `hdrsize` (8). From byte 39 there is
//! a line of text for each array: order, label, letter of the type, bytes per word, number of dimensions, and the dimensions,
//! the last one varying fastest. Their data follow from byte 19 + `hdrsize`, in the same order, without gaps. What follows `hdrpos` may be left over from earlier texts.

use super::{Foreign, PIECE_BYTES, PieceReader, at_most};
use scda::DataStream;
use scda_base::error::{Error, ErrorKind, Result, quote};
use scda_base::memory::resize;
use scda_base::numbers::to_usize;
use scda_codec::chunk::swap;
use scda_format::USER_STRING_BYTES;
use scda_format::dataset::{DataType, MAX_DIMENSIONS, check_name, items};
use scda_format::layout::product;
use std::collections::{HashMap, HashSet};

/// What the file begins with.
pub const MAGIC: &[u8] = b"SDF format\0";
/// Where the texts begin.
const TEXTS: usize = 39;
const TEXTS_AT: u64 = TEXTS as u64;
/// What `hdrsize` counts from.
const HEADER: u64 = 19;
/// The most bytes of texts, some millions of arrays.
const MAX_TEXT_BYTES: u64 = 1 << 28;
/// An array of the file.
#[derive(Debug, PartialEq, Eq)]
pub struct Array {
    /// The label, which others may have, too.
    pub label: Vec<u8>,
    /// The type: `f`, `i`, `b` or `c`, if it is known.
    pub letter: u8,
    /// The bytes of a word; of a complex number, those of a part.
    pub word_bytes: u64,
    /// The number of indices in each dimension; the last index varies fastest.
    pub dims: Vec<u64>,
    /// Where the data begin.
    pub offset: u64,
    /// The bytes of the data.
    pub bytes: u64,
}

impl Array {
    /// The type that a word is by its letter and length.
    fn known_type(&self) -> Option<DataType> {
        Some(match (self.letter, self.word_bytes) {
            (b'f', 4) => DataType::Float32,
            (b'f', 8) => DataType::Float64,
            (b'i', 1) => DataType::Int8,
            (b'i', 2) => DataType::Int16,
            (b'i', 4) => DataType::Int32,
            (b'i', 8) => DataType::Int64,
            (b'b', 1) => DataType::Uint8,
            (b'c', 4) => DataType::Complex64,
            (b'c', 8) => DataType::Complex128,
            _ => return None,
        })
    }

    /// Whether the type is one that a dataset can have. If not, the bytes stay as they are in the file.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known_type().is_some()
    }

    /// The bytes of an item: of a complex number, of both parts.
    fn item_bytes(letter: u8, word_bytes: u64) -> Option<u64> {
        product(word_bytes, if letter == b'c' { 2 } else { 1 })
    }

    /// The type and the shape of the dataset that it becomes. Words of an unknown type become raw items; a word that is too
    /// long for one becomes a dimension. More dimensions than a dataset can have become one.
    #[must_use]
    pub fn dataset(&self) -> (DataType, Vec<u64>) {
        let mut shape = self.dims.clone();
        let data_type = self.known_type().unwrap_or_else(|| {
            let bytes = Self::item_bytes(self.letter, self.word_bytes).unwrap_or(u64::MAX);
            let raw = u32::try_from(bytes).ok().map(DataType::Raw).filter(|raw| raw.is_valid());
            raw.unwrap_or_else(|| {
                shape.push(bytes);
                DataType::Raw(1)
            })
        });
        if shape.len() > MAX_DIMENSIONS {
            shape = vec![self.bytes / data_type.item_bytes()];
        }
        (data_type, shape)
    }
}

/// What is in a file.
pub struct Sdf<'a> {
    file: &'a Foreign,
    /// All arrays, in the order of the file.
    pub arrays: Vec<Array>,
    /// What is wrong with the data, or with what follows the texts of these arrays. The arrays that end in the file can be read all the
    /// same.
    pub damage: Option<Error>,
}

/// The big-endian number in 8 bytes from `at`.
fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

impl<'a> Sdf<'a> {
    /// Reads what the file says of its arrays.
    ///
    /// # Errors
    /// `Format`, `ShortFile` and `UnsupportedVersion`, at the byte where it is not as it should be; `Memory`, and those of
    /// the file system.
    pub fn read(file: &'a Foreign) -> Result<Self> {
        let mut fixed = [0; TEXTS];
        file.read("header of SDF", 0, &mut fixed)?;
        if !fixed.starts_with(MAGIC) {
            return Err(file.wrong(0, "SDF", quote(&fixed[..MAGIC.len()]), quote(MAGIC)));
        }
        let (texts_end, data_end, header_size) = (number(&fixed, 11), number(&fixed, 19), number(&fixed, 31));
        let count = u32::from_be_bytes([fixed[27], fixed[28], fixed[29], fixed[30]]);
        let data = header_size.checked_add(HEADER).filter(|&data| data >= TEXTS_AT && data <= data_end);
        let data = data.ok_or_else(|| {
            let expected = format!("{} to datapos, {data_end}, less {HEADER}", TEXTS_AT - HEADER);
            file.wrong(31, "hdrsize", header_size, expected)
        })?;
        if !(TEXTS_AT..=data).contains(&texts_end) {
            return Err(file.wrong(11, "hdrpos", texts_end, format!("{TEXTS_AT} to {data}")));
        }
        let text_bytes = texts_end - TEXTS_AT;
        if text_bytes > MAX_TEXT_BYTES {
            let message = format!("texts: found {text_bytes} bytes, expected at most {MAX_TEXT_BYTES}");
            return Err(Error::new(ErrorKind::Unsupported, message).at(11).in_file(file.name()));
        }
        file.check_end("texts of the arrays", TEXTS_AT, texts_end)?;
        let mut texts = Vec::new();
        resize(&mut texts, text_bytes)?;
        file.read("texts of the arrays", TEXTS_AT, &mut texts)?;
        let (mut arrays, end, fault) = arrays(file, &texts, count, data)?;
        let fault = fault.or_else(|| {
            let expected = || format!("{end}, where the data of the arrays end");
            (data_end != end).then(|| file.wrong(19, "datapos", data_end, expected()))
        });
        if let Some(fault) = fault {
            // A program that was killed may have added a text, and no more. Else it is not known what is wrong.
            arrays.truncate(to_usize(count.into()));
            let ends = arrays.last().is_some_and(|array| array.offset + array.bytes == data_end);
            if !ends || arrays.len() as u64 != u64::from(count) {
                return Err(fault);
            }
            return Ok(Self { file, arrays, damage: Some(fault) });
        }
        let damage = match file.size() {
            size if size < end => file.check_end("data of the arrays", data, end).err(),
            size if size > end => Some(file.wrong(end, "bytes after the data", size - end, "none")),
            _ => None,
        };
        Ok(Self { file, arrays, damage })
    }

    /// The data of an array, with numbers in little-endian byte order. Words of unknown types stay as they are.
    pub fn data(&self, array: &Array) -> impl DataStream + use<'a> {
        let number_bytes = array.known_type().map_or(1, DataType::number_bytes);
        let (file, mut offset, mut left) = (self.file, array.offset, array.bytes);
        PieceReader::new(move |piece| {
            piece.resize(at_most(PIECE_BYTES, left), 0);
            file.read("data of an array", offset, piece)?;
            swap(piece, number_bytes);
            offset += piece.len() as u64;
            left -= piece.len() as u64;
            Ok(())
        })
    }

    /// Whether all data of an array are in the file.
    #[must_use]
    pub fn is_whole(&self, array: &Array) -> bool {
        array.offset + array.bytes <= self.file.size()
    }

    /// A name for the dataset of each array: the label if a dataset can have that name, and otherwise what is left of it, `~`
    /// and a number. Arrays have the same name if and only if they have the same label.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let as_it_is = |label: &[u8]| {
            std::str::from_utf8(label).ok().filter(|label| check_name(label).is_ok()).map(str::to_owned)
        };
        let mut taken: HashSet<String> =
            self.arrays.iter().filter_map(|array| as_it_is(&array.label)).collect();
        let mut of_labels: HashMap<&[u8], String> = HashMap::new();
        // Numbers that were taken are not tried again: time grows no faster than the file.
        let (mut names, mut free) = (Vec::new(), 0);
        for (order, array) in self.arrays.iter().enumerate() {
            let name = of_labels.entry(&array.label).or_insert_with(|| {
                as_it_is(&array.label).unwrap_or_else(|| {
                    let mut number = order.max(free);
                    loop {
                        let name = changed(&array.label, number);
                        if taken.insert(name.clone()) {
                            return name;
                        }
                        number += 1;
                        free = number;
                    }
                })
            });
            names.push(name.clone());
        }
        names
    }
}

/// What is left of a label, and a number, as the name of a dataset.
fn changed(label: &[u8], number: usize) -> String {
    let end = format!("~{number}");
    let mut name = String::new();
    // No character has more bytes: what follows these is not in the name.
    let label = &label[..label.len().min(4 * USER_STRING_BYTES)];
    for c in String::from_utf8_lossy(label).chars() {
        let c = if c.is_control() || matches!(c, '/' | char::REPLACEMENT_CHARACTER) { '_' } else { c };
        if name.len() + c.len_utf8() + end.len() > USER_STRING_BYTES {
            break;
        }
        name.push(c);
    }
    name + &end
}

/// The arrays that the texts tell of, whose data begin at `data`, where they end, and what is wrong with a text after theirs or with
/// their number.
///
/// # Errors
/// `Memory`.
fn arrays(file: &Foreign, texts: &[u8], count: u32, data: u64) -> Result<(Vec<Array>, u64, Option<Error>)> {
    let (mut arrays, mut offset) = (Vec::new(), data);
    let fault = add_arrays(file, texts, count, &mut arrays, &mut offset).err();
    match fault {
        Some(error) if error.kind() != ErrorKind::Format => Err(error),
        fault => Ok((arrays, offset, fault)),
    }
}

fn add_arrays(
    file: &Foreign,
    texts: &[u8],
    count: u32,
    arrays: &mut Vec<Array>,
    end: &mut u64,
) -> Result<()> {
    let mut at = 0;
    while at < texts.len() {
        let line_at = TEXTS_AT + at as u64;
        let line = texts[at..].split(|&byte| byte == b'\n').next().unwrap_or_default();
        at += line.len() + 1;
        if at > texts.len() {
            return Err(file.wrong(line_at, "text of an array", quote(line), "a line feed before hdrpos"));
        }
        let array = array(line, arrays.len() as u64, *end)
            .map_err(|(what, found)| file.wrong(line_at, "text of an array", found, what))?;
        *end = end.checked_add(array.bytes).filter(|end| i64::try_from(*end).is_ok()).ok_or_else(|| {
            file.wrong(line_at, "data of an array", format!("{} bytes", array.bytes), "a sum below 2^63")
        })?;
        arrays.push(array);
    }
    if arrays.len() as u64 != u64::from(count) {
        return Err(file.wrong(27, "ndatasets", count, format!("{}, the number of texts", arrays.len())));
    }
    Ok(())
}

/// The array of a text; or what was expected, and what was found.
fn array(line: &[u8], order: u64, offset: u64) -> Result<Array, (String, String)> {
    let wrong = |what: &str, found: &[u8]| (what.to_owned(), quote(found));
    // Labels may have tabs.
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let mut next = |what: &str| words.next().ok_or_else(|| wrong(what, line));
    let number = |word: &[u8], what: &str| {
        let text = std::str::from_utf8(word).ok().filter(|text| text.bytes().all(|c| c.is_ascii_digit()));
        text.and_then(|text| text.parse::<u64>().ok()).ok_or_else(|| wrong(what, word))
    };
    let expected = format!("the order {order}");
    let word = next(&expected)?;
    if number(word, &expected)? != order {
        return Err(wrong(&expected, word));
    }
    let label = next("a label")?.to_vec();
    let word = next("a letter for the type")?;
    let &[letter @ b'!'..=b'~'] = word else { return Err(wrong("a letter for the type", word)) };
    let word = next("the bytes per word")?;
    let word_bytes = number(word, "the bytes per word")?;
    if word_bytes == 0 {
        return Err(wrong("at least one byte per word", word));
    }
    let dimensions = number(next("the number of dimensions")?, "the number of dimensions")?;
    let mut dims = Vec::new();
    for _ in 0..dimensions {
        dims.push(number(next(&format!("{dimensions} dimensions"))?, "a dimension")?);
    }
    if let Some(word) = words.next() {
        return Err(wrong(&format!("the end of the text after {dimensions} dimensions"), word));
    }
    let bytes = |dims: &[u64]| product(items(dims)?, Array::item_bytes(letter, word_bytes)?);
    // A dataset cannot have more either.
    let ones: Vec<_> = dims.iter().map(|&n| n.max(1)).collect();
    let bytes = bytes(&ones).and_then(|_| bytes(&dims));
    let bytes = bytes.ok_or_else(|| wrong("less than 2^63 bytes of data, with 1 in place of 0", line))?;
    Ok(Array { label, letter, word_bytes, dims, offset, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of these texts, with `data_bytes` bytes of data.
    fn sdf(texts: &str, data_bytes: u64) -> Vec<u8> {
        let end = TEXTS_AT + texts.len() as u64;
        let numbers = [end, end.wrapping_add(data_bytes)].map(u64::to_be_bytes);
        let count = u32::try_from(texts.lines().count()).unwrap().to_be_bytes();
        [MAGIC, numbers.as_flattened(), &count, &(end - HEADER).to_be_bytes(), texts.as_bytes()].concat()
    }

    fn with_file<T>(bytes: &[u8], call: impl FnOnce(Result<Sdf<'_>>) -> T) -> T {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        call(Sdf::read(&Foreign::open(file.path(), "a.sdf").unwrap()))
    }

    #[test]
    fn what_is_no_file_is_told() {
        let error = Foreign::open(std::path::Path::new("/"), "root").err().unwrap();
        assert_eq!(error.to_string(), "root: a folder, pipe or device, not a file");
        assert_eq!(error.kind(), ErrorKind::BadFile);
    }

    #[test]
    fn words_of_unknown_types_are_raw_items_or_dimensions() {
        let dims = "1 ".repeat(MAX_DIMENSIONS);
        let many = format!("{} {dims}", MAX_DIMENSIONS + 1);
        for (text, data_bytes, expected) in [
            ("0 a f 8 2 3 2\n", 48, (DataType::Float64, vec![3, 2])),
            ("0 a x 3 1 5\n", 15, (DataType::Raw(3), vec![5])),
            ("0 a c 5 1 5\n", 50, (DataType::Raw(10), vec![5])),
            ("0 a x 65536 1 1\n", 65_536, (DataType::Raw(65_536), vec![1])),
            ("0 a x 65537 1 1\n", 65_537, (DataType::Raw(1), vec![1, 65_537])),
            (&format!("0 a i 4 {many}6\n"), 24, (DataType::Int32, vec![6])),
        ] {
            with_file(&sdf(text, data_bytes), |sdf| {
                let sdf = sdf.unwrap();
                assert_eq!((sdf.arrays.len(), sdf.arrays[0].dataset()), (1, expected), "{text}");
                assert_eq!(sdf.arrays[0].bytes, data_bytes);
            });
        }
    }

    #[test]
    fn numbers_that_are_too_large_are_told() {
        let half = "0 a b 1 1 4611686018427387904\n1 b b 1 1 4611686018427387904\n";
        let expected =
            "a.sdf: byte 69: data of an array: found 4611686018427387904 bytes, expected a sum below 2^63";
        with_file(&sdf(half, 1 << 63), |sdf| assert_eq!(sdf.err().unwrap().to_string(), expected));
        // What the header says of texts that are not there.
        let end = TEXTS_AT + MAX_TEXT_BYTES + 1;
        let words = [end, end].map(u64::to_be_bytes);
        let bytes = [MAGIC, words.as_flattened(), &[0; 4], &(end - HEADER).to_be_bytes()].concat();
        let expected = "a.sdf: byte 11: texts: found 268435457 bytes, expected at most 268435456";
        with_file(&bytes, |sdf| assert_eq!(sdf.err().unwrap().to_string(), expected));
    }
}
