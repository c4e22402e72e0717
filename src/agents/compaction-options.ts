import type { CompactionPolicy } from "#kernel";
import { languageModel, type AnyModel } from "#models";

/** Rules that keep an agent's prompts within the model's context. */
export interface CompactionOptions extends Omit<CompactionPolicy, "model"> {
  /** The model that writes summaries. Default: the agent's. */
  readonly model?: AnyModel | undefined;
}

/** Checks the options of a compaction. @throws TypeError on an invalid size. */
export function toCompactionPolicy(options: CompactionOptions | false | undefined): CompactionPolicy | false {
  if (options === false) return false;
  const { model, ...rest } = options ?? {};
  for (const name of ["reserve", "keepRecent"] as const) {
    const size = rest[name];
    if (size !== undefined && (!Number.isSafeInteger(size) || size < 0))
      throw new TypeError(`compaction.${name} must be an integer >= 0, got ${size}`);
  }
  return { ...rest, ...(model !== undefined && { model: languageModel(model) }) };
}
