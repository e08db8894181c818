//! Whole files with known answers, from tests/data.

use super::core_kit::answers;
use gridmark_core::Kind;
use std::fs;
use std::path::Path;

#[test]
fn files_get_their_known_answers() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for kind in Kind::ALL {
        let files = fs::read_dir(data.join(kind.word())).unwrap().map(|file| file.unwrap().path());
        let inputs =
            files.filter(|file| file.extension().is_some_and(|extension| extension == "in"));
        let inputs = inputs.collect::<Vec<_>>();
        assert!(inputs.len() >= 2, "{kind}");
        for input in inputs {
            let expected = fs::read_to_string(input.with_extension("out")).unwrap();
            let text = fs::read(&input).unwrap();
            assert_eq!(answers(kind, &text), expected, "{}", input.display());
        }
    }
}
