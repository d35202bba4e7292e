//! Files of other systems.

use super::Scratch;
use crate::memory;
use scda::ElementStream;
use scda_import::Foreign;
use scda_import::sdf::Sdf;
use scda_import::sion::{NO_KEY_VALUES, Sion};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a parser may need beside memory for what the file says.
const MEMORY: usize = 1 << 20;
/// Memory for each byte of a file: a label of one byte, with the shortest text, becomes an array with a name of its own.
const MEMORY_OF_A_BYTE: usize = 40;

/// Runs the reader of a file and checks that it needs memory by the size of the file.
fn bounded(bytes: usize, read: impl FnOnce()) {
    let (peak, ()) = memory::peak(read);
    assert!(peak <= MEMORY + MEMORY_OF_A_BYTE * bytes, "{peak} bytes of memory for {bytes} of a file");
}

fn open(path: &Path) -> Foreign {
    Foreign::open(path, "a file").unwrap()
}

/// The bytes that are read, without keeping them.
fn drain(mut data: impl Read) -> scda::Result<u64, std::io::Error> {
    std::io::copy(&mut data, &mut std::io::sink())
}

/// An SDF file: arrays have all their bytes, and names that tell labels apart.
pub fn sdf(input: &[u8]) {
    let scratch = Scratch::with(input);
    bounded(input.len(), || {
        let file = open(&scratch.0);
        let sdf = match Sdf::read(&file) {
            Ok(sdf) => sdf,
            Err(error) => {
                return assert!(error.offset().is_some_and(|at| at <= input.len() as u64), "{error}");
            }
        };
        let names = sdf.names();
        let mut ends = sdf.arrays.first().map_or(0, |array| array.offset);
        for (array, name) in sdf.arrays.iter().zip(&names) {
            assert_eq!(array.offset, ends);
            ends = array.offset + array.bytes;
            let (data_type, shape) = array.dataset();
            let dataset = scda::Dataset::new(name.as_str(), data_type, shape);
            assert_eq!(dataset.data_bytes().unwrap(), array.bytes);
            assert!((1..=58).contains(&name.len()));
            let read = drain(sdf.data(array));
            assert_eq!(read.ok(), sdf.is_whole(array).then_some(array.bytes));
        }
        // Comparing all pairs takes too long for many.
        let some = || sdf.arrays.iter().zip(&names).take(100);
        for (a, name) in some() {
            some().for_each(|(b, other)| assert_eq!(a.label == b.label, name == other));
        }
    });
}

/// A SIONlib file; if it has two physical files, the second is the same with another number.
pub fn sion(input: &[u8]) {
    let scratch = Scratch::with(input);
    let second = Second(format!("{}.000001", scratch.0.display()).into());
    if input.get(28..32).is_some_and(|files| files == [2, 0, 0, 0]) {
        let mut copy = input.to_vec();
        copy.get_mut(32..36).into_iter().for_each(|number| number.copy_from_slice(&[1, 0, 0, 0]));
        std::fs::write(&second.0, copy).unwrap();
    }
    for salvage in [false, true] {
        sion_file(&scratch.0, input.len(), salvage);
    }
}

fn sion_file(path: &Path, length: usize, salvage: bool) {
    bounded(2 * length, || {
        let Ok(sion) = Sion::read(open(path), path, salvage) else { return };
        let bytes: Vec<u64> = (0..sion.tasks()).map(|task| sion.bytes(task)).collect();
        let whole = sion.missing().next().is_none() && sion.lost().next().is_none();
        let total = bytes.iter().sum::<u64>();
        assert!(total <= 2 * length as u64, "chunks do not overlap");
        let mut streams = sion.streams();
        let mut sizes = vec![0; bytes.len()];
        streams.read_sizes(&mut sizes).unwrap();
        assert_eq!(sizes, bytes);
        assert_eq!(drain(streams).unwrap(), total);
        for (task, &bytes) in bytes.iter().enumerate() {
            assert!(sion.least_bytes(task).unwrap() <= bytes);
        }
        if whole {
            let mut table = Vec::new();
            sion.block_bytes().read_to_end(&mut table).unwrap();
            let numbers = table.as_chunks::<8>().0.iter().map(|&number| u64::from_le_bytes(number));
            assert_eq!(table.len() as u64, 8 * sion.max_blocks() * bytes.len() as u64);
            assert_eq!(numbers.sum::<u64>(), total);
        }
        if sion.header().key_values().is_none_or(|mode| mode == NO_KEY_VALUES) {
            return;
        }
        let (mut records, mut of_task) = (sion.records(), vec![0; bytes.len()]);
        let mut all = true;
        loop {
            match records.next_record() {
                Ok(Some(record)) => {
                    let at = &mut of_task[record.task as usize];
                    assert_eq!(record.offset, *at + 16);
                    *at = record.offset + record.bytes;
                }
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(error.kind(), scda::ErrorKind::Format, "{error}");
                    all = false;
                    break;
                }
            }
        }
        assert!(!all || of_task == bytes);
    });
}

/// Removed in the end, if it is there.
struct Second(PathBuf);

impl Drop for Second {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
