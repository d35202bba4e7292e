//! Tests whether compression makes a stream smaller: `Encode::Auto` for data that can be read again.

use super::SectionEncoder;
use super::choice::Choice;
use super::streaming::{ElementStream, batch_bytes, for_each_batch, read_again};
use crate::file::options::Encode;
use crate::file::sample::Sample;
use crate::file::source::{Sizes, Source};
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_ranks::Partition;

impl SectionEncoder<'_> {
    /// Decides as for data in memory, and returns to the first element.
    pub(super) fn try_stream(
        &mut self,
        elements: &mut dyn ElementStream,
        choice: &Choice,
    ) -> Result<Encode, Failure> {
        // Tested now, before anything is read.
        read_again(elements)?;
        let compressed = choice.decide(|| {
            if self.sample_of_stream_is_larger(elements, choice)? {
                return Ok(None);
            }
            read_again(elements)?;
            let mut bytes = 0;
            let (params, encoders) = (self.sections.params(), &mut self.compression.encoders);
            for_each_batch(elements, choice.count, batch_bytes(params), |sizes, data| {
                bytes += encoders.encode(params, Source::Contiguous(data), Sizes::Each(sizes))?.bytes();
                // The size can only grow from here.
                Ok(choice.is_smaller(bytes))
            })?;
            Ok(Some((bytes, ())))
        })?;
        read_again(elements)?;
        Ok(if compressed.is_some() { Encode::Always } else { Encode::None })
    }

    /// Whether a sample shows that the elements would be larger compressed.
    fn sample_of_stream_is_larger(
        &mut self,
        elements: &mut dyn ElementStream,
        choice: &Choice,
    ) -> Result<bool> {
        let (count, total) = (choice.count, choice.plain.data_bytes);
        let Some(sample) = Sample::new(count, total) else { return Ok(false) };
        let (mut costs, mut offset) = (0, 0);
        let (params, encoders) = (self.sections.params(), &mut self.compression.encoders);
        for_each_batch(elements, count, batch_bytes(params), |sizes, data| {
            let bytes = Partition { offset, count: data.len() as u64, total };
            let (source, sizes) = (Source::Contiguous(data), Sizes::Each(sizes));
            costs += encoders.try_sample(params, &sample, source, sizes, bytes)?;
            offset += bytes.count;
            Ok(true)
        })?;
        Ok(sample.says_larger(costs))
    }
}
