//! What ranks agree on, exchange and partition: also built with MPI.

#[path = "../common/mod.rs"]
mod common;

mod collective;
mod exchanges;
mod matrix;
