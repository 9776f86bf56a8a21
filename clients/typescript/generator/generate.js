// Makes src/protocol.ts from protocol/openrpc.json. `node generator/generate.js` writes it; `generate` is for the test.
//
// Knows as much of JSON Schema as the contract uses, and stops at what it does not know: a type that is silently
// `unknown` would be worse than a generator that asks for an hour of work.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const CONTRACT = new URL("../../../protocol/openrpc.json", import.meta.url);
const OUTPUT = new URL("../src/protocol.ts", import.meta.url);

/**
 * @typedef {boolean | { [keyword: string]: any }} Schema
 * @typedef {{ name: string, summary: string, result?: { schema: Schema }, params: unknown[], [extension: string]: any }} Method
 */

/** Keywords that say nothing a TypeScript type can say. */
const IGNORED = new Set(["description", "default", "format", "minimum", "maximum", "minItems", "maxItems", "pattern"]);

/**
 * The text of src/protocol.ts.
 * @returns {string}
 */
export function generate() {
  const contract = JSON.parse(readFileSync(CONTRACT, "utf8"));
  /** @type {Method[]} */
  const methods = contract.methods;
  const toSidecar = methods.filter((method) => method["x-direction"] === "sidecar");
  const toHost = methods.filter((method) => method["x-direction"] === "host");
  /** @param {Method} method */
  const isNotification = (method) => method["x-notification"] === true;
  return `${[
    "// The types of the Toolscout protocol. Made from protocol/openrpc.json by `npm run generate`; do not edit.",
    `/** The version of the protocol that these types are of. */\nexport const PROTOCOL_VERSION = ${JSON.stringify(contract.info.version)};`,
    errorCodes(contract.components.errors),
    methodMap(
      "Requests",
      "Requests that the sidecar answers.",
      toSidecar.filter((method) => !isNotification(method)),
    ),
    methodMap("Notifications", "Notifications that the sidecar takes.", toSidecar.filter(isNotification)),
    methodMap(
      "HostRequests",
      "Requests of the sidecar, each sent only to a host with its capability.",
      toHost.filter((method) => !isNotification(method)),
    ),
    methodMap("HostNotifications", "Notifications of the sidecar.", toHost.filter(isNotification)),
    ...Object.entries(contract.components.schemas).map(([name, schema]) => declaration(name, schema)),
  ].join("\n\n")}\n`;
}

/** @param {{ [name: string]: { code: number, message: string } }} errors */
function errorCodes(errors) {
  const members = Object.entries(errors).map(([name, { code, message }]) => `${doc(message)}${name}: ${code},`);
  return [
    `/** Codes of JSON-RPC errors. */\nexport const ErrorCode = {\n${indented(members.join("\n"))}\n} as const;`,
    "/** One of the codes of `ErrorCode`; others may be added. */\nexport type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];",
  ].join("\n\n");
}

/**
 * @param {string} name
 * @param {string} description
 * @param {Method[]} methods
 */
function methodMap(name, description, methods) {
  const members = methods.map((method) => {
    const params = method["x-params"] === undefined ? emptyParams(method) : type(method["x-params"]);
    const result = method.result === undefined ? "" : `; result: ${type(method.result.schema)}`;
    return `${doc(method.summary)}${JSON.stringify(method.name)}: { params: ${params}${result} };`;
  });
  return `${doc(description)}export interface ${name} {\n${indented(members.join("\n"))}\n}`;
}

/** @param {Method} method */
function emptyParams(method) {
  if (method.params.length > 0) {
    throw new Error(`openrpc.json: ${method.name} has params and no x-params`);
  }
  return "undefined";
}

/**
 * @param {string} name
 * @param {any} schema
 */
function declaration(name, schema) {
  if (isPlainObject(schema)) {
    return `${doc(schema.description)}export interface ${name} ${object(schema)}`;
  }
  const values = (schema.oneOf ?? []).map((/** @type {any} */ one) => `- \`${one.const}\`: ${one.description}`);
  return `${doc([schema.description, ...values].join("\n"))}export type ${name} = ${type(schema)};`;
}

/**
 * A schema as a TypeScript type.
 * @param {any} schema
 * @returns {string}
 */
function type(schema) {
  if (schema === true) {
    return "unknown";
  }
  const keywords = Object.keys(schema).filter((keyword) => !IGNORED.has(keyword));
  const [first] = keywords;
  if (first === undefined) {
    return "unknown";
  }
  const alone = keywords.length === 1;
  switch (first) {
    case "$ref":
      if (alone) return schema.$ref.replace("#/components/schemas/", "");
      break;
    case "allOf":
      if (alone && schema.allOf.length === 1) return type(schema.allOf[0]);
      break;
    case "anyOf":
    case "oneOf":
      if (alone) return union(schema[first].map(type));
      break;
    case "type":
      return "const" in schema ? JSON.stringify(schema.const) : typed(schema);
    default:
  }
  throw new Error(`openrpc.json has a schema that the generator does not know: ${JSON.stringify(schema)}`);
}

/** @param {any} schema */
function typed(schema) {
  if ("enum" in schema) {
    return union(schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)));
  }
  return union(
    [schema.type].flat().map((/** @type {string} */ name) => {
      switch (name) {
        case "integer":
        case "number":
          return "number";
        case "string":
        case "boolean":
        case "null":
          return name;
        case "array": {
          const item = type(schema.items);
          return /^\w+$/.test(item) ? `${item}[]` : `Array<${item}>`;
        }
        case "object":
          return isPlainObject(schema) ? object(schema) : `Record<string, ${type(schema.additionalProperties)}>`;
        default:
          throw new Error(`openrpc.json has a type that the generator does not know: ${name}`);
      }
    }),
  );
}

/** @param {string[]} types */
function union(types) {
  return [...new Set(types)].join(" | ");
}

/** @param {any} schema */
function isPlainObject(schema) {
  return (
    schema.type === "object" && typeof (schema.additionalProperties ?? false) === "boolean" && "properties" in schema
  );
}

/** @param {any} schema */
function object(schema) {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties).map(([name, member]) => {
    const fallback = member.default === undefined ? [] : [`@default ${JSON.stringify(member.default)}`];
    const text = [member.description, ...fallback].filter((line) => line !== undefined).join("\n");
    // Hosts often have `undefined` at hand, and JSON leaves such members out.
    const optional = required.has(name) ? ": " : "?: ";
    const absent = required.has(name) || type(member) === "unknown" ? "" : " | undefined";
    return `${doc(text)}${name}${optional}${type(member)}${absent};`;
  });
  return `{\n${indented(members.join("\n"))}\n}`;
}

/** @param {string | undefined} text */
function doc(text) {
  if (text === undefined || text === "") {
    return "";
  }
  const lines = text.replaceAll("*/", "*\\/").split("\n");
  return lines.length === 1 ? `/** ${lines[0]} */\n` : `/**\n${lines.map((line) => ` * ${line}`).join("\n")}\n */\n`;
}

/** @param {string} text */
function indented(text) {
  return text.replace(/^(?=.)/gm, "  ");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(OUTPUT, generate());
}
