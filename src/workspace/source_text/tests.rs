use serde_json::value::RawValue;

use super::*;

fn failure(file: &str, bytes: &[u8]) -> String {
    let found = SourceText::read(file, bytes).and_then(|text| text.parse::<IgnoredAny>().map(|_| ()));
    let tree = read_node(file, bytes).map(|_| ());
    assert_eq!(found, tree, "text and tree agree");
    let Diagnostic { file, line, column, code, .. } = found.expect_err("a failure");
    format!("{code} {file}:{line}:{column}")
}

#[test]
fn what_cannot_be_read_is_one_positioned_diagnostic() {
    for (label, file, bytes, expected) in [
        ("no bytes", "a.yaml", &b""[..], "empty-file a.yaml:1:1"),
        ("white space", "a.json", b" \n\t ", "empty-file a.json:1:1"),
        ("a byte order mark alone", "a.json", b"\xef\xbb\xbf", "empty-file a.json:1:1"),
        ("Latin 1", "a.yaml", b"a: 1\nb: \xe9", "not-utf8 a.yaml:2:4"),
        ("UTF-16", "a.yaml", b"\xff\xfea\0", "not-utf8 a.yaml:1:1"),
        ("half a JSON file", "a.json", b"{\"a\":", "json-syntax a.json:1:5"),
        ("YAML in a .json file", "a.JSON", b"a: 1", "json-syntax a.JSON:1:1"),
        ("half a YAML file", "a.yaml", b"a: [1,\n", "yaml-syntax a.yaml:1:4"),
        ("after a byte order mark", "a.json", b"\xef\xbb\xbf{]", "json-syntax a.json:1:2"),
    ] {
        assert_eq!(failure(file, bytes), expected, "{label}");
    }
}

#[test]
fn json_is_kept_byte_for_byte() {
    let bytes = b"{\"n\": 1.50,\n \"s\": \"\\u00e9\"}\n";
    for file in ["a.json", "a.yaml", "settings"] {
        let text = SourceText::read(file, bytes).expect("valid");
        assert_eq!(text.json().as_bytes(), bytes, "{file}");
        assert_eq!(text.place(19), Place { line: 2, column: 8 }, "{file}");
    }
}

#[test]
fn one_loader_reads_both_and_finds_its_way_back() {
    #[derive(Deserialize)]
    struct Tools<'a> {
        #[serde(borrow)]
        tools: Vec<&'a RawValue>,
    }
    for (file, bytes, places) in [
        ("a.json", "{\"tools\": [\n  {\"name\": \"é\"}, {\"name\": \"b\"}]}", [(2, 3), (2, 18)]),
        ("a.yaml", "tools:\n  - name: é\n  -   name: b\n", [(2, 5), (3, 7)]),
        ("b.yaml", "\u{feff}tools: [{name: é}, {name: b}]", [(1, 9), (1, 20)]),
    ] {
        let text = SourceText::read(file, bytes.as_bytes()).expect("valid");
        let read: Tools<'_> = text.parse().expect("tools");
        let base = text.json().as_ptr() as usize;
        let found: Vec<_> = read.tools.iter().map(|tool| text.place(tool.get().as_ptr() as usize - base)).collect();
        assert_eq!(found, places.map(|(line, column)| Place { line, column }), "{file}");
    }
}

#[test]
fn a_wrong_shape_says_pointer_and_place() {
    #[derive(Debug, Deserialize)]
    struct Sources {
        #[serde(rename = "sources")]
        _sources: Vec<Source>,
    }
    #[derive(Debug, Deserialize)]
    struct Source {
        #[serde(rename = "name")]
        _name: String,
    }
    for (file, bytes, expected) in [
        ("a.yaml", "sources:\n  - name: ok\n  - name: 5\n", (3, 11, "/sources/1/name")),
        ("a.json", "{\"sources\": [{\"name\": \"ok\"},\n{\"name\": 5}]}", (2, 10, "/sources/1/name")),
    ] {
        let text = SourceText::read(file, bytes.as_bytes()).expect("valid");
        let Diagnostic { line, column, code, pointer, .. } = text.parse::<Sources>().expect_err(file);
        assert_eq!((code, line, column, pointer.as_str()), ("wrong-shape", expected.0, expected.1, expected.2));
    }
}

#[test]
fn messages_are_short_and_of_one_line() {
    let long = format!("\"{}\"", "x\u{7}".repeat(5000));
    for (file, bytes) in
        [("a.json", format!("{{{long}: 1, {long}: 2}}")), ("a.yaml", format!("? {long}\n: 1\n? {long}\n: 2"))]
    {
        let Err(Diagnostic { message, .. }) = read_node(file, bytes.as_bytes()) else { panic!("{file}") };
        assert!(message.len() < 300 && !message.chars().any(char::is_control), "{file}: {message}");
    }
}
