import assert from "node:assert/strict";
import type { EngineCase } from "./harness.ts";
import { only } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";

/** Section 2.11: an operation repeated because its answer was lost. */
export const operationIdCases: readonly EngineCase[] = [
  {
    name: "2.11 a repeated pause, resume or reprioritize under the same id changes nothing, whatever was done since",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 3 } }, async (spawner) => {
        const run = await spawner.spawn("a");
        const call = await spawner.call("a");
        await run.pause({ id: "one" });
        await run.resume({ id: "two" });
        await run.pause({ id: "one" });
        assert.equal(await run.status(), "running");
        await run.pause({ id: "three" });
        await run.resume({ id: "two" });
        assert.equal(await run.status(), "paused");
        await run.resume({ id: "four" });
        await run.reprioritize("high", { id: "one" });
        await run.reprioritize("low", { id: "two" });
        await run.reprioritize("high", { id: "one" });
        call.answer("A");
        await run.result();
        const changes = only(await spawner.close(), "run.reprioritized").map(({ from, to }) => [from, to]);
        assert.deepEqual(changes, [
          ["normal", "high"],
          ["high", "low"],
        ]);
      });
    },
  },
];
