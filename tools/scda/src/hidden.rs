//! What programs for HDF5, and ParaView, do not see of a file that is also an HDF5 file, and why.

use crate::output::visible;
use crate::read_ahead::ReadAhead;
use scda_hdf5::{Previous, Superblock};
use std::collections::BTreeMap;

/// The most names of datasets in a line.
const MOST_NAMES: usize = 5;

/// What the view of a superblock does not show: a line for each reason, with the names of the first datasets.
///
/// # Errors
/// The errors of the view, and of reading it.
pub fn lines(file: &mut ReadAhead, Superblock { root, end }: Superblock) -> scda::Result<Vec<String>> {
    let mut read = |offset: u64, to: &mut [u8]| file.read(offset, to);
    Ok(by_reason(&scda_hdf5::not_shown(Previous { root, read: &mut read }, end)?))
}

/// Groups lines with a name and a reason by their reasons.
fn by_reason(hidden: &[String]) -> Vec<String> {
    let mut reasons = BTreeMap::<_, Vec<_>>::new();
    for line in hidden {
        let (name, program, why) = match line.split_once(": not in VTKHDF: ") {
            Some((name, why)) => (name, "ParaView", why),
            // A reason has no colon, but a name may have one.
            None => line.rsplit_once(": ").map_or(("", "HDF5", &**line), |(name, why)| (name, "HDF5", why)),
        };
        reasons.entry((program, why)).or_default().push(name);
    }
    let line = |((program, why), names): ((&str, &str), Vec<&str>)| {
        let shown = names[..names.len().min(MOST_NAMES)].join(", ");
        let more = match names.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        visible(&format!("not shown by {program}: {shown}{more}: {why}"))
    };
    reasons.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::by_reason;

    #[test]
    fn many_datasets_make_one_line_for_each_reason() {
        let mut hidden: Vec<_> = (0..10_000).map(|n| format!("u{n}: compressed as text")).collect();
        hidden.push("a: b: items of variable length".to_owned());
        hidden.push("mesh/rho: not in VTKHDF: its name is taken".to_owned());
        assert_eq!(
            by_reason(&hidden),
            [
                "not shown by HDF5: u0, u1, u2, u3, u4 and 9995 more: compressed as text",
                "not shown by HDF5: a: b: items of variable length",
                "not shown by ParaView: mesh/rho: its name is taken",
            ]
        );
    }
}
