//! Determines what remains of a sealed file that is rolled back to any point.

use super::chain::{Chain, compare_anchors, differs};
use super::index::SealedPart;
use crate::file::options::WriteOptions;
use scda_base::error::{Error, Result};
use scda_base::memory::{reserve, resize};
use scda_format::dataset::additions::is_followed;
use scda_format::dataset::without_root;
use scda_format::entry::parse_count;
use scda_format::header::UserString;
use scda_format::index::{ANCHOR_BYTES, Row, TABLE_HEADER_BYTES};
use scda_format::seal::SEAL_BYTES;
use scda_format::streams::STREAM_BYTES;
use scda_storage::ParallelFile;

/// What the next seal needs to know of the last one. The default stands for no seal.
#[derive(Clone, Copy, Default)]
pub struct LastSeal {
    /// The offset of its end.
    pub length: u64,
    /// The number of sections before it.
    pub sections: u64,
}

impl LastSeal {
    /// The offset of its beginning.
    pub fn offset(self) -> u64 {
        self.length - SEAL_BYTES as u64
    }
}

/// The first dataset of each step of a mesh, below the path of the mesh's group.
pub(super) const MESH_TIME: &str = "time";

/// Where a program that appends continues in an existing file.
#[derive(Clone, Debug)]
pub(in crate::file) enum AppendPlace {
    /// After the last seal.
    End,
    /// After this number of sections.
    Sections(u64),
    /// Before the record that follows this one of a dataset.
    Record { name: String, record: i64 },
}

impl AppendPlace {
    /// The place that these options request.
    pub fn of(options: &WriteOptions) -> Self {
        match &options.append_record {
            Some((name, record)) => {
                // A step of a mesh begins with its time.
                let part = if name.ends_with('/') { MESH_TIME } else { "" };
                Self::Record { name: [without_root(name), part].concat(), record: *record }
            }
            None if options.append_after > 0 => Self::Sections(options.append_after),
            None => Self::End,
        }
    }
}

/// Sections that remain after the last remaining seal, so that no seal covers them yet.
pub(in crate::file) struct KeptSections {
    /// The last remaining seal.
    pub seal: Option<LastSeal>,
    /// Their rows with checksums, on rank 0. Without a seal, the first row is that of the file header.
    pub rows: Vec<Row>,
    /// Their anchors, on rank 0.
    pub anchors: Vec<u64>,
    /// Where they end.
    pub end: u64,
}

impl KeptSections {
    /// Where the file ends for readers until these sections have a seal: after the last remaining seal, or
    /// after the header.
    pub fn stays(&self, header_bytes: u64) -> u64 {
        self.seal.map_or(header_bytes, |seal| seal.length)
    }

    /// Determines what remains of the first `sections` sections of a file whose last seal is `last`: the last
    /// remaining seal, and the sections after it, if any.
    ///
    /// # Errors
    /// `Argument` if the last section belongs together with the next one; `Checksum`; the errors of reading.
    pub fn find(
        file: &mut dyn ParallelFile,
        last: LastSeal,
        sections: u64,
    ) -> Result<(LastSeal, Option<Self>)> {
        let mut chain = Chain::new(last.length);
        let (from_end, sealed) = chain.on(file).seal_where(|span| span.first < sections)?;
        let SealedPart { seal, first, .. } = sealed;
        if seal.sections == sections {
            return Ok((LastSeal { length: seal.length, sections }, None));
        }
        let mut rows = chain.on(file).rows(from_end)?;
        let kept = usize::try_from(sealed.header_rows() + sections - first).unwrap_or(usize::MAX);
        let next = rows.get(kept).map(|row| row.user);
        rows.truncate(kept);
        let (Some(end), Some(next)) = (rows.last().copied(), next) else {
            return Err(differs("index", "fewer rows", &sections.to_string(), seal.index));
        };
        check_between(sections, end.user, next)?;
        let count = rows.iter().map(Row::anchors).sum();
        let anchors = if count > 0 { read_anchors(file, &sealed, count)? } else { Vec::new() };
        let before = (seal.previous > 0).then(|| LastSeal { length: sealed.begin(), sections: first });
        let kept = Self { seal: before, rows, anchors, end: end.end() };
        Ok((before.unwrap_or_default(), Some(kept)))
    }
}

/// Returns an error if the section before belongs together with the next one, from which it must not be
/// separated.
fn check_between(sections: u64, before: UserString, next: UserString) -> Result<()> {
    if !is_followed(&before) && *next != *STREAM_BYTES {
        return Ok(());
    }
    let words =
        format!("append_after: {sections}: section {sections} belongs to the one before it, which stays");
    Err(Error::argument(words))
}

/// Reads the first anchors of a seal, and verifies their checksum.
fn read_anchors(file: &mut dyn ParallelFile, sealed: &SealedPart, count: u64) -> Result<Vec<u64>> {
    compare_anchors(file, sealed)?;
    let at = sealed.anchors + TABLE_HEADER_BYTES as u64;
    let bytes = count.checked_mul(ANCHOR_BYTES as u64).filter(|bytes| at + bytes <= sealed.names);
    let Some(bytes) = bytes else {
        return Err(differs("anchors", "fewer", &count.to_string(), sealed.anchors));
    };
    let (mut entries, mut anchors) = (Vec::new(), Vec::new());
    resize(&mut entries, bytes)?;
    file.read_at(at, &mut entries)?;
    let entries = entries.as_chunks().0;
    reserve(&mut anchors, entries.len())?;
    for entry in entries {
        anchors.push(parse_count(entry, b'O').map_err(|error| error.at(at))?);
    }
    Ok(anchors)
}
