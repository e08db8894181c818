//! Reloading the settings while the service runs.
//!
//! A stage holds a [`Live`] section and reads it in each round, so a reload needs no message to it.
//! A reload either applies all changes that need no restart, or is refused as a whole; `gridmark
//! reload` asks over HTTP for the result.

use super::{Shared, event};
use crate::config::{self, Changes, Live, Settings};
use crate::pipeline::queue::Limits;
use crate::service::http::ReloadsAnswer;
use crate::telemetry::emit;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

/// Sets the log level; the error is a message.
pub type SetLogLevel = Box<dyn Fn(&str) -> Result<(), String>>;

/// Where a reload gets its settings.
pub struct Source {
    /// The absolute path of the settings file, if there is one.
    pub file: Option<PathBuf>,
    /// Reads all layers of the settings; the error is a message.
    pub read: Box<dyn Fn() -> Result<Settings, String>>,
    /// Sets the log level.
    pub set_log_level: SetLogLevel,
}

/// The sections of the settings that a reload can change.
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

/// The limits of the queue under these settings.
pub(super) fn limits(settings: &Settings) -> Limits {
    Limits {
        files_max: settings.queue.files_max,
        bytes_max: settings.queue.bytes_max,
        chunk_bytes_max: settings.grade.chunk_bytes_max as u64,
    }
}

/// The reloads since the start, for `gridmark reload`.
#[derive(Default)]
pub(super) struct Reloads {
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    count: u64,
    last: Option<Result<Changes, String>>,
    /// What became of the event folder, if there is one.
    event: Option<Result<String, String>>,
}

impl Reloads {
    /// No reloads yet, of this settings file.
    pub(super) fn new(file: Option<PathBuf>) -> Reloads {
        Reloads { file, state: Mutex::default() }
    }

    pub(super) fn answer(&self) -> ReloadsAnswer {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        ReloadsAnswer {
            process: std::process::id(),
            file: self.file.clone(),
            reloads: state.count,
            last: state.last.clone(),
            event: state.event.clone(),
        }
    }

    fn record(&self, result: Result<Changes, String>, event: Option<Result<String, String>>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { count: state.count + 1, last: Some(result), event };
    }
}

/// Reloads the settings.
pub(super) struct Reload {
    source: Source,
    in_force: Settings,
}

impl Reload {
    /// A reload from `source` of a service that was started with the settings `in_force`.
    pub(super) fn new(source: Source, in_force: Settings) -> Reload {
        Reload { source, in_force }
    }

    /// Reads the settings, applies what needs no restart, logs and records the result.
    pub(super) fn run(&mut self, shared: &Arc<Shared>) {
        let result = self.try_run(shared);
        match &result {
            Ok(Changes { applied, held }) => {
                for change in applied {
                    emit::setting_changed(&change.key, &change.before, &change.after);
                }
                for change in held {
                    emit::setting_held(&change.key, &change.before, &change.after);
                }
                emit::reloaded(applied.len(), held.len());
            }
            Err(why) => emit::reload_refused(why),
        }
        // Its puzzles may have to be proved, which takes too long for this thread.
        let with_event = Arc::clone(shared);
        let take_over = move || {
            let event = event::take_over(&with_event, "reload");
            with_event.reloads.record(result, event);
        };
        if let Err(error) = Builder::new().name("event".into()).spawn(take_over) {
            emit::event_refused(&error);
        }
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
