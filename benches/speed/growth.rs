//! How cost grows with the size of the input: `cargo bench -- growth`, which takes minutes and 5 GB
//! of disk, so it runs only when asked for.

use crate::Plan;
use crate::service::{From, Shortest, large, small};
use crate::work::Work;
use gridmark_core::Kind;
use std::io::Write;

/// Bytes of the blocks that large files consist of.
const BLOCK_BYTES: usize = 1 << 20;

pub fn run(plan: &Plan) {
    if !plan.is_measuring() || !plan.asks_for("growth") {
        return;
    }
    for kind in Kind::ALL {
        for mib in [1, 16, 256, 1024, 4096] {
            // A block of up to 64 MiB is generated and repeated; that is more than caches hold.
            let block_mib = mib.min(64);
            let block = Work::new(kind, 0.05, block_mib * BLOCK_BYTES);
            for (from, word) in [(From::Disk, "disk"), (From::Cache, "cache")] {
                let rounds = if mib > 1024 { 2 } else { 3 };
                let shortest = large(&block, mib / block_mib, rounds, from);
                print(&format!("{mib} MiB of {kind}, {word}"), mib, "MiB", &shortest);
            }
        }
    }
    for files in [1, 100, 1_000, 10_000, 100_000] {
        let shortest = small(files, files.div_ceil(500), if files > 10_000 { 2 } else { 3 });
        print(&format!("{files} files"), files, "file", &shortest);
    }
}

fn print(what: &str, units: usize, unit: &str, shortest: &Shortest) {
    let a_unit = shortest.service.as_secs_f64() * 1e3 / units as f64;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{what:<28} {a_unit:>7.3} ms a {unit:<4}  {shortest}").expect("standard output");
}
