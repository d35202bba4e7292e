//! Parallel, serial-equivalent, archival file I/O: the scda format.
//!
//! Any number of ranks write a file, and any other number read it; its bytes do not depend on
//! either. See [`Writer`] and [`Reader`].
#![cfg_attr(test, allow(clippy::cast_possible_truncation))] // test data

/// The programs of the documentation, which are run by its tests.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../docs/datasets.md")]
    mod datasets {}
    #[doc = include_str!("../docs/format.md")]
    mod format {}
    #[doc = include_str!("../docs/rust.md")]
    mod rust {}
}

pub mod bindings;
mod file;
mod items;
pub mod stop;
mod texts;

pub use file::{
    AddedRows, AtomicFile, BoxStream, Closing, Collective, CommitRequest, Content, DataStream, DatasetHandle,
    ElementStream, Elements, ElementsMut, Encode, Entries, Entry, EntryName, Hdf5, IncrementalWriter,
    Inspector, Interrupt, Limits, LocatedError, ReadOptions, Reader, Request, SealedPart, Seals, Section,
    SectionRanges, Sink, Source, Statistics, Stream, StreamReader, Streams, SuperblockState, Tuning,
    WriteOptions, Writer, aggregators_of_node, stripe_of_block,
};
pub use items::{Data, DataMut, Memory, MemoryMut};
pub use scda_base::error::{Error, ErrorKind, Result};
pub use scda_codec::Encoder;
pub use scda_format::dataset::{
    Codec, DataType, Dataset, Group, IndexBox, Kind, Layout, Member, Struct, TimeUnit,
};
pub use scda_format::header::{FileHeader, SectionType, UserString};
pub use scda_format::padding::LineBreak;
pub use scda_format::{INLINE_BYTES, USER_STRING_BYTES};
#[cfg(feature = "mpi")]
pub use scda_ranks::mpi::{Mpi, MpiHandle};
pub use scda_ranks::{
    Communicator, Nodes, Partition, PartitionTable, SharedMemory, Solo, ThreadComm, run_on, run_on_threads,
    uniform_partition,
};
pub use scda_storage::Driver;
pub use scda_storage::ParallelFile;
pub use scda_storage::faults::Faults;
pub use scda_storage::file_system::FileSystem;
#[cfg(feature = "mpi")]
pub use scda_storage::mpi_io::Hints;
pub use scda_storage::names::{PART_SUFFIX, part_path, target_path};
#[doc(hidden)] // for `scda doctor`
pub use scda_storage::posix::block_bytes;
pub use scda_storage::read_at_file::{ReadAt, ReadAtFile};
pub use scda_storage::shared_file::SharedFile;
pub use texts::Texts;
