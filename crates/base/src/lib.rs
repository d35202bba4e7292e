//! What all crates of libscda share: the error type with its stable codes, fallible allocation, environment
//! variables, turning panics into errors, the floating-point environment, process-wide state, and integer
//! conversions.
#![cfg_attr(test, allow(clippy::cast_possible_truncation))] // test data

pub mod calls;
pub mod environment;
pub mod error;
pub mod floats;
pub mod fork;
pub mod memory;
pub mod numbers;
pub mod panics;
pub mod stop;
