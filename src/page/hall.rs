//! What the hall sees: standings as far as they may be shown, in large type and whole rows.
//!
//! Everybody may look, and all screens have the same: so it is made once for each change.

use super::layout::Layout;
use super::render::Made;
use super::standings::table;
use super::{Problem, Site, text};
use crate::event::{Shown, Standings};
use jiff::Timestamp;
use maud::{Markup, html};
use std::collections::HashMap;

/// The page of the hall: of the round that the query names, or the one that began last, or the event.
pub(super) fn page(site: &Site, query: &HashMap<String, String>) -> Result<Markup, Problem> {
    let asked = query.get("round").map(String::as_str);
    let known = site.standings(|standings| {
        let round = asked.map(|id| standings.event().names.round(id).ok_or(Problem::Missing));
        round.transpose()
    })?;
    let round = known.transpose()?.flatten();
    let made: Made = site.made.get(("hall", round), site.follow.moment());
    let content = made.get_or_make(|| {
        let now_ms = Timestamp::now().as_millisecond();
        let content = site.standings(|standings| content(standings, round, asked, now_ms))?;
        Ok(content.unwrap_or_else(|| html! { p { (text::NO_EVENT) } }))
    })?;
    let layout = Layout { title: text::STANDINGS, path: "/hall", follows: true, is_hall: true };
    Ok(layout.page(content))
}

fn content(
    standings: &Standings,
    round: Option<usize>,
    asked: Option<&str>,
    now_ms: i64,
) -> Markup {
    let event = standings.event();
    // The rounds are in the order of their starts.
    let begun = (0..event.rounds.len())
        .rev()
        .find(|round| standings.shown(*round, now_ms) != Shown::Nothing);
    let round = round.or(begun.filter(|_| asked.is_none()));
    let shown = match round {
        Some(round) => standings.public_round(round, now_ms),
        None => Some(standings.public_overall(now_ms)),
    };
    html! {
        h1 { bdi { (crate::model::escape::line(&event.name)) }
            @if let Some(round) = round { ": " bdi { (crate::model::escape::line(&event.rounds[round].name)) } } }
        @if let Some(Shown::Until(_)) = round.map(|round| standings.shown(round, now_ms)) {
            p.frozen { (text::FROZEN) }
        }
        @match shown {
            Some(shown) => div.pages data-every-ms="10000" data-paused=(text::PAUSED) { (table(standings, round, &shown)) },
            None => p { (text::NOTHING_SHOWN) },
        }
    }
}
