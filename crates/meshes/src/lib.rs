//! Meshes in scda files: forests (docs/forest.md), patches (docs/patches.md) and particles
//! (docs/particles.md). The rules for the datasets of a mesh are implemented once, here, for the writers,
//! readers, checks and pictures of every language.
//!
//! A function that takes a file is collective. An error on one rank is an error on all ranks, and closes the
//! file; a rank with an error takes part with an empty contribution.
#![forbid(unsafe_code)]

pub mod attributes;
pub mod cells;
pub mod checksum;
pub mod forest;
pub mod names;
mod notes;
pub mod particles;
pub mod patches;
mod ranks;
mod read;
pub mod steps;
mod write;

pub use notes::{GroupNotes, MeshNotes};
pub use read::{Numbers, Source};

use scda::{Error, ErrorKind};

/// What is wrong with a mesh: the dataset, and in words the place, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshError {
    /// The name of the dataset in the group.
    pub part: &'static str,
    /// The place, what was found, and what was expected.
    pub words: String,
}

impl MeshError {
    fn new(part: &'static str, words: impl Into<String>) -> Self {
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
