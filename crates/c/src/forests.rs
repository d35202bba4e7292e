//! Forests of squares and cubes (`docs/forest.md`), and of any shapes (`docs/t8code.md`).

use super::context::{Context, on_meshes, on_reader, on_writer, scda_fcontext_t, with};
use super::dataset::{InMemory, of_c, scda_dataset_t};
use super::memory::{Out, Room, Values, put};
use super::mesh_fields::{read_rows, write_rows};
use super::pointers::Text;
use super::read_datasets::find_in;
use super::steps::{FOREST, attributes_of_time, group_name};
use super::types::bytes_of_type;
use super::versioned::{StructIn, StructInOut, StructOut, versioned, zeros};
use super::{Outcome, guard};
use scda::{Collective, DataType, Kind, Reader, Writer};
use scda_base::error::{Error, Result};
use scda_base::numbers::product;
use scda_format::meshes::checksum::{Checksum, term};
use scda_format::meshes::forest::{MAX_LEVEL, MOST_ATTRIBUTES};
use scda_meshes::MeshNotes;
use scda_meshes::forest::Forest;
use scda_meshes::forest::read::{self, Distribution, FieldType, ReadRequest, StoredForest};
use scda_meshes::forest::shapes::{Elements, Shapes, Trees};
use scda_meshes::forest::write::{self, Arrays, Connectivity, SharedEntities};
use std::ffi::{c_int, c_void};

/// A part of a forest for `scda_forest_write`: the connectivity.
pub const SCDA_FOREST_CONNECTIVITY: c_int = 1;
/// A part of a forest: the mesh.
pub const SCDA_FOREST_MESH_PARTS: c_int = 2;
/// A part of a forest: the bytes that the program stores for each quadrant.
pub const SCDA_FOREST_DATA: c_int = 4;
/// A part of a forest: the partition of its quadrants.
pub const SCDA_FOREST_PARTITION: c_int = 8;

/// Edges or corners that trees share, in the arrays of `p4est_connectivity_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_forest_shared<'a> {
    /// Their number. 0: none are stored, and there are no arrays.
    pub count: u64,
    /// The number of each edge (corner) of each tree, or -1.
    pub tree_to: Values<'a, i32>,
    /// Where the entries of each begin and end in the next two: `count + 1` numbers.
    pub offsets: Values<'a, i32>,
    /// The tree of each entry.
    pub to_tree: Values<'a, i32>,
    /// The edge (corner) of that tree.
    pub to_code: Values<'a, i8>,
}

/// Edges or corners that trees share.
pub type scda_forest_shared_t<'a> = scda_forest_shared<'a>;

/// A forest as arrays, described in docs/forest.md; for any shapes in docs/t8code.md, where quadrants are
/// elements. Fill it by `scda_forest_init`; then set what is to be written, or let `scda_forest_read` fill
/// it. What it points to is used only during a call. Release what was read by `scda_forest_free`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_forest<'a> {
    /// The size of this struct in bytes, as `scda_forest_init` sets it.
    pub size: usize,
    /// The number of axes: 2 or 3, for any shapes also 1. Like everything that is not described as of "this
    /// rank", it is the same on all ranks.
    pub dimension: c_int,
    /// 0 (default): squares or cubes. 1: any shapes, whose trees are distributed: each rank has `own_trees`
    /// of them.
    pub shapes: c_int,
    /// Reading: the finest level that the program can represent, 0 to 30.
    pub finest: c_int,
    /// Reading: `packed` has coordinates in units of 2^-`unit` of a tree's edge; 0 to 30, at least `finest`.
    pub unit: c_int,
    /// Reading: 1: each rank gets the quadrants that it had when the same number of ranks wrote the file; 0:
    /// those of `partition`.
    pub stored_partition: c_int,
    /// Zero.
    pub reserved: c_int,
    /// The number of trees.
    pub trees: u64,
    /// With any shapes: the first tree of this rank that no lower rank has.
    pub first_tree: u64,
    /// With any shapes: the number of these trees.
    pub own_trees: u64,
    /// The number of quadrants of all ranks.
    pub quadrants: u64,
    /// The number of the first quadrant of this rank.
    pub first: u64,
    /// The number of quadrants of this rank.
    pub n: u64,
    /// The checksum of the mesh: the sum, modulo 2^64, of the results of `scda_forest_checksum` on the ranks.
    pub checksum: u64,
    /// Writing: the corners of the quadrants of this rank, `dimension` numbers for each.
    pub coordinates: Values<'a, i32>,
    /// Writing: the levels of the quadrants of this rank.
    pub level: Values<'a, u8>,
    /// With any shapes: the types of the elements of this rank.
    pub r#type: Values<'a, u8>,
    /// With any shapes: the positions of the elements of this rank.
    pub position: Values<'a, u64>,
    /// With any shapes, after reading: 1 if `coordinates`, `level`, `type` and `position` begin with the
    /// element before the first one of this rank.
    pub before: u64,
    /// Likewise: 1 if they end with the element after the last one.
    pub after: u64,
    /// Where the quadrants of each tree begin and end: `trees + 1` numbers. With any shapes, those of this
    /// rank's trees; in writing, also the end of all after the last one; after reading, also the end of the
    /// last one of these trees.
    pub tree_offsets: Values<'a, i64>,
    /// The first quadrant of each rank, followed by the number of all. Reading: NULL: an equal share for each
    /// rank, give or take one.
    pub partition: Values<'a, i64>,
    /// The number of bytes that the program stores for each quadrant. Reading: 0: they are not read.
    pub data_bytes: u64,
    /// These bytes of the quadrants of this rank.
    pub data: Values<'a, c_void>,
    /// After reading: the coordinates and the level of each quadrant of this rank, in the form of
    /// p4est_inflate.
    pub packed: Values<'a, i32>,
    /// The tree across each face of each tree. Not with any shapes.
    pub tree_to_tree: Values<'a, i32>,
    /// The tree across each face of each tree, with any shapes.
    pub tree_to_tree64: Values<'a, i64>,
    /// With any shapes: the shape of each tree.
    pub tree_shape: Values<'a, u8>,
    /// The face of that tree, with the orientation.
    pub tree_to_face: Values<'a, i8>,
    /// The number of vertices. 0: the forest has no geometry.
    pub num_vertices: u64,
    /// Three coordinates of each vertex. With any shapes, for which `num_vertices` is 0: of each corner of
    /// each tree; NULL: the forest has no geometry.
    pub vertices: Values<'a, f64>,
    /// The vertices at the corners of each tree.
    pub tree_to_vertex: Values<'a, i32>,
    /// Shared edges, in 3D.
    pub edges: scda_forest_shared_t<'a>,
    /// Shared corners.
    pub corners: scda_forest_shared_t<'a>,
    /// The number of bytes that the program stores for each tree. May be 0.
    pub tree_bytes: u64,
    /// These bytes of all trees.
    pub tree_data: Values<'a, c_void>,
    /// The prefix of functions in messages, such as `scda_p4est`. NULL (default): messages name
    /// `scda_forest_write`.
    pub functions: Text<'a>,
    /// Memory of the library.
    pub kept: *mut c_void,
}

/// A forest of squares or cubes.
pub type scda_forest_t<'a> = scda_forest<'a>;

versioned!(scda_forest_t<'_>, "forest", "scda_forest_init", empty(), kept: *mut c_void);

fn empty<'a>() -> scda_forest_t<'a> {
    scda_forest_t { finest: MAX_LEVEL.into(), unit: MAX_LEVEL.into(), ..zeros() }
}

/// Fills a forest with the defaults, for a program that knows its first `size` bytes; `scda_forest_init`
/// calls it.
///
/// Not collective.
///
/// @param [out] m    The forest. Must not be NULL.
/// @param [in] size  The size of `*m` when the program was compiled, which is stored in its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_init_size(m: StructOut<'_, scda_forest_t>, size: usize) -> c_int {
    guard(None, -1, || m.init(size))
}

/// Releases the library's memory for a forest that was read, and fills it with the defaults.
///
/// Not collective.
///
/// @param [in,out] m  The forest.
/// @return            0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_free(m: StructInOut<'_, scda_forest_t>) -> c_int {
    let body = || {
        let c = m.given().read()?;
        drop(take(&c));
        m.write(scda_forest_t { size: c.size, dimension: c.dimension, ..empty() })?;
        Ok((0, Outcome::Success))
    };
    guard(None, -1, body)
}

/// The memory of a forest that was read.
#[allow(dead_code, clippy::large_enum_variant)] // C points to what it holds, in a box
enum OwnedForest {
    Forest(StoredForest),
    Trees(Trees),
    Elements(Elements),
}

/// Removes and returns the memory of a forest.
fn take(m: &scda_forest_t<'_>) -> Option<Box<OwnedForest>> {
    // SAFETY: C passes a forest as `scda_forest_init` and the functions here have filled it, and each one
    // once.
    (!m.kept.is_null()).then(|| unsafe { Box::from_raw(m.kept.cast::<OwnedForest>()) })
}

/// The bytes of an array of C.
fn bytes<'a, T>(values: Values<'a, T>, count: Option<u64>, name: &str) -> Result<&'a [u8]> {
    let bytes = count.and_then(|count| product(count, size_of::<T>() as u64));
    let bytes = bytes.ok_or_else(|| Error::range(format!("{name}: the number of bytes exceeds 63 bits")))?;
    if values.is_null() && bytes > 0 {
        return Err(Error::argument(format!("{name} is NULL")));
    }
    // SAFETY: the same values as bytes, which need no alignment.
    unsafe { Values::<c_void>::at(values.pointer().cast()) }.bytes(bytes)
}

/// The size of an item.
fn u32_of(bytes: u64, name: &str) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| {
        Error::range(format!("{name}: found {bytes} bytes, expected less than 4 GiB for an item"))
    })
}

/// An array that the library keeps, for C; NULL if it is empty.
fn given<'a, T>(values: &[T]) -> Values<'a, T> {
    if values.is_empty() {
        return Values::NULL;
    }
    // SAFETY: the values are kept together with the forest.
    unsafe { Values::at(values.as_ptr()) }
}

/// The group and forest of a call, and its other arguments.
fn given_forest<'a, T>(
    file: &mut impl Collective,
    group: Text<'a>,
    m: StructIn<'_, scda_forest_t<'a>>,
    more: impl FnOnce(&scda_forest_t<'a>) -> Result<T>,
) -> Result<(&'a str, Forest<'a>, T)> {
    let group = group_name(file, group, FOREST)?;
    let known = m.read().and_then(|c| Ok((c.mesh()?, more(&c)?)));
    let (forest, more) = file.agree_on(known)?;
    Ok((group, forest, more))
}

impl<'a> scda_forest_t<'a> {
    /// The mesh, the same for all calls.
    fn mesh(&self) -> Result<Forest<'a>> {
        let (shapes, found) = (self.shapes != 0, self.dimension);
        let least = if shapes { 1 } else { 2 };
        let dimension = usize::try_from(found).ok().filter(|d| (least..=3).contains(d));
        let Some(dimension) = dimension else {
            return Err(Error::argument(format!(
                "dimension of a forest: found {found}, expected {least} to 3"
            )));
        };
        if self.first.checked_add(self.n).is_none_or(|end| end > self.quadrants) {
            let Self { first, n, quadrants, .. } = self;
            let words = format!(
                "found {n} quadrants of this rank from number {first} on, expected numbers below {quadrants}"
            );
            return Err(Error::argument(words));
        }
        let functions = if self.functions.is_null() { "" } else { self.functions.utf8("functions")? };
        Ok(Forest {
            dimension,
            shapes,
            trees: self.trees,
            first_tree: self.first_tree,
            own_trees: self.own_trees,
            quadrants: self.quadrants,
            first: self.first,
            n: self.n,
            checksum: Checksum(self.checksum),
            functions,
        })
    }

    fn shared(&self, shared: &scda_forest_shared_t<'a>, each: u64, name: &str) -> Result<SharedEntities<'a>> {
        if shared.count == 0 {
            return Ok(SharedEntities::default());
        }
        let count = shared.count;
        let entries = shared.offsets.get(count + 1, name)?.last().copied().unwrap_or(0);
        let entries = u64::try_from(entries).map_err(|_| {
            Error::argument(format!("{name}: found {entries} as the last offset, expected 0 or more"))
        })?;
        let arrays = [
            bytes(shared.tree_to, product(self.trees, each), name)?,
            bytes(shared.offsets, Some(count + 1), name)?,
            bytes(shared.to_tree, Some(entries), name)?,
            bytes(shared.to_code, Some(entries), name)?,
        ];
        Ok(SharedEntities { count, entries, arrays })
    }

    /// The arrays of the parts to be written.
    fn arrays(&self, parts: c_int, rank: usize, ranks: usize) -> Result<Arrays<'a>> {
        let has = |part| parts & part != 0;
        let (d, trees, first) = (u64::try_from(self.dimension).unwrap_or(2), self.trees, rank == 0);
        let mut arrays = Arrays { data_bytes: u32_of(self.data_bytes, "data_bytes")?, ..Arrays::default() };
        if has(SCDA_FOREST_MESH_PARTS) {
            arrays.coordinates = bytes(self.coordinates, product(self.n, d), "coordinates")?;
            arrays.level = bytes(self.level, Some(self.n), "level")?;
            let mut offsets = if first { trees + 1 } else { 0 };
            if self.shapes != 0 {
                arrays.kind = bytes(self.r#type, Some(self.n), "type")?;
                arrays.position = bytes(self.position, Some(self.n), "position")?;
                let has_last =
                    self.own_trees > 0 && self.first_tree.checked_add(self.own_trees) == Some(trees);
                offsets = self.own_trees + u64::from(has_last);
            }
            arrays.tree_offsets = bytes(self.tree_offsets, Some(offsets), "tree_offsets")?;
        }
        if has(SCDA_FOREST_DATA) {
            let all = product(self.n, self.data_bytes);
            let all = all.ok_or_else(|| Error::range("data: the number of bytes exceeds 63 bits"))?;
            arrays.data = self.data.bytes(all)?;
        }
        if has(SCDA_FOREST_PARTITION) {
            let all = if first { ranks as u64 + 1 } else { 0 };
            arrays.partition = bytes(self.partition, Some(all), "partition")?;
        }
        if has(SCDA_FOREST_CONNECTIVITY) && self.shapes != 0 {
            let (faces, corners) = (product(self.own_trees, 2 * d), product(self.own_trees, 3 << d));
            arrays.connectivity = Connectivity {
                tree_to_tree: bytes(self.tree_to_tree64, faces, "tree_to_tree64")?,
                tree_to_face: bytes(self.tree_to_face, faces, "tree_to_face")?,
                tree_shape: bytes(self.tree_shape, Some(self.own_trees), "tree_shape")?,
                vertices: if self.vertices.is_null() {
                    &[]
                } else {
                    bytes(self.vertices, corners, "vertices")?
                },
                ..Connectivity::default()
            };
        } else if has(SCDA_FOREST_CONNECTIVITY) {
            let (faces, corners) = (product(trees, 2 * d), product(trees, 1 << d));
            let geometry = if self.num_vertices > 0 { corners } else { Some(0) };
            arrays.connectivity = Connectivity {
                tree_to_tree: bytes(self.tree_to_tree, faces, "tree_to_tree")?,
                tree_to_face: bytes(self.tree_to_face, faces, "tree_to_face")?,
                count: self.num_vertices,
                vertices: bytes(self.vertices, product(self.num_vertices, 3), "vertices")?,
                tree_to_vertex: bytes(self.tree_to_vertex, geometry, "tree_to_vertex")?,
                edges: if d == 3 {
                    self.shared(&self.edges, 12, "edges")?
                } else {
                    SharedEntities::default()
                },
                corners: self.shared(&self.corners, 1 << d, "corners")?,
                attribute_bytes: u32_of(self.tree_bytes, "tree_bytes")?,
                // Their size is checked before they are read.
                attributes: match product(trees, self.tree_bytes) {
                    Some(all) if all <= MOST_ATTRIBUTES => self.tree_data.bytes(all)?,
                    _ => &[],
                },
                tree_shape: &[],
            };
        }
        Ok(arrays)
    }

    /// Keeps memory together with the forest.
    fn keep(&mut self, kept: OwnedForest) {
        self.kept = Box::into_raw(Box::new(kept)).cast();
    }

    /// Sets the members for what was read.
    fn set(&mut self, found: StoredForest, rank: usize) {
        let (first, end) = (found.first_quadrant[rank], found.first_quadrant[rank + 1]);
        (self.trees, self.quadrants, self.checksum) = (found.trees, found.quadrants, found.checksum.0);
        (self.first, self.n) = (first.unsigned_abs(), (end - first).unsigned_abs());
        (self.tree_offsets, self.partition) = (given(&found.tree_offsets), given(&found.first_quadrant));
        (self.packed, self.coordinates, self.level) = (given(&found.packed), Values::NULL, Values::NULL);
        let c = &found.connectivity;
        (self.tree_to_tree, self.tree_to_face) = (given(&c.tree_to_tree), given(&c.tree_to_face));
        self.num_vertices = c.vertices.len() as u64 / 3;
        (self.vertices, self.tree_to_vertex) = (given(&c.vertices), given(&c.tree_to_vertex));
        let shared = |s: &read::SharedEntities| scda_forest_shared_t {
            count: (s.offsets.len() as u64).saturating_sub(1),
            tree_to: given(&s.tree_to),
            offsets: given(&s.offsets),
            to_tree: given(&s.to_tree),
            to_code: given(&s.to_code),
        };
        (self.edges, self.corners) = (shared(&c.edges), shared(&c.corners));
        self.tree_bytes = c.attribute_bytes.into();
        // SAFETY: the bytes are kept together with the forest.
        self.tree_data = unsafe { Values::at(c.attributes.as_ptr().cast()) };
        // SAFETY: as above.
        self.data = unsafe { Values::at(found.data.as_ptr().cast()) };
        self.keep(OwnedForest::Forest(found));
    }

    /// Sets the members for trees that were read.
    fn set_trees(&mut self, found: Trees) {
        (self.tree_to_tree64, self.tree_to_face) = (given(&found.to_tree), given(&found.to_face));
        (self.tree_shape, self.vertices) = (given(&found.shape), given(&found.vertices));
        self.keep(OwnedForest::Trees(found));
    }

    /// Sets the members for elements that were read.
    fn set_elements(&mut self, found: Elements) {
        (self.quadrants, self.first, self.n) = (found.all, found.first, found.n);
        (self.before, self.after, self.checksum) = (found.before, found.after, found.checksum.0);
        (self.first_tree, self.own_trees) = (found.first_tree, found.tree_shape.len() as u64);
        (self.tree_offsets, self.tree_shape) = (given(&found.tree_offsets), given(&found.tree_shape));
        (self.coordinates, self.level) = (given(&found.coordinates), given(&found.level));
        (self.r#type, self.position) = (given(&found.kind), given(&found.position));
        self.keep(OwnedForest::Elements(found));
    }
}

/// Writes the section `about this file`, which explains the format, where it is described, how compressed
/// data are decoded by hand, and the meaning of units, coordinates and the order of quadrants. It is for
/// readers who have nothing but the file, so it comes first, right after `scda_fopen_write`.
/// `scda_p4est_save` writes it. A file that begins with it gets an HDF5 view with `params.hdf5` 0, too.
///
/// Collective.
///
/// @param [in] f     The file, open for writing.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: those of `scda_fwrite_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_about(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| write::write_about(writer);
    on_writer(f, err, body)
}

/// Writes the attributes that mark a group as a forest, and others. If this function was not called, the
/// following ones write these attributes without others.
///
/// Collective.
///
/// @param [in] f           The file, open for writing.
/// @param [in] group       The name of the forest: a group as `scda_fwrite_group` takes it. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m           The forest, of which only `dimension` and `shapes` are used.
/// @param [in] attributes  Further attributes, such as a title: a JSON object as a C string in UTF-8, without
///                         the keys `scda_forest` and `dimension`. NULL: none.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, and those of `scda_fwrite_group`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_attributes(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    attributes: Text<'_>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let group = group_name(writer, group, FOREST)?;
        let attributes = if attributes.is_null() { Ok("{}") } else { attributes.utf8("attributes") };
        write::write_group(writer, notes, group, m.read().and_then(|c| c.mesh()), attributes)
    };
    on_meshes(f, err, body)
}

/// Writes parts of a forest in one call; the first call also writes the attributes of its group. Mesh and
/// connectivity are valid until the next ones in the file, including later time steps.
///
/// Collective; members of `m` described as of this rank may differ between the ranks. Rank 0 writes what all
/// ranks have.
///
/// @param [in] f      The file, open for writing.
/// @param [in] group  The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m      The forest, with the arrays of these parts.
/// @param [in] parts  The parts: a sum of `SCDA_FOREST_CONNECTIVITY`, `SCDA_FOREST_MESH_PARTS`,
///                    `SCDA_FOREST_DATA` and `SCDA_FOREST_PARTITION`.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` for another mesh in a step that has fields, and for data of another mesh than the
/// last one; `SCDA_ERR_RANGE` for more vertices, or bytes of trees, than docs/forest.md allows;
/// `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_datasets`. Whether the quadrants fill their
/// trees is not checked here, but in reading and by `scda check`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    parts: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let (group, forest, c) = given_forest(writer, group, m, |c| Ok(*c))?;
        let arrays = c.arrays(parts, writer.rank(), writer.size());
        write::write(writer, notes, group, &forest, parts.cast_unsigned(), arrays)
    };
    on_meshes(f, err, body)
}

/// Begins a time step: writes the attributes of the group, the time, and the connectivity, unless the file
/// has them already. In a file that was opened by `scda_fopen_append`, the mesh is compared with the last one
/// in the file; the connectivity is written again.
///
/// Collective; members of `m` described as of this rank may differ between the ranks.
///
/// @param [in] f        The file, open for writing.
/// @param [in] group    The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m        The forest, with the arrays of the connectivity.
/// @param [in] time     The time. That of rank 0 is written.
/// @param [in] units    Its unit, such as `s`. NULL, or an empty C string: none.
/// @param [out] lacks   1: the last mesh in the file is another one, so this one must be written next; 0: it
///                      is this one.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: those of `scda_forest_write` and `scda_forest_write_time`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_step(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    time: f64,
    units: Text<'_>,
    lacks: Out<'_, c_int>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let (group, forest, c) = given_forest(writer, group, m, |c| Ok(*c))?;
        let arrays = c.arrays(SCDA_FOREST_CONNECTIVITY, writer.rank(), writer.size());
        let time = (time, attributes_of_time(units, Text::NULL));
        put(lacks, c_int::from(write::write_step(writer, notes, group, &forest, time, arrays)?));
        Ok(())
    };
    on_meshes(f, err, body)
}

/// Writes a field with the same number of items for each quadrant. The mesh of the forest must be the last
/// one in the file; the field refers to it.
///
/// Collective; `data`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f      The file, open for writing.
/// @param [in] group  The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m      The forest, without its arrays: numbers and checksum.
/// @param [in] field  Its name within the group, and its type; layout, codec, attributes and so on are as for
///                    any dataset. The library sets `shape[0]` and the name of the first dimension; for a
///                    scalar, `ndims` may be 0.
/// @param [in] data   The items of the quadrants of this rank. May be NULL if there are none.
/// @param [in] lend   1: with `params.lend`, this memory does not change, as for `scda_fwrite_dataset`; 0:
///                    the call copies it.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` if the mesh of the forest is not the last one in the file, `SCDA_ERR_ARG`,
/// `SCDA_ERR_MEMORY`, and those of `scda_fwrite_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_field(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    field: StructIn<'_, scda_dataset_t>,
    data: Values<'_, c_void>,
    lend: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let (group, forest, field) = given_forest(writer, group, m, |_| of_c(&field.read()?))?;
        let InMemory { dataset, data_type } = field;
        let rows = write::field(writer, notes, group, &forest, Ok(&dataset))?;
        write_rows(writer, rows, data_type, data, lend != 0)
    };
    on_meshes(f, err, body)
}

/// Writes a field with a number of values of its own for each quadrant, such as the coefficients of hp elements.
///
/// Collective; `counts`, `data`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f       The file, open for writing.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m       The forest, without its arrays: numbers and checksum.
/// @param [in] field   As for `scda_forest_write_field`; `ndims` is 1 (or 0) if a value is one item. Its name
///                     with that of the group, `/fields/` and `:count` may have at most 58 bytes.
/// @param [in] counts  The number of values of each quadrant of this rank. May be NULL if there are none.
/// @param [in] data    The values, those of each quadrant after those of the previous one. May be NULL if
///                     there are none.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: those of `scda_forest_write_field`; `SCDA_ERR_RANGE` for counts that are negative or whose sum is
/// too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_ragged(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    field: StructIn<'_, scda_dataset_t>,
    counts: Values<'_, i64>,
    data: Values<'_, c_void>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let (group, forest, field) = given_forest(writer, group, m, |_| of_c(&field.read()?))?;
        let InMemory { dataset, data_type } = field;
        let own = bytes(counts, Some(forest.n), "counts");
        let [of_counts, rows] = write::ragged(writer, notes, group, &forest, Ok(&dataset), own)?;
        // SAFETY: the same numbers as bytes.
        let counts = unsafe { Values::at(counts.pointer().cast()) };
        write_rows(writer, of_counts, DataType::Int64, counts, true)?;
        write_rows(writer, rows, data_type, data, true)
    };
    on_meshes(f, err, body)
}

/// Reads the mesh of a time step, its connectivity and, if `m->data_bytes` is not 0, the bytes that a program
/// stores for each quadrant.
///
/// Collective. All ranks receive everything that is not described as of this rank.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step: 0 is the first one, -1 the last one. See `scda_forest_steps`.
/// @param [in,out] m   The forest, in which the program has set `dimension`, `finest`, `unit`,
///                     `stored_partition`, `partition` and `data_bytes`. Release it by `scda_forest_free`,
///                     also after an error.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if the file has no such forest or step; `SCDA_ERR_FORMAT` for an invalid forest;
/// `SCDA_ERR_UNSUPPORTED` for a later version of the convention, levels beyond `finest`, and data of a machine with the
/// other byte order; `SCDA_ERR_RANGE` for more trees, or quadrants on a rank, than 32 bits can count; `SCDA_ERR_ARG`
/// for a partition that does not fit; `SCDA_ERR_MEMORY`; and those of `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let group = group_name(reader, group, FOREST)?;
        let ranks = reader.size() as u64;
        let wanted = m.given().read().and_then(|c| {
            let level = |level: c_int, least| {
                let found = u8::try_from(level).ok().filter(|found| (least..=MAX_LEVEL).contains(found));
                found.ok_or_else(|| {
                    Error::argument(format!("level of a forest: found {level}, expected 0 to 30"))
                })
            };
            let finest = level(c.finest, 0)?;
            let distribution = match c.partition.optional(ranks + 1, "partition")? {
                _ if c.stored_partition != 0 => Distribution::Stored,
                Some(first) => Distribution::Explicit(first),
                None => Distribution::Uniform,
            };
            let (dimension, unit) = (c.mesh()?.dimension, level(c.unit, finest)?);
            let data_bytes = u32_of(c.data_bytes, "data_bytes")?;
            Ok((c, ReadRequest { dimension, finest, unit, data_bytes, distribution }))
        });
        let (mut c, wanted) = reader.agree_on(wanted)?;
        let found = read::read(reader, group, step, &wanted)?;
        drop(take(&c));
        c.set(found, reader.rank());
        m.write(c)
    };
    on_reader(f, err, body)
}

/// Finds a forest of any shapes: sets `dimension`, `shapes` and `trees`.
///
/// Collective.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step.
/// @param [in,out] m   The forest, filled by `scda_forest_init`.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if the file has no such forest or step; `SCDA_ERR_UNSUPPORTED` for another version of
/// the convention; those of `scda_ffind_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_find_shapes(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| read_shapes(reader, group, step, m, |_, _, _| Ok(()));
    on_reader(f, err, body)
}

/// Finds a forest of any shapes, reads parts of it, and returns them to C.
fn read_shapes(
    reader: &mut Reader,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t<'_>>,
    read: impl FnOnce(&mut Reader, &Shapes, &mut scda_forest_t<'_>) -> Result<()>,
) -> Result<()> {
    let group = group_name(reader, group, FOREST)?;
    let given = m.given().read();
    let mut c = reader.agree_on(given)?;
    let shapes = Shapes::find(reader, group, step)?;
    let before = c.kept;
    read(reader, &shapes, &mut c)?;
    if c.kept != before {
        drop(take(&scda_forest_t { kept: before, ..empty() }));
    }
    (c.shapes, c.trees) = (1, shapes.trees);
    c.dimension = c_int::try_from(shapes.dimension).unwrap_or(0);
    m.write(c)
}

/// Reads trees of a forest of any shapes, `m->own_trees` of them from `m->first_tree` on: `tree_to_tree64`,
/// `tree_to_face`, `tree_shape`, and `vertices`, which is NULL if the file has none.
///
/// Collective; `own_trees` and `first_tree` may differ between the ranks.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step.
/// @param [in,out] m   The forest. Release it by `scda_forest_free`, also after an error.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: those of `scda_forest_find_shapes`; `SCDA_ERR_MEMORY`; those of `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_trees(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        read_shapes(reader, group, step, m, |reader, shapes, c| {
            c.set_trees(shapes.trees(reader, c.first_tree, c.own_trees)?);
            Ok(())
        })
    };
    on_reader(f, err, body)
}

/// Reads elements of a forest of any shapes. Each rank gets an equal share, give or take one, with the one
/// before and the one after them, and their trees: `tree_offsets` and `tree_shape` of `own_trees` trees from
/// `first_tree` on.
///
/// Collective.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step.
/// @param [in,out] m   The forest. Release it by `scda_forest_free`, also after an error.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: those of `scda_forest_read_trees`; `SCDA_ERR_FORMAT` for elements that violate docs/t8code.md;
/// `SCDA_ERR_RANGE` for more on a rank than 32 bits can count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_elements(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        read_shapes(reader, group, step, m, |reader, shapes, c| {
            c.set_elements(shapes.elements(reader)?);
            Ok(())
        })
    };
    on_reader(f, err, body)
}

/// Finds a field of a time step, of which `scda_fread_dataset` can read any boxes.
///
/// Collective.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step. Fields of other steps are not found.
/// @param [in] name    The name of the field, such as `density`.
/// @param [out] found  1 if the step has such a field, otherwise 0. Must not be NULL.
/// @param [in,out] d   As for `scda_ffind_dataset`.
/// @param [out] err    The error code: 0 also if there is no such field.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, and those of `scda_ffind_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_find_field(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    name: Text<'_>,
    found: Out<'_, c_int>,
    d: StructInOut<'_, scda_dataset_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let group = group_name(reader, group, FOREST)?;
        let record = scda_meshes::steps::field(reader, group, step, name.utf8("name of a field"))?;
        let record = record.as_ref().map(|(name, record)| (&**name, *record));
        find_in(reader, given, record, found, d)
    };
    with(f, err, body)
}

/// The type of a field by its number, and its name in messages.
#[derive(Clone, Copy)]
struct Type {
    code: c_int,
    name: &'static str,
    in_bytes: bool,
    /// The type to which numbers are converted; `None` for other items.
    number: Option<DataType>,
}

impl Type {
    fn new(code: c_int) -> Result<Self> {
        let name = DataType::c_name(code).and_then(|name| name.to_str().ok());
        let name = name.ok_or_else(|| Error::argument(format!("type: found {code}")))?;
        let number = DataType::from_code(code).filter(|data_type| is_complex(*data_type).is_some());
        Ok(Self { code, name, in_bytes: bytes_of_type(code) == 0, number })
    }

    /// Calls `with` with the required type of a field.
    fn wanted<T>(&self, components: u64, with: impl FnOnce(&FieldType<'_>) -> T) -> T {
        let is_converted = |found| {
            self.number
                .is_some_and(|number| is_complex(found).is_some_and(|is| is_complex(number) == Some(is)))
        };
        let is_type = |found: DataType| found.code() == self.code || is_converted(found);
        with(&FieldType { is_type: &is_type, type_name: self.name, components, in_bytes: self.in_bytes })
    }
}

/// Whether a number is complex; `None` for a type that is no number. Numbers are converted to numbers, and
/// complex ones to complex ones.
fn is_complex(data_type: DataType) -> Option<bool> {
    match data_type.kind() {
        Kind::Signed | Kind::Unsigned | Kind::Float => Some(false),
        Kind::Complex => Some(true),
        _ => None,
    }
}

/// Reads a field of known number of items, for the quadrants of this rank. Numbers of another type in the file
/// are converted (see `scda_box_t`).
///
/// Collective; `data`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f           The file, open for reading.
/// @param [in] group       The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step        The time step.
/// @param [in] m           The forest, without its arrays: numbers and checksum, in any partition. The field
///                         must refer to its mesh.
/// @param [in] name        The name of the field.
/// @param [in] type        The type of the items in `data`, such as `SCDA_TYPE_FLOAT64`. Items that are no
///                         numbers must have this type in the file.
/// @param [in] components  The required number of items for each quadrant, of which `scda_forest_find_field`
///                         tells the shape; for `SCDA_TYPE_RAW`, and other types whose items may have any
///                         size, the number of bytes.
/// @param [out] data       Room for the items of the quadrants of this rank. May be NULL if there are none.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if there is no such field; `SCDA_ERR_FORMAT` if it has another shape or mesh, or a type
/// that cannot be converted; `SCDA_ERR_RANGE` for a number that does not fit; `SCDA_ERR_ARG`; those of
/// `scda_ffind_dataset` and `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_field(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructIn<'_, scda_forest_t>,
    name: Text<'_>,
    r#type: c_int,
    components: u64,
    data: Room<'_, c_void>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (group, forest, of) = given_forest(reader, group, m, |_| Type::new(r#type))?;
        let name = name.utf8("name of a field");
        let rows =
            of.wanted(components, |wanted| read::field(reader, (group, step), &forest, name, wanted))?;
        let data_type = of.number.unwrap_or(rows.0.data_type);
        read_rows(reader, rows, data_type, data)
    };
    on_reader(f, err, body)
}

/// Reads the number of values of each quadrant of this rank in a field written by `scda_forest_write_ragged`.
///
/// Collective; `counts`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f        The file, open for reading.
/// @param [in] group    The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step     The time step.
/// @param [in] m        As for `scda_forest_read_field`.
/// @param [in] name     The name of the field.
/// @param [out] counts  Room for a number for each quadrant of this rank. None is negative, and the sum over
///                      all ranks matches the values in the file. May be NULL if there are none.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: those of `scda_forest_read_field`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_counts(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructIn<'_, scda_forest_t>,
    name: Text<'_>,
    counts: Room<'_, i64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (group, forest, ()) = given_forest(reader, group, m, |_| Ok(()))?;
        let room = counts.get(forest.n, "counts").map(|counts| {
            let bytes = size_of_val(counts);
            // SAFETY: the same numbers as bytes.
            unsafe { std::slice::from_raw_parts_mut(counts.as_mut_ptr().cast::<u8>(), bytes) }
        });
        read::counts(reader, (group, step), &forest, name.utf8("name of a field"), room)
    };
    on_reader(f, err, body)
}

/// Reads the values of the quadrants of this rank.
///
/// Collective; `counts`, `data`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f           The file, open for reading.
/// @param [in] group       The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step        The time step.
/// @param [in] m           As for `scda_forest_read_field`.
/// @param [in] name        The name of the field.
/// @param [in] type        As for `scda_forest_read_field`.
/// @param [in] components  As for `scda_forest_read_field`, of each value.
/// @param [in] counts      What `scda_forest_read_counts` has read. May be NULL if there are none.
/// @param [out] data       Room for the sum of `counts` values. May be NULL if there are none.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: those of `scda_forest_read_field`; `SCDA_ERR_RANGE` for counts that are negative or whose sum is
/// too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_ragged(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructIn<'_, scda_forest_t>,
    name: Text<'_>,
    r#type: c_int,
    components: u64,
    counts: Values<'_, i64>,
    data: Room<'_, c_void>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (group, forest, of) = given_forest(reader, group, m, |_| Type::new(r#type))?;
        let (name, counts) = (name.utf8("name of a field"), bytes(counts, Some(forest.n), "counts"));
        let rows = of.wanted(components, |wanted| {
            read::ragged(reader, (group, step), &forest, name, wanted, counts)
        })?;
        let data_type = of.number.unwrap_or(rows.0.data_type);
        read_rows(reader, rows, data_type, data)
    };
    on_reader(f, err, body)
}

/// The contribution of some quadrants to the checksum of their mesh. The checksum is the sum over all
/// quadrants, modulo 2^64, which `MPI_Allreduce` of MPI_UINT64_T computes. As 16 hexadecimal digits, it is the
/// attribute `scda_mesh` of the mesh and its fields.
///
/// Not collective.
///
/// @param [in] tree_offsets  As in the file: the number of the first quadrant of each tree, followed by the
///                           number of all.
/// @param [in] first         The number of the first quadrant, among those of all ranks.
/// @param [in] n             The number of quadrants.
/// @param [in] level         Their levels. May be NULL if there are none.
/// @return                   The sum of their contributions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_checksum(
    tree_offsets: Values<'_, i64>,
    first: u64,
    n: u64,
    level: Values<'_, u8>,
) -> u64 {
    let body = || {
        let (mut tree, mut sum) = (0, 0_u64);
        tree_offsets.get(u64::from(n > 0), "tree_offsets")?;
        for (number, &level) in (first..).zip(level.get(n, "level")?) {
            while tree_offsets.read(tree + 1).cast_unsigned() <= number {
                tree += 1;
            }
            sum = sum.wrapping_add(term(number, tree as u64, level.into()));
        }
        Ok((sum, Outcome::Success))
    };
    guard(None, 0, body)
}
