//! The command `scda` as users run it.

mod arguments;
mod cells;
mod damage;
mod datasets;
mod description;
mod diff;
mod doctor;
mod documents;
mod forests;
mod hdf5;
mod large;
mod meshes;
#[cfg(target_os = "linux")]
mod opened;
mod particles;
mod patches;
mod python;
mod records;
mod run;
#[path = "../../../../tests/common/sampled.rs"]
mod sampled;
mod sealed;
#[path = "../../../../tests/common/skipped.rs"]
mod skipped;
mod streams;
mod verified;
mod written;
