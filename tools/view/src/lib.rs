//! `scda plot` draws pictures of meshes, `scda view` shows files in a browser.
#![allow(missing_docs, clippy::missing_errors_doc, reason = "parts of one program, with no other users")]

pub mod plot;
pub mod view;

use scda_tools::{data_batches, datasets, fail, files, output, rows, signals};
