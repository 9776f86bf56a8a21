//! What tools cost.

use crate::catalog::definition::Format;
use crate::catalog::tokens::Quarters;
use crate::catalog::{Catalog, ToolId};

/// What the tools of a catalog cost in a model's context, as OpenAI's format has them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Each source: its name, how many tools it has, their tokens.
    pub sources: Vec<(String, u64, u64)>,
    /// The most expensive tools with their tokens.
    pub largest: Vec<(ToolId, u64)>,
}

/// How many of the most expensive tools are named.
const LARGEST: usize = 10;
/// Adds up what tools cost.
pub fn costs(catalog: &Catalog) -> Costs {
    let mut costs = Costs::default();
    for (index, source) in catalog.sources.iter().enumerate() {
        // Rounded once, as `status` does it.
        let (mut tools, mut whole) = (0, Quarters::default());
        for (id, tool) in catalog.tools_of(index).filter(|(id, _)| !catalog.is_refused(*id)) {
            let size = tool.quarters(Format::OpenAi);
            tools += 1;
            whole += size;
            costs.largest.push((id, size.tokens()));
        }
        costs.sources.push((source.info.name.clone(), tools, whole.tokens()));
    }
    costs.sources.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    let name = |id: ToolId| &catalog.tool(id).name;
    costs.largest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| name(a.0).cmp(name(b.0))));
    costs.largest.truncate(LARGEST);
    costs
}
