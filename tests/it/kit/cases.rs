//! Submissions whose right marks are known from how they are made.

/// A right 9x9 grid; another one for each of the first 362,880 numbers.
fn grid(number: usize) -> [[u8; 9]; 9] {
    let mut digits = *b"123456789";
    let mut rest = number;
    for left in (1..9).rev() {
        digits.swap(left, rest % (left + 1));
        rest /= left + 1;
    }
    std::array::from_fn(|row| {
        std::array::from_fn(|column| digits[(row * 3 + row / 3 + column) % 9])
    })
}

fn lines(rows: &[[u8; 9]; 9]) -> String {
    rows.iter().map(|row| format!("{}\n", String::from_utf8_lossy(row))).collect()
}

/// A classic block whose solutions get these answers, `Y` or `N`. What is wrong with those that
/// are wrong: row 1 has in column 1 what is right in column 2, and the puzzle gives column 1.
pub fn classic(number: usize, answers: &str) -> String {
    let right = grid(number);
    let mut wrong = right;
    wrong[0][0] = right[0][1];
    let puzzle: [[u8; 9]; 9] = std::array::from_fn(|row| {
        std::array::from_fn(|column| if column == 0 { right[row][0] } else { b'*' })
    });
    let solutions: String =
        answers.chars().map(|answer| lines(if answer == 'Y' { &right } else { &wrong })).collect();
    format!("{}\n{}{solutions}", answers.len(), lines(&puzzle))
}

/// A killer diagram with a cage a row. If it is to be wrong, the total of row 3 is.
pub fn killer(number: usize, is_right: bool) -> String {
    let wall = format!("+{}\n", "---+".repeat(9));
    let mut text = wall.clone();
    for row in grid(number) {
        let cells: Vec<String> = row.iter().map(|&cell| char::from(cell).to_string()).collect();
        text.push_str(&format!("| {} |\n{wall}", cells.join("   ")));
    }
    for row in 1..=9 {
        let total = if row == 3 && !is_right { 44 } else { 45 };
        text.push_str(&format!("{row} 1 {total}\n"));
    }
    text
}

/// A hexudoku board on which Larry fills so many cells, at most 16, and leaves none blank.
pub fn hexudoku(filled: usize) -> String {
    let mut text = String::new();
    for row in 0..16usize {
        for column in 0..16 {
            let digit = column ^ (row % 4 * 4 + row / 4);
            let is_blank = row == 0 && column < filled;
            text.push(if is_blank { '-' } else { char::from(b"0123456789ABCDEF"[digit]) });
        }
        text.push('\n');
    }
    text
}

/// Some file of some kind, another one for each number, with few cases.
pub fn some(number: usize) -> String {
    match number % 5 {
        0 => classic(number, &"YNYYN"[..1 + number / 5 % 5]),
        1 => killer(number, number.is_multiple_of(2)),
        2 => hexudoku(number / 5 % 17),
        3 => classic(number, "Y").repeat(1 + number / 5 % 3),
        _ => format!("no puzzle at all: {number}\n"),
    }
}
