//! Refuses builds that would go wrong silently, and tells the crate which MPI it is built for.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MPICC");
    println!("cargo::rustc-check-cfg=cfg(mpi_family, values(\"openmpi\", \"mpich\"))");
    // A panic must end in an error code, not in the death of a job of ten thousand ranks.
    if env::var("CARGO_CFG_PANIC").as_deref() == Ok("abort") {
        println!("cargo::error=scda needs panic = \"unwind\": its C functions turn panics into error codes");
    }
    if env::var_os("CARGO_FEATURE_MPI").is_some() {
        let macros = mpi_macros().unwrap_or_default();
        if macros.contains("#define OPEN_MPI ") {
            println!("cargo::rustc-cfg=mpi_family=\"openmpi\"");
        } else if macros.contains("#define MPICH_VERSION ") {
            println!("cargo::rustc-cfg=mpi_family=\"mpich\"");
        }
    }
}

/// The macros that mpi.h defines, as the compiler wrapper sees it.
fn mpi_macros() -> Option<String> {
    let mpicc = env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    let mut compiler = Command::new(mpicc)
        .args(["-E", "-dM", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    compiler.stdin.take()?.write_all(b"#include <mpi.h>\n").ok()?;
    String::from_utf8(compiler.wait_with_output().ok()?.stdout).ok()
}
