//! One server's entry in the configuration, made ready: what to start or to dial, with `${VAR}` filled.
//!
//! Reading never fails: what cannot be read is a diagnostic with its place, and the server is started only if what is
//! left makes sense. No value of an entry stands in a message: it may be secret.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::oauth::{Client, Resource};
use super::secrets::Secrets;
use super::variables::Variables;
use crate::catalog::pattern::Patterns;
use crate::diagnostic::{Diagnostic, Severity};
use crate::workspace::address;
use crate::workspace::node::{Entry, Node, Place, Value, child_pointer};
use crate::workspace::problem::quoted;
use crate::workspace::setting;

/// How long a server may take to start unless its entry says otherwise.
const STARTUP: Duration = Duration::from_secs(30);
/// How long a call may take unless its server's entry says otherwise.
const CALL: Duration = Duration::from_secs(120);
/// Bounds of both, in seconds.
const SECONDS: (f64, f64) = (0.1, 86_400.0);

/// What a server's process gets of the asking process's environment, beside `env`. Anything else may be a secret that is
/// none of its business.
const INHERITED: [&str; 28] = [
    "ALL_PROXY",
    "APPDATA",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOCALAPPDATA",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PATH",
    "PATHEXT",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "USERPROFILE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// A server as it is to be run.
#[derive(Clone)]
pub struct Spec {
    /// Its name, that of its source.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Names and globs of its tools that are served; all where there are none.
    pub include: Vec<String>,
    /// Names and globs of its tools that are not.
    pub exclude: Vec<String>,
    /// Whether its tools may run beside others.
    pub parallel: bool,
    /// How long it may take to start and list its tools.
    pub startup_timeout: Duration,
    /// How long a call may take.
    pub call_timeout: Duration,
    /// Whether connections may share it.
    pub shared: bool,
    /// Whether its list of tools is kept on disk.
    pub cached: bool,
    /// What is never shown of it.
    pub secrets: Secrets,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// A process, over its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that its entry gives it.
        env: BTreeMap<String, String>,
        /// Variables of the asking process that every server gets.
        inherited: BTreeMap<String, String>,
        /// Its working directory.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// Its endpoint.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// How it is signed in to by OAuth, unless its entry has that off, or has an `Authorization` of its own, which wins.
        oauth: Option<Client>,
    },
}

// What it holds may be secret.
impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What becomes of an entry.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It is to be run.
    Run(Box<Spec>),
    /// It says `disabled`.
    Disabled,
    /// It cannot be run; why.
    Faulty(String),
}

/// An entry as configuration has it.
pub struct Written<'a> {
    /// The server's name.
    pub name: &'a str,
    /// The map that describes it.
    pub node: &'a Node,
    /// The file it stands in, empty for what came over the wire.
    pub file: &'a str,
    /// JSON pointer of the map in that file.
    pub pointer: &'a str,
}

/// What an entry means depends on who asks.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Variables of the asking process.
    pub environment: &'a BTreeMap<String, String>,
    /// Where servers run unless they say otherwise, and what a relative `cwd` is relative to.
    pub folder: Option<&'a Path>,
    /// Whether lists of tools may be kept on disk.
    pub cached: bool,
}

/// Reads an entry, and says what is wrong with it.
pub fn read(written: &Written<'_>, asking: Asking<'_>) -> (Outcome, Vec<Diagnostic>) {
    let folder = asking.folder.map(|folder| folder.display().to_string());
    let variables = Variables { environment: asking.environment, folder: folder.as_deref() };
    let mut reader = Reader { written, variables, diagnostics: Vec::new(), secrets: Secrets::default(), fault: None };
    let outcome = reader.read(asking);
    (outcome, reader.diagnostics)
}

impl Spec {
    /// It as it is signed in to by OAuth; nothing where it cannot be.
    ///
    /// # Errors
    /// Why no token may be sent to it, for a person.
    pub fn resource(&self) -> Option<Result<Resource, &'static str>> {
        match &self.reach {
            Reach::Http { url, oauth: Some(_), .. } => Some(Resource::read(url)),
            Reach::Http { oauth: None, .. } | Reach::Stdio { .. } => None,
        }
    }

    /// SHA-256 of how it is reached, under which its list of tools is kept.
    pub fn content_id(&self) -> String {
        let mut hash = Sha256::new();
        // Each part with its length, so that no two entries are the same bytes.
        let mut part = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        part(&self.name);
        match &self.reach {
            Reach::Stdio { command, args, env, cwd, .. } => {
                part("stdio");
                part(command);
                part(&args.len().to_string());
                args.iter().for_each(|text| part(text));
                env.iter().for_each(|(name, value)| [name, value].into_iter().for_each(|text| part(text)));
                part(&cwd.as_ref().map(|path| path.display().to_string()).unwrap_or_default());
            }
            Reach::Http { url, headers, .. } => {
                part("http");
                part(url);
                headers.iter().for_each(|(name, value)| [name, value].into_iter().for_each(|text| part(text)));
            }
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether a tool of its is served.
    pub fn serves(&self) -> impl Fn(&str) -> bool + use<> {
        let include = (!self.include.is_empty()).then(|| Patterns::new(&self.include));
        let exclude = Patterns::new(&self.exclude);
        move |tool| include.as_ref().is_none_or(|include| include.matches(tool)) && !exclude.matches(tool)
    }

    /// A text without what its entry keeps secret, control characters, and what is longer than a message should be.
    pub fn shown(&self, text: &str) -> String {
        self.shown_within(text, 300)
    }

    /// The same in at most `limit` characters.
    pub fn shown_within(&self, text: &str, limit: usize) -> String {
        let text = self.masked(text);
        let mut shown: String = text.chars().take(limit).map(|c| if c.is_control() { ' ' } else { c }).collect();
        if text.chars().nth(limit).is_some() {
            shown.push('…');
        }
        shown
    }

    /// A text without what is secret, even if it was cut in the middle of that.
    pub fn masked(&self, text: &str) -> String {
        self.secrets.masked(text)
    }

    /// Whether another is the same server, run alike. What was learned of either says nothing of that.
    pub fn is_same(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    fn key(&self) -> impl PartialEq {
        let Self { name, reach, include, exclude, parallel, startup_timeout, call_timeout, shared, cached, secrets } =
            self;
        let served = (include, exclude, parallel, startup_timeout, call_timeout);
        (name, reach, served, shared, cached, &secrets.written)
    }
}

struct Reader<'a> {
    written: &'a Written<'a>,
    variables: Variables<'a>,
    diagnostics: Vec<Diagnostic>,
    secrets: Secrets,
    /// Why the server cannot be run; the first reason.
    fault: Option<String>,
}

/// Members that are understood, under every name by which editors have them.
const MEMBERS: [&str; 22] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "oauth",
    "type",
    "transport",
    "disabled",
    "enabled",
    "include",
    "exclude",
    "supports_parallel_tool_calls",
    "supportsParallelToolCalls",
    "startup_timeout",
    "startupTimeout",
    "call_timeout",
    "callTimeout",
    "shared",
    "name",
    "description",
];

/// Members that other programs understand and whose absence would show only later, with what to write instead.
const NOT_READ: [(&str, &str); 2] = [
    ("timeout", "say `call_timeout` or `startup_timeout`, in seconds"),
    ("envFile", "name its variables in `env`, as `${NAME}`"),
];

impl<'a> Reader<'a> {
    fn read(&mut self, asking: Asking<'_>) -> Outcome {
        self.unknown_members();
        let disabled = self.switch(&["disabled"], false);
        if disabled || !self.switch(&["enabled"], true) {
            // Nothing of it is filled: what a variable of it lacks is nobody's concern.
            self.diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Warning);
            return Outcome::Disabled;
        }
        let reach = self.reach(asking);
        let spec = Spec {
            name: self.written.name.to_owned(),
            include: self.patterns("include"),
            exclude: self.patterns("exclude"),
            parallel: self.switch(&["supports_parallel_tool_calls", "supportsParallelToolCalls"], false),
            startup_timeout: self.seconds(&["startup_timeout", "startupTimeout"], STARTUP),
            call_timeout: self.seconds(&["call_timeout", "callTimeout"], CALL),
            shared: self.switch(&["shared"], true),
            cached: asking.cached,
            secrets: std::mem::take(&mut self.secrets),
            reach: match (reach, self.fault.take()) {
                (Some(reach), None) => reach,
                (_, fault) => return Outcome::Faulty(fault.unwrap_or_default()),
            },
        };
        Outcome::Run(Box::new(spec))
    }

    fn reach(&mut self, asking: Asking<'_>) -> Option<Reach> {
        let kind = self.member(&["type", "transport"]).and_then(|entry| text_of(&entry.value)).unwrap_or_default();
        let (command, url) = (self.member(&["command"]), self.member(&["url"]));
        if kind.eq_ignore_ascii_case("sse") {
            let at = self.member(&["type", "transport"]).map(|entry| entry.value.place);
            let message =
                "its transport is SSE, which MCP gave up: name its Streamable HTTP endpoint with `type: http`";
            self.fault(at, "/type", "server-transport", message);
            return None;
        }
        match (command, url) {
            (Some(_), Some(url)) => {
                let message = "it has both `command` and `url`: leave one of them out";
                self.fault(Some(url.value.place), "/url", "server-reach", message);
                None
            }
            (Some(command), None) => self.stdio(command, asking),
            (None, Some(url)) => self.http(url),
            (None, None) => {
                let message = "it has neither `command` nor `url`: say what to start or where it listens";
                self.fault(None, "", "server-reach", message);
                None
            }
        }
    }

    fn stdio(&mut self, command: &Entry, asking: Asking<'_>) -> Option<Reach> {
        let command = self.filled(&command.value, "/command").filter(|text| !text.is_empty());
        let mut args = Vec::new();
        if let Some(entry) = self.member(&["args"]) {
            match &entry.value.value {
                Value::List(items) => {
                    for (index, item) in items.iter().enumerate() {
                        args.extend(self.filled(item, &format!("/args/{index}")));
                    }
                }
                Value::Null => {}
                _ => self.fault(Some(entry.value.place), "/args", "server-unreadable", "`args` takes a list of texts"),
            }
        }
        let env = self.map("env");
        let cwd = self.member(&["cwd"]).filter(|entry| entry.value.value != Value::Null);
        let cwd = match cwd {
            Some(entry) => self.filled(&entry.value, "/cwd").map(PathBuf::from),
            None => None,
        };
        // An absolute one replaces the folder.
        let cwd = match (asking.folder, cwd) {
            (Some(folder), Some(cwd)) => Some(folder.join(cwd)),
            (folder, cwd) => cwd.or_else(|| folder.map(Path::to_owned)),
        };
        let inherited = INHERITED.iter().flat_map(|name| [(*name).to_owned(), name.to_ascii_lowercase()]);
        let inherited = inherited.filter_map(|name| Some((name.clone(), asking.environment.get(&name)?.clone())));
        let inherited: BTreeMap<String, String> = inherited.collect();
        // Those of a proxy.
        inherited.values().for_each(|value| self.keys_of(value));
        if command.is_none() && self.fault.is_none() {
            let place = self.member(&["command"]).map(|entry| entry.value.place);
            self.fault(place, "/command", "server-unreadable", "`command` takes the name of a program");
        }
        Some(Reach::Stdio { command: command?, args, env, inherited, cwd })
    }

    fn http(&mut self, entry: &Entry) -> Option<Reach> {
        let place = Some(entry.value.place);
        let url = self.filled(&entry.value, "/url")?;
        if !(url.starts_with("https://") || url.starts_with("http://")) {
            self.fault(
                place,
                "/url",
                "server-unreadable",
                "`url` takes an address that begins with https:// or http://",
            );
        }
        self.keys_of(&url);
        let headers = self.map("headers");
        for (name, value) in &headers {
            let good = http::HeaderName::try_from(name.as_str()).is_ok() && http::HeaderValue::try_from(value).is_ok();
            if !good {
                let message =
                    format!("the header {} cannot be sent: it has characters that HTTP does not take", quoted(name));
                self.fault(place, "/headers", "server-unreadable", &message);
            }
        }
        let oauth = self.oauth();
        let has_own = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        Some(Reach::Http { url, headers, oauth: oauth.filter(|_| !has_own) })
    }

    /// `oauth`: off, or how it is signed in to. Without it that is found out by asking.
    fn oauth(&mut self) -> Option<Client> {
        let Some(entry) = self.member(&["oauth"]) else { return Some(Client::default()) };
        if !matches!(entry.value.value, Value::Map(_)) {
            return self.switch(&["oauth"], true).then(Client::default);
        }
        let mut client = Client::default();
        for member in entry.value.entries() {
            let pointer = child_pointer("/oauth", &member.key);
            if member.value.value == Value::Null {
                continue;
            }
            match &*member.key {
                "client_id" | "clientId" => client.id = self.filled(&member.value, &pointer),
                "client_secret" | "clientSecret" => {
                    client.secret = self.filled(&member.value, &pointer);
                    client.secret.iter().for_each(|secret| self.secret(secret));
                }
                "scope" | "scopes" => client.scopes = self.scopes(&member.value, &pointer),
                "callback_port" | "callbackPort" => {
                    let port = self.filled(&member.value, &pointer).and_then(|text| text.parse().ok());
                    client.port = port.filter(|port| *port > 0);
                    if client.port.is_none() {
                        let message = "`callback_port` takes a port of this machine, 1 to 65535";
                        self.fault(Some(member.value.place), &pointer, "server-unreadable", message);
                    }
                }
                _ => {
                    let known = "client_id, client_secret, scopes and callback_port are";
                    let message = format!("the member {} of `oauth` is not known; {known}", quoted(&member.key));
                    self.say(Severity::Warning, member.key_place, &pointer, "config-unknown-key", message);
                }
            }
        }
        if client.secret.is_some() && client.id.is_none() {
            let message = "`oauth` has a `client_secret` and no `client_id`";
            self.fault(Some(entry.value.place), "/oauth", "server-unreadable", message);
        }
        Some(client)
    }

    /// A list of scopes, or a text as OAuth has it, with blanks between.
    fn scopes(&mut self, node: &Node, pointer: &str) -> Vec<String> {
        let texts = match &node.value {
            Value::List(items) => items.iter().filter_map(|item| self.filled(item, pointer)).collect(),
            _ => Vec::from_iter(self.filled(node, pointer)),
        };
        texts.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
    }

    /// Texts by name. All of them may be secret.
    fn map(&mut self, member: &str) -> BTreeMap<String, String> {
        let Some(entry) = self.member(&[member]) else { return BTreeMap::new() };
        if !matches!(entry.value.value, Value::Map(_) | Value::Null) {
            let message = format!("`{member}` takes a map of texts");
            self.fault(Some(entry.value.place), &format!("/{member}"), "server-unreadable", &message);
        }
        let mut map = BTreeMap::new();
        for entry in entry.value.entries() {
            let pointer = child_pointer(&format!("/{member}"), &entry.key);
            if entry.value.value == Value::Null {
                continue;
            }
            if let Some(text) = self.filled(&entry.value, &pointer) {
                self.secret(&text);
                map.insert(entry.key.to_string(), text);
            }
        }
        map
    }

    /// A text with its variables filled.
    fn filled(&mut self, node: &Node, pointer: &str) -> Option<String> {
        let Some(text) = text_of(node) else {
            self.fault(
                Some(node.place),
                pointer,
                "server-unreadable",
                &format!("{} takes a text", quoted(&pointer[1..])),
            );
            return None;
        };
        match self.variables.fill(&text) {
            Ok(filled) => {
                filled.values.iter().for_each(|value| self.secret(value));
                Some(filled.text)
            }
            Err(name) => {
                let message = format!(
                    "the variable {} is not set: set it, or give it a default, `${{NAME:-default}}`",
                    quoted(&name)
                );
                self.fault(Some(node.place), pointer, "server-variable", &message);
                None
            }
        }
    }

    /// All of a value, each of its lines, and what follows a word such as `Bearer`: it may be repeated so.
    fn secret(&mut self, value: &str) {
        if self.variables.folder == Some(value) {
            return;
        }
        let lines = value.lines().map(str::trim);
        let words = lines.clone().filter_map(|line| Some(line.split_once(' ')?.1.trim_start()));
        lines.chain(words).chain([value]).for_each(|part| self.secrets.add(part));
    }

    /// The user information and the query of an address, whole and each part by itself.
    fn keys_of(&mut self, url: &str) {
        let address::Secret { user, rest } = address::secret(url);
        for text in user.into_iter().chain(rest) {
            self.secret(text);
            text.split([':', '&', '#'])
                .for_each(|part| self.secret(part.split_once('=').map_or(part, |(_, value)| value)));
        }
    }

    fn patterns(&mut self, member: &str) -> Vec<String> {
        let Some(entry) = self.member(&[member]) else { return Vec::new() };
        let items = match &entry.value.value {
            Value::List(items) => items,
            Value::String(_) => std::slice::from_ref(&entry.value),
            Value::Null => return Vec::new(),
            _ => {
                let message = format!("`{member}` takes a list of names and globs");
                self.fault(Some(entry.value.place), &format!("/{member}"), "server-unreadable", &message);
                return Vec::new();
            }
        };
        let texts: Vec<Option<String>> = items.iter().map(text_of).collect();
        let invalid = Patterns::new(texts.iter().flatten()).invalid;
        // To serve more than was meant would be worse than to serve nothing.
        if texts.contains(&None) || !invalid.is_empty() {
            let message = format!("`{member}` has an item that is neither a name nor a glob");
            self.fault(Some(entry.value.place), &format!("/{member}"), "server-unreadable", &message);
        }
        texts.into_iter().flatten().collect()
    }

    fn switch(&mut self, names: &[&str], otherwise: bool) -> bool {
        let Some(entry) = self.member(names).filter(|entry| entry.value.value != Value::Null) else { return otherwise };
        setting::switch(&entry.value).unwrap_or_else(|| {
            let message = format!("`{}` takes true or false; {otherwise} is used", entry.key);
            self.say(Severity::Error, entry.value.place, &format!("/{}", entry.key), "server-unreadable", message);
            otherwise
        })
    }

    fn seconds(&mut self, names: &[&str], otherwise: Duration) -> Duration {
        let Some(entry) = self.member(names).filter(|entry| entry.value.value != Value::Null) else { return otherwise };
        let number = setting::number(&entry.value).filter(|number| *number > 0.0);
        let seconds = number.map(|number| number.clamp(SECONDS.0, SECONDS.1));
        if seconds != number || number.is_none() {
            let used = seconds.unwrap_or(otherwise.as_secs_f64());
            let message = format!("`{}` takes seconds, 0.1 to 86400; {used} is used", entry.key);
            self.say(Severity::Warning, entry.value.place, &format!("/{}", entry.key), "server-unreadable", message);
        }
        seconds.map_or(otherwise, Duration::from_secs_f64)
    }

    /// Files of editors have members that are theirs alone, so only what looks like one of ours misspelled is told.
    fn unknown_members(&mut self) {
        let node = self.written.node;
        for entry in node.entries() {
            let key: String = entry.key.chars().take(64).collect();
            if let Some((_, instead)) = NOT_READ.iter().find(|(name, _)| *name == key) {
                let message = format!("the member {} is not read: {instead}", quoted(&entry.key));
                let pointer = child_pointer("", &entry.key);
                self.say(Severity::Warning, entry.key_place, &pointer, "config-unknown-key", message);
                continue;
            }
            let near = MEMBERS.iter().find(|known| strsim::levenshtein(&key, known) <= 2);
            if let Some(near) = near.filter(|_| !MEMBERS.contains(&key.as_str())) {
                let message = format!("the member {} is not known; the nearest is `{near}`", quoted(&entry.key));
                let pointer = child_pointer("", &entry.key);
                self.say(Severity::Warning, entry.key_place, &pointer, "config-unknown-key", message);
            }
        }
    }

    fn member(&self, names: &[&str]) -> Option<&'a Entry> {
        let node = self.written.node;
        node.entries().iter().find(|entry| names.contains(&&*entry.key))
    }

    /// The server cannot be run.
    fn fault(&mut self, place: Option<Place>, pointer: &str, code: &'static str, message: &str) {
        self.fault.get_or_insert_with(|| message.to_owned());
        let place = place.unwrap_or(self.written.node.place);
        self.say(Severity::Error, place, pointer, code, message.to_owned());
    }

    fn say(&mut self, severity: Severity, place: Place, pointer: &str, code: &'static str, message: String) {
        self.diagnostics.push(Diagnostic {
            file: self.written.file.to_owned(),
            line: place.line,
            column: place.column,
            severity,
            code,
            message: format!("the server {}: {message}", quoted(self.written.name)),
            pointer: format!("{}{pointer}", self.written.pointer),
        });
    }
}

/// A single value as text.
fn text_of(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) | Value::Number(text) => Some(text.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::servers::secrets::LEARNED;

    fn read(entry: serde_json::Value) -> (Outcome, Vec<String>) {
        let environment: BTreeMap<String, String> = [("TOKEN", "s3cret-token"), ("PATH", "/bin"), ("OTHER", "x")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .into();
        let node = Node::from_json(&entry);
        let written = Written { name: "s", node: &node, file: "f", pointer: "/mcpServers/s" };
        let asking = Asking { environment: &environment, folder: Some(Path::new("/w")), cached: true };
        let (outcome, diagnostics) = super::read(&written, asking);
        (outcome, diagnostics.iter().map(|it| format!("{} {}", it.pointer, it.code)).collect())
    }

    fn run(entry: serde_json::Value) -> Spec {
        match read(entry.clone()) {
            (Outcome::Run(spec), told) if told.is_empty() => *spec,
            other => panic!("{entry}: {other:?}"),
        }
    }

    #[test]
    fn entries_are_read_as_editors_write_them() {
        let spec = run(json!({
            "type": "stdio", "command": "npx", "args": ["-y", "x", 7, true], "env": {"KEY": "${TOKEN}", "N": 1}, "cwd": "sub",
            "autoApprove": [], "startup_timeout": 5, "callTimeout": "1.5", "supportsParallelToolCalls": true
        }));
        let Reach::Stdio { command, args, env, inherited, cwd } = &spec.reach else { panic!() };
        assert_eq!((command.as_str(), args.join(" ")), ("npx", "-y x 7 true".to_owned()));
        assert_eq!((env["KEY"].as_str(), env["N"].as_str()), ("s3cret-token", "1"));
        assert_eq!(inherited.keys().collect::<Vec<_>>(), ["PATH"], "what else there is may be secret");
        assert_eq!(cwd.as_deref(), Some(Path::new("/w/sub")));
        assert_eq!((spec.startup_timeout, spec.call_timeout), (Duration::from_secs(5), Duration::from_millis(1500)));
        assert!(spec.parallel && spec.shared);
        assert_eq!(spec.shown("failed with s3cret-token\u{1b}"), "failed with *** ");
        assert_eq!(format!("{spec:?}"), "Spec { name: \"s\", .. }");
        let spec = run(json!({"url": "https://x/mcp?key=abcdef", "headers": {"Authorization": "Bearer ${TOKEN}"}}));
        let Reach::Http { headers, .. } = &spec.reach else { panic!() };
        assert_eq!(headers["Authorization"], "Bearer s3cret-token");
        assert_eq!(spec.shown("https://x/mcp?key=abcdef Bearer s3cret-token"), "https://x/mcp?*** ***");
    }

    #[test]
    fn what_is_wrong_is_told_where_it_is() {
        for (label, entry, fault, told) in [
            ("nothing", json!({}), "neither", vec!["/mcpServers/s server-reach"]),
            ("both", json!({"command": "a", "url": "http://b"}), "both", vec!["/mcpServers/s/url server-reach"]),
            (
                "a variable",
                json!({"command": "a", "args": ["${NO}"]}),
                "`NO`",
                vec!["/mcpServers/s/args/0 server-variable"],
            ),
            ("a list", json!({"command": ["a"]}), "text", vec!["/mcpServers/s/command server-unreadable"]),
            ("no args", json!({"command": "a", "args": "b"}), "list", vec!["/mcpServers/s/args server-unreadable"]),
            ("no url", json!({"url": "ftp://b"}), "https", vec!["/mcpServers/s/url server-unreadable"]),
            ("sse", json!({"type": "sse", "url": "http://b"}), "SSE", vec!["/mcpServers/s/type server-transport"]),
            (
                "a header",
                json!({"url": "http://b", "headers": {"a b": "c"}}),
                "header",
                vec!["/mcpServers/s/headers server-unreadable"],
            ),
            (
                "a glob",
                json!({"command": "a", "exclude": ["x[y"]}),
                "glob",
                vec!["/mcpServers/s/exclude server-unreadable"],
            ),
        ] {
            let (outcome, diagnostics) = read(entry);
            assert!(matches!(&outcome, Outcome::Faulty(why) if why.contains(fault)), "{label}: {outcome:?}");
            assert_eq!(diagnostics, told, "{label}");
        }
        let (outcome, told) = read(json!({"comand": "a", "command": "a", "call_timeout": -1, "shared": "maybe"}));
        assert!(matches!(outcome, Outcome::Run(spec) if spec.call_timeout == CALL && spec.shared));
        let at = |member: &str, code: &str| format!("/mcpServers/s/{member} {code}");
        let all = [
            at("comand", "config-unknown-key"),
            at("call_timeout", "server-unreadable"),
            at("shared", "server-unreadable"),
        ];
        assert_eq!(told, all);
        let (outcome, diagnostics) = read(json!({"disabled": true, "command": "${NO}"}));
        assert!(matches!(outcome, Outcome::Disabled) && diagnostics.is_empty(), "{diagnostics:?}");
    }

    #[test]
    fn what_is_secret_is_masked_in_whatever_form_it_comes_back() {
        let key = "-----BEGIN KEY-----\nabcdefgh\n  ijklmnop  \nxyz\n";
        let spec = run(json!({"command": "a", "env": {"KEY": key, "AUTH": "Bearer t0ken-of-mine", "PIN": "12345"}}));
        let web = run(json!({"url": "https://user:pa55word@x/mcp?key=queryvalue&a=1"}));
        for (label, spec, text, shown) in [
            ("a line of it", &spec, "it is\tabcdefgh.", "it is\t***."),
            ("a trimmed line", &spec, "ijklmnop", "***"),
            ("all of it", &spec, key, "***"),
            ("without its scheme", &spec, "token t0ken-of-mine!", "token ***!"),
            ("with it", &spec, "Authorization: Bearer t0ken-of-mine", "Authorization: ***"),
            ("cut in its midst", &spec, "token t0ken-of", "token ***"),
            ("too short", &spec, "pin 12345", "pin 12345"),
            ("of an address", &web, "pa55word, queryvalue, user:pa55word", "***, ***, ***"),
        ] {
            assert_eq!(spec.masked(text), shown, "{label}");
        }
        let long = format!("{}t0ken-of-mine", "x".repeat(295));
        assert!(!spec.shown(&long).contains("t0k"), "masked before it is cut");
    }

    #[test]
    fn credentials_of_a_proxy_are_secret() {
        let proxy = ("HTTPS_PROXY".to_owned(), "http://me:proxy-pass@proxy:8".to_owned());
        let (environment, node) = (BTreeMap::from([proxy]), Node::from_json(&json!({"command": "a"})));
        let written = Written { name: "s", node: &node, file: "f", pointer: "" };
        let asking = Asking { environment: &environment, folder: None, cached: true };
        let (Outcome::Run(spec), _) = super::read(&written, asking) else { panic!() };
        assert_eq!(spec.masked("http://me:proxy-pass@proxy:8 proxy-pass"), "http://***@proxy:8 ***");
    }

    #[test]
    fn members_of_other_programs_that_matter_are_told() {
        let (outcome, told) = read(json!({"command": "a", "timeout": 60, "envFile": ".env"}));
        assert!(matches!(outcome, Outcome::Run(_)));
        assert_eq!(told, ["/mcpServers/s/timeout config-unknown-key", "/mcpServers/s/envFile config-unknown-key"]);
    }

    #[test]
    fn how_it_is_signed_in_to_is_read_as_other_hosts_write_it() {
        let oauth = |entry: serde_json::Value| match run(entry).reach {
            Reach::Http { oauth, .. } => oauth,
            Reach::Stdio { .. } => panic!("it has a URL"),
        };
        let url = "https://x/mcp";
        for (label, entry, expected) in [
            ("nothing said", json!({ "url": url }), Some(Client::default())),
            ("on", json!({ "url": url, "oauth": true }), Some(Client::default())),
            ("off", json!({ "url": url, "oauth": false }), None),
            (
                "a header wins",
                json!({ "url": url, "headers": {"AUTHORIZATION": "Bearer abcdef"}, "oauth": {"client_id": "a"} }),
                None,
            ),
            ("another header does not", json!({ "url": url, "headers": {"X-Key": "abcdef"} }), Some(Client::default())),
        ] {
            assert!(oauth(entry) == expected, "{label}");
        }
        let by_hand = Client {
            id: Some("a".to_owned()),
            secret: Some("s3cret-token".to_owned()),
            scopes: vec!["x".to_owned(), "y".to_owned()],
            port: Some(8080),
        };
        let snake = json!({"client_id": "a", "client_secret": "${TOKEN}", "scopes": ["x", "y"], "callback_port": 8080});
        let camel = json!({"clientId": "a", "clientSecret": "${TOKEN}", "scope": "x y", "callbackPort": "8080"});
        for map in [snake, camel] {
            assert!(oauth(json!({ "url": url, "oauth": map })).as_ref() == Some(&by_hand), "{map}");
        }
        for (map, told) in [
            (json!({"client_secret": "abcdef"}), "/mcpServers/s/oauth server-unreadable"),
            (json!({"callback_port": 0}), "/mcpServers/s/oauth/callback_port server-unreadable"),
            (json!({"client_id": "${NO}"}), "/mcpServers/s/oauth/client_id server-variable"),
        ] {
            let (outcome, diagnostics) = read(json!({ "url": url, "oauth": map }));
            assert!(matches!(outcome, Outcome::Faulty(_)) && diagnostics == [told], "{map}: {diagnostics:?}");
        }
        let (_, told) = read(json!({ "url": url, "oauth": {"clientid": "a"} }));
        assert_eq!(told, ["/mcpServers/s/oauth/clientid config-unknown-key"]);
        let spec = run(json!({ "url": url, "oauth": {"client_id": "a", "client_secret": "abcdefgh"} }));
        let other = run(json!({ "url": url, "oauth": {"client_id": "a", "client_secret": "abcdefgh"} }));
        spec.secrets.learned.add("l3arned-token");
        assert!(spec.is_same(&other) && !spec.is_same(&run(json!({ "url": url }))), "what is learned does not count");
        assert_eq!(spec.masked("abcdefgh l3arned-token"), "*** ***");
        (0..2 * LEARNED).for_each(|n| spec.secrets.learned.add(&format!("t0ken-{n:04}")));
        let last = format!("t0ken-{:04}", 2 * LEARNED - 1);
        assert_eq!((spec.masked(&last).as_str(), spec.secrets.learned.all().len()), ("***", LEARNED));
    }

    #[test]
    fn only_what_reaches_it_names_a_list_of_tools() {
        let id = |entry| run(entry).content_id();
        let plain = id(json!({"command": "a", "args": ["b", "c"]}));
        assert_eq!(plain, id(json!({"command": "a", "args": ["b", "c"], "call_timeout": 3})));
        assert_ne!(plain, id(json!({"command": "a", "args": ["bc"]})));
        assert_ne!(plain, id(json!({"command": "a", "args": ["b", "c"], "env": {"A": "1"}})));
    }

    #[test]
    fn include_and_exclude_name_tools() {
        let serves = run(json!({"command": "a", "include": ["get_*", "x"], "exclude": "get_b"})).serves();
        let names = ["get_a", "get_b", "x", "y"];
        assert_eq!(names.map(serves), [true, false, true, false]);
        assert!(run(json!({"command": "a"})).serves()("anything"));
    }
}
