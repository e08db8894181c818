//! What all pages have in common.

use super::text;
use crate::model::escape;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, html};

/// A page.
pub(super) struct Layout<'a> {
    /// What it is about.
    pub title: &'a str,
    /// Its address, for its place in the navigation; nothing for one that has none.
    pub path: &'a str,
    /// Whether it follows what happens.
    pub follows: bool,
    /// Whether it is for the hall: without navigation, in large type.
    pub is_hall: bool,
}

impl Layout<'_> {
    /// The page with this content.
    pub(super) fn page(&self, content: Markup) -> Markup {
        let now_ms = Timestamp::now().as_millisecond();
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · " (text::TITLE) }
                    link rel="stylesheet" href="/style.css";
                    link rel="icon" href="data:,";
                    script type="module" src="/page.js" {}
                }
                body class=[self.is_hall.then_some("hall")] data-follows[self.follows]
                    data-now=(now_ms) data-no-contact=(text::NO_CONTACT) data-live=(text::LIVE) {
                    @if !self.is_hall {
                        a.skip href="#content" { (text::SKIP) }
                        header {
                            nav {
                                @for (path, name) in text::NAVIGATION {
                                    a href=(path) aria-current=[(path == self.path).then_some("page")] { (name) }
                                }
                            }
                            @if self.follows { (contact()) }
                        }
                    }
                    main #content tabindex="-1" { (content) }
                    @if self.is_hall && self.follows { footer { (contact()) } }
                }
            }
        }
    }
}

/// Where a page says whether it hears of what happens. Without a script it says nothing.
fn contact() -> Markup {
    html! { p #contact role="status" {} }
}

/// A page that only says something.
pub(super) fn message(words: &str) -> Markup {
    let layout = Layout { title: words, path: "", follows: false, is_hall: false };
    layout.page(html! { h1 { (escape::line(&words)) } })
}

/// Text from outside, on a line, where it cannot change the direction of what follows.
pub(super) fn outside(text: &str) -> Markup {
    html! { bdi { (escape::line(&text)) } }
}

/// A moment in the zone of the event, for people and for programs.
pub(super) fn time(ms: i64, zone: &TimeZone) -> Markup {
    let moment = Timestamp::from_millisecond(ms).unwrap_or_default();
    let local = zone.to_datetime(moment);
    html! {
        time datetime=(crate::model::rows::rfc_3339(ms)) {
            (format!("{:02}:{:02}:{:02}", local.hour(), local.minute(), local.second()))
        }
    }
}

/// A verdict: never by its colour alone.
pub(super) fn verdict(word: &str) -> Markup {
    html! { span class={ "verdict " (word) } { span aria-hidden="true" { (text::sign(word)) } " " (word) } }
}
