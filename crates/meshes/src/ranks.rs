//! Numbers of all ranks.

use scda::{Collective, Error, Partition, Result};
use scda_format::meshes::checksum::Checksum;

/// The sums of these numbers over all ranks, and over lower ranks.
pub(crate) fn spread<const N: usize>(file: &mut impl Collective, own: [u64; N]) -> Result<[Partition; N]> {
    let mut parts = own.map(|count| Partition { count, ..Partition::default() });
    file.spread(Ok(&mut parts))?;
    Ok(parts)
}

/// What [`are_numbered`] wants the sums of: whether this rank, with `count` things, has numbers of them, and whether it
/// has things without.
pub(crate) fn numbering(has_numbers: bool, count: usize) -> [u64; 2] {
    [u64::from(has_numbers), u64::from(!has_numbers && count > 0)]
}

/// Returns true if all `things` have numbers, and false if none has.
pub(crate) fn are_numbered(
    file: &mut impl Collective,
    [with, without]: [Partition; 2],
    things: &str,
) -> Result<bool> {
    if with.total > 0 && without.total > 0 {
        let words =
            format!("{things}: found numbers on some ranks only, expected them on all ranks or on none");
        return file.agree_on(Err(Error::argument(words)));
    }
    Ok(with.total > 0)
}

/// The checksum of a mesh, from the contribution of each rank.
///
/// # Errors
/// The errors of [`Collective::spread`].
pub(crate) fn checksum_of_all(file: &mut impl Collective, own: Checksum) -> Result<Checksum> {
    let [high, low] = spread(file, [own.0 >> 32, own.0 & u64::from(u32::MAX)])?;
    Ok(Checksum((high.total << 32).wrapping_add(low.total)))
}
