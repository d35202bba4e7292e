//! `scda doctor`: tests whether a folder can be trusted with files.

mod job;
mod trials;

use crate::fail::{Fail, Result};
use scda::{Driver, Solo};
use std::path::PathBuf;
use trials::{Report, Scratch, Trial, describe, describe_stripes, speed};

/// Examine whether files can be trusted to a folder
///
/// In a new folder there, which it removes, it writes small files by every driver, atomically, reads them with another
/// partition and compares; makes the system refuse a write, and checks that this is reported. Says which file system, MPI library and settings
/// are in effect, and what is known to go wrong with them.
///
/// Alone it examines one process and POSIX. To examine MPI-IO and several nodes, start it as a job is started: mpirun -n 4 scda doctor
/// DIR. It then loads the library of the MPI that has started it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda doctor /scratch/me
  mpirun -n 4 scda doctor /scratch/me

Exit codes: 0 all is well; 1 a trial failed; 2 something else went wrong, such as a folder that is not there.")]
pub struct Args {
    /// The folder
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// JSON, one object
    #[arg(long)]
    pub json: bool,
    /// The library of the MPI, if it is not found
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
