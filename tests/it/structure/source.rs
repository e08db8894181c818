//! Rust source as the checks see it: tokens without comments, texts and tests, and the paths in it.

/// A word, a number, a punctuation character, or `::`.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub text: String,
    pub line: usize,
}

/// A path as it stands in the source, each branch of a `use` with braces by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub segments: Vec<String>,
    pub line: usize,
    /// How many inline modules it stands in.
    pub depth: usize,
    pub is_use: bool,
}

/// The tokens of `text`. Comments are left out; of texts and characters only `""` stays.
pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (length, kept) = match rest[0] {
            byte if byte.is_ascii_whitespace() => (1, None),
            b'/' if rest.starts_with(b"//") => (until(rest, b"\n"), None),
            b'/' if rest.starts_with(b"/*") => (block_comment(rest), None),
            b'"' => (quoted(rest), Some("\"\"")),
            b'\'' => match character(text, at) {
                Some(length) => (length, Some("\"\"")),
                None => (1 + word(&rest[1..]), None), // a lifetime
            },
            byte if is_word(byte) => match text_after_prefix(rest) {
                Some(length) => (length, Some("\"\"")),
                None => (word(rest), Some("")),
            },
            b':' if rest.starts_with(b"::") => (2, Some("")),
            _ => (1, Some("")),
        };
        let piece = &bytes[at..at + length];
        if let Some(kept) = kept {
            let text = if kept.is_empty() { String::from_utf8_lossy(piece) } else { kept.into() };
            tokens.push(Token { text: text.trim_start_matches("r#").to_owned(), line });
        }
        line += piece.iter().filter(|byte| **byte == b'\n').count();
        at += length;
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn word(rest: &[u8]) -> usize {
    let raw = if rest.starts_with(b"r#") { 2 } else { 0 };
    raw + rest[raw..].iter().take_while(|byte| is_word(**byte)).count()
}

fn until(rest: &[u8], end: &[u8]) -> usize {
    rest.windows(end.len()).position(|window| window == end).unwrap_or(rest.len())
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let step = match &rest[at..] {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        depth += step.0;
        at += step.1;
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// The length of a character literal at `at`, if one stands there rather than a lifetime.
fn character(text: &str, at: usize) -> Option<usize> {
    let mut inside = text[at + 1..].char_indices();
    match inside.next()?.1 {
        '\\' => Some(4 + text.get(at + 3..)?.find('\'')?),
        _ => inside.next().filter(|(_, c)| *c == '\'').map(|(length, _)| length + 2),
    }
}

/// The length of a literal such as `b"x"`, `r#"x"#` or `b'x'`, if one begins here.
fn text_after_prefix(rest: &[u8]) -> Option<usize> {
    let prefix = rest.iter().take_while(|byte| b"bcr".contains(byte)).count();
    let is_raw = rest[..prefix].contains(&b'r');
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    match rest.get(prefix + hashes) {
        Some(b'"') if is_raw => {
            let start = prefix + hashes + 1;
            let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
            Some((start + until(&rest[start..], &end) + end.len()).min(rest.len()))
        }
        Some(b'"') if hashes == 0 && prefix > 0 => Some(prefix + quoted(&rest[prefix..])),
        Some(b'\'') if rest.starts_with(b"b'") => {
            let start = if rest.get(2) == Some(&b'\\') { 4 } else { 3 };
            Some(start + until(rest.get(start..)?, b"'") + 1)
        }
        _ => None,
    }
}

/// What of a file is no test.
#[derive(Debug, Default)]
pub struct Proper {
    pub tokens: Vec<Token>,
    /// How many lines of the file are tests.
    pub test_lines: usize,
    /// The names of modules in other files that are tests.
    pub test_modules: Vec<String>,
}

/// Leaves out what is there in tests alone.
pub fn without_tests(tokens: &[Token]) -> Proper {
    let mut proper = Proper::default();
    let mut at = 0;
    while at < tokens.len() {
        let attribute = attribute(&tokens[at..]);
        if !is_for_tests(&tokens[at..at + attribute]) {
            proper.tokens.extend_from_slice(&tokens[at..at + attribute.max(1)]);
            at += attribute.max(1);
            continue;
        }
        let end = at + attribute + item(&tokens[at + attribute..]);
        let words = tokens[at..end].iter().map(|token| token.text.as_str());
        if let [.., "mod", name, ";"] = words.collect::<Vec<_>>()[..] {
            proper.test_modules.push(name.to_owned());
        }
        proper.test_lines += tokens[end - 1].line - tokens[at].line + 1;
        at = end;
    }
    proper
}

/// How many tokens the attribute `#[...]` here has; 0 if none begins here.
fn attribute(tokens: &[Token]) -> usize {
    match tokens {
        [hash, open, ..] if hash.text == "#" && open.text == "[" => 1 + group(&tokens[1..]),
        _ => 0,
    }
}

fn is_for_tests(attribute: &[Token]) -> bool {
    let has = |word: &str| attribute.iter().any(|token| token.text == word);
    let is_test = attribute.len() == 4 && has("test");
    is_test || (attribute.get(2).is_some_and(|t| t.text == "cfg") && has("test") && !has("not"))
}

/// How many tokens the group in brackets has that opens here.
fn group(tokens: &[Token]) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// How many tokens the item here has: up to its `;` or the end of its braces.
fn item(tokens: &[Token]) -> usize {
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at + 1,
            "{" => return at + group(&tokens[at..]),
            "(" | "[" => at += group(&tokens[at..]),
            _ => at += 1,
        }
    }
    at
}

/// All paths in the tokens.
pub fn paths(tokens: &[Token]) -> Vec<Path> {
    let mut paths = Vec::new();
    let (mut at, mut braces, mut modules) = (0, 0, Vec::new());
    while at < tokens.len() {
        let depth = modules.len();
        match tokens[at].text.as_str() {
            // Elsewhere `use<...>` says what a returned type captures.
            "use" if tokens.get(at + 1).is_some_and(|token| token.text != "<") => {
                at += 1;
                at += use_tree(&tokens[at..], &[], depth, &mut paths);
                continue;
            }
            "mod" if tokens.get(at + 2).is_some_and(|token| token.text == "{") => {
                modules.push(braces);
                at += 1;
            }
            "{" => braces += 1,
            "}" => {
                braces -= 1;
                modules.pop_if(|outside| *outside == braces);
            }
            text if starts_word(text) => {
                let path = plain_path(&tokens[at..]);
                at += 2 * path.len() - 2;
                let line = tokens[at].line;
                paths.push(Path { segments: path, line, depth, is_use: false });
            }
            _ => {}
        }
        at += 1;
    }
    paths
}

fn starts_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The words joined by `::` here.
fn plain_path(tokens: &[Token]) -> Vec<String> {
    let mut segments = vec![tokens[0].text.clone()];
    for pair in tokens[1..].chunks(2) {
        match pair {
            [joint, word] if joint.text == "::" && starts_word(&word.text) => {
                segments.push(word.text.clone());
            }
            _ => break,
        }
    }
    segments
}

/// Adds the paths of the branch of a `use` that begins here, and gives its number of tokens.
fn use_tree(tokens: &[Token], prefix: &[String], depth: usize, paths: &mut Vec<Path>) -> usize {
    let mut segments = prefix.to_vec();
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        match token.text.as_str() {
            "{" => {
                let end = at + group(&tokens[at..]);
                at += 1;
                while at < end - 1 {
                    at += use_tree(&tokens[at..end - 1], &segments, depth, paths);
                    at += usize::from(at < end - 1); // the comma
                }
                return end;
            }
            "," | ";" => break,
            "::" => at += 1,
            "as" => at += 2,
            word => {
                segments.push(word.to_owned());
                at += 1;
            }
        }
    }
    if segments.len() > prefix.len() {
        let line = tokens[at - 1].line;
        paths.push(Path { segments, line, depth, is_use: true });
    }
    at
}
