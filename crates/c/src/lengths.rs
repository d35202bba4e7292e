//! Checks the lengths of a call's arguments, for languages whose arrays know their length; C does not pass
//! lengths.

use super::context::{Context, locally, scda_fcontext_t};
use super::memory::{Out, Values};
use super::versioned::{StructInOut, versioned};
use scda::bindings::{BindingCalls, ThisRank};
use scda_base::error::{Error, Result};
use scda_ranks::partition::is_known;
use std::ffi::c_int;

/// An unknown length.
const NO_LENGTH: u64 = u64::MAX;

/// The lengths of the arguments of a call that reads or writes elements. `UINT64_MAX` means that a length is
/// unknown, or that the call has no such argument; it is then ignored.
#[derive(Clone, Copy)]
#[repr(C)]
#[allow(non_snake_case)]
pub struct scda_lengths<'a> {
    /// The size of this struct in bytes, as the caller sets it.
    pub size: usize,
    /// The argument `Nq`.
    pub Nq: Values<'a, u64>,
    /// The number of entries in it.
    pub Nq_entries: u64,
    /// With `Nq`, out: the index of this rank's first element, the number of its elements, and the number of
    /// elements on all ranks. Without `Nq`, in: the number of elements in `n`.
    pub first: u64,
    /// See `first`.
    pub n: u64,
    /// See `first`.
    pub total: u64,
    /// The size of each element in bytes, if there is no `Ei`.
    pub E: u64,
    /// The argument `Ei`. NULL: the sizes are to be read.
    pub Ei: Values<'a, u64>,
    /// The number of entries in it.
    pub Ei_entries: u64,
    /// The number of entries in `Sq`.
    pub Sq_entries: u64,
    /// The size of the data in bytes or, with `indirect`, the number of pointers.
    pub data: u64,
    /// If the data are an array, the size of its elements in bytes: that of a pointer with `indirect`,
    /// otherwise a divisor of `E`.
    pub unit: u64,
    /// The number of elements in the data, which must be that of this rank.
    pub elements: u64,
    /// 1: the data are pointers to the elements.
    pub indirect: c_int,
    /// 1: the data have exactly the size of the elements.
    pub exactly: c_int,
}

/// The lengths of the arguments of a call.
pub type scda_lengths_t<'a> = scda_lengths<'a>;

versioned!(scda_lengths_t<'_>, "lengths", "the binding", UNKNOWN, exactly: c_int);

/// All lengths unknown.
const UNKNOWN: scda_lengths_t<'_> = scda_lengths_t {
    size: size_of::<scda_lengths_t>(),
    Nq: Values::NULL,
    Nq_entries: NO_LENGTH,
    first: 0,
    n: 0,
    total: 0,
    E: 0,
    Ei: Values::NULL,
    Ei_entries: NO_LENGTH,
    Sq_entries: NO_LENGTH,
    data: NO_LENGTH,
    unit: NO_LENGTH,
    elements: NO_LENGTH,
    indirect: 0,
    exactly: 0,
};

/// Compares the lengths of the arguments of the next call with what the call will use. If they are too short
/// on this rank, all ranks fail, as with `scda_refuse`; the caller then passes NULL instead of `Nq` or the
/// data, so that nothing is read or written.
///
/// Not collective. After an error `f` stays open.
///
/// @param [in] f           The file, open for writing or reading.
/// @param [in,out] lengths  The lengths. Must not be NULL.
/// @param [out] err        The error code.
/// @return                 0 if the arguments are long enough, otherwise -1.
/// Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_check_lengths(
    f: *mut scda_fcontext_t,
    lengths: StructInOut<'_, scda_lengths_t>,
    err: Out<'_, c_int>,
) -> c_int {
    let body = |context: &mut Context| {
        let mut known = lengths.given().read()?;
        let checked = known.check(context);
        lengths.write(known)?;
        checked.inspect_err(|error| context.refuse(error.again()))
    };
    locally(f, err, body)
}

impl scda_lengths<'_> {
    #[allow(non_snake_case)]
    fn check(&mut self, context: &mut Context) -> Result<()> {
        let Self { Nq, Nq_entries, Ei, Ei_entries, Sq_entries, .. } = *self;
        let ThisRank { rank, size } = context.ranks();
        let ranks = size as u64;
        let has_counts = Nq_entries != NO_LENGTH;
        if has_counts {
            (self.first, self.n, self.total) = (0, 0, 0);
            let counts = Nq.get(Nq_entries, "Nq")?;
            (self.first, self.n, self.total) = match *counts {
                [_, _, _, first, n, total, _, _] if is_known(counts) => (first, n, total),
                _ => {
                    long_enough("Nq", Nq_entries, "entries", ranks, "one per rank")?;
                    let sum = |counts: &[u64]| counts.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n));
                    (sum(&counts[..rank]), counts[rank], sum(&counts[..size]))
                }
            };
        }
        let n = self.n;
        long_enough("Sq", Sq_entries, "entries", ranks, "one per rank")?;
        if self.elements != NO_LENGTH && self.elements != n {
            return Err(self.other_elements(has_counts));
        }
        let why = "one per element of this rank";
        long_enough("Ei", Ei_entries, "entries", n, why)?;
        if self.indirect != 0 {
            self.check_unit()?;
            return long_enough("data", self.data, "pointers", n, why);
        }
        if self.data == NO_LENGTH {
            return Ok(());
        }
        if Ei_entries == NO_LENGTH {
            self.check_bytes(has_counts)?;
            return self.check_unit();
        }
        check_sizes(self.data, Ei.get(n, "Ei")?)
    }

    /// The error for a wrong number of elements.
    fn other_elements(&self, has_counts: bool) -> Error {
        let Self { elements, n, E: size, .. } = *self;
        let why = if has_counts { ", as Nq says for this rank" } else { "" };
        let (each, advice) = match size {
            0 => (String::new(), ""),
            _ => (format!(" of {size} bytes"), "; or pass E"),
        };
        Error::argument(format!("data: found {elements} elements{each}, expected {n}{why}{advice}"))
    }

    /// Checks that the elements of the data are what the call takes.
    fn check_unit(&self) -> Result<()> {
        let Self { data, unit, E: size, .. } = *self;
        if unit == NO_LENGTH {
            return Ok(());
        }
        if self.indirect != 0 {
            if data > 0 && unit != size_of::<*const u8>() as u64 {
                let words =
                    format!("data: found elements of {unit} bytes, expected pointers, as indirect is set");
                return Err(Error::argument(words));
            }
            return Ok(());
        }
        if size == 0 && data > 0 {
            return Err(Error::argument(
                "E: found 0, expected the size of an element, because there are data",
            ));
        }
        if unit != 0 && size % unit != 0 {
            let words =
                format!("E: found {size}, expected a multiple of {unit}, the bytes of an element of data");
            return Err(Error::argument(words));
        }
        Ok(())
    }

    /// Checks that `n` elements of `E` bytes fit the data, or match them exactly. Numbers of more than 63
    /// bits are left to the call.
    fn check_bytes(&self, has_counts: bool) -> Result<()> {
        let Self { n, E: size, data, .. } = *self;
        let fits = size == 0 || n <= data / size;
        if (n | size) >> 63 != 0 || fits && (self.exactly == 0 || n * size == data) {
            return Ok(());
        }
        let expected = match n {
            1 if !has_counts => size.to_string(),
            _ => format!("{n} elements of {size} bytes"),
        };
        let advice = if fits { "; or pass E" } else { "" };
        Err(Error::argument(format!("data: found {data} bytes, expected {expected}{advice}")))
    }
}

/// Returns an error if there are fewer entries than expected.
fn long_enough(what: &str, found: u64, unit: &str, expected: u64, why: &str) -> Result<()> {
    if found >= expected {
        return Ok(());
    }
    Err(Error::argument(format!("{what}: found {found} {unit}, expected {expected}, {why}")))
}

/// Checks that elements of these sizes fit.
fn check_sizes(data: u64, sizes: &[u64]) -> Result<()> {
    let mut left = data;
    for (index, &size) in sizes.iter().enumerate() {
        left = left.checked_sub(size).ok_or_else(|| {
            Error::argument(format!(
                "data: found {left} of {data} bytes left for element {index} of this rank, expected {size}"
            ))
        })?;
    }
    Ok(())
}
