//! An MCP server on the loopback that wants OAuth, with its authorization server, and the browser that a person follows
//! links with. Whatever must show nowhere begins with [`SECRET`].
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::gateway::{Asked, Gateway, Reply};

/// How every token, code and client secret begins.
pub const SECRET: &str = "s3cret-";

/// How the authorization server behaves.
#[derive(Debug, Clone, Default)]
pub struct Habits {
    /// The person says no.
    pub denies: bool,
    /// Refresh tokens are not taken any more.
    pub refuses_refresh: bool,
    /// Clients are not registered.
    pub registers_nobody: bool,
    /// Only plain PKCE is known.
    pub plain: bool,
    /// Clients get a secret, and have to show it.
    pub confidential: bool,
    /// The metadata names the token endpoint at this address.
    pub token_endpoint: Option<String>,
    /// The address of authorization has a `state` already.
    pub own_state: bool,
    /// The metadata is about this resource.
    pub resource: Option<String>,
    /// Calls are refused with what was sent.
    pub tells: bool,
    /// These routes are answered so, whatever is asked.
    pub answers: BTreeMap<&'static str, Reply>,
    /// What is granted says this too, or otherwise.
    pub granted: BTreeMap<&'static str, Value>,
}

/// A code and what it was given for.
struct Code {
    client: String,
    redirect: String,
    challenge: String,
}

#[derive(Default)]
struct State {
    habits: Habits,
    count: usize,
    /// Redirect addresses by client.
    clients: BTreeMap<String, String>,
    codes: BTreeMap<String, Code>,
    access: BTreeSet<String>,
    /// Clients by the refresh tokens that were given to them.
    refresh: BTreeMap<String, String>,
    /// Verifiers that were shown.
    verifiers: Vec<String>,
}

/// See the module.
pub struct Guarded {
    pub gateway: Gateway,
    state: Arc<Mutex<State>>,
}

impl Guarded {
    pub fn new(habits: Habits) -> Self {
        let state = Arc::new(Mutex::new(State { habits, ..State::default() }));
        let answering = state.clone();
        let gateway = Gateway::new(move |asked| answering.lock().unwrap().answer(asked));
        Self { gateway, state }
    }

    /// The MCP server's address.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.gateway.url)
    }

    /// Its entry.
    pub fn entry(&self) -> Value {
        json!({ "url": self.url() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn behave(&self, change: impl FnOnce(&mut Habits)) {
        change(&mut self.state().habits);
    }

    /// Access tokens given so far are not taken any more.
    pub fn revoke(&self) {
        self.state().access.clear();
    }

    /// A client that was registered by hand.
    pub fn know(&self, client: &str, redirect: &str) {
        self.state().clients.insert(client.to_owned(), redirect.to_owned());
    }

    /// What was shown to it that nobody else is to see, beside what begins with [`SECRET`].
    pub fn verifiers(&self) -> Vec<String> {
        self.state().verifiers.clone()
    }

    /// How often a route was asked, whatever its query.
    pub fn count(&self, route: &str) -> usize {
        self.gateway.routes().iter().filter(|asked| asked.split('?').next() == Some(route)).count()
    }

    /// Until so many sessions were begun with a token.
    pub fn wait_for_sessions(&self, count: usize) {
        let begun = |asked: &&Asked| asked.body["method"] == "initialize" && !asked.header("authorization").is_empty();
        self.gateway.wait_until(|asked| asked.iter().filter(begun).count() >= count);
    }

    /// How often a token was asked for in this way.
    pub fn grants(&self, kind: &str) -> usize {
        let asked = self.gateway.asked().into_iter();
        asked.filter(|asked| asked.route == "POST /token" && form(&asked.text)["grant_type"] == kind).count()
    }
}

impl State {
    fn secret(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{SECRET}{kind}-{:04}", self.count)
    }

    fn answer(&mut self, asked: &Asked) -> Reply {
        let here = format!("http://{}", asked.header("host"));
        let (route, query) = asked.route.split_once('?').unwrap_or((&asked.route, ""));
        let query = form(query);
        if let Some(answer) = self.habits.answers.get(route) {
            return answer.clone();
        }
        match route {
            "POST /mcp" | "GET /mcp" | "DELETE /mcp" => self.mcp(asked, &here, route),
            "GET /.well-known/oauth-protected-resource/mcp" => {
                let resource = self.habits.resource.clone().unwrap_or_else(|| format!("{here}/mcp"));
                Reply::Json(200, json!({ "resource": resource, "authorization_servers": [here] }))
            }
            "GET /.well-known/oauth-authorization-server" => {
                let token = self.habits.token_endpoint.clone().unwrap_or_else(|| format!("{here}/token"));
                let mut metadata = json!({
                    "issuer": here, "authorization_endpoint": format!("{here}/authorize"), "token_endpoint": token,
                    "code_challenge_methods_supported": [if self.habits.plain { "plain" } else { "S256" }],
                    "response_types_supported": ["code"], "authorization_response_iss_parameter_supported": true,
                });
                if self.habits.own_state {
                    metadata["authorization_endpoint"] = format!("{here}/authorize?state=own").into();
                }
                if !self.habits.registers_nobody {
                    metadata["registration_endpoint"] = format!("{here}/register").into();
                }
                Reply::Json(200, metadata)
            }
            "POST /register" => {
                self.count += 1;
                let (client, redirects) = (format!("client-{}", self.count), asked.body["redirect_uris"].clone());
                self.clients.insert(client.clone(), redirects[0].as_str().unwrap().to_owned());
                let mut registered = json!({ "client_id": client, "redirect_uris": redirects });
                if self.habits.confidential {
                    registered["client_secret"] = secret_of(&client).into();
                }
                Reply::Json(201, registered)
            }
            "GET /authorize" => self.authorize(&query, &here),
            "POST /token" => self.token(&form(&asked.text), asked, &here),
            other => Reply::Json(404, json!(other)),
        }
    }

    fn mcp(&mut self, asked: &Asked, here: &str, route: &str) -> Reply {
        let token = asked.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
        if !self.access.contains(token) {
            let metadata = format!("{here}/.well-known/oauth-protected-resource/mcp");
            let challenge = format!("Bearer resource_metadata=\"{metadata}\", scope=\"tools:use\"");
            return Reply::With(401, vec![("www-authenticate", challenge)], String::new());
        }
        if route != "POST /mcp" {
            return Reply::Json(405, Value::Null);
        }
        let result = match asked.body["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": asked.body["params"]["protocolVersion"],
                "capabilities": { "tools": {} }, "serverInfo": { "name": "guarded", "version": "1" },
            }),
            "tools/list" => json!({ "tools": [{ "name": "whoami", "inputSchema": { "type": "object" } }] }),
            "tools/call" if self.habits.tells => {
                let error = json!({ "code": -32000, "message": asked.header("authorization"), "data": token });
                let answer = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "error": error }).to_string();
                return Reply::With(200, vec![("content-type", "application/json".to_owned())], answer);
            }
            "tools/call" => json!({ "content": [{ "type": "text", "text": "somebody" }] }),
            _ => return Reply::With(202, vec![], String::new()),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "result": result }).to_string();
        Reply::With(200, vec![("content-type", "application/json".to_owned())], answer)
    }

    fn authorize(&mut self, query: &Value, here: &str) -> Reply {
        let text = |name: &str| query[name].as_str().unwrap_or_default().to_owned();
        let known = self.clients.get(&text("client_id")).cloned();
        let asked_well = known.as_ref() == Some(&text("redirect_uri"))
            && text("response_type") == "code"
            && text("code_challenge_method") == "S256"
            && text("resource") == format!("{here}/mcp")
            && text("scope") == "tools:use";
        if !asked_well {
            return Reply::Json(400, json!({ "not like this": query }));
        }
        let said = if self.habits.denies {
            "error=access_denied&error_description=no".to_owned()
        } else {
            let code = self.secret("code");
            let (client, redirect) = (text("client_id"), text("redirect_uri"));
            self.codes.insert(code.clone(), Code { client, redirect, challenge: text("code_challenge") });
            format!("code={code}&iss={}", here.replace(':', "%3A").replace('/', "%2F"))
        };
        let location = format!("{}?{said}&state={}", text("redirect_uri"), text("state"));
        Reply::With(302, vec![("location", location)], String::new())
    }

    fn token(&mut self, sent: &Value, asked: &Asked, here: &str) -> Reply {
        let text = |name: &str| sent[name].as_str().unwrap_or_default().to_owned();
        // What it was sent, as a careless server repeats it.
        let refused = |code: &str| Reply::Json(400, json!({ "error": code, "error_description": asked.text }));
        if text("resource") != format!("{here}/mcp") {
            return refused("invalid_target");
        }
        let is_client = |confidential: bool, client: &str| match confidential {
            true => {
                let shown = base64url(format!("{client}:{}", secret_of(client)).as_bytes());
                let sent = asked.header("authorization").trim_start_matches("Basic ").trim_end_matches('=');
                sent.replace('+', "-").replace('/', "_") == shown
            }
            false => client == text("client_id"),
        };
        let client = match &*text("grant_type") {
            "authorization_code" => {
                self.verifiers.push(text("code_verifier"));
                let Some(code) = self.codes.remove(&text("code")) else { return refused("invalid_grant") };
                if !is_client(self.habits.confidential, &code.client) {
                    return refused("invalid_client");
                }
                let proven = code.challenge == base64url(&Sha256::digest(text("code_verifier")));
                if !(proven && code.redirect == text("redirect_uri")) {
                    return refused("invalid_grant");
                }
                code.client
            }
            "refresh_token" => {
                let client = self.refresh.remove(&text("refresh_token"));
                let Some(client) = client.filter(|_| !self.habits.refuses_refresh) else {
                    return refused("invalid_grant");
                };
                if !is_client(self.habits.confidential, &client) {
                    return refused("invalid_client");
                }
                client
            }
            _ => return refused("unsupported_grant_type"),
        };
        let (access, refresh) = (self.secret("access"), self.secret("refresh"));
        self.access.insert(access.clone());
        self.refresh.insert(refresh.clone(), client);
        let mut granted = json!({
            "access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600,
        });
        self.habits.granted.iter().for_each(|(key, value)| granted[key] = value.clone());
        Reply::With(200, vec![("content-type", "application/json".to_owned())], granted.to_string())
    }
}

/// The secret of a client that has one.
fn secret_of(client: &str) -> String {
    format!("{SECRET}of-{client}")
}

/// What a browser was shown.
#[derive(Debug)]
pub struct Shown {
    pub status: u16,
    pub location: String,
    pub page: String,
}

/// Asks for an address, as a browser does that follows nothing by itself.
#[track_caller]
pub fn browse(url: &str) -> Shown {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    // The authorization server does not close: its headers say how much there is.
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let value = |name: &str| {
                let lines = head.lines().filter_map(|line| line.split_once(": "));
                lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
            };
            let length: usize = value("content-length").map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                let location = value("location").unwrap_or_default();
                return Shown { status, location, page: format!("{head}\n{body}") };
            }
        }
        let read = stream.read(&mut chunk).unwrap();
        assert!(read > 0, "an answer to {url}");
        answer.extend_from_slice(&chunk[..read]);
    }
}

/// Follows a link to the page at its end.
#[track_caller]
pub fn follow(link: &str) -> Shown {
    let sent = browse(link);
    assert_eq!(sent.status, 302, "{sent:?}");
    browse(&sent.location)
}

/// Parameters of a query or of a form.
fn form(text: &str) -> Value {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), Value::from(decoded(value)))).collect::<serde_json::Map<_, _>>().into()
}

fn decoded(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    String::from_utf8(decoded).unwrap()
}

fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        text.extend((0..=chunk.len()).map(|at| DIGITS[(bits >> (18 - 6 * at)) as usize & 63] as char));
    }
    text
}
