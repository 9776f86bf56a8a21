//! What a server answered to a call, made fit for a model: as it came, or cut where it is too long.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::large::{self, LARGE};
use super::whole::{self, Whole};

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its `content`.
    pub content: Vec<Value>,
    /// Its `structuredContent`, if it has one.
    pub structured: Option<Value>,
    /// Its `_meta`, if it has one.
    pub meta: Option<Value>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Where all of it is, if it was cut.
    pub whole: Option<PathBuf>,
}

impl Answer {
    /// The same in at most about `limit` bytes. What had to be left out is said in a last text, and all of it stands in a
    /// file below `folder`: as text if it is nothing else, as JSON otherwise.
    ///
    /// Nothing comes of it only where the work on it panics.
    pub async fn within(self, limit: usize, folder: Option<PathBuf>) -> Option<Self> {
        // Few are long, and those that are not wait for none that is.
        if !large::exceeds(&(&self.content, &self.structured, &self.meta), limit.min(LARGE)) {
            return Some(self);
        }
        large::in_turn(move || self.cut(limit, folder.as_deref())).await
    }

    /// Blocks on the file system.
    fn cut(self, limit: usize, folder: Option<&Path>) -> Self {
        let all: usize = self.content.iter().chain(&self.structured).chain(&self.meta).map(size).sum();
        if all <= limit {
            return self;
        }
        let (text, extension) = self.whole_text();
        let whole = Whole::keep(folder, &text, extension, all);
        let mut left = limit;
        let mut content = Vec::new();
        for block in self.content {
            let bytes = size(&block);
            if bytes > left {
                content.extend(beginning(&block, left));
                left = 0;
                break;
            }
            left -= bytes;
            content.push(block);
        }
        let mut fitting = |part: Option<Value>| {
            let part = part.filter(|part| size(part) <= left)?;
            left -= size(&part);
            Some(part)
        };
        let (structured, meta) = (fitting(self.structured), fitting(self.meta));
        content.push(json!({ "type": "text", "text": whole.note }));
        Self { content, structured, meta, is_error: self.is_error, whole: whole.path }
    }

    /// All of it, and what its file is: a text if it is nothing else.
    fn whole_text(&self) -> (String, &'static str) {
        let texts: Option<Vec<&str>> = self.content.iter().map(|block| block.get("text")?.as_str()).collect();
        match (texts, &self.structured, &self.meta) {
            (Some(texts), None, None) => (texts.join("\n"), "txt"),
            (_, structured, meta) => {
                let all = json!({ "content": self.content, "structuredContent": structured, "_meta": meta });
                (all.to_string(), "json")
            }
        }
    }
}

/// Bytes of a value as JSON.
fn size(value: &Value) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

/// The first `left` bytes of a block's text: its own, or that of the resource in it. Of an image they say nothing.
fn beginning(block: &Value, left: usize) -> Option<Value> {
    let cut = |text: &Value| Some(whole::beginning(text.as_str()?, left).to_owned()).filter(|cut| !cut.is_empty());
    match (block.get("text"), block.get("resource")) {
        (Some(text), _) => Some(json!({ "type": "text", "text": cut(text)? })),
        (None, Some(resource)) => {
            let mut resource = resource.as_object()?.clone();
            let text = cut(resource.get("text")?)?;
            resource.retain(|member, value| matches!(member.as_str(), "uri" | "mimeType") && size(value) <= left);
            resource.insert("text".to_owned(), text.into());
            Some(json!({ "type": "resource", "resource": resource }))
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(content: Value, structured: Option<Value>) -> Answer {
        let Value::Array(content) = content else { panic!() };
        Answer { content, structured, meta: None, is_error: false, whole: None }
    }

    #[test]
    fn what_fits_is_as_it_came() {
        let whole =
            answer(json!([{"type": "text", "text": "a"}, {"type": "image", "data": "x"}]), Some(json!({"a": 1})));
        assert_eq!(whole.clone().cut(1000, None), whole);
    }

    #[test]
    fn what_does_not_is_cut_and_kept_whole() {
        let folder = tempfile::tempdir().unwrap();
        let text = "é".repeat(500);
        let cut = answer(json!([{"type": "text", "text": text}, {"type": "text", "text": "b"}]), None);
        let cut = cut.cut(101, Some(folder.path()));
        assert_eq!(cut.content[0]["text"], "é".repeat(50));
        assert_eq!(cut.content.len(), 2, "the first has taken the place of all");
        let path = cut.whole.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{text}\nb"));
        assert!(cut.content.last().unwrap()["text"].as_str().unwrap().contains(path.to_str().unwrap()));
        let image = json!({"type": "image", "data": text});
        let cut = answer(json!([{"type": "text", "text": "a"}, image]), Some(json!({"a": 1})));
        let cut = cut.cut(101, Some(folder.path()));
        assert_eq!((cut.content.len(), cut.content[0]["text"].as_str()), (2, Some("a")), "half an image is none");
        assert_eq!(cut.structured, None);
        let kept = std::fs::read_to_string(cut.whole.unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap()["content"][1], image);
        assert!(answer(json!([{"type": "text", "text": text}]), None).cut(101, None).whole.is_none());
    }

    #[test]
    fn every_part_of_it_counts_and_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let text = "x".repeat(500);
        let full = answer(json!(vec![json!({"type": "text", "text": "y".repeat(500)}); 100]), None);
        assert_eq!(full.cut(100, None).content.len(), 2, "nothing empty stands for what is left out");
        let mut noted = answer(json!([{"type": "text", "text": "a"}]), None);
        noted.meta = Some(json!({ "blob": text }));
        let cut = noted.clone().cut(100, Some(folder.path()));
        assert_eq!((cut.content.len(), cut.meta), (2, None));
        let kept: Value = serde_json::from_slice(&std::fs::read(cut.whole.unwrap()).unwrap()).unwrap();
        assert_eq!(kept["_meta"], noted.meta.unwrap());
        let resource =
            json!({"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": text}});
        let cut = answer(json!([resource]), None).cut(100, Some(folder.path()));
        let expected = json!({"uri": "file:///a", "mimeType": "text/plain", "text": "x".repeat(100)});
        assert_eq!(cut.content[0]["resource"], expected);
        let kept: Value = serde_json::from_slice(&std::fs::read(cut.whole.unwrap()).unwrap()).unwrap();
        assert_eq!(kept["content"][0], resource);
    }

    #[test]
    fn the_same_result_at_the_same_time_is_kept_by_each() {
        let folder = tempfile::tempdir().unwrap();
        let big = answer(json!([{"type": "text", "text": "x".repeat(1 << 20)}]), None);
        let kept: Vec<Answer> = std::thread::scope(|scope| {
            let calls: Vec<_> = (0..16).map(|_| scope.spawn(|| big.clone().cut(10, Some(folder.path())))).collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        for answer in kept {
            assert_eq!(std::fs::metadata(answer.whole.expect("kept")).unwrap().len(), 1 << 20);
        }
        assert_eq!(std::fs::read_dir(folder.path().join("results")).unwrap().count(), 1);
    }
}
