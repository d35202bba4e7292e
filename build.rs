//! Refuses builds that would go wrong silently.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A panic must end in an error code, not in the death of a job of ten thousand ranks.
    if env::var("CARGO_CFG_PANIC").as_deref() == Ok("abort") {
        println!("cargo::error=scda needs panic = \"unwind\": its C functions turn panics into error codes");
    }
}
