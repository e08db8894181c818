//! From an entrant, a round and a puzzle to the path of a file: the way back of the patterns that say whose entry a
//! path is.
//!
//! A page on which entrants hand in has to name their files so that the patterns of the event lead back to them. An
//! event may say how (`template`); otherwise it is read off its patterns, as far as these allow it. Either way
//! the path is only used if the patterns do lead back.

use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::parse as hir_of;

/// The longest template, in bytes.
const TEXT_BYTES_MAX: usize = 256;

/// How often a part of a pattern is repeated at most.
const REPEATED_MAX: u32 = 32;

/// What a name ends in where a pattern allows several things.
const EXTENSION: &str = "txt";

/// A path with places for an entrant, a round and a puzzle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The id of an entrant, a round or a puzzle: the place in [`PLACES`].
    Id(usize),
}

/// What stands for ids.
const PLACES: [&str; 3] = ["entrant", "round", "puzzle"];

impl Template {
    /// Reads a template like `{round}/{puzzle}/{entrant}.txt`.
    ///
    /// # Errors
    ///
    /// It is none; a message says why.
    pub(super) fn read(text: &str) -> Result<Template, String> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!("the template has more than {TEXT_BYTES_MAX} bytes"));
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, behind)) = rest.split_once('{') {
            parts.push(Part::Text(before.to_owned()));
            let named = behind.split_once('}').and_then(|(name, behind)| {
                Some((PLACES.iter().position(|place| *place == name)?, behind))
            });
            let Some((place, behind)) = named else {
                let end = behind.find('}').map_or(behind.len(), |end| end + 1);
                return Err(format!(
                    "`{{{}` stands for nothing; use {{entrant}}, {{round}} and {{puzzle}}",
                    &behind[..end]
                ));
            };
            parts.push(Part::Id(place));
            rest = behind;
        }
        parts.push(Part::Text(rest.to_owned()));
        parts.retain(|part| *part != Part::Text(String::new()));
        let template = Template(parts);
        template.check()?;
        Ok(template)
    }

    /// The template that a pattern suggests, if it does.
    pub(super) fn derived(pattern: &str) -> Option<Template> {
        let mut parts = Vec::new();
        add(&hir_of(pattern).ok()?, &mut parts)?;
        let template = Template(parts);
        template.check().ok()?;
        Some(template)
    }

    /// The path with these ids.
    pub(super) fn path(&self, ids: [&str; 3]) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Id(place) => ids[*place].to_owned(),
        };
        self.0.iter().map(part).collect()
    }

    /// Whether it makes relative paths that lead nowhere else, and that say all three. Ids hold letters, digits,
    /// `_` and `-` alone.
    fn check(&self) -> Result<(), String> {
        if let Some(missing) = (0..PLACES.len()).find(|place| !self.0.contains(&Part::Id(*place))) {
            return Err(format!("the template does not say the {0}: add {{{0}}}", PLACES[missing]));
        }
        let path = self.path(["1"; 3]);
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(
                "the template has to be a path below the inbox, without empty parts, `.` and `..`"
                    .into(),
            );
        }
        if path.contains(|letter: char| letter.is_control() || letter == '\\') {
            return Err("the template holds control characters or `\\`".into());
        }
        Ok(())
    }
}

/// Adds something that fits a part of a pattern; `None` if nothing is found that does.
fn add(hir: &Hir, parts: &mut Vec<Part>) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => push(parts, std::str::from_utf8(&literal.0).ok()?)?,
        HirKind::Class(class) => push(parts, letter_of(class)?.encode_utf8(&mut [0; 4]))?,
        HirKind::Repetition(repetition) => {
            let (least, most) = (repetition.min, repetition.max.unwrap_or(u32::MAX));
            let extension = EXTENSION.chars().count() as u32;
            match repetition.sub.kind() {
                _ if least == 0 => {}
                _ if least > REPEATED_MAX => return None,
                HirKind::Class(class)
                    if (least..=most).contains(&extension)
                        && EXTENSION.chars().all(|letter| is_in(class, letter)) =>
                {
                    push(parts, EXTENSION)?;
                }
                _ => (0..least).try_for_each(|_| add(&repetition.sub, parts))?,
            }
        }
        HirKind::Capture(capture) => {
            let place = PLACES.iter().position(|place| capture.name.as_deref() == Some(place));
            match place {
                Some(place) => parts.push(Part::Id(place)),
                None => add(&capture.sub, parts)?,
            }
        }
        HirKind::Concat(all) => all.iter().try_for_each(|one| add(one, parts))?,
        HirKind::Alternation(all) => add(all.first()?, parts)?,
    }
    Some(())
}

/// Adds a text; `None` if there is more of it than a template may have.
fn push(parts: &mut Vec<Part>, text: &str) -> Option<()> {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
    let bytes = |part: &Part| if let Part::Text(text) = part { text.len() } else { 0 };
    (parts.iter().map(bytes).sum::<usize>() <= TEXT_BYTES_MAX).then_some(())
}

fn is_in(class: &Class, letter: char) -> bool {
    match class {
        Class::Unicode(class) => {
            class.iter().any(|range| (range.start()..=range.end()).contains(&letter))
        }
        Class::Bytes(class) => u8::try_from(letter).is_ok_and(|byte| {
            class.iter().any(|range| (range.start()..=range.end()).contains(&byte))
        }),
    }
}

/// A plain letter of a class.
fn letter_of(class: &Class) -> Option<char> {
    ('a'..='z').chain('0'..='9').chain("-_. ".chars()).chain('A'..='Z').find(|it| is_in(class, *it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(template: &Template) -> String {
        template.path(["101", "r1", "p2"])
    }

    #[test]
    fn a_template_is_read_and_what_is_none_is_refused() {
        let good = Template::read("in/{round}/{puzzle}-{entrant}.txt").expect("a template");
        assert_eq!(path(&good), "in/r1/p2-101.txt");
        let long = "x".repeat(10_000);
        for (text, why) in [
            ("{round}/{puzzle}.txt", "does not say the entrant"),
            ("", "does not say the entrant"),
            ("{rnd}/{puzzle}/{entrant}", "`{rnd}` stands for nothing"),
            ("{round}/{puzzle}/{entrant", "`{entrant` stands for nothing"),
            ("/{round}/{puzzle}/{entrant}", "below the inbox"),
            ("{round}/../{puzzle}/{entrant}", "below the inbox"),
            ("{round}//{puzzle}/{entrant}", "below the inbox"),
            ("{round}/{puzzle}/{entrant}/", "below the inbox"),
            ("{round}/{puzzle}\n/{entrant}", "control characters"),
            ("{round}\\{puzzle}/{entrant}", "control characters"),
            (&long, "more than 256 bytes"),
        ] {
            let refused = Template::read(text).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn templates_are_read_off_patterns() {
        for (pattern, expected) in [
            (r"^(?<round>[^/]+)/(?<puzzle>[^/]+)/(?<entrant>[^/.]+)\.\w+$", Some("r1/p2/101.txt")),
            (
                r"^(?<entrant>[^/]+)/(?<round>r[0-9]+)-(?<puzzle>p[0-9]+)\.\w+$",
                Some("101/r1-p2.txt"),
            ),
            (r"^(?<round>\w+)_(?<puzzle>\w+)_(?<entrant>\w+)\.(csv|txt)$", Some("r1_p2_101.csv")),
            (r"^.*/(?<round>\w+)/(?<puzzle>\w+)/(?<entrant>\w+)$", None),
            (
                r"(?<round>\w+)/(?<puzzle>\w+)/(?<entrant>\w+)(-v[0-9]+)?\.[a-z]{1,2}",
                Some("r1/p2/101.a"),
            ),
            (
                r"^hall [0-9]{3}/(?<round>\w+)/(?<puzzle>\w+)/(?<entrant>\w+)$",
                Some("hall 000/r1/p2/101"),
            ),
            (r"^\.\./(?<round>\w+)/(?<puzzle>\w+)/(?<entrant>\w+)$", None),
            (r"^(?<round>\w+)/(?<puzzle>\w+)/(?<entrant>\w+)x{40}$", None),
            (r"^(?<round>\w+)/(?<puzzle>\w+)/(?<entrant>\w+)((x{30}){30}){30}$", None),
            (r"^(?<round>\w+)/(?<puzzle>\w+)/(?<entrant>\w+)\p{Greek}$", None),
            ("(", None),
        ] {
            let derived = Template::derived(pattern);
            assert_eq!(derived.as_ref().map(path).as_deref(), expected, "{pattern}");
        }
    }
}
