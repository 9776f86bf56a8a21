//! A connector gateway on the loopback: it answers as a test says, and remembers what it was asked.
#![allow(dead_code, reason = "each test uses its part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// The token that every test signs in with, and that must show nowhere.
pub const TOKEN: &str = "tk_live_0123456789abcdef";

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `POST /search`, without `/v1/connectors`.
    pub route: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

/// How it answers.
#[derive(Debug, Clone)]
pub enum Reply {
    Json(u16, Value),
    With(u16, Vec<(&'static str, String)>, String),
    /// Headers for a whole body, and half of it.
    Half(String),
    /// The connection closed without a word.
    Close,
    /// Nothing, for as long as the client waits.
    Silent,
    /// Headers for a whole body, its beginning, and then nothing for as long as the client waits.
    Stall(String),
    /// These bytes, and the end of the connection.
    Raw(Vec<u8>),
    /// A body without end, as fast as the client takes it.
    Endless,
}

pub fn ok(body: Value) -> Reply {
    Reply::Json(200, body)
}

type Answer = Box<dyn FnMut(&Asked) -> Reply + Send>;

struct Shared {
    answer: Mutex<Answer>,
    asked: Mutex<Vec<Asked>>,
    news: Condvar,
    connections: AtomicUsize,
    /// Whether an answer was begun.
    busy: AtomicBool,
}

/// See the module.
pub struct Gateway {
    pub url: String,
    shared: Arc<Shared>,
}

impl Gateway {
    pub fn new(answer: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            answer: Mutex::new(Box::new(answer)),
            asked: Mutex::default(),
            news: Condvar::new(),
            connections: AtomicUsize::new(0),
            busy: AtomicBool::new(false),
        });
        let serving = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                serving.connections.fetch_add(1, Ordering::SeqCst);
                let serving = serving.clone();
                std::thread::spawn(move || serve(&serving, stream));
            }
        });
        Self { url, shared }
    }

    /// From now on it answers so.
    pub fn answer(&self, answer: impl FnMut(&Asked) -> Reply + Send + 'static) {
        *self.shared.answer.lock().unwrap() = Box::new(answer);
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// The same, once there are so many.
    pub fn wait_for(&self, count: usize) -> Vec<Asked> {
        let asked = self.shared.asked.lock().unwrap();
        let waited = self.shared.news.wait_timeout_while(asked, Duration::from_secs(30), |asked| asked.len() < count);
        let asked = waited.unwrap().0;
        assert!(asked.len() >= count, "{count} requests in time: {asked:?}");
        asked.clone()
    }

    /// Until what it was asked is as it should be.
    pub fn wait_until(&self, is: impl Fn(&[Asked]) -> bool) {
        let asked = self.shared.asked.lock().unwrap();
        let waited = self.shared.news.wait_timeout_while(asked, Duration::from_secs(30), |asked| !is(asked));
        assert!(!waited.unwrap().1.timed_out(), "what is waited for in time");
    }

    /// Routes it was asked so far.
    pub fn routes(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.route).collect()
    }

    /// Until somebody has connected and asked: the answer is being made.
    pub fn wait_for_connection(&self) {
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while !self.shared.busy.load(Ordering::SeqCst) {
            assert!(std::time::Instant::now() < deadline, "a request in time");
            std::thread::yield_now();
        }
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

fn serve(shared: &Shared, stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(asked) = read(&mut reader) {
        shared.busy.store(true, Ordering::SeqCst);
        // The answer first, so that who waits for a request finds that its answer was settled.
        let reply = (shared.answer.lock().unwrap())(&asked);
        shared.asked.lock().unwrap().push(asked);
        shared.news.notify_all();
        if !write(&stream, reply) {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let mut parts = first.split_whitespace();
    let (method, path) = (parts.next()?, parts.next()?);
    let route = format!("{method} {}", path.strip_prefix("/v1/connectors").unwrap_or(path));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let text = String::from_utf8_lossy(&body).into_owned();
    Some(Asked { route, headers, body: serde_json::from_str(&text).unwrap_or_default(), text })
}

/// Whether the connection goes on.
fn write(mut stream: &TcpStream, reply: Reply) -> bool {
    let whole = |status: u16, headers: &[(&str, String)], body: &str| {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
    };
    match reply {
        Reply::Json(status, body) => stream.write_all(whole(status, &[], &body.to_string()).as_bytes()).is_ok(),
        Reply::With(status, headers, body) => stream.write_all(whole(status, &headers, &body).as_bytes()).is_ok(),
        Reply::Half(body) => {
            let all = whole(200, &[], &body);
            let _ = stream.write_all(&all.as_bytes()[..all.len() - body.len() / 2]);
            false
        }
        Reply::Close => false,
        Reply::Silent => hung_up(stream),
        Reply::Stall(body) => {
            let all = whole(200, &[], &body);
            let _ = stream.write_all(&all.as_bytes()[..all.len() - body.len() / 2]);
            hung_up(stream)
        }
        Reply::Raw(bytes) => {
            let _ = stream.write_all(&bytes);
            false
        }
        Reply::Endless => {
            let _ = stream.write_all(b"HTTP/1.1 200 Said\r\ntransfer-encoding: chunked\r\n\r\n");
            let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
            while stream.write_all(&chunk).is_ok() {}
            false
        }
    }
}

/// Waits until the client has hung up; the connection does not go on.
fn hung_up(mut stream: &TcpStream) -> bool {
    let _ = stream.read(&mut [0]);
    false
}

/// A tool of a search's or a describe's answer.
pub fn schema(connector: &str, slug: &str, description: &str, required: &[&str]) -> Value {
    let properties: serde_json::Map<_, _> =
        required.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    let input = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "connector": connector, "tool": slug, "description": description, "inputSchema": input })
}

/// An answer to a search: for each query the slugs given, with their schemas.
pub fn found(asked: &Asked, groups: &[&[&str]], schemas: &[Value]) -> Value {
    let queries = asked.body["queries"].as_array().unwrap();
    let results =
        queries.iter().zip(groups).map(|(query, tools)| json!({ "useCase": query["useCase"], "tools": tools }));
    let by_slug: serde_json::Map<_, _> =
        schemas.iter().map(|schema| (schema["tool"].as_str().unwrap().to_owned(), schema.clone())).collect();
    json!({ "results": results.collect::<Vec<_>>(), "schemas": by_slug })
}
