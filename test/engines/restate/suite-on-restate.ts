import { randomUUID } from "node:crypto";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { type SuiteHarness, engineSuite } from "reeve/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
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

  afterEach(() => removeDeployments(server));

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

/** Everything on a server takes longer with every deployment that it knows: six times as long with 300 of them. */
async function removeDeployments({ admin }: RestateServer): Promise<void> {
  const answer = await fetch(new URL("/deployments", admin));
  const { deployments }: { readonly deployments: readonly { readonly id: string }[] } = JSON.parse(
    await answer.text(),
  );
  for (const { id } of deployments) {
    const { ok, status } = await fetch(new URL(`/deployments/${id}?force=true`, admin), { method: "DELETE" });
    expect(ok, `removing ${id}: ${status}`).toBe(true);
  }
}
