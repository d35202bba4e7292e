//! Reads the datasets of a mesh that all ranks need.

use scda::{Collective, DatasetHandle, IndexBox, Reader, Result};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;

/// The bytes that are read at a time.
const AT_ONCE: u64 = 1 << 24;

/// The numbers of a dataset on all ranks; rank 0 reads the file. They arrive in parts. Before memory for the
/// next part is allocated, `check` is called with all numbers so far and the count of those that it has
/// checked before, so that a damaged number costs no memory.
pub(crate) fn read_all<T, const N: usize>(
    file: &mut Reader,
    dataset: &DatasetHandle,
    of: fn([u8; N]) -> T,
    mut check: impl FnMut(&[T], usize) -> Result<()>,
) -> Result<Vec<T>> {
    let bytes = dataset.data_bytes();
    let (rows, bytes) = (dataset.shape.first().copied().unwrap_or(1), file.agree_on(bytes)?);
    let row_bytes = bytes.checked_div(rows).unwrap_or(0);
    let at_once = AT_ONCE.checked_div(row_bytes).unwrap_or(1).max(1);
    let is_first = file.rank() == 0;
    let (mut all, mut own) = (Vec::new(), Vec::new());
    let mut first = 0;
    while first < rows {
        let now = at_once.min(rows - first);
        let room = if is_first { resize(&mut own, now * row_bytes) } else { Ok(()) };
        file.agree_on(room.and_then(|()| reserve(&mut all, to_usize(now * row_bytes) / N)))?;
        let mut region = IndexBox::all(&dataset.shape);
        if let (Some(start), Some(count)) = (region.start.first_mut(), region.count.first_mut()) {
            (*start, *count) = (first, now);
        }
        dataset.read(file, if is_first { std::slice::from_ref(&region) } else { &[] }, &mut own)?;
        let read = file.gather_all(Ok(&own))?;
        let seen = all.len();
        all.extend(read.as_chunks().0.iter().map(|bytes| of(*bytes)));
        file.agree_on(check(&all, seen))?;
        first += now;
    }
    Ok(all)
}
