import { AgentId, Runtime, type Agent } from "reeve";
import { local } from "reeve/engines/local";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";

const waiter: Agent = {
  id: AgentId.of("waiter"),
  run: async (ctx) => ctx.waitFor("news", { timeoutS: 60 }),
};

test("a wait with a timeout gets a signal that comes in time, and ends without one when the time is over", async () => {
  const clock = manualClock();
  await using runtime = new Runtime({ agents: [waiter], clock, engine: local({ clock }) });
  const heard = await runtime.start(waiter, "go");
  const silent = await runtime.start(waiter, "go");
  await clock.advance(59_000);
  expect([await heard.resultNow(), await silent.resultNow()]).toEqual([null, null]);
  await heard.signal("news", "good");
  expect((await heard.result()).output).toBe("good");
  await clock.advance(1_000);
  expect((await silent.result()).output).toBeNull();
});
