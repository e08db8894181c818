//! Standings, of the event or a round: for staff everything, for others what the public may see.

use super::layout::{Layout, outside, time};
use super::{Problem, Role, Site, text};
use crate::event::{Standings, Table};
use jiff::Timestamp;
use maud::{Markup, html};

/// The standings of the event, or of one round.
pub(super) fn page(site: &Site, role: Role, round: Option<&str>) -> Result<Markup, Problem> {
    let now_ms = Timestamp::now().as_millisecond();
    let made = site.standings(|standings| {
        let event = standings.event();
        let number = match round {
            Some(id) => Some(event.names.round(id).ok_or(Problem::Missing)?),
            None => None,
        };
        let shown = match (number, role.is_staff()) {
            (None, true) => Some(standings.overall(now_ms)),
            (None, false) => Some(standings.public_overall(now_ms)),
            (Some(number), true) => Some(standings.round(number, now_ms)),
            (Some(number), false) => standings.public_round(number, now_ms),
        };
        Ok(html! {
            h1 { (outside(&event.name)) @if let Some(number) = number { ": " (outside(&event.rounds[number].name)) } }
            nav.rounds aria-label=(text::ROUNDS) {
                a href="/standings" aria-current=[number.is_none().then_some("page")] { (text::EVENT) }
                @for (other, round) in event.rounds.iter().enumerate() {
                    a href=(format!("/standings/{}", round.id)) aria-current=[(number == Some(other)).then_some("page")] { (round.id) }
                }
            }
            @match shown {
                Some(shown) => (table(standings, number, &shown)),
                None => p { (text::NOTHING_SHOWN) },
            }
        })
    })?;
    let layout =
        Layout { title: text::STANDINGS, path: "/standings", follows: true, is_hall: false };
    match made {
        Some(content) => Ok(layout.page(content?)),
        None => Ok(layout.page(html! { p { (text::NO_EVENT) } })),
    }
}

/// A table, best first.
pub(super) fn table(standings: &Standings, round: Option<usize>, table: &Table) -> Markup {
    let event = standings.event();
    let parts: Vec<&str> = match round {
        Some(round) => event.rounds[round].puzzles.iter().map(|puzzle| &*puzzle.id).collect(),
        None => event.rounds.iter().map(|round| &*round.id).collect(),
    };
    html! {
        table.standings {
            caption { (table.state.word()) " " span.page {} }
            thead { tr {
                th scope="col" { (text::RANK) } th scope="col" { (text::NAME) }
                @for part in parts { th scope="col" { (part) } }
                th scope="col" { (text::BONUS) } th scope="col" { (text::PENALTY) }
                th scope="col" { (text::TOTAL) } th scope="col" { (text::LAST_GAIN) }
            } }
            tbody { @for row in &table.rows {
                @let entrant = &event.entrants[row.entrant];
                tr {
                    td { @match row.rank { Some(rank) => (rank), None => (row.status.word()) } }
                    th scope="row" { (outside(&entrant.name)) " " span.id { (entrant.id) } }
                    @for part in &row.parts { td { @if let Some(points) = part { (points) } } }
                    td { (row.bonus) } td { (row.penalty) } td { strong { (row.total) } }
                    td { @if let Some(ms) = row.last_gain_at_ms { (time(ms, &event.time_zone)) } }
                }
            } }
        }
    }
}
