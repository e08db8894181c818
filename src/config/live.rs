//! Settings that may change while they are in use.

use std::sync::{Arc, PoisonError, RwLock};

/// Shared settings that can be replaced; users read them again in each round of their work.
#[derive(Debug, Default)]
pub struct Live<T>(RwLock<Arc<T>>);

impl<T> Live<T> {
    /// Shares these settings.
    pub fn new(settings: T) -> Live<T> {
        Live(RwLock::new(Arc::new(settings)))
    }

    /// The settings in force now.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the settings.
    pub fn set(&self, settings: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }
}
