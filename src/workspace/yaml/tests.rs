use proptest::prelude::*;

use super::super::json::Rendered;
use super::*;

fn json(yaml: &str) -> String {
    match parse(yaml) {
        Ok(node) => Rendered::of(&node).json,
        Err(problem) => {
            let Problem { code, place, pointer, .. } = problem;
            format!("{code} {}:{} {pointer}", place.line, place.column)
        }
    }
}

#[test]
fn scalars_follow_the_core_schema_and_keep_their_digits() {
    for (yaml, expected) in [
        ("42", "42"),
        ("-0", "-0"),
        ("+7", "7"),
        ("0755", "755"),
        ("00", "0"),
        ("0x1F", "31"),
        ("0o17", "15"),
        ("0x+1", r#""0x+1""#),
        ("0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", r#""0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF""#),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.10", "1.10"),
        (".5", "0.5"),
        ("1.", "1.0"),
        ("1e3", "1e3"),
        ("1.5E-7", "1.5e-7"),
        (".", r#"".""#),
        ("e3", r#""e3""#),
        ("1e", r#""1e""#),
        ("1_000", r#""1_000""#),
        ("v1.2", r#""v1.2""#),
        ("1.2.3", r#""1.2.3""#),
        (".inf", r#"".inf""#),
        (".nan", r#"".nan""#),
        ("True", "true"),
        ("FALSE", "false"),
        ("yes", r#""yes""#),
        ("on", r#""on""#),
        ("~", "null"),
        ("Null", "null"),
        ("'true'", r#""true""#),
        ("\"42\"", r#""42""#),
        ("!!str 42", r#""42""#),
        ("! 42", r#""42""#),
        ("!!int '42'", "42"),
        ("!!int nope", r#""nope""#),
        ("!secret 42", "42"),
        ("\"a\\u00e9\\n\\\"\"", "\"aé\\n\\\"\""),
        ("|\n  one\n  two\n", "\"one\\ntwo\\n\""),
        (">-\n  one\n  two\n", "\"one two\""),
        ("a:", r#"{"a":null}"#),
        ("- \n- 1", "[null,1]"),
        ("1: x\ntrue: y", r#"{"1":"x","true":"y"}"#),
        ("# only a comment\n", "null"),
        ("---\n", "null"),
        ("a: 1\n...\n", r#"{"a":1}"#),
        ("{\"a\": [1, {\"b\": null}]}", r#"{"a":[1,{"b":null}]}"#),
        ("{\n\t\"a\":\t1\n}", r#"{"a":1}"#),
    ] {
        assert_eq!(json(yaml), expected, "{yaml:?}");
    }
}

#[test]
fn aliases_and_merges_are_looked_through() {
    for (label, yaml, expected) in [
        ("an alias repeats", "a: &x [1]\nb: *x", r#"{"a":[1],"b":[1]}"#),
        ("an alias as a key", "&k a: 1\nb: {*k : 2}", r#"{"a":1,"b":{"a":2}}"#),
        ("the nearest anchor before it counts", "- &x 1\n- &x 2\n- *x", "[1,2,2]"),
        (
            "its own entries go first",
            "b: &b {p: 1, q: 2}\nc: {<<: *b, p: 3}",
            r#"{"b":{"p":1,"q":2},"c":{"p":3,"q":2}}"#,
        ),
        ("the first source wins", "{<<: [{p: 1}, {p: 2, q: 2}]}", r#"{"p":1,"q":2}"#),
        ("a quoted << is a key", "{\"<<\": {p: 1}}", r#"{"<<":{"p":1}}"#),
    ] {
        assert_eq!(json(yaml), expected, "{label}");
    }
}

#[test]
fn what_cannot_be_read_says_where() {
    for (label, yaml, expected) in [
        ("a key twice", "a: 1\nb:\n  - c: 1\n    c: 2\n", "duplicate-key 4:5 /b/0/c"),
        ("quotes do not make another key", "a: 1\n'a': 2", "duplicate-key 2:1 /a"),
        ("a second document", "a: 1\n---\nb: 2\n", "several-documents 2:1 "),
        ("a list as a key", "x: {? [1] : 2}", "key-not-text 1:7 /x"),
        ("an alias of a list as a key", "x: &l [1]\ny: {*l : 2}", "key-not-text 2:5 /y"),
        ("a merge of text", "x: {<<: no}", "bad-merge 1:9 /x"),
        ("a value that holds itself", "x: &me [1, *me]", "alias-in-itself 1:12 /x/1"),
        ("a slash in a pointer", "a/b: {c~: 1, c~: 2}", "duplicate-key 1:14 /a~1b/c~0"),
        ("columns are characters", "{é: 1, é: 2}", "duplicate-key 1:8 /é"),
        ("an unknown alias", "a: *b", "yaml-syntax 1:4 "),
        ("what follows a NUL does not vanish", "a: 1\n\0b: 2\n", "yaml-syntax 2:1 "),
        ("a bracket left open", "a: [1, 2\nb: 3\n", "yaml-syntax 2:2 "),
    ] {
        assert_eq!(json(yaml), expected, "{label}");
    }
}

#[test]
fn every_value_and_key_has_its_place() {
    let yaml = "# comment\nnames:\n  - first\n  - é: \"x\"\n    long: |\n      text\nother: &a {in: 1}\nagain: *a\n";
    let node = parse(yaml).expect("valid");
    let mut found = Vec::new();
    fn walk(node: &Node, pointer: &str, found: &mut Vec<(String, u32, u32)>) {
        found.push((pointer.to_owned(), node.place.line, node.place.column));
        if let Value::List(items) = &node.value {
            for (at, item) in items.iter().enumerate() {
                walk(item, &child_pointer(pointer, &at.to_string()), found);
            }
        }
        for entry in node.entries() {
            let inside = child_pointer(pointer, &entry.key);
            found.push((format!("key {inside}"), entry.key_place.line, entry.key_place.column));
            walk(&entry.value, &inside, found);
        }
    }
    walk(&node, "", &mut found);
    let found: Vec<_> = found.iter().map(|(pointer, line, column)| (pointer.as_str(), *line, *column)).collect();
    let expected = [
        ("", 2, 1),
        ("key /names", 2, 1),
        ("/names", 3, 3),
        ("/names/0", 3, 5),
        ("/names/1", 4, 5),
        ("key /names/1/é", 4, 5),
        ("/names/1/é", 4, 8),
        ("key /names/1/long", 5, 5),
        ("/names/1/long", 6, 7),
        ("key /other", 7, 1),
        ("/other", 7, 11),
        ("key /other/in", 7, 12),
        ("/other/in", 7, 16),
        ("key /again", 8, 1),
        ("/again", 8, 8),
        ("key /again/in", 7, 12),
        ("/again/in", 7, 16),
    ];
    assert_eq!(found, expected);
}

#[test]
fn hostile_texts_are_bounded() {
    let laughs = |levels: usize| {
        let level = |at: usize| format!("l{at}: &l{at} [{}]\n", vec![format!("*l{}", at - 1); 10].join(", "));
        "l0: &l0 [lol]\n".to_owned() + &(1..levels).map(level).collect::<String>()
    };
    let tower = |levels: usize| {
        let level = |at: usize| format!("t{at}: &t{at} [[[*t{}]]]\n", at - 1);
        "t0: &t0 [x]\n".to_owned() + &(1..levels).map(level).collect::<String>()
    };
    let copies = format!("big: &big {}\nall: [{}]", "x".repeat(1 << 20), vec!["*big"; 1000].join(", "));
    let keys = format!("big: &big {}\nall: [{}]", "x".repeat(1 << 20), vec!["{*big : 1}"; 1000].join(", "));
    let merges = format!("big: &big {{{}}}\nall:\n{}", fields(10_000), "  - {<<: *big}\n".repeat(1000));
    for (label, yaml, code) in [
        ("a bomb of aliases", laughs(12), "too-many-aliases"),
        ("a bomb of one large text", copies, "too-many-aliases"),
        ("a bomb of keys", keys, "too-many-aliases"),
        ("a bomb of merges", merges, "too-many-aliases"),
        ("a tower built of aliases", tower(2000), "too-deep"),
        ("5,000 levels in brackets", "[".repeat(5000), "too-deep"),
        ("5,000 closed levels", "[".repeat(5000) + &"]".repeat(5000), "too-deep"),
        ("5,000 levels of dashes", "- ".repeat(5000), "too-deep"),
        ("5,000 levels of braces", "{a: ".repeat(5000), "too-deep"),
        ("5,000 levels of explicit keys", "? ".repeat(5000), "key-not-text"),
    ] {
        let problem = parse(&yaml).expect_err(label);
        assert_eq!(problem.code, code, "{label}");
    }
    assert!(parse(&("[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH))).is_ok(), "the depth that is allowed");
    assert!(parse(&laughs(4)).is_ok(), "aliases as people use them");
}

fn fields(count: usize) -> String {
    (0..count).map(|at| format!("field{at}: 1, ")).collect()
}

#[test]
fn two_megabytes_of_one_scalar_are_read_whole() {
    let long = "é".repeat(1 << 20);
    for yaml in [format!("a: {long}"), format!("a: '{long}'"), format!("a: |-\n  {long}\n"), format!("? {long}\n: 1")] {
        let node = parse(&yaml).expect("valid");
        let entry = &node.entries()[0];
        let length = entry.key.len().max(if let Value::String(text) = &entry.value.value { text.len() } else { 0 });
        assert_eq!(length, long.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "[-a-c0-9 \t\n\r:,?&*!|>'\"%@`{}\\[\\]#~<.é\u{feff}\0]{0,80}") {
        if let Ok(node) = parse(&text) {
            let rendered = Rendered::of(&node);
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&rendered.json).is_ok(), "{}", rendered.json);
        }
    }

    #[test]
    fn json_is_yaml(value in json_value()) {
        let text = value.to_string();
        let node = parse(&text).map_err(|problem| TestCaseError::fail(format!("{problem:?} in {text}")))?;
        prop_assert_eq!(node.to_json(), value);
    }
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[ -~é字😀]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map("[ -~é]{0,8}", inner, 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}
