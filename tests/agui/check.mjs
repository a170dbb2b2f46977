// check.mjs SDK FILE: checks that each line of FILE is a run as the official schemas have it, with
// no field that they do not know. Prints the number of lines, or the first mistake.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [sdk, file] = process.argv.slice(2);
const schemas = createRequire(sdk)("@ag-ui/core/schemas");
const messages = {
  assistant: schemas.AssistantMessageSchema,
  reasoning: schemas.ReasoningMessageSchema,
  tool: schemas.ToolMessageSchema,
  user: schemas.UserMessageSchema,
};
const lines = readFileSync(file, "utf8").trim().split("\n");
for (const line of lines) {
  const run = JSON.parse(line);
  schemas.RunAgentInputSchema.strict().parse(run);
  for (const message of run.messages) {
    messages[message.role].strict().parse(message);
  }
  for (const tool of run.tools) {
    schemas.ToolSchema.strict().parse(tool);
  }
  for (const entry of run.resume ?? []) {
    schemas.ResumeEntrySchema.strict().parse(entry);
  }
}
console.log(lines.length);
