//! `POST /execute`: one tool run once, in the form that the gateway takes.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::failure::{Refusal, Said, of_execute};
use super::http::{Broken, Reply, Request};
use super::passable::is_passable;
use super::{Account, Failure};
use crate::connectors::name::Remote;

/// The longest that a gateway may ask for before a second try.
const PATIENCE: Duration = Duration::from_secs(10);

/// The code of what no gateway knows.
pub const NOT_FOUND: &str = "TOOL_NOT_FOUND";

#[derive(Deserialize)]
struct Answer {
    result: Outcome,
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    data: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct OlderAnswer {
    results: Vec<OlderOutcome>,
}

#[derive(Deserialize)]
struct OlderOutcome {
    #[serde(default)]
    data: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<Box<RawValue>>,
}

impl Account {
    /// Runs a tool, by its prefixed slug, and by its literal one if the gateway does not know that (CONN-3). The data of
    /// the result.
    ///
    /// # Errors
    /// See [`Failure`]; what could not be sent or answered is a refusal with the code `GATEWAY_ERROR`.
    pub async fn execute(&self, tool: &Remote, arguments: &Map<String, Value>) -> Result<Box<RawValue>, Failure> {
        if let Some(resting) = self.resting() {
            return Err(resting);
        }
        match self.execute_slug(&tool.connector, &tool.prefixed(), arguments).await {
            Err(Failure::Refused(refusal)) if refusal.code == NOT_FOUND => {
                self.execute_slug(&tool.connector, tool.literal(), arguments).await
            }
            other => other,
        }
    }

    async fn execute_slug(
        &self,
        connector: &str,
        slug: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Box<RawValue>, Failure> {
        let deadline = Instant::now() + self.bounds.execute;
        let call = json!({ "connector": connector, "tool": slug, "arguments": arguments });
        let newer = json!({ "call": call });
        let older = json!({ "tools": [call] });
        if self.takes_older_form() {
            let reply = self.try_twice(&older, deadline).await?;
            if !is_of_another_form(&reply) {
                return self.read_older(&reply);
            }
            self.set_takes_older_form(false);
            return self.read_newer(&self.try_twice(&newer, deadline).await?);
        }
        let reply = self.try_twice(&newer, deadline).await?;
        if !is_of_another_form(&reply) {
            return self.read_newer(&reply);
        }
        let older = self.try_twice(&older, deadline).await?;
        if is_of_another_form(&older) {
            // Neither form was the matter.
            return self.read_newer(&reply);
        }
        self.set_takes_older_form(true);
        self.read_older(&older)
    }

    /// Sends a request under a key of its own, and under the same once more where it was not got through.
    async fn try_twice(&self, body: &Value, deadline: Instant) -> Result<Reply, Failure> {
        let key = idempotency_key().ok_or_else(|| gateway_error("the system gives no random numbers"))?;
        let request = Request { key: Some(key), ..self.post("execute", body.to_string()) };
        let first = self.send(request.clone(), deadline).await;
        match &first {
            Ok(reply) if matches!(reply.status, 502..=504) => {}
            Ok(reply) if reply.status == 429 => match reply.retry_after {
                Some(pause) if pause <= PATIENCE => tokio::time::sleep(pause).await,
                _ => return first.map_err(sent),
            },
            Err(Broken::Transport(_)) => {}
            Ok(_) | Err(Broken::Late | Broken::TooLarge) => return first.map_err(sent),
        }
        self.send(request, deadline).await.map_err(sent)
    }

    fn read_newer(&self, reply: &Reply) -> Result<Box<RawValue>, Failure> {
        if reply.status != 200 {
            return Err(self.note(of_execute(reply)));
        }
        match serde_json::from_str::<Answer>(&reply.body) {
            Ok(answer) => passable(answer.result.data),
            Err(_) => Err(unclear()),
        }
    }

    fn read_older(&self, reply: &Reply) -> Result<Box<RawValue>, Failure> {
        if reply.status != 200 {
            return Err(self.note(of_execute(reply)));
        }
        let answer = serde_json::from_str::<OlderAnswer>(&reply.body).ok();
        let outcome = answer.and_then(|answer| answer.results.into_iter().next()).ok_or_else(unclear)?;
        match outcome.error.map(|error| Said::read(error.get())) {
            None => passable(outcome.data),
            Some(mut said) => {
                let code = said.code.take().unwrap_or_else(|| "GATEWAY_ERROR".to_owned());
                Err(Failure::Refused(said.refusal(code)))
            }
        }
    }
}

/// Whether an answer says that the request was not understood, rather than what is wrong with the call.
fn is_of_another_form(reply: &Reply) -> bool {
    reply.status == 400 && !Said::read(&reply.body).is_flat
}

/// What is not answered may have been done.
fn sent(broken: Broken) -> Failure {
    gateway_error(&format!("the gateway did not answer ({}); the call may have taken effect", broken.told()))
}

/// The data of a result; none is null.
fn passable(data: Option<Box<RawValue>>) -> Result<Box<RawValue>, Failure> {
    Some(data.unwrap_or_default()).filter(|data| is_passable(data.get())).ok_or_else(unclear)
}

fn unclear() -> Failure {
    gateway_error("the gateway's answer cannot be read; the call may have taken effect")
}

fn gateway_error(message: &str) -> Failure {
    Failure::Refused(Refusal::new("GATEWAY_ERROR", message))
}

/// A random UUID (version 4).
fn idempotency_key() -> Option<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut key = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            key.push('-');
        }
        key.push_str(&format!("{byte:02x}"));
    }
    Some(key)
}
