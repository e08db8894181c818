#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gridmark_fuzz::targets::puzzles(bytes));
