import { randomUUID } from "node:crypto";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import type { EngineCase, SuiteHarness } from "reeve/testing/suites";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Runtime } from "#runtime";
import { isFull } from "../../effort.ts";

/** The cases of the suite on a server of its own, plain or with every execution replayed after each operation. */
export function suiteOnRestate(
  cases: readonly EngineCase[],
  { replayEveryStep, slowness }: { readonly replayEveryStep: boolean; readonly slowness: number },
): void {
  let server: RestateServer;

  beforeAll(async () => {
    server = await restateServer();
  });

  afterAll(() => server[Symbol.asyncDispose]());

  for (const engineCase of cases) {
    const test = engineCase.timed && isFull ? it : it.concurrent;
    test(engineCase.name, async ({ expect: expected }) => {
      // A namespace each, because what one runtime registers would take the runs of another.
      const namespaces: string[] = [];
      const harness: SuiteHarness = {
        slowness: isFull ? slowness : 20 * slowness,
        losesHookCalls: replayEveryStep,
        runtime: async (options) => {
          const namespace = `suite-${randomUUID()}`;
          namespaces.push(namespace);
          const engine = restate({ ...server, namespace, replayEveryStep, log: () => {} });
          const runtime = new Runtime({ ...options, engine });
          await runtime.serve({ port: 0 });
          return runtime;
        },
      };
      await expected(engineCase.run(harness)).resolves.toBeUndefined();
      await removeDeployments(server, namespaces);
    });
  }
}

/** Every deployment slows the server down: with 300 of them, everything takes six times as long. */
async function removeDeployments({ admin }: RestateServer, namespaces: readonly string[]): Promise<void> {
  const answer = await fetch(new URL("/deployments", admin));
  const { deployments }: { readonly deployments: readonly Deployment[] } = JSON.parse(await answer.text());
  const isTheirs = ({ services }: Deployment): boolean =>
    services.some(({ name }) => namespaces.some((namespace) => name.startsWith(`${namespace}.`)));
  for (const { id } of deployments.filter(isTheirs)) {
    const { ok, status } = await fetch(new URL(`/deployments/${id}?force=true`, admin), { method: "DELETE" });
    expect(ok, `removing ${id}: ${status}`).toBe(true);
  }
}

interface Deployment {
  readonly id: string;
  readonly services: readonly { readonly name: string }[];
}
