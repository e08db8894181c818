//! The kernels: right or wrong, many boards at a time, in tiers for what processors can do.
//!
//! This is the one entry. Each function has the same meaning in every tier; a tier is a module with
//! the functions for which it pays, and one line in each `match` here.
//!
//! Boards are taken as they lie in a file: a grid of `BYTES` bytes is nine rows of `BYTES` / 9
//! bytes, of which the first nine are its cells (81 in memory, 90 where lines end in LF, 99 for
//! CRLF). Likewise a hexudoku board is 16 rows of `BYTES` / 16 bytes (256, 272, 288). What follows
//! the cells of a row is not looked at.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
#[cfg(target_arch = "x86_64")]
mod prefetch;

use crate::board::Counted;
use crate::format::Case;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Boards that a kernel takes at a time at most.
pub const LANES: usize = 32;

/// An implementation of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tier {
    /// Plain Rust, for every processor.
    Portable,
    /// For x86-64 processors with AVX2; whoever asks for it elsewhere gets the portable one.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// For x86-64 processors with AVX-512 that permute bytes (VBMI): Intel's since Ice Lake, AMD's
    /// since Zen 4.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Tier {
    /// All tiers, from the slowest to the fastest, whether this processor has them or not.
    pub const fn all() -> &'static [Tier] {
        &[
            Tier::Portable,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512,
        ]
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
    /// use gridmark_core::judge::Tier;
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

    /// The tier that a setting asks for: `auto` is the [best](Tier::best), and else it is the name of
    /// one.
    ///
    /// # Errors
    ///
    /// No tier has this name, or this processor cannot run it.
    ///
    /// ```
    /// use gridmark_core::judge::Tier;
    /// assert_eq!(Tier::wanted("auto"), Ok(Tier::best()));
    /// assert_eq!(Tier::wanted(" portable"), Ok(Tier::Portable));
    /// ```
    pub fn wanted(setting: &str) -> Result<Tier, UnsupportedTier> {
        match setting.trim() {
            "auto" => Ok(Tier::best()),
            name => Tier::named(name),
        }
    }

    /// The name of this tier, as it stands in settings and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => "avx512",
        }
    }

    /// Whether this processor can run this tier.
    pub fn is_available(self) -> bool {
        match self {
            Tier::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => avx2::is_available(),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => avx512::is_available(),
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

impl core::error::Error for UnsupportedTier {}

/// Which of at most [`LANES`] grids have right houses, all 27 of them: bit `i` is for `grids[i]`.
///
/// # Panics
///
/// If there are more grids.
///
/// ```
/// use gridmark_core::judge::{Tier, kernel};
/// let rows = ["123", "456", "789"].map(|row| row.repeat(3));
/// let grid = <[u8; 81]>::try_from(rows.concat().repeat(3).as_bytes())?;
/// assert_eq!(kernel::classic(Tier::best(), &[grid, grid]), 0b00);
/// # Ok::<(), core::array::TryFromSliceError>(())
/// ```
pub fn classic<const BYTES: usize>(tier: Tier, grids: &[[u8; BYTES]]) -> u32 {
    const { assert!(BYTES == 81 || BYTES == 90 || BYTES == 99, "nine rows of 9 to 11 bytes") };
    assert!(grids.len() <= LANES, "{} grids in a batch of {LANES}", grids.len());
    match tier {
        Tier::Portable => None,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => avx2::classic(grids),
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => avx512::classic(grids),
    }
    .unwrap_or_else(|| portable::classic(grids))
}

/// Which of at most [`LANES`] killer diagrams are right: bit `i` is for `cases[i]`, which lies in
/// `window`.
///
/// Only those that are as nearly all are count here: all lines of the drawing end in LF, or all in
/// CRLF, and those of the totals likewise, which have one blank between numbers and no zeros in
/// front. Of others the bit may not be set although they are right.
///
/// # Panics
///
/// If there are more diagrams, or one lies outside `window`.
///
/// ```
/// use gridmark_core::{format::{Found, Limits, Reader}, judge::{Tier, kernel}};
/// let border = "+---+---+---+---+---+---+---+---+---+\n";
/// let rows = "| 1   2   3   4   5   6   7   8   9 |\n".to_string() + border;
/// let totals = (1..=9).map(|row| format!("{row} 1 45\n")).collect::<String>();
/// let text = format!("{border}{}{totals}", rows.repeat(9));
/// let mut found = Found::default();
/// Reader::new(None, Limits::default()).read(text.as_bytes(), true, &mut found);
/// // The cages are right, but not the columns.
/// assert_eq!(kernel::killer(Tier::best(), text.as_bytes(), &found.cases), 0b0);
/// ```
pub fn killer(tier: Tier, window: &[u8], cases: &[Case]) -> u32 {
    assert!(cases.len() <= LANES, "{} diagrams in a batch of {LANES}", cases.len());
    match tier {
        Tier::Portable => None,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 | Tier::Avx512 => avx2::killer(window, cases),
    }
    .unwrap_or_else(|| portable::killer(window, cases))
}

/// As [`classic`] for any number of grids: appends to `right` one number for each [`LANES`] of them,
/// and for the rest. Grids that do not lie in a cache are judged faster so.
pub fn classic_batches<const BYTES: usize>(
    tier: Tier,
    grids: &[[u8; BYTES]],
    right: &mut Vec<u32>,
) {
    let done = match tier {
        Tier::Portable => false,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => avx2::classic_batches(grids, right),
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => avx512::classic_batches(grids, right),
    };
    if !done {
        right.extend(grids.chunks(LANES).map(portable::classic));
    }
}

/// Appends to `counts` what becomes of each board when Lazy Larry fills it; `None` for one that
/// holds something else than digits and blanks.
///
/// The boards themselves are left alone; [`fill`](super::hexudoku::fill) is for those who want to
/// see them.
pub fn hexudoku<const BYTES: usize>(
    tier: Tier,
    boards: &[[u8; BYTES]],
    counts: &mut Vec<Option<Counted>>,
) {
    const { assert!(BYTES >= 256 && BYTES.is_multiple_of(16), "16 rows of at least 16 bytes") };
    let done = match tier {
        Tier::Portable => false,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => avx2::hexudoku(boards, counts),
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => avx512::hexudoku(boards, counts),
    };
    if !done {
        portable::hexudoku(boards, counts);
    }
}

/// Lets `fill` append what becomes of boards, whole batches of them: the last one is made whole by
/// boards of which nobody is told.
#[cfg(target_arch = "x86_64")]
fn in_batches<const BYTES: usize>(
    boards: &[[u8; BYTES]],
    counts: &mut Vec<Option<Counted>>,
    fill: impl Fn(&[[[u8; BYTES]; LANES]], &mut Vec<Option<Counted>>),
) {
    let (batches, rest) = boards.as_chunks();
    let end = counts.len() + boards.len();
    fill(batches, counts);
    if !rest.is_empty() {
        let mut batch = [[0; BYTES]; LANES];
        batch[..rest.len()].copy_from_slice(rest);
        fill(&[batch], counts);
        counts.truncate(end);
    }
}
