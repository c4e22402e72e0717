import { Json } from "reeve";
import { expect, test } from "vitest";
import type { Disturbance } from "../faults.ts";
import type { History } from "../history.ts";
import type { Effect } from "../witness/effect-sink.ts";
import type { TraceLine } from "../witness/marked-engine.ts";
import { effectsAppliedOnce } from "./effects-applied-once.ts";
import { nothingBeginsAfterACancel } from "./nothing-begins-after-a-cancel.ts";
import type { Finding } from "./predicate.ts";
import { nothingPaidTwice } from "./nothing-paid-twice.ts";
import { promptsAreRebuilt } from "./prompts-are-rebuilt.ts";

const run = "tree~0";
const [ours, other] = [1, 2];

/** A history of one tree, which holds only what a test gives it. */
function historyOf(given: object, tree: object = {}): History {
  const nothing = { bill: [], effects: [], journal: [], traces: [], disturbances: [], losses: [] };
  const plan = { id: "tree" };
  const trees = [{ plan, events: [], steps: [], cancel: null, ...tree }];
  return Json.as<History>(Json.of({ ...nothing, trees, ...given }));
}

const kill = (pid: number, from: number): Disturbance => ({ kind: "kill-worker", pid, from, until: from });
const began = (pid: number, at: number, epoch = `on ${pid}`): TraceLine => ({
  kind: "began",
  run,
  continuation: 0,
  epoch,
  pid,
  at,
});

/** A tree that accepted a cancel at 0, and ended so long after. */
const cancelled = (tookMs: number, events: readonly object[] = []): object => ({
  cancel: { run, number: 1, askedAt: 0, acceptedAt: 0, receipt: { runs: [{ runId: run, tookMs }] } },
  events: [{ type: "run.cancelling", runId: run, seq: 1 }, ...events],
});

const findAfterCancel = (tree: object): readonly Finding[] =>
  nothingBeginsAfterACancel.check(historyOf({}, tree)).findings;

test("I10: a late end is excused by a kill of the worker that had the run, and by no other", () => {
  const traces = [began(ours, 0)];
  const check = (tookMs: number, disturbances: readonly Disturbance[]) =>
    nothingBeginsAfterACancel.check(historyOf({ traces, disturbances }, cancelled(tookMs)));
  const killsOfOthers = Array.from({ length: 10 }, (_, n) => kill(other + n, 500 * n + 100));
  expect(check(5_400, killsOfOthers)).toMatchObject({ cases: 1, findings: [{ where: run }], excused: [] });
  expect(check(5_400, [kill(ours, 1_000)])).toMatchObject({ findings: [], excused: [{ where: run }] });
  // It lasts for the second after which Restate gives the work to another worker.
  expect(check(6_100, [kill(ours, 1_000)]).findings).toHaveLength(1);
});

test("I10: a kill excuses nothing after another execution of the run began", () => {
  const traces = [began(ours, 0), began(other, 200)];
  const disturbances = [kill(ours, 100)];
  const check = (tookMs: number) =>
    nothingBeginsAfterACancel.check(historyOf({ traces, disturbances }, cancelled(tookMs)));
  expect(check(5_050)).toMatchObject({ findings: [], excused: [{ where: run }] });
  expect(check(5_200).findings).toHaveLength(1);
});

test("I10: a cancel without its mark, and a tool, a child or a run that begins after it, are violations", () => {
  expect(findAfterCancel(cancelled(10))).toEqual([]);
  expect(findAfterCancel({ ...cancelled(10), events: [] })).toHaveLength(1);
  for (const type of ["budget.reserved", "tool.start", "spawn.admitted", "run.start"])
    expect(
      findAfterCancel(cancelled(10, [{ type, runId: run, seq: 2, attempt: "late", tool: "mail" }])),
    ).toHaveLength(1);
});

const delivery = (more: Partial<Effect>): Effect => ({
  tool: "stamp",
  order: "one",
  run,
  key: "key",
  step: `${run}:tool:1`,
  attempt: null,
  epoch: "first",
  pid: ours,
  startedAt: 1_000,
  endedAt: 1_050,
  applied: false,
  ...more,
});

test("I8: a delivery is repeated only by another execution, before the journal, after a fault of its process", () => {
  const first = delivery({ applied: true });
  const check = (again: Partial<Effect>, disturbances: readonly Disturbance[], journaledAt?: number) => {
    const journal = [{ execution: "inv", index: 1, name: "tool:1", results: [journaledAt] }];
    const traces = [{ kind: "launched", run, continuation: 0, execution: "inv" }];
    const effects = [first, delivery({ epoch: "second", pid: other, startedAt: 2_000, ...again })];
    const given = { effects, disturbances, ...(journaledAt !== undefined && { journal, traces }) };
    const { findings, excused } = effectsAppliedOnce.check(historyOf(given));
    return [findings.length, excused.length];
  };
  const isExcused = [0, 1];
  const isBroken = [1, 0];
  expect(check({}, [kill(ours, 1_500)])).toEqual(isExcused);
  expect(check({}, [{ ...kill(9, 1_500), kind: "kill-restate" }])).toEqual(isExcused);
  expect(check({}, [])).toEqual(isBroken);
  expect(check({}, [kill(other, 1_500)])).toEqual(isBroken);
  expect(check({ epoch: "first" }, [kill(ours, 1_500)])).toEqual(isBroken);
  expect(check({}, [kill(ours, 1_500)], 1_900)).toEqual(isBroken);
});

test("I3: a call after the journal is excused only if another execution overtook its own", () => {
  const attempt = "late";
  const given = {
    bill: [{ run, key: `${run}:model:1 ${attempt} first ${ours}`, at: 3_000 }],
    journal: [{ execution: "inv", index: 1, name: "model:1", results: [2_000] }],
  };
  const launched = { kind: "launched", run, continuation: 0, execution: "inv" };
  const tree = { events: [{ type: "budget.reserved", runId: run, seq: 1, attempt, at: 1_000 }] };
  const check = (...executions: readonly TraceLine[]) =>
    nothingPaidTwice.check(historyOf({ ...given, traces: [launched, ...executions] }, tree));
  expect(check(began(ours, 900, "first"))).toMatchObject({ findings: [{}], excused: [] });
  expect(check(began(ours, 900, "first"), began(other, 1_500, "second"))).toMatchObject({
    findings: [],
    excused: [{}],
  });
  // A call of an execution that left no trace of its start has no excuse.
  expect(check(began(other, 1_500, "second"))).toMatchObject({ findings: [{}], excused: [] });
});

test("I18: a step that was not recorded is excused only if something kept its worker from writing", () => {
  const id = `${run}:model:1`;
  const steps = [{ id, at: 10_000, content: "not-recorded", isEqual: false, isPermanent: true }];
  const given = {
    bill: [{ run, key: `${id} attempt first ${ours}`, at: 10_000 }],
    journal: [{ execution: "inv", index: 1, name: "model:1", results: [11_000] }],
    traces: [{ kind: "launched", run, continuation: 0, execution: "inv" }],
  };
  const check = (kind: Disturbance["kind"], pid: number, from: number, until: number) => {
    const disturbances = [{ kind, pid, from, until }];
    const { findings, excused } = promptsAreRebuilt.check(historyOf({ ...given, disturbances }, { steps }));
    return [findings.length, excused.length];
  };
  expect(check("kill-postgres", 0, 10_500, 12_000)).toEqual([0, 1]);
  expect(check("freeze-worker", ours, 10_500, 12_000)).toEqual([0, 1]);
  expect(check("freeze-worker", other, 10_500, 12_000)).toEqual([1, 0]);
  expect(check("kill-postgres", 0, 11_500, 12_000)).toEqual([1, 0]);
  expect(check("kill-postgres", 0, 5_000, 8_000)).toEqual([1, 0]);
  const later = [{ kind: "kill-postgres", pid: 0, from: 50_000, until: 51_000 }];
  const open = historyOf({ ...given, journal: [], disturbances: later }, { steps });
  expect(promptsAreRebuilt.check(open)).toMatchObject({ findings: [{ where: id }], excused: [] });
  const excusedByLoss = (ms: number): number => {
    const losses = [
      { at: 9_900, ms: 0 },
      { at: 11_100, ms },
    ];
    return promptsAreRebuilt.check(historyOf({ ...given, losses }, { steps })).excused.length;
  };
  expect([excusedByLoss(1_000), excusedByLoss(900)]).toEqual([1, 0]);
});
