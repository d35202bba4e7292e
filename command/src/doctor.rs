//! `scda doctor`: whether a folder can be trusted with files.

use crate::examine::{Args, Report, Scratch, Trial, describe, describe_stripes};
use crate::fail::{Fail, Result};
use scda::{Driver, Solo};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The variables that launchers set, and the MPI that they launch.
const LAUNCHED: [(&str, &str); 3] =
    [("OMPI_COMM_WORLD_SIZE", "openmpi"), ("PMI_SIZE", "mpich"), ("MPI_LOCALNRANKS", "mpich")];

/// The program that examines with MPI, where it is installed: beside this one, or in a folder for such programs.
fn with_mpi(family: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    let name = format!("scda-doctor-{family}");
    [folder.join(&name), folder.join("../libexec/scda").join(&name)].into_iter().find(|path| path.is_file())
}

/// `arguments` are those of the whole command.
pub fn run(args: &Args, arguments: &[OsString]) -> Result<()> {
    let launched = LAUNCHED.iter().find(|(variable, _)| std::env::var_os(variable).is_some());
    if let Some((_, family)) = launched {
        let Some(program) = with_mpi(family) else {
            return Err(Fail::Trouble(format!(
                "doctor: this is a job of {family}, but no libscda for {family} is installed with this command"
            )));
        };
        let error = Command::new(&program).args(arguments.iter().skip(2)).exec();
        return Err(Fail::file(&program.display().to_string(), error));
    }
    std::fs::read_dir(&args.folder).map_err(|e| Fail::file(&args.folder.display().to_string(), e))?;
    let mut report = Report::default();
    describe(&mut report, &args.folder);
    match Scratch::make(&Solo, &args.folder)? {
        Some(scratch) => {
            let trial = Trial { comm: &|| Ok(Solo), folder: scratch.folder(), driver: Driver::Posix };
            trial.run(&mut report, "POSIX");
            describe_stripes(&mut report, scratch.folder());
        }
        None => report.fail("POSIX", "cannot create a folder there"),
    }
    let known = ["openmpi", "mpich"].into_iter().find(|family| with_mpi(family).is_some());
    report.say(
        "MPI-IO",
        match known {
            Some(_) => "not examined; run mpirun -n 2 scda doctor DIR",
            None => "not available: this command was built without MPI",
        },
    );
    match report.print(args.json) {
        0 => Ok(()),
        code => Err(Fail::Said(code)),
    }
}
