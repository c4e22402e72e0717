import type { Seal, Sealing } from "#kernel";
import { replySeal } from "./sealed-call.ts";

/**
 * The seals of one invocation. Restate compares the bytes of a replay with those it has, so each seal is deterministic.
 */
export class CallSeals {
  /** The seal of the invocation's own partition. */
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
    /** Id of the invocation. */
    readonly id: string;
    /** Its argument, still sealed. */
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

  /** Whether a partition is the invocation's own, whose seal is available: constant for an invocation. */
  isOwn(partition: string): boolean {
    return partition === this.#partition;
  }

  /** Returns the seal of a call of this invocation. The place distinguishes calls that are otherwise equal. */
  getOwnSeal(place: string): Seal {
    return this.#repeat(this.#seal, place);
  }

  /** Returns the seal of a call to any partition. */
  async getSeal(partition: string, place: string): Promise<Seal> {
    return this.isOwn(partition)
      ? this.getOwnSeal(place)
      : this.#repeat(await this.#all.getSeal(partition), place);
  }
}
