//! Bytes as numbers, as text, and in hexadecimal.

use crate::data_batches::DataBatches;
use crate::fail::{Fail, Result};
use crate::output::{Output, escape, is_unseen, push_escaped, push_hex, push_unseen};
use scda::{Section, SectionType};
use std::fmt::Write;
use std::str::FromStr;

/// How data are shown.
#[derive(Clone, PartialEq)]
pub enum DataFormat {
    /// As they are.
    Bytes,
    Hex,
    Text,
    Numbers(Vec<NumberFormat>),
}

/// A number in memory.
#[derive(Clone, Copy, PartialEq)]
pub struct NumberFormat {
    kind: NumberKind,
    bytes: usize,
    big_endian: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum NumberKind {
    Signed,
    Unsigned,
    Float,
}

impl FromStr for DataFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "bytes" => return Ok(Self::Bytes),
            "hex" => return Ok(Self::Hex),
            "text" => return Ok(Self::Text),
            _ => {}
        }
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let times = if digits == 0 { Some(1) } else { part[..digits].parse::<usize>().ok() };
            let number = times.zip(NumberFormat::new(&part[digits..]));
            let (times, number) = number.filter(|(times, _)| (1..=4096).contains(times)).ok_or_else(|| {
                format!(
                    "\"{part}\" is none of hex, text, bytes, and no number such as f64le, i32be, u8 or 3f32le: \
                     i, u or f; 8, 16, 32 or 64 bits; le (the least byte first) or be"
                )
            })?;
            numbers.extend(std::iter::repeat_n(number, times));
        }
        Ok(Self::Numbers(numbers))
    }
}

impl DataFormat {
    /// How data are shown that begin with these bytes, if the user does not say.
    pub fn usual(data: &[u8], is_terminal: bool) -> Self {
        match is_terminal {
            true if is_text(&data[..data.len().min(4096)]) => Self::Text,
            true => Self::Hex,
            false => Self::Bytes,
        }
    }
}

impl NumberFormat {
    fn new(text: &str) -> Option<Self> {
        let (kind, rest) = match text.split_at_checked(1)? {
            ("i", rest) => (NumberKind::Signed, rest),
            ("u", rest) => (NumberKind::Unsigned, rest),
            ("f", rest) => (NumberKind::Float, rest),
            _ => return None,
        };
        let end = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (bits, order) = rest.split_at(end);
        let bytes = match (kind, bits) {
            (NumberKind::Signed | NumberKind::Unsigned, "8") => 1,
            (NumberKind::Signed | NumberKind::Unsigned, "16") => 2,
            (_, "32") => 4,
            (_, "64") => 8,
            _ => return None,
        };
        match (order, bytes) {
            ("le", 2..) | ("", 1) => Some(Self { kind, bytes, big_endian: false }),
            ("be", 2..) => Some(Self { kind, bytes, big_endian: true }),
            _ => None,
        }
    }

    /// Appends the number that these bytes are.
    fn show(self, bytes: &[u8], text: &mut String) {
        let mut word = [0; 8];
        word[..self.bytes].copy_from_slice(bytes);
        if self.big_endian {
            word[..self.bytes].reverse();
        }
        let unsigned = u64::from_le_bytes(word);
        let unused = 64 - 8 * u32::try_from(self.bytes).unwrap_or(8);
        let _ = match (self.kind, self.bytes) {
            (NumberKind::Unsigned, _) => write!(text, "{unsigned}"),
            // Shifted up and down again, with its sign.
            (NumberKind::Signed, _) => write!(text, "{}", (unsigned << unused).cast_signed() >> unused),
            (NumberKind::Float, 4) => {
                write!(text, "{:?}", f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            }
            (NumberKind::Float, _) => write!(text, "{:?}", f64::from_bits(unsigned)),
        };
    }
}

/// Shows the pieces of a section, one after the other.
pub struct DataPrinter {
    format: DataFormat,
    is_block: bool,
    /// Whether it is an array whose elements have no bytes: there may be any number of them.
    is_empty_array: bool,
    /// Numbers, or bytes in hexadecimal, in a line.
    columns: Option<usize>,
    /// The section in messages.
    what: String,
    /// Of a block: bytes at the end of the last piece that wait for the next ones.
    waiting: Vec<u8>,
    /// Of a block: the bytes before the first piece, and before the next one.
    start: u64,
    offset: u64,
    line: String,
}

/// The bytes of a block that are shown at a time; a compressed block is a single piece.
const CHUNK_BYTES: usize = 1 << 20;
const HEX_COLUMNS: usize = 16;
/// Numbers of a block in a line, where it has no elements to go by.
const BLOCK_COLUMNS: usize = 8;

impl DataPrinter {
    /// `file` is its name in messages.
    pub fn new(
        format: DataFormat,
        columns: Option<usize>,
        section: &Section,
        start: u64,
        file: &str,
    ) -> Self {
        let is_block = matches!(section.section_type, SectionType::Inline | SectionType::Block);
        let is_empty_array = section.section_type == SectionType::Array && section.size == 0;
        let what = format!("{file}: \"{}\"", escape(&section.user));
        Self { is_block, is_empty_array, columns, what, ..Self::of_bytes(format, start) }
    }

    /// Shows bytes as those of a block.
    pub fn of_bytes(format: DataFormat, start: u64) -> Self {
        let (waiting, columns) = (Vec::new(), None);
        let (line, what) = Default::default();
        Self {
            format,
            is_block: true,
            is_empty_array: false,
            columns,
            what,
            waiting,
            start,
            offset: start,
            line,
        }
    }

    pub fn piece(&mut self, out: &mut Output, pieces: &DataBatches) -> Result<()> {
        if self.format == DataFormat::Bytes {
            return out.bytes(pieces.data());
        }
        if self.is_empty_array {
            let range = pieces.range();
            let name = format!("[{}:{}]\n", range.start, range.end);
            return if self.format == DataFormat::Hex { out.bytes(name.as_bytes()) } else { Ok(()) };
        }
        if !self.is_block {
            return pieces.elements().try_for_each(|(index, element)| self.element(out, index, element));
        }
        self.bytes(out, pieces.data())
    }

    /// Shows more bytes of a block.
    pub fn bytes(&mut self, out: &mut Output, data: &[u8]) -> Result<()> {
        if self.format == DataFormat::Bytes {
            return out.bytes(data);
        }
        data.chunks(CHUNK_BYTES).try_for_each(|chunk| self.chunk(out, chunk))
    }

    /// Shows more of a block, but for its end that is no whole line.
    fn chunk(&mut self, out: &mut Output, chunk: &[u8]) -> Result<()> {
        let mut data = std::mem::take(&mut self.waiting);
        data.extend_from_slice(chunk);
        let whole = match &self.format {
            DataFormat::Hex => data.len() - data.len() % self.columns.unwrap_or(HEX_COLUMNS),
            // Whole records, and whole lines of them.
            DataFormat::Numbers(numbers) => {
                data.len() - data.len() % (record(numbers) * self.columns.unwrap_or(BLOCK_COLUMNS))
            }
            // The piece may end within a character.
            DataFormat::Text => {
                data.len() - data.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len())
            }
            DataFormat::Bytes => data.len(),
        };
        self.waiting = data.split_off(whole);
        self.block(out, &data)
    }

    /// Shows the bytes that wait for more.
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
            DataFormat::Numbers(_) => self.numbers(out, None, data)?,
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
            DataFormat::Numbers(_) if data.is_empty() => out.bytes(b"\n"),
            DataFormat::Numbers(_) => self.numbers(out, Some(index), data),
            DataFormat::Bytes => out.bytes(data),
        }
    }

    /// Lines of numbers.
    fn numbers(&mut self, out: &mut Output, element: Option<u64>, data: &[u8]) -> Result<()> {
        let DataFormat::Numbers(numbers) = &self.format else { return Ok(()) };
        let one = record(numbers);
        if !data.len().is_multiple_of(one) {
            let what = &self.what;
            let place = element.map(|index| format!("element {index}: ")).unwrap_or_default();
            // Of a block the last piece only is not a multiple.
            let before = if element.is_some() { 0 } else { self.offset - self.start };
            let found = before + data.len() as u64;
            return Err(Fail::Trouble(format!(
                "{what}: {place}found {found} bytes, expected a multiple of {one} for --as"
            )));
        }
        let all = (data.len() / one).max(1) * numbers.len();
        let columns = self.columns.unwrap_or(if element.is_some() { all } else { BLOCK_COLUMNS });
        let (mut rest, mut in_line) = (data, 0);
        self.line.clear();
        for number in numbers.iter().cycle() {
            let Some((bytes, others)) = rest.split_at_checked(number.bytes) else { break };
            rest = others;
            self.line.push_str(if in_line == 0 { "" } else { " " });
            number.show(bytes, &mut self.line);
            in_line += 1;
            if in_line == columns {
                self.line.push('\n');
                in_line = 0;
            }
            if self.line.len() > 1 << 14 {
                out.bytes(self.line.as_bytes())?;
                self.line.clear();
            }
        }
        if in_line > 0 {
            self.line.push('\n');
        }
        out.bytes(self.line.as_bytes())
    }

    /// Lines of bytes in hexadecimal and as text, after their offset in the element or block.
    fn hex(&mut self, out: &mut Output, element: Option<u64>, mut offset: u64, data: &[u8]) -> Result<()> {
        let columns = self.columns.unwrap_or(HEX_COLUMNS);
        let name = element.map(|index| format!("[{index}] ")).unwrap_or_default();
        if data.is_empty() {
            return out.text(format_args!("{name}\n"));
        }
        for chunk in data.chunks(columns) {
            self.line.clear();
            let _ = write!(self.line, "{name}{offset:08x} ");
            for byte in chunk {
                self.line.push(' ');
                push_hex(&mut self.line, &[*byte]);
            }
            let missing = if data.len() > columns { columns - chunk.len() } else { 0 };
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

/// The bytes of all the numbers.
fn record(numbers: &[NumberFormat]) -> usize {
    numbers.iter().map(|number| number.bytes).sum()
}

/// Text in which characters that are unseen, but for tabs and line breaks, and bytes that are no UTF-8, are escaped.
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

/// Whether the bytes are text that people can read.
fn is_text(bytes: &[u8]) -> bool {
    let mut chunks = bytes.utf8_chunks();
    let is_fine = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    // The piece may end within a character.
    chunks.next().is_none_or(|first| {
        first.valid().chars().all(is_fine) && first.invalid().len() < 4 && chunks.next().is_none()
    })
}
