import { hash } from "node:crypto";
import type { Engine, Input, InputLimits, Sealing } from "#kernel";
import {
  checkInput,
  inputKey,
  keepFiles,
  toInlineBlocks,
  toInputParts,
  type InputParts,
  type NameContent,
} from "#tree";

/** An input whose large files are in the content port of its tree. */
export interface PreparedInput {
  readonly parts: InputParts;
  /** A text that differs if two inputs differ. */
  readonly key: string;
}

/**
 * Checks an input against the limits, and stores its files for the tree of that key. Waits only if there are large
 * files, so calls without them arrive in the order in which they were made. @throws InvalidInputError, TooLargeError
 */
export type PrepareInput = (tree: string, input: Input) => PreparedInput | Promise<PreparedInput>;

/** Returns the function that prepares every input of a runtime. */
export function createPrepareInput(options: {
  readonly engine: Engine;
  readonly limits: InputLimits | undefined;
  readonly nameContent: NameContent;
}): PrepareInput {
  const { engine, limits, nameContent } = options;
  const call: Engine["call"] = (to, method, argument) => engine.call(to, method, argument);
  return (tree, input) => {
    const checked = checkInput(input, limits);
    const key = inputKey(checked);
    const inline = toInlineBlocks(checked.files);
    if (inline) return { parts: toInputParts(checked, inline), key };
    return keepFiles(checked.files, { call, nameContent, key: tree }).then((files) => ({
      parts: toInputParts(checked, files),
      key,
    }));
  };
}

/** Returns the function that names content: with the key of its partition, if there are keys. */
export function createNameContent(seals: Sealing | null): NameContent {
  return async (partition, bytes) =>
    seals ? (await seals.getSeal(partition)).digest(bytes) : hash("sha256", bytes);
}
