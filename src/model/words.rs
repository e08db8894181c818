//! Words of messages that depend on a number.

use std::fmt::Display;

/// A number and its noun, in the plural unless it is one.
///
/// ```
/// use gridmark::model::words::counted;
/// assert_eq!(counted(1, "large file"), "1 large file");
/// assert_eq!(counted(0_usize, "folder"), "0 folders");
/// ```
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let end = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{end}")
}

/// How often something happened: `once`, `3 times`.
///
/// ```
/// use gridmark::model::words::times;
/// assert_eq!([times(1), times(2)], ["once", "2 times"]);
/// ```
pub fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { counted(count, "time") }
}
