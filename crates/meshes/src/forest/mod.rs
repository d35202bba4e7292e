//! Forests of squares and cubes (docs/forest.md), and of any shapes (docs/t8code.md), where elements take the
//! place of quadrants.

pub mod check;
pub mod connectivity;
pub mod fields;
pub mod read;
pub mod shapes;
pub mod write;

use crate::write::rows;
use scda::{Error, ErrorKind, IndexBox};
use scda_format::meshes::MeshError;
use scda_format::meshes::checksum::Checksum;
use scda_format::meshes::parts::{ELEMENT, QUADRANT};

/// The group of a forest if no name is given.
pub const GROUP: &str = "forest";

/// The mesh of a forest, and a rank's part of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forest<'a> {
    /// The number of axes: 2 or 3, or 1 in a forest of any shapes.
    pub dimension: usize,
    /// Whether the forest has any shapes (docs/t8code.md).
    pub shapes: bool,
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
    /// The checksum of the mesh, of all ranks.
    pub checksum: Checksum,
    /// The prefix of the functions that the program calls, for messages, such as `scda_p4est`. Empty if it
    /// calls `scda_forest_write`.
    pub functions: &'a str,
}

impl Forest<'_> {
    /// The name of a writing function in messages.
    fn call(&self, what: &str) -> String {
        if self.functions.is_empty() {
            "scda_forest_write".to_owned()
        } else {
            format!("{}_{what}", self.functions)
        }
    }

    /// The word for a quadrant in messages and dimension names.
    fn element(&self) -> &'static str {
        if self.shapes { ELEMENT } else { QUADRANT }
    }

    /// With any shapes: the number of tree offsets on this rank; after the last tree, this includes the end.
    fn own_offsets(&self) -> u64 {
        let has_last = self.own_trees > 0 && self.first_tree + self.own_trees == self.trees;
        self.own_trees + u64::from(has_last)
    }

    /// The version of the convention.
    fn version(&self) -> u64 {
        if self.shapes { 2 } else { 1 }
    }

    /// The rows of this rank in a dataset with a row for each quadrant.
    fn rows(&self, shape: &[u64]) -> Vec<IndexBox> {
        rows(shape, self.first, self.n)
    }
}

/// Makes an error of the file's contents.
fn format(group: &str) -> impl Fn(MeshError) -> Error + '_ {
    move |wrong| wrong.error(ErrorKind::Format, group)
}
