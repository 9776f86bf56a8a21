//! What a server answered to a call, made fit for a model: as it came, or cut where it is too long.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::cache;

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

/// How long the whole of an answer that was cut is kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

impl Answer {
    /// The same in at most about `limit` bytes. What had to be left out is said in a last text, and all of it stands in a
    /// file below `folder`: as text if it is nothing else, as JSON otherwise.
    ///
    /// Blocks on the file system.
    pub fn within(self, limit: usize, folder: Option<&Path>) -> Self {
        let size = |value: &Value| serde_json::to_string(value).map_or(0, |text| text.len());
        let all: usize = self.content.iter().chain(&self.structured).map(size).sum();
        if all <= limit {
            return self;
        }
        let whole = folder.map(|folder| self.save(folder));
        let mut left = limit;
        let mut content = Vec::new();
        for block in self.content {
            let bytes = size(&block);
            if bytes <= left {
                left -= bytes;
                content.push(block);
                continue;
            }
            // Of a text its beginning says something; of an image nothing.
            if let Some(text) = block.get("text").and_then(Value::as_str) {
                let end = (0..=left.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
                let cut = &text[..end];
                content.push(json!({ "type": "text", "text": cut }));
            }
            left = 0;
        }
        let structured = self.structured.filter(|structured| size(structured) <= left);
        let note = match &whole {
            Some(Ok(path)) => format!("[Cut: the result has {all} bytes. All of it is in {}]", path.display()),
            Some(Err(error)) => format!("[Cut: the result has {all} bytes, and could not be kept in a file: {error}]"),
            None => format!("[Cut: the result has {all} bytes.]"),
        };
        content.push(json!({ "type": "text", "text": note }));
        Self { content, structured, meta: self.meta, is_error: self.is_error, whole: whole.and_then(Result::ok) }
    }

    fn save(&self, folder: &Path) -> std::io::Result<PathBuf> {
        let folder = folder.join("results");
        forget_old(&folder);
        let texts: Option<Vec<&str>> = self.content.iter().map(|block| block.get("text")?.as_str()).collect();
        let (extension, bytes) = match (texts, &self.structured) {
            (Some(texts), None) => ("txt", texts.join("\n")),
            _ => ("json", json!({ "content": self.content, "structuredContent": self.structured }).to_string()),
        };
        let name: String = Sha256::digest(&bytes)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let path = folder.join(format!("{name}.{extension}"));
        cache::write(&path, bytes.as_bytes())?;
        Ok(path)
    }
}

/// Removes results that nobody will ask for any more.
fn forget_old(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let written = entry.metadata().and_then(|found| found.modified());
        let is_old = written.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > KEPT));
        if is_old {
            let _ = std::fs::remove_file(entry.path());
        }
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
        assert_eq!(whole.clone().within(1000, None), whole);
    }

    #[test]
    fn what_does_not_is_cut_and_kept_whole() {
        let folder = tempfile::tempdir().unwrap();
        let text = "é".repeat(500);
        let cut = answer(json!([{"type": "text", "text": text}, {"type": "text", "text": "b"}]), None);
        let cut = cut.within(101, Some(folder.path()));
        assert_eq!(cut.content[0]["text"], "é".repeat(50));
        assert_eq!(cut.content[1]["text"], "", "the first has taken the place of all");
        let path = cut.whole.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{text}\nb"));
        assert!(cut.content.last().unwrap()["text"].as_str().unwrap().contains(path.to_str().unwrap()));
        let image = json!({"type": "image", "data": text});
        let cut = answer(json!([{"type": "text", "text": "a"}, image]), Some(json!({"a": 1})));
        let cut = cut.within(101, Some(folder.path()));
        assert_eq!((cut.content.len(), cut.content[0]["text"].as_str()), (2, Some("a")), "half an image is none");
        assert_eq!(cut.structured, None);
        let kept = std::fs::read_to_string(cut.whole.unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap()["content"][1], image);
        assert!(answer(json!([{"type": "text", "text": text}]), None).within(101, None).whole.is_none());
    }
}
