//! Compressing this rank's elements, on one or more threads.

use super::params::Params;
use super::source::{Sizes, Source};
use crate::codec::ElementEncoder;
use crate::error::{Error, ErrorKind, Result};

/// Less than this is not worth a thread.
const BYTES_PER_THREAD: u64 = 1 << 18;

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
        let useful = sizes.total()? / BYTES_PER_THREAD;
        let threads = usize::try_from(useful).map_or(params.threads, |n| n.clamp(1, params.threads));
        while self.0.len() < threads {
            self.0.push(ElementEncoder::new(params.encoder, params.level, params.line_break)?);
        }
        let cuts = cuts(sizes, threads)?;
        let jobs = self.0.iter_mut().zip(cuts.windows(2));
        let parts: Vec<Result<Encoded>> = if threads == 1 {
            jobs.map(|(encoder, cut)| encode_range(encoder, source, sizes, cut[0], cut[1])).collect()
        } else {
            std::thread::scope(|scope| {
                let running: Vec<_> = jobs
                    .map(|(encoder, cut)| {
                        let (begin, end) = (cut[0], cut[1]);
                        std::thread::Builder::new()
                            .spawn_scoped(scope, move || encode_range(encoder, source, sizes, begin, end))
                    })
                    .collect();
                running
                    .into_iter()
                    .map(|thread| match thread {
                        Ok(thread) => thread
                            .join()
                            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "an encoder panicked"))),
                        Err(e) => Err(Error::io("starting a thread", e)),
                    })
                    .collect()
            })
        };
        let mut all = Encoded::default();
        for part in parts {
            let part = part?;
            if all.sizes.is_empty() {
                all.sizes = part.sizes;
            } else {
                all.sizes.extend(part.sizes);
            }
            all.chunks.extend(part.chunks);
        }
        Ok(all)
    }
}

/// The first element of a range, and where its bytes begin in contiguous data.
#[derive(Clone, Copy)]
struct Cut {
    index: usize,
    offset: usize,
}

/// Cuts the elements into ranges of about the same number of bytes.
fn cuts(sizes: Sizes<'_>, ranges: usize) -> Result<Vec<Cut>> {
    let count = sizes.count();
    let total = sizes.total()?;
    let end = Cut { index: count, offset: usize::try_from(total).unwrap_or(usize::MAX) };
    let mut cuts = vec![Cut { index: 0, offset: 0 }];
    if ranges > 1 {
        let mut offset = 0;
        for index in 0..count {
            let goal = u128::from(total) * cuts.len() as u128 / ranges as u128;
            if u128::from(offset) >= goal && cuts.len() < ranges {
                cuts.push(Cut { index, offset: usize::try_from(offset).unwrap_or(usize::MAX) });
            }
            offset += sizes.size(index);
        }
    }
    cuts.push(end);
    Ok(cuts)
}

fn encode_range(
    encoder: &mut ElementEncoder,
    source: Source<'_>,
    sizes: Sizes<'_>,
    begin: Cut,
    end: Cut,
) -> Result<Encoded> {
    let count = end.index - begin.index;
    let mut encoded = Encoded::default();
    encoded.sizes.try_reserve(count).map_err(|_| Error::memory(count.saturating_mul(8)))?;
    let mut bytes = Vec::new();
    let mut offset = begin.offset;
    for index in begin.index..end.index {
        let element = match source {
            Source::Contiguous(data) => {
                // The memory was checked: each size fits it.
                let size = usize::try_from(sizes.size(index)).unwrap_or(0);
                offset += size;
                &data[offset - size..offset]
            }
            Source::Indirect(elements) => elements.element(index),
        };
        encoded.sizes.push(encoder.encode(element, &mut bytes)? as u64);
    }
    encoded.chunks.push(bytes);
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
            assert_eq!(all.chunks.len(), threads);
            (all.sizes, all.chunks.concat())
        };
        let one = encode(1);
        assert_eq!(one.0.len(), sizes.len());
        assert_eq!(encode(2), one);
        assert_eq!(encode(7), one);
    }
}
