//! Random numbers from a seed.

/// A 64-bit linear congruential generator, of which the upper half is used.
pub struct Random(u64);

impl Random {
    /// With a new seed, which is printed. `GRIDMARK_TEST_SEED` sets it, to repeat an earlier run as far
    /// as timing allows.
    pub fn new() -> Random {
        let clock = || std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        let set = std::env::var("GRIDMARK_TEST_SEED").ok();
        let seed = set.map_or_else(clock, |seed| seed.parse().unwrap());
        println!("GRIDMARK_TEST_SEED={seed}");
        Random(seed)
    }

    /// One of the numbers from 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        let multiplied = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = multiplied.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// Whether long forms of tests are asked for: `GRIDMARK_TEST_LONG=1`.
pub fn is_long() -> bool {
    std::env::var_os("GRIDMARK_TEST_LONG").is_some_and(|set| !set.is_empty() && set != "0")
}
