//! The types of items, as C names them.

use super::memory::put;
use super::{Outcome, guard};
use crate::format::dataset::DataType;
use std::ffi::{c_char, c_int};
use std::ptr::null;

/// The name of a type of items, as docs/datasets.md has it: "float64", ..., and "raw bytes" for `SCDA_TYPE_RAW`.
///
/// Not collective.
///
/// @param [in]  type        One of `SCDA_TYPE_FLOAT64`, ...
/// @param [out] item_bytes  The bytes of an item; 0 for `SCDA_TYPE_RAW`, whose items have any number, and for what is no type. NULL: not
///                          wanted.
/// @return                  A C string that is valid forever, or NULL for what is no type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_type_name(r#type: c_int, item_bytes: *mut u64) -> *const c_char {
    let body = || {
        let data_type = DataType::from_code(r#type, 0);
        if !item_bytes.is_null() {
            // SAFETY: not NULL, so C passes an `item_bytes` that may be written.
            unsafe { put(item_bytes, data_type.map_or(0, DataType::item_bytes)) };
        }
        Ok((data_type.map_or(null(), |data_type| data_type.c_name().as_ptr()), Outcome::Success))
    };
    guard(None, null(), body)
}
