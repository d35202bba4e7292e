//! Memory that belongs to an open file until it is closed.

use super::context::{Notes, scda_fcontext_t, with_notes};
use super::pointers::Text;
use super::{Outcome, guard};
use scda_base::error::Error;
use scda_base::memory::{copy, resize};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The largest note in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Memory that belongs to an open file, for headers such as scda_p4est.h. It is zero when it is first
/// requested, does not move, and is freed when the file is closed. The library does not use it.
///
/// Not collective.
///
/// @param [in] f      The file, open for writing or reading.
/// @param [in] key    Identifies the note: a C string.
/// @param [in] bytes  Its size, at most 2^20; the same in each call for this key. 0: the note, if it exists.
/// @return            The note, aligned for numbers of 8 bytes. NULL if the file is not open, if another call
///                    used another size, if the note does not exist and `bytes` is 0, or if there is no
///                    memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_note(f: *const scda_fcontext_t, key: Text<'_>, bytes: usize) -> *mut c_void {
    let body = || {
        if bytes > MOST_BYTES {
            return Err(Error::argument(format!("bytes: found {bytes}, expected at most {MOST_BYTES}")));
        }
        let key = key.get("key")?.to_bytes();
        let found = with_notes(f, |notes| note(notes, key, bytes));
        Ok((found.flatten().map_or(null_mut(), <*mut u64>::cast), Outcome::Success))
    };
    guard(None, null_mut(), body)
}

/// The note with this key and size.
fn note(notes: &mut Notes, key: &[u8], bytes: usize) -> Option<*mut u64> {
    let words = bytes.div_ceil(8);
    if bytes > 0 && !notes.contains_key(key) {
        notes.insert(copy(key).ok()?, new(words)?);
    }
    let found = notes.get_mut(key)?;
    (bytes == 0 || found.len() == words).then_some(found.as_mut_ptr())
}

fn new(words: usize) -> Option<Box<[u64]>> {
    let mut memory = Vec::new();
    resize(&mut memory, words as u64).ok()?;
    Some(memory.into_boxed_slice())
}
