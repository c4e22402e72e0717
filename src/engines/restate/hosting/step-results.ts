import { randomUUID } from "node:crypto";
import { Json, NotFoundError, TooLargeError, type Seal } from "#kernel";
import type { ContentName, ContentPort } from "#base";
import { openJson, sealJson } from "../sealing/sealed-serde.ts";

/** Maximum bytes of a step's result in the journal. */
const inlineBytes = 1_000_000;
/** Maximum bytes of a step's result. */
const largestBytes = 64_000_000;

const asValue = 0;
const asReference = 1;

/** The encoded result of a closure. */
export type StepResult =
  | {
      /** The bytes for the journal: the value, or its name in the content port. */
      readonly journaled: Uint8Array;
      /** The value, sealed. */
      readonly whole: Uint8Array;
    }
  /** The error of a value that cannot be stored. */
  | { readonly refused: unknown };

/**
 * Encodes results of steps for the journal. Restate fails on a large one and repeats its step forever. So a large
 * result is put into the content port first, and the journal keeps its name.
 */
export class StepResults {
  readonly #partition: string;
  readonly #seal: Seal;
  readonly #content: ContentPort;
  readonly #names = new Set<string>();

  constructor(fields: { readonly partition: string; readonly seal: Seal; readonly content: ContentPort }) {
    this.#partition = fields.partition;
    this.#seal = fields.seal;
    this.#content = fields.content;
  }

  /** Encodes a value for the journal. A value that JSON cannot hold, or that is too large, is refused. */
  async keep(value: Json): Promise<StepResult> {
    let whole: Uint8Array;
    try {
      whole = this.#encode(value);
    } catch (refused) {
      return { refused };
    }
    if (whole.length <= inlineBytes) return { whole, journaled: Buffer.concat([Buffer.of(asValue), whole]) };
    const reference: ContentName = { name: `result-${randomUUID()}`, bytes: whole.length };
    await this.#content.put(reference.name, whole, { expires: false });
    const sealedName = sealJson(this.#seal, Json.of(reference));
    return { whole, journaled: Buffer.concat([Buffer.of(asReference), sealedName]) };
  }

  /** Decodes a journaled result. `known` is available if the closure has run here. */
  async read(journaled: Uint8Array, known: StepResult | null): Promise<Json> {
    const rest = journaled.subarray(1);
    if (journaled[0] === asValue) return openJson(this.#seal, rest);
    const reference = Json.as<ContentName>(openJson(this.#seal, rest));
    this.#names.add(reference.name);
    const whole = known && "whole" in known ? known.whole : await this.#fetch(reference);
    return openJson(this.#seal, whole);
  }

  /** The names of the large results that have been read. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  #encode(value: Json): Uint8Array {
    const whole = sealJson(this.#seal, value);
    if (whole.length <= largestBytes) return whole;
    throw new TooLargeError({ what: "the result of a step", bytes: whole.length, limit: largestBytes });
  }

  async #fetch(reference: ContentName): Promise<Uint8Array> {
    const base64 = await this.#content.get(reference);
    if (base64 === null)
      throw new NotFoundError({ what: "result", id: `${this.#partition}/${reference.name}` });
    return Buffer.from(base64, "base64");
  }
}
