import { local } from "reeve/engines/local";
import { engineSuite, type SuiteHarness } from "reeve/testing/suites";
import { describe, it } from "vitest";
import { Runtime } from "#runtime";
import { isFull } from "../../effort.ts";

const harnessWith = (replayEveryStep: boolean): SuiteHarness => ({
  slowness: isFull ? 1 : 20,
  runtime: async (options) => new Runtime({ ...options, engine: local({ replayEveryStep }) }),
});

describe.each([
  ["as it is", false],
  ["replayed after every operation", true],
])("local engine, %s", (_, replayEveryStep) => {
  for (const engineCase of engineSuite) {
    const test = engineCase.timed && isFull ? it : it.concurrent;
    test(engineCase.name, () => engineCase.run(harnessWith(replayEveryStep)));
  }
});
