import type { CallToolRequest } from "@modelcontextprotocol/client";
import { ContentBlock, isJsonObject, Json, ToolResult, type EffectCall, type JsonObject } from "#kernel";
import type { CallSettings } from "./call-settings.ts";
import { McpCallError, type Connection } from "./connection.ts";
import { toShownMcpResult } from "./content.ts";
import {
  askNext,
  beginAnswers,
  readInputRequired,
  takeAnswer,
  type AnswerProgress,
} from "./input-requests.ts";
import type { McpPin } from "./pins.ts";
import { followTask, readTask, readTaskState, waitForTask } from "./tasks.ts";

/** Rounds of one execution in which a server has the model called. */
const maxRounds = 5;

/** The state between two executions of a call that needs input. */
interface CallState extends AnswerProgress {
  readonly requestState: string | null;
}

/** A call of a pinned tool. */
interface PinnedCall {
  readonly pin: McpPin;
  readonly input: Json;
  readonly call: EffectCall;
}

/** A call that was sent and not answered. */
class UnansweredError extends McpCallError {}

/**
 * Calls a pinned tool, if the server still lists it as approved. Failures are returned as results; a call that was sent
 * and not answered has an unknown outcome.
 */
export async function callPinned(
  connection: Connection,
  settings: CallSettings,
  { pin, input, call }: PinnedCall,
): Promise<unknown> {
  const limited = { signal: call.signal, timeoutMs: settings.timeoutMs };
  // Before the timeout of the tool, which cannot tell whether the call was sent.
  const until = performance.now() + settings.timeoutMs;
  const { resumed } = call;
  const task = resumed && readTaskState(resumed.state);
  if (task)
    return asResult(call.signal, () =>
      followTask(connection, settings, { tool: pin.name, call, state: task }),
    );
  const known = resumed && takeAnswer(Json.as<CallState>(resumed.state), resumed.answer);
  const next = known && askNext(known);
  if (next) return next;
  return asResult(call.signal, async () => {
    const problem = await findCallProblem(connection, { settings, pin }, limited);
    if (problem !== null) {
      settings.onProblem(problem);
      throw new McpCallError(problem);
    }
    return continueCall(connection, settings, { pin, input, call, known, until });
  });
}

/** Turns failures into results. A signal's reason is thrown on. */
export async function asResult(signal: AbortSignal, body: () => Promise<unknown>): Promise<unknown> {
  try {
    return await body();
  } catch (error) {
    if (signal.aborted || !(error instanceof McpCallError || error instanceof TypeError)) throw error;
    if (error instanceof UnansweredError) return ToolResult.unknownOutcome(error.message);
    return ToolResult.show([ContentBlock.text(error.message)], { isError: true });
  }
}

async function findCallProblem(
  connection: Connection,
  { settings: { server }, pin }: { readonly settings: CallSettings; readonly pin: McpPin },
  limited: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<string | null> {
  const now = await connection.use(limited, () => connection.hashOf(pin.name, limited));
  if (now === pin.hash) return null;
  const what =
    now === undefined
      ? "is no longer listed"
      : now === null
        ? "is listed twice"
        : "has changed since it was approved (description or schema)";
  return `tool ${pin.name} of MCP server ${server} ${what}. It is off until reeve mcp pin ${server} approves it`;
}

interface SentCall extends PinnedCall {
  readonly known: CallState | null;
  /** The time by which it must have been answered, on the clock of `performance`. */
  readonly until: number;
}

/** Makes the call, with the user's answers if it requested input. */
async function continueCall(
  connection: Connection,
  settings: CallSettings,
  { known: first, ...made }: SentCall,
): Promise<unknown> {
  const { pin, call } = made;
  let known = first;
  for (let round = 0; round < maxRounds; round += 1) {
    const result = await request(connection, settings, { ...made, known });
    const task = readTask(result);
    if (task) return waitForTask(task, settings);
    const needed = readInputRequired(result);
    if (!needed) return toShownMcpResult(result);
    known = { requestState: needed.state, ...(await beginAnswers(needed.requests, settings, call)) };
    const next = askNext(known);
    if (next) return next;
  }
  throw new McpCallError(`tool ${pin.name} asked for input ${maxRounds} times`);
}

async function request(
  connection: Connection,
  { timeoutMs }: CallSettings,
  { pin, input, call, known, until }: SentCall,
): Promise<unknown> {
  const given: JsonObject = isJsonObject(input) ? input : {};
  // The package's types omit the answers, although its wire format has them.
  const params = {
    name: pin.name,
    arguments: given,
    ...((await connection.needsTask(pin.name, { signal: call.signal, timeoutMs })) && { task: {} }),
    ...(known && {
      inputResponses: known.responses,
      ...(known.requestState !== null && { requestState: known.requestState }),
    }),
  } as CallToolRequest["params"];
  const limited = { signal: call.signal, timeoutMs };
  const answer = connection.use(limited, async (client, options) => {
    const timeout = until - performance.now();
    if (timeout <= 0) throw new McpCallError(`not called: ${timeoutMs / 1000} s had passed before`);
    return client.callTool(params, {
      ...options,
      timeout,
      allowInputRequired: true,
      // The schema of its output is not compiled: it is the server's.
      toolDefinition: { name: pin.name, inputSchema: { type: "object" } },
      onprogress: ({ progress, total, message }) =>
        call.update({ progress, ...(total !== undefined && { total }), ...(message && { message }) }),
    });
  });
  return answer.catch((error: unknown) => {
    throw error instanceof McpCallError && error.mayHaveRun ? new UnansweredError(error.message) : error;
  });
}
