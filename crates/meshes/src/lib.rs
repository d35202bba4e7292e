//! Meshes in scda files: forests (docs/forest.md), patches (docs/patches.md) and particles
//! (docs/particles.md). The rules for the datasets of a mesh are written once, here; writers, readers, checks
//! and pictures in every language use them.
//!
//! A function that takes a file is collective. An error on one rank is an error on all ranks, and closes the
//! file; a rank with an error takes part with an empty contribution.
#![forbid(unsafe_code)]

pub mod attributes;
pub mod cells;
pub mod checksum;
pub mod forest;
mod known;
pub mod names;
pub mod particles;
pub mod patches;
mod read;
pub mod steps;
mod write;

pub use known::{GroupNotes, MeshNotes};
pub use write::{Items, ItemsMut};

use scda::{Error, ErrorKind};

/// What is wrong with a mesh: the dataset of its group, and the place in it, what was found and what was expected, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshError {
    /// The name of the dataset in the group.
    pub part: &'static str,
    /// In words, what was found there.
    pub words: String,
}

impl MeshError {
    fn new(part: &'static str, words: impl Into<String>) -> Self {
        Self { part, words: words.into() }
    }

    /// Of a quadrant of a tree, or what messages call it.
    #[must_use]
    pub fn of(mut self, what: &str, number: u64, tree: u64) -> Self {
        self.words = format!("{what} {number}, in tree {tree}: {}", self.words);
        self
    }

    /// As an error of this kind: `Argument` of a mesh that a program has, `Format` of one in a file.
    #[must_use]
    pub fn error(self, kind: ErrorKind, group: &str) -> Error {
        Error::new(kind, format!("{group}/{}: {}", self.part, self.words))
    }
}
