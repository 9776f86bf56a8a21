//! `POST /search` and `POST /schemas`: which tools there are, and how they are called.

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
        let mut found = Found::default();
        let mut places: HashMap<String, Option<usize>> = HashMap::new();
        for (at, query) in queries.iter().enumerate() {
            let result = answer.results.get(at).and_then(|result| serde_json::from_str::<Answered>(result.get()).ok());
            let result = result.filter(|result| result.use_case == *query);
            let slugs = result.map(|result| result.tools).unwrap_or_default();
            let mut group = Vec::new();
            for slug in slugs.iter().filter_map(|slug| slug.as_str()).take(MAX_HITS) {
                let place = *places.entry(slug.to_owned()).or_insert_with(|| {
                    let schema = Schema::read(slug, answer.schemas.get(slug)?)?;
                    found.tools.push(schema);
                    Some(found.tools.len() - 1)
                });
                group.extend(place.filter(|place| !group.contains(place)));
            }
            found.groups.push(group);
        }
        found.drop_twins();
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
    /// CONN-3: of two tools with one name the one with the prefixed slug stays, since that is the one that runs.
    fn drop_twins(&mut self) {
        let mut kept: HashMap<String, usize> = HashMap::new();
        let mut gone = vec![false; self.tools.len()];
        for (at, tool) in self.tools.iter().enumerate() {
            let name = tool.remote.to_string();
            let Some(&other) = kept.get(&name) else {
                kept.insert(name, at);
                continue;
            };
            let (stays, goes) = if tool.slug == tool.remote.prefixed() { (at, other) } else { (other, at) };
            gone[goes] = true;
            kept.insert(name, stays);
            let (stays, goes) = (&self.tools[stays].slug, &self.tools[goes].slug);
            tracing::warn!(%stays, %goes, "two remote tools have one name: one of them cannot be called");
        }
        if !gone.contains(&true) {
            return;
        }
        let mut next = 0;
        let places: Vec<Option<usize>> = gone
            .iter()
            .map(|gone| {
                (!gone).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        let mut at = 0;
        self.tools.retain(|_| {
            at += 1;
            !gone[at - 1]
        });
        for group in &mut self.groups {
            *group = group.iter().filter_map(|place| places[*place]).collect();
        }
    }
}
