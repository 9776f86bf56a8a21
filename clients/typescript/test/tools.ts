// The tools that the tests register: an MCP server, a plugin, and a tool of the host's own.

import type { RegisterParams } from "../src/index.js";

export const tracker: RegisterParams = {
  source: { name: "tracker", kind: "mcp" },
  tools: [
    {
      name: "create_issue",
      description: "Opens an issue.",
      inputSchema: {
        type: "object",
        properties: { title: { type: "string" }, labels: { type: "array", items: { type: "string" } } },
        required: ["title"],
      },
    },
  ],
};

export const weather: RegisterParams = {
  source: { name: "weather", kind: "plugin" },
  tools: [
    {
      name: "forecast",
      description: "Weather forecast of a city.",
      input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  ],
};

export const host: RegisterParams = {
  source: { name: "host", kind: "core" },
  tools: [
    {
      type: "function",
      function: {
        name: "clarify",
        description: "Asks the person a question.",
        parameters: { type: "object", properties: { question: { type: "string" } }, required: ["question"] },
      },
    },
  ],
};
