//! The rules of the three judges a second time: slow, simple, and without any code of the judges.

#![expect(clippy::needless_range_loop, reason = "rows and columns have numbers")]

use std::collections::BTreeSet;

/// A broken rule: its code and its cell.
pub type FaultAt = (&'static str, String);

/// A cell, by row and column from 0.
type Place = (usize, usize);

fn name((row, column): Place) -> String {
    format!("r{}c{}", row + 1, column + 1)
}

fn is_digit(text: u8) -> bool {
    (b'1'..=b'9').contains(&text)
}

/// The cells of all 27 houses, each with the code of a repeat in it.
fn houses() -> Vec<(&'static str, Vec<Place>)> {
    let mut houses = Vec::new();
    for row in 0..9 {
        houses.push(("row-repeat", (0..9).map(|column| (row, column)).collect()));
    }
    for column in 0..9 {
        houses.push(("column-repeat", (0..9).map(|row| (row, column)).collect()));
    }
    for top in [0, 3, 6] {
        for left in [0, 3, 6] {
            let mut cells = Vec::new();
            for row in top..top + 3 {
                for column in left..left + 3 {
                    cells.push((row, column));
                }
            }
            houses.push(("box-repeat", cells));
        }
    }
    houses
}

/// The first cell of `region` whose digit occurs earlier in it.
fn first_repeat(grid: &[Vec<u8>], region: &[Place]) -> Option<Place> {
    let mut seen = BTreeSet::new();
    for (row, column) in region {
        let text = grid[*row][*column];
        if is_digit(text) && !seen.insert(text) {
            return Some((*row, *column));
        }
    }
    None
}

fn digits_and_houses(grid: &[Vec<u8>]) -> (Vec<FaultAt>, Vec<FaultAt>) {
    let mut not_digits = Vec::new();
    for row in 0..9 {
        for column in 0..9 {
            if !is_digit(grid[row][column]) {
                not_digits.push(("not-a-digit", name((row, column))));
            }
        }
    }
    let mut repeats = Vec::new();
    for (code, cells) in houses() {
        if let Some(at) = first_repeat(grid, &cells) {
            repeats.push((code, name(at)));
        }
    }
    (not_digits, repeats)
}

/// What is wrong with the nine rows of a solution, without line ends.
pub fn classic(rows: &[Vec<u8>], givens: &[u8]) -> Vec<FaultAt> {
    let mut grid = Vec::new();
    let mut long = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let mut row = row.clone();
        loop {
            if row.ends_with(b"\xC2\xA0") {
                row.truncate(row.len() - 2);
            } else if row.ends_with(b" ") || row.ends_with(b"\t") || row.ends_with(b"\xA0") {
                row.truncate(row.len() - 1);
            } else {
                break;
            }
        }
        // A character of several bytes is in one cell.
        if let Ok(text) = String::from_utf8(row.clone()) {
            let cell = |c: char| if c.is_ascii() { c as u8 } else { 0xFF };
            row = text.chars().map(cell).collect();
        }
        if row.len() > 9 {
            long.push(("row-length", name((number, 9))));
        }
        row.resize(9, b' ');
        grid.push(row);
    }
    let (mut faults, repeats) = digits_and_houses(&grid);
    faults.extend(long);
    for row in 0..9 {
        for column in 0..9 {
            let (text, given) = (grid[row][column], givens[row * 9 + column]);
            if is_digit(text) && is_digit(given) && text != given {
                faults.push(("given-changed", name((row, column))));
            }
        }
    }
    faults.extend(repeats);
    faults
}

/// The cages of a drawing, each in reading order, in the order of their first cells.
pub fn cages(drawing: &[&str]) -> Vec<Vec<Place>> {
    let drawing = drawing.iter().map(|line| line.as_bytes()).collect::<Vec<_>>();
    let mut cages = Vec::new();
    let mut seen = BTreeSet::new();
    for row in 0..9 {
        for column in 0..9 {
            if seen.contains(&(row, column)) {
                continue;
            }
            let mut cage = BTreeSet::new();
            let mut open = vec![(row, column)];
            while let Some((row, column)) = open.pop() {
                if !cage.insert((row, column)) {
                    continue;
                }
                let (y, x) = (2 * row + 1, 4 * column + 2);
                if drawing[y - 1][x] == b' ' {
                    open.push((row - 1, column));
                }
                if drawing[y + 1][x] == b' ' {
                    open.push((row + 1, column));
                }
                if drawing[y][x - 2] == b' ' {
                    open.push((row, column - 1));
                }
                if drawing[y][x + 2] == b' ' {
                    open.push((row, column + 1));
                }
            }
            seen.extend(cage.iter().copied());
            cages.push(cage.into_iter().collect());
        }
    }
    cages
}

/// What is wrong with a diagram that can be read.
pub fn killer(text: &str) -> Vec<FaultAt> {
    let lines = text.lines().collect::<Vec<_>>();
    let (drawing, totals) = lines.split_at(19);
    let mut grid = Vec::new();
    for row in 0..9 {
        let line = drawing[2 * row + 1].as_bytes();
        grid.push((0..9).map(|column| line[4 * column + 2]).collect::<Vec<_>>());
    }
    let (mut faults, repeats) = digits_and_houses(&grid);
    faults.extend(repeats);
    let mut sums = Vec::new();
    for cage in cages(drawing) {
        if let Some(at) = first_repeat(&grid, &cage) {
            faults.push(("cage-repeat", name(at)));
        }
        let line = totals.iter().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut line = line.filter(|numbers| {
            let place: Place = (numbers[0].parse().unwrap(), numbers[1].parse().unwrap());
            cage.contains(&(place.0 - 1, place.1 - 1))
        });
        let numbers = line.next().unwrap();
        assert!(line.next().is_none(), "two totals for one cage");
        let digits = cage.iter().map(|(row, column)| grid[*row][*column]).collect::<Vec<_>>();
        let sum = digits.iter().map(|digit| i64::from(*digit) - 48).sum::<i64>();
        if digits.iter().all(|digit| is_digit(*digit)) && sum.to_string() != numbers[2] {
            sums.push(("cage-sum", format!("r{}c{}", numbers[0], numbers[1])));
        }
    }
    faults.extend(sums);
    faults
}

/// A board of 16 rows after Larry's pass, how many cells he fills, how many stay blank, and how
/// many houses hold some digit more than once at the start.
pub fn hexudoku(board: &[String]) -> (Vec<String>, usize, usize, usize) {
    let mut grid =
        board.iter().map(|row| row.to_uppercase().chars().collect()).collect::<Vec<Vec<char>>>();
    let in_box = |row: usize, column: usize| {
        let (top, left) = (row / 4 * 4, column / 4 * 4);
        (top..top + 4).flat_map(move |row| (left..left + 4).map(move |column| (row, column)))
    };
    let mut conflicts = 0;
    let rows = (0..16).map(|row| (0..16).map(|column| (row, column)).collect::<Vec<_>>());
    let columns = (0..16).map(|column| (0..16).map(|row| (row, column)).collect::<Vec<_>>());
    let boxes = (0..16).map(|number| in_box(number / 4 * 4, number % 4 * 4).collect::<Vec<_>>());
    for house in rows.chain(columns).chain(boxes) {
        let digits = house.iter().map(|(row, column)| grid[*row][*column]).filter(|c| *c != '-');
        let digits = digits.collect::<Vec<_>>();
        if digits.iter().collect::<BTreeSet<_>>().len() < digits.len() {
            conflicts += 1;
        }
    }
    let (mut filled, mut blank) = (0, 0);
    for row in 0..16 {
        for column in 0..16 {
            if grid[row][column] != '-' {
                continue;
            }
            let mut taken = BTreeSet::new();
            for i in 0..16 {
                taken.insert(grid[row][i]);
                taken.insert(grid[i][column]);
            }
            taken.extend(in_box(row, column).map(|(row, column)| grid[row][column]));
            match "0123456789ABCDEF".chars().find(|digit| !taken.contains(digit)) {
                Some(digit) => {
                    grid[row][column] = digit;
                    filled += 1;
                }
                None => blank += 1,
            }
        }
    }
    (grid.into_iter().map(String::from_iter).collect(), filled, blank, conflicts)
}
