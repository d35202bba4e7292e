//! The fuzzers' part that they share with the tests: see `tests/fuzzed`.
#![allow(clippy::cast_possible_truncation)] // test data

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/fuzzed/memory.rs"]
mod memory;
#[path = "../tests/fuzzed/naive.rs"]
mod naive;
#[path = "../tests/fuzzed/targets/mod.rs"]
pub mod targets;

#[global_allocator]
static HEAP: memory::Counted = memory::Counted;
