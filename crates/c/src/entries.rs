//! Lists what is in a file: datasets, groups, streams and other sections.

use super::arguments::Arguments;
use super::context::{on_reader, scda_fcontext_t};
use super::dataset::{SCDA_MAX_DIMS, SCDA_NAME_BYTES, put_name, put_type};
use super::versioned::{StructInOut, StructOut, versioned, zeros};
use super::{Outcome, guard};
use scda::{Content, Entry, Reader, Section};
use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;

/// A dataset.
pub const SCDA_ENTRY_DATASET: c_int = 1;
/// A group with attributes.
pub const SCDA_ENTRY_GROUP: c_int = 2;
/// A set of streams of tasks.
pub const SCDA_ENTRY_STREAMS: c_int = 3;
/// A section that is none of these.
pub const SCDA_ENTRY_SECTION: c_int = 4;
/// A dataset, group or set of streams that this library cannot read, because it is wrong or of a type that it does not have: only its name
/// is known. To find it is an error, which says why.
pub const SCDA_ENTRY_UNKNOWN: c_int = 5;

/// What `scda_fnext_entry` finds in a file. `scda_entry_init` fills it; each call then goes on from where the last one came.
#[derive(Clone, Copy)]
#[repr(C)]
#[allow(non_snake_case)]
pub struct scda_entry {
    /// The size of this struct in bytes, as `scda_entry_init` sets it.
    pub size: usize,
    /// The number of the first section of the entry, from 0: for `scda_fseek`.
    pub section: u64,
    /// The number of the section after it, where the next call begins.
    pub end: u64,
    /// What the entry is: `SCDA_ENTRY_DATASET`, ...
    pub kind: c_int,
    /// Of a dataset the type of its items: `SCDA_TYPE_FLOAT64`, ... Otherwise 0.
    pub r#type: c_int,
    /// The name, a C string: that of the dataset, the path of the group, the user string of streams or of the section.
    pub name: [c_char; SCDA_NAME_BYTES],
    /// Which of the entries of its kind and name it is, from 0: for `scda_ffind_dataset` and `scda_ffind_streams`.
    pub record: i64,
    /// How many there are of this name.
    pub records: i64,
    /// Of a dataset the number of dimensions.
    pub ndims: c_int,
    /// Of a section its type: 'I', 'B', 'A' or 'V'. Otherwise 0.
    pub letter: c_int,
    /// Of a dataset the number of indices in each dimension, with the rows that were added later. What follows `ndims` numbers is 0.
    pub shape: [u64; SCDA_MAX_DIMS],
    /// Of an array ('A') or varray ('V') the number of elements, of streams the number of tasks. Otherwise 0.
    pub N: u64,
    /// Of a block ('B') the bytes, of an array those of each element, of a dataset those of an item, of streams those of a chunk.
    /// Otherwise 0.
    pub E: u64,
}

/// What `scda_fnext_entry` finds in a file.
pub type scda_entry_t = scda_entry;

versioned!(scda_entry_t, "entry", "scda_entry_init", zeros(), E: u64);

/// Begins before the first entry, in a struct of which the program knows the first `size` bytes: what `scda_entry_init` calls.
///
/// Not collective.
///
/// @param [out] e    The entry. Must not be NULL.
/// @param [in] size  The size of `*e` where the program was compiled, which it gets as its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_entry_init_size(e: StructOut<'_, scda_entry_t>, size: usize) -> c_int {
    guard(None, -1, || e.init(size))
}

/// Tells what comes next in a file, as its users see it: each record of each dataset, groups, sets of streams, and all other sections, in the
/// order of the file. Attributes and rows that were added later are a part of their dataset, and of a group only the attributes that
/// count are an entry.
///
/// If a seal ends the file, the sections are found by it. Otherwise the headers are read, once while the file is open. Any other calls may
/// come between two entries, and any number of lists may be read at once: where one is stands in `e` alone.
///
/// At the end `*err` is `SCDA_ERR_EOF`, `e` is not written, and `f` is returned.
///
/// Collective. All ranks pass the same entry, and receive the same values.
///
/// @param [in] f      The file, open for reading. Its position does not change.
/// @param [in,out] e  In: filled by `scda_entry_init`, or by the last call. Out: the next entry. Must not be NULL.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, and those of `scda_ffind_dataset`, `scda_ffind_group` and `scda_ffind_streams`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fnext_entry(
    f: *mut scda_fcontext_t,
    e: StructInOut<'_, scda_entry_t>,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let before = reader.require(e.given().read())?;
        let Some(entry) = reader.next_entry(before.end)? else {
            return Ok(Outcome::EndOfFile);
        };
        e.write(of_entry(&entry))?;
        Ok(Outcome::Success)
    };
    on_reader(f, err, body)
}

/// An entry as C has it.
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
