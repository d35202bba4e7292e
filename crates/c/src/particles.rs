//! Particles: `docs/particles.md`.

use super::context::{on_meshes, on_reader, scda_fcontext_t};
use super::dataset::{InMemory, array, of_c, scda_dataset_t};
use super::memory::{Out, Room, Values};
use super::mesh_fields::{read_rows, write_rows};
use super::pointers::Text;
use super::steps::group_name;
use super::versioned::{StructIn, StructInOut, StructOut, versioned, zeros};
use super::{Outcome, guard};
use scda::{Collective, Reader, Writer};
use scda_base::error::{Error, Result};
use scda_meshes::MeshNotes;
use scda_meshes::particles::{self, GROUP, OwnCells, Particles};
use std::ffi::{c_int, c_void};

/// The distribution of particles over the ranks. Fill it by `scda_particles_init`; then set what
/// `scda_particles_write` needs, or let `scda_particles_read` fill it. What it points to is used only during
/// that call. Release it by `scda_particles_free`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_particles<'a> {
    /// The size of this struct in bytes, as `scda_particles_init` sets it.
    pub size: usize,
    /// The number of cells of this rank: quadrants, patches or others. 0 on all ranks: particles without cells.
    pub cells: u64,
    /// For each cell of this rank, the number of its particles, which follow those of the previous cell in
    /// memory. After reading, valid until these particles are read again or freed.
    pub counts: Values<'a, i64>,
    /// For each cell of this rank, its number among those of all ranks. NULL: they are consecutive, in the
    /// order of the ranks. NULL on all ranks or on none, except that a rank without cells may pass NULL.
    pub number: Values<'a, u64>,
    /// Writing: the group of the mesh whose quadrants, patches or cells these are. NULL: no mesh in the file.
    pub mesh: Text<'a>,
    /// The number of particles of this rank. Set by the program only to write particles without cells.
    pub n: u64,
    /// The number of particles of all ranks. Set by `scda_particles_write` and `scda_particles_read`, like
    /// the following members.
    pub particles: u64,
    /// The number of cells of all ranks; 1 if there are none.
    pub all_cells: u64,
    /// The number of the first particle of this rank, if `number` is NULL.
    pub first: u64,
    /// The number of the first cell of this rank, if `number` is NULL.
    pub first_cell: u64,
    /// Memory of the library.
    pub kept: *mut c_void,
}

/// The distribution of particles over the ranks.
pub type scda_particles_t<'a> = scda_particles<'a>;

versioned!(scda_particles_t<'_>, "particles", "scda_particles_init", zeros(), kept: *mut c_void);

/// Fills particles with the defaults, for a program that knows their first `size` bytes;
/// `scda_particles_init` calls it.
///
/// Not collective.
///
/// @param [out] p    The particles. Must not be NULL.
/// @param [in] size  The size of `*p` when the program was compiled, which is stored in its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_particles_init_size(p: StructOut<'_, scda_particles_t>, size: usize) -> c_int {
    guard(None, -1, || p.init(size))
}

/// Releases the library's memory for particles, and fills them with the defaults.
///
/// Not collective.
///
/// @param [in,out] p  The particles.
/// @return            0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_particles_free(p: StructInOut<'_, scda_particles_t>) -> c_int {
    let body = || {
        drop(take(&p.given().read()?));
        let size = p.given().size()?;
        p.write(scda_particles_t { size, ..zeros() })?;
        Ok((0, Outcome::Success))
    };
    guard(None, -1, body)
}

/// Removes and returns the memory of particles.
fn take(p: &scda_particles_t<'_>) -> Option<Box<Particles>> {
    // SAFETY: C passes particles as `scda_particles_init` and the functions here have filled them, and each
    // one once.
    (!p.kept.is_null()).then(|| unsafe { Box::from_raw(p.kept.cast::<Particles>()) })
}

/// The memory of particles.
fn kept<'a>(p: StructIn<'a, scda_particles_t<'_>>, words: &str) -> Result<&'a Particles> {
    // SAFETY: as in `take`.
    let kept = unsafe { p.read()?.kept.cast::<Particles>().as_ref() };
    kept.ok_or_else(|| Error::usage(words))
}

/// Returns particles that were written or read to C.
fn give(p: StructInOut<'_, scda_particles_t<'_>>, found: Particles, is_read: bool) -> Result<()> {
    let mut c = p.given().read()?;
    drop(take(&c));
    let found = Box::new(found);
    (c.n, c.particles, c.all_cells) = (found.n, found.particles, found.all_cells);
    (c.first, c.first_cell) = (found.first, found.first_cell);
    if is_read {
        c.cells = found.counts.len() as u64;
        // SAFETY: the counts are kept together with the particles.
        c.counts = unsafe { Values::at(found.counts.as_ptr()) };
    }
    c.kept = Box::into_raw(found).cast();
    p.write(c)
}

/// Writes the number of particles of each cell, and the first time, also the attributes of the group. Their
/// fields follow. `scda_forest_write_time` with the name of the group begins a time step.
///
/// Collective. With `number`, all ranks receive the counts of all cells, 16 bytes for each.
///
/// @param [in] f      The file, open for writing.
/// @param [in] group  The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
/// @param [in,out] p  The particles. The numbers of all particles and cells are set.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` for wrong counts or numbers; `SCDA_ERR_USAGE` if the last mesh in the group `p->mesh` has
/// another number of cells; `SCDA_ERR_RANGE`; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_particles_write(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    p: StructInOut<'_, scda_particles_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let group = group_name(writer, group, GROUP)?;
        let given = p.given().read();
        let mesh = given.as_ref().map_err(Error::again).and_then(|c| match c.mesh.is_null() {
            true => Ok(None),
            false => c.mesh.utf8("mesh").map(Some),
        });
        let mesh = writer.agree_on(mesh)?;
        let cells = given.and_then(|c| {
            let (counts, number) = (c.counts.get(c.cells, "counts")?, c.number.optional(c.cells, "number")?);
            Ok(OwnCells { counts, number, without_cells: c.n })
        });
        let found = particles::write(writer, notes, group, mesh, cells)?;
        give(p, found, false)
    };
    on_meshes(f, err, body)
}

/// Writes a field of the particles: a column, or a struct of several members.
///
/// Collective; `data` may differ between the ranks.
///
/// @param [in] f      The file, open for writing.
/// @param [in] group  The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
/// @param [in] p      The particles of the last `scda_particles_write` to the group.
/// @param [in] field  Its name within the group, and its type; layout, codec, attributes and so on are as for
///                    any dataset. The library sets `shape[0]`; for a scalar, `ndims` may be 0.
/// @param [in] data   The values of the particles of this rank, cell by cell. May be NULL if there are none.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` if the particles are not those written last; `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`;
/// and those of `scda_fwrite_datasets`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_particles_write_field(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    p: StructIn<'_, scda_particles_t>,
    field: StructIn<'_, scda_dataset_t>,
    data: Values<'_, c_void>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let group = group_name(writer, group, GROUP)?;
        let found =
            kept(p, "field of particles: they have not been written; call scda_particles_write first");
        let what = found.and_then(|found| Ok((found, of_c(&field.read()?)?)));
        let (found, InMemory { dataset, data_type }) = writer.agree_on(what)?;
        let rows = particles::field(writer, notes, group, found, &dataset)?;
        write_rows(writer, rows, data_type, data, false)
    };
    on_meshes(f, err, body)
}

/// Reads the number of particles of each cell, and distributes the particles: this rank gets `p->n`. If the
/// file has no cells, each rank gets about the same number of particles.
///
/// Collective; `cells` and `number` may differ between the ranks. Without `number`, a rank reads the offsets
/// of its cells, after those of an equal share of cells.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
/// @param [in] step    The time step: 0 is the first one, -1 the last one. See `scda_forest_steps`.
/// @param [in] cells   The number of cells of this rank, for a mesh that has been read already. -1, on all
///                     ranks: each rank gets consecutive cells with about the same number of particles.
/// @param [in] number  The numbers of these cells, which may be any, including those of other ranks. NULL:
///                     they are consecutive, in the order of the ranks, and all cells.
/// @param [in,out] p   The particles, filled by `scda_particles_init`. Release them by `scda_particles_free`, also
///                     after an error.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if the file has no such particles or step; `SCDA_ERR_FORMAT` for inconsistent
/// offsets; `SCDA_ERR_ARG` if the file has another number of cells; `SCDA_ERR_MEMORY`; and those of
/// `scda_fread_datasets`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_particles_read(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    cells: i64,
    number: Values<'_, u64>,
    p: StructInOut<'_, scda_particles_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let group = group_name(reader, group, GROUP)?;
        let own = match cells {
            -1 => None,
            _ => Some(u64::try_from(cells)),
        };
        let is_room = p.given().size().map(drop);
        let own = is_room.and(own.transpose().map_err(|_| Error::argument(format!("cells: found {cells}"))));
        let own = reader.agree_on(own)?;
        let numbers = number.optional(own.unwrap_or(0), "number");
        let found = particles::read(reader, group, step, own, numbers)?;
        give(p, found, true)
    };
    on_reader(f, err, body)
}

/// Reads a field of the particles of this rank.
///
/// Collective; `data` may differ between the ranks.
///
/// @param [in] f      The file, open for reading.
/// @param [in] group  The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
/// @param [in] step   The time step, as for `scda_particles_read`.
/// @param [in] p      The particles of this step.
/// @param [in] field  Its name within the group. Type, items and members are those in memory, to which the
///                    values are converted; members of structs may be left out. `shape[1]` and so on are
///                    those of the file; for a scalar, `ndims` may be 0.
/// @param [out] data  Room for the values of `p->n` particles. May be NULL if there are none.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if the step has no such field; `SCDA_ERR_FORMAT` for one of another shape;
/// `SCDA_ERR_USAGE` if the particles were not read; `SCDA_ERR_ARG` for values that cannot be converted;
/// `SCDA_ERR_MEMORY`; and those of `scda_fread_datasets`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_particles_read_field(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    p: StructIn<'_, scda_particles_t>,
    field: StructIn<'_, scda_dataset_t>,
    data: Room<'_, c_void>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let group = group_name(reader, group, GROUP)?;
        let found = kept(p, "field of particles: they have not been read; call scda_particles_read first");
        let what = found.and_then(|found| Ok((found, array(&field.read()?)?)));
        let (found, InMemory { dataset, data_type }) = reader.agree_on(what)?;
        let rows = particles::find_field(reader, group, step, found, &dataset)?;
        read_rows(reader, rows, data_type, data)
    };
    on_reader(f, err, body)
}
