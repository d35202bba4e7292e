//! The values of the argument `encode`: whether data are compressed.

use scda::Encode;
use scda_base::error::{Error, Result};
use std::ffi::c_int;

/// A section is not compressed; a dataset is stored uncompressed in C order. The default of a dataset.
pub const SCDA_ENCODE_NONE: c_int = 0;
/// A section is compressed; a dataset is divided into chunks, which are compressed by its `codec`.
pub const SCDA_ENCODE_ALWAYS: c_int = 1;
/// A section is compressed if that makes it smaller. The library first examines a sample of the data. If the
/// sample would grow by more than a sixteenth, the section is not compressed; otherwise the whole section is
/// compressed, and the exact size decides. Repetitions that are far apart may not be noticed. The choice
/// depends only on the data, the encoder and the level, not on the partition. A reader that decompresses sees
/// no difference.
/// A dataset is divided into chunks and compressed if that makes data and metadata smaller, otherwise
/// uncompressed. The choice depends only on the data: of all chunks, or of 32 of them if these do not become
/// smaller. After reading, the value is never `AUTO`.
pub const SCDA_ENCODE_AUTO: c_int = 2;
/// Only for datasets: like `SCDA_ENCODE_ALWAYS`, but compressed by the convention of the scda format, as
/// text, which is a third larger.
pub const SCDA_ENCODE_TEXT: c_int = 3;

#[inline]
pub(super) fn encoding(encode: c_int) -> Result<Encode> {
    match encode {
        SCDA_ENCODE_NONE => Ok(Encode::None),
        SCDA_ENCODE_ALWAYS => Ok(Encode::Always),
        SCDA_ENCODE_AUTO => Ok(Encode::Auto),
        other => Err(no_encoding(other)),
    }
}

#[cold]
fn no_encoding(found: c_int) -> Error {
    let expected = "SCDA_ENCODE_NONE, SCDA_ENCODE_ALWAYS or SCDA_ENCODE_AUTO";
    Error::argument(format!("encode: found {found}, expected {expected}"))
}
