import { randomUUID } from "node:crypto";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { type SuiteHarness, engineSuite } from "reeve/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Runtime } from "#runtime";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
}, 60_000);

afterAll(() => server[Symbol.asyncDispose]());

// A namespace each, because what one runtime registers would take the runs of another.
const on = (fuzz: boolean): SuiteHarness => ({
  slowness: fuzz ? 5 : 1,
  runtime: async (options) => {
    const engine = restate({ ...server, namespace: `suite-${randomUUID()}`, fuzz, log: () => {} });
    const runtime = new Runtime({ ...options, engine });
    await runtime.serve({ port: 0 });
    return runtime;
  },
});

const cases = engineSuite.map((engineCase) => [engineCase.name, engineCase] as const);

describe.each([
  ["as it is", false],
  ["replayed after every operation", true],
])("restate engine, %s", (_, fuzz) => {
  test.each(cases)("%s", async (_name, engineCase) => {
    await expect(engineCase.run(on(fuzz))).resolves.toBeUndefined();
  });
});
