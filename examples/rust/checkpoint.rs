//! A checkpoint by a program that uses the crate `mpi` (rsmpi): all ranks write one file and read it with another partition.
//!
//!     cargo build --features rsmpi --example checkpoint
//!     mpiexec -n 3 target/debug/examples/checkpoint state.scda

use mpi::topology::SimpleCommunicator;
use scda::{
    Communicator, Encode, Mpi, ReadOptions, Reader, Sink, Source, WriteOptions, Writer, uniform_partition,
};
use std::path::Path;

/// The value of a cell, wherever it is computed.
fn field(cell: u64) -> f64 {
    (cell as f64).sqrt()
}

/// The values of the cells of a rank, as bytes.
fn values(counts: &[u64], rank: usize) -> Vec<u8> {
    let first: u64 = counts[..rank].iter().sum();
    (first..first + counts[rank]).flat_map(|cell| field(cell).to_le_bytes()).collect()
}

fn write(world: &SimpleCommunicator, path: &Path) -> scda::Result<()> {
    let comm = Mpi::new(world)?;
    // Rank 0 has 1000 cells, rank 1 has 2000, and so on.
    let counts: Vec<u64> = (1000..).step_by(1000).take(comm.size()).collect();
    let own = values(&counts, comm.rank());
    let mut options = WriteOptions::default();
    options.seal = true; // an index and checksums at the end
    options.atomic = true; // an older checkpoint of this name stays until this one is complete
    let mut file = Writer::create(comm, path, b"checkpoint.rs", &options)?;
    file.inline(b"time step", 0, Some(b"42                             \n"))?;
    file.array(b"field: f64", &counts, 8, Source::Contiguous(&own), Encode::None)?;
    file.close() // only now is all of it written
}

fn read(world: &SimpleCommunicator, path: &Path) -> scda::Result<u64> {
    let comm = Mpi::new(world)?;
    let (rank, size) = (comm.rank(), comm.size());
    let mut file = Reader::open(comm, path, &ReadOptions::default())?;
    let mut step = [0; 32];
    file.next_section(true)?.expect("the time step");
    file.read_inline(0, (rank == 0).then_some(&mut step))?;

    let section = file.next_section(true)?.expect("the field");
    let counts = uniform_partition(section.count, size); // another partition than that of the writer
    let expected = values(&counts, rank);
    let mut own = vec![0; expected.len()];
    file.read_array(&counts, section.size, Sink::Contiguous(&mut own))?;
    assert_eq!(own, expected);
    file.close()?;
    Ok(section.count)
}

/// Writes the file and reads it.
pub(crate) fn run(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    // Dropping the universe finalizes MPI: the files are closed by then.
    let universe = mpi::initialize().ok_or("MPI cannot be initialised")?;
    let world = universe.world();
    write(&world, path)?;
    let cells = read(&world, path)?;
    let comm = Mpi::new(&world)?;
    if comm.rank() == 0 {
        println!("{} ranks: {cells} cells written and read", comm.size());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(Path::new(&std::env::args_os().nth(1).ok_or("usage: checkpoint FILE")?))
}
