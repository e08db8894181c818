//! What is the same for everybody is made once for each change, however many ask.

use super::Problem;
use super::follow::Moment;
use maud::{Markup, PreEscaped};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many are kept.
const KEPT_MAX: usize = 256;

/// Which part of a page it is.
type Key = (&'static str, Option<usize>);

/// What was made, and of which moment.
#[derive(Default)]
pub(super) struct Fragments(Mutex<HashMap<Key, (Moment, Made)>>);

/// Something that is made by the first who asks, while others wait.
#[derive(Clone, Default)]
pub(super) struct Made(Arc<Mutex<Option<Arc<str>>>>);

impl Fragments {
    /// The one for this moment.
    pub(super) fn get(&self, key: Key, moment: Moment) -> Made {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, made)) = kept.get(&key)
            && *of == moment
        {
            return made.clone();
        }
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        let made = Made::default();
        kept.insert(key, (moment, made.clone()));
        made
    }
}

impl Made {
    /// What was made, or what `make` gives. What cannot be made is tried again by the next who asks.
    pub(super) fn get_or_make(
        &self,
        make: impl FnOnce() -> Result<Markup, Problem>,
    ) -> Result<Markup, Problem> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &*made {
            Some(text) => Arc::clone(text),
            None => {
                let text: Arc<str> = make()?.into_string().into();
                *made = Some(Arc::clone(&text));
                text
            }
        };
        Ok(PreEscaped(text.to_string()))
    }
}
