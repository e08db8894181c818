//! Where chunks begin and end, and where reading is interrupted, makes no difference.

use super::core_kit::*;
use gridmark_core::Kind;
use gridmark_core::format::{Found, Limits, Reader};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const LIMITS: Limits = Limits { case_bytes_max: 1024, missing_cases_max: 5 };

const KINDS: [Option<Kind>; 4] =
    [None, Some(Kind::Killer), Some(Kind::Classic), Some(Kind::Hexudoku)];

/// Grades `text` in chunks that grow by what `grow` says, going on from a checkpoint each time.
fn grade_in_chunks(
    kind: Option<Kind>,
    text: &[u8],
    mut grow: impl FnMut() -> usize,
) -> Vec<Graded> {
    let mut reader = Reader::new(kind, LIMITS);
    let mut graded = Vec::new();
    let (mut start, mut end) = (0, 0);
    loop {
        end = (end + grow()).min(text.len());
        let chunk = &text[start..end];
        let mut found = Found::default();
        let consumed = reader.read(chunk, end == text.len(), &mut found);
        mark_found(chunk, start as u64, &found, &mut graded);
        start += consumed;
        assert_eq!(reader.offset(), start as u64);
        let enough = chunk.len() >= reader.window_bytes_min();
        assert!(consumed > 0 || !enough, "{} bytes and nothing consumed", chunk.len());
        let checkpoint = reader.checkpoint();
        let printable = checkpoint.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        assert!(printable, "{checkpoint:?}");
        let resumed = Reader::resume(kind, LIMITS, &checkpoint).unwrap();
        assert_eq!(resumed, reader);
        reader = resumed;
        if end == text.len() {
            assert_eq!(start, end, "all is consumed at the end");
            return graded;
        }
    }
}

/// A file of pieces that belong together, and of some that do not.
fn any_text(chance: &mut Chance) -> Vec<u8> {
    let main = chance.below(3);
    let mut text = Vec::new();
    for _ in 0..1 + chance.below(6) {
        let sort = if chance.one_in(4) { 3 + chance.below(14) } else { main };
        let mut piece = match sort {
            0 => correct_diagram(chance).into_bytes(),
            1 => {
                let solutions =
                    (0..1 + chance.below(3)).map(|_| correct_grid(chance)).collect::<Vec<_>>();
                block(&[b'*'; 81], &solutions)
            }
            2 => (any_board(chance, 4).join("\n") + "\n").into_bytes(),
            3 => b"\xEF\xBB\xBF".to_vec(),
            4 => b"\n".repeat(1 + chance.below(3)),
            5 => b" \xC2\xA0\t\xA0\n".to_vec(),
            6 => b"x".repeat(chance.below(3000)),
            7 => b" ".repeat(chance.below(3000)),
            8 => b"\r\n".repeat(chance.below(1200)),
            9 => b"1 1 5\n".repeat(chance.below(400)),
            10 => b"999999999\n".to_vec(),
            11 => b"+---+---+---+---+---+---+---+---+---+\n".repeat(chance.below(30)),
            12 => rows(&correct_grid(chance), b"\n"),
            13 => b"----------------\n".repeat(chance.below(40)),
            14 => (0..chance.below(8)).map(|_| chance.pick(b"\x0C\x1A\n\r ")).collect(),
            15 => b"7\n".to_vec(),
            _ => (0..chance.below(20))
                .map(|_| chance.pick(b"0+|- \n\r\xEF\xBB\xBF\x0C\x1A\0\xFF\xFE"))
                .collect(),
        };
        for _ in 0..if chance.one_in(3) { 1 + chance.below(3) } else { 0 } {
            let at = chance.below(piece.len() + 1);
            match chance.below(5) {
                0 => piece.truncate(at),
                1 => piece.insert(at, chance.pick(b"\n\r x1+|\xA0")),
                2 if at < piece.len() => piece[at] = chance.pick(b"\n\r x1+|\xA0"),
                3 if at < piece.len() => drop(piece.remove(at)),
                _ => piece.splice(at..at, vec![b'y'; 1100]).for_each(drop),
            }
        }
        if chance.one_in(3) {
            let ends: [&[u8]; 3] = [b"\r\n", b"\r", b"\n"];
            piece = with_ends(&piece, &ends[..1 + chance.below(3)]);
        }
        text.extend(piece);
    }
    text
}

fn same_in_chunks(kind: Option<Kind>, text: &[u8], chance: &mut Chance) {
    let whole = grade(kind, LIMITS, text);
    let sizes = [2, 40, 400, 4000];
    for size in sizes {
        let chunks = grade_in_chunks(kind, text, || 1 + chance.below(size));
        assert_eq!(chunks, whole, "{kind:?} {}", text.escape_ascii());
    }
    let size = 1 + chance.below(text.len() + 1);
    assert_eq!(grade_in_chunks(kind, text, || size), whole, "{}", text.escape_ascii());
}

#[test]
fn any_chunks_and_checkpoints_give_the_same_cases_and_marks() {
    for seed in 0..150 {
        let chance = &mut Chance(seed);
        let text = any_text(chance);
        for kind in KINDS {
            same_in_chunks(kind, &text, chance);
        }
    }
}

#[test]
fn chunks_that_grow_by_one_byte_give_the_same_cases_and_marks() {
    for seed in 1000..1030 {
        let chance = &mut Chance(seed);
        let text = any_text(chance);
        let whole = grade(None, LIMITS, &text);
        assert_eq!(grade_in_chunks(None, &text, || 1), whole, "{}", text.escape_ascii());
    }
}

#[test]
fn every_split_in_two_gives_the_same_cases_and_marks() {
    let chance = &mut Chance(4000);
    let diagram = correct_diagram(chance);
    let (head, totals) = diagram.split_at(19 * 38);
    let boards = (any_board(chance, 4).join("\n") + "\n\n").repeat(2);
    let grid = correct_grid(chance);
    for text in [
        // A broken drawing without totals, and the next one right behind it.
        format!("{}{}{totals}", head.replacen('\n', "\n\u{a0}\n", 1), head),
        format!("{head}{}{}", &head[..38], diagram.clone() + &head[..38]),
        format!("{}{diagram}", head[..38].repeat(40)),
        format!("\u{feff}\u{feff}\n\u{feff}{diagram}\u{feff}\u{feff}{diagram}"),
        format!("\u{feff}\u{feff}{boards}\u{feff}\u{feff}{boards}").replace('\n', "\r\n"),
        String::from_utf8([block(&[b'*'; 81], &vec![grid; 2]), b"\r".to_vec()].concat()).unwrap(),
    ] {
        let text = text.as_bytes();
        let whole = grade(None, LIMITS, text);
        for split in 0..text.len() {
            let mut sizes = [split, text.len()].into_iter();
            let chunks = grade_in_chunks(None, text, || sizes.next().unwrap());
            assert_eq!(chunks, whole, "split at {split} {}", text.escape_ascii());
        }
    }
}

#[test]
fn a_byte_order_mark_behind_a_diagram_as_long_as_may_be_is_waited_for() {
    let chance = &mut Chance(5000);
    let (diagram, next) = (correct_diagram(chance), correct_diagram(chance));
    for end in ["\n", "\r\n"] {
        let diagram = diagram.trim_end().replace('\n', end);
        for length in LIMITS.case_bytes_max - 3..LIMITS.case_bytes_max + 3 {
            let text = format!("{diagram:length$}{end}\u{feff}{next}");
            let whole = grade(None, LIMITS, text.as_bytes());
            assert_eq!(grade_in_chunks(None, text.as_bytes(), || 1), whole, "{length}");
        }
    }
}

#[test]
fn cases_lie_in_order_and_within_the_limit() {
    for seed in 2000..2200 {
        let text = any_text(&mut Chance(seed));
        for kind in KINDS {
            let graded = grade(kind, LIMITS, &text);
            assert!(!graded.is_empty());
            assert!(graded.len() <= text.len() + 1 + LIMITS.missing_cases_max as usize);
            let mut before = 0;
            for case in &graded {
                assert!(before <= case.start && case.start <= case.end, "{}", text.escape_ascii());
                assert!(case.end <= text.len() as u64);
                // The content of a case is limited; its last line end may come on top.
                let judged = !matches!(case.outcome().0, "too-large" | "bad-diagram");
                assert!(!judged || case.end - case.start <= LIMITS.case_bytes_max as u64 + 2);
                before = case.end;
            }
        }
    }
}

#[test]
fn line_ends_of_any_sort_give_the_same_marks() {
    let ends: [&[&[u8]]; 4] = [&[b"\r\n"], &[b"\r"], &[b"\r\n", b"\n"], &[b"\r", b"\r\n", b"\n"]];
    for seed in 3000..3060 {
        let chance = &mut Chance(seed);
        let mut text = any_text(chance);
        text.retain(|byte| *byte != b'\r');
        // A lone CR that ends a line and a lone LF that ends an empty one look like one line end.
        let text = String::from_utf8_lossy(&text).replace("\n\n", "\n").into_bytes();
        if text.windows(2).any(|two| two == b"\n\n") {
            continue;
        }
        let limits = Limits::default();
        let marks = |text: &[u8]| {
            let graded = grade(None, limits, text).into_iter();
            graded.map(|case| (case.line, case.block_end, case.mark)).collect::<Vec<_>>()
        };
        for ends in ends {
            assert_eq!(marks(&with_ends(&text, ends)), marks(&text), "{}", text.escape_ascii());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_are_read_to_the_end(
        text in prop::collection::vec(any::<u8>(), 0..3000),
        seed in any::<u64>(),
    ) {
        for kind in KINDS {
            same_in_chunks(kind, &text, &mut Chance(seed));
        }
    }

    #[test]
    fn bytes_that_matter_are_read_to_the_end(
        text in prop::collection::vec(prop::sample::select(
            b"+|- 0129AFx*.\n\n\n\n\r\r\t\xA0\xC2\xEF\xBB\xBF\x0C\x1A".to_vec()
        ), 0..1500),
        seed in any::<u64>(),
    ) {
        for kind in KINDS {
            same_in_chunks(kind, &text, &mut Chance(seed));
        }
    }

    #[test]
    fn any_text_as_checkpoint_is_an_answer_and_no_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "reader1", "0", "1", "9", "999999999999999999999", "18446744073709551615", "4294967295", "classic", "killer", "hexudoku",
            "start", "count", "solution", "skip-rows", "-", "x", "é",
        ]), 0..12),
    ) {
        let words = words.join(" ");
        let open = ".".repeat(81);
        let classic = format!("reader1 0 1 classic {words} {open}");
        for text in [words.clone(), format!("reader1 {words}"), format!("reader1 0 1 {words}"), classic] {
            if let Ok(mut reader) = Reader::resume(None, LIMITS, &text) {
                reader.read(b"1\nx\n", true, &mut Found::default());
            }
        }
    }
}

#[test]
fn a_checkpoint_of_another_kind_is_refused() {
    let mut reader = Reader::new(None, LIMITS);
    reader.read(&block(&[b'*'; 81], &[cyclic_square()]), false, &mut Found::default());
    let checkpoint = reader.checkpoint();
    assert!(Reader::resume(Some(Kind::Classic), LIMITS, &checkpoint).is_ok());
    let error = Reader::resume(Some(Kind::Killer), LIMITS, &checkpoint).unwrap_err();
    assert!(error.to_string().contains("is not a checkpoint"), "{error}");
}

#[test]
fn a_checkpoint_that_cannot_be_is_refused() {
    let open = ".".repeat(81);
    for good in [
        "0 1 start".into(),
        "5 2 unknown".into(),
        "5 2 empty".into(),
        "5 2 killer 0 1".into(),
        "5 2 hexudoku start 16 0".into(),
        "5 2 hexudoku blank 0 0".into(),
        "5 2 hexudoku row 0 0".into(),
        format!("5 2 classic count 1 0 0 0 {open}"),
        format!("5 2 classic solution 0 0 3 0 {open}"),
        format!("5 2 classic skip-rows 0 1 3 9 {open}"),
    ] {
        let good = format!("reader1 {good}");
        assert_eq!(Reader::resume(None, LIMITS, &good).unwrap().checkpoint(), good);
    }
    for bad in [
        "".into(),
        "0 0 start".into(),
        "18446744073709551615 1 start".into(),
        "0 1 start 0".into(),
        "5 2 killer 0".into(),
        "5 2 killer 0 2".into(),
        "5 2 killer 0 0 1".into(),
        "5 2 hexudoku row 17 0".into(),
        "5 2 hexudoku 16 0".into(),
        format!("5 2 classic puzzle 0 0 3 8 {open}"),
        format!("5 2 classic solution 0 0 0 0 {open}"),
        format!("5 2 classic solution 0 0 3 0 {open} -"),
        format!("5 2 classic skip-rows 0 0 1 0 {open}"),
        format!("5 2 classic solution 0 0 3 0 {}", "*".repeat(81)),
        format!("5 2 classic solution 0 0 3 0 {}", ".".repeat(80)),
    ] {
        assert!(Reader::resume(None, LIMITS, &format!("reader1 {bad}")).is_err(), "{bad}");
    }
}

#[test]
fn limits_may_be_as_large_or_small_as_numbers_are() {
    let text = block(&[b'*'; 81], &vec![cyclic_square(); 2]);
    for limits in [
        Limits { case_bytes_max: usize::MAX, missing_cases_max: u64::MAX },
        Limits { case_bytes_max: 0, missing_cases_max: 0 },
    ] {
        assert_eq!(grade(None, limits, &text), grade(None, LIMITS, &text));
        assert_eq!(grade(None, limits, b"1\n").len(), 1);
        assert!(Reader::new(None, limits).window_bytes_min() >= 1024);
    }
}

#[test]
fn a_huge_line_is_passed_over_in_chunks_of_the_least_size() {
    let text = [b"1\n".as_slice(), &vec![b'7'; 1 << 20], b"\n2\n"].concat();
    let mut reader = Reader::new(None, LIMITS);
    let size = reader.window_bytes_min();
    let mut found = Found::default();
    let mut start = 0;
    while start + size < text.len() {
        let consumed = reader.read(&text[start..start + size], false, &mut found);
        assert!(consumed > 0);
        assert!(reader.checkpoint().len() < 400);
        start += consumed;
    }
    reader.read(&text[start..], true, &mut found);
    assert_eq!(found.cases.len(), 1, "the block has no puzzle");
}
