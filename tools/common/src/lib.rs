//! What the command `scda`, and its importers share: files that they read and write, datasets, messages, exit codes.
#![allow(missing_docs, clippy::missing_errors_doc, reason = "parts of one program, with no other users")]

pub mod data_batches;
pub mod datasets;
pub mod fail;
pub mod files;
pub mod output;
pub mod progress;
pub mod ranges;
pub mod rows;
pub mod signals;
mod terminal_text;
