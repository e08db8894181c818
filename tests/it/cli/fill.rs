use super::{board, folder, gridmark};

#[test]
fn boards_come_out_as_larry_leaves_them() {
    let input = board(&["-123456789abcdef"]) + &board(&["0123456789ABCDE-", "---------------f"]);
    let done = gridmark(folder().path(), &["fill"], input);
    assert_eq!((done.stderr.as_str(), done.code), ("", Some(0)));
    let boards = done.stdout.split("\n\n").collect::<Vec<_>>();
    assert_eq!(boards.len(), 2);
    insta::assert_snapshot!(boards[0], @"
0123456789ABCDEF
45670123CDEF89AB
89ABCDEF01234567
CDEF89AB45670123
1032547698BADCFE
54761032DCFE98BA
98BADCFE10325476
DCFE98BA54761032
23016745AB89EFCD
67452301EFCDAB89
AB89EFCD23016745
EFCDAB8967452301
32107654BA98FEDC
76543210FEDCBA98
BA98FEDC32107654
FEDCBA9876543210
");
    // F stands in the last column already; of the second row's third box nothing is left for one.
    assert!(boards[1].starts_with("0123456789ABCDE-\n45670123CDE-89AF\n"), "{}", boards[1]);
    assert_eq!(boards[1].lines().count(), 16);
}

#[test]
fn unreadable_boards_are_reported_and_the_others_filled() {
    let input = board(&[]) + &board(&["short"]) + &board(&["0"; 0]);
    let done = gridmark(folder().path(), &["fill"], input);
    assert_eq!(done.code, Some(1));
    assert_eq!(done.stdout.split("\n\n").count(), 2);
    assert!(done.stderr.starts_with("stdin:17:1: "), "{}", done.stderr);
    assert_eq!(done.stderr.lines().count(), 1);
}

#[test]
fn an_empty_input_and_a_missing_file_are_reported() {
    let done = gridmark(folder().path(), &["fill"], "");
    assert_eq!((done.stdout.as_str(), done.code), ("", Some(1)));
    assert!(done.stderr.contains("the file is empty"), "{}", done.stderr);
    let done = gridmark(folder().path(), &["fill", "nowhere"], "");
    assert_eq!((done.stdout.as_str(), done.code), ("", Some(1)));
    assert!(done.stderr.starts_with("gridmark: cannot read nowhere: "), "{}", done.stderr);
}
