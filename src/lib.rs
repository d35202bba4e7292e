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

mod codec;
mod error;
#[doc(hidden)] // documented for C, in include/scda.h
pub mod ffi;
mod file;
mod floats;
mod foreign;
mod fork;
mod format;
mod items;
mod memory;
mod numbers;
mod panics;
mod parallel;
mod storage;
mod texts;

/// For the other members of this workspace: the command, the Python module, the fuzzers. No other code may rely on it.
#[doc(hidden)]
pub mod internals {
    pub use crate::codec::chunk::{ChunkCodec, ChunkDecoder, ChunkEncoder, Method, swap_items};
    pub use crate::codec::shuffle::{shuffle, unshuffle};
    pub use crate::codec::texts;
    pub use crate::codec::{ElementDecoder, ElementEncoder};
    pub use crate::error::{Visible, is_unseen};
    pub use crate::file::{Located, Sealed, Seals, WholeFile, stripe_of_block, writers_of_pieces};
    pub use crate::floats::in_default;
    pub use crate::foreign::*;
    pub use crate::format::dataset::bools::Bools;
    pub use crate::format::dataset::codecs::Codecs;
    pub use crate::format::dataset::fill::text_of;
    pub use crate::format::dataset::{
        DATASET_CONVENTION, GROUP_CONVENTION, fill, json, later, metadata, parse, rounding,
    };
    pub use crate::format::dataset::{
        stored_name, stored_path, type_of_json, type_of_text, type_text, type_to_json,
    };
    pub use crate::format::entry::{CountFormat, parse_counts};
    pub use crate::format::header::{parse_file_header, parse_section_header, put_section_header};
    pub use crate::format::padding::{MAX_DATA_PADDING, data_padding, data_padding_bytes};
    pub use crate::format::streams::{
        BYTES_LETTER as STREAM_BYTES_LETTER, ENTRIES_BYTES as STREAMS_ENTRIES_BYTES,
        HEADER_BYTES as STREAMS_HEADER_BYTES, InChunk, STREAM_BYTES as STREAM_BYTES_CONVENTION,
        STREAMS as STREAMS_CONVENTION, StreamPart,
    };
    pub use crate::format::{crc, index, names, seal, truncation};
    pub use crate::numbers::to_usize;
    pub use crate::panics::catch;
    #[cfg(feature = "mpi")]
    pub use crate::parallel::mpi::{finalize, initialize, load_library};
}

pub use codec::Encoder;
pub use error::{Error, ErrorKind, Result};
pub use file::{
    AddedRows, BoxStream, Closing, CommitRequest, DataStream, ElementStream, Elements, ElementsMut, Encode,
    Interrupt, Params, Reader, Request, Section, Sink, Source, Statistics, Stream, StreamReader, Streams,
    Writer,
};
pub use format::dataset::{Codec, DataType, Dataset, Group, Kind, Layout, Member, Region, Struct, TimeUnit};
pub use format::header::{SectionType, UserString};
pub use format::padding::LineBreak;
pub use format::{INLINE_BYTES, USER_STRING_BYTES};
pub use items::{Data, DataMut, Memory, MemoryMut};
#[cfg(feature = "mpi")]
pub use parallel::mpi::{Mpi, MpiHandle};
pub use parallel::{
    Communicator, KnownPartition, Nodes, SharedMemory, Solo, ThreadComm, run_on, run_on_threads,
    uniform_partition,
};
pub use storage::Driver;
pub use storage::elsewhere::ReadAt;
pub use storage::faults::Faults;
pub use storage::file_system::FileSystem;
#[cfg(feature = "mpi")]
pub use storage::mpi_io::Hints;
pub use storage::names::{PART_SUFFIX, part_path, target_path};
pub use texts::Texts;
