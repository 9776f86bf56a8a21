//! What `benches/side-by-side` measures in Rust. It is started by that script:
//!
//! - `engines generate TOOLS FOLDER` writes a catalog, its changed twin and what is asked of them;
//! - `engines in-process FOLDER`, `engines pipe-lines FOLDER TOOLSCOUT`, `engines pipe-headers FOLDER TOOLSCOUT`,
//!   `engines bm25 FOLDER` and `engines tantivy FOLDER` serve measurements, see [`measure`].

mod catalog_file;
mod engines;
mod in_process;
mod measure;
mod pipe;
#[path = "../../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use catalog_file::Inputs;
use pipe::{Framing, Pipe};

/// Whatever goes wrong is told to the script as text.
type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let inputs = |folder: &str| -> Fallible<Inputs> {
        Ok(serde_json::from_str(&std::fs::read_to_string(Path::new(folder).join("inputs.json"))?)?)
    };
    match *arguments.as_slice() {
        ["generate", tools, folder] => catalog_file::write(tools.parse()?, Path::new(folder)),
        ["in-process", folder] => measure::serve(in_process::InProcess::new(inputs(folder)?)?),
        ["bm25", folder] => measure::serve(engines::Measured::<engines::Bm25>::new(inputs(folder)?)?),
        ["tantivy", folder] => measure::serve(engines::Measured::<engines::Tantivy>::new(inputs(folder)?)?),
        [kind @ ("pipe-lines" | "pipe-headers"), folder, binary] => {
            let framing = if kind == "pipe-lines" { Framing::Lines } else { Framing::Headers };
            measure::serve(Pipe::new(framing, PathBuf::from(binary), PathBuf::from(folder), inputs(folder)?)?)
        }
        _ => Err("see the first lines of this program's source".into()),
    }
}
