//! The time steps of meshes and particles.

use super::attributes::object;
use super::context::{on_meshes, on_reader, scda_fcontext_t};
use super::memory::{Out, put};
use super::pointers::Text;
use scda::{Collective, Reader, Writer};
use scda_base::error::Result;
use scda_format::dataset::{additions, metadata};
use scda_meshes::{MeshNotes, steps};
use serde_json::json;
use std::ffi::c_int;

/// The name of a group, which has a default for NULL.
pub(super) fn group_name<'a>(
    file: &mut impl Collective,
    group: Text<'a>,
    default: &'a str,
) -> Result<&'a str> {
    let name = if group.is_null() { Ok(default) } else { group.utf8("group") };
    file.agree_on(name)
}

/// The group of a forest if no name is given.
pub(super) const FOREST: &str = scda_meshes::forest::GROUP;

/// The attributes of a time, with its unit if there is one.
pub(super) fn attributes_of_time(units: Text<'_>, attributes: Text<'_>) -> Result<String> {
    let attributes = object(&attributes)?;
    match if units.is_null() { "" } else { units.utf8("units")? } {
        "" => Ok(attributes.to_owned()),
        units => {
            additions::changed(&metadata::attributes(attributes)?, &json!({ "units": units }).to_string())
        }
    }
}

/// Begins a time step of a forest, of patches or of particles, to which everything belongs that is written to
/// its group until the next call. A file with a single state needs none. Particles whose `mesh` is set have
/// the times of the mesh.
///
/// Collective; `time` may differ between the ranks.
///
/// @param [in] f           The file, open for writing.
/// @param [in] group       The name of the group. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] time        The time. That of rank 0 is written.
/// @param [in] units       Its unit, such as `s`, instead of `units` in the attributes. NULL, or an empty C string:
///                         none.
/// @param [in] attributes  Other attributes, a JSON object as of a dataset, such as the number of the step
///                         (`scda_set_attribute`). NULL: none. `scda_fread_attribute` reads one by the name of the
///                         time, such as "patches/time".
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, and those of `scda_fwrite_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_time(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    time: f64,
    units: Text<'_>,
    attributes: Text<'_>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let group = group_name(writer, group, FOREST)?;
        steps::write_time(writer, notes, group, time, attributes_of_time(units, attributes))
    };
    on_meshes(f, err, body)
}

/// The number of time steps of a forest, of patches or of particles. Without times, the contents of the group
/// are one step. 0: the group has neither times nor a mesh or particles, as in the file of a job that was
/// killed before its first commit. Particles without times have those of their mesh.
///
/// Collective. All ranks receive the same value.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the group. NULL: `SCDA_FOREST_GROUP`.
/// @param [out] steps  The number of steps. May be NULL.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, and those of `scda_ffind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_steps(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    steps: Out<'_, i64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let group = group_name(reader, group, FOREST)?;
        put(steps, steps::count(reader, group)?.cast_signed());
        Ok(())
    };
    on_reader(f, err, body)
}

/// Reads the time of a step of a forest, of patches or of particles.
///
/// Collective. All ranks receive the same value.
///
/// @param [in] f      The file, open for reading.
/// @param [in] group  The name of the group. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step   The step: 0 is the first in the file; -1 is the last, -2 the one before it.
/// @param [out] time  The time. May be NULL.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if there is no such step, or if the group has no times; `SCDA_ERR_FORMAT` for an
/// invalid time; and those of `scda_ffind_dataset` and `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_time(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    time: Out<'_, f64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let group = group_name(reader, group, FOREST)?;
        put(time, steps::read_time(reader, group, step)?);
        Ok(())
    };
    on_reader(f, err, body)
}
