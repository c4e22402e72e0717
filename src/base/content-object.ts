import { Json, type CallObject, type ObjectContext, type ObjectDefinition } from "#kernel";

/*
 * The content port: large bytes of a tree (files of its input, large results of its steps) are stored in an object of
 * the type `content` with the key of the tree. Messages and journals hold only their names.
 *
 * Neighbours: an engine hosts the object like any other. So its calls and values are sealed with the key of the tree,
 * an unsealed call is refused, and the content is unreadable once that key is destroyed.
 *
 * 1. Content never changes: the same name is the same bytes. A repeated put stores it once.
 * 2. Content is stored in parts, because engines limit a message and a value. The parts are put in order, so the last
 *    one exists only if all do.
 * 3. Nothing is put once the object is closed, which happens when its tree is erased.
 * 4. Files that were put for a tree that never opened are removed after an hour: the tree claims them when it opens.
 */

/** Bytes of one part. A multiple of 3: base64 texts of parts join to the base64 text of the whole. */
const partBytes = 3_145_728;

/** Time after which unclaimed files are removed. */
const unclaimedMs = 3_600_000;

const type = "content";
const partKey = (name: string, part: number): string => `part/${name}/${part}`;

interface PartArgument {
  readonly name: string;
  readonly part: number;
}

interface PutArgument extends PartArgument {
  readonly base64: string;
  /** Whether it is removed unless a tree claims it. */
  readonly expires: boolean;
}

function put(object: ObjectContext, argument: Json): Json {
  const { name, part, base64, expires } = Json.as<PutArgument>(argument);
  object.prefetch(["closed", "claimed", "expires"]);
  if (object.get("closed") !== null) return null;
  if (expires && object.get("claimed") === null && object.get("expires") === null) {
    object.set("expires", true);
    object.send({ type, key: object.key }, "expire", null, { delayMs: unclaimedMs, bestEffort: true });
  }
  object.set(partKey(name, part), base64);
  return null;
}

function clearPrefix(object: ObjectContext, prefix: string): void {
  for (const name of object.list(prefix)) object.clear(name);
}

/** The object that stores large content of one partition. */
export const contentObject: ObjectDefinition = {
  type,
  methods: {
    put,
    /** Claims the files for an opened tree: they stay until it is erased. */
    claim: (object) => {
      object.set("claimed", true);
      return null;
    },
    expire: (object) => {
      if (object.get("claimed") === null) clearPrefix(object, "");
      return null;
    },
    remove: (object, argument) => {
      for (const name of Json.as<{ readonly names: readonly string[] }>(argument).names)
        clearPrefix(object, `part/${name}/`);
      return null;
    },
    close: (object) => {
      clearPrefix(object, "");
      object.set("closed", true);
      return null;
    },
  },
  queries: {
    get: (object, argument) => {
      const { name, part } = Json.as<PartArgument>(argument);
      return object.get(partKey(name, part));
    },
    has: (object, argument) => {
      const { name, part } = Json.as<PartArgument>(argument);
      return object.list(partKey(name, part)).includes(partKey(name, part));
    },
  },
  lasting: { state: ["closed"], erasedMark: "closed" },
  finishedMark: "closed",
};

/** The name of content and its size in bytes. */
export interface ContentName {
  readonly name: string;
  readonly bytes: number;
}

/** Reads and writes the content of one partition. */
export class ContentPort {
  readonly #ask: (method: string, argument: object) => Promise<Json>;

  constructor(call: CallObject, key: string) {
    this.#ask = (method, argument) => call({ type, key }, method, Json.of(argument));
  }

  /** Stores bytes under a name, unless they exist. `expires`: until a tree claims them. */
  async put(name: string, bytes: Uint8Array, { expires }: { readonly expires: boolean }): Promise<void> {
    const count = countParts(bytes.length);
    if (await this.#ask("has", { name, part: count - 1 })) return;
    for (let part = 0; part < count; part++) {
      const piece = bytes.subarray(part * partBytes, (part + 1) * partBytes);
      await this.#ask("put", { name, part, base64: Buffer.from(piece).toString("base64"), expires });
    }
  }

  /** Returns content in base64. Null if it is missing or incomplete. */
  async get({ name, bytes }: ContentName): Promise<string | null> {
    const parts = Array.from({ length: countParts(bytes) }, (_, part) => this.#ask("get", { name, part }));
    const texts = (await Promise.all(parts)).map((part) => (typeof part === "string" ? part : ""));
    const whole = texts.join("");
    return Buffer.byteLength(whole, "base64") === bytes ? whole : null;
  }
}

const countParts = (bytes: number): number => Math.max(1, Math.ceil(bytes / partBytes));
