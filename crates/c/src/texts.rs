//! Writes and reads items of variable length.

use super::arguments::Arguments;
use super::boxes::PackedBoxes;
use super::context::{Context, FOR_WRITING, locally, on_writer, scda_fcontext_t, with};
use super::dataset::{InMemory, read_dataset, scda_dataset_t};
use super::memory::{Out, Room, Values, slice};
use super::pointers::Text;
use super::read_datasets::open;
use super::versioned::StructIn;
use scda::bindings::{Operation, ReaderCalls, WriterCalls};
use scda::{Texts, Writer};
use scda_base::error::{Error, Result};
use scda_base::numbers::to_usize;
use scda_format::dataset::{Dataset, items};
use scda_format::layout::product;
use std::ffi::{c_char, c_int, c_void};

/// Writes a dataset of texts or byte strings of any length (`SCDA_TYPE_STRING`, `SCDA_TYPE_VARIABLE_BYTES`).
/// Each rank has some indices of the first dimension, in the order of the ranks. The bytes of the file do not
/// depend on this distribution.
///
/// Such a dataset is always divided into chunks of whole indices of the first dimension; without `chunk`,
/// these have about 512 KiB. They are not compressed with `SCDA_ENCODE_NONE`; `SCDA_ENCODE_TEXT` is an error.
///
/// Collective; `count`, `items` and `lengths` may differ between the ranks.
///
/// @param [in] f        The file, open for writing.
/// @param [in] d        The description of the dataset, in which the first number of the shape is ignored: it
///                      is the sum of the ranks' counts. Not changed.
/// @param [in] count    The number of indices of the first dimension on this rank.
/// @param [in] items    The items of this rank in C order: `count` pointers, times the other numbers of the
///                      shape. They belong to the caller, and are not used after the call. May be NULL if
///                      there are none.
/// @param [in] lengths  The size of each item in bytes; the pointer to an empty item may be NULL. NULL: the
///                      items are C strings.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` also for another type, and for text that is not UTF-8; `SCDA_ERR_RANGE` for a chunk
/// of more than 2^31 - 1 bytes; those of `scda_fwrite_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fwrite_texts(
    f: *mut scda_fcontext_t,
    d: StructIn<'_, scda_dataset_t>,
    count: u64,
    items: Values<'_, *const c_char>,
    lengths: Values<'_, u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let InMemory { dataset, .. } = writer.require(read_dataset(d))?;
        let mine = own_texts(&dataset, count, items, lengths);
        writer.write(None, Operation::Texts { dataset: &dataset, count, items: mine.as_ref() })
    };
    on_writer(f, err, body)
}

/// The items of this rank: each pointer is to bytes of the given length, or without lengths to a C string.
fn own_texts(
    dataset: &Dataset,
    count: u64,
    pointers: Values<'_, *const c_char>,
    lengths: Values<'_, u64>,
) -> Result<Texts> {
    let row = items(dataset.shape.get(1..).unwrap_or_default());
    let all = row.and_then(|row| product(count, row));
    let all = all.ok_or_else(|| Error::range("count: the number of items exceeds 63 bits"))?;
    let (pointers, lengths) = (pointers.get(all, "items")?, lengths.optional(all, "lengths")?);
    let mut texts = Texts::new();
    for (place, &pointer) in pointers.iter().enumerate() {
        texts.push(match lengths {
            // SAFETY: C passes bytes of this length.
            Some(lengths) => unsafe { slice(pointer.cast::<u8>(), lengths[place], "item") }?,
            // SAFETY: C passes a C string.
            None => unsafe { Text::at(pointer) }.get("item")?.to_bytes(),
        })?;
    }
    Ok(texts)
}

/// Reads boxes of a dataset whose items are texts or byte strings of any length, on each rank, and returns
/// their lengths. The bytes are kept with the file until the next call of this function: `scda_texts_data`
/// copies them.
///
/// Collective; all arguments except the dataset may differ between the ranks.
///
/// @param [in] f         The file, open for reading. Its position does not change.
/// @param [in] d         A dataset of `SCDA_TYPE_STRING` or `SCDA_TYPE_VARIABLE_BYTES`, as found by
///                       `scda_ffind_dataset`; not changed. The same on all ranks.
/// @param [in] nboxes    The number of boxes of this rank; 0 reads nothing.
/// @param [in] start     The first index of each box in each dimension, as for `scda_fread_dataset`.
/// @param [in] count     The number of indices of each box in each dimension, likewise. With 1 box, NULL for
///                       both `start` and `count` means the whole array.
/// @param [out] lengths  The size of each item in bytes: one box after the other, each in C order. May be
///                       NULL if there are none.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` also for a dataset of another type; `SCDA_ERR_DECODE` also for text that is not
/// UTF-8; those of `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_texts_sizes(
    f: *mut scda_fcontext_t,
    d: StructIn<'_, scda_dataset_t>,
    nboxes: usize,
    start: Values<'_, u64>,
    count: Values<'_, u64>,
    lengths: Room<'_, u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        given.texts = None;
        let dataset = open(reader, given, d)?;
        let mine =
            PackedBoxes::new(&dataset, nboxes, start, count).and_then(|PackedBoxes { regions, .. }| {
                let all = regions.iter().map(|region| region.items()).sum::<Result<u64>>()?;
                Ok((regions, lengths.get(all, "lengths")?))
            });
        let (regions, lengths) = match mine {
            Ok((regions, lengths)) => (Ok(regions), lengths),
            Err(error) => (Err(error), Default::default()),
        };
        let regions = regions.as_deref().map_err(Error::again);
        let texts = reader.read_texts_if_valid(&dataset, regions)?;
        lengths.iter_mut().zip(texts.iter()).for_each(|(length, item)| *length = item.len() as u64);
        given.texts = Some(texts);
        Ok(())
    };
    with(f, err, body)
}

/// Copies the bytes of the items whose lengths `scda_fread_texts_sizes` last returned, one item after the
/// other, without anything between or after them.
///
/// Not collective. After an error `f` stays open.
///
/// @param [in] f      The file, open for reading.
/// @param [out] data  Room for the bytes. May be NULL if there are none.
/// @param [in] bytes  The number of bytes: the sum of the lengths.
/// @param [out] err   The error code.
/// @return            0, or -1 on error.
/// Errors: `SCDA_ERR_USAGE` if no lengths were returned; `SCDA_ERR_ARG` for another number of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_texts_data(
    f: *mut scda_fcontext_t,
    data: Room<'_, c_void>,
    bytes: u64,
    err: Out<'_, c_int>,
) -> c_int {
    let body = |context: &mut Context| {
        let Context::Reading(_, given) = context else {
            return Err(Error::usage(FOR_WRITING));
        };
        let texts =
            given.texts.as_ref().ok_or_else(|| Error::usage("texts: call scda_fread_texts_sizes first"))?;
        let found = texts.bytes();
        if found.len() != to_usize(bytes) {
            return Err(Error::argument(format!("bytes: found {bytes}, expected {}", found.len())));
        }
        data.bytes(bytes)?.copy_from_slice(found);
        Ok(())
    };
    locally(f, err, body)
}
