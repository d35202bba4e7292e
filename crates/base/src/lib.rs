//! What all crates of libscda share: the error type with its stable codes, allocation that can fail, the environment variables, panics that become errors, the
//! floating-point environment, what is global, and conversions of integers.
#![cfg_attr(test, allow(clippy::cast_possible_truncation))] // test data

pub mod environment;
pub mod error;
pub mod floats;
pub mod fork;
pub mod memory;
pub mod numbers;
pub mod panics;
