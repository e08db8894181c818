//! The kernels: right or wrong, many boards at a time, in tiers for what processors can do.
//!
//! This is the one entry. Each function has the same meaning in every tier; a tier is a module with
//! the same three functions, and one line in each `match` here.

mod portable;

use crate::board::{Counted, Grid};
use crate::format::hexudoku::Board;
use crate::format::killer::Diagram;
use std::fmt;

/// Boards that a kernel takes at a time at most.
pub const LANES: usize = 32;

/// An implementation of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tier {
    /// Plain Rust, for every processor.
    Portable,
}

impl Tier {
    /// All tiers, from the slowest to the fastest, whether this processor has them or not.
    pub const fn all() -> &'static [Tier] {
        &[Tier::Portable]
    }

    /// The tiers that this processor can run, from the slowest to the fastest.
    pub fn available() -> impl Iterator<Item = Tier> {
        Tier::all().iter().copied().filter(|tier| tier.is_available())
    }

    /// The fastest tier that this processor can run.
    pub fn best() -> Tier {
        Tier::available().last().unwrap_or(Tier::Portable)
    }

    /// The tier with this name.
    ///
    /// # Errors
    ///
    /// No tier has this name, or this processor cannot run it.
    ///
    /// ```
    /// use gridmark::judge::Tier;
    /// assert_eq!(Tier::named("portable"), Ok(Tier::Portable));
    /// let error = Tier::named("abacus").unwrap_err();
    /// assert!(error.to_string().starts_with("there is no kernel tier `abacus`"));
    /// ```
    pub fn named(name: &str) -> Result<Tier, UnsupportedTier> {
        let known = Tier::all().iter().copied().find(|tier| tier.name() == name);
        known
            .filter(|tier| tier.is_available())
            .ok_or_else(|| UnsupportedTier { name: name.into(), known: known.is_some() })
    }

    /// The name of this tier, as it stands in settings and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Portable => "portable",
        }
    }

    /// Whether this processor can run this tier.
    pub fn is_available(self) -> bool {
        match self {
            Tier::Portable => true,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A tier that does not exist, or that this processor cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedTier {
    name: String,
    known: bool,
}

impl fmt::Display for UnsupportedTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.escape_debug();
        match self.known {
            true => write!(f, "this processor cannot run the kernel tier `{name}`")?,
            false => write!(f, "there is no kernel tier `{name}`")?,
        }
        f.write_str("; it can run")?;
        for (i, tier) in Tier::available().enumerate() {
            write!(f, "{} {tier}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnsupportedTier {}

/// Which of at most [`LANES`] grids are right and keep to `givens`: bit `i` is for `grids[i]`.
///
/// # Panics
///
/// If there are more grids.
pub fn classic(tier: Tier, grids: &[Grid], givens: &Grid) -> u32 {
    assert!(grids.len() <= LANES, "{} grids in a batch of {LANES}", grids.len());
    match tier {
        Tier::Portable => portable::classic(grids, givens),
    }
}

/// Whether the houses and cages of `diagram` are all right.
pub fn killer(tier: Tier, diagram: &Diagram) -> bool {
    match tier {
        Tier::Portable => portable::killer(diagram),
    }
}

/// Appends to `counts` what becomes of each board when Lazy Larry fills it.
///
/// The boards themselves are left alone; [`fill`](super::hexudoku::fill) is for those who want to
/// see them.
pub fn hexudoku(tier: Tier, boards: &[Board], counts: &mut Vec<Counted>) {
    match tier {
        Tier::Portable => portable::hexudoku(boards, counts),
    }
}
