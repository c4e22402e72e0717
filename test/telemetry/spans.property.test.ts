import { AgentId, Json, RunId, TreeId, Usage, type NumberedEvent } from "reeve";
import { AttemptId, EventId, StepId } from "reeve/store";
import { diag } from "@opentelemetry/api";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { recorder, type Seen } from "./recorder.ts";

const tree = TreeId.of("tree");
const traceId = "0af7651916cd43dd8448eb211c80319c";
const agents = ["lead", "researcher"].map((name) => AgentId.of(name));
const error = { code: "model", message: "no" };
const runs = [0, 1, 2, 3].map((number) => RunId.of(tree, number));

const step = fc.nat(1);
const anyRun = fc.constantFrom(...runs);

/** The payload of an event. Any of them may come at any time, in any order. */
const payload = fc.oneof(
  fc.record({
    type: fc.constant("run.start"),
    priority: fc.constant("normal"),
    parentRunId: fc.option(anyRun),
    traceId: fc.constant(traceId),
  }),
  fc.record({
    type: fc.constant("run.end"),
    status: fc.constantFrom("completed", "failed", "cancelled"),
    stopReason: fc.constantFrom("answer", "error"),
  }),
  fc.record({ type: fc.constantFrom("cycle.start", "cycle.end"), step }),
  fc.record({ type: fc.constant("model.start"), model: fc.constant("m"), step }),
  fc.record({
    type: fc.constant("model.end"),
    model: fc.constant("m"),
    usage: fc.constant(Usage.none),
    durationMs: fc.nat(99),
    error: fc.option(fc.constant(error), { nil: undefined }),
  }),
  fc.record({
    type: fc.constant("tool.start"),
    tool: fc.constant("t"),
    callId: fc.constantFrom("a", "b"),
    step,
  }),
  fc.record({
    type: fc.constant("tool.end"),
    tool: fc.constant("t"),
    callId: fc.constantFrom("a", "b"),
    status: fc.constantFrom("ok", "error", "unknown"),
    durationMs: fc.nat(99),
  }),
  fc.record({
    type: fc.constant("retry.start"),
    retry: fc.nat(3),
    delayMs: fc.nat(9),
    error: fc.constant(error),
  }),
  fc.record({
    type: fc.constant("budget.settled"),
    tokens: fc.nat(9),
    costMicros: fc.nat(9),
    inDoubt: fc.boolean(),
  }),
  fc.record({
    type: fc.constantFrom("spawn.queued", "spawn.admitted"),
    child: anyRun,
    childAgent: fc.constantFrom(...agents),
  }),
  fc.record({
    type: fc.constant("spawn.denied"),
    childAgent: fc.constantFrom(...agents),
    reason: fc.constant("full"),
  }),
  fc.record({ type: fc.constantFrom("run.paused", "guardrail.trip"), reason: fc.constant("why") }),
);

const told = fc.record({ run: anyRun, at: fc.nat(1000), attempt: fc.nat(5), payload });

type Told = typeof told extends fc.Arbitrary<infer Value> ? Value : never;

/** A stream in which anything happens, and in the end every run has ended. */
function streamOf(all: readonly Told[]): readonly NumberedEvent[] {
  const [root] = runs;
  const start = { type: "run.start", priority: "normal", parentRunId: null, traceId };
  const end = { type: "run.end", status: "completed", stopReason: "answer" };
  const given = [
    { run: root, at: 0, attempt: 0, payload: start },
    ...all,
    ...runs.map((run) => ({ run, at: 500, attempt: 0, payload: end })),
  ];
  return given.map(({ run, at, attempt, payload: { ...fields } }, index) => {
    const { type } = fields;
    const named =
      "step" in fields && !type.startsWith("cycle")
        ? StepId.of(run ?? runs[0] ?? RunId.root(tree), type.slice(0, 5), fields.step)
        : undefined;
    return Json.as<NumberedEvent>(
      Json.of({
        usage: Usage.none,
        costMicros: 0,
        durationMs: 1,
        ...fields,
        ...(named !== undefined && { step: named }),
        eventId: EventId.of(run ?? "", `${type}/${index}`),
        treeId: tree,
        runId: run ?? "",
        agent: agents[0] ?? "",
        at,
        // Tools that are agent code have no tries.
        attempt: attempt === 0 ? null : AttemptId.of(`try-${run}-${attempt}`),
        seq: index + 1,
      }),
    );
  });
}

/** A step that begins again after its span has ended: rare in random sequences. */
const begun: Told["payload"] = { type: "model.start", model: "m", step: 0 };
const cycle: Told["payload"] = { type: "cycle.start", step: 0 };
const begunTwice = [begun, cycle, begun].map((given): Told => {
  return { run: RunId.root(tree), at: 0, attempt: 0, payload: given };
});

/** Diagnostics of the SDK: a span that ended before it began, or twice. */
const complaints: string[] = [];
const doNothing = (): void => undefined;
const complain = (text: string): void => void complaints.push(text);
diag.setLogger({ error: complain, warn: complain, info: doNothing, debug: doNothing, verbose: doNothing });

async function spansOf(stream: readonly NumberedEvent[]): Promise<readonly Seen[]> {
  const { telemetry, spans } = recorder();
  for (const event of stream) telemetry.take(event);
  return spans();
}

test("any events in any order give one trace with unique ids, known parents, and ends after starts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(told, { maxLength: 60 }), async (all) => {
      const spans = await spansOf(streamOf(all));
      const ids = new Set(spans.map(({ id }) => id));
      const orphans = spans.filter(({ parent }) => parent === undefined || !ids.has(parent));
      expect(orphans.map(({ name }) => name)).toEqual(["invoke_workflow lead"]);
      expect(ids.size).toBe(spans.length);
      expect(new Set(spans.map(({ trace }) => trace))).toEqual(new Set([traceId]));
      expect(spans.filter(({ began, ended }) => ended < began)).toEqual([]);
      expect(complaints).toEqual([]);
      expect(spans.every(({ id }) => /^(?!0{16})[\da-f]{16}$/.test(id))).toBe(true);
    }),
    { numRuns: 500, examples: [[begunTwice]] },
  );
});

test("two readers of any stream export the same spans, at any pause and restart of the second", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(told, { maxLength: 40 }), fc.nat(40), async (all, pause) => {
      const stream = streamOf(all);
      const again = [...stream.slice(0, pause), ...stream];
      expect(await spansOf(again)).toEqual(await spansOf(stream));
    }),
    { numRuns: 100 },
  );
});
