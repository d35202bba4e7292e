//! Writes sections: checks their arguments, compresses, and chooses the layout.

mod choice;
mod section;
mod streaming;
mod trial;

pub(super) use section::{PreparedSection, SectionCopy};
pub use streaming::{BoxStream, DataStream, ElementStream};
pub(super) use streaming::{check_alone, read, read_again};

use self::choice::Choice;
use self::section::Shape;
use super::sections::{LocalElements, SectionWriter, too_large};
use crate::file::encoding::{EncodedElements, Encoders};
use crate::file::options::Encode;
use crate::file::sample::Sample;
use crate::file::source::{Sizes, Source};
use crate::file::team::{Failure, Function, Topic, only_if, split};
use scda_base::error::{Error, Result, quote};
use scda_codec::chunk::ChunkEncoder;
use scda_codec::{ARRAY_CONVENTION, BLOCK_CONVENTION, compressed_type};
use scda_format::INLINE_BYTES;
use scda_format::header::{SectionType, UserString};
use scda_format::layout::SectionLayout;
use scda_ranks::Partition;
use std::time::{Duration, Instant};

/// The bytes that compression has produced, and the time it took.
#[derive(Default)]
pub(super) struct Encoding {
    pub bytes: u64,
    pub time: Duration,
}

impl Encoding {
    /// Adds `bytes` bytes that were produced since `began`.
    pub fn add(&mut self, bytes: u64, began: Instant) {
        self.add_time(bytes, began.elapsed());
    }

    /// Adds `bytes` bytes that were produced in this time.
    pub fn add_time(&mut self, bytes: u64, time: Duration) {
        self.bytes += bytes;
        self.time += time;
    }
}

/// The encoders, which are reused, and their statistics.
#[derive(Default)]
pub(super) struct Compression {
    pub encoders: Encoders,
    pub chunk_encoders: Vec<ChunkEncoder>,
    pub spent: Encoding,
}

/// Writes sections: checks what the ranks pass, and compresses.
pub(crate) struct SectionEncoder<'a> {
    pub(super) sections: &'a mut SectionWriter,
    pub(super) compression: &'a mut Compression,
}

impl SectionEncoder<'_> {
    /// Records the function and the user string, and checks the latter.
    #[inline(always)]
    fn begin(&mut self, function: Function, section: SectionType, user: &[u8]) -> Result<()> {
        self.sections.team_mut().note_call(function);
        self.sections.team_mut().note_bytes(Topic::UserString, &[], user);
        UserString::check(user)?;
        self.check_free(section, user)
    }

    /// Returns an error if only a part of a compressed section may have this type and user string.
    #[inline(always)]
    pub(super) fn check_free(&self, section: SectionType, user: &[u8]) -> Result<()> {
        if compressed_type(section, user).is_none() {
            return Ok(());
        }
        // The row of a pair has a number that is known only to the rank that writes it.
        let is_free =
            self.sections.params().raw && (!self.sections.is_sealed() || self.sections.team().is_alone());
        if is_free { Ok(()) } else { Err(reserved(user)) }
    }

    /// Checks the arguments of an inline section, of 32 bytes.
    #[inline(always)]
    pub(super) fn prepare_inline<'s>(
        &mut self,
        user: &'s [u8],
        root: usize,
        data: Result<&'s [u8; INLINE_BYTES], &Error>,
    ) -> Result<PreparedSection<'s>, Failure> {
        self.begin(Function::WriteInline, SectionType::Inline, user)?;
        let is_root = self.sections.team_mut().check_root(root)?;
        let own = if is_root { data } else { Ok(&[0; INLINE_BYTES]) };
        let data = self.sections.team_mut().tolerate(own.map_err(Error::again), &[0; INLINE_BYTES])?;
        let (shape, data) = (Shape::Inline { root }, Source::Contiguous(data));
        Ok(PreparedSection { shape, user, sizes: &[], data, encode: Encode::None })
    }

    /// Checks the arguments of a block.
    #[inline(always)]
    pub(super) fn prepare_block<'s>(
        &mut self,
        user: &'s [u8],
        root: usize,
        size: u64,
        data: Result<&'s [u8], &Error>,
        encode: Encode,
    ) -> Result<PreparedSection<'s>, Failure> {
        self.begin(Function::WriteBlock, SectionType::Block, user)?;
        let is_root = self.sections.team_mut().check_root(root)?;
        self.sections.team_mut().note_named(Topic::Number, &["the size"], &[size]);
        self.sections.team_mut().note(Topic::Encode, encode as u64);
        // All ranks know the size, so all have the error at once.
        SectionLayout::block(self.sections.end(), size).ok_or_else(too_large)?;
        let data = if is_root {
            let checked = match data {
                Ok(data) => Source::Contiguous(data).check(Sizes::Fixed { count: 1, size }).map(|()| data),
                Err(error) => Err(error.again()),
            };
            self.sections.team_mut().tolerate(checked, &[])?
        } else {
            &[]
        };
        let (shape, data) = (Shape::Block { root, size }, Source::Contiguous(data));
        Ok(PreparedSection { shape, user, sizes: &[], data, encode })
    }

    /// Checks the arguments of an array.
    #[inline(always)]
    pub(super) fn prepare_array<'s>(
        &mut self,
        user: &'s [u8],
        counts: &[u64],
        size: u64,
        data: Result<Source<'s>, &Error>,
        encode: Encode,
    ) -> Result<PreparedSection<'s>, Failure> {
        self.begin(Function::WriteArray, SectionType::Array, user)?;
        self.sections.team_mut().note_named(Topic::Number, &["the size"], &[size]);
        self.sections.team_mut().note(Topic::Encode, encode as u64);
        let elements = self.sections.team_mut().note_partition(Topic::Counts, counts)?;
        SectionLayout::array(self.sections.end(), elements.total, size).ok_or_else(too_large)?;
        let sizes = Sizes::Fixed { count: elements.count, size };
        let checked = match data {
            Ok(data) => data.check(sizes).map(|()| data),
            Err(error) => Err(error.again()),
        };
        let data = self.sections.team_mut().tolerate(checked, Source::EMPTY)?;
        Ok(PreparedSection { shape: Shape::Array { elements, size }, user, sizes: &[], data, encode })
    }

    /// Checks the arguments of a varray; if `proc_sizes` is not given, the ranks exchange their sums.
    pub(super) fn prepare_varray<'s>(
        &mut self,
        user: &'s [u8],
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&'s [u64], Source<'s>), &Error>,
        encode: Encode,
    ) -> Result<PreparedSection<'s>, Failure> {
        self.begin(Function::WriteVarray, SectionType::Varray, user)?;
        self.sections.team_mut().note(Topic::ProcSizes, u64::from(proc_sizes.is_some()));
        self.sections.team_mut().note(Topic::Encode, encode as u64);
        let elements = self.sections.team_mut().note_partition(Topic::Counts, counts)?;
        let sums = proc_sizes
            .map(|sizes| self.sections.team_mut().note_partition(Topic::ProcSizes, sizes))
            .transpose()?;
        SectionLayout::varray(self.sections.end(), elements.total, sums.map_or(0, |bytes| bytes.total))
            .ok_or_else(too_large)?;
        let checked = data.map_err(Error::again).and_then(|(sizes, data)| {
            check_sizes(sizes, elements.count, sums)?;
            data.check(Sizes::Each(sizes)).map(|()| (sizes, data))
        });
        let (sizes, data) = self.sections.team_mut().tolerate(checked, (&[], Source::EMPTY))?;
        let bytes = match sums {
            Some(bytes) => bytes,
            None => {
                let total = Sizes::Each(sizes).total()?;
                self.sections.output.must_agree();
                self.sections.team_mut().agree(Ok(()))?.spread(total)?
            }
        };
        Ok(PreparedSection { shape: Shape::Varray { elements, bytes }, user, sizes, data, encode })
    }

    /// Writes a section at the end of the file.
    #[inline(always)]
    pub(super) fn write(&mut self, section: PreparedSection<'_>) -> Result<(), Failure> {
        match section.shape {
            Shape::Inline { root } => self.write_inline(&section, root),
            Shape::Block { root, size } => self.write_block(&section, root, size),
            Shape::Array { elements, size } => self.write_array(&section, elements, size),
            Shape::Varray { elements, bytes } => self.write_varray(&section, elements, bytes),
        }
    }

    /// Writes an inline section, and a block of `bytes` bytes, which rank 0 has, as a unit: after an error
    /// neither remains.
    pub(super) fn write_pair(
        &mut self,
        (convention, words): (&[u8], &[u8; INLINE_BYTES]),
        user: &[u8],
        bytes: u64,
        text: &[u8],
    ) -> Result<(), Failure> {
        let inline = self.prepare_inline(convention, 0, Ok(words))?;
        self.write(inline)?;
        self.sections.end_section()?;
        let block = self.prepare_block(user, 0, bytes, Ok(text), Encode::None)?;
        self.write(block)
    }

    fn write_inline(&mut self, section: &PreparedSection<'_>, root: usize) -> Result<(), Failure> {
        self.sections.describe(SectionType::Inline, section.user, 0, INLINE_BYTES as u64)?;
        let data = section.data.contiguous().first_chunk().unwrap_or(&[0; INLINE_BYTES]);
        if let Some(sealer) = &mut self.sections.sealer {
            sealer.note_first_half(data)?;
        }
        self.sections.write_inline(section.user, self.sections.team().rank() == root, data)
    }

    #[inline(always)]
    fn write_block(&mut self, section: &PreparedSection<'_>, root: usize, size: u64) -> Result<(), Failure> {
        let &PreparedSection { user, data, encode, .. } = section;
        self.sections.describe(SectionType::Block, user, 0, size)?;
        let plain = SectionLayout::block(self.sections.end(), size).ok_or_else(too_large)?;
        let data = data.contiguous();
        if encode != Encode::None && self.compress_block(user, root, plain, data, encode)? {
            return Ok(());
        }
        self.sections.write_block(user, self.sections.team().rank() == root, plain, &[data])
    }

    /// Writes a block compressed, unless compression does not pay; returns whether it did.
    #[inline(never)]
    fn compress_block(
        &mut self,
        user: &[u8],
        root: usize,
        plain: SectionLayout,
        data: &[u8],
        encode: Encode,
    ) -> Result<bool, Failure> {
        let (is_root, size) = (self.sections.team().rank() == root, plain.data_bytes);
        let choice = Choice { section: SectionType::Block, plain, count: 1, encode };
        let compressed = choice.decide(|| {
            let encodes = is_root && !self.sections.team().has_deferred();
            let (encoded, mine) = split(only_if(encodes, || self.encode_block(data, size, encode)));
            let bytes = encoded.as_ref().map_or(u64::MAX, EncodedElements::bytes);
            let [bytes] = self.sections.team_mut().share(root, mine.map(|()| [bytes]))?;
            Ok((bytes < u64::MAX).then(|| (bytes, encoded.unwrap_or_default())))
        })?;
        let Some((pair, encoded)) = compressed else { return Ok(false) };
        self.sections.write_size_note(BLOCK_CONVENTION, is_root, size)?;
        let chunks: Vec<&[u8]> = encoded.chunks.iter().map(AsRef::as_ref).collect();
        self.sections.write_block(user, is_root, pair.second, &chunks)?;
        Ok(true)
    }

    #[inline(always)]
    fn write_array(
        &mut self,
        section: &PreparedSection<'_>,
        elements: Partition,
        size: u64,
    ) -> Result<(), Failure> {
        let &PreparedSection { user, data, encode, .. } = section;
        self.sections.describe(SectionType::Array, user, elements.total, size)?;
        let plain = SectionLayout::array(self.sections.end(), elements.total, size).ok_or_else(too_large)?;
        if compressed_type(SectionType::Array, user).is_some()
            && let Some(sealer) = &mut self.sections.sealer
        {
            data.for_each_run(|batch| sealer.note_first_half(batch))?;
        }
        // The layout bounds the products.
        let bytes = Partition {
            offset: elements.offset * size,
            count: elements.count * size,
            total: plain.data_bytes,
        };
        let local = LocalElements { elements, bytes, entries: None };
        let section = SectionType::Array;
        if encode != Encode::None {
            let choice = Choice { section, plain, count: elements.total, encode };
            let sizes = Sizes::Fixed { count: elements.count, size };
            if self.compress_elements(user, &choice, &local, data, sizes)? {
                return Ok(());
            }
        }
        let counts = [(b'N', elements.total), (b'E', size)];
        self.sections.write_elements(section, user, plain, &counts, &local, data)
    }

    fn write_varray(
        &mut self,
        section: &PreparedSection<'_>,
        elements: Partition,
        bytes: Partition,
    ) -> Result<(), Failure> {
        let &PreparedSection { user, sizes, data, encode, .. } = section;
        self.sections.describe(SectionType::Varray, user, elements.total, bytes.total)?;
        let plain =
            SectionLayout::varray(self.sections.end(), elements.total, bytes.total).ok_or_else(too_large)?;
        let local = LocalElements { elements, bytes, entries: Some(sizes) };
        let section = SectionType::Varray;
        if encode != Encode::None {
            let choice = Choice { section, plain, count: elements.total, encode };
            if self.compress_elements(user, &choice, &local, data, Sizes::Each(sizes))? {
                return Ok(());
            }
        }
        self.sections.write_elements(section, user, plain, &[(b'N', elements.total)], &local, data)
    }

    /// Writes an array or varray compressed, unless compression does not pay; returns whether it did.
    #[inline(never)]
    fn compress_elements(
        &mut self,
        user: &[u8],
        choice: &Choice,
        local: &LocalElements<'_>,
        data: Source<'_>,
        sizes: Sizes<'_>,
    ) -> Result<bool, Failure> {
        let elements = local.elements;
        let compressed = choice.decide(|| {
            if choice.encode == Encode::Auto && self.sample_says_larger(elements, data, sizes, local.bytes)? {
                return Ok(None);
            }
            let (encoded, bytes) = self.encode(data, sizes)?;
            Ok(Some((bytes.total, (encoded, bytes))))
        })?;
        let Some((pair, (encoded, bytes))) = compressed else { return Ok(false) };
        match sizes {
            Sizes::Fixed { size, .. } => {
                self.sections.write_size_note(ARRAY_CONVENTION, self.sections.team().rank() == 0, size)?;
            }
            Sizes::Each(sizes) => self.sections.write_sizes_note(pair.first, elements, sizes)?,
        }
        self.sections.write_encoded(user, pair.second, elements, bytes, &encoded)?;
        Ok(true)
    }

    /// Encodes the block on the root rank; `None` if that matters and a sample shows that it would grow.
    fn encode_block(&mut self, data: &[u8], size: u64, encode: Encode) -> Result<Option<EncodedElements>> {
        let (source, sizes) = (Source::Contiguous(data), Sizes::Fixed { count: 1, size });
        if let Some(sample) = Sample::new(1, size).filter(|_| encode == Encode::Auto) {
            let bytes = Partition { offset: 0, count: size, total: size };
            let costs = self.compression.encoders.try_sample(
                self.sections.params(),
                &sample,
                source,
                sizes,
                bytes,
            )?;
            if sample.says_larger(costs) {
                return Ok(None);
            }
        }
        self.encode_own(source, sizes).map(Some)
    }

    /// Whether a sample shows, for `Encode::Auto`, that the section would be larger compressed. The result is
    /// the same on all ranks.
    fn sample_says_larger(
        &mut self,
        elements: Partition,
        data: Source<'_>,
        sizes: Sizes<'_>,
        bytes: Partition,
    ) -> Result<bool, Failure> {
        let Some(sample) = Sample::new(elements.total, bytes.total) else { return Ok(false) };
        let (costs, mine) = split(only_if(!self.sections.team().has_deferred(), || {
            self.compression.encoders.try_sample(self.sections.params(), &sample, data, sizes, bytes)
        }));
        // The second number keeps the sums from being all 0: see `Communicator::allreduce_sum`.
        let mut costs = [costs, 1];
        self.sections.output.must_agree();
        self.sections.team_mut().agree(mine)?.comm().allreduce_sum(&mut costs)?;
        Ok(sample.says_larger(costs[0]))
    }

    /// Encodes elements of this rank.
    fn encode_own(&mut self, data: Source<'_>, sizes: Sizes<'_>) -> Result<EncodedElements> {
        let began = Instant::now();
        let encoded = self.compression.encoders.encode(self.sections.params(), data, sizes)?;
        self.compression.spent.add(encoded.bytes(), began);
        Ok(encoded)
    }

    /// Encodes this rank's elements, and determines where their bytes are among those of all.
    fn encode(
        &mut self,
        data: Source<'_>,
        sizes: Sizes<'_>,
    ) -> Result<(EncodedElements, Partition), Failure> {
        let encoded = only_if(!self.sections.team().has_deferred(), || self.encode_own(data, sizes));
        self.sections.spread(encoded)
    }
}

/// The error for a user string that only a part of a compressed section may have.
#[cold]
fn reserved(user: &[u8]) -> Error {
    let found = quote(user);
    Error::argument(format!("user string: {found} is reserved for compressed sections"))
}

/// Returns an error unless there are `count` sizes whose sum is that in `sums`.
fn check_sizes(sizes: &[u64], count: u64, sums: Option<Partition>) -> Result<()> {
    if sizes.len() as u64 != count {
        return Err(Error::argument(format!("sizes E_i: found {}, expected {count}", sizes.len())));
    }
    let total = Sizes::Each(sizes).total()?;
    match sums {
        Some(bytes) if bytes.count != total => Err(Error::argument(format!(
            "size S_p of this rank: found {}, expected the sum {total} of its sizes E_i",
            bytes.count
        ))),
        _ => Ok(()),
    }
}
