// One of several processes, in several languages, on one shared sidecar. Speaks JSON lines; see `usage`.

import { once } from "node:events";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Toolscout } from "toolscout-client";

const usage = `peer --workspace DIR --name NAME [--binary PATH]

Registers a tool \`hello\` under NAME, prints {"ready": ...}, then {"changed": ...} for every change of the catalog, and
answers lines of standard input: \`call TEXT\` calls its own hello, \`search WORDS\` searches. Ends with its input.`;

const { values } = parseArgs({
  options: { binary: { type: "string" }, workspace: { type: "string" }, name: { type: "string" } },
});
const { binary, workspace, name } = values;
if (workspace === undefined || name === undefined) {
  console.error(usage);
  process.exit(2);
}

const client = new Toolscout({
  binary,
  workspace,
  shared: true,
  invoke: ({ arguments: given }) => ({ content: { from: name, text: given.text } }),
  onDidChange: ({ added, removed, changed }) => print({ changed: { added, removed, changed } }),
  onStderr: (line) => console.error(line),
});

const own = await client.register({
  source: { name, kind: "mcp" },
  tools: [
    {
      name: "hello",
      description: `Says hello in ${name}.`,
      inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    },
  ],
});
if (own.accepted !== 1) {
  throw new Error(`hello was refused: ${JSON.stringify(own.rejected)}`);
}
await client.assemble({ contextLength: 200_000 });
const [{ pid }, { sources }] = await Promise.all([client.status(), client.list({ tools: true })]);
const names = sources.flatMap(({ tools = [] }) => tools.map((tool) => tool.name));
const hello = sources.find((source) => source.name === name)?.tools?.[0]?.name ?? "hello";
print({ ready: { pid, names: names.sort() } });

const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  answer(line).catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
});
await once(input, "close");
await client.close();

async function answer(line: string): Promise<void> {
  const [command, ...words] = line.split(" ");
  const text = words.join(" ");
  if (command === "call") {
    const result = await client.toolCall(hello, { text });
    print({ answer: "content" in result ? result.content : result });
  } else if (command === "search") {
    const { content } = await client.toolSearch([text]);
    const { results } = content as { results: { matches: string[] }[] };
    print({ matches: results[0]?.matches });
  } else {
    throw new Error(`no such command: ${line}\n${usage}`);
  }
}

function print(message: object): void {
  console.log(JSON.stringify(message));
}
