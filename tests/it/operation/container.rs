//! The container and compose files, as far as they can be checked without an engine that builds or
//! runs them: the files they name exist, they agree with each other, and what they start runs where
//! there is nothing but the image.

use crate::kit::island::Island;
use crate::kit::needs::find_program;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use yaml_rust2::{Yaml, YamlLoader};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const DATA: &str = "/var/lib/gridmark";
/// A condition that does not come true in this time is taken never to do so.
const DEADLINE: Duration = Duration::from_secs(60);

fn in_repository(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(in_repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The instructions of the Containerfile: each its word, and what follows on one line.
fn instructions() -> Vec<(String, String)> {
    let text = read("deploy/container/Containerfile").replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let split = lines.map(|line| line.split_once(' ').expect("an instruction"));
    split.map(|(word, rest)| (word.to_owned(), rest.trim().to_owned())).collect()
}

/// What follows the last of these instructions, which is the one in force.
fn last(word: &str) -> String {
    let found = instructions().into_iter().rfind(|instruction| instruction.0 == word);
    found.unwrap_or_else(|| panic!("no {word}")).1
}

/// A command in the form of a list.
fn list(text: &str) -> Vec<String> {
    serde_json::from_str(&text[text.find('[').expect("a list")..]).unwrap()
}

fn yaml(path: &str) -> Yaml {
    let mut documents = YamlLoader::load_from_str(&read(path)).unwrap();
    assert_eq!(documents.len(), 1, "{path}");
    documents.remove(0)
}

fn strings(list: &Yaml) -> Vec<&str> {
    list.as_vec().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

/// The variable `${NAME:-default}`, as its default.
fn without_variables(text: &str) -> String {
    match text.split_once(":-") {
        Some((name, rest)) if name.starts_with("${") => rest.trim_end_matches('}').to_owned(),
        _ => text.to_owned(),
    }
}

/// The mounts of a service: where from, where to, and whether it is read-only.
fn mounts(service: &Yaml) -> Vec<(String, String, bool)> {
    let mount = |item: &Yaml| match item.as_str() {
        Some(short) => {
            let parts = short.split(':').collect::<Vec<_>>();
            (parts[0].to_owned(), parts[1].to_owned(), parts.get(2) == Some(&"ro"))
        }
        None => {
            let of = |key: &str| item[key].as_str().unwrap();
            (without_variables(of("source")), of("target").to_owned(), false)
        }
    };
    service["volumes"].as_vec().unwrap().iter().map(mount).collect()
}

#[test]
fn the_containerfile_copies_existing_files_and_agrees_with_the_rest() {
    let mut built = vec!["/build/target/release/gridmark".to_owned(), "/image/".to_owned()];
    built.retain(|made| {
        let name = made.trim_start_matches("/build/").trim_end_matches('/');
        instructions().iter().any(|(word, rest)| {
            word == "RUN" && (rest.contains(name) || rest.contains("--bin gridmark"))
        })
    });
    let mut copied = 0;
    for (word, rest) in instructions().iter().filter(|(word, _)| word == "COPY") {
        let parts = rest.split(' ').filter(|part| !part.starts_with("--")).collect::<Vec<_>>();
        for source in &parts[..parts.len() - 1] {
            let source = source.strip_prefix("/build/").unwrap_or(source);
            let is_made = built.iter().any(|made| made.trim_start_matches("/build/") == source);
            assert!(is_made || in_repository(source).exists(), "{word} {rest}");
            copied += 1;
        }
    }
    assert!(copied >= 5, "{copied}");

    let command = [list(&last("ENTRYPOINT")), list(&last("CMD"))].concat();
    let flag = |name: &str| {
        let at = command.iter().position(|word| word == name).unwrap_or_else(|| panic!("{name}"));
        command[at + 1].clone()
    };
    assert_eq!((flag("--root"), last("VOLUME")), (DATA.to_owned(), DATA.to_owned()));
    assert_eq!(flag("--listen"), format!("0.0.0.0:{}", last("EXPOSE")));
    let health = list(&last("HEALTHCHECK"));
    assert_eq!(health[..2], ["gridmark", "health"]);
    let user = last("USER");
    assert!(
        !user.starts_with('0') && user.chars().all(|c| c.is_ascii_digit() || c == ':'),
        "{user}"
    );
    // Both stages are of one Debian, and the compiler is one that builds gridmark.
    let stages = instructions().into_iter().filter(|(word, _)| word == "FROM").collect::<Vec<_>>();
    assert!(stages[0].1.contains(&format!("rust:{}-", env!("CARGO_PKG_RUST_VERSION"))));
    assert!(stages[0].1.contains("-bookworm ") && stages[1].1.ends_with("-debian12"));
    // What is copied into the build is small.
    let ignored = read(".dockerignore");
    assert!(["target", ".git"].iter().all(|name| ignored.lines().any(|line| line == *name)));
}

#[test]
fn compose_mounts_existing_files_and_its_services_find_each_other() {
    let compose = yaml("deploy/container/compose.yml");
    let services = compose["services"].as_hash().unwrap();
    let named = services.keys().map(|name| name.as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(named, ["gridmark", "prometheus", "grafana"]);
    let mut ports = BTreeMap::new();
    for (name, service) in services {
        let name = name.as_str().unwrap();
        let locked = &service["<<"];
        assert_eq!(locked["read_only"].as_bool(), Some(true), "{name}");
        assert_eq!(strings(&locked["cap_drop"]), ["ALL"], "{name}");
        assert_eq!(strings(&locked["security_opt"]), ["no-new-privileges:true"], "{name}");
        for (from, to, is_read_only) in mounts(service) {
            if from.starts_with("../") {
                assert!(in_repository("deploy/container").join(&from).exists(), "{name}: {from}");
                assert!(is_read_only, "{name}: {from}");
            } else if from.starts_with("./") && to != DATA {
                assert!(in_repository("deploy/container").join(&from).is_file(), "{name}: {from}");
                assert!(is_read_only, "{name}: {from}");
            } else if to != DATA {
                assert!(compose["volumes"].as_hash().unwrap().contains_key(&Yaml::String(from)));
            }
        }
        if let Some(image) = service["image"].as_str().filter(|image| *image != "gridmark") {
            let version = image.rsplit_once(':').expect("a version").1;
            assert!(version.matches('.').count() == 2, "{image} is not one version");
        }
        for port in strings(&service["ports"]) {
            let parts = port.split(':').collect::<Vec<_>>();
            assert_eq!(parts[0], "127.0.0.1", "{name} is reached from elsewhere");
            ports.insert(name, parts[2].to_owned());
        }
    }
    let gridmark = &compose["services"]["gridmark"];
    assert_eq!(mounts(gridmark)[0].1, DATA);
    assert_eq!(ports["gridmark"], last("EXPOSE"));
    assert_eq!(without_variables(gridmark["user"].as_str().unwrap()), last("USER"));
    let containerfile = in_repository("deploy/container")
        .join(gridmark["build"]["context"].as_str().unwrap())
        .join(gridmark["build"]["dockerfile"].as_str().unwrap());
    assert!(containerfile.is_file());
    // Its variables are settings, and it may be one of these words.
    let (variable, value) = gridmark["environment"].as_hash().unwrap().iter().next().unwrap();
    for value in [without_variables(value.as_str().unwrap()), "off".into()] {
        let mut config = Command::new(env!("CARGO_BIN_EXE_gridmark"));
        config.arg("config").env_clear().env(variable.as_str().unwrap(), &value);
        assert!(config.output().unwrap().status.success(), "{value}");
    }

    let prometheus = yaml("deploy/container/prometheus.yml");
    let target = &prometheus["scrape_configs"][0]["static_configs"][0]["targets"][0];
    assert_eq!(target.as_str().unwrap(), format!("gridmark:{}", ports["gridmark"]));
    let source = yaml("deploy/container/datasource.yml");
    let url = source["datasources"][0]["url"].as_str().unwrap();
    assert_eq!(url, format!("http://prometheus:{}", ports["prometheus"]));
}

/// What is said here beside the files for one machine is what they say, but for addresses.
#[test]
fn the_configuration_for_containers_is_that_for_one_machine() {
    let here = yaml("deploy/container/prometheus.yml");
    let there = yaml("deploy/prometheus/prometheus.yml");
    assert_eq!((&here["global"], &here["rule_files"]), (&there["global"], &there["rule_files"]));
    let job = |whole: &Yaml| whole["scrape_configs"][0]["job_name"].as_str().unwrap().to_owned();
    assert_eq!(job(&here), job(&there));
    let here = yaml("deploy/container/datasource.yml");
    let there = yaml("deploy/grafana/provisioning/datasources/gridmark.yml");
    for key in ["name", "type", "access", "uid", "isDefault", "jsonData"] {
        assert_eq!(here["datasources"][0][key], there["datasources"][0][key], "{key}");
    }
    // Dashboards are mounted where the provisioning of Grafana looks for them.
    let provider = yaml("deploy/grafana/provisioning/dashboards/gridmark.yml");
    let wanted = provider["providers"][0]["options"]["path"].as_str().unwrap().to_owned();
    let compose = yaml("deploy/container/compose.yml");
    let mounted = mounts(&compose["services"]["grafana"]);
    assert!(mounted.contains(&("../grafana/dashboards".into(), wanted, true)), "{mounted:?}");
}

/// The process, which ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Files as the image has them: the program, the libraries that it is linked to, its settings.
fn image(folder: &Path) {
    let program = Path::new(env!("CARGO_BIN_EXE_gridmark"));
    let output = Command::new(find_program("ldd").unwrap()).arg(program).output().unwrap();
    let linked = String::from_utf8(output.stdout).unwrap();
    let files = linked.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new);
    for file in files {
        let there = folder.join(file.strip_prefix("/").unwrap());
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        fs::copy(file, there).unwrap();
    }
    for inner in ["usr/bin", "etc/gridmark", "var/lib/gridmark", "proc", "dev"] {
        fs::create_dir_all(folder.join(inner)).unwrap();
    }
    fs::copy(program, folder.join("usr/bin/gridmark")).unwrap();
    let settings = in_repository("config/gridmark.toml");
    fs::copy(settings, folder.join("etc/gridmark/gridmark.toml")).unwrap();
}

#[test]
fn files_are_graded_in_a_read_only_image_with_nothing_else() {
    let Some(island) = Island::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (root, data) = (folder.path().join("image"), folder.path().join("data"));
    image(&root);
    fs::create_dir(&data).unwrap();
    let (shown, volume) = (root.display(), data.display());
    island.run(&format!(
        "mount --bind {shown} {shown}
         mount -o remount,bind,ro {shown}
         mount --rbind /proc {shown}/proc
         mount --rbind /dev {shown}/dev
         mount --bind {volume} {shown}{DATA}
         ! touch {shown}/etc/x 2>/dev/null"
    ));
    let within = |command: &[String]| {
        let mut process = island.command(find_program("chroot").unwrap());
        process.arg(&root).args(command).env_clear().stdin(Stdio::null());
        process.env("PATH", "/usr/bin").env("GRIDMARK_PUBLISH_DISK_FREE_BYTES_MIN", "0");
        process
    };

    let mut command = [list(&last("ENTRYPOINT")), list(&last("CMD"))].concat();
    // The port of the image may be taken here.
    *command.last_mut().unwrap() = "127.0.0.1:0".into();
    let log = folder.path().join("log");
    let mut service = within(&command);
    service.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap());
    let mut service = Running(service.spawn().unwrap());
    let wait_until = |what: &str, holds: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !holds() {
            let log = || fs::read_to_string(&log).unwrap();
            assert!(start.elapsed() < DEADLINE, "not in time: {what}\n{}", log());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let health = list(&last("HEALTHCHECK"));
    let is_healthy = || within(&health).output().unwrap().status.success();
    wait_until("it is healthy", &is_healthy);

    fs::write(data.join("p1.txt"), "see you at lunch\n").unwrap();
    wait_until("there is an inbox", &|| data.join("inbox").exists());
    fs::rename(data.join("p1.txt"), data.join("inbox/p1.txt")).unwrap();
    let report = data.join("reports/submissions.csv");
    wait_until("it is graded", &|| {
        fs::read_to_string(&report).is_ok_and(|rows| rows.contains("\np1.txt,1,"))
    });

    rustix::process::kill_process(
        rustix::process::Pid::from_child(&service.0),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert!(service.0.wait().unwrap().success(), "{}", fs::read_to_string(&log).unwrap());
    assert!(!is_healthy());
}
