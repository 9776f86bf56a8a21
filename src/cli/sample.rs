//! The sample catalog: four tools of a host and 64 of six invented servers.

/// A registry file.
pub const REGISTRY: &str = include_str!("sample/registry.json");

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::call::Checker;
    use crate::catalog::Catalog;
    use crate::catalog::assembly::assemble;
    use crate::catalog::definition::Format;
    use crate::catalog::listing::Form;
    use crate::catalog::policy::Policy;
    use crate::catalog::scope::Scope;
    use crate::catalog::settings::{CoreSet, ToolSearch};
    use crate::catalog::source::Origin;
    use crate::workspace::registry;

    #[test]
    fn the_sample_is_in_order() {
        let read = registry::read("registry.json", "registry", REGISTRY.as_bytes(), Origin::Flag).unwrap();
        assert_eq!(read.diagnostics, []);
        let tools: Vec<_> = read.sources.iter().flat_map(|source| &source.tools).collect();
        assert_eq!((read.sources.len(), tools.len()), (7, 68));
        for tool in tools {
            let schema = tool.schema().unwrap_or_else(|| panic!("{} has no schema", tool.name));
            assert_eq!(Checker::compile(schema).unchecked(), None, "{}", tool.name);
        }
    }

    #[test]
    fn the_sample_is_listed_in_full() {
        let read = registry::read("registry.json", "registry", REGISTRY.as_bytes(), Origin::Flag).unwrap();
        let policy = Policy::new(ToolSearch::default(), &CoreSet::default());
        let catalog = Catalog::new(read.sources, Arc::new(policy));
        let made = assemble(&catalog, &Scope::all(), Some(200_000.0), Format::OpenAi);
        assert_eq!((made.tier, made.form, made.deferred_count), (1, Form::Full, 64));
    }
}
