//! What the handbook and the runbook have people type.

use super::handing_in::guest;
use crate::documents;
use crate::kit::Sandbox;
use crate::kit::cases::hexudoku;
use crate::kit::needs;
use std::fs;
use std::process::Command;

/// Those that are about a service, and so need to know which.
const ABOUT_A_SERVICE: [&str; 6] = ["why", "retry", "verify", "backup", "doctor", "reload"];

#[test]
fn commands_are_run_as_the_services_user_and_with_its_settings() {
    let mut shown = 0;
    for page in ["deploy/README.md", "deploy/prometheus/RUNBOOK.md"] {
        let text = documents::read(page).replace("\n   ", " ").replace('\n', " \n");
        let text = text.replace("--config \n/etc", "--config /etc");
        for (at, _) in text.match_indices("gridmark ") {
            let (before, command) = (&text[..at], &text[at + "gridmark ".len()..]);
            let name = command.split([' ', '`']).next().unwrap();
            let is_command = before.ends_with(['`', ' ', '\n']) && ABOUT_A_SERVICE.contains(&name);
            let line = command.split(['`', '\n']).next().unwrap();
            // What is only named has no arguments.
            if !is_command || !line.trim().contains(' ') {
                continue;
            }
            assert!(before.ends_with("sudo -u gridmark "), "{page}: {line}");
            let whose = ["--config /etc/gridmark/gridmark.toml", "--root /mnt/backup/"];
            assert!(whose.iter().any(|whose| line.contains(whose)), "{page}: {line}");
            shown += 1;
        }
    }
    assert!(shown >= 10, "{shown}");
}

#[test]
fn with_the_settings_file_alone_every_command_works_on_the_service_root() {
    let mut sandbox = Sandbox::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("gridmark.toml");
    let mut text = format!("[paths]\nroot = \"{}\"\n", sandbox.path("").display());
    for folder in ["inbox", "archive", "quarantine", "reports", "state"] {
        let there = elsewhere.path().join("its own").join(folder);
        text.push_str(&format!("{folder} = \"{}\"\n", there.display()));
    }
    fs::write(&file, text).unwrap();
    fs::create_dir(elsewhere.path().join("its own")).unwrap();
    sandbox.use_file(file.clone());
    sandbox.start();
    let handed_in = elsewhere.path().join("p");
    fs::write(&handed_in, hexudoku(1)).unwrap();
    fs::rename(handed_in, elsewhere.path().join("its own/inbox/p")).unwrap();
    let archived = elsewhere.path().join("its own/archive/p");
    sandbox.wait_until("it is taken", |sandbox| {
        archived.exists() && sandbox.service().metrics().of("gridmark_in_flight_files") == 0.0
    });
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
        let variables = [("GRIDMARK_PUBLISH_DISK_FREE_BYTES_MIN", "0")];
        command.env_clear().envs(variables).args(args).arg("--config").arg(&file);
        let output = command.current_dir("/").output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(printed).unwrap())
    };
    let copy = elsewhere.path().join("copy");
    for (args, wanted) in [
        (&["why", "p"][..], "p: graded"),
        (&["retry", "--all"], "quarantine is empty"),
        (&["verify"], "submissions: 1, cases: 1: everything agrees"),
        (&["backup", copy.to_str().unwrap()], "copied the ledger, 1 file and"),
        (&["health"], "ready"),
        (&["reload"], "no setting has changed"),
    ] {
        let (code, printed) = run(args);
        assert!(code == Some(0) && printed.contains(wanted), "{args:?}: {code:?} {printed}");
    }
    let (_, printed) = run(&["doctor"]);
    assert!(printed.contains("its own/inbox") && printed.contains("is ready"), "{printed}");
    sandbox.stop();
}

#[test]
fn files_handed_in_again_get_their_names_back_and_attempts_keep_their_order() {
    let handbook = documents::read("deploy/README.md");
    let commands = documents::block(&handbook, "sh", "cd /mnt/old/archive");
    let mut sandbox = Sandbox::new();
    sandbox.start();
    let names = ["team/p 1.txt", "team/more/p,2", "loose.tar.gz"];
    let mut wanted = 0;
    for attempt in 1..=11 {
        for (i, name) in names.iter().enumerate() {
            sandbox.rename_in(name, hexudoku(10 * attempt + i));
        }
        wanted += names.len();
        sandbox.wait_for(wanted);
    }
    sandbox.rename_in("its own~1.txt", hexudoku(1));
    sandbox.wait_for(wanted + 1);
    sandbox.stop();
    let marks = |sandbox: &Sandbox| {
        let rows = sandbox.submissions();
        let columns = ["submission", "attempt", "blake3", "archived_as"];
        let mut rows = rows.iter().map(|row| row.columns(&columns)).collect::<Vec<_>>();
        rows.sort();
        rows
    };
    let before = marks(&sandbox);
    assert!(before.iter().any(|row| row.ends_with("|team/p 1~11.txt")), "{before:?}");
    for folder in ["archive", "reports", "state"] {
        fs::rename(sandbox.path(folder), sandbox.path(format!("old {folder}"))).unwrap();
    }
    sandbox.start();
    let paths = [("/mnt/old/archive", "old archive"), ("/var/lib/gridmark/inbox", "inbox")];
    let commands = paths.iter().fold(commands.to_owned(), |commands, (shown, here)| {
        assert!(commands.contains(shown));
        commands.replace(shown, &format!("'{}'", sandbox.path(here).display()))
    });
    let ran = Command::new("sh").args(["-ec", &commands]).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
    sandbox.wait_for(wanted + 1);
    sandbox.stop();
    assert_eq!(marks(&sandbox), before);
}

/// On a machine that has no address but its own, as much as can be tried without an init system.
#[test]
fn prometheus_and_alertmanager_are_set_up_for_this_machine_alone_and_start() {
    let programs = ["prometheus", "prometheus-alertmanager", "promtool", "amtool"];
    if !needs::programs(&programs) {
        return;
    }
    let Some(guest) = guest() else { return };
    for program in programs {
        let path = needs::find_program(program).unwrap();
        guest.put(&path, &format!("/usr/local/bin/{program}"));
    }
    let handbook = documents::read("deploy/README.md");
    let steps = documents::block(&handbook, "sh", "promtool check config");
    for program in ["prometheus", "prometheus-alertmanager"] {
        guest.sh(&format!("echo 'ARGS=\"\"' > /etc/default/{program}; mkdir -p /etc/prometheus"));
    }
    let steps = steps.replace("apt-get ", ": ");
    guest.sh(&format!("cd /tmp/clone; systemctl() {{ :; }}; set -e\n{steps}"));
    let looks = documents::block(&handbook, "sh", "amtool --alertmanager.url");
    let look = looks.lines().find(|line| line.starts_with("amtool")).unwrap();
    let look = look.split('#').next().unwrap().trim();
    // Both as Debian's units start them. Nothing can be asked where not even the loopback is up.
    let script = format!(
        "cat > /tmp/start <<\\END
         set -e
         . /etc/default/prometheus
         prometheus $ARGS --config.file=/etc/prometheus/prometheus.yml \\
             --storage.tsdb.path=/tmp/data > /tmp/prometheus.log 2>&1 &
         . /etc/default/prometheus-alertmanager
         prometheus-alertmanager $ARGS --config.file=/etc/prometheus/alertmanager.yml \\
             --storage.path=/tmp/alerts > /tmp/alertmanager.log 2>&1 &
         perl -e 'use Socket; socket(my $s, AF_INET, SOCK_DGRAM, 0);
             my $up = pack(\"a16 s x14\", \"lo\", 0x49); ioctl($s, 0x8914, $up) or die $!'
         for try in $(seq 600); do {look} && break; sleep 0.1; done
         {look}
         for try in $(seq 600); do grep -q 'Server is ready' /tmp/prometheus.log && break; sleep 0.1; done
         cat /proc/net/tcp /proc/net/tcp6
         kill $!; kill %1
END
         unshare --net bash /tmp/start"
    );
    let (is_good, printed) = guest.try_sh(&script);
    let logs = guest.sh("cat /tmp/prometheus.log /tmp/alertmanager.log");
    assert!(is_good, "{printed}\n{logs}");
    // Listening (0A): 9090 is 2382, 9093 is 2385, and 127.0.0.1 is 0100007F.
    let listening = printed.lines().filter(|line| line.contains(" 0A "));
    let mut places: Vec<_> = listening.filter_map(|line| line.split_whitespace().nth(1)).collect();
    places.sort_unstable();
    assert_eq!(places, ["0100007F:2382", "0100007F:2385"], "{printed}\n{logs}");
}
