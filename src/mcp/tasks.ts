// Calls that a server runs as tasks.
//
// Job: poll a task that a server created for a call. Between two polls the run waits, and no process must stay alive.
// Servers of revision 2026-07-28 create tasks on their own (extension io.modelcontextprotocol/tasks); servers of
// revision 2025-11-25 if the call requests one.
//
// Invariants:
// 1. The id of a task is journaled before the next request. From then on the call is never made again.
// 2. Every later request may be repeated: polling, answering, cancelling.
// 3. An unreachable server is polled again; a server that no longer knows the task ends the call.
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Client } from "@modelcontextprotocol/client";
import { isJsonObject, Json, ToolResult, type EffectCall, type JsonObject } from "#kernel";
import { McpCallError, type Connection } from "./connection.ts";
import { toShownMcpResult } from "./content.ts";
import {
  askNext,
  beginAnswers,
  takeAnswer,
  type AnswerProgress,
  type InputResponses,
} from "./input-requests.ts";
import type { CallSettings } from "./call-settings.ts";
import { taskKey } from "./task-result.ts";

/** The time between two questions, at least and at most, in seconds. A server may ask for more, up to an hour. */
const minPollS = 0.2;
const maxPollS = 300;
const maxAskedPollS = 3_600;
/** Consecutive failed polls until a task counts as lost. */
const maxFailures = 10;
/** The time that a cancel may take. */
const maxCancelMs = 10_000;

/** A task between two executions of its call. */
export interface FollowedTask {
  readonly id: string;
  /** The questions to the server so far. */
  readonly polls: number;
  /** Consecutive failed polls. */
  readonly failures: number;
  /** The poll interval requested by the server, in seconds. */
  readonly pollS: number;
  /** The input requests that have an answer already. */
  readonly answered: readonly string[];
}

/** The state between two executions of a call that runs as a task. */
interface TaskState extends AnswerProgress {
  readonly task: FollowedTask;
}

/** Reads the result of a call; null: it is not a task. */
export function readTask(result: unknown): FollowedTask | null {
  const given = Json.of(result);
  const meta = isJsonObject(given) ? given["_meta"] : null;
  const task = isJsonObject(meta) ? meta[taskKey] : null;
  if (!isJsonObject(task) || typeof task["taskId"] !== "string") return null;
  return { id: task["taskId"], polls: 0, failures: 0, pollS: readPollS(task), answered: [] };
}

function readPollS({ pollIntervalMs, pollInterval }: JsonObject): number {
  const ms = pollIntervalMs ?? pollInterval;
  return typeof ms === "number" && ms > 0 ? Math.min(ms / 1000, maxAskedPollS) : 0;
}

/** Ends an execution whose call continues as a task. The older the task, the longer the poll interval. */
export function waitForTask(task: FollowedTask, { maxWaitS }: Pick<CallSettings, "maxWaitS">) {
  const delayS = Math.max(minPollS, task.pollS, Math.min(task.polls, maxPollS));
  const state: TaskState = { task, open: [], responses: {} };
  return ToolResult.later(Math.min(delayS, maxWaitS), state, { rerun: true });
}

/** Reads the state of a call; null: it does not run as a task. */
export const readTaskState = (state: Json): TaskState | null =>
  isJsonObject(state) && "task" in state ? Json.as<TaskState>(state) : null;

/** Polls a task, with the user's answers if it needed some. */
export async function followTask(
  connection: Connection,
  settings: CallSettings,
  { tool, call, state }: { readonly tool: string; readonly call: EffectCall; readonly state: TaskState },
): Promise<unknown> {
  const known = takeAnswer(state, call.resumed?.answer ?? null);
  const question = askNext(known, { rerun: true });
  if (question) return question;
  const given = known.responses;
  const task: FollowedTask = {
    ...state.task,
    polls: state.task.polls + 1,
    answered: [...state.task.answered, ...Object.keys(given)],
  };
  const follow = new TaskRequests(connection, settings, { signal: call.signal, id: task.id });
  try {
    if (Object.keys(given).length > 0) await follow.update(given);
    const found = await follow.get();
    call.update({ status: found["status"] ?? null, message: found["statusMessage"] ?? null });
    return await continueTask(follow, settings, {
      tool,
      call,
      task: { ...task, failures: 0, pollS: readPollS(found) },
      found,
    });
  } catch (error) {
    if (!(error instanceof McpCallError) || error.isAnswer) throw error;
    if (task.failures >= maxFailures) return ToolResult.unknownOutcome(error.message);
    const again = { ...state.task, polls: task.polls, failures: task.failures + 1 };
    const next: TaskState = { task: again, open: [], responses: given };
    return ToolResult.later(Math.max(1, again.failures * 3), next, { rerun: true });
  }
}

interface FoundTask {
  readonly tool: string;
  readonly call: EffectCall;
  readonly task: FollowedTask;
  readonly found: JsonObject;
}

async function continueTask(
  follow: TaskRequests,
  settings: CallSettings,
  { tool, call, task, found }: FoundTask,
): Promise<unknown> {
  const { status, statusMessage, error } = found;
  if (status === "input_required") return askForInput(follow, settings, { call, task, found });
  if (status === "cancelled") {
    const why = typeof statusMessage === "string" ? `: ${statusMessage}` : "";
    throw new McpCallError(`the server has cancelled ${tool}${why}`);
  }
  if (status === "failed" && isJsonObject(error))
    throw new McpCallError(`${tool} failed: ${JSON.stringify(error["message"] ?? null)}`);
  if (status === "completed" || status === "failed") return toShownMcpResult(await follow.result(found));
  return waitForTask(task, settings);
}

/** Answers the input requests of a task, or asks the user. */
async function askForInput(
  follow: TaskRequests,
  settings: CallSettings,
  { call, task, found }: Omit<FoundTask, "tool">,
): Promise<unknown> {
  const { inputRequests } = found;
  // A server of the older revision asks in the middle of the request for the result.
  if (!isJsonObject(inputRequests)) return toShownMcpResult(await follow.result(found));
  const unanswered = Object.entries(inputRequests).filter(([key]) => !task.answered.includes(key));
  const state: TaskState = {
    task,
    ...(await beginAnswers(Object.fromEntries(unanswered), settings, call)),
  };
  const question = askNext(state, { rerun: true });
  if (question) return question;
  if (Object.keys(state.responses).length === 0) return waitForTask(task, settings);
  return ToolResult.later(0, state, { rerun: true });
}

/** Cancels the task of a call that is not over. Without an effect if it does not run as one. */
export async function cancelTask(connection: Connection, settings: CallSettings, state: Json): Promise<void> {
  const id = readTaskState(state)?.task.id;
  if (id === undefined) return;
  const signal = AbortSignal.timeout(Math.min(settings.timeoutMs, maxCancelMs));
  await new TaskRequests(connection, settings, { signal, id }).cancel();
}

/** The requests about one task. */
class TaskRequests {
  readonly #connection: Connection;
  readonly #limits: { readonly signal: AbortSignal; readonly timeoutMs: number };
  readonly #id: string;

  constructor(
    connection: Connection,
    { timeoutMs }: CallSettings,
    { signal, id }: { readonly signal: AbortSignal; readonly id: string },
  ) {
    this.#connection = connection;
    this.#limits = { signal, timeoutMs };
    this.#id = id;
  }

  get(): Promise<JsonObject> {
    return this.#request("tasks/get");
  }

  update(inputResponses: InputResponses): Promise<JsonObject> {
    return this.#request("tasks/update", { inputResponses: Json.of(inputResponses) });
  }

  cancel(): Promise<JsonObject> {
    return this.#request("tasks/cancel");
  }

  /** Returns the result of a task: part of its state, or in the older revision a request of its own. */
  async result(found: JsonObject): Promise<Json> {
    return found["result"] ?? this.#request("tasks/result");
  }

  #request(method: string, params: JsonObject = {}): Promise<JsonObject> {
    return this.#connection.use(this.#limits, (client: Client, options) =>
      client.request({ method, params: { ...params, taskId: this.#id } }, anyObject, options),
    );
  }
}

/** The package validates with it; the fields are read one by one. */
const anyObject: StandardSchemaV1<unknown, JsonObject> = {
  "~standard": {
    version: 1,
    vendor: "reeve",
    validate: (value: unknown) => {
      const given = Json.of(value);
      return isJsonObject(given) ? { value: given } : { issues: [{ message: "not an object" }] };
    },
  },
};
