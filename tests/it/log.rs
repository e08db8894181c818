//! Log lines and their formats.

use gridmark::config::{Log, LogFormat};
use gridmark::telemetry::log::{Reader, subscriber};
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

fn written(format: LogFormat, level: &str, reader: Reader) -> String {
    let kept = Kept::default();
    let log = Log { format, level: level.into(), ..Log::default() };
    let (subscriber, _control) = subscriber(&log, reader, kept.clone()).unwrap();
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
    for (format, reader) in [
        (LogFormat::Auto, Reader::Unknown),
        (LogFormat::Human, Reader::Unknown),
        (LogFormat::Human, Reader::Terminal),
        (LogFormat::Human, Reader::Journal),
    ] {
        let lines = written(format, "info", reader);
        assert!(lines.contains("INFO gridmark::intake: claimed files=3\n"), "{lines}");
        assert_eq!(lines.lines().count(), 2);
        assert!(!lines.contains('\x1b'));
    }
    assert!(written(LogFormat::Auto, "info", Reader::Terminal).contains('\x1b'));
}

#[test]
fn the_journal_gets_a_line_for_each_event_with_its_level_and_without_a_time() {
    let kept = Kept::default();
    let log = Log { level: "trace".into(), ..Log::default() };
    let (subscriber, _control) = subscriber(&log, Reader::Journal, kept.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        tracing::error!(what = %"two\r\nlines", "gone");
        tracing::warn!("full");
        tracing::info!(files = 3, "claimed");
        tracing::debug!("seen");
        tracing::trace!("looked");
    });
    let bytes = kept.0.lock().unwrap().clone();
    let wanted = "<3>gone what=two\\r\\nlines\n<4>full\n<6>claimed files=3\n<7>seen\n<7>looked\n";
    assert_eq!(String::from_utf8(bytes).unwrap(), wanted);
}

#[test]
fn an_event_is_one_line_whatever_is_in_its_values() {
    for (format, reader) in [
        (LogFormat::Auto, Reader::Unknown),
        (LogFormat::Auto, Reader::Terminal),
        (LogFormat::Auto, Reader::Journal),
        (LogFormat::Human, Reader::Unknown),
        (LogFormat::Json, Reader::Unknown),
    ] {
        let kept = Kept::default();
        let log = Log { format, ..Log::default() };
        let (subscriber, _control) = subscriber(&log, reader, kept.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::error!(what = %"two\r\nlines", reason = "three\nlines\n", "go\nne");
        });
        let lines = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let breaks = lines.matches(['\n', '\r']).count();
        assert!(breaks == 1 && lines.ends_with('\n'), "{format:?} {reader:?}: {lines:?}");
    }
}

#[test]
fn the_level_can_be_changed_while_it_logs() {
    let kept = Kept::default();
    let log = Log { level: "warn".into(), ..Log::default() };
    let (subscriber, control) = subscriber(&log, Reader::Unknown, kept.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!("before");
        control.set_level("debug").unwrap();
        tracing::debug!("after");
        assert!(control.set_level("gridmark=loud").is_err());
        tracing::debug!("and on");
    });
    let lines = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    assert!(lines.contains("after") && lines.contains("and on"), "{lines}");
    assert!(!lines.contains("before"), "{lines}");
}

#[test]
fn json_is_an_object_a_line() {
    let lines = written(LogFormat::Json, "info", Reader::Terminal);
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
        assert_eq!(
            written(LogFormat::Human, level, Reader::Unknown).lines().count(),
            events,
            "{level}"
        );
    }
    let log = Log { level: "gridmark=loud".into(), ..Log::default() };
    let error = subscriber(&log, Reader::Unknown, Kept::default()).err().unwrap();
    let wanted = "the setting log.level is `gridmark=loud`, which is not a level; expected off, error, \
                  warn, info, debug or trace";
    assert_eq!(error.to_string(), wanted);
}
