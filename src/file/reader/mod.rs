//! Reading a file, section by section.

mod canonical;
mod chain;
mod chunk_cache;
mod chunks;
mod data;
mod dataset;
mod elements;
mod groups;
mod header;
mod index;
mod inspect;
mod locate;
mod lookup;
mod names;
mod ranges;
mod room;
mod rows;
mod sharing;
mod streams;
mod survey;
mod tables;
mod texts;
mod verify;

pub(super) use chain::Chain;
pub use dataset::Request;
pub(crate) use dataset::Wanted;
pub use index::Sealed;
pub use inspect::Seals;
pub use streams::{Stream, StreamReader, Streams};
pub(super) use survey::Survey;

use self::chunk_cache::ChunkCache;
use super::encoding::Decoders;
use super::open::{self, Ends};
use super::params::Params;
use super::relay::Route;
use super::session::{Session, State};
use super::source::Sink;
use super::statistics::{self, Statistics};
use super::team::{Failure, Function, Team};
use super::window::Window;
use crate::codec::chunk::ChunkDecoder;
use crate::error::{Error, ErrorKind, Result};
use crate::format::dataset::parse::Known;
use crate::format::header::{FileHeader, SectionType, UserString, parse_file_header};
use crate::format::layout::Layout;
use crate::format::padding::LineBreak;
use crate::format::{FILE_HEADER_BYTES, INLINE_BYTES};
use crate::memory::{self, Limited};
use crate::parallel::{Communicator, KnownPartition, Partition, Solo};
use crate::storage::ParallelFile;
use crate::storage::elsewhere::{Elsewhere, ReadAt};
use crate::storage::timed::{Reads, Timed};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

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
    /// Where the section begins in the file, in bytes; the first one of the two that stand for a
    /// compressed section which is decoded.
    pub offset: u64,
    /// Where the data begin in the file, as they are stored there: plain, or compressed.
    pub data_offset: u64,
}

/// A file that is being read.
///
/// All functions that do not say otherwise are collective: every rank calls them in the same order, with the same arguments
/// except for the memory for its own data. After [`Reader::next_section`] the data of the section
/// must be read, or skipped by giving no memory for them. After an error the file is closed on all
/// ranks, and further calls are errors, unless [`Reader::tolerate_damage`] was called; memory that was
/// given to the failed call has unspecified contents.
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
    header: Box<FileHeader>,
    session: Session<ReaderState>,
}

/// What a [`Reader`] has while its file is open.
pub(crate) struct ReaderState {
    team: Team,
    file: Box<dyn ParallelFile>,
    params: Params,
    /// The most bytes of a section, or of a part of one, that is read with the headers.
    small_bytes: u64,
    /// Bytes of the file when it was opened.
    file_bytes: u64,
    /// Those of them that are read: see [`Params::to_seal`].
    size: u64,
    /// Where its sections end: behind it there is a seal, or several.
    end: u64,
    window: Window,
    route: Route,
    /// Offset of the next section, or of the current one as long as its data are expected.
    position: u64,
    expect: Expect,
    /// The header that was read last.
    header: Option<Section>,
    known_offset: Option<ranges::KnownOffset>,
    /// The dataset whose metadata were read last.
    dataset: Option<dataset::CurrentDataset>,
    known_metadata: Known,
    /// What this rank has to read alone, once it did.
    alone: Option<Box<lookup::Alone>>,
    /// The seals that this rank has read.
    chain: chain::Chain,
    /// The user strings of the last of them, in memory.
    names: names::Names,
    /// The sections that this rank has walked to look some up.
    walk: lookup::Walk,
    /// Ranges of sections that were verified: where each begins, and where it ends.
    verified: BTreeMap<u64, u64>,
    decoders: Decoders,
    /// What was read, and decompressed, since it was opened.
    reads: Reads,
    decoded_bytes: u64,
    decoding: Duration,
    /// What the threads need for the chunks of datasets, kept for the next ones.
    chunk_decoders: Vec<ChunkDecoder>,
    chunk_buffers: Vec<Vec<u8>>,
    /// Decompressed chunks of datasets that were read in part.
    chunk_cache: ChunkCache,
    /// Whether the ranks of a node decompress chunks for one another.
    sharing: sharing::Sharing,
    /// Whether errors leave the file open, and a section that the end of the file cuts is no error.
    tolerant: bool,
}

/// What must be called next.
#[derive(Clone, Copy)]
enum Expect {
    Header,
    Data(Current),
    VarraySizes(Current),
    VarrayData(Current, KnownSizes),
    /// Ranges of a section whose header is whole, and that the end of the file cuts.
    CutData(Current),
}

/// The section whose data come next.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// What the user knows of it: see [`Section`].
    section_type: SectionType,
    count: u64,
    size: u64,
    decoded: bool,
    /// The section in the file that has the data: the second one of a compressed pair. Of a varray,
    /// the layout is that without data until the sizes are known.
    layout: Layout,
    /// Offset of the U entries of a compressed varray.
    size_entries: Option<u64>,
    /// Whether ranges of it were read: then the next header may follow.
    in_ranges: bool,
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

/// Where a file of this size ends.
fn ends_of(file: &mut dyn ParallelFile, size: u64, raw: bool, to_seal: bool) -> Result<Ends> {
    if raw { Ok(Ends::all(size)) } else { index::ends(file, size, to_seal) }
}

impl Reader {
    /// Opens a file and reads its header (paper, section A.3).
    ///
    /// # Errors
    /// `Format`, `UnsupportedVersion`, `ShortFile`, `Argument` for parameters without meaning, `Checksum` with
    /// [`Params::verify`], and the errors of the file system.
    pub fn open(comm: impl Communicator + 'static, path: &Path, params: &Params) -> Result<Self> {
        Self::open_if_valid(Box::new(comm), Ok(path), Ok(params.clone()))
    }

    /// As [`Self::open`], if no rank has a wrong argument.
    pub(crate) fn open_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        params: Result<Params>,
    ) -> Result<Self> {
        Self::open_by(comm, path, params, |team, path, params| {
            let (raw, to_seal) = (params.raw, params.to_seal);
            open::open(team, path, params, |file, size| ends_of(file, size, raw, to_seal))
        })
    }

    /// As [`Self::open`], for a process that reads alone: what is no file of this system. `name` stands for it in errors.
    ///
    /// # Errors
    /// Those of [`Self::open`], and `Io` and others for those of `source`.
    pub fn open_at(source: impl ReadAt + 'static, name: &Path, params: &Params) -> Result<Self> {
        Self::open_by(Box::new(Solo), Ok(name), Ok(params.clone()), |_, _, params| {
            let mut file: Box<dyn ParallelFile> = Box::new(Elsewhere(source));
            let size = file.size()?;
            let ends = ends_of(&mut *file, size, params.raw, params.to_seal)?;
            params.find_stripe(0);
            Ok((file, ends))
        })
    }

    fn open_by(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        params: Result<Params>,
        open: impl FnOnce(&mut Team, &Path, &mut Params) -> Result<(Box<dyn ParallelFile>, Ends), Failure>,
    ) -> Result<Self> {
        let (team, params, (file, ends)) = open::if_valid(comm, Function::Open, path, params, open)?;
        let reads = Reads::default();
        let file = Box::new(Timed::new(file, reads.clone()));
        let mut session = Session::new(ReaderState { reads, ..ReaderState::new(team, file, ends, params) });
        let header = session.operate(|state| {
            let header = state.look(0, state.size.min(FILE_HEADER_BYTES as u64))?;
            let header = parse_file_header(header)?;
            if state.params.verify {
                state.verify_ends()?;
            }
            Ok(header)
        })?;
        Ok(Self { header: Box::new(header), session })
    }

    /// The user string of the file.
    #[must_use]
    pub fn user(&self) -> &UserString {
        &self.header.user
    }

    /// The vendor string of the file: the program that wrote it.
    #[must_use]
    pub fn vendor(&self) -> &UserString {
        &self.header.vendor
    }

    /// Where the time of this rank went, since the file was opened. Not collective. `None` after an error.
    #[must_use]
    pub fn statistics(&self) -> Option<Statistics> {
        self.session.state().map(ReaderState::statistics)
    }

    /// Whether the file was created to be sealed: its vendor string ends in the mark of such files. Before its first
    /// seal, nothing behind its header is committed.
    #[must_use]
    pub fn has_seal_mark(&self) -> bool {
        self.header.has_seal_mark()
    }

    /// The line breaks in the header of the file. Nothing forbids others in the rest:
    /// [`Self::check_canonical`] tells.
    #[must_use]
    pub fn line_break(&self) -> LineBreak {
        self.header.line_break
    }

    /// The bytes of the file when it was opened. Not collective. `None` after an error.
    #[must_use]
    pub fn file_size(&self) -> Option<u64> {
        self.session.state().map(|state| state.file_bytes)
    }

    /// How many bytes behind the last seal are not read: see [`Params::to_seal`]. Not collective. `None` after an error.
    #[must_use]
    pub fn left_out(&self) -> Option<u64> {
        self.session.state().map(|state| state.file_bytes - state.size)
    }

    /// Looks whether the file has grown by what another job has committed meanwhile, and reads on to there; with
    /// [`Params::to_seal`] off, by anything. The position stays. Tells whether there is more. Collective.
    ///
    /// # Errors
    /// `ShortFile` if the file has become shorter than what was read, and the errors of the file system.
    pub fn refresh(&mut self) -> Result<bool> {
        self.session.operate(ReaderState::refresh)
    }

    /// The number of sections that are sealed: 0 if no seal ends what is read. Collective.
    ///
    /// # Errors
    /// Those of [`Self::sections`].
    pub fn sealed_sections(&mut self) -> Result<u64> {
        self.session.operate(ReaderState::sealed_sections)
    }

    /// Whether a seal ends the file, so that all of it is sealed. Not collective. With [`Params::raw`], and after an
    /// error, there is no telling: false.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.session.state().is_some_and(ReaderState::is_sealed)
    }

    /// Whether no section follows: the seals at the end of a file are none. Not collective. As long as data of a section are expected, and
    /// after an error, there is no telling: false and true.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.session.state().is_none_or(ReaderState::at_end)
    }

    /// Reads the header of the next section (paper, section A.5.1); `None` at the end of the file.
    /// With `decode`, a compressed section appears as what was compressed; else as the two
    /// sections that the file has. The sections of seals are passed over, unless [`Params::raw`] is set.
    ///
    /// # Errors
    /// `Format`, `ShortFile`, `Range`, `Decode`, `Usage`, `Checksum` with [`Params::verify`], and the errors of the file
    /// system.
    pub fn next_section(&mut self, decode: bool) -> Result<Option<Section>> {
        Ok(self.next_header(decode)?.copied())
    }

    /// As [`Self::next_section`], without a copy.
    #[inline]
    pub(crate) fn next_header(&mut self, decode: bool) -> Result<Option<&Section>> {
        let found = self.session.operate(|state| state.next_section(decode))?;
        Ok(self.session.state().and_then(|state| state.header.as_ref()).filter(|_| found))
    }

    /// Reads from a section. The C interface calls it with memory that may be an error of this rank.
    #[inline]
    pub(crate) fn read<T>(&mut self, from: impl FnOnce(&mut ReaderState) -> Result<T, Failure>) -> Result<T> {
        self.session.operate(from)
    }

    /// Reads the 32 bytes of an inline section on the rank `root`; `None` there skips them, and is
    /// ignored on other ranks (paper, section A.5.2).
    ///
    /// # Errors
    /// `Usage`, `Argument`, and the errors of the file system.
    pub fn read_inline(&mut self, root: usize, data: Option<&mut [u8; INLINE_BYTES]>) -> Result<()> {
        self.read(|state| state.read_inline(root, Ok(data)))
    }

    /// Reads the data of a block on the rank `root`; `None` there skips them, and is ignored on
    /// other ranks (paper, section A.5.3). `size` is that of the section's header.
    ///
    /// # Errors
    /// `Usage`, `Argument`, `Decode`, `Memory`, and the errors of the file system.
    pub fn read_block(&mut self, size: u64, root: usize, data: Option<&mut [u8]>) -> Result<()> {
        self.read(|state| state.read_block(size, root, Ok(data)))
    }

    /// Reads the elements of an array; rank p gets `counts[p]` of them, in the order of the ranks
    /// (paper, section A.5.4). `size` is that of the section's header.
    ///
    /// # Errors
    /// `Usage`, `Argument`, `ShortFile`, `Format`, `Decode`, `Memory`, and the errors of the file
    /// system.
    pub fn read_array(&mut self, counts: &[u64], size: u64, data: Sink<'_>) -> Result<()> {
        self.read(|state| state.read_array(counts, size, Ok(data)))
    }

    /// Reads the sizes of the elements of a varray, of which rank p has `counts[p]`; `None` skips
    /// them on this rank (paper, section A.5.5).
    ///
    /// # Errors
    /// `Usage`, `Argument`, `ShortFile`, `Format`, `Range`, `Decode`, and the errors of the file
    /// system.
    pub fn read_varray_sizes(&mut self, counts: &[u64], sizes: Option<&mut [u64]>) -> Result<()> {
        self.read(|state| state.read_varray_sizes(counts, Ok(sizes)))
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
        self.read(|state| state.read_varray(counts, proc_sizes, Ok((sizes, data))))
    }

    /// Reads some bytes of a block on each rank, as [`Self::read_array_range`] elements. Of a compressed block, all is
    /// decoded for each range.
    ///
    /// # Errors
    /// Those of [`Self::read_block`].
    pub fn read_block_range(&mut self, bytes: Range<u64>, data: &mut [u8]) -> Result<()> {
        self.session.operate(|state| state.read_block_range(Ok((bytes, Some(data)))))
    }

    /// Reads some elements of an array on each rank: any range, that of another rank, or none. The section goes on: other
    /// ranges, or all elements, can be read, until the next header is read, or [`Self::skip`].
    ///
    /// An element of a compressed array or of a varray begins where those before it end. In the sealed part of a file an anchor
    /// says so for each 4096th one, and sizes are read from there on; else from the first one on, or from the end of the last
    /// range of this rank if that lies before. The checksum of the anchors is compared, once on each rank, before they are used.
    ///
    /// # Errors
    /// Those of [`Self::read_array`], and `Checksum`. An error of one rank is an error of all.
    pub fn read_array_range(&mut self, elements: Range<u64>, size: u64, data: Sink<'_>) -> Result<()> {
        self.session.operate(|state| state.read_array_range(size, Ok((elements, data))))
    }

    /// Reads the sizes of some elements of a varray, as [`Self::read_array_range`] their data.
    ///
    /// # Errors
    /// Those of [`Self::read_varray_sizes`].
    pub fn read_varray_sizes_range(&mut self, elements: Range<u64>, sizes: &mut [u64]) -> Result<()> {
        self.session.operate(|state| state.read_varray_sizes_range(Ok((elements, Some(sizes)))))
    }

    /// Reads some elements of a varray, with their sizes as read, as [`Self::read_array_range`] those of an array. The sizes are
    /// ignored where the data are skipped.
    ///
    /// # Errors
    /// Those of [`Self::read_varray`], and `Checksum`.
    pub fn read_varray_range(&mut self, elements: Range<u64>, sizes: &[u64], data: Sink<'_>) -> Result<()> {
        self.session.operate(|state| state.read_varray_range(sizes, Ok((elements, data))))
    }

    /// Compares what the format leaves open with what this library writes: the paddings and line breaks of the
    /// current section, of both sections if it is decoded; before the first section, those of the file
    /// header. For a process that reads alone. The section goes on.
    ///
    /// Any bytes there are valid, so that no other function looks at them.
    ///
    /// # Errors
    /// `Format` for the first difference; `ShortFile`, `Range` and `Decode` for the sizes of elements, `Usage`,
    /// and the errors of the file system.
    pub fn check_canonical(&mut self, line_break: LineBreak) -> Result<()> {
        let header = &self.header;
        self.session.operate(|state| state.check_canonical(header, line_break))
    }

    /// Reads what is left of a damaged file, for a process that reads alone. From now on
    ///
    /// - an error leaves the file open, and the reader where it was: other ranges of the section can be read, or
    ///   after [`Self::seek`] other sections;
    /// - a section that the end of the file cuts is an error only where its missing bytes are read: as a whole, by
    ///   ranges that the file does not have, or by [`Self::skip`]. Its header is returned if it is whole.
    ///
    /// A count that is damaged, and larger than it was, cannot be told from a section that is cut.
    ///
    /// # Errors
    /// `Usage` if there is more than one rank.
    pub fn tolerate_damage(&mut self) -> Result<()> {
        self.session.operate(|state| {
            state.check_alone("reading what is left of a file")?;
            state.tolerant = true;
            Ok(())
        })
    }

    /// Ends the current section, whatever was read of it; the header of the next one follows.
    ///
    /// # Errors
    /// `Format`, `ShortFile`, `Range` and `Decode` for the sizes of elements, and the errors of the file
    /// system.
    pub fn skip(&mut self) -> Result<()> {
        self.session.operate(ReaderState::skip)
    }

    /// Where in the file the header of the next section is, in bytes; as long as data of a section are
    /// expected, where that section begins. Not collective. `None` after an error.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.session.state().map(ReaderState::position)
    }

    /// Goes to a section, whose header is read next; or to the end of the file.
    ///
    /// `offset` is a [`Section::offset`] or a [`Self::position`]. At another one the headers that follow
    /// are likely, though not certain, to be errors.
    ///
    /// # Errors
    /// `Argument` if the offset is not in the file.
    pub fn seek(&mut self, offset: u64) -> Result<()> {
        self.session.operate(|state| state.seek(offset))
    }

    /// The number of sections; a compressed section, of two in the file, counts once. From the seal at the end of the
    /// file, or else by walking through the headers.
    ///
    /// # Errors
    /// `Checksum`, those of [`Self::next_section`] and [`Self::skip`] where the sections are walked, and the errors of
    /// the file system.
    pub fn sections(&mut self) -> Result<u64> {
        self.session.operate(ReaderState::sections)
    }

    /// Goes to the section of this number, from 0, whose header is read next.
    ///
    /// With a seal at the end of the file, some small reads lead there; else the headers before it, from the last one that
    /// was walked, which is remembered. A row of the index is compared with those beside it and with the header of the section
    /// before it is used.
    ///
    /// # Errors
    /// `Argument` if there are not so many; `Checksum` at the offset of the row of the index if it is not that of the
    /// section; and those of [`Self::sections`].
    pub fn seek_section(&mut self, number: u64) -> Result<()> {
        self.session.operate(|state| state.seek_section(number))
    }

    /// The number of a section with this user string: the first one for the record 0, the next for 1, and so on; the
    /// last for −1, the one before the last for −2. `None` if there are not so many. The section that is being read stays.
    ///
    /// With a seal at the end of the file by bisection: the number of reads grows with the logarithm of the number of sections,
    /// and with the number of seals. A row is compared as in [`Self::seek_section`]. The checksum of an index is compared, once, before
    /// it is used if it has no more than 4096 rows. If it has more, the rows beside the one that was found are compared, so that
    /// no single damaged row leads to another section, and the checksum before the index says that a section is not there.
    ///
    /// # Errors
    /// `Checksum`, and those of [`Self::sections`].
    ///
    /// ```
    /// # use scda::{Encode, Params, Reader, Solo, Source, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("series.scda");
    /// let mut params = Params::default();
    /// params.seal = true;
    /// let mut file = Writer::create(Solo, &path, b"", &params)?;
    /// for step in 0..5_u64 {
    ///     file.block(b"time", 0, 8, Some(&step.to_le_bytes()), Encode::None)?;
    ///     file.block(b"energy", 0, 8, Some(&[0; 8]), Encode::None)?;
    /// }
    /// file.close()?;
    /// let mut file = Reader::open(Solo, &path, &Params::default())?;
    /// assert_eq!((file.sections()?, file.find(b"time", -1)?, file.find(b"pressure", 0)?), (10, Some(8), None));
    /// file.seek_section(8)?;
    /// let last = file.next_section(true)?.expect("a section");
    /// assert_eq!(&*last.user, b"time");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find(&mut self, user: &[u8], record: i64) -> Result<Option<u64>> {
        self.session.operate(|state| state.find(user, record))
    }

    /// The numbers of all sections with this user string, in order. In a sealed file the checksum of each index is
    /// compared, once; without a seal all headers are read.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_all(&mut self, user: &[u8]) -> Result<Vec<u64>> {
        self.session.operate(|state| state.find_all(user))
    }

    /// The `count` of every rank, by rank: what [`Self::read_array`] and
    /// [`Self::read_varray`] take as `counts`, made
    /// from the number of elements that each rank has.
    ///
    /// # Errors
    /// Those of all calls since the ranks last agreed.
    pub fn proc_counts(&mut self, count: u64) -> Result<Vec<u64>> {
        self.session.proc_counts(count)
    }

    /// The partition in which this rank has `count` elements, to be made once: it stands for the `counts` that
    /// [`Self::read_array`] and [`Self::read_varray`] take, and takes no work that grows with the number of ranks.
    ///
    /// # Errors
    /// `Range` if the sum exceeds 63 bits, and those of all calls since the ranks last agreed.
    pub fn partition(&mut self, count: u64) -> Result<KnownPartition> {
        self.session.partition(count)
    }

    /// Returns an error if a file may not ask for so many bytes of memory, which the program is about to take for it: see
    /// [`Params::max_memory`]. Not collective.
    ///
    /// # Errors
    /// `Memory`.
    pub fn check_memory(&mut self, bytes: u64) -> Result<()> {
        self.session.locally(|_| memory::check(bytes))
    }

    /// Agrees with the other ranks on the errors so far. For language bindings whose ranks then exchange something of their own.
    ///
    /// # Errors
    /// Those of all calls since the ranks last agreed.
    #[doc(hidden)]
    pub fn agree(&mut self) -> Result<()> {
        self.session.operate(|state| {
            state.team.note_call(Function::Agree);
            state.team.agree(Ok(())).map(drop)
        })
    }

    /// The sum of `sizes` on every rank, by rank.
    ///
    /// # Errors
    /// `Range` if a sum exceeds 63 bits.
    pub fn proc_sizes(&mut self, sizes: &[u64]) -> Result<Vec<u64>> {
        self.session.proc_sizes(sizes)
    }

    /// Closes the file.
    ///
    /// # Errors
    /// Errors of this rank that the others do not know yet. The file is closed regardless.
    pub fn close(mut self) -> Result<()> {
        self.session.operate(|state| {
            state.team.note_call(Function::Close);
            state.team.agree(Ok(()))?;
            Ok(())
        })?;
        let state = self.session.take()?;
        let times = Statistics::are_wanted().then(|| state.statistics().of_reading());
        let ReaderState { mut team, file, size, .. } = state;
        let closed = file.close();
        match statistics::close(&mut team, closed, &format!("{size} bytes, read"), times) {
            Ok(()) => Ok(()),
            Err(failure) => Err(team.settle(failure)),
        }
    }

    /// Closes the file on all ranks because this one cannot go on, and says why. The others get this error,
    /// which is returned, from the call they are in or from their next one that meets: a rank that leaves alone
    /// must not keep them waiting.
    pub fn abandon(mut self, why: &str) -> Error {
        self.session.fail(Error::argument(why))
    }

    /// The number of ranks, and this one.
    pub(crate) fn ranks(&mut self) -> (usize, usize) {
        self.session.ranks()
    }

    /// The word of rank 0, unless a rank has an error.
    #[cfg(feature = "sc")]
    pub(crate) fn of_first_rank(&mut self, word: Result<u64>) -> Result<u64> {
        self.session.operate(|state| Ok(state.team.share(0, word.map(|word| [word]))?[0]))
    }

    /// Notes an error of this rank, with which all ranks fail when they next agree.
    pub(crate) fn refuse(&mut self, error: Error) {
        self.session.refuse(error);
    }

    /// Fails on all ranks with an error that this one noticed in an argument, and closes the file.
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.session.fail(error)
    }
}

impl ReaderState {
    /// A file that is open, with its size and where its sections end.
    fn new(team: Team, file: Box<dyn ParallelFile>, ends: Ends, params: Params) -> Self {
        Self {
            window: Window::new(&team, &params),
            route: Route::default(),
            small_bytes: params.small_bytes(team.size()) as u64,
            decoders: Decoders::new(params.strict),
            chunk_decoders: Vec::new(),
            chunk_buffers: Vec::new(),
            chunk_cache: ChunkCache::new(params.bounded(params.cache_bytes)),
            sharing: sharing::Sharing::default(),
            team,
            file,
            file_bytes: ends.file,
            size: ends.read,
            end: ends.sections,
            params,
            position: FILE_HEADER_BYTES as u64,
            expect: Expect::Header,
            header: None,
            known_offset: None,
            dataset: None,
            known_metadata: Known::default(),
            alone: None,
            chain: chain::Chain::new(ends.read),
            names: names::Names::default(),
            walk: lookup::Walk::default(),
            verified: BTreeMap::new(),
            tolerant: false,
            reads: Reads::default(),
            decoded_bytes: 0,
            decoding: Duration::ZERO,
        }
    }

    /// So many bytes were decompressed since then.
    fn note_decoded(&mut self, bytes: u64, began: Instant) {
        self.decoded_bytes += bytes;
        self.decoding += began.elapsed();
    }

    fn statistics(&self) -> Statistics {
        let (read_bytes, reading) = self.reads.so_far();
        Statistics {
            agreeing: self.team.agreeing(),
            read_bytes,
            reading,
            decoded_bytes: self.decoded_bytes,
            decoding: self.decoding,
            ..Statistics::default()
        }
    }

    /// See [`Reader::refresh`].
    fn refresh(&mut self) -> Result<bool, Failure> {
        self.team.note_call(Function::Refresh);
        let (raw, to_seal) = (self.params.raw, self.params.to_seal);
        let found = if self.team.rank() == 0 {
            let file = &mut *self.file;
            file.size().and_then(|size| ends_of(file, size, raw, to_seal))
        } else {
            Ok(Ends::all(0))
        };
        let ends = Ends::of(self.team.share(0, found.map(Ends::words))?);
        if ends.read < self.size {
            let words = format!(
                "refresh: found {} bytes that can be read, expected the {} of before",
                ends.read, self.size
            );
            return Err(Error::new(ErrorKind::ShortFile, words).at(ends.read).into());
        }
        self.file_bytes = ends.file;
        if ends.read == self.size {
            return Ok(false);
        }
        (self.size, self.end) = (ends.read, ends.sections);
        // What was found by the seal that was the last one, and by walking to where the file ended.
        self.chain = chain::Chain::new(self.size);
        self.names = names::Names::default();
        self.walk = lookup::Walk::default();
        Ok(true)
    }
}

impl State for ReaderState {
    fn team(&mut self) -> &mut Team {
        &mut self.team
    }

    fn checks_every_call(&self) -> bool {
        self.params.check
    }

    fn limit_memory(&self) -> Option<Limited> {
        memory::limited(self.params.max_memory, self.position)
    }

    fn survives(&self, _: &Failure) -> bool {
        self.tolerant
    }

    fn drop_alone(self) {
        if self.team.is_alone() {
            let _ = self.file.close();
            return;
        }
        // Giving back what the ranks share takes all of them.
        let Self { team, window, route, sharing, .. } = self;
        std::mem::forget((team, window, route, sharing));
    }

    fn abandon(self, _: &Error) {
        let _ = self.file.close();
    }
}
