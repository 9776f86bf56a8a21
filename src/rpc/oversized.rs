//! Reads past a message that is too large to keep, and finds out whose it was.
//!
//! The answer to such a request must carry its id, or the host waits for ever; the id may stand behind the large
//! part. So the skipped bytes run through a small automaton that sees the members of the outermost object. It keeps
//! at most [`MAX_ID_BYTES`]; it does not check the JSON, which nobody will read.

use serde_json::value::RawValue;

/// No sane id is longer.
const MAX_ID_BYTES: usize = 256;
/// Enough to tell `method` from every other name.
const MAX_KEY_BYTES: usize = 8;

/// What can be said of a message that was read past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oversized {
    /// The id as it was written, if one was found.
    pub id: Option<String>,
    /// Whether it is a call (it has a `method`) and not an answer.
    pub call: bool,
}

#[derive(Default, PartialEq)]
enum Place {
    #[default]
    Outside,
    Key,
    Value,
}

/// See the module.
#[derive(Default)]
pub struct Skimmer {
    depth: u64,
    in_string: bool,
    escaped: bool,
    place: Place,
    key: Vec<u8>,
    id: Vec<u8>,
    call: bool,
}

impl Skimmer {
    /// Takes the next bytes of the message.
    pub fn read(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.step(byte));
    }

    /// The message is over.
    pub fn finish(self) -> Oversized {
        let id = String::from_utf8(self.id).ok().filter(|id| {
            let id = id.trim_ascii();
            id.starts_with(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
                && serde_json::from_str::<&RawValue>(id).is_ok()
        });
        Oversized { id: id.map(|id| id.trim_ascii().to_owned()), call: self.call }
    }

    fn step(&mut self, byte: u8) {
        let top = self.depth == 1;
        let in_id = top && self.place == Place::Value && self.key == b"id";
        let ends_id = !self.in_string && matches!(byte, b',' | b'}');
        if in_id && !ends_id && self.id.len() <= MAX_ID_BYTES {
            self.id.push(byte);
        }
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ if top && self.place == Place::Key && self.key.len() < MAX_KEY_BYTES => self.key.push(byte),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if top && self.place == Place::Key {
                    self.key.clear();
                }
            }
            b'{' | b'[' => {
                // The members of a batch's items lie one level deeper, where nothing is looked at.
                if self.depth == 0 && byte == b'{' {
                    self.place = Place::Key;
                }
                self.depth += 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if top && self.place == Place::Key => {
                self.place = Place::Value;
                self.call |= self.key == b"method";
                if self.key == b"id" {
                    self.id.clear();
                }
            }
            b',' if top && self.place == Place::Value => self.place = Place::Key,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_id_wherever_it_stands() {
        for (label, text, id, call) in [
            ("TRANSPORT: id first", r#"{"id":7,"method":"m","params":{"id":8}}"#, Some("7"), true),
            (
                "TRANSPORT: id last",
                r#"{"method":"m","params":{"a":["id",{"id":1}]},"id": "x,}\"" }"#,
                Some(r#""x,}\"""#),
                true,
            ),
            ("TRANSPORT: an answer", r#"{"id":"toolscout:1","result":{"method":1}}"#, Some(r#""toolscout:1""#), false),
            ("TRANSPORT: a decimal as sent", r#"{"id":1.50,"method":"m"}"#, Some("1.50"), true),
            ("TRANSPORT: a notification", r#"{"method":"m","params":{"id":1}}"#, None, true),
            ("TRANSPORT: an id of another type", r#"{"id":{"a":1},"method":"m"}"#, None, true),
            ("TRANSPORT: a null id", r#"{"id":null,"method":"m"}"#, None, true),
            ("TRANSPORT: a batch has many", r#"[{"id":1,"method":"m"}]"#, None, false),
            ("TRANSPORT: a longer name", r#"{"identity":5,"methodical":1}"#, None, false),
            ("TRANSPORT: not JSON", r#"}}]],,::"id":4"#, None, false),
        ] {
            let mut skimmer = Skimmer::default();
            text.as_bytes().chunks(3).for_each(|piece| skimmer.read(piece));
            assert_eq!(skimmer.finish(), Oversized { id: id.map(str::to_owned), call }, "{label}");
        }
    }

    #[test]
    fn an_endless_id_is_not_kept() {
        let mut skimmer = Skimmer::default();
        skimmer.read(br#"{"id":""#);
        skimmer.read(&vec![b'a'; 1 << 20]);
        assert!(skimmer.id.len() <= MAX_ID_BYTES + 1);
        skimmer.read(br#"","method":"m"}"#);
        assert_eq!(skimmer.finish(), Oversized { id: None, call: true });
    }
}
