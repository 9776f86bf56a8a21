//! Search engines as Rust crates, as their documentation has them used, with an answer of names and descriptions.

use bm25::{Document as BmDocument, Language, SearchEngine, SearchEngineBuilder};
use serde_json::json;
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value as _};
use tantivy::{Index, IndexReader, IndexWriter, TantivyDocument, Term};

use crate::Fallible;
use crate::catalog_file::{Document, Inputs, documents};
use crate::measure::{Bounds, Outcome, Program, resident, times, times_with};

/// Tools an answer names, which is Toolscout's default.
const LIMIT: usize = 5;

/// A search engine that holds documents.
pub trait Engine: Sized {
    fn build(documents: Vec<Document>) -> Fallible<Self>;
    /// The answer as JSON.
    fn ask(&self, query: &str) -> Fallible<String>;
    /// Puts a document in the place of one of the same name; what is asked afterwards sees it.
    fn replace(&mut self, position: usize, document: Document) -> Fallible<()>;
}

fn record<'a>(hits: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let hits: Vec<_> = hits.map(|(name, description)| json!({"name": name, "description": description})).collect();
    json!(hits).to_string()
}

/// The `bm25` crate.
pub struct Bm25 {
    engine: SearchEngine<u32>,
    records: Vec<(String, String)>,
}

impl Engine for Bm25 {
    fn build(documents: Vec<Document>) -> Fallible<Self> {
        let contents = documents.iter().enumerate().map(|(id, d)| BmDocument::new(id as u32, d.text.clone()));
        let engine = SearchEngineBuilder::with_documents(Language::English, contents.collect::<Vec<_>>()).build();
        Ok(Self { engine, records: documents.into_iter().map(|d| (d.name, d.description)).collect() })
    }

    fn ask(&self, query: &str) -> Fallible<String> {
        let hits = self.engine.search(query, LIMIT);
        Ok(record(hits.iter().map(|hit| &self.records[hit.document.id as usize]).map(|(n, d)| (&**n, &**d))))
    }

    fn replace(&mut self, position: usize, document: Document) -> Fallible<()> {
        self.engine.upsert(BmDocument::new(position as u32, document.text));
        self.records[position] = (document.name, document.description);
        Ok(())
    }
}

/// tantivy, with its index in memory and its English stemmer.
pub struct Tantivy {
    reader: IndexReader,
    writer: IndexWriter,
    parser: QueryParser,
    fields: [tantivy::schema::Field; 3],
}

impl Tantivy {
    fn add(&self, document: Document) -> Fallible<()> {
        let [name, description, text] = self.fields;
        let mut out = TantivyDocument::default();
        out.add_text(name, document.name);
        out.add_text(description, document.description);
        out.add_text(text, document.text);
        self.writer.add_document(out)?;
        Ok(())
    }
}

impl Engine for Tantivy {
    fn build(documents: Vec<Document>) -> Fallible<Self> {
        let mut schema = Schema::builder();
        let stemmed =
            TextFieldIndexing::default().set_tokenizer("en_stem").set_index_option(IndexRecordOption::WithFreqs);
        let name = schema.add_text_field("name", STRING | STORED);
        let description = schema.add_text_field("description", STORED);
        let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(stemmed));
        let index = Index::create_in_ram(schema.build());
        let writer = index.writer_with_num_threads(1, 50_000_000)?;
        let parser = QueryParser::for_index(&index, vec![text]);
        let mut engine = Self { reader: index.reader()?, writer, parser, fields: [name, description, text] };
        for document in documents {
            engine.add(document)?;
        }
        engine.writer.commit()?;
        engine.reader.reload()?;
        Ok(engine)
    }

    fn ask(&self, query: &str) -> Fallible<String> {
        let searcher = self.reader.searcher();
        let query = self.parser.parse_query(query)?;
        let top = searcher.search(&query, &TopDocs::with_limit(LIMIT).order_by_score())?;
        let found = top.into_iter().map(|(_, at)| searcher.doc(at)).collect::<Result<Vec<TantivyDocument>, _>>()?;
        let [name, description, _] = self.fields;
        let of = |document, field| TantivyDocument::get_first(document, field).and_then(|v| v.as_str()).unwrap_or("");
        Ok(record(found.iter().map(|document| (of(document, name), of(document, description)))))
    }

    fn replace(&mut self, _position: usize, document: Document) -> Fallible<()> {
        self.writer.delete_term(Term::from_field_text(self.fields[0], &document.name));
        self.add(document)?;
        self.writer.commit()?;
        self.reader.reload()?;
        Ok(())
    }
}

/// An engine under measurement.
pub struct Measured<E> {
    inputs: Inputs,
    base: u64,
    engine: Option<E>,
}

impl<E: Engine> Measured<E> {
    pub fn new(inputs: Inputs) -> Fallible<Self> {
        Ok(Self { inputs, base: resident("self")?, engine: None })
    }

    /// The catalog's text. It is not kept, so that it is not taken for memory that the engine needs.
    fn json(&self) -> Fallible<String> {
        Ok(std::fs::read_to_string(&self.inputs.catalog)?)
    }

    fn load(&self, json: &str) -> Fallible<E> {
        let engine = E::build(documents(json)?)?;
        if !engine.ask(&self.inputs.queries[0])?.contains("\"description\"") {
            return Err("the first query has no answer".into());
        }
        Ok(engine)
    }
}

impl<E: Engine> Program for Measured<E> {
    fn run(&mut self, op: &str, bounds: Bounds) -> Fallible<Outcome> {
        if op == "load" {
            let json = self.json()?;
            return times(bounds, |_| self.load(&json));
        }
        if op == "first" {
            self.engine = Some(self.load(&self.json()?)?);
            return Ok(Outcome::Other(json!({"bytes": resident("self")?, "base": self.base})));
        }
        let engine = self.engine.as_mut().ok_or("not loaded")?;
        let inputs = &self.inputs;
        match op {
            "search" => times(bounds, |n| engine.ask(&inputs.queries[n % inputs.queries.len()])),
            "unknown" => times(bounds, |_| engine.ask(&inputs.unknown)),
            "change" => {
                let read = |path: &str| -> Fallible<Document> {
                    Ok(documents(&std::fs::read_to_string(path)?)?.swap_remove(inputs.changed_tool))
                };
                let twins = [read(&inputs.changed)?, read(&inputs.catalog)?];
                let copy = |n: usize| Ok(twins[n % 2].clone());
                times_with(bounds, copy, |document| engine.replace(inputs.changed_tool, document))
            }
            _ => Ok(Outcome::Cannot("only searches")),
        }
    }
}
