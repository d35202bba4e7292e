//! The archive that CMake links the libraries for C from. A crate of its own, for one that is also linked by others is not optimized across
//! crates.

pub use scda_c::*;
pub use scda_libsc as libsc;
