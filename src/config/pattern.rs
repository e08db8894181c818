//! Patterns for names of files and folders, in which `*` stands for any bytes, or none, and `?` for one byte.

/// Whether `name` matches `pattern`; ASCII letters match in either case.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut named) = (0, 0);
    // Where to resume if the text after the latest `*` does not match: `*` then takes one byte more.
    let mut latest_star = None;
    while named < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                latest_star = Some((at, named));
                at += 1;
            }
            Some(byte) if *byte == b'?' || byte.eq_ignore_ascii_case(&name[named]) => {
                at += 1;
                named += 1;
            }
            _ => match &mut latest_star {
                Some((star, taken)) => {
                    *taken += 1;
                    (at, named) = (*star + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_is_any_run_and_a_question_mark_one_byte() {
        for (pattern, name) in [
            ("*.part", "p3.txt.part"),
            ("*.part", "P3.PART"),
            ("*.part", ".part"),
            (".*", ".hidden"),
            ("*", ""),
            ("**", "x"),
            ("a*b*c", "abbc"),
            ("a*b*c", "a-b-b-c"),
            ("*aab", "aaaab"),
            ("", ""),
            ("a?c", "a-c"),
            ("*.sb-??", "p.sb-1.sb-23"),
        ] {
            assert!(matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }

    #[test]
    fn the_rest_must_fit() {
        for (pattern, name) in [
            ("*.part", "p3.parts"),
            ("*.part", "part"),
            (".*", "a.b"),
            ("a*b*c", "acb"),
            ("", "x"),
            ("x", ""),
            ("*~", "~x"),
            ("a?", "a"),
            ("?", ""),
            ("*.sb-??", "p.sb-123"),
        ] {
            assert!(!matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }
}
