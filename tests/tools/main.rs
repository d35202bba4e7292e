//! The command `scda` as users run it.

mod arguments;
mod cells;
mod damage;
mod datasets;
mod doctor;
mod documents;
mod forests;
mod imported;
mod large;
mod meshes;
mod python;
mod run;
mod sealed;
mod streams;
mod verified;
mod written;
