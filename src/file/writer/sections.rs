//! The sections: arguments, compression, and which layout they get.

use super::WriterState;
use super::output::{LocalElements, too_large};
use crate::codec::{ARRAY_CONVENTION, BLOCK_CONVENTION, MIN_ENCODED_BYTES, begins_pair};
use crate::error::{Error, Result, quote};
use crate::file::encoding::{Encoded, Sample};
use crate::file::params::Encode;
use crate::file::source::{Sizes, Source};
use crate::file::team::{Failure, Function, Topic, split};
use crate::format::header::{SectionType, UserString};
use crate::format::layout::{Layout, product};
use crate::format::{COUNT_BYTES, INLINE_BYTES};
use crate::parallel::Partition;

impl WriterState {
    /// Notes what all sections have, and checks the user string.
    fn begin(&mut self, function: Function, section: SectionType, user: &[u8]) -> Result<()> {
        self.team.note_call(function);
        self.team.note_bytes(Topic::UserString, user);
        UserString::check(user)?;
        self.check_free(section, user)
    }

    /// An error if only a part of a compressed section may have this type and user string.
    #[inline]
    pub(super) fn check_free(&self, section: SectionType, user: &[u8]) -> Result<()> {
        if begins_pair(section, user) && !self.params.raw { Err(reserved(user)) } else { Ok(()) }
    }

    /// The value, if this rank has no error; else `instead`, and the error waits for the next
    /// agreement. A rank that is alone has nobody to wait for.
    fn tolerate<T>(&mut self, result: Result<T>, instead: T) -> Result<T, Failure> {
        match result {
            Ok(value) => Ok(value),
            Err(error) if self.team.is_alone() => Err(Failure::Mine(error)),
            Err(error) => {
                self.team.defer(Err(error));
                Ok(instead)
            }
        }
    }

    pub(crate) fn inline(
        &mut self,
        user: &[u8],
        root: usize,
        data: Result<&[u8; INLINE_BYTES]>,
    ) -> Result<(), Failure> {
        self.begin(Function::WriteInline, SectionType::Inline, user)?;
        let is_root = self.team.check_root(root)?;
        self.describe(SectionType::Inline, user, 0, INLINE_BYTES as u64)?;
        let data = if is_root { self.tolerate(data, &[0; INLINE_BYTES])? } else { &[0; INLINE_BYTES] };
        self.write_inline(user, is_root, data)
    }

    pub(crate) fn block(
        &mut self,
        user: &[u8],
        root: usize,
        size: u64,
        data: Result<&[u8]>,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.begin(Function::WriteBlock, SectionType::Block, user)?;
        let is_root = self.team.check_root(root)?;
        self.team.note(Topic::Size, size);
        self.team.note(Topic::Encode, encode as u64);
        self.describe(SectionType::Block, user, 0, size)?;
        let plain = Layout::block(self.end, size).ok_or_else(too_large)?;
        let data = if is_root {
            let checked = data.and_then(|data| {
                let sizes = Sizes::Fixed { count: 1, size };
                Source::Contiguous(data).check(sizes).map(|()| data)
            });
            self.tolerate(checked, &[])?
        } else {
            &[]
        };
        if encode == Encode::None {
            return self.write_block(user, is_root, plain, &[data]);
        }
        self.compress_block(user, root, plain, data, encode)
    }

    /// Writes a block compressed, or plain if that pays better.
    #[inline(never)]
    fn compress_block(
        &mut self,
        user: &[u8],
        root: usize,
        plain: Layout,
        data: &[u8],
        encode: Encode,
    ) -> Result<(), Failure> {
        let (is_root, size) = (self.team.rank() == root, plain.data_bytes);
        let first = Layout::inline(self.end).ok_or_else(too_large)?;
        if encode == Encode::Auto && can_only_grow(plain, 1, |bytes| Layout::block(first.end, bytes)) {
            return self.write_block(user, is_root, plain, &[data]);
        }
        let encoded = if is_root && !self.team.has_deferred() {
            self.encode_block(data, size, encode)
        } else {
            Ok(None)
        };
        let (encoded, mine) = split(encoded);
        let encoded_size = encoded.as_ref().map_or(u64::MAX, Encoded::bytes);
        let [encoded_size] = self.team.share(root, mine.map(|()| [encoded_size]))?;
        let second = Layout::block(first.end, encoded_size);
        if encode == Encode::Auto && second.is_none_or(|second| second.end >= plain.end) {
            return self.write_block(user, is_root, plain, &[data]);
        }
        let (second, encoded) = (second.ok_or_else(too_large)?, encoded.unwrap_or_default());
        self.write_size_note(BLOCK_CONVENTION, is_root, size)?;
        let chunks: Vec<&[u8]> = encoded.chunks.iter().map(Vec::as_slice).collect();
        self.write_block(user, is_root, second, &chunks)
    }

    pub(crate) fn array(
        &mut self,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Result<Source<'_>>,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.begin(Function::WriteArray, SectionType::Array, user)?;
        self.team.note_counts(Topic::Counts, counts);
        self.team.note(Topic::Size, size);
        self.team.note(Topic::Encode, encode as u64);
        let elements = self.team.partition(counts)?;
        self.describe(SectionType::Array, user, elements.total, size)?;
        let plain = Layout::array(self.end, elements.total, size).ok_or_else(too_large)?;
        let sizes = Sizes::Fixed { count: elements.count, size };
        let checked = data.and_then(|data| data.check(sizes).map(|()| data));
        let data = self.tolerate(checked, Source::EMPTY)?;
        // The products are bounded by the layout's.
        let bytes = Partition {
            offset: elements.offset * size,
            count: elements.count * size,
            total: plain.data_bytes,
        };
        let local = LocalElements { elements, bytes, entries: None };
        if encode != Encode::None && self.compress_array(user, plain, &local, data, size, encode)? {
            return Ok(());
        }
        let counts = [(b'N', elements.total), (b'E', size)];
        self.write_elements(SectionType::Array, user, plain, &counts, &local, data)
    }

    /// Writes an array compressed, unless that does not pay; tells whether it did.
    #[inline(never)]
    fn compress_array(
        &mut self,
        user: &[u8],
        plain: Layout,
        local: &LocalElements<'_>,
        data: Source<'_>,
        size: u64,
        encode: Encode,
    ) -> Result<bool, Failure> {
        let (elements, bytes) = (local.elements, local.bytes);
        let sizes = Sizes::Fixed { count: elements.count, size };
        let first = Layout::inline(self.end).ok_or_else(too_large)?;
        let second = |bytes| Layout::varray(first.end, elements.total, bytes);
        if encode == Encode::Auto
            && (can_only_grow(plain, elements.total, second)
                || self.sample_says_larger(elements, data, sizes, bytes)?)
        {
            return Ok(false);
        }
        let (encoded, bytes) = self.encode(data, sizes)?;
        let second = second(bytes.total).ok_or_else(too_large)?;
        if encode == Encode::Auto && second.end >= plain.end {
            return Ok(false);
        }
        self.write_size_note(ARRAY_CONVENTION, self.team.rank() == 0, size)?;
        self.write_encoded(user, second, elements, bytes, &encoded)?;
        Ok(true)
    }

    pub(crate) fn varray(
        &mut self,
        user: &[u8],
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Source<'_>)>,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.begin(Function::WriteVarray, SectionType::Varray, user)?;
        self.team.note_counts(Topic::Counts, counts);
        self.team.note(Topic::ProcSizes, u64::from(proc_sizes.is_some()));
        self.team.note_counts(Topic::ProcSizes, proc_sizes.unwrap_or_default());
        self.team.note(Topic::Encode, encode as u64);
        let elements = self.team.partition(counts)?;
        let given = proc_sizes.map(|sizes| self.team.partition(sizes)).transpose()?;
        // Known to all ranks, and thus an error of all at once.
        Layout::varray(self.end, elements.total, given.map_or(0, |bytes| bytes.total))
            .ok_or_else(too_large)?;
        let checked = data.and_then(|(sizes, data)| {
            check_sizes(sizes, elements.count, given)?;
            data.check(Sizes::Each(sizes)).map(|()| (sizes, data))
        });
        let (sizes, data) = self.tolerate(checked, (&[], Source::EMPTY))?;
        let bytes = match given {
            Some(bytes) => bytes,
            None => {
                let total = Sizes::Each(sizes).total()?;
                self.must_agree = true;
                self.team.agree(Ok(()))?.spread(total)?
            }
        };
        self.describe(SectionType::Varray, user, elements.total, bytes.total)?;
        let plain = Layout::varray(self.end, elements.total, bytes.total).ok_or_else(too_large)?;
        let first = Layout::array(self.end, elements.total, COUNT_BYTES as u64);
        let second = |bytes| Layout::varray(first?.end, elements.total, bytes);
        let stays_plain = match encode {
            Encode::None => true,
            Encode::Always => false,
            Encode::Auto => {
                can_only_grow(plain, elements.total, second)
                    || self.sample_says_larger(elements, data, Sizes::Each(sizes), bytes)?
            }
        };
        if !stays_plain {
            let (encoded, encoded_bytes) = self.encode(data, Sizes::Each(sizes))?;
            let second = second(encoded_bytes.total).ok_or_else(too_large)?;
            let first = first.ok_or_else(too_large)?;
            if encode == Encode::Always || second.end < plain.end {
                self.write_sizes_note(first, elements, sizes)?;
                return self.write_encoded(user, second, elements, encoded_bytes, &encoded);
            }
        }
        let local = LocalElements { elements, bytes, entries: Some(sizes) };
        self.write_elements(SectionType::Varray, user, plain, &[(b'N', elements.total)], &local, data)
    }

    /// Encodes the block of the root; `None` if a sample says that it would be larger, if that matters.
    fn encode_block(&mut self, data: &[u8], size: u64, encode: Encode) -> Result<Option<Encoded>> {
        let (source, sizes) = (Source::Contiguous(data), Sizes::Fixed { count: 1, size });
        if let Some(sample) = Sample::new(1, size).filter(|_| encode == Encode::Auto) {
            let bytes = Partition { offset: 0, count: size, total: size };
            let costs = self.encoders.try_sample(&self.params, &sample, source, sizes, bytes)?;
            if sample.says_larger(costs) {
                return Ok(None);
            }
        }
        self.encoders.encode(&self.params, source, sizes).map(Some)
    }

    /// Whether a sample tells, for `Encode::Auto`, that the section would be larger compressed. All
    /// ranks learn the same.
    fn sample_says_larger(
        &mut self,
        elements: Partition,
        data: Source<'_>,
        sizes: Sizes<'_>,
        bytes: Partition,
    ) -> Result<bool, Failure> {
        let Some(sample) = Sample::new(elements.total, bytes.total) else { return Ok(false) };
        let costs = if self.team.has_deferred() {
            Ok(0)
        } else {
            self.encoders.try_sample(&self.params, &sample, data, sizes, bytes)
        };
        let (costs, mine) = split(costs);
        // The second tells that there is a sum: see `Communicator::allreduce_sum`.
        let mut costs = [costs, 1];
        self.must_agree = true;
        self.team.agree(mine)?.comm().allreduce_sum(&mut costs)?;
        Ok(sample.says_larger(costs[0]))
    }

    /// Encodes this rank's elements, and finds where their bytes lie.
    fn encode(&mut self, data: Source<'_>, sizes: Sizes<'_>) -> Result<(Encoded, Partition), Failure> {
        let encoded = if self.team.has_deferred() {
            Ok(Encoded::default())
        } else {
            self.encoders.encode(&self.params, data, sizes)
        };
        let (encoded, mine) = split(encoded);
        self.must_agree = true;
        let bytes = self.team.agree(mine)?.spread(encoded.bytes())?;
        Ok((encoded, bytes))
    }
}

/// A user string that only a part of a compressed section may have.
#[cold]
fn reserved(user: &[u8]) -> Error {
    let found = quote(user);
    Error::argument(format!(
        "user string: found {found}, which begins a compressed section, expected another"
    ))
}

/// Whether compression can only make a section of so many elements larger: each takes some bytes, whatever
/// its data. `second` is where the compressed data would lie if they had so many bytes.
pub(super) fn can_only_grow(plain: Layout, count: u64, second: impl FnOnce(u64) -> Option<Layout>) -> bool {
    let least = product(count, MIN_ENCODED_BYTES).and_then(second);
    least.is_none_or(|least| least.end >= plain.end)
}

/// An error if the sizes are not those of `count` elements that have `given` bytes in all.
fn check_sizes(sizes: &[u64], count: u64, given: Option<Partition>) -> Result<()> {
    if sizes.len() as u64 != count {
        return Err(Error::argument(format!("sizes E_i: found {}, expected {count}", sizes.len())));
    }
    let total = Sizes::Each(sizes).total()?;
    match given {
        Some(bytes) if bytes.count != total => Err(Error::argument(format!(
            "size S_p of this rank: found {}, expected the sum {total} of its sizes E_i",
            bytes.count
        ))),
        _ => Ok(()),
    }
}
