import type { Architecture, AgentSpec } from "#kernel";
import { noWorkerAnswered } from "./roles.ts";

/** The judgement of a critic. Its agent needs an output schema with these fields. */
export interface Verdict {
  /** A score from 0 to 1. */
  readonly score: number;
  readonly feedback: string;
}

/** The two roles, and when to stop. */
export interface ActorCriticOptions {
  readonly actor: AgentSpec<string>;
  readonly critic: AgentSpec<Verdict>;
  /** Attempts at most. Default 3. */
  readonly rounds?: number | undefined;
  /** The score that is good enough. Default 0.8. */
  readonly threshold?: number | undefined;
}

/**
 * One worker produces, another one judges, until the score is high enough. The answer is the best attempt, not the last
 * one.
 */
export function actorCritic({
  actor,
  critic,
  rounds = 3,
  threshold = 0.8,
}: ActorCriticOptions): Architecture {
  return {
    name: "actor-critic",
    declaredWorkers: () => ({ actor, critic }),
    async *run(state, { delegate }, prompt) {
      let best = -Infinity;
      let task = prompt;
      for (let round = 1; round <= rounds; round += 1) {
        const made = await delegate(actor, task);
        if (!made.ok && state.output === null) throw noWorkerAnswered([made]);
        if (!made.ok) break;
        state.output ??= made.text;
        const judged = await delegate(critic, `Task: ${prompt}\n\nAttempt:\n${made.text}`);
        const { score, feedback } = judged.ok ? judged.value : { score: -Infinity, feedback: "" };
        if (score > best) {
          best = score;
          state.output = made.text;
        }
        yield { round, score: judged.ok ? score : null };
        if (score >= threshold) return;
        task = `${prompt}\n\nYour last attempt:\n${made.text}\n\nImprove it: ${feedback}`;
      }
      state.interrupted = true;
      state.interruptionReason = `no attempt reached a score of ${threshold}`;
    },
  };
}
