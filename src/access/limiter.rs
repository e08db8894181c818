//! Slows those down who try codes, or hand in too much.
//!
//! Each failure costs its source, and all sources together, a part of what they may fail in a minute; that comes back
//! with time. Who has used it up waits, whatever is tried: otherwise a right guess would show. It is kept as one
//! moment for each source, at which it has everything back (the generic cell rate algorithm), and so many sources
//! are remembered at most. Those beyond share one.
//!
//! Somebody with many addresses could use up what all sources have together, so that nobody gets in. So a source that has
//! succeeded not long ago waits for its own failures alone.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// The time for which a limit is given.
const PERIOD: Duration = Duration::from_secs(60);

/// How long a source that has succeeded does not wait for the failures of others.
const TRUSTED: Duration = Duration::from_secs(60 * 60);

/// Counts failures by their source. Time is what the caller says.
#[derive(Debug)]
pub struct Limiter<S> {
    one: Duration,
    all: Duration,
    sources_max: usize,
    sources: HashMap<S, Instant>,
    /// Of all sources that are not remembered.
    others: Option<Instant>,
    together: Option<Instant>,
    /// When sources have succeeded last.
    succeeded: HashMap<S, Instant>,
}

impl<S: Eq + Hash> Limiter<S> {
    /// Allows so many failures a minute from one source, and from all together, and remembers so many sources.
    pub fn new(of_one_max: u32, of_all_max: u32, sources_max: usize) -> Limiter<S> {
        let [one, all] = [of_one_max, of_all_max].map(|most| PERIOD / most.max(1));
        Limiter {
            one,
            all,
            sources_max,
            sources: HashMap::new(),
            others: None,
            together: None,
            succeeded: HashMap::new(),
        }
    }

    /// How long this source has to wait before it may try; nothing if it may do so now.
    pub fn wait(&self, source: &S, now: Instant) -> Option<Duration> {
        let own = match self.sources.get(source) {
            Some(own) => Some(*own),
            None if self.sources.len() < self.sources_max => None,
            None => self.others,
        };
        let of = |whole_at: Option<Instant>, cost: Duration| {
            let missing = whole_at?.saturating_duration_since(now);
            let over = (missing + cost).checked_sub(PERIOD)?;
            (!over.is_zero()).then_some(over)
        };
        let is_trusted = self
            .succeeded
            .get(source)
            .is_some_and(|at| now.saturating_duration_since(*at) < TRUSTED);
        let all = if is_trusted { None } else { of(self.together, self.all) };
        of(own, self.one).max(all)
    }

    /// Notes a success.
    pub fn succeeded(&mut self, source: S, now: Instant) {
        if self.succeeded.len() >= self.sources_max {
            self.succeeded.retain(|_, at| now.saturating_duration_since(*at) < TRUSTED);
        }
        if self.succeeded.len() < self.sources_max || self.succeeded.contains_key(&source) {
            self.succeeded.insert(source, now);
        }
    }

    /// Counts a failure.
    pub fn failed(&mut self, source: S, now: Instant) {
        if self.sources.len() >= self.sources_max {
            self.sources.retain(|_, whole_at| *whole_at > now);
        }
        let later = |whole_at: Option<Instant>, cost| whole_at.map_or(now, |at| at.max(now)) + cost;
        if self.sources.len() < self.sources_max || self.sources.contains_key(&source) {
            let own = self.sources.entry(source).or_insert(now);
            *own = later(Some(*own), self.one);
        } else {
            self.others = Some(later(self.others, self.one));
        }
        self.together = Some(later(self.together, self.all));
    }
}

/// The source that an address stands for: of IPv6 its network, since everybody has many addresses in one.
pub fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => {
            let [a, b, c, d, ..] = six.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        four => four,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES_MAX: usize = 1_000;
    const SECOND: Duration = Duration::from_secs(1);

    /// Tries as often as it may in this time, and returns how often it did.
    fn failures(limiter: &mut Limiter<u32>, source: u32, from: Instant, seconds: u32) -> usize {
        let (end, mut now, mut count) = (from + seconds * SECOND, from, 0);
        while now < end {
            match limiter.wait(&source, now) {
                Some(wait) => now += wait,
                None => {
                    limiter.failed(source, now);
                    count += 1;
                }
            }
        }
        count
    }

    #[test]
    fn a_source_fails_a_minutes_worth_at_once_and_then_as_fast_as_time_passes() {
        let (mut limiter, start) = (Limiter::new(20, 1_000, SOURCES_MAX), Instant::now());
        for _ in 0..20 {
            assert_eq!(limiter.wait(&1, start), None);
            limiter.failed(1, start);
        }
        assert_eq!(limiter.wait(&1, start), Some(3 * SECOND));
        assert_eq!(limiter.wait(&2, start), None, "others do not wait");
        assert_eq!(limiter.wait(&1, start + 3 * SECOND), None);
        assert_eq!(failures(&mut limiter, 1, start + 3 * SECOND, 60), 20);
        // After a minute without failures all is as it was.
        assert_eq!(failures(&mut limiter, 1, start + 200 * SECOND, 1), 20);
    }

    #[test]
    fn all_sources_together_are_slowed_down_too() {
        let (mut limiter, start) = (Limiter::new(20, 50, SOURCES_MAX), Instant::now());
        let counts = [1, 2, 3, 4].map(|source| {
            (0..)
                .take_while(|_| {
                    let may = limiter.wait(&source, start).is_none();
                    if may {
                        limiter.failed(source, start);
                    }
                    may
                })
                .count()
        });
        assert_eq!(counts, [20, 20, 10, 0]);
        assert_eq!(limiter.wait(&9, start), Some(PERIOD / 50));
    }

    #[test]
    fn who_has_succeeded_not_long_ago_does_not_wait_for_others() {
        let (mut limiter, start) = (Limiter::new(20, 50, SOURCES_MAX), Instant::now());
        limiter.succeeded(1, start);
        let at = start + TRUSTED - SECOND;
        (0..50).for_each(|i| limiter.failed(100 + i, at));
        assert_eq!(limiter.wait(&1, at), None);
        assert!(limiter.wait(&2, at).is_some());
        // Own failures count as before, and the time ends.
        (0..20).for_each(|_| limiter.failed(1, at));
        assert_eq!(limiter.wait(&1, at), Some(3 * SECOND));
        let later = start + TRUSTED + PERIOD;
        (0..50).for_each(|i| limiter.failed(200 + i, later));
        assert!(limiter.wait(&1, later).is_some());
        // It is bounded, too.
        (0..3 * SOURCES_MAX as u32).for_each(|source| limiter.succeeded(source, later));
        assert_eq!(limiter.succeeded.len(), SOURCES_MAX);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_nobody_escapes_by_that() {
        let (mut limiter, start) = (Limiter::new(2, 10_000_000, SOURCES_MAX), Instant::now());
        for source in 0..3 * SOURCES_MAX as u32 {
            limiter.failed(source, start);
        }
        assert_eq!(limiter.sources.len(), SOURCES_MAX);
        assert_eq!(limiter.wait(&0, start), None, "it has failed once");
        assert!(limiter.wait(&u32::MAX, start).is_some(), "it shares with many others");
        // Once they have everything back, they are forgotten.
        let later = start + 2 * PERIOD;
        limiter.failed(u32::MAX, later);
        assert_eq!(limiter.sources.len(), 1);
    }

    #[test]
    fn addresses_of_one_network_are_one_source() {
        let source = |text: &str| source_of(text.parse().expect("an address"));
        assert_eq!(source("2001:db8:1:2:3:4:5:6"), source("2001:db8:1:2::1"));
        assert_ne!(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
        assert_eq!(source("::ffff:192.0.2.7"), source("192.0.2.7"));
        assert_ne!(source("192.0.2.7"), source("192.0.2.8"));
    }
}
