//! Memory that stays with an open file until it is closed.

use super::context::{Notes, scda_fcontext_t, with_meshes, with_notes};
use super::pointers::Text;
use super::{Outcome, guard};
use scda_base::error::Error;
use scda_base::memory::{copy, resize};
use scda_meshes::MeshNote;
use std::ffi::c_void;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

/// The note of a file that is appended to: where it is written, a C string.
const APPENDED: &[u8] = b"appended";
/// The most bytes of a note.
const MOST_BYTES: usize = 1 << 20;

/// Memory that is kept with an open file, for headers such as scda_p4est.h. It is filled with zeros when it is first asked for, stays
/// where it is, and is freed when the file is closed. The library does not look at it, and writes one note itself: "appended" of a
/// file that is appended to: the absolute path of what is written, with `params.atomic` of the copy, a C string.
///
/// Not collective.
///
/// @param [in] f      The file, open for writing or reading.
/// @param [in] key    Which note: a C string.
/// @param [in] bytes  Its size, at most 2^20; the same in each call for this key. 0: the note if it is there.
/// @return            The note, aligned for numbers of 8 bytes. NULL if the file is not open, another call used another size, the
///                    note is not there and `bytes` is 0, or there is no memory.
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

/// What is known of the last mesh of a group in a file that is written, for headers that write a mesh themselves. It stays where it is as
/// long as the file is open. All ranks change it alike.
///
/// Not collective.
///
/// @param [in] f      The file, open for writing or reading.
/// @param [in] group  The name of the group: a C string.
/// @return            The note, filled with zeros when it is first asked for. NULL if the file is not open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_mesh_note(f: *const scda_fcontext_t, group: Text<'_>) -> *mut MeshNote {
    let body = || {
        let group = group.utf8("group")?;
        let note = with_meshes(f, |notes| &raw mut *notes.entry(group.to_owned()).or_default().note);
        Ok((note.unwrap_or(null_mut()), Outcome::Success))
    };
    guard(None, null_mut(), body)
}

/// The note of this key and size.
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

/// Notes where a file is written that is appended to.
pub(super) fn note_path(f: *const scda_fcontext_t, path: &Path) {
    let bytes = path.as_os_str().as_bytes();
    with_notes(f, |notes| {
        // A byte more, which stays 0.
        let Some(mut memory) = new(bytes.len() / 8 + 1) else { return };
        for (word, bytes) in memory.iter_mut().zip(bytes.chunks(8)) {
            let mut of_word = [0; 8];
            of_word[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(of_word);
        }
        if let Ok(key) = copy(APPENDED) {
            notes.insert(key, memory);
        }
    });
}
