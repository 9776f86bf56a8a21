//! Compiled schemas, kept by their text: compiling takes milliseconds, checking microseconds.

use std::sync::Arc;

use dashmap::DashMap;

use crate::call::Checker;

/// Schemas kept; past that all are dropped and compiled anew as they are asked for.
const KEPT: usize = 4096;

/// See the module.
#[derive(Default)]
pub struct Checkers(DashMap<Box<str>, Arc<Checker>>);

impl Checkers {
    /// The checker of a schema.
    pub async fn of(&self, schema: &str) -> Arc<Checker> {
        if let Some(kept) = self.0.get(schema) {
            return kept.clone();
        }
        let text: Box<str> = schema.into();
        let compiled = tokio::task::spawn_blocking(move || {
            let checker = Checker::compile(&text);
            (text, Arc::new(checker))
        });
        match compiled.await {
            Ok((text, checker)) => {
                if self.0.len() >= KEPT {
                    self.0.clear();
                }
                self.0.insert(text, checker.clone());
                checker
            }
            // The runtime is going down: nobody will see the answer.
            Err(_) => Arc::new(Checker::compile("null")),
        }
    }
}
