// A client without an agent: `node client.mjs SERVER`, an entry of `mcpServers` as JSON.
//
// It prints a line of JSON for each line of stdin (see calls.mjs), in their order, and ends with
// stdin. The first line says how the connection went: `{"connected":SERVER_INFO}` or
// `{"failed":"words"}`, and that is the end. `{"changed":true}` comes in between when the list of
// tools has changed, `{"closed":true}` when the server has closed the connection.

import { createInterface } from "node:readline";

import { connect, run } from "./calls.mjs";

const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

let client;
try {
  client = await connect(JSON.parse(process.argv[2]), {
    onListChanged: () => print({ changed: true }),
    onClose: () => print({ closed: true }),
  });
} catch (error) {
  print({ failed: error.message });
  process.exit(1);
}
print({ connected: client.getServerVersion(), capabilities: client.getServerCapabilities() });
for await (const line of createInterface({ input: process.stdin })) {
  print(await run(client, line));
}
client.onclose = undefined;
await client.close();
