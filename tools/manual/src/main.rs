//! `scda-manual INCLUDE FOLDER`: writes the manual pages of the headers in the folder INCLUDE to FOLDER.

use std::io::{Error, Result};
use std::path::PathBuf;

fn main() -> Result<()> {
    let [include, folder] = std::env::args_os()
        .skip(1)
        .map(PathBuf::from)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| Error::other("usage: scda-manual INCLUDE FOLDER"))?;
    std::fs::create_dir_all(&folder)?;
    for (name, text) in scda_manual::all(|header| std::fs::read_to_string(include.join(header)))? {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}
