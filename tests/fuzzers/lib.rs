//! The fuzzers' part that they share with the tests: see `tests/fuzzed`.
#![allow(clippy::cast_possible_truncation)] // test data

#[path = "../common/mod.rs"]
mod common;
#[path = "../fuzzed/memory.rs"]
mod memory;
#[path = "../fuzzed/naive.rs"]
mod naive;
#[path = "../fuzzed/targets/mod.rs"]
pub mod targets;

#[global_allocator]
static HEAP: memory::Counted = memory::Counted;
