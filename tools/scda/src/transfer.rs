//! Writes sections, datasets and groups of one file into another.

use crate::data_batches::Stream;
use crate::datasets::box_parts;
use crate::datasets::source::{Share, Source};
use crate::datasets::{Addition, AdditionName, Item, MovedData, Walk, added_to, unsupported};
use crate::fail::{Fail, Result};
use crate::files::OutputFile;
use crate::output::complain;
use crate::storage_options::StorageOptions;
use scda::{
    Content, Dataset, DatasetHandle, Encode, Layout, LineBreak, Reader, Section, SectionType, Texts,
    WriteOptions, Writer,
};
use scda_base::numbers::to_usize;
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::json::{MAX_METADATA_BYTES, in_lines, members};
use scda_format::dataset::metadata::{self, ALIGNMENT};
use scda_format::dataset::parse::KEYS;
use std::io::Read;

/// How sections are written, and with which line breaks.
#[derive(Clone, Copy)]
pub struct TransferOptions<'a> {
    pub storage: &'a StorageOptions,
    pub style: LineBreak,
}

impl TransferOptions<'_> {
    /// True if compressed data, which contain line breaks, stay unchanged.
    fn keeps_style(self, reader: &Reader) -> bool {
        self.storage.style.is_none() && self.style == reader.header().line_break
    }

    /// Writes a section, dataset or group whose first header was read, and skips it.
    pub fn item(
        self,
        reader: &mut Reader,
        walk: &mut Walk<'_>,
        item: &Item,
        output: &mut OutputFile,
    ) -> Result<()> {
        let section = &item.section;
        let dataset = match &item.content {
            Content::Dataset(dataset) => dataset,
            // Streams are not compressed.
            Content::Group(_) | Content::Streams(_) => {
                self.keep(reader, output, section)?;
                for other in &item.others {
                    reader.next_section(true)?;
                    self.keep(reader, output, other)?;
                }
                return Ok(());
            }
            _ => {
                let section = &moved(walk, item, output)?;
                let as_they_are =
                    self.storage.encode.is_none() && !self.storage.decode && self.keeps_style(reader);
                return match as_they_are {
                    true => as_it_is(reader, output.writer()?, section),
                    false => one(reader, output.writer()?, section, self.storage.encode(section)),
                };
            }
        };
        // In the copy, the data are elsewhere: rows that were added to them become a part of them.
        let (data, has_rows) = (dataset.data_section(), dataset.added_rows().next().is_some());
        let stored = self.storage.stored(dataset)?;
        // Rows that are compressed one by one stay so.
        let encode = if stored.is_none() && data.decoded { Encode::Always } else { Encode::None };
        let stored = stored.or_else(|| has_rows.then(|| dataset.description().clone()));
        if let Some(stored) = stored {
            let Some(why) = unsupported(dataset) else {
                walk.goes_to(data.offset, None);
                let lost = unknown_keys(&read_metadata(reader, section)?)?;
                if !lost.is_empty() {
                    let (name, lost) = (&stored.name, lost.join(", "));
                    complain(&format!("dataset \"{name}\": left out of the new metadata: {lost}"));
                }
                // Checks the result before reading anything. An error here comes from the options, not from damage.
                let codecs = Codecs::of(&stored, WriteOptions::DEFAULT_LEVEL);
                let text = metadata::of_dataset(&stored, &codecs)
                    .map_err(|error| Fail::Trouble(format!("dataset \"{}\": {error}", stored.name)))?;
                item.skip(reader)?;
                let range = item.section.offset..reader.position().unwrap_or(item.section.offset);
                // To find out whether chunks make them smaller, large data are compressed twice.
                let passes = if matches!(stored.layout, Layout::Auto { .. }) { 2 } else { 1 };
                let share = Share { range, all: stored.data_bytes()?.saturating_mul(passes), read: 0 };
                let mut items = Source::new(reader, dataset, share);
                if stored.data_type.is_variable() {
                    return write_texts(output.writer()?, &stored, &mut items);
                }
                if encode == Encode::Always && stored.layout == Layout::Contiguous {
                    // Only an array with dimensions can have added rows.
                    let rows = stored.shape.first().copied().unwrap_or(1);
                    let bytes = stored.shape.iter().skip(1).product::<u64>() * stored.data_type.item_bytes();
                    output.metadata(text, 0)?;
                    let user = &data.user;
                    return Ok(output
                        .writer()?
                        .incremental()
                        .array(user, rows, bytes, &mut items, encode)?);
                }
                return Ok(output.writer()?.incremental().dataset(&stored, &mut items)?);
            };
            let words =
                format!("dataset \"{}\" is copied unchanged because it cannot be read: {why}", stored.name);
            if has_rows && !output.is_sealed() {
                let more = ", and rows were added to it, which only a sealed file can have";
                return Err(Fail::Trouble(words + more));
            }
            complain(&words);
        }
        let changed = match dataset.later_attributes() {
            // In the copy, the data are elsewhere.
            Some(_) => Some(with_attributes(&read_metadata(reader, section)?, &dataset.attributes)?),
            None => shifted(reader, output, dataset)?,
        };
        match changed {
            Some(text) => {
                let is_plain = dataset.layout == Layout::Contiguous && !data.decoded;
                output.metadata(text, if is_plain { dataset.data_bytes()? } else { 0 })?;
                reader.skip()?;
            }
            None => self.keep(reader, output, section)?,
        }
        reader.next_section(true)?;
        let moved = MovedData { position: output.position()?, user: data.user };
        walk.goes_to(data.offset, Some(moved.position));
        self.keep(reader, output, data)?;
        self.rows(reader, output, dataset, moved)
    }

    /// Writes the sections with added rows unchanged, after the copy of their dataset.
    fn rows(
        self,
        reader: &mut Reader,
        output: &mut OutputFile,
        dataset: &DatasetHandle,
        moved: MovedData,
    ) -> Result<()> {
        let before = reader.position().unwrap_or(0);
        for rows in dataset.added_rows() {
            for offset in [rows.metadata, rows.data] {
                reader.seek(offset)?;
                let Some(mut section) = reader.next_section(true)? else { break };
                if offset == rows.data {
                    section.user = moved.user_of(Addition::Rows)?.unwrap_or(section.user);
                }
                self.keep(reader, output, &section)?;
            }
        }
        Ok(reader.seek(before)?)
    }

    /// Writes a section without changing its compression.
    fn keep(self, reader: &mut Reader, output: &mut OutputFile, section: &Section) -> Result<()> {
        let encode = if section.decoded { Encode::Always } else { Encode::None };
        match self.keeps_style(reader) {
            true => as_it_is(reader, output.writer()?, section),
            false => one(reader, output.writer()?, section, encode),
        }
    }
}

/// Writes a dataset of items of variable length.
fn write_texts(writer: &mut Writer, dataset: &Dataset, items: &mut Source<'_>) -> Result<()> {
    let mut bytes = Vec::new();
    let read = items.read_to_end(&mut bytes);
    read.map_err(|error| Fail::Trouble(format!("dataset \"{}\": {error}", dataset.name)))?;
    let items: Texts = box_parts::each_item(dataset.data_type, &bytes).collect();
    let rows = dataset.shape.first().copied().unwrap_or(1);
    Ok(writer.texts(dataset, rows, &items)?)
}

/// The metadata of a dataset without the white space at their end, if the data are aligned now, and would not be
/// aligned in the copy.
fn shifted(reader: &mut Reader, output: &mut OutputFile, dataset: &DatasetHandle) -> Result<Option<String>> {
    let (block, data) = (dataset.metadata_section(), dataset.data_section());
    let is_aligned =
        data.data_offset % ALIGNMENT == 0 && dataset.layout == Layout::Contiguous && !data.decoded;
    let position = output.writer()?.position().unwrap_or(0);
    if block.decoded || !is_aligned || position % ALIGNMENT == block.offset % ALIGNMENT {
        return Ok(None);
    }
    Ok(Some(read_metadata(reader, block)?.trim_end().to_owned() + "\n"))
}

/// A section as it is copied: an addition to a dataset refers to it by the offset of its data, which in the copy is
/// another one. (Additions that a seal covers are no sections here, but a part of their dataset, if this library knows
/// that.)
fn moved(walk: &mut Walk<'_>, item: &Item, output: &mut OutputFile) -> Result<Section> {
    let mut section = item.section;
    if walk.is_of_unknown(item) {
        walk.goes_to(section.offset, Some(output.position()?));
    } else if let Some(added) = added_to(section.section_type, &section.user) {
        match walk.copy_of(&added) {
            Some(Some(moved)) => section.user = moved.user_of(added.addition)?.unwrap_or(section.user),
            Some(None) => {
                let AdditionName { addition, .. } = added;
                let words = format!(
                    "byte {}: found {addition} of a dataset that is not copied unchanged, before any part of it; scda salvage saves them",
                    section.offset
                );
                return Err(Fail::file(walk.file_name(), words));
            }
            None => {}
        }
    }
    Ok(section)
}

/// The keys of metadata that this library ignores, and does not write.
fn unknown_keys(metadata: &str) -> Result<Vec<String>> {
    let members = members(metadata.as_bytes())?;
    Ok(members.into_iter().map(|member| member.key).filter(|key| !KEYS.contains(&&**key)).collect())
}

/// The metadata with new attributes. Everything else stays byte for byte.
pub fn with_attributes(metadata: &str, attributes: &str) -> Result<String> {
    let found = members(metadata.as_bytes())?;
    let text = match found.iter().find(|member| member.key == "attributes") {
        Some(member) => {
            let start = to_usize(member.offset);
            let end = start + member.text.len();
            format!("{}{attributes}{}", &metadata[..start], &metadata[end..])
        }
        None => {
            let start = metadata.trim_end().strip_suffix('}').unwrap_or(metadata);
            format!("{start},\"attributes\":{attributes}}}")
        }
    };
    let text = in_lines(&text) + "\n";
    let bytes = text.len() as u64 + ALIGNMENT;
    if bytes > MAX_METADATA_BYTES {
        return Err(Fail::Trouble(format!(
            "attributes: found {bytes} bytes of metadata, expected at most {MAX_METADATA_BYTES}"
        )));
    }
    Ok(text)
}

/// The text of the block of metadata whose header was just read.
pub fn read_metadata(reader: &mut Reader, block: &Section) -> Result<String> {
    let mut text = vec![0; to_usize(block.size)];
    reader.ranges().read_block(0..block.size, &mut text)?;
    // The caller has parsed the metadata.
    String::from_utf8(text).map_err(|_| Fail::Trouble("metadata: the file has changed".to_owned()))
}

/// Writes the reader's current section with its bytes in the file; if it is compressed, both sections
/// of the pair.
pub fn as_it_is(reader: &mut Reader, writer: &mut Writer, section: &Section) -> Result<()> {
    if !section.decoded {
        return one(reader, writer, section, Encode::None);
    }
    leading(reader, writer, section, u64::MAX)?;
    Ok(reader.skip()?)
}

/// Writes the first elements of a damaged array or varray as a section, like [`as_it_is`], under the name of `section`.
pub fn leading(reader: &mut Reader, writer: &mut Writer, section: &Section, count: u64) -> Result<()> {
    reader.seek(section.offset)?;
    let last = u64::from(section.decoded);
    for number in 0..=last {
        let Some(mut part) = reader.next_section(false)? else { break };
        part.count = part.count.min(count);
        // The caller may have changed its name.
        if number == last {
            part.user = section.user;
        }
        write(reader, writer, &part, Encode::None)?;
        if part.second_of_pair().is_some() {
            reader.skip()?;
        }
    }
    Ok(())
}

/// Writes the reader's current section, and ends it.
fn one(reader: &mut Reader, writer: &mut Writer, section: &Section, encode: Encode) -> Result<()> {
    write(reader, writer, section, encode)?;
    Ok(reader.skip()?)
}

/// Writes the reader's current section, which `section` describes.
fn write(reader: &mut Reader, writer: &mut Writer, section: &Section, encode: Encode) -> Result<()> {
    let user = &section.user;
    if section.section_type == SectionType::Inline {
        let mut data = [0; scda::INLINE_BYTES];
        reader.read_inline(0, Some(&mut data))?;
        return Ok(writer.inline(user, 0, Some(&data))?);
    }
    let mut stream = Stream::new(reader, section);
    match section.section_type {
        SectionType::Inline | SectionType::Block => {
            writer.incremental().block(user, section.size, &mut stream, encode)?;
        }
        SectionType::Array => {
            writer.incremental().array(user, section.count, section.size, &mut stream, encode)?
        }
        SectionType::Varray => writer.incremental().varray(user, section.count, &mut stream, encode)?,
    }
    stream.finish()
}
