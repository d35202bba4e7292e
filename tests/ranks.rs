//! What ranks agree on, exchange and partition: also built with MPI.

mod common;

mod collective;
mod exchanges;
mod matrix;
