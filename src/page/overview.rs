//! The overview: what runs, what waits, what needs a person.

use super::layout::{Layout, outside, time, verdict};
use super::submissions::words_of;
use super::{Problem, Site, text};
use crate::event::{Shown, Standings, State, Status};
use crate::store::ledger::Which;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

/// How many of the newest submissions are listed.
const NEWEST: usize = 20;

/// How many of those that need a person are listed of each kind.
const LISTED_MAX: usize = 10;

/// Over how many minutes arrivals are drawn.
const MINUTES: i64 = 60;

pub(super) fn page(site: &Site) -> Result<Markup, Problem> {
    let now_ms = Timestamp::now().as_millisecond();
    let of_event = site.standings(|standings| event(standings, now_ms))?;
    let zone = site.standings(|standings| standings.event().time_zone.clone())?;
    let zone = zone.unwrap_or(TimeZone::UTC);
    let (title, event) = match of_event {
        Some(Event { name, clocks, person, progress }) => (name, Some((clocks, person, progress))),
        None => (text::TITLE.to_owned(), None),
    };
    let layout = Layout { title: &title, path: "/", follows: true, is_hall: false };
    let flow = (site.dependencies.flow)();
    let records = site.dependencies.ledger.records();
    let count = records.count().map_err(Problem::failed)?;
    let newest = records.newest(Which::All, b"", i64::MAX, NEWEST).map_err(Problem::failed)?;
    let open = flow.waiting + flow.in_flight;
    let (clocks, held, progress) = event.map_or((None, None, None), |(clocks, held, progress)| {
        (Some(clocks), Some(held), Some(progress))
    });
    Ok(layout.page(html! {
        h1 { (outside(&title)) }
        @if let Err(reasons) = site.dependencies.health.ready() {
            div.alert role="alert" {
                p { (text::NOT_READY) }
                ul { @for reason in reasons { li { (outside(&reason)) } } }
            }
        }
        @match clocks { Some(clocks) => (clocks), None => p { (text::NO_EVENT) } }
        ul.numbers {
            li { strong { (flow.waiting) } " " (text::WAITING)
                @if !flow.oldest.is_zero() { " (" (format!("{:.1} s", flow.oldest.as_secs_f64())) ")" } }
            li { strong { (flow.in_flight) } " " (text::IN_FLIGHT) }
            li { strong { (count.saturating_sub(open as u64)) } " " (text::DONE) }
        }
        div.columns {
            section {
                h2 { (text::NEEDS_A_PERSON) }
                (needs_a_person(site, held)?)
            }
            @if let Some(progress) = progress { section { h2 { (text::PROGRESS) } (progress) } }
            section { h2 { (text::ARRIVALS) } (arrivals(site, now_ms)?) }
        }
        section {
            h2 { (text::NEWEST) }
            @if newest.is_empty() { p { (text::NO_SUBMISSIONS) } }
            ol.newest reversed {
                @for record in newest {
                    li {
                        (time(record.claimed.handed_in.at_ms, &zone)) " "
                        a href=(format!("/submissions/{}", record.claimed.id)) {
                            (outside(&record.claimed.name.to_string()))
                        }
                        " " (verdict(words_of(&record)))
                    }
                }
            }
        }
    }))
}

/// What the overview has of an event.
struct Event {
    name: String,
    clocks: Markup,
    person: Markup,
    progress: Markup,
}

fn event(standings: &Standings, now_ms: i64) -> Event {
    let event = standings.event();
    let held = standings.held();
    let missing = standings.missing(now_ms);
    let clocks = html! {
        table.rounds {
            caption { (text::ROUNDS) }
            thead { tr {
                th scope="col" { (text::ROUND) } th scope="col" { (text::STATE) }
                th scope="col" { (text::LEFT) } th scope="col" { (text::PUBLIC) }
                th scope="col" { (text::MISSING_ENTRIES) }
            } }
            tbody { @for (number, round) in event.rounds.iter().enumerate() {
                tr {
                    th scope="row" { a href=(format!("/standings/{}", round.id)) { (round.id) } " " (outside(&round.name)) }
                    td { (standings.state(number, now_ms).word()) }
                    td { (clock(standings, number, now_ms)) }
                    td { (shown(standings.shown(number, now_ms))) }
                    td { (missing.iter().filter(|it| it.owner.round == number && takes_part(it.status)).count()) }
                }
            } }
        }
    };
    let person = html! {
        @if !held.is_empty() {
            h3 { (held.len()) " " (verdict("held")) }
            ul { @for (id, held) in held.iter().take(LISTED_MAX) {
                li {
                    a href=(format!("/submissions/{id}")) { (outside(&held.name.to_string())) } ": " (outside(&held.why))
                    @if let Some(nearest) = &held.nearest { " (" (outside(nearest)) ")" }
                }
            } }
        }
        @if standings.open_protests() > 0 { p { (standings.open_protests()) " open protests" } }
        @if standings.doubtful() > 0 { p { (standings.doubtful()) " times in doubt" } }
    };
    let progress = html! {
        @for (number, round) in event.rounds.iter().enumerate() {
            @if now_ms >= round.start_ms {
                @let table = standings.round(number, now_ms);
                @let rows = || table.rows.iter().filter(|row| takes_part(row.status));
                @let all = rows().count();
                ul.progress {
                    @for (place, puzzle) in round.puzzles.iter().enumerate() {
                        @let done = rows().filter(|row| row.parts.get(place).is_some_and(Option::is_some)).count();
                        li {
                            (round.id) "/" (puzzle.id) " "
                            progress max=(all.max(1)) value=(done) {} " " (done) "/" (all)
                        }
                    }
                }
            }
        }
    };
    Event { name: event.name.clone(), clocks, person, progress }
}

/// How much time is left of a round. A script counts it down.
fn clock(standings: &Standings, round: usize, now_ms: i64) -> Markup {
    let definition = &standings.event().rounds[round];
    let until_ms =
        if now_ms < definition.start_ms { definition.start_ms } else { definition.end_ms() };
    let left = (until_ms - now_ms).max(0) / 1_000;
    html! {
        @if standings.state(round, now_ms) == State::Running {
            span data-until=(until_ms) { (format!("{:02}:{:02}:{:02}", left / 3_600, left / 60 % 60, left % 60)) }
        }
    }
}

/// Whether something is expected of an entrant.
fn takes_part(status: Status) -> bool {
    matches!(status, Status::In | Status::Unofficial)
}

fn shown(shown: Shown) -> &'static str {
    match shown {
        Shown::Nothing => text::NOT_SHOWN,
        Shown::Until(_) => text::FROZEN,
        Shown::All => text::SHOWN,
    }
}

fn needs_a_person(site: &Site, held: Option<Markup>) -> Result<Markup, Problem> {
    let records = site.dependencies.ledger.records();
    let mut lists = Vec::new();
    for (which, word) in [(Which::Failed, "failed"), (Which::Unreadable, "unreadable")] {
        let found = records.newest(which, b"", i64::MAX, LISTED_MAX).map_err(Problem::failed)?;
        if !found.is_empty() {
            lists.push((word, found));
        }
    }
    let held = held.map_or_else(String::new, |held| held.into_string());
    Ok(html! {
        @if lists.is_empty() && held.is_empty() { p { (text::NOTHING_NEEDS_A_PERSON) } }
        (maud::PreEscaped(held))
        @for (word, found) in lists {
            h3 { a href=(format!("/submissions?verdict={word}")) { (verdict(word)) } }
            ul { @for record in found {
                li { a href=(format!("/submissions/{}", record.claimed.id)) { (outside(&record.claimed.name.to_string())) } }
            } }
        }
    })
}

/// A bar for each of the last minutes.
fn arrivals(site: &Site, now_ms: i64) -> Result<Markup, Problem> {
    let (last, since) = (now_ms / 60_000, now_ms / 60_000 - MINUTES + 1);
    let arrivals =
        site.dependencies.ledger.records().arrivals(since * 60_000).map_err(Problem::failed)?;
    let most = arrivals.iter().map(|(_, files)| *files).max().unwrap_or(0).max(1);
    let total: u64 = arrivals.iter().map(|(_, files)| files).sum();
    Ok(html! {
        svg.arrivals viewBox="0 0 240 64" role="img" aria-label=(format!("{total} in an hour, at most {most} in a minute")) {
            line x1="0" y1="60" x2="240" y2="60" {}
            @for (minute, files) in arrivals.iter().filter(|(minute, _)| *minute <= last) {
                @let height = (files * 56).div_ceil(most);
                rect x=((minute - since) * 4) y=(60 - height) width="3" height=(height) {}
            }
        }
        p { (total) " / h" }
    })
}
