//! Lists the contents of a file: datasets, groups, streams and other sections.

use super::arguments::Arguments;
use super::context::{on_reader, scda_fcontext_t};
use super::dataset::{SCDA_MAX_DIMS, SCDA_NAME_BYTES, put_name, put_type};
use super::memory::Out;
use super::versioned::{StructInOut, StructOut, versioned, zeros};
use super::{Outcome, guard, keep_message};
use scda::{Content, Entry, Reader, Section};
use std::ffi::{c_char, c_int};

/// A dataset.
pub const SCDA_ENTRY_DATASET: c_int = 1;
/// A group with attributes.
pub const SCDA_ENTRY_GROUP: c_int = 2;
/// A set of streams of tasks.
pub const SCDA_ENTRY_STREAMS: c_int = 3;
/// Any other section.
pub const SCDA_ENTRY_SECTION: c_int = 4;
/// A dataset, group or set of streams that this library cannot read, because it is invalid or has an unknown
/// type: only its name is known. Right after `scda_fnext_entry`, `scda_last_error_message` says why; finding
/// it is an error.
pub const SCDA_ENTRY_UNKNOWN: c_int = 5;

/// An entry of a file, as `scda_fnext_entry` returns it. `scda_entry_init` fills it first; each call then
/// continues after the last entry.
#[derive(Clone, Copy)]
#[repr(C)]
#[allow(non_snake_case)]
pub struct scda_entry {
    /// The size of this struct in bytes, as `scda_entry_init` sets it.
    pub size: usize,
    /// The number of the first section of the entry, from 0: for `scda_fseek`.
    pub section: u64,
    /// The number of the section after it, from which the next call continues.
    pub end: u64,
    /// What the entry is: `SCDA_ENTRY_DATASET`, ...
    pub kind: c_int,
    /// For a dataset, the type of its items: `SCDA_TYPE_FLOAT64`, ... Otherwise 0.
    pub r#type: c_int,
    /// The name, a C string: of the dataset, the path of the group, the user string of the streams or
    /// section.
    pub name: [c_char; SCDA_NAME_BYTES],
    /// Its number among the entries of its kind and name, from 0, for `scda_ffind_dataset` and
    /// `scda_ffind_streams`.
    pub record: i64,
    /// The number of entries of this name.
    pub records: i64,
    /// For a dataset, the number of dimensions.
    pub ndims: c_int,
    /// For a section, its type: 'I', 'B', 'A' or 'V'. Otherwise 0.
    pub letter: c_int,
    /// For a dataset, the number of indices in each dimension, including rows that were added later. After
    /// `ndims` numbers, 0.
    pub shape: [u64; SCDA_MAX_DIMS],
    /// For an array ('A') or varray ('V'), the number of elements; for streams, the number of tasks.
    /// Otherwise 0.
    pub N: u64,
    /// For a block ('B'), its size in bytes; for an array, that of an element; for a dataset, that of an
    /// item; for streams, that of a chunk. Otherwise 0.
    pub E: u64,
}

/// An entry of a file.
pub type scda_entry_t = scda_entry;

versioned!(scda_entry_t, "entry", "scda_entry_init", zeros(), E: u64);

/// Begins before the first entry, in a struct of which the program knows the first `size` bytes;
/// `scda_entry_init` calls it.
///
/// Not collective.
///
/// @param [out] e    The entry. Must not be NULL.
/// @param [in] size  The size of `*e` when the program was compiled, which is stored in its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_entry_init_size(e: StructOut<'_, scda_entry_t>, size: usize) -> c_int {
    guard(None, -1, || e.init(size))
}

/// Finds the next entry of a file, as its users see it: each record of each dataset, groups, sets of streams,
/// and all other sections, in the order of the file. Attributes and rows that were added later belong to
/// their dataset; of a group, only the attributes that were written last are an entry.
///
/// If the file ends with a seal, it locates the sections. Otherwise headers are read, once while the file is
/// open. Other calls may come between two entries, and several lists may be read at once: the position of a
/// list is only in `e`.
///
/// At the end, `*err` is `SCDA_ERR_EOF`, `e` is not written, and `f` is returned.
///
/// Collective. All ranks pass the same entry, and receive the same values.
///
/// @param [in] f      The file, open for reading. Its position does not change.
/// @param [in,out] e  In: filled by `scda_entry_init`, or by the last call. Out: the next entry. Must not be
///                    NULL.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, and those of `scda_ffind_dataset`, `scda_ffind_group` and `scda_ffind_streams`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fnext_entry(
    f: *mut scda_fcontext_t,
    e: StructInOut<'_, scda_entry_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let before = reader.require(e.given().read())?;
        let Some(entry) = reader.next_entry(before.end)? else {
            return Ok(Outcome::EndOfFile);
        };
        e.write(of_entry(&entry))?;
        if let Content::Unknown(error) = &entry.content {
            keep_message(&error.to_string(), None);
        }
        Ok(Outcome::Success)
    };
    on_reader(f, err, body)
}

/// An entry in C's representation.
fn of_entry(entry: &Entry) -> scda_entry_t {
    let mut c: scda_entry_t = zeros();
    (c.section, c.end) = (entry.number, entry.end());
    (c.record, c.records) = (entry.record.cast_signed(), entry.records.cast_signed());
    put_name(&mut c.name, entry.name());
    match &entry.content {
        Content::Dataset(dataset) => {
            c.kind = SCDA_ENTRY_DATASET;
            (c.r#type, c.E, c.ndims) = put_type(dataset, &mut c.shape);
        }
        Content::Group(_) => c.kind = SCDA_ENTRY_GROUP,
        Content::Streams(streams) => {
            (c.kind, c.N, c.E) = (SCDA_ENTRY_STREAMS, streams.tasks(), streams.chunk_bytes());
        }
        Content::Unknown(_) => c.kind = SCDA_ENTRY_UNKNOWN,
        _ => {
            c.kind = SCDA_ENTRY_SECTION;
            if let Some(Section { section_type, count, size, .. }) = entry.sections.first() {
                (c.letter, c.N, c.E) = (c_int::from(section_type.letter()), *count, *size);
            }
        }
    }
    c
}
