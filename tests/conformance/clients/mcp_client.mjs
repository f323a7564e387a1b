// The protocol's own TypeScript client against a server: node mcp_client.mjs URL TOKEN CALLS
// CALLS is a JSON list of [tool, arguments]; what each came to is printed as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token, calls] = process.argv.slice(2);
const client = new Client({ name: "mainspring-test", version: "1.0.0" });
const headers = { Authorization: `Bearer ${token}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

const tools = [];
let cursor;
do {
  const page = await client.listTools(cursor ? { cursor } : undefined);
  tools.push(...page.tools);
  cursor = page.nextCursor;
} while (cursor);

const answers = [];
for (const [name, given, options = {}] of JSON.parse(calls)) {
  const progress = [];
  const onprogress = options.progress ? (one) => progress.push(one) : undefined;
  try {
    const result = await client.callTool({ name, arguments: given }, undefined, { onprogress });
    answers.push({ result, progress });
  } catch (error) {
    answers.push({ thrown: String(error), progress });
  }
}
console.log(JSON.stringify({ tools, answers }));
await client.close();
