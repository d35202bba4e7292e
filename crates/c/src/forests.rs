//! Forests of squares and cubes (`docs/forest.md`), and of any shapes (`docs/t8code.md`).

use super::memory::Values;
use super::pointers::Text;
use super::steps::{FOREST, group_name};
use super::versioned::{StructIn, StructInOut, StructOut, versioned, zeros};
use super::{Outcome, guard};
use scda::Collective;
use scda_base::error::{Error, Result};
use scda_base::numbers::product;
use scda_format::meshes::checksum::{Checksum, of_quadrants};
use scda_format::meshes::forest::{MAX_LEVEL, MOST_ATTRIBUTES};
use scda_meshes::forest::Forest;
use scda_meshes::forest::connectivity;
use scda_meshes::forest::read::StoredForest;
use scda_meshes::forest::shapes::{Elements, Trees};
use scda_meshes::forest::write::{Arrays, Connectivity, SharedEntities};
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

pub(super) fn empty<'a>() -> scda_forest_t<'a> {
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
        release(&c);
        m.write(scda_forest_t { size: c.size, dimension: c.dimension, ..empty() })?;
        Ok((0, Outcome::Success))
    };
    guard(None, -1, body)
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
        tree_offsets.get(u64::from(n > 0), "tree_offsets")?;
        let end = |tree: usize| Some(tree_offsets.read(tree + 1));
        Ok((of_quadrants(first, level.get(n, "level")?, end).0, Outcome::Success))
    };
    guard(None, 0, body)
}

/// The memory of a forest that was read.
#[allow(dead_code, clippy::large_enum_variant)] // C points to what it holds, in a box
enum OwnedForest {
    Forest(StoredForest),
    Trees(Trees),
    Elements(Elements),
}

/// Releases the memory of a forest.
pub(super) fn release(m: &scda_forest_t<'_>) {
    if !m.kept.is_null() {
        // SAFETY: C passes a forest as `scda_forest_init` and the functions here have filled it, and each one
        // once.
        drop(unsafe { Box::from_raw(m.kept.cast::<OwnedForest>()) });
    }
}

/// The bytes of an array of C.
pub(super) fn bytes<'a, T>(values: Values<'a, T>, count: Option<u64>, name: &str) -> Result<&'a [u8]> {
    let bytes = count.and_then(|count| product(count, size_of::<T>() as u64));
    let bytes = bytes.ok_or_else(|| Error::range(format!("{name}: the number of bytes exceeds 63 bits")))?;
    if values.is_null() && bytes > 0 {
        return Err(Error::argument(format!("{name} is NULL")));
    }
    // SAFETY: the same values as bytes, which need no alignment.
    unsafe { Values::<c_void>::at(values.pointer().cast()) }.bytes(bytes)
}

/// The size of an item.
pub(super) fn u32_of(bytes: u64, name: &str) -> Result<u32> {
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
pub(super) fn given_forest<'a, T>(
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
    pub(super) fn mesh(&self) -> Result<Forest<'a>> {
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
    pub(super) fn arrays(&self, parts: c_int, rank: usize, ranks: usize) -> Result<Arrays<'a>> {
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
    pub(super) fn set(&mut self, found: StoredForest, rank: usize) {
        let (first, end) = (found.first_quadrant[rank], found.first_quadrant[rank + 1]);
        (self.trees, self.quadrants, self.checksum) = (found.trees, found.quadrants, found.checksum.0);
        (self.first, self.n) = (first.unsigned_abs(), (end - first).unsigned_abs());
        (self.tree_offsets, self.partition) = (given(&found.tree_offsets), given(&found.first_quadrant));
        (self.packed, self.coordinates, self.level) = (given(&found.packed), Values::NULL, Values::NULL);
        let c = &found.connectivity;
        (self.tree_to_tree, self.tree_to_face) = (given(&c.tree_to_tree), given(&c.tree_to_face));
        self.num_vertices = c.vertices.len() as u64 / 3;
        (self.vertices, self.tree_to_vertex) = (given(&c.vertices), given(&c.tree_to_vertex));
        let shared = |s: &connectivity::SharedEntities| scda_forest_shared_t {
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
    pub(super) fn set_trees(&mut self, found: Trees) {
        (self.tree_to_tree64, self.tree_to_face) = (given(&found.to_tree), given(&found.to_face));
        (self.tree_shape, self.vertices) = (given(&found.shape), given(&found.vertices));
        self.keep(OwnedForest::Trees(found));
    }

    /// Sets the members for elements that were read.
    pub(super) fn set_elements(&mut self, found: Elements) {
        (self.quadrants, self.first, self.n) = (found.all, found.first, found.n);
        (self.before, self.after, self.checksum) = (found.before, found.after, found.checksum.0);
        (self.first_tree, self.own_trees) = (found.first_tree, found.tree_shape.len() as u64);
        (self.tree_offsets, self.tree_shape) = (given(&found.tree_offsets), given(&found.tree_shape));
        (self.coordinates, self.level) = (given(&found.coordinates), given(&found.level));
        (self.r#type, self.position) = (given(&found.kind), given(&found.position));
        self.keep(OwnedForest::Elements(found));
    }
}
