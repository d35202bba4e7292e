//! Samples a section, so that `Encode::Auto` can tell whether compression would make it larger.

use super::encoding::Encoders;
use super::options::WriteOptions;
use super::source::{Sizes, Source};
use scda_base::error::Result;
use scda_base::numbers::to_usize;
use scda_base::panics::catch;
use scda_codec::ElementEncoder;
use scda_format::COUNT_BYTES;
use scda_ranks::Partition;

/// The points of a section at which compression is tried. They are positions among the bytes of all elements,
/// so that nothing depends on the partition.
pub struct Sample {
    /// The size of all elements.
    total: u64,
    points: u64,
    /// The most bytes that are tried at a point.
    point_bytes: u64,
    /// Whether the section is so small that all of it is compressed, unless it is noise.
    is_small: bool,
}

/// One in this many bytes of a section is sampled, within the bounds below.
const SAMPLED_PART: u64 = 32;
const MIN_SAMPLE_BYTES: u64 = 1 << 13;
const MAX_SAMPLE_BYTES: u64 = 1 << 18;
/// Fewer points would miss differences between parts of a section; more would add nothing.
const MIN_POINTS: u64 = 4;
const MAX_POINTS: u64 = 128;
/// The most bytes of an element that are tried. Shorter samples compress worse than the element would.
const MAX_POINT_BYTES: u64 = 1 << 15;
/// The section is not compressed if the sample grows by more than one part in this many.
const CLEARLY: u64 = 16;
/// The unit of costs, which are ratios.
const UNIT: u64 = 1 << 16;

impl Sample {
    /// The points of a section of `count` elements with `total` bytes; `None` if it has none.
    pub fn new(count: u64, total: u64) -> Option<Self> {
        if total == 0 || count == 0 {
            return None;
        }
        let is_small = total < 2 * MIN_SAMPLE_BYTES;
        let element = (total / count).clamp(1, MAX_POINT_BYTES);
        let (bytes, point_bytes) = if is_small {
            (total, element)
        } else {
            let bytes = (total / SAMPLED_PART).clamp(MIN_SAMPLE_BYTES, MAX_SAMPLE_BYTES);
            (bytes, element.min(bytes / MIN_POINTS))
        };
        Some(Self { total, points: (bytes / point_bytes).min(MAX_POINTS), point_bytes, is_small })
    }

    /// The first byte of the section at or after point `k`: somewhere in the `k`th of equal parts, so that no
    /// periodic data escape the sample.
    fn point(&self, k: u64) -> u64 {
        // Multiples of the golden ratio, as a fraction of 2^32, are evenly spread.
        let within = (k + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let point = u128::from(self.total) * u128::from(k << 32 | within) / u128::from(self.points << 32);
        // It is less than the total.
        u64::try_from(point).unwrap_or(u64::MAX)
    }

    /// The sampled bytes at those points that are among this rank's bytes, each with the size of its element.
    fn samples<'a>(
        &'a self,
        source: Source<'a>,
        sizes: Sizes<'a>,
        bytes: Partition,
    ) -> impl Iterator<Item = (&'a [u8], u64)> {
        let points = (0..self.points).filter_map(move |k| self.point(k).checked_sub(bytes.offset));
        // The previous element, and where it begins among this rank's bytes.
        let (mut index, mut start) = (0, 0);
        points.take_while(move |&point| point < bytes.count).map(move |point| {
            match sizes {
                Sizes::Fixed { size, .. } => {
                    index = to_usize(point / size);
                    start = point - point % size;
                }
                Sizes::Each(sizes) => {
                    while start + sizes[index] <= point {
                        start += sizes[index];
                        index += 1;
                    }
                }
            }
            let size = sizes.size(index);
            let length = size.min(self.point_bytes);
            let first = (point - start).min(size - length);
            // The memory was checked against the sizes.
            let range = |start: u64| {
                let start = to_usize(start);
                start..start.saturating_add(to_usize(length))
            };
            let run = match source {
                Source::Contiguous(data) => &data[range(start + first)],
                Source::Indirect(elements) => &elements.element(index)[range(first)],
            };
            (run, size)
        })
    }

    /// Whether the sum of the costs at all points means that compression makes the section larger.
    pub fn says_larger(&self, costs: u64) -> bool {
        costs > self.points * (UNIT + UNIT / CLEARLY)
    }
}

impl Encoders {
    /// The sum of the costs at those points that are among this rank's bytes; a cost is the number of encoded
    /// bytes per byte.
    pub fn try_sample(
        &mut self,
        params: &WriteOptions,
        sample: &Sample,
        source: Source<'_>,
        sizes: Sizes<'_>,
        bytes: Partition,
    ) -> Result<u64> {
        catch(|| {
            let mut costs = 0;
            for (run, size) in sample.samples(source, sizes, bytes) {
                let length = run.len() as u64;
                // A compressed element has one size entry more.
                let entry = COUNT_BYTES as u64 * length / size;
                // If byte counts decide, nothing is encoded.
                let estimate = ElementEncoder::estimate(run) as u64;
                let encoded = if estimate + entry > length + length / CLEARLY {
                    estimate
                } else if sample.is_small {
                    continue;
                } else {
                    self.first(params)?.measure(run)? as u64
                };
                costs += (encoded + entry) * UNIT / length;
            }
            Ok(costs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(bytes).collect()
    }

    /// The costs of a sample, summed over ranks with these counts of elements.
    fn costs(data: &[u8], sizes: &[u64], counts: &[usize], indirect: bool) -> (u64, bool) {
        let total = data.len() as u64;
        let sample = Sample::new(sizes.len() as u64, total).unwrap();
        let (mut costs, mut offset) = (0, 0);
        let mut rest = sizes;
        for &count in counts {
            let (own, others) = rest.split_at(count);
            rest = others;
            let bytes = own.iter().sum::<u64>();
            let part = Partition { offset, count: bytes, total };
            let mut mine = &data[offset as usize..(offset + bytes) as usize];
            let elements: Vec<&[u8]> = own
                .iter()
                .map(|&size| {
                    let (element, others) = mine.split_at(size as usize);
                    mine = others;
                    element
                })
                .collect();
            let contiguous = &data[offset as usize..(offset + bytes) as usize];
            let source = if indirect { Source::Indirect(&elements) } else { Source::Contiguous(contiguous) };
            let sizes = match own.iter().all(|&size| size == sizes[0]) {
                true => Sizes::Fixed { count: count as u64, size: sizes[0] },
                false => Sizes::Each(own),
            };
            let params = WriteOptions::default();
            costs += Encoders::default().try_sample(&params, &sample, source, sizes, part).unwrap();
            offset += bytes;
        }
        (costs, sample.says_larger(costs))
    }

    #[test]
    fn a_sample_does_not_depend_on_the_partition() {
        let mixed: Vec<u64> = (0..1000).map(|i| (i * i) % 3000).collect();
        for sizes in [vec![100; 10_000], vec![70_000; 12], vec![1 << 20], mixed] {
            let data = noise(usize::try_from(sizes.iter().sum::<u64>()).unwrap());
            let n = sizes.len();
            let one = costs(&data, &sizes, &[n], false);
            assert!(one.1, "noise does not get smaller");
            for counts in [vec![0, n], vec![n / 3, n - n / 3], vec![n / 7, 0, n / 5, n - n / 7 - n / 5]] {
                assert_eq!(costs(&data, &sizes, &counts, false), one);
                assert_eq!(costs(&data, &sizes, &counts, true), one);
            }
            let zeros = vec![0; data.len()];
            assert!(!costs(&zeros, &sizes, &[n], false).1, "zeros get smaller");
        }
    }

    #[test]
    fn a_little_noise_does_not_make_a_section_plain() {
        let mut data = vec![0; 1 << 20];
        data[..300_000].copy_from_slice(&noise(300_000));
        assert!(!costs(&data, &[4096; 256], &[256], false).1);
        data[..1_000_000].copy_from_slice(&noise(1_000_000));
        assert!(costs(&data, &[4096; 256], &[256], false).1);
    }

    #[test]
    fn entries_count_as_bytes() {
        // Three bits of each byte are noise: a short element saves less than its size entry takes.
        let data: Vec<u8> = noise(1 << 18).iter().map(|byte| byte & 7).collect();
        for (size, is_larger) in [(96, true), (4096, false)] {
            let sizes = vec![size; data.len() / size as usize];
            assert_eq!(costs(&data, &sizes, &[sizes.len()], false).1, is_larger, "{size}");
        }
    }
}
