//! Bytes as text, and in hexadecimal.

use crate::data_batches::DataBatches;
use crate::fail::Result;
use crate::output::{Output, is_unseen, push_escaped, push_hex, push_unseen};
use scda::{Section, SectionType};
use std::fmt::Write;

/// How data are shown.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum DataFormat {
    /// As they are.
    Bytes,
    Hex,
    Text,
}

impl DataFormat {
    /// The default format for data that begin with these bytes.
    pub fn usual(data: &[u8], is_terminal: bool) -> Self {
        match is_terminal {
            true if is_text(&data[..data.len().min(4096)]) => Self::Text,
            true => Self::Hex,
            false => Self::Bytes,
        }
    }
}

/// Prints the batches of a section, one after another.
pub struct DataPrinter {
    format: DataFormat,
    is_block: bool,
    /// True for an array whose elements have no bytes: there may be any number of them.
    is_empty_array: bool,
    /// For a block: bytes at the end of the last batch that wait for the next one.
    waiting: Vec<u8>,
    /// For a block: the number of bytes before the next batch.
    offset: u64,
    line: String,
}

/// The bytes of a block that are printed at a time, because a compressed block is a single batch.
const CHUNK_BYTES: usize = 1 << 20;
/// The number of bytes in a line.
const HEX_COLUMNS: usize = 16;

impl DataPrinter {
    pub fn new(format: DataFormat, section: &Section, start: u64) -> Self {
        let is_block = matches!(section.section_type, SectionType::Inline | SectionType::Block);
        let is_empty_array = section.section_type == SectionType::Array && section.size == 0;
        Self { is_block, is_empty_array, ..Self::of_bytes(format, start) }
    }

    /// Prints bytes like those of a block.
    pub fn of_bytes(format: DataFormat, start: u64) -> Self {
        let (waiting, line) = Default::default();
        Self { format, is_block: true, is_empty_array: false, waiting, offset: start, line }
    }

    pub fn batch(&mut self, out: &mut Output, batches: &DataBatches) -> Result<()> {
        if self.format == DataFormat::Bytes {
            return out.bytes(batches.data());
        }
        if self.is_empty_array {
            let range = batches.range();
            let name = format!("[{}:{}]\n", range.start, range.end);
            return if self.format == DataFormat::Hex { out.bytes(name.as_bytes()) } else { Ok(()) };
        }
        if !self.is_block {
            return batches.elements().try_for_each(|(index, element)| self.element(out, index, element));
        }
        self.bytes(out, batches.data())
    }

    /// Prints more bytes of a block.
    pub fn bytes(&mut self, out: &mut Output, data: &[u8]) -> Result<()> {
        if self.format == DataFormat::Bytes {
            return out.bytes(data);
        }
        data.chunks(CHUNK_BYTES).try_for_each(|chunk| self.chunk(out, chunk))
    }

    /// Prints more of a block, except for an incomplete line at the end.
    fn chunk(&mut self, out: &mut Output, chunk: &[u8]) -> Result<()> {
        let mut data = std::mem::take(&mut self.waiting);
        data.extend_from_slice(chunk);
        let whole = match self.format {
            DataFormat::Hex => data.len() - data.len() % HEX_COLUMNS,
            // The batch may end within a character.
            DataFormat::Text => {
                data.len() - data.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len())
            }
            DataFormat::Bytes => data.len(),
        };
        self.waiting = data.split_off(whole);
        self.block(out, &data)
    }

    /// Prints the bytes that are waiting.
    pub fn finish(mut self, out: &mut Output) -> Result<()> {
        let rest = std::mem::take(&mut self.waiting);
        if rest.is_empty() { Ok(()) } else { self.block(out, &rest) }
    }

    fn block(&mut self, out: &mut Output, data: &[u8]) -> Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        match self.format {
            DataFormat::Hex => self.hex(out, None, self.offset, data)?,
            DataFormat::Text => text(out, data)?,
            DataFormat::Bytes => out.bytes(data)?,
        }
        self.offset += data.len() as u64;
        Ok(())
    }

    fn element(&mut self, out: &mut Output, index: u64, data: &[u8]) -> Result<()> {
        match self.format {
            DataFormat::Hex => self.hex(out, Some(index), 0, data),
            DataFormat::Text => {
                text(out, data)?;
                if data.ends_with(b"\n") { Ok(()) } else { out.bytes(b"\n") }
            }
            DataFormat::Bytes => out.bytes(data),
        }
    }

    /// Prints lines of bytes in hexadecimal and as text, after their offset in the element or block.
    fn hex(&mut self, out: &mut Output, element: Option<u64>, mut offset: u64, data: &[u8]) -> Result<()> {
        let name = element.map(|index| format!("[{index}] ")).unwrap_or_default();
        if data.is_empty() {
            return out.text(format_args!("{name}\n"));
        }
        for chunk in data.chunks(HEX_COLUMNS) {
            self.line.clear();
            let _ = write!(self.line, "{name}{offset:08x} ");
            for byte in chunk {
                self.line.push(' ');
                push_hex(&mut self.line, &[*byte]);
            }
            let missing = if data.len() > HEX_COLUMNS { HEX_COLUMNS - chunk.len() } else { 0 };
            self.line.extend(std::iter::repeat_n("   ", missing));
            self.line.push_str("  |");
            let printable = |&byte: &u8| if (b' '..=b'~').contains(&byte) { char::from(byte) } else { '.' };
            self.line.extend(chunk.iter().map(printable));
            self.line.push_str("|\n");
            out.bytes(self.line.as_bytes())?;
            offset += chunk.len() as u64;
        }
        Ok(())
    }
}

/// Prints text, with escapes for invisible characters other than tabs and line breaks, and for bytes that are not UTF-8.
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
