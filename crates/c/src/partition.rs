//! Partitions that a program makes once and passes to many calls.

use super::arguments::Arguments;
use super::context::{Context, scda_fcontext_t, with_value};
use super::pointers::PerRank;
use scda::bindings::{BindingCalls, ThisRank};
use scda_ranks::PartitionTable;
use scda_ranks::partition::is_known;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// The numbers of `scda_partition_t` that stand for the counts of all ranks.
pub const SCDA_PARTITION_WORDS: usize = 8;

/// How the elements of arrays are distributed over the ranks, made once by `scda_partition_local` or
/// `scda_partition_counts`. Pass its `Nq` wherever a function takes `Nq`: then the call takes the same time on any number of
/// ranks, and the program needs no array with a number for each rank. It holds for all files of the communicator, and
/// needs not be freed.
#[derive(Clone, Copy)]
#[repr(C)]
#[allow(non_snake_case)]
pub struct scda_partition {
    /// Stands for the number of elements on each rank. Its numbers mean something to the library alone.
    pub Nq: [u64; SCDA_PARTITION_WORDS],
    /// How many elements the ranks below this one have: the index of the first element of this rank.
    pub offset: u64,
    /// How many elements this rank has.
    pub count: u64,
    /// How many elements all ranks have.
    pub total: u64,
}

/// How the elements of arrays are distributed over the ranks.
pub type scda_partition_t = scda_partition;

impl From<PartitionTable> for scda_partition {
    fn from(known: PartitionTable) -> Self {
        let (offset, count, total) = (known.offset(), known.count(), known.total());
        Self { Nq: known.words(), offset, count, total }
    }
}

/// Makes a partition of each rank's own number of elements. The ranks exchange as much on any number of ranks, and none
/// receives the numbers of all.
///
/// Collective; `count` may differ between the ranks.
///
/// @param [in] f      The file, open for writing or reading. Its position does not change.
/// @param [in] count  The number of elements on this rank, which may be 0.
/// @param [out] err   The error code.
/// @return            The partition. After an error it is none: it is refused wherever it is passed, and the next call on
///                    `f` returns NULL and the same error.
/// Errors: `SCDA_ERR_RANGE`.
/// Spec: A.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_partition_local(
    f: *mut scda_fcontext_t,
    count: u64,
    err: Option<&mut MaybeUninit<c_int>>,
) -> scda_partition_t {
    let body = |context: &mut Context| Ok(context.partition(count)?.into());
    with_value(f, err, PartitionTable::none().into(), body)
}

/// Makes a partition of the numbers of elements on all ranks.
///
/// Collective, but the ranks do not meet in it.
///
/// @param [in] f     The file, open for writing or reading. Its position does not change.
/// @param [in] Nq    The number of elements on each rank. Must not be NULL.
/// @param [out] err  The error code.
/// @return           The partition. After an error as that of `scda_partition_local`.
/// Errors: `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`.
/// Spec: A.1.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_partition_counts(
    f: *mut scda_fcontext_t,
    Nq: PerRank<'_>,
    err: Option<&mut MaybeUninit<c_int>>,
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
