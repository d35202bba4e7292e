//! The interface of libsc 2.8.7, `sc_scda_*`, for the same files, for programs that already link libsc
//! (docs/libsc.md).
//!
//! libsc's header declares the functions; this crate defines their types as laid out in the ABI, and applies
//! libsc's rules for arguments. libsc's arrays wrap the pointers and sizes that this library takes, and its
//! error codes are pairs. The C interface does the rest.
//!
//! Two things that only libsc has, `sc_array_resize` and its log, are looked up in the running program.
#![allow(unsafe_code, non_camel_case_types)]
#![allow(clippy::missing_safety_doc)] // documented in libsc's header, in terms of C

mod arrays;
mod errors;
mod files;
mod libsc;
mod open_files;
mod proc_sizes;
mod read;
mod write;
