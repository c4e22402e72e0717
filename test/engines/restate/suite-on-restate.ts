import { randomUUID } from "node:crypto";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { type SuiteHarness, engineSuite } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Runtime } from "#runtime";

/** Every case of the suite on a server of its own, plain or with every execution replayed after each operation. */
export function suiteOnRestate({
  fuzz,
  slowness,
}: {
  readonly fuzz: boolean;
  readonly slowness: number;
}): void {
  let server: RestateServer;

  beforeAll(async () => {
    server = await restateServer();
  }, 60_000);

  afterAll(() => server[Symbol.asyncDispose]());

  const harness: SuiteHarness = {
    slowness,
    losesHookCalls: fuzz,
    runtime: async (options) => {
      // A namespace each, because what one runtime registers would take the runs of another.
      const engine = restate({ ...server, namespace: `suite-${randomUUID()}`, fuzz, log: () => {} });
      const runtime = new Runtime({ ...options, engine });
      await runtime.serve({ port: 0 });
      return runtime;
    },
  };

  test.each(engineSuite.map((engineCase) => [engineCase.name, engineCase] as const))(
    "%s",
    async (_, engineCase) => {
      await expect(engineCase.run(harness)).resolves.toBeUndefined();
    },
  );
}
