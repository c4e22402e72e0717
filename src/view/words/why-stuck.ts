import { type Obstacle, RunId } from "#kernel";
import { duration } from "./amounts.ts";
import { clean } from "./clean.ts";
import type { AgentView } from "../agent-view.ts";
import type { Why } from "./known.ts";

/** Explains why a run that could continue does not, from its engine's report. */
export function whyStuck({ agent, runId }: AgentView, obstacle: Obstacle, now: number): Why {
  const { build, words, retryAt } = obstacle;
  const its = build === null ? "its build" : `its build (${build})`;
  const again =
    retryAt === null
      ? "It is not tried again by itself."
      : `It is tried again in ${duration(retryAt - now)}.`;
  const said = words === "" ? [] : [`The last try came to: ${clean(words)}.`];
  const cancel = `reeve cancel ${RunId.tree(runId)}`;
  const from = clean(build ?? "<its build>");
  switch (obstacle.kind) {
    case "version":
      return {
        answer: `${agent} waits for a build that has its version: ${its} has another one.`,
        details: [...said, again, "Serve the old build again and move the run there, or give it up."],
        hints: [`reeve move ${from} --to <the old build> --refused`, cancel],
      };
    case "release":
      return ofOtherRelease(agent, its, { said, build: from });
    case "unserved":
      return {
        answer: `${agent} waits for a worker: nobody serves ${its} now.`,
        details: [...said, again, "Serve that build again, or move its runs to the one for new runs."],
        hints: [`reeve move ${from}`, cancel],
      };
    case "diverged":
      return {
        answer: `${agent} was stopped: its code asks for something else than its journal holds.`,
        details: [
          ...said,
          "The code changed and the agent's version did not. Serve the old code, and move the run.",
        ],
        hints: [`reeve move ${from} --to <a build with the old code>`, cancel],
      };
    case "too-large":
      return {
        answer: `${agent} was stopped: something it made is too large to be kept.`,
        details: [...said, "Have its code make less, and move the run to that build."],
        hints: [`reeve move ${from}`, cancel],
      };
    case "failing":
      return {
        answer: `${agent} fails before it can say why, and is started again and again.`,
        details: [...said, again, "The log of its worker has the stack."],
        hints: [cancel],
      };
    case "stopped":
      return {
        answer: `${agent} was stopped at the engine: somebody paused its execution there.`,
        details: ["Resume it where it was paused, or give it up."],
        hints: [cancel],
      };
    case "killed":
      return {
        answer: `${agent} cannot go on: an operator killed its execution at the engine.`,
        details: [...said, "Its journal is over. Cancel the run and start it again."],
        hints: [cancel],
      };
  }
}

/** Explains a run when no worker answers: the last known state. */
export function whyUnanswered({ agent, runId }: AgentView, { answer, details }: Why): Why {
  return {
    answer: `No worker answers for ${agent}: nothing of its tree goes on until one does.`,
    details: [`The last that is known: ${answer}`, ...details],
    hints: ["reeve dev", `reeve why ${runId}`],
  };
}

/** Explains a run that was accepted and has not started. */
export function whyNotBegun(id: string): Why {
  return {
    answer: `${id} was accepted and has not begun: another tree has the turn of its conversation.`,
    details: ["It begins when that one is over."],
    hints: ["reeve runs --status running", "reeve runs --status waiting"],
  };
}

const ofOtherRelease = (
  agent: string,
  its: string,
  { said, build }: { readonly said: readonly string[]; readonly build: string },
): Why => ({
  answer: `${agent} waits for another release of reeve: ${its} is of the one that wrote its tree.`,
  details: [...said, "Serve that build until its runs have ended, and let it have the calls."],
  hints: [`engine.promote(${JSON.stringify(build)})`],
});
