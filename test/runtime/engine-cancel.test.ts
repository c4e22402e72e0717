import { AgentId, CancellationError, type Agent, type Engine } from "#kernel";
import { local } from "#engines/local";
import { Runtime } from "#runtime";
import { manualClock, type ManualClock } from "reeve/testing";
import { expect, test } from "vitest";

/** More items than one page of an inbox holds. */
const manyItems = 40;

/** An engine on which a run receives its cancel, but no wake-up for other inbox items. */
function withoutWakes(clock: ManualClock): Engine {
  const engine = local({ clock });
  return {
    ...engine,
    define: (program) =>
      engine.define({
        ...program,
        run: (primitives) => program.run({ ...primitives, wake: () => primitives.wake("never") }),
      }),
  };
}

test("a cancel behind a full page of the inbox keeps its reason", async () => {
  const clock = manualClock();
  const begun = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<unknown>();
  const worker: Agent = {
    id: AgentId.of("worker"),
    run: (ctx) =>
      ctx.step("work", ({ signal }) => {
        begun.resolve();
        signal.addEventListener("abort", () => stopped.resolve(signal.reason));
        return stopped.promise.then(() => null);
      }),
  };
  await using runtime = new Runtime({ agents: [worker], clock, engine: withoutWakes(clock) });
  const run = await runtime.start(worker, "go");
  await clock.advance(0);
  await begun.promise;
  for (let number = 0; number < manyItems; number++) await run.signal("news", number);
  void run.cancel("enough").catch(() => undefined); // the runtime may close before the receipt
  await clock.advance(0);
  const reason = await stopped.promise;
  expect(reason).toBeInstanceOf(CancellationError);
  expect(reason).toMatchObject({ reason: "enough" });
});
