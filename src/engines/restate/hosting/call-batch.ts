import type { RestatePromise } from "@restatedev/restate-sdk";
import { type BatchedCall, type BatchedReply, Json, type Seal, TooLargeError } from "#kernel";
import { openJson } from "../sealing/sealed-serde.ts";
import type { RestateOperation } from "./restate-operation.ts";

/** A call in flight, and the seal that opens its reply. */
export interface BegunCall {
  readonly engine: RestatePromise<Uint8Array>;
  readonly reply: Seal;
}

interface PendingBatchCall extends BatchedCall {
  readonly operation: RestateOperation;
}

type Begin = (method: string, argument: Json) => BegunCall | TooLargeError;

/**
 * The calls of a run to its tree since the last race. They are sent when the run next waits: one call alone, several as
 * one batch, with one journal entry and one invocation.
 */
export class CallBatch {
  readonly #method: string;
  #asked: PendingBatchCall[] = [];

  constructor(method: string) {
    this.#method = method;
  }

  add(call: PendingBatchCall): void {
    this.#asked.push(call);
  }

  issue(begin: Begin): void {
    const asked = this.#asked;
    if (asked.length === 0) return;
    this.#asked = [];
    this.#issue(asked, begin);
  }

  #issue(asked: readonly PendingBatchCall[], begin: Begin): void {
    const [first] = asked;
    if (first && asked.length === 1) return issueAlone(first, begin);
    const calls = asked.map(({ method, argument }) => ({ method, argument }));
    const begun = begin(this.#method, { calls });
    if (!(begun instanceof TooLargeError)) return share(asked, begun);
    // Too large for one message. The same on every replay, because it depends only on the arguments.
    const half = Math.ceil(asked.length / 2);
    this.#issue(asked.slice(0, half), begin);
    this.#issue(asked.slice(half), begin);
  }
}

function issueAlone({ operation, method, argument }: PendingBatchCall, begin: Begin): void {
  const begun = begin(method, argument);
  if (begun instanceof TooLargeError) operation.refuse(begun);
  else operation.begin(begun.engine, begun.reply, (bytes) => openJson(begun.reply, bytes));
}

/** Gives each call its part of the reply. */
function share(asked: readonly PendingBatchCall[], { engine, reply }: BegunCall): void {
  let replies: readonly BatchedReply[] | null = null;
  for (const [index, { operation }] of asked.entries())
    operation.beginPart(engine, reply, (bytes) => {
      replies ??= Json.as<readonly BatchedReply[]>(openJson(reply, bytes));
      const own = replies[index];
      if (!own) throw new TypeError("a batch without a reply for each call");
      return "value" in own ? { ok: true, value: own.value } : { ok: false, error: own.error };
    });
}
