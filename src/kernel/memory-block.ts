import type { RunId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";
import { checkWriteId } from "./write-id.ts";

/** A named text that is shown whole in every prompt, within a limit. */
export interface MemoryBlock {
  readonly name: string;
  readonly text: string;
  /** Maximum length of the text, in characters as `text.length` counts them. */
  readonly limit: number;
  /** 1 for the first text, then one more with each edit. */
  readonly version: number;
  readonly updatedAt: number;
  /** The run that wrote the last edit. Null: no run did. */
  readonly runId: RunId | null;
  /** Labels of all runs that edited the block. A run that is shown the block joins them. */
  readonly labels: Labels;
  /**
   * Marks of the users for whose runs it was edited, at most two: enough to tell whether another user than the reader
   * had a part in it. Absent: none.
   */
  readonly authors?: readonly string[] | undefined;
}

/** A new text for a block. */
export interface BlockEdit {
  /** Unique among the owner's writes, as with `Fact.id`. */
  readonly id: string;
  readonly text: string;
  /** The version that the text is based on. 0: there is no block of this name yet. */
  readonly version: number;
  readonly limit: number;
  readonly at: number;
  readonly runId: RunId | null;
  /** Labels of the writer. They are joined with the block's labels, because part of the text may come from each. */
  readonly labels: Labels;
  /** The mark of the user for whom the writer works. Default: none. */
  readonly author?: string | null | undefined;
  /** The terms to find the block by. Default: none. */
  readonly terms?: readonly string[];
}

/** A record of an applied edit. It holds no text, so that an edit that removes text does not keep it. */
export interface BlockReceipt {
  readonly name: string;
  readonly version: number;
  readonly updatedAt: number;
}

/** The outcome of an edit. A conflict returns the present block. Null: there is none. */
export type BlockEditResult =
  | { readonly outcome: "applied"; readonly receipt: BlockReceipt }
  | { readonly outcome: "conflict"; readonly present: MemoryBlock | null };

/** Two authors: at least one is not the reader. */
const maxAuthors = 2;

const namePattern = /^[\w.-]{1,64}$/;

/** The rules of {@link MemoryBlock}s that stores share. */
export const MemoryBlock = {
  /** Returns the authors of a block after an edit, as a field of the block. */
  joinAuthors: (
    present: Pick<MemoryBlock, "authors"> | null,
    { author }: Pick<BlockEdit, "author">,
  ): Pick<MemoryBlock, "authors"> => {
    const authors = present?.authors ?? [];
    const isKnown = author === null || author === undefined || authors.includes(author);
    const joined = isKnown || authors.length >= maxAuthors ? authors : [...authors, author];
    return joined.length === 0 ? {} : { authors: joined };
  },
  /** Reads stored authors, as a field of a block. What cannot be read counts as several: a block must not gain trust. */
  decodeAuthors: (value: Json | undefined): Pick<MemoryBlock, "authors"> => {
    if (value === undefined) return {};
    const authors = Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
    const isWhole = Array.isArray(value) && value.length === authors.length;
    return { authors: isWhole && authors.length > 0 && authors.length <= maxAuthors ? authors : ["?", "??"] };
  },
  /** @throws TypeError for a name, a limit or a text that cannot be kept. */
  check: (name: string, { id, text, limit, version }: BlockEdit): void => {
    checkWriteId(id);
    if (!namePattern.test(name))
      throw new TypeError(`invalid block name ${JSON.stringify(name)}: use 1 to 64 of A-Z a-z 0-9 _ . -`);
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new TypeError(`the limit of the block ${name} must be an integer >= 1, got ${limit}`);
    if (!Number.isSafeInteger(version) || version < 0)
      throw new TypeError(`the version of the block ${name} must be an integer >= 0, got ${version}`);
    if (text.length > limit)
      throw new TypeError(
        `the block ${name} may have at most ${limit} characters, got ${text.length}: shorten the text or raise the limit`,
      );
  },
} as const;
