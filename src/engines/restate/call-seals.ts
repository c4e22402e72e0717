import type { Seal, Seals } from "#sealing";

/** What one invocation seals with. Restate compares what a replay hands over with what it has: each seal repeats. */
export class CallSeals {
  /** Of the partition that the invocation belongs to. */
  readonly own: Seal;
  readonly #partition: string;
  readonly #all: Seals;
  readonly #repeat: (seal: Seal) => Seal;

  constructor(fields: {
    readonly partition: string;
    readonly seal: Seal;
    readonly all: Seals;
    /** Names the invocation. */
    readonly id: string;
    /** What it was called with, still sealed. */
    readonly input: Uint8Array;
  }) {
    this.#partition = fields.partition;
    this.#all = fields.all;
    this.#repeat = (seal) => seal.repeatable(fields.id, fields.input);
    this.own = this.#repeat(fields.seal);
  }

  /** Whether its seal is at hand: so for this invocation always, or never. */
  isOwn(partition: string): boolean {
    return partition === this.#partition;
  }

  async of(partition: string): Promise<Seal> {
    return this.isOwn(partition) ? this.own : this.#repeat(await this.#all.of(partition));
  }
}
