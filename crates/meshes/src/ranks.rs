//! Numbers of all ranks.

use scda::{Collective, Error, Partition, Result};

/// The sums of these numbers over all ranks, and over lower ranks.
pub(crate) fn spread<const N: usize>(file: &mut impl Collective, own: [u64; N]) -> Result<[Partition; N]> {
    let mut parts = own.map(|count| Partition { count, ..Partition::default() });
    file.spread(Ok(&mut parts))?;
    Ok(parts)
}

/// Adds up how many `things` of each rank have numbers, and how many have none. Returns true if all have, and false
/// if none has.
pub(crate) fn are_numbered(
    file: &mut impl Collective,
    has_numbers: bool,
    count: usize,
    things: &str,
) -> Result<bool> {
    let counts = [u64::from(has_numbers), u64::from(!has_numbers && count > 0)];
    let [with, without] = spread(file, counts)?;
    if with.total > 0 && without.total > 0 {
        let words =
            format!("{things}: found numbers on some ranks only, expected them on all ranks or on none");
        return file.agree_on(Err(Error::argument(words)));
    }
    Ok(with.total > 0)
}
