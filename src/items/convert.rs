//! Converts numbers between their types in memory and in the file, and structs with gaps or with fewer
//! members.

use super::copy_row;
use half::f16;
use scda_base::error::{Error, Result};
use scda_base::numbers::to_usize;
use scda_format::dataset::{DataType, Kind, Struct};
use std::slice;
use std::sync::Arc;

/// The number of items that are converted before the result is checked for values that do not fit.
const BLOCK: usize = 256;

/// How items of one type are converted to another. The guide specifies the results.
#[derive(Clone, Debug)]
pub enum Conversion {
    Numbers(NumberConversion),
    /// Structs: each part of an item is converted by itself.
    Parts(Arc<[MemberRun]>),
}

/// Members of a struct that are consecutive on both sides: the bytes before them, and how they are converted.
#[derive(Clone, Copy, Debug)]
pub struct MemberRun {
    before: (usize, usize),
    how: MemberConversion,
}

#[derive(Clone, Copy, Debug)]
enum MemberConversion {
    /// This many bytes are copied.
    Stay(usize),
    /// One byte, which must be 0 or 1.
    Bool,
    ConvertTo(NumberConversion),
}

/// How numbers of one type are converted to another.
#[derive(Clone, Copy, Debug)]
pub struct NumberConversion {
    row: RowFunction,
    /// Whether every number has a value of the other type.
    always_fits: bool,
    /// Whether one of the types has floating-point numbers.
    has_floats: bool,
    /// The number of numbers in an item.
    numbers: usize,
    /// The size of a number on each side.
    bytes: (usize, usize),
}

/// Converts numbers from one stride to another; returns the index of the first that does not fit.
type RowFunction = unsafe fn((*const u8, isize), (*mut u8, isize), usize) -> Option<usize>;

/// Converts a number, and tells whether it fits.
trait ConvertTo<T> {
    const ALWAYS_FITS: bool;
    fn convert(self) -> (T, bool);
}

macro_rules! impl_convert {
    ($fits:expr, |$number:ident| $result:expr, $($from:ty)* => $to:tt) => {
        $(impl_convert!(@one $fits, |$number| $result, $from => $to);)*
    };
    (@one $fits:expr, |$number:ident| $result:expr, $from:ty => [$($to:ty)*]) => {
        $(impl ConvertTo<$to> for $from {
            const ALWAYS_FITS: bool = {
                #[allow(non_camel_case_types, dead_code)]
                type from = $from;
                #[allow(non_camel_case_types, dead_code)]
                type to = $to;
                $fits
            };
            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss,
                clippy::cast_lossless, clippy::unnecessary_cast, clippy::useless_conversion,
                clippy::absurd_extreme_comparisons, unused_comparisons, non_camel_case_types, dead_code
            )]
            fn convert(self) -> ($to, bool) {
                type from = $from;
                type to = $to;
                let $number = self;
                $result
            }
        })*
    };
}

// An integer keeps its value, or does not fit.
impl_convert!(
    {
        const OLD: (i128, i128) = (from::MIN as i128, from::MAX as i128);
        const NEW: (i128, i128) = (to::MIN as i128, to::MAX as i128);
        NEW.0 <= OLD.0 && OLD.1 <= NEW.1
    },
    |number| {
        let new = number as to;
        (new, new as from == number && (new < 0) == (number < 0))
    },
    i8 i16 i32 i64 u8 u16 u32 u64 => [i8 i16 i32 i64 u8 u16 u32 u64]
);
// The nearest floating-point number.
impl_convert!(true, |number| (number as to, true), i8 i16 i32 i64 u8 u16 u32 u64 => [f32 f64]);
impl_convert!(
    size_of::<from>() == 1,
    |number| {
        // The `f32` is exact, unless the number is far too large in any case.
        let new = f16::from_f32(number as f32);
        (new, new.is_finite())
    },
    i8 i16 i32 i64 u8 u16 u32 u64 => [f16]
);
impl_convert!(true, |number| (if number.is_nan() { to::NAN } else { number as to }, true), f32 f64 => [f32 f64]);
impl_convert!(true, |number| (if number.is_nan() { to::NAN } else { to::from(number) }, true), f16 => [f32 f64]);
impl_convert!(true, |number| (number, true), f16 => [f16]);
impl_convert!(true, |number| (half(number), true), f32 f64 => [f16]);
// The integer part.
impl_convert!(
    false,
    |number| {
        let number = f64::from(number).trunc();
        // Powers of two, or 0: exact in every type.
        let fits = number >= to::MIN as f64 && number < (to::MAX / 2 + 1) as f64 * 2.0;
        (number as to, fits)
    },
    f16 f32 f64 => [i8 i16 i32 i64 u8 u16 u32 u64]
);

/// The nearest number, ties to even. Converts in two steps, of which the first rounds to odd.
#[allow(clippy::cast_possible_truncation)] // rounding is meant
fn half(number: impl Into<f64>) -> f16 {
    let number: f64 = number.into();
    if number.is_nan() {
        return f16::NAN;
    }
    let near = number as f32;
    let difference = number - f64::from(near);
    let is_even = near.to_bits() & 1 == 0;
    // If the nearest `f32` is not odd, its neighbour on the other side of the number is. Beyond the largest
    // `f32`, the number is too large in any case.
    let odd = match difference {
        _ if difference == 0.0 || !is_even || near.is_infinite() => near,
        _ if difference > 0.0 => near.next_up(),
        _ => near.next_down(),
    };
    f16::from_f32(odd)
}

/// Evaluates the body with the type of a number.
macro_rules! with_number {
    ($data_type:expr, $number:ident => $body:expr) => {
        match ($data_type.kind(), $data_type.number_bytes()) {
            (Kind::Signed, 1) => with_number!(i8, $number, $body),
            (Kind::Signed, 2) => with_number!(i16, $number, $body),
            (Kind::Signed, 4) => with_number!(i32, $number, $body),
            (Kind::Signed, 8) => with_number!(i64, $number, $body),
            (Kind::Unsigned, 1) => with_number!(u8, $number, $body),
            (Kind::Unsigned, 2) => with_number!(u16, $number, $body),
            (Kind::Unsigned, 4) => with_number!(u32, $number, $body),
            (Kind::Unsigned, 8) => with_number!(u64, $number, $body),
            (Kind::Float, 2) => with_number!(f16, $number, $body),
            (Kind::Float | Kind::Complex, 4) => with_number!(f32, $number, $body),
            (Kind::Float | Kind::Complex, 8) => with_number!(f64, $number, $body),
            _ => None,
        }
    };
    ($one:ident, $number:ident, $body:expr) => {{
        type $number = $one;
        $body
    }};
}

impl Conversion {
    /// `None` if the types are the same.
    ///
    /// # Errors
    /// `Argument` if items of one type cannot be converted to the other.
    pub fn new(from: DataType, to: DataType) -> Result<Option<Self>> {
        if from == to {
            return Ok(None);
        }
        if let (DataType::Struct(old), DataType::Struct(new)) = (from, to) {
            let mut parts = Vec::new();
            find_parts((old, 0), (new, 0), &mut parts)?;
            return Ok(Some(Self::Parts(parts.into())));
        }
        Ok(Some(Self::Numbers(NumberConversion::new(from, to)?)))
    }

    /// Whether every item has a value of the other type.
    pub fn always_fits(&self) -> bool {
        let fits = |part: &MemberRun| match part.how {
            MemberConversion::Stay(_) => true,
            MemberConversion::Bool => false,
            MemberConversion::ConvertTo(numbers) => numbers.always_fits,
        };
        match self {
            Self::Numbers(numbers) => numbers.always_fits,
            Self::Parts(parts) => parts.iter().all(fits),
        }
    }

    /// Whether it computes with floating-point numbers, so that [`Self::row`] must run in the [default
    /// environment](scda_base::floats::in_default).
    pub fn has_floats(&self) -> bool {
        let has_floats =
            |part: &MemberRun| matches!(part.how, MemberConversion::ConvertTo(numbers) if numbers.has_floats);
        match self {
            Self::Numbers(numbers) => numbers.has_floats,
            Self::Parts(parts) => parts.iter().any(has_floats),
        }
    }

    /// Converts items from one stride to another; returns the index of the first that does not fit. This item
    /// and the following ones then have unspecified contents.
    ///
    /// # Safety
    /// All items may be read and written there, and none that is read is written.
    #[allow(unsafe_code)]
    pub unsafe fn row(&self, from: (*const u8, isize), to: (*mut u8, isize), items: usize) -> Option<usize> {
        let parts = match self {
            // SAFETY: as the caller promises.
            Self::Numbers(numbers) => return unsafe { numbers.row(from, to, items) },
            Self::Parts(parts) => parts,
        };
        // Few items at a time, so that they stay in the processor's cache.
        (0..items).step_by(BLOCK).find_map(|done| {
            let now = (items - done).min(BLOCK);
            let (from_first, to_first) = (
                from.0.wrapping_offset(done.cast_signed() * from.1),
                to.0.wrapping_offset(done.cast_signed() * to.1),
            );
            let misfits = parts.iter().filter_map(|part| {
                let from = (from_first.wrapping_add(part.before.0), from.1);
                let to = (to_first.wrapping_add(part.before.1), to.1);
                match part.how {
                    MemberConversion::Stay(bytes) => {
                        // SAFETY: as the caller promises, of these members of the items.
                        unsafe { copy_row(from, to, now, bytes) };
                        None
                    }
                    MemberConversion::Bool => {
                        // SAFETY: as above.
                        unsafe { copy_row(from, to, now, 1) };
                        // SAFETY: as above.
                        let byte = |n: &usize| unsafe { *from.0.wrapping_offset(n.cast_signed() * from.1) };
                        (0..now).find(|n| byte(n) > 1)
                    }
                    // SAFETY: as above.
                    MemberConversion::ConvertTo(numbers) => unsafe { numbers.row(from, to, now) },
                }
            });
            misfits.min().map(|place| done + place)
        })
    }
}

/// Finds, for each member of the new struct, the member of the same name in the old one. Each struct comes
/// with the bytes before it.
fn find_parts(
    (old, before): (Struct, u64),
    (new, at): (Struct, u64),
    parts: &mut Vec<MemberRun>,
) -> Result<()> {
    for member in new.members() {
        let Some(other) = old.members().iter().find(|other| other.name == member.name) else {
            let words = format!("struct: no member {:?} of {new} in {old}", member.name);
            return Err(Error::argument(words));
        };
        let places = (before + other.offset, at + member.offset);
        if let (DataType::Struct(old), DataType::Struct(new)) = (other.data_type, member.data_type) {
            // Members may be left out, but not the items at the end of an array, whose absence nobody would notice.
            let lengths = [old, new].map(|of| of.as_array().map(|(_, items)| items));
            if let [Some(found), Some(expected)] = lengths
                && found != expected
            {
                let words = format!("struct: member {:?}: found {old}, expected {new}", member.name);
                return Err(Error::argument(words));
            }
            find_parts((old, places.0), (new, places.1), parts)?;
            continue;
        }
        let before = (to_usize(places.0), to_usize(places.1));
        let how = match (other.data_type, member.data_type) {
            (DataType::Bool, DataType::Bool) => MemberConversion::Bool,
            (from, to) if from == to => MemberConversion::Stay(to_usize(to.item_bytes())),
            (from, to) => MemberConversion::ConvertTo(NumberConversion::new(from, to)?),
        };
        // Bytes that are consecutive on both sides are copied together.
        if let (
            MemberConversion::Stay(more),
            Some(MemberRun { before: first, how: MemberConversion::Stay(bytes) }),
        ) = (how, parts.last_mut())
            && (first.0 + *bytes, first.1 + *bytes) == before
        {
            *bytes += more;
            continue;
        }
        parts.push(MemberRun { before, how });
    }
    Ok(())
}

impl NumberConversion {
    fn new(from: DataType, to: DataType) -> Result<Self> {
        let is_possible = (from.kind() == Kind::Complex) == (to.kind() == Kind::Complex);
        let found = with_number!(from, Old => with_number!(to, New => {
            Some((convert_row::<Old, New> as RowFunction, <Old as ConvertTo<New>>::ALWAYS_FITS))
        }));
        let Some((row, always_fits)) = found.filter(|_| is_possible) else {
            return Err(Error::argument(format!("type: found {from}, which cannot be converted to {to}")));
        };
        let bytes = [from, to].map(|data_type| to_usize(data_type.number_bytes()));
        let numbers = if from.kind() == Kind::Complex { 2 } else { 1 };
        let has_floats = from.has_floats() || to.has_floats();
        Ok(Self { row, always_fits, has_floats, numbers, bytes: bytes.into() })
    }

    /// See [`Conversion::row`].
    ///
    /// # Safety
    /// That of [`Conversion::row`].
    #[allow(unsafe_code)]
    unsafe fn row(&self, from: (*const u8, isize), to: (*mut u8, isize), items: usize) -> Option<usize> {
        let (old, new) = (self.bytes.0.cast_signed(), self.bytes.1.cast_signed());
        if self.numbers == 1 {
            // SAFETY: as the caller promises.
            return unsafe { (self.row)(from, to, items) };
        }
        if (from.1, to.1) == (2 * old, 2 * new) {
            // SAFETY: as the caller promises: the numbers of the items are consecutive.
            return unsafe { (self.row)((from.0, old), (to.0, new), 2 * items) }.map(|place| place / 2);
        }
        (0..items.cast_signed()).find_map(|n| {
            let (from, to) = (from.0.wrapping_offset(n * from.1), to.0.wrapping_offset(n * to.1));
            // SAFETY: as the caller promises, for both numbers of this item.
            unsafe { (self.row)((from, old), (to, new), 2) }.map(|_| n.cast_unsigned())
        })
    }
}

/// See [`RowFunction`].
///
/// # Safety
/// That of [`Conversion::row`].
#[allow(unsafe_code)]
unsafe fn convert_row<Old: Copy + ConvertTo<New>, New: Copy>(
    from: (*const u8, isize),
    to: (*mut u8, isize),
    items: usize,
) -> Option<usize> {
    let is_packed = (from.1, to.1) == (size_of::<Old>().cast_signed(), size_of::<New>().cast_signed());
    let mut done = 0;
    while done < items {
        let now = (items - done).min(BLOCK);
        let from = (from.0.wrapping_offset(done.cast_signed() * from.1), from.1);
        let to = (to.0.wrapping_offset(done.cast_signed() * to.1), to.1);
        let fits = if is_packed {
            // SAFETY: the items are consecutive on both sides, and as packed structs they have no alignment.
            let old = unsafe { slice::from_raw_parts(from.0.cast::<Unaligned<Old>>(), now) };
            // SAFETY: as above; none that is read is written.
            let new = unsafe { slice::from_raw_parts_mut(to.0.cast::<Unaligned<New>>(), now) };
            old.iter().zip(new).fold(true, |fits, (old, new)| {
                let (number, is_fine) = old.0.convert();
                *new = Unaligned(number);
                fits & is_fine
            })
        } else {
            (0..now.cast_signed()).fold(true, |fits, n| {
                let (old, new) = (from.0.wrapping_offset(n * from.1), to.0.wrapping_offset(n * to.1));
                // SAFETY: as the caller promises.
                let (number, is_fine) = unsafe { old.cast::<Old>().read_unaligned() }.convert();
                // SAFETY: as the caller promises.
                unsafe { new.cast::<New>().write_unaligned(number) };
                fits & is_fine
            })
        };
        if !fits {
            let place = (0..now.cast_signed()).find(|&n| {
                // SAFETY: as the caller promises.
                let old = unsafe { from.0.wrapping_offset(n * from.1).cast::<Old>().read_unaligned() };
                !old.convert().1
            });
            return place.map(|n| done + n.cast_unsigned());
        }
        done += now;
    }
    None
}

/// A number without alignment.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Unaligned<T>(T);

#[cfg(test)]
mod tests;
