//! MCP servers and folders of a session, as given by the Lua side: checked, with absolute paths.

use std::path::PathBuf;

use nvim_oxi::mlua::{self, Table};

use acp::client::{McpServer, McpTransport};
use acp_core::conversation::reach::Reach;

/// Reads them; `allowed` are the folders any agent may work in.
///
/// # Errors
/// When a table has a form that the Lua side never creates.
pub(super) fn read(spec: &Table, allowed: &[PathBuf]) -> mlua::Result<Reach> {
    let servers: Option<Vec<Table>> = spec.get("mcp_servers")?;
    let servers = servers.unwrap_or_default();
    let dirs: Option<Vec<String>> = spec.get("additional_dirs")?;
    Ok(Reach {
        mcp: servers.iter().map(server).collect::<mlua::Result<_>>()?,
        additional: dirs
            .unwrap_or_default()
            .into_iter()
            .map(PathBuf::from)
            .collect(),
        allowed: allowed.to_vec(),
        tools: spec.get("tools")?,
        is_told: false,
    })
}

fn server(table: &Table) -> mlua::Result<McpServer> {
    let kind: String = table.get("type")?;
    let transport = match kind.as_str() {
        "http" => McpTransport::Http {
            url: table.get("url")?,
            headers: pairs(table, "headers")?,
        },
        "sse" => McpTransport::Sse {
            url: table.get("url")?,
            headers: pairs(table, "headers")?,
        },
        _ => McpTransport::Stdio {
            command: PathBuf::from(table.get::<String>("command")?),
            args: table
                .get::<Option<Vec<String>>>("args")?
                .unwrap_or_default(),
            env: pairs(table, "env")?,
        },
    };
    Ok(McpServer {
        name: table.get("name")?,
        transport,
    })
}

/// Returns the pairs of a table, sorted by name: tables have no order.
fn pairs(table: &Table, field: &str) -> mlua::Result<Vec<(String, String)>> {
    let Some(pairs) = table.get::<Option<Table>>(field)? else {
        return Ok(Vec::new());
    };
    let mut pairs: Vec<(String, String)> = pairs.pairs().flatten().collect();
    pairs.sort();
    Ok(pairs)
}
