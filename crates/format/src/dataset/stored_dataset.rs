//! Compares the metadata of a dataset with the section of its data.

use super::additions::check_alike;
use super::codecs::Codecs;
use super::parse::{self, KnownMetadata};
use super::{ChunkGrid, DATASET_CONVENTION, Dataset, Layout, check_chunk_bytes};
use crate::header::SectionType;
use scda_base::error::{Error, ErrorKind, Result, quote};

/// What the elements of the section are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// The data, one element for each index of the first dimension, in C order.
    Rows,
    /// Chunks.
    Chunks,
    /// Chunks, each with its own size: 0 where all items have the fill value.
    Streams,
}

/// The section of the data, as a decoding reader sees it.
#[derive(Clone, Copy, Debug)]
pub struct DataSection<'a> {
    /// Its type; if it is compressed, the type of what was compressed.
    pub section_type: SectionType,
    /// Its user string.
    pub user: &'a [u8],
    /// The number of elements.
    pub count: u64,
    /// The bytes of an element, or of the data of a block.
    pub size: u64,
    /// Whether it is compressed by the convention of the format.
    pub is_compressed: bool,
}

/// A dataset in a file, as its metadata and the section of its data describe it together.
#[derive(Clone, Debug)]
pub struct StoredDataset {
    /// Its metadata.
    pub dataset: Dataset,
    /// How its chunks were encoded.
    pub codecs: Codecs,
    /// Which part of its shape each chunk covers.
    pub grid: ChunkGrid,
    /// What the elements of its section are.
    pub elements: ElementKind,
}

impl StoredDataset {
    /// From the text of the metadata, which begins at this offset of the file, and the section after them. What is `known` need not
    /// be parsed.
    ///
    /// # Errors
    /// The errors of [`parse::dataset`], and `Format` and `Range` where the section is another one.
    pub fn new(
        known: &mut KnownMetadata,
        text: &[u8],
        offset: u64,
        section: DataSection<'_>,
    ) -> Result<Self> {
        let wrong = |what: String| Error::new(ErrorKind::Format, format!("dataset: {what}"));
        let name = std::str::from_utf8(section.user).ok().filter(|name| super::check_name(name).is_ok());
        let name = name.ok_or_else(|| {
            wrong(format!("found the user string {}, expected the name of a dataset", quote(section.user)))
        })?;
        Self::named(name, known, text, offset, section)
    }

    /// As [`Self::new`], of rows that were added to a dataset.
    ///
    /// # Errors
    /// The errors of [`Self::new`]; `Format` if they are no rows of this dataset.
    pub fn of_rows(text: &[u8], offset: u64, section: DataSection<'_>, to: &Self) -> Result<Self> {
        let rows = Self::named(&to.dataset.name, &mut KnownMetadata::default(), text, offset, section)?;
        check_alike(&to.dataset, &rows.dataset).map_err(|error| error.with_kind(ErrorKind::Format))?;
        if to.codecs.big_endian || rows.codecs.big_endian {
            let words = format!(
                "rows of the dataset \"{}\": found the byte order big, expected little",
                to.dataset.name
            );
            return Err(Error::new(ErrorKind::Format, words));
        }
        Ok(rows)
    }

    /// Roughly the memory it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let Dataset { name, shape, fill_value, attributes, unsupported, .. } = &self.dataset;
        let texts =
            name.len() + fill_value.len() + attributes.len() + unsupported.as_ref().map_or(0, String::len);
        // The shape, the chunk shape, and both again in the grid, along with the numbers of chunks.
        let numbers = 5 * size_of_val(&shape[..]);
        (size_of::<Self>() + texts + numbers) as u64
    }

    fn named(
        name: &str,
        known: &mut KnownMetadata,
        text: &[u8],
        offset: u64,
        section: DataSection<'_>,
    ) -> Result<Self> {
        let wrong = |what: String| Error::new(ErrorKind::Format, format!("dataset: {what}"));
        let parse::Metadata { mut dataset, chunk_shape, codecs } =
            known.dataset(name, text).map_err(|error| error.further(offset))?;
        let grid = ChunkGrid::new(&dataset.shape, &chunk_shape, dataset.data_type.item_bytes())?;

        let DataSection { section_type, count, size, is_compressed, .. } = section;
        let rows = dataset.rows()?;
        let is_one_chunk = dataset.shape.iter().zip(&chunk_shape).all(|(&n, &chunk)| chunk == n.max(1));
        let is_plain = codecs.are_plain();
        let chunks = (grid.chunks(), grid.chunk_bytes());
        let text = Layout::Chunked { shape: Some(chunk_shape.clone()), text: true };
        let binary = Layout::Chunked { shape: Some(chunk_shape), text: false };
        let (elements, layout) = match section_type {
            SectionType::Array if dataset.unsupported.is_some() => (ElementKind::Rows, Layout::Contiguous),
            SectionType::Varray if dataset.unsupported.is_some() => (ElementKind::Streams, binary),
            SectionType::Array if codecs.changes_length() || dataset.data_type.is_variable() => {
                return Err(wrong("found an array, expected a varray of encoded chunks".into()));
            }
            SectionType::Array if is_compressed && (count, size) == chunks => (ElementKind::Chunks, text),
            SectionType::Array if is_one_chunk && is_plain && (count, size) == rows => {
                (ElementKind::Rows, Layout::Contiguous)
            }
            SectionType::Array if (count, size) == chunks => (ElementKind::Chunks, text),
            SectionType::Array => {
                let also = if is_one_chunk && is_plain {
                    format!("{} of {} bytes, or ", rows.0, rows.1)
                } else {
                    String::new()
                };
                return Err(wrong(format!(
                    "found an array of {count} elements of {size} bytes, expected {also}{} of {} bytes",
                    chunks.0, chunks.1
                )));
            }
            SectionType::Varray if count == chunks.0 => (ElementKind::Streams, binary),
            SectionType::Varray => {
                let expected = chunks.0;
                return Err(wrong(format!("found a varray of {count} elements, expected {expected}")));
            }
            SectionType::Inline | SectionType::Block => {
                let found = char::from(section_type.letter());
                return Err(wrong(format!(
                    "found the type '{found}' after its metadata, expected 'A' or 'V'"
                )));
            }
        };
        if elements != ElementKind::Rows {
            check_chunk_bytes(&grid)?;
        }
        dataset.layout = layout;
        Ok(Self { dataset, codecs, grid, elements })
    }
}

/// Whether a section of this type and user string holds the metadata of a dataset.
pub fn is_metadata(section_type: SectionType, user: &[u8]) -> bool {
    section_type == SectionType::Block && user == DATASET_CONVENTION
}

#[cfg(test)]
mod tests {
    use super::super::metadata::of_dataset;
    use super::super::{DataType, Dataset};
    use super::*;

    fn section(
        section_type: SectionType,
        count: u64,
        size: u64,
        is_compressed: bool,
    ) -> DataSection<'static> {
        DataSection { section_type, user: b"a/b", count, size, is_compressed }
    }

    fn stored(shape: &[u64], layout: Layout, section: DataSection<'_>) -> Result<StoredDataset> {
        let mut dataset = Dataset::new("x", DataType::Float32, shape);
        dataset.layout = layout;
        let text = of_dataset(&dataset, &Codecs::of(&dataset, 3)).unwrap();
        StoredDataset::new(&mut KnownMetadata::default(), text.as_bytes(), 1000, section)
    }

    fn chunked(text: bool) -> Layout {
        Layout::Chunked { shape: Some(vec![2, 2]), text }
    }

    #[test]
    fn the_section_tells_the_layout() {
        use SectionType::{Array, Varray};
        for (layout, section, elements) in [
            (Layout::Contiguous, section(Array, 5, 12, false), ElementKind::Rows),
            (Layout::Contiguous, section(Array, 5, 12, true), ElementKind::Rows),
            (chunked(true), section(Array, 6, 16, true), ElementKind::Chunks),
            (chunked(true), section(Array, 6, 16, false), ElementKind::Chunks),
            (chunked(false), section(Varray, 6, 0, false), ElementKind::Streams),
            (chunked(false), section(Varray, 6, 0, true), ElementKind::Streams),
        ] {
            let found = stored(&[5, 3], layout.clone(), section).unwrap();
            assert_eq!((found.elements, found.dataset.layout), (elements, layout));
            assert_eq!(found.dataset.name, "a/b");
        }
        let empty = stored(&[0, 3], Layout::Contiguous, section(Array, 0, 12, false)).unwrap();
        assert_eq!(empty.elements, ElementKind::Rows);
        // The size of a chunk, although there is none.
        let empty = stored(&[0, 3], chunked(true), section(Array, 0, 16, true)).unwrap();
        assert_eq!((empty.elements, empty.dataset.layout), (ElementKind::Chunks, chunked(true)));
        let scalar = stored(&[], Layout::Contiguous, section(Array, 1, 4, false)).unwrap();
        assert_eq!(scalar.elements, ElementKind::Rows);
    }

    #[test]
    fn known_metadata_are_those_of_their_text() {
        let mut known = KnownMetadata::default();
        let text = |data_type, fill: &[u8]| {
            let mut dataset = Dataset::new("x", data_type, [5, 3]);
            dataset.fill_value = fill.to_vec();
            of_dataset(&dataset, &Codecs::of(&dataset, 3)).unwrap()
        };
        let section = section(SectionType::Array, 5, 12, false);
        let (float, int) = (text(DataType::Float32, &[]), text(DataType::Int32, &[1, 0, 0, 0]));
        let spaces = float.replace("}\n", &format!("}}{}\n", " ".repeat(77)));
        for (text, data_type) in [
            (&float, DataType::Float32),
            (&spaces, DataType::Float32),
            (&int, DataType::Int32),
            (&int, DataType::Int32),
            (&spaces, DataType::Float32),
        ] {
            let found = StoredDataset::new(&mut known, text.as_bytes(), 1000, section).unwrap();
            let alone =
                StoredDataset::new(&mut KnownMetadata::default(), text.as_bytes(), 1000, section).unwrap();
            assert_eq!((&found.dataset, found.dataset.data_type), (&alone.dataset, data_type));
            // Another name, which is checked, too.
            let other =
                StoredDataset::new(&mut known, text.as_bytes(), 1000, DataSection { user: b"c", ..section });
            assert_eq!(other.unwrap().dataset.name, "c");
            let none =
                StoredDataset::new(&mut known, text.as_bytes(), 1000, DataSection { user: b"c/", ..section });
            assert_eq!(none.unwrap_err().kind(), ErrorKind::Format);
            // Invalid JSON is an error after a known text, too.
            for wrong in ["\x0c", "}", "\0"] {
                let text = format!("{text}{wrong}");
                let none = StoredDataset::new(&mut known, text.as_bytes(), 1000, section);
                assert_eq!(none.unwrap_err().kind(), ErrorKind::Format);
            }
        }
    }

    #[test]
    fn another_section_is_an_error() {
        use SectionType::{Array, Block, Inline, Varray};
        for (layout, section, expected) in [
            (
                Layout::Contiguous,
                section(Array, 5, 16, false),
                "found an array of 5 elements of 16 bytes, expected 5 of 12 bytes, or 1 of 60 bytes",
            ),
            (
                chunked(true),
                section(Array, 5, 12, true),
                "found an array of 5 elements of 12 bytes, expected 6 of 16 bytes",
            ),
            (
                chunked(false),
                section(Array, 6, 16, false),
                "found an array, expected a varray of encoded chunks",
            ),
            (chunked(false), section(Varray, 7, 0, false), "found a varray of 7 elements, expected 6"),
            (
                Layout::Contiguous,
                section(Block, 0, 60, false),
                "found the type 'B' after its metadata, expected 'A' or 'V'",
            ),
            (
                Layout::Contiguous,
                section(Inline, 0, 0, false),
                "found the type 'I' after its metadata, expected 'A' or 'V'",
            ),
            (
                Layout::Contiguous,
                DataSection { user: b"a/", ..section(Array, 5, 12, false) },
                "found the user string \"a/\", expected the name of a dataset",
            ),
        ] {
            let error = stored(&[5, 3], layout, section).unwrap_err();
            assert_eq!(
                (error.kind(), error.to_string()),
                (ErrorKind::Format, format!("dataset: {expected}"))
            );
        }
        let mut names = Dataset::new("x", DataType::String, [5]);
        names.layout = Layout::Chunked { shape: Some(vec![5]), text: false };
        let text = of_dataset(&names, &Codecs::default()).unwrap();
        let error = StoredDataset::new(
            &mut KnownMetadata::default(),
            text.as_bytes(),
            1000,
            section(Array, 1, 20, true),
        );
        assert!(error.unwrap_err().to_string().ends_with("expected a varray of encoded chunks"));
        let text = b"{\"a\":1,\"a\":2}";
        let bad = StoredDataset::new(&mut KnownMetadata::default(), text, 1000, section(Array, 5, 12, false))
            .unwrap_err();
        assert_eq!(bad.offset(), Some(1009));
        let huge = Layout::Chunked { shape: Some(vec![1 << 30, 2]), text: true };
        let mut dataset = Dataset::new("x", DataType::Float32, [1, 1]);
        dataset.layout = huge;
        assert_eq!(dataset.validate().unwrap_err().kind(), ErrorKind::Range);
    }
}
