import { type Blocker, RunId } from "#kernel";
import { duration } from "./amounts.ts";
import { clean } from "./clean.ts";
import type { AgentView } from "../agent-view.ts";
import type { Why } from "./run-facts.ts";

/** Explains why a run that could continue does not, from its engine's report. */
export function whyStuck({ agent, runId }: AgentView, blocker: Blocker, now: number): Why {
  const { build, lastError, retryAt } = blocker;
  const its = build === null ? "its build" : `its build (${build})`;
  const again =
    retryAt === null ? "It is not retried automatically." : `It is retried in ${duration(retryAt - now)}.`;
  const said = lastError === "" ? [] : [`Last error: ${clean(lastError)}.`];
  const cancel = `reeve cancel ${RunId.tree(runId)}`;
  const from = clean(build ?? "<its build>");
  switch (blocker.kind) {
    case "version":
      return {
        answer: `${agent}: waiting for a build with its version: ${its} has another version`,
        details: [...said, again, "Serve the old build again and move the run there, or cancel it."],
        hints: [`reeve move ${from} --to <the old build> --refused`, cancel],
      };
    case "release":
      return explainOtherRelease(agent, its, { said, build: from });
    case "unserved":
      return {
        answer: `${agent}: waiting for a worker: no worker serves ${its}`,
        details: [...said, again, "Serve that build again, or move its runs to the build for new runs."],
        hints: [`reeve move ${from}`, cancel],
      };
    case "diverged":
      return {
        answer: `${agent}: stopped: replay diverged, its code does not match its journal`,
        details: [
          ...said,
          "The code changed and the agent's version did not. Serve the old code, and move the run there.",
        ],
        hints: [`reeve move ${from} --to <a build with the old code>`, cancel],
      };
    case "too-large":
      return {
        answer: `${agent}: stopped: a value it produced is too large to store`,
        details: [...said, "Make the value smaller in its code, and move the run to that build."],
        hints: [`reeve move ${from}`, cancel],
      };
    case "failing":
      return {
        answer: `${agent}: fails before it can report an error, and is restarted repeatedly`,
        details: [...said, again, "The stack is in the log of its worker."],
        hints: [cancel],
      };
    case "stopped":
      return {
        answer: `${agent}: stopped: its execution was paused at the engine`,
        details: ["Resume it at the engine, or cancel it."],
        hints: [cancel],
      };
    case "killed":
      return {
        answer: `${agent}: cannot continue: its execution was killed at the engine`,
        details: [...said, "Its journal has ended. Cancel the run and start it again."],
        hints: [cancel],
      };
  }
}

/** Explains a run when no worker answers: the last known state. */
export function whyUnanswered({ agent, runId }: AgentView, { answer, details }: Why): Why {
  return {
    answer: `${agent}: no worker answers; its tree continues when a worker is back`,
    details: [`Last known state: ${answer}`, ...details],
    hints: ["reeve dev", `reeve why ${runId}`],
  };
}

/** Explains a run that was accepted and has not started. */
export function whyNotBegun(id: string): Why {
  return {
    answer: `${id}: accepted, not started: another tree has the turn of its conversation`,
    details: ["It starts when that tree ends."],
    hints: ["reeve runs --status running", "reeve runs --status waiting"],
  };
}

const explainOtherRelease = (
  agent: string,
  its: string,
  { said, build }: { readonly said: readonly string[]; readonly build: string },
): Why => ({
  answer: `${agent}: waiting for another release of reeve: ${its} has the release that wrote its tree`,
  details: [...said, "Serve that build until its runs have ended, and promote it."],
  hints: [`engine.promote(${JSON.stringify(build)})`],
});
