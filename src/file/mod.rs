//! Writer and Reader: the collective state machines of a file's sections.
//!
//! Beside `writer` and `reader`, the modules are:
//! - opening and closing: `options`, `limits` (at which sizes work is divided), `open`, `target` (the names of the file that is written)
//! - ranks: `team` (agreement), `session` (what happens after an error), `collective` (for libraries above)
//! - small sections: `buffer`, `turns` (memory that ranks share)
//! - large sections: `deferred_headers` (headers are written last), `relay` and `stripes` (writers of each node)
//! - nodes: `node_memory` (what the ranks of one share)
//! - reading ahead: `window`
//! - the user's data: `source`, `encoding` (compression of this rank's elements), `sample` (whether it pays), `interrupt`, `sums` (checksums)
//! - where the time goes: `statistics`
#![forbid(unsafe_code)]

mod buffer;
mod collective;
mod deferred_headers;
mod encoding;
mod interrupt;
mod limits;
mod node_memory;
mod open;
mod options;
mod reader;
mod relay;
mod sample;
mod session;
mod source;
mod statistics;
mod stripes;
mod sums;
mod target;
mod team;
mod turns;
mod whole;
mod window;
mod writer;

pub use collective::Collective;
pub use interrupt::Interrupt;
pub use limits::Limits;
pub use options::{Encode, ReadOptions, Tuning, WriteOptions};
pub use reader::{
    AddedRows, Content, DatasetHandle, Entries, Entry, Located, OwnRequest, Reader, Request, Sealed, Seals,
    Section, Stream, StreamReader, Streams,
};
pub use session::ThisRank;
pub use source::{Elements, ElementsMut, Sink, Sizes, Source};
pub use statistics::Statistics;
pub use stripes::{of_block as stripe_of_block, writers_of_pieces};
pub use whole::WholeFile;
pub use writer::{
    BoxStream, Closing, CommitRequest, DataStream, DatasetBoxes, ElementStream, Operation, Pending, Writer,
};
