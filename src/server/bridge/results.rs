//! The answer to a call of remote tools, made fit for a model.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::connectors::gateway::Refusal;
use crate::servers::large::{self, LARGE};
use crate::servers::whole::{self, Whole};

/// One entry's place in the answer.
#[derive(Serialize)]
pub(super) struct Slot {
    pub index: usize,
    pub name: String,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Said where the response is only its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// What became of an entry.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// The data of its result.
    Response(Box<RawValue>),
    /// It has none.
    Error(EntryError),
}

/// What went wrong with one entry.
#[derive(Serialize)]
pub(super) struct EntryError {
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Box<RawValue>>,
}

impl EntryError {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Refusal::new(code, message).into()
    }
}

impl From<Refusal> for EntryError {
    fn from(refusal: Refusal) -> Self {
        let Refusal { code, message, connector, connect_url, hint } = refusal;
        Self { code, message, connector, connect_url, hint, missing: Vec::new(), parameters: None }
    }
}

/// The answer to a call: its entries in their order, and how many of them went well.
#[derive(Serialize)]
pub(super) struct Results {
    results: Vec<Slot>,
    success_count: usize,
    error_count: usize,
    total_count: usize,
}

impl Results {
    /// Counted.
    pub fn new(results: Vec<Slot>) -> Self {
        let error_count = results.iter().filter(|slot| matches!(slot.outcome, Outcome::Error(_))).count();
        let total_count = results.len();
        Self { results, success_count: total_count - error_count, error_count, total_count }
    }

    /// Whether no entry went well.
    pub fn is_error(&self) -> bool {
        self.success_count == 0
    }

    /// The same within about `limit` bytes of responses, and the file that holds all of them if they had more.
    pub async fn within(mut self, limit: usize, folder: Option<PathBuf>) -> Option<(Self, Option<PathBuf>)> {
        // Few are large, and those that are not wait for none that is.
        if self.bytes() <= limit.min(LARGE) {
            return Some((self, None));
        }
        large::in_turn(move || {
            let path = self.cut(limit, folder.as_deref());
            (self, path)
        })
        .await
    }

    fn bytes(&self) -> usize {
        self.results.iter().map(Slot::bytes).sum()
    }

    /// Cuts responses that have more bytes than these together, as a server's result is cut: what is left is the beginning of
    /// their JSON, of a text that of the text. A large one costs no small one its place. The file that holds all of them.
    ///
    /// Blocks on the file system.
    fn cut(&mut self, limit: usize, folder: Option<&Path>) -> Option<PathBuf> {
        let all = self.bytes();
        if all <= limit {
            return None;
        }
        let text = serde_json::to_string(self).unwrap_or_default();
        let whole = Whole::keep(folder, &text, "json", all);
        let mut by_size: Vec<&mut Slot> = self.results.iter_mut().collect();
        by_size.sort_by_key(|slot| slot.bytes());
        let (mut left, mut more) = (limit, by_size.len());
        for slot in by_size {
            let (bytes, room) = (slot.bytes(), left / more);
            more -= 1;
            left -= bytes.min(room);
            if let Outcome::Response(data) = &mut slot.outcome
                && bytes > room
            {
                let text = serde_json::from_str::<String>(data.get()).unwrap_or_else(|_| data.get().to_owned());
                *data = to_raw_value(whole::beginning(&text, room)).unwrap_or_default();
                slot.cut = Some(whole.note.clone());
            }
        }
        whole.path
    }
}

impl Slot {
    fn bytes(&self) -> usize {
        match &self.outcome {
            Outcome::Response(data) => data.get().len(),
            Outcome::Error(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn results(data: &[Value]) -> Results {
        let slot = |(index, data)| Slot {
            index,
            name: "n".to_owned(),
            outcome: Outcome::Response(to_raw_value(data).unwrap()),
            cut: None,
        };
        Results::new(data.iter().enumerate().map(slot).collect())
    }

    #[test]
    fn a_large_response_is_cut_and_costs_no_small_one_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let data = [json!({ "all": "é".repeat(500) }), json!({ "id": 1 }), json!("é".repeat(500))];
        let mut cut = results(&data);
        let path = cut.cut(101, Some(folder.path())).unwrap();
        let kept: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(kept["results"][2]["response"], data[2], "all of it is kept");
        let shown = serde_json::to_value(&cut).unwrap();
        let response = |at: usize| &shown["results"][at]["response"];
        assert_eq!((response(1), shown["results"][1].get("cut")), (&data[1], None));
        assert_eq!(*response(0), json!(format!("{{\"all\":\"{}", "é".repeat(19))));
        assert_eq!(*response(2), json!("é".repeat(23)), "the beginning of a text is one");
        assert!(shown["results"][0]["cut"].as_str().unwrap().contains(path.to_str().unwrap()));
        let mut whole = results(&data);
        assert_eq!(whole.cut(10_000, Some(folder.path())), None);
        assert_eq!(serde_json::to_value(&whole).unwrap()["results"][0]["response"], data[0]);
    }
}
