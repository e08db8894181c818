//! The director's passphrase. People choose it, so its hash is slow and takes memory (Argon2id), with a salt.

use super::code::random;
use crate::store::ledger::Passphrase;
use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use unicode_normalization::UnicodeNormalization;

/// The shortest passphrase, in characters.
const CHARS_MIN: usize = 12;

/// The longest passphrase, in bytes.
pub const BYTES_MAX: usize = 1_024;

/// How much memory a hash takes, in KiB, and how often it goes through that: what OWASP recommends.
const MEMORY_KIB: u32 = 19 << 10;
const PASSES: u32 = 2;

/// A passphrase in the one form in which it is hashed: keyboards and systems write letters with marks in
/// different ways.
fn normal(passphrase: &str) -> String {
    passphrase.trim().nfkc().collect()
}

/// A passphrase as somebody has typed it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Typed(pub String);

/// It does not show what is secret.
impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Typed(..)")
    }
}

impl Typed {
    /// What is stored of it as the director's passphrase.
    ///
    /// # Errors
    ///
    /// It is too short or too long, which the inner error says; or the system has no random numbers.
    pub fn stored(&self) -> io::Result<Result<Passphrase, String>> {
        stored(&self.0)
    }
}

fn stored(passphrase: &str) -> io::Result<Result<Passphrase, String>> {
    if passphrase.len() > BYTES_MAX {
        return Ok(Err(format!("the passphrase has more than {BYTES_MAX} bytes")));
    }
    let passphrase = normal(passphrase);
    if passphrase.chars().count() < CHARS_MIN {
        let message =
            format!("the passphrase has less than {CHARS_MIN} characters: take a few words");
        return Ok(Err(message));
    }
    if passphrase.chars().any(char::is_control) {
        return Ok(Err("the passphrase has more than one line, or control characters".into()));
    }
    let salt = random::<16>()?;
    let hash = hash(&passphrase, &salt, MEMORY_KIB, PASSES)?;
    Ok(Ok(Passphrase { salt: salt.to_vec(), hash, memory_kib: MEMORY_KIB, passes: PASSES }))
}

/// Whether this is the passphrase that is stored. Takes its time and memory on purpose.
///
/// # Errors
///
/// What is stored cannot be used.
pub(super) fn is_it(passphrase: &str, stored: &Passphrase) -> io::Result<bool> {
    if passphrase.len() > BYTES_MAX {
        return Ok(false);
    }
    let found = hash(&normal(passphrase), &stored.salt, stored.memory_kib, stored.passes)?;
    // In constant time.
    Ok(blake3::Hash::from(found) == blake3::Hash::from(stored.hash))
}

fn hash(passphrase: &str, salt: &[u8], memory_kib: u32, passes: u32) -> io::Result<[u8; 32]> {
    let mut hash = [0; 32];
    Params::new(memory_kib, passes, 1, Some(hash.len()))
        .and_then(|params| {
            let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
            argon2.hash_password_into(passphrase.as_bytes(), salt, &mut hash)
        })
        .map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_found_again_in_any_form_and_no_other_is() {
        let set = stored("né sous la pluie\n").expect("random numbers").expect("long enough");
        let again = stored("né sous la pluie").expect("random numbers").expect("long enough");
        assert_ne!((&set.salt, set.hash), (&again.salt, again.hash));
        assert!(is_it("ne\u{301} sous la pluie", &set).expect("a hash"));
        for other in ["", "ne sous la pluie", "né sous la pluie!", &"é".repeat(10_000)] {
            assert!(!is_it(other, &set).expect("a hash"), "{other}");
        }
    }

    #[test]
    fn the_hash_is_that_of_argon2id() {
        // A case of the reference implementation's own tests.
        let hash = hash("password", b"somesalt", 256, 2).expect("a hash");
        let expected = "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe";
        assert_eq!(blake3::Hash::from(hash).to_hex().as_str(), expected);
    }

    #[test]
    fn what_is_too_short_too_long_or_several_lines_is_refused() {
        for (passphrase, why) in [
            ("elevenchars", "less than 12 characters"),
            ("   elevenchars   \n", "less than 12 characters"),
            ("one line\nand another", "more than one line"),
            (&"x".repeat(1_025), "more than 1024 bytes"),
        ] {
            let refused = stored(passphrase).expect("no error of the system").expect_err("refused");
            assert!(refused.contains(why), "{refused}");
        }
    }
}
