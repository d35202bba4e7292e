//! Meshes in scda files: forests (docs/forest.md), patches (docs/patches.md) and particles
//! (docs/particles.md), written and read by any number of ranks. The rules for their datasets are those of
//! `scda_format::meshes`; here they meet a [`Source`]: ranks that read a file together, or a check of a file.
//!
//! A function that takes a file is collective. An error on one rank is an error on all ranks, and closes the
//! file; a rank with an error takes part with an empty contribution.
#![forbid(unsafe_code)]

pub mod cells;
pub mod forest;
mod notes;
pub mod particles;
pub mod patches;
mod ranks;
mod read;
pub mod steps;
mod write;

pub use notes::{GroupNotes, MeshNotes};
pub use read::{Numbers, Source};
