import { randomUUID } from "node:crypto";
import { Json, NotFoundError, TooLargeError } from "#kernel";
import type { Seal } from "#sealing";
import type { Ingress } from "./ingress.ts";
import { opened, sealed } from "./sealed-serde.ts";

/** The most that a journal keeps of one step. */
const inlineBytes = 1_000_000;
/** The most that a step may return. */
const largestBytes = 64_000_000;

const asValue = 0;
const asReference = 1;

/** Names what lies in parts. */
interface Reference {
  readonly blob: string;
  readonly size: number;
}

/** Where parts lie. */
export type Blobs = Pick<Ingress, "put" | "get">;

/** What is left of a closure that has ended. */
export type StepResult =
  | {
      /** For the journal: the value, or where it lies. */
      readonly journaled: Uint8Array;
      /** The value, sealed. */
      readonly whole: Uint8Array;
    }
  /** Why its value cannot be kept. */
  | { readonly refused: unknown };

/**
 * Results of steps on their way into a journal and back. Restate fails on a large one and executes its step again,
 * for ever: so a large one is laid aside in parts before the journal hears of it, and the journal keeps its name.
 */
export class StepResults {
  readonly #partition: string;
  readonly #seal: Seal;
  readonly #blobs: Blobs;
  readonly #parts = new Set<string>();

  constructor(fields: { readonly partition: string; readonly seal: Seal; readonly blobs: Blobs }) {
    this.#partition = fields.partition;
    this.#seal = fields.seal;
    this.#blobs = fields.blobs;
  }

  /** Makes a value ready for the journal. One that JSON cannot hold, or too large, is refused. */
  async keep(value: Json): Promise<StepResult> {
    let whole: Uint8Array;
    try {
      whole = this.#encode(value);
    } catch (refused) {
      return { refused };
    }
    if (whole.length <= inlineBytes) return { whole, journaled: Buffer.concat([Buffer.of(asValue), whole]) };
    const reference: Reference = { blob: randomUUID(), size: whole.length };
    for (const [index, key] of this.#keysOf(reference).entries()) {
      const part = whole.subarray(index * inlineBytes, (index + 1) * inlineBytes);
      await this.#blobs.put(key, part);
    }
    const name = sealed(this.#seal, Json.of(reference));
    return { whole, journaled: Buffer.concat([Buffer.of(asReference), name]) };
  }

  /** What the journal keeps. `known` is at hand where the closure has run here. */
  async read(journaled: Uint8Array, known: StepResult | null): Promise<Json> {
    const rest = journaled.subarray(1);
    if (journaled[0] === asValue) return opened(this.#seal, rest);
    const reference = Json.as<Reference>(opened(this.#seal, rest));
    for (const key of this.#keysOf(reference)) this.#parts.add(key);
    const whole = known && "whole" in known ? known.whole : await this.#fetch(reference);
    return opened(this.#seal, whole);
  }

  /** Everything that was laid aside for what has been read. */
  get parts(): ReadonlySet<string> {
    return this.#parts;
  }

  #encode(value: Json): Uint8Array {
    const whole = sealed(this.#seal, value);
    if (whole.length <= largestBytes) return whole;
    throw new TooLargeError({ what: "the result of a step", bytes: whole.length, limit: largestBytes });
  }

  async #fetch(reference: Reference): Promise<Uint8Array> {
    const parts = await Promise.all(this.#keysOf(reference).map((key) => this.#blobs.get(key)));
    const whole = Buffer.concat(parts);
    if (whole.length === reference.size) return whole;
    throw new NotFoundError({ what: "result", id: `${this.#partition}/${reference.blob}` });
  }

  #keysOf({ blob, size }: Reference): readonly string[] {
    const count = Math.ceil(size / inlineBytes);
    return Array.from({ length: count }, (_, index) => `${this.#partition}/${blob}/${index}`);
  }
}
