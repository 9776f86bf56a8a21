// What an agent loop needs: the tools for the model, and an answer to each of its calls.

import { createHash } from "node:crypto";
import { onAbort } from "./abort.js";
import { BridgeTool, Toolscout } from "./client.js";
import { checked, type RunResult } from "./content.js";
import { sourcesOf, type ToolDefinition, type ToolFor, type ToolSource } from "./definitions.js";
import { CancelledError, messageOf, ResponseError } from "./errors.js";
import { json } from "./json.js";
import type { CallOptions, Handler, ToolscoutOptions } from "./options.js";
import {
  type Content,
  ErrorCode,
  type Format,
  type InvokeParams,
  type InvokeResult,
  type RegisterResult,
  type Scope,
  type ToolProblem,
} from "./protocol.js";
import { type AnswerTo, argumentsOf, type ModelToolCall, type PlainCall, shaped } from "./shapes.js";

/** What an agent is made with. */
export interface AgentOptions<Shape extends Format = Format> extends Omit<ToolscoutOptions, "invoke"> {
  /** Runs one of the host's tools, whether the model called it itself or through the bridge. What it throws, the model is told. */
  run: Handler<InvokeParams, RunResult>;
  /**
   * Whether `run` is also asked for tools that this agent did not give, which the user's and the workspace's registry files
   * add. Otherwise the model is told that nothing runs them (`code: "NOT_RUNNABLE"`). @default false
   */
  runOthers?: boolean | undefined;
  /** The shape of the tools for the model. @default "openai" */
  format?: Shape | undefined;
  /** Context length of the model, in tokens; the listing of deferred tools may take a share of it. */
  contextLength?: number | undefined;
  /** What the session was granted; everything if absent. */
  scope?: Scope | undefined;
}

/** A tool that the sidecar does not serve, or one that it serves and finds odd. */
export interface SourceProblem extends ToolProblem {
  /** Name of its source. */
  source: string;
}

/** What is registered of a source. */
interface Sent {
  /** Hash of the content; `undefined` where a failed call leaves open what is registered. */
  hash: string | undefined;
  rejected: SourceProblem[];
  warnings: SourceProblem[];
}

/** A tool as `run` knows it, but for the arguments. */
type OwnTool = Omit<InvokeParams, "arguments" | "callId">;

/** An agent's side of Toolscout; one for each set of tools that is shown together. */
export class Agent<Shape extends Format = "openai"> implements AsyncDisposable {
  /** For what the loop does not need: searching, explaining, status. */
  readonly client: Toolscout;
  readonly #options: AgentOptions<Shape>;
  readonly #sent = new Map<string, Sent>();
  /** Settles once the turns that began have ended: each sees what the one before it left. */
  #turn: Promise<unknown> = Promise.resolve();
  #array: { etag: string; tools: unknown[] } | undefined;
  /** By visible name, the tools that the host runs itself; listed once a turn, if the model calls one. */
  #own: Promise<Map<string, OwnTool>> | undefined;

  constructor(options: AgentOptions<Shape>) {
    this.#options = options;
    this.client = new Toolscout({ ...options, invoke: (params, context) => this.#invoke(params, context.signal) });
  }

  /** The tools of the last turn that the model does not get, and why. */
  get rejected(): SourceProblem[] {
    return [...this.#sent.values()].flatMap(({ rejected }) => rejected);
  }

  /** What is odd about the tools of the last turn that it does get. */
  get warnings(): SourceProblem[] {
    return [...this.#sent.values()].flatMap(({ warnings }) => warnings);
  }

  /**
   * The array for the model. Give all sources there are, every turn: what changed is registered, what is gone is taken
   * back. An array that stays the same is the same object; do not change it in place. A flat list of tools is one source
   * of kind `plugin`, named `host`. Turns that overlap take place one after the other.
   * @throws TypeError for what are no sources and no tools
   */
  async toolsFor(sources: readonly ToolSource[], options?: CallOptions): Promise<ToolFor<Shape>[]>;
  async toolsFor<Tool extends ToolDefinition>(tools: readonly Tool[], options?: CallOptions): Promise<ToolFor<Shape>[]>;
  async toolsFor(
    tools: readonly ToolSource[] | readonly ToolDefinition[],
    options: CallOptions = {},
  ): Promise<ToolFor<Shape>[]> {
    const sources = sourcesOf(tools);
    const before = this.#turn;
    const turn = (async () => {
      await unlessAborted(before, options.signal);
      return this.#assemble(sources, options);
    })();
    this.#turn = Promise.allSettled([before, turn]);
    return (await turn) as ToolFor<Shape>[];
  }

  /** Does what the model asked, and gives what to send back, in the shape of the call. */
  async answer<Call extends ModelToolCall>(call: Call, options?: CallOptions): Promise<AnswerTo<Call>> {
    const [plain, answerWith] = shaped(call);
    return answerWith(await this.call(plain, options)) as AnswerTo<Call>;
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
      ? refusal(`There is no tool \`${call.name}\`. Call one of those you were given.`)
      : this.#run(found, call, options);
  }

  /** Ends the sidecar. */
  close(): Promise<void> {
    return this.client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #assemble(sources: Map<string, ToolSource>, options: CallOptions): Promise<unknown[]> {
    const gone = [...this.#sent.keys()].filter((name) => !sources.has(name));
    const { contextLength, format, scope } = this.#options;
    const held = this.#array;
    this.#own = undefined;
    // Sent together: `assemble` sees all that was registered before it.
    const registering = [
      ...gone.map((name) => this.#unregister(name, options)),
      ...[...sources].map(([name, source]) => this.#register(name, source, options)),
    ];
    const assembling = this.client.assemble({ contextLength, format, scope, ifEtag: held?.etag }, options);
    // The turn ends with the last of them, so that the next knows what came of each.
    await Promise.allSettled([assembling, ...registering]);
    await Promise.all(registering);
    const { etag, tools = held?.tools ?? [] } = await assembling;
    this.#array = { etag, tools };
    return tools;
  }

  async #register(name: string, source: ToolSource, options: CallOptions): Promise<void> {
    const before = this.#sent.get(name);
    const hash = createHash("sha256").update(json(source)).digest("hex");
    if (before?.hash === hash) {
      return;
    }
    let result: RegisterResult;
    try {
      result = await this.client.register({ ...source, tools: [...source.tools] }, options);
    } catch (error) {
      // What was refused changes nothing. Anything else may have come to pass.
      if (!isRefusal(error)) {
        this.#sent.set(name, { hash: undefined, rejected: [], warnings: [] });
      }
      throw error;
    }
    const of = (problems: ToolProblem[] = []) => problems.map((problem) => ({ source: name, ...problem }));
    const sent = { hash, rejected: of(result.rejected), warnings: of(result.warnings) };
    this.#sent.set(name, sent);
    for (const problem of [...sent.rejected, ...sent.warnings]) {
      this.#options.onLog?.(`tool \`${problem.name}\` of \`${name}\`: ${problem.reason}`);
    }
  }

  async #unregister(name: string, options: CallOptions): Promise<void> {
    try {
      await this.client.unregister(name, options);
    } catch (error) {
      // What cannot even be taken back was never there. Anything else is tried again in the next turn.
      if (!isRefusal(error)) {
        this.#sent.set(name, { hash: undefined, rejected: [], warnings: [] });
        throw error;
      }
    }
    this.#sent.delete(name);
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

  /** Tools of servers are the sidecar's to run, and so is whatever is deferred. */
  async #list(options: CallOptions): Promise<Map<string, OwnTool>> {
    const { sources } = await this.client.list({ tools: true, scope: this.#options.scope }, options);
    return new Map(
      sources
        .filter(({ origin }) => origin !== "server" && origin !== "gateway")
        .flatMap(({ name: source, toolset, tools = [] }) =>
          tools.filter(({ deferred }) => !deferred).map(({ name, tool }) => [name, { name, tool, source, toolset }]),
        ),
    );
  }

  /** Runs a tool that the model called by itself, and answers as the sidecar does for one that it asks the host to run. */
  #run({ name, tool, source, toolset }: OwnTool, call: PlainCall, { signal }: CallOptions): Promise<Content> {
    if (signal?.aborted) {
      return Promise.reject(new CancelledError(`\`${name}\` was cancelled before it ran`, signal.reason));
    }
    const [given, problem] = argumentsOf(call.arguments);
    if (problem !== undefined) {
      return Promise.resolve(refusal(problem));
    }
    const { callId } = call;
    return new Promise((resolve) => {
      // The tool may have had its effect: the model must not take the call for one that was never made.
      const interrupted = `\`${name}\` was interrupted while it ran; it may have taken effect.`;
      const ignoreAbort = onAbort(signal, () => resolve(refusal(interrupted, "INTERRUPTED")));
      this.#invoke({ name, tool, source, toolset, arguments: given, callId }, signal ?? new AbortController().signal)
        .then(
          ({ content, isError = false }) => resolve({ content, isError }),
          (thrown) => resolve(refusal(`\`${name}\` failed: ${messageOf(thrown)}`)),
        )
        .finally(ignoreAbort);
    });
  }

  /** All tools of the host are run here, for the model and for the sidecar alike. */
  async #invoke(params: InvokeParams, signal: AbortSignal): Promise<InvokeResult> {
    if (!this.#options.runOthers && !this.client.gave(params)) {
      const { name, source } = params;
      this.#options.onLog?.(
        `tool \`${name}\` of \`${source}\`: not run, since a registry file gave it; see \`runOthers\``,
      );
      return notRunnable(name, source);
    }
    const answer = await this.#options.run(params, { signal });
    try {
      return checked(answer);
    } catch (error) {
      const { message, cause } = error as Error;
      this.#options.onLog?.(`tool \`${params.name}\`: ${message}: ${messageOf(cause)}`);
      throw error;
    }
  }
}

/** Waits. @throws CancelledError if the signal aborts meanwhile */
function unlessAborted(waited: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelled = () => reject(new CancelledError("the turn was cancelled before it began", signal?.reason));
    const ignoreAbort = onAbort(signal, cancelled);
    void waited.then(() => {
      ignoreAbort();
      resolve();
    });
  });
}

/** Whether the sidecar refused what it was asked, and so did nothing. */
function isRefusal(error: unknown): boolean {
  return error instanceof ResponseError && error.code === ErrorCode.InvalidParams;
}

/** Whether the sidecar says that the name is neither the bridge's nor that of a tool that is called through it. */
function isNoBridgeCall(error: unknown): boolean {
  return isRefusal(error) && ((error as ResponseError).data as { pointer?: unknown } | undefined)?.pointer === "/name";
}

/** Tells the model that nothing runs a tool, in the words of `toolscout mcp`. */
function notRunnable(name: string, source: string): Content {
  const error =
    `\`${name}\` was not invoked: only its definition of \`${source}\` is known here, from a registry, and nothing that ` +
    `runs it. Do not call it again; tell the user that the MCP server \`${source}\` has to be configured under ` +
    "`mcpServers` in Toolscout's config.yaml.";
  return { content: { error, code: "NOT_RUNNABLE", source }, isError: true };
}

/** Tells the model what went wrong, in the form that the sidecar has for it. */
function refusal(error: string, code?: "INTERRUPTED"): Content {
  return { content: { error, ...(code && { code }) }, isError: true };
}
