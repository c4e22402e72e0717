import { extension, tool } from "#agents";
import { Json, type EffectCall, type Extension, type Tool } from "#kernel";
import { Connection } from "./connection.ts";
import type { CallSettings } from "./call-settings.ts";
import { callPinned } from "./make-call.ts";
import { toStandardObjectSchema } from "./object-schema.ts";
import { readElicitation, toFields } from "./input-requests.ts";
import type { ElicitAnswer, ServerRequests } from "./open-client.ts";
import { checkAddress, type McpOptions, type McpToolOptions } from "./options.ts";
import { readPins, type McpPin } from "./pins.ts";
import { promptTools, resourceTools } from "./resource-tools.ts";
import { sample } from "./sampling.ts";
import { cancelTask } from "./tasks.ts";
import type { ToolTerms } from "./tool-terms.ts";

/** Characters of a description that a model is shown. */
const maxDescription = 2_000;
/** Bytes of a schema, as JSON. A tool with a larger one is off. */
const maxSchemaBytes = 32_000;

/** The tools of an MCP server, for `agent({ extensions })`. Disconnects when it is disposed of. */
export interface McpExtension extends Extension, AsyncDisposable {
  /** Tools that are off, each with the reason. */
  readonly problems: readonly string[];
}

/**
 * Creates an extension with the approved tools of an MCP server. The tools are those of the pins: nothing is connected
 * before the first call, and later changes of the server do not change what a model sees.
 * @throws TypeError if an option is wrong or no tools were approved.
 */
export function mcp(options: McpOptions): McpExtension {
  checkAddress(options);
  const { name, maxConcurrency = 4, tools: chosen = {} } = options;
  const active = new Set<EffectCall>();
  const cancels = new Set<Promise<void>>();
  const connection = new Connection(options, requestsOf(options, active), maxConcurrency);
  const problems: string[] = [];
  const pins = readPins(name, options.pins).tools;
  const added = new Set<string>();
  const settings = toCallSettings(options, (problem) => {
    if (added.has(problem)) return;
    added.add(problem);
    options.onProblem?.(problem);
  });
  const own = [
    ...(options.resources ? resourceTools(connection, settings) : []),
    ...(options.prompts ? promptTools(connection, settings) : []),
  ];
  const known = new Set([...pins.map((pin) => pin.name), ...own.map(({ short }) => short)]);
  const unknown = Object.keys(chosen).find((each) => !known.has(each));
  if (unknown !== undefined)
    throw new TypeError(
      `MCP server ${name} has no approved tool ${unknown}: it has ${[...known].join(", ")}`,
    );
  const taken = new Set(own.map(({ short }) => short));
  const tools = pins.flatMap((pin): readonly Tool[] => {
    if (chosen[pin.name]?.off === true) return [];
    const problem = findPinProblem(name, pin, { taken, pins });
    if (problem === null) return [pinnedTool(connection, { options, settings, pin, active, cancels })];
    problems.push(problem);
    options.onProblem?.(problem);
    return [];
  });
  const built = own
    .filter(({ short }) => chosen[short]?.off !== true)
    .map(({ short, make }) => make(flowOf(options, chosen[short])));
  const made = extension({ name: `mcp.${name}`, tools: [...built, ...tools] });
  return Object.freeze({
    ...made,
    problems: Object.freeze(problems),
    [Symbol.asyncDispose]: async () => {
      await Promise.allSettled(cancels);
      await connection.close();
    },
  });
}

const toCallSettings = (
  { name, command, timeoutS = 60, elicitation, sampling, maxSamplingTokens = 1_000 }: McpOptions,
  onProblem: (problem: string) => void,
): CallSettings => ({
  server: name,
  timeoutMs: timeoutS * 1000,
  // A program that is started here is ended when it is idle, and its tasks with it.
  maxWaitS: command === undefined ? Infinity : 20,
  asks: elicitation === "ask",
  samples: sampling === "allow",
  maxSamplingTokens,
  onProblem,
});

/** Answers requests that a server of an older revision sends during a call. */
function requestsOf(options: McpOptions, active: ReadonlySet<EffectCall>): ServerRequests {
  const { name, elicitation, answerInCall, sampling, maxSamplingTokens = 1_000 } = options;
  const elicit = async (params: unknown): Promise<ElicitAnswer> => {
    const question = readElicitation(Json.of(params));
    if (!question || !answerInCall) return { action: "decline" };
    const { message } = question;
    const schema = "schema" in question ? question.schema : null;
    const content = await answerInCall({
      server: name,
      message,
      schema,
      url: "url" in question ? question.url : null,
    });
    return content ? { action: "accept", content: toFields(content) } : { action: "decline" };
  };
  return {
    ...((elicitation === "ask" || answerInCall) && { elicit }),
    ...(sampling === "allow" && {
      sample: async (params: unknown) => {
        const [only, ...others] = active;
        // Only if a single call is in flight, it is certain which one to charge.
        if (!only || others.length > 0) throw new TypeError("sampling needs exactly one call in flight");
        return sample(params, only.llm, maxSamplingTokens);
      },
    }),
  };
}

/** Returns why a pinned tool is off; null: it is on. */
function findPinProblem(
  server: string,
  { name, inputSchema }: McpPin,
  { taken, pins }: { readonly taken: ReadonlySet<string>; readonly pins: readonly McpPin[] },
): string | null {
  const what = `tool ${name} of MCP server ${server} is off`;
  const own = shownName(server, name);
  if (taken.has(name) || pins.filter((pin) => shownName(server, pin.name) === own).length > 1)
    return `${what}: another tool has the name ${own}`;
  if (own.length > 64) return `${what}: its name must have at most 64 characters, got ${own.length}`;
  const bytes = Buffer.byteLength(JSON.stringify(inputSchema));
  return bytes > maxSchemaBytes
    ? `${what}: its schema must have at most ${maxSchemaBytes} bytes, got ${bytes}`
    : null;
}

/** The prefix has no `_`, so no server can take a name of another one. */
const shownName = (server: string, name: string): string =>
  `${server}_${name.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`;

function flowOf({ trust, sensitivity }: McpOptions, given: McpToolOptions = {}): ToolTerms {
  const read = given.sensitivity ?? sensitivity;
  return {
    risk: given.risk ?? "high",
    origin: "web",
    ...(trust && { trust }),
    ...(read && { sensitivity: read }),
    ...(given.idempotent !== undefined && { idempotent: given.idempotent }),
  };
}

interface PinnedTool {
  readonly options: McpOptions;
  readonly settings: CallSettings;
  readonly pin: McpPin;
  /** The calls under way. */
  readonly active: Set<EffectCall>;
  /** Cancellations of tasks in flight: the connection remains open for them. */
  readonly cancels: Set<Promise<void>>;
}

function pinnedTool(connection: Connection, { options, settings, pin, active, cancels }: PinnedTool): Tool {
  const { description, inputSchema } = pin;
  const shown =
    description.length > maxDescription ? `${description.slice(0, maxDescription)}…` : description;
  return tool<Json>({
    name: shownName(options.name, pin.name),
    description: shown,
    input: toStandardObjectSchema(inputSchema),
    ...flowOf(options, options.tools?.[pin.name]),
    timeoutS: settings.timeoutMs / 1000 + 1,
    cancel: (state) => {
      const cancelling = cancelTask(connection, settings, state);
      cancels.add(cancelling);
      return cancelling.finally(() => cancels.delete(cancelling));
    },
    execute: async (input, call) => {
      active.add(call);
      try {
        return await callPinned(connection, settings, { pin, input, call });
      } finally {
        active.delete(call);
      }
    },
  });
}
