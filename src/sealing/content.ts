import { isJsonObject, type Json, type Partition, type Seal, SealBrokenError, type TreeId } from "#kernel";

/**
 * Seals and opens the content of a partition, each value for its position. A value that is moved to another position
 * does not open.
 */
export class Content {
  readonly #seal: Seal;
  readonly #partition: string;

  constructor(partition: string, seal: Seal) {
    this.#partition = partition;
    this.#seal = seal;
  }

  /** The sealer whose content stays readable after the partition's own key is destroyed. */
  get lasting(): Content {
    return new Content(this.#partition, this.#seal.lasting);
  }

  /** Whether the partition's own key was destroyed. Then only lasting content can be sealed. */
  get isErased(): boolean {
    return this.#seal.isErased;
  }

  seal(place: string, said: unknown): { readonly sealed: string } {
    const sealed = this.#seal.seal(Buffer.from(JSON.stringify({ place, said })));
    return { sealed: Buffer.from(sealed).toString("base64") };
  }

  /** Returns a keyed hash. Equal texts have equal hashes. Without the key, the hash reveals nothing about the text. */
  digest(text: string): string {
    return this.#seal.digest(Buffer.from(text));
  }

  /** Opens a sealed value. @throws SealBrokenError, KeyDestroyedError */
  open(place: string, kept: Json | undefined): Json {
    const sealed = isJsonObject(kept) ? kept["sealed"] : undefined;
    const opened = this.#seal.open(Buffer.from(typeof sealed === "string" ? sealed : "", "base64"));
    const content: { readonly place: string; readonly said: Json } = JSON.parse(
      Buffer.from(opened).toString("utf8"),
    );
    if (content.place !== place)
      throw new SealBrokenError({ partition: this.#partition, reason: "not-authentic" });
    return content.said;
  }
}

/** Returns the sealer of a tenant's content, or of one of its trees. */
export type ContentOf = (partition: Partition, tree?: TreeId) => Promise<Content>;
