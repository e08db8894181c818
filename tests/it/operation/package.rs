//! The Debian package, from the program under test: built, installed, run, upgraded and purged, in a
//! guest, so that the system here stays as it is. And `cargo install`.

use super::guest::{Guest, SETTINGS};
use crate::kit::needs::programs;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const UNIT: &str = "/usr/lib/systemd/system/gridmark.service";

/// A place for packages.
fn guest() -> Option<Guest> {
    let packaging = ["dpkg", "dpkg-deb", "dpkg-shlibdeps", "cargo-deb"];
    Guest::with(&[&packaging[..], &["systemd-sysusers", "systemd-tmpfiles"]].concat())
}

/// Makes the package from the program under test.
fn build(into: &Path) -> PathBuf {
    let output = Command::new(Path::new(ROOT).join("deploy/debian/build"))
        .args(["--program", env!("CARGO_BIN_EXE_gridmark"), "--into"])
        .arg(into)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut made = fs::read_dir(into).unwrap().map(|entry| entry.unwrap().path());
    let package = made.next().unwrap();
    let name = package.file_name().unwrap().to_str().unwrap();
    let version = concat!("gridmark_", env!("CARGO_PKG_VERSION"), "-1_");
    assert!(name.starts_with(version) && name.ends_with(".deb"), "{name}");
    assert_eq!(made.next(), None);
    package
}

/// A member of the group drops a file by a plain copy and reads the report.
fn drop_and_read(guest: &Guest, name: &str) {
    let as_staff = "setpriv --reuid scorer --regid scorer --init-groups --";
    guest.sh(&format!(
        "gridmark generate classic --cases 2 --seed 1 > /tmp/{name}
         chmod 644 /tmp/{name}
         umask 022
         {as_staff} mkdir -p /var/lib/gridmark/inbox/team
         {as_staff} cp /tmp/{name} /var/lib/gridmark/inbox/team/{name}"
    ));
    let report = "/var/lib/gridmark/reports/submissions.csv";
    let row = guest.wait_until(&format!("{as_staff} grep '^team/{name},' {report}"));
    assert!(row.contains(",classic,2,2,0,0,0,0,graded,"), "{row}");
}

/// The package once more as the next version, with other settings as they are shipped.
fn next_version(guest: &Guest) {
    guest.sh("dpkg-deb -R /tmp/gridmark.deb /tmp/next
         sed -i 's/^Version: .*/Version: 99.0-1/' /tmp/next/DEBIAN/control
         echo '# What the next version says.' >> /tmp/next/etc/gridmark/gridmark.toml
         dpkg-deb --root-owner-group -Znone -b /tmp/next /tmp/next.deb");
}

/// README, handbook and runbook find each other, and what else they link to that is for operators.
fn links_lead_somewhere(guest: &Guest) {
    let handbook = "/usr/share/doc/gridmark/deploy/README.md";
    let runbook = "/usr/share/doc/gridmark/deploy/prometheus/RUNBOOK.md";
    let mut seen = 0;
    let docs = guest.sh("ls /usr/share/doc/gridmark/docs/*.md");
    let docs = docs.lines().filter(|page| !page.ends_with("/promises.md"));
    for page in ["/usr/share/doc/gridmark/README.md", handbook, runbook].into_iter().chain(docs) {
        let text = guest.sh(&format!("cat {page}"));
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(['#', ')']).next());
        let is_source =
            |link: &&str| page.ends_with("gridmark/README.md") && !link.ends_with(".md");
        let of_project = ["tests/", "benches/", "LICENSE", "https://", "../config/"];
        let is_of_project = |link: &&str| of_project.iter().any(|start| link.starts_with(start));
        let links =
            links.filter(|link| !link.is_empty() && !is_source(link) && !is_of_project(link));
        for link in links {
            let folder = page.rsplit_once('/').unwrap().0;
            guest.sh(&format!("cat {folder}/{link}"));
            seen += 1;
        }
    }
    assert!(seen > 6, "{seen}");
}

/// What of the system here an installation would change.
fn of_the_host() -> (Vec<bool>, Vec<u8>) {
    let places = [SETTINGS, "/usr/bin/gridmark", "/var/lib/gridmark"];
    let status = fs::read("/var/lib/dpkg/status").unwrap();
    let users = fs::read("/etc/passwd").unwrap();
    (places.map(|place| Path::new(place).exists()).to_vec(), [status, users].concat())
}

#[test]
fn the_package_is_built_installed_run_upgraded_and_purged_and_marks_stay() {
    let Some(guest) = guest() else { return };
    let before = of_the_host();
    let folder = tempfile::tempdir().unwrap();
    guest.put(&build(folder.path()), "/tmp/gridmark.deb");

    // Installed.
    let installed = guest.sh("dpkg -i /tmp/gridmark.deb");
    assert!(!installed.contains("gridmark: not all"), "{installed}");
    assert_eq!(guest.sh("dpkg -V gridmark"), "");
    let status = guest.sh("dpkg-query -W -f '${Status} ${Depends}' gridmark");
    assert!(status.starts_with("install ok installed ") && status.contains("libc6"), "{status}");
    assert_eq!(
        guest.sh("gridmark --version"),
        concat!("gridmark ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!(
        guest.sh(&format!("gridmark config --check {SETTINGS}")),
        format!("{SETTINGS} is good\n")
    );
    assert!(guest.sh("getent passwd gridmark").contains(":/var/lib/gridmark:"));
    assert_eq!(guest.sh("stat -c %U /var/lib/gridmark/inbox"), "gridmark\n");
    for file in [
        "/usr/share/man/man1/gridmark.1.gz",
        "/usr/share/man/man1/gridmark-serve.1.gz",
        "/usr/share/bash-completion/completions/gridmark",
        "/usr/share/zsh/vendor-completions/_gridmark",
        "/usr/share/fish/vendor_completions.d/gridmark.fish",
        UNIT,
        "/usr/share/doc/gridmark/copyright",
    ] {
        let file = guest.path(file);
        let found = fs::metadata(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        assert_eq!(
            (found.permissions().mode() & 0o777, found.len() > 100),
            (0o644, true),
            "{file:?}"
        );
    }
    assert!(guest.sh(&format!("cat {SETTINGS}")).contains("\nroot = \"/var/lib/gridmark\"\n"));
    let licences = guest.sh("zcat /usr/share/doc/gridmark/licences.gz");
    for printed in ["\nrusqlite ", "\nof tokio ", "Permission is hereby granted"] {
        assert!(licences.contains(printed), "{printed}");
    }
    links_lead_somewhere(&guest);
    let enabled = "/etc/systemd/system/multi-user.target.wants/gridmark.service";
    assert!(guest.path(enabled).symlink_metadata().is_ok());

    // Run, with settings of one's own.
    guest.sh(&format!("sed -i 's/^listen = \"127.*/listen = \"127.0.0.1:0\" # ours/' {SETTINGS}"));
    guest.sh("useradd --no-create-home --user-group --groups gridmark scorer");
    let service = guest.serve(UNIT);
    drop_and_read(&guest, "p1.txt");
    guest.stop(service);

    // Upgraded.
    next_version(&guest);
    guest.sh("dpkg --force-confdef --force-confold -i /tmp/next.deb");
    assert_eq!(guest.sh("dpkg-query -W -f '${Version}' gridmark"), "99.0-1");
    assert_eq!(guest.sh(&format!("grep -c '# ours' {SETTINGS}")), "1\n");
    let service = guest.serve(UNIT);
    drop_and_read(&guest, "p2.txt");
    guest.stop(service);

    // Removed, and purged.
    guest.sh("dpkg -r gridmark");
    assert!(!guest.path("/usr/bin/gridmark").exists() && guest.path(SETTINGS).exists());
    let purged = guest.sh("dpkg -P gridmark");
    let printed = "/var/lib/gridmark holds submissions or marks and is kept";
    assert!(purged.contains(printed), "{purged}");
    assert!(!guest.path("/etc/gridmark").exists());
    assert!(guest.path(enabled).symlink_metadata().is_err());
    assert_eq!(guest.sh("grep -c '^team/' /var/lib/gridmark/reports/submissions.csv"), "2\n");
    assert!(guest.path("/var/lib/gridmark/archive/team/p1.txt").exists());

    // Where nothing was ever graded, nothing is left.
    guest.sh(
        "rm -r /var/lib/gridmark && dpkg -i /tmp/gridmark.deb && test -d /var/lib/gridmark/inbox",
    );
    guest.sh("dpkg -P gridmark");
    assert!(!guest.path("/var/lib/gridmark").exists());

    assert_eq!(of_the_host(), before);
}

#[test]
fn the_package_follows_debian_policy() {
    if !programs(&["cargo-deb", "dpkg-shlibdeps", "lintian"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let package = build(folder.path());
    // The maintainer is set by those who publish packages, and no request for one is closed.
    let output = Command::new("lintian")
        .args(["--allow-root", "--fail-on", "error,warning", "--suppress-tags"])
        .arg("bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs")
        .arg(&package)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.is_empty(), "{printed}");
}

#[test]
fn cargo_installs_gridmark_and_nothing_else() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(Path::new(ROOT).join("Cargo.toml"))
        .output()
        .unwrap();
    let about: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = about["packages"].as_array().unwrap().iter();
    let targets = packages.flat_map(|package| package["targets"].as_array().unwrap());
    let programs = targets.filter(|target| target["kind"][0] == "bin");
    let programs = programs.map(|target| target["name"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(programs, ["gridmark"]);
}

/// In a target folder of its own: the programs of other tests must not be replaced while they run.
#[test]
#[ignore = "builds all of gridmark once more"]
fn cargo_install_gives_a_program_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["install", "--debug", "--locked", "--path", ROOT, "--root"])
        .arg(folder.path())
        .arg("--target-dir")
        .arg(folder.path().join("target"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let installed = fs::read_dir(folder.path().join("bin")).unwrap();
    let installed = installed.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(installed, ["gridmark"]);
    let program = folder.path().join("bin/gridmark");
    let version = Command::new(program).arg("--version").output().unwrap();
    assert_eq!(version.stdout, concat!("gridmark ", env!("CARGO_PKG_VERSION"), "\n").as_bytes());
}
