//! Random numbers that are the same on every machine, for ever.

use core::ops::Range;

/// The generator xoshiro256** by Blackman and Vigna, its state filled by splitmix64.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: [u64; 4],
}

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        let mut seed = seed;
        Random { state: core::array::from_fn(|_| splitmix64(&mut seed)) }
    }

    /// The next 64 random bits.
    pub(super) fn next(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s1.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }

    /// Dice that share the next 64 random bits.
    pub(super) fn dice(&mut self) -> Dice {
        Dice(self.next())
    }

    /// A number from 0 to `limit - 1`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.dice().below(limit)
    }

    /// A number in `range`, which must not be empty.
    pub(super) fn within(&mut self, range: Range<usize>) -> usize {
        range.start + self.below(range.end - range.start)
    }

    /// True once in `times`, on average.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// An item of `items`, which must not be empty.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Puts `items` into a random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Small numbers from one draw of 64 bits: uniform as long as the product of their limits is far
/// below 2^64.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// A number from 0 to `limit - 1`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let wide = u128::from(self.0) * limit as u128;
        self.0 = wide as u64;
        (wide >> 64) as usize
    }

    /// The numbers from 0 to `N - 1` in a random order.
    pub(super) fn permutation<const N: usize>(&mut self) -> [usize; N] {
        let mut order = core::array::from_fn(|i| i);
        for i in (1..N).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generators() {
        let mut state = 1_234_567;
        let numbers = [(); 3].map(|()| splitmix64(&mut state));
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );

        let mut random = Random { state: [1, 2, 3, 4] };
        let numbers = [(); 5].map(|()| random.next());
        assert_eq!(
            numbers,
            [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240, 1_216_172_134_540_287_360]
        );
    }

    #[test]
    fn dice_stay_below_their_limit_and_reach_all_below_it() {
        let mut random = Random::new(1);
        let mut seen = [0_u32; 9];
        for _ in 0..9_000 {
            seen[random.below(9)] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1_150).contains(&n)), "{seen:?}");

        let mut order = random.dice().permutation::<9>();
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
