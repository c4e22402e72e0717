import type { StepPrompt } from "#runtime";
import { type Bill, billOf } from "#view";

type ShownPart = StepPrompt["prompt"][number];

/** A part compared with another step's prompt. `same`: that prompt contains it too, and its content is left out. */
type ComparedPart = ShownPart & { readonly same?: true };

/** A step beside another one. */
export interface ComparedStep extends Omit<StepPrompt, "prompt"> {
  readonly prompt: readonly ComparedPart[];
  /** The system message and the tools of the other prompt that this one has no more. */
  readonly replaced: readonly ShownPart[];
  /** Null if no price is known, or no attempt reported its usage. */
  readonly bill: Bill | null;
}

/** Compares a prompt with another by the hashes of their parts. Null: with none, so every part is new. */
export function compareSteps(step: StepPrompt, other: StepPrompt | null): ComparedStep {
  const counts = countsOf(other?.prompt ?? []);
  const prompt = step.prompt.map((part): ComparedPart => {
    const left = counts.get(part.hash) ?? 0;
    if (left === 0) return part;
    counts.set(part.hash, left - 1);
    return { ...part, content: null, same: true };
  });
  const replaced = (other?.prompt ?? []).filter((part) => isFixed(part) && (counts.get(part.hash) ?? 0) > 0);
  return { ...step, prompt, replaced, bill: billOfStep(step) };
}

const isFixed = ({ role }: ShownPart): boolean => role === "system" || role === "tools";

function countsOf(parts: readonly ShownPart[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { hash } of parts) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  return counts;
}

function billOfStep({ manifest }: StepPrompt): Bill | null {
  const usages = (manifest?.attempts ?? []).flatMap(({ usage }) => usage ?? []);
  return manifest?.price && usages.length > 0 ? billOf(usages, manifest.price) : null;
}
