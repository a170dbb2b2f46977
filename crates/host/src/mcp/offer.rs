//! The tools as agents see them, with the schemas that check their arguments.
//!
//! Invariant: a schema is compiled once, when first needed; a later list with the same tool reuses
//! it.

use std::sync::{Arc, OnceLock};

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value as Json};

use acp_core::spine::tool::ToolSpec;
use acp_schema::Schema;

/// A list of tools, sorted by name.
#[derive(Debug, Default)]
pub(super) struct Offer {
    tools: Vec<Arc<Offered>>,
}

#[derive(Debug)]
pub(super) struct Offered {
    tool: Tool,
    parameters: Json,
    schema: OnceLock<Result<Schema, String>>,
}

impl Offer {
    /// Returns the list of enabled tools; reuses unchanged tools of `before`.
    pub fn new(specs: &[ToolSpec], before: &Self) -> Self {
        let mut tools: Vec<Arc<Offered>> = Vec::new();
        for spec in specs.iter().filter(|spec| spec.is_on) {
            let new = Offered::new(spec);
            let old = before.find(&new.tool.name);
            match old.filter(|old| old.is_as(&new)) {
                Some(old) => tools.push(Arc::clone(old)),
                None => tools.push(Arc::new(new)),
            }
        }
        tools.sort_by(|a, b| a.tool.name.cmp(&b.tool.name));
        Self { tools }
    }

    /// Returns whether agents would see the same list.
    pub fn is_as(&self, other: &Self) -> bool {
        self.tools.len() == other.tools.len()
            && self.tools.iter().zip(&other.tools).all(|(a, b)| a.is_as(b))
    }

    pub fn find(&self, name: &str) -> Option<&Arc<Offered>> {
        self.tools.iter().find(|offered| offered.tool.name == name)
    }

    pub fn tools(&self) -> Vec<Tool> {
        self.tools
            .iter()
            .map(|offered| offered.tool.clone())
            .collect()
    }
}

impl Offered {
    fn new(spec: &ToolSpec) -> Self {
        let mut schema = match &spec.parameters {
            Json::Object(fields) => fields.clone(),
            _ => Map::new(),
        };
        schema.entry("type").or_insert_with(|| "object".into());
        let name = spec.name.clone();
        let mut tool = Tool::new(name, spec.description.clone(), Arc::new(schema));
        tool.title.clone_from(&spec.title);
        Self {
            tool: tool.with_annotations(annotations(spec)),
            parameters: spec.parameters.clone(),
            schema: OnceLock::new(),
        }
    }

    fn is_as(&self, other: &Self) -> bool {
        self.tool == other.tool
    }

    /// Returns the arguments if they match the schema, else a message.
    pub fn check(&self, arguments: Json) -> Result<Map<String, Json>, String> {
        let compile = || Schema::compile(&self.parameters);
        match self.schema.get_or_init(compile) {
            Ok(schema) => schema.check(arguments),
            Err(why) => Err(format!(
                "The tool {:?} cannot be called: its parameters are no JSON Schema ({why}). \
                 Whoever defined it in Neovim must correct them.",
                self.tool.name
            )),
        }
    }
}

/// Returns hints for the permissions of agents; of a tool that changes nothing, that is all.
fn annotations(spec: &ToolSpec) -> ToolAnnotations {
    let annotations = ToolAnnotations::new().read_only(spec.is_read_only);
    if spec.is_read_only {
        return annotations;
    }
    let changes = matches!(spec.kind.as_str(), "edit" | "delete" | "move" | "execute");
    annotations
        .destructive(changes)
        .open_world(spec.kind == "fetch")
}
