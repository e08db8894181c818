//! Pages as people see them.

use super::start;
use crate::browser::Browser;
use crate::kit::{Sandbox, cases};
use crate::tournament::{Folder, SOLVED, relabelled};

/// A tournament with something of everything, and its page in a browser.
fn tournament() -> Option<(Sandbox, Browser, String)> {
    let browser = Browser::start()?;
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    let many = (200..260).map(|id| format!("{id},Somebody with the number {id}\n"));
    folder.entrants += &many.collect::<String>();
    folder.entrants += "104,\"<script>alert(1)</script> \u{202e}evil\"\n";
    folder.write(&sandbox);
    let address = start(&mut sandbox);
    sandbox.rename_in("r1/p1/101.txt", SOLVED);
    sandbox.rename_in("r1/p1/102.txt", relabelled());
    sandbox.rename_in("misnamed.txt", SOLVED);
    sandbox.rename_in("unreadable.txt", "hello\n");
    sandbox.wait_for(4);
    Some((sandbox, browser, format!("http://{address}")))
}

#[test]
fn every_page_is_good_to_look_at_for_everybody() {
    let Some((_sandbox, browser, url)) = tournament() else { return };
    for (path, name, text) in [
        ("/", "overview", "Needs a person"),
        ("/submissions", "submissions", "unreadable.txt"),
        ("/submissions/1", "submission", "blake3"),
        ("/standings", "standings", "One"),
        ("/standings/r1", "round", "One"),
    ] {
        browser.open(&(url.clone() + path));
        browser.wait_for_text(text);
        browser.assert_good(name);
    }
    browser.open(&(url.clone() + "/nothing"));
    browser.wait_for_text("There is no such page.");
    assert_eq!(browser.axe().unwrap_or_default(), [""; 0]);
    // The browser says so itself.
    assert!(browser.console().iter().all(|line| line.contains("404 (Not Found)")));
    browser.resize(1920, 1080);
    browser.open(&(url.clone() + "/hall"));
    browser.wait_for_text("1/");
    browser.assert_good("hall");
    browser.open(&(url + "/standings"));
    browser.wait_for_text("<script>alert(1)</script> \\xE2\\x80\\xAEevil");
}

#[test]
fn a_mark_arrives_without_reloading_and_a_restart_is_survived() {
    let Some((mut sandbox, browser, url)) = tournament() else { return };
    browser.open(&url);
    browser.wait_for_text("live");
    browser.script("window.isTheSame = true");
    sandbox.rename_in("later.txt", cases::classic(1, "Y"));
    browser.wait_for_text("later.txt");
    sandbox.kill();
    browser.wait_for_text("no contact since");
    sandbox.rename_in("meanwhile.txt", cases::classic(1, "Y"));
    sandbox.start();
    browser.wait_for_text("meanwhile.txt");
    browser.wait_for_text("live");
    assert_eq!(browser.script("return window.isTheSame"), true);
}

#[test]
fn without_a_script_everything_can_be_read() {
    let Some((mut sandbox, browser, url)) = tournament() else { return };
    browser.allow_scripts(false);
    browser.open(&url);
    browser.wait_for_text("misnamed.txt");
    browser.click("a[href='/submissions']");
    browser.wait_for_text("r1/p1/102.txt");
    sandbox.rename_in("later.txt", cases::classic(1, "Y"));
    sandbox.wait_for(5);
    browser.reload();
    browser.wait_for_text("later.txt");
    browser.open(&(url + "/hall"));
    browser.wait_for_text("Somebody with the number 259");
}

#[test]
fn the_hall_shows_whole_rows_page_by_page_and_stands_still_when_asked() {
    let Some((_sandbox, browser, url)) = tournament() else { return };
    browser.resize(1920, 1080);
    browser.open(&(url + "/hall"));
    browser.wait_for_text("1/");
    let shown =
        "return [...document.querySelectorAll('.pages tbody tr')].filter(row => !row.hidden)";
    let is_whole =
        format!("{shown}.every(row => row.getBoundingClientRect().bottom <= innerHeight)");
    assert_eq!(browser.script(&is_whole), true);
    let first = browser.script(&format!("{shown}.map(row => row.innerText)"));
    browser.press("p");
    browser.wait_for_text("paused");
    browser.press("ArrowRight");
    browser.wait_for_text("2/");
    assert_eq!(browser.script(&is_whole), true);
    let second = browser.script(&format!("{shown}.map(row => row.innerText)"));
    assert_ne!(first, second);
}
