// Owns the way from a line of words to the client of the official MCP SDK, and what it answers.
//
// A line is `list`, `tool NAME` (its definition), `call NAME {json}`, `many COUNT NAME {json}`
// (one after another), `big BYTES NAME FIELD` (with so long a string) or `ping`. Each gives one
// value, never an exception: what the SDK throws is `{ "failed": "words", "code": … }`.
//
// MCP_SDK names the client's file in the SDK (tools/mcp-sdk.sh prints it).

import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = dirname(dirname(process.env.MCP_SDK));
const sdk = (file) => import(pathToFileURL(join(folder, file)));

/// Connects to an entry of ACP's `mcpServers`, by its command.
export async function connect(server, { onListChanged, onClose } = {}) {
  const { Client } = await sdk("client/index.js");
  const { ToolListChangedNotificationSchema } = await sdk("types.js");
  const client = new Client({ name: "acp.nvim-tests", version: "1" });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => onListChanged?.());
  client.onclose = () => onClose?.();
  await client.connect(await transport(server));
  return client;
}

async function transport(server) {
  const values = (list) => Object.fromEntries((list ?? []).map(({ name, value }) => [name, value]));
  const { StdioClientTransport, getDefaultEnvironment } = await sdk("client/stdio.js");
  return new StdioClientTransport({
    command: server.command,
    args: server.args,
    env: { ...getDefaultEnvironment(), ...marks(), ...values(server.env) },
    stderr: "inherit",
  });
}

/// The harness looks for processes that were left behind by this.
function marks() {
  const mark = process.env.ACP_TEST_MARK;
  return mark ? { ACP_TEST_MARK: mark } : {};
}

/// Does what a line says. `signal` cancels a call; `onprogress` is told how far it is.
export async function run(client, line, options = {}) {
  const [word, ...rest] = line.trim().split(" ");
  try {
    switch (word) {
      case "ping":
        await client.ping();
        return {};
      case "list":
        return await tools(client);
      case "tool":
        return (await tools(client)).find((tool) => tool.name === rest[0]) ?? null;
      case "call":
        return await call(client, rest[0], parse(rest.slice(1)), options);
      case "many":
        return await many(client, Number(rest[0]), rest[1], parse(rest.slice(2)));
      case "big": {
        const [bytes, name, field] = rest;
        return await call(client, name, { [field]: "x".repeat(Number(bytes)) }, options);
      }
      default:
        return { failed: `no such word: ${word}` };
    }
  } catch (error) {
    return { failed: error.message, ...(error.code === undefined ? {} : { code: error.code }) };
  }
}

function parse(words) {
  const text = words.join(" ").trim();
  return text === "" ? undefined : JSON.parse(text);
}

async function tools(client) {
  const all = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor });
    all.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}

function call(client, name, args, options) {
  const params = { name, ...(args === undefined ? {} : { arguments: args }) };
  // Far beyond what the tests wait: whoever gives up, it is not the client.
  return client.callTool(params, undefined, { timeout: 120_000, ...options });
}

/// Returns how many of the calls were answered as they should, how long all of them took, and
/// the last answer.
async function many(client, count, name, args) {
  const began = process.hrtime.bigint();
  let good = 0;
  let last;
  for (let n = 0; n < count; n++) {
    last = await call(client, name, args, {});
    if (!last.isError) good += 1;
  }
  return { good, ms: Number((process.hrtime.bigint() - began) / 1_000_000n), last };
}
