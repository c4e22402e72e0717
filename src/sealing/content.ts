import { isJsonObject, type Json, type Partition, type Seal, SealBrokenError, type TreeId } from "#kernel";

/** Seals and opens what a partition says, each piece for its place: moved to another one, it does not open. */
export class Content {
  readonly #seal: Seal;
  readonly #partition: string;

  constructor(partition: string, seal: Seal) {
    this.#partition = partition;
    this.#seal = seal;
  }

  /** The same, but what it seals stays readable once the partition's own key is destroyed. */
  get lasting(): Content {
    return new Content(this.#partition, this.#seal.lasting);
  }

  /** Whether the partition's own key was destroyed: nothing but lasting content can be sealed. */
  get isErased(): boolean {
    return this.#seal.isErased;
  }

  seal(place: string, said: unknown): { readonly sealed: string } {
    const sealed = this.#seal.seal(Buffer.from(JSON.stringify({ place, said })));
    return { sealed: Buffer.from(sealed).toString("base64") };
  }

  /** Returns a keyed hash: the same for the same text, and no hint of the text without the key. */
  digest(text: string): string {
    return this.#seal.digest(Buffer.from(text));
  }

  /** @throws SealBrokenError, KeyDestroyedError */
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

/** The content of a tenant, or of one of its trees. */
export type ContentOf = (partition: Partition, tree?: TreeId) => Promise<Content>;
