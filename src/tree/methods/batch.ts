import {
  encodeError,
  isJsonObject,
  Json,
  NotFoundError,
  RetryableError,
  RunId,
  type AgentId,
  type BatchedCall,
  type BatchedReply,
  type MessageId,
  type ObjectAddress,
  type ObjectContext,
  type ObjectDefinition,
  type ObjectMethod,
  type RunLaunch,
  type SendOptions,
} from "#kernel";
import { liveKeys } from "../state/live-runs.ts";
import { mailName, seenKey } from "../state/seen.ts";
import { runKey, slotKey } from "../state/stored-run.ts";
import { treeKeys } from "../state/tree-record.ts";

/*
 * Batches of calls to one tree: calls that a run makes at the same moment, or that meet on their way.
 *
 * 1. The calls are made in order, and each sees the writes of those before it.
 * 2. Each is all or nothing, as if it had come alone. A call that throws changes nothing, and the next calls proceed.
 * 3. Values that the calls read are fetched in one round trip, as far as their arguments name them.
 * 4. A RetryableError is not an answer: then none of the calls is made, and the engine repeats the batch.
 */

/** The name of the method that makes several calls. */
const batchMethod = "batch";

/** Adds the method that makes several calls of a tree's methods. Each call states its own protocol number. */
export function withBatch(definition: ObjectDefinition): ObjectDefinition {
  const { methods } = definition;
  const batch: ObjectMethod = (object, argument) => {
    const { calls } = Json.as<{ readonly calls: readonly BatchedCall[] }>(argument);
    object.prefetch([...new Set([...treeKeys, ...calls.flatMap(namesOf)])]);
    return Json.of(calls.map((call) => answerCall(object, methods, call)));
  };
  return { ...definition, methods: { ...methods, [batchMethod]: batch }, batchMethod };
}

function answerCall(
  object: ObjectContext,
  methods: ObjectDefinition["methods"],
  { method: name, argument }: BatchedCall,
): BatchedReply {
  const method = methods[name];
  if (!method) return { error: encodeError(new NotFoundError({ what: "method", id: name })) };
  const work = new BatchedWork(object);
  try {
    const value = method(work, argument);
    work.commit();
    return { value };
  } catch (error) {
    // An engine that has to fetch a value leaves the method by throwing a value that is not an Error.
    if (!(error instanceof Error) || error instanceof RetryableError) throw error;
    return { error: encodeError(error) };
  }
}

/** Returns the names that a call reads, as far as its argument tells. */
function namesOf({ method, argument }: BatchedCall): readonly string[] {
  if (!isJsonObject(argument) || typeof argument["run"] !== "string") return [];
  const run = Json.as<RunId>(argument["run"]);
  const records = [run, RunId.root(RunId.tree(run))].flatMap((id) => [slotKey(id), runKey(id)]);
  if (method === "end") return [...records, ...liveKeys(run)];
  if (method !== "spawn") return records;
  const { agentId, messageId } = Json.as<{ readonly agentId: AgentId; readonly messageId: MessageId }>(
    argument,
  );
  return [...records, seenKey(mailName(agentId, messageId))];
}

/** One call of a batch. Its writes and messages take effect when it has returned. */
class BatchedWork implements ObjectContext {
  readonly key: string;
  readonly maxValueBytes: number;
  readonly keepsReferences: boolean;
  readonly #object: ObjectContext;
  readonly #written = new Map<string, Json>();
  readonly #afterwards: (() => void)[] = [];

  constructor(object: ObjectContext) {
    this.key = object.key;
    this.maxValueBytes = object.maxValueBytes;
    this.keepsReferences = object.keepsReferences;
    this.#object = object;
  }

  now(): number {
    return this.#object.now();
  }

  hostedSince(): number {
    return this.#object.hostedSince();
  }

  get(name: string): Json {
    const written = this.#written.get(name);
    return written === undefined ? this.#object.get(name) : written;
  }

  prefetch(names: readonly string[]): void {
    this.#object.prefetch(names);
  }

  list(prefix: string): readonly string[] {
    const names = new Set(this.#object.list(prefix));
    for (const [name, value] of this.#written) {
      if (value === null) names.delete(name);
      else if (name.startsWith(prefix)) names.add(name);
    }
    return [...names].toSorted();
  }

  set(name: string, value: Json): void {
    this.#written.set(name, value);
  }

  clear(name: string): void {
    this.#written.set(name, null);
  }

  send(to: ObjectAddress, method: string, argument: Json, options?: SendOptions): void {
    this.#afterwards.push(() => this.#object.send(to, method, argument, options));
  }

  call(to: ObjectAddress, method: string, argument: Json): Json {
    return this.#object.call(to, method, argument);
  }

  /** Launches immediately: no method throws an error of its own after a launch. */
  launch(run: RunLaunch): string {
    return this.#object.launch(run);
  }

  wake(execution: string, name: string, value?: Json): void {
    this.#afterwards.push(() => this.#object.wake(execution, name, value));
  }

  cancel(execution: string): void {
    this.#afterwards.push(() => this.#object.cancel(execution));
  }

  kill(execution: string): void {
    this.#afterwards.push(() => this.#object.kill(execution));
  }

  commit(): void {
    for (const [name, value] of this.#written) {
      if (value === null) this.#object.clear(name);
      else this.#object.set(name, value);
    }
    for (const act of this.#afterwards) act();
  }
}
