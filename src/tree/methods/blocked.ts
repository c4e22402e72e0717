import { ForeignError, type RunId } from "#kernel";
import { Ledger } from "#ledger";
import { end, performEffects } from "../run-lifecycle.ts";
import type { ArgumentOf } from "../protocol.ts";
import type { TreeWork } from "../state/tree-work.ts";

/**
 * Applies a policy to the run whose execution cannot continue. Returns false if the execution belongs to no live run.
 */
export function applyBlockedPolicy(work: TreeWork, argument: ArgumentOf<"blocked">): boolean {
  const { execution, kind, lastError, policy } = argument;
  const run = findExecution(work, execution);
  if (run === null) return false;
  const reason = `it cannot execute (${kind}): ${lastError}`;
  if (policy === "hold") return holdRun(work, run, reason);
  const error = new ForeignError({ kind: "blocked", message: reason }).toJSON();
  end(work, run, { status: "failed", stopReason: "error", output: null, error });
  work.object.kill(execution);
  return true;
}

function findExecution(work: TreeWork, execution: string): RunId | null {
  const runs = work.allRuns();
  work.load(runs);
  return runs.find((id) => work.run(id)?.execution === execution) ?? null;
}

function holdRun(work: TreeWork, run: RunId, reason: string): boolean {
  if (work.slot(run)?.held) return false;
  work.put(run, { ...work.live(run), pausedFor: reason });
  work.decide(run, (state) => Ledger.pause(state, { run, at: work.now }));
  // No code of the run executes, so it need not be asked to yield.
  work.decide(run, (state) => Ledger.yield(state, { run, at: work.now }));
  performEffects(work);
  return true;
}
