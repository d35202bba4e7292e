//! Reading a file, section by section.

use super::open;
use super::params::Params;
use super::source::{Sink, Sizes};
use super::team::{Failure, Team, Topic, mix};
use super::window::Window;
use crate::codec::{
    ARRAY_CONVENTION, BLOCK_CONVENTION, ElementDecoder, VARRAY_CONVENTION, max_encoded_bytes,
};
use crate::error::{Error, ErrorKind, Result};
use crate::format::entry::{parse_count, parse_counts};
use crate::format::header::{SectionType, UserString, parse_file_header, parse_section_header};
use crate::format::layout::Layout;
use crate::format::{COUNT_BYTES, FILE_HEADER_BYTES, INLINE_BYTES, SECTION_HEADER_BYTES};
use crate::parallel::{Communicator, Partition};
use crate::storage::ParallelFile;
use std::path::Path;

/// Sections of at most this part of the aggregation buffer are read with the headers.
const SMALL_FRACTION: u64 = 8;
/// The most bytes of entries or elements that are read at once into a buffer of the library.
const BATCH_BYTES: usize = 1 << 20;
/// The bytes of a section header with all its counts.
const LONGEST_HEADER: u64 = (SECTION_HEADER_BYTES + 2 * COUNT_BYTES) as u64;

/// The header of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The type; that of the uncompressed data if the section is decoded.
    pub section_type: SectionType,
    /// The user string.
    pub user: UserString,
    /// The number of elements N of an array or varray, else 0.
    pub count: u64,
    /// The bytes E of a block or of each element of an array, else 0.
    pub size: u64,
    /// Whether the data are decompressed when they are read.
    pub decoded: bool,
}

/// A file that is being read.
///
/// All functions are collective: every rank calls them in the same order, with the same arguments
/// except for the memory for its own data. After [`Reader::next_section`] the data of the section
/// must be read, or skipped by giving no memory for them. After an error the file is closed on all
/// ranks, and further calls are errors; memory that was given to the failed call has unspecified
/// contents.
///
/// ```
/// use scda::{Params, Reader, Sink, Solo};
/// # use scda::{Encode, Source, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("state.scda");
/// # let mut file = Writer::create(Solo, &path, b"", &Params::default())?;
/// # file.array(b"field", &[2], 4, Source::Contiguous(b"abcdefgh"), Encode::Always)?;
/// # file.close()?;
/// let mut file = Reader::open(Solo, &path, &Params::default())?;
/// let section = file.next_section(true)?.expect("a section");
/// let mut data = vec![0; (section.count * section.size) as usize];
/// file.read_array(&[section.count], section.size, Sink::Contiguous(&mut data))?;
/// assert_eq!(data, b"abcdefgh");
/// assert!(file.at_end());
/// file.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader {
    user: UserString,
    open: Option<Open>,
}

struct Open {
    team: Team,
    file: Box<dyn ParallelFile>,
    params: Params,
    /// Bytes of the file when it was opened.
    size: u64,
    window: Window,
    /// Offset of the next section, or of the current one as long as its data are expected.
    position: u64,
    expect: Expect,
    decoder: ElementDecoder,
}

/// What must be called next.
#[derive(Clone, Copy)]
enum Expect {
    Header,
    Data(Current),
    VarraySizes(Current),
    VarrayData(Current, KnownSizes),
}

/// The section whose data come next.
#[derive(Clone, Copy)]
struct Current {
    section: Section,
    /// The section in the file that has the data: the second one of a compressed pair. Of a varray,
    /// the layout is that without data until the sizes are known.
    layout: Layout,
    /// Offset of the U entries of a compressed varray.
    size_entries: Option<u64>,
}

/// What reading the sizes of a varray has told.
#[derive(Clone, Copy)]
struct KnownSizes {
    /// The partition that the sizes were read with.
    counts_hash: u64,
    /// The sizes of this rank.
    sizes_hash: u64,
    /// The bytes of the elements as the user sees them.
    bytes: Partition,
}

#[derive(Clone, Copy)]
enum Call {
    Header = 11,
    Inline,
    Block,
    Array,
    VarraySizes,
    Varray,
    Close,
    ProcSizes,
}

impl Reader {
    /// Opens a file and reads its header (paper, section A.3).
    ///
    /// # Errors
    /// `Format`, `UnsupportedVersion`, `ShortFile`, `Argument` for parameters without meaning, and
    /// the errors of the file system.
    pub fn open(comm: impl Communicator + 'static, path: &Path, params: &Params) -> Result<Self> {
        Self::open_or(Box::new(comm), Ok(path), Ok(params.clone()))
    }

    /// As [`Self::open`], with arguments that may be wrong on this rank.
    pub(crate) fn open_or(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        params: Result<Params>,
    ) -> Result<Self> {
        let mut team = Team::for_file(comm, &path);
        let open = |team: &mut Team| -> Result<_, Failure> {
            let (path, params) = (path?, params?);
            params.validate()?;
            team.note_open(Topic::OPEN, path, &params);
            let (file, size) = open::open(team, path, &params)?;
            Ok((file, size, params))
        };
        let (file, size, params) = match open(&mut team) {
            Ok(opened) => opened,
            Err(failure) => return Err(team.settle(failure)),
        };
        let open = Open {
            team,
            file,
            size,
            window: Window::new(params.aggregation_bytes),
            params,
            position: FILE_HEADER_BYTES as u64,
            expect: Expect::Header,
            decoder: ElementDecoder::default(),
        };
        let mut this = Self { user: UserString::new(b"")?, open: Some(open) };
        this.user = this.operate(|open| {
            let header = open.look(0, open.size.min(FILE_HEADER_BYTES as u64))?;
            Ok(parse_file_header(header)?)
        })?;
        Ok(this)
    }

    /// The user string of the file.
    #[must_use]
    pub fn user(&self) -> &UserString {
        &self.user
    }

    /// Whether no section follows. Not collective. As long as data of a section are expected, and
    /// after an error, there is no telling: false and true.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.open.as_ref().is_none_or(Open::at_end)
    }

    /// Reads the header of the next section (paper, section A.5.1); `None` at the end of the file.
    /// With `decode`, a compressed section appears as what was compressed; else as the two
    /// sections that the file has.
    ///
    /// # Errors
    /// `Format`, `ShortFile`, `Range`, `Decode`, `Usage`, and the errors of the file system.
    pub fn next_section(&mut self, decode: bool) -> Result<Option<Section>> {
        self.operate(|open| open.next_section(decode))
    }

    /// Reads the 32 bytes of an inline section on the rank `root`; `None` there skips them, and is
    /// ignored on other ranks (paper, section A.5.2).
    ///
    /// # Errors
    /// `Usage`, `Argument`, and the errors of the file system.
    pub fn read_inline(&mut self, root: usize, data: Option<&mut [u8; INLINE_BYTES]>) -> Result<()> {
        self.operate(|open| open.read_inline(root, data))
    }

    /// Reads the data of a block on the rank `root`; `None` there skips them, and is ignored on
    /// other ranks (paper, section A.5.3). `size` is that of the section's header.
    ///
    /// # Errors
    /// `Usage`, `Argument`, `Decode`, `Memory`, and the errors of the file system.
    pub fn read_block(&mut self, size: u64, root: usize, data: Option<&mut [u8]>) -> Result<()> {
        self.read_block_or(size, root, Ok(data))
    }

    pub(crate) fn read_block_or(
        &mut self,
        size: u64,
        root: usize,
        data: Result<Option<&mut [u8]>>,
    ) -> Result<()> {
        self.operate(|open| open.read_block(size, root, data))
    }

    /// Reads the elements of an array; rank p gets `counts[p]` of them, in the order of the ranks
    /// (paper, section A.5.4). `size` is that of the section's header.
    ///
    /// # Errors
    /// `Usage`, `Argument`, `ShortFile`, `Format`, `Decode`, `Memory`, and the errors of the file
    /// system.
    pub fn read_array(&mut self, counts: &[u64], size: u64, data: Sink<'_>) -> Result<()> {
        self.read_array_or(counts, size, Ok(data))
    }

    pub(crate) fn read_array_or(&mut self, counts: &[u64], size: u64, data: Result<Sink<'_>>) -> Result<()> {
        self.operate(|open| open.read_array(counts, size, data))
    }

    /// Reads the sizes of the elements of a varray, of which rank p has `counts[p]`; `None` skips
    /// them on this rank (paper, section A.5.5).
    ///
    /// # Errors
    /// `Usage`, `Argument`, `ShortFile`, `Format`, `Range`, `Decode`, and the errors of the file
    /// system.
    pub fn read_varray_sizes(&mut self, counts: &[u64], sizes: Option<&mut [u64]>) -> Result<()> {
        self.read_varray_sizes_or(counts, Ok(sizes))
    }

    pub(crate) fn read_varray_sizes_or(
        &mut self,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<()> {
        self.operate(|open| open.read_varray_sizes(counts, sizes))
    }

    /// Reads the elements of a varray after their sizes (paper, section A.5.6). The partition may
    /// differ from that of the sizes. `sizes` are those of this rank's elements, as read; they are
    /// ignored where the data are skipped. `proc_sizes`, if given, are the bytes of each rank.
    ///
    /// # Errors
    /// `Usage`, `Argument`, `ShortFile`, `Format`, `Decode`, `Memory`, and the errors of the file
    /// system.
    pub fn read_varray(
        &mut self,
        counts: &[u64],
        sizes: Option<&[u64]>,
        proc_sizes: Option<&[u64]>,
        data: Sink<'_>,
    ) -> Result<()> {
        self.read_varray_or(counts, proc_sizes, Ok((sizes, data)))
    }

    pub(crate) fn read_varray_or(
        &mut self,
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(Option<&[u64]>, Sink<'_>)>,
    ) -> Result<()> {
        self.operate(|open| open.read_varray(counts, proc_sizes, data))
    }

    /// The sum of `sizes` on every rank, by rank.
    ///
    /// # Errors
    /// `Range` if a sum leaves 63 bits.
    pub fn proc_sizes(&mut self, sizes: &[u64]) -> Result<Vec<u64>> {
        self.proc_sizes_or(Ok(sizes))
    }

    pub(crate) fn proc_sizes_or(&mut self, sizes: Result<&[u64]>) -> Result<Vec<u64>> {
        self.operate(|open| {
            open.note_call(Call::ProcSizes);
            open.team.gather_sums(sizes)
        })
    }

    /// Closes the file.
    ///
    /// # Errors
    /// Errors of this rank that the others do not know yet. The file is closed regardless.
    pub fn close(mut self) -> Result<()> {
        self.operate(|open| {
            open.note_call(Call::Close);
            open.team.agree(Ok(()))
        })?;
        match self.open.take() {
            Some(Open { mut team, file, .. }) => {
                let closed = file.close();
                team.agree(closed).map_err(|failure| team.settle(failure))
            }
            None => Ok(()),
        }
    }

    /// The number of ranks.
    pub(crate) fn ranks(&self) -> Option<usize> {
        self.open.as_ref().map(|open| open.team.size())
    }

    /// This rank.
    pub(crate) fn rank(&self) -> Option<usize> {
        self.open.as_ref().map(|open| open.team.rank())
    }

    /// Fails on all ranks with an error that this one noticed in an argument, and closes the file.
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        match self.operate(|_| Err::<(), _>(Failure::Mine(error))) {
            Err(error) => error,
            Ok(()) => Error::usage("the file is closed"),
        }
    }

    /// Runs an operation. If it fails, all ranks close the file.
    fn operate<T>(&mut self, operation: impl FnOnce(&mut Open) -> Result<T, Failure>) -> Result<T> {
        let Some(open) = &mut self.open else {
            return Err(Error::usage("the file is closed"));
        };
        let result = operation(open).and_then(|value| {
            let agree = open.params.check || open.team.is_alone();
            if agree { open.team.agree(Ok(())).map(|()| value) } else { Ok(value) }
        });
        let failure = match result {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        let error = open.team.settle(failure);
        if let Some(open) = self.open.take() {
            let _ = open.file.close();
        }
        Err(error)
    }
}

/// A section header as the file has it, with the layout of its parts.
#[derive(Clone, Copy)]
struct Raw {
    section_type: SectionType,
    user: UserString,
    count: u64,
    size: u64,
    layout: Layout,
}

impl Open {
    fn note_call(&mut self, call: Call) {
        self.team.note(Topic::Function, call as u64);
    }

    fn at_end(&self) -> bool {
        matches!(self.expect, Expect::Header) && self.position == self.size
    }

    /// Bytes of the file that all ranks see. Collective; the file must have them.
    fn look(&mut self, offset: u64, length: u64) -> Result<&[u8], Failure> {
        self.window.cover(&mut self.team, &mut *self.file, self.size, offset, length)?;
        let bytes = self.window.get(offset, length);
        Ok(bytes.ok_or_else(|| Error::new(ErrorKind::Internal, "the window misses what it covers"))?)
    }

    /// An error if the file ends before `end`.
    fn check_end(&self, what: &str, offset: u64, end: u64) -> Result<()> {
        if end > self.size {
            return Err(Error::short_file(what, end, self.size).at(offset));
        }
        Ok(())
    }

    fn next_section(&mut self, decode: bool) -> Result<Option<Section>, Failure> {
        self.note_call(Call::Header);
        self.team.note(Topic::Encode, u64::from(decode));
        if !matches!(self.expect, Expect::Header) {
            return Err(Error::usage(
                "reading a header: expected the data of the last section to be read or skipped",
            )
            .at(self.position)
            .into());
        }
        if self.at_end() {
            return Ok(None);
        }
        let first = self.read_raw_header(self.position)?;
        let pair = if decode { self.read_pair(&first)? } else { None };
        let current = pair.unwrap_or(Current {
            section: Section {
                section_type: first.section_type,
                user: first.user,
                count: first.count,
                size: first.size,
                decoded: false,
            },
            layout: first.layout,
            size_entries: None,
        });
        self.expect = match current.section.section_type {
            SectionType::Varray => Expect::VarraySizes(current),
            _ => Expect::Data(current),
        };
        Ok(Some(current.section))
    }

    /// Reads one section header and checks that the file is long enough for what it says.
    fn read_raw_header(&mut self, start: u64) -> Result<Raw, Failure> {
        let left = self.size - start;
        self.check_end("section header", start, start.saturating_add(SECTION_HEADER_BYTES as u64))?;
        let bytes = self.look(start, left.min(LONGEST_HEADER))?;
        let (header, counts) = bytes
            .split_first_chunk::<SECTION_HEADER_BYTES>()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "a header was looked at in part"))?;
        let (section_type, user) = parse_section_header(header).map_err(|e| e.at(start))?;
        let letters: &[u8] = match section_type {
            SectionType::Inline => b"",
            SectionType::Block => b"E",
            SectionType::Array => b"NE",
            SectionType::Varray => b"N",
        };
        let mut values = [0; 2];
        let entries = counts.as_chunks::<COUNT_BYTES>().0;
        for (index, letter) in letters.iter().enumerate() {
            let offset = start + (SECTION_HEADER_BYTES + index * COUNT_BYTES) as u64;
            let entry = entries.get(index).ok_or_else(|| {
                Error::short_file("count entry", offset + COUNT_BYTES as u64, start + left).at(offset)
            })?;
            values[index] = parse_count(entry, *letter).map_err(|e| e.at(offset))?;
        }
        let [a, b] = values;
        let (count, size, layout) = match section_type {
            SectionType::Inline => (0, 0, Layout::inline(start)),
            SectionType::Block => (0, a, Layout::block(start, a)),
            SectionType::Array => (a, b, Layout::array(start, a, b)),
            SectionType::Varray => (a, 0, Layout::varray(start, a, 0)),
        };
        let layout = layout.ok_or_else(|| leaves_63_bits(&values[..letters.len()]).at(start))?;
        self.check_end("section", start, layout.end)?;
        Ok(Raw { section_type, user, count, size, layout })
    }

    /// If `first` is the first section of a compressed pair, the section that the pair stands for
    /// (paper, sections 3.2 to 3.4). All the rest must then conform.
    fn read_pair(&mut self, first: &Raw) -> Result<Option<Current>, Failure> {
        let section_type = match (first.section_type, &*first.user) {
            (SectionType::Inline, BLOCK_CONVENTION) => SectionType::Block,
            (SectionType::Inline, ARRAY_CONVENTION) => SectionType::Array,
            (SectionType::Array, VARRAY_CONVENTION) => SectionType::Varray,
            _ => return Ok(None),
        };
        let start = first.layout.start;
        let nonconforming = |message: String| Error::new(ErrorKind::Decode, message).at(start);
        let size = if section_type == SectionType::Varray {
            if first.size != COUNT_BYTES as u64 {
                let message = format!("sizes of a compressed varray: found E = {}, expected 32", first.size);
                return Err(nonconforming(message).into());
            }
            0
        } else {
            let offset = first.layout.data;
            let entry = self.look(offset, COUNT_BYTES as u64)?;
            let entry = entry.first_chunk().ok_or_else(|| Error::new(ErrorKind::Internal, "short look"))?;
            parse_count(entry, b'U').map_err(|e| as_decode_error(e).at(offset))?
        };
        let second = self.read_raw_header(first.layout.end).map_err(|failure| match failure {
            Failure::Mine(error) => Failure::Mine(as_decode_error(error)),
            agreed @ Failure::Agreed(_) => agreed,
        })?;
        let expected =
            if section_type == SectionType::Block { SectionType::Block } else { SectionType::Varray };
        if second.section_type != expected {
            return Err(nonconforming(format!(
                "compressed section: found type '{}' after its first part, expected '{}'",
                char::from(second.section_type.letter()),
                char::from(expected.letter())
            ))
            .into());
        }
        if section_type == SectionType::Varray && first.count != second.count {
            return Err(nonconforming(format!(
                "compressed varray: found N = {} and N = {} in its two parts, expected the same",
                first.count, second.count
            ))
            .into());
        }
        // What the user will hold must fit 63 bits, too.
        Layout::array(0, second.count.max(1), size)
            .ok_or_else(|| leaves_63_bits(&[second.count, size]).at(start))?;
        let section = Section { section_type, user: second.user, count: second.count, size, decoded: true };
        let size_entries = (section_type == SectionType::Varray).then_some(first.layout.data);
        Ok(Some(Current { section, layout: second.layout, size_entries }))
    }

    /// The current section, if it is of this type and its data come next.
    fn expect_data(&mut self, call: Call, section_type: SectionType) -> Result<Current> {
        self.note_call(call);
        match self.expect {
            Expect::Data(current) if current.section.section_type == section_type => Ok(current),
            _ => {
                Err(self
                    .out_of_order(&format!("the data of a section '{}'", char::from(section_type.letter()))))
            }
        }
    }

    fn out_of_order(&self, wanted: &str) -> Error {
        let letter = |current: &Current| char::from(current.section.section_type.letter());
        let expected = match &self.expect {
            Expect::Header => "the header of a section".to_owned(),
            Expect::Data(current) => format!("the data of a section '{}'", letter(current)),
            Expect::VarraySizes(_) => "the sizes of a section 'V'".to_owned(),
            Expect::VarrayData(..) => "the data of a section 'V'".to_owned(),
        };
        Error::usage(format!("found a call to read {wanted}, expected one to read {expected}"))
            .at(self.position)
    }

    /// Notes and checks the rank that gets the data.
    fn check_root(&mut self, root: usize) -> Result<bool> {
        self.team.note(Topic::Root, root as u64);
        let size = self.team.size();
        if root >= size {
            return Err(Error::argument(format!("root: found {root}, expected a rank below {size}")));
        }
        Ok(self.team.rank() == root)
    }

    /// Notes and checks the number of bytes that the section's header said.
    fn check_size(&mut self, size: u64, section: &Section) -> Result<()> {
        self.team.note(Topic::Size, size);
        if size != section.size {
            return Err(Error::argument(format!(
                "size E: found {size}, expected {} as in the header",
                section.size
            )));
        }
        Ok(())
    }

    /// Notes and checks the partition of the section's elements.
    fn check_counts(&mut self, counts: &[u64], section: &Section) -> Result<Partition> {
        self.team.note_counts(Topic::Counts, counts);
        let part = self.team.partition(counts)?;
        if part.total != section.count {
            return Err(Error::argument(format!(
                "counts N_q: found a sum of {}, expected {} as in the header",
                part.total, section.count
            )));
        }
        Ok(part)
    }

    /// The section is done.
    fn advance(&mut self, end: u64) {
        self.position = end;
        self.expect = Expect::Header;
    }

    /// Whether a section is so small that its data are read with the headers.
    fn is_small(&self, layout: Layout) -> bool {
        layout.bytes() <= self.params.aggregation_bytes as u64 / SMALL_FRACTION
    }

    /// Reads bytes that this rank alone wants: from the window, or else from the file.
    fn read_own(&mut self, offset: u64, memory: &mut [u8]) -> Result<()> {
        match self.window.get(offset, memory.len() as u64) {
            Some(bytes) => memory.copy_from_slice(bytes),
            None if memory.is_empty() => {}
            None => self.file.read_at(offset, memory)?,
        }
        Ok(())
    }

    fn read_inline(&mut self, root: usize, data: Option<&mut [u8; INLINE_BYTES]>) -> Result<(), Failure> {
        let current = self.expect_data(Call::Inline, SectionType::Inline)?;
        let is_root = self.check_root(root)?;
        let bytes = self.look(current.layout.data, INLINE_BYTES as u64)?;
        if let (true, Some(data)) = (is_root, data) {
            data.copy_from_slice(bytes);
        }
        self.advance(current.layout.end);
        Ok(())
    }

    fn read_block(&mut self, size: u64, root: usize, data: Result<Option<&mut [u8]>>) -> Result<(), Failure> {
        let current = self.expect_data(Call::Block, SectionType::Block)?;
        let is_root = self.check_root(root)?;
        self.check_size(size, &current.section)?;
        let layout = current.layout;
        let small = self.is_small(layout);
        if small {
            self.look(layout.data, layout.data_bytes)?;
        }
        let mine = data.and_then(|data| match data {
            Some(data) if is_root => self.fill_block(&current, data),
            _ => Ok(()),
        });
        if small && !current.section.decoded {
            // Everything is in memory: only a wrong length of the user's memory can be an error.
            self.team.defer(mine);
        } else {
            self.team.agree(mine)?;
        }
        self.advance(layout.end);
        Ok(())
    }

    /// Reads or decodes a block into the memory of the root.
    fn fill_block(&mut self, current: &Current, data: &mut [u8]) -> Result<()> {
        let (section, layout) = (&current.section, current.layout);
        Sink::Contiguous(data).check(Sizes::Fixed { count: 1, size: section.size })?;
        if !section.decoded {
            return self.read_own(layout.data, data);
        }
        let mut text = Vec::new();
        self.read_encoded(layout.data, layout.data_bytes, section.size, &mut text)?;
        self.decoder.decode(&text, data).map_err(|e| e.at(layout.data))
    }

    /// Reads the encoded text of one element or of several that lie together, and that stand for
    /// `size` bytes, into a buffer.
    fn read_encoded(&mut self, offset: u64, length: u64, size: u64, text: &mut Vec<u8>) -> Result<()> {
        if length > max_encoded_bytes(size) {
            return Err(Error::new(
                ErrorKind::Decode,
                format!("compressed element: found {length} encoded bytes, expected fewer for {size} bytes"),
            )
            .at(offset));
        }
        resize(text, length)?;
        self.read_own(offset, text)
    }

    fn read_array(&mut self, counts: &[u64], size: u64, data: Result<Sink<'_>>) -> Result<(), Failure> {
        let current = self.expect_data(Call::Array, SectionType::Array)?;
        let part = self.check_counts(counts, &current.section)?;
        self.check_size(size, &current.section)?;
        let sizes = Sizes::Fixed { count: part.count, size };
        let data = data.and_then(|mut data| data.check(sizes).map(|()| data));
        if current.section.decoded {
            return self.read_compressed(&current, part, sizes, data);
        }
        // The products are bounded by that of the header.
        let bytes = Partition { offset: part.offset * size, count: part.count * size, total: 0 };
        let small = self.is_small(current.layout);
        if small {
            self.look(current.layout.data, current.layout.data_bytes)?;
        }
        let mine = data.and_then(|data| self.read_plain(current.layout.data + bytes.offset, sizes, data));
        if small {
            // Everything is in memory: only a wrong length of the user's memory can be an error.
            self.team.defer(mine);
        } else {
            self.team.agree(mine)?;
        }
        self.advance(current.layout.end);
        Ok(())
    }

    /// Reads this rank's elements, which begin at `offset`, as they are.
    fn read_plain(&mut self, offset: u64, sizes: Sizes<'_>, mut data: Sink<'_>) -> Result<()> {
        match &mut data {
            Sink::Skip => Ok(()),
            Sink::Contiguous(memory) => self.read_own(offset, memory),
            Sink::Indirect(_) => {
                let mut batch = Vec::new();
                self.for_each_batch(offset, sizes, |this, start, first, last| {
                    if last == first + 1 {
                        // A large element goes straight to its memory.
                        let size = sizes.size(first);
                        return match data.element(first, 0, size) {
                            Some(memory) => this.read_own(start, memory),
                            None => Ok(()),
                        };
                    }
                    let length = (first..last).map(|index| sizes.size(index)).sum();
                    resize(&mut batch, length)?;
                    this.read_own(start, &mut batch)?;
                    let mut rest = batch.as_slice();
                    for index in first..last {
                        let size = sizes.size(index);
                        let (bytes, others) = rest.split_at(usize::try_from(size).unwrap_or(0));
                        rest = others;
                        if let Some(memory) = data.element(index, 0, size) {
                            memory.copy_from_slice(bytes);
                        }
                    }
                    Ok(())
                })
            }
        }
    }

    /// Groups elements that lie one after the other from `offset` into batches of bounded bytes, or
    /// of one element if it is larger; hands out the offset, the first and the last but one index.
    fn for_each_batch(
        &mut self,
        mut offset: u64,
        sizes: Sizes<'_>,
        mut each: impl FnMut(&mut Self, u64, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let (mut first, mut bytes) = (0, 0_u64);
        for index in 0..sizes.count() {
            let size = sizes.size(index);
            if index > first && bytes + size > BATCH_BYTES as u64 {
                each(self, offset, first, index)?;
                offset += bytes;
                (first, bytes) = (index, 0);
            }
            bytes += size;
        }
        if first < sizes.count() { each(self, offset, first, sizes.count()) } else { Ok(()) }
    }

    /// Reads and checks `count` entries from `offset`, a bounded number at a time.
    fn read_entries(
        &mut self,
        offset: u64,
        count: u64,
        letter: u8,
        mut each: impl FnMut(usize, u64) -> Result<()>,
    ) -> Result<()> {
        let mut text = Vec::new();
        let mut done = 0;
        while done < count {
            let step = (count - done).min((BATCH_BYTES / COUNT_BYTES) as u64);
            let start = offset + done * COUNT_BYTES as u64;
            resize(&mut text, step * COUNT_BYTES as u64)?;
            self.read_own(start, &mut text)?;
            let before = usize::try_from(done).unwrap_or(usize::MAX);
            parse_counts(&text, letter, start, |index, value| each(before + index, value))?;
            done += step;
        }
        Ok(())
    }

    /// Reads the encoded elements of a compressed array or varray and decodes them.
    ///
    /// `sizes` are those of the decoded elements. This rank may have an error already.
    fn read_compressed(
        &mut self,
        current: &Current,
        part: Partition,
        sizes: Sizes<'_>,
        data: Result<Sink<'_>>,
    ) -> Result<(), Failure> {
        let (data, checked) = match data {
            Ok(data) => (data, Ok(())),
            Err(error) => (Sink::Skip, Err(error)),
        };
        let mut encoded_sizes = Vec::new();
        let mut encoded = 0_u64;
        let entries = current.layout.entries + part.offset * COUNT_BYTES as u64;
        let wanted = !data.is_skip();
        let read = checked.and_then(|()| {
            let reserved = if wanted { part.count } else { 0 };
            reserve(&mut encoded_sizes, reserved)?;
            self.read_entries(entries, part.count, b'E', |_, size| {
                encoded = crate::format::layout::sum(encoded, size).ok_or_else(|| leaves_63_bits(&[size]))?;
                if wanted {
                    encoded_sizes.push(size);
                }
                Ok(())
            })
        });
        self.team.agree(read)?;
        let bytes = self.team.spread(encoded)?;
        let layout = self.varray_layout(current, bytes.total)?;
        let decoded = self.decode_elements(layout.data + bytes.offset, &encoded_sizes, sizes, data);
        self.team.agree(decoded)?;
        self.advance(layout.end);
        Ok(())
    }

    /// The layout of the varray in the file, now that the bytes of all its elements are known.
    fn varray_layout(&self, current: &Current, total: u64) -> Result<Layout> {
        let start = current.layout.start;
        let layout = Layout::varray(start, current.section.count, total)
            .ok_or_else(|| leaves_63_bits(&[total]).at(start))?;
        self.check_end("varray", start, layout.end)?;
        Ok(layout)
    }

    /// Decodes elements that lie one after the other from `offset`.
    fn decode_elements(
        &mut self,
        offset: u64,
        encoded_sizes: &[u64],
        sizes: Sizes<'_>,
        mut data: Sink<'_>,
    ) -> Result<()> {
        if data.is_skip() {
            return Ok(());
        }
        let mut text = Vec::new();
        let mut decoded_offset = 0;
        self.for_each_batch(offset, Sizes::Each(encoded_sizes), |this, start, first, last| {
            let length = encoded_sizes[first..last].iter().sum();
            if last == first + 1 {
                this.read_encoded(start, length, sizes.size(first), &mut text)?;
            } else {
                resize(&mut text, length)?;
                this.read_own(start, &mut text)?;
            }
            let mut rest = text.as_slice();
            let mut at = start;
            for (index, &encoded_size) in encoded_sizes.iter().enumerate().take(last).skip(first) {
                let (element, others) = rest.split_at(usize::try_from(encoded_size).unwrap_or(0));
                rest = others;
                let size = sizes.size(index);
                if let Some(memory) = data.element(index, decoded_offset, size) {
                    this.decoder.decode(element, memory).map_err(|e| e.at(at))?;
                }
                decoded_offset += size;
                at += encoded_size;
            }
            Ok(())
        })
    }

    fn read_varray_sizes(
        &mut self,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<(), Failure> {
        self.note_call(Call::VarraySizes);
        let Expect::VarraySizes(current) = self.expect else {
            return Err(self.out_of_order("the sizes of a section 'V'").into());
        };
        let part = self.check_counts(counts, &current.section)?;
        let sizes = sizes.and_then(|sizes| match sizes {
            Some(sizes) if sizes.len() as u64 != part.count => Err(Error::argument(format!(
                "sizes E_i: found room for {}, expected {}",
                sizes.len(),
                part.count
            ))),
            sizes => Ok(sizes),
        });
        let known = self.learn_sizes(&current, counts, part, sizes)?;
        self.expect = Expect::VarrayData(current, known);
        Ok(())
    }

    /// Reads the sizes of the elements as the user sees them: where this rank's data lie, and a
    /// hash by which the sizes that the user gives later are compared.
    fn learn_sizes(
        &mut self,
        current: &Current,
        counts: &[u64],
        part: Partition,
        out: Result<Option<&mut [u64]>>,
    ) -> Result<KnownSizes, Failure> {
        let (entries, letter) = match current.size_entries {
            Some(entries) => (entries, b'U'),
            None => (current.layout.entries, b'E'),
        };
        let (mut sizes_hash, mut bytes) = (0, 0_u64);
        let read = out.and_then(|mut out| {
            self.read_entries(
                entries + part.offset * COUNT_BYTES as u64,
                part.count,
                letter,
                |index, size| {
                    sizes_hash = mix(sizes_hash, size);
                    bytes = crate::format::layout::sum(bytes, size).ok_or_else(|| leaves_63_bits(&[size]))?;
                    if let Some(out) = &mut out {
                        out[index] = size;
                    }
                    Ok(())
                },
            )
        });
        let read = if current.section.decoded { read.map_err(as_decode_error) } else { read };
        self.team.agree(read)?;
        let bytes = self.team.spread(bytes)?;
        if !current.section.decoded {
            self.varray_layout(current, bytes.total)?;
        }
        Ok(KnownSizes { counts_hash: hash(counts), sizes_hash, bytes })
    }

    fn read_varray(
        &mut self,
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(Option<&[u64]>, Sink<'_>)>,
    ) -> Result<(), Failure> {
        self.note_call(Call::Varray);
        let Expect::VarrayData(current, mut known) = self.expect else {
            return Err(self.out_of_order("the data of a section 'V'").into());
        };
        let part = self.check_counts(counts, &current.section)?;
        self.team.note(Topic::ProcSizes, u64::from(proc_sizes.is_some()));
        self.team.note_counts(Topic::ProcSizes, proc_sizes.unwrap_or_default());
        let given = proc_sizes.map(|sizes| self.team.partition(sizes)).transpose()?;
        if hash(counts) != known.counts_hash {
            known = self.learn_sizes(&current, counts, part, Ok(None))?;
        }
        let checked = data.and_then(|(sizes, mut data)| {
            if given.is_some_and(|given| given != known.bytes) {
                return Err(Error::argument(
                    "sizes S_q: found others than the sums of the sizes in the file",
                ));
            }
            let sizes = match sizes {
                _ if data.is_skip() => &[],
                Some(sizes) if sizes.len() as u64 == part.count && hash(sizes) == known.sizes_hash => sizes,
                None if part.count == 0 => &[],
                _ => return Err(Error::argument("sizes E_i: found others than in the file")),
            };
            data.check(Sizes::Each(sizes)).map(|()| (sizes, data))
        });
        let (sizes, data) = match checked {
            Ok((sizes, data)) => (sizes, Ok(data)),
            Err(error) => (&[] as &[u64], Err(error)),
        };
        if current.section.decoded {
            return self.read_compressed(&current, part, Sizes::Each(sizes), data);
        }
        let layout = self.varray_layout(&current, known.bytes.total)?;
        let offset = layout.data + known.bytes.offset;
        let mine = data.and_then(|data| self.read_plain(offset, Sizes::Each(sizes), data));
        self.team.agree(mine)?;
        self.advance(layout.end);
        Ok(())
    }
}

/// A hash of numbers in order.
fn hash(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |hash, &number| mix(hash, number))
}

/// Makes a buffer of this length, whose contents do not matter.
fn resize(buffer: &mut Vec<u8>, length: u64) -> Result<()> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if buffer.len() < length {
        let more = length - buffer.len();
        buffer.try_reserve(more).map_err(|_| Error::memory(length))?;
    }
    buffer.resize(length, 0);
    Ok(())
}

/// Makes room for this many sizes.
fn reserve(sizes: &mut Vec<u64>, count: u64) -> Result<()> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    sizes.try_reserve(count).map_err(|_| Error::memory(count.saturating_mul(8)))
}

/// Counts or sizes of a file that leave 63 bits.
fn leaves_63_bits(values: &[u64]) -> Error {
    Error::range(format!("section: found the counts {values:?}, whose product or sum leaves 63 bits"))
}

/// In a compressed pair, what is malformed breaks the convention.
fn as_decode_error(error: Error) -> Error {
    if error.kind() == ErrorKind::Format { error.with_kind(ErrorKind::Decode) } else { error }
}
