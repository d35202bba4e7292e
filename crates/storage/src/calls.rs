//! System calls and MPI calls that signals may interrupt, or that transfer fewer bytes than requested.

use rustix::io::Errno;
use scda_base::error::{Error, ErrorKind, Result};
use std::ops::Range;

/// The most bytes of one call: MPI counts in 32 bits, and Linux transfers at most 2 GiB less a page.
pub const MAX_CALL_BYTES: usize = 1 << 30;

/// Makes a system call, and repeats it if a signal interrupts it. An error names the purpose of the call.
pub fn system<T>(what: &str, call: impl FnMut() -> rustix::io::Result<T>) -> Result<T> {
    retry(call).map_err(|e| Error::io(what, e))
}

/// Repeats a system call as long as a signal interrupts it.
pub fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Fills `buffer` from `offset` on with calls of `read`, which returns the number of bytes read. If that is
/// 0, `size` tells whether the file ends there.
pub fn read_all(
    call: &str,
    offset: u64,
    buffer: &mut [u8],
    mut read: impl FnMut(u64, &mut [u8]) -> Result<usize>,
    size: impl FnOnce() -> Result<u64>,
) -> Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        let at = offset + done as u64;
        let step = next(done, buffer.len());
        let count = read(at, &mut buffer[step.clone()]).map_err(|e| e.at(at))?;
        if count == 0 {
            let size = size().map_err(|e| e.at(at))?;
            let end = offset + buffer.len() as u64;
            return Err(match size {
                size if size <= at => Error::short_file(call, end, size),
                size => Error::new(
                    ErrorKind::Io,
                    format!("{call}: found 0 of {} bytes read in a file of {size} bytes", step.len()),
                ),
            }
            .at(at));
        }
        done += checked(call, count, step.len()).map_err(|e| e.at(at))?;
    }
    Ok(())
}

/// Writes `bytes` at `offset` with calls of `write`, which returns the number of bytes written. If that is 0,
/// `full` tells whether the file system has no space for them.
#[cfg(any(test, feature = "mpi"))]
pub fn write_all(
    call: &str,
    offset: u64,
    bytes: &[u8],
    mut write: impl FnMut(u64, &[u8]) -> Result<usize>,
    full: impl FnOnce(Range<u64>) -> bool,
) -> Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done as u64;
        let step = next(done, bytes.len());
        let count = write(at, &bytes[step.clone()]).map_err(|e| e.at(at))?;
        if count == 0 {
            let words = format!("{call}: found 0 of {} bytes written", step.len());
            return Err(if full(at..offset + bytes.len() as u64) {
                Error::new(ErrorKind::NoSpace, words + ", and no room for them in the file system")
            } else {
                Error::new(ErrorKind::Io, words)
            }
            .at(at));
        }
        done += checked(call, count, step.len()).map_err(|e| e.at(at))?;
    }
    Ok(())
}

/// The bytes of the next call.
fn next(done: usize, length: usize) -> Range<usize> {
    done..length.min(done.saturating_add(MAX_CALL_BYTES))
}

/// Returns the number of bytes that a call transferred, unless it is more than requested.
fn checked(call: &str, count: usize, asked: usize) -> Result<usize> {
    if count <= asked {
        return Ok(count);
    }
    Err(Error::new(ErrorKind::Io, format!("{call}: found {count} bytes moved, expected at most {asked}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads 10 bytes at offset 3 of a file, in calls that return these counts.
    fn read(counts: &[usize], size: u64) -> (Vec<(u64, usize)>, Result<()>) {
        let (mut calls, mut counts) = (Vec::new(), counts.iter().copied());
        let mut buffer = [0; 10];
        let result = read_all(
            "read",
            3,
            &mut buffer,
            |offset, buffer| {
                calls.push((offset, buffer.len()));
                let count = counts.next().unwrap();
                let end = count.min(buffer.len());
                buffer[..end].fill(1);
                Ok(count)
            },
            || Ok(size),
        );
        assert!(result.is_err() || buffer == [1; 10]);
        (calls, result)
    }

    fn write(counts: &[usize], is_full: bool) -> (Vec<(u64, usize)>, Result<()>) {
        let (mut calls, mut counts) = (Vec::new(), counts.iter().copied());
        let result = write_all(
            "write",
            3,
            &[0; 10],
            |offset, bytes| {
                calls.push((offset, bytes.len()));
                Ok(counts.next().unwrap())
            },
            |left| {
                assert_eq!(left, 7..13);
                is_full
            },
        );
        (calls, result)
    }

    fn told(result: Result<()>) -> (ErrorKind, Option<u64>) {
        let error = result.unwrap_err();
        (error.kind(), error.offset())
    }

    #[test]
    fn a_short_count_is_continued() {
        let calls = vec![(3, 10), (4, 9), (8, 5)];
        let (read, result) = read(&[1, 4, 5], 0);
        assert_eq!((read, result.is_ok()), (calls.clone(), true));
        let (written, result) = write(&[1, 4, 5], true);
        assert_eq!((written, result.is_ok()), (calls, true));
    }

    #[test]
    fn reading_nothing_is_the_end_only_where_the_file_ends() {
        assert_eq!(told(read(&[4, 0], 7).1), (ErrorKind::ShortFile, Some(7)));
        assert_eq!(told(read(&[0], 2).1), (ErrorKind::ShortFile, Some(3)));
        assert_eq!(told(read(&[4, 0], 8).1), (ErrorKind::Io, Some(7)));
        assert_eq!(told(read(&[4, 0], 100).1), (ErrorKind::Io, Some(7)));
    }

    #[test]
    fn writing_nothing_is_a_full_file_system_only_where_it_is_full() {
        assert_eq!(told(write(&[4, 0], true).1), (ErrorKind::NoSpace, Some(7)));
        assert_eq!(told(write(&[4, 0], false).1), (ErrorKind::Io, Some(7)));
    }

    #[test]
    fn a_count_beyond_what_was_asked_is_an_error() {
        assert_eq!(told(read(&[4, 7], 100).1), (ErrorKind::Io, Some(7)));
        assert_eq!(told(write(&[11], false).1), (ErrorKind::Io, Some(3)));
    }
}
