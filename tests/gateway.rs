//! The gateway's client against a gateway on the loopback that plays every failure of the wire.

#[path = "support/gateway.rs"]
mod gateway;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gateway::{Gateway, Reply, TOKEN, found, ok, schema};
use serde_json::{Map, Value, json};
use toolscout::connectors::gateway::{Bounds, Connection, Connector, Look, MAX_BODY};
use toolscout::connectors::origin::Origin;
use toolscout::connectors::sign_in::Kept;
use toolscout::connectors::{Account, Failure, Gateways, Remote, SignIn, Token};

struct Client {
    runtime: tokio::runtime::Runtime,
    account: Arc<Account>,
    _gateways: Gateways,
}

impl Client {
    fn new(gateway: &Gateway) -> Self {
        Self::bounded(gateway, Bounds::default())
    }

    fn bounded(gateway: &Gateway, bounds: Bounds) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let gateways = Gateways::new(bounds);
        let sign_in = SignIn {
            origin: Origin::read(&gateway.url).unwrap(),
            token: Token::new(TOKEN).unwrap(),
            kept: Kept::Stored,
        };
        Self { runtime, account: gateways.account(sign_in).unwrap(), _gateways: gateways }
    }

    fn execute(&self, name: &str) -> Result<Value, Failure> {
        let arguments = Map::from_iter([("to".to_owned(), json!("a@b.example"))]);
        let data = self.runtime.block_on(self.account.execute(&Remote::parse(name).unwrap(), &arguments));
        data.map(|data| serde_json::from_str(data.get()).unwrap())
    }

    fn list(&self) -> Result<Vec<Connector>, Failure> {
        self.runtime.block_on(self.account.list())
    }

    fn schemas(&self) -> Result<usize, Failure> {
        self.runtime.block_on(self.account.schemas(&["X".into()])).map(|schemas| schemas.len())
    }

    fn connect(&self) -> Result<Vec<Connection>, Failure> {
        self.runtime.block_on(self.account.connect(&["gmail".into()], false))
    }

    fn look(&self) -> Result<Look, Failure> {
        self.runtime.block_on(self.account.look("c-1"))
    }

    /// What each route answers.
    fn all(&self) -> [String; 6] {
        [
            format!("{:?}", self.search(&["mail"])),
            format!("{:?}", self.schemas()),
            format!("{:?}", self.execute(SEND)),
            format!("{:?}", self.list()),
            format!("{:?}", self.connect()),
            format!("{:?}", self.look()),
        ]
    }

    fn search(&self, queries: &[&str]) -> Result<Vec<Vec<String>>, Failure> {
        let queries: Vec<String> = queries.iter().map(|query| (*query).to_owned()).collect();
        let found = self.runtime.block_on(self.account.search(&queries))?;
        let name = |at: &usize| found.tools[*at].remote.to_string();
        Ok(found.groups.iter().map(|group| group.iter().map(name).collect()).collect())
    }
}

/// One that gives these answers, one after the other.
fn script(replies: impl IntoIterator<Item = Reply>) -> Gateway {
    let mut replies: VecDeque<Reply> = replies.into_iter().collect();
    Gateway::new(move |_| replies.pop_front().unwrap_or_else(|| Reply::Json(599, json!("one request too many"))))
}

fn code(failure: Result<Value, Failure>) -> String {
    match failure {
        Err(Failure::Refused(refusal)) => refusal.code,
        other => format!("{other:?}"),
    }
}

const SEND: &str = "connectors__gmail__SEND_EMAIL";

fn done() -> Reply {
    ok(json!({ "result": { "data": { "id": 7 } } }))
}

fn refusal(status: u16, code: &str) -> Reply {
    Reply::Json(status, json!({ "code": code, "message": "m" }))
}

#[test]
fn every_request_carries_the_token_and_connections_are_kept() {
    let gateway = Gateway::new(|asked| match asked.route.as_str() {
        "POST /search" => {
            ok(found(asked, &[&["GMAIL_SEND_EMAIL"]], &[schema("gmail", "GMAIL_SEND_EMAIL", "d", &["to"])]))
        }
        _ => done(),
    });
    let client = Client::new(&gateway);
    assert_eq!(client.search(&["send mail"]).unwrap(), [[SEND]]);
    assert!(client.account.known_schema(SEND).is_some());
    for _ in 0..3 {
        assert_eq!(client.execute(SEND).unwrap(), json!({ "id": 7 }));
    }
    let asked = gateway.asked();
    assert!(asked.iter().all(|asked| asked.header("authorization") == format!("Bearer {TOKEN}")));
    assert_eq!(asked[0].body, json!({ "queries": [{ "useCase": "send mail" }] }));
    let call = json!({ "connector": "gmail", "tool": "GMAIL_SEND_EMAIL", "arguments": { "to": "a@b.example" } });
    assert_eq!(asked[1].body, json!({ "call": call }));
    let keys: std::collections::BTreeSet<&str> =
        asked[1..].iter().map(|asked| asked.header("x-idempotency-key")).collect();
    assert!(keys.len() == 3 && keys.iter().all(|key| key.len() == 36), "a key for each call: {keys:?}");
    assert_eq!(gateway.connections(), 1);
}

#[test]
fn conn_3_the_literal_slug_is_tried_once_after_a_confirmed_not_found() {
    let gateway = script([
        refusal(404, "TOOL_NOT_FOUND"),
        done(),
        refusal(404, "TOOL_NOT_FOUND"),
        refusal(404, "TOOL_NOT_FOUND"),
    ]);
    let client = Client::new(&gateway);
    assert_eq!(client.execute(SEND).unwrap(), json!({ "id": 7 }));
    assert_eq!(code(client.execute(SEND)), "TOOL_NOT_FOUND");
    let asked = gateway.asked();
    let slugs: Vec<_> = asked.iter().map(|asked| asked.body["call"]["tool"].as_str().unwrap()).collect();
    assert_eq!(slugs, ["GMAIL_SEND_EMAIL", "SEND_EMAIL", "GMAIL_SEND_EMAIL", "SEND_EMAIL"]);
    assert_ne!(asked[0].header("x-idempotency-key"), asked[1].header("x-idempotency-key"), "another slug, another key");
}

#[test]
fn what_was_not_got_through_is_sent_once_more_under_the_same_key() {
    let again = |reply: Reply| script([reply, done()]);
    let later = |seconds: &str| Reply::With(429, vec![("retry-after", seconds.to_owned())], String::new());
    let half = || Reply::Half(json!({ "result": { "data": { "id": 7 } } }).to_string());
    for reply in [
        refusal(502, "PROVIDER_ERROR"),
        Reply::Json(503, json!("")),
        refusal(504, "PROVIDER_TIMEOUT"),
        Reply::Close,
        half(),
        later("0"),
    ] {
        let gateway = again(reply.clone());
        assert_eq!(Client::new(&gateway).execute(SEND).unwrap(), json!({ "id": 7 }), "{reply:?}");
        let keys: Vec<_> = gateway.asked().iter().map(|asked| asked.header("x-idempotency-key").to_owned()).collect();
        assert!(keys.len() == 2 && keys[0] == keys[1], "{reply:?}: {keys:?}");
    }
    for (reply, expected) in [
        (later("11"), "GATEWAY_ERROR"),
        (Reply::With(429, vec![], String::new()), "GATEWAY_ERROR"),
        (refusal(429, "PROVIDER_RATE_LIMITED"), "PROVIDER_RATE_LIMITED"),
        (refusal(500, "GATEWAY_ERROR"), "GATEWAY_ERROR"),
        (refusal(409, "CONNECTION_EXPIRED"), "CONNECTION_EXPIRED"),
        (refusal(422, "INVALID_ARGUMENTS"), "INVALID_ARGUMENTS"),
        (Reply::With(200, vec![], "{\"result\":".into()), "GATEWAY_ERROR"),
        (ok(json!({ "results": [] })), "GATEWAY_ERROR"),
    ] {
        let gateway = again(reply.clone());
        assert_eq!(code(Client::new(&gateway).execute(SEND)), expected, "{reply:?}");
        assert_eq!(gateway.asked().len(), 1, "{reply:?} is not tried again");
    }
    let gateway = script([Reply::Close, Reply::Close, done()]);
    assert_eq!(code(Client::new(&gateway).execute(SEND)), "GATEWAY_ERROR");
    assert_eq!(gateway.asked().len(), 2, "once more, not for ever");
}

#[test]
fn an_older_gateway_is_asked_in_its_own_form_from_then_on() {
    let gateway = Gateway::new(|asked| match asked.body.get("tools") {
        Some(tools) if tools[0]["tool"] == "GMAIL_GONE" => ok(
            json!({ "results": [{ "data": null, "error": { "code": "CONNECTION_REQUIRED", "message": "m", "connectUrl": "https://c.example" } }] }),
        ),
        Some(_) => ok(json!({ "results": [{ "data": { "id": 8 }, "error": null }] })),
        None => Reply::Json(400, json!({ "error": "bad request" })),
    });
    let client = Client::new(&gateway);
    assert_eq!(client.execute(SEND).unwrap(), json!({ "id": 8 }));
    assert_eq!(client.execute(SEND).unwrap(), json!({ "id": 8 }));
    let Err(Failure::Refused(refused)) = client.execute("connectors__gmail__GONE") else { panic!() };
    assert_eq!(
        (refused.code.as_str(), refused.connect_url.as_deref()),
        ("CONNECTION_REQUIRED", Some("https://c.example"))
    );
    let forms: Vec<bool> = gateway.asked().iter().map(|asked| asked.body.get("tools").is_some()).collect();
    assert_eq!(forms, [false, true, true, true]);
    gateway.answer(|asked| if asked.body.get("tools").is_some() { Reply::Json(400, json!({})) } else { done() });
    assert_eq!(client.execute(SEND).unwrap(), json!({ "id": 7 }), "unless it is refused with 400");
    assert_eq!(client.execute(SEND).unwrap(), json!({ "id": 7 }));
    assert_eq!(gateway.asked().len(), 4 + 2 + 1);
    let stubborn = Gateway::new(|_| Reply::Json(400, json!({ "error": { "code": "NO", "message": "m" } })));
    assert_eq!(code(Client::new(&stubborn).execute(SEND)), "NO");
    assert_eq!(stubborn.asked().len(), 2);
    let coded = Gateway::new(|_| refusal(400, "INVALID_ARGUMENTS"));
    assert_eq!(code(Client::new(&coded).execute(SEND)), "INVALID_ARGUMENTS");
    assert_eq!(coded.asked().len(), 1, "a code says that the form was understood");
}

#[test]
fn conn_1_a_plain_404_and_a_refused_token_are_not_asked_again() {
    for (reply, expected) in [
        (Reply::With(404, vec![], "not found".into()), Failure::Dark),
        (Reply::Json(401, json!({ "error": { "code": "UNAUTHORIZED", "message": "m" } })), Failure::SignedOut),
        (Reply::Json(403, json!({ "error": "token_expired" })), Failure::SignedOut),
    ] {
        let gateway = script([reply]);
        let client = Client::new(&gateway);
        assert_eq!(client.execute(SEND), Err(expected.clone()));
        assert_eq!(client.search(&["mail"]), Err(expected.clone()));
        assert_eq!(client.runtime.block_on(client.account.list()), Err(expected.clone()));
        assert_eq!(client.runtime.block_on(client.account.schemas(&["X".into()])).err(), Some(expected));
        assert_eq!(gateway.asked().len(), 1);
    }
}

#[test]
fn conn_1_a_refusal_does_not_hold_for_ever() {
    for status in [404, 401] {
        let bounds = Bounds { dark: Duration::ZERO, refused: Duration::ZERO, ..Bounds::default() };
        let gateway = script([Reply::With(status, vec![], String::new()), done()]);
        let client = Client::bounded(&gateway, bounds);
        assert!(client.execute(SEND).is_err());
        assert_eq!(client.execute(SEND).unwrap(), json!({ "id": 7 }), "{status}");
    }
}

#[test]
fn what_a_tool_says_of_itself_is_bounded() {
    let gateway = Gateway::new(|asked| {
        let mut large = schema("gmail", "GMAIL_A", &"d".repeat(1 << 20), &[]);
        large["inputSchema"]["required"] = json!(vec!["x".repeat(100); 5000]);
        ok(found(asked, &[&["GMAIL_A"]], &[large]))
    });
    let client = Client::new(&gateway);
    let found = client.runtime.block_on(client.account.search(&["mail".into()])).unwrap();
    assert_eq!((found.tools[0].description.len() < 17 << 10, found.tools[0].parameters.get()), (true, "{}"));
}

#[test]
fn a_search_is_bounded_and_matched_by_position() {
    let gateway = Gateway::new(|asked| {
        let mut answer = found(
            asked,
            &[&["GMAIL_A", "GMAIL_UNKNOWN", "GMAIL_A"], &["SLACK_B"]],
            &[schema("gmail", "GMAIL_A", "a", &[]), schema("slack", "SLACK_B", "b", &[])],
        );
        answer["results"][1]["useCase"] = json!("something else");
        ok(answer)
    });
    assert_eq!(
        Client::new(&gateway).search(&["one", "two", "three"]).unwrap(),
        [vec!["connectors__gmail__A"], vec![], vec![]]
    );
    let large = "x".repeat(MAX_BODY + 1);
    for reply in [
        Reply::With(200, vec![], large.clone()),
        Reply::With(200, vec![], "[]".into()),
        Reply::With(200, vec![], "{\"results\": 5}".into()),
        Reply::Json(500, json!("oops")),
        Reply::Json(403, json!({ "code": "TOOL_NOT_ALLOWED" })),
        Reply::Half(json!({ "results": [] }).to_string()),
        Reply::Close,
    ] {
        let gateway = script([reply]);
        let failure = Client::new(&gateway).search(&["mail"]).unwrap_err();
        assert!(matches!(failure, Failure::Unavailable(_)), "{failure:?}");
        assert_eq!(gateway.asked().len(), 1, "no search is tried again");
    }
}

#[test]
fn conn_3_of_twins_the_prefixed_one_stays() {
    let gateway = Gateway::new(|asked| {
        ok(found(
            asked,
            &[&["X", "GMAIL_X", "GMAIL_Y"], &["X"]],
            &[
                schema("gmail", "X", "literal", &[]),
                schema("gmail", "GMAIL_X", "prefixed", &[]),
                schema("gmail", "GMAIL_Y", "other", &[]),
            ],
        ))
    });
    let client = Client::new(&gateway);
    let queries: Vec<String> = vec!["a".into(), "b".into()];
    let found = client.runtime.block_on(client.account.search(&queries)).unwrap();
    let slugs: Vec<&str> = found.tools.iter().map(|tool| tool.slug.as_str()).collect();
    assert_eq!((slugs, found.groups), (vec!["GMAIL_X", "GMAIL_Y"], vec![vec![0, 1], vec![]]));
}

#[test]
fn redirects_are_followed_inside_of_the_gateway_alone() {
    let elsewhere = Gateway::new(|_| done());
    let target = format!("{}/v1/connectors/execute", elsewhere.url);
    let to = |location: &str, status| Reply::With(status, vec![("location", location.to_owned())], String::new());
    let gateway = script([to(&target, 307), to(&target, 307)]);
    assert_eq!(code(Client::new(&gateway).execute(SEND)), "GATEWAY_ERROR");
    assert_eq!(elsewhere.connections(), 0, "nothing was sent there");
    let gateway = script([to("/v1/connectors/execute", 307), done()]);
    assert_eq!(Client::new(&gateway).execute(SEND).unwrap(), json!({ "id": 7 }));
    let gateway = script([to("/v1/connectors/execute", 302), to("/v1/connectors/execute", 302)]);
    assert_eq!(code(Client::new(&gateway).execute(SEND)), "GATEWAY_ERROR", "a POST does not become a GET");
}

#[test]
fn lists_are_read_page_by_page_to_an_end() {
    let item = |name: &str| json!({ "connector": name, "enabled": true, "connected": false });
    let gateway = Gateway::new(move |asked| match asked.route.as_str() {
        "GET ?limit=50" => ok(json!({ "items": [item("Gmail"), 5, item("no good")], "nextCursor": "a&b" })),
        "GET ?limit=50&cursor=a%26b" => ok(json!({ "items": [item("slack"), item("gmail")], "nextCursor": "a&b" })),
        other => Reply::Json(599, json!(other)),
    });
    let client = Client::new(&gateway);
    let list = client.runtime.block_on(client.account.list()).unwrap();
    let names: Vec<&str> = list.iter().map(|connector| connector.connector.as_str()).collect();
    assert_eq!((names, gateway.asked().len()), (vec!["gmail", "slack"], 2));
    let mut page = 0;
    let endless = Gateway::new(move |_| {
        page += 1;
        ok(json!({ "items": [], "nextCursor": page.to_string() }))
    });
    let client = Client::new(&endless);
    assert_eq!(client.runtime.block_on(client.account.list()).unwrap(), []);
    assert_eq!(endless.asked().len(), 20);
}

#[test]
fn accounts_are_connected_and_watched() {
    let gateway = Gateway::new(|asked| match asked.route.as_str() {
        "POST /connections" => ok(json!({ "results": [
            { "connector": "x", "status": "initiated", "connectUrl": "https://c.example/1", "connectionId": "c/1" },
            { "connector": "slack", "status": "initiated", "connectUrl": "javascript:alert(1)" },
        ] })),
        "GET /accounts/c%2F1" => ok(json!({ "connectionId": "c/1", "connector": "gmail", "status": "active" })),
        "GET /accounts/gone" => Reply::Json(404, json!({ "error": "connection_not_found" })),
        "GET /accounts/busy" => Reply::With(429, vec![("retry-after", "3".into())], String::new()),
        _ => Reply::With(404, vec![], String::new()),
    });
    let client = Client::new(&gateway);
    let slugs: Vec<String> = ["gmail", "slack", "more"].map(str::to_owned).into();
    let connections = client.runtime.block_on(client.account.connect(&slugs, true)).unwrap();
    assert_eq!(gateway.asked()[0].body, json!({ "connectors": slugs, "reinitiate": true }));
    let shown: Vec<_> =
        connections.iter().map(|it| (it.connector.as_str(), it.status.as_str(), it.connect_url.as_deref())).collect();
    assert_eq!(
        shown,
        [("gmail", "initiated", Some("https://c.example/1")), ("slack", "failed", None), ("more", "failed", None)]
    );
    let look = |id: &str| client.runtime.block_on(client.account.look(id));
    assert!(matches!(look("c/1"), Ok(Look::Stands(watched)) if watched.status == "active"));
    assert_eq!(look("gone"), Ok(Look::Gone));
    assert_eq!(look("busy"), Ok(Look::Later(Some(Duration::from_secs(3)))));
    assert_eq!(look("other"), Err(Failure::Dark));
}

#[test]
fn conn_7_what_a_gateway_says_of_the_token_is_hidden() {
    let gateway = Gateway::new(|asked| match asked.route.as_str() {
        "POST /execute" => Reply::Json(
            422,
            json!({ "code": "INVALID_ARGUMENTS", "message": format!("you sent {TOKEN}"), "hint": TOKEN }),
        ),
        _ => Reply::Json(500, json!({ "error": { "code": TOKEN, "message": TOKEN } })),
    });
    let client = Client::new(&gateway);
    let all = format!(
        "{:?} {:?} {:?}",
        client.execute(SEND),
        client.search(&["mail"]),
        client.runtime.block_on(client.account.list())
    );
    assert!(!all.contains(TOKEN), "{all}");
    assert!(all.contains("you sent [hidden]"), "{all}");
}

#[test]
fn accounts_are_the_same_for_the_same_sign_in_alone() {
    let gateways = Gateways::default();
    let sign_in = |token: &str| SignIn {
        origin: Origin::read("https://a.example").unwrap(),
        token: Token::new(token).unwrap(),
        kept: Kept::Stored,
    };
    let one = gateways.account(sign_in("one")).unwrap();
    assert!(Arc::ptr_eq(&one, &gateways.account(sign_in("one")).unwrap()));
    let others: Vec<_> = (0..40).map(|n| gateways.account(sign_in(&format!("t{n}"))).unwrap()).collect();
    assert!(!Arc::ptr_eq(&others[0], &others[1]));
    assert!(!Arc::ptr_eq(&one, &gateways.account(sign_in("one")).unwrap()), "it was forgotten");
}

/// One by one: the published bound, where it stands, and the route that has it.
type Bound = (u64, fn(&mut Bounds) -> &mut Duration, fn(&Client) -> String);

const BOUNDS: [Bound; 6] = [
    (30, |it| &mut it.search, |client| format!("{:?}", client.search(&["mail"]))),
    (10, |it| &mut it.schemas, |client| format!("{:?}", client.schemas())),
    (60, |it| &mut it.execute, |client| format!("{:?}", client.execute(SEND))),
    (30, |it| &mut it.list, |client| format!("{:?}", client.list())),
    (30, |it| &mut it.connect, |client| format!("{:?}", client.connect())),
    (10, |it| &mut it.look, |client| format!("{:?}", client.look())),
];

#[test]
fn each_route_has_the_bound_that_is_published() {
    let mut published = Bounds::default();
    let seconds = [published.pause, published.card, published.dark, published.refused].map(|it| it.as_secs());
    assert_eq!(seconds, [1, 300, 60, 600], "CONN-1, CONN-6");
    let endless = Duration::from_secs(1 << 20);
    for (at, (seconds, place, ask)) in BOUNDS.into_iter().enumerate() {
        assert_eq!(*place(&mut published), Duration::from_secs(seconds), "route {at}");
        let mut bounds = Bounds::default();
        BOUNDS.iter().for_each(|(_, place, _)| *place(&mut bounds) = endless);
        *place(&mut bounds) = Duration::from_millis(20);
        // Not a word, and half a body.
        for reply in [Reply::Silent, Reply::Stall("{\"results\": []}".into())] {
            let gateway = Gateway::new(move |_| reply.clone());
            let said = ask(&Client::bounded(&gateway, bounds));
            assert!(said.contains("did not answer in time"), "route {at}: {said}");
            assert!(gateway.asked().len() <= 1, "route {at}: the bound holds for all tries");
        }
    }
}

#[test]
fn retry_after_may_be_a_date() {
    let later = |date: &str| Reply::With(429, vec![("retry-after", date.to_owned())], String::new());
    let gateway = script([later("Sun, 06 Nov 1994 08:49:37 GMT"), done()]);
    assert_eq!(Client::new(&gateway).execute(SEND).unwrap(), json!({ "id": 7 }), "it is over");
    let gateway = script([later("Fri, 31 Dec 9999 23:59:59 GMT"), done()]);
    assert_eq!(code(Client::new(&gateway).execute(SEND)), "GATEWAY_ERROR");
    assert_eq!(gateway.asked().len(), 1, "that is not waited for");
    let gateway = script([later("Fri, 31 Dec 9999 23:59:59 GMT")]);
    let Ok(Look::Later(Some(pause))) = Client::new(&gateway).look() else { panic!() };
    assert!(SystemTime::UNIX_EPOCH + pause > SystemTime::now());
}

#[test]
fn what_is_no_answer_of_the_wire_is_a_failure_and_nothing_worse() {
    let nested = "[".repeat(200_000);
    let half = format!("{{\"results\":[{},{}]}}", "[".repeat(100), "]".repeat(100));
    let gateway = Gateway::new(|_| Reply::Close);
    let client = Client::new(&gateway);
    for body in [
        "null",
        "5",
        "\"x\"",
        "[]",
        "{}",
        "{",
        "[null]",
        "{\"results\":5}",
        "{\"results\":[5,null,[],{}]}",
        &nested,
        &half,
        "{\"results\":[{\"useCase\":5,\"tools\":{}}],\"schemas\":[]}",
        "{\"results\":[{\"useCase\":\"mail\",\"tools\":[null,5,{},\"X\",\"Y\"]}],\"schemas\":{\"X\":5,\"Y\":{\"connector\":[]}}}",
        "{\"schemas\":{\"X\":null},\"notFound\":7}",
        "{\"result\":5}",
        "{\"items\":{},\"nextCursor\":5}",
        "{\"items\":[[],{\"connector\":5}],\"nextCursor\":null}",
        "{\"status\":{}}",
        "{\"status\":null,\"statusReason\":[]}",
        "\u{feff}{}",
    ] {
        // A 404 would be the last that is asked.
        for status in [200, 400, 409, 500] {
            let shown: String = format!("{status} {body}").chars().take(80).collect();
            let sent = body.to_owned();
            gateway.answer(move |_| Reply::With(status, vec![], sent.clone()));
            for (at, said) in client.all().iter().enumerate() {
                assert!(said.starts_with("Err") || status == 200, "route {at}: {shown}: {said}");
            }
        }
    }
}

#[test]
fn bytes_that_lie_are_a_failure_and_nothing_worse() {
    let gateway = Gateway::new(|_| Reply::Close);
    let client = Client::new(&gateway);
    let head = |headers: &str| format!("HTTP/1.1 200 Said\r\n{headers}\r\n\r\n").into_bytes();
    let with = |headers: &str, body: &[u8]| Reply::Raw([head(headers), body.to_vec()].concat());
    for (label, reply) in [
        ("more than is read, by its own word", with(&format!("content-length: {}", MAX_BODY + 1), b"{}")),
        ("more than there is in the world", with("content-length: 99999999999999999999", b"{}")),
        ("less than is sent", with("content-length: 5", b"{\"results\": []}")),
        ("two lengths", with("content-length: 2\r\ncontent-length: 3", b"{}")),
        ("a compressed body", with("content-encoding: gzip\r\ncontent-length: 4", &[0x1f, 0x8b, 8, 0])),
        ("headers without end", with(&"x: y\r\n".repeat(100_000), b"")),
        ("no HTTP", Reply::Raw(b"SSH-2.0-OpenSSH\r\n".to_vec())),
        ("no text", with("content-length: 3", &[0xff, 0xfe, 0x00])),
        ("a body without end", Reply::Endless),
    ] {
        gateway.answer(move |_| reply.clone());
        for (at, said) in client.all().iter().enumerate() {
            assert!(said.starts_with("Err"), "{label}, route {at}: {said}");
        }
    }
}

#[test]
fn redirects_have_an_end() {
    let gateway = Gateway::new(|asked| {
        Reply::With(307, vec![("location", format!("/v1/connectors{}", &asked.route[5..]))], String::new())
    });
    let failure = Client::new(&gateway).search(&["mail"]).unwrap_err();
    assert!(matches!(&failure, Failure::Unavailable(why) if why.contains("redirects")), "{failure:?}");
    assert!(gateway.asked().len() < 10);
    for target in ["http://gateway.example/", "https://127.0.0.1:1/", "file:///etc/passwd", "//127.0.0.2/", "\u{1}"] {
        let gateway = Gateway::new(move |_| Reply::With(307, vec![("location", target.into())], String::new()));
        assert!(matches!(Client::new(&gateway).search(&["mail"]), Err(Failure::Unavailable(_))), "{target}");
        assert_eq!(gateway.asked().len(), 1, "{target}");
    }
}

#[test]
fn lists_that_are_longer_than_asked_or_go_in_circles_have_an_end() {
    let item = |name: String| json!({ "connector": name, "connectionStatus": "x".repeat(5000) });
    let gateway = Gateway::new(move |asked| {
        let items: Vec<Value> = (0..1000).map(|n| item(format!("app{n}"))).collect();
        let next = if asked.route.ends_with("cursor=a") { "b" } else { "a" };
        ok(json!({ "items": items, "nextCursor": next }))
    });
    let list = Client::new(&gateway).list().unwrap();
    assert_eq!((list.len(), gateway.asked().len()), (50, 3));
    assert!(list[0].connection_status.as_ref().unwrap().chars().count() <= 600);
    let gateway = Gateway::new(|_| ok(json!({ "items": [], "nextCursor": "x".repeat(1 << 20) })));
    assert_eq!((Client::new(&gateway).list(), gateway.asked().len()), (Ok(vec![]), 1));
    let gateway = Gateway::new(|asked| {
        let slugs: Vec<String> = (0..5000).map(|n| format!("GMAIL_T{n}")).collect();
        let schemas: Vec<Value> = slugs.iter().map(|slug| schema("gmail", slug, "d", &[])).collect();
        ok(found(asked, &[&slugs.iter().map(String::as_str).collect::<Vec<_>>()], &schemas))
    });
    assert_eq!(Client::new(&gateway).search(&["mail"]).unwrap()[0].len(), 100);
}

#[test]
fn statuses_and_links_are_those_of_the_wire() {
    let gateway = Gateway::new(|asked| match asked.route.as_str() {
        "POST /connections" => ok(json!({ "results": [{
            "status": "x".repeat(9999), "connectUrl": "https://a.example/\nb", "connectionId": "y".repeat(9999),
            "statusReason": "z".repeat(9999),
        }] })),
        _ => ok(json!({ "status": "\u{1b}[2J", "statusReason": " " })),
    });
    let client = Client::new(&gateway);
    let connection = client.connect().unwrap().remove(0);
    assert_eq!((connection.status.as_str(), connection.connection_id), ("failed", None));
    assert_eq!(connection.connect_url.as_deref(), Some("https://a.example/b"));
    assert_eq!(connection.status_reason.unwrap().chars().count(), 600);
    let Ok(Look::Stands(watched)) = client.look() else { panic!() };
    assert_eq!((watched.status.as_str(), watched.reason), ("pending", None), "it is looked at again");
}

#[test]
fn what_a_host_could_not_read_is_not_passed_on() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for data in ["\"\\ud800\"", "{\"\\udfff\":1}", deep.as_str()] {
        let body = format!("{{\"result\":{{\"data\":{data}}}}}");
        let older = format!("{{\"results\":[{{\"data\":{data},\"error\":null}}]}}");
        let gateway = Gateway::new(move |_| Reply::With(200, vec![], body.clone()));
        assert_eq!(code(Client::new(&gateway).execute(SEND)), "GATEWAY_ERROR");
        let gateway = script([Reply::Json(400, json!({})), Reply::With(200, vec![], older)]);
        assert_eq!(code(Client::new(&gateway).execute(SEND)), "GATEWAY_ERROR");
        let schemas = format!(
            "{{\"schemas\":{{\"X\":{{\"connector\":\"gmail\",\"description\":\"d\",\"inputSchema\":{{\"default\":{data}}}}}}}}}"
        );
        let gateway = Gateway::new(move |_| Reply::With(200, vec![], schemas.clone()));
        let client = Client::new(&gateway);
        let known = client.runtime.block_on(client.account.schemas(&["X".into()])).unwrap();
        assert_eq!(known["X"].parameters.get(), "{}");
    }
}

#[test]
fn whether_an_account_is_served_is_known_until_the_gateway_says_otherwise() {
    let gateway =
        script([Reply::Json(500, json!({})), ok(json!({ "items": [] })), Reply::With(404, vec![], String::new())]);
    let client = Client::new(&gateway);
    let mut served = Vec::new();
    for _ in 0..3 {
        let _ = client.list();
        served.push(client.account.is_served());
    }
    assert_eq!(served, [true, true, false]);
    gateway.answer(|_| ok(json!({ "status": "active" })));
    client.look().unwrap();
    assert!(client.account.is_served());
}
