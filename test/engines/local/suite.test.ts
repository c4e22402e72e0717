import { local } from "reeve/engines/local";
import { engineSuite, type SuiteHarness } from "reeve/testing/suites";
import { describe, test } from "vitest";
import { Runtime } from "#runtime";

const harnessWith = (replayEveryStep: boolean): SuiteHarness => ({
  runtime: async (options) => new Runtime({ ...options, engine: local({ replayEveryStep }) }),
});

describe.each([
  ["as it is", false],
  ["replayed after every operation", true],
])("local engine, %s", (_, replayEveryStep) => {
  test.each(engineSuite.map((engineCase) => [engineCase.name, engineCase] as const))(
    "%s",
    async (_name, engineCase) => {
      await engineCase.run(harnessWith(replayEveryStep));
    },
  );
});
