//! The interface of libsc 2.8.7, `sc_scda_*`, over the same files: for programs that are linked with libsc
//! already (docs/libsc.md).
//!
//! libsc's header declares it; here are its types as the ABI has them, and its rules for arguments. Its
//! arrays hide the pointers and sizes that this library takes, and its error codes are pairs. All else is
//! done by the modules beside this one.
//!
//! What libsc itself offers to the program and its library lacks, `sc_array_resize` and the log, is looked
//! up in the running program.
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
