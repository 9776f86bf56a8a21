use std::collections::HashMap;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::JoinHandle;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::super::codec::Framing;
use super::super::lock;
use super::super::{Call, Cancel, Flow, Note, Peer};
use super::*;

/// What the tests' methods share.
struct TestSession {
    arrived: Mutex<Vec<(u64, String)>>,
    /// Permits for requests of `wait`.
    released: Semaphore,
    /// While shut, everything but `open` is refused.
    shut: AtomicBool,
    /// Told when the future of a `hang` is dropped.
    dropped: Sender<()>,
    peer: OnceLock<Peer>,
}

impl Session for TestSession {
    type Ticket = String;

    fn opened(&self, peer: &Peer) {
        assert!(self.peer.set(peer.clone()).is_ok(), "opened once");
    }

    fn gate(&self, method: &str) -> Result<(), RpcError> {
        if self.shut.load(Ordering::SeqCst) && method != "open" {
            return Err(RpcError::not_initialized());
        }
        Ok(())
    }

    fn arrive(&self, seq: u64, method: &str, params: Option<&RawValue>) -> String {
        assert_ne!(method, "panic/arrive", "as asked");
        lock(&self.arrived).push((seq, method.to_owned()));
        format!("{seq}:{}", params.map_or("-", RawValue::get))
    }
}

#[derive(Deserialize)]
#[serde(default)]
struct Text {
    text: String,
}

impl Default for Text {
    fn default() -> Self {
        Self { text: "-".into() }
    }
}

#[derive(Deserialize)]
struct None {}

struct OnDrop(Sender<()>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

type TestCall = Call<TestSession>;

fn table() -> Arc<Table<TestSession>> {
    let table = Table::builder()
        .method("echo", Cancel::Drop, |_: TestCall, Text { text }| async move { Ok(text) })
        .method("echo/yielding", Cancel::Drop, |_: TestCall, Text { text }| async move {
            tokio::task::yield_now().await;
            Ok(text)
        })
        .method("raw", Cancel::Drop, |_: TestCall, Text { text }| async move {
            Ok(RawValue::from_string(text).expect("the test sends JSON"))
        })
        .method("large", Cancel::Drop, |_: TestCall, Text { text }| async move {
            Ok("x".repeat(text.parse().expect("the test sends a number")))
        })
        .method("large/yielding", Cancel::Drop, |_: TestCall, Text { text }| async move {
            tokio::task::yield_now().await;
            Ok("x".repeat(text.parse().expect("the test sends a number")))
        })
        .method("large/released", Cancel::Drop, |call: TestCall, Text { text }| async move {
            call.session.released.acquire().await.expect("never closed").forget();
            Ok("x".repeat(text.parse().expect("the test sends a number")))
        })
        .method("call", Cancel::Drop, |call: TestCall, _: None| async move {
            Ok(json!({"seq": call.seq, "ticket": call.ticket, "id": &*call.id}))
        })
        .method("wait", Cancel::Drop, |call: TestCall, Text { text }| async move {
            call.session.released.acquire().await.expect("never closed").forget();
            Ok(text)
        })
        .method("hang", Cancel::Drop, |call: TestCall, _: None| async move {
            let _signal = OnDrop(call.session.dropped.clone());
            std::future::pending::<()>().await;
            Ok(())
        })
        .method("partial", Cancel::Cooperative, |call: TestCall, _: None| async move {
            call.cancel.cancelled().await;
            tokio::task::yield_now().await;
            Ok("partial")
        })
        .method("panic", Cancel::Drop, |_: TestCall, Text { text }| async move {
            assert_eq!(text, "", "as asked");
            Ok(())
        })
        .method("panic/arrive", Cancel::Drop, |_: TestCall, _: None| async move { Ok(()) })
        .method("panic/later", Cancel::Cooperative, |_: TestCall, Text { text }| async move {
            tokio::task::yield_now().await;
            assert_eq!(text, "", "as asked");
            Ok(())
        })
        .method("formless", Cancel::Drop, |_: TestCall, _: None| async move { Ok(HashMap::from([(vec![1], 1)])) })
        .method("ask", Cancel::Drop, |call: TestCall, Text { text }| async move {
            let asked = call.peer.request("host/invoke", json!({"name": text})).await;
            asked.map_err(|error| RpcError::internal(error.to_string()))
        })
        .method("ask/stubborn", Cancel::Cooperative, |call: TestCall, Text { text }| async move {
            let asked = call.peer.request("host/invoke", json!({"name": text})).await;
            Ok(asked.map_or_else(|error| error.to_string(), |result| result.get().to_owned()))
        })
        .notification("open", |note: Note<TestSession>, _: None| {
            note.session.shut.store(false, Ordering::SeqCst);
            Flow::Continue
        })
        .notification("release", |note: Note<TestSession>, count: Count| {
            note.session.released.add_permits(count.count);
            Flow::Continue
        })
        .notification("panic", |_: Note<TestSession>, _: None| panic!("as asked"))
        .notification("exit", |_: Note<TestSession>, _: None| Flow::Exit);
    Arc::new(table.build())
}

#[derive(Deserialize)]
struct Count {
    count: usize,
}

fn runtime() -> Handle {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    let build = || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    RUNTIME.get_or_init(|| build().expect("a runtime")).handle().clone()
}

/// The host's end of a connection over real pipes.
struct Host {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    framing: Framing,
    session: Arc<TestSession>,
    dropped: mpsc::Receiver<()>,
    run: JoinHandle<End>,
}

impl Host {
    fn new() -> Self {
        Self::with(Framing::Lines, Limits::default(), Sink::descriptor)
    }

    fn limited(limits: Limits) -> Self {
        Self::with(Framing::Lines, limits, Sink::descriptor)
    }

    fn with(framing: Framing, limits: Limits, sink: fn(PipeWriter) -> Sink) -> Self {
        let (read, to) = pipe().expect("a pipe");
        let (from, write) = pipe().expect("a pipe");
        let (signal, dropped) = mpsc::channel();
        let session = Arc::new(TestSession {
            arrived: Mutex::default(),
            released: Semaphore::new(0),
            shut: AtomicBool::new(false),
            dropped: signal,
            peer: OnceLock::new(),
        });
        let connection =
            Connection { table: table(), session: session.clone(), limits, runtime: runtime(), framing: None };
        let run = thread::spawn(move || connection.run(read, sink(write)).expect("threads"));
        Self { to, from: BufReader::new(from), framing, session, dropped, run }
    }

    fn send(&mut self, body: &str) {
        let frame = match self.framing {
            Framing::Lines => format!("{body}\n"),
            Framing::Headers => format!("Content-Length: {}\r\n\r\n{body}", body.len()),
        };
        self.to.write_all(frame.as_bytes()).expect("the sidecar reads");
    }

    fn request(&mut self, id: &str, method: &str, params: Value) {
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
    }

    /// The next message from the sidecar; `None` at the end.
    fn receive(&mut self) -> Option<String> {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("UTF-8");
        match self.framing {
            Framing::Lines => line.strip_suffix('\n').map(str::to_owned),
            Framing::Headers => {
                let length = line.trim_end().strip_prefix("Content-Length: ")?.parse().expect("a length");
                self.from.read_line(&mut line).expect("an empty line");
                let mut body = vec![0; length];
                self.from.read_exact(&mut body).expect("a body");
                Some(String::from_utf8(body).expect("UTF-8"))
            }
        }
    }

    #[track_caller]
    fn expect(&mut self, label: &str, message: &str) {
        assert_eq!(self.receive().as_deref(), Some(message), "{label}");
    }

    /// Expects an error answer.
    #[track_caller]
    fn expect_error(&mut self, label: &str, id: &str, code: i32) {
        let message = self.receive().expect(label);
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":""#);
        assert!(message.starts_with(&start), "{label}: {message}");
    }

    /// Closes the sending side; what comes until the other side closes, and why it did.
    fn close(self) -> (Vec<String>, End) {
        let Self { to, from, framing, session, dropped, run } = self;
        drop(to);
        let (_, unused) = pipe().expect("a pipe");
        let mut rest = Self { to: unused, from, framing, session, dropped, run };
        let messages = std::iter::from_fn(|| rest.receive()).collect();
        (messages, rest.run.join().expect("no panic"))
    }
}

fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

#[test]
fn ids_come_back_as_sent_in_both_framings() {
    for framing in [Framing::Lines, Framing::Headers] {
        for sink in [Sink::descriptor, Sink::new] as [fn(PipeWriter) -> Sink; 2] {
            let mut host = Host::with(framing, Limits::default(), sink);
            for id in ["0", "-7", "123456789012345678901234567890", "1.50", "1E400", r#""a""#, r#""\u00e9\"\n""#] {
                host.request(id, "echo", json!({"text": "now"}));
                host.expect("TRANSPORT: ids as sent", &result(id, "\"now\""));
                host.request(id, "echo/yielding", json!({"text": "later"}));
                host.expect("TRANSPORT: ids as sent by a task", &result(id, "\"later\""));
            }
            assert_eq!(host.close(), (vec![], End::Eof), "TRANSPORT: a clean end");
        }
    }
}

#[test]
fn errors_have_their_codes_and_the_connection_goes_on() {
    let mut host = Host::new();
    host.request("0", "echo", json!({}));
    host.expect("TRANSPORT: absent params", &result("0", "\"-\""));
    for (label, message, id, code) in [
        ("ERRORS: broken JSON", "{\"jsonrpc\":", "null", -32700),
        ("ERRORS: too deep", &"[".repeat(200), "null", -32700),
        ("ERRORS: null id", r#"{"jsonrpc":"2.0","id":null,"method":"echo"}"#, "null", -32600),
        ("ERRORS: no version", r#"{"id":3,"method":"echo"}"#, "3", -32600),
        ("ERRORS: empty batch", "[]", "null", -32600),
        ("ERRORS: unknown method", r#"{"jsonrpc":"2.0","id":4,"method":"ehco"}"#, "4", -32601),
        ("ERRORS: positional params", r#"{"jsonrpc":"2.0","id":5,"method":"echo","params":["a"]}"#, "5", -32602),
        ("ERRORS: wrong params", r#"{"jsonrpc":"2.0","id":6,"method":"echo","params":{"text":1}}"#, "6", -32602),
        ("ERRORS: a result without a form", r#"{"jsonrpc":"2.0","id":7,"method":"formless"}"#, "7", -32603),
    ] {
        host.send(message);
        host.expect_error(label, id, code);
    }
    host.request("8", "ehco", json!({}));
    let message = host.receive().expect("an answer");
    assert!(message.contains("`ehco`") && message.contains(r#""nearest":"echo""#), "ERRORS: both are named: {message}");
    host.request("9", "echo", json!({"text": 1}));
    assert!(host.receive().expect("an answer").contains(r#""data":{"pointer":"/text"}"#), "ERRORS: the pointer");
    host.notify("no/such", json!({}));
    host.notify("$/setTrace", json!({}));
    host.notify("release", json!({"count": "many"}));
    host.request("10", "echo", json!({}));
    host.expect("ERRORS: notifications are never answered", &result("10", "\"-\""));
}

#[test]
fn handlers_see_the_order_of_arrival() {
    let mut host = Host::new();
    host.request("\"a\"", "call", json!({}));
    host.expect("LIFECYCLE: numbered from 1", &result("\"a\"", r#"{"seq":1,"ticket":"1:{}","id":"\"a\""}"#));
    host.notify("release", json!({"count": 0}));
    host.send(r#"[{"jsonrpc":"2.0","id":1,"method":"call"},{"jsonrpc":"2.0","id":2,"method":"call"}]"#);
    let answers = host.receive().expect("an array");
    assert!(answers.contains(r#""ticket":"3:-""#) && answers.contains(r#""ticket":"4:-""#), "LIFECYCLE: {answers}");
    let arrived = lock(&host.session.arrived).clone();
    assert_eq!(arrived.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1, 3, 4], "LIFECYCLE: in order");
}

#[test]
fn a_batch_is_answered_as_one() {
    let mut host = Host::new();
    host.send(
        r#"[{"jsonrpc":"2.0","id":1,"method":"wait","params":{"text":"late"}}, 7,
            {"jsonrpc":"2.0","method":"release","params":{"count":0}},
            {"jsonrpc":"2.0","id":"b","method":"echo","params":{"text":"early"}}]"#
            .replace('\n', " ")
            .as_str(),
    );
    host.request("3", "echo", json!({"text": "between"}));
    host.expect("TRANSPORT: nothing of a batch before all of it", &result("3", "\"between\""));
    host.notify("release", json!({"count": 1}));
    let answers: Vec<Value> = serde_json::from_str(&host.receive().expect("an array")).expect("JSON");
    let shown: Vec<_> = answers.iter().map(|answer| (answer["id"].clone(), answer["result"].clone())).collect();
    let expected = [(json!(1), json!("late")), (json!(null), json!(null)), (json!("b"), json!("early"))];
    assert_eq!(shown, expected, "TRANSPORT: in the order of the requests");
    assert_eq!(answers[1]["error"]["code"], -32600, "TRANSPORT: an item that is no message");
    host.send(r#"[{"jsonrpc":"2.0","method":"release","params":{"count":0}},{"jsonrpc":"2.0","method":"none"}]"#);
    host.request("4", "echo", json!({}));
    host.expect("TRANSPORT: notifications alone have no answer", &result("4", "\"-\""));
    host.send(
        r#"[{"jsonrpc":"2.0","id":5,"method":"hang"},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":5}}]"#,
    );
    let answer = host.receive().expect("an array");
    assert!(answer.starts_with(r#"[{"jsonrpc":"2.0","id":5,"error":{"code":-32800"#), "TRANSPORT: cancelled: {answer}");
}

#[test]
fn cancelling_answers_at_once() {
    let mut host = Host::new();
    for id in ["7", "\"seven\"", "7.0"] {
        host.request(id, "hang", json!({}));
        host.send(&format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#));
        host.expect_error("LIFECYCLE: cancelled", id, -32800);
        host.dropped.recv().expect("LIFECYCLE: the future is dropped");
        host.request(id, "echo", json!({}));
        host.expect("LIFECYCLE: the id is free again", &result(id, "\"-\""));
    }
    host.request("8", "partial", json!({}));
    host.notify("$/cancelRequest", json!({"id": 8}));
    host.expect("LIFECYCLE: a cooperative method answers what it has", &result("8", "\"partial\""));
    for params in [json!({"id": 8}), json!({"id": 99}), json!({"id": {}}), json!({}), json!([8])] {
        host.notify("$/cancelRequest", params);
    }
    host.request("9", "echo", json!({}));
    host.expect("LIFECYCLE: cancelling what is not in flight does nothing", &result("9", "\"-\""));
}

#[test]
fn a_live_id_is_refused() {
    let mut host = Host::new();
    host.request("1", "wait", json!({"text": "first"}));
    host.request("1", "echo", json!({}));
    host.expect_error("ERRORS: a duplicate live id", "1", -32600);
    host.request("\"1\"", "echo", json!({}));
    host.expect("ERRORS: a string is another id", &result("\"1\"", "\"-\""));
    host.notify("release", json!({"count": 1}));
    host.expect("ERRORS: the first is answered", &result("1", "\"first\""));
    host.request("1", "echo", json!({}));
    host.expect("ERRORS: then the id is free", &result("1", "\"-\""));
}

#[test]
fn a_message_over_the_limit_is_answered_and_read_past() {
    for framing in [Framing::Lines, Framing::Headers] {
        let small = limits(|limits| limits.max_message_bytes = Arc::new(AtomicUsize::new(1000)));
        let limit = small.max_message_bytes.clone();
        let mut host = Host::with(framing, small, Sink::descriptor);
        let text = "x".repeat(300_000);
        host.request("1", "echo", json!({"text": "a"}));
        host.expect("TRANSPORT: under the limit", &result("1", "\"a\""));
        host.request("2", "echo", json!({"text": text}));
        host.expect_error("TRANSPORT: over the limit, under its id", "2", -32040);
        host.send(&format!("[{}]", "1,".repeat(1000)));
        host.expect_error("TRANSPORT: over the limit without an id", "null", -32040);
        host.request("3", "echo", json!({"text": "b"}));
        host.expect("TRANSPORT: the connection goes on", &result("3", "\"b\""));
        limit.store(1_000_000, Ordering::SeqCst);
        host.request("4", "echo", json!({"text": text}));
        host.expect("TRANSPORT: the limit changes at run time", &result("4", &format!("\"{text}\"")));
    }
}

#[test]
fn a_broken_header_ends_the_connection() {
    let mut host = Host::with(Framing::Headers, Limits::default(), Sink::descriptor);
    host.request("1", "echo", json!({}));
    host.expect("TRANSPORT: before", &result("1", "\"-\""));
    host.to.write_all(b"Content-Length: many\r\n\r\n{}").expect("the sidecar reads");
    host.expect_error("TRANSPORT: one error", "null", -32700);
    assert_eq!(host.receive(), Option::None, "TRANSPORT: then the end, though the host keeps its side open");
    assert_eq!(host.run.join().expect("no panic"), End::FramingLost);
}

#[test]
fn five_thousand_requests_at_once() {
    let mut host = Host::new();
    for id in 0..5000 {
        host.request(&id.to_string(), "wait", json!({"text": id.to_string()}));
    }
    host.notify("release", json!({"count": 5000}));
    let mut answers: Vec<Value> =
        (0..5000).map(|_| serde_json::from_str(&host.receive().expect("all")).expect("JSON")).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    for (id, answer) in answers.iter().enumerate() {
        assert_eq!(*answer, json!({"jsonrpc": "2.0", "id": id, "result": id.to_string()}), "LIFECYCLE: each its own");
    }
    assert_eq!(host.close(), (vec![], End::Eof), "LIFECYCLE: and no more");
}

#[test]
fn too_many_in_flight_are_refused_at_once() {
    let mut host = Host::limited(limits(|limits| limits.max_in_flight = 3));
    for id in ["1", "2", "3"] {
        host.request(id, "wait", json!({"text": "held"}));
    }
    host.request("4", "wait", json!({}));
    host.expect_error("ERRORS: overloaded", "4", -32041);
    host.notify("$/cancelRequest", json!({"id": 2}));
    host.expect_error("ERRORS: one less", "2", -32800);
    host.request("5", "echo", json!({}));
    host.expect("ERRORS: and there is room", &result("5", "\"-\""));
}

#[test]
fn a_host_that_writes_all_before_it_reads() {
    let mut host = Host::new();
    let text = "y".repeat(1000);
    for id in 0..12_500 {
        host.request(&id.to_string(), "echo", json!({"text": text}));
    }
    for id in 0..12_500 {
        host.expect("TRANSPORT: no deadlock, nothing lost", &result(&id.to_string(), &format!("\"{text}\"")));
    }
}

#[test]
fn a_host_that_never_reads_is_dropped() {
    let host = Host::limited(limits(|limits| {
        limits.max_unsent_bytes = 1 << 20;
        limits.stall = Duration::ZERO;
    }));
    let Host { mut to, from, run, .. } = host;
    let request = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{{\"text\":\"{}\"}}}}\n",
        "z".repeat(10_000)
    );
    while to.write_all(request.as_bytes()).is_ok() {}
    assert_eq!(run.join().expect("no panic"), End::OutgoingOverflow, "TRANSPORT: over the cap");
    drop(from);
}

#[test]
fn what_runs_may_pass_the_mark_but_not_the_hard_cap() {
    let mut host = Host::limited(limits(|limits| limits.max_unsent_bytes = 1 << 20));
    for id in 0..8 {
        host.request(&id.to_string(), "large/released", json!({"text": "1000000"}));
    }
    host.notify("release", json!({"count": 8}));
    assert_eq!(host.run.join().expect("no panic"), End::OutgoingOverflow, "TRANSPORT: 8 MB over a mark of 1 MiB");
}

#[test]
fn a_host_that_stops_reading_is_dropped() {
    let mut host = Host::limited(limits(|limits| {
        limits.max_unsent_bytes = 1 << 20;
        limits.stall = Duration::from_millis(10);
    }));
    host.request("1", "large", json!({"text": "1000000"}));
    host.request("2", "large", json!({"text": "1000000"}));
    host.request("3", "hang", json!({}));
    assert_eq!(host.run.join().expect("no panic"), End::OutgoingOverflow, "TRANSPORT: nobody sends, nobody reads");
}

#[test]
fn over_the_mark_requests_wait_to_begin() {
    for (label, method, size, count) in [
        ("TRANSPORT: 300 answers of 18 KB, ready at once", "large", 18_000, 300),
        ("TRANSPORT: 300 answers of 18 KB, later", "large/yielding", 18_000, 300),
        ("TRANSPORT: 20 answers of 300 KB", "large/yielding", 300_000, 20),
    ] {
        let mut host = Host::limited(limits(|limits| limits.max_unsent_bytes = 2 << 20));
        for id in 0..count {
            host.request(&id.to_string(), method, json!({"text": size.to_string()}));
        }
        let mut ids: Vec<u64> = (0..count)
            .map(|_| {
                let message = host.receive().expect(label);
                assert!(message.len() > size, "{label}");
                let id = message.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).and_then(|rest| rest.split_once(','));
                id.expect(label).0.parse().expect(label)
            })
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..count as u64).collect::<Vec<_>>(), "{label}");
        assert_eq!(host.close(), (vec![], End::Eof), "{label}");
    }
}

#[test]
fn a_batch_holds_no_more_than_the_mark() {
    for (label, method, most) in [
        ("TRANSPORT: ready at once", "large", 11),
        // Those that run when the mark is reached pass it.
        ("TRANSPORT: later", "large/yielding", 11 + 32),
    ] {
        let mut host = Host::limited(limits(|limits| limits.max_unsent_bytes = 1 << 20));
        let request = |id| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"text": "100000"}});
        for _ in 0..2 {
            host.send(&Value::from_iter((0..100).map(request)).to_string());
            let answers: Vec<Value> = serde_json::from_str(&host.receive().expect(label)).expect("JSON");
            let ids: Vec<_> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
            assert_eq!(ids, (0..100).collect::<Vec<_>>(), "{label}: every place is answered");
            let whole = answers.iter().filter(|answer| answer["result"].is_string()).count();
            assert!((11..=most).contains(&whole), "{label}: {whole} were run");
            let refused = answers.iter().filter(|answer| answer["error"]["code"] == -32041).count();
            assert_eq!(whole + refused, 100, "{label}: the rest may be sent again");
        }
    }
}

#[test]
fn what_waits_to_begin_is_in_flight() {
    let mut host = Host::limited(limits(|limits| {
        limits.max_unsent_bytes = 1 << 20;
        limits.max_in_flight = 3;
    }));
    let large = result("1", &format!("\"{}\"", "x".repeat(2_000_000)));
    host.request("1", "large", json!({"text": "2000000"}));
    host.request("2", "echo", json!({"text": "waited"}));
    host.request("2", "echo", json!({}));
    host.request("3", "hang", json!({}));
    host.notify("$/cancelRequest", json!({"id": 3}));
    host.request("4", "partial", json!({}));
    host.request("5", "large", json!({"text": "10"}));
    host.request("6", "echo", json!({}));
    host.notify("$/cancelRequest", json!({"id": 4}));
    host.expect("TRANSPORT: the first", &large);
    let mut rest: Vec<String> = (0..6).map(|_| host.receive().expect("an answer")).collect();
    let of = |rest: &[String], start: String| rest.iter().filter(|message| message.starts_with(&start)).count();
    let error = |id, code| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code}"#);
    rest.sort();
    assert_eq!(of(&rest, result("2", "\"waited\"")), 1, "TRANSPORT: begun once the host read: {rest:?}");
    assert_eq!(of(&rest, error(2, -32600)), 1, "ERRORS: its id was taken: {rest:?}");
    assert_eq!(of(&rest, error(3, -32800)), 1, "LIFECYCLE: cancelled before it began: {rest:?}");
    assert_eq!(of(&rest, result("4", "\"partial\"")), 1, "LIFECYCLE: or asked what it has: {rest:?}");
    assert_eq!(of(&rest, result("5", "\"xxxxxxxxxx\"")), 1, "TRANSPORT: all begin: {rest:?}");
    assert_eq!(of(&rest, error(6, -32041)), 1, "ERRORS: the cap counts what waits: {rest:?}");
}

#[test]
fn one_answer_may_be_larger_than_the_cap() {
    let mut host = Host::limited(limits(|limits| limits.max_unsent_bytes = 1 << 20));
    host.request("1", "large", json!({"text": "5000000"}));
    host.expect("TRANSPORT: whole", &result("1", &format!("\"{}\"", "x".repeat(5_000_000))));
}

#[test]
fn a_raw_result_is_passed_on() {
    for (framing, expected) in
        [(Framing::Lines, "{\"a\":  [1, \"\\n\"] }"), (Framing::Headers, "{\"a\":\n [1, \"\\n\"]\r}")]
    {
        let mut host = Host::with(framing, Limits::default(), Sink::descriptor);
        host.request("1", "raw", json!({"text": "{\"a\":\n [1, \"\\n\"]\r}"}));
        host.expect("TRANSPORT: a raw result, on one line where lines are the framing", &result("1", expected));
    }
}

#[test]
fn panics_are_answered() {
    let mut host = Host::new();
    for (label, method) in [
        ("ERRORS: a panic at once", "panic"),
        ("ERRORS: a panic in a task", "panic/later"),
        ("ERRORS: a panic of the session", "panic/arrive"),
    ] {
        host.request("\"x\"", method, json!({"text": "not empty"}));
        host.expect_error(label, "\"x\"", -32603);
    }
    host.notify("panic", json!({}));
    host.request("1", "echo", json!({}));
    host.expect("ERRORS: the connection goes on", &result("1", "\"-\""));
}

#[test]
fn the_end_of_input_cancels_what_is_in_flight() {
    let mut host = Host::new();
    host.request("1", "hang", json!({}));
    host.request("2", "hang", json!({}));
    host.request("3", "partial", json!({}));
    host.to.write_all(br#"{"jsonrpc":"2.0","id":4,"method":"echo"}"#).expect("the sidecar reads");
    let (messages, end) = host.close();
    assert_eq!(end, End::Eof);
    let start = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32800"#);
    assert_eq!(messages.first(), Some(&result("4", "\"-\"")), "LIFECYCLE: a last line without a break");
    let of = |start: &str| messages.iter().filter(|message| message.starts_with(start)).count();
    assert_eq!(of(&start(1)) + of(&start(2)), 2, "LIFECYCLE: cancelled: {messages:?}");
    assert_eq!(of(&result("3", "\"partial\"")), 1, "LIFECYCLE: what a cooperative method has: {messages:?}");
    assert_eq!(messages.len(), 4, "LIFECYCLE: and no more: {messages:?}");
}

#[test]
fn a_partial_message_at_the_end_is_dropped() {
    for partial in ["{\"jsonrpc\":\"2.0\",\"id\":1,", "Content-Length: 100\r\n\r\n{\"jsonrpc\"", "Content-Le", "  ", ""]
    {
        let mut host = Host::new();
        host.to.write_all(partial.as_bytes()).expect("the sidecar reads");
        assert_eq!(host.close(), (vec![], End::Eof), "TRANSPORT: {partial:?}");
    }
}

#[test]
fn a_host_that_hangs_up_is_no_fault() {
    let host = Host::new();
    let Host { mut to, from, run, .. } = host;
    drop(from);
    while to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n").is_ok() {}
    assert_eq!(run.join().expect("no panic"), End::WriteFailed(io::ErrorKind::BrokenPipe), "TRANSPORT: a broken pipe");
}

#[test]
fn the_gate_decides_before_the_table() {
    let mut host = Host::new();
    host.session.shut.store(true, Ordering::SeqCst);
    host.request("1", "echo", json!({}));
    host.expect_error("LIFECYCLE: not initialized", "1", -32002);
    host.request("2", "no/such", json!({}));
    host.expect_error("LIFECYCLE: not initialized comes before not found", "2", -32002);
    host.notify("exit", json!({}));
    host.notify("open", json!({}));
    host.request("3", "echo", json!({}));
    host.expect("LIFECYCLE: a notification before its time is dropped", &result("3", "\"-\""));
    assert_eq!(lock(&host.session.arrived).len(), 1, "LIFECYCLE: what is refused does not arrive");
}

#[test]
fn exit_in_a_batch_loses_no_answer() {
    let mut host = Host::new();
    host.send(
        r#"[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","id":2,"method":"wait"},
            {"jsonrpc":"2.0","method":"release","params":{"count":1}},{"jsonrpc":"2.0","method":"exit"},
            {"jsonrpc":"2.0","id":3,"method":"echo"},5,{"jsonrpc":"2.0","method":"panic"}]"#
            .replace('\n', " ")
            .as_str(),
    );
    let answers: Vec<Value> = serde_json::from_str(&host.receive().expect("an array")).expect("JSON");
    let shown: Vec<_> =
        answers.iter().map(|answer| (&answer["id"], &answer["result"], &answer["error"]["code"])).collect();
    let (none, refused) = (json!(null), json!(-32600));
    let expected = [
        (&json!(1), &json!("-"), &none),
        (&json!(2), &json!("-"), &none),
        (&json!(3), &none, &refused),
        (&none, &none, &refused),
    ];
    assert_eq!(shown, expected, "LIFECYCLE: what stands behind `exit` is refused, the rest answered");
    assert_eq!(host.receive(), Option::None, "LIFECYCLE: then the end");
    assert_eq!(host.run.join().expect("no panic"), End::Exit);
}

#[test]
fn what_is_in_flight_at_exit_is_answered() {
    let mut host = Host::new();
    for id in 0..50 {
        host.request(&id.to_string(), "large/yielding", json!({"text": "20000"}));
    }
    host.notify("exit", json!({}));
    let mut answers: Vec<String> = std::iter::from_fn(|| host.receive()).collect();
    answers.retain(|answer| answer.contains(r#""result":"xxx"#));
    assert_eq!(answers.len(), 50, "LIFECYCLE: requests may be pipelined with `exit`");
    assert_eq!(host.run.join().expect("no panic"), End::Exit);
}

#[test]
fn exit_ends_with_its_answers_written() {
    let mut host = Host::new();
    host.request("1", "hang", json!({}));
    host.request("2", "large", json!({"text": "1000000"}));
    host.notify("exit", json!({}));
    host.request("3", "echo", json!({}));
    host.expect("LIFECYCLE: queued answers are written", &result("2", &format!("\"{}\"", "x".repeat(1_000_000))));
    host.expect_error("LIFECYCLE: the rest is cancelled", "1", -32800);
    assert_eq!(host.receive(), Option::None, "LIFECYCLE: nothing after exit, though the host keeps its side open");
    assert_eq!(host.run.join().expect("no panic"), End::Exit);
}

#[test]
fn the_sidecar_may_close_while_a_read_is_pending() {
    let host = Host::new();
    while host.session.peer.get().is_none() {
        thread::yield_now();
    }
    host.session.peer.get().expect("opened").close();
    assert_eq!(host.run.join().expect("no panic"), End::Closed, "LIFECYCLE: the pending read keeps nobody");
}

#[test]
fn an_answer_without_form_fails_its_request() {
    let mut host = Host::new();
    let deep = format!(r#"{{"jsonrpc":"2.0","id":"toolscout:N","result":{}{}}}"#, "[".repeat(128), "]".repeat(128));
    for (number, (label, answer)) in [
        ("ERRORS: a null error alone", br#"{"jsonrpc":"2.0","id":"toolscout:N","error":null}"#.as_slice()),
        ("ERRORS: no outcome", br#"{"jsonrpc":"2.0","id":"toolscout:N"}"#),
        ("ERRORS: no version", br#"{"id":"toolscout:N","result":1}"#),
        ("ERRORS: two results", br#"{"jsonrpc":"2.0","id":"toolscout:N","result":1,"result":2}"#),
        ("ERRORS: not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":\"toolscout:N\",\"result\":\"\xff\"}"),
        ("ERRORS: too deep", deep.as_bytes()),
        ("ERRORS: in a batch", br#"[{"jsonrpc":"2.0","id":"toolscout:N"}]"#),
    ]
    .into_iter()
    .enumerate()
    {
        host.request("1", "ask/stubborn", json!({"text": "a"}));
        assert!(host.receive().expect(label).contains("host/invoke"), "{label}");
        let at = answer.iter().position(|&byte| byte == b'N').expect("a place");
        let number = (number + 1).to_string();
        let answer = [&answer[..at], number.as_bytes(), &answer[at + 1..], b"\n"].concat();
        host.to.write_all(&answer).expect("the sidecar reads");
        let told = host.receive().expect(label);
        assert!(
            told.starts_with(r#"{"jsonrpc":"2.0","id":1,"result":"the host's answer cannot be read: "#),
            "{label}: {told}"
        );
    }
    host.send(r#"{"jsonrpc":"2.0","id":"toolscout:99"}"#);
    host.request("2", "echo", json!({}));
    host.expect("ERRORS: nobody is answered under an id of ours", &result("2", "\"-\""));
}

#[test]
fn the_sidecar_asks_its_host() {
    let mut host = Host::limited(limits(|limits| limits.max_message_bytes = Arc::new(AtomicUsize::new(1000))));
    let asked = |number: u32, name: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"toolscout:{number}","method":"host/invoke","params":{{"name":"{name}"}}}}"#)
    };
    host.request("1", "ask", json!({"text": "a"}));
    host.expect("LIFECYCLE: a request of ours", &asked(1, "a"));
    host.send(r#"{"jsonrpc":"2.0","id":"toolscout:7","result":0}"#);
    host.send(r#"{"jsonrpc":"2.0","id":1,"result":0}"#);
    host.send(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"?"}}"#);
    host.send(r#"{"jsonrpc":"2.0","id":"toolscout:1","result":[1, 2]}"#);
    host.expect("LIFECYCLE: its answer, other ids being ignored", &result("1", "[1, 2]"));

    host.request("2", "ask/stubborn", json!({"text": "b"}));
    host.expect("LIFECYCLE: another", &asked(2, "b"));
    host.send(r#"{"jsonrpc":"2.0","id":"toolscout:2","error":{"code":-1,"message":"no","data":3}}"#);
    host.expect("LIFECYCLE: an error", &result("2", "\"no\""));

    host.request("3", "ask/stubborn", json!({"text": "c"}));
    host.expect("LIFECYCLE: another", &asked(3, "c"));
    host.send(&format!(r#"{{"jsonrpc":"2.0","result":"{}","id":"toolscout:3"}}"#, "x".repeat(2000)));
    host.expect(
        "LIFECYCLE: an answer over the limit fails its request",
        &result("3", "\"the host's answer is too large\""),
    );

    host.request("4", "ask", json!({"text": "d"}));
    host.expect("LIFECYCLE: another", &asked(4, "d"));
    host.notify("$/cancelRequest", json!({"id": 4}));
    let mut both = [host.receive().expect("one"), host.receive().expect("two")];
    both.sort();
    assert!(both[0].starts_with(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32800"#), "LIFECYCLE: {both:?}");
    let cancel = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"toolscout:4"}}"#;
    assert_eq!(both[1], cancel, "LIFECYCLE: who gives up says so to the host");

    host.request("5", "ask/stubborn", json!({"text": "e"}));
    host.expect("LIFECYCLE: another", &asked(5, "e"));
    let closed = result("5", "\"the connection to the host ended: the host closed it\"");
    assert_eq!(host.close(), (vec![closed], End::Eof), "LIFECYCLE: the end fails what was asked");
}
