//! Finds sections by number and by user string.

use super::arguments::Arguments;
use super::context::{on_reader, scda_fcontext_t};
use super::memory::{Out, put};
use super::pointers::UserText;
use scda::Reader;
use std::ffi::c_int;

/// The number of sections in the file. A compressed section counts once, and seals do not count.
///
/// If the file ends with a seal, the seal has the number. Otherwise the headers of all sections are read,
/// once while the file is open.
///
/// Collective. All ranks receive the same value.
///
/// @param [in] f     The file, open for reading. Its position does not change.
/// @param [out] N    The number of sections. May be NULL.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: `SCDA_ERR_CHECKSUM`; without a seal, those of `scda_fread_section_header` and of reading the sizes
/// of elements; and those of the file system.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fsections(
    f: *mut scda_fcontext_t,
    N: Out<'_, u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let sections = reader.sections()?;
        put(N, sections);
        Ok(())
    };
    on_reader(f, err, body)
}

/// Moves to the section with this number: `scda_fread_section_header` reads its header next. Data of the
/// current section that were not read are skipped.
///
/// If the file ends with a seal, this takes a few reads. Otherwise the headers before the section are read,
/// once while the file is open.
///
/// Collective.
///
/// @param [in] f        The file, open for reading.
/// @param [in] section  The number of the section, from 0. A compressed section counts once, and seals do
///                      not count.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` if the file has fewer sections, and those of `scda_fsections`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fseek(
    f: *mut scda_fcontext_t,
    section: u64,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    on_reader(f, err, |reader| reader.seek_section(section))
}

/// Finds a section by its user string, for `scda_fseek`.
///
/// If the file ends with seals, their tables locate the section; short tables are read once while the file is
/// open. Otherwise the headers of all sections are read, once while the file is open.
///
/// Collective. All ranks receive the same values.
///
/// @param [in] f         The file, open for reading. Its position does not change.
/// @param [in] userstr   The user string.
/// @param [in] len       Its length, or NULL.
/// @param [in] record    Which of the sections with this user string: 0 is the first, 1 the next; -1 is
///                       the last, -2 the one before it.
/// @param [out] found    1 if there is such a section, otherwise 0. May be NULL.
/// @param [out] section  Its number, for `scda_fseek`. Not written if there is none. May be NULL.
/// @param [out] err      The error code: 0 also if there is no such section.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, and those of `scda_fsections`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_ffind(
    f: *mut scda_fcontext_t,
    userstr: UserText<'_>,
    len: Option<&usize>,
    record: i64,
    found: Out<'_, c_int>,
    section: Out<'_, u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let user = reader.user_string(userstr, len)?;
        let number = reader.find(user, record)?;
        put(found, c_int::from(number.is_some()));
        if let Some(number) = number {
            put(section, number);
        }
        Ok(())
    };
    on_reader(f, err, body)
}

/// Checks again how far the file can be read: a job that appends to it may have committed more since it was
/// opened. The previous sections and the position do not change; new sections follow. With `params.to_seal`
/// 0, everything in the file follows. A file that replaces this one, as with `params.atomic`, must be opened.
///
/// Collective. All ranks receive the same value.
///
/// @param [in] f         The file, open for reading.
/// @param [out] changed  1: there is more than before. 0: there is not. May be NULL.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_FILE_IN_USE` if a job has rolled back a seal that was read (`params.append_after`) or
/// created the file anew: open it again (this is noticed by the last seal and, on rank 0, by the seals with
/// which sections were found); `SCDA_ERR_COUNT` if a file that does not end with a seal has become shorter;
/// `SCDA_ERR_CHECKSUM` if the seal at its end is damaged; and those of the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_frefresh(
    f: *mut scda_fcontext_t,
    changed: Out<'_, c_int>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let more = reader.refresh()?;
        put(changed, c_int::from(more));
        Ok(())
    };
    on_reader(f, err, body)
}
