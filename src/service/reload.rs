//! Settings that change while the service runs: read anew, and handed to whoever works by them.

use super::Shared;
use crate::config::{self, Change, Changes, Live, Settings};
use crate::model::escape;
use crate::pipeline::queue::Limits;
use crate::telemetry::emit;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Sets what is logged from now on; or why it cannot, in words.
pub type SetLogLevel = Box<dyn Fn(&str) -> Result<(), String>>;

/// Where settings come from that are read anew.
pub struct Source {
    /// The settings file, by its whole path, if there is one.
    pub file: Option<PathBuf>,
    /// Reads all layers once more; or why they are refused, in words.
    pub read: Box<dyn Fn() -> Result<Settings, String>>,
    /// Sets what is logged from now on.
    pub set_log_level: SetLogLevel,
}

/// The sections of the settings by which stages work, as they are now.
pub(super) struct Sections {
    pub(super) intake: Arc<Live<config::Intake>>,
    pub(super) grade: Arc<Live<config::Grade>>,
    pub(super) publish: Arc<Live<config::Publish>>,
    pub(super) health: Arc<Live<config::Health>>,
}

impl Sections {
    pub(super) fn new(settings: &Settings) -> Sections {
        Sections {
            intake: Arc::new(Live::new(settings.intake.clone())),
            grade: Arc::new(Live::new(settings.grade.clone())),
            publish: Arc::new(Live::new(settings.publish.clone())),
            health: Arc::new(Live::new(settings.health.clone())),
        }
    }

    fn set(&self, settings: &Settings) {
        self.intake.set(settings.intake.clone());
        self.grade.set(settings.grade.clone());
        self.publish.set(settings.publish.clone());
        self.health.set(settings.health.clone());
    }
}

/// What the queue may hold by these settings.
pub(super) fn limits(settings: &Settings) -> Limits {
    Limits {
        files_max: settings.queue.files_max,
        bytes_max: settings.queue.bytes_max,
        chunk_bytes_max: settings.grade.chunk_bytes_max as u64,
    }
}

/// What came of the last reload, for whoever asks.
#[derive(Default)]
pub(super) struct Answer {
    /// The settings file that is read, if there is one.
    pub(super) file: Option<PathBuf>,
    state: Mutex<(u64, String)>,
}

impl Answer {
    /// Which file is read, how many reloads there were, and what came of the last one, a line for each
    /// thing.
    pub(super) fn text(&self) -> String {
        let file = self.file.as_deref().map(|file| escape::path(file).to_string());
        let file = file.unwrap_or_default();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        format!("file {file}\nreloads {}\n{}", state.0, state.1)
    }

    fn give(&self, text: String) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = (state.0 + 1, text);
    }
}

/// Reads the settings anew when it is asked to.
pub(super) struct Reload {
    source: Source,
    /// The settings in force, as they were read.
    in_force: Settings,
}

impl Reload {
    pub(super) fn new(source: Source, in_force: Settings) -> Reload {
        Reload { source, in_force }
    }

    /// Reads the settings anew, applies what can change, and tells what came of it.
    pub(super) fn run(&mut self, shared: &Shared) {
        let result = self.try_run(shared);
        let mut text = String::new();
        // Writing to memory cannot fail.
        let mut line = |word: &str, Change { key, before, after }: &Change| {
            let _ = writeln!(text, "{word} {key}\t{before}\t{after}");
        };
        match result {
            Ok(Changes { applied, held }) => {
                for change in &applied {
                    emit::setting_changed(change.key, &change.before, &change.after);
                    line("applied", change);
                }
                for change in &held {
                    emit::setting_held(change.key, &change.before, &change.after);
                    line("held", change);
                }
                emit::reloaded(applied.len(), held.len());
            }
            Err(why) => {
                emit::reload_refused(&why);
                text = format!("refused {}\n", escape::line(&why));
            }
        }
        shared.answer.give(text);
    }

    fn try_run(&mut self, shared: &Shared) -> Result<Changes, String> {
        let wanted = (self.source.read)()?;
        if wanted.log.level != self.in_force.log.level {
            (self.source.set_log_level)(&wanted.log.level)?;
        }
        let changes = self.in_force.take_over(&wanted);
        shared.sections.set(&self.in_force);
        shared.queue.set_limits(limits(&self.in_force));
        Ok(changes)
    }
}
