//! `scda doctor`: tests whether a folder can be trusted with files.

mod job;
mod trials;

use crate::fail::{Fail, Result};
use scda::{Driver, Solo};
use std::path::PathBuf;
use trials::{Report, Scratch, Trial, describe, describe_stripes, speed};

/// Test whether a folder stores files reliably
///
/// Creates a folder in DIR, writes small files there with every driver, also atomically, reads them with
/// another partition, compares the data, and removes the folder. Makes the system refuse a write, and checks
/// that the error is reported. Prints which file system, MPI library and settings are in effect, and their
/// known problems.
///
/// Started alone, it tests one process and the POSIX driver. To test MPI-IO and several nodes, start it as
/// you start a job, for example mpirun -n 4 scda doctor DIR; it then loads the MPI library that started it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda doctor /scratch/me
  mpirun -n 4 scda doctor /scratch/me

Exit codes: 0 all trials passed; 1 a trial failed; 2 another error, for example if the folder does not exist.")]
pub struct Args {
    /// The folder to test
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Print JSON, one object
    #[arg(long)]
    pub json: bool,
    /// The MPI library to load if doctor does not find it by itself
    #[arg(long, value_name = "FILE")]
    pub mpi: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<()> {
    match job::run(args)?.map_or_else(|| alone(args), Ok)? {
        0 => Ok(()),
        code => Err(Fail::Said(code)),
    }
}

/// Examines the folder with one process, without MPI. Returns the exit code.
fn alone(args: &Args) -> Result<u8> {
    std::fs::read_dir(&args.folder).map_err(|e| Fail::file(&args.folder.display().to_string(), e))?;
    let mut report = Report::default();
    describe(&mut report, &args.folder);
    match Scratch::make(&Solo, &args.folder)? {
        Some(scratch) => {
            let trial = Trial { comm: &|| Ok(Solo), folder: scratch.folder(), driver: Driver::Posix };
            trial.run(&mut report, "POSIX");
            describe_stripes(&mut report, scratch.folder());
            speed(&mut report, &|| Ok(Solo), scratch.folder())?;
        }
        None => report.fail("POSIX", "cannot create a folder there"),
    }
    report.say("MPI-IO", "not examined; run mpirun -n 2 scda doctor DIR");
    report.summarize();
    Ok(report.print(args.json))
}
