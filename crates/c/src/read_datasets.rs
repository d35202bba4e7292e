//! Reads datasets and the attributes of groups.

use super::arguments::Arguments;
use super::boxes::{BoxLists, CBoxes, PackedBoxes, scda_box_t};
use super::context::{Context, on_reader, scda_fcontext_t, with};
use super::dataset::{InMemory, array, scda_dataset_t, without_pointers};
use super::memory::{Out, Room, Values, put};
use super::pointers::Text;
use super::returned_values::ReturnedValues;
use super::versioned::{StructIn, StructInOut, Structs};
use scda::bindings::{BindingCalls, RankRequest, ReaderCalls};
use scda::{Content, DataMut, DatasetHandle, Reader};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_format::dataset::Dataset;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

/// C's struct for a dataset, if it wants one.
type Receiver<'a, 'd> = Option<StructInOut<'a, scda_dataset_t<'d>>>;

/// Prepares C's struct for a dataset; `None` if C passes NULL. A struct of the wrong size is an error of this
/// rank.
fn receiver<'a, 'd>(reader: &mut Reader, d: StructInOut<'a, scda_dataset_t<'d>>) -> Receiver<'a, 'd> {
    if d.given().is_null() {
        return None;
    }
    d.given().size().map_err(|error| reader.refuse(error)).ok().map(|_| d)
}

/// The record of a name that is used by default: a program that restarts wants the last one.
pub const SCDA_LAST: i64 = -1;

/// Finds a dataset by its name, and returns its description. `scda_fread_dataset` and others take the struct
/// `d`, or a copy of it, and read any boxes. Any number of datasets may be read in any order; none of these
/// calls changes the position of the file, and nothing needs to be closed.
///
/// The section of its data is found as by `scda_ffind`.
///
/// Collective; `d` may differ between the ranks. All ranks receive the same values.
///
/// @param [in] f       The file, open for reading. Its position does not change.
/// @param [in] name    The name, a C string.
/// @param [in] record  Which of the datasets of this name: `SCDA_LAST` is the last, -2 the one before it; 0
///                     is the first in the file, 1 the next.
/// @param [out] found  1 if there is such a dataset, otherwise 0. May be NULL.
/// @param [in,out] d   In: filled by `scda_dataset_init`. Out: the dataset; not written if there is none.
///                     What it points to belongs to the file. May be NULL.
/// @param [out] err    The error code: 0 also if there is no such dataset.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_FORMAT` also if the section of this user string is not a dataset; this and
/// `SCDA_ERR_RANGE` for metadata that are invalid or do not fit the section after them;
/// `SCDA_ERR_UNSUPPORTED` for an unknown item type; `SCDA_ERR_ARG`; those of `scda_ffind` and
/// `scda_fread_section_header`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_ffind_dataset(
    f: *mut scda_fcontext_t,
    name: Text<'_>,
    record: i64,
    found: Out<'_, c_int>,
    d: StructInOut<'_, scda_dataset_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let name = reader.require(name.utf8("name of a dataset"))?;
        find_in(reader, given, Some((name, record)), found, d)
    };
    with(f, err, body)
}

/// Finds a record of a dataset, and returns it to C.
pub(super) fn find_in(
    reader: &mut Reader,
    given: &mut ReturnedValues,
    record: Option<(&str, i64)>,
    found: Out<'_, c_int>,
    d: StructInOut<'_, scda_dataset_t>,
) -> Result<()> {
    let d = receiver(reader, d);
    let dataset = match record {
        Some((name, record)) => reader.dataset_record(name, record)?,
        None => None,
    };
    let is_found = c_int::from(dataset.is_some());
    if let Some(dataset) = dataset {
        // What C may point to until the file is closed counts as memory of the call: the same on all ranks.
        let names = dataset.dimension_names.iter().flatten().map(String::len).sum::<usize>();
        let more = dataset.attributes.len() + dataset.fill_value.len() + names;
        reader.check_memory(given.bytes_with(more))?;
        let Ok(mut c) = given.dataset(&dataset).map_err(|error| reader.refuse(error)) else { return Ok(()) };
        c.number = given.number(dataset.metadata_section().offset);
        given.datasets.keep(dataset);
        d.map_or(Ok(()), |d| d.write(c))?;
    }
    put(found, is_found);
    Ok(())
}

/// The dataset of this struct, which [`scda_ffind_dataset`] has filled.
pub(super) fn open(
    reader: &mut Reader,
    given: &mut ReturnedValues,
    d: StructIn<'_, scda_dataset_t>,
) -> Result<DatasetHandle> {
    let none =
        |what| Error::argument(format!("dataset: found {what}, expected one found by scda_ffind_dataset"));
    let c = reader.require(d.read())?;
    let offset = given.offset(c.number);
    let dataset = match given.datasets.take(offset) {
        Some(dataset) => dataset,
        None if c.number == 0 => return Err(reader.fail(none("none"))),
        None if reader.inspect().file_size().is_some_and(|bytes| offset < bytes) => {
            match reader.inspect().content_at(offset)? {
                Some((Content::Dataset(dataset), _)) => dataset,
                _ => return Err(reader.fail(none("none"))),
            }
        }
        None => {
            // Fortran passes no name.
            let name = array(&c).map_or_else(|_| String::new(), |found| found.dataset.name);
            let name = if name.is_empty() { name } else { format!(" \"{name}\"") };
            let words = format!(
                "dataset{name}: it was found in another open file, expected one that scda_ffind_dataset \
                 has found in this file since it was opened"
            );
            return Err(reader.fail(Error::argument(words)));
        }
    };
    given.datasets.keep(dataset.clone());
    // The caller's memory must fit, even if rows were added meanwhile.
    let found = without_pointers(&dataset);
    if (c.r#type, c.item_bytes, c.ndims, c.shape)
        == (found.r#type, found.item_bytes, found.ndims, found.shape)
    {
        return Ok(dataset);
    }
    Err(reader.fail(none("another type or shape")))
}

/// Reads any boxes of a dataset on each rank: boxes that other ranks read, boxes that overlap, or none.
///
/// Each rank reads and decompresses the chunks that its boxes touch, each once. A chunk that several ranks of
/// a node want is decompressed by one of them for all, unless it has more than 1 MiB or the dataset has less.
///
/// Collective; all arguments except the dataset may differ between the ranks.
///
/// @param [in] f        The file, open for reading. Its position does not change.
/// @param [in] d        The dataset, as found by `scda_ffind_dataset`; not changed. The same on all ranks.
/// @param [out] data    Room for the items of this rank: one box after the other, each in C order (the last
///                      index varies fastest), in the machine's byte order. May be NULL if there are none.
/// @param [in] nboxes   The number of boxes of this rank; 0 reads nothing.
/// @param [in] start    The first index of each box in each dimension: `ndims` numbers for the first box,
///                      then for the next one. May be NULL if there are none.
/// @param [in] count    The number of indices of each box in each dimension, likewise; 0 is allowed. With 1
///                      box, NULL for both `start` and `count` means the whole array.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` for a struct without a dataset of this file, and for boxes outside the array;
/// `SCDA_ERR_UNSUPPORTED` for the reason in `unsupported` of the dataset; `SCDA_ERR_DECODE` for a damaged
/// chunk; `SCDA_ERR_FORMAT`, `SCDA_ERR_COUNT`, `SCDA_ERR_RANGE`, `SCDA_ERR_CHECKSUM`, `SCDA_ERR_MEMORY`, and
/// those of the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_dataset(
    f: *mut scda_fcontext_t,
    d: StructIn<'_, scda_dataset_t>,
    data: Room<'_, c_void>,
    nboxes: usize,
    start: Values<'_, u64>,
    count: Values<'_, u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let dataset = open(reader, given, d)?;
        let boxes = PackedBoxes::new(&dataset, nboxes, start, count)
            .and_then(|flat| Ok((flat.regions, DataMut::Packed(data.bytes(flat.bytes)?))));
        reader.read_dataset_if_valid(&dataset, boxes)
    };
    with(f, err, body)
}

/// Like `scda_fread_dataset`, to anywhere in memory (`scda_box_t`): for example, a block with ghost layers,
/// one of several interleaved variables, or a member of a struct.
///
/// Collective; all arguments except the dataset may differ between the ranks.
///
/// @param [in] f        The file, open for reading. Its position does not change.
/// @param [in] d        The dataset, as found by `scda_ffind_dataset`; not changed. The same on all ranks.
/// @param [in] nboxes   The number of boxes of this rank; 0 reads nothing.
/// @param [in] boxes    The boxes, each filled first by `scda_box_init`. Items are written where `data` and
///                      `stride` say; no two boxes may overlap in memory. May be NULL if there are none.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: those of `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_boxes(
    f: *mut scda_fcontext_t,
    d: StructIn<'_, scda_dataset_t>,
    nboxes: usize,
    boxes: Structs<'_, scda_box_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let dataset = open(reader, given, d)?;
        let boxes = boxes.read(nboxes as u64, "boxes");
        let boxes = boxes.and_then(|boxes| CBoxes::new(&dataset, dataset.data_type, &boxes)?.room());
        reader.read_dataset_if_valid(&dataset, boxes)
    };
    with(f, err, body)
}

/// Finds datasets by their names and reads boxes of each, in one call, to anywhere in memory (`scda_box_t`),
/// like `scda_ffind_dataset` and `scda_fread_boxes` for each of them in this order. The ranks of a node
/// divide the chunks of all datasets among them as if they were those of one dataset, so that all ranks
/// decompress even if each dataset has few chunks.
///
/// Collective; all arguments except `n`, the names in `d`, and `record` may differ between the ranks.
///
/// @param [in] f       The file, open for reading. Its position does not change.
/// @param [in] n       The number of datasets; 0 reads nothing.
/// @param [in] d       The datasets: `n` consecutive structs, each filled first by `scda_dataset_init`. The
///                     name determines which one is read; `type`, `item_bytes`, `unit`, `members` (as for
///                     writing), `ndims` and `shape` must be those of the dataset in the file, so that its
///                     items fit the memory. Other members are not compared. Structs filled by
///                     `scda_ffind_dataset` are suitable. Not changed. May be NULL if there are none.
/// @param [in] record  For each dataset, which one of its name, as for `scda_ffind_dataset`. NULL: the last
///                     one of each.
/// @param [in] nboxes  For each dataset, the number of boxes of this rank. NULL: 1 each.
/// @param [in] boxes   The boxes of the first dataset, then those of the next one, each filled first by
///                     `scda_box_init`. Items are written where `data` and `stride` say; no two boxes may
///                     overlap in memory. May be NULL if there are none.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` for a dataset that the file does not have; `SCDA_ERR_ARG` for one that has another
/// type or shape in the file; those of `scda_ffind_dataset` and of `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_datasets(
    f: *mut scda_fcontext_t,
    n: usize,
    d: Structs<'_, scda_dataset_t>,
    record: Values<'_, i64>,
    nboxes: Values<'_, usize>,
    boxes: Structs<'_, scda_box_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let mut lists = BoxLists::new(n, nboxes, boxes);
        let structs = reader.require(d.read(n as u64, "d"))?;
        let record = reader.require(record.optional(n as u64, "record"))?;
        let (mut wanted, mut datasets, mut mine) = (Vec::new(), Vec::new(), Vec::new());
        let room = reserve(&mut wanted, n).and_then(|()| reserve(&mut datasets, n));
        reader.require(room.and_then(|()| reserve(&mut mine, n)))?;
        for one in structs.iter() {
            wanted.push(reader.require(array(one))?);
        }
        for (index, InMemory { dataset, .. }) in wanted.iter().enumerate() {
            let record = record.map_or(SCDA_LAST, |record| record[index]);
            let found = reader.dataset_record(&dataset.name, record)?;
            datasets.push(reader.require(found.ok_or_else(|| none_found(dataset, record)))?);
        }
        for (index, (InMemory { dataset, data_type }, found)) in wanted.iter().zip(&datasets).enumerate() {
            let boxes = found.check_like(dataset).and_then(|()| lists.next(index));
            let boxes = boxes.and_then(|boxes| CBoxes::new(dataset, *data_type, boxes)?.room());
            mine.push(match boxes {
                Ok((regions, data)) => (regions, Ok(data)),
                Err(error) => (Vec::new(), Err(error)),
            });
        }
        let all = datasets.iter().zip(&mut mine).map(|(dataset, (regions, room))| {
            let room = std::mem::replace(room, Ok(DataMut::Packed(&mut [])));
            RankRequest { dataset, mine: room.map(|data| (&**regions, data)) }
        });
        reader.read_datasets_if_valid(all.collect())
    };
    on_reader(f, err, body)
}

/// The error for a dataset that the file does not have.
fn none_found(dataset: &Dataset, record: i64) -> Error {
    let what = if record == SCDA_LAST { String::new() } else { format!("record {record} ") };
    Error::not_found(format!("dataset \"{}\": {what}not found", dataset.name))
}

/// Finds the attributes of a group, as they were last written.
///
/// Collective. All ranks receive the same values.
///
/// @param [in] f            The file, open for reading. Its position does not change.
/// @param [in] path         The path of the group, as `scda_fwrite_group` takes it.
/// @param [out] found       1 if the group has attributes, otherwise 0. May be NULL.
/// @param [out] attributes  A JSON object without white space between its parts, a C string that belongs to
///                          the file, and is valid until it is closed. Equal texts are kept once. Not written
///                          if there is none. May be NULL.
/// @param [out] err         The error code: 0 also if the group has no attributes.
/// @return                  `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` for a path that no group can have, `SCDA_ERR_FORMAT` for something that is not a
/// group, and those of `scda_ffind` and `scda_fread_section_header`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_ffind_group(
    f: *mut scda_fcontext_t,
    path: Text<'_>,
    found: Out<'_, c_int>,
    attributes: Out<'_, *const c_char>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let path = reader.require(path.utf8("path of a group"))?;
        let group = reader.group(path)?;
        put(found, c_int::from(group.is_some()));
        if let Some(group) = group {
            reader.check_memory(given.bytes_with(group.attributes.len()))?;
            let text = given.attributes(&group.attributes).map_err(|error| reader.refuse(error));
            put(attributes, text.unwrap_or(null()));
        }
        Ok(())
    };
    with(f, err, body)
}
