//! The service set up as the handbook says: who may hand in, how, and what others may do with the
//! files.

use super::guest::{Guest, SETTINGS};
use crate::documents;
use crate::kit::cases::some;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const UNIT: &str = "/etc/systemd/system/gridmark.service";
const INBOX: &str = "/var/lib/gridmark/inbox";
const ARCHIVE: &str = "/var/lib/gridmark/archive";
const UMASKS: [&str; 3] = ["022", "027", "077"];

/// A guest in which the service was set up as the handbook says, and alice and carol are in its group.
pub(super) fn guest() -> Option<Guest> {
    let guest = Guest::with(&["systemd-sysusers", "systemd-tmpfiles", "tar"])?;
    let clone = guest.path("/tmp/clone");
    fs::create_dir_all(clone.join("target/release")).unwrap();
    for folder in ["deploy", "config"] {
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .args([&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &clone])
            .status();
        assert!(copied.unwrap().success());
    }
    guest.put(Path::new(env!("CARGO_BIN_EXE_gridmark")), "/tmp/clone/target/release/gridmark");
    let steps = block("systemd-sysusers");
    // Nothing is started by an init system here.
    let printed = guest.sh(&format!("cd /tmp/clone; systemctl() {{ :; }}; set -e\n{steps}"));
    assert!(!printed.contains("ailed"), "{printed}");
    assert!(guest.sh(&format!("cat {SETTINGS}")).contains("\nroot = \"/var/lib/gridmark\"\n"));
    assert!(guest.path("/usr/local/share/man/man1/gridmark-why.1").exists());
    guest.sh(&format!("sed -i 's/^listen = \"127.*/listen = \"127.0.0.1:0\"/' {SETTINGS}"));
    for name in ["alice", "carol"] {
        guest.sh(&format!("useradd --create-home --groups gridmark {name}"));
    }
    Some(guest)
}

/// The commands of the handbook in which this stands.
fn block(word: &str) -> String {
    let handbook = documents::read("deploy/README.md");
    documents::block(&handbook, "sh", word).to_owned()
}

/// A line of shell as this user, in a folder of theirs.
fn of(user: &str, script: &str) -> String {
    let script = script.replace('\'', r"'\''");
    format!("cd /home/{user}; setpriv --reuid {user} --regid {user} --init-groups sh -c '{script}'")
}

/// Makes a folder of alice's with these rights, in which are p1.txt, and a folder with p2.txt.
fn make_team(guest: &Guest, name: &str, rights: &str) {
    let text = some(0);
    guest.sh(&of(
        "alice",
        &format!(
            "mkdir -p {name}/more; cat > {name}/p1.txt <<\\END; cp {name}/p1.txt {name}/more/p2.txt
{text}
END
chmod -R {rights} {name}; find {name} -type d -exec chmod u+x {{}} +"
        ),
    ));
}

/// Waits until a submission is graded.
#[track_caller]
fn wait_for(guest: &Guest, name: &str) {
    let report = "/var/lib/gridmark/reports/submissions.csv";
    let row = guest.wait_until(&of("carol", &format!("grep '^{name},' {report}")));
    assert!(row.contains(",graded,"), "{row}");
}

#[test]
fn a_folder_is_handed_in_as_documented_with_any_umask_and_rights() {
    let Some(guest) = guest() else { return };
    let service = guest.serve(UNIT);
    let command = block("| tar -x");
    for umask in UMASKS {
        for rights in ["u=rwX,go=", "u=rX,go=", "u=rwX,go=rX"] {
            let team = format!("team-{umask}-{rights}").replace([',', '='], "");
            make_team(&guest, &team, rights);
            let command = command.replace("team-07", &team);
            let printed = guest.sh(&of("alice", &format!("umask {umask}\n{command}")));
            assert_eq!(printed, "");
            wait_for(&guest, &format!("{team}/p1.txt"));
            wait_for(&guest, &format!("{team}/more/p2.txt"));
        }
        // So is what is written in place, in a folder that is made there.
        let team = format!("{INBOX}/written-{umask}");
        guest.sh(&of(
            "alice",
            &format!("umask {umask}; mkdir {team}; cat team-*/p1.txt > {team}/p1.txt"),
        ));
        wait_for(&guest, &format!("written-{umask}/p1.txt"));
    }
    let log = guest.sh("cat /tmp/log");
    assert!(!log.contains("cannot") && !log.contains("WARN"), "{log}");
    guest.stop(service);
}

#[test]
fn others_may_read_but_not_change_what_was_handed_in() {
    let Some(guest) = guest() else { return };
    make_team(&guest, "team-07", "u=rwX,go=");
    let hand_in = block("| tar -x");
    guest.sh(&of("alice", &format!("umask 022\n{hand_in}\n cat team-07/p1.txt > {INBOX}/top")));
    let refused = |script: &str| {
        let (is_done, printed) = guest.try_sh(&of("carol", script));
        let is_refused = ["Permission denied", "cannot create", "not permitted"];
        let is_refused = is_refused.iter().any(|word| printed.contains(word));
        assert!(!is_done && is_refused, "{script}: {printed}");
    };
    let all = |root: &str| {
        [
            format!("{root}/top"),
            format!("{root}/team-07/p1.txt"),
            format!("{root}/team-07/more/p2.txt"),
        ]
    };
    for file in all(INBOX) {
        guest.sh(&of("carol", &format!("cat {file}")));
        refused(&format!("echo x > {file}"));
        refused(&format!("rm -f {file}"));
        refused(&format!("mv {file} {INBOX}/away"));
    }
    refused(&format!("mv {INBOX}/team-07 {INBOX}/away"));
    // A folder belongs to its creator.
    refused(&format!("echo x > {INBOX}/team-07/p5.txt"));
    let service = guest.serve(UNIT);
    for file in all("") {
        wait_for(&guest, file.trim_start_matches('/'));
    }
    for file in all(ARCHIVE) {
        guest.sh(&of("carol", &format!("cat {file}")));
        refused(&format!("echo x > {file}"));
        refused(&format!("rm -f {file}"));
    }
    refused(&format!("echo x > {ARCHIVE}/another"));
    refused("ls /var/lib/gridmark/state");
    guest.stop(service);
}

#[test]
fn a_file_of_another_user_is_not_taken_while_they_write_to_it() {
    let Some(guest) = guest() else { return };
    let service = guest.serve(UNIT);
    make_team(&guest, "team-07", "u=rwX,go=");
    let file = format!("{INBOX}/slow/p1.txt");
    guest.sh(&of(
        "alice",
        &format!(
            "mkdir {INBOX}/slow; {{ head -c 100 team-07/p1.txt
until test -e /tmp/go; do sleep 0.05; done; tail -c +101 team-07/p1.txt; }} >{file} 2>&1 </dev/null &"
        ),
    ));
    let why = "gridmark why --config /etc/gridmark/gridmark.toml slow/p1.txt";
    guest.wait_until(&format!("{why} | grep -e \"has it open\" -e \"still be writing\""));
    guest.sh("touch /tmp/go");
    wait_for(&guest, "slow/p1.txt");
    guest.sh(&format!("cmp /home/alice/team-07/p1.txt {ARCHIVE}/slow/p1.txt"));
    guest.stop(service);
}

#[test]
fn several_users_hand_in_to_a_shared_folder_as_documented() {
    let Some(guest) = guest() else { return };
    let lines = documents::read("deploy/README.md");
    let lines = documents::block(&lines, "text", "inbox/team-07 3770");
    fs::write(guest.path("/etc/tmpfiles.d/teams.conf"), lines).unwrap();
    guest.sh("systemd-tmpfiles --create teams.conf");
    make_team(&guest, "mine", "u=rwX,go=");
    guest.sh(&of("alice", &format!("umask 077; cat mine/p1.txt > {INBOX}/team-07/alice")));
    guest
        .sh(&of("carol", &format!("umask 077; cat {INBOX}/team-07/alice > {INBOX}/team-07/carol")));
    let (is_done, _) = guest.try_sh(&of("carol", &format!("rm -f {INBOX}/team-07/alice")));
    assert!(!is_done);
    let service = guest.serve(UNIT);
    wait_for(&guest, "team-07/alice");
    wait_for(&guest, "team-07/carol");
    guest.stop(service);
}

#[test]
fn files_moved_in_can_be_taken_after_the_documented_steps() {
    let Some(guest) = guest() else { return };
    for team in ["team-07", "loose"] {
        make_team(&guest, team, "u=rwX,go=");
    }
    guest.sh(&of("alice", &format!("mv team-07 {INBOX}; mv loose/p1.txt {INBOX}")));
    let settings = format!("--config {SETTINGS}");
    let doctor = format!(
        "setpriv --reuid gridmark --regid gridmark --init-groups gridmark doctor {settings}"
    );
    let (_, printed) = guest.try_sh(&format!("{doctor} --listen 127.0.0.1:0"));
    assert!(
        printed.contains("cannot take files out of /var/lib/gridmark/inbox/team-07"),
        "{printed}"
    );
    assert!(printed.contains("cannot read /var/lib/gridmark/inbox/p1.txt"), "{printed}");
    // Their owner does it for a file, and root for a folder.
    let steps = documents::read("deploy/README.md");
    let of_file = documents::block(&steps, "sh", "chmod g+r");
    guest.sh(&of("alice", &format!("set -e\n{of_file}")));
    guest.sh(&format!("set -e\n{}", documents::block(&steps, "sh", "chown -R gridmark:")));
    let (_, printed) = guest.try_sh(&format!("{doctor} --listen 127.0.0.1:0"));
    assert!(printed.contains("3 files in 2 folders of the inbox can be taken"), "{printed}");
    let service = guest.serve(UNIT);
    for name in ["p1.txt", "team-07/p1.txt", "team-07/more/p2.txt"] {
        wait_for(&guest, name);
    }
    guest.stop(service);
}

#[test]
fn the_folders_belong_to_the_service() {
    let Some(guest) = guest() else { return };
    for (folder, wanted) in [
        ("", 0o750),
        ("inbox", 0o3770),
        ("archive", 0o2750),
        ("quarantine", 0o2750),
        ("reports", 0o2750),
        ("state", 0o700),
    ] {
        let path = guest.path("/var/lib/gridmark").join(folder);
        let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, wanted, "{folder}");
    }
    assert_eq!(guest.sh("stat -c %U:%G /var/lib/gridmark/inbox"), "gridmark:gridmark\n");
}
