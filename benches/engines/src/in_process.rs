//! Toolscout in this process: the catalog without wire, files and runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use toolscout::catalog::definition::Format;
use toolscout::catalog::policy::Policy;
use toolscout::catalog::scope::Scope;
use toolscout::catalog::source::Origin;
use toolscout::catalog::{Catalog, assembly, describe, search};
use toolscout::workspace::registry::{self, Registry};

use crate::Fallible;
use crate::catalog_file::{self, Inputs};
use crate::measure::{Bounds, Outcome, Program, resident, times, times_with};

pub struct InProcess {
    inputs: Inputs,
    base: u64,
    loaded: Option<(Registry, Catalog)>,
}

fn read(bytes: &[u8], last: Option<&Registry>) -> Fallible<Registry> {
    registry::reread("catalog.json", "catalog", bytes, Origin::Flag, last).map_err(|problem| problem.message.into())
}

fn catalog(registry: &Registry) -> Catalog {
    Catalog::new(registry.sources.iter().cloned(), Arc::new(Policy::default()))
}

fn ask(catalog: &Catalog, query: &str) -> String {
    let view = catalog.view(&Scope::all());
    let found = search::run(catalog, &view, query, None);
    search::answer(catalog, &view, &[found], &[])
}

fn assemble(catalog: &Catalog) -> Arc<assembly::Assembly> {
    assembly::assemble(catalog, &Scope::all(), Some(200_000.0), Format::OpenAi)
}

impl InProcess {
    pub fn new(inputs: Inputs) -> Fallible<Self> {
        Ok(Self { inputs, base: resident("self")?, loaded: None })
    }

    /// The catalog's text. It is not kept, so that it is not taken for memory that Toolscout needs.
    fn bytes(&self) -> Fallible<Vec<u8>> {
        Ok(std::fs::read(&self.inputs.catalog)?)
    }

    fn load(&self, bytes: &[u8]) -> Fallible<(Registry, Catalog)> {
        let registry = read(bytes, None)?;
        let catalog = catalog(&registry);
        if !ask(&catalog, &self.inputs.queries[0]).contains("\"description\"") {
            return Err("the first query has no answer".into());
        }
        Ok((registry, catalog))
    }
}

impl Program for InProcess {
    fn run(&mut self, op: &str, bounds: Bounds) -> Fallible<Outcome> {
        if op == "load" {
            let bytes = self.bytes()?;
            return times(bounds, |_| self.load(&bytes));
        }
        if op == "first" {
            self.loaded = Some(self.load(&self.bytes()?)?);
            return Ok(Outcome::Other(json!({"bytes": resident("self")?, "base": self.base})));
        }
        let (registry, catalog_now) = self.loaded.as_ref().ok_or("not loaded")?;
        let queries = &self.inputs.queries;
        match op {
            "search" => times(bounds, |n| Ok(ask(catalog_now, &queries[n % queries.len()]))),
            "unknown" => {
                let view = catalog_now.view(&Scope::all());
                times(bounds, |_| Ok(search::run(catalog_now, &view, &self.inputs.unknown, None)))
            }
            "assemble" => {
                // The array as an answer would hold it: its bytes are copied once.
                times(bounds, |_| Ok(assemble(catalog_now).tools.get().as_bytes().to_vec()))
            }
            "memcpy" => {
                let assembly = assemble(catalog_now);
                times(bounds, |_| Ok(assembly.tools.get().as_bytes().to_vec()))
            }
            "change" => {
                let changed = std::fs::read(&self.inputs.changed)?;
                let policy = Arc::new(Policy::default());
                // Read anew each time, since what is made of a tool is kept with it; the other tools are those of before.
                let fresh = |_| Ok(read(&changed, Some(registry))?.sources);
                times_with(bounds, fresh, |sources| {
                    let catalog = Catalog::new(sources, policy.clone());
                    let assembly = assemble(&catalog);
                    Ok((catalog, assembly))
                })
            }
            "describe" => {
                let view = catalog_now.view(&Scope::all());
                times(bounds, |_| Ok(describe::answer(catalog_now, &view, &self.inputs.names)))
            }
            "parse" => {
                let bytes = self.bytes()?;
                times(bounds, |_| {
                    let text = std::str::from_utf8(&bytes)?;
                    Ok(serde_json::from_str::<catalog_file::Registry<'_>>(text)?.sources.len())
                })
            }
            "busy" => {
                let (bytes, stop) = (self.bytes()?, AtomicBool::new(false));
                std::thread::scope(|scope| {
                    let loads = scope.spawn(|| {
                        while !stop.load(Ordering::Relaxed) {
                            let _ = self.load(&bytes);
                        }
                    });
                    let outcome = times(bounds, |n| Ok(ask(catalog_now, &queries[n % queries.len()])));
                    stop.store(true, Ordering::Relaxed);
                    let _ = loads.join();
                    outcome
                })
            }
            _ => Ok(Outcome::Cannot("through the pipe only")),
        }
    }
}
