import { agent, tool, untrustedContent, type AgentOptions, type ToolResult } from "reeve";
import { call, say, scriptedModel, testRuntime, type ScriptedAnswer } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { LoopDetection } from "../../src/agents/index.ts";
import { eventsOf } from "./events-of.ts";

const failed: ToolResult = { content: [{ type: "text", text: "no" }], isError: true };
const ok = (text: string): ToolResult => ({ content: [{ type: "text", text }], isError: false });
const acting = { readOnly: false };
const reading = { readOnly: true };

/** Returns the decisions before and after each of these calls. */
function decisions(
  loops: LoopDetection,
  calls: readonly (readonly [tool: string, input: string, result: ToolResult])[],
  kind: { readonly readOnly: boolean } = acting,
): readonly string[] {
  return calls.map(([name, input, result]) => {
    const before = loops.checkCall(name, input).kind;
    return before === "allow" ? loops.countResult(name, input, { result, ...kind }).kind : before;
  });
}

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

test("7.9 a call that fails again is warned at 2 failures and blocked at 5", () => {
  const same = times(7, () => ["read", "a", failed] as const);
  const loops = new LoopDetection();
  expect(decisions(loops, same)).toEqual(["allow", "warn", "warn", "warn", "warn", "block", "block"]);
});

test("7.9 a tool that fails again is warned at 3 failures and halts the run at 8", () => {
  const different = times(10, (n) => ["read", `${n}`, failed] as const);
  const expected = ["allow", "allow", ...times(6, () => "warn"), "halt", "halt"];
  expect(decisions(new LoopDetection(), different)).toEqual(expected);
});

test("7.9 a read-only call with the same result is warned at 2 and blocked at 5; another result restarts the count", () => {
  const same = times(6, () => ["read", "a", ok("x")] as const);
  const loops = new LoopDetection();
  expect(decisions(loops, same, reading)).toEqual(["allow", "warn", "warn", "warn", "warn", "block"]);
  const fresh = new LoopDetection();
  const changing = times(12, (n) => ["read", "a", ok(`${n}`)] as const);
  expect(decisions(fresh, changing, reading)).toEqual(times(12, () => "allow"));
  expect(decisions(new LoopDetection(), same, acting)).toEqual(times(6, () => "allow"));
});

test("7.9 two alternating calls are warned at 3 rounds and halt the run at 6", () => {
  const rounds = times(13, (n) => ["go", n % 2 === 0 ? "a" : "b", ok(`${n}`)] as const);
  const expected = [...times(5, () => "allow"), ...times(7, () => "warn"), "halt"];
  expect(decisions(new LoopDetection(), rounds)).toEqual(expected);
});

test("7.9 a third call, or the same call twice, ends an alternation", () => {
  const loops = new LoopDetection();
  const ab = (n: number) => ["go", n % 2 === 0 ? "a" : "b", ok(`${n}`)] as const;
  decisions(loops, times(10, ab));
  expect(decisions(loops, [["go", "b", ok("again")]])).toEqual(["allow"]);
  expect(decisions(loops, times(4, ab))).toEqual(times(4, () => "allow"));
  expect(decisions(loops, [["go", "c", ok("other")], ab(0)])).toEqual(["allow", "allow"]);
});

test("7.9 a success clears only that call's count", () => {
  const loops = new LoopDetection();
  decisions(loops, [...times(4, () => ["read", "a", failed] as const), ["read", "b", failed]]);
  decisions(loops, [["read", "a", ok("x")]]);
  expect(decisions(loops, [["read", "a", failed]])).toEqual(["warn"]);
  expect(loops.checkCall("read", "a")).toEqual({ kind: "allow" });
  decisions(
    loops,
    times(2, (n) => ["read", `${n}`, failed] as const),
  );
  expect(loops.checkCall("read", "new")).toMatchObject({ kind: "halt" });
});

test("7.9 each run has its own counts", () => {
  const first = new LoopDetection();
  decisions(
    first,
    times(5, () => ["read", "a", failed] as const),
  );
  expect(first.checkCall("read", "a").kind).toBe("block");
  expect(new LoopDetection().checkCall("read", "a").kind).toBe("allow");
});

/** Runs an agent whose model repeats this forever. Returns the number of calls before it was stopped. */
async function countCallsUntilStop(
  script: readonly [ScriptedAnswer, ...ScriptedAnswer[]],
  fails: boolean,
  more: Partial<AgentOptions> = {},
) {
  let executed = 0;
  const act = tool({
    name: "act",
    description: "Acts",
    input: z.object({ n: z.number() }),
    risk: "safe",
    execute: async ({ n }) => {
      executed += 1;
      if (fails) throw new Error("no");
      return n < 0 ? executed : "same";
    },
  });
  const model = scriptedModel(script);
  const worker = agent({ name: "worker", model, tools: [{ ...act, origin: "web" }], ...more });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  return {
    result: await run.result(),
    executed,
    cycles: model.requests.length,
    events: await t.events(run),
    model,
  };
}

const halted = { status: "failed", stopReason: "guardrail", error: { code: "guardrail" } };

test("7.9 an agent that repeats a failing call is warned, blocked and stopped", async () => {
  const { result, executed, cycles, events, model } = await countCallsUntilStop(
    [call("act", { n: 1 })],
    true,
  );
  expect(result).toMatchObject(halted);
  expect(executed).toBe(5);
  expect(cycles).toBe(9);
  expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toContain("Note: this call has failed 2 times.");
  expect(JSON.stringify(model.requests[6]?.messages.at(-1))).toContain(
    "not called: this call failed 5 times",
  );
  const trips = eventsOf(events, "guardrail.trip");
  expect(new Set(trips.map(({ guardrail }) => guardrail))).toEqual(new Set(["loop-detection"]));
  expect(trips.map(({ decision, reason }) => `${decision}: ${reason}`)).toEqual([
    ...times(4, (n) => `warn: this call has failed ${n + 2} times`),
    ...times(3, () => "block: this call failed 5 times"),
    "halt: act failed 5 times, and was blocked 3 times",
  ]);
});

test("7.9 an agent that reads the same thing over and over is blocked and stopped", async () => {
  const { result, executed, cycles } = await countCallsUntilStop([call("act", { n: 1 })], false);
  expect(result).toMatchObject(halted);
  expect(executed).toBe(5);
  expect(cycles).toBeLessThanOrEqual(14);
});

test("7.9 a repeated result is recognised even if the marks around it change", async () => {
  const guardrails = [untrustedContent()];
  const { result, executed } = await countCallsUntilStop([call("act", { n: 1 })], false, { guardrails });
  expect(result).toMatchObject(halted);
  expect(executed).toBe(5);
});

test("7.9 an agent that goes back and forth between two calls is stopped after six rounds", async () => {
  const pingPong = times(20, (n) => call("act", { n: n % 2 === 0 ? -1 : -2 }));
  const { result, executed } = await countCallsUntilStop([call("act", { n: -2 }), ...pingPong], false);
  expect(result).toMatchObject(halted);
  expect(executed).toBe(12);
});

test("7.9 an agent that makes progress is neither warned nor blocked", async () => {
  const steps = times(30, (n) => call("act", { n }));
  const { result, executed } = await countCallsUntilStop(
    [call("act", { n: 100 }), ...steps, say("done")],
    false,
  );
  expect(result).toMatchObject({ status: "completed", output: "done" });
  expect(executed).toBe(31);
});
