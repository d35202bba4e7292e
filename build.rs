//! Refuses builds that would go wrong silently.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MPICC");
    // A panic must end in an error code, not in the death of a job of ten thousand ranks.
    if env::var("CARGO_CFG_PANIC").as_deref() == Ok("abort") {
        println!("cargo::error=scda needs panic = \"unwind\": its C functions turn panics into error codes");
    }
    if env::var_os("CARGO_FEATURE_MPI").is_some() {
        refuse_another_mpi();
    }
}

/// mpi-sys does not notice that MPICC has changed and would keep the bindings of the first MPI.
fn refuse_another_mpi() {
    let mpicc = env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    let record = Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("mpicc");
    match fs::read_to_string(&record) {
        Ok(first) if first != mpicc => println!(
            "cargo::error=MPICC is {mpicc}, but this target folder was built with {first}: \
             choose another one with --target-dir, or run `cargo clean` first"
        ),
        _ => {
            if let Err(error) = fs::write(&record, &mpicc) {
                println!("cargo::error={}: {error}", record.display());
            }
        }
    }
}
