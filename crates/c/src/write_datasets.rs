//! Writes datasets and the attributes of groups.

use super::arguments::Arguments;
use super::boxes::{BoxLists, CBoxes, PackedBoxes, scda_box_t};
use super::context::{on_writer, scda_fcontext_t};
use super::dataset::{InMemory, json, layout, of_c, read_dataset, scda_dataset_t};
use super::memory::{Out, Values};
use super::pointers::{PerRank, Text};
use super::versioned::{StructIn, Structs};
use super::write::lent;
use scda::bindings::{BindingCalls, DatasetBoxes, Operation, ThisRank, WriterCalls};
use scda::{Data, Writer};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_format::dataset::{DataType, Dataset};
use scda_format::layout::product;
use scda_ranks::Partition;
use std::ffi::{c_int, c_void};

/// Writes a dataset: a named array of numbers, of which each rank passes any boxes. Together they need not
/// fill the array: items that no rank passes have the fill value. An index in two boxes, of the same rank or
/// of different ranks, is an error that names it.
///
/// The bytes of the file depend on the data, the type, the shape, the chunks and the level, but not on which
/// rank passes what. If each rank passes one box of whole rows (indices of the first dimension), in the order
/// of the ranks, a contiguous dataset is written directly from `data`, as `scda_fwrite_array` does; otherwise
/// the ranks exchange parts of it, some MiB at a time.
///
/// Several datasets of one name are its records, such as time steps: `scda_ffind_dataset` finds each.
///
/// Collective; all arguments except `d` may differ between the ranks.
///
/// @param [in] f       The file, open for writing.
/// @param [in] d       The description of the dataset. Not changed.
/// @param [in] data    The items of this rank: one box after the other, each in C order (the last index
///                     varies fastest), in the machine's byte order. May be NULL if there are none.
/// @param [in] nboxes  The number of boxes of this rank; 0: none.
/// @param [in] start   The first index of each box in each dimension: `ndims` numbers for the first box,
///                     then for the next one. May be NULL if there are none.
/// @param [in] count   The number of indices of each box in each dimension, likewise; 0 is allowed. With 1
///                     box, NULL for both `start` and `count` means the whole array.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG` for an impossible dataset, for boxes outside the array, and for
/// an index in two boxes, `SCDA_ERR_NOT_FOUND` for a dataset to extend, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those
/// of the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fwrite_dataset(
    f: *mut scda_fcontext_t,
    d: StructIn<'_, scda_dataset_t>,
    data: Values<'_, c_void>,
    nboxes: usize,
    start: Values<'_, u64>,
    count: Values<'_, u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let InMemory { dataset, data_type } = writer.require(read_dataset(d))?;
        let mine = PackedBoxes::new(&dataset, nboxes, start, count);
        let mine = mine.and_then(|flat| flat.items(data, &dataset, data_type));
        let boxes = mine.as_ref().map(|(regions, items)| (&**regions, items.borrowed()));
        let memory = match &boxes {
            Ok((_, Data::Packed(items))) => lent(&Ok::<_, ()>(*items)),
            _ => None,
        };
        writer.write(memory, Operation::Dataset { dataset: &dataset, boxes })
    };
    on_writer(f, err, body)
}

/// Writes datasets in one call, one after the other, from boxes anywhere in memory (`scda_box_t`): for
/// example, a block with ghost layers, one of several interleaved variables, or a member of a struct. The
/// bytes of the file are those of a call of `scda_fwrite_dataset` for each. Datasets in chunks are compressed
/// together, up to 16 MiB of items for each rank at a time: the ranks exchange parts once for all of these
/// datasets, and datasets of few chunks are compressed by different ranks.
///
/// After an error, the file ends after one of the datasets, or with its previous contents.
///
/// Collective; all arguments except `n` and `d` may differ between the ranks.
///
/// @param [in] f       The file, open for writing.
/// @param [in] n       The number of datasets; 0 writes nothing.
/// @param [in] d       The descriptions of the datasets: `n` consecutive structs, each filled first by
///                     `scda_dataset_init`. Not changed.
/// @param [in] nboxes  For each dataset, the number of boxes of this rank. NULL: 1 each.
/// @param [in] boxes   The boxes of the first dataset, then those of the next one, each filled first by
///                     `scda_box_init`. May be NULL if there are none. Neither they nor what they point to is
///                     changed.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: those of `scda_fwrite_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fwrite_datasets(
    f: *mut scda_fcontext_t,
    n: usize,
    d: Structs<'_, scda_dataset_t>,
    nboxes: Values<'_, usize>,
    boxes: Structs<'_, scda_box_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let structs = writer.require(d.read(n as u64, "d"))?;
        let (mut datasets, mut mine) = (Vec::new(), Vec::new());
        writer.require(reserve(&mut datasets, n).and_then(|()| reserve(&mut mine, n)))?;
        for one in &*structs {
            datasets.push(writer.require(of_c(one))?);
        }
        let mut lists = BoxLists::new(n, nboxes, boxes);
        for (index, InMemory { dataset, data_type }) in datasets.iter().enumerate() {
            let boxes = lists.next(index).and_then(|boxes| CBoxes::new(dataset, *data_type, boxes));
            mine.push(boxes.and_then(CBoxes::items));
        }
        let all = datasets.iter().zip(&mine).map(|(InMemory { dataset, .. }, mine)| {
            let boxes = mine.as_ref().map(|(regions, items)| (&**regions, items.borrowed()));
            DatasetBoxes { dataset, boxes }
        });
        writer.write(None, Operation::Datasets(&all.collect::<Vec<_>>()))
    };
    on_writer(f, err, body)
}

/// Writes a dataset that is distributed over the ranks along its first dimension, in one call: if
/// `components` is 1, an array of shape (N), otherwise (N, `components`), where N is the sum of `count` over
/// the ranks. For other shapes, and for attributes such as units, use `scda_fwrite_dataset`.
///
/// Each call adds up the numbers of all ranks. `scda_fwrite_field_parts` avoids that.
///
/// Collective; `data` and `count` may differ between the ranks.
///
/// @param [in] f           The file, open for writing.
/// @param [in] name        The name of the dataset, a C string.
/// @param [in] type        The type of the items: a number or `SCDA_TYPE_BOOL`.
/// @param [in] data        The items of this rank: `components` for each of its elements. May be NULL if
///                         there are none.
/// @param [in] count       The number of elements on this rank.
/// @param [in] components  The number of items of each element, at least 1.
/// @param [in] encode      Whether to compress, like `encode` of `scda_dataset_t`. The library chooses the
///                         chunks.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: those of `scda_fwrite_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fwrite_field(
    f: *mut scda_fcontext_t,
    name: Text<'_>,
    r#type: c_int,
    data: Values<'_, c_void>,
    count: u64,
    components: u64,
    encode: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let name = writer.require(name.utf8("name of a dataset"))?;
        let dataset = writer.require(field(name, r#type, 0, components, encode))?;
        let data = own_items(&dataset, data, count);
        let (memory, data) = (lent(&data), data.as_ref().map(|data| Data::Packed(data)));
        writer.write(memory, Operation::OwnField { dataset: &dataset, count, data })
    };
    on_writer(f, err, body)
}

/// Like `scda_fwrite_field`, for a program that has the numbers of elements of all ranks, or a partition.
/// Small fields are buffered without a message between the ranks.
///
/// Collective; `data` may differ between the ranks.
///
/// @param [in] f           The file, open for writing.
/// @param [in] name        The name of the dataset, a C string.
/// @param [in] type        As for `scda_fwrite_field`.
/// @param [in] data        As for `scda_fwrite_field`.
/// @param [in] Nq          The number of elements on each rank, or the `Nq` of a partition.
/// @param [in] components  As for `scda_fwrite_field`.
/// @param [in] encode      As for `scda_fwrite_field`.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: those of `scda_fwrite_dataset`.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fwrite_field_parts(
    f: *mut scda_fcontext_t,
    name: Text<'_>,
    r#type: c_int,
    data: Values<'_, c_void>,
    Nq: PerRank<'_>,
    components: u64,
    encode: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let name = writer.require(name.utf8("name of a dataset"))?;
        let (counts, rows) = writer.counts(Nq)?;
        let ThisRank { rank, size } = writer.ranks();
        let total = Partition::new(counts, rank, size).map(|part| part.total);
        let dataset = total.and_then(|total| field(name, r#type, total, components, encode));
        let dataset = writer.require(dataset)?;
        let data = own_items(&dataset, data, rows);
        let (memory, data) = (lent(&data), data.as_ref().map(|data| Data::Packed(data)));
        writer.write(memory, Operation::Field { dataset: &dataset, counts, data })
    };
    on_writer(f, err, body)
}

/// The items of this rank, which has `rows` indices of the first dimension.
fn own_items<'a>(dataset: &Dataset, data: Values<'a, c_void>, rows: u64) -> Result<&'a [u8]> {
    let items = dataset.shape.iter().skip(1).try_fold(rows, |items, &n| product(items, n));
    let bytes = items.and_then(|items| product(items, dataset.data_type.item_bytes()));
    let bytes = bytes.ok_or_else(|| Error::range("components: the number of bytes exceeds 63 bits"))?;
    data.bytes(bytes)
}

/// The dataset of a field.
fn field(name: &str, code: c_int, total: u64, components: u64, encode: c_int) -> Result<Dataset> {
    let data_type = DataType::from_code(code).ok_or_else(|| {
        Error::argument(format!(
            "type: found {code}, expected SCDA_TYPE_FLOAT64, ...; types other than numbers are written by scda_fwrite_dataset"
        ))
    })?;
    let shape = match components {
        0 => return Err(Error::argument("components: found 0, expected at least 1")),
        1 => vec![total],
        n => vec![total, n],
    };
    let mut dataset = Dataset::new(name, data_type, shape);
    dataset.layout = layout(encode, &[])?;
    Ok(dataset)
}

/// Writes the attributes of a group of datasets, such as the title of a simulation or the time of a step. If
/// attributes are written again, readers see the later ones.
///
/// A group consists of the datasets whose names begin with its path and a slash. A group without attributes
/// need not be written.
///
/// Collective.
///
/// @param [in] f           The file, open for writing.
/// @param [in] path        The path of the group, with or without a slash at its end, a C string of at most
///                         57 bytes without it; "/" for the whole file.
/// @param [in] attributes  A JSON object, a C string in UTF-8. NULL: an empty one.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG` for an impossible group or attributes, `SCDA_ERR_MEMORY`, and
/// those of the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fwrite_group(
    f: *mut scda_fcontext_t,
    path: Text<'_>,
    attributes: Text<'_>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let path = writer.require(path.utf8("path of a group"))?;
        let text = attributes.optional().map(|_| json(attributes)).transpose();
        let text = writer.require(text)?;
        let attributes = text.as_deref().unwrap_or("{}");
        writer.write(None, Operation::Group { path, attributes })
    };
    on_writer(f, err, body)
}

/// Sets attributes of a group, or of a dataset in the file that this program or an earlier one has written.
/// Other attributes do not change.
///
/// They are appended, and become valid with the next seal: nothing in the file changes. So the file must be a
/// sealed one (`params.seal`), which was opened by `scda_fopen_append`, or in which the dataset was written
/// since it was created.
///
/// Collective. All ranks pass the same arguments.
///
/// @param [in] f        The file, open for writing.
/// @param [in] name     The name of the dataset, a C string; or the path of a group, such as "flow", with a slash
///                      at its end if a dataset also has this name, or the group has no attributes yet; or "/"
///                      for the whole file.
/// @param [in] record   Which of the datasets of this name, as for `scda_ffind_dataset`: 0 for the first one,
///                      -1 for the last one. Ignored for a group.
/// @param [in] changes  A JSON object, a C string in UTF-8, with the new value of each attribute to change.
///                      `null` removes it.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` for a file without seals, `SCDA_ERR_NOT_FOUND` for a dataset that the file does
/// not have, `SCDA_ERR_ARG` for impossible attributes, `SCDA_ERR_FORMAT` for a damaged dataset or group, and those of
/// `scda_fflush`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fset_attributes(
    f: *mut scda_fcontext_t,
    name: Text<'_>,
    record: i64,
    changes: Text<'_>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let name = writer.require(name.utf8("name of a dataset or path of a group"))?;
        let changes = writer.require(json(changes))?;
        writer.set_attributes(name, record, &changes)
    };
    on_writer(f, err, body)
}
