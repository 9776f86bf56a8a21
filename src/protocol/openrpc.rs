//! The published contract: an OpenRPC document made from the types of the wire.
//!
//! Promises the same bytes for the same types: methods stand in the order of a conversation, schemas by name. Says
//! what shapes go over the wire and nothing of what they mean together, which `protocol/README.md` does.
//!
//! Schemas are those of JSON Schema draft 7, as OpenRPC wants them. A type is described from the side of who writes
//! it: what the sidecar reads may be absent or null where the sidecar takes that, what it writes is never null where
//! it would rather be absent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value, json};

use super::errors::code;
use super::{VERSION, changes, host, lifecycle, registry, work};
use crate::catalog::explain::Explanation;

/// Where named types stand, for a reference to one of them.
const SCHEMAS: &str = "#/components/schemas/";

/// The document as text, with a line break at its end.
pub fn document() -> String {
    // A value made of strings, numbers and maps by name always has a form in JSON.
    let mut text = serde_json::to_string_pretty(&value()).unwrap_or_default();
    text.push('\n');
    text
}

/// The document.
pub fn value() -> Value {
    let mut contract = Contract::new();
    contract.lifecycle();
    contract.registry();
    contract.work();
    contract.host();
    let Contract { methods, read, written } = contract;
    let mut schemas: BTreeMap<String, Value> = BTreeMap::new();
    for mut generator in [read, written] {
        schemas.extend(generator.take_definitions(true));
    }
    let errors: Map<String, Value> = code::ALL
        .iter()
        .map(|(name, code, meaning)| (pascal(name), json!({ "code": code, "message": meaning.trim() })))
        .collect();
    json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "Toolscout",
            "version": VERSION,
            "description": "Tool search for LLM agents. Guarantees, framing and errors: README.md beside this file.",
            "license": { "name": env!("CARGO_PKG_LICENSE") },
        },
        "methods": methods,
        "components": { "schemas": schemas, "errors": errors },
    })
}

/// Which side a message goes to.
#[derive(Clone, Copy)]
enum To {
    Sidecar,
    Host,
}

struct Contract {
    methods: Vec<Value>,
    /// Schemas of what the sidecar reads.
    read: SchemaGenerator,
    /// Schemas of what it writes.
    written: SchemaGenerator,
}

impl Contract {
    fn new() -> Self {
        let settings = || SchemaSettings::draft07().with(|s| s.definitions_path = "/components/schemas".into());
        Self {
            methods: Vec::new(),
            read: settings().for_deserialize().with_transform(NoNullDefaults).into_generator(),
            written: settings().for_serialize().with_transform(AbsentNotNull).into_generator(),
        }
    }

    fn lifecycle(&mut self) {
        use lifecycle::*;
        let sidecar = To::Sidecar;
        self.request::<InitializeParams, InitializeResult>(
            sidecar,
            "initialize",
            "Opens the connection; nothing else is served before it.",
        );
        self.notification::<NoParams>(sidecar, "initialized", "The host has read the answer to `initialize`.");
        self.request::<NoParams, ()>(sidecar, "shutdown", "Ends the work; only `exit` is taken afterwards.");
        self.notification::<NoParams>(sidecar, "exit", "Ends the process: code 0 after `shutdown`, 1 without it.");
        self.notification::<CancelParams>(sidecar, "$/cancelRequest", "Cancels a request of the side that sends this.");
    }

    fn registry(&mut self) {
        use registry::*;
        let sidecar = To::Sidecar;
        self.request::<RegisterParams, RegisterResult>(
            sidecar,
            "registry/register",
            "Registers a source and its tools for this connection, in place of one of the same name.",
        );
        self.request::<UnregisterParams, UnregisterResult>(
            sidecar,
            "registry/unregister",
            "Takes back a source that this connection registered.",
        );
        self.request::<ListParams, ListResult>(
            sidecar,
            "registry/list",
            "Lists the sources in scope, and their tools.",
        );
    }

    fn work(&mut self) {
        use work::*;
        let sidecar = To::Sidecar;
        self.request::<AssembleParams, AssembleResult>(
            sidecar,
            "assemble",
            "Makes the tool array of a turn: visible tools, and the bridge in place of the deferred ones.",
        );
        self.request::<BridgeParams, BridgeResult>(
            sidecar,
            "bridge/call",
            "Does what a model asked of a bridge tool; a model's mistakes are results.",
        );
        self.request::<BridgeParams, ResolveResult>(
            sidecar,
            "bridge/resolve",
            "Says which tools a `bridge/call` would run, and runs none.",
        );
        self.request::<PlanParams, PlanResult>(
            sidecar,
            "bridge/plan",
            "Says which calls of a model's batch may run together.",
        );
        self.request::<ExplainParams, Explanation>(
            sidecar,
            "search/explain",
            "Says why a query finds what it finds, term by term.",
        );
        self.request::<lifecycle::NoParams, ConfigResult>(
            sidecar,
            "config/get",
            "The settings in effect and the layer each came from.",
        );
        self.request::<lifecycle::NoParams, StatusResult>(
            sidecar,
            "status",
            "How the process is; a real search is part of it.",
        );
    }

    fn host(&mut self) {
        let to = To::Host;
        self.request::<host::InvokeParams, host::InvokeResult>(
            to,
            "host/invoke",
            "Runs a tool of the host, if the host has the capability `invoke`.",
        );
        self.request::<host::ApproveParams, host::ApproveResult>(
            to,
            "host/approve",
            "Asks for a person's word, if the host has the capability `approve`.",
        );
        self.request::<host::ShowConnectionsParams, host::ShowConnectionsResult>(
            to,
            "host/showConnections",
            "Shows a card of accounts to connect, if the host has the capability `showConnections`.",
        );
        self.notification::<host::ConnectionsChanged>(
            to,
            "connections/didChange",
            "An account on the card of `host/showConnections` stands otherwise than before.",
        );
        self.notification::<lifecycle::FileDiagnostics>(
            to,
            "diagnostics/publish",
            "What is wrong with one file, in place of what was said of it before; an empty list clears.",
        );
        self.notification::<changes::DidChangeParams>(
            to,
            "catalog/didChange",
            "Files changed, and with them what the connection sees; once for a burst of changes.",
        );
        self.notification::<lifecycle::ProgressParams>(
            to,
            "$/progress",
            "Where a request with a `progressToken` stands, if the host has the capability `progress`.",
        );
    }

    fn request<P: JsonSchema, R: JsonSchema>(&mut self, to: To, name: &str, summary: &str) {
        let mut method = self.method::<P>(to, name, summary);
        let (_, writer) = self.sides(to);
        let schema = inline_or_reference(writer.subschema_for::<R>().to_value());
        let title = R::schema_name();
        method.insert("result".into(), json!({ "name": title, "required": true, "schema": schema }));
        if let To::Sidecar = to {
            let reference =
                |(name, ..): &(&str, i32, &str)| json!({ "$ref": format!("#/components/errors/{}", pascal(name)) });
            method.insert("errors".into(), code::ALL.iter().map(reference).collect());
        }
        self.methods.push(method.into());
    }

    fn notification<P: JsonSchema>(&mut self, to: To, name: &str, summary: &str) {
        let mut method = self.method::<P>(to, name, summary);
        method.insert("x-notification".into(), true.into());
        self.methods.push(method.into());
    }

    /// The generators for parameters and for results.
    fn sides(&mut self, to: To) -> (&mut SchemaGenerator, &mut SchemaGenerator) {
        match to {
            To::Sidecar => (&mut self.read, &mut self.written),
            To::Host => (&mut self.written, &mut self.read),
        }
    }

    /// Parameters stand twice: one by one, as OpenRPC wants them, and as the named type under `x-params`.
    fn method<P: JsonSchema>(&mut self, to: To, name: &str, summary: &str) -> Map<String, Value> {
        let mut method = Map::new();
        method.insert("name".into(), name.into());
        method.insert("summary".into(), summary.into());
        let side = match to {
            To::Sidecar => "sidecar",
            To::Host => "host",
        };
        method.insert("x-direction".into(), side.into());
        method.insert("paramStructure".into(), "by-name".into());
        let mut params = Vec::new();
        if P::schema_name() != lifecycle::NoParams::schema_name() {
            let (generator, _) = self.sides(to);
            let mut schema = P::json_schema(generator);
            generator.transforms_mut().for_each(|transform| transform.transform(&mut schema));
            params = descriptors(&schema.to_value());
            method.insert("x-params".into(), generator.subschema_for::<P>().to_value());
        }
        method.insert("params".into(), params.into());
        method
    }
}

/// A content descriptor for each property of an object's schema.
fn descriptors(object: &Value) -> Vec<Value> {
    let required: Vec<&str> = object["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let descriptor = |(name, schema): (&String, &Value)| {
        let mut descriptor = Map::new();
        let mut schema = schema.clone();
        descriptor.insert("name".into(), name.as_str().into());
        if let Some(text) = schema.as_object_mut().and_then(|schema| schema.shift_remove("description")) {
            descriptor.insert("description".into(), text);
        }
        descriptor.insert("required".into(), required.contains(&name.as_str()).into());
        descriptor.insert("schema".into(), inline_or_reference(schema));
        descriptor.into()
    };
    object["properties"].as_object().into_iter().flatten().map(descriptor).collect()
}

/// A reference that stands in an `allOf` only so that a description could stand beside it.
fn inline_or_reference(mut schema: Value) -> Value {
    if let Some(members) = schema.as_object_mut()
        && members.len() == 1
        && let Some(Value::Array(all)) = members.get_mut("allOf")
        && let [one] = &mut all[..]
        && one["$ref"].as_str().is_some_and(|reference| reference.starts_with(SCHEMAS))
    {
        return one.take();
    }
    schema
}

/// `PARSE_ERROR` to `ParseError`.
fn pascal(name: &str) -> String {
    let word = |word: &str| word[..1].to_owned() + &word[1..].to_lowercase();
    name.split('_').map(word).collect()
}

/// A default of null says no more than that the property may be absent.
#[derive(Clone)]
struct NoNullDefaults;

impl Transform for NoNullDefaults {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
        transform_subschemas(self, schema);
    }
}

/// What the sidecar may leave out it never writes as null: such a property is not required, and takes no null here.
#[derive(Clone)]
struct AbsentNotNull;

impl Transform for AbsentNotNull {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        let required = schema.get("required").cloned().unwrap_or_default();
        let is_required = |name: &str| required.as_array().is_some_and(|all| all.iter().any(|one| one == name));
        for (name, property) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            if !is_required(name) {
                without_null(property);
            }
        }
        transform_subschemas(self, schema);
    }
}

fn without_null(property: &mut Value) {
    let Some(members) = property.as_object_mut() else { return };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = &types[..] {
            members["type"] = one.clone();
        }
    }
    if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(one)] = &choices[..] {
            let one = one.clone();
            members.shift_remove("anyOf");
            members.extend(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_describe_a_shared_type_alike() {
        let mut contract = Contract::new();
        contract.lifecycle();
        contract.registry();
        contract.work();
        contract.host();
        let read = contract.read.take_definitions(true);
        for (name, schema) in contract.written.take_definitions(true) {
            assert_eq!(read.get(&name).unwrap_or(&schema), &schema, "{name} means two things");
        }
    }
}
