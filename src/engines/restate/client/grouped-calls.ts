import {
  decodeError,
  Json,
  RetryableError,
  type BatchedCall,
  type BatchedReply,
  type ObjectAddress,
  type ObjectDefinition,
} from "#kernel";
import type { MethodCall } from "../sealing/sealed-call.ts";

type Call = (call: MethodCall, signal?: AbortSignal) => Promise<Json>;

/** A call without an answer yet. */
interface QueuedCall extends BatchedCall {
  readonly signal: AbortSignal | undefined;
  readonly resolve: (reply: Json) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of calls in a batch: one call of an object must not take long. */
const maxCalls = 64;

/**
 * Calls of methods from the runs of this process. An object answers one call at a time, so further calls would queue
 * there. They wait here instead and are sent as a batch, in the order of their arrival. A call that meets no other is
 * sent alone, immediately.
 */
export class GroupedCalls {
  readonly #call: Call;
  readonly #definitions: ReadonlyMap<string, ObjectDefinition>;
  /** By object: the calls that wait for the one in flight. */
  readonly #lines = new Map<string, Set<QueuedCall>>();

  /** Objects without a `batchMethod` are called directly. */
  constructor(call: Call, objects: readonly ObjectDefinition[]) {
    this.#call = call;
    this.#definitions = new Map(objects.map((definition) => [definition.type, definition]));
  }

  /** Calls a method. @throws the method's error; the signal's reason. */
  call({ to, method, argument }: MethodCall, signal?: AbortSignal): Promise<Json> {
    const { batchMethod, methods } = this.#definitions.get(to.type) ?? {};
    if (batchMethod === undefined || !methods?.[method]) return this.#call({ to, method, argument }, signal);
    return new Promise((resolve, reject) => {
      const waiting: QueuedCall = { method, argument, signal, resolve, reject };
      const key = `${to.type}/${to.key}`;
      const line = this.#lines.get(key);
      if (line) return enqueueCall(line, waiting);
      const others = new Set<QueuedCall>();
      this.#lines.set(key, others);
      void this.#send(to, batchMethod, [waiting]).then(() => this.#sendNext(key, to, batchMethod));
    });
  }

  /** Whether a call may be made without the journal of a run. */
  isRepeatable({ to, method }: Pick<MethodCall, "to" | "method">): boolean {
    return this.#definitions.get(to.type)?.repeatable?.includes(method) ?? false;
  }

  /** Sends the calls that arrived while the last ones were in flight. */
  async #sendNext(key: string, to: ObjectAddress, batchMethod: string): Promise<void> {
    const line = this.#lines.get(key);
    for (let calls = takeCalls(line); calls.length > 0; calls = takeCalls(line))
      await this.#send(to, batchMethod, calls);
    this.#lines.delete(key);
  }

  /** Sends calls. Never rejects: each call gets its own answer. */
  async #send(to: ObjectAddress, batchMethod: string, calls: readonly QueuedCall[]): Promise<void> {
    const [only] = calls;
    if (only && calls.length === 1) return this.#sendAlone(to, only);
    const given = calls.map(({ method, argument }): BatchedCall => ({ method, argument }));
    const left = rejectAborted(calls);
    try {
      const answer = await this.#call(
        { to, method: batchMethod, argument: Json.of({ calls: given }) },
        left.signal,
      );
      const replies = Json.as<readonly BatchedReply[]>(answer);
      for (const [index, call] of calls.entries()) settleCall(call, replies[index]);
    } catch (error) {
      if (left.signal.aborted) return;
      if (error instanceof RetryableError) return calls.forEach(({ reject }) => reject(error));
      // Together they are too large, or the worker of the object cannot take a batch. Each counts once by its ids.
      await Promise.all(calls.map((call) => this.#sendAlone(to, call)));
    } finally {
      left.end();
    }
  }

  async #sendAlone(
    to: ObjectAddress,
    { method, argument, signal, resolve, reject }: QueuedCall,
  ): Promise<void> {
    await this.#call({ to, method, argument }, signal).then(resolve, reject);
  }
}

function settleCall({ resolve, reject }: QueuedCall, reply: BatchedReply | undefined): void {
  if (!reply) reject(new TypeError("a batch has fewer replies than calls"));
  else if ("error" in reply) reject(decodeError(reply.error));
  else resolve(reply.value);
}

/** Queues a call. If its signal is aborted, it leaves the queue. */
function enqueueCall(line: Set<QueuedCall>, call: QueuedCall): void {
  const { signal, reject } = call;
  if (signal?.aborted) return reject(signal.reason);
  line.add(call);
  signal?.addEventListener("abort", () => line.delete(call) && reject(signal.reason), { once: true });
}

function takeCalls(line: Set<QueuedCall> | undefined): readonly QueuedCall[] {
  const calls = [...(line ?? [])].slice(0, maxCalls);
  for (const call of calls) line?.delete(call);
  return calls;
}

/**
 * Rejects calls whose signals are aborted while they are in flight. The returned signal aborts when no caller is left.
 */
function rejectAborted(calls: readonly QueuedCall[]): {
  readonly signal: AbortSignal;
  readonly end: () => void;
} {
  const controller = new AbortController();
  let left = calls.length;
  const listeners = calls.map(({ signal, reject }) => {
    const leave = (): void => {
      reject(signal?.reason);
      left -= 1;
      if (left === 0) controller.abort(signal?.reason);
    };
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leave, { once: true });
    return () => signal?.removeEventListener("abort", leave);
  });
  return { signal: controller.signal, end: () => listeners.forEach((remove) => remove()) };
}
