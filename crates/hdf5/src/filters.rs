//! The codecs of chunks as HDF5 filters.

use crate::bytes::Bytes;
use scda_base::error::Result;
use scda_format::dataset::codecs::{Codecs, Filter};

/// Filters with numbers from here on have a name in the message.
const FIRST_NAMED: u16 = 256;

/// The message for the codecs of chunks of this size; empty if there is nothing to undo. The inner error is why
/// HDF5 cannot undo it.
///
/// # Errors
/// `Memory`.
pub fn message(codecs: &Codecs, chunk_bytes: u64) -> Result<Result<Bytes, &'static str>> {
    let mut out = Bytes::new();
    let filters = match codecs.filters(chunk_bytes) {
        Ok(filters) if filters.is_empty() => return Ok(Ok(out)),
        Ok(filters) => filters,
        Err(why) => return Ok(Err(why)),
    };
    out.put(&[2])?;
    out.number(filters.len() as u64, 1)?;
    for Filter { id, values } in filters {
        out.number(id.into(), 2)?;
        if id >= FIRST_NAMED {
            out.number(0, 2)?;
        }
        out.number(0, 2)?;
        out.number(values.len() as u64, 2)?;
        values.iter().try_for_each(|&value| out.number(value.into(), 4))?;
    }
    Ok(Ok(out))
}
