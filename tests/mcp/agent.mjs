// An agent that uses the tools it is offered: ACP by the official SDK, MCP by the official SDK.
//
// Each line of a prompt is done after the one before it; lines that begin with `&` at the same
// time as their neighbours. What a line comes to is said as `LINE'S WORDS = JSON`.
//
//   list, tool NAME, call NAME {json}, …: see calls.mjs
//   names                     the names of the tools, sorted
//   announce call NAME {json} the same, told as a tool call of the agent's own, as Claude Code does
//   progress call NAME {json} the same, and how far it is
//   confirm ACTION            asks by the tool `confirm`, and does what the user says
//   servers                   which MCP servers it was given
//   watch                     says when the list of tools changes, from now on
//   say WORDS
//
// MCP_SDK and ACP_SDK name a file of each SDK; MCP_REPORT a file that gets a line of JSON for each
// session (`{"opened":SESSION,"by":METHOD,"servers":[…]}`), result and notification.

import { appendFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

import { connect, run } from "./calls.mjs";

const acp = await import(pathToFileURL(join(dirname(process.env.ACP_SDK), "../acp.js")));

const report = (value) => {
  if (process.env.MCP_REPORT) appendFileSync(process.env.MCP_REPORT, `${JSON.stringify(value)}\n`);
};

class Session {
  constructor(id, servers, client) {
    this.id = id;
    this.servers = servers;
    this.client = client;
    this.turn = null;
    this.watches = false;
    this.calls = 0;
  }

  /// The MCP client, connected when it is wanted first: an agent need not wait for its servers.
  tools() {
    this.connected ??= this.connect();
    return this.connected;
  }

  async connect() {
    const server = this.servers.find((server) => server.name === "neovim");
    if (!server) throw new Error("no server \"neovim\" was offered");
    return connect(server, {
      onListChanged: () => this.listChanged(),
      onClose: () => report({ session: this.id, closed: true }),
    });
  }

  listChanged() {
    report({ session: this.id, changed: true });
    if (this.watches) this.say("the tools have changed");
  }

  update(update) {
    return this.client.notify(acp.methods.client.session.update, { sessionId: this.id, update });
  }

  say(text) {
    return this.update({
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: `${text}\n\n` },
    });
  }

  async prompt(text) {
    const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    while (lines.length > 0 && !this.turn.signal.aborted) {
      const together = [lines.shift()];
      while (together[0].startsWith("&") && lines[0]?.startsWith("&")) together.push(lines.shift());
      await Promise.all(together.map((line) => this.line(line.replace(/^&\s*/, ""))));
    }
  }

  async line(line) {
    const [word, ...rest] = line.split(" ");
    const words = rest.join(" ");
    switch (word) {
      case "say":
        return this.say(words);
      case "servers": {
        const kinds = this.servers.map(({ name, type }) => `${name} (${type ?? "stdio"})`);
        return this.say(`servers: ${kinds.join(", ") || "none"}`);
      }
      case "watch":
        this.watches = true;
        await this.tools();
        return this.say("watching");
      case "names": {
        const list = await this.run("list");
        const names = Array.isArray(list) ? list.map(({ name }) => name).sort() : list;
        return this.said("names", names);
      }
      case "confirm":
        return this.confirm(words);
      case "announce":
        return this.announced(words);
      case "progress":
        return this.said(words, await this.run(words, {
          onprogress: ({ progress, total, message }) =>
            this.say(`progress ${progress}/${total ?? "?"} ${message ?? ""}`.trim()),
        }));
      default:
        return this.said(line, await this.run(line));
    }
  }

  async run(line, options = {}) {
    let client;
    try {
      client = await this.tools();
    } catch (error) {
      this.connected = undefined;
      return { failed: error.message };
    }
    const { signal } = this.turn;
    const value = await run(client, line, { signal, ...options });
    // The cancel of the turn comes through another pipe than the cancelled call's result.
    if (value.content?.[0]?.text === "The call was cancelled." && !signal.aborted)
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return value;
  }

  said(line, value) {
    const what = line.split(" {")[0];
    report({ session: this.id, line: what, value });
    // After a cancel nobody listens any more, as with any agent.
    if (!this.turn?.signal.aborted) return this.say(`${what} = ${JSON.stringify(value)}`);
  }

  async confirm(action) {
    const result = await this.run(`call confirm ${JSON.stringify({ action })}`);
    report({ session: this.id, line: "confirm", value: result });
    if (this.turn.signal.aborted) return;
    const data = result.structuredContent ?? {};
    return this.say(data.confirmed === true ? `doing it: ${action}` : `left alone: ${action}`);
  }

  /// Tells the client of the call before it is made, with empty arguments first, and after it.
  async announced(line) {
    const [, name, ...rest] = line.split(" ");
    const rawInput = JSON.parse(rest.join(" ") || "{}");
    const toolCallId = `toolu_${process.pid}_${++this.calls}`;
    const title = `mcp__neovim__${name}`;
    await this.update({
      sessionUpdate: "tool_call", toolCallId, title, kind: "other", status: "pending", rawInput: {},
    });
    await this.update({ sessionUpdate: "tool_call_update", toolCallId, rawInput, title });
    const value = await this.run(line);
    const failed = value.failed !== undefined || value.isError === true;
    const content = (value.content ?? [])
      .filter(({ type }) => type === "text")
      .map((content) => ({ type: "content", content }));
    await this.update({
      sessionUpdate: "tool_call_update", toolCallId, status: failed ? "failed" : "completed", content,
    });
    return this.said(line, value);
  }

  async close() {
    this.turn?.abort();
    const client = await this.connected?.catch(() => undefined);
    await client?.close();
  }
}

const sessions = new Map();
let made = 0;

async function open(id, { params, client }, by) {
  await sessions.get(id)?.close();
  sessions.set(id, new Session(id, params.mcpServers ?? [], client));
  report({ opened: id, by, servers: params.mcpServers ?? [] });
}

const found = (id) => {
  const session = sessions.get(id);
  if (!session) throw new Error(`session ${id} is not open`);
  return session;
};

async function prompt({ params }) {
  const session = found(params.sessionId);
  session.turn = new AbortController();
  const text = params.prompt.map((block) => block.text ?? "").join("");
  await session.prompt(text);
  return { stopReason: session.turn.signal.aborted ? "cancelled" : "end_turn" };
}

acp
  .agent({ name: "mcp-agent" })
  .onRequest("initialize", () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentCapabilities: {
      loadSession: true,
      sessionCapabilities: { resume: {}, close: {} },
    },
  }))
  .onRequest("session/new", async (ctx) => {
    const sessionId = `s${process.pid}-${++made}`;
    await open(sessionId, ctx, "session/new");
    return { sessionId };
  })
  .onRequest("session/load", async (ctx) => {
    await open(ctx.params.sessionId, ctx, "session/load");
    return {};
  })
  .onRequest("session/resume", async (ctx) => {
    await open(ctx.params.sessionId, ctx, "session/resume");
    return {};
  })
  .onRequest("session/close", async ({ params }) => {
    await sessions.get(params.sessionId)?.close();
    sessions.delete(params.sessionId);
    report({ gone: params.sessionId });
    return {};
  })
  .onRequest("session/prompt", prompt)
  .onNotification("session/cancel", ({ params }) => sessions.get(params.sessionId)?.turn?.abort())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

// Without their client nobody uses the servers any more, and they would keep the process alive.
process.stdin.on("close", async () => {
  await Promise.all([...sessions.values()].map((session) => session.close()));
  process.exit(0);
});
