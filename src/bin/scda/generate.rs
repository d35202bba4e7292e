//! `scda generate`: manual pages and completions, when the command is built.

use crate::fail::{Fail, Result};
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// Write manual pages and shell completions into a folder
#[derive(clap::Args)]
pub struct Args {
    /// The folder, which is made if need be
    folder: PathBuf,
}

pub fn run(args: &Args) -> Result<()> {
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&args.folder)?;
        let mut command = crate::Cli::command();
        for shell in Shell::value_variants() {
            if matches!(shell, Shell::Bash | Shell::Zsh | Shell::Fish) {
                clap_complete::generate_to(*shell, &mut command, "scda", &args.folder)?;
            }
        }
        clap_mangen::generate_to(command, &args.folder)
    };
    write().map_err(|e| Fail::file(&args.folder.display().to_string(), e))
}
