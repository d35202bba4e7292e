//! The names of a mesh's datasets and attributes, as docs/forest.md, docs/t8code.md, docs/cells.md,
//! docs/patches.md and docs/particles.md define them.

use scda::{Error, Result, USER_STRING_BYTES};
use scda_format::dataset::without_root;

/// The attribute that marks a group as a forest.
pub const FOREST: &str = "scda_forest";
/// The attribute that marks a group as a mesh of points and cells.
pub const CELLS: &str = "scda_cells";
/// The attribute that marks a group as a mesh of patches.
pub const PATCHES: &str = "scda_patches";
/// The attribute that marks a group as particles.
pub const PARTICLES: &str = "scda_particles";
/// The attribute of a group of particles that names the mesh of their cells.
pub const OF_MESH: &str = "mesh";
/// The dataset that begins a time step.
pub const TIME: &str = "time";
/// The datasets of a forest's mesh, which begins with the first one.
pub const FOREST_PARTS: [&str; 3] = ["coordinates", "level", "tree_offsets"];
/// The datasets of the mesh of a forest of any shapes.
pub const SHAPED_PARTS: [&str; 5] = ["coordinates", "level", "type", "position", "tree_offsets"];
/// The additional datasets for the trees of such a forest.
pub const SHAPED_TREE_PARTS: [&str; 2] = ["tree_shape", "tree_vertices"];
/// The partition of the mesh before it; optional.
pub const PARTITION: &str = "partition";
/// The datasets of a mesh of points and cells.
pub const CELL_PARTS: [&str; 4] = ["points", "cell_points", "cell_offsets", "cell_types"];
/// The datasets of a mesh of patches.
pub const PATCH_PARTS: [&str; 5] = ["boxes", "level", "ratio", "domain", "geometry"];
/// The dataset that assigns particles to cells.
pub const OFFSETS: &str = "offsets";
/// The datasets of a forest's connectivity, which begins with the first one.
pub const CONNECTIVITY_PARTS: [&str; 13] = [
    "tree_to_tree",
    "tree_to_face",
    "vertices",
    "tree_to_vertex",
    "tree_to_edge",
    "edge_offsets",
    "edge_to_tree",
    "edge_to_edge",
    "tree_to_corner",
    "corner_offsets",
    "corner_to_tree",
    "corner_to_corner",
    "tree_attributes",
];
/// The bytes that a program stores for each quadrant of a forest.
pub const DATA: &str = "data";
/// The attribute of a group with the number of dimensions of its mesh.
pub const DIMENSION: &str = "dimension";

/// The name of a dataset of a group.
///
/// # Errors
/// `Argument` if it is longer than a name can be.
pub fn part_name(group: &str, part: &str) -> Result<String> {
    let name = format!("{}/{part}", without_root(group));
    if name.len() > USER_STRING_BYTES {
        let words = format!("name {name}: found {} bytes, expected at most {USER_STRING_BYTES}", name.len());
        return Err(Error::argument(words));
    }
    Ok(name)
}
