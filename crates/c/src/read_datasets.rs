//! Reading datasets and the attributes of groups.

use super::arguments::Arguments;
use super::boxes::{CBoxes, Flat, Lists, scda_box_t};
use super::context::{Context, on_reader, scda_fcontext_t, with};
use super::dataset::{InMemory, array, scda_dataset_t};
use super::given::LastGiven;
use super::memory::{Room, Values, put};
use super::pointers::{Text, UserTextOut};
use super::versioned::{InOut, Structs};
use scda::bindings::{BindingCalls, OwnRequest, ReaderCalls};
use scda::{DataMut, Reader};
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_format::dataset::Dataset;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// Where C takes a dataset.
type Receiver<'a, 'd> = Option<InOut<'a, scda_dataset_t<'d>>>;

/// Where a dataset can be given to: nowhere if nobody wants it. Memory of the wrong size is an error of this rank.
fn receiver<'a, 'd>(reader: &mut Reader, d: InOut<'a, scda_dataset_t<'d>>) -> Receiver<'a, 'd> {
    if d.given().is_null() {
        return None;
    }
    d.given().size().map_err(|error| reader.refuse(error)).ok().map(|_| d)
}

/// Gives a dataset to C, if one was found.
fn give(
    given: &mut LastGiven,
    dataset: Option<&Dataset>,
    found: Option<&mut MaybeUninit<c_int>>,
    d: Receiver<'_, '_>,
) -> Result<()> {
    put(found, c_int::from(dataset.is_some()));
    if let Some(dataset) = dataset {
        let c = given.dataset(dataset);
        d.map_or(Ok(()), |d| d.write(c))?;
    }
    Ok(())
}

/// Gives attributes to C.
fn give_attributes(given: &mut LastGiven, text: &str, attributes: Option<&mut MaybeUninit<*const c_char>>) {
    let text = given.attributes(text);
    put(attributes, text);
}

/// Tells whether the section whose header was just read begins a dataset. If it does, this reads the
/// metadata and the header of the data: `d` says what the dataset is, and `scda_fread_dataset` reads any boxes of it, or
/// none; `scda_fread_section_header` goes on behind it. If not, nothing was read: the section is read as always.
///
/// To walk a file of datasets and other sections, call `scda_fread_section_header` with `decode`, this function,
/// and, for sections that may be groups, `scda_fread_group`. The end is where `scda_fread_section_header` returns
/// `SCDA_ERR_EOF`.
///
/// Collective; `d` may differ between the ranks. All ranks receive the same values.
///
/// @param [in] f       The file, open for reading, after the header of any section.
/// @param [out] found  1 if the section begins a dataset, otherwise 0. May be NULL.
/// @param [in,out] d   In: filled by `scda_dataset_init`. Out: the dataset; not written if there is none.
///                     What it points to belongs to the file. May be NULL.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` unless the header of a section was read last; `SCDA_ERR_FORMAT` and `SCDA_ERR_RANGE`
/// for metadata that are not those of a dataset, or do not fit the section behind them; `SCDA_ERR_UNSUPPORTED` for
/// a type of items that is none of these; `SCDA_ERR_ARG`; and those of `scda_fread_section_header`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_dataset_header(
    f: *mut scda_fcontext_t,
    found: Option<&mut MaybeUninit<c_int>>,
    d: InOut<'_, scda_dataset_t>,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let d = receiver(reader, d);
        reader.require_header()?;
        let dataset = reader.dataset()?;
        give(given, dataset.as_ref(), found, d)
    };
    with(f, err, body)
}

/// Finds a dataset by its name, and goes there: `scda_fread_dataset` reads any boxes of it, or none, and
/// `scda_fread_section_header` goes on behind it.
///
/// The dataset is found as by `scda_ffind`, and its metadata are read as by `scda_fread_dataset_header`.
///
/// Collective; `d` may differ between the ranks. All ranks receive the same values.
///
/// @param [in] f       The file, open for reading. Its position does not change if there is no such dataset.
/// @param [in] name    The name, a C string.
/// @param [in] record  Which of the datasets of this name: 0 is the first in the file, 1 the next; -1 is the
///                     last, -2 the one before it.
/// @param [out] found  1 if there is such a dataset, otherwise 0. May be NULL.
/// @param [in,out] d   In: filled by `scda_dataset_init`. Out: the dataset; not written if there is none.
///                     What it points to belongs to the file. May be NULL.
/// @param [out] err    The error code: 0 also if there is no such dataset.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_FORMAT` also if the section of this user string is no dataset; those of
/// `scda_ffind` and of `scda_fread_dataset_header`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_ffind_dataset(
    f: *mut scda_fcontext_t,
    name: Text<'_>,
    record: i64,
    found: Option<&mut MaybeUninit<c_int>>,
    d: InOut<'_, scda_dataset_t>,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let name = reader.require(name.utf8("name of a dataset"))?;
        let d = receiver(reader, d);
        let dataset = reader.find_dataset(name, record)?;
        give(given, dataset.as_ref(), found, d)
    };
    with(f, err, body)
}

/// Reads any boxes of the current dataset on each rank: also those that another rank reads, boxes that
/// overlap, or none.
///
/// Each rank reads and decompresses the chunks that its boxes touch, each one once. If several ranks of a node want
/// a chunk, one of them decompresses it for all, unless the chunk has more than 1 MiB or the dataset less. More boxes of the same
/// dataset may follow, until the next call of `scda_fread_section_header` or of a function that looks for something.
///
/// Collective; all arguments may differ between the ranks.
///
/// @param [in] f       The file, open for reading, after `scda_fread_dataset_header` or `scda_ffind_dataset` has
///                     found a dataset.
/// @param [out] data   Room for the items of this rank: one box after the other, each in C order (the last
///                     index varies fastest), in the machine's byte order. May be NULL if there are none.
/// @param [in] nboxes  The number of boxes of this rank; 0 reads nothing.
/// @param [in] start   The first index of each box in each dimension: `ndims` numbers for the first box,
///                     then for the next one. May be NULL if there are none.
/// @param [in] count   The number of indices of each box in each dimension, likewise; 0 is allowed. With 1 box,
///                     NULL for both `start` and `count` stands for all of the array.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` if there is no current dataset, `SCDA_ERR_ARG` for boxes outside of the array,
/// `SCDA_ERR_UNSUPPORTED` if `unsupported` in the dataset says why, `SCDA_ERR_DECODE` for a damaged chunk,
/// `SCDA_ERR_FORMAT`, `SCDA_ERR_COUNT`, `SCDA_ERR_RANGE`, `SCDA_ERR_CHECKSUM`, `SCDA_ERR_MEMORY`, and those of the
/// file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_dataset(
    f: *mut scda_fcontext_t,
    data: Room<'_, c_void>,
    nboxes: usize,
    start: Values<'_, u64>,
    count: Values<'_, u64>,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        reader.read_dataset_if_valid(|dataset| {
            let flat = Flat::new(dataset, nboxes, start, count)?;
            Ok((flat.regions, DataMut::Packed(data.bytes(flat.bytes)?)))
        })
    };
    on_reader(f, err, body)
}

/// The record that a name means if no number says otherwise: a program that restarts wants the last one.
const LAST_RECORD: i64 = -1;

/// Finds datasets by their names and reads boxes of each, in one call, to anywhere in memory (`scda_box_t`): a block with ghost
/// layers, one of several interleaved variables, a member of a struct. It does the same as `scda_ffind_dataset` and
/// `scda_fread_dataset` for each of them, in this order. The last one is then the current dataset. The chunks of all these
/// datasets are read as those of one: where several ranks of a node want the same chunks, and each dataset has few of them,
/// all ranks decompress.
///
/// Collective; all arguments but `n`, the names in `d`, and `record` may differ between the ranks.
///
/// @param [in] f       The file, open for reading.
/// @param [in] n       The number of datasets; 0 reads nothing.
/// @param [in] d       The datasets: `n` structs, one after the other, each filled first by `scda_dataset_init`. The
///                     name says which one is read; `type`, `item_bytes`, `unit`, `members` (as for writing), `ndims` and
///                     `shape` must be those of the dataset in the file, so that there is room for its items. What else they say is
///                     not compared. What `scda_ffind_dataset` has filled is fine. Not changed. NULL, on all ranks: the current
///                     dataset, as for `scda_fread_dataset`; `n` is 1.
/// @param [in] record  For each dataset which one of this name, as for `scda_ffind_dataset`. NULL: the last one of each. Ignored
///                     without `d`.
/// @param [in] nboxes  For each dataset the number of boxes of this rank. NULL: 1 of each.
/// @param [in] boxes   The boxes of the first dataset, then those of the next one, each filled first by `scda_box_init`. Where
///                     their `data` and `stride` say, their items are written; no two of them may overlap. May be NULL if there are none.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` for a dataset that the file does not have, or that has another type or shape there; those
/// of `scda_ffind_dataset` and of `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_datasets(
    f: *mut scda_fcontext_t,
    n: usize,
    d: Structs<'_, scda_dataset_t>,
    record: Values<'_, i64>,
    nboxes: Values<'_, usize>,
    boxes: Structs<'_, scda_box_t>,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let mut lists = Lists::new(n, nboxes, boxes);
        if d.is_null() && n == 1 {
            return reader.read_dataset_if_valid(|dataset| {
                CBoxes::new(dataset, dataset.data_type, lists.next(0)?)?.room()
            });
        }
        let structs = reader.require(d.read(n as u64, "d"))?;
        let record = reader.require(record.optional(n as u64, "record"))?;
        let (mut datasets, mut mine) = (Vec::new(), Vec::new());
        reader.require(reserve(&mut datasets, n).and_then(|()| reserve(&mut mine, n)))?;
        for (index, one) in structs.iter().enumerate() {
            let in_memory = reader.require(array(one))?;
            datasets.push((in_memory, record.map_or(LAST_RECORD, |record| record[index])));
        }
        for (index, (InMemory { dataset, data_type }, _)) in datasets.iter().enumerate() {
            let boxes = lists.next(index).and_then(|boxes| CBoxes::new(dataset, *data_type, boxes));
            let room = boxes.and_then(CBoxes::room);
            mine.push(match room {
                Ok((regions, data)) => (regions, Ok(data)),
                Err(error) => (Vec::new(), Err(error)),
            });
        }
        let all =
            datasets.iter().zip(&mut mine).map(|((InMemory { dataset, .. }, record), (regions, room))| {
                let room = std::mem::replace(room, Ok(DataMut::Packed(&mut [])));
                OwnRequest { dataset, record: *record, mine: room.map(|data| (&**regions, data)) }
            });
        reader.read_datasets_if_valid(all.collect())
    };
    on_reader(f, err, body)
}

/// Tells whether the section whose header was just read begins the attributes of a group. If it does, this
/// reads them, and `scda_fread_section_header` goes on behind them. If not, nothing was read.
///
/// Collective. All ranks receive the same values.
///
/// @param [in] f            The file, open for reading, after the header of any section.
/// @param [out] found       1 if the section begins the attributes of a group, otherwise 0. May be NULL.
/// @param [out] path        Room for `SCDA_NAME_BYTES` bytes: the path of the group as `scda_fwrite_group` takes it, and a
///                          NUL. Not written if there is none. May be NULL.
/// @param [out] attributes  A JSON object without white space between its parts, a C string that belongs to the
///                          file. It is valid until the next call of a function that sets attributes or a dataset, or until the file is
///                          closed. Not written if there is none. May be NULL.
/// @param [out] err         The error code.
/// @return                  `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` unless the header of a section was read last; `SCDA_ERR_FORMAT` for what is no
/// group, and those of `scda_fread_section_header`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_group(
    f: *mut scda_fcontext_t,
    found: Option<&mut MaybeUninit<c_int>>,
    path: UserTextOut<'_>,
    attributes: Option<&mut MaybeUninit<*const c_char>>,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        reader.require_header()?;
        let group = reader.group()?;
        put(found, c_int::from(group.is_some()));
        if let Some(group) = group {
            give_attributes(given, &group.attributes, attributes);
            // It has room for 64 bytes; a path is shorter than a user string.
            path.put(group.path.as_bytes(), None);
        }
        Ok(())
    };
    with(f, err, body)
}

/// Finds the attributes of a group: those that were written last. If it has some, `scda_fread_section_header` goes
/// on behind them.
///
/// Collective. All ranks receive the same values.
///
/// @param [in] f            The file, open for reading. Its position does not change if the group has no attributes.
/// @param [in] path         The path of the group, as `scda_fwrite_group` takes it.
/// @param [out] found       1 if the group has attributes, otherwise 0. May be NULL.
/// @param [out] attributes  As by `scda_fread_group`.
/// @param [out] err         The error code: 0 also if the group has no attributes.
/// @return                  `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` for a path that no group can have, and those of `scda_ffind` and of
/// `scda_fread_group`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_ffind_group(
    f: *mut scda_fcontext_t,
    path: Text<'_>,
    found: Option<&mut MaybeUninit<c_int>>,
    attributes: Option<&mut MaybeUninit<*const c_char>>,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let path = reader.require(path.utf8("path of a group"))?;
        let text = reader.find_group(path)?;
        put(found, c_int::from(text.is_some()));
        if let Some(text) = text {
            give_attributes(given, &text, attributes);
        }
        Ok(())
    };
    with(f, err, body)
}
