import { AgentId, RunId, TreeId, type NumberedEvent } from "reeve";
import { EventId } from "reeve/store";

const base = (tree: string, seq: number) => {
  const treeId = TreeId.of(tree);
  const runId = RunId.root(treeId);
  return {
    treeId,
    runId,
    agent: AgentId.of("lead"),
    seq,
    at: 1_000,
    attempt: null,
    eventId: EventId.of(runId, String(seq)),
  };
};

/** The end of a tree. Its error has a text that no webhook may be sent. */
export const endOf = (tree: string, seq: number): NumberedEvent<"run.end"> => ({
  ...base(tree, seq),
  type: "run.end",
  status: "failed",
  stopReason: "error",
  durationMs: 12,
  usage: { input: 1, output: 2 },
  costMicros: 34,
  error: { code: "tool-failed", message: "canary of an error" },
});

export const warningOf = (tree: string, seq: number): NumberedEvent<"budget.warning"> => ({
  ...base(tree, seq),
  type: "budget.warning",
  dimension: "cost",
  limit: 100,
  used: 80 + seq,
});
