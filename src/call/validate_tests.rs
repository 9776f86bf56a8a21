use proptest::prelude::*;
use serde_json::json;

use super::*;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("arguments are an object, not {other}"),
    }
}

fn check(schema: &Value, arguments: Value) -> Checked {
    Checker::compile(&schema.to_string()).check(object(arguments))
}

/// Coerces one argument `a` under a schema of its own.
fn coerced(schema: &Value, a: Value) -> (Value, Vec<String>) {
    let defs = json!({
        "integer": {"type": "integer"},
        "tree": {"type": "object", "properties": {"n": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
    });
    let mut checked = check(&json!({"properties": {"a": schema}, "$defs": defs}), json!({"a": a}));
    (checked.arguments.remove("a").unwrap(), checked.coerced)
}

#[test]
fn coercions() {
    let int = json!({"type": "integer"});
    let num = json!({"type": "number"});
    let boolean = json!({"type": "boolean"});
    let ints = json!({"type": "array", "items": {"type": "integer"}});
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let cases = [
        ("CALL-8: \"42\" becomes 42", &int, json!("42"), json!(42)),
        ("CALL-8: \"-7\" becomes -7", &int, json!("-7"), json!(-7)),
        ("CALL-8: beyond 2^53, exactly", &int, json!("9007199254740993"), json!(9007199254740993i64)),
        ("CALL-8: the largest integer", &int, json!("18446744073709551615"), json!(u64::MAX)),
        ("CALL-8: more digits than the types hold", &int, json!("18446744073709551616"), json!("18446744073709551616")),
        ("CALL-8: \"3.0\" becomes 3", &int, json!("3.0"), json!(3)),
        ("CALL-8: \"9007199254740993.00\", exactly", &int, json!("9007199254740993.00"), json!(9007199254740993i64)),
        ("CALL-8: \"2.5\" is no integer", &int, json!("2.5"), json!("2.5")),
        ("CALL-8: \"2.5\" becomes 2.5", &num, json!("2.5"), json!(2.5)),
        ("CALL-8: an integer where a number is wanted", &num, json!("9007199254740993"), json!(9007199254740993i64)),
        ("CALL-8: 15 digits", &num, json!("0.123456789012345"), json!(0.123456789012345)),
        ("CALL-8: 16 digits would be lost", &num, json!("0.1234567890123456"), json!("0.1234567890123456")),
        ("CALL-8: no exponent", &num, json!("1e9"), json!("1e9")),
        ("CALL-8: no hexadecimal", &int, json!("0x10"), json!("0x10")),
        ("CALL-8: no separators", &int, json!("1_000"), json!("1_000")),
        ("CALL-8: no plus", &int, json!("+1"), json!("+1")),
        ("CALL-8: no blanks", &int, json!(" 7"), json!(" 7")),
        ("CALL-8: no NaN", &num, json!("NaN"), json!("NaN")),
        ("CALL-8: no point without digits", &num, json!("1."), json!("1.")),
        ("CALL-8: no digits of other scripts", &int, json!("٤٢"), json!("٤٢")),
        ("CALL-8: a hostile exponent", &int, json!("1e999999999"), json!("1e999999999")),
        ("CALL-8: \"true\"", &boolean, json!("true"), json!(true)),
        ("CALL-8: \"FALSE\"", &boolean, json!("FALSE"), json!(false)),
        ("CALL-8: \"yes\" is no boolean", &boolean, json!("yes"), json!("yes")),
        ("CALL-8: 1 is no boolean", &boolean, json!(1), json!(1)),
        ("CALL-8: \"null\" where null is allowed", &json!({"type": ["integer", "null"]}), json!("Null"), json!(null)),
        ("CALL-8: \"null\" where it is not", &int, json!("null"), json!("null")),
        ("CALL-8: \"null\" by nullable", &json!({"type": "integer", "nullable": true}), json!("null"), json!(null)),
        ("CALL-8: JSON text of an array", &ints, json!("[1, 2]"), json!([1, 2])),
        ("CALL-8: and its items", &ints, json!(r#"["1", 2]"#), json!([1, 2])),
        ("CALL-8: JSON text of an object", &object, json!(r#" {"n": "5"}"#), json!({"n": 5})),
        ("CALL-8: broken JSON text", &ints, json!("[1, 2"), json!("[1, 2")),
        ("CALL-8: JSON text of the wrong kind", &object, json!("[1]"), json!("[1]")),
        ("CALL-8: a bare value to an array", &strings, json!("a"), json!(["a"])),
        ("CALL-8: a bare value, repaired", &ints, json!("5"), json!([5])),
        ("CALL-8: a bare value that is no item", &ints, json!("five"), json!("five")),
        ("CALL-8: a bare object", &json!({"type": "array", "items": object}), json!({"n": "1"}), json!([{"n": 1}])),
        ("CALL-8: null is no bare value", &json!({"type": "array"}), json!(null), json!(null)),
        ("CALL-8: blank to {}", &object, json!(""), json!({})),
        (
            "CALL-8: not where members are required",
            &json!({"type": "object", "required": ["n"]}),
            json!(" "),
            json!(" "),
        ),
        ("CALL-8: blank is no item", &strings, json!(""), json!("")),
        (
            "CALL-8: nested",
            &json!({"properties": {"b": {"items": {"properties": {"c": int}}}}}),
            json!({"b": [{"c": "1"}]}),
            json!({"b": [{"c": 1}]}),
        ),
        (
            "CALL-8: additional members",
            &json!({"type": "object", "additionalProperties": int}),
            json!({"x": "1"}),
            json!({"x": 1}),
        ),
        (
            "CALL-8: by position",
            &json!({"prefixItems": [int, boolean], "items": num}),
            json!(["1", "true", "2.5"]),
            json!([1, true, 2.5]),
        ),
        ("CALL-8: through $ref", &json!({"$ref": "#/$defs/integer"}), json!("1"), json!(1)),
        (
            "CALL-8: through a recursive $ref",
            &json!({"$ref": "#/$defs/tree"}),
            json!({"kids": [{"kids": [{"n": "1"}]}]}),
            json!({"kids": [{"kids": [{"n": 1}]}]}),
        ),
        ("CALL-8: through anyOf", &json!({"anyOf": [{"type": "null"}, int]}), json!("1"), json!(1)),
        ("CALL-8: through oneOf", &json!({"oneOf": [boolean, int]}), json!("true"), json!(true)),
        (
            "CALL-8: through allOf",
            &json!({"allOf": [{"$ref": "#/$defs/integer"}, {"minimum": 1}]}),
            json!("1"),
            json!(1),
        ),
        ("CALL-8: inside allOf", &json!({"allOf": [object, {"required": ["n"]}]}), json!({"n": "1"}), json!({"n": 1})),
        (
            "CALL-8: inside the alternative that then fits",
            &json!({"anyOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}, "v": {"type": "string"}}, "required": ["kind"]},
                {"type": "object", "properties": {"kind": {"const": "b"}, "v": int}, "required": ["kind"]}]}),
            json!({"kind": "b", "v": "1"}),
            json!({"kind": "b", "v": 1}),
        ),
        ("CALL-8: literals of numbers", &json!({"enum": [1, 2]}), json!("2"), json!(2)),
        ("CALL-8: a literal that is none", &json!({"enum": [1, 2]}), json!("3"), json!("3")),
        ("CALL-8: a constant", &json!({"const": true}), json!("true"), json!(true)),
        ("CALL-8: a string stays a string", &json!({"type": ["integer", "string"]}), json!("42"), json!("42")),
        ("CALL-8: also by an alternative", &json!({"anyOf": [int, {"type": "string"}]}), json!("42"), json!("42")),
        ("CALL-8: also where it is no literal", &json!({"type": "string", "enum": ["1"]}), json!("42"), json!("42")),
        ("CALL-8: also with no type", &json!({"description": "anything"}), json!("42"), json!("42")),
        ("CALL-8: a number is made no string", &json!({"type": "string"}), json!(5), json!(5)),
        ("CALL-8: 3.0 is an integer as it stands", &int, json!(3.0), json!(3.0)),
    ];
    for (rule, schema, given, expected) in cases {
        let (got, repairs) = coerced(schema, given.clone());
        assert_eq!(got, expected, "{rule}");
        assert_eq!(
            repairs.is_empty(),
            given == expected,
            "{rule}: every repair is told, and nothing else: {repairs:?}"
        );
    }
}

#[test]
fn repairs_are_told_one_by_one() {
    let schema = json!({"properties": {
        "limit": {"type": "integer"}, "flag": {"type": "boolean"}, "tags": {"type": "array", "items": {"type": "integer"}},
        "a b": {"type": "object", "properties": {"n": {"type": "null"}}}}});
    let given = json!({"limit": "42", "flag": "True", "tags": "7", "a b": "{\"n\": \"null\"}"});
    assert_eq!(
        check(&schema, given).coerced,
        [
            r#"arguments.limit: "42" read as the integer 42"#,
            r#"arguments.flag: "True" read as true"#,
            "arguments.tags: a single value put in an array",
            r#"arguments.tags[0]: "7" read as the integer 7"#,
            r#"arguments["a b"]: JSON text read as an object"#,
            r#"arguments["a b"].n: "null" read as null"#,
        ]
    );
    let many = check(&json!({"properties": {"a": {"items": {"type": "integer"}}}}), json!({"a": vec!["1"; 1000]}));
    assert_eq!((many.verdict, many.coerced.len()), (Verdict::Fits, 51), "CALL-11: told within reason");
    assert_eq!(many.coerced[50], "and 950 more values read likewise");
}

/// The first violation as `path constraint message`, or the verdict in a word.
fn told(schema: &Value, arguments: Value) -> String {
    match check(schema, arguments).verdict {
        Verdict::Fits => "fits".to_owned(),
        Verdict::Missing { missing } => format!("missing {}", missing.join(" ")),
        Verdict::Unchecked { reason } => format!("unchecked: {reason}"),
        Verdict::Violates { violations } => {
            let first = &violations[0];
            format!("{} {} {}", first.path, first.constraint, first.message)
        }
    }
}

#[test]
fn the_probe_for_required_members() {
    for (rule, schema, given, expected) in [
        ("CALL-7: absent", json!({"required": ["b", "a"]}), json!({}), "missing b a"),
        ("CALL-7: null is not absent", json!({"required": ["a"]}), json!({"a": null}), "fits"),
        (
            "CALL-7: before coercion and types",
            json!({"required": ["a"], "properties": {"b": {"type": "integer"}}}),
            json!({"b": "x"}),
            "missing a",
        ),
        ("CALL-7: a malformed `required` is ignored", json!({"required": true}), json!({}), "fits"),
        ("CALL-7: so is one of other things", json!({"required": ["a", 5]}), json!({}), "fits"),
        (
            "CALL-7: even where nothing else is checked",
            json!({"required": ["a"], "$ref": "https://x.y/z"}),
            json!({}),
            "missing a",
        ),
    ] {
        let got = told(&schema, given);
        assert!(got.starts_with(expected), "{rule}: {got}");
    }
}

#[test]
fn the_most_telling_violation() {
    let shapes = json!({"properties": {"shape": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
        {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]}]}}});
    let optional = json!({"properties": {"a": {"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]}}});
    for (rule, schema, given, expected) in [
        (
            "CALL-9: a type",
            json!({"properties": {"a": {"type": "integer"}}}),
            json!({"a": "x"}),
            r#"arguments.a type must be integer, is "x""#,
        ),
        (
            "CALL-9: types",
            json!({"properties": {"a": {"type": ["integer", "null"]}}}),
            json!({"a": {}}),
            "arguments.a type must be null or integer, is {}",
        ),
        (
            "CALL-9: the path into options",
            json!({"properties": {"options": {"properties": {"count": {"maximum": 3}}}}}),
            json!({"options": {"count": 5}}),
            "arguments.options.count maximum must be at most 3, is 5",
        ),
        (
            "CALL-9: a key in brackets",
            json!({"properties": {"a b": {"items": {"type": "string"}}}}),
            json!({"a b": ["x", 1]}),
            r#"arguments["a b"][1] type"#,
        ),
        (
            "CALL-9: required, at the object",
            json!({"properties": {"o": {"required": ["n"]}}}),
            json!({"o": {}}),
            "arguments.o required lacks the required member `n`",
        ),
        (
            "CALL-9: additionalProperties, at the object",
            json!({"properties": {"o": {"properties": {"y": {}}, "additionalProperties": false}}}),
            json!({"o": {"x": 1, "y": 2}}),
            "arguments.o additionalProperties takes no such member: `x`",
        ),
        (
            "CALL-9: additionalProperties, at the object",
            json!({"additionalProperties": false}),
            json!({"x": 1}),
            "arguments additionalProperties takes no members at all",
        ),
        (
            "CALL-9: an enumeration",
            json!({"properties": {"a": {"enum": ["x", "y", "z"]}}}),
            json!({"a": "w"}),
            r#"arguments.a enum must be one of "x", "y", "z", is "w""#,
        ),
        (
            "CALL-9: a constant",
            json!({"properties": {"a": {"const": 1}}}),
            json!({"a": 2}),
            "arguments.a const must be 1, is 2",
        ),
        (
            "CALL-9: a pattern",
            json!({"properties": {"a": {"pattern": "^[a-z]+$"}}}),
            json!({"a": "X"}),
            r#"arguments.a pattern must match the pattern ^[a-z]+$, is "X""#,
        ),
        (
            "CALL-9: lengths",
            json!({"properties": {"a": {"minItems": 2}}}),
            json!({"a": [1]}),
            "arguments.a minItems must have at least 2 items, has 1",
        ),
        (
            "CALL-9: the deepest first",
            json!({"properties": {"a": {"type": "integer"}, "b": {"items": {"minimum": 1}}}}),
            json!({"a": "x", "b": [0]}),
            "arguments.b[0] minimum",
        ),
        (
            "CALL-9: the alternative that was meant",
            shapes.clone(),
            json!({"shape": {"kind": "square", "r": 1}}),
            "arguments.shape required lacks the required member `side`",
        ),
        (
            "CALL-9: which alternatives there are",
            shapes.clone(),
            json!({"shape": {"kind": "cube"}}),
            r#"arguments.shape.kind oneOf must be "circle" or "square", is "cube""#,
        ),
        (
            "CALL-9: no alternative of its type",
            shapes,
            json!({"shape": 5}),
            "arguments.shape oneOf must be object, is 5",
        ),
        (
            "CALL-9: an optional part",
            optional.clone(),
            json!({"a": {"n": "x"}}),
            r#"arguments.a.n type must be integer, is "x""#,
        ),
        (
            "CALL-9: an optional part of the wrong type",
            optional,
            json!({"a": 5}),
            "arguments.a anyOf must be object or null, is 5",
        ),
        (
            "CALL-9: more than one alternative",
            json!({"properties": {"a": {"oneOf": [{"minimum": 1}, {"minimum": 2}]}}}),
            json!({"a": 5}),
            "arguments.a oneOf fits several alternatives",
        ),
        (
            "CALL-9: member names",
            json!({"propertyNames": {"maxLength": 2}}),
            json!({"abc": 1}),
            r#"arguments propertyNames the member name "abc" is not allowed: must have at most 2"#,
        ),
        (
            "CALL-9: what is excluded",
            json!({"properties": {"a": {"not": {"const": 1}}}}),
            json!({"a": 1}),
            "arguments.a not",
        ),
        (
            "CALL-9: a false schema",
            json!({"properties": {"a": false}}),
            json!({"a": 1}),
            "arguments.a false is not allowed here",
        ),
        (
            "CALL-9: after coercion",
            json!({"properties": {"a": {"type": "integer", "maximum": 3}}}),
            json!({"a": "5"}),
            "arguments.a maximum must be at most 3, is 5",
        ),
        (
            "CALL-9: draft 4, by $schema",
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"minimum": 1, "exclusiveMinimum": true}}}),
            json!({"a": 1}),
            "arguments.a",
        ),
        (
            "CALL-9: 2020-12 else",
            json!({"properties": {"a": {"prefixItems": [{"type": "null"}]}}}),
            json!({"a": [1]}),
            "arguments.a[0] type",
        ),
        (
            "CALL-9: nullable",
            json!({"properties": {"a": {"type": "string", "nullable": true}}}),
            json!({"a": null}),
            "fits",
        ),
        (
            "CALL-9: nullable beside an enumeration",
            json!({"properties": {"a": {"enum": ["x"], "nullable": true}}}),
            json!({"a": null}),
            "fits",
        ),
        (
            "CALL-9: and what is still wrong there",
            json!({"properties": {"a": {"enum": ["x"], "nullable": true}}}),
            json!({"a": "y"}),
            r#"arguments.a "#,
        ),
        (
            "CALL-9: nullable false",
            json!({"properties": {"a": {"type": "string", "nullable": false}}}),
            json!({"a": null}),
            "arguments.a type",
        ),
        (
            "CALL-9: a property named nullable",
            json!({"properties": {"nullable": {"type": "boolean"}, "b": {"type": "string"}}}),
            json!({"b": null}),
            "arguments.b type",
        ),
        (
            "CALL-9: a literal that looks like a schema",
            json!({"properties": {"a": {"const": {"type": "x", "nullable": true}}}}),
            json!({"a": {"type": "x", "nullable": true}}),
            "fits",
        ),
        (
            "CALL-9: a format is an annotation",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"format": "email"}}}),
            json!({"a": "x"}),
            "fits",
        ),
    ] {
        let got = told(&schema, given);
        assert!(got.starts_with(expected), "{rule}: {got}");
    }
}

#[test]
fn ten_violations_and_short_messages() {
    let schema = json!({"additionalProperties": {"type": "integer"}});
    let members: Map<String, Value> = (0..30).map(|n| (format!("m{n:02}"), json!("x".repeat(100_000)))).collect();
    let checked = check(&schema, Value::Object(members));
    let Verdict::Violates { violations } = &checked.verdict else { panic!("{:?}", checked.verdict) };
    let paths: Vec<&str> = violations.iter().map(|v| v.path.as_str()).collect();
    assert_eq!((paths.len(), paths[0], paths[9]), (10, "arguments.m00", "arguments.m09"), "CALL-9: the first ten");
    let long = check(&json!({"properties": {"a": {"enum": vec!["e".repeat(300); 500]}}}), json!({"a": "x"}));
    let Verdict::Violates { violations } = &long.verdict else { panic!("{:?}", long.verdict) };
    assert!(violations[0].message.chars().count() <= 600, "CALL-9: at most 600 characters");
    let named = check(&json!({"additionalProperties": false}), json!({"n".repeat(1 << 20): 1, "m": 2}));
    let answer = serde_json::to_string(&named.verdict.refusal("t", None)).unwrap();
    assert!(answer.len() < 4_000, "CALL-9: nothing is echoed whole");
}

#[test]
fn the_answer_to_a_model() {
    let text = r#"{"type":  "object", "required": ["b", "a"], "properties": {"b": {"type": "integer"}}}"#;
    let raw: Box<RawValue> = RawValue::from_string(text.to_owned()).unwrap();
    let checker = Checker::compile(text);
    let answer = |arguments: Value| {
        serde_json::to_string(&checker.check(object(arguments)).verdict.refusal("create", Some(&raw))).unwrap()
    };
    let missing = answer(json!({"b": 1}));
    assert!(missing.contains("`create` was not invoked: its arguments lack `a`"), "CALL-7: {missing}");
    assert!(
        missing
            .ends_with(&format!(r#""parameters":{text},"path":"arguments","constraint":"required","missing":["a"]}}"#)),
        "DESCRIBE-3: {missing}"
    );
    let wrong = answer(json!({"a": 1, "b": "x"}));
    assert!(wrong.contains("`create` was not invoked: arguments.b must be integer"), "CALL-9: {wrong}");
    assert!(wrong.ends_with(&format!(
        r#""parameters":{text},"path":"arguments.b","constraint":"type","violations":[{{"path":"arguments.b","constraint":"type","message":"must be integer, is \"x\""}}]}}"#
    )), "CALL-9: {wrong}");
    assert_eq!(answer(json!({"a": 1, "b": "1"})), "null");
}

#[test]
fn what_cannot_be_checked_goes_through() {
    let any = || json!({"a": "1"});
    for (rule, schema, expected) in [
        ("CALL-10: no schema", "null".to_owned(), "not an object"),
        ("CALL-10: not even JSON", "{\"type\"".to_owned(), "not valid JSON"),
        ("CALL-10: empty text", String::new(), "not valid JSON"),
        ("CALL-10: a malformed keyword", json!({"type": 5}).to_string(), "malformed"),
        ("CALL-10: an unknown type", json!({"properties": {"a": {"type": "str"}}}).to_string(), "malformed"),
        ("CALL-10: an external reference", json!({"$ref": "http://127.0.0.1:1/a"}).to_string(), "nothing is fetched"),
        ("CALL-10: an unknown draft", json!({"$schema": "http://127.0.0.1:1/a"}).to_string(), ""),
        ("CALL-10: a reference to itself", json!({"$ref": "#"}).to_string(), "back to itself"),
        ("CALL-10: endless nesting", "[".repeat(MAX_SCHEMA), "not valid JSON"),
        ("CALL-10: a schema of megabytes", format!("{{\"title\": {:?}}}", "x".repeat(MAX_SCHEMA)), "bytes"),
        (
            "CALL-10: a key that needs look-around",
            json!({"patternProperties": {"(?=a)": false}}).to_string(),
            "linear time",
        ),
    ] {
        let checked = Checker::compile(&schema).check(object(any()));
        match checked.verdict {
            Verdict::Unchecked { reason } => assert!(reason.contains(expected), "{rule}: {reason}"),
            other => panic!("{rule}: {other:?}"),
        }
        assert_eq!(Value::Object(checked.arguments), any(), "{rule}");
    }
}

#[test]
fn the_whole_is_never_converted() {
    let checked = check(&json!({"type": "array"}), json!({"a": 1}));
    assert_eq!(
        Value::Object(checked.arguments),
        json!({"a": 1}),
        "CALL-8: nothing is lost where the root is no object"
    );
}

#[test]
fn repairs_need_no_validator() {
    let schema = json!({"properties": {"a": {"type": "integer"}, "b": {"$ref": "https://x.y/z"}}});
    let checked = check(&schema, json!({"a": "1"}));
    assert_eq!(Value::Object(checked.arguments), json!({"a": 1}), "CALL-8: where the schema is not checked, too");
    assert!(matches!(checked.verdict, Verdict::Unchecked { .. }), "CALL-10");
}

fn nested(depth: usize, around: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(json!({}), |inner, _| around(inner))
}

/// Each of these ends at once and in a small stack, or the test run does not end.
#[test]
fn hostile_schemas() {
    let chain = |n: usize| {
        let defs: Map<String, Value> = (0..n)
            .map(|at| (at.to_string(), json!({"$ref": format!("#/$defs/{}", at + 1)})))
            .chain([(n.to_string(), json!({}))])
            .collect();
        json!({"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": defs})
    };
    let doubling = |keyword: &str| {
        let defs: Map<String, Value> = (0..40)
            .map(|at| (at.to_string(), json!({keyword: vec![json!({"$ref": format!("#/$defs/{}", at + 1)}); 2]})))
            .chain([("40".to_owned(), json!({"type": "integer"}))])
            .collect();
        json!({"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": defs})
    };
    let tree = json!({"properties": {"a": {"$ref": "#"}}});
    let text = "a".repeat(50_000);
    for (rule, schema, given) in [
        (
            "CALL-10: a catastrophic pattern",
            json!({"properties": {"a": {"pattern": "^(a+)+$"}}}),
            json!({"a": format!("{text}!")}),
        ),
        (
            "CALL-10: one with look-around",
            json!({"properties": {"a": {"pattern": "^(?=(a+)+$)(a|aa)+!$"}}}),
            json!({"a": text}),
        ),
        (
            "CALL-10: an automaton too large",
            json!({"properties": {"a": {"pattern": "((a{99}){99}){99}"}}}),
            json!({"a": text}),
        ),
        (
            "CALL-10: many patterns",
            json!({"anyOf": (0..5_000).map(|n| json!({"pattern": format!(".{{1000}}{n}")})).collect::<Vec<_>>()}),
            json!({"a": 1}),
        ),
        ("CALL-10: a tree and a deep value", tree.clone(), nested(120, |inner| json!({"a": inner}))),
        ("CALL-10: a tree and a deeper one", tree, nested(380, |inner| json!({"a": inner}))),
        (
            "CALL-10: a deep schema",
            nested(60, |inner| json!({"properties": {"a": inner}})),
            nested(100, |inner| json!({"a": inner})),
        ),
        ("CALL-10: alternatives in alternatives", nested(60, |inner| json!({"anyOf": [inner]})), json!({"a": 1})),
        ("CALL-10: negations in negations", nested(120, |inner| json!({"not": inner})), json!({"a": 1})),
        ("CALL-10: a chain of references", chain(300), json!({"a": "1"})),
        ("CALL-10: a chain without end", chain(15_000), json!({"a": "1"})),
        ("CALL-10: doubling allOf", doubling("allOf"), json!({"a": "x"})),
        ("CALL-10: doubling allOf, fitting", doubling("allOf"), json!({"a": 1})),
        ("CALL-10: doubling oneOf, fitting", doubling("oneOf"), json!({"a": 1})),
        ("CALL-10: doubling anyOf", doubling("anyOf"), json!({"a": "x"})),
        ("CALL-10: doubling oneOf", doubling("oneOf"), json!({"a": ["x"]})),
        (
            "CALL-10: a huge enumeration",
            json!({"properties": {"a": {"enum": (0..100_000).collect::<Vec<_>>()}}}),
            json!({"a": "-1"}),
        ),
        (
            "CALL-10: JSON text in JSON text",
            json!({"items": {"$ref": "#"}, "type": "array", "properties": {"a": {"$ref": "#"}}}),
            json!({"a": (0..12).fold("[]".to_owned(), |inner, _| json!([inner]).to_string())}),
        ),
    ] {
        let checked = check(&schema, given);
        assert!(checked.arguments.contains_key("a"), "{rule}");
    }
}

#[test]
fn a_checker_is_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Checker>();
}

#[test]
fn declared_parameters() {
    let checker =
        Checker::compile(r##"{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"properties": {"title": {}}}}}"##);
    assert!(checker.declares("title") && !checker.declares("name"), "CALL-12");
}

/// Small values, rich in what coercion looks at.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3i64..50).prop_map(Value::from),
        Just(json!(2.5)),
        prop::sample::select(vec!["", "42", "2.5", "true", "null", "[1,\"2\"]", "{\"a\":\"1\"}", "x", "[", "a b"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((prop::sample::select(vec!["a", "b", "c d"]), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

/// Schemas that mean something, mostly well-formed.
fn subschema() -> impl Strategy<Value = Value> {
    let types = prop::sample::select(vec!["null", "boolean", "integer", "number", "string", "array", "object"]);
    let leaf = prop_oneof![
        4 => types.clone().prop_map(|t| json!({"type": t})),
        1 => (types.clone(), types).prop_map(|(a, b)| if a == b { json!({"type": a}) } else { json!({"type": [a, b]}) }),
        1 => prop::collection::vec(value(), 1..3).prop_map(|values| json!({"enum": values})),
        1 => Just(json!({"minimum": 3, "maxLength": 2})),
        1 => Just(json!({"type": "string", "nullable": true})),
        1 => Just(json!({"$ref": "#"})),
        1 => Just(json!({"pattern": "^4"})),
        1 => any::<bool>().prop_map(Value::Bool),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(
                |(a, b, open)| json!({"type": "object", "properties": {"a": a, "b": b}, "additionalProperties": open})
            ),
            inner.clone().prop_map(|a| json!({"properties": {"a": a}, "required": ["a"], "nullable": true})),
            inner.clone().prop_map(|a| json!({"additionalProperties": a})),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            list.clone().prop_map(|items| json!({"prefixItems": items})),
            list.clone().prop_map(|items| json!({"anyOf": items})),
            list.clone().prop_map(|items| json!({"oneOf": items, "nullable": true})),
            list.prop_map(|items| json!({"allOf": items})),
            inner.clone().prop_map(|a| json!({"not": a})),
            inner.prop_map(|a| json!({"contains": a, "uniqueItems": true})),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    (subschema(), subschema(), subschema())
        .prop_map(|(a, b, c)| json!({"properties": {"a": a, "b": b}, "additionalProperties": c}))
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    (value(), value(), value()).prop_map(|(a, b, c)| object(json!({"a": a, "b": b, "c d": c})))
}

/// The validator of a schema that is checked at all.
fn well_formed(schema: &Value) -> Option<jsonschema::Validator> {
    let checker = Checker::compile(&schema.to_string());
    checker.unchecked().is_none().then_some(())?;
    checker.validator.ok()
}

proptest! {
    #[test]
    fn what_fits_is_never_changed(schema in schema(), arguments in arguments()) {
        if let Some(validator) = well_formed(&schema)
            && validator.is_valid(&Value::Object(arguments.clone()))
        {
            let checked = Checker::compile(&schema.to_string()).check(arguments.clone());
            prop_assert_eq!(checked.arguments, arguments);
            prop_assert!(checked.coerced.is_empty());
        }
    }

    /// Each argument is independent of the others here, so one that fits must stay, whatever the others do.
    #[test]
    fn a_part_that_fits_is_never_changed(
        // `$ref: "#"` would mean another schema when it stands alone.
        a in subschema().prop_filter("stands alone", |a| !a.to_string().contains("$ref")), b in subschema(), given in arguments()) {
        let whole = json!({"properties": {"a": a, "b": b}});
        let alone = json!({"properties": {"a": a}, "$defs": {"root": whole}});
        if let Some(validator) = well_formed(&alone)
            && validator.is_valid(&json!({"a": given["a"]}))
        {
            let checked = Checker::compile(&whole.to_string()).check(given.clone());
            prop_assert_eq!(&checked.arguments["a"], &given["a"]);
        }
    }

    #[test]
    fn coercing_twice_is_coercing_once(schema in schema(), arguments in arguments()) {
        let checker = Checker::compile(&schema.to_string());
        let once = checker.check(arguments);
        let twice = checker.check(once.arguments.clone());
        prop_assert_eq!(&twice.arguments, &once.arguments);
        prop_assert_eq!(twice.verdict, once.verdict);
        prop_assert!(twice.coerced.is_empty());
    }

    #[test]
    fn the_verdict_is_the_validators(schema in schema(), arguments in arguments()) {
        let checker = Checker::compile(&schema.to_string());
        let checked = checker.check(arguments);
        if let (Ok(validator), false) = (&checker.validator, matches!(checked.verdict, Verdict::Unchecked { .. })) {
            prop_assert_eq!(validator.is_valid(&Value::Object(checked.arguments)), checked.verdict == Verdict::Fits);
        }
    }

    #[test]
    fn any_json_is_survived(schema in value(), keyword in prop::sample::select(vec![
        "type", "properties", "items", "required", "anyOf", "enum", "const", "$ref", "pattern", "patternProperties", "nullable", "$id",
        "$schema", "$defs", "if", "not", "minimum", "multipleOf", "dependencies", "additionalProperties", "contains", "$dynamicRef",
    ]), text in ".{0,40}", arguments in arguments()) {
        for schema in [json!({"a": schema, keyword: schema}).to_string(), schema.to_string(), text] {
            let checked = Checker::compile(&schema).check(arguments.clone());
            let _ = checked.verdict.refusal("t", None);
        }
    }
}
