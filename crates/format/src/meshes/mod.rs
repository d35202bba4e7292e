//! The conventions for meshes: which attribute marks a group as one, which datasets it has ([`parts`]), and what
//! their numbers must be. Writers, readers, checks, views and every language use these rules; they neither read nor
//! write. Forests: docs/forest.md, docs/t8code.md; points and cells: docs/cells.md; patches: docs/patches.md;
//! particles: docs/particles.md.

pub mod attributes;
pub mod cells;
pub mod checksum;
pub mod forest;
pub mod geometry;
pub mod particles;
pub mod parts;
pub mod patches;
pub mod shapes;
mod steps;

pub use parts::Part;
pub use steps::Steps;

use crate::USER_STRING_BYTES;
use crate::dataset::without_root;
use scda_base::error::{Error, ErrorKind, Result};

/// The attribute of a group with the number of dimensions of its mesh.
pub const DIMENSION: &str = "dimension";
/// The attribute of a group of particles that names the mesh of their cells.
pub const OF_MESH: &str = "mesh";

/// What a group can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// A forest of quadtrees or octrees, or, in version 2, of trees of any shapes.
    Forest,
    /// A mesh of points and cells.
    Cells,
    /// A mesh of patches.
    Patches,
    /// Particles.
    Particles,
}

impl Convention {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Forest, Self::Cells, Self::Patches, Self::Particles];

    /// The attribute that marks a group; its value is the version.
    #[must_use]
    pub const fn attribute(self) -> &'static str {
        match self {
            Self::Forest => "scda_forest",
            Self::Cells => "scda_cells",
            Self::Patches => "scda_patches",
            Self::Particles => "scda_particles",
        }
    }

    /// The newest version.
    #[must_use]
    pub const fn newest(self) -> u64 {
        if matches!(self, Self::Forest) { 2 } else { 1 }
    }

    /// What the group is, in messages.
    #[must_use]
    pub const fn what(self) -> &'static str {
        match self {
            Self::Forest => "forest",
            Self::Cells => "mesh of points and cells",
            Self::Patches => "mesh of patches",
            Self::Particles => "group of particles",
        }
    }

    /// The datasets that the group may have, besides the time and fields; the first one begins a mesh.
    #[must_use]
    pub const fn parts(self) -> &'static [Part] {
        match self {
            Self::Forest => &parts::OF_FORESTS,
            Self::Cells => &parts::CELLS,
            Self::Patches => &parts::PATCHES,
            Self::Particles => &parts::PARTICLES,
        }
    }

    /// The part of this name in a version.
    #[must_use]
    pub fn part(self, version: u64, name: &str) -> Option<Part> {
        let found = self.parts().iter().chain([&parts::TIME]).find(|part| part.name == name)?;
        let is_wide = version > 1 && name == parts::TREE_TO_TREE.name;
        Some(if is_wide { parts::TREE_TO_TREE_64 } else { *found })
    }

    /// Where the names of fields begin in the group.
    #[must_use]
    pub const fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Cells => &["cell_fields/", "point_fields/"],
            _ => &["fields/"],
        }
    }

    /// Whether the dataset of this name belongs to the mesh.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        name == parts::TIME.name
            || self.parts().iter().any(|part| part.name == name)
            || self.folders().iter().any(|folder| name.starts_with(folder))
    }
}

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

/// What is wrong with a mesh: the dataset, and in words the place, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshError {
    /// The name of the dataset in the group.
    pub part: &'static str,
    /// The place, what was found, and what was expected.
    pub words: String,
}

impl MeshError {
    /// In a part, with these words.
    pub fn new(part: &'static str, words: impl Into<String>) -> Self {
        Self { part, words: words.into() }
    }

    /// Adds the number of a quadrant, or of `what`, and its tree.
    #[must_use]
    pub fn of(mut self, what: &str, number: u64, tree: u64) -> Self {
        self.words = format!("{what} {number}, in tree {tree}: {}", self.words);
        self
    }

    /// Makes an error of this kind: `Argument` for a mesh of a program, `Format` for one in a file.
    #[must_use]
    pub fn error(self, kind: ErrorKind, group: &str) -> Error {
        Error::new(kind, format!("{group}/{}: {}", self.part, self.words))
    }
}
