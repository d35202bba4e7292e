//! The archive that CMake links the libraries for C from. A crate of its own, so that the core is compiled once for it and for the command.

pub use scda::*;
