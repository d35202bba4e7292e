//! The archive from which CMake links the C libraries. It is a crate of its own because a crate that others
//! link as well is not optimized across crates.

pub use scda_c::*;
pub use scda_libsc as libsc;
