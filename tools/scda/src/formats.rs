//! Bytes as they are, and as text.

use crate::data_batches::DataBatches;
use crate::fail::{Fail, Result};
use crate::output::{Output, escape, is_unseen, push_escaped, push_unseen};
use scda::{Section, SectionType};

/// How data are shown.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum DataFormat {
    /// As they are.
    Bytes,
    /// As text, with escapes for invisible characters and bytes that are not UTF-8.
    Text,
}

impl DataFormat {
    /// The default format for data with this name that begin with these bytes: on a terminal, text.
    pub fn usual(out: &Output, name: &[u8], data: &[u8]) -> Result<Self> {
        if out.is_terminal() && is_text(&data[..data.len().min(4096)]) {
            return Ok(Self::Text);
        }
        check_terminal(out, true, name, "pipe them to a program such as hexdump").map(|()| Self::Bytes)
    }
}

/// Fails if raw bytes would be written to a terminal.
pub fn check_terminal(out: &Output, as_bytes: bool, name: &[u8], instead: &str) -> Result<()> {
    if as_bytes && out.is_terminal() {
        let name = escape(name);
        return Err(Fail::Trouble(format!(
            "the bytes of \"{name}\" are not printed to a terminal: {instead}"
        )));
    }
    Ok(())
}

/// Prints the batches of a section, one after another.
pub struct DataPrinter {
    format: DataFormat,
    /// True if each element begins a line.
    has_lines: bool,
    /// Bytes at the end of the last batch that may be a part of a character, and wait for the next batch.
    waiting: Vec<u8>,
}

/// The bytes that are printed at a time, because a compressed block is a single batch.
const CHUNK_BYTES: usize = 1 << 20;

impl DataPrinter {
    pub fn new(format: DataFormat, section: &Section) -> Self {
        let has_lines = match section.section_type {
            SectionType::Inline | SectionType::Block => false,
            // There may be any number of elements without bytes.
            SectionType::Array => section.size > 0,
            SectionType::Varray => true,
        };
        Self { has_lines, ..Self::of_bytes(format) }
    }

    /// Prints bytes like those of a block.
    pub fn of_bytes(format: DataFormat) -> Self {
        Self { format, has_lines: false, waiting: Vec::new() }
    }

    pub fn batch(&mut self, out: &mut Output, batches: &DataBatches) -> Result<()> {
        if self.format == DataFormat::Bytes || !self.has_lines {
            return self.bytes(out, batches.data());
        }
        batches.elements().try_for_each(|element| {
            text(out, element)?;
            if element.ends_with(b"\n") { Ok(()) } else { out.bytes(b"\n") }
        })
    }

    /// Prints more bytes of a block.
    pub fn bytes(&mut self, out: &mut Output, data: &[u8]) -> Result<()> {
        if self.format == DataFormat::Bytes {
            return out.bytes(data);
        }
        data.chunks(CHUNK_BYTES).try_for_each(|chunk| {
            let mut data = std::mem::take(&mut self.waiting);
            data.extend_from_slice(chunk);
            let part = data.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
            self.waiting = data.split_off(data.len() - part);
            text(out, &data)
        })
    }

    /// Prints the bytes that are waiting.
    pub fn finish(self, out: &mut Output) -> Result<()> {
        text(out, &self.waiting)
    }
}

/// Prints text, with escapes for invisible characters other than tabs and line breaks, and for bytes that are not
/// UTF-8.
fn text(out: &mut Output, bytes: &[u8]) -> Result<()> {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' | '\t' => text.push(c),
                c if is_unseen(c) => push_unseen(&mut text, c),
                c => text.push(c),
            }
            if text.len() > 1 << 14 {
                out.bytes(text.as_bytes())?;
                text.clear();
            }
        }
        push_escaped(&mut text, chunk.invalid());
    }
    out.bytes(text.as_bytes())
}

/// True if the bytes are readable text.
fn is_text(bytes: &[u8]) -> bool {
    let mut chunks = bytes.utf8_chunks();
    let is_fine = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    // The batch may end within a character.
    chunks.next().is_none_or(|first| {
        first.valid().chars().all(is_fine) && first.invalid().len() < 4 && chunks.next().is_none()
    })
}
