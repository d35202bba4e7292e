//! The lines of a list: sections, datasets, groups and streams.

use crate::data_batches::{for_each_sizes, units};
use crate::datasets::{Item, chunk_word, remarks, shape_word};
use crate::fail::{Fail, NO, Result, is_invalid};
use crate::output::{complain, quote};
use scda::Seals;
use scda::{Content, Layout, Reader, Section, SectionType, Streams};

/// What a line of the list shows for a section.
pub struct Row {
    pub number: u64,
    pub section: Section,
    /// The size of the data in bytes, decompressed.
    pub bytes: u64,
    /// The size of the whole section in the file in bytes.
    pub stored: u64,
    /// The least and the largest size of an element, for a varray with elements.
    pub extremes: Option<(u64, u64)>,
}

impl Row {
    pub fn mean(&self) -> f64 {
        as_f64(self.bytes) / as_f64(self.section.count)
    }
}

/// For ratios, which need not be exact.
#[allow(clippy::cast_precision_loss)]
pub fn as_f64(n: u64) -> f64 {
    n as f64
}

/// Measures the current section, and ends it.
pub fn measure(reader: &mut Reader, number: u64, section: Section) -> scda::Result<Row> {
    let (mut bytes, mut extremes) = (section.count * section.size, None);
    match section.section_type {
        SectionType::Inline | SectionType::Block => bytes = units(&section),
        SectionType::Array => {}
        SectionType::Varray => {
            for_each_sizes(reader, section.count, |sizes| {
                for &size in sizes {
                    // A sum that exceeds 63 bits is an error of the section's end below.
                    bytes = bytes.saturating_add(size);
                    let (least, most) = extremes.unwrap_or((size, size));
                    extremes = Some((size.min(least), size.max(most)));
                }
                Ok::<_, scda::Error>(())
            })?;
        }
    }
    reader.skip()?;
    let end = reader.position().unwrap_or(section.offset);
    Ok(Row { number, section, bytes, stored: end - section.offset, extremes })
}

/// Like [`measure`], for a section or the last one of an item, including rows that were added later.
pub fn measure_item(reader: &mut Reader, item: &Item) -> Result<Row> {
    let mut last = item.section;
    for _ in item.number..item.last() {
        reader.skip()?;
        last = reader.next_section(true)?.ok_or_else(has_changed)?;
    }
    let mut row = measure(reader, item.last(), last)?;
    let end = reader.position();
    if let (Some(end), Some(dataset)) = (end, item.dataset()) {
        for rows in dataset.added_rows() {
            reader.seek(rows.data)?;
            let section = reader.next_section(true)?.ok_or_else(has_changed)?;
            let more = measure(reader, row.number, section)?;
            row.bytes = row.bytes.saturating_add(more.bytes);
            row.stored += more.stored;
        }
        reader.seek(end)?;
    }
    Ok(row)
}

fn has_changed() -> Fail {
    Fail::Trouble("the file has changed".to_owned())
}

/// The seals of a file that ends with one. The reader, which must tolerate damage, is then at the first section.
///
/// # Errors
/// The errors of the reader.
pub fn seals(reader: &mut Reader) -> Result<Option<Seals>> {
    Ok(if reader.is_sealed() { Some(reader.inspect().seals()?) } else { None })
}

/// Sections that look like datasets, but are none.
#[derive(Default)]
pub struct Faults {
    is_invalid: bool,
    last: String,
}

impl Faults {
    /// Reports an error, if there is one, and if it is not the last one again: without an index no dataset can be read.
    pub fn add(&mut self, fault: Option<&scda::Error>) {
        let Some(fault) = fault else { return };
        self.is_invalid |= is_invalid(fault);
        let words = fault.to_string();
        if words != self.last {
            complain(&words);
            self.last = words;
        }
    }

    pub fn end(&self) -> Result<()> {
        if self.is_invalid { Err(Fail::Said(NO)) } else { Ok(()) }
    }
}

/// The heading of the columns.
pub fn head() -> String {
    format!(
        "{:>5} {:4} {:>12} {:>18} {:>14} {:>14} {:>6}  user string",
        "", "kind", "N", "E", "bytes", "offset", "ratio"
    )
}

/// One line for a section.
pub fn line(row: &Row) -> String {
    let section = &row.section;
    let e = match (section.section_type, row.extremes) {
        (SectionType::Block | SectionType::Array, _) => section.size.to_string(),
        (SectionType::Varray, Some((least, most))) if least == most => least.to_string(),
        (SectionType::Varray, Some((least, most))) => format!("{least}/{:.1}/{most}", row.mean()),
        (SectionType::Inline | SectionType::Varray, _) => "-".to_owned(),
    };
    Columns {
        number: row.number,
        kind: char::from(section.section_type.letter()),
        n: count_word(section.section_type, section.count),
        e: &e,
        bytes: row.bytes,
        offset: section.offset,
        stored: section.decoded.then_some(row.stored),
        user: &section.user,
    }
    .text()
}

/// One line for a part of a set of streams.
fn streams_line(streams: &Streams, item: &Item) -> String {
    let line = Columns {
        number: item.number + 1,
        kind: 'S',
        n: streams.tasks().to_string(),
        e: &streams.chunk_bytes().to_string(),
        bytes: item.stream_bytes,
        offset: item.section.offset,
        stored: None,
        user: streams.name(),
    };
    let part = match streams.part() {
        0 => String::new(),
        part => format!(", part {part}"),
    };
    format!("{}  streams{part}", line.text())
}

/// One line for an item of several sections, of which the last one has `stored` bytes in the file. `None` for any
/// other.
pub fn item_line(item: &Item, stored: u64) -> Option<String> {
    let (number, offset) = (item.last(), item.section.offset);
    Some(match &item.content {
        Content::Dataset(dataset) => {
            let data = dataset.data_section();
            let is_plain = dataset.layout == Layout::Contiguous && !data.decoded;
            // Only the chunks tell the bytes of items of any length.
            let is_variable = dataset.data_type.is_variable();
            let line = Columns {
                number,
                kind: 'D',
                n: shape_word(&dataset.shape),
                e: &chunk_word(dataset),
                bytes: if is_variable { stored } else { dataset.data_bytes().unwrap_or(0) },
                offset,
                stored: (!is_plain && !is_variable).then_some(stored),
                user: &data.user,
            };
            format!("{}  {}", line.text(), remarks(dataset))
        }
        Content::Group(_) => {
            let block = item.others.first()?;
            let (n, stored) = ("-".to_owned(), block.decoded.then_some(stored));
            Columns { number, kind: 'G', n, e: "-", bytes: block.size, offset, stored, user: &block.user }
                .text()
        }
        Content::Streams(streams) => streams_line(streams, item),
        _ => return None,
    })
}

/// The columns of a line.
pub struct Columns<'a> {
    pub number: u64,
    pub kind: char,
    /// The number of elements, or the shape.
    pub n: String,
    /// The sizes of the elements.
    pub e: &'a str,
    pub bytes: u64,
    pub offset: u64,
    /// For a compressed section, its size in the file in bytes.
    pub stored: Option<u64>,
    pub user: &'a [u8],
}

impl Columns<'_> {
    pub fn text(&self) -> String {
        let Self { number, kind, n, e, bytes, offset, .. } = self;
        let ratio = match self.stored {
            Some(stored) if *bytes > 0 => format!("{:.2}", as_f64(*bytes) / as_f64(stored)),
            // Nothing was compressed.
            _ => "-".to_owned(),
        };
        let user = quote(self.user);
        format!("{number:5} {kind:4} {n:>12} {e:>18} {bytes:14} {offset:14} {ratio:>6}  {user}")
    }
}

/// The number of elements, if there are any.
pub fn count_word(section_type: SectionType, count: u64) -> String {
    match section_type {
        SectionType::Inline | SectionType::Block => "-".to_owned(),
        SectionType::Array | SectionType::Varray => count.to_string(),
    }
}

/// The name of a kind.
pub fn kind(section: &Section) -> &'static str {
    match section.section_type {
        SectionType::Inline => "inline",
        SectionType::Block => "block",
        SectionType::Array => "array",
        SectionType::Varray => "varray",
    }
}
