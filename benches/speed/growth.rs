//! How cost grows with the size of the input: `cargo bench -- growth`, which takes long and much disk,
//! so that it is run only when it is asked for.

use crate::Plan;
use crate::service::{Shortest, large, small};
use crate::work::Work;
use gridmark::board::Kind;
use std::io::Write;

/// Bytes of the block of which a large file is made.
const BLOCK_BYTES: usize = 1 << 20;

pub fn run(plan: &Plan) {
    if !plan.is_measuring() || !plan.asks_for("growth") {
        return;
    }
    for kind in Kind::ALL {
        for mib in [1, 16, 256, 1024, 4096] {
            // Some work is generated and repeated, so that not all of it is in a cache.
            let block_mib = mib.min(64);
            let block = Work::new(kind, 0.05, block_mib * BLOCK_BYTES);
            let shortest = large(&block, mib / block_mib, if mib > 1024 { 2 } else { 3 });
            tell(&format!("{mib} MiB of {kind}"), mib, "MiB", &shortest);
        }
    }
    for files in [1, 100, 1_000, 10_000, 100_000] {
        let shortest = small(files, files.div_ceil(500), if files > 10_000 { 2 } else { 3 });
        tell(&format!("{files} files"), files, "file", &shortest);
    }
}

fn tell(what: &str, units: usize, unit: &str, shortest: &Shortest) {
    let mut out = std::io::stdout().lock();
    let Shortest { service, floor, peak_bytes } = shortest;
    let ms = service.as_secs_f64() * 1e3;
    let (a_unit, of_floor) = (ms / units as f64, shortest.ratio());
    let (floor, peak) = (floor.as_secs_f64() * 1e3, peak_bytes >> 20);
    writeln!(
        out,
        "{what:<20} {ms:>9.1} ms  {a_unit:>7.3} ms a {unit:<4}  floor {floor:>8.1} ms  {of_floor:>5.2} \
         times  {peak:>3} MiB of memory"
    )
    .expect("standard output");
}
