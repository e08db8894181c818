//! Who asks for a page.

use super::Who;
use axum::extract::FromRequestParts;
use axum::http::header::FORWARDED;
use axum::http::request::Parts;
use std::convert::Infallible;

/// What somebody may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What the public may see.
    Hall,
    /// Everything.
    Staff,
}

/// The head by which proxies say for whom they ask, beside the one of the standard.
const FORWARDED_FOR: &str = "x-forwarded-for";

impl Role {
    /// Whether it is one of staff.
    pub fn is_staff(self) -> bool {
        self == Role::Staff
    }
}

/// Those on this machine are staff; for whom a proxy asks is not known.
impl<S: Sync> FromRequestParts<S> for Role {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Role, Infallible> {
        let is_here = parts.extensions.get::<Who>().is_some_and(|who| who.0.ip().is_loopback());
        let is_proxied =
            parts.headers.contains_key(FORWARDED) || parts.headers.contains_key(FORWARDED_FOR);
        Ok(if is_here && !is_proxied { Role::Staff } else { Role::Hall })
    }
}
