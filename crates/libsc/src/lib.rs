//! The interface of libsc 2.8.7, `sc_scda_*`, over the same files, for programs that are already linked with
//! libsc (docs/libsc.md).
//!
//! libsc's header declares the functions; this crate has their types as the ABI lays them out, and libsc's
//! rules for arguments. libsc's arrays wrap the pointers and sizes that this library takes, and its error
//! codes are pairs. The rest is done by the modules beside this one.
//!
//! Two things that only libsc offers, `sc_array_resize` and its log, are looked up in the running program.
#![allow(unsafe_code, non_camel_case_types)]
#![allow(clippy::missing_safety_doc)] // libsc's header says it, in the terms of C

mod arrays;
mod errors;
mod files;
mod libsc;
mod open_files;
mod proc_sizes;
mod read;
mod write;
