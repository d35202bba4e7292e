//! The tests of `scda doctor` in an MPI job: MPI, MPI-IO and the nodes, too.

use super::Args;
use super::trials::{Report, Scratch, Trial, bytes, describe, describe_stripes, said_by_environment, speed};
use crate::fail::{self, Fail};
use scda::aggregators_of_node;
use scda::{Communicator, Driver, Hints, Mpi, Nodes, Result};
use scda_base::numbers::to_usize;
use scda_ranks::mpi::{finalize, initialize, load_library};
use std::path::{Path, PathBuf};

/// For each launcher: a variable that it sets, its MPI, and the names of that MPI's libraries.
const LAUNCHED: [(&str, &str, &[&str]); 3] = [
    ("OMPI_COMM_WORLD_SIZE", "Open MPI", &["libmpi.so.40", "libmpi.so"]),
    ("PMI_SIZE", "MPICH", OF_MPICH),
    ("MPI_LOCALNRANKS", "MPICH", OF_MPICH),
];
/// The library of Debian; the one with the common ABI of MPICH and its relatives; the one of Cray.
const OF_MPICH: &[&str] = &["libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12", "libmpi.so"];

/// Loads the MPI of this job; false if this is no job. A library next to the launcher is likely to be the right one.
fn load_mpi(chosen: Option<&Path>) -> fail::Result<bool> {
    if let Some(library) = chosen {
        return if load_library(library) {
            Ok(true)
        } else {
            Err(Fail::file(&library.display().to_string(), "cannot be loaded as a library"))
        };
    }
    let launched = LAUNCHED.iter().find(|(variable, ..)| std::env::var_os(variable).is_some());
    let Some((_, mpi, names)) = launched else { return Ok(false) };
    let parent = rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
    let launcher = std::fs::read_link(format!("/proc/{parent}/exe")).unwrap_or_default();
    let within = |lib| launcher.parent().map(|bin| bin.join("..").join(lib));
    let mut folders = [within("lib"), within("lib64"), Some(PathBuf::new())].into_iter().flatten();
    if folders.any(|folder| names.iter().any(|name| load_library(&folder.join(name)))) {
        return Ok(true);
    }
    let names = names.join(", ");
    Err(Fail::Trouble(format!(
        "doctor: this is a job of {mpi}, but none of its libraries ({names}) can be loaded: give it by --mpi"
    )))
}

/// Examines the folder if this is a job. Returns the exit code. Collective over the ranks of the job.
pub fn run(args: &Args) -> fail::Result<Option<u8>> {
    if !load_mpi(args.mpi.as_deref())? {
        return Ok(None);
    }
    initialize()?;
    let code = examine(args);
    finalize();
    Ok(Some(code?))
}

/// Reports what MPI says about itself and about a file in the folder.
fn describe_mpi(report: &mut Report, folder: &Path) -> Result<()> {
    let comm = Mpi::world()?;
    // A failure of this rank alone must not keep it from the collective calls that follow.
    let version = Mpi::library_version().unwrap_or_default();
    let version = version.lines().next().unwrap_or_default();
    report.say("MPI", format!("{} ranks of {version}", comm.size()));
    let path = folder.join("hints");
    if comm.rank() == 0 {
        // If this fails, opening the file fails, on all ranks.
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
    // Open MPI does not tell programs, so this repeats its choice.
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

/// Reports the nodes of the job, and which of their ranks write. Collective.
fn describe_nodes(report: &mut Report, folder: &Path) -> Result<()> {
    let comm = Mpi::world()?;
    // All ranks have the same errors.
    let nodes = comm.nodes()?.map(Nodes::into_parts);
    let (node, leader) = match &nodes {
        Some((node, leaders)) => (node.size(), leaders.is_some()),
        None => (comm.size(), false),
    };
    let mut count = [u64::from(leader), 1];
    comm.allreduce_sum(&mut count)?;
    let most = u64::MAX >> 1;
    let mut sizes = [node as u64, most - node as u64];
    comm.allreduce_min(&mut sizes)?;
    let (count, least, most) = (count[0], sizes[0], most - sizes[1]);
    report.say(
        "nodes",
        match nodes {
            Some(_) => format!("{count}, of {least} to {most} ranks"),
            None => "all ranks on one, or each on its own".to_owned(),
        },
    );
    let stripe = describe_stripes(report, folder);
    describe_writers(report, stripe, count, to_usize(most));
    Ok(())
}

/// Reports how many ranks of each node write for all of them; the largest node has `ranks`.
fn describe_writers(report: &mut Report, stripe: u64, nodes: u64, ranks: usize) {
    let wanted = said_by_environment().writers_per_node;
    let sizes: &[u64] = if nodes < 2 && wanted == 0 { &[] } else { &[4 << 10, 64 << 10, 1 << 20, 10 << 20] };
    let several = sizes.iter().filter_map(|&size| {
        let writers = aggregators_of_node(wanted, ranks, size, stripe)?;
        Some(format!("{writers} for parts of {}", bytes(size)))
    });
    let several: Vec<_> = several.collect();
    let text = match several.is_empty() {
        true => "every rank writes its own".to_owned(),
        false => format!(
            "of the {ranks} ranks of a node: {}; every rank its own from {} on",
            several.join(", "),
            bytes(stripe)
        ),
    };
    report.say("writers", text);
}

/// The number of ranks on which the folder is missing. Collective.
fn missing(args: &Args) -> Result<u64> {
    let mut found = [u64::from(!args.folder.is_dir()), 1];
    Mpi::world()?.allreduce_sum(&mut found)?;
    Ok(found[0])
}

/// Examines the folder. Returns the exit code. Collective.
fn examine(args: &Args) -> Result<u8> {
    let (rank, without) = (Mpi::world()?.rank(), missing(args)?);
    if without > 0 {
        if rank == 0 {
            eprintln!("scda: {}: no folder on {without} of the ranks", args.folder.display());
        }
        return Ok(2);
    }
    let mut report = Report::default();
    describe(&mut report, &args.folder);
    match Scratch::make(&Mpi::world()?, &args.folder)? {
        Some(scratch) => {
            describe_mpi(&mut report, scratch.folder())?;
            for (driver, topic) in [(Driver::Posix, "POSIX"), (Driver::MpiIo, "MPI-IO")] {
                Trial { comm: &Mpi::world, folder: scratch.folder(), driver }.run(&mut report, topic);
            }
            describe_nodes(&mut report, scratch.folder())?;
            speed(&mut report, &Mpi::world, scratch.folder())?;
        }
        None => report.fail("POSIX", "cannot create a folder there"),
    }
    report.summarize();
    Ok(if rank == 0 { report.print(args.json) } else { 0 })
}
