//! Compressing and decompressing this rank's elements, on one or more threads.

use super::interrupt::Interrupt;
use super::params::Params;
use super::source::{Sizes, Source};
use crate::codec::{ElementDecoder, ElementEncoder};
use crate::error::{Error, ErrorKind, Result};
use crate::format::COUNT_BYTES;
use crate::memory::{catch, reserve};
use crate::numbers::to_usize;
use crate::parallel::Partition;
use std::sync::{Mutex, PoisonError};

/// Less than this is not worth a thread.
const BYTES_PER_THREAD: u64 = 1 << 18;

/// A chunk of encoded elements ends at this length.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Encoded elements: their sizes, and their bytes in chunks, in order.
#[derive(Default)]
pub struct Encoded {
    pub sizes: Vec<u64>,
    pub chunks: Vec<Vec<u8>>,
}

impl Encoded {
    /// All encoded bytes.
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }
}

/// Encoders made once and used for all sections of a file.
#[derive(Default)]
pub struct Encoders(Vec<ElementEncoder>);

impl Encoders {
    /// Encodes the elements of `source`, whose memory was checked against `sizes`.
    pub fn encode(&mut self, params: &Params, source: Source<'_>, sizes: Sizes<'_>) -> Result<Encoded> {
        let total = sizes.total()?;
        let useful = total / BYTES_PER_THREAD;
        let threads = usize::try_from(useful).map_or(params.threads, |n| n.clamp(1, params.threads));
        self.make(params, threads)?;
        let each = (0..sizes.count()).map(|index| sizes.size(index));
        let cuts = cuts(each, total, threads);
        let jobs = self.0.iter_mut().zip(cuts.windows(2));
        let stop = &params.interrupt;
        let jobs =
            jobs.map(|(encoder, cut)| move || encode_range(encoder, source, sizes, cut[0], cut[1], stop));
        let ranges = on_threads(jobs.collect());
        let mut all = Encoded::default();
        for range in ranges {
            let range = range?;
            if all.sizes.is_empty() {
                all.sizes = range.sizes;
            } else {
                reserve(&mut all.sizes, range.sizes.len())?;
                all.sizes.extend(range.sizes);
            }
            reserve(&mut all.chunks, range.chunks.len())?;
            all.chunks.extend(range.chunks);
        }
        Ok(all)
    }
}

/// Runs the jobs, each on a thread of its own if enough threads can be started, and returns their results in order.
pub fn on_threads<T: Send>(jobs: Vec<impl FnOnce() -> Result<T> + Send>) -> Vec<Result<T>> {
    let count = jobs.len();
    if count <= 1 {
        // No thread is needed, nor what the standard library keeps of this one.
        return jobs.into_iter().map(catch).collect();
    }
    let jobs = Mutex::new(jobs.into_iter().enumerate());
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || std::iter::from_fn(|| next().map(|(index, job)| (index, catch(job)))).collect();
    let mut done: Vec<(usize, Result<T>)> = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (1..count).map_while(start).collect();
        // If a thread cannot be started, the others do its work.
        let mut done: Vec<_> = work();
        for helper in helpers {
            match helper.join() {
                Ok(more) => done.extend(more),
                Err(panic) => done.push((count, Err(Error::of_panic(&*panic)))),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// An encoded element, where it begins in the file, and the memory that it is decoded into.
pub struct Job<'a> {
    pub text: &'a [u8],
    pub at: u64,
    pub memory: &'a mut [u8],
}

impl Job<'_> {
    /// The bytes that are worked on.
    fn bytes(&self) -> u64 {
        (self.text.len() + self.memory.len()) as u64
    }

    fn run(&mut self, decoder: &mut ElementDecoder) -> Result<()> {
        decoder.decode(self.text, self.memory).map_err(|error| error.at(self.at))
    }
}

/// Decoders made once and used for all sections of a file.
pub struct Decoders {
    decoders: Vec<ElementDecoder>,
    strict: bool,
}

impl Decoders {
    /// As [`ElementDecoder::new`].
    pub fn new(strict: bool) -> Self {
        Self { decoders: Vec::new(), strict }
    }

    /// Decodes elements on at most so many threads. The error is that of the first bad element,
    /// whatever the number of threads.
    pub fn decode(&mut self, threads: usize, mut jobs: Vec<Job<'_>>) -> Result<()> {
        let bytes: u64 = jobs.iter().map(Job::bytes).sum();
        let useful = bytes / BYTES_PER_THREAD;
        let threads = usize::try_from(useful).map_or(threads, |n| n.clamp(1, threads));
        self.make(threads)?;
        let cuts = cuts(jobs.iter().map(Job::bytes), bytes, threads);
        let mut rest = jobs.as_mut_slice();
        let jobs = self.decoders.iter_mut().zip(cuts.windows(2)).map(|(decoder, cut)| {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(cut[1].index - cut[0].index);
            rest = others;
            move || own.iter_mut().try_for_each(|job| job.run(decoder))
        });
        on_threads(jobs.collect()).into_iter().collect()
    }

    /// Decodes one element.
    pub fn decode_one(&mut self, mut job: Job<'_>) -> Result<()> {
        self.make(1)?;
        catch(|| job.run(&mut self.decoders[0]))
    }

    /// Makes decoders for so many threads.
    fn make(&mut self, threads: usize) -> Result<()> {
        let more = threads.saturating_sub(self.decoders.len());
        reserve(&mut self.decoders, more)?;
        while self.decoders.len() < threads {
            self.decoders.push(ElementDecoder::new(self.strict)?);
        }
        Ok(())
    }
}

/// The points of a section at which it is tried whether compression makes it smaller. They are points
/// among the bytes of all elements, so that nothing depends on who has them.
pub struct Sample {
    /// The bytes of all elements.
    total: u64,
    points: u64,
    /// The most bytes that are tried at a point.
    piece: u64,
    /// Whether the section is so small that it is better compressed as a whole, unless it is noise.
    is_small: bool,
}

/// Of a section the part in this many is tried, if that is within the bounds.
const SAMPLED_PART: u64 = 32;
const MIN_SAMPLE_BYTES: u64 = 1 << 13;
const MAX_SAMPLE_BYTES: u64 = 1 << 18;
/// Fewer would miss differences between parts of a section; more add nothing.
const MIN_POINTS: u64 = 4;
const MAX_POINTS: u64 = 128;
/// Larger elements are tried in pieces: shorter pieces compress worse than the element would.
const MAX_PIECE_BYTES: u64 = 1 << 15;
/// A section is plain if the sample grows by a part in this many.
const CLEARLY: u64 = 16;
/// Costs are ratios in this unit.
const UNIT: u64 = 1 << 16;

impl Sample {
    /// The points of a section of `count` elements with `total` bytes; `None` if it has none.
    pub fn new(count: u64, total: u64) -> Option<Self> {
        if total == 0 || count == 0 {
            return None;
        }
        let is_small = total < 2 * MIN_SAMPLE_BYTES;
        let element = (total / count).clamp(1, MAX_PIECE_BYTES);
        let (bytes, piece) = if is_small {
            (total, element)
        } else {
            let bytes = (total / SAMPLED_PART).clamp(MIN_SAMPLE_BYTES, MAX_SAMPLE_BYTES);
            (bytes, element.min(bytes / MIN_POINTS))
        };
        Some(Self { total, points: (bytes / piece).min(MAX_POINTS), piece, is_small })
    }

    /// The first byte of the section after or at point `k`: somewhere in the `k`th of equal parts, so that no
    /// period of the data hides from it.
    fn point(&self, k: u64) -> u64 {
        // A fraction of 2^32: the golden ratio's multiples are spread evenly.
        let within = (k + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let point = u128::from(self.total) * u128::from(k << 32 | within) / u128::from(self.points << 32);
        // Below the total.
        u64::try_from(point).unwrap_or(u64::MAX)
    }

    /// Whether the sum of the costs at all points says that compression makes the section larger.
    pub fn says_larger(&self, costs: u64) -> bool {
        costs > self.points * (UNIT + UNIT / CLEARLY)
    }
}

impl Encoders {
    /// The sum of the costs at those points of a sample that are among this rank's bytes: encoded
    /// bytes for each byte.
    pub fn try_sample(
        &mut self,
        params: &Params,
        sample: &Sample,
        source: Source<'_>,
        sizes: Sizes<'_>,
        bytes: Partition,
    ) -> Result<u64> {
        catch(|| {
            let mut costs = 0;
            // The element that was looked at last, and where it begins among this rank's bytes.
            let (mut index, mut start) = (0, 0);
            for k in 0..sample.points {
                let Some(point) = sample.point(k).checked_sub(bytes.offset) else { continue };
                if point >= bytes.count {
                    break;
                }
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
                let length = size.min(sample.piece);
                let first = (point - start).min(size - length);
                // The memory was checked: all fits it.
                let range = |start: u64| {
                    let start = to_usize(start);
                    start..start.saturating_add(to_usize(length))
                };
                let piece = match source {
                    Source::Contiguous(data) => &data[range(start + first)],
                    Source::Indirect(elements) => &elements.element(index)[range(first)],
                };
                // Each element takes an entry more than when it is plain.
                let entry = COUNT_BYTES as u64 * length / size;
                // If byte frequencies decide, nothing is encoded.
                let estimate = ElementEncoder::estimate(piece) as u64;
                let encoded = if estimate + entry > length + length / CLEARLY {
                    estimate
                } else if sample.is_small {
                    continue;
                } else {
                    self.first(params)?.measure(piece)? as u64
                };
                costs += (encoded + entry) * UNIT / length;
            }
            Ok(costs)
        })
    }

    /// The encoder of the first thread.
    fn first(&mut self, params: &Params) -> Result<&mut ElementEncoder> {
        self.make(params, 1)?;
        self.0.first_mut().ok_or_else(|| Error::new(ErrorKind::Internal, "no encoder was made"))
    }

    /// Makes encoders for so many threads.
    fn make(&mut self, params: &Params, threads: usize) -> Result<()> {
        while self.0.len() < threads {
            self.0.push(ElementEncoder::new(params.encoder, params.level, params.line_break)?);
        }
        Ok(())
    }
}

/// The first element of a range, and where its bytes begin in contiguous data.
#[derive(Clone, Copy)]
struct Cut {
    index: usize,
    offset: usize,
}

/// Cuts elements of `total` bytes into at most so many ranges of about the same number of bytes.
fn cuts(sizes: impl ExactSizeIterator<Item = u64>, total: u64, ranges: usize) -> Vec<Cut> {
    let at = |index, offset| Cut { index, offset: to_usize(offset) };
    let end = at(sizes.len(), total);
    let mut cuts = vec![at(0, 0)];
    if ranges > 1 {
        let mut offset = 0;
        for (index, size) in sizes.enumerate() {
            let goal = u128::from(total) * cuts.len() as u128 / ranges as u128;
            if u128::from(offset) >= goal && cuts.len() < ranges {
                cuts.push(at(index, offset));
            }
            offset += size;
        }
    }
    cuts.push(end);
    cuts
}

fn encode_range(
    encoder: &mut ElementEncoder,
    source: Source<'_>,
    sizes: Sizes<'_>,
    begin: Cut,
    end: Cut,
    interrupt: &Interrupt,
) -> Result<Encoded> {
    let count = end.index - begin.index;
    let mut encoded = Encoded::default();
    reserve(&mut encoded.sizes, count)?;
    let mut chunk = Vec::new();
    let mut offset = begin.offset;
    for index in begin.index..end.index {
        interrupt.check()?;
        let element = match source {
            Source::Contiguous(data) => {
                // The memory was checked: each size fits it.
                let size = to_usize(sizes.size(index));
                offset += size;
                &data[offset - size..offset]
            }
            Source::Indirect(elements) => elements.element(index),
        };
        // Chunks, so that nothing has to be copied when there are more.
        if chunk.len() >= CHUNK_BYTES {
            encoded.chunks.push(std::mem::take(&mut chunk));
            reserve(&mut chunk, CHUNK_BYTES + CHUNK_BYTES / 8)?;
        }
        encoded.sizes.push(encoder.encode(element, &mut chunk)? as u64);
    }
    encoded.chunks.push(chunk);
    Ok(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoded_bytes_do_not_depend_on_the_threads() {
        let sizes: Vec<u64> = (0..3000).map(|i| (i * i) % 3000).collect();
        let data: Vec<u8> = (0..sizes.iter().sum::<u64>()).map(|i| (i * i / 64) as u8).collect();
        let encode = |threads| {
            let params = Params { threads, ..Params::default() };
            let all =
                Encoders::default().encode(&params, Source::Contiguous(&data), Sizes::Each(&sizes)).unwrap();
            assert!(all.chunks.len() >= threads);
            (all.sizes, all.chunks.concat())
        };
        let one = encode(1);
        assert_eq!(one.0.len(), sizes.len());
        assert_eq!(encode(2), one);
        assert_eq!(encode(7), one);
    }

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(bytes).collect()
    }

    /// The costs of a sample, summed over ranks that have so many elements each.
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
            let params = Params::default();
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
    fn the_first_bad_element_is_named_whatever_the_threads() {
        let params = Params::default();
        let data: Vec<u8> = (0..2_000_000_u32).map(|i| (i / 100) as u8).collect();
        let sizes = Sizes::Fixed { count: 1000, size: 2000 };
        let encoded = Encoders::default().encode(&params, Source::Contiguous(&data), sizes).unwrap();
        let mut text = encoded.chunks.concat();
        let decode = |text: &[u8], threads| {
            let mut found = vec![0; data.len()];
            let mut at = 0;
            let jobs = encoded.sizes.iter().zip(found.chunks_mut(2000)).map(|(&size, memory)| {
                at += size;
                let begin = at - size;
                Job { text: &text[begin as usize..at as usize], at: begin, memory }
            });
            let result = Decoders::new(false).decode(threads, jobs.collect());
            result.map(|()| found).map_err(|error| error.to_string())
        };
        for threads in [1, 2, 3, 7] {
            assert_eq!(decode(&text, threads).as_ref(), Ok(&data));
        }
        let at: u64 = encoded.sizes[..400].iter().sum();
        for bad in [400, 700, 999] {
            let at: u64 = encoded.sizes[..bad].iter().sum();
            text[at as usize] = b'?';
        }
        let one = decode(&text, 1);
        assert!(one.as_ref().is_err_and(|words| words.contains(&format!("byte {at}:"))), "{one:?}");
        for threads in [2, 3, 7] {
            assert_eq!(decode(&text, threads), one);
        }
    }
}
