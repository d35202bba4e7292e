//! Writing a file, section by section.

use super::encoding::{Encoded, Encoders};
use super::open::{self, Target};
use super::params::{Encode, Params};
use super::pending::{Outlet, Pending, Stage, assemble};
use super::source::{Sizes, Source};
use super::team::{Failure, Team, Topic};
use crate::codec::{ARRAY_CONVENTION, BLOCK_CONVENTION, VARRAY_CONVENTION};
use crate::error::{Error, Result};
use crate::format::entry::CountFormat;
use crate::format::header::{SectionType, UserString, file_header, section_header};
use crate::format::layout::Layout;
use crate::format::padding::DataPadding;
use crate::format::{COUNT_BYTES, INLINE_BYTES};
use crate::parallel::{Communicator, Partition};
use crate::storage::ParallelFile;
use std::path::Path;

/// What this library writes into the vendor string.
const VENDOR: &str = concat!("libscda ", env!("CARGO_PKG_VERSION"));
/// Sections of at most this part of the aggregation buffer wait in it.
const SMALL_FRACTION: u64 = 8;
/// Size entries are formatted this many at a time.
const ENTRIES_PER_CHUNK: usize = 1024;

/// A file that is being written.
///
/// All functions are collective: every rank calls them in the same order, with the same arguments
/// except for the data and the sizes of its own elements. After an error the file is closed on all
/// ranks, as it is; further calls are errors.
///
/// Small plain sections wait in a buffer to be written together. An error that only one rank can
/// notice there, such as a full disk or data of the wrong length, is reported by a later call, at
/// the latest by [`Writer::flush`] or [`Writer::close`]; see [`Params::check`].
///
/// ```
/// use scda::{Encode, Params, Solo, Source, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("state.scda");
/// let mut file = Writer::create(Solo, &path, b"my simulation", &Params::default())?;
/// file.block(b"parameters", 0, 6, Some(b"dt=0.1"), Encode::None)?;
/// // Two elements of four bytes, all on the one rank that there is.
/// file.array(b"field", &[2], 4, Source::Contiguous(b"abcdefgh"), Encode::Always)?;
/// file.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a file is complete only when it is closed"]
pub struct Writer {
    open: Option<Open>,
}

/// The state of a file that is open.
struct Open {
    team: Team,
    file: Box<dyn ParallelFile>,
    target: Target,
    params: Params,
    /// Offset of the next section.
    end: u64,
    /// Offset up to which the file is written; the rest is pending.
    written: u64,
    pending: Pending,
    encoders: Encoders,
}

/// What the ranks must call alike, by name.
#[derive(Clone, Copy)]
enum Call {
    Inline = 1,
    Block,
    Array,
    Varray,
    Flush,
    Close,
    ProcSizes,
}

/// A part of this rank in a section: elements by number, and by bytes.
struct Part<'a> {
    elements: Partition,
    bytes: Partition,
    /// The sizes to write before the data; none for a fixed size.
    entries: Option<&'a [u64]>,
}

impl Writer {
    /// Creates a file, or empties one that exists, and writes its header (paper, section A.3).
    ///
    /// # Errors
    /// `Argument` for a user string of more than 58 bytes and for parameters without meaning, and
    /// the errors of the file system.
    pub fn create(
        comm: impl Communicator + 'static,
        path: &Path,
        user: &[u8],
        params: &Params,
    ) -> Result<Self> {
        Self::create_or(Box::new(comm), Ok(path), UserString::new(user), Ok(params.clone()))
    }

    /// As [`Self::create`], with arguments that may be wrong on this rank.
    pub(crate) fn create_or(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        user: Result<UserString>,
        params: Result<Params>,
    ) -> Result<Self> {
        let mut team = Team::for_file(comm, &path);
        let create = |team: &mut Team| -> Result<_, Failure> {
            let (path, user, params) = (path?, user?, params?);
            params.validate()?;
            team.note_open(Topic::CREATE, path, &params);
            team.note_bytes(Topic::UserString, &user);
            let (file, target) = open::create(team, path, &params)?;
            Ok((file, target, params, user))
        };
        let (file, target, params, user) = match create(&mut team) {
            Ok(created) => created,
            Err(failure) => return Err(team.settle(failure)),
        };
        let header = file_header(VENDOR.as_bytes(), &user, params.line_break);
        let end = header.len() as u64;
        let mut pending = Pending::default();
        if team.rank() == 0 {
            pending.append(0, &[&header]);
        }
        let encoders = Encoders::default();
        let mut this =
            Self { open: Some(Open { team, file, target, params, end, written: 0, pending, encoders }) };
        // A header that cannot be written is an error of opening, as a user expects.
        this.operate(Open::flush)?;
        Ok(this)
    }

    /// Writes an inline section (paper, section 2.3): 32 bytes of the rank `root`. The data of
    /// other ranks are ignored.
    ///
    /// # Errors
    /// `Argument`, `Usage`, and the errors of the file system.
    pub fn inline(&mut self, user: &[u8], root: usize, data: Option<&[u8; INLINE_BYTES]>) -> Result<()> {
        self.inline_or(user, root, data.ok_or_else(|| Error::argument("data: found none on the root rank")))
    }

    pub(crate) fn inline_or(
        &mut self,
        user: &[u8],
        root: usize,
        data: Result<&[u8; INLINE_BYTES]>,
    ) -> Result<()> {
        self.operate(|open| open.inline(user, root, data))
    }

    /// Writes a block (paper, section 2.4): `size` bytes of the rank `root`. The data of other
    /// ranks are ignored.
    ///
    /// # Errors
    /// `Argument`, `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn block(
        &mut self,
        user: &[u8],
        root: usize,
        size: u64,
        data: Option<&[u8]>,
        encode: Encode,
    ) -> Result<()> {
        let data = match data {
            None if size > 0 => Err(Error::argument("data: found none on the root rank")),
            data => Ok(data.unwrap_or_default()),
        };
        self.block_or(user, root, size, data, encode)
    }

    pub(crate) fn block_or(
        &mut self,
        user: &[u8],
        root: usize,
        size: u64,
        data: Result<&[u8]>,
        encode: Encode,
    ) -> Result<()> {
        self.operate(|open| open.block(user, root, size, data, encode))
    }

    /// Writes an array (paper, section 2.5) of elements of `size` bytes; rank p has `counts[p]` of
    /// them, in the order of the ranks.
    ///
    /// # Errors
    /// `Argument`, `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn array(
        &mut self,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Source<'_>,
        encode: Encode,
    ) -> Result<()> {
        self.array_or(user, counts, size, Ok(data), encode)
    }

    pub(crate) fn array_or(
        &mut self,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Result<Source<'_>>,
        encode: Encode,
    ) -> Result<()> {
        self.operate(|open| open.array(user, counts, size, data, encode))
    }

    /// Writes a varray (paper, section 2.6): rank p has `counts[p]` elements; `sizes` are the bytes
    /// of each element of this rank, and `proc_sizes` the bytes of all elements of each rank, which
    /// are computed if they are not given.
    ///
    /// # Errors
    /// `Argument`, `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn varray(
        &mut self,
        user: &[u8],
        counts: &[u64],
        sizes: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Source<'_>,
        encode: Encode,
    ) -> Result<()> {
        self.varray_or(user, counts, proc_sizes, Ok((sizes, data)), encode)
    }

    pub(crate) fn varray_or(
        &mut self,
        user: &[u8],
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Source<'_>)>,
        encode: Encode,
    ) -> Result<()> {
        self.operate(|open| open.varray(user, counts, proc_sizes, data, encode))
    }

    /// Writes everything that waits, and lets all ranks know whether all went well until now.
    ///
    /// # Errors
    /// Those of all sections since the last flush.
    pub fn flush(&mut self) -> Result<()> {
        self.operate(|open| {
            open.note_call(Call::Flush);
            open.flush()
        })
    }

    /// The sum of `sizes` on every rank, by rank: what [`Self::varray`] takes as `proc_sizes`.
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

    /// Writes what waits and closes the file. Only success means that every byte is in it: errors
    /// of all ranks, and the size of the file, are checked. Call it on every file.
    ///
    /// # Errors
    /// Those of all sections since the last flush, and the errors of the file system. The file is
    /// closed regardless.
    pub fn close(mut self) -> Result<()> {
        self.operate(|open| {
            open.note_call(Call::Close);
            open.flush()?;
            let synced = if open.params.sync || open.params.atomic { open.file.sync() } else { Ok(()) };
            open.team.agree(synced)
        })?;
        let Some(Open { mut team, file, target, end, .. }) = self.open.take() else {
            return Ok(());
        };
        let finish = |team: &mut Team| -> Result<(), Failure> {
            team.agree(file.close())?;
            let complete = if team.rank() == 0 { target.complete(end) } else { Ok(()) };
            team.agree(complete)
        };
        finish(&mut team).map_err(|failure| {
            if team.rank() == 0 {
                target.discard();
            }
            team.settle(failure)
        })
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
            open.abandon();
        }
        Err(error)
    }
}

impl Open {
    fn note_call(&mut self, call: Call) {
        self.team.note(Topic::Function, call as u64);
    }

    /// Notes what all sections have, and checks the user string.
    fn begin(&mut self, call: Call, user: &[u8]) -> Result<UserString> {
        self.note_call(call);
        self.team.note_bytes(Topic::UserString, user);
        UserString::new(user)
    }

    /// Notes and checks the rank that has the data.
    fn check_root(&mut self, root: usize) -> Result<()> {
        self.team.note(Topic::Root, root as u64);
        let size = self.team.size();
        if root >= size {
            return Err(Error::argument(format!("root: found {root}, expected a rank below {size}")));
        }
        Ok(())
    }

    /// The value, if this rank has no error; else `instead`, and the error waits for the next
    /// agreement. A rank that is alone has nobody to wait for.
    fn tolerate<T>(&mut self, result: Result<T>, instead: T) -> Result<T, Failure> {
        match result {
            Ok(value) => Ok(value),
            Err(error) if self.team.is_alone() => Err(Failure::Mine(error)),
            Err(error) => {
                self.team.defer(Err(error));
                Ok(instead)
            }
        }
    }

    fn inline(&mut self, user: &[u8], root: usize, data: Result<&[u8; INLINE_BYTES]>) -> Result<(), Failure> {
        let user = self.begin(Call::Inline, user)?;
        self.check_root(root)?;
        let is_root = self.team.rank() == root;
        let data = if is_root { self.tolerate(data, &[0; INLINE_BYTES])? } else { &[0; INLINE_BYTES] };
        self.write_inline(&user, is_root, data)
    }

    fn write_inline(
        &mut self,
        user: &UserString,
        is_owner: bool,
        data: &[u8; INLINE_BYTES],
    ) -> Result<(), Failure> {
        let layout = Layout::inline(self.end).ok_or_else(too_large)?;
        let header = section_header(SectionType::Inline, user, self.params.line_break);
        self.write(layout, |out, layout| match is_owner {
            true => out.put(layout.start, &[&header, data]),
            false => Ok(()),
        })
    }

    fn block(
        &mut self,
        user: &[u8],
        root: usize,
        size: u64,
        data: Result<&[u8]>,
        encode: Encode,
    ) -> Result<(), Failure> {
        let user = self.begin(Call::Block, user)?;
        self.check_root(root)?;
        self.team.note(Topic::Size, size);
        self.team.note(Topic::Encode, encode as u64);
        let plain = Layout::block(self.end, size).ok_or_else(too_large)?;
        let is_root = self.team.rank() == root;
        let data = if is_root {
            let checked = data.and_then(|data| {
                let sizes = Sizes::Fixed { count: 1, size };
                Source::Contiguous(data).check(sizes).map(|()| data)
            });
            self.tolerate(checked, &[])?
        } else {
            &[]
        };
        if encode == Encode::None {
            return self.write_block(&user, is_root, plain, &[data]);
        }
        let encoded = if is_root && !self.team.has_deferred() {
            let sizes = Sizes::Fixed { count: 1, size };
            self.encoders.encode(&self.params, Source::Contiguous(data), sizes)
        } else {
            Ok(Encoded::default())
        };
        let (encoded, mine) = split(encoded);
        self.team.agree(mine)?;
        let mut encoded_size = encoded.bytes().to_le_bytes();
        self.team.comm().broadcast(&mut encoded_size, root)?;
        let first = Layout::inline(self.end).ok_or_else(too_large)?;
        let second = Layout::block(first.end, u64::from_le_bytes(encoded_size)).ok_or_else(too_large)?;
        if encode == Encode::Auto && second.end >= plain.end {
            return self.write_block(&user, is_root, plain, &[data]);
        }
        self.write_size_note(BLOCK_CONVENTION, is_root, size)?;
        let chunks: Vec<&[u8]> = encoded.chunks.iter().map(Vec::as_slice).collect();
        self.write_block(&user, is_root, second, &chunks)
    }

    /// The inline section before a compressed block or array (paper, figure 6).
    fn write_size_note(&mut self, convention: &[u8], is_owner: bool, size: u64) -> Result<(), Failure> {
        let entry = CountFormat::new(b'U', self.params.line_break).entry(size);
        self.write_inline(&UserString::new(convention)?, is_owner, &entry)
    }

    /// Writes a block whose data the owner has in pieces.
    fn write_block(
        &mut self,
        user: &UserString,
        is_owner: bool,
        layout: Layout,
        data: &[&[u8]],
    ) -> Result<(), Failure> {
        let style = self.params.line_break;
        let header = section_header(SectionType::Block, user, style);
        let count = CountFormat::new(b'E', style).entry(layout.data_bytes);
        self.write(layout, |out, layout| {
            if !is_owner {
                return Ok(());
            }
            let last = data.iter().rev().find_map(|piece| piece.last().copied());
            let padding = DataPadding::new(layout.data_bytes, last, style);
            let mut pieces: Vec<&[u8]> = vec![&header, &count];
            pieces.extend(data);
            pieces.push(padding.as_slice());
            out.put(layout.start, &pieces)
        })
    }

    fn array(
        &mut self,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Result<Source<'_>>,
        encode: Encode,
    ) -> Result<(), Failure> {
        let user = self.begin(Call::Array, user)?;
        self.team.note_counts(Topic::Counts, counts);
        self.team.note(Topic::Size, size);
        self.team.note(Topic::Encode, encode as u64);
        let elements = self.team.partition(counts)?;
        let plain = Layout::array(self.end, elements.total, size).ok_or_else(too_large)?;
        let sizes = Sizes::Fixed { count: elements.count, size };
        let checked = data.and_then(|data| data.check(sizes).map(|()| data));
        let data = self.tolerate(checked, Source::EMPTY)?;
        if encode != Encode::None {
            let (encoded, bytes) = self.encode(data, sizes)?;
            let first = Layout::inline(self.end).ok_or_else(too_large)?;
            let second = Layout::varray(first.end, elements.total, bytes.total).ok_or_else(too_large)?;
            if encode == Encode::Always || second.end < plain.end {
                self.write_size_note(ARRAY_CONVENTION, self.team.rank() == 0, size)?;
                return self.write_encoded(&user, second, elements, bytes, &encoded);
            }
        }
        // The products are bounded by the layout's.
        let bytes = Partition {
            offset: elements.offset * size,
            count: elements.count * size,
            total: plain.data_bytes,
        };
        let part = Part { elements, bytes, entries: None };
        let n = CountFormat::new(b'N', self.params.line_break).entry(elements.total);
        let e = CountFormat::new(b'E', self.params.line_break).entry(size);
        self.write_elements(SectionType::Array, &user, plain, &[&n, &e], &part, data)
    }

    fn varray(
        &mut self,
        user: &[u8],
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Source<'_>)>,
        encode: Encode,
    ) -> Result<(), Failure> {
        let user = self.begin(Call::Varray, user)?;
        self.team.note_counts(Topic::Counts, counts);
        self.team.note(Topic::ProcSizes, u64::from(proc_sizes.is_some()));
        self.team.note_counts(Topic::ProcSizes, proc_sizes.unwrap_or_default());
        self.team.note(Topic::Encode, encode as u64);
        let elements = self.team.partition(counts)?;
        let given = proc_sizes.map(|sizes| self.team.partition(sizes)).transpose()?;
        // Known to all ranks, and thus an error of all at once.
        Layout::varray(self.end, elements.total, given.map_or(0, |bytes| bytes.total))
            .ok_or_else(too_large)?;
        let checked = data.and_then(|(sizes, data)| {
            check_sizes(sizes, elements.count, given)?;
            data.check(Sizes::Each(sizes)).map(|()| (sizes, data))
        });
        let (sizes, data) = self.tolerate(checked, (&[], Source::EMPTY))?;
        let bytes = match given {
            Some(bytes) => bytes,
            None => {
                self.team.agree(Ok(()))?;
                self.team.spread(Sizes::Each(sizes).total()?)?
            }
        };
        let plain = Layout::varray(self.end, elements.total, bytes.total).ok_or_else(too_large)?;
        if encode != Encode::None {
            let (encoded, encoded_bytes) = self.encode(data, Sizes::Each(sizes))?;
            let first = Layout::array(self.end, elements.total, COUNT_BYTES as u64).ok_or_else(too_large)?;
            let second =
                Layout::varray(first.end, elements.total, encoded_bytes.total).ok_or_else(too_large)?;
            if encode == Encode::Always || second.end < plain.end {
                self.write_sizes_note(first, elements, sizes)?;
                return self.write_encoded(&user, second, elements, encoded_bytes, &encoded);
            }
        }
        let part = Part { elements, bytes, entries: Some(sizes) };
        let n = CountFormat::new(b'N', self.params.line_break).entry(elements.total);
        self.write_elements(SectionType::Varray, &user, plain, &[&n], &part, data)
    }

    /// Encodes this rank's elements, and finds where their bytes lie.
    fn encode(&mut self, data: Source<'_>, sizes: Sizes<'_>) -> Result<(Encoded, Partition), Failure> {
        let encoded = if self.team.has_deferred() {
            Ok(Encoded::default())
        } else {
            self.encoders.encode(&self.params, data, sizes)
        };
        let (encoded, mine) = split(encoded);
        self.team.agree(mine)?;
        let bytes = self.team.spread(encoded.bytes())?;
        Ok((encoded, bytes))
    }

    /// The array section before a compressed varray (paper, figure 7).
    fn write_sizes_note(
        &mut self,
        layout: Layout,
        elements: Partition,
        sizes: &[u64],
    ) -> Result<(), Failure> {
        let style = self.params.line_break;
        let user = UserString::new(VARRAY_CONVENTION)?;
        let format = CountFormat::new(b'U', style);
        let n = CountFormat::new(b'N', style).entry(elements.total);
        let e = CountFormat::new(b'E', style).entry(COUNT_BYTES as u64);
        let header = section_header(SectionType::Array, &user, style);
        let is_first = elements.is_first() || elements.total == 0 && self.team.rank() == 0;
        let is_last = elements.is_last() || elements.total == 0 && self.team.rank() == 0;
        self.write(layout, |out, layout| {
            if is_first {
                out.put(layout.start, &[&header, &n, &e])?;
            }
            put_entries(out, layout.data + elements.offset * COUNT_BYTES as u64, &format, sizes)?;
            if is_last {
                // The last byte of the data is that of an entry.
                let last = (elements.total > 0).then_some(b'\n');
                out.put(layout.padding(), &[DataPadding::new(layout.data_bytes, last, style).as_slice()])?;
            }
            Ok(())
        })
    }

    /// The varray of encoded elements, the second section of a compressed array or varray.
    fn write_encoded(
        &mut self,
        user: &UserString,
        layout: Layout,
        elements: Partition,
        bytes: Partition,
        encoded: &Encoded,
    ) -> Result<(), Failure> {
        let n = CountFormat::new(b'N', self.params.line_break).entry(elements.total);
        let part = Part { elements, bytes, entries: Some(&encoded.sizes) };
        let data = Source::Indirect(&encoded.chunks);
        self.write_elements(SectionType::Varray, user, layout, &[&n], &part, data)
    }

    /// Writes an array or varray: the first owner of elements writes the header, too, and the last
    /// one the padding. A section without data belongs to the owners of its entries, or to rank 0.
    fn write_elements(
        &mut self,
        section: SectionType,
        user: &UserString,
        layout: Layout,
        counts: &[&[u8; COUNT_BYTES]],
        part: &Part<'_>,
        data: Source<'_>,
    ) -> Result<(), Failure> {
        let style = self.params.line_break;
        let mut header = section_header(section, user, style).to_vec();
        counts.iter().for_each(|count| header.extend_from_slice(*count));
        let is_zero = self.team.rank() == 0;
        let leading = if part.entries.is_some() { part.elements } else { part.bytes };
        let trailing = if part.bytes.total > 0 { part.bytes } else { leading };
        let is_first = if leading.total > 0 { leading.is_first() } else { is_zero };
        let is_last = if trailing.total > 0 { trailing.is_last() } else { is_zero };
        let format = CountFormat::new(b'E', style);
        self.write(layout, |out, layout| {
            let padding = DataPadding::new(layout.data_bytes, data.last_byte(), style);
            let padding = if is_last { padding.as_slice() } else { &[] };
            let mut header = if is_first { header.as_slice() } else { &[] };
            if let Some(sizes) = part.entries {
                out.put(layout.start, &[header])?;
                header = &[];
                put_entries(out, layout.entries + part.elements.offset * COUNT_BYTES as u64, &format, sizes)?;
            }
            let mut offset = layout.data + part.bytes.offset;
            if let Source::Contiguous(data) = data {
                // Header, data and padding leave together, straight from the user's memory.
                return match header.is_empty() {
                    true => out.put(offset, &[data, padding]),
                    false => out.put(layout.start, &[header, data, padding]),
                };
            }
            if !header.is_empty() {
                out.put(layout.start, &[header])?;
            }
            data.for_each_piece(|piece| {
                out.put(offset, &[piece])?;
                offset += piece.len() as u64;
                Ok(())
            })?;
            out.put(layout.padding(), &[padding])
        })
    }

    /// Writes a section, or lets it wait if it is small. `put` hands over what this rank owns of it.
    fn write(
        &mut self,
        layout: Layout,
        put: impl FnOnce(&mut dyn Outlet, Layout) -> Result<()>,
    ) -> Result<(), Failure> {
        let room = self.params.aggregation_bytes as u64;
        if layout.bytes() <= room / SMALL_FRACTION {
            if layout.end - self.written > room {
                self.write_pending()?;
            }
            if !self.team.has_deferred() {
                put(&mut self.pending, layout)?;
            }
            self.end = layout.end;
            return Ok(());
        }
        self.write_pending()?;
        self.end = layout.end;
        self.written = layout.end;
        let mine = if self.team.has_deferred() {
            Ok(())
        } else {
            let mut stage = Stage::new(&mut *self.file);
            put(&mut stage, layout).and_then(|()| stage.finish())
        };
        self.team.agree(mine)
    }

    /// Writes what waits. An error of writing waits in its turn for the next agreement.
    fn write_pending(&mut self) -> Result<(), Failure> {
        if self.written == self.end {
            return Ok(());
        }
        let result = if self.team.is_alone() {
            self.pending.write(&mut *self.file)
        } else {
            self.team.agree(Ok(()))?;
            let messages = self.team.comm().gather(&self.pending.message())?;
            if self.team.rank() == 0 {
                assemble(&messages, self.written, self.end)
                    .and_then(|region| self.file.write_at(self.written, &[&region]))
            } else {
                Ok(())
            }
        };
        self.pending.clear();
        self.written = self.end;
        self.team.defer(result);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.write_pending()?;
        self.team.agree(Ok(()))
    }

    /// Closes the file after an error that all ranks know.
    fn abandon(mut self) {
        if self.team.is_alone() {
            // The sections before the error were reported as written.
            let _ = self.pending.write(&mut *self.file);
        }
        let _ = self.file.close();
        if self.team.rank() == 0 {
            self.target.discard();
        }
    }
}

/// Writes entries of sizes from `offset`, a bounded number at a time.
fn put_entries(out: &mut dyn Outlet, mut offset: u64, format: &CountFormat, sizes: &[u64]) -> Result<()> {
    let mut text = Vec::with_capacity(sizes.len().min(ENTRIES_PER_CHUNK) * COUNT_BYTES);
    for chunk in sizes.chunks(ENTRIES_PER_CHUNK) {
        text.clear();
        format.append(chunk, &mut text);
        out.put(offset, &[&text])?;
        offset += text.len() as u64;
    }
    Ok(())
}

/// An error if the sizes are not those of `count` elements that have `given` bytes in all.
fn check_sizes(sizes: &[u64], count: u64, given: Option<Partition>) -> Result<()> {
    if sizes.len() as u64 != count {
        return Err(Error::argument(format!("sizes E_i: found {}, expected {count}", sizes.len())));
    }
    let total = Sizes::Each(sizes).total()?;
    match given {
        Some(bytes) if bytes.count != total => Err(Error::argument(format!(
            "size S_p of this rank: found {}, expected the sum {total} of its sizes E_i",
            bytes.count
        ))),
        _ => Ok(()),
    }
}

/// A section that would end beyond 63 bits.
fn too_large() -> Error {
    Error::range("section: found a size or count whose end in the file leaves 63 bits")
}

/// A value for this rank to go on with, and its error for the others.
fn split<T: Default>(result: Result<T>) -> (T, Result<()>) {
    match result {
        Ok(value) => (value, Ok(())),
        Err(error) => (T::default(), Err(error)),
    }
}
