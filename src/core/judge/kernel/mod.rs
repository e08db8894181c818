//! The kernels: correct or not, many boards at a time.
//!
//! # Why they are branch-free
//!
//! A grid takes some 8 ns, little more than one mispredicted branch costs; and whether a digit
//! repeats, a cell is blank or two cells share a cage is a branch that no processor predicts. So no
//! kernel branches on a cell. Digits become sets of bits, houses are combined by AND, OR and XOR,
//! and one comparison a board is left at the end. Boards are judged side by side, one in each lane
//! of a vector, or the houses of one board are: all lanes do the same work for all
//! boards. (Cages are the exception that stays cheap: they take as many passes over 32 drawings as
//! the most winding cage of all of them needs.)
//!
//! # How tiers relate
//!
//! A [`Tier`] is a module for a class of processors. Every tier gives the same answers; only the
//! speed differs. [`Tier::Portable`] is plain Rust, has every kernel, and defines what they mean. A
//! faster tier has only those kernels that pay, under the same names: what `avx512` does not have
//! is that of `avx2`. This module is the only entry, with one line for each tier in each `match`. A
//! tier asks for itself whether the processor has its features; without them the portable kernel
//! runs, which is slow but never wrong. Adding a tier takes its module, a variant of [`Tier`], its
//! function in `cpu.rs`, and those lines.
//!
//! # The shape of boards
//!
//! Boards are taken as they are in a file: a grid of `BYTES` bytes is nine rows of `BYTES` / 9
//! bytes, of which the first nine are its cells (81 in memory, 90 where lines end in LF, 99 for
//! CRLF). Likewise a hexudoku board is 16 rows of `BYTES` / 16 bytes (256, 272, 288). The bytes
//! after the cells of a row are ignored.

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

/// The most boards that a kernel takes at a time.
pub const LANES: usize = 32;

/// An implementation of the kernels, for a class of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tier {
    /// Plain Rust, for every processor.
    Portable,
    /// For x86-64 processors with AVX2; without it the portable kernels run.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// For x86-64 processors with AVX-512 that permute bytes (VBMI) and count bits (BITALG):
    /// Intel's since Ice Lake, AMD's since Zen 4. Without them the portable kernels run.
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

    /// The tier for the value of a setting: `auto` is the [best](Tier::best), anything else the
    /// name of one.
    ///
    /// # Errors
    ///
    /// No tier has this name, or this processor cannot run it.
    ///
    /// ```
    /// use gridmark_core::judge::Tier;
    /// assert_eq!(Tier::from_setting("auto"), Ok(Tier::best()));
    /// assert_eq!(Tier::from_setting(" portable"), Ok(Tier::Portable));
    /// ```
    pub fn from_setting(setting: &str) -> Result<Tier, UnsupportedTier> {
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

/// Which of at most [`LANES`] grids are correct, that is, all 27 houses are: bit `i` is for
/// `grids[i]`.
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

/// Which of at most [`LANES`] killer diagrams are correct: bit `i` is for `cases[i]`, whose text is
/// in `window`.
///
/// The bit of a correct diagram is set if it is [regular](crate::format): all lines, those with the
/// totals too, end in LF or all in CRLF, with one blank between numbers and no leading zeros. If it
/// is not regular, its bit may be clear although it is correct.
///
/// # Panics
///
/// If there are more diagrams, or one is outside `window`.
///
/// ```
/// use gridmark_core::{format::{Found, Limits, Reader}, judge::{Tier, kernel}};
/// let border = "+---+---+---+---+---+---+---+---+---+\n";
/// let rows = "| 1   2   3   4   5   6   7   8   9 |\n".to_string() + border;
/// let totals = (1..=9).map(|row| format!("{row} 1 45\n")).collect::<String>();
/// let text = format!("{border}{}{totals}", rows.repeat(9));
/// let mut found = Found::default();
/// Reader::new(None, Limits::default()).read(text.as_bytes(), true, &mut found);
/// // The cages are correct, but the columns are not.
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

/// As [`classic`] for any number of grids: appends to `right` one number for each [`LANES`] of
/// them, and one for the rest. This is faster for grids that are in no cache, which are prefetched.
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

/// Appends to `counts` Lazy Larry's count for each board; `None` for one that holds anything but
/// digits and blanks, as text.
///
/// The boards stay as they are; [`fill`](super::hexudoku::fill) fills one.
///
/// ```
/// use gridmark_core::judge::{Tier, kernel};
/// let mut counts = Vec::new();
/// kernel::hexudoku(Tier::best(), &[[b'-'; 256], [b'?'; 256]], &mut counts);
/// assert_eq!(counts[0].map(|counted| counted.filled), Some(256));
/// assert_eq!(counts[1], None);
/// ```
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

/// Calls `fill`, which appends the counts of complete batches, for any number of boards: the last
/// batch is completed by boards whose counts are dropped.
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
