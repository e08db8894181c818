//! Killer: drawings are read one by one, their houses and cages are found side by side, one drawing
//! in each lane, and the lines with the totals are read one by one again.

mod cages;
mod drawing;
mod totals;

use super::LANES;
use crate::format::Case;
use crate::format::killer::{CRLF_BYTES, DRAWING_LINES, LF_BYTES, LINE_BYTES};
use core::arch::x86_64::*;

/// Which of at most [`LANES`] diagrams are correct, as far as they are regular.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn killer(window: &[u8], cases: &[Case]) -> u32 {
    let mut drawings = [[_mm256_setzero_si256(); 3]; LANES];
    let mut read = 0;
    for (lane, (case, cells)) in cases.iter().zip(&mut drawings).enumerate() {
        if let Some(found) = drawing(&window[case.start..case.end]) {
            *cells = found;
            read |= 1 << lane;
        }
    }
    if read == 0 {
        return 0;
    }
    let found = cages::find(&drawings);
    let mut right = read & found.right;
    let mut room = totals::ROOM;
    for (lane, case) in cases.iter().enumerate() {
        if right >> lane & 1 == 1 {
            let lines = |drawing: usize| [case.start + drawing, case.end];
            let are_right = match window[case.start + LINE_BYTES] {
                b'\n' => {
                    totals::are_right::<b'\n'>(window, lines(LF_BYTES), &found, lane, &mut room)
                }
                _ => totals::are_right::<b'\r'>(window, lines(CRLF_BYTES), &found, lane, &mut room),
            };
            right &= !(u32::from(!are_right) << lane);
        }
    }
    right
}

/// The cells of the drawing at the start of `text`, if it is regular.
#[inline]
#[target_feature(enable = "avx2")]
fn drawing(text: &[u8]) -> Option<drawing::Cells> {
    if *text.get(LINE_BYTES)? == b'\n' {
        return drawing::read(text.first_chunk()?);
    }
    let text = text.first_chunk::<CRLF_BYTES>()?;
    let mut copy = [b'\n'; LF_BYTES];
    let lines = text.as_chunks::<{ CRLF_BYTES / DRAWING_LINES }>().0;
    for (line, copy) in lines.iter().zip(copy.as_chunks_mut::<{ LINE_BYTES + 1 }>().0) {
        let content = line.strip_suffix(b"\r\n")?;
        copy[..LINE_BYTES].copy_from_slice(content);
    }
    drawing::read(&copy)
}

/// Loads 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> __m256i {
    let eight = |i: usize| {
        let bytes = bytes[i * 8..].first_chunk().unwrap_or(&[0; 8]);
        i64::from_le_bytes(*bytes)
    };
    _mm256_setr_epi64x(eight(0), eight(1), eight(2), eight(3))
}

/// The 32 bytes of a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes(vector: __m256i) -> [u8; 32] {
    let eight = [
        _mm256_extract_epi64::<0>(vector),
        _mm256_extract_epi64::<1>(vector),
        _mm256_extract_epi64::<2>(vector),
        _mm256_extract_epi64::<3>(vector),
    ];
    let mut bytes = [0; 32];
    for (bytes, eight) in bytes.as_chunks_mut().0.iter_mut().zip(eight) {
        *bytes = eight.to_le_bytes();
    }
    bytes
}
