import type { Architecture, AgentSpec } from "#kernel";
import { createObjectSchema } from "#agents";
import { byName, describeWorkers, getAgentName } from "./roles.ts";

/** The experts of a board, and how the next one is chosen. */
export interface BlackboardOptions {
  readonly experts: readonly AgentSpec<string>[];
  /** Contributions at most. Default 8. */
  readonly rounds?: number | undefined;
  /** The next expert is chosen by the leader's model, or each writes in turn. Default model. */
  readonly coordinator?: "model" | "round-robin" | undefined;
}

/** Experts write to one board in turn, until the leader's model finds the answer there. */
export function blackboard({ experts, rounds = 8, coordinator = "model" }: BlackboardOptions): Architecture {
  const names = experts.map(getAgentName);
  const schema = createObjectSchema(
    {
      done: { type: "boolean" },
      expert: { type: "string", enum: ["", ...names] },
      answer: { type: "string" },
    },
    ({ done, expert, answer }) =>
      typeof done === "boolean" &&
      typeof answer === "string" &&
      typeof expert === "string" &&
      (done || names.includes(expert))
        ? { done, expert, answer }
        : `while it is not done, expert must be one of ${names.join(", ")}`,
  );
  return {
    name: "blackboard",
    needsModel: true,
    declaredWorkers: () => byName(experts),
    async *run(state, { think, delegate }, prompt) {
      const board: string[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const shown = `Task: ${prompt}\n\nThe board:\n${board.join("\n") || "(empty)"}`;
        const asked = `${shown}\n\nIs the answer there? If not, which expert writes next?\n${describeWorkers(experts)}`;
        const next = await think(asked, { schema });
        if (next.done) {
          state.output = next.answer;
          return;
        }
        const turn = coordinator === "model" ? names.indexOf(next.expert) : round % experts.length;
        const expert = experts[turn];
        const made = expert && (await delegate(expert, `${shown}\n\nAdd what you know.`));
        if (made?.ok) {
          board.push(`[${getAgentName(made.worker)}] ${made.text}`);
          state.output = made.text;
          state.metadata = { board: [...board] };
        }
        yield { round: round + 1, expert: names[turn] ?? null, wrote: made?.ok ?? false };
      }
      state.interrupted = true;
      state.interruptionReason = `${rounds} contributions without an answer`;
    },
  };
}
