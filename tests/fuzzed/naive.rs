//! A second reader of the format, to compare with: all of the file in memory, one element after the other, with other
//! libraries for base64 and zlib. Written from the paper, not from the library.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Decompress, FlushDecompress, Status};

/// A section as it was found. The data of large sections are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub letter: u8,
    pub user: Vec<u8>,
    pub count: u64,
    pub size: u64,
    pub decoded: bool,
    /// The sizes of the elements of a varray.
    pub sizes: Vec<u64>,
    /// `None` if there are more than [`MOST_DATA`].
    pub data: Option<Vec<u8>>,
}

/// Data of a section beyond this are skipped: what a program does that has a limit.
pub const MOST_DATA: u64 = 1 << 20;

/// The sections up to the end or to the first error, and whether there was one.
pub struct Outcome {
    /// The user string of the file, if its header is right.
    pub user: Option<Vec<u8>>,
    pub sections: Vec<Found>,
    pub complete: bool,
}

/// Content padded by a space, dashes and any two bytes.
pub fn undash(field: &[u8]) -> Option<Vec<u8>> {
    let mut content = field[..field.len() - 2].to_vec();
    let mut dashes = 0;
    while content.last() == Some(&b'-') {
        content.pop();
        dashes += 1;
    }
    (dashes > 0 && content.pop() == Some(b' ')).then_some(content)
}

/// The number of a count entry; `None` also if it is too large.
pub fn count(entry: &[u8], letter: u8) -> Option<u64> {
    if entry[..2] != [letter, b' '] {
        return None;
    }
    let digits = String::from_utf8(undash(&entry[2..])?).ok()?;
    let plain = digits.chars().all(|c| c.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if plain && digits.len() <= 26 { digits.parse().ok() } else { None }
}

pub fn padding(n: u128) -> u128 {
    (7..=38).find(|p| (n + p).is_multiple_of(32)).unwrap()
}

/// The user string in the header of a file.
pub fn file_user(file: &[u8]) -> Option<Vec<u8>> {
    let header = file.get(..128)?;
    undash(&header[8..32])?;
    if header.starts_with(b"scdata0 ") && header[32..34] == *b"F " { undash(&header[34..96]) } else { None }
}

/// A section as the file has it: where its parts are.
struct Raw {
    letter: u8,
    user: Vec<u8>,
    n: u64,
    e: u64,
    start: usize,
    entries: usize,
    data: usize,
    /// Not of a varray, which has to be measured first.
    end: usize,
}

pub struct Naive<'a> {
    pub file: &'a [u8],
    pub decode: bool,
}

impl Naive<'_> {
    pub fn read(&self) -> Outcome {
        let user = file_user(self.file);
        let mut sections = Vec::new();
        let mut at = 128;
        let mut complete = user.is_some();
        while complete && at < self.file.len() {
            match self.section(at) {
                Some((found, end)) => {
                    sections.push(found);
                    at = end;
                }
                None => complete = false,
            }
        }
        Outcome { user, sections, complete }
    }

    /// The offset as an index, if the file has that many bytes.
    fn within(&self, offset: u128) -> Option<usize> {
        usize::try_from(offset).ok().filter(|&offset| offset <= self.file.len())
    }

    fn entry(&self, at: usize, letter: u8) -> Option<u64> {
        count(self.file.get(at..at + 32)?, letter)
    }

    fn raw(&self, start: usize) -> Option<Raw> {
        let header = self.file.get(start..start + 64)?;
        if header[1] != b' ' {
            return None;
        }
        let letter = header[0];
        let user = undash(&header[2..])?;
        let at = start + 64;
        let (mut n, mut e) = (0, 0);
        let (entries, entry_bytes, data_bytes) = match letter {
            b'I' => (at, 0, 32),
            b'B' => {
                e = self.entry(at, b'E')?;
                (at + 32, 0, u128::from(e))
            }
            b'A' => {
                (n, e) = (self.entry(at, b'N')?, self.entry(at + 32, b'E')?);
                (at + 64, 0, u128::from(n) * u128::from(e))
            }
            b'V' => {
                n = self.entry(at, b'N')?;
                (at + 32, 32 * u128::from(n), 0)
            }
            _ => return None,
        };
        if n >= 1 << 63 || e >= 1 << 63 && letter != b'A' {
            return None;
        }
        let data = self.within(entries as u128 + entry_bytes)?;
        let padding = if letter == b'I' { 0 } else { padding(data_bytes) };
        let end = self.within(data as u128 + data_bytes + padding)?;
        Some(Raw { letter, user, n, e, start, entries, data, end })
    }

    /// The sizes in `n` entries of `letter`, their sum, and the end of a varray with these sizes.
    fn sizes(&self, entries: usize, n: u64, letter: u8) -> Option<(Vec<u64>, u128)> {
        let sizes: Option<Vec<u64>> =
            (0..usize::try_from(n).ok()?).map(|i| self.entry(entries + 32 * i, letter)).collect();
        let sizes = sizes?;
        let total = sizes.iter().map(|&size| u128::from(size)).sum();
        (total < 1 << 63).then_some((sizes, total))
    }

    fn section(&self, start: usize) -> Option<(Found, usize)> {
        let raw = self.raw(start)?;
        if self.decode {
            let letter = match (raw.letter, raw.user.as_slice()) {
                (b'I', b"B compressed scda 00") => b'B',
                (b'I', b"A compressed scda 00") => b'A',
                (b'A', b"V compressed scda 00") => b'V',
                _ => 0,
            };
            if letter != 0 {
                return self.pair(letter, &raw);
            }
        }
        let mut found = Found {
            letter: raw.letter,
            user: raw.user,
            count: raw.n,
            size: raw.e,
            decoded: false,
            sizes: Vec::new(),
            data: None,
        };
        let (mut bytes, mut end) = (raw.end - raw.data, raw.end);
        match raw.letter {
            b'I' => {}
            b'B' => bytes = usize::try_from(raw.e).ok()?,
            b'A' => bytes = usize::try_from(raw.n.checked_mul(raw.e)?).ok()?,
            _ => {
                let (sizes, total) = self.sizes(raw.entries, raw.n, b'E')?;
                end = self.within(raw.data as u128 + total + padding(total))?;
                bytes = usize::try_from(total).ok()?;
                found.sizes = sizes;
            }
        }
        if bytes as u64 <= MOST_DATA {
            found.data = Some(self.file[raw.data..raw.data + bytes].to_vec());
        }
        Some((found, end))
    }

    /// A compressed section whose first part is `first`.
    fn pair(&self, letter: u8, first: &Raw) -> Option<(Found, usize)> {
        let mut size = 0;
        if letter == b'V' {
            if first.e != 32 {
                return None;
            }
        } else {
            size = self.entry(first.data, b'U')?;
        }
        let second = self.raw(first.end)?;
        if second.letter != if letter == b'B' { b'B' } else { b'V' } {
            return None;
        }
        if letter == b'V' && second.n != first.n {
            return None;
        }
        let elements = if letter == b'B' { 1 } else { second.n };
        let mut total = u128::from(elements) * u128::from(size);
        let mut found = Found {
            letter,
            user: second.user,
            count: second.n,
            size,
            decoded: true,
            sizes: vec![],
            data: None,
        };
        let (encoded, end) = if letter == b'B' {
            (vec![second.e], second.end)
        } else {
            let (encoded, bytes) = self.sizes(second.entries, second.n, b'E')?;
            (encoded, self.within(second.data as u128 + bytes + padding(bytes))?)
        };
        let mut sizes = vec![size; encoded.len()];
        if letter == b'V' {
            (sizes, total) = self.sizes(first.data, first.n, b'U')?;
            found.sizes.clone_from(&sizes);
        }
        // A limit of deflate: no more than 1032 bytes come out of one.
        if total >= 1 << 63 || total / 1032 > (self.file.len() - first.start) as u128 {
            return None;
        }
        if total <= u128::from(MOST_DATA) {
            let mut data = Vec::new();
            let mut at = second.data;
            for (encoded, size) in encoded.iter().zip(&sizes) {
                let next = at + usize::try_from(*encoded).ok()?;
                data.extend(element(&self.file[at..next], usize::try_from(*size).ok()?)?);
                at = next;
            }
            found.data = Some(data);
        }
        Some((found, end))
    }
}

/// The element of `size` bytes that `text` encodes.
pub fn element(text: &[u8], size: usize) -> Option<Vec<u8>> {
    // A limit of the library, which bounds its memory.
    if text.len() > 2 * size + (1 << 16) {
        return None;
    }
    let mut bytes = Vec::new();
    for (index, line) in text.chunks(78).enumerate() {
        let chars = &line[..line.len().checked_sub(2)?];
        if chars.is_empty() || bytes.len() != 57 * index {
            return None;
        }
        bytes.extend(STANDARD.decode(chars).ok()?);
    }
    let (prefix, stream) = bytes.split_first_chunk::<9>()?;
    let said = prefix[..8].iter().fold(0_u64, |n, &byte| n << 8 | u64::from(byte));
    if said != size as u64 || prefix[8] != b'z' {
        return None;
    }
    // One byte more, to see whether there is more.
    let mut data = Vec::with_capacity(size + 1);
    let mut inflate = Decompress::new(true);
    match inflate.decompress_vec(stream, &mut data, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) if data.len() == size => {}
        _ => return None,
    }
    // The library does not know where the stream ends, but that its checksum must be at the end of all.
    let end = usize::try_from(inflate.total_in()).ok()?;
    stream.ends_with(&stream[end - 4..end]).then_some(data)
}
