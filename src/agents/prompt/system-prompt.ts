import type { ShownSection } from "#kernel";

/** The identity of an agent that has sections and no instructions. */
const defaultIdentity = "You are a helpful assistant.";

/** The parts of a system prompt that are no sections. */
export interface PromptStart {
  /** Computes the agent's instructions. Undefined: it has none. Not called if a section replaces them. */
  readonly instructions: (() => Promise<string> | string) | undefined;
  /** The instruction about the form of the answer. Empty: none. */
  readonly form: string;
}

/**
 * Joins the parts of a system prompt: the identity, the form of the answer, then the sections in the given order. Equal
 * parts give equal bytes.
 */
export async function assembleSystemPrompt(
  { instructions, form }: PromptStart,
  sections: readonly ShownSection[],
): Promise<string> {
  const { identity = [], footer = [], ...others } = Object.groupBy(sections, ({ place }) => place);
  const replaced = joinParagraphs(identity.map(({ text }) => text));
  const start = replaced === "" ? await (instructions?.() ?? defaultIdentity) : replaced;
  const rest = Object.values(others).flatMap((group) => group.map(({ text }) => text));
  return joinParagraphs([start, form, ...rest, footer.map(({ text }) => text).join("\n")]);
}

/** Joins texts with an empty line between two. Empty texts are left out. */
export function joinParagraphs(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}
