//! `scda plot` draws pictures of datasets and meshes, `scda view` shows them in a browser.
#![allow(missing_docs, clippy::missing_errors_doc, reason = "parts of one program, with no other users")]

pub mod plot;
pub mod statistics;
pub mod view;

use scda_tools::{data_batches, datasets, fail, files, output, ranges, rows, signals};
