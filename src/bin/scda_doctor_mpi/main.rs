//! What `scda doctor` becomes when it is started as an MPI job: see docs/tools.md.

#[path = "../scda/examine.rs"]
mod examine;
#[path = "../../numbers.rs"]
mod numbers;

use clap::Parser;
use examine::{Args, Report, Scratch, Trial, describe};
use scda::{Communicator, Driver, Hints, Mpi, Result};
use std::ffi::c_int;
use std::path::Path;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "scda doctor", version)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

/// A duplicate of all ranks' communicator.
#[allow(unsafe_code)]
fn world() -> Result<Mpi> {
    // SAFETY: reads a constant of the C shim.
    let world = unsafe { mpi_sys::RSMPI_COMM_WORLD };
    // SAFETY: MPI runs, as this library checks, and the handle is MPI's own.
    unsafe { Mpi::duplicate(world) }
}

/// What MPI says of itself and of a file in the folder.
fn describe_mpi(report: &mut Report, folder: &Path) -> Result<()> {
    let comm = world()?;
    // Trouble of this rank alone must not keep it from where the others wait.
    let version = comm.library_version().unwrap_or_default();
    let version = version.lines().next().unwrap_or_default();
    report.say("MPI", format!("{} ranks of {version}", comm.size()));
    let path = folder.join("hints");
    if comm.rank() == 0 {
        // What cannot be written is an error of opening it, on all ranks.
        let _ = std::fs::write(&path, "scda");
    }
    comm.broadcast(&mut [0], 0)?;
    let hints = match Hints::in_effect(&comm, &path) {
        Ok(hints) => hints,
        Err(error) => {
            report.fail("MPI-IO", &error.to_string());
            Vec::new()
        }
    };
    // Open MPI does not tell a program; so it chooses.
    let chosen = std::env::var("OMPI_MCA_io").unwrap_or_default();
    let on_lustre = scda::FileSystem::of(folder).is_ok_and(|kind| kind.name == Some("lustre"));
    let is_ompio =
        version.contains("Open MPI") && !chosen.starts_with("romio") && (chosen == "ompio" || !on_lustre);
    report.say("MPI-IO", if is_ompio { "OMPIO, Open MPI's own" } else { "ROMIO, MPICH's" });
    for (name, value) in &hints {
        report.say("MPI-IO", format!("hint {name} = {value}"));
    }
    if is_ompio {
        report.say(
            "advice",
            "OMPIO's collective writes report success on a full disk: other programs may not notice one",
        );
        report.say(
            "advice",
            "lines above that begin with mca_fbtl_posix are OMPIO's messages about the refused write",
        );
    }
    Ok(())
}

/// On how many ranks the folder is missing. Collective.
fn missing(args: &Args) -> Result<u64> {
    let mut found = [u64::from(!args.folder.is_dir()), 1];
    world()?.allreduce_sum(&mut found)?;
    Ok(found[0])
}

fn examine(args: &Args) -> Result<ExitCode> {
    let (rank, without) = (world()?.rank(), missing(args)?);
    if without > 0 {
        if rank == 0 {
            eprintln!("scda: {}: found no folder on {without} of the ranks", args.folder.display());
        }
        return Ok(ExitCode::from(2));
    }
    let mut report = Report::default();
    describe(&mut report, &args.folder);
    match Scratch::make(&world()?, &args.folder)? {
        Some(scratch) => {
            describe_mpi(&mut report, scratch.folder())?;
            for (driver, topic) in [(Driver::Posix, "POSIX"), (Driver::MpiIo, "MPI-IO")] {
                Trial { comm: &world, folder: scratch.folder(), driver }.run(&mut report, topic);
            }
        }
        None => report.fail("POSIX", "cannot create a folder there"),
    }
    if rank == 0 {
        return Ok(ExitCode::from(report.print(args.json)));
    }
    Ok(ExitCode::SUCCESS)
}

#[allow(unsafe_code)]
fn main() -> ExitCode {
    let args = Cli::parse().args;
    let (mut argc, mut argv): (c_int, _) = (0, std::ptr::null_mut());
    // SAFETY: no arguments are given.
    unsafe { mpi_sys::MPI_Init(&raw mut argc, &raw mut argv) };
    let code = examine(&args).unwrap_or_else(|error| {
        eprintln!("scda: doctor: {error}");
        ExitCode::from(2)
    });
    // SAFETY: MPI runs, and nothing of it is in use.
    unsafe { mpi_sys::MPI_Finalize() };
    code
}
