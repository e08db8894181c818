//! Cards for entrants, made to be printed on A4 and cut: ten a page, black on white.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};

/// The card of an entrant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The entrant's id.
    pub entrant: String,
    /// The name.
    pub name: String,
    /// The team, if the roster says so.
    pub team: String,
    /// The seat, if the roster says so.
    pub seat: String,
    /// The code, as it is shown.
    pub code: String,
}

const STYLE: &str = "
@page { size: A4 portrait; margin: 10mm; }
* { box-sizing: border-box; }
html { background: #fff; color: #000; font: 11pt/1.3 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 190mm; }
h1 { font-size: 12pt; margin: 0 0 4mm; }
ul { display: grid; grid-template-columns: 1fr 1fr; list-style: none; margin: 0; padding: 0; }
li { border: .3mm dashed #000; break-inside: avoid; height: 54mm; overflow: hidden; padding: 4mm 5mm; }
p { margin: 0 0 1mm; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.name { font-size: 14pt; font-weight: 700; }
.code { font: 700 20pt/1.5 ui-monospace, monospace; letter-spacing: .05em; }
.note { font-size: 9pt; white-space: normal; }
@media print { h1 { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; width: 1px; } }
";

/// A page with these cards, which is complete by itself. Names may be in any script and may hold anything.
pub fn sheet(event: &str, cards: &[Card]) -> String {
    let page: Markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                meta name="robots" content="noindex";
                title { "Cards: " (event) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { bdi { (event) } ": cards of entrants. Print them on A4, cut them, and delete this file." }
                    ul {
                        @for card in cards {
                            li {
                                p { bdi { (event) } }
                                p.name { bdi { (card.name) } }
                                p {
                                    "Entrant " bdi { (card.entrant) }
                                    @if !card.seat.is_empty() { " · Seat " bdi { (card.seat) } }
                                    @if !card.team.is_empty() { " · " bdi { (card.team) } }
                                }
                                p.code { (card.code) }
                                p.note {
                                    "Your code to hand in and to see your results. Keep it to yourself. \
                                     Lost it? A new card makes this one invalid."
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(name: &str) -> Card {
        Card {
            entrant: "101".into(),
            name: name.into(),
            team: String::new(),
            seat: "A7".into(),
            code: "34679-ACDEF".into(),
        }
    }

    #[test]
    fn hostile_names_stay_text() {
        let hostile = "<script>alert(1)</script>\"'&\u{202e}</style>";
        let page = sheet(hostile, &[card(hostile)]);
        let escaped = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp;\u{202e}&lt;/style&gt;";
        assert_eq!(page.matches(&format!("<bdi>{escaped}</bdi>")).count(), 3, "{page}");
        assert_eq!(page.matches("<script").count(), 0, "{page}");
        assert_eq!(page.matches("</style>").count(), 1, "{page}");
        assert!(!page.contains("http"), "nothing is loaded");
    }

    #[test]
    fn a_card_says_whose_it_is_and_what_is_unknown_is_left_out() {
        let page = sheet("Open", &[card("One")]);
        for part in [
            "<p class=\"name\"><bdi>One</bdi></p>",
            "<p>Entrant <bdi>101</bdi> · Seat <bdi>A7</bdi></p>",
            "<p class=\"code\">34679-ACDEF</p>",
            "@page { size: A4 portrait;",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }
}
