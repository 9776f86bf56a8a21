//! `POST /search` and `POST /schemas`: which tools there are, and how they are called.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::failure::{of_reply, unreadable};
use super::http::Reply;
use super::passable::is_passable;
use super::{Account, Failure};
use crate::call::excerpt;
use crate::connectors::name::Remote;

/// Hits of one query that are taken.
const MAX_HITS: usize = 100;
/// Characters of a description, and bytes of a schema, that a model is shown whole; a longer schema is as none.
const MAX_DESCRIPTION: usize = 16 << 10;
const MAX_SCHEMA: usize = 256 << 10;

/// What the gateway says of one tool.
#[derive(Debug, Clone)]
pub struct Schema {
    /// Its name for the model, and what it is known by.
    pub remote: Remote,
    /// The gateway's name for it.
    pub slug: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, `{}` where there is none.
    pub parameters: Box<RawValue>,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// For each query the positions of its hits in `tools`.
    pub groups: Vec<Vec<usize>>,
    /// All hits, each once, in the order found.
    pub tools: Vec<Schema>,
}

#[derive(Deserialize)]
struct SearchAnswer {
    results: Vec<Box<RawValue>>,
    #[serde(default)]
    schemas: HashMap<String, Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
    use_case: String,
    #[serde(default)]
    tools: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct SchemasAnswer {
    schemas: HashMap<String, Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    connector: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Option<Box<RawValue>>,
}

impl Schema {
    /// `None` where it cannot be read, or no name leads back to it.
    fn read(slug: &str, json: &RawValue) -> Option<Self> {
        let Described { connector, description, input_schema } = serde_json::from_str(json.get()).ok()?;
        let remote = Remote::of_slug(&connector, slug)?;
        let is_good = |schema: &str| schema.starts_with('{') && schema.len() <= MAX_SCHEMA && is_passable(schema);
        let parameters = input_schema.filter(|schema| is_good(schema.get()));
        let parameters = parameters.or_else(|| RawValue::from_string("{}".to_owned()).ok())?;
        let description = excerpt::clip(&description.unwrap_or_default(), MAX_DESCRIPTION);
        Some(Self { remote, slug: slug.to_owned(), description, parameters })
    }
}

impl Account {
    /// Searches for each of at most seven queries. Not tried again.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn search(&self, queries: &[String]) -> Result<Found, Failure> {
        if let Some(resting) = self.resting() {
            return Err(resting);
        }
        let asked: Vec<_> = queries.iter().map(|query| json!({ "useCase": query })).collect();
        let request = self.post("search", json!({ "queries": asked }).to_string());
        let reply = self.send(request, Instant::now() + self.bounds.search).await?;
        let answer: SearchAnswer = self.read(&reply)?;
        let found = Found::read(queries, &answer);
        for tool in &found.tools {
            self.remember(tool.remote.to_string(), tool.parameters.get());
        }
        Ok(found)
    }

    /// What there is of some slugs, by slug. Tried once more where it fails.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn schemas(&self, slugs: &[String]) -> Result<HashMap<String, Schema>, Failure> {
        if let Some(resting) = self.resting() {
            return Err(resting);
        }
        let deadline = Instant::now() + self.bounds.schemas;
        let request = self.post("schemas", json!({ "tools": slugs }).to_string());
        let mut reply = self.send(request.clone(), deadline).await;
        if reply.as_ref().map_or(true, |reply| reply.status >= 500) {
            reply = self.send(request, deadline).await;
        }
        let answer: SchemasAnswer = self.read(&reply?)?;
        let asked: HashSet<&String> = slugs.iter().collect();
        let schemas = answer.schemas.into_iter().filter(|(slug, _)| asked.contains(slug));
        Ok(schemas.filter_map(|(slug, json)| Some((slug.clone(), Schema::read(&slug, &json)?))).collect())
    }

    /// Notes the schema that a name was described with.
    pub fn describe_as(&self, name: &Remote, schema: &Schema) {
        self.remember(name.to_string(), schema.parameters.get());
    }

    fn read<T: for<'a> Deserialize<'a>>(&self, reply: &Reply) -> Result<T, Failure> {
        if reply.status != 200 {
            return Err(self.note(of_reply(reply)));
        }
        serde_json::from_str(&reply.body).map_err(|_| unreadable())
    }
}

impl Found {
    fn read(queries: &[String], answer: &SearchAnswer) -> Self {
        let hits = |(at, query): (usize, &String)| -> Vec<String> {
            let result = answer.results.get(at).and_then(|result| serde_json::from_str::<Answered>(result.get()).ok());
            let tools = result.filter(|result| result.use_case == *query).map(|result| result.tools);
            let slugs = tools.unwrap_or_default().into_iter();
            slugs.filter_map(|slug| slug.as_str().map(str::to_owned)).take(MAX_HITS).collect()
        };
        let hits: Vec<Vec<String>> = queries.iter().enumerate().map(hits).collect();
        let mut seen = HashSet::new();
        let slugs = hits.iter().flatten().filter(|slug| seen.insert(*slug));
        let tools = slugs.filter_map(|slug| Schema::read(slug, answer.schemas.get(slug)?)).collect();
        let tools = without_twins(tools);
        let places: HashMap<&str, usize> = tools.iter().enumerate().map(|(at, tool)| (&*tool.slug, at)).collect();
        let group = |slugs: &Vec<String>| {
            let mut met = HashSet::new();
            slugs.iter().filter_map(|slug| places.get(&**slug).copied()).filter(|place| met.insert(*place)).collect()
        };
        Self { groups: hits.iter().map(group).collect(), tools }
    }
}

/// CONN-3: of two tools with one name the one with the prefixed slug stays, since that is the one that runs.
fn without_twins(mut tools: Vec<Schema>) -> Vec<Schema> {
    let mut chosen: HashMap<String, String> = HashMap::new();
    for tool in &tools {
        match chosen.entry(tool.remote.to_string()) {
            Entry::Vacant(free) => {
                free.insert(tool.slug.clone());
            }
            Entry::Occupied(mut taken) => {
                let is_prefixed = tool.slug == tool.remote.prefixed();
                let goes = if is_prefixed { taken.insert(tool.slug.clone()) } else { tool.slug.clone() };
                let stays = taken.get();
                tracing::warn!(%stays, %goes, "two remote tools have one name: one of them cannot be called");
            }
        }
    }
    tools.retain(|tool| chosen.get(&tool.remote.to_string()) == Some(&tool.slug));
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conn_3_of_twins_the_prefixed_slug_stays_wherever_it_is_found() {
        let tool = json!({ "connector": "mail" });
        let answer = json!({
            "results": [
                { "useCase": "a", "tools": ["SEND", "MAIL_SEND", "MAIL_LIST", "MAIL_LIST", "GONE"] },
                { "useCase": "b", "tools": ["MAIL_LIST", "SEND"] },
                { "useCase": "another", "tools": ["MAIL_LIST"] },
            ],
            "schemas": { "SEND": tool, "MAIL_SEND": tool, "MAIL_LIST": tool },
        });
        let answer: SearchAnswer = serde_json::from_value(answer).unwrap();
        let found = Found::read(&["a", "b", "c"].map(str::to_owned), &answer);
        let slugs: Vec<&str> = found.tools.iter().map(|tool| &*tool.slug).collect();
        assert_eq!(slugs, ["MAIL_SEND", "MAIL_LIST"]);
        assert_eq!(found.groups, [vec![0, 1], vec![1], vec![]]);
    }
}
