//! The MCP servers and folders that the configuration gives to a session's agent.

use serde_json::json;

use super::harness::Project;
use super::talk::{self, wait_said};

#[test]
fn an_agent_is_given_the_servers_and_folders_it_can_take() {
    let script = r#"{"defaults":{"initialize":{"agentCapabilities":{"mcpCapabilities":{"http":true},"sessionCapabilities":{"additionalDirectories":{}}}}}}
{"expect":"session/new","as":"n","params":{"additionalDirectories":["${cwd}/../more"],"mcpServers":[
{"name":"files","command":"/bin/sh","args":["-x"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]},
{"type":"http","name":"web","url":"http://h","headers":[{"name":"Authorization","value":"Bearer x"}]}]}}
{"reply":"n"}
{"expect":"session/prompt","as":"p"}
{"read":"${cwd}/../more/notes","as":"r"}
{"await":"r","result":{"content":"from there\n"}}
{"say":"read"}
{"end":"p"}"#;
    let script = script.replace(",\n{\"type\"", ",{\"type\"");
    let script = script.replace("[\n{\"name\"", "[{\"name\"");
    let project = Project::new();
    let more = project.root().join("more");
    std::fs::create_dir(&more).unwrap();
    std::fs::write(more.join("notes"), "from there\n").unwrap();
    let script = script.replace("${cwd}/../more", more.to_str().unwrap());
    let project = project.agent("scripted", &script).config(
        "mcp_servers",
        json!([
            { "name": "files", "command": "/bin/sh", "args": ["-x"], "env": { "B": "2", "A": "1" } },
            { "name": "web", "url": "http://h", "headers": { "Authorization": "Bearer x" } },
            { "name": "old", "type": "sse", "url": "http://s" },
        ]),
    );
    // Leave out Neovim's own server.
    let project = project.config("tools", json!({ "enabled": false }));
    let nvim = project
        .before(&format!(
            "lua local g = vim.g.acp g.agents.scripted.additional_dirs = {{ {:?} }} vim.g.acp = g",
            more
        ))
        .start();
    talk::open(&nvim);
    wait_said(&nvim, "left out: \"old\" (sse).");
    talk::talk(&nvim, "read it");
    wait_said(&nvim, "read");
    nvim.wait_script("scripted");
    nvim.quit();
}
