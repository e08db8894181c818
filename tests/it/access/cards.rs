//! `gridmark event cards`.

use super::kit::{access, asking, assert_nowhere, rulings};
use crate::browser::Browser;
use crate::kit::Sandbox;
use crate::tournament::Folder;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The codes on a page, in its order.
fn codes(page: &str) -> Vec<String> {
    let parts = page.split("<p class=\"code\">").skip(1);
    parts.map(|part| part.split('<').next().unwrap().to_owned()).collect()
}

#[test]
fn cards_are_printed_for_all_or_some_and_printing_again_replaces_them() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    folder.entrants = "id,name,seat\n101,\"<b>One</b>\",A7\n102,Two,\n103,Three,\n".into();
    folder.write(&sandbox);
    sandbox.start();
    let printed = sandbox.run("event cards", &["--out", "cards.html"]);
    assert_eq!((printed.code, printed.stdout.as_str()), (Some(0), ""), "{printed:?}");
    let page = sandbox.text("cards.html");
    let all = codes(&page);
    assert_eq!(all.len(), 3);
    assert!(page.contains("&lt;b&gt;One&lt;/b&gt;") && !page.contains("<b>"), "{page}");
    let mode = fs::metadata(sandbox.path("cards.html")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "others cannot read it");
    // Over a file that is there nothing is printed.
    let again = sandbox.run("event cards", &["--out", "cards.html"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("cannot create"), "{again:?}");
    assert_eq!(sandbox.text("cards.html"), page);
    sandbox.stop();
    let one = sandbox.run("event cards", &["--entrant", "0102", "--by", "Desk"]);
    assert_eq!(one.code, Some(0), "{one:?}");
    let [new] = &codes(&one.stdout)[..] else { panic!("{one:?}") };
    let access = access(&sandbox);
    let entrant = |code: &str| access.entrant(code, &asking()).ok();
    assert_eq!(entrant(&all[0]).as_deref(), Some("101"));
    assert_eq!(entrant(&all[1]), None, "another card was printed");
    assert_eq!(entrant(new).as_deref(), Some("102"));
    assert_eq!(entrant(&all[2]).as_deref(), Some("103"));
    let secrets: Vec<String> = all.iter().map(|code| code.replace('-', "")).collect();
    assert_nowhere(&sandbox, &[&all[0], &secrets[0], &all[2], &secrets[2]]);
    let recorded = rulings(&sandbox);
    assert!(recorded[1].contains("|101, 102, 103|cards were printed"), "{recorded:?}");
    assert_eq!(recorded[2], "cards|Desk|director|command|102|cards were printed");
}

#[test]
fn what_is_refused_leaves_no_file_and_old_cards_in_force() {
    let mut sandbox = Sandbox::started();
    let none = sandbox.run("event cards", &["--out", "cards.html"]);
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(none.stderr.contains("there is no event"), "{none:?}");
    assert!(!sandbox.path("cards.html").exists());
    Folder::new().write(&sandbox);
    assert_eq!(sandbox.run("reload", &[""; 0]).code, Some(0));
    let unknown = sandbox.run("event cards", &["--entrant", "101", "--entrant", "999"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.stderr.contains("there is no entrant `999`"), "{unknown:?}");
    sandbox.stop();
    assert_eq!(rulings(&sandbox).len(), 1, "the takeover alone");
}

#[test]
fn ten_cards_are_on_a_page_of_paper_whatever_the_names_and_everybody_can_read_them() {
    let Some(browser) = Browser::start() else { return };
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    let names = [
        "<script>document.title = 'broken'</script>".to_owned(),
        "محمد عبد الله".into(),
        "\u{202e}desrever".into(),
        "Long ".repeat(40),
    ];
    let rows = (101..127).map(|id| {
        let name = names.get(id - 101).cloned().unwrap_or_else(|| format!("Entrant {id}"));
        format!("{id},\"{name}\",\"{}\",A{id}\n", "Team ".repeat(30))
    });
    folder.entrants = format!("id,name,team,seat\n{}", rows.collect::<String>());
    folder.write(&sandbox);
    sandbox.once();
    let printed = sandbox.run("event cards", &["--out", "cards.html"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    browser.open(&format!("file://{}", sandbox.path("cards.html").display()));
    assert_eq!(browser.count("li"), 26);
    assert_eq!(browser.script("return document.title"), "Cards: Open");
    assert_eq!(browser.pdf().pages(), 3);
    // All of a card but a long name is shown, though all above it is long.
    let is_cut = "return [...document.querySelectorAll('li, .code, .note')]
        .filter((it) => it.scrollHeight > it.clientHeight || it.scrollWidth > it.clientWidth)
        .map((it) => it.innerText)";
    assert_eq!(browser.script(is_cut), serde_json::json!([]));
    browser.assert_good("cards");
}
