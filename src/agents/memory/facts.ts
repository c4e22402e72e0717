import type { Embedder, FoundMemory, Json, Tool } from "#kernel";
import { tool } from "../tools/tool.ts";
import { requireMemory } from "./require-memory.ts";
import { textInput } from "../tools/text-input.ts";

const maxKey = 200;
const maxValue = 4_000;
const maxFacts = 20;
/** Maximum characters of an earlier message that the model is shown. */
const maxEpisode = 2_000;

const key = { description: 'The subject in a few words, such as "city" or "tea"', max: maxKey };

/** Returns the tools that write and erase facts of the user. */
export const factTools = (embedder: Embedder | undefined): readonly Tool[] => [
  tool({
    name: "remember",
    description:
      "Remembers a fact about the user for later conversations. A new value for a key replaces the old one.",
    input: textInput({ key, value: { description: "The fact, in one sentence", max: maxValue } }),
    risk: "safe",
    origin: "memory",
    trust: "trusted",
    egress: false,
    idempotent: true,
    execute: async ({ key: about, value }, { memory, idempotencyKey: id }) => {
      if (about.trim() === "") throw new TypeError("key must not be empty");
      await requireMemory(memory).remember({ id, key: about, value }, embedder);
      return { remembered: about };
    },
  }),
  tool({
    name: "forget",
    description: "Erases the fact of a key, including its earlier values.",
    input: textInput({ key }),
    risk: "safe",
    origin: "memory",
    trust: "trusted",
    egress: false,
    idempotent: true,
    execute: async ({ key: about }, { memory, idempotencyKey: id }) => {
      const erased = await requireMemory(memory).forget({ id, key: about });
      return { forgotten: about, facts: erased.length };
    },
  }),
];

/** The memory that `recall` searches. */
interface RecallOptions {
  readonly facts: boolean;
  /** Maximum number of earlier messages that a search returns. 0: none. */
  readonly episodes: number;
  /** Embedder for a search by meaning. Undefined: search by terms only. */
  readonly embedder: Embedder | undefined;
}

/**
 * Returns the tool that searches memory. Its results are untrusted: an earlier run may have stored text of a stranger.
 */
export function recallTool({ facts, episodes, embedder }: RecallOptions): Tool {
  const what = [facts && "remembered facts", episodes > 0 && "earlier conversations with this user"];
  return tool({
    name: "recall",
    description: `Searches ${what.filter(Boolean).join(" and ")} by ${embedder ? "words and meaning" : "words"}.`,
    input: textInput({ query: { description: "The words to search for", max: 1_000 } }),
    risk: "safe",
    origin: "memory",
    egress: false,
    idempotent: true,
    execute: async ({ query: text }, { memory: given }) => {
      const memory = requireMemory(given);
      const found = [
        ...(facts ? await memory.search({ text, kinds: ["fact"], limit: maxFacts, embedder }) : []),
        ...(episodes > 0 ? await memory.search({ text, kinds: ["episode"], limit: episodes, embedder }) : []),
      ];
      return found.map(toShownMemory);
    },
  });
}

function toShownMemory(found: FoundMemory): Json {
  if (found.kind === "fact") {
    const { key: about, value, validFrom } = found.fact;
    return { kind: "fact", key: about, value, since: new Date(validFrom).toISOString() };
  }
  const { session, at, role, text } = found.episode;
  const more = text.length - maxEpisode;
  const shown = more > 0 ? `${text.slice(0, maxEpisode)} [${more} more characters]` : text;
  return { kind: "message", session, at: new Date(at).toISOString(), role, text: shown };
}
