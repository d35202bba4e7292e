//! Reads fields of a restart file that another version of the program may have written.

use super::arguments::Arguments;
use super::context::{on_reader, scda_fcontext_t};
use super::memory::{Out, Room, put};
use super::pointers::Text;
use scda::{Collective, Reader};
use scda_base::error::Error;
use scda_format::dataset::DataType;
use scda_format::layout::product;
use std::ffi::{c_int, c_void};

/// A result of `scda_fread_field`: the file has the field.
pub const SCDA_FIELD_FOUND: c_int = 1;
/// Also: the file has it by its old name.
pub const SCDA_FIELD_RENAMED: c_int = 2;
/// Also: its items have another type in the file, and were converted.
pub const SCDA_FIELD_CONVERTED: c_int = 4;
/// Also: its elements have another number of components in the file; those that both have were read.
pub const SCDA_FIELD_COMPONENTS: c_int = 8;

/// Reads a field that is distributed over the ranks along its first dimension, as written by
/// `scda_fwrite_field` and others, from a file that another version of the program may have written: by a new
/// or an old name, with any number type, and with any number of components. Values that the file does not
/// have are not changed in `data`, so store the defaults there before.
///
/// The ranks have consecutive rows, in their order, and together all rows.
///
/// Collective; `data` and `count` may differ between the ranks.
///
/// @param [in] f           The file, open for reading. Its position does not change.
/// @param [in] name        The name of the dataset, a C string.
/// @param [in] old_name    The name to look for if there is no dataset with the other name. NULL: none.
/// @param [in] record      The record, as for `scda_ffind_dataset`; `SCDA_LAST` is the last.
/// @param [in] type        The type of the items in memory: a number or `SCDA_TYPE_BOOL`. Numbers of another type in
///                         the file are converted.
/// @param [in,out] data    `components` items for each element of this rank. May be NULL if there are none.
/// @param [in] count       The number of elements on this rank.
/// @param [in] components  The number of items of each element in memory, at least 1. For a dataset of more
///                         than two dimensions, the product of all but the first.
/// @param [out] found      0 if the file has neither name; otherwise `SCDA_FIELD_FOUND`, plus what differs:
///                         `SCDA_FIELD_RENAMED`, `SCDA_FIELD_CONVERTED`, `SCDA_FIELD_COMPONENTS`. The same on
///                         all ranks. May be NULL.
/// @param [out] err        The error code: 0 also if there is no such dataset.
/// @return                 `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` if the ranks together have another number of elements than the dataset, or if a
/// dataset of more than two dimensions has other components; `SCDA_ERR_RANGE` for a number that does not fit
/// `type`; those of `scda_ffind_dataset` and `scda_fread_boxes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_field(
    f: *mut scda_fcontext_t,
    name: Text<'_>,
    old_name: Text<'_>,
    record: i64,
    r#type: c_int,
    data: Room<'_, c_void>,
    count: u64,
    components: u64,
    found: Out<'_, c_int>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let name = reader.require(name.utf8("name of a field"))?;
        let old_name = if old_name.is_null() { Ok(None) } else { old_name.utf8("old name").map(Some) };
        let old_name = reader.require(old_name)?;
        let wrong =
            || Error::argument(format!("type: found {type}, expected SCDA_TYPE_FLOAT64, ...", type = r#type));
        let data_type = reader.require(DataType::from_code(r#type).ok_or_else(wrong))?;
        let bytes = product(count, components).and_then(|items| product(items, data_type.item_bytes()));
        let bytes = bytes.ok_or_else(|| Error::range("components: the number of bytes exceeds 63 bits"));
        let data = reader.agree_on(bytes.and_then(|bytes| data.bytes(bytes)))?;
        let mut dataset = reader.dataset_record(name, record)?;
        let mut origin = if dataset.is_some() { SCDA_FIELD_FOUND } else { 0 };
        if let (None, Some(old_name)) = (&dataset, old_name) {
            dataset = reader.dataset_record(old_name, record)?;
            origin = if dataset.is_some() { SCDA_FIELD_FOUND | SCDA_FIELD_RENAMED } else { 0 };
        }
        if let Some(dataset) = dataset {
            let stored = dataset.read_own_rows(reader, count, data_type, components, data)?;
            origin |= if dataset.data_type == data_type { 0 } else { SCDA_FIELD_CONVERTED };
            origin |= if stored == components { 0 } else { SCDA_FIELD_COMPONENTS };
        }
        put(found, origin);
        Ok(())
    };
    on_reader(f, err, body)
}
