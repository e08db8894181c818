//! Who may what.
//!
//! There are four roles. The *hall* needs nothing: it sees what the public may see. An *entrant* has a card with a
//! code that is good as long as no other card is printed for them. A *judge* gets a code that is valid once and for ten
//! minutes, and exchanges it for a token that ends with their time, or when somebody revokes them. The *director* gives
//! a passphrase with each action of theirs.
//!
//! Who gets what is decided by staff, so [the jury](crate::jury) records it, as rulings. Here is what is asked with each
//! request: whose code or token it is. The ledger has hashes alone, and what it knows is kept in memory, since its
//! commits must not keep a page waiting. Codes can be guessed, so failures are counted by their source and slow
//! it down; tokens cannot, so judges are never slowed down by what others try.

mod cards;
mod code;
mod limiter;
mod passphrase;

pub use cards::{Card, sheet};
pub use code::{Code, Purpose, Token};
pub use limiter::{Limiter, source_of};
pub use passphrase::{BYTES_MAX as PASSPHRASE_BYTES_MAX, Typed};

use crate::config::Settings;
use crate::model::submission::Name;
use crate::model::words::counted;
use crate::store::ledger::{self, Judge, JudgeState, Ledger, Passphrase};
use crate::telemetry::emit::{self, CodeRefusal, HandInResult, Secret};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many addresses are remembered from which wrong codes came, and how many from which right ones did.
const ADDRESSES_MAX: usize = 4_096;

/// How many entrants are remembered who hand in: as many as an event may have.
const ENTRANTS_MAX: usize = 100_000;

/// How long a judge's code is valid, in milliseconds.
pub const INVITATION_MS: i64 = 10 * 60 * 1_000;

/// Says whose codes and tokens are.
pub struct Access {
    ledger: Arc<Ledger>,
    /// What the ledger says; nothing until it is asked for, and again after each change.
    known: Mutex<Option<Arc<Known>>>,
    /// Each is held while a code is looked at, so that nobody tries several at a time.
    invitations: Mutex<Limiter<IpAddr>>,
    cards: Mutex<Limiter<IpAddr>>,
    passphrases: Mutex<Limiter<IpAddr>>,
    /// What entrants hand in, by their ids.
    hand_ins: Mutex<Limiter<String>>,
    hand_ins_per_puzzle_max: u32,
}

/// What a ledger knows, by hashes, which are compared in constant time.
struct Known {
    judges: Vec<Judge>,
    /// Places of judges by their tokens, and by their codes.
    tokens: HashMap<blake3::Hash, usize>,
    codes: HashMap<blake3::Hash, usize>,
    cards: HashMap<blake3::Hash, String>,
    passphrase: Option<Passphrase>,
}

/// Who asks, and when.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// The address from which it is asked.
    pub from: IpAddr,
    /// The time, in milliseconds since 1970.
    pub wall_ms: i64,
    /// The time by a clock that nobody sets.
    pub steady: Instant,
}

/// Why somebody is not let in.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// It is no code that is valid.
    #[error("{}", wrong(*.0))]
    Wrong(Secret),
    /// Too many codes were wrong.
    #[error("too many wrong codes were tried: wait {} seconds, then try again", .0.as_secs() + 1)]
    Wait(Duration),
    /// Somebody hands in too much in a short time.
    #[error("too many files were handed in in a short time: wait {} seconds, then try again", .0.as_secs() + 1)]
    TooFast(Duration),
    /// Somebody has handed in too much for a puzzle.
    #[error("{} handed in for this puzzle already, and no more are taken: call staff", were(*.0))]
    TooMany(u32),
    /// There is no passphrase.
    #[error("no passphrase is set yet: `gridmark judges passphrase` sets it")]
    NotSet,
    /// The ledger cannot be read or written.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// The system refuses something.
    #[error("the system refuses random numbers or memory")]
    System(#[from] io::Error),
}

fn wrong(secret: Secret) -> &'static str {
    match secret {
        Secret::Invitation => {
            "this code is not valid: it is mistyped, was used before, or is older than ten minutes; ask for a new one"
        }
        Secret::Card => {
            "this code is not valid: it is mistyped, or another card was printed since; look at your newest card"
        }
        Secret::Passphrase => "this is not the passphrase",
    }
}

fn were(files: u32) -> String {
    let verb = if files == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(files as usize, "file"))
}

impl Access {
    /// What this ledger says about who may what.
    pub fn new(settings: &Settings, ledger: Arc<Ledger>) -> Access {
        let limiter = || {
            let of_one_max = settings.access.source_failures_per_minute_max;
            Mutex::new(Limiter::new(
                of_one_max,
                settings.access.failures_per_minute_max,
                ADDRESSES_MAX,
            ))
        };
        let of_one_max = settings.hand_in.files_per_minute_max;
        Access {
            ledger,
            known: Mutex::default(),
            invitations: limiter(),
            cards: limiter(),
            passphrases: limiter(),
            hand_ins: Mutex::new(Limiter::new(of_one_max, u32::MAX, ENTRANTS_MAX)),
            hand_ins_per_puzzle_max: settings.hand_in.files_per_puzzle_max,
        }
    }

    /// The token for a judge's code, which is used up with that, and whose it is.
    ///
    /// # Errors
    ///
    /// The code is not valid, too many were tried, or the ledger cannot be used.
    pub fn exchange(&self, code: &str, asking: &Asking) -> Result<(Token, Judge), Denied> {
        let exchange = |known: &Known| {
            let hash = Code::read(code).map(|code| code.hash(Purpose::Invitation));
            let place = hash.and_then(|hash| known.codes.get(&hash));
            let judge = place.map(|place| &known.judges[*place]);
            let Some(judge) = judge.filter(|it| it.state(asking.wall_ms) == JudgeState::Invited)
            else {
                return Ok(None);
            };
            let token = Token::random()?;
            let hash = *token.hash().as_bytes();
            let is_exchanged = self.ledger.access().exchange(judge.ruling, &hash)?;
            self.forget();
            Ok(is_exchanged.then(|| (token, Judge { token: Some(hash), ..judge.clone() })))
        };
        let (token, judge) =
            self.limited(&self.invitations, Secret::Invitation, asking, exchange)?;
        emit::judge_signed_in(&judge.name);
        Ok((token, judge))
    }

    /// The judge who has this token, if it is one that is in force.
    ///
    /// # Errors
    ///
    /// The ledger cannot be read.
    pub fn judge(&self, token: &str, wall_ms: i64) -> Result<Option<Judge>, ledger::Error> {
        let Some(token) = Token::read(token) else { return Ok(None) };
        let known = self.known()?;
        let judge = known.tokens.get(&token.hash()).map(|place| &known.judges[*place]);
        Ok(judge.filter(|judge| judge.state(wall_ms) == JudgeState::Active).cloned())
    }

    /// The id of the entrant whose card has this code.
    ///
    /// # Errors
    ///
    /// There is none, too many were tried, or the ledger cannot be read.
    pub fn entrant(&self, code: &str, asking: &Asking) -> Result<String, Denied> {
        self.limited(&self.cards, Secret::Card, asking, |known| {
            let hash = Code::read(code).map(|code| code.hash(Purpose::Card));
            Ok(hash.and_then(|hash| known.cards.get(&hash)).cloned())
        })
    }

    /// Makes sure that an entrant may hand in a file of this name now, and counts it.
    ///
    /// # Errors
    ///
    /// It is one too many, in a minute or for the puzzle that the name stands for; or the ledger cannot be read.
    pub fn admit_hand_in(&self, entrant: &str, name: &Name, now: Instant) -> Result<(), Denied> {
        let mut limiter = self.hand_ins.lock().unwrap_or_else(PoisonError::into_inner);
        let entrant = entrant.to_owned();
        let admitted = match limiter.wait(&entrant, now) {
            Some(wait) => Err(Denied::TooFast(wait)),
            None => match self.ledger.records().attempts_of(name)? {
                many if many >= self.hand_ins_per_puzzle_max => Err(Denied::TooMany(many)),
                _ => {
                    limiter.failed(entrant, now);
                    Ok(())
                }
            },
        };
        admitted.inspect_err(|why| emit::hand_in_refused(name, HandInResult::Limited, why))
    }

    /// Makes sure that this is the director's passphrase. Takes its time and memory on purpose: not to be called
    /// where others wait.
    ///
    /// # Errors
    ///
    /// It is not, none is set, too many were tried, or the ledger cannot be read.
    pub fn director(&self, passphrase: &str, asking: &Asking) -> Result<(), Denied> {
        self.limited(&self.passphrases, Secret::Passphrase, asking, |known| {
            let stored = known.passphrase.as_ref().ok_or(Denied::NotSet)?;
            Ok(passphrase::is_it(passphrase, stored)?.then_some(()))
        })
    }

    /// All judges, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// The ledger cannot be read.
    pub fn judges(&self) -> Result<Vec<Judge>, ledger::Error> {
        Ok(self.known()?.judges.clone())
    }

    /// Reads the ledger again when it is asked next: it was changed.
    pub fn forget(&self) {
        *self.kept() = None;
    }

    /// What `look` finds, unless too many codes of this source, or of all, were wrong.
    fn limited<T>(
        &self,
        limiter: &Mutex<Limiter<IpAddr>>,
        secret: Secret,
        asking: &Asking,
        look: impl FnOnce(&Known) -> Result<Option<T>, Denied>,
    ) -> Result<T, Denied> {
        let mut limiter = limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let source = source_of(asking.from);
        if let Some(wait) = limiter.wait(&source, asking.steady) {
            emit::code_refused(secret, CodeRefusal::Slowed, asking.from);
            return Err(Denied::Wait(wait));
        }
        let known = self.known()?;
        match look(&known)? {
            Some(found) => {
                limiter.succeeded(source, asking.steady);
                Ok(found)
            }
            None => {
                limiter.failed(source, asking.steady);
                emit::code_refused(secret, CodeRefusal::Wrong, asking.from);
                Err(Denied::Wrong(secret))
            }
        }
    }

    fn known(&self) -> Result<Arc<Known>, ledger::Error> {
        // It is held while the ledger is read, so that a change meanwhile is not missed.
        let mut kept = self.kept();
        if let Some(known) = &*kept {
            return Ok(Arc::clone(known));
        }
        let rows = self.ledger.access();
        let judges = rows.judges()?;
        let places = || judges.iter().enumerate();
        let known = Known {
            tokens: places()
                .filter_map(|(place, judge)| Some((judge.token?.into(), place)))
                .collect(),
            codes: places().map(|(place, judge)| (judge.code.into(), place)).collect(),
            cards: rows.cards()?.into_iter().map(|(id, code)| (code.into(), id)).collect(),
            passphrase: rows.passphrase()?,
            judges,
        };
        Ok(Arc::clone(kept.insert(Arc::new(known))))
    }

    fn kept(&self) -> MutexGuard<'_, Option<Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ruling::Draft;
    use crate::store::ledger::{Decision, Grant};
    use std::net::Ipv4Addr;
    use tempfile::TempDir;

    /// When it all happens, in milliseconds since 1970.
    const NOW_MS: i64 = 1_800_000_000_000;

    struct Desk {
        _folder: TempDir,
        ledger: Arc<Ledger>,
        access: Access,
        started: Instant,
    }

    impl Desk {
        fn new() -> Desk {
            let folder = tempfile::tempdir().expect("a folder");
            let ledger = Ledger::open(&folder.path().join("ledger.db")).expect("a ledger");
            let ledger = Arc::new(ledger);
            let access = Access::new(&Settings::default(), Arc::clone(&ledger));
            Desk { _folder: folder, ledger, access, started: Instant::now() }
        }

        fn grant(&self, action: &str, grant: Grant) -> i64 {
            let draft = Draft { action: action.into(), ..Draft::default() };
            let decision = Decision { draft, grant: Some(grant), ..Decision::default() };
            let recorded = self.ledger.changes().record(&[decision], NOW_MS).expect("recorded");
            self.access.forget();
            assert_eq!(self.ledger.faults().expect("a ledger"), [""; 0]);
            recorded[0].number
        }

        /// Adds a judge who may judge for an hour, and returns the code and the ruling.
        fn judge(&self, name: &str) -> (String, i64) {
            let code = Code::random().expect("a code");
            let grant = Grant::Judge {
                name: name.into(),
                code: *code.hash(Purpose::Invitation).as_bytes(),
                code_until_ms: NOW_MS + INVITATION_MS,
                until_ms: NOW_MS + 3_600_000,
            };
            (code.to_string(), self.grant("judge-add", grant))
        }

        fn card(&self, entrant: &str) -> String {
            let code = Code::random().expect("a code");
            let card = (entrant.to_owned(), *code.hash(Purpose::Card).as_bytes());
            self.grant("cards", Grant::Cards(vec![card]));
            code.to_string()
        }

        /// Somebody at an address asks, so many milliseconds later.
        fn asking(&self, address: u8, later_ms: i64) -> Asking {
            Asking {
                from: Ipv4Addr::new(192, 0, 2, address).into(),
                wall_ms: NOW_MS + later_ms,
                steady: self.started + Duration::from_millis(later_ms as u64),
            }
        }
    }

    #[test]
    fn a_judges_code_is_good_once_and_for_ten_minutes() {
        let desk = Desk::new();
        let (code, ruling) = desk.judge("Ada");
        let (token, judge) =
            desk.access.exchange(&code, &desk.asking(1, 599_999)).expect("in time");
        assert_eq!((judge.name.as_str(), judge.ruling), ("Ada", ruling));
        let again = desk.access.exchange(&code, &desk.asking(1, 599_999)).expect_err("used");
        assert!(matches!(again, Denied::Wrong(Secret::Invitation)), "{again}");
        let token = token.to_string();
        let name = |later_ms| {
            let judge = desk.access.judge(&token, NOW_MS + later_ms).expect("a ledger");
            judge.map(|judge| judge.name)
        };
        assert_eq!(name(3_599_999).as_deref(), Some("Ada"));
        assert_eq!(name(3_600_000), None, "their time is over");
        let (late, _) = desk.judge("Bob");
        desk.access.exchange(&late, &desk.asking(1, 600_000)).expect_err("too late");
        // A service that is started again knows it all.
        let again = Access::new(&Settings::default(), Arc::clone(&desk.ledger));
        assert!(again.judge(&token, NOW_MS).expect("a ledger").is_some());
    }

    #[test]
    fn who_is_revoked_has_neither_code_nor_token() {
        let desk = Desk::new();
        let (code, ada) = desk.judge("Ada");
        let (token, _) = desk.access.exchange(&code, &desk.asking(1, 0)).expect("a token");
        let (unused, bob) = desk.judge("Bob");
        desk.grant("judge-revoke", Grant::Revoke(ada));
        desk.grant("judge-revoke", Grant::Revoke(bob));
        assert!(desk.access.judge(&token.to_string(), NOW_MS).expect("a ledger").is_none());
        desk.access.exchange(&unused, &desk.asking(1, 0)).expect_err("revoked");
        let states = desk.access.judges().expect("a ledger");
        assert!(states.iter().all(|judge| judge.state(NOW_MS) == JudgeState::Revoked));
    }

    #[test]
    fn a_new_card_makes_the_one_before_invalid_and_no_other() {
        let desk = Desk::new();
        let (first, other) = (desk.card("101"), desk.card("102"));
        let entrant = |code: &str| desk.access.entrant(code, &desk.asking(1, 0)).ok();
        assert_eq!(entrant(&first).as_deref(), Some("101"));
        assert_eq!(entrant(&first.to_lowercase()).as_deref(), Some("101"), "as often as they like");
        let second = desk.card("101");
        assert_eq!(entrant(&first), None);
        assert_eq!(entrant(&second).as_deref(), Some("101"));
        assert_eq!(entrant(&other).as_deref(), Some("102"));
        // A card is no judge's code, nor the other way round.
        let (invitation, _) = desk.judge("Ada");
        assert_eq!(entrant(&invitation), None);
        desk.access.exchange(&second, &desk.asking(1, 0)).expect_err("a card");
    }

    #[test]
    fn the_director_gives_the_passphrase_that_was_set_last() {
        let desk = Desk::new();
        let is_it = |text: &str| desk.access.director(text, &desk.asking(1, 0));
        assert!(matches!(is_it("anything at all"), Err(Denied::NotSet)));
        for passphrase in ["a first passphrase", "another passphrase"] {
            let stored = Typed(passphrase.into()).stored().expect("random numbers");
            desk.grant("passphrase", Grant::Passphrase(stored.expect("long enough")));
        }
        is_it("another passphrase").expect("the passphrase");
        assert!(matches!(is_it("a first passphrase"), Err(Denied::Wrong(Secret::Passphrase))));
    }

    #[test]
    fn who_tries_many_codes_waits_and_a_token_never_does() {
        let desk = Desk::new();
        let card = desk.card("101");
        let (code, _) = desk.judge("Ada");
        let (token, _) = desk.access.exchange(&code, &desk.asking(1, 0)).expect("a token");
        for _ in 0..20 {
            let wrong = Code::random().expect("a code").to_string();
            desk.access.entrant(&wrong, &desk.asking(1, 0)).expect_err("wrong");
        }
        let waits = desk.access.entrant(&card, &desk.asking(1, 0)).expect_err("it waits");
        assert!(waits.to_string().contains("wait 4 seconds"), "{waits}");
        // Right codes cost nothing, and others do not wait.
        for _ in 0..100 {
            desk.access.entrant(&card, &desk.asking(2, 0)).expect("another address");
        }
        desk.access.exchange("no code", &desk.asking(1, 0)).expect_err("counted by itself");
        assert!(desk.access.judge(&token.to_string(), NOW_MS).expect("a ledger").is_some());
        desk.access.entrant(&card, &desk.asking(1, 3_001)).expect("it has waited");
    }

    #[test]
    fn a_card_that_was_good_goes_on_being_so_while_many_others_try() {
        let desk = Desk::new();
        let card = desk.card("101");
        desk.access.entrant(&card, &desk.asking(1, 0)).expect("their card");
        for address in 10..=50 {
            for _ in 0..20 {
                let _ = desk.access.entrant("34679-ACDEF", &desk.asking(address, 0));
            }
        }
        let other = desk.access.entrant(&card, &desk.asking(2, 0)).expect_err("all have to wait");
        assert!(matches!(other, Denied::Wait(_)), "{other}");
        desk.access.entrant(&card, &desk.asking(1, 0)).expect("but for those who were let in");
    }

    #[test]
    fn what_an_entrant_hands_in_is_bounded_in_a_minute_and_for_a_puzzle() {
        let desk = Desk::new();
        let name = Name::from_bytes("r1/p1/101.txt");
        let admit = |entrant: &str, later_ms| {
            desk.access.admit_hand_in(entrant, &name, desk.asking(1, later_ms).steady)
        };
        let at_once = (0..100).filter(|_| admit("101", 0).is_ok()).count();
        assert_eq!(at_once, 30);
        let fast = admit("101", 0).expect_err("too fast");
        assert_eq!(
            fast.to_string(),
            "too many files were handed in in a short time: wait 3 seconds, then try again"
        );
        admit("102", 0).expect("others do not wait");
        admit("101", 2_001).expect("they have waited");
        let mut settings = Settings::default();
        settings.hand_in.files_per_puzzle_max = 0;
        let none = Access::new(&settings, Arc::clone(&desk.ledger));
        let many = none.admit_hand_in("101", &name, desk.started).expect_err("too many");
        assert!(matches!(many, Denied::TooMany(0)), "{many}");
    }

    #[test]
    fn a_row_that_no_ruling_made_is_a_fault_of_the_ledger() {
        let desk = Desk::new();
        desk.judge("Ada");
        let ruling = Decision {
            draft: Draft { action: "publish".into(), ..Draft::default() },
            grant: Some(Grant::Cards(vec![("101".into(), [7; 32])])),
            ..Decision::default()
        };
        desk.ledger.changes().record(&[ruling], NOW_MS).expect("recorded");
        let faults = desk.ledger.faults().expect("a ledger");
        assert_eq!(faults, ["it has 1 judges, cards or passphrases that no ruling has made"]);
    }
}
