//! Copies a file, so that an atomic write can append to the copy.

use super::ParallelFile;
use super::calls::MAX_CALL_BYTES;
use super::posix::PosixFile;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::numbers::to_usize;

/// The bytes that are copied at a time if the system cannot copy by itself.
const BUFFER_BYTES: usize = 4 << 20;

/// Copies the `size` bytes of a file to an empty one. If the file system can, both share their blocks, which
/// takes no time; otherwise the kernel copies, on some network file systems without a transfer; otherwise
/// this process does.
///
/// # Errors
/// `FileInUse` if the size of the file changes meanwhile; those of the file system.
pub fn copy(from: &mut PosixFile, to: &mut PosixFile, size: u64) -> Result<()> {
    if !to.clone_from(from) {
        let done = copy_in_kernel(from, to, size);
        copy_by_hand(from, to, done, size)?;
    }
    for file in [from, to] {
        let found = file.status()?.size;
        if found != size {
            return Err(Error::new(
                ErrorKind::FileInUse,
                format!("found {found} bytes after the file was copied, expected {size}"),
            ));
        }
    }
    Ok(())
}

/// Copies as many bytes as the kernel copies without an error, and returns their number.
fn copy_in_kernel(from: &PosixFile, to: &PosixFile, size: u64) -> u64 {
    let mut done = 0;
    while done < size {
        let step = to_usize(size - done).min(MAX_CALL_BYTES);
        match to.copy_range_from(from, done, step) {
            Some(count) if count > 0 => done += count as u64,
            _ => break,
        }
    }
    done
}

/// Copies the bytes from `start` to `end` through a buffer.
fn copy_by_hand(from: &mut PosixFile, to: &mut PosixFile, start: u64, end: u64) -> Result<()> {
    let mut done = start;
    let mut buffer = Vec::new();
    while done < end {
        let step = to_usize(end - done).min(BUFFER_BYTES);
        buffer.resize(step, 0);
        from.read_at(done, &mut buffer)?;
        to.write_at(done, &[&buffer])?;
        done += step as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::OFlags;

    #[test]
    fn every_way_of_copying_copies_all() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..2 * BUFFER_BYTES + 77).map(|i| (i * i / 3) as u8).collect();
        let (source, size) = (folder.path().join("from"), bytes.len() as u64);
        std::fs::write(&source, &bytes).unwrap();
        let mut from = PosixFile::open(&source, OFlags::RDONLY).unwrap();
        for way in 0..3 {
            let path = folder.path().join(way.to_string());
            let mut to = PosixFile::create_new(&path, OFlags::empty(), 0o600, None).unwrap();
            match way {
                0 => copy(&mut from, &mut to, size).unwrap(),
                1 => copy_by_hand(&mut from, &mut to, 0, size).unwrap(),
                _ => {
                    let done = copy_in_kernel(&from, &to, size);
                    copy_by_hand(&mut from, &mut to, done, size).unwrap();
                }
            }
            assert!(std::fs::read(&path).unwrap() == bytes, "way {way}");
        }
    }

    #[test]
    fn a_file_that_has_another_size_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("from"), [1; 100]).unwrap();
        let mut from = PosixFile::open(&folder.path().join("from"), OFlags::RDONLY).unwrap();
        let mut copy_of = |name: &str, size| {
            let mut to =
                PosixFile::create_new(&folder.path().join(name), OFlags::empty(), 0o600, None).unwrap();
            copy(&mut from, &mut to, size).unwrap_err().kind()
        };
        assert_eq!(copy_of("less", 99), ErrorKind::FileInUse);
        assert!(matches!(copy_of("more", 101), ErrorKind::FileInUse | ErrorKind::ShortFile));
    }
}
