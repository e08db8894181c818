//! Where chunks begin and end, and where reading is resumed, makes no difference.

use super::steer::Steer;
use super::{KINDS, naive};
use crate::core_kit::{Graded, grade, mark_found};
use gridmark::model::chunks::Chunks;
use gridmark_core::Kind;
use gridmark_core::format::{Found, Limits, Reader};
use std::io::{self, Read};

/// A few times the limits, since reading byte by byte is slow.
const TEXT_BYTES_MAX: usize = 1 << 13;

/// A file in any chunks, with checkpoints between them and small limits, gives the cases and marks
/// that it gives in one chunk.
///
/// The first bytes are the forced kind, the limits and the sizes of chunks; the others are the
/// file, in which two of them stand for repetition, so that limits are reached.
pub fn chunks(bytes: &[u8]) {
    let steer = &mut Steer(bytes);
    let kind = KINDS[steer.below(4)];
    let limits = Limits {
        case_bytes_max: 1024 + 8 * steer.below(128),
        missing_cases_max: 1 + steer.below(6) as u64,
    };
    let cases_max = steer.pick(&[0, 0, 1, 2, 7]);
    let sizes = (0..=steer.below(6)).map(|_| match steer.byte() {
        few @ 0..128 => usize::from(few) + 1,
        many => (usize::from(many) - 127) * 40,
    });
    let sizes = sizes.collect::<Vec<_>>();
    let text = repeated(steer.0);
    let whole = grade(kind, limits, &text);
    check_places(&whole, &text);
    let parts = in_chunks(kind, limits, cases_max, &text, &sizes);
    assert_eq!(parts, whole, "{kind:?} {}", text.escape_ascii());
    let trickled = trickled(Reader::new(kind, limits), cases_max, &text, &sizes);
    assert_eq!(trickled, whole, "{kind:?} {}", text.escape_ascii());
    if text.len() < limits.case_bytes_max {
        let (_, expected) = naive::grade(kind, &text, limits.missing_cases_max);
        let place = |start, end, line, block_end| (start, end, line, block_end);
        let whole = whole.iter().map(|case| place(case.start, case.end, case.line, case.block_end));
        let expected = expected.iter();
        let expected = expected
            .map(|case| place(case.start as u64, case.end as u64, case.line, case.block_end));
        assert!(whole.eq(expected), "{}", text.escape_ascii());
    }
}

/// The text in which `FE n` repeats the byte before it and `FF n` the line before it.
fn repeated(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut bytes = bytes.iter();
    while let Some(byte) = bytes.next() {
        let start = match byte {
            0xFE => text.len().saturating_sub(1),
            0xFF => {
                let content = text.strip_suffix(b"\n").unwrap_or(&text);
                content.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
            }
            _ => {
                text.push(*byte);
                continue;
            }
        };
        let times = bytes.next().map_or(0, |times| usize::from(*times));
        let times = if *byte == 0xFE { 8 * times } else { times };
        let again = text[start..].to_vec();
        for _ in 0..times {
            if text.len() + again.len() <= TEXT_BYTES_MAX {
                text.extend_from_slice(&again);
            }
        }
    }
    text
}

/// There is at least one case, and the cases are in the file and in order.
fn check_places(graded: &[Graded], text: &[u8]) {
    assert!(!graded.is_empty(), "{}", text.escape_ascii());
    let mut before = 0;
    for case in graded {
        assert!(before <= case.start && case.start <= case.end, "{}", text.escape_ascii());
        assert!(case.end <= text.len() as u64);
        before = case.end;
    }
}

fn in_chunks(
    kind: Option<Kind>,
    limits: Limits,
    cases_max: usize,
    text: &[u8],
    sizes: &[usize],
) -> Vec<Graded> {
    let mut reader = Reader::new(kind, limits);
    let mut graded = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut capped = false;
    let mut sizes = sizes.iter().cycle();
    loop {
        if !capped {
            end = (end + sizes.next().unwrap()).min(text.len());
        }
        let chunk = &text[start..end];
        let mut found = Found { cases_max, ..Found::default() };
        let consumed = reader.read(chunk, end == text.len(), &mut found);
        mark_found(chunk, start as u64, &found, &mut graded);
        start += consumed;
        capped = found.capped;
        assert!(!capped || found.cases.len() >= cases_max);
        assert_eq!(reader.offset(), start as u64);
        let enough = chunk.len() >= reader.window_bytes_min();
        assert!(consumed > 0 || capped || !enough, "{} bytes, none consumed", chunk.len());
        let checkpoint = reader.checkpoint();
        assert!(checkpoint.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{checkpoint:?}");
        assert!(checkpoint.len() < 600, "{checkpoint}");
        let resumed = Reader::resume(kind, limits, &checkpoint).unwrap();
        assert_eq!(resumed, reader);
        reader = resumed;
        if end == text.len() && !capped {
            assert_eq!(start, end, "all is consumed at the end");
            return graded;
        }
    }
}

/// An input that returns the numbers of bytes in `sizes`, over and over.
struct Trickle<'a> {
    text: &'a [u8],
    sizes: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl Read for Trickle<'_> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let few = space.len().min(*self.sizes.next().unwrap());
        self.text.read(&mut space[..few])
    }
}

fn trickled(reader: Reader, cases_max: usize, text: &[u8], sizes: &[usize]) -> Vec<Graded> {
    let input = Trickle { text, sizes: sizes.iter().cycle() };
    let mut chunks = Chunks::new(input, reader, 0, cases_max);
    let mut graded = Vec::new();
    let mut offset = 0;
    while let Some(chunk) = chunks.next_chunk().unwrap() {
        mark_found(chunk.text(), offset, chunk.found(), &mut graded);
        offset += chunk.consumed().len() as u64;
        chunks.reuse(chunk);
    }
    assert_eq!(offset, text.len() as u64);
    graded
}
