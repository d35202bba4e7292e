//! `Writer` and `Reader`: the collective sequence of the sections of a file.
//!
//! The modules besides `writer` and `reader`:
//! - opening and closing: `options`, `limits` (the sizes at which work is divided), `open`, `target` (the names of the
//!   file that is written), `atomic_file`
//! - ranks: `team` (agreement), `session` (what happens after an error), `collective` (for libraries above)
//! - nodes: `node_memory` and `double_buffer` (memory that ranks share)
//! - small sections: `buffer`
//! - large sections: `deferred_headers` (headers are written last), `aggregators` and `stripes` (writers of each node)
//! - reading ahead: `read_ahead`
//! - the user's data: `source`, `encoding` (compression of this rank's elements), `sample` (whether it pays),
//!   `interrupt`, `sums` (checksums)
//! - where the time goes: `statistics`
#![forbid(unsafe_code)]

mod aggregators;
mod atomic_file;
mod buffer;
mod collective;
mod deferred_headers;
mod double_buffer;
mod encoding;
mod interrupt;
mod limits;
mod node_memory;
mod open;
mod options;
mod own_rows;
mod read_ahead;
mod reader;
mod sample;
mod session;
mod source;
mod statistics;
mod stripes;
mod sums;
mod target;
mod team;
mod writer;

pub use atomic_file::AtomicFile;
pub use collective::Collective;
pub use interrupt::Interrupt;
pub use limits::Limits;
pub use options::{Encode, Hdf5, ReadOptions, Tuning, WriteOptions};
pub use reader::{
    AddedRows, Content, DatasetHandle, Entries, Entry, EntryName, Inspector, LocatedError, RankRequest,
    Reader, ReaderState, Request, SealedPart, Seals, Section, SectionRanges, Stream, StreamReader, Streams,
    SuperblockState, open_if_valid,
};
pub use session::{OpenFile, SessionState, ThisRank};
pub use source::{Elements, ElementsMut, Sink, Sizes, Source};
pub use statistics::Statistics;
pub use stripes::{aggregators_of_node, of_block as stripe_of_block};
pub use writer::{
    BoxStream, Closing, CommitRequest, DataStream, DatasetBoxes, ElementStream, IncrementalWriter, Operation,
    PendingRequest, Writer, WriterState, append_if_valid, create_if_valid,
};
