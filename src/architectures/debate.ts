import type { Architecture, AgentSpec } from "#kernel";
import { filterAnswered, byName, getAgentName, noWorkerAnswered } from "./roles.ts";

/** The sides of a debate, and how it is decided. */
export interface DebateOptions {
  readonly debaters: readonly AgentSpec<string>[];
  /** The worker that decides. Default: the answer that most debaters give, the first one of equals. */
  readonly judge?: AgentSpec<string> | undefined;
  /** Default 2. */
  readonly rounds?: number | undefined;
  /** Whether two answers are equivalent. Default: equal text. */
  readonly agree?: ((one: string, other: string) => boolean) | undefined;
}

const sameWords = (one: string, other: string): boolean =>
  one.trim().toLowerCase() === other.trim().toLowerCase();

/** Several workers answer, are shown the answers of all, and answer again. It ends early when they agree. */
export function debate({ debaters, judge, rounds = 2, agree = sameWords }: DebateOptions): Architecture {
  return {
    name: "debate",
    declaredWorkers: () => ({ ...byName(debaters), ...(judge && { judge }) }),
    async *run(state, { delegate }, prompt) {
      let views: readonly string[] = [];
      let texts: readonly string[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        const task =
          round === 1 ? prompt : `${prompt}\n\nAnswers so far:\n${views.join("\n\n")}\n\nAnswer again.`;
        const said = await Promise.all(debaters.map((debater) => delegate(debater, task)));
        const heard = filterAnswered(said);
        if (heard.length === 0 && texts.length === 0) throw noWorkerAnswered(said);
        if (heard.length > 0) {
          texts = heard.map(({ text }) => text);
          views = heard.map(({ worker, text }) => `${getAgentName(worker)}: ${text}`);
        }
        state.output = mostCommon(texts, agree);
        const isSettled = texts.every((text) => agree(text, texts[0] ?? ""));
        yield { round, isSettled };
        if (isSettled) return;
      }
      if (!judge) return;
      const verdict = await delegate(judge, `${prompt}\n\nAnswers:\n${views.join("\n\n")}\n\nDecide.`);
      if (verdict.ok) state.output = verdict.text;
    },
  };
}

function mostCommon(texts: readonly string[], agree: (one: string, other: string) => boolean): string {
  const votes = texts.map((text) => texts.filter((other) => agree(text, other)).length);
  return texts[votes.indexOf(Math.max(...votes))] ?? "";
}
