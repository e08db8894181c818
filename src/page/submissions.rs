//! Submissions: which there are, and what became of each.

use super::layout::{Layout, outside, time, verdict};
use super::{Problem, Site, text};
use crate::model::escape::Printable;
use crate::model::submission::{Judged, Outcome, Status};
use crate::store::ledger::{Record, Which};
use gridmark_core::board::Verdict;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use std::collections::HashMap;
use std::io::Read;

/// How many submissions are on a page.
const A_PAGE: usize = 50;

/// How much of a file is shown, in bytes.
const RAW_BYTES_MAX: u64 = 64 << 10;

/// The verdict on a submission, in a word: that of its worst case.
pub(super) fn words_of(record: &Record) -> &'static str {
    let Some(done) = &record.finished else { return "open" };
    let has = |verdict| done.tally.of(verdict) > 0;
    match done.status {
        Status::Failed => "failed",
        Status::Unreadable => "unreadable",
        Status::Graded if has(Verdict::Unreadable) => "unreadable",
        Status::Graded if has(Verdict::Wrong) => "wrong",
        Status::Graded if has(Verdict::Correct) => "correct",
        Status::Graded => "counted",
    }
}

fn zone(site: &Site) -> Result<TimeZone, Problem> {
    let zone = site.standings(|standings| standings.event().time_zone.clone())?;
    Ok(zone.unwrap_or(TimeZone::UTC))
}

/// The list, as the query filters it.
pub(super) fn list(site: &Site, query: &HashMap<String, String>) -> Result<Markup, Problem> {
    let asked = |key: &str| query.get(key).map_or("", String::as_str);
    let which = Which::ALL.into_iter().find(|(_, word)| *word == asked("verdict"));
    let (which, word) = which.unwrap_or(Which::ALL[0]);
    let part = asked("name");
    let before = asked("before").parse().unwrap_or(i64::MAX);
    let records = site.dependencies.ledger.records();
    let found = records.newest(which, part.as_bytes(), before, A_PAGE).map_err(Problem::failed)?;
    let zone = zone(site)?;
    let layout = Layout {
        title: text::SUBMISSIONS,
        path: "/submissions",
        follows: before == i64::MAX,
        is_hall: false,
    };
    let older = found.last().filter(|_| found.len() == A_PAGE).map(|last| last.claimed.id);
    Ok(layout.page(html! {
        h1 { (text::SUBMISSIONS) }
        form.filters method="get" action="/submissions" {
            label { (text::VERDICT) " "
                select name="verdict" {
                    @for (_, known) in Which::ALL { option value=(known) selected[known == word] { (known) } }
                }
            }
            label { (text::NAME_HOLDS) " " input type="search" name="name" value=(part) maxlength="200"; }
            button { (text::FILTER) }
        }
        @if found.is_empty() { p { (text::NO_SUBMISSIONS) } } @else { (table(&found, &zone)) }
        @if let Some(older) = older {
            p { a rel="next" href=(address(word, part, older)) { (text::OLDER) } }
        }
    }))
}

/// The address of the list behind this submission.
fn address(word: &str, part: &str, before: i64) -> String {
    let encoded = part.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    });
    format!("/submissions?verdict={word}&name={}&before={before}", encoded.collect::<String>())
}

fn table(records: &[Record], zone: &TimeZone) -> Markup {
    html! {
        table {
            thead { tr {
                th scope="col" { (text::NAME) } th scope="col" { (text::ATTEMPT) }
                th scope="col" { (text::HANDED_IN) } th scope="col" { (text::VERDICT) }
            } }
            tbody { @for record in records {
                tr {
                    th scope="row" {
                        a href=(format!("/submissions/{}", record.claimed.id)) { (outside(&record.claimed.name.to_string())) }
                    }
                    td { (record.claimed.attempt) }
                    td { (time(record.claimed.handed_in.at_ms, zone)) }
                    td { (verdict(words_of(record))) }
                }
            } }
        }
    }
}

/// One submission.
pub(super) fn one(site: &Site, id: &str) -> Result<Markup, Problem> {
    let id: i64 = id.parse().map_err(|_| Problem::Missing)?;
    let ledger = &site.dependencies.ledger;
    let found = ledger.records().newest(Which::All, b"", id.saturating_add(1), 1);
    let record = found.map_err(Problem::failed)?.into_iter().find(|it| it.claimed.id == id);
    let record = record.ok_or(Problem::Missing)?;
    let attempts = ledger.records().of_name(&record.claimed.name).map_err(Problem::failed)?;
    let judged = ledger.changes().of_submission(id).map_err(Problem::failed)?;
    let zone = zone(site)?;
    let name = record.claimed.name.to_string();
    let layout = Layout { title: &name, path: "", follows: true, is_hall: false };
    let done = record.finished.as_ref();
    Ok(layout.page(html! {
        h1 { (outside(&name)) }
        dl {
            dt { (text::VERDICT) } dd { (verdict(words_of(&record))) }
            dt { (text::ATTEMPT) } dd { (record.claimed.attempt) }
            dt { (text::HANDED_IN) } dd {
                (time(record.claimed.handed_in.at_ms, &zone))
                @if let Some(doubt) = record.claimed.handed_in.doubt { " (in doubt: " (doubt.word()) ")" }
            }
            dt { "Bytes" } dd { (record.claimed.bytes) }
            @if let Some(blake3) = done.and_then(|done| done.blake3) {
                dt { "blake3" } dd { code { (blake3::Hash::from_bytes(blake3).to_hex().as_str()) } }
            }
            @if let Some(reason) = done.and_then(|done| done.reason.as_deref()) {
                dt { "Why it failed" } dd { (outside(reason)) }
            }
        }
        @if !judged.is_empty() { section { h2 { (text::JUDGEMENTS) } (judgements(&judged)) } }
        @if attempts.len() > 1 { section { h2 { (text::ATTEMPTS) } (table(&attempts, &zone)) } }
        section { h2 { (text::RAW) } (raw(site, &record)) }
    }))
}

/// What it was judged, the newest first.
fn judgements(judged: &[Judged]) -> Markup {
    html! {
        ol reversed { @for judged in judged.iter().rev() {
            li {
                @if let Some(entry) = &judged.judgement.entry {
                    (outside(&entry.entrant)) " " (entry.round) "/" (entry.puzzle) ": "
                }
                @match &judged.judgement.outcome {
                    Outcome::Held { why, .. } => { (verdict("held")) " " (outside(why)) }
                    Outcome::Dismissed => { "dismissed" }
                    Outcome::Marked(marked) => {
                        (verdict(marked.verdict()))
                        @if !marked.detail.is_empty() { " " (outside(&marked.detail)) }
                    }
                }
                @if let Some(cause) = judged.cause { " (by ruling " (cause) ")" }
            }
        } }
    }
}

/// The beginning of its file, as text.
fn raw(site: &Site, record: &Record) -> Markup {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = site.dependencies.archive.read(&record.claimed.archived_as)?;
        file.take(RAW_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(mut bytes) => {
            let is_cut = bytes.len() as u64 > RAW_BYTES_MAX;
            bytes.truncate(RAW_BYTES_MAX as usize);
            html! {
                pre.raw tabindex="0" dir="ltr" {
                    @for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                        (Printable(line.strip_suffix(b"\n").unwrap_or(line)).to_string()) "\n"
                    }
                }
                @if is_cut { p { (text::CUT_OFF) } }
            }
        }
        Err(error) => html! { p { (outside(&error.to_string())) } },
    }
}
