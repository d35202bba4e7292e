//! Computes the checksums of sections from the bytes of this rank as they are written.
//!
//! Each rank computes the CRC of each of its runs of a section, shifted by the number of bytes of the section
//! that follow the run. The exclusive or of these over all ranks is the CRC of the section, however its bytes
//! are divided.

use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_format::crc;
use scda_storage::ParallelFile;
use scda_storage::queue::Queue;

/// Longer data are written and summed in steps of this size: the first if one rank writes, the second if
/// several do. Writing brings the bytes into the processor's cache, so summing them afterwards takes a fifth
/// of the time that it takes before. A second-level cache of 2 MiB hardly holds 1 MiB and its copy; steps of
/// 256 KiB cost half as much (measured with `benches/seal.rs`). If several processes write, every step waits
/// for the others, so shorter steps cost up to a sixth of the time. Steps end at multiples of their size in the
/// file: otherwise Linux caches an ext4 file in small folios, which costs another tenth.
const CHUNK_BYTES: [usize; 2] = [256 << 10, 1 << 20];

/// A file that computes checksums of what is written to it, if they are wanted.
pub struct SummedFile {
    file: Box<dyn ParallelFile>,
    sums: Option<Sums>,
}

/// Ends the next section at this offset.
///
/// # Errors
/// `Memory`, and the errors of what was written until now.
pub fn end_section(queue: &mut Queue<SummedFile>, end: u64) -> Result<()> {
    queue.run(move |file| file.sums().map_or(Ok(()), |sums| sums.end_section(end)))
}

/// Adds the checksum of bytes of the next section that were written by [`unsummed`].
///
/// # Errors
/// The errors of what was written until now.
pub fn add_run(queue: &mut Queue<SummedFile>, run: RunningSum) -> Result<()> {
    queue.run(move |file| {
        file.sums().into_iter().for_each(|sums| sums.add_run(run));
        Ok(())
    })
}

/// Writes bytes that belong to no section, or whose checksum is computed elsewhere.
pub fn unsummed(queue: &mut Queue<SummedFile>) -> impl FnMut(u64, &[u8]) -> Result<()> {
    |offset, bytes| queue.write_by(offset, &[bytes], |file, at, runs| file.unsummed().write_at(at, runs))
}

impl SummedFile {
    /// The file, with `sums` if checksums are wanted.
    pub fn new(file: Box<dyn ParallelFile>, sums: Option<Sums>) -> Self {
        Self { file, sums }
    }

    /// The sums, if checksums are wanted.
    pub fn sums(&mut self) -> Option<&mut Sums> {
        self.sums.as_mut()
    }

    /// The file without checksums, for bytes that belong to no section.
    pub fn unsummed(&mut self) -> &mut dyn ParallelFile {
        &mut *self.file
    }

    /// The file itself, for a reader that replaces it while it reads.
    pub fn inner(&mut self) -> &mut Box<dyn ParallelFile> {
        &mut self.file
    }
}

impl ParallelFile for SummedFile {
    fn write_at(&mut self, offset: u64, runs: &[&[u8]]) -> Result<()> {
        let Some(sums) = &mut self.sums else { return self.file.write_at(offset, runs) };
        let chunk_bytes = CHUNK_BYTES[usize::from(!sums.is_alone)];
        if runs.iter().map(|run| run.len()).sum::<usize>() <= chunk_bytes {
            self.file.write_at(offset, runs)?;
            sums.add(offset, runs);
            return Ok(());
        }
        let mut offset = offset;
        for run in runs {
            let mut rest = *run;
            while !rest.is_empty() {
                let step = chunk_bytes - to_usize(offset % chunk_bytes as u64);
                let (chunk, later) = rest.split_at(step.min(rest.len()));
                self.file.write_at(offset, &[chunk])?;
                sums.add(offset, &[chunk]);
                offset += chunk.len() as u64;
                rest = later;
            }
        }
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn size(&mut self) -> Result<u64> {
        self.file.size()
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        self.file.truncate(length)
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    fn has_written(&mut self) -> bool {
        self.file.has_written()
    }

    fn look_again(&mut self) {
        self.file.look_again();
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.file.close()
    }
}

/// What this rank contributes to the CRC of each section.
pub struct Sums {
    /// Whether no other rank writes the file.
    is_alone: bool,
    /// Where each section ends, in order. Their bytes may not be written yet.
    ends: Vec<u64>,
    /// The contribution of this rank to the CRC of each.
    sums: Vec<u64>,
    /// The last run that was added to a section whose end is known: `sums` lack it. What follows it directly
    /// extends it, which takes less time than shifting each run to the end of the section.
    last: Option<(usize, RunningSum)>,
    /// Runs after these sections, in a section whose end is not known yet.
    runs: Vec<RunningSum>,
}

/// A run in a section whose end is not known yet: where it ends in the file, and its CRC.
#[derive(Clone, Copy)]
pub struct RunningSum {
    pub end: u64,
    pub crc: u64,
}

impl Sums {
    /// Without sections.
    pub fn new(is_alone: bool) -> Self {
        Self { is_alone, ends: Vec::new(), sums: Vec::new(), last: None, runs: Vec::new() }
    }

    /// Adds runs, which are consecutive in the file from `offset` on.
    pub fn add(&mut self, mut offset: u64, runs: &[&[u8]]) {
        let mut section = self.ends.partition_point(|&end| end <= offset);
        for run in runs {
            let mut rest = *run;
            while !rest.is_empty() {
                let Some(&end) = self.ends.get(section) else {
                    self.run(offset, rest);
                    offset += rest.len() as u64;
                    break;
                };
                let most = to_usize(end - offset);
                let (now, later) = rest.split_at(rest.len().min(most));
                self.extend(section, offset, now.len() as u64, |crc| crc::extend(crc, now));
                offset += now.len() as u64;
                section += usize::from(offset == end);
                rest = later;
            }
        }
    }

    /// Like [`Self::add`], for zeros that are not written because they are a hole in the file.
    pub fn add_zeros(&mut self, mut offset: u64, mut bytes: u64) {
        let mut section = self.ends.partition_point(|&end| end <= offset);
        while let Some(&end) = self.ends.get(section).filter(|_| bytes > 0) {
            let now = bytes.min(end - offset);
            self.extend(section, offset, now, |crc| crc::extend_by_zeros(crc, now));
            (offset, bytes) = (offset + now, bytes - now);
            section += usize::from(offset == end);
        }
        if bytes > 0 {
            let end = offset + bytes;
            match self.runs.iter_mut().find(|run| run.end == offset) {
                Some(run) => *run = RunningSum { end, crc: crc::extend_by_zeros(run.crc, bytes) },
                None => self.runs.push(RunningSum { end, crc: crc::of_zeros(bytes) }),
            }
        }
    }

    /// Adds `bytes` bytes at an offset of a section whose end is known. `extend` computes the CRC of what has the
    /// CRC it gets, followed by them.
    fn extend(&mut self, section: usize, offset: u64, bytes: u64, extend: impl FnOnce(u64) -> u64) {
        let end = offset + bytes;
        match &mut self.last {
            Some((of, run)) if (*of, run.end) == (section, offset) => {
                (run.crc, run.end) = (extend(run.crc), end)
            }
            _ => {
                self.settle();
                self.last = Some((section, RunningSum { end, crc: extend(0) }));
            }
        }
    }

    /// Adds the last run to the sum of its section.
    fn settle(&mut self) {
        if let Some((section, run)) = self.last.take() {
            self.sums[section] ^= crc::shift(run.crc, self.ends[section] - run.end);
        }
    }

    /// Adds a run in a section whose end is not known yet, with a checksum that was computed elsewhere.
    pub fn add_run(&mut self, run: RunningSum) {
        self.runs.push(run);
    }

    /// Adds bytes of a section whose end is not known yet.
    fn run(&mut self, offset: u64, bytes: &[u8]) {
        match self.runs.iter_mut().find(|run| run.end == offset) {
            Some(run) => {
                run.crc = crc::extend(run.crc, bytes);
                run.end += bytes.len() as u64;
            }
            None => self.runs.push(RunningSum { end: offset + bytes.len() as u64, crc: crc::of(bytes) }),
        }
    }

    /// Ends the next section at this offset.
    ///
    /// # Errors
    /// `Memory`.
    pub fn end_section(&mut self, end: u64) -> Result<()> {
        reserve(&mut self.ends, 1)?;
        reserve(&mut self.sums, 1)?;
        let sum = self.runs.drain(..).fold(0, |sum, run| sum ^ crc::shift(run.crc, end - run.end));
        self.ends.push(end);
        self.sums.push(sum);
        Ok(())
    }

    /// The number of sections.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Removes and returns the contribution of this rank to the CRC of each section.
    pub fn take(&mut self) -> Vec<u64> {
        self.settle();
        self.ends.clear();
        std::mem::take(&mut self.sums)
    }

    /// Adds a section whose bytes are in the file, with this rank's contribution to its CRC.
    pub fn put(&mut self, end: u64, sum: u64) {
        self.ends.push(end);
        self.sums.push(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn however_bytes_are_divided_the_sums_are_those_of_the_sections(
            bytes in proptest::collection::vec(any::<u8>(), 300..600),
            cuts in proptest::collection::vec(0..300_usize, 0..8),
            ends in proptest::collection::btree_set(1..300_usize, 1..6),
            late in any::<u32>(), owners in any::<u32>(), holes in any::<u32>(),
        ) {
            let mut bytes = bytes;
            let mut cuts: Vec<usize> = cuts.into_iter().chain([0, 300]).collect();
            cuts.sort_unstable();
            let ends: Vec<usize> = ends.into_iter().chain([300]).collect();
            let mut ranks = [Sums::new(false), Sums::new(false)];
            // Some runs are written before the end of their section is known, some after it.
            let runs: Vec<_> = cuts.windows(2).enumerate().map(|(i, cut)| (i, cut[0]..cut[1])).collect();
            // Some runs are holes.
            let is_hole = |i: usize| holes >> i & 1 == 1;
            runs.iter().filter(|(i, _)| is_hole(*i)).for_each(|(_, run)| bytes[run.clone()].fill(0));
            let add = |ranks: &mut [Sums; 2], i: usize, part: std::ops::Range<usize>| {
                let sums = &mut ranks[(owners >> i & 1) as usize];
                match is_hole(i) {
                    true => sums.add_zeros(part.start as u64, part.len() as u64),
                    false => sums.add(part.start as u64, &[&bytes[part]]),
                }
            };
            let mut start = 0;
            for &end in &ends {
                for (i, run) in &runs {
                    let part = run.start.max(start)..run.end.min(end);
                    if late >> i & 1 == 0 && part.start < part.end {
                        add(&mut ranks, *i, part);
                    }
                }
                ranks.iter_mut().for_each(|sums| sums.end_section(end as u64).unwrap());
                start = end;
            }
            for (i, run) in &runs {
                if late >> i & 1 == 1 {
                    add(&mut ranks, *i, run.clone());
                }
            }
            let [a, b] = ranks.map(|mut sums| sums.take());
            let mut start = 0;
            for (i, &end) in ends.iter().enumerate() {
                prop_assert_eq!(a[i] ^ b[i], crc::of(&bytes[start..end]));
                start = end;
            }
        }
    }
}
