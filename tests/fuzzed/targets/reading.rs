//! Any bytes are read as a file, on one rank and on several.

use super::input::{Input, hash};
use super::{Apart, Scratch};
use crate::common::{Rng, options};
use crate::memory;
use crate::naive::{Found, MOST_DATA, Naive};
use scda::{
    Collective, Communicator, ErrorKind, ReadOptions, Reader, Result, SectionType, Sink, Solo, run_on_threads,
};
use std::path::Path;

/// What a reader of one rank may have in memory besides a few times the file: its window and its batches.
pub(super) const MEMORY_OF_A_RANK: usize = 5 << 20;

/// What a rank sees of a file: headers, sizes and data of its part, until the end or an error.
struct Seen {
    user: Option<Vec<u8>>,
    sections: Vec<Found>,
    error: Option<ErrorKind>,
}

fn see(
    comm: impl Communicator + 'static,
    path: &Path,
    decode: bool,
    params: &ReadOptions,
    seed: u64,
) -> Seen {
    let mut seen = Seen { user: None, sections: Vec::new(), error: None };
    seen.error = see_all(comm, path, decode, params, seed, &mut seen).err().map(|error| {
        // What a user is shown must name the file.
        assert!(error.to_string().contains("scda-fuzz"), "{error}");
        error.kind()
    });
    seen
}

fn see_all(
    comm: impl Communicator + 'static,
    path: &Path,
    decode: bool,
    params: &ReadOptions,
    seed: u64,
    seen: &mut Seen,
) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut rng = Rng(seed);
    let mut file = Reader::open(comm, path, params)?;
    seen.user = Some(file.header().user.to_vec());
    while let Some(section) = file.next_section(decode)? {
        let root = rng.below(size as u64) as usize;
        let is_root = rank == root;
        let counts = rng.partition(section.count, size);
        let mut found = Found {
            letter: section.section_type.letter(),
            user: section.user.to_vec(),
            count: section.count,
            size: section.size,
            decoded: section.decoded,
            sizes: Vec::new(),
            data: None,
        };
        let indirect = rng.below(3) == 0;
        // In two ranges, the second one first: the same is seen.
        let ranges = size == 1 && rng.below(3) == 0;
        let cut = rng.below(section.count + 1);
        match section.section_type {
            SectionType::Inline => {
                let mut data = [0; 32];
                file.read_inline(root, is_root.then_some(&mut data))?;
                found.data = Some(if is_root { data.to_vec() } else { vec![] });
            }
            SectionType::Block => {
                let fits = section.size <= MOST_DATA;
                let mut data = vec![0; if fits && is_root { section.size as usize } else { 0 }];
                file.read_block(section.size, root, (fits && is_root).then_some(&mut data))?;
                found.data = fits.then_some(data);
            }
            SectionType::Array => {
                let fits = section.count.checked_mul(section.size).is_some_and(|bytes| bytes <= MOST_DATA);
                let sizes = |n: u64| vec![section.size; n as usize];
                // So many elements of no bytes cannot be addressed.
                let indirect = indirect && section.count <= MOST_DATA;
                found.data = elements(
                    fits,
                    indirect,
                    counts[rank] * section.size,
                    || sizes(counts[rank]),
                    |sink| match sink {
                        Sink::Contiguous(data) if ranges => {
                            let (first, second) = data.split_at_mut((cut * section.size) as usize);
                            let all = cut..section.count;
                            file.ranges().read_array(all, section.size, Sink::Contiguous(second))?;
                            file.ranges().read_array(0..cut, section.size, Sink::Contiguous(first))?;
                            file.skip()
                        }
                        sink => file.read_array(&counts, section.size, sink),
                    },
                )?;
            }
            SectionType::Varray if ranges => {
                let mut sizes = vec![0; section.count as usize];
                let (first, second) = sizes.split_at_mut(cut as usize);
                file.ranges().read_varray_sizes(cut..section.count, second)?;
                file.ranges().read_varray_sizes(0..cut, first)?;
                let bytes = |sizes: &[u64]| sizes.iter().fold(0_u64, |sum, &size| sum.saturating_add(size));
                found.data = elements(
                    bytes(&sizes) <= MOST_DATA,
                    indirect,
                    bytes(&sizes),
                    || sizes.clone(),
                    |sink| match sink {
                        Sink::Contiguous(data) => {
                            let (low, high) = sizes.split_at(cut as usize);
                            let (first, second) = data.split_at_mut(bytes(low) as usize);
                            file.ranges().read_varray(0..cut, low, Sink::Contiguous(first))?;
                            file.ranges().read_varray(cut..section.count, high, Sink::Contiguous(second))?;
                            file.skip()
                        }
                        Sink::Indirect(_) => {
                            file.ranges().read_varray(0..section.count, &sizes, sink)?;
                            file.skip()
                        }
                        Sink::Skip => file.skip(),
                    },
                )?;
                found.sizes = sizes;
            }
            SectionType::Varray => {
                let mut sizes = vec![0; counts[rank] as usize];
                file.read_varray_sizes(&counts, Some(&mut sizes))?;
                let sums = file.proc_sizes(&sizes)?;
                let fits = sums.iter().sum::<u64>() <= MOST_DATA;
                let given = if rng.below(2) == 0 { Some(sums.as_slice()) } else { None };
                found.data = elements(
                    fits,
                    indirect,
                    sums[rank],
                    || sizes.clone(),
                    |sink| file.read_varray(&counts, Some(&sizes), given, sink),
                )?;
                found.sizes = sizes;
            }
        }
        seen.sections.push(found);
    }
    assert!(file.at_end());
    file.close()
}

/// Reads elements of `bytes` bytes in all if they fit, else skips them.
fn elements(
    fits: bool,
    indirect: bool,
    bytes: u64,
    sizes: impl Fn() -> Vec<u64>,
    read: impl FnOnce(Sink<'_>) -> Result<()>,
) -> Result<Option<Vec<u8>>> {
    if !fits {
        return read(Sink::Skip).map(|()| None);
    }
    if indirect {
        let mut data: Vec<Vec<u8>> = sizes().into_iter().map(|size| vec![0; size as usize]).collect();
        read(Sink::Indirect(&mut data))?;
        return Ok(Some(data.concat()));
    }
    let mut data = vec![0; bytes as usize];
    read(Sink::Contiguous(&mut data))?;
    Ok(Some(data))
}

/// Reads any bytes as a file and compares with the naive reader.
fn read_alone(input: &[u8], decode: bool) {
    let scratch = Scratch::with(input);
    let seed = hash(input);
    let mut params: ReadOptions = options();
    Input(&seed.to_be_bytes()).access(&mut params.tuning);
    // The naive reader shows all that is there.
    params.to_seal = false;
    let (peak, seen) = memory::peak(|| see(Solo, &scratch.0, decode, &params, seed));
    let limit = MEMORY_OF_A_RANK + 8 * input.len();
    assert!(peak <= limit, "{peak} bytes of memory for a file of {}", input.len());
    compare(&seen, input, decode);
    params.tuning.max_memory = 1 << (12 + seed % 12);
    let (peak, seen) = memory::peak(|| see(Solo, &scratch.0, decode, &params, seed));
    let limit = MEMORY_OF_A_RANK + params.tuning.max_memory as usize + 8 * input.len();
    assert!(peak <= limit, "{peak} bytes of memory with max_memory = {}", params.tuning.max_memory);
    if seen.error != Some(ErrorKind::Memory) {
        compare(&seen, input, decode);
    }
}

fn compare(seen: &Seen, input: &[u8], decode: bool) {
    let expected = Naive { file: input, decode }.read();
    assert_eq!(seen.user, expected.user);
    // The naive reader shows the sections of seals, and a reader hides them: the targets of sealed files compare those.
    let seal = b"scda seal 00";
    if input.windows(seal.len()).any(|bytes| bytes == seal) {
        return;
    }
    for (index, (seen, expected)) in seen.sections.iter().zip(&expected.sections).enumerate() {
        let part = |found: &Found| Found { data: None, ..found.clone() };
        assert_eq!(part(seen), part(expected), "section {index}");
        assert!(seen.data == expected.data, "the data of section {index}");
    }
    let (sections, error) = (seen.sections.len(), seen.error);
    assert_eq!((sections, error.is_none()), (expected.sections.len(), expected.complete), "{error:?}");
    let of_files = [
        ErrorKind::Format,
        ErrorKind::UnsupportedVersion,
        ErrorKind::ShortFile,
        ErrorKind::Range,
        ErrorKind::Decode,
    ];
    assert!(seen.error.is_none_or(|kind| of_files.contains(&kind)), "{:?}", seen.error);
    assert!(decode || seen.error != Some(ErrorKind::Decode));
}

pub fn read_raw(input: &[u8]) {
    read_alone(input, false);
}

pub fn read_decoded(input: &[u8]) {
    read_alone(input, true);
}

/// Reads any bytes as a file on several ranks: all see the same headers and errors, and their parts make up what one
/// rank sees.
pub fn read_ranks(input: &[u8]) {
    let scratch = Scratch::with(input);
    let seed = hash(input);
    let mut choice = Input(&seed.to_be_bytes());
    let mut params: ReadOptions = options();
    choice.access(&mut params.tuning);
    params.to_seal = false;
    let decode = choice.below(3) > 0;
    let size = 2 + choice.below(4);
    let shares = choice.below(2) == 0;
    let (peak, mut ranks) = memory::peak(|| {
        run_on_threads(size, |comm| match shares {
            true => see(comm, &scratch.0, decode, &params, seed),
            false => see(Apart(comm), &scratch.0, decode, &params, seed),
        })
    });
    let limit = size * (MEMORY_OF_A_RANK + 8 * input.len());
    assert!(peak <= limit, "{peak} bytes of memory for a file of {} on {size} ranks", input.len());
    let mut whole = ranks.remove(0);
    for rank in ranks {
        assert_eq!((&whole.user, whole.error), (&rank.user, rank.error));
        // A small section that all ranks have in memory is done on a rank before the others know.
        assert_eq!(whole.sections.len(), rank.sections.len());
        for (all, mine) in whole.sections.iter_mut().zip(rank.sections) {
            all.sizes.extend(mine.sizes);
            assert_eq!(all.data.is_some(), mine.data.is_some());
            if let (Some(all), Some(mine)) = (&mut all.data, mine.data) {
                all.extend(mine);
            }
            assert_eq!(
                (all.letter, &all.user, all.count, all.size, all.decoded),
                (mine.letter, &mine.user, mine.count, mine.size, mine.decoded)
            );
        }
    }
    compare(&whole, input, decode);
}
