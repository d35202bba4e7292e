//! Partitions that a program makes once and passes to many calls.

use super::arguments::Arguments;
use super::context::{Context, scda_fcontext_t, with_value};
use super::memory::Out;
use super::pointers::PerRank;
use scda::bindings::{BindingCalls, ThisRank};
use scda_ranks::PartitionTable;
use scda_ranks::partition::is_known;
use std::ffi::c_int;

/// The number of words in `scda_partition_t` that replace the counts of all ranks.
pub const SCDA_PARTITION_WORDS: usize = 8;

/// The distribution of the elements of arrays over the ranks, made once by `scda_partition_local` or
/// `scda_partition_counts`. Its `Nq` can be passed wherever a function takes `Nq`: the call then takes the
/// same time on any number of ranks, and the program needs no array with a number for each rank. It is valid
/// for all files of the communicator, and need not be freed.
#[derive(Clone, Copy)]
#[repr(C)]
#[allow(non_snake_case)]
pub struct scda_partition {
    /// Replaces the number of elements on each rank. Only the library interprets these numbers.
    pub Nq: [u64; SCDA_PARTITION_WORDS],
    /// The number of elements on lower ranks, which is the index of this rank's first element.
    pub offset: u64,
    /// The number of elements on this rank.
    pub count: u64,
    /// The number of elements on all ranks.
    pub total: u64,
}

/// The distribution of the elements of arrays over the ranks.
pub type scda_partition_t = scda_partition;

impl From<PartitionTable> for scda_partition {
    fn from(known: PartitionTable) -> Self {
        let (offset, count, total) = (known.offset(), known.count(), known.total());
        Self { Nq: known.words(), offset, count, total }
    }
}

/// Makes a partition from each rank's number of elements. The cost does not depend on the number of ranks,
/// and no rank receives the numbers of all.
///
/// Collective; `count` may differ between the ranks.
///
/// @param [in] f      The file, open for writing or reading. Its position does not change.
/// @param [in] count  The number of elements on this rank, which may be 0.
/// @param [out] err   The error code.
/// @return            The partition. After an error it is invalid: calls refuse it, and the next call on `f`
///                    returns NULL and the same error.
/// Errors: `SCDA_ERR_RANGE`.
/// Spec: A.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_partition_local(
    f: *mut scda_fcontext_t,
    count: u64,
    err: Out<'_, c_int>,
) -> scda_partition_t {
    let body = |context: &mut Context| Ok(context.partition(count)?.into());
    with_value(f, err, PartitionTable::none().into(), body)
}

/// Makes a partition from the numbers of elements on all ranks.
///
/// Collective, but the ranks do not synchronize.
///
/// @param [in] f     The file, open for writing or reading. Its position does not change.
/// @param [in] Nq    The number of elements on each rank. Must not be NULL.
/// @param [out] err  The error code.
/// @return           The partition. After an error, as for `scda_partition_local`.
/// Errors: `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`.
/// Spec: A.1.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_partition_counts(
    f: *mut scda_fcontext_t,
    Nq: PerRank<'_>,
    err: Out<'_, c_int>,
) -> scda_partition_t {
    let body = |context: &mut Context| {
        let (counts, _) = context.counts(Nq)?;
        if let (true, Ok(words)) = (is_known(counts), counts.try_into()) {
            return Ok(PartitionTable::from_words(words).into());
        }
        let ThisRank { rank, size } = context.ranks();
        let known = PartitionTable::new(counts, rank, size);
        Ok(context.require(known)?.into())
    };
    with_value(f, err, PartitionTable::none().into(), body)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_constants_are_those_of_the_core() {
        let known = scda_ranks::PartitionTable::new(&[7], 0, 1).unwrap();
        let mark = format!("Nq[0] == UINT64_C({:#x}) ? Nq[4]", known[0]);
        assert!(include_str!("../../../include/scda.h").contains(&mark) && known[4] == 7, "{mark}");
        assert_eq!(super::SCDA_PARTITION_WORDS, scda_ranks::partition::KNOWN_WORDS);
    }
}
