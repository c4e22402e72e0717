import type { Seal, Sealing } from "#kernel";
import { replySeal } from "./sealed-call.ts";

/** What one invocation seals with. Restate compares what a replay hands over with what it has: each seal repeats. */
export class CallSeals {
  /** Of the partition that the invocation belongs to. */
  readonly own: Seal;
  /** The seal of the reply or error, bound to the argument of the invocation. */
  readonly reply: Seal;
  readonly #partition: string;
  readonly #all: Sealing;
  readonly #seal: Seal;
  readonly #repeat: (seal: Seal, place?: string) => Seal;

  constructor(fields: {
    readonly partition: string;
    readonly seal: Seal;
    readonly all: Sealing;
    /** Names the invocation. */
    readonly id: string;
    /** What it was called with, still sealed. */
    readonly input: Uint8Array;
  }) {
    this.#partition = fields.partition;
    this.#all = fields.all;
    this.#seal = fields.seal;
    this.#repeat = (seal, place) =>
      seal.repeatable(place === undefined ? fields.id : `${fields.id}/${place}`, fields.input);
    this.own = this.#repeat(fields.seal);
    this.reply = replySeal(this.own, fields.input);
  }

  /** Whether its seal is at hand: so for this invocation always, or never. */
  isOwn(partition: string): boolean {
    return partition === this.#partition;
  }

  /** For a call of this invocation. The place tells calls apart that are equal otherwise. */
  ownAt(place: string): Seal {
    return this.#repeat(this.#seal, place);
  }

  /** The same, to any partition. */
  async at(partition: string, place: string): Promise<Seal> {
    return this.isOwn(partition) ? this.ownAt(place) : this.#repeat(await this.#all.of(partition), place);
  }
}
