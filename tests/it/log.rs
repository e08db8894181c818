//! What is told, and in which form.

use gridmark::config::{Log, LogFormat};
use gridmark::log::subscriber;
use std::io;
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::MakeWriter;

/// Keeps what is written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Kept {
    type Writer = Kept;

    fn make_writer(&'a self) -> Kept {
        self.clone()
    }
}

fn written(format: LogFormat, level: &str, colour: bool) -> String {
    let kept = Kept::default();
    let log = Log { format, level: level.into() };
    let subscriber = subscriber(&log, colour, kept.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!(target: "gridmark::intake", files = 3, "claimed");
        tracing::debug!(target: "gridmark::intake", "seen");
        tracing::warn!(target: "gridmark::queue", "full");
    });
    let bytes = kept.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn people_get_lines_and_colour_only_where_it_may_be() {
    for (format, colour) in
        [(LogFormat::Auto, false), (LogFormat::Human, false), (LogFormat::Human, true)]
    {
        let lines = written(format, "info", colour);
        assert!(lines.contains("INFO gridmark::intake: claimed files=3\n"), "{lines}");
        assert_eq!(lines.lines().count(), 2);
        assert!(!lines.contains('\x1b'));
    }
    assert!(written(LogFormat::Auto, "info", true).contains('\x1b'));
}

#[test]
fn json_is_an_object_a_line() {
    let lines = written(LogFormat::Json, "info", true);
    let first = lines.lines().next().unwrap();
    assert!(
        first.starts_with('{') && first.ends_with('}') && lines.lines().count() == 2,
        "{lines}"
    );
    assert!(first.contains(r#""message":"claimed","files":3"#), "{first}");
}

#[test]
fn levels_count_for_all_or_for_parts() {
    for (level, events) in [
        ("off", 0),
        ("warn", 1),
        ("info", 2),
        ("debug", 3),
        ("warn,gridmark::intake=debug", 3),
        ("info,gridmark::intake=off", 1),
    ] {
        assert_eq!(written(LogFormat::Human, level, false).lines().count(), events, "{level}");
    }
    let log = Log { level: "gridmark=loud".into(), ..Log::default() };
    let error = subscriber(&log, false, Kept::default()).err().unwrap();
    assert_eq!(error.to_string(), "the setting log.level is `gridmark=loud`, which is no level");
}
