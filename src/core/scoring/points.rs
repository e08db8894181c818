//! Points, in whole thousandths, so that no result depends on how a fraction is rounded in memory.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Neg, Sub};

/// Points in thousandths of a point. They may be negative.
///
/// ```
/// use gridmark_core::scoring::Points;
/// let points = Points::whole(62) - Points::milli(500);
/// assert_eq!(points.to_string(), "61.5");
/// assert_eq!(points.percent(90).rounded_down(Points::whole(1)), Points::whole(55));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Points(i64);

impl Points {
    /// No points.
    pub const ZERO: Points = Points(0);

    /// This many points.
    pub const fn whole(points: i64) -> Points {
        Points(points.saturating_mul(1000))
    }

    /// This many thousandths of a point.
    pub const fn milli(thousandths: i64) -> Points {
        Points(thousandths)
    }

    /// How many thousandths.
    pub const fn as_milli(self) -> i64 {
        self.0
    }

    /// So many times these points.
    pub fn times(self, count: u64) -> Points {
        self.share(count, 1)
    }

    /// The share `part / whole` of these points, rounded down to a thousandth; nothing of nothing.
    pub fn share(self, part: u64, whole: u64) -> Points {
        if whole == 0 {
            return Points::ZERO;
        }
        let exact = (i128::from(self.0) * i128::from(part)).div_euclid(i128::from(whole));
        Points(exact.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// So many percent of these points, rounded down to a thousandth.
    pub fn percent(self, percent: u32) -> Points {
        self.share(percent.into(), 100)
    }

    /// Rounded down to a multiple of `step`; unchanged if `step` is not above zero.
    pub fn rounded_down(self, step: Points) -> Points {
        if step.0 > 0 { Points(self.0 - self.0.rem_euclid(step.0)) } else { self }
    }
}

impl Add for Points {
    type Output = Points;

    fn add(self, other: Points) -> Points {
        Points(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Points {
    fn add_assign(&mut self, other: Points) {
        *self = *self + other;
    }
}

impl Sub for Points {
    type Output = Points;

    fn sub(self, other: Points) -> Points {
        Points(self.0.saturating_sub(other.0))
    }
}

impl Neg for Points {
    type Output = Points;

    fn neg(self) -> Points {
        Points(self.0.saturating_neg())
    }
}

impl Sum for Points {
    fn sum<I: Iterator<Item = Points>>(points: I) -> Points {
        points.fold(Points::ZERO, Add::add)
    }
}

/// Without zeros at the end: `35`, `62.5`, `-0.125`.
impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let milli = self.0.unsigned_abs();
        write!(f, "{sign}{}", milli / 1000)?;
        match milli % 1000 {
            0 => Ok(()),
            part if part % 100 == 0 => write!(f, ".{}", part / 100),
            part if part % 10 == 0 => write!(f, ".{:02}", part / 10),
            part => write!(f, ".{part:03}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn points_are_written_without_zeros_at_the_end() {
        for (milli, text) in [(0, "0"), (-125, "-0.125"), (1_250, "1.25"), (10_070, "10.07")] {
            assert_eq!(Points::milli(milli).to_string(), text);
        }
    }

    #[test]
    fn shares_are_rounded_down_and_never_overflow() {
        assert_eq!(Points::whole(10).share(1, 3), Points::milli(3_333));
        assert_eq!(Points::whole(-10).share(1, 3), Points::milli(-3_334));
        assert_eq!(Points::milli(i64::MAX).times(u64::MAX), Points::milli(i64::MAX));
        assert_eq!(Points::whole(5).share(1, 0), Points::ZERO);
    }
}
