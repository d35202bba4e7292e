//! Patches of block-structured codes: `docs/patches.md`.

use super::context::{on_meshes, on_reader, scda_fcontext_t};
use super::dataset::{InMemory, empty as no_dataset, of_c, scda_dataset_t};
use super::memory::{Out, Values};
use super::pointers::Text;
use super::steps::group_name;
use super::types::{SCDA_TYPE_BOOL, SCDA_TYPE_COMPLEX128};
use super::versioned::{StructIn, StructInOut, StructOut, Structs, versioned, zeros};
use super::{Outcome, guard};
use scda::{Collective, Data, DataMut, Memory, MemoryMut, Reader, Request, Writer};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_format::layout::product;
use scda_format::meshes::patches::Frame;
use scda_meshes::MeshNotes;
use scda_meshes::patches::{self, Field, FieldMemory, GROUP, OwnPatches, PatchMemory, Patches};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// A mesh of patches. Fill it by `scda_patches_init`; then set what `scda_patches_write_mesh` needs, or let
/// `scda_patches_read_mesh` fill the rest. What it points to is used only during that call. Release it by
/// `scda_patches_free`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_patches<'a> {
    /// The size of this struct in bytes, as `scda_patches_init` sets it.
    pub size: usize,
    /// The number of axes, 1 to 3: d. The same on all ranks, like the next four members.
    pub dimension: c_int,
    /// The number of levels.
    pub levels: c_int,
    /// For each level and axis: the number of cells side by side in one cell of the previous level; 1 for
    /// level 0.
    pub ratio: Values<'a, i32>,
    /// The first cell on each axis, followed by the number of cells on each axis, in cells of level 0.
    pub domain: Values<'a, i64>,
    /// The lower bound of the domain on each axis, followed by the size of a cell of level 0 on each axis.
    pub geometry: Values<'a, f64>,
    /// The number of patches of this rank. May be 0.
    pub n: usize,
    /// The level of each patch of this rank. Like the next member, not set by the program for patches that it
    /// chooses from a mesh that was read.
    pub level: Values<'a, i32>,
    /// For each patch of this rank: its first cell on each axis, followed by its number of cells on each
    /// axis.
    pub boxes: Values<'a, i64>,
    /// For each patch of this rank, its number among those of all ranks. NULL: they are consecutive, in the
    /// order of the ranks. NULL on all ranks or on none, except that a rank without patches may pass NULL.
    pub number: Values<'a, u64>,
    /// The number of patches of all ranks. Set by `scda_patches_write_mesh` and `scda_patches_read_mesh`,
    /// like the following members.
    pub patches: u64,
    /// The number of cells of all patches.
    pub cells: u64,
    /// The number of the first patch of this rank, if `number` is NULL.
    pub first: u64,
    /// The level of each patch of all ranks. NULL if the mesh was written without `number`.
    pub all_level: Values<'a, i32>,
    /// The boxes of all patches, like `boxes`. NULL likewise.
    pub all_boxes: Values<'a, i64>,
    /// Memory of the library.
    pub kept: *mut c_void,
}

/// A mesh of patches.
pub type scda_patches_t<'a> = scda_patches<'a>;

versioned!(scda_patches_t<'_>, "mesh of patches", "scda_patches_init", zeros(), kept: *mut c_void);

/// A field of patches: its dataset, and where its values are in memory. Fill it by `scda_patch_field_init`.
///
/// In memory, the cells of each patch are surrounded by `ghost` layers on each axis; x varies fastest. AMReX,
/// for example, has arrays for each variable (`cell_bytes` 0), while in FLASH the variables of a cell are
/// side by side (`cell_bytes` is the size of all of them).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_patch_field<'a> {
    /// The size of this struct in bytes, as `scda_patch_field_init` sets it.
    pub size: usize,
    /// The number of consecutive numbers in a cell. 1 (default): a scalar, whose dataset has one dimension
    /// fewer.
    pub components: c_int,
    /// The layers of ghost cells at both ends of each axis.
    pub ghost: c_int,
    /// The distance in bytes from one cell to the next along x. 0 (default): the size of a cell's numbers.
    pub cell_bytes: i64,
    /// 0 (default): `data` has an address for each patch. Otherwise it has only that of this rank's first
    /// patch, and each following patch is this many bytes further, as in one array of all patches.
    pub patch_bytes: i64,
    /// For each patch of this rank, the address of its first cell in memory, which is a ghost cell if there
    /// are any. May be NULL without patches.
    pub data: Values<'a, *mut c_void>,
    /// Its name within the group, and its type, which must be a number. Writing: also layout, codec,
    /// attributes and so on, but not its shape.
    pub dataset: scda_dataset_t<'a>,
}

/// A field of patches.
pub type scda_patch_field_t<'a> = scda_patch_field<'a>;

versioned!(scda_patch_field_t<'_>, "field of patches", "scda_patch_field_init", no_field(), dataset: scda_dataset_t<'_>);

fn no_field<'a>() -> scda_patch_field_t<'a> {
    scda_patch_field_t { components: 1, dataset: no_dataset(), ..zeros() }
}

/// Fills a mesh with the defaults, for a program that knows its first `size` bytes; `scda_patches_init` calls
/// it.
///
/// Not collective.
///
/// @param [out] m    The mesh. Must not be NULL.
/// @param [in] size  The size of `*m` when the program was compiled, which is stored in its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_patches_init_size(m: StructOut<'_, scda_patches_t>, size: usize) -> c_int {
    guard(None, -1, || m.init(size))
}

/// Fills a field with the defaults, for a program that knows its first `size` bytes; `scda_patch_field_init`
/// calls it.
///
/// Not collective.
///
/// @param [out] v    The field. Must not be NULL.
/// @param [in] size  The size of `*v` when the program was compiled, which is stored in its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_patch_field_init_size(
    v: StructOut<'_, scda_patch_field_t>,
    size: usize,
) -> c_int {
    guard(None, -1, || v.init(size))
}

/// Releases the library's memory for a mesh, and fills it with the defaults.
///
/// Not collective.
///
/// @param [in,out] m  The mesh.
/// @return            0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_patches_free(m: StructInOut<'_, scda_patches_t>) -> c_int {
    let body = || {
        let c = m.given().read()?;
        drop(take(&c));
        m.write(scda_patches_t { size: c.size, dimension: c.dimension, ..zeros() })?;
        Ok((0, Outcome::Success))
    };
    guard(None, -1, body)
}

/// The memory of a mesh that was written or read.
struct OwnedMesh {
    mesh: Patches,
    /// The levels and boxes of this rank's patches that were chosen from a mesh that was read; C's mesh
    /// points to them.
    level: Vec<i32>,
    boxes: Vec<i64>,
}

/// Removes and returns the memory of a mesh.
fn take(m: &scda_patches_t<'_>) -> Option<Box<OwnedMesh>> {
    // SAFETY: C passes a mesh as `scda_patches_init` and the functions here have filled it, and each one
    // once.
    (!m.kept.is_null()).then(|| unsafe { Box::from_raw(m.kept.cast::<OwnedMesh>()) })
}

/// The memory of a mesh.
fn kept<'a>(m: &scda_patches_t<'a>) -> Option<&'a OwnedMesh> {
    // SAFETY: as in `take`.
    unsafe { m.kept.cast::<OwnedMesh>().as_ref() }
}

impl OwnedMesh {
    /// Copies the levels and boxes of `n` patches of the mesh.
    fn choose(&mut self, n: usize, numbers: impl Iterator<Item = u64>) -> Result<()> {
        (self.level, self.boxes) = (Vec::new(), Vec::new());
        reserve(&mut self.level, n)?;
        reserve(&mut self.boxes, n * 2 * self.mesh.frame.dimension)?;
        for number in numbers {
            let found = self.mesh.patch(number).filter(|_| self.mesh.knows_all);
            let (level, cells) = found.ok_or_else(|| {
                let why = match self.mesh.knows_all {
                    true => format!("expected a number below {}", self.mesh.patches),
                    false => "but the mesh has been written without numbers since it was read".to_owned(),
                };
                Error::argument(format!("number: found {number}, {why}"))
            })?;
            self.level.push(level);
            self.boxes.extend(cells);
        }
        Ok(())
    }

    /// Returns the mesh to C.
    fn give<'a>(self, m: StructInOut<'_, scda_patches_t<'a>>, mut c: scda_patches_t<'a>) -> Result<()> {
        let kept = Box::new(self);
        let mesh = &kept.mesh;
        (c.patches, c.cells, c.first) = (mesh.patches, mesh.cells, mesh.first);
        (c.all_level, c.all_boxes) = (Values::NULL, Values::NULL);
        if mesh.knows_all {
            // SAFETY: they are kept together with the mesh.
            c.all_level = unsafe { Values::at(mesh.level.as_ptr()) };
            // SAFETY: as above.
            c.all_boxes = unsafe { Values::at(mesh.boxes.as_ptr()) };
        }
        c.kept = Box::into_raw(kept).cast();
        m.write(c)
    }
}

impl scda_patches_t<'_> {
    /// Makes the mesh point to the frame that is kept with it.
    fn point_to(&mut self, frame: &Frame) {
        // SAFETY: the frame is kept as long as this points to it.
        self.ratio = unsafe { Values::at(frame.ratio.as_ptr()) };
        // SAFETY: as above.
        self.domain = unsafe { Values::at(frame.domain.as_ptr()) };
        // SAFETY: as above.
        self.geometry = unsafe { Values::at(frame.geometry.as_ptr()) };
    }
}

/// The frame of a mesh.
fn frame(c: &scda_patches_t<'_>) -> Result<Frame> {
    let count = |n: c_int| u64::try_from(n).unwrap_or(0);
    let (d, levels) = (count(c.dimension), count(c.levels));
    if !(1..=3).contains(&d) || levels == 0 {
        let (d, levels) = (c.dimension, c.levels);
        return Err(Error::argument(format!(
            "patches: found {d} axes and {levels} levels, expected 1 to 3 axes and at least 1 level"
        )));
    }
    Ok(Frame {
        dimension: to_usize(d),
        ratio: c.ratio.get(levels * d, "ratio")?.to_vec(),
        domain: c.domain.get(2 * d, "domain")?.to_vec(),
        geometry: c.geometry.get(2 * d, "geometry")?.to_vec(),
    })
}

/// The patches of this rank, with the memory of the mesh. Levels and boxes of patches that are chosen by
/// their numbers come from the mesh that was read.
fn own_patches<'a>(
    c: &mut scda_patches_t<'a>,
    before: &mut Option<Box<OwnedMesh>>,
) -> Result<OwnPatches<'a>> {
    let n = c.n as u64;
    let number = c.number.optional(n, "number")?;
    let is_taken = |kept: &OwnedMesh| {
        !c.level.is_null()
            && c.level.pointer() == kept.level.as_ptr()
            && c.boxes.pointer() == kept.boxes.as_ptr()
    };
    if let (Some(number), Some(kept)) = (number, before.as_mut().filter(|kept| is_taken(kept))) {
        kept.choose(number.len(), number.iter().copied())?;
        // SAFETY: they are kept together with the mesh.
        c.level = unsafe { Values::at(kept.level.as_ptr()) };
        // SAFETY: as above.
        c.boxes = unsafe { Values::at(kept.boxes.as_ptr()) };
    }
    let words = u64::try_from(c.dimension).ok().and_then(|d| product(n, 2 * d)).unwrap_or(0);
    Ok(OwnPatches { level: c.level.get(n, "level")?, boxes: c.boxes.get(words, "boxes")?, number })
}

/// Writes a mesh of patches, and before the first one the attributes of its group. `scda_forest_write_time`
/// with the name of the group begins a time step; the mesh need only be written again when it has changed.
///
/// Collective; members of `m` that describe the patches of this rank may differ between the ranks. With
/// `number`, all ranks receive all patches, about 60 bytes for each; codes with such numbers usually have
/// them anyway.
///
/// @param [in] f      The file, open for writing.
/// @param [in] group  The name of the group. NULL: `SCDA_PATCHES_GROUP`.
/// @param [in,out] m  The mesh. The numbers of all patches and cells are set.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` for patches outside the domain, not ordered by level, or with wrong numbers;
/// `SCDA_ERR_RANGE`; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_dataset`. Overlapping patches are not
/// detected here, but by `scda check`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_patches_write_mesh(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructInOut<'_, scda_patches_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let group = group_name(writer, group, GROUP)?;
        let given = m.given().read().and_then(|c| Ok((c, frame(&c)?)));
        let (mut c, frame) = writer.agree_on(given)?;
        let mut before = take(&c);
        let own = own_patches(&mut c, &mut before);
        match patches::write(writer, notes, group, frame, own) {
            Ok(mesh) => {
                if before.as_ref().is_some_and(|kept| c.ratio.pointer() == kept.mesh.frame.ratio.as_ptr()) {
                    c.point_to(&mesh.frame);
                }
                let (level, boxes) = before.map(|kept| (kept.level, kept.boxes)).unwrap_or_default();
                OwnedMesh { mesh, level, boxes }.give(m, c)
            }
            Err(error) => {
                c.kept = before.map_or(null_mut(), |kept| Box::into_raw(kept).cast());
                m.write(c).and(Err(error))
            }
        }
    };
    on_meshes(f, err, body)
}

/// The memory of a patch's cells.
struct CellMemory(*mut u8, PatchMemory);

impl CellMemory {
    fn memory(&self) -> Memory<'_> {
        // SAFETY: C passes the cells of the patch, with their ghost cells.
        unsafe { Memory::at(self.0, Some(&self.1.strides)) }.shaped(&self.1.shape)
    }

    fn room(&self) -> MemoryMut<'_> {
        // SAFETY: as above, and no other patch uses them.
        unsafe { MemoryMut::at(self.0, Some(&self.1.strides)) }.shaped(&self.1.shape)
    }
}

/// The fields, and of each the memory of this rank's patches, which have these numbers.
fn describe(
    mesh: &Patches,
    numbers: &[u64],
    n: usize,
    fields: Structs<'_, scda_patch_field_t<'_>>,
) -> Result<(Vec<Field>, Vec<Vec<CellMemory>>)> {
    let (mut all, mut memory) = (Vec::new(), Vec::new());
    reserve(&mut all, n).and(reserve(&mut memory, n))?;
    for field in &*fields.read(n as u64, "fields")? {
        let InMemory { dataset, data_type } = of_c(&field.dataset)?;
        let is_number = (SCDA_TYPE_BOOL..=SCDA_TYPE_COMPLEX128).contains(&field.dataset.r#type);
        let sizes =
            [i64::from(field.components), i64::from(field.ghost), field.cell_bytes].map(u64::try_from);
        let has_data = numbers.is_empty() || !field.data.is_null();
        let strides = (sizes, usize::try_from(field.patch_bytes));
        let (([Ok(components @ 1..), Ok(ghost), Ok(cell_bytes)], Ok(patch_bytes)), true, true) =
            (strides, is_number, has_data)
        else {
            let scda_patch_field { components, ghost, cell_bytes, patch_bytes, .. } = field;
            let (name, code) = (&dataset.name, field.dataset.r#type);
            let data = if has_data { "" } else { ", no data" };
            return Err(Error::argument(format!(
                "field {name} of patches: type {code}, {components} components, {ghost} ghost layers, {cell_bytes} bytes for a cell, {patch_bytes} for a patch{data}"
            )));
        };
        let mut places = Vec::new();
        reserve(&mut places, numbers.len())?;
        let addresses = if patch_bytes == 0 { numbers.len() } else { numbers.len().min(1) };
        let data = field.data.get(addresses as u64, "data")?;
        for (at, &number) in numbers.iter().enumerate() {
            let place = mesh.memory(number, FieldMemory { data_type, components, ghost, cell_bytes })?;
            let (address, before) =
                if patch_bytes == 0 { (data[at], 0) } else { (data[0], at * patch_bytes) };
            let address = address.cast::<u8>();
            let first = if address.is_null() { address } else { address.wrapping_add(before + place.first) };
            places.push(CellMemory(first, place));
        }
        all.push((dataset, components));
        memory.push(places);
    }
    Ok((all, memory))
}

/// The mesh of the fields, and the numbers of this rank's patches.
fn of_fields<'a>(m: StructIn<'a, scda_patches_t<'a>>, words: &str) -> Result<(&'a Patches, Vec<u64>)> {
    let c = m.read()?;
    let mesh = &kept(&c).ok_or_else(|| Error::usage(words))?.mesh;
    let mut numbers = Vec::new();
    reserve(&mut numbers, c.n)?;
    match c.number.optional(c.n as u64, "number")? {
        Some(number) => numbers.extend(number),
        None => numbers.extend((mesh.first..).take(c.n)),
    }
    Ok((mesh, numbers))
}

/// Writes fields of the patches in one call.
///
/// Collective; the addresses of the fields may differ between the ranks.
///
/// @param [in] f        The file, open for writing.
/// @param [in] group    The name of the group. NULL: `SCDA_PATCHES_GROUP`.
/// @param [in] m        The mesh, which must be the last one in the group: written by
///                      `scda_patches_write_mesh` on this file or, in a file that is appended to, by an
///                      earlier job.
/// @param [in] nfields  The number of fields.
/// @param [in] fields   The fields, each filled first by `scda_patch_field_init`.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` if the mesh is not the last one written; `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`; and
/// those of `scda_fwrite_datasets`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_patches_write_fields(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_patches_t>,
    nfields: usize,
    fields: Structs<'_, scda_patch_field_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let group = group_name(writer, group, GROUP)?;
        let words = "fields of patches: the mesh has not been written; call scda_patches_write_mesh first";
        let of = of_fields(m, words);
        let (mesh, numbers) = writer.agree_on(of)?;
        let described = describe(mesh, &numbers, nfields, fields);
        let fields = described.as_ref().map(|(fields, _)| &**fields).map_err(Error::again);
        let rows = patches::fields(writer, notes, group, mesh, &numbers, fields)?;
        // The ranks have agreed that there is no error.
        let memory = described.map_or_else(|_| Vec::new(), |(_, memory)| memory);
        let memory: Vec<Vec<_>> =
            memory.iter().map(|of| of.iter().map(CellMemory::memory).collect()).collect();
        let all = rows.iter().zip(&memory);
        let all = all.map(|((dataset, regions), memory)| (dataset, &**regions, Data::Boxes(memory)));
        writer.datasets(&all.collect::<Vec<_>>())
    };
    on_meshes(f, err, body)
}

/// Reads a mesh of patches, and assigns consecutive patches to each rank, with about the same number of
/// cells. `m->n`, `m->level`, `m->boxes` and `m->first` are those of this rank's share. For another
/// distribution, set `m->n` and `m->number` before the fields are read, or before the mesh is written to
/// another file.
///
/// Collective. All ranks receive all patches, about 60 bytes for each.
///
/// @param [in] f      The file, open for reading.
/// @param [in] group  The name of the group. NULL: `SCDA_PATCHES_GROUP`.
/// @param [in] step   The time step: 0 is the first one, -1 the last one. See `scda_forest_steps`.
/// @param [in,out] m  The mesh, filled by `scda_patches_init`, with any dimension. Release it by `scda_patches_free`,
///                    also after an error.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if the file has no such mesh or step; `SCDA_ERR_FORMAT` for an invalid mesh;
/// `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`; and those of `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_patches_read_mesh(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_patches_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let group = group_name(reader, group, GROUP)?;
        let c = m.given().read();
        let c = reader.agree_on(c)?;
        let mesh = patches::read(reader, group, step)?;
        let mut kept = OwnedMesh { mesh, level: Vec::new(), boxes: Vec::new() };
        let share = kept.mesh.first..kept.mesh.first + kept.mesh.n;
        let chosen = kept.choose(to_usize(kept.mesh.n), share);
        reader.agree_on(chosen)?;
        let int = |n: usize| c_int::try_from(n).unwrap_or(c_int::MAX);
        let mut own = scda_patches_t {
            size: c.size,
            dimension: int(kept.mesh.frame.dimension),
            levels: int(kept.mesh.frame.levels()),
            n: to_usize(kept.mesh.n),
            // SAFETY: they are kept together with the mesh.
            level: unsafe { Values::at(kept.level.as_ptr()) },
            // SAFETY: as above.
            boxes: unsafe { Values::at(kept.boxes.as_ptr()) },
            ..zeros()
        };
        own.point_to(&kept.mesh.frame);
        drop(take(&c));
        kept.give(m, own)
    };
    on_reader(f, err, body)
}

/// Reads fields of this rank's patches into its memory. Numbers of another type in the file are converted to
/// that of the field (see `scda_box_t`). Ghost cells, and bytes between the values of a field, are not changed.
///
/// Collective; the addresses of the fields may differ between the ranks. Ranks may read any patches,
/// including the same ones.
///
/// @param [in] f        The file, open for reading.
/// @param [in] group    The name of the group. NULL: `SCDA_PATCHES_GROUP`.
/// @param [in] step     The time step, as for `scda_patches_read_mesh`.
/// @param [in] m        The mesh of this step.
/// @param [in] nfields  The number of fields.
/// @param [in] fields   The fields, with memory for this rank's patches. Of `dataset`, only name and type are
///                      used.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if the step has no such field; `SCDA_ERR_FORMAT` for one of another shape or mesh;
/// `SCDA_ERR_USAGE` if the mesh was not read; `SCDA_ERR_ARG`, also for a type that cannot be converted;
/// `SCDA_ERR_RANGE` for a number that does not fit; `SCDA_ERR_MEMORY`; and those of `scda_fread_datasets`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_patches_read_fields(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructIn<'_, scda_patches_t>,
    nfields: usize,
    fields: Structs<'_, scda_patch_field_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let group = group_name(reader, group, GROUP)?;
        let of =
            of_fields(m, "fields of patches: the mesh has not been read; call scda_patches_read_mesh first");
        let (mesh, numbers) = reader.agree_on(of)?;
        let described = describe(mesh, &numbers, nfields, fields);
        let fields = described.as_ref().map(|(fields, _)| &**fields).map_err(Error::again);
        let rows = patches::find_fields(reader, group, step, mesh, &numbers, fields)?;
        // The ranks have agreed that there is no error.
        let (fields, memory) = described.unwrap_or_default();
        let all = rows.iter().zip(fields.iter().zip(&memory));
        let requests = all.map(|((dataset, regions), ((field, _), memory))| {
            let memory = memory.iter().map(|of| of.room().of_type(field.data_type)).collect();
            Request { dataset, regions, data: DataMut::Boxes(memory) }
        });
        reader.read_datasets(requests.collect())
    };
    on_reader(f, err, body)
}
