//! Compiled schemas, kept by their text: compiling takes milliseconds, checking microseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;

use crate::call::Checker;

/// Bytes of schemas kept; past that all are dropped and compiled anew as they are asked for. Compiled, a schema takes
/// some forty times its text.
const KEPT: usize = 2 << 20;

/// See the module.
#[derive(Default)]
pub struct Checkers {
    kept: DashMap<Box<str>, Arc<Checker>>,
    bytes: AtomicUsize,
}

impl Checkers {
    /// The checker of a schema.
    pub async fn of(&self, schema: &str) -> Arc<Checker> {
        if let Some(kept) = self.kept.get(schema) {
            return kept.clone();
        }
        let text: Box<str> = schema.into();
        let compiled = tokio::task::spawn_blocking(move || {
            let checker = Checker::compile(&text);
            (text, Arc::new(checker))
        });
        match compiled.await {
            Ok((text, checker)) => {
                // Two may keep at once; the count then is a little off, which a bound may be.
                let bytes = text.len();
                if self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > KEPT {
                    self.kept.clear();
                    self.bytes.store(bytes, Ordering::Relaxed);
                }
                self.kept.insert(text, checker.clone());
                checker
            }
            // The runtime is going down: nobody will see the answer.
            Err(_) => Arc::new(Checker::compile("null")),
        }
    }
}
