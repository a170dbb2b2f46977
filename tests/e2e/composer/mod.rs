//! The composer: attachments, completion and recall of earlier prompts.

mod attached;
mod complete;
mod recall;

use serde_json::{Value as Json, json};

use super::harness::Project;

/// Returns a project whose agent accepts resources and images and expects prompts of these blocks.
fn expecting(prompts: &[Json]) -> Project {
    agent(&json!({ "embeddedContext": true, "image": true }), prompts)
}

/// Like [`expecting`], with these `promptCapabilities`.
fn agent(takes: &Json, prompts: &[Json]) -> Project {
    let capabilities = json!({ "promptCapabilities": takes });
    let initialize = json!({ "initialize": { "agentCapabilities": capabilities } });
    let mut script = vec![json!({ "defaults": initialize }).to_string()];
    for (number, blocks) in (1..).zip(prompts) {
        let name = format!("p{number}");
        let params = json!({ "prompt": blocks });
        let expect = json!({ "expect": "session/prompt", "params": params, "as": name });
        script.push(expect.to_string());
        script.push(json!({ "say": format!("answer {number}") }).to_string());
        script.push(json!({ "end": name }).to_string());
    }
    Project::new().agent("scripted", &script.join("\n"))
}

/// Returns the pattern of a text block.
fn text(text: &str) -> Json {
    json!({ "type": "text", "text": text })
}

/// Returns the pattern of a resource block.
fn resource(end: &str, text: &str) -> Json {
    json!({ "type": "resource", "resource": { "uri": { "$contains": end }, "text": text } })
}
