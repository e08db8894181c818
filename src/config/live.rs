//! Settings that may change while somebody works by them.

use std::sync::{Arc, PoisonError, RwLock};

/// The settings in force; whoever works by them asks again at each round.
#[derive(Debug, Default)]
pub struct Live<T>(RwLock<Arc<T>>);

impl<T> Live<T> {
    /// These settings.
    pub fn new(settings: T) -> Live<T> {
        Live(RwLock::new(Arc::new(settings)))
    }

    /// The settings now.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// These settings from now on.
    pub fn set(&self, settings: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }
}
