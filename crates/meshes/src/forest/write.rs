//! Writes a forest.

use super::Forest;
use crate::notes::{GroupNotes, MeshNotes, notes_of, read_notes};
use crate::ranks::spread;
use crate::steps::write_time;
use crate::write::{Columns, Rows};
use scda::{Collective, DataType, Encode, Error, Result, Writer};
use scda_base::numbers::to_usize;
use scda_format::meshes::attributes::with_mesh;
use scda_format::meshes::checksum::{MESH, mixed};
use scda_format::meshes::forest::{MOST_ATTRIBUTES, SharedKind, most_vertices};
use scda_format::meshes::parts::{
    self, COORDINATES, LEVEL, POSITION, Part, TREE_ATTRIBUTES, TREE_OFFSETS, TREE_SHAPE, TREE_TO_FACE,
    TREE_TO_TREE, TREE_TO_TREE_64, TREE_TO_VERTEX, TREE_VERTICES, TYPE, VERTICES,
};
use scda_format::meshes::{Convention, DIMENSION};

const FOREST: Convention = Convention::Forest;

/// The part of a forest that is its connectivity.
pub const CONNECTIVITY: u32 = 1;
/// The part of a forest that is its mesh.
pub const MESH_PARTS: u32 = 2;
/// The part of a forest that is the program's bytes for each quadrant.
pub const DATA: u32 = 4;
/// The part of a forest that is the partition of its quadrants.
pub const PARTITION: u32 = 8;

/// Edges or corners that trees share, as bytes in memory; empty if there are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedEntities<'a> {
    /// Their number.
    pub count: u64,
    /// The number of entries.
    pub entries: u64,
    /// The arrays of [`SharedKind::parts`].
    pub arrays: [&'a [u8]; 4],
}

/// How trees are connected and where they are, as bytes in memory. All ranks have all of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connectivity<'a> {
    /// `int32`, of any shapes `int64`: the tree across each face.
    pub tree_to_tree: &'a [u8],
    /// `int8`: the face of that tree.
    pub tree_to_face: &'a [u8],
    /// With any shapes: `uint8`: the shape of each tree. The other arrays of trees then hold the trees of
    /// this rank as well.
    pub tree_shape: &'a [u8],
    /// The number of vertices.
    pub count: u64,
    /// `float64`: three coordinates of each vertex; with any shapes, of each corner of each tree, or empty.
    pub vertices: &'a [u8],
    /// `int32`: the vertices at the corners of each tree.
    pub tree_to_vertex: &'a [u8],
    /// Shared edges of cubes.
    pub edges: SharedEntities<'a>,
    /// Shared corners.
    pub corners: SharedEntities<'a>,
    /// The number of bytes that the program stores for each tree.
    pub attribute_bytes: u32,
    /// These bytes of all trees.
    pub attributes: &'a [u8],
}

impl<'a> Connectivity<'a> {
    /// A hash of the connectivity.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let arrays = [self.tree_to_tree, self.tree_to_face, self.vertices, self.tree_to_vertex];
        let shared = self.edges.arrays.iter().chain(&self.corners.arrays);
        arrays.iter().chain(shared).chain([&self.attributes]).fold(0, |hash, array| hash_of(hash, array))
    }

    /// The same with any shapes: the contribution of this rank's trees.
    fn hash_of_trees(&self, forest: &Forest<'_>) -> u64 {
        let row = |array: &'a [u8], tree: u64| {
            let bytes = array.len().checked_div(to_usize(forest.own_trees)).unwrap_or(0);
            array.get(bytes * to_usize(tree)..bytes * to_usize(tree + 1)).unwrap_or_default()
        };
        (0..forest.own_trees).fold(0, |sum: u64, tree| {
            let arrays = [self.tree_to_tree, self.tree_to_face, self.tree_shape, self.vertices];
            let hash = mixed(forest.first_tree + tree + 1);
            sum.wrapping_add(arrays.iter().fold(hash, |hash, array| hash_of(hash, row(array, tree))))
        })
    }
}

/// Continues a hash with an array.
fn hash_of(hash: u64, array: &[u8]) -> u64 {
    let (words, rest) = array.as_chunks();
    let words = words.iter().map(|word| u64::from_ne_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    let hash = words.chain(rest).fold(hash, |hash, word| {
        let product = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ product >> 29
    });
    mixed(hash.wrapping_add(array.len() as u64 + 1))
}

/// The parts of a forest to write, as bytes in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrays<'a> {
    /// `int32`: the corner of each quadrant of this rank.
    pub coordinates: &'a [u8],
    /// `uint8`: the level of each quadrant.
    pub level: &'a [u8],
    /// With any shapes: `uint8`: the type of each element of this rank.
    pub kind: &'a [u8],
    /// With any shapes: `uint64`: the position of each element.
    pub position: &'a [u8],
    /// `int64`: where the quadrants of each tree begin and end. Used on rank 0. With any shapes: those of
    /// this rank's trees, and the end of all after the last tree.
    pub tree_offsets: &'a [u8],
    /// The number of bytes that the program stores for each quadrant.
    pub data_bytes: u32,
    /// These bytes of the quadrants of this rank.
    pub data: &'a [u8],
    /// `int64`: the first quadrant of each rank, followed by the number of all. Used on rank 0.
    pub partition: &'a [u8],
    /// How the trees are connected.
    pub connectivity: Connectivity<'a>,
}

/// An attribute that says what a dataset is.
fn long_name(words: &str) -> String {
    format!("{{\"long_name\":\"{words}\"}}")
}

/// Adds a connectivity.
fn connectivity<'a>(columns: &mut Columns<'a>, forest: &Forest<'_>, c: &Connectivity<'a>) -> Result<()> {
    let (trees, d) = (forest.trees, forest.dimension);
    if c.count > most_vertices(trees, d) {
        return Err(Error::range(format!(
            "the connectivity has {} vertices, too many for {trees} trees",
            c.count
        )));
    }
    if trees > 0 && u64::from(c.attribute_bytes) > MOST_ATTRIBUTES / trees {
        return Err(Error::range(format!(
            "the connectivity: found {} bytes for each of {trees} trees, expected at most {MOST_ATTRIBUTES} in all",
            c.attribute_bytes
        )));
    }
    columns.of_first(&TREE_TO_TREE, trees, c.tree_to_tree)?;
    columns.of_first(&TREE_TO_FACE, trees, c.tree_to_face)?;
    if c.count > 0 {
        columns.of_first(&VERTICES, c.count, c.vertices)?;
        columns.of_first(&TREE_TO_VERTEX, trees, c.tree_to_vertex)?;
    }
    for (kind, shared) in [(SharedKind::EDGES, &c.edges), (SharedKind::corners(d), &c.corners)] {
        if shared.count > 0 {
            let rows = [trees, shared.count + 1, shared.entries, shared.entries];
            for ((part, rows), array) in kind.parts.iter().zip(rows).zip(shared.arrays) {
                columns.of_first(part, rows, array)?;
            }
        }
    }
    if c.attribute_bytes > 0 {
        let part = TREE_ATTRIBUTES.of(DataType::Raw(c.attribute_bytes));
        columns.of_first(&part, trees, c.attributes)?;
    }
    Ok(())
}

/// Adds the trees of a forest of any shapes, of which each rank has some.
fn trees<'a>(
    columns: &mut Columns<'a>,
    forest: &Forest<'_>,
    c: &Connectivity<'a>,
    has_vertices: bool,
) -> Result<()> {
    let (trees, own) = (forest.trees, Rows::From(forest.first_tree, forest.own_trees));
    for (part, bytes, words) in [
        (&TREE_TO_TREE_64, c.tree_to_tree, "tree across each face"),
        (&TREE_TO_FACE, c.tree_to_face, "face of the tree across each face, with its orientation"),
        (&TREE_SHAPE, c.tree_shape, "shape of each tree, by the numbers of VTK"),
    ] {
        columns.push(part, trees, own, bytes)?.attributes = long_name(words);
    }
    if has_vertices {
        columns.push(&TREE_VERTICES, trees, own, c.vertices)?;
    }
    Ok(())
}

/// Adds a mesh.
fn mesh<'a>(columns: &mut Columns<'a>, forest: &Forest<'_>, arrays: &Arrays<'a>) -> Result<()> {
    let element = forest.element();
    let corner = match forest.shapes {
        true => "first corner in the reference tree, in units of 2^-30 of its edge",
        false => "corner next to the origin of the tree, in units of 2^-30 of the edge of the tree",
    };
    let mut add = |part: &Part, bytes: &'a [u8], words: &str| -> Result<()> {
        let own = Rows::From(forest.first, forest.n);
        let dataset = columns.push(part, forest.quadrants, own, bytes)?;
        dataset.attributes = long_name(words);
        dataset.dimension_names[0] = Some(element.to_owned());
        if part.name == COORDINATES.name {
            dataset.attributes = with_mesh(&dataset.attributes, forest.checksum);
        }
        Ok(())
    };
    add(&COORDINATES, arrays.coordinates, corner)?;
    add(&LEVEL, arrays.level, "level of refinement")?;
    if forest.shapes {
        add(&TYPE, arrays.kind, "where the other corners are")?;
        add(&POSITION, arrays.position, "number of finest elements of the tree before this one")?;
    }
    let (all, bytes) = (forest.trees + 1, arrays.tree_offsets);
    let offsets = match forest.shapes {
        true => {
            columns.push(&TREE_OFFSETS, all, Rows::From(forest.first_tree, forest.own_offsets()), bytes)?
        }
        false => columns.of_first(&TREE_OFFSETS, all, bytes)?,
    };
    offsets.attributes = long_name(&format!("number of the first {element} of each tree"));
    Ok(())
}

/// Adds the program's bytes for each quadrant.
fn data<'a>(columns: &mut Columns<'a>, forest: &Forest<'_>, arrays: &Arrays<'a>) -> Result<()> {
    if arrays.data_bytes == 0 {
        return Err(Error::argument("found quadrants without data, expected data to write"));
    }
    let (part, own) = (parts::DATA.of(DataType::Raw(arrays.data_bytes)), Rows::From(forest.first, forest.n));
    let order = byte_order();
    columns.push(&part, forest.quadrants, own, arrays.data)?.attributes =
        format!("{{\"{MESH}\":\"{}\",\"byte_order\":\"{order}\"}}", forest.checksum);
    Ok(())
}

/// Writes the section `about this file`, which explains the file to a reader without documentation.
///
/// # Errors
/// Those of [`Writer::block`].
pub fn write_about(file: &mut Writer) -> Result<()> {
    let text = include_bytes!("about.txt");
    file.block(b"about this file", 0, text.len() as u64, Some(text), Encode::None)
}

/// The byte order of this machine.
pub(super) const fn byte_order() -> &'static str {
    if cfg!(target_endian = "big") { "big" } else { "little" }
}

/// Writes the attributes that mark a group as a forest, and `attributes`, a JSON object.
///
/// # Errors
/// `Argument` for another dimension, or attributes that are not an object; those of [`Writer::group`].
pub fn write_group(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    forest: Result<Forest<'_>>,
    attributes: Result<&str>,
) -> Result<()> {
    let all = attributes.and_then(|attributes| {
        let forest = forest?;
        let rest = attributes.trim_start().strip_prefix('{').map(str::trim_start);
        let rest = rest.ok_or_else(|| Error::argument("attributes of a forest: expected a JSON object"))?;
        let (version, comma) = (forest.version(), if rest.starts_with('}') { "" } else { "," });
        Ok(format!(
            "{{\"{}\":{version},\"{DIMENSION}\":{}{comma}{rest}",
            FOREST.attribute(),
            forest.dimension
        ))
    });
    let all = file.agree_on(all)?;
    file.group(group, &all)?;
    notes_of(notes, group).has_group = true;
    Ok(())
}

/// The notes on a group, after making sure that its attributes are in the file.
fn begin<'a>(
    file: &mut Writer,
    notes: &'a mut MeshNotes,
    group: &str,
    forest: &Forest<'_>,
) -> Result<&'a mut GroupNotes> {
    read_notes(file, notes_of(notes, group), group, FOREST)?;
    if !notes_of(notes, group).has_group {
        write_group(file, notes, group, Ok(*forest), Ok("{}"))?;
    }
    Ok(notes_of(notes, group))
}

/// A hash of the connectivity; with any shapes, also whether all trees have vertices.
fn summary(file: &mut Writer, forest: &Forest<'_>, arrays: &Result<Arrays<'_>>) -> Result<(u64, bool)> {
    let own = arrays.as_ref().map(|arrays| arrays.connectivity).map_err(Error::again);
    if !forest.shapes {
        return Ok((file.agree_on(own)?.hash(), false));
    }
    let parts = own.map(|c| {
        let (hash, lacks) = (c.hash_of_trees(forest), forest.own_trees > 0 && c.vertices.is_empty());
        [forest.own_trees, u64::from(lacks), hash >> 32, hash & u64::from(u32::MAX)]
    });
    let parts = file.agree_on(parts)?;
    let [found, lack, high, low] = spread(file, parts)?.map(|part| part.total);
    if found != forest.trees {
        let words =
            format!("found elements in {found} of {} trees, expected some in each tree", forest.trees);
        return file.agree_on(Err(Error::argument(words)));
    }
    Ok(((high << 32).wrapping_add(low), lack == 0))
}

/// Writes `parts` of a forest: a sum of [`CONNECTIVITY`], [`MESH_PARTS`], [`DATA`] and [`PARTITION`]. The
/// first call also writes the attributes of the group.
///
/// # Errors
/// `Usage` for another mesh in a step that has fields, and for data of another mesh than the last one;
/// `Range` for more vertices, or bytes of trees, than docs/forest.md allows; `Argument`; and those of
/// [`Writer::datasets`].
pub fn write(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    forest: &Forest<'_>,
    parts: u32,
    arrays: Result<Arrays<'_>>,
) -> Result<()> {
    let has = |part| parts & part != 0;
    let is_first = file.rank() == 0;
    let ranks = file.size() as u64;
    let (hash, has_vertices) = if has(CONNECTIVITY) { summary(file, forest, &arrays)? } else { (0, false) };
    let columns = arrays.and_then(|arrays| {
        let mut columns = Columns::new(group, forest.dimension, is_first);
        match forest.shapes {
            _ if !has(CONNECTIVITY) => {}
            true => trees(&mut columns, forest, &arrays.connectivity, has_vertices)?,
            false => connectivity(&mut columns, forest, &arrays.connectivity)?,
        }
        if has(MESH_PARTS) {
            mesh(&mut columns, forest, &arrays)?;
        }
        if has(DATA) {
            data(&mut columns, forest, &arrays)?;
        }
        if has(PARTITION) {
            columns.of_first(&parts::PARTITION, ranks + 1, arrays.partition)?.attributes =
                long_name("number of the first quadrant of each rank that wrote the file");
        }
        Ok(columns)
    });
    let columns = file.agree_on(columns)?;
    let known = begin(file, notes, group, forest)?;
    if has(DATA) && !has(MESH_PARTS) {
        belong(file, known, group, forest, "data")?;
    }
    let is_other = known.mesh.is_some_and(|(_, checksum)| checksum != forest.checksum);
    if has(MESH_PARTS) && is_other && known.has_fields {
        let words = format!(
            "another mesh of the forest {group}, where the time step has fields of the one before: begin a step by \
             scda_forest_write_time or {}",
            forest.call("write_step")
        );
        return file.agree_on(Err(Error::usage(words)));
    }
    columns.write(file)?;
    if has(MESH_PARTS) {
        known.mesh = Some((forest.quadrants, forest.checksum));
        known.has_fields = has(DATA);
    }
    if has(CONNECTIVITY) {
        known.connectivity = Some(hash);
    }
    Ok(())
}

/// Begins a time step: writes the attributes of the group, the time, and the connectivity, unless the file
/// has them already. Returns true if the file does not have the mesh, which must then be written.
///
/// # Errors
/// Those of [`write()`] and [`write_time`].
pub fn write_step(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    forest: &Forest<'_>,
    (time, attributes): (f64, Result<String>),
    arrays: Result<Arrays<'_>>,
) -> Result<bool> {
    begin(file, notes, group, forest)?;
    write_time(file, notes, group, time, attributes)?;
    let (hash, _) = summary(file, forest, &arrays)?;
    let has = notes_of(notes, group).connectivity == Some(hash);
    let [ranks] = spread(file, [u64::from(has)])?;
    if ranks.total < file.size() as u64 {
        write(file, notes, group, forest, CONNECTIVITY, arrays)?;
    }
    Ok(notes_of(notes, group).mesh != Some((forest.quadrants, forest.checksum)))
}

/// Checks, before something that belongs to quadrants is written, that their mesh is the last one written.
pub(super) fn belong(
    file: &mut Writer,
    known: &mut GroupNotes,
    group: &str,
    forest: &Forest<'_>,
    name: &str,
) -> Result<()> {
    if known.mesh.is_none() {
        read_notes(file, known, group, FOREST)?;
    }
    let (all, checksum) = (forest.quadrants, forest.checksum);
    let words = match known.mesh {
        Some(mesh) if mesh == (all, checksum) => {
            known.has_fields = true;
            return Ok(());
        }
        Some((last, of_last)) => format!(
            "{group}/{name}: found a forest of {all} {}s with checksum {checksum}, expected that of the last mesh in the file, \
             {last} with {of_last}; call {} when the mesh has changed",
            forest.element(),
            forest.call("write_mesh")
        ),
        None => format!(
            "{group}/{name} belongs to a forest whose mesh is not in the file; call {} first",
            forest.call("write_forest")
        ),
    };
    file.agree_on(Err(Error::usage(words)))
}
