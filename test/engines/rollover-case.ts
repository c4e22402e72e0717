import { delegateEngine, delegateObject, type Engine, type ObjectDefinition } from "#kernel";
import { Runtime, type RunHandle } from "#runtime";
import { manualModel } from "reeve/testing";
import { expect } from "vitest";
import { eventually } from "../../src/testing/engine-suite/harness.ts";
import { ask, spender } from "../../src/testing/engine-suite/spender.ts";

/** An engine whose objects see a time that the test sets. */
function shiftTime(inner: Engine, offset: () => number): Engine {
  const shift = (methods: ObjectDefinition["methods"]): ObjectDefinition["methods"] =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        (object, argument) =>
          method(delegateObject(object, { now: () => object.now() + offset() }), argument),
      ]),
    );
  return delegateEngine(inner, {
    define: (program) => {
      const objects = program.objects.map((object) => ({
        ...object,
        methods: shift(object.methods),
        queries: shift(object.queries),
      }));
      inner.define({ ...program, objects });
    },
  });
}

/** A day's budget of 300 tokens, and calls of 100 or 80 tokens on both sides of midnight. */
export async function showRollover(inner: Engine, serve: (runtime: Runtime) => Promise<void>): Promise<void> {
  const midnight = Date.UTC(2031, 5, 2);
  let offset = midnight - 60_000 - Date.now();
  const model = manualModel();
  const once = spender(model, [ask(100)], { name: "once" });
  const twice = spender(model, [ask(100), ask(80)], { name: "twice" });
  await using runtime = new Runtime({ agents: [once, twice], engine: shiftTime(inner, () => offset) });
  await serve(runtime);
  const tenant = `tenant-${crypto.randomUUID()}`;
  await runtime.tenants.setBudget({ tenant }, { maxTokens: 300, per: "day" });
  const start = async (agent: typeof once, calls: number): Promise<RunHandle> => {
    const run = await runtime.start(agent, "go", { tenant });
    await eventually(`${calls} calls are in flight`, () => model.calls.length === calls);
    return run;
  };
  const refused = async (): Promise<void> => {
    const { stopReason } = await (await runtime.start(once, "go", { tenant })).result();
    expect(stopReason).toBe("budget.tokens");
  };
  const before = [await start(twice, 1), await start(once, 2), await start(once, 3)];
  await refused();
  offset += 2 * 60_000;
  // Reservations from before midnight are not charged after it, and their rest buys nothing there.
  const after = [await start(once, 4)];
  for (const call of model.calls.slice(0, 3)) call.answer("ok", { input: 10, output: 5 });
  await eventually("the first tree makes its second call", () => model.calls.length === 5);
  await Promise.all(before.slice(1).map((run) => run.result()));
  after.push(await start(once, 6));
  await refused();
  expect(model.calls).toHaveLength(6);
  for (const call of model.calls.slice(3)) call.answer("ok", { input: 40, output: 40 });
  await Promise.all([...before, ...after].map((run) => run.result()));
  expect(await runtime.tenants.budget({ tenant })).toMatchObject({
    from: midnight,
    spent: { tokens: 3 * 80 },
    lent: { tokens: 0 },
  });
}
