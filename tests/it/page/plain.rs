//! Pages as bytes: what is in them, what is not, and for whom.

use super::{get, page, start};
use crate::kit::{Sandbox, cases};
use crate::tournament::{Folder, SOLVED, hours_ago};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn without_an_event_the_overview_and_submissions_show_what_was_handed_in() {
    let mut sandbox = Sandbox::new();
    let address = start(&mut sandbox);
    assert!(page(address, "/").contains("There is no event."));
    sandbox.rename_in("a/right.txt", cases::classic(1, "Y"));
    sandbox.rename_in("a/wrong.txt", cases::classic(1, "N"));
    sandbox.rename_in("<i>&\u{202e}.txt", "hello\n");
    sandbox.wait_for(3);
    let all = page(address, "/submissions");
    for name in ["a/right.txt", "a/wrong.txt", "&lt;i&gt;&amp;"] {
        assert!(all.contains(name), "{all}");
    }
    // Markup is text, and what would change the direction of the rest is escaped.
    assert!(!all.contains("<i>") && !all.contains('\u{202e}'), "{all}");
    let wrong = page(address, "/submissions?verdict=wrong");
    assert!(wrong.contains("a/wrong.txt") && !wrong.contains("a/right.txt"), "{wrong}");
    let named = page(address, "/submissions?name=right&verdict=all");
    assert!(named.contains("a/right.txt") && !named.contains("a/wrong.txt"), "{named}");
    assert!(page(address, "/submissions?name=nothing").contains("There are none."));
    let one = wrong.split("/submissions/").nth(1).expect("a link");
    let id: String = one.chars().take_while(char::is_ascii_digit).collect();
    let one = page(address, &format!("/submissions/{id}"));
    assert!(one.contains("a/wrong.txt") && one.contains("blake3"), "{one}");
    for missing in ["/submissions/99", "/submissions/x", "/nothing", "/standings/r1"] {
        let (head, _) = get(address, missing, "");
        let expected = if missing == "/standings/r1" { "200" } else { "404" };
        assert!(head.starts_with(&format!("HTTP/1.1 {expected} ")), "{missing}: {head}");
    }
}

#[test]
fn a_list_goes_on_where_the_page_before_ends() {
    let mut sandbox = Sandbox::new();
    let address = start(&mut sandbox);
    for number in 0..120 {
        sandbox.rename_in(format!("p{number}.txt"), "x\n");
    }
    sandbox.wait_for(120);
    let (mut next, mut found) = ("/submissions?verdict=all".to_owned(), Vec::new());
    loop {
        let list = page(address, &next);
        let names = list.split("<bdi>").skip(1).filter_map(|rest| rest.split("</bdi>").next());
        found.extend(names.map(str::to_owned));
        let Some((_, link)) = list.split_once("rel=\"next\" href=\"") else { break };
        next = link.split('"').next().expect("an address").replace("&amp;", "&");
    }
    let mut expected: Vec<String> = (0..120).map(|number| format!("p{number}.txt")).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn only_those_who_ask_by_its_name_are_answered_and_staff_alone_see_all() {
    let mut sandbox = Sandbox::new();
    sandbox.set("page.hosts", "scoring.local");
    let address = start(&mut sandbox);
    for (host, status) in [
        (address.to_string(), "200"),
        (format!("localhost:{}", address.port()), "200"),
        ("[::1]".to_owned(), "200"),
        ("Scoring.Local:8080".to_owned(), "200"),
        ("evil.example".to_owned(), "421"),
        ("127.0.0.1.evil.example".to_owned(), "421"),
        (String::new(), "421"),
    ] {
        let (head, _) = get(address, "/", &format!("Host: {host}\r\n"));
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {head}");
        for rule in ["default-src 'none'", "frame-ancestors 'none'", "no-referrer", "nosniff"] {
            assert!(head.contains(rule), "{host}: {head}");
        }
    }
    // For whom a proxy asks is not known.
    for field in ["X-Forwarded-For: 192.0.2.1\r\n", "Forwarded: for=192.0.2.1\r\n"] {
        for path in ["/", "/submissions", "/submissions/1"] {
            let (head, body) = get(address, path, field);
            assert!(head.starts_with("HTTP/1.1 403 "), "{path}: {head}");
            assert!(body.contains("for staff"), "{body}");
        }
        for path in ["/hall", "/standings"] {
            assert!(get(address, path, field).0.starts_with("HTTP/1.1 200 "), "{path}");
        }
    }
}

/// Promise P11.
#[test]
fn others_than_staff_see_standings_as_far_as_the_public_may() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    folder.event += "\n[publish]\nfreeze_before_end = \"7999h 30m\"\n";
    let later = folder.rounds[0].1.replace(&hours_ago(1)[..10], "2099-01-01");
    folder.rounds.push(("r2".into(), later));
    folder.files.push(("rounds/r2/p1.sdm".into(), folder.files[0].1.clone()));
    folder.write(&sandbox);
    let address = start(&mut sandbox);
    // It arrives within the freeze.
    sandbox.rename_in("r1/p1/101.txt", SOLVED);
    sandbox.wait_for(1);
    sandbox.wait_until("the standings have it", |_| {
        page(address, "/standings/r1").contains("<strong>10</strong>")
    });
    let proxied = "X-Forwarded-For: 192.0.2.1\r\n";
    for path in ["/standings/r1", "/standings", "/hall", "/hall?round=r1"] {
        let (_, body) = get(address, path, proxied);
        assert!(body.contains("One") && !body.contains("<strong>10</strong>"), "{path}: {body}");
    }
    assert!(page(address, "/hall").contains("frozen"));
    let (_, body) = get(address, "/standings/r2", proxied);
    assert!(body.contains("Nothing of this round is shown yet.") && !body.contains("One"));
}

/// However many screens there are, grading has the descriptors that it needs.
#[test]
fn few_descriptors_mean_few_connections_and_all_files_are_graded() {
    let mut sandbox = Sandbox::new();
    sandbox.bound_descriptors(256);
    let address = start(&mut sandbox);
    assert!(sandbox.service().log().contains("page.connections_max"));
    let screens: Vec<TcpStream> = (0..400)
        .map_while(|_| {
            let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
            write!(stream, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").ok()?;
            Some(stream)
        })
        .collect();
    assert!(screens.len() > 100, "{}", screens.len());
    for number in 0..50 {
        sandbox.rename_in(format!("team-{number}/p.txt"), "x\n");
    }
    sandbox.wait_for(50);
    let metrics = sandbox.service().metrics();
    assert_eq!(metrics.of("gridmark_http_errors_total"), 0.0);
    drop(screens);
}

#[test]
fn a_stream_says_that_something_has_changed_and_ends_with_the_service() {
    let mut sandbox = Sandbox::new();
    let address = start(&mut sandbox);
    let mut stream = TcpStream::connect(address).expect("the page");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    write!(stream, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("a request");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
    let mut wait = |start: &str| lines.find(|line| line.starts_with(start)).expect("a line");
    wait("event: beat");
    let before = wait("id: ");
    sandbox.rename_in("p.txt", "x\n");
    wait("event: change");
    assert_ne!(wait("id: "), before);
    sandbox.stop();
    assert_eq!(lines.find(|line| line.starts_with("event: ")), None);
    // One that comes back asks again if something has happened meanwhile, and hears of it at once.
    sandbox.start();
    let mut stream = TcpStream::connect(address).expect("the page");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    write!(stream, "GET /events HTTP/1.1\r\nHost: {address}\r\nLast-{before}\r\n\r\n")
        .expect("a request");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
    lines.find(|line| line.starts_with("event: ")).expect("an event");
}
