//! `gridmark serve`: what is settled before the service runs.

use super::Error;
use super::config::SettingArgs;
use crate::config::Settings;
use crate::log;

/// The arguments of `gridmark serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    settings: SettingArgs,
    /// Grade what is in the inbox, then exit
    #[arg(long)]
    pub once: bool,
}

impl Args {
    /// The settings in force; the log is set up as they say.
    ///
    /// # Errors
    ///
    /// The settings are wrong, or the process logs already.
    pub fn settings(&self) -> Result<Settings, Error> {
        let settings = self.settings.load()?.settings;
        log::start(&settings.log)?;
        Ok(settings)
    }
}
