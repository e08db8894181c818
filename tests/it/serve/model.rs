//! People create, append to, rename, replace, delete and move files and folders in the inbox as it
//! comes, while the service is stopped, killed and started: a plain model knows what must have been
//! graded.
//!
//! All contents differ, so a hash identifies one. The model cannot know when the service takes
//! a file, but each step leaves it knowing what became of what it touched: it looks at the file that
//! it had opened, which was either still in the inbox or taken.

use crate::kit::Sandbox;
use crate::kit::cases::classic;
use crate::kit::crashes::{Copies, files};
use crate::kit::random::{Random, is_long};
use crate::kit::reports::Row;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file that the model has created.
#[derive(Debug, Default)]
struct Made {
    /// All that has been its whole content, by hash, in this order.
    contents: Vec<String>,
    /// From which of them on it may have been graded.
    from: usize,
    /// It was deleted or replaced while it was in the inbox.
    removed: bool,
    /// It was written to, or took another's place, maybe just when that was being taken: then it is
    /// put back, and may become a later attempt than what has come to its name meanwhile.
    late: bool,
}

struct Model {
    sandbox: Sandbox,
    random: Random,
    made: Vec<Made>,
    /// Which file has, or had, a content.
    by_hash: HashMap<String, usize>,
    /// What has come to a name, in this order.
    arrivals: BTreeMap<String, Vec<String>>,
    /// How many contents there are.
    next: usize,
    runs: bool,
    is_ready: bool,
    kills: usize,
}

/// A file in the inbox that was opened before something is done to it.
struct Opened {
    file: File,
    text: Vec<u8>,
    made: usize,
}

fn hash(text: &[u8]) -> String {
    blake3::hash(text).to_hex().to_string()
}

impl Model {
    fn new() -> Model {
        let mut sandbox = Sandbox::new();
        sandbox.set("intake.settle_ms", 20).set("intake.scan_every_ms", 60);
        // Long enough that no file is taken between the two halves of a step.
        sandbox.set("intake.open_settle_ms", 4_000).set("publish.commit_wait_ms_max", 3);
        Model {
            sandbox,
            random: Random::new(),
            made: Vec::new(),
            by_hash: HashMap::new(),
            arrivals: BTreeMap::new(),
            next: 0,
            runs: false,
            is_ready: false,
            kills: 0,
        }
    }

    fn inbox(&self, name: &str) -> PathBuf {
        self.sandbox.path("inbox").join(name)
    }

    /// One of few names, so that they come again.
    fn name(&mut self) -> String {
        let folder = *self.random.pick(&["", "a/", "b/", "a/deep/", "c/deeper/still/"]);
        format!("{folder}p{}", self.random.below(4))
    }

    /// Another text each time, of a few lengths.
    fn text(&mut self) -> String {
        self.next += 1;
        classic(self.next, &"YNY"[..1 + self.next % 3])
    }

    /// A content comes to a name.
    fn arrives(&mut self, name: &str, hash: &str) {
        self.arrivals.entry(name.to_owned()).or_default().push(hash.to_owned());
    }

    /// A file is about to be made, with this content, under this name.
    fn makes(&mut self, name: &str, text: &[u8]) {
        let hash = hash(text);
        self.arrives(name, &hash);
        self.by_hash.insert(hash.clone(), self.made.len());
        self.made.push(Made { contents: vec![hash], ..Made::default() });
    }

    /// It was not made after all.
    fn unmakes(&mut self) {
        self.made.last_mut().unwrap().removed = true;
    }

    /// Opens what lies in the inbox under this name, if something does.
    fn open(&self, name: &str) -> Option<Opened> {
        let mut file = File::options().read(true).write(true).open(self.inbox(name)).ok()?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).unwrap();
        let made = self.by_hash.get(&hash(&text));
        let made = *made.unwrap_or_else(|| panic!("{name} holds what nobody has written"));
        Some(Opened { file, text, made })
    }

    /// What was opened is not in the inbox any more: if it is nowhere, it was removed from there.
    fn was_removed(&mut self, opened: &Opened) {
        if opened.file.metadata().unwrap().nlink() == 0 {
            self.made[opened.made].removed = true;
        }
    }

    /// What was opened was given another content.
    fn was_written(&mut self, name: &str, opened: &Opened) {
        let made = &mut self.made[opened.made];
        let ours = opened.file.metadata().unwrap().ino();
        if fs::metadata(self.sandbox.path("inbox").join(name)).is_ok_and(|it| it.ino() == ours) {
            made.from = made.contents.len() - 1;
        }
    }

    /// A file that was opened is about to be given another content.
    fn writes(&mut self, name: &str, opened: &Opened, text: &[u8]) {
        let hash = hash(text);
        self.arrives(name, &hash);
        self.by_hash.insert(hash.clone(), opened.made);
        self.made[opened.made].contents.push(hash);
        self.made[opened.made].late = true;
    }

    fn make_folder(&self, name: &str) {
        fs::create_dir_all(self.inbox(name).parent().unwrap()).unwrap();
    }

    /// A new file outside the inbox.
    fn outside(&self, text: &str) -> PathBuf {
        let path = format!("outside/{}", self.next);
        self.sandbox.write(&path, text);
        self.sandbox.path(path)
    }

    fn create(&mut self, name: &str) {
        let text = self.text();
        self.make_folder(name);
        let Ok(mut file) = File::create_new(self.inbox(name)) else { return };
        self.makes(name, text.as_bytes());
        file.write_all(text.as_bytes()).unwrap();
    }

    fn rename_in(&mut self, name: &str) {
        let text = self.text();
        let outside = self.outside(&text);
        self.make_folder(name);
        self.makes(name, text.as_bytes());
        if !rename(&outside, &self.inbox(name)) {
            self.unmakes();
        }
    }

    fn append(&mut self, name: &str) {
        let Some(opened) = self.open(name) else { return };
        let more = self.text();
        let text = [&opened.text, more.as_bytes()].concat();
        self.writes(name, &opened, &text);
        opened.file.write_all_at(more.as_bytes(), opened.text.len() as u64).unwrap();
        self.was_written(name, &opened);
    }

    fn rewrite(&mut self, name: &str) {
        let Some(opened) = self.open(name) else { return };
        let text = self.text();
        self.writes(name, &opened, text.as_bytes());
        opened.file.set_len(0).unwrap();
        opened.file.write_all_at(text.as_bytes(), 0).unwrap();
        self.was_written(name, &opened);
    }

    fn replace(&mut self, name: &str) {
        let text = self.text();
        let outside = self.outside(&text);
        self.make_folder(name);
        let opened = self.open(name);
        self.makes(name, text.as_bytes());
        fs::rename(outside, self.inbox(name)).unwrap();
        self.made.last_mut().unwrap().late = opened.is_some();
        if let Some(opened) = opened {
            self.was_removed(&opened);
        }
    }

    fn rename(&mut self, name: &str, to: &str) {
        let Some(opened) = self.open(name) else { return };
        self.make_folder(to);
        self.arrives(to, &hash(&opened.text));
        let _ = rename(&self.inbox(name), &self.inbox(to));
    }

    fn delete(&mut self, name: &str) {
        let Some(opened) = self.open(name) else { return };
        let _ = fs::remove_file(self.inbox(name));
        self.was_removed(&opened);
    }

    /// Moves a whole folder; often to a new name, from which a later step moves it back.
    fn move_folder(&mut self) {
        const FOLDERS: [&str; 5] = ["a", "b", "c", "moved", "b/moved"];
        let (from, to) = (*self.random.pick(&FOLDERS), *self.random.pick(&FOLDERS));
        let mut below = Vec::new();
        list(&self.inbox(from), "", &mut below);
        for file in below {
            if let Some(opened) = self.open(&format!("{from}/{file}")) {
                self.arrives(&format!("{to}/{file}"), &hash(&opened.text));
            }
        }
        let _ = rename(&self.inbox(from), &self.inbox(to));
    }

    fn start(&mut self) {
        if !self.runs {
            self.is_ready = self.random.below(2) == 0;
            if self.is_ready {
                self.sandbox.start()
            } else {
                self.sandbox.spawn()
            }
            self.runs = true;
        }
    }

    fn end(&mut self) {
        if self.runs && self.is_ready && self.random.below(3) == 0 {
            self.sandbox.stop();
        } else if self.runs {
            self.sandbox.kill();
            self.kills += 1;
        }
        self.runs = false;
    }

    fn step(&mut self) {
        let (name, other) = (self.name(), self.name());
        match self.random.below(100) {
            0..18 => self.create(&name),
            18..34 => self.rename_in(&name),
            34..42 => self.append(&name),
            42..50 => self.rewrite(&name),
            50..58 => self.replace(&name),
            58..64 => self.rename(&name, &other),
            64..70 => self.delete(&name),
            70..76 => self.move_folder(),
            76..79 => self.end(),
            79..86 => self.start(),
            // The service comes to do something.
            _ => std::thread::sleep(Duration::from_millis(self.random.below(25))),
        }
    }

    /// Lets everything be graded that is there, and ends the service.
    fn finish(&mut self) {
        if self.runs && !self.is_ready {
            self.end();
        }
        if !self.runs {
            self.sandbox.start();
        }
        let left = self.made.iter().filter(|made| !made.removed).count();
        self.sandbox.wait_until("all that is left is graded", |sandbox| {
            files(&sandbox.path("inbox")) == 0 && sandbox.submissions().len() >= left
        });
        self.sandbox.stop();
    }

    fn check(&self) {
        self.sandbox.rows_agree();
        let rows = self.sandbox.submissions();
        let mut graded = BTreeSet::new();
        let mut by_name: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in &rows {
            assert_eq!(row.get("status"), "graded", "{row:?}");
            let made = self.by_hash.get(row.get("blake3"));
            let made = made.unwrap_or_else(|| panic!("what nobody has written: {row:?}"));
            assert!(graded.insert(row.get("blake3")), "graded twice: {row:?}");
            let archived = fs::read(self.sandbox.archive().join(row.get("archived_as"))).unwrap();
            assert!(self.made[*made].contents.contains(&hash(&archived)), "{row:?}");
            by_name.entry(row.get("submission")).or_default().push(row);
        }
        assert_eq!(files(&self.sandbox.archive()), rows.len());
        for (name, mut rows) in by_name {
            rows.sort_by_key(|row| row.number("attempt"));
            let mut arrivals = self.arrivals[name].iter();
            for row in rows {
                let hash = row.get("blake3");
                assert!(
                    self.arrivals[name].iter().any(|it| it == hash),
                    "not of its name: {row:?}"
                );
                let in_order = self.made[self.by_hash[hash]].late || arrivals.any(|it| it == hash);
                assert!(in_order, "a later attempt than one that came after it: {row:?}");
            }
        }
        for made in &self.made {
            let is_graded = |hash: &&String| graded.contains(hash.as_str());
            let times = made.contents.iter().filter(is_graded).count();
            let in_time = made.contents[made.from..].iter().filter(is_graded).count();
            let wanted = usize::from(!made.removed);
            assert_eq!((times, in_time), (wanted, wanted), "how often it was graded: {made:?}");
        }
    }
}

/// Renames, but over nothing; whether that could be done.
fn rename(from: &Path, to: &Path) -> bool {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from) {
        Ok(()) => true,
        Err(error) => {
            let expected = ["exist", "No such file", "Invalid", "not empty", "Not a dir"];
            let error = error.to_string();
            assert!(expected.iter().any(|words| error.contains(words)), "{error}");
            false
        }
    }
}

/// The files in a folder and below, by their paths from there.
fn list(folder: &Path, above: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{above}{}", entry.file_name().to_str().unwrap());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list(&entry.path(), &format!("{name}/"), found),
            _ => found.push(name),
        }
    }
}

/// Promise P2.
///
///
/// `GRIDMARK_TEST_LONG=1` is for thousands of steps, and `GRIDMARK_TEST_SEED` repeats the steps of
/// an earlier run.
#[test]
fn after_random_actions_in_the_inbox_each_remaining_file_is_graded_once() {
    let mut model = Model::new();
    let copies = Copies::of(&model.sandbox);
    for step in 1..=if is_long() { 20_000 } else { 400 } {
        model.step();
        // What goes wrong is found soon enough to be understood.
        if step % 2_000 == 0 {
            model.finish();
            model.check();
            (model.runs, model.is_ready) = (false, false);
        }
    }
    model.finish();
    model.check();
    let graded = model.sandbox.submissions().len();
    let (made, copies) = (model.made.len(), copies.end());
    println!("{made} files made, {graded} graded, {} kills, {copies} copies", model.kills);
    assert!(graded > 20 && graded < made);
}
