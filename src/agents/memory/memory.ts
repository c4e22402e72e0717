import { Labels, MemoryBlock, type Embedder, type Extension } from "#kernel";
import { extension } from "../extensions/extension.ts";
import { blockSection, editTools, type BlockOptions, type NamedBlock } from "./blocks.ts";
import { createIndexTurn } from "./episodes.ts";
import { factTools, recallTool } from "./facts.ts";

/** The memory of an agent. */
export interface MemoryOptions {
  /**
   * Texts that the agent is shown whole in every turn and edits with `edit_block` and `edit_shared_block`, by name.
   * Default: none.
   */
  readonly blocks?: Readonly<Record<string, BlockOptions>> | undefined;
  /** Whether it remembers facts about the user: `remember`, `recall`, `forget`. Default: false. */
  readonly facts?: boolean | undefined;
  /**
   * Lets `recall` find messages of the user's earlier turns, by their terms: at most this many. It finds turns that
   * were saved with this option. Default: none.
   */
  readonly episodes?: { readonly recall: number } | undefined;
  /**
   * Lets `recall` find facts and turns by meaning, too: those that were written with the same embedder. Its calls are
   * charged to the run. The vectors are kept by the store, or by `createRuntime({ vectors })`, which a sealing store
   * needs. Default: search by terms only.
   */
  readonly embedder?: Embedder | undefined;
}

/**
 * Creates the extension that lets an agent remember across conversations: `agent({ extensions: [memory({ facts: true
 * })] })`. Requires a store. Written memory keeps the labels of the run, and a run that is shown it joins them. @throws
 * TypeError for an invalid block.
 */
export function memory({ blocks: given = {}, facts = false, episodes, embedder }: MemoryOptions): Extension {
  const found = episodes?.recall ?? 0;
  if (!Number.isSafeInteger(found) || found < 0 || found > maxEpisodes)
    throw new TypeError(`episodes.recall must be an integer from 0 to ${maxEpisodes}, got ${found}`);
  const blocks = Object.entries(given).map(([name, options]): NamedBlock => {
    const { limit, description, shared = "user" } = options;
    if (!["user", "tenant", "session"].includes(shared))
      throw new TypeError(`block ${name}: shared must be user, tenant or session, got ${shared}`);
    checkBlock(name, limit);
    return { name, limit, description, shared };
  });
  return extension({
    name: "memory",
    tools: [
      ...(facts ? factTools(embedder) : []),
      ...(facts || found > 0 ? [recallTool({ facts, episodes: found, embedder })] : []),
      ...editTools(blocks),
    ],
    sections: blocks.map(blockSection),
    onSaved: found > 0 ? [createIndexTurn(embedder)] : [],
  });
}

function checkBlock(name: string, limit: number): void {
  const write = { id: "-", text: "", version: 0, at: 0, runId: null, labels: Labels.none };
  MemoryBlock.check(name, { ...write, limit });
  if (limit > maxLimit) throw new TypeError(`block ${name}: the limit is at most ${maxLimit}, got ${limit}`);
}

const maxEpisodes = 50;
/** Maximum limit of a block: a section shows it whole, and a section has a maximum size. */
const maxLimit = 50_000;
