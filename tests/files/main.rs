//! Files, written and read by ranks that are threads: one program, which is compiled and linked once. What counts allocations, or is
//! started in ways of its own, is a program by itself.

#[path = "../common/mod.rs"]
mod common;

mod appends;
mod bad_data;
mod byte_order;
mod cached_chunks;
mod codecs;
mod dataset_reading;
mod datasets;
mod elsewhere;
mod going_back;
mod hdf5;
mod holes;
mod hostile;
mod in_use;
mod interrupted;
mod levels;
mod limits;
mod look_ups;
mod many_seals;
mod model;
mod nodes;
mod piecewise;
mod ranges;
mod rewinding;
mod seal;
mod sealed_reading;
mod sealing;
mod streams;
mod texts;
mod to_seal;

use scda::DataType;

/// Types of items of one size.
const TYPES: [DataType; 15] = [
    DataType::Bool,
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::Uint8,
    DataType::Uint16,
    DataType::Uint32,
    DataType::Uint64,
    DataType::Float16,
    DataType::Float32,
    DataType::Float64,
    DataType::Complex64,
    DataType::Complex128,
    DataType::Raw(3),
];
