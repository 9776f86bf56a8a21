// What an agent loop needs: the tools for the model, and an answer to each of its calls.

import { createHash } from "node:crypto";
import { BridgeTool, Toolscout } from "./client.js";
import { messageOf, ResponseError } from "./errors.js";
import type { CallOptions, Handler, ToolscoutOptions } from "./options.js";
import {
  type Content,
  ErrorCode,
  type Format,
  type InvokeParams,
  type InvokeResult,
  type RegisterParams,
  type Scope,
} from "./protocol.js";
import { type AnswerTo, type ModelToolCall, type PlainCall, shaped } from "./shapes.js";

/** A source and its tools, in the shape of OpenAI, Anthropic or MCP. */
export type ToolSource = RegisterParams;

/** What an agent is made with. */
export interface AgentOptions extends Omit<ToolscoutOptions, "invoke"> {
  /** Runs one of the host's tools, whether the model called it itself or through the bridge. What it throws, the model is told. */
  run: Handler<InvokeParams, InvokeResult>;
  /** The shape of the tools for the model. @default "openai" */
  format?: Format | undefined;
  /** Context length of the model, in tokens; the listing of deferred tools may take a share of it. */
  contextLength?: number | undefined;
  /** What the session was granted; everything if absent. */
  scope?: Scope | undefined;
}

/** Stands for the hash of a source where a failed call leaves open what is registered: no content has it. */
const UNKNOWN = "";

/** A tool as `run` knows it, but for the arguments. */
type OwnTool = Omit<InvokeParams, "arguments" | "callId">;

/** An agent's side of Toolscout; one for each set of tools that is shown together. */
export class Agent implements AsyncDisposable {
  /** For what the loop does not need: searching, explaining, status. */
  readonly client: Toolscout;
  readonly #options: AgentOptions;
  /** By name, the hash of each source that is registered. */
  readonly #sent = new Map<string, string>();
  #array: { etag: string; tools: unknown[] } | undefined;
  /** By visible name, the tools that the host runs itself; listed once a turn, if the model calls one. */
  #own: Promise<Map<string, OwnTool>> | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.client = new Toolscout({ ...options, invoke: options.run });
  }

  /**
   * The array for the model. Give all sources there are, every turn: what changed is registered, what is gone is taken
   * back. An array that stays the same is the same object; do not change it in place. A flat list of tools is one source
   * of kind `plugin`, named `host`.
   */
  async toolsFor<Tool = unknown>(
    tools: readonly ToolSource[] | readonly unknown[],
    options?: CallOptions,
  ): Promise<Tool[]> {
    const sources = sourcesOf(tools);
    const gone = [...this.#sent.keys()].filter((name) => !sources.has(name));
    const { contextLength, format, scope } = this.#options;
    const held = this.#array;
    this.#own = undefined;
    // Sent together: `assemble` sees all that was registered before it.
    const registering = [
      ...gone.map((name) => this.#unregister(name, options)),
      ...[...sources.values()].map((source) => this.#register(source, options)),
    ];
    const assembling = this.client.assemble({ contextLength, format, scope, ifEtag: held?.etag }, options);
    const [{ etag, tools: array = held?.tools ?? [] }] = await Promise.all([assembling, ...registering]);
    this.#array = { etag, tools: array };
    return array as Tool[];
  }

  /** Does what the model asked, and gives what to send back, in the shape of the call. */
  async answer<Call extends ModelToolCall>(call: Call, options?: CallOptions): Promise<AnswerTo<Call>> {
    const [plain, answerWith] = shaped(call);
    const { content, isError } = await this.call(plain, options);
    return answerWith(typeof content === "string" ? content : JSON.stringify(content), isError) as AnswerTo<Call>;
  }

  /** As `answer`, without a shape: for a provider that has another. */
  async call(call: PlainCall, options: CallOptions = {}): Promise<Content> {
    const own = Object.values<string>(BridgeTool).includes(call.name)
      ? undefined
      : await this.#find(call.name, options);
    if (own !== undefined) {
      return this.#run(own, call, options);
    }
    try {
      const result = await this.client.bridgeCall({ ...call, scope: this.#options.scope }, options);
      return "dispatch" in result ? this.#run(result.dispatch, { ...call, ...result.dispatch }, options) : result;
    } catch (error) {
      if (!isNoBridgeCall(error)) {
        throw error;
      }
    }
    // It may have become the host's own since it was listed.
    this.#own = undefined;
    const found = await this.#find(call.name, options);
    return found === undefined
      ? failure(`There is no tool \`${call.name}\`. Call one of those you were given.`)
      : this.#run(found, call, options);
  }

  /** Ends the sidecar. */
  close(): Promise<void> {
    return this.client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #register(source: ToolSource, options: CallOptions | undefined): Promise<void> {
    const { name } = source.source;
    const hash = createHash("sha256").update(JSON.stringify(source)).digest("hex");
    if (this.#sent.get(name) === hash) {
      return;
    }
    this.#sent.set(name, hash);
    try {
      const { rejected, warnings = [] } = await this.client.register(source, options);
      for (const problem of [...rejected, ...warnings]) {
        this.#options.onLog?.(`tool \`${problem.name}\` of \`${name}\`: ${problem.reason}`);
      }
    } catch (error) {
      if (this.#sent.get(name) === hash) {
        this.#sent.set(name, UNKNOWN);
      }
      throw error;
    }
  }

  async #unregister(name: string, options: CallOptions | undefined): Promise<void> {
    this.#sent.delete(name);
    try {
      await this.client.unregister(name, options);
    } catch (error) {
      if (!this.#sent.has(name)) {
        this.#sent.set(name, UNKNOWN);
      }
      throw error;
    }
  }

  async #find(name: string, options: CallOptions): Promise<OwnTool | undefined> {
    this.#own ??= this.#list(options);
    const listed = this.#own;
    try {
      return (await listed).get(name);
    } catch (error) {
      if (this.#own === listed) {
        this.#own = undefined;
      }
      throw error;
    }
  }

  async #list(options: CallOptions): Promise<Map<string, OwnTool>> {
    const { sources } = await this.client.list({ tools: true, scope: this.#options.scope }, options);
    return new Map(
      sources.flatMap(({ name: source, toolset, tools = [] }) =>
        tools.filter(({ deferred }) => !deferred).map(({ name, tool }) => [name, { name, tool, source, toolset }]),
      ),
    );
  }

  async #run({ name, tool, source, toolset }: OwnTool, call: PlainCall, options: CallOptions): Promise<Content> {
    const given = objectOf(call.arguments);
    if (given === undefined) {
      return failure(`\`${name}\` was not invoked: its arguments are no JSON object.`);
    }
    const signal = options.signal ?? new AbortController().signal;
    const { callId } = call;
    try {
      const params = { name, tool, source, toolset, arguments: given, callId };
      const { content = null, isError = false } = await this.#options.run(params, { signal });
      return { content, isError };
    } catch (thrown) {
      return failure(messageOf(thrown));
    }
  }
}

/** By name, the sources that a host gave. */
function sourcesOf(tools: readonly unknown[]): Map<string, ToolSource> {
  const isSource = (item: unknown) => typeof item === "object" && item !== null && "source" in item && "tools" in item;
  const sources: ToolSource[] =
    tools.length === 0 || tools.every(isSource)
      ? (tools as ToolSource[])
      : [{ source: { name: "host", kind: "plugin" }, tools: [...tools] }];
  const named = new Map(sources.map((source) => [source.source.name, source]));
  if (named.size < sources.length) {
    throw new TypeError("two sources have the same name: the second would take the place of the first");
  }
  return named;
}

/** Whether the sidecar says that the name is neither the bridge's nor a deferred tool's. */
function isNoBridgeCall(error: unknown): boolean {
  return (
    error instanceof ResponseError &&
    error.code === ErrorCode.InvalidParams &&
    (error.data as { pointer?: unknown } | undefined)?.pointer === "/name"
  );
}

/** Arguments as a tool takes them: models give an object, or its JSON text, which is empty where there are none. */
function objectOf(given: unknown): Record<string, unknown> | undefined {
  let value = given;
  try {
    value = typeof given === "string" ? JSON.parse(given || "{}") : (given ?? {});
  } catch {
    return undefined;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

function failure(error: string): Content {
  return { content: { error }, isError: true };
}
