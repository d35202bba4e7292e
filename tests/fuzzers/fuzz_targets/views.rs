#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| scda_fuzz::targets::views(input));
