use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::*;

const LIMIT: usize = 60;

/// An event, owned.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Framing(Framing),
    Message(String),
    Oversized(Option<String>),
    Broken,
}

fn see(decoder: &mut Decoder, bytes: &[u8], seen: &mut Vec<Seen>) {
    let _ = decoder.push(bytes, &mut |event| record(event, seen));
}

fn record(event: Event<'_>, seen: &mut Vec<Seen>) -> ControlFlow<()> {
    seen.push(match event {
        Event::Framing(framing) => Seen::Framing(framing),
        Event::Message(bytes) => Seen::Message(String::from_utf8_lossy(bytes).into_owned()),
        Event::Oversized(message) => Seen::Oversized(message.id),
        Event::Broken(_) => Seen::Broken,
    });
    ControlFlow::Continue(())
}

fn decoder() -> Decoder {
    Decoder::new(Arc::new(AtomicUsize::new(LIMIT)))
}

fn decode(stream: &[u8]) -> Vec<Seen> {
    let (mut decoder, mut seen) = (decoder(), Vec::new());
    see(&mut decoder, stream, &mut seen);
    let _ = decoder.finish(&mut |event| record(event, &mut seen));
    seen
}

#[test]
fn one_line_a_case() {
    use Framing::{Headers, Lines};
    let message = |text: &str| Seen::Message(text.to_owned());
    for (label, stream, framing, expected) in [
        ("TRANSPORT: a byte order mark", "\u{feff}{\"a\":1}\n", Lines, vec![Seen::Broken]),
        ("TRANSPORT: a NUL", "\0{\0}\0", Lines, vec![Seen::Broken]),
        ("TRANSPORT: a brace means lines", "{}\n", Lines, vec![message("{}")]),
        ("TRANSPORT: a bracket means lines", "[]\n", Lines, vec![message("[]")]),
        ("TRANSPORT: white space does not decide", " \r\n\t{}\n", Lines, vec![message("{}")]),
        ("TRANSPORT: blank lines and CRLF", "{}\r\n\r\n \n[]\r\n", Lines, vec![message("{}"), message("[]")]),
        (
            "TRANSPORT: later lines are messages, whatever they are",
            "{}\nhello\n",
            Lines,
            vec![message("{}"), message("hello")],
        ),
        ("TRANSPORT: a last line without a break", "{}\n{\"a\":1}", Lines, vec![message("{}"), message("{\"a\":1}")]),
        ("TRANSPORT: a partial last line", "{}\n{\"a\":1", Lines, vec![message("{}")]),
        ("TRANSPORT: headers", "Content-Length: 2\r\n\r\n{}", Headers, vec![message("{}")]),
        (
            "TRANSPORT: other headers, any case",
            "X: y:z\r\ncONTENT-length:2\r\nContent-Type: a\r\n\r\n{}",
            Headers,
            vec![message("{}")],
        ),
        ("TRANSPORT: LF for CRLF", "Content-Length: 2\n\n{}", Headers, vec![message("{}")]),
        ("TRANSPORT: line breaks in a body", "Content-Length: 4\r\n\r\n{\r\n}", Headers, vec![message("{\r\n}")]),
        (
            "TRANSPORT: the same length twice",
            "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
            Headers,
            vec![message("{}")],
        ),
        (
            "TRANSPORT: blank lines between messages",
            "Content-Length: 2\r\n\r\n{}\r\n\nContent-Length: 1\r\n\r\n1",
            Headers,
            vec![message("{}"), message("1")],
        ),
        (
            "TRANSPORT: an empty body",
            "Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1",
            Headers,
            vec![message(""), message("1")],
        ),
        ("TRANSPORT: a partial body", "Content-Length: 3\r\n\r\n{}", Headers, vec![]),
        ("TRANSPORT: a partial header", "Content-Length: 3\r\n", Headers, vec![]),
        ("TRANSPORT: no length", "Content-Type: a\r\n\r\n{}", Headers, vec![Seen::Broken]),
        ("TRANSPORT: two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", Headers, vec![Seen::Broken]),
        ("TRANSPORT: a length that is no number", "Content-Length: two\r\n\r\n{}", Headers, vec![Seen::Broken]),
        ("TRANSPORT: an empty length", "Content-Length:\r\n\r\n{}", Headers, vec![Seen::Broken]),
        ("TRANSPORT: a signed length", "Content-Length: +2\r\n\r\n{}", Headers, vec![Seen::Broken]),
        (
            "TRANSPORT: a length beyond u64",
            "Content-Length: 99999999999999999999\r\n\r\n{}",
            Headers,
            vec![Seen::Broken],
        ),
        (
            "TRANSPORT: another protocol",
            "GET / HTTP/1.1\r\n\r\nContent-Length: 2\r\n\r\n{}",
            Headers,
            vec![Seen::Broken],
        ),
        (
            "TRANSPORT: a huge length is skipped, not reserved",
            "Content-Length: 18446744073709551615\r\n\r\n{}",
            Headers,
            vec![],
        ),
    ] {
        let mut all = vec![Seen::Framing(framing)];
        all.extend(expected);
        assert_eq!(decode(stream.as_bytes()), all, "{label}");
    }
    assert_eq!(decode(b""), [], "TRANSPORT: nothing");
    let endless = [b"X: ".as_slice(), &vec![b'a'; MAX_HEADER_BYTES]].concat();
    assert_eq!(decode(&endless), [Seen::Framing(Headers), Seen::Broken], "TRANSPORT: an endless header");
}

#[test]
fn memory_of_a_large_message_is_given_back() {
    let mut decoder = Decoder::new(Arc::new(AtomicUsize::new(usize::MAX)));
    let mut line = vec![b' '; 8 * KEEP_BUFFER_BYTES];
    line[0] = b'{';
    let mut seen = Vec::new();
    see(&mut decoder, &line, &mut seen);
    assert!(decoder.buffer.capacity() >= line.len(), "TRANSPORT: a partial line is kept");
    see(&mut decoder, b"}\n", &mut seen);
    assert!(decoder.buffer.capacity() <= KEEP_BUFFER_BYTES, "TRANSPORT: and given back");
}

#[test]
fn a_message_over_the_limit_is_not_kept() {
    for start in ["{\"id\":1,\"pad\":\"", "Content-Length: 1000000\r\n\r\n{\"id\":1,\"pad\":\""] {
        let (mut decoder, mut seen) = (decoder(), Vec::new());
        see(&mut decoder, start.as_bytes(), &mut seen);
        for _ in 0..100 {
            see(&mut decoder, &[b'a'; 1000], &mut seen);
        }
        assert!(decoder.buffer.capacity() <= 2 * LIMIT, "TRANSPORT: {start}");
    }
}

/// A frame's bytes and what is to be seen of it.
fn frame(framing: Framing, number: usize, pad: usize, style: usize) -> (String, Option<Seen>) {
    let body = format!(r#"{{"id":{number},"pad":"{}"}}"#, "é".repeat(pad));
    let text = match (framing, style % 4) {
        (Framing::Lines, 0) => format!("{body}\n"),
        (Framing::Lines, 1) => format!("\r\n\n{body}\n"),
        (Framing::Lines, 2) => format!("  \n{body}\n"),
        (Framing::Lines, _) => format!("{body}\n\r\n"),
        (Framing::Headers, 0) => format!("Content-Length: {}\r\n\r\n{body}", body.len()),
        (Framing::Headers, 1) => format!("content-length:{}\nX: {{\n\n{body}", body.len()),
        (Framing::Headers, 2) => format!("\r\nA: b\r\nContent-Length:  {} \r\n\r\n{body}", body.len()),
        (Framing::Headers, _) => format!("CONTENT-LENGTH: {0}\r\nContent-Length: {0}\r\n\r\n{body}\n", body.len()),
    };
    let seen = if body.len() > LIMIT { Seen::Oversized(Some(number.to_string())) } else { Seen::Message(body) };
    (text, Some(seen))
}

#[test]
fn any_split_of_any_frames_decodes_to_the_same_messages() {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let framing = prop_oneof![Just(Framing::Lines), Just(Framing::Headers)];
    let frames = vec((0..40usize, 0..4usize), 1..8);
    let cuts = vec(1..40usize, 1..20);
    let outcome = runner.run(&(framing, frames, cuts), |(framing, frames, cuts)| {
        let (mut stream, mut expected) = (String::new(), vec![Seen::Framing(framing)]);
        for (number, (pad, style)) in frames.into_iter().enumerate() {
            let (text, seen) = frame(framing, number, pad, style);
            stream.push_str(&text);
            expected.extend(seen);
        }
        let (mut decoder, mut seen, mut rest) = (decoder(), Vec::new(), stream.as_bytes());
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            see(&mut decoder, piece, &mut seen);
            rest = later;
        }
        prop_assert_eq!(seen, expected);
        Ok(())
    });
    outcome.expect("TRANSPORT: a split changes nothing");
}

#[test]
fn any_bytes_are_survived() {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&vec(any::<u8>(), 0..200), |bytes| {
        let whole = decode(&bytes);
        let (mut decoder, mut seen) = (decoder(), Vec::new());
        for byte in &bytes {
            see(&mut decoder, &[*byte], &mut seen);
        }
        let _ = decoder.finish(&mut |event| record(event, &mut seen));
        prop_assert_eq!(seen, whole);
        Ok(())
    });
    outcome.expect("TRANSPORT: byte by byte is the same as at once");
}

#[test]
fn what_is_encoded_decodes() {
    for framing in [Framing::Headers, Framing::Lines] {
        let mut stream = Vec::new();
        for body in ["{\n \"a\": \"\\n\"\r\n}", "[1]"] {
            let mut body = body.as_bytes().to_vec();
            frame_start(framing, body.len(), &mut stream);
            frame_end(framing, &mut body);
            stream.extend_from_slice(&body);
        }
        let mut decoded = decode(&stream);
        assert_eq!(decoded.remove(0), Seen::Framing(framing));
        let values: Vec<serde_json::Value> = decoded
            .iter()
            .map(|seen| match seen {
                Seen::Message(text) => serde_json::from_str(text).expect("TRANSPORT: JSON comes back as JSON"),
                other => panic!("TRANSPORT: {other:?}"),
            })
            .collect();
        assert_eq!(values, [serde_json::json!({"a": "\n"}), serde_json::json!([1])], "TRANSPORT: {framing:?}");
    }
}
