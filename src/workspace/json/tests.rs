use proptest::prelude::*;

use super::*;

#[test]
fn places_are_lines_and_characters() {
    let text = "ab\ncé😀d\r\ne\rf\n\n";
    let lines = Lines::of(text);
    for (needle, line, column) in
        [("ab", 1, 1), ("b\n", 1, 2), ("\nc", 1, 3), ("c", 2, 1), ("😀", 2, 3), ("d", 2, 4), ("e", 3, 1), ("f", 4, 1)]
    {
        let offset = text.find(needle).expect("in the text");
        assert_eq!(lines.place(text, offset), Place { line, column }, "{needle:?}");
    }
    assert_eq!(lines.place(text, text.len()), Place { line: 6, column: 1 }, "the end");
    assert_eq!(lines.place(text, 999), Place { line: 6, column: 1 }, "past the end");
    let inside = text.find('😀').expect("in the text") + 2;
    assert_eq!(lines.place(text, inside), Place { line: 2, column: 3 }, "inside a character");
    assert_eq!(Lines::of("ab").place("ab", 9), Place { line: 1, column: 3 }, "the end of an unfinished line");
    assert_eq!(Lines::of("").place("", 0), Place { line: 1, column: 1 }, "nothing");
}

#[test]
fn long_lines_are_counted_exactly() {
    let text = "é".repeat(5000);
    let lines = Lines::of(&text);
    for character in [0, 511, 512, 513, 1024, 4999] {
        assert_eq!(lines.place(&text, character * 2), Place { line: 1, column: saturating(character + 1) });
    }
}

#[test]
fn problems_say_where() {
    for (label, text, expected) in [
        ("a comma too many", "{\"a\": 1,\n  }", "json-syntax 2:3 "),
        ("a missing comma, after wide characters", "[\"é字😀\" 1]", "json-syntax 1:8 "),
        ("an end too early", "{\"a\": [1", "json-syntax 1:8 "),
        ("a bare word", "[nope]", "json-syntax 1:3 "),
        ("more than one value", "{} {}", "json-syntax 1:4 "),
        ("a key twice", "{\"a\": [{\"b\": 1,\n\"b\": 2}]}", "duplicate-key 2:1 /a/0/b"),
        ("the same key, escaped", r#"{"a": 1, "\u0061": 2}"#, "duplicate-key 1:10 /a"),
        ("half a surrogate pair", "[1,\n \"x\\ud800\"]", "json-syntax 2:10 "),
    ] {
        let Problem { code, place, pointer, .. } = parse(text).expect_err(label);
        assert_eq!(format!("{code} {}:{} {pointer}", place.line, place.column), expected, "{label}");
    }
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(parse(&deep(MAX_DEPTH)).is_ok());
    assert_eq!(parse(&deep(5000)).map_err(|problem| problem.code), Err("too-deep"));
}

#[test]
fn values_keys_and_digits_come_through_with_their_places() {
    let text = "{\n  \"big\": 123456789012345678901234567890,\n  \"e\": [1.50, \"\\u00e9\"]\n}";
    let node = parse(text).expect("valid");
    let [big, list] = node.entries() else { panic!("two entries") };
    assert_eq!((big.key_place, big.value.place), (Place { line: 2, column: 3 }, Place { line: 2, column: 10 }));
    assert_eq!(big.value.value, Value::Number("123456789012345678901234567890".into()));
    assert_eq!(list.value.place, Place { line: 3, column: 8 });
    let rendered = Rendered::of(&node);
    assert_eq!(rendered.json, r#"{"big":123456789012345678901234567890,"e":[1.50,"é"]}"#);
    let offset = rendered.json.find('é').expect("in it");
    assert_eq!(rendered.place(offset), Place { line: 3, column: 15 });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:\\\\untrefalsd0-9é \n\r]{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_place_agrees_with_counting(text in "[aé😀\n\r]{0,40}", at in 0usize..80) {
        let at = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let unified = text[..at].replace("\r\n", "\n");
        // Between CR and LF the line has not ended.
        let open = unified.ends_with('\r') && text[at..].starts_with('\n');
        let unified = if open { unified.replace('\r', "\n")[..unified.len() - 1].to_owned() + "x" } else { unified.replace('\r', "\n") };
        let line = unified.matches('\n').count() + 1;
        let column = unified.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        prop_assert_eq!(Lines::of(&text).place(&text, at), Place { line: saturating(line), column: saturating(column) });
    }
}
