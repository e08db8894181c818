//! Bytes as a source of decisions.

/// Takes decisions from bytes, in order; after the last byte all are zero.
pub struct Steer<'a>(pub &'a [u8]);

impl Steer<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// A number below `bound`, which may be more than a byte holds.
    pub fn place(&mut self, bound: usize) -> usize {
        (usize::from(self.byte()) * 256 + usize::from(self.byte())) % bound
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
