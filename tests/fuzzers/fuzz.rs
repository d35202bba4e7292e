//! Gives the bytes that libFuzzer makes up to the target that `FUZZ_TARGET` names.
#![no_main]

use scda_fuzz::targets::{ALL, Target};
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let known = ALL.iter().find(|(known, _)| *known == name);
    known.unwrap_or_else(|| panic!("FUZZ_TARGET: there is no target {name:?}")).1
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGET(input));
