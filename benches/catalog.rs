//! What search, assembly, load, describe and checking cost in process. `cargo bench --bench catalog`.

mod support;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;
use toolscout::call::Checker;
use toolscout::catalog::definition::Format;
use toolscout::catalog::policy::Policy;
use toolscout::catalog::scope::{Grant, Scope};
use toolscout::catalog::source::{Origin, Source};
use toolscout::catalog::{Catalog, assembly, describe, search};
use toolscout::workspace::registry;

const SIZES: [usize; 3] = [830, 3_320, 50_000];

fn sources(json: &str) -> Vec<Arc<Source>> {
    registry::read("synthetic.json", "synthetic", json.as_bytes(), Origin::Flag)
        .expect("the registry is well formed")
        .sources
}

fn catalog(json: &str) -> Catalog {
    let catalog = Catalog::new(sources(json), Arc::new(Policy::default()));
    catalog.prepare_search(&catalog.view(&Scope::all()));
    catalog
}

/// A query whose words a given tool holds, as a model would ask for it.
fn query(catalog: &Catalog, tool: usize) -> String {
    let tool = catalog.tool(tool as u32);
    let words: Vec<String> = tool.description().split(' ').take(3).map(str::to_owned).collect();
    words.join(" ")
}

fn searching(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("search");
    for size in SIZES {
        let catalog = catalog(&support::registry(size));
        let view = catalog.view(&Scope::all());
        let part = Scope::new(Grant { disabled: vec!["server1".to_owned()], ..Grant::default() });
        let part = catalog.view(&part);
        let queries: Vec<String> = (0..64).map(|n| query(&catalog, n * size / 64)).collect();
        let mut next = 0;
        let mut turn = || {
            next = (next + 1) % queries.len();
            queries[next].as_str()
        };
        group.bench_function(BenchmarkId::new("with its answer", size), |b| {
            b.iter(|| {
                let found = search::run(&catalog, &view, turn(), None);
                search::answer(&catalog, &view, &[found], &[])
            });
        });
        catalog.prepare_search(&part);
        group.bench_function(BenchmarkId::new("in a scope", size), |b| {
            b.iter(|| search::run(&catalog, &part, turn(), None));
        });
        group.bench_function(BenchmarkId::new("an unknown word", size), |b| {
            b.iter(|| search::run(&catalog, &view, black_box("xylophone"), None));
        });
    }
    group.finish();
}

fn assembling(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("assemble");
    for size in SIZES {
        let json = support::registry(size);
        let catalog = catalog(&json);
        let all = Scope::all();
        let of = |catalog: &Catalog| assembly::assemble(catalog, &all, Some(200_000.0), Format::OpenAi);
        of(&catalog);
        group.bench_function(BenchmarkId::new("unchanged", size), |b| b.iter(|| of(&catalog)));
        let sources = sources(&json);
        group.sample_size(20);
        group.bench_function(BenchmarkId::new("after a change of the set of sources", size), |b| {
            b.iter_batched(
                || sources.clone(),
                |sources| of(&Catalog::new(sources, Arc::new(Policy::default()))),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn loading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("load");
    group.sample_size(10);
    for size in SIZES {
        let json = support::registry(size);
        group.throughput(Throughput::Bytes(json.len() as u64));
        group.bench_function(BenchmarkId::new("and first search", size), |b| {
            b.iter(|| {
                let catalog = Catalog::new(sources(&json), Arc::new(Policy::default()));
                search::run(&catalog, &catalog.view(&Scope::all()), "list something", None)
            });
        });
        group.bench_function(BenchmarkId::new("without index", size), |b| b.iter(|| sources(&json)));
    }
    group.finish();
}

fn describing_and_calling(criterion: &mut Criterion) {
    let catalog = catalog(&support::registry(3_320));
    let view = catalog.view(&Scope::all());
    let names: Vec<String> = (0..10).map(|n| catalog.tool(n * 300).name.to_string()).collect();
    criterion.bench_function("describe ten names", |b| b.iter(|| describe::answer(&catalog, &view, &names)));

    let schema = json!({
        "type": "object", "required": ["title", "project"],
        "properties": {
            "title": {"type": "string", "minLength": 1}, "project": {"type": "string"}, "body": {"type": "string"},
            "priority": {"enum": ["low", "normal", "high"]}, "estimate": {"type": "integer", "minimum": 0},
            "labels": {"type": "array", "items": {"type": "string"}}, "due": {"type": ["string", "null"]},
            "notify": {"type": "boolean"},
        },
    });
    let checker = Checker::compile(&schema.to_string());
    let good =
        json!({"title": "t", "project": "p", "priority": "high", "estimate": 3, "labels": ["a"], "notify": true});
    let odd =
        json!({"title": "t", "project": "p", "priority": "high", "estimate": "3", "labels": "a", "notify": "true"});
    for (name, arguments) in [("check arguments that fit", good), ("check and repair arguments", odd)] {
        let serde_json::Value::Object(arguments) = arguments else { continue };
        criterion.bench_function(name, |b| {
            b.iter_batched(|| arguments.clone(), |arguments| checker.check(arguments), BatchSize::SmallInput);
        });
    }
}

criterion_group!(benches, searching, assembling, loading, describing_and_calling);
criterion_main!(benches);
