//! Compresses and decompresses this rank's elements, on one or more threads.

use super::interrupt::Interrupt;
use super::options::WriteOptions;
use super::source::{Sizes, Source};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::floats::in_default;
use scda_base::memory::{self, reserve};
use scda_base::numbers::to_usize;
use scda_base::panics::catch;
use scda_codec::{ElementDecoder, ElementEncoder};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Fewer bytes than this are not worth a thread.
const BYTES_PER_THREAD: u64 = 1 << 18;

/// A buffer of encoded elements is full at this length.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Encoded elements: their sizes, and their bytes in several buffers, in order.
#[derive(Default)]
pub struct EncodedElements {
    pub sizes: Vec<u64>,
    pub chunks: Vec<EncodedBytes>,
}

/// Encoded bytes, within memory that may hold others as well.
pub struct EncodedBytes {
    pub memory: Arc<Vec<u8>>,
    pub range: Range<usize>,
}

impl AsRef<[u8]> for EncodedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.memory[self.range.clone()]
    }
}

impl From<Vec<u8>> for EncodedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { memory: Arc::new(bytes), range }
    }
}

impl EncodedElements {
    /// The number of encoded bytes.
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.range.len() as u64).sum()
    }

    /// Appends further elements.
    pub fn append(&mut self, more: Self) -> Result<()> {
        if self.sizes.is_empty() {
            self.sizes = more.sizes;
        } else {
            reserve(&mut self.sizes, more.sizes.len())?;
            self.sizes.extend(more.sizes);
        }
        reserve(&mut self.chunks, more.chunks.len())?;
        self.chunks.extend(more.chunks);
        Ok(())
    }
}

/// Encoders, which are made once and used for all sections of a file.
#[derive(Default)]
pub struct Encoders(Vec<ElementEncoder>);

impl Encoders {
    /// Encodes the elements of `source`, whose memory was checked against `sizes`.
    pub fn encode(
        &mut self,
        params: &WriteOptions,
        source: Source<'_>,
        sizes: Sizes<'_>,
    ) -> Result<EncodedElements> {
        let total = sizes.total()?;
        let useful = total / BYTES_PER_THREAD;
        let threads =
            usize::try_from(useful).map_or(params.tuning.threads, |n| n.clamp(1, params.tuning.threads));
        self.make(params, threads)?;
        let each = (0..sizes.count()).map(|index| sizes.size(index));
        let cuts = cuts(each, total, threads);
        let jobs = self.0.iter_mut().zip(cuts.windows(2));
        let stop = &params.interrupt;
        let jobs =
            jobs.map(|(encoder, cut)| move || encode_range(encoder, source, sizes, cut[0], cut[1], stop));
        let ranges = on_threads(jobs.collect());
        let mut all = EncodedElements::default();
        for range in ranges {
            all.append(range?)?;
        }
        Ok(all)
    }

    /// The encoder of the first thread.
    pub(super) fn first(&mut self, params: &WriteOptions) -> Result<&mut ElementEncoder> {
        self.make(params, 1)?;
        self.0.first_mut().ok_or_else(|| Error::new(ErrorKind::Internal, "no encoder was made"))
    }

    /// Makes encoders until there are `threads` of them.
    fn make(&mut self, params: &WriteOptions, threads: usize) -> Result<()> {
        while self.0.len() < threads {
            self.0.push(ElementEncoder::new(params.encoder, params.level, params.line_break)?);
        }
        Ok(())
    }
}

/// Runs the jobs on threads, one for each job if they can be started, and returns the results in order.
pub fn on_threads<T: Send>(jobs: Vec<impl FnOnce() -> Result<T> + Send>) -> Vec<Result<T>> {
    let count = jobs.len();
    if count <= 1 {
        // A single job needs no thread.
        return jobs.into_iter().map(catch).collect();
    }
    let jobs = Mutex::new(jobs.into_iter().enumerate());
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let allowance = memory::allowance();
    let work = || {
        let _limited = memory::share(allowance.clone());
        std::iter::from_fn(|| next().map(|(index, job)| (index, catch(job)))).collect()
    };
    let mut done: Vec<(usize, Result<T>)> = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, || in_default(work)).ok();
        let helpers: Vec<_> = (1..count).map_while(start).collect();
        // If a thread cannot be started, the others do its work.
        let mut done: Vec<_> = work();
        for helper in helpers {
            match helper.join() {
                Ok(more) => done.extend(more),
                // The jobs' own panics are caught within the thread.
                Err(_) => done.push((count, Err(Error::new(ErrorKind::Internal, "a thread panicked")))),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// An encoded element, its offset in the file, and the memory for its decoded bytes.
pub struct DecodeJob<'a> {
    pub text: &'a [u8],
    pub at: u64,
    pub memory: &'a mut [u8],
}

impl DecodeJob<'_> {
    /// The bytes that decoding it touches.
    fn bytes(&self) -> u64 {
        (self.text.len() + self.memory.len()) as u64
    }

    fn run(&mut self, decoder: &mut ElementDecoder) -> Result<()> {
        decoder.decode(self.text, self.memory).map_err(|error| error.at(self.at))
    }
}

/// Decoders, which are made once and used for all sections of a file.
pub struct Decoders {
    decoders: Vec<ElementDecoder>,
    strict: bool,
}

impl Decoders {
    /// Like [`ElementDecoder::new`].
    pub fn new(strict: bool) -> Self {
        Self { decoders: Vec::new(), strict }
    }

    /// Decodes elements on at most `threads` threads. The error is that of the first invalid element,
    /// whatever the number of threads.
    pub fn decode(&mut self, threads: usize, mut jobs: Vec<DecodeJob<'_>>) -> Result<()> {
        let bytes: u64 = jobs.iter().map(DecodeJob::bytes).sum();
        let useful = bytes / BYTES_PER_THREAD;
        let threads = usize::try_from(useful).map_or(threads, |n| n.clamp(1, threads));
        self.make(threads)?;
        let cuts = cuts(jobs.iter().map(DecodeJob::bytes), bytes, threads);
        let mut rest = jobs.as_mut_slice();
        let jobs = self.decoders.iter_mut().zip(cuts.windows(2)).map(|(decoder, cut)| {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(cut[1].index - cut[0].index);
            rest = others;
            move || own.iter_mut().try_for_each(|job| job.run(decoder))
        });
        on_threads(jobs.collect()).into_iter().collect()
    }

    /// Decodes one element.
    pub fn decode_one(&mut self, mut job: DecodeJob<'_>) -> Result<()> {
        self.make(1)?;
        catch(|| job.run(&mut self.decoders[0]))
    }

    /// Makes decoders until there are `threads` of them.
    fn make(&mut self, threads: usize) -> Result<()> {
        let more = threads.saturating_sub(self.decoders.len());
        reserve(&mut self.decoders, more)?;
        while self.decoders.len() < threads {
            self.decoders.push(ElementDecoder::new(self.strict)?);
        }
        Ok(())
    }
}

/// The first element of a range, and the offset of its bytes in contiguous data.
#[derive(Clone, Copy)]
struct RangeStart {
    index: usize,
    offset: usize,
}

/// Divides elements of `total` bytes into at most `ranges` ranges of nearly equal size.
fn cuts(sizes: impl ExactSizeIterator<Item = u64>, total: u64, ranges: usize) -> Vec<RangeStart> {
    let at = |index, offset| RangeStart { index, offset: to_usize(offset) };
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
    begin: RangeStart,
    end: RangeStart,
    interrupt: &Interrupt,
) -> Result<EncodedElements> {
    let count = end.index - begin.index;
    let mut encoded = EncodedElements::default();
    reserve(&mut encoded.sizes, count)?;
    let mut chunk = Vec::new();
    let mut offset = begin.offset;
    for index in begin.index..end.index {
        interrupt.check()?;
        let element = match source {
            Source::Contiguous(data) => {
                // The memory was checked, so each size fits it.
                let size = to_usize(sizes.size(index));
                offset += size;
                &data[offset - size..offset]
            }
            Source::Indirect(elements) => elements.element(index),
        };
        // Starting another buffer saves copying the first when it grows.
        if chunk.len() >= CHUNK_BYTES {
            encoded.chunks.push(std::mem::take(&mut chunk).into());
            reserve(&mut chunk, CHUNK_BYTES + CHUNK_BYTES / 8)?;
        }
        encoded.sizes.push(encoder.encode(element, &mut chunk)? as u64);
    }
    encoded.chunks.push(chunk.into());
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
            let mut params = WriteOptions::default();
            params.tuning.threads = threads;
            let all =
                Encoders::default().encode(&params, Source::Contiguous(&data), Sizes::Each(&sizes)).unwrap();
            assert!(all.chunks.len() >= threads);
            (all.sizes, all.chunks.iter().flat_map(AsRef::as_ref).copied().collect::<Vec<u8>>())
        };
        let one = encode(1);
        assert_eq!(one.0.len(), sizes.len());
        assert_eq!(encode(2), one);
        assert_eq!(encode(7), one);
    }

    #[test]
    fn the_first_bad_element_is_named_whatever_the_threads() {
        let params = WriteOptions::default();
        let data: Vec<u8> = (0..2_000_000_u32).map(|i| (i / 100) as u8).collect();
        let sizes = Sizes::Fixed { count: 1000, size: 2000 };
        let encoded = Encoders::default().encode(&params, Source::Contiguous(&data), sizes).unwrap();
        let mut text: Vec<u8> = encoded.chunks.iter().flat_map(AsRef::as_ref).copied().collect();
        let decode = |text: &[u8], threads| {
            let mut found = vec![0; data.len()];
            let mut at = 0;
            let jobs = encoded.sizes.iter().zip(found.chunks_mut(2000)).map(|(&size, memory)| {
                at += size;
                let begin = at - size;
                DecodeJob { text: &text[begin as usize..at as usize], at: begin, memory }
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
